//! Decisions on secrets: whether a tag is right, alone or in a batch, whether a sealed file has this key, whether two keys, or the halves
//! of an XTS key, are equal, whether a text is a key. The decision is public, and a branch depends on it; where two values differ is secret.
//! So there are as many branches if they differ in the first byte as if they differ in the last, and, if they are equal, no more than a
//! decision needs.

use crate::memcheck::{findings, make_borrowed_undefined, make_defined, make_undefined};
use aes_bitslice_runtime::{
    Backend, Cipher, Cmac, CmacBatch, CmacVerifyBatch, Direction, Engine, Error, GcmDecrypt, GcmDecryptBatch,
    GcmEncrypt, GcmEncryptBatch, GcmEncryptJobs, GcmMessage, GcmPart, GcmSivDecrypt, GcmSivEncrypt, JobKeys, Key,
    KeyBits, Nonce, Tag, XaesDecrypt, XaesEncrypt, Xts,
};
use aes_bitslice_seal::{Opening, PassphraseCost, Sealing, Secret};
use sha2::{Digest, Sha256};
use std::hint::black_box;

/// Bytes of data.
const BYTES: usize = 100;
/// Branches that a decision may need: one in each function that it passes through; in a batch, one of these counts the forged messages.
const MOST: usize = 5;

/// Makes each decision.
///
/// # Panics
/// If one of them has other branches.
pub fn decisions() -> Result<(), Error> {
    let engine = Engine::open(Backend::Cpu)?;
    let mut secret = [0x5a; 32];
    make_undefined(&mut secret);
    let cipher = engine.cipher(&Key::new(&secret)?)?;
    of_tags(&cipher, &secret)?;
    of_keys(&engine, secret)?;
    make_defined(&mut secret);
    Ok(())
}

/// Decisions on tags.
fn of_tags(cipher: &Cipher, secret: &[u8]) -> Result<(), Error> {
    let nonce = Nonce::new(&[3; 12])?;
    let mut data = [0xa5; BYTES];
    let messages = [GcmMessage { nonce: nonce.as_bytes(), aad: &[], range: 0..BYTES as u64 }];
    let tag = cipher.run(GcmEncrypt::new(&nonce, b"a header"), &mut data)?;
    let encrypted = data;
    has_no_other_branches("GCM decryption", 16, |byte| {
        let (tag, mut data) = (changed(&tag, byte), encrypted);
        cipher.run(GcmDecrypt::new(&nonce, b"a header", &tag), &mut data).is_ok()
    });
    let part = |data: &[u8]| {
        let mut data = data.to_vec();
        cipher.run(GcmPart::new(Direction::Decrypt, &nonce, 0), &mut data)
    };
    let parts = part(&encrypted)?;
    has_no_other_branches("GCM decryption in parts", 16, |byte| {
        cipher.combine(&GcmDecrypt::new(&nonce, b"a header", &changed(&tag, byte)), vec![parts]).is_ok()
    });
    let mut data = [0xa5; BYTES];
    let tags = cipher.run(GcmEncryptBatch::new(&messages)?, &mut data)?;
    let encrypted = data;
    has_no_other_branches("a GCM batch", 16, |byte| {
        let (tags, mut data) = ([changed(&tags[0], byte)], encrypted);
        let opened = GcmDecryptBatch::new(&messages, &tags).and_then(|batch| cipher.run(batch, &mut data));
        opened.expect("a batch").failed().is_empty()
    });
    // The key is undefined, and so is what is copied from it.
    let keys = JobKeys::each(KeyBits::Aes256, secret);
    let mut data = [0xa5; BYTES];
    let tags = cipher.run(GcmEncryptJobs::from_messages(&keys, &messages)?, &mut data)?;
    let encrypted = data;
    has_no_other_branches("GCM under a key of the message", 16, |byte| {
        let (tags, mut data) = ([changed(&tags[0], byte)], encrypted);
        let batch = GcmDecryptBatch::new(&messages, &tags).and_then(|batch| batch.under(&keys));
        batch.and_then(|batch| cipher.run(batch, &mut data)).expect("a batch").failed().is_empty()
    });
    let mut data = [0xa5; BYTES];
    let tag = cipher.run(GcmSivEncrypt::new(&nonce, b"a header"), &mut data)?;
    let encrypted = data;
    has_no_other_branches("AES-GCM-SIV decryption", 16, |byte| {
        let (tag, mut data) = (changed(&tag, byte), encrypted);
        cipher.run(GcmSivDecrypt::new(&nonce, b"a header", &tag), &mut data).is_ok()
    });
    let (nonce, mut data) = (Nonce::new(&[3; 24])?, [0xa5; BYTES]);
    let tag = cipher.run(XaesEncrypt::new(&nonce, b"a header"), &mut data)?;
    let encrypted = data;
    has_no_other_branches("XAES-256-GCM decryption", 16, |byte| {
        let (tag, mut data) = (changed(&tag, byte), encrypted);
        cipher.run(XaesDecrypt::new(&nonce, b"a header", &tag), &mut data).is_ok()
    });
    let message = 0..BYTES as u64;
    let messages = std::slice::from_ref(&message);
    let tags = cipher.run(CmacBatch::new(messages)?, &[7; BYTES])?;
    has_no_other_branches("a CMAC batch", 16, |byte| {
        let batch = CmacVerifyBatch::new(messages, &[changed(&tags[0], byte)]);
        batch.and_then(|batch| cipher.run(batch, &[7; BYTES])).expect("a batch").failed().is_empty()
    });
    let tag = cipher.run(Cmac::new(), &[7; BYTES])?;
    has_no_other_branches("comparison of tags", 16, |byte| black_box(changed(&tag, byte)) == black_box(tag));
    let other = |byte: Option<usize>| {
        let mut other = parts;
        byte.into_iter().for_each(|byte| other.hash[byte] ^= 1);
        other
    };
    has_no_other_branches("comparison of hashes", 16, |byte| black_box(other(byte)) == black_box(parts));
    Ok(())
}

/// Decisions on keys.
fn of_keys(engine: &Engine, secret: [u8; 32]) -> Result<(), Error> {
    has_no_other_branches("the halves of a key of XTS", 16, |byte| {
        let mut both = [0x5a; 32];
        byte.into_iter().for_each(|byte| both[byte] ^= 1);
        make_undefined(&mut both);
        // They are looked at when data is to be encrypted.
        let cipher = Key::xts(&both).and_then(|key| engine.cipher(&key)).expect("a key");
        Xts::encrypt(16, 0).and_then(|operation| cipher.run(operation, &mut [7; 16])).is_err()
    });
    let mut text = [b'a'; 64];
    make_undefined(&mut text);
    has_no_other_branches("a key in hexadecimal digits", 0, |_| {
        // SAFETY: these are ASCII letters, whatever memcheck takes them for.
        Key::from_hex(unsafe { std::str::from_utf8_unchecked(black_box(&text)) }).is_ok()
    });
    make_defined(&mut text);
    let key = Key::new(&secret)?;
    has_no_other_branches("comparison of keys", 32, |byte| {
        let mut other = secret;
        byte.into_iter().for_each(|byte| other[byte] ^= 1);
        Key::new(&other).expect("a key") == key
    });
    let mut header = {
        let sealing = Sealing::new(engine, Secret::Key(&key), PassphraseCost::default()).expect("a header");
        sealing.header().to_vec()
    };
    make_defined(&mut header);
    make_borrowed_undefined(key.expose());
    has_no_other_branches("the key of a sealed file", 32, |byte| {
        let mut header = header.clone();
        byte.into_iter().for_each(|byte| header[56 + byte] ^= 1);
        let checksum = Sha256::digest(&header[..88]);
        header[88..96].copy_from_slice(&checksum[..8]);
        Opening::new(engine, Secret::Key(&key), &header).is_ok()
    });
    Ok(())
}

/// A tag that differs in this byte, or in none: defined, while the one that is computed is not.
fn changed(tag: &Tag, byte: Option<usize>) -> Tag {
    let mut bytes: [u8; 16] = tag.as_bytes().try_into().expect("16 bytes");
    make_defined(&mut bytes);
    byte.into_iter().for_each(|byte| bytes[byte] ^= 1);
    Tag::new(&bytes).expect("16 bytes")
}

/// Makes a decision between values of `bytes` bytes that are equal, or differ in the byte that it is given.
fn has_no_other_branches(what: &str, bytes: usize, decide: impl Fn(Option<usize>) -> bool) {
    let of = |byte| {
        let before = findings();
        let mut decision = u8::from(decide(byte));
        let found = findings() - before;
        make_defined(std::slice::from_mut(&mut decision));
        assert_eq!(decision == 1, byte.is_none(), "{what}, {byte:?}");
        found
    };
    let found = of(None);
    println!("{what}: {found} branches");
    assert!(found <= MOST, "{what}: {found} branches depend on what is secret");
    // An error has more to do than a success.
    let places = [0, 1, bytes / 2, bytes.saturating_sub(1)].into_iter().filter(|&byte| byte < bytes);
    let differing: Vec<usize> = places.map(|byte| of(Some(byte))).collect();
    assert!(
        differing.windows(2).all(|two| two[0] == two[1]),
        "{what}: {differing:?} branches, by the first byte that differs"
    );
}
