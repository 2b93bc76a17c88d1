//! Any operation as a value of one type: the reference's result on data, and the engine's operation. A new operation that
//! writes needs a variant here, which adds it to the tests of every engine.

use crate::reference::Reference;
use aes_bitslice_core::mode::{Mode, State};
use aes_bitslice_runtime::{Access, Buffers, Cipher, Counter, CounterMode, Direction, Error, Operation};

/// An operation, with its starting values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnyOperation {
    /// ECB encryption.
    EcbEncrypt,
    /// ECB decryption.
    EcbDecrypt,
    /// CTR.
    Ctr {
        /// The initial counter block, all of which counts.
        block: [u8; 16],
        /// The byte of key stream at which the data begins.
        offset: u64,
    },
    /// The key stream of CTR.
    Keystream {
        /// The initial counter block, all of which counts.
        block: [u8; 16],
        /// The byte of key stream at which the output begins.
        offset: u64,
    },
    /// Encryption with feed-forward.
    Prg,
    /// CBC encryption.
    CbcEncrypt {
        /// The IV.
        iv: [u8; 16],
    },
    /// CBC decryption.
    CbcDecrypt {
        /// The IV.
        iv: [u8; 16],
    },
}

/// An expression with the engine's operation in place of an [`AnyOperation`]:
/// `with_operation!(any, operation => cipher.run(operation, data))`.
#[macro_export]
macro_rules! with_operation {
    ($any:expr, $operation:ident => $call:expr) => {
        match $any {
            $crate::operation::AnyOperation::EcbEncrypt => {
                let $operation = aes_bitslice_runtime::Ecb::encrypt();
                $call
            }
            $crate::operation::AnyOperation::EcbDecrypt => {
                let $operation = aes_bitslice_runtime::Ecb::decrypt();
                $call
            }
            $crate::operation::AnyOperation::Ctr { block, offset } => {
                let $operation = aes_bitslice_runtime::Ctr::new(&$crate::operation::counter(block), offset);
                $call
            }
            $crate::operation::AnyOperation::Keystream { block, offset } => {
                let $operation = aes_bitslice_runtime::Keystream::new(&$crate::operation::counter(block), offset);
                $call
            }
            $crate::operation::AnyOperation::Prg => {
                let $operation = aes_bitslice_runtime::Prg::new();
                $call
            }
            $crate::operation::AnyOperation::CbcEncrypt { iv } => {
                let $operation = aes_bitslice_runtime::CbcEncrypt::new(&iv);
                $call
            }
            $crate::operation::AnyOperation::CbcDecrypt { iv } => {
                let $operation = aes_bitslice_runtime::CbcDecrypt::new(&iv);
                $call
            }
        }
    };
}

/// The counter that starts at a block, all of which counts.
pub fn counter(block: [u8; 16]) -> Counter {
    Counter::new(CounterMode::Ctr128BE, block)
}

impl AnyOperation {
    /// The operation of a mode's kernels, from a counter block or an IV on, as a big-endian number, and for CTR from a byte
    /// of the key stream.
    ///
    /// # Panics
    /// For a mode whose operation is not here.
    pub fn of(mode: Mode, start: u128, offset: u64) -> Self {
        let block = start.to_be_bytes();
        match mode {
            Mode::EcbEncrypt => Self::EcbEncrypt,
            Mode::EcbDecrypt => Self::EcbDecrypt,
            Mode::Ctr => Self::Ctr { block, offset },
            Mode::CbcDecrypt => Self::CbcDecrypt { iv: block },
            Mode::Keystream => Self::Keystream { block, offset },
            Mode::Prg => Self::Prg,
            other => panic!("the operation of {other} is not tested with those of other modes"),
        }
    }

    /// Every operation, from a counter block or an IV on.
    pub fn all(start: [u8; 16], offset: u64) -> Vec<Self> {
        let with_kernels = Mode::OF_ONE_KEY.map(|mode| Self::of(mode, u128::from_be_bytes(start), offset));
        with_kernels.into_iter().chain([Self::CbcEncrypt { iv: start }]).collect()
    }

    /// The mode of its kernels; `None` if it has none.
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::EcbEncrypt => Some(Mode::EcbEncrypt),
            Self::EcbDecrypt => Some(Mode::EcbDecrypt),
            Self::Ctr { .. } => Some(Mode::Ctr),
            Self::Keystream { .. } => Some(Mode::Keystream),
            Self::Prg => Some(Mode::Prg),
            Self::CbcEncrypt { .. } => None,
            Self::CbcDecrypt { .. } => Some(Mode::CbcDecrypt),
        }
    }

    /// How it accesses its data.
    pub fn access(&self) -> Access {
        fn of<O: Operation>(_: O) -> Access {
            O::ACCESS
        }
        with_operation!(*self, operation => of(operation))
    }

    /// Whether it has an input besides its output.
    pub fn maps(&self) -> bool {
        self.access() == Access::Maps
    }

    /// Runs it on host memory.
    ///
    /// # Errors
    /// Those of [`Cipher::run`].
    pub fn run<'d>(&self, cipher: &Cipher, data: impl Into<Buffers<'d>>) -> Result<(), Error> {
        with_operation!(*self, operation => cipher.run(operation, data))
    }

    /// How many of this number of bytes it takes: all, or whole blocks.
    pub fn takes(&self, bytes: usize) -> usize {
        match self.mode().map(Mode::state) {
            Some(State::Counters) => bytes,
            _ => bytes / 16 * 16,
        }
    }

    /// The reference's result on data.
    pub fn expected(&self, reference: &Reference, input: &[u8]) -> Vec<u8> {
        match *self {
            Self::EcbEncrypt => reference.ecb(Direction::Encrypt, input),
            Self::EcbDecrypt => reference.ecb(Direction::Decrypt, input),
            Self::Ctr { block, offset } => reference.ctr(block, offset, input),
            Self::Keystream { block, offset } => reference.ctr(block, offset, &vec![0; input.len()]),
            Self::Prg => reference.prg(input),
            Self::CbcEncrypt { iv } => reference.cbc(Direction::Encrypt, iv, input),
            Self::CbcDecrypt { iv } => reference.cbc(Direction::Decrypt, iv, input),
        }
    }
}
