//! The sizes of an entry point's parameters, according to its code: machine code has them in notes to each function,
//! PTX in the function's head.
//!
//! Asking the driver would not do: before CUDA 13.2 it reveals their number only through the error for a parameter that
//! does not exist.

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};
use std::collections::BTreeMap;

/// The size of each parameter of an entry point in bytes, in order; `None` if this is not code that has the entry
/// point. `image` is machine code (a cubin) or PTX.
pub(crate) fn sizes(image: &[u8], entry: &str) -> Option<Vec<usize>> {
    if image.starts_with(b"\x7fELF") {
        of_machine_code(image, entry)
    } else {
        of_ptx(std::str::from_utf8(image).ok()?, entry)
    }
}

/// Each function's notes are a separate section. A note is a byte for its form, a byte for its subject, and two bytes:
/// its value or, in one form, the number of bytes of the value that follows.
fn of_machine_code(code: &[u8], entry: &str) -> Option<Vec<usize>> {
    const VALUE_FOLLOWS: u8 = 4;
    const PARAMETER: u8 = 0x17;
    let file = ElfFile64::<Endianness>::parse(code).ok()?;
    let mut notes = file.section_by_name(&format!(".nv.info.{entry}"))?.data().ok()?;
    let mut sizes = BTreeMap::new();
    while let [form, about, low, high, after @ ..] = notes {
        let len = if *form == VALUE_FOLLOWS { u16::from_le_bytes([*low, *high]) } else { 0 };
        let (value, rest) = after.split_at_checked(len.into())?;
        if (*form, *about) == (VALUE_FOLLOWS, PARAMETER) {
            // Four bytes that do not matter here, its number, its offset, and its size from bit 18 on.
            let &[_, _, _, _, n0, n1, _, _, s0, s1, s2, s3] = value else { return None };
            sizes.insert(u16::from_le_bytes([n0, n1]), (u32::from_le_bytes([s0, s1, s2, s3]) >> 18) as usize);
        }
        notes = rest;
    }
    let is_whole = sizes.keys().copied().eq(0..sizes.len() as u16);
    is_whole.then(|| sizes.into_values().collect())
}

/// A parameter has the form `.param .u64 name` or `.param .align 4 .b8 name[16]`.
fn of_ptx(text: &str, entry: &str) -> Option<Vec<usize>> {
    let begin = format!(".entry {entry}(");
    let list = &text[text.find(&begin)? + begin.len()..];
    let list = list[..list.find(')')?].trim();
    let parameters = list.split(',').filter(|_| !list.is_empty());
    parameters.map(|parameter| parameter.trim().strip_prefix(".param ").and_then(size_in_ptx)).collect()
}

fn size_in_ptx(parameter: &str) -> Option<usize> {
    let bits = |word: &str| word.strip_prefix(['b', 'u', 's', 'f'])?.parse::<usize>().ok();
    let of_one = parameter.split_whitespace().find_map(|word| bits(word.strip_prefix('.')?))? / 8;
    match parameter.split_once('[') {
        Some((_, len)) => Some(of_one * len.strip_suffix(']')?.parse::<usize>().ok()?),
        None => Some(of_one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::manifest::{Hash, Manifest};

    #[test]
    fn the_code_of_every_stored_kernel_takes_what_its_manifest_says() {
        let ciphers = aes_bitslice_kernels::KERNELS
            .iter()
            .map(|kernel| (kernel.cubins, kernel.ptx, <Manifest>::parse(kernel.manifest).unwrap().entries));
        let hashes = aes_bitslice_kernels::HASHES.iter().map(|kernel| {
            let manifest = Manifest::<Hash>::parse(kernel.manifest).unwrap();
            (kernel.cubins, kernel.ptx.unwrap_or_default(), manifest.entries)
        });
        let mut found = 0;
        for (cubins, ptx, entries) in ciphers.chain(hashes) {
            let images = cubins.iter().map(|(_, code)| *code).chain([ptx.as_bytes()]);
            for image in images.filter(|image| !image.is_empty()) {
                for entry in entries.values() {
                    let said: Vec<usize> = entry.parameters.iter().map(|p| p.kind.cuda_bytes()).collect();
                    assert_eq!(sizes(image, &entry.name), Some(said), "{entry}");
                    found += 1;
                }
                assert_eq!(sizes(image, "another"), None);
            }
        }
        assert!(found > 0);
    }

    #[test]
    fn parameters_of_every_form_are_read_in_ptx() {
        let ptx = ".visible .entry k(\n\t.param .u64 .ptr .global .align 1 k_param_0,\n\t.param .u32 k_param_1,\n\t\
                   .param .align 4 .b8 k_param_2[244]\n)\n.visible .entry k_bytes()\n.visible .entry odd(.param .pred p)";
        assert_eq!(sizes(ptx.as_bytes(), "k"), Some(vec![8, 4, 244]));
        assert_eq!(sizes(ptx.as_bytes(), "k_bytes"), Some(vec![]));
        assert_eq!(sizes(ptx.as_bytes(), "odd"), None);
    }

    #[test]
    fn what_is_no_code_says_nothing() {
        let cubin =
            aes_bitslice_kernels::KERNELS.iter().flat_map(|kernel| kernel.cubins).find(|(_, code)| !code.is_empty());
        let (_, cubin) = cubin.unwrap();
        for image in [&b""[..], b"\x7fELF", b"\xff", &cubin[..cubin.len() / 2]] {
            assert_eq!(sizes(image, "aes_ctr_planes"), None);
        }
    }
}
