//! `keygen`: a random key in a new file that only its owner may read, or on standard output for a program that stores it.

use std::io::Write;

use aes_bitslice_runtime::{Key, KeyBits};
use zeroize::Zeroizing;

use crate::args::key::KeygenArgs;
use crate::error::{Error, Exit, Result};
use crate::output::{Options, Target};

/// Writes a key of `--bits` bits, or two for XTS, from the operating system's generator as hexadecimal digits and a newline.
pub fn run(args: &KeygenArgs) -> Result<()> {
    if args.xts && args.bits == KeyBits::Aes192 {
        return Err(Error::usage("there is no XTS with keys of 192 bits; use --bits 128 or --bits 256"));
    }
    let key = if args.xts { Key::generate_xts(args.bits)? } else { Key::generate(args.bits)? };
    let mut text = Zeroizing::new(vec![b'\n'; 2 * key.expose().len() + 1]);
    // The time does not depend on the key.
    let encoded = base16ct::lower::encode(key.expose(), &mut text);
    encoded.map_err(|error| Error::new(Exit::Failure, format!("the key cannot be written: {error}")))?;
    let output = Target::check(Some(&args.output), None, Options { force: false, private: true })?.open()?;
    output.writer()?.write_all(&text).map_err(|error| output.error(&error))?;
    output.finish()?.show(false);
    Ok(())
}
