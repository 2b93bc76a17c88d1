//! Table III, the choices the text speaks of, and overlapped copies.

use crate::papers::claim::ABOUT;
use crate::papers::iwai_2010::{
    ABSTRACT, BYTES, CHOICES, CHUNKS, COLUMNS, CPU, GPU, NARROW_WITHIN, ONE_CORE, OVERLAP, PAPER, PROCESSOR,
    PROCESSOR_BYTES, TABLE_1, TABLE_3, choices, chunks_name, direct_name, memory, narrow_name, table_of,
};
use crate::render::page::{Page, best, bold_if, figure, percent, times, with_decimals, words};
use aes_bitslice_papers::kernels::Staging;

const NOTES: &str = include_str!("../../notes/iwai-2010.md");

/// The paper's part of the page.
pub fn render(page: &mut Page) {
    page.paper(&PAPER);
    page.say("### Table I: previous work, as the paper quotes it");
    page.table(&words(["reference", "device", "language", "throughput:"], &TABLE_1));
    table_3(page);
    chosen(page);
    page.say("### Section VI.B: conflicts of banks");
    page.say(
        "The paper explains why AoS is faster by conflicts of banks: none with AoS, four-way with SoA and 4 B a thread, which takes \
         twice as long as AoS. A GeForce GTX 285 has 16 banks for a half of a warp, today's GPUs 32 for all of it. Counted by \
         NVIDIA's profiler, four T-boxes in shared memory, keys in constant memory; look-ups in T-boxes, whose conflicts are \
         those of random addresses, are among the loads:",
    );
    page.shared_loads(&PAPER);
    overlap(page);
    processor(page);
    page.claims(&PAPER, vec![]);
    narrow(page);
    page.say("### What is simplified");
    page.say(NOTES);
}

fn table_3(page: &mut Page) {
    page.say("### Table III: granularity, T-box, key and plaintext memory");
    page.say(
        "ECB encryption of 256 MB, four T-boxes, rounds in a loop, 512 threads a thread block, and 4 thread blocks a \
         multiprocessor (in the paper 60 in all, 2 a multiprocessor), which loop over the data. With AoS and SoA, \
         threads that share a block keep its state in shared memory between rounds; otherwise it stays in registers. With 8 and \
         4 B, a thread block first loads its plaintext into shared memory, and its threads take their parts from there (section \
         V.B); with 1 B, each thread loads its byte.",
    );
    let ours: Vec<_> = COLUMNS.iter().map(|column| page.gbits(TABLE_3, &column.name(), BYTES)).collect();
    let (our_best, their_best) = (best(ours.clone()), best(COLUMNS.iter().map(|column| Some(column.gbits))));
    let mut rows = vec![["a thread", "T-box", "round keys", "state"].map(String::from).to_vec()];
    rows[0].extend([format!("{GPU}, Gbit/s:"), "of its best:".into(), format!("{}, Gbit/s:", page.gpu())]);
    rows[0].extend(["of its best:".into(), "ours to theirs:".into()]);
    for (column, ours) in COLUMNS.iter().zip(ours) {
        rows.push(vec![
            format!("{} B", column.spec.granularity.bytes()),
            memory(column.spec.memory).into(),
            column.spec.keys.to_string(),
            match column.spec.staging {
                Staging::Registers => "registers".into(),
                Staging::Aos => "shared, AoS".into(),
                Staging::Soa => "shared, SoA".into(),
            },
            bold_if(Some(column.gbits) == their_best, with_decimals(column.gbits)),
            percent(Some(column.gbits), their_best),
            bold_if(ours.is_some() && ours == our_best, figure(ours)),
            percent(ours, our_best),
            times(ours, column.gbits),
        ]);
    }
    page.table(&rows);
}

fn chosen(page: &mut Page) {
    page.say("### Sections V.B to VI.B: one thing changed");
    page.say(
        "256 MB. Each kernel is compared with a kernel of table III, or of this table, that differs in one thing. The \
         paper gives no figures for these.",
    );
    let mut rows = vec![vec!["kernel".into(), format!("{}, Gbit/s:", page.gpu()), "to".into(), "ratio:".into()]];
    for (_, name, other) in choices() {
        let ours = page.gbits(CHOICES, &name, BYTES);
        let than = other.as_ref().and_then(|other| page.gbits(table_of(other), other, BYTES));
        let ratio = other.as_ref().map_or(String::new(), |_| times(than.and(ours), than.unwrap_or(1.0)));
        rows.push(vec![name, figure(ours), other.unwrap_or_default(), ratio]);
    }
    page.table(&rows);
}

/// The outcome with 256 threads, stated for all kernels at once.
fn narrow(page: &mut Page) {
    let ratios: Option<Vec<f64>> = COLUMNS
        .iter()
        .map(|column| {
            let narrow = page.run.gbits(CHOICES, &narrow_name(column), BYTES).ok()?;
            let wide = direct_name(column);
            Some(narrow / page.run.gbits(table_of(&wide), &wide, BYTES).ok()?)
        })
        .collect();
    let Some(ratios) = ratios else { return };
    let (lowest, highest) = ratios.iter().fold((f64::MAX, 0.0_f64), |(a, b), ratio| (a.min(*ratio), b.max(*ratio)));
    let within = |part: f64| (lowest - 1.0).abs().max((highest - 1.0).abs()) <= part;
    let about = if within(ABOUT) { "about as fast as" } else { "not about as fast as" };
    let so = if within(NARROW_WITHIN) { "holds" } else { "does not hold" };
    page.say(&format!(
        "256 threads are {about} 512: {lowest:.3} to {highest:.3} times over the {} kernels of table III, which load plaintext directly here. The paper's \
         0.1 % to {} % (VI.B) {so} here.",
        COLUMNS.len(),
        100.0 * NARROW_WITHIN,
    ));
}

fn overlap(page: &mut Page) {
    page.say("### Section VI.C: copies counted");
    page.say(&format!(
        "16 B a thread, T-boxes and round keys in shared memory, 256 MB. From pinned host memory to the GPU, through \
         the kernel and back, by the host's clock. With several chunks, each on its own stream, one chunk is copied \
         while another is encrypted. The paper's text has 22.0 Gbit/s for 4 chunks, its abstract {ABSTRACT}; it tried \
         other numbers, without figures.",
    ));
    let mut rows = vec![["data in", "Gbit/s:", "Gbit/s:", "ours to theirs:"].map(String::from).to_vec()];
    rows[0][1] = format!("{GPU}, Gbit/s:");
    rows[0][2] = format!("{}, Gbit/s:", page.gpu());
    for (chunks, theirs) in CHUNKS {
        let ours = page.gbits(OVERLAP, &chunks_name(chunks), BYTES);
        let ratio = theirs.map_or(String::new(), |theirs| times(ours, theirs));
        rows.push(vec![chunks_name(chunks), theirs.map_or(String::new(), with_decimals), figure(ours), ratio]);
    }
    page.table(&rows);
}

fn processor(page: &mut Page) {
    let (cpu, rate, ratio) = CPU;
    page.say("### Section VI.C: the processor");
    page.say(&format!(
        "The best kernel of table III against AES with four T-boxes on one core of the processor. The paper does not \
         say on how many cores its {cpu} reached {rate} Gbit/s; its {ratio} is 35.2 divided by 1.24.",
    ));
    let ours = page.gbits(PROCESSOR, ONE_CORE, PROCESSOR_BYTES);
    let gpu = best(COLUMNS.iter().map(|column| page.gbits(TABLE_3, &column.name(), BYTES)).collect::<Vec<_>>());
    let names = ["", "processor, Gbit/s:", "GPU, Gbit/s:", "ratio:"].map(String::from).to_vec();
    page.table(&[
        names,
        vec![format!("{cpu}, {GPU}"), with_decimals(rate), with_decimals(35.2), format!("{ratio} ×")],
        vec![
            format!("one core of {}, {}", page.run.cpu, page.gpu()),
            figure(ours),
            figure(gpu),
            times(ours.and(gpu), ours.unwrap_or(1.0)),
        ],
    ]);
}
