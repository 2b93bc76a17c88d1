//! The stored kernels compiled with NVRTC, so that running them needs no compiler: PTX, which the driver compiles for any architecture
//! from 7.5 on, and machine code for the architectures where it pays to skip that.

use crate::ceilings::{self, Measures};
use crate::constant_time::{SAMPLE, architecture, machine_code};
use crate::files;
use crate::kernels::{self, RECORD, ToCompile, image_file};
use crate::sass::{self, Instructions, Sass};
use aes_bitslice_analysis::sass::Disassembler;
use aes_bitslice_core::digest;
use aes_bitslice_gen::check::sample;
use aes_bitslice_nvrtc::{self as nvrtc, EntryReport, Target};
use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The architectures for which registers and spills are reported.
const REPORTED: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail if a stored image is not what NVRTC produces now, or a kernel is above a ceiling. Costs on architectures
    /// without stored machine code are those recorded for this source, unless --arch names the architecture
    #[arg(long, group = "unchanged")]
    check: bool,
    /// Of kernels of which all is as it was when they were compiled (source, compiler and images, by their digests), check one in three again, chosen
    /// by AES_BITSLICE_TURN
    #[arg(long, requires = "check")]
    sample: bool,
    /// Change nothing; print registers, spills and instructions, and fail if a kernel is above a ceiling
    #[arg(long, group = "unchanged")]
    report: bool,
    /// Raise the ceilings to the current cost of the kernels
    #[arg(long, conflicts_with_all = ["check", "report"])]
    raise: bool,
    /// The architectures to report, or also to check, such as sm_90,sm_100
    #[arg(long, value_delimiter = ',', value_parser = architecture, requires = "unchanged")]
    arch: Vec<u32>,
}

impl Args {
    /// The architectures to compile for, whether or not their machine code is stored.
    fn archs(&self) -> &[u32] {
        match &*self.arch {
            [] if self.check => &kernels::CUBINS,
            [] => &REPORTED,
            chosen => chosen,
        }
    }
}

/// What was compiled, from which sources, with which compiler: `compiled.json`, which holds all that is known of a kernel's cost. (The
/// manifest of each source holds what is needed to launch it.)
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// Version of NVRTC.
    nvrtc: String,
    /// By name.
    kernels: BTreeMap<String, KernelRecord>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelRecord {
    source_sha256: String,
    /// SHA-256 of the images, by file.
    images: BTreeMap<String, String>,
    cost: Cost,
}

/// The cost of a kernel.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cost {
    /// Lookup tables that the whole cipher evaluates on 32 blocks, by key length in bits.
    lut3: BTreeMap<usize, u64>,
    /// Registers and local memory by architecture and entry point.
    takes: BTreeMap<String, BTreeMap<String, Takes>>,
    /// Instructions of the stored machine code by architecture and entry point.
    sass: BTreeMap<String, BTreeMap<String, Sass>>,
}

/// An entry point's use of a multiprocessor: registers a thread, and bytes of local memory a thread.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Takes {
    registers: u32,
    stack_bytes: u32,
    spill_store_bytes: u32,
    spill_load_bytes: u32,
}

impl From<&EntryReport> for Takes {
    fn from(entry: &EntryReport) -> Self {
        let &EntryReport { registers, stack_bytes, spill_store_bytes, spill_load_bytes, .. } = entry;
        Self { registers, stack_bytes, spill_store_bytes, spill_load_bytes }
    }
}

impl Takes {
    fn spilled_bytes(&self) -> u32 {
        self.spill_store_bytes + self.spill_load_bytes
    }
}

impl Cost {
    /// Everything that has a ceiling, for the kernel of this name.
    fn measures(&self, kernel: &str) -> Measures {
        let mut measures = Measures::new();
        let mut add = |what: String, number: u64| _ = measures.insert(format!("{kernel} {what}"), number);
        for (bits, &tables) in &self.lut3 {
            add(format!("LUT3s with a key of {bits} bits"), tables);
        }
        for (arch, entries) in &self.takes {
            for (entry, takes) in entries {
                add(format!("{entry} {arch} registers"), takes.registers.into());
                add(format!("{entry} {arch} spilled bytes"), takes.spilled_bytes().into());
            }
        }
        for (arch, entries) in &self.sass {
            for (entry, Sass { all, hot_loop }) in entries {
                add(format!("{entry} {arch} instructions"), all.total.into());
                if let Some(hot_loop) = hot_loop {
                    add(format!("{entry} {arch} instructions of the hot loop"), hot_loop.total.into());
                }
            }
        }
        measures
    }
}

/// PTX without the marks around each block of inline assembly: two lines and a blank one for every lookup table.
fn without_remarks(ptx: &[u8]) -> Vec<u8> {
    let is_remark =
        |line: &[u8]| line.is_empty() || line.starts_with(b"// begin inline") || line.starts_with(b"// end inline");
    let lines = ptx.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| !is_remark(line.trim_ascii())).flatten().copied().collect()
}

fn read_record(folder: &Path) -> Result<Record> {
    Ok(serde_json::from_str(&fs::read_to_string(folder.join(RECORD))?)?)
}

/// The stored images that were not made from these kernels, in words.
pub fn stale(root: &Path, kernels: &[ToCompile]) -> Vec<String> {
    let folder = kernels::folder(root).join("cuda");
    match read_record(&folder) {
        Ok(record) => kernels.iter().flat_map(|kernel| stale_of(&folder, &record, kernel)).collect(),
        Err(error) => vec![format!("the kernels are not compiled ({RECORD}: {error})")],
    }
}

/// What is stale about one kernel.
fn stale_of(folder: &Path, record: &Record, kernel: &ToCompile) -> Vec<String> {
    let name = &kernel.name;
    let Some(compiled) = record.kernels.get(name) else { return vec![format!("{name} was not compiled")] };
    let mut stale = Vec::new();
    if compiled.source_sha256 != digest::of_text(&kernel.source) {
        stale.push(format!("{name} was compiled from another source"));
    }
    for file in kernel.images() {
        let digest = fs::read(folder.join(&file)).ok().map(|bytes| digest::of_bytes(&bytes));
        if digest.is_none() || digest.as_ref() != compiled.images.get(&file) {
            stale.push(format!("{file} is missing or not the one that was compiled"));
        }
    }
    stale
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let (major, minor) = nvrtc::version()?;
    let version = format!("{major}.{minor}");
    let kernels = kernels::to_compile(&kernels::cuda(), &kernels::cuda_hashes());
    let folder = kernels::folder(root).join("cuda");
    let is_rewritten = !args.check && !args.report;
    let old = read_record(&folder).ok().filter(|record| !args.report && record.nvrtc == version);
    let old = old.as_ref();
    let step = if args.sample { SAMPLE } else { 1 };
    let chosen: BTreeSet<String> = sample(0, step, &kernels).map(|kernel| kernel.name.clone()).collect();
    // Not compiled again: kernels compiled from this source by this compiler.
    let is_done = |kernel: &ToCompile| {
        let may_be = is_rewritten || !chosen.contains(&kernel.name);
        may_be && old.is_some_and(|old| stale_of(&folder, old, kernel).is_empty())
    };
    let (done, to_do): (Vec<_>, Vec<_>) = kernels.into_iter().partition(is_done);
    let kept = done.iter().filter_map(|kernel| Some((kernel.name.clone(), old?.kernels.get(&kernel.name)?.clone())));
    let (record, images) = compile(&version, &to_do, old, kept.collect(), args.archs())?;
    if args.check {
        let wrong = differing(&folder, &images);
        if !wrong.is_empty() {
            let by = fs::read_to_string(folder.join(RECORD))
                .ok()
                .and_then(|text| Some(serde_json::from_str::<Record>(&text).ok()?.nvrtc))
                .unwrap_or_else(|| "unknown".into());
            bail!("not what NVRTC {version} makes (recorded: {by}): {}; run `cargo xtask ptx`", wrong.join(", "));
        }
        say!("{} files are what NVRTC {version} makes of the kernels", images.len());
    } else if is_rewritten {
        let contents: Vec<(&str, &[u8])> = images.iter().map(|(n, bytes)| (n.as_str(), bytes.as_slice())).collect();
        files::write_all(&folder, &contents, false)?;
        contents.iter().for_each(|(name, bytes)| say!("wrote {name}, {} bytes", bytes.len()));
    }
    let costs: BTreeMap<String, Cost> = record.kernels.into_iter().map(|(name, kernel)| (name, kernel.cost)).collect();
    print_registers(&version, args.archs(), &costs);
    print_instructions(&costs);

    let mut measured: Measures = costs.iter().flat_map(|(name, cost)| cost.measures(name)).collect();
    let mut ceilings = ceilings::read(root)?;
    if is_rewritten {
        ceilings = if args.raise { measured.clone() } else { ceilings::lowered(&ceilings, &measured) };
        ceilings::write(root, &ceilings)?;
    }
    if args.report {
        // It may include architectures without ceilings.
        measured.retain(|name, _| ceilings.contains_key(name));
    }
    let exceeded = ceilings::exceeded(&ceilings, &measured);
    if exceeded.is_empty() {
        return Ok(());
    }
    say!("");
    exceeded.iter().for_each(|words| say!("{words}"));
    bail!(
        "kernels grew, as listed above, beyond kernels-generated/{}: make them smaller, or run `cargo xtask ptx --raise`",
        ceilings::FILE
    )
}

/// The names of images that are not stored, or stored otherwise.
fn differing<'a>(folder: &Path, images: &'a BTreeMap<String, Vec<u8>>) -> Vec<&'a str> {
    let differs = |(name, image): &(&String, &Vec<u8>)| fs::read(folder.join(name)).ok().as_ref() != Some(image);
    images.iter().filter(differs).map(|(name, _)| name.as_str()).collect()
}

/// Compiles the kernels. Returns the costs of these and of the `kept` ones, and all files that are made here. Costs are those on these
/// architectures, and on others those in the `old` record, as far as it is of this source.
fn compile(
    version: &str,
    kernels: &[ToCompile],
    old: Option<&Record>,
    kept: BTreeMap<String, KernelRecord>,
    archs: &[u32],
) -> Result<(Record, BTreeMap<String, Vec<u8>>)> {
    let disassembler = Disassembler::find()?;
    let one = |kernel: &ToCompile| {
        let old = old.and_then(|old| old.kernels.get(&kernel.name));
        let of_this_source = old.filter(|old| old.source_sha256 == digest::of_text(&kernel.source));
        let takes = of_this_source.map(|old| old.cost.takes.clone()).unwrap_or_default();
        compile_one(kernel, takes, archs, &disassembler)
    };
    // One kernel per thread: each takes the compiler many seconds.
    let compiled: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = kernels.iter().map(|kernel| scope.spawn(move || one(kernel))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a compiling thread panicked"))?).collect()
    });
    let mut record = Record { nvrtc: version.into(), kernels: kept };
    let mut all = BTreeMap::new();
    for (kernel, compiled) in kernels.iter().zip(compiled) {
        let (compiled, mut images) = compiled?;
        record.kernels.insert(kernel.name.clone(), compiled);
        all.append(&mut images);
    }
    let json = serde_json::to_string_pretty(&record).context("plain data")? + "\n";
    all.insert(RECORD.into(), json.into_bytes());
    Ok((record, all))
}

/// The record and the images of a kernel, which takes this on architectures that it is not compiled for here.
fn compile_one(
    kernel: &ToCompile,
    takes: BTreeMap<String, BTreeMap<String, Takes>>,
    archs: &[u32],
    disassembler: &Disassembler,
) -> Result<(KernelRecord, BTreeMap<String, Vec<u8>>)> {
    let mut images = BTreeMap::new();
    let mut cost = Cost { lut3: kernel.lut3.clone(), takes, ..Cost::default() };
    let reported = archs.iter().copied().filter(|&arch| (kernel.capable)(arch)).map(Target::Cubin);
    for target in BTreeSet::from_iter(reported.chain(kernel.targets.iter().copied())) {
        let compiled =
            nvrtc::compile(&kernel.file, &kernel.source, target).with_context(|| format!("for {}", target.name()))?;
        let is_stored = kernel.targets.contains(&target);
        let image = match target {
            Target::Ptx(_) | Target::SpecificPtx(_) => without_remarks(&compiled.image),
            Target::Cubin(arch) | Target::SpecificCubin(arch) => {
                if is_stored || archs.contains(&arch) {
                    let takes = compiled.entries.iter().map(|e| (e.name.clone(), Takes::from(e))).collect();
                    cost.takes.insert(target.name(), takes);
                }
                let listing = disassembler.list(&compiled.image)?;
                let ptx = images.values().next().map_or("", |ptx: &Vec<u8>| str::from_utf8(ptx).unwrap_or_default());
                if let Some(entries) = &kernel.constant_time {
                    machine_code(&listing, entries, ptx).with_context(|| target.name())?;
                }
                if is_stored {
                    cost.sass.insert(target.name(), sass::count(&listing));
                }
                compiled.image
            }
        };
        if is_stored {
            images.insert(image_file(&kernel.name, target), image);
        }
    }
    let record = KernelRecord {
        source_sha256: digest::of_text(&kernel.source),
        images: images.iter().map(|(name, bytes)| (name.clone(), digest::of_bytes(bytes))).collect(),
        cost,
    };
    Ok((record, images))
}

/// Prints a table of registers and spills.
fn print_registers(version: &str, archs: &[u32], costs: &BTreeMap<String, Cost>) {
    say!("\nRegisters a thread, and bytes spilled where there are any (NVRTC {version}):");
    // Architectures with their own instructions after the plain ones.
    let specific = costs.values().flat_map(|cost| cost.takes.keys()).filter(|arch| arch.ends_with('a'));
    let specific = BTreeSet::from_iter(specific.cloned());
    let archs: Vec<String> = archs.iter().map(|arch| format!("sm_{arch}")).chain(specific).collect();
    let rows = |cost: &Cost| -> Vec<(String, Vec<String>)> {
        let entries: BTreeSet<&String> = cost.takes.values().flat_map(BTreeMap::keys).collect();
        let cell = |arch, entry| match cost.takes.get(arch).and_then(|entries| entries.get(entry)) {
            Some(takes) if takes.spilled_bytes() > 0 => format!("{}+{}", takes.registers, takes.spilled_bytes()),
            Some(takes) => takes.registers.to_string(),
            None => "-".into(),
        };
        entries.into_iter().map(|entry| (entry.clone(), archs.iter().map(|arch| cell(arch, entry)).collect())).collect()
    };
    print_table(&archs, costs.values().flat_map(rows).collect());
}

/// Prints a table of instructions.
fn print_instructions(costs: &BTreeMap<String, Cost>) {
    let columns = ["all", "hot loop", "LOP3", "ALU", "FMA", "memory", "other"].map(String::from);
    let archs: BTreeSet<&String> = costs.values().flat_map(|cost| cost.sass.keys()).collect();
    for arch in archs {
        say!("\nInstructions (SASS, {arch}), in all and in the loop of rounds:");
        let row = |(entry, Sass { all, hot_loop }): (&String, &Sass)| {
            let nothing = Instructions::default();
            let Instructions { total, alu, fma, memory, other, by_opcode } = hot_loop.as_ref().unwrap_or(&nothing);
            let lop3 = by_opcode.get("LOP3").unwrap_or(&0);
            (entry.clone(), [&all.total, total, lop3, alu, fma, memory, other].map(u32::to_string).to_vec())
        };
        print_table(&columns, costs.values().filter_map(|c| c.sass.get(arch)).flatten().map(row).collect());
    }
}

fn print_table(columns: &[String], rows: Vec<(String, Vec<String>)>) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |cells: &[String]| cells.iter().map(|cell| format!("  {cell:>8}")).collect::<String>();
    say!("{:width$}{}", "", line(columns));
    rows.iter().for_each(|(name, cells)| say!("{name:width$}{}", line(cells)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::entry::Entry;

    #[test]
    fn everything_that_costs_has_a_ceiling() {
        let takes = Takes { registers: 255, stack_bytes: 8, spill_store_bytes: 4, spill_load_bytes: 8 };
        let instructions = |total| Instructions { total, ..Instructions::default() };
        let sass = Sass { all: instructions(4000), hot_loop: Some(instructions(1400)) };
        let by_entry = String::from;
        let cost = Cost {
            lut3: BTreeMap::from([(128, 12788)]),
            takes: BTreeMap::from([(by_entry("sm_75"), BTreeMap::from([("entry".into(), takes)]))]),
            sass: BTreeMap::from([(by_entry("sm_90"), BTreeMap::from([("entry".into(), sass)]))]),
        };
        let expected = [
            ("kernel LUT3s with a key of 128 bits", 12788),
            ("kernel entry sm_75 registers", 255),
            ("kernel entry sm_75 spilled bytes", 12),
            ("kernel entry sm_90 instructions", 4000),
            ("kernel entry sm_90 instructions of the hot loop", 1400),
        ];
        assert_eq!(cost.measures("kernel"), expected.map(|(name, number)| (name.to_string(), number)).into());
    }

    /// The values recorded at compilation; `ptx --check`, which needs a compiler, checks them.
    #[test]
    fn the_stored_kernels_are_within_their_ceilings() {
        let root = files::root();
        let record = fs::read_to_string(kernels::folder(&root).join("cuda").join(RECORD)).unwrap();
        let record: Record = serde_json::from_str(&record).unwrap();
        let measured = record.kernels.iter().flat_map(|(name, kernel)| kernel.cost.measures(name)).collect();
        let ceilings = ceilings::read(&root).unwrap();
        assert_eq!(ceilings::exceeded(&ceilings, &measured), [""; 0]);
        assert!(ceilings.keys().eq(measured.keys()), "a ceiling of nothing: run `cargo xtask ptx`");
    }

    /// No kernel, entry point or architecture is left out of what was compiled and measured.
    #[test]
    fn every_kernel_is_measured_on_every_architecture() {
        let folder = kernels::folder(&files::root()).join("cuda");
        let record = read_record(&folder).unwrap();
        let kernels = kernels::to_compile(&kernels::cuda(), &kernels::cuda_hashes());
        assert!(record.kernels.keys().eq(kernels.iter().map(|kernel| &kernel.name).collect::<BTreeSet<_>>()));
        for kernel in &kernels {
            let KernelRecord { images, cost, .. } = &record.kernels[&kernel.name];
            assert!(images.keys().eq(&kernel.images().collect::<BTreeSet<_>>()), "{}", kernel.name);
            let archs = [75, 80, 86, 89, 90, 100, 120].into_iter().filter(|&arch| (kernel.capable)(arch));
            let own = |target: &&Target| matches!(target, Target::SpecificCubin(_));
            let measured = archs.map(Target::Cubin).map(|target| target.name());
            let stored = kernel.targets.iter().filter(|target| !matches!(target, Target::Ptx(_)));
            let listed: BTreeSet<String> = stored.clone().map(|target| target.name()).collect();
            assert!(cost.sass.keys().eq(&listed), "{}: machine code of {listed:?}", kernel.name);
            assert!(listed.iter().all(|arch| arch.starts_with("sm_90")), "{}", kernel.name);
            if !stored.clone().any(|target| own(&target)) {
                assert!(cost.takes.keys().eq(&measured.collect::<BTreeSet<_>>()), "{}", kernel.name);
            }
            for arch in cost.takes.keys().filter(|_| kernel.constant_time.is_some()) {
                let points = kernel.constant_time.iter().flat_map(|entries| entries.values());
                let entries = points.map(|point| &point.name).collect::<BTreeSet<_>>();
                let describes = |name: &str| {
                    Entry::ALL.iter().any(|entry| entry.describes() && entry.name_in(&kernel.name) == name)
                };
                let found: BTreeSet<&String> = cost.takes[arch].keys().filter(|name| !describes(name)).collect();
                assert_eq!(found, entries, "{} for {arch}", kernel.name);
            }
        }
    }

    /// Each image that is changed by a byte or missing is told by its name, and so is a kernel of another source.
    #[test]
    fn every_stored_image_is_compared() {
        let stored = kernels::folder(&files::root()).join("cuda");
        let mut kernels = kernels::to_compile(&kernels::cuda(), &kernels::cuda_hashes());
        let root = tempfile::tempdir().unwrap();
        let folder = kernels::folder(root.path()).join("cuda");
        fs::create_dir_all(&folder).unwrap();
        let names = kernels::images(&kernels);
        names.iter().for_each(|name| _ = fs::copy(stored.join(name), folder.join(name)).unwrap());
        assert_eq!(stale(root.path(), &kernels), [""; 0]);
        let images: BTreeMap<String, Vec<u8>> =
            names.iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect();
        assert_eq!(differing(&folder, &images), [""; 0]);
        for (name, bytes) in &images {
            let mut changed = bytes.clone();
            *changed.last_mut().unwrap() ^= 1;
            for now in [Some(changed), None] {
                match now {
                    Some(now) => fs::write(folder.join(name), now).unwrap(),
                    None => fs::remove_file(folder.join(name)).unwrap(),
                }
                assert_eq!(differing(&folder, &images), [name]);
                // The record is no image: it says what images are.
                if name != RECORD {
                    let stale = stale(root.path(), &kernels);
                    assert!(stale.len() == 1 && stale[0].contains(name), "{name}: {stale:?}");
                }
            }
            fs::write(folder.join(name), bytes).unwrap();
        }
        for n in 0..kernels.len() {
            kernels[n].source.push(' ');
            let stale = stale(root.path(), &kernels);
            assert!(stale.len() == 1 && stale[0].contains(&kernels[n].name), "{stale:?}");
            kernels[n].source.pop();
        }
        kernels[0].name += "-new";
        assert!(stale(root.path(), &kernels)[0].contains("was not compiled"));
        fs::remove_file(folder.join(RECORD)).unwrap();
        assert!(stale(root.path(), &kernels)[0].contains("not compiled"));
    }
}
