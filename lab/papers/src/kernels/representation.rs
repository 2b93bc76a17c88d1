//! The change of representation alone (Hajihassani et al. 2019, sections 4.2 and 6.3): 32 blocks to 128 planes, nothing encrypted.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_gen::emit::bitsliced::REPRESENTATION;
use aes_bitslice_gen::emit::dialect;

/// Bytes of a thread's 32 blocks.
pub const BYTES: usize = 32 * 16;
/// Blocks of a warp: 32 per thread, every 32nd.
const WARP_BLOCKS: usize = 1024;

/// A kernel that changes the representation of blocks, an odd number of times: all but one are undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Representation {
    /// The number of changes.
    pub changes: u32,
}

impl Representation {
    /// The entry point, `void (const void *in, void *out, u64 blocks)`: plane p of thread t is word `p * threads + t` of the output.
    pub const ENTRY: &'static str = "representation";
    /// Threads per thread block.
    pub const THREADS: u32 = 128;

    /// The source.
    pub fn source(self) -> String {
        let mut text =
            format!("#define THREADS {}\n#define BLOCKS_PER_SM 2\n#define CHANGES {}\n", Self::THREADS, self.changes);
        text += &dialect::page(Dialect::Cuda, "");
        for part in REPRESENTATION.into_iter().chain([include_str!("representation.h")]) {
            text.push('\n');
            text += part;
        }
        text
    }

    /// The kernel's output for data of whole warps, 16 KiB each.
    pub fn expected(input: &[u8]) -> Vec<u8> {
        let threads = input.len() / BYTES;
        let mut output = vec![0; input.len()];
        let mut blocks = [[0; 16]; 32];
        for thread in 0..threads {
            let first = thread / 32 * WARP_BLOCKS + thread % 32;
            for (j, block) in blocks.iter_mut().enumerate() {
                block.copy_from_slice(&input[16 * (first + 32 * j)..][..16]);
            }
            for (p, plane) in planes(&blocks).into_iter().enumerate() {
                output[4 * (p * threads + thread)..][..4].copy_from_slice(&plane.to_le_bytes());
            }
        }
        output
    }
}

/// The planes of 32 blocks: bit j of plane p is bit p of block j, bytes in order, least significant bit first.
pub fn planes(blocks: &[[u8; 16]; 32]) -> [u32; 128] {
    let mut planes = [0; 128];
    for (word, planes) in planes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        for (j, block) in blocks.iter().enumerate() {
            planes[j] = u32::from_le_bytes(std::array::from_fn(|byte| block[4 * word + byte]));
        }
        transpose(planes);
    }
    planes
}

/// Bit j of word i becomes bit i of word j (Warren, *Hacker's Delight*, section 7-3).
fn transpose(words: &mut [u32; 32]) {
    let (mut width, mut mask) = (16, 0x0000_ffff_u32);
    while width != 0 {
        for k in (0..32).filter(|k| k & width == 0) {
            let moved = (words[k] >> width ^ words[k + width]) & mask;
            words[k] ^= moved << width;
            words[k + width] ^= moved;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_bits_of_blocks() {
        let blocks: [[u8; 16]; 32] = std::array::from_fn(|j| std::array::from_fn(|i| (j * 37 + i * 101) as u8 ^ 0x5c));
        for (p, plane) in planes(&blocks).into_iter().enumerate() {
            for (j, block) in blocks.iter().enumerate() {
                assert_eq!(plane >> j & 1, u32::from(block[p / 8] >> (p % 8) & 1), "bit {p} of block {j}");
            }
        }
    }
}
