//! The claim about the kernel of GCM in one launch: the output is counter mode's, with a counter whose last four bytes wrap (SP 800-38D, section
//! 6.5); the hash of the ciphertext, times a factor, plus an addend, is written, or where bits of it are checked the verdict, and what is not
//! authentic is zeroed; and nothing else is written. All this is one statement about one run.
//!
//! Ciphertexts are multiplied by powers of the hash key, and sums of outputs of S-boxes are part of them. That is no obstacle to fingerprints
//! ([`anf`](crate::proof::anf)): each bit of a ciphertext is the sum of a key stream and an unknown bit of the data, so that its number is
//! random and independent of all others, as that of an unknown bit is. The hash key is an unknown of its own: what holds for each hash key and
//! all round keys holds for the hash key that GCM derives from them.

use crate::proof::aes::{self, Block};
use crate::proof::anf::{Bit, Cells};
use crate::proof::context::{Grid, buffer};
use crate::proof::ghash::field::{Element, blocks_of, ghash};
use crate::proof::ghash::{TABLES, bytes_of, plus, table_bytes, unknown};
use crate::proof::kernel::{INPUT, OUTPUT, Proved, key_argument};
use crate::proof::kernel_cells::TILE;
use crate::proof::launch::Launch;
use crate::proof::memory::{Byte, known, number};
use crate::proof::mode::{Given, Start, of_number};
use crate::proof::order::WARPGROUP;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::aes::schedule::KeyBits;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::Blocks;
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_core::mode::Mode;

/// Addresses of the sum of the terms, of the count of thread blocks that have arrived, and of the hash.
const SUMS: u64 = buffer(5);
const ARRIVED: u64 = buffer(6);
const HASH: u64 = buffer(7);

/// The kernel: its manifest, its PTX, and the basis in which bytes reach its S-boxes.
pub struct Kernel<'a> {
    /// The manifest.
    pub manifest: &'a Manifest<Hash>,
    /// The PTX.
    pub ptx: &'a str,
    /// The basis, which is that of the kernel whose counter mode it has.
    pub basis: Basis,
}

/// Which bits of the terms are checked, and which of these are not as they should be: known, since the verdict is no secret.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Bits that are checked.
    pub mask: [u8; 16],
    /// Bits of the terms that are not 0.
    pub difference: [u8; 16],
}

/// What a launch does.
#[derive(Clone, Copy, Debug)]
pub enum Crypt {
    /// It encrypts.
    Encrypt,
    /// It decrypts, and checks bits of the terms if this says which.
    Decrypt(Option<Check>),
}

/// The known part of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What it does.
    pub crypt: Crypt,
    /// The length of the key.
    pub key_bits: KeyBits,
    /// The first counter block as a big-endian number.
    pub counter: u128,
    /// Bytes of data, at least 1.
    pub bytes: usize,
    /// The number of units.
    pub units: u32,
    /// Whether the output replaces the input.
    pub in_place: bool,
}

/// The key stream of this many blocks, with a counter whose last four bytes wrap.
pub(super) fn key_stream(cells: &mut Cells, keys: &[Block], counter: u128, count: usize) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::with_capacity(count);
    for (number, count) in runs(counter, count) {
        blocks.extend(from(keys, number).of_blocks(cells, &vec![of_number(0); count])?);
    }
    Ok(blocks)
}

/// The first counters of runs in which nothing wraps, and their numbers of blocks.
fn runs(counter: u128, count: usize) -> impl Iterator<Item = (u128, usize)> {
    let first = count.min(((1 << 32) - (counter & 0xffff_ffff)) as usize);
    [(counter, first), (counter >> 32 << 32, count - first)].into_iter().filter(|(_, count)| *count > 0)
}

/// Counter mode from a counter on.
fn from(keys: &[Block], number: u128) -> Given<'_> {
    const NO_IV: Block = [Bit::ZERO; 128];
    Given { mode: Mode::Ctr, start: Start { number, unit_bytes: 16, before: 0 }, keys, tweak_keys: &[], iv: &NO_IV }
}

/// Proves that a launch encrypts or decrypts, hashes and checks.
///
/// # Errors
/// In words: the first wrong bit, the instruction that cannot be followed, or why there is no such launch.
pub fn prove(kernel: &Kernel<'_>, case: &Case) -> Result<Proved, String> {
    let Kernel { manifest, ptx, basis } = *kernel;
    let per_block = manifest.threads / WARPGROUP as u32;
    if case.bytes == 0 || case.units == 0 || !case.units.is_multiple_of(per_block) {
        return Err("there is no message, or units are not those of whole thread blocks".into());
    }
    let key_basis = manifest.key_basis.ok_or("it has no round keys")?;
    let key_basis = ColumnBasis::new(key_basis).map_err(|e| e.to_string())?;
    let span = manifest.shape.tile_blocks() as usize;
    let skipped = case.counter as usize % TILE;
    let blocks = case.bytes.div_ceil(16);
    let spans = (skipped + blocks).div_ceil(span);

    let mut cells = Cells::in_bases(&[basis]);
    let cells = &mut cells;
    let keys = aes::unknown_keys(cells, case.key_bits);
    let given_keys = key_argument(cells, &keys, Direction::Encrypt, &key_basis);
    // Of all blocks of the spans; and what tiles have in common, which is computed once for many.
    let (before, count) = (case.counter - skipped as u128, spans * span);
    let stream = key_stream(cells, &keys, before, count)?.split_off(skipped);
    runs(before, count).try_for_each(|(number, count)| from(&keys, number).make_kernel_cells(cells, count))?;
    let data = unknown(cells, case.bytes);
    let sum = |(a, b): (&Byte, &Byte)| -> Byte { std::array::from_fn(|i| a[i] ^ b[i]) };
    let stream: Vec<Byte> = stream.as_flattened().as_chunks().0.to_vec();
    let crypted: Vec<Byte> = data.iter().zip(&stream).map(sum).collect();

    let [key, factor, addend] = std::array::from_fn(|_| Element::from_block(&aes::unknown(cells)));
    let ciphertext = if matches!(case.crypt, Crypt::Encrypt) { &crypted } else { &data };
    // Blocks of zeros after the data, to the end of the last span.
    let mut hashed = blocks_of(ciphertext, Blocks::AsTheyAre);
    hashed.resize(spans * span - skipped, of_number(0));
    let product = ghash(key, &hashed) * factor;

    let (entry, check) = match case.crypt {
        Crypt::Encrypt => (Entry::Encrypt, None),
        Crypt::Decrypt(check) => (Entry::Decrypt, check),
    };
    let addend = check.map_or(bytes_of(addend), |check| plus(&bytes_of(product), check.difference));
    let mask = check.map_or([0; 16], |check| check.mask);
    let is_wrong = check.is_some_and(|Check { mask, difference }| mask.iter().zip(difference).any(|(a, b)| a & b != 0));
    let (output, hash) = match check {
        None => (crypted, bytes_of(product).iter().zip(&addend).map(sum).collect()),
        Some(_) if is_wrong => (vec![[Bit::ZERO; 8]; case.bytes], vec![known(0xff); 16]),
        Some(_) => (crypted, vec![known(0); 16]),
    };

    let of_tables = table_bytes(Blocks::AsTheyAre, key, &manifest.shape, case.units);
    let thread_blocks = spans.min((case.units / per_block) as usize) as u64;
    let to = if case.in_place { INPUT } else { OUTPUT };
    let arguments = |argument| {
        Some(match argument {
            Argument::In => number(INPUT, 8),
            Argument::Out => number(to, 8),
            Argument::Length => number(case.bytes as u64, 8),
            Argument::Counter => of_number(case.counter).as_chunks().0.to_vec(),
            Argument::Keys => given_keys.clone(),
            Argument::Tables => number(TABLES, 8),
            Argument::Units => number(case.units.into(), 4),
            Argument::Sums => number(SUMS, 8),
            Argument::Arrived => number(ARRIVED, 8),
            Argument::Hash => number(HASH, 8),
            Argument::Factor => bytes_of(factor),
            Argument::Addend => addend.clone(),
            Argument::Mask => mask.map(known).to_vec(),
            _ => return None,
        })
    };
    let entry = manifest.entry(entry).map_err(|e| e.to_string())?;
    let grid = Grid { blocks: thread_blocks, threads: manifest.threads as usize };
    let launch = Launch { code: ptx.into(), entry, grid, shared_bytes: manifest.shared_bytes };
    let (no_sum, none) = (vec![known(0); 16], number(0, 4));
    let given = [(INPUT, &data[..]), (TABLES, &of_tables), (SUMS, &no_sum), (ARRIVED, &none)];
    let outputs =
        [("output", to, &output[..]), ("hash", HASH, &hash), ("sum", SUMS, &no_sum), ("count", ARRIVED, &none)];
    Ok(Proved { bits: launch.prove(cells, arguments, &given, &outputs)? })
}
