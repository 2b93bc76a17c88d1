//! What a launch gives a kernel. A kernel's source names its parameters; every name that may stand there is in this list.

use super::key_source::{ROUND_KEYS, UNEXPANDED_KEY};

crate::named::named_enum! {
    /// An argument of a launch.
    Argument, "argument of a kernel" {
        /// The start of the input data.
        In = "in",
        /// The start of the output data.
        Out = "out",
        /// Whole blocks of 16 bytes.
        Blocks = "blocks",
        /// Bytes of data.
        Length = "length",
        /// The position in the first block of key stream where the data begins.
        Skip = "skip",
        /// The counter of the first block, least significant word first.
        Counter = "counter",
        /// The counter of the first block where it is secret, least significant word first.
        SecretCounter = "secret_counter",
        /// CBC: the block before the first.
        Iv = "iv",
        /// CBC: the blocks before the shares of thread blocks, or of warps.
        Previous = "previous",
        /// Bytes from one to the next: of those in CBC; of tiles of messages, or of jobs, that are alike otherwise, of which the table has the
        /// first alone. 0 where it has all.
        Stride = "stride",
        /// XTS: bytes after the last whole block.
        Ragged = "ragged",
        /// XTS: bytes of a data unit.
        UnitBytes = "unit_bytes",
        /// XTS: blocks of the first data unit before the data.
        Before = "before",
        /// XTS: the number of the first data unit.
        FirstUnit = "first_unit",
        /// The words of the key, which travel with the launch.
        Keys = "keys",
        /// XTS: those of the tweak key.
        TweakKeys = "tweak_keys",
        /// The key in device memory.
        KeyPlanes = "key_planes",
        /// Rounds of the key in device memory.
        Rounds = "rounds",
        /// The description of messages.
        Messages = "messages",
        /// The message of the first run of each tile.
        FirstMessages = "first_messages",
        /// How many entries the kernel's table in memory has: one for a run, a message or a key.
        All = "all",
        /// The encrypted first counter block of each message.
        Masks = "masks",
        /// CMAC: K1 and K2.
        Subkeys = "subkeys",
        /// The tag of each message.
        Tags = "tags",
        /// Keys, unexpanded.
        CipherKeys = "cipher_keys",
        /// Words of each of these keys.
        KeyWords = "key_words",
        /// The round keys of each key.
        RoundKeys = "round_keys",
        /// Blocks for each key.
        Each = "each",
        /// Whether the cipher takes counters instead of data.
        Counts = "counts",
        /// Whether the cipher's output is added to the data.
        Adds = "adds",
        /// The description of jobs.
        Jobs = "jobs",
        /// The job of each run.
        Runs = "runs",
        /// The first counter block of each job.
        Counters = "counters",
        /// The length of runs of jobs; how many groups of threads share a message.
        Wide = "wide",
        /// The tables of a hash key.
        Tables = "tables",
        /// The hash key of each message.
        HashKeys = "hash_keys",
        /// The number of thread blocks that the tables are for.
        Units = "units",
        /// The factor of a hash.
        Factor = "factor",
        /// What is added to a hash after that.
        Addend = "addend",
        /// A hash.
        Hash = "hash",
        /// Where thread blocks add up a hash.
        Sums = "sums",
        /// How many thread blocks have done so.
        Arrived = "arrived",
        /// The bits of a hash that count.
        Mask = "mask",
        /// The order in which messages are hashed.
        Order = "order",
        /// The additional data of all messages.
        Aad = "aad",
        /// The tags that messages should have.
        Expected = "expected",
        /// Whether each message was cleared.
        Verdicts = "verdicts",
        /// The first byte of each message, as an array ([`described`](super::described)).
        Starts = "starts",
        /// The byte after the last of each message, or its length, as an array.
        Ends = "ends",
        /// The nonce of each message, as an array.
        Nonces = "nonces",
        /// The first byte of the additional data of each message, as an array.
        AadStarts = "aad_starts",
        /// The byte after its last, or its length, as an array.
        AadEnds = "aad_ends",
        /// Bytes of the additional data of all messages.
        AadLength = "aad_length",
        /// The number of tag bytes that count, of each message.
        TagBytes = "tag_bytes",
        /// What is counted of messages while they are described.
        Tally = "tally",
        /// What is wrong with the description of messages.
        Fault = "fault",
    }
}

/// The kind of an argument's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "manifest", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Kind {
    /// The start of the input data.
    Input,
    /// The start of the output data.
    Output,
    /// The address of a byte in device memory.
    Pointer,
    /// The start of a buffer in device memory.
    Buffer,
    /// A 32-bit number.
    U32,
    /// A 64-bit number.
    U64,
    /// This number of 32-bit words, passed by value with the launch.
    Words(usize),
}

impl Kind {
    /// Bytes of the argument in CUDA C.
    pub fn cuda_bytes(self) -> usize {
        match self {
            Self::Input | Self::Output | Self::Pointer | Self::Buffer | Self::U64 => 8,
            Self::U32 => 4,
            Self::Words(words) => 4 * words,
        }
    }

    /// The number of arguments for it in OpenCL C: a buffer and the start of the data are two.
    pub fn opencl_arguments(self) -> usize {
        match self {
            Self::Input | Self::Output | Self::Pointer => 2,
            Self::Buffer | Self::U32 | Self::U64 | Self::Words(_) => 1,
        }
    }
}

impl Argument {
    /// The kinds that its value may have: one, except that numbers of blocks come in two sizes and keys in two forms.
    pub const fn kinds(self) -> &'static [Kind] {
        match self {
            Self::In => &[Kind::Input],
            Self::Out => &[Kind::Output],
            Self::Previous => &[Kind::Pointer],
            Self::Blocks => &[Kind::U64, Kind::U32],
            Self::Length | Self::Stride | Self::AadLength => &[Kind::U64],
            Self::Skip | Self::Ragged | Self::UnitBytes | Self::Before | Self::Rounds => &[Kind::U32],
            Self::All | Self::KeyWords | Self::Each | Self::Counts | Self::Adds | Self::Wide => &[Kind::U32],
            Self::Units | Self::TagBytes => &[Kind::U32],
            Self::Counter | Self::SecretCounter | Self::Iv | Self::FirstUnit => &[Kind::Words(4)],
            Self::Factor | Self::Addend | Self::Mask => &[Kind::Words(4)],
            Self::Starts | Self::Ends | Self::Nonces | Self::AadStarts | Self::AadEnds => &[Kind::Words(4)],
            Self::Keys => &[Kind::Words(ROUND_KEYS), Kind::Words(UNEXPANDED_KEY)],
            Self::TweakKeys => &[Kind::Words(ROUND_KEYS)],
            Self::KeyPlanes | Self::Messages | Self::FirstMessages | Self::Masks | Self::Subkeys => &[Kind::Buffer],
            Self::Tags | Self::CipherKeys | Self::RoundKeys | Self::Jobs | Self::Runs | Self::Tables => &[Kind::Buffer],
            Self::Counters | Self::Sums | Self::Arrived | Self::Tally | Self::Fault => &[Kind::Buffer],
            Self::Hash | Self::HashKeys | Self::Order | Self::Aad | Self::Expected | Self::Verdicts => &[Kind::Buffer],
        }
    }
}
