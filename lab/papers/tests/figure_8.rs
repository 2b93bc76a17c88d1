//! The S-box by table on planes (Hajihassani et al. 2019, fig. 8), as it is printed, run on the CPU.

use aes_bitslice_gen::check::{self, CheckError};
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
fn faults_show() {
    let printed = Bitsliced::figure_8().print(&KEY, "a test").unwrap();
    for (right, wrong) in
        [("block < 32", "block < 31"), ("& 1) << block", "& 1) << bit"), ("byte = s_box[byte]", "byte ^= s_box[byte]")]
    {
        assert_eq!(printed.source.matches(right).count(), 1, "{right}");
        match check::printed(&printed.source.replace(right, wrong), &printed.manifest, &KEY) {
            Ok(false) => return,
            Ok(true) => panic!("`{right}` is not missed"),
            Err(CheckError::Printed { .. } | CheckError::OutOfBounds { .. }) => {}
            Err(e) => panic!("{e}"),
        }
    }
}
