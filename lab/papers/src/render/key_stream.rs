//! Section 5 of Hajihassani et al. 2019: CTR's key stream made in advance.

use crate::measured::Run;
use crate::papers::hajihassani_2019::BYTES;
use crate::papers::key_stream::{NAMES, PAPER, TABLE};
use crate::render::page::{Page, figure, times};
use aes_bitslice_plot::size;

/// The section; without a run, what it takes to have one.
pub fn render<'a>(page: &mut Page<'a>, run: Option<&'a Run>) {
    page.say("### Section 5: the key stream made in advance");
    let what = format!(
        "The paper says that what CTR makes of its counters can be computed in advance and kept until there is data to add it to, \
         and that it computes it anew for all data instead. Here its kernels write the key stream of {} to memory, through \
         shared memory, and another kernel adds it to data, for which it reads two blocks and writes one.",
        size(BYTES)
    );
    let Some(run) = run else {
        page.say(&format!("{what} Not measured yet: this needs a GPU (`--paper {}`).", PAPER.name));
        return;
    };
    page.run = run;
    page.say(&format!(
        "{what} Measured on {}, {}. The last row is both, one after the other, by arithmetic.",
        page.gpu(),
        run.date
    ));
    let [fetched, one_hot, stream_fetched, stream, sum] = NAMES.map(|name| page.gbits(TABLE, name, BYTES));
    let both = stream.zip(sum).map(|(stream, sum)| 1.0 / (1.0 / stream + 1.0 / sum));
    let rates = [fetched, one_hot, stream_fetched, stream, sum, both];
    let mut rows = vec![["work", "Gbit/s:", "to CTR in one kernel:"].map(String::from).to_vec()];
    for (i, name) in NAMES.into_iter().chain(["key stream with one-hot keys, then the sum"]).enumerate() {
        let ratio = match i {
            0 | 1 => String::new(),
            2 => ratio(rates[i], fetched),
            _ => ratio(rates[i], one_hot),
        };
        rows.push(vec![name.into(), figure(rates[i]), ratio]);
    }
    page.table(&rows);
}

/// How many times as much, if both are there.
fn ratio(rate: Option<f64>, than: Option<f64>) -> String {
    times(than.and(rate), than.unwrap_or(1.0))
}
