//! Whether CUDA is there, which devices it has, and its errors in our words.

use crate::Error;
use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, DriverError, result};

/// A CUDA device, as its driver describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The device's number, from 0.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Its compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
    /// The newest CUDA that its driver supports.
    pub driver_version: String,
}

/// The CUDA devices of this machine.
///
/// # Errors
/// [`Error::CudaUnavailable`] without a driver or a device.
pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
    (0..count()?)
        .map(|ordinal| {
            let context = CudaContext::new(ordinal).map_err(|e| error("cuDevicePrimaryCtxRetain", e))?;
            let attribute = |a| context.attribute(a).map_err(|e| error("cuDeviceGetAttribute", e));
            let capability = context.compute_capability().map_err(|e| error("cuDeviceGetAttribute", e))?;
            Ok(DeviceInfo {
                ordinal,
                name: context.name().map_err(|e| error("cuDeviceGetName", e))?,
                compute_capability: (capability.0 as u32, capability.1 as u32),
                multiprocessors: attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
                memory_bytes: context.total_mem().map_err(|e| error("cuDeviceTotalMem", e))? as u64,
                driver_version: driver_version()?,
            })
        })
        .collect()
}

/// How many devices there are; at least one.
pub(super) fn count() -> Result<usize, Error> {
    let unavailable = |what: &str, help: &str| Error::CudaUnavailable { what: what.into(), help: help.into() };
    // SAFETY: only looks whether the library opens. Asked before any other call: those panic without it.
    if !unsafe { sys::is_culib_present() } {
        return Err(unavailable(
            "no NVIDIA driver was found",
            "install the driver, or use the backend `cpu`; in a container, pass the GPU through",
        ));
    }
    let no_device = || unavailable("the NVIDIA driver sees no device", "check `nvidia-smi`, or use the backend `cpu`");
    match result::init() {
        Ok(()) => {}
        Err(e) if e.0 == CUresult::CUDA_ERROR_NO_DEVICE => return Err(no_device()),
        Err(e) => {
            let what = format!("the NVIDIA driver does not start ({})", name(e));
            return Err(unavailable(&what, "check `nvidia-smi`, or use the backend `cpu`"));
        }
    }
    match result::device::get_count() {
        Ok(n) if n > 0 => Ok(n as usize),
        Ok(_) => Err(no_device()),
        Err(e) => Err(error("cuDeviceGetCount", e)),
    }
}

fn driver_version() -> Result<String, Error> {
    let mut version = 0;
    // SAFETY: the library is there, as whoever asks has checked; the pointer is to a live integer.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(|e| error("cuDriverGetVersion", e))?;
    Ok(format!("CUDA {}.{}", version / 1000, version % 1000 / 10))
}

/// The driver's name for an error. (Its `Display` asks the driver, and panics where there is none.)
pub(super) fn name(e: DriverError) -> String {
    format!("{:?}", e.0)
}

/// An error in our words.
pub(super) fn error(call: &str, e: DriverError) -> Error {
    Error::Cuda { call: call.into(), code: name(e) }
}

/// Whether an error leaves the context unusable: every later call on it would fail too.
pub(super) fn is_sticky(e: DriverError) -> bool {
    use CUresult::*;
    matches!(
        e.0,
        CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUDA_ERROR_CONTAINED
            | CUDA_ERROR_DEVICE_UNAVAILABLE
            | CUDA_ERROR_UNKNOWN
    )
}
