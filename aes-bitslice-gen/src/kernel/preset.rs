//! Kernels by the name of the paper that describes them.

use super::spec::KernelSpec;
use crate::sbox::CANRIGHT;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::BakedStrategy;

/// A kernel that a paper describes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Preset {
    /// O. Hajihassani, S. K. Monfared, S. H. Khasteh and S. Gorgin, *Fast AES Implementation: A High-throughput Bitsliced
    /// Approach* (2019), with the key in the code.
    Hajihassani2019,
}

aes_bitslice_core::named!(Preset, "preset");

impl Preset {
    /// All presets.
    pub const ALL: [Self; 1] = [Self::Hajihassani2019];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hajihassani2019 => "hajihassani-2019",
        }
    }

    /// The modes in the paper.
    pub fn modes(self) -> &'static [Mode] {
        match self {
            Self::Hajihassani2019 => &[Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr],
        }
    }

    /// The kernel for a key of 16, 24 or 32 bytes; `None` for other lengths.
    pub fn baked(self, mode: Mode, key: &[u8]) -> Option<KernelSpec> {
        match self {
            Self::Hajihassani2019 => {
                let spec = KernelSpec::baked(mode, &CANRIGHT, BakedStrategy::OneHotMux, key)?;
                Some(spec.published().staged())
            }
        }
    }
}

impl KernelSpec {
    /// The kernel of Hajihassani et al. 2019 with the first of its two ways to store the keys: round keys as planes in device memory,
    /// fetched into shared memory one at a time (section 4.6). The kernel with the other way is [`Preset::Hajihassani2019`](Preset::baked).
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
            let baked = Preset::Hajihassani2019.baked(*mode, &[0x5a; 16]).unwrap();
            let netlist = KernelSpec { sbox: &CANRIGHT_NETLIST, ..baked.clone() };
            for spec in [baked.clone(), baked.generic(), KernelSpec::hajihassani_2019(*mode), netlist] {
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
        assert!(Preset::Hajihassani2019.baked(Mode::Ctr, &[0; 15]).is_none());
        assert_eq!("hajihassani-2019".parse(), Ok(Preset::Hajihassani2019));
    }
}
