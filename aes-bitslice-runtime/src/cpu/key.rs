//! A key on the CPU, of any length, as operations use it: the backends `cpu` and `cpu-bitsliced` compute with one, and every operation derives
//! its secrets with one, wherever its data is. A [kernel](crate::cpu::kernel) computes where the processor has the instructions for one, and
//! elsewhere the `aes` crate; or the [bitsliced](crate::cpu::bitsliced) engine.

use crate::base::counter::CounterBlock;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::cpu::bitsliced::isa::Isa;
use crate::cpu::bitsliced::key::Bitsliced;
use crate::cpu::block::{Block, BlockCipher};
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

/// Bytes encrypted and hashed at a time on a core: they stay in its second-level cache.
const IN_CACHE: usize = 64 << 10;

/// A key, or the two keys of XTS.
pub struct CpuKey {
    /// Of its kernel, and of keys that are derived from it.
    pub(crate) instructions: Instructions,
    /// The length; for XTS, of each of the two keys.
    pub(crate) bits: KeyBits,
    cipher: Aes,
    /// Those of a kernel, else zeros. In `Aes`, they would be room in all variants, and what the stack held there before would be moved with
    /// the key, and not be wiped.
    round_keys: RoundKeys,
    /// The maximum number of bytes of a call that one core performs alone, because others would begin too late to help.
    pub(crate) alone: usize,
    second: Option<Box<CpuKey>>,
    /// Whether they are the two keys of XTS, and equal.
    pub(crate) halves_are_equal: bool,
    /// The key of GHASH, once it was asked for.
    hash_key: OnceLock<HashKey>,
}

/// What computes with a key.
enum Aes {
    /// A kernel, whose round keys are a field of the key.
    Kernel(&'static dyn Kernel),
    /// The `aes` crate.
    Aes128(Box<aes::Aes128>),
    Aes192(Box<aes::Aes192>),
    Aes256(Box<aes::Aes256>),
    /// As planes.
    Bitsliced(Box<Bitsliced>),
}

impl CpuKey {
    /// The key on the fastest instructions.
    pub(crate) fn new(key: &Key) -> Self {
        Self::on(Instructions::best(), key)
    }

    /// The key on these instructions, which the processor has.
    pub(crate) fn on(instructions: Instructions, key: &Key) -> Self {
        let second = key.second().map(|bytes| Self::expanded(instructions, bytes));
        Self::expanded(instructions, key.first()).and(second, key)
    }

    /// One key.
    ///
    /// # Panics
    /// If it does not have 16, 24 or 32 bytes.
    fn expanded(instructions: Instructions, key: &[u8]) -> Self {
        fn of<C: KeyInit>(key: &[u8]) -> Box<C> {
            Box::new(C::new_from_slice(key).expect("a key of the cipher's length"))
        }
        let bits = KeyBits::from_bytes(key.len()).expect("16, 24 or 32 bytes");
        let one = |cipher| Self::one(instructions, bits, cipher);
        match (instructions.kernel(), bits) {
            (Some(kernel), _) => {
                let mut on_kernel = one(Aes::Kernel(kernel));
                kernel.expand(key, &mut on_kernel.round_keys);
                on_kernel
            }
            (None, KeyBits::Aes128) => one(Aes::Aes128(of(key))),
            (None, KeyBits::Aes192) => one(Aes::Aes192(of(key))),
            (None, KeyBits::Aes256) => one(Aes::Aes256(of(key))),
        }
    }

    /// The key as planes, for these vectors.
    ///
    /// # Errors
    /// [`Error::IsaUnavailable`] if the processor lacks them.
    pub(crate) fn bitsliced(isa: Isa, key: &Key) -> Result<Self, Error> {
        let one = |bytes| {
            let planes = Bitsliced::new(bytes, isa)?;
            Ok::<_, Error>(Self::one(Instructions::best(), key.bits(), Aes::Bitsliced(Box::new(planes))))
        };
        let second = key.second().map(one).transpose()?;
        Ok(one(key.first())?.and(second, key))
    }

    fn one(instructions: Instructions, bits: KeyBits, cipher: Aes) -> Self {
        let alone = match cipher {
            Aes::Bitsliced(_) => Instructions::Portable.alone(),
            _ => instructions.alone(),
        };
        Self {
            instructions,
            bits,
            cipher,
            round_keys: RoundKeys::default(),
            alone,
            second: None,
            halves_are_equal: false,
            hash_key: OnceLock::new(),
        }
    }

    /// This first half of a key with its second half, if there is one.
    fn and(self, second: Option<Self>, key: &Key) -> Self {
        Self { second: second.map(Box::new), halves_are_equal: key.halves_are_equal(), ..self }
    }

    /// Whether they are the two keys of XTS.
    pub(crate) fn is_xts(&self) -> bool {
        self.second.is_some()
    }
}

/// The maximum bytes of stack used by the `aes` crate and what calls it, including the round keys that they load: with VAES and 256-bit
/// keys 8.0 KB in a release build, and 9.5 KB in a test build.
const STACK: usize = 16 << 10;

/// Calls one function with the kernel and its round keys, one with the planes, or a generic one with the cipher for the key's length, which
/// leaves nothing on the stack.
macro_rules! with_cipher {
    ($key:expr, ($kernel:ident, $keys:ident) => $on_kernel:expr, $planes:ident => $bitsliced:expr, $cipher:ident => $call:expr) => {
        match &$key.cipher {
            Aes::Kernel($kernel) => {
                let $keys = &$key.round_keys;
                $on_kernel
            }
            Aes::Bitsliced($planes) => $bitsliced,
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
        with_cipher!(self,
            (kernel, keys) => kernel.ecb(direction, keys, bytes(blocks)),
            planes => planes.process_blocks(direction, blocks),
            cipher => match direction {
                Direction::Encrypt => cipher.encrypt_blocks_inout(blocks),
                Direction::Decrypt => cipher.decrypt_blocks_inout(blocks),
            }
        );
    }
}

impl CpuKey {
    /// Does work that computes with the key or with what is derived from it, and leaves nothing of it on the stack. The other methods
    /// are called within.
    pub(crate) fn scrubbed<R>(&self, work: impl FnOnce() -> R) -> R {
        match self.cipher {
            Aes::Kernel(..) => scrubbed::<STACK_OF_KERNEL, _>(work),
            _ => scrubbed::<DERIVED, _>(work),
        }
    }

    /// Whether several units of XTS at a time are faster than one, where units are small.
    pub(crate) fn batches_small_units(&self) -> bool {
        !matches!(self.cipher, Aes::Kernel(..))
    }

    /// The second key of an XTS key.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn second(&self) -> &Self {
        self.second.as_deref().expect("a key of XTS")
    }

    /// The key of GHASH.
    pub(crate) fn hash_key(&self) -> HashKey {
        self.hash_key.get_or_init(|| HashKey::new(self, self.instructions)).clone()
    }

    /// XORs data with the key stream that starts `skip` (fewer than 16) bytes into the block of `counter`.
    pub(crate) fn add_key_stream(&self, counter: CounterBlock, skip: usize, data: InOutBuf<'_, '_, u8>) {
        match &self.cipher {
            Aes::Kernel(kernel) => {
                kernel.ctr(&self.round_keys, counter, Order::Big, skip, data);
            }
            Aes::Bitsliced(planes) => planes.add_key_stream(counter, skip, data),
            _ => portable::add_key_stream(self, counter, Order::Big, skip, data),
        }
    }

    /// Encrypts whole blocks, each XORed with the output of the one before, the first with `iv`.
    pub(crate) fn encrypt_chained(&self, iv: &[u8; 16], blocks: InOutBuf<'_, '_, Block>) {
        with_cipher!(self,
            (kernel, keys) => kernel.cbc_encrypt(keys, iv, bytes(blocks)),
            planes => planes.encrypt_chained(iv, blocks),
            cipher => cipher.encrypt_with_backend(Chain { previous: (*iv).into(), blocks })
        );
    }

    /// XORs data with the key stream of counters whose lowest byte is the first of their blocks.
    pub(crate) fn add_little_endian_key_stream(&self, counter: CounterBlock, data: InOutBuf<'_, '_, u8>) {
        match &self.cipher {
            Aes::Kernel(kernel) => {
                kernel.ctr(&self.round_keys, counter, Order::Little, 0, data);
            }
            _ => portable::add_key_stream(self, counter, Order::Little, 0, data),
        }
    }

    /// Decrypts whole blocks, the first of which is chained to `iv`.
    pub(crate) fn decrypt_chained(&self, iv: &[u8; 16], blocks: InOutBuf<'_, '_, Block>) {
        match &self.cipher {
            Aes::Kernel(kernel) => {
                kernel.cbc_decrypt(&self.round_keys, iv, bytes(blocks));
            }
            _ => portable::decrypt_chained(self, iv, blocks),
        }
    }

    /// Encrypts or decrypts data from the block of a counter of GCM on, and continues a hash with the ciphertext. A last block that is
    /// not whole is padded with zeros there.
    pub(crate) fn crypt_and_hash(
        &self,
        direction: Direction,
        key: &HashKey,
        counter: CounterBlock,
        hash: &mut [u8; 16],
        data: InOutBuf<'_, '_, u8>,
    ) {
        match (&self.cipher, key.powers(self.instructions)) {
            (Aes::Kernel(kernel), Some(powers)) => {
                kernel.gcm(direction, &self.round_keys, powers, counter, hash, data);
            }
            _ => self.crypt_and_hash_in_pieces(direction, key, counter, hash, data),
        }
    }

    #[inline(never)]
    fn crypt_and_hash_in_pieces(
        &self,
        direction: Direction,
        key: &HashKey,
        mut counter: CounterBlock,
        hash: &mut [u8; 16],
        mut data: InOutBuf<'_, '_, u8>,
    ) {
        while !data.is_empty() {
            let len = data.len().min(IN_CACHE);
            let (mut piece, rest) = data.split_at(len);
            if direction == Direction::Decrypt {
                key.update(hash, piece.get_in());
            }
            self.add_key_stream(counter, 0, piece.reborrow());
            if direction == Direction::Encrypt {
                key.update(hash, piece.get_out());
            }
            counter = counter.after((len / 16) as u128);
            data = rest;
        }
    }

    /// Encrypts or decrypts a whole message of GCM, and returns its tag; `None`, and nothing is done, where there is no function that does
    /// all of that.
    pub(crate) fn message(&self, message: &mut WholeMessage<'_, '_, '_>) -> Option<[u8; 16]> {
        let Aes::Kernel(kernel) = &self.cipher else { return None };
        let powers = self
            .hash_key
            .get_or_init(|| self.scrubbed(|| HashKey::new(self, self.instructions)))
            .powers(self.instructions)?;
        Some(kernel.message(&self.round_keys, powers, message))
    }

    /// Encrypts or decrypts a whole message of AES-GCM-SIV under the keys that this one derives, and returns the tag of its plaintext;
    /// `None`, and nothing is done, where there is no function that does all of that.
    pub(crate) fn message_of_siv(&self, message: &mut MessageOfSiv<'_, '_, '_>) -> Option<[u8; 16]> {
        let Aes::Kernel(kernel) = &self.cipher else { return None };
        Some(kernel.message_of_siv(&self.round_keys, message))
    }

    /// Processes an XTS data unit with the first key, or its rest from the block with this tweak on: at least 16 bytes.
    pub(crate) fn process_unit(&self, direction: Direction, tweak: u128, data: InOutBuf<'_, '_, u8>) {
        match &self.cipher {
            Aes::Kernel(kernel) => {
                kernel.xts(direction, &self.round_keys, tweak, data);
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
