//! O. Hajihassani, S. K. Monfared, S. H. Khasteh, S. Gorgin, 2019: bit-planes by column, several GPUs, rates per price.

use crate::case::{Case, Kernel, Processor, Program, Work};
use crate::papers::abdelrahman_2017;
use crate::papers::claim::{Claim, Expected};
use crate::papers::paper::{Api, Paper};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::table::{ConflictFree, TableCount};
use aes_bitslice_papers::kernels::{Bitsliced, Form, Lfsr, Representation, RoundKeys};
use aes_bitslice_runtime::{Backend, Kernels};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "hajihassani-2019",
    authors: "Hajihassani, Monfared, Khasteh, Gorgin 2019",
    title: "Fast AES Implementation: A High-throughput Bitsliced Approach",
    at: "IEEE Transactions on Parallel and Distributed Systems",
    api: Api::Cuda,
    cases: |_| cases(),
    // The first two are the paper's.
    counted: || {
        Bitsliced::changes(Mode::EcbEncrypt)[..2].iter().map(|(name, _, k)| (*name, Kernel::bitsliced(*k))).collect()
    },
    claims,
};
/// The data of 524,288 threads with 32 blocks each (sections 6.3 and 6.4); the paper calls it 2 Gbit.
pub const BYTES: u64 = 256 << 20;
/// The sizes to measure: the paper's, and one that keeps a GPU of today busy for long enough.
pub const SIZES: [u64; 2] = [BYTES, 4 << 30];

/// Tables 3 and 4, and the data of figures 12 to 14.
pub const TABLES: &str = "hajihassani-2019, tables 3 and 4";
/// Section 4.6 and the rest of the way to this project's kernel: one change at a time.
pub const CHANGES: &str = "hajihassani-2019, one change at a time";
/// The size at which that is measured.
pub const CHANGES_BYTES: u64 = 1 << 30;
/// Section 6.3: the change of representation.
pub const REPRESENTATION: &str = "hajihassani-2019, section 6.3";
/// Section 4.1: shift registers.
pub const LFSR: &str = "hajihassani-2019, section 4.1";
/// The output of the shift registers.
pub const LFSR_BYTES: u64 = 64 << 20;

/// A GPU in tables 3 and 4.
pub struct Row {
    /// Its name.
    pub gpu: &'static str,
    /// ECB encryption (table 3): Gbit/s, and Gbit/s per dollar of the GPU's price.
    pub ecb: (f64, f64),
    /// CTR (table 4).
    pub ctr: (f64, f64),
}

/// Tables 3 and 4.
pub const ROWS: [Row; 6] = [
    Row { gpu: "GTX 980", ecb: (489.44, 1.529), ctr: (541.81, 1.693) },
    Row { gpu: "GTX 1050 Ti", ecb: (296.74, 1.484), ctr: (324.04, 1.660) },
    Row { gpu: "GTX 1080", ecb: (805.16, 1.008), ctr: (843.17, 1.053) },
    Row { gpu: "GTX 1080 Ti", ecb: (1156.07, 0.896), ctr: (1213.60, 0.941) },
    Row { gpu: "Tesla P100", ecb: (832.58, 0.171), ctr: (854.9, 0.176) },
    Row { gpu: "Tesla V100", ecb: (1384.51, 0.209), ctr: (1478.42, 0.223) },
];

/// Work of others, as table 1 quotes it.
pub struct Related {
    /// Authors and year.
    pub authors: &'static str,
    /// Its GPU.
    pub gpu: &'static str,
    /// Its throughput.
    pub gbits: f64,
}

/// Table 1's ECB, which fig. 12 shows.
pub const RELATED_ECB: [Related; 6] = [
    Related { authors: "Li et al. 2012", gpu: "C2050", gbits: 60.0 },
    Related { authors: "Nishikawa et al. 2014", gpu: "HD 7970", gbits: 205.0 },
    Related { authors: "Lim et al. 2016", gpu: "GTX 480", gbits: 78.6 },
    Related { authors: "Nishikawa et al. 2017", gpu: "P100", gbits: 605.9 },
    Related { authors: "Ma et al. 2017", gpu: "K40m", gbits: 79.0 },
    Related { authors: "Abdelrahman et al. 2017", gpu: "GTX 1080", gbits: 280.0 },
];

/// Table 1's CTR, which fig. 13 shows.
pub const RELATED_CTR: [Related; 2] = [
    Related { authors: "Zola, De Bona 2012", gpu: "C2050", gbits: 72.0 },
    Related { authors: "Lee et al. 2016", gpu: "GTX 980", gbits: 149.5 },
];

/// Table 1's CBC, whose decryption is parallel; no figure shows it.
pub const RELATED_CBC: [Related; 1] = [Related { authors: "Jang et al. 2011", gpu: "GTX 580", gbits: 34.0 }];

/// The dollar prices at which GPUs of others were announced: Tesla C2050, November 2009; GeForce GTX 480, March 2010; Radeon HD 7970,
/// December 2011.
const ANNOUNCED: [(&str, f64); 3] = [("C2050", 2499.0), ("GTX 480", 499.0), ("HD 7970", 549.0)];

/// A GPU's price in dollars, as table 3 implies it, and table 4 within 3 %: throughput divided by throughput per dollar. The paper's
/// appendix G, which has the others, is not at hand: these have their announced price, if it is known.
pub fn price(gpu: &str) -> Option<f64> {
    match ROWS.iter().find(|row| row.gpu == gpu || row.gpu == format!("Tesla {gpu}")) {
        Some(row) => Some((row.ecb.0 / row.ecb.1).round()),
        None => ANNOUNCED.iter().find(|(announced, _)| *announced == gpu).map(|(_, dollars)| *dollars),
    }
}

/// A row of table 2: single and double precision in Gflop/s, memory bandwidth in GB/s.
pub const TABLE_2: [(&str, [u32; 3]); 6] = [
    ("GTX 980", [4612, 144, 224]),
    ("GTX 1050 Ti", [1981, 62, 112]),
    ("GTX 1080", [8228, 257, 320]),
    ("GTX 1080 Ti", [10609, 332, 484]),
    ("Tesla P100", [8071, 4036, 732]),
    ("Tesla V100", [14028, 7014, 900]),
];

/// The gates that the paper counts in its S-box (section 4.3).
pub const SBOX_GATES: usize = 253;

/// Modes of tables 3 and 4 and of fig. 14.
pub const MODES: [Mode; 3] = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr];
/// Modes in which these are measured.
pub const CHANGED_MODES: [Mode; 2] = [Mode::EcbEncrypt, Mode::Ctr];

/// A way to compute all of [`MODES`].
pub struct Way {
    /// The name by which the result is found, after the mode.
    pub name: &'static str,
    /// Whether it is the paper's.
    pub is_the_papers: bool,
    kernel: fn(Mode) -> Kernel,
}

/// The paper's two kernels, then this project's.
pub const WAYS: [Way; 6] = {
    const fn way(name: &'static str, is_the_papers: bool, kernel: fn(Mode) -> Kernel) -> Way {
        Way { name, is_the_papers, kernel }
    }
    [
        way("hajihassani-2019, keys fetched", true, |mode| paper(mode, RoundKeys::Fetched)),
        way("hajihassani-2019, one-hot keys", true, |mode| paper(mode, RoundKeys::OneHot)),
        way("bitsliced", false, |mode| Kernel::engine(Kernels::Bitsliced, mode)),
        way("T-boxes, a copy a lane", false, |mode| copies(mode, TableCount::Four)),
        way("one T-box, a copy a lane", false, |mode| copies(mode, TableCount::One)),
        way("T-boxes and bitsliced, co-resident", false, |mode| Kernel::engine(Kernels::CoResident, mode)),
    ]
};

/// The paper's kernel.
fn paper(mode: Mode, keys: RoundKeys) -> Kernel {
    Kernel::bitsliced(Bitsliced::hajihassani_2019(mode, keys))
}

/// The kernel with a copy of its T-boxes for each lane of a warp.
fn copies(mode: Mode, count: TableCount) -> Kernel {
    Kernel::design(ConflictFree::new(mode, count).expect("a mode of the paper"))
}

impl Way {
    /// Whether it looks up nothing in tables.
    pub fn is_bitsliced(&self) -> bool {
        self.is_the_papers || self.name == "bitsliced"
    }

    /// The name by which the result in a mode is found.
    pub fn case(&self, mode: Mode) -> String {
        format!("{mode}, {}", self.name)
    }
}

/// The engines that decrypt CBC, in addition to table 1's.
pub const CBC: [(Kernels, &str); 2] = [(Kernels::Bitsliced, "bitsliced"), (Kernels::Tbox, "T-boxes, a copy a lane")];

/// The name by which the result of CBC decryption is found.
pub fn cbc_name(kernels: &str) -> String {
    format!("cbc-decrypt, {kernels}")
}

/// The numbers of changes of representation, all but one of which are undone: the others take the time of a change without memory accesses.
pub const TIMES: [u32; 2] = [1, 33];

/// The names by which the results of section 6.3 are found.
pub fn representation_name(times: u32) -> String {
    format!("GPU, {times} changes of representation")
}
/// The names of the results on the processor.
pub const ON_PROCESSOR: [&str; 2] = ["processor, change of representation", "processor, bitsliced ecb-encrypt"];

/// Shift registers in their forms, and the names by which they are found.
pub fn registers() -> Vec<(String, Lfsr)> {
    let filling = |form| Lfsr::filling(form, LFSR_BYTES as usize);
    let mut registers = vec![("parallel: a register a thread".into(), filling(Form::Parallel))];
    for lanes in [16, 32] {
        let name = format!("bitsliced: {lanes} registers a thread");
        registers.push((name, filling(Form::Bitsliced { lanes })));
    }
    registers.push(("bitsliced: 16 registers a thread, 16 threads, 4 clocks".into(), Lfsr::PAPER));
    registers
}

/// The cases to measure.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mode in MODES {
        for way in &WAYS {
            for bytes in SIZES {
                cases.push(Case { table: TABLES, name: way.case(mode), bytes, work: Work::Kernel((way.kernel)(mode)) });
            }
        }
    }
    for (kernels, name) in CBC {
        let work = Work::Kernel(Kernel::engine(kernels, Mode::CbcDecrypt));
        cases.push(Case { table: TABLES, name: cbc_name(name), bytes: BYTES, work });
    }
    for mode in CHANGED_MODES {
        for (name, _, kernel) in Bitsliced::changes(mode) {
            let work = Work::Kernel(Kernel::bitsliced(kernel));
            cases.push(Case { table: CHANGES, name: format!("{mode}, {name}"), bytes: CHANGES_BYTES, work });
        }
    }
    let mut other = |table, name, bytes, work| cases.push(Case { table, name, bytes, work });
    for changes in TIMES {
        let work = Work::Program(Program::Representation(Representation { changes }));
        other(REPRESENTATION, representation_name(changes), BYTES, work);
    }
    let engine = Work::Host { backend: Backend::CpuBitsliced, mode: Mode::EcbEncrypt, key_bits: KeyBits::Aes128 };
    for (name, work) in ON_PROCESSOR.into_iter().zip([Work::Processor(Processor::Representation), engine]) {
        other(REPRESENTATION, name.into(), BYTES, work);
    }
    for (name, lfsr) in registers() {
        other(LFSR, name, lfsr.output_bytes() as u64, Work::Program(Program::Lfsr(lfsr)));
    }
    cases
}

/// The paper's claims.
fn claims() -> Vec<Claim> {
    let way = |mode, name: &str| (TABLES, format!("{mode}, {name}"), SIZES[1]);
    let changed = |mode, number: usize| {
        let (name, _, _) = Bitsliced::changes(mode)[number];
        (CHANGES, format!("{mode}, {name}"), CHANGES_BYTES)
    };
    let (fetched, one_hot) = ("hajihassani-2019, keys fetched", "hajihassani-2019, one-hot keys");
    let claim = |says, theirs, compared: &str, first, second, expected| Claim {
        says,
        theirs,
        compared: compared.into(),
        first,
        second,
        expected,
    };
    let keys = [
        ("data staged, 64 threads", 1, 0),
        ("data not staged, 64 threads", 3, 2),
        ("data not staged, 128 threads", 5, 4),
    ];
    let staged = [("one-hot keys, 64 threads", 1, 3), ("keys fetched, 64 threads", 0, 2)];
    let mut claims = Vec::new();
    for (says, pairs) in [
        ("keys in the code are faster than keys fetched (4.6)", &keys[..]),
        ("shared memory for the data minimises the delay of memory (6.2): staged to not staged", &staged[..]),
    ] {
        for (mode, name) in CHANGED_MODES.into_iter().zip(["ECB", "CTR"]) {
            for &(compared, first, second) in pairs {
                let compared = format!("{name}, {compared}");
                claims.push(claim(
                    says,
                    None,
                    &compared,
                    changed(mode, first),
                    changed(mode, second),
                    Expected::Faster,
                ));
            }
        }
    }
    claims.extend([
        claim(
            "CTR, with one change of representation, is faster than ECB with two (6.4)",
            Some(1478.42 / 1384.51),
            "one-hot keys, 4 GiB",
            way(Mode::Ctr, one_hot),
            way(Mode::EcbEncrypt, one_hot),
            Expected::Faster,
        ),
        claim(
            "encryption is faster than decryption, whose MixColumns is the larger circuit (6.5)",
            None,
            "one-hot keys, 4 GiB",
            way(Mode::EcbEncrypt, one_hot),
            way(Mode::EcbDecrypt, one_hot),
            Expected::Faster,
        ),
        claim(
            "the same",
            None,
            "keys fetched, 4 GiB",
            way(Mode::EcbEncrypt, fetched),
            way(Mode::EcbDecrypt, fetched),
            Expected::Faster,
        ),
        claim(
            "bitslicing is faster than tables (table 1: 805.16 to 280 Gbit/s on a GTX 1080)",
            Some(805.16 / 280.0),
            "one-hot keys to the kernel of Abdelrahman et al. with keys in shared memory, 32 B a thread, 256 threads; ECB, 256 MiB",
            (TABLES, format!("{}, {one_hot}", Mode::EcbEncrypt), BYTES),
            (abdelrahman_2017::TABLES, "keys in shared memory, 32 B a thread, 256 threads".into(), BYTES),
            Expected::Faster,
        ),
        claim(
            "the same of tables with a copy for each lane of a warp, which that kernel does not have",
            None,
            "one-hot keys to this project's T-boxes, ECB, 4 GiB",
            way(Mode::EcbEncrypt, one_hot),
            way(Mode::EcbEncrypt, "T-boxes, a copy a lane"),
            Expected::Faster,
        ),
        claim(
            "the change of representation is two orders of magnitude faster than encryption (6.3)",
            Some(100.0),
            "alone, with its memory accesses, to one-hot keys, ECB, 256 MiB",
            (REPRESENTATION, representation_name(1), BYTES),
            (TABLES, format!("{}, {one_hot}", Mode::EcbEncrypt), BYTES),
            Expected::Times(100),
        ),
        claim(
            "a bitsliced shift register is faster than one a thread (4.1)",
            Some(16.0),
            "16 registers a thread to one",
            (LFSR, registers()[1].0.clone(), LFSR_BYTES),
            (LFSR, registers()[0].0.clone(), LFSR_BYTES),
            Expected::Faster,
        ),
    ]);
    claims
}
