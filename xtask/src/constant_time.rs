//! That the kernels called constant-time are: what is secret is followed through PTX, machine code and OpenCL C.
//!
//! | code | how |
//! |---|---|
//! | the stored PTX, and that of kernels stored as machine code only | [`aes_bitslice_taint::ptx`] |
//! | the stored machine code, and here or in `ptx --check` that of every architecture compiled for | [`aes_bitslice_taint::sass`] |
//! | the stored OpenCL C | its page of words must hold no condition and no index; the rest is CUDA C with another page in front, compiled to PTX |
//!
//! Secret are the words of keys, the factor and the addend of a hash, and all that is read from device memory but for what describes messages.
//! Public are pointers, numbers (of data units, too), IVs and counters, the number of rounds, and, where a decryption ends, whether the tag
//! fits. The tool proves its sight on every entry point: with a look-up at what the kernel
//! writes planted in the text, the same entry point must be found guilty; and so must every kernel that looks tables up.

use crate::kernels::{self, StoredHash, StoredKernel, ToCompile, image_file};
use crate::sass::Disassembler;
use aes_bitslice_core::signature::{EntryPoint, Kind};
use aes_bitslice_gen::emit::cuda;
use aes_bitslice_nvrtc::{self as nvrtc, Target};
use aes_bitslice_taint::{Report, Secrets, ptx, sass};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::fs;
use std::path::Path;

/// The first architecture whose machine code is analysed. Before it, a warp's next tile goes by a shuffle from lane 0, and the compiler leaves
/// what was there before in the register of all other lanes: that nobody sees it takes more than to know what is secret.
pub const FIRST_MACHINE_CODE: u32 = 80;

#[derive(clap::Args)]
pub struct Args {
    /// Only the stored PTX, which takes neither NVRTC nor a disassembler
    #[arg(long)]
    ptx: bool,
    /// Compile for these architectures, too, as sm_80,sm_100; machine code is analysed from sm_80 on
    #[arg(long, value_delimiter = ',', value_parser = crate::images::architecture, conflicts_with = "ptx")]
    arch: Vec<u32>,
}

/// The buffers that hold nothing secret: where messages and jobs lie, which counters and additional data they have, and in which order they
/// go.
const TABLES: [&str; 4] = ["messages", "jobs", "runs", "order"];

/// What is secret of what an entry point takes. Words of a name that is not known are.
pub fn secrets(entry: &EntryPoint) -> Secrets {
    entry.parameters.iter().fold(Secrets::default(), |secrets, parameter| {
        let bytes = parameter.kind.cuda_bytes();
        if parameter.kind == Kind::Buffer && TABLES.contains(&parameter.name.as_str()) {
            return secrets.table();
        }
        let secret = match (parameter.kind, parameter.name.as_str()) {
            (Kind::Words(_), "iv" | "counter" | "first_unit") => 0..0,
            // The last word is the number of rounds.
            (Kind::Words(words), "keys" | "tweak_keys") => 0..4 * (words - 1),
            (Kind::Words(words), _) => 0..4 * words,
            _ => 0..0,
        };
        secrets.parameter(bytes, secret)
    })
}

/// Whether an entry point ends a decryption: it may branch by whether the tag fits, which the caller is told.
fn gives_a_verdict(entry: &EntryPoint) -> bool {
    entry.name.ends_with("_clear")
}

/// Follows the secrets of these entry points through PTX.
fn intermediate(text: &str, entries: &[EntryPoint]) -> Result<Vec<Report>> {
    judge(text, entries, &mut |text, entry| ptx::check(text, &entry.name, &secrets(entry)), in_ptx)
}

/// Follows the secrets of these entry points through machine code, by its listing. `ptx` is what the same kernel is in PTX; empty where
/// it has none.
///
/// # Errors
/// What depends on a secret.
pub fn machine_code(listing: &str, entries: &[EntryPoint], ptx: &str) -> Result<Vec<Report>> {
    let check = &mut |text: &str, entry: &EntryPoint| {
        // Hashes have no counter in shared memory, and two functions with variables there.
        let is_hash = gives_a_verdict(entry) || entry.parameters.iter().any(|parameter| parameter.name == "tables");
        let shared = if ptx.is_empty() || is_hash { vec![] } else { ptx::shared(ptx, &entry.name)? };
        sass::check(text, &entry.name, &secrets(entry), &shared)
    };
    judge(listing, entries, check, in_machine_code)
}

/// Whether each entry point is innocent, and no longer with something planted.
fn judge(
    text: &str,
    entries: &[EntryPoint],
    check: &mut dyn FnMut(&str, &EntryPoint) -> Result<Report, String>,
    plant: fn(&str) -> Option<String>,
) -> Result<Vec<Report>> {
    let planted = text.lines().map(|line| plant(line).unwrap_or_default() + line + "\n").collect::<String>();
    let one = |entry| {
        let mut report = check(text, entry).map_err(|error| anyhow!(error))?;
        if gives_a_verdict(entry) {
            let goes_on = |text: &str| {
                ["bra", "ret", "exit", "BRA", "EXIT"].iter().any(|opcode| text.contains(&format!(" {opcode}")))
            };
            let before = report.findings.len();
            report
                .findings
                .retain(|finding| !(finding.what == "its predicate is secret" && goes_on(&finding.instruction)));
            ensure!(
                before > report.findings.len(),
                "`{}` does not branch by its verdict: the analysis lost it",
                entry.name
            );
            ensure!(
                report.findings.is_empty(),
                "`{}` depends on more than its verdict: {}",
                entry.name,
                report.findings[0]
            );
            return Ok(report);
        }
        let listed: Vec<String> = report.findings.iter().take(5).map(|finding| format!("\n  {finding}")).collect();
        let (name, all) = (&entry.name, report.findings.len());
        ensure!(listed.is_empty(), "`{name}` is not constant-time, in {all} places:{}", listed.concat());
        ensure!(report.secret_stores > 0, "`{name}` writes nothing that is secret: the analysis lost it on the way");
        let guilty = check(&planted, entry).map_err(|error| anyhow!(error))?;
        ensure!(!guilty.findings.is_empty(), "what was planted in `{name}` was not found");
        Ok(report)
    };
    entries.iter().map(one).collect()
}

/// In front of a line that writes something: a look-up at what it writes.
fn in_ptx(line: &str) -> Option<String> {
    let line = line.trim();
    ["st.global", "atom.global", "red.global"].iter().find(|&&opcode| line.starts_with(opcode))?;
    let value = line.rsplit_once(']')?.1.trim_start_matches([',', ' ', '{']).split([',', ';', '}']).next()?.trim();
    // As a lane, of 32 bits or fewer alike.
    value.starts_with('%').then(|| format!("shfl.sync.idx.b32 {value}, {value}, {value}, 31, -1;\n"))
}

fn in_machine_code(line: &str) -> Option<String> {
    let instruction = line.trim();
    let opcode = ["STG.", "REDG.", "RED.", "ATOMG."].iter().any(|opcode| instruction.contains(opcode));
    let register = instruction.rsplit_once(", ")?.1.split([' ', '.', ';']).next()?;
    (opcode && register.starts_with('R') && register != "RZ")
        .then(|| format!("/*fff0*/ LDS {register}, [{register}] ;\n"))
}

/// A kernel in OpenCL C: without its page of words, and with CUDA's instead.
fn in_cuda(source: &str) -> Result<String> {
    let begin = "// What is read and what is written.";
    let (page, body) = source.split_once(begin).context("the page of the dialect has no end")?;
    for line in page.lines() {
        let code = line.split("//").next().unwrap_or(line);
        let words = code.split(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
        let is_directive = code.trim_start().starts_with("#if") || code.trim_start().starts_with("#e");
        let decides =
            words.clone().any(|word| ["if", "while", "switch", "goto", "do"].contains(&word)) || code.contains('?');
        ensure!(is_directive || !decides, "a condition in the page of OpenCL's words: `{line}`");
        // What is in brackets is the size of an array, which has a name in capitals, or an index.
        let is_size = |inside: &str| {
            inside.split(']').next().is_some_and(|size| !size.contains(|sign: char| sign.is_ascii_lowercase()))
        };
        ensure!(code.split('[').skip(1).all(is_size), "an index in the page of OpenCL's words: `{line}`");
    }
    // What stands above the page: sizes.
    let sizes: Vec<&str> = page.lines().take_while(|line| !line.starts_with("// ---")).collect();
    let cuda = cuda::prelude();
    let common = cuda.find(begin).context("the page of the dialect has no end")?;
    // Without shuffles, as on devices of others; with them, it is the text that is stored for CUDA.
    Ok(format!("#define SHUFFLES 0\n{}\n{}{begin}{body}", sizes.join("\n"), &cuda[..common]))
}

/// What is analysed, as a line of the table.
fn say_reports(kernel: &str, code: &str, reports: &[Report]) {
    let sum = |count: fn(&Report) -> usize| reports.iter().map(count).sum::<usize>();
    let (all, secret) = (sum(|report| report.instructions), sum(|report| report.secret));
    say!("{kernel:40}  {code:12}  {all:>8}  {secret:>8}");
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let folder = kernels::folder(root).join("cuda");
    let (stored, hashes) = (kernels::cuda(), kernels::cuda_hashes());
    let stored_ptx = |kernel: &ToCompile| -> Result<Option<String>> {
        let target = kernel.targets.iter().copied().find(|target| matches!(target, Target::Ptx(_)));
        let read = |target| fs::read_to_string(folder.join(image_file(&kernel.name, target)));
        target.map(|target| read(target).with_context(|| format!("the PTX of {}", kernel.name))).transpose()
    };
    say!("{:40}  {:12}  {:>8}  {:>8}", "kernel", "code", "all", "secret");
    for kernel in kernels::to_compile(&stored, &hashes) {
        let ptx = stored_ptx(&kernel)?;
        let Some(entries) = &kernel.constant_time else {
            looks_up(&kernel, &stored, ptx.as_deref())?;
            continue;
        };
        if let Some(ptx) = &ptx {
            say_reports(&kernel.name, "PTX", &intermediate(ptx, entries).with_context(|| kernel.name.clone())?);
        }
        if args.ptx {
            continue;
        }
        let disassembler = Disassembler::find()?;
        let listed = |image: &[u8], name: String| -> Result<()> {
            let reports = machine_code(&disassembler.list(image)?, entries, ptx.as_deref().unwrap_or_default());
            say_reports(&kernel.name, &name, &reports.with_context(|| format!("{} for {name}", kernel.name))?);
            Ok(())
        };
        if ptx.is_none() {
            // What is stored as machine code only, for an architecture by its own name.
            for &target in &kernel.targets {
                let Target::SpecificCubin(arch) = target else { continue };
                let compiled = nvrtc::compile(&kernel.file, &kernel.source, Target::SpecificPtx(arch))?;
                let reports = intermediate(str::from_utf8(&compiled.image)?, entries);
                say_reports(&kernel.name, "PTX", &reports.with_context(|| kernel.name.clone())?);
            }
        }
        for &target in kernel.targets.iter().filter(|target| !matches!(target, Target::Ptx(_))) {
            listed(&fs::read(folder.join(image_file(&kernel.name, target)))?, target.name())?;
        }
        for &arch in args.arch.iter().filter(|&&arch| arch >= FIRST_MACHINE_CODE && (kernel.capable)(arch)) {
            let target = Target::Cubin(arch);
            listed(&nvrtc::compile(&kernel.file, &kernel.source, target)?.image, target.name())?;
        }
    }
    if args.ptx {
        return Ok(());
    }
    for (name, source, entries) in opencl() {
        let source = in_cuda(&source).with_context(|| name.clone())?;
        let compiled = nvrtc::compile(&name, &source, Target::Ptx(kernels::PTX)).with_context(|| name.clone())?;
        let reports = intermediate(str::from_utf8(&compiled.image)?, &entries);
        say_reports(&name, "OpenCL C", &reports.with_context(|| format!("{name} in OpenCL C"))?);
    }
    Ok(())
}

/// Name, source and entry points of what is stored in OpenCL C.
fn opencl() -> Vec<(String, String, Vec<EntryPoint>)> {
    let of = |StoredKernel { name, source, manifest, .. }| (name, source, vec![manifest.entry, manifest.entry_bytes]);
    let of_hash = |StoredHash { name, source, manifest, .. }| {
        (name, source, manifest.entries().into_iter().map(|(_, entry)| entry.clone()).collect())
    };
    let ciphers = kernels::opencl().into_iter().map(of);
    ciphers.chain(kernels::opencl_hashes().into_iter().map(of_hash)).collect()
}

/// Whether a kernel that looks tables up is found guilty of it.
fn looks_up(kernel: &ToCompile, stored: &[StoredKernel], ptx: Option<&str>) -> Result<()> {
    let StoredKernel { name, manifest, .. } =
        stored.iter().find(|stored| stored.name == kernel.name).context("one of these kernels")?;
    let ptx = ptx.context("table kernels are stored as PTX")?;
    for entry in [&manifest.entry, &manifest.entry_bytes] {
        let report = ptx::check(ptx, &entry.name, &secrets(entry)).map_err(|error| anyhow!(error))?;
        if !report.findings.iter().any(|finding| finding.what.contains("address")) {
            bail!("`{}` of {name} looks tables up, and was found innocent", entry.name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;

    #[test]
    fn the_stored_ptx_is_constant_time_but_for_tables() {
        run(&files::root(), &Args { ptx: true, arch: vec![] }).unwrap();
    }

    /// Each of these, put in front of the first store of a kernel, is found, and nothing else is.
    #[test]
    fn leaks_of_every_kind_are_found() {
        let root = files::root();
        let kernels = kernels::cuda();
        let kernel = kernels.iter().find(|kernel| kernel.name == "aes-ctr-planes").unwrap();
        let file = kernels::folder(&root).join("cuda").join(image_file(&kernel.name, Target::Ptx(kernels::PTX)));
        let text = fs::read_to_string(file).unwrap();
        let entry = &kernel.manifest.entry;
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
            // By way of memory of every kind, and of a predicate.
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
        // The number of rounds is public, and so is what was written over.
        let harmless = format!(
            "mov.u32 {value}, 0; cvt.u64.u32 %rd1, {value}; ld.shared.u32 %r1, [%rd1];
            ld.param.u32 %r1, [aes_ctr_planes_param_4+240]; cvt.u64.u32 %rd1, %r1; ld.shared.u32 %r1, [%rd1];"
        );
        let report = ptx::check(&text.replacen(line, &format!("{harmless}\n{line}"), 1), &entry.name, &secrets(entry));
        assert_eq!(report.unwrap().findings, []);
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
            let index = format!("#define LOOK_UP(x) table[x]\n{source}");
            assert!(in_cuda(&index).unwrap_err().to_string().contains("an index"), "{name}");
        }
    }
}
