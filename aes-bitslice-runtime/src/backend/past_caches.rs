//! A copy to memory that will not be read soon. It bypasses the caches, so that the processor need not read what it
//! overwrites.

/// Copies `from` to `to`, which have the same length.
///
/// # Panics
/// If the lengths differ.
pub(crate) fn past_caches(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
        let head = to.as_ptr().align_offset(64).min(to.len());
        let (from_head, from) = from.split_at(head);
        let (to_head, to) = to.split_at_mut(head);
        to_head.copy_from_slice(from_head);
        let (lines_from, from_tail) = from.as_chunks::<64>();
        let (lines_to, to_tail) = to.as_chunks_mut::<64>();
        for (from, to) in lines_from.iter().zip(lines_to) {
            let (from, to) = (from.as_ptr().cast::<__m128i>(), to.as_mut_ptr().cast::<__m128i>());
            for i in 0..4 {
                // SAFETY: each line has room for four vectors; the lines written begin at multiples of 64 bytes.
                unsafe { _mm_stream_si128(to.add(i), _mm_loadu_si128(from.add(i))) };
            }
        }
        // Before any other thread learns that the data is there.
        // SAFETY: every x86-64 processor has this instruction.
        unsafe { _mm_sfence() };
        to_tail.copy_from_slice(from_tail);
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_no_other_is_copied() {
        let from: Vec<u8> = (0..1000).map(|i| (i * 7 / 3) as u8 | 1).collect();
        for start in 0..70 {
            for len in [0, 1, 15, 63, 64, 65, 127, 128, 500] {
                let mut to = vec![0; 1000];
                past_caches(&from[3..3 + len], &mut to[start..start + len]);
                assert_eq!(to[start..start + len], from[3..3 + len]);
                assert!(to[..start].iter().chain(&to[start + len..]).all(|&byte| byte == 0));
            }
        }
    }
}
