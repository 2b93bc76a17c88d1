//! Commands that may still use memory of ours, in whatever queue they are: to be waited for before it is cleared.

use super::handles::{Event, lock};
use crate::Error;
use std::sync::{Arc, Mutex};

/// Commands that may not be done yet.
#[derive(Default)]
pub(super) struct Pending(Mutex<Vec<Arc<Event>>>);

impl Pending {
    /// Adds a command.
    pub(super) fn add(&self, command: &Event) {
        let Ok(command) = command.another() else {
            // One that cannot be kept is waited for now.
            let _ = Event::wait([command]);
            return;
        };
        let mut pending = lock(&self.0);
        if pending.len() == pending.capacity() {
            // With room for as many again, however many there are, one call in so many pays for this.
            pending.retain(|command| !command.is_over());
            let room = pending.len().max(16);
            pending.reserve(room);
        }
        pending.push(Arc::new(command));
    }

    /// Waits for all that were added before, and tells whether one of them failed.
    pub(super) fn wait(&self) -> Result<(), Error> {
        // They stay until they are done, for whoever else waits meanwhile.
        let pending = lock(&self.0).clone();
        let waited = Event::wait(pending.iter().map(|command| &**command));
        lock(&self.0).retain(|command| !command.is_over());
        waited
    }
}
