//! Bases of a column over GF(2): the representation in which a kernel takes the 32 bits of a round key's column.
//!
//! A round key need not be added where FIPS 197 adds it. A bit added to an inner value of a linear layer reaches a set of the layer's
//! outputs. Where 32 such sets span all outputs, the sums of their bits can be any round key. The bits added there are then the round key
//! in another basis, computed once per key.

use crate::basis::Basis;

/// An invertible change of basis of a column: bit `i` of the word that a kernel takes is the parity of `rows[i]` AND the column. Byte `r`
/// of the column, in row `r`, is bits `8r` to `8r + 7`, least significant first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ColumnBasis {
    rows: [u32; 32],
}

/// Some rows sum to zero, so different columns could not be distinguished.
#[derive(Debug, PartialEq, Eq)]
pub struct DependentRows;

impl std::fmt::Display for DependentRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the rows are linearly dependent: a basis needs 32 independent ones")
    }
}

impl std::error::Error for DependentRows {}

impl ColumnBasis {
    /// The basis with these rows, if they are linearly independent.
    pub fn new(rows: [u32; 32]) -> Result<Self, DependentRows> {
        solved(rows, rows)?;
        Ok(Self { rows })
    }

    /// The basis of words whose product with a matrix is the column in `basis`: bit `i` of the column is the parity of `images[i]` AND the
    /// word.
    pub fn with_product(images: [u32; 32], basis: Basis) -> Result<Self, DependentRows> {
        Ok(Self { rows: solved(images, Self::from(basis).rows)? })
    }

    /// The rows.
    pub fn rows(&self) -> [u32; 32] {
        self.rows
    }

    /// The word for a column.
    pub fn apply(&self, column: u32) -> u32 {
        (0..32).fold(0, |word, i| word | ((self.rows[i] & column).count_ones() & 1) << i)
    }

    /// The words for a round key, column by column, as bytes.
    pub fn apply_all(&self, bytes: [u8; 16]) -> [u8; 16] {
        let mut out = bytes;
        for column in out.as_chunks_mut().0 {
            *column = self.apply(u32::from_le_bytes(*column)).to_le_bytes();
        }
        out
    }
}

/// Each byte in this basis, independently.
impl From<Basis> for ColumnBasis {
    fn from(basis: Basis) -> Self {
        Self { rows: std::array::from_fn(|i| u32::from(basis.rows()[i % 8]) << (8 * (i / 8))) }
    }
}

/// The matrix M with `left` M = `right`, by Gauss-Jordan elimination.
fn solved(mut left: [u32; 32], mut right: [u32; 32]) -> Result<[u32; 32], DependentRows> {
    for bit in 0..32 {
        let pivot = (bit..32).find(|&i| left[i] >> bit & 1 == 1).ok_or(DependentRows)?;
        left.swap(bit, pivot);
        right.swap(bit, pivot);
        for i in (0..32).filter(|&i| i != bit) {
            if left[i] >> bit & 1 == 1 {
                left[i] ^= left[bit];
                right[i] ^= right[bit];
            }
        }
    }
    Ok(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row has its own bit and some bits of the rows before it, shuffled.
    fn rows() -> [u32; 32] {
        std::array::from_fn(|i| {
            let row = (7 * i + 3) % 32;
            1 << row | 0x9e37_79b9u32.rotate_left(row as u32) & ((1 << row) - 1)
        })
    }

    #[test]
    fn bytes_are_columns() {
        let basis = Basis::new([56, 75, 138, 66, 165, 28, 69, 161]).unwrap();
        let bytes = std::array::from_fn(|i| (31 * i + 5) as u8);
        assert_eq!(ColumnBasis::from(basis).apply_all(bytes), basis.apply_all(bytes));
        assert_eq!(ColumnBasis::from(Basis::STANDARD).apply_all(bytes), bytes);
    }

    #[test]
    fn a_product_of_the_word_is_the_column() {
        let basis = Basis::new([56, 75, 138, 66, 165, 28, 69, 161]).unwrap();
        let images = ColumnBasis::new(rows()).unwrap();
        let words = ColumnBasis::with_product(images.rows(), basis).unwrap();
        for column in (0..32).map(|i| 1 << i).chain([0, u32::MAX, 0x0123_4567]) {
            assert_eq!(images.apply(words.apply(column)), ColumnBasis::from(basis).apply(column));
        }
        assert_eq!(ColumnBasis::new(words.rows()), Ok(words));
    }

    #[test]
    fn dependent_rows_are_refused() {
        let mut dependent = rows();
        dependent[9] = dependent[3] ^ dependent[30];
        assert_eq!(ColumnBasis::new(dependent), Err(DependentRows));
        assert_eq!(ColumnBasis::with_product(dependent, Basis::STANDARD), Err(DependentRows));
    }
}
