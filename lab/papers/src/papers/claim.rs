//! What a paper says that can be measured: claims, which are comparisons of two cases that differ in one thing, and other sentences.

/// A case: table, name, and size.
pub type Place = (&'static str, String, u64);

/// A paper's claim.
pub struct Claim {
    /// In words, with the section.
    pub says: &'static str,
    /// How many times as fast as the second the first is in the paper, if its figures say.
    pub theirs: Option<f64>,
    /// The comparison, in words: the first to the second.
    pub compared: String,
    /// The first; of several cases, the fastest.
    pub first: Vec<Place>,
    /// The second; of several cases, the fastest.
    pub second: Vec<Place>,
    /// The paper's expectation of the two.
    pub expected: Expected,
}

/// A paper's expectation of two cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// The first is faster.
    Faster,
    /// Both are about equally fast.
    Same,
    /// The first is this number of times as fast, or more.
    Times(u32),
}

/// How far apart two rates may be that count as equal.
pub const SAME: f64 = 0.02;
/// How far apart two rates may be that count as about equal.
pub const ABOUT: f64 = 0.1;

/// The rate of a case in Gbit/s (10^9 bits a second), if there is one.
pub type Rates<'a> = &'a dyn Fn(&Place) -> Option<f64>;

/// A sentence of a paper that is not about two cases.
pub struct Sentence {
    /// In words, with the section.
    pub says: &'static str,
    /// What follows from the paper's own figures.
    pub there: String,
    /// What was found here; `None` if something of it was not measured.
    pub here: Option<String>,
    /// The verdict, where something was found.
    pub so: &'static str,
}

impl Sentence {
    /// A sentence that holds if this is true of a number found here, which is told in these words.
    pub fn judged(
        says: &'static str,
        there: impl Into<String>,
        here: Option<f64>,
        told: impl Fn(f64) -> String,
        holds: impl Fn(f64) -> bool,
    ) -> Self {
        let so = if here.is_some_and(holds) { "holds" } else { "does not hold" };
        Self { says, there: there.into(), here: here.map(told), so }
    }

    /// A sentence about the paper's own figures only, from which a verdict follows.
    pub fn of_the_paper(says: &'static str, there: impl Into<String>, so: &'static str) -> Self {
        Self { says, there: there.into(), here: Some(String::new()), so }
    }
}

impl Claim {
    /// A claim about one case and another.
    pub fn of(
        says: &'static str,
        theirs: Option<f64>,
        compared: &str,
        first: Place,
        second: Place,
        expected: Expected,
    ) -> Self {
        Self { says, theirs, compared: compared.into(), first: vec![first], second: vec![second], expected }
    }

    /// The verdict, if the first is this number of times as fast as the second here. Only a figure that the paper has can be turned round.
    pub fn verdict(&self, ratio: f64) -> &'static str {
        let holds = match self.expected {
            Expected::Faster if (ratio - 1.0).abs() <= SAME => return "no difference",
            Expected::Faster if ratio < 1.0 && self.theirs.is_some() => return "turned round",
            Expected::Faster => ratio > 1.0,
            Expected::Same => (ratio - 1.0).abs() <= ABOUT,
            Expected::Times(least) => ratio >= f64::from(least),
        };
        if holds { "holds" } else { "does not hold" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let verdict = |expected, theirs, ratio| {
            let place = || ("a table", String::new(), 1);
            Claim::of("", theirs, "", place(), place(), expected).verdict(ratio)
        };
        let faster = |theirs| [1.5, 1.01, 0.99, 0.9].map(|ratio| verdict(Expected::Faster, theirs, ratio));
        assert_eq!(faster(Some(1.2)), ["holds", "no difference", "no difference", "turned round"]);
        assert_eq!(faster(None), ["holds", "no difference", "no difference", "does not hold"]);
        let same = [1.08, 0.8].map(|ratio| verdict(Expected::Same, None, ratio));
        assert_eq!(same, ["holds", "does not hold"]);
        let times = [120.0, 30.0].map(|ratio| verdict(Expected::Times(100), Some(100.0), ratio));
        assert_eq!(times, ["holds", "does not hold"]);
    }
}
