//! What can be measured: a place in a paper's table, and the work that fills it.

use crate::measured::Kind;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::kernel::Design;
use aes_bitslice_papers::kernels::{Bytewise, Staged, TableSpec};
use aes_bitslice_runtime::{Backend, Kernels};

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
    /// Copies from pinned memory, the kernel, and copies back, by the host's clock: each chunk on a stream of its own.
    Copied {
        /// The kernel.
        kernel: Kernel,
        /// Into how many chunks the data is cut.
        chunks: usize,
    },
    /// The allocation of pinned memory, by the host's clock.
    Allocation,
    /// A kernel on several GPUs at once, each with its share of the data in its own memory, by the host's clock.
    Sharded {
        /// The kernel.
        kernel: Kernel,
        /// How many GPUs.
        gpus: usize,
        /// How large the shares are.
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
            | Self::Sharded { kernel, .. }
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
    Engine(Kernels),
    /// A kernel of the generator's, printed and compiled here.
    Design(Design),
    /// A kernel with T-boxes, likewise.
    Table(TableSpec),
    /// A kernel that computes byte by byte, likewise.
    Bytewise(Bytewise),
    /// A bitsliced kernel that goes through shared memory, likewise.
    Staged(Staged),
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
    pub fn engine(kernels: Kernels, mode: Mode) -> Self {
        Self::new(mode, Code::Engine(kernels))
    }

    /// A kernel of the generator's.
    pub fn design(design: impl Into<Design>) -> Self {
        let design = design.into();
        Self::new(design.mode(), Code::Design(design))
    }

    /// A kernel with T-boxes.
    pub fn table(spec: TableSpec) -> Self {
        Self::new(spec.mode(), Code::Table(spec))
    }

    /// A kernel that computes byte by byte.
    pub fn bytewise(spec: Bytewise) -> Self {
        Self::new(spec.mode(), Code::Bytewise(spec))
    }

    /// A bitsliced kernel that goes through shared memory.
    pub fn staged(spec: Staged) -> Self {
        Self::new(spec.mode(), Code::Staged(spec))
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
            Code::Engine(kernels) => format!("{}, {kernels}", self.mode),
            Code::Design(design) => design.name(),
            Code::Table(spec) => spec.name(),
            Code::Bytewise(spec) => spec.name(),
            Code::Staged(spec) => spec.name(),
            Code::OneHotMux => format!("{}, one-hot-mux", self.mode),
        };
        format!("{code}, {} bits", self.key_bits.bits())
    }
}
