//! Truth tables of three inputs (LUT3).
//!
//! Bit `4a + 2b + c` of a table is the output for inputs `a, b, c`: the order of PTX `lop3.b32`'s immediate and of
//! AVX-512 `VPTERNLOG`'s, so a table is the instruction's immediate unchanged.

/// A Boolean function of three inputs as a truth table; see the module for its bit order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lut3(pub u8);

impl std::fmt::Debug for Lut3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lut3({:#04x})", self.0)
    }
}

/// The table of the first input alone; the tables of the others are [`B`] and [`C`], so that an expression over
/// the three, such as `A & B ^ C`, is the table of that expression.
pub const A: u8 = 0xf0;
/// The table of the second input alone.
pub const B: u8 = 0xcc;
/// The table of the third input alone.
pub const C: u8 = 0xaa;

impl Lut3 {
    /// Constant false.
    pub const FALSE: Self = Self(0);
    /// Constant true.
    pub const TRUE: Self = Self(0xff);
    /// The first input, unchanged.
    pub const BUFFER: Self = Self(A);
    /// The complement of the first input.
    pub const NOT: Self = Self(!A);
    /// Exclusive or of the first two inputs.
    pub const XOR: Self = Self(A ^ B);
    /// And of the first two inputs.
    pub const AND: Self = Self(A & B);
    /// Or of the first two inputs.
    pub const OR: Self = Self(A | B);
    /// Exclusive or of all three inputs.
    pub const XOR3: Self = Self(A ^ B ^ C);
    /// Or of all three inputs.
    pub const OR3: Self = Self(A | B | C);

    /// The output for one input combination.
    pub fn at(self, a: bool, b: bool, c: bool) -> bool {
        self.0 >> (4 * a as u8 + 2 * b as u8 + c as u8) & 1 == 1
    }

    /// The table whose output at `(a, b, c)` is `f(a, b, c)`.
    pub fn from_fn(mut f: impl FnMut(bool, bool, bool) -> bool) -> Self {
        Self((0..8u8).fold(0, |t, i| t | (f(i & 4 != 0, i & 2 != 0, i & 1 != 0) as u8) << i))
    }

    /// Whether the output depends on input `i` (0, 1 or 2).
    pub fn depends_on(self, i: usize) -> bool {
        let (mask, shift) = [(0x0f, 4), (0x33, 2), (0x55, 1)][i];
        (self.0 >> shift ^ self.0) & mask != 0
    }

    /// The table that gives the same output when input `i` arrives complemented.
    pub fn complement_input(self, i: usize) -> Self {
        let (mask, shift) = [(0x0f, 4), (0x33, 2), (0x55, 1)][i];
        Self((self.0 & mask) << shift | self.0 >> shift & mask)
    }

    /// The table with its output complemented.
    pub fn complement(self) -> Self {
        Self(!self.0)
    }

    /// The bitwise application of the table to three words.
    pub fn apply<W: super::Word>(self, a: W, b: W, c: W) -> W {
        W::lut3(self, [a, b, c])
    }
}
