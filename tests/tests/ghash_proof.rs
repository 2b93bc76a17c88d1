//! Proofs for every hash key and all data, of some lengths: the hash kernels compute GHASH (SP 800-38D, section 6.4) and the tags of many
//! messages, and clear what is not authentic. The head of `aes_bitslice_analysis::proof::ghash` says how. A kernel that is stored as machine code
//! only is proved as the PTX that NVRTC makes of its stored source.

use aes_bitslice_analysis::proof::context::buffer;
use aes_bitslice_analysis::proof::ghash::clear::{Decrypted, prove_clear, prove_clear_messages};
use aes_bitslice_analysis::proof::ghash::described::{self, LONGEST, Nonces, Numbers, prove_described};
use aes_bitslice_analysis::proof::ghash::gcm::{self, Check, Crypt};
use aes_bitslice_analysis::proof::ghash::gcm_batch;
use aes_bitslice_analysis::proof::ghash::messages::{prove_tags, prove_tags_of_jobs};
use aes_bitslice_analysis::proof::ghash::{Case, prove};
use aes_bitslice_analysis::proof::kernel::Proved;
use aes_bitslice_analysis::proof::machine::Turns;
use aes_bitslice_analysis::proof::mode::before_wrap;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::described::{Fault as Wrong, IntegerType, WrongRange};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::{Arrangement, Blocks};
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_core::messages::WIDEST;
use aes_bitslice_kernels::{HASHES, KERNELS};
use aes_bitslice_nvrtc::Target;
use aes_bitslice_tests::environment::{PROOFS, is_set, sample};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::outputs::Output;
use rayon::prelude::*;
use std::process::ExitCode;
use std::sync::LazyLock;

/// The first value if all cases are proved, else the second.
fn all_or<T>(every: T, some: T) -> T {
    if is_set(PROOFS) { every } else { some }
}

/// A kernel: its manifest, and its PTX.
type Kernel = (Manifest<Hash>, String);

/// The hash kernels that are stored as PTX.
static STORED: LazyLock<Vec<Kernel>> = LazyLock::new(|| {
    let parsed =
        HASHES.iter().filter_map(|kernel| Some((Manifest::parse(kernel.manifest).unwrap(), kernel.ptx?.into())));
    let kernels: Vec<Kernel> = parsed.collect();
    assert_eq!(kernels.len(), 2, "another number of hash kernels is stored as PTX");
    kernels
});

/// A kernel that is stored as machine code only.
fn compiled(name: &str) -> Kernel {
    let kernel = HASHES.iter().find(|kernel| kernel.name == name).unwrap();
    let manifest = Manifest::<Hash>::parse(kernel.manifest).unwrap();
    let target = Target::SpecificPtx(manifest.compute_capability.unwrap().from);
    let ptx = aes_bitslice_nvrtc::compile(name, kernel.source, target).unwrap().image;
    (manifest, String::from_utf8(ptx).unwrap())
}

/// The hash kernel that is not stored as PTX.
static COMPILED: LazyLock<Vec<Kernel>> = LazyLock::new(|| vec![compiled("ghash-wgmma")]);

/// A byte, a whole tile, and messages with and without a partial last block whose first tiles have zeros in front: of one unit, of units
/// with different numbers of tiles, and of fewer tiles than there are units. The last has more tiles than there are stages of copies.
fn cases(manifest: &Manifest<Hash>) -> Vec<Case> {
    let tile = 16 * manifest.shape.tile_blocks() as usize;
    let [as_they_are, reversed] = Blocks::ALL;
    let case = |blocks, bytes, offset, units| Case { blocks, bytes, offset, units };
    let staged = manifest.shape.arrangement == Arrangement::Wgmma;
    let of_stages = staged.then(|| case(as_they_are, 4 * tile + 100, None, 1));
    let all = [
        case(reversed, 1, Some(15), 1),
        case(as_they_are, tile, None, 1),
        case(as_they_are, tile + 16 * 76 + 7, None, 1),
        case(reversed, 2 * tile - 16, None, 3),
        case(as_they_are, 2 * tile + 5, Some(3), 2),
        case(reversed, 3 * tile - 9, None, 2),
    ];
    all.into_iter().chain(of_stages).collect()
}

fn the_hash_of_every_message(kernels: &[Kernel]) {
    let all = kernels.iter().flat_map(|kernel| cases(&kernel.0).into_iter().map(move |case| (kernel, case)));
    sample(0, all_or(1, 4), all).collect::<Vec<_>>().into_iter().par_bridge().for_each(|((manifest, ptx), case)| {
        let proved = prove(manifest, ptx, &case).unwrap_or_else(|why| panic!("{}, {case:?}: {why}", manifest.kernel));
        assert_eq!(proved.bits, 128);
    });
}

/// Bytes of data and of additional data: messages of several segments, at multiples of 16 bytes and not; of less than a block; and of nothing.
const MESSAGES: [(usize, usize); 10] =
    [(2048, 0), (4112, 0), (5, 300), (0, 0), (16 * 40 + 3, 33), (0, 17), (2048, 5), (1, 1), (16, 16), (2100, 0)];

/// More messages than a thread block takes at a time, on one thread block and on two; and a single one.
fn the_tags_of_many_messages(kernels: &[Kernel]) {
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

/// Whether it has the entry point for messages with hash keys of their own.
fn is_of_jobs(manifest: &Manifest<Hash>) -> bool {
    manifest.entries.contains_key(&Entry::HashJobs)
}

/// Messages with hash keys of their own, however many threads share each.
fn the_tags_of_jobs(kernels: &[Kernel]) {
    let of_jobs = kernels.iter().filter(|(manifest, _)| is_of_jobs(manifest));
    let all = of_jobs.flat_map(|kernel| (0..=WIDEST).map(move |wide| (kernel, wide)));
    sample(0, all_or(1, 3), all).collect::<Vec<_>>().into_iter().par_bridge().for_each(|((manifest, ptx), wide)| {
        let proved = prove_tags_of_jobs(manifest, ptx, &OF_JOBS, wide, 1).unwrap_or_else(|why| panic!("{wide}: {why}"));
        assert_eq!(proved.bits, 128 * OF_JOBS.len());
    });
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

fn what_is_not_authentic_is_cleared(kernels: &[Kernel]) {
    for (manifest, ptx) in kernels {
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

/// A tile, which is copied as it is.
const WHOLE: Claim = (Entry::Hash, |manifest, ptx| {
    let bytes = 16 * manifest.shape.tile_blocks() as usize;
    prove(manifest, ptx, &Case { blocks: Blocks::AsTheyAre, bytes, offset: None, units: 1 })
});

/// A message that gives segments of a tile a sum before it.
const LONG: Claim = (Entry::Hash, |manifest, ptx| {
    let bytes = 16 * manifest.shape.tile_blocks() as usize + 16 * 300;
    prove(manifest, ptx, &Case { blocks: Blocks::AsTheyAre, bytes, offset: None, units: 1 })
});

/// Ten short messages.
const MANY: Claim = (Entry::HashMessages, |manifest, ptx| prove_tags(manifest, ptx, &[(16, 5); 10], 1));

/// As many, which are copied as they are; the first eight take all stages of copies once.
const MANY_COPIED: Claim = (Entry::HashMessages, |manifest, ptx| {
    let lengths: [(usize, usize); 10] = std::array::from_fn(|n| (if n < 8 { 3 * 2048 } else { 2048 }, 0));
    prove_tags(manifest, ptx, &lengths, 1)
});

/// Bytes of data and of additional data of messages with hash keys of their own.
const OF_JOBS: [(usize, usize); 10] =
    [(200, 0), (5, 30), (0, 0), (16 * 5, 16), (0, 17), (16, 0), (33, 1), (700, 0), (1, 0), (48, 48)];

/// More than a thread block takes at a time, of which 32 threads share each.
const JOBS: Claim = (Entry::HashJobs, |manifest, ptx| prove_tags_of_jobs(manifest, ptx, &OF_JOBS, WIDEST, 1));

const CLEARED: Claim =
    (Entry::Clear, |manifest, ptx| prove_clear(manifest, ptx, manifest.threads as usize * 2, one_bit(15, 3), SOME));

const SECOND_WORD_CLEARED: Claim =
    (Entry::Clear, |manifest, ptx| prove_clear(manifest, ptx, 5, one_bit(5, 2), [0xff; 16]));

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

/// Statements of a line with another word.
fn with_other(statement: &str, word: &str, instead: &str) -> Option<String> {
    statement.contains(word).then(|| statement.replacen(word, instead, 1))
}

/// Nothing in place of an instruction.
fn without(statement: &str, name: &str) -> Option<String> {
    statement.starts_with(name).then(String::new)
}

const WGMMA: Option<Arrangement> = Some(Arrangement::Wgmma);

/// What a fault is; the statement that has it, in place of a right one; the claim that it refutes; and of which arrangement it is, if only of
/// one.
type Fault = (&'static str, fn(&str) -> Option<String>, Claim, Option<Arrangement>);

const ELEMENT: Option<Arrangement> = Some(Arrangement::Element);

/// At the last place of each in an entry point.
const FAULTS: [Fault; 26] = [
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
    ("rows of a matrix exchanged", |statement| with_swapped(statement, "wgmma.mma_async", 1), LONG, WGMMA),
    ("sums exchanged", |statement| with_swapped(statement, "wgmma.mma_async", 0), LONG, WGMMA),
    ("another block of a row", |statement| with_other(statement, "16 * 7;", "16 * 6;"), LONG, WGMMA),
    ("another matrix", |statement| with_other(statement, "256 * 7;", "256 * 6;"), LONG, WGMMA),
    (
        "another distance of core matrices",
        |statement| with_other(statement, " 34368126976", " 34368192512"),
        LONG,
        WGMMA,
    ),
    ("products that wait for no registers", |statement| without(statement, "wgmma.fence."), LONG, WGMMA),
    ("products that are not committed", |statement| without(statement, "wgmma.commit_group."), LONG, WGMMA),
    ("products that are not waited for", |statement| without(statement, "wgmma.wait_group."), LONG, WGMMA),
    (
        "a copy that is not waited for",
        |statement| with_other(statement, "1, 0, arrived", "1, 1, arrived"),
        WHOLE,
        WGMMA,
    ),
    ("a copy of a part of the matrices", |statement| with_number(statement, "mov.u32", "34816", "34800"), LONG, WGMMA),
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
    ("another polynomial", |statement| with_number(statement, "shl.b64", "7", "6"), JOBS, ELEMENT),
    ("coefficients that are lost", |statement| with_number(statement, "shr.u64", "57", "58"), JOBS, ELEMENT),
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
    let end = ptx[start..].find(".visible .entry").map_or(ptx.len(), |next| start + next);
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
fn faults_are_found(kernels: &[Kernel]) {
    let mut faults = vec![];
    for kernel in kernels {
        let (manifest, ptx) = kernel;
        let is_staged = manifest.shape.arrangement == Arrangement::Wgmma;
        let many = if is_staged { MANY_COPIED } else { MANY };
        for claim in [SHORT, many].into_iter().chain(is_of_jobs(manifest).then_some(JOBS)) {
            let barriers = with_fault(manifest, ptx, claim.0, |statement| without(statement, "bar."));
            assert!(barriers.len() >= if claim.0 == Entry::HashJobs { 2 } else { 3 }, "few barriers");
            // Without matrices, the first barrier is not needed for one message: a thread multiplies its own row, by a weight that it has
            // computed itself.
            let needless = manifest.shape.arrangement == Arrangement::Element && claim.0 == Entry::Hash;
            let needed = barriers.into_iter().skip(usize::from(needless));
            faults.extend(needed.map(|wrong| (manifest, "a missing barrier", claim, wrong)));
            let fences = with_fault(manifest, ptx, claim.0, |statement| without(statement, "fence.proxy.async."));
            faults.extend(fences.into_iter().map(|wrong| (manifest, "a missing fence", claim, wrong)));
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

/// All of what an entry point writes is compared, and it may write and read nothing else. By turns of one kernel.
fn all_of_each_output_and_nothing_else(kernels: &[Kernel]) {
    const MESSAGES: [(usize, usize); 2] = [(16, 5), (1, 0)];
    const TAGS: Claim = (Entry::HashMessages, |manifest, ptx| prove_tags(manifest, ptx, &MESSAGES, 1));
    const JOBS: Claim = (Entry::HashJobs, |manifest, ptx| prove_tags_of_jobs(manifest, ptx, &MESSAGES, 0, 1));
    let of = |by, number, bytes, word| Output { begin: buffer(number), bytes, word, by };
    let cleared = |bytes| Output { begin: buffer(2) + 3, bytes, word: 1, by: "st.global." };
    let all = [
        (SHORT, of("atom.global.xor", 2, 16, 4)),
        (TAGS, of("st.global.", 2, 32, 4)),
        (JOBS, of("st.global.", 2, 32, 4)),
        (SECOND_WORD_CLEARED, cleared(5)),
        (EACH_BIT_CLEARED, cleared(128)),
        (EACH_BIT_CLEARED, of("st.global.", 8, 512, 4)),
    ];
    all.par_iter().enumerate().for_each(|(number, ((entry, prove), output))| {
        let with_entry: Vec<_> = kernels.iter().filter(|(manifest, _)| manifest.entries.contains_key(entry)).collect();
        for (manifest, ptx) in sample(number, all_or(1, with_entry.len().max(1)), with_entry) {
            output.check(number, ptx, &manifest.entries[entry], &|ptx| prove(manifest, ptx));
        }
    });
}

/// The kernel of GCM in one launch.
static GCM: LazyLock<Kernel> = LazyLock::new(|| compiled("gcm-wgmma"));

/// A launch of it.
#[derive(Clone, Copy, Debug)]
enum Gcm {
    One(gcm::Case),
    /// The masks of this many messages, on this many thread blocks.
    Masks(usize, u64),
    Many(gcm_batch::Case<'static>),
}

impl Gcm {
    /// Proves it, with this PTX.
    fn prove(&self, ptx: &str) -> Result<Proved, String> {
        let counter_mode = KERNELS.iter().find(|kernel| kernel.name == "aes-ctr-planes").unwrap();
        let basis = <Manifest>::parse(counter_mode.manifest).unwrap().basis().unwrap();
        let kernel = gcm::Kernel { manifest: &GCM.0, ptx, basis };
        match self {
            Self::One(case) => gcm::prove(&kernel, case),
            Self::Masks(count, thread_blocks) => {
                gcm_batch::prove_masks(&kernel, KeyBits::Aes128, *count, *thread_blocks)
            }
            Self::Many(case) => gcm_batch::prove(&kernel, case),
        }
    }

    fn entry(&self) -> Entry {
        match self {
            Self::One(gcm::Case { crypt: Crypt::Encrypt, .. }) => Entry::Encrypt,
            Self::One(_) => Entry::Decrypt,
            Self::Masks(..) => Entry::BatchMasks,
            Self::Many(gcm_batch::Case { decrypted: None, .. }) => Entry::BatchEncrypt,
            Self::Many(_) => Entry::BatchDecrypt,
        }
    }
}

/// Bytes of a span, on which a warpgroup works at a time.
const SPAN: usize = 16 * 1024;

/// A counter that wraps within its first tile.
const WRAPS: u128 = before_wrap(32, 200);

const ENCRYPTS: gcm::Case = gcm::Case {
    crypt: Crypt::Encrypt,
    key_bits: KeyBits::Aes128,
    counter: WRAPS,
    bytes: 16 * 300 + 5,
    units: 4,
    in_place: false,
};

const fn decrypts(bytes: usize, difference: [u8; 16], mask: [u8; 16]) -> gcm::Case {
    gcm::Case { crypt: Crypt::Decrypt(Some(Check { mask, difference })), bytes, ..ENCRYPTS }
}

const SECOND_WORD: [u8; 16] = [0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// One thread block has it, of which one warpgroup has data: a block and a byte, all of a span, tiles of which the last or the first is ragged;
/// tags that are as they should be, of which a bit differs, and of which one does that is not checked.
const OF_A_SPAN: [Gcm; 7] = [
    Gcm::One(gcm::Case { bytes: 17, ..ENCRYPTS }),
    Gcm::One(gcm::Case { counter: before_wrap(32, 512), bytes: SPAN, in_place: true, ..ENCRYPTS }),
    Gcm::One(gcm::Case { key_bits: KeyBits::Aes256, bytes: 16 * 700 + 5, ..ENCRYPTS }),
    Gcm::One(gcm::Case {
        crypt: Crypt::Decrypt(None),
        key_bits: KeyBits::Aes192,
        bytes: 5003,
        in_place: true,
        ..ENCRYPTS
    }),
    Gcm::One(decrypts(16 * 513, [0; 16], [0xff; 16])),
    CLEARED_BY_GCM,
    Gcm::One(decrypts(100, [0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0xf0], SOME)),
];

const CLEARED_BY_GCM: Gcm = Gcm::One(decrypts(16 * 700 + 9, SECOND_WORD, [0xff; 16]));

/// On two thread blocks; and on one of which a warpgroup has two spans.
const OF_SEVERAL_SPANS: [Gcm; 4] = [
    ON_TWO_BLOCKS,
    Gcm::One(gcm::Case { units: 8, ..decrypts(SPAN + 5001, SECOND_WORD, [0xff; 16]) }),
    Gcm::One(gcm::Case { units: 8, in_place: true, ..decrypts(SPAN + 5001, [0; 16], [0xff; 16]) }),
    Gcm::One(gcm::Case { bytes: 4 * SPAN, ..ENCRYPTS }),
];

const ON_TWO_BLOCKS: Gcm = Gcm::One(gcm::Case { bytes: SPAN + 5001, units: 8, ..ENCRYPTS });

/// Messages of a byte, of nothing, with and without additional data, of two steps.
const BATCH: gcm_batch::Case<'static> = gcm_batch::Case {
    key_bits: KeyBits::Aes128,
    wide: 0,
    lengths: &[(5, 300), (0, 0), (16 * 32 + 3, 33), (0, 17), (100, 5), (1, 1), (16, 16)],
    decrypted: None,
    offset: 1,
    thread_blocks: 1,
    in_place: false,
};

/// Tags that are as expected, or not in a byte that counts, the first or the last, or in one that does not.
const BATCH_DECRYPTED: gcm_batch::Case<'static> = gcm_batch::Case {
    decrypted: Some(&[
        ([0; 16], 16),
        ([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80], 16),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80], 15),
        ([0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 4),
        ([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], 8),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0], 13),
    ]),
    ..BATCH
};

/// Launches for many messages: groups of threads that have a message each, or share one.
const OF_MESSAGES: [Gcm; 6] = [
    Gcm::Masks(300, 1),
    Gcm::Many(BATCH),
    Gcm::Many(BATCH_DECRYPTED),
    Gcm::Many(gcm_batch::Case { offset: 0, in_place: true, key_bits: KeyBits::Aes256, ..BATCH }),
    Gcm::Many(gcm_batch::Case { wide: 2, lengths: &[(2100, 7), (1900, 0), (16, 16)], ..BATCH }),
    Gcm::Many(gcm_batch::Case { wide: 5, lengths: &[(2100, 20)], in_place: true, ..BATCH }),
];

/// On two thread blocks; and of more units than there are warpgroups.
const OF_MANY_MESSAGES: [Gcm; 3] = [
    Gcm::Masks(600, 2),
    Gcm::Many(gcm_batch::Case { wide: 4, lengths: &[(700, 3); 4], thread_blocks: 2, ..BATCH_DECRYPTED }),
    Gcm::Many(gcm_batch::Case { wide: 3, lengths: &[(300, 3); 18], ..BATCH }),
];

/// Likewise of GCM: what it is, the statement that has it, and the launch that refutes it. At each place, or at the last one.
type GcmFault = (&'static str, fn(&str) -> Option<String>, Gcm, bool);

const GCM_FAULTS: [GcmFault; 15] = [
    ("a missing barrier", |statement| without(statement, "bar.sync"), Gcm::One(ENCRYPTS), true),
    (
        "tables that are not waited for",
        |statement| with_other(statement, "1, 0, arrived", "1, 1, arrived"),
        Gcm::One(ENCRYPTS),
        true,
    ),
    (
        "fewer powers for rows",
        |statement| with_number(statement, "mov.u32", "35840", "35824"),
        Gcm::One(ENCRYPTS),
        true,
    ),
    ("lanes that are not added", |statement| with_number(statement, "xor.b32", "16", "8"), Gcm::One(ENCRYPTS), true),
    ("a shift by another lane", |statement| with_number(statement, "shl.b64", "32", "33"), Gcm::One(ENCRYPTS), false),
    ("a missing fence", |statement| without(statement, "fence.proxy.async."), Gcm::One(ENCRYPTS), true),
    ("products that are not waited for", |statement| without(statement, "wgmma.wait_group."), Gcm::One(ENCRYPTS), true),
    ("another matrix", |statement| with_other(statement, "256 * 7;", "256 * 6;"), Gcm::One(ENCRYPTS), true),
    (
        "a word of the terms that is not checked",
        |statement| {
            let (name, all) = operands(statement).filter(|_| statement.ends_with("+4]"))?;
            (name == "ld.param.u32").then(|| format!("mov.u32 {}, 0", all[0]))
        },
        CLEARED_BY_GCM,
        false,
    ),
    (
        "blocks that are not cleared",
        |statement| with_number(statement, "add.s64", "8192", "16384"),
        CLEARED_BY_GCM,
        false,
    ),
    (
        "a byte too many is cleared",
        |statement| Some(format!("setp.lt.u64{}", statement.strip_prefix("setp.le.u64")?)),
        CLEARED_BY_GCM,
        false,
    ),
    ("a missing fence", |statement| without(statement, "fence.proxy.async."), Gcm::Many(BATCH), true),
    ("products that are not committed", |statement| without(statement, "wgmma.commit_group."), Gcm::Many(BATCH), true),
    (
        "another bit of a count",
        |statement| with_number(statement, "and.b32", "65537", "65536"),
        Gcm::Many(BATCH),
        false,
    ),
    (
        "another order of bits",
        |statement| with_number(statement, "mov.u32", "291", "801"),
        Gcm::Many(BATCH_DECRYPTED),
        false,
    ),
];

/// Between thread blocks.
const GCM_FAULTS_OF_SEVERAL: [GcmFault; 2] = [
    ("a missing fence of device memory", |statement| without(statement, "membar."), ON_TWO_BLOCKS, true),
    ("a sum that is left", |statement| with_number(statement, "atom.global.exch.b32", "0", "1"), ON_TWO_BLOCKS, true),
];

/// The kernel of GCM in one launch: in counter mode, as a hash, and as a verdict, all in one run; and of many messages. Faults in it are found.
fn gcm_in_one_launch() {
    type Item = (Gcm, Option<(&'static str, String)>);
    let (manifest, ptx) = &*GCM;
    let right = |cases: &[Gcm]| cases.iter().map(|case| (*case, None)).collect::<Vec<Item>>();
    let wrong = |faults: &[GcmFault]| {
        let places = faults.iter().flat_map(|(what, change, case, everywhere)| {
            let mut all = with_fault(manifest, ptx, case.entry(), *change);
            assert!(!all.is_empty(), "nowhere: {what}");
            let first = if *everywhere { 0 } else { all.len() - 1 };
            all.drain(first..).map(|wrong| (*case, Some((*what, wrong)))).collect::<Vec<Item>>()
        });
        places.collect::<Vec<Item>>()
    };
    let short = [right(&OF_A_SPAN), wrong(&GCM_FAULTS), right(&OF_MESSAGES)].concat();
    let mut items: Vec<Item> = sample(0, all_or(1, short.len()), short).collect();
    if is_set(PROOFS) {
        items.extend([right(&OF_SEVERAL_SPANS), right(&OF_MANY_MESSAGES), wrong(&GCM_FAULTS_OF_SEVERAL)].concat());
    }
    items.par_iter().for_each(|(case, fault)| match fault {
        None => _ = case.prove(ptx).unwrap_or_else(|why| panic!("{case:?}: {why}")),
        Some((what, wrong)) => {
            let why = case.prove(wrong).expect_err(what);
            assert!(!why.contains("no rule"), "{what}: {why}");
        }
    });
}

/// Likewise of GCM in one launch, also what the next launch needs: of one output, other ones in each turn, or all.
fn all_of_each_output_of_gcm_and_nothing_else() {
    let encrypts = Gcm::One(gcm::Case { bytes: 17, ..ENCRYPTS });
    let decrypts = Gcm::One(decrypts(17, [0; 16], [0xff; 16]));
    let batch = gcm_batch::Case { lengths: &[(5, 3), (16, 0)], ..BATCH };
    let of_batch =
        [Some(&[([0; 16], 16); 2][..]), None].map(|decrypted| Gcm::Many(gcm_batch::Case { decrypted, ..batch }));
    let of = |by, number, bytes, word| Output { begin: buffer(number), bytes, word, by };
    let of_one = [encrypts, decrypts].into_iter().flat_map(|case| {
        let kept = [("atom.global.exch", 5, 16), ("atom.global.inc", 6, 4), ("st.global.", 7, 16)];
        let kept = kept.map(|(by, number, bytes)| of(by, number, bytes, 4));
        [of("st.global.", 2, 17, 1)].into_iter().chain(kept).map(move |output| (case, output))
    });
    let of_many = of_batch.into_iter().zip([8, 32]).flat_map(|(case, bytes)| {
        let output = Output { begin: buffer(2) + 1, ..of("st.global.", 2, 21, 1) };
        [output, of("st.global.", 9, bytes, 4)].map(|output| (case, output))
    });
    let all = of_one.chain([(Gcm::Masks(2, 1), of("st.global.", 8, 32, 4))]).chain(of_many);
    let all: Vec<(usize, (Gcm, Output))> = all.enumerate().collect();
    sample(0, all_or(1, all.len()), all).collect::<Vec<_>>().par_iter().for_each(|(number, (case, output))| {
        let (manifest, ptx) = &*GCM;
        output.check(*number, ptx, &manifest.entries[&case.entry()], &|ptx| case.prove(ptx));
    });
}

/// Puts a number in an array. Returns whether it has a place there.
fn put(numbers: &mut Numbers, n: usize, number: i128) -> bool {
    let has_place = match numbers.integers {
        None => false,
        Some(IntegerType::U32) => u32::try_from(number).is_ok(),
        Some(IntegerType::I32) => i32::try_from(number).is_ok(),
        Some(IntegerType::U64) => u64::try_from(number).is_ok(),
        Some(IntegerType::I64) => i64::try_from(number).is_ok(),
    };
    if has_place {
        numbers.numbers[n] = number;
    }
    has_place
}

/// Nine messages in arrays of these forms: the types of starts and of ends, and whether ends are lengths; of additional data the other way. One
/// message begins where the one before ends, and the nonces carry.
fn few([starts, ends]: [Option<IntegerType>; 2], are_lengths: bool) -> described::Case {
    let arrays = |types: [Option<IntegerType>; 2], are_lengths, [first, step, bytes, more]: [i128; 4]| {
        let begin = |n| first + step * n;
        let end = |n| bytes + more * n + if are_lengths { 0 } else { begin(n) };
        let numbers = |of: &dyn Fn(i128) -> i128| (0..9).map(of).collect();
        [
            Numbers { integers: types[0], are_lengths: false, numbers: numbers(&begin) },
            Numbers { integers: types[1], are_lengths, numbers: numbers(&end) },
        ]
    };
    described::Case {
        data: arrays([starts, ends], are_lengths, [5, 40, 33, 1]),
        aad: arrays([ends, starts], !are_lengths, [0, 3, 1, 2]),
        lengths: [366, 41],
        nonces: Nonces::Counted(2, [1, 2, 3, 4, 0, 0, 0, 5, 0xff, 0xff, 0xff, 0xfd]),
        count: 9,
        thread_blocks: 1,
        turns: Turns::Ascending,
    }
}

/// A change of the data's arrays, or of those of additional data, if they have place for it.
type Change = fn(&mut described::Case, usize) -> bool;

fn arrays(case: &mut described::Case, of: usize) -> &mut [Numbers; 2] {
    if of == 0 { &mut case.data } else { &mut case.aad }
}

/// The last message as long as can be, or longer.
fn lengthen(case: &mut described::Case, of: usize, more: i128) -> bool {
    case.lengths[of] = u64::MAX;
    let [begins, ends] = arrays(case, of);
    let begin = if ends.are_lengths { 0 } else { begins.numbers[8] };
    put(ends, 8, begin + LONGEST[of] + more)
}

/// A negative beginning and end; an end before the beginning, or beyond 64 bits; a message that begins a byte before the end of the one before; two
/// that end after the data; the longest one, and one that is longer.
const CHANGES: [Change; 7] = [
    |case, of| put(&mut arrays(case, of)[0], 3, -1),
    |case, of| put(&mut arrays(case, of)[1], 0, -1),
    |case, of| {
        let [begins, ends] = arrays(case, of);
        put(ends, 4, if ends.are_lengths { u64::MAX.into() } else { begins.numbers[4] - 1 })
    },
    |case, of| of == 0 && put(&mut case.data[0], 5, 201),
    |case, of| {
        case.lengths[of] -= if of == 0 { 50 } else { 3 };
        true
    },
    |case, of| lengthen(case, of, 0),
    |case, of| lengthen(case, of, 1),
];

/// More messages than two thread blocks have threads, of many lengths.
fn many() -> described::Case {
    let lengths = (0..1100_u64).map(|n| if n == 600 { LONGEST[0] } else { (n * n * 37 % 5000).into() });
    let lengths: Vec<i128> = lengths.collect();
    let numbers = |integers, are_lengths, numbers| Numbers { integers: Some(integers), are_lengths, numbers };
    let ends: Vec<i128> = lengths.iter().scan(0, |end, length| Some(std::mem::replace(end, *end + length))).collect();
    let mut case = described::Case {
        lengths: [u64::MAX, 2000],
        nonces: Nonces::Each,
        count: lengths.len(),
        thread_blocks: 2,
        ..few([None; 2], true)
    };
    case.aad = [vec![0], vec![1]].map(|numbers| Numbers { integers: None, are_lengths: false, numbers });
    case.data = [numbers(IntegerType::I64, false, ends), numbers(IntegerType::U64, true, lengths)];
    case
}

/// Arrays of all forms, with each change; and nonces that start again.
fn described() -> Vec<described::Case> {
    use IntegerType::*;
    let types = [None, Some(U32), Some(I32), Some(U64), Some(I64)];
    let pairs = types.iter().flat_map(|one| types.map(|other| [*one, other]));
    let mut all = vec![many()];
    for right in pairs.flat_map(|pair| [false, true].map(|are_lengths| few(pair, are_lengths))) {
        let changes = (0..2).flat_map(|of| CHANGES.map(|change| (change, of)));
        let changed = |(change, of): (Change, usize)| {
            let mut case = right.clone();
            change(&mut case, of).then_some(case)
        };
        all.extend(changes.filter_map(changed));
        let ends = |words, first| described::Case { nonces: Nonces::Counted(words, first), ..right.clone() };
        all.extend([ends(1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc])]);
        all.extend([ends(2, [0xff, 0xff, 0xff, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe])]);
        all.push(right);
    }
    all
}

/// What a fault is; the entry point, the statement that has it, and the number of its place, from the end if below 0; and the arrays that refute it.
type FaultOfDescribed = (&'static str, Entry, fn(&str) -> Option<String>, isize, fn() -> described::Case);

fn signed() -> described::Case {
    few([Some(IntegerType::I64); 2], false)
}

fn changed(change: usize, of: usize) -> described::Case {
    let mut case = signed();
    assert!(CHANGES[change](&mut case, of));
    case
}

#[rustfmt::skip]
const FAULTS_OF_DESCRIBED: [FaultOfDescribed; 18] = [
    ("a missing barrier", Entry::BatchDescribe, |one| without(one, "bar."), 0, signed),
    ("a missing barrier", Entry::BatchDescribe, |one| without(one, "bar."), 1, signed),
    ("a message too many", Entry::BatchDescribe, |one| Some(format!("setp.gt{}", one.strip_prefix("setp.ge")?)), 0, signed),
    ("a message that is too short", Entry::BatchDescribe, |one| with_number(one, "setp.gt.u64", "68719476704", "68719476703"), 0, || changed(5, 0)),
    ("a message that is too long", Entry::BatchDescribe, |one| with_number(one, "setp.gt.u64", "68719476704", "68719476705"), 0, || changed(6, 0)),
    ("a number that is not negative", Entry::BatchDescribe, |one| with_number(one, "setp.lt.s64", "0", "-1"), 0, || changed(0, 0)),
    ("an end that is the next beginning", Entry::BatchDescribe, |one| Some(format!("setp.le{}", one.strip_prefix("setp.lt.u64").map(|rest| format!(".u64{rest}"))?)), 2, signed),
    ("the last fault", Entry::BatchDescribe, |one| Some(format!("mov.u32{}", one.strip_prefix("not.b32")?)), 0, || changed(4, 0)),
    ("another length", Entry::BatchDescribe, |one| with_number(one, "mov.u64", "1023", "1022"), 0, signed),
    ("a carry that is lost", Entry::BatchDescribe, |one| with_number(one, "add.s32", "1", "0"), 0, signed),
    ("a message in the place of another", Entry::BatchDescribe, |one| with_number(one, "mul.wide.u32", "48", "32"), 0, signed),
    ("a missing barrier", Entry::BatchOrder, |one| without(one, "bar."), 0, signed),
    ("a missing barrier", Entry::BatchOrder, |one| without(one, "bar."), 2, signed),
    ("sums of fewer", Entry::BatchOrder, |one| with_number(one, "setp.lt.u32", "1024", "512"), 1, many),
    ("every second place", Entry::BatchOrder, |one| with_number(one, "atom.shared.add.u32", "1", "2"), -1, signed),
    ("places that another thread block has", Entry::BatchOrder, |one| {
        let (_, all) = operands(one).filter(|(name, _)| *name == "sub.s32")?;
        Some(format!("mov.u32 {}, 0", all[0]))
    }, -1, many),
    ("messages that are wrong", Entry::BatchOrder, |one| with_other(one, ", -1,", ", -2,"), 0, || changed(2, 0)),
    ("the sums of one half", Entry::BatchOrder, |one| with_other(one.strip_prefix("st.local")?, "+4]", "]").map(|rest| format!("st.local{rest}")), 0, signed),
];

/// Messages that arrays describe, in both orders of turns. Faults are found in one of these.
fn messages_are_described() {
    let (manifest, ptx) = &*GCM;
    let all = described();
    // Everything is wrong in some, and nothing in others.
    use WrongRange::*;
    for of_range in [NoPosition, EndsFirst, TooLong, Overlaps, Beyond] {
        let is_in = |wrong| all.iter().any(|case| case.fault().is_some_and(|(fault, n)| fault == wrong && n < 9));
        assert!(
            is_in(Wrong::Range(of_range))
                && (of_range == Overlaps || is_in(Wrong::Aad(of_range)))
                && is_in(Wrong::Nonce)
        );
    }
    assert!(all.iter().any(|case| case.fault().is_none()));
    let of_turns = |case: &described::Case, ptx: &str| {
        let by = |turns| prove_described(manifest, ptx, &described::Case { turns, ..case.clone() });
        by(Turns::Ascending).and(by(Turns::Descending))
    };
    let all: Vec<described::Case> = sample(0, all_or(1, 200), all).collect();
    all.par_iter().for_each(|case| _ = of_turns(case, ptx).unwrap_or_else(|why| panic!("{case:?}: {why}")));
    let faults: Vec<FaultOfDescribed> = sample(0, all_or(1, 6), FAULTS_OF_DESCRIBED).collect();
    faults.par_iter().for_each(|(what, entry, change, which, case)| {
        let all = with_fault(manifest, ptx, *entry, *change);
        let at = if *which < 0 { all.len().checked_add_signed(*which).unwrap() } else { which.unsigned_abs() };
        let why = of_turns(&case(), all.get(at).unwrap_or_else(|| panic!("nowhere: {what}"))).expect_err(what);
        assert!(!why.contains("no rule"), "{what}: {why}");
    });
}

fn main() -> ExitCode {
    Tests::default()
        .with(
            &[],
            &[
                ("the_hash_of_every_message", || the_hash_of_every_message(&STORED)),
                ("the_tags_of_many_messages", || the_tags_of_many_messages(&STORED)),
                ("the_tags_of_jobs", || the_tags_of_jobs(&STORED)),
                ("what_is_not_authentic_is_cleared", || what_is_not_authentic_is_cleared(&STORED)),
                ("faults_are_found", || faults_are_found(&STORED)),
                ("all_of_each_output_and_nothing_else", || all_of_each_output_and_nothing_else(&STORED)),
            ],
        )
        .with(
            &[Need::Nvrtc],
            &[
                ("wgmma::the_hash_of_every_message", || the_hash_of_every_message(&COMPILED)),
                ("wgmma::the_tags_of_many_messages", || the_tags_of_many_messages(&COMPILED)),
                ("wgmma::what_is_not_authentic_is_cleared", || what_is_not_authentic_is_cleared(&COMPILED)),
                ("wgmma::faults_are_found", || faults_are_found(&COMPILED)),
                ("wgmma::all_of_each_output_and_nothing_else", || all_of_each_output_and_nothing_else(&COMPILED)),
                ("wgmma::gcm_in_one_launch", gcm_in_one_launch),
                ("wgmma::all_of_each_output_of_gcm_and_nothing_else", all_of_each_output_of_gcm_and_nothing_else),
                ("wgmma::messages_are_described", messages_are_described),
            ],
        )
        .run()
}
