//! The claim that output is as defined, for the entry points for many keys and many messages: the description of the work is known, keys
//! and data are not.

use crate::proof::aes::{self, Block};
use crate::proof::anf::Cells;
use crate::proof::context::{Grid, buffer};
use crate::proof::kernel::{INPUT, OUTPUT, Proved, key_argument, round_keys};
use crate::proof::launch::{Code, Launch};
use crate::proof::memory::{Byte, known, number};
use crate::proof::mode::{before_wrap, no_cell};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::jobs::{self, Job, run_blocks};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::order::Order;
use aes_bitslice_core::{cmac, messages};

/// Addresses of the tables that describe the work, and of secrets besides the data.
const TABLES: [u64; 3] = [buffer(4), buffer(5), buffer(7)];
const SECRETS: u64 = buffer(6);

/// The cipher's input, and what becomes of its output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Blocks of data, replaced by the output.
    Data,
    /// Counters, added to the data.
    Counters,
    /// Counters, in place of data.
    KeyStream,
}

impl Flow {
    /// The arguments `Counts` and `Adds`.
    fn numbers(self) -> [u64; 2] {
        match self {
            Self::Data => [0, 0],
            Self::Counters => [1, 1],
            Self::KeyStream => [1, 0],
        }
    }

    /// The result for a block of data that has a counter.
    fn of_block(
        self,
        cells: &mut Cells,
        block: &Block,
        counter: u128,
        keys: &[Block],
        direction: Direction,
    ) -> Result<Block, String> {
        let of_counter = aes::known(counter.to_be_bytes());
        match self {
            Self::Data => aes::process(cells, block, keys, direction),
            Self::Counters => aes::process(cells, &of_counter, keys, direction).map(|stream| aes::sum(&stream, block)),
            Self::KeyStream => aes::process(cells, &of_counter, keys, direction),
        }
        .map_err(no_cell)
    }
}

fn as_bytes(blocks: &[Block]) -> &[Byte] {
    blocks.as_flattened().as_chunks().0
}

fn all_known(bytes: &[u8]) -> Vec<Byte> {
    bytes.iter().copied().map(known).collect()
}

/// The distance from one to the next, if several side by side have the same number of bytes, else 0: then all are listed.
fn stride(bytes: &[usize]) -> u64 {
    if bytes.len() > 1 && bytes.iter().all(|n| *n == bytes[0]) { bytes[0] as u64 } else { 0 }
}

/// A kernel with entry points for many at a time.
pub struct Batch<'a> {
    manifest: &'a Manifest,
    code: Code<'a>,
    grid: Option<Grid>,
    cells: Cells,
}

impl<'a> Batch<'a> {
    /// For a manifest and its code, on this grid; by default on two thread blocks with as many threads as the manifest says.
    ///
    /// # Errors
    /// If the manifest does not say in which basis the cipher is.
    pub fn new(manifest: &'a Manifest, code: impl Into<Code<'a>>, grid: Option<Grid>) -> Result<Self, String> {
        let basis = manifest.basis().map_err(|e| e.to_string())?;
        let code = code.into();
        Ok(Self { manifest, code, grid, cells: Cells::in_bases(&[basis]) })
    }

    fn direction(&self) -> Result<Direction, String> {
        Ok(self.manifest.mode().map_err(|e| e.to_string())?.direction())
    }

    /// The basis of round keys that are expanded on the device.
    fn expanded_basis(&self) -> Result<ColumnBasis, String> {
        let basis = match self.direction()? {
            Direction::Encrypt => self.manifest.basis().map(ColumnBasis::from),
            Direction::Decrypt => self.manifest.key_basis(),
        };
        basis.map_err(|e| e.to_string())
    }

    /// A launch of an entry point, with as many threads as the manifest says.
    fn launch(&self, entry: Entry) -> Result<Launch<'a>, String> {
        let own_keys = self.manifest.own_key_threads.filter(|_| entry.arguments().contains(&Argument::KeyWords));
        let threads = own_keys.unwrap_or(self.manifest.threads) as usize;
        let grid = self.grid.unwrap_or(Grid { blocks: 2, threads });
        let entry = self.manifest.entry(entry).map_err(|e| e.to_string())?;
        Ok(Launch { code: self.code, entry, grid, shared_bytes: 0 })
    }

    fn unknown(&mut self, blocks: usize) -> Vec<Block> {
        (0..blocks).map(|_| aes::unknown(&mut self.cells)).collect()
    }

    /// Unknown keys and their round keys.
    fn unknown_keys(&mut self, key_bits: KeyBits, count: usize) -> Result<(Vec<Byte>, Vec<Vec<Block>>), String> {
        let keys: Vec<Byte> =
            (0..count * key_bits.bytes()).map(|_| std::array::from_fn(|_| self.cells.unknown())).collect();
        let expanded = keys.chunks(key_bits.bytes()).map(|key| aes::expand(&mut self.cells, key));
        let expanded = expanded.collect::<Result<_, _>>().map_err(no_cell)?;
        Ok((keys, expanded))
    }

    /// Proves this many keys, each with `each` blocks: the schedule and the cipher.
    ///
    /// # Errors
    /// In words: the first wrong bit, or the instruction that cannot be followed.
    pub fn prove_each(
        mut self,
        key_bits: KeyBits,
        count: usize,
        each: usize,
        flow: Flow,
        counter: u128,
    ) -> Result<Proved, String> {
        let direction = self.direction()?;
        let input = self.unknown(count * each);
        let (keys, expanded) = self.unknown_keys(key_bits, count)?;
        let mut output = vec![];
        for (n, block) in input.iter().enumerate() {
            let counter = counter.wrapping_add((n % each) as u128);
            output.push(flow.of_block(&mut self.cells, block, counter, &expanded[n / each], direction)?);
        }
        let arguments = |argument| {
            Some(match argument {
                Argument::In => number(INPUT, 8),
                Argument::Out => number(OUTPUT, 8),
                Argument::Blocks => number((count * each) as u64, 4),
                Argument::Each => number(each as u64, 4),
                Argument::CipherKeys => number(SECRETS, 8),
                Argument::KeyWords => number(key_bits.bytes() as u64 / 4, 4),
                Argument::Counter => all_known(&counter.to_le_bytes()),
                Argument::Counts => number(flow.numbers()[0], 4),
                Argument::Adds => number(flow.numbers()[1], 4),
                _ => return None,
            })
        };
        let launch = self.launch(Entry::Each)?;
        let given = [(INPUT, as_bytes(&input)), (SECRETS, &keys[..])];
        let outputs = [("output", OUTPUT, as_bytes(&output))];
        Ok(Proved { bits: launch.prove(&mut self.cells, arguments, &given, &outputs)? })
    }

    /// Proves the schedules of this many keys.
    ///
    /// # Errors
    /// In words: the first wrong bit, or the instruction that cannot be followed.
    pub fn prove_expand(mut self, key_bits: KeyBits, count: usize) -> Result<Proved, String> {
        let (direction, basis) = (self.direction()?, self.expanded_basis()?);
        let (keys, expanded) = self.unknown_keys(key_bits, count)?;
        let output: Vec<Block> = expanded.iter().flat_map(|keys| round_keys(keys, direction, &basis)).collect();
        let arguments = |argument| {
            Some(match argument {
                Argument::CipherKeys => number(SECRETS, 8),
                Argument::All => number(count as u64, 4),
                Argument::KeyWords => number(key_bits.bytes() as u64 / 4, 4),
                Argument::RoundKeys => number(OUTPUT, 8),
                _ => return None,
            })
        };
        let launch = self.launch(Entry::Expand)?;
        let outputs = [("round keys", OUTPUT, as_bytes(&output))];
        Ok(Proved { bits: launch.prove(&mut self.cells, arguments, &[(SECRETS, &keys)], &outputs)? })
    }

    /// Proves jobs of these numbers of bytes side by side, each with its own round keys, in runs of `run_blocks(wide)` blocks. Equal ones are
    /// described by a stride.
    ///
    /// # Errors
    /// In words: the first wrong bit, or the instruction that cannot be followed.
    pub fn prove_jobs(mut self, key_bits: KeyBits, flow: Flow, bytes: &[usize], wide: u32) -> Result<Proved, String> {
        let (direction, basis) = (self.direction()?, self.expanded_basis()?);
        let (mut all, mut counters, mut input, mut output, mut given_keys) = (vec![], vec![], vec![], vec![], vec![]);
        for (n, &bytes) in bytes.iter().enumerate() {
            let counter = before_wrap(32 * (n as u32 % 4 + 1), 16);
            let keys = aes::unknown_keys(&mut self.cells, key_bits);
            let data = self.unknown(bytes.div_ceil(16));
            // The other blocks of a run are zeros and counters; their results are unused.
            let in_runs = data.len().next_multiple_of(run_blocks(wide) as usize);
            let mut made = vec![];
            for (i, block) in data.iter().chain(std::iter::repeat(&aes::known([0; 16]))).enumerate().take(in_runs) {
                made.push(flow.of_block(&mut self.cells, block, counter.wrapping_add(i as u128), &keys, direction)?);
            }
            all.push(Job { at: input.len() as u64, bytes: bytes as u64 });
            counters.extend(all_known(&counter.to_be_bytes()));
            input.extend_from_slice(&as_bytes(&data)[..bytes]);
            output.extend_from_slice(&as_bytes(&made)[..bytes]);
            given_keys.extend(round_keys(&keys, direction, &basis));
        }
        let runs: u64 = all.iter().map(|job| job.runs(wide)).sum();
        let stride = stride(bytes);
        let listed = if stride == 0 { &all[..] } else { &all[..1] };
        let tables = jobs::tables(listed.iter().copied(), stride, wide)
            .expect("few")
            .map(|table| all_known(table.as_flattened()));
        let arguments = |argument| {
            Some(match argument {
                Argument::In => number(INPUT, 8),
                Argument::Out => number(OUTPUT, 8),
                Argument::Jobs => number(TABLES[0], 8),
                Argument::Runs => number(TABLES[1], 8),
                Argument::Stride => number(stride, 8),
                Argument::All => number(runs, 4),
                Argument::Wide => number(u64::from(wide), 4),
                Argument::Counters => number(TABLES[2], 8),
                Argument::RoundKeys => number(SECRETS, 8),
                Argument::KeyWords => number(key_bits.bytes() as u64 / 4, 4),
                Argument::Counts => number(flow.numbers()[0], 4),
                Argument::Adds => number(flow.numbers()[1], 4),
                _ => return None,
            })
        };
        let launch = self.launch(Entry::Jobs)?;
        let [jobs, of_runs] = &tables;
        let tables = [(TABLES[0], &jobs[..]), (TABLES[1], of_runs), (TABLES[2], &counters)];
        let given = [&[(INPUT, &input[..]), (SECRETS, as_bytes(&given_keys))], &tables[..]].concat();
        Ok(Proved { bits: launch.prove(&mut self.cells, arguments, &given, &[("output", OUTPUT, &output)])? })
    }

    /// Proves the counter mode of messages of these numbers of bytes side by side, under one key (SP 800-38D): the data, and the mask of
    /// each tag.
    ///
    /// # Errors
    /// In words: the first wrong bit, or the instruction that cannot be followed.
    pub fn prove_messages(mut self, key_bits: KeyBits, bytes: &[usize]) -> Result<Proved, String> {
        let launch = self.launch(Entry::Messages)?;
        let keys = aes::unknown_keys(&mut self.cells, key_bits);
        let (mut all, mut input, mut output, mut masks): (Vec<messages::Message>, _, _, _) =
            (vec![], vec![], vec![], vec![]);
        // Counters of runs that do not exist; their results are unused.
        for i in 0..messages::RUN {
            let counter = aes::known(u128::from(i).to_be_bytes());
            aes::process(&mut self.cells, &counter, &keys, Direction::Encrypt).map_err(no_cell)?;
        }
        let mut first_run = 0;
        for (n, &bytes) in bytes.iter().enumerate() {
            let mut first: [u8; 16] = std::array::from_fn(|i| (17 * n + i) as u8);
            first[12..].copy_from_slice(&(u32::MAX - 3).to_be_bytes());
            let message = messages::Message {
                first,
                at: input.len() as u64,
                bytes: bytes as u64,
                aad_at: 0,
                aad_bytes: 0,
                tag_bytes: 16,
                first_run,
            };
            let mut stream = vec![];
            for i in 0..message.runs() as u32 * messages::RUN as u32 {
                let mut counter = first;
                counter[12..].copy_from_slice(&(u32::MAX - 3).wrapping_add(i).to_be_bytes());
                let block = aes::process(&mut self.cells, &aes::known(counter), &keys, Direction::Encrypt);
                stream.push(block.map_err(no_cell)?);
            }
            let data = self.unknown(bytes.div_ceil(16));
            let made: Vec<Block> = data.iter().zip(&stream[1..]).map(|(a, b)| aes::sum(a, b)).collect();
            masks.push(stream[0]);
            first_run += message.runs() as u32;
            all.push(message);
            input.extend_from_slice(&as_bytes(&data)[..bytes]);
            output.extend_from_slice(&as_bytes(&made)[..bytes]);
        }
        let table = all.iter().map(messages::words_of).chain([messages::words_of_end(first_run)]);
        let table = all_known(table.collect::<Vec<_>>().as_flattened().as_flattened());
        let numbered = all.iter().zip(0u32..);
        let first = numbered.flat_map(|(message, n)| messages::tiles_that_begin_in(message).map(move |_| n));
        let first = all_known(first.map(u32::to_le_bytes).collect::<Vec<_>>().as_flattened());
        // The masks are after the data.
        let at_masks = SECRETS;
        let basis = self.manifest.key_basis().map_err(|e| e.to_string())?;
        let given_keys = key_argument(&mut self.cells, &keys, Direction::Encrypt, &basis);
        let arguments = |argument| {
            Some(match argument {
                Argument::In => number(INPUT, 8),
                Argument::Out => number(OUTPUT, 8),
                Argument::Messages => number(TABLES[0], 8),
                Argument::FirstMessages => number(TABLES[1], 8),
                Argument::All => number(u64::from(first_run), 4),
                Argument::Masks => number(at_masks, 8),
                Argument::Keys => given_keys.clone(),
                _ => return None,
            })
        };
        let given = [(INPUT, &input[..]), (TABLES[0], &table), (TABLES[1], &first)];
        let outputs = [("output", OUTPUT, &output[..]), ("masks", at_masks, as_bytes(&masks))];
        Ok(Proved { bits: launch.prove(&mut self.cells, arguments, &given, &outputs)? })
    }

    /// Proves the counter mode of one message of this many bytes, by the entry point for secret counters, under one key (SP 800-38D).
    ///
    /// # Errors
    /// In words: the first wrong bit, or the instruction that cannot be followed.
    pub fn prove_secret_counter(mut self, key_bits: KeyBits, bytes: usize) -> Result<Proved, String> {
        let launch = self.launch(Entry::SecretCounter)?;
        let keys = aes::unknown_keys(&mut self.cells, key_bits);
        // Wraps in its last word.
        let words = [0x0001_0203, 0x1415_1617, 0x2829_2a2b, u32::MAX - 3];
        let mut stream = vec![];
        // Of whole tiles: results past the data are unused.
        for i in 0..bytes.div_ceil(16).next_multiple_of(self.manifest.tile_blocks as usize) {
            let mut counter = words;
            counter[3] = counter[3].wrapping_add(i as u32);
            let counter: [u8; 16] = std::array::from_fn(|i| counter[i / 4].to_be_bytes()[i % 4]);
            let block = aes::process(&mut self.cells, &aes::known(counter), &keys, Direction::Encrypt);
            stream.push(block.map_err(no_cell)?);
        }
        let data = self.unknown(bytes.div_ceil(16));
        let made: Vec<Block> = data.iter().zip(&stream).map(|(a, b)| aes::sum(a, b)).collect();
        let (input, output) = (&as_bytes(&data)[..bytes], &as_bytes(&made)[..bytes]);
        let basis = self.manifest.key_basis().map_err(|e| e.to_string())?;
        let given_keys = key_argument(&mut self.cells, &keys, Direction::Encrypt, &basis);
        let counter: Vec<[u8; 4]> = words.iter().rev().map(|word| word.to_le_bytes()).collect();
        let arguments = |argument| {
            Some(match argument {
                Argument::In => number(INPUT, 8),
                Argument::Out => number(OUTPUT, 8),
                Argument::Length => number(bytes as u64, 8),
                Argument::SecretCounter => all_known(counter.as_flattened()),
                Argument::Keys => given_keys.clone(),
                _ => return None,
            })
        };
        let outputs = [("output", OUTPUT, output)];
        Ok(Proved { bits: launch.prove(&mut self.cells, arguments, &[(INPUT, input)], &outputs)? })
    }

    /// Proves the CMAC tags of this many messages, whose numbers of bytes cycle through these, under one key (SP 800-38B). The subkeys are
    /// unknown, too. Of equal messages a tile is described.
    ///
    /// # Errors
    /// In words: the first wrong bit, or the instruction that cannot be followed.
    pub fn prove_cmac(mut self, key_bits: KeyBits, count: usize, bytes: &[usize]) -> Result<Proved, String> {
        let launch = self.launch(Entry::Cmac)?;
        let keys = aes::unknown_keys(&mut self.cells, key_bits);
        let subkeys = self.unknown(2);
        // Ciphers for messages that have not begun yet; their results are unused.
        for block in [aes::known([0; 16]), keys[key_bits.rounds()]] {
            aes::process(&mut self.cells, &block, &keys, Direction::Encrypt).map_err(no_cell)?;
        }
        let (mut all, mut input, mut tags) = (vec![], vec![], vec![]);
        let of_each: Vec<usize> = bytes.iter().copied().cycle().take(count).collect();
        for &bytes in &of_each {
            let message = cmac::Message { at: input.len() as u64, bytes: bytes as u64 };
            let mut data: Vec<Byte> = (0..bytes).map(|_| std::array::from_fn(|_| self.cells.unknown())).collect();
            input.extend_from_slice(&data);
            // Section 6.2.
            let is_whole = bytes > 0 && bytes.is_multiple_of(16);
            if !is_whole {
                data.push(known(0x80));
                data.resize(16 * message.blocks() as usize, known(0));
            }
            let blocks = data.as_flattened().as_chunks::<128>().0;
            let mut state = aes::known([0; 16]);
            for (n, block) in blocks.iter().enumerate() {
                state = aes::sum(&state, block);
                if n + 1 == blocks.len() {
                    state = aes::sum(&state, &subkeys[usize::from(!is_whole)]);
                }
                state = aes::process(&mut self.cells, &state, &keys, Direction::Encrypt).map_err(no_cell)?;
            }
            all.push(message);
            tags.push(state);
        }
        let order = Order::longest_first(all.len(), |n| all[n].blocks()).expect("few");
        let listed = cmac::Listed::of(count, stride(&of_each));
        let mut table = vec![[0; 4]; listed.words()];
        listed.write(|n| all[n], &order, 0, &mut table);
        let table = all_known(table.as_flattened());
        let tags: Vec<Block> = (0..all.len()).map(|position| tags[order.at(position)]).collect();
        let basis = self.manifest.key_basis().map_err(|e| e.to_string())?;
        let given_keys = key_argument(&mut self.cells, &keys, Direction::Encrypt, &basis);
        let arguments = |argument| {
            Some(match argument {
                Argument::In => number(INPUT, 8),
                Argument::Messages => number(TABLES[0], 8),
                Argument::Stride => number(listed.stride, 8),
                Argument::All => number(count as u64, 4),
                Argument::Subkeys => number(SECRETS, 8),
                Argument::Tags => number(OUTPUT, 8),
                Argument::Keys => given_keys.clone(),
                _ => return None,
            })
        };
        let given = [(INPUT, &input[..]), (TABLES[0], &table), (SECRETS, as_bytes(&subkeys))];
        Ok(Proved { bits: launch.prove(&mut self.cells, arguments, &given, &[("tags", OUTPUT, as_bytes(&tags))])? })
    }
}
