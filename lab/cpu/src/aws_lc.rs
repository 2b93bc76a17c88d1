//! aws-lc's calls, through its Rust crate, which has no XTS.

use crate::{Calls, KEY, Mode, Row, end_of, nonce};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce};
use aws_lc_rs::cipher::{
    AES_128, AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, UnboundCipherKey,
};
use aws_lc_rs::cmac;
use aws_lc_rs::iv::FixedLength;

pub fn calls(row: Row) -> Option<Calls> {
    let (gcm, siv, mac, aes) = match row.key {
        16 => (&aead::AES_128_GCM, &aead::AES_128_GCM_SIV, cmac::AES_128, &AES_128),
        _ => (&aead::AES_256_GCM, &aead::AES_256_GCM_SIV, cmac::AES_256, &AES_256),
    };
    let key = &KEY[..row.key];
    let aead = if row.mode == Mode::GcmSiv { siv } else { gcm };
    let aead_key = move || LessSafeKey::new(aead::UnboundKey::new(aead, key).expect("a key"));
    let sealing = aead_key();
    let seal = move |number, aad: &[u8], data: &mut [u8]| -> [u8; 16] {
        let nonce = Nonce::assume_unique_for_key(nonce(number));
        let tag = sealing.seal_in_place_separate_tag(nonce, Aad::from(aad), data).expect("a tag");
        tag.as_ref().try_into().expect("16 bytes")
    };
    let unbound = || UnboundCipherKey::new(aes, key).expect("a key");
    Some(match row.mode {
        Mode::Gcm | Mode::GcmSiv => Box::new(move |call, data| seal(call, &[], data)),
        Mode::GcmMessages(bytes) | Mode::GcmArrays(bytes) => Box::new(move |call, data| {
            let messages = data.chunks_mut(bytes).zip(call << 32..);
            messages.map(|(message, number)| seal(number, &[], message)).last().expect("a message")
        }),
        Mode::GcmDecryption => {
            let (opening, mut ciphertext) = (aead_key(), vec![7; row.bytes]);
            let tag = seal(0, &[], &mut ciphertext);
            Box::new(move |_, data| {
                let nonce = Nonce::assume_unique_for_key(nonce(0));
                opening.open_separate_gather(nonce, Aad::empty(), &ciphertext, &tag, data).expect("authentic");
                end_of(data)
            })
        }
        Mode::Cmac | Mode::CmacMessages(_) => {
            let key = cmac::Key::new(mac, key).expect("a key");
            let bytes = if let Mode::CmacMessages(bytes) = row.mode { bytes } else { row.bytes };
            Box::new(move |_, data| {
                let tag = |message| cmac::sign(&key, message).expect("a tag").as_ref().try_into().expect("16 bytes");
                data.chunks(bytes).fold([0; 16], |_, message| tag(message))
            })
        }
        Mode::Gmac => Box::new(move |call, data| seal(call, data, &mut [])),
        Mode::Ctr => {
            let key = EncryptingKey::ctr(unbound()).expect("a key");
            Box::new(move |call, data| {
                let iv = EncryptionContext::Iv128(FixedLength::from(nonce(call)));
                key.less_safe_encrypt(data, iv).expect("done");
                end_of(data)
            })
        }
        Mode::Ecb => {
            let key = EncryptingKey::ecb(unbound()).expect("a key");
            Box::new(move |_, data| {
                key.encrypt(data).expect("done");
                end_of(data)
            })
        }
        Mode::CbcDecryption => {
            let key = DecryptingKey::cbc(unbound()).expect("a key");
            Box::new(move |call, data| {
                key.decrypt(data, DecryptionContext::Iv128(FixedLength::from(nonce(call)))).expect("done");
                end_of(data)
            })
        }
        Mode::Xts(_) => return None,
    })
}
