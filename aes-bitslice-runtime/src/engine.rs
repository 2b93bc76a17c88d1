//! A backend that was opened, and the seam behind which every backend computes.

use crate::bitsliced::{Bitsliced, Isa};
use crate::cuda::{Shares, Transfers};
use crate::host_buffer::HostBuffer;
use crate::parallel::Buffers;
use crate::queue::Queue;
use crate::work::Work;
use crate::{BakedStrategy, Cipher, Error, Kernels, Key, KeyBits, Mode, cpu, cuda, opencl, sources};
use aes_bitslice_gen::emit::Dialect;
use aes_bitslice_gen::kernel::Design;
use std::any::Any;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Where to compute. Written `auto`, `cuda`, `cuda:N`, `cuda:all`, `opencl`, `opencl:P.D`, `cpu` or `cpu-bitsliced`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Backend {
    /// The first CUDA device if it opens, else the first GPU behind OpenCL, else the CPU. Data in host memory goes to whichever
    /// of device and CPU is faster for it: [`Engine::backend_for`].
    #[default]
    Auto,
    /// An NVIDIA GPU.
    Cuda {
        /// The device's number, as the CUDA driver counts them, from 0.
        ordinal: usize,
    },
    /// All NVIDIA GPUs of this machine, each with a share of every call ([`Shares::Rated`]); or those of
    /// [`Engine::multi`].
    CudaAll,
    /// A device behind OpenCL.
    OpenCl {
        /// The platform's number, as the OpenCL loader counts them, from 0.
        platform: usize,
        /// The device's number in its platform, from 0.
        device: usize,
    },
    /// The first GPU behind OpenCL, on any platform, else the first device.
    OpenClFirst,
    /// The `aes` crate on all cores: AES instructions where the processor has them.
    Cpu,
    /// The generated bitsliced code on all cores, on the widest vectors the processor has.
    CpuBitsliced,
}

impl Backend {
    /// Whether it is a CUDA GPU, or several.
    pub fn is_cuda(self) -> bool {
        matches!(self, Self::Cuda { .. } | Self::CudaAll)
    }

    /// Whether it is a device behind OpenCL.
    pub fn is_opencl(self) -> bool {
        matches!(self, Self::OpenCl { .. } | Self::OpenClFirst)
    }

    /// The backend that a kernel with its key baked in is for, by its manifest: the first CUDA device, or
    /// [`OpenClFirst`](Self::OpenClFirst). [`Engine::load_baked`] takes it there.
    ///
    /// # Errors
    /// [`Error::BadManifest`] for what cannot be read, is no manifest, or is of a kernel without a key.
    pub fn of_baked(manifest: &Path) -> Result<Self, Error> {
        Ok(match sources::manifest_of_baked(manifest)?.dialect {
            Dialect::Cuda => Self::Cuda { ordinal: 0 },
            Dialect::OpenCl => Self::OpenClFirst,
        })
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
        // `parse` alone would let a sign through.
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

/// What a backend does with a key: the seam between [`Cipher`], which checks arguments and splits work, and the
/// engines, which compute.
///
/// An engine that fails has either written nothing or cleared all of the output.
pub(crate) trait BlockEngine: Any + Send + Sync {
    /// Does the work.
    fn run(&self, work: Work, data: Buffers<'_>) -> Result<(), Error>;

    /// Whether calls are to be cut into pieces and spread over the cores; otherwise one call gets all the data.
    fn runs_on_cores(&self) -> bool {
        false
    }
}

/// A backend that was opened. Cloning is cheap, and clones share the device.
///
/// It is `Send` and `Sync`: any number of threads may share one engine, and open keys and make calls on it at the same time.
#[derive(Clone)]
pub struct Engine {
    opened: Arc<Opened>,
    kernels: Kernels,
    transfers: Transfers,
}

struct Opened {
    kind: Kind,
    /// Why this backend, where it was not asked for by name.
    why: Option<String>,
    /// What was submitted to it.
    queue: Queue,
}

/// Calls on each device that are made at the same time, of those that were submitted.
const SUBMITTED_AT_ONCE: usize = 4;

enum Kind {
    Cpu,
    CpuBitsliced(Isa),
    Cuda(cuda::Group),
    OpenCl(Arc<opencl::Device>),
}

impl Engine {
    /// Opens a backend. [`Backend::Auto`] always succeeds.
    ///
    /// # Errors
    /// [`Error::CudaUnavailable`], [`Error::NoSuchDevice`] or another CUDA error where a CUDA GPU was asked for and cannot
    /// be used; [`Error::OpenClUnavailable`], [`Error::NoSuchOpenClDevice`] or another OpenCL error for a device behind that.
    pub fn open(backend: Backend) -> Result<Self, Error> {
        let cuda = |ordinal| cuda::Group::open(&[ordinal], Shares::Equal).map(Kind::Cuda);
        let opencl = |wanted| opencl::Device::open(wanted).map(Kind::OpenCl);
        let (kind, why) = match backend {
            Backend::Auto => match cuda(0) {
                Ok(kind) => (kind, Some("auto: a GPU is there".into())),
                Err(no_cuda) => {
                    let no_cuda = one_line(&no_cuda);
                    match opencl(opencl::Wanted::FirstGpu) {
                        Ok(kind) => (kind, Some(format!("auto: no CUDA ({no_cuda}); an OpenCL GPU is there"))),
                        Err(e) => (Kind::Cpu, Some(format!("auto: {no_cuda}; {}", one_line(&e)))),
                    }
                }
            },
            Backend::Cuda { ordinal } => (cuda(ordinal)?, None),
            Backend::CudaAll => (Kind::Cuda(cuda::Group::open_all()?), None),
            Backend::OpenCl { platform, device } => (opencl(opencl::Wanted::Numbered { platform, device })?, None),
            Backend::OpenClFirst => (opencl(opencl::Wanted::First)?, None),
            Backend::Cpu => (Kind::Cpu, None),
            Backend::CpuBitsliced => (Kind::CpuBitsliced(Isa::best()), None),
        };
        Ok(Self::new(kind, why))
    }

    /// Opens several GPUs, by their numbers, that share the work of every call, and are done at the same time: whichever is
    /// ahead takes from what another has left. The output is the same as that of one. If one of them fails, the call does,
    /// and its output is cleared.
    ///
    /// ```no_run
    /// use aes_bitslice_runtime::{Counter, CounterMode, Engine, Key, KeyBits, Shares};
    ///
    /// let engine = Engine::multi(&[0, 1], Shares::Measured)?;
    /// let cipher = engine.cipher(&Key::generate(KeyBits::Aes128)?)?;
    /// let counter = Counter::new(CounterMode::Ctr128BE, [0xf0; 16]);
    /// let mut bytes = vec![0; 1 << 30];
    /// cipher.ctr_apply(&counter, 0, &mut bytes)?;
    /// // Or in GPU memory, a part on each.
    /// let mut data = engine.spread(bytes.len())?;
    /// data.copy_from_host(0, &bytes)?;
    /// cipher.spread()?.ctr_apply(&counter, 0, &mut data)?;
    /// # Ok::<(), aes_bitslice_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadDevices`] for none, or for one twice; and as [`open`](Self::open).
    pub fn multi(ordinals: &[usize], shares: Shares) -> Result<Self, Error> {
        Ok(Self::new(Kind::Cuda(cuda::Group::open(ordinals, shares)?), None))
    }

    fn new(kind: Kind, why: Option<String>) -> Self {
        let queue = Queue::new(match &kind {
            Kind::Cpu | Kind::CpuBitsliced(_) => rayon::current_num_threads(),
            Kind::Cuda(group) => SUBMITTED_AT_ONCE * group.members().len(),
            Kind::OpenCl(_) => SUBMITTED_AT_ONCE,
        });
        let opened = Arc::new(Opened { kind, why, queue });
        Self { opened, kernels: Kernels::default(), transfers: Transfers::default() }
    }

    /// The bitsliced CPU engine on given vectors, rather than on the widest there are.
    ///
    /// # Errors
    /// [`Error::IsaUnavailable`] if the processor lacks them.
    pub fn open_bitsliced(isa: Isa) -> Result<Self, Error> {
        if !Isa::available().contains(&isa) {
            return Err(Error::IsaUnavailable { isa });
        }
        Ok(Self::new(Kind::CpuBitsliced(isa), None))
    }

    /// The same engine with other GPU kernels; keys brought to it from now on use these. On a CPU it changes nothing.
    ///
    /// For OpenCL there are bitsliced ones only. An engine that was opened as [`Backend::Auto`] and became OpenCL has these
    /// whatever is asked for, as a CPU has its own; of one that was opened as OpenCL, [`cipher`](Self::cipher) refuses to use
    /// others.
    pub fn with_kernels(self, kernels: Kernels) -> Self {
        Self { kernels, ..self }
    }

    /// The same engine with other transfers between host memory and GPUs; keys brought to it from now on use these. On a
    /// CPU it changes nothing.
    pub fn with_transfers(self, transfers: Transfers) -> Self {
        Self { transfers, ..self }
    }

    /// Host memory of so many bytes, all zero, that is fast for this engine.
    ///
    /// ```
    /// use aes_bitslice_runtime::{Backend, Counter, CounterMode, Engine, Key, KeyBits};
    ///
    /// let engine = Engine::open(Backend::Auto)?;
    /// let cipher = engine.cipher(&Key::generate(KeyBits::Aes128)?)?;
    /// let counter = Counter::new(CounterMode::Ctr128BE, [0xf0; 16]);
    /// let mut data = engine.host_buffer(1 << 20)?;
    /// cipher.ctr_apply(&counter, 0, &mut data)?;
    /// // It can be given away, too, to a call that returns at once.
    /// let data = cipher.submit_ctr(&counter, 0, data)?.wait()?;
    /// assert!(data.iter().all(|&byte| byte == 0));
    /// # Ok::<(), aes_bitslice_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`], and what the device reports.
    pub fn host_buffer(&self, len: usize) -> Result<HostBuffer, Error> {
        match &self.opened.kind {
            Kind::Cuda(group) => Ok(HostBuffer::pinned(group.members()[0].device.pinned(len)?)),
            Kind::Cpu | Kind::CpuBitsliced(_) | Kind::OpenCl(_) => HostBuffer::ordinary(len),
        }
    }

    /// Device memory of so many bytes, all zero, spread over this engine's GPUs: a part on each, as long as its share of
    /// the work. For [`Cipher::spread`]; of one GPU it is one part.
    ///
    /// # Errors
    /// [`Error::NotCuda`] on other engines, [`Error::OutOfDeviceMemory`], and what the devices report.
    pub fn spread(&self, len: usize) -> Result<cuda::SpreadBuffer, Error> {
        cuda::SpreadBuffer::new(self.group("spread memory")?, len)
    }

    /// Which GPU kernels it may use.
    pub fn kernels(&self) -> Kernels {
        self.kernels
    }

    /// What its CUDA GPU goes by, of several the first; `None` on others.
    pub fn tuning(&self) -> Option<&cuda::Tuning> {
        self.group("").ok().map(|group| group.members()[0].device.tuning())
    }

    /// Where a call on this many bytes in host memory is computed: opened as [`Backend::Auto`] with a GPU, on whichever
    /// of GPU and CPU is faster for it, for an OpenCL GPU from 1 MiB on; else where the engine is.
    pub fn backend_for(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> Backend {
        let prefers_device = match &self.opened.kind {
            _ if !self.is_auto() => true,
            Kind::Cuda(group) => group.members()[0].device.tuning().prefers_cuda(mode, key_bits, bytes),
            Kind::OpenCl(_) => bytes >= opencl::SMALLEST_CALL,
            Kind::Cpu | Kind::CpuBitsliced(_) => true,
        };
        if prefers_device { self.backend() } else { Backend::Cpu }
    }

    /// Whether it was opened as [`Backend::Auto`].
    fn is_auto(&self) -> bool {
        self.opened.why.is_some()
    }

    /// What was opened; never [`Backend::Auto`] or [`Backend::OpenClFirst`].
    pub fn backend(&self) -> Backend {
        match self.opened.kind {
            Kind::Cpu => Backend::Cpu,
            Kind::CpuBitsliced(_) => Backend::CpuBitsliced,
            Kind::Cuda(ref group) => group.sole().map_or(Backend::CudaAll, |m| Backend::Cuda { ordinal: m.ordinal }),
            Kind::OpenCl(ref device) => device.info().backend(),
        }
    }

    /// One line for a reader: the device, and for [`Backend::Auto`] why it is this one.
    pub fn description(&self) -> String {
        let what = match &self.opened.kind {
            Kind::Cpu => format!("CPU, {}", cpu::description()),
            Kind::CpuBitsliced(isa) => format!("CPU, bitsliced, {isa}, {}", cpu::threads()),
            Kind::Cuda(group) => {
                let name = |m: &cuda::Member| format!("{} (CUDA {})", m.device.name(), m.ordinal);
                group.members().iter().map(name).collect::<Vec<_>>().join(" and ")
            }
            Kind::OpenCl(device) => {
                let info = device.info();
                format!("{} (OpenCL {}.{}, {})", info.name, info.platform, info.device, info.driver)
            }
        };
        match &self.opened.why {
            Some(why) => format!("{what} ({why})"),
            None => what,
        }
    }

    /// A key on this engine: expands it and, for a device, brings it there.
    ///
    /// # Errors
    /// None on the CPU; elsewhere what the device reports, and on an engine that was opened as OpenCL
    /// [`Error::NoSuchKernel`] where [`with_kernels`](Self::with_kernels) allows no bitsliced kernels.
    pub fn cipher(&self, key: &Key) -> Result<Cipher, Error> {
        let cpu = cpu::key(key);
        let blocks: Arc<dyn BlockEngine> = match &self.opened.kind {
            Kind::Cpu => cpu.clone(),
            Kind::CpuBitsliced(isa) => Arc::new(Bitsliced::new(key.expose(), *isa)?),
            Kind::Cuda(group) => Arc::new(group.key(self.transfers, |device| device.cipher(key, self.kernels))?),
            Kind::OpenCl(device) => {
                // Whoever did not ask for OpenCL is not refused for what it lacks.
                let kernels = if self.is_auto() { Kernels::Auto } else { self.kernels };
                Arc::new(opencl::DeviceKey::with_stored(device, key, kernels, self.transfers)?)
            }
        };
        Ok(Cipher::new(self.clone(), blocks, Some(cpu)))
    }

    /// A kernel with its key baked in, as `cargo xtask gen --key` wrote it; `manifest` is the JSON file beside it.
    ///
    /// Manifest and source are code that runs on the device: load only what you trust.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on a CPU; [`Error::BadManifest`], also for a kernel in the language of another engine;
    /// [`Error::CompileFailed`], for the source is compiled here and now, for which [`Error::NvrtcUnavailable`] and
    /// [`Error::CompilerCache`] may stand in the way; [`Error::SelfTestFailed`], and what the device reports.
    pub fn load_baked(&self, manifest: &Path) -> Result<Cipher, Error> {
        self.of_one_kernel(
            "a baked kernel",
            |device| device.load_baked(manifest),
            |device| opencl::DeviceKey::load_baked(device, manifest, self.transfers),
        )
    }

    /// Generates a kernel with this key baked in, and compiles it here and now with NVRTC or the OpenCL driver: for OpenCL, in
    /// the layout that the device is fast in, where the strategy has it.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on a CPU; [`Error::NvrtcUnavailable`], [`Error::CompilerCache`], [`Error::CompileFailed`],
    /// [`Error::NoSuchKernel`] for an S-box of no known name, [`Error::SelfTestFailed`], and what the device reports.
    pub fn bake(&self, key: &Key, mode: Mode, strategy: BakedStrategy, sbox: &str) -> Result<Cipher, Error> {
        self.of_one_kernel(
            "a baked kernel",
            |device| device.bake(key, mode, strategy, sbox),
            |device| opencl::DeviceKey::bake(device, key, mode, strategy, sbox, self.transfers),
        )
    }

    /// Any kernel that the generator prints, compiled here and now with NVRTC or the OpenCL driver, and a key for it. It runs
    /// its own mode only: for experiments, and to measure.
    ///
    /// Dropping the last clone of it waits. On CUDA it waits for all that the devices are doing, which may still need the
    /// code that is unloaded. On OpenCL it waits for what was launched with it, and only where its round keys lie in device
    /// memory, as with the strategy `planes-in-memory`: these are cleared.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on a CPU; [`Error::NvrtcUnavailable`], [`Error::CompilerCache`], [`Error::CompileFailed`],
    /// [`Error::NoSuchKernel`] for a design with another key baked in, or that is not printed in the engine's language,
    /// [`Error::SelfTestFailed`], and what the device reports.
    pub fn cipher_of(&self, key: &Key, design: &Design) -> Result<Cipher, Error> {
        self.of_one_kernel(
            "a kernel of the generator's",
            |device| device.cipher_of(key, design),
            |device| opencl::DeviceKey::of_design(device, key, design, self.transfers),
        )
    }

    /// A cipher of one kernel, which the engine's devices each make in their way.
    fn of_one_kernel(
        &self,
        what: &'static str,
        on_cuda: impl Fn(&Arc<cuda::Device>) -> Result<cuda::DeviceKey, Error>,
        on_opencl: impl Fn(&Arc<opencl::Device>) -> Result<opencl::DeviceKey, Error>,
    ) -> Result<Cipher, Error> {
        let blocks: Arc<dyn BlockEngine> = match &self.opened.kind {
            Kind::Cuda(group) => Arc::new(group.key(self.transfers, on_cuda)?),
            Kind::OpenCl(device) => Arc::new(on_opencl(device)?),
            Kind::Cpu | Kind::CpuBitsliced(_) => return Err(Error::NoDevice { what, backend: self.backend() }),
        };
        Ok(Cipher::new(self.clone(), blocks, None))
    }

    /// The OpenCL context that queues and buffers for [`Cipher::opencl`] belong to. It is the engine's own, and has its device
    /// only.
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] on other engines.
    pub fn opencl_context(&self) -> Result<&opencl::opencl3::context::Context, Error> {
        Ok(self.opencl("an OpenCL context")?.context())
    }

    /// Device memory of so many bytes, all zero, for [`Cipher::opencl`].
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] on other engines, [`Error::OutOfDeviceMemory`], and what the driver reports.
    pub fn opencl_memory(&self, len: usize) -> Result<opencl::DeviceMemory, Error> {
        opencl::DeviceMemory::new(self.opencl("OpenCL memory")?, len)
    }

    /// A queue for [`Cipher::opencl`], whose commands the device times.
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] on other engines, and what the driver reports.
    pub fn opencl_queue(&self) -> Result<opencl::TimedQueue, Error> {
        opencl::TimedQueue::new(self.opencl("an OpenCL queue")?)
    }

    /// The OpenCL device.
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] on other engines.
    pub fn opencl_device(&self) -> Result<opencl::opencl3::device::Device, Error> {
        Ok(opencl::opencl3::device::Device::new(self.opencl("an OpenCL device")?.id()))
    }

    /// The CUDA context that streams and buffers for [`Cipher::device`] belong to: the device's primary context.
    ///
    /// # Errors
    /// [`Error::NotCuda`] on other engines, [`Error::SeveralDevices`] where there are several.
    pub fn cuda_context(&self) -> Result<Arc<cuda::cudarc::driver::CudaContext>, Error> {
        Ok(self.device("a CUDA context")?.context().clone())
    }

    /// The same of each GPU, in the order in which they were given: what [`Cipher::devices`] works in.
    ///
    /// # Errors
    /// [`Error::NotCuda`] on other engines.
    pub fn cuda_contexts(&self) -> Result<Vec<Arc<cuda::cudarc::driver::CudaContext>>, Error> {
        let members = self.group("a CUDA context")?.members();
        Ok(members.iter().map(|member| member.device.context().clone()).collect())
    }

    /// Where calls that were submitted wait for a thread.
    pub(crate) fn queue(&self) -> &Queue {
        &self.opened.queue
    }

    /// The CUDA device, for calls that only it answers.
    pub(crate) fn device(&self, what: &'static str) -> Result<&Arc<cuda::Device>, Error> {
        self.group(what)?.sole().map(|member| &member.device).ok_or(Error::SeveralDevices { what })
    }

    /// The CUDA devices, for calls that only they answer.
    pub(crate) fn group(&self, what: &'static str) -> Result<&cuda::Group, Error> {
        match &self.opened.kind {
            Kind::Cuda(group) => Ok(group),
            Kind::Cpu | Kind::CpuBitsliced(_) | Kind::OpenCl(_) => {
                Err(Error::NotCuda { what, backend: self.backend() })
            }
        }
    }

    /// The OpenCL device, for calls that only it answers.
    pub(crate) fn opencl(&self, what: &'static str) -> Result<&Arc<opencl::Device>, Error> {
        match &self.opened.kind {
            Kind::OpenCl(device) => Ok(device),
            Kind::Cpu | Kind::CpuBitsliced(_) | Kind::Cuda(_) => {
                Err(Error::NotOpenCl { what, backend: self.backend() })
            }
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Engine({})", self.description())
    }
}

fn one_line(error: &Error) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

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

    #[test]
    fn auto_opens_and_says_why() {
        let engine = Engine::open(Backend::Auto).unwrap();
        assert_ne!(engine.backend(), Backend::Auto);
        assert!(engine.description().contains("auto: "), "{}", engine.description());
        assert!(!engine.description().contains('\n'));
    }

    #[test]
    fn kernels_are_remembered_and_change_nothing_on_a_cpu() {
        for backend in [Backend::Cpu, Backend::CpuBitsliced] {
            let key = Key::new(&[1; 16]).unwrap();
            let encrypted = Kernels::ALL.map(|kernels| {
                let engine = Engine::open(backend).unwrap().with_kernels(kernels);
                assert_eq!((engine.kernels(), engine.clone().kernels()), (kernels, kernels));
                assert!(engine.tuning().is_none());
                assert_eq!(engine.backend_for(Mode::Ctr, KeyBits::Aes128, 1 << 40), backend);
                let mut data = [7; 64];
                engine.cipher(&key).unwrap().ecb_encrypt(&mut data).unwrap();
                data
            });
            assert!(encrypted.iter().all(|data| *data == encrypted[0]));
        }
        assert_eq!(Engine::open(Backend::Cpu).unwrap().kernels(), Kernels::Auto);
    }

    #[test]
    fn table_kernels_are_refused_only_where_opencl_was_asked_for() {
        let device = match opencl::Device::open(opencl::Wanted::First) {
            Ok(device) => device,
            // Past the harness, which would keep it to itself.
            Err(e) => {
                let _ = writeln!(std::io::stderr(), "NO OPENCL DEVICE OPENED: its kernels were not tested ({e})");
                return;
            }
        };
        let key = Key::new(&[1; 16]).unwrap();
        for kernels in Kernels::ALL {
            let cipher = |why: Option<&str>| {
                let engine = Engine::new(Kind::OpenCl(device.clone()), why.map(Into::into));
                engine.with_kernels(kernels).cipher(&key)
            };
            assert!(cipher(Some("auto")).is_ok(), "{kernels}");
            let refused = matches!(cipher(None), Err(Error::NoSuchKernel { .. }));
            assert_eq!(refused, matches!(kernels, Kernels::Tbox | Kernels::Pair), "{kernels}");
        }
    }

    #[test]
    fn what_only_a_device_answers_is_refused_elsewhere() {
        for backend in [Backend::Cpu, Backend::CpuBitsliced] {
            let engine = Engine::open(backend).unwrap();
            assert!(matches!(engine.load_baked(Path::new("none.json")), Err(Error::NoDevice { .. })));
            assert!(matches!(engine.opencl_context(), Err(Error::NotOpenCl { .. })));
            let cipher = engine.cipher(&Key::new(&[1; 16]).unwrap()).unwrap();
            assert!(matches!(cipher.device(), Err(Error::NotCuda { .. })));
            assert!(matches!(cipher.opencl(), Err(Error::NotOpenCl { .. })));
        }
    }
}
