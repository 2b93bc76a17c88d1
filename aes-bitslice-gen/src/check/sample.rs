//! How much the tests cover: everything on request, otherwise a part that includes every mode.

#[doc(hidden)]
/// Whether exhaustive tests are requested: `AES_BITSLICE_EXHAUSTIVE` is set to anything except an empty string or `0`.
pub fn exhaustive() -> bool {
    std::env::var("AES_BITSLICE_EXHAUSTIVE").is_ok_and(|value| !["", "0"].contains(&value.as_str()))
}

#[doc(hidden)]
/// The number of the sample, from the variable `AES_BITSLICE_TURN`, else 0: with consecutive numbers each case has its turn. `.ci/run` takes
/// one from the commit.
pub fn turn() -> usize {
    std::env::var("AES_BITSLICE_TURN").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// All items of a list in an [`exhaustive`] run, otherwise every third item, in the first sample starting at `first`.
#[cfg(test)]
pub(super) fn all_or_some<T>(first: usize, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let (first, step) = if exhaustive() { (0, 1) } else { ((first + turn()) % 3, 3) };
    list.into_iter().skip(first).step_by(step)
}
