//! Q. Li, C. Zhong, K. Zhao, X. Mei, X. Chu, 2012: T-boxes in shared memory, CBC decryption, streams.

use crate::case::{Case, HostMemory, Kernel, Processor, Program, Work};
use crate::papers::abdelrahman_2017;
use crate::papers::claim::{Claim, Expected, Place, Rates, Sentence};
use crate::papers::paper::{Api, Paper, Quoted};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_papers::kernels::{Rounds, TableSpec, WordMajor};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "li-2012",
    authors: "Li, Zhong, Zhao, Mei, Chu 2012",
    title: "Implementation and Analysis of AES Encryption on GPU",
    at: "IEEE 14th International Conference on High Performance Computing and Communications",
    api: Api::Cuda,
    cases: |_| cases(),
    counted: || {
        let name = "Li et al. 2012: T-boxes in shared memory, 16 B a thread, 512 threads, rounds unrolled";
        vec![(name, kernel(Mode::EcbEncrypt, Rounds::Unrolled))]
    },
    claims,
    sentences,
    gbit: 1.0,
};
/// Its GPU (table III).
pub const GPU: &str = "Tesla C2050";

/// Fig. 1.
pub const FIGURE_1: &str = "li-2012, fig. 1";
/// Section V.C and the appendices: the order of words, and rounds.
pub const VARIANTS: &str = "li-2012, variants";
/// The size at which these are measured.
pub const VARIANT_BYTES: u64 = 256 << 20;
/// Table IV.
pub const TABLE_4: &str = "li-2012, table IV";

/// The highest throughput of fig. 1, according to the text (section VI.B); the others are in the picture only.
pub const FASTEST: f64 = 60.0;
/// 50 times a Core i7-920 with 1.2 Gbit/s, which Iwai et al. 2010 give.
pub const CPU: (&str, f64, f64) = ("Core i7-920", 1.2, 50.0);
/// The name of the processor's result, for [`PROCESSOR_BYTES`].
pub const ONE_CORE: &str = "processor: T-boxes, one core";
/// The bytes that it encrypts, which is slow.
pub const PROCESSOR_BYTES: u64 = 64 << 20;
/// The highest throughput with copies that are not overlapped, in Gbit/s (section VI.C).
pub const WITH_COPIES: f64 = 11.3;
/// Table II: reference, device, mode, throughput.
pub const TABLE_2: [[&str; 4]; 8] = [
    ["Harrison et al.", "GeForce 7900GT", "ECB", "870 Mbit/s"],
    ["Manavski et al.", "GeForce 8800GTX", "unknown", "8.28 Gbit/s"],
    ["Harrison et al.", "NVIDIA G80", "CTR", "6.91 Gbit/s"],
    ["Di Biagio et al.", "GeForce 8800GT", "CTR", "12.5 Gbit/s"],
    ["Chonglei Mei et al.", "GeForce 9200M", "unknown", "6.4 Gbit/s"],
    ["Nishikawa et al.", "GeForce GTX 285", "ECB", "6.25 Gbit/s"],
    ["Iwai et al.", "GeForce GTX 285", "ECB", "35 Gbit/s"],
    ["Nishikawa et al.", "Tesla C2050", "ECB", "50.6 Gbit/s"],
];
/// Fig. 1's curves.
pub const MODES: [Mode; 2] = [Mode::EcbEncrypt, Mode::CbcDecrypt];
/// Binary logarithms of the sizes of fig. 1 here: 16 KiB to 256 MiB.
pub const POWERS: std::ops::RangeInclusive<u32> = 14..=28;

/// Table IV's numbers of streams.
pub const STREAMS: [usize; 5] = [0, 2, 4, 8, 16];
/// The name by which the time of an allocation is found.
pub const ALLOCATION: &str = "allocation of pinned memory by the driver alone";

/// The name by which the time of the copies without a kernel is found.
pub fn alone_name(streams: usize) -> String {
    format!("{streams} streams, pinned memory, copies alone")
}

/// A row of table IV: times in milliseconds.
pub struct Row {
    /// The size.
    pub bytes: u64,
    /// Copies in, decryption and copies out, by the number of streams.
    pub milliseconds: [Quoted; STREAMS.len()],
    /// The allocation of pinned memory.
    pub allocation: Quoted,
}

const fn row(bytes: u64, [none, two, four, eight, sixteen]: [&'static str; 5], allocation: &'static str) -> Row {
    let milliseconds = [Quoted(none), Quoted(two), Quoted(four), Quoted(eight), Quoted(sixteen)];
    Row { bytes, milliseconds, allocation: Quoted(allocation) }
}

/// Table IV.
pub const ROWS: [Row; 6] = [
    row(256 << 10, ["0.44", "0.20", "0.19", "0.23", "0.29"], "0.3"),
    row(1 << 20, ["0.96", "0.45", "0.43", "0.60", "0.67"], "0.31"),
    row(4 << 20, ["3.15", "2.23", "2.10", "2.06", "2.09"], "0.93"),
    row(16 << 20, ["12.58", "6.69", "6.12", "5.88", "7.94"], "3.36"),
    row(64 << 20, ["48.06", "35.12", "32.83", "23.45", "31.23"], "13.12"),
    row(256 << 20, ["189.5", "140.2", "97.03", "92.47", "124.36"], "58.5"),
];

/// The kernel of a curve.
pub fn kernel(mode: Mode, rounds: Rounds) -> Kernel {
    Kernel::table(TableSpec { rounds, ..TableSpec::li_2012(mode) })
}

/// The name by which a point of a curve is found.
pub fn curve_name(mode: Mode) -> String {
    format!("{mode}, rounds unrolled")
}

/// The name by which the time with this number of streams is found.
pub fn streams_name(streams: usize, memory: HostMemory) -> String {
    let memory = if memory == HostMemory::Pinned { "pinned" } else { "pageable" };
    format!("{streams} streams, {memory} memory")
}

/// The names of the orders of words and forms of rounds, for each mode.
pub const WAYS: [&str; 3] = [
    "words column-major, rounds unrolled",
    "vectors of 16 bytes, rounds unrolled",
    "vectors of 16 bytes, rounds in a loop",
];

/// The name by which the reordering on the host is found.
pub const REORDERING: &str = "reordering on the processor, all cores";

/// The name by which a way is found.
pub fn variant_name(mode: Mode, way: usize) -> String {
    format!("{mode}, {}", WAYS[way])
}

/// The cases to measure.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mode in MODES {
        for bytes in POWERS.map(|power| 1 << power) {
            let work = Work::Kernel(kernel(mode, Rounds::Unrolled));
            cases.push(Case { table: FIGURE_1, name: curve_name(mode), bytes, work });
        }
        let word_major = WordMajor::new(mode).expect("a kernel of the paper");
        let works = [
            Work::Program(Program::WordMajor(word_major)),
            Work::Kernel(kernel(mode, Rounds::Unrolled)),
            Work::Kernel(kernel(mode, Rounds::Loop)),
        ];
        for (way, work) in works.into_iter().enumerate() {
            cases.push(Case { table: VARIANTS, name: variant_name(mode, way), bytes: VARIANT_BYTES, work });
        }
    }
    let work = Work::Processor(Processor::WordMajor);
    cases.push(Case { table: VARIANTS, name: REORDERING.into(), bytes: VARIANT_BYTES, work });
    let work = Work::Processor(Processor::Tables);
    cases.push(Case { table: VARIANTS, name: ONE_CORE.into(), bytes: PROCESSOR_BYTES, work });
    for Row { bytes, .. } in ROWS {
        // Streams need pinned memory; without streams, the data is one chunk, which may be in either memory.
        let copied = |streams: usize, memory| Case {
            table: TABLE_4,
            name: streams_name(streams, memory),
            bytes,
            work: Work::Copied { kernel: kernel(Mode::CbcDecrypt, Rounds::Unrolled), chunks: streams.max(1), memory },
        };
        cases.push(copied(0, HostMemory::Pageable));
        cases.extend(STREAMS.map(|streams| copied(streams, HostMemory::Pinned)));
        cases.push(Case { table: TABLE_4, name: ALLOCATION.into(), bytes, work: Work::Allocation });
    }
    let alone = |streams: usize| Case {
        table: TABLE_4,
        name: alone_name(streams),
        bytes: ROWS[ROWS.len() - 1].bytes,
        work: Work::CopiesAlone { chunks: streams },
    };
    cases.extend(STREAMS[1..].iter().copied().map(alone));
    cases
}

/// The paper's claims.
fn claims() -> Vec<Claim> {
    let variant = |mode, way| (VARIANTS, variant_name(mode, way), VARIANT_BYTES);
    let [small, .., large] = &ROWS;
    let threads = |threads| {
        let name = format!("keys in shared memory, 16 B a thread, {threads} threads");
        (abdelrahman_2017::TABLES, name, VARIANT_BYTES)
    };
    let streams = |row: &Row, streams, memory| (TABLE_4, streams_name(streams, memory), row.bytes);
    // At the same size, the ratio of rates is the inverse ratio of times.
    let ratio = |row: &Row, streams: usize| Some(row.milliseconds[0].value() / row.milliseconds[streams].value());
    let faster = |says, compared, first, second| Claim::of(says, None, compared, first, second, Expected::Faster);
    let same =
        |says, compared, first, second| Claim { expected: Expected::Same, ..faster(says, compared, first, second) };
    use HostMemory::{Pageable, Pinned};
    let [ecb, cbc] = MODES;
    let alone = |count| (TABLE_4, alone_name(count), large.bytes);
    let (to_pageable, to_pinned) = ("pinned, to none in pageable memory", "pinned, to none in pinned memory");
    let points =
        || MODES.into_iter().flat_map(|mode| POWERS.map(move |power| (FIGURE_1, curve_name(mode), 1 << power)));
    // The rate of the fastest point to that of a processor.
    let to_processor = |says, least, compared, processor: Place| Claim {
        theirs: Some(CPU.2),
        first: points().collect(),
        expected: Expected::Times(least),
        ..faster(says, compared, variant(ecb, 1), processor)
    };
    let one_core = || (VARIANTS, ONE_CORE.into(), PROCESSOR_BYTES);
    let compared = "the fastest point of fig. 1 to one core with four T-boxes";
    vec![
        to_processor(
            "up to 50 times a sequential implementation on a processor (abstract, VI.B)",
            50,
            compared,
            one_core(),
        ),
        to_processor("one order of magnitude to a processor (VII)", 10, compared, one_core()),
        same(
            "ECB encryption and CBC decryption lie on one another (VI.B)",
            "vectors, rounds unrolled, 256 MiB; CBC to ECB",
            variant(cbc, 1),
            variant(ecb, 1),
        ),
        same(
            "words column-major are another way to coalesced accesses than vectors (V.C)",
            "ECB, rounds unrolled, reordering not counted; words to vectors",
            variant(ecb, 0),
            variant(ecb, 1),
        ),
        same("the same", "CBC", variant(cbc, 0), variant(cbc, 1)),
        Claim {
            theirs: ratio(large, 3),
            ..faster(
                "8 streams make 256 MiB faster (VI.C)",
                to_pageable,
                streams(large, 8, Pinned),
                streams(large, 0, Pageable),
            )
        },
        faster("the same", to_pinned, streams(large, 8, Pinned), streams(large, 0, Pinned)),
        Claim {
            theirs: ratio(small, 2),
            ..faster(
                "4 streams make 256 KiB faster (VI.C)",
                to_pageable,
                streams(small, 4, Pinned),
                streams(small, 0, Pageable),
            )
        },
        faster("the same", to_pinned, streams(small, 4, Pinned), streams(small, 0, Pinned)),
        Claim {
            theirs: Some(124.36 / 92.47),
            ..faster(
                "more than 8 streams make it slower again (VI.C)",
                "256 MiB, 8 to 16",
                streams(large, 8, Pinned),
                streams(large, 16, Pinned),
            )
        },
        Claim {
            second: [1024, 256, 128].map(threads).to_vec(),
            ..faster(
                "512 threads are the fastest number (VI.A)",
                "ECB, 256 MB, 16 B a thread, keys in shared memory, to the best of 1024, 256 and 128",
                threads(512),
                threads(512),
            )
        },
        faster(
            "copies and kernels slow each other, which makes many streams slower (VI.C)",
            "256 MiB, 16 streams; copies alone to copies with the kernels between them",
            alone(16),
            streams(large, 16, Pinned),
        ),
        faster("the same", "8 streams", alone(8), streams(large, 8, Pinned)),
        Claim {
            theirs: Some(FASTEST / 23.2),
            second: STREAMS[1..].iter().map(|&count| streams(large, count, Pinned)).collect(),
            ..faster(
                "the link bounds the rate, however fast the GPU is (VI.C, VII)",
                "the kernel alone to the best number of streams, 256 MiB, CBC",
                variant(cbc, 1),
                variant(cbc, 1),
            )
        },
    ]
}

/// Sentences of the abstract and of sections VI.C and VII.
fn sentences(rates: Rates) -> Vec<Sentence> {
    let large = &ROWS[ROWS.len() - 1];
    let with = |memory| rates(&(TABLE_4, streams_name(0, memory), large.bytes));
    let kernel = rates(&(VARIANTS, variant_name(MODES[1], 1), VARIANT_BYTES));
    let copies = |rate: Option<f64>| rate.zip(kernel).map(|(with, kernel)| (1.0 / with - 1.0 / kernel) / 2.0);
    let most = |all: Vec<Option<f64>>| {
        let all: Option<Vec<f64>> = all.into_iter().collect();
        all?.into_iter().max_by(f64::total_cmp)
    };
    let points = MODES.into_iter().flat_map(|mode| POWERS.map(move |power| (FIGURE_1, curve_name(mode), 1 << power)));
    let fastest = most(points.map(|place| rates(&place)).collect());
    let pinned = |streams: &usize| rates(&(TABLE_4, streams_name(*streams, HostMemory::Pinned), large.bytes));
    let overlapped = most(STREAMS[1..].iter().map(pinned).collect());
    // One after the other: the times add up.
    let allocated = overlapped.zip(rates(&(TABLE_4, ALLOCATION.into(), large.bytes)));
    let allocated = allocated.map(|(overlapped, allocation)| 1.0 / (1.0 / overlapped + 1.0 / allocation));
    let [theirs, their_allocation] = [large.milliseconds[3], large.allocation].map(Quoted::value);
    let their_part = theirs / (theirs + their_allocation);
    let their_rate = |milliseconds: f64| 8.0 * large.bytes as f64 / milliseconds / 1e6;
    let to_kernel = copies(with(HostMemory::Pageable)).zip(kernel).map(|(copy, kernel)| copy * kernel);
    vec![
        Sentence::judged(
            "the highest performance is around 60 Gbit/s (abstract)",
            "fig. 1, on a Tesla C2050",
            fastest,
            |rate| format!("{rate:.0} Gbit/s, the fastest point of fig. 1"),
            |rate| rate >= FASTEST,
        ),
        Sentence {
            says: "the cost of allocating pinned memory is a vital limitation (VII)",
            there: format!(
                "table IV: 256 MB with 8 streams, {:.1} Gbit/s, and {:.1} with the allocation counted",
                their_rate(theirs),
                their_rate(theirs + their_allocation)
            ),
            here: allocated.zip(overlapped).map(|(with, without)| {
                format!("256 MiB with the best number of streams, {without:.0} Gbit/s, and {with:.1} with the allocation counted")
            }),
            // As large a part as in the paper, or larger.
            so: if allocated.zip(overlapped).is_some_and(|(with, without)| with / without <= their_part) {
                "holds"
            } else {
                "does not hold"
            },
        },
        Sentence::judged(
            "a copy to the GPU takes longer than the computation, about twice (VI.C)",
            format!(
                "60 and {WITH_COPIES} Gbit/s: {:.2} ×, if copies back take as long",
                (FASTEST / WITH_COPIES - 1.0) / 2.0
            ),
            to_kernel,
            |factor| format!("{factor:.1} ×, pageable memory, half of both copies"),
            |factor| factor >= 2.0,
        ),
        Sentence {
            says: "copies reach 3 GB/s of the link's 8 (VI.C)",
            there: String::new(),
            here: copies(with(HostMemory::Pinned)).map(|each| format!("{:.1} GB/s, pinned memory", 1.0 / each / 8.0)),
            so: "the link's own rate was not read",
        },
    ]
}
