//! Runs the CPU engines on keys and data that Valgrind's memcheck considers undefined. It follows undefined bits through memory and
//! registers, and reports every branch and every address that depends on one: the approach of A. Langley's ctgrind.
//!
//! ```sh
//! cargo build --package aes-bitslice-undefined
//! valgrind --error-exitcode=99 target/debug/aes-bitslice-undefined           # must find nothing
//! valgrind --error-exitcode=99 target/debug/aes-bitslice-undefined look-up   # must find an address
//! valgrind --error-exitcode=99 target/debug/aes-bitslice-undefined branch    # must find a branch
//! valgrind target/debug/aes-bitslice-undefined decisions                     # must succeed, whatever Valgrind reports
//! ```
//!
//! Whether a tag matches is public, and calls that verify one branch by it, which Valgrind reports. So they are left out of the first, and
//! `decisions` counts what Valgrind finds in them ([`decisions`]).
//!
//! Every engine that the emulated processor supports takes part: AES-NI, the `aes` crate with GHASH by integers, 64-bit words, and AVX2. Valgrind
//! 3.19 to 3.26 emulates no AVX-512 and no VAES: the kernels for these are other instructions in the same loops as AES-NI. The output is undefined, too, and is not compared before it is marked as defined.

mod decisions;
mod memcheck;

use aes_bitslice_core::aes::{Direction, sbox};
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::ghash::{Arrangement, Blocks, Shape, batch_tables, tables};
use aes_bitslice_core::key_source::{ExpandedKey, KeySource};
use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::{
    CbcDecrypt, CbcEncrypt, Cmac, CmacBatch, Counter, CounterMode, Ctr, EachKey, Ecb, Engine, Error, GcmEncrypt,
    GcmEncryptBatch, GcmEncryptJobs, GcmJob, GcmMessage, GcmSivEncrypt, Gmac, Instructions, Job, Jobs, Key, KeyBits,
    Keystream, Mode, Nonce, Prg, Tag, XaesEncrypt, Xts,
};
use memcheck::{is_undefined, make_borrowed_undefined, make_defined, make_undefined, undefined_bytes};

/// Bytes of data: more than the largest batch, and not whole blocks.
const BYTES: usize = 16 * 600;

fn main() -> Result<(), Error> {
    if !memcheck::is_there() {
        eprintln!("error: this runs under Valgrind");
        std::process::exit(2);
    }
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some("look-up") => return look_up(),
        Some("branch") => return branch(),
        Some("decisions") => return decisions::decisions(),
        Some(other) => {
            eprintln!("error: `{other}` is neither nothing nor `look-up`, `branch` or `decisions`");
            std::process::exit(2);
        }
    }
    let mut engines: Vec<(String, Engine)> = vec![];
    for instructions in Instructions::available() {
        engines.push((instructions.to_string(), Engine::open_cpu(instructions)?));
    }
    for isa in Isa::available() {
        engines.push((isa.to_string(), Engine::open_bitsliced(isa)?));
    }
    assert!(Instructions::available().contains(&Instructions::AesNi), "the emulated processor has no AES instructions");
    assert!(Isa::available().contains(&Isa::Avx2), "the emulated processor has no AVX2");
    for (name, engine) in &engines {
        for bits in KeyBits::ALL {
            let calls = calls(engine, bits)?;
            println!("{name}, {} bits: {calls} calls", bits.bits());
        }
    }
    Ok(())
}

/// Makes calls of every kind under an undefined key, on undefined data. Returns their number.
fn calls(engine: &Engine, bits: KeyBits) -> Result<usize, Error> {
    let mut secret = vec![0x5a; bits.bytes()];
    make_undefined(&mut secret);
    let cipher = engine.cipher(&Key::new(&secret)?)?;
    let (counter, iv, nonce) = (Counter::new(CounterMode::Ctr128BE, [7; 16]), [9; 16], Nonce::new(&[3; 12])?);
    let mut data = vec![0xa5; BYTES];
    let mut calls = 0;
    macro_rules! call {
        ($operation:expr, $bytes:expr) => {{
            make_undefined(&mut data);
            cipher.run($operation, &mut data[..$bytes])?;
            assert!(is_undefined(&data[..$bytes]), "the output does not depend on what is secret");
            make_defined(&mut data);
            calls += 1;
        }};
    }
    call!(Ecb::encrypt(), BYTES);
    call!(Ecb::decrypt(), BYTES);
    call!(Ctr::new(&counter, 5), BYTES - 3);
    call!(Keystream::new(&counter, 5), BYTES - 3);
    call!(Prg::new(), BYTES);
    call!(CbcEncrypt::new(&iv), 160);
    call!(CbcDecrypt::new(&iv), BYTES);
    let mut aad = [4; 77];
    make_undefined(&mut aad);
    if engine.supports(&GcmEncrypt::new(&nonce, &aad)) {
        call!(GcmEncrypt::new(&nonce, &aad), BYTES - 3);
        // Its first counter is a hash under the hash key, and secret.
        call!(GcmEncrypt::new(&Nonce::new(&[3; 16])?, &aad), BYTES - 3);
        make_undefined(&mut data);
        let tag = cipher.run(Gmac::new(&nonce), &data[..1000])?;
        assert!(is_undefined(tag.as_bytes()));
        for (expected, is_equal) in [(tag, true), (Tag::new(&[6; 12])?, false)] {
            let mut verdict = u8::from(std::hint::black_box(tag) == expected);
            assert!(is_undefined(std::slice::from_ref(&verdict)) || !is_equal);
            make_defined(std::slice::from_mut(&mut verdict));
            assert_eq!(verdict == 1, is_equal);
        }
        let message = |nonce, range| GcmMessage { nonce, aad: &[], range };
        let messages = [message(&[1; 12][..], 0..500), message(&[2; 12], 500..500), message(&[3; 16], 500..900)];
        make_undefined(&mut data);
        let tags = cipher.run(GcmEncryptBatch::new(&messages)?, &mut data[..1000])?;
        assert!(is_undefined(&data[..900]) && tags.iter().all(|tag| is_undefined(tag.as_bytes())));
        calls += 2;
    }
    let siv = GcmSivEncrypt::new(&nonce, &aad);
    if engine.supports(&siv) && bits != KeyBits::Aes192 {
        call!(siv, BYTES - 3);
    }
    let xaes = XaesEncrypt::new(&Nonce::new(&[3; 24])?, &aad);
    if engine.supports(&xaes) && bits == KeyBits::Aes256 {
        call!(xaes, BYTES - 3);
    }
    if engine.supports(&Cmac::new()) {
        make_undefined(&mut data);
        let tag = cipher.run(Cmac::new(), &data[..1000])?;
        assert!(is_undefined(tag.as_bytes()));
        let messages = [0..1000, 7..7, 100..916, 1..18];
        let tags = cipher.run(CmacBatch::new(&messages)?, &data[..1000])?;
        assert!(tags.iter().all(|tag| is_undefined(tag.as_bytes())));
        calls += 2;
    }
    make_defined(&mut aad);
    aad.fill(0);
    let xts = Xts::encrypt(512, 1)?;
    if engine.supports(&xts) && bits != KeyBits::Aes192 {
        // Whether the two halves are equal is checked first, and is not secret.
        let mut both = [secret.as_slice(), &vec![1; bits.bytes()]].concat();
        make_defined(&mut both);
        let key = Key::xts(&both)?;
        make_borrowed_undefined(key.expose());
        let cipher = engine.cipher(&key)?;
        // Only the tweaks are secret here: they depend on the second key.
        cipher.run(xts, &mut data[..1000])?;
        assert!(is_undefined(&data[..1000]));
        make_undefined(&mut data);
        cipher.run(xts, &mut data[..1000])?;
        assert!(is_undefined(&data[..1000]));
        cipher.run(Xts::decrypt(512, 1)?, &mut data[..1000])?;
        assert!(is_undefined(&data[..1000]));
        make_defined(&mut data);
        both.fill(0);
        calls += 3;
    }
    for mode in [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr] {
        make_undefined(&mut data);
        let job = |range| Job { key: &secret, counter: [5; 16], range };
        let jobs = Jobs::new(mode, &[job(0..160), job(160..160), job(176..992)])?;
        engine.under_own_keys().run(jobs, &mut data[..1000])?;
        assert!(is_undefined(&data[..160]));
        engine.run_each_key(&EachKey::new(mode, bits, [5; 16], 160)?, &secret.repeat(3), &mut data[..480])?;
        assert!(is_undefined(&data[..480]));
        make_defined(&mut data);
        calls += 2;
    }
    make_undefined(&mut data);
    let job = |range| GcmJob { key: &secret, nonce: [5; 12], aad: b"header", range };
    let jobs = GcmEncryptJobs::new(&[job(0..160), job(160..160), job(176..999)])?;
    let tags = engine.under_own_keys().run(jobs, &mut data)?;
    assert!(is_undefined(&data[..160]) && is_undefined(tags[1].as_bytes()));
    make_defined(&mut data);
    calls += 1;
    // The tables of a hash key, for kernels.
    let mut hash_key = [0x6b; 16];
    make_undefined(&mut hash_key);
    for (blocks, arrangement, powers, rows) in
        [(Blocks::Reversed, Arrangement::Mma, 16, 64), (Blocks::AsTheyAre, Arrangement::Element, 1, 256)]
    {
        depends_on_it(&tables(blocks, blocks.key(hash_key), &Shape { arrangement, powers, rows }, 3));
    }
    let shape = Shape { arrangement: Arrangement::Wgmma, powers: 16, rows: 64 };
    for wide in [0, 5] {
        depends_on_it(&batch_tables(Blocks::AsTheyAre.key(hash_key), &shape, wide));
    }
    // The round keys that kernels are launched with.
    let expanded = ExpandedKey::new(&secret).expect("a length of keys");
    depends_on_it(&KeySource::Argument.words(&expanded, Direction::Encrypt, Basis::STANDARD));
    make_defined(&mut secret);
    secret.fill(0);
    Ok(calls)
}

/// Part of a matrix does not depend on the key.
fn depends_on_it(words: &[u32]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(undefined_bytes(&bytes) > bytes.len() / 2);
}

/// A leak that must be found: a table, looked up at a byte of a key.
fn look_up() -> Result<(), Error> {
    let mut key = [0x5a; 16];
    make_undefined(&mut key);
    let mut substituted = std::hint::black_box(&sbox::FORWARD)[usize::from(std::hint::black_box(key)[3])];
    make_defined(std::slice::from_mut(&mut substituted));
    println!("{substituted}");
    Ok(())
}

/// Another: a branch on a byte of a key.
fn branch() -> Result<(), Error> {
    let mut key = [0x5a; 16];
    make_undefined(&mut key);
    if std::hint::black_box(key)[3] > 3 {
        println!("a byte of the key is more than 3");
    }
    Ok(())
}
