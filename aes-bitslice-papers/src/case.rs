//! What can be measured: a place in a paper's table, and the work that fills it.

use crate::measured::Kind;
use aes_bitslice_gen::kernel::{Design, Mode};
use aes_bitslice_runtime::{Backend, Kernels, KeyBits};

/// A place in a table and its work.
pub struct Case {
    /// The table.
    pub table: &'static str,
    /// Its row, or column.
    pub name: String,
    /// The size that the table names.
    pub bytes: u64,
    /// What to time.
    pub work: Work,
}

/// What is timed.
pub enum Work {
    /// A kernel by the GPU's events, from one buffer in its memory to another.
    Kernel(Kernel),
    /// Copies from pinned memory, the kernel, and copies back, by the host's clock: each piece on a stream of its own.
    Copied {
        /// The kernel.
        kernel: Kernel,
        /// Into how many pieces the data is cut.
        pieces: usize,
    },
    /// The allocation of pinned memory, by the host's clock.
    Allocation,
    /// A kernel on several GPUs at once, each with a share in its own memory, by the host's clock.
    Spread {
        /// The kernel.
        kernel: Kernel,
        /// How many GPUs.
        gpus: usize,
        /// How the data is shared.
        shares: Shares,
    },
    /// A kernel on the first OpenCL device of a kind, by the device's clock, from one buffer in its memory to another.
    OpenCl {
        /// The kernel.
        kernel: Kernel,
        /// What kind of device.
        on: Kind,
    },
    /// An engine on the processor, without OpenCL, by the host's clock, from one buffer to another.
    Host {
        /// The engine.
        backend: Backend,
        /// What it computes.
        mode: Mode,
        /// The key's length.
        key_bits: KeyBits,
    },
}

impl Work {
    /// What it makes of the data, with a key of which length; nothing where there is no data.
    pub fn computes(&self) -> Option<(Mode, KeyBits)> {
        match self {
            Self::Kernel(kernel)
            | Self::Copied { kernel, .. }
            | Self::Spread { kernel, .. }
            | Self::OpenCl { kernel, .. } => Some((kernel.mode, kernel.key_bits)),
            Self::Host { mode, key_bits, .. } => Some((*mode, *key_bits)),
            Self::Allocation => None,
        }
    }
}

/// How much of the data each GPU gets (Hajihassani et al. 2019, section 6.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shares {
    /// All alike.
    Equal,
    /// By multiprocessors times clock.
    Rated,
    /// By what each did alone.
    Measured,
}

impl Shares {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Equal, Self::Rated, Self::Measured];

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Rated => "rated",
            Self::Measured => "measured",
        }
    }
}

/// A kernel to open.
#[derive(Clone)]
pub struct Kernel {
    /// What it computes.
    pub mode: Mode,
    /// The key's length.
    pub key_bits: KeyBits,
    /// Where its code is from.
    pub code: Code,
}

/// Where a kernel's code is from.
#[derive(Clone)]
pub enum Code {
    /// What the engine runs with this choice.
    Ours(Kernels),
    /// Printed and compiled for the occasion.
    Design(Design),
    /// Printed with the key in it, by one-hot multiplexers and Canright's S-box, a thread holding the state (Hajihassani et
    /// al. 2019, section 4.6).
    OneHotMux,
}

impl Kernel {
    /// With a key of 128 bits.
    fn new(mode: Mode, code: Code) -> Self {
        Self { mode, key_bits: KeyBits::Aes128, code }
    }

    /// What the engine runs with this choice.
    pub fn ours(kernels: Kernels, mode: Mode) -> Self {
        Self::new(mode, Code::Ours(kernels))
    }

    /// A kernel to print and compile.
    pub fn design(design: impl Into<Design>) -> Self {
        let design = design.into();
        Self::new(design.mode(), Code::Design(design))
    }

    /// The bitsliced kernel with the key in it.
    pub fn one_hot_mux(mode: Mode) -> Self {
        Self::new(mode, Code::OneHotMux)
    }

    /// The same with a key of another length.
    pub fn with_key_bits(self, key_bits: KeyBits) -> Self {
        Self { key_bits, ..self }
    }

    /// A name that no other kernel has.
    pub fn name(&self) -> String {
        let code = match &self.code {
            Code::Ours(kernels) => format!("{}, {kernels}", self.mode),
            Code::Design(design) => design.name(),
            Code::OneHotMux => format!("{}, one-hot-mux", self.mode),
        };
        format!("{code}, {} bits", self.key_bits.bits())
    }
}
