//! `info`: the engines of this machine, and which of them `auto` takes and why.

use std::fmt::Write as _;

use aes_bitslice_runtime::cuda::{self, DeviceInfo};
use aes_bitslice_runtime::opencl;
use aes_bitslice_runtime::{Backend, Engine, KeyBits, Mode};
use indicatif::HumanBytes;
use serde::Serialize;
use textwrap::{Options, WordSplitter};

use crate::args::info::InfoArgs;
use crate::error::Result;
use crate::modes::measured::MeasuredMode;
use crate::output;

#[derive(Serialize)]
struct Info {
    version: &'static str,
    /// The engine that `auto` takes.
    auto: Opened,
    /// The tuning of the GPU that `auto` takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuning: Option<Tuning>,
    /// Every engine, whether it opens or not.
    engines: Vec<Opened>,
    cuda_devices: Vec<Device>,
    /// Why there is no list of devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda_error: Option<String>,
    opencl_devices: Vec<OpenClDevice>,
    /// Why there is no list of those.
    #[serde(skip_serializing_if = "Option::is_none")]
    opencl_error: Option<String>,
    /// The version of the CUDA run-time compiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    nvrtc: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    nvrtc_error: Option<String>,
    /// The GPU kernels that came with the program, for keys given at launch.
    kernels: Vec<&'static str>,
    key_bits: Vec<usize>,
}

#[derive(Serialize)]
struct Opened {
    backend: String,
    available: bool,
    /// The engine in words, or why it does not open.
    description: String,
}

/// What is fastest on a GPU.
#[derive(Serialize)]
struct Tuning {
    /// Whether kernels were measured here or use built-in values.
    kernels: &'static str,
    /// Whether what decides where data in host memory goes was measured here, or is built-in values.
    host: &'static str,
    /// The file with the measurements.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Why an existing file is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    host_data: Vec<Crossover>,
}

/// Where data in host memory goes.
#[derive(Serialize)]
struct Crossover {
    mode: &'static str,
    key_bits: usize,
    /// From this size on it goes to the GPU; null if it goes to the CPU at every size.
    cuda_from_bytes: Option<u64>,
}

#[derive(Serialize)]
struct Device {
    ordinal: usize,
    name: String,
    compute_capability: String,
    multiprocessors: u32,
    memory_bytes: u64,
    driver_version: String,
}

/// An OpenCL device.
#[derive(Serialize)]
struct OpenClDevice {
    platform: usize,
    platform_name: String,
    device: usize,
    name: String,
    kind: String,
    version: String,
    driver_version: String,
    compute_units: u32,
    memory_bytes: u64,
}

/// Prints all this, for people or as JSON.
pub fn run(args: &InfoArgs) -> Result<()> {
    let info = Info::collect()?;
    let text = if args.json { output::json(&info) } else { wrapped(&info.to_text()) };
    output::print(&text)
}

impl Info {
    fn collect() -> Result<Self> {
        let (devices, cuda_error) = match cuda::devices() {
            Ok(devices) => (devices, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let (opencl_devices, opencl_error) = match opencl::devices() {
            Ok(devices) => (devices, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let (nvrtc, nvrtc_error) = match aes_bitslice_nvrtc::version() {
            Ok((major, minor)) => (Some(format!("{major}.{minor}")), None),
            Err(error) => (None, Some(error.to_string())),
        };
        // If this fails, nothing works: at least a CPU is there.
        let auto = Engine::open(Backend::Auto)?;
        let gpus = devices.len().max(1);
        let all = (gpus > 1).then_some(Backend::CudaAll);
        let backends = (0..gpus).map(|ordinal| Backend::Cuda { ordinal }).chain(all);
        let of_opencl =
            opencl_devices.iter().map(|device| Backend::OpenCl { platform: device.platform, device: device.device });
        let no_opencl = opencl_devices.is_empty().then_some(Backend::OpenClFirst);
        let backends = backends.chain(of_opencl).chain(no_opencl).chain([Backend::Cpu, Backend::CpuBitsliced]);
        Ok(Info {
            version: env!("CARGO_PKG_VERSION"),
            auto: Opened::of(&auto),
            tuning: auto.tuning().map(Tuning::new),
            engines: backends.map(Opened::new).collect(),
            cuda_devices: devices.into_iter().map(Device::from).collect(),
            cuda_error,
            opencl_devices: opencl_devices.into_iter().map(OpenClDevice::from).collect(),
            opencl_error,
            nvrtc,
            nvrtc_error,
            kernels: cuda::stored_kernels(),
            key_bits: aes_bitslice_runtime::KeyBits::ALL.iter().map(|bits| bits.bits()).collect(),
        })
    }

    fn to_text(&self) -> String {
        let mut text = format!("aes-bitslice {}\n\n", self.version);
        let _ = writeln!(text, "auto takes {}: {}", self.auto.backend, self.auto.description);
        if let Some(tuning) = &self.tuning {
            text += &tuning.to_text();
        }
        text.push_str("\nengines\n");
        for Opened { backend, description, .. } in &self.engines {
            let _ = writeln!(text, "  {backend:<14} {description}");
        }
        if !self.cuda_devices.is_empty() {
            text.push_str("\nCUDA devices\n");
        }
        for device in &self.cuda_devices {
            let Device { ordinal, name, compute_capability, multiprocessors, memory_bytes, driver_version } = device;
            let gib = *memory_bytes as f64 / f64::from(1 << 30);
            let _ = writeln!(
                text,
                "  {ordinal}: {name}, compute capability {compute_capability}, {multiprocessors} multiprocessors, \
                 {gib:.0} GiB, driver {driver_version}"
            );
        }
        if self.cuda_devices.len() > 1 {
            text.push_str(
                "  One is used unless several are asked for: `--device all`, or some of them, as in `--device 0,1`\n",
            );
        }
        if !self.opencl_devices.is_empty() {
            text.push_str("\nOpenCL devices\n");
        }
        for found in &self.opencl_devices {
            let OpenClDevice { platform, platform_name, device, name, kind, version, .. } = found;
            let OpenClDevice { driver_version, compute_units, memory_bytes, .. } = found;
            let gib = *memory_bytes as f64 / f64::from(1 << 30);
            let _ = writeln!(
                text,
                "  {platform}.{device}: {name}, {kind} of {platform_name}, {compute_units} compute units, {gib:.0} GiB, \
                 {version}, driver {driver_version}"
            );
        }
        let nvrtc = match (&self.nvrtc, &self.nvrtc_error) {
            (Some(version), _) => format!("NVRTC {version}"),
            (None, why) => why.clone().unwrap_or_default(),
        };
        let _ = writeln!(text, "\nCUDA compiler, for kernels with a key baked in\n  {nvrtc}");
        let key_bits: Vec<_> = self.key_bits.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "\nCUDA kernels\n  {}, keys of {} bits", self.kernels.join(", "), key_bits.join(", "));
        text
    }
}

impl Tuning {
    fn new(tuning: &cuda::Tuning) -> Self {
        let calls = MeasuredMode::with_kernels().flat_map(|mode| KeyBits::ALL.map(|bits| (mode, bits)));
        let calls = calls.filter(|((mode, _), bits)| mode.has_keys_of(*bits));
        let crossover = |((mode, kernels), bits): ((MeasuredMode, Mode), KeyBits)| Crossover {
            mode: mode.name,
            key_bits: bits.bits(),
            cuda_from_bytes: tuning.cuda_from(kernels, bits),
        };
        let source = |measured| if measured { "measured" } else { "built in" };
        Tuning {
            kernels: source(tuning.file().is_some()),
            host: source(tuning.is_host_measured()),
            file: tuning.file().map(|file| file.display().to_string()),
            warning: tuning.warning().map(Into::into),
            host_data: calls.map(crossover).collect(),
        }
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        let file = self.file.as_ref().map_or(String::new(), |file| format!(", `{file}`"));
        let hint = if self.file.is_none() { "; `aes-bitslice tune` measures it" } else { "" };
        let _ = writeln!(text, "\ntuning of the kernels: {}{file}{hint}", self.kernels);
        if let Some(warning) = &self.warning {
            let _ = writeln!(text, "  {warning}");
        }
        let _ = writeln!(text, "data in host memory ({})", self.host);
        // Key lengths with the same crossover share a line.
        for group in self.host_data.chunk_by(|a, b| (a.mode, a.cuda_from_bytes) == (b.mode, b.cuda_from_bytes)) {
            let bits: Vec<_> = group.iter().map(|c| c.key_bits.to_string()).collect();
            let Crossover { mode, cuda_from_bytes, .. } = &group[0];
            let _ = writeln!(text, "  {mode:<12} {:<12} {}", bits.join("/"), crossover(*cuda_from_bytes));
        }
        text
    }
}

/// Columns of the text.
const WIDTH: usize = 80;

/// Breaks a text into lines of at most [`WIDTH`] columns, where words allow it. The rest of a line goes below the last column of a table,
/// or two columns further in.
fn wrapped(text: &str) -> String {
    let wrap = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        let column = line[indent..].rfind("  ").map(|at| indent + at + 2);
        let below = " ".repeat(column.unwrap_or(indent + 2));
        // Names with dashes stay whole.
        let options = Options::new(WIDTH).word_splitter(WordSplitter::NoHyphenation).break_words(false);
        textwrap::fill(line, options.subsequent_indent(&below)) + "\n"
    };
    text.lines().map(wrap).collect()
}

/// Where data in host memory goes, in words.
pub fn crossover(cuda_from: Option<u64>) -> String {
    match cuda_from {
        None => "cpu in every size".into(),
        Some(0) => "cuda in every size".into(),
        Some(bytes) => format!("cpu up to {}, cuda above", HumanBytes(bytes)),
    }
}

impl Opened {
    fn new(backend: Backend) -> Self {
        Engine::open(backend).map_or_else(|error| Self::failed(backend, &error), |engine| Self::of(&engine))
    }

    fn of(engine: &Engine) -> Self {
        Opened { backend: engine.backend().to_string(), available: true, description: engine.description() }
    }

    fn failed(backend: Backend, error: &aes_bitslice_runtime::Error) -> Self {
        Opened { backend: backend.to_string(), available: false, description: error.to_string() }
    }
}

impl From<DeviceInfo> for Device {
    fn from(device: DeviceInfo) -> Self {
        let (major, minor) = device.compute_capability;
        Device {
            ordinal: device.ordinal,
            name: device.name,
            compute_capability: format!("{major}.{minor}"),
            multiprocessors: device.multiprocessors,
            memory_bytes: device.memory_bytes,
            driver_version: device.driver_version,
        }
    }
}

impl From<opencl::DeviceInfo> for OpenClDevice {
    fn from(device: opencl::DeviceInfo) -> Self {
        OpenClDevice {
            platform: device.platform,
            platform_name: device.platform_name,
            device: device.device,
            name: device.name,
            kind: device.kind.to_string(),
            version: device.version,
            driver_version: device.driver,
            compute_units: device.compute_units,
            memory_bytes: device.global_memory_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_below_their_column() {
        let words = "wo-rd ".repeat(30);
        let text = format!("short\n\n  name   {words}\n   {words}\n{}\n", "x".repeat(100));
        let shown = wrapped(&text);
        assert!(shown.lines().all(|line| line.len() <= WIDTH || line.starts_with('x')), "{shown}");
        assert!(shown.starts_with("short\n\n  name   wo-rd ") && shown.contains("\n         wo-rd "), "{shown}");
        assert!(shown.contains("\n     wo-rd ") && shown.split_whitespace().eq(text.split_whitespace()), "{shown}");
    }

    #[test]
    fn the_crossover_is_shown_by_mode_and_length_of_key() {
        let crossover = |mode, key_bits, cuda_from_bytes| Crossover { mode, key_bits, cuda_from_bytes };
        let tuning = Tuning {
            kernels: "measured",
            host: "built in",
            file: Some("/cache/tuning.json".into()),
            warning: Some("measured with another processor".into()),
            host_data: vec![
                crossover("ctr", 128, Some(3 << 20)),
                crossover("ctr", 192, None),
                crossover("ctr", 256, None),
                crossover("ecb-encrypt", 128, Some(0)),
            ],
        };
        let text = tuning.to_text();
        for line in [
            "tuning of the kernels: measured, `/cache/tuning.json`",
            "  measured with another processor",
            "data in host memory (built in)",
            "  ctr          128          cpu up to 3.00 MiB, cuda above",
            "  ctr          192/256      cpu in every size",
            "  ecb-encrypt  128          cuda in every size",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
    }
}
