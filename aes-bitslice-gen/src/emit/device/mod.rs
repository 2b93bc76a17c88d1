//! The cipher as a header for CUDA C++: encryption as a function of the device, for kernels of other programs.
//!
//! | file | idea |
//! |---|---|
//! | `column.h`, `state.h` | the function, for each layout |
//! | `expand_key.h` | round keys, on the host |

use super::bitsliced::print::text;
use super::bitsliced::{Parts, parts};
use super::{dialect, header};
use crate::kernel::plan::Plan;
use crate::kernel::spec::KernelSpec;
use crate::sbox::LUT3;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::mode::Mode;
use std::collections::BTreeSet;

/// The namespace of all that the header declares.
const NAMESPACE: &str = "aes_bitslice";

/// Who calls the function, and on what, for the heading.
fn caller(layout: Layout) -> &'static str {
    match layout {
        Layout::Column => "a warp calls it on 256 blocks, of which a thread holds a column of 32",
        Layout::State => "a thread calls it on 32 blocks, whose state it holds",
    }
}

/// The template of the function.
fn template(layout: Layout) -> &'static str {
    match layout {
        Layout::Column => include_str!("column.h"),
        Layout::State => include_str!("state.h"),
    }
}

/// A cipher whose key is given at launch, on data.
fn cipher(layout: Layout) -> (Plan, Parts) {
    let spec = KernelSpec { layout, ..KernelSpec::planes(Mode::EcbEncrypt, &LUT3) };
    let parts = parts(&spec).expect("both layouts have a kernel of ECB");
    (Plan::new(&spec), Parts { batches: vec![], ..parts })
}

/// The header. `command` is the command line that regenerates it.
pub fn print(layout: Layout, command: &str) -> String {
    let (plan, parts) = cipher(layout);
    let parts = Parts { mode: vec![template(layout)], ..parts };
    let text = text(&plan, &parts);
    let rows: Vec<String> = plan.spec.key_basis().rows().iter().map(|row| format!("{row:#010x}")).collect();
    let rows = rows.chunks(8).map(|rows| format!("\n        {},", rows.join(", "))).collect::<String>();
    let expand_key = include_str!("expand_key.h").replace("@KEY_BASIS@", &(rows + "\n    "));
    // A program need not call every function.
    let page = dialect::page(Dialect::Cuda, &text).replace("#define DEVICE ", "#define DEVICE [[maybe_unused]] ");
    // Thread blocks of any size, of whole warps. No kernel is declared.
    let body = format!(
        "\n#pragma once\n\nnamespace {NAMESPACE} {{\n\n#define THREADS blockDim.x\n\n{page}{}\n{expand_key}\n",
        text.as_str()
    );
    let defined = |line: &str| {
        let name = line.trim_start().strip_prefix("#define ")?;
        name.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').next().map(str::to_owned)
    };
    let names: BTreeSet<String> = body.lines().filter_map(defined).collect();
    let undefined: String = names.into_iter().map(|name| format!("#undef {name}\n")).collect();
    let body = format!("{body}{undefined}\n}} // namespace {NAMESPACE}\n");
    header::with_heading(
        [
            &format!("{}{command}", header::COMMAND),
            "AES encryption as a function of the device, for kernels of CUDA C++ that call it on blocks in registers.",
            &format!("Layout: {}.", caller(layout)),
            "",
            "  host     round_keys keys; expand_key(&keys, key, 16); then launch with `keys` as an argument: const __grid_constant__ round_keys keys",
            "  kernel   __shared__ key_memory memory; const cipher_key key = share_keys(&memory, &keys); all threads of the thread block",
            "           encrypt(words, key);",
            "",
            &format!(
                "All names are in the namespace `{NAMESPACE}`; macros end with the file. No branch and no address depends on key or data."
            ),
        ],
        &body,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::emit::bitsliced::print::print_parts;
    use crate::stored::PUBLISHED_KEY;

    /// The kernel of ECB, with its calls of the cipher replaced by calls of the header's function, is ECB.
    #[test]
    fn encrypts() {
        let calls = [
            (Layout::Column, "cipher_of_words(s, key);", "encrypt(s, key);"),
            (Layout::Column, "words_of_planes(s, key.last);", ""),
            (Layout::State, "transpose_state(s);\n    cipher(s@KEY@);\n    transpose_state(s);", "encrypt(s, key);"),
        ];
        for layout in Layout::ALL {
            let (plan, mut parts) = cipher(layout);
            let mut kernels = parts.mode.pop().expect("entry points").to_owned();
            for (_, call, ours) in calls.into_iter().filter(|(of, ..)| *of == layout) {
                assert_eq!(kernels.matches(call).count(), 2, "{call}");
                kernels = kernels.replace(call, ours);
            }
            parts.mode.extend([template(layout), kernels.leak()]);
            let printed = print_parts(&plan, &parts, Dialect::Cuda, "a test");
            check::printed(&printed.source, &printed.manifest, &PUBLISHED_KEY).unwrap();
        }
    }
}
