//! A key of a call's own, derived from the cipher's: what a composition of operations runs under.

use crate::base::error::Error;
use crate::base::key::Key;
use crate::cpu::cipher::CpuCipher;
use crate::cpu::key::CpuKey;
use std::sync::Arc;

/// A key for one call. It is wiped with the last clone.
#[derive(Clone)]
pub struct OwnKey {
    pub(crate) key: Arc<Key>,
    /// The key, expanded on the CPU.
    pub(crate) cpu: Arc<CpuKey>,
}

impl OwnKey {
    /// A key of these bytes, which were derived from this cipher's, within work that is [scrubbed](CpuCipher::scrubbed).
    pub(crate) fn new(cipher: &impl CpuCipher, bytes: &[u8]) -> Result<Self, Error> {
        let key = Key::new(bytes)?;
        let cpu = Arc::new(CpuKey::on(cipher.instructions(), &key));
        Ok(Self { key: Arc::new(key), cpu })
    }
}

impl AsRef<OwnKey> for OwnKey {
    fn as_ref(&self) -> &OwnKey {
        self
    }
}
