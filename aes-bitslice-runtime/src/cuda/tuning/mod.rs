//! What was measured on this machine, and what follows from it for one call: which kernel it takes, and whether data in
//! host memory is worth bringing to the GPU.
//!
//! `aes-bitslice tune` measures and [saves](Measurements::save); opening a device reads what was saved. What cannot be
//! used is ignored, and [`Tuning::warning`] says so: nothing computes wrongly without it, only less fast.

mod file;

use super::DeviceInfo;
use super::choice::{self, Call, Choice, Kernels};
use crate::{KeyBits, Mode, cpu};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// What measurements hold for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The GPU's name.
    pub gpu: String,
    /// Its driver's release or, where that is not known, the newest CUDA that it supports.
    pub driver: String,
    /// This program's version.
    pub version: String,
    /// The processor's AES instructions and the threads that share the work. Only what has to do with data in host
    /// memory depends on it.
    pub cpu: String,
}

impl Subject {
    /// A device of this machine, and this process's threads.
    pub fn new(device: &DeviceInfo) -> Self {
        Self {
            gpu: device.name.clone(),
            driver: device.driver_release.as_ref().unwrap_or(&device.driver_version).clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            cpu: cpu::description(),
        }
    }
}

/// Everything that was measured on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measurements {
    /// What it holds for.
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
    /// What was measured; of each kernel at least the fastest.
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

/// The rates of calls of one kind from host memory to host memory, the transfers counted; 10^9 bytes a second.
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
    /// Of [`Backend::Cpu`](crate::Backend::Cpu).
    pub cpu: f64,
    /// Of the GPU.
    pub cuda: f64,
}

impl Measurements {
    /// How many bytes in host memory a call has to have at least for the GPU to be faster than the CPU; `None` where the
    /// CPU is for every size.
    pub fn cuda_from(&self, mode: Mode, key_bits: KeyBits) -> Option<u64> {
        crossover(&self.host, mode, key_bits)
    }
}

impl KernelRates {
    /// The fastest of what is allowed and available.
    pub fn fastest(&self, kernels: Kernels, available: impl Fn(Choice) -> bool) -> Option<Rate> {
        let fits = |rate: &&Rate| kernels.allow(rate.kernel) && available(rate.kernel);
        self.rates.iter().filter(fits).max_by(|a, b| a.gbytes_per_second.total_cmp(&b.gbytes_per_second)).copied()
    }
}

/// What a device goes by: measurements, or what is built in.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Compute capability, as in `sm_90`: 90.
    architecture: u32,
    kernels: Vec<KernelRates>,
    /// From how many bytes in host memory on the GPU is faster, for every mode and length of key.
    crossovers: Vec<((Mode, KeyBits), Option<u64>)>,
    host_measured: bool,
    measured: Option<PathBuf>,
    warning: Option<String>,
}

impl Tuning {
    /// What is known of a device: what was saved if it can be used, else what is built in.
    pub(super) fn of(device: &DeviceInfo) -> Self {
        let (major, minor) = device.compute_capability;
        let built_in = Self::built_in(10 * major + minor);
        let subject = Subject::new(device);
        match file::path(&subject) {
            Some(path) => built_in.with_file(path, &subject),
            None => built_in,
        }
    }

    fn built_in(architecture: u32) -> Self {
        Self {
            architecture,
            kernels: Vec::new(),
            crossovers: Vec::new(),
            host_measured: false,
            measured: None,
            warning: None,
        }
        .with_host(&[])
    }

    fn with_host(self, host: &[HostRates]) -> Self {
        let calls = Mode::ALL.into_iter().flat_map(|mode| KeyBits::ALL.map(|bits| (mode, bits)));
        let crossovers = calls.map(|(mode, bits)| ((mode, bits), crossover(host, mode, bits))).collect();
        Self { crossovers, host_measured: !host.is_empty(), ..self }
    }

    /// With what a file holds for `subject`, if there is one.
    fn with_file(self, path: PathBuf, subject: &Subject) -> Self {
        match file::read(&path, subject) {
            Ok(None) => self,
            Ok(Some(found)) => {
                let same_cpu = found.subject.cpu == subject.cpu;
                let warning = (!same_cpu).then(|| {
                    let (then, now) = (&found.subject.cpu, &subject.cpu);
                    format!(
                        "what is measured in `{}` for data in host memory is not used: it was with {then}, and this is \
                         {now}; run `aes-bitslice tune` here",
                        path.display()
                    )
                });
                let host = if same_cpu { found.host.as_slice() } else { &[] };
                let tuned = self.with_host(host);
                Self { kernels: found.kernels, measured: Some(path), warning, ..tuned }
            }
            Err(why) => {
                let warning = format!(
                    "tuning file `{}` is not used: {why}; run `aes-bitslice tune`, or remove it",
                    path.display()
                );
                Self { warning: Some(warning), ..self }
            }
        }
    }

    /// The file that the measurements are from; `None` for what is built in.
    pub fn file(&self) -> Option<&std::path::Path> {
        self.measured.as_deref()
    }

    /// Whether the engine that gets data in host memory was measured on this machine.
    pub fn is_host_measured(&self) -> bool {
        self.host_measured
    }

    /// One line about measurements that were found and could not be used.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// The kernel for a call: the fastest of those that `kernels` allows, as measured in the nearest size and the
    /// nearest length of key. `available` tells what the device can run; what was asked for by name is not asked about.
    pub(crate) fn choose(&self, kernels: Kernels, call: &Call, available: impl Fn(Choice) -> bool) -> Choice {
        // Nothing is measured on unaligned data, and no kernel is made for it: all that counts is to be safe.
        let kernels = if kernels == Kernels::AutoAny && !call.aligned { Kernels::Auto } else { kernels };
        let bits = nearest_bits(self.kernels.iter().map(|k| (k.mode, k.key_bits)), call.mode, call.key_bits);
        let measured = self.kernels.iter().filter(|k| k.mode == call.mode && Some(k.key_bits) == bits);
        let distance = |k: &&KernelRates| (ratio(k.bytes, call.bytes).ln().abs() * 1e6) as u64;
        let found = measured.min_by_key(distance).and_then(|k| k.fastest(kernels, &available));
        found.map_or_else(|| choice::built_in(self.architecture, kernels, call, available), |rate| rate.kernel)
    }

    /// Whether the GPU is faster than the CPU for a call on this many bytes in host memory, the transfers counted.
    pub fn prefers_cuda(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> bool {
        self.cuda_from(mode, key_bits).is_some_and(|from| bytes >= from)
    }

    /// How many bytes in host memory a call has to have at least for the GPU to be faster than the CPU; `None` where the
    /// CPU is for every size.
    pub fn cuda_from(&self, mode: Mode, key_bits: KeyBits) -> Option<u64> {
        self.crossovers.iter().find(|(call, _)| *call == (mode, key_bits)).and_then(|(_, from)| *from)
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.measured {
            Some(path) => write!(f, "measured, `{}`", path.display()),
            None => f.write_str("built in"),
        }
    }
}

/// Where the GPU begins to be faster for data in host memory, as long as nobody measured it. With AES instructions a core does
/// several GB/s, and many do what the link does: only measuring tells. Without them no number of cores comes near it.
fn built_in_crossover(aes_instructions: bool) -> Option<u64> {
    (!aes_instructions).then_some(1 << 20)
}

/// Where the GPU begins to be faster for calls of a mode: as measured with the nearest length of key, else as is built
/// in.
fn crossover(host: &[HostRates], mode: Mode, key_bits: KeyBits) -> Option<u64> {
    let bits = nearest_bits(host.iter().map(|h| (h.mode, h.key_bits)), mode, key_bits);
    let mut measured: Vec<_> = host.iter().filter(|h| h.mode == mode && Some(h.key_bits) == bits).collect();
    measured.sort_by_key(|h| h.bytes);
    if measured.is_empty() { built_in_crossover(cpu::has_aes()) } else { meeting(&measured) }
}

/// Where the GPU's rate passes the CPU's for good: between two measured sizes, where straight lines through the
/// logarithms meet. In the largest size the faster one has it for all that are larger.
fn meeting(by_size: &[&HostRates]) -> Option<u64> {
    let gain = |h: &HostRates| (h.cuda / h.cpu).ln();
    let first = by_size.iter().rposition(|h| gain(h) <= 0.0).map_or(0, |last_of_cpu| last_of_cpu + 1);
    let above = by_size.get(first)?;
    let Some(below) = first.checked_sub(1).map(|i| by_size[i]) else { return Some(0) };
    let part = -gain(below) / (gain(above) - gain(below));
    Some((below.bytes as f64 * ratio(above.bytes, below.bytes).powf(part)).ceil() as u64)
}

fn ratio(a: u64, b: u64) -> f64 {
    a.max(1) as f64 / b.max(1) as f64
}

/// Of the lengths of keys measured for a mode the shortest that is no shorter than `bits`, else the longest.
fn nearest_bits(measured: impl Iterator<Item = (Mode, KeyBits)>, mode: Mode, bits: KeyBits) -> Option<KeyBits> {
    let lengths = measured.filter(|(m, _)| *m == mode).map(|(_, bits)| bits);
    lengths.min_by_key(|b| (b.bits() < bits.bits(), b.bits().abs_diff(bits.bits())))
}

/// A value as the text that it is written as.
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

/// A length of key as a number of bits.
mod bits {
    use crate::KeyBits;
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
pub(super) mod tests {
    use super::*;

    pub(super) fn subject() -> Subject {
        let text = |text: &str| text.to_string();
        Subject { gpu: text("NVIDIA H200"), driver: text("580.1"), version: text("0.1.0"), cpu: text("16 threads") }
    }

    fn rates(mode: Mode, key_bits: KeyBits, bytes: u64, rates: &[(&str, f64)]) -> KernelRates {
        let rate =
            |&(kernel, gbytes_per_second): &(&str, f64)| Rate { kernel: kernel.parse().unwrap(), gbytes_per_second };
        KernelRates { mode, key_bits, bytes, rates: rates.iter().map(rate).collect() }
    }

    fn host(bytes: u64, cpu: f64, cuda: f64) -> HostRates {
        HostRates { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes, cpu, cuda }
    }

    pub(super) fn measurements() -> Measurements {
        let (bits, large) = (KeyBits::Aes128, &[("bitsliced:8:8", 700.0), ("tbox", 800.0), ("pair:430", 900.0)]);
        Measurements {
            subject: subject(),
            kernels: vec![
                rates(Mode::Ctr, bits, 4 << 10, &[("bitsliced:1:8", 1.5), ("bitsliced", 1.0), ("tbox", 0.5)]),
                rates(Mode::Ctr, bits, 16 << 10, large),
                rates(Mode::Ctr, KeyBits::Aes256, 4 << 10, &[("bitsliced:2:8", 1.0)]),
            ],
            host: vec![host(4096, 8.0, 1.0), host(16384, 2.0, 1.0), host(65536, 2.0, 4.0)],
        }
    }

    fn tuning(measured: Measurements) -> Tuning {
        Tuning { kernels: measured.kernels, ..Tuning::built_in(90).with_host(&measured.host) }
    }

    fn call(bytes: u64) -> Call {
        Call { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes, aligned: true }
    }

    #[test]
    fn a_call_takes_what_was_fastest_in_the_nearest_size() {
        let tuning = tuning(measurements());
        let take = |kernels, bytes| tuning.choose(kernels, &call(bytes), |_| true).to_string();
        for bytes in [0, 1, 4096, 8000] {
            assert_eq!(take(Kernels::Auto, bytes), "bitsliced:1:8");
            assert_eq!(take(Kernels::AutoAny, bytes), "bitsliced:1:8");
            assert_eq!(take(Kernels::Tbox, bytes), "tbox");
            // Not measured there.
            assert_eq!(take(Kernels::Pair, bytes), Choice::PAIR.to_string());
        }
        for bytes in [8400, 16384, 1 << 40, u64::MAX] {
            assert_eq!(take(Kernels::Auto, bytes), "bitsliced:8:8");
            assert_eq!(take(Kernels::Bitsliced, bytes), "bitsliced:8:8");
            assert_eq!(take(Kernels::AutoAny, bytes), "pair:430");
        }
    }

    #[test]
    fn lengths_of_keys_and_modes_that_were_not_measured() {
        let tuning = tuning(measurements());
        let take = |call: &Call| tuning.choose(Kernels::Auto, call, |_| true).to_string();
        assert_eq!(take(&Call { key_bits: KeyBits::Aes192, ..call(4096) }), "bitsliced:2:8");
        assert_eq!(take(&Call { mode: Mode::EcbDecrypt, ..call(4096) }), "bitsliced");
        assert_eq!(
            nearest_bits([(Mode::Ctr, KeyBits::Aes128)].into_iter(), Mode::Ctr, KeyBits::Aes256),
            Some(KeyBits::Aes128)
        );
    }

    #[test]
    fn what_is_not_there_or_not_measured_is_not_taken_by_itself() {
        let tuning = tuning(measurements());
        let no_tables = |choice| Kernels::Bitsliced.allow(choice);
        assert_eq!(tuning.choose(Kernels::AutoAny, &call(16384), no_tables).to_string(), "bitsliced:8:8");
        assert_eq!(tuning.choose(Kernels::Pair, &call(16384), no_tables), Choice::PAIR);
        let unaligned = Call { aligned: false, ..call(16384) };
        assert_eq!(tuning.choose(Kernels::AutoAny, &unaligned, |_| true).to_string(), "bitsliced:8:8");
    }

    /// Whatever was measured: a table kernel has to be asked for.
    #[test]
    fn the_fastest_table_kernel_is_not_taken_unasked() {
        let mut measured = measurements();
        for kernel in &mut measured.kernels {
            kernel.rates.retain(|rate| !Kernels::Auto.allow(rate.kernel));
        }
        assert_eq!(tuning(measured).choose(Kernels::Auto, &call(16384), |_| true), Choice::BITSLICED);
    }

    #[test]
    fn the_crossover_lies_where_the_rates_meet() {
        let cross = |rates: &[HostRates]| meeting(&rates.iter().collect::<Vec<_>>());
        assert_eq!(cross(&measurements().host), Some(32768));
        assert_eq!(cross(&[host(4096, 2.0, 1.0), host(16384, 2.0, 2.0)]), None, "as fast is not faster");
        assert_eq!(cross(&[host(4096, 1.0, 2.0), host(16384, 1.0, 2.0)]), Some(0));
        // Once ahead is not ahead for good.
        assert_eq!(cross(&[host(4096, 1.0, 2.0), host(16384, 2.0, 1.0), host(65536, 2.0, 1.0)]), None);
        let again = cross(&[host(4096, 1.0, 2.0), host(16384, 2.0, 1.0), host(65536, 1.0, 2.0)]);
        assert_eq!(again, Some(32768));
    }

    #[test]
    fn the_crossover_without_measurements() {
        assert_eq!(built_in_crossover(true), None);
        assert!(built_in_crossover(false).is_some());
        let built_in = Tuning::built_in(80);
        assert_eq!(built_in.cuda_from(Mode::Ctr, KeyBits::Aes128), built_in_crossover(cpu::has_aes()));
        for (bytes, cuda) in [(0, false), (32767, false), (32768, true), (u64::MAX, true)] {
            assert_eq!(tuning(measurements()).prefers_cuda(Mode::Ctr, KeyBits::Aes128, bytes), cuda);
        }
        // One that was measured is its mode's alone.
        let tuning = tuning(measurements());
        assert_eq!(tuning.cuda_from(Mode::Ctr, KeyBits::Aes192), Some(32768));
        assert_eq!(tuning.cuda_from(Mode::EcbEncrypt, KeyBits::Aes128), built_in_crossover(cpu::has_aes()));
    }
}
