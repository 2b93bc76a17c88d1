//! Calls of every CPU engine, compared with other implementations, and batch calls compared with single ones.

use super::cpu_engines;
use crate::engines::cipher;
use crate::memory::Memory;
use crate::messages::{Known, Messages};
use crate::operation::AnyOperation;
use crate::others;
use crate::reference::Reference;
use crate::vectors::any_tag;
use aes_bitslice_runtime::{
    Buffers, Cipher, Cmac, CmacBatch, CmacVerifyBatch, Direction, EachKey, Error, GcmDecrypt, GcmDecryptBatch,
    GcmEncrypt, GcmEncryptBatch, GcmPart, GcmSivDecrypt, GcmSivEncrypt, Gmac, Job, Jobs, Key, KeyBits, Mode, Nonce,
    Operation, Tag, Xts,
};
use std::ops::Range;

/// A call on every CPU engine against the reference: operation, length of the key, offset, alignment, cuts, in place or not.
pub fn engines(data: &[u8]) {
    let Some((head, data)) = data.split_first_chunk::<56>() else { return };
    let key = &head[..[16, 24, 32][usize::from(head[32]) % 3]];
    let start: [u8; 16] = head[33..49].try_into().expect("16 bytes");
    let offset = u64::from(head[49]);
    let (shift, in_place) = (usize::from(head[50] % 16), head[51] % 2 == 0);
    let operations = AnyOperation::all(start, offset);
    let operation = operations[usize::from(head[52]) % operations.len()];
    // A byte of input stands for many, to fill batches.
    let repeated = data.iter().cycle().take(data.len() * (1 + usize::from(head[53] % 8)) * 16);
    let input: Vec<u8> = repeated.zip(0u32..).map(|(byte, i)| byte.wrapping_add((i >> 8) as u8)).collect();
    let input = &input[..operation.takes(input.len())];
    let expected = operation.expected(&Reference::new(key), input);
    for engine in cpu_engines() {
        let cipher = engine.cipher(&Key::new(key).expect("a length")).expect("a key");
        let mut output = vec![0xa5; shift + input.len()];
        if in_place || !operation.maps() {
            output[shift..].copy_from_slice(input);
            operation.run(&cipher, &mut output[shift..]).expect("a call that there is");
        } else {
            operation.run(&cipher, (input, &mut output[shift..])).expect("a call that there is");
        }
        assert!(output[shift..] == expected, "{operation:?} on {}", engine.description());
    }
}

/// The keys of a call: one AES key of each length, and two for XTS.
fn keys(bytes: &[u8; 64], selector: u8) -> (&[u8], Option<&[u8]>) {
    let long = selector / 3 % 2 == 1;
    let two = if long { &bytes[..] } else { &bytes[..32] };
    // Equal ones are refused.
    let two = (two[..two.len() / 2] != two[two.len() / 2..]).then_some(two);
    (&bytes[..[16, 24, 32][usize::from(selector) % 3]], two)
}

/// How a call gets its data: in place or not, and how many bytes past a boundary.
#[derive(Clone, Copy)]
struct Placed {
    shift: usize,
    in_place: bool,
}

impl Placed {
    /// Makes a call on data, and returns its output and its result.
    fn run<T>(self, data: &[u8], run: impl FnOnce(Buffers<'_>) -> T) -> (Vec<u8>, T) {
        let mut output = vec![0xa5; self.shift + data.len()];
        let place = &mut output[self.shift..];
        let returned = if self.in_place {
            place.copy_from_slice(data);
            run(place.into())
        } else {
            run((data, place).into())
        };
        (output.split_off(self.shift), returned)
    }
}

/// A message with GCM, AES-GCM-SIV, GMAC and CMAC, and data units with XTS, on every CPU engine against other implementations: whole and in
/// parts, in place or not, with truncated tags; and a changed message is refused and cleared.
pub fn messages(data: &[u8]) {
    let Some((bytes, data)) = data.split_first_chunk::<64>() else { return };
    let Some((&[kind, length, nonce, aad, shift, cut, tag, repeat], data)) = data.split_first_chunk::<8>() else {
        return;
    };
    let Some((start, data)) = data.split_first_chunk::<16>() else { return };
    let (key, two_keys) = keys(bytes, length);
    // A byte of input stands for many, to fill batches.
    let data: Vec<u8> = data.iter().cycle().take(data.len() * (1 + usize::from(repeat % 32))).copied().collect();
    let (aad, data) = data.split_at(usize::from(aad).min(data.len()));
    let nonce = start.repeat(4)[..others::NONCES[usize::from(nonce) % others::NONCES.len()]].to_vec();
    let placed = Placed { shift: usize::from(shift % 16), in_place: shift >= 0x80 };
    let tag_bytes = [16, 15, 14, 13, 12, 8, 4][usize::from(tag) % 7];
    for engine in cpu_engines() {
        let what = engine.description();
        let cipher = || engine.cipher(&Key::new(key).expect("a length")).expect("a key");
        match kind % 5 {
            0 => gcm(&cipher(), key, &nonce, aad, data, placed, tag_bytes, 16 * (1 + usize::from(cut))),
            1 => gcm_siv(&cipher(), key, start.first_chunk().expect("12 of 16 bytes"), aad, data, placed),
            2 => {
                let expected = others::gcm(key, &nonce, data, &[]).1;
                let nonce = Nonce::new(&nonce).expect("a byte at least");
                let tag = cipher().run(Gmac::new(&nonce), data).expect("a call that there is");
                assert_eq!(tag.as_bytes(), expected, "GMAC on {what}");
            }
            3 => {
                let tag = cipher().run(Cmac::new(), data).expect("a call that there is");
                assert_eq!(tag.as_bytes(), others::cmac(key, data), "CMAC on {what}");
            }
            _ => {
                let Some(two_keys) = two_keys else { return };
                let cipher = engine.cipher(&Key::xts(two_keys).expect("two keys")).expect("a key");
                xts(
                    &cipher,
                    two_keys,
                    16 + u64::from(cut) * u64::from(1 + tag % 16),
                    u128::from_be_bytes(*start),
                    data,
                    placed,
                );
            }
        }
    }
}

/// Decryption: as it was encrypted, and refused and cleared where one of its bits is changed.
fn opens<O>(secret: &[u8], plain: &[u8], placed: Placed, operation: O, cipher: &Cipher)
where
    O: Operation<Output = ()> + Clone,
{
    let what = cipher.engine().description();
    let (opened, outcome) = placed.run(secret, |data| cipher.run(operation.clone(), data));
    assert!(outcome.is_ok() && opened == plain, "{outcome:?}, decryption on {what}");
    if let Some(at) = secret.len().checked_sub(1) {
        let mut changed = secret.to_vec();
        changed[usize::from(secret[at]) % secret.len()] ^= 1 << (at % 8);
        let (opened, outcome) = placed.run(&changed, |data| cipher.run(operation, data));
        assert!(matches!(outcome, Err(Error::Unauthenticated)), "{outcome:?}, a changed message on {what}");
        assert!(opened.iter().all(|&byte| byte == 0), "a changed message came out on {what}");
    }
}

#[expect(clippy::too_many_arguments)]
fn gcm(
    cipher: &Cipher,
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    plain: &[u8],
    placed: Placed,
    tag_bytes: usize,
    part: usize,
) {
    let what = cipher.engine().description();
    let (expected, expected_tag) = others::gcm(key, nonce, aad, plain);
    let nonce = Nonce::new(nonce).expect("a byte at least");
    let encrypt = GcmEncrypt::new(&nonce, aad);
    let (secret, tag) = placed.run(plain, |data| cipher.run(encrypt.clone(), data));
    let tag = tag.expect("a call that there is");
    assert!(secret == expected && tag.as_bytes() == expected_tag, "GCM on {what}");
    // From the last one on: the order is free.
    let mut parts = plain.to_vec();
    let hashes = parts.chunks_mut(part).enumerate().rev().map(|(n, data)| {
        cipher.run(GcmPart::new(Direction::Encrypt, &nonce, (n * part) as u64), data).expect("a call that there is")
    });
    let combined = cipher.combine(&encrypt, hashes.collect()).expect("parts that adjoin");
    assert!(parts == expected && combined == tag, "GCM in parts of {part} bytes on {what}");
    // A short tag may match the changed data: at the shortest 1 of 2^32 does.
    let tag = any_tag(&tag.as_bytes()[..tag_bytes]).expect("a length that tags have");
    opens(&secret, plain, placed, GcmDecrypt::new(&nonce, aad, &tag), cipher);
}

fn gcm_siv(cipher: &Cipher, key: &[u8], nonce: &[u8; 12], aad: &[u8], plain: &[u8], placed: Placed) {
    let what = cipher.engine().description();
    let encrypt = GcmSivEncrypt::new(&Nonce::from(*nonce), aad);
    let (secret, tag) = placed.run(plain, |data| cipher.run(encrypt, data));
    if key.len() == 24 {
        let untouched = if placed.in_place { secret == plain } else { secret.iter().all(|&byte| byte == 0xa5) };
        assert!(tag.is_err() && untouched, "AES-GCM-SIV has no keys of 192 bits, on {what}");
        return;
    }
    let (expected, expected_tag) = others::gcm_siv(key, nonce, aad, plain);
    let tag = tag.expect("a call that there is");
    assert!(secret == expected && tag.as_bytes() == expected_tag, "AES-GCM-SIV on {what}");
    opens(&secret, plain, placed, GcmSivDecrypt::new(&Nonce::from(*nonce), aad, &tag), cipher);
}

fn xts(cipher: &Cipher, key: &[u8], unit: u64, first: u128, data: &[u8], placed: Placed) {
    let what = cipher.engine().description();
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        let operation = Xts::new(direction, unit, first).expect("a length that units have");
        let (found, outcome) = placed.run(data, |data| cipher.run(operation, data));
        let units = (data.len() as u64).div_ceil(unit);
        let last_unit_is_short = (1..16).contains(&(data.len() as u64 % unit));
        if last_unit_is_short || first.checked_add(units.saturating_sub(1).into()).is_none() {
            let untouched = if placed.in_place { found == data } else { found.iter().all(|&byte| byte == 0xa5) };
            assert!(outcome.is_err() && untouched, "XTS of {} bytes in units of {unit} on {what}", data.len());
            continue;
        }
        let expected = others::xts(direction, key, unit as usize, first, data);
        assert!(outcome.is_ok() && found == expected, "{outcome:?}, XTS, {direction:?}, units of {unit} on {what}");
    }
}

/// Jobs, each under its own key, against the reference: their lengths and gaps, in place and not; equal ones as one call, too. A refused
/// call changes nothing.
pub fn jobs(data: &[u8]) {
    let Some((&[mode, length, count, shift], data)) = data.split_first_chunk::<4>() else { return };
    let Some((start, rest)) = data.split_first_chunk::<16>() else { return };
    let mode = [Mode::EcbEncrypt, Mode::Ctr, Mode::Keystream, Mode::EcbDecrypt][usize::from(mode) % 4];
    let bits = KeyBits::ALL[usize::from(length) % 3];
    let (fields, data) = rest.split_at(rest.len().min(2 * usize::from(count)));
    // For each: the bytes before it and in it.
    let fields = fields.as_chunks::<2>().0;
    let key = |n: usize| -> Vec<u8> {
        start.iter().cycle().take(bits.bytes()).map(|byte| byte.wrapping_mul(31) ^ n as u8).collect()
    };
    let keys: Vec<Vec<u8>> = (0..fields.len()).map(key).collect();
    let counter = |n: usize| u128::from_be_bytes(*start).wrapping_add(n as u128).to_be_bytes();
    let mut end = 0;
    let ranges = fields.iter().map(|[gap, bytes]| {
        // Backwards now and then, or beyond the data.
        let start = if *gap == 0xff { end / 2 } else { end + u64::from(gap % 8) };
        end = start + u64::from(*bytes) * if length >= 0x80 { 16 } else { 1 };
        start..end
    });
    let ranges: Vec<Range<u64>> = ranges.collect();
    let expected = |key: &[u8], counter: [u8; 16], data: &[u8]| {
        AnyOperation::of(mode, u128::from_be_bytes(counter), 0).expected(&Reference::new(key), data)
    };
    let list: Vec<Job<'_>> =
        (0..keys.len()).map(|n| Job { key: &keys[n], counter: counter(n), range: ranges[n].clone() }).collect();
    let placed = Placed { shift: usize::from(shift % 16), in_place: shift >= 0x80 || mode == Mode::Keystream };
    let all = keys.concat();
    let each = (data.len() / keys.len().max(1)) as u64 / 16 * 16;
    for engine in cpu_engines() {
        if let Ok(jobs) = Jobs::new(mode, &list) {
            let (found, outcome) = placed.run(data, |data| engine.under_own_keys().run(jobs, data));
            let mut right = if placed.in_place { data.to_vec() } else { vec![0xa5; data.len()] };
            let fits = ranges.last().is_none_or(|range| range.end <= data.len() as u64);
            for job in list.iter().filter(|_| fits) {
                let range = job.range.start as usize..job.range.end as usize;
                right[range.clone()].copy_from_slice(&expected(job.key, job.counter, &data[range]));
            }
            assert!(outcome.is_ok() == fits && found == right, "{outcome:?}, {mode} on {}", engine.description());
        }
        let Ok(of_each) = EachKey::new(mode, bits, *start, each) else { continue };
        let data = &data[..each as usize * keys.len()];
        let (found, outcome) = placed.run(data, |data| engine.run_each_key(&of_each, &all, data));
        let right = keys.iter().zip(data.chunks(each as usize)).flat_map(|(key, data)| expected(key, *start, data));
        let right: Vec<u8> = right.collect();
        assert!(outcome.is_ok() && found == right, "{outcome:?}, {mode} under each key on {}", engine.description());
    }
}

/// A batch of GCM messages on every CPU engine, against each message alone: their nonces, lengths and gaps, and what is changed before they
/// are decrypted. All refuse the same input, and a refused call changes nothing.
pub fn batch(data: &[u8]) {
    let Some((head, rest)) = data.split_first_chunk::<34>() else { return };
    let key = &head[..[16, 24, 32][usize::from(head[32]) % 3]];
    let (fields, data) = rest.split_at(rest.len().min(5 * usize::from(head[33] % 16)));
    // For each: the source of its nonce and its additional data, and the bytes before it and in it.
    let fields = fields.as_chunks::<5>().0;
    let nonce = |field: &[u8; 5]| vec![field[0]; 4 + usize::from(field[1] % 20)];
    let mut end = 0;
    let ranges = fields.iter().map(|field| {
        // Backwards now and then, or beyond the data.
        let start = if field[3] == 0xff { end / 2 } else { end + u64::from(field[3] % 8) };
        end = start + 4 * u64::from(field[4]);
        start..end
    });
    let messages = Messages {
        keys: vec![key.to_vec()],
        nonces: fields.iter().map(nonce).collect(),
        aad: fields.iter().map(|field| field[..usize::from(field[2] % 6)].to_vec()).collect(),
        ranges: ranges.collect(),
        plain: data.to_vec(),
    };
    let cmac = CmacBatch::new(&messages.ranges).expect("ranges that do not end before they begin");
    let mac = |cipher: &Cipher, _: usize, data: &mut [u8]| cipher.run(Cmac::new(), &*data);
    alone(&messages, &cmac, mac, |cipher, mut known| {
        if let [.., other, last] = known.tags.as_mut_slice() {
            let failed: &[usize] = if other == last { &[] } else { &[messages.ranges.len() - 1] };
            *last = *other;
            let verify = CmacVerifyBatch::new(&messages.ranges, &known.tags).expect("as many tags");
            known.opens(&Memory::Host, cipher, &verify, failed);
        }
    });
    let Ok(encrypt) = GcmEncryptBatch::new(&messages.list()) else { return };
    let seal = |cipher: &Cipher, n: usize, data: &mut [u8]| {
        cipher.run(GcmEncrypt::new(&Nonce::new(&messages.nonces[n])?, &messages.aad[n]), data)
    };
    alone(&messages, &encrypt, seal, |cipher, mut known| {
        // One byte of every second message that has any is changed.
        let changed: Vec<usize> =
            (0..messages.ranges.len()).filter(|&n| n % 2 == 1 && !messages.range(n).is_empty()).collect();
        changed.iter().for_each(|&n| known.secret[messages.range(n).start] ^= 1 + head[33] / 16);
        let decrypt = GcmDecryptBatch::new(&messages.list(), &known.tags).expect("what was encrypted");
        known.opens(&Memory::Host, cipher, &decrypt, &changed);
    });
}

/// Messages in one call, on every CPU engine, are as each alone; with these it goes on. If not all are in the data, nothing is changed.
fn alone<E: Operation<Output = Vec<Tag>>>(
    messages: &Messages,
    together: &E,
    one: impl Fn(&Cipher, usize, &mut [u8]) -> Result<Tag, Error>,
    next: impl Fn(&Cipher, Known<'_>),
) {
    let fits = messages.ranges.iter().all(|range| range.end <= messages.plain.len() as u64);
    for engine in cpu_engines() {
        let cipher = cipher(engine, &messages.keys[0]);
        if fits {
            let known = messages.by(|n, data| one(&cipher, n, data).expect("a call that there is"));
            known.seals(&Memory::Host, &cipher, together);
            next(&cipher, known);
        } else {
            let mut data = messages.plain.clone();
            let refused = Memory::Host.run(&cipher, together, &mut data).is_err();
            assert!(refused && data == messages.plain, "{}", engine.description());
        }
    }
}
