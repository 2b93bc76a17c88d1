//! Calls under many keys, on an engine and without a key of a cipher.

use crate::api::cipher::{Cipher, KeyOn};
use crate::api::engine::Engine;
use crate::base::error::Error;
use crate::base::stop::Stop;
use crate::op::buffers::Buffers;
use crate::op::many_keys::{EachKey, NAME};

impl Engine {
    /// A cipher without a key, for operations that have keys of their own: [`Jobs`](crate::Jobs) and [`GcmJobs`](crate::GcmJobs). It refuses
    /// all others with [`Error::NeedsKey`].
    pub fn under_own_keys(&self) -> Cipher {
        Cipher::new(self.clone(), KeyOn::None, None)
    }

    /// Processes the same number of bytes under each of `keys`, which are concatenated, in host memory, on the CPU cores, whatever the
    /// engine.
    ///
    /// # Errors
    /// [`Error::WrongAccess`] and [`Error::LengthMismatch`] for data other than the mode takes (key stream is written, the other modes
    /// replace data), [`Error::Jobs`] if the length of keys or data does not match: nothing is changed then. [`Error::Stopped`].
    pub fn run_each_key<'d>(&self, each: &EachKey, keys: &[u8], data: impl Into<Buffers<'d>>) -> Result<(), Error> {
        let mut data = data.into().accessed(each.flow.access(), NAME)?;
        each.check(keys.len() as u64, data.len() as u64)?;
        each.on_cpu(keys, data.reborrow());
        if Stop::current().is_now() {
            data.output().fill(0);
            return Err(Error::Stopped);
        }
        Ok(())
    }
}
