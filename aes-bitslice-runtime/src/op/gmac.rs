//! GMAC: the tag of GCM over additional data alone (SP 800-38D, section 3), for messages that are authenticated but not
//! encrypted.

use crate::base::error::Error;
use crate::base::nonce::Nonce;
use crate::base::tag::Tag;
use crate::cpu::hash_key::HashKey;
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::gcm::Derived;
use crate::op::kernels::{Hashed, KernelsNeeded};
use crate::op::operation::{Cut, Keys, Operation, Pass, Place, Ready, needed, one_pass};
use crate::op::partial_hash::{PartialHash, Terms};
use aes_bitslice_core::aes::KeyBits;

/// GMAC of a whole message: returns its tag of 16 bytes. Check a tag with [`Tag`]'s comparison, which takes constant
/// time.
///
/// No two messages under one key may have the same nonce, whether of GMAC or of GCM.
#[derive(Clone, Debug)]
pub struct Gmac {
    nonce: Nonce,
}

impl Gmac {
    /// Takes a nonce that no other message under this key has.
    pub fn new(nonce: &Nonce) -> Self {
        Self { nonce: nonce.clone() }
    }
}

impl Operation for Gmac {
    type Output = Tag;
    const NAME: &'static str = "GMAC";
    const ACCESS: Access = Access::Reads;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    /// Messages of up to 2^61 - 1 bytes (SP 800-38D, section 5.2.1.1).
    fn check(&self, bytes: u64) -> Result<(), Error> {
        if bytes >= 1 << 61 {
            return Err(Error::Length { operation: "GMAC", what: "a message has fewer than 2^61 bytes".into() });
        }
        Ok(())
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded::hashing(Hashed::Input)
    }

    one_pass!();
}

impl Pass for Gmac {
    type Ready = Keyed;

    fn ready(self, key: Option<&CpuKey>) -> Result<Keyed, Error> {
        Ok(Keyed { derived: Derived::new(needed::<Self>(key)?, &self.nonce), offset: 0 })
    }
}

/// GMAC with what it derives from the key, of data from a given byte of its message on.
#[derive(Clone, Debug)]
pub struct Keyed {
    derived: Derived,
    offset: u64,
}

impl Ready for Keyed {
    type Part = PartialHash;
    type Output = Tag;

    fn cut(&self) -> Option<Cut<Self>> {
        Cut::anywhere(|gmac, bytes| Self { offset: gmac.offset + bytes, ..gmac.clone() })
    }

    fn hash_key(&self) -> Option<&HashKey> {
        Some(&self.derived.hash)
    }

    fn tag(&self, bytes: u64) -> Option<Terms> {
        Some(self.derived.terms_of_aad(bytes))
    }

    fn of_terms(&self, tag: [u8; 16]) -> Option<Result<Tag, Error>> {
        Some(Ok(Tag::from(tag)))
    }

    fn on_cpu(&self, _cipher: &CpuKey, data: Buffers<'_>) -> PartialHash {
        self.part(data.len() as u64, &self.derived.hash.hash(data.input()))
    }

    fn part(&self, bytes: u64, results: &[u8]) -> PartialHash {
        PartialHash::of(self.offset, bytes, results)
    }

    fn finish(&self, parts: Vec<PartialHash>) -> Result<Tag, Error> {
        let message = self.derived.hash.combine(0, parts)?;
        Ok(Tag::from(self.derived.tag((&message.hash, message.bytes), &PartialHash::default())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::Key;
    use crate::cpu::key::CpuKey;
    use crate::op::gcm::lengths;

    /// Of parts, each as long as it says it is.
    #[test]
    fn a_long_message_is_hashed_with_its_length() {
        let gmac = Gmac::new(&Nonce::from([3; 12]));
        assert!(gmac.check((1 << 61) - 1).is_ok() && gmac.check(1 << 61).is_err() && gmac.check(u64::MAX).is_err());
        let gmac = gmac.ready(Some(&CpuKey::new(&Key::new(&[7; 16]).unwrap()))).unwrap();
        let (hash_key, cut) = (&gmac.derived.hash, gmac.cut().unwrap());
        for bytes in [1_u64 << 29, 1 << 32, (1 << 36) + 1, (1 << 61) - 1] {
            let (first, rest) = (gmac.part(bytes / 32 * 16, &[1; 16]), bytes - bytes / 32 * 16);
            let second = cut.after(&gmac, bytes - rest, || [0; 16]).part(rest, &[2; 16]);
            let hash = hash_key.append(&[1; 16], &[2; 16], rest.div_ceil(16));
            let tag = gmac.derived.masked(hash_key.append_block(&hash, &lengths(bytes, 0)));
            assert_eq!(gmac.finish(vec![second, first]).unwrap(), Tag::from(tag), "{bytes} bytes");
        }
    }
}
