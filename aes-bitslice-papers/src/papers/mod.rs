//! What the papers printed, and the cases that bring their tables back.
//!
//! Figures are the papers' own, each with its table; what they show in pictures only is not here. Rates are in Gbit/s, 10^9
//! bits a second, and sizes in the binary units that the papers write as KB and MB.

pub mod abdelrahman_2017;
pub mod hajihassani_2019;
pub mod iwai_2010;
pub mod li_2012;

use crate::case::Case;

/// What a paper is, in the words of its first page.
pub struct Paper {
    /// Authors and year.
    pub authors: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where it appeared.
    pub at: &'static str,
}

/// Everything to measure on a machine of so many GPUs.
pub fn cases(gpus: usize) -> Vec<Case> {
    let mut cases = iwai_2010::cases();
    cases.extend(li_2012::cases());
    cases.extend(abdelrahman_2017::cases());
    cases.extend(hajihassani_2019::cases(gpus));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A result is found by table, case and size.
    #[test]
    fn no_place_in_a_table_is_measured_twice() {
        let cases = cases(4);
        let places: BTreeSet<_> = cases.iter().map(|case| (case.table, &case.name, case.bytes)).collect();
        assert_eq!(places.len(), cases.len());
    }

    #[test]
    fn all_sizes_are_whole_blocks() {
        assert!(cases(4).iter().all(|case| case.bytes.is_multiple_of(16) && case.bytes > 0));
    }
}
