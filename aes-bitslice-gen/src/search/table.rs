//! Truth tables of at most eight inputs: 256 bits, bit `x` for the input byte `x`.

use crate::circuit::Lut3;

/// The table of a signal.
pub(super) type Table = [u64; 4];

pub(super) const FALSE: Table = [0; 4];
pub(super) const TRUE: Table = [u64::MAX; 4];

/// The table of input `i`.
pub(super) fn input(i: usize) -> Table {
    std::array::from_fn(|word| (0..64).fold(0, |bits, x| bits | ((64 * word as u64 + x) >> i & 1) << x))
}

/// The table of a gate over three signals.
#[inline(always)]
pub(super) fn lut(table: Lut3, a: Table, b: Table, c: Table) -> Table {
    // A tree of selectors: the table's bits by c, then by b, then by a.
    let bit = |i: u8| 0u64.wrapping_sub(u64::from(table.0 >> i & 1));
    let low: [u64; 4] = std::array::from_fn(|i| bit(2 * i as u8));
    let differs: [u64; 4] = std::array::from_fn(|i| low[i] ^ bit(2 * i as u8 + 1));
    std::array::from_fn(|w| {
        let by_c: [u64; 4] = std::array::from_fn(|i| low[i] ^ (differs[i] & c[w]));
        let by_b = [by_c[0] ^ ((by_c[0] ^ by_c[1]) & b[w]), by_c[2] ^ ((by_c[2] ^ by_c[3]) & b[w])];
        by_b[0] ^ ((by_b[0] ^ by_b[1]) & a[w])
    })
}

/// The inputs where three signals have the values of the bits of `i`, `4a + 2b + c`.
#[inline(always)]
pub(super) fn minterm(i: u8, a: &Table, b: &Table, c: &Table) -> Table {
    let flip = |bit: u8| u64::from(i >> bit & 1).wrapping_sub(1);
    std::array::from_fn(|w| (a[w] ^ flip(2)) & (b[w] ^ flip(1)) & (c[w] ^ flip(0)))
}

#[inline(always)]
pub(super) fn not(a: &Table) -> Table {
    a.map(|w| !w)
}

#[inline(always)]
pub(super) fn and(a: &Table, b: &Table) -> Table {
    std::array::from_fn(|w| a[w] & b[w])
}

/// `a` and not `b`.
#[inline(always)]
pub(super) fn and_not(a: &Table, b: &Table) -> Table {
    std::array::from_fn(|w| a[w] & !b[w])
}

#[inline(always)]
pub(super) fn or(a: &Table, b: &Table) -> Table {
    std::array::from_fn(|w| a[w] | b[w])
}

#[inline(always)]
pub(super) fn xor(a: &Table, b: &Table) -> Table {
    std::array::from_fn(|w| a[w] ^ b[w])
}

#[inline(always)]
pub(super) fn is_false(a: &Table) -> bool {
    (a[0] | a[1] | a[2] | a[3]) == 0
}

#[inline(always)]
pub(super) fn are_disjoint(a: &Table, b: &Table) -> bool {
    is_false(&and(a, b))
}

/// The inputs for which a signal is on.
pub(super) fn ones(a: &Table) -> impl Iterator<Item = usize> {
    let words = *a;
    (0..4).flat_map(move |w| {
        let mut rest = words[w];
        std::iter::from_fn(move || {
            let x = (rest != 0).then_some(64 * w + rest.trailing_zeros() as usize);
            rest &= rest.wrapping_sub(1);
            x
        })
    })
}
