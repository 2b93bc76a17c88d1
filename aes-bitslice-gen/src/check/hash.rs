//! A printed hash kernel as a program for the CPU, and its check against the definition of GHASH.

use super::error::CheckError;
use super::program::{Given, Program, Threads, bytes_of};
use aes_bitslice_core::aes::{KeySchedule, cipher};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::{Blocks, Element, Shape, tables};
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::reference::reference;
use std::fmt;

/// A printed hash kernel, compiled for the CPU and running.
#[derive(Debug)]
pub struct CompiledHash {
    shape: Shape,
    threads: u32,
    program: Program,
}

/// One launch of a hash kernel, as its manifest describes it.
#[derive(Clone, Copy)]
pub struct HashLaunch<'a> {
    /// How the hash reads its blocks.
    pub blocks: Blocks,
    /// The hash key.
    pub key: Element,
    /// The number of thread blocks that the tables are for.
    pub units: u32,
    /// The message.
    pub data: &'a [u8],
    /// For the entry point for any alignment: the message's offset past a multiple of 16.
    pub offset: Option<usize>,
    /// The factor of the hash, as a block.
    pub factor: [u8; 16],
    /// The addend after the multiplication.
    pub addend: [u8; 16],
    /// The block that the result is added to.
    pub before: [u8; 16],
}

impl HashLaunch<'_> {
    /// The expected output.
    pub fn expected(&self) -> [u8; 16] {
        let [factor, addend, before] = [self.factor, self.addend, self.before].map(Element::from_block);
        (self.blocks.hash(self.key, self.data) * factor + addend + before).to_block()
    }
}

impl fmt::Display for HashLaunch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            None => write!(f, "{} aligned bytes", self.data.len())?,
            Some(offset) => write!(f, "{} bytes at offset {offset}", self.data.len())?,
        }
        write!(f, ", {} units, blocks {:?}", self.units, self.blocks)
    }
}

impl CompiledHash {
    /// Compiles a kernel with the compiler of [`CompiledC`](super::CompiledC); returns `None` if there is none.
    pub fn compile(source: &str, manifest: &Manifest<Hash>) -> Result<Option<Self>, CheckError> {
        manifest.check()?;
        let program = Program::compile(source, manifest)?;
        Ok(program.map(|program| Self { shape: manifest.shape, threads: manifest.threads, program }))
    }

    /// Runs all thread blocks, one after the other, and returns the output. Checks that nothing else changed.
    pub fn run(&mut self, launch: &HashLaunch<'_>) -> Result<[u8; 16], CheckError> {
        let entry = if launch.offset.is_some() { Entry::HashBytes } else { Entry::Hash };
        let output = self.launch(entry, launch, [0; 16])?;
        Ok(output.try_into().expect("a block"))
    }

    /// Launches the entry point that clears the data unless `before · factor + addend` has no bit of the mask, and returns the data
    /// afterwards. Checks that nothing else changed.
    pub fn clear(&mut self, launch: &HashLaunch<'_>, mask: [u8; 16]) -> Result<Vec<u8>, CheckError> {
        self.launch(Entry::Clear, launch, mask)
    }

    fn launch(&mut self, entry: Entry, launch: &HashLaunch<'_>, mask: [u8; 16]) -> Result<Vec<u8>, CheckError> {
        let &HashLaunch { data, units, offset, factor, addend, ref before, .. } = launch;
        let tables = bytes_of(&tables(launch.blocks, launch.key, &self.shape, units));
        let (length, offset) = (data.len() as u64, offset.unwrap_or(0));
        let thread_blocks = self.shape.tiles(length).clamp(1, units.into());
        let threads = Threads { thread_blocks, threads: self.threads };
        let written = self.program.run(entry, threads, launch, &|name| {
            Some(match name {
                Argument::In => Given::Read(data, offset),
                Argument::Out if entry == Entry::Clear => Given::Written(data, offset),
                Argument::Out => Given::Written(before, 0),
                Argument::Hash => Given::Read(before, 0),
                Argument::Length => Given::Number(length),
                Argument::Tables => Given::Read(&tables, 0),
                Argument::Units => Given::Number(units.into()),
                Argument::Factor => Given::Block(factor),
                Argument::Addend => Given::Block(addend),
                Argument::Mask => Given::Block(mask),
                _ => return None,
            })
        });
        Ok(written?.remove(0))
    }
}

/// Compiles a printed hash kernel as C and compares launches of both entry points with the definition, of GHASH and of POLYVAL, under the
/// hash key that GCM derives from `key`: lengths around blocks and tiles, with one and several thread blocks, aligned and unaligned.
/// Returns `false` if there is no C compiler.
///
/// In C, loops replace the products of tensor cores: only a GPU can show that an instruction has its operands where the loops have them.
pub fn printed_hash(source: &str, manifest: &Manifest<Hash>, key: &[u8]) -> Result<bool, CheckError> {
    let Some(mut kernel) = CompiledHash::compile(source, manifest)? else { return Ok(false) };
    let schedule = KeySchedule::new(key, Mode::Ctr.direction()).ok_or(CheckError::KeyLength(key.len()))?;
    let hash_key = Element::from_block(cipher::process([0; 16], &schedule, Mode::Ctr.direction()));
    let tile = 16 * manifest.shape.tile_blocks() as usize;
    for (i, (units, length, offset)) in [
        (1, 16, None),
        (2, 0, None),
        (3, 5, None),
        (2, tile, None),
        (1, tile + 1, None),
        (2, tile - 16, Some(3)),
        (2, 5 * tile - 33, None),
        (3, 4 * tile + 40, Some(5)),
        (2, 2 * tile, Some(0)),
        (1, 7 * tile - 5, None),
    ]
    .into_iter()
    .enumerate()
    {
        let stream = reference(Mode::Ctr, &schedule, 0x0f1e_2d3c << 96, 0, &vec![0; 48 + length]);
        let (first, data) = stream.split_at(48);
        let block = |i: usize| first.as_chunks().0[i];
        let (factor, addend, before) = (block(0), block(1), block(2));
        let launch =
            HashLaunch { blocks: Blocks::ALL[i % 2], key: hash_key, units, data, offset, factor, addend, before };
        if kernel.run(&launch)? != launch.expected() {
            return Err(CheckError::Hash { kernel: manifest.kernel.clone(), launch: launch.to_string() });
        }
        // Authentic data stays, and one differing bit clears it, unless the mask excludes that bit.
        let product = Element::from_block(before) * Element::from_block(factor);
        let zero = HashLaunch { addend: product.to_block(), ..launch };
        let bit = length % 128;
        let one: [u8; 16] = std::array::from_fn(|i| if i == bit / 8 { 1 << (bit % 8) } else { 0 });
        let other = HashLaunch { addend: std::array::from_fn(|i| zero.addend[i] ^ one[i]), ..zero };
        for (launch, mask, stays) in
            [(&zero, [0xff; 16], true), (&other, [0xff; 16], false), (&other, one.map(|byte| !byte), true)]
        {
            let expected = if stays { data.to_vec() } else { vec![0; length] };
            if kernel.clear(launch, mask)? != expected {
                return Err(CheckError::Hash { kernel: manifest.kernel.clone(), launch: format!("clearing {launch}") });
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::faults::faults_show;
    use crate::check::sample::{all_or, sample};
    use crate::emit::ghash::print;
    use crate::ghash::Ghash;
    use aes_bitslice_core::dialect::Dialect;
    use aes_bitslice_core::ghash::Arrangement;
    use aes_bitslice_core::manifest::Printed;
    use aes_bitslice_core::signature::SignatureError;
    use zeroize::Zeroizing;

    const KEY: [u8; 16] = *b"sixteen bytes...";

    /// The kernel with a changed source, and a manifest with the parameters of that source.
    fn changed(text: &str, with: &str) -> Result<Printed<Hash>, SignatureError> {
        let Printed { mut source, mut manifest } = print(Ghash(Arrangement::Element), Dialect::Cuda, "a test").unwrap();
        assert!(source.contains(text), "{text}");
        source = Zeroizing::new(source.replace(text, with));
        manifest.entries = Manifest::<Hash>::entries_in(&source, &manifest.kernel)?;
        Ok(Printed { source, manifest })
    }

    #[test]
    fn parameters_are_found_by_name() {
        let changed_order = changed(
            "u64 length, IN_GLOBAL const u32 *tables, u32 units",
            "u32 units, IN_GLOBAL const u32 *tables, u64 length",
        );
        let Printed { source, manifest } = changed_order.unwrap();
        assert_ne!(manifest.entries[&Entry::Hash].parameters[1].name, Argument::Length);
        printed_hash(&source, &manifest, &KEY).unwrap();
        let Printed { source, manifest } = changed("u32 units, OUTPUT", "u32 units, u64 stride, OUTPUT").unwrap();
        match printed_hash(&source, &manifest, &KEY) {
            Ok(false) | Err(CheckError::Parameter { .. }) => {}
            other => panic!("nothing has a value for `stride`: {other:?}"),
        }
        assert!(matches!(changed("u32 units, OUTPUT", "u32 salt, OUTPUT"), Err(SignatureError::Parameter { .. })));
    }

    #[test]
    fn printed_kernels_pass_and_faults_show() {
        for (first, kernel) in Ghash::ALL.into_iter().enumerate() {
            let Printed { source, manifest } = print(kernel, Dialect::Cuda, "a test").unwrap();
            let check = |source: &str| printed_hash(source, &manifest, &KEY);
            check(&source).unwrap();
            let mut faults = vec![
                // A partial last block; zeros in front; another share of tiles; the addend from every unit.
                ("if (at + i < m->length) word", "if (at < m->length) word"),
                ("const u64 bytes = (length + 15) / 16 * 16;", "const u64 bytes = length / 16 * 16;"),
                ("m.stride = (u64)units * TILE_BYTES;", "m.stride = (u64)gridDim.x * TILE_BYTES - 16;"),
                ("blockIdx.x == 0 ? sum ^ addend->word[i] : sum", "sum ^ addend->word[i]"),
                // The field.
                ("high.low << 7;", "high.low << 6;"),
                ("0x11111111u << i;", "0x33333333u << i;"),
                // Which data is cleared, and when.
                ("if (wrong == 0) return;", ""),
                ("^ addend.word[i]) & mask.word[i];", "^ addend.word[i]);"),
                ("reversed_bytes(found.word[i]) ^ addend", "found.word[i] ^ addend"),
                ("at < length; at +=", "at + 1 < length; at +="),
            ];
            match kernel.0 {
                Arrangement::Wgmma => faults.extend([
                    ("sum8 = word_of_row(d, 1);", "sum8 = word_of_row(d, 0);"),
                    ("bring(memory, barriers, m, n + STAGES)", "bring(memory, barriers, m, n + STAGES + 1)"),
                    ("rows[row + 8].word[q]", "rows[row + 7].word[q]"),
                ]),
                Arrangement::Mma => faults.extend([
                    ("g & 1 ? 0x7632 : 0x5410", "g & 1 ? 0x5410 : 0x7632"),
                    ("x[t] = from[32 * t];", "x[t] = from[31 * t];"),
                    ("word_of_block(halves);", "halves;"),
                ]),
                Arrangement::Element => faults.extend([
                    ("sum = product(sum, step);", ""),
                    ("BYTE_PERMUTE(words[3 - i], 0, 0x0123)", "words[3 - i]"),
                    ("(words[i] & ~reversed)", "words[i]"),
                ]),
            }
            // Unless all faults are tested, each fault that kernels share is tested on one kernel.
            faults_show(&source, sample(first, all_or(1, 3), faults), check);
        }
    }
}
