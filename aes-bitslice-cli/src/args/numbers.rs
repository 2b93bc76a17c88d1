//! Sizes and numbers within bounds, as they are written on the command line.

use std::result::Result;

use aes_bitslice_runtime::KeyBits;

/// The length of a key in bits.
pub fn parse_key_bits(text: &str) -> Result<KeyBits, String> {
    let known = |bits: &KeyBits| bits.bits().to_string() == text;
    KeyBits::ALL.into_iter().find(known).ok_or_else(|| "an AES key has 128, 192 or 256 bits".into())
}

/// A number within bounds.
pub fn parse_in<T: TryFrom<usize>, const LEAST: usize, const MOST: usize>(text: &str) -> Result<T, String> {
    // `parse` alone would accept a sign.
    let is_number = text.bytes().all(|digit| digit.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_number && (LEAST..=MOST).contains(number));
    number.and_then(|number| number.try_into().ok()).ok_or_else(|| format!("{LEAST} to {MOST} are possible"))
}

/// A positive number of bytes, with or without a unit.
pub fn parse_size(text: &str) -> Result<usize, String> {
    match with_unit(text).and_then(|bytes| usize::try_from(bytes).ok()) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err("a size is a positive number of bytes, less than 2^64, such as 1500, 64MiB or 1GiB".into()),
    }
}

/// The bytes of a chunk, with or without a unit.
pub fn parse_chunk_bytes(text: &str) -> Result<usize, String> {
    parse_size(text)
        .ok()
        .filter(|&bytes| bytes <= 64 << 20 && bytes.is_multiple_of(16))
        .ok_or_else(|| "a chunk is a positive multiple of 16 bytes, at most 64MiB, such as 4096, 64KiB or 4MiB".into())
}

/// Any number of bytes, with or without a unit.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    with_unit(text)
        .ok_or_else(|| "a number of bytes is needed, from 0 on and less than 2^64, such as 1000, 64MiB or 1GiB".into())
}

/// The bytes of a sector, with or without a unit.
pub fn parse_sector_size(text: &str) -> Result<u64, String> {
    let bytes = with_unit(text).filter(|bytes| (16..=16 << 20).contains(bytes));
    bytes.ok_or_else(|| "a sector has 16 bytes to 16MiB, such as 512 or 4KiB".into())
}

/// Reads the size of a sector of whole blocks, in bytes.
pub fn parse_sector_blocks(text: &str) -> Result<u64, String> {
    let bytes = with_unit(text).filter(|bytes| (16..=16 << 20).contains(bytes) && bytes.is_multiple_of(16));
    bytes.ok_or_else(|| {
        "what is measured are sectors of whole blocks: a multiple of 16 bytes up to 16MiB, such as 512 or 4KiB".into()
    })
}

/// The number of a sector, with 2^64 more after it.
pub fn parse_sector(text: &str) -> Result<u128, String> {
    let number = text.parse::<u128>().ok().filter(|_| text.bytes().all(|digit| digit.is_ascii_digit()));
    let number = number.filter(|number| number.checked_add(1 << 64).is_some());
    number.ok_or_else(|| "the number of a sector is a decimal number from 0 on, less than 2^128 - 2^64".into())
}

/// The text before the unit, if there is one, and the unit as a power of two.
pub fn split_unit(text: &str) -> (&str, u32) {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let unit = units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    unit.unwrap_or((text, 0))
}

fn with_unit(text: &str) -> Option<u64> {
    let (number, shift) = split_unit(text);
    // `parse` alone would accept a sign.
    let number = number.parse::<u64>().ok().filter(|_| number.bytes().all(|digit| digit.is_ascii_digit()))?;
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("1", 1), ("1500", 1500), ("4096", 4096), ("1KiB", 1 << 10), ("3MiB", 3 << 20), ("1GiB", 1 << 30)]
        {
            assert_eq!(parse_size(text), Ok(bytes));
        }
        for text in ["", "0", "-16", "16 ", "1KB", "MiB", "1.5MiB", "99999999999TiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn limits() {
        let parse = parse_in::<u32, 5, 3600>;
        for (text, number) in
            [("5", Some(5)), ("3600", Some(3600)), ("4", None), ("3601", None), ("+5", None), ("", None)]
        {
            assert_eq!(parse(text).ok(), number, "{text}");
        }
        assert!(parse_in::<u8, 0, 300>("256").is_err() && parse("18446744073709551621").is_err());
        for (text, bits) in
            [("128", Some(128)), ("192", Some(192)), ("256", Some(256)), ("127", None), ("0128", None), ("512", None)]
        {
            assert_eq!(parse_key_bits(text).ok().map(KeyBits::bits), bits, "{text}");
        }
        assert_eq!(parse_size("18446744073709551615"), Ok(usize::MAX));
        for text in ["18446744073709551616", "+16"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        for (shift, unit) in [(10, "KiB"), (20, "MiB"), (30, "GiB"), (40, "TiB")] {
            let most = u64::MAX >> shift;
            assert_eq!(parse_bytes(&format!("{most}{unit}")), Ok(most << shift));
            assert!(parse_bytes(&format!("{}{unit}", most + 1)).is_err(), "{unit}");
            assert_eq!(split_unit(&format!("3{unit}")), ("3", shift));
        }
        assert_eq!(parse_chunk_bytes("67108864"), Ok(64 << 20));
        assert_eq!((parse_sector_size("16777216"), parse_sector_blocks("16777216")), (Ok(1 << 24), Ok(1 << 24)));
        assert!(parse_sector_blocks("16777232").is_err());
    }

    #[test]
    fn chunks() {
        for (text, bytes) in [("16", 16), ("4096", 4096), ("64KiB", 1 << 16), ("64MiB", 1 << 26)] {
            assert_eq!(parse_chunk_bytes(text), Ok(bytes));
        }
        for text in ["", "0", "15", "-16", "65MiB", "67108880", "1GiB", "64KB"] {
            assert!(parse_chunk_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sectors() {
        for (text, bytes) in [("16", 16), ("520", 520), ("4KiB", 4096), ("16MiB", 1 << 24)] {
            assert_eq!(parse_sector_size(text), Ok(bytes));
        }
        for text in ["", "0", "15", "17MiB", "16777217", "-512", "512B"] {
            assert!(parse_sector_size(text).is_err(), "{text}");
        }
        for (text, bytes) in [("16", 16), ("528", 528), ("16MiB", 1 << 24)] {
            assert_eq!(parse_sector_blocks(text), Ok(bytes));
        }
        for text in ["", "0", "15", "17", "520", "17MiB"] {
            assert!(parse_sector_blocks(text).is_err(), "{text}");
        }
        let most = u128::MAX - (1 << 64);
        for number in [0, 1, most] {
            assert_eq!(parse_sector(&number.to_string()), Ok(number));
        }
        for text in ["", "-1", "+1", "1KiB", "0x10", &(most + 1).to_string(), &format!("{}0", u128::MAX)] {
            assert!(parse_sector(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_of_bytes() {
        for (text, bytes) in [("0", 0), ("1", 1), ("17", 17), ("3KiB", 3 << 10), ("16TiB", 16 << 40)] {
            assert_eq!(parse_bytes(text), Ok(bytes));
        }
        assert_eq!(parse_bytes("18446744073709551615"), Ok(u64::MAX));
        for text in ["", "-1", "+1", "1 ", "1KB", "MiB", "1.5MiB", "18446744073709551616", "16777216TiB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
