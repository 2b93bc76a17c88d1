//! The definition of an operation, and what engines ask of it.

use crate::base::error::Error;
use crate::base::key::Key;
use crate::cpu::cipher::CpuCipher;
use crate::cpu::hash_key::HashKey;
use crate::cpu::key::CpuKey;
use crate::op::batch::Batch;
use crate::op::buffers::{Access, Buffers};
use crate::op::launch::{Launch, Shape};
use crate::op::partial_hash::Verdict;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;

/// A way to process a call's data, as a value such as [`Ctr::new(&counter, 0)`](crate::Ctr::new). Calls on host memory
/// take every operation that their engine [supports](crate::Engine::supports); calls on device memory take every
/// operation that has kernels.
///
/// Only the types of `op` implement it.
pub trait Operation: Steps {
    /// The name, used in error texts.
    const NAME: &'static str;
    /// How it accesses its data.
    const ACCESS: Access;
    /// The keys that it needs.
    const KEYS: Keys = Keys::One;
    /// The key lengths for which it is defined.
    const KEY_LENGTHS: &'static [KeyBits] = &KeyBits::ALL;
    /// Whether its data cannot be cut. In host memory, the CPU then performs it on every engine.
    const SERIAL: bool = false;
    /// Whether each call has its own key, derived from the cipher's. The CPU supports such calls, and so do devices: in host memory and,
    /// with CUDA, in the memory of one GPU.
    const HAS_OWN_KEY: bool = false;
    /// Whether its output must not be used before it has been verified.
    const VERIFIES: bool = false;
}

/// The data that a device hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hashed {
    /// The data that is read, before anything is written.
    Input,
    /// The data that is written.
    Output,
}

impl Hashed {
    /// Selects one of the two.
    pub(crate) fn of<T>(self, input: T, output: T) -> T {
        match self {
            Self::Input => input,
            Self::Output => output,
        }
    }
}

/// The keys that an operation needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// One AES key. On a device the kernel's key is enough, so it may be baked in.
    One,
    /// One AES key, which must also be on the CPU: something is derived from it before the data is cut, or all the work
    /// is done there.
    OneOnCpu,
    /// The two AES keys of XTS, which must also be on the CPU.
    Two,
}

/// A call's own key.
pub struct OwnKey<'o> {
    pub(crate) key: &'o Key,
    /// The same key, expanded on the CPU.
    pub(crate) cpu: &'o Arc<CpuKey>,
}

/// The steps of an operation, as engines call them. Not for use outside the crate, where the trait cannot be named.
pub trait Steps: Clone + Send + Sync + 'static {
    /// The value that a chunk of a call returns in addition to its output.
    type Part: Send + Default;

    /// The value that a call returns in addition to its output.
    type Output: Send + 'static;

    /// The mode of the kernels that perform it; `None` for an operation without kernels.
    fn mode(&self) -> Option<Mode>;

    /// Refuses an invalid call on this many bytes.
    fn check(&self, bytes: u64) -> Result<(), Error>;

    /// Refuses a key that the operation must not use.
    fn check_key(&self, _cipher: &impl CpuCipher) -> Result<(), Error> {
        Ok(())
    }

    /// Adds the values that it derives from the key. Called once per call, before the data is cut, and only for
    /// operations that need their [key on the CPU](Keys::OneOnCpu): they are keyed then.
    fn derive(&mut self, _cipher: &impl CpuCipher) {}

    /// The call's key, for an operation that [has its own](Operation::HAS_OWN_KEY) and was [keyed](Self::derive).
    fn own_key(&self) -> Option<OwnKey<'_>> {
        None
    }

    /// Whether this pass over the data writes nothing, because another pass does.
    fn only_reads(&self) -> bool {
        false
    }

    /// The next pass over the data, which begins when this one has completed and returned these parts; `None` after the last.
    fn next_pass(&self, _parts: &[Self::Part]) -> Result<Option<Self>, Error> {
        Ok(None)
    }

    /// The number of bytes (fewer than 16) into a block at which the data begins.
    fn skip(&self) -> usize {
        0
    }

    /// All chunks except the last are multiples of this many bytes, counted from the first byte of the call.
    fn grain(&self) -> u64 {
        16
    }

    /// The minimum number of bytes in a last chunk that follows others.
    fn least(&self) -> u64 {
        1
    }

    /// The operation on the data that remains after the first `bytes`. `before` is the block of input before that byte;
    /// only [chained](Self::is_chained) operations ask for it.
    fn after(&self, bytes: u64, before: impl FnOnce() -> [u8; 16]) -> Self;

    /// Whether [`after`](Self::after) asks for the block before.
    fn is_chained(&self) -> bool {
        false
    }

    /// The launches of a call, in order. Each works on its own bytes, and the order of execution makes no difference.
    fn launches(&self, _shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        unreachable!("there are no kernels for it")
    }

    /// Whether counters are secret, so that no launch, branch or address may depend on them.
    fn counters_are_secret(&self) -> bool {
        false
    }

    /// The data whose GHASH a device computes, in addition to running the kernels of the [mode](Self::mode); none by
    /// default.
    fn hashed(&self) -> Option<Hashed> {
        None
    }

    /// The data from which a device determines whether `bytes` bytes, which are the whole message, are authentic, so
    /// that it clears them if they are not; `None` for an operation that does not verify. Called on operations that
    /// were [keyed](Self::derive).
    fn verdict(&self, _bytes: u64) -> Option<Verdict> {
        None
    }

    /// The key of that hash; called on operations that were [keyed](Self::derive).
    fn hash_key(&self) -> &HashKey {
        unreachable!("nothing is hashed")
    }

    /// The value that a chunk of `bytes` bytes returns, if a device processed it and computed this hash.
    fn part(&self, _bytes: u64, _hash: &[u8; 16]) -> Self::Part {
        Self::Part::default()
    }

    /// The messages of a batch operation, which GPUs process all at once; called on operations that were
    /// [keyed](Self::derive), except to find out whether there are any.
    fn batch(&self) -> Option<Batch<'_>> {
        None
    }

    /// The value that a call on a batch returns, if a device processed it and returned these bytes.
    fn part_of_batch(&self, _results: &[u8]) -> Self::Part {
        Self::Part::default()
    }

    /// Performs a whole call on one core, without the other steps, if there is a shorter way. If it fails, the output of the call is
    /// cleared. Leaves nothing derived from the key on the stack.
    fn in_one_step(&self, _cipher: &impl CpuCipher, _data: Buffers<'_>) -> Option<Result<Self::Output, Error>> {
        None
    }

    /// Performs it on one core; a [batch](Self::batch) on all cores.
    fn on_cpu(&self, cipher: &impl CpuCipher, data: Buffers<'_>) -> Self::Part;

    /// The value that the call returns, from the values of its chunks, in any order. If it fails, the output of the
    /// call is cleared.
    fn finish(&self, parts: Vec<Self::Part>) -> Result<Self::Output, Error>;
}

/// Bytes before the first whole block.
pub(crate) fn head(operation: &impl Steps) -> u64 {
    (16 - operation.skip() as u64) % 16
}

/// Refuses a length that is not whole blocks.
pub(crate) fn whole_blocks(bytes: u64) -> Result<(), Error> {
    if bytes.is_multiple_of(16) { Ok(()) } else { Err(Error::NotWholeBlocks { len: bytes as usize }) }
}
