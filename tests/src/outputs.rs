//! Whether a proof compares all of an output, and lets an entry point write and read nothing else: PTX whose stores do otherwise is refused.

use crate::environment::{PROOFS, is_set, sample};
use aes_bitslice_analysis::proof::context::buffer;
use aes_bitslice_analysis::proof::kernel::Proved;
use aes_bitslice_core::signature::EntryPoint;

/// Where the input of every proof begins, if it has one.
const INPUT: u64 = buffer(1);

/// What an entry point writes.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Where it begins.
    pub begin: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes of the last store.
    pub word: u64,
    /// What stores to it begin with.
    pub by: &'static str,
}

/// What a store does besides, or instead.
enum Store {
    /// It stores another number.
    Wrong,
    /// It stores a byte at another address, too.
    Also(u64),
    /// It reads a byte at another address, too.
    Reads(u64),
}

/// An entry point whose stores that begin with these words, where they are at an address, do something else, too.
fn with_stores(ptx: &str, entry: &EntryPoint, by: &str, at: u64, fault: &Store) -> String {
    let start = ptx.find(&format!(".entry {}(", entry.name)).unwrap();
    let end = ptx[start..].find(".visible .entry").map_or(ptx.len(), |next| start + next);
    let changed = ptx[start..end].lines().map(|line| {
        let Some((instruction, rest)) = line.trim().strip_suffix(';').and_then(|line| line.split_once('[')) else {
            return line.to_string();
        };
        let is_one = |(_, value): &(&str, &str)| instruction.starts_with(by) && !value.starts_with('{');
        let Some((address, value)) = rest.split_once("], ").filter(is_one) else {
            return line.to_string();
        };
        let (register, offset) = address.split_once('+').unwrap_or((address, "0"));
        let from = at.wrapping_add_signed(-offset.parse::<i64>().unwrap());
        let (before, instead) = match fault {
            Store::Wrong => (format!("selp.b32 wrong, 90, {value}, fault;"), "wrong"),
            Store::Also(address) => (format!("@fault st.global.u8 [{address}], 0;"), value),
            Store::Reads(address) => (format!("@fault ld.global.u8 wrong, [{address}];"), value),
        };
        format!(
            "{{\n.reg .pred fault;\n.reg .b32 wrong;\nsetp.eq.s64 fault, {register}, {from};\n{before}\n{instruction}[{address}], {instead};\n}}"
        )
    });
    let changed: String = changed.map(|line| line + "\n").collect();
    [&ptx[..start], &changed, &ptx[end..]].concat()
}

impl Output {
    /// Checks that the proof of an entry point refuses another last word and a byte after it, and by turns, with other `number`s at other times,
    /// another first word, a byte before it, or one in the input, and a byte that is read after the last; all where all cases are proved.
    ///
    /// # Panics
    /// If one is not refused.
    pub fn check(&self, number: usize, ptx: &str, entry: &EntryPoint, prove: &dyn Fn(&str) -> Result<Proved, String>) {
        let (begin, end) = (self.begin, self.begin + self.bytes);
        let last = end - self.word;
        let faults = [
            (last, Store::Wrong, "differs"),
            (last, Store::Also(end), "may not be written"),
            (begin, Store::Wrong, "differs"),
            (last, Store::Also(begin - 1), "may not be written"),
            (last, Store::Also(INPUT), "may not be written"),
            (last, Store::Reads(end), "nothing was written"),
        ];
        let (first, others) = faults.split_at(2);
        let step = if is_set(PROOFS) { 1 } else { others.len() };
        for (at, fault, says) in first.iter().chain(sample(number, step, others)) {
            let why = prove(&with_stores(ptx, entry, self.by, *at, fault));
            let why = why.expect_err(&format!("{} may do otherwise at {at:#x}", entry.name));
            assert!(why.contains(says), "{}, {at:#x}: {why}, not {says}", entry.name);
        }
    }
}
