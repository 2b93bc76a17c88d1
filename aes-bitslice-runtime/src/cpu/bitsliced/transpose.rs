//! Blocks to bit-planes and back, on the host, in the layout that the kernels use on the GPU.
//!
//! A batch is 32 blocks of 16 bytes. Its 128 planes are words of 32 lanes: lane `l`, which is bit `l` of a word,
//! belongs to block `l`, and plane `8 * j + b` holds bit `b` (0 = least significant) of byte `j` of every block.
//! As a matrix of bits, that is
//!
//! ```text
//! blocks[l][j] >> b & 1  ==  planes[8 * j + b] >> l & 1      l < 32,  j < 16,  b < 8
//! ```
//!
//! Wider lanes are several words per plane: `[[u32; N]; 128]`, where word `g` belongs to blocks `32 * g` to `32 * g +
//! 31`.
//!
//! The work is four transpositions of 32×32 bits, one for each column of the AES state, each in five rounds of
//! exchanges of half the bits (Warren, Hacker's Delight, section 7-3). No branch or index depends on the data.

/// The planes of 32 blocks.
pub fn to_planes(blocks: &[[u8; 16]; 32]) -> [u32; 128] {
    let mut planes = [0; 128];
    for (column, matrix) in planes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        // Row l: the column's four bytes in block l, the first least significant, so that bit 8 r + b is bit b of row
        // r.
        *matrix = std::array::from_fn(|l| u32::from_le_bytes(blocks[l].as_chunks().0[column]));
        transpose_32x32(matrix);
    }
    planes
}

/// The 32 blocks of planes: the inverse of [`to_planes`].
pub fn to_blocks(planes: &[u32; 128]) -> [[u8; 16]; 32] {
    let mut blocks = [[0; 16]; 32];
    for (column, matrix) in planes.as_chunks::<32>().0.iter().enumerate() {
        let mut matrix = *matrix;
        transpose_32x32(&mut matrix);
        for (block, row) in blocks.iter_mut().zip(matrix) {
            block.as_chunks_mut().0[column] = row.to_le_bytes();
        }
    }
    blocks
}

/// The planes of `32 * N` blocks, `N` words each.
///
/// # Panics
/// If there are not `32 * N` blocks.
pub fn to_wide_planes<const N: usize>(blocks: &[[u8; 16]]) -> [[u32; N]; 128] {
    assert_eq!(blocks.len(), 32 * N, "one block a lane");
    let mut wide = [[0; N]; 128];
    for (group, blocks) in blocks.as_chunks().0.iter().enumerate() {
        for (plane, word) in wide.iter_mut().zip(to_planes(blocks)) {
            plane[group] = word;
        }
    }
    wide
}

/// The `32 * N` blocks of planes of `N` words: the inverse of [`to_wide_planes`].
///
/// # Panics
/// If there is not room for `32 * N` blocks.
pub fn to_wide_blocks<const N: usize>(planes: &[[u32; N]; 128], blocks: &mut [[u8; 16]]) {
    assert_eq!(blocks.len(), 32 * N, "one block a lane");
    for (group, blocks) in blocks.as_chunks_mut().0.iter_mut().enumerate() {
        *blocks = to_blocks(&planes.map(|plane| plane[group]));
    }
}

/// Transposes a matrix of bits in place; row `r` is word `r`, column `c` is bit `c`.
pub fn transpose_32x32(matrix: &mut [u32; 32]) {
    let mut mask = 0x0000_ffff;
    let mut width = 16;
    while width > 0 {
        // Exchange the off-diagonal quarters of every block of 2 `width` rows and columns.
        for row in (0..32).filter(|row| row & width == 0) {
            let exchange = (matrix[row] >> width ^ matrix[row + width]) & mask;
            matrix[row + width] ^= exchange;
            matrix[row] ^= exchange << width;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of bytes that look random.
    fn blocks<const N: usize>() -> [[u8; 16]; N] {
        let mut x = 1u32;
        [(); N].map(|()| {
            [(); 16].map(|()| {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (x >> 24) as u8
            })
        })
    }

    #[test]
    fn every_bit_lands_in_its_plane_and_lane() {
        let blocks = blocks::<32>();
        let planes = to_planes(&blocks);
        for (l, block) in blocks.iter().enumerate() {
            for (j, byte) in block.iter().enumerate() {
                for b in 0..8 {
                    assert_eq!(byte >> b & 1, (planes[8 * j + b] >> l & 1) as u8, "block {l}, byte {j}, bit {b}");
                }
            }
        }
        assert_eq!(to_blocks(&planes), blocks);
    }

    #[test]
    fn wide_lanes_are_groups_of_32() {
        let blocks = blocks::<96>();
        let wide = to_wide_planes::<3>(&blocks);
        for (group, blocks) in blocks.as_chunks().0.iter().enumerate() {
            assert_eq!(wide.map(|plane| plane[group]), to_planes(blocks));
        }
        let mut back = [[0; 16]; 96];
        to_wide_blocks(&wide, &mut back);
        assert_eq!(back, blocks);
    }

    #[test]
    fn rows_become_columns() {
        let mut matrix: [u32; 32] = std::array::from_fn(|r| 0x9e37_79b9u32.wrapping_mul(r as u32 + 1));
        let before = matrix;
        transpose_32x32(&mut matrix);
        for (r, row) in matrix.iter().enumerate() {
            for (c, column) in before.iter().enumerate() {
                assert_eq!(row >> c & 1, column >> r & 1);
            }
        }
    }
}
