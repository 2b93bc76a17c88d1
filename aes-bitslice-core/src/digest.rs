//! SHA-256 in hexadecimal: of generated sources and of kernels' output.

use sha2::{Digest, Sha256};

/// SHA-256 of a text, in hexadecimal.
pub fn of_text(text: &str) -> String {
    of_bytes(text.as_bytes())
}

/// SHA-256 of bytes, in hexadecimal.
pub fn of_bytes(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
