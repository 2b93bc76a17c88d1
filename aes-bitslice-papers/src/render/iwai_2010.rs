//! Table III, the choices the text speaks of, and overlapped copies.

use crate::papers::iwai_2010::{
    BYTES, CHOICES, CHUNKS, COLUMNS, GPU, OVERLAP, PAPER, TABLE_3, choices, chunks_name, memory,
};
use crate::render::page::{Page, best, bold_if, figure, percent, printed, times};
use aes_bitslice_papers::kernels::Staging;

const NOTES: &str = include_str!("../../notes/iwai-2010.md");

/// The paper's part of the page.
pub fn render(page: &mut Page) {
    page.paper(&PAPER);
    table_3(page);
    chosen(page);
    overlap(page);
    page.say("### What still holds, and what turned round");
    page.say(NOTES);
}

fn table_3(page: &mut Page) {
    page.say("### Table III: granularity, T-box, key and plaintext memory");
    page.say(
        "ECB encryption of 256 MB, four T-boxes, 512 threads a thread block, and as many thread blocks as fill the GPU, which \
         loop over the data. AoS and SoA are where threads that share a block keep its state between rounds; without them it \
         stays in registers.",
    );
    let ours: Vec<_> = COLUMNS.iter().map(|column| page.gbits(TABLE_3, &column.name(), BYTES)).collect();
    let (our_best, their_best) = (best(ours.clone()), best(COLUMNS.iter().map(|column| Some(column.gbits))));
    let mut rows = vec![["a thread", "T-box", "round keys", "state"].map(String::from).to_vec()];
    rows[0].extend([format!("{GPU}, Gbit/s:"), "of its best:".into(), format!("{}, Gbit/s:", page.gpu())]);
    rows[0].extend(["of its best:".into(), "ours to theirs:".into()]);
    for (column, ours) in COLUMNS.iter().zip(ours) {
        rows.push(vec![
            format!("{} B", column.granularity.bytes()),
            memory(column.tables).into(),
            column.keys.to_string(),
            match column.staging {
                Staging::Registers => "registers".into(),
                Staging::Aos => "shared, AoS".into(),
                Staging::Soa => "shared, SoA".into(),
            },
            bold_if(Some(column.gbits) == their_best, printed(column.gbits)),
            percent(Some(column.gbits), their_best),
            bold_if(ours.is_some() && ours == our_best, figure(ours)),
            percent(ours, our_best),
            times(ours, column.gbits),
        ]);
    }
    page.table(&rows);
}

fn chosen(page: &mut Page) {
    page.say("### Sections V.C and V.D: one T-box or four, threads that loop or many thread blocks");
    page.say(
        "16 B a thread, T-boxes and round keys in shared memory, 256 MB. The paper has no figures, only that four T-boxes were \
         faster than one with rotations, and that threads which loop save the switching of thread blocks.",
    );
    let mut rows = vec![vec!["kernel".into(), format!("{}, Gbit/s:", page.gpu())]];
    for (_, name) in choices() {
        let ours = page.gbits(CHOICES, &name, BYTES);
        rows.push(vec![name, figure(ours)]);
    }
    page.table(&rows);
}

fn overlap(page: &mut Page) {
    page.say("### Section VI.C: copies counted");
    page.say(
        "16 B a thread, T-boxes and round keys in shared memory, 256 MB. From pinned host memory to the GPU, through the kernel, \
         and back, by the host's clock; with several chunks, each on a stream of its own, one chunk is copied while another is \
         encrypted.",
    );
    let mut rows = vec![["data in", "Gbit/s:", "Gbit/s:", "ours to theirs:"].map(String::from).to_vec()];
    rows[0][1] = format!("{GPU}, Gbit/s:");
    rows[0][2] = format!("{}, Gbit/s:", page.gpu());
    for (chunks, theirs) in CHUNKS {
        let ours = page.gbits(OVERLAP, &chunks_name(chunks), BYTES);
        rows.push(vec![chunks_name(chunks), printed(theirs), figure(ours), times(ours, theirs)]);
    }
    page.table(&rows);
}
