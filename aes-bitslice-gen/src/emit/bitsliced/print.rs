//! A bitsliced kernel as one text, and its manifest.

use super::cipher::{cipher, function, is_called, renamed};
use super::parts::{Geometry, Parts, TWEAK};
use super::{modes, own_keys};
use crate::emit::no_such_kernel::NoSuchKernel;
use crate::emit::{dialect, header, manifest};
use crate::kernel::plan::Plan;
use crate::kernel::spec::{DataPath, Layers};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::layout::{Layout, MAX_ROUNDS};
use aes_bitslice_core::manifest::Printed;
use std::fmt::Write;
use zeroize::Zeroizing;

/// The maximum number of threads per work-group: many OpenCL devices support no more, and where one does, its compiler may use too many
/// registers for more threads to fit.
const WORK_GROUP: u32 = 256;
/// The maximum number of threads per work-group of a kernel with tweaks, whose warps fill a local memory of 48 KiB.
const WORK_GROUP_WITH_TWEAKS: u32 = 64;

/// Prints a kernel with the fastest geometry. `command` is the command line that regenerates it.
///
/// # Errors
/// [`NoSuchKernel`] if the mode has no kernel with this strategy in this layout.
pub fn print(plan: &Plan, dialect: Dialect, command: &str) -> Result<Printed, NoSuchKernel> {
    let parts = modes::parts(&plan.spec).ok_or_else(|| NoSuchKernel::bitsliced(&plan.spec))?;
    let work_group = if parts.tweak_bytes > 0 { WORK_GROUP_WITH_TWEAKS } else { WORK_GROUP };
    let parts = match dialect {
        Dialect::Cuda => parts,
        Dialect::OpenCl => Parts { batches: vec![], ..parts.in_work_groups_of(work_group) },
    };
    Ok(print_parts(plan, &parts, dialect, command))
}

/// Prints a kernel from a plan and parts. `command` is the command line that regenerates it.
///
/// # Panics
/// Where [`source`] panics, and if the templates' entry points have parameters of forms unknown to [`aes_bitslice_core::signature`].
pub fn print_parts(plan: &Plan, parts: &Parts, dialect: Dialect, command: &str) -> Printed {
    let source = Zeroizing::new(source(plan, parts, dialect, command));
    let manifest = manifest::bitsliced(plan, parts, dialect, &source);
    Printed { source, manifest }
}

/// The source of a bitsliced kernel, heading included. `command` is the command line that regenerates it.
///
/// With a key baked in, the text is the key: it is built without leaving copies behind, and the caller must wipe it.
///
/// # Panics
/// If the threads per block are not whole warps, 32 to 1024.
pub fn source(plan: &Plan, parts: &Parts, dialect: Dialect, command: &str) -> String {
    let Geometry { threads, blocks_per_sm, .. } = parts.geometry;
    assert!(threads % 32 == 0 && (32..=1024).contains(&threads), "{threads} threads a block");
    let body = body(plan, parts, dialect);
    let spec = &plan.spec;
    let unit = match spec.layers {
        Layers::Fewest => "of LUT3",
        Layers::Published => "of two inputs",
    };
    let rounds = |r: usize| format!("{} {unit} for {r} rounds", plan.gates_executed(r));
    let mut lines = Vec::new();
    if spec.round_keys.baked().is_some() {
        lines.push(
            "THIS FILE IS THE KEY: the round keys are baked into its code. Guard it as you guard the key.".into(),
        );
    }
    lines.push(format!("{}{command}", header::COMMAND));
    lines.push(format!("Kernel: {}, {}.", parts.name, parts.what));
    lines.push(format!("Mode: {}; round keys: {}; S-box: {}.", spec.mode, parts.strategy, spec.sbox.name));
    lines.push(match spec.layout {
        Layout::State if spec.data == DataPath::Staged => {
            "Layout: a thread holds the state of 32 blocks, which come and go through shared memory.".into()
        }
        Layout::State => "Layout: a thread holds the state of 32 blocks.".into(),
        Layout::Column => "Layout: a thread holds a column of 32 blocks, four threads the state.".into(),
    });
    lines.push(format!("Bytes between rounds: z = Q x, bit i of z being the parity of x & Q[i]; Q = {}.", spec.basis));
    lines.push(format!("Geometry: {threads} threads a block, {blocks_per_sm} blocks a multiprocessor."));
    let counts: Vec<String> = match plan.rounds() {
        Some(r) => vec![rounds(r)],
        None => KeyBits::ALL.iter().map(|k| rounds(k.rounds())).collect(),
    };
    lines.push(match spec.layers {
        Layers::Fewest => format!("Lookup tables: {}.", counts.join(", ")),
        Layers::Published => format!("Gates, which the compiler may merge: {}.", counts.join(", ")),
    });
    header::with_heading(lines.iter().map(String::as_str), &body)
}

fn body(plan: &Plan, parts: &Parts, dialect: Dialect) -> Zeroizing<String> {
    let text = text(plan, parts);
    let Geometry { threads, blocks_per_sm, .. } = parts.geometry;
    let mut geometry = format!("\n#define THREADS {threads}\n#define BLOCKS_PER_SM {blocks_per_sm}\n\n");
    if parts.tweak_bytes > 0 {
        let _ = writeln!(geometry, "#define SHARED_BYTES {}\n", parts.shared_bytes());
    }
    for (name, value) in &parts.definitions {
        let _ = writeln!(geometry, "#define {name} {value}");
    }
    geometry += &dialect::page(dialect, &text);
    Zeroizing::new([&geometry, text.as_str()].concat())
}

/// What follows the page of the dialect: templates, circuits, the cipher, and the templates of the mode.
pub(in crate::emit) fn text(plan: &Plan, parts: &Parts) -> Zeroizing<String> {
    // Allocated in full up front: growing would leave copies behind. A gate is a line of at most 80 bytes.
    let gates: usize = plan.functions.iter().map(|f| f.circuit.gates().len() + 64).sum();
    let ciphers = if parts.tweak_bytes > 0 { 2 } else { 1 };
    let mut text = Zeroizing::new(String::with_capacity((128 << 10) + 80 * ciphers * gates));
    let room = text.capacity();
    for template in [modes::TRANSPOSE].iter().chain(&parts.planes) {
        *text += "\n";
        *text += template;
    }
    if parts.access.shared {
        let _ = writeln!(text, "\n#define MAX_ROUNDS {}\n", plan.rounds().unwrap_or(MAX_ROUNDS));
        parts.fill(parts.keys, &mut text);
        *text += "\n";
    }
    *text += &banner("The layers of the cipher as circuits. Bit-planes come by byte: x[b] is bit b.");
    let key = match (plan.spec.layout, parts.access.shared) {
        // Planes are fetched when read; other operands are in registers.
        (Layout::State, true) => "IN_SHARED const volatile u32 *key, ",
        _ => "const u32 *key, ",
    };
    for f in (0..plan.functions.len()).filter(|&i| is_called(plan, i)).map(|i| &plan.functions[i]) {
        *text += "\n";
        function(f, plan.spec.layers, key, &mut text);
    }
    *text += &banner("The cipher on bit-planes.");
    *text += "\n";
    cipher(plan, &parts.access, parts.geometry.unrolled, &mut text);
    if parts.tweak_bytes > 0 && parts.direction == Direction::Decrypt {
        tweak_cipher(&plan.of_tweaks(), parts, key, &mut text);
    }
    let print_all = |templates: &[&str], text: &mut String| {
        for template in templates {
            *text += "\n";
            parts.fill(template, text);
        }
    };
    print_all(&parts.mode, &mut text);
    for batch in &parts.batches {
        if batch.expands_keys {
            own_keys::functions(plan, &mut text);
        }
        print_all(batch.templates, &mut text);
    }
    debug_assert_eq!(text.capacity(), room, "the text has outgrown its room");
    text
}

/// The tweak cipher, which encrypts, for a kernel that decrypts.
fn tweak_cipher(plan: &Plan, parts: &Parts, key: &str, text: &mut String) {
    let mut of_tweaks = String::new();
    for f in (0..plan.functions.len()).filter(|&i| is_called(plan, i)).map(|i| &plan.functions[i]) {
        of_tweaks += "\n";
        function(f, plan.spec.layers, key, &mut of_tweaks);
    }
    of_tweaks += "\n";
    cipher(plan, &parts.access, parts.geometry.unrolled, &mut of_tweaks);
    *text += &banner("The cipher of tweaks, which encrypts.");
    *text += &renamed(&of_tweaks, TWEAK);
}

fn banner(title: &str) -> String {
    let rule = "-".repeat(111);
    format!("\n// {rule}\n// {title}\n// {rule}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::spec::KernelSpec;
    use crate::sbox::LUT3;
    use aes_bitslice_core::mode::Mode;

    #[test]
    fn a_kernel_that_is_not_there_is_an_error() {
        let spec = KernelSpec { layout: Layout::State, ..KernelSpec::co_resident(Mode::Ctr, &LUT3) };
        let Err(error) = print(&Plan::new(&spec), Dialect::Cuda, "a test") else { panic!("printed") };
        assert_eq!(error.to_string(), "the mode `ctr` has no kernel by state with the strategy `bits`");
        for dialect in Dialect::ALL {
            assert!(print(&Plan::new(&KernelSpec::co_resident(Mode::Ctr, &LUT3)), dialect, "a test").is_ok());
        }
    }
}
