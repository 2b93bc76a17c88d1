//! Proofs for all data and all round keys: compiled kernels (PTX) compute their modes, and the cipher of the CPU engines and plans of
//! rounds AES. How, and what it rests on, is at the head of `aes-bitslice-proof`.

use aes_bitslice_core::aes::{Direction, KeyBits, KeySchedule, cipher};
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::{Mode, State};
use aes_bitslice_core::strategy::BakedStrategy;
use aes_bitslice_gen::kernel::{KernelSpec, Plan};
use aes_bitslice_gen::sbox;
use aes_bitslice_kernels::{KERNELS, rust};
use aes_bitslice_proof::aes::{self, Block};
use aes_bitslice_proof::anf::Bit;
use aes_bitslice_proof::batch::{Flow, Kernel};
use aes_bitslice_proof::kernel::{Case, Proved, prove, round_keys};
use aes_bitslice_proof::mode::Start;
use aes_bitslice_tests::environment::{all_or, all_or_every, exhaustive};
use aes_bitslice_tests::formal::{FormalBit, with_cells};
use aes_bitslice_tests::reference::noise;

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

fn proved(manifest: &Manifest, ptx: &str, case: &Case) -> Proved {
    prove(manifest, ptx, case).unwrap_or_else(|why| panic!("{}, {case:?}: {why}", manifest.kernel))
}

/// Every stored bitsliced kernel computes its mode on a tile, whatever the round keys and the data are.
#[test]
fn a_tile_of_every_stored_kernel() {
    let kernels = kernels();
    assert_eq!(kernels.len(), 11, "another number of kernels is stored");
    for (manifest, ptx) in kernels {
        let case = whole_tile(&manifest);
        assert_eq!(proved(&manifest, ptx, &case).bits, 8 * case.bytes);
    }
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

/// Entry points for many keys, with the schedule, and for many messages.
#[test]
fn many_at_a_time() {
    let all = kernels();
    let of = |name: &str| {
        let (manifest, ptx) = all.iter().find(|(manifest, _)| manifest.kernel == name).unwrap();
        Kernel::new(manifest, ptx).unwrap()
    };
    let (encrypt, decrypt) = ("aes-ecb-encrypt-planes", "aes-ecb-decrypt-planes");
    // Across a run of 2^32 counters.
    let counter = START | 0xff;
    for (n, key_bits) in KeyBits::ALL.into_iter().enumerate().take(all_or(3, 1)) {
        of(encrypt).expand(key_bits).unwrap();
        of(decrypt).expand(key_bits).unwrap();
        of(encrypt).each(key_bits, [Flow::Counters, Flow::Data, Flow::KeyStream][n], counter).unwrap();
        of(decrypt).jobs(key_bits, Flow::Data, &[1600, 512, 1536], 0).unwrap();
        // Last runs that are full, that lack a byte, and that have one; eight runs of a tile.
        of("aes-ctr-planes").messages(key_bits, &[1600, 5, 1007, 300]).unwrap();
        of(encrypt).cmac(key_bits, &[32, 0, 17, 50, 1]).unwrap();
        if exhaustive() {
            of(decrypt).each(key_bits, Flow::Data, 0).unwrap();
            of(encrypt).jobs(key_bits, Flow::Counters, &[1601, 509, 3000], 1).unwrap();
            of(encrypt).jobs(key_bits, Flow::KeyStream, &[4090], 3).unwrap();
            of(encrypt).jobs(key_bits, Flow::Data, &[496, 16, 1024, 2048], 2).unwrap();
        }
    }
}

/// What is wrong in a kernel is found: tables and operands of LUT3s, shuffles, permutations, shifts, indices.
#[test]
fn faults_are_found() {
    let (manifest, ptx) = kernels().remove(0);
    assert_eq!(manifest.kernel, "aes-ecb-encrypt-planes");
    let end = ptx.find("\n}").unwrap();
    let case = whole_tile(&manifest);
    for (instruction, every) in [("lop3.b32", all_or(40, 400)), ("prmt.b32", 50), ("shfl.sync", 40), ("shl.b32", 45)] {
        let at = ptx[..end].match_indices(instruction).map(|(at, _)| at);
        for at in at.skip(every / 2).step_by(every) {
            let length = ptx[at..].find(';').unwrap();
            let line = &ptx[at..at + length];
            let (before, last) = line.rsplit_once(", ").unwrap();
            let changed = match last.parse::<u32>() {
                Ok(number) => format!("{before}, {}", number ^ 1),
                // Of a permutation the selector is a register: another one.
                Err(_) => {
                    let (before, other) = before.rsplit_once(", ").unwrap();
                    format!("{before}, {last}, {other}")
                }
            };
            let wrong = [&ptx[..at], &changed, &ptx[at + length..]].concat();
            assert!(prove(&manifest, &wrong, &case).is_err(), "`{line}` may be `{changed}`");
        }
    }
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
                let known: Vec<Block> = schedule.round_keys().iter().map(|key| constants(*key)).collect();
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

fn constants(bytes: [u8; 16]) -> Block {
    std::array::from_fn(|i| Bit::constant(bytes[i / 8] >> (i % 8) & 1 == 1))
}

/// The definition that all is compared with is the cipher: on constants, by FIPS 197's example.
#[test]
fn the_definition_is_the_cipher() {
    let block: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
    let key: Vec<u8> = (0..16).collect();
    let schedule = KeySchedule::new(&key, Direction::Encrypt).unwrap();
    let keys: Vec<Block> = schedule.round_keys().iter().map(|key| constants(*key)).collect();
    let found = with_cells(|cells| aes::process(cells, &constants(block), &keys, Direction::Encrypt));
    assert_eq!(found, Ok(constants(cipher::process(block, &schedule, Direction::Encrypt))));
    assert_eq!(found, Ok(constants(0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes())));
}
