//! Fig. 1 and table IV.

use crate::papers::li_2012::{
    ALLOCATION, FASTEST, FIGURE_1, GPU, MODES, PAPER, POWERS, ROWS, Row, STREAMS, TABLE_4, streams_name,
};
use crate::render::page::{Page, bold_if, figure, least, printed};
use aes_bitslice_plot::{Chart, Line, Lines, colour, dashes, size};

const NOTES: &str = include_str!("../../notes/li-2012.md");

/// The paper's part of the page.
pub fn render(page: &mut Page) {
    page.paper(&PAPER);
    figure_1(page);
    table_4(page);
    page.say("### What still holds, and what turned round");
    page.say(NOTES);
}

fn figure_1(page: &mut Page) {
    page.say("### Fig. 1: throughput over the size of the input");
    page.say(&format!(
        "Four T-boxes in shared memory, 16 B a thread, 512 threads a thread block; for CBC decryption, ciphertext kept in shared \
         memory, too. Of its curves the paper's text gives the highest point, {FASTEST} Gbit/s on a {GPU}, and that they look alike."
    ));
    let mut rows = vec![vec!["size".into()]];
    rows[0].extend(MODES.map(|mode| format!("{mode}: {}, Gbit/s:", page.gpu())));
    let mut lines = MODES.map(|mode| Line {
        name: mode.to_string(),
        colour: if mode == MODES[0] { colour::VERMILION } else { colour::PURPLE },
        dashes: dashes::SOLID,
        points: Vec::new(),
    });
    for power in POWERS {
        let bytes = 1 << power;
        let ours = MODES.map(|mode| page.gbits(FIGURE_1, &mode.to_string(), bytes));
        for (line, ours) in lines.iter_mut().zip(ours) {
            line.points.extend(ours.map(|ours| (f64::from(power), ours)));
        }
        rows.push([size(bytes)].into_iter().chain(ours.map(figure)).collect());
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

fn table_4(page: &mut Page) {
    page.say("### Table IV: streams");
    page.say(
        "CBC decryption, from pinned host memory to the GPU, through the kernel and back, by the host's clock, in milliseconds; \
         and the allocation of pinned memory of that size. With n streams the data is in n chunks, each on its own stream; with \
         none, in one.",
    );
    let mut rows = vec![vec!["size".into(), "GPU".into()]];
    rows[0].extend(STREAMS.map(|streams| format!("{}:", streams_name(streams))));
    rows[0].push("allocation:".into());
    for Row { bytes, milliseconds, allocation } in ROWS {
        let theirs = milliseconds.map(Some);
        let ours = STREAMS.map(|streams| page.milliseconds(TABLE_4, &streams_name(streams), bytes));
        let our_allocation = page.milliseconds(TABLE_4, ALLOCATION, bytes);
        let mut row = vec![size(bytes), GPU.into()];
        row.extend(theirs.map(|time| bold_if(time == least(theirs), time.map_or(String::new(), printed))));
        row.push(printed(allocation));
        rows.push(row);
        let mut row = vec![String::new(), page.gpu().into()];
        row.extend(ours.map(|time| bold_if(time.is_some() && time == least(ours), figure(time))));
        row.push(figure(our_allocation));
        rows.push(row);
    }
    page.table(&rows);

    let Row { bytes, milliseconds, allocation } = &ROWS[ROWS.len() - 1];
    let theirs = (least(milliseconds.map(Some)), Some(*allocation));
    let ours = STREAMS.map(|streams| page.milliseconds(TABLE_4, &streams_name(streams), *bytes));
    let ours = (least(ours), page.milliseconds(TABLE_4, ALLOCATION, *bytes));
    page.say(&format!("So {}, with the best number of streams, come to:", size(*bytes)));
    let rate = |milliseconds: Option<f64>| figure(milliseconds.map(|time| 8.0 * *bytes as f64 / time / 1e6));
    let with_allocation =
        |(time, allocation): (Option<f64>, Option<f64>)| rate(time.zip(allocation).map(|(a, b)| a + b));
    page.table(&[
        vec!["Gbit/s".into(), format!("{GPU}:"), format!("{}:", page.gpu())],
        vec!["copies counted".into(), rate(theirs.0), rate(ours.0)],
        vec!["copies and the allocation counted".into(), with_allocation(theirs), with_allocation(ours)],
    ]);
}
