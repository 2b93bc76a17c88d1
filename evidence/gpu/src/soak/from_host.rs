//! Calls of all kinds that are described in host memory. Each function makes a call on random data, once or there and back, and compares every
//! byte and tag: for little data with other implementations, for more with the engine `cpu`, which the tests compare with them.

use crate::call::{Call, compare, verdict};
use crate::place::Places;
use crate::planted::Returned;
use crate::random::Random;
use crate::wrong::{Wrong, wrong};
use aes_bitslice_runtime::{
    Cipher, Cmac, CmacBatch, CmacVerifyBatch, Direction, EachKey, Engine, Error, GcmDecrypt, GcmDecryptBatch,
    GcmEncrypt, GcmEncryptBatch, GcmMessage, GcmPart, GcmSivDecrypt, GcmSivEncrypt, Gmac, Job, Jobs, Key, KeyBits,
    Mode, Nonce, Operation, Tag, Xts,
};
use aes_bitslice_tests::operation::AnyOperation;
use aes_bitslice_tests::reference::Reference;
use aes_bitslice_tests::{others, with_operation};
use rayon::prelude::*;
use std::ops::Range;

/// For operations that map their input to an output, in every kind of memory.
const MAPS: Places = Places { gpu: true, sharded: true, apart: true };
/// For operations that leave bytes as they are, not in sharded memory.
const IN_PLACE: Places = Places { gpu: true, sharded: false, apart: false };

/// The parts of data at ascending ranges.
pub fn parts<'d>(mut data: &'d mut [u8], ranges: &[Range<u64>]) -> Vec<&'d mut [u8]> {
    let mut done = 0;
    let part = |range: &Range<u64>| {
        let (before, rest) = std::mem::take(&mut data).split_at_mut((range.end - done) as usize);
        data = rest;
        let part = &mut before[(range.start - done) as usize..];
        done = range.end;
        part
    };
    ranges.iter().map(part).collect()
}

pub fn one_key(call: &mut Call<'_>, mode: Mode) -> Result<(), Wrong> {
    let any = AnyOperation::of(mode, u128::from_be_bytes(call.random.array()), call.random.below(1 << 20));
    one_operation(call, any, Places { gpu: true, sharded: true, apart: any.maps() })
}

pub fn cbc_encryption(call: &mut Call<'_>) -> Result<(), Wrong> {
    let any = AnyOperation::CbcEncrypt { iv: call.random.array() };
    one_operation(call, any, Places { gpu: false, sharded: false, apart: true })
}

fn one_operation(call: &mut Call<'_>, any: AnyOperation, places: Places) -> Result<(), Wrong> {
    let input = call.random.bytes(any.takes(call.bytes));
    let expected = if call.is_small() {
        any.expected(&Reference::new(call.key), &input)
    } else {
        let mut data = input.clone();
        any.run(call.reference, &mut data).map_err(wrong)?;
        data
    };
    let found = with_operation!(any, operation => call.run(call.cipher, operation, places, input))?;
    compare(&found, &expected, "output")
}

pub fn xts(call: &mut Call<'_>) -> Result<(), Wrong> {
    let len = call.random.one_of(&[32, 64]);
    let mut key = call.random.bytes(len);
    // The halves differ.
    key[0] = !key[len / 2];
    let key = (Key::xts(&key).map_err(wrong)?, key);
    // Half of all units are whole blocks, which other entry points take.
    let unit = call.random.size(16 << 20).max(16);
    let unit = if call.random.one_in(2) { unit.next_multiple_of(16) } else { unit };
    let rest = call.bytes % unit as usize;
    let len = if (1..16).contains(&rest) { call.bytes - rest } else { call.bytes };
    let units = (len as u64).div_ceil(unit);
    // Numbers that carry out of 32 and of 64 bits.
    let first = match call.random.below(4) {
        0 => (1 << 32) - u128::from(call.random.below(units + 1)),
        1 => (1 << 64) - u128::from(call.random.below(units + 1)),
        2 => u128::MAX - u128::from(units),
        _ => u128::from_le_bytes(call.random.array()) >> 1,
    };
    let direction = call.random.one_of(&[Direction::Encrypt, Direction::Decrypt]);
    let operation = Xts::new(direction, unit, first).map_err(wrong)?;
    let input = call.random.bytes(len);
    let expected = if call.is_small() {
        others::xts(direction, &key.1, unit as usize, first, &input)
    } else {
        let mut data = input.clone();
        call.cpu.cipher(&key.0).and_then(|cipher| cipher.run(operation, &mut data)).map_err(wrong)?;
        data
    };
    let cipher = call.engine.cipher(&key.0).map_err(wrong)?;
    // Sharded memory is cut into chunks of whole MiB, and the last has at least 16 bytes.
    let gpu = unit.is_multiple_of(16);
    let places = Places { gpu, sharded: gpu && !(1..16).contains(&(len % (1 << 20))), apart: true };
    let found = call.run(&cipher, operation, places, input)?;
    compare(&found, &expected, &format!("{direction:?} of units of {unit} bytes from {first:#x} on"))
}

pub fn gcm(call: &mut Call<'_>) -> Result<(), Wrong> {
    let (nonce, aad) = (call.nonce(), aad(call));
    let input = call.random.bytes(call.bytes);
    let n = Nonce::new(&nonce).map_err(wrong)?;
    let (expected, tag) = if call.is_small() {
        let (data, tag) = others::gcm(call.key, &nonce, &aad, &input);
        (data, Tag::new(&tag).map_err(wrong)?)
    } else {
        sealed(call.reference, GcmEncrypt::new(&n, &aad), &input)?
    };
    let cipher = call.cipher;
    let encrypt = GcmEncrypt::new(&n, &aad);
    there_and_back(call, (cipher, MAPS), input, &aad, encrypt, (expected, tag), |aad, tag| {
        GcmDecrypt::new(&n, aad, tag)
    })
}

/// Parts of a message in some order, and the tag of all.
pub fn gcm_parts(call: &mut Call<'_>) -> Result<(), Wrong> {
    let (nonce, aad) = (Nonce::new(&call.nonce()).map_err(wrong)?, aad(call));
    let input = call.random.bytes(call.bytes);
    let (expected, tag) = sealed(call.reference, GcmEncrypt::new(&nonce, &aad), &input)?;
    let direction = call.random.one_of(&[Direction::Encrypt, Direction::Decrypt]);
    let (from, to) = if direction == Direction::Encrypt { (input, expected) } else { (expected, input) };
    let each = (from.len() / call.random.one_of(&[1, 2, 3, 5])).next_multiple_of(16).max(16);
    let mut offsets: Vec<usize> = (0..from.len()).step_by(each).collect();
    let turn = call.random.below(offsets.len() as u64) as usize;
    offsets.rotate_left(turn);
    let mut hashes = Vec::new();
    for offset in offsets {
        let part = offset..(offset + each).min(from.len());
        let operation = GcmPart::new(direction, &nonce, offset as u64);
        let (hash, data) = call.run_with_output(call.cipher, operation, MAPS, from[part.clone()].to_vec())?;
        hashes.push(hash.map_err(wrong)?);
        compare(&data, &to[part], &format!("{direction:?} of a part from byte {offset} on"))?;
    }
    let found = call.planted.outcome(call.cipher.combine(&GcmEncrypt::new(&nonce, &aad), hashes)).map_err(wrong)?;
    compare(&found, tag.as_bytes(), "tag of all parts")
}

pub fn gcm_siv(call: &mut Call<'_>) -> Result<(), Wrong> {
    // It does not exist with keys of 192 bits.
    let key = if call.key.len() == 24 { &call.key[..16] } else { call.key };
    let (nonce, aad) = (call.random.array(), aad(call));
    let input = call.random.bytes(call.bytes);
    let (n, keyed) = (Nonce::from(nonce), Key::new(key).map_err(wrong)?);
    let encrypt = GcmSivEncrypt::new(&n, &aad);
    let (expected, tag) = if call.is_small() {
        let (data, tag) = others::gcm_siv(key, &nonce, &aad, &input);
        (data, Tag::new(&tag).map_err(wrong)?)
    } else {
        sealed(&call.cpu.cipher(&keyed).map_err(wrong)?, encrypt.clone(), &input)?
    };
    let cipher = call.engine.cipher(&keyed).map_err(wrong)?;
    there_and_back(
        call,
        (&cipher, Places { sharded: false, ..MAPS }),
        input,
        &aad,
        encrypt,
        (expected, tag),
        |aad, tag| GcmSivDecrypt::new(&n, aad, tag),
    )
}

/// Additional data.
fn aad(call: &mut Call<'_>) -> Vec<u8> {
    let len = call.random.size(4096) as usize;
    call.random.bytes(len)
}

fn sealed<E: Operation<Output = Tag>>(cipher: &Cipher, encrypt: E, input: &[u8]) -> Result<(Vec<u8>, Tag), Wrong> {
    let mut data = input.to_vec();
    let tag = cipher.run(encrypt, &mut data).map_err(wrong)?;
    Ok((data, tag))
}

/// Encrypts and decrypts a message; if it is forged, with a bit changed.
fn there_and_back<E: Operation<Output = Tag>, D: Operation<Output = ()>>(
    call: &mut Call<'_>,
    (cipher, places): (&Cipher, Places),
    input: Vec<u8>,
    aad: &[u8],
    encrypt: E,
    (expected, expected_tag): (Vec<u8>, Tag),
    decrypt: impl Fn(&[u8], &Tag) -> D,
) -> Result<(), Wrong> {
    let (tag, data) = call.run_with_output(cipher, encrypt, places, input.clone())?;
    compare(&tag.map_err(wrong)?, expected_tag.as_bytes(), "tag")?;
    compare(&data, &expected, "ciphertext")?;
    drop(data);
    let mut data = expected;
    let (mut aad, mut tag) = (aad.to_vec(), expected_tag);
    if call.forged {
        drop(input);
        let at = |random: &mut Random, bytes: &[u8]| random.below(bytes.len() as u64) as usize;
        match call.random.below(3) {
            0 if !data.is_empty() => {
                let at = at(call.random, &data);
                data[at] ^= 1 << call.random.below(8);
            }
            1 if !aad.is_empty() => {
                let at = at(call.random, &aad);
                aad[at] ^= 1 << call.random.below(8);
            }
            _ => tag = call.changed(&tag),
        }
        let (refused, data) = call.run_with_output(cipher, decrypt(&aad, &tag), places, data)?;
        return match refused {
            Err(Error::Unauthenticated) => compare(&data, &vec![0; data.len()], "the output of what was refused"),
            other => Err(format!("what was changed was not refused: {other:?}")),
        };
    }
    let (opened, data) = call.run_with_output(cipher, decrypt(&aad, &tag), places, data)?;
    opened.map_err(wrong)?;
    compare(&data, &input, "plaintext")
}

pub fn gmac(call: &mut Call<'_>) -> Result<(), Wrong> {
    let nonce = call.nonce();
    let input = call.random.bytes(call.bytes);
    let operation = Gmac::new(&Nonce::new(&nonce).map_err(wrong)?);
    let expected = if call.is_small() {
        Tag::new(&others::gcm(call.key, &nonce, &input, b"").1)
    } else {
        call.reference.run(operation.clone(), &input)
    };
    mac(call, operation, &expected.map_err(wrong)?, input, Places { apart: false, ..MAPS })
}

pub fn cmac(call: &mut Call<'_>) -> Result<(), Wrong> {
    let input = call.random.bytes(call.bytes);
    let expected = Tag::new(&others::cmac(call.key, &input)).map_err(wrong)?;
    mac(call, Cmac::new(), &expected, input, Places { gpu: false, ..IN_PLACE })
}

/// The tag is right, and the data is unchanged.
fn mac<O: Operation<Output = Tag>>(
    call: &mut Call<'_>,
    operation: O,
    expected: &Tag,
    input: Vec<u8>,
    places: Places,
) -> Result<(), Wrong> {
    let (tag, data) = call.run_with_output(call.cipher, operation, places, input.clone())?;
    compare(&tag.map_err(wrong)?, expected.as_bytes(), "tag")?;
    compare(&data, &input, "data that was read")
}

pub fn gcm_batch(call: &mut Call<'_>) -> Result<(), Wrong> {
    let ranges = call.ranges(16 << 20, 10_000, 1);
    let nonces: Vec<Vec<u8>> = (0..ranges.len() as u64)
        .map(|n| {
            let len = call.random.one_of(&[12, 12, 12, 12, 12, 12, 16, 60]);
            let mut nonce = call.random.bytes(len);
            nonce[..8].copy_from_slice(&n.to_le_bytes());
            nonce
        })
        .collect();
    let aad: Vec<Vec<u8>> = nonces
        .iter()
        .map(|_| {
            let len = call.random.below(40) as usize;
            call.random.bytes(len)
        })
        .collect();
    let list: Vec<GcmMessage<'_>> =
        (0..ranges.len()).map(|n| GcmMessage { nonce: &nonces[n], aad: &aad[n], range: ranges[n].clone() }).collect();
    let input = call.random.bytes(call.bytes);
    let mut expected = input.clone();
    let (is_small, key, reference) = (call.is_small(), call.key, call.reference);
    // One by one: in host memory, batches of all engines are the same code.
    let tags = parts(&mut expected, &ranges).into_par_iter().zip(&list).map(|(data, message)| {
        if is_small {
            let (secret, tag) = others::gcm(key, message.nonce, message.aad, data);
            data.copy_from_slice(&secret);
            return Tag::new(&tag);
        }
        reference.run(GcmEncrypt::new(&Nonce::new(message.nonce)?, message.aad), data)
    });
    let tags: Vec<Tag> = tags.collect::<Result<_, _>>().map_err(wrong)?;
    let encrypt = GcmEncryptBatch::new(&list).map_err(wrong)?;
    let (found, data) = call.run_with_output(call.cipher, encrypt, IN_PLACE, input.clone())?;
    compare(&found.map_err(wrong)?, &tags.clone().seen(), "tags")?;
    compare(&data, &expected, "messages and what is between them")?;
    drop(data);
    let (mut plain, mut tags) = (input, tags);
    let changed = (!list.is_empty() && call.forged).then(|| call.random.below(list.len() as u64) as usize);
    if let Some(n) = changed {
        tags[n] = call.changed(&tags[n]);
        plain[ranges[n].start as usize..ranges[n].end as usize].fill(0);
    }
    let decrypt = GcmDecryptBatch::new(&list, &tags).map_err(wrong)?;
    let (opened, data) = call.run_with_output(call.cipher, decrypt, IN_PLACE, expected)?;
    verdict(&opened.map_err(wrong)?, changed)?;
    compare(&data, &plain, "messages, decrypted, and what is between them")
}

pub fn cmac_batch(call: &mut Call<'_>) -> Result<(), Wrong> {
    // Messages are serial.
    let mut ranges = call.ranges(256 << 10, 50_000, 1);
    // They come in any order, and may overlap.
    if call.random.one_in(2) {
        ranges.reverse();
        ranges.iter_mut().for_each(|range| range.start -= call.random.below(20).min(range.start));
    }
    let input = call.random.bytes(call.bytes);
    let (is_small, key, reference) = (call.is_small(), call.key, call.reference);
    let tags = ranges.par_iter().map(|range| {
        let message = &input[range.start as usize..range.end as usize];
        if is_small { Tag::new(&others::cmac(key, message)) } else { reference.run(Cmac::new(), message) }
    });
    let mut tags: Vec<Tag> = tags.collect::<Result<_, _>>().map_err(wrong)?;
    let make = CmacBatch::new(&ranges).map_err(wrong)?;
    let (found, data) = call.run_with_output(call.cipher, make, IN_PLACE, input.clone())?;
    compare(&found.map_err(wrong)?, &tags.clone().seen(), "tags")?;
    compare(&data, &input, "data that was read")?;
    let changed = (!tags.is_empty() && call.forged).then(|| call.random.below(tags.len() as u64) as usize);
    if let Some(n) = changed {
        tags[n] = call.changed(&tags[n]);
    }
    let verify = CmacVerifyBatch::new(&ranges, &tags).map_err(wrong)?;
    let (verified, data) = call.run_with_output(call.cipher, verify, IN_PLACE, data)?;
    verdict(&verified.map_err(wrong)?, changed)?;
    compare(&data, &input, "data that was verified")
}

/// The modes that run under many keys.
pub const MODES: [Mode; 4] = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr, Mode::Keystream];

/// Under one of many keys, in place.
pub fn under_key(
    call: (bool, &Engine),
    mode: Mode,
    key: &[u8],
    counter: [u8; 16],
    data: &mut [u8],
) -> Result<(), Error> {
    let any = AnyOperation::of(mode, u128::from_be_bytes(counter), 0);
    let (is_small, cpu) = call;
    if is_small {
        data.copy_from_slice(&any.expected(&Reference::new(key), data));
        return Ok(());
    }
    any.run(&cpu.cipher(&Key::new(key)?)?, data)
}

pub fn jobs(call: &mut Call<'_>) -> Result<(), Wrong> {
    let mode = call.random.one_of(&MODES);
    let unit = if matches!(mode, Mode::EcbEncrypt | Mode::EcbDecrypt) { 16 } else { 1 };
    let ranges = call.ranges(64 << 20, 50_000, unit);
    let of_key = call.key.len();
    let (keys, counters) = (call.random.bytes(of_key * ranges.len()), call.random.bytes(16 * ranges.len()));
    let list: Vec<Job<'_>> = (0..ranges.len())
        .map(|n| Job {
            key: &keys[of_key * n..of_key * (n + 1)],
            counter: counters.as_chunks().0[n],
            range: ranges[n].clone(),
        })
        .collect();
    let mut data = call.random.bytes(call.bytes);
    let mut expected = data.clone();
    let by = (call.is_small(), call.cpu);
    parts(&mut expected, &ranges)
        .into_par_iter()
        .zip(&list)
        .try_for_each(|(data, job)| under_key(by, mode, job.key, job.counter, data))
        .map_err(wrong)?;
    let jobs = Jobs::new(mode, &list).map_err(wrong)?;
    let cipher = call.engine.under_own_keys();
    call.run_in_place(
        IN_PLACE,
        &mut data,
        |stream, data| {
            let put = cipher.device().and_then(|device| device.run_with_output(stream, jobs.clone(), data));
            Ok(put.and_then(|pending| pending.wait()))
        },
        |data| cipher.run(jobs.clone(), data),
    )?;
    compare(&data, &expected, &format!("{mode} of {} jobs", list.len()))
}

pub fn each_key(call: &mut Call<'_>) -> Result<(), Wrong> {
    const MOST_KEYS: usize = 1 << 20;
    let mode = call.random.one_of(&MODES);
    let each = (call.random.size(call.bytes as u64) as usize).max(call.bytes / MOST_KEYS).max(1).next_multiple_of(16);
    let bits = KeyBits::from_bytes(call.key.len()).expect("an AES key");
    let count = call.bytes / each;
    let (keys, counter) = (call.random.bytes(count * bits.bytes()), call.random.array());
    let operation = EachKey::new(mode, bits, counter, each as u64).map_err(wrong)?;
    let mut data = call.random.bytes(each * count);
    let mut expected = data.clone();
    let by = (call.is_small(), call.cpu);
    expected
        .par_chunks_mut(each)
        .zip(keys.par_chunks(bits.bytes()))
        .try_for_each(|(data, key)| under_key(by, mode, key, counter, data))
        .map_err(wrong)?;
    let engine = call.engine;
    call.run_in_place(
        IN_PLACE,
        &mut data,
        |stream, data| {
            let keys = stream.clone_htod(&keys).map_err(wrong)?;
            let none = engine.under_own_keys();
            Ok(none.device().and_then(|device| device.run_each_key(stream, &operation, &keys, data)))
        },
        |data| engine.run_each_key(&operation, &keys, data),
    )?;
    compare(&data, &expected, &format!("{mode} of {each} bytes under each of {count} keys"))
}
