//! Section 6.2 of Hajihassani et al. 2019: what each sub-function costs.

use crate::measured::Run;
use crate::papers::hajihassani_2019::BYTES;
use crate::papers::layers::{PAPER, ROWS, TABLE};
use crate::render::instructions::executed;
use crate::render::page::{Page, figure, percent};
use aes_bitslice_plot::size;

/// The section; without a run, what it takes to have its rates.
pub fn render<'a>(page: &mut Page<'a>, run: Option<&'a Run>) {
    page.say("### Section 6.2: cost and throughput of each sub-function");
    let what = format!(
        "ECB encryption of {} with one-hot keys, and the same kernel with one thing left out of all rounds; the paper has this in \
         its appendix C, which is not at hand. What such a kernel computes is not AES. Its output was compared with what is left \
         of the cipher's definition, byte for byte, before it was timed and again afterwards. Instructions are those of a \
         thread, for 32 blocks, as counted above for compute capability 9.0. A part of the time, or of the instructions, is what \
         is saved without the layer, to those of the whole kernel; the parts need not add up to all, because the compiler \
         optimises across layers, and the waiting times of several layers overlap. ShiftRows only names the operands of MixColumns and of the \
         last key. Without MixColumns alone, planes would have to be moved instead, so both are left out together.",
        size(BYTES)
    );
    match run {
        Some(run) => {
            page.run = run;
            page.say(&format!("{what} Measured on {}, {}.", page.gpu(), run.date));
        }
        None => page.say(&format!("{what} Rates are not measured yet: this needs a GPU (`--paper {}`).", PAPER.name)),
    }
    let names = ["without", "instructions:", "of all:", "Gbit/s:", "GB/s:", "of the time:"];
    let mut rows = vec![names.map(String::from).to_vec()];
    let counts = executed().remove("sm_90").unwrap_or_default();
    let part = |of: Option<f64>, all: Option<f64>| percent(all.zip(of).map(|(all, of)| all - of), all);
    let (mut all, mut time) = (None, None);
    for row in &ROWS {
        let count = counts.get(row.counted).map(|&count| count as f64);
        // What a paper that is in no run has is missing.
        let rate = run.and_then(|_| page.gbits(TABLE, &row.name(), BYTES));
        let taken = rate.map(f64::recip);
        let is_whole = row.counted == ROWS[0].counted;
        if is_whole {
            (all, time) = (count, taken);
        }
        let parts = [part(count, all), part(taken, time)].map(|part| if is_whole { String::new() } else { part });
        let [of_all, of_time] = parts;
        let cells = [figure(count), of_all, figure(rate), figure(rate.map(|rate| rate / 8.0)), of_time];
        rows.push([vec![row.layer.to_string()], cells.to_vec()].concat());
    }
    page.table(&rows);
    if run.is_some() {
        page.claims(&PAPER, vec![]);
    }
}
