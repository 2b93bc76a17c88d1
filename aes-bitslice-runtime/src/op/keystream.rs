//! The key stream that counter mode XORs with data (SP 800-38A, section 6.5), as an output in itself.
//!
//! | argument | value |
//! |---|---|
//! | `blocks` | entry point for blocks: blocks of 16 bytes |
//! | `length`, `skip` | entry point for bytes: bytes, and how many bytes of the first block of key stream come before them |
//! | `counter` | the counter of the first block, least significant word first |

use crate::base::counter::Counter;
use crate::base::error::Error;
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::ctr::Ctr;
use crate::op::kernels::KernelsNeeded;
use crate::op::launch::{Launch, Shape};
use crate::op::operation::{Cut, Operation, Pass, Place, Ready, one_pass, ready_as_it_is, returns_nothing};
use aes_bitslice_core::mode::Mode;

/// The key stream of CTR from a given byte on, which overwrites the output: any number of bytes.
///
/// Under a secret key it cannot be distinguished from random bytes, so it serves as a pseudorandom generator (SP 800-90A has CTR_DRBG for
/// uses that must meet that standard). It is what [`Ctr`] makes of zeros: never use both under one key if their counter blocks overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keystream {
    ctr: Ctr,
}

impl Keystream {
    /// Starts at byte `offset` of the key stream that begins with `counter`. Every offset is accepted, and a call may run past byte 2^64.
    /// Only where fewer than 128 bits of the counter count does the key stream end: a call that needs more of it is refused with
    /// [`Error::CounterOverflow`].
    pub fn new(counter: &Counter, offset: u64) -> Self {
        Self { ctr: Ctr::new(counter, offset) }
    }

    /// Starts at a counter block, given as a big-endian number, which wraps mod 2^128.
    pub(crate) fn from_block(block: u128) -> Self {
        Self { ctr: Ctr::from_block(block) }
    }
}

/// Bytes generated at a time on a core: they stay in its first-level cache.
const BATCH: usize = 16 << 10;

impl Operation for Keystream {
    type Output = ();
    const NAME: &'static str = "key stream";
    const ACCESS: Access = Access::Writes;

    fn check(&self, bytes: u64) -> Result<(), Error> {
        self.ctr.check(bytes)
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded::of(Mode::Keystream)
    }

    one_pass!();
}

ready_as_it_is!(Keystream);

impl Ready for Keystream {
    returns_nothing!();

    fn cut(&self) -> Option<Cut<Self>> {
        let after = |stream: &Self, bytes| Self { ctr: stream.ctr.at(bytes) };
        Cut::anywhere(after).map(|cut| Cut { skip: self.ctr.skip(), ..cut })
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        self.ctr.launches(shape)
    }

    fn on_cpu(&self, cipher: &CpuKey, mut data: Buffers<'_>) {
        let mut ctr = self.ctr;
        for batch in data.output().chunks_mut(BATCH) {
            batch.fill(0);
            let len = batch.len() as u64;
            ctr.on_cpu(cipher, Buffers::InPlace(batch));
            ctr = ctr.at(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::counter::CounterMode;
    use crate::base::key::Key;
    use crate::cpu::key::CpuKey;

    #[test]
    fn it_is_what_ctr_makes_of_zeros() {
        let cipher = CpuKey::new(&Key::new(&[7; 32]).unwrap());
        let counter = Counter::new(CounterMode::Ctr128BE, [0xff; 16]);
        for (offset, len) in [(0, 1), (5, 100), (15, BATCH + 17), (16, 2 * BATCH)] {
            let (mut made, mut expected) = (vec![0xa5; len], vec![0; len]);
            Keystream::new(&counter, offset).on_cpu(&cipher, Buffers::Write(&mut made));
            Ctr::new(&counter, offset).on_cpu(&cipher, Buffers::InPlace(&mut expected));
            assert!(made == expected, "{len} bytes from byte {offset} on");
        }
    }

    #[test]
    fn it_begins_within_a_block_and_ends_with_the_counter() {
        let stream = |offset| Keystream::new(&Counter::new(CounterMode::Ctr64BE, [0xff; 16]), offset);
        assert_eq!([0, 5, 16].map(|offset| stream(offset).cut().unwrap().skip), [0, 5, 0]);
        assert!(stream(0).check(16).is_ok() && stream(0).check(17).is_err());
    }
}
