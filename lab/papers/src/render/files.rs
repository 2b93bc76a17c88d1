//! Every rendered file: the page with its heading and a part for each paper, and the plots.

use crate::measured::{Gpu, Measured, OpenClDevice, Outcome, Run, Times};
use crate::papers;
use crate::papers::all::ALL;
use crate::papers::claim::SAME;
use crate::papers::paper::Paper;
use crate::render::page::Page;
use crate::render::{
    abdelrahman_2017, extended, hajihassani_2019, iwai_2010, key_stream, layers, li_2012, several_gpus, ul_haq_2011,
};
use std::collections::BTreeMap;

/// Writes a paper's part of the page.
type Render = fn(&mut Page);

/// Writes a section of a paper's part, if there is a run of it from its figures.
type Section = for<'a> fn(&mut Page<'a>, Option<&'a Run>);

/// Sections that may be from other machines than their papers, whose names theirs begin with.
const SECTIONS: [(&Paper, Section); 4] = [
    (&papers::extended::PAPER, extended::render),
    (&papers::key_stream::PAPER, key_stream::render),
    (&papers::layers::PAPER, layers::render),
    (&papers::several_gpus::PAPER, several_gpus::render),
];

/// Every file, by its name in the folder `docs`. A paper that is in no run is not on the page.
pub fn render(measured: &Measured) -> BTreeMap<String, String> {
    let parts: [(&Paper, Render); 5] = [
        (&papers::iwai_2010::PAPER, iwai_2010::render),
        (&papers::ul_haq_2011::PAPER, ul_haq_2011::render),
        (&papers::li_2012::PAPER, li_2012::render),
        (&papers::abdelrahman_2017::PAPER, abdelrahman_2017::render),
        (&papers::hajihassani_2019::PAPER, hajihassani_2019::render),
    ];
    let mut page = Page::new(&measured.runs[0]);
    heading(measured, &mut page);
    for (paper, render) in parts {
        if let Some(run) = measured.of(paper.name) {
            page.run = run;
            render(&mut page);
            for (section, render) in SECTIONS.iter().filter(|(section, _)| section.name.starts_with(paper.name)) {
                render(&mut page, measured.of(section.name));
            }
        }
    }
    page.files()
}

fn heading(measured: &Measured, page: &mut Page) {
    page.say(
        "<!-- Rendered by `cargo xtask papers --from docs/papers.json`; what is simplified is from lab/papers/notes. -->\n# The papers' tables on today's GPU",
    );
    page.say(
        "Measured by `cargo xtask papers`; all figures are in [papers.json](papers.json), and [a page](artifact.md) has \
         the claims with commands, minutes and tolerances:",
    );
    page.say(&measured.runs.iter().map(machine).collect::<String>());
    page.say(
        "AES-128 unless stated otherwise, with random key and data. A rate is that of the median run, in Gbit/s, 10^9 \
         bits per second; 5 to 20 runs follow a warm-up. Unless copies are counted, the time is the GPU's own, \
         between two events around the kernel, from one buffer in its memory to another. A kernel of one thread counts clocks \
         while a case is run once more; that thread takes the place of others, so no time is of this run. Cases without a clock in \
         `papers.json` are those of a processor, allocations, cases of several GPUs, of which each has its own, copies and \
         OpenCL's cases of runs that do not have the time of each run of a case, and cases of microseconds that ended before the count. The complete output of each \
         cipher was compared with that of the engine `cpu`, which tests compare with other implementations, before a case was timed and again afterwards, \
         and the output of any other kernel with its definition; tests elsewhere cover the orders of words and planes \
         that the processor produces. MB in a paper is taken as 2^20 bytes. This project's generator prints the kernel \
         of Hajihassani et al., and the package `aes-bitslice-papers` those of the others, from the descriptions in \
         their texts. The papers' figures are quoted as printed. Two papers print Gbit/s of 2^30 bits, as their parts \
         show; Li et al.'s are of 10^9, and which unit Iwai et al. have cannot be told: it is taken as 10^9. Ratios \
         are in bits. Figures that are not measured yet are marked.",
    );
    page.say(
        "Table kernels access tables at addresses that depend on key and data, as does the kernel with the S-box of figure 8. \
         In all other bitsliced kernels of this page, the analysis found no address and no branch that depends on key or \
         data ([claims](claims.md#constant-time)).",
    );
}

/// When and where a run was, and its papers, as an item of a list.
fn machine(run: &Run) -> String {
    let names = ALL.map(|paper| paper.name).into_iter().filter(|name| run.papers().contains(name));
    let mut text = format!(
        "- {}: on {} in {:.0} s, version {}{}. ",
        names.collect::<Vec<_>>().join(", "),
        run.date,
        run.seconds,
        run.version,
        run.commit.as_ref().map_or(String::new(), |commit| format!(", commit {commit}")),
    );
    if let Some(Gpu {
        name,
        compute_capability,
        multiprocessors,
        clock_mhz,
        memory_bytes,
        driver,
        driver_release,
        ecc,
        ..
    }) = run.gpus.first()
    {
        let others = match run.gpus.len() {
            1 => String::new(),
            count => format!(", {count} of them where more than one is named"),
        };
        text += &format!(
            "{name}{others}, compute capability {compute_capability}, {multiprocessors} multiprocessors at up to {:.2} GHz, \
             {:.0} GiB{}, driver {}for {driver}. ",
            f64::from(*clock_mhz) / 1e3,
            *memory_bytes as f64 / f64::from(1 << 30),
            match ecc {
                Some(true) => " with ECC",
                Some(false) => " without ECC",
                None => "",
            },
            driver_release.as_ref().map_or(String::new(), |release| format!("{release} ")),
        );
    }
    for OpenClDevice { platform, name, kind, driver, compute_units, .. } in &run.opencl {
        text += &format!("OpenCL {kind}: {name}, {compute_units} compute units, {platform}, driver {driver}. ");
    }
    text += &format!("Beside it {}.", run.cpu);
    text += &conditions(run);
    if let Some(largest) = run.largest {
        text += &format!(
            " **A quick run, which only shows that everything works: nothing larger than {} was measured, whatever the \
             tables say, and its figures mean nothing.**",
            aes_bitslice_plot::size(largest)
        );
    }
    text + "\n"
}

/// The clocks under load, and how far times are apart.
fn conditions(run: &Run) -> String {
    let timed = || {
        run.timings.iter().filter_map(|timing| match &timing.outcome {
            Outcome::Timed(times) => Some(times),
            Outcome::Failed(_) => None,
        })
    };
    let mut text = String::new();
    let mut clocks: Vec<f64> = timed().filter_map(|times| times.clock_mhz).collect();
    clocks.sort_by(f64::total_cmp);
    if let [lowest, .., highest] = clocks[..] {
        let when = match run.clock_beside {
            true => "while a case was run once more, counted by a kernel beside it",
            false => "right after a case, counted by a kernel",
        };
        let median = clocks[clocks.len() / 2];
        text += &format!(
            " The clock {when}: {lowest:.0} to {highest:.0} MHz, median {median:.0}, of {} cases.",
            clocks.len()
        );
    }
    let spreads: Vec<f64> = timed().filter_map(Times::spread).collect();
    if !spreads.is_empty() {
        let wide = spreads.iter().filter(|&&spread| spread > SAME).count();
        text += &format!(
            " In {wide} of {} cases the quartiles of the times are more than {:.0} % apart.",
            spreads.len(),
            100.0 * SAME
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{Price, Timing, paper_of};
    use crate::render::made_up::{made_up, made_up_run};
    use crate::render::page::PAGE;

    #[test]
    fn everything_measured_is_shown() {
        let files = render(&made_up(4));
        let page = &files[PAGE];
        assert!(!page.contains("Not measured"), "{page}");
        let places = page.matches("| not measured").count();
        assert_eq!(places, 0, "{page}");
        for name in files.keys().filter(|name| name.ends_with(".svg")) {
            assert!(page.contains(&format!("]({name})")), "{name} is shown nowhere");
        }
        assert_eq!(files.keys().filter(|name| name.ends_with(".svg")).count(), 4);
        // The papers' own figures, one from each table.
        for figure in
            ["35.2", "22.0", "25.0", "0.20", "0.60", "2.10", "1213.60", "1.660", "124.36", "279.86", "1478.42", "605.9"]
        {
            let is_shown = [format!(" {figure} "), format!("**{figure}**")].iter().any(|shown| page.contains(shown));
            assert!(is_shown, "{figure}");
        }
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }

    /// Each time by itself changes something that is rendered.
    #[test]
    fn no_measurement_is_for_nothing() {
        let measured = made_up(2);
        let rendered = render(&measured);
        for index in 0..measured.runs[0].timings.len() {
            let mut other = measured.clone();
            other.runs[0].timings[index].outcome = Outcome::Timed(Times::new(&[7.0]));
            let Timing { table, case, bytes, .. } = &measured.runs[0].timings[index];
            assert!(render(&other) != rendered, "{table}, {case}, {bytes} bytes is shown nowhere");
        }
    }

    #[test]
    fn what_failed_is_told_below_its_table() {
        let mut measured = made_up(1);
        for timing in &mut measured.runs[0].timings {
            timing.outcome = Outcome::Failed("no | such kernel\nat all".into());
        }
        let page = &render(&measured)[PAGE];
        assert!(page.contains("Not measured"));
        assert!(page.contains("no | such kernel at all") && !page.contains("kernel\nat"));
        // The rest is enough for every paper to be there.
        let mut left = ALL.map(|paper| paper.name).to_vec();
        measured.runs[0].timings.retain(|timing| {
            let at = left.iter().position(|name| *name == paper_of(&timing.table));
            at.map(|at| left.remove(at)).is_some()
        });
        assert!(render(&measured)[PAGE].contains("| not measured |"));
    }

    /// Each table names the GPU of its run, and the page begins with all of them.
    #[test]
    fn papers_may_be_of_different_runs() {
        let alone = |paper, gpu: &str, date: &str| {
            let mut run = made_up_run(&[paper], 1);
            (run.gpus[0].name, run.opencl[0].name, run.date) = (gpu.into(), format!("{gpu} of OpenCL"), date.into());
            run
        };
        let mut old = alone(&papers::iwai_2010::PAPER, "OLD", "2025-01-01");
        old.largest = Some(1 << 20);
        let mut new = alone(&papers::ul_haq_2011::PAPER, "NEW", "2026-01-01");
        new.gpus.clear();
        let files = render(&Measured { runs: vec![old, new] });
        let (heading, rest) = files[PAGE].split_once("\n## ").unwrap();
        let (iwai, ul_haq) = rest.split_once("\n## ").unwrap();
        for (name, date) in [("- iwai-2010: ", "on 2025-01-01"), ("- ul-haq-2011: ", "on 2026-01-01")] {
            assert!(heading.lines().any(|line| line.starts_with(name) && line.contains(date)), "{heading}");
        }
        assert_eq!(heading.lines().filter(|line| line.contains("A quick run")).count(), 1);
        assert!(iwai.starts_with("Iwai") && iwai.contains("| OLD, Gbit/s |") && !iwai.contains("NEW"));
        assert!(ul_haq.starts_with("Ul Haq") && ul_haq.contains("NEW of OpenCL") && !ul_haq.contains("OLD"));
        assert!(ul_haq.contains("up to 16 times with a Radeon HD 5870"));
        assert_eq!(files.len(), 2, "the page, and one plot; other papers are not there: {:?}", files.keys());
    }

    #[test]
    fn a_section_of_another_commit_says_so() {
        let says = |commit: &str| {
            let mut several = made_up_run(&[&papers::several_gpus::PAPER], 4);
            several.commit = Some(commit.into());
            let main = made_up_run(&[&papers::hajihassani_2019::PAPER], 1);
            render(&Measured { runs: vec![main, several] })[PAGE].contains("at another commit")
        };
        assert!(says("1234567") && !says("0a1b2c3"));
    }

    #[test]
    fn work_groups_that_a_driver_refuses_are_told() {
        let says = |why: &str| {
            let mut measured = made_up(1);
            for timing in measured.runs[0].timings.iter_mut().filter(|timing| timing.case.ends_with("1024")) {
                timing.outcome = Outcome::Failed(why.into());
            }
            render(&measured)[PAGE].contains("at most 256 work-items")
        };
        assert!(says("it needs work-groups of 1024") && !says("no GPU"));
    }

    /// A claim may compare a kernel with one of another paper, and then only within one run.
    #[test]
    fn a_claim_of_two_papers_takes_both() {
        let of = |page: &str| {
            let row = page.lines().find(|line| line.starts_with("| bitslicing is faster than tables")).unwrap();
            row.contains("| 2.88 × | not measured |") && row.ends_with("| not measured |")
        };
        let alone = Measured { runs: vec![made_up_run(&[&papers::hajihassani_2019::PAPER], 1)] };
        assert!(of(&render(&alone)[PAGE]) && !of(&render(&made_up(1))[PAGE]));
    }

    /// Where OpenCL has a processor only, what needs a GPU is missing, and the rest is there.
    #[test]
    fn without_a_gpu_there_is_the_processor() {
        let mut measured = Measured { runs: vec![made_up_run(&[&papers::ul_haq_2011::PAPER], 0)] };
        let run = &mut measured.runs[0];
        run.opencl.remove(0);
        for timing in run.timings.iter_mut().filter(|timing| timing.table != papers::ul_haq_2011::FIGURE_12) {
            timing.outcome = Outcome::Failed("OpenCL has no GPU".into());
        }
        let files = render(&measured);
        let page = &files[PAGE];
        assert!(page.contains("No GPU was there.") && page.contains("CPU of OpenCL, 12 compute units"));
        assert!(page.contains("OpenCL has no GPU") && !page.contains("was not measured") && files.len() == 1);
    }

    #[test]
    fn a_price_is_shown_where_it_is_given() {
        let mut measured = made_up(1);
        assert!(!render(&measured)[PAGE].contains("$30000"));
        measured.runs[0].price = Some(Price { dollars: 30_000.0, source: "a shop, 2026-11-22".into() });
        assert!(render(&measured)[PAGE].contains("$30000 (a shop, 2026-11-22)"));
    }
}
