//! A key of a call's own, derived from the cipher's: what a composition of operations runs under.

use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::DERIVED;
use crate::cpu::key::CpuKey;
use std::sync::Arc;

/// The maximum bytes of stack used by a whole message under a key of its own in one step, including what calls the kernel: by the sizes of
/// the frames 3.3 KB in a release build, and more where the compiler optimises less.
pub(crate) const STACK_UNDER_OWN_KEY: usize = if cfg!(debug_assertions) { DERIVED } else { 5 << 10 };

/// A key for one call. It is wiped with the last clone.
#[derive(Clone)]
pub struct OwnKey {
    pub(crate) key: Arc<Key>,
    /// The key, expanded on the CPU.
    pub(crate) cpu: Arc<CpuKey>,
}

impl OwnKey {
    /// A key of these bytes, which were derived from this cipher's, within work that is [scrubbed](CpuKey::scrubbed).
    pub(crate) fn new(cipher: &CpuKey, bytes: &[u8]) -> Result<Self, Error> {
        let key = Key::new(bytes)?;
        let cpu = Arc::new(CpuKey::on(cipher.instructions, &key));
        Ok(Self { key: Arc::new(key), cpu })
    }
}

impl AsRef<OwnKey> for OwnKey {
    fn as_ref(&self) -> &OwnKey {
        self
    }
}
