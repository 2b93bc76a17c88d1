//! Kernels with the bits of a few blocks in eight words, as they are printed, run on the CPU with keys of every length.

use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_gen::check::{self, faults_show};
use aes_bitslice_papers::kernels::Packed;

fn key(bits: KeyBits) -> Vec<u8> {
    (0..bits.bytes()).map(|i| (83 * i) as u8 ^ 0x95).collect()
}

#[test]
fn both_words_and_every_key_length() {
    for kernel in Packed::ALL {
        let Printed { source, manifest } = kernel.print("a test");
        for bits in KeyBits::ALL {
            if !check::printed(&source, &manifest, &key(bits)).unwrap_or_else(|e| panic!("{}: {e}", kernel.name())) {
                eprintln!("there is no C compiler: packed kernels were not tested");
                return;
            }
        }
    }
}

/// A change of what differs from planes of 32 blocks is missed: the order of bits, ShiftRows, rotations by rows, packed keys.
#[test]
fn faults_of_kernels_show() {
    let [wide, narrow] = Packed::ALL;
    for (kernel, right, wrong) in [
        (wide, "0x5140", "0x4150"),
        (wide, "from_above(x, 4, 0x0fff0000)", "from_above(x, 8, 0x0fff0000)"),
        (wide, "p[8 * (1 - h) + b] << 16", "p[8 * h + b] << 16"),
        (wide, "2 * half", "half"),
        (narrow, "from_below(x, 2, 0xfc000000)", "from_below(x, 2, 0xfc)"),
        (narrow, "here << 24", "here << 8"),
        (narrow, "b == 4", "b == 5"),
        (narrow, "    BARRIER();\n", ""),
    ] {
        let Printed { source, manifest } = kernel.print("a test");
        faults_show(&source, [(right, wrong)], |source| check::printed(source, &manifest, &key(KeyBits::Aes128)));
    }
}
