//! Fig. 1 and table IV.

use crate::case::HostMemory;
use crate::measured::COUNTERS;
use crate::papers::li_2012::{
    ALLOCATION, CPU, FASTEST, FIGURE_1, GPU, MODES, ONE_CORE, PAPER, POWERS, PROCESSOR_BYTES, REORDERING, ROWS, Row,
    STREAMS, TABLE_2, TABLE_4, VARIANT_BYTES, VARIANTS, WAYS, WITH_COPIES, alone_name, curve_name, kernel,
    streams_name, variant_name,
};
use crate::render::page::{Page, best, bold_if, figure, least, percent, printed, times, words};
use aes_bitslice_papers::kernels::Rounds;
use aes_bitslice_plot::{Chart, Line, Lines, colour, dashes, size};

const NOTES: &str = include_str!("../../notes/li-2012.md");

/// The paper's part of the page.
pub fn render(page: &mut Page) {
    page.paper(&PAPER);
    page.say("### Table II: previous work, as the paper quotes it");
    page.table(&words(["reference", "device", "mode", "throughput:"], &TABLE_2));
    figure_1(page);
    variants(page);
    processor(page);
    table_4(page);
    resources(page);
    page.claims(&PAPER, vec![]);
    page.say("### What is simplified");
    page.say(NOTES);
}

fn figure_1(page: &mut Page) {
    page.say("### Fig. 1: throughput over the size of the input");
    page.say(&format!(
        "Four T-boxes in shared memory, 16 B a thread, 512 threads a thread block, rounds unrolled, blocks loaded as \
         vectors of 16 bytes; for CBC decryption, ciphertext is kept in shared memory, too. Of its curves, the \
         paper's text gives only the highest point, {FASTEST} Gbit/s on a {GPU}, and says that they look alike: all \
         ratios are to that point."
    ));
    let mut rows = vec![vec!["size".into()]];
    for mode in MODES {
        rows[0].extend([format!("{mode}: {}, Gbit/s:", page.gpu()), format!("to {FASTEST}:")]);
    }
    let mut lines = MODES.map(|mode| Line {
        name: mode.to_string(),
        colour: if mode == MODES[0] { colour::VERMILION } else { colour::PURPLE },
        dashes: dashes::SOLID,
        points: Vec::new(),
    });
    for power in POWERS {
        let bytes = 1 << power;
        let ours = MODES.map(|mode| page.gbits(FIGURE_1, &curve_name(mode), bytes));
        for (line, ours) in lines.iter_mut().zip(ours) {
            line.points.extend(ours.map(|ours| (f64::from(power), ours)));
        }
        let cells = ours.into_iter().flat_map(|ours| [figure(ours), times(ours, FASTEST)]);
        rows.push([size(bytes)].into_iter().chain(cells).collect());
    }
    page.table(&rows);
    let mut lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    if !lines.is_empty() {
        let points = [POWERS.start(), POWERS.end()].map(|&power| (f64::from(power), FASTEST)).to_vec();
        let name = format!("paper: {FASTEST} at most");
        lines.push(Line { name, colour: colour::GREY, dashes: dashes::LONG, points });
        let title = format!("Li et al. 2012, fig. 1, on {}", page.gpu());
        let chart = Chart::Lines(Lines { title, x: "size of the input", y: "Gbit/s, median", lines });
        page.plots("papers-li-2012.svg", "Throughput of Li et al.'s kernels over the size of the input", &[chart]);
    }
}

fn variants(page: &mut Page) {
    page.say("### Section V.C and the appendices: the order of words, and rounds");
    page.say(&format!(
        "{}. The paper's host reorders blocks so that all first words are adjacent, followed by all second words, and \
         so on; its kernels read and write single words (`dev_input[index]`). Vectors of 16 bytes are the other way \
         that it names. Its kernels unroll the rounds; table III of Iwai et al. and tables VI to VIII of Abdelrahman \
         et al. on this page are of kernels with rounds in a loop. Where reordering is counted, all cores of the \
         processor do it before the kernel; the result is left in that order.",
        size(VARIANT_BYTES)
    ));
    let mut rows = vec![vec!["kernel".to_string()]];
    for mode in MODES {
        rows[0].extend([format!("{mode}, Gbit/s:"), "to vectors, unrolled:".into()]);
    }
    let base = MODES.map(|mode| page.gbits(VARIANTS, &variant_name(mode, 1), VARIANT_BYTES));
    let ratio = |rate: Option<f64>, base: Option<f64>| times(base.and(rate), base.unwrap_or(1.0));
    let mut reordered = MODES.map(|_| None);
    for (way, name) in WAYS.into_iter().enumerate() {
        let mut row = vec![name.to_string()];
        for (i, mode) in MODES.into_iter().enumerate() {
            let rate = page.gbits(VARIANTS, &variant_name(mode, way), VARIANT_BYTES);
            let reordering = page.gbits(VARIANTS, REORDERING, VARIANT_BYTES);
            if way == 0 {
                reordered[i] = rate.zip(reordering).map(|(kernel, host)| 1.0 / (1.0 / kernel + 1.0 / host));
            }
            row.extend([figure(rate), ratio(rate, base[i])]);
        }
        rows.push(row);
    }
    let mut row = vec![format!("{}, reordering counted", WAYS[0])];
    row.extend((0..MODES.len()).flat_map(|i| [figure(reordered[i]), ratio(reordered[i], base[i])]));
    rows.insert(2, row);
    page.table(&rows);
}

fn processor(page: &mut Page) {
    let (cpu, rate, ratio) = CPU;
    page.say("### Section VI.B: the processor");
    page.say(&format!(
        "The fastest point of fig. 1 against AES with four T-boxes on one core of the processor. The paper takes its \
         processor's rate from Iwai et al. 2010, a {cpu}, and calls its own code sequential.",
    ));
    let ours = page.gbits(VARIANTS, ONE_CORE, PROCESSOR_BYTES);
    let mut points = Vec::new();
    for mode in MODES {
        points.extend(POWERS.map(|power| page.gbits(FIGURE_1, &curve_name(mode), 1 << power)));
    }
    let gpu = best(points);
    let names = ["", "processor, Gbit/s:", "GPU, Gbit/s:", "ratio:"].map(String::from).to_vec();
    let ours_to_theirs = times(ours.and(gpu), ours.unwrap_or(1.0));
    page.table(&[
        names,
        vec![format!("{cpu}, {GPU}"), printed(rate), printed(FASTEST), format!("{ratio} ×")],
        vec![format!("one core of {}, {}", page.run.cpu, page.gpu()), figure(ours), figure(gpu), ours_to_theirs],
    ]);
}

fn table_4(page: &mut Page) {
    page.say("### Table IV: streams");
    page.say(&format!(
        "CBC decryption, rounds unrolled, from host memory to the GPU, through the kernel and back, by the host's \
         clock, in milliseconds; and the driver's allocation of pinned memory of that size, without writing to it, \
         with {} GPU(s) in the machine. With n streams the data is in n chunks, each on its own stream, in pinned \
         memory, which streams need. Without streams it is one chunk, in pageable or pinned memory: the paper does \
         not say which of the two its column is for.",
        page.run.gpus.len()
    ));
    let faster = |theirs: Option<f64>, ours: Option<f64>| times(ours.and(theirs), ours.unwrap_or(1.0));
    let pinned = |streams: usize| streams_name(streams, HostMemory::Pinned);
    let pageable = streams_name(0, HostMemory::Pageable);
    let mut rows = vec![vec!["size".into(), "GPU".into(), "none, pageable:".into(), "none, pinned:".into()]];
    rows[0].extend(STREAMS[1..].iter().map(|streams| format!("{streams} streams:")));
    rows[0].push("allocation:".into());
    let mut sums =
        vec![["size", "GPU", "none, Gbit/s:", "best, Gbit/s:", "and allocation counted:"].map(String::from).to_vec()];
    for Row { bytes, milliseconds, allocation } in ROWS {
        let theirs = milliseconds.map(|time| Some(time.value()));
        let allocated = Some(allocation.value());
        let own = page.milliseconds(TABLE_4, &pageable, bytes);
        let ours = STREAMS.map(|streams| page.milliseconds(TABLE_4, &pinned(streams), bytes));
        let our_allocation = page.milliseconds(TABLE_4, ALLOCATION, bytes);
        let mut row = vec![size(bytes), GPU.into()];
        let mut cells = milliseconds.map(|time| bold_if(Some(time.value()) == least(theirs), time.0.into())).to_vec();
        // It is not known which of the two it is.
        let none = format!("{}, one of both", cells.remove(0));
        row.extend([none, String::new()]);
        row.extend(cells);
        row.push(allocation.0.into());
        rows.push(row);
        let all: Vec<_> = [own].into_iter().chain(ours).collect();
        let shortest = least(all.clone());
        let mut row = vec![String::new(), page.gpu().into()];
        row.extend(all.iter().map(|&time| bold_if(time.is_some() && time == shortest, figure(time))));
        row.push(figure(our_allocation));
        rows.push(row);
        // Whichever of the two the paper's time without streams is for, both times here are compared with it.
        let none = [theirs[0]].into_iter().chain(theirs).zip(all).map(|(theirs, ours)| faster(theirs, ours));
        let mut row = vec![String::new(), "ours to theirs".into()];
        row.extend(none);
        row.push(faster(allocated, our_allocation));
        rows.push(row);
        // With the best number of streams, and with pinned memory allocated for it: input and output are one buffer there.
        let rate = |time: Option<f64>| figure(time.map(|time| 8.0 * bytes as f64 / time / 1e6));
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        let (best, our_best) = (least(theirs[1..].to_vec()), least(ours[1..].to_vec()));
        sums.push(vec![size(bytes), GPU.into(), rate(theirs[0]), rate(best), rate(sum(best, allocated))]);
        let our_sum = sum(our_best, our_allocation);
        sums.push(vec![String::new(), page.gpu().into(), rate(own), rate(our_best), rate(our_sum)]);
        let (none, sum) = (faster(theirs[0], own), faster(sum(best, allocated), our_sum));
        sums.push(vec![String::new(), "ours to theirs".into(), none, faster(best, our_best), sum]);
    }
    page.table(&rows);
    page.say(&format!(
        "The resulting rates: without streams (our kernel, data in pageable memory), with the best number of streams, \
         and with one allocation of pinned memory of that size counted, too. The paper's text has {WITH_COPIES} \
         Gbit/s at most with copies that are not overlapped, 23.2 with 8 streams and 14.22 with the allocation, and \
         says that streams make a small file, such as 256 KiB, slower: by its figures, where the allocation is counted.",
    ));
    page.table(&sums);
    copies_alone(page);
}

/// What the copies take without the kernels between them.
fn copies_alone(page: &mut Page) {
    let bytes = ROWS[ROWS.len() - 1].bytes;
    page.say(&format!(
        "The same copies of {}, with the kernels between them and without, from and to pinned memory, in milliseconds:",
        size(bytes)
    ));
    let mut rows = vec![["streams:", "with kernels:", "copies alone:", "with, to alone:"].map(String::from).to_vec()];
    for streams in &STREAMS[1..] {
        let with = page.milliseconds(TABLE_4, &streams_name(*streams, HostMemory::Pinned), bytes);
        let alone = page.milliseconds(TABLE_4, &alone_name(*streams), bytes);
        rows.push(vec![streams.to_string(), figure(with), figure(alone), times(alone.and(with), alone.unwrap_or(1.0))]);
    }
    page.table(&rows);
}

/// What a multiprocessor has room for, and conflicts of banks.
fn resources(page: &mut Page) {
    page.say("### Section VI: occupancy, and conflicts of banks");
    page.say(
        "The paper has all resident threads with 512 a thread block, and room for three thread blocks in CBC decryption, whose \
         ciphertext is in shared memory, too; it explains the low use of the GPU by conflicts of banks where threads look up \
         T-boxes. Registers of a thread, bytes of shared memory of a thread block, thread blocks of a multiprocessor and \
         occupancy are as the driver reports them; wavefronts for a load from shared memory, which are 1 without \
         conflicts, are counted by NVIDIA's profiler, of the kernel of ECB only.",
    );
    let names = ["kernel", "registers:", "shared, bytes:", "thread blocks:", "occupancy:", "wavefronts a load:"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for mode in MODES {
        let name = kernel(mode, Rounds::Unrolled).name();
        let mut row = vec![format!("{mode}, rounds unrolled")];
        row.extend(match page.run.profile(&name) {
            None => vec![figure(None); 4],
            Some(p) => {
                let numbers = [p.registers, p.shared_bytes, p.thread_blocks].map(|number| number.to_string());
                [numbers.to_vec(), vec![percent(Some(p.occupancy), Some(1.0))]].concat()
            }
        });
        let counters = page.run.counters.get(&name);
        let of = |index: usize| counters.and_then(|counters| counters.get(COUNTERS[index]).copied());
        let wavefronts = of(5).zip(of(4)).map(|(wavefronts, loads)| wavefronts / loads);
        row.push(if mode == MODES[0] { figure(wavefronts) } else { String::new() });
        rows.push(row);
    }
    page.table(&rows);
}
