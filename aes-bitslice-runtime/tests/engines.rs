//! Tests of every CPU engine, the bitsliced one on every available kind of vector: published answers, comparison with
//! the `aes` crate block by block, and refusals that change nothing.

use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::{
    Backend, CbcEncrypt, Cipher, Cmac, CmacBatch, Counter, CounterMode, Ctr, EachKey, Ecb, Engine, Error, GcmDecrypt,
    GcmEncrypt, GcmEncryptBatch, GcmMessage, GcmSivEncrypt, Job, Jobs, Key, KeyBits, Keystream, Mode, Nonce, Operation,
    Stop, Tag,
};
use cipher::{BlockCipherEncrypt, KeyInit};

fn engines() -> Vec<Engine> {
    let bitsliced = Isa::available().into_iter().map(|isa| Engine::open_bitsliced(isa).unwrap());
    [Engine::open(Backend::Cpu).unwrap()].into_iter().chain(bitsliced).collect()
}

/// Bytes that look random (xorshift64, Marsaglia 2003); the seed determines them.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: String = digits.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn example_vectors_of_fips_197() {
    // Appendix C.
    for (bits, encrypted) in KeyBits::ALL.into_iter().zip([
        "69c4e0d86a7b0430d8cdb78070b4c55a",
        "dda97ca4864cdfe06eaf70a0ec0d7191",
        "8ea2b7ca516745bfeafc49904b496089",
    ]) {
        let key = Key::new(&(0..bits.bytes() as u8).collect::<Vec<_>>()).unwrap();
        for engine in engines() {
            let cipher = engine.cipher(&key).unwrap();
            let mut block = hex("00112233445566778899aabbccddeeff");
            cipher.ecb_encrypt(&mut block).unwrap();
            assert_eq!(block, hex(encrypted), "{engine:?}");
            cipher.ecb_decrypt(&mut block).unwrap();
            assert_eq!(block, hex("00112233445566778899aabbccddeeff"), "{engine:?}");
        }
    }
}

#[test]
fn example_vectors_of_sp_800_38a() {
    // Appendices F.1, F.2 and F.5.
    let plain = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
                     30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710");
    let counter = Counter::new(CounterMode::Ctr128BE, std::array::from_fn(|i| 0xf0 + i as u8));
    let iv = std::array::from_fn(|i| i as u8);
    for (key, ecb, cbc, ctr) in [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf
             43b1cd7f598ece23881b00e3ed030688 7b0c785e27e8ad3f8223207104725dd4",
            "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
             73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7",
            "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
             5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
        ),
        (
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "bd334f1d6e45f25ff712a214571fa5cc 974104846d0ad3ad7734ecb3ecee4eef
             ef7afd2270e2e60adce0ba2face6444e 9a4b41ba738d6c72fb16691603c18e0e",
            "4f021db243bc633d7178183a9fa071e8 b4d9ada9ad7dedf4e5e738763f69145a
             571b242012fb7ae07fa9baac3df102e0 08b0e27988598881d920a9e64f5615cd",
            "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
             1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "f3eed1bdb5d2a03c064b5a7e3db181f8 591ccb10d410ed26dc5ba74a31362870
             b6ed21b99ca6f4f9f153e7b1beafed1d 23304b7a39f9f3ff067d8d8f9e24ecc7",
            "f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
             39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b",
            "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
             2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
        ),
    ] {
        let key = Key::from_hex(key).unwrap();
        for engine in engines() {
            let cipher = engine.cipher(&key).unwrap();
            let mut out = vec![0; 64];
            cipher.ecb_encrypt_to(&plain, &mut out).unwrap();
            assert_eq!(out, hex(ecb), "{engine:?}");
            cipher.ecb_decrypt_to(&hex(ecb), &mut out).unwrap();
            assert_eq!(out, plain, "{engine:?}");
            cipher.cbc_encrypt_to(&iv, &plain, &mut out).unwrap();
            assert_eq!(out, hex(cbc), "{engine:?}");
            cipher.cbc_decrypt_to(&iv, &hex(cbc), &mut out).unwrap();
            assert_eq!(out, plain, "{engine:?}");
            cipher.ctr_apply_to(&counter, 0, &plain, &mut out).unwrap();
            assert_eq!(out, hex(ctr), "{engine:?}");
        }
    }
}

/// The keystream, from its definition.
fn keystream(key: &[u8; 16], counter: &Counter, offset: u64, len: usize) -> Vec<u8> {
    let aes = aes::Aes128::new(&(*key).into());
    let first = u128::from_be_bytes(counter.block());
    let (skip, blocks) = ((offset % 16) as usize, u128::from(offset / 16)..);
    let bytes = blocks.flat_map(|i| {
        let mut block = first.wrapping_add(i).to_be_bytes().into();
        aes.encrypt_block(&mut block);
        block
    });
    bytes.skip(skip).take(len).collect()
}

fn check_ctr(ciphers: &[Cipher], key: &[u8; 16], counter: &Counter, offset: u64, len: usize) {
    let data = noise(len as u64 ^ offset, len);
    let expected: Vec<u8> = keystream(key, counter, offset, len).iter().zip(&data).map(|(k, d)| k ^ d).collect();
    for cipher in ciphers {
        let mut out = vec![0xee; len];
        cipher.ctr_apply_to(counter, offset, &data, &mut out).unwrap();
        assert!(out == expected, "{:?}: {len} bytes from {offset}, {counter:?}", cipher.engine());
        out.copy_from_slice(&data);
        cipher.ctr_apply(counter, offset, &mut out).unwrap();
        assert!(out == expected, "{:?}: {len} bytes from {offset}, {counter:?}, in place", cipher.engine());
    }
}

const KEY: [u8; 16] = [0x4d; 16];

fn ciphers() -> Vec<Cipher> {
    engines().iter().map(|e| e.cipher(&Key::new(&KEY).unwrap()).unwrap()).collect()
}

#[test]
fn every_length_and_offset() {
    let ciphers = ciphers();
    let counter = Counter::new(CounterMode::Ctr128BE, [0x17; 16]);
    for len in 0..2000 {
        check_ctr(&ciphers, &KEY, &counter, (len * 7 % 40) as u64, len);
    }
    // Around a batch of the widest vectors, and around a chunk of the work of one core.
    for edge in [64 * 16, 256 * 16, 512 * 16, 256 << 10, 3 * (256 << 10)] {
        for len in edge - 17..edge + 18 {
            check_ctr(&ciphers, &KEY, &counter, 3, len);
        }
    }
    // The last runs past byte 2^64.
    for offset in [0, 1, 15, 16, 17, 4095, 4096, (1 << 36) - 5, u64::MAX - 100_000, u64::MAX - 5_000] {
        check_ctr(&ciphers, &KEY, &counter, offset, 20_000);
    }
}

#[test]
fn counters_near_their_wraps() {
    let ciphers = ciphers();
    // `before` blocks before the lowest `k` bits wrap; all 128 wrap to the block of zeros.
    use CounterMode::*;
    for (mode, k) in [(Ctr128BE, 128), (Ctr128BE, 100), (Ctr128BE, 64), (Ctr128BE, 32), (Ctr128BE, 12), (Ctr64BE, 40)]
        .into_iter()
        .chain([(Ctr64BE, 32), (Ctr32BE, 20), (Ctr32BE, 10)])
    {
        for before in [1, 2, 255, 256, 257, 511, 512, 600] {
            let low = u128::MAX >> (128 - k);
            let block = (0x5555 << 112 & !low) | (low - (before - 1));
            check_ctr(&ciphers, &KEY, &Counter::new(mode, block.to_be_bytes()), 5, 1200 * 16 + 3);
        }
    }
}

#[test]
fn ecb_of_any_number_of_blocks() {
    let aes = aes::Aes128::new(&KEY.into());
    for blocks in (0..70).chain([255, 256, 257, 511, 512, 513, 1025]).chain([(256 << 10) / 16 + 1, (800 << 10) / 16]) {
        let data = noise(blocks as u64, 16 * blocks);
        let mut expected = data.clone();
        for block in expected.chunks_exact_mut(16) {
            aes.encrypt_block(block.try_into().unwrap());
        }
        for cipher in ciphers() {
            let mut out = vec![0xee; data.len()];
            cipher.ecb_encrypt_to(&data, &mut out).unwrap();
            assert!(out == expected, "{:?}: {blocks} blocks", cipher.engine());
            cipher.ecb_decrypt(&mut out).unwrap();
            assert!(out == data, "{:?}: {blocks} blocks back", cipher.engine());
            cipher.ecb_encrypt(&mut out).unwrap();
            assert!(out == expected, "{:?}: {blocks} blocks in place", cipher.engine());
            cipher.ecb_decrypt_to(&expected, &mut out).unwrap();
            assert!(out == data, "{:?}: {blocks} blocks back, not in place", cipher.engine());
        }
    }
}

/// CBC from its definition: the ciphertext of `data`.
fn cbc(key: &[u8; 16], iv: &[u8; 16], data: &[u8]) -> Vec<u8> {
    let aes = aes::Aes128::new(&(*key).into());
    let mut block = cipher::Array(*iv);
    let blocks = data.as_chunks::<16>().0.iter().flat_map(|plain| {
        block = cipher::Array::from_fn(|i| block[i] ^ plain[i]);
        aes.encrypt_block(&mut block);
        block
    });
    blocks.collect()
}

#[test]
fn cbc_of_any_number_of_blocks() {
    let iv = [0xb7; 16];
    for blocks in (0..70).chain([255, 256, 257, 511, 512, 513, 1025, 16383, 16384, 16385]).chain([(800 << 10) / 16]) {
        let data = noise(blocks as u64, 16 * blocks);
        let expected = cbc(&KEY, &iv, &data);
        for cipher in ciphers() {
            let mut out = vec![0xee; data.len()];
            cipher.cbc_encrypt_to(&iv, &data, &mut out).unwrap();
            assert!(out == expected, "{:?}: {blocks} blocks", cipher.engine());
            cipher.cbc_decrypt(&iv, &mut out).unwrap();
            assert!(out == data, "{:?}: {blocks} blocks back in place", cipher.engine());
            cipher.cbc_encrypt(&iv, &mut out).unwrap();
            assert!(out == expected, "{:?}: {blocks} blocks in place", cipher.engine());
            cipher.cbc_decrypt_to(&iv, &expected, &mut out).unwrap();
            assert!(out == data, "{:?}: {blocks} blocks back", cipher.engine());
        }
    }
}

#[test]
fn wrong_arguments_change_nothing() {
    let mut near_end = [0xff; 16];
    near_end[15] = 0xfe;
    for cipher in ciphers() {
        let before = noise(1, 100);
        let mut data = before.clone();
        for len in [1, 15, 17, 31, 100] {
            assert!(matches!(cipher.ecb_encrypt(&mut data[..len]), Err(Error::NotWholeBlocks { len: l }) if l == len));
            assert!(matches!(cipher.ecb_decrypt(&mut data[..len]), Err(Error::NotWholeBlocks { .. })));
            let (iv, data) = ([1; 16], &mut data[..len]);
            assert!(matches!(cipher.cbc_encrypt(&iv, data), Err(Error::NotWholeBlocks { len: l }) if l == len));
            assert!(matches!(cipher.cbc_decrypt(&iv, data), Err(Error::NotWholeBlocks { len: l }) if l == len));
        }
        let input = [0; 64];
        assert!(matches!(cipher.ecb_encrypt_to(&input, &mut data[..48]), Err(Error::LengthMismatch { .. })));
        assert!(matches!(cipher.ecb_decrypt_to(&input, &mut data[..80]), Err(Error::LengthMismatch { .. })));
        for refused in [
            cipher.cbc_encrypt_to(&[1; 16], &input, &mut data[..48]),
            cipher.cbc_decrypt_to(&[1; 16], &input, &mut data[..48]),
        ] {
            assert!(matches!(refused, Err(Error::LengthMismatch { input: 64, output: 48 })));
        }
        let counter = Counter::new(CounterMode::Ctr128BE, near_end);
        let mismatch = cipher.ctr_apply_to(&counter, 0, &input, &mut data[..63]);
        assert!(matches!(mismatch, Err(Error::LengthMismatch { input: 64, output: 63 })));
        for mode in [CounterMode::Ctr64BE, CounterMode::Ctr32BE] {
            // Two blocks are left: 32 bytes, and not one more.
            let counter = Counter::new(mode, near_end);
            for (offset, len) in [(0, 33), (1, 32), (31, 2), (32, 1), (u64::MAX, 1)] {
                let result = cipher.ctr_apply(&counter, offset, &mut data[..len]);
                assert!(matches!(result, Err(Error::CounterOverflow { left: 2, .. })), "{offset} {len}");
            }
            assert_eq!(data, before);
            check_ctr(std::slice::from_ref(&cipher), &KEY, &counter, 0, 32);
            check_ctr(std::slice::from_ref(&cipher), &KEY, &counter, 31, 1);
        }
        assert_eq!(data, before);
    }
}

#[test]
fn an_absent_instruction_set_is_refused() {
    for isa in [Isa::Avx512, Isa::Avx2, Isa::Neon, Isa::Portable] {
        let opened = Engine::open_bitsliced(isa);
        if Isa::available().contains(&isa) {
            assert!(opened.unwrap().description().contains(&isa.to_string()))
        } else {
            assert!(matches!(opened, Err(Error::IsaUnavailable { isa: i }) if i == isa.to_string()))
        }
    }
}

#[test]
fn many_threads_share_a_cipher() {
    let cipher = Engine::open(Backend::CpuBitsliced).unwrap().cipher(&Key::new(&KEY).unwrap()).unwrap();
    let counter = Counter::new(CounterMode::Ctr128BE, [9; 16]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let cipher = cipher.clone();
            scope.spawn(move || check_ctr(&[cipher], &KEY, &counter, 1000 * thread, 300_000));
        }
    });
}

/// Bytes of a call that is cut into chunks.
const LONG: usize = 2 << 20;

/// Where a call on `LONG` bytes that is stopped leaves zeros, of bytes that are 1 before.
fn stopped(call: impl FnOnce(&mut [u8]) -> Option<Error>) -> Vec<bool> {
    let (stop, mut data) = (Stop::new(), vec![1; LONG]);
    stop.now();
    let error = stop.during(|| call(&mut data));
    assert!(matches!(error, Some(Error::Stopped)), "{error:?}");
    assert!(data.iter().all(|byte| *byte < 2), "nothing is written");
    data.iter().map(|byte| *byte == 0).collect()
}

/// One value, called twice: two nonces, each with what GCM makes of it; a message in one step, and one in many chunks.
#[test]
fn each_call_makes_a_nonce() {
    for engine in engines() {
        let cipher = engine.cipher(&Key::new(&[7; 16]).unwrap()).unwrap();
        for len in [0, 9, LONG] {
            let operation = GcmEncrypt::with_random_nonce(b"header");
            let made = [(); 2].map(|()| {
                let (mut data, mut expected) = (vec![1; len], vec![1; len]);
                let (nonce, tag) = cipher.run(operation.clone(), &mut data).unwrap();
                let other = cipher.run(GcmEncrypt::new(&nonce, b"header"), &mut expected).unwrap();
                assert!(data == expected && tag == other && nonce.as_bytes().len() == 12, "{engine:?}");
                let (data, (nonce_later, _)) =
                    cipher.submit_with_output(operation.clone(), data).unwrap().wait().unwrap();
                assert!(data.len() == len && nonce_later != nonce, "{engine:?}");
                nonce
            });
            assert_ne!(made[0], made[1], "{engine:?}");
        }
    }
}

#[test]
fn a_call_that_is_stopped_clears_its_output_and_nothing_else() {
    let (counter, nonce) = (Counter::new(CounterMode::Ctr128BE, [0; 16]), Nonce::from([7; 12]));
    let message = |range| GcmMessage { nonce: nonce.as_bytes(), aad: b"", range };
    let inside: Vec<bool> = (0..LONG).map(|at| (16..LONG - 16).contains(&at)).collect();
    let range = 16..LONG as u64 - 16;
    for engine in engines() {
        let cipher = engine.cipher(&Key::new(&[7; 16]).unwrap()).unwrap();
        fn all(cipher: &Cipher, operation: impl Operation) {
            assert_eq!(stopped(|data| cipher.run(operation, data).err()), [true; LONG]);
        }
        all(&cipher, Ctr::new(&counter, 5));
        all(&cipher, Keystream::new(&counter, 0));
        all(&cipher, Ecb::decrypt());
        all(&cipher, CbcEncrypt::new(&[7; 16]));
        all(&cipher, GcmEncrypt::new(&nonce, b"header"));
        all(&cipher, GcmEncrypt::with_random_nonce(b"header"));
        all(&cipher, GcmDecrypt::new(&nonce, b"header", &Tag::new(&[7; 16]).unwrap()));
        all(&cipher, GcmSivEncrypt::new(&nonce, b"header"));
        let batch = GcmEncryptBatch::new(&[message(range.clone())]).unwrap();
        assert_eq!(stopped(|data| cipher.run(batch, data).err()), inside);
        // What reads alone leaves its data.
        assert_eq!(stopped(|data| cipher.run(Cmac::new(), &*data).err()), [false; LONG]);
        let batch = CmacBatch::new(&[0..9, range.clone()]).unwrap();
        assert_eq!(stopped(|data| cipher.run(batch, &*data).err()), [false; LONG]);
        let jobs = Jobs::new(Mode::Ctr, &[Job { key: &[7; 16], counter: [0; 16], range: range.clone() }]).unwrap();
        assert_eq!(stopped(|data| engine.run_jobs(&jobs, data).err()), inside);
        let each = EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], LONG as u64 / 2).unwrap();
        assert_eq!(stopped(|data| engine.run_each_key(&each, &[7; 32], data).err()), [true; LONG]);
    }
}

/// What is refused is so whether it is stopped or not, and changes nothing.
#[test]
fn a_wrong_call_that_is_stopped_is_still_refused() {
    let stop = Stop::new();
    stop.now();
    for engine in engines() {
        let cipher = engine.cipher(&Key::new(&[7; 16]).unwrap()).unwrap();
        let mut data = vec![1; LONG - 1];
        let error = stop.during(|| cipher.run(Ecb::encrypt(), &mut data)).unwrap_err();
        assert!(matches!(error, Error::NotWholeBlocks { .. }) && data == vec![1; LONG - 1]);
        let outside = GcmMessage { nonce: &[7; 12], aad: b"", range: 0..LONG as u64 };
        let error = stop.during(|| cipher.run(GcmEncryptBatch::new(&[outside]).unwrap(), &mut data)).unwrap_err();
        assert!(matches!(error, Error::Batch { .. }) && data == vec![1; LONG - 1]);
        // And after that, nothing stops.
        assert!(cipher.run(Cmac::new(), &data).is_ok());
    }
}
