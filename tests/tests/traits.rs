//! Types by their traits: the bitsliced ciphers through the traits of the `cipher` crate, as code uses them that knows
//! only the traits (any number of blocks, in place and not, and CTR with seeking, on every kind of vector), GCM and
//! AES-GCM-SIV through those of the crate `aead`, and which types threads may share.

use aead::inout::InOutBuf;
use aead::{Aead, AeadInOut, Payload};
use aes_bitslice_runtime::aead::{Gcm, GcmSiv, Xaes};
use aes_bitslice_runtime::bitsliced::{BitslicedAes, Isa, KeySize};
use aes_bitslice_runtime::cuda::{DeviceCipher, ShardedBuffer, ShardedCipher, Tuning};
use aes_bitslice_runtime::opencl::{BufferCipher, BufferSlice};
use aes_bitslice_runtime::{
    Backend, CbcDecrypt, CbcEncrypt, Cipher, Counter, Ctr, Direction, Ecb, Engine, Error, HostBuffer, Key as SecretKey,
    SubmitError, Submitted,
};
use aes_bitslice_tests::others;
use aes_bitslice_tests::reference::{Reference, noise};
use aes_bitslice_tests::refused;
use cipher::consts::{U12, U16, U24, U32};
use cipher::{
    Array, Block, BlockCipherDecrypt, BlockCipherEncrypt, InnerIvInit, Key, KeyInit, StreamCipher,
    StreamCipherCoreWrapper, StreamCipherSeek,
};

/// What threads may share and hand over, as the docs say; that this compiles is the proof.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Engine>();
    shared::<Cipher>();
    shared::<SecretKey>();
    shared::<Counter>();
    shared::<Ecb>();
    shared::<Ctr>();
    shared::<CbcEncrypt>();
    shared::<CbcDecrypt>();
    shared::<DeviceCipher<'_>>();
    shared::<ShardedCipher<'_>>();
    shared::<ShardedBuffer>();
    shared::<BufferCipher<'_>>();
    shared::<BufferSlice<'_>>();
    shared::<Tuning>();
    shared::<HostBuffer>();
    shared::<Error>();
    shared::<Submitted<Vec<u8>>>();
    shared::<SubmitError<Vec<u8>>>();
    // The data is handed from thread to thread, never accessed by two.
    shared::<Submitted<std::cell::Cell<u8>>>();
    const fn future_of_its_data<F: Future<Output = Result<B, SubmitError<B>>> + Unpin, B>() {}
    future_of_its_data::<Submitted<Box<[u8]>>, _>();
};

type Blocks = Vec<Array<u8, U16>>;

fn blocks(bytes: &[u8]) -> Blocks {
    bytes.chunks(16).map(|b| Array::try_from(b).unwrap()).collect()
}

/// Every ISA, and the choice of `KeyInit`.
fn ciphers<K: KeySize>(key: &[u8]) -> Vec<BitslicedAes<K>> {
    let given = Key::<BitslicedAes<K>>::try_from(key).unwrap();
    let picked = BitslicedAes::new_from_slice(key).unwrap();
    Isa::available().into_iter().map(|isa| BitslicedAes::on(isa, &given).unwrap()).chain([picked]).collect()
}

fn block_cipher<K: KeySize>() {
    let key = noise(1, K::USIZE);
    let reference = Reference::new(&key);
    for count in [0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1100] {
        let plain = noise(count as u64, 16 * count);
        let encrypted = blocks(&reference.ecb(Direction::Encrypt, &plain));
        let plain = blocks(&plain);
        for cipher in ciphers::<K>(&key) {
            let mut data = plain.clone();
            cipher.encrypt_blocks(&mut data);
            assert!(data == encrypted, "{count} blocks in place");
            cipher.decrypt_blocks(&mut data);
            assert!(data == plain, "{count} blocks back in place");
            let mut out = vec![Block::<BitslicedAes<K>>::default(); count];
            cipher.encrypt_blocks_b2b(&plain, &mut out).unwrap();
            assert!(out == encrypted, "{count} blocks");
            cipher.decrypt_blocks_b2b(&encrypted, &mut out).unwrap();
            assert!(out == plain, "{count} blocks back");
            if let Some(&first) = plain.first() {
                let mut block = first;
                cipher.encrypt_block(&mut block);
                assert_eq!(block, encrypted[0]);
                cipher.decrypt_block(&mut block);
                assert_eq!(block, first);
            }
        }
    }
}

fn stream_cipher<K: KeySize>() {
    let key = noise(2, K::USIZE);
    let counter = (u128::MAX - 20).to_be_bytes();
    let data = noise(3, 20_000);
    let expected = Reference::new(&key).ctr(counter, 0, &data);
    for cipher in ciphers::<K>(&key) {
        let core = ctr::CtrCore::inner_iv_init(cipher, &counter.into());
        let mut ctr: ctr::Ctr128BE<BitslicedAes<K>> = StreamCipherCoreWrapper::from_core(core);
        let mut out = data.clone();
        // Piece by piece, then again from positions in the middle.
        let mut rest = &mut out[..];
        for len in [0, 1, 15, 16, 17, 511, 512, 513, 8192].into_iter().cycle() {
            let (piece, after) = rest.split_at_mut(len.min(rest.len()));
            ctr.apply_keystream(piece);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        assert!(out == expected);
        assert_eq!(ctr.current_pos::<u64>(), data.len() as u64);
        for position in [0, 1, 16, 333, 8191, 19_999] {
            ctr.seek(position as u64);
            let mut out = data[position..].to_vec();
            ctr.apply_keystream(&mut out);
            assert!(out == expected[position..], "from byte {position}");
        }
    }
}

#[test]
fn blocks_of_every_number() {
    block_cipher::<U16>();
    block_cipher::<U24>();
    block_cipher::<U32>();
}

#[test]
fn keystream_with_seeking() {
    stream_cipher::<U16>();
    stream_cipher::<U24>();
    stream_cipher::<U32>();
}

/// Both directions, with the tag behind the message and apart from it, equal another implementation's; what was changed
/// is refused, and cleared.
fn authenticated(
    ours: &(impl AeadInOut<NonceSize = U12, TagSize = U16> + Aead),
    other: &(impl AeadInOut<NonceSize = U12, TagSize = U16> + Aead),
) {
    let nonce = [9; 12].into();
    for bytes in [0, 1, 15, 16, 17, 1000, 100_000] {
        let (message, aad) = (noise(4, bytes), noise(5, bytes % 50));
        let payload = |msg| Payload { msg, aad: &aad };
        let sealed = ours.encrypt(&nonce, payload(&message)).unwrap();
        assert!(sealed == other.encrypt(&nonce, payload(&message)).unwrap(), "{bytes} bytes");
        assert!(ours.decrypt(&nonce, payload(&sealed)).unwrap() == message, "{bytes} bytes back");

        let mut out = vec![0; bytes];
        let tag = ours.encrypt_inout_detached(&nonce, &aad, InOutBuf::new(&message, &mut out).unwrap()).unwrap();
        assert!([&out, &tag[..]].concat() == sealed, "{bytes} bytes to another buffer");
        let mut wrong = tag;
        wrong[15] ^= 1;
        let refused = ours.decrypt_inout_detached(&nonce, &aad, (&mut out[..]).into(), &wrong);
        assert!(refused.is_err() && out == vec![0; bytes], "{bytes} bytes with a wrong tag");
        assert!(ours.decrypt(&nonce, payload(&sealed[..sealed.len() - 1])).is_err(), "{bytes} bytes cut");
        assert!(ours.decrypt(&nonce, &sealed[..]).is_err() || aad.is_empty(), "{bytes} bytes without the data beside");
    }
}

#[test]
fn authenticated_encryption_through_traits() {
    let (short, long) = ([7; 16], [8; 32]);
    for backend in [Backend::Cpu, Backend::CpuBitsliced] {
        let engine = Engine::open(backend).unwrap();
        let on = |key: &[u8]| engine.cipher(&SecretKey::new(key).unwrap()).unwrap();
        authenticated(&Gcm::new(on(&short)).unwrap(), &aes_gcm::Aes128Gcm::new(&short.into()));
        authenticated(&Gcm::new(on(&long)).unwrap(), &aes_gcm::Aes256Gcm::new(&long.into()));
        authenticated(&GcmSiv::new(on(&short)).unwrap(), &aes_gcm_siv::Aes128GcmSiv::new(&short.into()));
        authenticated(&GcmSiv::new(on(&long)).unwrap(), &aes_gcm_siv::Aes256GcmSiv::new(&long.into()));
        refused!(GcmSiv::new(on(&[7; 24])), Error::WrongKeys { .. }, "RFC 8452 has no keys of 192 bits");
        let (xaes, payload) = (Xaes::new(on(&long)).unwrap(), Payload { msg: b"a message", aad: b"beside it" });
        let (secret, tag) = others::xaes(&long, &[6; 24], payload.aad, payload.msg);
        let sealed = xaes.encrypt(&[6; 24].into(), payload).unwrap();
        assert_eq!(sealed, [&secret, &tag[..]].concat());
        assert_eq!(xaes.decrypt(&[6; 24].into(), Payload { msg: &sealed, aad: b"beside it" }).unwrap(), b"a message");
        let xts = engine.cipher(&SecretKey::generate_xts(aes_bitslice_runtime::KeyBits::Aes128).unwrap()).unwrap();
        refused!(Gcm::new(xts), Error::WrongKeys { .. });
    }
}
