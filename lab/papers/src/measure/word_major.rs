//! Blocks in the order of their words (Li et al. 2012, section V.C): all first words, then all second ones, and so on.

use std::thread;

/// The blocks of some data in the order of their words.
pub fn of(data: &[u8]) -> Vec<u8> {
    let mut words = vec![0; data.len()];
    reorder(data, &mut words);
    words
}

/// Puts the blocks of some data in the order of their words into `words`, on all cores.
pub fn reorder(data: &[u8], words: &mut [u8]) {
    let blocks = data.len() / 16;
    if blocks == 0 {
        return;
    }
    let each = blocks.div_ceil(thread::available_parallelism().map_or(1, usize::from));
    // A part of each of the four rows of words belongs to a part of the blocks.
    let mut rows = words.chunks_exact_mut(4 * blocks).map(|row| row.chunks_mut(4 * each)).collect::<Vec<_>>();
    thread::scope(|scope| {
        for blocks in data.chunks(16 * each) {
            let rows: Vec<_> = rows.iter_mut().filter_map(Iterator::next).collect();
            scope.spawn(move || {
                for (column, row) in rows.into_iter().enumerate() {
                    for (word, block) in row.chunks_exact_mut(4).zip(blocks.chunks_exact(16)) {
                        word.copy_from_slice(&block[4 * column..][..4]);
                    }
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_blocks() {
        for blocks in [0, 1, 2, 7, 64, 1001] {
            let data: Vec<u8> = (0..16 * blocks).map(|i| (i * 7 + i / 256) as u8).collect();
            let words = of(&data);
            for (i, word) in words.chunks(4).enumerate() {
                assert_eq!(word, &data[16 * (i % blocks) + 4 * (i / blocks)..][..4]);
            }
        }
    }
}
