//! Data in the caller's buffers: in the caller's queue, in place or not, without waiting.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::device_key::DeviceKey;
use crate::backend::opencl::handles::number;
use crate::backend::opencl::kernel::span::{Place, Span};
use crate::backend::opencl::memory::slice::BufferSlice;
use crate::base::error::Error;
use crate::op::buffers::Access;
use crate::op::operation::{Operation, check_keys};
use aes_bitslice_core::mode::Mode;
use opencl3::command_queue::{self, CommandQueue};
use opencl3::memory;
use opencl3::types::cl_mem_info;

/// A [`Cipher`](crate::Cipher) on OpenCL buffers.
///
/// Calls return when the work is in the queue, not when it is done; an error on the device shows when the caller waits for the queue, or
/// for an event of `enqueue_marker_with_wait_list`. Nothing is flushed. Cipher and buffers may be dropped before the queue has come to it:
/// OpenCL keeps what it needs. What has to be cleared waits, when it is dropped, for what was launched with it:
/// [`DeviceMemory`](crate::opencl::DeviceMemory), and the last clone of a cipher whose round keys lie in device memory, as some of
/// [`Engine::cipher_of`](crate::Engine::cipher_of) do.
///
/// Queues and buffers belong to the engine's context, [`Engine::opencl_context`](crate::Engine::opencl_context). Kernels may
/// read the input, and write the output: not what was made with `CL_MEM_WRITE_ONLY` or `CL_MEM_READ_ONLY`.
///
/// It is `Send` and `Sync`: any number of threads may use one at the same time, each with its own queue or all with one.
/// Queues may be out of order, too: what belongs together waits for one another.
///
/// Any place in a buffer works; one that is a multiple of 16 bytes is fast. For CTR what counts is the place of the byte
/// that the first whole block of key stream meets: with `offset` 5 into the key stream, byte 11 of the data. CTR on data that
/// is not all whole aligned blocks is up to three launches. If the driver refuses one of them, the output holds what the
/// others write, and after a call in place nothing tells which: throw it away.
///
/// The first call of a mode compiles its kernel, which takes seconds, and waits for the known answer that it must give
/// ([`Error::CompileFailed`], [`Error::SelfTestFailed`]); [`prepare`](Self::prepare) does that before time counts. A cipher of
/// one kernel answers other modes with [`Error::NotInKernel`].
pub struct BufferCipher<'a> {
    key: &'a DeviceKey,
}

impl<'a> BufferCipher<'a> {
    pub(crate) fn new(key: &'a DeviceKey) -> Self {
        Self { key }
    }

    /// Compiles the kernel for a mode, and waits for the known answer that it must give, unless that was done before.
    ///
    /// # Errors
    /// [`Error::CompileFailed`], [`Error::SelfTestFailed`], [`Error::NoSuchKernel`] where there is none, [`Error::NotInKernel`] on a
    /// kernel for another mode, and what the driver reports.
    pub fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.key.prepare(mode)
    }

    /// Puts an operation that maps its input to an output of the same length into the queue. The same slice twice is a call in
    /// place.
    ///
    /// CBC decryption in place takes a little device memory, 16 bytes for each work-group.
    ///
    /// # Errors
    /// [`Error::WrongAccess`] for an operation that only reads or only writes, what the operation refuses,
    /// [`Error::LengthMismatch`], [`Error::OutOfRange`] for bytes that a buffer does not have, [`Error::Overlap`] if the slices
    /// overlap without being the same, [`Error::OtherOpenClContext`], [`Error::Unsupported`] where there is no kernel for the
    /// operation, [`Error::NotInKernel`] on a kernel for another mode, and what the driver reports.
    pub fn run<O: Operation<Output = ()>>(
        &self,
        queue: &CommandQueue,
        operation: O,
        input: BufferSlice<'_>,
        output: BufferSlice<'_>,
    ) -> Result<(), Error> {
        self.enqueue(queue, operation, Access::Maps, Some(input), output)
    }

    /// Puts an operation that only writes into the queue.
    ///
    /// # Errors
    /// [`Error::WrongAccess`] for an operation that reads; else as [`run`](Self::run).
    pub fn write<O: Operation<Output = ()>>(
        &self,
        queue: &CommandQueue,
        operation: O,
        output: BufferSlice<'_>,
    ) -> Result<(), Error> {
        self.enqueue(queue, operation, Access::Writes, None, output)
    }

    fn enqueue<O: Operation<Output = ()>>(
        &self,
        queue: &CommandQueue,
        operation: O,
        access: Access,
        input: Option<BufferSlice<'_>>,
        output: BufferSlice<'_>,
    ) -> Result<(), Error> {
        if O::ACCESS != access {
            return Err(O::ACCESS.refused(O::NAME));
        }
        check_keys::<O>(self.key.is_xts())?;
        operation.check(input.unwrap_or(output).len() as u64)?;
        let mode = self.key.mode_of(&operation, "OpenCL buffers")?;
        let context = self.key.device().context();
        let queue = queue.get();
        let of_queue = command_queue::get_command_queue_data(queue, command_queue::CL_QUEUE_CONTEXT);
        if number("clGetCommandQueueInfo", of_queue)? != context.raw() as u64 {
            return Err(Error::OtherOpenClContext);
        }
        let from = input.map(|input| Extent::of(context, input)).transpose()?;
        let to = Extent::of(context, output)?;
        let (mut in_place, len) = (false, output.len() as u64);
        if let (Some(input), Some(from)) = (input, &from) {
            if input.len() != output.len() {
                return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
            }
            in_place = from.is(&to);
            if !in_place && from.overlaps(&to, len) {
                return Err(Error::Overlap);
            }
        }
        let place = |slice: BufferSlice<'_>| Place { buffer: slice.raw(), at: slice.at() as u64 };
        let span = Span {
            input: input.map(place),
            output: Some(place(output)),
            len,
            in_place,
            aligned: from.is_none_or(|from| from.aligned) && to.aligned,
        };
        let mut launches = Vec::new();
        // SAFETY: queue and buffers are alive, belong to the device's context, and the buffers have these bytes.
        let launched = unsafe { self.key.launch(queue, span, &operation, mode, &mut launches) };
        // After a failure, too: those before it are in the queue.
        for launch in &launches {
            output.is_used_by(launch);
            if let (Some(input), false) = (input, in_place) {
                input.is_used_by(launch);
            }
        }
        launched
    }
}

/// Where a slice lies in memory, also if it is of a sub-buffer.
struct Extent {
    /// The buffer that has the memory.
    root: u64,
    /// The slice's first byte there.
    at: u64,
    /// Whether the slice's own buffer begins at a multiple of 16 bytes.
    aligned: bool,
}

impl Extent {
    fn of(context: &Context, slice: BufferSlice<'_>) -> Result<Self, Error> {
        let buffer = slice.raw();
        let ask = |what: cl_mem_info| number("clGetMemObjectInfo", memory::get_mem_object_data(buffer, what));
        if ask(memory::CL_MEM_CONTEXT)? != context.raw() as u64 {
            return Err(Error::OtherOpenClContext);
        }
        let (at, len) = (slice.at(), slice.len());
        let there = ask(memory::CL_MEM_SIZE)? as usize;
        if at.checked_add(len).is_none_or(|end| end > there) {
            return Err(Error::OutOfRange { at, bytes: len, len: there });
        }
        let parent = ask(memory::CL_MEM_ASSOCIATED_MEMOBJECT)?;
        let root = if parent == 0 { buffer as u64 } else { parent };
        // The caller's memory may begin anywhere.
        let aligned = ask(memory::CL_MEM_HOST_PTR)?.is_multiple_of(16);
        Ok(Self { root, at: ask(memory::CL_MEM_OFFSET)? + at as u64, aligned })
    }

    fn is(&self, other: &Self) -> bool {
        (self.root, self.at) == (other.root, other.at)
    }

    fn overlaps(&self, other: &Self, len: u64) -> bool {
        self.root == other.root && self.at.abs_diff(other.at) < len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::device::Device;
    use crate::backend::opencl::handles::{self, Event, event_of};
    use crate::backend::opencl::memory::device_memory::DeviceMemory;
    use crate::backend::opencl::memory::timed_queue::TimedQueue;
    use crate::backend::opencl::platforms::Wanted;
    use crate::base::counter::{Counter, CounterMode};
    use crate::base::key::Key;
    use crate::exec::backend::{OnBackend, Settings};
    use crate::op::cbc::CbcEncrypt;
    use crate::op::cpu_key::CpuKey;
    use crate::op::ctr::Ctr;
    use opencl3::event;
    use std::sync::Arc;

    #[test]
    fn slices_are_the_same_or_apart() {
        let extent = |root, at| Extent { root, at, aligned: true };
        assert!(extent(1, 16).is(&extent(1, 16)) && !extent(1, 16).is(&extent(2, 16)));
        assert!(extent(1, 16).overlaps(&extent(1, 31), 16) && extent(1, 31).overlaps(&extent(1, 16), 16));
        assert!(!extent(1, 16).overlaps(&extent(1, 32), 16) && !extent(1, 16).overlaps(&extent(2, 16), 16));
    }

    fn device() -> Arc<Device> {
        Device::open(Wanted::First).unwrap()
    }

    /// A queue that is held up until it is opened, with a call in it on memory of the engine's.
    struct HeldUp {
        queue: TimedQueue,
        gate: Event,
        memory: DeviceMemory,
        expected: Vec<u8>,
    }

    impl HeldUp {
        fn new(device: &Arc<Device>) -> Self {
            let (key, context) = (Key::new(&[3; 16]).unwrap(), device.context());
            let operation = Ctr::new(&Counter::new(CounterMode::Ctr128BE, [7; 16]), 0);
            let mut expected = vec![0; 4096];
            OnBackend::run(&CpuKey::new(&key), operation, (&mut expected).into()).unwrap();
            let key = DeviceKey::with_stored(device, &key, Settings::default()).unwrap();
            let (queue, memory) = (TimedQueue::new(context).unwrap(), DeviceMemory::new(context, 4096).unwrap());
            let gate = event_of("clCreateUserEvent", event::create_user_event(context.raw())).unwrap();
            // SAFETY: queue and event are alive.
            let barrier = unsafe { command_queue::enqueue_barrier_with_wait_list(queue.queue().get(), 1, &gate.raw()) };
            event_of("clEnqueueBarrierWithWaitList", barrier).unwrap();
            let all = memory.slice(0, 4096);
            BufferCipher::new(&key).run(queue.queue(), operation, all, all).unwrap();
            Self { queue, gate, memory, expected }
        }

        /// After a while, so that a thread that does not wait is done before.
        fn open_soon(gate: &Event) {
            std::thread::sleep(std::time::Duration::from_millis(100));
            event::set_user_event_status(gate.raw(), event::CL_COMPLETE).unwrap();
        }
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn memory_is_read_when_calls_on_it_are_done() {
        let device = device();
        let HeldUp { queue: _queue, gate, memory, expected } = HeldUp::new(&device);
        let mut found = vec![0; 4096];
        std::thread::scope(|scope| {
            scope.spawn(|| HeldUp::open_soon(&gate));
            memory.copy_to_host(0, &mut found).unwrap();
        });
        assert!(found == expected);
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn memory_is_cleared_when_calls_on_it_are_done() {
        let device = device();
        let HeldUp { queue, gate, memory, .. } = HeldUp::new(&device);
        let raw = memory.slice(0, 0).raw();
        // SAFETY: alive; one more reference, to look at what is left of it.
        let left = unsafe {
            memory::retain_mem_object(raw).unwrap();
            handles::Buffer::owning(raw)
        };
        std::thread::scope(|scope| {
            scope.spawn(|| HeldUp::open_soon(&gate));
            drop(memory);
        });
        queue.finish().unwrap();
        let left = DeviceMemory::of_buffer(device.context(), left, 4096);
        let mut found = vec![1; 4096];
        left.copy_to_host(0, &mut found).unwrap();
        assert_eq!(found, [0; 4096]);
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn operations_that_do_not_map_or_have_no_kernel_are_refused() {
        let device = device();
        let key = DeviceKey::with_stored(&device, &Key::new(&[3; 16]).unwrap(), Settings::default()).unwrap();
        let (queue, memory) =
            (TimedQueue::new(device.context()).unwrap(), DeviceMemory::new(device.context(), 32).unwrap());
        let (cipher, all) = (BufferCipher::new(&key), memory.slice(0, 32));
        let serial = cipher.run(queue.queue(), CbcEncrypt::new(&[0; 16]), all, all);
        assert!(matches!(serial, Err(Error::Unsupported { .. })), "{serial:?}");
        let counter = Counter::new(CounterMode::Ctr128BE, [7; 16]);
        let maps = cipher.write(queue.queue(), Ctr::new(&counter, 0), all);
        assert!(matches!(maps, Err(Error::WrongAccess { .. })), "{maps:?}");
    }
}
