//! The code that the driver loads as a kernel: stored, or compiled here.

use crate::backend::cuda::driver::unavailable;
use crate::backend::cuda::kernel::parameters;
use crate::base::error::Error;
use aes_bitslice_nvrtc as nvrtc;
use std::ffi::c_void;
use zeroize::Zeroizing;

/// The code that the driver loads: machine code, or PTX that it compiles. Wiped, because a key may be baked in.
pub(crate) struct Image {
    bytes: Zeroizing<Vec<u8>>,
    /// The architecture that machine code is for; `None` for PTX, which was generated for the oldest.
    architecture: Option<u32>,
}

impl Image {
    /// The stored form of a kernel that fits an architecture (`sm_90`: 90): machine code where stored for it, else PTX.
    pub(crate) fn of_stored(architecture: u32, kernel: &aes_bitslice_kernels::Kernel) -> Result<Self, Error> {
        Self::of(architecture, kernel.name, kernel.cubins, kernel.ptx)
    }

    /// The machine code that fits an architecture, else PTX; either may be missing.
    pub(crate) fn of(architecture: u32, name: &str, cubins: &[(&str, &[u8])], ptx: &str) -> Result<Self, Error> {
        // Machine code runs on its own architecture and on later ones of the same generation; code with an `a`, only on
        // its own.
        let fits = |of: &str| match of.strip_prefix("sm_").map(|sm| (sm.strip_suffix('a'), sm)) {
            Some((Some(sm), _)) => sm.parse() == Ok(architecture),
            Some((None, sm)) => sm.parse().is_ok_and(|sm: u32| sm / 10 == architecture / 10 && sm <= architecture),
            None => false,
        };
        let number = |of: &str| of.strip_prefix("sm_").and_then(|sm| sm.trim_end_matches('a').parse().ok());
        let cubin = cubins.iter().find(|(of, code)| fits(of) && !code.is_empty());
        match cubin {
            Some((of, code)) => Ok(Self { bytes: Zeroizing::new(code.to_vec()), architecture: number(of) }),
            None if ptx.is_empty() => {
                let what = format!("kernel {name} was generated but not compiled before this program was built");
                Err(unavailable(what, "run `cargo xtask ptx` and build again"))
            }
            None => Ok(Self { bytes: Zeroizing::new([ptx.as_bytes(), b"\0"].concat()), architecture: None }),
        }
    }

    /// Compiles a source, which may be secret: a key may be baked in. It compiles to machine code: PTX would end up, key and all, in the
    /// driver's cache on disk.
    pub(crate) fn compile(architecture: u32, name: &str, source: &str, is_secret: bool) -> Result<Self, Error> {
        let compiled = nvrtc::compile(name, source, nvrtc::Target::Cubin(architecture));
        let compiled = compiled.map_err(|error| not_compiled(name, error, is_secret))?;
        Ok(Self { bytes: Zeroizing::new(compiled.image), architecture: Some(architecture) })
    }

    /// The size of each parameter of an entry point in bytes, in order; `None` if the code has no such entry point.
    pub(crate) fn parameter_sizes(&self, entry: &str) -> Option<Vec<usize>> {
        parameters::sizes(&self.bytes, entry)
    }

    /// Whether code that may overlap earlier work on its stream waits for that work itself: true if it was compiled for
    /// an architecture that has the instruction.
    pub(crate) fn waits_itself(&self) -> bool {
        self.architecture.is_some_and(|architecture| architecture >= 90)
    }

    /// Its start: a cubin, or PTX that ends with a NUL.
    pub(crate) fn as_ptr(&self) -> *const c_void {
        self.bytes.as_ptr().cast()
    }
}

/// Why a source has no machine code.
fn not_compiled(name: &str, error: nvrtc::Error, is_secret: bool) -> Error {
    match error {
        nvrtc::Error::NotFound => Error::NvrtcUnavailable {
            what: "libnvrtc.so was not found".into(),
            help: "install the CUDA toolkit or the package nvidia-cuda-nvrtc, and put it on the library path; \
                   or use keys given at run time, which need no compiler"
                .into(),
        },
        nvrtc::Error::Rejected { .. } if is_secret => Error::CompileFailed {
            kernel: name.into(),
            log: "(the compiler's log is withheld: it may quote the source, which is the key)".into(),
        },
        error => Error::CompileFailed { kernel: name.into(), log: error.to_string() },
    }
}
