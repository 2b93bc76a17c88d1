//! The generator without any device: a circuit built by hand, counted, checked and printed, and the source of a kernel.
//! `cargo run --release --example generator_alone`

use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::circuit::Circuit;
use aes_bitslice_gen::emit::cuda;
use aes_bitslice_gen::kernel::KernelSpec;
use aes_bitslice_gen::sbox::{self, Sbox};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A full adder: two lookup tables.
    let mut adder = Circuit::new("full adder", ["a", "b", "carry"]);
    let inputs = [adder.input(0), adder.input(1), adder.input(2)];
    let sum = adder.xor_all(&inputs);
    let majority = adder.gate(aes_bitslice_gen::circuit::Lut3(0xe8), inputs);
    adder.output("sum", sum);
    adder.output("carry", majority);
    print!("{adder}");

    for sbox in sbox::ALL {
        let stats = sbox.lut3(Direction::Encrypt).stats();
        println!("S-box {}: {} LUT3s, depth {}", sbox.name, stats.gates(), stats.depth);
    }

    let spec = KernelSpec::planes(Mode::Ctr, Sbox::named("lut3")?);
    let printed = cuda::print(&spec.into(), "cargo run --example generator_alone")?;
    println!("{}: {} lines of CUDA C", printed.manifest.kernel, printed.source.lines().count());
    Ok(())
}
