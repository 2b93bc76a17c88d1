//! Whether CUDA is there, its devices, and its errors by name.

use crate::base::error::Error;
use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{DriverError, result};

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
    /// The highest clock of its multiprocessors, in kHz.
    pub clock_khz: u32,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
    /// The rate of its memory, in bytes a second: of the clock and width that the driver reports.
    pub memory_rate: u64,
    /// The shared memory that a thread block may have, in bytes.
    pub shared_memory_bytes: u32,
    /// The newest CUDA that its driver supports.
    pub driver_version: String,
    /// The driver's release, such as `580.159.04`, where the system reports it.
    pub driver_release: Option<String>,
}

/// The CUDA devices of this machine.
///
/// # Errors
/// [`Error::CudaUnavailable`] without a driver or a device.
pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
    (0..count()?).map(describe).collect()
}

/// Describes a device without creating a context on it.
fn describe(ordinal: usize) -> Result<DeviceInfo, Error> {
    use sys::CUdevice_attribute as Attribute;
    let device = result::device::get(ordinal as i32).map_err(|e| error("cuDeviceGet", e))?;
    // SAFETY: the driver returned this device.
    let attribute =
        |a| unsafe { result::device::get_attribute(device, a) }.map_err(|e| error("cuDeviceGetAttribute", e));
    Ok(DeviceInfo {
        ordinal,
        name: result::device::get_name(device).map_err(|e| error("cuDeviceGetName", e))?,
        compute_capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32,
        ),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? as u32,
        // Two transfers a clock.
        memory_rate: 2 * 1000 / 8
            * attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)? as u64
            * attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)? as u64,
        shared_memory_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as u32,
        // SAFETY: the driver returned this device.
        memory_bytes: unsafe { result::device::total_mem(device) }.map_err(|e| error("cuDeviceTotalMem", e))? as u64,
        driver_version: {
            let version = driver_version()?;
            format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
        },
        driver_release: driver_release(),
    })
}

/// The requirements of the stored kernels: the compute capability of their PTX, and a driver that knows its version.
const OLDEST_ARCHITECTURE: u32 = 75;
const OLDEST_DRIVER: i32 = 13000;

/// The version that the kernel module reports, on Linux.
fn driver_release() -> Option<String> {
    let release = std::fs::read_to_string("/sys/module/nvidia/version").ok()?.trim().to_string();
    (!release.is_empty()).then_some(release)
}

/// A device that can run the stored kernels, or why the device with this number is not one.
pub(crate) fn usable(ordinal: usize) -> Result<DeviceInfo, Error> {
    let count = count()?;
    if ordinal >= count {
        return Err(Error::NoSuchDevice { ordinal, count });
    }
    let info = describe(ordinal)?;
    let (major, minor) = info.compute_capability;
    if 10 * major + minor < OLDEST_ARCHITECTURE {
        let what = format!("{} has compute capability {major}.{minor}, and the kernels need 7.5", info.name);
        return Err(unavailable(what, "use a later GPU"));
    }
    if driver_version()? < OLDEST_DRIVER {
        let what = format!("the NVIDIA driver supports {}, and the kernels need CUDA 13.0", info.driver_version);
        return Err(unavailable(what, "update it to release 580 or later"));
    }
    Ok(info)
}

/// Why CUDA cannot be used, and a remedy.
pub(crate) fn unavailable(what: impl Into<String>, help: &str) -> Error {
    Error::CudaUnavailable { what: what.into(), help: help.into() }
}

/// The number of devices; at least one.
pub(crate) fn count() -> Result<usize, Error> {
    // SAFETY: only checks whether the library opens. Called before any other call, because those panic without the
    // library.
    if !unsafe { sys::is_culib_present() } {
        return Err(unavailable(
            "no NVIDIA driver was found",
            "install the driver, or in a container pass the GPU through",
        ));
    }
    let no_device = || unavailable("the NVIDIA driver sees no device", "check `nvidia-smi`");
    match result::init() {
        Ok(()) => {}
        Err(e) if e.0 == CUresult::CUDA_ERROR_NO_DEVICE => return Err(no_device()),
        Err(e) => {
            let what = format!("the NVIDIA driver does not start ({})", name(e));
            return Err(unavailable(what, "check `nvidia-smi`"));
        }
    }
    match result::device::get_count() {
        Ok(n) if n > 0 => Ok(n as usize),
        Ok(_) => Err(no_device()),
        Err(e) => Err(error("cuDeviceGetCount", e)),
    }
}

/// The newest CUDA that the driver supports: 13000 for 13.0.
fn driver_version() -> Result<i32, Error> {
    let mut version = 0;
    // SAFETY: the library is there, as all callers have checked; the pointer is to a live integer.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(|e| error("cuDriverGetVersion", e))?;
    Ok(version)
}

/// The driver's name for an error. (Its `Display` asks the driver, and panics where there is none.)
pub(crate) fn name(e: DriverError) -> String {
    format!("{:?}", e.0)
}

/// Converts a driver error to this crate's error.
pub(crate) fn error(call: &str, e: DriverError) -> Error {
    match e.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfDeviceMemory { what: format!("what {call} asks for") },
        _ => Error::Cuda { call: call.into(), code: name(e) },
    }
}

/// Whether an error leaves the context unusable: every later call on it would fail too.
pub(crate) fn is_sticky(e: DriverError) -> bool {
    use CUresult::*;
    /// `CUDA_ERROR_CONTAINED` and `CUDA_ERROR_TENSOR_MEMORY_LEAK`, which the bindings of older versions do not name.
    const UNNAMED: [u32; 2] = [226, 721];
    let is_named = matches!(
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
            | CUDA_ERROR_DEVICE_UNAVAILABLE
            | CUDA_ERROR_EXTERNAL_DEVICE
            | CUDA_ERROR_MPS_CLIENT_TERMINATED
            | CUDA_ERROR_UNKNOWN
    );
    is_named || UNNAMED.contains(&(e.0 as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_kernels_need_what_is_asked_of_a_device() {
        for kernel in aes_bitslice_kernels::KERNELS {
            assert!(kernel.ptx.contains(&format!(".target sm_{OLDEST_ARCHITECTURE}\n")), "{}", kernel.name);
            // CUDA 13.0 brought PTX 9.0.
            assert!(kernel.ptx.contains(".version 9.0\n") && OLDEST_DRIVER == 13000, "{}", kernel.name);
        }
    }
}
