//! The engines under test: whatever this machine opens, and a plain word about what it does not.

use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::cuda::Kernels;
use aes_bitslice_runtime::opencl::{DeviceInfo, DeviceKind};
use aes_bitslice_runtime::{Backend, BakedStrategy, Engine, Error, Key, Mode};
use std::io::Write;
use std::sync::OnceLock;

/// The switch in the environment that makes the absence of a GPU, or of what its tests need, a failure.
pub const REQUIRE_GPU: &str = "AES_BITSLICE_REQUIRE_GPU";

/// The same for an OpenCL device.
pub const REQUIRE_OPENCL: &str = "AES_BITSLICE_REQUIRE_OPENCL";

/// Which OpenCL device is tested, as in `1.0`: the second platform's first.
pub const OPENCL: &str = "AES_BITSLICE_OPENCL";

/// Every engine this machine has: the CPU, the bitsliced CPU on each kind of vector, the GPU where one opens, as in
/// [`gpus`], and the OpenCL device of [`opencl`].
pub fn engines() -> &'static [Engine] {
    static ENGINES: OnceLock<Vec<Engine>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        let cpu = [Backend::Cpu, Backend::CpuBitsliced].map(|b| Engine::open(b).expect("CPU engines always open"));
        // The first is what `CpuBitsliced` took.
        let others = Isa::available().into_iter().skip(1);
        let others = others.map(|isa| Engine::open_bitsliced(isa).expect("the processor has it"));
        let engines = cpu.into_iter().chain(others).chain(gpus().iter().cloned()).chain(opencl().cloned());
        let engines: Vec<Engine> = engines.collect();
        let names: Vec<String> = engines.iter().map(name).collect();
        say(&format!("Engines under test: {}", names.join("; ")));
        engines
    })
}

/// What an engine is, for messages: on a GPU, its kernels too.
pub fn name(engine: &Engine) -> String {
    match engine.backend() {
        Backend::Cuda { .. } => format!("{}, kernels {}", engine.description(), engine.kernels()),
        _ => engine.description(),
    }
}

/// Whether an engine decrypts CBC: a pair of kernels does not, for its blocks are chained and have no shares for two.
pub fn decrypts_cbc(engine: &Engine) -> bool {
    engine.kernels() != Kernels::Pair
}

/// The first GPU with its default kernels, with those that look tables up, and with both side by side; what it has no room
/// for is left out, with a word. Empty where there is no GPU.
///
/// # Panics
/// As [`gpu`], and if a kernel that is there does not work.
pub fn gpus() -> &'static [Engine] {
    static GPUS: OnceLock<Vec<Engine>> = OnceLock::new();
    GPUS.get_or_init(|| {
        let Some(gpu) = gpu() else { return vec![] };
        let key = Key::new(&[0; 16]).expect("16 bytes");
        let there = |engine: &Engine| {
            let cipher = engine.cipher(&key).expect("the GPU takes a key");
            match cipher.device().expect("it is on a GPU").prepare(Mode::Ctr) {
                Err(e @ Error::NoSuchKernel { .. }) => {
                    say(&format!("THE GPU HAS NO ROOM FOR SOME KERNELS, WHICH WERE NOT TESTED: {}: {e}", name(engine)));
                    false
                }
                prepared => prepared.map(|()| true).unwrap_or_else(|e| panic!("{}: {e}", name(engine))),
            }
        };
        let all = [Kernels::Auto, Kernels::Tbox, Kernels::Pair].map(|kernels| gpu.clone().with_kernels(kernels));
        all.into_iter().filter(there).collect()
    })
}

/// The first GPU. Where there is none it is said once on standard error, past the capture of passing tests' output;
/// with [`REQUIRE_GPU`] set that is a failure instead.
///
/// # Panics
/// If there is a GPU that does not work, or it goes by measurements of the user's: then it would depend on the machine
/// what is tested.
pub fn gpu() -> Option<&'static Engine> {
    static GPU: OnceLock<Option<Engine>> = OnceLock::new();
    GPU.get_or_init(|| match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Ok(engine) => {
            let tuned = engine.tuning().and_then(|tuning| tuning.file());
            assert!(tuned.is_none(), "the GPU goes by {tuned:?}: set AES_BITSLICE_CACHE to an empty folder for tests");
            Some(engine)
        }
        Err(e @ (Error::CudaUnavailable { .. } | Error::NoSuchDevice { .. })) => {
            assert!(!is_set(REQUIRE_GPU), "a GPU is required: {e}");
            say(&format!("NO GPU OPENED: GPU TESTS DID NOT RUN ({e})"));
            None
        }
        Err(e) => panic!("there is a GPU, and it does not open: {e}"),
    })
    .as_ref()
}

/// The first GPU, if the CUDA run-time compiler is there too; its absence is said, or a failure, like the GPU's.
///
/// # Panics
/// As [`gpu`].
pub fn gpu_with_compiler() -> Option<&'static Engine> {
    static COMPILER: OnceLock<bool> = OnceLock::new();
    let gpu = gpu()?;
    let key = Key::new(&[0; 16]).expect("16 bytes");
    let there = COMPILER.get_or_init(|| match gpu.bake(&key, Mode::Ctr, BakedStrategy::OneHotMux, "lut3") {
        Err(e @ Error::NvrtcUnavailable { .. }) => {
            assert!(!is_set(REQUIRE_GPU), "the CUDA run-time compiler is required: {e}");
            say(&format!("NO CUDA COMPILER: BAKED KERNELS WERE NOT TESTED ON THE GPU ({e})"));
            false
        }
        _ => true,
    });
    there.then_some(gpu)
}

/// The OpenCL device that [`OPENCL`] names, else the first GPU, else the first of any kind, which may be this machine's
/// processor. Its absence is said, or a failure, like the GPU's.
///
/// # Panics
/// If there is one that does not work.
pub fn opencl() -> Option<&'static Engine> {
    static DEVICE: OnceLock<Option<Engine>> = OnceLock::new();
    DEVICE
        .get_or_init(|| {
            let backend = match std::env::var(OPENCL) {
                Ok(numbers) => format!("opencl:{numbers}").parse().unwrap_or_else(|e| panic!("{OPENCL}: {e}")),
                Err(_) => Backend::OpenClFirst,
            };
            match Engine::open(backend) {
                Ok(engine) => Some(engine),
                Err(e @ Error::OpenClUnavailable { .. }) if backend == Backend::OpenClFirst => {
                    assert!(!is_set(REQUIRE_OPENCL), "an OpenCL device is required: {e}");
                    say(&format!("NO OPENCL DEVICE OPENED: OPENCL TESTS DID NOT RUN ({e})"));
                    None
                }
                Err(e) => panic!("the OpenCL device does not open: {e}"),
            }
        })
        .as_ref()
}

/// Whether a call takes a while on an engine, however short it is: on a processor behind OpenCL. Then not every case is worth
/// its time.
pub fn is_slow(engine: &Engine) -> bool {
    static SLOW: OnceLock<Option<Backend>> = OnceLock::new();
    let slow = SLOW.get_or_init(|| {
        let backend = opencl()?.backend();
        let is_it = |info: &DeviceInfo| backend == Backend::OpenCl { platform: info.platform, device: info.device };
        let all = aes_bitslice_runtime::opencl::devices().expect("there is one");
        all.iter().any(|info| is_it(info) && info.kind == DeviceKind::Cpu).then_some(backend)
    });
    *slow == Some(engine.backend())
}

/// Whether a switch is set in the environment to anything but nothing and `0`.
pub fn is_set(switch: &str) -> bool {
    std::env::var(switch).is_ok_and(|value| !["", "0"].contains(&value.as_str()))
}

/// Says it on standard error, past the capture of what passing tests print.
pub fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "\n{what}");
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "x86_64")]
    use std::arch::is_x86_feature_detected;

    /// Vectors that the processor has and the engine does not find would go untested without a word.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn every_kind_of_vector_is_there() {
        let has = |isa| Isa::available().contains(&isa);
        assert!(has(Isa::Portable));
        assert_eq!(has(Isa::Avx2), is_x86_feature_detected!("avx2"));
        // Gates are of F, the transposition is of BW.
        let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        assert_eq!(has(Isa::Avx512), avx512);
    }
}
