//! The engines under test: all that this machine can open, and why it cannot open the others.

use crate::environment::{OPENCL, RUN_BY, is_set, say};
use crate::kernels::COMPLETE;
use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::cuda::Shares;
use aes_bitslice_runtime::opencl::{DeviceInfo, DeviceKind};
use aes_bitslice_runtime::{Backend, Cipher, Engine, Error, Instructions, Kernels, Key, Mode};
use std::sync::OnceLock;

/// A device under test, with kernels of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Device {
    /// This machine's processor: the engine `cpu` on all instructions for AES that it has and on none, and the bitsliced engine on each
    /// kind of vector.
    Cpu,
    /// The first CUDA GPU, with these kernels.
    Cuda(Kernels),
    /// The first CUDA GPU as a group of one, with each kind of shares; if it is the only one, the first group is all GPUs.
    OneGpu,
    /// Groups of several CUDA GPUs, in order and not, with each kind of shares. The first group is all GPUs.
    SeveralGpus,
    /// The OpenCL device that [`OPENCL`] names, else the first GPU, else the first of any kind, which may be this machine's
    /// processor.
    OpenCl,
}

/// Engines, or why there are none.
type Found<T> = Result<T, String>;

impl Device {
    /// A CUDA GPU with its default kernels, with the table kernels, and with both side by side.
    pub const CUDA: [Self; 3] = [Self::Cuda(Kernels::Auto), Self::Cuda(Kernels::Tbox), Self::Cuda(Kernels::CoResident)];

    /// All except the groups of GPUs.
    pub const ALL: [Self; 5] = [Self::Cpu, Self::CUDA[0], Self::CUDA[1], Self::CUDA[2], Self::OpenCl];

    /// Groups of GPUs.
    pub const GROUPS: [Self; 2] = [Self::OneGpu, Self::SeveralGpus];

    /// The name, for tests.
    pub fn name(self) -> String {
        match self {
            Self::Cpu => "cpu".into(),
            Self::Cuda(Kernels::Auto) => "cuda".into(),
            Self::Cuda(kernels) => format!("cuda-{kernels}"),
            Self::OneGpu => "one-gpu".into(),
            Self::SeveralGpus => "several-gpus".into(),
            Self::OpenCl => "opencl".into(),
        }
    }

    /// Its engines; or why there are none: no device, or no room on it for its kernels.
    ///
    /// # Panics
    /// If there is a device that does not work; if a CUDA GPU uses the user's measurements, because then the tests would
    /// depend on the machine.
    pub fn find(self) -> Result<&'static [Engine], &'static str> {
        static FOUND: [OnceLock<Found<Vec<Engine>>>; 7] = [const { OnceLock::new() }; 7];
        let mut all = Self::ALL.into_iter().chain(Self::GROUPS);
        let place = all.position(|other| other == self).expect("one of all");
        let found = FOUND[place].get_or_init(|| {
            let found = match self {
                Self::Cpu => Ok(open_cpus()),
                Self::Cuda(Kernels::Auto) => open_gpu().map(|gpu| vec![gpu]),
                Self::Cuda(kernels) => with_room(gpu_or_why()?.clone().with_kernels(kernels)).map(|gpu| vec![gpu]),
                Self::OneGpu => open_one_gpu(),
                Self::SeveralGpus => open_several_gpus(),
                Self::OpenCl => open_opencl().map(|device| vec![device]),
            };
            if let Ok(engines) = &found {
                let names: Vec<String> = engines.iter().map(name).collect();
                say(&format!("Under test: {}", names.join("; ")));
            }
            found
        });
        found.as_deref().map_err(String::as_str)
    }
}

/// The name of an engine, for messages: on a GPU, its kernels too.
pub fn name(engine: &Engine) -> String {
    match engine.backend() {
        Backend::Cuda { .. } => format!("{}, kernels {}", engine.description(), engine.kernels()),
        _ => engine.description(),
    }
}

/// This key on an engine.
///
/// # Panics
/// If it is not 16, 24 or 32 bytes long, or the engine does not load it.
pub fn cipher(engine: &Engine, key: &[u8]) -> Cipher {
    engine.cipher(&Key::new(key).expect("a key")).expect("a cipher")
}

/// Whether an engine has kernels for a mode. Not every mode has table kernels, and there are no co-resident ones for CBC,
/// whose blocks are chained and cannot be divided between two.
pub fn has_mode(engine: &Engine, mode: Mode) -> bool {
    match engine.kernels() {
        Kernels::Tbox => COMPLETE.contains(&mode),
        Kernels::CoResident => COMPLETE.contains(&mode) && mode != Mode::CbcDecrypt,
        _ => true,
    }
}

/// The modes that an engine has kernels for.
pub fn modes_of(engine: &Engine) -> Vec<Mode> {
    Mode::OF_ONE_KEY.into_iter().filter(|&mode| has_mode(engine, mode)).collect()
}

/// The first GPU, with its default kernels.
///
/// # Panics
/// If there is none, or where [`Device::find`] panics.
pub fn gpu() -> &'static Engine {
    gpu_or_why().unwrap_or_else(|e| panic!("{e}"))
}

/// The OpenCL device.
///
/// # Panics
/// If there is none, or where [`Device::find`] panics.
pub fn opencl() -> &'static Engine {
    Device::OpenCl.find().map(|engines| &engines[0]).unwrap_or_else(|e| panic!("{e}"))
}

/// The number of CUDA GPUs.
pub fn gpu_count() -> usize {
    gpu_or_why().map_or(0, |_| aes_bitslice_runtime::cuda::devices().expect("there is one").len())
}

/// Whether the CUDA run-time compiler and a GPU are present; or why not.
pub fn cuda_compiler() -> Result<(), &'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(|| {
        let gpu = match gpu_or_why() {
            Ok(gpu) => gpu,
            Err(e) => return Some(e.into()),
        };
        let key = Key::new(&[0; 16]).expect("16 bytes");
        match gpu.bake(&key, Mode::Ctr, "lut3") {
            Err(e @ Error::NvrtcUnavailable { .. }) => Some(why(&e)),
            _ => None,
        }
    });
    missing.as_deref().map_or(Ok(()), Err)
}

/// Whether even a short call takes a while on an engine: on a processor through OpenCL, and on any by an emulator. Then
/// not every case is worth its time.
pub fn is_slow(engine: &Engine) -> bool {
    if is_set(RUN_BY) {
        return true;
    }
    static DEVICES: OnceLock<Vec<DeviceInfo>> = OnceLock::new();
    let devices = || DEVICES.get_or_init(|| aes_bitslice_runtime::opencl::devices().expect("there is one"));
    let is_it =
        |info: &DeviceInfo| engine.backend() == Backend::OpenCl { platform: info.platform, device: info.device };
    engine.backend().is_opencl() && devices().iter().any(|info| is_it(info) && info.kind == DeviceKind::Cpu)
}

fn gpu_or_why() -> Result<&'static Engine, &'static str> {
    Device::Cuda(Kernels::Auto).find().map(|engines| &engines[0])
}

/// Every engine on the CPU: the kernels of each set of instructions, and the bitsliced engines.
pub(crate) fn open_cpus() -> Vec<Engine> {
    let on_instructions = Instructions::available().into_iter().map(Engine::open_cpu);
    let on_vectors = Isa::available().into_iter().map(Engine::open_bitsliced);
    on_instructions.chain(on_vectors).map(|engine| engine.expect("the processor has it")).collect()
}

fn open_gpu() -> Found<Engine> {
    match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Ok(engine) => {
            let tuned = engine.tuning().and_then(|tuning| tuning.file());
            assert!(tuned.is_none(), "the GPU goes by {tuned:?}: set AES_BITSLICE_CACHE to an empty folder for tests");
            Ok(engine)
        }
        Err(e @ (Error::CudaUnavailable { .. } | Error::NoSuchDevice { .. })) => Err(why(&e)),
        Err(e) => panic!("there is a GPU, and it does not open: {e}"),
    }
}

fn open_one_gpu() -> Found<Vec<Engine>> {
    gpu_or_why()?;
    let group = |shares| Engine::multi(&[0], shares).expect("the GPU opens");
    let groups = [Shares::Equal, Shares::Measured].map(group);
    let all = (gpu_count() == 1).then(|| Engine::open(Backend::CudaAll).expect("the GPU opens"));
    Ok(all.into_iter().chain(groups).collect())
}

fn open_several_gpus() -> Found<Vec<Engine>> {
    gpu_or_why()?;
    let all: Vec<usize> = (0..gpu_count()).collect();
    if all.len() == 1 {
        return Err("there is one GPU only".into());
    }
    let mut groups = vec![Engine::open(Backend::CudaAll).expect("the GPUs open")];
    for (ordinals, shares) in [(&all[..], Shares::Measured), (&[1, 0], Shares::Equal), (&all, Shares::Rated)] {
        groups.push(Engine::multi(ordinals, shares).expect("the GPUs open"));
    }
    Ok(groups)
}

/// A GPU's engine, if it has room for its kernels.
fn with_room(engine: Engine) -> Found<Engine> {
    let key = Key::new(&[0; 16]).expect("16 bytes");
    let cipher = engine.cipher(&key).expect("the GPU takes a key");
    match cipher.device().expect("it is on a GPU").prepare(Mode::Ctr) {
        Ok(()) => Ok(engine),
        Err(e @ Error::NoSuchKernel { .. }) => Err(why(&e)),
        Err(e) => panic!("{}: {e}", name(&engine)),
    }
}

fn open_opencl() -> Found<Engine> {
    let backend = match std::env::var(OPENCL) {
        Ok(numbers) => format!("opencl:{numbers}").parse().unwrap_or_else(|e| panic!("{OPENCL}: {e}")),
        Err(_) => Backend::OpenClFirst,
    };
    match Engine::open(backend) {
        Ok(engine) => Ok(engine),
        Err(e @ Error::OpenClUnavailable { .. }) if backend == Backend::OpenClFirst => Err(why(&e)),
        Err(e) => panic!("the OpenCL device does not open: {e}"),
    }
}

/// What is wrong, without the remedy.
fn why(error: &Error) -> String {
    let text = error.to_string().lines().collect::<Vec<_>>().join(" ");
    text.split(';').next().expect("the first of one or more").into()
}
