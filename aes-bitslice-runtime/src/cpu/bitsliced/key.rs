//! A key as planes.

use crate::base::counter::CounterBlock;
use crate::base::error::Error;
use crate::cpu::bitsliced::batch::Functions;
use crate::cpu::bitsliced::isa::Isa;
use crate::cpu::block::Block;
use aes_bitslice_core::aes::{Direction, KeySchedule};
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::layout;
use cipher::inout::InOutBuf;
use zeroize::Zeroizing;

/// A key of any length as planes, and the functions that use it.
#[derive(Clone)]
pub(crate) struct Bitsliced {
    pub(super) functions: &'static Functions,
    /// Round keys in the order of use, one word of 0 or `!0` per key bit.
    encrypt: Zeroizing<Vec<[u32; 128]>>,
    decrypt: Zeroizing<Vec<[u32; 128]>>,
}

impl Bitsliced {
    /// # Errors
    /// [`Error::IsaUnavailable`] if the processor lacks the instructions.
    ///
    /// # Panics
    /// If the key is not 16, 24 or 32 bytes long.
    pub(crate) fn new(key: &[u8], isa: Isa) -> Result<Self, Error> {
        let functions = isa.functions().ok_or(Error::IsaUnavailable { isa: isa.to_string() })?;
        let planes = |direction| {
            let schedule = KeySchedule::new(key, direction).expect("16, 24 or 32 bytes");
            Zeroizing::new(layout::schedule_planes(&schedule, Basis::STANDARD))
        };
        Ok(Self { functions, encrypt: planes(Direction::Encrypt), decrypt: planes(Direction::Decrypt) })
    }

    /// Encrypts or decrypts blocks, each on its own.
    pub(crate) fn process_blocks(&self, direction: Direction, blocks: InOutBuf<'_, '_, Block>) {
        let keys = match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        };
        (self.functions.ecb)(direction, keys, blocks);
    }

    /// XORs data with the key stream that starts `skip` (fewer than 16) bytes into the block of `counter`.
    pub(crate) fn add_key_stream(&self, counter: CounterBlock, skip: usize, data: InOutBuf<'_, '_, u8>) {
        (self.functions.ctr)(&self.encrypt, counter, skip, data);
    }

    /// Encrypts whole blocks, each XORed with the output of the one before, the first with `iv`: a batch for each.
    pub(crate) fn encrypt_chained(&self, iv: &[u8; 16], blocks: InOutBuf<'_, '_, Block>) {
        let mut state: Block = (*iv).into();
        for mut block in blocks {
            state.iter_mut().zip(block.get_in()).for_each(|(state, input)| *state ^= input);
            self.process_blocks(Direction::Encrypt, InOutBuf::from(std::slice::from_mut(&mut state)));
            *block.get_out() = state;
        }
    }
}
