//! The resources of a multiprocessor that a kernel takes, as the driver reports them.

use crate::measure::driver::driver;
use crate::measured::Profile;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_nvrtc::{self as nvrtc, Target};
use aes_bitslice_runtime::Engine;
use aes_bitslice_runtime::cuda::cudarc::driver::sys::CUdevice_attribute as Attribute;
use aes_bitslice_runtime::cuda::cudarc::driver::sys::CUfunction_attribute as Of;
use aes_bitslice_runtime::cuda::cudarc::nvrtc::Ptx;
use anyhow::{Result, anyhow};

/// The profile of a kernel in CUDA C, for its entry point for whole blocks.
///
/// # Errors
/// Without NVRTC, and for errors of the driver. The compiler's log is left out, because it may quote a key.
pub fn of(engine: &Engine, Printed { source, manifest }: &Printed) -> Result<Profile> {
    let context = engine.cuda_context()?;
    let attribute = |a| context.attribute(a).map_err(driver);
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let all_threads = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
    let compiled = match nvrtc::compile(&manifest.kernel, source, Target::Cubin((10 * major + minor) as u32)) {
        Err(nvrtc::Error::Rejected { .. }) => Err(anyhow!("{} does not compile", manifest.kernel)),
        compiled => Ok(compiled?),
    }?;
    let module = context.load_module(Ptx::from_binary(compiled.image)).map_err(driver)?;
    let function = module.load_function(&manifest.entries[&Entry::Blocks].name).map_err(driver)?;
    if manifest.shared_bytes > 0 {
        let bytes = manifest.shared_bytes as i32;
        function.set_attribute(Of::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes).map_err(driver)?;
    }
    let of = |a| function.get_attribute(a).map_err(driver).map(|value| value as u32);
    let shared = manifest.shared_bytes as usize;
    let thread_blocks = function.occupancy_max_active_blocks_per_multiprocessor(manifest.threads, shared, None);
    let thread_blocks = thread_blocks.map_err(driver)?;
    Ok(Profile {
        registers: of(Of::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        local_bytes: of(Of::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        shared_bytes: of(Of::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? + manifest.shared_bytes,
        threads: manifest.threads,
        thread_blocks,
        occupancy: f64::from(thread_blocks * manifest.threads) / f64::from(all_threads),
    })
}
