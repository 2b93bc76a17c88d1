//! `info`: the engines of this machine, and which of them `auto` takes and why.

use std::fmt::Write as _;

use aes_bitslice_runtime::cuda::{self, DeviceInfo};
use aes_bitslice_runtime::{Backend, Engine};
use serde::Serialize;

use crate::args::InfoArgs;
use crate::error::Result;
use crate::output;

#[derive(Serialize)]
struct Info {
    version: &'static str,
    /// What `auto` takes.
    auto: Opened,
    /// Every engine, whether it opens or not.
    engines: Vec<Opened>,
    cuda_devices: Vec<Device>,
    /// Why there is no list of devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda_error: Option<String>,
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

#[derive(Serialize)]
struct Device {
    ordinal: usize,
    name: String,
    compute_capability: String,
    multiprocessors: u32,
    memory_bytes: u64,
    driver_version: String,
}

/// Prints what there is, for people or as JSON.
pub fn run(args: &InfoArgs) -> Result<()> {
    let info = Info::collect();
    let text = match args.json {
        true => output::json(&info),
        false => info.to_text(),
    };
    output::print(&text)
}

impl Info {
    fn collect() -> Self {
        let (devices, cuda_error) = match cuda::devices() {
            Ok(devices) => (devices, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let (nvrtc, nvrtc_error) = match aes_bitslice_nvrtc::version() {
            Ok((major, minor)) => (Some(format!("{major}.{minor}")), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let gpus = devices.len().max(1);
        let backends = (0..gpus).map(|ordinal| Backend::Cuda { ordinal }).chain([Backend::Cpu, Backend::CpuBitsliced]);
        Info {
            version: env!("CARGO_PKG_VERSION"),
            auto: Opened::new(Backend::Auto),
            engines: backends.map(Opened::new).collect(),
            cuda_devices: devices.into_iter().map(Device::from).collect(),
            cuda_error,
            nvrtc,
            nvrtc_error,
            kernels: cuda::stored_kernels(),
            key_bits: aes_bitslice_runtime::KeyBits::ALL.iter().map(|bits| bits.bits()).collect(),
        }
    }

    fn to_text(&self) -> String {
        let mut text = format!("aes-bitslice {}\n\n", self.version);
        let _ = writeln!(text, "auto takes {}: {}\n\nengines", self.auto.backend, self.auto.description);
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

impl Opened {
    fn new(backend: Backend) -> Self {
        match Engine::open(backend) {
            Ok(engine) => {
                Opened { backend: engine.backend().to_string(), available: true, description: engine.description() }
            }
            Err(error) => Opened { backend: backend.to_string(), available: false, description: error.to_string() },
        }
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
