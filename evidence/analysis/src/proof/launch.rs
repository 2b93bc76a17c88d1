//! A launch of an entry point on memory of formal bits, and the comparison of its output.

use crate::proof::anf::{Bit, Cells};
use crate::proof::context::Grid;
use crate::proof::machine::Machine;
use crate::proof::memory::{Byte, Memory};
use crate::ptx::Program;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::signature::EntryPoint;

/// What is launched, and how.
pub struct Launch<'a> {
    /// The PTX.
    pub ptx: &'a str,
    /// The entry point, with the names of what it takes.
    pub entry: &'a EntryPoint,
    /// Thread blocks and threads.
    pub grid: Grid,
    /// Bytes of shared memory of a thread block, besides variables of known size.
    pub shared_bytes: u32,
}

impl Launch<'_> {
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
        let program = Program::read(self.ptx)?;
        let mut machine = Machine::new(&program, &self.entry.name, self.grid, u64::from(self.shared_bytes), cells)?;
        for (address, bytes) in given {
            machine.put(*address, bytes);
        }
        writable.iter().for_each(|&(address, bytes)| machine.allow(address..address + bytes as u64));
        for (n, parameter) in self.entry.parameters.iter().enumerate() {
            let value = arguments(parameter.name);
            machine.parameter(n, &value.ok_or_else(|| format!("no value is known for `{}`", parameter.name))?)?;
        }
        machine.run().map_err(|stuck| stuck.to_string())?;
        Ok(machine.into_memory())
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

/// A number as bytes, least significant first.
pub fn number(number: u64, bytes: usize) -> Vec<Byte> {
    number.to_le_bytes()[..bytes].iter().map(|byte| known(*byte)).collect()
}

/// A known byte.
pub fn known(byte: u8) -> Byte {
    std::array::from_fn(|i| Bit::constant(byte >> i & 1 == 1))
}
