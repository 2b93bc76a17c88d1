//! Table kernels as they are printed, run on the CPU: the papers' kernels, and every other combination.

use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::{self, all_or, faults_show, missing_barriers_show, sample};
use aes_bitslice_gen::table::TableCount;
use aes_bitslice_papers::kernels::{Granularity, KeyMemory, Rounds, Staging, TableMemory, TableSpec, ThreadBlocks};

fn print(spec: TableSpec) -> Printed {
    spec.print("a test")
}

/// A key for one of the lengths, which take turns.
fn key(number: usize) -> Vec<u8> {
    let bits = KeyBits::ALL[number % KeyBits::ALL.len()];
    (0..bits.bytes()).map(|i| (41 * i) as u8 ^ 0x3c).collect()
}

/// Runs kernels, by default every fourth, over several thread blocks, with ragged ends, in place and not, aligned and not.
fn check(specs: &[TableSpec]) {
    for (i, spec) in sample(0, all_or(1, 4), specs.iter().enumerate()) {
        let Printed { source, manifest } = print(*spec);
        assert_eq!(<Manifest>::parse(&manifest.to_json()).unwrap(), manifest);
        manifest.check_source(&source).unwrap();
        if !check::printed(&source, &manifest, &key(i)).unwrap_or_else(|e| panic!("{e}")) {
            eprintln!("there is no C compiler: table kernels were not tested");
            return;
        }
    }
}

#[test]
fn kernels_of_the_papers() {
    check(&TableSpec::papers());
}

/// Every granularity with every place for tables, round keys and state, in loops; the modes take turns.
fn combinations(granularity: Granularity, staging: Staging) {
    let mut specs = Vec::new();
    for memory in [TableMemory::Constant, TableMemory::Shared] {
        for count in [TableCount::One, TableCount::Four] {
            for keys in KeyMemory::ALL {
                let thread_blocks = ThreadBlocks::Loop { each: 2 };
                let of = TableSpec {
                    count,
                    threads: 128,
                    thread_blocks,
                    ..TableSpec::iwai_2010(granularity, memory, keys, staging)
                };
                let possible = TableSpec::modes().map(|mode| TableSpec { mode, ..of });
                let possible: Vec<TableSpec> = possible.filter(TableSpec::is_possible).collect();
                // Modes take turns that do not keep step with the other choices, which are two and three in number.
                let i = specs.len();
                specs.push(possible[(i + i / possible.len()) % possible.len()]);
            }
        }
    }
    for mode in TableSpec::modes() {
        let some = specs.iter().filter(|spec| spec.mode == mode).count();
        assert_eq!(some == 0, staging != Staging::Registers && !matches!(mode, Mode::EcbEncrypt | Mode::EcbDecrypt));
    }
    check(&specs);
}

#[test]
fn combinations_in_registers() {
    for granularity in [Granularity::B16, Granularity::B32, Granularity::B48, Granularity::B64] {
        combinations(granularity, Staging::Registers);
    }
}

#[test]
fn combinations_with_shared_blocks() {
    for granularity in [Granularity::B1, Granularity::B4, Granularity::B8, Granularity::B16] {
        for staging in [Staging::Aos, Staging::Soa] {
            combinations(granularity, staging);
        }
    }
}

/// Unrolled rounds, with keys of the length that they are for and of others; and plaintext that goes through shared memory first.
#[test]
fn unrolled_and_plaintext_first() {
    let new = |granularity, keys, staging| {
        let thread_blocks = ThreadBlocks::Loop { each: 2 };
        let spec = TableSpec::iwai_2010(granularity, TableMemory::Shared, keys, staging);
        TableSpec { threads: 128, thread_blocks, ..spec }
    };
    let mut specs = vec![TableSpec::li_2012(Mode::CbcDecrypt)];
    for (granularity, staging) in [
        (Granularity::B1, Staging::Soa),
        (Granularity::B4, Staging::Aos),
        (Granularity::B8, Staging::Soa),
        (Granularity::B16, Staging::Aos),
        (Granularity::B16, Staging::Registers),
        (Granularity::B48, Staging::Registers),
    ] {
        let spec = new(granularity, KeyMemory::Shuffle, staging);
        let all = [TableSpec { rounds: Rounds::Unrolled, ..spec }, TableSpec { plaintext_first: true, ..spec }];
        specs.extend(all.into_iter().filter(TableSpec::is_possible));
    }
    assert_eq!(specs.len(), 1 + 6 + 3);
    for spec in specs {
        let Printed { source, manifest } = print(spec);
        for bits in KeyBits::ALL {
            let key: Vec<u8> = (0..bits.bytes()).map(|i| (29 * i) as u8 ^ 0xa7).collect();
            check::printed(&source, &manifest, &key).unwrap_or_else(|e| panic!("{}: {e}", spec.name()));
        }
    }
    // Its barrier is missed.
    let spec = new(Granularity::B8, KeyMemory::Constant, Staging::Aos);
    let first = TableSpec { thread_blocks: ThreadBlocks::Cover, plaintext_first: true, ..spec };
    let Printed { source, manifest } = print(first);
    let at = source.find("shared[AT(word / 4, word % 4)] = column[0];").unwrap();
    let without = source[..at].to_string() + &source[at..].replacen("BARRIER();", "", 1);
    assert!(!matches!(check::printed(&without, &manifest, &key(0)), Ok(true)));
}

/// Faults in a kernel show: entries of tables, guards of the end, barriers, and the links of a chain.
#[test]
fn faults_of_kernels_show() {
    let iwai =
        |granularity, staging| TableSpec::iwai_2010(granularity, TableMemory::Shared, KeyMemory::Shared, staging);
    let ctr = TableSpec { mode: Mode::Ctr, ..iwai(Granularity::B32, Staging::Registers) };
    let cbc = TableSpec { thread_blocks: ThreadBlocks::Loop { each: 2 }, ..TableSpec::li_2012(Mode::CbcDecrypt) };
    let faults = [
        // The last entry of T0 of encryption, and of the S-boxes.
        (ctr, "0x3a16162c", "0x3a16162d"),
        (cbc, "0x7d,\n", "0x7c,\n"),
        (iwai(Granularity::B1, Staging::Aos), "0x16,\n", "0x17,\n"),
        (ctr, "block < blocks", "block <= blocks"),
        (ctr, "byte < length", "byte <= length"),
        (iwai(Granularity::B8, Staging::Aos), "block < blocks", "block <= blocks"),
        (iwai(Granularity::B1, Staging::Soa), "place_in_tile() < blocks", "place_in_tile() <= blocks"),
        // The state is overwritten where slow threads still read it.
        (iwai(Granularity::B4, Staging::Soa), "shared_column[round % 2]", "shared_column[0]"),
        (iwai(Granularity::B1, Staging::Soa), "shared_byte[round % 2]", "shared_byte[0]"),
        // Round keys and tables are read before they are all there.
        (iwai(Granularity::B16, Staging::Registers), "rounds + 1)) round_key", "rounds)) round_key"),
        (cbc, "before[tile % 2]", "before[0]"),
        (cbc, "if (i == TILE_BLOCKS - 1)", "if (i == TILE_BLOCKS)"),
    ];
    for (i, (spec, right, wrong)) in faults.into_iter().enumerate() {
        let Printed { source, manifest } = print(spec);
        faults_show(&source, [(right, wrong)], |source| check::printed(source, &manifest, &key(i)));
    }
    // Each barrier is missed, except the first of CBC: others follow it before anything is read.
    for (spec, all, skip) in [
        (iwai(Granularity::B16, Staging::Registers), 1, 0),
        (iwai(Granularity::B8, Staging::Soa), 2, 0),
        (iwai(Granularity::B1, Staging::Aos), 2, 0),
        (cbc, 3, 1),
    ] {
        let Printed { source, manifest } = print(spec);
        assert_eq!(source.matches("    BARRIER();").count(), all, "{}", spec.name());
        let which: Vec<usize> = (skip..all).collect();
        missing_barriers_show(&source, &which, |source| check::printed(source, &manifest, &key(0)));
    }
}
