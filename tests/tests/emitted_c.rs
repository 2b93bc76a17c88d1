//! The printed CUDA C, compiled by the C compiler and run on the CPU over several thread blocks, byte for byte against the
//! reference: the stored kernels, those for keys given at launch with every S-box, and freshly baked ones.
//!
//! This text runs on the GPU, too. So only what the C compiler cannot see is left to be found there: the launch, barriers, and the few
//! macros that differ.

use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::{Access, CompiledC, Launch};
use aes_bitslice_gen::kernel::{KernelSpec, Preset};
use aes_bitslice_gen::sbox;
use aes_bitslice_gen::stored::PUBLISHED_KEY;
use aes_bitslice_kernels::{KERNELS, PUBLISHED_KERNELS};
use aes_bitslice_runtime::Key;
use aes_bitslice_tests::environment::{all_or, all_or_one, random, sample, say};
use aes_bitslice_tests::kernels::{COMPLETE, print};
use aes_bitslice_tests::operation::AnyOperation;
use aes_bitslice_tests::reference::{Reference, noise};
use proptest::prelude::*;
use std::cell::RefCell;

/// Runs a kernel on every edge and at random with each of the keys: the one it was baked for, if it was.
fn check(source: &str, manifest: &Manifest, keys: &[Vec<u8>]) {
    let (name, mode) = (&manifest.kernel, manifest.mode().unwrap());
    if !Mode::OF_ONE_KEY.contains(&mode) {
        // The generator's own check has units of every kind, and counters that wrap in their word.
        for key in keys {
            if !aes_bitslice_gen::check::printed(source, manifest, key).unwrap_or_else(|e| panic!("{name}: {e}")) {
                say("NO C COMPILER: PRINTED KERNELS WERE NOT RUN");
            }
        }
        return;
    }
    let Some(mut kernel) = CompiledC::compile(source, manifest).unwrap_or_else(|e| panic!("{name}: {e}")) else {
        say("NO C COMPILER: PRINTED KERNELS WERE NOT RUN");
        return;
    };
    let tile = manifest.tile_blocks as usize;
    let takes_any_length = kernel.takes_any_length();
    for key in keys {
        let words = manifest.key_words(key).unwrap().expect("a key");
        let reference = Reference::new(key);
        let kernel = RefCell::new(&mut kernel);
        let run = |access, in_place, start: u128, skip: usize, len: usize| {
            let data = noise(len as u64, len);
            // Where a thread block may have several tiles, as many as come to one that is not whole.
            let tiles = if manifest.grid == Grid::Covers { 1 } else { 1 + len / 16 % 3 };
            let warps = 1 + len / 16 % 5;
            let in_place = in_place && kernel.borrow().can_be_in_place();
            let launch = Launch { access, in_place, start, skip, key: &words, tweaks: None, tiles, warps, data: &data };
            let output = kernel.borrow_mut().run(&launch).unwrap_or_else(|e| panic!("{name}: {e}"));
            let expected = AnyOperation::of(mode, start, skip as u64).expected(&reference, &data);
            let wrong = output.iter().zip(&expected).position(|(o, e)| o != e);
            assert!(output.len() == len && wrong.is_none(), "{name}: {launch}: wrong at {wrong:?}");
        };
        // The edges of lanes, parts of tiles and tiles.
        let part = tile / 4;
        let blocks =
            [0, 1, 2, 31, 32, 33, 63, part - 1, part, part + 1, 2 * part - 1, tile - 1, tile, tile + 1, 5 * tile + 33];
        for (i, &blocks) in blocks.iter().enumerate() {
            let len = 16 * blocks;
            // Carries out of the bits that a thread's blocks count, and out of each word of 32.
            let edge = [0, 10, 32, 64, 96, 127][i % 6];
            let counter = (1u128 << edge).wrapping_sub(1 + blocks as u128 / 2);
            run(Access::Aligned, i % 2 == 0, counter, 0, len);
            run(Access::Bytes { input: i % 16, output: (5 * i + 1) % 16 }, i % 3 == 0, counter, 0, len);
        }
        if takes_any_length {
            // Every length with every position in a block.
            for (i, len) in [0, 1, 15, 16, 17, 511, 512, 513, 16 * tile - 1, 16 * tile + 1].into_iter().enumerate() {
                for skip in [0, 1, 15, i] {
                    let access = Access::Bytes { input: (3 * i) % 16, output: (16 - skip) % 16 };
                    run(access, skip == i, u128::MAX - i as u128, skip, len);
                }
            }
        }
        proptest!(random(all_or(16, 4)), |(
            len in 0..3 * 16 * tile, skip in 0usize..16, shifts in (0usize..16, 0usize..16), aligned: bool,
            in_place: bool, counter: u128, near_wrap: bool,
        )| {
            let counter = if near_wrap { u128::MAX - counter % 10_000 } else { counter };
            let access = if aligned { Access::Aligned } else { Access::Bytes { input: shifts.0, output: shifts.1 } };
            if takes_any_length && !aligned {
                run(access, in_place, counter, skip, len);
            } else {
                run(access, in_place, counter, 0, len / 16 * 16);
            }
        });
    }
}

/// One key of each length in exhaustive runs, else one.
fn keys(kernel: usize) -> Vec<Vec<u8>> {
    all_or_one(kernel, KeyBits::ALL).map(key).collect()
}

fn key(bits: KeyBits) -> Vec<u8> {
    noise(9, bits.bytes())
}

/// The stored sources, which the GPU gets.
#[test]
fn stored_kernels() {
    let mut modes = Vec::new();
    for (i, stored) in KERNELS.iter().enumerate() {
        let manifest = <Manifest>::parse(stored.manifest).unwrap();
        check(stored.source, &manifest, &keys(i));
        modes.push(manifest.mode().unwrap());
    }
    assert!(Mode::ALL.iter().all(|mode| modes.contains(mode)), "{modes:?}");
}

/// Prints a kernel, if its mode has it, and checks it.
fn check_printed(spec: KernelSpec, keys: &[Vec<u8>]) {
    if let Some(Printed { source, manifest }) = print(spec, Dialect::Cuda) {
        check(&source, &manifest, keys);
    }
}

/// Every mode in every layout, with every S-box in exhaustive runs, else with one.
#[test]
fn keys_at_launch() {
    let kernels = Mode::OF_ONE_KEY.into_iter().flat_map(|mode| Layout::ALL.map(|layout| (mode, layout)));
    for (i, (mode, layout)) in kernels.enumerate() {
        for sbox in sample(i, all_or(1, sbox::ALL.len()), sbox::ALL) {
            check_printed(KernelSpec::planes(mode, sbox).with_layout(layout).unwrap(), &keys(i));
        }
    }
}

/// Co-resident kernels in the modes for which none are stored.
#[test]
fn keys_as_bits() {
    let specs = Mode::OF_ONE_KEY.map(|mode| KernelSpec::co_resident(mode, &sbox::LUT3)).into_iter();
    let is_stored = |spec: &KernelSpec| KERNELS.iter().any(|stored| stored.name == spec.name());
    specs.filter(|spec| !is_stored(spec)).enumerate().for_each(|(i, spec)| check_printed(spec, &keys(i)));
}

/// Planes may be in a non-standard basis, too: that of the S-box with the fewest lookup tables.
#[test]
fn keys_in_memory() {
    for (i, mode) in COMPLETE.into_iter().enumerate() {
        let lut3 = KernelSpec::planes_in_memory(mode, &sbox::LUT3);
        let kernels = [KernelSpec::hajihassani_2019(mode), lut3.clone().staged(), lut3];
        let cases = kernels.into_iter().flat_map(|kernel| KeyBits::ALL.map(|bits| (kernel.clone(), bits)));
        for (kernel, bits) in sample(2 * i, all_or(1, 9), cases) {
            check_printed(kernel, &[key(bits)]);
        }
    }
}

/// Every mode with every key length, with alternating S-boxes, for a fresh key; or every other mode, with one length.
fn freshly_baked(layout: Layout, first: usize) {
    for (i, mode) in sample(first, all_or(1, 2), Mode::OF_ONE_KEY.into_iter().enumerate()) {
        for (k, bits) in sample(i, all_or(1, 3), KeyBits::ALL.into_iter().enumerate()) {
            let key = Key::generate(bits).unwrap();
            let sbox = sbox::ALL[(i + k) % sbox::ALL.len()];
            let spec = KernelSpec::baked(mode, sbox, key.expose()).unwrap().with_layout(layout).unwrap();
            check_printed(spec, &[key.expose().to_vec()]);
        }
    }
}

#[test]
fn freshly_baked_one_hot_mux() {
    freshly_baked(Layout::Column, 0);
}

#[test]
fn freshly_baked_one_hot_mux_by_state() {
    freshly_baked(Layout::State, 1);
}

/// As a paper describes it, with a fresh key in it; and as it is stored, with a published one.
#[test]
fn presets() {
    for preset in Preset::ALL {
        for (i, mode) in preset.modes().iter().enumerate() {
            for bits in all_or_one(i, KeyBits::ALL) {
                let key = Key::generate(bits).unwrap();
                check_printed(preset.spec(*mode, key.expose()).unwrap(), &[key.expose().to_vec()]);
            }
        }
    }
    for stored in PUBLISHED_KERNELS {
        check(stored.source, &<Manifest>::parse(stored.manifest).unwrap(), &[PUBLISHED_KEY.to_vec()]);
    }
}
