//! Tables VI to VIII, and figures 3 to 8.

use crate::papers::abdelrahman_2017::{
    GPUS, GRANULARITIES, KEYS, PAPER, POWERS, ROUNDS, ROUNDS_BYTES, SIZES, Scheme, TABLE_2, TABLE_3, TABLES, THREADS,
    recommended, rounds, schemes,
};
use crate::render::page::{Page, best, bold_if, figure, percent, times, with_decimals, words};
use aes_bitslice_papers::kernels::Granularity;
use aes_bitslice_plot::{Chart, Line, Lines, colour, dashes};

const NOTES: &str = include_str!("../../notes/abdelrahman-2017.md");

/// The paper's part of the page.
pub fn render(page: &mut Page) {
    page.paper(&PAPER);
    table_2(page);
    page.say("### Table III: previous work, as the paper quotes it");
    page.say("T-boxes and keys are in shared memory in all of them.");
    page.table(&words(["reference", "Gbit/s:", "mode", "GPU", "granularity"], &TABLE_3));
    page.say("### Tables VI, VII and VIII: where the keys are, bytes a thread, threads a thread block");
    page.say(
        "ECB encryption, four T-boxes in shared memory, rounds in a loop, Gbit/s; the best rate of a GPU and size is \
         bold. The paper's Gbit are of 2^30 bits: with its 128 MB as one of them, all 96 figures for 64 and 128 MB are, \
         to the last digit, times of whole tenths of a millisecond (238.1 is 1 / 4.2 ms); with 10^9, none is. They are \
         quoted as printed, and ratios are in bits. 48 and 64 B a thread and 64 threads are not in the paper's tables: its text names several blocks a \
         thread, and its table II has 64 threads. The paper leaves an auto-tuner that chooses among these to future \
         work (VIII): what one would choose here follows below.",
    );
    for (index, size) in SIZES.iter().enumerate() {
        page.say(&format!("{} MB:", size.bytes >> 20));
        tables(page, index);
    }
    choices(page);
    unrolled(page);
    page.say(
        "The paper explains the gain of 32 B a thread by fewer thread blocks that take turns, against twice the accesses to \
         shared memory of a thread (VI.E.1). For the same data a thread block looks up as many entries of T-boxes, and half as \
         many round keys. Counted by NVIDIA's profiler, with 256 threads and keys in shared memory:",
    );
    page.shared_loads(&PAPER);
    page.say("### Figures 3 to 8: throughput over the size of the input");
    let charts: Vec<Chart> = (0..KEYS.len()).filter_map(|keys| chart(page, keys)).collect();
    page.plots("papers-abdelrahman-2017.svg", "Throughput of Abdelrahman et al.'s schemes over the size", &charts);
    page.claims(&PAPER, vec![]);
    page.say("### What is simplified");
    page.say(NOTES);
}

fn table_2(page: &mut Page) {
    page.say("### Table II: occupancy");
    page.say(&format!(
        "Resident threads of a multiprocessor as a part of the maximum. The paper's are for compute capability 5.2. \
         Its 75 % follow from the T-boxes: a multiprocessor has 32 thread blocks of 64 threads at most, but the 96 KiB of \
         its shared memory hold the 4 KiB of T-boxes of 24. An H200 has 228 KiB. Those of the {} are for the kernels of tables \
         VI to VIII with keys in shared memory, as the driver reports them, with registers of a thread and bytes of \
         local memory of a thread in parentheses. The compiler is asked to leave room for 2,048 threads a \
         multiprocessor with 16 B a thread, 1,024 with 32, 640 with 48 and 512 with 64, or for one thread block: more \
         blocks a thread need more registers, so granularities also differ in occupancy.",
        page.gpu()
    ));
    let mut rows = vec![["threads", "thread blocks:", "there:"].map(String::from).to_vec()];
    rows[0].extend(GRANULARITIES.map(|granularity| format!("{} B a thread:", granularity.bytes())));
    let mut occupancies = Vec::new();
    for (threads, thread_blocks, occupancy) in TABLE_2 {
        let mut row = vec![threads.to_string(), thread_blocks.to_string(), format!("{occupancy} %")];
        for granularity in GRANULARITIES {
            let is_it =
                |scheme: &&Scheme| (scheme.keys, scheme.granularity, scheme.threads) == (0, granularity, threads);
            let schemes = schemes();
            let scheme = schemes.iter().find(is_it).expect("all combinations are there");
            let profile = page.run.profile(&scheme.kernel().name());
            occupancies.push(profile.map(|profile| profile.occupancy));
            row.push(profile.map_or_else(
                || figure(None),
                |profile| {
                    let part = percent(Some(profile.occupancy), Some(1.0));
                    format!("{part} ({}, {})", profile.registers, profile.local_bytes)
                },
            ));
        }
        rows.push(row);
    }
    page.table(&rows);
    // The table begins with 64 and 128 threads.
    let (few, more) = occupancies.split_at(GRANULARITIES.len());
    let pairs: Option<Vec<_>> = few.iter().zip(more).map(|(few, more)| few.zip(*more)).collect();
    if let Some(pairs) = pairs {
        let holds = pairs.iter().all(|(few, more)| few < more);
        let so = if holds { "holds here" } else { "does not hold here" };
        let cells = |of: fn(&(f64, f64)) -> f64| {
            let cells: Vec<_> = pairs.iter().map(|pair| percent(Some(of(pair)), Some(1.0))).collect();
            cells.join(", ")
        };
        page.say(&format!(
            "That 64 threads give a multiprocessor less occupancy than 128, {} % against {} %, {so}: it is {} with 64 \
             threads, by bytes a thread, and {} with 128.",
            TABLE_2[0].2,
            TABLE_2[1].2,
            cells(|pair| pair.0),
            cells(|pair| pair.1),
        ));
    }
}

/// The fastest scheme of a size, and its rate.
fn fastest(page: &Page, bytes: u64) -> Option<(Scheme, f64)> {
    let rate = |scheme: Scheme| Some((scheme, page.run.gbits(TABLES, &scheme.name(), bytes).ok()?));
    schemes().into_iter().filter_map(rate).max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// Section VIII: the choice of an auto-tuner.
fn choices(page: &mut Page) {
    let fixed = recommended();
    page.say(&format!(
        "What an auto-tuner would choose on the {}, from these rates and those of figures 3 to 8: the fastest scheme of each \
         size, of all {} from 64 MB on, and of the paper's {} below. It is compared with one choice for all sizes, which \
         follows from the paper's advice: keys {}, {} B a thread, {} threads. A gain within 2 % is none.",
        page.gpu(),
        schemes().len(),
        schemes().iter().filter(|scheme| scheme.column.is_some()).count(),
        KEYS[fixed.keys].1,
        fixed.granularity.bytes(),
        fixed.threads,
    ));
    let names = ["size", "round keys", "a thread", "threads:", "Gbit/s:", "with one choice:", "gain:"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for power in POWERS {
        let bytes = 1 << power;
        let Some((Scheme { keys, granularity, threads, .. }, rate)) = fastest(page, bytes) else { continue };
        let of_fixed = page.run.gbits(TABLES, &fixed.name(), bytes).ok();
        rows.push(vec![
            format!("{} MB", bytes >> 20),
            KEYS[keys].1.into(),
            format!("{} B", granularity.bytes()),
            threads.to_string(),
            figure(Some(rate)),
            figure(of_fixed),
            times(of_fixed.map(|_| rate), of_fixed.unwrap_or(1.0)),
        ]);
    }
    page.table(&rows);
}

fn unrolled(page: &mut Page) {
    page.say("Rounds in a loop, two a turn, and unrolled, 512 MB:");
    let mut rows = vec![vec!["scheme".into(), format!("{}, Gbit/s:", page.gpu()), "to the loop:".into()]];
    // The loop is the first.
    let mut base = None;
    for (number, (_, name)) in rounds().into_iter().enumerate() {
        let rate = page.gbits(ROUNDS, &name, ROUNDS_BYTES);
        if number == 0 {
            base = rate;
        }
        rows.push(vec![name, figure(rate), times(base.and(rate), base.unwrap_or(1.0))]);
    }
    page.table(&rows);
}

fn tables(page: &mut Page, size: usize) {
    let size = &SIZES[size];
    let schemes = schemes();
    let ours: Vec<_> = schemes.iter().map(|scheme| page.gbits(TABLES, &scheme.name(), size.bytes)).collect();
    let our_best = best(ours.clone());
    let their_best = size.by_gpu().iter().map(|gpu| best(gpu.as_flattened().iter().copied().map(Some)));
    let their_best: Vec<_> = their_best.collect();
    let mut rows = vec![["round keys", "a thread", "threads:"].map(String::from).to_vec()];
    rows[0].extend(GPUS.iter().copied().chain([page.gpu()]).map(|gpu| format!("{gpu}:")));
    rows[0].push(format!("ours to {}:", GPUS[GPUS.len() - 1]));
    for (scheme, ours) in schemes.iter().zip(ours) {
        let mut row = vec![
            KEYS[scheme.keys].1.to_string(),
            format!("{} B", scheme.granularity.bytes()),
            scheme.threads.to_string(),
        ];
        for (gpu, &best) in size.by_gpu().iter().zip(&their_best) {
            let theirs = scheme.column.map(|column| gpu[scheme.keys][column]);
            row.push(theirs.map_or(String::new(), |rate| bold_if(theirs == best, with_decimals(rate))));
        }
        row.push(bold_if(ours.is_some() && ours == our_best, figure(ours)));
        let newest = scheme.column.map(|column| size.by_gpu()[GPUS.len() - 1][scheme.keys][column]);
        row.push(newest.map_or(String::new(), |theirs| times(ours, theirs * PAPER.gbit)));
        rows.push(row);
    }
    page.table(&rows);
}

/// All schemes of the paper with keys in one place; none if none was measured.
fn chart(page: &mut Page, keys: usize) -> Option<Chart> {
    let colours = [colour::BLUE, colour::VERMILION, colour::GREEN, colour::PURPLE, colour::GREY];
    let mut lines = Vec::new();
    for scheme in schemes().into_iter().filter(|scheme| scheme.keys == keys && scheme.column.is_some()) {
        let rate = |power: u32| Some((power.into(), page.run.gbits(TABLES, &scheme.name(), 1 << power).ok()?));
        let points: Vec<(f64, f64)> = POWERS.filter_map(rate).collect();
        if points.is_empty() {
            continue;
        }
        let threads = THREADS.iter().position(|&threads| threads == scheme.threads).unwrap_or(0);
        lines.push(Line {
            name: format!("{} threads, {} B", scheme.threads, scheme.granularity.bytes()),
            colour: colours[threads],
            dashes: match scheme.granularity {
                Granularity::B16 => dashes::SOLID,
                Granularity::B32 => dashes::LONG,
                _ => dashes::DOTS,
            },
            points,
        });
    }
    let title = format!("Abdelrahman et al. 2017 on {}: keys {}", page.gpu(), KEYS[keys].1);
    (!lines.is_empty()).then_some(Chart::Lines(Lines { title, x: "size of the input", y: "Gbit/s, median", lines }))
}
