//! Proofs that stored machine code computes its mode: as `proof` has them for PTX, with the same launches. They need NVIDIA's disassembler.
//! The head of `aes_bitslice_analysis::proof::sass` says what they rest on.

use aes_bitslice_analysis::proof::batch::{Batch, Flow};
use aes_bitslice_analysis::proof::context::Grid;
use aes_bitslice_analysis::proof::kernel::{Case, Proved, prove};
use aes_bitslice_analysis::proof::launch::Code;
use aes_bitslice_analysis::proof::mode::before_wrap;
use aes_bitslice_analysis::sass::Disassembler;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_kernels::KERNELS;
use aes_bitslice_tests::cases::{edges, four_warps, several_tiles, whole_tile};
use aes_bitslice_tests::environment::{PROOFS, is_set, sample};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::tests;
use rayon::prelude::*;
use std::process::ExitCode;
use std::sync::LazyLock;

/// The architecture whose machine code is stored.
const ARCHITECTURE: &str = "sm_90";

/// The kernels that are stored as machine code and called constant-time, with their manifests and listings.
static KERNELS_LISTED: LazyLock<Vec<(Manifest, String)>> = LazyLock::new(|| {
    let disassembler = Disassembler::find().unwrap();
    let parsed = KERNELS.iter().map(|kernel| (<Manifest>::parse(kernel.manifest).unwrap(), kernel.cubins));
    let listed = parsed.filter(|(manifest, _)| manifest.bitsliced.is_some()).map(|(manifest, cubins)| {
        let (_, cubin) = cubins.iter().find(|(architecture, _)| *architecture == ARCHITECTURE).unwrap();
        (manifest, disassembler.list(cubin).unwrap())
    });
    listed.collect()
});

fn kernel(name: &str) -> &'static (Manifest, String) {
    KERNELS_LISTED.iter().find(|(manifest, _)| manifest.kernel == name).unwrap()
}

/// One item in `count` of a list, by turns; or all, where all cases are proved.
fn one_in<T>(count: usize, list: impl IntoIterator<Item = T>) -> Vec<T> {
    sample(0, if is_set(PROOFS) { 1 } else { count }, list).collect()
}

fn proved((manifest, listing): &(Manifest, String), case: &Case) -> Proved {
    prove(manifest, Code::Sass(listing), case).unwrap_or_else(|why| panic!("{}, {case:?}: {why}", manifest.kernel))
}

/// Every stored bitsliced kernel computes its mode on a tile, for all round keys and data.
fn a_tile() {
    assert_eq!(KERNELS_LISTED.len(), 12, "another number of kernels is stored");
    one_in(12, KERNELS_LISTED.iter()).par_iter().for_each(|kernel| {
        let case = whole_tile(&kernel.0);
        assert_eq!(proved(kernel, &case).bits, 8 * case.bytes);
    });
}

/// Several tiles of a warp; other lengths of keys and of data, positions within tiles, units and blocks, alignments, in place.
fn edges_of_machine_code() {
    let cases = KERNELS_LISTED.iter().flat_map(|kernel| {
        let all = [several_tiles(&kernel.0)].into_iter().chain(edges(&kernel.0));
        all.filter(|case| !needs_local_memory(kernel, case)).map(move |case| (kernel, case))
    });
    one_in(53, cases).par_iter().for_each(|(kernel, case)| _ = proved(kernel, case));
}

/// Of the PRG, the entry point for any bytes keeps registers in local memory, which has no rules.
fn needs_local_memory((manifest, _): &(Manifest, String), case: &Case) -> bool {
    manifest.kernel == "aes-prg-planes" && !(case.aligned && case.bytes.is_multiple_of(16))
}

/// Entry points for many keys, with the schedule, and for many messages.
fn many_at_a_time() {
    const BITS: KeyBits = KeyBits::Aes128;
    type Prove = fn() -> Result<Proved, String>;
    fn of(name: &str) -> Batch<'static> {
        let (manifest, listing) = kernel(name);
        Batch::new(manifest, Code::Sass(listing), Some(Grid { blocks: 1, threads: 32 })).unwrap()
    }
    let all: [(&str, Prove); 7] = [
        ("expand, for encryption", || of("aes-ecb-encrypt-planes").prove_expand(BITS, 40)),
        ("expand, for decryption", || of("aes-ecb-decrypt-planes").prove_expand(BITS, 40)),
        ("each", || of("aes-ecb-encrypt-planes").prove_each(BITS, 40, 2, Flow::Counters, before_wrap(64, 1))),
        ("each, for decryption", || of("aes-ecb-decrypt-planes").prove_each(BITS, 40, 2, Flow::Data, 0)),
        ("jobs", || of("aes-ecb-encrypt-planes").prove_jobs(BITS, Flow::Counters, &[100, 37], 0)),
        ("messages", || of("aes-ctr-planes").prove_messages(BITS, &[100, 5])),
        ("a secret counter", || of("aes-ctr-planes").prove_secret_counter(BITS, 100)),
    ];
    one_in(7, all).par_iter().for_each(|(name, prove)| {
        _ = prove().unwrap_or_else(|why| panic!("{name}: {why}"));
    });
}

/// The replacement of an instruction, where it can have the fault.
type Fault = fn(&str) -> Option<String>;

/// With another last number among the operands, if it is one.
fn other_number(text: &str, digits: &str) -> Option<String> {
    let (before, rest) = text.rsplit_once(digits)?;
    let end = rest.find(|sign: char| !sign.is_ascii_hexdigit()).unwrap_or(rest.len());
    let number = u32::from_str_radix(&rest[..end], 16).ok()?;
    Some(format!("{before}{digits}{:x}{}", number ^ 1, &rest[end..]))
}

/// Faults: the kernel that has them, what they are, and one in how many of its places is tried.
#[rustfmt::skip]
const FAULTS: [(&str, &str, Fault, usize); 10] = [
    ("aes-ecb-encrypt-planes", "a table of a LUT3", |text| text.strip_prefix("LOP3.LUT R").and_then(|_| {
        let (before, rest) = text.rsplit_once(", 0x")?;
        let (table, last) = rest.split_once(',')?;
        Some(format!("{before}, 0x{:x},{last}", u8::from_str_radix(table, 16).ok()? ^ 1))
    }), 211),
    ("aes-ecb-encrypt-planes", "swapped operands", |text| text.strip_prefix("LOP3.LUT R").and_then(|_| {
        let mut all: Vec<&str> = text.split(", ").collect();
        let table = u8::from_str_radix(all[4].strip_prefix("0x")?, 16).ok()?;
        let differ = all[1].trim_end_matches(".reuse") != all[2].trim_end_matches(".reuse");
        all.swap(1, 2);
        (differ && table >> 2 & 3 != table >> 4 & 3).then(|| all.join(", "))
    }), 211),
    ("aes-ecb-encrypt-planes", "a selector", |text| text.strip_prefix("PRMT").and_then(|_| other_number(text, ", 0x")), 31),
    ("aes-ecb-encrypt-planes", "a lane", |text| text.strip_prefix("SHFL.IDX").map(|_| {
        let mut all: Vec<&str> = text.split(", ").collect();
        all[3] = "0x5";
        all.join(", ")
    }), 31),
    ("aes-ecb-encrypt-planes", "a distance", |text| text.strip_prefix("SHF.").and_then(|_| other_number(text, ", 0x")), 31),
    ("aes-ecb-encrypt-planes", "a factor", |text| text.strip_prefix("IMAD.SHL.U32").map(|_| text.replacen(", 0x", ", 0x8", 1)), 31),
    ("aes-ecb-encrypt-planes", "a place in shared memory", |text| {
        let is_shared = text.starts_with("LDS.128") || text.starts_with("STS.128");
        is_shared.then(|| text.replacen(']', "+0x10]", 1))
    }, 11),
    ("aes-ecb-encrypt-planes", "a place of a parameter", |text| {
        text.contains("[0x0][0x2").then(|| text.replacen("[0x0][0x2", "[0x0][0x3", 1))
    }, 3),
    ("aes-ctr-planes", "no barrier", |text| text.starts_with("BAR.SYNC").then(|| "NOP".into()), 3),
    ("aes-ctr-planes", "the contrary predicate", |text| match text.strip_prefix("@!") {
        Some(rest) => Some(format!("@{rest}")),
        None => Some(format!("@!{}", text.strip_prefix('@')?)),
    }, 61),
];

/// Faults in the entry point for whole blocks are found.
fn faults_are_found() {
    let mut chosen = vec![];
    for (name, fault, change, step) in FAULTS {
        let (manifest, listing) = kernel(name);
        let begin = listing.find(&format!(".text.{}:", manifest.entries[&Entry::Blocks].name)).unwrap();
        let end = begin + listing[begin..].find("\n//---").unwrap();
        let places = listing[begin..end].lines().filter_map(|line| {
            let text = line.trim().strip_prefix("/*")?.split_once("*/")?.1.split_once(';')?.0.trim();
            let at = text.as_ptr() as usize - listing.as_ptr() as usize;
            Some((name, fault, at..at + text.len(), change(text)?))
        });
        let places: Vec<_> = places.collect();
        assert!(places.len() > step / 2, "{fault}: there are few places");
        chosen.extend(places.into_iter().skip(step / 2).step_by(step));
    }
    one_in(19, chosen).into_par_iter().for_each(|(name, fault, range, instead)| {
        let (manifest, listing) = kernel(name);
        let wrong = [&listing[..range.start], &instead, &listing[range.end..]].concat();
        let before = &listing[range];
        // A tile that is whole, and one that lacks blocks.
        let case = Case { bytes: 16 * 300, ..four_warps(manifest) };
        let why = prove(manifest, Code::Sass(&wrong), &case);
        let why = why.expect_err(&format!("{name}: {fault}: `{instead}` in place of `{before}`"));
        assert!(!why.contains("no rule"), "{fault}: `{instead}` in place of `{before}`: {why}");
    });
}

fn main() -> ExitCode {
    let all = tests![a_tile, edges_of_machine_code, many_at_a_time, faults_are_found];
    Tests::default().with(&[Need::Disassembler], all).run()
}
