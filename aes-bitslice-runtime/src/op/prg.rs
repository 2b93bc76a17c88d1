//! Encryption with feed-forward: each block of 16 bytes is encrypted and XORed with itself, y = E_k(x) ⊕ x (Matyas, Meyer, Oseas 1985;
//! Black, Rogaway, Shrimpton 2002, function 1).
//!
//! | argument | value |
//! |---|---|
//! | `blocks` | blocks of 16 bytes |

use crate::base::error::Error;
use crate::cpu::block::BlockCipher;
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::ecb::Ecb;
use crate::op::kernels::KernelsNeeded;
use crate::op::launch::{Launch, Shape};
use crate::op::operation::{
    Cut, Operation, Pass, Place, Ready, one_pass, ready_as_it_is, returns_nothing, whole_blocks,
};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::Mode;
use zeroize::Zeroizing;

/// A pseudorandom generator from AES under a fixed, public key: y = E_k(x) ⊕ x for each block x of 16 bytes. It is what function secret
/// sharing (Boyle, Gilboa, Ishai 2016) and garbling (Bellare, Hoang, Keelveedhi, Rogaway 2013; Guo, Katz, Wang, Yu 2020) call AES for: the
/// seed x is secret, and the key is not.
///
/// A generator that doubles its seed takes two keys: one cipher for each, and a call on the same seeds with either, to two outputs. Two equal
/// blocks have equal outputs: seeds must differ. It is no encryption, and cannot be inverted with the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Prg;

impl Prg {
    /// The generator under the cipher's key.
    pub fn new() -> Self {
        Self
    }
}

/// Bytes processed at a time on a core: they stay in its first-level cache.
const BATCH: usize = 8 << 10;

impl Operation for Prg {
    type Output = ();
    const NAME: &'static str = "PRG";
    const ACCESS: Access = Access::Maps;

    fn check(&self, bytes: u64) -> Result<(), Error> {
        whole_blocks(bytes)
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded::of(Mode::Prg)
    }

    one_pass!();
}

ready_as_it_is!(Prg);

impl Ready for Prg {
    returns_nothing!();

    fn cut(&self) -> Option<Cut<Self>> {
        Cut::anywhere(|prg, _| *prg)
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        Ecb::encrypt().launches(shape)
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) {
        // Seeds are secrets.
        let mut seeds = Zeroizing::new(vec![0; BATCH.min(data.len())]);
        for mut batch in data.chunks(BATCH) {
            let seeds = &mut seeds[..batch.len()];
            seeds.copy_from_slice(batch.input());
            cipher.process(Direction::Encrypt, batch.reborrow().into_blocks());
            batch.output().iter_mut().zip(&*seeds).for_each(|(byte, seed)| *byte ^= seed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::Key;
    use crate::cpu::key::CpuKey;

    /// FIPS 197, appendix C.1, XORed with its plaintext.
    #[test]
    fn a_block_is_encrypted_and_added_to_itself() {
        let cipher = CpuKey::new(&Key::new(&std::array::from_fn::<u8, 16, _>(|i| i as u8)).unwrap());
        let seed: [u8; 16] = std::array::from_fn(|i| (i * 0x11) as u8);
        let expected = 0x69d5_c2eb_2e2e_6247_5054_1d3b_bc69_2ba5_u128.to_be_bytes();
        let mut data = seed.repeat(2 * BATCH / 16 + 3);
        let mut other = vec![0; data.len()];
        Prg::new().on_cpu(&cipher, Buffers::To { input: &data, output: &mut other });
        Prg::new().on_cpu(&cipher, Buffers::InPlace(&mut data));
        assert!(data == other && data.as_chunks().0.iter().all(|block| *block == expected));
    }

    #[test]
    fn it_is_of_whole_blocks_in_any_number_of_parts() {
        assert!(Prg::new().check(32).is_ok() && Prg::new().check(31).is_err() && Prg::new().cut().is_some());
    }
}
