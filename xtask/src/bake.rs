//! A kernel with a key baked in: checked before it is written, and written so that only its owner can read it.

use crate::{files, key};
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::digest;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::BakedStrategy;
use aes_bitslice_gen::check;
use aes_bitslice_gen::emit::{cuda, opencl};
use aes_bitslice_gen::kernel::{Design, KernelSpec, Layers, Plan, Preset};
use aes_bitslice_gen::sbox::Sbox;
use aes_bitslice_nvrtc::{self as nvrtc, Target};
use anyhow::{Context, Result, anyhow, bail};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The modes of kernels with a key baked in.
const BAKED: [Mode; 4] = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr, Mode::CbcDecrypt];

/// The architecture for which registers are looked up.
const ARCH: u32 = 90;

#[derive(clap::Args)]
pub struct Args {
    /// Bake in this key: HEX digits, @FILE of them, or - for standard input; written to target/baked
    #[arg(long, value_name = "HEX|@FILE|-", allow_hyphen_values = true)]
    pub key: Option<String>,
    /// The mode of operation, such as ecb-encrypt or ctr
    #[arg(long, requires = "key", default_value_t = Mode::Ctr, value_parser = baked)]
    pub mode: Mode,
    /// A kernel as a paper describes it: hajihassani-2019 is 32 blocks a thread by state, which come and go through shared
    /// memory, 64 threads a thread block, Canright's S-box, MixColumns as in equation 5, and one-hot multiplexers
    #[arg(long, requires = "key", value_name = "NAME", conflicts_with_all = ["strategy", "sbox", "layout"])]
    pub preset: Option<Preset>,
    /// How the key is baked in: one-hot-mux (rounds in a loop, which fits the instruction cache) or immediate (rounds
    /// unrolled, fewer instructions)
    #[arg(long, requires = "key", default_value_t = BakedStrategy::OneHotMux)]
    pub strategy: BakedStrategy,
    /// The S-box; `cargo xtask circuits` lists them
    #[arg(long, requires = "key", value_name = "NAME", default_value = "lut3")]
    pub sbox: String,
    /// A thread's part of the state: column, or state (all of it, as in the paper; one-hot-mux then picks the round keys
    /// in the loop; the only layout of immediate). In OpenCL, the engine uses state on devices other than NVIDIA's
    /// [default: column, except with immediate]
    #[arg(long, requires = "key")]
    pub layout: Option<Layout>,
    /// The language of the source: cuda, or opencl for OpenCL C 1.2
    #[arg(long, requires = "key", default_value_t = Dialect::Cuda)]
    pub dialect: Dialect,
    /// The folder to write to
    #[arg(long, requires = "key", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace an existing kernel of the same name that differs
    #[arg(long, requires = "key")]
    pub force: bool,
}

/// The mode of this name, in which kernels have their key baked in.
fn baked(name: &str) -> Result<Mode, String> {
    let mode = name.parse().ok().filter(|mode| BAKED.contains(mode));
    mode.ok_or_else(|| format!("a kernel with a key baked in is for one of {}", BAKED.map(Mode::name).join(", ")))
}

/// Bakes, checks, writes and reports; returns the path of the manifest.
pub fn run(root: &Path, args: Args) -> Result<PathBuf> {
    let key_option = Zeroizing::new(args.key.unwrap_or_default());
    let sbox = Sbox::named(&args.sbox)?;
    if let Some(preset) = args.preset.filter(|preset| !preset.modes().contains(&args.mode)) {
        let modes: Vec<&str> = preset.modes().iter().map(|mode| mode.name()).collect();
        bail!("`{preset}` has no mode `{}`: take {}", args.mode, modes.join(", "));
    }
    let key = key::read(&key_option)?;
    let folder = args.out.unwrap_or_else(|| files::target(root).join("baked"));

    let spec = match args.preset {
        Some(preset) => preset.baked(args.mode, &key),
        None => KernelSpec::baked(args.mode, sbox, args.strategy, &key),
    };
    let spec = spec.ok_or_else(|| anyhow!("a key has 16, 24 or 32 bytes"))?;
    let spec = match args.layout {
        Some(layout) => spec.with_layout(layout)?,
        None => spec,
    };
    let plan = Plan::new(&spec);
    let name = spec.name();
    let mut command = format!("cargo xtask gen --key @FILE --mode {}", args.mode);
    command += &match args.preset {
        Some(preset) => format!(" --preset {preset}"),
        None => format!(" --strategy {} --sbox {} --layout {}", args.strategy, sbox.name, spec.layout),
    };
    if args.dialect != Dialect::Cuda {
        command += &format!(" --dialect {}", args.dialect);
    }
    let design = Design::from(spec.clone());
    check::evaluate(&plan, &key)?;
    // A C compiler reads CUDA C; OpenCL C is the same text except for the dialect's page.
    let in_cuda = cuda::print(&design, &command)?;
    let ran = check::printed(&in_cuda.source, &in_cuda.manifest, &key)?;
    let Printed { source, mut manifest } = match args.dialect {
        Dialect::Cuda => in_cuda,
        Dialect::OpenCl => opencl::print(&design, &command)?,
    };

    let file = manifest.source.clone();
    let registers = match args.dialect {
        Dialect::Cuda => registers(&source, &mut manifest)?,
        Dialect::OpenCl => "not known: the device's driver compiles it".into(),
    };
    let json = manifest.to_json();
    let manifest_file = format!("{name}.json");
    let manifest_path = folder.join(&manifest_file);
    if !args.force {
        keep_another(&folder.join(&file), |old| old == source.as_bytes())?;
        keep_another(&manifest_path, |old| is_of(old, &manifest))?;
    }
    let replaced = other_source(&manifest_path, &file);
    files::write_all(&folder, &[(&file, source.as_bytes()), (&manifest_file, json.as_bytes())], true)?;
    if let Some(replaced) = &replaced {
        fs::remove_file(replaced).with_context(|| format!("cannot delete `{}`", replaced.display()))?;
    }

    let counts = &manifest.bitsliced.as_ref().context("a bitsliced kernel")?.lut3;
    let rounds = plan.rounds().unwrap_or_default();
    say!("file       {} (mode 0600: it is the key)", folder.join(&file).display());
    say!("manifest   {}", manifest_path.display());
    say!(
        "kernel     {}, layout {}: {} threads work on {} blocks at a time",
        manifest.entry.name,
        spec.layout,
        manifest.threads,
        manifest.tile_blocks
    );
    let gates = match spec.layers {
        Layers::Fewest => "LUT3s      ",
        Layers::Published => "gates      ",
    };
    say!(
        "{gates}{} an S-box ({}), {} a column of MixColumns with its key; {} in {rounds} rounds",
        counts.sub_byte,
        spec.sbox.name,
        counts.mix_column,
        plan.gates_executed(rounds)
    );
    say!("registers  {registers}");
    let printed = match args.dialect {
        Dialect::Cuda => "printed C",
        Dialect::OpenCl => "the same in CUDA C",
    };
    let ran = if ran { "compiled and run" } else { "not run, for lack of a C compiler" };
    say!("checked    circuit evaluated against FIPS 197; {printed} {ran}");
    Ok(manifest_path)
}

/// Compiles a kernel, puts its registers into the manifest, and describes them.
fn registers(source: &str, manifest: &mut Manifest) -> Result<String> {
    match nvrtc::compile(&manifest.source, source, Target::Cubin(ARCH)) {
        Ok(compiled) => {
            drop(Zeroizing::new(compiled.image));
            let of = |e: &nvrtc::EntryReport| (format!("{} sm_{ARCH}", e.name), e.registers);
            manifest.registers = compiled.entries.iter().map(of).collect();
            let all: Vec<String> = compiled.entries.iter().map(|e| format!("{} {}", e.name, e.registers)).collect();
            Ok(format!("on sm_{ARCH}: {}", all.join(", ")))
        }
        Err(nvrtc::Error::NotFound) => Ok("not known: there is no NVRTC on this machine".into()),
        // The compiler's log quotes the source, and the source contains the key.
        Err(nvrtc::Error::Rejected { .. }) => {
            Err(anyhow!("NVRTC does not compile the kernel (its log is withheld: it may quote the key)"))
        }
        Err(error) => Err(error).context("NVRTC"),
    }
}

/// Refuses to replace a file of a kernel that is not the `same`: its name does not identify the key, and it may be the only
/// copy of one.
fn keep_another(path: &Path, same: impl FnOnce(&[u8]) -> bool) -> Result<()> {
    match fs::read(path).map(Zeroizing::new) {
        Ok(old) if same(&old) => Ok(()),
        Ok(_) => bail!(
            "`{}` is another kernel, perhaps of another key or in another dialect; give another folder with --out, or --force to \
             replace it",
            path.display()
        ),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot write `{}`", path.display())),
    }
}

/// The source of the kernel whose manifest is about to be replaced, if it has another name than the new one, `file`: without its manifest it
/// would stay as a key that nothing tells of.
fn other_source(manifest: &Path, file: &str) -> Option<PathBuf> {
    let old = Zeroizing::new(fs::read_to_string(manifest).ok()?);
    let old = Manifest::parse(&old).ok().filter(|old| old.source != file)?;
    let source = manifest.with_file_name(&old.source);
    let text = Zeroizing::new(fs::read_to_string(&source).ok()?);
    (digest::of_text(&text) == old.source_sha256).then_some(source)
}

/// Whether `json` is a manifest of the same kernel. Sources of both dialects share one name for it. Registers are known only
/// where there is NVRTC.
fn is_of(json: &[u8], manifest: &Manifest) -> bool {
    let old = std::str::from_utf8(json).ok().and_then(|json| Manifest::parse(json).ok());
    old.is_some_and(|old| Manifest { registers: manifest.registers.clone(), ..old } == *manifest)
}
