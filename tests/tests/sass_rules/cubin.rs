//! A cubin, which is an ELF file: where the machine code of an entry point is, and how many registers a thread of it has.

use std::ops::Range;

/// An entry point in a cubin.
pub struct Place {
    /// Its machine code, in bytes of the file.
    pub code: Range<usize>,
    /// General registers that its code may name.
    pub registers: usize,
}

/// The attribute of `.nv.info` that has the number of registers of a function; the last two are not the code's.
const REGISTERS: [u8; 4] = [0x04, 0x2f, 8, 0];

fn number(bytes: &[u8], at: usize, size: usize) -> usize {
    let mut number = [0; 8];
    number[..size].copy_from_slice(&bytes[at..at + size]);
    u64::from_le_bytes(number) as usize
}

/// Finds an entry point.
///
/// # Panics
/// If the file has none of this name.
pub fn find(cubin: &[u8], entry: &str) -> Place {
    let headers = number(cubin, 0x28, 8);
    let [size, count, names] = [0x3a, 0x3c, 0x3e].map(|at| number(cubin, at, 2));
    let header = |n: usize| &cubin[headers + n * size..][..size];
    let range = |header: &[u8]| {
        let start = number(header, 0x18, 8);
        start..start + number(header, 0x20, 8)
    };
    let names = &cubin[range(header(names))];
    let section = |name: &str| {
        let is_it = |header: &&[u8]| names[number(header, 0, 4)..].starts_with(&[name.as_bytes(), b"\0"].concat());
        (0..count).map(header).find(is_it).unwrap_or_else(|| panic!("a section {name}"))
    };
    let text = section(&format!(".text.{entry}"));
    // The lowest bits of what a section of code says of itself are the number of the function's symbol.
    let symbol = number(text, 0x2c, 4) & 0xff_ffff;
    let info = &cubin[range(section(".nv.info"))];
    let wanted = [&REGISTERS[..], &(symbol as u32).to_le_bytes()].concat();
    let at = info.windows(8).position(|window| window == wanted).expect("a number of registers");
    Place { code: range(text), registers: number(info, at + 8, 4) - 2 }
}
