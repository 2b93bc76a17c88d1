//! The instructions around those that are tested, encoded for compute capability 9.0: they bring operands into registers, and results into
//! memory. NVIDIA documents no encodings: these are those of stored kernels, and `nvdisasm` says what they are.

/// Which bits of an instruction tell when the next one is issued, and what it waits for itself.
const CONTROL: u128 = 0x1f_ffff << 105;
/// Bits in which an instruction names the barrier that it releases with its result, and when it has read its operands.
const RESULT: u32 = 110;
const OPERANDS: u32 = 113;

/// It waits for all results before it, and the next one as many clocks as the longest of known duration takes.
const SLOWLY: u128 = 13 << 105 | 7 << RESULT | 7 << OPERANDS | 0x3f << 116;

/// Opcodes of unknown duration, which say when their result is there, or when they have read their operands.
const WITH_RESULT: [&str; 13] =
    ["ATOMS", "F2I", "FLO", "I2F", "LDC", "LDG", "LDS", "MUFU", "POPC", "REDUX", "S2R", "S2UR", "SHFL"];
const WITHOUT: [&str; 2] = ["STG", "STS"];

/// The instruction of this opcode on its own: nothing before or after it is under way at the same time.
pub fn alone(word: u128, opcode: &str) -> u128 {
    let released = if WITH_RESULT.contains(&opcode) {
        7 << RESULT
    } else if WITHOUT.contains(&opcode) {
        7 << OPERANDS
    } else {
        0
    };
    word & !CONTROL | SLOWLY & !released
}

/// An instruction, executed if `PT`.
fn of(opcode: &str, high: u64, low: u64) -> u128 {
    alone(u128::from(high) << 64 | u128::from(low) | 7 << 12, opcode)
}

fn field(number: usize, at: u32) -> u64 {
    (number as u64) << at
}

/// The register that is zero, and the one of uniform registers.
pub const RZ: usize = 255;
const URZ: usize = 63;

pub fn nop() -> u128 {
    of("NOP", 0, 0x918)
}

pub fn exit() -> u128 {
    of("EXIT", 0x380_0000, 0x94d)
}

/// `S2R to, SR_TID.X`
pub fn thread(to: usize) -> u128 {
    of("S2R", 0x2100, 0x919 | field(to, 16))
}

/// `S2R to, SR_CTAID.X`
pub fn block(to: usize) -> u128 {
    of("S2R", 0x2500, 0x919 | field(to, 16))
}

/// `IMAD to, a, factor, c`
pub fn product(to: usize, a: usize, factor: usize, c: usize) -> u128 {
    of("IMAD", 0x78e_0200 | c as u64, 0x824 | field(to, 16) | field(a, 24) | field(factor, 32))
}

/// `IMAD.WIDE.U32 to, a, factor, to`
pub fn wide_product(to: usize, a: usize, factor: usize) -> u128 {
    of("IMAD", 0x78e_0000 | to as u64, 0x825 | field(to, 16) | field(a, 24) | field(factor, 32))
}

/// `LDC.64 to, c[0x0][at]`
pub fn parameter(to: usize, at: usize) -> u128 {
    of("LDC", 0xa00, 0xb82 | field(to, 16) | field(RZ, 24) | field(at, 38))
}

/// `ULDC.64 to, c[0x0][0x208]`: the descriptor of device memory.
pub fn descriptor(to: usize) -> u128 {
    of("ULDC", 0xa00, 0xab9 | field(to, 16) | field(0x208, 38))
}

/// `LDG.E to, desc[descriptor][base.64+at]`
pub fn load(to: usize, descriptor: usize, base: usize, at: usize) -> u128 {
    of("LDG", 0xc1e_1900, 0x981 | field(to, 16) | field(base, 24) | field(descriptor, 32) | field(at, 40))
}

/// `STG.E desc[descriptor][base.64+at], from`
pub fn store(from: usize, descriptor: usize, base: usize, at: usize) -> u128 {
    of("STG", 0xc10_1900 | descriptor as u64, 0x986 | field(base, 24) | field(from, 32) | field(at, 40))
}

/// `LDS to, [base+at]`
pub fn load_shared(to: usize, base: usize, at: usize) -> u128 {
    of("LDS", 0x800, 0x984 | field(to, 16) | field(base, 24) | field(at, 40))
}

/// `STS [base+at], from`
pub fn store_shared(from: usize, base: usize, at: usize) -> u128 {
    of("STS", 0x800, 0x388 | field(base, 24) | field(from, 32) | field(at, 40))
}

/// `R2UR to, from`
pub fn to_uniform(to: usize, from: usize) -> u128 {
    of("R2UR", 0xe_0000, 0x2ca | field(to, 16) | field(from, 24))
}

/// `IMAD.U32 to, RZ, RZ, from`, from a uniform register.
pub fn from_uniform(to: usize, from: usize) -> u128 {
    of("IMAD", 0xf8e_0000 | RZ as u64, 0xe24 | field(to, 16) | field(RZ, 24) | field(from, 32))
}

/// `ISETP.NE.AND to, PT, from, RZ, PT`
pub fn to_predicate(to: usize, from: usize) -> u128 {
    of("ISETP", 0x3f0_5270 | field(to, 17), 0x20c | field(from, 24) | field(RZ, 32))
}

/// `SEL to, RZ, 0x1, !from`
pub fn from_predicate(to: usize, from: usize) -> u128 {
    of("SEL", 0x400_0000 | field(from, 23), 0x807 | field(to, 16) | field(RZ, 24) | field(1, 32))
}

/// `UISETP.NE.AND to, UPT, from, URZ, UPT`
pub fn to_uniform_predicate(to: usize, from: usize) -> u128 {
    of("UISETP", 0xbf0_5270 | field(to, 17), 0x28c | field(from, 24) | field(URZ, 32))
}

/// `USEL to, URZ, 0x1, !from`
pub fn from_uniform_predicate(to: usize, from: usize) -> u128 {
    of("USEL", 0xc00_0000 | field(from, 23), 0x887 | field(to, 16) | field(URZ, 24) | field(1, 32))
}

/// A branch, or what notes where threads meet, with another distance to its label, in instructions after the next one.
pub fn with_distance(word: u128, opcode: &str, distance: i64) -> u128 {
    let distance = (4 * distance) as u128;
    if opcode == "BSSY" {
        let bits = 0xffff_ffff << 32;
        word & !bits | distance << 34 & bits
    } else {
        let (lower, upper): (u128, u128) = (0xff << 16, ((1 << 48) - 1) << 34);
        word & !lower & !upper | (distance & 0xff) << 16 | distance >> 8 << 34 & upper
    }
}
