//! The kernel of Hajihassani et al. 2019 on data that is in planes already, as if the change of representation were no part of it.

use super::bitsliced::{Bitsliced, RoundKeys};
use super::representation::{BYTES, planes};
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;

/// ECB encryption with one-hot keys, from planes to planes: the kernel without its two changes of representation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnPlanes;

impl OnPlanes {
    /// The mode and direction.
    pub const MODE: Mode = Mode::EcbEncrypt;

    /// Prints the kernel; `None` if the key has no AES length. The manifest is that of the kernel with the changes.
    pub fn print(self, key: &[u8], command: &str) -> Option<Printed> {
        const CHANGE: &str = "    transpose_state(s);\n";
        let mut printed = Bitsliced::hajihassani_2019(Self::MODE, RoundKeys::OneHot).print(key, command)?;
        assert_eq!(printed.source.matches(CHANGE).count(), 2, "one change before the cipher and one after it");
        printed.source = printed.source.replace(CHANGE, "").into();
        Some(printed)
    }

    /// Whole threads' blocks as the kernel wants them: words j, j + 32, j + 64 and j + 96 of a thread's 128 planes take the place of its
    /// block j.
    pub fn of(blocks: &[u8]) -> Vec<u8> {
        let (threads, rest) = blocks.as_chunks::<BYTES>();
        assert!(rest.is_empty(), "whole threads");
        let of_thread = |blocks: &[u8; BYTES]| {
            let planes = planes(blocks.as_chunks::<16>().0.try_into().expect("32 blocks"));
            (0..BYTES / 4).flat_map(move |n| planes[n % 4 * 32 + n / 4].to_le_bytes())
        };
        threads.iter().flat_map(of_thread).collect()
    }
}
