//! PKCS #7 padding (RFC 5652, section 6.3).

use cipher::block_padding::{Padding as _, Pkcs7};

use crate::chunk::BLOCK;
use crate::error::{Error, Result};

/// Pads the first `length` bytes of `memory`. Returns how many there are then.
pub fn pad(memory: &mut [u8], length: usize) -> usize {
    let filled = length % BLOCK;
    let start = length - filled;
    Pkcs7::raw_pad(&mut memory[start..start + BLOCK], filled);
    start + BLOCK
}

/// Returns how many bytes are left without the padding of the last block. Does not tell why padding is bad.
pub fn unpad(data: &[u8]) -> Result<usize> {
    let length = data.last_chunk::<BLOCK>().and_then(|block| {
        let message = Pkcs7::raw_unpad(block).ok()?;
        Some(data.len() - BLOCK + message.len())
    });
    length.ok_or_else(|| Error::damaged("bad padding: the wrong key, or the data is damaged or was never padded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_comes_off_again() {
        for length in 0..=64 {
            let message: Vec<u8> = (0..length).collect();
            // The old contents must not show.
            let mut memory = message.clone();
            memory.resize(message.len() + BLOCK, 0xee);
            let padded = pad(&mut memory, message.len());
            assert_eq!(padded, (message.len() / BLOCK + 1) * BLOCK);
            let unpadded = unpad(&memory[..padded]).unwrap();
            assert_eq!(memory[..unpadded], message);
        }
    }

    #[test]
    fn bad_padding_is_one_message() {
        let mut messages = std::collections::BTreeSet::new();
        let mut ends_of_2_and_1 = vec![7; 16];
        ends_of_2_and_1[14..].copy_from_slice(&[1, 2]);
        for data in [vec![], vec![0; 16], vec![17; 16], vec![255; 32], ends_of_2_and_1] {
            messages.insert(unpad(&data).unwrap_err().message().to_string());
        }
        assert_eq!(messages.len(), 1);
    }
}
