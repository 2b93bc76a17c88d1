//! Products of matrices of bits: where each lane of a warp has which entries (PTX ISA, section on matrix fragments for `mma.m16n8k256`).
//!
//! Lane 4 g + q has of the left matrix, of 16 rows of 256 bits, in its registers 0 to 3: word q of row g, word q of row g + 8, word 4 + q
//! of row g, word 4 + q of row g + 8. Of the right matrix, of 8 columns of 256 bits, it has words q and 4 + q of column g; of the sums, those
//! of rows g, g, g + 8, g + 8 and columns 2 q, 2 q + 1, 2 q, 2 q + 1.

use crate::proof::anf::{Bit, Multiples};
use crate::proof::context::Context;
use crate::proof::instruction::operand;
use crate::proof::order::WARP;
use crate::proof::thread::Thread;
use crate::proof::value::{Value, Why};
use crate::ptx::Operand;

/// Words of a row of the left matrix, or of a column of the right one.
pub(crate) const WORDS: usize = 8;

impl Context<'_> {
    /// `mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc d, a, b, c` for all lanes at once: d is c plus the number of ones that
    /// a row and a column have in common.
    pub(crate) fn multiply(&self, warp: &mut [Thread], operands: &[Operand]) -> Result<(), Why> {
        if warp.len() != WARP {
            return Err("a product of matrices by a part of a warp".into());
        }
        let [to, left, right, sums] = [0, 1, 2, 3].map(|n| operand(operands, n).map(several));
        let (to, left, right, sums) = (to??, left??, right??, sums??);
        if [to.len(), left.len(), right.len(), sums.len()] != [4, 4, 2, 4] {
            return Err("a product of matrices of other sizes".into());
        }
        let words = |of: &[Operand]| -> Result<Vec<Vec<[Bit; 32]>>, Why> {
            let word = |thread: &Thread, one| Ok::<_, Why>(self.word(self.value(thread, one)?)?.bits());
            warp.iter().map(|thread| of.iter().map(|one| word(thread, one)).collect()).collect()
        };
        let (left, right) = (words(left)?, words(right)?);
        let left: Vec<Row> = (0..16).map(|row| row_of(&left, row)).collect();
        let right = (0..8).map(|column| {
            let words = (0..WORDS).map(|w| right[4 * column + w % 4][w / 4]);
            words.flatten().collect::<Vec<_>>().try_into().expect("words of a column")
        });
        let factors = Factors::of(&left, right);
        let mut results = vec![];
        for (lane, thread) in warp.iter().enumerate() {
            for (i, sum) in sums.iter().enumerate() {
                let (row, column) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
                results.push(factors.count(row, column, &self.value(thread, sum)?)?);
            }
        }
        for (thread, results) in warp.iter_mut().zip(results.chunks(4)) {
            to.iter().zip(results).try_for_each(|(to, result)| thread.write(to, result.clone()))?;
        }
        Ok(())
    }
}

/// A row of the left matrix, or a column of the right one.
pub(crate) type Row = [Bit; 32 * WORDS];

/// A row of 16, by the registers of each lane.
pub(crate) fn row_of(registers: &[Vec<[Bit; 32]>], row: usize) -> Row {
    std::array::from_fn(|k| registers[4 * (row % 8) + k / 32 % 4][2 * (k / 128) + row / 8][k % 32])
}

/// Matrices that are multiplied: counts of the ones that a row and a column have in common.
pub(crate) struct Factors {
    rows: Vec<(Row, Multiples)>,
    /// The bits of each column that are not 0.
    columns: Vec<Vec<(usize, Bit)>>,
}

impl Factors {
    pub(crate) fn of(left: &[Row], right: impl Iterator<Item = Row>) -> Self {
        let entries = |column: Row| column.into_iter().enumerate().filter(|(_, bit)| *bit != Bit::ZERO).collect();
        Self {
            rows: left.iter().map(|row| (*row, Multiples::of(row))).collect(),
            columns: right.map(entries).collect(),
        }
    }

    /// A sum, and the count for a row and a column.
    pub(crate) fn count(&self, row: usize, column: usize, sum: &Value) -> Result<Value, Why> {
        let (lowest, most) = match sum {
            Value::Count(lowest, most) => (*lowest, *most),
            Value::Number(number) => (Bit::constant(number & 1 == 1), *number as u32),
            _ => return Err("a sum that is no count".into()),
        };
        let ((row, multiples), column) = (&self.rows[row], &self.columns[column]);
        let ones = column.iter().filter(|(k, _)| row[*k] != Bit::ZERO).count() as u32;
        let most = most.checked_add(ones).ok_or("a count that is too large")?;
        Ok(Value::Count(lowest ^ multiples.sum(column), most))
    }
}

pub(crate) fn several(operand: &Operand) -> Result<&[Operand], Why> {
    if let Operand::Several(several) = operand { Ok(several) } else { Err("no registers of a matrix".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::anf::Cells;
    use crate::proof::context::Grid;
    use crate::ptx::Program;

    /// The manual's formulas for each element of a lane's fragments: i counts its bits, or its sums.
    #[test]
    fn fragments_are_where_the_manual_says() {
        let text = ".entry f()\n{\n.reg .b32 %r<15>;\nmma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc \
                    {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, {%r11, %r12, %r13, %r14};\n}";
        let program = Program::read(text).expect("an instruction");
        let operands = &program.functions[0].statements[0].operands;
        let mut cells = Cells::new();
        let context = Context::new(&program, Grid { blocks: 1, threads: WARP }, 0, &mut cells).unwrap();
        let (mut a, mut b, mut c) = ([[0u32; 256]; 16], [[0u32; 8]; 256], [[0u32; 8]; 16]);
        let mut warp: Vec<Thread> = (0..WARP).map(|lane| Thread::new(lane, program.functions[0].registers)).collect();
        let mut state = 1u64;
        for (lane, thread) in warp.iter_mut().enumerate() {
            let (group, in_group) = (lane / 4, lane % 4);
            let mut put = |operand: &Operand| -> Vec<u32> {
                let each = several(operand).unwrap().iter().map(|register| {
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                    let word = (state >> 33) as u32;
                    thread.write(register, Value::Number(word.into())).unwrap();
                    word
                });
                each.collect()
            };
            let bit = |words: &[u32], i: usize| words[i / 32] >> (i % 32) & 1;
            let words = put(&operands[1]);
            for i in 0..128 {
                let row = if i < 32 || (64..96).contains(&i) { group } else { group + 8 };
                let column = if i < 64 { in_group * 32 + (i & 31) } else { in_group * 32 + (i & 31) + 128 };
                a[row][column] = bit(&words, i);
            }
            let words = put(&operands[2]);
            for i in 0..64 {
                let row = if i < 32 { in_group * 32 + (i & 31) } else { in_group * 32 + (i & 31) + 128 };
                b[row][group] = bit(&words, i);
            }
            for (i, sum) in put(&operands[3]).into_iter().enumerate() {
                let row = if i < 2 { group } else { group + 8 };
                c[row][in_group * 2 + (i & 1)] = sum;
            }
        }
        context.multiply(&mut warp, operands).unwrap();
        for (lane, thread) in warp.iter().enumerate() {
            for (i, register) in several(&operands[0]).unwrap().iter().enumerate() {
                let (row, column) = (if i < 2 { lane / 4 } else { lane / 4 + 8 }, lane % 4 * 2 + (i & 1));
                let count = c[row][column] + (0..256).map(|k| a[row][k] & b[k][column]).sum::<u32>();
                let found = context.value(thread, register).unwrap();
                let Value::Count(lowest, most) = found else { panic!("{found:?}") };
                assert_eq!(lowest, Bit::constant(count & 1 == 1));
                assert!((count..=c[row][column] + 256).contains(&most));
            }
        }
        assert!(context.multiply(&mut warp[..16], operands).is_err());
    }
}
