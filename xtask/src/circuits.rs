//! A table of the circuits.

use aes_bitslice_gen::aes::Direction;
use aes_bitslice_gen::circuit::{Circuit, cover};
use aes_bitslice_gen::{linear, sbox};
use anyhow::Result;

/// Prints all S-boxes and linear layers, each as it was published or built and as the LUT3s it is printed with.
pub fn run() -> Result<()> {
    say!("                                            as built                  in LUT3s");
    say!("{:36}   gates  of three  depth  alive    LUT3  depth  alive", "");
    const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];
    for sbox in sbox::ALL {
        for direction in DIRECTIONS {
            row(&sbox.circuit(direction), &sbox.lut3(direction));
        }
    }
    for layer in [linear::mix_column_from_definition, linear::mix_column, linear::mix_column_with_key] {
        for direction in DIRECTIONS {
            let circuit = layer(direction);
            let covered = cover::cover(&circuit);
            row(&circuit, if covered.gates().len() < circuit.gates().len() { &covered } else { &circuit });
        }
    }
    let add = linear::add_key_column();
    row(&add, &add);
    say!("\nS-boxes are of one byte, linear layers of one column of four bytes. Alive: values, at most at one time.");
    for sbox in sbox::ALL {
        say!("{}: {}", sbox.name, sbox.source);
    }
    Ok(())
}

fn row(native: &Circuit, lut3: &Circuit) {
    let (n, l) = (native.stats(), lut3.stats());
    say!(
        "{:36}  {:6}  {:8}  {:5}  {:5}  {:6}  {:5}  {:5}",
        native.name(),
        n.gates(),
        n.by_arity[3],
        n.depth,
        n.peak_live,
        l.gates(),
        l.depth,
        l.peak_live
    );
}
