//! Launches of a printed kernel of a cipher on the CPU.

use super::error::CheckError;
use super::launch::{Access, Launch};
use super::program::{Given, Program, Threads, bytes_of};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::layout::{MAX_ROUNDS, PLANES};
use aes_bitslice_core::manifest::Manifest;

/// A printed kernel of a cipher, compiled for the CPU and running.
#[derive(Debug)]
pub struct CompiledC {
    manifest: Manifest,
    program: Program,
}

impl CompiledC {
    /// Compiles with the C compiler named by the environment variable `CC`, or else `cc`, `gcc` or `clang`. Returns `None` if none of these
    /// exists.
    pub fn compile(source: &str, manifest: &Manifest) -> Result<Option<Self>, CheckError> {
        let program = Program::compile(source, manifest)?;
        Ok(program.map(|program| Self { manifest: manifest.clone(), program }))
    }

    fn takes(&self, argument: Argument) -> bool {
        [Entry::Blocks, Entry::Bytes].iter().any(|entry| self.manifest.entries[entry].takes(argument))
    }

    /// Whether the output may replace the input; false if there is only one of them.
    pub fn can_be_in_place(&self) -> bool {
        self.takes(Argument::In) && self.takes(Argument::Out)
    }

    /// Whether the entry point for any alignment takes any number of bytes, from anywhere in a block of key stream.
    pub fn takes_any_length(&self) -> bool {
        self.manifest.entries[&Entry::Bytes].takes(Argument::Skip)
    }

    /// Runs all threads of a grid that covers the data, thread block by thread block, and returns the output: empty for a kernel that only
    /// reads. The threads of a block take turns: each runs until it reaches a barrier or a shuffle.
    ///
    /// Checks that the bytes around the output are unchanged, and the input too unless the launch is in place.
    pub fn run(&mut self, launch: &Launch<'_>) -> Result<Vec<u8>, CheckError> {
        self.validate(launch).map_err(|what| CheckError::Launch { kernel: self.manifest.kernel.clone(), what })?;
        let (entry, input, output) = match launch.access {
            Access::Aligned => (Entry::Blocks, 0, 0),
            Access::Bytes { input, output } => (Entry::Bytes, input, output),
        };
        let (data, manifest) = (launch.data, &self.manifest);
        let tiles = launch.blocks().div_ceil(manifest.tile_blocks.into());
        let thread_blocks = tiles.div_ceil(launch.tiles as u64).max(1);
        // Chaining is by shares of thread blocks or of warps: the bytes of data in each; the last share may have less.
        let (threads, shares) = match manifest.grid {
            Grid::Warps { .. } => {
                let warps = (launch.warps as u32).min(manifest.threads / 32);
                (32 * warps, u64::from(warps) * thread_blocks)
            }
            _ => (manifest.threads, thread_blocks),
        };
        let share = 16 * u64::from(manifest.tile_blocks) * tiles.div_ceil(shares);
        // Where each share except the first finds the ciphertext block before it: in the input, or, if that is overwritten, in a copy of
        // those blocks.
        let before = |n: u64| {
            let end = (share * n) as usize;
            end.checked_sub(16).and_then(|at| data.get(at..end)).unwrap_or(&[0; 16])
        };
        let copies: Vec<u8> = (0..shares).flat_map(before).copied().collect();
        let other = vec![0x5a; data.len()];
        let mut key = launch.key.to_vec();
        if self.takes(Argument::KeyPlanes) {
            // The planes that a shorter key does not have: nothing should read them.
            key.resize(PLANES * (MAX_ROUNDS + 1), 0x5a5a_5a5a);
        }
        let planes = bytes_of(&key);
        let tweaks = launch.tweaks;
        let mut written = self.program.run(entry, Threads { thread_blocks, threads }, launch, &|name| {
            Some(match name {
                Argument::In if launch.in_place => Given::At(Argument::Out, 0),
                Argument::In => Given::Read(data, input),
                Argument::Out => Given::Written(if launch.in_place { data } else { &other }, output),
                Argument::Previous if launch.in_place => Given::Read(&copies, 0),
                Argument::Previous => Given::At(Argument::In, -16),
                Argument::Stride => Given::Number(if launch.in_place { 16 } else { share }),
                Argument::Blocks => Given::Number(launch.blocks()),
                Argument::Length => Given::Number(data.len() as u64),
                Argument::Skip => Given::Number(launch.skip as u64),
                Argument::Counter => Given::Block(launch.start.to_le_bytes()),
                Argument::Iv => Given::Block(launch.start.to_be_bytes()),
                Argument::Rounds => Given::Number(((launch.key.len() / PLANES) as u64).saturating_sub(1)),
                Argument::Ragged => Given::Number(launch.ragged()),
                Argument::UnitBytes => Given::Number(tweaks?.units.bytes),
                Argument::Before => Given::Number(tweaks?.units.before),
                Argument::FirstUnit => Given::Block(tweaks?.units.first.to_le_bytes()),
                Argument::TweakKeys => Given::Words(tweaks?.key),
                Argument::Keys => Given::Words(launch.key),
                Argument::KeyPlanes => Given::Read(&planes, 0),
                _ => return None,
            })
        })?;
        Ok(written.pop().unwrap_or_default())
    }

    fn validate(&self, launch: &Launch<'_>) -> Result<(), &'static str> {
        let any_length = launch.access != Access::Aligned && self.takes_any_length();
        if let Access::Bytes { input, output } = launch.access
            && (input >= 16 || output >= 16)
        {
            return Err("an offset is below 16");
        }
        if launch.skip >= 16 || (launch.skip != 0 && !any_length) {
            return Err("skip is for key stream by bytes, and below 16");
        }
        if launch.tweaks.is_some() != self.takes(Argument::TweakKeys) {
            return Err("tweaks are for modes that have them");
        }
        let shares_bytes =
            self.takes(Argument::TweakKeys) && launch.access != Access::Aligned && launch.data.len() > 16;
        if !any_length && !shares_bytes && !launch.data.len().is_multiple_of(16) {
            return Err("the data is not whole blocks");
        }
        if launch.tiles == 0 || (launch.tiles > 1 && self.manifest.grid == Grid::Covers) {
            return Err("a thread block has one tile");
        }
        if launch.warps == 0 {
            return Err("a thread block has a warp");
        }
        if launch.in_place && !self.can_be_in_place() {
            return Err("it does not both read and write");
        }
        let words = launch.key.len();
        match self.manifest.keys {
            KeySource::Memory | KeySource::ScheduleInMemory => {
                if words.is_multiple_of(PLANES) && (3..=MAX_ROUNDS + 1).contains(&(words / PLANES)) {
                    Ok(())
                } else {
                    Err("it takes the planes of 3 to 15 round keys, or as many words")
                }
            }
            KeySource::Baked if words > 0 => Err("its key is baked in"),
            keys if words != keys.argument_words().unwrap_or(0) => Err("its key has another number of words"),
            _ => Ok(()),
        }
    }
}
