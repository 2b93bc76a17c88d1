//! Device memory, and the commands that may still use it.
//!
//! | file | idea |
//! |---|---|
//! | `in_flight` | commands that may still use memory |
//! | `pinned` | host memory of the driver, mapped |
//! | `key_memory` | round keys and tables of a hash key in device memory |
//! | `slice` | bytes of a buffer: the caller's, or the engine's |
//! | `device_memory` | buffers for callers without any |
//! | `timed_queue` | a queue whose commands are timed by the device's clock |

pub(crate) mod device_memory;
pub(crate) mod in_flight;
pub(crate) mod key_memory;
pub(crate) mod pinned;
pub(crate) mod slice;
pub(crate) mod timed_queue;

/// What memory of an engine still holds when its owner is gone: another owner of the buffer keeps it alive.
#[cfg(test)]
mod tests {
    use super::device_memory::DeviceMemory;
    use super::key_memory::KeyMemory;
    use super::pinned::Pinned;
    use crate::backend::device::round_keys::KeyMaterial;
    use crate::backend::opencl::commands::Slots;
    use crate::backend::opencl::context::Context;
    use crate::backend::opencl::handles::{Buffer, Event, event_of};
    use crate::backend::opencl::platforms::Wanted;
    use opencl3::types::cl_mem;
    use opencl3::{event, memory};
    use std::sync::Arc;
    use std::time::Duration;

    const SECRET: [u8; 4096] = [0xa5; 4096];

    fn context() -> Arc<Context> {
        Context::open(Wanted::First).unwrap()
    }

    fn kept(raw: cl_mem) -> Buffer {
        // SAFETY: the buffer is alive; this is one more reference to it.
        unsafe {
            memory::retain_mem_object(raw).unwrap();
            Buffer::owning(raw)
        }
    }

    fn held(context: &Context, buffer: &Buffer) -> Vec<u8> {
        let mut found = vec![1; SECRET.len()];
        context.queue().read(buffer, 0, &mut found).unwrap();
        found
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn nothing_is_left_in_device_memory() {
        let context = context();
        let mut memory = DeviceMemory::new(&context, SECRET.len()).unwrap();
        let left = kept(memory.raw());
        memory.copy_from_host(0, &SECRET).unwrap();
        assert!(held(&context, &left) == SECRET);
        memory.clear().unwrap();
        assert!(held(&context, &left) == [0; SECRET.len()], "after a call of `clear`");
        memory.copy_from_host(0, &SECRET).unwrap();
        drop(memory);
        assert!(held(&context, &left) == [0; SECRET.len()], "after its drop");
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn nothing_is_left_of_a_key_once_its_last_reader_is_done() {
        let context = context();
        let memory = KeyMemory::new(&context, &[0xa5a5_a5a5; SECRET.len() / 4]).unwrap();
        let left = kept(memory.place().buffer);
        let gate = event_of("clCreateUserEvent", event::create_user_event(context.raw())).unwrap();
        memory.is_read_by(&gate);
        assert!(held(&context, &left) == SECRET);
        std::thread::scope(|scope| {
            let dropped = scope.spawn(|| drop(memory));
            std::thread::sleep(Duration::from_millis(100));
            assert!(!dropped.is_finished() && held(&context, &left) == SECRET, "cleared while it is read");
            event::set_user_event_status(gate.raw(), event::CL_COMPLETE).unwrap();
        });
        Event::wait([&gate]).unwrap();
        assert!(held(&context, &left) == [0; SECRET.len()]);
    }

    /// At rest and at the end: a slot may be idle for as long as its engine is open.
    #[test]
    #[ignore = "needs an OpenCL device"]
    fn nothing_is_left_in_a_slot() {
        let context = context();
        let pool = Slots::new(context.clone());
        let take = || pool.take(SECRET.len()).unwrap().with_staging(SECRET.len()).unwrap();
        let mut slot = take();
        let left = kept(slot.room(0, 0).buffer);
        slot.staging(0, SECRET.len()).copy_from_slice(&SECRET);
        slot.copy_in_staged(0, SECRET.len()).unwrap();
        slot.wait().unwrap();
        assert!(held(&context, &left) == SECRET);
        // As a kernel writes what nothing was copied to.
        let mut slot_of_output = take();
        let left_of_output = kept(slot_of_output.room(0, 0).buffer);
        context.queue().write(&left_of_output, 0, &SECRET).unwrap();
        slot_of_output.copy_out_staged(0, SECRET.len()).unwrap();
        drop((slot, slot_of_output));
        // Each queue is in order: its slot comes back when it is cleared.
        let mut again = [take(), take()];
        again.iter_mut().for_each(|slot| slot.copy_out_staged(0, 16).and_then(|()| slot.wait()).unwrap());
        assert!(held(&context, &left) == [0; SECRET.len()], "what was copied in");
        assert!(held(&context, &left_of_output) == [0; SECRET.len()], "what a kernel wrote");
        // Of a slot that failed, nobody said what to clear.
        context.queue().write(&left, 0, &SECRET).unwrap();
        drop(again);
        drop(pool);
        assert!(held(&context, &left) == [0; SECRET.len()], "with its pool");
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn nothing_is_left_in_pinned_memory() {
        let context = context();
        let mut memory = Pinned::new(&context, context.queue(), SECRET.len()).unwrap();
        let left = kept(memory.raw());
        memory.copy_from_slice(&SECRET);
        memory.unmap(context.queue()).unwrap();
        assert!(held(&context, &left) == [0; SECRET.len()]);
    }
}
