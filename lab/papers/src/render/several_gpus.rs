//! Section 6.6 of Hajihassani et al. 2019, from whichever machine it was measured on.

use crate::case::ShardedData;
use crate::measured::Run;
use crate::papers::several_gpus::{MODES, PAPER, Row, TABLE, TWO_GPUS};
use crate::render::page::{Page, figure, percent};
use aes_bitslice_plot::size;

/// The section; without a run, what it takes to have one.
pub fn render<'a>(page: &mut Page<'a>, run: Option<&'a Run>) {
    page.say("### Section 6.6: several GPUs");
    let what = format!(
        "The paper's kernel with one-hot keys and one host thread per GPU, timed by the host's clock from the moment \
         at which all of them may start until the last one has finished. The data is in the memory of the GPUs, {}; \
         or in pinned host memory, {}, from which it is distributed and where it is collected: the paper names this \
         among the losses with 4 and 8 GPUs. Shares are equal, rated by multiprocessors times clock, or rated by \
         measuring each GPU alone. A GPU of half the rate does its share twice, and is rated accordingly. The paper's \
         two GTX 980 reach {} of twice the rate of one; its text does not say whether copies are counted.",
        size(4 << 30),
        size(1 << 30),
        percent(Some(TWO_GPUS), Some(1.0)),
    );
    let Some(run) = run else {
        page.say(&format!(
            "{what} Not measured yet: this needs a machine with several GPUs (`--paper {}`).",
            PAPER.name
        ));
        return;
    };
    let of_another_commit = if run.commit == page.run.commit {
        ""
    } else {
        " That was at another commit than the rest of this page: no machine with as many GPUs was at hand for it."
    };
    page.run = run;
    page.say(&format!("{what} Measured on {} {}, {}.{of_another_commit}", run.gpus.len(), page.gpu(), run.date));
    let mut rows = vec![["GPUs", "data", "shares"].map(String::from).to_vec()];
    for mode in MODES {
        rows[0].extend([format!("{mode}, Gbit/s:"), "of as many times one:".into()]);
    }
    let mut one = MODES.map(|_| None);
    for row in Row::all(run.gpus.len()) {
        let rates = MODES.map(|mode| page.gbits(TABLE, &row.name(mode), row.bytes()));
        if row.gpus == 1 {
            one = rates;
        }
        // The rows of the slowed GPU come last, and have resident data.
        if row.slowed {
            one = MODES.map(|mode| page.gbits(TABLE, &Row { gpus: 1, slowed: false, ..row }.name(mode), row.bytes()));
        }
        let data = if row.data == ShardedData::Copied { "distributed and collected" } else { "in GPU memory" };
        let gpus = if row.slowed { format!("{}, one of half the rate", row.gpus) } else { row.gpus.to_string() };
        let shares = if row.gpus == 1 { "-" } else { row.shares.name() };
        let mut cells = vec![gpus, data.into(), shares.into()];
        for (rate, one) in rates.into_iter().zip(one) {
            cells.extend([figure(rate), percent(rate, one.map(|one| one * row.worth()))]);
        }
        rows.push(cells);
    }
    page.table(&rows);
    page.claims(&PAPER, vec![]);
}
