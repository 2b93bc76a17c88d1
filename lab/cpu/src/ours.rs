//! This project's calls.

use crate::{Calls, KEY, Mode, Row, end_of, nonce};
use aes_bitslice_runtime::{
    Aads, Backend, CbcDecrypt, Cipher, Cmac, CmacBatch, Counter, CounterMode, Ctr, Ecb, Engine, GcmDecrypt, GcmEncrypt,
    GcmEncryptBatch, GcmMessage, GcmSivEncrypt, Gmac, Key, Nonce, Nonces, Ranges, Xts, set_threads,
};

fn engine() -> Engine {
    let threads = std::env::var("THREADS").map_or(1, |number| number.parse().expect("a number of threads"));
    set_threads(threads).expect("before the first engine");
    Engine::open(Backend::Cpu).expect("a CPU")
}

pub fn description() -> String {
    engine().description()
}

pub fn calls(row: Row) -> Calls {
    let key = match row.mode {
        Mode::Xts(_) => Key::xts(&KEY[..2 * row.key]),
        _ => Key::new(&KEY[..row.key]),
    };
    let cipher: Cipher = engine().cipher(&key.expect("a key")).expect("a cipher");
    match row.mode {
        Mode::Gcm => Box::new(move |call, data| {
            let tag = cipher.run(GcmEncrypt::new(&Nonce::from(nonce::<12>(call)), &[]), data).expect("a tag");
            tag.as_bytes().try_into().expect("16 bytes")
        }),
        Mode::GcmMessages(bytes) => Box::new(move |call, data| {
            let numbers = 0..(data.len() / bytes) as u64;
            let nonces: Vec<[u8; 12]> = numbers.map(|n| nonce((call << 32) + n)).collect();
            let message = |(n, nonce)| {
                let start = (n * bytes) as u64;
                GcmMessage { nonce, aad: &[], range: start..start + bytes as u64 }
            };
            let messages: Vec<_> = nonces.iter().map(|nonce| &nonce[..]).enumerate().map(message).collect();
            let tags = cipher.run(GcmEncryptBatch::new(&messages).expect("a batch"), data).expect("tags");
            tags.last().expect("a tag").as_bytes().try_into().expect("16 bytes")
        }),
        Mode::GcmArrays(bytes) => Box::new(move |call, data| {
            let ranges = Ranges::equal(data.len() / bytes, bytes as u64);
            let nonces = Nonces::counted(nonce(call << 32), 64);
            let batch = GcmEncryptBatch::from_arrays(&ranges, &nonces, &Aads::NONE).expect("a batch");
            *cipher.run(batch, data).expect("tags").last().expect("a tag")
        }),
        Mode::GcmDecryption => {
            let (nonce, mut ciphertext) = (Nonce::from(nonce::<12>(0)), vec![7; row.bytes]);
            let tag = cipher.run(GcmEncrypt::new(&nonce, &[]), &mut ciphertext[..]).expect("a tag");
            Box::new(move |_, data| {
                cipher.run(GcmDecrypt::new(&nonce, &[], &tag), (&ciphertext[..], &mut *data)).expect("authentic");
                end_of(data)
            })
        }
        Mode::GcmSiv => Box::new(move |call, data| {
            let tag = cipher.run(GcmSivEncrypt::new(&Nonce::from(nonce::<12>(call)), &[]), data).expect("a tag");
            tag.as_bytes().try_into().expect("16 bytes")
        }),
        Mode::Cmac => Box::new(move |_, data| {
            cipher.run(Cmac::new(), &*data).expect("a tag").as_bytes().try_into().expect("16 bytes")
        }),
        Mode::CmacMessages(bytes) => Box::new(move |_, data| {
            let ranges = Ranges::equal(data.len() / bytes, bytes as u64);
            let tags = cipher.run(CmacBatch::from_arrays(&ranges).expect("a batch"), &*data).expect("tags");
            *tags.last().expect("a tag")
        }),
        Mode::Gmac => Box::new(move |call, data| {
            let tag = cipher.run(Gmac::new(&Nonce::from(nonce::<12>(call))), &*data).expect("a tag");
            tag.as_bytes().try_into().expect("16 bytes")
        }),
        Mode::Ctr => Box::new(move |call, data| {
            let counter = Counter::new(CounterMode::Ctr128BE, nonce(call));
            cipher.run(Ctr::new(&counter, 0), &mut *data).expect("done");
            end_of(data)
        }),
        Mode::Ecb => Box::new(move |_, data| {
            cipher.run(Ecb::encrypt(), &mut *data).expect("done");
            end_of(data)
        }),
        Mode::CbcDecryption => Box::new(move |call, data| {
            cipher.run(CbcDecrypt::new(&nonce(call)), &mut *data).expect("done");
            end_of(data)
        }),
        Mode::Xts(unit) => Box::new(move |call, data| {
            cipher.run(Xts::encrypt(unit as u64, call.into()).expect("units"), &mut *data).expect("done");
            end_of(data)
        }),
    }
}
