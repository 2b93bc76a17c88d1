//! The claim about counter modes for every length, counter, address and number of thread blocks, by induction over what a warp does.
//!
//! All numbers of a launch are unknown: the number of blocks of data, the counter, the addresses, the index of the thread block and how many
//! there are. The kernel has two loops. A turn of the outer one, a *run*, makes tables for the tiles whose counters share all but their lowest
//! 32 bits. A turn of the inner one is a tile. Each loop is cut at its head: what it changes is forgotten there, except for the one register
//! that it hands on, which becomes any number that the invariant allows; and a turn must keep the invariant.
//!
//! | cut | invariant |
//! |---|---|
//! | run | `from` is any tile below `to`, the end of the thread block's share; the planes of the round keys are in shared memory |
//! | tile | `tile` is any with `from <= tile < end`, `end <= to`, and no tile before `end` begins another run; the tables are there |
//!
//! A turn of the inner loop must write, for the blocks of the tile that exist, and no others, the input plus the key stream of their
//! counters, and take the next number of an atomic counter that began with `from` plus the number of warps. So every tile is taken once,
//! by whichever warp. Outside the inner loop nothing is read or written in device memory. A warp that leaves a run goes on with `end`, or
//! ends if that is `to`.
//!
//! Numbers are written in unknowns in which all that the kernel computes is affine. With `k` the counter's lowest 8 bits and `c` the 24 above
//! them, a tile is `tile = v - c + 2^24 h`: of its counters' lowest words, `v` is the upper 24 bits, and `h` is what carries into the next word.
//! Where a carry matters there are two [cases](Carries), which are proved one by one.
//!
//! # Arguments on paper
//!
//! - Shares: thread block `b` of `n` begins at `b q + min(b, r)`, where `q` and `r` are the quotient and the rest of all tiles divided by `n`,
//!   and ends `q` tiles later, or one more if `b < r`. The kernel's numbers are compared to these. So each share begins where the one before
//!   ends, the first at 0, and the last ends with all tiles, of which there are fewer than 2^32 - 64.
//! - The cases of carries are all: see [`Carries`]. Every tile from a run's first on is taken: the atomic counter gives every number once, and
//!   a warp ends only after a number that is not below `end`.
//! - Warps meet between tiles of one run in shared memory only, where each writes to bytes of its own (those of all warps that are followed
//!   are compared), and reads these and the tables, which no tile changes.
//!
//! # Assumptions
//!
//! - There are at most [`MOST_BLOCKS`] blocks, and at least one. Addresses are at least 2^16 and at most 2^63, so that no buffer wraps, and
//!   are multiples of 4 bytes. The output is the input's buffer or does not overlap it: each word is read by the thread that replaces it, and before.
//! - Of a turn of a loop that follows another, only one way is gone to see whether barriers order the accesses of both.
//! - The number of warps, the length of the key, the warp that is followed and the case of carries are known, and enumerated by the caller.

use crate::proof::accesses::{Reached, Symbolic, Taken};
use crate::proof::aes::{self, Block};
use crate::proof::anf::{Bit, Cells};
use crate::proof::context::Grid;
use crate::proof::form::{Condition, Form, Unknowns, chosen};
use crate::proof::kernel::key_argument;
use crate::proof::kernel_cells::TILE;
use crate::proof::loops::{Loop, live};
use crate::proof::machine::Machine;
use crate::proof::memory::{Contents, Memory};
use crate::proof::mode::no_cell;
use crate::proof::order::WARP;
use crate::proof::thread::{State, Thread};
use crate::proof::value::Value;
use crate::ptx::{Operand, Program};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::aes::schedule::KeyBits;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use std::collections::{HashMap, HashSet};

/// The most blocks of a launch: the numbers of all tiles, and of as many more as there are warps, fit into 32 bits.
pub const MOST_BLOCKS: u64 = (1 << 40) - (1 << 15);

/// Which additions to the counter carry, for the first tile of a run. A tile's number adds at most 256 to the second word, so that a word carries
/// once at most; the third word carries only if the second does, and what the fourth carries is lost. These are all cases.
#[derive(Clone, Copy, Debug)]
pub struct Carries {
    /// Whether the counter's 24 bits above its lowest 8, plus the tile's number, exceed 24 bits by the tile's lowest 24 bits alone.
    pub of_tile: bool,
    /// Words above the lowest that carry: none, the second, or the second and the third.
    pub words: u32,
}

impl Carries {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..6).map(|n| Self { of_tile: n % 2 == 1, words: n / 2 })
    }
}

/// What is known of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The length of the key.
    pub key_bits: KeyBits,
    /// Warps of a thread block.
    pub warps: usize,
    /// The warps whose tiles are proved: the number of the first one, and the distance from each to the next.
    pub followed: (usize, usize),
    /// What carries.
    pub carries: Carries,
}

/// What a proof looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proved {
    /// Ways through the kernel between cuts.
    pub ways: usize,
    /// Ways of a turn that write a tile.
    pub tiles: usize,
}

/// The contents of counter blocks whose lowest words have these bytes, the lowest first, and whose others are `upper`.
fn counter(mode: Mode, bytes: [[Bit; 8]; 4], upper: &[[Bit; 32]; 3]) -> Block {
    let mut all = [[Bit::ZERO; 8]; 16];
    let words = upper.iter().map(|word| std::array::from_fn(|i| std::array::from_fn(|bit| word[8 * i + bit])));
    for (n, word) in std::iter::once(bytes).chain(words).enumerate() {
        for (i, byte) in word.into_iter().enumerate() {
            let at = 4 * n + i;
            // The counter is a big-endian number, or, in AES-GCM-SIV, its words are in the order of memory.
            all[if mode == Mode::CtrLe32 { at } else { 15 - at }] = byte;
        }
    }
    std::array::from_fn(|bit| all[bit / 8][bit % 8])
}

/// Forms that are at least 0 where one is a number of 32 bits.
fn in_word(form: &Form) -> [Form; 2] {
    [form.clone(), Form::constant(u32::MAX.into()).plus(-1, form)]
}

fn byte(number: usize) -> [Bit; 8] {
    std::array::from_fn(|i| Bit::constant(number >> i & 1 == 1))
}

/// The states after two rounds of counters, as a sum of a part for each of the four lowest bytes: for its values, one after another. The
/// part of the lowest one includes what does not depend on them.
///
/// A byte of the counter reaches one column in the first round, and each of them another one. That the state is such a sum is checked:
/// what a byte changes does not depend on the others.
fn parts(cells: &mut Cells, mode: Mode, keys: &[Block], upper: &[[Bit; 32]; 3]) -> Result<[Vec<Block>; 4], String> {
    let others: [[Bit; 8]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| cells.unknown()));
    let mut of = |n: usize, value: usize, around: [[Bit; 8]; 4]| {
        let mut bytes = around;
        bytes[n] = byte(value);
        let state = aes::sum(&counter(mode, bytes, upper), &keys[0]);
        (1..3).try_fold(state, |state, round| aes::middle_round(cells, &state, &keys[round])).map_err(no_cell)
    };
    let mut all = [const { vec![] }; 4];
    for (n, part) in all.iter_mut().enumerate() {
        let zeros = of(n, 0, [byte(0); 4])?;
        let unknown = of(n, 0, others)?;
        for value in 0..256 {
            let found = of(n, value, [byte(0); 4])?;
            let change = aes::sum(&found, &zeros);
            if change != aes::sum(&of(n, value, others)?, &unknown) {
                return Err("the first two rounds of a counter are no sum of its bytes' parts".into());
            }
            part.push(if n == 0 { found } else { change });
        }
    }
    Ok(all)
}

/// The state of a launch, and what it has reached in device memory and taken since the last cut.
#[derive(Clone)]
struct Snapshot {
    threads: Vec<Thread>,
    memory: Memory,
    unknowns: Unknowns,
    reached: Vec<Reached>,
    taken: Vec<Taken>,
}

/// The unknown numbers of a launch.
struct Numbers {
    /// The counter's lowest 8 bits.
    k: Form,
    /// Addresses.
    input: Form,
    output: Form,
    /// Blocks of the data.
    blocks: Form,
    /// The index of the thread block, and how many there are.
    thread_block: Form,
    thread_blocks: Form,
    /// The first tile of a run, the end of the thread block's share, and that of the run.
    from: Form,
    to: Form,
    run_end: Form,
    /// The first tile after `from` whose lowest 32 bits of the counter have wrapped.
    next_run: Form,
    /// A tile of the run.
    tile: Form,
}

/// All that the proof of a launch has in hand.
struct Proof<'a> {
    machine: Machine<'a>,
    threads: Vec<Thread>,
    /// The warp that is followed.
    warp: usize,
    warps: usize,
    tile_loop: Loop,
    run_loop: Loop,
    live: Vec<HashSet<usize>>,
    numbers: Numbers,
    /// What is known of the launch.
    of_launch: Vec<Form>,
    /// The key stream of a tile, by its blocks.
    stream: Vec<Block>,
    has_input: bool,
    /// The warp that writes each byte of shared memory during its tiles, of those that hold something else between tiles, or nothing.
    owners: HashMap<u64, usize>,
    proved: Proved,
}

impl Proof<'_> {
    fn snapshot(&self) -> Snapshot {
        let context = &self.machine.context;
        let symbolic = context.symbolic.as_ref();
        Snapshot {
            threads: self.threads.clone(),
            memory: context.memory.clone(),
            unknowns: context.unknowns.clone(),
            reached: symbolic.map(|symbolic| symbolic.reached.clone()).unwrap_or_default(),
            taken: symbolic.map(|symbolic| symbolic.taken.clone()).unwrap_or_default(),
        }
    }

    fn restore(&mut self, to: Snapshot) {
        let context = &mut self.machine.context;
        (self.threads, context.memory, context.unknowns) = (to.threads, to.memory, to.unknowns);
        if let Some(symbolic) = &mut context.symbolic {
            (symbolic.reached, symbolic.taken) = (to.reached, to.taken);
        }
    }

    fn unknowns(&mut self) -> &mut Unknowns {
        &mut self.machine.context.unknowns
    }

    fn symbolic(&mut self) -> Result<&mut Symbolic, String> {
        self.machine.context.symbolic.as_mut().ok_or_else(|| "no launch".into())
    }

    fn go(&mut self) -> Result<(), String> {
        while self.machine.round(&mut self.threads).map_err(|stuck| stuck.to_string())? {}
        if self.symbolic()?.answer.is_some() {
            return Err("threads wait for one another for ever".into());
        }
        Ok(())
    }

    fn is_undecided(&mut self) -> bool {
        self.warp().iter().any(|thread| thread.state == State::Undecided)
    }

    /// Goes one of the ways from here.
    fn go_any_way(&mut self) -> Result<(), String> {
        self.go()?;
        while self.is_undecided() {
            self.symbolic()?.answer = Some(false);
            self.go()?;
        }
        Ok(())
    }

    /// Goes all ways from here to where the run is stopped next, or ends, and looks at each. Returns the state that those have in common for
    /// which `at_end` says that it is a cut: where any way leads there, what is still needed there must be the same.
    fn ways(
        &mut self,
        mut at_end: impl FnMut(&mut Self) -> Result<Option<usize>, String>,
    ) -> Result<Option<Snapshot>, String> {
        let known = self.unknowns().count();
        let symbolic = self.symbolic()?;
        (symbolic.reached, symbolic.taken) = (vec![], vec![]);
        let mut common: Option<Snapshot> = None;
        let mut open = vec![(self.snapshot(), None)];
        while let Some((from, answer)) = open.pop() {
            self.restore(from);
            self.symbolic()?.answer = answer;
            self.go()?;
            if self.is_undecided() {
                open.extend([true, false].map(|answer| (self.snapshot(), Some(answer))));
                continue;
            }
            let cut = at_end(self)?;
            self.proved.ways += 1;
            let Some(cut) = cut else { continue };
            let found = self.snapshot();
            let Some(common) = &common else {
                common = Some(found);
                continue;
            };
            let live = &self.live[cut];
            let is_common = |(thread, other): (&Thread, &Thread)| {
                live.iter().all(|&register| match (thread.register(register), other.register(register)) {
                    (Ok(a), Ok(b)) => a == b && a.unknowns().all(|unknown| unknown < known),
                    (a, b) => a.is_err() && b.is_err(),
                })
            };
            let are_common = found.threads.iter().zip(&common.threads).all(is_common);
            let contents = found.memory.contents();
            let is_known = contents.1.values().all(|(_, form)| form.unknowns().all(|unknown| unknown < known));
            if !are_common || !is_known || contents != common.memory.contents() {
                return Err("what a loop needs depends on the way to it".into());
            }
        }
        Ok(common)
    }

    /// The threads of the warp that is followed.
    fn warp(&mut self) -> &mut [Thread] {
        &mut self.threads[WARP * self.warp..][..WARP]
    }

    /// Where all threads of the warp are stopped, if not ended.
    fn stopped(&mut self) -> Result<Option<usize>, String> {
        let at = |thread: &Thread| match thread.state {
            State::Ended => Some(None),
            State::Stopped => Some(Some(thread.next)),
            _ => None,
        };
        let warp = self.warp();
        let first = at(&warp[0]);
        if let Some(first) = first.filter(|_| warp.iter().all(|thread| at(thread) == first)) {
            return Ok(first);
        }
        let next = warp[0].next;
        Err(self.machine.stuck(next, "threads wait for one another for ever".into()).to_string())
    }

    /// The register that a loop hands on.
    fn carried(&self, of: &Loop) -> Result<usize, String> {
        match of
            .written(self.machine.function)
            .intersection(&self.live[of.head].iter().copied().collect())
            .collect::<Vec<_>>()[..]
        {
            [register] => Ok(*register),
            ref others => Err(format!("a loop hands on {} registers, and not one", others.len())),
        }
    }

    /// The number in a register of threads, in all of them.
    fn number_in(threads: &[Thread], register: usize) -> Result<Form, String> {
        let values = threads.iter().map(|thread| thread.register(register)).collect::<Result<Vec<_>, _>>()?;
        match &values[0] {
            Value::Form(form, 32) if values.iter().all(|value| *value == values[0]) => Ok((**form).clone()),
            _ => Err("a loop does not hand on one number".into()),
        }
    }

    /// Whether two numbers of 32 bits are equal.
    fn are_equal(&self, a: &Form, b: &Form) -> bool {
        self.machine.context.unknowns.exact(&a.plus(-1, b), 32) == Some(Form::default())
    }

    /// The last test that all threads of the warp have made: a form that it found to be at least 0.
    fn last_test(&mut self) -> Result<Form, String> {
        let warp = self.warp();
        match &warp[0].last_test {
            Some(Condition::NotNegative(form)) if warp.iter().all(|one| one.last_test == warp[0].last_test) => {
                Ok(form.clone())
            }
            _ => Err("a loop's numbers are not compared to their end".into()),
        }
    }

    /// Begins a turn of a loop, in the warp that is followed or in all: what it writes is forgotten, except for the number that it is given.
    fn begin(&mut self, of: &Loop, only: Option<usize>, number: &Form) -> Result<(), String> {
        let register = self.carried(of)?;
        let written = of.written(self.machine.function);
        let is_one = |thread: &&mut Thread| only.is_none_or(|warp| thread.index / WARP == warp);
        for thread in self.threads.iter_mut().filter(is_one) {
            thread.forget(written.iter().copied());
            thread.write(&Operand::Register(register), Value::of_form(number.clone(), 32))?;
            (thread.next, thread.state, thread.goes_on) = (of.head, State::Runs, true);
        }
        Ok(())
    }

    /// Puts an unknown number in place of one, in registers of all threads.
    fn replace(&mut self, registers: impl Fn(usize) -> bool, number: &Form, instead: &Form) {
        let [number, instead] = [number, instead].map(|form| Value::of_form(form.clone(), 32));
        self.threads.iter_mut().for_each(|thread| thread.replace(&registers, &number, &instead));
    }

    /// Forgets what a loop is handed, which is given to each turn anew.
    fn forget(&mut self, register: usize) {
        self.threads.iter_mut().for_each(|thread| thread.forget([register]));
    }
}

/// Proves that a kernel of a counter mode computes it for whole blocks, for every length, counter, number of thread blocks and address.
///
/// # Errors
/// In words: what is not as the claim says, or the instruction that cannot be followed.
pub fn prove(manifest: &Manifest, ptx: &str, case: &Case) -> Result<Proved, String> {
    let mode = manifest.mode().map_err(|e| e.to_string())?;
    let has_input = match mode {
        Mode::Ctr | Mode::CtrLe32 => true,
        Mode::Keystream => false,
        other => return Err(format!("{other} has no proof for every length")),
    };
    let entry = manifest.entry(Entry::Blocks).map_err(|e| e.to_string())?;
    let basis = manifest.key_basis().map_err(|e| e.to_string())?;
    let mut cells = Cells::in_bases(&[manifest.basis().map_err(|e| e.to_string())?]);
    let keys = aes::unknown_keys(&mut cells, case.key_bits);
    let given_keys = key_argument(&mut cells, &keys, Direction::Encrypt, &basis);
    let program = Program::read(ptx)?;
    let threads = WARP * case.warps;
    if threads > manifest.threads as usize
        || case.followed.0 >= case.warps
        || case.followed.1 == 0
        || manifest.tile_blocks as usize != TILE
    {
        return Err("it is for fewer threads, or tiles of another size".into());
    }
    let grid = Grid { blocks: 1, threads };
    let mut machine = Machine::new(&program, &entry.name, grid, manifest.shared_bytes.into(), &mut cells)?;
    let one = Form::constant(1);

    // The unknowns of the launch.
    let context = &mut machine.context;
    let [k, c, first, above] =
        [255, (1 << 24) - 1, (1 << 24) - 1, 256].map(|most: i128| context.unknowns.number(0, most));
    let from = first.plus(-1, &c).plus(1 << 24, &above);
    let blocks = context.unknowns.number(1, MOST_BLOCKS.into());
    let [input, output] = [0, 1].map(|_| context.unknowns.number(1 << 16, 1 << 63));
    let thread_block = context.unknowns.number(0, (1 << 31) - 2);
    let thread_blocks = context.unknowns.number(1, (1 << 31) - 1);
    context.unknowns.assume(thread_blocks.plus(-1, &thread_block).plus(-1, &one));
    in_word(&from).into_iter().for_each(|fact| context.unknowns.assume(fact));
    let borrows = c.plus(-1, &first).plus(-1, &one);
    context.unknowns.assume(if case.carries.of_tile { borrows } else { first.plus(-1, &c) });
    // The counter's words above the lowest, from those of the run's counters, in which what carries is added.
    let upper = [0, 1, 2].map(|_| context.unknowns.of_bits(context.cells, 32));
    let mut words = vec![c.times(256).plus(1, &k)];
    let mut carry = above.clone();
    for (n, (word, _)) in upper.iter().enumerate() {
        let carries = (n as u32) < case.carries.words;
        let word = if mode == Mode::CtrLe32 {
            word.clone()
        } else {
            word.plus(-1, &carry).plus(1 << 32, &Form::constant(carries.into()))
        };
        carry = Form::constant(carries.into());
        // The highest word wraps.
        if n < 2 {
            in_word(&word).into_iter().for_each(|fact| context.unknowns.assume(fact));
        }
        words.push(word);
    }
    let upper = upper.map(|(_, numbers)| std::array::from_fn(|i| Bit::of_choice(numbers[i])));
    let parts = parts(context.cells, mode, &keys, &upper)?;
    let [to, run_end] = [0, 1].map(|_| context.unknowns.number(1, (1 << 32) - 64));
    let next_run = one.plus(1, &above).times(1 << 24).plus(-1, &c);
    let (low, bits) = context.unknowns.of_bits(context.cells, 24);
    let tile = low.plus(-1, &c).plus(1 << 24, &above);
    let change: Block = std::array::from_fn(|bit| {
        (1..4).fold(Bit::ZERO, |sum, n| {
            sum ^ chosen(parts[n].iter().map(|part| part[bit]).collect(), &bits[8 * (n - 1)..8 * n])
        })
    });
    let mut stream = vec![];
    for part in &parts[0] {
        let state = aes::sum(part, &change);
        stream.push(aes::encrypt_from(context.cells, &state, &keys, 3).map_err(no_cell)?);
    }
    let of_launch = context.unknowns.facts();
    let buffers = [&input, &output].iter().flat_map(|form| form.terms.keys().copied()).collect();
    context.symbolic = Some(Symbolic::new(thread_block.clone(), thread_blocks.clone(), buffers));
    for (n, parameter) in entry.parameters.iter().enumerate() {
        let function = machine.function;
        match parameter.name {
            Argument::In => machine.context.number(function, n, 0, 8, input.clone()),
            Argument::Out => machine.context.number(function, n, 0, 8, output.clone()),
            Argument::Blocks => machine.context.number(function, n, 0, 8, blocks.clone()),
            Argument::Counter => {
                for (at, word) in (0..).step_by(4).zip(&words) {
                    machine.context.number(function, n, at, 4, word.clone());
                }
            }
            Argument::Keys => machine.parameter(n, &given_keys)?,
            other => return Err(format!("no value is known for `{other}`")),
        }
    }

    let [tile_loop, run_loop] = &Loop::around_stores(machine.function)?[..] else {
        return Err("the stores are not within two loops".into());
    };
    machine.stops = vec![tile_loop.head, run_loop.head];
    let numbers = Numbers { k, input, output, blocks, thread_block, thread_blocks, from, to, run_end, next_run, tile };
    let mut proof = Proof {
        live: live(machine.function),
        threads: machine.threads(),
        machine,
        warp: 0,
        warps: case.warps,
        tile_loop: tile_loop.clone(),
        run_loop: run_loop.clone(),
        numbers,
        of_launch,
        stream,
        has_input,
        owners: HashMap::new(),
        proved: Proved::default(),
    };
    let start = proof.snapshot();
    for warp in (case.followed.0..case.warps).step_by(case.followed.1) {
        proof.restore(start.clone());
        (proof.warp, proof.symbolic()?.warp) = (warp, warp);
        proof.share()?;
        let before_run = proof.machine.context.memory.contents();
        proof.run()?;
        proof.tile(&before_run)?;
    }
    Ok(proof.proved)
}

impl Proof<'_> {
    /// Up to the first run: the share of a thread block, which is a quotient of all tiles, and one more for the first thread blocks.
    fn share(&mut self) -> Result<(), String> {
        let register = self.carried(&self.run_loop)?;
        let at_run = self.ways(|proof| {
            proof.touches_nothing()?;
            let Numbers { k, blocks, thread_block, thread_blocks, to, .. } = &proof.numbers;
            let context = &mut proof.machine.context;
            let all = context.unknowns.shifted(&k.plus(1, blocks).plus(1, &Form::constant(255)), 8);
            let both = vec![all.clone(), thread_blocks.clone()];
            let each = context.unknowns.result("quotient", both, (0, u32::MAX.into()));
            let more = all.plus(-1, &context.product(&each, thread_blocks));
            let has_more = context.compare("lt", thread_block, &more, 32)?;
            let has_more =
                context.unknowns.decide(&has_more).ok_or("the share of a thread block is not what it should be")?;
            let begin = context.product(&each, thread_block).plus(1, if has_more { thread_block } else { &more });
            let end = begin.plus(1, &each).plus(has_more.into(), &Form::constant(1));
            let is_empty = context.compare("le", &end, &begin, 32)?;
            let to = to.clone();
            let stopped = proof.stopped()?;
            let expected = if stopped.is_none() { is_empty } else { is_empty.negated() };
            if proof.threads.iter().any(|thread| thread.last_test.as_ref() != Some(&expected)) {
                return Err("a thread block takes tiles although its share is empty, or takes none".into());
            }
            if stopped.is_none() {
                return Ok(None);
            }
            if stopped != Some(proof.run_loop.head) {
                return Err("a thread block does not begin with a run".into());
            }
            let found = Self::number_in(&proof.threads, register)?;
            if !proof.are_equal(&found, &begin) {
                return Err("a thread block begins elsewhere than its share".into());
            }
            proof.replace(|_| true, &end, &to);
            proof.forget(register);
            Ok(stopped)
        })?;
        self.restore(at_run.ok_or("there is no run")?);
        Ok(())
    }

    /// A run, from any tile of the share on, up to its first tile.
    fn run(&mut self) -> Result<(), String> {
        let Numbers { from, to, run_end, next_run, .. } = &self.numbers;
        let [from, to, run_end, next_run] = [from, to, run_end, next_run].map(Form::clone);
        self.know(&[to.plus(-1, &from).plus(-1, &Form::constant(1))]);
        self.begin_run()?;
        let written = self.run_loop.written(self.machine.function);
        let [run_register, register] = [self.carried(&self.run_loop)?, self.carried(&self.tile_loop)?];
        let own = from.plus(1, &Form::constant(self.warp as i128));
        let at_tile = self.ways(|proof| {
            proof.touches_nothing()?;
            let stopped = proof.stopped()?;
            if stopped == Some(proof.tile_loop.head) {
                let taken = Self::number_in(proof.warp(), register)?;
                let end = proof.last_test()?.plus(1, &taken).plus(1, &Form::constant(1));
                if !proof.are_equal(&taken, &own) {
                    return Err("a warp's first tile is not the run's first, plus the warp's index".into());
                }
                proof.is_end(&end)?;
                proof.replace(|register| written.contains(&register), &end, &run_end);
                proof.forget(register);
                return Ok(stopped);
            }
            // The warp has no tile in this run.
            let end = if proof.unknowns().is_not_negative(&next_run.plus(-1, &to)) { &to } else { &next_run };
            proof.is_end(end)?;
            if !proof.unknowns().is_not_negative(&own.plus(-1, end)) {
                return Err("a warp leaves its first tile of a run".into());
            }
            proof.leaves(stopped, run_register, end)?;
            Ok(None)
        })?;
        self.restore(at_tile.ok_or("there is no tile")?);
        Ok(())
    }

    /// A tile: any of the run.
    fn tile(&mut self, before_run: &Contents) -> Result<(), String> {
        let before_tile = self.machine.context.memory.contents();
        let Numbers { from, to, run_end, next_run, tile, .. } = &self.numbers;
        let [from, run_end, one] = [from.clone(), run_end.clone(), Form::constant(1)];
        let [low, high] = in_word(tile);
        let facts = [
            low,
            high,
            tile.plus(-1, &from),
            run_end.plus(-1, tile).plus(-1, &one),
            to.plus(-1, &run_end),
            next_run.plus(-1, &run_end),
        ];
        self.know(&facts);
        let [run_register, register] = [self.carried(&self.run_loop)?, self.carried(&self.tile_loop)?];
        self.begin_tile()?;
        let [mut is_again, mut is_next_run] = [false; 2];
        self.ways(|proof| {
            proof.tile_is_right()?;
            proof.proved.tiles += 1;
            for at in proof.machine.context.memory.elsewhere(&before_tile) {
                if *proof.owners.entry(at).or_insert(proof.warp) != proof.warp {
                    return Err("two warps write to the same shared memory during their tiles".into());
                }
            }
            if !proof.machine.context.memory.return_to(&before_tile) {
                return Err("a tile changes what the next needs".into());
            }
            let taken = std::mem::take(&mut proof.symbolic()?.taken);
            let [next] = &taken[..] else { return Err("a warp does not take one number for its next tile".into()) };
            let first = from.plus(1, &Form::constant(proof.warps as i128));
            if next.step != 1 || !proof.are_equal(&next.first, &first) {
                return Err("the numbers of tiles do not begin after the warps' own, or leave some out".into());
            }
            let goes_on = run_end.plus(-1, &next.number).plus(-1, &one);
            let stopped = proof.stopped()?;
            if stopped == Some(proof.tile_loop.head) {
                let handed = Self::number_in(proof.warp(), register)?;
                if handed != next.number || proof.last_test()? != goes_on {
                    return Err("a warp goes on with another tile than it took".into());
                }
                // Accesses to shared memory in one turn must be ordered with those in the next: any will do, so the one that was.
                if !std::mem::replace(&mut is_again, true) {
                    proof.begin_tile()?;
                    proof.go_any_way()?;
                }
                return Ok(None);
            }
            if proof.unknowns().decide(&Condition::NotNegative(goes_on)) != Some(false) {
                return Err("a warp leaves a tile of the run".into());
            }
            proof.leaves(stopped, run_register, &run_end)?;
            if !proof.machine.context.memory.return_to(before_run) {
                return Err("a run changes what the next needs".into());
            }
            // In the next run, of all warps, too.
            if stopped.is_some() && !std::mem::replace(&mut is_next_run, true) {
                proof.begin_run()?;
                proof.go_any_way()?;
            }
            Ok(None)
        })?;
        if is_again && is_next_run { Ok(()) } else { Err("there is no next tile, or no next run".into()) }
    }

    /// Takes what is known of the launch, and these forms, for at least 0, and forgets what else was known.
    fn know(&mut self, facts: &[Form]) {
        let all = [&self.of_launch[..], facts].concat();
        self.unknowns().set_facts(&all);
    }

    fn begin_run(&mut self) -> Result<(), String> {
        let (of, from) = (self.run_loop.clone(), self.numbers.from.clone());
        self.begin(&of, None, &from)
    }

    /// The other warps stay where they are.
    fn begin_tile(&mut self) -> Result<(), String> {
        let (of, tile) = (self.tile_loop.clone(), self.numbers.tile.clone());
        self.begin(&of, Some(self.warp), &tile)
    }

    /// Checks that nothing was read or written in device memory, and no tile taken.
    fn touches_nothing(&mut self) -> Result<(), String> {
        let symbolic = self.symbolic()?;
        if symbolic.reached.is_empty() && symbolic.taken.is_empty() {
            return Ok(());
        }
        Err("data is read or written, or a tile taken, outside the loop over tiles".into())
    }

    /// Checks that a run ends with the share, or where 32 bits of the counter wrap: whichever is first.
    fn is_end(&mut self, end: &Form) -> Result<(), String> {
        let Numbers { from, to, next_run, .. } = &self.numbers;
        let not_before = [to.plus(-1, end), next_run.plus(-1, end), end.plus(-1, from).plus(-1, &Form::constant(1))];
        let is_first = not_before.iter().all(|form| self.machine.context.unknowns.is_not_negative(form));
        if is_first && [to, next_run].into_iter().any(|one| self.are_equal(one, end)) {
            return Ok(());
        }
        Err("a run does not end with the share, or where 32 bits of the counter wrap".into())
    }

    /// Checks that a warp that leaves a run goes on with the tile after its end, if that is in the share, and ends if it is not.
    fn leaves(&mut self, stopped: Option<usize>, register: usize, end: &Form) -> Result<(), String> {
        let left = self.numbers.to.plus(-1, end);
        if stopped.is_none() {
            let is_over = self.unknowns().is_not_negative(&left.times(-1));
            return if is_over { Ok(()) } else { Err("a thread block ends before its share does".into()) };
        }
        if stopped != Some(self.run_loop.head) || !self.unknowns().is_not_negative(&left.plus(-1, &Form::constant(1))) {
            return Err("a thread block goes on after its share".into());
        }
        let handed = Self::number_in(self.warp(), register)?;
        if !self.are_equal(&handed, end) {
            return Err("a run does not begin where the one before ends".into());
        }
        Ok(())
    }

    /// Compares what a turn of the inner loop reached: of each block of the tile that exists, the words, and nothing else. Block `n` of the tile
    /// is block `256 tile - k + n` of the data.
    fn tile_is_right(&mut self) -> Result<(), String> {
        let reached = std::mem::take(&mut self.symbolic()?.reached);
        let Numbers { k, input, output, blocks, tile, .. } = &self.numbers;
        let unknowns = &self.machine.context.unknowns;
        let (number, one) = (tile.times(256).plus(-1, k), Form::constant(1));
        let mut all: HashMap<(bool, Form), &Reached> = HashMap::new();
        for each in &reached {
            let buffer = if each.is_store { output } else { input };
            if !buffer.terms.contains_key(&each.buffer) || each.bytes != 4 {
                return Err("a word is read or written elsewhere".into());
            }
            if all.insert((each.is_store, each.offset.clone()), each).is_some() {
                return Err("a word is read or written twice".into());
            }
        }
        for (n, block) in self.stream.iter().enumerate() {
            let number = number.plus(1, &Form::constant(n as i128));
            let is_after = Condition::NotNegative(number.clone());
            let is_before = Condition::NotNegative(blocks.plus(-1, &number).plus(-1, &one));
            let is_there = unknowns.decide(&is_after) == Some(true) && unknowns.decide(&is_before) == Some(true);
            let is_missing = unknowns.decide(&is_after) == Some(false) || unknowns.decide(&is_before) == Some(false);
            // In 64 bits the numbers of blocks before the data wrap, and are above all others.
            let below = Condition::Below(number.clone(), blocks.clone());
            let is_right = |under: &Option<Condition>| match under {
                None => is_there,
                Some(condition) => {
                    *condition == below || *condition == is_before && unknowns.decide(&is_after) == Some(true)
                }
            };
            for (column, word) in block.as_chunks::<32>().0.iter().enumerate() {
                let offset = number.times(16).plus(1, &Form::constant(4 * column as i128));
                let [loaded, stored] = [false, true].map(|is_store| all.remove(&(is_store, offset.clone())));
                let Some(stored) = stored else {
                    if !is_missing || loaded.is_some() {
                        return Err(format!("block {n} of a tile is not written, and may exist"));
                    }
                    continue;
                };
                if !is_right(&stored.under) {
                    return Err(format!("block {n} of a tile is written, and may not exist"));
                }
                let mut expected = *word;
                if let Some(loaded) = loaded {
                    // A word that is not there is read as zeros, and must not be written.
                    if !is_right(&loaded.under) || loaded.under.is_some() && loaded.under != stored.under {
                        return Err(format!("block {n} of a tile is read, and may not exist"));
                    }
                    if loaded.thread != stored.thread {
                        return Err(format!("block {n} of a tile is written by another thread than reads it"));
                    }
                    (0..32).for_each(|i| expected[i] ^= loaded.bits[i]);
                }
                if loaded.is_some() != self.has_input {
                    return Err(format!("block {n} of a tile is not computed from the input"));
                }
                if let Some(bit) = (0..32).find(|&i| expected[i] != stored.bits[i]) {
                    return Err(format!("bit {bit} of word {column} of block {n} of a tile differs"));
                }
            }
        }
        if !all.is_empty() {
            return Err("a word is read or written that is not of the tile".into());
        }
        Ok(())
    }
}
