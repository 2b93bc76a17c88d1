//! Many messages of Galois/counter mode in one call (SP 800-38D): under one key, each with its own nonce, additional data and length.
//!
//! On a CPU the messages are divided between the cores; a GPU processes all of them at once, with kernels that get a
//! description of where they are (`aes_bitslice_core::messages`).

use crate::base::counter::CounterBlock;
use crate::base::error::Error;
use crate::base::lock::made_once;
use crate::base::stop::Stop;
use crate::base::tag::Tag;
use crate::base::threads::{divided, groups};
use crate::cpu::block::encrypt_block;
use crate::cpu::hash_key::HashKey;
use crate::cpu::kernel::WholeMessage;
use crate::cpu::key::CpuKey;
use crate::op::batch::{Batch, OfGcm, Results, SideBySide, Tags, check_number, finish, refused};
use crate::op::buffers::{Access, Buffers};
use crate::op::gcm::{LONGEST, first_counter, lengths};
use crate::op::gcm_messages::{Messages, TOO_LONG};
use crate::op::kernels::{Hashed, KernelsNeeded, OnHost};
use crate::op::nonces::{FirstCounters, Nonces, Others};
use crate::op::operation::{Cut, Keys, Operation, Pass, Place, Ready, needed, one_pass};
use crate::op::ranges::{Placed, Ranges, Rules};
use crate::op::tagging::{Make, Tagging, Verify};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::{NoMemory, collected, filled, room};
use aes_bitslice_core::messages::Message;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::order::Order;
use cipher::inout::InOutBuf;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use zeroize::Zeroizing;

/// A message of a batch: its nonce and additional data, and where in the call's data its bytes are.
#[derive(Clone, Debug, Default)]
pub struct GcmMessage<'a> {
    /// The nonce: 12 bytes, or any other number from 1 on. No two messages under one key may have the same nonce.
    pub nonce: &'a [u8],
    /// Additional data, which the tag authenticates and which is not encrypted; it may be empty.
    pub aad: &'a [u8],
    /// The range of bytes in the call's data. It may be empty.
    pub range: Range<u64>,
}

/// The additional data of messages, in the order of the messages, which tags authenticate and which is not encrypted.
#[derive(Clone, Copy, Debug)]
pub struct Aads<'a> {
    bytes: &'a [u8],
    /// Where in the bytes that of each message is; none if all messages have all of them.
    ranges: Option<Ranges<'a>>,
}

impl<'a> Aads<'a> {
    /// No message has any.
    pub const NONE: Self = Self { bytes: &[], ranges: None };

    /// All messages have this one.
    pub fn shared(aad: &'a [u8]) -> Self {
        Self { bytes: aad, ranges: None }
    }

    /// That of each message is a range of these bytes, in any order; ranges may overlap.
    pub fn each(bytes: &'a [u8], ranges: impl Into<Ranges<'a>>) -> Self {
        Self { bytes, ranges: Some(ranges.into()) }
    }
}

/// The common part of calls on a batch: messages, and `E`, the kind of result.
#[derive(Clone, Debug)]
pub struct GcmBatch<E> {
    messages: Arc<Messages>,
    /// The order in which a device hashes them, once it was asked for.
    order: Arc<OnceLock<Order>>,
    /// The additional data of all messages.
    aad: Arc<Vec<u8>>,
    /// The nonces that do not have 12 bytes: their J0 depends on the key.
    others: Arc<Others>,
    end: E,
}

/// Messages with their first counters, and what else is derived from the key.
#[derive(Clone, Debug)]
pub struct Keyed<E> {
    batch: GcmBatch<E>,
    hash: HashKey,
    /// The results if none of the messages has data, in which case no backend is called.
    of_nothing: Arc<Results>,
}

/// Encrypts messages and returns the tag of each, of 16 bytes, in the order of the messages.
///
/// ```
/// use aes_bitslice_runtime::{Backend, Engine, Error, GcmDecryptBatch, GcmEncryptBatch, GcmMessage, Key, KeyBits};
///
/// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
/// let mut data = *b"one message, and another";
/// let nonces = [[1; 12], [2; 12]]; // new ones for every message
/// let messages = [
///     GcmMessage { nonce: &nonces[0], aad: b"header", range: 0..11 },
///     GcmMessage { nonce: &nonces[1], aad: b"", range: 13..24 },
/// ];
/// let tags = cipher.run(GcmEncryptBatch::new(&messages)?, &mut data)?;
/// assert_eq!(&data[11..13], b", ");
/// data[20] ^= 1; // somebody changes the second one
/// let opened = cipher.run(GcmDecryptBatch::new(&messages, &tags)?, &mut data)?;
/// assert_eq!((opened.failed(), &data[..11]), (&[1][..], &b"one message"[..]));
/// assert_eq!(data[13..], [0; 11]);
/// # Ok::<(), Error>(())
/// ```
///
/// The data between messages is unchanged. What is read, written and returned for a message does not depend on the other messages.
///
/// In host memory the CPU cores do the work, whatever the engine. In device memory of a CUDA engine it is one call on the caller's stream
/// ([`DeviceCipher::run_with_output`](crate::cuda::DeviceCipher::run_with_output)), fast for messages that start at multiples of 16 bytes,
/// nearly as fast for those at multiples of 4. A message has at most four warps of the GPU: one of many MiB completes sooner in its own call.
pub type GcmEncryptBatch = GcmBatch<Make>;

/// Decrypts messages and reports for each whether it is the one that its tag was computed from. Those that are not are cleared, and the
/// others are valid: it is not an error of the call if some fail.
pub type GcmDecryptBatch = GcmBatch<Verify<Tags>>;

const RANGES: Rules = Rules { what: "message", ascending: true, longest: LONGEST };
/// Kernels take lengths of additional data, and offsets in it, as numbers of 32 bits.
const ADDITIONAL: Rules = Rules { what: "additional data of message", ascending: false, longest: u32::MAX as u64 };

/// Where the additional data of each of `count` messages is.
fn additional(ranges: &Ranges<'_>, count: usize) -> Result<Placed, Error> {
    if ranges.len() == count {
        return ranges.placed(&ADDITIONAL).or_else(refused);
    }
    let (found, messages) = (counted(ranges.len(), "range"), counted(count, "message"));
    refused(format!("{found} of additional data for {messages}: give one for each"))
}

/// The sum of these lengths in bytes, which kernels take as a number of 32 bits.
fn sum_of(mut lengths: impl Iterator<Item = usize>) -> Option<u32> {
    lengths.try_fold(0_u32, |sum, len| sum.checked_add(len.try_into().ok()?))
}

impl GcmEncryptBatch {
    /// Takes these messages, whose ranges ascend and do not overlap. Everything is copied.
    ///
    /// # Errors
    /// [`Error::Batch`] for ranges that do not ascend or that overlap, for two messages with one nonce, and for more data than a message or
    /// a batch can have; [`Error::NonceLength`] for an empty nonce.
    pub fn new(messages: &[GcmMessage<'_>]) -> Result<Self, Error> {
        Self::of_list(messages, true, Make)
    }

    /// Takes messages as arrays describe them: their ranges, which ascend and do not overlap, their nonces and additional data. Everything
    /// is copied. The call returns tags as one array: 16 bytes of each message, in the order of the messages.
    ///
    /// ```
    /// use aes_bitslice_runtime::{Aads, Backend, Engine, Error, GcmDecryptBatch, GcmEncryptBatch, Key, KeyBits, Nonces, Ranges};
    ///
    /// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
    /// let mut packets = vec![7; 1000 * 1500];
    /// let ranges = Ranges::equal(1000, 1500);
    /// let nonces = Nonces::counted([0; 12], 64); // a new key's; the next batch under it counts on from message 1000
    /// let aads = Aads::shared(b"a header");
    /// let tags = cipher.run(GcmEncryptBatch::from_arrays(&ranges, &nonces, &aads)?, &mut packets)?;
    /// let decrypt = GcmDecryptBatch::from_arrays(&ranges, &nonces, &aads, tags.as_flattened(), 16)?;
    /// cipher.run(decrypt, &mut packets)?.all()?;
    /// assert_eq!(packets, vec![7; 1000 * 1500]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new); and [`Error::Batch`] for another number of nonces or additional data than of messages, for negative
    /// positions, for additional data outside its bytes, and for nonces that would start again.
    pub fn from_arrays(
        ranges: &Ranges<'_>,
        nonces: &Nonces<'_>,
        aads: &Aads<'_>,
    ) -> Result<GcmBatch<SideBySide>, Error> {
        GcmBatch::of_arrays(ranges, nonces, aads, true, SideBySide)
    }

    /// Messages whose nonces and additional data are in device memory; `aads` are ranges of the latter.
    #[cfg(feature = "cuda")]
    pub(crate) fn laid_out(ranges: &Ranges<'_>, aads: &Ranges<'_>) -> Result<Self, Error> {
        let count = ranges.len();
        check_number(count)?;
        let (data, aads) = (ranges.placed(&RANGES).or_else(refused)?, additional(aads, count)?);
        let no_nonces = FirstCounters::counted(&[0; 12], 64, count).or_else(refused)?;
        Self::of(data, no_nonces, Others::default(), (vec![], aads), Make)
    }
}

impl GcmDecryptBatch {
    /// Takes these messages, whose ranges ascend and do not overlap, with the tag of each, whole, [truncated](Tag::truncated) or
    /// [short](Tag::short). Everything is copied.
    ///
    /// # Errors
    /// [`Error::Batch`] for ranges that do not ascend or that overlap, for a number of tags that differs from the number of messages, and
    /// for more data than a message or a batch can have; [`Error::NonceLength`] for an empty nonce.
    pub fn new(messages: &[GcmMessage<'_>], tags: &[Tag]) -> Result<Self, Error> {
        Self::of_list(messages, false, Verify(Tags::new(tags, messages.len())?))
    }

    /// Takes messages as arrays describe them, as [`GcmEncryptBatch::from_arrays`] does, and their contiguous tags, of `tag_bytes` bytes
    /// each: 16, or the first 12 to 15 if both sides agreed on that. Everything is copied.
    ///
    /// # Errors
    /// As [`GcmEncryptBatch::from_arrays`], but nonces may be there twice; [`Error::Batch`] also for another number of bytes of tags than
    /// the messages have, and [`Error::TagLength`] for another length of a tag.
    pub fn from_arrays(
        ranges: &Ranges<'_>,
        nonces: &Nonces<'_>,
        aads: &Aads<'_>,
        tags: &[u8],
        tag_bytes: usize,
    ) -> Result<Self, Error> {
        let end = Verify(Tags::side_by_side(tags, tag_bytes, false, ranges.len())?);
        Self::of_arrays(ranges, nonces, aads, false, end)
    }

    /// As [`from_arrays`](Self::from_arrays), with short tags, of `tag_bytes` bytes each: 4 or 8. [`Tag::short`] says when they may be used.
    ///
    /// # Errors
    /// As [`from_arrays`](Self::from_arrays).
    pub fn from_arrays_with_short_tags(
        ranges: &Ranges<'_>,
        nonces: &Nonces<'_>,
        aads: &Aads<'_>,
        tags: &[u8],
        tag_bytes: usize,
    ) -> Result<Self, Error> {
        let end = Verify(Tags::side_by_side(tags, tag_bytes, true, ranges.len())?);
        Self::of_arrays(ranges, nonces, aads, false, end)
    }
}

impl<E: Tagging<Results>> GcmBatch<E> {
    /// These messages; if they are `fresh`, no two of them may have the same nonce.
    pub(crate) fn of_list(messages: &[GcmMessage<'_>], fresh: bool, end: E) -> Result<Self, Error> {
        check_number(messages.len())?;
        let count = messages.len();
        let mut others = Others::default();
        let first = Nonces::of_list(count, |n| messages[n].nonce, fresh, &mut others).or_else(refused)?;
        let data = Placed::of(count, |n| Some(messages[n].range.clone()), &RANGES).or_else(refused)?;
        let sum = sum_of(messages.iter().map(|message| message.aad.len()));
        let Some(bytes) = sum else { return refused(TOO_LONG.to_owned()) };
        let mut aad = room(bytes as usize)?;
        messages.iter().for_each(|message| aad.extend_from_slice(message.aad));
        let each;
        let aads = if aad.is_empty() {
            Ranges::spaced(count, 0, 0)
        } else {
            let mut at = 0;
            let next = |message: &GcmMessage<'_>| {
                at += message.aad.len() as u64;
                at - message.aad.len() as u64..at
            };
            each = collected(messages.iter().map(next))?;
            Ranges::from(&*each)
        };
        Self::of(data, first, others, (aad, aads.placed(&ADDITIONAL).or_else(refused)?), end)
    }

    pub(crate) fn of_arrays(
        ranges: &Ranges<'_>,
        nonces: &Nonces<'_>,
        aads: &Aads<'_>,
        fresh: bool,
        end: E,
    ) -> Result<Self, Error> {
        check_number(ranges.len())?;
        let count = ranges.len();
        let mut others = Others::default();
        let data = ranges.placed(&RANGES).or_else(refused)?;
        let first = nonces.first_counters(count, fresh, &mut others).or_else(refused)?;
        let all = aads.bytes.len() as u64;
        let of_each = additional(&aads.ranges.unwrap_or(Ranges::spaced(count, all, 0)), count)?;
        of_each.within(all, ADDITIONAL.what, "all additional data").or_else(refused)?;
        Self::of(data, first, others, (collected(aads.bytes.iter().copied())?, of_each), end)
    }

    fn of(
        data: Placed,
        first: FirstCounters,
        others: Others,
        (aad, aads): (Vec<u8>, Placed),
        end: E,
    ) -> Result<Self, Error> {
        if others.iter().any(|(_, nonce)| nonce.is_empty()) {
            return Err(Error::NonceLength { bytes: 0 });
        }
        let tag_bytes = end.expected().map(|tags| tags.bytes.clone());
        let messages = Arc::new(Messages::of(data, first, aads, tag_bytes).or_else(refused)?);
        Ok(Self { messages, order: Arc::default(), aad: Arc::new(aad), others: Arc::new(others), end })
    }
}

impl<E> GcmBatch<E> {
    /// The number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Processes a message on this core and returns its tag. The hash key is the cipher's.
pub(crate) fn one(cipher: &CpuKey, key: &HashKey, mut whole: WholeMessage<'_, '_, '_>) -> [u8; 16] {
    if let Some(tag) = cipher.message(&mut whole) {
        return tag;
    }
    let WholeMessage { direction, first, aad, data } = whole;
    let lengths = lengths(aad.len() as u64, data.len() as u64);
    let mut hash = key.hash(aad);
    cipher.crypt_and_hash(direction, key, first.after(1), &mut hash, data);
    let mut mask = Zeroizing::new(first.block.to_be_bytes());
    encrypt_block(cipher, &mut mask);
    let hash = key.append_block(&hash, &lengths);
    std::array::from_fn(|i| hash[i] ^ mask[i])
}

/// Messages that a core processes in turn: their numbers, the data from the first to the last, and their tags.
pub(crate) struct Group<'a> {
    numbers: Range<usize>,
    data: Buffers<'a>,
    tags: &'a mut [[u8; 16]],
}

impl Group<'_> {
    /// Has each of them processed, which returns its tag, until the call is stopped.
    pub(crate) fn each(
        self,
        messages: &Messages,
        stop: &Stop,
        one: impl Fn(usize, Message, InOutBuf<'_, '_, u8>) -> [u8; 16],
    ) {
        let (mut rest, mut at) = (self.data.into_in_out(), messages.range(self.numbers.start).start);
        for (n, tag) in self.numbers.zip(self.tags).take_while(|_| !stop.is_now()) {
            let message = messages.get(n);
            let (_, from) = rest.split_at((message.at - at) as usize);
            let (this, after) = from.split_at(message.bytes as usize);
            (rest, at) = (after, message.at + message.bytes);
            *tag = one(n, message, this);
        }
    }
}

impl<E: Tagging<Results>> GcmBatch<E> {
    pub(crate) fn results_of(&self, tags: Vec<[u8; 16]>) -> Result<Results, NoMemory> {
        Results::of(tags, self.end.expected())
    }

    pub(crate) fn messages(&self) -> &Messages {
        &self.messages
    }

    /// The first message whose nonce does not have 12 bytes, and how many it has.
    pub(crate) fn other_nonce(&self) -> Option<(usize, usize)> {
        self.others.iter().next().map(|(n, nonce)| (n, nonce.len()))
    }

    /// What a call returns whose only part has these results ([`finish`]).
    pub(crate) fn finish(
        &self,
        parts: Vec<Option<Results>>,
        of_nothing: impl FnOnce() -> Option<Results>,
    ) -> Result<E::Output, Error> {
        finish(&self.end, self.messages.places(), parts, of_nothing)
    }

    /// The results of a device: tags of 16 bytes, or verdicts of four, since it has compared the tags.
    pub(crate) fn results_on_device(&self, results: &[u8]) -> Result<Results, NoMemory> {
        if self.end.expected().is_none() {
            return self.results_of(collected(results.as_chunks().0.iter().copied())?);
        }
        let words = results.as_chunks::<4>().0.iter();
        Ok(Results { tags: vec![], authentic: collected(words.map(|word| *word == [0; 4]))? })
    }

    /// The order in which a device hashes them.
    pub(crate) fn order(&self) -> Result<&Order, NoMemory> {
        made_once(&self.order, || self.messages.order())
    }

    /// The additional data of all messages.
    pub(crate) fn aad(&self) -> &[u8] {
        &self.aad
    }

    /// The tags that messages should have, padded with zeros, if they are decrypted.
    pub(crate) fn expected(&self) -> Option<&[[u8; 16]]> {
        self.end.expected().map(|tags| &tags.padded[..])
    }

    /// A message, with its data.
    pub(crate) fn whole<'i, 'o>(&self, message: Message, data: InOutBuf<'i, 'o, u8>) -> WholeMessage<'_, 'i, 'o> {
        WholeMessage {
            direction: if self.end.expected().is_some() { Direction::Decrypt } else { Direction::Encrypt },
            first: CounterBlock::of_gcm(u128::from_be_bytes(message.first), !self.others.is_empty()),
            aad: &self.aad[message.aad_at as usize..][..message.aad_bytes as usize],
            data,
        }
    }

    /// Has groups of messages processed on the CPU cores, and clears those that are not authentic.
    pub(crate) fn on_cores(&self, mut data: Buffers<'_>, work: impl Fn(Group<'_>) + Sync) -> Result<Results, NoMemory> {
        let (messages, count) = (&*self.messages, self.len());
        // A single message stays on this thread, whose caches may have it.
        let groups = groups(count, AT_A_TIME);
        let range = |group: Range<usize>| messages.range(group.start).start..messages.range(group.end - 1).end;
        let mut tags = filled([0; 16], count)?;
        let at_a_time = groups.clone().next().map_or(1, |group| group.len());
        let parts = data.reborrow().parts(groups.clone().map(range));
        let all = groups.zip(parts).zip(tags.chunks_mut(at_a_time));
        divided(all, |((numbers, data), tags)| work(Group { numbers, data, tags }));
        let results = self.results_of(tags)?;
        for (n, is_authentic) in results.authentic.iter().enumerate() {
            if !is_authentic {
                let Range { start, end } = messages.range(n);
                data.output()[start as usize..end as usize].fill(0);
            }
        }
        Ok(results)
    }
}

/// The maximum number of messages that a core takes at a time.
const AT_A_TIME: usize = 64;

impl<E: Tagging<Results>> Operation for GcmBatch<E> {
    type Output = E::Output;
    const NAME: &'static str = "a GCM batch";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    fn check(&self, bytes: u64) -> Result<(), Error> {
        self.messages.within(bytes, RANGES.what).or_else(refused)
    }

    fn clear(&self, output: &mut [u8]) {
        for Range { start, end } in (0..self.len()).map(|n| self.messages.range(n)) {
            output[start as usize..end as usize].fill(0);
        }
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded {
            hashed: Some(Hashed::Output),
            counters_are_secret: !self.others.is_empty(),
            of_messages: true,
            on_host: OnHost::Cpu,
            ..KernelsNeeded::of(Mode::Ctr)
        }
    }

    one_pass!();
}

impl<E: Tagging<Results>> Pass for GcmBatch<E> {
    type Ready = Keyed<E>;

    fn ready(mut self, key: Option<&CpuKey>) -> Result<Keyed<E>, Error> {
        let cipher = needed::<Self>(key)?;
        let hash = cipher.hash_key();
        if !self.others.is_empty() {
            let counters = self.others.iter().map(|(n, nonce)| (n, first_counter(&hash, nonce)));
            self.messages = Arc::new(self.messages.with_secret_counters(counters)?);
        }
        let mut keyed = Keyed { batch: self, hash, of_nothing: Arc::default() };
        let messages = &*keyed.batch.messages;
        if messages.places().have_no_bytes() {
            let one = |n| one(cipher, &keyed.hash, keyed.batch.whole(messages.get(n), (&mut [][..]).into()));
            let tags = collected((0..messages.len()).map(one))?;
            keyed.of_nothing = Arc::new(keyed.batch.results_of(tags)?);
        }
        Ok(keyed)
    }
}

impl<E: Tagging<Results>> Ready for Keyed<E> {
    type Part = Option<Results>;
    type Output = E::Output;

    /// Its messages go to all cores.
    fn cut(&self) -> Option<Cut<Self>> {
        None
    }

    fn messages(&self) -> Result<Option<Batch<'_>>, NoMemory> {
        let batch = &self.batch;
        Ok(Some(Batch::Gcm(OfGcm {
            messages: &batch.messages,
            order: batch.order()?,
            aad: batch.aad(),
            expected: batch.expected(),
            counters_are_secret: !batch.others.is_empty(),
            hash: &self.hash,
        })))
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) -> Option<Results> {
        let stop = Stop::current();
        let all = |group: Group<'_>| {
            let one = |_, message, data: InOutBuf<'_, '_, u8>| one(cipher, &self.hash, self.batch.whole(message, data));
            cipher.scrubbed(|| group.each(&self.batch.messages, &stop, one));
        };
        self.batch.on_cores(data, all).ok()
    }

    fn part(&self, _bytes: u64, results: &[u8]) -> Option<Results> {
        self.batch.results_on_device(results).ok()
    }

    fn finish(&self, parts: Vec<Option<Results>>) -> Result<E::Output, Error> {
        self.batch.finish(parts, || self.of_nothing.copied().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::Key;
    use crate::cpu::key::CpuKey;
    use crate::op::batch::MOST;

    /// A batch of adjoining messages with these numbers of bytes.
    fn batch(lengths: &[u64]) -> Result<GcmEncryptBatch, Error> {
        let nonces: Vec<[u8; 12]> =
            (0..lengths.len() as u64).map(|n| (u128::from(n) << 32).to_le_bytes()[..12].try_into().unwrap()).collect();
        let mut end = 0;
        let messages = nonces.iter().zip(lengths).map(|(nonce, bytes)| {
            end += bytes;
            GcmMessage { nonce, aad: b"a header", range: end - bytes..end }
        });
        GcmEncryptBatch::new(&messages.collect::<Vec<_>>())
    }

    #[test]
    fn a_message_and_a_batch_have_no_more_than_kernels_can_count() {
        // 2^32 - 2 blocks and one for the tag make 2^27 runs of 32, of which 2^32 - 1 can be counted.
        assert!(batch(&[LONGEST]).is_ok() && batch(&[LONGEST + 1]).is_err());
        let most = batch(&[LONGEST; 31]).unwrap();
        let last = most.messages.get(30);
        assert_eq!(last.first_run, 30 << 27);
        assert_eq!((last.at, last.bytes, last.aad_at), (30 * LONGEST, LONGEST, 240));
        assert!(batch(&[LONGEST; 32]).is_err());
        assert!(batch(&[&[LONGEST; 31][..], &[LONGEST - 512]].concat()).is_ok(), "2^32 - 1 runs");
        let ends = 31 * LONGEST;
        assert!(most.check(ends).is_ok() && most.check(u64::MAX).is_ok() && most.check(ends - 1).is_err());
        assert!(check_number(MOST).is_ok() && check_number(MOST + 1).is_err() && MOST == 1 << 31);
    }

    #[test]
    fn in_host_memory_the_cpu_processes_a_batch() {
        assert!(batch(&[1]).unwrap().kernels().are_on_cpu());
    }

    /// Wherever the two messages are, and whether the nonces count up or not.
    #[test]
    fn a_nonce_that_is_there_twice_is_refused() {
        let batch = |nonces: &[u8]| {
            let message = |nonce| GcmMessage { nonce: std::slice::from_ref(nonce), aad: &[], range: 0..0 };
            GcmEncryptBatch::new(&nonces.iter().map(message).collect::<Vec<_>>())
        };
        for nonces in [&[1, 1][..], &[1, 2, 2], &[1, 1, 2], &[2, 1, 2], &[3, 1, 1, 2]] {
            assert!(matches!(batch(nonces), Err(Error::Batch { what }) if what.contains("same nonce")), "{nonces:?}");
        }
        assert!(batch(&[1, 2, 3]).is_ok() && batch(&[3, 1, 2]).is_ok());
    }

    #[test]
    fn additional_data_is_counted_in_32_bits() {
        const MOST: usize = u32::MAX as usize;
        let sum = |lengths: &[usize]| sum_of(lengths.iter().copied());
        assert_eq!([sum(&[]), sum(&[MOST]), sum(&[1, MOST - 1])], [Some(0), Some(u32::MAX), Some(u32::MAX)]);
        assert_eq!([sum(&[MOST + 1]), sum(&[MOST, 1]), sum(&[1 << 33, 0])], [None; 3]);
        assert_eq!([sum(&[1 << 31, 1 << 31]), sum(&[usize::MAX])], [None; 2]);
    }

    #[test]
    fn ranges_that_do_not_ascend_are_refused() {
        let messages = |ranges: [Range<u64>; 2]| {
            let [one, two] = ranges;
            GcmEncryptBatch::new(&[
                GcmMessage { nonce: &[1; 12], aad: b"", range: one },
                GcmMessage { nonce: &[2; 12], aad: b"", range: two },
            ])
        };
        assert!(messages([0..5, 5..5]).is_ok() && messages([3..3, 3..9]).is_ok());
        #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
        let backwards = 7..6;
        assert!(
            messages([0..5, 4..9]).is_err() && messages([0..5, backwards]).is_err() && messages([9..10, 0..2]).is_err()
        );
    }

    #[test]
    fn messages_are_counted_and_cleared() {
        assert!(!batch(&[0]).unwrap().is_empty() && batch(&[]).unwrap().is_empty());
        let mut data = [1; 7];
        batch(&[2, 3]).unwrap().clear(&mut data);
        assert_eq!(data, [0, 0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn without_data_a_device_has_nothing_to_do() {
        let key = CpuKey::new(&Key::new(&[7; 16]).unwrap());
        let is_empty =
            |lengths| batch(lengths).unwrap().ready(Some(&key)).unwrap().messages().unwrap().unwrap().is_empty();
        assert!(is_empty(&[0, 0]) && !is_empty(&[0, 1]));
    }

    #[test]
    fn counters_that_are_hashes_are_secret() {
        for (nonce, is_secret) in [(&[3; 12][..], false), (&[3; 13], true)] {
            let batch = GcmEncryptBatch::new(&[GcmMessage { nonce, aad: b"", range: 0..0 }]).unwrap();
            let whole = batch.whole(batch.messages().get(0), (&mut [][..]).into());
            assert_eq!(whole.first.is_secret, is_secret);
        }
    }
}
