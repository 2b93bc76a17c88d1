//! `keygen`: a random key in a new file that only its owner may read.

use std::io::Write;

use aes_bitslice_runtime::Key;
use zeroize::Zeroizing;

use crate::args::key::KeygenArgs;
use crate::error::{Result, warn};
use crate::output::{Options, Target};

/// Writes a key of `--bits` bits from the operating system's generator as hexadecimal digits and a newline.
pub fn run(args: &KeygenArgs) -> Result<()> {
    let key = Key::generate(args.bits)?;
    let digits = key.expose().iter().flat_map(|byte| [hex_digit(byte >> 4), hex_digit(byte & 15)]);
    // Room for all of it at once: growing would leave copies behind.
    let mut text = Zeroizing::new(Vec::with_capacity(2 * args.bits.bytes() + 1));
    text.extend(digits);
    text.push(b'\n');
    let output = Target::check(Some(&args.output), None, Options { force: false, private: true })?.open()?;
    output.writer()?.write_all(&text).map_err(|error| output.error(&error))?;
    output.finish()?.iter().for_each(|warning| warn(warning));
    Ok(())
}

/// The digit of `nibble` (0 to 15), computed without a branch or a table.
fn hex_digit(nibble: u8) -> u8 {
    let is_letter = 9_u8.wrapping_sub(nibble) >> 7;
    b'0' + nibble + is_letter * (b'a' - b'0' - 10)
}

#[cfg(test)]
mod tests {
    #[test]
    fn digits_are_hexadecimal() {
        for nibble in 0..16 {
            assert_eq!(char::from(super::hex_digit(nibble)).to_digit(16), Some(u32::from(nibble)));
        }
        assert_eq!(super::hex_digit(15), b'f');
    }
}
