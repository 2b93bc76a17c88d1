//! The checks: a plan is evaluated, a printed kernel is run, and both are compared with the definitions.

use super::compiled::CompiledC;
use super::error::CheckError;
use super::launch::{Access, Launch, Tweaks};
use crate::kernel::plan::Plan;
use aes_bitslice_core::aes::{KeySchedule, cipher};
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::key_source::ExpandedKey;
use aes_bitslice_core::layout::{self, BLOCKS_PER_WORD, PLANES};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::reference::{Units, reference, xts};
use zeroize::Zeroizing;

const LANES: usize = BLOCKS_PER_WORD as usize;

/// Evaluates a plan on 32 blocks and compares the result with the cipher of FIPS 197 under `key`, which has 16, 24 or 32 bytes and is the
/// baked-in key if there is one.
pub fn evaluate(plan: &Plan, key: &[u8]) -> Result<(), CheckError> {
    let schedule = schedule(plan.spec.mode, key)?;
    let blocks: [[u8; 16]; LANES] = key_stream_blocks(key)?;
    let expected = blocks.map(|block| cipher::process(block, &schedule, plan.direction()));
    let round_keys = Zeroizing::new(layout::schedule_planes(&schedule, plan.spec.key_basis()));
    if plan.evaluate(&to_planes(&blocks), &round_keys) == to_planes(&expected) {
        Ok(())
    } else {
        Err(CheckError::Circuit { kernel: plan.spec.name() })
    }
}

/// Compiles a printed kernel as C and compares launches of both entry points with the mode's definition (SP 800-38A), over several thread
/// blocks, aligned and unaligned, in place and out of place. Returns `false` if there is no C compiler.
pub fn printed(source: &str, manifest: &Manifest, key: &[u8]) -> Result<bool, CheckError> {
    let mode = manifest.mode()?;
    if let Some(basis) = manifest.tweak_key_basis()? {
        return printed_xts(source, manifest, key, basis);
    }
    let schedule = schedule(mode, key)?;
    let Some(mut kernel) = CompiledC::compile(source, manifest)? else { return Ok(false) };
    let words = manifest.key_words(key)?.ok_or(CheckError::KeyLength(key.len()))?;
    let unaligned = Access::Bytes { input: 3, output: 9 };
    let (once, twice) = if manifest.grid == Grid::Covers { (1, 1) } else { (1, 2) };
    // Sizes in blocks: one; and several thread blocks with a partial last tile, with one tile or two each, or more where warps take tiles.
    // In place, a tile overwrites the block that the next tile of its share is chained to.
    let group = manifest.tile_blocks as usize;
    let (can_be_in_place, any_length) = (kernel.can_be_in_place(), kernel.takes_any_length());
    for (i, (access, blocks, in_place, tiles, warps)) in [
        (Access::Aligned, group + 33, true, once, 1),
        (Access::Aligned, 1, false, once, 4),
        (unaligned, 1, true, once, 1),
        (Access::Aligned, (4 * twice - 3) * group + group / 4 + 1, false, twice, 2),
        (unaligned, (3 * twice - 2) * group + 33, false, twice, 1),
        (Access::Aligned, 3 * group + 33, true, twice, 1),
        // A tile without its last block.
        (Access::Aligned, group - 1, false, once, 1),
        (unaligned, group - 1, false, once, 1),
        // The counter wraps within the second of three thread blocks.
        (Access::Aligned, (8 * twice - 7) * group + 33, true, 3 * twice - 2, 3),
    ]
    .into_iter()
    .enumerate()
    {
        let in_place = in_place && can_be_in_place;
        let (skip, cut) = match access {
            Access::Bytes { .. } if any_length => (5, 2),
            _ => (0, 0),
        };
        let data = key_stream(key, 16 * blocks - skip - cut)?;
        // Halfway through, the counter wraps, or half of it, or its last word, below bytes that are all different.
        let wrap = [0, 0x0f1e_2d3c_4b5a_6978 << 64, 0x0f1e_2d3c_4b5a_6978_8796_a5b4 << 32][i % 3];
        let start = u128::wrapping_sub(wrap, blocks.div_ceil(2) as u128);
        let launch = Launch { access, in_place, start, skip, key: &words, tweaks: None, tiles, warps, data: &data };
        let output = kernel.run(&launch)?;
        let expected = reference(mode, &schedule, start, skip, &data);
        CheckError::unless_equal(&output, &expected, &manifest.kernel, &launch)?;
    }
    Ok(true)
}

/// Checks an XTS kernel whose tweak round keys are in this basis: units shorter and longer than rows, tiles and stretches, from their
/// beginning and from within, of whole blocks and not, and a last one that is shorter.
fn printed_xts(source: &str, manifest: &Manifest, key: &[u8], basis: ColumnBasis) -> Result<bool, CheckError> {
    let mode = manifest.mode()?;
    let tweak_key: Zeroizing<Vec<u8>> = Zeroizing::new(key.iter().map(|byte| byte ^ 0x5c).collect());
    let (data_schedule, tweak_schedule) = (schedule(mode, key)?, schedule(Mode::XtsEncrypt, &tweak_key)?);
    let Some(mut kernel) = CompiledC::compile(source, manifest)? else { return Ok(false) };
    let words = manifest.key_words(key)?.ok_or(CheckError::KeyLength(key.len()))?;
    let expanded = ExpandedKey::xts(key, &tweak_key).ok_or(CheckError::KeyLength(key.len()))?;
    let tweak_words = expanded.tweak_words(basis).expect("a key of tweaks");
    let group = u64::from(manifest.tile_blocks);
    for (i, (unit_blocks, before, blocks, tiles, warps)) in [
        (1, 0, 2 * group + 33, 2, 1),
        (2, 1, group + 1, 1, 4),
        (3, 2, 5 * group + 7, 3, 1),
        (8, 0, 3 * group, 3, 2),
        (32, 0, 40 * group + 40, 20, 1),
        (32, 8, group - 1, 1, 1),
        (33, 5, 9 * group + 2, 5, 1),
        (256, 0, 4 * group + 31, 2, 2),
        (257, 256, 3 * group + 5, 3, 1),
        (515, 514, 20 * group + 1, 20, 1),
        (4096, 4000, group, 1, 1),
        (1 << 20, 0xf_ffff, 2 * group, 1, 1),
        (1 << 20, 0x8_1234, 1, 1, 1),
    ]
    .into_iter()
    .enumerate()
    {
        let first = u128::wrapping_sub([0, 1 << 64, 1 << 32][i % 3], 3);
        let (whole, rest) = ((before + blocks) / unit_blocks, (before + blocks) % unit_blocks);
        let n = i as u64;
        // Bytes after the last whole block of each unit, and of the last one.
        for (access, ragged, last, in_place) in [
            (Access::Aligned, 0, 0, i % 2 == 0),
            (Access::Bytes { input: 3, output: 9 }, 0, 0, i % 2 == 1),
            (Access::Bytes { input: 0, output: 0 }, 0, 1 + n % 15, i % 2 == 0),
            (Access::Bytes { input: 4, output: 8 }, 4 + 4 * (n % 3), n % 5, i % 2 == 1),
            (Access::Bytes { input: 11, output: 6 }, 1 + n % 15, n * 4 % 16, i % 2 == 0),
        ] {
            let units = Units { bytes: 16 * unit_blocks + ragged, before, first };
            let tweaks = Some(Tweaks { units, key: &tweak_words });
            let end = whole * units.bytes + 16 * rest;
            let end = if rest == 0 { end - ragged + last.min(ragged) } else { end + last };
            let data = key_stream(key, (end - 16 * before) as usize)?;
            let launch = Launch { access, in_place, start: 0, skip: 0, key: &words, tweaks, tiles, warps, data: &data };
            let output = kernel.run(&launch)?;
            let expected = xts(mode.direction(), &data_schedule, &tweak_schedule, units, &data);
            CheckError::unless_equal(&output, &expected, &manifest.kernel, &launch)?;
        }
    }
    Ok(true)
}

fn schedule(mode: Mode, key: &[u8]) -> Result<KeySchedule, CheckError> {
    KeySchedule::new(key, mode.direction()).ok_or(CheckError::KeyLength(key.len()))
}

/// Random-looking bytes for tests: counter mode on zeros, from its own counter.
fn key_stream(key: &[u8], bytes: usize) -> Result<Vec<u8>, CheckError> {
    let schedule = KeySchedule::new(key, Mode::Ctr.direction()).ok_or(CheckError::KeyLength(key.len()))?;
    Ok(reference(Mode::Ctr, &schedule, 0x0f1e_2d3c << 96, 0, &vec![0; bytes]))
}

fn key_stream_blocks<const BLOCKS: usize>(key: &[u8]) -> Result<[[u8; 16]; BLOCKS], CheckError> {
    let stream = key_stream(key, 16 * BLOCKS)?;
    Ok(std::array::from_fn(|j| stream.as_chunks().0[j]))
}

fn to_planes(blocks: &[[u8; 16]; LANES]) -> [u32; PLANES] {
    std::array::from_fn(|p| (0..LANES).fold(0, |word, j| word | u32::from(layout::key_bit(&blocks[j], p)) << j))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::faults::{faults_show, missing_barriers_show};
    use crate::check::sample::{all_or, sample};
    use crate::emit::bitsliced::modes;
    use crate::emit::{cuda, dialect, manifest};
    use crate::kernel::spec::KernelSpec;
    use crate::sbox;
    use aes_bitslice_core::dialect::Dialect;
    use aes_bitslice_core::key_source::KeySource;
    use aes_bitslice_core::layout::Layout;
    use aes_bitslice_core::manifest::Printed;

    const KEY: [u8; 16] = *b"sixteen bytes...";

    fn specs() -> Vec<KernelSpec> {
        let baked = KernelSpec::baked(Mode::Ctr, &sbox::LUT3, &KEY).unwrap();
        let planes = Mode::ALL.map(|mode| KernelSpec::planes(mode, &sbox::LUT3));
        let by_state = planes.clone().map(|spec| spec.with_layout(Layout::State).unwrap());
        let by_state = by_state.into_iter().filter(|spec| modes::parts(spec).is_some());
        planes.into_iter().chain([baked]).chain(by_state).collect()
    }

    fn print(spec: &KernelSpec) -> Printed {
        cuda::print(&spec.clone().into(), "a test").unwrap()
    }

    /// The kernel for devices that cannot shuffle, where threads exchange words through memory.
    fn without_shuffles(printed: Printed) -> Printed {
        let source = Zeroizing::new(["#define SHUFFLES 0\n", &printed.source].concat());
        Printed { source, ..printed }
    }

    #[test]
    fn plans_pass_and_faults_show() {
        for spec in specs() {
            let mut plan = Plan::new(&spec);
            evaluate(&plan, &KEY).unwrap();
            for f in 0..plan.functions.len() {
                let sound = plan.functions[f].circuit.clone();
                if sound.gates().is_empty() {
                    continue;
                }
                plan.functions[f].circuit = sound.with_fault(0);
                assert!(matches!(evaluate(&plan, &KEY), Err(CheckError::Circuit { .. })), "{}", spec.name());
                plan.functions[f].circuit = sound;
            }
        }
        assert!(matches!(evaluate(&Plan::new(&specs()[0]), &KEY[1..]), Err(CheckError::KeyLength(15))));
    }

    fn shuffling(mode: Mode, barriers: &[usize]) -> (Printed, &[usize]) {
        (print(&KernelSpec::planes(mode, &sbox::LUT3)), barriers)
    }

    /// Without shuffles, ShiftRows has two barriers of its own, after the barrier for the round keys.
    fn exchanging(mode: Mode, barriers: &[usize]) -> (Printed, &[usize]) {
        (without_shuffles(print(&KernelSpec::planes(mode, &sbox::LUT3))), barriers)
    }

    /// Tests each of these kernels without each of these barriers, which are counted from the start of the kernel.
    fn barriers_are_missed(kernels: &[(Printed, &[usize])]) {
        for (Printed { source, manifest }, which) in kernels {
            missing_barriers_show(source, which, |source| printed(source, manifest, &KEY));
        }
    }

    #[test]
    fn a_missing_barrier_shows() {
        barriers_are_missed(&[shuffling(Mode::Ctr, &[3]), exchanging(Mode::EcbEncrypt, &[1])]);
    }

    /// In CTR, another barrier follows the one for the round keys before anything it waits for is read.
    #[test]
    #[ignore = "exhaustive: cargo xtask test --all"]
    fn every_missing_barrier_shows() {
        barriers_are_missed(&[
            shuffling(Mode::EcbEncrypt, &[0]),
            shuffling(Mode::Ctr, &[4, 5, 6, 7]),
            shuffling(Mode::CbcDecrypt, &[0]),
            exchanging(Mode::EcbEncrypt, &[2]),
            exchanging(Mode::Ctr, &[1, 2]),
        ]);
    }

    /// Kernels without the work done where 32 bits of the counter wrap, or where a share begins, fail the check.
    #[test]
    fn missing_work_on_counters_shows() {
        let Printed { source, manifest } = print(&KernelSpec::planes(Mode::Ctr, &sbox::LUT3));
        let faults =
            [("return to - from < run ? to : from + run;", "return to;"), ("lane() / 4 - skipped;", "lane() / 4;")];
        faults_show(&source, faults, |source| printed(source, &manifest, &KEY));
    }

    /// The counter of AES-GCM-SIV, with threads that shuffle words and with threads that do not, and the code that distinguishes it from
    /// other counters.
    #[test]
    fn a_little_endian_counter_wraps_in_its_word() {
        let kernel = || print(&KernelSpec::planes(Mode::CtrLe32, &sbox::LUT3));
        for Printed { source, manifest } in [kernel(), without_shuffles(kernel())] {
            printed(&source, &manifest, &KEY).unwrap_or_else(|error| panic!("{error}"));
        }
        let Printed { source, manifest } = kernel();
        let faults = [
            ("    counter.word[0] += (u32)n;\n", "    counter.word[1] += (counter.word[0] += (u32)n) < (u32)n;\n"),
            ("#define BIT_OF_ROW(row) (8 * (row))", "#define BIT_OF_ROW(row) (8 * (3 - (row)))"),
            ("#define COLUMN_OF_PART(n) (-(n) & 3)", "#define COLUMN_OF_PART(n) (n)"),
            ("#define COUNTING_COLUMN 0", "#define COUNTING_COLUMN 3"),
            ("counter.word[1] : column() == 2", "counter.word[2] : column() == 2"),
        ];
        faults_show(&source, faults, |source| printed(source, &manifest, &KEY));
    }

    /// XTS, with threads that shuffle words and with threads that do not.
    #[test]
    fn tweaks_of_all_units_are_right() {
        for (first, mode) in [Mode::XtsEncrypt, Mode::XtsDecrypt].into_iter().enumerate() {
            let kernel = || print(&KernelSpec::planes(mode, &sbox::LUT3));
            let without_shuffles = without_shuffles(kernel());
            for Printed { source, manifest } in sample(first, all_or(1, 2), [kernel(), without_shuffles]) {
                printed(&source, &manifest, &KEY).unwrap_or_else(|error| panic!("{error}"));
            }
        }
        // The check notices if work that only some units need is missing.
        let Printed { source, manifest } = print(&KernelSpec::planes(Mode::XtsDecrypt, &sbox::LUT3));
        let faults = [
            ("& 0x87;", "& 0x86;"),
            ("n -= 2048) times_alpha_to_2048(t);", "n -= 2048) times_alpha_to_256(t);"),
            ("if (n & 64) times_alpha_by_words(t, 2);", ""),
            ("if (++at.block == unit_blocks) {", "if (0) {"),
            ("word < low ? wrapped : here", "here"),
            ("        at.block -= unit_blocks;\n", ""),
            ("tweak_cipher(s, key);", "cipher(s, key);"),
            ("if (1) *other = *own;", ""),
            ("        bytes += here.ragged;\n", ""),
            ("unit == here.last ? here.last_ragged :", ""),
            ("if (4 * column() + b < ragged) {", "if (4 * column() + b <= ragged) {"),
            ("16 * first + here.ragged * begins.unit", "16 * first + here.ragged * (begins.unit & 0xff)"),
        ];
        faults_show(&source, sample(0, all_or(1, 3), faults), |source| printed(source, &manifest, &KEY));
    }

    #[test]
    fn a_baked_kernel_is_for_its_key() {
        let plan = Plan::new(specs().iter().find(|spec| spec.round_keys.baked().is_some()).unwrap());
        assert!(evaluate(&plan, &[7; 16]).is_err());
    }

    /// One kernel of each layout; by column, the one with its key baked in.
    fn is_representative(spec: &KernelSpec) -> bool {
        match spec.layout {
            Layout::Column => spec.round_keys.baked().is_some(),
            Layout::State => spec.mode == Mode::EcbEncrypt,
        }
    }

    #[test]
    fn printed_kernels_pass_and_faults_show() {
        passes_and_faults_show(specs().into_iter().filter(is_representative));
    }

    #[test]
    #[ignore = "exhaustive: cargo xtask test --all"]
    fn all_other_printed_kernels_pass_and_faults_show() {
        passes_and_faults_show(specs().into_iter().filter(|spec| !is_representative(spec)));
    }

    fn passes_and_faults_show(specs: impl Iterator<Item = KernelSpec>) {
        for spec in specs {
            let Printed { source, manifest } = print(&spec);
            if !printed(&source, &manifest, &KEY).unwrap() {
                eprintln!("there is no C compiler: printed kernels were not tested");
                return;
            }
            if spec.layout == Layout::Column {
                let Printed { source, manifest } = without_shuffles(print(&spec));
                printed(&source, &manifest, &KEY).unwrap();
            }
            // A transposition that moves bits wrongly.
            let wrong = source.replace("0x33333333", "0x33333331");
            assert!(matches!(printed(&wrong, &manifest, &KEY), Err(CheckError::Printed { .. })), "{}", spec.name());
            // A guard that counts one block too many.
            let wide = source
                .replace("(blocks - first + 31) / 32", "(blocks - first + 32) / 32")
                .replace("first + 8 * j < blocks", "first + 8 * j < blocks + 1");
            assert!(matches!(printed(&wide, &manifest, &KEY), Err(CheckError::OutOfBounds { .. })), "{}", spec.name());
            // A text that is not C; a key is not quoted.
            let broken = source.replace("u32 s[128];", "u32 s[;").replace("u32 s[32];", "u32 s[;");
            // A thread that does not reach a shuffle.
            let stuck = source.replace(
                "DEVICE void shift_rows(u32 *s, cipher_key key) {",
                "DEVICE void shift_rows(u32 *s, cipher_key key) { if (lane() == 5) return;",
            );
            if spec.layout == Layout::Column {
                assert!(matches!(printed(&stuck, &manifest, &KEY), Err(CheckError::Stuck { .. })), "{}", spec.name());
            }
            let Err(CheckError::Rejected { log, .. }) = printed(&broken, &manifest, &KEY) else { panic!("compiled") };
            assert_eq!(log.contains("withheld"), spec.round_keys.baked().is_some(), "{log}");
        }
    }

    /// A kernel with two entry points that have these parameters and this body, one thread per byte.
    fn by_hand(parameters: [&str; 2], body: &str) -> (String, Manifest) {
        let text = format!(
            "#define THREADS 32\n#define BLOCKS_PER_SM 1\n{}\n\
             KERNEL by_hand({}) {{\n    const u64 n = 32 * (u64)blockIdx.x + threadIdx.x, end = 16 * blocks;\n    {body}\n}}\n\
             KERNEL by_hand_bytes({}) {{\n    const u64 n = 32 * (u64)blockIdx.x + threadIdx.x, end = length;\n    {body}\n}}\n",
            dialect::page(Dialect::Cuda, ""),
            parameters[0],
            parameters[1]
        );
        let mut manifest = manifest::plain("by-hand", Mode::Ctr, 32, 2, Grid::Covers, Dialect::Cuda, &text);
        manifest.function.keys = KeySource::Baked;
        (text, manifest)
    }

    fn launch(access: Access, data: &[u8]) -> Launch<'_> {
        Launch { access, in_place: false, start: 0, skip: 0, key: &[], tweaks: None, tiles: 1, warps: 1, data }
    }

    #[test]
    fn kernels_that_only_write_or_only_read() {
        let data: Vec<u8> = (0..101).collect();
        let bytes = Access::Bytes { input: 3, output: 5 };
        let compile = |parameters, body: &str| {
            let (text, manifest) = by_hand(parameters, body);
            CompiledC::compile(&text, &manifest).unwrap()
        };
        let writes = ["OUTPUT(u8), u64 blocks", "OUTPUT(u8), u64 length"];
        let Some(mut kernel) = compile(writes, "if (n < end) out[n] = (u8)(7 * n);") else { return };
        assert!(!kernel.can_be_in_place());
        for (access, len) in [(Access::Aligned, 96), (bytes, 96)] {
            let output = kernel.run(&launch(access, &data[..len])).unwrap();
            assert_eq!(output, (0..len).map(|n| (7 * n) as u8).collect::<Vec<_>>());
        }
        let mut wide = compile(writes, "if (n <= end) out[n] = (u8)(7 * n);").unwrap();
        let error = wide.run(&launch(bytes, &data[..80])).unwrap_err();
        assert!(matches!(error, CheckError::OutOfBounds { .. }), "{error}");

        let reads = ["INPUT(u8), u64 blocks", "INPUT(u8), u64 length"];
        let mut kernel = compile(reads, "static u8 sum; if (n < end) sum ^= in[n];").unwrap();
        assert_eq!(kernel.run(&launch(bytes, &data[..96])).unwrap(), [0; 0]);
        let mut writes_input = compile(reads, "if (n < end) ((u8 *)in)[n] ^= 1;").unwrap();
        let error = writes_input.run(&launch(bytes, &data[..96])).unwrap_err();
        assert!(matches!(error, CheckError::OutOfBounds { .. }), "{error}");
        let in_place = Launch { in_place: true, ..launch(bytes, &data[..96]) };
        assert!(matches!(kernel.run(&in_place), Err(CheckError::Launch { .. })));
    }

    #[test]
    fn a_parameter_that_no_launch_has_is_named() {
        let (text, manifest) = by_hand(["DATA(u8), u64 blocks", "DATA(u8), u64 length, u32 wide"], "");
        let Some(mut kernel) = CompiledC::compile(&text, &manifest).unwrap() else { return };
        let bytes = Access::Bytes { input: 0, output: 0 };
        assert_eq!(
            kernel.run(&launch(bytes, &[0; 16])).unwrap_err().to_string(),
            "no check of by-hand can be made: nothing is known of what it takes as `wide`"
        );
        assert!(kernel.run(&launch(Access::Aligned, &[0; 16])).is_ok());
    }
}
