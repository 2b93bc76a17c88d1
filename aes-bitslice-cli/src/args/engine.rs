//! Which engine is used.

use std::ffi::OsStr;
use std::str::FromStr;

use aes_bitslice_runtime::{Backend, Kernels};
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Args, Command, ValueEnum};

/// Which engine to use.
#[derive(Args, Debug)]
pub struct EngineArgs {
    /// Engine: auto, cuda, opencl, cpu, cpu-bitsliced
    ///
    /// One of auto, cuda, cuda:N, cuda:all, opencl, opencl:P.D, cpu and cpu-bitsliced. `auto`, the default, takes the one that
    /// is faster for the size of the input. `aes-bitslice info` shows which, and lists the devices and their numbers.
    #[arg(short, long, default_value = "auto", hide_default_value = true)]
    pub backend: BackendName,
    /// Number of the CUDA GPU, several as in `0,2`, or `all`
    ///
    /// Counted from 0. Several share the work. The backend is then `cuda`.
    #[arg(long, value_name = "N", value_parser = parse_devices)]
    pub device: Option<Devices>,
    /// CUDA kernel
    ///
    /// Those with tables (tbox, co-resident, auto-any) are sometimes faster, but their lookup addresses depend on key and data: where
    /// others can measure what runs, use the default.
    #[arg(long, default_value = "auto", value_parser = KernelParser, hide_short_help = true)]
    pub kernel: KernelName,
}

/// A backend, and whether its name has the number of a GPU, as in `cuda:0` but not in `cuda`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendName {
    pub backend: Backend,
    pub is_numbered: bool,
}

impl FromStr for BackendName {
    type Err = aes_bitslice_runtime::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { backend: text.parse()?, is_numbered: text.contains(':') })
    }
}

/// The requested GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// All there are
    All,
    /// One or several, each once, by their numbers
    These(Vec<usize>),
}

/// Which GPU kernels to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KernelName {
    /// The fastest without secret-dependent addresses
    Auto,
    /// On bit-planes
    Bitsliced,
    /// With look-up tables
    Tbox,
    /// One with tables and one on bit-planes, at the same time on each multiprocessor
    CoResident,
    /// The fastest of all
    AutoAny,
}

impl KernelName {
    /// These kernels as the engine names them.
    pub fn kernels(self) -> Kernels {
        match self {
            Self::Auto => Kernels::Auto,
            Self::Bitsliced => Kernels::Bitsliced,
            Self::Tbox => Kernels::Tbox,
            Self::CoResident => Kernels::CoResident,
            Self::AutoAny => Kernels::AutoAny,
        }
    }
}

/// Reads a [`KernelName`]; for a former name, the error gives the present one.
#[derive(Clone)]
pub struct KernelParser;

impl TypedValueParser for KernelParser {
    type Value = KernelName;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<KernelName, clap::Error> {
        EnumValueParser::new().parse_ref(command, arg, value).map_err(|mut error| {
            if value == "pair" {
                let tip = "`pair` is called `co-resident` now".to_string();
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(KernelName::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

fn parse_devices(text: &str) -> Result<Devices, String> {
    if text == "all" {
        return Ok(Devices::All);
    }
    let mut devices = Vec::new();
    for number in text.split(',') {
        match number_of(number) {
            Some(device) if devices.contains(&device) => {
                return Err(format!("GPU {device} is there twice; name each once, or use `all`"));
            }
            Some(device) => devices.push(device),
            None => {
                return Err("GPUs are named by number, from 0, as in `0` or `0,2`, or `all`; `info` lists them".into());
            }
        }
    }
    Ok(Devices::These(devices))
}

/// The number of one GPU.
pub fn parse_device(text: &str) -> Result<usize, String> {
    number_of(text).ok_or_else(|| "a GPU is named by its number, from 0; `info` lists them".into())
}

fn number_of(text: &str) -> Option<usize> {
    // `parse` alone would accept a sign.
    text.parse().ok().filter(|_| text.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices() {
        assert_eq!(parse_devices("all"), Ok(Devices::All));
        assert_eq!(parse_devices("7"), Ok(Devices::These(vec![7])));
        assert_eq!(parse_devices("2,0,11"), Ok(Devices::These(vec![2, 0, 11])));
        for text in ["", ",", "0,", "-1", "+1", "0,0", "1,2,1", "0;1", "0, 1", "All", "all,0", "99999999999999999999"] {
            assert!(parse_devices(text).is_err(), "{text}");
        }
    }

    #[test]
    fn kernels_have_the_names_of_the_runtime() {
        for name in KernelName::value_variants() {
            assert_eq!(name.to_possible_value().unwrap().get_name(), name.kernels().name());
        }
        let listed: Vec<_> =
            KernelParser.possible_values().unwrap().map(|value| value.get_name().to_string()).collect();
        for kernels in Kernels::ALL {
            assert!(listed.iter().any(|name| name == kernels.name()), "{kernels}");
            assert!(KernelName::value_variants().iter().any(|name| name.kernels() == kernels), "{kernels}");
        }
    }
}
