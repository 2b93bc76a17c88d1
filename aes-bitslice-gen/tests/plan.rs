//! Every plan, evaluated on bit-planes, against the cipher of the standard.

use aes_bitslice_gen::aes::{KeyBits, KeySchedule, cipher};
use aes_bitslice_gen::kernel::{BakedStrategy, KernelSpec, Mode, Plan};
use aes_bitslice_gen::{layout, sbox};

/// A small generator of test bytes; its quality does not matter.
fn bytes(seed: u64, n: usize) -> Vec<u8> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(|| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 32) as u8
    })
    .take(n)
    .collect()
}

fn to_planes(blocks: &[[u8; 16]; 32]) -> [u32; 128] {
    std::array::from_fn(|p| (0..32).fold(0, |w, j| w | u32::from(blocks[j][p / 8] >> (p % 8) & 1) << j))
}

#[test]
fn every_plan_computes_the_cipher() {
    for sbox in sbox::ALL {
        for mode in Mode::ALL {
            for (k, key_bits) in KeyBits::ALL.into_iter().enumerate() {
                let key = bytes(k as u64 + 1, key_bits.bytes());
                let schedule = KeySchedule::new(&key, mode.direction()).unwrap();
                let planes = layout::schedule_planes(&schedule);
                let baked = BakedStrategy::ALL.map(|s| KernelSpec::baked(mode, sbox, s, &key).unwrap());
                for spec in baked.into_iter().chain([KernelSpec::planes(mode, sbox)]) {
                    let plan = Plan::new(&spec);
                    let data = bytes(77, 512);
                    let blocks: [[u8; 16]; 32] = std::array::from_fn(|j| data[16 * j..16 * j + 16].try_into().unwrap());
                    let expected = blocks.map(|b| cipher::process(b, &schedule, mode.direction()));
                    let found = plan.evaluate(&to_planes(&blocks), &planes);
                    assert_eq!(found, to_planes(&expected), "{}", spec.name());
                }
            }
        }
    }
}
