//! The tuning of a device, measured or built in: which kernel a call takes, and whether data in host memory is worth
//! bringing to the GPU.
//!
//! `aes-bitslice tune` measures and [saves](crate::cuda::Measurements::save); opening a device reads the saved
//! measurements. Unusable data is ignored, and [`Tuning::warning`] says so: nothing computes wrongly without it, only
//! less fast.

use crate::backend::cuda::driver::{self, DeviceInfo};
use crate::backend::cuda::select::built_in::built_in;
use crate::backend::cuda::select::crossover::crossover;
use crate::backend::cuda::select::measurements::{HostRates, KernelRates, Measurements, Subject, nearest_bits, ratio};
use crate::backend::cuda::select::tuning_file;
use crate::base::error::Error;
use crate::exec::choice::{Call, Choice, Kernels};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use std::fmt;
use std::path::{Path, PathBuf};

/// The tuning of the device with this number, without opening it.
///
/// # Errors
/// [`Error::CudaUnavailable`] and [`Error::NoSuchDevice`], as for opening it.
pub fn tuning(ordinal: usize) -> Result<Tuning, Error> {
    Ok(Tuning::of(&driver::usable(ordinal)?))
}

/// The tuning of a device: measurements, or built-in values.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Compute capability, as in `sm_90`: 90.
    architecture: u32,
    kernels: Vec<KernelRates>,
    /// The number of bytes in host memory from which the GPU is faster, for every mode and key length.
    crossovers: Vec<((Mode, KeyBits), Option<u64>)>,
    host_measured: bool,
    measured: Option<PathBuf>,
    warning: Option<String>,
}

impl Tuning {
    /// The tuning of a device: the saved measurements if they can be used, else the built-in values.
    pub(crate) fn of(device: &DeviceInfo) -> Self {
        let (major, minor) = device.compute_capability;
        let built_in = Self::built_in(10 * major + minor);
        let subject = Subject::new(device);
        match tuning_file::path(&subject) {
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

    /// The tuning of a GPU of compute capability 9.0 whose file holds `text`: fuzzing has no GPU.
    #[doc(hidden)]
    pub fn of_text(text: &str, subject: &Subject) -> Self {
        Self::built_in(90).with_found("tuning.json".into(), tuning_file::parse(text, subject).map(Some), subject)
    }

    /// With the contents of a file for `subject`, if there is one.
    fn with_file(self, path: PathBuf, subject: &Subject) -> Self {
        let found = tuning_file::read(&path, subject);
        self.with_found(path, found, subject)
    }

    fn with_found(self, path: PathBuf, found: Result<Option<Measurements>, String>, subject: &Subject) -> Self {
        match found {
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
                Self { kernels: found.kernels, measured: Some(path), warning: warning.map(in_one_line), ..tuned }
            }
            Err(why) => {
                let warning = format!(
                    "tuning file `{}` is not used: {why}; run `aes-bitslice tune`, or remove it",
                    path.display()
                );
                Self { warning: Some(in_one_line(warning)), ..self }
            }
        }
    }

    /// The file that the measurements are from; `None` for built-in values.
    pub fn file(&self) -> Option<&Path> {
        self.measured.as_deref()
    }

    /// Whether the choice of engine for data in host memory was measured on this machine.
    pub fn is_host_measured(&self) -> bool {
        self.host_measured
    }

    /// One line about measurements that were found but could not be used.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// The kernel for a call: the fastest that `kernels` allows, as measured at the nearest size and the nearest key
    /// length. `available` tells what the device can run; it is not consulted for a kernel requested by name.
    #[doc(hidden)]
    pub fn choose(&self, kernels: Kernels, call: &Call, available: impl Fn(Choice) -> bool) -> Choice {
        // Nothing is measured on unaligned data, and no kernel is built for it, so only safety counts.
        let kernels = if kernels == Kernels::AutoAny && !call.aligned { Kernels::Auto } else { kernels };
        let bits = nearest_bits(self.kernels.iter().map(|k| (k.mode, k.key_bits)), call.mode, call.key_bits);
        let measured = self.kernels.iter().filter(|k| k.mode == call.mode && Some(k.key_bits) == bits);
        let distance = |k: &&KernelRates| (ratio(k.bytes, call.bytes).ln().abs() * 1e6) as u64;
        let found = measured.min_by_key(distance).and_then(|k| k.fastest(kernels, &available));
        found.map_or_else(|| built_in(self.architecture, kernels, call, available), |rate| rate.kernel)
    }

    /// Whether the GPU is faster than the CPU for a call on this many bytes in host memory, including transfers.
    pub fn prefers_cuda(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> bool {
        self.cuda_from(mode, key_bits).is_some_and(|from| bytes >= from)
    }

    /// The minimum number of bytes in host memory for which a call is faster on the GPU than on the CPU; `None` where
    /// the CPU is faster for every size.
    pub fn cuda_from(&self, mode: Mode, key_bits: KeyBits) -> Option<u64> {
        self.crossovers.iter().find(|(call, _)| *call == (mode, key_bits)).and_then(|(_, from)| *from)
    }
}

/// The contents of a file are quoted, and a terminal must not obey them.
fn in_one_line(text: String) -> String {
    let shown = |sign: char| if sign.is_control() { sign.escape_default().to_string() } else { sign.into() };
    text.chars().map(shown).collect()
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.measured {
            Some(path) => write!(f, "measured, `{}`", path.display()),
            None => f.write_str("built in"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::select::measurements::tests::{measurements, subject};
    use crate::backend::cuda::select::tuning_file::LARGEST;
    use crate::exec::processor;
    use std::fs;

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
            assert_eq!(take(Kernels::Auto, bytes), "bitsliced");
            assert_eq!(take(Kernels::AutoAny, bytes), "bitsliced");
            assert_eq!(take(Kernels::Tbox, bytes), "tbox");
            // Not measured there.
            assert_eq!(take(Kernels::CoResident, bytes), Choice::CO_RESIDENT.to_string());
        }
        for bytes in [8400, 16384, 1 << 40, u64::MAX] {
            assert_eq!(take(Kernels::Auto, bytes), "bitsliced");
            assert_eq!(take(Kernels::Bitsliced, bytes), "bitsliced");
            assert_eq!(take(Kernels::AutoAny, bytes), "co-resident:430");
        }
    }

    #[test]
    fn lengths_of_keys_and_modes_that_were_not_measured() {
        let tuning = tuning(measurements());
        let take = |call: &Call| tuning.choose(Kernels::AutoAny, call, |_| true).to_string();
        assert_eq!(take(&Call { key_bits: KeyBits::Aes192, ..call(4096) }), "co-resident:300");
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
        assert_eq!(tuning.choose(Kernels::AutoAny, &call(16384), no_tables).to_string(), "bitsliced");
        assert_eq!(tuning.choose(Kernels::CoResident, &call(16384), no_tables), Choice::CO_RESIDENT);
        let unaligned = Call { aligned: false, ..call(16384) };
        assert_eq!(tuning.choose(Kernels::AutoAny, &unaligned, |_| true).to_string(), "bitsliced");
    }

    /// Whatever was measured, a table kernel must be requested.
    #[test]
    fn the_fastest_table_kernel_is_not_taken_unasked() {
        let mut measured = measurements();
        for kernel in &mut measured.kernels {
            kernel.rates.retain(|rate| !Kernels::Auto.allow(rate.kernel));
        }
        assert_eq!(tuning(measured).choose(Kernels::Auto, &call(16384), |_| true), Choice::Bitsliced);
    }

    #[test]
    fn the_crossover_without_measurements() {
        assert_eq!(processor::built_in_crossover(true), None);
        assert!(processor::built_in_crossover(false).is_some());
        let built_in = Tuning::built_in(80);
        assert_eq!(built_in.cuda_from(Mode::Ctr, KeyBits::Aes128), processor::gpu_is_faster_from());
        for (bytes, cuda) in [(0, false), (32767, false), (32768, true), (u64::MAX, true)] {
            assert_eq!(tuning(measurements()).prefers_cuda(Mode::Ctr, KeyBits::Aes128, bytes), cuda);
        }
        // A measured crossover applies to its mode only.
        let tuning = tuning(measurements());
        assert_eq!(tuning.cuda_from(Mode::Ctr, KeyBits::Aes192), Some(32768));
        assert_eq!(tuning.cuda_from(Mode::EcbEncrypt, KeyBits::Aes128), processor::gpu_is_faster_from());
    }

    /// The tuning of a device whose file holds `text`, and its choice; the built-in kernels if the text is unusable.
    fn opened(text: &[u8]) -> (Tuning, Choice) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tuning.json");
        fs::write(&path, text).unwrap();
        let tuning = Tuning::built_in(90).with_file(path, &subject());
        let call = Call { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes: 4096, aligned: true };
        let choice = tuning.choose(Kernels::Auto, &call, |_| true);
        (tuning, choice)
    }

    #[test]
    fn a_good_file_is_used() {
        let (tuning, choice) = opened(measurements().to_json().as_bytes());
        assert_eq!((tuning.warning(), choice.to_string().as_str()), (None, "bitsliced"));
        assert!(tuning.file().is_some() && tuning.is_host_measured());
        assert!(tuning.to_string().starts_with("measured, `"));
    }

    #[test]
    fn a_damaged_foreign_or_old_file_is_ignored_with_one_line() {
        let json = measurements().to_json();
        let edited = |from: &str, to: &str| {
            assert!(json.contains(from), "{from} in {json}");
            json.replacen(from, to, 1).into_bytes()
        };
        for (text, why) in [
            (Vec::new(), "damaged"),
            (b"\xff\xfe".to_vec(), "cannot be read"),
            (b"[1, 2]".to_vec(), "another format"),
            (json.as_bytes()[..json.len() / 2].to_vec(), "damaged"),
            (vec![b' '; LARGEST as usize + 1], "too large"),
            (edited("\"format\": 2", "\"format\": 3"), "another format"),
            (edited("NVIDIA H200", "NVIDIA B200"), "another GPU (NVIDIA B200; now NVIDIA H200)"),
            (edited("580.1", "570.9"), "another driver (570.9; now 580.1)"),
            (edited("0.1.0", "0.0.9"), "another version (0.0.9; now 0.1.0)"),
            (edited("bitsliced", "bitsliced:0:8"), "damaged"),
            (edited("bitsliced", "faster"), "damaged"),
            (edited("\"ctr\"", "\"xts\""), "damaged"),
            (edited("\"ctr\"", "\"c\\nt\\u001br\""), "`c\\nt\\u{1b}r`"),
            (edited("NVIDIA H200", "\\u001b[31m\\n"), "another GPU (\\u{1b}[31m\\n; now NVIDIA H200)"),
            (edited("128", "129"), "damaged"),
            (edited("1.5", "-1.5"), "damaged"),
            (edited("1.5", "\"fast\""), "damaged"),
        ] {
            let (tuning, choice) = opened(&text);
            let warning = tuning.warning().expect(why);
            assert!(warning.contains(why) && warning.contains("aes-bitslice tune"), "{why}: {warning}");
            assert!(!warning.chars().any(char::is_control), "{warning:?}");
            assert_eq!((choice, tuning.file()), (Choice::Bitsliced, None));
            assert_eq!(tuning.to_string(), "built in");
        }
    }

    #[test]
    fn what_is_no_file_is_ignored_too() {
        let folder = tempfile::tempdir().unwrap();
        let tuning = |path: &Path| Tuning::built_in(90).with_file(path.into(), &subject());
        assert!(tuning(folder.path()).warning().unwrap().contains("no ordinary file"));
        // Nothing was tuned: nothing to warn of.
        assert_eq!(tuning(&folder.path().join("none.json")).warning(), None);
    }

    #[test]
    fn another_processor_keeps_what_is_the_gpu_s() {
        let mut foreign = measurements();
        foreign.subject.cpu = "2 threads".into();
        let (tuning, choice) = opened(foreign.to_json().as_bytes());
        assert_eq!(choice.to_string(), "bitsliced");
        assert!(!tuning.is_host_measured());
        assert!(tuning.warning().unwrap().contains("it was with 2 threads, and this is 16 threads"));
    }
}
