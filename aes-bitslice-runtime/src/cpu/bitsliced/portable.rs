//! 64 lanes in a word of any processor.

use crate::cpu::bitsliced::batch::{self, Functions, TwoInput, Vector};
use crate::cpu::bitsliced::transpose;
use crate::cpu::block::Block;

/// The batch functions on 64-bit words.
pub(super) static FUNCTIONS: Functions =
    Functions { lanes: u64::LANES, ecb: batch::ecb::<u64, TwoInput>, ctr: batch::ctr::<u64, TwoInput> };

impl Vector for u64 {
    const LANES: usize = 64;

    #[inline(always)]
    fn load(blocks: &[Block], planes: &mut [Self; 128]) {
        let (low, high) = Block::cast_slice_to_core(blocks).split_at(32);
        let [low, high] = [low, high].map(|half| transpose::to_planes(half.try_into().expect("64 blocks")));
        for ((plane, low), high) in planes.iter_mut().zip(low).zip(high) {
            *plane = u64::from(high) << 32 | u64::from(low);
        }
    }

    #[inline(always)]
    fn store(planes: &mut [Self; 128], blocks: &mut [Block]) {
        for (half, blocks) in Block::cast_slice_to_core_mut(blocks).chunks_exact_mut(32).enumerate() {
            blocks.copy_from_slice(&transpose::to_blocks(&planes.map(|plane| (plane >> (32 * half)) as u32)));
        }
    }

    #[inline(always)]
    fn index_plane(bit: usize) -> Self {
        // Lane l holds block l.
        [
            0xaaaa_aaaa_aaaa_aaaa,
            0xcccc_cccc_cccc_cccc,
            0xf0f0_f0f0_f0f0_f0f0,
            0xff00_ff00_ff00_ff00,
            0xffff_0000_ffff_0000,
            0xffff_ffff_0000_0000,
        ][bit]
    }
}
