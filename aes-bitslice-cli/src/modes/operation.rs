//! Any operation of the runtime, on each kind of memory.

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, CudaView, CudaViewMut};
use aes_bitslice_runtime::cuda::{DeviceCipher, ShardedBuffer, ShardedCipher};
use aes_bitslice_runtime::opencl::opencl3::command_queue::CommandQueue;
use aes_bitslice_runtime::opencl::{BufferCipher, BufferSlice};
use aes_bitslice_runtime::{Access, Buffers, Cipher, Error, Keys, Operation};

/// The result of a call.
type Result = std::result::Result<(), Error>;

/// An operation that returns nothing except what it writes. All of these have these methods: each is one call of the
/// runtime. An operation that only writes ignores the input that it is given.
pub trait AnyOperation {
    /// The name, used in error texts.
    fn name(&self) -> &'static str;

    /// Whether its chunks must be done in order, on one core of the CPU.
    fn is_serial(&self) -> bool;

    /// Which keys it needs.
    fn keys(&self) -> Keys;

    /// Whether it reads data. Otherwise it only writes.
    fn reads(&self) -> bool;

    /// On host memory.
    fn on_host(&self, cipher: &Cipher, data: Buffers<'_>) -> Result;

    /// On the memory of a CUDA GPU, in the order of `stream`.
    fn on_cuda(
        &self,
        cipher: &DeviceCipher,
        stream: &CudaStream,
        input: &CudaView<u8>,
        output: &mut CudaViewMut<u8>,
    ) -> Result;

    /// On memory that is sharded over several of them.
    fn on_sharded(&self, cipher: &ShardedCipher, input: &ShardedBuffer, output: &mut ShardedBuffer) -> Result;

    /// On buffers of an OpenCL device, in the order of `queue`.
    fn on_opencl(&self, cipher: &BufferCipher, queue: &CommandQueue, input: BufferSlice, output: BufferSlice)
    -> Result;
}

impl<O: Operation<Output = ()>> AnyOperation for O {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn is_serial(&self) -> bool {
        O::SERIAL
    }

    fn keys(&self) -> Keys {
        O::KEYS
    }

    fn reads(&self) -> bool {
        O::ACCESS != Access::Writes
    }

    fn on_host(&self, cipher: &Cipher, data: Buffers<'_>) -> Result {
        let data = match data {
            Buffers::To { output, .. } if !self.reads() => Buffers::Write(output),
            data => data,
        };
        cipher.run(self.clone(), data)
    }

    fn on_cuda(
        &self,
        cipher: &DeviceCipher,
        stream: &CudaStream,
        input: &CudaView<u8>,
        output: &mut CudaViewMut<u8>,
    ) -> Result {
        match self.reads() {
            true => cipher.run_to(stream, self.clone(), input, output),
            false => cipher.run(stream, self.clone(), output),
        }
    }

    fn on_sharded(&self, cipher: &ShardedCipher, input: &ShardedBuffer, output: &mut ShardedBuffer) -> Result {
        match self.reads() {
            true => cipher.run_to(self.clone(), input, output),
            false => cipher.run(self.clone(), output),
        }
    }

    fn on_opencl(
        &self,
        cipher: &BufferCipher,
        queue: &CommandQueue,
        input: BufferSlice,
        output: BufferSlice,
    ) -> Result {
        match self.reads() {
            true => cipher.run(queue, self.clone(), input, output),
            false => cipher.write(queue, self.clone(), output),
        }
    }
}
