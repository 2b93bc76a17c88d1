//! From a specification to a plan: the sources of round keys, each as the steps of the cipher with its circuits.

use super::plan::{Call, KeyOperand, Plan, Step};
use super::spec::{KernelSpec, Layers, RoundKeys, Selected};
use crate::circuit::{Circuit, Wire};
use crate::linear;
use aes_bitslice_core::aes::{Direction, KeySchedule};
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::layout::{self, Layout};
use aes_bitslice_core::mode::State;

const ADD_ROUND_KEY: &str = "AddRoundKey on one column, the key in bit-planes.";

impl Plan {
    /// The plan for a specification.
    pub fn new(spec: &KernelSpec) -> Self {
        let mut plan =
            Self { spec: spec.clone(), functions: Vec::new(), first: Vec::new(), round: Vec::new(), last: Vec::new() };
        match (&spec.round_keys, spec.layout) {
            (RoundKeys::Planes | RoundKeys::PlanesInMemory | RoundKeys::Bits, _)
            | (RoundKeys::OneHotMux(_), Layout::Column) => planes(&mut plan),
            (RoundKeys::OneHotMux(schedule), Layout::State) => one_hot_mux(&mut plan, schedule),
        }
        plan
    }
}

/// Round keys as bit-planes read from memory, whatever their source; the rounds are a loop.
fn planes(plan: &mut Plan) {
    let (direction, basis) = (plan.direction(), plan.spec.basis);
    let add = plan.function("add_round_key", ADD_ROUND_KEY, linear::add_key_column);
    let [first, middle, last] = [Place::First, Place::Middle, Place::Last].map(|place| sub_bytes(plan, place));
    let add = |key| Call { functions: [add; 4], key };
    let mix = match plan.spec.layers {
        Layers::Fewest => {
            let mix = plan
                .function("mix_column", &about_mix(direction), || linear::mix_column_with_placed_key(direction, basis));
            vec![Step::MixColumns(Call { functions: [mix; 4], key: KeyOperand::Planes })]
        }
        Layers::Published => vec![published_mix(plan), Step::AddRoundKey(add(KeyOperand::Planes))],
    };
    // A thread that holds a column has the column's round key as one word for all its blocks.
    let (first_key, last_key) = match (plan.spec.layout, plan.spec.mode.state()) {
        (Layout::State, _) => (KeyOperand::Planes, KeyOperand::Planes),
        (Layout::Column, State::Data) => (KeyOperand::Bytes, KeyOperand::Bytes),
        (Layout::Column, State::Counters) => (KeyOperand::Planes, KeyOperand::Bytes),
    };
    plan.first = vec![Step::AddRoundKey(add(first_key)), first];
    plan.round = [&mix[..], &[middle]].concat();
    plan.last = [&mix[..], &[last, Step::AddLastRoundKey(add(last_key))]].concat();
}

/// Round keys baked in and selected by one-hot selectors; the rounds are a loop (Hajihassani et al. 2019, section 4.6: a logical
/// multiplexer instead of branches).
fn one_hot_mux(plan: &mut Plan, keys: &KeySchedule) {
    let (direction, basis) = (plan.direction(), plan.spec.basis);
    let round_keys = layout::round_keys(keys, plan.spec.key_basis());
    let last = keys.rounds();
    let selected = plan.spec.selected_keys(last);
    let [first_sub, middle_sub, last_sub] = [Place::First, Place::Middle, Place::Last].map(|p| sub_bytes(plan, p));
    // The circuit of a layer with a key; the selectors pick the key bits of a column.
    let keyed = |layer: &Circuit, c: usize, layers| {
        let mut circuit = Circuit::new(
            format!("{} with a one-hot multiplexer", layer.name()),
            names("x", 32).chain(selected.clone().map(|r| format!("round{r}"))),
        );
        let mut args: Vec<Wire> = (0..32).map(|i| circuit.input(i)).collect();
        for bit in 0..32 {
            let key_bits = selected.clone().map(|r| layout::key_bit(&round_keys[r], 32 * c + bit));
            args.push(multiplexer(&mut circuit, layers, &key_bits.collect::<Vec<_>>()));
        }
        include_all(circuit, layer, &args)
    };
    let mix = match plan.spec.layers {
        Layers::Fewest => {
            let about = format!("{} Its round key is picked by the selectors.", about_mix(direction));
            let mix = linear::mix_column_with_placed_key(direction, basis);
            let functions = std::array::from_fn(|c| {
                plan.function(&format!("mix_column_{c}"), &about, || keyed(&mix, c, Layers::Fewest))
            });
            vec![Step::MixColumns(Call { functions, key: KeyOperand::Selectors })]
        }
        Layers::Published => {
            let about = "AddRoundKey on one column, the round key picked by the selectors.";
            let add = linear::add_key_column();
            let functions = std::array::from_fn(|c| {
                plan.function(&format!("add_round_key_{c}"), about, || keyed(&add, c, Layers::Published))
            });
            let add = Call { functions, key: KeyOperand::Selectors };
            let mix = [published_mix(plan), Step::AddRoundKey(add.clone())];
            if plan.spec.selected == Selected::All {
                plan.first = vec![Step::AddRoundKey(add.clone()), first_sub];
                plan.round = [&mix[..], &[middle_sub]].concat();
                plan.last = [&mix[..], &[last_sub, Step::AddLastRoundKey(add)]].concat();
                return;
            }
            mix.to_vec()
        }
    };
    let mut add_constant = |name: &str, round: usize| {
        std::array::from_fn(|c| {
            let key = round_keys[round];
            plan.function(&format!("{name}_{c}"), "AddRoundKey on one column, the key baked in.", || {
                linear::add_key_column()
                    .with_constants(|i| i.checked_sub(32).map(|bit| layout::key_bit(&key, 32 * c + bit)))
            })
        })
    };
    let (first, final_) = (add_constant("add_first_round_key", 0), add_constant("add_last_round_key", last));
    plan.first = vec![Step::AddRoundKey(Call { functions: first, key: KeyOperand::None }), first_sub];
    plan.round = [&mix[..], &[middle_sub]].concat();
    let final_ = Step::AddLastRoundKey(Call { functions: final_, key: KeyOperand::None });
    plan.last = [&mix[..], &[last_sub, final_]].concat();
}

/// The key bit of the selected round, given the bit of each round that may be: an OR of the selectors, which are the inputs from 32 on, of
/// the rounds in which the bit is set. Selectors are taken in groups of three, so that key bits with the same pattern in a group share a
/// gate. In the published form they are taken one after the other, and the ANDs with known key bits are folded.
fn multiplexer(circuit: &mut Circuit, layers: Layers, bits: &[bool]) -> Wire {
    let of_set = |circuit: &Circuit, from: usize, bits: &[bool]| -> Vec<Wire> {
        (0..bits.len()).filter(|&i| bits[i]).map(|i| circuit.input(32 + from + i)).collect()
    };
    if layers == Layers::Published {
        let set = of_set(circuit, 0, bits).into_iter();
        return set.reduce(|a, b| circuit.or(a, b)).unwrap_or_else(|| circuit.constant(false));
    }
    let mut groups = Vec::new();
    for (g, group) in bits.chunks(3).enumerate() {
        let set = of_set(circuit, 3 * g, group);
        if !set.is_empty() {
            groups.push(circuit.or_all(&set));
        }
    }
    circuit.or_all(&groups)
}

/// MixColumns without a key, as published.
fn published_mix(plan: &mut Plan) -> Step {
    let direction = plan.direction();
    let about = match direction {
        Direction::Encrypt => "MixColumns on one column (Hajihassani et al. 2019, equation 5 and algorithm 1).",
        Direction::Decrypt => "InvMixColumns on one column: MixColumns of its product with 4 x^2 + 5.",
    };
    let mix = plan.function("mix_column", about, || linear::mix_column_from_definition(direction));
    Step::MixColumns(Call { functions: [mix; 4], key: KeyOperand::None })
}

/// The position of SubBytes in the cipher: the first takes bytes in the standard basis and the last returns them in it; otherwise bytes are
/// in the plan's basis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    Middle,
    Last,
}

/// SubBytes.
fn sub_bytes(plan: &mut Plan, place: Place) -> Step {
    let (direction, basis) = (plan.direction(), plan.spec.basis);
    let (from, to) = match place {
        Place::First => (Basis::STANDARD, basis),
        Place::Middle => (basis, basis),
        Place::Last => (basis, Basis::STANDARD),
    };
    let (name, about) = match direction {
        Direction::Encrypt => ("sub_byte", "SubBytes on one byte"),
        Direction::Decrypt => ("inv_sub_byte", "InvSubBytes on one byte"),
    };
    let (name, about) = match (place, basis == Basis::STANDARD) {
        (_, true) | (Place::Middle, _) => (name.to_string(), about.to_string()),
        (Place::First, _) => (format!("first_{name}"), format!("{about}, from the standard basis into the kernel's")),
        (Place::Last, _) => (format!("last_{name}"), format!("{about}, from the kernel's basis into the standard one")),
    };
    let (sbox, layers) = (plan.spec.sbox, plan.spec.layers);
    Step::SubBytes(plan.function(&name, &format!("{about}."), || match layers {
        Layers::Published => sbox.circuit(direction),
        Layers::Fewest => sbox.lut3_between(direction, from, to),
    }))
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

/// `circuit` completed with another circuit over `args`, whose outputs become its outputs.
fn include_all(mut circuit: Circuit, other: &Circuit, args: &[Wire]) -> Circuit {
    let wires = circuit.include(other, args);
    for ((name, _), wire) in other.outputs().iter().zip(wires) {
        circuit.output(name.clone(), wire);
    }
    circuit.pruned()
}
