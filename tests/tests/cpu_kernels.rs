//! The CPU's kernels, on all instructions that this machine has, against independent implementations: at every length from 0 to 2,000
//! bytes, at positions within blocks and messages, and at every alignment.

use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::ghash::{Blocks, Element, ghash};
use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::{
    CbcDecrypt, CbcEncrypt, Cipher, Cmac, CmacBatch, Counter, CounterMode, Ctr, Ecb, Engine, GcmDecrypt, GcmEncrypt,
    GcmPart, GcmSivDecrypt, GcmSivEncrypt, Ghash, Instructions, Key, KeyBits, Nonce, XaesDecrypt, XaesEncrypt, Xts,
};
use aes_bitslice_tests::engines::Device;
use aes_bitslice_tests::reference::{Reference, noise};

const LONGEST: usize = 2000;

/// Lengths to the longest, and some with more counters than the last byte has values.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=LONGEST).chain([4000, 4097, 8191, 12_345])
}

/// A key in each implementation.
struct Under {
    name: String,
    cipher: Cipher,
    reference: Reference,
}

/// Keys of all lengths on all kernels.
fn all() -> Vec<Under> {
    let mut all = vec![];
    for instructions in Instructions::available() {
        let engine = Engine::open_cpu(instructions).unwrap();
        assert!(engine.description().contains(&instructions.to_string()));
        for bits in KeyBits::ALL {
            let key = noise(bits.bits() as u64, bits.bytes());
            all.push(Under {
                name: format!("{instructions}, {} bits", bits.bits()),
                cipher: engine.cipher(&Key::new(&key).unwrap()).unwrap(),
                reference: Reference::new(&key),
            });
        }
    }
    all
}

/// Runs a call in place at an alignment, and from an input to an output at two others. All outputs must be equal.
fn run(len: usize, input: &[u8], call: impl Fn(aes_bitslice_runtime::Buffers<'_>)) -> Vec<u8> {
    let at = len % 64;
    let mut place = vec![0xee; at + len + 64];
    place[at..at + len].copy_from_slice(input);
    call((&mut place[at..at + len]).into());
    assert!(place[..at].iter().chain(&place[at + len..]).all(|&byte| byte == 0xee), "{len} bytes: written outside");
    let other = (at * 7 + 3) % 64;
    let mut output = vec![0xdd; other + len + 64];
    let from = [&vec![0; other / 2], input].concat();
    call((&from[other / 2..], &mut output[other..other + len]).into());
    assert!(
        output[..other].iter().chain(&output[other + len..]).all(|&byte| byte == 0xdd),
        "{len} bytes: written outside"
    );
    assert!(output[other..other + len] == place[at..at + len], "{len} bytes: in place and not");
    place[at..at + len].to_vec()
}

#[test]
fn ctr_at_every_length_and_position() {
    let data = noise(1, lengths().max().unwrap());
    for Under { name, cipher, reference } in all() {
        // Where the low half of the counter, and where all of it, wraps.
        for start in [[7; 16], (u128::from(u64::MAX) - 60).to_be_bytes(), (u128::MAX - 9).to_be_bytes()] {
            let whole = reference.ctr(start, 0, &vec![0; data.len() + 64]);
            let counter = Counter::new(CounterMode::Ctr128BE, start);
            for len in lengths() {
                let offset = len * 5 % 64;
                let expected: Vec<u8> = data[..len].iter().zip(&whole[offset..]).map(|(d, k)| d ^ k).collect();
                let made = run(len, &data[..len], |data| cipher.run(Ctr::new(&counter, offset as u64), data).unwrap());
                assert!(made == expected, "{name}: {len} bytes from byte {offset} on");
            }
        }
    }
}

#[test]
fn whole_blocks_at_every_length() {
    let (data, iv) = (noise(2, LONGEST), [0x31; 16]);
    for Under { name, cipher, reference } in all() {
        for len in (0..=LONGEST).step_by(16) {
            let data = &data[..len];
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let made = run(len, data, |data| cipher.run(Ecb::new(direction), data).unwrap());
                assert!(made == reference.ecb(direction, data), "{name}: ECB of {len} bytes, {direction:?}");
            }
            let made = run(len, data, |data| cipher.run(CbcEncrypt::new(&iv), data).unwrap());
            assert!(made == reference.cbc(Direction::Encrypt, iv, data), "{name}: CBC encryption of {len} bytes");
            let made = run(len, data, |data| cipher.run(CbcDecrypt::new(&iv), data).unwrap());
            assert!(made == reference.cbc(Direction::Decrypt, iv, data), "{name}: CBC decryption of {len} bytes");
        }
    }
}

/// GCM by its definition (SP 800-38D, section 7.1).
fn gcm(reference: &Reference, first: u128, aad: &[u8], data: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let key = Element::from_block(reference.block(Direction::Encrypt, [0; 16]));
    let counter = |n: u32| (first >> 32 << 32 | u128::from((first as u32).wrapping_add(n))).to_be_bytes();
    let stream: Vec<u8> =
        (1..=data.len().div_ceil(16) as u32).flat_map(|n| reference.block(Direction::Encrypt, counter(n))).collect();
    let ciphertext: Vec<u8> = data.iter().zip(stream).map(|(d, k)| d ^ k).collect();
    let mut hashed = vec![];
    for bytes in [aad, &ciphertext] {
        hashed.extend(bytes);
        hashed.resize(hashed.len().next_multiple_of(16), 0);
    }
    hashed.extend((8 * aad.len() as u64).to_be_bytes());
    hashed.extend((8 * data.len() as u64).to_be_bytes());
    let (hash, mask) = (ghash(key, &hashed).to_block(), reference.block(Direction::Encrypt, counter(0)));
    (ciphertext, std::array::from_fn(|i| hash[i] ^ mask[i]))
}

#[test]
fn gcm_at_every_length() {
    let (data, aad) = (noise(3, lengths().max().unwrap()), noise(4, 600));
    for Under { name, cipher, reference } in all() {
        for len in lengths() {
            let (data, aad) = (&data[..len], &aad[..len % 601]);
            let nonce = std::array::from_fn(|i| (len >> (i % 8)) as u8);
            let first = u128::from_be_bytes([&nonce[..], &[0, 0, 0, 1]].concat().try_into().unwrap());
            let (expected, tag) = gcm(&reference, first, aad, data);
            let nonce = Nonce::from(nonce);
            let made = run(len, data, |data| {
                assert_eq!(
                    cipher.run(GcmEncrypt::new(&nonce, aad), data).unwrap(),
                    tag.into(),
                    "{name}: tag, {len} bytes"
                );
            });
            assert!(made == expected, "{name}: GCM of {len} bytes");
            let opened = run(len, &expected, |data| {
                cipher
                    .run(GcmDecrypt::new(&nonce, aad, &tag.into()), data)
                    .unwrap_or_else(|e| panic!("{name}: {len} bytes: {e}"));
            });
            assert!(opened == data, "{name}: GCM decryption of {len} bytes");
            // In two parts, which most often are cut within a block.
            let cut = len * 3 / 7;
            let parts = [(0, 0..cut), (cut as u64, cut..len)].map(|(offset, range)| {
                let mut part = data[range.clone()].to_vec();
                let part_hash = cipher.run(GcmPart::new(Direction::Encrypt, &nonce, offset), &mut part).unwrap();
                assert!(part == expected[range], "{name}: a part of {len} bytes");
                part_hash
            });
            let whole = cipher.combine(&GcmEncrypt::new(&nonce, aad), parts.to_vec()).unwrap();
            assert_eq!(whole, tag.into(), "{name}: tag of parts, {len} bytes");
        }
    }
}

/// With nonces that make counters wrap in their last 32 bits.
#[test]
fn counters_of_gcm_wrap_in_their_last_word() {
    let data = noise(5, LONGEST);
    for Under { name, cipher, reference } in all() {
        let key = Element::from_block(reference.block(Direction::Encrypt, [0; 16]));
        // A nonce of 16 bytes whose first counter is given: GHASH is inverted.
        for last in [0, 3, 30, 33, 46, 47, 50, 62].map(|before| u32::MAX - before) {
            let first = u128::from_be_bytes([0x5c; 16]) >> 32 << 32 | u128::from(last);
            let lengths = Element::from_block(128_u128.to_be_bytes());
            let inverse = (0..126).fold(key, |power, _| power * power * key);
            let inverse = inverse * inverse;
            let nonce = ((Element::from_block(first.to_be_bytes()) * inverse + lengths) * inverse).to_block();
            let (expected, tag) = gcm(&reference, first, b"", &data);
            let mut made = data.clone();
            assert_eq!(cipher.run(GcmEncrypt::new(&Nonce::new(&nonce).unwrap(), b""), &mut made).unwrap(), tag.into());
            assert!(made == expected, "{name}: from {last:#x} on");
            cipher.run(GcmDecrypt::new(&Nonce::new(&nonce).unwrap(), b"", &tag.into()), &mut made).unwrap();
            assert!(made == data, "{name}: back from {last:#x} on");
        }
    }
}

#[test]
fn ghash_of_every_number_of_blocks() {
    let data = noise(6, 16 * 300);
    for Under { name, cipher, reference } in all() {
        let key = Element::from_block(reference.block(Direction::Encrypt, [0; 16]));
        for len in (0..=data.len()).step_by(16) {
            let at = len / 16 % 64;
            let place = [&vec![0; at], &data[..len]].concat();
            let hash = cipher.run(Ghash::new(), &place[at..]).unwrap().hash;
            assert_eq!(hash, ghash(key, &data[..len]).to_block(), "{name}: {len} bytes");
        }
    }
}

/// RFC 8452, section 4.
#[test]
fn gcm_siv_at_every_length() {
    let (data, aad) = (noise(7, LONGEST), noise(8, 600));
    for Under { name, cipher, reference } in all() {
        let halves = match name.as_str() {
            name if name.ends_with("128 bits") => 4,
            name if name.ends_with("256 bits") => 6,
            _ => continue,
        };
        let nonce = [0x77; 12];
        let keys: Vec<u8> = (0..halves as u32)
            .flat_map(|n| {
                reference.block(Direction::Encrypt, [&n.to_le_bytes()[..], &nonce].concat().try_into().unwrap())[..8]
                    .to_vec()
            })
            .collect();
        let (hash_key, of_message) = (keys[..16].try_into().unwrap(), Reference::new(&keys[16..]));
        for len in 0..=LONGEST {
            // Shorter and longer than the data.
            let (data, aad) = (&data[..len], &aad[..len * 7 % 601]);
            let mut hashed = vec![];
            for bytes in [aad, data] {
                hashed.extend(bytes);
                hashed.resize(hashed.len().next_multiple_of(16), 0);
            }
            hashed.extend((8 * aad.len() as u64).to_le_bytes());
            hashed.extend((8 * len as u64).to_le_bytes());
            let hash = Blocks::Reversed.hash(Blocks::Reversed.key(hash_key), &hashed).to_block();
            let mut tag = Blocks::Reversed.block(hash);
            tag.iter_mut().zip(nonce).for_each(|(byte, nonce)| *byte ^= nonce);
            tag[15] &= 0x7f;
            let tag = of_message.block(Direction::Encrypt, tag);
            let mut counter = tag;
            counter[15] |= 0x80;
            let first = u32::from_le_bytes(counter[..4].try_into().unwrap());
            let expected: Vec<u8> = data
                .chunks(16)
                .enumerate()
                .flat_map(|(n, block)| {
                    counter[..4].copy_from_slice(&first.wrapping_add(n as u32).to_le_bytes());
                    let stream = of_message.block(Direction::Encrypt, counter);
                    block.iter().zip(stream).map(|(d, k)| d ^ k).collect::<Vec<u8>>()
                })
                .collect();
            let nonce = Nonce::from(nonce);
            let made = run(len, data, |data| {
                assert_eq!(
                    cipher.run(GcmSivEncrypt::new(&nonce, aad), data).unwrap(),
                    tag.into(),
                    "{name}: {len} bytes"
                );
            });
            assert!(made == expected, "{name}: {len} bytes");
            let opened =
                run(len, &made, |data| cipher.run(GcmSivDecrypt::new(&nonce, aad, &tag.into()), data).unwrap());
            assert!(opened == data, "{name}: {len} bytes");
        }
    }
}

/// C2SP, `XAES-256-GCM.md`.
#[test]
fn xaes_at_every_length() {
    let (data, aad, nonce) = (noise(12, LONGEST), noise(13, 600), noise(14, 24));
    for Under { name, cipher, reference } in all().into_iter().filter(|under| under.name.ends_with("256 bits")) {
        let k1 = double(u128::from_be_bytes(reference.block(Direction::Encrypt, [0; 16])));
        let half = |i| {
            let block = u128::from_be_bytes([&[0, i, b'X', 0], &nonce[..12]].concat().try_into().unwrap());
            reference.block(Direction::Encrypt, (block ^ k1).to_be_bytes())
        };
        let of_message = Reference::new([half(1), half(2)].as_flattened());
        let first = u128::from_be_bytes([&nonce[12..], &[0, 0, 0, 1]].concat().try_into().unwrap());
        let nonce = Nonce::new(&nonce).unwrap();
        for len in 0..=LONGEST {
            // Shorter and longer than the data.
            let (data, aad) = (&data[..len], &aad[..len * 7 % 601]);
            let (expected, tag) = gcm(&of_message, first, aad, data);
            let made = run(len, data, |data| {
                assert_eq!(cipher.run(XaesEncrypt::new(&nonce, aad), data).unwrap(), tag.into(), "{name}: {len} bytes");
            });
            assert!(made == expected, "{name}: {len} bytes");
            let opened = run(len, &made, |data| cipher.run(XaesDecrypt::new(&nonce, aad, &tag.into()), data).unwrap());
            assert!(opened == data, "{name}: {len} bytes");
        }
    }
}

/// IEEE 1619, section 5.3, by the block cipher.
fn xts(keys: [&Reference; 2], direction: Direction, unit: u128, data: &[u8]) -> Vec<u8> {
    let mut tweak = u128::from_le_bytes(keys[1].block(Direction::Encrypt, unit.to_le_bytes()));
    let next = |tweak: u128| (tweak << 1) ^ if tweak >> 127 == 1 { 0x87 } else { 0 };
    let block = |tweak: u128, block: &[u8]| {
        let input = u128::from_le_bytes(block.try_into().unwrap()) ^ tweak;
        u128::from_le_bytes(keys[0].block(direction, input.to_le_bytes())) ^ tweak
    };
    let ragged = data.len() % 16;
    let whole = if ragged == 0 { data.len() } else { data.len() - ragged - 16 };
    let mut made = vec![];
    for bytes in data[..whole].chunks(16) {
        made.extend(block(tweak, bytes).to_le_bytes());
        tweak = next(tweak);
    }
    if ragged > 0 {
        let (first, last) = data[whole..].split_at(16);
        let [one, two] = if direction == Direction::Encrypt { [tweak, next(tweak)] } else { [next(tweak), tweak] };
        let stolen = block(one, first).to_le_bytes();
        made.extend(block(two, &[last, &stolen[ragged..]].concat()).to_le_bytes());
        made.extend(&stolen[..ragged]);
    }
    made
}

#[test]
fn xts_at_every_length() {
    let data = noise(9, LONGEST);
    for instructions in Instructions::available() {
        let engine = Engine::open_cpu(instructions).unwrap();
        for bits in [KeyBits::Aes128, KeyBits::Aes256] {
            let key = noise(10, 2 * bits.bytes());
            let cipher = engine.cipher(&Key::xts(&key).unwrap()).unwrap();
            let references = [&key[..bits.bytes()], &key[bits.bytes()..]].map(Reference::new);
            for len in 16..=LONGEST {
                for direction in [Direction::Encrypt, Direction::Decrypt] {
                    let xts = |unit, data: &[u8]| xts([&references[0], &references[1]], direction, unit, data);
                    let whole = Xts::new(direction, len as u64, 5).unwrap();
                    let made = run(len, &data[..len], |data| cipher.run(whole, data).unwrap());
                    assert!(made == xts(5, &data[..len]), "{instructions}: a unit of {len} bytes, {direction:?}");
                    // Several units.
                    if len % 37 == 0 {
                        let unit = len / 5 + 16;
                        let rest = len % unit;
                        let len = if rest < 16 { len - rest } else { len };
                        let made = run(len, &data[..len], |data| {
                            cipher.run(Xts::new(direction, unit as u64, 9).unwrap(), data).unwrap();
                        });
                        let expected: Vec<u8> =
                            data[..len].chunks(unit).zip(9..).flat_map(|(data, n)| xts(n, data)).collect();
                        assert!(made == expected, "{instructions}: units of {unit} in {len} bytes, {direction:?}");
                    }
                }
            }
        }
    }
}

/// A block times x, as in CMAC (SP 800-38B, section 6.1).
fn double(block: u128) -> u128 {
    (block << 1) ^ if block >> 127 == 1 { 0x87 } else { 0 }
}

/// SP 800-38B, section 6.2.
#[test]
fn cmac_at_every_length() {
    let data = noise(11, LONGEST);
    for Under { name, cipher, reference } in all() {
        let k1 = double(u128::from_be_bytes(reference.block(Direction::Encrypt, [0; 16])));
        let ranges: Vec<_> = (0..=LONGEST as u64).map(|len| 0..len).collect();
        let tags = cipher.run(CmacBatch::new(&ranges).unwrap(), &data).unwrap();
        for len in 0..=LONGEST {
            let mut padded = data[..len].to_vec();
            let subkey = if len > 0 && len % 16 == 0 { k1 } else { double(k1) };
            if len == 0 || len % 16 != 0 {
                padded.push(0x80);
                padded.resize(padded.len().next_multiple_of(16), 0);
            }
            let last = padded.last_chunk_mut::<16>().unwrap();
            *last = (u128::from_be_bytes(*last) ^ subkey).to_be_bytes();
            let chained = reference.cbc(Direction::Encrypt, [0; 16], &padded);
            let tag = (*chained.last_chunk::<16>().unwrap()).into();
            assert_eq!(tags[len], tag, "{name}: {len} bytes in a batch");
            if len % 23 == 0 {
                assert_eq!(cipher.run(Cmac::new(), &data[..len]).unwrap(), tag, "{name}: {len} bytes");
            }
        }
    }
}

/// Vectors that the processor has and the engine does not find would silently go untested.
#[test]
#[cfg(target_arch = "x86_64")]
fn every_kind_of_vector_is_there() {
    let has = |isa| Isa::available().contains(&isa);
    assert!(has(Isa::Portable));
    assert_eq!(has(Isa::Avx2), is_x86_feature_detected!("avx2"));
    // Gates need F, the transposition needs BW.
    let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
    assert_eq!(has(Isa::Avx512), avx512);
}

#[test]
fn there_is_an_engine_for_each_kind_of_vector() {
    assert_eq!(Device::Cpu.find().unwrap().len(), Instructions::available().len() + Isa::available().len());
    let is_arm = cfg!(all(target_arch = "aarch64", target_endian = "little"));
    assert_eq!(Isa::available()[0] == Isa::Neon, is_arm);
}
