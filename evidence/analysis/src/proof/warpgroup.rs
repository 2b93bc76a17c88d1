//! Products of matrices of bits by a warpgroup (PTX ISA, sections on `wgmma.mma_async`): where its operands are.
//!
//! The left matrix has 64 rows of 256 bits, the right one 128 columns of 256 bits. In shared memory, eight neighbouring rows, or columns, have
//! 16 bytes each in a core matrix of 128 bytes, one after the other. A descriptor has the address of the first core matrix in bits 0 to 13, in
//! units of 16 bytes; in bits 16 to 29 the distance of core matrices along the 256 bits, and in bits 32 to 45 that along rows or columns,
//! likewise. Its other bits are 0: no swizzle.
//!
//! In registers, each warp has 16 rows of the left matrix, as in a product by a warp (`matrix`). Thread 4 g + q of warp w has the sums of rows
//! 16 w + g and 16 w + g + 8, in columns 8 i + 2 q and 8 i + 2 q + 1: for each i, those of the first row, then those of the second.

use crate::proof::anf::Bit;
use crate::proof::context::Context;
use crate::proof::instruction::operand;
use crate::proof::matrix::{Factors, Row, WORDS, row_of, several};
use crate::proof::order::{WARP, WARPGROUP};
use crate::proof::thread::Thread;
use crate::proof::value::{Value, Why};
use crate::ptx::Operand;

/// Rows of the left matrix, and columns of the right one.
const ROWS: usize = 64;
const COLUMNS: usize = 128;

/// Sums of a thread.
const SUMS: usize = ROWS * COLUMNS / WARPGROUP;

/// Bytes of a row, or column, in a core matrix, and rows of one.
const PIECE: u64 = 16;
const CORE_ROWS: usize = 8;

/// Fields of a descriptor.
const FIELD: u64 = 0x3fff;

impl Context<'_> {
    /// `wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc d, a, b, scale` for all threads at once: d becomes the number of ones that
    /// a row and a column have in common, plus d if `scale` is 1.
    pub(crate) fn multiply_in_warpgroup(&mut self, threads: &mut [Thread], operands: &[Operand]) -> Result<(), Why> {
        let sums = registers(operand(operands, 0)?)?;
        let adds = self.same(threads, operand(operands, 3)?)?;
        let (left, read) = match operand(operands, 1)? {
            left @ Operand::Several(_) => {
                let registers = registers(left)?;
                let word = |thread: &Thread, register| Ok::<_, Why>(self.word(thread.factor(register)?)?.bits());
                let words = |thread| registers.iter().map(|register| word(thread, *register)).collect();
                let words: Vec<Vec<[Bit; 32]>> = threads.iter().map(words).collect::<Result<_, _>>()?;
                if registers.len() != WORDS / 2 {
                    return Err("a product of matrices of other sizes".into());
                }
                let left = words.chunks(WARP).flat_map(|warp| (0..16).map(|row| row_of(warp, row)));
                (left.collect(), registers)
            }
            left => (self.rows_in_memory(threads, left, ROWS)?, vec![]),
        };
        let right = self.rows_in_memory(threads, operand(operands, 2)?, COLUMNS)?;
        if sums.len() != SUMS {
            return Err("a product of matrices of other sizes".into());
        }
        let factors = Factors::of(&left, right.into_iter());
        for (n, thread) in threads.iter_mut().enumerate() {
            let (warp, lane) = (n / WARP, n % WARP);
            let result = |(i, register): (usize, &usize)| {
                let (row, column) = (16 * warp + lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2);
                let sum = if adds == 1 { thread.factor(*register)? } else { Value::Number(0) };
                Ok::<_, Why>((*register, factors.count(row, column, &sum)?))
            };
            let results: Vec<(usize, Value)> = sums.iter().enumerate().map(result).collect::<Result<_, _>>()?;
            thread.begin_product(&read, results)?;
        }
        Ok(())
    }

    /// A number that all threads have.
    fn same(&self, threads: &[Thread], operand: &Operand) -> Result<u64, Why> {
        let mut numbers = threads.iter().map(|thread| self.value(thread, operand)?.number());
        let first = numbers.next().ok_or("no threads")??;
        let are_same = numbers.all(|number| number.as_ref() == Ok(&first));
        if are_same { Ok(first) } else { Err("an operand that differs between threads of a warpgroup".into()) }
    }

    /// The rows, or columns, that a descriptor stands for.
    fn rows_in_memory(&mut self, threads: &[Thread], descriptor: &Operand, count: usize) -> Result<Vec<Row>, Why> {
        let descriptor = self.same(threads, descriptor)?;
        let [start, along, across] = [0, 16, 32].map(|at| PIECE * (descriptor >> at & FIELD));
        if descriptor & !(FIELD | FIELD << 16 | FIELD << 32) != 0 {
            return Err("a descriptor with other fields than an address and distances".into());
        }
        let mut rows = vec![[Bit::ZERO; 32 * WORDS]; count];
        for (n, row) in rows.iter_mut().enumerate() {
            for (half, bits) in row.as_chunks_mut::<128>().0.iter_mut().enumerate() {
                let core = start + (n / CORE_ROWS) as u64 * across + half as u64 * along;
                let at = core + (n % CORE_ROWS) as u64 * PIECE;
                self.reaches("shared", at, PIECE)?;
                self.note_read_of_matrix(threads, at..at + PIECE)?;
                for (at, byte) in (at..).zip(bits.as_chunks_mut().0) {
                    *byte = self.memory.byte(at)?;
                }
            }
        }
        Ok(rows)
    }
}

/// The registers of an operand.
fn registers(operand: &Operand) -> Result<Vec<usize>, Why> {
    let register = |one: &Operand| if let Operand::Register(register) = one { Some(*register) } else { None };
    several(operand)?.iter().map(register).collect::<Option<_>>().ok_or_else(|| "no registers of a matrix".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::anf::Cells;
    use crate::proof::context::Grid;
    use crate::ptx::{Program, Statement};

    /// Words, as random as this test needs them.
    struct Words(u64);

    impl Words {
        fn next(&mut self) -> u32 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (self.0 >> 33) as u32
        }
    }

    /// A product, then the same with the first one added.
    fn product(left: &str, descriptor: u64) -> Program {
        let list = |from: usize, count| (from..from + count).map(|n| format!("%r{n}")).collect::<Vec<_>>().join(", ");
        let left = if left.is_empty() { format!("{{{}}}", list(64, 4)) } else { left.into() };
        let text = format!(
            ".extern .shared .align 16 .b8 m[];\n.entry f()\n{{\n.reg .b32 %r<68>;\n\
             wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc {{{}}}, {left}, {descriptor}, 0;\n\
             wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc {{{0}}}, {left}, {descriptor}, 1;\n}}",
            list(0, SUMS)
        );
        Program::read(&text).expect("instructions")
    }

    /// The manual's formulas for each element of a thread's fragments, where i counts its bits or its sums; and for rows and columns in memory,
    /// with distances that differ.
    #[test]
    fn operands_are_where_the_manual_says() {
        // The right matrix: distances of 144 and 320 bytes. The left one: of 2,048 and 256.
        let (at, along, across) = (16u64, 144u64, 320u64);
        let descriptor = |at: u64, along: u64, across: u64| at >> 4 | along >> 4 << 16 | across >> 4 << 32;
        let (left_at, left_along, left_across) = (8192 + 16u64, 2048u64, 256u64);
        let in_memory = descriptor(left_at, left_along, left_across).to_string();
        for left in ["", in_memory.as_str()] {
            let program = product(left, descriptor(at, along, across));
            let [first, second] = &program.functions[0].statements[..] else { panic!("two instructions") };
            let mut cells = Cells::new();
            let mut context =
                Context::new(&program, Grid { blocks: 1, threads: WARPGROUP }, 1 << 14, &mut cells).unwrap();
            let mut words = Words(5);
            let bytes: Vec<u8> = (0..1 << 14).map(|_| words.next() as u8).collect();
            context.memory.put(16, bytes.iter().map(|byte| crate::proof::memory::known(*byte)));
            let bit = |at: u64, k: usize| u32::from(bytes[at as usize - 16 + k / 8] >> (k % 8) & 1);
            let in_core = |at: u64, along: u64, across: u64, row: usize, k: usize| {
                bit(at + row as u64 / 8 * across + k as u64 / 128 * along + row as u64 % 8 * 16, k % 128)
            };
            let mut a = vec![[0u32; 256]; ROWS];
            let registers = program.functions[0].registers;
            let mut threads: Vec<Thread> = (0..WARPGROUP).map(|index| Thread::new(index, registers)).collect();
            if left.is_empty() {
                let registers = several(&first.operands[1]).unwrap();
                for (n, thread) in threads.iter_mut().enumerate() {
                    let (warp, group, in_group) = (n / 32, n % 32 / 4, n % 4);
                    let own: Vec<u32> = registers.iter().map(|_| words.next()).collect();
                    for (register, word) in registers.iter().zip(&own) {
                        thread.write(register, Value::Number((*word).into())).unwrap();
                    }
                    for i in 0..128 {
                        let row = 16 * warp + if i < 32 || (64..96).contains(&i) { group } else { group + 8 };
                        let column = in_group * 32 + (i & 31) + if i < 64 { 0 } else { 128 };
                        a[row][column] = own[i / 32] >> (i % 32) & 1;
                    }
                }
            } else {
                for (row, bits) in a.iter_mut().enumerate() {
                    *bits = std::array::from_fn(|k| in_core(left_at, left_along, left_across, row, k));
                }
            }
            let run = |context: &mut Context<'_>, threads: &mut Vec<Thread>, one: &Statement| {
                context.multiply_in_warpgroup(threads, &one.operands)
            };
            let unfenced = run(&mut context, &mut threads, first).unwrap_err();
            assert!(unfenced.contains("no fence"), "{unfenced}");
            for (times, statement) in (1..).zip([first, second]) {
                for thread in &mut threads {
                    thread.steps += 1;
                    thread.fence();
                }
                run(&mut context, &mut threads, statement).unwrap();
                threads.iter_mut().for_each(Thread::wait_for_products);
                let sums = several(&statement.operands[0]).unwrap();
                assert!(context.value(&threads[0], &sums[0]).is_err(), "it was not committed");
                for (n, thread) in threads.iter_mut().enumerate() {
                    thread.commit_products();
                    thread.wait_for_products();
                    thread.steps += 1;
                    for (i, register) in sums.iter().enumerate() {
                        let row = 16 * (n / 32) + n % 32 / 4 + if i % 4 < 2 { 0 } else { 8 };
                        let column = 8 * (i / 4) + n % 4 * 2 + (i & 1);
                        let ones: u32 = (0..256).map(|k| a[row][k] & in_core(at, along, across, column, k)).sum();
                        let expected = Value::Count(Bit::constant((times * ones) & 1 == 1), times * ones);
                        assert_eq!(context.value(thread, register), Ok(expected));
                    }
                }
            }
        }
    }

    /// Other descriptors, operands that differ, registers in use.
    #[test]
    fn what_a_product_may_not_do() {
        let run = |descriptor: u64, change: &dyn Fn(&mut Vec<Thread>)| -> Result<(), Why> {
            let program = product("", descriptor);
            let mut cells = Cells::new();
            let mut context = Context::new(&program, Grid { blocks: 1, threads: WARPGROUP }, 8192, &mut cells)?;
            context.memory.put(16, vec![[Bit::ZERO; 8]; 8192]);
            let mut threads: Vec<Thread> =
                (0..WARPGROUP).map(|index| Thread::new(index, program.functions[0].registers)).collect();
            let [first, second] = &program.functions[0].statements[..] else { panic!("two instructions") };
            for thread in &mut threads {
                several(&first.operands[1])?.iter().try_for_each(|one| thread.write(one, Value::Number(3)))?;
                thread.steps += 1;
                thread.fence();
            }
            change(&mut threads);
            context.multiply_in_warpgroup(&mut threads, &first.operands)?;
            threads[9].write(&first.operands[0], Value::Number(0)).expect_err("a register in use");
            threads[9].write(&several(&first.operands[1])?[0], Value::Number(0)).expect_err("a register in use");
            context.multiply_in_warpgroup(&mut threads, &second.operands)
        };
        let right = 1 | 8 << 16 | 16 << 32;
        assert_eq!(run(right, &|_| {}), Ok(()));
        for (descriptor, why) in [
            (right | 1 << 62, "other fields"),
            (right | 1 << 49, "other fields"),
            (right | 1 << 14, "other fields"),
            (right & !1, "not accessed"),
            (right + 400, "not accessed"),
        ] {
            let found = run(descriptor, &|_| {}).unwrap_err();
            assert!(found.contains(why), "{descriptor:#x}: {found}");
        }
        let written = run(right, &|threads| {
            threads[77].steps += 1;
            threads[77].write(&Operand::Register(1), Value::Number(1)).unwrap();
        });
        assert!(written.is_err_and(|why| why.contains("no fence")));
    }
}
