//! A launch of an entry point on memory of formal bits, and the comparison of its output.

use crate::proof::anf::Cells;
use crate::proof::context::Grid;
use crate::proof::machine::{Machine, Turns};
use crate::proof::memory::{Byte, Memory};
use crate::proof::sass;
use crate::ptx::Program;
use crate::sass::Listing;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::signature::EntryPoint;

/// The text of a compiled kernel.
#[derive(Clone, Copy)]
pub enum Code<'a> {
    /// PTX.
    Ptx(&'a str),
    /// Machine code as [`Disassembler::list`](crate::sass::Disassembler::list) gives it.
    Sass(&'a str),
}

impl<'a, T: AsRef<str> + ?Sized> From<&'a T> for Code<'a> {
    fn from(ptx: &'a T) -> Self {
        Self::Ptx(ptx.as_ref())
    }
}

/// What a launch writes: a word for it, where it begins, and all of it after the launch.
pub type Output<'a> = (&'a str, u64, &'a [Byte]);

/// What is launched, and how.
pub struct Launch<'a> {
    /// The code.
    pub code: Code<'a>,
    /// The entry point, with the names of what it takes.
    pub entry: &'a EntryPoint,
    /// Thread blocks and threads.
    pub grid: Grid,
    /// Bytes of shared memory of a thread block, besides variables of known size.
    pub shared_bytes: u32,
}

impl Launch<'_> {
    /// Runs the launch, which may write its outputs and nothing else, and compares all of these. Returns the number of bits that are as expected.
    ///
    /// # Errors
    /// As [`run`](Self::run), or in words the first bit that differs.
    pub fn prove(
        &self,
        cells: &mut Cells,
        arguments: impl Fn(Argument) -> Option<Vec<Byte>>,
        given: &[(u64, &[Byte])],
        outputs: &[Output<'_>],
    ) -> Result<usize, String> {
        let writable: Vec<(u64, usize)> = outputs.iter().map(|(_, at, expected)| (*at, expected.len())).collect();
        let bytes: usize = writable.iter().map(|(_, bytes)| bytes).sum();
        if bytes == 0 {
            return Err("there is nothing to compare".into());
        }
        let memory = self.run(cells, arguments, given, &writable)?;
        for (what, at, expected) in outputs {
            compare(&memory, *at, expected).map_err(|why| format!("{what}: {why}"))?;
        }
        Ok(8 * bytes)
    }

    /// Runs the launch and returns memory after all threads have ended. Takes the value of each argument, the contents of
    /// device memory, and how many bytes may be written where.
    ///
    /// # Errors
    /// In words: the instruction that cannot be followed, or a parameter without a value.
    pub fn run(
        &self,
        cells: &mut Cells,
        arguments: impl Fn(Argument) -> Option<Vec<Byte>>,
        given: &[(u64, &[Byte])],
        writable: &[(u64, usize)],
    ) -> Result<Memory, String> {
        self.run_by(Turns::Ascending, cells, arguments, given, writable)
    }

    /// Likewise, in an order of turns; machine code in ascending order only.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_by(
        &self,
        turns: Turns,
        cells: &mut Cells,
        arguments: impl Fn(Argument) -> Option<Vec<Byte>>,
        given: &[(u64, &[Byte])],
        writable: &[(u64, usize)],
    ) -> Result<Memory, String> {
        let parameters = self.entry.parameters.iter().map(|parameter| {
            let value = arguments(parameter.name);
            value.ok_or_else(|| format!("no value is known for `{}`", parameter.name))
        });
        let parameters: Vec<Vec<Byte>> = parameters.collect::<Result<_, _>>()?;
        let prepare = |memory: &mut Memory| {
            given.iter().for_each(|(address, bytes)| memory.put(*address, bytes.iter().copied()));
            writable.iter().for_each(|&(address, bytes)| memory.allow(address..address + bytes as u64));
        };
        let shared_bytes = u64::from(self.shared_bytes);
        match self.code {
            Code::Ptx(text) => {
                let program = Program::read(text)?;
                let mut machine = Machine::new(&program, &self.entry.name, self.grid, shared_bytes, cells)?;
                machine.turns = turns;
                for (n, bytes) in parameters.iter().enumerate() {
                    machine.parameter(n, bytes)?;
                }
                prepare(machine.memory());
                machine.run().map_err(|stuck| stuck.to_string())?;
                Ok(machine.into_memory())
            }
            Code::Sass(_) if turns != Turns::Ascending => Err("machine code has turns in ascending order".into()),
            Code::Sass(text) => {
                let listing = Listing::read(text, &self.entry.name)?;
                let mut machine = sass::machine::Machine::new(&listing, self.grid, shared_bytes, &parameters, cells)?;
                prepare(machine.memory());
                machine.run().map_err(|stuck| stuck.to_string())?;
                Ok(machine.into_memory())
            }
        }
    }
}

/// Compares bytes of memory from an address on.
///
/// # Errors
/// In words: the first bit that differs.
pub fn compare(memory: &Memory, address: u64, expected: &[Byte]) -> Result<(), String> {
    for (n, byte) in expected.iter().enumerate() {
        let found = memory.byte(address + n as u64)?;
        if let Some(bit) = (0..8).find(|&bit| found[bit] != byte[bit]) {
            return Err(format!("bit {bit} of byte {n} differs"));
        }
    }
    Ok(())
}
