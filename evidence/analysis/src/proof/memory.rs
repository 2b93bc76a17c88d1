//! Memory of a launch: bytes that were given or written. Only the writable regions may be written, a byte that was never written may not
//! be read, and barriers must order the accesses to writable bytes (`order`).

use crate::proof::anf::Bit;
use crate::proof::form::Form;
use crate::proof::order::{Access, History, Moment, Seen};
use crate::proof::value::{Value, Why};
use std::collections::HashMap;
use std::ops::Range;

/// Eight bits, the least significant first.
pub type Byte = [Bit; 8];

/// Bytes, and numbers that are forms.
pub(crate) type Contents = (HashMap<u64, Byte>, HashMap<u64, (u64, Value)>);

/// Memory of a launch: of the device, of the thread block, and the parameters.
#[derive(Clone, Default)]
pub struct Memory {
    bytes: HashMap<u64, Byte>,
    /// Words that are forms: numbers that are not known, by their address, with their number of bytes.
    forms: HashMap<u64, (u64, Value)>,
    /// For bytes that may be written.
    histories: HashMap<u64, History>,
    writable: Vec<Range<u64>>,
    /// What the running thread block has seen of others.
    pub(crate) seen: Seen,
}

impl Memory {
    /// Makes a region writable.
    pub fn allow(&mut self, region: Range<u64>) {
        self.writable.push(region);
    }

    /// Forgets what was written in regions.
    pub fn forget(&mut self, regions: &[Range<u64>]) {
        let is_in = |at: &u64| regions.iter().any(|region| region.contains(at));
        self.bytes.retain(|at, _| !is_in(at));
        self.histories.retain(|at, _| !is_in(at));
    }

    /// Puts a number that is a form.
    pub fn put_form(&mut self, address: u64, bytes: u64, form: Value) {
        (address..address + bytes).for_each(|at| _ = self.bytes.remove(&at));
        self.forms.insert(address, (bytes, form));
    }

    /// Puts another number of 32 or 64 bits in place of one, wherever this is, or what differs from this by a known number.
    pub(crate) fn replace(&mut self, number: &Form, instead: &Form, bits: u32) {
        self.forms.values_mut().for_each(|(_, value)| value.replace(number, instead, bits));
    }

    /// What is there now.
    pub(crate) fn contents(&self) -> Contents {
        (self.bytes.clone(), self.forms.clone())
    }

    /// Where bytes are that were not in these contents, and bytes of numbers.
    pub(crate) fn elsewhere(&self, contents: &Contents) -> impl Iterator<Item = u64> {
        let bytes = self.bytes.keys().copied().filter(|at| !contents.0.contains_key(at));
        let forms = self.forms.iter().filter(|(at, _)| !contents.1.contains_key(at));
        bytes.chain(forms.flat_map(|(at, (bytes, _))| *at..at + bytes))
    }

    /// Forgets what is elsewhere than these contents were, but not who accessed it. Returns whether they are there as they were.
    pub(crate) fn return_to(&mut self, contents: &Contents) -> bool {
        self.bytes.retain(|at, _| contents.0.contains_key(at));
        self.forms.retain(|at, _| contents.1.contains_key(at));
        self.bytes == contents.0 && self.forms == contents.1
    }

    /// Puts bytes, starting at an address.
    pub fn put(&mut self, address: u64, bytes: impl IntoIterator<Item = Byte>) {
        self.bytes.extend((address..).zip(bytes));
    }

    /// Whether a byte may be written.
    pub fn is_writable(&self, address: u64) -> bool {
        self.writable.iter().any(|region| region.contains(&address))
    }

    /// Records that something is written that is no value: what was there is gone.
    pub(crate) fn fill(&mut self, at: u64, by: Moment) -> Result<(), Why> {
        if !self.is_writable(at) {
            return Err(format!("{at:#x} may not be written"));
        }
        self.bytes.remove(&at);
        self.note(at, Access::Write, by)
    }

    /// Forgets who accessed a byte: what was written last was waited for in another way than at a barrier.
    pub(crate) fn begin_order(&mut self, at: u64) {
        self.histories.remove(&at);
    }

    /// Records an access to a byte.
    pub(crate) fn note(&mut self, at: u64, access: Access, by: Moment) -> Result<(), Why> {
        if self.is_writable(at) && !self.histories.entry(at).or_default().add_after(access, by, &self.seen) {
            return Err(format!("a race: no barrier lies between this access to {at:#x} and one before"));
        }
        Ok(())
    }

    /// Writes the lowest 1, 4 or 8 bytes of a value.
    ///
    /// # Errors
    /// If they may not be written, the address is not a multiple of their number, or it is a race.
    pub fn write(&mut self, address: u64, bytes: u64, value: &Value, by: Moment) -> Result<(), Why> {
        let is_allowed = self.writable.iter().any(|region| region.start <= address && address + bytes <= region.end);
        if !is_allowed || !address.is_multiple_of(bytes) {
            return Err(format!("{bytes} bytes may not be written at {address:#x}"));
        }
        self.forms.retain(|at, (count, _)| *at + *count <= address || *at >= address + bytes);
        if matches!(value, Value::Form(..)) {
            for at in address..address + bytes {
                self.note(at, Access::Write, by)?;
            }
            self.put_form(address, bytes, value.clone());
            return Ok(());
        }
        for (at, byte) in (address..address + bytes).zip(value.bits64().as_chunks().0.iter().copied()) {
            let access = if self.bytes.get(&at) == Some(&byte) { Access::Rewrite } else { Access::Write };
            self.note(at, access, by)?;
            self.bytes.insert(at, byte);
        }
        Ok(())
    }

    /// Changes a word of 4 or 8 bytes in one step, and returns what it was. The access is atomic, or a write where the order matters.
    ///
    /// # Errors
    /// If the bytes may not be read or written, the address is not a multiple of their number, it is a race, or the word cannot be changed in
    /// this way.
    pub fn change(
        &mut self,
        address: u64,
        bytes: u64,
        access: Access,
        by: Moment,
        change: impl FnOnce(&Value) -> Result<Value, Why>,
    ) -> Result<Value, Why> {
        let before = self.value(address, bytes)?;
        for at in address..address + bytes {
            self.note(at, access, by)?;
        }
        if !self.is_writable(address) {
            return Err(format!("{bytes} bytes may not be written at {address:#x}"));
        }
        let after = change(&before)?.bits64();
        self.put(address, after.as_chunks().0.iter().copied().take(bytes as usize));
        Ok(before)
    }

    /// Takes a number of 4 bytes by an atomic addition, whose result is left to the caller. Returns what was stored.
    ///
    /// # Errors
    /// If it is not there, or it is a race.
    pub fn take(&mut self, address: u64, by: Moment) -> Result<Value, Why> {
        for at in address..address + 4 {
            self.note(at, Access::Atomic, by)?;
        }
        self.value(address, 4)
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
    /// If part of it was not written, the address is not a multiple of their number, or it is a race.
    pub fn read(&mut self, address: u64, bytes: u64, by: Moment) -> Result<Value, Why> {
        for at in address..address + bytes {
            self.note(at, Access::Read, by)?;
        }
        self.value(address, bytes)
    }

    fn value(&self, address: u64, bytes: u64) -> Result<Value, Why> {
        if let Some((count, value)) = self.forms.get(&address)
            && *count == bytes
        {
            return Ok(value.clone());
        }
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

/// A number as bytes, least significant first.
pub fn number(number: u64, bytes: usize) -> Vec<Byte> {
    number.to_le_bytes()[..bytes].iter().map(|byte| known(*byte)).collect()
}

/// A known byte.
pub fn known(byte: u8) -> Byte {
    std::array::from_fn(|i| Bit::constant(byte >> i & 1 == 1))
}
