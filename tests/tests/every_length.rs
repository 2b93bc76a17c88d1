//! Proofs for every length, counter, address and number of thread blocks: stored kernels (PTX), aligned data and any. The head of
//! `aes_bitslice_analysis::proof::every_length` says how.

use aes_bitslice_analysis::proof::every_length::counters::Carries;
use aes_bitslice_analysis::proof::every_length::ends::Ends;
use aes_bitslice_analysis::proof::every_length::units::Place;
use aes_bitslice_analysis::proof::every_length::{Case, Proved, prove};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::{Mode, State};
use aes_bitslice_kernels::KERNELS;
use aes_bitslice_tests::environment::{PROOFS, is_set, proves, sample, turn};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// The kernels that are stored as PTX and called constant-time.
fn kernels() -> Vec<(Manifest, &'static str)> {
    let parsed = KERNELS.iter().map(|kernel| (<Manifest>::parse(kernel.manifest).unwrap(), kernel.ptx));
    parsed.filter(|(manifest, _)| manifest.bitsliced.is_some()).collect()
}

/// The entry points that are proved.
const ENTRIES: [Entry; 2] = [Entry::Blocks, Entry::Bytes];

/// Units of XTS, and the block of a unit with which a tile begins: of units of a power of two of blocks, at most 256, where the data begins with a
/// unit, and within one; and of others. Of units of 8 blocks or fewer it is every block, of larger ones some.
fn places() -> Vec<Place> {
    let whole = (0..9).map(|n| Place { blocks: 1 << n, before: [0, 0], block: 0 });
    let sizes = (1..9).map(|n| (1 << n, 1)).chain([3, 5, 24, 33, 65, 260, 512, 4096, 65536, 1 << 20].map(|n| (n, 0)));
    let within = sizes.flat_map(|(blocks, least)| {
        let some = [least, blocks * 5 / 7, blocks - 1].to_vec();
        let all = if blocks <= 8 { (least..blocks).collect() } else { some };
        all.into_iter().map(move |block| Place { blocks, before: [least, blocks - 1], block })
    });
    whole.chain(within).collect()
}

/// Stretches of XTS where ciphertext is stolen, of units of 33 blocks or fewer, or of 260, with each number of bytes after them: three tiles at most,
/// and where the data ends with the stretch, whole tiles, and another last one. Of units of 17 bytes it is every stretch.
fn stretches() -> Vec<(Place, Ends)> {
    let of_place = |place: Place| {
        let all = (0..16).flat_map(move |ragged| (1..=place.longest().min(3)).map(move |tiles| (ragged, tiles)));
        all.flat_map(move |(ragged, tiles)| {
            let is_every = (place.blocks, ragged) == (1, 1);
            let blocks = if is_every { (1..=256).collect() } else { vec![256, 1 + (37 * ragged + 101 * tiles) % 255] };
            let last = blocks.into_iter().flat_map(move |blocks| {
                let has_all = (place.block + 256 * (tiles - 1) + blocks).is_multiple_of(place.blocks);
                let one = if has_all { ragged } else { (ragged + blocks) % 16 };
                (if is_every { vec![0, 1] } else { vec![one] }).into_iter().map(move |bytes| Some([blocks, bytes]))
            });
            last.chain([None]).map(move |last| (place, Ends { ragged, tiles, last }))
        })
    };
    let some = places().into_iter().filter(|place| place.blocks <= 33 || place.blocks == 260);
    let steals = |ends: &Ends| ends.ragged + ends.last.map_or(0, |[_, bytes]| bytes) > 0;
    some.flat_map(of_place).filter(|(_, ends)| steals(ends)).collect()
}

/// All cases of a kernel, of one warp.
fn cases(manifest: &Manifest) -> Vec<Case> {
    let warps = manifest.threads as usize / 32;
    let has_counters = manifest.mode().is_ok_and(|mode| mode.state() == State::Counters);
    let carries: Vec<_> = if has_counters { Carries::all().map(Some).collect() } else { vec![None] };
    let carries = &carries;
    let of_key = |key_bits| {
        let case = Case { entry: Entry::Blocks, key_bits, warps, warp: 0, carries: None, place: None, ends: None };
        if manifest.mode().is_ok_and(Mode::has_tweaks) {
            let of_place = |place| ENTRIES.map(|entry| Case { entry, place: Some(place), ..case });
            return places().into_iter().flat_map(of_place).collect::<Vec<_>>();
        }
        let of_entry = move |entry| carries.iter().map(move |&carries| Case { entry, carries, ..case });
        ENTRIES.into_iter().flat_map(of_entry).collect()
    };
    KeyBits::ALL.into_iter().flat_map(of_key).collect()
}

/// The ways between cuts that each warp can go in entry points for whole blocks, and how many of these write a tile. Of counters, some ways
/// depend on the case.
fn ways(mode: Mode, place: Option<Place>) -> (Option<usize>, usize) {
    match mode {
        Mode::EcbEncrypt | Mode::EcbDecrypt => (Some(12), 6),
        Mode::Prg => (Some(8), 4),
        Mode::CbcDecrypt => (Some(6), 3),
        // No tile follows another where a stretch has one: of units of one block, or of two where the data begins within one.
        Mode::XtsEncrypt | Mode::XtsDecrypt => {
            let has_one = place.is_some_and(|place| place.blocks == 1 || place.blocks == 2 && place.before[0] > 0);
            (None, if has_one { 2 } else { 4 })
        }
        _ => (None, 12),
    }
}

/// Proofs of a case for these warps of a thread block, each of which must have shared memory of its own.
fn prove_warps(manifest: &Manifest, ptx: &str, case: &Case, warps: Vec<usize>) -> Result<Vec<Proved>, String> {
    let of_warp = |warp| prove(manifest, ptx, &Case { warp, ..*case });
    let proved = warps.into_par_iter().map(of_warp).collect::<Result<Vec<_>, _>>()?;
    let all: BTreeSet<u64> = proved.iter().flat_map(|one| &one.shared).copied().collect();
    if all.len() < proved.iter().map(|one| one.shared.len()).sum() {
        return Err("two warps write to the same shared memory during their tiles".into());
    }
    Ok(proved)
}

/// Every kernel is proved, on thread blocks as the runtime launches them: by turns a quarter of the kernels, each with one warp and case, other
/// ones in each turn; or, where all cases are proved, with all of them for the first and the last warp, in XTS for one warp and key length by
/// turns, and of each entry point one case for all warps.
#[test]
fn every_stored_kernel() {
    let kernels = kernels();
    assert_eq!(kernels.len(), 12, "another number of kernels is stored");
    let step = if is_set(PROOFS) { 1 } else { 4 };
    let mut chosen = vec![];
    let kernels = kernels.iter().filter(|(manifest, _)| proves(&manifest.kernel));
    for (n, (manifest, ptx)) in sample(0, step, kernels.enumerate()) {
        let (all, warps) = (cases(manifest), manifest.threads as usize / 32);
        if !is_set(PROOFS) {
            // With all cases for each warp.
            let turn = turn() / step + 5 * n;
            chosen.push((manifest, ptx, all[turn / warps % all.len()], vec![turn % warps]));
            continue;
        }
        let last = ENTRIES.into_iter().filter_map(|entry| all.iter().rfind(|case| case.entry == entry));
        chosen.extend(last.map(|case| (manifest, ptx, *case, (0..warps).collect())));
        if manifest.mode().is_ok_and(Mode::has_tweaks) {
            let of_key = all.len() / KeyBits::ALL.len();
            let by_turns = (0..of_key).map(|n| (manifest, ptx, all[n % 3 * of_key + n], vec![n / 3 % warps]));
            chosen.extend(by_turns);
        } else {
            chosen.extend(all.into_iter().map(|case| (manifest, ptx, case, vec![0, warps - 1])));
        }
    }
    assert!(!chosen.is_empty(), "no kernel is named as {PROOFS} says");
    chosen.into_par_iter().for_each(|(manifest, ptx, case, warps)| {
        let proved = prove_warps(manifest, ptx, &case, warps.clone());
        let proved = proved.unwrap_or_else(|why| panic!("{}, {case:?}, {warps:?}: {why}", manifest.kernel));
        for (warp, proved) in warps.into_iter().zip(proved) {
            assert!(proved.tiles > 0 && proved.ways > proved.tiles);
            if case.entry == Entry::Blocks {
                let mode = manifest.mode().unwrap();
                let (ways, tiles) = ways(mode, case.place);
                assert_eq!(proved.tiles, tiles);
                // Of CBC, the first warp's share may be the first of all, before which is the IV.
                let first = if mode == Mode::CbcDecrypt && warp == 0 { 2 } else { 0 };
                assert!(ways.is_none_or(|ways| proved.ways == ways + first), "{} ways", proved.ways);
            }
        }
    });
}

/// Ciphertext stealing in XTS is proved of the stretches for which this is true: by turns one for each kernel, with one warp and key length; or all,
/// for the first warp.
fn prove_stretches(which: impl Fn(&(Place, Ends)) -> bool) {
    let kernels = kernels();
    let mut chosen = vec![];
    let of_xts = kernels.iter().filter(|(manifest, _)| manifest.mode().is_ok_and(Mode::has_tweaks));
    let all: Vec<_> = stretches().into_iter().filter(which).collect();
    for (n, (manifest, ptx)) in of_xts.enumerate().filter(|(_, (manifest, _))| proves(&manifest.kernel)) {
        let warps = manifest.threads as usize / 32;
        let (turn, step) = (turn() + 5 * n, if is_set(PROOFS) { 1 } else { all.len() });
        let sampled = all.iter().cycle().skip(101 * turn % all.len()).step_by(step).take(all.len() / step);
        for (n, &(place, ends)) in sampled.enumerate() {
            let warp = if is_set(PROOFS) { 0 } else { turn % warps };
            let key_bits = KeyBits::ALL[(turn + n) % 3];
            let (place, ends, carries) = (Some(place), Some(ends), None);
            chosen.push((manifest, ptx, Case { entry: Entry::Bytes, key_bits, warps, warp, carries, place, ends }));
        }
    }
    assert!(!chosen.is_empty() || is_set(PROOFS), "the kernels of XTS are chosen unless others are named");
    chosen.into_par_iter().for_each(|(manifest, ptx, case)| {
        let proved = prove(manifest, ptx, &case).unwrap_or_else(|why| panic!("{}, {case:?}: {why}", manifest.kernel));
        // By words, where all addresses may be multiples of 4, and by bytes.
        let ends = case.ends.unwrap();
        assert_eq!(proved.tiles, ends.tiles * if ends.ragged.is_multiple_of(4) { 2 } else { 1 }, "{case:?}");
    });
}

/// Whether a stretch is of units of 17 bytes, of which the list has every stretch.
fn is_of_17_bytes((place, ends): &(Place, Ends)) -> bool {
    (place.blocks, ends.ragged) == (1, 1)
}

/// Of units of 17 bytes, every launch.
#[test]
fn stolen_from_units_of_17_bytes() {
    let of_17 = stretches().iter().filter(|stretch| is_of_17_bytes(stretch)).count();
    assert_eq!(
        of_17,
        2 * 256 + 1,
        "stretches that end the data with 1 to 256 blocks, and 0 or 1 bytes more; or do not"
    );
    prove_stretches(is_of_17_bytes);
}

#[test]
fn stolen_from_other_units() {
    prove_stretches(|stretch| !is_of_17_bytes(stretch));
}

/// A fault: what it is, the statement (its opcode, how it ends, and which of those it is, from the end if below 0), the part of it that
/// is replaced and by what, and what the proof says.
type Fault = (&'static str, [&'static str; 2], isize, [&'static str; 2], &'static str);

/// Faults of kernels, by their names and entry points.
#[rustfmt::skip]
const FAULTS: [(&str, Entry, &[Fault]); 11] = [
    ("aes-ctr-planes", Entry::Blocks, &[
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
        ("a word is written elsewhere", ["st.global.u32", ""], 3, ["+", "+4+"], "race"),
        ("another tile's counters are taken", ["shl.b32", ", 8"], -1, [", 8", ", 9"], "not known"),
        ("two warps have one place in shared memory", ["mul.wide.u32", ", 512"], -2, [", 512", ", 0"], "two warps"),
        ("an output is the complement", ["lop3.b32", ", 150"], -1, [", 150", ", 105"], "differs"),
        ("the barrier at the head of a run is missing", ["bar.sync", ""], 1, ["bar.sync", "//"], "race"),
        ("a barrier of a warp is missing", ["bar.warp.sync", ""], 0, ["bar.warp.sync", "//"], "race"),
    ]),
    ("aes-ecb-encrypt-planes", Entry::Blocks, &[
        ("a first tile that lacks blocks is read as a whole one", ["setp.lt.u32", ""], 2, ["setp.lt", "setp.le"], "is read, and may not exist"),
        ("a tile that lacks blocks is read early as a whole one", ["setp.lt.u32", ""], 5, ["setp.lt", "setp.le"], "is read, and may not exist"),
        ("a tile that lacks blocks is written as a whole one", ["setp.lt.u32", ""], 6, ["setp.lt", "setp.le"], "is written, and may not exist"),
        ("a word is written at an odd address", ["st.global.u32", ""], 3, ["+", "+1+"], "no multiple of 4"),
        ("a tile after the share is taken", ["setp.lt.u32", ""], -1, ["setp.lt", "setp.le"], "another tile"),
        ("a tile after the share is read early", ["setp.ge.u32", ""], 2, ["setp.ge", "setp.gt"], "not of the tile"),
        ("a warp's first tile may be the end of the share", ["setp.ge.u32", ""], 1, ["setp.ge", "setp.gt"], "share"),
        ("another tile is read early", ["mul.wide.u32", ", 256"], 1, ["256", "512"], "not of the tile"),
        ("another tile is written", ["mul.wide.u32", ", 256"], 2, ["256", "512"], "not of the tile"),
        ("a word is read early from elsewhere", ["ld.global.u32", ""], -40, ["+", "+4+"], "different words"),
        ("a last block is read early too far", ["add.s64", ", 248"], 1, [", 248", ", 247"], "may not exist"),
        ("warps begin with one tile", ["shr.u32", ", 5"], 1, [", 5", ", 9"], "share"),
        ("the barrier after the round keys is missing", ["bar.sync", ""], 0, ["bar.sync", "//"], "nothing was written"),
    ]),
    ("aes-ecb-decrypt-planes", Entry::Blocks, &[
        ("an output is the complement", ["lop3.b32", ", 150"], -1, [", 150", ", 105"], "differs"),
        ("there may be a tile too many", ["add.s64", ", 255"], 0, [", 255", ", 256"], "share"),
    ]),
    ("aes-prg-planes", Entry::Blocks, &[
        ("another block is added", ["ld.global.u32", "+128]"], -1, ["+128", "+256"], "differs"),
        ("a last block is read too far before it is added", ["add.s64", ", 248"], 1, [", 248", ", 247"], "may not exist"),
    ]),
    ("aes-cbc-decrypt-planes", Entry::Blocks, &[
        ("shares are rounded up by one more", ["add.s32", ", -1"], 0, [", -1", ", 0"], "share"),
        ("an empty share is taken for one of a tile", ["setp.ge.u32", ""], 1, ["setp.ge", "setp.gt"], "share"),
        ("warps of a thread block have one share", ["shr.u32", ", 5"], 1, [", 5", ", 9"], "not known"),
        ("the block before a share is looked for elsewhere", ["mul.lo.s64", ""], 0, ["mul.lo", "add"], "other bytes"),
        ("the IV is before another share than the first", ["setp.eq.s32", ", 0"], 0, [", 0", ", 1"], "block before a share"),
        ("a byte of the block before a share is another one", ["ld.global.u8", "+1]"], 0, ["+1", "+2"], "no word of the data"),
        ("the block before the one before is added", ["ld.global.u32", "+-16]"], 0, ["+-16", "+-32"], "not of the tile"),
        ("the block before a block is read too far", ["add.s64", ", 247"], 0, [", 247", ", 246"], "may not exist"),
        ("the block before the last is handed on", ["or.b64", ", 255"], 1, [", 255", ", 254"], "different words"),
        ("another lane's block before is added", ["and.b32", ", 28"], 0, [", 28", ", 24"], "differs"),
        ("the barrier between reading and writing a tile is missing", ["bar.warp.sync", ""], 0, ["bar.warp.sync", "//"], "read after it is written"),
        ("every second tile is left out", ["add.s32", ", 1"], -1, [", 1", ", 2"], "another tile"),
        ("a tile after the share is taken", ["setp.lt.u32", ""], -1, ["setp.lt", "setp.le"], "another tile"),
    ]),
    ("aes-ecb-encrypt-planes", Entry::Bytes, &[
        ("a last block is read too far", ["add.s64", ", 248"], 0, [", 248", ", 247"], "may not exist"),
        ("a byte is read from elsewhere", ["ld.global.u8", "+1]"], 0, ["+1", "+2"], "no S-box of the cipher together"),
        ("a word is read where a byte is", ["ld.global.u8", "]"], 0, ["u8", "u32"], "no multiple of 4"),
        ("a byte is written elsewhere", ["st.global.u8", ""], 2, ["+", "+1+"], "twice"),
        ("a byte is not the one of its place", ["shr.u32", ", 8"], -1, [", 8", ", 16"], "differs"),
    ]),
    ("aes-prg-planes", Entry::Bytes, &[
        ("a byte that is added is another one", ["ld.global.u8", "+131]"], -1, ["+131", "+130"], "differs"),
    ]),
    ("aes-cbc-decrypt-planes", Entry::Bytes, &[
        ("addresses go along with half a tile", ["add.s64", ", 4096"], -1, [", 4096", ", 2048"], "different words, or addresses"),
        ("the barrier between reading and writing a tile is missing", ["bar.warp.sync", ""], 0, ["bar.warp.sync", "//"], "race"),
    ]),
    ("aes-ctr-planes", Entry::Bytes, &[
        ("a last block that is not whole is left out", ["add.s64", ", 15"], 0, [", 15", ", 0"], "share"),
        ("a byte after the data is written", ["add.s64", ", 2"], 0, [", 2", ", 1"], "may not exist"),
        ("the bytes of a block are written if another one exists", ["add.s64", ", 8"], 0, [", 8", ", 16"], "may not exist"),
        ("the first block is taken for one that begins with the data", ["sub.s64", "%rd6"], 0, ["%rd6", "%rd3"], "not of the tile"),
        ("a byte is written under the condition of the one before", ["setp.ge.u64", "%rd86"], 2, ["%rd239", "%rd231"], "may not exist"),
        ("a byte of the key stream is another one", ["shr.u16", ", 8"], 3, [", 8", ", 0"], "differs"),
        ("a byte of the data is another one", ["ld.global.u8", "+2]"], 0, ["+2", "+3"], "may not exist"),
        ("a word is read where bytes are", ["ld.global.u8", "]"], 4, ["u8", "u32"], "no multiple of 4"),
        ("a carry into the second word of the counter is lost", ["shr.u64", ", 32"], 0, [", 32", ", 33"], "not known"),
    ]),
    ("aes-keystream-planes", Entry::Bytes, &[
        ("a byte after the data is written", ["add.s64", ", 3"], -1, [", 3", ", 2"], "may not exist"),
        ("an output is another byte", ["shr.u32", ", 24"], -1, [", 24", ", 16"], "differs"),
    ]),
    ("aes-xts-encrypt-planes", Entry::Blocks, &[
        ("a carry into the second word of a unit's number is lost", ["shr.u64", ", 32"], 0, [", 32", ", 33"], "not known"),
        ("a unit's number wraps where it does not", ["setp.lt.u32", "%r69"], 0, ["setp.lt", "setp.le"], "no S-box of the cipher together"),
        ("a stretch may be longer than its units", ["min.u32", "%r1450"], 0, ["%r1450", "%r1480"], "a stretch"),
        ("a warp after the last one has a stretch", ["setp.lt.u32", "%r12941"], 0, ["setp.lt", "setp.le"], "a stretch"),
        ("a share's stretches begin elsewhere", ["add.s32", ", -1"], 2, [", -1", ", 0"], "a stretch"),
        ("a warp takes every second stretch", ["atom.shared.add.u32", ", 1"], 0, [", 1", ", 2"], "leave some out"),
        ("a tile after the stretch is read early", ["setp.ge.u32", "%r62"], -1, ["setp.ge", "setp.gt"], "not of the tile"),
        ("a tweak is reduced by another polynomial", ["and.b32", ", 135"], 0, [", 135", ", 134"], "tweak of block"),
        ("rows are apart by too little", ["mul.wide.u32", ", 144"], 0, ["144", "128"], "tweak of block"),
        ("an output is the complement", ["lop3.b32", ", 150"], -1, [", 150", ", 105"], "differs"),
        ("tweaks of units are read before they are written", ["bar.warp.sync", ""], 1, ["bar.warp.sync", "//"], "race"),
        ("rows are replaced before they have been used", ["bar.warp.sync", ""], -1, ["bar.warp.sync", "//"], "race"),
        ("the tweaks of the next tile are of the unit after", ["mul.wide.u32", "%r1153, 16"], 0, [", 16", ", 32"], "nothing was written"),
    ]),
];

/// Faults of XTS encryption that not all units show, or that are proved of one size of units, by units that do.
#[rustfmt::skip]
const FAULTS_OF_UNITS: [(Place, Entry, &[Fault]); 4] = [
    (Place { blocks: 3, before: [0, 2], block: 2 }, Entry::Blocks, &[
        ("blocks before the data are left out", ["add.s64", "%rd84"], 0, ["%rd84", "0"], "not known"),
        ("a stretch has a tile more than its units allow", ["mad.lo.s32", ", 255, 1"], 0, [", 1", ", 256"], "depends on the way"),
        ("a digit of a block's number is cut", ["and.b32", ", 4095"], 0, ["4095", "2047"], "not known"),
        ("a digit's rest is lost", ["sub.s32", "%r1493"], 0, ["%r1490, %r1493", "%r1490, %r1490"], "not known"),
        ("the last digit is left out", ["setp.gt.u32", ", 11"], 0, [", 11", ", 12"], "not known"),
        ("a unit goes on in the next tile where it has ended", ["setp.ge.u32", "%r1443"], -1, ["setp.ge", "setp.gt"], "does not begin where it should"),
        ("a tile's first block is beyond its unit", ["selp.b32", "%p372"], 0, ["0, %r1443", "0, 0"], "no word of the data"),
        ("a row has the tweaks of one unit only", ["setp.gt.u32", ", 7"], 0, [", 7", ", 0"], "tweak of block"),
        ("the next unit of a row is the same", ["add.s32", ", 1"], 3, [", 1", ", 0"], "tweak of block"),
    ]),
    (Place { blocks: 64, before: [1, 63], block: 33 }, Entry::Blocks, &[
        ("units that begin before the data have as long stretches as others", ["or.b32", "%r1219"], 0, ["%r1219", "0"], "depends on the way"),
        ("a row that goes beyond its unit by one block is taken for one within", ["setp.gt.u32", ", 7"], 0, [", 7", ", 6"], "tweak of block"),
        ("32 blocks of a unit are left out", ["and.b32", ", 31"], -1, [", 31", ", 15"], "tweak of block"),
    ]),
    (Place { blocks: 4096, before: [0, 4095], block: 3000 }, Entry::Blocks, &[
        ("256 blocks of a unit are taken for one fewer", ["add.s32", ", -256"], 0, [", -256", ", -255"], "tweak of block"),
        ("2048 blocks of a unit are taken for one fewer", ["add.s32", ", -2048"], 0, [", -2048", ", -2047"], "tweak of block"),
        ("the next tile's tweaks are by another power", ["shr.u32", ", 18"], -1, [", 18", ", 17"], "tweak of block"),
        ("128 blocks of a unit are left out", ["and.b32", ", 128"], 0, [", 128", ", 64"], "tweak of block"),
    ]),
    (Place { blocks: 4, before: [0, 0], block: 0 }, Entry::Bytes, &[
        ("a block after the data is taken for one of it", ["add.s32", "%r347, 7"], 0, [", 7", ", 8"], "no S-box of the cipher together"),
        ("a word is read after the last one", ["setp.gt.u32", "%r445, 2"], 0, ["setp.gt", "setp.ge"], "may not exist"),
        ("an output is another word", ["selp.b32", "%p557"], 0, ["%r13415", "%r13419"], "differs"),
        ("an output is another byte", ["shr.u32", ", 24"], -2, [", 24", ", 16"], "differs"),
        ("a last word is replaced by another one", ["selp.b32", "%p589"], 0, ["%r14073", "%r13531"], "may not exist"),
        ("words are read where bytes are", ["setp.eq.s64", "%rd10, 0"], 0, ["setp.eq", "setp.ne"], "no multiple of 4"),
        ("words are written where bytes are", ["setp.eq.s64", "%rd10, 0"], 1, ["setp.eq", "setp.ne"], "no multiple of 4"),
        ("the output's address is not looked at", ["or.b64", "%rd84"], 0, ["%rd85", "%rd84"], "depends on the way"),
        ("the next tile's words are looked for elsewhere", ["add.s32", ", 4096"], 0, ["4096", "4080"], "different words, or addresses"),
        ("a lane's first word is not of its block", ["shl.b32", "%r7113, 4"], 0, [", 4", ", 5"], "no S-box of the cipher together"),
        ("a stretch has half of its blocks", ["mul.wide.u32", "%r45, 256"], 0, ["256", "128"], "may not exist"),
        ("a stretch ends without a turn that finds no tile", ["setp.le.u32", "%r45"], 0, ["setp.le", "setp.lt"], "after its stretch"),
        ("the first tile has the tweaks of the second", ["setp.eq.s32", "%r14337, 0"], 0, ["setp.eq", "setp.ne"], "no S-box of the cipher together"),
        ("tweaks of units are read before they are written", ["bar.warp.sync", ""], 1, ["bar.warp.sync", "//"], "nothing was written"),
        ("rows are replaced before they have been used", ["bar.warp.sync", ""], 4, ["bar.warp.sync", "//"], "race"),
    ]),
];

/// The units in which ciphertext is stolen in the faults below.
const OF_ENDS: Place = Place { blocks: 3, before: [0, 2], block: 2 };

/// Faults of kernels where ciphertext is stolen, by stretches that show them.
#[rustfmt::skip]
const FAULTS_OF_ENDS: [(&str, Ends, &[Fault]); 5] = [
    ("aes-xts-encrypt-planes", Ends { ragged: 5, tiles: 1, last: Some([7, 3]) }, &[
        ("bytes after a block are read from elsewhere", ["add.s64", ", 16"], 0, [", 16", ", 15"], "no S-box of the cipher together"),
        ("a byte too many is stolen", ["setp.ge.u32", "%r713"], 1, ["setp.ge", "setp.gt"], "no S-box of the cipher together"),
        ("another byte is stolen", ["st.global.u8", "%rs18"], 0, ["%rs18", "%rs17"], "differs"),
        ("the second tweak of an end is reduced by another polynomial", ["and.b32", ", 135"], 16, ["135", "134"], "no S-box of the cipher together"),
        ("the second tweak is another unit's", ["mul.wide.u32", "%r14373, 16"], 0, [", 16", ", 32"], "no S-box of the cipher together"),
        ("a row has one end only", ["setp.lt.u32", ", 8"], 0, [", 8", ", 4"], "no S-box of the cipher together"),
        ("the last unit has no bytes after its blocks", ["selp.b32", "%p355"], 0, ["%r1174, %r8155", "%r8155, %r8155"], "no S-box of the cipher together"),
        ("another unit is taken for the last", ["add.s32", ", -1"], 6, [", -1", ", 0"], "no S-box of the cipher together"),
        ("bytes of units before a stretch are counted otherwise", ["mul.lo.s64", "%rd13"], 0, ["%rd13", "%rd12"], "no S-box of the cipher together"),
        ("ends are read with the tweaks of others", ["shl.b32", ", 5"], 2, [", 5", ", 4"], "nothing was written"),
        ("a byte is not the one of its place", ["st.global.u8", "%r14133"], 0, ["%r14133", "%r14132"], "differs"),
        ("ends are elsewhere", ["mul.lo.s32", "%r7110"], 0, ["%r7110", "%r22"], "no S-box of the cipher together"),
        ("ends are read before they are written", ["bar.warp.sync", ""], 3, ["bar.warp.sync", "//"], "race"),
    ]),
    ("aes-xts-encrypt-planes", Ends { ragged: 5, tiles: 1, last: Some([8, 3]) }, &[
        ("the last unit has as many blocks as others", ["selp.b32", "%p355"], 1, ["%r347, %r8160", "%r8160, %r8160"], "no S-box of the cipher together"),
        ("the last unit has no second tweak", ["selp.b32", "%p193"], 0, ["%r1174, %r7340", "%r7340, %r7340"], "no S-box of the cipher together"),
        ("the last unit is not written once more", ["selp.b32", "%p591"], 0, ["%r1174, %r14120", "%r14120, %r14120"], "differs"),
    ]),
    ("aes-xts-encrypt-planes", Ends { ragged: 5, tiles: 1, last: None }, &[
        ("bytes of units within a stretch are counted otherwise", ["mad.lo.s32", ", 128"], 0, [", 128", ", 124"], "no S-box of the cipher together"),
        ("a unit after the stretch has an end", ["setp.gt.u32", "%r712"], 0, ["setp.gt", "setp.ge"], "no S-box of the cipher together"),
        ("nothing is stolen before the last unit", ["setp.ne.s32", "%r7110, 0"], 0, ["setp.ne", "setp.eq"], "differs"),
    ]),
    ("aes-xts-encrypt-planes", Ends { ragged: 5, tiles: 2, last: None }, &[
        ("tweaks of ends are replaced while others are computed", ["bar.warp.sync", ""], 5, ["bar.warp.sync", "//"], "race"),
    ]),
    ("aes-xts-decrypt-planes", Ends { ragged: 5, tiles: 1, last: Some([7, 3]) }, &[
        ("the first tweak of an end is reduced by another polynomial", ["and.b32", ", 135"], 16, ["135", "134"], "no S-box of the cipher together"),
        ("tweaks of ends are read before they are written", ["bar.warp.sync", ""], 6, ["bar.warp.sync", "//"], "race"),
        ("the tweaks of an end are in the order of encryption", ["st.shared.v4.u32", "%r7354}"], 0, ["[%rd463+4096]", "[%rd465]"], "no S-box of the cipher together"),
        ("the second tweak is another unit's", ["mul.wide.u32", "%r14244, 16"], 0, [", 16", ", 0"], "no S-box of the cipher together"),
    ]),
];

/// PTX in whose entry point of this name a statement is another.
fn with(ptx: &str, entry: &str, (what, [opcode, end], which, [part, instead], _): Fault) -> String {
    let from = ptx.find(&format!(".entry {entry}(")).unwrap();
    let until = from + ptx[from..].find("\n}").unwrap();
    let mut lines: Vec<&str> = ptx[from..until].lines().collect();
    let is_one = |line: &str| line.trim().starts_with(opcode) && line.ends_with(&format!("{end};"));
    let all: Vec<usize> = (0..lines.len()).filter(|&n| is_one(lines[n])).collect();
    let at = all[if which < 0 { all.len() - which.unsigned_abs() } else { which.unsigned_abs() }];
    let changed = lines[at].replacen(part, instead, 1);
    assert_ne!(changed, lines[at], "{what}: nothing to replace");
    lines[at] = &changed;
    ptx[..from].to_string() + &lines.join("\n") + &ptx[until..]
}

/// Faults that some lengths, counters or grids show are found: all of them, or some, other ones in each turn.
#[test]
fn faults_are_found() {
    let kernels = kernels();
    let of = |&(name, entry, faults): &'static (&str, Entry, &'static [Fault])| {
        faults.iter().zip(0..).map(move |(fault, n)| (name, entry, *fault, n, (None, None)))
    };
    let of_units = |&(place, entry, faults): &'static (Place, Entry, &'static [Fault])| {
        faults.iter().map(move |fault| ("aes-xts-encrypt-planes", entry, *fault, 0, (Some(place), None)))
    };
    let of_ends = |&(name, ends, faults): &'static (&str, Ends, &'static [Fault])| {
        faults.iter().map(move |fault| (name, Entry::Bytes, *fault, 0, (Some(OF_ENDS), Some(ends))))
    };
    let all = FAULTS.iter().flat_map(of).chain(FAULTS_OF_UNITS.iter().flat_map(of_units));
    let all = all.chain(FAULTS_OF_ENDS.iter().flat_map(of_ends));
    let step = if is_set(PROOFS) { 1 } else { 21 };
    let chosen: Vec<_> = sample(0, step, all).collect();
    chosen.into_par_iter().for_each(|(name, entry, fault, n, (place, ends))| {
        let (manifest, ptx) = kernels.iter().find(|(manifest, _)| manifest.kernel == name).unwrap();
        let (what, .., expected) = fault;
        let mut cases = cases(manifest);
        cases.retain(|case| case.entry == entry && case.key_bits == KeyBits::Aes128);
        cases.retain(|case| case.place.is_none_or(|place| place.before == [0, 0]));
        // What is lost of a carry shows where all carry, in the last case; the others show in each: none is empty.
        let case = cases[if expected == "not known" { cases.len() - 1 } else { n % cases.len() }];
        let warps = match (what.contains("IV"), expected) {
            // The IV is before the share of this one.
            (true, _) => vec![0],
            (_, "two warps") => vec![1, case.warps - 1],
            _ => vec![1],
        };
        let entry = &manifest.entry(entry).unwrap().name;
        let case = Case { place: place.or(case.place), ends, ..case };
        let why = prove_warps(manifest, &with(ptx, entry, fault), &case, warps).expect_err(what);
        assert!(why.contains(expected), "{what}: {why}");
    });
}

/// In every run: the last word of a tile, which the last lane of a warp stores last, must be stored, and as the mode says.
#[test]
fn the_last_block_of_a_tile() {
    let kernels = kernels();
    let (manifest, ptx) = kernels.iter().find(|(manifest, _)| manifest.kernel == "aes-ecb-encrypt-planes").unwrap();
    let entry = &manifest.entry(Entry::Blocks).unwrap().name;
    let from = ptx.find(&format!(".entry {entry}(")).unwrap();
    let until = from + ptx[from..].find("\n}").unwrap();
    for (store, says) in
        [("@!last st.global.u32 [AT], VALUE;", "not written"), ("st.global.u32 [AT], wrong;", "differs")]
    {
        let changed = ptx[from..until].lines().map(|line| {
            let operands = line.trim().strip_prefix("st.global.u32").and_then(|rest| rest.strip_suffix(';')?.split_once("], "));
            let Some((at, value)) = operands.filter(|(at, _)| at.ends_with("+3968")) else { return line.to_string() };
            let store = store.replace("AT", at.trim().trim_start_matches('[')).replace("VALUE", value);
            format!(
                "{{\n.reg .pred last;\n.reg .b32 lane;\n.reg .b32 wrong;\nmov.u32 lane, %tid.x;\nand.b32 lane, lane, 31;\n\
                 setp.eq.s32 last, lane, 31;\nselp.b32 wrong, 0, {value}, last;\n{store}\n}}"
            )
        });
        let wrong = [&ptx[..from], &changed.collect::<Vec<_>>().join("\n"), &ptx[until..]].concat();
        let why = prove(manifest, &wrong, &cases(manifest)[0]).expect_err(says);
        assert!(why.contains("block 255 of a tile") && why.contains(says), "{why}");
    }
}
