//! Launches of kernels that are proved: lengths, counters and sizes for a manifest.

use aes_bitslice_analysis::proof::kernel::Case;
use aes_bitslice_analysis::proof::mode::{Start, before_wrap};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::{Mode, State};

/// A mode's first counter, or number of a unit: its bit `bits` changes after `by` blocks of data, or after two units.
pub fn start(mode: Mode, bits: u32, by: u128) -> Start {
    let number = match mode {
        // 32 bits count, in the first four bytes.
        Mode::CtrLe32 => before_wrap(32, by).swap_bytes(),
        _ if mode.has_tweaks() => before_wrap(bits, 2),
        _ => before_wrap(bits, by),
    };
    Start { number, unit_bytes: 16 * 64, before: 0 }
}

/// A launch on a whole tile of a kernel, with as few warps as possible; for counters on two, between which all 128 bits of them change.
pub fn whole_tile(manifest: &Manifest) -> Case {
    let mode = manifest.mode().unwrap();
    let counts = mode.state() == State::Counters;
    Case {
        key_bits: KeyBits::Aes128,
        bytes: 16 * 256 * if counts { 2 } else { 1 },
        skip: 0,
        aligned: true,
        thread_blocks: 1,
        warps: if counts { 4 } else { 1 },
        start: start(mode, 128, 256),
        in_place: false,
    }
}

/// A launch with two tiles more than warps, the last with few blocks: a warp has several.
pub fn several_tiles(manifest: &Manifest) -> Case {
    let whole = whole_tile(manifest);
    Case { bytes: 16 * (256 * (whole.warps + 1) + 11), ..whole }
}

/// A launch of a thread block as the runtime launches it, with a tile for each warp.
pub fn all_warps(manifest: &Manifest) -> Case {
    let warps = manifest.threads as usize / 32;
    Case { bytes: 16 * (256 * warps - 3), warps, ..whole_tile(manifest) }
}

/// Other lengths of keys and of data, positions within tiles, units, runs and blocks, alignments, numbers of warps, and in place.
pub fn edges(manifest: &Manifest) -> Vec<Case> {
    let mode = manifest.mode().unwrap();
    let whole = whole_tile(manifest);
    let most = manifest.threads as usize / 32;
    let start = |bits, by| start(mode, bits, by);
    // XTS has no keys of 192 bits.
    let longer = if mode.has_tweaks() { KeyBits::Aes256 } else { KeyBits::Aes192 };
    let in_place = Case { in_place: true, ..whole };
    let apart = Case { aligned: false, ..whole };
    let mut cases = vec![
        Case { key_bits: KeyBits::Aes256, bytes: 16 * 44, warps: 4, start: start(64, 20), ..in_place },
        Case { key_bits: longer, bytes: 16 * 300, thread_blocks: 2, start: start(96, 100), ..apart },
        Case {
            bytes: 16 * 700,
            warps: most.min(5),
            // For XTS the number of the unit that a later warp begins with: its sum carries into each of its words.
            start: Start { unit_bytes: 16 * 37, before: 11, ..start(if mode.has_tweaks() { 96 } else { 32 }, 179) },
            ..whole
        },
    ];
    if mode.state() == State::Counters {
        let key_bits = KeyBits::Aes256;
        cases.push(Case { key_bits, skip: 5, bytes: 2001, start: start(128, 55), in_place: true, ..apart });
    }
    if mode.has_tweaks() {
        let long = Start { unit_bytes: 16 << 20, before: 2500, ..start(64, 0) };
        cases.push(Case { bytes: 16 * 40 + 3, start: long, ..whole });
        cases.push(Case { key_bits: KeyBits::Aes256, bytes: 31, in_place: true, ..apart });
        // Units that are not whole blocks, over two stretches; the last one has as many whole blocks, and fewer bytes.
        let ragged = |unit_bytes, before| Start { unit_bytes, before, ..start(64, 0) };
        cases.push(Case { bytes: 520 * 11 - 16 * 3 - 5, start: ragged(520, 3), in_place: true, warps: 2, ..whole });
        cases.push(Case { bytes: 29 * 13 + 18, start: ragged(29, 0), ..apart });
    }
    if mode == Mode::CbcDecrypt {
        // Shares of several warps; the blocks before them are gathered.
        cases.push(Case { bytes: 16 * 700, warps: 4, ..in_place });
    }
    cases
}

/// Four warps, of which the first has a tile, or two have one of counters each, in place: this shows faults between warps at little cost.
pub fn four_warps(manifest: &Manifest) -> Case {
    Case { warps: 4, in_place: true, ..whole_tile(manifest) }
}
