//! Printed table kernels without bank conflicts, run on the CPU, in every mode, with keys of every length; and a check that no two lanes of
//! a warp meet in a bank.

use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::{self, all_or, faults_show, sample};
use aes_bitslice_gen::emit::cuda;
use aes_bitslice_gen::table::{ConflictFree, TableCount};
use std::process::{Command, ExitStatus};

fn kernels() -> impl Iterator<Item = ConflictFree> {
    Mode::ALL.into_iter().flat_map(|mode| {
        let [one, four] = [TableCount::One, TableCount::Four].map(|tables| ConflictFree::new(mode, tables));
        [one, four, four.and_then(ConflictFree::co_resident)].into_iter().flatten()
    })
}

fn key(bits: KeyBits) -> Vec<u8> {
    (0..bits.bytes()).map(|i| (41 * i) as u8 ^ 0x3c).collect()
}

#[test]
fn every_mode_and_key_length() {
    let cases = kernels().flat_map(|spec| KeyBits::ALL.map(|bits| (spec, bits)));
    for (spec, bits) in sample(0, all_or(1, 8), cases) {
        let Printed { source, manifest } = cuda::print(&spec.into(), "a test").unwrap();
        if !check::printed(&source, &manifest, &key(bits)).unwrap_or_else(|e| panic!("{e}")) {
            eprintln!("there is no C compiler: table kernels were not tested");
            return;
        }
    }
}

/// Each piece of code is needed: without it, a check fails.
#[test]
fn faults_of_kernels_show() {
    let print = |mode| cuda::print(&ConflictFree::new(mode, TableCount::Four).unwrap().into(), "a test").unwrap();
    let load = "        next_chained = load_before(in, tile + 1, first, mine.to, blocks, before, aligned);\n";
    let barrier = "        BARRIER(); // all have the ciphertext that is overwritten from here on\n";
    for (mode, line, without) in [
        (Mode::EcbEncrypt, "    load_tables();\n    BARRIER();\n", "    load_tables();\n"),
        (Mode::EcbDecrypt, "entry_of(TABLES, column, row)", "entry_of(0, column, row)"),
        (Mode::CbcDecrypt, "        BARRIER(); // all have the ciphertext", "        // all have the ciphertext"),
        // The block that the next tile is chained to, loaded when this tile may have overwritten it.
        (Mode::CbcDecrypt, &format!("{load}{barrier}"), &format!("{barrier}{load}")),
        (Mode::CbcDecrypt, "block != first && ", ""),
        (Mode::Ctr, "if (tile == mine.from || of_tile.word[0] == 0)", "if (tile == mine.from)"),
        (Mode::Ctr, "    counter.word[0] -= skipped;\n", ""),
        (Mode::Ctr, "column[c] = p == 0 ?", "column[c] = p <= 1 ?"),
    ] {
        let Printed { source, manifest } = print(mode);
        faults_show(&source, [(line, without)], |source| check::printed(source, &manifest, &key(KeyBits::Aes128)));
    }
}

/// A program around a printed kernel: looks up every entry, as every lane, in shared memory where each word holds its own number, which
/// shows the words that are read. Exits with 1 if a word is not in the lane's copy, or is in another bank.
const EVERY_LOOK_UP: &str = "
static void meet(u32 neighbours) { (void)neighbours; }
static u32 from_lane(u32 value, u32 thread) { return (void)thread, value; }
int main(void) {
    u32 *const words = (u32 *)tables_in_shared_memory;
    for (u32 i = 0; i < SHARED_BYTES / 4; i++) words[i] = i;
    for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++)
        for (u32 table = 0; table < TABLES + LAST_TABLE; table++)
            for (int row = 0; row < 4; row++)
                for (u32 entry = 0; entry < 256; entry++) {
                    const u32 lane = threadIdx.x % 32, byte = entry << 8 * row, others = ~(0xffu << 8 * row);
                    const u32 word = entry_of(table, byte, row), same = entry_of(table, byte | others, row);
                    if (word != 8192 * table + 32 * entry + lane || word % 32 != lane || same != word) return 1;
                }
    return 0;
}
";

/// Compiles C and runs it; returns `None` if there is no C compiler.
fn run_c(text: &str) -> Option<ExitStatus> {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&source, text).unwrap();
    let compile = |compiler: &str| {
        Command::new(compiler).args(["-std=c11", "-O1", "-w", "-o"]).args([&program, &source]).status().ok()
    };
    let compiled = ["cc", "gcc", "clang"].into_iter().find_map(compile)?;
    assert!(compiled.success(), "the printed C does not compile");
    Some(Command::new(&program).status().unwrap())
}

/// The bank of a word is its number modulo 32, and equals the lane's number, whatever the table, row and entry. The launch's shared memory
/// begins in bank 0: there is no other.
#[test]
fn a_lane_has_its_bank() {
    for spec in sample(0, all_or(1, 8), kernels()) {
        let source = cuda::print(&spec.into(), "a test").unwrap().source;
        assert!(!source.contains("    SHARED "), "{}: other shared memory", spec.name());
        let Some(ran) = run_c(&format!("{}{EVERY_LOOK_UP}", *source)) else {
            return eprintln!("there is no C compiler: banks were not tested");
        };
        assert_eq!(ran.code(), Some(0), "{}", spec.name());
        let wrong = source.replace("threadIdx.x % 32 * 4);", "threadIdx.x % 16 * 4);");
        assert_eq!(run_c(&format!("{wrong}{EVERY_LOOK_UP}")).unwrap().code(), Some(1), "{}", spec.name());
    }
}

#[test]
fn names_and_sizes() {
    let four = |mode| ConflictFree::new(mode, TableCount::Four).unwrap();
    let one = |mode| ConflictFree::new(mode, TableCount::One).unwrap();
    assert_eq!(four(Mode::EcbEncrypt).name(), "aes-ecb-encrypt-tbox");
    assert_eq!(four(Mode::Ctr).co_resident().unwrap().name(), "aes-ctr-tbox-co-resident");
    assert_eq!(one(Mode::CbcDecrypt).name(), "aes-cbc-decrypt-tbox-one-table");
    let modes = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr, Mode::CbcDecrypt];
    assert_eq!(modes.map(|mode| four(mode).shared_bytes() >> 10), [128, 160, 144, 160]);
    // The shared memory per thread block that every GPU from compute capability 7.5 on has.
    assert!(modes.iter().all(|&mode| one(mode).shared_bytes() <= 64 << 10));
}
