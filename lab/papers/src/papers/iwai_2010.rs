//! K. Iwai, T. Kurokawa, N. Nishikawa, 2010: how finely threads share the work, and where tables and keys are.

use crate::case::{Case, HostMemory, Kernel, Processor, Work};
use crate::papers::claim::{Claim, Expected, Rates, Sentence};
use crate::papers::paper::{Api, Paper};
use aes_bitslice_gen::table::TableCount;
use aes_bitslice_papers::kernels::{Granularity, Rounds, Staging, TableMemory, TableSpec, ThreadBlocks};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "iwai-2010",
    authors: "Iwai, Kurokawa, Nishikawa 2010",
    title: "AES encryption implementation on CUDA GPU and its analysis",
    at: "International Conference on Networking and Computing",
    api: Api::Cuda,
    cases: |_| cases(),
    counted: || COUNTED.map(|(name, column)| (name, Kernel::table(COLUMNS[column].spec))).to_vec(),
    claims,
    sentences,
    gbit: 1.0,
};
/// Its GPU (table II).
pub const GPU: &str = "GeForce GTX 285";
/// The plaintext (section VI.A).
pub const BYTES: u64 = 256 << 20;

/// Table III.
pub const TABLE_3: &str = "iwai-2010, table III";
/// Sections V.C and V.D, for which the paper gives no figures.
pub const CHOICES: &str = "iwai-2010, sections V.C and V.D";
/// The processor compared with the GPU (sections VI.A and VI.C).
pub const PROCESSOR: &str = "iwai-2010, processor";
/// The name by which the processor's result is found.
pub const ONE_CORE: &str = "T-boxes, one core";
/// The paper's processor: 1.2 Gbit/s on a Core i7-920; the GPU has 28.39 times that rate.
pub const CPU: (&str, f64, f64) = ("Core i7-920", 1.2, 28.39);
/// The bytes that the processor encrypts, which is slow.
pub const PROCESSOR_BYTES: u64 = 64 << 20;
/// Table I: reference, device, language, throughput.
pub const TABLE_1: [[&str; 4]; 5] = [
    ["Cook et al.", "GeForce3 Ti200", "OpenGL", "1.53 Mbit/s"],
    ["Harrison et al.", "GeForce 7900GT", "DirectX 9", "870.8 Mbit/s"],
    ["Manavski", "GeForce 8800GTX", "CUDA", "8.28 Gbit/s"],
    ["Di Biagio et al.", "GeForce 8800GT", "CUDA", "12.5 Gbit/s"],
    ["Nishikawa et al.", "GeForce GTX 285", "CUDA", "6.25 Gbit/s"],
];
/// Section VI.C: copies included.
pub const OVERLAP: &str = "iwai-2010, section VI.C";

/// What the profiler counts: columns of table III.
const COUNTED: [(&str, usize); 4] =
    [("8 B a thread, AoS", 3), ("8 B a thread, SoA", 5), ("4 B a thread, AoS", 6), ("4 B a thread, SoA", 8)];

/// A column of table III.
pub struct Column {
    /// The kernel.
    pub spec: TableSpec,
    /// The paper's throughput.
    pub gbits: f64,
}

/// Table III, from left to right.
pub const COLUMNS: [Column; 11] = {
    const fn column(number: usize, gbits: f64) -> Column {
        Column { spec: TableSpec::IWAI_2010_TABLE_3[number], gbits }
    }
    [
        column(0, 5.0),
        column(1, 34.4),
        column(2, 35.2),
        column(3, 26.9),
        column(4, 23.9),
        column(5, 23.4),
        column(6, 25.3),
        column(7, 25.0),
        column(8, 17.1),
        column(9, 2.9),
        column(10, 2.6),
    ]
};

/// Numbers of chunks, where one is copied while another is encrypted, and the paper's throughput, copies included, where it gives one
/// (section VI.C). Its abstract has 22.5 for the best.
pub const CHUNKS: [(usize, Option<f64>); 5] = [(1, Some(13.4)), (2, None), (4, Some(22.0)), (8, None), (16, None)];
/// The throughput of the best number of chunks, according to the abstract.
pub const ABSTRACT: f64 = 22.5;

impl Column {
    /// The name by which the result is found.
    pub fn name(&self) -> String {
        let TableSpec { granularity, memory: tables, keys, staging, plaintext_first, .. } = self.spec;
        let staging = match staging {
            Staging::Registers => "registers",
            Staging::Aos => "AoS",
            Staging::Soa => "SoA",
        };
        let first = if plaintext_first { ", plaintext first" } else { "" };
        let (bytes, tables) = (granularity.bytes(), memory(tables));
        format!("{bytes} B a thread, T-box {tables}, keys {keys}, {staging}{first}")
    }
}

/// The name of the memory that tables are in.
pub fn memory(tables: TableMemory) -> &'static str {
    if tables == TableMemory::Constant { "constant" } else { "shared" }
}

/// Gives a kernel as many thread blocks per multiprocessor as make up 2,048 threads.
fn looping(spec: TableSpec) -> TableSpec {
    TableSpec { thread_blocks: ThreadBlocks::Loop { each: 2048 / spec.threads }, ..spec }
}

/// The kernels that sections V.B to VI.B mention in addition to table III, each with the name by which the result is found, and the name of
/// the kernel from which it differs in one thing.
pub fn choices() -> Vec<(TableSpec, String, Option<String>)> {
    let mut choices = Vec::new();
    for count in [TableCount::One, TableCount::Four] {
        let looping = TableSpec { count, ..COLUMNS[2].spec };
        let name = |what: &str| format!("T-boxes: {}; {what}", count.number());
        let one = (count == TableCount::Four).then(|| format!("T-boxes: {}; threads loop", TableCount::One.number()));
        choices.push((looping, name("threads loop"), one));
        let covers = TableSpec { thread_blocks: ThreadBlocks::Cover, ..looping };
        choices.push((covers, name("threads do not"), Some(name("threads loop"))));
    }
    let best = "T-boxes: 4; threads loop".to_string();
    let unrolled = TableSpec { rounds: Rounds::Unrolled, ..COLUMNS[2].spec };
    choices.push((unrolled, "T-boxes: 4; threads loop; rounds unrolled".into(), Some(best.clone())));
    // The plaintext of a whole block in shared memory, which table III does not have.
    for (staging, what) in [(Staging::Aos, "AoS"), (Staging::Soa, "SoA")] {
        let name = format!("16 B a thread, state in shared memory, {what}");
        choices.push((TableSpec { staging, ..COLUMNS[2].spec }, name, Some(best.clone())));
    }
    let first = TableSpec { staging: Staging::Aos, plaintext_first: true, ..COLUMNS[2].spec };
    let what = "16 B a thread, state in shared memory, AoS";
    choices.push((first, format!("{what}, plaintext loaded into shared memory first"), Some(what.into())));
    for column in COLUMNS.iter().filter(|column| column.spec.plaintext_first) {
        let direct = TableSpec { plaintext_first: false, ..column.spec };
        choices.push((direct, direct_name(column), Some(column.name())));
    }
    for column in &COLUMNS {
        let spec = TableSpec { threads: 256, plaintext_first: false, ..column.spec };
        choices.push((looping(spec), narrow_name(column), Some(direct_name(column))));
    }
    choices
}

/// The name by which a kernel of table III is found whose threads load their parts of the plaintext from global memory.
pub fn direct_name(column: &Column) -> String {
    column.name().replace("plaintext first", "plaintext loaded directly")
}

/// The name by which such a kernel with 256 threads is found.
pub fn narrow_name(column: &Column) -> String {
    format!("{}, 256 threads", direct_name(column))
}

/// The largest difference between 256 threads and 512, as a fraction (section VI.B).
pub const NARROW_WITHIN: f64 = 0.004;

/// The table that a kernel of [`choices`] or of table III is in.
pub fn table_of(name: &str) -> &'static str {
    if COLUMNS.iter().any(|column| column.name() == name) { TABLE_3 } else { CHOICES }
}

/// The cases to measure.
fn cases() -> Vec<Case> {
    let case = |table, name, work| Case { table, name, bytes: BYTES, work };
    let mut cases = Vec::new();
    for column in &COLUMNS {
        let kernel = Kernel::table(column.spec);
        cases.push(case(TABLE_3, column.name(), Work::Kernel(kernel)));
    }
    for (spec, name, _) in choices() {
        cases.push(case(CHOICES, name, Work::Kernel(Kernel::table(spec))));
    }
    for (chunks, _) in CHUNKS {
        let kernel = Kernel::table(COLUMNS[2].spec);
        let memory = HostMemory::Pinned;
        cases.push(case(OVERLAP, chunks_name(chunks), Work::Copied { kernel, chunks, memory }));
    }
    let work = Work::Processor(Processor::Tables);
    cases.push(Case { table: PROCESSOR, name: ONE_CORE.into(), bytes: PROCESSOR_BYTES, work });
    cases
}

/// The paper's claims.
fn claims() -> Vec<Claim> {
    let column = |number: usize| (TABLE_3, COLUMNS[number].name(), BYTES);
    let choice = |name: &str| (CHOICES, name.to_string(), BYTES);
    let chunks = |number| (OVERLAP, chunks_name(number), BYTES);
    let faster = |says, first, second, compared| Claim::of(says, None, compared, first, second, Expected::Faster);
    // Of columns, whose rates the paper has.
    let pair = |says, a: usize, b: usize, compared| {
        let theirs = Some(COLUMNS[a].gbits / COLUMNS[b].gbits);
        Claim { theirs, ..faster(says, column(a), column(b), compared) }
    };
    let staged = || choice("16 B a thread, state in shared memory, AoS");
    let loops = || choice("T-boxes: 4; threads loop");
    let to_shared = "keys constant; what also differs: state in registers, not AoS";
    vec![
        pair("16 bytes a thread are better than 8 (VI.B)", 1, 3, to_shared),
        pair("16 bytes a thread are better than 4 (VI.B)", 1, 6, to_shared),
        faster("the same of 8 bytes", staged(), column(4), "keys shared, AoS"),
        faster("the same of 4 bytes", staged(), column(7), "keys shared, AoS"),
        pair("4 bytes a thread are better than 1 (VI.B)", 6, 10, "keys constant, AoS"),
        pair("T-boxes belong in shared memory, not in constant memory (VI.B)", 1, 0, "16 B, keys constant"),
        pair("with 16 bytes, keys in shared memory are faster (VI.B)", 2, 1, "shared to constant"),
        pair("with 8 bytes, keys in constant memory are faster (VI.B)", 3, 4, "constant to shared, AoS"),
        pair("with 4 bytes, keys in constant memory are faster (VI.B)", 6, 7, "constant to shared, AoS"),
        pair("with 1 byte, keys in shared memory are faster (VI.B)", 9, 10, "shared to constant, AoS"),
        pair("AoS beats SoA with 4 bytes a thread (VI.B)", 6, 8, "keys constant"),
        pair("AoS beats SoA with 8 bytes a thread (VI.B)", 3, 5, "keys constant"),
        faster(
            "plaintext in registers is faster than in shared memory (VI.B)",
            column(2),
            staged(),
            "16 B, keys shared; registers to AoS",
        ),
        faster(
            "four T-boxes are faster than one (V.C, VI.B)",
            loops(),
            choice("T-boxes: 1; threads loop"),
            "16 B, keys shared",
        ),
        faster(
            "threads that loop are faster than many thread blocks (V.D)",
            loops(),
            choice("T-boxes: 4; threads do not"),
            "16 B, four T-boxes",
        ),
        Claim {
            theirs: Some(22.0 / 13.4),
            ..faster(
                "copies overlapped in 4 chunks are faster than in one (VI.C)",
                chunks(4),
                chunks(1),
                "copies counted",
            )
        },
        Claim {
            theirs: Some(CPU.2),
            first: COLUMNS.iter().map(|column| (TABLE_3, column.name(), BYTES)).collect(),
            expected: Expected::Times(28),
            ..faster(
                "the GPU has 28.39 times the rate of a processor (VI.C, VII)",
                loops(),
                (PROCESSOR, ONE_CORE.into(), PROCESSOR_BYTES),
                "the best kernel of table III to one core with four T-boxes",
            )
        },
        Claim {
            expected: Expected::Same,
            ..pair("8 and 4 bytes a thread have almost the same throughput (VI.B)", 3, 6, "keys constant, AoS; 8 to 4")
        },
        Claim {
            second: [2, 8, 16].map(chunks).to_vec(),
            ..faster(
                "4 chunks are the best number (VI.C)",
                chunks(4),
                chunks(1),
                "copies counted; 4 to the best of 2, 8 and 16",
            )
        },
    ]
}

/// Claims and sentences of the abstract, the conclusion and section VI about more than two cases.
fn sentences(rates: Rates) -> Vec<Sentence> {
    let all: Option<Vec<f64>> = COLUMNS.iter().map(|column| rates(&(TABLE_3, column.name(), BYTES))).collect();
    let factor = all.and_then(|all| {
        Some(all.iter().copied().max_by(f64::total_cmp)? / all.iter().copied().min_by(f64::total_cmp)?)
    });
    let times = |factor: f64| format!("{factor:.1} ×");
    let rate = |number| rates(&(OVERLAP, chunks_name(number), BYTES));
    let most = |rates: Vec<Option<f64>>| {
        let all: Option<Vec<f64>> = rates.into_iter().collect();
        all?.into_iter().max_by(f64::total_cmp)
    };
    let whole_blocks = COLUMNS.iter().filter(|column| column.spec.granularity == Granularity::B16);
    let whole_blocks = most(whole_blocks.map(|column| rates(&(TABLE_3, column.name(), BYTES))).collect());
    let overlapped = most(CHUNKS.map(|(chunks, _)| rate(chunks)).to_vec());
    let transfers = rate(1).zip(rates(&(TABLE_3, COLUMNS[2].name(), BYTES)));
    vec![
        Sentence::judged(
            "16 bytes a thread achieve approximately 35 Gbit/s (abstract)",
            "table III: 35.2 Gbit/s",
            whole_blocks,
            |rate| format!("{rate:.0} Gbit/s, 256 MiB"),
            |rate| rate >= COLUMNS[2].gbits,
        ),
        Sentence::judged(
            "overlapped copies bring up 22.5 Gbit/s, copies included (abstract)",
            "section VI.C: 22.0 Gbit/s with 4 chunks, the best",
            overlapped,
            |rate| format!("{rate:.0} Gbit/s with the best number of chunks, 256 MiB"),
            |rate| rate >= ABSTRACT,
        ),
        Sentence::judged(
            "implementations differ in throughput by more than ten times (VII)",
            "table III: 35.2 to 2.6 Gbit/s, 13.5 ×",
            factor,
            times,
            |factor| factor > 10.0,
        ),
        Sentence::judged(
            "copies cost 0.08 ms (VI.C)",
            "256 MB at 35.2 and at 13.4 Gbit/s: 99 ms",
            transfers.map(|(with, without)| 8e-9 * BYTES as f64 * (1.0 / with - 1.0 / without)),
            |seconds| format!("{:.1} ms", 1e3 * seconds),
            |seconds| seconds <= 0.08e-3,
        ),
        Sentence::of_the_paper(
            "the GPU has 28.39 times the rate of a processor of 1.2 Gbit/s (VI.C)",
            "35.2 / 28.39 = 1.24",
            "follows if 1.2 is 1.24, rounded",
        ),
    ]
}

/// The name by which a result with copies is found.
pub fn chunks_name(chunks: usize) -> String {
    format!("{chunks} {}", if chunks == 1 { "chunk" } else { "chunks" })
}
