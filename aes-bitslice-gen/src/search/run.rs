//! The search: threads that take a target, a circuit to start from and a number of steps, over and over.

use super::best_netlists::BestNetlists;
use super::places;
use super::resubstitution::Network;
use super::sums::Sums;
use super::target::Target;
use super::window;
use crate::circuit::{Circuit, Wire, cover};
use crate::linear::xor_network::xor_network;
use crate::random::Random;
use crate::sbox::Bases;
use aes_bitslice_core::aes::{Direction, field, sbox};
use aes_bitslice_core::basis::Basis;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Steps per walk: a second or two.
const SBOX_STEPS: u64 = 300_000;
const LINEAR_STEPS: u64 = 4_000_000;
const PLACED_STEPS: u64 = 1_000_000;
/// The maximum number of gates in a window for exact synthesis.
const WINDOW: usize = 5;
/// The number of AES-128 gates by which a new basis may exceed the best and still be pursued.
const PROMISING: usize = 600;

/// The duration, goals and seed of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed; the same seed on one thread, from the same netlists, makes the same walks.
    pub seed: u64,
    /// The number of threads, at least one.
    pub threads: usize,
    /// The time after which no new walk begins.
    pub time: Duration,
    /// The maximum number of walks per thread.
    pub walks: u64,
    /// The goals of the search.
    pub goals: Vec<Goal>,
}

/// A goal of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// The S-box of a direction in the standard basis.
    Sbox(Direction),
    /// MixColumns of a direction in the standard basis, with and without a key.
    Mix(Direction),
    /// All layers of a direction in the best basis.
    Basis(Direction),
    /// MixColumns of a direction with a key added on the way, in the generator's basis.
    PlacedKey(Direction),
}

impl Goal {
    /// All goals.
    pub const ALL: [Self; 8] = [
        Self::Basis(Direction::Encrypt),
        Self::Basis(Direction::Decrypt),
        Self::Sbox(Direction::Encrypt),
        Self::Sbox(Direction::Decrypt),
        Self::Mix(Direction::Encrypt),
        Self::Mix(Direction::Decrypt),
        Self::PlacedKey(Direction::Encrypt),
        Self::PlacedKey(Direction::Decrypt),
    ];

    /// The name used to select it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sbox(Direction::Encrypt) => "sbox",
            Self::Sbox(Direction::Decrypt) => "inverse-sbox",
            Self::Mix(Direction::Encrypt) => "mix-columns",
            Self::Mix(Direction::Decrypt) => "inverse-mix-columns",
            Self::Basis(Direction::Encrypt) => "basis",
            Self::Basis(Direction::Decrypt) => "inverse-basis",
            Self::PlacedKey(Direction::Encrypt) => "placed-key",
            Self::PlacedKey(Direction::Decrypt) => "inverse-placed-key",
        }
    }
}

/// A search in progress.
pub struct Search {
    options: Options,
    best: Mutex<BestNetlists>,
    begun: Instant,
    steps: AtomicU64,
    walks: AtomicU64,
}

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The time since it began.
    pub time: Duration,
    /// Steps of all walks.
    pub steps: u64,
    /// Walks that ended.
    pub walks: u64,
}

impl Search {
    /// A search that continues from these netlists.
    pub fn new(options: Options, best: BestNetlists) -> Self {
        let zero = AtomicU64::new;
        Self { options, best: Mutex::new(best), begun: Instant::now(), steps: zero(0), walks: zero(0) }
    }

    /// A copy of the netlists found so far.
    pub fn best_netlists(&self) -> BestNetlists {
        self.lock().clone()
    }

    /// The progress so far.
    pub fn progress(&self) -> Progress {
        Progress {
            time: self.begun.elapsed(),
            steps: self.steps.load(Ordering::Relaxed),
            walks: self.walks.load(Ordering::Relaxed),
        }
    }

    /// Searches until the time is over, on all threads; calls `report` about every second from the calling thread.
    pub fn run(&self, mut report: impl FnMut(&Self)) {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.options.threads).map(|thread| scope.spawn(move || self.work(thread as u64))).collect();
            while threads.iter().any(|t| !t.is_finished()) {
                for _ in 0..20 {
                    if threads.iter().any(|t| !t.is_finished()) {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                }
                report(self);
            }
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BestNetlists> {
        self.best.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.begun.elapsed() >= self.options.time
    }

    /// Runs one thread.
    fn work(&self, thread: u64) {
        let mut random = Random::for_task(self.options.seed, thread);
        for _ in 0..self.options.walks {
            if self.is_over() || self.options.goals.is_empty() {
                break;
            }
            match self.options.goals[random.below(self.options.goals.len())] {
                Goal::Sbox(direction) => self.restart(Target::standard(direction)[0], &mut random),
                Goal::Mix(direction) => self.polish(Target::standard(direction)[1 + random.below(2)], &mut random),
                Goal::PlacedKey(direction) => self.place_key(Target::placed_key(direction), &mut random),
                Goal::Basis(direction) => match random.below(8) {
                    0..4 => self.polish_family(direction, &mut random),
                    _ => self.other_basis(direction, &mut random),
                },
            }
        }
    }

    /// Walks from the known circuit for a target.
    fn polish(&self, target: Target, random: &mut Random) {
        let start = self.lock().get(&target).map(|n| n.circuit.clone());
        let mut walked = self.walk(&start.unwrap_or_else(|| target.stored()), random);
        if walked.inputs().len() <= 8 && random.below(16) == 0 {
            walked = window::shrink(&walked, WINDOW, 4, random).unwrap_or(walked);
        }
        self.keep(target, walked);
    }

    /// Walks from the known circuit for a layer with a key added on the way, or from the same layer without a key.
    fn place_key(&self, target: Target, random: &mut Random) {
        let known = match random.below(4) {
            0 => target.key_after(),
            _ => self.lock().get(&target).map_or_else(|| target.stored(), |netlist| netlist.circuit.clone()),
        };
        let walked = places::walk(&known, PLACED_STEPS, random).expect("not larger than what is stored");
        self.steps.fetch_add(PLACED_STEPS, Ordering::Relaxed);
        self.walks.fetch_add(1, Ordering::Relaxed);
        self.keep(target, walked);
    }

    /// Walks from a tower field, from another basis, or from the known circuit, as long as that reduces the size.
    fn restart(&self, target: Target, random: &mut Random) {
        let mut circuit = match random.below(4) {
            0 => {
                let bases: Vec<Bases> = Bases::all().collect();
                let tower = cover::cover(&bases[random.below(bases.len())].circuit(target.direction));
                target.rebased(&tower, Basis::STANDARD, Basis::STANDARD)
            }
            1 => {
                let best = self.lock();
                let mut others: Vec<Basis> = best.bases(target.direction).into_iter().map(|(_, b)| b).collect();
                others.push(Basis::STANDARD);
                let basis = others[random.below(others.len())];
                let netlist = best.get(&Target::family(target.direction, basis)[0]).expect("a basis with netlists");
                target.rebased(&netlist.circuit, basis, basis)
            }
            _ => return self.polish(target, random),
        };
        // Three walks without a gain end it.
        let mut patience = 3;
        while patience > 0 && !self.is_over() {
            let walked = self.walk(&circuit, random);
            patience = if walked.gates().len() < circuit.gates().len() { 3 } else { patience - 1 };
            circuit = walked;
        }
        self.keep(target, circuit);
    }

    /// Walks from a layer in one of the best bases.
    fn polish_family(&self, direction: Direction, random: &mut Random) {
        let Some((_, basis)) = self.good_basis(direction, random) else { return };
        let family = Target::family(direction, basis);
        match [0, 0, 0, 0, 4, 4, 1, 2, 3][random.below(9)] {
            sbox @ 0..3 if random.below(6) == 0 => self.restart(family[sbox], random),
            layer => self.polish(family[layer], random),
        }
    }

    /// One of the best bases; better bases are chosen more often.
    fn good_basis(&self, direction: Direction, random: &mut Random) -> Option<(usize, Basis)> {
        let bases = self.lock().bases(direction);
        let rank = (random.next().trailing_zeros() as usize / 2) + random.below(4) * random.below(3);
        bases.get(rank.min(bases.len().checked_sub(1)?)).copied()
    }

    /// Converts the layers in a good basis to a nearby basis, and keeps them if they are promising.
    fn other_basis(&self, direction: Direction, random: &mut Random) {
        let Some((_, from)) = self.good_basis(direction, random) else { return };
        let family = Target::family(direction, from);
        let known: Vec<Circuit> = {
            let best = self.lock();
            family.iter().filter_map(|t| best.get(t).map(|n| n.circuit.clone())).collect()
        };
        let to = match random.below(4) {
            0 => Some(scaled(from, 2 + random.below(254) as u8)),
            _ => near(from, &known[0], random),
        };
        let Some(to) = to else { return };
        let targets = Target::family(direction, to);
        let best = {
            let best = self.lock();
            if targets.iter().all(|t| best.get(t).is_some()) || same_rows(&best.bases(direction), to) {
                return;
            }
            best.bases(direction).first().map_or(usize::MAX, |(cost, _)| *cost)
        };
        let rebased = |i: usize| {
            // Bases that differ by a factor have the same MixColumns, and S-boxes that differ in one affine layer.
            match with_affine_layer(&targets[i], &known[i]) {
                _ if targets[i].is_computed_by(&known[i]) => known[i].clone(),
                Some(circuit) => circuit,
                None => targets[i].rebased(&known[i], family[i].from, family[i].to),
            }
        };
        // The two most expensive ones come first and decide.
        let mut walked: Vec<Option<Circuit>> = vec![None; 5];
        let mut bound = 0;
        for (i, weight) in [(4, 36), (0, 128), (3, 4), (1, 16), (2, 16)] {
            let mut circuit = rebased(i);
            for _ in 0..if i == 0 { 6 } else { 1 } {
                circuit = self.walk(&circuit, random);
                if self.is_over() {
                    return;
                }
            }
            bound += weight * circuit.gates().len();
            walked[i] = Some(circuit);
            let others: usize = [(4, 36), (0, 128), (3, 4), (1, 16), (2, 16)]
                .iter()
                .filter(|(k, _)| walked[*k].is_none())
                .map(|(k, weight)| weight * known[*k].gates().len().saturating_sub(1))
                .sum();
            if bound + others > best.saturating_add(PROMISING) {
                return;
            }
        }
        for (target, circuit) in targets.into_iter().zip(walked) {
            self.keep(target, circuit.expect("all five were walked"));
        }
        self.lock().forget();
    }

    /// Runs one walk, with the engine for the function.
    fn walk(&self, start: &Circuit, random: &mut Random) -> Circuit {
        let mut walk = |start: &Circuit| match start.inputs().len() {
            ..=8 => Some((Network::new(start)?.walk(SBOX_STEPS, random).circuit(start), SBOX_STEPS)),
            _ => Some((Sums::new(start)?.walk(LINEAR_STEPS, random).circuit(start), LINEAR_STEPS)),
        };
        // Too large for the engine as it is; perhaps not after covering.
        let (walked, steps) = walk(start).or_else(|| walk(&cover::cover(start))).unwrap_or_else(|| (start.clone(), 0));
        self.steps.fetch_add(steps, Ordering::Relaxed);
        self.walks.fetch_add(1, Ordering::Relaxed);
        walked
    }

    fn keep(&self, target: Target, circuit: Circuit) {
        assert!(target.is_computed_by(&circuit), "a walk keeps the function");
        let found_by = format!("cargo xtask search, seed {}", self.options.seed);
        self.lock().keep(target, circuit, &found_by);
    }
}

/// A basis near another: some rows have other rows added to them, or become linear forms that the S-box computes
/// anyway.
fn near(basis: Basis, sbox: &Circuit, random: &mut Random) -> Option<Basis> {
    let mut rows = basis.rows();
    for _ in 0..1 + random.below(3) * random.below(2) {
        let i = random.below(8);
        if random.below(2) == 0 {
            rows[i] ^= rows[(i + 1 + random.below(7)) % 8];
        } else {
            let forms = linear_forms(sbox);
            let form = *forms.get(random.below(forms.len().max(1)))?;
            rows[i] = (0..8).filter(|k| form >> k & 1 == 1).fold(0, |row, k| row ^ basis.rows()[k]);
        }
    }
    Basis::new(rows).ok().filter(|b| *b != basis)
}

/// The basis of the bytes c x: MixColumns is the same in it, because it is linear over GF(2^8).
fn scaled(basis: Basis, c: u8) -> Basis {
    let columns: [u8; 8] = std::array::from_fn(|j| basis.apply(field::mul(c, 1 << j)));
    let row = |i: usize| (0..8).fold(0, |row, j| row | (columns[j] >> i & 1) << j);
    Basis::new(std::array::from_fn(row)).expect("a multiplication by c can be undone")
}

/// A circuit for an S-box target, built from one that differs by an affine map of the outputs, or of the inputs.
fn with_affine_layer(target: &Target, known: &Circuit) -> Option<Circuit> {
    if known.inputs().len() != 8 {
        return None;
    }
    let table = sbox::table(target.direction);
    let mut inverse = [0u8; 256];
    (0..=255u8).for_each(|z| inverse[known.evaluate_byte(z) as usize] = z);
    // Maps from outputs of the known circuit to the wanted outputs, and from inputs to the inputs for which the known
    // circuit gives the wanted outputs.
    let (mut after, mut before) = ([0u8; 256], [0u8; 256]);
    for x in 0..=255u8 {
        let (z, y) = (target.from.apply(x), target.to.apply(table[x as usize]));
        after[known.evaluate_byte(z) as usize] = y;
        before[z as usize] = inverse[y as usize];
    }
    let mut circuit = Circuit::new(target.title(), known.inputs());
    let inputs: Vec<Wire> = (0..8).map(|i| circuit.input(i)).collect();
    let outputs = match (affine_rows(&after), affine_rows(&before)) {
        (Some((rows, constant)), _) => {
            let outputs = circuit.include(known, &inputs);
            let outputs = xor_network(&mut circuit, &outputs, &rows);
            complement(&mut circuit, outputs, constant)
        }
        (_, Some((rows, constant))) => {
            let inputs = xor_network(&mut circuit, &inputs, &rows);
            let inputs = complement(&mut circuit, inputs, constant);
            circuit.include(known, &inputs)
        }
        _ => return None,
    };
    for (i, wire) in outputs.into_iter().enumerate() {
        circuit.output(format!("y{i}"), wire);
    }
    Some(circuit.pruned())
}

/// A map of bytes as a matrix and a constant, if it is affine.
fn affine_rows(map: &[u8; 256]) -> Option<([u128; 8], u8)> {
    let constant = map[0];
    let value = |y: usize| (0..8).filter(|j| y >> j & 1 == 1).fold(constant, |z, j| z ^ map[1 << j] ^ constant);
    let row = |i: usize| (0..8).fold(0, |row, j| row | u128::from((map[1 << j] ^ constant) >> i & 1) << j);
    (0..256).all(|y| map[y] == value(y)).then(|| (std::array::from_fn(row), constant))
}

/// The wires, complemented where a constant has a bit; most of the gates for this fold into their neighbours.
fn complement(circuit: &mut Circuit, wires: Vec<Wire>, constant: u8) -> Vec<Wire> {
    let one = |(i, wire): (usize, Wire)| if constant >> i & 1 == 1 { circuit.not(wire) } else { wire };
    wires.into_iter().enumerate().map(one).collect()
}

/// The gates of a circuit that are sums of its inputs, as sets of inputs.
fn linear_forms(circuit: &Circuit) -> Vec<u128> {
    let mut with_all = Circuit::new("forms", circuit.inputs());
    let inputs: Vec<_> = (0..circuit.inputs().len()).map(|i| with_all.input(i)).collect();
    with_all.include(circuit, &inputs);
    (0..with_all.gates().len())
        .filter_map(|g| {
            let mut one = with_all.clone();
            one.output("y", with_all.gate_wire(g));
            Some(one.pruned().as_affine()?.rows[0])
        })
        .filter(|row| row.count_ones() > 1)
        .collect()
}

/// Whether a basis has the rows of one of these, in any order: its circuits are then those of that basis.
fn same_rows(bases: &[(usize, Basis)], basis: Basis) -> bool {
    let sorted = |b: Basis| {
        let mut rows = b.rows();
        rows.sort_unstable();
        rows
    };
    bases.iter().any(|(_, b)| sorted(*b) == sorted(basis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sbox::LUT3;

    fn options(walks: u64, goals: &[Goal]) -> Options {
        Options { seed: 1, threads: 1, time: Duration::from_secs(3600), walks, goals: goals.to_vec() }
    }

    #[test]
    fn a_search_on_one_thread_repeats_and_loses_nothing() {
        repeats_and_loses_nothing(1);
    }

    #[test]
    #[ignore = "exhaustive: cargo xtask test --all"]
    fn a_longer_search_repeats_and_loses_nothing() {
        repeats_and_loses_nothing(2);
    }

    fn repeats_and_loses_nothing(walks: u64) {
        let found = || {
            let search = Search::new(options(walks, &[Goal::Mix(Direction::Encrypt)]), BestNetlists::stored());
            let mut reports = 0;
            search.run(|_| reports += 1);
            assert!(reports > 0 && search.progress().walks == walks);
            search.best_netlists()
        };
        let best = found();
        assert_eq!(best.to_text(), found().to_text());
        for target in Target::standard(Direction::Encrypt) {
            let gates = |best: &BestNetlists| best.get(&target).unwrap().gates();
            assert!(gates(&best) <= gates(&BestNetlists::stored()));
        }
    }

    #[test]
    fn bases_that_differ_by_a_factor_share_mix_columns_and_all_but_one_layer_of_the_sbox() {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let basis = LUT3.basis(direction);
            let other = scaled(basis, 0x53);
            let [from, .., key] = Target::family(direction, basis);
            let [to, .., other_key] = Target::family(direction, other);
            assert!(other_key.is_computed_by(&key.stored()));
            let circuit = with_affine_layer(&to, &from.stored()).unwrap();
            assert!(to.is_computed_by(&circuit));
            assert!(circuit.gates().len() < to.stored().gates().len());
            assert!(with_affine_layer(&key, &key.stored()).is_none());
            assert!(with_affine_layer(&Target::standard(direction)[0], &from.stored()).is_none());
        }
    }

    #[test]
    fn near_bases_are_bases() {
        let basis = LUT3.basis(Direction::Encrypt);
        let sbox = Target::family(Direction::Encrypt, basis)[0].stored();
        let mut random = Random(1);
        let found: Vec<Basis> = (0..100).filter_map(|_| near(basis, &sbox, &mut random)).collect();
        assert!(found.len() > 30 && found.iter().all(|b| *b != basis));
        assert!(linear_forms(&sbox).len() >= 4);
        assert!(same_rows(&[(0, basis)], basis) && !same_rows(&[(0, basis)], found[0]));
    }
}
