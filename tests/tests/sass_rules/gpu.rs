//! Launches of a cubin's entry point on a GPU.

use crate::program::{Addresses, Program, SHARED_BYTES};
use aes_bitslice_runtime::Engine;
use aes_bitslice_runtime::cuda::cudarc::driver::sys;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, result};
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

/// What bytes of the output are that a program leaves as they were.
pub const UNTOUCHED: u8 = 0xa5;

pub struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

/// The buffers of launches.
pub struct Buffers {
    input: CudaSlice<u32>,
    output: CudaSlice<u8>,
}

impl Gpu {
    pub fn new(engine: &Engine) -> Self {
        let context = engine.cuda_context().unwrap();
        Self { stream: context.default_stream(), context }
    }

    /// Buffers for a program on this number of thread blocks, and where they are.
    pub fn buffers(&self, program: &Program, blocks: usize) -> (Buffers, Addresses) {
        let threads = blocks * program.threads;
        let input = self.stream.alloc_zeros(threads * program.input).unwrap();
        let output = self.stream.clone_htod(&vec![UNTOUCHED; 4 * threads * program.output]).unwrap();
        let addresses =
            Addresses { input: input.device_ptr(&self.stream).0, output: output.device_ptr(&self.stream).0 };
        (Buffers { input, output }, addresses)
    }

    /// The output of a launch.
    pub fn run(
        &self,
        program: &Program,
        blocks: usize,
        buffers: &mut Buffers,
        input: &[u32],
        parameters: &[u8],
    ) -> Vec<u8> {
        self.context.bind_to_thread().unwrap();
        self.stream.memcpy_htod(input, &mut buffers.input).unwrap();
        let name = CString::new(&*program.entry).unwrap();
        let mut bytes = parameters.len();
        let mut extra: [*mut c_void; 5] = [
            ptr::without_provenance_mut(sys::CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize),
            parameters.as_ptr().cast_mut().cast(),
            ptr::without_provenance_mut(sys::CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize),
            (&raw mut bytes).cast(),
            ptr::null_mut(),
        ];
        // SAFETY: the image is a whole cubin; the parameters are as many bytes as the entry point takes, and live until the launch has
        // begun; the program stays within the buffers, which by the rules it does.
        unsafe {
            let module = result::module::load_data(program.cubin.as_ptr().cast()).unwrap();
            let function = result::module::get_function(module, name).unwrap();
            let (blocks, threads) = (blocks as u32, program.threads as u32);
            let stream = self.stream.cu_stream();
            let none = ptr::null_mut();
            let launched = sys::cuLaunchKernel(
                function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                SHARED_BYTES,
                stream,
                none,
                extra.as_mut_ptr(),
            );
            launched.result().unwrap();
            self.stream.synchronize().unwrap_or_else(|why| panic!("{}: {why:?}", program.entry));
            result::module::unload(module).unwrap();
        }
        self.stream.clone_dtoh(&buffers.output).unwrap()
    }
}
