//! What kind of file it is, and who may use it. Who may use a new one: `aes_bitslice_seal::access`.

use std::fs::Metadata;

/// The warning about the file `name` that should be its owner's alone; `None` if it is. Standard input may be a file, too.
#[cfg(unix)]
pub fn exposure(name: &str, metadata: &Metadata, is_standard_input: bool) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let may = |bits: u32| metadata.is_file() && metadata.mode() & bits != 0;
    let what = match (may(0o044), may(0o022)) {
        (false, false) => return None,
        (true, false) => "read",
        (false, true) => "written",
        (true, true) => "read and written",
    };
    let file = if is_standard_input { "the file that it comes from" } else { "it" };
    Some(format!("{name} can be {what} by other users; run `chmod 600` on {file}"))
}

/// Elsewhere it is not known.
#[cfg(not(unix))]
pub fn exposure(_name: &str, _metadata: &Metadata, _is_standard_input: bool) -> Option<String> {
    None
}
