//! A. A. Abdelrahman, M. M. Fouad, H. Dahshan, A. M. Mousa, 2017: two blocks per thread, keys by warp shuffle, threads per block.

use crate::case::{Case, Kernel, Work};
use crate::papers::claim::{ABOUT, Claim, Expected, Rates, SAME, Sentence};
use crate::papers::paper::{Api, BINARY_GBIT, Paper};
use aes_bitslice_papers::kernels::{Granularity, KeyMemory, Rounds, TableSpec};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "abdelrahman-2017",
    authors: "Abdelrahman, Fouad, Dahshan, Mousa 2017",
    title: "High Performance CUDA AES Implementation: A Quantitative Performance Analysis Approach",
    at: "Computing Conference",
    api: Api::Cuda,
    cases: |_| cases(),
    counted: || COUNTED.map(|(name, granularity)| (name, scheme(granularity, 0, 256).kernel())).to_vec(),
    claims,
    sentences,
    gbit: BINARY_GBIT,
};
/// Its GPUs, in tables VI, VII and VIII.
pub const GPUS: [&str; 3] = ["GTX 780", "GTX TITAN X", "GTX 1080"];

/// Tables VI to VIII, and the sizes of figures 3 to 8.
pub const TABLES: &str = "abdelrahman-2017, tables VI-VIII";

/// What the profiler counts: keys in shared memory, 256 threads.
const COUNTED: [(&str, Granularity); 2] = [("16 B a thread", Granularity::B16), ("32 B a thread", Granularity::B32)];

/// Rounds in a loop and unrolled.
pub const ROUNDS: &str = "abdelrahman-2017, rounds";
/// The size at which they are compared.
pub const ROUNDS_BYTES: u64 = 512 << 20;

/// Threads per thread block, in the order of the tables' columns; the last is in table II only.
pub const THREADS: [u32; 5] = [1024, 512, 256, 128, 64];
/// Bytes per thread, in the order of the tables' columns; the last two are not in the tables, but section III.B mentions them.
pub const GRANULARITIES: [Granularity; 4] = [Granularity::B16, Granularity::B32, Granularity::B48, Granularity::B64];
/// Table II: threads per thread block, thread blocks that make up 2,048 threads, and the occupancy on compute capability 5.2 in per cent.
pub const TABLE_2: [(u32, u32, u32); 5] = [(64, 32, 75), (128, 16, 100), (256, 8, 100), (512, 4, 100), (1024, 2, 100)];
/// Table III: reference, Gbit/s, mode, device, granularity; T-boxes and keys are in shared memory in all of them.
pub const TABLE_3: [[&str; 5]; 6] = [
    ["Mei et al. 2010", "51.2", "unknown", "9200M GS", "unknown"],
    ["Bos et al. 2010", "59.6", "unknown", "GTX 295", "unknown"],
    ["Nishikawa et al. 2012", "48.6", "ECB", "Tesla C2050", "16 B a thread"],
    ["Li et al. 2012", "60.0", "ECB", "Tesla C2050", "16 B a thread"],
    ["Gilger et al. 2012", "47.0", "ECB", "GTX 295", "16 B a thread"],
    ["Nishikawa et al. 2014", "68.6", "ECB", "GTX 680", "16 B a thread"],
];
/// Where the round keys are, in words.
pub const KEYS: [(KeyMemory, &str); 2] =
    [(KeyMemory::Shared, "in shared memory"), (KeyMemory::Shuffle, "by warp shuffle")];
/// Binary logarithms of the sizes of figures 3 to 8: 1 to 512 MiB.
pub const POWERS: std::ops::RangeInclusive<u32> = 20..=29;
/// The number of columns in the paper's tables.
const COLUMNS: usize = 8;

/// The rows of tables VI, VII and VIII for one size.
pub struct Size {
    /// The size.
    pub bytes: u64,
    /// By GPU, then by [`KEYS`], then by bytes per thread and threads in the order of the columns.
    gbits: [[f64; COLUMNS]; KEYS.len() * GPUS.len()],
}

impl Size {
    /// The rates by GPU, then by [`KEYS`], then by bytes per thread and threads in the order of the columns.
    pub fn by_gpu(&self) -> &[[[f64; COLUMNS]; KEYS.len()]] {
        self.gbits.as_chunks().0
    }
}

/// Tables VI, VII and VIII.
pub const SIZES: [Size; 4] = [
    Size {
        bytes: 512 << 20,
        gbits: [
            [76.05, 80.52, 76.19, 76.19, 61.16, 70.92, 68.73, 68.73],
            [70.55, 78.73, 71.3, 71.3, 59.97, 69.2, 69.81, 69.81],
            [195.13, 198.59, 196.23, 194.17, 188.68, 205.13, 207.25, 201.01],
            [186.92, 195.12, 194.17, 186.92, 189.57, 194.02, 203.05, 201.04],
            [268.46, 261.44, 270.27, 268.46, 242.42, 277.78, 277.78, 279.86],
            [246.91, 259.44, 259.74, 258.06, 245.4, 268.46, 272.11, 272.11],
        ],
    },
    Size {
        bytes: 256 << 20,
        gbits: [
            [75.19, 77.94, 77.22, 77.22, 61.16, 71.68, 71.94, 71.94],
            [70.42, 72.46, 71.17, 71.17, 59.35, 66.67, 69.44, 69.44],
            [183.49, 183.49, 181.82, 186.92, 172.41, 188.19, 189.92, 192.31],
            [186.92, 194.17, 194.17, 147.06, 188.68, 194.02, 202.02, 199.08],
            [226.67, 219.78, 227.27, 224.72, 220.96, 260.25, 240.1, 240.1],
            [216.79, 219.78, 217.39, 229.89, 223.9, 224.72, 239.27, 240.96],
        ],
    },
    Size {
        bytes: 128 << 20,
        gbits: [
            [66.23, 67.57, 65.79, 65.79, 51.28, 61.35, 61.73, 61.73],
            [59.52, 62.11, 60.61, 60.61, 50.25, 58.14, 59.52, 59.52],
            [161.29, 163.93, 163.93, 163.93, 153.85, 163.93, 166.67, 166.67],
            [149.25, 156.25, 156.25, 156.25, 149.25, 158.73, 163.93, 163.93],
            [227.27, 217.39, 227.27, 222.22, 208.33, 238.1, 238.1, 238.1],
            [208.33, 217.39, 217.39, 212.77, 204.08, 222.22, 227.27, 227.27],
        ],
    },
    Size {
        bytes: 64 << 20,
        gbits: [
            [62.5, 65.79, 64.94, 64.94, 50.0, 60.24, 60.98, 60.98],
            [59.52, 60.98, 60.24, 60.24, 49.02, 58.14, 58.82, 58.82],
            [161.29, 161.29, 161.29, 161.29, 151.52, 161.29, 166.67, 166.67],
            [147.06, 156.25, 156.25, 121.95, 147.06, 156.25, 161.29, 161.29],
            [227.27, 217.39, 227.27, 227.27, 208.33, 238.1, 238.1, 238.1],
            [200.0, 217.39, 217.39, 217.39, 200.0, 217.39, 227.27, 227.27],
        ],
    },
];

/// A scheme of the paper, or one that its tables do not have.
#[derive(Clone, Copy)]
pub struct Scheme {
    /// Its index in [`KEYS`].
    pub keys: usize,
    /// Bytes per thread.
    pub granularity: Granularity,
    /// Threads per thread block.
    pub threads: u32,
    /// Its index among the columns of the paper's tables, if it is there.
    pub column: Option<usize>,
}

fn scheme(granularity: Granularity, keys: usize, threads: u32) -> Scheme {
    let place = |place: Option<usize>, most: usize| place.filter(|&place| place < most);
    let row = place(GRANULARITIES.iter().position(|&other| other == granularity), 2);
    let column = place(THREADS.iter().position(|&other| other == threads), 4);
    Scheme { keys, granularity, threads, column: row.zip(column).map(|(row, column)| 4 * row + column) }
}

/// The scheme that follows from the paper's advice for modern GPUs (VI.E).
pub fn recommended() -> Scheme {
    scheme(Granularity::B32, 0, 256)
}

/// All schemes, in the order of the tables.
pub fn schemes() -> Vec<Scheme> {
    let all = (0..KEYS.len()).flat_map(|keys| GRANULARITIES.map(|granularity| (keys, granularity)));
    all.flat_map(|(keys, granularity)| THREADS.map(|threads| scheme(granularity, keys, threads))).collect()
}

impl Scheme {
    /// The name by which the result is found.
    pub fn name(&self) -> String {
        format!("keys {}, {} B a thread, {} threads", KEYS[self.keys].1, self.granularity.bytes(), self.threads)
    }

    fn spec(&self) -> TableSpec {
        TableSpec::abdelrahman_2017(self.granularity, KEYS[self.keys].0, self.threads)
    }

    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        Kernel::table(self.spec())
    }
}

/// A scheme in each form of the rounds, with the name by which the result is found.
pub fn rounds() -> [(Rounds, String); 2] {
    let name = recommended().name();
    [(Rounds::Loop, format!("{name}, rounds in a loop")), (Rounds::Unrolled, format!("{name}, rounds unrolled"))]
}

/// The cases to measure.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for scheme in schemes() {
        for bytes in POWERS.map(|power| 1 << power) {
            // Schemes that the paper's figures do not have are measured at the sizes of its tables.
            if scheme.column.is_none() && SIZES.iter().all(|size| size.bytes != bytes) {
                continue;
            }
            cases.push(Case { table: TABLES, name: scheme.name(), bytes, work: Work::Kernel(scheme.kernel()) });
        }
    }
    for (rounds, name) in rounds() {
        let kernel = Kernel::table(TableSpec { rounds, ..recommended().spec() });
        cases.push(Case { table: ROUNDS, name, bytes: ROUNDS_BYTES, work: Work::Kernel(kernel) });
    }
    cases
}

/// The paper's claims, for its largest size and newest GPU.
fn claims() -> Vec<Claim> {
    let place = |scheme: Scheme| (TABLES, scheme.name(), SIZES[0].bytes);
    let theirs = |a: Scheme, b: Scheme| {
        let rate = |scheme: Scheme| scheme.column.map(|column| SIZES[0].by_gpu()[2][scheme.keys][column]);
        rate(a).zip(rate(b)).map(|(a, b)| a / b)
    };
    let faster = |says, a: Scheme, b: Scheme, compared: &str| {
        Claim::of(says, theirs(a, b), compared, place(a), place(b), Expected::Faster)
    };
    let mut claims = Vec::new();
    for threads in &THREADS[..4] {
        let [a, b] = [Granularity::B32, Granularity::B16].map(|granularity| scheme(granularity, 0, *threads));
        let compared = format!("{threads} threads, keys in shared memory; what also differs: occupancy, table II");
        claims.push(faster("32 bytes a thread are better than 16 on modern GPUs (VI.E.1)", a, b, &compared));
    }
    for granularity in [Granularity::B16, Granularity::B32] {
        let [a, b] = [0, 1].map(|keys| scheme(granularity, keys, 256));
        let compared = format!("{} B a thread, 256 threads", granularity.bytes());
        claims.push(faster("keys in shared memory are faster than keys by warp shuffle (VI)", a, b, &compared));
    }
    let [a, b] = [Granularity::B48, Granularity::B32].map(|granularity| scheme(granularity, 0, 256));
    claims.push(faster(
        "a thread may have more than two blocks (III.B)",
        a,
        b,
        "48 to 32 B, 256 threads; what also differs: occupancy, table II",
    ));
    let [a, b] = [Granularity::B64, Granularity::B32].map(|granularity| scheme(granularity, 0, 256));
    let compared = "64 to 32 B, 256 threads; what also differs: occupancy, table II";
    claims.push(faster("the same", a, b, compared));
    let of = |threads: &[u32]| threads.iter().map(|&t| place(scheme(Granularity::B32, 0, t))).collect();
    claims.push(Claim {
        theirs: Some(279.86 / 277.78),
        first: of(&[256, 128]),
        second: of(&[1024, 512]),
        ..faster(
            "128 and 256 threads are best on modern GPUs (VI.E.3)",
            a,
            b,
            "32 B, keys in shared memory; the best of both to the best of 512 and 1024",
        )
    });
    let at = |size: usize| {
        let of_paper = schemes().into_iter().filter(|scheme| scheme.column.is_some());
        of_paper.map(|scheme| (TABLES, scheme.name(), SIZES[size].bytes)).collect()
    };
    claims.push(Claim {
        theirs: Some(279.86 / 238.1),
        first: at(0),
        second: at(3),
        ..faster("rates rise with the size of the input (VI.B to VI.D)", a, b, "the best scheme, 512 to 64 MB")
    });
    claims
}

/// Abstract and conclusion: the highest rates, and effects that differ by size and by GPU.
fn sentences(rates: Rates) -> Vec<Sentence> {
    let gain = |size: usize| {
        let best = |granularity| {
            let of = |threads: &u32| rates(&(TABLES, scheme(granularity, 0, *threads).name(), SIZES[size].bytes));
            let all: Option<Vec<f64>> = THREADS[..4].iter().map(of).collect();
            all?.into_iter().max_by(f64::total_cmp)
        };
        Some(best(Granularity::B32)? / best(Granularity::B16)?)
    };
    let gains = gain(3).zip(gain(0));
    // The highest rate of the paper's schemes with 32 bytes a thread, and on its GPUs.
    let of_two_blocks = || {
        let of = |scheme: &Scheme| scheme.granularity == Granularity::B32 && scheme.column.is_some();
        schemes().into_iter().filter(of)
    };
    let all: Option<Vec<f64>> = of_two_blocks().map(|scheme| rates(&(TABLES, scheme.name(), SIZES[0].bytes))).collect();
    let highest = all.and_then(|all| all.into_iter().max_by(f64::total_cmp));
    let reached = |says, gpu: usize, table: &str| {
        let of = |scheme: Scheme| Some(SIZES[0].by_gpu()[gpu][scheme.keys][scheme.column?]);
        let theirs = of_two_blocks().filter_map(of).fold(0.0, f64::max);
        let there = format!("table {table}: {theirs} Gbit/s of 2^30 bits, {:.0} of 10^9", theirs * PAPER.gbit);
        let told = |rate: f64| format!("{rate:.0} Gbit/s, 32 B a thread, 512 MB");
        Sentence::judged(says, there, highest, told, move |rate| rate >= theirs * PAPER.gbit)
    };
    // What 32 bytes a thread gain over 16 on the paper's GPUs, with the best number of threads of each, keys in shared memory.
    let theirs: Vec<f64> = SIZES[0]
        .by_gpu()
        .iter()
        .map(|gpu| {
            let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
            best(&gpu[0][4..]) / best(&gpu[0][..4])
        })
        .collect();
    let told: Vec<String> = GPUS.iter().zip(&theirs).map(|(gpu, gain)| format!("{gpu} {gain:.2} ×")).collect();
    let differ = theirs.iter().any(|gain| (gain / theirs[0] - 1.0).abs() > SAME);
    let oldest = SIZES[0].by_gpu()[0][0];
    let changes: Vec<f64> = (0..4).map(|i| oldest[4 + i] / oldest[i]).collect();
    let least = changes.iter().copied().fold(f64::MAX, f64::min);
    let most = changes.iter().copied().fold(0.0, f64::max);
    let varies = Sentence {
        says: "effects vary from an architecture to another (VII)",
        there: format!("32 to 16 B, the best of each, 512 MB: {}", told.join(", ")),
        here: gain(0).map(|gain| format!("{gain:.2} ×")),
        so: if differ { "follows" } else { "does not follow" },
    };
    vec![
        reached("207 Gbit/s on a GTX TITAN X, with 32 bytes a thread (abstract)", 1, "VII"),
        reached("280 Gbit/s on a GTX 1080, with 32 bytes a thread (abstract)", 2, "VIII"),
        varies,
        Sentence::of_the_paper(
            "granularity has not much effect on the older platforms (VII)",
            format!(
                "32 to 16 B with as many threads, GTX 780, 512 MB, keys in shared memory: {least:.2} × to {most:.2} ×"
            ),
            if most <= 1.0 + SAME && least < 1.0 - ABOUT { "follows as no gain, but it is a loss" } else { "follows" },
        ),
        Sentence {
            says: "how much a choice gains depends on the size (VII)",
            there: format!(
                "32 to 16 B, the best of each, GTX 1080: {:.2} × at 64 MB, {:.2} × at 512 MB",
                238.1 / 227.27,
                279.86 / 270.27
            ),
            here: gains.map(|(small, large)| format!("{small:.2} × and {large:.2} ×")),
            so: if gains.is_some_and(|(small, large)| (small / large - 1.0).abs() > SAME) {
                "holds"
            } else {
                "no difference"
            },
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The evidence for the unit: figures for 64 and 128 MB that are, to the last digit, times of whole tenths of a millisecond.
    #[test]
    fn the_unit_is_2_to_the_30() {
        let are_times = |gbit: f64| {
            let of_size = |size: &Size| {
                let gbits = 8.0 * size.bytes as f64 / gbit;
                let figures = size.gbits.as_flattened().to_vec();
                let is_time = move |figure: &f64| {
                    let tenths = (1e4 * gbits / figure).round();
                    (gbits / tenths * 1e4 - figure).abs() <= 0.0051
                };
                figures.into_iter().filter(is_time).count()
            };
            SIZES[2..].iter().map(of_size).sum::<usize>()
        };
        assert_eq!([f64::from(1 << 30), 1e9].map(are_times), [96, 0]);
    }
}
