//! The loops of the modes, each written once for every set of instructions ([`Lanes`]).
//!
//! | file | idea |
//! |---|---|
//! | `rounds` | the block cipher on several vectors at a time, and the key schedule |
//! | `ecb`, `ctr`, `cbc`, `xts` | the mode of that name |
//! | `ghash` | GHASH and POLYVAL: products, powers of the key, sums |
//! | `gcm` | CTR and GHASH in one loop |
//! | `gcm_siv` | a message of AES-GCM-SIV, by `ctr` and `ghash` |
//!
//! Everything here is inlined into functions for which the instructions are enabled ([`kernel`](crate::cpu::kernel)). Branches and
//! addresses depend on lengths, key lengths and modes alone, and on counters that are public.

pub(super) mod cbc;
pub(super) mod ctr;
pub(super) mod ecb;
pub(super) mod gcm;
pub(super) mod gcm_siv;
pub(super) mod ghash;
pub(super) mod rounds;
pub(super) mod xts;

use crate::cpu::lanes::Lanes;
use cipher::inout::InOutBuf;
use std::ops::Range;

/// Vectors processed at a time: as many as hide the latency of a round.
const WIDE: usize = 8;
/// Vectors processed at a time where these are enough for what remains.
const FEW: usize = 4;
/// The most blocks of a vector.
const MOST_BLOCKS: usize = 4;

/// A mode, as what it does with some vectors at a time.
trait Step<L: Lanes> {
    /// Processes data of `M` vectors if it is `WHOLE`, otherwise of at most as many.
    fn step<const M: usize, const WHOLE: bool>(&mut self, data: InOutBuf<'_, '_, u8>);

    /// Processes data of any length.
    #[inline(always)]
    fn all(&mut self, l: L, mut data: InOutBuf<'_, '_, u8>) {
        while data.len() >= WIDE * L::BYTES {
            ask_ahead(l, &mut data);
            let (group, rest) = data.split_at(WIDE * L::BYTES);
            self.step::<WIDE, true>(group);
            data = rest;
        }
        match data.len() {
            0 => {}
            few if few <= L::BYTES => self.step::<1, false>(data),
            few if few <= FEW * L::BYTES => self.step::<FEW, false>(data),
            _ => self.step::<WIDE, false>(data),
        }
    }
}

/// Bytes from what is processed to what is asked for meanwhile. Without, a core waits for memory up to half of the time, where the data is
/// in none of its caches.
const AHEAD: usize = 4 << 10;
/// Bytes that come from memory together.
const LINE: usize = 64;

/// Asks for the memory of a group of vectors that is to be processed soon, if the data is so long.
#[inline(always)]
fn ask_ahead<L: Lanes>(l: L, data: &mut InOutBuf<'_, '_, u8>) {
    let group = WIDE * L::BYTES;
    if data.len() >= AHEAD + group {
        let (input, output) = (data.get_in().as_ptr(), data.get_out().as_ptr());
        for place in (AHEAD..AHEAD + group).step_by(LINE) {
            l.prefetch(input.wrapping_add(place));
            if input != output {
                l.prefetch(output.wrapping_add(place));
            }
        }
    }
}

/// The bytes of vector `i` in data of `len` bytes.
#[inline(always)]
fn of_vector<L: Lanes>(i: usize, len: usize) -> Range<usize> {
    (i * L::BYTES).min(len)..((i + 1) * L::BYTES).min(len)
}

/// Vectors of data; what is not there is zeros.
#[inline(always)]
fn load<L: Lanes, const M: usize, const WHOLE: bool>(l: L, bytes: &[u8]) -> [L::Vector; M] {
    let mut vectors = [l.zero(); M];
    for (i, vector) in vectors.iter_mut().enumerate() {
        *vector =
            if WHOLE { l.load(&bytes[i * L::BYTES..]) } else { l.load_part(&bytes[of_vector::<L>(i, bytes.len())]) };
    }
    vectors
}

/// Fills `bytes` with the first bytes of the vectors.
#[inline(always)]
fn store<L: Lanes, const M: usize, const WHOLE: bool>(l: L, vectors: &[L::Vector; M], bytes: &mut [u8]) {
    for (i, vector) in vectors.iter().enumerate() {
        if WHOLE {
            l.store(*vector, &mut bytes[i * L::BYTES..]);
        } else {
            let range = of_vector::<L>(i, bytes.len());
            l.store_part(*vector, &mut bytes[range]);
        }
    }
}
