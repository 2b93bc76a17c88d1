//! The shared library that cargo built with this test, and the header.

use std::path::{Path, PathBuf};

/// The shared library, which is next to the test's own program.
pub fn library() -> PathBuf {
    let program = std::env::current_exe().expect("a test has a program");
    let library = program.with_file_name("libaes_bitslice.so");
    assert!(library.exists(), "cargo builds {} with the tests", library.display());
    library
}

/// A file of this crate.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}
