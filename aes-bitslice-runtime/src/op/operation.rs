//! What an operation is, and what engines ask of it.

use crate::base::error::Error;
use crate::base::key::{Key, ONE_KEY, TWO_KEYS};
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::op::batch::Batch;
use crate::op::buffers::{Access, Buffers};
use crate::op::cpu_cipher::CpuCipher;
use crate::op::cpu_key::CpuKey;
use crate::op::launch::{Launch, Shape};
use crate::op::partial_hash::{HashKey, Verdict};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;

/// What is to be done with a call's data: a value, such as [`Ctr::new(&counter, 0)`](crate::Ctr::new). Calls on host
/// memory take every operation that their engine [supports](crate::Engine::supports), those on memory of devices every
/// one that has kernels.
///
/// It is implemented by the types of `op`, and by no others.
pub trait Operation: Steps {
    /// The name, for messages.
    const NAME: &'static str;
    /// What it does to its data.
    const ACCESS: Access;
    /// Which keys it needs.
    const KEYS: Keys = Keys::One;
    /// The lengths of keys that it is defined for.
    const KEY_LENGTHS: &'static [KeyBits] = &KeyBits::ALL;
    /// Whether the CPU does it in host memory, whatever the engine, and its data cannot be cut.
    const SERIAL: bool = false;
    /// Whether each call is done under a key of its own, which is derived from the cipher's: on the CPU, and on devices in
    /// host memory and, with CUDA, in the memory of one GPU.
    const HAS_OWN_KEY: bool = false;
    /// Whether what it writes must not be used before it was verified.
    const VERIFIES: bool = false;
}

/// The data of which a hash is computed on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hashed {
    /// What is read, before anything is written.
    Input,
    /// What is written.
    Output,
}

impl Hashed {
    /// One of the two.
    pub(crate) fn of<T>(self, input: T, output: T) -> T {
        match self {
            Self::Input => input,
            Self::Output => output,
        }
    }
}

/// Which keys an operation needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// One AES key. The kernel's is enough on a device, so it may be baked in.
    One,
    /// One AES key, which has to be on the CPU, too: something is derived from it before the data is cut, or all is
    /// done there.
    OneOnCpu,
    /// The two AES keys of XTS, on the CPU, too.
    Two,
}

/// A key that a call has of its own.
pub struct OwnKey<'o> {
    pub(crate) key: &'o Key,
    /// The same, expanded on the CPU.
    pub(crate) cpu: &'o Arc<CpuKey>,
}

/// The steps of an operation, as engines ask for them. Not for use outside the crate, where nothing can name it.
pub trait Steps: Clone + Send + Sync + 'static {
    /// What a chunk of a call returns in addition to what it writes.
    type Part: Send + Default;

    /// What a call returns in addition to what it writes.
    type Output: Send + 'static;

    /// The mode of the kernels that do it; `None` for an operation without kernels.
    fn mode(&self) -> Option<Mode>;

    /// Refuses a call on this many bytes that cannot be.
    fn check(&self, bytes: u64) -> Result<(), Error>;

    /// The same operation with what it derives from the key, once a call, before the data is cut. Only asked of
    /// operations that need their [key on the CPU](Keys::OneOnCpu).
    fn keyed(self, _cipher: &impl CpuCipher) -> Self {
        self
    }

    /// The key of the call, of an operation that [has its own](Operation::HAS_OWN_KEY) and was [keyed](Self::keyed).
    fn own_key(&self) -> Option<OwnKey<'_>> {
        None
    }

    /// Whether this pass over the data writes nothing, for another one does.
    fn only_reads(&self) -> bool {
        false
    }

    /// The next pass over the data, which begins when this one is done and has returned these parts; `None` behind the last.
    fn next_pass(&self, _parts: &[Self::Part]) -> Result<Option<Self>, Error> {
        Ok(None)
    }

    /// How many bytes (fewer than 16) into a block the data begins.
    fn skip(&self) -> usize {
        0
    }

    /// Bytes that all chunks but the last are multiples of, counted from the first byte of the call.
    fn grain(&self) -> u64 {
        16
    }

    /// The fewest bytes that a last chunk behind others has.
    fn least(&self) -> u64 {
        1
    }

    /// The operation on what remains when the first `bytes` are done. `before` is the block of input before that byte;
    /// it is only asked for by operations that are [chained](Self::is_chained).
    fn after(&self, bytes: u64, before: impl FnOnce() -> [u8; 16]) -> Self;

    /// Whether [`after`](Self::after) asks for the block before.
    fn is_chained(&self) -> bool {
        false
    }

    /// The launches of a call, in order. Each works on bytes of its own, and the order in which they are done makes no
    /// difference.
    fn launches(&self, _shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        unreachable!("there are no kernels for it")
    }

    /// Which data GHASH is computed of on a device, besides what kernels of the [mode](Self::mode) do; none by default.
    fn hashed(&self) -> Option<Hashed> {
        None
    }

    /// What tells a device whether `bytes` bytes, which are the whole message, are authentic, so that it clears them if
    /// they are not; `None` for an operation that does not verify. Asked of operations that were [keyed](Self::keyed).
    fn verdict(&self, _bytes: u64) -> Option<Verdict> {
        None
    }

    /// The key of that hash; asked of operations that were [keyed](Self::keyed).
    fn hash_key(&self) -> &HashKey {
        unreachable!("nothing is hashed")
    }

    /// What a chunk of `bytes` bytes returns that a device did, and of which it made this hash.
    fn part(&self, _bytes: u64, _hash: &[u8; 16]) -> Self::Part {
        Self::Part::default()
    }

    /// The messages of an operation that is many of them, and that GPUs do all at once; asked of operations that were
    /// [keyed](Self::keyed), but for whether there are any.
    fn batch(&self) -> Option<Batch<'_>> {
        None
    }

    /// What a call on a batch returns that a device did, and of which that returned these bytes.
    fn part_of_batch(&self, _results: &[u8]) -> Self::Part {
        Self::Part::default()
    }

    /// Does it on one core; of a [batch](Self::batch) on all.
    fn on_cpu(&self, cipher: &impl CpuCipher, data: Buffers<'_>) -> Self::Part;

    /// What the call returns, from what its chunks returned, in any order. If it fails, the output of the call is
    /// cleared.
    fn finish(&self, parts: Vec<Self::Part>) -> Result<Self::Output, Error>;
}

/// The operation with what it derives from the key on the CPU, which leaves nothing on the stack.
///
/// # Errors
/// [`Error::NeedsKey`] for one that derives something, where there is no key on the CPU, and as [`check_length`].
pub(crate) fn keyed<O: Operation>(operation: O, cpu: Option<&impl CpuCipher>) -> Result<O, Error> {
    match (O::KEYS, cpu) {
        (Keys::One, _) => Ok(operation),
        (Keys::OneOnCpu | Keys::Two, Some(cpu)) => {
            check_length::<O>(cpu.bits())?;
            Ok(scrubbed::<DERIVED, _>(|| operation.keyed(cpu)))
        }
        (Keys::OneOnCpu | Keys::Two, None) => Err(Error::NeedsKey { what: O::NAME }),
    }
}

/// Refuses a key of another kind than the operation needs: kernels would take the first half of a key of XTS for all of
/// it.
///
/// # Errors
/// [`Error::WrongKeys`].
pub(crate) fn check_keys<O: Operation>(is_xts: bool) -> Result<(), Error> {
    let needs = match (O::KEYS, is_xts) {
        (Keys::One | Keys::OneOnCpu, true) => ONE_KEY,
        (Keys::Two, false) => TWO_KEYS,
        _ => return Ok(()),
    };
    Err(Error::WrongKeys { operation: O::NAME, needs })
}

/// Refuses a key of a length that the operation is not defined for: AES-GCM-SIV has none of 192 bits.
///
/// # Errors
/// [`Error::WrongKeys`].
pub(crate) fn check_length<O: Operation>(bits: KeyBits) -> Result<(), Error> {
    match O::KEY_LENGTHS.contains(&bits) {
        true => Ok(()),
        false => Err(Error::WrongKeys { operation: O::NAME, needs: "a key of 128 or 256 bits" }),
    }
}

/// The next pass over the data ([`next_pass`](Steps::next_pass)), which leaves nothing of what it is made of on the stack.
pub(crate) fn next_pass<O: Operation>(operation: &O, parts: &[O::Part]) -> Result<Option<O>, Error> {
    match O::HAS_OWN_KEY {
        false => operation.next_pass(parts),
        true => scrubbed::<DERIVED, _>(|| operation.next_pass(parts)),
    }
}

/// What a call returns ([`finish`](Steps::finish)), which leaves nothing of what it is made of on the stack.
pub(crate) fn finished<O: Operation>(operation: &O, parts: Vec<O::Part>) -> Result<O::Output, Error> {
    match O::KEYS {
        Keys::One => operation.finish(parts),
        Keys::OneOnCpu | Keys::Two => scrubbed::<DERIVED, _>(|| operation.finish(parts)),
    }
}

/// Bytes before the first whole block.
pub(crate) fn head(operation: &impl Steps) -> u64 {
    (16 - operation.skip() as u64) % 16
}

/// Refuses a length that is not whole blocks.
pub(crate) fn whole_blocks(bytes: u64) -> Result<(), Error> {
    if bytes.is_multiple_of(16) { Ok(()) } else { Err(Error::NotWholeBlocks { len: bytes as usize }) }
}
