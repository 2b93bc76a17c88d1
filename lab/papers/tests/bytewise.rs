//! Bytewise kernels as they are printed, run on the CPU, in both directions, with keys of every length.

use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::{self, all_or, faults_show, sample};
use aes_bitslice_papers::kernels::{BlockAccess, Bytewise, SboxMemory, ScheduleMemory};

fn key(bits: KeyBits) -> Vec<u8> {
    (0..bits.bytes()).map(|i| (59 * i) as u8 ^ 0xc3).collect()
}

/// Every variant, with keys of all lengths in exhaustive tests; otherwise one of each, in turn.
#[test]
fn every_variant_and_key_length() {
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        for (i, spec) in Bytewise::ul_haq_2011(direction).into_iter().enumerate() {
            let Printed { source, manifest } = spec.print(Dialect::Cuda, "a test");
            for bits in sample(i, all_or(1, 3), KeyBits::ALL) {
                if !check::printed(&source, &manifest, &key(bits)).unwrap_or_else(|e| panic!("{e}")) {
                    eprintln!("there is no C compiler: bytewise kernels were not tested");
                    return;
                }
            }
        }
    }
}

/// In counter mode, and with thread blocks of other sizes.
#[test]
fn counter_mode_and_other_sizes() {
    let basic = Bytewise::basic(Direction::Encrypt);
    let kernels = [basic, Bytewise { sbox: SboxMemory::Shared, schedule: ScheduleMemory::Argument, ..basic }];
    let counter = kernels.map(|kernel| Bytewise { mode: Mode::Ctr, ..kernel });
    let sizes = [64, 1024].into_iter().flat_map(|threads| kernels.map(|kernel| Bytewise { threads, ..kernel }));
    for (spec, bits) in counter.into_iter().chain(sizes).zip(KeyBits::ALL.into_iter().cycle()) {
        let Printed { source, manifest } = spec.print(Dialect::Cuda, "a test");
        if !check::printed(&source, &manifest, &key(bits)).unwrap_or_else(|e| panic!("{}: {e}", spec.name())) {
            return;
        }
    }
    let Printed { source, manifest } = counter[1].print(Dialect::Cuda, "a test");
    let faults =
        [("(15 - i) / 4]", "i / 4]"), ("16 * n + i - skip", "16 * n + i"), ("byte < length", "byte <= length")];
    faults_show(&source, faults, |source| check::printed(source, &manifest, &key(KeyBits::Aes256)));
    assert!(!Bytewise { access: BlockAccess::Vector, ..counter[1] }.is_possible());
}

/// Where the tables and the round keys are buffers: a schedule that ends too soon, and the other table.
#[test]
fn faults_of_the_basic_kernel_show() {
    let basic = Bytewise::basic(Direction::Encrypt);
    let Printed { source, manifest } = basic.print(Dialect::Cuda, "a test");
    let faults = [("schedule[4 * round + i / 4]", "schedule[4 * round]"), ("256 * 0", "256 * 1")];
    faults_show(&source, faults, |source| check::printed(source, &manifest, &key(KeyBits::Aes192)));
    assert!(!Bytewise { schedule: ScheduleMemory::Argument, ..basic }.is_possible());
}

/// Lines that the kernel needs are missed when they change.
#[test]
fn faults_of_kernels_show() {
    for (direction, line, without) in [
        (Direction::Encrypt, "    BARRIER();\n", ""),
        (Direction::Encrypt, "else if (words > 6 && i % words == 4)", "else if (words > 8)"),
        (Direction::Encrypt, "round_constant = x_time(round_constant);", ""),
        (Direction::Encrypt, "if (n >= blocks) return;", "if (n > blocks) return;"),
        (Direction::Decrypt, "shift_rows(state, 3);", "shift_rows(state, 1);"),
        (Direction::Decrypt, "x_time(x_time(*x ^ *y))", "x_time(*x ^ *y)"),
    ] {
        let (sbox, schedule, access) = (SboxMemory::Shared, ScheduleMemory::Shared, BlockAccess::Vector);
        let spec = Bytewise { sbox, schedule, access, ..Bytewise::basic(direction) };
        let Printed { source, manifest } = spec.print(Dialect::Cuda, "a test");
        faults_show(&source, [(line, without)], |source| check::printed(source, &manifest, &key(KeyBits::Aes256)));
    }
}
