//! GHASH through the engine: the tags of published GCM vectors (McGrew and Viega, "The Galois/Counter Mode of Operation", test cases
//! 3, 4, 9, 10, 15 and 16), messages over several threads and chunks, parts in any order, and refusals.

use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Engine, Error, Ghash, Key, Keystream};
use aes_bitslice_tests::refused;
use rayon::prelude::*;

/// GHASH of AAD and ciphertext as GCM has them (SP 800-38D, section 7.1): each padded with zeros, then both lengths in bits.
fn gcm_hash_input(aad: &[u8], ciphertext: &[u8]) -> Vec<u8> {
    let mut input = Vec::new();
    for part in [aad, ciphertext] {
        input.extend(part);
        input.resize(input.len().next_multiple_of(16), 0);
    }
    for part in [aad, ciphertext] {
        input.extend((8 * part.len() as u64).to_be_bytes());
    }
    input
}

/// The tag: GHASH XOR the encrypted first counter block, for a 96-bit IV.
fn tag(cipher: &Cipher, iv: &[u8], aad: &[u8], ciphertext: &[u8]) -> [u8; 16] {
    let hash = cipher.run(Ghash::new(), &gcm_hash_input(aad, ciphertext)).unwrap().hash;
    let mut block = [0; 16];
    block[..12].copy_from_slice(iv);
    block[15] = 1;
    let mut mask = [0; 16];
    cipher.run(Keystream::new(&Counter::new(CounterMode::Ctr32BE, block), 0), &mut mask).unwrap();
    std::array::from_fn(|i| hash[i] ^ mask[i])
}

fn cpu_engines() -> [Engine; 2] {
    [Backend::Cpu, Backend::CpuBitsliced].map(|backend| Engine::open(backend).unwrap())
}

#[test]
fn tags_of_published_vectors() {
    let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
    let iv = hex::decode("cafebabefacedbaddecaf888").unwrap();
    let aad = hex::decode("feedfacedeadbeeffeedfacedeadbeefabaddad2").unwrap();
    for (bits, ciphertext, whole, with_aad) in [
        (
            128,
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
            "4d5c2af327cd64a62cf35abd2ba6fab4",
            "5bc94fbc3221a5db94fae95ae7121a47",
        ),
        (
            192,
            "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710acade256",
            "9924a7c8587336bfb118024db8674a14",
            "2519498e80f1478f37ba55bd6d27618c",
        ),
        (
            256,
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
            "b094dac5d93471bdec1a502270e3cc6c",
            "76fc6ece0f4e1768cddf8853bb2d551b",
        ),
    ] {
        let ciphertext = hex::decode(ciphertext).unwrap();
        for engine in cpu_engines() {
            let cipher = engine.cipher(&Key::from_hex(&key[..bits / 4]).unwrap()).unwrap();
            assert_eq!(hex::encode(tag(&cipher, &iv, &[], &ciphertext)), whole, "{bits} bits, {engine:?}");
            assert_eq!(hex::encode(tag(&cipher, &iv, &aad, &ciphertext[..60])), with_aad, "{bits} bits, {engine:?}");
        }
    }
}

#[test]
fn chunks_over_threads_and_parts_in_any_order_are_the_whole() {
    let data: Vec<u8> = (0..(1 << 20) + 48_u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 21) as u8).collect();
    for engine in cpu_engines() {
        let cipher = engine.cipher(&Key::new(&[9; 16]).unwrap()).unwrap();
        // Larger than a chunk of the engine's own, smaller, and by several threads at once.
        let whole = cipher.run(Ghash::new(), &data).unwrap();
        for bytes in [16 << 10, 100 << 10, 1 << 20] {
            let part =
                |(i, part): (usize, &[u8])| cipher.run(Ghash::from_block((i * bytes / 16) as u64), part).unwrap();
            let mut parts: Vec<_> = data.par_chunks(bytes).enumerate().map(part).collect();
            parts.rotate_left(3 % data.len().div_ceil(bytes));
            assert_eq!(cipher.combine(&Ghash::new(), parts).unwrap(), whole, "{bytes} bytes a part");
        }
        let (data, submitted) = cipher.submit_with_output(Ghash::new(), data.clone()).unwrap().wait().unwrap();
        assert_eq!((data.len(), submitted), ((1 << 20) + 48, whole));
        assert_eq!(cipher.run(Ghash::new(), &[0_u8; 0]).unwrap().bytes, 0);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let cipher = Engine::open(Backend::Cpu).unwrap().cipher(&Key::new(&[9; 16]).unwrap()).unwrap();
    refused!(cipher.run(Ghash::new(), &[0; 17]), Error::NotWholeBlocks { len: 17 });
    let (input, mut output) = ([0_u8; 16], [0_u8; 16]);
    refused!(cipher.run(Ghash::new(), (&input, &mut output)), Error::WrongAccess { .. });
    let missing = [0, 2].map(|block| cipher.run(Ghash::from_block(block), &[0; 16]).unwrap());
    refused!(cipher.combine(&Ghash::new(), missing.to_vec()), Error::PartsDoNotAdjoin { .. });
}
