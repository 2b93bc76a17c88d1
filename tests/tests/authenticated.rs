//! GCM, GMAC and CMAC: equivalence with other implementations, every bit that may be changed, every cut.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_gen::kernel::KernelSpec;
use aes_bitslice_runtime::cuda::Pending;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, DevicePtrMut};
use aes_bitslice_runtime::opencl::opencl3::command_queue::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CommandQueue};
use aes_bitslice_runtime::{
    Backend, Choice, Cipher, Cmac, Ctr, Direction, Engine, Error, GcmDecrypt, GcmEncrypt, GcmEncryptBatch, GcmMessage,
    GcmPart, GcmSivEncrypt, Ghash, Gmac, Kernels, Key, KeyBits, KeystreamRng, Mode, Nonce, Operation, Tag, Xts,
};
use aes_bitslice_tests::engines::{Device, cipher, name};
use aes_bitslice_tests::environment::{all_or, random, say};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::kernels::print;
use aes_bitslice_tests::memory::both_ways;
use aes_bitslice_tests::operation::counter;
use aes_bitslice_tests::reference::{key_bytes, noise};
use aes_bitslice_tests::vectors::any_tag;
use aes_bitslice_tests::{others, refused, tests, tests_of_engines};
use proptest::prelude::*;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    Tests::default()
        .on_each(
            &[Device::Cpu, Device::Cuda(Kernels::Auto), Device::OpenCl],
            &[],
            tests_of_engines![
                gcm_is_the_same_as_another,
                parts_in_any_order_are_the_whole,
                what_was_changed_is_refused_and_cleared,
            ],
        )
        .on_each(&Device::ALL, &[], tests_of_engines![a_secret_counter_that_wraps])
        .on_each(&[Device::Cpu], &[], tests_of_engines![lengths_and_keys_that_cannot_be_are_refused])
        .on_each(
            &[Device::Cuda(Kernels::Auto)],
            &[],
            tests_of_engines![device_memory, one_launch_or_two, long_messages],
        )
        .on_each(&[Device::OpenCl], &[], tests_of_engines![opencl_buffers])
        .with(&[], tests![a_counter_that_wraps_in_the_middle])
        .run()
}

/// Short, a few chunks, and around the ends of what is processed at a time.
fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![0..70_usize, (64_usize << 10) - 20..(64_usize << 10) + 20, (256_usize << 10) - 20..(800_usize << 10)]
}

fn gcm_is_the_same_as_another(engines: &'static [Engine]) {
    proptest!(random(all_or(200, 20)), |(
        key in key_bytes(), nonce: [u8; 12], len in lengths(), aad in 0..100_usize, seed: u64,
    )| {
        let (data, aad) = (noise(seed, len), noise(!seed, aad));
        let (expected, tag) = others::gcm(&key, &nonce, &aad, &data);
        for engine in engines {
            let cipher = cipher(engine, &key);
            let mut found = data.clone();
            let found_tag = cipher.run(GcmEncrypt::new(&nonce.into(), &aad), &mut found).unwrap();
            prop_assert!(found == expected && found_tag.as_bytes() == tag, "{}, {len} bytes", name(engine));
            let mac = cipher.run(Cmac::new(), &data).unwrap();
            prop_assert!(mac.as_bytes() == others::cmac(&key, &data), "{}, CMAC of {len} bytes", name(engine));
            cipher.run(GcmDecrypt::new(&nonce.into(), &aad, &found_tag), &mut found).unwrap();
            prop_assert!(found == data, "{}, decryption of {len} bytes", name(engine));
        }
    });
}

fn parts_in_any_order_are_the_whole(engines: &'static [Engine]) {
    let data = noise(3, (1 << 20) + 77);
    for engine in engines {
        let cipher = cipher(engine, &[9; 32]);
        let nonce = Nonce::new(b"not of twelve bytes").unwrap();
        let mut whole = data.clone();
        let tag = cipher.run(GcmEncrypt::new(&nonce, b"header"), &mut whole).unwrap();
        for bytes in [16 << 10, 100 << 10, 1 << 20, 5001, (100 << 10) + 7] {
            let mut cut = data.clone();
            let mut chunks: Vec<_> = cut.chunks_mut(bytes).enumerate().collect();
            let count = chunks.len();
            chunks.rotate_left(3 % count);
            let part = |(i, chunk): (usize, &mut [u8])| {
                cipher.run(GcmPart::new(Direction::Encrypt, &nonce, (i * bytes) as u64), chunk).unwrap()
            };
            let parts: Vec<_> = chunks.into_iter().map(part).collect();
            assert_eq!(
                cipher.combine(&GcmEncrypt::new(&nonce, b"header"), parts.clone()).unwrap(),
                tag,
                "{bytes} bytes"
            );
            assert!(cut == whole, "{bytes} bytes a part");
            cipher.combine(&GcmDecrypt::new(&nonce, b"header", &tag), parts.clone()).unwrap();
            let missing = cipher.combine(&GcmEncrypt::new(&nonce, b"header"), parts[..count - 1].to_vec());
            assert!(missing.map_or(true, |other| other != tag));
        }
        let (given, submitted) =
            cipher.submit_with_output(GcmEncrypt::new(&nonce, b"header"), data.clone()).unwrap().wait().unwrap();
        assert!(given == whole && submitted == tag);
        // A hash of all of it is the ciphertext's.
        let hashed = &whole[..1 << 20];
        assert_eq!(cipher.run(Ghash::new(), hashed).unwrap().bytes, 1 << 20);
    }
}

/// One bit of the ciphertext, the tag, the additional data, the nonce or the key.
fn what_was_changed_is_refused_and_cleared(engines: &'static [Engine]) {
    let (key, nonce, aad) = ([7; 16], [5; 12], *b"header");
    for engine in engines {
        let right = cipher(engine, &key);
        for len in [0, 1, 16, 37] {
            let plain = noise(len as u64, len);
            let mut secret = plain.clone();
            let tag = right.run(GcmEncrypt::new(&nonce.into(), &aad), &mut secret).unwrap();
            let refused = |cipher: &Cipher, secret: &[u8], nonce: [u8; 12], aad: &[u8], tag: &Tag| {
                let mut output = vec![0xa5; secret.len()];
                let outcome = cipher.run(GcmDecrypt::new(&nonce.into(), aad, tag), (secret, &mut output[..]));
                assert!(matches!(outcome, Err(Error::Unauthenticated)), "{}, {len} bytes", name(engine));
                assert!(output.iter().all(|&byte| byte == 0), "the output is cleared");
                let mut in_place = secret.to_vec();
                cipher.run(GcmDecrypt::new(&nonce.into(), aad, tag), &mut in_place).unwrap_err();
                assert!(in_place.iter().all(|&byte| byte == 0), "in place, too");
            };
            let flips = |bytes: &[u8]| {
                let bytes = bytes.to_vec();
                (0..8 * bytes.len()).map(move |bit| {
                    let mut changed = bytes.clone();
                    changed[bit / 8] ^= 1 << (bit % 8);
                    changed
                })
            };
            flips(&secret).for_each(|secret| refused(&right, &secret, nonce, &aad, &tag));
            flips(tag.as_bytes()).for_each(|tag| refused(&right, &secret, nonce, &aad, &Tag::new(&tag).unwrap()));
            flips(&aad).for_each(|aad| refused(&right, &secret, nonce, &aad, &tag));
            flips(&nonce).for_each(|nonce| refused(&right, &secret, nonce.try_into().unwrap(), &aad, &tag));
            flips(&key).for_each(|key| refused(&cipher(engine, &key), &secret, nonce, &aad, &tag));
            // Bytes moved between the additional data and the ciphertext.
            if len > 0 {
                refused(&right, &secret[1..], nonce, &[&aad[..], &secret[..1]].concat(), &tag);
                refused(&right, &secret[..len - 1], nonce, &aad, &tag);
            }
        }
    }
}

fn lengths_and_keys_that_cannot_be_are_refused(engines: &'static [Engine]) {
    let nonce = Nonce::from([1; 12]);
    for engine in engines {
        let one = cipher(engine, &[7; 32]);
        let two = engine.cipher(&Key::generate_xts(KeyBits::Aes128).unwrap()).unwrap();
        let mut data = [7; 48];
        let xts = Xts::encrypt(16, 0).unwrap();
        refused!(one.run(xts, &mut data), Error::WrongKeys { operation: "XTS", .. });
        refused!(two.run(GcmEncrypt::new(&nonce, &[]), &mut data), Error::WrongKeys { .. });
        refused!(two.ecb_encrypt(&mut data), Error::WrongKeys { .. });
        let xts_key = Key::generate_xts(KeyBits::Aes256).unwrap();
        refused!(KeystreamRng::new(&xts_key, [0; 16]), Error::WrongKeys { .. });
        refused!(engine.bake(&xts_key, Mode::Ctr, "lut3"), Error::WrongKeys { .. });
        for offset in [(1 << 36) - 32, (1 << 36) - 79] {
            let refused = one.run(GcmPart::new(Direction::Encrypt, &nonce, offset), &mut data);
            assert!(matches!(refused, Err(Error::Length { operation: "GCM", .. })), "{offset}");
        }
        let last = GcmPart::new(Direction::Encrypt, &nonce, (1 << 36) - 32 - 48);
        one.run(last, &mut [0; 48]).unwrap();
        for unit in [0, 15, (16 << 20) + 1] {
            refused!(Xts::encrypt(unit, 0), Error::Length { operation: "XTS", .. });
        }
        refused!(two.run(Xts::encrypt(32, 0).unwrap(), &mut data[..33]), Error::Length { operation: "XTS", .. });
        refused!(two.run(Xts::encrypt(16, u128::MAX - 1).unwrap(), &mut data), Error::Length { operation: "XTS", .. });
        two.run(Xts::encrypt(16, u128::MAX - 2).unwrap(), &mut [0; 48]).unwrap();
        assert_eq!(data, [7; 48], "nothing was changed");
    }
}

/// Where the nonce does not have 12 bytes, the first counter is a hash: for one of 65,536 nonces its last four bytes wrap within a message
/// of 1 MiB.
fn a_secret_counter_that_wraps(engines: &'static [Engine]) {
    const BYTES: usize = (1 << 20) + 5;
    let key = [9; 32];
    let by_cpu = cipher(&Engine::open(Backend::Cpu).unwrap(), &key);
    // SP 800-38D, section 7.1, step 2.
    let blocks_to_wrap = |nonce: &[u8; 16]| {
        let hashed = [nonce.as_slice(), &128_u128.to_be_bytes()].concat();
        let first = by_cpu.run(Ghash::new(), &hashed).unwrap().hash;
        u32::MAX - u32::from_be_bytes(first[12..].try_into().unwrap())
    };
    let mut nonces = (0_u128..).map(u128::to_be_bytes);
    let nonce = nonces.find(|nonce| (100..60_000).contains(&blocks_to_wrap(nonce))).unwrap();
    let plain = noise(5, BYTES);
    let (secret, tag) = others::gcm(&key, &nonce, b"header", &plain);
    let nonce = Nonce::new(&nonce).unwrap();
    for engine in engines {
        let cipher = cipher(engine, &key);
        assert!(engine.supports(&GcmEncrypt::new(&nonce, b"header")));
        let found = both_ways(&plain, |data| {
            cipher.run(GcmEncrypt::new(&nonce, b"header"), data).map(|made| assert_eq!(made.as_bytes(), tag))
        });
        assert!(found == secret, "{}", name(engine));
        let tag = Tag::new(&tag).unwrap();
        let found = both_ways(&secret, |data| cipher.run(GcmDecrypt::new(&nonce, b"header", &tag), data));
        assert!(found == plain, "{}", name(engine));
        let mut found = plain.clone();
        let (first, second) = found.split_at_mut(16 * 777);
        let part = |offset| GcmPart::new(Direction::Encrypt, &nonce, offset);
        let parts = vec![cipher.run(part(0), first).unwrap(), cipher.run(part(16 * 777), second).unwrap()];
        assert_eq!(cipher.combine(&GcmEncrypt::new(&nonce, b"header"), parts).unwrap(), tag);
        assert!(found == secret, "{}, in parts", name(engine));
    }
}

/// On the caller's stream: the output, and the value that is there when the stream has reached it.
fn device_memory(engines: &'static [Engine]) {
    let engine = &engines[0];
    let cpu = Engine::open(Backend::Cpu).unwrap();
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    let nonce = Nonce::from([8; 12]);
    // Cipher and engine may be gone before the value is asked for.
    let mut data = stream.clone_htod(&noise(78, 1 << 20)).unwrap();
    let pending = {
        let engine = Engine::open(engine.backend()).unwrap();
        let cipher = cipher(&engine, &[6; 16]);
        cipher.device().unwrap().run_with_output(&stream, Gmac::new(&nonce), &mut data).unwrap()
    };
    let mac = cipher(&cpu, &[6; 16]).run(Gmac::new(&nonce), &noise(78, 1 << 20)).unwrap();
    assert_eq!(pending.wait().unwrap(), mac);
    for (i, len) in [1, 15, 16, 17, 4096, 16383, 16384, 16385, 1 << 20, (3 << 20) + 5, 64 << 20].into_iter().enumerate()
    {
        let key = noise(i as u64, [16, 24, 32][i % 3]);
        let (gpu, cpu) = (cipher(engine, &key), cipher(&cpu, &key));
        let device = gpu.device().unwrap();
        // With other lengths, counters are secret.
        let nonce = Nonce::new(&noise(i as u64, [12, 16, 8][i % 3])).unwrap();
        let plain = noise(77, len);
        let mut expected = plain.clone();
        let tag = cpu.run(GcmEncrypt::new(&nonce, b"header"), &mut expected).unwrap();
        let mut data = stream.clone_htod(&plain).unwrap();
        let pending = device.run_with_output(&stream, GcmEncrypt::new(&nonce, b"header"), &mut data).unwrap();
        assert!(stream.clone_dtoh(&data).unwrap() == expected, "{len} bytes");
        assert_eq!(pending.wait().unwrap(), tag, "{len} bytes");
        let mut other = stream.alloc_zeros(len).unwrap();
        let mut to_other = |from: &[u8]| {
            let from = stream.clone_htod(from).unwrap();
            let encrypt = GcmEncrypt::new(&nonce, b"header");
            device.run_with_output(&stream, encrypt, (&from, &mut other)).and_then(Pending::wait)
        };
        assert_eq!(to_other(&plain).unwrap(), tag, "{len} bytes");
        refused!(to_other(&[&plain[..], &[0]].concat()), Error::LengthMismatch { .. });
        assert!(stream.clone_dtoh(&other).unwrap() == expected, "{len} bytes, to another buffer");
        refused!(device.run_with_output(&stream, Gmac::new(&nonce), (&data, &mut other)), Error::WrongAccess { .. });
        // Several at a time, and one that is never waited for.
        let macs = [1, 2, 3].map(|_| device.run_with_output(&stream, Gmac::new(&nonce), &mut data).unwrap());
        drop(device.run_with_output(&stream, Gmac::new(&nonce), &mut data).unwrap());
        let mac = cpu.run(Gmac::new(&nonce), &expected).unwrap();
        macs.into_iter().for_each(|pending| assert_eq!(pending.wait().unwrap(), mac, "{len} bytes"));
        tag_in_device_memory(&gpu, &stream, &nonce, &plain, (&expected, &tag, &mac));
        decrypted_in_device_memory(&gpu, &stream, &nonce, &tag, &plain, &expected);
        let wrong = device.run(&stream, GcmDecrypt::new(&nonce, b"header", &tag), &mut data);
        assert!(matches!(wrong, Err(Error::WrongCall { call: "run_with_output", .. })));
        let wrong = device.run_with_output(&stream, Ctr::new(&counter([1; 16]), 0), &mut data);
        assert!(matches!(wrong.err(), Some(Error::WrongCall { call: "run", .. })));
        let part = GcmPart::new(Direction::Decrypt, &nonce, 0);
        let part = device.run_with_output(&stream, part, &mut data).unwrap().wait().unwrap();
        gpu.combine(&GcmDecrypt::new(&nonce, b"header", &tag), vec![part]).unwrap();
        assert!(gpu.combine(&GcmDecrypt::new(&nonce, b"another", &tag), vec![part]).is_err());
        assert!(stream.clone_dtoh(&data).unwrap() == plain, "{len} bytes");
    }
}

/// Messages of all lengths around what warps, warpgroups, thread blocks and devices take at a time, by the kernel of GCM in one launch, where
/// the device has it, against two launches: whole messages and parts, in place and not.
fn one_launch_or_two(engines: &'static [Engine]) {
    let engine = &engines[0];
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    let ciphers = [24, 16].map(|bytes| cipher(engine, &noise(3, bytes)));
    const SPAN: usize = 16 * 1024;
    let near = |blocks: usize| [blocks * 16 - 32, blocks * 16 - 16, blocks * 16 - 3, blocks * 16, blocks * 16 + 16];
    let mut lengths = [256, 1024, 4096, 132 * 1024, 528 * 1024, 1320 * 1024].map(near).concat();
    lengths.extend([16, 32, 48, 5 * SPAN, 133 * SPAN + 7, 2000 * SPAN - 32, (96 << 20) + 11]);
    // The longest in one launch, with keys of 128 bits, and a longer one.
    let lengths = lengths.into_iter().map(|len| (0, len)).chain([(1, (256 << 20) - 5), (1, (256 << 20) + 16)]);
    for (i, (key, len)) in lengths.enumerate() {
        let cipher = &ciphers[key];
        let (one, two) = (cipher.device().unwrap(), cipher.device().unwrap().by(Choice::Bitsliced));
        let nonce = Nonce::new(&noise(i as u64, 12)).unwrap();
        let plain = noise(77, len);
        let input = stream.clone_htod(&plain).unwrap();
        let mut outputs = [(); 2].map(|()| stream.clone_htod(&vec![0x5a; len + 64]).unwrap());
        let mut tags = vec![];
        for (device, output) in [&one, &two].into_iter().zip(&mut outputs) {
            let encrypt = GcmEncrypt::new(&nonce, &plain[..i.min(len)]);
            let mut data = output.slice_mut(..len);
            tags.push(device.run_with_output(&stream, encrypt, (&input, &mut data)).unwrap().wait().unwrap());
        }
        let within = GcmPart::new(Direction::Encrypt, &nonce, 8);
        let refused = one.run_with_output(&stream, within, &mut outputs[0].slice_mut(..len));
        assert!(matches!(refused.err(), Some(Error::Length { .. })), "{len} bytes");
        let [first, second] = [0, 1].map(|n| stream.clone_dtoh(&outputs[n]).unwrap());
        assert!(first == second && first[len..] == [0x5a; 64], "{len} bytes");
        assert!(tags[0] == tags[1], "{len} bytes");
        let aad = &plain[..i.min(len)];
        for (device, output) in [&one, &two].into_iter().zip(&mut outputs) {
            let at = (i * 4096).min(len) / 16 * 16;
            let part = |from| GcmPart::new(Direction::Decrypt, &nonce, from as u64);
            let mut of = |from, to| {
                let mut data = output.slice_mut(from..to);
                device.run_with_output(&stream, part(from), &mut data).unwrap().wait().unwrap()
            };
            let parts = vec![of(at, len), of(0, at)];
            cipher.combine(&GcmDecrypt::new(&nonce, aad, &tags[0]), parts).unwrap();
            let found = stream.clone_dtoh(output).unwrap();
            assert!(found[..len] == plain && found[len..] == [0x5a; 64], "{len} bytes, in parts");
        }
        let tag = any_tag(&tags[0].as_bytes()[..[16, 15, 12, 8, 4][i % 5]]).unwrap();
        // One bit, in the last byte or in the first.
        for at in [0, len - 1] {
            let mut wrong = first.clone();
            wrong[at] ^= 0x80;
            let mut data = stream.clone_htod(&wrong).unwrap();
            let decrypt = GcmDecrypt::new(&nonce, aad, &tag);
            let refused = one.run_with_output(&stream, decrypt, &mut data.slice_mut(..len)).unwrap().wait();
            assert!(matches!(refused, Err(Error::Unauthenticated)), "{len} bytes");
            let found = stream.clone_dtoh(&data).unwrap();
            assert!(found[..len].iter().all(|&byte| byte == 0) && found[len..] == [0x5a; 64], "{len} bytes, refused");
        }
        let mut data = stream.clone_htod(&first).unwrap();
        let decrypt = GcmDecrypt::new(&nonce, aad, &tag);
        one.run_with_output(&stream, decrypt, &mut data.slice_mut(..len)).unwrap().wait().unwrap();
        assert!(stream.clone_dtoh(&data).unwrap()[..len] == plain, "{len} bytes, decrypted");
    }
}

/// Tags that the device writes to its own memory, 16 bytes beside others, at every place that they may have.
fn tag_in_device_memory(
    gpu: &Cipher,
    stream: &Arc<CudaStream>,
    nonce: &Nonce,
    plain: &[u8],
    (ciphertext, tag, mac): (&[u8], &Tag, &Tag),
) {
    let device = gpu.device().unwrap();
    let encrypt = || GcmEncrypt::new(nonce, b"header");
    for at in [0, 4, 8, 20] {
        let mut tags = stream.clone_htod(&[0x5a; 64]).unwrap();
        let mut data = stream.clone_htod(plain).unwrap();
        device.run_to_tag(stream, encrypt(), &mut data, &mut tags.slice_mut(at..at + 16)).unwrap();
        device.run_to_tag(stream, Gmac::new(nonce), &mut data, &mut tags.slice_mut(at + 16..)).unwrap();
        let mut found = [0x5a; 64];
        found[at..at + 16].copy_from_slice(tag.as_bytes());
        found[at + 16..at + 32].copy_from_slice(mac.as_bytes());
        assert!(stream.clone_dtoh(&data).unwrap() == ciphertext, "{} bytes", plain.len());
        assert_eq!(stream.clone_dtoh(&tags).unwrap(), found, "{} bytes, tags from byte {at} on", plain.len());
    }
    // A message without data has a tag, too.
    let mut made = stream.clone_htod(&[0x5a; 16]).unwrap();
    let (pointer, guard) = made.device_ptr_mut(stream);
    // SAFETY: the tag is in memory that is borrowed until the work is done.
    unsafe { device.run_raw_to_tag(stream.cu_stream(), encrypt(), 0, 0, 0, pointer) }.unwrap();
    drop(guard);
    let of_nothing = gpu.run(encrypt(), &mut [][..]).unwrap();
    assert_eq!(stream.clone_dtoh(&made).unwrap(), of_nothing.as_bytes());

    let mut tags = stream.clone_htod(&[0x5a; 64]).unwrap();
    let mut data = stream.clone_htod(plain).unwrap();
    let mut refused = |bytes| device.run_to_tag(stream, encrypt(), &mut data, &mut tags.slice_mut(bytes)).unwrap_err();
    assert!(matches!(refused(0..15), Error::OutOfRange { bytes: 16, len: 15, .. }));
    assert!(matches!(refused(1..17), Error::Length { .. }));
    let (pointer, guard) = data.device_ptr_mut(stream);
    // SAFETY: the memory is borrowed, and the call is refused.
    let overlapping =
        unsafe { device.run_raw_to_tag(stream.cu_stream(), encrypt(), pointer, pointer, plain.len() as u64, pointer) };
    assert!(matches!(overlapping, Err(Error::Overlap)));
    let siv = GcmSivEncrypt::new(&Nonce::from([8; 12]), b"");
    // SAFETY: as above.
    let composed = unsafe { device.run_raw_to_tag(stream.cu_stream(), siv, pointer, pointer, 1, pointer + 64) };
    assert!(matches!(composed, Err(Error::Unsupported { .. })));
    drop(guard);
    assert!(stream.clone_dtoh(&data).unwrap() == plain && stream.clone_dtoh(&tags).unwrap() == [0x5a; 64]);
}

/// Bytes on both sides of a call's data, which it must leave unchanged.
const AROUND: usize = 64;

/// A call on `data` at byte `from` of one buffer to byte `to` of another, or in place: its result, and the output.
fn on_buffers<O: Operation>(
    cipher: &Cipher,
    queue: &CommandQueue,
    operation: O,
    data: &[u8],
    from: usize,
    to: Option<usize>,
) -> (Result<O::Output, Error>, Vec<u8>) {
    let room = vec![0xa5; data.len() + 2 * AROUND];
    let memory = |bytes: &[u8]| {
        let mut memory = cipher.engine().opencl_memory(bytes.len()).unwrap();
        memory.copy_from_host(0, bytes).unwrap();
        memory
    };
    let mut filled = room.clone();
    filled[from..from + data.len()].copy_from_slice(data);
    let (input, other) = (memory(&filled), to.map(|_| memory(&room)));
    let (output, at) = (other.as_ref().unwrap_or(&input), to.unwrap_or(from));
    let (source, target) = (input.slice(from, data.len()), output.slice(at, data.len()));
    let pending = cipher.opencl().unwrap().run_with_output(queue, operation, (source, target)).unwrap();
    let mut found = room.clone();
    output.copy_to_host(0, &mut found).unwrap();
    let value = pending.wait();
    let result = found[at..at + data.len()].to_vec();
    found[at..at + data.len()].fill(0xa5);
    assert!(found == room, "bytes around the output changed");
    (value, result)
}

fn opencl_buffers(engines: &'static [Engine]) {
    let engine = &engines[0];
    let cpu = Engine::open(Backend::Cpu).unwrap();
    let context = engine.opencl_context().unwrap();
    // Both in order and, where the device supports it, out of order: dependent commands wait for each other.
    let queues = [0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE]
        .map(|properties| CommandQueue::create_default(context, properties).ok());
    let queues: Vec<_> = queues.into_iter().flatten().collect();
    if queues.len() < 2 {
        say("NO QUEUES OUT OF ORDER, WHICH WERE NOT TESTED");
    }
    let nonce = Nonce::from([8; 12]);
    for (i, len) in [0, 1, 15, 16, 17, 4096, 16383, 16384, 16385, (3 << 20) + 5].into_iter().enumerate() {
        let (key, queue) = (noise(i as u64, [16, 24, 32][i % 3]), &queues[i % queues.len()]);
        let (device, cpu) = (cipher(engine, &key), cipher(&cpu, &key));
        let plain = noise(77, len);
        let mut secret = plain.clone();
        let tag = cpu.run(GcmEncrypt::new(&nonce, b"header"), &mut secret).unwrap();
        let mac = cpu.run(Gmac::new(&nonce), &secret).unwrap();
        for (from, to) in [(16, None), (0, Some(32)), (11, None), (3, Some(8))] {
            let (found, output) = on_buffers(&device, queue, GcmEncrypt::new(&nonce, b"header"), &plain, from, to);
            assert!(found.unwrap() == tag && output == secret, "{len} bytes from {from} to {to:?}");
            for tag in [tag, tag.truncated(12).unwrap()] {
                let decrypt = GcmDecrypt::new(&nonce, b"header", &tag);
                let (verdict, output) = on_buffers(&device, queue, decrypt, &secret, from, to);
                assert!(verdict.is_ok() && output == plain, "{len} bytes from {from} to {to:?}");
            }
            // With one bit changed: of the tag, of the header, and of the message.
            let mut other_tag = *tag.as_bytes().first_chunk::<16>().unwrap();
            other_tag[15 - i] ^= 1 << (i % 8);
            let mut changed = secret.clone();
            if let Some(byte) = changed.get_mut(len / 3) {
                *byte ^= 0x10;
            }
            let other_tag = Tag::new(&other_tag).unwrap();
            let wrong = [(&secret, b"header", &other_tag), (&secret, b"heades", &tag), (&changed, b"header", &tag)];
            for (secret, aad, tag) in wrong.into_iter().take(if len == 0 { 2 } else { 3 }) {
                let (verdict, output) = on_buffers(&device, queue, GcmDecrypt::new(&nonce, aad, tag), secret, from, to);
                assert!(matches!(verdict, Err(Error::Unauthenticated)), "{len} bytes from {from} to {to:?}");
                assert!(output.iter().all(|&byte| byte == 0), "{len} bytes from {from} to {to:?}");
            }
            let part = GcmPart::new(Direction::Decrypt, &nonce, 0);
            let (part, output) = on_buffers(&device, queue, part, &secret, from, to);
            device.combine(&GcmDecrypt::new(&nonce, b"header", &tag), vec![part.unwrap()]).unwrap();
            assert!(output == plain, "{len} bytes from {from} to {to:?}");
            // Two parts, the second one first.
            let (first, second) = plain.split_at(len / 32 * 16);
            let part = |data: &[u8], offset| {
                let part = GcmPart::new(Direction::Encrypt, &nonce, offset);
                let (part, output) = on_buffers(&device, queue, part, data, from, to);
                assert!(output == secret[offset as usize..][..data.len()], "{len} bytes from {from} to {to:?}");
                part.unwrap()
            };
            let parts = vec![part(second, first.len() as u64), part(first, 0)];
            assert_eq!(device.combine(&GcmEncrypt::new(&nonce, b"header"), parts).unwrap(), tag);
        }
        let calls = device.opencl().unwrap();
        let mut memory = engine.opencl_memory(len + 5).unwrap();
        memory.copy_from_host(5, &secret).unwrap();
        let slice = memory.slice(5, len);
        // Several at a time, and one that is never waited for.
        let macs = [1, 2, 3].map(|_| calls.run_with_output(queue, Gmac::new(&nonce), slice).unwrap());
        drop(calls.run_with_output(queue, Gmac::new(&nonce), slice).unwrap());
        macs.into_iter().for_each(|pending| assert_eq!(pending.wait().unwrap(), mac, "{len} bytes"));
        if len % 16 == 0 {
            calls.prepare_for(&Ghash::new()).unwrap();
            let hash = calls.run_with_output(queue, Ghash::new(), slice).unwrap();
            assert_eq!(hash.wait().unwrap().hash, cpu.run(Ghash::new(), &secret).unwrap().hash, "{len} bytes");
        }
        // Cipher and memory may be gone before the value is asked for.
        let pending = calls.run_with_output(queue, Gmac::new(&nonce), slice).unwrap();
        drop(memory);
        drop(device);
        assert_eq!(pending.wait().unwrap(), mac, "{len} bytes");
    }
    opencl_calls_that_cannot_be_are_refused(engine, &queues[0]);
}

/// Each with its error, and nothing changes.
fn opencl_calls_that_cannot_be_are_refused(engine: &Engine, queue: &CommandQueue) {
    let nonce = Nonce::from([8; 12]);
    let cipher = cipher(engine, &[1; 16]);
    let calls = cipher.opencl().unwrap();
    let memory = engine.opencl_memory(64).unwrap();
    let all = memory.slice(0, 64);
    let encrypt = || GcmEncrypt::new(&nonce, &[]);
    let decrypt = GcmDecrypt::new(&nonce, &[], &Tag::new(&[0; 16]).unwrap());
    refused!(calls.run(queue, decrypt, all), Error::WrongCall { call: "run_with_output", .. });
    let wrong = calls.run_with_output(queue, Ctr::new(&counter([1; 16]), 0), all);
    assert!(matches!(wrong.err(), Some(Error::WrongCall { call: "run", .. })));
    refused!(calls.run_with_output(queue, Gmac::new(&nonce), (all, all)), Error::WrongAccess { .. });
    refused!(calls.run_with_output(queue, encrypt(), (memory.slice(0, 32), memory.slice(16, 32))), Error::Overlap);
    let wrong = calls.run_with_output(queue, encrypt(), (memory.slice(0, 32), memory.slice(32, 16)));
    assert!(matches!(wrong.err(), Some(Error::LengthMismatch { .. })));
    let wrong = calls.run_with_output(queue, encrypt(), memory.slice(48, 32));
    assert!(matches!(wrong.err(), Some(Error::OutOfRange { .. })));
    let part = GcmPart::new(Direction::Encrypt, &nonce, 8);
    refused!(calls.run_with_output(queue, part, all), Error::Length { .. });
    // There are no kernels for many messages, nor for serial modes.
    let message = GcmMessage { range: 0..64, nonce: &[8; 12], aad: &[] };
    let batch = GcmEncryptBatch::new(&[message]).unwrap();
    refused!(calls.run_with_output(queue, batch, all), Error::Unsupported { .. });
    refused!(calls.run_with_output(queue, Cmac::new(), all), Error::Unsupported { .. });
    // Nor for counters that are secret.
    let nonce_of_16 = Nonce::new(&[8; 16]).unwrap();
    let wrong = calls.run_with_output(queue, GcmEncrypt::new(&nonce_of_16, &[]), all).err();
    assert!(wrong.is_some_and(|e| e.to_string().contains("GCM with a nonce that is not 12 bytes long")));
    assert!(calls.prepare_for(&GcmEncrypt::new(&nonce_of_16, &[])).is_err());
    let mac = calls.run_with_output(queue, Gmac::new(&nonce_of_16), all).unwrap().wait().unwrap();
    assert_eq!(cipher.run(Gmac::new(&nonce_of_16), &[0; 64]).unwrap(), mac);
    let other = Engine::open(engine.backend()).unwrap();
    let foreign = other.opencl_memory(64).unwrap();
    refused!(calls.run_with_output(queue, encrypt(), (all, foreign.slice(0, 64))), Error::OtherOpenClContext);
    refused!(
        calls.run_with_output(other.opencl_queue().unwrap().queue(), Gmac::new(&nonce), all),
        Error::OtherOpenClContext
    );
    // A cipher of one kernel has no key to derive the hash key from.
    let printed = print(KernelSpec::hajihassani_2019(Mode::Ctr), Dialect::OpenCl).unwrap();
    let one = engine.cipher_of(&Key::new(&[1; 16]).unwrap(), &printed).unwrap();
    refused!(one.opencl().unwrap().run_with_output(queue, encrypt(), all), Error::NeedsKey { .. });
    let mut left = [1; 64];
    memory.copy_to_host(0, &mut left).unwrap();
    assert_eq!(left, [0; 64]);
}

/// The whole tag, and shorter ones; at another alignment; and changed input, which is cleared.
fn decrypted_in_device_memory(
    cipher: &Cipher,
    stream: &Arc<CudaStream>,
    nonce: &Nonce,
    tag: &Tag,
    plain: &[u8],
    secret: &[u8],
) {
    let device = cipher.device().unwrap();
    let (before, after) = (vec![0x5a; 48], vec![0xa5; 48]);
    for (i, tag_bytes) in [16, 12, 4, 16].into_iter().enumerate() {
        let tag = any_tag(&tag.as_bytes()[..tag_bytes]).unwrap();
        let at = 48 - [0, 0, 5, 16][i];
        let decrypt = |secret: &[u8], aad: &[u8], tag: &Tag| {
            let mut memory = stream.clone_htod(&[&before[..at], secret, &after[..]].concat()).unwrap();
            let pending = {
                let mut data = memory.slice_mut(at..at + secret.len());
                device.run_with_output(stream, GcmDecrypt::new(nonce, aad, tag), &mut data).unwrap()
            };
            let bytes = stream.clone_dtoh(&memory).unwrap();
            assert_eq!((&bytes[..at], &bytes[at + secret.len()..]), (&before[..at], &after[..]));
            (pending.wait(), bytes[at..at + secret.len()].to_vec())
        };
        let (verdict, found) = decrypt(secret, b"header", &tag);
        assert!(verdict.is_ok() && found == plain, "{} bytes, tag of {tag_bytes}", plain.len());
        let mut changed = secret.to_vec();
        changed[secret.len() * i / 4] ^= 1 << i;
        let mut other_tag = tag.as_bytes().to_vec();
        other_tag[tag_bytes - 1] ^= 0x80 >> i;
        let other_tag = any_tag(&other_tag).unwrap();
        for (secret, aad, tag) in
            [(&changed[..], &b"header"[..], &tag), (secret, b"heades", &tag), (secret, b"header", &other_tag)]
        {
            let (verdict, found) = decrypt(secret, aad, tag);
            assert!(matches!(verdict, Err(Error::Unauthenticated)), "{} bytes, tag of {tag_bytes}", plain.len());
            assert!(found.iter().all(|&byte| byte == 0), "{} bytes, tag of {tag_bytes}", plain.len());
        }
    }
}

/// From host memory, in many chunks, pinned and not.
fn long_messages(engines: &'static [Engine]) {
    let cpu = Engine::open(Backend::Cpu).unwrap();
    let nonce = Nonce::new(b"a nonce of any length").unwrap();
    let plain = noise(5, (100 << 20) + 77);
    let mut expected = plain.clone();
    let tag = cipher(&cpu, &[4; 32]).run(GcmEncrypt::new(&nonce, &[]), &mut expected).unwrap();
    for engine in engines {
        let cipher = cipher(engine, &[4; 32]);
        let mut pinned = engine.host_buffer(plain.len()).unwrap();
        for data in [&mut plain.clone()[..], &mut pinned[..]] {
            data.copy_from_slice(&plain);
            assert_eq!(cipher.run(GcmEncrypt::new(&nonce, &[]), &mut *data).unwrap(), tag);
            assert!(data == expected);
            cipher.run(GcmDecrypt::new(&nonce, &[], &tag), &mut *data).unwrap();
            assert!(data == plain);
            data.copy_from_slice(&expected);
            data[50 << 20] ^= 1;
            let refused = cipher.run(GcmDecrypt::new(&nonce, &[], &tag), &mut *data);
            assert!(matches!(refused, Err(Error::Unauthenticated)) && data.iter().all(|&byte| byte == 0));
        }
    }
}

/// A nonce of another length gives any initial counter block: some nonce's last word wraps within a message.
fn a_counter_that_wraps_in_the_middle() {
    use aes_bitslice_runtime::{Counter, CounterMode, Ctr};
    for backend in [Backend::Cpu, Backend::CpuBitsliced] {
        let cipher = cipher(&Engine::open(backend).unwrap(), &[3; 16]);
        let mut block = [0xff; 16];
        block[15] = 0xf0;
        // Sixteen blocks, then the last word is zero without a carry.
        let mut found = vec![0; 16 * 1000];
        cipher.run(Ctr::new(&Counter::new(CounterMode::Inc32, block), 0), &mut found).unwrap();
        let mut expected = vec![0; 16 * 1000];
        for (i, expected) in expected.chunks_mut(16).enumerate() {
            let word = 0xffff_fff0_u32.wrapping_add(i as u32);
            expected[..12].fill(0xff);
            expected[12..].copy_from_slice(&word.to_be_bytes());
        }
        cipher.ecb_encrypt(&mut expected).unwrap();
        assert!(found == expected);
    }
}
