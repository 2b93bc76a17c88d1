//! Proofs for all data and all round keys: compiled kernels (PTX) compute their modes, and the cipher of the CPU engines and plans of
//! rounds AES. How, and what it rests on, is at the head of `aes-bitslice-proof`.

use aes_bitslice_core::aes::{Direction, KeyBits, KeySchedule};
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::{Mode, State};
use aes_bitslice_core::strategy::BakedStrategy;
use aes_bitslice_gen::kernel::{KernelSpec, Plan};
use aes_bitslice_gen::sbox;
use aes_bitslice_kernels::{KERNELS, rust};
use aes_bitslice_proof::aes::{self, Block};
use aes_bitslice_proof::batch::{Flow, Kernel};
use aes_bitslice_proof::kernel::{Case, Proved, prove, round_keys};
use aes_bitslice_proof::machine::Grid;
use aes_bitslice_proof::mode::Start;
use aes_bitslice_tests::environment::{all_or, all_or_every, exhaustive};
use aes_bitslice_tests::formal::{FormalBit, with_cells};
use aes_bitslice_tests::reference::noise;
use rayon::prelude::*;
use std::ops::Range;

/// A number whose lowest word is some counters before the next run of 2^32, and a multiple of a tile.
const START: u128 = 0x0123_4567_89ab_cdef_0011_2233_ffff_ff00;

/// The kernels that are stored as PTX and called constant-time, with their manifests.
fn kernels() -> Vec<(Manifest, &'static str)> {
    let parsed = KERNELS.iter().map(|kernel| (Manifest::parse(kernel.manifest).unwrap(), kernel.ptx));
    parsed.filter(|(manifest, _)| manifest.bitsliced.is_some()).collect()
}

/// A launch on a whole tile of a kernel.
fn whole_tile(manifest: &Manifest) -> Case {
    let least = if manifest.mode().unwrap().state() == State::Counters { 4 } else { 1 };
    // The counters of AES-GCM-SIV are in the first four bytes.
    let number = if manifest.mode().unwrap() == Mode::CtrLe32 { START.swap_bytes() } else { START };
    let start = Start { number, unit_blocks: 64, before: 0 };
    let bytes = 256 * 16;
    Case {
        key_bits: KeyBits::Aes128,
        bytes,
        skip: 0,
        aligned: true,
        thread_blocks: 1,
        warps: least,
        start,
        in_place: false,
    }
}

/// A launch of one thread block, of as few warps as can be, with two tiles more than warps, the last with few blocks: a warp has several.
fn several_tiles(manifest: &Manifest) -> Case {
    let whole = whole_tile(manifest);
    Case { bytes: 16 * (256 * (whole.warps + 1) + 11), ..whole }
}

fn proved(manifest: &Manifest, ptx: &str, case: &Case) -> Proved {
    prove(manifest, ptx, case).unwrap_or_else(|why| panic!("{}, {case:?}: {why}", manifest.kernel))
}

/// Every stored bitsliced kernel computes its mode on a tile, and on several of a warp, whatever the round keys and the data are.
#[test]
fn tiles_of_every_stored_kernel() {
    let kernels = kernels();
    assert_eq!(kernels.len(), 11, "another number of kernels is stored");
    kernels.par_iter().enumerate().for_each(|(n, (manifest, ptx))| {
        let case = if exhaustive() || n % 3 == 0 { several_tiles(manifest) } else { whole_tile(manifest) };
        assert_eq!(proved(manifest, ptx, &case).bits, 8 * case.bytes);
    });
}

/// Other lengths of keys and of data, places within tiles, units, runs and blocks, alignments, numbers of warps, and in place.
#[test]
fn edges_of_every_stored_kernel() {
    for (n, (manifest, ptx)) in all_or_every(3, kernels().into_iter().enumerate()) {
        let mode = manifest.mode().unwrap();
        let whole = whole_tile(&manifest);
        let number = |plus: u128| match mode {
            Mode::CtrLe32 => START.wrapping_add(plus).swap_bytes(),
            _ => START.wrapping_add(plus),
        };
        let counts = mode.state() == State::Counters;
        let mut cases = vec![
            Case { key_bits: KeyBits::Aes256, bytes: 16 * 44, in_place: true, warps: 4, ..whole },
            Case { key_bits: KeyBits::Aes192, aligned: false, bytes: 16 * 300, thread_blocks: 2, ..whole },
            // Across a run of 2^32 counters, and of XTS within a unit that ends in a tile.
            Case {
                bytes: 16 * 700,
                warps: 5,
                start: Start { number: number(77), unit_blocks: 37, before: 11 },
                ..whole
            },
        ];
        if counts {
            let start = Start { number: number(201), ..whole.start };
            cases.push(Case { skip: 5, bytes: 2001, start, aligned: false, warps: 5, in_place: true, ..whole });
        }
        if mode.has_tweaks() {
            let start = Start { unit_blocks: 1 << 20, before: 2500, ..whole.start };
            cases.push(Case { bytes: 16 * 40 + 3, start, ..whole });
            cases.push(Case { bytes: 31, aligned: false, in_place: true, ..whole });
        }
        // All of all kernels, or one of every third, each another.
        let from = if exhaustive() { 0 } else { n / 3 % cases.len() };
        for case in cases.iter().skip(from).take(all_or(cases.len(), 1)) {
            proved(&manifest, ptx, case);
        }
    }
}

/// Entry points for many keys, with the schedule, and for many messages: on two thread blocks, and on a single warp that has several tiles.
#[test]
fn many_at_a_time() {
    let all = kernels();
    let of = |name: &str, grid: Option<Grid>| {
        let (manifest, ptx) = all.iter().find(|(manifest, _)| manifest.kernel == name).unwrap();
        Kernel::new(manifest, ptx, grid).unwrap()
    };
    let (encrypt, decrypt) = ("aes-ecb-encrypt-planes", "aes-ecb-decrypt-planes");
    // Across a run of 2^32 counters.
    let counter = START | 0xff;
    let of_key = |(n, key_bits): (usize, KeyBits)| {
        let flow = [Flow::Counters, Flow::Data, Flow::KeyStream][n];
        let one_warp = Some(Grid { blocks: 1, threads: 32 });
        let grids = match (exhaustive(), n) {
            (false, _) => vec![(one_warp, 264)],
            (true, 0) => vec![(None, 300), (one_warp, 520)],
            (true, _) => vec![(None, 200)],
        };
        for (grid, count) in grids {
            of(encrypt, grid).expand(key_bits, count).unwrap();
            of(decrypt, grid).expand(key_bits, count).unwrap();
            of(encrypt, grid).each(key_bits, count, flow, counter).unwrap();
            of(decrypt, grid).jobs(key_bits, Flow::Data, &[1600, 512, 1536, 16 * count], 0).unwrap();
            // Last runs that are full, that lack a byte, and that have one.
            of("aes-ctr-planes", grid).messages(key_bits, &[1600, 5, 1007, 300, 16 * count + 1]).unwrap();
            of(encrypt, grid).cmac(key_bits, count, &[32, 0, 17, 50, 1]).unwrap();
            if exhaustive() && n == 0 {
                of(decrypt, grid).each(key_bits, count, Flow::Data, 0).unwrap();
                of(encrypt, grid).jobs(key_bits, Flow::Counters, &[1601, 509, 3000, 16 * count], 1).unwrap();
                of(encrypt, grid).jobs(key_bits, Flow::KeyStream, &[4090, 16 * count], 3).unwrap();
                of(encrypt, grid).jobs(key_bits, Flow::Data, &[496, 16, 1024, 2048, 16 * count], 2).unwrap();
            }
        }
    };
    KeyBits::ALL.into_par_iter().enumerate().take(all_or(3, 1)).for_each(of_key);
}

/// What is wrong in a kernel is found: tables and operands of LUT3s, lanes of shuffles, operands and selectors of permutations, distances of
/// shifts, addresses, loops. Some are told by a bit of the output that is another, others before that.
#[test]
fn faults_are_found() {
    let (manifest, ptx) = kernels().remove(0);
    assert_eq!(manifest.kernel, "aes-ecb-encrypt-planes");
    let end = ptx.find("\n}").unwrap();
    let case = whole_tile(&manifest);
    // Of the text of operands another.
    type Change = fn(&str) -> Option<String>;
    let number: Change = |operands| {
        let (others, last) = operands.rsplit_once(", ")?;
        Some(format!("{others}, {}", last.parse::<u32>().ok()? ^ 1))
    };
    let swapped: Change = |operands| {
        let mut all: Vec<&str> = operands.split(", ").collect();
        all.swap(1, 2);
        // Of a LUT3 one whose table is another then.
        let makes_a_difference = all.get(4).is_none_or(|table| {
            let table: u8 = table.parse().expect("a table");
            table >> 2 & 3 != table >> 4 & 3
        });
        (all[1] != all[2] && makes_a_difference).then(|| all.join(", "))
    };
    let lane: Change = |operands| {
        let mut all: Vec<&str> = operands.split(", ").collect();
        all[2] = "5";
        Some(all.join(", "))
    };
    let address: Change = |operands| Some(operands.replacen(']', "+16]", 1));
    let mut faults: Vec<(Range<usize>, String, Case)> = vec![];
    for (instruction, change, every) in [
        ("lop3.b32", number, all_or(100, 800)),
        ("lop3.b32", swapped, all_or(100, 800)),
        ("prmt.b32", swapped, all_or(60, 800)),
        ("shfl.sync.idx.b32", lane, all_or(40, 400)),
        ("shl.b32", number, all_or(60, 800)),
        ("ld.shared.v4.u32", address, all_or(12, 100)),
        ("st.shared.v4.u32", address, all_or(12, 100)),
    ] {
        let before = faults.len();
        let all: Vec<usize> = ptx[..end].match_indices(instruction).map(|(at, _)| at).collect();
        // What is wrong before the last round shows as a product of bits that no S-box has. Behind it there is none.
        let last = all.iter().skip(all.len() - 2);
        for &at in all.iter().skip(every / 2).step_by(every).chain(last) {
            let range = at..at + ptx[at..].find(';').unwrap();
            let (name, operands) = ptx[range.clone()].split_once(char::is_whitespace).unwrap();
            faults.extend(change(operands.trim()).map(|changed| (range, format!("{name} {changed}"), case)));
        }
        assert!(faults.len() > before, "{instruction} was not changed");
    }
    // A parameter that is declared with fewer bytes than the launch gives: round keys, and their number.
    let at = ptx.find("[244]").unwrap();
    faults.push((at..at + 5, "[240]".into(), case));
    // Loops over tiles: branches back are left out, and two tiles are taken in place of one.
    let case = several_tiles(&manifest);
    let before = faults.len();
    for (at, _) in ptx[..end].match_indices("bra") {
        let line = ptx[..at].rfind('\n').unwrap() + 1;
        let until = at + ptx[at..].find(';').unwrap();
        let label = ptx[at..until].split_whitespace().last().unwrap();
        if ptx[..at].contains(&format!("{label}:")) {
            faults.push((line..until, String::new(), case));
        }
    }
    for (at, _) in ptx[..end].match_indices("atom.shared.add.u32") {
        let until = at + ptx[at..].find(", 1;").unwrap();
        faults.push((until..until + 3, ", 2".into(), case));
    }
    assert!(faults.len() >= before + 2, "no loop was changed");
    // The first of them and the last, unless all.
    let step = all_or(1, faults.len() - before - 1);
    let (of_instructions, of_loops) = faults.split_at(before);
    let faults: Vec<_> = of_instructions.iter().chain(of_loops.iter().step_by(step)).collect();
    let told = faults.par_iter().map(|(range, instead, case)| {
        let wrong = [&ptx[..range.start], instead, &ptx[range.end..]].concat();
        prove(&manifest, &wrong, case).expect_err(&format!("`{}` may be `{instead}`", &ptx[range.clone()]))
    });
    let by_output = told.filter(|why| why.ends_with("is another")).count();
    assert!(by_output >= 5, "{by_output} faults were told by the output");
}

fn formal(block: Block) -> [FormalBit; 128] {
    block.map(FormalBit)
}

/// Both ciphers of the CPU engines: for words with an instruction for every function of three inputs, and for those without.
#[test]
fn the_cipher_of_the_cpu_engines() {
    type Cipher = fn(&mut [FormalBit; 128], &[[u32; 128]]);
    let all: [(Direction, [Cipher; 2]); 2] = [
        (Direction::Encrypt, [rust::lut3::encrypt, rust::two_input::encrypt]),
        (Direction::Decrypt, [rust::lut3::decrypt, rust::two_input::decrypt]),
    ];
    for (direction, ciphers) in all {
        for key_bits in KeyBits::ALL {
            let (block, keys) = with_cells(|cells| (aes::unknown(cells), aes::unknown_keys(cells, key_bits)));
            let expected = with_cells(|cells| aes::process(cells, &block, &keys, direction).unwrap());
            let masks: Vec<[u32; 128]> =
                round_keys(&keys, direction, &aes_bitslice_core::basis::Basis::STANDARD.into())
                    .iter()
                    .map(|key| formal(*key).map(FormalBit::mask))
                    .collect();
            for cipher in ciphers {
                let mut state = formal(block);
                cipher(&mut state, &masks);
                assert!(state == formal(expected), "{direction:?}, {key_bits:?}");
                let mut other = masks.clone();
                other[key_bits.rounds()][17] = other[key_bits.rounds()][18];
                let mut state = formal(block);
                cipher(&mut state, &other);
                assert!(state != formal(expected), "another last round key makes no difference");
            }
        }
    }
}

/// What a plan makes of a block of which nothing is known, and what the cipher does.
fn of_plan(spec: &KernelSpec, plan: &Plan, keys: &[Block]) -> [[FormalBit; 128]; 2] {
    let direction = spec.mode.direction();
    let block = with_cells(aes::unknown);
    let expected = with_cells(|cells| aes::process(cells, &block, keys, direction).unwrap());
    let keys: Vec<_> = round_keys(keys, direction, &spec.key_basis()).into_iter().map(formal).collect();
    [plan.evaluate(&formal(block), &keys), formal(expected)]
}

/// Plans of rounds with every S-box, from which all kernels are printed, CUDA C, OpenCL C and those with a key of the user's: with all
/// round keys where they come with the launch, else with some.
#[test]
fn plans_of_rounds() {
    for (i, sbox) in sbox::ALL.iter().enumerate() {
        for (j, mode) in [Mode::EcbEncrypt, Mode::EcbDecrypt].into_iter().enumerate() {
            for key_bits in KeyBits::ALL.into_iter().cycle().skip(i + j).take(all_or(3, 1)) {
                let unknown = with_cells(|cells| aes::unknown_keys(cells, key_bits));
                let key = noise(i as u64, key_bits.bytes());
                let schedule = KeySchedule::new(&key, Direction::Encrypt).unwrap();
                let known: Vec<Block> = schedule.round_keys().iter().map(|key| aes::known(*key)).collect();
                let planes = KernelSpec::planes(mode, sbox);
                let mut specs = vec![(planes.clone(), &unknown)];
                for strategy in BakedStrategy::ALL {
                    let baked = KernelSpec::baked(mode, sbox, strategy, &key).unwrap();
                    specs.push((baked.clone().with_layout(Layout::State).unwrap(), &known));
                    specs.push((baked.published(), &known));
                }
                for (spec, keys) in specs {
                    let [found, expected] = of_plan(&spec, &Plan::new(&spec), keys);
                    assert!(found == expected, "{}", spec.name());
                }
            }
        }
    }
}
