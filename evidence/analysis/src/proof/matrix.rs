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
const WORDS: usize = 8;

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
        // Their bits that are not 0.
        type Entries = Vec<(usize, Bit)>;
        let entries = |word: &dyn Fn(usize) -> [Bit; 32]| -> Entries {
            let bits = (0..WORDS).flat_map(|w| (32 * w..).zip(word(w)));
            bits.filter(|(_, bit)| *bit != Bit::ZERO).collect()
        };
        let rows: Vec<[Bit; 32 * WORDS]> = (0..16)
            .map(|row| std::array::from_fn(|k| left[4 * (row % 8) + k / 32 % 4][2 * (k / 128) + row / 8][k % 32]))
            .collect();
        let multiples: Vec<Multiples> = rows.iter().map(|row| Multiples::of(row)).collect();
        let columns: Vec<Entries> = (0..8).map(|column| entries(&|w| right[4 * column + w % 4][w / 4])).collect();
        let mut results = vec![];
        for (lane, thread) in warp.iter().enumerate() {
            for (i, sum) in sums.iter().enumerate() {
                let (row, column) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
                let (lowest, most) = match self.value(thread, sum)? {
                    Value::Count(lowest, most) => (lowest, most),
                    Value::Number(number) => (Bit::constant(number & 1 == 1), number as u32),
                    _ => return Err("a sum that is no count".into()),
                };
                let ones = columns[column].iter().filter(|(k, _)| rows[row][*k] != Bit::ZERO).count() as u32;
                let most = most.checked_add(ones).ok_or("a count that is too large")?;
                results.push(Value::Count(lowest ^ multiples[row].sum(&columns[column]), most));
            }
        }
        for (thread, results) in warp.iter_mut().zip(results.chunks(4)) {
            to.iter().zip(results).try_for_each(|(to, result)| thread.write(to, result.clone()))?;
        }
        Ok(())
    }
}

fn several(operand: &Operand) -> Result<&[Operand], Why> {
    if let Operand::Several(several) = operand { Ok(several) } else { Err("no registers of a matrix".into()) }
}
