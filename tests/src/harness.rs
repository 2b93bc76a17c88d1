//! Tests with needs that not every machine meets: a GPU, several of them, an OpenCL device. Where one is missing they are reported as
//! ignored, with the reason, whatever the command line asks for; they never count as passed. With [`REQUIRE_GPU`] or [`REQUIRE_OPENCL`]
//! in the environment they fail instead.
//!
//! The command line is that of Rust's own test harness. Output of tests is not captured.

use crate::engines::{self, Device};
use crate::environment::{LARGE, REQUIRE_GPU, REQUIRE_OPENCL, SMALL, is_set, small};
use aes_bitslice_analysis::sass::Disassembler;
use aes_bitslice_gen::check::has_compiler;
use aes_bitslice_runtime::{Engine, Kernels};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::sync::LazyLock;

/// A test's requirement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// A device, with its kernels.
    Device(Device),
    /// The CUDA run-time compiler, and a GPU.
    CudaCompiler,
    /// NVRTC, the CUDA run-time compiler.
    Nvrtc,
    /// A C compiler.
    CCompiler,
    /// NVIDIA's disassembler of machine code.
    Disassembler,
    /// Time: the test is left out where [`SMALL`] is set.
    Time,
    /// Many GiB of GPU memory: the test is left out unless [`LARGE`] is set.
    Memory,
    /// None of these variables in the environment.
    Unset(&'static [&'static str]),
}

impl Need {
    /// Why a test that needs it cannot run here; `None` if it can.
    fn missing(self) -> Option<String> {
        match self {
            Self::Device(device) => device.find().err().map(str::to_owned),
            Self::CudaCompiler => engines::cuda_compiler().err().map(str::to_owned),
            Self::Nvrtc => aes_bitslice_nvrtc::version().err().map(|why| why.to_string()),
            Self::CCompiler => (!has_compiler()).then(|| "there is no C compiler".into()),
            Self::Disassembler => Disassembler::find().err().map(|why| why.to_string()),
            Self::Time => small().then(|| format!("{SMALL} is set")),
            Self::Memory => (!is_set(LARGE)).then(|| format!("{LARGE} is not set")),
            Self::Unset(names) => {
                names.iter().find(|name| env::var_os(name).is_some()).map(|name| format!("{name} is set"))
            }
        }
    }

    /// Whether its absence is a failure.
    fn is_required(self) -> bool {
        match self {
            Self::Device(Device::Cpu) => true,
            Self::Device(Device::Cuda(Kernels::Auto) | Device::OneGpu) => is_set(REQUIRE_GPU),
            // A GPU may have no room for other kernels, and may be the only one.
            Self::Device(Device::Cuda(_) | Device::SeveralGpus) => is_set(REQUIRE_GPU) && engines::gpu_count() == 0,
            Self::Device(Device::OpenCl) => is_set(REQUIRE_OPENCL),
            Self::CudaCompiler => is_set(REQUIRE_GPU),
            Self::Nvrtc | Self::CCompiler | Self::Disassembler | Self::Time | Self::Memory | Self::Unset(_) => false,
        }
    }
}

/// The tests of a program.
#[derive(Default)]
pub struct Tests {
    tests: Vec<Test>,
    one_at_a_time: bool,
}

struct Test {
    name: String,
    needs: Vec<Need>,
    /// Variables for the test's own process, if it has one.
    alone: Option<Vec<(String, String)>>,
    run: Box<dyn FnOnce() + Send>,
}

/// Functions with their names: `tests![first, second]`.
#[macro_export]
macro_rules! tests {
    ($($test:ident),* $(,)?) => {
        &[$((stringify!($test), $test as fn())),*]
    };
}

/// Functions that take the engines of a device, with their names: `tests_of_engines![first, second]`.
#[macro_export]
macro_rules! tests_of_engines {
    ($($test:ident),* $(,)?) => {
        &[$((stringify!($test), $test as fn(&'static [aes_bitslice_runtime::Engine]))),*]
    };
}

/// Functions that take one engine, each called for all of a device.
#[macro_export]
macro_rules! tests_of_each_engine {
    ($($test:ident),* $(,)?) => {
        &[$((
            stringify!($test),
            (|engines| engines.iter().for_each($test)) as fn(&'static [aes_bitslice_runtime::Engine]),
        )),*]
    };
}

/// Fails unless a call fails with an error of this pattern: `refused!(cipher.run(operation, data), Error::Overlap)`. Words after the pattern
/// say which call.
#[macro_export]
macro_rules! refused {
    ($call:expr, $error:pat) => {
        $crate::refused!($call, $error, "a call")
    };
    ($call:expr, $error:pat, $($which:tt)+) => {
        match $call.map(drop) {
            Err($error) => {}
            other => panic!("{}: {other:?}", format_args!($($which)+)),
        }
    };
}

impl Tests {
    /// Adds tests, each of which fails if it panics. Their needs are checked in order.
    pub fn with(mut self, needs: &[Need], tests: &[(&str, fn())]) -> Self {
        let test = |&(name, run): &(&str, fn())| Test::new(name, needs, run);
        self.tests.extend(tests.iter().map(test));
        self
    }

    /// Adds tests, each of which runs in its own process, with variables set in its environment.
    pub fn alone(mut self, needs: &[Need], set: &[(&str, &str)], tests: &[(&str, fn())]) -> Self {
        let set: Vec<_> = set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let test = |&(name, run): &(&str, fn())| Test { alone: Some(set.clone()), ..Test::new(name, needs, run) };
        self.tests.extend(tests.iter().map(test));
        self
    }

    /// Adds each test once for each of several devices, and passes it their engines. It is named after the device, as in `cuda::NAME`.
    pub fn on_each<F: Fn(&'static [Engine]) + Copy + Send + 'static>(
        mut self,
        devices: &[Device],
        needs: &[Need],
        tests: &[(&str, F)],
    ) -> Self {
        for &(name, run) in tests {
            for &device in devices {
                let needs = [&[Need::Device(device)], needs].concat();
                let run = move || run(device.find().expect("found before"));
                self.tests.push(Test::new(&format!("{}::{name}", device.name()), &needs, run));
            }
        }
        self
    }

    /// These tests run one after the other, whatever the command line says: for tests that would disturb each other.
    pub fn one_at_a_time(self) -> Self {
        Self { one_at_a_time: true, ..self }
    }

    /// Runs them according to the command line of this process.
    ///
    /// # Panics
    /// If two have the same name.
    pub fn run(mut self) -> ExitCode {
        let mut names: Vec<&str> = self.tests.iter().map(|test| test.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two tests have the same name: {names:?}");
        if let Ok(name) = env::var(ALONE) {
            let test = self.tests.iter().position(|test| test.name == name).expect("a test of this program");
            (self.tests.swap_remove(test).run)();
            return ExitCode::SUCCESS;
        }
        LazyLock::force(&AT_START);
        let trials = self.tests.into_iter().map(Test::trial).collect();
        let mut arguments = Arguments::from_args();
        if self.one_at_a_time {
            arguments.test_threads = Some(1);
        }
        libtest_mimic::run(&arguments, trials).exit_code()
    }
}

impl Test {
    fn new(name: &str, needs: &[Need], run: impl FnOnce() + Send + 'static) -> Self {
        Self { name: name.into(), needs: needs.into(), alone: None, run: Box::new(run) }
    }

    fn trial(self) -> Trial {
        let name = self.name.clone();
        Trial::ignorable_test(name, move || {
            for need in &self.needs {
                match need.missing() {
                    None => {}
                    Some(reason) if need.is_required() => return Err(format!("required, and missing: {reason}").into()),
                    Some(reason) => return Ok(Completion::ignored_with(reason)),
                }
            }
            match &self.alone {
                None => (self.run)(),
                Some(set) => run_alone(&self.name, set)?,
            }
            Ok(Completion::Completed)
        })
    }
}

/// The test that a process was started for.
const ALONE: &str = "AES_BITSLICE_TEST_ALONE";

/// The environment that this process was given. The Khronos OpenCL loader cuts the value of `OCL_ICD_FILENAMES` at its first colon, in
/// place, and a process that is started after that would find the first platform only.
static AT_START: LazyLock<Vec<(OsString, OsString)>> = LazyLock::new(|| env::vars_os().collect());

/// Runs a test of this program in its own process.
fn run_alone(name: &str, set: &[(String, String)]) -> Result<(), Failed> {
    let mut process = Command::new(env::current_exe()?);
    process.env_clear().envs(AT_START.iter().cloned()).envs(set.iter().cloned());
    let output = process.env(ALONE, name).output()?;
    if output.status.success() {
        Ok(())
    } else {
        let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat();
        Err(format!("in a process of its own: {}\n{text}", output.status).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(test: Test) -> (u64, u64, u64) {
        // As strict as a command line can be; and messages of intended failures do not reach readers of the output.
        let folder = tempfile::tempdir().unwrap();
        let logfile = folder.path().join("log").to_str().map(str::to_owned);
        let arguments = Arguments { include_ignored: true, logfile, ..Arguments::default() };
        let conclusion = libtest_mimic::run(&arguments, vec![test.trial()]);
        (conclusion.num_passed, conclusion.num_failed, conclusion.num_ignored)
    }

    #[test]
    fn what_cannot_run_is_ignored_and_never_passed() {
        assert_eq!(outcome(Test::new("passes", &[], || {})), (1, 0, 0));
        assert_eq!(outcome(Test::new("fails", &[], || panic!("on purpose"))), (0, 1, 0));
        let needs_memory = Test::new("needs", &[Need::Memory], || panic!("it was run"));
        assert_eq!(outcome(needs_memory), if is_set(LARGE) { (0, 1, 0) } else { (0, 0, 1) });
    }

    #[test]
    fn devices_are_in_the_names() {
        let tests = Tests::default().on_each(&Device::ALL, &[], &[("test", |_| {})]).tests;
        let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["cpu::test", "cuda::test", "cuda-tbox::test", "cuda-co-resident::test", "opencl::test"]);
    }
}
