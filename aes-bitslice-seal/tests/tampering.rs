//! Every change to a small file is caught: every bit, every truncation, segments swapped, repeated, left out, and mixed between
//! files; and what comes out before an error is the beginning of the message.

use aes_bitslice_runtime::{Backend, Engine, Key, KeyBits};
use aes_bitslice_seal::tink::{self, Keyset};
use aes_bitslice_seal::{
    Error, Opening, PassphraseCost, Sealing, Secret, message_bytes, open, open_range, seal, seal_with,
};
use std::io::{self, Cursor, Read};
use std::ops::Bound;

/// A keyset whose segments have 100 bytes, so that a short message has several.
const SMALL: &str = r#"{"primaryKeyId": 7, "key": [{"keyData": {
    "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
    "value": "EgYIZBAgGAMaIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
    "keyMaterialType": "SYMMETRIC"}, "status": "ENABLED", "keyId": 7, "outputPrefixType": "RAW"}]}"#;

fn engine() -> Engine {
    Engine::open(Backend::Cpu).unwrap()
}

fn message(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
}

fn small() -> Keyset {
    Keyset::from_json(SMALL).unwrap()
}

fn encrypt(message: &[u8]) -> Vec<u8> {
    let mut stream = vec![];
    tink::encrypt(&engine(), &small(), b"about", message, &mut stream).unwrap();
    stream
}

/// The output and the outcome.
fn decrypt(stream: &[u8], associated_data: &[u8]) -> (Vec<u8>, Result<u64, Error>) {
    let mut out = vec![];
    let outcome = tink::decrypt(&engine(), &small(), associated_data, stream, &mut out);
    (out, outcome)
}

#[test]
fn a_secret_is_not_printed() {
    let key = Key::new(&[7; 32]).unwrap();
    let printed = format!("{:?}, {:?}", Secret::Key(&key), Secret::Passphrase(b"swordfish"));
    assert_eq!(printed, "Secret::Key, Secret::Passphrase");
}

/// The longest has three chunks of 256 segments.
#[test]
fn messages_of_every_length_come_back() {
    for len in (0..400).chain([1000, 4321, 60_000]) {
        let message = message(len);
        let stream = encrypt(&message);
        let (out, outcome) = decrypt(&stream, b"about");
        assert_eq!((outcome.unwrap(), out), (len as u64, message), "{len} bytes");
    }
}

/// With one segment in a chunk, and with several.
#[test]
fn what_is_done_in_turn_is_the_same() {
    let (engine, key) = (engine(), Key::generate(KeyBits::Aes256).unwrap());
    let (keyset, message) = (small(), message(2_500_000));
    let sealing = Sealing::new(&engine, Secret::Key(&key), PassphraseCost::default()).unwrap();
    for sealing in [sealing, tink::sealing(&engine, &keyset, b"").unwrap()] {
        let is_sealed = sealing.places().segment_bytes() > 100;
        let (mut file, mut whole, mut part) = (vec![], vec![], vec![]);
        assert_eq!(sealing.in_turn(true).run(&message[..], &mut file).unwrap(), 2_500_000);
        let opening = if is_sealed {
            Opening::new(&engine, Secret::Key(&key), &file[..Opening::START])
        } else {
            tink::opening(&engine, &keyset, b"", &file[..keyset.start_bytes()])
        };
        let mut opening = opening.unwrap();
        for in_turn in [false, true] {
            opening = opening.in_turn(in_turn);
            whole.clear();
            part.clear();
            opening.run(&file[opening.places().header_bytes()..], &mut whole).unwrap();
            assert!(whole == message);
            opening.open_range(Cursor::new(&file), 1_000_000..2_200_000, &mut part).unwrap();
            assert!(part == message[1_000_000..2_200_000]);
        }
        file[1_500_000] ^= 1;
        whole.clear();
        let outcome = opening.run(&file[opening.places().header_bytes()..], &mut whole);
        assert!(matches!(outcome, Err(Error::Damaged { .. })) && message.starts_with(&whole), "{outcome:?}");
    }
}

/// Gives a byte at a time, and after each is interrupted once, as reads are by signals.
struct Interrupted<R>(R, bool);

impl<R: Read> Read for Interrupted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        let len = buffer.len().min(1);
        if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.read(&mut buffer[..len]) }
    }
}

/// Also where a byte after a chunk, of 21,464 bytes, tells whether it is the last.
#[test]
fn reads_that_are_interrupted_are_made_again() {
    for len in [0, 1, 44, 45, 21_463, 21_464, 21_465, 43_000] {
        let (message, mut stream) = (message(len), vec![]);
        tink::encrypt(&engine(), &small(), b"", Interrupted(&message[..], false), &mut stream).unwrap();
        for in_turn in [false, true] {
            let opening = tink::opening(&engine(), &small(), b"", &stream).unwrap().in_turn(in_turn);
            let (rest, mut out) = (Interrupted(&stream[40..], false), vec![]);
            opening.run(rest, &mut out).unwrap();
            assert!(out == message, "{len} bytes");
        }
        let mut out = vec![];
        tink::decrypt(&engine(), &small(), b"", Interrupted(&stream[..], false), &mut out).unwrap();
        assert!(out == message, "{len} bytes");
    }
}

#[test]
fn every_change_is_caught() {
    // Three segments and a bit.
    let message = message(44 + 84 + 84 + 5);
    let stream = encrypt(&message);
    let refused = |stream: &[u8], what: &str| {
        let (out, outcome) = decrypt(stream, b"about");
        assert!(outcome.is_err(), "{what}");
        assert!(message.starts_with(&out), "{what}: what came out is the beginning");
    };
    for bit in 0..8 * stream.len() {
        let mut changed = stream.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        refused(&changed, &format!("bit {bit}"));
    }
    for len in 0..stream.len() {
        refused(&stream[..len], &format!("the first {len} bytes"));
    }
    for more in [1, 16, 100] {
        refused(&[&stream[..], &vec![0; more]].concat(), &format!("{more} bytes more"));
    }
    let other = encrypt(&message);
    let segments: Vec<&[u8]> = [40..100, 100..200, 200..300, 300..stream.len()].map(|range| &stream[range]).to_vec();
    let put = |order: &[usize]| {
        [&[&stream[..40]], &order.iter().map(|&i| segments[i]).collect::<Vec<_>>()[..]].concat().concat()
    };
    assert_eq!(put(&[0, 1, 2, 3]), stream);
    for order in [&[0, 2, 1, 3][..], &[0, 1, 1, 2, 3], &[0, 1, 3], &[0, 2, 3], &[1, 2, 3], &[0, 1, 2], &[0, 1, 2, 3, 3]]
    {
        refused(&put(order), &format!("segments {order:?}"));
    }
    for at in [40, 100, 200, 300] {
        refused(&[&stream[..at], &other[at..]].concat(), &format!("the rest of another stream from byte {at} on"));
    }
    let (out, outcome) = decrypt(&stream, b"others");
    assert!(out.is_empty() && outcome.is_err());
}

#[test]
fn every_bit_of_a_sealed_file_counts() {
    let (key, message) = (Key::generate(KeyBits::Aes256).unwrap(), message(20));
    let mut sealed = vec![];
    seal(&engine(), Secret::Key(&key), &message[..], &mut sealed).unwrap();
    assert_eq!(sealed.len(), message.len() + 136 + 16);
    for bit in 0..8 * sealed.len() {
        let (mut changed, mut out) = (sealed.clone(), vec![]);
        changed[bit / 8] ^= 1 << (bit % 8);
        let outcome = open(&engine(), Secret::Key(&key), &changed[..], &mut out).unwrap_err();
        // Damage is never taken for a wrong key.
        assert!(!matches!(outcome, Error::WrongKey), "bit {bit}: {outcome}");
        assert!(out.is_empty());
    }
    for len in 0..sealed.len() {
        let mut out = vec![];
        open(&engine(), Secret::Key(&key), &sealed[..len], &mut out).unwrap_err();
        assert!(out.is_empty(), "{len} bytes");
    }
    let mut out = vec![];
    open(&engine(), Secret::Key(&key), &sealed[..], &mut out).unwrap();
    assert_eq!(out, message);
}

#[test]
fn wrong_secrets_are_told_apart_from_damage() {
    let cost = PassphraseCost { memory_kib: 64, passes: 1, lanes: 1 };
    let keys = [1, 2].map(|byte| Key::new(&[byte; 32]).unwrap());
    let seal = |secret: Secret<'_>| {
        let mut sealed = vec![];
        seal_with(&engine(), secret, cost, &b"text"[..], &mut sealed).unwrap();
        sealed
    };
    let open = |secret: Secret<'_>, sealed: &[u8]| {
        let mut out = vec![];
        open(&engine(), secret, sealed, &mut out).map(|_| out)
    };
    let (by_key, by_passphrase) = (seal(Secret::Key(&keys[0])), seal(Secret::Passphrase(b"correct horse")));
    assert_eq!(open(Secret::Key(&keys[0]), &by_key).unwrap(), b"text");
    assert_eq!(open(Secret::Passphrase(b"correct horse"), &by_passphrase).unwrap(), b"text");
    assert!(matches!(open(Secret::Key(&keys[1]), &by_key), Err(Error::WrongKey)));
    assert!(matches!(open(Secret::Passphrase(b"correct house"), &by_passphrase), Err(Error::WrongPassphrase)));
    assert!(matches!(open(Secret::Key(&keys[0]), &by_passphrase), Err(Error::NeedsPassphrase)));
    assert!(matches!(open(Secret::Passphrase(b"x"), &by_key), Err(Error::NeedsKey)));
    assert!(matches!(open(Secret::Key(&keys[0]), b"something else altogether"), Err(Error::NotSealed)));
    let short = Key::new(&[1; 16]).unwrap();
    assert!(matches!(open(Secret::Key(&short), &by_key), Err(Error::KeyLength(128))));
    let two = Key::xts(&[[1; 16], [2; 16]].concat()).unwrap();
    assert!(matches!(open(Secret::Key(&two), &by_key), Err(Error::XtsKey)));
    assert!(matches!(open(Secret::Passphrase(b""), &by_passphrase), Err(Error::EmptyPassphrase)));
    let huge = PassphraseCost { memory_kib: u32::MAX, ..cost };
    let (line_end, mark, encoding) = ("a line end", "a byte order mark", "not UTF-8");
    for (text, why) in [
        (&b"a\n"[..], line_end),
        (b"\na", line_end),
        (b"a\r\n", line_end),
        (b"a\rb", line_end),
        (b"a\0", line_end),
        (b"\xef\xbb\xbfa", mark),
        (b"\xff\xfe", encoding),
        (b"caf\xe9", encoding),
    ] {
        let refused = seal_with(&engine(), Secret::Passphrase(text), cost, &b""[..], vec![]);
        assert!(matches!(refused, Err(Error::PassphraseText(told)) if told.contains(why)), "{text:?}");
        // What was sealed with one is opened with it.
        assert!(matches!(open(Secret::Passphrase(text), &by_passphrase), Err(Error::WrongPassphrase)), "{text:?}");
    }
    let refused = seal_with(&engine(), Secret::Passphrase(b"x"), huge, &b""[..], vec![]);
    assert!(matches!(refused, Err(Error::PassphraseCost(_))));
    assert!(matches!(
        seal_with(&engine(), Secret::Passphrase(b""), cost, &b""[..], vec![]),
        Err(Error::EmptyPassphrase)
    ));
}

#[test]
fn any_range_opens_alone() {
    let (key, message) = (Key::generate(KeyBits::Aes256).unwrap(), message((5 << 20) + 321));
    let mut sealed = vec![];
    seal(&engine(), Secret::Key(&key), &message[..], &mut sealed).unwrap();
    let mut out = vec![];
    open(&engine(), Secret::Key(&key), &sealed[..], &mut out).unwrap();
    assert!(out == message, "all of it");
    let mib = (1 << 20) - 16;
    let len = message.len() as u64;
    for (from, to) in
        [(0, 0), (0, 1), (0, len), (mib - 41, mib - 39), (mib - 40, mib), (len - 1, len), (mib, 3 * mib + 7)]
    {
        let mut out = vec![];
        let range = open_range(&engine(), Secret::Key(&key), Cursor::new(&sealed), from..to, &mut out).unwrap();
        assert_eq!(range, to - from);
        assert!(out == message[from as usize..to as usize], "{from} to {to}");
    }
    let bounds = |from, to, expected: &[u8]| {
        let mut out = vec![];
        let opened = open_range(&engine(), Secret::Key(&key), Cursor::new(&sealed), (from, to), &mut out).unwrap();
        assert!((opened, &out[..]) == (expected.len() as u64, expected), "{from:?} to {to:?}");
    };
    for from in [0, 1, mib - 40, len - 1, len] {
        bounds(Bound::Included(from), Bound::Unbounded, &message[from as usize..]);
    }
    bounds(Bound::Unbounded, Bound::Included(9), &message[..10]);
    bounds(Bound::Excluded(9), Bound::Excluded(12), &message[10..12]);
    let refused = open_range(&engine(), Secret::Key(&key), Cursor::new(&sealed), 5..len + 1, vec![]).unwrap_err();
    assert!(matches!(refused, Error::Range { len: l, .. } if l == len));
    let refused = open_range(&engine(), Secret::Key(&key), Cursor::new(&sealed), len + 7.., vec![]).unwrap_err();
    assert_eq!(refused.to_string(), "the message has 5243201 bytes: there is no range 5243208.. in it");
    let refused = open_range(&engine(), Secret::Key(&key), Cursor::new(&sealed), ..=u64::MAX, vec![]).unwrap_err();
    assert!(matches!(refused, Error::Range { start: 0, end: Some(u64::MAX), .. }));
    // A change in a segment that the range does not touch is not seen; a change in one that it touches is.
    let mut changed = sealed.clone();
    changed[(3 << 20) + 200] ^= 1;
    let range = |range| open_range(&engine(), Secret::Key(&key), Cursor::new(&changed), range, vec![]);
    assert!(range(0..100).is_ok() && matches!(range(3 * mib..3 * mib + 1), Err(Error::Damaged { index: 3 })));
    // Cut off: the file's last segment is not the stream's last.
    let cut = &sealed[..96 + (2 << 20)];
    let refused = open_range(&engine(), Secret::Key(&key), Cursor::new(cut), mib..mib + 10, vec![]);
    assert!(matches!(refused, Err(Error::Damaged { index: 1 })));
    // Nor does the length of a file that was cut off or made longer count as the length of the message.
    for cut in [cut, &sealed[..sealed.len() - 1], &[&sealed[..], &[0; 32]].concat()] {
        let refused = message_bytes(&engine(), Secret::Key(&key), Cursor::new(cut));
        assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
        let refused = open_range(&engine(), Secret::Key(&key), Cursor::new(cut), 5.., vec![]);
        assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
        for range in [2 * len..3 * len, 0..2 * len, len + 33..len + 33] {
            let refused = open_range(&engine(), Secret::Key(&key), Cursor::new(cut), range, vec![]);
            assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
        }
    }
    // For an empty range the segment that contains it is opened, or the last.
    assert!(range(0..0).is_ok() && range(len..len).is_ok());
    assert!(matches!(range(3 * mib..3 * mib), Err(Error::Damaged { index: 3 })));
    let refused = open_range(&engine(), Secret::Key(&key), Cursor::new(cut), 2 * mib - 40..2 * mib - 40, vec![]);
    assert!(matches!(refused, Err(Error::Damaged { index: 1 })));
}

/// Wherever the input stands.
#[test]
fn the_length_of_a_message_is_told() {
    let key = Key::generate(KeyBits::Aes256).unwrap();
    for len in [0, 1, (1 << 20) - 56, (1 << 20) - 55, 2_500_000] {
        let message = message(len);
        let mut sealed = vec![];
        seal(&engine(), Secret::Key(&key), &message[..], &mut sealed).unwrap();
        let mut input = Cursor::new(&sealed);
        input.set_position(7);
        assert_eq!(message_bytes(&engine(), Secret::Key(&key), &mut input).unwrap(), len as u64);
    }
    for len in [0, 1, 44, 45, 300] {
        let mut input = Cursor::new(encrypt(&message(len)));
        input.set_position(7);
        assert_eq!(tink::message_bytes(&engine(), &small(), b"about", &mut input).unwrap(), len as u64);
        assert!(tink::message_bytes(&engine(), &small(), b"others", &mut input).is_err());
    }
}

#[test]
fn keysets_are_read_written_and_tried_in_turn() {
    let (one, two) = (Keyset::generate().unwrap(), Keyset::generate().unwrap());
    let (mut stream, mut out) = (vec![], vec![]);
    tink::encrypt(&engine(), &one, b"", &b"text"[..], &mut stream).unwrap();
    let again = Keyset::from_json(&one.to_json(5)).unwrap();
    tink::decrypt(&engine(), &again, b"", &stream[..], &mut out).unwrap();
    assert_eq!(out, b"text");
    // A keyset with both; the other is primary.
    let key_of = |keyset: &Keyset, id: u32| {
        let json = keyset.to_json(id);
        json[json.find('[').unwrap() + 1..json.rfind(']').unwrap()].trim().to_owned()
    };
    let both = format!(r#"{{"primaryKeyId": 2, "key": [{}, {}]}}"#, key_of(&one, 1), key_of(&two, 2));
    let both = Keyset::from_json(&both).unwrap();
    out.clear();
    tink::decrypt(&engine(), &both, b"", &stream[..], &mut out).unwrap();
    assert_eq!((out.as_slice(), format!("{both:?}")), (&b"text"[..], "Keyset(2 keys)".into()));
    let third = format!(r#"{{"primaryKeyId": 2, "key": [{}, {}]}}"#, key_of(&small(), 1), key_of(&two, 2));
    let third = Keyset::from_json(&third).unwrap();
    assert!(matches!(tink::decrypt(&engine(), &third, b"", &stream[..], vec![]), Err(Error::NoKeyOpens)));
    for bad in [
        "",
        "{}",
        "[]",
        r#"{"primaryKeyId": 2, "key": []}"#,
        &SMALL.replace("7", "8x"),
        &SMALL.replace("ENABLED", "DISABLED"),
    ] {
        assert!(matches!(Keyset::from_json(bad), Err(Error::Keyset(_))), "{bad}");
    }
}
