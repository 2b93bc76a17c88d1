//! The backends, by name.

use crate::base::error::Error;
use std::fmt;
use std::str::FromStr;

/// A backend: where to compute. Written `auto`, `cuda`, `cuda:N`, `cuda:all`, `opencl`, `opencl:P.D`, `cpu` or
/// `cpu-bitsliced`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Backend {
    /// The first CUDA device if it opens; else, if the processor has no AES instructions, the first OpenCL GPU; else
    /// the CPU. Data in host memory goes to whichever of device and CPU is faster for it:
    /// [`Engine::backend_for`](crate::Engine::backend_for). OpenCL is searched for only where it could be chosen: the
    /// search loads the library of every installed platform into the process
    /// ([`opencl`](crate::opencl#what-a-platforms-library-may-do)).
    #[default]
    Auto,
    /// An NVIDIA GPU.
    Cuda {
        /// The device's number, as the CUDA driver counts them, from 0.
        ordinal: usize,
    },
    /// All NVIDIA GPUs of this machine, each with a share of every call in proportion to its multiprocessors and clock;
    /// or those of [`Engine::multi`](crate::Engine::multi).
    CudaAll,
    /// An OpenCL device.
    OpenCl {
        /// The platform's number, as the OpenCL loader counts them, from 0.
        platform: usize,
        /// The device's number in its platform, from 0.
        device: usize,
    },
    /// The first OpenCL GPU, on any platform, else the first device.
    OpenClFirst,
    /// AES instructions on all cores; the `aes` crate on a processor without them.
    Cpu,
    /// The generated bitsliced code on all cores, on the widest vectors of the processor.
    CpuBitsliced,
}

impl Backend {
    /// Whether it is a CUDA GPU, or several.
    pub fn is_cuda(self) -> bool {
        matches!(self, Self::Cuda { .. } | Self::CudaAll)
    }

    /// Whether it is an OpenCL device.
    pub fn is_opencl(self) -> bool {
        matches!(self, Self::OpenCl { .. } | Self::OpenClFirst)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cuda { ordinal: 0 } => f.write_str("cuda"),
            Self::Cuda { ordinal } => write!(f, "cuda:{ordinal}"),
            Self::CudaAll => f.write_str("cuda:all"),
            Self::OpenCl { platform, device } => write!(f, "opencl:{platform}.{device}"),
            Self::OpenClFirst => f.write_str("opencl"),
            Self::Cpu => f.write_str("cpu"),
            Self::CpuBitsliced => f.write_str("cpu-bitsliced"),
        }
    }
}

impl FromStr for Backend {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        // `parse` alone would accept a sign.
        let number = |text: &str| text.bytes().all(|d| d.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let of_opencl = |numbers: &str| {
            let (platform, device) = numbers.split_once('.')?;
            Some(Self::OpenCl { platform: number(platform)?, device: number(device)? })
        };
        let known = match name {
            "auto" => Some(Self::Auto),
            "cuda" => Some(Self::Cuda { ordinal: 0 }),
            "cuda:all" => Some(Self::CudaAll),
            "opencl" => Some(Self::OpenClFirst),
            "cpu" => Some(Self::Cpu),
            "cpu-bitsliced" => Some(Self::CpuBitsliced),
            _ => match name.split_once(':') {
                Some(("cuda", ordinal)) => number(ordinal).map(|ordinal| Self::Cuda { ordinal }),
                Some(("opencl", numbers)) => of_opencl(numbers),
                _ => None,
            },
        };
        known.ok_or_else(|| Error::UnknownBackend { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_backends_read_back() {
        for backend in [
            Backend::Auto,
            Backend::Cuda { ordinal: 0 },
            Backend::Cuda { ordinal: 12 },
            Backend::CudaAll,
            Backend::OpenClFirst,
            Backend::OpenCl { platform: 0, device: 0 },
            Backend::OpenCl { platform: 10, device: 3 },
            Backend::Cpu,
            Backend::CpuBitsliced,
        ] {
            assert_eq!(backend.to_string().parse::<Backend>().unwrap(), backend);
        }
        for bad in [
            "",
            "gpu",
            "CPU",
            "cuda:All",
            "cuda:",
            "cuda:-1",
            "cuda:+1",
            "cuda:0x1",
            "cuda:99999999999999999999",
            "opencl:",
            "opencl:1",
            "opencl:1.",
            "opencl:.1",
            "opencl:-1.0",
            "opencl:0.+1",
            "opencl:0.0.0",
            "cpu ",
        ] {
            assert!(matches!(bad.parse::<Backend>(), Err(Error::UnknownBackend { .. })), "{bad}");
        }
    }
}
