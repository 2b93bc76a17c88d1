//! All papers, and what is measured of them.

use crate::case::Case;
use crate::papers::paper::Paper;
use crate::papers::{
    abdelrahman_2017, extended, hajihassani_2019, iwai_2010, key_stream, layers, li_2012, several_gpus, ul_haq_2011,
};

/// All papers, by year, and parts of two that may be of other runs: what Ul Haq et al. extend their kernels to; and of Hajihassani et al. the
/// key stream made in advance, what layers cost, and several GPUs, which are measured where there are several.
pub const ALL: [&Paper; 9] = [
    &iwai_2010::PAPER,
    &ul_haq_2011::PAPER,
    &li_2012::PAPER,
    &abdelrahman_2017::PAPER,
    &hajihassani_2019::PAPER,
    &extended::PAPER,
    &key_stream::PAPER,
    &layers::PAPER,
    &several_gpus::PAPER,
];

/// Finds a paper by its name.
///
/// # Errors
/// For an unknown name: which names there are.
pub fn find(name: &str) -> Result<&'static Paper, String> {
    let found = ALL.into_iter().find(|paper| paper.name == name);
    found.ok_or_else(|| format!("there is no such paper; there are {}", ALL.map(|paper| paper.name).join(", ")))
}

/// Everything to measure of some papers on a machine with this number of CUDA GPUs.
pub fn cases(papers: &[&Paper], gpus: usize) -> Vec<Case> {
    papers.iter().flat_map(|paper| (paper.cases)(gpus)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::paper_of;
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
            assert!((paper.cases)(2).iter().all(|case| paper_of(case.table) == paper.name), "{}", paper.name);
            assert!(find(paper.name).is_ok_and(|found| found.title == paper.title));
        }
        assert!(find("li-2013").is_err_and(|why| why.contains("iwai-2010, ul-haq-2011, li-2012, abdelrahman-2017")));
    }

    /// Everything that is compared is measured.
    #[test]
    fn claims_are_of_cases() {
        let cases = cases(&ALL, 4);
        let places: BTreeSet<_> = cases.iter().map(|case| (case.table, case.name.clone(), case.bytes)).collect();
        for paper in ALL {
            for claim in (paper.claims)() {
                assert!(!claim.first.is_empty() && !claim.second.is_empty());
                for place in claim.first.into_iter().chain(claim.second) {
                    assert!(places.contains(&place), "{}: {place:?}", claim.says);
                }
            }
            (paper.sentences)(&|place| {
                assert!(places.contains(place), "{place:?}");
                None
            });
        }
    }

    #[test]
    fn all_sizes_are_whole_blocks() {
        assert!(cases(&ALL, 4).iter().all(|case| case.bytes.is_multiple_of(16) && case.bytes > 0));
    }
}
