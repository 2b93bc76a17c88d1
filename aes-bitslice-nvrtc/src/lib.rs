//! CUDA C to PTX and cubins through NVRTC, the CUDA run-time compiler, found on the library path when called.
//!
//! Nothing is written to disk and nothing is cached: a source may hold a key, and so may its compiled form.

use cudarc::nvrtc::{result, sys};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use zeroize::Zeroizing;

/// The target to compile for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    /// PTX for a virtual architecture and all later ones: 75 for `compute_75`.
    Ptx(u32),
    /// PTX with instructions that only this architecture has: 90 for `compute_90a`.
    SpecificPtx(u32),
    /// Machine code for one architecture: 90 for `sm_90`.
    Cubin(u32),
    /// Machine code with instructions that only this architecture has: 90 for `sm_90a`.
    SpecificCubin(u32),
}

impl Target {
    /// The compiler's name for it.
    pub fn name(self) -> String {
        match self {
            Self::Ptx(arch) => format!("compute_{arch}"),
            Self::SpecificPtx(arch) => format!("compute_{arch}a"),
            Self::Cubin(arch) => format!("sm_{arch}"),
            Self::SpecificCubin(arch) => format!("sm_{arch}a"),
        }
    }
}

/// The result of compiling a source.
pub struct Compiled {
    /// PTX text, or a cubin.
    pub image: Vec<u8>,
    /// The compiler's log.
    pub log: String,
    /// The resource usage of each entry point; known for cubins only.
    pub entries: Vec<EntryReport>,
}

/// The resources of a multiprocessor that an entry point uses, as reported by the assembler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryReport {
    /// The entry point.
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread, for spills and indexed arrays.
    pub stack_bytes: u32,
    /// Bytes stored for lack of registers.
    pub spill_store_bytes: u32,
    /// Bytes loaded for lack of registers.
    pub spill_load_bytes: u32,
}

/// The reason why compilation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library is not on this machine.
    #[error("NVRTC, the CUDA run-time compiler, was not found: install it and put libnvrtc.so on the library path")]
    NotFound,
    /// The source does not compile.
    #[error("{name} does not compile:\n{log}")]
    Rejected {
        /// The source's name.
        name: String,
        /// The compiler's log.
        log: String,
    },
    /// A library call failed.
    #[error("NVRTC: {call} failed: {code}")]
    Call {
        /// The function.
        call: &'static str,
        /// Its result.
        code: String,
    },
    /// The source or its name holds a NUL byte.
    #[error("the source holds a NUL byte")]
    Nul(#[from] std::ffi::NulError),
}

/// The version of the library, if it is present.
pub fn version() -> Result<(u32, u32), Error> {
    require()?;
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: the library is present, and both pointers are to live integers.
    let code = unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
    check("nvrtcVersion", code)?;
    Ok((major as u32, minor as u32))
}

/// Compiles a source; `name` serves as the file name in messages.
pub fn compile(name: &str, source: &str, target: Target) -> Result<Compiled, Error> {
    require()?;
    let (source, name_c) = (Zeroizing::new(CString::new(source)?), CString::new(name)?);
    let program =
        Program(result::create_program(&source, Some(&name_c)).map_err(|e| failed("nvrtcCreateProgram", e.0))?);
    let mut options = vec![format!("--gpu-architecture={}", target.name())];
    if !matches!(target, Target::Ptx(_) | Target::SpecificPtx(_)) {
        options.push("--ptxas-options=-v".into());
    }
    // SAFETY: the program was created above and is destroyed only when dropped.
    let outcome = unsafe { result::compile_program(program.0, &options) };
    let log = program.log()?;
    match outcome {
        Ok(()) => {}
        Err(e) if e.0 == sys::nvrtcResult::NVRTC_ERROR_COMPILATION => {
            return Err(Error::Rejected { name: name.into(), log });
        }
        Err(e) => return Err(failed("nvrtcCompileProgram", e.0)),
    }
    let (image, entries) = match target {
        Target::Ptx(_) | Target::SpecificPtx(_) => {
            let mut ptx = program.fetch("nvrtcGetPTX", sys::nvrtcGetPTXSize, sys::nvrtcGetPTX)?;
            ptx.pop_if(|last| *last == 0);
            (ptx, Vec::new())
        }
        Target::Cubin(_) | Target::SpecificCubin(_) => {
            (program.fetch("nvrtcGetCUBIN", sys::nvrtcGetCUBINSize, sys::nvrtcGetCUBIN)?, entry_reports(&log))
        }
    };
    Ok(Compiled { image, log, entries })
}

fn require() -> Result<(), Error> {
    // SAFETY: only checks whether the library opens. Called before any other function: those panic without it.
    if unsafe { sys::is_culib_present() } { Ok(()) } else { Err(Error::NotFound) }
}

fn failed(call: &'static str, code: sys::nvrtcResult) -> Error {
    Error::Call { call, code: format!("{code:?}") }
}

fn check(call: &'static str, code: sys::nvrtcResult) -> Result<(), Error> {
    if code == sys::nvrtcResult::NVRTC_SUCCESS { Ok(()) } else { Err(failed(call, code)) }
}

/// A program of the library, destroyed on drop.
struct Program(sys::nvrtcProgram);

impl Program {
    /// Fetches an item whose size the library reports first.
    fn fetch(
        &self,
        call: &'static str,
        size: unsafe fn(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult,
        get: unsafe fn(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult,
    ) -> Result<Vec<u8>, Error> {
        let mut bytes = 0;
        // SAFETY: the program is alive, the pointer is to a live integer.
        check(call, unsafe { size(self.0, ptr::from_mut(&mut bytes)) })?;
        let mut buffer = vec![0u8; bytes];
        // SAFETY: the buffer has the size that the library asked for.
        check(call, unsafe { get(self.0, buffer.as_mut_ptr().cast()) })?;
        Ok(buffer)
    }

    fn log(&self) -> Result<String, Error> {
        let bytes = self.fetch("nvrtcGetProgramLog", sys::nvrtcGetProgramLogSize, sys::nvrtcGetProgramLog)?;
        Ok(CStr::from_bytes_until_nul(&bytes).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created by `create_program`, not used after this. Nothing can be done about a failure here.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// Reads the assembler's report, which has this form for each entry point:
///
/// ```text
/// ptxas info    : Compiling entry function 'NAME' for 'sm_90'
///     8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
/// ptxas info    : Used 168 registers, ...
/// ```
fn entry_reports(log: &str) -> Vec<EntryReport> {
    let number_before = |line: &str, words: &str| -> Option<u32> {
        line[..line.find(words)?].split_whitespace().next_back()?.parse().ok()
    };
    let mut entries: Vec<EntryReport> = Vec::new();
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default().to_string();
            let (registers, stack_bytes, spill_store_bytes, spill_load_bytes) = (0, 0, 0, 0);
            entries.push(EntryReport { name, registers, stack_bytes, spill_store_bytes, spill_load_bytes });
        }
        let Some(entry) = entries.last_mut() else { continue };
        if let Some(n) = number_before(line, " bytes stack frame") {
            entry.stack_bytes = n;
        }
        if let Some(n) = number_before(line, " bytes spill stores") {
            entry.spill_store_bytes = n;
        }
        if let Some(n) = number_before(line, " bytes spill loads") {
            entry.spill_load_bytes = n;
        }
        if let Some(n) = number_before(line, " registers") {
            entry.registers = n;
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_assemblers_report_is_read() {
        let log = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'aes' for 'sm_90'\n\
            ptxas info    : Function properties for aes\n    \
            8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n\
            ptxas info    : Used 168 registers, used 0 barriers\n";
        let expected = EntryReport {
            name: "aes".into(),
            registers: 168,
            stack_bytes: 8,
            spill_store_bytes: 12,
            spill_load_bytes: 16,
        };
        assert_eq!(entry_reports(log), [expected]);
    }

    #[test]
    fn compiles_where_the_library_is_there_and_says_so_where_not() {
        let source = "extern \"C\" __global__ void one(int *x) { *x = 1; }";
        match compile("one.cu", source, Target::Cubin(90)) {
            // Bypasses the capture of the output of passing tests.
            Err(Error::NotFound) => {
                let _ = writeln!(std::io::stderr(), "\nNVRTC is not on this machine: only its absence was tested");
            }
            other => {
                let compiled = other.unwrap();
                assert_eq!(compiled.entries[0].name, "one");
                assert!(compiled.image.starts_with(b"\x7fELF"));
                let specific = compile("one.cu", source, Target::SpecificCubin(90)).unwrap();
                assert_eq!(specific.entries[0].name, "one");
                let ptx = compile("one.cu", source, Target::Ptx(75)).unwrap();
                assert!(String::from_utf8(ptx.image).unwrap().contains(".entry one"));
                assert!(matches!(compile("bad.cu", "int", Target::Ptx(75)), Err(Error::Rejected { .. })));
            }
        }
    }
}
