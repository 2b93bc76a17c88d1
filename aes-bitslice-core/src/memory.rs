//! Memory for as many values as a caller asks for, such as a tag for each of its messages: an error where there is none. `vec!`, `collect`
//! and `push` end the process instead. They are for what has the same size in every call.

use crate::count::counted;
use std::fmt;

/// There is no memory for this many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory {
    /// Bytes that were asked for at once; `usize::MAX` for more than can be counted.
    pub bytes: usize,
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not enough memory for {}: free some of it, or use less", counted(self.bytes, "byte"))
    }
}

impl std::error::Error for NoMemory {}

/// An empty vector with room for `count` values.
pub fn room<T>(count: usize) -> Result<Vec<T>, NoMemory> {
    let mut all = Vec::new();
    let reserved = all.try_reserve_exact(count);
    reserved.map_err(|_| NoMemory { bytes: count.saturating_mul(size_of::<T>()) })?;
    Ok(all)
}

/// A vector of `count` times the value.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, NoMemory> {
    let mut all = room(count)?;
    all.resize(count, value);
    Ok(all)
}

/// A vector of all values.
pub fn collected<T>(values: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>) -> Result<Vec<T>, NoMemory> {
    let values = values.into_iter();
    let mut all = room(values.len())?;
    all.extend(values);
    Ok(all)
}

/// A vector of all values, or the first error.
pub fn tried<T, E: From<NoMemory>>(
    values: impl IntoIterator<Item = Result<T, E>, IntoIter: ExactSizeIterator>,
) -> Result<Vec<T>, E> {
    let values = values.into_iter();
    let mut all = room(values.len())?;
    for value in values {
        all.push(value?);
    }
    Ok(all)
}

/// Adds values to a vector that grows, of which nobody knows how long it becomes.
pub fn append<T>(
    all: &mut Vec<T>,
    values: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
) -> Result<(), NoMemory> {
    let values = values.into_iter();
    let reserved = all.try_reserve(values.len());
    reserved.map_err(|_| NoMemory { bytes: (all.len() + values.len()).saturating_mul(size_of::<T>()) })?;
    all.extend(values);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_an_error() {
        assert_eq!((filled(7_u8, 3), collected([1_u64, 2])), (Ok(vec![7; 3]), Ok(vec![1, 2])));
        assert!(room::<u32>(5).is_ok_and(|all| all.is_empty() && all.capacity() >= 5));
        let bytes = 1 << 62; // more than processors address
        assert_eq!((room::<u8>(bytes), filled(0_u8, bytes)), (Err(NoMemory { bytes }), Err(NoMemory { bytes })));
        assert_eq!(collected((0..1_usize << 62).map(|_| 0_u8)), Err(NoMemory { bytes }));
        assert_eq!(room::<u64>(bytes), Err(NoMemory { bytes: usize::MAX }));
        assert_eq!(tried((0..3).map(Ok::<u8, NoMemory>)), Ok(vec![0, 1, 2]));
        let refused = [Ok(1), Err(NoMemory { bytes: 5 }), Err(NoMemory { bytes: 6 })];
        assert_eq!(tried(refused), Err(NoMemory { bytes: 5 }));
        assert_eq!(tried((0..1_usize << 62).map(|_| Ok(0_u8))), Err(NoMemory { bytes }));
        let mut all = vec![1];
        assert_eq!((append(&mut all, [2, 3]), all), (Ok(()), vec![1, 2, 3]));
        assert_eq!(NoMemory { bytes: 1 }.to_string(), "not enough memory for 1 byte: free some of it, or use less");
    }
}
