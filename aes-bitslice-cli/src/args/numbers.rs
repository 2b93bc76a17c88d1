//! Sizes and numbers within bounds, as they are written on the command line.

use std::result::Result;

use aes_bitslice_runtime::KeyBits;

/// The length of a key in bits.
pub fn parse_key_bits(text: &str) -> Result<KeyBits, String> {
    let known = |bits: &KeyBits| bits.bits().to_string() == text;
    KeyBits::ALL.into_iter().find(known).ok_or_else(|| "an AES key has 128, 192 or 256 bits".into())
}

/// A positive number of bytes that is whole blocks.
pub fn parse_whole_blocks(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(bytes) if (1..=64 << 20).contains(&bytes) && bytes.is_multiple_of(16) => Ok(bytes),
        _ => Err("a positive multiple of 16 is needed, up to 67108864".into()),
    }
}

/// A number within bounds.
pub fn parse_in<const LEAST: usize, const MOST: usize>(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| format!("{LEAST} to {MOST} are possible"))
}

/// A positive number of bytes that is whole blocks, with or without a unit.
pub fn parse_size(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let unit = units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    let (number, shift) = unit.unwrap_or((text, 0));
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(1_usize << shift));
    match bytes {
        Some(bytes) if bytes > 0 && bytes.is_multiple_of(16) => Ok(bytes),
        _ => Err("a size is a positive multiple of 16 bytes, such as 4096, 64MiB or 1GiB".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [("16", 16), ("4096", 4096), ("1KiB", 1 << 10), ("3MiB", 3 << 20), ("1GiB", 1 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes));
        }
        for text in ["", "0", "15", "-16", "16 ", "1KB", "MiB", "1.5MiB", "99999999999TiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
