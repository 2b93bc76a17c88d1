//! Contexts: their beginning and end, what they reach, and what is launched in them.

use crate::state::{Context, State, context_of};
use crate::work::Stream;
use std::time::Instant;

impl State {
    /// Whether a device can have access to the memory of another.
    pub(crate) fn can_access(&self, device: i32, peer: i32) -> bool {
        let group = |device: i32| device as usize / self.options.peers.max(1);
        device != peer && group(device) == group(peer)
    }

    /// Records a launch in a context, and returns when it completes at the earliest.
    pub(crate) fn launched(&mut self, context: usize) -> Option<Instant> {
        let slow = self.options.slow.filter(|&(device, _)| context_of(device as i32) == context);
        let of = self.contexts.get_mut(&context)?;
        of.launches += 1;
        let (_, takes) = slow?;
        let now = Instant::now();
        of.busy_until = Some(of.busy_until.map_or(now, |until| until.max(now)) + takes);
        of.busy_until
    }

    /// Frees everything that was created in a context, and notes it, unless the context was lost. Streams that were destroyed
    /// are done.
    pub(crate) fn end(&mut self, context: usize) {
        if self.run_all(context).is_ok() {
            let of = self.memory.values().filter(|memory| memory.context == context);
            self.left.extend(of.map(|memory| format!("{:?} memory of {} bytes", memory.kind, memory.len)));
            let is_left = |(number, stream): (&usize, &Stream)| {
                *number != context && stream.context == context && !stream.is_destroyed
            };
            let streams = self.streams.iter().filter(|&stream| is_left(stream)).count();
            let events = self.events.values().filter(|event| event.context == context).count();
            let modules = self.modules.values().filter(|module| module.context == context).count();
            for (what, how_many) in [("streams", streams), ("events", events), ("modules", modules)] {
                if how_many > 0 {
                    self.left.push(format!("{how_many} {what} of device {}", context - 1));
                }
            }
        }
        self.memory.retain(|_, memory| memory.context != context);
        self.streams.retain(|_, stream| stream.context != context);
        self.events.retain(|_, event| event.context != context);
        self.modules.retain(|_, module| module.context != context);
        self.functions.retain(|_, function| self.modules.contains_key(&function.module));
        for other in self.contexts.values_mut() {
            other.peers.remove(&context);
        }
        // It stays lost for the lifetime of the process.
        if let Some(of) = self.contexts.get_mut(&context) {
            *of = Context { lost: of.lost, launches: of.launches, ..Context::default() };
        }
    }

    /// Begins a context that is retained for the first time, or again.
    pub(crate) fn begin(&mut self, context: usize) {
        self.contexts.entry(context).or_default().retained += 1;
        self.streams.entry(context).or_insert_with(|| Stream::new(context));
    }
}
