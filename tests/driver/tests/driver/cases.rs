//! Calls, each with small data.

use crate::bench::{Bench, Outcome, Place};
use aes_bitslice_runtime::{
    CbcDecrypt, CmacBatch, CmacVerifyBatch, Ctr, EachKey, Ecb, GcmDecrypt, GcmDecryptBatch, GcmEncrypt,
    GcmEncryptBatch, GcmMessage, GcmSivDecrypt, GcmSivEncrypt, Gmac, Job, Jobs, Key, KeyBits, Keystream, Mode, Nonce,
    Tag, Xts,
};
use aes_bitslice_tests::operation::counter;
use aes_bitslice_tests::others;
use aes_bitslice_tests::reference::noise;
use std::ops::Range;

/// A call.
pub struct Case {
    pub name: &'static str,
    /// Whether it is done on the host by the CPU alone.
    pub on_device_only: bool,
    verified: Verified,
    pub call: fn(&Bench<'_>) -> Outcome,
}

/// What a case writes that may be looked at only if it is authentic.
#[derive(Clone, Copy)]
enum Verified {
    Nothing,
    /// All of it, as one message.
    All,
    /// Each of [`MESSAGES`].
    Messages,
}

const fn case(name: &'static str, call: fn(&Bench<'_>) -> Outcome) -> Case {
    Case { name, on_device_only: false, verified: Verified::Nothing, call }
}

const fn verifying(name: &'static str, call: fn(&Bench<'_>) -> Outcome) -> Case {
    Case { name, on_device_only: false, verified: Verified::All, call }
}

const fn on_device(name: &'static str, call: fn(&Bench<'_>) -> Outcome) -> Case {
    Case { name, on_device_only: true, verified: Verified::Nothing, call }
}

const fn verifying_messages(name: &'static str, call: fn(&Bench<'_>) -> Outcome) -> Case {
    Case { name, on_device_only: true, verified: Verified::Messages, call }
}

impl Case {
    /// Where its data can be.
    pub fn places(&self) -> &'static [Place] {
        match self.on_device_only {
            true => &[Place::Device(0), Place::Device(3)],
            false => &[Place::Host, Place::HostInChunks, Place::Pinned, Place::Device(0), Place::Device(3)],
        }
    }

    /// Beginnings and ends of messages, in data of `len` bytes, that may be looked at only if they are authentic.
    pub fn verified(&self, len: usize) -> Vec<(usize, usize)> {
        match self.verified {
            Verified::Nothing => vec![],
            Verified::All => vec![(0, len)],
            Verified::Messages => MESSAGES.map(|(from, to)| (from as usize, to as usize)).into(),
        }
    }
}

/// All of them.
pub const CASES: [Case; 19] = [
    case("ECB encryption", |bench| bench.run(&key(16), Ecb::encrypt(), &data(1, 4080))),
    case("ECB decryption", |bench| bench.run(&key(24), Ecb::decrypt(), &data(2, 6000))),
    case("CBC decryption", |bench| bench.run(&key(32), CbcDecrypt::new(&[7; 16]), &data(3, 9000))),
    case("CTR", |bench| bench.run(&key(32), Ctr::new(&counter([0xff; 16]), 5), &noise(4, 5003))),
    case("a key stream", |bench| bench.run(&key(16), Keystream::new(&counter([0xff; 16]), 3), &noise(5, 2001))),
    case("XTS encryption", |bench| bench.run(&xts_key(), Xts::encrypt(512, 9).unwrap(), &noise(6, 5000))),
    case("XTS decryption", |bench| bench.run(&xts_key(), Xts::decrypt(4096, 9).unwrap(), &noise(7, 9001))),
    case("GCM encryption", |bench| {
        bench.run_with_output(&key(16), GcmEncrypt::new(&nonce(), b"a header"), &noise(8, 4001))
    }),
    verifying("GCM decryption", |bench| {
        let (secret, tag) = others::gcm(&KEY[..32], &[3; 12], b"a header", &noise(9, 3000));
        bench.run_with_output(&key(32), GcmDecrypt::new(&nonce(), b"a header", &Tag::new(&tag).unwrap()), &secret)
    }),
    verifying("GCM decryption of what is not authentic", |bench| {
        let (secret, tag) = others::gcm(&KEY[..32], &[3; 12], b"a header", &noise(9, 3000));
        bench.run_with_output(&key(32), GcmDecrypt::new(&nonce(), b"another", &Tag::new(&tag).unwrap()), &secret)
    }),
    case("AES-GCM-SIV encryption", |bench| {
        bench.run_with_output(&key(32), GcmSivEncrypt::new(&nonce(), b"a header"), &noise(10, 2000))
    }),
    verifying("AES-GCM-SIV decryption", |bench| {
        let (secret, tag) = others::gcm_siv(&KEY[..16], &[3; 12], b"a header", &noise(11, 1501));
        bench.run_with_output(&key(16), GcmSivDecrypt::new(&nonce(), b"a header", &Tag::new(&tag).unwrap()), &secret)
    }),
    case("GMAC", |bench| bench.read(&key(24), Gmac::new(&nonce()), &noise(12, 3333))),
    on_device("GCM encryption of many messages", |bench| {
        let (nonces, data) = (nonces(), noise(13, MESSAGES[3].1 as usize + 5));
        bench.run_with_output(&key(16), GcmEncryptBatch::new(&messages(&nonces)).unwrap(), &data)
    }),
    verifying_messages("GCM decryption of many messages", |bench| {
        let (nonces, mut data) = (nonces(), noise(14, MESSAGES[3].1 as usize + 5));
        let mut tags = Vec::new();
        for (message, nonce) in MESSAGES.iter().zip(&nonces) {
            let range = message.0 as usize..message.1 as usize;
            let (secret, tag) = others::gcm(&KEY[..16], nonce, b"header", &data[range.clone()]);
            data[range].copy_from_slice(&secret);
            tags.push(Tag::new(&tag).unwrap());
        }
        // One of them is not authentic.
        tags[1] = tags[0];
        bench.run_with_output(&key(16), GcmDecryptBatch::new(&messages(&nonces), &tags).unwrap(), &data)
    }),
    on_device("CMAC of many messages", |bench| bench.read(&key(24), CmacBatch::new(&RANGES).unwrap(), &noise(15, 100))),
    on_device("verification of CMAC of many messages", |bench| {
        let data = noise(15, 100);
        let tag = |range: &Range<u64>| others::cmac(&KEY[..24], &data[range.start as usize..range.end as usize]);
        let tags = RANGES.each_ref().map(|range| Tag::new(&tag(range)).unwrap());
        bench.read(&key(24), CmacVerifyBatch::new(&RANGES, &tags).unwrap(), &data)
    }),
    on_device("jobs under many keys", |bench| {
        let keys = [noise(16, 32), noise(17, 32), noise(18, 32)];
        let job = |n: usize| {
            let (from, to) = MESSAGES[n];
            Job { key: &keys[n], counter: [0xff; 16], range: from..to }
        };
        let jobs = Jobs::new(Mode::Ctr, &[job(0), job(1), job(2)]).unwrap();
        let data = noise(19, MESSAGES[2].1 as usize + 3);
        match bench.place {
            Place::Host | Place::HostInChunks | Place::Pinned => {
                bench.on_host(&data, |data| bench.engine.run_jobs(&jobs, data).map(|()| String::new()))
            }
            Place::Device(_) => bench.on_device(&data, |stream, data| {
                bench.engine.device_jobs()?.run(stream, &jobs, data)?.wait().map(|()| String::new())
            }),
        }
    }),
    on_device("the same number of bytes under each key", |bench| {
        let (keys, data) = (noise(20, 16 * 40), noise(21, 48 * 40));
        let each = EachKey::new(Mode::EcbDecrypt, KeyBits::Aes128, [0; 16], 48).unwrap();
        match bench.place {
            Place::Host | Place::HostInChunks | Place::Pinned => {
                bench.on_host(&data, |data| bench.engine.run_each_key(&each, &keys, data).map(|()| String::new()))
            }
            Place::Device(_) => {
                let keys = bench.stream().clone_htod(&keys).expect("memory of the device");
                bench.on_device(&data, |stream, data| {
                    bench.engine.device_jobs()?.run_each_key(stream, &each, &keys, data).map(|()| String::new())
                })
            }
        }
    }),
];

const KEY: [u8; 64] = {
    let mut key = [0; 64];
    let mut i = 0;
    while i < 64 {
        key[i] = (i * 37 + 11) as u8;
        i += 1;
    }
    key
};

/// Messages whose order and beginnings are any.
const RANGES: [Range<u64>; 4] = [0..40, 40..40, 3..64, 64..97];

/// Beginnings and ends of messages.
const MESSAGES: [(u64, u64); 4] = [(0, 1000), (1004, 1021), (1024, 3072), (3072, 3088)];

fn key(bytes: usize) -> Key {
    Key::new(&KEY[..bytes]).unwrap()
}

fn xts_key() -> Key {
    Key::xts(&KEY).unwrap()
}

fn nonce() -> Nonce {
    Nonce::new(&[3; 12]).unwrap()
}

/// About as many bytes, in whole blocks.
fn data(seed: u64, bytes: usize) -> Vec<u8> {
    noise(seed, bytes / 16 * 16)
}

fn nonces() -> [[u8; 12]; 4] {
    std::array::from_fn(|n| [n as u8; 12])
}

fn messages(nonces: &[[u8; 12]; 4]) -> Vec<GcmMessage<'_>> {
    let message = |(&(from, to), nonce)| GcmMessage { nonce, aad: b"header", range: from..to };
    MESSAGES.iter().zip(nonces.iter().map(|nonce| &nonce[..])).map(message).collect()
}
