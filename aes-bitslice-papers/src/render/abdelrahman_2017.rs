//! Tables VI to VIII, and figures 3 to 8.

use crate::papers::abdelrahman_2017::{GPUS, KEYS, PAPER, POWERS, SIZES, TABLES, THREADS, schemes};
use crate::render::page::{Page, best, bold_if, figure, printed};
use aes_bitslice_papers::kernels::Granularity;
use aes_bitslice_plot::{Chart, Line, Lines, colour, dashes};

const NOTES: &str = include_str!("../../notes/abdelrahman-2017.md");

/// The paper's part of the page.
pub fn render(page: &mut Page) {
    page.paper(&PAPER);
    page.say("### Tables VI, VII and VIII: where the keys are, bytes a thread, threads a thread block");
    page.say(
        "ECB encryption, four T-boxes in shared memory, Gbit/s; the best of a GPU and size is bold. 64 B a thread are not in the \
         paper's tables.",
    );
    for (index, size) in SIZES.iter().enumerate() {
        page.say(&format!("{} MB:", size.bytes >> 20));
        tables(page, index);
    }
    page.say("### Figures 3 to 8: throughput over the size of the input");
    let charts: Vec<Chart> = (0..KEYS.len()).filter_map(|keys| chart(page, keys)).collect();
    page.plots("papers-abdelrahman-2017.svg", "Throughput of Abdelrahman et al.'s schemes over the size", &charts);
    page.say("### What still holds, and what turned round");
    page.say(NOTES);
}

fn tables(page: &mut Page, size: usize) {
    let size = &SIZES[size];
    let schemes = schemes();
    let ours: Vec<_> = schemes.iter().map(|scheme| page.gbits(TABLES, &scheme.name(), size.bytes)).collect();
    let our_best = best(ours.clone());
    let their_best = size.gbits.map(|gpu| best(gpu.as_flattened().iter().copied().map(Some)));
    let mut rows = vec![["round keys", "a thread", "threads:"].map(String::from).to_vec()];
    rows[0].extend(GPUS.iter().copied().chain([page.gpu()]).map(|gpu| format!("{gpu}:")));
    for (scheme, ours) in schemes.iter().zip(ours) {
        let mut row = vec![
            KEYS[scheme.keys].1.to_string(),
            format!("{} B", scheme.granularity.bytes()),
            scheme.threads.to_string(),
        ];
        for (gpu, best) in size.gbits.iter().zip(their_best) {
            let theirs = scheme.column.map(|column| gpu[scheme.keys][column]);
            row.push(theirs.map_or(String::new(), |rate| bold_if(theirs == best, printed(rate))));
        }
        row.push(bold_if(ours.is_some() && ours == our_best, figure(ours)));
        rows.push(row);
    }
    page.table(&rows);
}

/// All schemes with keys in one place; none if none was measured.
fn chart(page: &mut Page, keys: usize) -> Option<Chart> {
    let colours = [colour::BLUE, colour::VERMILION, colour::GREEN, colour::PURPLE];
    let mut lines = Vec::new();
    for scheme in schemes().into_iter().filter(|scheme| scheme.keys == keys) {
        let rate = |power: u32| Some((power.into(), page.gbits(TABLES, &scheme.name(), 1 << power)?));
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
