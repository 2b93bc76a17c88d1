//! Readers of external input.

use super::cpu_engines;
use aes_bitslice_core::manifest::Hash;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::signature::EntryPoint;
use aes_bitslice_gen::circuit::{straight_line, text};
use aes_bitslice_gen::netlist::Netlist;
use aes_bitslice_runtime::cuda::{Subject, Tuning};
use aes_bitslice_runtime::{Call, Kernels, Key, KeyBits, Mode};
use aes_bitslice_seal::tink::Keyset;
use aes_bitslice_seal::{Secret, is_sealed, open, open_range, tink};
use sha2::{Digest, Sha256};
use std::io::Cursor;

/// A manifest that is read can be written, and read again; a different source is refused.
pub fn manifest(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(manifest) = <Manifest>::parse(text) {
        assert_eq!(<Manifest>::parse(&manifest.to_json()).expect("what was written"), manifest);
        assert!(manifest.check_source(text).is_err());
        let _ = manifest.key_words(&[7; 32]);
    }
}

/// The manifest of a hash kernel that is read can be written, and read again; a different source is refused.
pub fn hash_manifest(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(manifest) = Manifest::<Hash>::parse(text) {
        assert_eq!(Manifest::<Hash>::parse(&manifest.to_json()).expect("what was written"), manifest);
        assert!(manifest.check_source(text).is_err());
    }
}

/// The parameters of an entry point, from any source.
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

/// Keys as digits and as bytes: an accepted key equals its input.
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

/// Tink's keysets: one that is accepted opens no garbage, and can be written and read again.
pub fn keyset(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(keyset) = Keyset::from_json(text) {
        let engine = cpu_engines().last().expect("an engine");
        assert!(tink::decrypt(engine, &keyset, &[], data, &mut Vec::new()).is_err());
        let json = keyset.to_json(7);
        let again = Keyset::from_json(&json).expect("what was written");
        assert_eq!(again.to_json(7), json);
    }
}

/// The key of the sealed files in the corpus, whose messages are the letter m.
const SEALING_KEY: [u8; 32] = [7; 32];

/// Bytes of the header of a sealed file, and of the checksum at its end.
const HEADER: usize = 96;
const CHECKSUM: usize = 8;

/// Sealed files, headers and segments, whole and in parts; and with the right checksum of the header, so that its contents are read.
pub fn sealed(data: &[u8]) {
    opens_what_was_sealed(data);
    if let Some(header) = data.get(..HEADER - CHECKSUM) {
        let rest = data.get(HEADER..).unwrap_or_default();
        opens_what_was_sealed(&[header, &Sha256::digest(header)[..CHECKSUM], rest].concat());
    }
}

/// Under this key only the files in the corpus were sealed.
fn opens_what_was_sealed(data: &[u8]) {
    let engine = cpu_engines().last().expect("an engine");
    let key = Key::new(&SEALING_KEY).expect("32 bytes");
    let is_message = |output: &[u8]| output.iter().all(|byte| *byte == b'm');
    let mut output = vec![];
    let opened = open(engine, Secret::Key(&key), data, &mut output);
    assert!(is_message(&output), "what was not sealed came out");
    if let Ok(bytes) = opened {
        assert!(is_sealed(data) && bytes == output.len() as u64);
    }
    let [.., start, end] = *data else { return };
    let mut part = vec![];
    let range = u64::from(start) * 4..u64::from(end) * 4;
    let opened = open_range(engine, Secret::Key(&key), Cursor::new(data), range.clone(), &mut part);
    assert!(is_message(&part), "what was not sealed came out");
    if let Ok(bytes) = opened {
        assert!(bytes == part.len() as u64 && bytes == range.end - range.start);
    }
    // A passphrase is tried where that takes no time.
    let is_cheap = data.get(12..24).is_some_and(|cost| cost[..3] == [0; 3] && cost[4..7] == [0; 3] && cost[7] < 4);
    if is_cheap {
        assert!(open(engine, Secret::Passphrase(b"another one"), data, &mut Vec::new()).is_err());
    }
}

/// Tuning files: one that is accepted can be written, and read again, and any call can use it; a rejection is one line.
pub fn tuning(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let subject = Subject {
        gpu: "NVIDIA H200".into(),
        driver: "580.1".into(),
        version: "0.1.0".into(),
        cpu: "16 threads".into(),
    };
    let tuning = Tuning::of_text(text, &subject);
    if let Some(warning) = tuning.warning() {
        assert!(!warning.chars().any(char::is_control), "{warning:?}");
    }
    assert!(tuning.file().is_some() || (tuning.warning().is_some() && !tuning.is_host_measured()));
    for (mode, key_bits) in Mode::ALL.into_iter().flat_map(|mode| KeyBits::ALL.map(|bits| (mode, bits))) {
        for bytes in [0, 1, 1 << 16, u64::MAX] {
            let from = tuning.cuda_from(mode, key_bits);
            assert_eq!(tuning.prefers_cuda(mode, key_bits, bytes), from.is_some_and(|from| bytes >= from));
            for kernels in [Kernels::Auto, Kernels::AutoAny] {
                let call = Call { mode, key_bits, bytes, aligned: true };
                assert!(kernels.allow(tuning.choose(kernels, &call, |_| true)), "{call:?}");
            }
        }
    }
}
