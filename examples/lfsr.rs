//! The generator outside AES: a linear-feedback shift register, bitsliced (Hajihassani et al. 2019, section 4.1),
//! counted, and compared with the register as it is defined. `cargo run --release --example lfsr`

use aes_bitslice_gen::circuit::Circuit;
use aes_bitslice_gen::emit::c::{self, Gates};

/// Bits of the register.
const BITS: usize = 16;
/// The bits whose sum is the new bit (Equation 1 of the paper).
const TAPS: [usize; 4] = [15, 13, 12, 10];
/// With these taps a register runs through every state except zero.
const PERIOD: usize = (1 << BITS) - 1;
/// The number of registers with a bit in a word.
const LANES: usize = u32::BITS as usize;
/// The number of bits that the paper counts.
const WANTED: usize = 1024;

/// One clock of one register, and its operations: a shift for each of the four taps, three XORs, the mask, and the
/// shift of the register with the OR of the new bit.
fn clock(register: u16) -> u16 {
    let new = (register >> TAPS[0] ^ register >> TAPS[1] ^ register >> TAPS[2] ^ register >> TAPS[3]) & 1;
    register << 1 | new
}
const CLOCK_OPERATIONS: usize = 4 + 3 + 1 + 2;

/// One clock of all registers, where word `i` is bit `i` of each: the shift only renames words and costs nothing.
fn clock_circuit() -> Circuit {
    let mut circuit = Circuit::new("one clock of 16-bit LFSRs", (0..BITS).map(|i| format!("r{i}")));
    let taps = TAPS.map(|tap| circuit.input(tap));
    let new = circuit.xor_all(&taps);
    circuit.output("r0", new);
    for i in 1..BITS {
        circuit.output(format!("r{i}"), circuit.input(i - 1));
    }
    circuit
}

/// The words of these registers.
fn bitsliced(registers: &[u16; LANES]) -> [u32; BITS] {
    std::array::from_fn(|i| (0..LANES).fold(0, |word, lane| word | u32::from(registers[lane] >> i & 1) << lane))
}

fn main() {
    // The registers begin far apart, so that none repeats the output of another.
    let mut registers = [1u16; LANES];
    for lane in 1..LANES {
        registers[lane] = (0..PERIOD / LANES).fold(registers[lane - 1], |register, _| clock(register));
    }
    let first = registers;
    let circuit = clock_circuit();
    let mut words = bitsliced(&first).to_vec();
    for step in 1..=PERIOD {
        registers = registers.map(clock);
        words = circuit.evaluate(&words);
        assert_eq!(words, bitsliced(&registers), "the registers after {step} clocks");
        assert_eq!(registers == first, step == PERIOD, "the period is not {PERIOD}: {step} clocks");
    }
    println!("{LANES} registers, {PERIOD} clocks, a whole period: bitsliced and serial agree in every bit.\n");

    let gates = circuit.stats().gates();
    println!("{WANTED} bits                              clocks  operations");
    for (form, registers, operations) in [
        ("serial: one register", 1, CLOCK_OPERATIONS),
        ("parallel: 16 threads, one each", 16, 16 * CLOCK_OPERATIONS),
        ("bitsliced: one thread, 16 lanes", 16, gates),
        ("bitsliced: 16 threads, 16 lanes", 16 * 16, 16 * gates),
        ("bitsliced: one thread, 32 lanes", LANES, gates),
        ("bitsliced: 16 threads, 32 lanes", 16 * LANES, 16 * gates),
    ] {
        let clocks = WANTED / registers;
        println!("{form:36}  {clocks:8}  {:10}", clocks * operations);
    }
    println!("\nAs CUDA C:\n\n{}", c::function(&circuit, "clock_lfsr", Gates::Tables));
}
