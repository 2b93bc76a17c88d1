//! O. Hajihassani, S. K. Monfared, S. H. Khasteh, S. Gorgin, 2019: bit-planes by column, several GPUs, rates per price.

use crate::case::{Case, Kernel, Processor, Program, Work};
use crate::papers::claim::{Claim, Expected, Place, Rates, Sentence};
use crate::papers::paper::{Api, BINARY_GBIT, Paper, Quoted};
use crate::papers::{abdelrahman_2017, iwai_2010, li_2012};
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::table::{ConflictFree, TableCount};
use aes_bitslice_papers::kernels::{Bitsliced, Form, Lfsr, OnPlanes, Packed, Representation, RoundKeys, TableSpec};
use aes_bitslice_plot::size;
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
    sentences,
    gbit: BINARY_GBIT,
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
/// The new bits of those whose threads output only sums, as bytes.
pub const SUMMED_BYTES: u64 = 256 << 20;
/// Section 4.3: an S-box by table on planes.
pub const FIGURE_8: &str = "hajihassani-2019, fig. 8";

/// A GPU in tables 3 and 4.
pub struct Row {
    /// Its name.
    pub gpu: &'static str,
    /// ECB encryption (table 3): Gbit/s, and Gbit/s per dollar of the GPU's price.
    pub ecb: (Quoted, Quoted),
    /// CTR (table 4).
    pub ctr: (Quoted, Quoted),
}

/// Tables 3 and 4.
pub const ROWS: [Row; 6] = [
    Row { gpu: "GTX 980", ecb: (Quoted("489.44"), Quoted("1.529")), ctr: (Quoted("541.81"), Quoted("1.693")) },
    Row { gpu: "GTX 1050 Ti", ecb: (Quoted("296.74"), Quoted("1.484")), ctr: (Quoted("324.04"), Quoted("1.660")) },
    Row { gpu: "GTX 1080", ecb: (Quoted("805.16"), Quoted("1.008")), ctr: (Quoted("843.17"), Quoted("1.053")) },
    Row { gpu: "GTX 1080 Ti", ecb: (Quoted("1156.07"), Quoted("0.896")), ctr: (Quoted("1213.60"), Quoted("0.941")) },
    Row { gpu: "Tesla P100", ecb: (Quoted("832.58"), Quoted("0.171")), ctr: (Quoted("854.9"), Quoted("0.176")) },
    Row { gpu: "Tesla V100", ecb: (Quoted("1384.51"), Quoted("0.209")), ctr: (Quoted("1478.42"), Quoted("0.223")) },
];

/// Work of others, as table 1 quotes it.
pub struct Related {
    /// Authors and year.
    pub authors: &'static str,
    /// Its GPU.
    pub gpu: &'static str,
    /// Its throughput.
    pub gbits: Quoted,
    /// Bits that its Gbit are, in 10^9, as far as is known.
    pub gbit: f64,
}

/// Table 1's ECB, which fig. 12 shows. Li et al.'s unit is 10^9 bits, by their own tables, and that of Abdelrahman et al. is 2^30; of the
/// others it is not known, and taken as 10^9.
pub const RELATED_ECB: [Related; 6] = [
    Related { authors: "Li et al. 2012", gpu: "C2050", gbits: Quoted("60"), gbit: 1.0 },
    Related { authors: "Nishikawa et al. 2014", gpu: "HD 7970", gbits: Quoted("205"), gbit: 1.0 },
    Related { authors: "Lim et al. 2016", gpu: "GTX 480", gbits: Quoted("78.6"), gbit: 1.0 },
    Related { authors: "Nishikawa et al. 2017", gpu: "P100", gbits: Quoted("605.9"), gbit: 1.0 },
    Related { authors: "Ma et al. 2017", gpu: "K40m", gbits: Quoted("79"), gbit: 1.0 },
    Related {
        authors: "Abdelrahman et al. 2017",
        gpu: "GTX 1080",
        gbits: Quoted("280"),
        gbit: abdelrahman_2017::PAPER.gbit,
    },
];

/// Table 1's CTR, which fig. 13 shows.
pub const RELATED_CTR: [Related; 2] = [
    Related { authors: "Zola, De Bona 2012", gpu: "C2050", gbits: Quoted("72"), gbit: 1.0 },
    Related { authors: "Lee et al. 2016", gpu: "GTX 980", gbits: Quoted("149.5"), gbit: 1.0 },
];

/// Table 1's CBC, whose decryption is parallel; no figure shows it.
pub const RELATED_CBC: [Related; 1] =
    [Related { authors: "Jang et al. 2011", gpu: "GTX 580", gbits: Quoted("34"), gbit: 1.0 }];

/// The dollar prices at which GPUs of others were announced: Tesla C2050, November 2009; GeForce GTX 480, March 2010; Radeon HD 7970,
/// December 2011.
const ANNOUNCED: [(&str, f64); 3] = [("C2050", 2499.0), ("GTX 480", 499.0), ("HD 7970", 549.0)];

/// A GPU's price in dollars, as table 3 implies it, and table 4 within 3 %: throughput divided by throughput per dollar. The paper's
/// appendix G, which has the others, is not at hand: these have their announced price, if it is known.
pub fn price(gpu: &str) -> Option<f64> {
    match ROWS.iter().find(|row| row.gpu == gpu || row.gpu == format!("Tesla {gpu}")) {
        Some(row) => Some((row.ecb.0.value() / row.ecb.1.value()).round()),
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

/// The clock and the multiprocessors of a Tesla V100: table 2's single precision is 2 × 64 lanes of each, at this clock in GHz; and the
/// clock that NVIDIA gives as its highest.
pub const V100: (f64, [f64; 2]) = (80.0, [1.37, 1.53]);

/// What an H200 was rented out for: dollars an hour, by whom, and when.
pub const RENT: (f64, &str) = (4.54, "Spheron, on demand, 17 March 2026; prices change");

/// Section 6.3: bitsliced code from before the paper, with the bits of a few blocks in eight words.
pub const EARLIER: &str = "hajihassani-2019, earlier bitsliced code";

/// The name by which the result of earlier code is found.
pub fn earlier_name(kernel: Packed) -> String {
    format!("{} blocks in eight words of {} bits", kernel.blocks(), 16 * kernel.blocks())
}

/// Sections 4.3 and 4.6, where the text may be read in another way.
pub const READINGS: &str = "hajihassani-2019, other readings";

/// Fig. 13: CTR by T-boxes from before the paper, on the same GPU.
pub const EARLIER_CTR: &str = "hajihassani-2019, earlier code in CTR";

/// Threads of a thread block of Lee et al. 2016, which the abstract does not name.
pub const EARLIER_THREADS: [u32; 3] = [256, 512, 1024];

/// The name by which the result of Lee et al. 2016 is found.
pub fn earlier_ctr_name(threads: u32) -> String {
    format!("Lee et al. 2016, {threads} threads")
}

/// The name by which the result on planes is found, in [`REPRESENTATION`].
pub const ON_PLANES: &str = "GPU, ECB encryption, one-hot keys, data already in planes";

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
    let summed = |form| Lfsr { sums: true, ..Lfsr::filling(form, SUMMED_BYTES as usize) };
    registers.push(("parallel, bits summed up".into(), summed(Form::Parallel)));
    for lanes in [16, 32] {
        registers.push((
            format!("bitsliced: {lanes} registers a thread, bits summed up"),
            summed(Form::Bitsliced { lanes }),
        ));
    }
    registers.push(("bitsliced: 16 registers a thread, 16 threads, 4 clocks".into(), Lfsr::PAPER));
    registers.push(("one register, one thread, 1,024 clocks".into(), Lfsr::SINGLE));
    registers
}

/// The name by which the result of fig. 8 is found.
pub fn figure_8_name() -> String {
    format!("{}, one-hot keys, S-box by table on planes", Mode::EcbEncrypt)
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
    for mode in MODES {
        // The first is in tables 3 and 4.
        for (name, kernel) in &Bitsliced::readings(mode)[1..] {
            let work = Work::Kernel(Kernel::bitsliced(*kernel));
            cases.push(Case { table: READINGS, name: format!("{mode}, {name}"), bytes: SIZES[1], work });
        }
    }
    let mut other = |table, name, bytes, work| cases.push(Case { table, name, bytes, work });
    for changes in TIMES {
        let work = Work::Program(Program::Representation(Representation { changes }));
        other(REPRESENTATION, representation_name(changes), BYTES, work);
    }
    other(REPRESENTATION, ON_PLANES.into(), BYTES, Work::Program(Program::OnPlanes(OnPlanes)));
    for kernel in Packed::ALL {
        for bytes in SIZES {
            other(EARLIER, earlier_name(kernel), bytes, Work::Kernel(Kernel::packed(kernel)));
        }
    }
    for threads in EARLIER_THREADS {
        for bytes in SIZES {
            let kernel = Kernel::table(TableSpec::lee_2016(threads));
            other(EARLIER_CTR, earlier_ctr_name(threads), bytes, Work::Kernel(kernel));
        }
    }
    let engine = Work::Host { backend: Backend::CpuBitsliced, mode: Mode::EcbEncrypt, key_bits: KeyBits::Aes128 };
    for (name, work) in ON_PROCESSOR.into_iter().zip([Work::Processor(Processor::Representation), engine]) {
        other(REPRESENTATION, name.into(), BYTES, work);
    }
    for (name, lfsr) in registers() {
        other(LFSR, name, lfsr.made_bytes() as u64, Work::Program(Program::Lfsr(lfsr)));
    }
    let by_table = Kernel::bitsliced(Bitsliced::figure_8());
    other(FIGURE_8, figure_8_name(), BYTES, Work::Kernel(by_table));
    cases
}

/// ECB encryption of [`BYTES`] by the kernels of others that were published before.
fn others() -> Vec<Place> {
    let iwai = iwai_2010::COLUMNS.iter().map(|column| (iwai_2010::TABLE_3, column.name()));
    let li = [(li_2012::FIGURE_1, li_2012::curve_name(Mode::EcbEncrypt))];
    let abdelrahman = abdelrahman_2017::schemes().into_iter().map(|scheme| (abdelrahman_2017::TABLES, scheme.name()));
    let earlier = Packed::ALL.into_iter().map(|kernel| (EARLIER, earlier_name(kernel)));
    let all = iwai.chain(li).chain(abdelrahman).chain(earlier);
    all.map(|(table, name)| (table, name, BYTES)).collect()
}

/// The paper's claims.
fn claims() -> Vec<Claim> {
    let way = |mode, name: &str| (TABLES, format!("{mode}, {name}"), SIZES[1]);
    let changed = |mode, number: usize| {
        let (name, _, _) = Bitsliced::changes(mode)[number];
        (CHANGES, format!("{mode}, {name}"), CHANGES_BYTES)
    };
    let earlier = |kernel: usize| (EARLIER, earlier_name(Packed::ALL[kernel]), SIZES[1]);
    let (fetched, one_hot) = ("hajihassani-2019, keys fetched", "hajihassani-2019, one-hot keys");
    let claim = Claim::of;
    let faster = |says, compared: &str, first, second| claim(says, None, compared, first, second, Expected::Faster);
    let ecb = || way(Mode::EcbEncrypt, one_hot);
    let ecb_of_bytes = || (TABLES, format!("{}, {one_hot}", Mode::EcbEncrypt), BYTES);
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
                claims.push(faster(says, &compared, changed(mode, first), changed(mode, second)));
            }
        }
    }
    claims.extend([
        claim(
            "CTR, with one change of representation, is faster than ECB with two (6.4)",
            Some(1478.42 / 1384.51),
            "one-hot keys, 4 GiB",
            way(Mode::Ctr, one_hot),
            ecb(),
            Expected::Faster,
        ),
        faster(
            "encryption is faster than decryption, whose MixColumns is the larger circuit (6.5)",
            "one-hot keys, 4 GiB",
            ecb(),
            way(Mode::EcbDecrypt, one_hot),
        ),
        faster(
            "the same",
            "keys fetched, 4 GiB",
            way(Mode::EcbEncrypt, fetched),
            way(Mode::EcbDecrypt, fetched),
        ),
        claim(
            "bitslicing is faster than tables (table 1: 805.16 to 280 Gbit/s on a GTX 1080, both of 2^30 bits)",
            Some(805.16 / 280.0),
            "one-hot keys to the kernel of Abdelrahman et al. with keys in shared memory, 32 B a thread, 256 threads; ECB, 256 MiB",
            ecb_of_bytes(),
            (abdelrahman_2017::TABLES, "keys in shared memory, 32 B a thread, 256 threads".into(), BYTES),
            Expected::Faster,
        ),
        faster(
            "the same of tables with a copy for each lane of a warp, which that kernel does not have",
            "one-hot keys to this project's T-boxes, ECB, 4 GiB",
            ecb(),
            way(Mode::EcbEncrypt, "T-boxes, a copy a lane"),
        ),
        claim(
            "the change of representation is two orders of magnitude faster than encryption (6.3)",
            Some(100.0),
            "alone, with its memory accesses, to one-hot keys, ECB, 256 MiB",
            (REPRESENTATION, representation_name(1), BYTES),
            ecb_of_bytes(),
            Expected::Times(100),
        ),
        claim(
            "a bitsliced shift register takes a sixteenth of the clocks of one a thread (4.1)",
            Some(16.0),
            "16 registers a thread to one",
            (LFSR, registers()[1].0.clone(), LFSR_BYTES),
            (LFSR, registers()[0].0.clone(), LFSR_BYTES),
            Expected::Times(16),
        ),
        claim(
            "the same",
            Some(16.0),
            "16 registers a thread to one, bits summed up in registers instead of stored",
            (LFSR, registers()[4].0.clone(), SUMMED_BYTES),
            (LFSR, registers()[3].0.clone(), SUMMED_BYTES),
            Expected::Times(16),
        ),
        faster(
            "a circuit for the S-box is faster on planes than a table, for which bits are gathered and spread (4.3, fig. 8)",
            "one-hot keys, ECB, 256 MiB; Canright's S-box to a table in global memory",
            ecb_of_bytes(),
            (FIGURE_8, figure_8_name(), BYTES),
        ),
        claim(
            "the representation is faster than that of earlier bitsliced code: 1.37 × the best of it, on the same P100 (6.3)",
            Some(832.58 / 605.9),
            "one-hot keys to four blocks in eight words of 64 bits, ECB, 4 GiB; the paper's two figures may have different units",
            ecb(),
            earlier(0),
            Expected::Faster,
        ),
        faster(
            "the same with keys that are fetched, as in the earlier code",
            "keys fetched to four blocks in eight words of 64 bits, ECB, 4 GiB",
            way(Mode::EcbEncrypt, fetched),
            earlier(0),
        ),
        faster(
            "the same of words of 32 bits",
            "one-hot keys to two blocks in eight words of 32 bits, ECB, 4 GiB",
            ecb(),
            earlier(1),
        ),
        Claim {
            second: EARLIER_THREADS.map(|threads| (EARLIER_CTR, earlier_ctr_name(threads), SIZES[1])).to_vec(),
            ..claim(
                "CTR is faster than the best before on the same GPU, a GTX 980 (6.4, fig. 13)",
                Some(541.81 * PAPER.gbit / 149.5),
                "one-hot keys to T-boxes with keys in registers, CTR, 4 GiB; the figure of Lee et al. is taken as of 10^9 bits",
                way(Mode::Ctr, one_hot),
                way(Mode::Ctr, one_hot),
                Expected::Faster,
            )
        },
        Claim {
            second: [0, 1].map(earlier).to_vec(),
            ..claim(
                "twice the best throughput before (7): 1384.51 to 605.9, on different GPUs",
                Some(1384.51 / 605.9),
                "one-hot keys to the faster of both earlier representations, on the same GPU, ECB, 4 GiB",
                ecb(),
                earlier(0),
                Expected::Times(2),
            )
        },
        Claim {
            second: others(),
            ..claim(
                "the highest achieved encryption throughput (7): 1384.51 to 605.9, the best in table 1, on different GPUs",
                Some(1384.51 / 605.9),
                "one-hot keys to the fastest of others on this page, ECB, 256 MiB: Iwai et al.'s table III, Li et al.'s fig. 1, \
                 Abdelrahman et al.'s tables, 48 and 64 B a thread included, and both earlier bitsliced codes",
                ecb_of_bytes(),
                ecb_of_bytes(),
                Expected::Faster,
            )
        },
        Claim {
            second: WAYS.iter().filter(|way| !way.is_the_papers).map(|way| (TABLES, way.case(Mode::EcbEncrypt), BYTES)).collect(),
            ..faster(
                "the same of code from after the paper",
                "one-hot keys to the fastest of this project's, ECB, 256 MiB",
                ecb_of_bytes(),
                ecb_of_bytes(),
            )
        },
        Claim {
            second: iwai_2010::CHUNKS
                .map(|(chunks, _)| (iwai_2010::OVERLAP, iwai_2010::chunks_name(chunks), iwai_2010::BYTES))
                .to_vec(),
            ..faster(
                "PCIe connections cannot feed the kernel (6.3)",
                "one-hot keys, ECB, 256 MiB, to Iwai et al.'s best with copies from pinned memory and back",
                ecb_of_bytes(),
                ecb_of_bytes(),
            )
        },
    ]);
    claims
}

/// Claims of abstract, section 6 and conclusion about more or fewer than two cases.
fn sentences(rates: Rates) -> Vec<Sentence> {
    let one_hot_of = |mode, bytes| rates(&(TABLES, WAYS[1].case(mode), bytes));
    let one_hot = |mode| one_hot_of(mode, SIZES[1]);
    let peak = |says, mode, paper: Quoted| {
        let there = format!("{} Gbit/s of 2^30 bits: {:.0} of 10^9", paper.0, paper.value() * PAPER.gbit);
        let told = |rate: f64| format!("{rate:.0} Gbit/s, {}", size(SIZES[1]));
        Sentence::judged(says, there, one_hot(mode), told, move |rate| rate >= paper.value() * PAPER.gbit)
    };
    let v100 = &ROWS[ROWS.len() - 1];
    let ecb = one_hot(Mode::EcbEncrypt);
    // Both of one size: data in planes is measured at this one only.
    let both = one_hot_of(Mode::EcbEncrypt, BYTES).zip(rates(&(REPRESENTATION, ON_PLANES.into(), BYTES)));
    let nvlink = 300.0 * 8.0 / 2.0;
    vec![
        peak("CTR reaches 1.47 Tbit/s on a Tesla V100 (abstract, 7)", Mode::Ctr, v100.ctr.0),
        peak("ECB reaches 1.38 Tbit/s on a Tesla V100 (abstract, 7)", Mode::EcbEncrypt, v100.ecb.0),
        Sentence {
            says: "ShiftRows is rearrangement of input, whose cost can be neglected (abstract)",
            there: String::new(),
            here: Some("no operator of the kernel: MixColumns names its operands accordingly".into()),
            so: "holds",
        },
        Sentence {
            says: "look-ups in tables are eliminated (abstract)",
            there: String::new(),
            here: Some("`cargo xtask constant-time` finds no address that depends on key or data".into()),
            so: "holds",
        },
        Sentence::of_the_paper(
            "on a GTX 1080 Ti, 7.1 × the best earlier bitsliced code for a dollar (6.3)",
            format!("tables 1 and 3: 0.896 / {:.3} = {:.1} ×", 605.9 / 4869.0, 0.896 / (605.9 / 4869.0)),
            "follows, within the rounding of prices",
        ),
        Sentence::of_the_paper(
            "11.3 × the best earlier bitsliced code for a dollar (7)",
            format!(
                "tables 1 and 3: 1.484 (GTX 1050 Ti) and 1.529 (GTX 980) / {:.3} = {:.1} × and {:.1} ×",
                605.9 / 4869.0,
                1.484 / (605.9 / 4869.0),
                1.529 / (605.9 / 4869.0)
            ),
            "does not follow exactly; its price of a P100 for this is in its appendix G",
        ),
        Sentence::of_the_paper(
            "a GTX 1050 Ti has 1.44 × the rate of an HD 7970 of like single precision (6.3)",
            format!("296.74 / 205 = {:.2} ×", 296.74_f64 / 205.0),
            "follows, if both units are alike",
        ),
        Sentence::of_the_paper(
            "a change of representation is 100 × as fast as encryption (6.3), and CTR, which saves one, is faster for that (6.4)",
            "CTR to ECB: 1.03 × to 1.11 ×; one change of 100 × saves 1 %",
            "contradicts itself",
        ),
        Sentence::judged(
            "a change of representation costs next to nothing (6.3)",
            "",
            both.map(|(with, without)| without / with),
            |gain| format!("without both, ECB of {} is {gain:.2} × as fast", size(BYTES)),
            |gain| gain <= 1.0 + 2.0 / 100.0,
        ),
        Sentence::judged(
            "NVLink 2.0, 300 GB/s in both directions, can feed the kernel (6.3)",
            format!("150 GB/s each way: {nvlink:.0} Gbit/s, to {:.0}", v100.ecb.0.value() * PAPER.gbit),
            ecb,
            |rate| {
                let each_way = rate / 8.0;
                format!("takes {each_way:.0} GB/s each way, ECB, {}; an H200's NVLink has 450", size(SIZES[1]))
            },
            |rate| rate / 8.0 <= 450.0,
        ),
        Sentence {
            says: "throughput for a dollar is the measure between GPUs (6.3)",
            there: "Gbit/s for a dollar of the price of the GPU".into(),
            here: ecb.map(|rate| {
                let bytes = rate * 1e9 / 8.0 * 3600.0 / RENT.0;
                format!(
                    "rented for ${} an hour ({}), an H200 encrypts {:.0} TB for a dollar, ECB",
                    RENT.0,
                    RENT.1,
                    bytes / 1e12
                )
            }),
            so: "tables 3 and 4 compare",
        },
    ]
}
