//! Commands that may still use the engine's memory, in any queue. They must be waited for before that memory is
//! cleared.

use crate::backend::opencl::handles::Event;
use crate::base::error::Error;
use crate::base::lock::lock;
use std::sync::{Arc, Mutex};

/// Commands that may not have completed yet.
#[derive(Default)]
pub(crate) struct InFlight(Mutex<Vec<Arc<Event>>>);

impl InFlight {
    /// Adds a command.
    pub(crate) fn add(&self, command: &Event) {
        let Ok(command) = command.another() else {
            // A command that cannot be kept is waited for now.
            let _ = Event::wait([command]);
            return;
        };
        let mut pending = lock(&self.0);
        if pending.len() == pending.capacity() {
            // Room for the same number again: only one call in that many pays for the search.
            pending.retain(|command| !command.is_over());
            let room = pending.len().max(16);
            pending.reserve(room);
        }
        pending.push(Arc::new(command));
    }

    /// Waits for all commands that were added before, and reports whether one of them failed.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        // They stay until they complete, for other threads that wait meanwhile.
        let pending = lock(&self.0).clone();
        let waited = Event::wait(pending.iter().map(|command| &**command));
        lock(&self.0).retain(|command| !command.is_over());
        waited
    }
}
