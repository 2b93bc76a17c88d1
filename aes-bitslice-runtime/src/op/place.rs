//! Where the data of a call is, as operations see it: a place performs one pass over the data, or those of a composition.

use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::{ONE_KEY, scrubbed};
use crate::cpu::cipher::CpuCipher;
use crate::cpu::key::CpuKey;
use crate::op::operation::{Operation, Pass};
use std::sync::Arc;

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

    fn derive(&self, cipher: &impl CpuCipher) -> Result<Self::Derived, Error>;

    /// Performs it under the derived key.
    fn passes<P: Passes>(self, derived: Self::Derived, place: P) -> Result<P::Value<Self::Output>, Error>;
}

/// A key for one call. It is wiped with the last clone.
#[derive(Clone)]
pub struct OwnKey {
    pub(crate) key: Arc<Key>,
    /// The key, expanded on the CPU.
    pub(crate) cpu: Arc<CpuKey>,
}

impl OwnKey {
    /// A key of these bytes, which were derived from this cipher's.
    pub(crate) fn new(cipher: &impl CpuCipher, bytes: &[u8]) -> Result<Self, Error> {
        let key = Key::new(bytes)?;
        let cpu = Arc::new(scrubbed::<ONE_KEY, _>(|| CpuKey::on(cipher.instructions(), &key)));
        Ok(Self { key: Arc::new(key), cpu })
    }
}

impl AsRef<OwnKey> for OwnKey {
    fn as_ref(&self) -> &OwnKey {
        self
    }
}
