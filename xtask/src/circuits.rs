//! A table of the circuits.

use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_gen::circuit::{Circuit, cover};
use aes_bitslice_gen::{linear, sbox};
use anyhow::Result;

/// Prints all S-boxes and linear layers, each as it was published or built and as the LUT3s with which it is printed.
pub fn run() -> Result<()> {
    say!("                                            as built                  in LUT3s");
    say!("{:36}   gates  of three  depth  alive    LUT3  depth  alive", "");
    const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];
    for sbox in sbox::ALL {
        for direction in DIRECTIONS {
            row(&sbox.circuit(direction), &sbox.lut3(direction));
        }
    }
    for direction in DIRECTIONS {
        let q = sbox::LUT3.basis(direction);
        for (from, to) in [(q, q), (Basis::STANDARD, q), (q, Basis::STANDARD)] {
            let word = |basis| if basis == q { "Q" } else { "standard" };
            let name = format!("{}, {} to {}", sbox::LUT3.lut3(direction).name(), word(from), word(to));
            let circuit = sbox::LUT3.lut3_between(direction, from, to).renamed(name);
            row(&circuit, &circuit);
        }
    }
    for direction in DIRECTIONS {
        let definition = linear::mix_column_from_definition(direction);
        row(&definition, &cover::cover(&definition));
        for (basis, suffix) in [(Basis::STANDARD, ""), (sbox::LUT3.basis(direction), " in Q")] {
            for layer in [linear::mix_column, linear::mix_column_with_key] {
                let name = format!("{}{suffix}", layer(direction, Basis::STANDARD).name());
                let circuit = layer(direction, basis).renamed(name);
                row(&circuit, &circuit);
            }
        }
        let placed = linear::mix_column_with_placed_key(direction, sbox::LUT3.basis(direction));
        row(
            &placed
                .clone()
                .renamed(format!("{}, placed", linear::mix_column_with_key(direction, Basis::STANDARD).name())),
            &placed,
        );
    }
    let add = linear::add_key_column();
    row(&add, &add);
    say!("\nS-boxes are of one byte, linear layers of one column of four bytes. Alive: values, at most at one time.");
    for direction in DIRECTIONS {
        say!("Q, in which {direction:?} keeps the state between rounds: {}.", sbox::LUT3.basis(direction));
    }
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
