//! Checks of what is about to be used: a plan by evaluation, a printed kernel by compiling and running it on the CPU.
//!
//! | check | what it can find |
//! |---|---|
//! | [`evaluate`] | circuits, steps and round keys that are not the cipher of FIPS 197 |
//! | [`printed`] | all of that, and what was printed wrongly: transposition, counters, indices, accesses beyond the data |
//!
//! The printed kernel is plain C11 as well as CUDA C (see [`crate::emit::cuda`]); [`CompiledC`] compiles it with the C
//! compiler of the system and runs it over a whole grid. Data for the checks is key stream of the reference cipher
//! under the key that is checked, so that a check repeats exactly.

mod compiled;

pub use compiled::{Access, CompiledC, Launch};

use crate::aes::{KeySchedule, cipher};
use crate::emit::bitsliced::BLOCKS_PER_WORD;
use crate::emit::{Grid, Manifest, ManifestError};
use crate::kernel::{Mode, Plan, reference};
use crate::layout::{self, PLANES};
use zeroize::Zeroizing;

const LANES: usize = BLOCKS_PER_WORD as usize;

/// What a check found, or why it could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The key has no length that AES knows.
    #[error("a key has 16, 24 or 32 bytes, this one has {0}")]
    KeyLength(usize),
    /// The plan's circuits do not compute the cipher.
    #[error("the circuits of {kernel} do not compute the cipher of FIPS 197 for this key")]
    Circuit {
        /// The kernel's name.
        kernel: String,
    },
    /// The printed kernel does not compute the mode.
    #[error("the printed {kernel} is wrong at byte {at} of {launch}")]
    Printed {
        /// The kernel's name.
        kernel: String,
        /// The launch, in words.
        launch: String,
        /// The first byte of the output that differs from the reference.
        at: usize,
    },
    /// The printed kernel wrote where it should not.
    #[error("the printed {kernel} changes bytes outside its output in {launch}")]
    OutOfBounds {
        /// The kernel's name.
        kernel: String,
        /// The launch, in words.
        launch: String,
    },
    /// Some threads of the printed kernel wait for others that do not come.
    #[error("threads of the printed {kernel} wait at a barrier or a shuffle that others never reach, in {launch}")]
    Stuck {
        /// The kernel's name.
        kernel: String,
        /// The launch, in words.
        launch: String,
    },
    /// The C compiler refused the printed kernel.
    #[error("{compiler} cannot compile the printed {kernel}: {log}")]
    Rejected {
        /// The kernel's name.
        kernel: String,
        /// The compiler's command.
        compiler: String,
        /// What it said; withheld where it might quote a key.
        log: String,
    },
    /// The compiler named by the environment variable `CC` cannot be run.
    #[error("the C compiler that the environment variable CC names, `{command}`, cannot be run: {cause}")]
    Compiler {
        /// The value of `CC`.
        command: String,
        /// Why not.
        cause: std::io::Error,
    },
    /// A launch that the kernel has no entry point for.
    #[error("{kernel} cannot be launched like that: {what}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The manifest does not say how to launch the kernel.
    #[error("{0}")]
    Manifest(#[from] ManifestError),
    /// A temporary folder, a pipe or a process failed.
    #[error("running the printed kernel: {0}")]
    Io(#[from] std::io::Error),
}

/// Evaluates a plan on 32 blocks and compares with the cipher of FIPS 197 under `key`: 16, 24 or 32 bytes, and the
/// key that is baked in if one is.
pub fn evaluate(plan: &Plan, key: &[u8]) -> Result<(), CheckError> {
    let schedule = schedule(plan.spec.mode, key)?;
    let blocks: [[u8; 16]; LANES] = key_stream_blocks(key)?;
    let expected = blocks.map(|block| cipher::process(block, &schedule, plan.direction()));
    let round_keys = Zeroizing::new(layout::schedule_planes(&schedule, plan.spec.basis));
    if plan.evaluate(&to_planes(&blocks), &round_keys) == to_planes(&expected) {
        Ok(())
    } else {
        Err(CheckError::Circuit { kernel: plan.spec.name() })
    }
}

/// Compiles a printed kernel as C and compares launches of both entry points with the mode's definition (SP 800-38A),
/// over several thread blocks, aligned and not, in place and not. `false` where there is no C compiler.
pub fn printed(source: &str, manifest: &Manifest, key: &[u8]) -> Result<bool, CheckError> {
    let mode = manifest.mode()?;
    let schedule = schedule(mode, key)?;
    let Some(mut kernel) = CompiledC::compile(source, manifest)? else { return Ok(false) };
    let words = manifest.key_words(key)?.ok_or(CheckError::KeyLength(key.len()))?;
    let unaligned = Access::Bytes { input: 3, output: 9 };
    let (once, twice) = match manifest.grid {
        Grid::Covers => (1, 1),
        Grid::Shares { .. } | Grid::Persistent { .. } => (1, 2),
    };
    // In blocks: one; and several thread blocks with a ragged last run, which take theirs at once or in two runs. In place,
    // a run overwrites what the next one of its share is chained to.
    let group = manifest.blocks as usize;
    for (access, blocks, in_place, runs) in [
        (Access::Aligned, group + 33, true, once),
        (Access::Aligned, 1, false, once),
        (unaligned, 1, true, once),
        (Access::Aligned, (4 * twice - 3) * group + group / 4 + 1, false, twice),
        (unaligned, (3 * twice - 2) * group + 33, false, twice),
        (Access::Aligned, 3 * group + 33, true, twice),
    ] {
        let (skip, cut) = match (mode, access) {
            (Mode::Ctr, Access::Bytes { .. }) => (5, 2),
            _ => (0, 0),
        };
        let data = key_stream(key, 16 * blocks - skip - cut)?;
        // Half-way through, the counter wraps, or its lower half does.
        let wrap = if in_place { 0 } else { 1 << 64 };
        let start = u128::wrapping_sub(wrap, blocks.div_ceil(2) as u128);
        let launch = Launch { access, in_place, start, skip, key: &words, runs, data: &data };
        let output = kernel.run(&launch)?;
        let expected = reference(mode, &schedule, start, skip, &data);
        if let Some(at) = (0..data.len()).find(|&i| output[i] != expected[i]) {
            return Err(CheckError::Printed { kernel: manifest.kernel.clone(), launch: launch.to_string(), at });
        }
    }
    Ok(true)
}

fn schedule(mode: Mode, key: &[u8]) -> Result<KeySchedule, CheckError> {
    KeySchedule::new(key, mode.direction()).ok_or(CheckError::KeyLength(key.len()))
}

/// Bytes that look random, for tests: counter mode on zeros, from a counter of its own.
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
    use crate::emit::{Printed, cuda};
    use crate::kernel::{BakedStrategy, KernelSpec, KeyStrategy};
    use crate::layout::Layout;
    use crate::sbox;

    const KEY: [u8; 16] = *b"sixteen bytes...";

    fn specs() -> Vec<KernelSpec> {
        let baked = BakedStrategy::ALL.map(|s| KernelSpec::baked(Mode::Ctr, &sbox::LUT3, s, &KEY).unwrap());
        let planes = Mode::ALL.map(|mode| KernelSpec::planes(mode, &sbox::LUT3));
        let by_state = planes.clone().map(|spec| spec.with_layout(Layout::State).unwrap());
        let published = Mode::ALL.map(KernelSpec::hajihassani_2019);
        planes.into_iter().chain(baked).chain(by_state).chain(published).collect()
    }

    fn print(spec: &KernelSpec) -> Printed {
        cuda::print(&spec.clone().into(), "a test")
    }

    /// As where threads exchange words through memory: on devices that cannot shuffle.
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

    #[test]
    fn a_missing_barrier_shows() {
        let ecb = KernelSpec::planes(Mode::EcbEncrypt, &sbox::LUT3);
        let cbc = KernelSpec::planes(Mode::CbcDecrypt, &sbox::LUT3);
        let spec = KernelSpec::planes(Mode::Ctr, &sbox::LUT3);
        let [staged_ecb, staged_ctr, staged_cbc] =
            [Mode::EcbEncrypt, Mode::Ctr, Mode::CbcDecrypt].map(KernelSpec::hajihassani_2019);
        // Without shuffles, ShiftRows has two barriers of its own, behind that of the round keys.
        let exchange = 1..3;
        let shuffling = |spec: &KernelSpec, all: Vec<usize>| (print(spec), all);
        let exchanging = |spec: &KernelSpec| (without_shuffles(print(spec)), exchange.clone().collect());
        // Behind that of the round keys of CTR and of CBC comes another before most of what it waits for is read.
        for (Printed { source, manifest }, which) in [
            shuffling(&ecb, vec![0]),
            shuffling(&spec, vec![3, 4, 5, 6]),
            shuffling(&cbc, vec![3, 4]),
            exchanging(&ecb),
            exchanging(&spec),
            shuffling(&staged_ecb, (0..4).collect()),
            shuffling(&staged_ctr, (0..3).collect()),
            shuffling(&staged_cbc, (0..5).collect()),
        ] {
            let barriers: Vec<usize> = source.match_indices("    BARRIER();").map(|(at, _)| at).collect();
            assert!(barriers.len() > *which.last().expect("some"), "{}", manifest.kernel);
            for at in which.into_iter().map(|i| barriers[i]) {
                let without = source[..at].to_string() + &source[at..].replacen("BARRIER();", "", 1);
                match printed(&without, &manifest, &KEY) {
                    Ok(false) => return,
                    Ok(true) => panic!("{}: the barrier at byte {at} is not missed", manifest.kernel),
                    Err(_) => {}
                }
            }
        }
        let Printed { source, manifest } = print(&spec);
        // The same for what is done where 32 bits of counter wrap, and where a share begins.
        for (line, without) in
            [("if (is_first || counter.word[0] == 0)", "if (is_first)"), ("    counter.word[0] -= skipped;\n", "")]
        {
            assert!(source.contains(line));
            assert!(printed(&source.replace(line, without), &manifest, &KEY).is_err(), "{line}");
        }
    }

    #[test]
    fn a_baked_kernel_is_for_its_key() {
        let plan = Plan::new(specs().iter().find(|spec| spec.round_keys.baked().is_some()).unwrap());
        assert!(evaluate(&plan, &[7; 16]).is_err());
    }

    #[test]
    fn printed_kernels_pass_and_faults_show() {
        for spec in specs() {
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
                .replace("left < BLOCKS_PER_WARP ? (u32)left :", "left < BLOCKS_PER_WARP ? (u32)left + 1 :")
                .replace("left < BLOCKS ? (u32)left :", "left < BLOCKS ? (u32)left + 1 :");
            assert!(matches!(printed(&wide, &manifest, &KEY), Err(CheckError::OutOfBounds { .. })), "{}", spec.name());
            // A text that is no C; a key is not quoted.
            let broken = source.replace("u32 s[128];", "u32 s[;").replace("u32 s[32];", "u32 s[;");
            // A thread that does not come to a shuffle, or to a barrier.
            let stuck = source
                .replace(
                    "DEVICE void shift_rows(u32 *s, cipher_key key) {",
                    "DEVICE void shift_rows(u32 *s, cipher_key key) { if (lane() == 5) return;",
                )
                .replace("BARRIER(); // All are done", "if (threadIdx.x != 5) BARRIER(); // All are done");
            if spec.layout == Layout::Column || spec.round_keys.strategy() == KeyStrategy::PlanesInMemory {
                assert!(matches!(printed(&stuck, &manifest, &KEY), Err(CheckError::Stuck { .. })), "{}", spec.name());
            }
            let Err(CheckError::Rejected { log, .. }) = printed(&broken, &manifest, &KEY) else { panic!("compiled") };
            assert_eq!(log.contains("withheld"), spec.round_keys.baked().is_some(), "{log}");
        }
    }
}
