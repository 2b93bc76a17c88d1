//! Every engine, mode and key size against the RustCrypto reference, on inputs picked for their edges and at random.
//!
//! Each call runs in the middle of a larger buffer, at an odd alignment, and nothing outside its slice may change.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_gen::kernel::{KernelSpec, Preset};
use aes_bitslice_runtime::{Buffers, Cipher, Counter, CounterMode, Direction, Engine, Error, Key, KeyBits, Mode};
use aes_bitslice_tests::engines::{Device, gpu, has_mode, is_slow, name};
use aes_bitslice_tests::environment::{all_or, random, sample};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::kernels::print;
use aes_bitslice_tests::operation::AnyOperation;
use aes_bitslice_tests::reference::{Reference, noise};
use aes_bitslice_tests::{tests, tests_of_engines};
use proptest::prelude::*;
use proptest::sample::select;
use std::process::ExitCode;

fn main() -> ExitCode {
    let tests = tests_of_engines![
        ecb,
        cbc,
        ctr,
        ctr_in_pieces,
        ecb_in_pieces,
        cbc_in_pieces,
        narrow_counters,
        wrong_lengths,
        any_operation,
        any_data,
        every_edge,
        long_messages,
    ];
    let on_cpus = tests_of_engines![every_length, counters_near_their_wraps];
    let compiled = tests![published_kernels];
    let needs = [Need::Device(Device::CUDA[0]), Need::CudaCompiler];
    Tests::default()
        .on_each(&Device::ALL, &[], tests)
        .on_each(&[Device::Cpu], &[], on_cpus)
        .with(&needs, compiled)
        .run()
}

/// Bytes before and after a call's slice that must stay as they are.
const GUARD: usize = 64;
const GUARD_BYTE: u8 = 0xa5;

/// Runs `in_place` and `to`, the two forms of one call, on `input` shifted to the alignment `shift`, and returns the output that both
/// must agree on.
fn both_forms(
    input: &[u8],
    shift: usize,
    in_place: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    to: impl FnOnce(&[u8], &mut [u8]) -> Result<(), Error>,
) -> Result<Vec<u8>, TestCaseError> {
    let guarded = |contents: &[u8], shift: usize| {
        let mut buffer = vec![GUARD_BYTE; shift + contents.len() + 2 * GUARD];
        buffer[GUARD + shift..][..contents.len()].copy_from_slice(contents);
        buffer
    };
    let inside = |shift| GUARD + shift..GUARD + shift + input.len();
    let mut data = guarded(input, shift);
    in_place(&mut data[inside(shift)]).map_err(fail)?;
    // Another alignment for the output, filled with bytes that no right answer would leave.
    let (source, out_shift) = (guarded(input, shift), 16 - shift);
    let mut output = guarded(&vec![0x3c; input.len()], out_shift);
    to(&source[inside(shift)], &mut output[inside(out_shift)]).map_err(fail)?;
    let result = data[inside(shift)].to_vec();
    prop_assert!(output[inside(out_shift)] == result, "in place and not in place differ");
    for (buffer, shift) in [(&data, shift), (&source, shift), (&output, out_shift)] {
        let outside = buffer[..GUARD + shift].iter().chain(&buffer[GUARD + shift + input.len()..]);
        prop_assert!(outside.into_iter().all(|b| *b == GUARD_BYTE), "bytes outside of the slice changed");
    }
    prop_assert!(source[inside(shift)] == *input, "the input changed");
    Ok(result)
}

fn fail(error: Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

fn open(engine: &Engine, key: &[u8]) -> Cipher {
    engine.cipher(&Key::new(key).unwrap()).unwrap()
}

/// Where two byte strings diverge, in few words: they may be long.
fn same(actual: &[u8], expected: &[u8], engine: &Engine) -> Result<(), TestCaseError> {
    let difference = actual.iter().zip(expected).position(|(a, e)| a != e);
    prop_assert!(
        actual.len() == expected.len() && difference.is_none(),
        "{}: {} bytes, first wrong one: {difference:?}",
        name(engine),
        actual.len()
    );
    Ok(())
}

/// Random cases of a test: fewer where a call takes a while, except in exhaustive runs.
fn cases(engines: &[Engine]) -> u32 {
    all_or(256, if engines.iter().any(is_slow) { 16 } else { 96 })
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    select(vec![16, 24, 32]).prop_flat_map(|n| prop::collection::vec(any::<u8>(), n))
}

/// Lengths: few bytes, around the blocks and batches of every engine (64, 256 and 512 lanes of 16 bytes; a warp's 32 threads of 32
/// blocks), around the chunks that threads share out, and any.
fn length() -> impl Strategy<Value = usize> {
    let near = |n: usize| (n - 17..=n + 17).boxed();
    prop_oneof![
        6 => 0usize..=49,
        2 => select(vec![511, 512, 513]),
        6 => select(vec![1 << 10, 1 << 12, 1 << 13, 1 << 14]).prop_flat_map(near),
        1 => select(vec![1 << 16, 1 << 18, 1 << 19, 1 << 20]).prop_flat_map(near),
        4 => 0usize..20_000,
        1 => 0usize..200_000,
    ]
}

/// Initial counter blocks: any, and some from which a carry runs out of the last 1 to 16 bytes within a few blocks.
fn counter_block() -> impl Strategy<Value = [u8; 16]> {
    let near_wrap = (any::<u128>(), 1u32..=16, 0u128..600).prop_map(|(high, bytes, before)| {
        let field = u128::MAX >> (128 - 8 * bytes);
        ((high & !field) | (field - before.min(field))).to_be_bytes()
    });
    prop_oneof![any::<[u8; 16]>(), near_wrap]
}

/// Offsets into the keystream: small ones, and any, with the very last.
fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..64, 2 => 0u64..20_000, 1 => any::<u64>(), 1 => (0u64..40).prop_map(|n| u64::MAX - n)]
}

fn ecb(engines: &'static [Engine]) {
    proptest!(random(cases(engines)), |(key in key(), len in length(), shift in 0usize..=16, seed: u64)| {
        let plaintext = noise(seed, len / 16 * 16);
        let ciphertext = Reference::new(&key).ecb(Direction::Encrypt, &plaintext);
        for engine in engines {
            let c = open(engine, &key);
            let encrypted = both_forms(&plaintext, shift, |d| c.ecb_encrypt(d), |i, o| c.ecb_encrypt_to(i, o))?;
            same(&encrypted, &ciphertext, engine)?;
            let decrypted = both_forms(&ciphertext, shift, |d| c.ecb_decrypt(d), |i, o| c.ecb_decrypt_to(i, o))?;
            same(&decrypted, &plaintext, engine)?;
        }
    });
}

fn cbc(engines: &'static [Engine]) {
    proptest!(random(cases(engines)), |(key in key(), iv: [u8; 16], len in length(), shift in 0usize..=16, seed: u64)| {
        let plaintext = noise(seed, len / 16 * 16);
        let ciphertext = Reference::new(&key).cbc(Direction::Encrypt, iv, &plaintext);
        for engine in engines {
            let c = open(engine, &key);
            let encrypt_to = |i: &[u8], o: &mut [u8]| c.cbc_encrypt_to(&iv, i, o);
            let encrypted = both_forms(&plaintext, shift, |d| c.cbc_encrypt(&iv, d), encrypt_to)?;
            same(&encrypted, &ciphertext, engine)?;
            if !has_mode(engine, Mode::CbcDecrypt) {
                continue;
            }
            let decrypt_to = |i: &[u8], o: &mut [u8]| c.cbc_decrypt_to(&iv, i, o);
            let decrypted = both_forms(&ciphertext, shift, |d| c.cbc_decrypt(&iv, d), decrypt_to)?;
            same(&decrypted, &plaintext, engine)?;
        }
    });
}

fn ctr(engines: &'static [Engine]) {
    proptest!(random(cases(engines)), |(
        key in key(), block in counter_block(), offset in offset(), len in length(), shift in 0usize..=16,
        seed: u64,
    )| {
        let input = noise(seed, len);
        let expected = Reference::new(&key).ctr(block, offset, &input);
        let counter = Counter::new(CounterMode::Ctr128BE, block);
        for engine in engines {
            let c = open(engine, &key);
            let apply_to = |i: &[u8], o: &mut [u8]| c.ctr_apply_to(&counter, offset, i, o);
            let output = both_forms(&input, shift, |d| c.ctr_apply(&counter, offset, d), apply_to)?;
            same(&output, &expected, engine)?;
        }
    });
}

/// The bitsliced kernels of Hajihassani et al. 2019 on a CUDA GPU, by state, with Canright's S-box: keys fetched, and keys in the code of
/// kernels that are printed for a random key of each length; on random data of any length, alignment and counter.
fn published_kernels() {
    let engine = gpu();
    let keys = KeyBits::ALL.map(|bits| Key::generate(bits).unwrap());
    let preset = Preset::Hajihassani2019;
    let specs: Vec<_> = preset
        .modes()
        .iter()
        .flat_map(|&mode| keys.iter().map(move |key| (mode, key)))
        .flat_map(|(mode, key)| {
            let baked = preset.spec(mode, key.expose()).unwrap();
            [(mode, key, baked), (mode, key, KernelSpec::hajihassani_2019(mode))]
        })
        .collect();
    // The compiler is slow; each kernel gets a thread.
    let ciphers: Vec<_> = std::thread::scope(|scope| {
        let open = |(mode, key, spec): (Mode, &Key, KernelSpec)| {
            let kernel = print(spec, Dialect::Cuda).unwrap();
            let cipher = engine.cipher_of(key, &kernel).unwrap_or_else(|e| panic!("{}: {e}", kernel.manifest.kernel));
            (mode, Reference::new(key.expose()), cipher)
        };
        let threads: Vec<_> = specs.into_iter().map(|spec| scope.spawn(move || open(spec))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    proptest!(random(64), |(block in counter_block(), offset in offset(), len in length(), shift in 0usize..=16, seed: u64)| {
        let counter = Counter::new(CounterMode::Ctr128BE, block);
        for (mode, reference, c) in &ciphers {
            let input = noise(seed, if *mode == Mode::Ctr { len } else { len / 16 * 16 });
            let (output, expected) = match mode {
                Mode::Ctr => {
                    let to = |i: &[u8], o: &mut [u8]| c.ctr_apply_to(&counter, offset, i, o);
                    let output = both_forms(&input, shift, |d| c.ctr_apply(&counter, offset, d), to)?;
                    (output, reference.ctr(block, offset, &input))
                }
                Mode::EcbEncrypt => {
                    let output = both_forms(&input, shift, |d| c.ecb_encrypt(d), |i, o| c.ecb_encrypt_to(i, o))?;
                    (output, reference.ecb(Direction::Encrypt, &input))
                }
                _ => {
                    let ciphertext = reference.ecb(Direction::Encrypt, &input);
                    let output = both_forms(&ciphertext, shift, |d| c.ecb_decrypt(d), |i, o| c.ecb_decrypt_to(i, o))?;
                    (output, input)
                }
            };
            same(&output, &expected, engine)?;
        }
    });
}

/// The pieces of a message, cut anywhere and processed in any order, make the whole.
fn ctr_in_pieces(engines: &'static [Engine]) {
    proptest!(random(cases(engines)), |(
        key in key(), block in counter_block(), offset in 0u64..1000, len in length(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12), order: u64, seed: u64,
    )| {
        let input = noise(seed, len);
        let expected = Reference::new(&key).ctr(block, offset, &input);
        let counter = Counter::new(CounterMode::Ctr128BE, block);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(len + 1)).chain([0, len]).collect();
        ends.sort_unstable();
        let mut pieces: Vec<_> = ends.windows(2).map(|w| w[0]..w[1]).collect();
        pieces.sort_by_key(|p| (p.start as u64 ^ order).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for engine in engines {
            let cipher = open(engine, &key);
            let mut data = input.clone();
            for piece in &pieces {
                cipher.ctr_apply(&counter, offset + piece.start as u64, &mut data[piece.clone()]).map_err(fail)?;
            }
            same(&data, &expected, engine)?;
        }
    });
}

/// ECB in pieces of whole blocks is ECB of the whole, and decryption undoes it.
fn ecb_in_pieces(engines: &'static [Engine]) {
    proptest!(random(cases(engines)), |(
        key in key(), len in length(), cut in any::<prop::sample::Index>(), seed: u64,
    )| {
        let plaintext = noise(seed, len / 16 * 16);
        let expected = Reference::new(&key).ecb(Direction::Encrypt, &plaintext);
        for engine in engines {
            let cipher = open(engine, &key);
            let mut data = plaintext.clone();
            let (head, tail) = data.split_at_mut(16 * cut.index(len / 16 + 1));
            cipher.ecb_encrypt(tail).map_err(fail)?;
            cipher.ecb_encrypt(head).map_err(fail)?;
            same(&data, &expected, engine)?;
            cipher.ecb_decrypt(&mut data).map_err(fail)?;
            same(&data, &plaintext, engine)?;
        }
    });
}

/// CBC in pieces of whole blocks, the IV of each being the ciphertext before it, is CBC of the whole.
fn cbc_in_pieces(engines: &'static [Engine]) {
    proptest!(random(cases(engines)), |(
        key in key(), iv: [u8; 16], len in length(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6), seed: u64,
    )| {
        let plaintext = noise(seed, len / 16 * 16);
        let ciphertext = Reference::new(&key).cbc(Direction::Encrypt, iv, &plaintext);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| 16 * cut.index(len / 16 + 1)).collect();
        ends.extend([0, plaintext.len()]);
        ends.sort_unstable();
        let last = |ciphertext: &[u8], iv| ciphertext.last_chunk().copied().unwrap_or(iv);
        for engine in engines {
            let cipher = open(engine, &key);
            let (mut data, mut previous) = (plaintext.clone(), iv);
            for piece in ends.windows(2) {
                let piece = &mut data[piece[0]..piece[1]];
                cipher.cbc_encrypt(&previous, piece).map_err(fail)?;
                previous = last(piece, previous);
            }
            same(&data, &ciphertext, engine)?;
            if !has_mode(engine, Mode::CbcDecrypt) {
                continue;
            }
            previous = iv;
            for piece in ends.windows(2) {
                let piece = &mut data[piece[0]..piece[1]];
                let next = last(piece, previous);
                cipher.cbc_decrypt(&previous, piece).map_err(fail)?;
                previous = next;
            }
            same(&data, &plaintext, engine)?;
        }
    });
}

/// The narrow counters reach the last block of their field and refuse the next byte, with nothing changed. Inside
/// their field they count as the wide one does.
fn narrow_counters(engines: &'static [Engine]) {
    proptest!(random(cases(engines)), |(
        key in key(), high: u128, left in 1u64..600, skip in any::<prop::sample::Index>(), beyond in 1usize..40,
        seed: u64,
    )| {
        for (mode, bits) in [(CounterMode::Ctr32BE, 32), (CounterMode::Ctr64BE, 64)] {
            let field = u128::MAX >> (128 - bits);
            let block = ((high & !field) | (field + 1 - u128::from(left))).to_be_bytes();
            let counter = Counter::new(mode, block);
            let offset = skip.index(16 * left as usize);
            let input = noise(seed, 16 * left as usize - offset + beyond);
            let (fits, _) = input.split_at(input.len() - beyond);
            let expected = Reference::new(&key).ctr(block, offset as u64, fits);
            for engine in engines {
                let cipher = open(engine, &key);
                let mut data = fits.to_vec();
                cipher.ctr_apply(&counter, offset as u64, &mut data).map_err(fail)?;
                same(&data, &expected, engine)?;
                for offset in [offset as u64, u64::MAX - 15] {
                    let mut data = input.clone();
                    let refused = cipher.ctr_apply(&counter, offset, &mut data);
                    prop_assert!(matches!(refused, Err(Error::CounterOverflow { .. })), "{}: {refused:?}", name(engine));
                    same(&data, &input, engine)?;
                    let mut output = noise(!seed, input.len());
                    let refused = cipher.ctr_apply_to(&counter, offset, &input, &mut output);
                    prop_assert!(matches!(refused, Err(Error::CounterOverflow { .. })), "{}: {refused:?}", name(engine));
                    same(&output, &noise(!seed, input.len()), engine)?;
                }
            }
        }
    });
}

/// Wrong lengths are refused, with nothing changed.
fn wrong_lengths(engines: &'static [Engine]) {
    proptest!(random(cases(engines)), |(key in key(), len in 0usize..3000, other in 0usize..3000, seed: u64)| {
        let (input, filler) = (noise(seed, len), noise(!seed, other));
        let counter = Counter::new(CounterMode::Ctr128BE, [0; 16]);
        for engine in engines {
            let c = open(engine, &key);
            if len % 16 != 0 {
                let mut data = input.clone();
                for refused in [
                    c.ecb_encrypt(&mut data),
                    c.ecb_decrypt(&mut data),
                    c.cbc_encrypt(&[0; 16], &mut data),
                    c.cbc_decrypt(&[0; 16], &mut data),
                ] {
                    prop_assert!(matches!(refused, Err(Error::NotWholeBlocks { len: l }) if l == len), "{refused:?}");
                }
                same(&data, &input, engine)?;
            }
            if len != other {
                let mut out = filler.clone();
                for refused in [
                    c.ecb_encrypt_to(&input, &mut out),
                    c.ecb_decrypt_to(&input, &mut out),
                    c.cbc_encrypt_to(&[0; 16], &input, &mut out),
                    c.cbc_decrypt_to(&[0; 16], &input, &mut out),
                    c.ctr_apply_to(&counter, 0, &input, &mut out),
                ] {
                    prop_assert!(
                        matches!(refused, Err(Error::LengthMismatch { input: i, output: o }) if (i, o) == (len, other)),
                        "{refused:?}"
                    );
                }
                same(&out, &filler, engine)?;
            }
        }
    });
}

/// Every operation through `Cipher::run`, at any alignment.
fn any_operation(engines: &'static [Engine]) {
    proptest!(random(cases(engines)), |(
        key in key(), start in counter_block(), offset in offset(), len in length(), shift in 0usize..=16, seed: u64,
    )| {
        let reference = Reference::new(&key);
        for any in AnyOperation::all(start, offset) {
            let input = noise(seed, any.takes(len));
            let expected = any.expected(&reference, &input);
            for engine in engines.iter().filter(|engine| does(engine, any)) {
                same(&output(any, &open(engine, &key), &input, shift)?, &expected, engine)?;
            }
        }
    });
}

/// An operation's output, the same in both forms.
fn output(any: AnyOperation, cipher: &Cipher, input: &[u8], shift: usize) -> Result<Vec<u8>, TestCaseError> {
    let to = |input: &[u8], output: &mut [u8]| {
        let buffers = if any.maps() { Buffers::from((input, output)) } else { Buffers::Write(output) };
        any.run(cipher, buffers)
    };
    both_forms(input, shift, |data| any.run(cipher, data), to)
}

/// Whether an engine supports an operation.
fn does(engine: &Engine, any: AnyOperation) -> bool {
    any.mode().is_none_or(|mode| has_mode(engine, mode))
}

/// `Cipher::run` takes every operation on every valid kind of data, and refuses the others, with nothing changed.
fn any_data(engines: &'static [Engine]) {
    const LEN: usize = 16 * 131;
    let (key, input) = (noise(1, 24), noise(2, LEN));
    let reference = Reference::new(&key);
    for (engine, any) in engines.iter().flat_map(|engine| {
        let all = AnyOperation::all((u128::MAX - 3).to_be_bytes(), 5);
        all.into_iter().filter(|any| does(engine, *any)).map(move |any| (engine, any))
    }) {
        let cipher = open(engine, &key);
        let what = format!("{any:?} on {}", name(engine));
        let expected = any.expected(&reference, &input);
        let right = |output: &[u8], data: &str| assert!(output == expected, "{what}, {data}");
        let mut vec = input.clone();
        any.run(&cipher, &mut vec).unwrap();
        right(&vec, "a vector");
        let mut array: [u8; LEN] = input[..].try_into().unwrap();
        any.run(&cipher, &mut array).unwrap();
        right(&array, "an array");
        vec.copy_from_slice(&input);
        any.run(&cipher, &mut vec[..]).unwrap();
        right(&vec, "a slice");
        vec.copy_from_slice(&input);
        any.run(&cipher, Buffers::InPlace(&mut vec)).unwrap();
        right(&vec, "in place");
        any.run(&cipher, &mut [0; 0]).unwrap();
        type Run<'a> = &'a dyn Fn(&mut [u8]) -> Result<(), Error>;
        let forms: [(&str, bool, Run<'_>); 6] = [
            ("two slices", any.maps(), &|output| any.run(&cipher, (&input[..], output))),
            ("from one to another", any.maps(), &|output| any.run(&cipher, Buffers::To { input: &input, output })),
            ("an output", !any.maps(), &|output| any.run(&cipher, Buffers::Write(output))),
            ("an input", false, &|_| any.run(&cipher, Buffers::Read(&input))),
            ("a vector that stays", false, &|_| any.run(&cipher, &input)),
            ("an array that stays", false, &|_| any.run(&cipher, &array)),
        ];
        for (data, is_taken, run) in forms {
            vec.fill(0x3c);
            match run(&mut vec) {
                Ok(()) if is_taken => right(&vec, data),
                Err(Error::WrongAccess { .. }) if !is_taken => {
                    assert!(vec.iter().all(|&byte| byte == 0x3c), "{what}, {data}: refused, and written all the same");
                }
                other => panic!("{what}, {data}: {other:?}"),
            }
        }
        vec.fill(0x3c);
        let refused = any.run(&cipher, (&input[..], &mut vec[16..]));
        assert!(matches!(refused, Err(Error::LengthMismatch { .. })), "{what}: {refused:?}");
        assert!(vec.iter().all(|&byte| byte == 0x3c), "{what}: refused, and written all the same");
    }
}

/// Lengths at every edge, not left to chance: each with each key size, from each of the first 17 offsets; where a call takes a while,
/// from a few of them.
fn every_edge(engines: &'static [Engine]) {
    let edges = [0, 1, 15, 16, 17, 31, 32, 33, 511, 512, 513];
    let batches = [1 << 10, 1 << 12, 1 << 13, 1 << 14].into_iter().flat_map(|n| [n - 16, n - 1, n, n + 1, n + 16]);
    let lengths: Vec<usize> = edges.into_iter().chain(batches).collect();
    for key_len in [16, 24, 32] {
        let key = noise(key_len as u64, key_len);
        let reference = Reference::new(&key);
        let input = noise(1, (1 << 14) + 64);
        let block = (u128::MAX - 3).to_be_bytes();
        let keystream = reference.ctr(block, 0, &vec![0; input.len()]);
        let ciphertext = reference.ecb(Direction::Encrypt, &input);
        let chained = reference.cbc(Direction::Encrypt, block, &input);
        for engine in engines {
            let cipher = open(engine, &key);
            let counter = Counter::new(CounterMode::Ctr128BE, block);
            let step = if is_slow(engine) { all_or(1, 8) } else { 1 };
            for (i, &len) in lengths.iter().enumerate() {
                for offset in sample(i, step, 0..=16) {
                    let mut data = input[..len].to_vec();
                    cipher.ctr_apply(&counter, offset as u64, &mut data).unwrap();
                    let right = data.iter().zip(&input).zip(&keystream[offset..]).all(|((d, i), k)| d ^ i == *k);
                    assert!(right, "CTR, {len} bytes from {offset} on {}", name(engine));
                }
                if len % 16 == 0 {
                    let mut data = input[..len].to_vec();
                    cipher.ecb_encrypt(&mut data).unwrap();
                    assert!(data == ciphertext[..len], "ECB encryption, {len} bytes on {}", name(engine));
                    cipher.ecb_decrypt(&mut data).unwrap();
                    assert!(data == input[..len], "ECB decryption, {len} bytes on {}", name(engine));
                    cipher.cbc_encrypt(&block, &mut data).unwrap();
                    assert!(data == chained[..len], "CBC encryption, {len} bytes on {}", name(engine));
                    if !has_mode(engine, Mode::CbcDecrypt) {
                        continue;
                    }
                    cipher.cbc_decrypt(&block, &mut data).unwrap();
                    assert!(data == input[..len], "CBC decryption, {len} bytes on {}", name(engine));
                }
            }
        }
    }
}

/// Every short length, those around a core's share of the work, and offsets up to byte 2^64 of a key stream and past it; keys by turns.
fn every_length(engines: &'static [Engine]) {
    let near = [1 << 12, 1 << 13, 1 << 18].into_iter().flat_map(|edge: usize| edge - 17..edge + 18);
    let lengths = (0..2000).chain(near).map(|len| (len as u64 * 7 % 40, len));
    let far = [4095, 4096, (1 << 36) - 5, u64::MAX - 100_000, u64::MAX - 5_000].map(|offset| (offset, 20_000));
    for (i, (offset, len)) in sample(0, some(engines), lengths.chain(far).enumerate()) {
        let (key, input) = (noise(1, [16, 24, 32][i % 3]), noise(2, len));
        for any in AnyOperation::all([0x17; 16], offset).into_iter().filter(|any| any.takes(len) == len) {
            let expected = any.expected(&Reference::new(&key), &input);
            for engine in engines {
                let outcome = output(any, &open(engine, &key), &input, i % 17);
                let right = outcome.and_then(|output| same(&output, &expected, engine));
                right.unwrap_or_else(|e| panic!("{any:?}: {e}"));
            }
        }
    }
}

/// CTR whose counter wraps within the data: for each counter mode, the lowest `bits` bits of the first counter block become zeros after
/// `before` blocks. With 128 bits, the whole block does.
fn counters_near_their_wraps(engines: &'static [Engine]) {
    use CounterMode::{Ctr32BE, Ctr64BE, Ctr128BE};
    let wide = [128, 100, 64, 32, 12].map(|bits| (Ctr128BE, bits));
    let narrow = [(Ctr64BE, 40), (Ctr64BE, 32), (Ctr32BE, 20), (Ctr32BE, 10)];
    let all =
        wide.into_iter().chain(narrow).flat_map(|of| [1, 2, 255, 256, 257, 511, 512, 600].map(|before| (of, before)));
    let (key, input) = (noise(1, 16), noise(2, 1200 * 16 + 3));
    for ((mode, bits), before) in sample(0, some(engines), all) {
        let low = u128::MAX >> (128 - bits);
        let block = ((0x5555 << 112 & !low) | (low - (before - 1))).to_be_bytes();
        let (counter, expected) = (Counter::new(mode, block), Reference::new(&key).ctr(block, 5, &input));
        for engine in engines {
            let c = open(engine, &key);
            let (apply, to) = (
                |d: &mut [u8]| c.ctr_apply(&counter, 5, d),
                |i: &[u8], o: &mut [u8]| c.ctr_apply_to(&counter, 5, i, o),
            );
            let right = both_forms(&input, 1, apply, to).and_then(|output| same(&output, &expected, engine));
            right.unwrap_or_else(|e| panic!("{counter:?}: {e}"));
        }
    }
}

/// One in this many cases, where a call takes a while, except in exhaustive runs.
fn some(engines: &[Engine]) -> usize {
    if engines.iter().any(is_slow) { all_or(1, 8) } else { 1 }
}

/// Messages that threads share out, in both forms of every call.
fn long_messages(engines: &'static [Engine]) {
    let (key, block, offset) = (noise(5, 32), noise(6, 16).try_into().unwrap(), 12_345);
    let input = noise(7, (5 << 18) + 16 * 77);
    let reference = Reference::new(&key);
    let encrypted = reference.ecb(Direction::Encrypt, &input);
    let chained = reference.cbc(Direction::Encrypt, block, &input);
    let applied = reference.ctr(block, offset, &input);
    let counter = Counter::new(CounterMode::Ctr128BE, block);
    for engine in engines {
        let c = open(engine, &key);
        let check = |output: Result<Vec<u8>, TestCaseError>, expected: &[u8]| {
            output
                .and_then(|output| same(&output, expected, engine))
                .unwrap_or_else(|e| panic!("{}: {e}", name(engine)));
        };
        check(both_forms(&input, 1, |d| c.ecb_encrypt(d), |i, o| c.ecb_encrypt_to(i, o)), &encrypted);
        check(both_forms(&encrypted, 2, |d| c.ecb_decrypt(d), |i, o| c.ecb_decrypt_to(i, o)), &input);
        let to = |i: &[u8], o: &mut [u8]| c.cbc_encrypt_to(&block, i, o);
        check(both_forms(&input, 4, |d| c.cbc_encrypt(&block, d), to), &chained);
        if has_mode(engine, Mode::CbcDecrypt) {
            let to = |i: &[u8], o: &mut [u8]| c.cbc_decrypt_to(&block, i, o);
            check(both_forms(&chained, 5, |d| c.cbc_decrypt(&block, d), to), &input);
        }
        let apply_to = |i: &[u8], o: &mut [u8]| c.ctr_apply_to(&counter, offset, i, o);
        check(both_forms(&input, 3, |d| c.ctr_apply(&counter, offset, d), apply_to), &applied);
    }
}
