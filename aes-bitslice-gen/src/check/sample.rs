//! How much the tests cover: everything on request, otherwise a part that includes every mode.

#[doc(hidden)]
/// Whether exhaustive tests are requested: `AES_BITSLICE_EXHAUSTIVE` is set to anything except an empty string or `0`.
pub fn exhaustive() -> bool {
    std::env::var("AES_BITSLICE_EXHAUSTIVE").is_ok_and(|value| !["", "0"].contains(&value.as_str()))
}

/// All items of a list in an [`exhaustive`] run, otherwise every third item, starting at `first`.
#[cfg(test)]
pub(super) fn all_or_some<T>(first: usize, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let (first, step) = if exhaustive() { (0, 1) } else { (first % 3, 3) };
    list.into_iter().skip(first).step_by(step)
}
