//! What a device does for a checked call, whatever the operation: the way from here to the driver is compiled once, and not for each operation
//! in each crate that calls it.

use crate::base::error::Error;
use crate::cpu::hash_key::HashKey;
use crate::exec::call::Call;
use crate::op::batch::Batch;
use crate::op::kernels::KernelsNeeded;
use crate::op::launch::{Launch, Shape};
use crate::op::operation::{Pass, Ready};
use crate::op::partial_hash::{Terms, Verdict};
use aes_bitslice_core::memory::NoMemory;

/// A checked call, on all data or on a part of it, as devices perform it. Nothing of the hash key is left on the stack.
pub(crate) trait Work: Sync {
    /// The name of the operation, used in error texts.
    fn name(&self) -> &'static str;

    /// The kernels that a device needs for it.
    fn kernels(&self) -> KernelsNeeded;

    /// The launches of the cipher, for data of this shape.
    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error>;

    /// The key of the hash, if data is hashed.
    fn hash_key(&self) -> Option<&HashKey>;

    /// The counter of the first block, if it is one of GCM ([`Ready::counter`]).
    fn counter(&self) -> Option<u128>;

    /// The data from which a device determines whether `bytes` bytes, which are the whole message, are authentic; `None` if nothing is
    /// verified.
    fn verdict(&self, bytes: u64) -> Option<Verdict>;

    /// The terms that are the tag of `bytes` bytes, which are the whole message; `None` if no tag is made.
    fn tag(&self, bytes: u64) -> Option<Terms>;

    /// The messages of a batch, which a device processes all at once.
    fn messages(&self) -> Result<Option<Batch<'_>>, NoMemory>;

    /// The number of bytes (fewer than 16) into a block at which the data begins.
    fn skip(&self) -> usize;

    /// The work that remains after the first `bytes`; `None` where the data cannot be cut, or is chained.
    fn after(&self, bytes: u64) -> Option<Box<dyn Work>>;

    /// Bytes before the first whole block.
    fn head(&self) -> u64 {
        (16 - self.skip() as u64) % 16
    }
}

impl<O: Pass> Work for Call<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn kernels(&self) -> KernelsNeeded {
        Call::kernels(self)
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        self.operation().launches(shape)
    }

    fn hash_key(&self) -> Option<&HashKey> {
        self.operation().hash_key()
    }

    fn counter(&self) -> Option<u128> {
        self.operation().counter()
    }

    fn verdict(&self, bytes: u64) -> Option<Verdict> {
        let verdict = || self.operation().verdict(bytes);
        self.hash_key().map_or_else(verdict, |key| key.scrubbed(verdict))
    }

    fn tag(&self, bytes: u64) -> Option<Terms> {
        let tag = || self.operation().tag(bytes);
        self.hash_key().map_or_else(tag, |key| key.scrubbed(tag))
    }

    fn messages(&self) -> Result<Option<Batch<'_>>, NoMemory> {
        self.operation().messages()
    }

    fn skip(&self) -> usize {
        self.cut().map_or(0, |cut| cut.skip)
    }

    fn after(&self, bytes: u64) -> Option<Box<dyn Work>> {
        let cut = self.cut().filter(|cut| !cut.is_chained())?;
        // Nothing in it is secret but what it has elsewhere on the heap: it is moved with what the stack held between its fields.
        Some(Box::new(Call::after(self, &cut, bytes, || [0; 16])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::counter::{Counter, CounterMode};
    use crate::base::nonce::Nonce;
    use crate::base::tag::Tag;
    use crate::op::ctr::Ctr;
    use crate::op::ecb::Ecb;
    use crate::op::gcm::{GcmDecrypt, GcmEncrypt};
    use crate::op::gcm_batch::{GcmEncryptBatch, GcmMessage};
    use crate::op::launch::Geometry;
    use aes_bitslice_core::grid::Grid;

    #[test]
    fn the_work_is_that_of_the_operation() {
        let nonce = Nonce::from([0; 12]);
        let encrypt = Call::on_a_device(GcmEncrypt::new(&nonce, b""));
        assert_eq!((Work::name(&encrypt), encrypt.counter()), ("GCM", Some(2)));
        assert!(Work::hash_key(&encrypt).is_some() && Work::tag(&encrypt, 16).is_some());
        assert!(Work::verdict(&encrypt, 16).is_none() && matches!(Work::messages(&encrypt), Ok(None)));
        let decrypt = Call::on_a_device(GcmDecrypt::new(&nonce, b"", &Tag::from([0; 16])));
        assert!(Work::verdict(&decrypt, 16).is_some() && Work::tag(&decrypt, 16).is_none());
        let message = GcmMessage { nonce: nonce.as_bytes(), aad: b"", range: 0..16 };
        let batch = Call::on_a_device(GcmEncryptBatch::new(std::slice::from_ref(&message)).unwrap());
        assert!(matches!(Work::messages(&batch), Ok(Some(_))));
        let geometry = Geometry::small(Grid::Warps { each: 1, least: 1 });
        let shape = Shape { geometry: &geometry, len: 64, in_place: true, is_aligned: &|_| true };
        assert_eq!(Call::on_a_device(Ecb::encrypt()).launches(&shape).unwrap().len(), 1);
    }

    #[test]
    fn the_head_is_what_is_missing_of_a_block() {
        let ctr = |offset| Call::on_a_device(Ctr::new(&Counter::new(CounterMode::Ctr128BE, [1; 16]), offset));
        assert_eq!([0, 1, 5, 15, 16, 21].map(|offset| ctr(offset).head()), [0, 15, 11, 1, 0, 11]);
        assert_eq!(Work::after(&ctr(5), 11).unwrap().head(), 0);
    }
}
