//! A key on the CPU, of any length. The backend `cpu` computes with it, and every operation derives its secrets with it, wherever its data
//! is. A [kernel](crate::cpu::kernel) computes where the processor has the instructions for one, and elsewhere the `aes` crate.

use crate::base::counter::CounterBlock;
use crate::base::key::Key;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::cpu::block::{Block, BlockCipher};
use crate::cpu::cipher::{CpuCipher, crypt_and_hash};
use crate::cpu::hash_key::HashKey;
use crate::cpu::instructions::Instructions;
use crate::cpu::kernel::{Kernel, MessageOfSiv, STACK_OF_KERNEL, WholeMessage};
use crate::cpu::modes::ctr::Order;
use crate::cpu::modes::rounds::RoundKeys;
use crate::cpu::portable;
use aes_bitslice_core::aes::{Direction, KeyBits};
use cipher::consts::U16;
use cipher::inout::InOutBuf;
use cipher::{
    BlockCipherDecrypt, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, KeyInit,
};
use std::sync::OnceLock;

/// A key, or the two keys of XTS.
pub(crate) struct CpuKey {
    instructions: Instructions,
    cipher: Aes,
    second: Option<Box<CpuKey>>,
    /// Whether the two keys of XTS are equal.
    halves_are_equal: bool,
    /// The key of GHASH, once it was asked for.
    hash_key: OnceLock<HashKey>,
}

/// A key, wiped on drop.
#[expect(clippy::large_enum_variant, reason = "most keys are on kernels, and one step away")]
enum Aes {
    /// On a kernel.
    Kernel(&'static dyn Kernel, KeyBits, RoundKeys),
    /// In the `aes` crate; on the heap, so that the key on a kernel has no room that is moved with it and not wiped.
    Aes128(Box<aes::Aes128>),
    Aes192(Box<aes::Aes192>),
    Aes256(Box<aes::Aes256>),
}

impl CpuKey {
    /// The key on the fastest instructions.
    pub(crate) fn new(key: &Key) -> Self {
        Self::on(Instructions::best(), key)
    }

    /// The key on these instructions, which the processor has.
    pub(crate) fn on(instructions: Instructions, key: &Key) -> Self {
        let kernel = instructions.kernel();
        let one = |bytes, halves_are_equal| Self {
            instructions,
            cipher: Aes::new(bytes, kernel),
            second: None,
            halves_are_equal,
            hash_key: OnceLock::new(),
        };
        let second = key.second().map(|bytes| Box::new(one(bytes, false)));
        Self { second, ..one(key.first(), key.halves_are_equal()) }
    }

    /// Whether they are the two keys of XTS.
    pub(crate) fn is_xts(&self) -> bool {
        self.second.is_some()
    }
}

impl Aes {
    /// # Panics
    /// If the key does not have 16, 24 or 32 bytes.
    fn new(key: &[u8], kernel: Option<&'static dyn Kernel>) -> Self {
        fn of<C: KeyInit>(key: &[u8]) -> Box<C> {
            Box::new(C::new_from_slice(key).expect("a key of the cipher's length"))
        }
        let bits = KeyBits::from_bytes(key.len()).expect("16, 24 or 32 bytes");
        match (kernel, bits) {
            (Some(kernel), _) => {
                let mut keys = RoundKeys::default();
                kernel.expand(key, &mut keys);
                Self::Kernel(kernel, bits, keys)
            }
            (None, KeyBits::Aes128) => Self::Aes128(of(key)),
            (None, KeyBits::Aes192) => Self::Aes192(of(key)),
            (None, KeyBits::Aes256) => Self::Aes256(of(key)),
        }
    }
}

/// The maximum bytes of stack used by the `aes` crate and what calls it, including the round keys that they load: with VAES and 256-bit
/// keys 8.0 KB in a release build, and 9.5 KB in a test build.
const STACK: usize = 16 << 10;

/// Calls one function with the kernel and its round keys, or a generic one with the cipher for the key's length, which leaves nothing on
/// the stack.
macro_rules! with_cipher {
    ($key:expr, ($kernel:ident, $keys:ident) => $on_kernel:expr, $cipher:ident => $call:expr) => {
        match &$key.cipher {
            Aes::Kernel($kernel, _, $keys) => $on_kernel,
            Aes::Aes128($cipher) => {
                let $cipher = &**$cipher;
                scrubbed::<STACK, _>(|| $call)
            }
            Aes::Aes192($cipher) => {
                let $cipher = &**$cipher;
                scrubbed::<STACK, _>(|| $call)
            }
            Aes::Aes256($cipher) => {
                let $cipher = &**$cipher;
                scrubbed::<STACK, _>(|| $call)
            }
        }
    };
}

/// The bytes of blocks.
#[allow(unsafe_code)]
fn bytes<'i, 'o>(blocks: InOutBuf<'i, 'o, Block>) -> InOutBuf<'i, 'o, u8> {
    let len = 16 * blocks.len();
    let (input, output) = blocks.into_raw();
    // SAFETY: they are the same bytes, for as long, and a block is an array of 16 of them.
    unsafe { InOutBuf::from_raw(input.cast(), output.cast(), len) }
}

impl BlockCipher for CpuKey {
    fn process(&self, direction: Direction, blocks: InOutBuf<'_, '_, Block>) {
        with_cipher!(self, (kernel, keys) => kernel.ecb(direction, keys, bytes(blocks)), cipher => match direction {
            Direction::Encrypt => cipher.encrypt_blocks_inout(blocks),
            Direction::Decrypt => cipher.decrypt_blocks_inout(blocks),
        });
    }
}

impl CpuCipher for CpuKey {
    fn scrubbed<R>(&self, work: impl FnOnce() -> R) -> R {
        match self.cipher {
            Aes::Kernel(..) => scrubbed::<STACK_OF_KERNEL, _>(work),
            _ => scrubbed::<DERIVED, _>(work),
        }
    }

    fn instructions(&self) -> Instructions {
        self.instructions
    }

    fn alone(&self) -> usize {
        self.instructions.alone()
    }

    fn bits(&self) -> KeyBits {
        match self.cipher {
            Aes::Kernel(_, bits, _) => bits,
            Aes::Aes128(_) => KeyBits::Aes128,
            Aes::Aes192(_) => KeyBits::Aes192,
            Aes::Aes256(_) => KeyBits::Aes256,
        }
    }

    fn batches_small_units(&self) -> bool {
        !matches!(self.cipher, Aes::Kernel(..))
    }

    fn halves_are_equal(&self) -> bool {
        self.halves_are_equal
    }

    fn second(&self) -> &Self {
        self.second.as_deref().expect("a key of XTS")
    }

    fn hash_key(&self) -> HashKey {
        self.hash_key.get_or_init(|| HashKey::new(self, self.instructions)).clone()
    }

    fn add_key_stream(&self, counter: CounterBlock, skip: usize, data: InOutBuf<'_, '_, u8>) {
        match &self.cipher {
            Aes::Kernel(kernel, _, keys) => {
                kernel.ctr(keys, counter, Order::Big, skip, data);
            }
            _ => portable::add_key_stream(self, counter, Order::Big, skip, data),
        }
    }

    fn encrypt_chained(&self, iv: &[u8; 16], blocks: InOutBuf<'_, '_, Block>) {
        with_cipher!(self,
            (kernel, keys) => kernel.cbc_encrypt(keys, iv, bytes(blocks)),
            cipher => cipher.encrypt_with_backend(Chain { previous: (*iv).into(), blocks })
        );
    }

    fn add_little_endian_key_stream(&self, counter: CounterBlock, data: InOutBuf<'_, '_, u8>) {
        match &self.cipher {
            Aes::Kernel(kernel, _, keys) => {
                kernel.ctr(keys, counter, Order::Little, 0, data);
            }
            _ => portable::add_key_stream(self, counter, Order::Little, 0, data),
        }
    }

    fn decrypt_chained(&self, iv: &[u8; 16], blocks: InOutBuf<'_, '_, Block>) {
        match &self.cipher {
            Aes::Kernel(kernel, _, keys) => {
                kernel.cbc_decrypt(keys, iv, bytes(blocks));
            }
            _ => portable::decrypt_chained(self, iv, blocks),
        }
    }

    fn crypt_and_hash(
        &self,
        direction: Direction,
        key: &HashKey,
        counter: CounterBlock,
        hash: &mut [u8; 16],
        data: InOutBuf<'_, '_, u8>,
    ) {
        match (&self.cipher, key.powers(self.instructions)) {
            (Aes::Kernel(kernel, _, keys), Some(powers)) => {
                kernel.gcm(direction, keys, powers, counter, hash, data);
            }
            _ => crypt_and_hash(self, direction, key, counter, hash, data),
        }
    }

    fn message(&self, message: &mut WholeMessage<'_, '_, '_>) -> Option<[u8; 16]> {
        let Aes::Kernel(kernel, _, keys) = &self.cipher else { return None };
        let powers = self
            .hash_key
            .get_or_init(|| self.scrubbed(|| HashKey::new(self, self.instructions)))
            .powers(self.instructions)?;
        Some(kernel.message(keys, powers, message))
    }

    fn message_of_siv(&self, message: &mut MessageOfSiv<'_, '_, '_>) -> Option<[u8; 16]> {
        let Aes::Kernel(kernel, _, keys) = &self.cipher else { return None };
        Some(kernel.message_of_siv(keys, message))
    }

    fn process_unit(&self, direction: Direction, tweak: u128, data: InOutBuf<'_, '_, u8>) {
        match &self.cipher {
            Aes::Kernel(kernel, _, keys) => {
                kernel.xts(direction, keys, tweak, data);
            }
            _ => portable::process_unit(self, direction, tweak, data),
        }
    }
}

/// The loop of CBC encryption, which the cipher compiles for the instructions it uses.
struct Chain<'i, 'o> {
    previous: Block,
    blocks: InOutBuf<'i, 'o, Block>,
}

impl BlockSizeUser for Chain<'_, '_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Chain<'_, '_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let mut state = self.previous;
        for mut block in self.blocks {
            state.iter_mut().zip(block.get_in()).for_each(|(state, input)| *state ^= input);
            backend.encrypt_block((&mut state).into());
            *block.get_out() = state;
        }
    }
}
