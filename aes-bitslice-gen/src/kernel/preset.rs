//! Designs of kernels by name: that of the main paper, its variants, and the fastest.

use super::spec::KernelSpec;
use crate::sbox::{CANRIGHT, LUT3};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;

/// A design of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Preset {
    /// O. Hajihassani, S. K. Monfared, S. H. Khasteh and S. Gorgin, *Fast AES Implementation: A High-throughput Bitsliced
    /// Approach* (2019), with the key in the code: the state of 32 blocks a thread as bit-planes, Canright's S-box in two-input
    /// gates, ShiftRows by renaming, MixColumns as in equation 5, round keys picked by one-hot multiplexers.
    #[default]
    Hajihassani2019,
    /// [`Hajihassani2019`](Self::Hajihassani2019) with the first and the last round key in the multiplexer too, in one generic round
    /// ([`KernelSpec::generic`]).
    Hajihassani2019AllKeys,
    /// [`Hajihassani2019`](Self::Hajihassani2019) with round keys fetched from device memory round by round
    /// ([`KernelSpec::hajihassani_2019`]); no key is in the code.
    Hajihassani2019Fetched,
    /// The fastest with the key in the code: an S-box found by search, a column of 32 blocks a thread, round keys picked once a thread
    /// block.
    Fast,
}

aes_bitslice_core::named!(Preset, "preset");

impl Preset {
    /// All presets.
    pub const ALL: [Self; 4] =
        [Self::Hajihassani2019, Self::Hajihassani2019AllKeys, Self::Hajihassani2019Fetched, Self::Fast];

    /// The name on command lines and in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hajihassani2019 => "hajihassani-2019",
            Self::Hajihassani2019AllKeys => "hajihassani-2019-all-keys",
            Self::Hajihassani2019Fetched => "hajihassani-2019-fetched",
            Self::Fast => "fast",
        }
    }

    /// The modes: those of the paper; [`Fast`](Self::Fast) has CBC decryption, too.
    pub fn modes(self) -> &'static [Mode] {
        match self {
            Self::Fast => &[Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr, Mode::CbcDecrypt],
            _ => &[Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr],
        }
    }

    /// Whether the key is in the code.
    pub fn bakes(self) -> bool {
        self != Self::Hajihassani2019Fetched
    }

    /// The kernel for a key of 16, 24 or 32 bytes, `None` for other lengths. Without the key in the code, it is for every key.
    pub fn spec(self, mode: Mode, key: &[u8]) -> Option<KernelSpec> {
        let one_hot = |sbox| KernelSpec::baked(mode, sbox, key);
        match self {
            Self::Hajihassani2019 => Some(one_hot(&CANRIGHT)?.published().staged()),
            Self::Hajihassani2019AllKeys => Some(one_hot(&CANRIGHT)?.generic().staged()),
            Self::Hajihassani2019Fetched => Some(KernelSpec::hajihassani_2019(mode)),
            Self::Fast => one_hot(&LUT3),
        }
    }

    /// The stem of the names of a kernel's files; `key_bits` if it is for keys of one length only.
    pub fn file_stem(self, mode: Mode, key_bits: Option<KeyBits>) -> String {
        let key = key_bits.map(|bits| format!("-{}", bits.bits())).unwrap_or_default();
        format!("aes{key}-{mode}-{self}")
    }
}

impl KernelSpec {
    /// The kernel of Hajihassani et al. 2019 with the first of its two ways to store the keys: round keys as planes in device memory,
    /// fetched into shared memory one at a time (section 4.6). The kernel with the other way is [`Preset::Hajihassani2019`](Preset::spec).
    ///
    /// Both have 32 blocks per thread in 128 registers (section 4.2), Canright's S-box (4.3), MixColumns by equation 5 and algorithm 1
    /// (4.4), ShiftRows by renaming (4.5), a separate AddRoundKey (4.6), 64 threads per thread block with their data in 32 KiB of shared
    /// memory (6.3, 6.4), and counters generated as planes (6.4). Gates are C operators, which the compiler may merge, as it could in the
    /// paper. Where the paper's text is silent and its appendices with code are not available, the choice is this project's: how blocks
    /// become planes, the order of a thread block's data in shared memory, and the form of InvMixColumns. Decryption is the equivalent
    /// inverse cipher (FIPS 197, section 5.3.5). The mode `cbc-decrypt` is not in the paper.
    pub fn hajihassani_2019(mode: Mode) -> Self {
        Self::planes_in_memory(mode, &CANRIGHT).published().staged()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::cuda;
    use crate::kernel::plan::Plan;
    use crate::sbox::CANRIGHT_NETLIST;

    /// Only two-input operators, in the numbers that follow from the paper's equations.
    #[test]
    fn the_paper_s_gates() {
        for mode in Preset::Hajihassani2019.modes() {
            let published = Preset::ALL.into_iter().filter(|&preset| preset != Preset::Fast);
            let specs = published.map(|preset| preset.spec(*mode, &[0x5a; 16]).unwrap());
            for spec in specs.flat_map(|spec| [spec.clone(), spec.with_sbox(&CANRIGHT_NETLIST)]) {
                let plan = Plan::new(&spec);
                for function in &plan.functions {
                    let gates = function.circuit.gates();
                    assert!(gates.iter().all(|gate| gate.arity() <= 2), "{function:?}");
                    let count = gates.iter().filter(|gate| gate.arity() == 2).count();
                    match (&*function.name, spec.mode) {
                        ("sub_byte", _) => assert_eq!(count, 120),
                        ("inv_sub_byte", _) => {
                            assert_eq!(count, if spec.sbox.name == CANRIGHT.name { 125 } else { 121 })
                        }
                        // A row of equation 5: 8 XORs, 3 in the product by 2, and 3 times 8.
                        ("mix_column", Mode::EcbEncrypt | Mode::Ctr) => assert_eq!(count, 4 * (8 + 3 + 24)),
                        _ => {}
                    }
                }
                let printed = cuda::print(&spec.into(), "a test").unwrap();
                let cipher = printed.source.split_once("The layers of the cipher as circuits").unwrap().1;
                let circuits = cipher.split_once("The cipher on bit-planes").unwrap().0;
                assert!(!circuits.contains("LUT3("), "{mode}");
            }
        }
        assert!(Preset::Hajihassani2019.spec(Mode::Ctr, &[0; 15]).is_none());
        assert_eq!("hajihassani-2019".parse(), Ok(Preset::default()));
    }

    /// Files of two presets, modes or key lengths have different names.
    #[test]
    fn file_names() {
        let of = |preset: Preset| {
            let stem = move |mode| KeyBits::ALL.map(move |bits| preset.file_stem(mode, Some(bits)));
            preset.modes().iter().flat_map(move |&mode| stem(mode))
        };
        let names: Vec<String> = Preset::ALL.into_iter().flat_map(of).collect();
        assert!(names.iter().enumerate().all(|(i, name)| !names[..i].contains(name)), "{names:?}");
        assert!(names.contains(&"aes-192-ctr-hajihassani-2019".into()) && names.contains(&"aes-128-ctr-fast".into()));
        assert_eq!(Preset::Hajihassani2019Fetched.file_stem(Mode::Ctr, None), "aes-ctr-hajihassani-2019-fetched");
    }
}
