//! The name by which programs load the shared library: it has the ABI's version, so that a program never gets another.

use std::{env, fs};

/// The line of the header that tells the ABI's version.
const VERSION: &str = "#define AES_BITSLICE_ABI_VERSION ";

fn main() {
    let header = "include/aes_bitslice.h";
    println!("cargo::rerun-if-changed={header}");
    let text = fs::read_to_string(header).expect("the header is checked in");
    let version = text.lines().find_map(|line| line.strip_prefix(VERSION)).expect("it tells the version");
    let argument = match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        // The engine's threads live as long as the process: their code is never unloaded.
        Ok("linux") => format!("-Wl,-soname,libaes_bitslice.so.{version},-z,nodelete"),
        Ok("macos") => format!("-Wl,-install_name,@rpath/libaes_bitslice.{version}.dylib"),
        _ => return,
    };
    println!("cargo::rustc-cdylib-link-arg={argument}");
}
