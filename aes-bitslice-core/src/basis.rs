//! Bases of a byte over GF(2): every byte of the state is kept as z = Q x.
//!
//! Between rounds, nothing requires bytes in the standard's representation. SubBytes and MixColumns may work on z
//! instead, with round keys in the same basis: an S-box whose inputs and outputs are sums of bits that it needs anyway
//! loses most of its first and last linear layers, and MixColumns gets slightly more expensive.

use std::fmt;
use std::str::FromStr;

/// An invertible change of basis: bit `i` of z is the parity of `rows[i] & x`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Basis {
    rows: [u8; 8],
    /// Bit `i` of x is the parity of `inverse[i] & z`.
    inverse: [u8; 8],
}

/// The reason why rows are not a basis.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoBasis {
    /// Some rows sum to zero, so different bytes could not be distinguished.
    Dependent([u8; 8]),
    /// The text is not a list of eight bytes.
    Text(String),
}

impl fmt::Display for NoBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dependent(rows) => {
                write!(f, "the rows {rows:?} are linearly dependent: a basis needs eight independent ones")
            }
            Self::Text(text) => {
                write!(f, "`{text}` is no basis: eight bytes are written [1, 2, 4, 8, 16, 32, 64, 128]")
            }
        }
    }
}

impl std::error::Error for NoBasis {}

impl Basis {
    /// The standard basis of FIPS 197: z = x.
    pub const STANDARD: Self = {
        let units = [1, 2, 4, 8, 16, 32, 64, 128];
        Self { rows: units, inverse: units }
    };

    /// The basis with these rows, if they are linearly independent.
    pub fn new(rows: [u8; 8]) -> Result<Self, NoBasis> {
        // Gauss-Jordan elimination: the operations that turn the rows into unit vectors turn unit vectors into the
        // inverse.
        let (mut left, mut right) = (rows, Self::STANDARD.rows);
        for bit in 0..8 {
            let pivot = (bit..8).find(|&i| left[i] >> bit & 1 == 1).ok_or(NoBasis::Dependent(rows))?;
            left.swap(bit, pivot);
            right.swap(bit, pivot);
            for i in (0..8).filter(|&i| i != bit) {
                if left[i] >> bit & 1 == 1 {
                    left[i] ^= left[bit];
                    right[i] ^= right[bit];
                }
            }
        }
        Ok(Self { rows, inverse: right })
    }

    /// The rows: bit `i` of z is the parity of `rows()[i] & x`.
    pub fn rows(&self) -> [u8; 8] {
        self.rows
    }

    /// Returns z for a byte x.
    pub fn apply(&self, byte: u8) -> u8 {
        product(&self.rows, byte)
    }

    /// Returns the byte x for a z.
    pub fn invert(&self, byte: u8) -> u8 {
        product(&self.inverse, byte)
    }

    /// Converts a state or round key, byte by byte, from the standard basis to this one.
    pub fn apply_all(&self, bytes: [u8; 16]) -> [u8; 16] {
        bytes.map(|byte| self.apply(byte))
    }

    /// Converts a state or round key, byte by byte, from this basis to the standard one.
    pub fn invert_all(&self, bytes: [u8; 16]) -> [u8; 16] {
        bytes.map(|byte| self.invert(byte))
    }

    /// The matrix that converts a byte from this basis to another: bit `i` of the result is the parity of row `i` AND
    /// the byte.
    pub fn rows_into(&self, other: Self) -> [u8; 8] {
        // Column j is the image of unit vector j.
        let columns: [u8; 8] = std::array::from_fn(|j| other.apply(self.invert(1 << j)));
        std::array::from_fn(|i| (0..8).fold(0, |row, j| row | (columns[j] >> i & 1) << j))
    }
}

fn product(rows: &[u8; 8], byte: u8) -> u8 {
    (0..8).fold(0, |z, i| z | ((rows[i] & byte).count_ones() as u8 & 1) << i)
}

impl Default for Basis {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// The rows in decimal, `[1, 2, 4, 8, 16, 32, 64, 128]`.
impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.rows)
    }
}

impl fmt::Debug for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Basis({self})")
    }
}

impl FromStr for Basis {
    type Err = NoBasis;

    fn from_str(text: &str) -> Result<Self, NoBasis> {
        let wrong = || NoBasis::Text(text.into());
        let list = text.trim().strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or_else(wrong)?;
        let rows: Vec<u8> = list.split(',').map(|n| n.trim().parse()).collect::<Result<_, _>>().map_err(|_| wrong())?;
        Self::new(rows.try_into().map_err(|_| wrong())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [u8; 8] = [56, 75, 138, 66, 165, 28, 69, 161];

    #[test]
    fn a_basis_and_its_inverse_undo_each_other() {
        for basis in [Basis::STANDARD, Basis::new(ROWS).unwrap()] {
            assert!((0..=255).all(|x| basis.invert(basis.apply(x)) == x));
            let state = std::array::from_fn(|i| 17 * i as u8);
            assert_eq!(basis.invert_all(basis.apply_all(state)), state);
            assert_eq!(basis.rows_into(basis), Basis::STANDARD.rows());
            assert_eq!(Basis::STANDARD.rows_into(basis), basis.rows());
        }
        let basis = Basis::new(ROWS).unwrap();
        assert!((0..8).all(|i| (0..=255u8).all(|x| basis.apply(x) >> i & 1 == (x & ROWS[i]).count_ones() as u8 & 1)));
        assert!((0..=255).all(|x| Basis::STANDARD.apply(x) == x));
    }

    #[test]
    fn dependent_rows_and_other_texts_are_refused() {
        let dependent = [1, 2, 3, 8, 16, 32, 64, 128];
        assert_eq!(Basis::new(dependent), Err(NoBasis::Dependent(dependent)));
        let basis = Basis::new(ROWS).unwrap();
        assert_eq!(basis.to_string().parse(), Ok(basis));
        for text in ["", "[]", "[1, 2, 4]", "1, 2, 4, 8, 16, 32, 64, 128", "[1, 2, 4, 8, 16, 32, 64, 256]"] {
            assert_eq!(text.parse::<Basis>(), Err(NoBasis::Text(text.into())));
        }
        assert_eq!("[1, 2, 3, 8, 16, 32, 64, 128]".parse::<Basis>(), Err(NoBasis::Dependent(dependent)));
    }
}
