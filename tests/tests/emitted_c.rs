//! The printed CUDA C, compiled by the C compiler and run on the CPU over several thread blocks, byte for byte
//! against the reference: the stored kernels, those for keys given at launch with every S-box, and freshly baked ones.
//!
//! The same text runs on the GPU, so that only what the C compiler cannot see is left to be found there: the launch,
//! barriers, and the few macros that are another on each side.

use aes_bitslice_gen::aes::{Direction, KeyBits};
use aes_bitslice_gen::check::{Access, CompiledC, Launch};
use aes_bitslice_gen::emit::{Grid, Manifest, Printed, cuda};
use aes_bitslice_gen::kernel::{BakedStrategy, KernelSpec, Mode};
use aes_bitslice_gen::layout::Layout;
use aes_bitslice_gen::sbox;
use aes_bitslice_kernels::KERNELS;
use aes_bitslice_runtime::Key;
use aes_bitslice_tests::engines::say;
use aes_bitslice_tests::reference::{Reference, noise};
use proptest::prelude::*;
use std::cell::RefCell;

/// Runs a kernel on every edge and at random with each of the keys: the one it was baked for, if it was.
fn check(source: &str, manifest: &Manifest, keys: &[Vec<u8>]) {
    let (name, mode) = (&manifest.kernel, manifest.mode().unwrap());
    let Some(mut kernel) = CompiledC::compile(source, manifest).unwrap_or_else(|e| panic!("{name}: {e}")) else {
        say("NO C COMPILER: PRINTED KERNELS WERE NOT RUN");
        return;
    };
    let group = manifest.blocks as usize;
    for key in keys {
        let words = manifest.key_words(key).unwrap().expect("a key");
        let reference = Reference::new(key);
        let kernel = RefCell::new(&mut kernel);
        let run = |access, in_place, start: u128, skip: usize, len: usize| {
            let data = noise(len as u64, len);
            // Where a thread block may take its share in several runs, as many as come to one that is not whole.
            let runs = if manifest.grid == Grid::Covers { 1 } else { 1 + len / 16 % 3 };
            let launch = Launch { access, in_place, start, skip, key: &words, runs, data: &data };
            let output = kernel.borrow_mut().run(&launch).unwrap_or_else(|e| panic!("{name}: {e}"));
            let expected = match mode {
                Mode::Ctr => reference.ctr(start.to_be_bytes(), skip as u64, &data),
                Mode::EcbEncrypt | Mode::EcbDecrypt => reference.ecb(mode.direction(), &data),
                Mode::CbcDecrypt => reference.cbc(Direction::Decrypt, start.to_be_bytes(), &data),
            };
            let wrong = output.iter().zip(&expected).position(|(o, e)| o != e);
            assert!(output.len() == len && wrong.is_none(), "{name}: {launch}: wrong at {wrong:?}");
        };
        // The edges of lanes, warps and thread blocks.
        let warp = group / 4;
        let blocks = [
            0,
            1,
            2,
            31,
            32,
            33,
            63,
            warp - 1,
            warp,
            warp + 1,
            2 * warp - 1,
            group - 1,
            group,
            group + 1,
            2 * group + 33,
        ];
        for (i, &blocks) in blocks.iter().enumerate() {
            let len = 16 * blocks;
            // Carries out of the bits that a thread's blocks count, and out of each word of 32.
            let edge = [0, 10, 32, 64, 96, 127][i % 6];
            let counter = (1u128 << edge).wrapping_sub(1 + blocks as u128 / 2);
            run(Access::Aligned, i % 2 == 0, counter, 0, len);
            run(Access::Bytes { input: i % 16, output: (5 * i + 1) % 16 }, i % 3 == 0, counter, 0, len);
        }
        if mode == Mode::Ctr {
            for (i, len) in [0, 1, 15, 16, 17, 511, 512, 513, 16 * group - 1, 16 * group + 1].into_iter().enumerate() {
                for skip in [0, 1, 15, i] {
                    let access = Access::Bytes { input: (3 * i) % 16, output: (16 - skip) % 16 };
                    run(access, skip == i, u128::MAX - i as u128, skip, len);
                }
            }
        }
        let config = ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(
            len in 0..3 * 16 * group, skip in 0usize..16, shifts in (0usize..16, 0usize..16), aligned: bool,
            in_place: bool, counter: u128, near_wrap: bool,
        )| {
            let counter = if near_wrap { u128::MAX - counter % 10_000 } else { counter };
            let access = if aligned { Access::Aligned } else { Access::Bytes { input: shifts.0, output: shifts.1 } };
            match mode {
                Mode::Ctr if !aligned => run(access, in_place, counter, skip, len),
                _ => run(access, in_place, counter, 0, len / 16 * 16),
            }
        });
    }
}

/// The sources that are kept, which is what a GPU gets.
#[test]
fn stored_kernels() {
    let mut modes = Vec::new();
    for stored in KERNELS {
        let manifest = Manifest::parse(stored.manifest).unwrap();
        check(stored.source, &manifest, &keys());
        modes.push(manifest.mode().unwrap());
    }
    assert!(Mode::ALL.iter().all(|mode| modes.contains(mode)), "{modes:?}");
}

/// Prints a kernel and checks it.
fn check_printed(spec: KernelSpec, keys: &[Vec<u8>]) {
    let Printed { source, manifest } = cuda::print(&spec.into(), "a test");
    check(&source, &manifest, keys);
}

/// One key of each length.
fn keys() -> Vec<Vec<u8>> {
    KeyBits::ALL.iter().map(|bits| noise(9, bits.bytes())).collect()
}

#[test]
fn keys_at_launch() {
    for sbox in sbox::ALL {
        for mode in Mode::ALL {
            for layout in Layout::ALL {
                check_printed(KernelSpec::planes(mode, sbox).with_layout(layout).unwrap(), &keys());
            }
        }
    }
}

#[test]
fn keys_in_memory() {
    for mode in Mode::ALL {
        let published = KernelSpec::hajihassani_2019(mode);
        // The planes may be in another basis than the standard one, too.
        let basis = sbox::LUT3.basis(mode.direction());
        check_printed(KernelSpec { sbox: &sbox::LUT3, basis, ..published.clone() }, &keys());
        check_printed(published, &keys());
    }
}

/// Every mode with every key length, the S-boxes taking turns, for a key that nobody has seen before.
fn freshly_baked(strategy: BakedStrategy, layout: Layout) {
    for (i, mode) in Mode::ALL.into_iter().enumerate() {
        for (k, bits) in KeyBits::ALL.into_iter().enumerate() {
            let key = Key::generate(bits).unwrap();
            let sbox = sbox::ALL[(i + k) % sbox::ALL.len()];
            let spec = KernelSpec::baked(mode, sbox, strategy, key.expose()).unwrap().with_layout(layout).unwrap();
            check_printed(spec, &[key.expose().to_vec()]);
        }
    }
}

#[test]
fn freshly_baked_one_hot_mux() {
    freshly_baked(BakedStrategy::OneHotMux, Layout::Column);
}

#[test]
fn freshly_baked_one_hot_mux_by_state() {
    freshly_baked(BakedStrategy::OneHotMux, Layout::State);
}

#[test]
fn freshly_baked_immediate() {
    freshly_baked(BakedStrategy::Immediate, Layout::State);
}
