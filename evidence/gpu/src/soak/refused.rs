//! Invalid calls: each must be refused, and change nothing.

use crate::call::{Call, compare};
use crate::wrong::{Wrong, wrong};
use aes_bitslice_runtime::{
    CbcDecrypt, Cipher, CmacBatch, CmacVerifyBatch, Counter, CounterMode, Ctr, EachKey, Ecb, Engine, GcmDecryptBatch,
    GcmEncryptBatch, GcmMessage, GcmSivEncrypt, Job, Jobs, Key, KeyBits, Mode, Nonce, Tag, Xts,
};
use std::ops::Range;

/// A trial: takes a cipher with one key, one with an XTS key, and data that is not whole blocks; returns for each call whether it was
/// refused.
type Try = fn(&Cipher, &Cipher, &mut [u8]) -> Vec<bool>;

const ALL: [(&str, Try); 23] = [
    ("ECB of no whole blocks", |cipher, _, data| vec![cipher.run(Ecb::encrypt(), data).is_err()]),
    ("CBC of no whole blocks", |cipher, _, data| vec![cipher.run(CbcDecrypt::new(&[0; 16]), data).is_err()]),
    ("ECB of no whole blocks, submitted", |cipher, _, data| {
        match cipher.submit(Ecb::decrypt(), data.to_vec()) {
            Ok(_) => vec![false],
            Err(refused) => {
                // The data comes back: the caller of this compares it.
                let is_whole = refused.data.len() == data.len();
                if is_whole {
                    data.copy_from_slice(&refused.data);
                }
                vec![is_whole]
            }
        }
    }),
    ("an output of another length", |cipher, _, data| {
        let input = vec![1; data.len() / 16 * 16 + 16];
        vec![cipher.run(Ctr::new(&counter(), 0), (&input[..], data)).is_err()]
    }),
    ("an output that is not there", |cipher, _, data| vec![cipher.run(Ecb::encrypt(), &data[..16]).is_err()]),
    ("a counter that runs over", |cipher, _, data| {
        vec![cipher.run(Ctr::new(&Counter::new(CounterMode::Ctr32BE, [0xff; 16]), 0), data).is_err()]
    }),
    ("a key of another length", |_, _, data| {
        vec![Key::new(&data[..17]).is_err(), Key::new(&[]).is_err(), Key::xts(&[1; 48]).is_err()]
    }),
    ("encryption under keys of XTS that are equal", |cipher, _, data| {
        let cipher = cipher.engine().cipher(&Key::xts(&[7; 32]).expect("they decrypt")).expect("as other keys");
        vec![cipher.run(unit(16), &mut data[..16]).is_err()]
    }),
    ("XTS under one key", |cipher, _, data| vec![cipher.run(unit(16), data).is_err()]),
    ("ECB under a key of XTS", |_, xts, data| vec![xts.run(Ecb::encrypt(), &mut data[..16]).is_err()]),
    ("a last unit of fewer than 16 bytes", |_, xts, data| vec![xts.run(unit(16), data).is_err()]),
    ("a unit of 15 bytes, and of 2^24 + 1", |_, _, _| {
        vec![Xts::encrypt(15, 0).is_err(), Xts::decrypt((1 << 24) + 1, 0).is_err()]
    }),
    ("units past the last number", |_, xts, data| {
        let len = data.len() / 16 * 16;
        vec![Xts::encrypt(16, u128::MAX).is_ok_and(|units| xts.run(units, &mut data[..len]).is_err())]
    }),
    ("nonces and tags of other lengths", |cipher, _, data| {
        let nonce = Nonce::new(&[1; 13]).expect("GCM has them");
        let siv = cipher.run(GcmSivEncrypt::new(&nonce, b""), data);
        vec![Nonce::new(&[]).is_err(), Tag::new(&[1; 3]).is_err(), siv.is_err()]
    }),
    ("a message past the end", |cipher, _, data| {
        let end = data.len() as u64 + 1;
        let batch = GcmEncryptBatch::new(&[message(1, 0..9), message(2, 9..end)]);
        vec![batch.is_ok_and(|batch| cipher.run(batch, data).is_err())]
    }),
    ("messages that overlap", |_, _, _| vec![GcmEncryptBatch::new(&[message(1, 0..10), message(2, 9..20)]).is_err()]),
    ("a nonce for two messages", |_, _, _| vec![GcmEncryptBatch::new(&[message(1, 0..9), message(1, 9..20)]).is_err()]),
    ("fewer tags than messages", |_, _, _| {
        let ranges = [0..9, 9..20];
        vec![GcmDecryptBatch::new(&[message(1, 0..9)], &[]).is_err(), CmacVerifyBatch::new(&ranges, &[]).is_err()]
    }),
    ("CMAC past the end", |cipher, _, data| {
        let ranges = [0..9, 1..data.len() as u64 + 1];
        vec![CmacBatch::new(&ranges).is_ok_and(|batch| cipher.run(batch, data).is_err())]
    }),
    ("jobs that overlap, and half blocks", |_, _, _| {
        let overlap = Jobs::new(Mode::Ctr, &[job(&[1; 16], 0..5), job(&[2; 16], 4..9)]);
        vec![overlap.is_err(), Jobs::new(Mode::EcbDecrypt, &[job(&[1; 16], 0..17)]).is_err()]
    }),
    ("jobs under keys of two lengths", |_, _, _| {
        vec![Jobs::new(Mode::Ctr, &[job(&[1; 16], 0..5), job(&[2; 32], 5..9)]).is_err()]
    }),
    ("a job past the end", |cipher, _, data| {
        let end = data.len() as u64 + 1;
        let jobs = Jobs::new(Mode::Ctr, &[job(&[1; 16], 0..5), job(&[2; 16], 5..end)]);
        vec![jobs.is_ok_and(|jobs| cipher.run(jobs, data).is_err())]
    }),
    ("data for other keys", |cipher, _, data| {
        let each = EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], 16);
        vec![each.is_ok_and(|each| cipher.engine().run_each_key(&each, &[1; 32], data).is_err())]
    }),
];

fn counter() -> Counter {
    Counter::new(CounterMode::Ctr128BE, [7; 16])
}

fn unit(bytes: u64) -> Xts {
    Xts::encrypt(bytes, 7).expect("a unit of whole blocks")
}

fn message(nonce: usize, range: Range<u64>) -> GcmMessage<'static> {
    const NONCES: [[u8; 12]; 3] = [[0; 12], [1; 12], [2; 12]];
    GcmMessage { nonce: &NONCES[nonce], aad: b"header", range }
}

fn job(key: &[u8], range: Range<u64>) -> Job<'_> {
    Job { key, counter: [0; 16], range }
}

/// All of them.
pub fn make(call: &mut Call<'_>) -> Result<(), Wrong> {
    let len = 16 * (3 + call.random.below(1000)) + 1 + call.random.below(15);
    let xts = xts(call.engine)?;
    for (name, are_refused) in ALL {
        let mut data = vec![0xa5; len as usize];
        let are_refused = are_refused(call.cipher, &xts, &mut data);
        all_refused(call, are_refused).map_err(|n| format!("{name}: call {n} was not refused"))?;
        call.planted.bytes(&mut data);
        compare(&data, &vec![0xa5; data.len()], &format!("{name}: refused, and yet"))?;
    }
    on_gpu(call, &xts)
}

fn xts(engine: &Engine) -> Result<Cipher, Wrong> {
    let key: [u8; 32] = std::array::from_fn(|i| i as u8);
    Key::xts(&key).and_then(|key| engine.cipher(&key)).map_err(wrong)
}

/// The number of the first call that was not refused.
fn all_refused(call: &mut Call<'_>, are_refused: Vec<bool>) -> Result<(), usize> {
    let are_refused: Vec<bool> = are_refused.into_iter().map(|refused| call.planted.refusal(refused)).collect();
    are_refused.iter().position(|is_refused| !is_refused).map_or(Ok(()), Err)
}

/// In GPU memory, if there is a GPU.
fn on_gpu(call: &mut Call<'_>, xts: &Cipher) -> Result<(), Wrong> {
    let Some(stream) = call.streams.one(call.random) else { return Ok(()) };
    let (input, mut data) =
        (stream.clone_htod(&[1; 160]).map_err(wrong)?, stream.clone_htod(&[0xa5; 100]).map_err(wrong)?);
    let device = call.cipher.device().map_err(wrong)?;
    let of_xts = xts.device().map_err(wrong)?;
    let each = EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], 16).map_err(wrong)?;
    let are_refused = vec![
        device.run(stream, Ecb::encrypt(), &mut data).is_err(),
        device.run(stream, Ctr::new(&counter(), 0), (&input, &mut data)).is_err(),
        device.run(stream, unit(16), &mut data).is_err(),
        of_xts.run(stream, Ecb::encrypt(), &mut data.slice_mut(0..96)).is_err(),
        of_xts.run(stream, unit(16), &mut data).is_err(),
        of_xts.run(stream, unit(17), &mut data).is_err(),
        call.engine
            .under_own_keys()
            .device()
            .and_then(|device| device.run_each_key(stream, &each, &input, &mut data))
            .is_err(),
    ];
    let mut found = stream.clone_dtoh(&data).map_err(wrong)?;
    all_refused(call, are_refused).map_err(|n| format!("call {n} in the memory of the GPU was not refused"))?;
    call.planted.bytes(&mut found);
    compare(&found, &[0xa5; 100], "memory of the GPU after refused calls")
}
