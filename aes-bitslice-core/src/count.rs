//! Numbers of things in messages: one byte, two bytes.

use std::fmt::Display;

/// The number and the noun, with an `s` if there is not exactly one.
pub fn counted(number: impl Display, noun: &str) -> String {
    let number = number.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        let words = [counted(0, "byte"), counted(1_u64, "byte"), counted(2_u128, "byte"), counted(11, "byte")];
        assert_eq!(words, ["0 bytes", "1 byte", "2 bytes", "11 bytes"]);
    }
}
