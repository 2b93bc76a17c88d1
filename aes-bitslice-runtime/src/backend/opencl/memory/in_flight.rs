//! Commands that may still use memory of the engine's, in any queue: to be waited for before that memory is cleared.

use crate::backend::opencl::handles::{Event, lock};
use crate::base::error::Error;
use std::sync::{Arc, Mutex};

/// Commands that may not be done yet.
#[derive(Default)]
pub(crate) struct InFlight(Mutex<Vec<Arc<Event>>>);

impl InFlight {
    /// Adds a command.
    pub(crate) fn add(&self, command: &Event) {
        let Ok(command) = command.another() else {
            // One that cannot be kept is waited for now.
            let _ = Event::wait([command]);
            return;
        };
        let mut pending = lock(&self.0);
        if pending.len() == pending.capacity() {
            // Room for as many again as remain: only one call in as many pays for the search.
            pending.retain(|command| !command.is_over());
            let room = pending.len().max(16);
            pending.reserve(room);
        }
        pending.push(Arc::new(command));
    }

    /// Waits for all that were added before, and tells whether one of them failed.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        // They stay until they are done, for other threads that wait meanwhile.
        let pending = lock(&self.0).clone();
        let waited = Event::wait(pending.iter().map(|command| &**command));
        lock(&self.0).retain(|command| !command.is_over());
        waited
    }
}
