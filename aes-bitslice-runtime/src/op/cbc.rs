//! Cipher block chaining (SP 800-38A, section 6.2).
//!
//! Encryption is inherently serial: the input of each block depends on the output of the one before. Decryption is not,
//! because it chains only ciphertext.
//!
//! | argument | value |
//! |---|---|
//! | `blocks` | blocks of 16 bytes |
//! | `previous`, `stride` | the address of the ciphertext block before share n, less n times the stride in bytes; the first share has none |
//! | `iv` | the IV, its bytes in order |

use crate::base::error::Error;
use crate::base::stop::Stop;
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::kernels::KernelsNeeded;
use crate::op::launch::{Gather, Launch, Shape, Value, block_words};
use crate::op::operation::{
    After, Cut, Keys, Operation, Pass, Place, Ready, one_pass, ready_as_it_is, returns_nothing, whole_blocks,
};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::mode::Mode;

/// CBC decryption of whole blocks.
///
/// A long message may be cut at whole blocks and its parts decrypted in any order; the IV of each is the ciphertext
/// block before it, which has to be kept if decryption is in place.
///
/// Changes to the ciphertext are not detected. If attackers learn whether the padding inside was right, from an error
/// or from timing, they can have any ciphertext decrypted (a padding oracle): check a MAC first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CbcDecrypt {
    iv: [u8; 16],
}

/// CBC encryption of whole blocks: on one core of the CPU, whatever the engine.
///
/// The IV must be unpredictable (SP 800-38A, appendix C): random bytes, new for every message. A long message may be
/// cut at whole blocks and its parts encrypted in order; the IV of each is the last ciphertext block before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CbcEncrypt {
    iv: [u8; 16],
}

impl CbcDecrypt {
    /// Takes the IV: the block that the first ciphertext block is chained to.
    pub fn new(iv: &[u8; 16]) -> Self {
        Self { iv: *iv }
    }
}

impl CbcEncrypt {
    /// Takes the IV: the block that the first plaintext block is chained to.
    pub fn new(iv: &[u8; 16]) -> Self {
        Self { iv: *iv }
    }
}

impl Operation for CbcDecrypt {
    type Output = ();
    const NAME: &'static str = "CBC decryption";
    const ACCESS: Access = Access::Maps;

    fn check(&self, bytes: u64) -> Result<(), Error> {
        whole_blocks(bytes)
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded::of(Mode::CbcDecrypt)
    }

    one_pass!();
}

ready_as_it_is!(CbcDecrypt);

impl Ready for CbcDecrypt {
    returns_nothing!();

    fn cut(&self) -> Option<Cut<Self>> {
        let after = After::Chained(|_: &Self, before| Self { iv: before });
        Some(Cut { skip: 0, place: |_, at, _| at, after })
    }

    /// In place, the end of a share would be overwritten while the next share still needs it: those blocks are copied
    /// first.
    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        let blocks = shape.len / 16;
        let (shares, share) = shape.geometry.shares(blocks);
        let (previous, stride) = if shape.in_place && shares > 1 {
            (Value::Gathered(Gather { first: share - 16, apart: share, blocks: shares - 1 }), 16)
        } else {
            (Value::BeforeInput(16), share)
        };
        let values = vec![
            (Argument::Blocks, Value::U64(blocks)),
            (Argument::Previous, previous),
            (Argument::Stride, Value::U64(stride)),
            (Argument::Iv, Value::Words(block_words(&self.iv))),
        ];
        Ok(shape.launch(shape.entry(0), 0, blocks, values)?.into_iter().collect())
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) {
        cipher.decrypt_chained(&self.iv, data.into_blocks());
    }
}

/// Bytes that are encrypted between looks whether the call is stopped.
const PART: usize = 64 << 10;

impl Operation for CbcEncrypt {
    type Output = ();
    const NAME: &'static str = "CBC encryption";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    fn check(&self, bytes: u64) -> Result<(), Error> {
        whole_blocks(bytes)
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded::NONE
    }

    one_pass!();
}

ready_as_it_is!(CbcEncrypt);

impl Ready for CbcEncrypt {
    returns_nothing!();

    fn cut(&self) -> Option<Cut<Self>> {
        None
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) {
        let (stop, mut iv) = (Stop::current(), self.iv);
        for mut part in data.chunks(PART).take_while(|_| !stop.is_now()) {
            cipher.encrypt_chained(&iv, part.reborrow().into_blocks());
            iv = *part.output().last_chunk().expect("whole blocks, and not none");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::launch::{Entry, Geometry};
    use aes_bitslice_core::grid::Grid;

    #[test]
    fn blocks_between_shares_are_copied_in_place_and_where_there_are_several() {
        let operation = CbcDecrypt::new(&std::array::from_fn(|i| i as u8));
        let grid = Grid::Warps { each: 1, least: 1 };
        let geometry = Geometry::small(grid);
        let tile = 64 * 16;
        let copied = Value::Gathered(Gather { first: 4 * tile - 16, apart: 4 * tile, blocks: 7 });
        // 30 tiles for two multiprocessors of four warps: four each, so eight shares, of which the last has two.
        for (len, in_place, previous, stride) in [
            (30 * tile, true, copied, 16),
            (30 * tile, false, Value::BeforeInput(16), 4 * tile),
            (tile, true, Value::BeforeInput(16), tile),
        ] {
            let shape = Shape { geometry: &geometry, len, in_place, is_aligned: &|_| true };
            let launches = operation.launches(&shape).unwrap();
            let [launch] = launches.as_slice() else { panic!("one launch") };
            let iv = Value::Words([0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0f0e_0d0c]);
            let expected = [
                (Argument::Blocks, Value::U64(len / 16)),
                (Argument::Previous, previous),
                (Argument::Stride, Value::U64(stride)),
                (Argument::Iv, iv),
            ];
            assert_eq!((launch.entry, launch.values.as_slice()), (Entry::Blocks, &expected[..]));
        }
    }
}
