//! What kind of file it is, and who may use it. Who may use a new one: `aes_bitslice_seal::access`.

use std::fs::Metadata;

/// The warning about a file that should be its owner's alone; `None` if it is.
#[cfg(unix)]
pub fn exposure(metadata: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let may = |bits: u32| metadata.is_file() && metadata.mode() & bits != 0;
    let what = match (may(0o044), may(0o022)) {
        (false, false) => return None,
        (true, false) => "read",
        (false, true) => "written",
        (true, true) => "read and written",
    };
    Some(format!("can be {what} by other users; run `chmod 600` on it"))
}

/// Elsewhere it is not known.
#[cfg(not(unix))]
pub fn exposure(_metadata: &Metadata) -> Option<String> {
    None
}
