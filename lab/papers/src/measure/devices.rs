//! The devices of this machine that the papers are measured on, opened, and as they are recorded.

use crate::measure::clock::Clock;
use crate::measure::driver::driver;
use crate::measure::memory::Memory;
use crate::measure::opencl;
use crate::measured::{Gpu, Kind, OpenClDevice};
use aes_bitslice_runtime::cuda::cudarc::driver::sys::CUdevice_attribute as Attribute;
use aes_bitslice_runtime::cuda::{self, DeviceInfo};
use aes_bitslice_runtime::opencl::{self as runtime_opencl, DeviceKind};
use aes_bitslice_runtime::{Backend, Engine};
use anyhow::{Result, anyhow, bail};
use std::collections::BTreeMap;
use std::process::Command;

/// Opened devices, each with memory for the data.
pub struct Devices {
    /// All CUDA GPUs.
    pub gpus: Vec<Gpu>,
    /// The first of them.
    cuda: Option<(Engine, Memory, Clock)>,
    /// The first OpenCL device of each kind, or why there is none.
    opencl: BTreeMap<Kind, Result<OpenCl, String>>,
}

struct OpenCl {
    engine: Engine,
    record: OpenClDevice,
    memory: opencl::Memory,
}

impl Devices {
    /// No devices.
    pub fn none() -> Self {
        Self { gpus: Vec::new(), cuda: None, opencl: BTreeMap::new() }
    }

    /// Opens the CUDA GPUs.
    ///
    /// # Errors
    /// If the first does not open. Others that do not open do not take part.
    pub fn open_cuda(&mut self) -> Result<()> {
        let devices = cuda::devices()?;
        let engine = Engine::open(Backend::Cuda { ordinal: 0 })?;
        self.gpus = vec![gpu(&devices[0])?];
        self.gpus.extend(devices[1..].iter().map_while(|device| gpu(device).ok()));
        let (memory, clock) = (Memory::new(&engine)?, Clock::new(&engine)?);
        self.cuda = Some((engine, memory, clock));
        Ok(())
    }

    /// Opens the first OpenCL device of each kind.
    ///
    /// # Errors
    /// If none opens: why the first of them did not.
    pub fn open_opencl(&mut self) -> Result<()> {
        let said = |error: anyhow::Error| format!("{error:#}");
        self.opencl = [Kind::Gpu, Kind::Cpu].map(|kind| (kind, OpenCl::open(kind).map_err(said))).into();
        if self.opencl.values().all(Result::is_err)
            && let Some(Err(why)) = self.opencl.values().next()
        {
            bail!("{why}");
        }
        Ok(())
    }

    /// The first CUDA GPU, or the OpenCL device of a kind.
    pub fn engine(&self, on: Option<Kind>) -> Result<&Engine> {
        match on {
            None => self.cuda.as_ref().map(|(engine, ..)| engine).ok_or_else(no_cuda),
            Some(kind) => match self.opencl.get(&kind) {
                Some(Ok(device)) => Ok(&device.engine),
                Some(Err(why)) => bail!("{why}"),
                None => bail!("OpenCL was not opened"),
            },
        }
    }

    /// The first CUDA GPU, its memory, and what reads its clock.
    pub fn cuda(&mut self) -> Result<(&Engine, &mut Memory, &mut Clock)> {
        self.cuda.as_mut().map(|(engine, memory, clock)| (&*engine, memory, clock)).ok_or_else(no_cuda)
    }

    /// Memory of the OpenCL device of a kind, and what reads its clock, if it is the first CUDA GPU, too: one of its name.
    pub fn opencl_memory(&mut self, kind: Kind) -> Result<(&mut opencl::Memory, Option<&mut Clock>)> {
        let device = self.opencl.get_mut(&kind).ok_or_else(|| anyhow!("OpenCL was not opened"))?;
        let device = device.as_mut().map_err(|why| anyhow!("{why}"))?;
        let is_cuda = self.gpus.first().is_some_and(|gpu| gpu.name == device.record.name);
        let clock = self.cuda.as_mut().filter(|_| is_cuda).map(|(_, _, clock)| clock);
        Ok((&mut device.memory, clock))
    }

    /// The OpenCL devices that opened.
    pub fn opencl(&self) -> Vec<OpenClDevice> {
        self.opencl.values().flatten().map(|device| device.record.clone()).collect()
    }
}

impl OpenCl {
    fn open(kind: Kind) -> Result<Self> {
        let is_wanted = |info: &runtime_opencl::DeviceInfo| match kind {
            Kind::Gpu => info.kind == DeviceKind::Gpu,
            Kind::Cpu => info.kind == DeviceKind::Cpu,
        };
        let info = runtime_opencl::devices()?.into_iter().find(is_wanted);
        let info = info.ok_or_else(|| anyhow!("OpenCL has no {kind} on this machine: install a driver for one"))?;
        let engine = Engine::open(Backend::OpenCl { platform: info.platform, device: info.device })?;
        let memory = opencl::Memory::new(&engine, kind)?;
        let record = OpenClDevice {
            platform: info.platform_name,
            name: info.name,
            kind,
            driver: info.driver,
            compute_units: info.compute_units,
            clock: memory.clock(),
        };
        Ok(Self { engine, record, memory })
    }
}

fn no_cuda() -> anyhow::Error {
    anyhow!("CUDA was not opened")
}

fn gpu(device: &DeviceInfo) -> Result<Gpu> {
    let (major, minor) = device.compute_capability;
    let context = Engine::open(Backend::Cuda { ordinal: device.ordinal })?.cuda_context()?;
    let clock = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE).map_err(driver)?;
    // A value that the driver does not report is no reason not to measure.
    let told = |a| context.attribute(a).ok().filter(|&value| value > 0).map(|value| value as u32);
    Ok(Gpu {
        name: device.name.clone(),
        compute_capability: format!("{major}.{minor}"),
        multiprocessors: device.multiprocessors,
        // The driver counts in kHz.
        clock_mhz: clock as u32 / 1000,
        memory_bytes: device.memory_bytes,
        driver: device.driver_version.clone(),
        memory_clock_mhz: told(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).map(|khz| khz / 1000),
        memory_bus_bits: told(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        ecc: context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED).ok().map(|enabled| enabled != 0),
        driver_release: driver_release(),
    })
}

/// The release of NVIDIA's driver, if its own program tells.
fn driver_release() -> Option<String> {
    let mut command = Command::new("nvidia-smi");
    let output = command.args(["--query-gpu=driver_version", "--format=csv,noheader"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let release = text.lines().next()?.trim();
    release.starts_with(|sign: char| sign.is_ascii_digit()).then(|| release.into())
}
