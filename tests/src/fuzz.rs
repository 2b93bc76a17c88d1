//! What is done with arbitrary bytes: readers of every format that comes from outside, and calls of the engines against the reference. A
//! target returns, or panics: a panic is a fault.
//!
//! The same functions are run by cargo-fuzz, for hours (`fuzz/`), and in the tests, on the kept corpus and some thousand mutations of it
//! (`tests/fuzz.rs`).

use crate::operation::AnyOperation;
use crate::reference::Reference;
use aes_bitslice_core::hash_manifest::HashManifest;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::signature::EntryPoint;
use aes_bitslice_gen::circuit::{straight_line, text};
use aes_bitslice_gen::netlist::Netlist;
use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::{
    Backend, Cmac, CmacBatch, CmacVerifyBatch, Engine, GcmDecryptBatch, GcmEncrypt, GcmEncryptBatch, GcmMessage, Key,
    Nonce, Tag,
};
use aes_bitslice_seal::tink::Keyset;
use aes_bitslice_seal::{Secret, is_sealed, open, tink};
use std::ops::Range;
use std::sync::OnceLock;

/// A target: its name, which is that of the folder of its corpus, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 9] = [
    ("manifest", manifest),
    ("hash_manifest", hash_manifest),
    ("signature", signature),
    ("netlist", netlist),
    ("key", key),
    ("keyset", keyset),
    ("sealed", sealed),
    ("engines", engines),
    ("batch", batch),
];

/// The engines of the CPU, opened once.
fn cpu_engines() -> &'static [Engine] {
    static ENGINES: OnceLock<Vec<Engine>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        let bitsliced = Isa::available().into_iter().map(|isa| Engine::open_bitsliced(isa).expect("an available one"));
        bitsliced.chain([Engine::open(Backend::Cpu).expect("a CPU")]).collect()
    })
}

/// What is read can be written, and read again; a source that is another is refused.
pub fn manifest(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(manifest) = Manifest::parse(text) {
        assert_eq!(Manifest::parse(&manifest.to_json()).expect("what was written"), manifest);
        assert!(manifest.check_source(text).is_err());
        let _ = manifest.key_words(&[7; 32]);
    }
}

/// The same of a hash kernel.
pub fn hash_manifest(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(manifest) = HashManifest::parse(text) {
        assert_eq!(HashManifest::parse(&manifest.to_json()).expect("what was written"), manifest);
        assert!(manifest.check_source(text).is_err());
    }
}

/// What an entry point takes, out of any source.
pub fn signature(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(entry) = EntryPoint::read(text, "k") {
        assert!(entry.to_string().starts_with("k("));
    }
}

/// Circuits in both of their languages, alone and as stored netlists.
pub fn netlist(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let _ = text::parse("any", source);
    let _ = straight_line::parse("any", source);
    let _ = Netlist::parse("any", source);
}

/// Keys as digits and as bytes: what is taken is what was given.
pub fn key(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(key) = Key::from_hex(text)
    {
        let digits: String = key.expose().iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(text.trim().eq_ignore_ascii_case(&digits));
    }
    for key in [Key::new(data), Key::xts(data)].into_iter().flatten() {
        assert_eq!(key.expose(), data);
    }
}

/// Tink's keysets; one that is taken opens no garbage.
pub fn keyset(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(keyset) = Keyset::from_json(text) {
        let engine = cpu_engines().last().expect("an engine");
        assert!(tink::decrypt(engine, &keyset, &[], data, &mut Vec::new()).is_err());
    }
}

/// The key of the sealed files in the corpus.
pub const SEALING_KEY: [u8; 32] = [7; 32];

/// Sealed files, headers and segments: under this key nobody has sealed anything but what is in the corpus, and all of that says this.
pub fn sealed(data: &[u8]) {
    let engine = cpu_engines().last().expect("an engine");
    let key = Key::new(&SEALING_KEY).expect("32 bytes");
    let mut output = vec![];
    let opened = open(engine, Secret::Key(&key), data, &mut output);
    assert!(output.iter().all(|byte| *byte == b'm'), "what was not sealed came out");
    if let Ok(bytes) = opened {
        assert!(is_sealed(data) && bytes == output.len() as u64);
    }
}

/// A call on every CPU engine against the reference: operation, length of the key, offset, alignment, cuts, in place or not.
pub fn engines(data: &[u8]) {
    let Some((head, data)) = data.split_first_chunk::<56>() else { return };
    let key = &head[..[16, 24, 32][usize::from(head[32]) % 3]];
    let start: [u8; 16] = head[33..49].try_into().expect("16 bytes");
    let offset = u64::from(head[49]);
    let (shift, in_place) = (usize::from(head[50] % 16), head[51] % 2 == 0);
    let operations = AnyOperation::all(start, offset);
    let operation = operations[usize::from(head[52]) % operations.len()];
    // A byte of input stands for many, so that batches are filled.
    let repeated = data.iter().cycle().take(data.len() * (1 + usize::from(head[53] % 8)) * 16);
    let input: Vec<u8> = repeated.zip(0u32..).map(|(byte, i)| byte.wrapping_add((i >> 8) as u8)).collect();
    let input = &input[..operation.takes(input.len())];
    let expected = operation.expected(&Reference::new(key), input);
    for engine in cpu_engines() {
        let cipher = engine.cipher(&Key::new(key).expect("a length")).expect("a key");
        let mut output = vec![0xa5; shift + input.len()];
        if in_place || !operation.maps() {
            output[shift..].copy_from_slice(input);
            operation.run(&cipher, &mut output[shift..]).expect("a call that there is");
        } else {
            operation.run(&cipher, (input, &mut output[shift..])).expect("a call that there is");
        }
        assert!(output[shift..] == expected, "{operation:?} on {}", engine.description());
    }
}

/// A batch of messages of GCM on every CPU engine, against each message alone: their nonces, lengths and gaps, and what is changed before
/// they are decrypted. What is refused is refused by all, and changes nothing.
pub fn batch(data: &[u8]) {
    let Some((head, rest)) = data.split_first_chunk::<34>() else { return };
    let key = Key::new(&head[..[16, 24, 32][usize::from(head[32]) % 3]]).expect("a length");
    let (messages, data) = rest.split_at(rest.len().min(5 * usize::from(head[33] % 16)));
    // Of each: what its nonce and its additional data are made of, and how many bytes lie before it and in it.
    let fields: Vec<[u8; 5]> = messages.as_chunks().0.to_vec();
    let nonces: Vec<Vec<u8>> =
        fields.iter().map(|field| [vec![field[0]; 4], vec![field[0]; usize::from(field[1] % 20)]].concat()).collect();
    let mut end = 0;
    let ranges = fields.iter().map(|field| {
        // Backwards now and then, or beyond the data.
        let start = if field[3] == 0xff { end / 2 } else { end + u64::from(field[3] % 8) };
        end = start + 4 * u64::from(field[4]);
        start..end
    });
    let ranges: Vec<_> = ranges.collect();
    let messages: Vec<GcmMessage<'_>> = (nonces.iter().zip(&fields).zip(ranges))
        .map(|((nonce, field), range)| GcmMessage { nonce, aad: &field[..usize::from(field[2] % 6)], range })
        .collect();
    cmac_batch(&key, &messages.iter().map(|message| message.range.clone()).collect::<Vec<_>>(), data);
    let Ok(encrypt) = GcmEncryptBatch::new(&messages) else { return };
    let fits = messages.last().is_none_or(|message| message.range.end <= data.len() as u64);
    for engine in cpu_engines() {
        let cipher = engine.cipher(&key).expect("a key");
        let mut together = data.to_vec();
        let tags = match cipher.run(encrypt.clone(), &mut together) {
            Ok(tags) => tags,
            Err(error) => {
                assert!(!fits && together == data, "{error} on {}", engine.description());
                continue;
            }
        };
        let (mut alone, mut expected) = (data.to_vec(), Vec::<Tag>::new());
        for message in &messages {
            let nonce = Nonce::new(message.nonce).expect("a nonce that was taken");
            let part = &mut alone[message.range.start as usize..message.range.end as usize];
            expected.push(cipher.run(GcmEncrypt::new(&nonce, message.aad), part).expect("a call that there is"));
        }
        assert!(fits && together == alone && tags == expected, "{}", engine.description());
        // One byte of each second message that has any is changed.
        let is_changed = |n: usize| n % 2 == 1 && !messages[n].range.is_empty();
        let changed: Vec<usize> = (0..messages.len()).filter(|n| is_changed(*n)).collect();
        changed.iter().for_each(|n| together[messages[*n].range.start as usize] ^= 1 + head[33] / 16);
        let decrypt = GcmDecryptBatch::new(&messages, &tags).expect("what was encrypted");
        let opened = cipher.run(decrypt, &mut together).expect("a call that there is");
        assert_eq!(opened.failed(), changed, "{}", engine.description());
        let mut plain = data.to_vec();
        for n in changed {
            plain[messages[n].range.start as usize..messages[n].range.end as usize].fill(0);
        }
        assert!(together == plain, "{}", engine.description());
    }
}

/// CMAC of messages in one call is that of each alone, and one that was changed is told.
fn cmac_batch(key: &Key, messages: &[Range<u64>], data: &[u8]) {
    let make = CmacBatch::new(messages).expect("ranges that end behind their beginnings");
    let fits = messages.iter().all(|message| message.end <= data.len() as u64);
    for engine in cpu_engines() {
        let cipher = engine.cipher(key).expect("a key");
        let Ok(mut tags) = cipher.run(make.clone(), data) else {
            assert!(!fits, "{}", engine.description());
            continue;
        };
        let alone = messages.iter().map(|message| &data[message.start as usize..message.end as usize]);
        let alone: Vec<Tag> = alone.map(|data| cipher.run(Cmac::new(), data).expect("a call that there is")).collect();
        assert!(fits && tags == alone, "{}", engine.description());
        if let [.., other, last] = tags.as_mut_slice() {
            let failed: &[usize] = if other == last { &[] } else { &[messages.len() - 1] };
            *last = *other;
            let verify = CmacVerifyBatch::new(messages, &tags).expect("as many tags");
            let verified = cipher.run(verify, data).expect("a call that there is");
            assert_eq!(verified.failed(), failed, "{}", engine.description());
        }
    }
}
