//! Memory of one address space: bytes that were given or written, within regions. What lies outside of a region, and a byte that nobody has
//! written, is not read.

use crate::anf::Bit;
use crate::value::{Value, Why};
use std::collections::HashMap;
use std::ops::Range;

/// Eight bits, the least significant first.
pub type Byte = [Bit; 8];

/// Memory of a launch: of the device, of the thread block, and the parameters.
#[derive(Default)]
pub struct Memory {
    bytes: HashMap<u64, Byte>,
    writable: Vec<Range<u64>>,
}

impl Memory {
    /// A region may be written.
    pub fn allow(&mut self, region: Range<u64>) {
        self.writable.push(region);
    }

    /// What was written in regions is there no longer.
    pub fn forget(&mut self, regions: &[Range<u64>]) {
        self.bytes.retain(|at, _| !regions.iter().any(|region| region.contains(at)));
    }

    /// Gives bytes from an address on.
    pub fn put(&mut self, address: u64, bytes: impl IntoIterator<Item = Byte>) {
        self.bytes.extend((address..).zip(bytes));
    }

    /// Writes the lowest 1, 4 or 8 bytes of a value.
    ///
    /// # Errors
    /// Where they may not be written, or the address is no multiple of their number.
    pub fn write(&mut self, address: u64, bytes: u64, value: &Value) -> Result<(), Why> {
        let is_allowed = self.writable.iter().any(|region| region.start <= address && address + bytes <= region.end);
        if !is_allowed || !address.is_multiple_of(bytes) {
            return Err(format!("{bytes} bytes may not be written at {address:#x}"));
        }
        self.put(address, value.bits64().as_chunks().0.iter().copied().take(bytes as usize));
        Ok(())
    }

    /// A byte.
    ///
    /// # Errors
    /// If nothing was written there.
    pub fn byte(&self, address: u64) -> Result<Byte, Why> {
        self.bytes.get(&address).copied().ok_or_else(|| format!("nothing was written at {address:#x}"))
    }

    /// A value of 1, 4 or 8 bytes.
    ///
    /// # Errors
    /// If something of it was not written, or the address is no multiple of their number.
    pub fn read(&self, address: u64, bytes: u64) -> Result<Value, Why> {
        if !address.is_multiple_of(bytes) {
            return Err(format!("{address:#x} is no multiple of {bytes}"));
        }
        let mut bits = [Bit::ZERO; 64];
        for (at, byte) in (address..address + bytes).zip(bits.as_chunks_mut().0) {
            *byte = self.byte(at)?;
        }
        Ok(Value::of_bits64(bits).first(8 * bytes as u32))
    }
}
