//! A printed kernel for batches of CMAC messages as a program for the CPU, and its check against the definition (SP 800-38B).

use super::error::CheckError;
use super::program::{Given, Program, Threads};
use aes_bitslice_core::aes::{Direction, KeyBits, KeySchedule, cipher};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::cmac::{Listed, Message};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::order::Order;
use aes_bitslice_core::reference::reference;

/// K1 and K2 (section 6.1).
fn subkeys(key: &KeySchedule) -> [[u8; 16]; 2] {
    let double = |block: [u8; 16]| {
        let number = u128::from_be_bytes(block);
        (number << 1 ^ if number >> 127 == 1 { 0x87 } else { 0 }).to_be_bytes()
    };
    let first = double(cipher::process([0; 16], key, Direction::Encrypt));
    [first, double(first)]
}

/// The tag of a message (section 6.2).
fn tag(key: &KeySchedule, message: &[u8]) -> [u8; 16] {
    let [k1, k2] = subkeys(key);
    let (first, last) = message.split_at(message.len().saturating_sub(1) / 16 * 16);
    let add = |a: [u8; 16], b: &[u8]| std::array::from_fn(|i| a[i] ^ b[i]);
    let step = |state, block: &[u8]| cipher::process(add(state, block), key, Direction::Encrypt);
    let state = first.chunks(16).fold([0; 16], step);
    let mut padded = [0; 16];
    padded[..last.len()].copy_from_slice(last);
    let subkey = match padded.get_mut(last.len()) {
        None => k1,
        Some(byte) => {
            *byte = 0x80;
            k2
        }
    };
    step(state, &add(padded, &subkey))
}

/// Messages: the length of each, and the number of bytes before it.
type Lengths = Vec<(u64, u64)>;

/// Compiles a printed kernel as C, and compares the tags computed by its entry point for CMAC with the definition: every length of the last
/// block in every lane, and block counts that differ within a tile; full and partial tiles, at any address; keys of every length. Returns
/// `false` if there is no C compiler.
pub fn printed_cmac(printed: &Printed) -> Result<bool, CheckError> {
    let manifest = &printed.manifest;
    let Some(mut program) = Program::compile(&printed.source, manifest)? else { return Ok(false) };
    let stream = |seed: u128, bytes: usize| {
        let key = KeySchedule::new(b"sixteen bytes...", Direction::Encrypt).expect("a key");
        reference(Mode::Keystream, &key, seed << 64, 0, &vec![0; bytes])
    };
    let launches: [(Lengths, usize); 13] = [
        // Messages with equal block counts keep their order: every length of the last block in every lane.
        ((0..4096).map(|i| (17 + (i + i / 256) % 16, i % 3)).collect(), 0),
        // Every length up to four blocks, in several lanes.
        ((0..600).map(|i| (i * 5 % 67, i % 3)).collect(), 0),
        (vec![(64, 0); 256], 0),
        // Whole words.
        ((0..300).map(|i| (16 * (i % 6) + 4 * (i % 5), 4 * (i % 2))).collect(), 4),
        (vec![(64, 0); 257], 8),
        (vec![(100, 5)], 3),
        // Equal ones, whose tiles are alike; equally long ones with different gaps, which are listed.
        (vec![(37, 4); 600], 0),
        (vec![(32, 0); 768], 4),
        ((0..300).map(|i| (48, 4 * (i % 3))).collect(), 0),
        (vec![(0, 0); 3], 0),
        // Most messages of a tile begin late.
        ((0..40).map(|i| (if i % 13 == 5 { 1000 + i } else { i }, 16)).collect(), 0),
        ((0..520).map(|i| (16 * (i / 100), 0)).collect(), 5),
        // The messages of each thread of a tile begin at different steps.
        ((0..256).map(|i| (16 + 16 * (i / 5), 0)).collect(), 0),
    ];
    for (n, (lengths, offset)) in launches.into_iter().enumerate() {
        let mut all = Vec::new();
        let mut end = 0;
        for &(bytes, gap) in &lengths {
            all.push(Message { at: end + gap, bytes });
            end += gap + bytes;
        }
        let data = stream(n as u128, end as usize);
        let key = stream(100 + n as u128, KeyBits::ALL[n % 3].bytes());
        let schedule = KeySchedule::new(&key, Direction::Encrypt).expect("a key");
        let subkeys = subkeys(&schedule);
        let words = manifest.key_words(&key)?.ok_or(CheckError::KeyLength(key.len()))?;
        let order = Order::longest_first(all.len(), |n| all[n].blocks()).expect("few");
        let is_equal = all.len() > 1 && lengths.iter().all(|length| *length == lengths[0]);
        let listed = Listed::of(all.len(), if is_equal { all[1].at - all[0].at } else { 0 });
        let mut table = vec![[0; 4]; listed.words()];
        listed.write(|n| all[n], &order, 0, &mut table);
        let at_position = |position| {
            let Message { at, bytes } = all[order.at(position)];
            tag(&schedule, &data[at as usize..(at + bytes) as usize])
        };
        let expected: Vec<[u8; 16]> = (0..all.len()).map(at_position).collect();
        let threads = Threads { thread_blocks: 1 + n as u64 % 2, threads: 32 + 32 * (n as u32 % 3) };
        let (launch, no_tags) = (format!("CMAC of {} messages, launch {n}", all.len()), vec![0x3c; 16 * all.len()]);
        let made = program.run(Entry::Cmac, threads, &launch, &|name| {
            Some(match name {
                Argument::In => Given::Read(&data, offset),
                Argument::Messages => Given::Read(table.as_flattened(), 0),
                Argument::Stride => Given::Number(listed.stride),
                Argument::All => Given::Number(all.len() as u64),
                Argument::Subkeys => Given::Read(subkeys.as_flattened(), 0),
                Argument::Tags => Given::Written(&no_tags, 0),
                Argument::Keys => Given::Words(&words),
                _ => return None,
            })
        });
        let made = made?.remove(0);
        CheckError::unless_equal(&made, expected.as_flattened(), &manifest.kernel, &launch)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::faults::{faults_show, with_source};
    use crate::check::sample::{all_or, sample};
    use crate::emit::cuda;
    use crate::kernel::spec::KernelSpec;
    use crate::sbox::LUT3;

    #[test]
    fn the_definition_is_that_of_the_standard() {
        // RFC 4493, section 4, examples 1 to 3, with their subkeys.
        let bytes = |hex: &str| -> Vec<u8> {
            hex.as_bytes().chunks(2).map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap()).collect()
        };
        let key = KeySchedule::new(&bytes("2b7e151628aed2a6abf7158809cf4f3c"), Direction::Encrypt).unwrap();
        assert_eq!(subkeys(&key)[1].to_vec(), bytes("f7ddac306ae266ccf90bc11ee46d513b"));
        let message = bytes("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411");
        for (length, expected) in [
            (0, "bb1d6929e95937287fa37d129b756746"),
            (16, "070a16b46b4d4144f79bdd9dd04a287c"),
            (40, "dfa66747de9ae63030ca32611497c827"),
        ] {
            assert_eq!(tag(&key, &message[..length]).to_vec(), bytes(expected), "{length}");
        }
    }

    #[test]
    fn a_printed_kernel_passes_and_faults_show() {
        let printed = cuda::print(&KernelSpec::planes(Mode::EcbEncrypt, &LUT3).into(), "a test").unwrap();
        let check = |source: &str| printed_cmac(&with_source(&printed, source));
        check(&printed.source).unwrap();
        let faults = [
            // Positions of words. Unneeded reads, and words at any address, do not show on a CPU.
            ("in + 4 * column() - 16 * (u64)(left - 1)", "in + 4 * column() - 16 * (u64)left"),
            ("+ 4 * column() - 16 * (u64)(left - 1));", "+ 4 * column() - 16 * (u64)left);"),
            // Tiles that are alike.
            ("stride == 0 ? tile : !is_whole", "stride == 0 ? tile : 0"),
            ("is_whole ? stride * tile : 0", "stride * tile"),
            ("tile < all / TILE_BLOCKS", "tile + 1 < all / TILE_BLOCKS"),
            ("4 * column() + 4 <= bytes", "4 * column() < bytes"),
            ("if (4 * column() + b < bytes)", "if (4 * column() + b <= bytes)"),
            // The end of a message.
            ("0x80u << 8 * (bytes % 4)", "0x80u"),
            ("bytes < 16 && bytes / 4 == column()", "bytes / 4 == column() % 3"),
            ("bytes < 16 ? if_padded : if_whole", "bytes <= 16 ? if_padded : if_whole"),
            // Its beginning.
            ("blocks_of(&own[8 * j]) > left", "blocks_of(&own[8 * j]) >= left"),
            ("left < steps && left >= fewest", "left < steps && left > fewest"),
            ("left > 1 && left <= fewest && in_words", "left > 0 && left <= fewest && in_words"),
            ("get_round_key(s, key, key.rounds); //", "get_round_key(s, key, 0); //"),
            ("s[i] ^= w[i];\n            begin", "s[i] = w[i];\n            begin"),
            ("keys.word[0][column()] ^ key.last", "keys.word[0][column()]"),
            // Tiles.
            ("(tiles - blockIdx.x - 1) / gridDim.x + 1", "tiles / gridDim.x"),
            ("if (number + 8 * j < all) tags", "if (number + 8 * j + 1 < all) tags"),
        ];
        faults_show(&printed.source, sample(1, all_or(1, 3), faults), check);
    }
}
