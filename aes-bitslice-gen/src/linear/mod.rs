//! The linear layers of a round, one column at a time, as circuits over GF(2).
//!
//! A column is four bytes, 32 bits: byte `r`, in row `r`, is bits `8r` to `8r + 7`, least significant first. Inputs are `x0` to `x31` and,
//! where a round key is added, `k0` to `k31`; outputs are `y0` to `y31`. All bytes are in one basis, the standard one or another. ShiftRows
//! moves whole bytes and has no circuit.

pub mod xor_network;

use crate::circuit::{Circuit, Wire};
use crate::netlist::Netlist;
use aes_bitslice_core::aes::{Direction, cipher};
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::column_basis::ColumnBasis;

/// MixColumns or InvMixColumns on bytes in a basis, in the fewest known LUT3s.
///
/// Where no netlist is stored for the basis, changes of basis are put around the definition: correct, but not small.
pub fn mix_column(direction: Direction, basis: Basis) -> Circuit {
    let name = name_of(direction, basis);
    match stored(&KEYLESS, direction, basis) {
        Some(netlist) => netlist.renamed(name),
        None => mix_column_by_conjugation(direction, basis).renamed(name),
    }
}

/// MixColumns on one column in a basis, followed by AddRoundKey with a key of the (equivalent inverse) cipher in that basis: where a sum of
/// two operands leaves the third input of a LUT3 free, a key bit costs nothing.
pub fn mix_column_with_key(direction: Direction, basis: Basis) -> Circuit {
    let name = format!("{}, AddRoundKey", name_of(direction, basis));
    match stored(&KEYED, direction, basis) {
        Some(netlist) => netlist.renamed(name),
        None => followed_by_key(&mix_column(direction, basis)).renamed(name),
    }
}

/// MixColumns and AddRoundKey with a round key in its own basis ([`key_basis`]), in the fewest known LUT3s: key bits are added to inner
/// sums that leave the third input of a LUT3 free, and the sets of outputs that the 32 bits reach span all outputs.
pub fn mix_column_with_placed_key(direction: Direction, basis: Basis) -> Circuit {
    let name = format!("{}, AddRoundKey on the way", name_of(direction, basis));
    match stored(&PLACED, direction, basis) {
        Some(netlist) => netlist.renamed(name),
        None => mix_column_with_key(direction, basis),
    }
}

/// The basis of the round key of [`mix_column_with_placed_key`]: it defines the words that the circuit takes for a column.
pub fn key_basis(direction: Direction, basis: Basis) -> ColumnBasis {
    let map = mix_column_with_placed_key(direction, basis).as_affine().expect("a linear layer");
    let images = std::array::from_fn(|i| (map.rows[i] >> 32) as u32);
    ColumnBasis::with_product(images, basis).expect("a netlist of this crate takes every round key")
}

/// AddRoundKey with a round key of the key schedule, and then MixColumns: a round of the inverse cipher as in FIPS 197 (section 5.3), with
/// the round keys of the cipher.
pub fn mix_column_after_key(direction: Direction, basis: Basis) -> Circuit {
    let name = format!("AddRoundKey, {}", name_of(direction, basis));
    let mut circuit = Circuit::new(name, names("x").chain(names("k")));
    let sums: Vec<Wire> = (0..32).map(|i| circuit.xor(circuit.input(i), circuit.input(32 + i))).collect();
    for (i, wire) in circuit.include(&mix_column(direction, basis), &sums).into_iter().enumerate() {
        circuit.output(format!("y{i}"), wire);
    }
    circuit
}

/// Converts a column of a round key of the key schedule, with bytes in `basis`, to the form that [`mix_column_with_placed_key`] takes: in
/// its key basis, and for decryption after InvMixColumns, as in the equivalent inverse cipher (section 5.3.5).
pub fn placed_key(direction: Direction, basis: Basis) -> Circuit {
    let placed = key_basis(direction, basis);
    let image = |bit: usize| {
        let mut state = [0; 16];
        state[bit / 8] = basis.invert(1 << (bit % 8));
        if direction == Direction::Decrypt {
            cipher::mix_columns(&mut state, direction);
        }
        placed.apply(u32::from_le_bytes(*state.first_chunk().expect("a column")))
    };
    let images: [u32; 32] = std::array::from_fn(image);
    let rows: [u128; 32] =
        std::array::from_fn(|i| (0..32).fold(0, |row, bit| row | u128::from(images[bit] >> i & 1) << bit));
    let mut circuit = Circuit::new(format!("a round key for {}", name_of(direction, basis)), names("x"));
    let inputs: Vec<Wire> = (0..32).map(|i| circuit.input(i)).collect();
    for (i, wire) in xor_network::xor_network(&mut circuit, &inputs, &rows).into_iter().enumerate() {
        circuit.output(format!("y{i}"), wire);
    }
    circuit
}

/// Netlists for every direction, in the standard basis and in another.
type Stored = [(Direction, &'static str); 4];

const KEYLESS: Stored = [
    (Direction::Encrypt, include_str!("circuits/mix_columns.lut")),
    (Direction::Encrypt, include_str!("circuits/mix_columns_q.lut")),
    (Direction::Decrypt, include_str!("circuits/inv_mix_columns.lut")),
    (Direction::Decrypt, include_str!("circuits/inv_mix_columns_q.lut")),
];

const KEYED: Stored = [
    (Direction::Encrypt, include_str!("circuits/mix_columns_key.lut")),
    (Direction::Encrypt, include_str!("circuits/mix_columns_q_key.lut")),
    (Direction::Decrypt, include_str!("circuits/inv_mix_columns_key.lut")),
    (Direction::Decrypt, include_str!("circuits/inv_mix_columns_q_key.lut")),
];

/// Netlists with a round key in its own basis.
const PLACED: [(Direction, &str); 2] = [
    (Direction::Encrypt, include_str!("circuits/mix_columns_q_placed_key.lut")),
    (Direction::Decrypt, include_str!("circuits/inv_mix_columns_q_placed_key.lut")),
];

fn stored(netlists: &[(Direction, &str)], direction: Direction, basis: Basis) -> Option<Circuit> {
    let of_direction = netlists.iter().filter(|(d, _)| *d == direction);
    of_direction.map(|(_, text)| read(text)).find(|n| (n.from, n.to) == (basis, basis)).map(|n| n.circuit)
}

fn read(text: &str) -> Netlist {
    Netlist::parse("MixColumns", text).expect("a netlist of this crate")
}

/// Every netlist.
#[cfg(feature = "search")]
pub(crate) fn netlists() -> impl Iterator<Item = Netlist> {
    KEYLESS.into_iter().chain(KEYED).chain(PLACED).map(|(_, text)| read(text))
}

fn name_of(direction: Direction, basis: Basis) -> String {
    let name = match direction {
        Direction::Encrypt => "MixColumns",
        Direction::Decrypt => "InvMixColumns",
    };
    if basis == Basis::STANDARD { name.into() } else { format!("{name} in {basis}") }
}

/// The definition between changes of basis.
pub(crate) fn mix_column_by_conjugation(direction: Direction, basis: Basis) -> Circuit {
    rebased(&mix_column_from_definition(direction), [basis, Basis::STANDARD], [Basis::STANDARD, basis])
}

/// A circuit on bytes with a change of basis of its inputs before it, and of its outputs after it.
pub(crate) fn rebased(inner: &Circuit, before: [Basis; 2], after: [Basis; 2]) -> Circuit {
    let mut circuit = Circuit::new(inner.name(), inner.inputs());
    let inputs: Vec<Wire> = (0..inner.inputs().len()).map(|i| circuit.input(i)).collect();
    let inputs = change_basis(&mut circuit, &inputs, before[0], before[1]);
    let outputs = circuit.include(inner, &inputs);
    let outputs = change_basis(&mut circuit, &outputs, after[0], after[1]);
    for ((name, _), wire) in inner.outputs().iter().zip(outputs) {
        circuit.output(name.clone(), wire);
    }
    circuit.pruned()
}

/// A circuit on one column, followed by AddRoundKey.
pub(crate) fn followed_by_key(column: &Circuit) -> Circuit {
    let mut circuit = Circuit::new(column.name(), names("x").chain(names("k")));
    let inputs: Vec<Wire> = (0..64).map(|i| circuit.input(i)).collect();
    for (i, wire) in circuit.include(column, &inputs[..32]).into_iter().enumerate() {
        let sum = circuit.xor(wire, inputs[32 + i]);
        circuit.output(format!("y{i}"), sum);
    }
    circuit
}

/// Converts the bits of bytes, least significant first, from one basis to another, with XORs; for any number of bytes.
pub fn change_basis(circuit: &mut Circuit, bits: &[Wire], from: Basis, to: Basis) -> Vec<Wire> {
    if from == to {
        return bits.to_vec();
    }
    let rows = from.rows_into(to).map(u128::from);
    bits.as_chunks::<8>().0.iter().flat_map(|byte| xor_network::xor_network(circuit, byte, &rows)).collect()
}

/// MixColumns or InvMixColumns in two-input XORs, as in Hajihassani et al. 2019 (section 4.4, equation 5 and algorithm 1).
///
/// A new byte is a sum of products of the column's four bytes by small numbers (FIPS 197, section 5.1.3), by Horner's rule
/// 2 (x0 + x1) + x1 + x2 + x3, which is equation 5. The inverse, whose form the paper's text does not give, is that of a column which was
/// multiplied by 4 x^2 + 5: d(x) = (4 x^2 + 5) c(x) (J. Daemen, V. Rijmen, The Design of Rijndael, section 4.1.3). Each byte becomes x0 + 4 (x0 +
/// x2), where two bytes share the sum and its two doublings.
pub fn mix_column_from_definition(direction: Direction) -> Circuit {
    let name = match direction {
        Direction::Encrypt => "MixColumns by definition",
        Direction::Decrypt => "InvMixColumns by definition",
    };
    let mut circuit = Circuit::new(name, names("x"));
    let mut bytes: [[Wire; 8]; 4] = std::array::from_fn(|r| std::array::from_fn(|b| circuit.input(8 * r + b)));
    if direction == Direction::Decrypt {
        for row in 0..2 {
            let sum = add(&mut circuit, bytes[row], bytes[row + 2]);
            let twice = double(&mut circuit, sum);
            let four_times = double(&mut circuit, twice);
            for row in [row, row + 2] {
                bytes[row] = add(&mut circuit, bytes[row], four_times);
            }
        }
    }
    for row in 0..4 {
        let [x0, x1, x2, x3] = std::array::from_fn(|k| bytes[(row + k) % 4]);
        let sum = add(&mut circuit, x0, x1);
        let twice = double(&mut circuit, sum);
        let new = [x1, x2, x3].into_iter().fold(twice, |sum, byte| add(&mut circuit, sum, byte));
        for (bit, wire) in new.into_iter().enumerate() {
            circuit.output(format!("y{}", 8 * row + bit), wire);
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

/// The sum of two bytes.
fn add(circuit: &mut Circuit, a: [Wire; 8], b: [Wire; 8]) -> [Wire; 8] {
    std::array::from_fn(|bit| circuit.xor(a[bit], b[bit]))
}

/// Twice a byte: bits move up by renaming, and the bit that falls out is added to three of them (algorithm 1).
fn double(circuit: &mut Circuit, byte: [Wire; 8]) -> [Wire; 8] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sbox::LUT3;

    const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

    /// The bases that netlists are stored for, and one more.
    fn bases(direction: Direction) -> [Basis; 3] {
        [Basis::STANDARD, LUT3.basis(direction), Basis::new([3, 2, 4, 8, 16, 32, 65, 128]).unwrap()]
    }

    #[test]
    fn the_definition_is_the_cipher_s() {
        for direction in DIRECTIONS {
            let circuit = mix_column_from_definition(direction);
            // A linear map is determined by the images of the unit vectors, and these are columns of one block.
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
    fn a_change_of_basis_goes_through_the_cipher() {
        for direction in DIRECTIONS {
            for basis in bases(direction) {
                let circuit = mix_column_by_conjugation(direction, basis);
                for unit in 0..32 {
                    let mut state = [0; 16];
                    state[unit / 8] = 1 << (unit % 8);
                    let inputs: [bool; 32] = std::array::from_fn(|i| i == unit);
                    let mut expected = basis.invert_all(state);
                    cipher::mix_columns(&mut expected, direction);
                    let expected = basis.apply_all(expected);
                    let expected: Vec<bool> = (0..32).map(|i| expected[i / 8] >> (i % 8) & 1 == 1).collect();
                    assert_eq!(circuit.evaluate(&inputs), expected);
                }
                assert!(circuit.as_affine().is_some());
            }
        }
    }

    #[test]
    fn the_circuits_are_the_definition_and_every_fault_shows() {
        for direction in DIRECTIONS {
            for basis in bases(direction) {
                let definition = mix_column_by_conjugation(direction, basis);
                let placed = mix_column_with_placed_key(direction, basis);
                for (circuit, reference) in [
                    (mix_column(direction, basis), definition.clone()),
                    (mix_column_with_key(direction, basis), followed_by_key(&definition)),
                    (placed.clone(), followed_by_key_of(&definition, &placed)),
                ] {
                    assert_eq!(circuit.same_function(&reference), Ok(()), "{}", circuit.name());
                    for i in 0..circuit.gates().len() {
                        let faulty = circuit.with_fault(i);
                        assert!(faulty.same_function(&reference).is_err(), "{}: gate {i}", circuit.name());
                    }
                }
            }
        }
    }

    /// A circuit on one column, followed by the effect of `placed` on its key alone: nothing else is taken from `placed`.
    fn followed_by_key_of(column: &Circuit, placed: &Circuit) -> Circuit {
        let mut circuit = Circuit::new("definition", names("x").chain(names("k")));
        let inputs: Vec<Wire> = (0..64).map(|i| circuit.input(i)).collect();
        let mixed = circuit.include(column, &inputs[..32]);
        let images = placed.as_affine().unwrap().rows;
        let rows: Vec<u128> = images.iter().map(|row| row >> 32).collect();
        let key = xor_network::xor_network(&mut circuit, &inputs[32..], &rows);
        for i in 0..32 {
            let sum = circuit.xor(mixed[i], key[i]);
            circuit.output(format!("y{i}"), sum);
        }
        circuit
    }

    /// The circuit turns the words of a key basis into the round key.
    #[test]
    fn a_placed_key_is_the_round_key() {
        for direction in DIRECTIONS {
            for basis in bases(direction) {
                let (circuit, key_basis) = (mix_column_with_placed_key(direction, basis), key_basis(direction, basis));
                for column in (0..32).map(|i| 1u32 << i) {
                    let word = u64::from(key_basis.apply(column)) << 32;
                    let inputs: Vec<bool> = (0..64).map(|i| word >> i & 1 == 1).collect();
                    let bytes = column.to_le_bytes().map(|byte| basis.apply(byte));
                    let expected: Vec<bool> = (0..32).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1).collect();
                    assert_eq!(circuit.evaluate(&inputs), expected);
                }
            }
        }
    }

    /// The inverse cipher and its equivalent form agree, round by round.
    #[test]
    fn a_key_before_the_layer_is_a_placed_key_within_it() {
        for basis in bases(Direction::Decrypt) {
            let straight = mix_column_after_key(Direction::Decrypt, basis);
            let mut placed = Circuit::new("placed", names("x").chain(names("k")));
            let inputs: Vec<Wire> = (0..64).map(|i| placed.input(i)).collect();
            let key = placed.include(&placed_key(Direction::Decrypt, basis), &inputs[32..]);
            let mix = mix_column_with_placed_key(Direction::Decrypt, basis);
            let outputs = placed.include(&mix, &[&inputs[..32], &key].concat());
            outputs.into_iter().enumerate().for_each(|(i, wire)| placed.output(format!("y{i}"), wire));
            assert_eq!(placed.same_function(&straight), Ok(()));
            for i in (0..straight.gates().len()).step_by(7) {
                assert!(placed.same_function(&straight.with_fault(i)).is_err(), "gate {i}");
            }
        }
        let basis = LUT3.basis(Direction::Encrypt);
        let words = placed_key(Direction::Encrypt, basis).as_affine().unwrap().rows;
        let bytes = 0x1234_5678u32.to_le_bytes();
        let column = u32::from_le_bytes(bytes.map(|byte| basis.apply(byte)));
        let word = (0..32).fold(0, |word, i| word | ((words[i] as u32 & column).count_ones() & 1) << i);
        assert_eq!(word, key_basis(Direction::Encrypt, basis).apply(0x1234_5678));
    }

    #[test]
    fn names_and_counts() {
        let no_more = |direction, basis, most: [usize; 3]| {
            let layers = [mix_column, mix_column_with_key, mix_column_with_placed_key];
            let gates = layers.map(|layer| layer(direction, basis).gates().len());
            assert!((0..3).all(|i| gates[i] <= most[i]), "{direction:?} {basis}: {gates:?}");
        };
        no_more(Direction::Encrypt, Basis::STANDARD, [53, 72, 72]);
        no_more(Direction::Decrypt, Basis::STANDARD, [55, 77, 77]);
        no_more(Direction::Encrypt, LUT3.basis(Direction::Encrypt), [59, 79, 70]);
        no_more(Direction::Decrypt, LUT3.basis(Direction::Decrypt), [62, 81, 69]);
        assert_eq!(add_key_column().stats().by_arity, [0, 0, 32, 0]);
        let outputs: Vec<String> = names("y").collect();
        for direction in DIRECTIONS {
            let layers = bases(direction).map(|basis| {
                let keyed = [mix_column_with_key, mix_column_with_placed_key].map(|layer| layer(direction, basis));
                let [with_key, with_placed_key] = keyed;
                [(mix_column(direction, basis), false), (with_key, true), (with_placed_key, true)]
            });
            let others = [(mix_column_from_definition(direction), false), (add_key_column(), true)];
            for (circuit, keyed) in layers.into_iter().flatten().chain(others) {
                let keys = names("k").take(if keyed { 32 } else { 0 });
                assert!(circuit.inputs().iter().cloned().eq(names("x").chain(keys)), "{}", circuit.name());
                assert!(circuit.outputs().iter().map(|(name, _)| name).eq(&outputs), "{}", circuit.name());
            }
        }
    }
}
