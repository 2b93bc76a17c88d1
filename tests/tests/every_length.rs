//! Proofs for every length, counter, address and number of thread blocks: stored kernels (PTX), in the entry point for whole blocks. The head
//! of `aes_bitslice_analysis::proof::every_length` says how.

use aes_bitslice_analysis::proof::every_length::counters::Carries;
use aes_bitslice_analysis::proof::every_length::{Case, prove};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::State;
use aes_bitslice_kernels::KERNELS;
use aes_bitslice_tests::environment::{PROOFS, is_set, turn};
use rayon::prelude::*;

/// The kernels that are stored as PTX and called constant-time, of modes that have this proof.
fn kernels() -> Vec<(Manifest, &'static str)> {
    let parsed = KERNELS.iter().map(|kernel| (<Manifest>::parse(kernel.manifest).unwrap(), kernel.ptx));
    let has_proof = |manifest: &Manifest| manifest.mode().is_ok_and(|mode| !mode.has_tweaks());
    parsed.filter(|(manifest, _)| manifest.bitsliced.is_some() && has_proof(manifest)).collect()
}

/// All cases of a kernel, except for the warp that is followed: here the first and the last.
fn cases(manifest: &Manifest) -> Vec<Case> {
    let warps = manifest.threads as usize / 32;
    let has_counters = manifest.mode().is_ok_and(|mode| mode.state() == State::Counters);
    let carries: Vec<_> = if has_counters { Carries::all().map(Some).collect() } else { vec![None] };
    let of_key =
        |key_bits| carries.iter().map(move |&carries| Case { key_bits, warps, followed: (0, warps - 1), carries });
    KeyBits::ALL.into_iter().flat_map(of_key).collect()
}

/// Every kernel is proved, on thread blocks as the runtime launches them: with one warp, key length and, of a counter, way to carry, other ones
/// in each turn; or, where all cases are proved, with all key lengths and carries for the first and the last warp, and one of them for all warps.
#[test]
fn every_stored_kernel() {
    let kernels = kernels();
    assert_eq!(kernels.len(), 10, "another number of kernels is stored");
    let mut chosen = vec![];
    for (n, (manifest, ptx)) in kernels.iter().enumerate() {
        let all = cases(manifest);
        if is_set(PROOFS) {
            chosen.push((manifest, ptx, Case { followed: (0, 1), ..*all.last().unwrap() }));
            chosen.extend(all.into_iter().map(|case| (manifest, ptx, case)));
        } else {
            let (turn, one) = (turn() + 5 * n, all[0]);
            chosen.push((manifest, ptx, Case { followed: (turn % one.warps, one.warps), ..all[turn % all.len()] }));
        }
    }
    chosen.into_par_iter().for_each(|(manifest, ptx, case)| {
        let proved = prove(manifest, ptx, &case).unwrap_or_else(|why| panic!("{}, {case:?}: {why}", manifest.kernel));
        assert!(proved.tiles > 0 && proved.ways > proved.tiles);
    });
}

/// A fault: what it is, the statement (its opcode, how it ends, and which of those it is, from the end if below 0), the part of it that
/// is replaced and by what, and what the proof says.
type Fault = (&'static str, [&'static str; 2], isize, [&'static str; 2], &'static str);

#[rustfmt::skip]
const FAULTS: [Fault; 23] = [
    ("a carry into the second word of the counter is lost", ["shr.u64", ", 32"], 0, [", 32", ", 33"], "not known"),
    ("a carry into the third word is lost", ["shr.u64", ", 32"], 1, [", 32", ", 33"], "not known"),
    ("a carry into the fourth word is lost", ["shr.u64", ", 32"], 2, [", 32", ", 33"], "not known"),
    ("what a tile's number adds to the second word is lost", ["shr.u64", ", 24"], 0, [", 24", ", 32"], "not known"),
    ("a tile is left out, and none where a last one has few blocks", ["add.s64", ", 255"], 0, [", 255", ", 254"], "share"),
    ("there may be a tile too many", ["add.s64", ", 255"], 0, [", 255", ", 256"], "share"),
    ("no thread block has a tile more than others", ["selp.u32", ""], 0, [", 1, 0", ", 0, 0"], "share"),
    ("an empty share is taken for one of a tile", ["setp.le.u32", ""], 0, ["setp.le", "setp.lt"], "share"),
    ("a warp takes every second number", ["atom.shared.add.u32", ", 1"], 0, [", 1", ", 2"], "leave some out"),
    ("numbers begin at another than the warps", ["shr.u32", ", 5"], 0, [", 5", ", 4"], "leave some out"),
    ("a run is a tile longer than 32 bits of the counter", ["mov.u32", ", 16777216"], 0, ["216", "217"], "a run does not end"),
    ("a warp's first tile may be the end of the run", ["setp.ge.u32", ""], 1, ["setp.ge", "setp.gt"], "a run does not end"),
    ("a tile after the run is taken", ["setp.lt.u32", ""], -1, ["setp.lt", "setp.le"], "another tile"),
    ("a run begins after the share", ["setp.gt.u32", ""], -1, ["setp.gt", "setp.ge"], "after its share"),
    ("a last tile that lacks blocks is written as a whole one", ["setp.ge.u32", ""], -1, ["setp.ge", "setp.gt"], "may not exist"),
    ("a last block is written too far", ["add.s64", ", 248"], -1, [", 248", ", 247"], "may not exist"),
    ("a block after the data is read", ["add.s64", ", 8"], 0, [", 8", ", 7"], "may not exist"),
    ("a word is written elsewhere", ["st.global.u32", ""], 3, ["+", "+4+"], "twice"),
    ("another tile's counters are taken", ["shl.b32", ", 8"], -1, [", 8", ", 9"], "not known"),
    ("two warps have one place in shared memory", ["mul.wide.u32", ", 512"], -2, [", 512", ", 0"], "two warps"),
    ("an output is the complement", ["lop3.b32", ", 150"], -1, [", 150", ", 105"], "differs"),
    ("the barrier at the head of a run is missing", ["bar.sync", ""], 1, ["bar.sync", "//"], "race"),
    ("a barrier of a warp is missing", ["bar.warp.sync", ""], 0, ["bar.warp.sync", "//"], "race"),
];

/// PTX in whose first entry point a statement is another.
fn with(ptx: &str, (what, [opcode, end], which, [part, instead], _): Fault) -> String {
    let until = ptx.find("\n}").unwrap();
    let mut lines: Vec<&str> = ptx[..until].lines().collect();
    let is_one = |line: &str| line.trim().starts_with(opcode) && line.ends_with(&format!("{end};"));
    let all: Vec<usize> = (0..lines.len()).filter(|&n| is_one(lines[n])).collect();
    let at = all[if which < 0 { all.len() - which.unsigned_abs() } else { which.unsigned_abs() }];
    let changed = lines[at].replacen(part, instead, 1);
    assert_ne!(changed, lines[at], "{what}: nothing to replace");
    lines[at] = &changed;
    lines.join("\n") + &ptx[until..]
}

/// Faults that some lengths, counters or grids show are found: all of them, or some, other ones in each turn.
#[test]
fn faults_are_found() {
    let (manifest, ptx) = kernels().into_iter().find(|(manifest, _)| manifest.kernel == "aes-ctr-planes").unwrap();
    let warps = manifest.threads as usize / 32;
    // What a fault in a carry is shown by.
    let all_carry = Carries { of_tile: true, words: 2 };
    let step = if is_set(PROOFS) { 1 } else { 4 };
    // The others show in each case of carries: none is empty.
    let cases = (0..).flat_map(|_| Carries::all()).zip(FAULTS);
    let faults: Vec<(Carries, Fault)> = cases.skip(turn() % step).step_by(step).collect();
    faults.into_par_iter().for_each(|(carries, fault)| {
        let (what, .., expected) = fault;
        let carries = if expected == "not known" { all_carry } else { carries };
        let followed = (1, if expected == "two warps" { warps - 2 } else { warps });
        let case = Case { key_bits: KeyBits::Aes128, warps, followed, carries: Some(carries) };
        let why = prove(&manifest, &with(ptx, fault), &case).expect_err(what);
        assert!(why.contains(expected), "{what}: {why}");
    });
}
