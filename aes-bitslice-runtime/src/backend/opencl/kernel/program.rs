//! A source that the driver compiles for a device: how, and when the driver must not keep the result.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{self, KernelObject, Program, call, number};
use crate::base::error::Error;
use crate::op::launch::Entry;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::signature;
use opencl3::error_codes::{CL_BUILD_PROGRAM_FAILURE, CL_INVALID_BUILD_OPTIONS};
use opencl3::kernel;
use opencl3::program::{self, CL_PROGRAM_BUILD_LOG};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Mutex;

/// The entry points of a kernel.
pub(crate) struct EntryPoints(BTreeMap<Entry, EntryPoint>);

/// An entry point on a device.
pub(crate) struct EntryPoint {
    pub(crate) object: Mutex<KernelObject>,
    /// The parameters that it takes.
    pub(crate) signature: signature::EntryPoint,
    /// The units, in bytes, of its offsets into the input and into the output.
    pub(crate) units: [u64; 2],
}

impl EntryPoints {
    /// Compiles a kernel for a device, whose limits it must fit: all entry points that its manifest lists.
    pub(crate) fn compile<F>(context: &Context, manifest: &Manifest<F>, text: &str) -> Result<Self, Error> {
        if manifest.secret {
            cache_is_off(&context.info().platform_name, &context.info().platform_vendor, |name| {
                std::env::var(name).ok()
            })?;
        }
        let program = build(context, manifest, text)?;
        let load = |(&entry, signature): (&Entry, _)| {
            Ok((entry, EntryPoint::new(context, &program, signature, units(entry), manifest.threads)?))
        };
        manifest.entries.iter().map(load).collect::<Result<_, Error>>().map(Self)
    }

    /// One of them.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] if the kernel has none.
    pub(crate) fn one(&self, entry: Entry) -> Result<&EntryPoint, Error> {
        let none = || Error::NoSuchKernel { what: format!("no entry point for `{entry}` is printed in OpenCL C") };
        self.0.get(&entry).ok_or_else(none)
    }
}

/// The units, in bytes, of an entry point's offsets into the input and into the output. A hash is written as words.
fn units(entry: Entry) -> [u64; 2] {
    match entry {
        Entry::Blocks => [16, 16],
        Entry::Hash => [16, 4],
        Entry::HashBytes | Entry::HashMessages | Entry::HashJobs => [1, 4],
        Entry::Bytes | Entry::SecretCounter | Entry::Messages | Entry::Cmac | Entry::Each => [1, 1],
        Entry::Expand | Entry::Jobs | Entry::Clear | Entry::ClearMessages => [1, 1],
        Entry::BatchDescribe | Entry::BatchOrder => [1, 1],
        Entry::Encrypt | Entry::Decrypt => [16, 16],
        Entry::BatchMasks | Entry::BatchEncrypt | Entry::BatchDecrypt => [1, 1],
    }
}

impl EntryPoint {
    /// An entry point of a program, in work-groups of `threads`. It must take as many arguments as its signature says.
    pub(crate) fn new(
        context: &Context,
        program: &Program,
        signature: &signature::EntryPoint,
        units: [u64; 2],
        threads: u32,
    ) -> Result<Self, Error> {
        let no_kernel = |what: String| Error::NoSuchKernel { what };
        let name = CString::new(signature.name.as_str()).map_err(|e| no_kernel(e.to_string()))?;
        let made = call("clCreateKernel", kernel::create_kernel(program.raw(), &name))?;
        // SAFETY: created just now.
        let object = unsafe { KernelObject::owning(made) };
        let taken = number("clGetKernelInfo", kernel::get_kernel_data(made, kernel::CL_KERNEL_NUM_ARGS))?;
        let said: usize = signature.parameters.iter().map(|parameter| parameter.kind.opencl_arguments()).sum();
        if taken != said as u64 {
            let what = format!("{signature} takes {taken} arguments, and its manifest lists {said}");
            return Err(no_kernel(what));
        }
        let has =
            |what| number("clGetKernelWorkGroupInfo", kernel::get_kernel_work_group_data(made, context.device(), what));
        let (most, local) = (has(kernel::CL_KERNEL_WORK_GROUP_SIZE)?, has(kernel::CL_KERNEL_LOCAL_MEM_SIZE)?);
        let room = context.info().local_memory_bytes;
        if most < threads.into() || local > room {
            let (name, device) = (&signature.name, &context.info().name);
            return Err(no_kernel(format!(
                "{name} needs work-groups of {threads} with {local} bytes of local memory, and {device} has room for \
                 {most} with {room}: use another device, or the backend `cpu`"
            )));
        }
        Ok(Self { object: Mutex::new(object), signature: signature.clone(), units })
    }
}

fn build<F>(context: &Context, manifest: &Manifest<F>, text: &str) -> Result<Program, Error> {
    let made = program::create_program_with_source(context.raw(), &[text]);
    // SAFETY: created just now.
    let program = call("clCreateProgramWithSource", made).map(|program| unsafe { Program::owning(program) })?;
    let options = CString::new(options(manifest, context.is_nvidia())).expect("letters and numbers");
    let built = program::build_program(program.raw(), &[context.device()], &options, None, std::ptr::null_mut());
    let rejected = [CL_BUILD_PROGRAM_FAILURE, CL_INVALID_BUILD_OPTIONS];
    match built {
        Err(code) if rejected.contains(&code) => {
            let log = program::get_program_build_data(program.raw(), context.device(), CL_PROGRAM_BUILD_LOG);
            Err(Error::CompileFailed {
                kernel: manifest.kernel.clone(),
                log: if manifest.secret {
                    "(the compiler's log is withheld: it may quote the source, which is the key)".into()
                } else {
                    handles::text("clGetProgramBuildInfo", log).unwrap_or_else(|e| e.to_string())
                },
            })
        }
        built => call("clBuildProgram", built).map(|()| program),
    }
}

/// The compiler's options.
fn options<F>(manifest: &Manifest<F>, is_nvidia: bool) -> String {
    /// Registers of a multiprocessor, and the number that a thread can address.
    const REGISTERS: u32 = 1 << 16;
    const OF_A_THREAD: u32 = 255;
    let mut options = String::from("-cl-std=CL1.2");
    let threads = manifest.threads.saturating_mul(manifest.blocks_per_sm);
    if is_nvidia && let Some(registers) = REGISTERS.checked_div(threads) {
        // Registers are allocated in units of eight.
        options += &format!(" -cl-nv-maxrregcount={}", (registers.min(OF_A_THREAD) / 8 * 8).max(16));
    }
    options
}

/// The user's assurance that the compiler keeps nothing, where this crate does not know its switch.
const NO_CACHE: &str = "AES_BITSLICE_OPENCL_NO_CACHE";

/// The switches that make a driver keep on disk nothing of what it compiles, by a word in the platform's name or vendor.
const SWITCHES: [(&str, &str, &str); 5] = [
    ("nvidia", "CUDA_CACHE_DISABLE", "1"),
    (POCL, "POCL_KERNEL_CACHE", "0"),
    ("intel", "NEO_CACHE_PERSISTENT", "0"),
    ("advanced micro devices", "AMD_COMGR_CACHE", "0"),
    ("amd", "AMD_COMGR_CACHE", "0"),
];

const POCL: &str = "portable computing language";

/// Where PoCL writes files in any case: it deletes them with the program, but not if the process ends first, and not the files of sources
/// that do not compile.
const POCL_FILES: &str = "POCL_CACHE_DIR";

/// Refuses unless a kernel that contains a key may be given to the compiler of this platform.
fn cache_is_off(platform: &str, vendor: &str, set: impl Fn(&str) -> Option<String>) -> Result<(), Error> {
    let said = format!("{platform} {vendor}").to_lowercase();
    let known = SWITCHES.iter().find(|(word, ..)| said.contains(word));
    let (switch, value) = known.map_or((NO_CACHE, "1"), |&(_, switch, value)| (switch, value));
    let writes_files = known.is_some_and(|&(word, ..)| word == POCL);
    let are_in_memory = !writes_files || set(POCL_FILES).is_some_and(|folder| !folder.is_empty());
    if set(switch).as_deref() == Some(value) && are_in_memory {
        return Ok(());
    }
    let switch = match known {
        Some(_) if writes_files => format!(
            "before the process starts, set {switch}={value}, and {POCL_FILES} to a folder in memory, such as one in /dev/shm \
             (it writes some files even then)"
        ),
        Some(_) => format!("set {switch}={value} before the process starts"),
        None => format!("if you know that it keeps nothing, set {switch}={value}"),
    };
    Err(Error::CompilerCache { platform: platform.into(), switch })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::platforms::Wanted;

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn what_does_not_compile_is_told_with_the_compilers_words() {
        let context = Context::open(Wanted::First).unwrap();
        let stored = &aes_bitslice_kernels::OPENCL_KERNELS[0];
        let manifest = <Manifest>::parse(stored.manifest).unwrap();
        let refused = |source: &str| EntryPoints::compile(&context, &manifest, source).err().expect("refused");
        let Error::CompileFailed { kernel, log } = refused("kernel void k() { unheard_of }") else { panic!() };
        assert!(kernel == stored.name && log.contains("unheard_of"), "{log}");
        // It compiles, but is not what it claims to be.
        let source: String =
            manifest.entries.values().map(|entry| format!("kernel void {}() {{}} ", entry.name)).collect();
        assert!(matches!(refused(&source), Error::NoSuchKernel { .. }));
        assert!(
            matches!(refused("kernel void k() {}"), Error::OpenCl { code, .. } if code == "CL_INVALID_KERNEL_NAME")
        );
    }

    /// A source that is a key: not compiled where the compiler keeps it, and not quoted where it does not compile.
    #[test]
    #[ignore = "needs an OpenCL device"]
    fn a_source_that_is_a_key_is_not_told() {
        let context = Context::open(Wanted::First).unwrap();
        let stored = &aes_bitslice_kernels::OPENCL_KERNELS[0];
        let manifest = Manifest { secret: true, ..<Manifest>::parse(stored.manifest).unwrap() };
        let source = "kernel void k() { unheard_of }";
        let Err(Error::CompileFailed { log, .. }) = build(&context, &manifest, source) else { panic!() };
        assert!(log.contains("withheld") && !log.contains("unheard_of"), "{log}");
        let refused = EntryPoints::compile(&context, &manifest, source).err().expect("refused");
        let info = context.info();
        let may_be_kept =
            cache_is_off(&info.platform_name, &info.platform_vendor, |name| std::env::var(name).ok()).is_err();
        assert_eq!(matches!(refused, Error::CompilerCache { .. }), may_be_kept, "{refused}");
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn the_compiler_gets_its_options() {
        let context = Context::open(Wanted::First).unwrap();
        let stored = &aes_bitslice_kernels::OPENCL_KERNELS[0];
        let manifest = <Manifest>::parse(stored.manifest).unwrap();
        let program = build(&context, &manifest, stored.source).unwrap();
        let given = program::get_program_build_data(program.raw(), context.device(), program::CL_PROGRAM_BUILD_OPTIONS);
        let given = handles::text("clGetProgramBuildInfo", given).unwrap();
        assert!(given.contains(&options(&manifest, context.is_nvidia())), "{given}");
    }

    #[test]
    fn registers_are_what_leaves_room_for_all_thread_blocks() {
        let stored = aes_bitslice_kernels::OPENCL_KERNELS[0].manifest;
        let manifest = <Manifest>::parse(stored).unwrap();
        let with = |threads, blocks_per_sm| options(&Manifest { threads, blocks_per_sm, ..manifest.clone() }, true);
        assert_eq!(with(128, 4), "-cl-std=CL1.2 -cl-nv-maxrregcount=128");
        assert_eq!(with(128, 5), "-cl-std=CL1.2 -cl-nv-maxrregcount=96");
        assert_eq!(with(128, 2), "-cl-std=CL1.2 -cl-nv-maxrregcount=248");
        assert_eq!(with(64, 0), "-cl-std=CL1.2");
        assert_eq!(options(&manifest, false), "-cl-std=CL1.2");
    }

    #[test]
    fn keys_are_not_compiled_where_the_compiler_keeps_them() {
        let refused = |platform, vendor, set: (&str, &str)| {
            let set = |name: &str| [set, (POCL_FILES, "/dev/shm/x")].into_iter().find(|s| s.0 == name);
            let set = |name: &str| set(name).map(|(_, value)| value.to_string());
            cache_is_off(platform, vendor, set).err().map(|e| e.to_string())
        };
        let nvidia = ("NVIDIA CUDA", "NVIDIA Corporation");
        assert_eq!(refused(nvidia.0, nvidia.1, ("CUDA_CACHE_DISABLE", "1")), None);
        for set in [("CUDA_CACHE_DISABLE", "0"), ("POCL_KERNEL_CACHE", "0"), (NO_CACHE, "1")] {
            assert!(refused(nvidia.0, nvidia.1, set).unwrap().contains("CUDA_CACHE_DISABLE=1"));
        }
        let pocl = ("Portable Computing Language", "The pocl project");
        assert_eq!(refused(pocl.0, pocl.1, ("POCL_KERNEL_CACHE", "0")), None);
        // PoCL, which writes files, too.
        for set in [(POCL_FILES, ""), ("POCL_KERNEL_CACHE", "1")] {
            assert!(refused(pocl.0, pocl.1, set).unwrap().contains("POCL_CACHE_DIR to a folder in memory"));
        }
        assert_eq!(refused("Intel(R) OpenCL Graphics", "Intel(R) Corporation", ("NEO_CACHE_PERSISTENT", "0")), None);
        let amd = "AMD Accelerated Parallel Processing";
        assert_eq!(refused(amd, "Advanced Micro Devices, Inc.", ("AMD_COMGR_CACHE", "0")), None);
        assert!(refused("Another", "Somebody", ("", "")).unwrap().contains("AES_BITSLICE_OPENCL_NO_CACHE=1"));
        assert_eq!(refused("Another", "Somebody", (NO_CACHE, "1")), None);
    }
}
