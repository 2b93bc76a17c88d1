//! The three places round keys can come from, each as the steps of the cipher with its circuits.

use super::plan::{Call, KeyOperand, Plan, Step};
use crate::aes::{Direction, KeySchedule};
use crate::basis::Basis;
use crate::circuit::{Circuit, Wire};
use crate::{layout, linear};

const ADD_ROUND_KEY: &str = "AddRoundKey on one column, the key in bit-planes.";

/// Round keys as bit-planes handed over at launch; the rounds are a loop.
pub(super) fn planes(plan: &mut Plan) -> Vec<Step> {
    let direction = plan.direction();
    let sub = sub_byte(plan);
    let mix =
        plan.function("mix_column", &about_mix(direction), || linear::mix_column_with_key(direction, Basis::STANDARD));
    let add = plan.function("add_round_key", ADD_ROUND_KEY, linear::add_key_column);
    let key = KeyOperand::Planes;
    vec![
        Step::AddFirstRoundKey(Call { functions: [add; 4], key }),
        Step::Rounds(vec![sub.clone(), Step::MixColumns(Call { functions: [mix; 4], key })]),
        Step::Section("last round, without MixColumns".into()),
        sub,
        Step::AddLastRoundKey(Call { functions: [add; 4], key }),
    ]
}

/// Round keys baked in and picked by one-hot selectors; the rounds are a loop
/// (Hajihassani et al. 2019, section 4.6: a logical multiplexer instead of branches).
pub(super) fn one_hot_mux(plan: &mut Plan, keys: &KeySchedule) -> Vec<Step> {
    let direction = plan.direction();
    let sub = sub_byte(plan);
    let last = keys.rounds();
    let mix = std::array::from_fn(|c| {
        let about = format!("{} Its round key is picked by the selectors.", about_mix(direction));
        plan.function(&format!("mix_column_{c}"), &about, || {
            let mut circuit = Circuit::new(
                format!(
                    "{} with a one-hot multiplexer",
                    linear::mix_column_with_key(direction, Basis::STANDARD).name()
                ),
                names("x", 32).chain((1..last).map(|r| format!("round{r}"))),
            );
            let mut args: Vec<Wire> = (0..32).map(|i| circuit.input(i)).collect();
            for bit in 0..32 {
                args.push(multiplexer(&mut circuit, |r| layout::key_bit(&keys.round_keys()[r], 32 * c + bit), last));
            }
            include_all(circuit, &linear::mix_column_with_key(direction, Basis::STANDARD), &args)
        })
    });
    let mut add_constant = |name: &str, round: usize| {
        std::array::from_fn(|c| {
            let key = keys.round_keys()[round];
            plan.function(&format!("{name}_{c}"), "AddRoundKey on one column, the key baked in.", || {
                linear::add_key_column()
                    .with_constants(|i| i.checked_sub(32).map(|bit| layout::key_bit(&key, 32 * c + bit)))
            })
        })
    };
    let (first, final_) = (add_constant("add_first_round_key", 0), add_constant("add_last_round_key", last));
    vec![
        Step::AddFirstRoundKey(Call { functions: first, key: KeyOperand::None }),
        Step::Rounds(vec![sub.clone(), Step::MixColumns(Call { functions: mix, key: KeyOperand::Selectors })]),
        Step::Section("last round, without MixColumns".into()),
        sub,
        Step::AddLastRoundKey(Call { functions: final_, key: KeyOperand::None }),
    ]
}

/// The key bit of the selected round, `selector` of round `r` being input `31 + r`: an OR of the selectors of the
/// rounds in which the bit is set. Selectors go in groups of three, so that key bits with the same pattern in a
/// group share a gate.
fn multiplexer(circuit: &mut Circuit, bit: impl Fn(usize) -> bool, last: usize) -> Wire {
    let rounds: Vec<usize> = (1..last).collect();
    let mut groups = Vec::new();
    for group in rounds.chunks(3) {
        let set: Vec<Wire> = group.iter().filter(|&&r| bit(r)).map(|&r| circuit.input(31 + r)).collect();
        if !set.is_empty() {
            groups.push(circuit.or_all(&set));
        }
    }
    circuit.or_all(&groups)
}

/// Round keys folded into truth tables; the rounds are written out.
pub(super) fn immediate(plan: &mut Plan, keys: &KeySchedule) -> Vec<Step> {
    let direction = plan.direction();
    let last = keys.rounds();
    let none = KeyOperand::None;
    let substitute = |plan: &mut Plan, into: Option<&[u8; 16]>, out: Option<&[u8; 16]>| {
        let functions = std::array::from_fn(|j| match (into, out) {
            // The first round key complements inputs of the first S-boxes, ...
            (Some(key), _) => folded_sub_byte(plan, key[j], 0),
            // ... the last one outputs of the last S-boxes: at the byte that ShiftRows brings to its place.
            (_, Some(key)) => {
                let to = (0..16).find(|&to| crate::aes::cipher::shift_rows_source(to, direction) == j);
                folded_sub_byte(plan, 0, key[to.expect("ShiftRows is a permutation")])
            }
            _ => folded_sub_byte(plan, 0, 0),
        });
        Step::SubBytes(Call { functions, key: none })
    };
    let mut steps = Vec::new();
    for round in 1..last {
        let round_key = keys.round_keys()[round];
        steps.push(Step::Section(format!("round {round}")));
        steps.push(substitute(plan, (round == 1).then_some(&keys.round_keys()[0]), None));
        let functions = std::array::from_fn(|c| {
            plan.function(&format!("mix_column_round{round}_{c}"), &about_mix(direction), || {
                linear::mix_column(direction, Basis::STANDARD)
                    .complemented(|_| false, |bit| layout::key_bit(&round_key, 32 * c + bit))
            })
        });
        steps.push(Step::MixColumns(Call { functions, key: none }));
    }
    steps.push(Step::Section(format!("round {last}, without MixColumns")));
    steps.push(substitute(plan, None, Some(&keys.round_keys()[last])));
    let shift = plan.function("shift_rows", "Four bytes moved by ShiftRows: names only.", || {
        let mut circuit = Circuit::new("moves", names("x", 32));
        (0..32).for_each(|i| circuit.output(format!("y{i}"), circuit.input(i)));
        circuit
    });
    steps.push(Step::AddLastRoundKey(Call { functions: [shift; 4], key: none }));
    steps
}

/// SubBytes without a key.
fn sub_byte(plan: &mut Plan) -> Step {
    Step::SubBytes(Call { functions: [folded_sub_byte(plan, 0, 0); 16], key: KeyOperand::None })
}

/// The S-box with key bytes folded into its tables: complemented inputs, complemented outputs.
fn folded_sub_byte(plan: &mut Plan, before: u8, after: u8) -> usize {
    let direction = plan.direction();
    let (name, about) = match direction {
        Direction::Encrypt => ("sub_byte", "SubBytes on one byte"),
        Direction::Decrypt => ("inv_sub_byte", "InvSubBytes on one byte"),
    };
    let (name, about) = match (before, after) {
        (0, 0) => (name.to_string(), format!("{about}.")),
        (key, 0) => {
            (format!("{name}_of_{key:02x}"), format!("{about}, its input complemented where {key:#04x} is set."))
        }
        (_, key) => {
            (format!("{name}_to_{key:02x}"), format!("{about}, its output complemented where {key:#04x} is set."))
        }
    };
    let sbox = plan.spec.sbox;
    plan.function(&name, &about, || {
        sbox.lut3(direction).complemented(|i| before >> i & 1 == 1, |i| after >> i & 1 == 1)
    })
}

fn about_mix(direction: Direction) -> String {
    match direction {
        Direction::Encrypt => "MixColumns and AddRoundKey on one column.".into(),
        Direction::Decrypt => "InvMixColumns and AddRoundKey on one column.".into(),
    }
}

fn names(prefix: &str, n: usize) -> impl Iterator<Item = String> {
    (0..n).map(move |i| format!("{prefix}{i}"))
}

/// `circuit` finished by another one over `args`, with that one's outputs.
fn include_all(mut circuit: Circuit, other: &Circuit, args: &[Wire]) -> Circuit {
    let wires = circuit.include(other, args);
    for ((name, _), wire) in other.outputs().iter().zip(wires) {
        circuit.output(name.clone(), wire);
    }
    circuit.pruned()
}
