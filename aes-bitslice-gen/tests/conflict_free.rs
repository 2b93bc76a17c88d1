//! Table kernels without bank conflicts as they are printed, run on the CPU, in every mode, with keys of every length; and
//! that no two lanes of a warp meet in a bank.

use aes_bitslice_gen::aes::KeyBits;
use aes_bitslice_gen::check::{self, CheckError};
use aes_bitslice_gen::emit::cuda::{self, Printed};
use aes_bitslice_gen::kernel::Mode;
use aes_bitslice_gen::table::{ConflictFree, TableCount};

fn kernels() -> impl Iterator<Item = ConflictFree> {
    Mode::ALL.into_iter().flat_map(|mode| {
        let alone = [TableCount::One, TableCount::Four].map(|tables| ConflictFree::new(mode, tables));
        alone.into_iter().chain([ConflictFree::new(mode, TableCount::Four).beside()])
    })
}

fn key(bits: KeyBits) -> Vec<u8> {
    (0..bits.bytes()).map(|i| (41 * i) as u8 ^ 0x3c).collect()
}

#[test]
fn every_mode_and_key_length() {
    for (i, spec) in kernels().enumerate() {
        let Printed { source, manifest } = cuda::print(&spec.into(), "a test");
        for bits in if i % 3 == 0 { KeyBits::ALL.to_vec() } else { vec![KeyBits::ALL[i % 3]] } {
            if !check::printed(&source, &manifest, &key(bits)).unwrap_or_else(|e| panic!("{e}")) {
                eprintln!("there is no C compiler: table kernels were not tested");
                return;
            }
        }
    }
}

/// What would be another text if it were not needed is found missing.
#[test]
fn faults_show() {
    let print = |mode| cuda::print(&ConflictFree::new(mode, TableCount::Four).into(), "a test");
    for (mode, line, without) in [
        (Mode::EcbEncrypt, "    load_tables();\n    BARRIER();\n", "    load_tables();\n"),
        (Mode::EcbDecrypt, "entry_of(TABLES, column, row)", "entry_of(0, column, row)"),
        (Mode::CbcDecrypt, "        BARRIER(); // all have the ciphertext", "        // all have the ciphertext"),
        (Mode::CbcDecrypt, "block != first && ", ""),
        (Mode::Ctr, "if (run == mine.from || of_run.word[0] == 0)", "if (run == mine.from)"),
        (Mode::Ctr, "    counter.word[0] -= skipped;\n", ""),
        (Mode::Ctr, "column[c] = p == 0 ?", "column[c] = p <= 1 ?"),
    ] {
        let Printed { source, manifest } = print(mode);
        assert!(source.contains(line), "{line}");
        match check::printed(&source.replace(line, without), &manifest, &key(KeyBits::Aes128)) {
            Ok(false) => return,
            Ok(true) => panic!("{mode}: `{line}` is not missed"),
            Err(CheckError::Printed { .. } | CheckError::OutOfBounds { .. }) => {}
            Err(e) => panic!("{e}"),
        }
    }
}

/// The address is 32768 k + 128 x + 4 l, so the bank is the lane's number, whatever the entry.
#[test]
fn a_lane_has_its_bank() {
    let bank = |table: u32, entry: u32, lane: u32| (32768 * table + 128 * entry + 4 * lane) / 4 % 32;
    for lane in 0..32 {
        for table in 0..5 {
            assert!((0..256).all(|entry| bank(table, entry, lane) == lane));
        }
    }
    // That the printed text computes this address, and not another.
    for spec in kernels() {
        let source = cuda::print(&spec.into(), "a test").source;
        let address = "const u32 address = DOT_PRODUCT(column, 0x80u << 8 * row, threadIdx.x % 32 * 4);";
        assert!(source.contains(address) && source.contains("tables_in_shared_memory + TABLE_BYTES * table + address"));
    }
}

#[test]
fn names_and_sizes() {
    let four = |mode| ConflictFree::new(mode, TableCount::Four);
    assert_eq!(four(Mode::EcbEncrypt).name(), "aes-ecb-encrypt-tbox");
    assert_eq!(four(Mode::Ctr).beside().name(), "aes-ctr-tbox-beside");
    assert_eq!(ConflictFree::new(Mode::CbcDecrypt, TableCount::One).name(), "aes-cbc-decrypt-tbox-one-table");
    assert_eq!(Mode::ALL.map(|mode| four(mode).shared_bytes() >> 10), [128, 160, 144, 160]);
    // What every GPU from compute capability 7.5 on has for a thread block.
    assert!(Mode::ALL.iter().all(|&mode| ConflictFree::new(mode, TableCount::One).shared_bytes() <= 64 << 10));
}
