//! The `aes` and `ctr` crates: what a user should get where there is no GPU, and what is serial wherever there is one.

use crate::engine::BlockEngine;
use crate::parallel::Buffers;
use crate::work::Work;
use crate::{Direction, Error, Key, KeyBits, cbc};
use cipher::consts::U16;
use cipher::inout::InOutBuf;
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, InnerIvInit, KeyInit, StreamCipher};
use std::sync::Arc;

/// A key on the CPU: all that other engines do, and what none does faster.
pub(crate) trait CpuKey: BlockEngine {
    /// The key's length.
    fn bits(&self) -> KeyBits;

    /// Encrypts whole blocks, each chained to the one before (CBC; SP 800-38A, section 6.2).
    fn cbc_encrypt(&self, iv: &[u8; 16], data: InOutBuf<'_, '_, u8>);
}

/// A key of any length.
pub(crate) fn key(key: &Key) -> Arc<dyn CpuKey> {
    match key.bits() {
        KeyBits::Aes128 => Arc::new(Cpu::<aes::Aes128>::new(key)),
        KeyBits::Aes192 => Arc::new(Cpu::<aes::Aes192>::new(key)),
        KeyBits::Aes256 => Arc::new(Cpu::<aes::Aes256>::new(key)),
    }
}

/// A key of the `aes` crate, which wipes it on drop.
struct Cpu<C> {
    cipher: C,
    bits: KeyBits,
}

impl<C: KeyInit> Cpu<C> {
    /// # Panics
    /// If the key's length is not the cipher's.
    fn new(key: &Key) -> Self {
        let cipher = C::new_from_slice(key.expose()).expect("a key of the cipher's length");
        Self { cipher, bits: key.bits() }
    }
}

impl<C> BlockEngine for Cpu<C>
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + Send + Sync + 'static,
{
    fn run(&self, work: Work, data: Buffers<'_>) -> Result<(), Error> {
        match work {
            Work::Ecb(Direction::Encrypt) => self.cipher.encrypt_blocks_inout(data.into_blocks()),
            Work::Ecb(Direction::Decrypt) => self.cipher.decrypt_blocks_inout(data.into_blocks()),
            Work::CbcDecrypt { iv } => {
                cbc::decrypt(&iv, data.into(), |blocks| self.cipher.decrypt_blocks_inout(blocks))
            }
            Work::Ctr { counter, skip } => {
                let first = counter.to_be_bytes().into();
                let core = ctr::CtrCore::<&C, ctr::flavors::Ctr128BE>::inner_iv_init(&self.cipher, &first);
                let mut keystream = ctr::Ctr128BE::from_core(core);
                keystream.unchecked_write_keystream(&mut [0; 16][..skip]);
                keystream.unchecked_apply_keystream_inout(data.into());
            }
        }
        Ok(())
    }

    fn runs_on_cores(&self) -> bool {
        true
    }
}

impl<C> CpuKey for Cpu<C>
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + Send + Sync + 'static,
{
    fn bits(&self) -> KeyBits {
        self.bits
    }

    fn cbc_encrypt(&self, iv: &[u8; 16], data: InOutBuf<'_, '_, u8>) {
        cbc::encrypt(&self.cipher, iv, data);
    }
}

/// Its instructions and threads, in words.
pub(crate) fn description() -> String {
    format!("{}, {}", instructions(), threads())
}

/// How many threads share the work, in words.
pub(crate) fn threads() -> String {
    match rayon::current_num_threads() {
        1 => "1 thread".into(),
        n => format!("{n} threads"),
    }
}

/// Whether the processor has AES instructions that the `aes` crate uses.
pub(crate) fn has_aes() -> bool {
    instructions() != NO_INSTRUCTIONS
}

const NO_INSTRUCTIONS: &str = "no AES instructions";

/// The instructions that the `aes` crate finds here, in words.
fn instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("aes") {
            return if std::arch::is_x86_feature_detected!("vaes") { "AES-NI with VAES" } else { "AES-NI" };
        }
        NO_INSTRUCTIONS
    }
    #[cfg(target_arch = "aarch64")]
    {
        if std::arch::is_aarch64_feature_detected!("aes") { "ARMv8 AES" } else { NO_INSTRUCTIONS }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    NO_INSTRUCTIONS
}
