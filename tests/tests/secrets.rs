//! What remains of a key in a process after everything that had it was dropped: nothing, on any stack or heap.
//!
//! A child process, which runs this program again, makes calls of every kind on an engine, or seals a file and opens it, and drops
//! everything. The parent searches all memory that the child can write to: for the key, for every round key of both directions, as bytes,
//! as words and as planes, for the keys that modes derive, and for everything from which the key of a sealed file is derived. The child
//! gets the key under a mask, so that its input buffers do not contain the key.
#![cfg(target_os = "linux")]

use aes_bitslice_core::aes::{Direction, KeySchedule};
use aes_bitslice_core::ghash::{Blocks, Element, ghash};
use aes_bitslice_core::layout::key_planes;
use aes_bitslice_runtime::bitsliced::{BitslicedAes128, BitslicedAes192, BitslicedAes256};
use aes_bitslice_runtime::{
    Backend, CbcDecrypt, CbcEncrypt, Cipher, Cmac, CmacBatch, CmacVerifyBatch, Counter, CounterMode, Ctr, EachKey, Ecb,
    Engine, GcmDecrypt, GcmDecryptBatch, GcmEncryptBatch, GcmMessage, GcmPart,
};
use aes_bitslice_runtime::{
    GcmEncrypt, GcmSivDecrypt, GcmSivEncrypt, Ghash, Gmac, Instructions, Job, Jobs, Key, KeyBits, Keystream,
    KeystreamRng, Mode, Nonce, Prg, Tag, XaesDecrypt, XaesEncrypt, Xts,
};
use aes_bitslice_seal::tink::Keyset;
use aes_bitslice_seal::{self as seal, Opening, PassphraseCost, Secret};
use aes_bitslice_tests::environment::{all_or, sample};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use cipher::{BlockCipherEncrypt, KeyInit};
use hkdf::Hkdf;
use rand_core::Rng;
use sha2::Sha256;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write, sink};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use zeroize::Zeroizing;

/// In the child: the engine.
const ENGINE: &str = "AES_BITSLICE_TEST_ENGINE";
/// In the child: the key is an XTS key.
const XTS: &str = "AES_BITSLICE_TEST_XTS";
/// In the child: keeps the cipher.
const KEEP: &str = "AES_BITSLICE_TEST_KEEP";
/// In the child: a file is sealed, with the key or with these bytes as a passphrase.
const SEAL: &str = "AES_BITSLICE_TEST_SEAL";
/// From the child: the headers of the sealed file follow.
const SEALED: &str = "sealed: ";
const READY: &str = "everything was dropped";
const MASK: u8 = 0x5a;

#[test]
fn no_key_is_left_in_memory() {
    if let Ok(engine) = std::env::var(ENGINE) {
        return child(&engine);
    }
    let mut keys = KeyBits::ALL.map(|bits| Key::generate(bits).unwrap()).to_vec();
    keys.push(Key::generate_xts(KeyBits::Aes256).unwrap());
    for (n, engine) in engines().iter().enumerate() {
        // Of the instructions that are not the fastest, in a sample, every other key.
        let step = if n == 0 || engine == BITSLICED { 1 } else { all_or(1, 2) };
        for key in sample(n, step, &keys) {
            let bits = key.bits();
            let left = search(&run(engine, key, None, false).0, &needles(key));
            assert!(left.is_empty(), "{engine}, {} bits: {left:#?}", bits.bits());
        }
        // The search would find its targets.
        let kept = search(&run(engine, &keys[0], None, true).0, &needles(&keys[0])).join("\n");
        let forms: &[&str] = match Instructions::available().get(n) {
            None => &["round key 0 of Encrypt as planes", "round key 0 of Decrypt as planes"],
            Some(Instructions::Portable) => &["round key 1 of Encrypt as bytes", "round key 1 of Decrypt as bytes"],
            Some(_) => &["round key 1 of Encrypt as bytes", "round key 1 of Decrypt as bytes", "as kernels keep it"],
        };
        assert!(forms.iter().all(|form| kept.contains(form)), "{engine}: {kept}");
    }
}

/// The bitsliced engine, by its name.
const BITSLICED: &str = "cpu-bitsliced";

/// Engines: `cpu` by the number of its instructions in [`Instructions::available`], the fastest first; and the bitsliced one.
fn engines() -> Vec<String> {
    let numbers = (0..Instructions::available().len()).map(|n| n.to_string());
    numbers.chain([BITSLICED.to_string()]).collect()
}

/// Opens one of [`engines`].
fn open(engine: &str) -> Engine {
    match engine.parse::<usize>() {
        Ok(n) => Engine::open_cpu(Instructions::available()[n]).unwrap(),
        Err(_) => Engine::open(engine.parse().unwrap()).unwrap(),
    }
}

#[test]
fn no_key_of_a_sealed_file_is_left_in_memory() {
    if std::env::var_os(SEAL).is_some() {
        return sealing_child();
    }
    // Of digits, because a new passphrase is text.
    let digits = hex::encode(Key::generate(KeyBits::Aes128).unwrap().expose());
    let key = Key::new(digits.as_bytes()).unwrap();
    for with in [KEY, PASSPHRASE] {
        for engine in ["0", BITSLICED] {
            let (child, headers) = run(engine, &key, Some(with), false);
            let left = search(&child, &needles_of_sealed(key.expose(), with, &headers));
            assert!(left.is_empty(), "{engine}, {with}: {left:#?}");
        }
        let (child, headers) = run("0", &key, Some(with), true);
        let kept = search(&child, &needles_of_sealed(key.expose(), with, &headers)).join("\n");
        let stretched: &[&str] = if with == PASSPHRASE { &["what Argon2id makes", "lane 3"] } else { &[] };
        for name in [&["the stream key", "the file's key", "round key 1 of Encrypt"], stretched].concat() {
            assert!(kept.contains(name), "{with}, {name}: {kept}");
        }
    }
}

/// Of files that are opened, in any of the ways, for a writer that keeps nothing.
#[test]
fn no_plaintext_of_a_sealed_file_is_left_in_memory() {
    if let Some(path) = std::env::var_os(OPENED) {
        return opening_child(path.as_ref());
    }
    let message: Vec<u8> = (0..(3 << 20) + 5_u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    seal::seal(&open("0"), Secret::Key(&Key::from(OPENED_WITH)), &message[..], &mut file).unwrap();
    // In each of the segments, of which the last is short.
    let places = [100, 3 << 19, 5 << 19, message.len() - 40];
    let needles = places.map(|at| (format!("the message from byte {at} on"), message[at..at + 32].to_vec()));
    for engine in ["0", BITSLICED] {
        for keep in [false, true] {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "no_plaintext_of_a_sealed_file_is_left_in_memory", "--nocapture"]);
            command.env(OPENED, file.path()).env(ENGINE, engine);
            if keep {
                command.env(KEEP, "1");
            }
            let mut child = Ended(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
            let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map_while(Result::ok);
            assert!(lines.any(|line| line.contains(READY)), "the child ended before");
            let found = search(&child, &needles);
            let is_found = |(name, _): &(String, Vec<u8>)| found.iter().any(|found| found.starts_with(name));
            assert!(if keep { needles.iter().all(is_found) } else { found.is_empty() }, "{engine}: {found:#?}");
        }
    }
}

/// In the child: the file that is opened.
const OPENED: &str = "AES_BITSLICE_TEST_OPENED";
const OPENED_WITH: [u8; 32] = [7; 32];

fn opening_child(path: &Path) {
    let (engine, key) = (open(&std::env::var(ENGINE).unwrap()), Key::from(OPENED_WITH));
    let (secret, file) = (Secret::Key(&key), || File::open(path).unwrap());
    let mut kept = vec![];
    if std::env::var_os(KEEP).is_some() {
        seal::open(&engine, secret, file(), &mut kept).unwrap();
    }
    seal::open(&engine, secret, file(), sink()).unwrap();
    seal::open_range(&engine, secret, file(), 50.., sink()).unwrap();
    seal::message_bytes(&engine, secret, file()).unwrap();
    let (mut start, mut file) = (vec![0; Opening::START], file());
    file.read_exact(&mut start).unwrap();
    Opening::new(&engine, secret, &start).unwrap().in_turn(true).run(file, sink()).unwrap();
    println!("{READY}");
    let _ = std::io::stdin().read(&mut [0]);
    drop(kept);
}

/// What a file is sealed with.
const KEY: &str = "key";
const PASSPHRASE: &str = "passphrase";
/// Small, and with several lanes.
const COST: PassphraseCost = PassphraseCost { memory_kib: 256, passes: 2, lanes: 4 };

/// Seals and opens with input from standard input, drops everything, says so, and waits to be killed.
fn sealing_child() {
    let kept = seals(&std::env::var(ENGINE).unwrap());
    assert_eq!(kept.is_some(), std::env::var_os(KEEP).is_some());
    println!("{READY}");
    let _ = std::io::stdin().read(&mut [0]);
    drop(kept);
}

/// On the heap throughout, and never inlined: this function's own stack does not count as the library's. If anything is kept, the parent
/// looks for it.
#[inline(never)]
fn seals(engine: &str) -> Option<Box<dyn std::any::Any>> {
    let (key, with) = (key_of_stdin(), std::env::var(SEAL).unwrap());
    let engine = open(engine);
    let secret = if with == KEY { Secret::Key(&key) } else { Secret::Passphrase(key.expose()) };
    let data = vec![7; (3 << 20) + 5];
    let (mut sealed, mut opened) = (vec![], vec![]);
    seal::seal_with(&engine, secret, COST, &data[..], &mut sealed).unwrap();
    seal::open(&engine, secret, &sealed[..], &mut opened).unwrap();
    assert!(opened == data);
    opened.clear();
    let range = seal::open_range(&engine, secret, std::io::Cursor::new(&sealed), (1 << 20)..(2 << 20) + 3, &mut opened);
    assert_eq!((range.unwrap(), opened.len()), ((1 << 20) + 3, (1 << 20) + 3));
    if with == KEY {
        let keyset = Keyset::of_key(&key).unwrap();
        let read = Keyset::from_json(&keyset.to_json(1)).unwrap();
        assert_eq!(*read.to_json(1), *keyset.to_json(1));
    }
    println!("{SEALED}{}", hex::encode(&sealed[..HEADERS]));
    let kept = std::env::var_os(KEEP)?;
    drop(kept);
    let derived = Derived::new(key.expose(), &with, sealed[..HEADERS].try_into().unwrap());
    let cipher = engine.cipher(&Key::new(&derived.file_key).unwrap()).unwrap();
    Some(Box::new((derived, cipher)))
}

/// Bytes of the headers of a sealed file and of its stream.
const HEADERS: usize = 136;

/// The inputs of a sealed file's keys, as its format says (`aes-bitslice-seal/src/secret.rs`).
struct Derived {
    /// From Argon2id, with the last blocks of its lanes.
    stretched: Option<([u8; 32], Vec<Block>)>,
    stream_key: [u8; 32],
    file_key: [u8; 32],
}

impl Derived {
    fn new(secret: &[u8], with: &str, headers: &[u8; HEADERS]) -> Self {
        let (header, stream) = headers.split_at(96);
        let salt = &header[24..56];
        let stretched = (with == PASSPHRASE).then(|| {
            let params = Params::new(COST.memory_kib, COST.passes, COST.lanes, Some(32)).unwrap();
            let (mut bytes, mut memory) = ([0; 32], vec![Block::new(); params.block_count()]);
            let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
            argon2.hash_password_into_with_memory(secret, salt, &mut bytes, &mut memory).unwrap();
            let lane = memory.len() / COST.lanes as usize;
            (bytes, memory.chunks(lane).map(|lane| *lane.last().unwrap()).collect())
        });
        let input = stretched.as_ref().map_or(secret, |(bytes, _)| bytes);
        let expand = |salt: &[u8], input: &[u8], info: &[u8]| {
            let mut key = [0; 32];
            Hkdf::<Sha256>::new(Some(salt), input).expand(info, &mut key).unwrap();
            key
        };
        let stream_key = expand(salt, input, b"aes-bitslice sealed file 1: stream key");
        let file_key = expand(&stream[1..33], &stream_key, header);
        Self { stretched, stream_key, file_key }
    }
}

/// The search targets after a file was sealed.
fn needles_of_sealed(secret: &[u8], with: &str, headers: &[u8; HEADERS]) -> Vec<(String, Vec<u8>)> {
    let Derived { stretched, stream_key, file_key } = Derived::new(secret, with, headers);
    let salt = &headers[24..56];
    let mut needles = of_one_key(&file_key);
    let mut look_for = |name: &str, bytes: &[u8]| needles.push((name.to_string(), bytes.to_vec()));
    look_for(&format!("the {with}"), secret);
    if with == KEY {
        let json = Keyset::of_key(&Key::new(secret).unwrap()).unwrap().to_json(1);
        let value = json.split_once("\"value\": \"").and_then(|(_, rest)| rest.split_once('"')).unwrap().0;
        // Without the beginning: the allocator writes there when memory is freed.
        look_for("the key in a keyset, in base 64", &value.as_bytes()[16..]);
        look_for("the key in a keyset", &secret[16..]);
    }
    look_for("the stream key", &stream_key);
    look_for("the file's key", &file_key);
    let input = stretched.as_ref().map_or(secret, |(bytes, _)| bytes);
    look_for("the first key of HKDF", &Hkdf::<Sha256>::extract(Some(salt), input).0);
    look_for("the second key of HKDF", &Hkdf::<Sha256>::extract(Some(&headers[97..129]), &stream_key).0);
    if let Some((bytes, blocks)) = &stretched {
        look_for("what Argon2id makes of the passphrase", bytes);
        for (lane, block) in blocks.iter().enumerate() {
            let words: &[u64] = block.as_ref();
            let bytes: Vec<u8> = words.iter().take(8).flat_map(|word| word.to_ne_bytes()).collect();
            look_for(&format!("the last block of lane {lane}"), &bytes);
        }
    }
    needles
}

/// Makes calls with a key from standard input, drops everything, says so, and waits to be killed.
fn child(engine: &str) {
    let kept = calls(engine);
    assert_eq!(kept.is_some(), std::env::var_os(KEEP).is_some());
    println!("{READY}");
    let _ = std::io::stdin().read(&mut [0]);
}

/// On the heap throughout, and never inlined: this function's own stack does not count as the library's.
#[inline(never)]
fn calls(engine: &str) -> Option<Cipher> {
    let key = key_of_stdin();
    let engine = open(engine);
    let cipher = engine.cipher(&key).unwrap();
    if key.is_xts() {
        calls_of_xts(&cipher)
    } else {
        calls_of_one_key(&cipher, &key)
    }
    drop((key, engine));
    std::env::var_os(KEEP).map(|_| cipher)
}

#[inline(never)]
fn calls_of_xts(cipher: &Cipher) {
    for len in [512, 3 << 20] {
        let mut data = vec![7; len];
        cipher.run(Xts::encrypt(512, 5).unwrap(), &mut data).unwrap();
        cipher.run(Xts::decrypt(512, 9).unwrap(), &mut data).unwrap();
        // Units whose last block is stolen from the one before.
        cipher.run(Xts::encrypt(133, 5).unwrap(), &mut data[..len / 2 + 31]).unwrap();
        cipher.run(Xts::decrypt(133, 5).unwrap(), &mut data[..len / 2 + 31]).unwrap();
    }
}

/// A nonce from which the first counter of GCM is computed with the key.
const LONG_NONCE: [u8; 20] = [4; 20];

/// From which a key is derived with HKDF.
const SALT: &[u8] = b"a salt";
const INFO: &[u8] = b"what a key is for";

/// The nonce of the AES-GCM-SIV calls, from which keys are derived.
const SIV_NONCE: [u8; 12] = *b"a dozen byte";

/// The nonce of the XAES-256-GCM calls, from which keys are derived.
const XAES_NONCE: [u8; 24] = *b"two dozen bytes, a nonce";

#[inline(never)]
fn calls_of_one_key(cipher: &Cipher, key: &Key) {
    let counter = Counter::new(CounterMode::Ctr128BE, [0xf7; 16]);
    let ctr = Ctr::new(&counter, 5);
    for len in [16, 100 << 4, 3 << 20] {
        let mut data: Vec<u8> = (0..len).map(|i: usize| ((i * i) >> 7) as u8 | 1).collect();
        cipher.run(ctr, &mut data).unwrap();
        cipher.run(Keystream::new(&counter, 3), &mut data).unwrap();
        cipher.run(Ecb::encrypt(), &mut data).unwrap();
        cipher.run(Ecb::decrypt(), &mut data).unwrap();
        cipher.run(Prg::new(), &mut data).unwrap();
        cipher.run(CbcEncrypt::new(&[9; 16]), &mut data[..len.min(64 << 10)]).unwrap();
        cipher.run(CbcDecrypt::new(&[9; 16]), &mut data).unwrap();
        cipher.run(Ghash::new(), &data).unwrap();
        cipher.run(Cmac::new(), &data).unwrap();
        cipher.run(Gmac::new(&Nonce::new(&[1; 12]).unwrap()), &data).unwrap();
        let long = Nonce::new(&LONG_NONCE).unwrap();
        let tag = cipher.run(GcmEncrypt::new(&long, b"and more"), &mut data).unwrap();
        cipher.run(GcmDecrypt::new(&long, b"and more", &tag), &mut data).unwrap();
        let nonce = Nonce::new(&[2; 12]).unwrap();
        let tag = cipher.run(GcmEncrypt::new(&nonce, b"and more"), &mut data).unwrap();
        cipher.run(GcmDecrypt::new(&nonce, b"and more", &tag), &mut data).unwrap();
        batches(cipher, &mut data);
        if key.bits() != KeyBits::Aes192 {
            let nonce = Nonce::new(&SIV_NONCE).unwrap();
            let tag = cipher.run(GcmSivEncrypt::new(&nonce, b"and more"), &mut data).unwrap();
            cipher.run(GcmSivDecrypt::new(&nonce, b"and more", &tag), &mut data).unwrap();
            // A refused call leaves no more than a successful one.
            assert!(cipher.run(GcmSivDecrypt::new(&nonce, b"and less", &tag), &mut data.clone()).is_err());
            assert!(cipher.run(GcmDecrypt::new(&nonce, b"and less", &tag), &mut data.clone()).is_err());
        }
        if key.bits() == KeyBits::Aes256 {
            let nonce = Nonce::new(&XAES_NONCE).unwrap();
            let tag = cipher.run(XaesEncrypt::new(&nonce, b"and more"), &mut data).unwrap();
            cipher.run(XaesDecrypt::new(&nonce, b"and more", &tag), &mut data).unwrap();
            assert!(cipher.run(XaesDecrypt::new(&nonce, b"and less", &tag), &mut data.clone()).is_err());
        }
        let (first, second) = data.split_at_mut(16);
        let part = |offset| GcmPart::new(Direction::Encrypt, &nonce, offset);
        let parts = vec![cipher.run(part(0), first).unwrap(), cipher.run(part(16), second).unwrap()];
        assert_eq!(cipher.combine(&GcmEncrypt::new(&nonce, b"and more"), parts).unwrap(), tag);
        let (data, tag) = cipher.submit_with_output(GcmEncrypt::new(&nonce, b""), data).unwrap().wait().unwrap();
        let (data, ()) = cipher.submit_with_output(GcmDecrypt::new(&nonce, b"", &tag), data).unwrap().wait().unwrap();
        drop(cipher.submit(ctr, data).unwrap().wait().unwrap());
    }
    calls_of_many_keys(cipher, key);
    drop(Box::new(Key::derive(key.expose(), SALT, INFO, key.bits()).unwrap()));
    let mut numbers = Box::new(KeystreamRng::new(key, [1; 16]).unwrap());
    numbers.next_u64();
    drop(numbers);
    match key.expose().len() {
        16 => drop(Box::new(BitslicedAes128::new_from_slice(key.expose()).unwrap())),
        24 => drop(Box::new(BitslicedAes192::new_from_slice(key.expose()).unwrap())),
        _ => drop(Box::new(BitslicedAes256::new_from_slice(key.expose()).unwrap())),
    }
    calls_that_compute_in_secret(cipher);
    short_messages(cipher, key);
}

/// Messages in one step, last: nothing that comes after overwrites what they leave on the stack.
#[inline(never)]
fn short_messages(cipher: &Cipher, key: &Key) {
    let mut data = [8; 100];
    cipher.run(GcmEncrypt::new(&Nonce::new(&[2; 12]).unwrap(), b""), &mut data[..]).unwrap();
    if key.bits() != KeyBits::Aes192 {
        cipher.run(GcmSivEncrypt::new(&Nonce::new(&SIV_NONCE).unwrap(), b""), &mut data[..]).unwrap();
    }
    if key.bits() == KeyBits::Aes256 {
        let nonce = Nonce::new(&XAES_NONCE).unwrap();
        cipher.run(XaesEncrypt::new(&nonce, b""), &mut data[..]).unwrap();
        let refused = XaesDecrypt::new(&nonce, b"", &Tag::from(WRONG));
        let mut data = REFUSED;
        assert!(cipher.run(refused, &mut data[..]).is_err());
    }
}

/// A message, of which CMAC's chain has blocks that no one is given.
const CHAINED: [u8; 48] = [10; 48];

/// The ciphertext of each of several messages, their nonces, and their tags, which are wrong.
const REFUSED: [u8; 48] = [9; 48];
const MESSAGES: usize = 40;
const WRONG: [u8; 16] = [11; 16];

fn nonce_of(message: usize) -> [u8; 12] {
    [100 + message as u8; 12]
}

/// The counter of key stream in a buffer that is wiped when it is dropped.
const BUFFERED: [u8; 16] = [12; 16];

/// Calls that compute what their caller does not get, such as the right tag of a message whose tag is wrong: with that tag, anyone could have
/// the message accepted.
#[inline(never)]
fn calls_that_compute_in_secret(cipher: &Cipher) {
    cipher.run(Cmac::new(), &CHAINED).unwrap();
    let (mut data, wrong) = (REFUSED.repeat(MESSAGES), Tag::from(WRONG));
    assert!(cipher.run(GcmDecrypt::new(&nonce_of(0).into(), b"", &wrong), &mut data[..48]).is_err());
    data.fill(REFUSED[0]);
    let nonces: Vec<_> = (0..MESSAGES).map(nonce_of).collect();
    let message = |n: usize| GcmMessage { nonce: &nonces[n], aad: b"", range: 48 * n as u64..48 * (n as u64 + 1) };
    let messages: Vec<_> = (0..MESSAGES).map(message).collect();
    let opened = cipher.run(GcmDecryptBatch::new(&messages, &[wrong; MESSAGES]).unwrap(), &mut data).unwrap();
    assert_eq!(opened.failed().len(), MESSAGES);
    let batch = CmacVerifyBatch::new(&vec![0..48; MESSAGES], &[wrong; MESSAGES]).unwrap();
    assert_eq!(cipher.run(batch, &REFUSED).unwrap().failed().len(), MESSAGES);
    let mut buffer = cipher.engine().host_buffer(4096).unwrap();
    cipher.run(Keystream::new(&Counter::new(CounterMode::Ctr128BE, BUFFERED), 0), &mut buffer[..]).unwrap();
}

/// What these calls and others compute with a key and give to no one.
fn computed_in_secret(key: &Key) -> Vec<(String, Vec<u8>)> {
    let cipher = Engine::open(Backend::Cpu).unwrap().cipher(key).unwrap();
    let encrypted = |block: [u8; 16]| encrypted(key.expose(), block);
    let mut needles = Vec::new();
    let mut look_for = |name: &str, block: [u8; 16]| {
        needles.push((name.to_string(), block.to_vec()));
        needles.push((format!("{name}, the other way round"), block.iter().rev().copied().collect()));
    };
    let [first, second, _] = CHAINED.as_chunks::<16>().0 else { unreachable!("three blocks") };
    let chain = encrypted(*first);
    look_for("the first block of CMAC's chain", chain);
    look_for("the second block of CMAC's chain", encrypted(std::array::from_fn(|i| chain[i] ^ second[i])));
    let tag = cipher.run(Cmac::new(), &REFUSED).unwrap();
    look_for("CMAC of a refused message", tag.as_bytes().try_into().unwrap());
    // Where a list of them is freed, the first few are overwritten.
    for nonce in [0, MESSAGES / 2].map(nonce_of).map(Nonce::from) {
        let mut data = REFUSED;
        cipher.run(GcmPart::new(Direction::Decrypt, &nonce, 0), &mut data).unwrap();
        let tag = cipher.run(GcmEncrypt::new(&nonce, b""), &mut data).unwrap();
        look_for("the tag of a refused message", tag.as_bytes().try_into().unwrap());
    }
    if key.bits() == KeyBits::Aes256 {
        // Of the message whose ciphertext it is: what zeros become is the key stream.
        let (nonce, mut data) = (Nonce::new(&XAES_NONCE).unwrap(), [0; REFUSED.len()]);
        cipher.run(XaesEncrypt::new(&nonce, b""), &mut data[..]).unwrap();
        data.iter_mut().zip(REFUSED).for_each(|(byte, wanted)| *byte ^= wanted);
        let tag = cipher.run(XaesEncrypt::new(&nonce, b""), &mut data[..]).unwrap();
        look_for("the tag of a refused message of XAES-256-GCM", tag.as_bytes().try_into().unwrap());
    }
    // SP 800-38D, section 7.1: what a tag is masked with.
    for nonce in [[1; 12], [2; 12], [3; 12], nonce_of(0), nonce_of(MESSAGES / 2)] {
        look_for("the mask of a tag", encrypted([&nonce[..], &[0, 0, 0, 1]].concat().try_into().unwrap()));
    }
    look_for("what was in a buffer of host memory", encrypted((u128::from_be_bytes(BUFFERED) + 100).to_be_bytes()));
    look_for(
        "numbers that were generated and not asked for",
        encrypted((u128::from_be_bytes([1; 16]) + 1).to_be_bytes()),
    );
    needles
}

/// This key many times.
#[inline(never)]
fn calls_of_many_keys(cipher: &Cipher, key: &Key) {
    let mut data = vec![7; 300 * 512];
    let job = |n: u64| Job { key: key.expose(), counter: [n as u8; 16], range: 512 * n..512 * (n + 1) };
    let keys = Zeroizing::new(key.expose().repeat(300));
    for mode in [Mode::Ctr, Mode::EcbEncrypt, Mode::Keystream] {
        let jobs = Jobs::new(mode, &(0..300).map(job).collect::<Vec<_>>()).unwrap();
        cipher.engine().under_own_keys().run(jobs, &mut data).unwrap();
        let each = EachKey::new(mode, key.bits(), [3; 16], 512).unwrap();
        cipher.engine().run_each_key(&each, &keys, &mut data).unwrap();
    }
}

/// Encrypts and decrypts two messages in one call; for a nonce that does not have 12 bytes, the first counter is computed with the key.
#[inline(never)]
fn batches(cipher: &Cipher, data: &mut [u8]) {
    let (len, before) = (data.len() as u64, data.to_vec());
    let messages = [
        GcmMessage { nonce: &[3; 12], aad: b"a header", range: 0..len / 2 },
        GcmMessage { nonce: &LONG_NONCE, aad: b"", range: len / 2..len },
    ];
    let tags = cipher.run(GcmEncryptBatch::new(&messages).unwrap(), &mut *data).unwrap();
    let opened = cipher.run(GcmDecryptBatch::new(&messages, &tags).unwrap(), &mut *data).unwrap();
    assert!(opened.all().is_ok() && data == before);
    let messages: Vec<_> = (0..9).map(|n| len / 9 * n..len - n).collect();
    let tags = cipher.run(CmacBatch::new(&messages).unwrap(), &before).unwrap();
    assert!(cipher.run(CmacVerifyBatch::new(&messages, &tags).unwrap(), &before).unwrap().all().is_ok());
}

#[inline(never)]
fn key_of_stdin() -> Key {
    let mut stdin = std::io::stdin().lock();
    let mut len = [0];
    stdin.read_exact(&mut len).unwrap();
    let mut bytes = Zeroizing::new(vec![0; len[0].into()]);
    stdin.read_exact(&mut bytes).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= MASK);
    if std::env::var_os(XTS).is_some() { Key::xts(&bytes) } else { Key::new(&bytes) }.unwrap()
}

/// A child that has made its calls; killed on drop.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A child that makes calls with a key or, if `seal` says with what, seals a file: then its headers are returned, else zeros.
fn run(engine: &str, key: &Key, seal: Option<&str>, keep: bool) -> (Ended, [u8; HEADERS]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = if seal.is_some() { "no_key_of_a_sealed_file_is_left_in_memory" } else { "no_key_is_left_in_memory" };
    command.args(["--exact", test, "--nocapture"]).env(ENGINE, engine);
    if let Some(with) = seal {
        command.env(SEAL, with);
    }
    if keep {
        command.env(KEEP, "1");
    }
    if key.is_xts() {
        command.env(XTS, "1");
    }
    let mut child = Ended(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let masked: Vec<u8> = key.expose().iter().map(|byte| byte ^ MASK).collect();
    let stdin = child.0.stdin.as_mut().unwrap();
    stdin
        .write_all(&[masked.len() as u8])
        .and_then(|()| stdin.write_all(&masked))
        .and_then(|()| stdin.flush())
        .unwrap();
    let mut headers = [0; HEADERS];
    for line in BufReader::new(child.0.stdout.take().unwrap()).lines().map_while(Result::ok) {
        if let Some((_, sealed)) = line.split_once(SEALED) {
            hex::decode_to_slice(sealed, &mut headers).unwrap();
        }
        if line.contains(READY) {
            return (child, headers);
        }
    }
    panic!("the child ended before")
}

/// The search targets, each with its name.
fn needles(key: &Key) -> Vec<(String, Vec<u8>)> {
    let (bytes, half) = (key.expose(), key.expose().len() / 2);
    if key.is_xts() {
        // IEEE 1619, section 5.3: the tweaks of the first units.
        let tweak =
            |unit: u128| (format!("the tweak of unit {unit}"), encrypted(&bytes[half..], unit.to_le_bytes()).to_vec());
        return [of_one_key(&bytes[..half]), of_one_key(&bytes[half..]), [5, 6, 9].map(tweak).to_vec()].concat();
    }
    let mut derived = vec![0; bytes.len()];
    let (first, hkdf) = Hkdf::<Sha256>::extract(Some(SALT), bytes);
    hkdf.expand(INFO, &mut derived).unwrap();
    let of_hkdf = [("the derived key".into(), derived), ("the first key of HKDF".into(), first.to_vec())];
    [of_one_key(bytes), of_hkdf.into(), computed_in_secret(key)].concat()
}

/// A block, encrypted by the crate `aes`.
fn encrypted(key: &[u8], block: [u8; 16]) -> [u8; 16] {
    let mut block = block.into();
    match key.len() {
        16 => aes::Aes128::new_from_slice(key).unwrap().encrypt_block(&mut block),
        24 => aes::Aes192::new_from_slice(key).unwrap().encrypt_block(&mut block),
        _ => aes::Aes256::new_from_slice(key).unwrap().encrypt_block(&mut block),
    }
    block.into()
}

fn of_one_key(key: &[u8]) -> Vec<(String, Vec<u8>)> {
    let swapped = |bytes: &[u8]| bytes.chunks(4).flat_map(|word| word.iter().rev().copied()).collect::<Vec<u8>>();
    let mut needles = Vec::new();
    let mut bytes = |name: String, bytes: &[u8]| {
        needles.push((format!("{name} as words, the other way round"), swapped(bytes)));
        needles.push((format!("{name} as bytes"), bytes.to_vec()));
    };
    bytes("the key".into(), key);
    bytes("the key's second half".into(), &key[key.len() - 16..]);
    // SP 800-38D, section 7.1; SP 800-38B, section 6.1.
    let hash_key = u128::from_be_bytes(encrypted(key, [0; 16]));
    let double = |x: u128| (x << 1) ^ (0x87 * (x >> 127));
    let derived = [("GHASH", hash_key), ("CMAC, the first", double(hash_key)), ("CMAC", double(double(hash_key)))];
    for (name, derived) in derived {
        bytes(format!("the key of {name}"), &derived.to_be_bytes());
        bytes(format!("the key of {name}, the other way round"), &derived.to_le_bytes());
    }
    // Times x, in the form of POLYVAL.
    let carry = hash_key >> 127;
    let element = (hash_key << 1) ^ (carry | carry << 127 | carry << 126 | carry << 121);
    bytes("the key of GHASH as kernels keep it".into(), &element.to_le_bytes());
    // SP 800-38D, section 7.1, step 2: the part of the first counter that does not count.
    let (hash_key, lengths) = (Element::from_block(hash_key.to_be_bytes()), 8 * LONG_NONCE.len() as u128);
    let hash = (ghash(hash_key, &LONG_NONCE) + Element::from_block(lengths.to_be_bytes())) * hash_key;
    let (first, reversed) = (hash.to_block(), u128::from_be_bytes(hash.to_block()).to_le_bytes());
    bytes("the first counter".into(), &first[..12]);
    bytes("the first counter, the other way round".into(), &reversed[4..]);
    // RFC 8452, section 4: the keys of a message under this one.
    let siv = |n: u32| encrypted(key, [&n.to_le_bytes()[..], &SIV_NONCE].concat().try_into().unwrap())[..8].to_vec();
    if key.len() != 24 {
        let key = [siv(0), siv(1)].concat();
        bytes("the key of POLYVAL".into(), &key);
        // Appendix A: the key with which GHASH is POLYVAL.
        let as_ghash = Blocks::Reversed.key(key.try_into().unwrap()).to_block();
        bytes("the key of POLYVAL as GHASH".into(), &as_ghash);
        bytes("the key of POLYVAL as an element".into(), &as_ghash.map(u8::reverse_bits));
    }
    if key.len() == 32 {
        // C2SP, XAES-256-GCM.
        for i in [1, 2] {
            let block: Vec<u8> = [&[0, i, b'X', 0], &XAES_NONCE[..12]].concat();
            let block = u128::from_be_bytes(block.try_into().unwrap()) ^ derived[1].1;
            bytes(format!("half {i} of the key of an XAES message"), &encrypted(key, block.to_be_bytes()));
        }
    }
    let of_message = (key.len() != 24).then(|| (2..2 + key.len() as u32 / 8).flat_map(siv).collect::<Vec<u8>>());
    let schedules = [("", Some(key)), (" of a message's key", of_message.as_deref())];
    let mut planes = Vec::new();
    for ((whose, key), direction) in
        schedules.into_iter().flat_map(|of| [(of, Direction::Encrypt), (of, Direction::Decrypt)])
    {
        let Some(key) = key else { continue };
        let schedule = KeySchedule::new(key, direction).unwrap();
        for (round, round_key) in schedule.round_keys().iter().enumerate() {
            let name = format!("round key {round} of {direction:?}{whose}");
            bytes(name.clone(), round_key);
            // Half of them is enough to be sure.
            let words: Vec<u8> = key_planes(round_key).into_iter().flat_map(u32::to_ne_bytes).collect();
            planes.push((format!("{name} as planes"), words[..256].to_vec()));
            planes.push((format!("{name} as planes, second half"), words[256..].to_vec()));
        }
    }
    needles.extend(planes);
    needles
}

/// The targets found in memory that the child can write to, and where.
fn search(child: &Ended, needles: &[(String, Vec<u8>)]) -> Vec<String> {
    /// No needle is longer.
    const OVERLAP: usize = 256;
    const PAGE: usize = 4096;
    let id = child.0.id();
    let memory = File::open(format!("/proc/{id}/mem")).unwrap();
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
    // Planes begin with one of few patterns: only needles with the same beginning are compared one by one.
    let mut by_start = HashMap::<[u8; 8], Vec<&(String, Vec<u8>)>>::new();
    let mut may_start = vec![false; 1 << 16];
    for needle in needles {
        let start = *needle.1.first_chunk().unwrap();
        by_start.entry(start).or_default().push(needle);
        may_start[usize::from(u16::from_le_bytes([start[0], start[1]]))] = true;
    }
    let (mut found, mut searched) = (Vec::new(), 0);
    for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|flags| flags.starts_with("rw"))) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [from, to] = [from, to].map(|address| u64::from_str_radix(address, 16).unwrap());
        for at in (from..to).step_by(1 << 20) {
            let mut window = vec![0; ((to - at) as usize).min((1 << 20) + OVERLAP)];
            if memory.read_exact_at(&mut window, at).is_err() {
                continue;
            }
            searched += window.len();
            // In pages of zeros nothing is looked for, except what begins at their end.
            let is_zero: Vec<bool> = window.chunks(PAGE).map(|page| page.iter().all(|&byte| byte == 0)).collect();
            for (offset, start) in window.windows(8).enumerate() {
                let is_among_zeros = is_zero[offset / PAGE] && offset % PAGE < PAGE - OVERLAP;
                if is_among_zeros || !may_start[usize::from(u16::from_le_bytes([start[0], start[1]]))] {
                    continue;
                }
                let start: &[u8; 8] = start.try_into().unwrap();
                for (name, bytes) in by_start.get(start).into_iter().flatten() {
                    if window[offset..].starts_with(bytes) {
                        found.push(format!("{name} at {:x} in {line}", at + offset as u64));
                    }
                }
            }
        }
    }
    assert!(searched > 1 << 20, "the child's memory could not be read");
    found
}
