//! One mode with one key on data of one size, a message or a batch, and whether an engine computes it correctly.

use aes_bitslice_core::memory::{collected, filled, room};
use aes_bitslice_runtime::{self as runtime, Access, Buffers, Cipher, Direction, Engine, Key};
use zeroize::Zeroizing;

use super::chunks::{chunks, expected};
use super::cores::first_difference;
use super::host_data::HostData;
use super::start::{IV, start};
use crate::args::size::Size;
use crate::error::{Error, Exit, Result};
use crate::modes::batch::Messages;
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::{Place, Sectors};
use crate::modes::operation::{AnyOperation, Returned, Tags};

/// A mode with a key.
#[derive(Clone, Copy)]
pub struct Keyed<'a> {
    /// The key's place among the measured keys.
    pub index: usize,
    pub key: &'a Key,
    /// The key on the `cpu` engine.
    pub reference: &'a Cipher,
    pub mode: MeasuredMode,
    pub sectors: Sectors,
    /// How many keys messages with keys of their own take in turn; one for each, if not given.
    pub keys: Option<usize>,
    pub runs: u32,
}

/// A measured key and mode with data of one size.
pub struct Case<'a> {
    pub keyed: Keyed<'a>,
    pub size: Size,
    /// Bytes of the data.
    pub bytes: usize,
    pub operation: Box<dyn AnyOperation>,
    /// Those of a batch.
    pub messages: Option<Messages>,
    /// The tags that it makes.
    pub tags: Option<Tags>,
}

impl<'a> Case<'a> {
    /// Computes what the first bytes of the input become, and their tags; of a batch message by message. If tags are to be verified, the
    /// input becomes what it is encrypted to. There may be more bytes than the host has: then nothing is computed.
    pub fn new(keyed: Keyed<'a>, size: Size, data: &mut HostData) -> Result<Self> {
        if let Some(count) = size.messages {
            return Self::of_batch(keyed, count, size, data);
        }
        let (Keyed { reference, mode, sectors, .. }, bytes) = (keyed, size.each);
        let mut place = start(sectors);
        let mut tags = None;
        if let (Some(input), Some(expected)) = (data.input.get_mut(..bytes), data.expected.get_mut(..bytes)) {
            if mode.about().verifies {
                let encrypt = (mode.mode.operation)(Direction::Encrypt, &place);
                let made = encrypt.on_host(reference, Buffers::from((&*input, &mut *expected)))?;
                let Some(Tags::One(tag)) = made else { unreachable!("a tag to verify") };
                place.tag = tag;
                input.swap_with_slice(expected);
            }
            tags = mode.operation(&place).on_host(reference, Buffers::from((&*input, expected)))?;
        }
        Ok(Case { keyed, size, bytes, operation: mode.operation(&place), messages: None, tags })
    }

    fn of_batch(keyed: Keyed<'a>, count: usize, call: Size, data: &mut HostData) -> Result<Self> {
        let (Keyed { reference, mode, key, .. }, bytes, each) = (keyed, call.bytes(), call.each);
        let number = mode.mode.batches.keys(count, keyed.keys).unwrap_or(0);
        let size = key.bits().bytes();
        let mut keys = Zeroizing::new(room(number.min(1) * count.saturating_mul(size))?);
        // In one piece: a `Key` for each would be as many allocations.
        for n in 0..number.min(1) * count {
            match n.checked_sub(number) {
                None => keys.extend_from_slice(mode.generate_key(key.bits())?.expose()),
                Some(n) => keys.extend_from_within(n * size..(n + 1) * size),
            }
        }
        let mut messages = Messages { count, bytes: each, first_iv: IV, keys, turn: number, tags: room(count)? };
        let about = mode.about();
        let direction = if about.verifies { Direction::Encrypt } else { mode.direction };
        if let (Some(input), Some(expected)) = (data.input.get_mut(..bytes), data.expected.get_mut(..bytes)) {
            let engine = reference.engine();
            for (n, (from, to)) in input.chunks(each).zip(expected.chunks_mut(each)).enumerate() {
                let own = messages.keys.get(n * size..(n + 1) * size).map(Key::new).transpose()?;
                let own = own.map(|key| engine.cipher(&key)).transpose()?;
                let operation = (mode.mode.operation)(direction, &Place::start(messages.iv(n)));
                let made = operation.on_host(own.as_ref().unwrap_or(reference), Buffers::from((from, to)))?;
                if let Some(Tags::One(tag)) = made {
                    messages.tags.push(tag.as_bytes().try_into().expect("a whole tag"));
                }
            }
            if about.verifies {
                input.swap_with_slice(expected);
            }
        } else {
            messages.tags = filled([0; 16], count)?;
        }
        let operation = mode.batch(key.bits(), &messages)?.expect("a mode that has batches");
        let is_checked = about.has_tag && !about.verifies;
        let tags = is_checked.then(|| collected(messages.tags.iter().copied()).map(Tags::Each)).transpose()?;
        Ok(Case { keyed, size: call, bytes, operation, messages: Some(messages), tags })
    }

    /// An error if the `output` of an engine is not as `expected`, or its tags are others.
    pub fn check(&self, engine: &Engine, tags: Option<&Tags>, output: &[u8], expected: &[u8]) -> Result<()> {
        let writes = self.operation.about().access != Access::Reads;
        if let Some(first) = writes.then(|| first_difference(output, expected)).flatten() {
            return Err(self.is_wrong_at(engine, first));
        }
        let what = match (tags, &self.tags) {
            (tags, expected) if tags == expected.as_ref() => return Ok(()),
            (Some(Tags::Each(tags)), Some(Tags::Each(expected))) if tags.len() == expected.len() => {
                let first = tags.iter().zip(expected).position(|(tag, expected)| tag != expected);
                format!("the tag of message {} of {} is not that of `cpu`", first.expect("they differ"), self.size)
            }
            _ => format!("the tag of {} bytes is not that of `cpu`", self.bytes),
        };
        Err(self.is_wrong(engine, &what))
    }

    /// An error if chunks of an engine's output are not what the `cpu` engine makes of its input, which `input` and `output` copy from a
    /// byte on; some reach across `cuts`.
    pub fn check_chunks(
        &self,
        engine: &Engine,
        cuts: &[usize],
        input: impl Fn(usize, &mut [u8]) -> Result<()>,
        output: impl Fn(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let Keyed { reference, mode, sectors, .. } = self.keyed;
        for chunk in chunks(self.bytes, cuts) {
            let expected = expected(reference, mode, sectors, chunk.clone(), &input)?;
            let mut found = vec![0; chunk.len()];
            output(chunk.start, &mut found)?;
            if let Some(first) = first_difference(&found, &expected) {
                return Err(self.is_wrong_at(engine, chunk.start + first));
            }
        }
        Ok(())
    }

    /// The tags that a call returned, if it succeeded. The input is authentic.
    pub fn returned(&self, engine: &Engine, returned: Returned) -> Result<Option<Tags>> {
        returned.map_err(|error| match error {
            runtime::Error::Unauthenticated => {
                self.is_wrong(engine, &format!("it refuses the tag of {} bytes that `cpu` made", self.bytes))
            }
            error => error.into(),
        })
    }

    fn is_wrong_at(&self, engine: &Engine, first: usize) -> Error {
        self.is_wrong(engine, &format!("byte {first} of {} is the first to differ from `cpu`", self.bytes))
    }

    fn is_wrong(&self, engine: &Engine, what: &str) -> Error {
        let (engine, mode, bits) = (engine.description(), self.keyed.mode.name, self.keyed.key.bits().bits());
        let message = format!("{engine} computes {mode} with a key of {bits} bits wrongly: {what}; do not use it");
        Error::new(Exit::Failure, message)
    }
}
