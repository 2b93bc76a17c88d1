//! The modes: a [`Mode`] for each.

use aes_bitslice_runtime::{
    self as runtime, CbcDecrypt, CbcEncrypt, Cmac, Counter, CounterMode, Ctr, Direction, Ecb, GcmDecrypt, GcmEncrypt,
    GcmSivDecrypt, GcmSivEncrypt, Gmac, Keystream, Prg, Xts,
};

use super::batch::{self, Batches};
use super::mode::{Lengths, Mode};
use super::operation::WithTag;

/// Electronic codebook.
pub static ECB: Mode = Mode {
    name: "ecb",
    title: "ECB",
    help: "Electronic codebook: every block on its own",
    measured: &[(Direction::Encrypt, "ecb-encrypt"), (Direction::Decrypt, "ecb-decrypt")],
    iv: false,
    lengths: Lengths::WholeBlocks,
    kernels: |direction| Some(runtime::Mode::ecb(direction)),
    operation: |direction, _| Box::new(Ecb::new(direction)),
    batches: Batches::ManyKeys,
};

/// Cipher block chaining.
pub static CBC: Mode = Mode {
    name: "cbc",
    title: "CBC",
    help: "Cipher block chaining: every block chained to the ciphertext before it",
    measured: &[(Direction::Encrypt, "cbc-encrypt"), (Direction::Decrypt, "cbc-decrypt")],
    iv: true,
    lengths: Lengths::WholeBlocks,
    kernels: |direction| (direction == Direction::Decrypt).then_some(runtime::Mode::CbcDecrypt),
    operation: |direction, place| match direction {
        Direction::Encrypt => Box::new(CbcEncrypt::new(&place.before)),
        Direction::Decrypt => Box::new(CbcDecrypt::new(&place.before)),
    },
    batches: Batches::None,
};

/// Counter mode.
pub static CTR: Mode = Mode {
    name: "ctr",
    title: "CTR",
    help: "Counter mode of SP 800-38A, 128-bit counter, any length",
    measured: &[(Direction::Encrypt, "ctr")],
    iv: true,
    lengths: Lengths::Any,
    kernels: |_| Some(runtime::Mode::Ctr),
    operation: |_, place| Box::new(Ctr::new(&Counter::new(CounterMode::Ctr128BE, place.iv), place.offset)),
    batches: Batches::ManyKeys,
};

/// XTS: sectors of a disk, each under its number (IEEE 1619).
pub static XTS: Mode = Mode {
    name: "xts",
    title: "XTS",
    help: "XTS of IEEE 1619: sectors of a disk, each under its number; a key is two AES keys",
    measured: &[(Direction::Encrypt, "xts-encrypt"), (Direction::Decrypt, "xts-decrypt")],
    iv: false,
    lengths: Lengths::Sectors,
    kernels: |direction| Some(runtime::Mode::xts(direction)),
    operation: |direction, place| {
        let sector = place.sectors.first + u128::from(place.offset / place.sectors.bytes);
        let xts = Xts::new(direction, place.sectors.bytes, sector);
        Box::new(xts.expect("a length of sectors that the command line takes"))
    },
    batches: Batches::None,
};

/// Galois/counter mode, whole messages: what `bench` measures. `seal` and `open` have it in segments.
pub static GCM: Mode = Mode {
    name: "gcm",
    title: "GCM",
    help: "Galois/counter mode of SP 800-38D, any length",
    measured: &[(Direction::Encrypt, "gcm-encrypt"), (Direction::Decrypt, "gcm-decrypt")],
    iv: true,
    lengths: Lengths::Any,
    kernels: |_| Some(runtime::Mode::Ctr),
    operation: |direction, place| match direction {
        Direction::Encrypt => Box::new(WithTag(GcmEncrypt::new(&place.nonce(), &[]))),
        Direction::Decrypt => Box::new(WithTag(GcmDecrypt::new(&place.nonce(), &[], &place.tag))),
    },
    batches: Batches::OneKeyOrMany(batch::gcm),
};

/// AES-GCM-SIV, whole messages: what `bench` measures.
pub static GCM_SIV: Mode = Mode {
    name: "gcm-siv",
    title: "AES-GCM-SIV",
    help: "AES-GCM-SIV of RFC 8452, any length",
    measured: &[(Direction::Encrypt, "gcm-siv-encrypt"), (Direction::Decrypt, "gcm-siv-decrypt")],
    iv: true,
    lengths: Lengths::Any,
    kernels: |_| Some(runtime::Mode::CtrLe32),
    operation: |direction, place| match direction {
        Direction::Encrypt => Box::new(WithTag(GcmSivEncrypt::new(&place.nonce(), &[]))),
        Direction::Decrypt => Box::new(WithTag(GcmSivDecrypt::new(&place.nonce(), &[], &place.tag))),
    },
    batches: Batches::None,
};

/// The key stream of counter mode, which reads no data: what `keystream` writes. It is not among the modes of `encrypt`, because it encrypts
/// and decrypts nothing.
pub static KEYSTREAM: Mode = Mode {
    name: "keystream",
    title: "key stream of CTR",
    help: "The key stream of CTR, any length",
    measured: &[(Direction::Encrypt, "keystream")],
    iv: true,
    lengths: Lengths::Any,
    kernels: |_| Some(runtime::Mode::Keystream),
    operation: |_, place| Box::new(Keystream::new(&Counter::new(CounterMode::Ctr128BE, place.iv), place.offset)),
    batches: Batches::ManyKeys,
};

/// Encryption with feed-forward, a pseudorandom generator: only measured.
pub static PRG: Mode = Mode {
    name: "prg",
    title: "PRG",
    help: "A generator for function secret sharing: every block encrypted, and XORed with itself",
    measured: &[(Direction::Encrypt, "prg")],
    iv: false,
    lengths: Lengths::WholeBlocks,
    kernels: |_| Some(runtime::Mode::Prg),
    operation: |_, _| Box::new(Prg::new()),
    batches: Batches::None,
};

/// CMAC, whole messages, which writes nothing but a tag: what `bench` measures.
pub static CMAC: Mode = Mode {
    name: "cmac",
    title: "CMAC",
    help: "CMAC of SP 800-38B, any length",
    measured: &[(Direction::Encrypt, "cmac")],
    iv: false,
    lengths: Lengths::Any,
    kernels: |_| None,
    operation: |_, _| Box::new(WithTag(Cmac::new())),
    batches: Batches::OneKey(batch::cmac),
};

/// GMAC, whole messages, which writes nothing but a tag: what `bench` measures.
pub static GMAC: Mode = Mode {
    name: "gmac",
    title: "GMAC",
    help: "GMAC of SP 800-38D, any length",
    measured: &[(Direction::Encrypt, "gmac")],
    iv: true,
    lengths: Lengths::Any,
    kernels: |_| Some(runtime::Mode::Ctr),
    operation: |_, place| Box::new(WithTag(Gmac::new(&place.nonce()))),
    batches: Batches::None,
};

/// The modes of `encrypt` and `decrypt`.
pub static ALL: [&Mode; 4] = [&ECB, &CBC, &CTR, &XTS];

/// The modes that `bench` has.
pub static MEASURED: [&Mode; 10] = [&GCM, &GCM_SIV, &ECB, &CBC, &CTR, &XTS, &KEYSTREAM, &PRG, &CMAC, &GMAC];
