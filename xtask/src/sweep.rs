//! `ptx --sweep`: one kernel with other thread blocks and other loops, compiled and counted without a GPU.
//!
//! The compiler's register allocation moves a kernel by a per cent or two. The table says which variants are worth a measurement.

use crate::sass::{self, Sass};
use aes_bitslice_analysis::sass::Disassembler;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_gen::emit::bitsliced::{self, Geometry};
use aes_bitslice_gen::kernel::{Design, KernelSpec, Plan};
use aes_bitslice_gen::stored;
use aes_bitslice_nvrtc::{self as nvrtc, EntryReport, Target};
use anyhow::{Context, Result, anyhow, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads of the only thread block of a multiprocessor, with the same number of warps for each of its four schedulers. More thread blocks
/// of fewer threads have the same registers, and the same code.
const THREADS: [u32; 5] = [256, 384, 512, 640, 768];
/// Rounds in one iteration of the loop.
const UNROLLED: [u32; 2] = [1, 2];

/// The outcome for a geometry.
struct Outcome {
    geometry: Geometry,
    entry: EntryReport,
    sass: Sass,
}

impl Outcome {
    fn spilled(&self) -> u32 {
        self.entry.spill_store_bytes + self.entry.spill_load_bytes
    }

    /// All instructions, ALU instructions and LUT3s of the loop, per round; fractional where something is done once for two.
    fn of_a_round(&self) -> [f64; 3] {
        let Some(hot) = &self.sass.hot_loop else { return [0.0; 3] };
        let lut3 = hot.by_opcode.get("LOP3").copied().unwrap_or_default();
        [hot.total, hot.alu, lut3].map(|n| f64::from(n) / f64::from(self.geometry.unrolled))
    }

    /// Clocks of a scheduler for a round of one warp, if nothing waits: one for an instruction, two for an ALU instruction, because the ALU
    /// has 16 lanes.
    fn clocks(&self) -> f64 {
        // A variant without a loop cannot be compared, and comes last.
        if self.sass.hot_loop.is_none() {
            return f64::INFINITY;
        }
        let [all, alu, _] = self.of_a_round();
        all.max(2.0 * alu)
    }
}

/// Compiles the variants of a stored kernel, which is bitsliced and by column, for an architecture, and prints a table: the fewest clocks
/// for a round first, variants that spill last.
///
/// # Errors
/// If there is no such kernel, or no compiler or disassembler.
pub fn run(name: &str, arch: u32) -> Result<()> {
    let spec = spec(name)?;
    let used = bitsliced::parts(&spec).context("a stored kernel has parts")?.geometry;
    let resident = THREADS.map(|threads| (threads, 1)).into_iter();
    let shapes: BTreeSet<(u32, u32)> = resident.chain([(used.threads, used.blocks_per_sm)]).collect();
    let geometries: Vec<Geometry> = shapes
        .into_iter()
        .flat_map(|(threads, blocks_per_sm)| UNROLLED.map(|unrolled| Geometry { threads, blocks_per_sm, unrolled }))
        .collect();
    let disassembler = Disassembler::find()?;
    let mut outcomes = in_parallel(&geometries, |geometry| compile(&spec, *geometry, arch, &disassembler))?;
    outcomes.sort_by(|a, b| {
        let key = |o: &Outcome| (o.spilled(), o.clocks(), o.sass.all.total);
        key(a).partial_cmp(&key(b)).expect("numbers")
    });
    print(name, arch, used, &outcomes);
    Ok(())
}

/// The specification of a stored kernel.
fn spec(name: &str) -> Result<KernelSpec> {
    let is_swept = |design: Design| match design {
        Design::Bitsliced(spec) if spec.layout == Layout::Column => Some(spec),
        _ => None,
    };
    let specs: Vec<KernelSpec> = stored::cuda().into_iter().filter_map(is_swept).collect();
    let names = || specs.iter().map(KernelSpec::name).collect::<Vec<_>>().join(", ");
    match specs.iter().find(|spec| spec.name() == name) {
        Some(spec) => Ok(spec.clone()),
        None => bail!("--sweep: `{name}` is none of the stored kernels by column: {}", names()),
    }
}

fn compile(spec: &KernelSpec, geometry: Geometry, arch: u32, disassembler: &Disassembler) -> Result<Outcome> {
    let plan = Plan::new(spec);
    let mut parts = bitsliced::parts(spec).context("a stored kernel has parts")?;
    parts.geometry = geometry;
    let entry = parts.entry_point();
    let source = bitsliced::source(&plan, &parts, Dialect::Cuda, "cargo xtask ptx --sweep");
    let compiled = nvrtc::compile(&format!("{}.cu", spec.name()), &source, Target::Cubin(arch))?;
    let mut sass: BTreeMap<String, Sass> = sass::count(&disassembler.list(&compiled.image)?);
    let missing = || anyhow!("the compiler says nothing of {entry}");
    let report = compiled.entries.into_iter().find(|report| report.name == entry).ok_or_else(missing)?;
    Ok(Outcome { geometry, entry: report, sass: sass.remove(&entry).ok_or_else(missing)? })
}

/// The results of `one` for each item, in order; one thread per core, because each takes the compiler many seconds.
fn in_parallel<T: Sync, R: Send>(items: &[T], one: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, R)>> {
        let mut made = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else { return Ok(made) };
            made.push((i, one(item)?));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let made = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().map_err(|_| anyhow!("a compiling thread panicked"))?
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let mut made: Vec<(usize, R)> = made.into_iter().flatten().collect();
    made.sort_by_key(|(i, _)| *i);
    Ok(made.into_iter().map(|(_, r)| r).collect())
}

fn print(name: &str, arch: u32, used: Geometry, outcomes: &[Outcome]) {
    say!(
        "{name}, sm_{arch}: registers, spills and machine code of its first entry point. A round's are those of the loop of rounds;"
    );
    say!("clocks are a scheduler's for a round of one warp, if nothing waits. Marked: what is used.\n");
    say!("  threads  blocks  warps  in loop  registers  spilled     all  a round    ALU   LOP3  clocks");
    for outcome in outcomes {
        let Outcome { geometry, entry, sass } = outcome;
        let Geometry { threads, blocks_per_sm, unrolled } = *geometry;
        let mark = if *geometry == used { '*' } else { ' ' };
        let warps = threads / 32 * blocks_per_sm;
        let [all, alu, lut3] = outcome.of_a_round();
        let (registers, spilled, clocks) = (entry.registers, outcome.spilled(), outcome.clocks());
        let total = sass.all.total;
        say!(
            "{mark} {threads:7}  {blocks_per_sm:6}  {warps:5}  {unrolled:7}  {registers:9}  {spilled:7}  {total:6}  {all:7.1}  \
             {alu:5.1}  {lut3:5.1}  {clocks:6.1}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_and_others_refused() {
        assert_eq!(spec("aes-ctr-planes").unwrap().name(), "aes-ctr-planes");
        for name in ["", "aes-ctr-tbox"] {
            let error = spec(name).err().unwrap().to_string();
            assert!(error.contains("aes-ecb-decrypt-planes") && !error.contains("tbox-"), "{error}");
        }
    }

    #[test]
    fn all_items_are_done_in_order_and_an_error_is_one() {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(in_parallel(&items, |i| Ok(2 * i)).unwrap(), (0..200).step_by(2).collect::<Vec<_>>());
        let error = in_parallel(&items, |i| if *i == 57 { bail!("number {i}") } else { Ok(()) });
        assert_eq!(error.unwrap_err().to_string(), "number 57");
    }
}
