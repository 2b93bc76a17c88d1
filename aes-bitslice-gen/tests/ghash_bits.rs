//! GHASH kernels are linear, so the field's definition for single bits says all: a message of one bit, at every place of a tile, and a hash
//! key of one bit. That finds a fragment of a matrix that lies elsewhere than a product of matrices wants it. Every 2,039th place and every fifth bit of the key, unless
//! tests do all there is to do.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::ghash::Element;
use aes_bitslice_core::hash_manifest::PrintedHash;
use aes_bitslice_gen::check::{CompiledHash, HashLaunch};
use aes_bitslice_gen::emit::ghash::print;
use aes_bitslice_gen::ghash::Ghash;

#[test]
fn every_bit_of_message_and_hash_key_is_the_fields() {
    let exhaustive = std::env::var_os("AES_BITSLICE_EXHAUSTIVE").is_some_and(|value| value != "0");
    let one = Element::ONE.to_block();
    for kernel in Ghash::ALL {
        let PrintedHash { source, manifest } = print(kernel, Dialect::Cuda, "a test").unwrap();
        let Some(mut compiled) = CompiledHash::compile(&source, &manifest).unwrap() else {
            eprintln!("there is no C compiler: printed kernels were not tested");
            return;
        };
        let mut check = |key, data: &[u8], what: &str| {
            let launch =
                HashLaunch { key, units: 1, data, offset: None, factor: one, addend: [0; 16], before: [0; 16] };
            assert_eq!(compiled.run(&launch).unwrap(), launch.expected(), "{}: {what}", kernel.name());
        };
        let tile = 16 * manifest.shape.tile_blocks() as usize;
        let key = Element::from_block(*b"any hash key....");
        for bit in (0..8 * tile).step_by(if exhaustive { 1 } else { 2039 }) {
            let mut data = vec![0; tile];
            data[bit / 8] = 0x80 >> (bit % 8);
            check(key, &data, &format!("bit {bit} of the message"));
        }
        let data: Vec<u8> = (0..tile as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 23) as u8).collect();
        for bit in (0..128).step_by(if exhaustive { 1 } else { 5 }) {
            let mut key = [0; 16];
            key[bit / 8] = 0x80 >> (bit % 8);
            check(Element::from_block(key), &data, &format!("bit {bit} of the hash key"));
        }
    }
}
