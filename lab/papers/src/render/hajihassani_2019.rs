//! Tables 1 to 4, figures 12 to 14, and sections 4.1, 4.3, 4.6, 6.2 and 6.3.

use crate::measured::{COUNTED_BYTES, COUNTERS, Gpu, Price};
use crate::papers::claim::Sentence;
use crate::papers::hajihassani_2019::{
    BYTES, CBC, CHANGED_MODES, CHANGES, CHANGES_BYTES, EARLIER, EARLIER_CTR, EARLIER_THREADS, LFSR, MODES, ON_PLANES,
    ON_PROCESSOR, PAPER, READINGS, RELATED_CBC, RELATED_CTR, RELATED_ECB, REPRESENTATION, ROWS, Related, SBOX_GATES,
    SIZES, TABLE_2, TABLES, TIMES, WAYS, cbc_name, earlier_ctr_name, earlier_name, price, registers,
    representation_name,
};
use crate::papers::li_2012;
use crate::render::page::{Page, best, figure, percent, times};
use crate::render::{instructions, per_clock};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::circuit::Lut3;
use aes_bitslice_gen::sbox::{CANRIGHT, CANRIGHT_NETLIST, Sbox};
use aes_bitslice_papers::kernels::{Bitsliced, Form, Lfsr, Packed, counted};
use aes_bitslice_plot::{Bar, Bars, Chart, colour, size};
use std::sync::{LazyLock, OnceLock};

const NOTES: &str = include_str!("../../notes/hajihassani-2019.md");

/// The paper's part of the page.
pub fn render(page: &mut Page) {
    page.paper(&PAPER);
    table_2(page);
    tables_3_and_4(page);
    per_clock::render(page);
    table_1(page);
    figures_12_and_13(page);
    earlier(page);
    figure_14(page);
    changes(page);
    gates(page);
    readings(page);
    instructions::render(page);
    profile(page);
    representation(page);
    lfsr(page);
    let utilisation = utilisation(page);
    page.claims(&PAPER, vec![utilisation, no_byte_moves(), instructions::growth()]);
    page.say("### What is simplified");
    page.say(NOTES);
}

/// The sentence about resources: what limits the kernel is busy.
fn utilisation(page: &mut Page) -> Sentence {
    let told = |busy: f64| {
        let (registers, threads) = instructions::registers(counted::PAPER, 64).expect("a kernel that is counted");
        format!(
            "{} of the highest rate that its instructions allow, though with {registers} registers a thread {} of the threads \
             of a multiprocessor are there: one-hot keys, ECB, 4 GiB",
            percent(Some(busy), Some(1.0)),
            percent(Some(threads), Some(1.0)),
        )
    };
    let there = "the profile is in its appendix C, which is not at hand";
    Sentence::judged("resource utilisation is acceptable (6.2)", there, instructions::busy(page), told, |busy| {
        busy > 0.9
    })
}

/// The sentence about operations on bytes, counted in the printed text.
fn no_byte_moves() -> Sentence {
    let told = |moves: f64| {
        format!(
            "operators that shift bits or permute bytes, in the printed text from the first layer to the last: {moves}; both \
             changes of representation have some"
        )
    };
    // A page is rendered many times in tests, and the kernel takes a while to print.
    static MOVES: LazyLock<usize> = LazyLock::new(counted::moves_in_layers);
    let moves = *MOVES as f64;
    Sentence::judged("operations on bytes become swaps of registers (abstract)", "", Some(moves), told, |moves| {
        moves == 0.0
    })
}

/// Gbit/s per dollar; no figure without a price.
fn for_price(rate: Option<f64>, price: Option<f64>) -> String {
    match (rate, price) {
        (_, None) => "no price".into(),
        (None, _) => figure(None),
        (Some(rate), Some(price)) => format!("{:.3}", rate / price),
    }
}

/// The price of the GPU that was measured, in dollars.
fn dollars(page: &Page) -> Option<f64> {
    page.run.price.as_ref().map(|price| price.dollars)
}

/// The text about prices.
fn priced(page: &Page) -> String {
    let ours = match &page.run.price {
        Some(Price { dollars, source }) => {
            format!("the {} is counted as ${dollars} ({source})", page.gpu())
        }
        None => format!("no price was given for the {} (`--price`), so its columns say “no price”", page.gpu()),
    };
    format!("Prices change, and are from different years: the paper's GPUs have the paper's prices; {ours}.")
}

/// Single and double precision in Gflop/s, and memory bandwidth in GB/s, from the clocks that the driver reports.
fn peaks(gpu: &Gpu) -> [Option<f64>; 3] {
    // Lanes of a multiprocessor for single and double precision.
    let lanes = match gpu.compute_capability.as_str() {
        "8.0" => Some((64.0, 32.0)),
        "9.0" => Some((128.0, 64.0)),
        _ => None,
    };
    let flops = |lanes: f64| 2.0 * lanes * f64::from(gpu.multiprocessors) * f64::from(gpu.clock_mhz) / 1e3;
    let bus = gpu.memory_clock_mhz.zip(gpu.memory_bus_bits);
    // Two transfers a clock.
    let bandwidth = bus.map(|(mhz, bits)| 2.0 * f64::from(mhz) * f64::from(bits) / 8.0 / 1e3);
    [lanes.map(|(single, _)| flops(single)), lanes.map(|(_, double)| flops(double)), bandwidth]
}

fn table_2(page: &mut Page) {
    page.say("### Table 2: the GPUs");
    page.say(&format!(
        "Peaks of the {}: multiprocessors times clock times lanes times two, and two transfers of the memory bus per \
         clock, from the clocks that the driver reports.",
        page.gpu()
    ));
    let names = ["GPU", "single precision, Gflop/s:", "double precision, Gflop/s:", "memory bandwidth, GB/s:"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for (gpu, peaks) in TABLE_2 {
        rows.push([gpu.to_string()].into_iter().chain(peaks.map(|peak| peak.to_string())).collect());
    }
    if let Some(gpu) = page.run.gpus.first() {
        let told = |peak: Option<f64>| peak.map_or_else(|| figure(None), |peak| format!("{peak:.0}"));
        let peaks = peaks(gpu);
        rows.push([gpu.name.clone()].into_iter().chain(peaks.map(told)).collect());
        // To the newest of the paper's.
        let (newest, theirs) = TABLE_2[TABLE_2.len() - 1];
        let ratios = peaks.into_iter().zip(theirs).map(|(ours, theirs)| times(ours, f64::from(theirs)));
        rows.push([format!("{} to {newest}", gpu.name)].into_iter().chain(ratios).collect());
    }
    page.table(&rows);
}

fn tables_3_and_4(page: &mut Page) {
    page.say("### Tables 3 and 4: throughput of ECB and CTR encryption");
    page.say(&format!(
        "Gbit/s. {} is what the paper's threads encrypt at once, 32 blocks each; {} keeps this GPU busy for longer. \
         The kernels hajihassani-2019 on the {} are the paper's: 32 blocks a thread by state, Canright's S-box of \
         two-input gates, MixColumns by equation 5 and algorithm 1, a separate AddRoundKey, 64 threads a thread block \
         with their data in shared memory, and keys in both of its ways (section 4.6): fetched from memory round by \
         round (`cargo xtask gen --preset hajihassani-2019-fetched`), or in the code, selected by one-hot multiplexers \
         (`cargo xtask gen --key`). The \
         others are this project's: bitsliced, with four T-boxes or with one that has a copy for each lane of a warp, \
         and with four T-boxes beside bitslicing on shares of the data. CTR, here as in the paper, computes its \
         counters in the code and reads data through shared memory (section 6.4). The paper's Gbit are of 2^30 bits: \
         524,288 threads with 32 blocks of 128 bits are 2^31 bits, which it calls 2 Gbit, and 2 divided by its 1.44 \
         and 1.352 ms gives its 1384.51 and 1478.42 within the rounding of these times. Its figures are quoted as \
         printed; ratios are in bits. This GPU's figures are in Gbit of 10^9 bits, also for a dollar. {}",
        size(SIZES[0]),
        size(SIZES[1]),
        page.gpu(),
        priced(page),
    ));
    let own = dollars(page);
    let newest = &ROWS[ROWS.len() - 1];
    let mut rows = vec![vec!["GPU".to_string(), "kernel".into()]];
    for mode in ["ECB", "CTR"] {
        rows[0].extend(SIZES.map(|bytes| format!("{mode}, {}:", size(bytes))));
        rows[0]
            .extend([format!("{mode}, {}, to {}:", size(BYTES), newest.gpu), format!("{mode}, Gbit/s for a dollar:")]);
    }
    for row in &ROWS {
        let mut cells = vec![row.gpu.to_string(), "the paper's".into()];
        for (rate, for_dollar) in [row.ecb, row.ctr] {
            cells.extend([rate.0.into(), String::new(), String::new(), for_dollar.0.into()]);
        }
        rows.push(cells);
    }
    for way in &WAYS {
        let mut cells = vec![page.gpu().to_string(), way.name.into()];
        for (mode, (theirs, _)) in [(Mode::EcbEncrypt, newest.ecb), (Mode::Ctr, newest.ctr)] {
            let rates = SIZES.map(|bytes| page.gbits(TABLES, &way.case(mode), bytes));
            cells.extend(rates.map(figure));
            cells.extend([times(rates[0], theirs.value() * PAPER.gbit), for_price(best(rates), own)]);
        }
        rows.push(cells);
    }
    page.table(&rows);
}

fn table_1(page: &mut Page) {
    page.say("### Table 1: CBC");
    page.say(
        "The paper calls all modes except ECB and CTR sequential (section 5). Its table 1 lists a CBC implementation \
         of other authors; CBC decryption is parallel, as the paper itself says (section 3).",
    );
    let Related { authors, gpu, gbits, gbit } = &RELATED_CBC[0];
    let mut rows = vec![["work", "GPU", "CBC decryption, Gbit/s:", "to theirs:"].map(String::from).to_vec()];
    rows.push(vec![authors.to_string(), gpu.to_string(), gbits.0.into(), String::new()]);
    for (_, name) in CBC {
        let rate = page.gbits(TABLES, &cbc_name(name), BYTES);
        rows.push(vec![
            format!("this project's, {name}, {}", size(BYTES)),
            page.gpu().into(),
            figure(rate),
            times(rate, gbits.value() * gbit),
        ]);
    }
    page.table(&rows);
}

fn figures_12_and_13(page: &mut Page) {
    page.say("### Figures 12 and 13: compared with the work of others, as the paper quotes it");
    page.say(&format!(
        "{}, Gbit/s, and Gbit/s for a dollar, as the paper prints them; ratios and bars are in Gbit of 10^9 bits, for \
         which its own figures and those of Abdelrahman et al. are taken as of 2^30 and all others as of 10^9. {} Other authors' GPUs have the price that the paper's own tables imply \
         or, because its appendix G is not at hand, their price at launch: the C2050 $2,499 (2009), the GTX 480 $499 \
         (2010), the HD 7970 $549 (2011). No price was found for the K40m.",
        size(BYTES),
        priced(page)
    ));
    let own = dollars(page);
    let mut charts = Vec::new();
    for (mode, number, related) in [(Mode::EcbEncrypt, 12, &RELATED_ECB[..]), (Mode::Ctr, 13, &RELATED_CTR[..])] {
        let ours: Vec<_> = WAYS.iter().map(|way| (way, page.gbits(TABLES, &way.case(mode), BYTES))).collect();
        let (mut bars, mut costs) = (Vec::new(), Vec::new());
        let theirs = ROWS.iter().map(|row| {
            let (gbits, cost) = if mode == Mode::Ctr { row.ctr } else { row.ecb };
            let own = Related { authors: "Hajihassani et al. 2019", gpu: row.gpu, gbits, gbit: PAPER.gbit };
            (own, Some(cost.value()))
        });
        let related = related.iter().map(|r| (Related { ..*r }, price(r.gpu).map(|price| r.gbits.value() / price)));
        // The paper's kernel, this project's without tables, and the fastest of all, which has some.
        let papers = best(ours.iter().filter(|(way, _)| way.is_the_papers).map(|(_, rate)| *rate));
        let bitsliced = best(ours.iter().filter(|(way, _)| way.is_bitsliced()).map(|(_, rate)| *rate));
        let fastest = best(ours.iter().map(|(_, rate)| *rate));
        let mut rows = vec![["work", "GPU", "Gbit/s:", "for a dollar:"].map(String::from).to_vec()];
        rows[0].push(format!("the paper's kernel on {}, to theirs:", page.gpu()));
        rows[0].extend(["this project's bitsliced:", "its fastest, with tables:"].map(String::from));
        for (Related { authors, gpu, gbits, gbit }, cost) in related.chain(theirs) {
            let rate = gbits.value() * gbit;
            let ratios = [papers, bitsliced, fastest].map(|ours| times(ours, rate));
            let label = for_price(cost, cost.map(|_| 1.0));
            rows.push([vec![authors.into(), gpu.into(), gbits.0.into(), label.clone()], ratios.to_vec()].concat());
            let name = format!("{authors}, {gpu}");
            costs.extend(cost.map(|cost| Bar { name: name.clone(), rate: cost * gbit, colour: colour::GREY, label }));
            bars.push(Bar { name, rate, colour: colour::GREY, label: gbits.0.into() });
        }
        for (way, rate) in ours {
            let colour = if way.is_the_papers { colour::VERMILION } else { colour::BLUE };
            let bar = |rate| Bar { name: way.name.into(), rate, colour, label: figure(Some(rate)) };
            bars.extend(rate.map(bar));
            costs.extend(rate.zip(own).map(|(rate, price)| Bar {
                name: way.name.into(),
                rate: rate / price,
                colour,
                label: for_price(Some(rate), Some(price)),
            }));
        }
        page.say(&format!("Fig. {number}, {mode}:"));
        page.table(&rows);
        let title = format!("{mode}, Gbit/s; coloured: kernels on {}", page.gpu());
        charts.push(Chart::Bars(Bars { title, bars }));
        charts.push(Chart::Bars(Bars {
            title: format!("{mode}, Gbit/s for a dollar, where there is a price"),
            bars: costs,
        }));
    }
    // Fig. 14's bars go with them.
    charts.push(Chart::Bars(Bars {
        title: format!("Encryption and decryption on {}, Gbit/s", page.gpu()),
        bars: bars_14(page),
    }));
    page.plots(
        "papers-hajihassani-2019.svg",
        "Throughput compared with that of others, and of both directions",
        &charts,
    );
}

/// Both directions of ECB, for each way.
fn bars_14(page: &mut Page) -> Vec<Bar> {
    let mut bars = Vec::new();
    for way in &WAYS {
        for (mode, colour) in [(Mode::EcbEncrypt, colour::VERMILION), (Mode::EcbDecrypt, colour::GREEN)] {
            let rate = page.gbits(TABLES, &way.case(mode), BYTES);
            let bar = |rate| Bar { name: way.case(mode), rate, colour, label: figure(Some(rate)) };
            bars.extend(rate.map(bar));
        }
    }
    bars
}

fn figure_14(page: &mut Page) {
    page.say("### Fig. 14: encryption and decryption");
    page.say(&format!(
        "ECB, {} and {}, Gbit/s. The paper gives its figures only as a plot; decryption is slower there because its \
         MixColumns is the larger circuit.",
        size(SIZES[0]),
        size(SIZES[1]),
    ));
    let mut rows = vec![vec!["kernel".to_string()]];
    for mode in &MODES[..2] {
        rows[0].extend(SIZES.map(|bytes| format!("{mode}, {}:", size(bytes))));
    }
    rows[0].push("decryption to encryption:".into());
    for way in &WAYS {
        let [encrypt, decrypt] =
            [MODES[0], MODES[1]].map(|mode| SIZES.map(|bytes| page.gbits(TABLES, &way.case(mode), bytes)));
        let mut row = vec![way.name.to_string()];
        row.extend(encrypt.into_iter().chain(decrypt).map(figure));
        row.push(percent(decrypt[1], encrypt[1]));
        rows.push(row);
    }
    page.table(&rows);
}

fn changes(page: &mut Page) {
    page.say("### Section 4.6, and from the paper's kernel to this project's: one change after the other");
    page.say(&format!(
        "{}, Gbit/s. Each kernel is compared with the one that differs in one thing; rows 7 and 9 change several at \
         once. Staging is how data passes through shared memory. The paper's layers consist of two-input gates, which \
         the compiler may merge, and a separate AddRoundKey. In the fewest LUT3s, MixColumns and AddRoundKey are one \
         circuit, found by a search, and Canright's S-box is covered with LUT3s: row 7 changes both. By column (row \
         9), a thread holds a column instead of a state. This also changes the threads of a thread block from 128 to \
         512, the thread blocks of a multiprocessor from two to one, and how the key is put into the code; and in CTR \
         the first two rounds are computed once for many blocks.",
        size(CHANGES_BYTES)
    ));
    let mut rows = vec![["", "kernel", "to"].map(String::from).to_vec()];
    for mode in CHANGED_MODES {
        rows[0].extend([format!("{mode}:"), "ratio:".into()]);
    }
    let changes = Bitsliced::changes(CHANGED_MODES[0]);
    let rates = CHANGED_MODES.map(|mode| {
        let rate =
            |(name, ..): &(&str, usize, Bitsliced)| page.gbits(CHANGES, &format!("{mode}, {name}"), CHANGES_BYTES);
        changes.iter().map(rate).collect::<Vec<_>>()
    });
    for (number, (name, to, _)) in changes.iter().enumerate() {
        let to_itself = *to == number;
        let other = if to_itself { String::new() } else { (to + 1).to_string() };
        let mut row = vec![(number + 1).to_string(), name.to_string(), other];
        for rates in &rates {
            let ratio = times(rates[*to].and(rates[number]), rates[*to].unwrap_or(1.0));
            row.extend([figure(rates[number]), if to_itself { String::new() } else { ratio }]);
        }
        rows.push(row);
    }
    page.table(&rows);
}

/// Bitsliced code from before the paper.
fn earlier(page: &mut Page) {
    page.say("### Section 6.3: earlier bitsliced code on the same GPU");
    page.say(
        "ECB, Gbit/s. Before the paper, a thread had the bits of a few blocks in eight words, one for each bit of a \
         byte: four blocks in words of 64 bits (Bs64 of Nishikawa, Amano, Iwai 2017, which the paper calls the best \
         before), or two in words of 32 bits. ShiftRows then moves bits within words, and MixColumns rotates words. \
         Neither their code nor that of Lim et al. 2016 is at hand; both kernels are this project's, with the paper's \
         S-box of two-input gates, round keys packed in shared memory by each thread block, and blocks in registers. \
         The paper's kernels are those of tables 3 and 4.",
    );
    let mut rows = vec![vec!["kernel".to_string()]];
    rows[0].extend(SIZES.map(|bytes| format!("{}:", size(bytes))));
    rows[0].extend(["keys fetched to it:", "one-hot keys to it:"].map(String::from));
    let papers = [0, 1].map(|way: usize| page.gbits(TABLES, &WAYS[way].case(Mode::EcbEncrypt), SIZES[1]));
    for kernel in Packed::ALL {
        let rates = SIZES.map(|bytes| page.gbits(EARLIER, &earlier_name(kernel), bytes));
        let mut row = vec![earlier_name(kernel)];
        row.extend(rates.map(figure));
        row.extend(papers.map(|paper| times(rates[1].and(paper), rates[1].unwrap_or(1.0))));
        rows.push(row);
    }
    page.table(&rows);
    page.say(
        "CTR, Gbit/s. The best before is Lee, Cheong, Phan and Goi 2016, 149 Gbit/s on a GTX 980. By its abstract, T-boxes are \
         looked up, and the round keys are in registers and exchanged by shuffles within a warp. Its text and code are not at \
         hand: four T-boxes in shared memory, a block a thread and unrolled rounds are this project's reading, and the threads of \
         a thread block are tried.",
    );
    let mut rows = vec![vec!["kernel".to_string()]];
    rows[0].extend(SIZES.map(|bytes| format!("{}:", size(bytes))));
    rows[0].extend(["keys fetched to it:", "one-hot keys to it:"].map(String::from));
    let papers = [0, 1].map(|way: usize| page.gbits(TABLES, &WAYS[way].case(Mode::Ctr), SIZES[1]));
    for threads in EARLIER_THREADS {
        let name = earlier_ctr_name(threads);
        let rates = SIZES.map(|bytes| page.gbits(EARLIER_CTR, &name, bytes));
        let ratios = papers.map(|paper| times(rates[1].and(paper), rates[1].unwrap_or(1.0)));
        rows.push([vec![name], rates.map(figure).to_vec(), ratios.to_vec()].concat());
    }
    page.table(&rows);
}

/// Two-input gates of an S-box's circuits: sums, and products.
fn gates_of(sbox: &Sbox) -> [(usize, usize); 2] {
    [Direction::Encrypt, Direction::Decrypt].map(|direction| {
        let circuit = sbox.circuit(direction);
        let is_sum = |table: Lut3| [Lut3::XOR, Lut3::XOR.complement()].contains(&table);
        let gates = || circuit.gates().iter().filter(|gate| gate.arity() == 2);
        let sums = gates().filter(|gate| is_sum(gate.table)).count();
        (sums, gates().count() - sums)
    })
}

/// Two-input gates of Canright's S-box, as it is derived here: sums, and products.
fn sbox_gates() -> [(usize, usize); 2] {
    // All choices are tried to find the circuit.
    static GATES: OnceLock<[(usize, usize); 2]> = OnceLock::new();
    *GATES.get_or_init(|| gates_of(&CANRIGHT))
}

fn gates(page: &mut Page) {
    let [(sums, products), (inverse_sums, inverse_products)] = sbox_gates();
    let [(own_sums, own_products), (own_inverse_sums, own_inverse_products)] = gates_of(&CANRIGHT_NETLIST);
    let lut3 = CANRIGHT.lut3(Direction::Encrypt).gates().len();
    page.say("### Section 4.3: the gates of the S-box");
    page.say(&format!(
        "The paper counts {SBOX_GATES} gates. Counted here as operators of two inputs, Canright's S-box has {}: \
         {sums} XOR or XNOR and {products} AND or OR. Its inverse has {}: {inverse_sums} and {inverse_products}. \
         Complements are part of the XNORs. This project derives the circuit from Canright's bases; his own netlist has \
         {own_sums} XOR and {own_products} NAND or NOR, and his inverse {own_inverse_sums} and {own_inverse_products}. In NAND equivalents, with {} for an XOR and one \
         for the others, the S-box here has {:.0}. None of these counts gives {SBOX_GATES}: not the S-box, not its \
         inverse, not both together, which are {}, and not NANDs. In LUT3s, each one instruction of a GPU, the S-box takes \
         {lut3}.",
        sums + products,
        inverse_sums + inverse_products,
        1.75,
        1.75 * sums as f64 + products as f64,
        sums + products + inverse_sums + inverse_products,
    ));
    merged(page);
}

/// Gates in hardware.
struct Gates {
    what: &'static str,
    xor: u32,
    nand: u32,
    nor: u32,
    multiplexer: u32,
    not: u32,
}

/// Canright's merged circuit, S-box and inverse: as in his program; with each NOR written as the product and the sums that it joins; and with
/// the sum of both halves, its scaled square and the product as parts of their own, as his fields are defined.
const MERGED: [Gates; 3] = [
    Gates { what: "as in his program", xor: 94, nand: 34, nor: 6, multiplexer: 16, not: 2 },
    Gates {
        what: "its NORs as products and sums that share all they can",
        xor: 104,
        nand: 36,
        nor: 0,
        multiplexer: 16,
        not: 2,
    },
    Gates {
        what: "norms from a sum, its scaled square and a product apart, without the NOTs",
        xor: 108,
        nand: 36,
        nor: 0,
        multiplexer: 16,
        not: 0,
    },
];

impl Gates {
    /// In NANDs, by Canright's equivalents.
    fn nands(&self) -> f64 {
        let Self { xor, nand, nor, multiplexer, not, .. } = self;
        1.75 * f64::from(xor + multiplexer) + f64::from(nand + nor) + 0.75 * f64::from(*not)
    }
}

/// The circuit that the number of gates may be of.
fn merged(page: &mut Page) {
    page.say(&format!(
        "The paper cites {SBOX_GATES} as the size of Canright's circuit. He also gives one that is S-box and inverse at once, \
         for hardware, with a multiplexer for each of eight bits before and after the inversion, and counts in NANDs: 7/4 for \
         an XOR or a multiplexer, 3/4 for a NOT. Counted by these:"
    ));
    let names = ["S-box and inverse at once", "XOR:", "NAND:", "NOR:", "multiplexers:", "NOT:", "NANDs:"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for gates in &MERGED {
        let counts = [gates.xor, gates.nand, gates.nor, gates.multiplexer, gates.not].map(|count| count.to_string());
        rows.push([vec![gates.what.into()], counts.to_vec(), vec![format!("{:.2}", gates.nands())]].concat());
    }
    page.table(&rows);
    page.say(&format!(
        "234 is its published size, so he counts so. With each norm made of a sum, its scaled square and a product apart, and \
         NOTs left out, it has exactly {SBOX_GATES}. That is most likely what the paper cites: NANDs of hardware, of a circuit for \
         both directions, and not the operators that a thread executes. It is not proven: neither his report nor the paper's \
         circuit (its appendix A) is at hand, and other sums give the number, too, such as the 113 gates of Boyar's and \
         Peralta's S-box and the 140 XORs of a column of MixColumns. The paper's rates exclude that {SBOX_GATES} gates are \
         executed, each one instruction: the section on the instructions has the arithmetic."
    ));
}

fn readings(page: &mut Page) {
    page.say("### Sections 4.3 and 4.6: the S-box as published, and all keys in the multiplexer");
    page.say(&format!(
        "{}, Gbit/s. The kernel of tables 3 and 4 has its S-box derived from Canright's bases, and the first and the \
         last round key as constants outside the multiplexer. Here are the same kernel with Canright's own netlist, and \
         with all round keys in the multiplexer of one generic round, as the text may also be read.",
        size(SIZES[1])
    ));
    let mut rows = vec![vec!["kernel".to_string()]];
    rows[0].extend(MODES.iter().flat_map(|mode| [format!("{mode}:"), "ratio:".into()]));
    let base = MODES.map(|mode| page.gbits(TABLES, &WAYS[1].case(mode), SIZES[1]));
    for (number, (name, _)) in Bitsliced::readings(MODES[0]).into_iter().enumerate() {
        let mut row = vec![name.to_string()];
        for (mode, base) in MODES.into_iter().zip(base) {
            let rate = if number == 0 { base } else { page.gbits(READINGS, &format!("{mode}, {name}"), SIZES[1]) };
            let ratio = times(base.and(rate), base.unwrap_or(1.0));
            row.extend([figure(rate), if number == 0 { String::new() } else { ratio }]);
        }
        rows.push(row);
    }
    page.table(&rows);
}

fn profile(page: &mut Page) {
    page.say("### Section 6.2: profile");
    page.say(
        "ECB encryption. The paper's profile of a GTX 1050 Ti is in its appendix C, which is not at hand. Registers \
         and local memory of a thread, shared memory of a thread block, and the occupancy of a multiprocessor are as \
         the driver reports them.",
    );
    let names = ["kernel", "registers:", "local, bytes:", "shared, bytes:", "threads:", "thread blocks:", "occupancy:"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for (name, _, kernel) in Bitsliced::changes(Mode::EcbEncrypt) {
        let profile = page.run.profile(&crate::case::Kernel::bitsliced(kernel).name());
        let cells = profile.map_or_else(
            || vec![figure(None); 6],
            |p| {
                let numbers = [p.registers, p.local_bytes, p.shared_bytes, p.threads, p.thread_blocks];
                let occupancy = percent(Some(p.occupancy), Some(1.0));
                numbers.map(|n| n.to_string()).into_iter().chain([occupancy]).collect()
            },
        );
        rows.push([vec![name.to_string()], cells].concat());
    }
    page.table(&rows);
    counted(page);
}

/// The profiler's counts, if there was one.
fn counted(page: &mut Page) {
    let run = page.run;
    if run.counters.is_empty() {
        page.say("NVIDIA's profiler, `ncu`, counts the instruction mix where it is on the path: not measured.");
        return;
    }
    page.say(&format!(
        "Counted by NVIDIA's profiler, `ncu`, over {}: warp instructions by the pipe that executes them, wavefronts \
         per load from shared memory (without bank conflicts 1 for loads of a word, 4 for loads of 16 bytes), \
         instructions per cycle of a quarter of a multiprocessor, and the resident warps as a part of the maximum. Li \
         et al.'s kernel is listed for comparison. The data is random: the threads of a warp look up different \
         entries of its T-boxes.",
        size(COUNTED_BYTES)
    ));
    let names =
        ["kernel", "instructions:", "ALU:", "FMA:", "loads and stores:", "wavefronts a load:", "a cycle:", "warps:"];
    let mut rows = vec![names.map(String::from).to_vec()];
    // The paper's own first.
    let papers = [&PAPER, &li_2012::PAPER];
    for (name, kernel) in papers.into_iter().flat_map(|paper| (paper.counted)()) {
        let Some(counters) = run.counters.get(&kernel.name()) else { continue };
        let of = |index: usize| counters.get(COUNTERS[index]).copied();
        let all = of(0);
        let wavefronts =
            of(5).zip(of(4)).filter(|(_, loads)| *loads > 0.0).map(|(wavefronts, loads)| wavefronts / loads);
        rows.push(vec![
            name.into(),
            all.map_or_else(|| figure(None), |all| format!("{:.1} M", all / 1e6)),
            percent(of(1), all),
            percent(of(2), all),
            percent(of(3), all),
            wavefronts.map_or_else(String::new, |wavefronts| format!("{wavefronts:.2}")),
            figure(of(6)),
            percent(of(7), Some(100.0)),
        ]);
    }
    page.table(&rows);
}

fn representation(page: &mut Page) {
    page.say("### Section 6.3: the change of representation");
    page.say(&format!(
        "{}: 32 blocks to 128 planes without encryption, from one buffer to another. On the GPU, one kernel changes it once, \
         with its memory accesses, and another {} times, all but one of which are undone, so that the difference is the \
         change without memory accesses. On the processor both run on all cores, and no ratio is given: the change is \
         plain Rust on words of 32 bits, while this project's bitsliced engine encrypts on the processor's widest \
         vectors. ECB changes the representation twice; the second row is the same kernel without both changes. The paper's two orders of magnitude come without figures, and \
         it does not say which of these they refer to.",
        size(BYTES),
        TIMES[1]
    ));
    let encryption = page.gbits(TABLES, &WAYS[1].case(Mode::EcbEncrypt), BYTES);
    let once = page.milliseconds(REPRESENTATION, &representation_name(TIMES[0]), BYTES);
    let often = page.milliseconds(REPRESENTATION, &representation_name(TIMES[1]), BYTES);
    let bits = 8.0 * BYTES as f64;
    let alone =
        once.zip(often).map(|(once, often)| (often - once) / f64::from(TIMES[1] - TIMES[0])).filter(|ms| *ms > 0.0);
    let rate = |ms: Option<f64>| ms.map(|ms| bits / ms / 1e6);
    let on_planes = page.gbits(REPRESENTATION, ON_PLANES, BYTES);
    let processor = ON_PROCESSOR.map(|name| page.gbits(REPRESENTATION, name, BYTES));
    let mut rows = vec![["on", "what", "Gbit/s:", "to encryption:"].map(String::from).to_vec()];
    for (on, what, rate, than) in [
        ("GPU", "ECB encryption, one-hot keys", encryption, None),
        ("GPU", "the same on data that is in planes before and after", on_planes, encryption),
        ("GPU", "one change, with memory", rate(once), encryption),
        ("GPU", "one change, without", rate(alone), encryption),
        ("processor", "ECB encryption, bitsliced, on vectors", processor[1], None),
        ("processor", "one change, with memory, plain Rust", processor[0], None),
    ] {
        let ratio = if on == "processor" || what.starts_with("ECB") {
            String::new()
        } else {
            times(than.and(rate), than.unwrap_or(1.0))
        };
        rows.push(vec![on.into(), what.into(), figure(rate), ratio]);
    }
    page.table(&rows);
}

fn lfsr(page: &mut Page) {
    page.say("### Section 4.1: shift registers");
    page.say(
        "Linear-feedback shift registers of 16 bits, as kernels that write all new bits to memory. The paper counts \
         clocks: for 1,024 bits, 1,024 with one register, 64 with 16 threads of one register each, and 4 with 16 \
         threads of 16 registers each in words of 16 bits. A GPU's words have 32. The bitsliced registers write two or \
         four bytes a clock and are bound by memory, so their rate is not that of the clocks; where bits are summed up, a \
         thread stores a word at its end, and the clocks bound it. The last two rows have the paper's numbers of threads \
         and 1,024 bits; the time of 16 threads is that of a launch.",
    );
    let mut rows = vec![
        [
            "registers",
            "bits a clock of 16 threads, or of the one:",
            "clocks for 1,024 bits:",
            "Gbit/s:",
            "to parallel:",
            "time, µs:",
        ]
        .map(String::from)
        .to_vec(),
    ];
    // The parallel registers before, which store or sum up their bits as well.
    let mut parallel = None;
    for (name, lfsr) in registers() {
        let lanes = lfsr.lanes() as usize;
        let bytes = lfsr.made_bytes() as u64;
        let (rate, ms) = (page.gbits(LFSR, &name, bytes), page.milliseconds(LFSR, &name, bytes));
        let bits = if lfsr == Lfsr::SINGLE { 1 } else { 16 * lanes };
        if matches!(lfsr.form, Form::Parallel) {
            parallel = rate;
        }
        let is_filling = bytes > Lfsr::PAPER.made_bytes() as u64;
        let ratio = if is_filling { times(parallel.and(rate), parallel.unwrap_or(1.0)) } else { String::new() };
        rows.push(vec![
            name,
            bits.to_string(),
            (1024 / bits).to_string(),
            figure(rate),
            ratio,
            ms.map_or_else(|| figure(None), |ms| format!("{:.1}", 1e3 * ms)),
        ]);
    }
    page.table(&rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::paper::Quoted;

    #[test]
    fn a_rate_for_a_price() {
        assert_eq!(for_price(Some(1384.51), Some(6628.0)), "0.209");
        assert_eq!([for_price(None, Some(1.0)), for_price(Some(1.0), None)], ["not measured", "no price"]);
        // The paper's own tables imply the prices of its GPUs, and those of both tables are about equal.
        for row in &ROWS {
            let dollars = |(rate, for_dollar): (Quoted, Quoted)| rate.value() / for_dollar.value();
            let (ecb, ctr) = (dollars(row.ecb), dollars(row.ctr));
            assert!((ecb / ctr - 1.0).abs() < 0.03 && price(row.gpu) == Some(ecb.round()), "{}", row.gpu);
        }
        assert!(price("P100") == price("Tesla P100") && price("HD 7970") == Some(549.0));
        assert_eq!(price("K40m"), None);
    }

    #[test]
    fn the_gates_of_the_s_box() {
        assert_eq!(sbox_gates().map(|(sums, products)| sums + products), [120, 125]);
        assert_eq!(gates_of(&CANRIGHT_NETLIST), [(80, 40), (81, 40)]);
        let own = Gates { what: "his S-box", xor: 80, nand: 34, nor: 6, multiplexer: 0, not: 0 };
        assert_eq!((own.nands(), MERGED.each_ref().map(Gates::nands)), (180.0, [234.0, 247.5, SBOX_GATES as f64]));
    }
}
