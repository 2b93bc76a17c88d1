//! Proofs for all data and all round keys: compiled kernels (PTX) compute their modes, and the cipher of the CPU engines and plans of
//! rounds compute AES. The head of `aes_bitslice_analysis::proof` says how, and what this rests on.

use aes_bitslice_analysis::proof::aes::{self, Block};
use aes_bitslice_analysis::proof::batch::{Batch, Flow};
use aes_bitslice_analysis::proof::context::{Grid, buffer};
use aes_bitslice_analysis::proof::kernel::{Case, Proved, prove, round_keys};
use aes_bitslice_analysis::proof::mode::before_wrap;
use aes_bitslice_core::aes::{Direction, KeyBits, KeySchedule};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::kernel::{KernelSpec, Plan};
use aes_bitslice_gen::sbox;
use aes_bitslice_kernels::{KERNELS, rust};
use aes_bitslice_tests::cases::{all_warps, edges, four_warps, several_tiles, whole_tile};
use aes_bitslice_tests::environment::{MUTANTS, PROOFS, has_turn, is_set, sample};
use aes_bitslice_tests::formal::{FormalBit, with_cells};
use aes_bitslice_tests::outputs::Output;
use aes_bitslice_tests::reference::noise;
use rayon::prelude::*;
use std::ops::Range;

/// Whether all cases are proved.
fn all_cases() -> bool {
    is_set(PROOFS)
}

/// The first value if all cases are proved, else the second.
fn all_or<T>(every: T, some: T) -> T {
    if all_cases() { every } else { some }
}

/// The kernels that are stored as PTX and called constant-time, with their manifests.
fn kernels() -> Vec<(Manifest, &'static str)> {
    let parsed = KERNELS.iter().map(|kernel| (<Manifest>::parse(kernel.manifest).unwrap(), kernel.ptx));
    parsed.filter(|(manifest, _)| manifest.bitsliced.is_some()).collect()
}

fn proved(manifest: &Manifest, ptx: &str, case: &Case) -> Proved {
    prove(manifest, ptx, case).unwrap_or_else(|why| panic!("{}, {case:?}: {why}", manifest.kernel))
}

/// Every stored bitsliced kernel computes its mode on a tile, and on several of a warp, for all round keys and data.
#[test]
fn tiles_of_every_stored_kernel() {
    let kernels = kernels();
    assert_eq!(kernels.len(), 12, "another number of kernels is stored");
    kernels.par_iter().enumerate().for_each(|(n, (manifest, ptx))| {
        let case = if has_turn(n, all_or(1, 3)) { several_tiles(manifest) } else { whole_tile(manifest) };
        assert_eq!(proved(manifest, ptx, &case).bits, 8 * case.bytes);
    });
}

/// All edges of all kernels, and some with all warps, which take longest, and so come first; or one in 17 of these.
#[test]
fn edges_of_every_stored_kernel() {
    let kernels = kernels();
    let all_warps = kernels.iter().step_by(10).map(|kernel| (kernel, all_warps(&kernel.0)));
    let edges = kernels.iter().flat_map(|kernel| edges(&kernel.0).into_iter().map(move |case| (kernel, case)));
    // A thread that is done takes the next: one half of the list takes much longer than the other.
    let cases = sample(4, all_or(1, 17), all_warps.chain(edges)).collect::<Vec<_>>().into_iter().par_bridge();
    cases.for_each(|((manifest, ptx), case)| _ = proved(manifest, ptx, &case));
}

/// Entry points for many keys, with the schedule, and for many messages: on two thread blocks, and on a single warp that has several tiles.
#[test]
fn many_at_a_time() {
    let all = kernels();
    let of = |name: &str, grid: Option<Grid>| {
        let (manifest, ptx) = all.iter().find(|(manifest, _)| manifest.kernel == name).unwrap();
        Batch::new(manifest, ptx, grid).unwrap()
    };
    let (encrypt, decrypt) = ("aes-ecb-encrypt-planes", "aes-ecb-decrypt-planes");
    // Its second block is past a multiple of 2^64.
    let counter = before_wrap(64, 1);
    let one_warp = Some(Grid { blocks: 1, threads: 32 });
    let cases = [
        (KeyBits::Aes128, Flow::Counters, one_warp, 264),
        (KeyBits::Aes128, Flow::Counters, one_warp, 520),
        (KeyBits::Aes128, Flow::Counters, None, 300),
        (KeyBits::Aes192, Flow::Data, None, 200),
        (KeyBits::Aes256, Flow::KeyStream, None, 200),
    ];
    let prove = |(key_bits, flow, grid, count): (KeyBits, Flow, Option<Grid>, usize)| {
        of(encrypt, grid).prove_expand(key_bits, count).unwrap();
        of(decrypt, grid).prove_expand(key_bits, count).unwrap();
        of(encrypt, grid).prove_each(key_bits, count / 3, 3, flow, counter).unwrap();
        of(decrypt, grid).prove_jobs(key_bits, Flow::Data, &[1600, 512, 1536, 16 * count], 0).unwrap();
        // Last runs that are full, that lack a byte, and that have one.
        of("aes-ctr-planes", grid).prove_messages(key_bits, &[1600, 5, 1007, 300, 16 * count + 1]).unwrap();
        of("aes-ctr-planes", grid).prove_secret_counter(key_bits, 16 * count + 13).unwrap();
        of(encrypt, grid).prove_cmac(key_bits, count, &[32, 0, 17, 50, 1]).unwrap();
        of(encrypt, grid).prove_cmac(key_bits, count.max(520), &[17]).unwrap();
        if key_bits == KeyBits::Aes128 && count != 264 {
            of(decrypt, grid).prove_each(key_bits, count, 1, Flow::Data, 0).unwrap();
            of(encrypt, grid).prove_jobs(key_bits, Flow::Counters, &[1601, 509, 3000, 16 * count], 1).unwrap();
            of(encrypt, grid).prove_jobs(key_bits, Flow::KeyStream, &[4090, 16 * count], 3).unwrap();
            of(encrypt, grid).prove_jobs(key_bits, Flow::Counters, &[1030; 5], 1).unwrap();
            of(encrypt, grid).prove_jobs(key_bits, Flow::Data, &[496, 16, 1024, 2048, 16 * count], 2).unwrap();
        }
    };
    sample(0, all_or(1, 11), cases).collect::<Vec<_>>().into_par_iter().for_each(prove);
}

/// Faults in a kernel are found: tables and operands of LUT3s, lanes of shuffles, operands and selectors of permutations, distances of
/// shifts, addresses, loops. Some show as a wrong output bit, others before that.
#[test]
fn faults_are_found() {
    let (manifest, ptx) = kernels().remove(0);
    assert_eq!(manifest.kernel, "aes-ecb-encrypt-planes");
    let end = ptx.find("\n}").unwrap();
    let case = whole_tile(&manifest);
    // The replacement of operands.
    type Change = fn(&str) -> Option<String>;
    let number: Change = |operands| {
        let (others, last) = operands.rsplit_once(", ")?;
        Some(format!("{others}, {}", last.parse::<u32>().ok()? ^ 1))
    };
    let swapped: Change = |operands| {
        let mut all: Vec<&str> = operands.split(", ").collect();
        all.swap(1, 2);
        // For a LUT3 only where the table distinguishes them.
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
    // A fault before the last round shows as a product of bits that no S-box has. After it there is none.
    let mut at_the_end = vec![];
    for (instruction, change, every) in [
        ("lop3.b32", number, 100),
        ("lop3.b32", swapped, 100),
        ("prmt.b32", swapped, 60),
        ("shfl.sync.idx.b32", lane, 40),
        ("shl.b32", number, 60),
        ("ld.shared.v4.u32", address, 12),
        ("st.shared.v4.u32", address, 12),
    ] {
        let changed = |(at, _): (usize, &str)| {
            let range = at..at + ptx[at..].find(';').unwrap();
            let (name, operands) = ptx[range.clone()].split_once(char::is_whitespace).unwrap();
            change(operands.trim()).map(|changed| (range, format!("{name} {changed}"), case))
        };
        let all: Vec<_> = ptx[..end].match_indices(instruction).filter_map(changed).collect();
        assert!(all.len() > every / 2, "{instruction} has {} places for a fault", all.len());
        faults.extend(sample(0, all_or(1, 8), all.iter().skip(every / 2).step_by(every)).cloned());
        // The last shuffle is of a tile's number: with another, the kernel does not end, and that takes long.
        at_the_end.extend_from_slice(&all[all.len() - 3..all.len() - 1]);
    }
    // A parameter that is declared with fewer bytes than the launch gives: round keys, and their number.
    let at = ptx.find("[244]").unwrap();
    faults.push((at..at + 5, "[240]".into(), case));
    // Loads of data that the launch writes, as if it were constant.
    let constant = ptx.replace("ld.global.u32", "ld.global.nc.u32");
    let why = prove(&manifest, &constant, &Case { in_place: true, ..case }).expect_err("memory is not constant");
    assert!(why.contains("constant"), "{why}");
    // Loops over tiles: backward branches are left out, and two tiles are taken in place of one.
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
    let (of_instructions, of_loops) = faults.split_at(before);
    let faults: Vec<_> = of_instructions.iter().chain(sample(0, all_or(1, 3), of_loops)).collect();
    let told = |(range, instead, case): &(Range<usize>, String, Case)| {
        let wrong = [&ptx[..range.start], instead, &ptx[range.end..]].concat();
        prove(&manifest, &wrong, case).expect_err(&format!("`{}` may be `{instead}`", &ptx[range.clone()]))
    };
    faults.into_par_iter().for_each(|fault| _ = told(fault));
    // In every sample.
    let by_output = at_the_end.par_iter().map(told).filter(|why| why.ends_with("differs")).count();
    assert!(by_output >= 5, "{by_output} faults were told by the output");
}

/// A fault that any kernel can have: the replacement of a statement in its entry point for whole blocks, where it can have the fault.
type Fault = fn(&str) -> Option<String>;

/// Faults, and how many of their possible places are tried by default, where all cases are proved, and where all mutants are run: one of this
/// many.
const FAULTS: [(&str, Fault, [usize; 3]); 2] = [
    ("a barrier is missing", |statement| statement.starts_with("bar.").then(String::new), [27, 16, 1]),
    (
        "the upper word of a number is lost",
        |statement| Some(format!("and.b64{}, 0", statement.strip_prefix("shr.u64")?.strip_suffix(", 32")?)),
        [18, 12, 1],
    ),
];

/// Every barrier is needed, except one, and every number carries: in all kernels.
#[test]
fn faults_that_any_kernel_can_have_are_found() {
    let kernels = kernels();
    let mut places = vec![vec![]; FAULTS.len()];
    for (manifest, ptx) in &kernels {
        let start = ptx.find(&format!(".entry {}(", manifest.entries[&Entry::Blocks].name)).unwrap();
        let end = start + ptx[start..].find("\n}").unwrap();
        // XTS's first barrier of a warp is not needed: after every read of what it guards there is another one.
        let mut is_needless = manifest.mode().unwrap().has_tweaks();
        for line in ptx[start..end].lines() {
            let statement = line.trim().trim_end_matches(';');
            if statement.starts_with("bar.warp.sync") && std::mem::take(&mut is_needless) {
                continue;
            }
            let at = line.as_ptr() as usize - ptx.as_ptr() as usize;
            for (fault, places) in FAULTS.iter().zip(&mut places) {
                places.extend(fault.1(statement).map(|instead| (manifest, *ptx, at..at + line.len(), instead)));
            }
        }
    }
    // With the control for the first case that finds them: the controls for the others are the tests of tiles and edges, all of which are
    // made where all cases are proved.
    let controls: Vec<_> = sample(0, all_or(1, 4), &kernels).collect();
    controls.into_par_iter().for_each(|(manifest, ptx)| _ = proved(manifest, ptx, &four_warps(manifest)));
    let chosen = FAULTS.iter().zip(&places).flat_map(|((name, _, [default, exhaustive, all]), places)| {
        assert!(places.len() > *default, "{name}: there are few places");
        let step = if is_set(MUTANTS) { *all } else { all_or(*exhaustive, *default) };
        sample(0, step, places).map(|place| (*name, place))
    });
    chosen.collect::<Vec<_>>().par_iter().for_each(|(name, (manifest, ptx, range, instead))| {
        let wrong = [&ptx[..range.start], instead, ";", &ptx[range.end..]].concat();
        // A fault that one case does not show, another does.
        let cases = [four_warps(manifest), several_tiles(manifest)].into_iter().chain(edges(manifest));
        let is_found = cases.into_iter().any(|case| prove(manifest, &wrong, &case).is_err());
        assert!(is_found, "{}: {name} in place of `{}`", manifest.kernel, &ptx[range.clone()]);
    });
}

/// Faults in entry points for any bytes, many keys and many messages: a table of a LUT3, and all barriers, if there are any.
#[test]
fn faults_in_other_entry_points_are_found() {
    type Prove = fn(&Manifest, &str) -> Result<Proved, String>;
    fn batch<'a>(manifest: &'a Manifest, ptx: &'a str) -> Batch<'a> {
        Batch::new(manifest, ptx, None).unwrap()
    }
    const BITS: KeyBits = KeyBits::Aes128;
    const ENCRYPT: &str = "aes-ecb-encrypt-planes";
    const CTR: &str = "aes-ctr-planes";
    let of = |entry| -> Option<(&str, Prove)> {
        Some(match entry {
            Entry::Bytes => (ENCRYPT, |manifest, ptx| {
                prove(manifest, ptx, &Case { aligned: false, bytes: 16 * 9, ..whole_tile(manifest) })
            }),
            Entry::Expand => (ENCRYPT, |manifest, ptx| batch(manifest, ptx).prove_expand(BITS, 40)),
            Entry::Each => (ENCRYPT, |manifest, ptx| batch(manifest, ptx).prove_each(BITS, 40, 2, Flow::Data, 0)),
            Entry::Jobs => {
                (ENCRYPT, |manifest, ptx| batch(manifest, ptx).prove_jobs(BITS, Flow::Counters, &[100, 16 * 800], 0))
            }
            Entry::Messages => (CTR, |manifest, ptx| batch(manifest, ptx).prove_messages(BITS, &[100, 5])),
            Entry::SecretCounter => (CTR, |manifest, ptx| batch(manifest, ptx).prove_secret_counter(BITS, 100)),
            Entry::Cmac => (ENCRYPT, |manifest, ptx| batch(manifest, ptx).prove_cmac(BITS, 3, &[32, 0, 17])),
            // In the test above.
            Entry::Blocks => return None,
            // In `ghash_proof`.
            Entry::Hash | Entry::HashBytes | Entry::Clear => return None,
            Entry::HashMessages | Entry::HashJobs | Entry::ClearMessages => return None,
            // They compute no cipher and no hash.
            Entry::BatchDescribe | Entry::BatchOrder => return None,
            // In `ghash_proof`, too: the kernel of GCM in one launch.
            Entry::Encrypt | Entry::Decrypt => return None,
            Entry::BatchMasks | Entry::BatchEncrypt | Entry::BatchDecrypt => return None,
        })
    };
    let kernels = kernels();
    let all: Vec<_> = Entry::ALL.into_iter().filter_map(|entry| Some((entry, of(entry)?))).collect();
    all.par_iter().for_each(|(entry, (kernel, prove))| {
        let (manifest, ptx) = kernels.iter().find(|(manifest, _)| manifest.kernel == *kernel).unwrap();
        let name = &manifest.entries[entry].name;
        let start = ptx.find(&format!(".entry {name}(")).unwrap();
        let end = start + ptx[start..].find("\n}").unwrap();
        let body = &ptx[start..end];
        let wrong = |body: &str| prove(manifest, &[&ptx[..start], body, &ptx[end..]].concat());
        wrong(body).unwrap_or_else(|why| panic!("{name}: {why}"));
        let luts: Vec<usize> = body.match_indices("lop3.b32").map(|(at, _)| at).collect();
        // After the part for other key lengths.
        let at = luts[luts.len() * 3 / 4];
        let until = at + body[at..].find(';').unwrap();
        let (others, table) = body[at..until].rsplit_once(", ").unwrap();
        let table = table.parse::<u32>().unwrap() ^ 1;
        let of_table = wrong(&format!("{}{others}, {table}{}", &body[..at], &body[until..]));
        assert!(of_table.is_err(), "{name}: {:?} may have the table {table}", &body[at..until]);
        let without: Vec<&str> = body.lines().filter(|line| !line.trim().starts_with("bar.")).collect();
        let is_needed = without.len() < body.lines().count();
        assert!(!is_needed || wrong(&without.join("\n")).is_err(), "{name} needs no barrier");
    });
}

/// Whatever an entry point writes is compared, from the first word to the last, and it may write nothing before or after that and read
/// nothing after what it is given: all of them, and each of their outputs.
#[test]
fn all_of_each_output_and_nothing_else() {
    type Prove = fn(&Manifest, &str) -> Result<Proved, String>;
    const ENCRYPT: &str = "aes-ecb-encrypt-planes";
    const BITS: KeyBits = KeyBits::Aes128;
    // Addresses of buffers: the output, and secrets or masks.
    let [output, masks] = [2, 6].map(buffer);
    fn batch<'a>(manifest: &'a Manifest, ptx: &'a str) -> Batch<'a> {
        Batch::new(manifest, ptx, None).unwrap()
    }
    // The kernel; the proof of one of its entry points; where its output begins, how long it is, and how many bytes its last store has.
    type Of = (&'static str, Entry, Prove, u64, u64, u64);
    let all: [Of; 9] = [
        (
            ENCRYPT,
            Entry::Blocks,
            |manifest, ptx| prove(manifest, ptx, &Case { bytes: 16 * 9, ..whole_tile(manifest) }),
            output,
            16 * 9,
            4,
        ),
        (
            ENCRYPT,
            Entry::Bytes,
            |manifest, ptx| prove(manifest, ptx, &Case { aligned: false, bytes: 16 * 9, ..whole_tile(manifest) }),
            output + 3,
            16 * 9,
            1,
        ),
        (ENCRYPT, Entry::Expand, |manifest, ptx| batch(manifest, ptx).prove_expand(BITS, 3), output, 16 * 11 * 3, 4),
        (
            ENCRYPT,
            Entry::Each,
            |manifest, ptx| batch(manifest, ptx).prove_each(BITS, 3, 2, Flow::Data, 0),
            output,
            16 * 6,
            4,
        ),
        (
            ENCRYPT,
            Entry::Jobs,
            |manifest, ptx| batch(manifest, ptx).prove_jobs(BITS, Flow::Counters, &[100, 37], 0),
            output,
            137,
            1,
        ),
        (ENCRYPT, Entry::Cmac, |manifest, ptx| batch(manifest, ptx).prove_cmac(BITS, 3, &[32, 0, 17]), output, 48, 4),
        (
            "aes-ctr-planes",
            Entry::Messages,
            |manifest, ptx| batch(manifest, ptx).prove_messages(BITS, &[96, 16]),
            output,
            112,
            4,
        ),
        (
            "aes-ctr-planes",
            Entry::Messages,
            |manifest, ptx| batch(manifest, ptx).prove_messages(BITS, &[96, 16]),
            masks,
            32,
            4,
        ),
        (
            "aes-ctr-planes",
            Entry::SecretCounter,
            |manifest, ptx| batch(manifest, ptx).prove_secret_counter(BITS, 112),
            output,
            112,
            4,
        ),
    ];
    let kernels = kernels();
    all.par_iter().enumerate().for_each(|(number, &(kernel, entry, prove, begin, bytes, word))| {
        let (manifest, ptx) = kernels.iter().find(|(manifest, _)| manifest.kernel == kernel).unwrap();
        let prove = |ptx: &str| prove(manifest, ptx);
        Output { begin, bytes, word, by: "st.global." }.check(number, ptx, &manifest.entries[&entry], &prove);
    });
}

/// Launches that there are not.
#[test]
fn other_launches_are_refused() {
    let kernels = kernels();
    let (manifest, ptx) = &kernels[0];
    let whole = whole_tile(manifest);
    let mut baked = manifest.clone();
    baked.function.keys = KeySource::Baked;
    let mut narrow = manifest.clone();
    narrow.function.tile_blocks = 128;
    for (manifest, case, says) in [
        (&baked, whole, "do not come with the launch"),
        (&narrow, whole, "tiles of another size"),
        (manifest, Case { warps: manifest.threads as usize / 32 + 1, ..whole }, "fewer threads"),
        (manifest, Case { bytes: 0, ..whole }, "nothing to compare"),
        (manifest, Case { skip: 1, ..whole }, "only counter modes"),
    ] {
        let why = prove(manifest, ptx, &case).expect_err(says);
        assert!(why.contains(says), "{why}, not {says}");
    }
    let of = || Batch::new(manifest, ptx, None).unwrap();
    assert!(of().prove_each(KeyBits::Aes128, 0, 1, Flow::Data, 0).is_err());
    for why in [of().prove_messages(KeyBits::Aes128, &[16]), of().prove_secret_counter(KeyBits::Aes128, 16)] {
        let why = why.expect_err("no such entry point");
        assert!(why.contains("is not there"), "{why}");
    }
}

fn formal(block: Block) -> [FormalBit; 128] {
    block.map(FormalBit)
}

/// Both ciphers of the CPU engines: for words with an instruction for every function of three inputs, and for words without.
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

/// The output of a plan for an unknown block, and the cipher's.
fn of_plan(spec: &KernelSpec, plan: &Plan, keys: &[Block]) -> [[FormalBit; 128]; 2] {
    let direction = spec.mode.direction();
    let block = with_cells(aes::unknown);
    let expected = with_cells(|cells| aes::process(cells, &block, keys, direction).unwrap());
    let keys: Vec<_> = round_keys(keys, direction, &spec.key_basis()).into_iter().map(formal).collect();
    [plan.evaluate(&formal(block), &keys), formal(expected)]
}

/// Plans of rounds with every S-box, from which all kernels are printed, CUDA C, OpenCL C and those with a user's key: with all round keys
/// where they are given at launch, else with some.
#[test]
fn plans_of_rounds() {
    for (i, sbox) in sbox::ALL.iter().enumerate() {
        for (j, mode) in [Mode::EcbEncrypt, Mode::EcbDecrypt].into_iter().enumerate() {
            for key_bits in sample(i + j, all_or(1, 3), KeyBits::ALL) {
                let unknown = with_cells(|cells| aes::unknown_keys(cells, key_bits));
                let key = noise(i as u64, key_bits.bytes());
                let schedule = KeySchedule::new(&key, Direction::Encrypt).unwrap();
                let known: Vec<Block> = schedule.round_keys().iter().map(|key| aes::known(*key)).collect();
                let planes = KernelSpec::planes(mode, sbox);
                let baked = KernelSpec::baked(mode, sbox, &key).unwrap();
                let by_state = baked.clone().with_layout(Layout::State).unwrap();
                for (spec, keys) in [(planes, &unknown), (by_state, &known), (baked.published(), &known)] {
                    let [found, expected] = of_plan(&spec, &Plan::new(&spec), keys);
                    assert!(found == expected, "{}", spec.name());
                }
            }
        }
    }
}
