//! The key stream as random numbers, through the traits of the [`rand_core`] crate, on the CPU.

use crate::base::counter::{Counter, CounterMode};
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::{EXPANSION, scrubbed};
use crate::base::stop::Stop;
use crate::cpu::key::CpuKey;
use crate::exec::backend::OnBackend;
use crate::exec::call::Call;
use crate::op::buffers::Buffers;
use crate::op::keystream::Keystream;
use rand_core::{SeedableRng, TryCryptoRng, TryRng};
use std::convert::Infallible;
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// Bytes generated at a time for small requests.
const AHEAD: usize = 4096;

/// AES-CTR key stream as a random number generator: the same key and counter give the same numbers on every machine.
///
/// Numbers are little-endian and take the next 4 or 8 bytes of the stream; [`fill_bytes`](rand_core::Rng::fill_bytes) takes as many as it
/// fills, on all cores if they are many. So the numbers depend on the sequence of bytes alone. The generator is wiped on drop. It does not
/// reseed itself, as SP 800-90A would require.
///
/// ```
/// use aes_bitslice_runtime::{Counter, Key, KeyBits, KeystreamRng};
/// use rand_core::Rng;
///
/// let (key, start) = (Key::generate(KeyBits::Aes256)?, Counter::random()?.block());
/// let mut rng = KeystreamRng::new(&key, start)?;
/// let (number, mut bytes) = (rng.next_u64(), [0; 100]);
/// rng.fill_bytes(&mut bytes);
/// # let _ = number;
/// # Ok::<(), aes_bitslice_runtime::Error>(())
/// ```
pub struct KeystreamRng {
    /// Boxed, so that it stays in place when the generator moves.
    key: Box<CpuKey>,
    counter: Counter,
    /// Bytes of key stream generated so far.
    made: u64,
    ahead: Zeroizing<Vec<u8>>,
    /// Bytes of `ahead` handed out so far.
    given: usize,
}

impl KeystreamRng {
    /// Starts at the first byte of the key stream of this initial counter block, all 128 bits of which count.
    ///
    /// Give each generator under one key its own counter blocks: where they overlap, so do the numbers.
    ///
    /// # Errors
    /// [`Error::WrongKeys`] for an XTS key.
    pub fn new(key: &Key, block: [u8; 16]) -> Result<Self, Error> {
        let counter = Counter::new(CounterMode::Ctr128BE, block);
        let key = key.only("a generator of key stream")?;
        let key = scrubbed::<EXPANSION, _>(|| Box::new(CpuKey::new(key)));
        Ok(Self { key, counter, made: 0, ahead: Zeroizing::new(vec![0; AHEAD]), given: AHEAD })
    }

    /// Generates the next bytes of the key stream, after those generated ahead.
    fn make(&mut self, bytes: &mut [u8]) {
        let stream = Keystream::new(&self.counter, self.made);
        self.made += bytes.len() as u64;
        let call = Call::new(&*self.key, stream, Buffers::Write(bytes));
        Stop::never(|| call.and_then(|(call, data)| self.key.run(call, data))).expect("the CPU does it");
    }

    fn fill(&mut self, mut bytes: &mut [u8]) {
        let there = bytes.len().min(AHEAD - self.given);
        let first = bytes.split_off_mut(..there).expect("no more than there are");
        self.give(first);
        if bytes.len() >= AHEAD {
            self.make(bytes);
        } else if !bytes.is_empty() {
            let mut ahead = std::mem::take(&mut self.ahead);
            self.make(&mut ahead);
            (self.ahead, self.given) = (ahead, 0);
            self.give(bytes);
        }
    }

    /// Hands out bytes that were generated ahead, no more than there are, and keeps no copy of them.
    fn give(&mut self, bytes: &mut [u8]) {
        let made = &mut self.ahead[self.given..self.given + bytes.len()];
        bytes.copy_from_slice(made);
        made.zeroize();
        self.given += bytes.len();
    }
}

impl TryRng for KeystreamRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for KeystreamRng {}

impl SeedableRng for KeystreamRng {
    /// An AES-256 key; the first counter block is zero.
    type Seed = [u8; 32];

    fn from_seed(seed: Self::Seed) -> Self {
        let seed = Zeroizing::new(seed);
        Self::new(&Key::new(&*seed).expect("the length of a key"), [0; 16]).expect("one AES key")
    }
}

impl fmt::Debug for KeystreamRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeystreamRng { .. }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    #[test]
    fn numbers_are_the_key_stream_in_order_however_they_are_asked_for() {
        let mut expected = vec![0; 3 * AHEAD];
        KeystreamRng::from_seed([7; 32]).fill_bytes(&mut expected);
        let mut rng = KeystreamRng::from_seed([7; 32]);
        let mut found = Vec::new();
        for len in [1, 0, 5, AHEAD - 14, AHEAD + 3, 40] {
            found.extend(rng.next_u32().to_le_bytes());
            let mut bytes = vec![0; len];
            rng.fill_bytes(&mut bytes);
            found.extend(bytes);
            found.extend(rng.next_u64().to_le_bytes());
        }
        assert!(found == expected[..found.len()]);
        // FIPS 197's cipher of the first two counter blocks under this key is what the other engines are compared with.
        let mut ctr = vec![0; 64];
        let key = Key::new(&[7; 32]).unwrap();
        let counter = Counter::new(CounterMode::Ctr128BE, [0; 16]);
        let (cpu, by_ctr) = (CpuKey::new(&key), crate::op::ctr::Ctr::new(&counter, 0));
        let (call, data) = Call::new(&cpu, by_ctr, Buffers::InPlace(&mut ctr)).unwrap();
        cpu.run(call, data).unwrap();
        assert_eq!(ctr, expected[..64]);
        assert_eq!(format!("{rng:?}"), "KeystreamRng { .. }");
    }

    /// There is no error that could tell of numbers that were left out.
    #[test]
    fn numbers_are_not_stopped() {
        let fill = || {
            let mut bytes = vec![0; 4 << 20];
            KeystreamRng::from_seed([7; 32]).fill_bytes(&mut bytes);
            bytes
        };
        let stop = Stop::new();
        stop.now();
        assert!(stop.during(fill) == fill());
    }

    #[test]
    fn numbers_that_were_given_are_not_kept() {
        let mut rng = KeystreamRng::from_seed([7; 32]);
        let mut bytes = [0; 100];
        rng.fill_bytes(&mut bytes);
        let numbers = (rng.next_u32(), rng.next_u64());
        assert_ne!((bytes, numbers), ([0; 100], (0, 0)));
        assert_eq!((rng.given, &rng.ahead[..112]), (112, &[0; 112][..]));
        assert_ne!(rng.ahead[112..128], [0; 16]);
    }
}
