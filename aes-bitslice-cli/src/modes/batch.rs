//! Many messages of one length in one call: which modes have such batches, and their operations.

use aes_bitslice_core::memory::collected;
use aes_bitslice_runtime::{
    Aads, Access, Buffers, Cipher, CmacBatch, Direction, Error, GcmDecryptBatch, GcmDecryptJobs, GcmEncryptBatch,
    GcmEncryptJobs, JobKeys, Jobs, KeyBits, Mode, Nonces, Ranges,
};

use zeroize::Zeroizing;

use super::operation::{About, AnyOperation, OnCuda, Pending, Returned, WithTag};

/// An operation on a batch.
pub type Made = Result<Box<dyn AnyOperation>, Error>;

/// Messages that adjoin, and what belongs to them.
pub struct Messages {
    pub count: usize,
    /// Bytes of each.
    pub bytes: usize,
    /// The IV of the first; [`iv`](Self::iv) has the others.
    pub first_iv: [u8; 16],
    /// The key of each, contiguous, if they have keys of their own: this number of keys in turn.
    pub keys: Zeroizing<Vec<u8>>,
    pub turn: usize,
    /// The tag of each, for an operation that verifies them.
    pub tags: Vec<[u8; 16]>,
}

/// What the batches of a mode are.
#[derive(Clone, Copy)]
pub enum Batches {
    /// There are none.
    None,
    /// Messages under one key.
    OneKey(fn(Direction, &Messages) -> Made),
    /// Messages with keys of their own.
    ManyKeys,
    /// Messages under one key, or with keys of their own if a number of keys is asked for.
    OneKeyOrMany(fn(Direction, &Messages) -> Made),
}

impl Batches {
    /// How many keys this number of messages take in turn, where `asked` is what the user asks for; none if they have no keys of their own.
    pub fn keys(self, messages: usize, asked: Option<usize>) -> Option<usize> {
        match self {
            Self::None | Self::OneKey(_) => None,
            Self::ManyKeys => Some(asked.unwrap_or(messages).min(messages)),
            Self::OneKeyOrMany(_) => asked.map(|keys| keys.min(messages)),
        }
    }
}

impl Messages {
    /// The IV of a message. Its first 12 bytes, a nonce, count up (SP 800-38D, section 8.2.1).
    pub fn iv(&self, n: usize) -> [u8; 16] {
        (u128::from_be_bytes(self.first_iv) + ((n as u128) << 32)).to_be_bytes()
    }

    fn ranges(&self) -> Ranges<'static> {
        Ranges::equal(self.count, self.bytes as u64)
    }

    fn nonces(&self) -> Nonces<'static> {
        Nonces::counted(*self.first_iv.first_chunk().expect("12 of 16 bytes"), 64)
    }
}

/// GCM.
pub fn gcm(direction: Direction, messages: &Messages) -> Made {
    let (ranges, nonces, aads) = (messages.ranges(), messages.nonces(), Aads::NONE);
    let tags = messages.tags.as_flattened();
    let Some(bits) = messages.keys.len().checked_div(messages.count).and_then(KeyBits::from_bytes) else {
        return Ok(match direction {
            Direction::Encrypt => Box::new(WithTag(GcmEncryptBatch::from_arrays(&ranges, &nonces, &aads)?)),
            Direction::Decrypt => Box::new(WithTag(GcmDecryptBatch::from_arrays(&ranges, &nonces, &aads, tags, 16)?)),
        });
    };
    let numbers = collected((0..messages.count).map(|n| (n % messages.turn) as u32))?;
    let keys = JobKeys::numbered(bits, &messages.keys[..messages.turn * bits.bytes()], &numbers);
    Ok(match direction {
        Direction::Encrypt => Box::new(WithTag(GcmEncryptJobs::from_arrays(&keys, &ranges, &nonces, &aads)?)),
        Direction::Decrypt => Box::new(WithTag(GcmDecryptJobs::from_arrays(&keys, &ranges, &nonces, &aads, tags, 16)?)),
    })
}

/// CMAC.
pub fn cmac(_: Direction, messages: &Messages) -> Made {
    Ok(Box::new(WithTag(CmacBatch::from_arrays(&messages.ranges())?)))
}

/// A mode without tags, each message under its key of `bits` bits.
pub fn many_keys(mode: Mode, bits: KeyBits, messages: &Messages) -> Made {
    let counts = matches!(mode, Mode::Ctr | Mode::Keystream);
    let counters = collected((0..if counts { messages.count } else { 0 }).map(|n| messages.iv(n)))?;
    let jobs = Jobs::from_arrays(mode, bits, &messages.keys, &counters, &messages.ranges())?;
    Ok(Box::new(UnderManyKeys(jobs)))
}

/// Jobs, which return no value, but are waited for.
struct UnderManyKeys(Jobs);

impl AnyOperation for UnderManyKeys {
    fn about(&self) -> About {
        About { waits_when_dropped: true, ..About::of(&self.0, false, false) }
    }

    fn on_host(&self, cipher: &Cipher, data: Buffers<'_>) -> Returned {
        cipher.run(self.0.clone(), self.about().accessed(data)).map(|()| None)
    }

    fn on_cuda(&self, call: &mut OnCuda<'_>) -> Result<Pending, Error> {
        let OnCuda { cipher, stream, input, output } = call;
        let pending = match self.about().access {
            Access::Writes => cipher.run_with_output(stream, self.0.clone(), output),
            _ => cipher.run_with_output(stream, self.0.clone(), (&*input, output)),
        }?;
        Ok(Box::new(|| pending.wait().map(|()| None)))
    }
}
