//! Filling and comparing host memory on all cores.

use aes_bitslice_runtime::at_once;
use std::thread;

/// Bytes of the chunks in which all cores share work on this many bytes; fewer are not worth a thread.
fn chunk_bytes(bytes: usize) -> usize {
    const SMALLEST: usize = 1 << 20;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    bytes.div_ceil(threads).max(SMALLEST)
}

/// Fills a buffer with the first bytes of an input, or with zeros.
pub fn refill(buffer: &mut [u8], input: Option<&[u8]>) {
    let chunk_bytes = chunk_bytes(buffer.len());
    let fill = |(index, chunk): (usize, &mut [u8])| match input {
        Some(input) => chunk.copy_from_slice(&input[index * chunk_bytes..][..chunk.len()]),
        None => chunk.fill(0),
    };
    if buffer.len() <= chunk_bytes {
        return fill((0, buffer));
    }
    at_once(buffer.chunks_mut(chunk_bytes).enumerate(), fill);
}

/// Where two buffers of the same length begin to differ.
pub fn first_difference(ours: &[u8], theirs: &[u8]) -> Option<usize> {
    assert_eq!(ours.len(), theirs.len());
    let chunk_bytes = chunk_bytes(ours.len());
    let in_chunk = |(index, (ours, theirs)): (usize, (&[u8], &[u8]))| {
        // Comparing slices is far faster than comparing bytes, and most are equal.
        let differ = (ours != theirs).then(|| ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs));
        differ.flatten().map(|at| index * chunk_bytes + at)
    };
    let chunks = ours.chunks(chunk_bytes).zip(theirs.chunks(chunk_bytes)).enumerate();
    at_once(chunks, in_chunk).into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_filled_to_their_ends() {
        for len in [0, 1, (1 << 20) - 1, (2 << 20) + 1, (5 << 20) + 3] {
            let input: Vec<u8> = (0..len).map(|i| (i % 251) as u8 + 1).collect();
            let mut buffer = vec![0; len];
            refill(&mut buffer, Some(&input));
            assert!(buffer == input, "{len}");
            refill(&mut buffer, None);
            assert!(buffer == vec![0; len], "{len}");
        }
    }

    #[test]
    fn the_first_difference_is_found_in_any_chunk() {
        let ours = vec![5; (5 << 20) + 3];
        assert_eq!(first_difference(&ours, &ours), None);
        assert_eq!(first_difference(&[], &[]), None);
        let mut theirs = ours.clone();
        for at in [(5 << 20) + 2, (4 << 20) - 1, 1 << 20, 0] {
            theirs[at] = 6;
            assert_eq!(first_difference(&ours, &theirs), Some(at));
        }
    }
}
