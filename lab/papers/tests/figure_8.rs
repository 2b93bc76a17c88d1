//! The S-box by table on planes (Hajihassani et al. 2019, fig. 8), as it is printed, run on the CPU.

use aes_bitslice_gen::check::{self, faults_show};
use aes_bitslice_papers::kernels::Bitsliced;

const KEY: [u8; 16] = *b"\x2b\x7e\x15\x16\x28\xae\xd2\xa6\xab\xf7\x15\x88\x09\xcf\x4f\x3c";

#[test]
fn blocks_are_encrypted() {
    let printed = Bitsliced::figure_8().print(&KEY, "a test").unwrap();
    printed.manifest.check_source(&printed.source).unwrap();
    if !check::printed(&printed.source, &printed.manifest, &KEY).unwrap_or_else(|e| panic!("{e}")) {
        eprintln!("there is no C compiler: the S-box by table was not tested");
    }
}

#[test]
fn faults_of_kernels_show() {
    let printed = Bitsliced::figure_8().print(&KEY, "a test").unwrap();
    let faults =
        [("block < 32", "block < 31"), ("& 1) << block", "& 1) << bit"), ("byte = s_box[byte]", "byte ^= s_box[byte]")];
    faults_show(&printed.source, faults, |source| check::printed(source, &printed.manifest, &KEY));
}
