//! Where an IV comes from: the values of `--iv`, which differ between commands.

/// Where an IV comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iv {
    /// The command line
    Given([u8; 16]),
    /// The system's random number generator
    Random,
    /// The front of the input
    Stored,
}

/// Parses the `--iv` of `encrypt`.
pub fn parse_to_encrypt(text: &str) -> Result<Iv, String> {
    match text {
        "random" => Ok(Iv::Random),
        "stored" => Err("it is for decryption; `random`, the default, makes a new IV and stores it".into()),
        _ => parse_digits(text),
    }
}

/// Parses the `--iv` of `decrypt`.
pub fn parse_to_decrypt(text: &str) -> Result<Iv, String> {
    match text {
        "stored" => Ok(Iv::Stored),
        "random" => Err("it is for encryption; `stored`, the default, reads the IV that was stored then".into()),
        _ => parse_digits(text).map_err(|error| error.replace("`random`", "`stored`")),
    }
}

/// Parses the `--iv` of `keystream`.
pub fn parse_for_keystream(text: &str) -> Result<Iv, String> {
    match text {
        "random" => Ok(Iv::Random),
        _ => parse_digits(text),
    }
}

fn parse_digits(text: &str) -> Result<Iv, String> {
    // `from_str_radix` alone would accept a sign.
    if !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("an IV is hexadecimal digits and nothing else, or `random`".into());
    }
    if text.len() != 32 {
        return Err(format!("an IV has 32 hexadecimal digits (16 bytes), this has {}", text.len()));
    }
    let iv = u128::from_str_radix(text, 16).map_err(|error| error.to_string())?;
    Ok(Iv::Given(iv.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ivs() {
        let digits = "000102030405060708090a0B0c0D0e0F";
        let given = Ok(Iv::Given(std::array::from_fn(|i| i as u8)));
        for parse in [parse_to_encrypt, parse_to_decrypt, parse_for_keystream] {
            assert_eq!(parse(digits), given);
            for length in (0..=70).filter(|&length| length != 32) {
                assert!(parse(&"0".repeat(length)).is_err(), "{length} digits");
            }
            for text in ["", "00", "+0102030405060708090a0b0c0d0e0f0", "000102030405060708090a0b0c0d0e0f00", "Random"] {
                assert!(parse(text).is_err(), "{text}");
            }
        }
        assert_eq!((parse_to_encrypt("random"), parse_for_keystream("random")), (Ok(Iv::Random), Ok(Iv::Random)));
        assert_eq!(parse_to_decrypt("stored"), Ok(Iv::Stored));
        assert!(parse_to_encrypt("stored").unwrap_err().starts_with("it is for decryption"));
        assert!(parse_to_decrypt("random").unwrap_err().starts_with("it is for encryption"));
        assert!(parse_for_keystream("stored").unwrap_err().ends_with("or `random`"));
        assert!(parse_to_decrypt("x").unwrap_err().ends_with("or `stored`"));
    }
}
