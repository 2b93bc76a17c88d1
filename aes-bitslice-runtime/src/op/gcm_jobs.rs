//! Many messages of Galois/counter mode in one call (SP 800-38D), each under a key of its own: those of many sessions, tenants or columns.
//!
//! The messages are those of a [batch](crate::op::gcm_batch), and counter mode under their keys is a call of [`Jobs`].

use crate::base::counter::CounterBlock;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::base::stop::Stop;
use crate::base::tag::Tag;
use crate::cpu::instructions::Instructions;
use crate::cpu::kernel::WholeMessage;
use crate::cpu::key::CpuKey;
use crate::op::batch::{self, Batch, Results, SideBySide, Tags};
use crate::op::buffers::{Access, Buffers};
use crate::op::gcm_batch::{Aads, GcmBatch, GcmDecryptBatch, GcmMessage, Group, one};
use crate::op::gcm_by_key::{ByKey, OfGcmJobs};
use crate::op::kernels::KernelsNeeded;
use crate::op::many_keys::{Flow, Jobs, NAME, refused};
use crate::op::nonces::{Nonces, refuse_repeated_under_a_key};
use crate::op::operation::{Cut, Keys, Operation, Pass, Place, Ready, one_pass};
use crate::op::own_key::STACK_UNDER_OWN_KEY;
use crate::op::ranges::Ranges;
use crate::op::tagging::{Make, Tagging, Verify};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::{NoMemory, collected, room};
use cipher::inout::InOutBuf;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use zeroize::Zeroizing;

/// A message, and its key.
#[derive(Clone, Default)]
pub struct GcmJob<'a> {
    /// The key: 16, 24 or 32 bytes. All keys of a call have the same length.
    pub key: &'a [u8],
    /// The nonce, which no other message under this key has.
    pub nonce: [u8; 12],
    /// Additional data, which the tag authenticates and which is not encrypted; it may be empty.
    pub aad: &'a [u8],
    /// The range of bytes in the call's data. It may be empty.
    pub range: Range<u64>,
}

/// Does not show the key.
impl fmt::Debug for GcmJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GcmJob({} bits, bytes {:?})", 8 * self.key.len(), self.range)
    }
}

/// The keys of messages, in the order of the messages: contiguous bytes.
#[derive(Clone, Copy)]
pub struct JobKeys<'a> {
    bits: KeyBits,
    keys: &'a [u8],
    /// The number of each message's key; none if the key with the message's own number is its key.
    of: Option<&'a [u32]>,
}

impl<'a> JobKeys<'a> {
    /// A key of `bits` bits for each message.
    pub fn each(bits: KeyBits, keys: &'a [u8]) -> Self {
        Self { bits, keys, of: None }
    }

    /// Any number of keys of `bits` bits; `of` has, for each message, the number of its key, from 0.
    pub fn numbered(bits: KeyBits, keys: &'a [u8], of: &'a [u32]) -> Self {
        Self { bits, keys, of: Some(of) }
    }

    /// Those of this number of messages.
    fn copied(&self, messages: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        let Self { bits, keys, of } = *self;
        let (bytes, count) = (bits.bytes(), keys.len() / bits.bytes());
        if !keys.len().is_multiple_of(bytes) {
            return refused(format!("{} of keys: give whole keys of {bytes} bytes each", counted(keys.len(), "byte")));
        }
        let of_messages = counted(messages, "message");
        let Some(of) = of else {
            if count != messages {
                return refused(format!("{} for {of_messages}: give one for each", counted(count, "key")));
            }
            return Ok(Zeroizing::new(collected(keys.iter().copied())?));
        };
        if of.len() != messages {
            return refused(format!("{} for {of_messages}: give one for each", counted(of.len(), "key number")));
        }
        if let Some((n, key)) = of.iter().enumerate().find(|(_, key)| **key as usize >= count) {
            let keys = counted(count, "key");
            return refused(format!(
                "message {n} has the key number {key}, which is too high for {keys}: 0 is the first"
            ));
        }
        // Allocated at full length: growing would leave copies behind.
        let mut all = Zeroizing::new(room(messages.saturating_mul(bytes))?);
        of.iter().for_each(|&key| all.extend_from_slice(&keys[key as usize * bytes..][..bytes]));
        Ok(all)
    }
}

/// The common part of these calls; `E` says what is done with tags.
#[derive(Clone, Debug)]
pub struct GcmJobs<E> {
    batch: GcmBatch<E>,
    /// Counter mode from each message's second counter on.
    jobs: Jobs,
    /// The number of each message's key; none if keys have no numbers.
    numbers: Arc<Vec<u32>>,
    /// The messages of each key, once they were sorted.
    by_key: Arc<OnceLock<ByKey>>,
    /// A device has a launch for each key if keys have numbers, and on average at least this many bytes of data.
    least: u64,
}

/// Where that is faster, by measurement on an H200.
const LEAST: u64 = 4 << 20;

/// Encrypts messages, each under its own key, and returns their tags, of 16 bytes each, in the order of the messages.
///
/// ```
/// use aes_bitslice_runtime::{Backend, Engine, Error, GcmDecryptJobs, GcmEncryptJobs, GcmJob, Key, KeyBits};
///
/// let cipher = Engine::open(Backend::Cpu)?.under_own_keys();
/// let keys = [Key::generate(KeyBits::Aes128)?, Key::generate(KeyBits::Aes128)?]; // each used for one message: any nonce will do
/// let mut data = *b"one message, and another";
/// let job = |n: usize, range| GcmJob { key: keys[n].expose(), nonce: [0; 12], aad: b"header", range };
/// let jobs = [job(0, 0..11), job(1, 13..24)];
/// let tags = cipher.run(GcmEncryptJobs::new(&jobs)?, &mut data)?;
/// data[20] ^= 1; // somebody changes the second one
/// let opened = cipher.run(GcmDecryptJobs::new(&jobs, &tags)?, &mut data)?;
/// assert_eq!((opened.failed(), &data[..13], &data[13..]), (&[1][..], &b"one message, "[..], &[0; 11][..]));
/// # Ok::<(), Error>(())
/// ```
///
/// The data between messages is unchanged. Any cipher performs these calls, and uses no key of its own. In host memory the CPU cores do the
/// work, whatever the engine; in device memory of a CUDA engine it is one call on the caller's stream
/// ([`DeviceCipher::run_with_output`](crate::cuda::DeviceCipher::run_with_output)), which expands the keys there, or on the cores of the CPU if
/// keys have numbers and 4 MiB of data each on average, where it is faster. The copy of the keys is wiped on drop.
///
/// Two messages under one key must not have the same nonce. Where keys have numbers, two with the same number and nonce are refused; nothing
/// compares the keys themselves, nor the messages of other calls.
pub type GcmEncryptJobs = GcmJobs<Make>;

/// Decrypts messages, each under its own key, and reports for each whether it is the one that its tag was computed from. Those that are not
/// are cleared, and the others are valid: it is not an error of the call if some fail.
pub type GcmDecryptJobs = GcmJobs<Verify<Tags>>;

impl GcmEncryptJobs {
    /// Takes messages, whose ranges ascend and do not overlap. Everything is copied.
    ///
    /// # Errors
    /// [`Error::Jobs`] for keys of different lengths, [`Error::KeyLength`] for a key whose length is not an AES key length, and
    /// [`Error::Batch`] for ranges that do not ascend or that overlap, and for more data than a message or a call can have.
    pub fn new(jobs: &[GcmJob<'_>]) -> Result<Self, Error> {
        Self::of_list(jobs, Make)
    }

    /// Takes messages, whose ranges ascend and do not overlap, and their keys. Everything is copied.
    ///
    /// # Errors
    /// As [`from_arrays`](Self::from_arrays).
    pub fn from_messages(keys: &JobKeys<'_>, messages: &[GcmMessage<'_>]) -> Result<Self, Error> {
        Self::under(keys, GcmBatch::of_list(messages, false, Make)?)
    }

    /// Takes messages as arrays describe them: their keys, ranges, which ascend and do not overlap, nonces of 12 bytes, and additional data.
    /// Everything is copied. The call returns tags as one array: 16 bytes of each message, in the order of the messages.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Jobs`] also for another number of keys than of messages, for the number of a key that is not there,
    /// and for nonces of another length; [`Error::NonceLength`] for an empty one; [`Error::Batch`] for another number of nonces or additional data than of messages, for
    /// additional data outside its bytes, and for two messages with the same number of a key and the same nonce.
    pub fn from_arrays(
        keys: &JobKeys<'_>,
        ranges: &Ranges<'_>,
        nonces: &Nonces<'_>,
        aads: &Aads<'_>,
    ) -> Result<GcmJobs<SideBySide>, Error> {
        GcmJobs::under(keys, GcmBatch::of_arrays(ranges, nonces, aads, false, SideBySide)?)
    }
}

impl GcmDecryptJobs {
    /// Takes messages, whose ranges ascend and do not overlap, with the tag of each, whole, [truncated](Tag::truncated) or
    /// [short](Tag::short). Everything is copied.
    ///
    /// # Errors
    /// As [`GcmEncryptJobs::new`], and [`Error::Batch`] for another number of tags than of messages.
    pub fn new(jobs: &[GcmJob<'_>], tags: &[Tag]) -> Result<Self, Error> {
        Self::of_list(jobs, Verify(Tags::new(tags, jobs.len())?))
    }

    /// Takes messages as arrays describe them, as [`GcmEncryptJobs::from_arrays`] does, and their contiguous tags, of `tag_bytes` bytes each:
    /// 16, or the first 12 to 15 if both sides agreed on that. Everything is copied.
    ///
    /// # Errors
    /// As [`GcmEncryptJobs::from_arrays`], but nonces may be there twice; [`Error::Batch`] also for another number of bytes of tags than the messages have, and
    /// [`Error::TagLength`] for another length of a tag.
    pub fn from_arrays(
        keys: &JobKeys<'_>,
        ranges: &Ranges<'_>,
        nonces: &Nonces<'_>,
        aads: &Aads<'_>,
        tags: &[u8],
        tag_bytes: usize,
    ) -> Result<Self, Error> {
        GcmDecryptBatch::from_arrays(ranges, nonces, aads, tags, tag_bytes)?.under(keys)
    }
}

impl GcmDecryptBatch {
    /// These messages, each under a key of its own. A batch to encrypt has no such method: it refuses a nonce that comes twice, which different
    /// keys allow. See [`GcmEncryptJobs::from_messages`].
    ///
    /// # Errors
    /// [`Error::Jobs`] for another number of keys than of messages, for the number of a key that is not there, and for nonces of another length
    /// than 12 bytes.
    pub fn under(self, keys: &JobKeys<'_>) -> Result<GcmDecryptJobs, Error> {
        GcmJobs::under(keys, self)
    }
}

impl<E: Tagging<Results>> GcmJobs<E> {
    fn of_list<'a>(jobs: &'a [GcmJob<'a>], end: E) -> Result<Self, Error> {
        let message = |job: &'a GcmJob<'a>| GcmMessage { nonce: &job.nonce, aad: job.aad, range: job.range.clone() };
        let messages: Vec<_> = collected(jobs.iter().map(message))?;
        let (bits, keys) = Jobs::keys_of(jobs.iter().map(|job| job.key))?;
        Self::of(bits, keys, &[], GcmBatch::of_list(&messages, false, end)?)
    }

    fn under(keys: &JobKeys<'_>, batch: GcmBatch<E>) -> Result<Self, Error> {
        Self::of(keys.bits, keys.copied(batch.len())?, keys.of.unwrap_or_default(), batch)
    }

    fn of(bits: KeyBits, keys: Zeroizing<Vec<u8>>, numbers: &[u32], batch: GcmBatch<E>) -> Result<Self, Error> {
        if let Some((n, bytes)) = batch.other_nonce() {
            let bytes = counted(bytes, "byte");
            return refused(format!("the nonce of message {n} has {bytes}: under a key of its own, it has 12"));
        }
        let messages = batch.messages();
        if batch.expected().is_none() {
            refuse_repeated_under_a_key(numbers, |n| messages.get(n).first).or_else(batch::refused)?;
        }
        let second = |n| {
            let first = u128::from_be_bytes(messages.get(n).first);
            CounterBlock::of_gcm(first, false).after(1).block.to_be_bytes()
        };
        let counters = collected((0..messages.len()).map(second))?;
        let jobs = Jobs::of(Flow::Ctr, bits, keys, counters, messages.places().clone())?;
        let numbers = Arc::new(collected(numbers.iter().copied())?);
        Ok(Self { batch, jobs, numbers, by_key: Arc::default(), least: LEAST })
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Has a device launch this call for each key from this number of bytes on, for tests.
    #[doc(hidden)]
    pub fn by_key_from(self, least: u64) -> Self {
        Self { least, ..self }
    }

    /// Processes them on these instructions, which the processor has.
    fn on_instructions(&self, instructions: Instructions, data: Buffers<'_>) -> Result<Results, NoMemory> {
        let stop = Stop::current();
        self.batch.on_cores(data, |group: Group<'_>| {
            group.each(self.batch.messages(), &stop, |n, message, data: InOutBuf<'_, '_, u8>| {
                under(instructions, self.jobs.key(n), self.batch.whole(message, data))
            });
        })
    }

    /// The results if none of the messages has data.
    fn of_nothing(&self) -> Result<Results, NoMemory> {
        let whole = |n| self.batch.whole(self.batch.messages().get(n), (&mut [][..]).into());
        let tag = |n| under(Instructions::best(), self.jobs.key(n), whole(n));
        self.batch.results_of(collected((0..self.len()).map(tag))?)
    }
}

impl<E: Tagging<Results>> Operation for GcmJobs<E> {
    type Output = E::Output;
    const NAME: &'static str = NAME;
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::Own;

    fn check(&self, bytes: u64) -> Result<(), Error> {
        self.batch.check(bytes)
    }

    fn clear(&self, output: &mut [u8]) {
        self.batch.clear(output);
    }

    fn kernels(&self) -> KernelsNeeded {
        self.jobs.kernels()
    }

    one_pass!();
}

impl<E: Tagging<Results>> Pass for GcmJobs<E> {
    type Ready = Self;

    fn ready(self, _key: Option<&CpuKey>) -> Result<Self, Error> {
        Ok(self)
    }
}

impl<E: Tagging<Results>> Ready for GcmJobs<E> {
    type Part = Option<Results>;
    type Output = E::Output;

    /// Its messages go to all cores.
    fn cut(&self) -> Option<Cut<Self>> {
        None
    }

    fn messages(&self) -> Result<Option<Batch<'_>>, NoMemory> {
        let Self { batch, jobs, numbers, by_key, least } = self;
        let (order, expected) = (batch.order()?, batch.expected());
        let (messages, aad, least) = (batch.messages(), batch.aad(), *least);
        Ok(Some(Batch::GcmJobs(OfGcmJobs { messages, order, aad, expected, jobs, numbers, by_key, least })))
    }

    fn on_cpu(&self, _cipher: &CpuKey, data: Buffers<'_>) -> Option<Results> {
        self.on_instructions(Instructions::best(), data).ok()
    }

    fn under_own_keys(&self, data: Buffers<'_>) -> Option<Option<Results>> {
        Some(self.on_instructions(Instructions::best(), data).ok())
    }

    fn part(&self, _bytes: u64, results: &[u8]) -> Option<Results> {
        self.batch.results_on_device(results).ok()
    }

    fn finish(&self, parts: Vec<Option<Results>>) -> Result<E::Output, Error> {
        self.batch.finish(parts, || self.of_nothing().ok())
    }
}

/// Processes a message under a key on this core, and returns its tag.
fn under(instructions: Instructions, key: &[u8], mut whole: WholeMessage<'_, '_, '_>) -> [u8; 16] {
    match instructions.kernel() {
        Some(kernel) => scrubbed::<STACK_UNDER_OWN_KEY, _>(|| kernel.message_under(key, &mut whole)),
        None => scrubbed::<DERIVED, _>(|| {
            let key = CpuKey::on(instructions, &Key::new(key).expect("its length was checked"));
            one(&key, &key.hash_key(), whole)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of engines take the fastest alone.
    #[test]
    fn on_all_instructions_it_is_the_same() {
        let keys: &'static [[u8; 24]; 5] = &[[1; 24], [2; 24], [3; 24], [4; 24], [5; 24]];
        let data: Vec<u8> = (0..200).collect();
        let ranges = [0..0, 0..16, 16..17, 20..150, 150..200];
        let job = |(key, range): (&'static [u8; 24], Range<u64>)| GcmJob { key, nonce: [9; 12], aad: b"header", range };
        let jobs = GcmEncryptJobs::new(&keys.iter().zip(ranges).map(job).collect::<Vec<_>>()).unwrap();
        let on = |instructions| {
            let mut data = data.clone();
            let results = jobs.on_instructions(instructions, Buffers::InPlace(&mut data)).unwrap();
            (data, results.tags)
        };
        let first = on(Instructions::Portable);
        assert_eq!(first.1.len(), 5);
        Instructions::available().into_iter().for_each(|set| assert!(on(set) == first, "{set}"));
    }

    /// Jobs on these ranges under different keys.
    fn jobs(ranges: &[Range<u64>]) -> GcmEncryptJobs {
        let job = |range: &Range<u64>| GcmJob { key: &[7; 16], nonce: [9; 12], aad: b"header", range: range.clone() };
        GcmEncryptJobs::new(&ranges.iter().map(job).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn messages_are_counted_and_cleared() {
        let some = jobs(&[0..2, 4..5]);
        assert!(some.len() == 2 && !some.is_empty() && jobs(&[]).is_empty());
        let mut data = [1; 6];
        some.clear(&mut data);
        assert_eq!(data, [0, 0, 1, 1, 0, 1]);
    }

    /// Where a cipher has a key, it is not used; without any data, there is no part.
    #[test]
    fn under_another_key_and_without_data_it_is_the_same() {
        let (another, data) = (CpuKey::new(&Key::new(&[3; 16]).unwrap()), [5; 40]);
        let some = jobs(&[0..17, 20..40]);
        let [mut one, mut other] = [data; 2];
        let tags = some.under_own_keys(Buffers::InPlace(&mut one)).flatten().unwrap().tags;
        assert_eq!(some.on_cpu(&another, Buffers::InPlace(&mut other)).unwrap().tags, tags);
        assert!(one == other && one != data);
        let empty = jobs(&[0..0, 0..0]);
        let tags = empty.under_own_keys(Buffers::InPlace(&mut [])).flatten().unwrap().tags;
        assert_eq!(empty.finish(vec![]).unwrap(), tags.into_iter().map(Tag::from).collect::<Vec<_>>());
    }

    #[test]
    fn a_key_is_not_shown() {
        let job = GcmJob { key: &[7; 24], nonce: [9; 12], aad: b"header", range: 3..9 };
        assert_eq!(format!("{job:?}"), "GcmJob(192 bits, bytes 3..9)");
    }
}
