//! The kinds of call that are made, and how often.

use crate::call::Call;
use crate::random::Random;
use crate::wrong::Wrong;
use crate::{from_arrays, from_host, refused};
use aes_bitslice_runtime::Mode;

/// A kind of call.
pub struct Kind {
    pub name: &'static str,
    /// Bytes of the largest call.
    pub most: u64,
    pub make: fn(&mut Call<'_>) -> Result<(), Wrong>,
    /// No other call is made meanwhile: of what waits for the GPU, anything would end the capture of a graph.
    pub is_alone: bool,
}

/// For calls that one core computes, one block after the other.
const SERIAL: u64 = 1 << 20;
/// For calls that all others wait for.
const MUCH_ALONE: u64 = 64 << 20;

/// One call in this many must be refused; of the others, one in this many is made alone.
const REFUSED: u64 = 1000;
const ALONE: u64 = 50;

impl Kind {
    const fn new(name: &'static str, make: fn(&mut Call<'_>) -> Result<(), Wrong>) -> Self {
        Self { name, most: u64::MAX, make, is_alone: false }
    }

    const fn serial(name: &'static str, make: fn(&mut Call<'_>) -> Result<(), Wrong>) -> Self {
        Self { name, most: SERIAL, make, is_alone: false }
    }

    const fn alone(name: &'static str, make: fn(&mut Call<'_>) -> Result<(), Wrong>) -> Self {
        Self { name, most: MUCH_ALONE, make, is_alone: true }
    }

    /// Those that are made beside others are equally frequent, and so are those that are made alone. The calls that must be refused come last.
    pub const ALL: [Self; 24] = [
        Self::new("ECB encryption", |call| from_host::one_key(call, Mode::EcbEncrypt)),
        Self::new("ECB decryption", |call| from_host::one_key(call, Mode::EcbDecrypt)),
        Self::new("CTR", |call| from_host::one_key(call, Mode::Ctr)),
        Self::new("key stream", |call| from_host::one_key(call, Mode::Keystream)),
        Self::new("PRG", |call| from_host::one_key(call, Mode::Prg)),
        Self::new("CBC decryption", |call| from_host::one_key(call, Mode::CbcDecrypt)),
        Self::serial("CBC encryption", from_host::cbc_encryption),
        Self::new("XTS", from_host::xts),
        Self::new("GCM", from_host::gcm),
        Self::new("GCM in parts", from_host::gcm_parts),
        Self::new("AES-GCM-SIV", from_host::gcm_siv),
        Self::new("GMAC", from_host::gmac),
        Self::serial("CMAC", from_host::cmac),
        Self::new("GCM batch", from_host::gcm_batch),
        Self::new("CMAC batch", from_host::cmac_batch),
        Self::new("jobs under many keys", from_host::jobs),
        Self::new("each of many keys", from_host::each_key),
        Self::new("GCM batch from arrays", |call| from_arrays::gcm_batch(call, false)),
        Self::new("jobs from arrays", |call| from_arrays::jobs(call, false)),
        Self::new("GCM jobs from arrays", |call| from_arrays::gcm_jobs(call, false)),
        Self::alone("GCM batch in a graph", |call| from_arrays::gcm_batch(call, true)),
        Self::alone("jobs in a graph", |call| from_arrays::jobs(call, true)),
        Self::alone("GCM jobs in a graph", |call| from_arrays::gcm_jobs(call, true)),
        Self { name: "to be refused", most: 0, make: refused::make, is_alone: false },
    ];

    /// The number of one of them.
    pub fn random(random: &mut Random) -> usize {
        let last = Self::ALL.len() - 1;
        if random.one_in(REFUSED) {
            return last;
        }
        let is_alone = random.one_in(ALONE);
        let all: Vec<usize> = (0..last).filter(|n| Self::ALL[*n].is_alone == is_alone).collect();
        random.one_of(&all)
    }
}
