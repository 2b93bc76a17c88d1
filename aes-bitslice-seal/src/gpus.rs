//! Chunks on CUDA GPUs: each is copied there, processed by one call, and copied back, on its own stream. Several threads at a time keep
//! both directions of the bus and the GPU busy; several GPUs get chunks in turn.

use crate::error::Error;
use aes_bitslice_runtime::cuda::DeviceCipher;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError};
use aes_bitslice_runtime::{self as runtime, Cipher, Engine, Operation};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The GPUs of an engine.
pub(crate) struct Gpus {
    gpus: Vec<Gpu>,
    next: AtomicUsize,
}

struct Gpu {
    context: Arc<CudaContext>,
    idle: Mutex<Vec<Room>>,
}

/// A stream of a GPU, and memory for a chunk.
struct Room {
    stream: Arc<CudaStream>,
    memory: CudaSlice<u8>,
}

impl Gpus {
    /// The GPUs of an engine, if it has any.
    pub(crate) fn of(engine: &Engine) -> Result<Option<Self>, Error> {
        if !engine.backend().is_cuda() {
            return Ok(None);
        }
        let gpu = |context: Arc<CudaContext>| {
            // A separate handle to the same context: an error that cudarc keeps in it does not reach the caller.
            let context =
                CudaContext::new(context.ordinal()).map_err(|error| failed("cuDevicePrimaryCtxRetain", error))?;
            Ok::<_, runtime::Error>(Gpu { context, idle: Mutex::default() })
        };
        let gpus = engine.cuda_contexts()?.into_iter().map(gpu).collect::<Result<_, _>>()?;
        Ok(Some(Self { gpus, next: AtomicUsize::new(0) }))
    }

    /// Runs an operation on host memory, all of it in one call on one GPU.
    pub(crate) fn run<O: Operation>(
        &self,
        cipher: &Cipher,
        operation: O,
        data: &mut [u8],
    ) -> Result<O::Output, runtime::Error> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) % self.gpus.len();
        let gpu = &self.gpus[number];
        let mut room = gpu.room(data.len())?;
        let output = room.run(&cipher.devices()?[number], operation, data)?;
        gpu.idle().push(room);
        Ok(output)
    }
}

impl Gpu {
    /// An idle room, or a new one, for this many bytes.
    fn room(&self, bytes: usize) -> Result<Room, runtime::Error> {
        // An error from an earlier drop: this call must not fail because of it.
        let _ = self.context.check_err();
        let mut idle = self.idle();
        if let Some(at) = idle.iter().position(|room| room.memory.len() >= bytes) {
            return Ok(idle.swap_remove(at));
        }
        drop(idle);
        let stream = self.context.new_stream().map_err(|error| failed("cuStreamCreate", error))?;
        // Rounded up: the first chunk of a stream is a little shorter than the others.
        let memory = stream.alloc_zeros(bytes.next_power_of_two()).map_err(|error| failed("cuMemAlloc", error))?;
        Ok(Room { stream, memory })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Room>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    fn run<O: Operation>(
        &mut self,
        device: &DeviceCipher<'_>,
        operation: O,
        data: &mut [u8],
    ) -> Result<O::Output, runtime::Error> {
        let Self { stream, memory } = self;
        let mut there = memory.slice_mut(..data.len());
        // Copies of pinned memory continue after the calls that start them: they use `data` until they are waited for.
        let copies = Copies(stream);
        stream.memcpy_htod(data, &mut there).map_err(|error| failed("cuMemcpyHtoDAsync", error))?;
        let pending = device.run_with_output(stream, operation, &mut there)?;
        stream.memcpy_dtoh(&there, data).map_err(|error| failed("cuMemcpyDtoHAsync", error))?;
        let output = pending.wait()?;
        copies.wait()?;
        Ok(output)
    }
}

/// The work put on a stream, which is waited for, whatever happens.
struct Copies<'a>(&'a CudaStream);

impl Copies<'_> {
    fn wait(&self) -> Result<(), runtime::Error> {
        again(|| self.0.synchronize()).map_err(|error| failed("cuStreamSynchronize", error))
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

/// It may hold plaintext.
impl Drop for Room {
    fn drop(&mut self) {
        let _ = again(|| self.stream.memset_zeros(&mut self.memory));
    }
}

/// Repeats a call that must be made: cudarc keeps the error of a call that fails in a drop, and returns it from the next call, which then
/// does nothing.
fn again(mut call: impl FnMut() -> Result<(), DriverError>) -> Result<(), DriverError> {
    call().or_else(|_| call()).or_else(|_| call())
}

fn failed(call: &str, error: DriverError) -> runtime::Error {
    runtime::Error::Cuda { call: call.into(), code: format!("{:?}", error.0) }
}
