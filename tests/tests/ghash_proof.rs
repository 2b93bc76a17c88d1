//! Proofs for every hash key and all data, of some lengths: the hash kernels that are stored as PTX compute GHASH (SP 800-38D, section 6.4) and
//! the tags of many messages, and clear what is not authentic. The head of `aes_bitslice_analysis::proof::ghash` says how.

use aes_bitslice_analysis::proof::ghash::clear::{Decrypted, prove_clear, prove_clear_messages};
use aes_bitslice_analysis::proof::ghash::messages::prove_tags;
use aes_bitslice_analysis::proof::ghash::{Case, prove};
use aes_bitslice_analysis::proof::kernel::Proved;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::{Arrangement, Blocks};
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_kernels::HASHES;
use aes_bitslice_tests::environment::{PROOFS, is_set, sample};
use rayon::prelude::*;

/// The first value if all cases are proved, else the second.
fn all_or<T>(every: T, some: T) -> T {
    if is_set(PROOFS) { every } else { some }
}

/// The hash kernels that are stored as PTX, with their manifests.
fn kernels() -> Vec<(Manifest<Hash>, &'static str)> {
    let parsed = HASHES.iter().filter_map(|kernel| Some((Manifest::parse(kernel.manifest).unwrap(), kernel.ptx?)));
    let kernels: Vec<(Manifest<Hash>, _)> = parsed.collect();
    assert_eq!(kernels.len(), 2, "another number of hash kernels is stored as PTX");
    kernels
}

/// A byte, a whole tile, and messages with and without a partial last block whose first tiles have zeros in front: of one unit, of units
/// with different numbers of tiles, and of fewer tiles than there are units.
fn cases(manifest: &Manifest<Hash>) -> [Case; 6] {
    let tile = 16 * manifest.shape.tile_blocks() as usize;
    let [as_they_are, reversed] = Blocks::ALL;
    let case = |blocks, bytes, offset, units| Case { blocks, bytes, offset, units };
    [
        case(reversed, 1, Some(15), 1),
        case(as_they_are, tile, None, 1),
        case(as_they_are, tile + 16 * 76 + 7, None, 1),
        case(reversed, 2 * tile - 16, None, 3),
        case(as_they_are, 2 * tile + 5, Some(3), 2),
        case(reversed, 3 * tile - 9, None, 2),
    ]
}

#[test]
fn the_hash_of_every_message() {
    let kernels = kernels();
    let all = kernels.iter().flat_map(|kernel| cases(&kernel.0).map(|case| (kernel, case)));
    sample(0, all_or(1, 4), all).collect::<Vec<_>>().into_iter().par_bridge().for_each(|((manifest, ptx), case)| {
        let proved = prove(manifest, ptx, &case).unwrap_or_else(|why| panic!("{}, {case:?}: {why}", manifest.kernel));
        assert_eq!(proved.bits, 128);
    });
}

/// Bytes of data and of additional data: messages of several segments, at multiples of 16 bytes and not; of less than a block; and of nothing.
const MESSAGES: [(usize, usize); 10] =
    [(2048, 0), (4112, 0), (5, 300), (0, 0), (16 * 40 + 3, 33), (0, 17), (2048, 5), (1, 1), (16, 16), (2100, 0)];

/// More messages than a thread block takes at a time, on one thread block and on two; and a single one.
#[test]
fn the_tags_of_many_messages() {
    let kernels = kernels();
    let cases = [(&MESSAGES[..], 1), (&MESSAGES, 2), (&MESSAGES[4..5], 1)];
    let all = kernels.iter().flat_map(|kernel| cases.map(|case| (kernel, case)));
    sample(0, all_or(1, 4), all).collect::<Vec<_>>().into_iter().par_bridge().for_each(
        |((manifest, ptx), (lengths, thread_blocks))| {
            let proved = prove_tags(manifest, ptx, lengths, thread_blocks);
            let proved = proved.unwrap_or_else(|why| panic!("{}, {lengths:?}: {why}", manifest.kernel));
            assert_eq!(proved.bits, 128 * lengths.len());
        },
    );
}

/// A block with one bit.
fn one_bit(byte: usize, bit: u32) -> [u8; 16] {
    std::array::from_fn(|i| if i == byte { 1 << bit } else { 0 })
}

const SOME: [u8; 16] = [0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x0f];

/// Tags that are as expected, and of which one bit is not, which counts or does not.
const DECRYPTED: [(usize, u32, u32); 8] =
    [(40, 0, 16), (700, 15, 16), (33, 15, 15), (1, 3, 4), (0, 1, 13), (64, 8, 8), (65, 7, 8), (17, 12, 12)];

fn decrypted() -> Vec<Decrypted> {
    let differs = |n: usize, byte: u32| if n == 0 { [0; 16] } else { one_bit(byte as usize, n as u32 % 8) };
    DECRYPTED.iter().enumerate().map(|(n, &(bytes, byte, count))| (bytes, differs(n, byte), count)).collect()
}

/// Messages of a byte, of whose tags one bit is not as expected, in each another one.
fn each_bit() -> Vec<Decrypted> {
    (0..128).map(|bit| (1, one_bit(bit / 8, bit as u32 % 8), 16)).collect()
}

#[test]
fn what_is_not_authentic_is_cleared() {
    for (manifest, ptx) in &kernels() {
        let threads = manifest.threads as usize;
        for (bytes, difference, mask) in [
            (700, [0; 16], [0xff; 16]),
            (5 * threads - 1, one_bit(0, 0), SOME),
            (1, one_bit(15, 3), SOME),
            (300, one_bit(15, 4), SOME),
            (300, SOME.map(|byte| !byte), SOME),
        ] {
            prove_clear(manifest, ptx, bytes, difference, mask).unwrap();
        }
        for thread_blocks in [1, 2] {
            prove_clear_messages(manifest, ptx, &decrypted(), thread_blocks).unwrap();
        }
        // Each bit of a tag is compared.
        prove_clear_messages(manifest, ptx, &each_bit(), 1).unwrap();
        for (bytes, difference, count) in sample(0, all_or(1, 16), each_bit()) {
            prove_clear(manifest, ptx, bytes, difference, [0xff; 16]).unwrap();
            assert_eq!(count, 16);
        }
    }
}

/// What is proved of an entry point.
type Claim = (Entry, fn(&Manifest<Hash>, &str) -> Result<Proved, String>);

/// A message of few blocks.
const SHORT: Claim = (Entry::Hash, |manifest, ptx| {
    prove(manifest, ptx, &Case { blocks: Blocks::AsTheyAre, bytes: 45, offset: None, units: 1 })
});

/// A message that gives segments of a tile a sum before it.
const LONG: Claim = (Entry::Hash, |manifest, ptx| {
    let bytes = 16 * manifest.shape.tile_blocks() as usize + 16 * 300;
    prove(manifest, ptx, &Case { blocks: Blocks::AsTheyAre, bytes, offset: None, units: 1 })
});

/// Ten short messages.
const MANY: Claim = (Entry::HashMessages, |manifest, ptx| prove_tags(manifest, ptx, &[(16, 5); 10], 1));

const CLEARED: Claim =
    (Entry::Clear, |manifest, ptx| prove_clear(manifest, ptx, manifest.threads as usize * 2, one_bit(15, 3), SOME));

const SECOND_WORD_CLEARED: Claim =
    (Entry::Clear, |manifest, ptx| prove_clear(manifest, ptx, 1, one_bit(5, 2), [0xff; 16]));

const MANY_CLEARED: Claim =
    (Entry::ClearMessages, |manifest, ptx| prove_clear_messages(manifest, ptx, &decrypted(), 1));

const EACH_BIT_CLEARED: Claim =
    (Entry::ClearMessages, |manifest, ptx| prove_clear_messages(manifest, ptx, &each_bit(), 1));

/// The name of an instruction, and its operands.
fn operands(statement: &str) -> Option<(&str, Vec<String>)> {
    let (name, rest) = statement.split_once(char::is_whitespace)?;
    let mut depth = 0;
    let parts = rest.split(|sign| {
        depth += i32::from(sign == '{') - i32::from(sign == '}');
        sign == ',' && depth == 0
    });
    Some((name, parts.map(|part| part.trim().to_string()).collect()))
}

/// An instruction with a number, its last operand, replaced by another.
fn with_number(statement: &str, of: &str, number: &str, instead: &str) -> Option<String> {
    let rest = statement.strip_suffix(number)?;
    (statement.starts_with(of) && rest.ends_with(' ')).then(|| format!("{rest}{instead}"))
}

/// An instruction that takes the first two registers of an operand in the other order.
fn with_swapped(statement: &str, of: &str, operand: usize) -> Option<String> {
    let (name, mut all) = operands(statement).filter(|_| statement.starts_with(of))?;
    let mut registers: Vec<String> =
        all.get(operand)?.trim_matches(['{', '}']).split(", ").map(str::to_string).collect();
    registers.swap(0, 1);
    all[operand] = format!("{{{}}}", registers.join(", "));
    Some(format!("{name} {}", all.join(", ")))
}

/// What a fault is; the statement that has it, in place of a right one; the claim that it refutes; and of which arrangement it is, if only of
/// one.
type Fault = (&'static str, fn(&str) -> Option<String>, Claim, Option<Arrangement>);

/// At the last place of each in an entry point.
const FAULTS: [Fault; 14] = [
    ("rows of a matrix exchanged", |statement| with_swapped(statement, "mma.", 1), LONG, Some(Arrangement::Mma)),
    ("blocks of a row exchanged", |statement| with_swapped(statement, "mma.", 2), LONG, Some(Arrangement::Mma)),
    (
        "another lane of a fragment",
        |statement| {
            let (name, mut all) = operands(statement).filter(|_| statement.starts_with("shfl."))?;
            all[2] = "5".into();
            Some(format!("{name} {}", all.join(", ")))
        },
        LONG,
        Some(Arrangement::Mma),
    ),
    (
        "counts closer together than they are large",
        |statement| with_number(statement, "shl.b32", "16", "15"),
        LONG,
        Some(Arrangement::Mma),
    ),
    ("another order of bits", |statement| with_number(statement, "mov.u32", "291", "801"), SHORT, None),
    (
        "holes too narrow for carries",
        |statement| with_number(statement, "and.b32", "286331153", "858993459"),
        SHORT,
        None,
    ),
    ("another polynomial", |statement| with_number(statement, "shl.b64", "7", "6"), SHORT, None),
    ("coefficients that are lost", |statement| with_number(statement, "shr.u64", "57", "58"), SHORT, None),
    (
        "a tile that is not counted",
        |statement| ["16383", "4095"].iter().find_map(|most| with_number(statement, "add.s64", most, "0")),
        SHORT,
        None,
    ),
    ("another order of bits", |statement| with_number(statement, "mov.u32", "291", "801"), CLEARED, None),
    (
        "a byte too many is cleared",
        |statement| Some(format!("setp.le.u64{}", statement.strip_prefix("setp.lt.u64")?)),
        CLEARED,
        None,
    ),
    (
        "a byte too many is cleared",
        |statement| Some(format!("setp.le.u64{}", statement.strip_prefix("setp.lt.u64")?)),
        MANY_CLEARED,
        None,
    ),
    (
        "a word of the tag that does not count",
        |statement| {
            let (name, all) = operands(statement).filter(|_| statement.ends_with("+4]"))?;
            (name == "ld.param.u32").then(|| format!("mov.u32 {}, 0", all[0]))
        },
        SECOND_WORD_CLEARED,
        None,
    ),
    (
        "a word of the tags that is not compared",
        |statement| {
            let (name, all) = operands(statement)?;
            (name == "or.b32").then(|| format!("mov.u32 {}, {}", all[0], all[2]))
        },
        EACH_BIT_CLEARED,
        None,
    ),
];

/// A module with the fault in an entry point, or in a function before that, for each place where it can be.
fn with_fault(manifest: &Manifest<Hash>, ptx: &str, entry: Entry, change: fn(&str) -> Option<String>) -> Vec<String> {
    let name = &manifest.entries[&entry].name;
    let start = ptx.find(&format!(".entry {name}(")).unwrap();
    let end = start + ptx[start..].find("\n}").unwrap();
    let mut is_function = false;
    let changed = ptx[..end].lines().filter_map(|line| {
        let at = line.as_ptr() as usize - ptx.as_ptr() as usize;
        is_function = line.starts_with(".func") || is_function && line != "}";
        let instead = change(line.trim().trim_end_matches(';')).filter(|_| at > start || is_function)?;
        Some([&ptx[..at], &instead, ";", &ptx[at + line.len()..]].concat())
    });
    changed.collect()
}

/// Faults are found: in the lanes, rows and words of fragments, in barriers, shifts and masks.
#[test]
fn faults_are_found() {
    let kernels = kernels();
    let mut faults = vec![];
    for kernel in &kernels {
        let (manifest, ptx) = kernel;
        for claim in [SHORT, MANY] {
            let barriers =
                with_fault(manifest, ptx, claim.0, |statement| statement.starts_with("bar.").then(String::new));
            assert!(barriers.len() >= 3, "few barriers");
            // Without matrices, the first barrier is not needed for one message: a thread multiplies its own row, by a weight that it has
            // computed itself.
            let needless = manifest.shape.arrangement == Arrangement::Element && claim.0 == Entry::Hash;
            let needed = barriers.into_iter().skip(usize::from(needless));
            faults.extend(needed.map(|wrong| (manifest, "a missing barrier", claim, wrong)));
        }
        let has = |fault: &&Fault| fault.3.is_none_or(|arrangement| arrangement == manifest.shape.arrangement);
        for (what, change, claim, _) in FAULTS.iter().filter(has) {
            let wrong = with_fault(manifest, ptx, claim.0, *change).pop();
            faults.push((manifest, *what, *claim, wrong.unwrap_or_else(|| panic!("nowhere: {what}"))));
        }
    }
    let faults = sample(0, all_or(1, 6), faults).collect::<Vec<_>>();
    faults.par_iter().for_each(|(manifest, what, (entry, prove), wrong)| {
        let found = prove(manifest, wrong);
        let why = found.expect_err(&format!("{}, {}: {what}", manifest.kernel, entry.name()));
        assert!(!why.contains("no rule"), "{}, {}: {what}: {why}", manifest.kernel, entry.name());
    });
}
