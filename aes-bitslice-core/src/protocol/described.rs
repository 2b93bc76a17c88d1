//! Batches of GCM messages that arrays in device memory describe: the arrays as kernels take them, what kernels count, and what they find
//! wrong. All of it is public.
//!
//! | memory | words | what |
//! |---|---|---|
//! | tally | [`TALLY_WORDS`], zeros at first | messages of each length, the places given to them, and the first fault |
//! | fault | 2 | the code of the first [`Fault`] and the number of its message; zeros if there is none |

/// The number of lengths that are told apart.
const LENGTHS: usize = 1024;
/// Words of the memory in which kernels count.
pub const TALLY_WORDS: usize = 2 * LENGTHS + 2;
/// What the order has in the place of each message, if one is wrong.
pub const NO_MESSAGE: u32 = u32::MAX;
/// The bytes from one number of an [`Array`] to the next are fewer than this.
pub const STEPS: u64 = 1 << 56;

/// The type of integers in memory, which are in the machine's byte order. As positions or lengths, negative ones are wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they are named after their types")]
pub enum IntegerType {
    U32 = 1,
    I32,
    U64,
    I64,
}

impl IntegerType {
    /// Bytes of an integer.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U32 | Self::I32 => 4,
            Self::U64 | Self::I64 => 8,
        }
    }
}

/// Numbers, one for each message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Array {
    /// What is in memory; if nothing is, each number differs from the one before by the step.
    pub integers: Option<IntegerType>,
    /// The address of the first, or, of numbers that are not in memory, the first.
    pub first: u64,
    /// The bytes from one to the next, or the difference; fewer than [`STEPS`].
    pub step: u64,
    /// Whether they are lengths, where they could also be ends.
    pub are_lengths: bool,
}

impl Array {
    /// Numbers that begin with this one, at equal steps.
    pub fn spaced(first: u64, step: u64) -> Self {
        Self { integers: None, first, step, are_lengths: false }
    }

    /// As a kernel takes it.
    pub fn words(&self) -> [u32; 4] {
        let integers = self.integers.map_or(0, |integers| integers as u32);
        words_of(self.first, self.step, integers | u32::from(self.are_lengths) << 3)
    }
}

/// The nonces of messages in memory, 12 bytes each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NonceArray {
    /// One for each message, at this address, contiguous.
    Each(u64),
    /// The first one at this address. Its last bits, as many words of 32 as this, are a big-endian number, to which the number of the message
    /// is added.
    Counted(u64, u32),
}

impl NonceArray {
    /// As a kernel takes it.
    pub fn words(&self) -> [u32; 4] {
        match *self {
            Self::Each(first) => words_of(first, 12, 0),
            Self::Counted(first, words) => words_of(first, 0, words),
        }
    }
}

fn words_of(first: u64, step: u64, form: u32) -> [u32; 4] {
    debug_assert!(step < STEPS, "{step}");
    [first as u32, (first >> 32) as u32, step as u32, (step >> 32) as u32 | form << 24]
}

/// What is wrong with the range of a message or of its additional data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongRange {
    /// A number is negative, or the end is beyond 2^64 - 1.
    NoPosition,
    /// It ends before it begins.
    EndsFirst,
    /// It is longer than a message, or its additional data, can be.
    TooLong,
    /// It begins before the end of the message before.
    Overlaps,
    /// It ends after the last byte that there is.
    Beyond,
}

/// What is wrong with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Its range.
    Range(WrongRange),
    /// The range of its additional data.
    Aad(WrongRange),
    /// Its nonce: those that count up have started again.
    Nonce,
}

impl Fault {
    /// The first fault that kernels found, and the number of its message; `None` if there is none.
    ///
    /// # Errors
    /// The words themselves, if they are nothing that a kernel writes.
    pub fn read([code, message]: [u32; 2]) -> Result<Option<(Self, u32)>, [u32; 2]> {
        use WrongRange::*;
        const RANGES: [WrongRange; 5] = [NoPosition, EndsFirst, TooLong, Overlaps, Beyond];
        let fault = match code {
            0 => return Ok(None),
            1..=5 => Self::Range(RANGES[code as usize - 1]),
            9..=13 => Self::Aad(RANGES[code as usize - 9]),
            16 => Self::Nonce,
            _ => return Err([code, message]),
        };
        Ok(Some((fault, message)))
    }
}
