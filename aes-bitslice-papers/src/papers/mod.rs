//! What the papers printed, and the cases that bring their tables back.
//!
//! Figures are the papers' own, each with its table; what they show in pictures only is not here. Rates are in Gbit/s, 10^9
//! bits a second, and sizes in the binary units that the papers write as KB and MB.

pub mod abdelrahman_2017;
pub mod hajihassani_2019;
pub mod iwai_2010;
pub mod li_2012;
pub mod ul_haq_2011;

use crate::case::Case;

/// What a paper is, in the words of its first page, and what is measured of it.
pub struct Paper {
    /// What it is called on the command line; its tables' names begin with it.
    pub name: &'static str,
    /// Authors and year.
    pub authors: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where it appeared.
    pub at: &'static str,
    /// Through which interface its kernels are measured.
    pub api: Api,
    /// What to measure on a machine of so many CUDA GPUs.
    pub cases: fn(usize) -> Vec<Case>,
}

/// An interface to devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Api {
    /// NVIDIA's.
    Cuda,
    /// That of all.
    OpenCl,
}

/// All of them, in the order of their years.
pub const ALL: [&Paper; 5] =
    [&iwai_2010::PAPER, &ul_haq_2011::PAPER, &li_2012::PAPER, &abdelrahman_2017::PAPER, &hajihassani_2019::PAPER];

/// A paper by its name.
///
/// # Errors
/// For a name that none has: which there are.
pub fn find(name: &str) -> Result<&'static Paper, String> {
    let found = ALL.into_iter().find(|paper| paper.name == name);
    found.ok_or_else(|| format!("there is no such paper; there are {}", ALL.map(|paper| paper.name).join(", ")))
}

/// The name of the paper that a table is from.
pub fn of_table(table: &str) -> &str {
    table.split_once(',').map_or(table, |(paper, _)| paper)
}

/// Everything to measure of some papers on a machine of so many CUDA GPUs.
pub fn cases(papers: &[&Paper], gpus: usize) -> Vec<Case> {
    papers.iter().flat_map(|paper| (paper.cases)(gpus)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A result is found by table, case and size.
    #[test]
    fn no_place_in_a_table_is_measured_twice() {
        let cases = cases(&ALL, 4);
        let places: BTreeSet<_> = cases.iter().map(|case| (case.table, &case.name, case.bytes)).collect();
        assert_eq!(places.len(), cases.len());
    }

    #[test]
    fn tables_tell_their_papers() {
        for paper in ALL {
            assert!((paper.cases)(2).iter().all(|case| of_table(case.table) == paper.name), "{}", paper.name);
            assert!(find(paper.name).is_ok_and(|found| found.title == paper.title));
        }
        assert!(find("li-2013").is_err_and(|why| why.contains("iwai-2010, ul-haq-2011, li-2012, abdelrahman-2017")));
    }

    #[test]
    fn all_sizes_are_whole_blocks() {
        assert!(cases(&ALL, 4).iter().all(|case| case.bytes.is_multiple_of(16) && case.bytes > 0));
    }
}
