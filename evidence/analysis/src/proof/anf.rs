//! Bits as formal sums over GF(2): the algebraic normal form of a function of unknown bits, kept as a fingerprint of 128 bits.
//!
//! A bit is a sum of *terms*. Terms are 1, the unknown bits (of keys and data), and products of two or more inputs of one *cell*: eight
//! bits that go through an S-box together. An S-box computes a sum of such products; a sum of these goes into the next S-box, whose eight
//! inputs are again a cell. So a bit is never multiplied out further than one S-box deep, and everything that a cipher computes has one
//! form, however it is computed.
//!
//! Only the fingerprint of a sum is kept: the sum (XOR) of numbers of 127 bits, one for each term. They are drawn anew in every run from
//! the system's random numbers: one for each unknown bit, each cell, and each product of inputs. The number of a product in a cell is the
//! product of the two numbers in GF(2^128), without the last bit. Equal sums have equal fingerprints. Two different sums have equal ones
//! with a probability below 2^-126, whatever they are, and among N sums some two with less than N² / 2^127. (This is polynomial identity
//! testing: Schwartz, JACM 1980.) An unknown bit that is an index, such as a bit of a tile's number, may choose between two sums: the choice
//! is one of them plus the product of their sum with that bit, whose number is the product of numbers, without the last bit. With the bit's
//! number drawn at random, the product of a sum that is not 0 is uniformly distributed, so that each such bit adds 2^-127 to the
//! probability. Hash kernels multiply any bits (`Bit::times`): then a bit is a polynomial in unknown bits, and the numbers of its terms are
//! products in GF(2^128), whose 1 is the term 1. Two different polynomials of degree d have equal fingerprints with a probability of at most
//! d / 2^127. Equal sums are equal functions. The converse does not hold: different sums can be the same function, and
//! a correct kernel would then not be recognised as one.

use aes_bitslice_core::basis::Basis;
use polyval::hazmat::FieldElement;
use std::collections::HashMap;
use std::num::NonZeroU32;

/// A bit: a sum of terms, as its fingerprint.
#[derive(Clone, Copy, Debug)]
pub struct Bit {
    /// The fingerprint, low half first: as one number of 128 bits, it would make each bit larger by a third.
    halves: [u64; 2],
    /// The function of a cell's inputs that it was computed as, if it was. Not part of what the bit is: it is lost in sums with bits of other
    /// cells, and does not come back where another sum takes these away again.
    of: Option<OfCell>,
}

/// The last bit of a fingerprint is that of the constant 1: all other terms have fingerprints without it.
const ONE: u128 = 1 << 127;

impl PartialEq for Bit {
    fn eq(&self, other: &Self) -> bool {
        self.halves == other.halves
    }
}

impl Eq for Bit {}

impl std::hash::Hash for Bit {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.halves.hash(state);
    }
}

impl Bit {
    /// The constant 0.
    pub const ZERO: Self = Self::of(0);
    /// The constant 1.
    pub const ONE: Self = Self::of(ONE);

    const fn of(fingerprint: u128) -> Self {
        Self { halves: [fingerprint as u64, (fingerprint >> 64) as u64], of: None }
    }

    fn fingerprint(self) -> u128 {
        u128::from(self.halves[0]) | u128::from(self.halves[1]) << 64
    }

    /// The term that a number stands for, except for its last bit.
    fn of_number(number: u128) -> Self {
        Self::of(number & !ONE)
    }

    /// A constant.
    pub fn constant(bit: bool) -> Self {
        if bit { Self::ONE } else { Self::ZERO }
    }

    /// The constant that it is, if it is one.
    pub fn as_constant(self) -> Option<bool> {
        match self.fingerprint() {
            0 => Some(false),
            ONE => Some(true),
            _ => None,
        }
    }

    /// The unknown bit that this random number stands for.
    pub(crate) fn of_choice(number: u128) -> Self {
        Self::of_number(number)
    }

    /// The first of two bits where the unknown bit of this random number is 1, else the second: a sum, and the product of another with the
    /// unknown bit.
    pub(crate) fn choice(number: u128, if_set: Self, if_clear: Self) -> Self {
        let (sum, constant) = (if_set ^ if_clear).split();
        let product = FieldElement::from(sum.fingerprint()) * FieldElement::from(number);
        if_clear ^ Self::of_number(product.into()) ^ if constant { Self::of_number(number) } else { Self::ZERO }
    }

    /// The product of two bits, which need not go through one S-box. A power of a bit is kept as that power, although it is the bit.
    pub(crate) fn times(self, other: Self) -> Self {
        match (self.as_constant(), other.as_constant()) {
            (Some(false), _) | (_, Some(false)) => Self::ZERO,
            (Some(true), _) => other,
            (_, Some(true)) => self,
            // In POLYVAL's form of the field, the product of a and b is a b x^-128, and `ONE` is x^127.
            _ => Self::of(
                (FieldElement::from(times_x(self.fingerprint())) * FieldElement::from(other.fingerprint())).into(),
            ),
        }
    }

    /// The bit without its constant, and whether that is 1.
    fn split(self) -> (Self, bool) {
        let (all, constant) = (self.fingerprint(), self.fingerprint() & ONE != 0);
        (Self { of: self.of.map(|of| of.complement_if(constant)), ..Self::of_number(all) }, constant)
    }
}

/// Bits that are multiplied with many others: their products with all polynomials of degree 3, so that a sum of products takes four bits of
/// the others' fingerprints at a time.
pub(crate) struct Multiples(Vec<[u128; 16]>);

impl Multiples {
    pub(crate) fn of(bits: &[Bit]) -> Self {
        let multiples = |bit: &Bit| {
            let mut all = [0; 16];
            let mut power = bit.fingerprint();
            for i in 0..4 {
                (0..1 << i).for_each(|lower| all[lower | 1 << i] = all[lower] ^ power);
                power = times_x(power);
            }
            all
        };
        Self(bits.iter().map(multiples).collect())
    }

    /// The sum of the products with other bits, each with the bit of this number.
    pub(crate) fn sum(&self, others: &[(usize, Bit)]) -> Bit {
        let mut sum = 0;
        for i in (0..32).rev() {
            sum = (0..4).fold(sum, |sum, _| times_x(sum));
            for (number, other) in others {
                sum ^= self.0[*number][(other.fingerprint() >> (4 * i)) as usize & 15];
            }
        }
        // As in `Bit::times`, where `ONE` is x^127.
        Bit::of((FieldElement::from(times_x(sum)) * FieldElement::from(1)).into())
    }
}

fn times_x(number: u128) -> u128 {
    FieldElement::from(number).mulx().into()
}

impl std::ops::BitXor for Bit {
    type Output = Self;
    fn bitxor(self, other: Self) -> Self {
        let halves = [0, 1].map(|i| self.halves[i] ^ other.halves[i]);
        let of = match (self.as_constant(), other.as_constant()) {
            (Some(constant), _) => other.of.map(|of| of.complement_if(constant)),
            (_, Some(constant)) => self.of.map(|of| of.complement_if(constant)),
            _ => None,
        };
        Self { halves, of }
    }
}

impl std::ops::BitXorAssign for Bit {
    fn bitxor_assign(&mut self, other: Self) {
        *self = *self ^ other;
    }
}

/// A function of the eight inputs of a cell: bit `x % 64` of word `x / 64` is its value where input `i` is bit `i` of `x`.
type Table = [u64; 4];

const NONE: Table = [0; 4];

fn complement_if(table: Table, complement: bool) -> Table {
    if complement { table.map(|word| !word) } else { table }
}

/// The sum of the inputs in `mask`.
fn sum_of_inputs(mask: u8) -> Table {
    let mut table = NONE;
    for x in 0..256 {
        table[x / 64] |= u64::from((x as u8 & mask).count_ones() & 1) << (x % 64);
    }
    table
}

/// Random numbers of the products of two or more inputs, prepared for summing over the products in the algebraic normal form of a table.
struct Products(Box<[[u128; 256]; 32]>);

impl Products {
    fn new(random: &mut Random) -> Self {
        // The sum for the table that is 1 for a single `x`: the products in its normal form are those of all inputs that are set in `x`,
        // and any others.
        let mut of_point: [u128; 256] =
            std::array::from_fn(|product| if product.count_ones() > 1 { random.number() } else { 0 });
        for input in 0..8 {
            for x in (0..256).filter(|x| x >> input & 1 == 0) {
                of_point[x] ^= of_point[x | 1 << input];
            }
        }
        let mut of_bytes = vec![[0; 256]; 32];
        for (at, sums) in of_bytes.iter_mut().enumerate() {
            for byte in 1..256usize {
                let point = 8 * at + byte.trailing_zeros() as usize;
                sums[byte] = sums[byte & (byte - 1)] ^ of_point[point];
            }
        }
        Self(of_bytes.try_into().expect("32 bytes of a table"))
    }

    /// The sum of the numbers of the products in the normal form of a table.
    fn sum(&self, table: Table) -> FieldElement {
        let bytes = table.iter().flat_map(|word| word.to_le_bytes());
        bytes.zip(self.0.iter()).fold(0, |sum, (byte, sums)| sum ^ sums[usize::from(byte)]).into()
    }
}

/// The system's random numbers, fetched many at a time.
#[derive(Default)]
struct Random(Vec<u128>);

impl Random {
    fn number(&mut self) -> u128 {
        if self.0.is_empty() {
            let mut bytes = [[0; 16]; 256];
            getrandom::fill(bytes.as_flattened_mut()).expect("random numbers of the system");
            self.0.extend(bytes.map(u128::from_le_bytes));
        }
        self.0.pop().expect("some are left")
    }
}

/// Tables of three inputs that are sums (bit `4a + 2b + c` is the output for `a, b, c`): the inputs that they sum, and 1.
const fn affine(which: u8) -> u8 {
    let mut table = 0;
    let mut i = 0;
    while i < 8 {
        table |= ((i & which & 7).count_ones() as u8 & 1 ^ which >> 3) << i;
        i += 1;
    }
    table
}

/// Which sum a table of three inputs is, if it is one.
const SUMS: [Option<u8>; 256] = {
    let mut sums = [None; 256];
    let mut which = 0;
    while which < 16 {
        sums[affine(which) as usize] = Some(which);
        which += 1;
    }
    sums
};

/// The sum of some of three bits, and of 1.
fn sum_of(which: u8, [a, b, c]: [Bit; 3]) -> Bit {
    let chosen = |bit: Bit, n: u8| if which >> n & 1 == 1 { bit } else { Bit::ZERO };
    chosen(a, 2) ^ chosen(b, 1) ^ chosen(c, 0) ^ Bit::constant(which >> 3 == 1)
}

/// Functions of the inputs of a cell, whichever it is, each with what its bit is computed from. Few are computed in all cells, so that a bit
/// is remembered as the number of one.
struct Functions {
    numbers: Products,
    all: Vec<Prepared>,
    numbered: HashMap<Table, u32, Fingerprints>,
    /// The last table of three bits, what it was applied to, and the result: the bits of a word have the same, one after the other.
    last: Option<(u8, [Function; 3], Function)>,
    /// The sums of inputs, by mask.
    sums: Vec<Function>,
    of_bytes: HashMap<Byte, [Function; 8]>,
}

/// A table of bytes, applied to eight sums of a cell's inputs, least significant bit first: their masks, and where 1 is added.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Byte {
    table: [u8; 256],
    masks: [u8; 8],
    constants: u8,
}

/// A function: twice its number, and 1 more for its complement. Those with numbers are 0 where all inputs are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Function(u32);

impl Function {
    /// The first that gets a number.
    const ZERO: Self = Self(0);

    fn number(self) -> usize {
        self.0 as usize / 2
    }

    fn is_complement(self) -> bool {
        self.0 % 2 == 1
    }

    fn complement_if(self, complement: bool) -> Self {
        Self(self.0 ^ u32::from(complement))
    }
}

/// A function of the inputs of a cell, by its number. Cells are numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OfCell {
    cell: NonZeroU32,
    function: Function,
}

impl OfCell {
    fn complement_if(self, complement: bool) -> Self {
        Self { function: self.function.complement_if(complement), ..self }
    }
}

struct Prepared {
    table: Table,
    /// The sum of the numbers of its products.
    products: FieldElement,
    /// The inputs that are terms.
    single: u8,
}

impl Functions {
    fn new(numbers: Products) -> Self {
        let mut functions = Self {
            numbers,
            all: vec![],
            numbered: HashMap::default(),
            last: None,
            sums: vec![],
            of_bytes: HashMap::new(),
        };
        functions.sums = (0..=255).map(|mask| functions.of(sum_of_inputs(mask))).collect();
        functions
    }

    fn of(&mut self, table: Table) -> Function {
        let complement = table[0] & 1 == 1;
        let table = complement_if(table, complement);
        let number = *self.numbered.entry(table).or_insert_with(|| {
            // Terms of one input, by the definition of the normal form.
            let single = (0..8).fold(0, |single, input| {
                let x = 1 << input;
                single | ((table[x / 64] >> (x % 64) & 1) as u8) << input
            });
            self.all.push(Prepared { table, products: self.numbers.sum(table), single });
            u32::try_from(self.all.len() - 1).ok().filter(|number| *number < 1 << 31).expect("few functions")
        });
        Function(2 * number).complement_if(complement)
    }

    fn apply(&mut self, table: u8, operands: [Function; 3]) -> Function {
        if let Some((last, of, function)) = self.last
            && (last, of) == (table, operands)
        {
            return function;
        }
        let tables = operands.map(|one| complement_if(self.all[one.number()].table, one.is_complement()));
        let function = self.of(apply(table, tables));
        self.last = Some((table, operands, function));
        function
    }

    /// The bits of a byte of a table, least significant first.
    fn of_byte(&mut self, asked: Byte) -> [Function; 8] {
        if let Some(known) = self.of_bytes.get(&asked) {
            return *known;
        }
        let Byte { table, masks, constants } = &asked;
        let mut outputs = [NONE; 8];
        for x in 0..256 {
            let changes = (0..8).fold(0, |byte, i| byte | ((masks[i] & x as u8).count_ones() as u8 & 1) << i);
            let output = table[usize::from(constants ^ changes)];
            for (i, table) in outputs.iter_mut().enumerate() {
                table[x / 64] |= u64::from(output >> i & 1) << (x % 64);
            }
        }
        let functions = outputs.map(|output| self.of(output));
        self.of_bytes.insert(asked, functions);
        functions
    }
}

/// Applies a table of three bits to functions of a cell.
fn apply(table: u8, operands: [Table; 3]) -> Table {
    std::array::from_fn(|n| {
        let minterm = |i: u8| {
            let literal =
                |operand: usize| if i >> (2 - operand) & 1 == 1 { operands[operand][n] } else { !operands[operand][n] };
            literal(0) & literal(1) & literal(2)
        };
        (0..8).filter(|i| table >> i & 1 == 1).fold(0, |word, i| word | minterm(i))
    })
}

/// Eight bits that go through an S-box together.
struct Cell {
    /// The bits, without constants.
    inputs: [Bit; 8],
    /// The factor for the numbers of products here.
    number: FieldElement,
}

/// All cells of a computation, and the fingerprints of what is multiplied in them.
pub struct Cells {
    random: Random,
    functions: Functions,
    cells: Vec<Cell>,
    /// The sums of its inputs that a cell is known by.
    known_by: Vec<u8>,
    /// Those sums of each cell, by half of their fingerprint.
    sums: HashMap<u64, (NonZeroU32, u8), Fingerprints>,
}

/// A computation that cannot be brought into the one form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoCell;

impl Cells {
    /// No cells yet, with fresh random numbers. A cell is known by every sum of its inputs.
    pub fn new() -> Self {
        Self::known_by((1..=255).collect())
    }

    /// No cells yet, for bytes that reach S-boxes in the standard basis and in these: a cell is known by its bits in the bases, which takes
    /// a fraction of the memory.
    pub fn in_bases(bases: &[Basis]) -> Self {
        let mut known_by: Vec<u8> = [&[Basis::STANDARD], bases].concat().iter().flat_map(Basis::rows).collect();
        known_by.sort_unstable();
        known_by.dedup();
        Self::known_by(known_by)
    }

    fn known_by(known_by: Vec<u8>) -> Self {
        let mut random = Random::default();
        Self {
            functions: Functions::new(Products::new(&mut random)),
            random,
            cells: vec![],
            known_by,
            sums: HashMap::default(),
        }
    }

    /// An unknown bit.
    pub fn unknown(&mut self) -> Bit {
        Bit::of_number(self.random.number())
    }

    /// The random number of a new unknown bit that can choose between others ([`Bit::of_choice`], [`Bit::choice`]).
    pub(crate) fn random_number(&mut self) -> u128 {
        self.random.number()
    }

    /// The number of cells so far.
    pub fn count(&self) -> usize {
        self.cells.len()
    }

    fn cell(&self, number: NonZeroU32) -> &Cell {
        &self.cells[number.get() as usize - 1]
    }

    /// The bit that a function of a cell's inputs gives.
    fn bit(&self, of: OfCell) -> Bit {
        let Cell { inputs, number } = self.cell(of.cell);
        let Prepared { products, single, .. } = &self.functions.all[of.function.number()];
        let sum = Bit::of_number((*products * *number).into()) ^ Bit::constant(of.function.is_complement());
        let sum = (0..8).filter(|input| single >> input & 1 == 1).fold(sum, |sum, input| sum ^ inputs[input]);
        Bit { of: Some(of), ..sum }
    }

    /// The cell whose inputs sum to a bit, possibly plus 1: which inputs, as a mask, and whether 1 is added.
    fn as_sum(&self, bit: Bit) -> Option<(NonZeroU32, u8, bool)> {
        let (sum, constant) = bit.split();
        let (cell, mask) = *self.sums.get(&sum.halves[0])?;
        let inputs = &self.cell(cell).inputs;
        let is_it = (0..8).filter(|i| mask >> i & 1 == 1).fold(Bit::ZERO, |sum, i| sum ^ inputs[i]) == sum;
        is_it.then_some((cell, mask, constant))
    }

    /// The functions of cells' inputs that a bit is known to be: the one that it was computed as, and a sum of inputs.
    fn functions(&self, bit: Bit) -> impl Iterator<Item = OfCell> {
        let of_sum = |(cell, mask, constant)| OfCell {
            cell,
            function: self.functions.sums[usize::from(mask)].complement_if(constant),
        };
        bit.of.into_iter().chain(std::iter::once_with(move || self.as_sum(bit).map(of_sum)).flatten())
    }

    /// A function of three bits, by its table: bit `4a + 2b + c` is the output for `a, b, c`.
    ///
    /// # Errors
    /// If it is a product of bits that are not functions of the inputs of one cell.
    pub fn lut3(&mut self, table: u8, operands: [Bit; 3]) -> Result<Bit, NoCell> {
        if let Some(which) = SUMS[usize::from(table)] {
            return Ok(self.sum(which, operands));
        }
        // The values that the operands can have together, as far as sums of them are constants: of `4a + 2b + c` bit by bit.
        let mut possible = 0xffu8;
        for which in 1..8 {
            match sum_of(which, operands).as_constant() {
                Some(true) => possible &= affine(which),
                Some(false) => possible &= !affine(which),
                None => {}
            }
        }
        if possible != 0xff
            && let Some(which) = (0..16).find(|&which| (affine(which) ^ table) & possible == 0)
        {
            return Ok(self.sum(which, operands));
        }
        if let Some((cell, functions)) = self.in_one_cell(operands) {
            return Ok(self.product(cell, table, functions));
        }
        // An operand that is only added may be any bit.
        for i in 0..3 {
            let with = affine(4 >> i);
            if (table & with) >> (4 >> i) ^ table & !with == !with {
                let mut multiplied = operands;
                multiplied[i] = Bit::ZERO;
                let (cell, functions) = self.in_one_cell(multiplied).ok_or(NoCell)?;
                return Ok(self.product(cell, table, functions) ^ operands[i]);
            }
        }
        Err(NoCell)
    }

    /// The sum of some of three bits, and of 1 ([`affine`]). One of functions of a cell may be multiplied later.
    fn sum(&mut self, which: u8, operands: [Bit; 3]) -> Bit {
        let sum = sum_of(which, operands);
        let summands = [0, 1, 2].map(|i| if which >> (2 - i) & 1 == 1 { operands[i] } else { Bit::ZERO });
        let mut cells = summands.iter().filter_map(|bit| bit.of.map(|of| of.cell));
        let first = cells.next();
        let may_be_of_one = cells.all(|cell| Some(cell) == first);
        if may_be_of_one
            && summands.iter().filter(|bit| bit.as_constant().is_none()).count() > 1
            && let Some((cell, functions)) = self.in_one_cell(summands)
        {
            let function = self.functions.apply(affine(which), functions);
            return Bit { of: Some(OfCell { cell, function }), ..sum };
        }
        sum
    }

    /// The bit of a table of three functions of a cell's inputs, which may be multiplied later.
    fn product(&mut self, cell: NonZeroU32, table: u8, functions: [Function; 3]) -> Bit {
        let function = self.functions.apply(table, functions);
        self.bit(OfCell { cell, function })
    }

    /// The cell that all of these bits are functions of, and which functions.
    fn in_one_cell(&self, bits: [Bit; 3]) -> Option<(NonZeroU32, [Function; 3])> {
        let first = *bits.iter().find(|bit| bit.as_constant().is_none())?;
        self.functions(first).find_map(|OfCell { cell, function }| {
            let mut functions = [function; 3];
            for (of_bit, bit) in functions.iter_mut().zip(bits) {
                *of_bit = match bit.as_constant() {
                    Some(constant) => Function::ZERO.complement_if(constant),
                    None if bit == first => function,
                    None => self.functions(bit).find(|of| of.cell == cell)?.function,
                };
            }
            Some((cell, functions))
        })
    }

    /// A function of a byte by its table, on its eight bits, least significant first. They become a cell, unless they are constants or sums
    /// of the inputs of an existing one.
    ///
    /// # Errors
    /// If some of the bits are sums of the inputs of a cell and others are not, or sums of them are constants.
    pub fn byte(&mut self, table: &[u8; 256], bits: [Bit; 8]) -> Result<[Bit; 8], NoCell> {
        if bits.iter().all(|bit| bit.as_constant().is_some()) {
            let byte = (0..8).fold(0, |byte, i| byte | u8::from(bits[i] == Bit::ONE) << i);
            return Ok(std::array::from_fn(|i| Bit::constant(table[byte as usize] >> i & 1 == 1)));
        }
        if bits.iter().all(|&bit| self.as_sum(bit).is_none()) {
            self.add(bits)?;
        }
        let sums = bits.map(|bit| self.as_sum(bit));
        let (cell, ..) = sums[0].ok_or(NoCell)?;
        let mut asked = Byte { table: *table, masks: [0; 8], constants: 0 };
        for (i, sum) in sums.into_iter().enumerate() {
            let (_, mask, constant) = sum.filter(|(of, ..)| *of == cell).ok_or(NoCell)?;
            asked.masks[i] = mask;
            asked.constants |= u8::from(constant) << i;
        }
        Ok(self.functions.of_byte(asked).map(|function| self.bit(OfCell { cell, function })))
    }

    /// A cell of these inputs.
    fn add(&mut self, bits: [Bit; 8]) -> Result<(), NoCell> {
        let inputs = bits.map(|bit| bit.split().0);
        let number = u32::try_from(self.cells.len() + 1).ok().and_then(NonZeroU32::new).ok_or(NoCell)?;
        let mut sums = [Bit::ZERO; 256];
        for mask in 1..256usize {
            let lowest = mask.trailing_zeros() as usize;
            sums[mask] = sums[mask & (mask - 1)] ^ inputs[lowest];
            if sums[mask] == Bit::ZERO {
                return Err(NoCell);
            }
        }
        self.cells.push(Cell { inputs, number: self.random.number().into() });
        self.sums.extend(self.known_by.iter().map(|&mask| (sums[usize::from(mask)].halves[0], (number, mask))));
        Ok(())
    }
}

impl Default for Cells {
    fn default() -> Self {
        Self::new()
    }
}

/// A quick hash: of numbers, which are random here, the number itself.
#[derive(Clone, Copy, Default)]
struct Fingerprints;

impl std::hash::BuildHasher for Fingerprints {
    type Hasher = Itself;
    fn build_hasher(&self) -> Itself {
        Itself(0)
    }
}

struct Itself(u64);

impl std::hash::Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.as_chunks().0 {
            let mixed = (self.0 ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 = mixed ^ mixed >> 32;
        }
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::aes::{Direction, sbox};

    #[test]
    fn functions_are_sums_of_products() {
        let mut cells = Cells::new();
        let inputs: [Bit; 8] = std::array::from_fn(|_| cells.unknown());
        cells.add(inputs).unwrap();
        let product_of = |m: usize| -> Table {
            let mut table = NONE;
            (0..256).filter(|x| m & !x == 0).for_each(|x| table[x / 64] |= 1 << (x % 64));
            table
        };
        let table: Table = std::array::from_fn(|i| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i as u64 + 3));
        let at = |x: usize| table[x / 64] >> (x % 64) & 1;
        let is_term = |m: &usize| (0..256).filter(|x| x & !m == 0).fold(0, |sum, x| sum ^ at(x)) == 1;
        let bit = |cells: &mut Cells, cell, table| {
            let function = cells.functions.of(table);
            cells.bit(OfCell { cell: NonZeroU32::new(cell).unwrap(), function })
        };
        let sum = (0..256).filter(is_term).fold(Bit::ZERO, |sum, m| sum ^ bit(&mut cells, 1, product_of(m)));
        assert_eq!(bit(&mut cells, 1, table), sum);
        assert_eq!(bit(&mut cells, 1, product_of(0)), Bit::ONE);
        assert_eq!(bit(&mut cells, 1, product_of(1 << 5)), inputs[5]);
        // Each product has its own number in each cell.
        let others = std::array::from_fn(|_| cells.unknown());
        cells.add(others).unwrap();
        let mut all: Vec<Bit> = (0..512).map(|m| bit(&mut cells, 1 + m as u32 / 256, product_of(m % 256))).collect();
        all.sort_unstable_by_key(|bit| bit.halves);
        all.dedup();
        assert_eq!(all.len(), 511, "all but the two that are 1");
    }

    /// Any bits are multiplied as polynomials are.
    #[test]
    fn products_are_those_of_a_ring() {
        let mut cells = Cells::new();
        let [a, b, c] = std::array::from_fn(|_| cells.unknown());
        let one = Bit::ONE;
        assert_eq!(Bit::of((FieldElement::from(times_x(ONE)) * FieldElement::from(a.fingerprint())).into()), a);
        let many = Multiples::of(&[a, b ^ one, Bit::ZERO, one]);
        assert_eq!(many.sum(&[(0, c), (3, b), (1, a ^ one), (2, c)]), a.times(c) ^ b ^ (b ^ one).times(a ^ one));
        assert_eq!(a.times(b), b.times(a));
        assert_eq!(a.times(b).times(c), a.times(b.times(c)));
        assert_eq!(a.times(b ^ c ^ one), a.times(b) ^ a.times(c) ^ a);
        assert_eq!((a ^ one).times(b ^ one), a.times(b) ^ a ^ b ^ one);
        assert_ne!(a.times(b), a.times(c));
        assert_ne!(a.times(b), a ^ b);
    }

    /// A bit is the function that it is said to be, however it was computed.
    #[test]
    fn bits_are_the_functions_that_they_carry() {
        let mut cells = Cells::in_bases(&[]);
        let two: [[Bit; 8]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| cells.unknown()));
        let outputs = two.map(|inputs| cells.byte(sbox::table(Direction::Encrypt), inputs).unwrap());
        let mut bits = [two, outputs].as_flattened().as_flattened().to_vec();
        bits.extend([Bit::ZERO, Bit::ONE]);
        let given = bits.len();
        bits.extend_from_within(..);
        let (mut number, mut carried) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        for _ in 0..2000 {
            number = number.wrapping_mul(0xd129_0b26_f2c5_a1b5) ^ number >> 29;
            let [a, b, c] = [8, 24, 40].map(|from| bits[(number >> from) as usize % bits.len()]);
            let made = cells.lut3(number as u8, [a, b, c]).unwrap_or(a ^ b ^ Bit::ONE);
            for bit in [made, made ^ Bit::ONE, made.split().0] {
                carried += bit.of.iter().filter(|of| cells.bit(**of) == bit).count();
                assert!(bit.of.is_none_or(|of| cells.bit(of) == bit));
            }
            let at = given + (number >> 56) as usize % given;
            bits[at] = made;
        }
        assert!(carried > 100, "{carried}");
    }

    /// Bits computed from the inputs of a cell, in any order, are equal exactly if they are the same function.
    #[test]
    fn equal_functions_are_equal_bits() {
        let mut cells = Cells::new();
        let inputs: [Bit; 8] = std::array::from_fn(|_| cells.unknown());
        let outputs = cells.byte(sbox::table(Direction::Encrypt), inputs).unwrap();
        assert_eq!(cells.byte(sbox::table(Direction::Encrypt), inputs), Ok(outputs));
        // In another basis, and complemented.
        let mut others = inputs;
        others[3] ^= inputs[5] ^ Bit::ONE;
        let table: [u8; 256] = std::array::from_fn(|x| {
            let x = x as u8 ^ (x as u8 >> 5 & 1 ^ 1) << 3;
            sbox::table(Direction::Encrypt)[x as usize]
        });
        assert_eq!(cells.byte(&table, others), Ok(outputs));
        assert_eq!(cells.count(), 1);
        let [a, b, c, ..] = inputs;
        let and = |cells: &mut Cells, a, b| cells.lut3(0xc0, [a, b, Bit::ZERO]).unwrap();
        let ab = and(&mut cells, a, b);
        let ac = and(&mut cells, a, c);
        assert_eq!(and(&mut cells, a, b ^ c), ab ^ ac);
        assert_ne!(and(&mut cells, b, c), ab);
        // Operands that are only added may come from elsewhere; operands that are multiplied may not.
        let other = cells.unknown();
        assert_eq!(cells.lut3(0x3c ^ 0x30, [a, other, b]), Err(NoCell));
        assert_eq!(
            cells.lut3(0x6a, [a, b, other]).map(|bit| bit ^ other),
            Ok(cells.lut3(0xc0, [a, b, Bit::ZERO]).unwrap())
        );
        // Operands that depend on one another: a AND NOT a, a OR NOT a, MAJ(a, a, other).
        assert_eq!(and(&mut cells, a, a ^ Bit::ONE), Bit::ZERO);
        assert_eq!(cells.lut3(0xfc, [a, a ^ Bit::ONE, other]), Ok(Bit::ONE));
        assert_eq!(cells.lut3(0xe8, [other, other, a]), Ok(other));
    }
}
