//! GMAC: the tag of GCM over additional data alone (SP 800-38D, section 3), for messages that are authenticated but not
//! encrypted.

use crate::base::error::Error;
use crate::base::nonce::Nonce;
use crate::base::tag::Tag;
use crate::cpu::cipher::CpuCipher;
use crate::cpu::hash_key::HashKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::gcm::Derived;
use crate::op::operation::{Hashed, Keys, Operation, Steps};
use crate::op::partial_hash::PartialHash;
use aes_bitslice_core::mode::Mode;

/// GMAC of a whole message: returns its tag of 16 bytes. Check a tag with [`Tag`]'s comparison, which takes constant
/// time.
///
/// As in GCM, no two messages under one key may have the same nonce.
#[derive(Clone, Debug)]
pub struct Gmac {
    nonce: Nonce,
    /// The first byte of the data in its message.
    offset: u64,
    derived: Option<Derived>,
}

impl Gmac {
    /// Takes a nonce that no other message under this key has.
    pub fn new(nonce: &Nonce) -> Self {
        Self { nonce: nonce.clone(), offset: 0, derived: None }
    }

    fn derived(&self) -> &Derived {
        self.derived.as_ref().expect("derived before the data is cut")
    }
}

impl Operation for Gmac {
    const NAME: &'static str = "GMAC";
    const ACCESS: Access = Access::Reads;
    const KEYS: Keys = Keys::OneOnCpu;
}

impl Steps for Gmac {
    type Part = PartialHash;
    type Output = Tag;

    fn mode(&self) -> Option<Mode> {
        None
    }

    /// Messages of up to 2^61 - 1 bytes (SP 800-38D, section 5.2.1.1).
    fn check(&self, bytes: u64) -> Result<(), Error> {
        match bytes < 1 << 61 {
            true => Ok(()),
            false => Err(Error::Length { operation: "GMAC", what: "a message has fewer than 2^61 bytes".into() }),
        }
    }

    fn derive(&mut self, cipher: &impl CpuCipher) {
        self.derived = Some(Derived::new(cipher, &self.nonce));
    }

    fn after(&self, bytes: u64, _before: impl FnOnce() -> [u8; 16]) -> Self {
        Self { offset: self.offset + bytes, ..self.clone() }
    }

    fn hashed(&self) -> Option<Hashed> {
        Some(Hashed::Input)
    }

    fn hash_key(&self) -> &HashKey {
        &self.derived().hash
    }

    fn part(&self, bytes: u64, hash: &[u8; 16]) -> PartialHash {
        PartialHash { offset: self.offset, bytes, hash: *hash }
    }

    fn on_cpu(&self, _cipher: &impl CpuCipher, data: Buffers<'_>) -> PartialHash {
        let bytes = data.input();
        PartialHash { offset: self.offset, bytes: bytes.len() as u64, hash: self.derived().hash.hash(bytes) }
    }

    fn finish(&self, parts: Vec<PartialHash>) -> Result<Tag, Error> {
        let derived = self.derived();
        let message = derived.hash.combine(0, parts)?;
        Ok(Tag::from(derived.tag((&message.hash, message.bytes), &PartialHash::default())))
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
        let mut gmac = Gmac::new(&Nonce::from([3; 12]));
        assert!(gmac.check((1 << 61) - 1).is_ok() && gmac.check(1 << 61).is_err() && gmac.check(u64::MAX).is_err());
        gmac.derive(&CpuKey::new(&Key::new(&[7; 16]).unwrap()));
        for bytes in [1_u64 << 29, 1 << 32, (1 << 36) + 1, (1 << 61) - 1] {
            let (first, rest) = (gmac.part(bytes / 32 * 16, &[1; 16]), bytes - bytes / 32 * 16);
            let second = gmac.after(bytes - rest, || unreachable!("it is not chained")).part(rest, &[2; 16]);
            let hash = gmac.hash_key().append(&[1; 16], &[2; 16], rest.div_ceil(16));
            let tag = gmac.derived().masked(gmac.hash_key().append_block(&hash, &lengths(bytes, 0)));
            assert_eq!(gmac.finish(vec![second, first]).unwrap(), Tag::from(tag), "{bytes} bytes");
        }
    }
}
