//! How much the tests of checks do: all there is to do where they are asked for it, else a part.

/// Of a list all where `AES_BITSLICE_EXHAUSTIVE` is set, else every third, from this one on.
pub fn all_or_some<T>(first: usize, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let is_exhaustive =
        std::env::var("AES_BITSLICE_EXHAUSTIVE").is_ok_and(|value| !["", "0"].contains(&value.as_str()));
    let (first, step) = if is_exhaustive { (0, 1) } else { (first % 3, 3) };
    list.into_iter().skip(first).step_by(step)
}
