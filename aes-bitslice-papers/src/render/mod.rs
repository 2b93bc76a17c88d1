//! What was measured beside what the papers printed: a page of Markdown and its plots. Nothing here knows of a GPU.
//!
//! | file | idea |
//! |---|---|
//! | `page` | text, tables, and notes on what is missing |
//! | `iwai_2010`, ... | the tables and plots of a paper |

mod abdelrahman_2017;
mod hajihassani_2019;
mod iwai_2010;
mod li_2012;
mod page;

use crate::measured::{Gpu, Measured};
use crate::papers::Paper;
use page::Page;
use std::collections::BTreeMap;

/// The page among the rendered files.
pub const PAGE: &str = "papers.md";

/// Every file, by its name in the folder `docs`.
pub fn render(measured: &Measured) -> BTreeMap<String, String> {
    let mut page = Page::new(measured);
    heading(measured, &mut page);
    iwai_2010::render(&mut page);
    li_2012::render(&mut page);
    abdelrahman_2017::render(&mut page);
    hajihassani_2019::render(&mut page);
    page.files()
}

fn heading(measured: &Measured, page: &mut Page) {
    let Gpu { name, compute_capability, multiprocessors, clock_mhz, memory_bytes, driver } = &measured.gpus[0];
    let others = match measured.gpus.len() {
        1 => String::new(),
        count => format!(", {count} of them where more than one is named"),
    };
    page.say(
        "<!-- Rendered by `cargo xtask papers --from docs/papers.json`; the sentences below the tables are from \
         aes-bitslice-papers/notes. -->\n# The papers' tables on today's GPU",
    );
    if let Some(largest) = measured.largest {
        let size = aes_bitslice_plot::size(largest);
        page.say(&format!(
            "**A quick run, which only shows that everything works: nothing was measured with more than {size}, whatever the \
             tables say, and no figure means anything.**"
        ));
    }
    page.say(&format!(
        "Measured on {} in {:.0} s by `cargo xtask papers`, version {}: {name}{others}, compute capability \
         {compute_capability}, {multiprocessors} multiprocessors at up to {:.2} GHz, {:.0} GiB, driver for {driver}. Beside it \
         {}. All figures are in [papers.json](papers.json).",
        measured.date,
        measured.seconds,
        measured.version,
        f64::from(*clock_mhz) / 1e3,
        *memory_bytes as f64 / f64::from(1 << 30),
        measured.cpu,
    ));
    page.say(
        "AES-128, random key and data. A rate is that of the median run, in Gbit/s, 10^9 bits a second; the runs, 5 to 20, come \
         after warm-up. Unless copies are counted, the time is the GPU's own, between two events around the kernel, from one \
         buffer in its memory to another. All of the output was compared with that of the `aes` and `ctr` crates before a case \
         was timed and once more after. MB in a paper is taken as 2^20 bytes. The papers' kernels are printed by this \
         project's generator; their figures are theirs, in the precision they give.",
    );
    page.say(
        "Table kernels look tables up at addresses that depend on key and data; only the bitsliced ones are constant-time \
         ([README](../README.md#what-it-is-not)).",
    );
}

/// The heading of a paper's part.
fn paper(page: &mut Page, Paper { authors, title, at }: &Paper) {
    page.say(&format!("## {authors}"));
    page.say(&format!("*{title}*, {at}."));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::case::Case;
    use crate::measured::{Outcome, Times, Timing};
    use crate::papers;

    /// Everything measured on a machine of so many GPUs, with made-up times.
    pub(crate) fn made_up(gpus: usize) -> Measured {
        let gpu = Gpu {
            name: "GPU of the test".into(),
            compute_capability: "9.0".into(),
            multiprocessors: 100,
            clock_mhz: 2000,
            memory_bytes: 64 << 30,
            driver: "CUDA 13.0".into(),
        };
        let timing = |(index, case): (usize, Case)| Timing {
            table: case.table.into(),
            case: case.name,
            bytes: case.bytes,
            outcome: Outcome::Timed(Times::new(vec![1e-5 + case.bytes as f64 / (1e11 + 1e9 * index as f64)])),
        };
        Measured {
            version: "0".into(),
            date: "2026-01-02".into(),
            seconds: 300.0,
            gpus: vec![gpu; gpus],
            cpu: "a CPU".into(),
            price: None,
            largest: None,
            timings: papers::cases(gpus).into_iter().enumerate().map(timing).collect(),
        }
    }

    #[test]
    fn everything_measured_is_shown() {
        let files = render(&made_up(4));
        let page = &files[PAGE];
        assert!(!page.contains("Not measured"), "{page}");
        for name in files.keys().filter(|name| name.ends_with(".svg")) {
            assert!(page.contains(&format!("]({name})")), "{name} is shown nowhere");
        }
        assert_eq!(files.keys().filter(|name| name.ends_with(".svg")).count(), 3);
        // The papers' own figures, one of each table.
        for figure in ["35.2", "22", "124.36", "279.86", "1478.42", "605.9"] {
            let is_shown = [format!(" {figure} "), format!("**{figure}**")].iter().any(|shown| page.contains(shown));
            assert!(is_shown, "{figure}");
        }
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }

    /// Each time of its own moves something that is rendered.
    #[test]
    fn no_measurement_is_for_nothing() {
        let measured = made_up(2);
        let rendered = render(&measured);
        for index in 0..measured.timings.len() {
            let mut other = measured.clone();
            other.timings[index].outcome = Outcome::Timed(Times::new(vec![7.0]));
            let Timing { table, case, bytes, .. } = &measured.timings[index];
            assert!(render(&other) != rendered, "{table}, {case}, {bytes} bytes is shown nowhere");
        }
    }

    #[test]
    fn what_failed_is_told_below_its_table() {
        let mut measured = made_up(1);
        for timing in &mut measured.timings {
            timing.outcome = Outcome::Failed("no | such kernel\nat all".into());
        }
        let page = &render(&measured)[PAGE];
        assert!(page.contains("Not measured"));
        assert!(page.contains("no | such kernel at all") && !page.contains("kernel\nat"));
        measured.timings.clear();
        assert!(render(&measured)[PAGE].contains("was not measured"));
    }

    #[test]
    fn a_price_is_shown_where_it_is_given() {
        let mut measured = made_up(1);
        assert!(!render(&measured)[PAGE].contains("$30000"));
        measured.price = Some(30_000.0);
        assert!(render(&measured)[PAGE].contains("$30000"));
    }
}
