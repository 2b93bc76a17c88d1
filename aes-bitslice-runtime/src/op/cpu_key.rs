//! A key on the CPU, of any length, based on the `aes` and `ctr` crates. The backend `cpu` computes with it, and every
//! operation derives its secrets with it, wherever its data is.

use crate::base::counter::CounterBlock;
use crate::base::key::Key;
use crate::base::scrubbed::scrubbed;
use crate::op::cpu_cipher::{Block, CpuCipher};
use aes_bitslice_core::aes::{Direction, KeyBits};
use cipher::consts::U16;
use cipher::inout::InOutBuf;
use cipher::{
    BlockCipherDecrypt, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InnerIvInit,
    KeyInit, StreamCipher, StreamCipherCoreWrapper,
};
use ctr::CtrFlavor;
use ctr::flavors::{Ctr32BE, Ctr128BE};

/// A key, or the two keys of XTS.
pub(crate) struct CpuKey {
    cipher: Aes,
    second: Option<Box<CpuKey>>,
    /// Whether the two keys of XTS are equal.
    halves_are_equal: bool,
}

/// A key in the `aes` crate, which wipes it on drop.
enum Aes {
    Aes128(aes::Aes128),
    Aes192(aes::Aes192),
    Aes256(aes::Aes256),
}

impl CpuKey {
    pub(crate) fn new(key: &Key) -> Self {
        let second =
            key.second().map(|bytes| Box::new(Self { cipher: Aes::new(bytes), second: None, halves_are_equal: false }));
        Self { cipher: Aes::new(key.first()), second, halves_are_equal: key.halves_are_equal() }
    }

    /// Whether they are the two keys of XTS.
    pub(crate) fn is_xts(&self) -> bool {
        self.second.is_some()
    }
}

impl Aes {
    /// # Panics
    /// If the key does not have 16, 24 or 32 bytes.
    fn new(key: &[u8]) -> Self {
        fn of<C: KeyInit>(key: &[u8]) -> C {
            C::new_from_slice(key).expect("a key of the cipher's length")
        }
        match KeyBits::from_bytes(key.len()).expect("16, 24 or 32 bytes") {
            KeyBits::Aes128 => Self::Aes128(of(key)),
            KeyBits::Aes192 => Self::Aes192(of(key)),
            KeyBits::Aes256 => Self::Aes256(of(key)),
        }
    }
}

/// The maximum bytes of stack used by the `aes` and `ctr` crates, including the round keys that they load: with VAES and 256-bit keys 8.0
/// KB in a release build, and 9.5 KB in a test build.
const STACK: usize = 16 << 10;

/// Calls a generic function with the cipher for the key's length, and leaves nothing of it on the stack.
macro_rules! with_cipher {
    ($key:expr, $cipher:ident => $call:expr) => {
        scrubbed::<STACK, _>(|| match &$key.cipher {
            Aes::Aes128($cipher) => $call,
            Aes::Aes192($cipher) => $call,
            Aes::Aes256($cipher) => $call,
        })
    };
}

impl CpuCipher for CpuKey {
    fn bits(&self) -> KeyBits {
        match self.cipher {
            Aes::Aes128(_) => KeyBits::Aes128,
            Aes::Aes192(_) => KeyBits::Aes192,
            Aes::Aes256(_) => KeyBits::Aes256,
        }
    }

    fn process(&self, direction: Direction, blocks: InOutBuf<'_, '_, Block>) {
        with_cipher!(self, cipher => match direction {
            Direction::Encrypt => cipher.encrypt_blocks_inout(blocks),
            Direction::Decrypt => cipher.decrypt_blocks_inout(blocks),
        });
    }

    fn halves_are_equal(&self) -> bool {
        self.halves_are_equal
    }

    fn second(&self) -> &Self {
        self.second.as_deref().expect("a key of XTS")
    }

    fn add_key_stream(&self, counter: CounterBlock, skip: usize, data: InOutBuf<'_, '_, u8>) {
        fn add<F, C>(cipher: &C, counter: CounterBlock, skip: usize, data: InOutBuf<'_, '_, u8>)
        where
            F: CtrFlavor<U16>,
            C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
        {
            let first = counter.block.to_be_bytes().into();
            let core = ctr::CtrCore::<&C, F>::inner_iv_init(cipher, &first);
            let mut key_stream = StreamCipherCoreWrapper::from_core(core);
            key_stream.unchecked_write_keystream(&mut [0; 16][..skip]);
            key_stream.unchecked_apply_keystream_inout(data);
        }
        with_cipher!(self, cipher => match counter.bits {
            32 => add::<Ctr32BE, _>(cipher, counter, skip, data),
            _ => add::<Ctr128BE, _>(cipher, counter, skip, data),
        });
    }

    fn encrypt_chained(&self, iv: &[u8; 16], blocks: InOutBuf<'_, '_, Block>) {
        with_cipher!(self, cipher => cipher.encrypt_with_backend(Chain { previous: (*iv).into(), blocks }));
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
