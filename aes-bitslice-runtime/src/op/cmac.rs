//! CMAC: a message authentication code based on the block cipher alone (SP 800-38B).
//!
//! It is inherently serial: the input of each block depends on the output of the one before. It runs on one core of the
//! CPU, whatever the engine.

use crate::base::error::Error;
use crate::base::stop::Stop;
use crate::base::tag::Tag;
use crate::cpu::block::{Block, encrypt_block};
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::{Cut, Keys, Operation, Pass, Place, Ready, needed, one_pass};
use aes_bitslice_core::aes::KeyBits;
use cipher::array::Array;
use cipher::inout::InOutBuf;
use zeroize::Zeroizing;

/// CMAC of a whole message of any length: returns its tag of 16 bytes. Check a tag with [`Tag`]'s comparison, which
/// takes constant time.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cmac;

impl Cmac {
    /// CMAC of a whole message.
    pub fn new() -> Self {
        Self
    }
}

impl Operation for Cmac {
    type Output = Tag;
    const NAME: &'static str = "CMAC";
    const ACCESS: Access = Access::Reads;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    fn check(&self, _bytes: u64) -> Result<(), Error> {
        Ok(())
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded::NONE
    }

    one_pass!();
}

/// Blocks chained at a time: they stay in the first-level cache.
const BATCH: usize = 64;

impl Pass for Cmac {
    type Ready = Derived;

    fn ready(self, key: Option<&CpuKey>) -> Result<Derived, Error> {
        needed::<Self>(key).map(Derived::new)
    }
}

impl Ready for Derived {
    type Part = [u8; 16];
    type Output = Tag;

    fn cut(&self) -> Option<Cut<Self>> {
        None
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) -> [u8; 16] {
        let message = data.input();
        let [k1, k2, _] = &*self.0;
        // The last block, whole or not, is handled separately.
        let (first, last) = message.split_at((message.len() - 1) / 16 * 16);
        let (stop, mut state) = (Stop::current(), [0; 16]);
        let mut chained = [Block::default(); BATCH];
        for blocks in Block::slice_as_chunks(first).0.chunks(BATCH).take_while(|_| !stop.is_now()) {
            let chained = &mut chained[..blocks.len()];
            cipher.encrypt_chained(&state, InOutBuf::new(blocks, chained).expect("equal lengths"));
            state = chained[blocks.len() - 1].into();
        }
        Array::slice_as_flattened_mut(&mut chained).fill(0);
        let mut block = if last.len() == 16 { *k1 } else { *k2 };
        block.iter_mut().zip(last).for_each(|(byte, data)| *byte ^= data);
        if last.len() < 16 {
            block[last.len()] ^= 0x80;
        }
        block.iter_mut().zip(state).for_each(|(byte, state)| *byte ^= state);
        encrypt_block(cipher, &mut block);
        block
    }

    fn finish(&self, parts: Vec<[u8; 16]>) -> Result<Tag, Error> {
        Ok(Tag::from(*parts.first().unwrap_or(self.of_empty())))
    }
}

/// The values that CMAC derives from a key: K1 and K2 (SP 800-38B, section 6.1), and the tag of an empty message.
#[derive(Clone)]
pub struct Derived(Zeroizing<[[u8; 16]; 3]>);

impl Derived {
    pub(crate) fn new(cipher: &CpuKey) -> Self {
        let mut derived = Zeroizing::new([[0; 16]; 3]);
        let [k1, k2, empty] = &mut *derived;
        encrypt_block(cipher, k1);
        double(k1);
        *k2 = *k1;
        double(k2);
        *empty = *k2;
        empty[0] ^= 0x80;
        encrypt_block(cipher, empty);
        Self(derived)
    }

    /// K1 and K2.
    pub(crate) fn subkeys(&self) -> &[[u8; 16]; 2] {
        let [k1_and_k2 @ .., _] = &*self.0;
        k1_and_k2
    }

    /// The tag of an empty message.
    pub(crate) fn of_empty(&self) -> &[u8; 16] {
        &self.0[2]
    }
}

/// Multiplies by x in the field of SP 800-38B, section 6.1: a shift, and the polynomial if a bit was shifted out,
/// without a branch.
pub(crate) fn double(block: &mut [u8; 16]) {
    let number = u128::from_be_bytes(*block);
    *block = ((number << 1) ^ ((number >> 127) * 0x87)).to_be_bytes();
}
