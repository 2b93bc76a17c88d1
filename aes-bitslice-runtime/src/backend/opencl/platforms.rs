//! Whether OpenCL is there, and its devices.

use crate::backend::opencl::handles::{DeviceId, call, no_platform, number, text, unavailable};
use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::lock::lock;
use opencl3::device::{self, get_device_ids};
use opencl3::platform::platform::{self, get_platform_ids};
use opencl3::types::{cl_device_id, cl_device_info, cl_platform_id, cl_platform_info};
use std::fmt;
use std::sync::Mutex;

/// An OpenCL device, as its driver describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The number of its platform, from 0.
    pub platform: usize,
    /// The platform's name.
    pub platform_name: String,
    /// The platform's vendor.
    pub platform_vendor: String,
    /// The version of OpenCL that the platform supports.
    pub platform_version: String,
    /// The device's number in its platform, from 0.
    pub device: usize,
    /// Its name.
    pub name: String,
    /// The kind of device.
    pub kind: DeviceKind,
    /// The version of OpenCL that it supports.
    pub version: String,
    /// The release of its driver.
    pub driver: String,
    /// Its compute units: multiprocessors, or cores.
    pub compute_units: u32,
    /// The local memory that a work-group may have, in bytes.
    pub local_memory_bytes: u64,
    /// Its memory, in bytes.
    pub global_memory_bytes: u64,
}

impl DeviceInfo {
    /// The backend that opens it.
    pub fn backend(&self) -> Backend {
        Backend::OpenCl { platform: self.platform, device: self.device }
    }
}

/// The kind of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A GPU.
    Gpu,
    /// The processor of this machine.
    Cpu,
    /// An accelerator, such as an FPGA.
    Accelerator,
    /// Anything else.
    Other,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gpu => "GPU",
            Self::Cpu => "CPU",
            Self::Accelerator => "accelerator",
            Self::Other => "other device",
        })
    }
}

/// The OpenCL devices of this machine. Platforms that do not answer are left out.
///
/// # Errors
/// [`Error::OpenClUnavailable`] without a loader or a device, and any error the driver reports if no platform answers.
pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
    Ok(found()?.into_iter().map(|found| found.info).collect())
}

/// The first OpenCL GPU that can run kernels, as a [`Backend::OpenCl`]: the one that [`Backend::Auto`] opens where
/// there is no CUDA and the processor has no AES instructions. Nothing is opened.
pub fn first_gpu() -> Option<Backend> {
    find(Wanted::FirstGpu).ok().map(|found| found.info.backend())
}

/// A device that was found.
pub(crate) struct Found {
    pub(crate) info: DeviceInfo,
    pub(crate) id: DeviceId,
    /// Whether its compiler is NVIDIA's: it takes that compiler's options, and threads of a warp exchange words.
    pub(crate) is_nvidia: bool,
    /// The maximum size of one buffer, in bytes.
    pub(crate) largest_buffer: u64,
    /// Why no kernel can run there, if so.
    unusable: Option<String>,
}

/// Which device to open.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// By its numbers.
    Numbered { platform: usize, device: usize },
    /// The first GPU, else the first device.
    First,
    /// The first GPU.
    FirstGpu,
}

/// The wanted device, if it can run kernels.
pub(crate) fn find(wanted: Wanted) -> Result<Found, Error> {
    if let Wanted::Numbered { platform, device } = wanted {
        let mut all = found()?;
        let is_wanted = |found: &Found| (found.info.platform, found.info.device) == (platform, device);
        let Some(index) = all.iter().position(is_wanted) else {
            let one = |f: &Found| format!("{}.{} ({})", f.info.platform, f.info.device, f.info.name);
            let there = all.iter().map(one).collect::<Vec<_>>().join(", ");
            return Err(Error::NoSuchOpenClDevice { platform, device, there });
        };
        let found = all.swap_remove(index);
        return match found.unusable {
            None => Ok(found),
            Some(why) => Err(unavailable(format!("{} {why}", found.info.name), "use another device")),
        };
    }
    let mut usable: Vec<_> = found()?.into_iter().filter(|found| found.unusable.is_none()).collect();
    let gpu = usable.iter().position(|found| found.info.kind == DeviceKind::Gpu);
    let first = (matches!(wanted, Wanted::First) && !usable.is_empty()).then_some(0);
    match gpu.or(first) {
        Some(index) => Ok(usable.swap_remove(index)),
        None => {
            let what = match wanted {
                Wanted::FirstGpu => "OpenCL has no GPU",
                _ => "OpenCL has no device that runs kernels",
            };
            Err(unavailable(what, "install the device's OpenCL driver"))
        }
    }
}

/// All devices of all platforms that answer.
fn found() -> Result<Vec<Found>, Error> {
    // Drivers start when they are first queried, and PoCL 3.1 cannot handle two threads that query it at that time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _asking = lock(&ONE_AT_A_TIME);
    let platforms = call("clGetPlatformIDs", get_platform_ids())?;
    if platforms.is_empty() {
        return Err(no_platform());
    }
    let (mut all, mut failed) = (Vec::new(), None);
    for (number, &platform) in platforms.iter().enumerate() {
        match of_platform(number, platform) {
            Ok(devices) => all.extend(devices),
            Err(e) => failed = Some(e),
        }
    }
    match failed {
        _ if !all.is_empty() => Ok(all),
        Some(e) => Err(e),
        None => Err(unavailable("OpenCL sees no device", "check `clinfo`")),
    }
}

fn of_platform(number: usize, platform: cl_platform_id) -> Result<Vec<Found>, Error> {
    let name = platform_text(platform, platform::CL_PLATFORM_NAME)?;
    let vendor = platform_text(platform, platform::CL_PLATFORM_VENDOR)?;
    let version = platform_text(platform, platform::CL_PLATFORM_VERSION)?;
    let ids = call("clGetDeviceIDs", get_device_ids(platform, device::CL_DEVICE_TYPE_ALL))?;
    let describe = |(device, &id)| {
        let kind = device_number(id, device::CL_DEVICE_TYPE)?;
        let info = DeviceInfo {
            platform: number,
            platform_name: name.clone(),
            platform_vendor: vendor.clone(),
            platform_version: version.clone(),
            device,
            name: device_text(id, device::CL_DEVICE_NAME)?,
            kind: match kind {
                _ if kind & device::CL_DEVICE_TYPE_GPU != 0 => DeviceKind::Gpu,
                _ if kind & device::CL_DEVICE_TYPE_CPU != 0 => DeviceKind::Cpu,
                _ if kind & device::CL_DEVICE_TYPE_ACCELERATOR != 0 => DeviceKind::Accelerator,
                _ => DeviceKind::Other,
            },
            version: device_text(id, device::CL_DEVICE_VERSION)?,
            driver: device_text(id, device::CL_DRIVER_VERSION)?,
            compute_units: device_number(id, device::CL_DEVICE_MAX_COMPUTE_UNITS)? as u32,
            local_memory_bytes: device_number(id, device::CL_DEVICE_LOCAL_MEM_SIZE)?,
            global_memory_bytes: device_number(id, device::CL_DEVICE_GLOBAL_MEM_SIZE)?,
        };
        let is = |what| Ok::<_, Error>(device_number(id, what)? != 0);
        let unusable = match () {
            () if !is(device::CL_DEVICE_AVAILABLE)? => Some("is not available".into()),
            () if !is(device::CL_DEVICE_COMPILER_AVAILABLE)? => Some("has no compiler for OpenCL C".into()),
            // Blocks are words in memory.
            () if !is(device::CL_DEVICE_ENDIAN_LITTLE)? => Some("is big-endian, and the kernels are not".into()),
            () => too_old("has", &info.version).or_else(|| too_old("is on a platform of", &version)),
        };
        let extensions = device_text(id, device::CL_DEVICE_EXTENSIONS)?;
        let is_nvidia = extensions.split_whitespace().any(|name| name == "cl_nv_compiler_options");
        let largest_buffer = device_number(id, device::CL_DEVICE_MAX_MEM_ALLOC_SIZE)?;
        Ok(Found { info, id: DeviceId::new(id), is_nvidia, largest_buffer, unusable })
    };
    // Devices that do not answer are left out where others do.
    let described: Vec<Result<Found, Error>> = ids.iter().enumerate().map(describe).collect();
    if described.iter().any(Result::is_ok) {
        Ok(described.into_iter().flatten().collect())
    } else {
        described.into_iter().collect()
    }
}

/// The version of OpenCL that kernels and calls need.
const NEEDED: (u32, u32) = (1, 2);

/// Why this version of OpenCL will not do; `None` if it will.
fn too_old(whose: &str, version: &str) -> Option<String> {
    let (major, minor) = NEEDED;
    let will_do = numbers(version).is_some_and(|numbers| numbers >= NEEDED);
    (!will_do).then(|| format!("{whose} `{version}`, and the kernels need OpenCL {major}.{minor}"))
}

/// The numbers of a version, which has the form `OpenCL <major>.<minor> <what the vendor likes>`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.strip_prefix("OpenCL ")?.split_whitespace().next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn device_number(id: cl_device_id, what: cl_device_info) -> Result<u64, Error> {
    number("clGetDeviceInfo", device::get_device_data(id, what))
}

fn device_text(id: cl_device_id, what: cl_device_info) -> Result<String, Error> {
    text("clGetDeviceInfo", device::get_device_data(id, what))
}

fn platform_text(id: cl_platform_id, what: cl_platform_info) -> Result<String, Error> {
    text("clGetPlatformInfo", platform::get_platform_data(id, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_gpu_is_a_gpu_of_those_there_are() {
        let gpu = |info: &&DeviceInfo| info.kind == DeviceKind::Gpu;
        let all = devices().unwrap_or_default();
        match first_gpu() {
            Some(first) => assert!(all.iter().filter(gpu).any(|info| info.backend() == first)),
            None => assert!(find(Wanted::FirstGpu).is_err()),
        }
    }

    #[test]
    fn versions_are_read_and_old_ones_refused() {
        assert_eq!(numbers("OpenCL 3.0 CUDA 12.4.89"), Some((3, 0)));
        assert_eq!(numbers("OpenCL 1.2 pocl HSTR: pthread-x86_64"), Some((1, 2)));
        assert_eq!(numbers("OpenCL 1.10"), Some((1, 10)));
        for unreadable in ["", "OpenCL", "OpenCL ", "OpenCL 3", "OpenCL 3.", "OpenCL .2", "OpenCL C 1.2", "1.2"] {
            assert_eq!(numbers(unreadable), None, "{unreadable}");
        }
        for will_do in ["OpenCL 1.2 ", "OpenCL 1.10 x", "OpenCL 2.0 x", "OpenCL 3.0"] {
            assert_eq!(too_old("has", will_do), None, "{will_do}");
        }
        for old in ["OpenCL 1.0 x", "OpenCL 1.1 AMD", "OpenCL 0.9", "something"] {
            assert!(too_old("has", old).unwrap().starts_with(&format!("has `{old}`")), "{old}");
        }
    }
}
