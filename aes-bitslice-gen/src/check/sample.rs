//! How much tests do: all there is to do where they are asked for it, else a part that has every mode.

#[doc(hidden)]
/// Whether tests are asked to do all there is to do: `AES_BITSLICE_EXHAUSTIVE` is set, to anything but nothing and `0`.
pub fn exhaustive() -> bool {
    std::env::var("AES_BITSLICE_EXHAUSTIVE").is_ok_and(|value| !["", "0"].contains(&value.as_str()))
}

/// Of a list all in an [`exhaustive`] run, else every third, from this one on.
#[cfg(test)]
pub(super) fn all_or_some<T>(first: usize, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let (first, step) = if exhaustive() { (0, 1) } else { (first % 3, 3) };
    list.into_iter().skip(first).step_by(step)
}
