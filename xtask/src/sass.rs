//! Machine code as instructions: what NVIDIA's disassembler `nvdisasm` prints, counted by opcode and by the pipe that executes it, for
//! each entry point and for its hot loop alone.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The instructions of an entry point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sass {
    /// All of them, each once, without the padding at the end.
    pub all: Instructions,
    /// The innermost loop with the most instructions, which is the loop of rounds where rounds are a loop: from the
    /// target of a backward branch to that branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_loop: Option<Instructions>,
}

/// Instructions, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    pub total: u32,
    /// Executed by the ALU: logic, shifts, permutations, integer addition, comparison, selection, moves.
    pub alu: u32,
    /// Executed by the multiply-add pipe: `IMAD` in all its forms, which is a move or a shift too.
    pub fma: u32,
    /// Loads from and stores to shared, global, local and constant memory.
    pub memory: u32,
    /// Branches, barriers, uniform and special registers.
    pub other: u32,
    /// By opcode without its modifiers.
    pub by_opcode: BTreeMap<String, u32>,
}

impl<'a> FromIterator<&'a str> for Instructions {
    fn from_iter<T: IntoIterator<Item = &'a str>>(opcodes: T) -> Self {
        let mut counts = Self::default();
        for opcode in opcodes {
            counts.total += 1;
            *counts.by_opcode.entry(opcode.into()).or_default() += 1;
            *match opcode {
                "LOP3" | "PLOP3" | "SHF" | "SHL" | "SHR" | "PRMT" | "IADD3" | "VIADD" | "VIADDMNMX" | "VIMNMX"
                | "IMNMX" | "IABS" | "ISETP" | "SEL" | "MOV" | "LEA" | "SGXT" | "BMSK" | "P2R" | "R2P" => {
                    &mut counts.alu
                }
                "IMAD" | "IDP" | "FMUL" | "FADD" | "FFMA" => &mut counts.fma,
                "LDS" | "STS" | "LDSM" | "LDG" | "STG" | "LDL" | "STL" | "LDC" | "LD" | "ST" | "LDGSTS" => {
                    &mut counts.memory
                }
                _ => &mut counts.other,
            } += 1;
        }
        counts
    }
}

/// Counts `nvdisasm`'s output by entry point, which for code has this form:
///
/// ```text
/// .text.NAME:
///         /*0000*/                   LDC R1, c[0x0][0x28] ;
/// .L_x_1:
///         /*0010*/              @!P0 BRA `(.L_x_1) ;
/// //--------------------- .nv.shared.NAME
/// ```
pub fn count(text: &str) -> BTreeMap<String, Sass> {
    let mut entries: BTreeMap<String, Listing> = BTreeMap::new();
    let mut current = None;
    for line in text.lines().map(str::trim) {
        let label = line.strip_suffix(':');
        if let Some(name) = label.and_then(|label| label.strip_prefix(".text.")) {
            current = Some(entries.entry(name.into()).or_default());
        } else if line.starts_with("//-") {
            current = None;
        } else if let Some(listing) = &mut current {
            match label {
                Some(label) => _ = listing.labels.insert(label, listing.opcodes.len()),
                None => listing.push(line),
            }
        }
    }
    entries.into_iter().map(|(name, listing)| (name, listing.count())).collect()
}

/// The instructions of an entry point in order.
#[derive(Default)]
struct Listing<'a> {
    opcodes: Vec<&'a str>,
    /// The index of the instruction after each label.
    labels: BTreeMap<&'a str, usize>,
    /// From the first instruction of a loop to its branch.
    loops: Vec<(usize, usize)>,
}

impl<'a> Listing<'a> {
    fn push(&mut self, line: &'a str) {
        // The address is a comment; lines without one are directives.
        let Some(address) = line.strip_prefix("/*") else { return };
        let Some((_, instruction)) = address.split_once("*/") else { return };
        let is_predicate = |word: &&str| word.starts_with('@') || *word == "{";
        let Some(word) = instruction.split_whitespace().find(|word| !is_predicate(word)) else { return };
        let Some(opcode) = word.split(['.', ';']).next().filter(|o| o.starts_with(char::is_alphabetic)) else { return };
        if opcode == "BRA"
            && let Some((_, rest)) = instruction.split_once("`(")
            && let Some(&target) = rest.split_once(')').and_then(|(label, _)| self.labels.get(label))
        {
            self.loops.push((target, self.opcodes.len()));
        }
        self.opcodes.push(opcode);
    }

    fn count(mut self) -> Sass {
        let last = self.opcodes.iter().rposition(|opcode| *opcode != "NOP").map_or(0, |last| last + 1);
        self.opcodes.truncate(last);
        let holds =
            |outer: &(usize, usize), inner: &(usize, usize)| outer != inner && outer.0 <= inner.0 && inner.1 <= outer.1;
        let innermost = self.loops.iter().filter(|outer| !self.loops.iter().any(|inner| holds(outer, inner)));
        // The padding after the last exit, which stops the fetching of instructions, branches to itself.
        let hot = innermost.filter(|(first, branch)| first < branch).max_by_key(|(first, branch)| branch - first);
        let counted = |range: &[&'a str]| range.iter().copied().collect();
        Sass {
            all: counted(&self.opcodes),
            hot_loop: hot.map(|&(first, branch)| counted(&self.opcodes[first..=branch])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
\t.target\tsm_90
//--------------------- .text.one --------------------------
.text.one:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   IMAD.MOV.U32 R4, RZ, RZ, R0 ;
.L_x_1:
        /*0020*/                   LOP3.LUT R9, R8, 0x1fc, RZ, 0xc0, !PT ;
        /*0030*/                   LDS R2, [R4] ;
        /*0040*/              @!P0 BRA `(.L_x_2) ;
        /*0050*/                   LOP3.LUT R9, R8, R9, RZ, 0x96, !PT ;
.L_x_2:
        /*0060*/               @P0 BRA `(.L_x_1) ;
        /*0070*/               @P1 BRA `(.L_x_0) ;
        /*0080*/                   EXIT ;
.L_x_3:
        /*0090*/                   BRA `(.L_x_3);
        /*00a0*/                   NOP;
        /*00b0*/                   NOP;
.L_x_4:
//--------------------- .nv.shared.one --------------------------
        /*0000*/ \t.word\t0x1
//--------------------- .text.two --------------------------
.text.two:
        /*0000*/                   EXIT ;
";

    #[test]
    fn instructions_are_counted() {
        let entries = count(LISTING);
        assert_eq!(entries.keys().collect::<Vec<_>>(), ["one", "two"]);
        let Sass { all, hot_loop } = &entries["one"];
        // The forward branch ends no loop, the outer loop is not innermost, and the padding is not one.
        let hot_loop = hot_loop.as_ref().unwrap();
        assert_eq!((all.total, all.alu, all.fma, all.memory, all.other), (10, 2, 1, 2, 5));
        assert_eq!((hot_loop.total, hot_loop.alu, hot_loop.fma, hot_loop.memory, hot_loop.other), (5, 2, 0, 1, 2));
        let opcodes: Vec<_> = hot_loop.by_opcode.iter().map(|(opcode, count)| (opcode.as_str(), *count)).collect();
        assert_eq!(opcodes, [("BRA", 2), ("LDS", 1), ("LOP3", 2)]);
        assert_eq!((entries["two"].all.total, &entries["two"].hot_loop), (1, &None));
    }
}
