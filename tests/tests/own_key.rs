//! AES-GCM-SIV and XAES-256-GCM, which encrypt each message under a key of its own: against other implementations, including in pieces for
//! all cores, and in GPU memory; changed input; invalid calls. Published vectors of AES-GCM-SIV are in `published`.

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use aes_bitslice_runtime::opencl::opencl3::command_queue::CommandQueue;
use aes_bitslice_runtime::{
    Cipher, Engine, Error, GcmEncrypt, GcmSivDecrypt, GcmSivEncrypt, Kernels, Key, Nonce, Operation, Tag, XaesDecrypt,
    XaesEncrypt,
};
use aes_bitslice_tests::engines::{Device, cipher, name};
use aes_bitslice_tests::environment::{all_or, random};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::reference::noise;
use aes_bitslice_tests::vectors::any_tag;
use aes_bitslice_tests::{others, tests_of_engines};
use proptest::prelude::*;
use std::process::ExitCode;
use std::sync::Arc;

/// A mode: how its calls are made, and what another implementation makes of them.
trait Mode: 'static {
    const NAME: &'static str;
    /// Bytes of its nonces, in calls of this library and in those of the other.
    const NONCE: usize;
    /// Bytes of its keys.
    const KEYS: [usize; 2];
    /// Bytes of keys that it refuses.
    const REFUSED: &[usize];
    type Encrypt: Operation<Output = Tag>;
    type Decrypt: Operation<Output = ()>;

    fn encrypt(nonce: &Nonce, aad: &[u8]) -> Self::Encrypt;
    fn decrypt(nonce: &Nonce, aad: &[u8], tag: &Tag) -> Self::Decrypt;
    fn by_another(key: &[u8], nonce: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]);
}

struct GcmSiv;

impl Mode for GcmSiv {
    const NAME: &'static str = "AES-GCM-SIV";
    const NONCE: usize = 12;
    const KEYS: [usize; 2] = [16, 32];
    const REFUSED: &[usize] = &[24];
    type Encrypt = GcmSivEncrypt;
    type Decrypt = GcmSivDecrypt;

    fn encrypt(nonce: &Nonce, aad: &[u8]) -> GcmSivEncrypt {
        GcmSivEncrypt::new(nonce, aad)
    }

    fn decrypt(nonce: &Nonce, aad: &[u8], tag: &Tag) -> GcmSivDecrypt {
        GcmSivDecrypt::new(nonce, aad, tag)
    }

    fn by_another(key: &[u8], nonce: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
        others::gcm_siv(key, nonce.try_into().unwrap(), aad, data)
    }
}

struct Xaes;

impl Mode for Xaes {
    const NAME: &'static str = "XAES-256-GCM";
    const NONCE: usize = 24;
    const KEYS: [usize; 2] = [32, 32];
    const REFUSED: &[usize] = &[16, 24];
    type Encrypt = XaesEncrypt;
    type Decrypt = XaesDecrypt;

    fn encrypt(nonce: &Nonce, aad: &[u8]) -> XaesEncrypt {
        XaesEncrypt::new(nonce, aad)
    }

    fn decrypt(nonce: &Nonce, aad: &[u8], tag: &Tag) -> XaesDecrypt {
        XaesDecrypt::new(nonce, aad, tag)
    }

    fn by_another(key: &[u8], nonce: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
        others::xaes(key, nonce.try_into().unwrap(), aad, data)
    }
}

fn main() -> ExitCode {
    let tests = tests_of::<Xaes>(tests_of::<GcmSiv>(Tests::default()));
    tests.on_each(&Device::ALL, &[], tests_of_engines![published_vectors_of_xaes]).run()
}

fn tests_of<M: Mode>(tests: Tests) -> Tests {
    /// Functions for a mode, with their names and its name.
    macro_rules! of_mode {
        ($($test:ident),* $(,)?) => {
            &[$((&*format!("{}::{}", M::NAME, stringify!($test)), $test::<M> as fn(&'static [Engine]))),*]
        };
    }
    tests
        .on_each(&Device::ALL, &[], of_mode![it_is_as_another_has_it])
        .on_each(
            &[Device::Cpu, Device::Cuda(Kernels::Auto), Device::OpenCl],
            &[],
            of_mode![long_messages, what_was_changed_is_refused_and_cleared, what_cannot_be_is_refused],
        )
        .on_each(&Device::GROUPS, &[], of_mode![long_messages, sharded_memory_is_refused])
        .on_each(
            &[Device::Cuda(Kernels::Auto)],
            &[],
            of_mode![
                very_long_messages,
                device_memory,
                what_was_changed_is_cleared_in_device_memory,
                what_cannot_be_is_refused_in_device_memory,
            ],
        )
        .on_each(&[Device::OpenCl], &[], of_mode![buffers_are_refused])
}

/// C2SP, XAES-256-GCM: the two test vectors, of which one has a key whose encryption of zeros begins with a set bit.
fn published_vectors_of_xaes(engines: &'static [Engine]) {
    let nonce = b"ABCDEFGHIJKLMNOPQRSTUVWX";
    for (key, aad, sealed) in [
        (1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
        (3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
    ] {
        let sealed = hex::decode(sealed).unwrap();
        let (secret, tag) = sealed.split_at(12);
        let expected = (secret.to_vec(), Tag::new(tag).unwrap());
        for engine in engines {
            check::<Xaes>(engine, &[key; 32], nonce, aad.as_bytes(), b"XAES-256-GCM", &expected);
        }
    }
}

/// From another implementation: the ciphertext, and the tag.
fn other<M: Mode>(key: &[u8], nonce: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, Tag) {
    let (data, tag) = M::by_another(key, nonce, aad, data);
    (data, Tag::new(&tag).unwrap())
}

fn nonce<M: Mode>() -> Nonce {
    Nonce::new(&noise(1, M::NONCE)).unwrap()
}

/// Both directions, in place and not.
fn check<M: Mode>(engine: &Engine, key: &[u8], nonce: &[u8], aad: &[u8], plain: &[u8], expected: &(Vec<u8>, Tag)) {
    let (cipher, (secret, tag)) = (cipher(engine, key), expected);
    let what = || format!("{}, {} bytes, {} of additional data", name(engine), plain.len(), aad.len());
    let nonce = Nonce::new(nonce).unwrap();
    let (encrypt, decrypt) = (M::encrypt(&nonce, aad), M::decrypt(&nonce, aad, tag));
    let mut data = plain.to_vec();
    assert_eq!(cipher.run(encrypt.clone(), &mut data).unwrap(), *tag, "{}", what());
    assert!(data == *secret, "{}", what());
    cipher.run(decrypt.clone(), &mut data).unwrap_or_else(|error| panic!("{}: {error}", what()));
    assert!(data == plain, "{}", what());
    let mut output = vec![0x77; plain.len()];
    assert_eq!(cipher.run(encrypt, (plain, &mut output[..])).unwrap(), *tag, "{}", what());
    assert!(output == *secret, "{}", what());
    output.fill(0x77);
    cipher.run(decrypt, (&secret, &mut output)).unwrap();
    assert!(output == plain, "{}", what());
}

fn it_is_as_another_has_it<M: Mode>(engines: &'static [Engine]) {
    let key = prop::sample::select(&M::KEYS[..]).prop_flat_map(|len| prop::collection::vec(any::<u8>(), len));
    let length = || prop_oneof![0..70_usize, 0..5000_usize, (0..300_usize).prop_map(|n| 16 * n)];
    proptest!(random(all_or(256, 64)), |(key in key, aad in length(), len in length(), seed: u32)| {
        let nonce = noise(u64::from(seed) << 32, M::NONCE);
        let (aad, plain) = (noise(seed.into(), aad), noise(!u64::from(seed), len));
        let expected = other::<M>(&key, &nonce, &aad, &plain);
        engines.iter().for_each(|engine| check::<M>(engine, &key, &nonce, &aad, &plain, &expected));
    });
}

/// Around the ends of pieces, of which each core has one at a time.
fn long_messages<M: Mode>(engines: &'static [Engine]) {
    let nonce = noise(9, M::NONCE);
    for (n, len) in
        [256 << 10, (256 << 10) + 1, (512 << 10) - 7, 1 << 20, (3 << 20) + 16 * 5 + 3].into_iter().enumerate()
    {
        let (key, aad, plain) = (noise(1, M::KEYS[n % 2]), noise(2, 100 * n), noise(3 + n as u64, len));
        let expected = other::<M>(&key, &nonce, &aad, &plain);
        engines.iter().for_each(|engine| check::<M>(engine, &key, &nonce, &aad, &plain, &expected));
    }
}

/// Data, additional data, nonce, tag and length.
fn what_was_changed_is_refused_and_cleared<M: Mode>(engines: &'static [Engine]) {
    let (key, nonce, aad) = (noise(1, 32), noise(4, M::NONCE), noise(2, 33));
    for len in [0, 1, 16, 100, 1100 << 10] {
        let plain = noise(3, len);
        let (secret, tag) = other::<M>(&key, &nonce, &aad, &plain);
        for engine in engines {
            let cipher = cipher(engine, &key);
            let refuses = |nonce: &[u8], aad: &[u8], tag: &Tag, secret: &[u8]| {
                let mut data = secret.to_vec();
                let refused = cipher.run(M::decrypt(&Nonce::new(nonce).unwrap(), aad, tag), &mut data);
                assert!(matches!(refused, Err(Error::Unauthenticated)), "{}, {len} bytes: {refused:?}", name(engine));
                assert!(data.iter().all(|byte| *byte == 0), "{}", name(engine));
            };
            for at in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|_| len > 0) {
                let mut changed = secret.clone();
                changed[at] ^= 1 << (at % 8);
                refuses(&nonce, &aad, &tag, &changed);
            }
            for bit in 0..128 {
                // A few in a long message.
                if len > 1000 && bit % 31 != 0 {
                    continue;
                }
                let mut changed: [u8; 16] = tag.as_bytes().try_into().unwrap();
                changed[bit / 8] ^= 1 << (bit % 8);
                refuses(&nonce, &aad, &Tag::new(&changed).unwrap(), &secret);
            }
            let mut other = nonce.clone();
            other[M::NONCE - 1] ^= 0x80;
            refuses(&other, &aad, &tag, &secret);
            refuses(&nonce, &aad[..32], &tag, &secret);
            if len > 0 {
                refuses(&nonce, &aad, &tag, &secret[..len - 1]);
            }
        }
    }
}

/// Keys of other lengths and of XTS, nonces and tags of other lengths: nothing is changed.
fn what_cannot_be_is_refused<M: Mode>(engines: &'static [Engine]) {
    let (nonce, tag) = (nonce::<M>(), Tag::new(&[7; 16]).unwrap());
    for engine in engines {
        let others = M::REFUSED.iter().map(|len| Key::new(&noise(1, *len)).unwrap());
        for key in others.chain([Key::xts(&noise(1, 32)).unwrap()]) {
            let (cipher, mut data) = (engine.cipher(&key).unwrap(), [5; 20]);
            let refused = cipher.run(M::encrypt(&nonce, b""), &mut data).map(drop).unwrap_err();
            assert!(matches!(refused, Error::WrongKeys { operation, .. } if operation == M::NAME), "{refused}");
            let refused = cipher.run(M::decrypt(&nonce, b"", &tag), &mut data).unwrap_err();
            assert!(matches!(refused, Error::WrongKeys { operation, .. } if operation == M::NAME), "{refused}");
            let refused = cipher.submit_with_output(M::encrypt(&nonce, b""), vec![5; 20]);
            assert!(refused.is_err() && data == [5; 20]);
        }
        let (cipher, mut data) = (cipher(engine, &[1; 32]), [5; 20]);
        for len in [1, M::NONCE - 1, M::NONCE + 1, 16] {
            let nonce = Nonce::new(&vec![1; len]).unwrap();
            let refused = cipher.run(M::encrypt(&nonce, b""), &mut data).map(drop).unwrap_err();
            assert!(refused.to_string().contains(&format!("{} bytes, and this one has {len}", M::NONCE)), "{refused}");
        }
        for len in [4, 8, 12, 15] {
            let decrypt = M::decrypt(&nonce, b"", &any_tag(&tag.as_bytes()[..len]).unwrap());
            let refused = cipher.run(decrypt, &mut data).unwrap_err();
            assert!(refused.to_string().contains(&format!("16 bytes, and this one has {len}")), "{refused}");
        }
        assert_eq!(data, [5; 20]);
    }
}

/// Where chunks have several launches and transfers several slots.
fn very_long_messages<M: Mode>(engines: &'static [Engine]) {
    let nonce = noise(0xfe, M::NONCE);
    for (n, len) in [(33 << 20) + 7, (130 << 20) + 16].into_iter().enumerate() {
        let (key, plain) = (noise(5, M::KEYS[1 - n]), noise(6, len));
        let expected = other::<M>(&key, &nonce, b"header", &plain);
        engines.iter().for_each(|engine| check::<M>(engine, &key, &nonce, b"header", &plain, &expected));
    }
}

/// Bytes on both sides of a call's data in device memory, which it must leave as they are.
const AROUND: usize = 48;

/// A call on `data` at byte `from` of one buffer to byte `to` of another, or in place: its result, and the output.
fn on_device<O: Operation>(
    cipher: &Cipher,
    stream: &Arc<CudaStream>,
    operation: O,
    data: &[u8],
    from: usize,
    to: Option<usize>,
) -> (Result<O::Output, Error>, Vec<u8>) {
    let room = vec![0xa5; data.len() + 2 * AROUND];
    let mut filled = room.clone();
    filled[from..from + data.len()].copy_from_slice(data);
    let mut input = stream.clone_htod(&filled).unwrap();
    let mut other = to.map(|_| stream.clone_htod(&room).unwrap());
    let at = to.unwrap_or(from);
    let pending = {
        let (pointer, _read) = input.device_ptr(stream);
        let source = pointer + from as u64;
        drop(_read);
        let output = other.as_mut().unwrap_or(&mut input);
        let (pointer, _written) = output.device_ptr_mut(stream);
        // SAFETY: both are in buffers that are read below, on the same stream, before they are freed.
        unsafe {
            cipher.device().unwrap().run_raw_with_output(
                stream.cu_stream(),
                operation,
                source,
                pointer + at as u64,
                data.len() as u64,
            )
        }
        .unwrap()
    };
    // The next work on the stream sees the result, waited for or not.
    let mut found = stream.clone_dtoh(other.as_ref().unwrap_or(&input)).unwrap();
    let value = pending.wait();
    if to.is_some() {
        assert!(stream.clone_dtoh(&input).unwrap() == filled, "the input changed");
    }
    let result = found[at..at + data.len()].to_vec();
    found[at..at + data.len()].fill(0xa5);
    assert!(found == room, "bytes around the output changed");
    (value, result)
}

/// Where data may be: aligned and not, in place and not.
const PLACES: [(usize, Option<usize>); 5] = [(0, None), (16, Some(32)), (5, None), (3, Some(9)), (16, Some(1))];

fn device_memory<M: Mode>(engines: &'static [Engine]) {
    let engine = &engines[0];
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    let lengths = [0, 1, 15, 16, 17, 4095, 4096, 16384 + 5, 1 << 20, (3 << 20) + 5, 64 << 20];
    for (i, len) in lengths.into_iter().enumerate() {
        let (key, nonce, aad) = (noise(i as u64, M::KEYS[i % 2]), noise(i as u64, M::NONCE), noise(7, 13 * i));
        let plain = noise(77, len);
        let (secret, tag) = other::<M>(&key, &nonce, &aad, &plain);
        let (cipher, nonce) = (cipher(engine, &key), Nonce::new(&nonce).unwrap());
        let encrypt = || M::encrypt(&nonce, &aad);
        cipher.device().unwrap().prepare_for(&encrypt()).unwrap();
        for (from, to) in PLACES.into_iter().take(if len > 1 << 20 { 2 + i % 2 } else { PLACES.len() }) {
            let (found, output) = on_device(&cipher, &stream, encrypt(), &plain, from, to);
            assert!(found.unwrap() == tag && output == secret, "{len} bytes, {from}, {to:?}");
            let decrypt = M::decrypt(&nonce, &aad, &tag);
            let (opened, output) = on_device(&cipher, &stream, decrypt, &secret, from, to);
            opened.unwrap_or_else(|error| panic!("{len} bytes, {from}, {to:?}: {error}"));
            assert!(output == plain, "{len} bytes, {from}, {to:?}");
        }
        // Many messages of a stream at a time, with GCM between them, whose tables differ; and one that is never waited for.
        let device = cipher.device().unwrap();
        let mut data: Vec<_> = (0..3).map(|_| stream.clone_htod(&secret).unwrap()).collect();
        let gcm = device.run_with_output(&stream, GcmEncrypt::new(&Nonce::from([3; 12]), &aad), &mut data[2]).unwrap();
        let decrypt = M::decrypt(&nonce, &aad, &tag);
        let pending = device.run_with_output(&stream, decrypt.clone(), &mut data[0]).unwrap();
        drop(device.run_with_output(&stream, decrypt, &mut data[1]).unwrap());
        pending.wait().unwrap();
        let (_, expected) = others::gcm(&key, &[3; 12], &aad, &secret);
        assert_eq!(gcm.wait().unwrap().as_bytes(), expected);
        assert!(data[..2].iter().all(|data| stream.clone_dtoh(data).unwrap() == plain), "{len} bytes");
    }
}

/// The stream clears it, whether or not the decryption is waited for.
fn what_was_changed_is_cleared_in_device_memory<M: Mode>(engines: &'static [Engine]) {
    let engine = &engines[0];
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    let (key, nonce, aad) = (noise(1, M::KEYS[0]), noise(4, M::NONCE), noise(2, 33));
    for (i, len) in [1, 16, 100, 70_001, 5 << 20].into_iter().enumerate() {
        let plain = noise(3, len);
        let (secret, tag) = other::<M>(&key, &nonce, &aad, &plain);
        let refuses = |key: &[u8], nonce: &[u8], aad: &[u8], tag: &Tag, secret: &[u8]| {
            let decrypt = M::decrypt(&Nonce::new(nonce).unwrap(), aad, tag);
            let (from, to) = PLACES[i % PLACES.len()];
            let (refused, output) = on_device(&cipher(engine, key), &stream, decrypt, secret, from, to);
            assert!(matches!(refused, Err(Error::Unauthenticated)), "{len} bytes: {refused:?}");
            assert!(output.iter().all(|byte| *byte == 0), "{len} bytes");
        };
        for at in [0, len / 2, len - 1] {
            let mut changed = secret.clone();
            changed[at] ^= 1 << (at % 8);
            refuses(&key, &nonce, &aad, &tag, &changed);
        }
        // Half of all wrong tags have the highest bit set before they are encrypted.
        for bit in (0..128).step_by(if len > 1000 { 31 } else { 1 }) {
            let mut changed: [u8; 16] = tag.as_bytes().try_into().unwrap();
            changed[bit / 8] ^= 1 << (bit % 8);
            refuses(&key, &nonce, &aad, &Tag::new(&changed).unwrap(), &secret);
        }
        let mut other = nonce.clone();
        other[0] ^= 1;
        refuses(&key, &other, &aad, &tag, &secret);
        refuses(&key, &nonce, &aad[..32], &tag, &secret);
        refuses(&key, &nonce, &aad, &tag, &secret[..len - 1]);
        refuses(&noise(9, M::KEYS[0]), &nonce, &aad, &tag, &secret);
    }
}

/// A key of another length, another call, a shorter tag: nothing is changed.
fn what_cannot_be_is_refused_in_device_memory<M: Mode>(engines: &'static [Engine]) {
    let engine = &engines[0];
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    let nonce = nonce::<M>();
    let (tag, mut data) = (Tag::new(&[7; 16]).unwrap(), stream.clone_htod(&[5; 20]).unwrap());
    let other_key = cipher(engine, &noise(1, M::REFUSED[0]));
    let refused = other_key.device().unwrap().run_with_output(&stream, M::encrypt(&nonce, b""), &mut data).err();
    assert!(matches!(refused, Some(Error::WrongKeys { operation, .. }) if operation == M::NAME), "{refused:?}");
    let refused = other_key.device().unwrap().prepare_for(&M::encrypt(&nonce, b"")).err();
    assert!(matches!(refused, Some(Error::WrongKeys { operation, .. }) if operation == M::NAME), "{refused:?}");
    let cipher = cipher(engine, &noise(1, 32));
    let device = cipher.device().unwrap();
    for len in [1, 11, M::NONCE + 1] {
        let refused = device.prepare_for(&M::encrypt(&Nonce::new(&vec![1; len]).unwrap(), b"")).err();
        assert!(matches!(refused, Some(Error::Length { operation, .. }) if operation == M::NAME), "{refused:?}");
    }
    let refused = device.run(&stream, M::decrypt(&nonce, b"", &tag), &mut data);
    assert!(matches!(refused, Err(Error::WrongCall { call: "run_with_output", .. })), "{refused:?}");
    let short = M::decrypt(&nonce, b"", &tag.truncated(12).unwrap());
    let refused = device.run_with_output(&stream, short, &mut data).err();
    assert!(matches!(refused, Some(Error::Length { .. })), "{refused:?}");
    assert_eq!(stream.clone_dtoh(&data).unwrap(), [5; 20]);
}

/// The keys of a message would have to be on all GPUs.
fn sharded_memory_is_refused<M: Mode>(engines: &'static [Engine]) {
    for engine in engines {
        let cipher = cipher(engine, &noise(1, 32));
        let mut data = engine.sharded(4096).unwrap();
        data.copy_from_host(0, &[5; 4096]).unwrap();
        let encrypt = M::encrypt(&nonce::<M>(), b"");
        let refused = cipher.sharded().unwrap().run(encrypt, &mut data).err();
        assert!(matches!(refused, Some(Error::Unsupported { operation, .. }) if operation == M::NAME), "{refused:?}");
        let mut found = [0; 4096];
        data.copy_to_host(0, &mut found).unwrap();
        assert_eq!(found, [5; 4096]);
    }
}

fn buffers_are_refused<M: Mode>(engines: &'static [Engine]) {
    let engine = &engines[0];
    let queue = CommandQueue::create_default(engine.opencl_context().unwrap(), 0).unwrap();
    let cipher = cipher(engine, &noise(1, 32));
    let data = engine.opencl_memory(32).unwrap();
    let encrypt = || M::encrypt(&nonce::<M>(), b"");
    let (slice, buffers) = (data.slice(0, 32), cipher.opencl().unwrap());
    let refused = buffers.run_with_output(&queue, encrypt(), slice).err();
    assert!(matches!(refused, Some(Error::Unsupported { operation, .. }) if operation == M::NAME), "{refused:?}");
    let refused = buffers.prepare_for(&encrypt()).err();
    assert!(matches!(refused, Some(Error::Unsupported { operation, .. }) if operation == M::NAME), "{refused:?}");
}
