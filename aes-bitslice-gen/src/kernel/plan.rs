//! The cipher as a sequence of steps over named circuits.
//!
//! Both directions run through the same steps, because the inverse cipher is in its equivalent form (FIPS 197, section 5.3.5); only
//! circuits and round keys differ:
//!
//! ```text
//! first  AddRoundKey(0), SubBytes
//! round  MixColumns(ShiftRows), AddRoundKey(r), SubBytes            r = 1 to rounds - 2
//! last   MixColumns(ShiftRows), AddRoundKey(rounds - 1), SubBytes, ShiftRows, AddRoundKey(rounds)
//! ```
//!
//! With this division, a round begins after SubBytes. The first SubBytes may then take bytes in the standard basis and return them in
//! another, in which they stay until the last SubBytes.
//!
//! The module `keys` creates the steps ([`Plan::new`]). A printer walks them; [`Plan::evaluate`] walks them too, so that a plan can be
//! checked before it is printed.

use super::spec::KernelSpec;
use crate::circuit::{Circuit, Word};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::layout::{self, PLANES};
use std::fmt;

/// A circuit with its name in the printed code and a line of description.
///
/// Its inputs are the planes it reads, then one input for every word of its [`KeyOperand`]; its outputs are planes.
#[derive(Clone)]
pub struct Function {
    /// Its name in the printed code.
    pub name: String,
    /// One line for a reader of the printed code.
    pub about: String,
    /// The circuit.
    pub circuit: Circuit,
}

/// Where a function's key inputs come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyOperand {
    /// No key inputs: the key is a constant, or the layer has no key.
    None,
    /// The 32 planes of its column of this step's round key.
    Planes,
    /// No key inputs: the round key is added to the bytes before they become planes, or to the bytes obtained from planes, where this takes
    /// fewer instructions.
    Bytes,
    /// The one-hot selectors of the round keys in [`KernelSpec::selected_keys`], in order: all ones for the round key of this step.
    Selectors,
}

/// A layer of functions: one for every column of the state, the same or not, and the source of their key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Indices into [`Plan::functions`].
    pub functions: [usize; 4],
    /// The key operand of all functions.
    pub key: KeyOperand,
}

impl Call {
    /// The function, if all columns call one.
    pub fn uniform(&self) -> Option<usize> {
        self.functions.iter().all(|f| *f == self.functions[0]).then_some(self.functions[0])
    }
}

/// One step of the cipher on the state of 128 planes. The round is the round of its part of the plan: 0 in the first part, the last but one
/// in the last part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// AddRoundKey with the round's key, column by column: 32 planes to 32.
    AddRoundKey(Call),
    /// SubBytes, byte by byte, by one of [`Plan::functions`]: 8 planes to 8.
    SubBytes(usize),
    /// ShiftRows, MixColumns and, unless it is a separate step, AddRoundKey, column by column: 32 planes, by row and from where ShiftRows
    /// finds them, to 32.
    MixColumns(Call),
    /// ShiftRows and AddRoundKey with the last round key, column by column: 32 planes to 32.
    AddLastRoundKey(Call),
}

/// The cipher of a kernel. With a key baked in, its circuits and their names are the key: `Debug` does not print them, and they are not
/// wiped either.
#[derive(Clone)]
pub struct Plan {
    /// The specification of the plan.
    pub spec: KernelSpec,
    /// The circuits, each once.
    pub functions: Vec<Function>,
    /// The steps before the loop of rounds.
    pub first: Vec<Step>,
    /// A round, for rounds 1 to the last but two.
    pub round: Vec<Step>,
    /// The steps after the rounds.
    pub last: Vec<Step>,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} LUT3)", self.circuit.gates().len())
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({}, {} functions)", self.spec.name(), self.functions.len())
    }
}

impl Plan {
    /// The direction of the cipher.
    pub fn direction(&self) -> Direction {
        self.spec.mode.direction()
    }

    /// The plan for the tweak cipher of a kernel whose mode has tweaks.
    pub fn of_tweaks(&self) -> Self {
        Self::new(&self.spec.of_tweaks())
    }

    /// The number of rounds, if it is known before launch.
    pub fn rounds(&self) -> Option<usize> {
        self.spec.key_bits().map(|k| k.rounds())
    }

    /// The index of a function; adds it unless one with that name exists.
    pub(super) fn function(&mut self, name: &str, about: &str, circuit: impl FnOnce() -> Circuit) -> usize {
        if let Some(i) = self.functions.iter().position(|f| f.name == name) {
            return i;
        }
        self.functions.push(Function { name: name.into(), about: about.into(), circuit: circuit().scheduled(32) });
        self.functions.len() - 1
    }

    /// The number of lookup tables that 32 blocks run through in a cipher with this number of rounds: the cost of the cipher itself,
    /// without transposition and without round keys that are added to bytes, on a target whose gate is the LUT3. (For CTR by column, where
    /// the first two rounds are computed once for many blocks, it is more than the actual cost.)
    pub fn gates_executed(&self, rounds: usize) -> usize {
        let gates = |functions: &[usize]| functions.iter().map(|&f| self.functions[f].circuit.gates().len()).sum();
        let step = |step: &Step| -> usize {
            match step {
                Step::AddRoundKey(c) | Step::AddLastRoundKey(c) if c.key == KeyOperand::Bytes => 0,
                Step::AddRoundKey(c) | Step::MixColumns(c) | Step::AddLastRoundKey(c) => gates(&c.functions),
                Step::SubBytes(f) => gates(&[*f; 16]),
            }
        };
        let part = |steps: &[Step]| steps.iter().map(step).sum::<usize>();
        part(&self.first) + (rounds - 2) * part(&self.round) + part(&self.last)
    }

    /// The key words that functions with [`KeyOperand::Planes`] read: `round_keys`, or the baked-in keys.
    fn key_planes<W: Word>(&self, round_keys: &[[W; PLANES]]) -> Vec<[W; PLANES]> {
        let Some(baked) = self.spec.round_keys.baked() else { return round_keys.to_vec() };
        let zero = round_keys[0][0] & !round_keys[0][0];
        let word = |bit| if bit { !zero } else { zero };
        let keys = layout::round_keys(baked, self.spec.key_basis());
        keys.iter().map(|key| std::array::from_fn(|p| word(layout::key_bit(key, p)))).collect()
    }

    /// Runs the plan on a state of bit-planes. `round_keys` are the planes of the round keys in order of use and in the plan's basis of
    /// round keys ([`KernelSpec::key_basis`], [`layout::schedule_planes`]), as the kernel would receive them; only their number matters
    /// where keys are baked in.
    ///
    /// # Panics
    /// If there are fewer than three round keys.
    pub fn evaluate<W: Word>(&self, state: &[W; PLANES], round_keys: &[[W; PLANES]]) -> [W; PLANES] {
        let keys = self.key_planes(round_keys);
        let mut run = Run { plan: self, state: *state, round_keys: &keys, round: 0 };
        run.steps(&self.first);
        for round in 1..=round_keys.len() - 3 {
            run.round = round;
            run.steps(&self.round);
        }
        run.round = round_keys.len() - 2;
        run.steps(&self.last);
        run.state
    }
}

/// A plan's evaluation in progress.
struct Run<'a, W> {
    plan: &'a Plan,
    state: [W; PLANES],
    round_keys: &'a [[W; PLANES]],
    /// The round of the current part.
    round: usize,
}

impl<W: Word> Run<'_, W> {
    fn steps(&mut self, steps: &[Step]) {
        let direction = self.plan.direction();
        let straight = |c: usize| std::array::from_fn(|r| 4 * c + r);
        let shifted = |c: usize| layout::shifted_column(c, direction);
        for step in steps {
            match step {
                Step::AddRoundKey(call) => self.columns(call, self.round, straight),
                Step::MixColumns(call) => self.columns(call, self.round, shifted),
                Step::AddLastRoundKey(call) => self.columns(call, self.round + 1, shifted),
                Step::SubBytes(f) => {
                    for byte in self.state.as_chunks_mut::<8>().0 {
                        let outputs = self.plan.functions[*f].circuit.evaluate(byte);
                        byte.copy_from_slice(&outputs);
                    }
                }
            }
        }
    }

    fn columns(&mut self, call: &Call, key: usize, source: impl Fn(usize) -> [usize; 4]) {
        let old = self.state;
        for (c, &f) in call.functions.iter().enumerate() {
            let mut inputs: Vec<W> = source(c).iter().flat_map(|&j| old[8 * j..8 * j + 8].to_vec()).collect();
            match call.key {
                KeyOperand::None => {}
                KeyOperand::Planes | KeyOperand::Bytes => inputs.extend(&self.round_keys[key][32 * c..32 * c + 32]),
                KeyOperand::Selectors => {
                    let zero = old[0] & !old[0];
                    let selected = self.plan.spec.selected_keys(self.round_keys.len() - 1);
                    inputs.extend(selected.map(|r| if r == key { !zero } else { zero }));
                }
            }
            let outputs = self.plan.functions[f].circuit.evaluate(&inputs);
            self.state[32 * c..32 * c + 32].copy_from_slice(&outputs);
        }
    }
}
