//! XTS: sectors of a disk, each under its number (IEEE 1619).

use aes_bitslice_runtime::{self as runtime, Direction, Xts};

use super::mode::{Lengths, Mode};

/// `--mode xts`.
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
};
