//! What of a key is left in a process after everything that had it was dropped: nothing, on any stack or heap.
//!
//! A child process, which is this program again, makes calls of every kind on an engine and drops everything. This one searches all
//! memory that the child can write to: for the key, for every round key of both directions, as bytes, as words and as planes, and for
//! the keys that modes derive. The child is given the key under a mask, so that what it reads and buffers is not the key.
#![cfg(target_os = "linux")]

use aes_bitslice_core::aes::{Direction, KeySchedule};
use aes_bitslice_core::layout::key_planes;
use aes_bitslice_runtime::bitsliced::{BitslicedAes128, BitslicedAes192, BitslicedAes256};
use aes_bitslice_runtime::{
    Backend, CbcDecrypt, CbcEncrypt, Cipher, Cmac, Counter, CounterMode, Ctr, Ecb, Engine, GcmDecrypt, GcmPart,
};
use aes_bitslice_runtime::{GcmEncrypt, Ghash, Gmac, Key, KeyBits, Keystream, KeystreamRng, Nonce, Xts};
use cipher::{BlockCipherEncrypt, KeyInit};
use rand_core::Rng;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use zeroize::Zeroizing;

/// In the child: the engine.
const ENGINE: &str = "AES_BITSLICE_TEST_ENGINE";
/// In the child: the key is one of XTS.
const XTS: &str = "AES_BITSLICE_TEST_XTS";
/// In the child: keeps the cipher.
const KEEP: &str = "AES_BITSLICE_TEST_KEEP";
const READY: &str = "everything was dropped";
const MASK: u8 = 0x5a;

#[test]
fn no_key_is_left_in_memory() {
    if let Ok(engine) = std::env::var(ENGINE) {
        return child(engine.parse().unwrap());
    }
    let mut keys = KeyBits::ALL.map(|bits| Key::generate(bits).unwrap()).to_vec();
    keys.push(Key::generate_xts(KeyBits::Aes256).unwrap());
    for engine in ["cpu", "cpu-bitsliced"] {
        for key in &keys {
            let bits = key.bits();
            let left = search(&run(engine, key, false), &needles(key));
            assert!(left.is_empty(), "{engine}, {} bits: {left:#?}", bits.bits());
        }
        // What is looked for would be found.
        let kept = search(&run(engine, &keys[0], true), &needles(&keys[0])).join("\n");
        let forms: &[&str] = match engine {
            "cpu" => &["round key 1 of Encrypt as bytes", "round key 1 of Decrypt as bytes"],
            _ => &["round key 0 of Encrypt as planes", "round key 0 of Decrypt as planes"],
        };
        assert!(forms.iter().all(|form| kept.contains(form)), "{engine}: {kept}");
    }
}

/// Makes calls with a key from standard input, drops everything, says so, and waits to be ended.
fn child(engine: Backend) {
    let kept = calls(engine);
    assert_eq!(kept.is_some(), std::env::var_os(KEEP).is_some());
    println!("{READY}");
    let _ = std::io::stdin().read(&mut [0]);
}

/// On the heap throughout, and never inlined: what this function has on its stack is not the library's.
#[inline(never)]
fn calls(engine: Backend) -> Option<Cipher> {
    let key = key_of_stdin();
    let engine = Engine::open(engine).unwrap();
    let cipher = engine.cipher(&key).unwrap();
    match key.is_xts() {
        true => calls_of_xts(&cipher),
        false => calls_of_one_key(&cipher, &key),
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
    }
}

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
        cipher.run(CbcEncrypt::new(&[9; 16]), &mut data[..len.min(64 << 10)]).unwrap();
        cipher.run(CbcDecrypt::new(&[9; 16]), &mut data).unwrap();
        cipher.run(Ghash::new(), &data).unwrap();
        cipher.run(Cmac::new(), &data).unwrap();
        cipher.run(Gmac::new(&Nonce::new(&[1; 12]).unwrap()), &data).unwrap();
        let nonce = Nonce::new(&[2; 12]).unwrap();
        let tag = cipher.run(GcmEncrypt::new(&nonce, b"and more"), &mut data).unwrap();
        cipher.run(GcmDecrypt::new(&nonce, b"and more", &tag), &mut data).unwrap();
        let (first, second) = data.split_at_mut(16);
        let part = |offset| GcmPart::new(Direction::Encrypt, &nonce, offset);
        let parts = vec![cipher.run(part(0), first).unwrap(), cipher.run(part(16), second).unwrap()];
        assert_eq!(cipher.combine(&GcmEncrypt::new(&nonce, b"and more"), parts).unwrap(), tag);
        drop(cipher.submit(ctr, data).unwrap().wait().unwrap());
    }
    let mut numbers = Box::new(KeystreamRng::new(key, [1; 16]).unwrap());
    numbers.next_u64();
    drop(numbers);
    match key.expose().len() {
        16 => drop(Box::new(BitslicedAes128::new_from_slice(key.expose()).unwrap())),
        24 => drop(Box::new(BitslicedAes192::new_from_slice(key.expose()).unwrap())),
        _ => drop(Box::new(BitslicedAes256::new_from_slice(key.expose()).unwrap())),
    }
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

/// A child that has made its calls; ended on drop.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(engine: &str, key: &Key, keep: bool) -> Ended {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "no_key_is_left_in_memory", "--nocapture"]).env(ENGINE, engine);
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
    let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains(READY)), "the child ended before");
    child
}

/// What to look for, each with its name.
fn needles(key: &Key) -> Vec<(String, Vec<u8>)> {
    let (bytes, half) = (key.expose(), key.expose().len() / 2);
    match key.is_xts() {
        true => [of_one_key(&bytes[..half]), of_one_key(&bytes[half..])].concat(),
        false => of_one_key(bytes),
    }
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
    let mut zeros = [0; 16].into();
    match key.len() {
        16 => aes::Aes128::new_from_slice(key).unwrap().encrypt_block(&mut zeros),
        24 => aes::Aes192::new_from_slice(key).unwrap().encrypt_block(&mut zeros),
        _ => aes::Aes256::new_from_slice(key).unwrap().encrypt_block(&mut zeros),
    }
    let hash_key = u128::from_be_bytes(zeros.into());
    let double = |x: u128| (x << 1) ^ (0x87 * (x >> 127));
    let derived = [("GHASH", hash_key), ("CMAC, the first", double(hash_key)), ("CMAC", double(double(hash_key)))];
    for (name, derived) in derived {
        bytes(format!("the key of {name}"), &derived.to_be_bytes());
        bytes(format!("the key of {name}, the other way round"), &derived.to_le_bytes());
    }
    let mut planes = Vec::new();
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        let schedule = KeySchedule::new(key, direction).unwrap();
        for (round, round_key) in schedule.round_keys().iter().enumerate() {
            let name = format!("round key {round} of {direction:?}");
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

/// What is found in memory that the child can write to, and where.
fn search(child: &Ended, needles: &[(String, Vec<u8>)]) -> Vec<String> {
    /// No needle is longer.
    const OVERLAP: usize = 256;
    let id = child.0.id();
    let memory = File::open(format!("/proc/{id}/mem")).unwrap();
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
    // Planes begin with one of few patterns: those of them that do are compared one by one.
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
            // A page of zeros is not looked at closer.
            if window.iter().all(|&byte| byte == 0) {
                continue;
            }
            for (offset, start) in window.windows(8).enumerate() {
                if !may_start[usize::from(u16::from_le_bytes([start[0], start[1]]))] {
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
