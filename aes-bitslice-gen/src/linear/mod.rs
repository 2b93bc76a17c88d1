//! The linear layers of a round, one column at a time, as circuits over GF(2).
//!
//! A column is four bytes, 32 bits: byte `r`, in row `r`, is bits `8r` to `8r + 7`, least significant first. Inputs
//! are `x0` to `x31` and, where a round key is added, `k0` to `k31`; outputs are `y0` to `y31`. ShiftRows moves whole
//! bytes and has no circuit.

pub mod xor_network;

use crate::aes::{Direction, cipher};
use crate::circuit::{Circuit, Wire, text};

/// MixColumns or InvMixColumns in the fewest LUT3s at hand, 53 and 56.
pub fn mix_column(direction: Direction) -> Circuit {
    match direction {
        Direction::Encrypt => read("MixColumns", include_str!("circuits/mixcolumns_53.lut")),
        Direction::Decrypt => read("InvMixColumns", include_str!("circuits/inv_mixcolumns_56.lut")),
    }
}

/// The same, followed by AddRoundKey with a key of the (equivalent inverse) cipher, in 77 and 86 LUT3s: where a sum
/// of two leaves the third input of a LUT3 free, a key bit costs nothing.
pub fn mix_column_with_key(direction: Direction) -> Circuit {
    match direction {
        Direction::Encrypt => read("MixColumns, AddRoundKey", include_str!("circuits/mixcolumns_key_77.lut")),
        Direction::Decrypt => read("InvMixColumns, AddRoundKey", include_str!("circuits/inv_mixcolumns_key_86.lut")),
    }
}

/// MixColumns or InvMixColumns as FIPS 197, section 5.1.3, defines it, in two-input XORs.
///
/// A product is a sum of products by powers of x, and a product by x, of a byte that lies in eight planes, moves the
/// planes up and adds the top one to three others (Hajihassani et al., "Fast AES Implementation: A High-Throughput
/// Bitsliced Approach", IEEE TPDS 2019, eq. 5).
pub fn mix_column_from_definition(direction: Direction) -> Circuit {
    let name = match direction {
        Direction::Encrypt => "MixColumns by definition",
        Direction::Decrypt => "InvMixColumns by definition",
    };
    let mut circuit = Circuit::new(name, names("x"));
    let coefficients = cipher::mix_coefficients(direction);
    // powers[i][r]: byte r times x^i.
    let mut powers: Vec<[[Wire; 8]; 4]> =
        vec![std::array::from_fn(|r| std::array::from_fn(|b| circuit.input(8 * r + b)))];
    while powers.len() < 4 {
        let last = powers[powers.len() - 1];
        powers.push(last.map(|byte| multiply_by_x(&mut circuit, byte)));
    }
    for row in 0..4 {
        // The new byte: the sum of these.
        let multiples: Vec<[Wire; 8]> = (0..4)
            .flat_map(|i| (0..4).map(move |k| (i, k)))
            .filter(|(i, k)| coefficients[(k + 4 - row) % 4] >> i & 1 == 1)
            .map(|(i, k)| powers[i][k])
            .collect();
        for bit in 0..8 {
            let sum = multiples.iter().map(|m| m[bit]).reduce(|a, b| circuit.xor(a, b)).expect("a row is not zero");
            circuit.output(format!("y{}", 8 * row + bit), sum);
        }
    }
    circuit.pruned()
}

/// AddRoundKey alone: `y = x ^ k`.
pub fn add_key_column() -> Circuit {
    let mut circuit = Circuit::new("AddRoundKey", names("x").chain(names("k")));
    for i in 0..32 {
        let (x, k) = (circuit.input(i), circuit.input(32 + i));
        let sum = circuit.xor(x, k);
        circuit.output(format!("y{i}"), sum);
    }
    circuit
}

/// x times a byte: one place up, and the reduction polynomial x^8 + x^4 + x^3 + x + 1 where a bit falls out.
fn multiply_by_x(circuit: &mut Circuit, byte: [Wire; 8]) -> [Wire; 8] {
    let top = byte[7];
    std::array::from_fn(|b| match b {
        0 => top,
        1 | 3 | 4 => circuit.xor(byte[b - 1], top),
        _ => byte[b - 1],
    })
}

fn names(prefix: &str) -> impl Iterator<Item = String> {
    (0..32).map(move |i| format!("{prefix}{i}"))
}

fn read(name: &str, netlist: &str) -> Circuit {
    text::parse(name, netlist).expect("a netlist of this crate")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

    /// The definition, followed by AddRoundKey.
    fn definition_with_key(direction: Direction) -> Circuit {
        let mix = mix_column_from_definition(direction);
        let add = add_key_column();
        let mut circuit = Circuit::new("reference", add.inputs());
        let inputs: Vec<Wire> = (0..64).map(|i| circuit.input(i)).collect();
        let mut operands = circuit.include(&mix, &inputs[..32]);
        operands.extend(&inputs[32..]);
        for (i, wire) in circuit.include(&add, &operands).into_iter().enumerate() {
            circuit.output(format!("y{i}"), wire);
        }
        circuit
    }

    #[test]
    fn the_definition_is_the_cipher_s() {
        for direction in DIRECTIONS {
            let circuit = mix_column_from_definition(direction);
            // A linear map is known by what it does to the unit vectors, and these are columns of one block.
            assert!(circuit.as_affine().is_some_and(|map| !map.constant.contains(&true)));
            for unit in 0..32 {
                let inputs: [bool; 32] = std::array::from_fn(|i| i == unit);
                let mut state = [0; 16];
                state[unit / 8] = 1 << (unit % 8);
                cipher::mix_columns(&mut state, direction);
                let expected: Vec<bool> = (0..32).map(|i| state[i / 8] >> (i % 8) & 1 == 1).collect();
                assert_eq!(circuit.evaluate(&inputs), expected);
            }
        }
    }

    #[test]
    fn the_netlists_are_the_definition_and_every_fault_shows() {
        for direction in DIRECTIONS {
            for (circuit, reference) in [
                (mix_column(direction), mix_column_from_definition(direction)),
                (mix_column_with_key(direction), definition_with_key(direction)),
            ] {
                assert_eq!(circuit.same_function(&reference), Ok(()), "{}", circuit.name());
                for i in 0..circuit.gates().len() {
                    assert!(circuit.with_fault(i).same_function(&reference).is_err(), "{}: gate {i}", circuit.name());
                }
            }
        }
    }

    #[test]
    fn names_and_counts() {
        let count = |circuit: fn(Direction) -> Circuit| DIRECTIONS.map(|d| circuit(d).gates().len());
        assert_eq!(count(mix_column), [53, 56]);
        assert_eq!(count(mix_column_with_key), [77, 86]);
        assert_eq!(add_key_column().stats().by_arity, [0, 0, 32, 0]);
        let outputs: Vec<String> = names("y").collect();
        for direction in DIRECTIONS {
            for (circuit, keyed) in [
                (mix_column(direction), false),
                (mix_column_from_definition(direction), false),
                (mix_column_with_key(direction), true),
                (add_key_column(), true),
            ] {
                let keys = names("k").take(if keyed { 32 } else { 0 });
                assert!(circuit.inputs().iter().cloned().eq(names("x").chain(keys)), "{}", circuit.name());
                assert!(circuit.outputs().iter().map(|(name, _)| name).eq(&outputs), "{}", circuit.name());
            }
        }
    }
}
