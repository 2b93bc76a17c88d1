//! Shift registers with linear feedback, serial and bitsliced (Hajihassani et al. 2019, section 4.1), as kernels.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_gen::circuit::Circuit;
use aes_bitslice_gen::emit::c::{self, Gates};
use aes_bitslice_gen::emit::dialect;

/// Bits of the register.
const BITS: usize = 16;
/// The bits whose sum is the new bit (equation 1).
const TAPS: [usize; 4] = [15, 13, 12, 10];

/// How registers are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One register per thread, which is shifted (fig. 5).
    Parallel,
    /// This number of registers per thread, one bit of each in a word (fig. 6): 16, as in the paper, or 32.
    Bitsliced {
        /// Registers per thread.
        lanes: u32,
    },
}

/// A kernel: each thread outputs the new bits of its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lfsr {
    /// The form.
    pub form: Form,
    /// Threads per thread block.
    pub threads: u32,
    /// Thread blocks.
    pub thread_blocks: u32,
    /// Clocks per turn.
    pub clocks: u32,
    /// Turns.
    pub turns: u64,
    /// Whether each thread outputs only the sum of its words of new bits, so that memory bounds nothing.
    pub sums: bool,
}

impl Lfsr {
    /// The entry point, `void (const void *in, void *out, u64 turns)`.
    pub const ENTRY: &'static str = "lfsr";

    /// As the paper counts: 16 threads with 16 registers each, 4 clocks, 1,024 bits.
    pub const PAPER: Self =
        Self { form: Form::Bitsliced { lanes: 16 }, threads: 16, thread_blocks: 1, clocks: 4, turns: 1, sums: false };

    /// One register, as in fig. 4, for the same 1,024 bits.
    pub const SINGLE: Self = Self { form: Form::Parallel, threads: 1, clocks: 32, turns: 32, ..Self::PAPER };

    /// A kernel that outputs `bytes`, a multiple of 256 KiB, with enough threads to keep a GPU busy.
    pub fn filling(form: Form, bytes: usize) -> Self {
        let threads = 256;
        let thread_blocks = (bytes / (64 * threads)).clamp(1, 1024);
        let clocks = match form {
            Form::Parallel => 32,
            Form::Bitsliced { .. } => 16,
        };
        let turn =
            Self { form, threads: threads as u32, thread_blocks: thread_blocks as u32, clocks, turns: 1, sums: false };
        Self { turns: (bytes / turn.made_bytes()) as u64, ..turn }
    }

    /// All threads.
    fn all(&self) -> usize {
        (self.threads * self.thread_blocks) as usize
    }

    /// Registers per thread.
    pub fn lanes(&self) -> u32 {
        match self.form {
            Form::Parallel => 1,
            Form::Bitsliced { lanes } => lanes,
        }
    }

    /// Bytes of the initial words.
    pub fn input_bytes(&self) -> usize {
        match self.form {
            Form::Parallel => 4 * self.all(),
            Form::Bitsliced { .. } => 4 * BITS * self.all(),
        }
    }

    /// Bytes of new bits, in the output or in its sums.
    pub fn made_bytes(&self) -> usize {
        let turn = match self.form {
            Form::Parallel => 4,
            Form::Bitsliced { lanes } => (lanes / 8 * self.clocks) as usize,
        };
        turn * self.turns as usize * self.all()
    }

    /// Bytes of a word of new bits from every thread.
    fn words_bytes(&self) -> usize {
        match self.form {
            Form::Parallel => 4 * self.all(),
            Form::Bitsliced { lanes } => lanes as usize / 8 * self.all(),
        }
    }

    /// Bytes of the output.
    pub fn output_bytes(&self) -> usize {
        if self.sums { self.words_bytes() } else { self.made_bytes() }
    }

    /// The source.
    pub fn source(&self) -> String {
        let mut text =
            format!("#define THREADS {}\n#define BLOCKS_PER_SM 1\n#define CLOCKS {}\n", self.threads, self.clocks);
        text += if self.sums { "#define SUMS 1\n" } else { "#define SUMS 0\n" };
        text += &dialect::page(Dialect::Cuda, "");
        match self.form {
            Form::Parallel => text += include_str!("lfsr_parallel.h"),
            Form::Bitsliced { lanes } => {
                text += &format!("\ntypedef {} lanes;\n\n", if lanes == 16 { "unsigned short" } else { "u32" });
                text += &c::function(&clock(), "clock_lfsr", Gates::Tables);
                text += include_str!("lfsr_bitsliced.h");
            }
        }
        text
    }

    /// The output for these words, by the definition.
    pub fn expected(&self, input: &[u8]) -> Vec<u8> {
        let made = self.made(input);
        if !self.sums {
            return made;
        }
        let mut sums = vec![0; self.words_bytes()];
        made.chunks(sums.len()).for_each(|words| sums.iter_mut().zip(words).for_each(|(sum, byte)| *sum ^= byte));
        sums
    }

    /// All new bits, register by register.
    fn made(&self, input: &[u8]) -> Vec<u8> {
        let (all, words) = (self.all(), input.as_chunks::<4>().0);
        let word = |at: usize| u32::from_le_bytes(words[at]);
        let clocks = self.clocks as usize * self.turns as usize;
        let mut output = vec![0; self.made_bytes()];
        for thread in 0..all {
            match self.form {
                Form::Parallel => {
                    let mut register = word(thread) as u16;
                    for clock in 0..clocks {
                        let at = 4 * (clock / 32 * all + thread) + clock % 32 / 8;
                        output[at] |= (next(&mut register) as u8) << (clock % 8);
                    }
                }
                Form::Bitsliced { lanes } => {
                    for lane in 0..lanes as usize {
                        let bit = |i: usize| (word(i * all + thread) >> lane & 1) as u16;
                        let mut register = (0..BITS).fold(0, |register, i| register | bit(i) << i);
                        for clock in 0..clocks {
                            let at = lanes as usize / 8 * (clock * all + thread) + lane / 8;
                            output[at] |= (next(&mut register) as u8) << (lane % 8);
                        }
                    }
                }
            }
        }
        output
    }
}

/// Clocks a register once and returns the new bit.
fn next(register: &mut u16) -> u16 {
    let new = TAPS.iter().fold(0, |sum, tap| sum ^ *register >> tap) & 1;
    *register = *register << 1 | new;
    new
}

/// One clock of all registers, where word i is bit i of each: the shift is a renaming of words.
fn clock() -> Circuit {
    let mut circuit = Circuit::new("one clock of 16-bit LFSRs", (0..BITS).map(|i| format!("r{i}")));
    let taps = TAPS.map(|tap| circuit.input(tap));
    let new = circuit.xor_all(&taps);
    circuit.output("r0", new);
    for i in 1..BITS {
        circuit.output(format!("r{i}"), circuit.input(i - 1));
    }
    circuit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_bits() {
        assert_eq!((8 * Lfsr::PAPER.output_bytes(), Lfsr::PAPER.input_bytes()), (1024, 16 * 16 * 4));
        for form in [Form::Parallel, Form::Bitsliced { lanes: 16 }, Form::Bitsliced { lanes: 32 }] {
            for bytes in [256 << 10, 1 << 20, 256 << 20] {
                assert_eq!(Lfsr::filling(form, bytes).output_bytes(), bytes);
            }
        }
        // A register by hand: bits 15, 13, 12 and 10 of 0x8000 sum to 1.
        let mut register = 0x8000;
        assert_eq!((next(&mut register), register), (1, 1));
    }
}
