//! Checks that the kernels called constant-time are: secrets are followed through PTX, machine code and OpenCL C.
//!
//! | code | how |
//! |---|---|
//! | the stored PTX, and that of kernels stored as machine code only | [`aes_bitslice_analysis::taint::ptx`] |
//! | the stored machine code, and here or in `ptx` that of every architecture compiled for | [`aes_bitslice_analysis::taint::sass`] |
//! | kernels that are printed for a key: every preset | compiled here, to PTX and to machine code for `sm_90` |
//! | the stored OpenCL C | its page of words must hold no condition and no index; the rest is CUDA C with another page in front, compiled to PTX |
//!
//! What is secret in an entry point, and how it is judged, is in [`entry_points`]. A key in the code is constants, which nothing
//! follows: there, the data is secret, and another key must give the same branches, barriers, loads, stores and shuffles in the same order.
//! Every table kernel must be found guilty, in PTX and, where there is a disassembler, in machine code.

use crate::kernels::{self, StoredHash, StoredKernel, ToCompile, image_file};
use aes_bitslice_analysis::sass::Disassembler;
use aes_bitslice_analysis::taint::entry_points::{self, Entries, in_listing, secrets};
use aes_bitslice_analysis::taint::{Report, ptx};
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_gen::check::sample;
use aes_bitslice_gen::emit::cuda;
use aes_bitslice_gen::kernel::{Design, KernelSpec, Preset};
use aes_bitslice_gen::stored::PUBLISHED_KEY;
use aes_bitslice_nvrtc::{self as nvrtc, Target};
use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

#[derive(clap::Args)]
pub struct Args {
    /// Only the stored PTX, which needs neither NVRTC nor a disassembler
    #[arg(long)]
    ptx: bool,
    /// Also compile for these architectures, such as sm_75,sm_100
    #[arg(long, value_delimiter = ',', value_parser = architecture, conflicts_with = "ptx")]
    arch: Vec<u32>,
    /// Of the kernels printed for a key, and of those in OpenCL C, one in three, chosen by AES_BITSLICE_TURN: to compile them takes longest
    #[arg(long, conflicts_with = "ptx")]
    sample: bool,
}

/// A sample of kernels that are compiled in a check is one in this many.
pub const SAMPLE: usize = 3;

/// The architecture whose machine code of table kernels is listed.
const LISTED: u32 = 90;

/// A kernel in OpenCL C: without its dialect's page of words, and with CUDA's instead.
fn in_cuda(source: &str) -> Result<String> {
    let begin = "// What is read and what is written.";
    let (page, body) = source.split_once(begin).context("the page of the dialect has no end")?;
    for line in page.lines() {
        let code = line.split("//").next().unwrap_or(line);
        let words = code.split(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
        let is_directive = code.trim_start().starts_with("#if") || code.trim_start().starts_with("#e");
        let mut decides = ["?", "&&", "||"].iter().any(|sign| code.contains(sign))
            || words.clone().any(|word| ["if", "while", "switch", "goto", "do"].contains(&word));
        if words.clone().any(|word| word == "for") {
            let bound =
                code.trim_start().strip_prefix("UNROLL for (int i = 0; i < ").and_then(|rest| rest.split_once(';'));
            decides |= bound.is_none_or(|(bound, rest)| bound.parse::<u32>().is_err() || !rest.starts_with(" i++)"));
        }
        ensure!(is_directive || !decides, "a condition in the page of OpenCL's words: `{line}`");
        // The text in brackets is the size of an array, which has a name in capitals, or an index.
        let is_size = |inside: &str| {
            inside.split(']').next().is_some_and(|size| !size.contains(|sign: char| sign.is_ascii_lowercase()))
        };
        ensure!(code.split('[').skip(1).all(is_size), "an index in the page of OpenCL's words: `{line}`");
    }
    // The text above the page: sizes.
    let sizes: Vec<&str> = page.lines().take_while(|line| !line.starts_with("// ---")).collect();
    let cuda = cuda::prelude();
    let common = cuda.find(begin).context("the page of the dialect has no end")?;
    // Without shuffles, as on other vendors' devices; with them, it is the text that is stored for CUDA.
    Ok(format!("#define SHUFFLES 0\n{}\n{}{begin}{body}", sizes.join("\n"), &cuda[..common]))
}

/// An architecture by its name, such as sm_90.
pub fn architecture(name: &str) -> Result<u32, String> {
    let number = name.strip_prefix("sm_").unwrap_or(name).parse();
    number.map_err(|_| "an architecture is written as sm_90".into())
}

/// Follows the secrets of these entry points through PTX.
fn intermediate(text: &str, entries: &Entries) -> Result<Vec<Report>> {
    entry_points::intermediate(text, entries).map_err(Error::msg)
}

/// Follows them through machine code, by its listing. `ptx` is the same kernel in PTX; empty if it has none.
pub fn machine_code(listing: &str, entries: &Entries, ptx: &str) -> Result<Vec<Report>> {
    entry_points::machine_code(listing, entries, ptx).map_err(Error::msg)
}

/// A line of the table that describes an analysis.
fn line(kernel: &str, code: &str, reports: &[Report]) -> String {
    let sum = |count: fn(&Report) -> usize| reports.iter().map(count).sum::<usize>();
    let (all, secret) = (sum(|report| report.instructions), sum(|report| report.secret));
    format!("{kernel:40}  {code:12}  {all:>8}  {secret:>8}")
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let folder = kernels::folder(root).join("cuda");
    let (stored, hashes) = (kernels::cuda(), kernels::cuda_hashes());
    let kernels = kernels::to_compile(&stored, &hashes);
    let disassembler = if args.ptx {
        None
    } else {
        Some(tools().map_err(|error| anyhow!("{error:#}; without it, --ptx still checks the stored PTX"))?)
    };
    let (mut opencl, mut of_keys) = if args.ptx { (vec![], vec![]) } else { (opencl(), of_keys()) };
    if args.sample {
        opencl = sample(0, SAMPLE, opencl).collect();
        of_keys = sample(0, SAMPLE, of_keys).collect();
    }
    let (folder, stored, disassembler) = (&folder, &stored, disassembler.as_ref());
    say!("{:40}  {:12}  {:>8}  {:>8}", "kernel", "code", "all", "secret");
    let cuda =
        kernels.iter().map(|kernel| -> Work { Box::new(|| of_cuda(folder, kernel, stored, args, disassembler)) });
    let opencl = opencl.iter().map(|(name, source, entries)| -> Work { Box::new(|| of_opencl(name, source, entries)) });
    let of_keys = of_keys.iter().map(|kernel| -> Work { Box::new(|| of_key(kernel, to_ptx, disassembler)) });
    let work: Vec<Work> = cuda.chain(of_keys).chain(opencl).collect();
    in_order(&work)
}

/// The disassembler; NVRTC must be there, too.
fn tools() -> Result<Disassembler> {
    let disassembler = Disassembler::find()?;
    nvrtc::version()?;
    Ok(disassembler)
}

/// The analysis of a kernel, which takes seconds: the lines of the table.
type Work<'a> = Box<dyn Fn() -> Result<Vec<String>> + Sync + 'a>;

/// Runs it on all cores, and prints the lines in the order of the list, as long as all is well.
fn in_order(work: &[Work]) -> Result<()> {
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..cores.min(work.len()) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                while let Some((at, one)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, work.get(at)?)))
                {
                    // There is no receiver if another kernel was found guilty.
                    if sender.send((at, one())).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut said = 0;
        for (at, lines) in receiver {
            waiting.insert(at, lines?);
            while let Some(lines) = waiting.remove(&said) {
                lines.iter().for_each(|line| say!("{line}"));
                said += 1;
            }
        }
        ensure!(said == work.len(), "a thread of the analysis panicked");
        Ok(())
    })
}

/// The analysis of a kernel in CUDA C.
fn of_cuda(
    folder: &Path,
    kernel: &ToCompile,
    stored: &[StoredKernel],
    args: &Args,
    disassembler: Option<&Disassembler>,
) -> Result<Vec<String>> {
    let name = &kernel.name;
    let target = kernel.targets.iter().copied().find(|target| matches!(target, Target::Ptx(_)));
    let read = |target| fs::read_to_string(folder.join(image_file(name, target)));
    let ptx = target.map(|target| read(target).with_context(|| format!("the PTX of {name}"))).transpose()?;
    let Some(entries) = &kernel.constant_time else {
        looks_up(kernel, stored, ptx.as_deref(), disassembler)?;
        return Ok(vec![]);
    };
    let mut lines = vec![];
    if let Some(ptx) = &ptx {
        lines.push(line(name, "PTX", &intermediate(ptx, entries).with_context(|| name.clone())?));
    }
    let Some(disassembler) = disassembler else { return Ok(lines) };
    if ptx.is_none() {
        // Kernels that are stored only as machine code, for an architecture by its own name.
        for &target in &kernel.targets {
            let Target::SpecificCubin(arch) = target else { continue };
            let compiled = nvrtc::compile(&kernel.file, &kernel.source, Target::SpecificPtx(arch))?;
            let reports = intermediate(str::from_utf8(&compiled.image)?, entries);
            lines.push(line(name, "PTX", &reports.with_context(|| name.clone())?));
        }
    }
    let mut listed = |image: &[u8], target: Target| -> Result<()> {
        let reports = machine_code(&disassembler.list(image)?, entries, ptx.as_deref().unwrap_or_default());
        lines.push(line(name, &target.name(), &reports.with_context(|| format!("{name} for {}", target.name()))?));
        Ok(())
    };
    for &target in kernel.targets.iter().filter(|target| !matches!(target, Target::Ptx(_))) {
        listed(&fs::read(folder.join(image_file(name, target)))?, target)?;
    }
    for &arch in args.arch.iter().filter(|&&arch| (kernel.capable)(arch)) {
        let target = Target::Cubin(arch);
        listed(&nvrtc::compile(&kernel.file, &kernel.source, target)?.image, target)?;
    }
    Ok(lines)
}

/// The analysis of a kernel in OpenCL C.
fn of_opencl(name: &str, source: &str, entries: &Entries) -> Result<Vec<String>> {
    let source = in_cuda(source).with_context(|| name.to_string())?;
    let reports = intermediate(&to_ptx(name, &source)?, entries);
    Ok(vec![line(name, "OpenCL C", &reports.with_context(|| format!("{name} in OpenCL C"))?)])
}

/// The PTX of a kernel, from its name and source.
fn to_ptx(name: &str, source: &str) -> Result<String> {
    let compiled = nvrtc::compile(name, source, Target::Ptx(kernels::PTX)).with_context(|| name.to_string())?;
    Ok(String::from_utf8(compiled.image)?)
}

/// The analysis of a kernel that is printed for a key.
fn of_key(
    kernel: &OfKey,
    to_ptx: fn(&str, &str) -> Result<String>,
    disassembler: Option<&Disassembler>,
) -> Result<Vec<String>> {
    let name = &kernel.name;
    let [ptx, other] = [&kernel.source, &kernel.of_other_key].map(|source| to_ptx(name, source));
    let (ptx, other) = (ptx?, other?);
    ensure!(skeleton(&ptx) == skeleton(&other), "{name}: what it branches by, or reads and writes, depends on the key");
    let mut lines = vec![line(name, "PTX", &intermediate(&ptx, &kernel.entries).with_context(|| name.clone())?)];
    if let Some(disassembler) = disassembler {
        let target = Target::Cubin(LISTED);
        let image = nvrtc::compile(name, &kernel.source, target).with_context(|| name.clone())?.image;
        let reports = machine_code(&disassembler.list(&image)?, &kernel.entries, &ptx);
        lines.push(line(name, &target.name(), &reports.with_context(|| format!("{name} for {}", target.name()))?));
    }
    Ok(lines)
}

/// The instructions of PTX that branch, wait, call, or use an address or a lane, in their order: their names, without operands.
fn skeleton(ptx: &str) -> Vec<&str> {
    const NAMES: [&str; 13] =
        ["bar", "barrier", "bra", "brx", "call", "exit", "ret", "ld", "st", "atom", "red", "shfl", "vote"];
    let instructions = ptx.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with('@'));
        words.next().map(|opcode| opcode.trim_end_matches(';'))
    });
    instructions.filter(|opcode| opcode.split('.').next().is_some_and(|name| NAMES.contains(&name))).collect()
}

/// A kernel that is printed for a key, with its source for another key.
pub(crate) struct OfKey {
    name: String,
    source: String,
    of_other_key: String,
    pub(crate) entries: Entries,
}

/// Every preset in its modes: for a published key, and for its complement.
pub(crate) fn of_keys() -> Vec<OfKey> {
    let other = PUBLISHED_KEY.map(|byte| !byte);
    let printed = |spec: KernelSpec| cuda::print(&Design::Bitsliced(spec), "").expect("a kernel that there is");
    let kernel = |name: String, spec: &dyn Fn(&[u8]) -> Option<KernelSpec>| {
        let [Printed { source, manifest }, of_other_key] =
            [&PUBLISHED_KEY, &other].map(|key| printed(spec(key).expect("a key of 16 bytes")));
        let (source, of_other_key) = (source.to_string(), of_other_key.source.to_string());
        OfKey { name, source, of_other_key, entries: manifest.entries }
    };
    let of_preset = |preset: Preset| {
        preset.modes().iter().map(move |&mode| kernel(format!("{mode}, {preset}"), &|key| preset.spec(mode, key)))
    };
    Preset::ALL.into_iter().flat_map(of_preset).collect()
}

/// Name, source and entry points of a kernel.
type Source = (String, String, Entries);

/// Name, source and entry points of everything stored in OpenCL C.
fn opencl() -> Vec<Source> {
    let of = |StoredKernel { name, source, manifest, .. }| (name, source, manifest.entries);
    let of_hash = |StoredHash { name, source, manifest, .. }| (name, source, manifest.entries);
    let ciphers = kernels::opencl().into_iter().map(of);
    ciphers.chain(kernels::opencl_hashes().into_iter().map(of_hash)).collect()
}

/// Whether a table kernel is found guilty of its lookups, in PTX and in machine code.
fn looks_up(
    kernel: &ToCompile,
    stored: &[StoredKernel],
    ptx: Option<&str>,
    disassembler: Option<&Disassembler>,
) -> Result<()> {
    let StoredKernel { name, manifest, .. } =
        stored.iter().find(|stored| stored.name == kernel.name).context("one of these kernels")?;
    let ptx = ptx.context("table kernels are stored as PTX")?;
    let list = |disassembler: &Disassembler| {
        let compiled = nvrtc::compile(&kernel.file, &kernel.source, Target::Cubin(LISTED))?;
        Ok::<_, anyhow::Error>(disassembler.list(&compiled.image)?)
    };
    let listing = disassembler.map(list).transpose()?;
    for (&entry, point) in &manifest.entries {
        let machine_code = listing.as_ref().map(|listing| in_listing(listing, entry, point, ptx));
        for report in [Some(ptx::check(ptx, &point.name, &secrets(point))), machine_code].into_iter().flatten() {
            let findings = report.map_err(|error| anyhow!(error))?.findings;
            if !findings.iter().any(|finding| finding.what.contains("address")) {
                bail!("`{}` of {name} looks tables up, and was found innocent", point.name);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use aes_bitslice_core::argument::Argument;
    use aes_bitslice_core::entry::Entry;
    use aes_bitslice_core::signature::EntryPoint;
    use std::collections::BTreeSet;

    #[test]
    fn the_stored_ptx_is_constant_time_but_for_tables() {
        run(&files::root(), &Args { ptx: true, arch: vec![], sample: false }).unwrap();
    }

    /// Every entry point of every stored kernel is analysed, or is a table kernel's.
    #[test]
    fn no_entry_point_is_left_out() {
        let folder = kernels::folder(&files::root()).join("cuda");
        let of_table = |name: &str| name.contains("tbox");
        for kernel in kernels::to_compile(&kernels::cuda(), &kernels::cuda_hashes()) {
            assert_eq!(kernel.constant_time.is_none(), of_table(&kernel.name), "{}", kernel.name);
            let entries: Vec<&str> = kernel
                .constant_time
                .iter()
                .flat_map(|entries| entries.values())
                .map(|point| point.name.as_str())
                .collect();
            let Some(target) = kernel.targets.iter().find(|target| matches!(target, Target::Ptx(_))) else { continue };
            let ptx = fs::read_to_string(folder.join(image_file(&kernel.name, *target))).unwrap();
            for name in ptx.split(".entry ").skip(1).map(|text| text.split('(').next().unwrap().trim()) {
                assert!(of_table(&kernel.name) || entries.contains(&name), "`{name}` is not analysed");
            }
        }
        let opencl = opencl();
        let stored = fs::read_dir(folder.with_file_name("opencl")).unwrap().map(|entry| entry.unwrap().path());
        for source in stored.filter(|path| path.extension().is_some_and(|extension| extension == "cl")) {
            let text = fs::read_to_string(&source).unwrap();
            let (_, _, entries) =
                opencl.iter().find(|(_, known, _)| *known == text).expect("a kernel that is analysed");
            let kernels = text.lines().filter_map(|line| line.strip_prefix("KERNEL ")?.split('(').next());
            assert!(kernels.clone().count() > 0, "{}", source.display());
            for name in kernels {
                assert!(entries.values().any(|point| point.name == name), "{}: `{name}`", source.display());
            }
        }
    }

    /// There is no argument that no stored entry point takes.
    #[test]
    fn every_argument_is_taken() {
        let (kernels, opencl) = (kernels::cuda(), kernels::opencl());
        let of_ciphers = kernels.iter().chain(&opencl).map(|kernel| &kernel.manifest.entries);
        let (hashes, opencl) = (kernels::cuda_hashes(), kernels::opencl_hashes());
        let of_hashes = hashes.iter().chain(&opencl).map(|hash| &hash.manifest.entries);
        let of_keys = of_keys();
        let entries = of_ciphers.chain(of_hashes).chain(of_keys.iter().map(|kernel| &kernel.entries));
        let points = entries.flat_map(|entries| entries.values());
        let taken: BTreeSet<Argument> = points.flat_map(|point| &point.parameters).map(|one| one.name).collect();
        assert_eq!(taken, BTreeSet::from(Argument::ALL));
    }

    #[test]
    fn a_skeleton_has_what_branches_and_what_has_an_address() {
        let ptx =
            "\tmov.u32 %r1, 3;\n\t@!%p1 bra $L__BB0_1;\n$L__BB0_1:\n\tst.shared.v2.u32 [%r2], {%r1, %r1};\n\tret;\n";
        assert_eq!(skeleton(ptx), ["bra", "st.shared.v2.u32", "ret"]);
    }

    /// A branch that the kernel has for one of two keys only is a failure, whichever key it is.
    #[test]
    fn a_branch_by_the_key_is_found() {
        let kernels = kernels::cuda();
        let StoredKernel { name, manifest, .. } =
            kernels.iter().find(|kernel| kernel.name == "aes-ctr-planes").unwrap();
        let file = image_file(name, Target::Ptx(kernels::PTX));
        let ptx = fs::read_to_string(kernels::folder(&files::root()).join("cuda").join(file)).unwrap();
        let branching = ptx.replacen("\tst.global", "\tbra NEXT;\nNEXT:\n\tst.global", 1);
        let of = |source: &str, of_other_key: &str| {
            let entries = manifest.entries.clone();
            let [source, of_other_key] = [source, of_other_key].map(String::from);
            of_key(&OfKey { name: name.clone(), source, of_other_key, entries }, |_, ptx| Ok(ptx.into()), None)
        };
        assert!(of(&ptx, &ptx).is_ok() && of(&branching, &branching).is_ok());
        for (one, other) in [(&ptx, &branching), (&branching, &ptx)] {
            assert!(of(one, other).unwrap_err().to_string().contains("depends on the key"));
        }
    }

    #[test]
    fn one_guilty_kernel_among_many_is_a_failure() {
        let innocent = || -> Work { Box::new(|| Ok(vec![])) };
        let mut work: Vec<Work> = (0..100).map(|_| innocent()).collect();
        in_order(&work).unwrap();
        work[50] = Box::new(|| bail!("guilty"));
        assert_eq!(in_order(&work).unwrap_err().to_string(), "guilty");
    }

    /// Each of these, put before the first store of a kernel, is found, and nothing else is.
    #[test]
    fn leaks_of_every_kind_are_found() {
        let root = files::root();
        let kernels = kernels::cuda();
        let kernel = kernels.iter().find(|kernel| kernel.name == "aes-ctr-planes").unwrap();
        let file = kernels::folder(&root).join("cuda").join(image_file(&kernel.name, Target::Ptx(kernels::PTX)));
        let text = fs::read_to_string(file).unwrap();
        let entry = &kernel.manifest.entries[&Entry::Blocks];
        let line = text.lines().find(|line| line.trim().starts_with("st.global.u32")).unwrap();
        let value = line.rsplit_once(' ').unwrap().1.trim_end_matches(';');
        let label = text.lines().find(|line| line.starts_with("$L__BB0_")).unwrap().trim_end_matches(':');
        for (what, leak) in [
            ("predicate", format!("setp.ne.s32 %p1, {value}, 0; @%p1 bra {label};")),
            ("predicate", format!("setp.ne.s32 %p1, {value}, 0; @!%p1 st.global.u32 [%rd22], 1;")),
            ("predicate", format!("setp.ne.s32 %p1, {value}, 0; @%p1 bar.sync 0;")),
            ("address", format!("cvt.u64.u32 %rd1, {value}; ld.shared.u32 %r1, [%rd1];")),
            ("address", format!("cvt.u64.u32 %rd1, {value}; st.shared.u32 [%rd1], 0;")),
            ("address", format!("cvt.u64.u32 %rd1, {value}; add.s64 %rd1, %rd22, %rd1; ld.global.u32 %r1, [%rd1];")),
            ("address", format!("cvt.u64.u32 %rd1, {value}; atom.shared.add.u32 %r1, [%rd1], 1;")),
            ("lane", format!("shfl.sync.idx.b32 %r1, %r2, {value}, 31, -1;")),
            ("lane", format!("shfl.sync.idx.b32 %r1, %r2, 0, 31, {value};")),
            ("time", format!("div.u32 %r1, 7, {value};")),
            ("time", format!("rem.u32 %r1, {value}, 7;")),
            ("barrier", format!("bar.sync {value};")),
            ("rule", format!("madeup.u32 %r1, {value};")),
            // Through memory of every kind, and through a predicate.
            ("address", format!("st.shared.u32 [_ZZ14aes_ctr_planesE4next], {value};")),
            (
                "address",
                format!(
                    "setp.ne.s32 %p1, {value}, 0; selp.b32 %r1, 4, 8, %p1; cvt.u64.u32 %rd1, %r1; ld.shared.u32 %r1, [%rd1];"
                ),
            ),
            (
                "address",
                "ld.param.u32 %r1, [aes_ctr_planes_param_4+236]; cvt.u64.u32 %rd1, %r1; ld.shared.u32 %r1, [%rd1];"
                    .into(),
            ),
        ] {
            let planted = text.replacen(line, &format!("{leak}\n{line}"), 1);
            let report = ptx::check(&planted, &entry.name, &secrets(entry)).unwrap();
            assert!(report.findings.iter().any(|finding| finding.what.contains(what)), "{leak}: {:?}", report.findings);
        }
        // The number of rounds is public, and so is an overwritten value.
        let harmless = format!(
            "mov.u32 {value}, 0; cvt.u64.u32 %rd1, {value}; ld.shared.u32 %r1, [%rd1];
            ld.param.u32 %r1, [aes_ctr_planes_param_4+240]; cvt.u64.u32 %rd1, %r1; ld.shared.u32 %r1, [%rd1];"
        );
        let report = ptx::check(&text.replacen(line, &format!("{harmless}\n{line}"), 1), &entry.name, &secrets(entry));
        assert_eq!(report.unwrap().findings, []);
    }

    /// One message whose counter is secret, and many, whose counters may be.
    #[test]
    fn secret_counters_are_followed() {
        let root = files::root();
        let kernels = kernels::cuda();
        let kernel = kernels.iter().find(|kernel| kernel.name == "aes-ctr-planes").unwrap();
        let file = kernels::folder(&root).join("cuda").join(image_file(&kernel.name, Target::Ptx(kernels::PTX)));
        let text = fs::read_to_string(file).unwrap();
        // Whether the first of these lines load a secret: a shuffle by their value is reported.
        let secret = |entry: &EntryPoint, is_load: &dyn Fn(&str) -> bool| -> Vec<bool> {
            let begin = text.find(&format!(".entry {}(", entry.name)).unwrap();
            let end = begin + text[begin..].find("\n}").unwrap();
            let lines = text[begin..end].lines().filter(|line| is_load(line));
            let is_reported = |line: &str| {
                let at = line.as_ptr() as usize - text.as_ptr() as usize + line.len();
                let value = line.split([' ', '\t', ',']).find(|word| word.starts_with("%r")).unwrap();
                let leak = format!("\nshfl.sync.idx.b32 %r1, %r2, {value}, 31, -1;\n");
                let planted = [&text[..at], &leak, &text[at..]].concat();
                let report = ptx::check(&planted, &entry.name, &secrets(entry)).unwrap();
                report.findings.iter().any(|finding| finding.what.contains("lane"))
            };
            lines.take(4).map(is_reported).collect()
        };
        let of_one = kernel.manifest.entry(Entry::SecretCounter).unwrap();
        let parameter = format!("{}_param_3;", of_one.name);
        let pointer = text.lines().find(|line| line.contains("mov") && line.ends_with(&parameter)).unwrap();
        let pointer = pointer.split([' ', '\t', ',']).find(|word| word.starts_with("%rd")).unwrap();
        let is_load = |line: &str| {
            [']', '+'].iter().any(|end| line.contains("ld.param.u32") && line.contains(&format!("[{pointer}{end}")))
        };
        assert_eq!(secret(of_one, &is_load), [true; 4]);
        // The descriptions of messages are public, except the words that are read as counters, as the data is.
        let of_many = kernel.manifest.entry(Entry::Messages).unwrap();
        let of_data = secret(of_many, &|line| line.contains("ld.global.u32"));
        let of_descriptions = secret(of_many, &|line| line.contains("ld.global.nc.u32"));
        assert!(of_data.len() > 1 && of_data.iter().all(|is_secret| *is_secret), "{of_data:?}");
        assert!(of_descriptions.len() > 1 && !of_descriptions.contains(&true), "{of_descriptions:?}");
    }

    #[test]
    fn opencl_is_cuda_with_another_page() {
        for (name, source, _) in opencl() {
            let text = in_cuda(&source).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            assert!(!text.contains("__NV_CL_C_VERSION") && text.contains("__CUDACC__"), "{name}");
            let branching =
                source.replacen("#define DATA(", "DEVICE u32 f(u32 x) { return x ? 1 : 2; }\n#define DATA(", 1);
            let begin = source.find("// What is read").unwrap();
            let branching =
                format!("{}DEVICE u32 f(u32 x) {{ return x ? 1 : 2; }}\n{}", &source[..begin], &branching[begin..]);
            assert!(in_cuda(&branching).is_err());
            let looping = source.replacen("i < 4; i++", "i < secret; i++", 1);
            assert!(looping != source && in_cuda(&looping).unwrap_err().to_string().contains("a condition"), "{name}");
            let index = format!("#define LOOK_UP(x) table[x]\n{source}");
            assert!(in_cuda(&index).unwrap_err().to_string().contains("an index"), "{name}");
        }
    }
}
