//! What a paper says of its kernels, as a comparison of two cases that differ in one thing.

/// A case: table, name, and size.
pub type Place = (&'static str, String, u64);

/// What a paper says.
pub struct Claim {
    /// In words, with the section.
    pub says: &'static str,
    /// How many times as fast the first is as the second there, if its figures say.
    pub theirs: Option<f64>,
    /// What is compared, in words: the first to the second.
    pub compared: String,
    /// The first.
    pub first: Place,
    /// The second.
    pub second: Place,
    /// What the paper expects of the two.
    pub expected: Expected,
}

/// What a paper expects of two cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// The first is faster.
    Faster,
    /// Both are about the same.
    Same,
    /// The first is this number of times as fast, or more.
    Times(u32),
}

/// How far two rates may be apart that count as the same.
pub const SAME: f64 = 0.02;
/// How far two rates may be apart that count as about the same.
pub const ABOUT: f64 = 0.1;

impl Expected {
    /// What comes of it, where the first is this number of times as fast as the second.
    pub fn verdict(self, ratio: f64) -> &'static str {
        let is_same = (ratio - 1.0).abs() <= SAME;
        match self {
            Self::Faster if is_same => "no difference",
            Self::Faster if ratio > 1.0 => "holds",
            Self::Faster => "turned round",
            Self::Same if (ratio - 1.0).abs() <= ABOUT => "holds",
            Self::Same => "does not hold",
            Self::Times(least) if ratio >= f64::from(least) => "holds",
            Self::Times(_) => "does not hold",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let faster = [1.5, 1.01, 0.99, 0.9].map(|ratio| Expected::Faster.verdict(ratio));
        assert_eq!(faster, ["holds", "no difference", "no difference", "turned round"]);
        assert_eq!([1.08, 0.8].map(|ratio| Expected::Same.verdict(ratio)), ["holds", "does not hold"]);
        assert_eq!([120.0, 30.0].map(|ratio| Expected::Times(100).verdict(ratio)), ["holds", "does not hold"]);
    }
}
