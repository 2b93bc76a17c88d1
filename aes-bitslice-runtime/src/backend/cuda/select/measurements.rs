//! The measurements made on this machine: how fast each kernel is, and how long data in host memory takes.

use crate::backend::cuda::driver::DeviceInfo;
use crate::exec::choice::{Choice, Kernels};
use crate::exec::processor;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use serde::{Deserialize, Serialize};

/// The configuration that measurements hold for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The GPU's name.
    pub gpu: String,
    /// Its driver's release or, where that is not known, the newest CUDA that it supports.
    pub driver: String,
    /// This program's version.
    pub version: String,
    /// The processor's AES instructions and the number of threads that share the work. Only the results for data in
    /// host memory depend on it.
    pub cpu: String,
}

impl Subject {
    /// A device of this machine, and this process's threads.
    pub fn new(device: &DeviceInfo) -> Self {
        Self {
            gpu: device.name.clone(),
            driver: device.driver_release.as_ref().unwrap_or(&device.driver_version).clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            cpu: processor::description(),
        }
    }
}

/// Everything that was measured on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measurements {
    /// The configuration it holds for.
    pub subject: Subject,
    /// Kernels on data in the GPU's memory.
    pub kernels: Vec<KernelRates>,
    /// Whole calls on data in host memory.
    pub host: Vec<HostRates>,
}

/// The rates of kernels on calls of one kind, from and to the memory of the GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct KernelRates {
    /// Their mode.
    #[serde(with = "text")]
    pub mode: Mode,
    /// The length of their keys.
    #[serde(with = "bits")]
    pub key_bits: KeyBits,
    /// Bytes a call.
    pub bytes: u64,
    /// The rates measured; at least the fastest of each kernel.
    pub rates: Vec<Rate>,
}

/// How fast a kernel is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rate {
    /// The kernel with its geometry.
    #[serde(with = "text")]
    pub kernel: Choice,
    /// 10^9 bytes a second.
    pub gbytes_per_second: f64,
}

/// The rates of calls of one kind from host memory to host memory, including transfers; 10^9 bytes a second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostRates {
    /// Their mode.
    #[serde(with = "text")]
    pub mode: Mode,
    /// The length of their keys.
    #[serde(with = "bits")]
    pub key_bits: KeyBits,
    /// Bytes a call.
    pub bytes: u64,
    /// The rate of [`Backend::Cpu`](crate::Backend::Cpu).
    pub cpu: f64,
    /// The rate of the GPU.
    pub cuda: f64,
}

impl KernelRates {
    /// The fastest kernel that is allowed and available.
    pub fn fastest(&self, kernels: Kernels, available: impl Fn(Choice) -> bool) -> Option<Rate> {
        let fits = |rate: &&Rate| kernels.allow(rate.kernel) && available(rate.kernel);
        self.rates.iter().filter(fits).max_by(|a, b| a.gbytes_per_second.total_cmp(&b.gbytes_per_second)).copied()
    }
}

/// The shortest key length measured for a mode that is no shorter than `bits`, else the longest.
pub(crate) fn nearest_bits(
    measured: impl Iterator<Item = (Mode, KeyBits)>,
    mode: Mode,
    bits: KeyBits,
) -> Option<KeyBits> {
    let lengths = measured.filter(|(m, _)| *m == mode).map(|(_, bits)| bits);
    lengths.min_by_key(|b| (b.bits() < bits.bits(), b.bits().abs_diff(bits.bits())))
}

/// The ratio of two sizes.
pub(crate) fn ratio(a: u64, b: u64) -> f64 {
    a.max(1) as f64 / b.max(1) as f64
}

/// A value in its text form.
mod text {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::fmt::Display;
    use std::str::FromStr;

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// A key length as a number of bits.
mod bits {
    use aes_bitslice_core::aes::KeyBits;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bits: &KeyBits, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(bits.bits() as u64)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<KeyBits, D::Error> {
        let bits = usize::deserialize(from)?;
        KeyBits::ALL.into_iter().find(|b| b.bits() == bits).ok_or_else(|| D::Error::custom("no AES key is that long"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn subject() -> Subject {
        let text = |text: &str| text.to_string();
        Subject { gpu: text("NVIDIA H200"), driver: text("580.1"), version: text("0.1.0"), cpu: text("16 threads") }
    }

    fn rates(mode: Mode, key_bits: KeyBits, bytes: u64, rates: &[(&str, f64)]) -> KernelRates {
        let rate =
            |&(kernel, gbytes_per_second): &(&str, f64)| Rate { kernel: kernel.parse().unwrap(), gbytes_per_second };
        KernelRates { mode, key_bits, bytes, rates: rates.iter().map(rate).collect() }
    }

    pub(crate) fn host(bytes: u64, cpu: f64, cuda: f64) -> HostRates {
        HostRates { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes, cpu, cuda }
    }

    pub(crate) fn measurements() -> Measurements {
        let (bits, large) = (KeyBits::Aes128, &[("bitsliced", 700.0), ("tbox", 800.0), ("co-resident:430", 900.0)]);
        Measurements {
            subject: subject(),
            kernels: vec![
                rates(Mode::Ctr, bits, 4 << 10, &[("bitsliced", 1.5), ("tbox", 0.5)]),
                rates(Mode::Ctr, bits, 16 << 10, large),
                rates(Mode::Ctr, KeyBits::Aes256, 4 << 10, &[("co-resident:300", 1.0)]),
            ],
            host: vec![host(4096, 8.0, 1.0), host(16384, 2.0, 1.0), host(65536, 2.0, 4.0)],
        }
    }
}
