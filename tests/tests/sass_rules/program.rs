//! Programs of machine code that execute instructions one by one: each gets its registers and predicates from memory, and all of them are
//! put there after it. A program stands in the place of an entry point, and has its registers, shared memory and parameters.

use crate::cubin;
use crate::data::{Random, operands};
use crate::encoding as e;
use crate::form::{Form, is_uniform, name};
use aes_bitslice_analysis::proof::anf::Cells;
use aes_bitslice_analysis::proof::context::Grid;
use aes_bitslice_analysis::proof::launch::{Code, Launch};
use aes_bitslice_analysis::proof::memory::{Byte, Memory, known};
use aes_bitslice_analysis::sass::{Disassembler, Listing, Operand, PREDICATES, UNIFORM, UNIFORM_PREDICATES};
use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::signature::{EntryPoint, Parameter};
use std::collections::BTreeSet;

/// Shared memory besides the entry point's own.
pub const SHARED_BYTES: u32 = 0x2000;
/// Where shared memory begins, and the parameters in the constant bank.
const SHARED: u64 = 0x400;
const PARAMETERS: u64 = 0x210;

/// Words at the beginning of a thread's input that are loaded from by the instructions under test.
const LOADED: usize = 64;

/// An entry point in whose place programs stand.
pub struct Entry<'a> {
    pub cubin: &'a [u8],
    pub name: &'a str,
    pub listing: Listing,
}

/// An instruction of a program, and the numbers of the words that it has in a thread's input and output.
pub struct Site {
    pub form: Form,
    /// Its registers and predicates, in this order in both.
    places: Vec<usize>,
    input: usize,
    pub output: usize,
    /// Behind the places, if it accesses shared memory: the address of 16 bytes, and what they are; in the output what they are after it.
    is_shared: bool,
    /// Four words in the output to store to.
    stored: usize,
}

/// A program.
pub struct Program {
    pub cubin: Vec<u8>,
    pub entry: String,
    text: String,
    pub sites: Vec<Site>,
    /// Words of each thread.
    pub input: usize,
    pub output: usize,
    /// Threads of a thread block.
    pub threads: usize,
    /// Words of the input that are not random.
    pub given: Given,
    /// Where the constant bank ends, and shared memory.
    constant_end: u64,
    shared_end: u64,
}

/// Words of a thread's input, and what they are by the number of the thread.
pub type Given = Vec<(usize, fn(usize) -> u32)>;

/// The buffers of a launch.
#[derive(Clone, Copy)]
pub struct Addresses {
    pub input: u64,
    pub output: u64,
}

/// Registers that a piece of code uses for itself.
pub struct Scratch {
    pub input: usize,
    pub output: usize,
    pub word: usize,
    pub at: usize,
    pub descriptor: usize,
    pub uniform: usize,
}

impl Scratch {
    /// Registers that are not among these.
    fn beside(used: &BTreeSet<usize>, registers: usize) -> Self {
        let mut used = used.clone();
        let mut free = |range: std::ops::Range<usize>, count: usize| {
            let is_free = |first: &usize| (*first..first + count).all(|n| !used.contains(&n));
            let found = range.step_by(count).find(is_free).expect("a register is free");
            used.extend(found..found + count);
            found
        };
        Self {
            input: free(0..registers - 1, 2),
            output: free(0..registers - 1, 2),
            word: free(0..registers, 1),
            at: free(0..registers, 1),
            descriptor: free(UNIFORM..UNIFORM + 62, 2) - UNIFORM,
            uniform: free(UNIFORM..UNIFORM + 62, 1) - UNIFORM,
        }
    }

    /// Brings the addresses of a thread's words into registers. How many words and threads there are is filled in by [`Program::new`].
    pub fn begin(&self, words: [usize; 2], threads: usize) -> Vec<u128> {
        let mut code = vec![e::nop(), e::thread(self.word), e::block(self.at), e::descriptor(self.descriptor)];
        code.push(e::product(self.at, self.at, threads, self.word));
        for ((register, parameter), words) in [(self.input, 0x210), (self.output, 0x218)].into_iter().zip(words) {
            code.extend([e::parameter(register, parameter), e::wide_product(register, self.at, 4 * words)]);
        }
        code
    }

    pub fn load(&self, to: usize, word: usize) -> u128 {
        e::load(to, self.descriptor, self.input, 4 * word)
    }

    pub fn store(&self, from: usize, word: usize) -> u128 {
        e::store(from, self.descriptor, self.output, 4 * word)
    }
}

impl Site {
    /// An instruction whose words begin at these numbers, and how many of both it has.
    fn new(form: Form, registers: usize, [input, output]: [usize; 2]) -> (Self, [usize; 2]) {
        let descriptor = form.descriptor();
        let is_value = |place: &usize| descriptor.is_none_or(|first| ![first, first + 1].contains(place));
        let places: Vec<usize> = form.places(registers).into_iter().filter(is_value).collect();
        let is_shared = ["LDS", "STS", "ATOMS"].contains(&&*form.instruction.opcode[0]);
        let stored = (output + places.len() + 4).next_multiple_of(4);
        let words = [places.len() + 5, stored + 4 - output];
        (Self { form, places, input, output, is_shared, stored }, words)
    }

    /// The code, and where in it the instruction is.
    fn code(&self, registers: usize, words: [usize; 2]) -> (Vec<u128>, usize) {
        let mut used: BTreeSet<usize> = self.places.iter().copied().collect();
        let descriptor = self.form.descriptor();
        used.extend(descriptor.iter().flat_map(|first| [*first, first + 1]));
        let scratch = Scratch::beside(&used, registers);
        let (word, at, uniform) = (scratch.word, scratch.at, scratch.uniform);
        let mut code = scratch.begin(words, 32);
        let end = self.places.len();
        if self.is_shared {
            code.push(scratch.load(at, self.input + end));
            for n in 0..4 {
                code.extend([scratch.load(word, self.input + end + 1 + n), e::store_shared(word, at, 4 * n)]);
            }
        }
        code.extend(descriptor.map(|first| e::descriptor(first - UNIFORM)));
        // General registers last, and of the rest those that are made of others.
        for (n, &place) in self.places.iter().enumerate().rev() {
            let to = if place < UNIFORM { place } else { word };
            code.push(scratch.load(to, self.input + n));
            match place {
                UNIFORM_PREDICATES.. => code.extend([
                    e::to_uniform(uniform, word),
                    e::to_uniform_predicate(place - UNIFORM_PREDICATES, uniform),
                ]),
                PREDICATES.. => code.push(e::to_predicate(place - PREDICATES, word)),
                UNIFORM.. => code.push(e::to_uniform(place - UNIFORM, word)),
                _ => {}
            }
        }
        code.push(e::nop());
        let which = code.len();
        code.extend([e::alone(self.form.word, &self.form.instruction.opcode[0]), e::nop()]);
        for (n, &place) in self.places.iter().enumerate() {
            match place {
                UNIFORM_PREDICATES.. => code.extend([
                    e::from_uniform_predicate(uniform, place - UNIFORM_PREDICATES),
                    e::from_uniform(word, uniform),
                ]),
                PREDICATES.. => code.push(e::from_predicate(word, place - PREDICATES)),
                UNIFORM.. => code.push(e::from_uniform(word, place - UNIFORM)),
                _ => {}
            }
            code.push(scratch.store(if place < UNIFORM { place } else { word }, self.output + n));
        }
        if self.is_shared {
            for n in 0..4 {
                code.extend([e::load_shared(word, at, 4 * n), scratch.store(word, self.output + end + n)]);
            }
        }
        (code, which)
    }

    /// Whether a word of the output is what the instruction writes to its first operand, registers.
    pub fn is_result(&self, word: usize) -> bool {
        let Some(Operand::Register { number, .. }) = self.form.instruction.operands.first() else { return false };
        let written = *number..*number + (self.form.bytes() / 4) as usize;
        self.places.get(word - self.output).is_some_and(|place| written.contains(place))
    }

    /// The operands in the words of a thread's input, and which place a word of the output is.
    pub fn of_thread(&self, input: &[u32], word: usize) -> String {
        let values = self.places.iter().zip(&input[self.input..]).map(|(place, word)| format!("{place}: {word:#x}"));
        format!("place {:?} of {}", self.places.get(word - self.output), values.collect::<Vec<_>>().join(", "))
    }

    /// Fills in a warp's words of the input. Takes where each lane's input and output are.
    fn fill(&self, random: &mut Random, warp: &mut [u32], program: &Program, at: impl Fn(usize) -> [u64; 2]) {
        let mut lanes = operands(random, &self.form, &self.places);
        let (mut terms, number) = self.form.terms();
        // The last term takes what is missing, the others little.
        terms.sort_by_key(|place| !is_uniform(*place));
        let is_same = terms.iter().all(|place| is_uniform(*place));
        let little = random.below(SHARED) as u32;
        // So that no register has to be negative, in shared memory.
        let first = SHARED.saturating_add_signed(SHARED as i64 + number as i64).max(SHARED);
        let base = if self.is_shared { (first + random.below(program.shared_end - SHARED - first)) & !15 } else { 0 };
        let same: [u32; 4] = std::array::from_fn(|_| random.next() as u32);
        for (n, lane) in lanes.iter_mut().enumerate() {
            let [input, output] = at(n);
            let slot = base + if is_same { 0 } else { 16 * n as u64 };
            let within = if is_same { 0 } else { random.below(16 / self.form.bytes()) * self.form.bytes() };
            let target = match &*self.form.instruction.opcode[0] {
                _ if self.is_shared => slot + within,
                "LDG" => input + 16 * random.below(LOADED as u64 / 4) + within,
                "STG" => output + 4 * self.stored as u64 + within,
                // In the constant bank.
                _ => number + 4 * random.below((program.constant_end - number.min(program.constant_end - 4)) / 4),
            };
            if let [others @ .., last] = &terms[..] {
                others.iter().for_each(|place| _ = lane.insert(*place, little));
                let missing = target.wrapping_sub(number).wrapping_sub(others.len() as u64 * u64::from(little));
                lane.insert(*last, missing as u32);
                if self.form.is_of_device() {
                    lane.insert(last + 1, (missing >> 32) as u32);
                }
            }
            let mine = &mut warp[n * program.input + self.input..];
            for (word, place) in mine.iter_mut().zip(&self.places) {
                *word = lane[place];
            }
            let behind = &mut mine[self.places.len()..];
            behind[0] = slot as u32;
            for (word, same) in behind[1..5].iter_mut().zip(same) {
                *word = if is_same { same } else { random.next() as u32 };
            }
        }
    }
}

/// The part of a listing that is about one entry point.
fn of_entry(listing: &str, entry: &str) -> String {
    let mut is_of_entry = false;
    let of_line = |line: &&str| {
        if let Some(name) = line.trim_start().strip_prefix(".section\t") {
            is_of_entry = name.split(',').next().is_some_and(|name| name.trim().ends_with(&format!(".{entry}")));
        }
        is_of_entry
    };
    listing.lines().filter(of_line).collect::<Vec<_>>().join("\n")
}

impl Program {
    /// A program of as many of the forms as there is room for, which it takes from the list's end.
    ///
    /// # Panics
    /// If the disassembler reads another instruction than was to be executed.
    pub fn of_forms(entry: &Entry<'_>, forms: &mut Vec<Form>, disassembler: &Disassembler) -> Self {
        let place = cubin::find(entry.cubin, entry.name);
        let room = place.code.len() / 16 - 1;
        let (mut words, mut length, mut sites) = ([LOADED, 0], 0, vec![]);
        while let Some(form) = forms.last() {
            let (site, more) = Site::new(form.clone(), place.registers, words);
            length += site.code(place.registers, [0, 0]).0.len();
            if length > room {
                break;
            }
            words = [words[0] + more[0], words[1] + more[1]];
            sites.push(site);
            forms.pop();
        }
        assert!(!sites.is_empty(), "there is no room in {}", entry.name);
        let words = words.map(|words| words.next_multiple_of(4));
        let (mut code, mut at) = (vec![], vec![]);
        for site in &sites {
            let (of_site, which) = site.code(place.registers, words);
            at.push(code.len() + which);
            code.extend(of_site);
        }
        code.push(e::exit());
        let program = Self { sites, ..Self::of_code(entry, &code, words, 32, vec![], disassembler) };
        let listing = Listing::read(&program.text, entry.name).unwrap();
        for (site, at) in program.sites.iter().zip(at) {
            let found = &listing.instructions[at];
            assert_eq!((name(&found.text), found.address), (site.form.name.clone(), 16 * at as i64), "{}", entry.name);
        }
        program
    }

    /// The instruction whose result a word of a thread's output is; none in a program of branches.
    pub fn site(&self, word: usize) -> Option<&Site> {
        self.sites.iter().rfind(|site| site.output <= word)
    }

    /// A program of this code.
    ///
    /// # Panics
    /// If there is no room for it in the entry point.
    pub fn of_code(
        entry: &Entry<'_>,
        code: &[u128],
        [input, output]: [usize; 2],
        threads: usize,
        given: Given,
        disassembler: &Disassembler,
    ) -> Self {
        let place = cubin::find(entry.cubin, entry.name);
        assert!(16 * code.len() <= place.code.len(), "there is no room in {}", entry.name);
        let mut cubin = entry.cubin.to_vec();
        let all = code.iter().copied().chain(std::iter::repeat(e::nop()));
        cubin[place.code].as_chunks_mut().0.iter_mut().zip(all).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        let text = of_entry(&disassembler.list(&cubin).unwrap(), entry.name);
        Self {
            text,
            cubin,
            entry: entry.name.into(),
            sites: vec![],
            input,
            output,
            threads,
            given,
            constant_end: entry.listing.constant_bytes,
            shared_end: entry.listing.shared_bytes.max(SHARED) + u64::from(SHARED_BYTES),
        }
    }

    /// Random words for all threads of a launch.
    pub fn input(&self, random: &mut Random, blocks: usize, at: Addresses) -> Vec<u32> {
        let mut all: Vec<u32> = (0..blocks * self.threads * self.input).map(|_| random.next() as u32).collect();
        for (thread, words) in all.chunks_mut(self.input).enumerate() {
            self.given.iter().for_each(|(word, of)| words[*word] = of(thread % self.threads));
        }
        for (block, warp) in all.chunks_mut(32 * self.input).enumerate() {
            for site in &self.sites {
                let thread = |lane| (32 * block + lane) as u64;
                let of = |lane| {
                    [at.input + 4 * thread(lane) * self.input as u64, at.output + 4 * thread(lane) * self.output as u64]
                };
                site.fill(random, warp, self, of);
            }
        }
        all
    }

    /// Bytes for all parameters: the first are the addresses, the others are random.
    pub fn parameters(&self, random: &mut Random, at: Addresses) -> Vec<u8> {
        let mut bytes: Vec<u8> = (PARAMETERS..self.constant_end).map(|_| random.next() as u8).collect();
        bytes[..8].copy_from_slice(&at.input.to_le_bytes());
        bytes[8..16].copy_from_slice(&at.output.to_le_bytes());
        bytes
    }

    /// Runs it by the rules.
    ///
    /// # Errors
    /// In words: the instruction that cannot be followed.
    pub fn by_rules(&self, blocks: usize, parameters: &[u8], input: &[u32], at: Addresses) -> Result<Memory, String> {
        let bytes = |bytes: &[u8]| -> Vec<Byte> { bytes.iter().map(|byte| known(*byte)).collect() };
        let input: Vec<Byte> = input.iter().flat_map(|word| word.to_le_bytes()).map(known).collect();
        // All parameters as one.
        let parameter = Parameter { name: Argument::In, kind: Kind::Input };
        let entry = EntryPoint { name: self.entry.clone(), parameters: vec![parameter] };
        let grid = Grid { blocks: blocks as u64, threads: self.threads };
        let launch = Launch { code: Code::Sass(&self.text), entry: &entry, grid, shared_bytes: SHARED_BYTES };
        let output = (at.output, 4 * blocks * self.threads * self.output);
        launch.run(&mut Cells::new(), |_| Some(bytes(parameters)), &[(at.input, &input)], &[output])
    }
}
