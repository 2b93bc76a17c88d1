//! Blocks in the order of their words, as in Li, Zhong, Zhao, Mei and Chu ("Implementation and Analysis of AES Encryption on GPU", HPCC
//! 2012, section V.C and the appendices): all first words, all second words, and so on, so that threads read adjacent words. Also CBC
//! decryption with their `dev_iv`: the last thread of a launch leaves its ciphertext for the next kernel.
//!
//! The host permutes the data first, so this is not one of the runtime's kernels: it takes two pointers and a number of blocks, and has its
//! round keys in constant memory.

use super::print::body;
use super::spec::TableSpec;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::key_source::{ExpandedKey, KeySource};
use aes_bitslice_core::mode::Mode;
use zeroize::Zeroizing;

/// A kernel of that paper with blocks in the order of their words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordMajor {
    mode: Mode,
}

impl WordMajor {
    /// The entry point, `void (const void *in, void *out, u64 blocks)`. In CBC, the ciphertext follows the IV, and the last block of
    /// ciphertext is stored after the output.
    pub const ENTRY: &'static str = "word_major";
    /// Threads per thread block.
    pub const THREADS: u32 = 512;

    /// For ECB encryption and CBC decryption; `None` for other modes.
    pub fn new(mode: Mode) -> Option<Self> {
        matches!(mode, Mode::EcbEncrypt | Mode::CbcDecrypt).then_some(Self { mode })
    }

    /// The mode and direction.
    pub fn mode(self) -> Mode {
        self.mode
    }

    /// A name unique to this kernel.
    pub fn name(self) -> String {
        format!("aes-{}-word-major", self.mode)
    }

    /// The source, with a key of 16 bytes in it; `None` if the key has no AES length.
    pub fn source(self, key: &[u8]) -> Option<Zeroizing<String>> {
        let spec = TableSpec::li_2012(self.mode);
        let expanded = ExpandedKey::new(key)?;
        let words = KeySource::Argument.words(&expanded, self.mode.direction(), Basis::STANDARD);
        let (rounds, words) = words.split_last().expect("the rounds have a word");
        let words: Vec<String> =
            words.chunks(4).map(|w| format!("{{{}u, {}u, {}u, {}u}}", w[0], w[1], w[2], w[3])).collect();
        // Not `static`, or the compiler could fold keys into instructions that cannot be changed any more.
        let key = format!(
            "\n#ifdef __CUDACC__\n__constant__\n#endif\nround_keys baked_keys = {{{{{}}}, {rounds}}};\n",
            words.join(", ")
        );
        let mode = match self.mode {
            Mode::CbcDecrypt => include_str!("word_major_cbc.h"),
            _ => include_str!("word_major_ecb.h"),
        };
        Some(Zeroizing::new([&body(&spec), &*key, include_str!("word_major.h"), mode].concat()))
    }
}
