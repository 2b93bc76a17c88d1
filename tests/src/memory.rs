//! Where the data of a call is: host memory or GPU memory, between bytes that must not change.

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, CudaViewMut};
use aes_bitslice_runtime::{Access, Backend, Buffers, Cipher, Engine, Error, Operation};
use std::sync::Arc;

/// Where the data of a call is.
pub enum Memory {
    /// Host memory.
    Host,
    /// GPU memory. The data begins this many bytes past a multiple of 256.
    Gpu(Arc<CudaStream>, usize),
}

impl Memory {
    /// Host memory, and GPU memory if the engine has it: aligned, at a multiple of four bytes, and at none.
    ///
    /// # Panics
    /// If the GPU gives no stream.
    pub fn all_of(engine: &Engine) -> Vec<Self> {
        let stream = || engine.cuda_context().expect("a GPU").new_stream().expect("a stream");
        let on_gpu = match engine.backend() {
            Backend::Cuda { .. } => Vec::from([0, 4, 3].map(|offset| Self::Gpu(stream(), offset))),
            _ => Vec::new(),
        };
        std::iter::once(Self::Host).chain(on_gpu).collect()
    }

    /// Makes a call on data, here.
    ///
    /// # Errors
    /// Those of the call.
    ///
    /// # Panics
    /// If a byte around the data was changed, or the driver fails.
    pub fn run<O: Operation>(&self, cipher: &Cipher, operation: &O, data: &mut [u8]) -> Result<O::Output, Error> {
        let operation = operation.clone();
        match self.on_gpu(data, |stream, data| cipher.device()?.run_with_output(stream, operation.clone(), data)) {
            Some(pending) => pending?.wait(),
            None if O::ACCESS == Access::Reads => cipher.run(operation, &*data),
            None => cipher.run(operation, data),
        }
    }

    /// The result of a call on a copy of the data in GPU memory, which is copied back; `None` for host memory.
    ///
    /// # Panics
    /// If a byte around the data was changed, or the driver fails.
    fn on_gpu<T>(
        &self,
        data: &mut [u8],
        call: impl FnOnce(&CudaStream, &mut CudaViewMut<'_, u8>) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        let Self::Gpu(stream, offset) = self else { return None };
        let there = [&vec![0x5a; *offset], &data[..], &[0xa5; 9]].concat();
        let mut memory = stream.clone_htod(&there).expect("memory");
        let outcome = call(stream, &mut memory.slice_mut(*offset..*offset + data.len()));
        let found = stream.clone_dtoh(&memory).expect("what was written");
        let (before, rest) = found.split_at(*offset);
        let (written, after) = rest.split_at(data.len());
        assert!(before.iter().all(|&byte| byte == 0x5a) && after == [0xa5; 9], "a byte around the data was changed");
        data.copy_from_slice(written);
        Some(outcome)
    }
}

/// The result of a call in host memory, in place and from an input to an output, which must be equal.
///
/// # Panics
/// If they are not, or a call fails.
pub fn both_ways(data: &[u8], run: impl Fn(Buffers<'_>) -> Result<(), Error>) -> Vec<u8> {
    let (mut in_place, mut output) = (data.to_vec(), vec![0xa5; data.len()]);
    run((&mut in_place).into()).expect("a call in place");
    run((data, &mut output[..]).into()).expect("a call from an input to an output");
    assert!(in_place == output, "in place and not");
    output
}
