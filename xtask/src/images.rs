//! The stored kernels compiled with NVRTC, so that whoever runs them needs no compiler: PTX, which the driver compiles
//! for any architecture from 7.5 on, and machine code for the architectures where it pays to skip that.

use crate::files;
use crate::stored::{self, StoredKernel};
use aes_bitslice_gen::emit::header;
use aes_bitslice_nvrtc::{self as nvrtc, EntryReport, Target};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The virtual architecture of the PTX.
const PTX: u32 = 75;
/// The architectures with machine code.
pub const CUBINS: [u32; 1] = [90];
/// The architectures that registers and spills are reported for.
const REPORTED: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];
/// The file that says what was compiled from what.
const RECORD: &str = "compiled.json";

#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail if a stored image is not what NVRTC makes now
    #[arg(long)]
    check: bool,
    /// Change nothing; print registers and spills, and fail if a kernel spills
    #[arg(long, conflicts_with = "check")]
    report: bool,
    /// The architectures to report, as sm_90,sm_100
    #[arg(long, value_delimiter = ',', value_parser = architecture, requires = "report", default_values_t = REPORTED)]
    arch: Vec<u32>,
}

fn architecture(name: &str) -> Result<u32, String> {
    let number = name.strip_prefix("sm_").unwrap_or(name).parse();
    number.map_err(|_| "an architecture is written as sm_90".into())
}

/// What was compiled, from which sources, with which compiler.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// Version of NVRTC.
    nvrtc: String,
    kernels: BTreeMap<String, KernelRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelRecord {
    source_sha256: String,
    /// SHA-256 of the images, by file.
    images: BTreeMap<String, String>,
    /// By architecture and entry point.
    takes: BTreeMap<String, BTreeMap<String, Takes>>,
}

/// What an entry point takes of a multiprocessor: registers a thread, and bytes of local memory a thread.
#[derive(Clone, Copy, Serialize, Deserialize)]
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
    fn spills(&self) -> bool {
        self.spill_store_bytes + self.spill_load_bytes > 0
    }
}

pub fn ptx_file(kernel: &str) -> String {
    format!("{kernel}.compute_{PTX}.ptx")
}

/// PTX without what marks each piece of inline assembly: two lines and a blank one for every lookup table.
fn without_remarks(ptx: &[u8]) -> Vec<u8> {
    let is_remark =
        |line: &[u8]| line.is_empty() || line.starts_with(b"// begin inline") || line.starts_with(b"// end inline");
    let lines = ptx.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| !is_remark(line.trim_ascii())).flatten().copied().collect()
}

pub fn cubin_file(kernel: &str, arch: u32) -> String {
    format!("{kernel}.sm_{arch}.cubin")
}

/// The names of all files that are made here.
pub fn files(kernels: &[StoredKernel]) -> BTreeSet<String> {
    let images = |k: &StoredKernel| {
        let cubins = CUBINS.map(|arch| cubin_file(&k.name, arch));
        cubins.into_iter().chain([ptx_file(&k.name)])
    };
    kernels.iter().flat_map(images).chain([RECORD.to_string()]).collect()
}

/// What of the stored images was not made from these kernels, in words.
pub fn stale(root: &Path, kernels: &[StoredKernel]) -> Vec<String> {
    let folder = stored::folder(root).join("cuda");
    let read = || -> Result<Record> { Ok(serde_json::from_str(&fs::read_to_string(folder.join(RECORD))?)?) };
    let record = match read() {
        Ok(record) => record,
        Err(error) => return vec![format!("the kernels are not compiled ({RECORD}: {error})")],
    };
    let mut stale = Vec::new();
    for kernel in kernels {
        let name = &kernel.name;
        let Some(compiled) = record.kernels.get(name) else {
            stale.push(format!("{name} was not compiled"));
            continue;
        };
        if compiled.source_sha256 != header::digest(&kernel.source) {
            stale.push(format!("{name} was compiled from another source"));
        }
        for file in files(std::slice::from_ref(kernel)).into_iter().filter(|f| f != RECORD) {
            let digest = fs::read(folder.join(&file)).ok().map(|bytes| header::digest_bytes(&bytes));
            if digest.is_none() || digest.as_ref() != compiled.images.get(&file) {
                stale.push(format!("{file} is missing or not the one that was compiled"));
            }
        }
    }
    stale
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let (major, minor) = nvrtc::version()?;
    let version = format!("{major}.{minor}");
    let kernels = stored::kernels();
    if args.report {
        let mut takes = BTreeMap::new();
        for kernel in &kernels {
            takes.insert(kernel.name.clone(), report(kernel, &args.arch)?);
        }
        return print_report(&version, &args.arch, &takes);
    }
    let (record, images) = compile(&version, &kernels)?;
    let folder = stored::folder(root).join("cuda");
    if args.check {
        let mut wrong = Vec::new();
        for (name, image) in &images {
            if fs::read(folder.join(name)).ok().as_ref() != Some(image) {
                wrong.push(name.as_str());
            }
        }
        if !wrong.is_empty() {
            let by = fs::read_to_string(folder.join(RECORD))
                .ok()
                .and_then(|text| Some(serde_json::from_str::<Record>(&text).ok()?.nvrtc))
                .unwrap_or_else(|| "unknown".into());
            bail!("not what NVRTC {version} makes (recorded: {by}): {}; run `cargo xtask ptx`", wrong.join(", "));
        }
        say!("{} files are what NVRTC {version} makes of the kernels", images.len());
    } else {
        let contents: Vec<(&str, &[u8])> = images.iter().map(|(n, bytes)| (n.as_str(), bytes.as_slice())).collect();
        files::write_all(&folder, &contents, false)?;
        contents.iter().for_each(|(name, bytes)| say!("wrote {name}, {} bytes", bytes.len()));
    }
    let takes = record.kernels.into_iter().map(|(name, kernel)| (name, kernel.takes)).collect();
    print_report(&version, &REPORTED, &takes)
}

/// All files that are made here.
fn compile(version: &str, kernels: &[StoredKernel]) -> Result<(Record, BTreeMap<String, Vec<u8>>)> {
    let mut record = Record { nvrtc: version.into(), kernels: BTreeMap::new() };
    let mut all = BTreeMap::new();
    for kernel in kernels {
        let mut images = BTreeMap::new();
        let image =
            |target| Ok::<_, nvrtc::Error>(nvrtc::compile(&kernel.source_file(), &kernel.source, target)?.image);
        images.insert(ptx_file(&kernel.name), without_remarks(&image(Target::Ptx(PTX))?));
        for arch in CUBINS {
            images.insert(cubin_file(&kernel.name, arch), image(Target::Cubin(arch))?);
        }
        let compiled = KernelRecord {
            source_sha256: header::digest(&kernel.source),
            images: images.iter().map(|(name, bytes)| (name.clone(), header::digest_bytes(bytes))).collect(),
            takes: report(kernel, &REPORTED)?,
        };
        record.kernels.insert(kernel.name.clone(), compiled);
        all.append(&mut images);
    }
    let json = serde_json::to_string_pretty(&record).context("plain data")? + "\n";
    all.insert(RECORD.into(), json.into_bytes());
    Ok((record, all))
}

/// What the entry points take, by architecture.
fn report(kernel: &StoredKernel, archs: &[u32]) -> Result<BTreeMap<String, BTreeMap<String, Takes>>> {
    let one = |&arch: &u32| {
        let compiled = nvrtc::compile(&kernel.source_file(), &kernel.source, Target::Cubin(arch))
            .with_context(|| format!("for sm_{arch}"))?;
        Ok((format!("sm_{arch}"), compiled.entries.iter().map(|e| (e.name.clone(), Takes::from(e))).collect()))
    };
    archs.iter().map(one).collect()
}

/// Prints a table of registers and spills; an error if any entry point spills.
fn print_report(
    version: &str,
    archs: &[u32],
    kernels: &BTreeMap<String, BTreeMap<String, BTreeMap<String, Takes>>>,
) -> Result<()> {
    say!("\nRegisters a thread, and bytes spilled where there are any (NVRTC {version}):");
    let entries: BTreeSet<&String> = kernels.values().flat_map(|k| k.values().flat_map(BTreeMap::keys)).collect();
    let width = entries.iter().map(|e| e.len()).max().unwrap_or(0);
    let heading: String = archs.iter().map(|arch| format!("  {:>7}", format!("sm_{arch}"))).collect();
    say!("{:width$}{heading}", "");
    let mut spilling = Vec::new();
    for entry in entries {
        let mut row = format!("{entry:width$}");
        for arch in archs.iter().map(|arch| format!("sm_{arch}")) {
            let takes = kernels.values().find_map(|k| k.get(&arch)?.get(entry));
            let cell = takes.map_or("-".into(), |t| match t.spills() {
                false => t.registers.to_string(),
                true => format!("{}+{}", t.registers, t.spill_store_bytes + t.spill_load_bytes),
            });
            row += &format!("  {cell:>7}");
            if takes.is_some_and(Takes::spills) {
                spilling.push(format!("{entry} on {arch}"));
            }
        }
        say!("{row}");
    }
    if !spilling.is_empty() {
        bail!("registers spill to memory: {}", spilling.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spill_is_a_failure() {
        let report = |spill_store_bytes| {
            let takes = Takes { registers: 255, stack_bytes: 0, spill_store_bytes, spill_load_bytes: 0 };
            let entries = BTreeMap::from([("entry".to_string(), takes)]);
            let kernel = BTreeMap::from([("sm_90".to_string(), entries)]);
            print_report("13.0", &[90], &BTreeMap::from([("kernel".to_string(), kernel)]))
        };
        report(0).unwrap();
        assert!(report(4).unwrap_err().to_string().contains("entry on sm_90"));
    }
}
