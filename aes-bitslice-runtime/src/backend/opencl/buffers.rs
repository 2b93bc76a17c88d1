//! Calls on data in the caller's buffers: in the caller's queue, in place or not, without waiting.

use crate::backend::device::driver::Driver;
use crate::backend::device::hash::Sum;
use crate::backend::device::key::KeyOnDevice;
use crate::backend::opencl::commands::{Commands, Span};
use crate::backend::opencl::context::Context;
use crate::backend::opencl::device_key::DeviceKey;
use crate::backend::opencl::handles::{Event, number};
use crate::backend::opencl::memory::device_memory::DeviceMemory;
use crate::backend::opencl::memory::slice::BufferSlice;
use crate::backend::opencl::pending::{Later, Pending, Started};
use crate::backend::opencl::place::Place;
use crate::base::error::Error;
use crate::cpu::key::CpuKey;
use crate::exec::call::{Call, Data, Target};
use crate::exec::steps::Step;
use crate::exec::work::Work;
use crate::op::buffers::Access;
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::{self, Composition, Operation, Pass};
use crate::op::partial_hash::{HASH, Terms};
use aes_bitslice_core::mode::Mode;
use opencl3::command_queue::{self, CommandQueue};
use opencl3::memory;
use opencl3::types::{cl_command_queue, cl_mem_info};

/// A [`Cipher`](crate::Cipher) on OpenCL buffers.
///
/// Calls return when the work is in the queue, not when it completes; a device error shows when the caller waits for the queue, or for an
/// event of `enqueue_marker_with_wait_list`. Nothing is flushed. The cipher and the buffers may be dropped before the queue reaches the
/// call: OpenCL keeps what it needs. Objects whose memory must be cleared wait, when dropped, for the launches that use them:
/// [`DeviceMemory`], [`Pending`], and the last clone of a cipher that has hashed (GCM, GMAC, GHASH), or whose round keys are in device
/// memory, as for some ciphers of [`Engine::cipher_of`](crate::Engine::cipher_of). Do not drop these where something else must happen first
/// for the queue to go on.
///
/// Queues and buffers belong to the engine's context, [`Engine::opencl_context`](crate::Engine::opencl_context). Kernels must be able to
/// read the input and write the output: an input created with `CL_MEM_WRITE_ONLY` and an output created with `CL_MEM_READ_ONLY` do not
/// work.
///
/// It is `Send` and `Sync`: any number of threads may use one at the same time, each with its own queue or all with one. Queues may also be
/// out of order: commands that belong together wait for one another.
///
/// Any position in a buffer works; a multiple of 16 bytes is fast. For CTR, the position that counts is that of the data byte where the
/// first whole block of key stream begins: with `offset` 5 into the key stream, byte 11 of the data. CTR on data that is not all whole
/// aligned blocks takes up to three launches. If the driver refuses one of them, the output holds what the others write. After a call in
/// place nothing tells which parts those are: discard the output.
///
/// The first call of a mode compiles its kernel, which takes seconds, and waits for the known answer that it must give
/// ([`Error::CompileFailed`], [`Error::SelfTestFailed`]); [`prepare`](Self::prepare) does that in advance, before time counts. A cipher of
/// one kernel answers other modes with [`Error::NotInKernel`].
pub struct BufferCipher<'a> {
    key: &'a DeviceKey,
    /// The key on the CPU; `None` for a cipher of one kernel.
    cpu: Option<&'a CpuKey>,
}

/// The name of the memory, used in error texts.
const MEMORY: &str = "OpenCL buffers";

impl<'a> BufferCipher<'a> {
    pub(crate) fn new(key: &'a DeviceKey, cpu: Option<&'a CpuKey>) -> Self {
        Self { key, cpu }
    }

    /// Compiles the kernel for a mode, and waits for the known answer that it must give, unless that was done before.
    ///
    /// # Errors
    /// [`Error::CompileFailed`], [`Error::SelfTestFailed`], [`Error::NoSuchKernel`] where there is no such kernel, [`Error::NotInKernel`]
    /// on a kernel for another mode, and any error the driver reports.
    pub fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.key.prepare(mode, None)
    }

    /// Compiles and tests everything that calls of an operation need, unless that was done before: if it hashes, also the GHASH kernel, and
    /// builds the tables of the key.
    ///
    /// # Errors
    /// [`Error::CompileFailed`], [`Error::SelfTestFailed`], [`Error::NoSuchKernel`] where there is no such kernel, [`Error::NotInKernel`] on
    /// a kernel for another mode, [`Error::Unsupported`] for an operation without kernels, [`Error::WrongKeys`], [`Error::NeedsKey`] for an
    /// operation that hashes, on a cipher of one kernel, and any error the driver reports.
    pub fn prepare_for<O: Operation>(&self, operation: &O) -> Result<(), Error> {
        operation.clone().carry_out(Preparation(self))
    }

    /// Puts an operation on `data` into the queue: a slice in place, or into it where the operation only writes; or from an input to an output
    /// of the same length, `(input, output)`.
    ///
    /// CBC decryption in place allocates a little device memory, 16 bytes for each work-group.
    ///
    /// # Errors
    /// [`Error::WrongAccess`] for input and output of an operation that only writes, [`Error::WrongCall`] for one that hashes, any error of the
    /// operation's own checks, [`Error::LengthMismatch`], [`Error::OutOfRange`] for bytes that a buffer does not have, [`Error::Overlap`]
    /// if the slices overlap without being equal, [`Error::OtherOpenClContext`], [`Error::Unsupported`] where there is no kernel for the
    /// operation, [`Error::NotInKernel`] on a kernel for another mode, and any error the driver reports.
    pub fn run<'d, O: Operation<Output = ()>>(
        &self,
        queue: &CommandQueue,
        operation: O,
        data: impl Into<BufferSlices<'d>>,
    ) -> Result<(), Error> {
        operation.carry_out(Put(self.in_queue(queue, data.into())))
    }

    /// Puts an operation that returns a value, such as the tag of [`GcmEncrypt`](crate::GcmEncrypt), into the queue: on a slice in place, or
    /// only reading it; or from an input to an output of the same length, `(input, output)`. The value is available once the queue has reached
    /// it.
    ///
    /// [`GcmDecrypt`](crate::GcmDecrypt) writes plaintext, and clears it in the same queue if it is not authentic. Look at it, from the
    /// host or from another queue, only after that, and use none of it before [`Pending::wait`] has reported that it is authentic. Later
    /// commands in the queue (after a barrier, if it is out of order) see the message or zeros.
    ///
    /// The first call under a key builds the hash tables of the key, and waits for them, unless [`prepare_for`](Self::prepare_for) did.
    ///
    /// # Errors
    /// [`Error::WrongAccess`] for input and output of an operation that only reads, [`Error::WrongCall`] for one that returns no value,
    /// [`Error::NeedsKey`] on a cipher of one kernel, [`Error::Unsupported`] where there is no kernel for the operation, and for GCM with a
    /// nonce that is not 12 bytes long, whose secret counter no kernel here takes as data, any error of the operation's own checks,
    /// [`Error::LengthMismatch`], [`Error::OutOfRange`] for bytes that a buffer does not have, [`Error::Overlap`] if the slices overlap
    /// without being equal, [`Error::OtherOpenClContext`], [`Error::NotInKernel`] on a kernel for another mode, and any error the driver
    /// reports. If the driver refuses a launch, the output holds what the launches before it write, and after
    /// [`GcmDecrypt`](crate::GcmDecrypt) zeros, or its previous contents if nothing was launched yet: discard it.
    pub fn run_with_output<'d, O: Operation>(
        &self,
        queue: &CommandQueue,
        operation: O,
        data: impl Into<BufferSlices<'d>>,
    ) -> Result<Pending<O>, Error> {
        operation.carry_out(PutWithOutput(self.in_queue(queue, data.into()))).map(Pending)
    }

    fn in_queue<'c>(&'c self, queue: &'c CommandQueue, data: BufferSlices<'c>) -> InQueue<'c> {
        InQueue { cipher: self, queue, data, returns_value: None }
    }
}

/// The data of a call in buffers: a slice is both input and output, or the one of them that the operation uses; `(input, output)` are separate,
/// or one slice twice.
#[derive(Clone, Copy)]
pub struct BufferSlices<'d> {
    input: Option<BufferSlice<'d>>,
    output: BufferSlice<'d>,
}

impl<'d> BufferSlices<'d> {
    /// The input and the output of an operation with this access.
    fn used(self, access: Access) -> (Option<BufferSlice<'d>>, Option<BufferSlice<'d>>) {
        let input = self.input.unwrap_or(self.output);
        ((access != Access::Writes).then_some(input), (access != Access::Reads).then_some(self.output))
    }
}

impl<'d> From<BufferSlice<'d>> for BufferSlices<'d> {
    fn from(output: BufferSlice<'d>) -> Self {
        Self { input: None, output }
    }
}

impl<'d> From<(BufferSlice<'d>, BufferSlice<'d>)> for BufferSlices<'d> {
    fn from((input, output): (BufferSlice<'d>, BufferSlice<'d>)) -> Self {
        Self { input: Some(input), output }
    }
}

impl Target for BufferCipher<'_> {
    fn cpu(&self) -> Option<&CpuKey> {
        self.cpu
    }

    fn kernels_for<O: Operation>(&self, operation: &O) -> Result<KernelsNeeded, Error> {
        let kernels = operation.kernels();
        if kernels.counters_are_secret {
            return Err(Error::Unsupported { operation: SECRET_COUNTERS, backend: MEMORY.into() });
        }
        if !kernels.exist() || kernels.of_messages {
            return Err(unsupported::<O>());
        }
        if kernels.mode.is_some() {
            // A key of another kind has other kernels: that it is of another kind says more.
            O::KEYS.check(O::NAME, self.cpu())?;
            self.key.mode_of(operation, MEMORY)?;
        }
        Ok(kernels)
    }
}

/// The data of a call in buffers, and its queue.
#[derive(Clone, Copy)]
struct InQueue<'a> {
    cipher: &'a BufferCipher<'a>,
    queue: &'a CommandQueue,
    data: BufferSlices<'a>,
    returns_value: Option<bool>,
}

impl Data for InQueue<'_> {
    type Checked = (cl_command_queue, Span);

    fn returns_value(&self) -> Option<bool> {
        self.returns_value
    }

    fn checked<O: Operation>(self, operation: &O) -> Result<((cl_command_queue, Span), u64), Error> {
        let Self { queue, data, .. } = self;
        let (context, access) = (self.cipher.key.driver(), operation.access());
        if data.input.is_some() && access != Access::Maps {
            return Err(access.refused(O::NAME));
        }
        let (input, output) = data.used(access);
        let queue = queue.get();
        let of_queue = command_queue::get_command_queue_data(queue, command_queue::CL_QUEUE_CONTEXT);
        if number("clGetCommandQueueInfo", of_queue)? != context.raw() as u64 {
            return Err(Error::OtherOpenClContext);
        }
        let extent = |slice: Option<BufferSlice<'_>>| slice.map(|slice| Extent::of(context, slice)).transpose();
        let (from, to) = (extent(input)?, extent(output)?);
        let len = input.or(output).map_or(0, |slice| slice.len() as u64);
        let mut in_place = false;
        if let (Some(input), Some(output), Some(from), Some(to)) = (input, output, &from, &to) {
            if input.len() != output.len() {
                return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
            }
            in_place = from.is(to);
            if !in_place && from.overlaps(to, len) {
                return Err(Error::Overlap);
            }
        }
        let place = |slice: Option<BufferSlice<'_>>, extent: Option<Extent>| {
            let (slice, extent) = slice.zip(extent)?;
            Some(Place { buffer: slice.raw(), at: slice.at() as u64, buffer_is_aligned: extent.aligned })
        };
        Ok(((queue, Span { input: place(input, from), output: place(output, to), len, in_place }), len))
    }
}

/// A call that puts an operation into a queue, which returns nothing.
struct Put<'a>(InQueue<'a>);

impl operation::Place for Put<'_> {
    type Value<V: Send + 'static> = ();

    fn pass<O: Pass>(self, operation: O) -> Result<(), Error> {
        let data = InQueue { returns_value: Some(false), ..self.0 };
        let (call, (queue, span)) = Call::scrubbed(data.cipher, operation, data)?;
        // SAFETY: the data was checked; its slices keep their buffers.
        unsafe { data.put(queue, span, &call) }
    }

    fn composed<C: Composition>(self, _composition: C) -> Result<(), Error> {
        Err(unsupported::<C>())
    }
}

/// A call that puts an operation into a queue, which returns a value.
struct PutWithOutput<'a>(InQueue<'a>);

impl PutWithOutput<'_> {
    fn start<O: Pass>(self, operation: O) -> Result<Started<O>, Error> {
        let data = InQueue { returns_value: Some(true), ..self.0 };
        let (call, (queue, span)) = Call::scrubbed(data.cipher, operation, data)?;
        // SAFETY: the data was checked; its slices keep their buffers.
        let hash = unsafe { data.put_with_hash(queue, span, &call) }?;
        Ok(Started { call, hash: hash.map(|memory| (span.len, memory)) })
    }
}

/// The work of checked calls.
impl InQueue<'_> {
    /// Puts the cipher of a call into the queue, without waiting.
    ///
    /// # Safety
    /// Queue and buffers are alive, belong to the device's context, and the buffers have the bytes of the span.
    unsafe fn put(&self, queue: cl_command_queue, span: Span, work: &dyn Work) -> Result<(), Error> {
        let mut commands = Commands::of(queue);
        let launched = work.kernels().mode.map_or(Ok(()), |mode| {
            // SAFETY: as the caller promises.
            unsafe { self.cipher.key.launch(&mut commands, span, work, mode, None) }
        });
        // After a failure, too: the launches before it are in the queue.
        self.is_used_by(span, &commands.events);
        launched
    }

    /// Records, in those of the slices that are the engine's memory, the launches that use them.
    fn is_used_by(&self, span: Span, launches: &[Event]) {
        let BufferSlices { input, output } = self.data;
        let input = input.filter(|_| !span.in_place);
        input.into_iter().chain([output]).for_each(|slice| launches.iter().for_each(|launch| slice.is_used_by(launch)));
    }

    /// Puts all steps of a call into the queue, without waiting, and returns the memory that receives the hash; `None` if there is no data.
    ///
    /// # Safety
    /// Queue and buffers are alive, belong to the device's context, and the buffers have the bytes of the span.
    unsafe fn put_with_hash(
        &self,
        queue: cl_command_queue,
        span: Span,
        work: &dyn Work,
    ) -> Result<Option<DeviceMemory>, Error> {
        let key = self.cipher.key;
        // Before anything is written: a known-answer test may fail.
        key.prepare_all(work, None)?;
        if span.len == 0 {
            return Ok(None);
        }
        let context = key.driver();
        let hash = DeviceMemory::of_buffer(context, context.buffer(HASH)?, HASH);
        let at_hash = Place::start_of(hash.raw());
        let mut commands = Commands::of(queue);
        clear(context, &mut commands, at_hash, HASH)?;
        let (terms, mut writes) = (Terms::of_hash(), false);
        let launched = work.kernels().steps().try_for_each(|step| {
            // The next commands wait for what is in the queue.
            commands.barrier()?;
            writes |= matches!(step, Step::Cipher(_));
            // SAFETY: as the caller promises.
            unsafe { key.launch_step(&mut commands, span, work, step, None, Sum { terms: &terms, at: at_hash }) }
        });
        let launched = launched.and_then(|()| commands.barrier()).and_then(|()| {
            // SAFETY: as the caller promises.
            unsafe { key.clear_unless_authentic(&mut commands, span, work, at_hash) }
        });
        if launched.is_err()
            && writes
            && let Some(output) = span.output
            && work.verdict(span.len).is_some()
        {
            // Data that was not verified must not stay there; if even this fails, nothing more can be done.
            let _ = clear(context, &mut commands, output, span.len as usize);
        }
        commands.events.iter().for_each(|command| hash.is_used_by(command));
        self.is_used_by(span, &commands.events);
        launched.map(|()| Some(hash))
    }
}

impl operation::Place for PutWithOutput<'_> {
    type Value<V: Send + 'static> = Later<V>;

    fn pass<O: Pass>(self, operation: O) -> Result<Later<O::Output>, Error> {
        self.start(operation).map(Started::later)
    }

    fn composed<C: Composition>(self, _composition: C) -> Result<Later<C::Output>, Error> {
        Err(unsupported::<C>())
    }
}

/// Compiles and tests everything that calls of an operation need.
struct Preparation<'a>(&'a BufferCipher<'a>);

impl operation::Place for Preparation<'_> {
    type Value<V: Send + 'static> = ();

    fn pass<O: Pass>(self, operation: O) -> Result<(), Error> {
        self.0.key.prepare_all(&Call::without_data(self.0, operation)?, None)
    }

    fn composed<C: Composition>(self, _composition: C) -> Result<(), Error> {
        Err(unsupported::<C>())
    }
}

fn unsupported<O: Operation>() -> Error {
    Error::Unsupported { operation: O::NAME, backend: MEMORY.into() }
}

/// Sets `len` bytes from a place on to zero, after what is in the queue.
fn clear(context: &Context, commands: &mut Commands, at: Place, len: usize) -> Result<(), Error> {
    commands.barrier()?;
    // SAFETY: queue and buffer are alive, and the buffer has these bytes.
    unsafe { Driver::clear(context, commands, at, len) }
}

/// The position of a slice in memory, even if it belongs to a sub-buffer.
struct Extent {
    /// The buffer that has the memory.
    root: u64,
    /// The position of the slice's first byte there.
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
        // The caller's memory may begin at any address.
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

/// The name, for errors, of the only operation with secret counters: no OpenCL kernel takes counters as data.
const SECRET_COUNTERS: &str = "GCM with a nonce that is not 12 bytes long";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::device::Device;
    use crate::backend::opencl::handles::{self, event_of};
    use crate::backend::opencl::memory::timed_queue::TimedQueue;
    use crate::backend::opencl::platforms::Wanted;
    use crate::base::counter::{Counter, CounterMode};
    use crate::base::key::Key;
    use crate::exec::backend::{OnBackend, Settings};
    use crate::op::buffers::Buffers;
    use crate::op::cbc::CbcEncrypt;
    use crate::op::ctr::Ctr;
    use crate::op::keystream::Keystream;
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

    /// A queue that is held up until it is opened, with a call in it on memory of the engine.
    struct HeldUp {
        queue: TimedQueue,
        gate: Event,
        memory: DeviceMemory,
        expected: Vec<u8>,
    }

    impl HeldUp {
        fn new(device: &Arc<Device>) -> Self {
            let (key, context) = (Key::new(&[3; 16]).unwrap(), &device.context);
            let operation = Ctr::new(&Counter::new(CounterMode::Ctr128BE, [7; 16]), 0);
            let mut expected = vec![0; 4096];
            let cpu = CpuKey::new(&key);
            let (call, data) = Call::new(&cpu, operation, Buffers::from(&mut expected)).unwrap();
            OnBackend::run(&cpu, call, data).unwrap();
            let key = DeviceKey::with_stored(device, &key, Settings::default()).unwrap();
            let (queue, memory) = (TimedQueue::new(context).unwrap(), DeviceMemory::new(context, 4096).unwrap());
            let gate = event_of("clCreateUserEvent", event::create_user_event(context.raw())).unwrap();
            // SAFETY: queue and event are alive.
            let barrier = unsafe { command_queue::enqueue_barrier_with_wait_list(queue.queue().get(), 1, &gate.raw()) };
            event_of("clEnqueueBarrierWithWaitList", barrier).unwrap();
            let all = memory.slice(0, 4096);
            BufferCipher::new(&key, None).run(queue.queue(), operation, all).unwrap();
            Self { queue, gate, memory, expected }
        }

        /// After a while, so that a thread that does not wait finishes before.
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
        let left = DeviceMemory::of_buffer(&device.context, left, 4096);
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
            (TimedQueue::new(&device.context).unwrap(), DeviceMemory::new(&device.context, 32).unwrap());
        let (cipher, all) = (BufferCipher::new(&key, None), memory.slice(0, 32));
        let serial = cipher.run(queue.queue(), CbcEncrypt::new(&[0; 16]), all);
        assert!(matches!(serial, Err(Error::Unsupported { .. })), "{serial:?}");
        let counter = Counter::new(CounterMode::Ctr128BE, [7; 16]);
        let writes = cipher.run(queue.queue(), Keystream::new(&counter, 0), (all, all));
        assert!(matches!(writes, Err(Error::WrongAccess { .. })), "{writes:?}");
    }
}
