//! A case to measure: a place in a paper's table, and the work that fills it.

use crate::measured::Kind;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::kernel::Design;
use aes_bitslice_papers::kernels::{
    AddKeyStream, Bitsliced, Bytewise, Lfsr, OnPlanes, Packed, Representation, TableSpec, Without, WordMajor,
};
use aes_bitslice_runtime::{Backend, Kernels};

/// A place in a table and its work.
pub struct Case {
    /// The table.
    pub table: &'static str,
    /// Its row, or column.
    pub name: String,
    /// The size that the table names.
    pub bytes: u64,
    /// The work to time.
    pub work: Work,
}

/// The work that is timed.
pub enum Work {
    /// A kernel, by the GPU's events, from one buffer in its memory to another.
    Kernel(Kernel),
    /// Copies from host memory, the kernel, and copies back, by the host's clock: each chunk on its own stream.
    Copied {
        /// The kernel.
        kernel: Kernel,
        /// The number of chunks that the data is cut into.
        chunks: usize,
        /// The kind of host memory.
        memory: HostMemory,
    },
    /// The copies of [`Copied`](Self::Copied) without the kernel, from and to pinned memory.
    CopiesAlone {
        /// The number of chunks that the data is cut into.
        chunks: usize,
    },
    /// The allocation of pinned memory by the driver, by the host's clock; nothing is written to it.
    Allocation,
    /// A kernel that is not one of the runtime's ciphers, by the GPU's events.
    Program(Program),
    /// A computation on the processor, by the host's clock.
    Processor(Processor),
    /// A kernel on several GPUs at once, each with its share of the data in its own memory, by the host's clock.
    Sharded {
        /// The kernel.
        kernel: Kernel,
        /// The number of GPUs.
        gpus: usize,
        /// The sizes of the shares.
        shares: Shares,
        /// Where the data is before and after.
        data: ShardedData,
        /// Whether the last GPU does its share twice, which takes as long as on a GPU of half the rate.
        slowed: bool,
    },
    /// A kernel on the first OpenCL device of a kind, by the device's clock, from one buffer in its memory to another.
    OpenCl {
        /// The kernel.
        kernel: Kernel,
        /// The kind of device.
        on: Kind,
    },
    /// An engine on the processor, without OpenCL, by the host's clock, from one buffer to another.
    Host {
        /// The engine.
        backend: Backend,
        /// The mode that it computes.
        mode: Mode,
        /// The key's length.
        key_bits: KeyBits,
    },
}

impl Work {
    /// The mode that it applies to the data and the key's length; `None` where there is no data.
    pub fn computes(&self) -> Option<(Mode, KeyBits)> {
        match self {
            Self::Kernel(kernel)
            | Self::Copied { kernel, .. }
            | Self::Sharded { kernel, .. }
            | Self::OpenCl { kernel, .. } => Some((kernel.mode, kernel.key_bits)),
            Self::Host { mode, key_bits, .. } => Some((*mode, *key_bits)),
            Self::Program(Program::WordMajor(kernel)) => Some((kernel.mode(), KeyBits::Aes128)),
            Self::Program(Program::OnPlanes(_)) => Some((OnPlanes::MODE, KeyBits::Aes128)),
            Self::Program(Program::AddKeyStream(_)) => Some((Mode::Keystream, KeyBits::Aes128)),
            Self::Processor(Processor::Tables) => Some((Mode::EcbEncrypt, KeyBits::Aes128)),
            Self::CopiesAlone { .. } | Self::Allocation | Self::Program(_) | Self::Processor(_) => None,
        }
    }
}

/// Host memory that data is copied from and to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostMemory {
    /// Ordinary memory of a program.
    Pageable,
    /// Memory that the driver keeps in place.
    Pinned,
}

/// Where sharded data is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShardedData {
    /// In the memory of the GPUs.
    Resident,
    /// In pinned host memory, from which it is distributed and where it is collected.
    Copied,
}

/// A kernel that is not one of the runtime's ciphers.
#[derive(Clone, Copy, Debug)]
pub enum Program {
    /// The change of representation alone.
    Representation(Representation),
    /// Shift registers; the number of bytes is their output.
    Lfsr(Lfsr),
    /// Blocks in the order of their words, with a key of 128 bits.
    WordMajor(WordMajor),
    /// Planes to planes, with a key of 128 bits.
    OnPlanes(OnPlanes),
    /// The kernel of Hajihassani et al. 2019 without a layer, with a key of 128 bits.
    Without(Without),
    /// The sum of data and a key stream, with a key of 128 bits.
    AddKeyStream(AddKeyStream),
}

/// A computation on the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Processor {
    /// AES-128-ECB by four T-boxes, on one core.
    Tables,
    /// The change of representation, on all cores.
    Representation,
    /// Blocks into the order of their words, on all cores.
    WordMajor,
}

/// How much of the data each GPU gets (Hajihassani et al. 2019, section 6.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shares {
    /// All alike.
    Equal,
    /// By multiprocessors times clock.
    Rated,
    /// By the measured rate of each alone.
    Measured,
}

impl Shares {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Equal, Self::Rated, Self::Measured];

    /// A one-word name.
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
    /// The mode that it computes.
    pub mode: Mode,
    /// The key's length.
    pub key_bits: KeyBits,
    /// Where its code is from.
    pub code: Code,
}

/// Where a kernel's code is from.
#[derive(Clone)]
pub enum Code {
    /// The kernel that the engine runs with this choice.
    Engine(Kernels),
    /// A kernel from the generator, printed and compiled here.
    Design(Design),
    /// A kernel with T-boxes, printed and compiled here.
    Table(TableSpec),
    /// A kernel that computes byte by byte, printed and compiled here.
    Bytewise(Bytewise),
    /// A bitsliced kernel between the paper's and this project's, printed and compiled here.
    Bitsliced(Bitsliced),
    /// A bitsliced kernel with a few blocks in eight words, printed and compiled here.
    Packed(Packed),
}

impl Kernel {
    /// With a key of 128 bits.
    fn new(mode: Mode, code: Code) -> Self {
        Self { mode, key_bits: KeyBits::Aes128, code }
    }

    /// The kernel that the engine runs with this choice.
    pub fn engine(kernels: Kernels, mode: Mode) -> Self {
        Self::new(mode, Code::Engine(kernels))
    }

    /// A kernel from the generator.
    pub fn design(design: impl Into<Design>) -> Self {
        let design = design.into();
        Self::new(design.mode(), Code::Design(design))
    }

    /// A kernel with T-boxes.
    pub fn table(spec: TableSpec) -> Self {
        Self::new(spec.mode, Code::Table(spec))
    }

    /// A kernel that computes byte by byte.
    pub fn bytewise(spec: Bytewise) -> Self {
        Self::new(spec.mode, Code::Bytewise(spec))
    }

    /// A bitsliced kernel between the paper's and this project's.
    pub fn bitsliced(spec: Bitsliced) -> Self {
        Self::new(spec.mode, Code::Bitsliced(spec))
    }

    /// A bitsliced kernel with a few blocks in eight words.
    pub fn packed(spec: Packed) -> Self {
        Self::new(Packed::MODE, Code::Packed(spec))
    }

    /// This kernel with a key of another length.
    pub fn with_key_bits(self, key_bits: KeyBits) -> Self {
        Self { key_bits, ..self }
    }

    /// A name unique to this kernel.
    pub fn name(&self) -> String {
        let code = match &self.code {
            Code::Engine(kernels) => format!("{}, {kernels}", self.mode),
            Code::Design(design) => design.name(),
            Code::Table(spec) => spec.name(),
            Code::Bytewise(spec) => spec.name(),
            Code::Bitsliced(spec) => spec.name(),
            Code::Packed(spec) => spec.name(),
        };
        format!("{code}, {} bits", self.key_bits.bits())
    }
}
