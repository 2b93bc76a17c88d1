//! The kernels whose instructions and registers are counted, by `cargo xtask papers --count`: that of Hajihassani et al. 2019, as it is and
//! with layers left out, and those that it is compared with; and the basic one of Ul Haq et al. 2011. All encrypt ECB, and each has one loop of
//! rounds.

use super::{Bitsliced, Bytewise, OnPlanes, Packed, Without};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::mode::Mode;

/// The paper's kernel with one-hot keys.
pub const PAPER: &str = "paper";
/// The paper's kernel without its two changes of representation.
pub const ON_PLANES: &str = "on-planes";
/// The paper's kernel without a layer.
pub const LAYERS: [(&str, Without); 4] = [
    ("without-sub-bytes", Without::SubBytes),
    ("without-shift-rows", Without::ShiftRows),
    ("without-mix-columns", Without::MixColumns),
    ("without-add-round-key", Without::AddRoundKey),
];
/// The paper's kernel with Canright's own netlist.
pub const NETLIST: &str = "canright-netlist";
/// Earlier bitsliced code, in the order of [`Packed::ALL`].
pub const EARLIER: [&str; 2] = ["packed-64", "packed-32"];

/// The basic kernel of Ul Haq et al. 2011, of which the registers count.
pub const BASIC: &str = "ul-haq-basic";

/// The key: FIPS 197, appendix A.1. The gates of the multiplexer depend on it.
const KEY: u128 = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c;

/// How often the loop of each is run for a key of 128 bits: nine rounds have MixColumns, of which the paper's kernel has the last behind its
/// loop.
pub fn runs() -> Vec<(&'static str, i64)> {
    let of_paper = [PAPER, ON_PLANES, NETLIST].into_iter().chain(LAYERS.map(|(name, _)| name)).map(|name| (name, 8));
    of_paper.chain(EARLIER.map(|name| (name, 9))).collect()
}

fn print(kernel: Bitsliced) -> String {
    kernel.print(&KEY.to_be_bytes(), "").expect("a kernel that there is").source.to_string()
}

/// Operators of the paper's kernel that move bits within a word, or bytes, from its first layer to its last: in the printed text.
pub fn moves_in_layers() -> usize {
    let [(_, paper), ..] = Bitsliced::readings(Mode::EcbEncrypt);
    let source = print(paper);
    let layers = source.find("DEVICE void sub_byte(").expect("the first layer that is printed");
    ["<<", ">>", "BYTE_PERMUTE"].map(|operator| source[layers..].matches(operator).count()).iter().sum()
}

/// The name and the source of each, in CUDA C.
pub fn all() -> Vec<(&'static str, String)> {
    let [(_, paper), (_, netlist), _] = Bitsliced::readings(Mode::EcbEncrypt);
    let paper = print(paper);
    let on_planes = OnPlanes.print(&KEY.to_be_bytes(), "").expect("a key of AES").source.to_string();
    let without = LAYERS
        .map(|(name, without)| (name, without.print(&KEY.to_be_bytes(), "").expect("a key of AES").source.to_string()));
    let earlier = EARLIER.into_iter().zip(Packed::ALL.map(|kernel| kernel.print("").source.to_string()));
    let basic = Bytewise::basic(Direction::Encrypt).print(Dialect::Cuda, "").source.to_string();
    let mut all = vec![(PAPER, paper), (ON_PLANES, on_planes), (NETLIST, print(netlist)), (BASIC, basic)];
    all.extend(without.into_iter().chain(earlier));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted() {
        let mut names = [
            all().into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
            runs().into_iter().map(|(name, _)| name).chain([BASIC]).collect(),
        ];
        names.iter_mut().for_each(|names| names.sort_unstable());
        assert_eq!(names[0], names[1]);
    }
}
