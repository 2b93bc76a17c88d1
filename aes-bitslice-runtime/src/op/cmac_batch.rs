//! CMAC of many messages in one call (SP 800-38B), under one key.
//!
//! The blocks of a message are chained, so messages are processed side by side: all of them on a GPU, a few at a time on each core of a
//! CPU. They are ordered by number of blocks, longest first, and all messages of a group end together: one with fewer blocks begins later.

use crate::base::error::Error;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::base::stop::Stop;
use crate::base::tag::Tag;
use crate::base::threads::{copy, divided, threads};
use crate::cpu::block::{Block, BlockCipher};
use crate::cpu::key::CpuKey;
use crate::op::batch::{Batch, OfCmac, Results, SideBySide, Tags, check_number, finish, refused};
use crate::op::buffers::{Access, Buffers};
use crate::op::cmac::Derived;
use crate::op::kernels::{KernelsNeeded, OnHost};
use crate::op::operation::{Cut, Keys, Operation, Pass, Place, Ready, needed, one_pass};
use crate::op::ranges::{Placed, Ranges, Rules};
use crate::op::tagging::{Make, Tagging, Verify};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::cmac::{LONGEST, Message};
use aes_bitslice_core::memory::{NoMemory, filled};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::order::Order;
use cipher::array::Array;
use cipher::inout::InOutBuf;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// CMAC of messages that are ranges of a call's data; `E` says what is done with their tags.
#[derive(Clone)]
pub struct CmacMessages<E> {
    messages: Arc<Placed>,
    /// Those with the most blocks first.
    order: Arc<Order>,
    end: E,
}

/// Messages, and what is derived from the key.
#[derive(Clone)]
pub struct Keyed<E> {
    batch: CmacMessages<E>,
    derived: Arc<Derived>,
}

/// Returns the tag of each message, of 16 bytes, in the order of the messages. For shorter tags use [`Tag::truncated`] or [`Tag::short`].
///
/// ```
/// use aes_bitslice_runtime::{Backend, CmacBatch, CmacVerifyBatch, Engine, Error, Key, KeyBits};
///
/// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes128)?)?;
/// let mut data = *b"one message, and another";
/// let messages = [0..11, 13..24];
/// let tags = cipher.run(CmacBatch::new(&messages)?, &data)?;
/// data[20] ^= 1; // somebody changes the second one
/// let verified = cipher.run(CmacVerifyBatch::new(&messages, &tags)?, &data)?;
/// assert_eq!(verified.failed(), [1]);
/// # Ok::<(), Error>(())
/// ```
///
/// Ranges may have any length, including zero, any order and gaps, and may overlap: the result of a message does not depend on any other.
///
/// In host memory the CPU cores do the work, whatever the engine. In device memory of a CUDA engine it is one launch on the caller's stream
/// ([`DeviceCipher::run_with_output`](crate::cuda::DeviceCipher::run_with_output)), fast for messages that start at multiples of 4 bytes.
/// There, too, the blocks of a message are processed one after the other: thousands of messages keep a GPU busy, and a few do not.
pub type CmacBatch = CmacMessages<Make>;

/// Reports for each message whether it is the one that its tag was computed from. It is not an error of the call if
/// some fail.
pub type CmacVerifyBatch = CmacMessages<Verify<Tags>>;

impl CmacBatch {
    /// Takes messages as ranges of bytes in the data.
    ///
    /// # Errors
    /// [`Error::Batch`] for a range that ends before it begins, and for too many messages or too many bytes in one.
    pub fn new(messages: &[Range<u64>]) -> Result<Self, Error> {
        Self::of(&messages.into(), Make)
    }

    /// Takes messages as arrays or a rule describe where they are. The call returns tags as one array: 16 bytes of each message, in the
    /// order of the messages.
    ///
    /// ```
    /// use aes_bitslice_runtime::{Backend, CmacBatch, CmacVerifyBatch, Engine, Error, Key, KeyBits, Ranges};
    ///
    /// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes128)?)?;
    /// let records = vec![7; 1000 * 64];
    /// let ranges = Ranges::equal(1000, 64);
    /// let tags = cipher.run(CmacBatch::from_arrays(&ranges)?, &records)?;
    /// cipher.run(CmacVerifyBatch::from_arrays(&ranges, tags.as_flattened(), 16)?, &records)?.all()?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new); and [`Error::Batch`] for negative positions and arrays of different lengths.
    pub fn from_arrays(ranges: &Ranges<'_>) -> Result<CmacMessages<SideBySide>, Error> {
        CmacMessages::of(ranges, SideBySide)
    }
}

impl CmacVerifyBatch {
    /// Takes messages as ranges of bytes in the data, and for each its tag, whole, [truncated](Tag::truncated) or [short](Tag::short).
    /// Everything is copied.
    ///
    /// # Errors
    /// [`Error::Batch`] for a range that ends before it begins, for too many messages or too many bytes in one, and if the number of tags
    /// differs from the number of messages.
    pub fn new(messages: &[Range<u64>], tags: &[Tag]) -> Result<Self, Error> {
        Self::of(&messages.into(), Verify(Tags::new(tags, messages.len())?))
    }

    /// Takes messages as arrays or a rule describe where they are, and their contiguous tags, of `tag_bytes` bytes each: 16, or the first 12
    /// to 15, 8 or 4 if both sides agreed on that (SP 800-38B, appendix A.2, recommends 8 or more). Everything is copied.
    ///
    /// # Errors
    /// As [`CmacBatch::from_arrays`]; [`Error::Batch`] also for another number of bytes of tags than the messages have, and
    /// [`Error::TagLength`] for another length of a tag.
    pub fn from_arrays(ranges: &Ranges<'_>, tags: &[u8], tag_bytes: usize) -> Result<Self, Error> {
        let short = tag_bytes < 12;
        Self::of(ranges, Verify(Tags::side_by_side(tags, tag_bytes, short, ranges.len())?))
    }
}

/// The maximum number of messages side by side on a core: many times what processors encrypt at a time, and few enough for the first-level
/// cache.
const LANES: usize = 256;

const RANGES: Rules = Rules { what: "message", ascending: false, longest: LONGEST };

/// A message that is this range of the data.
pub(crate) fn message(Range { start, end }: Range<u64>) -> Message {
    Message { at: start, bytes: end - start }
}

impl<E> CmacMessages<E> {
    fn of(ranges: &Ranges<'_>, end: E) -> Result<Self, Error> {
        check_number(ranges.len())?;
        let messages = ranges.placed(&RANGES).or_else(refused)?;
        let order = match messages.equal_length() {
            Some(_) => Order::AS_GIVEN,
            None => Order::longest_first(messages.len(), |n| message(messages.get(n)).blocks())?,
        };
        Ok(Self { messages: Arc::new(messages), order: Arc::new(order), end })
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<E: Tagging<Results>> CmacMessages<E> {
    /// The results of messages that have these tags, in the order of processing.
    fn results_of(&self, tags: &[[u8; 16]]) -> Result<Results, NoMemory> {
        let expected = self.end.expected();
        if let (true, Some(expected)) = (self.order.is_as_given(), expected) {
            return Results::compared(tags, expected);
        }
        let mut given = filled([0; 16], tags.len())?;
        if self.order.is_as_given() {
            copy([(given.as_flattened_mut(), tags.as_flattened())]);
        } else {
            tags.iter().enumerate().for_each(|(position, tag)| given[self.order.at(position)] = *tag);
        }
        Results::of(given, expected)
    }
}

impl<E> Keyed<E> {
    /// Computes the tags of some messages, [`LANES`] at most: as many as there are places for tags, from this position of the order on.
    fn tags(&self, cipher: &CpuKey, data: &[u8], position: usize, tags: &mut [[u8; 16]]) {
        let [k1, k2] = self.derived.subkeys();
        let CmacMessages { messages, order, .. } = &self.batch;
        let at_position = |position| message(messages.get(order.at(position)));
        // At most as many as a core takes at a time, on the stack.
        let mut places = [Message { at: 0, bytes: 0 }; LANES];
        let messages = &mut places[..tags.len()];
        messages.iter_mut().zip(position..).for_each(|(message, position)| *message = at_position(position));
        let bytes = |message: &Message| &data[message.at as usize..][..message.bytes as usize];
        let mut states = [Block::default(); LANES];
        let states = &mut states[..tags.len()];
        let mut begun = 0;
        for left in (1..=messages.first().map_or(0, |message| message.blocks())).rev() {
            begun += messages[begun..].iter().take_while(|message| message.blocks() >= left).count();
            for (state, message) in states[..begun].iter_mut().zip(&*messages) {
                let rest = &bytes(message)[16 * (message.blocks() - left) as usize..];
                match (left, rest.as_chunks().0.first()) {
                    (1, whole) => add(state, &last(rest, if whole.is_some() { k1 } else { k2 })),
                    (_, whole) => add(state, whole.expect("a block that is not the last")),
                }
            }
            cipher.process(Direction::Encrypt, InOutBuf::from(&mut states[..begun]));
        }
        tags.iter_mut().zip(&*states).for_each(|(tag, state)| *tag = (*state).into());
        Array::slice_as_flattened_mut(states).zeroize();
    }
}

fn add(state: &mut Block, block: &[u8; 16]) {
    *state = (u128::from_ne_bytes((*state).into()) ^ u128::from_ne_bytes(*block)).to_ne_bytes().into();
}

/// A last block with its padding and subkey (section 6.2, steps 1 to 4).
fn last(bytes: &[u8], subkey: &[u8; 16]) -> [u8; 16] {
    let mut block = *subkey;
    block.iter_mut().zip(bytes).for_each(|(byte, data)| *byte ^= data);
    if let Some(byte) = block.get_mut(bytes.len()) {
        *byte ^= 0x80;
    }
    block
}

impl<E> fmt::Debug for CmacMessages<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CMAC of {} messages", self.messages.len())
    }
}

impl<E: Tagging<Results>> Operation for CmacMessages<E> {
    type Output = E::Output;
    const NAME: &'static str = "a CMAC batch";
    const ACCESS: Access = Access::Reads;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    fn check(&self, bytes: u64) -> Result<(), Error> {
        self.messages.within(bytes, RANGES.what, "the data").or_else(refused)
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded { of_messages: true, on_host: OnHost::Cpu, ..KernelsNeeded::of(Mode::EcbEncrypt) }
    }

    one_pass!();
}

impl<E: Tagging<Results>> Pass for CmacMessages<E> {
    type Ready = Keyed<E>;

    fn ready(self, key: Option<&CpuKey>) -> Result<Keyed<E>, Error> {
        let derived = Arc::new(needed::<Self>(key).map(Derived::new)?);
        Ok(Keyed { batch: self, derived })
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
        let CmacMessages { messages, order, .. } = &self.batch;
        Ok(Some(Batch::Cmac(OfCmac { messages, order, subkeys: self.derived.subkeys() })))
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) -> Option<Results> {
        let (data, messages, stop) = (data.input(), self.batch.len(), Stop::current());
        let mut made = Zeroizing::new(filled([0; 16], messages).ok()?);
        // Few enough side by side that no core is left without any.
        let lanes = messages.div_ceil(threads()).clamp(1, LANES);
        let some = |(position, tags): (usize, &mut [[u8; 16]])| {
            if !stop.is_now() {
                // Its own lists are on the stack, above what the kernel leaves there.
                scrubbed::<DERIVED, _>(|| self.tags(cipher, data, position, tags));
            }
        };
        divided((0..messages).step_by(lanes).zip(made.chunks_mut(lanes)), some);
        self.batch.results_of(&made).ok()
    }

    fn part(&self, _bytes: u64, results: &[u8]) -> Option<Results> {
        self.batch.results_of(results.as_chunks().0).ok()
    }

    fn finish(&self, parts: Vec<Option<Results>>) -> Result<E::Output, Error> {
        finish(&self.batch.end, &self.batch.messages, parts, || {
            let tags = Zeroizing::new(filled(*self.derived.of_empty(), self.batch.len()).ok()?);
            self.batch.results_of(&tags).ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_more_than_kernels_can_count() {
        assert_eq!(LONGEST, 16 * ((1 << 32) - 1));
        let batch = |range| CmacBatch::new(&[range]);
        assert!(batch(0..LONGEST).is_ok() && batch(5..LONGEST + 5).is_ok() && batch(0..LONGEST + 1).is_err());
        assert!(batch(1 << 40..1 << 40).is_ok() && batch(u64::MAX - 1..u64::MAX).is_ok());
        #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
        let backwards = 7..6;
        assert!(batch(backwards).is_err());
        // The end that counts is the largest.
        let ends = CmacBatch::new(&[(1 << 40) - 9..1 << 40, 0..9]).unwrap();
        assert!(ends.check(1 << 40).is_ok() && ends.check((1 << 40) - 1).is_err());
    }

    #[test]
    fn tags_side_by_side_have_one_of_the_allowed_lengths() {
        let verify = |bytes| CmacVerifyBatch::from_arrays(&Ranges::equal(1, 5), &vec![7; bytes], bytes);
        for bytes in 0..20 {
            assert_eq!(verify(bytes).is_ok(), matches!(bytes, 4 | 8 | 12..=16), "{bytes}");
        }
        assert!(!verify(16).unwrap().is_empty() && CmacBatch::new(&[]).unwrap().is_empty());
    }
}
