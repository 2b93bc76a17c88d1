//! A GHASH kernel is linear under a hash key: its output is the sum over GF(2) of its outputs for the bits of a message. If it is wrong for
//! one bit of a tile, it is wrong for half of all messages, those in which the errors do not cancel out; so it passes n random messages
//! with a probability of at most 2^-n. That detects a matrix fragment in a position where the matrix product does not expect it. Messages
//! of one bit test the kernel where nothing cancels out, and hash keys of one bit test every bit of the tables' first power. Tables for
//! GHASH and for POLYVAL alternate.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::ghash::{Blocks, Element};
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_gen::check::{CompiledHash, HashLaunch, all_or, sample};
use aes_bitslice_gen::emit::ghash::print;
use aes_bitslice_gen::ghash::Ghash;

/// Words of a kind from Steele, Lea and Flood's SplitMix64, the same in every run.
fn random(kind: u64, number: u64, bytes: usize) -> Vec<u8> {
    let word = |i: usize| {
        let word = (kind << 48 | number << 32 | (i as u64 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    };
    (0..bytes / 8).flat_map(|i| word(i).to_le_bytes()).collect()
}

#[test]
fn every_bit_of_message_and_hash_key_is_the_fields() {
    let one = Element::ONE.to_block();
    for kernel in Ghash::ALL {
        let Printed { source, manifest } = print(kernel, Dialect::Cuda, "a test").unwrap();
        let Some(mut compiled) = CompiledHash::compile(&source, &manifest).unwrap() else {
            eprintln!("there is no C compiler: printed kernels were not tested");
            return;
        };
        let mut turn = 0;
        let mut check = |key, data: &[u8], what: &str| {
            turn += 1;
            let (zero, blocks) = ([0; 16], Blocks::ALL[turn % 2]);
            let launch =
                HashLaunch { blocks, key, units: 1, data, offset: None, factor: one, addend: zero, before: zero };
            assert_eq!(compiled.run(&launch).unwrap(), launch.expected(), "{}, {blocks:?}: {what}", kernel.name());
        };
        let tile = 16 * manifest.shape.tile_blocks() as usize;
        for number in sample(0, all_or(1, 4), 0..256) {
            // A second key after the first 128.
            let key = Element::from_block(*random(0, number / 128, 16).first_chunk().unwrap());
            check(key, &random(1, number, tile), &format!("random message {number}"));
        }
        let key = Element::from_block(*b"any hash key....");
        // Both steps are odd, so that every bit of a block is covered.
        for bit in sample(0, all_or(1, 31), (0..8 * tile).step_by(127)) {
            let mut data = vec![0; tile];
            data[bit / 8] = 0x80 >> (bit % 8);
            check(key, &data, &format!("bit {bit} of the message"));
        }
        let data = random(2, 0, tile);
        for bit in sample(0, all_or(1, 5), 0..128) {
            let mut key = [0; 16];
            key[bit / 8] = 0x80 >> (bit % 8);
            check(Element::from_block(key), &data, &format!("bit {bit} of the hash key"));
        }
    }
}
