//! What an operation is: as the caller makes it ([`Operation`]), and with the values that it derives from the key ([`Ready`]); and the
//! places where its data may be ([`Place`]), which perform one pass over the data, or those of a composition.

use crate::base::error::Error;
use crate::base::key::{ONE_KEY, TWO_KEYS};
use crate::cpu::hash_key::HashKey;
use crate::cpu::key::CpuKey;
use crate::op::batch::Batch;
use crate::op::buffers::{Access, Buffers};
use crate::op::kernels::KernelsNeeded;
use crate::op::launch::{Launch, Shape};
use crate::op::own_key::OwnKey;
use crate::op::partial_hash::{Terms, Verdict};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::memory::NoMemory;

/// A way to process a call's data, as a value such as [`Ctr::new(&counter, 0)`](crate::Ctr::new). Calls on host memory
/// take every operation that their engine [supports](crate::Engine::supports); calls on device memory take every
/// operation that has kernels.
///
/// Only types of this crate implement it.
pub trait Operation: Clone + Send + Sync + 'static {
    /// The value that a call returns in addition to its output.
    type Output: Send + 'static;

    /// The name, used in error texts.
    const NAME: &'static str;
    /// How the operation accesses its data.
    const ACCESS: Access;
    /// The keys that the operation needs.
    const KEYS: Keys = Keys::One;

    /// How this one accesses its data: of jobs, those that make key stream only write.
    #[doc(hidden)]
    fn access(&self) -> Access {
        Self::ACCESS
    }

    /// Refuses an invalid call on this many bytes.
    #[doc(hidden)]
    fn check(&self, bytes: u64) -> Result<(), Error>;

    /// Clears the output of a call that was stopped or failed, which was checked.
    #[doc(hidden)]
    fn clear(&self, output: &mut [u8]) {
        output.fill(0);
    }

    /// The kernels that perform the operation.
    #[doc(hidden)]
    fn kernels(&self) -> KernelsNeeded;

    /// Performs a whole call on one core, without the other steps, if there is a shorter way. `Some(None)` if the message is not authentic:
    /// the call fails, and its output is cleared. Leaves nothing derived from the key on the stack.
    #[doc(hidden)]
    fn in_one_step(&self, _cipher: &CpuKey, _data: Buffers<'_>) -> Option<Option<Self::Output>> {
        None
    }

    /// Performs the operation where its data is.
    #[doc(hidden)]
    fn carry_out<P: Place>(self, place: P) -> Result<P::Value<Self::Output>, Error>;
}

/// The keys that an operation needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// One AES key. On a device the kernel's key is enough, so it may be baked in.
    One,
    /// One AES key of one of these lengths, which must also be on the CPU: something is derived from it before the data is
    /// cut, or all the work is done there.
    OnCpu(&'static [KeyBits]),
    /// The two AES keys of XTS, which must also be on the CPU.
    Two,
    /// Many keys, which the operation has. The cipher needs none, and one that it has is not used.
    Own,
}

impl Keys {
    /// The lengths of these keys.
    pub fn lengths(self) -> &'static [KeyBits] {
        match self {
            Self::One | Self::Own => &KeyBits::ALL,
            Self::OnCpu(lengths) => lengths,
            Self::Two => &[KeyBits::Aes128, KeyBits::Aes256],
        }
    }

    /// Refuses a key of a different kind than the operation needs: kernels would take the first half of an XTS key for the
    /// whole key. `cpu` is the key on the CPU, if it is there.
    ///
    /// # Errors
    /// [`Error::WrongKeys`], [`Error::NeedsKey`].
    #[inline]
    pub(crate) fn check(self, operation: &'static str, cpu: Option<&CpuKey>) -> Result<(), Error> {
        let refused = |needs| Err(Error::WrongKeys { operation, needs });
        match (self, cpu) {
            (Self::One, None) | (Self::Own, _) => Ok(()),
            (Self::OnCpu(_) | Self::Two, None) => Err(Error::NeedsKey { what: operation }),
            (Self::One | Self::OnCpu(_), Some(cpu)) if cpu.is_xts() => refused(ONE_KEY),
            (Self::Two, Some(cpu)) if !cpu.is_xts() => refused(TWO_KEYS),
            (Self::OnCpu(lengths), Some(cpu)) if !lengths.contains(&cpu.bits) => refused(match lengths {
                [KeyBits::Aes256] => "a key of 256 bits",
                _ => "a key of 128 or 256 bits",
            }),
            _ => Ok(()),
        }
    }
}

/// An operation that makes one pass over its data, under the key of the cipher. All do, except for compositions of others.
pub trait Pass: Operation {
    /// The operation with what it derives from the key; itself, if that is nothing.
    type Ready: Ready<Output = Self::Output>;

    /// Derives the values from the key on the CPU, which is there if [`Operation::KEYS`] asks for it.
    fn ready(self, key: Option<&CpuKey>) -> Result<Self::Ready, Error>;
}

/// The data of a call in some memory, and the key that it is processed under.
pub trait Place: Sized {
    /// The value of a call: itself, or what it is waited for with.
    type Value<V: Send + 'static>;

    /// Performs an operation of one pass.
    fn pass<O: Pass>(self, operation: O) -> Result<Self::Value<O::Output>, Error>;

    /// Performs a composition of operations.
    ///
    /// # Errors
    /// [`Error::Unsupported`] and [`Error::WrongCall`] where there are none.
    fn composed<C: Composition>(self, composition: C) -> Result<Self::Value<C::Output>, Error>;
}

/// [`Operation::carry_out`] of an operation of one pass.
macro_rules! one_pass {
    () => {
        fn carry_out<P: Place>(self, place: P) -> Result<P::Value<Self::Output>, Error> {
            place.pass(self)
        }
    };
}
pub(crate) use one_pass;

/// A place for several passes, one after the other.
pub trait Passes: Place {
    /// Performs an operation that only reads, and waits for its value.
    fn read<O: Pass>(&self, operation: O) -> Result<O::Output, Error>;

    /// Performs the last pass of a call, which returns this value.
    fn last<O: Pass, V: Send + 'static>(self, operation: O, value: V) -> Result<Self::Value<V>, Error>;
}

/// An operation that is composed of others, which run under a key that is derived for the call.
pub trait Composition: Operation {
    /// The key, and whatever else is derived with it.
    type Derived: AsRef<OwnKey> + Clone;

    fn derive(&self, cipher: &CpuKey) -> Result<Self::Derived, Error>;

    /// Performs it under the derived key.
    fn passes<P: Passes>(self, derived: Self::Derived, place: P) -> Result<P::Value<Self::Output>, Error>;
}

/// An operation that derives nothing from the key.
macro_rules! ready_as_it_is {
    ($operation:ty) => {
        impl Pass for $operation {
            type Ready = Self;

            fn ready(self, _key: Option<&$crate::cpu::key::CpuKey>) -> Result<Self, Error> {
                Ok(self)
            }
        }
    };
}
pub(crate) use ready_as_it_is;

/// What an operation returns for its parts and for the call, if that is nothing.
macro_rules! returns_nothing {
    () => {
        type Part = ();
        type Output = ();

        fn finish(&self, _parts: Vec<()>) -> Result<(), Error> {
            Ok(())
        }
    };
}
pub(crate) use returns_nothing;

/// The key that an operation derives something from.
pub(crate) fn needed<O: Operation>(key: Option<&CpuKey>) -> Result<&CpuKey, Error> {
    key.ok_or(Error::NeedsKey { what: O::NAME })
}

/// An operation as engines perform it, on all data of a call or on a part of it.
pub trait Ready: Clone + Send + Sync + 'static {
    /// The value that a part of a call returns in addition to its output.
    type Part: Send + Default;
    /// The value that a call returns.
    type Output;

    /// Where its data may be cut; `None` if nowhere.
    fn cut(&self) -> Option<Cut<Self>>;

    /// The launches of the cipher on a device, in order; each works on its own bytes, and the order of execution makes no difference.
    fn launches(&self, _shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        Ok(vec![])
    }

    /// The key of the hash, if a device hashes data.
    fn hash_key(&self) -> Option<&HashKey> {
        None
    }

    /// The data from which a device determines whether this number of bytes, which are the whole message, is authentic, so that it clears them
    /// if they are not; `None` if nothing is verified.
    fn verdict(&self, _bytes: u64) -> Option<Verdict> {
        None
    }

    /// The terms that are the tag of this number of bytes, which are the whole message; `None` if no tag is made.
    fn tag(&self, _bytes: u64) -> Option<Terms> {
        None
    }

    /// The counter of the first block, a big-endian number whose last four bytes count, and wrap: of GCM, unless it is
    /// secret, or the data begins within a block.
    fn counter(&self) -> Option<u128> {
        None
    }

    /// The messages of a batch, which a device processes all at once.
    fn messages(&self) -> Result<Option<Batch<'_>>, NoMemory> {
        Ok(None)
    }

    /// Performs the operation on one core; where it cannot be cut, on the cores that it takes.
    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) -> Self::Part;

    /// Performs an operation that has keys of its own on the cores of the CPU; `None` for one that takes the key of a cipher.
    fn under_own_keys(&self, _data: Buffers<'_>) -> Option<Self::Part> {
        None
    }

    /// The value that a part of `bytes` bytes returns, if a device processed it and returned these results: a hash, or those of a batch.
    fn part(&self, _bytes: u64, _results: &[u8]) -> Self::Part {
        Self::Part::default()
    }

    /// The value that the call returns, from the terms of its tag or its verdict that a device computed; `None` if it has neither.
    fn of_terms(&self, _computed: [u8; 16]) -> Option<Result<Self::Output, Error>> {
        None
    }

    /// The value that the call returns, from the values of its parts, in any order. If it fails, the output of the call is
    /// cleared.
    fn finish(&self, parts: Vec<Self::Part>) -> Result<Self::Output, Error>;
}

/// Where data may be cut.
pub struct Cut<R> {
    /// The number of bytes (fewer than 16) into a block at which the data begins.
    pub(crate) skip: usize,
    /// Of a byte where a block ends, and the number of bytes of data: the last place up to that byte where the data may be cut, or the
    /// first one after it if there is none.
    pub(crate) place: fn(&R, u64, u64) -> u64,
    pub(crate) after: After<R>,
}

/// The operation on the data that remains after some bytes.
pub enum After<R> {
    /// From their number.
    Bytes(fn(&R, u64) -> R),
    /// From the block of input before them.
    Chained(fn(&R, [u8; 16]) -> R),
}

impl<R: Clone> Cut<R> {
    /// At the end of any block.
    pub(crate) fn anywhere(after: fn(&R, u64) -> R) -> Option<Self> {
        Some(Self { skip: 0, place: |_, at, _| at, after: After::Bytes(after) })
    }

    /// Whether the block of input before a part is needed for it.
    pub(crate) fn is_chained(&self) -> bool {
        matches!(self.after, After::Chained(_))
    }

    /// The operation after the first `bytes`, before which this block of input comes; it is asked for where it counts.
    pub(crate) fn after(&self, ready: &R, bytes: u64, before: impl FnOnce() -> [u8; 16]) -> R {
        match self.after {
            After::Bytes(after) => after(ready, bytes),
            After::Chained(_) if bytes == 0 => ready.clone(),
            After::Chained(after) => after(ready, before()),
        }
    }
}

/// Refuses a length that is not whole blocks.
pub(crate) fn whole_blocks(bytes: u64) -> Result<(), Error> {
    if bytes.is_multiple_of(16) { Ok(()) } else { Err(Error::NotWholeBlocks { len: bytes as usize }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::counter::{Counter, CounterMode};
    use crate::base::key::Key;
    use crate::op::ctr::Ctr;

    #[test]
    fn lengths_of_keys() {
        let [one, two] = [&KeyBits::ALL[..], &[KeyBits::Aes128, KeyBits::Aes256]];
        assert!(Keys::One.lengths() == one && Keys::Own.lengths() == one && Keys::Two.lengths() == two);
        assert_eq!(Keys::OnCpu(&[KeyBits::Aes256]).lengths(), [KeyBits::Aes256]);
    }

    #[test]
    fn what_an_operation_needs_is_said() {
        let refused = |keys: Keys, key: Option<&Key>| {
            let key = key.map(CpuKey::new);
            keys.check("it", key.as_ref()).err().map(|error| error.to_string())
        };
        let says =
            |keys, key: &[u8], what| refused(keys, Some(&Key::new(key).unwrap())).is_some_and(|e| e.contains(what));
        assert!([Keys::One, Keys::Own].iter().all(|keys| refused(*keys, None).is_none()));
        assert!(matches!(Keys::Two.check("it", None), Err(Error::NeedsKey { what: "it" })));
        assert!(matches!(Keys::OnCpu(&KeyBits::ALL).check("it", None), Err(Error::NeedsKey { what: "it" })));
        assert!(says(Keys::OnCpu(&[KeyBits::Aes256]), &[1; 16], "a key of 256 bits"));
        assert!(says(Keys::OnCpu(&[KeyBits::Aes128, KeyBits::Aes256]), &[1; 24], "a key of 128 or 256 bits"));
    }

    #[test]
    fn a_counter_is_told_of_gcm_alone() {
        assert_eq!(Ctr::new(&Counter::new(CounterMode::Ctr128BE, [1; 16]), 0).counter(), None);
    }
}
