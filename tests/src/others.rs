//! Modes from other implementations, the RustCrypto crates: the comparison for engines where [`reference`](crate::reference) does not
//! have the mode.

use aes::cipher::BlockCipherEncrypt;
use aes::{Aes128, Aes192, Aes256};
use aes_bitslice_core::aes::Direction;
use aes_gcm::AesGcm;
use aes_gcm::aead::array::ArraySize;
use aes_gcm::aead::consts::{U1, U8, U12, U16, U60};
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm_siv::AesGcmSiv;
use cmac::Mac;
use xts_mode::Xts128;

/// A message sealed by an AEAD: the ciphertext, and the tag.
fn sealed<C, N>(key: &[u8], nonce: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16])
where
    C: KeyInit + AeadInOut<NonceSize = N, TagSize = U16>,
    N: ArraySize,
{
    let mut data = data.to_vec();
    let nonce = nonce.try_into().expect("as long as it was looked at");
    let cipher = C::new_from_slice(key).expect("a length that was looked at");
    let tag = cipher.encrypt_inout_detached(nonce, aad, InOutBuf::from(&mut data[..])).expect("a short message");
    (data, tag.into())
}

/// The nonce lengths that [`gcm`] takes, in bytes.
pub const NONCES: [usize; 5] = [1, 8, 12, 16, 60];

/// GCM by the `aes-gcm` crate: the ciphertext, and the tag.
///
/// # Panics
/// If the key does not have an AES length, or the nonce none of the lengths in [`NONCES`].
pub fn gcm(key: &[u8], nonce: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
    fn with_nonce<N: ArraySize>(key: &[u8], nonce: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
        match key.len() {
            16 => sealed::<AesGcm<Aes128, N>, N>(key, nonce, aad, data),
            24 => sealed::<AesGcm<Aes192, N>, N>(key, nonce, aad, data),
            _ => sealed::<AesGcm<Aes256, N>, N>(key, nonce, aad, data),
        }
    }
    match nonce.len() {
        1 => with_nonce::<U1>(key, nonce, aad, data),
        8 => with_nonce::<U8>(key, nonce, aad, data),
        12 => with_nonce::<U12>(key, nonce, aad, data),
        16 => with_nonce::<U16>(key, nonce, aad, data),
        60 => with_nonce::<U60>(key, nonce, aad, data),
        other => panic!("no nonce of {other} bytes is compared"),
    }
}

/// XAES-256-GCM (C2SP), of the crates `aes` and `aes-gcm`, under a key of 32 bytes: the ciphertext, and the tag.
pub fn xaes(key: &[u8], nonce: &[u8; 24], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let cipher = Aes256::new_from_slice(key).expect("32 bytes");
    let encrypted = |block: u128| {
        let mut block = block.to_be_bytes().into();
        cipher.encrypt_block(&mut block);
        u128::from_be_bytes(block.into())
    };
    let zeros = encrypted(0);
    let k1 = (zeros << 1) ^ if zeros >> 127 == 1 { 0x87 } else { 0 };
    let (first, second) = nonce.split_at(12);
    let half = |i: u8| {
        let block: Vec<u8> = [&[0, i, b'X', 0], first].concat();
        encrypted(u128::from_be_bytes(block.try_into().expect("16 bytes")) ^ k1).to_be_bytes()
    };
    gcm(&[half(1), half(2)].concat(), second, aad, data)
}

/// AES-GCM-SIV by the `aes-gcm-siv` crate, under a key of 16 or 32 bytes: the ciphertext, and the tag.
///
/// # Panics
/// For another key.
pub fn gcm_siv(key: &[u8], nonce: &[u8; 12], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
    match key.len() {
        16 => sealed::<AesGcmSiv<Aes128>, U12>(key, nonce, aad, data),
        _ => sealed::<AesGcmSiv<Aes256>, U12>(key, nonce, aad, data),
    }
}

/// CMAC by the `cmac` crate.
///
/// # Panics
/// If the key does not have an AES length.
pub fn cmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    fn by<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Vec<u8> {
        let mut mac = <M as KeyInit>::new_from_slice(key).expect("a length that was looked at");
        mac.update(data);
        mac.finalize().into_bytes().to_vec()
    }
    match key.len() {
        16 => by::<cmac::Cmac<Aes128>>(key, data),
        24 => by::<cmac::Cmac<Aes192>>(key, data),
        _ => by::<cmac::Cmac<Aes256>>(key, data),
    }
}

/// XTS by the `xts-mode` crate, of data units of `unit` bytes from the number `first` on, under a key of 32 or 64 bytes.
///
/// # Panics
/// For another key, and where the last unit has 1 to 15 bytes.
pub fn xts(direction: Direction, key: &[u8], unit: usize, first: u128, data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    let tweak = |n: u128| first.wrapping_add(n).to_le_bytes().into();
    let (one, two) = key.split_at(key.len() / 2);
    macro_rules! by {
        ($cipher:ty) => {{
            let [one, two] = [one, two].map(|key| <$cipher>::new_from_slice(key).expect("a length that was looked at"));
            match direction {
                Direction::Encrypt => Xts128::new(one, two).encrypt_area(&mut data, unit, 0, tweak),
                Direction::Decrypt => Xts128::new(one, two).decrypt_area(&mut data, unit, 0, tweak),
            }
        }};
    }
    match one.len() {
        16 => by!(Aes128),
        _ => by!(Aes256),
    }
    data
}
