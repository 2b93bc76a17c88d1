//! Keys for the measurements.

use aes_bitslice_runtime::Key;

use crate::args::bench::BenchArgs;
use crate::error::Result;

/// Random keys of the requested lengths: one of each for all modes that take it. A mode without keys of a length is `skipped`.
pub fn keys(args: &BenchArgs, skipped: &mut Vec<String>) -> Result<Vec<Key>> {
    let mut keys: Vec<Key> = Vec::new();
    for &bits in &args.key_bits {
        let before = keys.len();
        for mode in args.modes() {
            if !mode.has_keys_of(bits) {
                skipped.push(format!("{} with keys of {} bits: there are none", mode.name, bits.bits()));
            } else if !keys[before..].iter().any(|key| mode.takes(key)) {
                keys.push(mode.generate_key(bits)?);
            }
        }
    }
    Ok(keys)
}
