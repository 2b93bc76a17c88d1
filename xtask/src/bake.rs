//! A kernel with a key baked in: checked before it is written, and written so that only its owner can read it.

use crate::{files, key};
use aes_bitslice_gen::check;
use aes_bitslice_gen::emit::cuda::{self, Printed};
use aes_bitslice_gen::kernel::{BakedStrategy, KernelSpec, Mode, Plan};
use aes_bitslice_gen::layout::Layout;
use aes_bitslice_gen::sbox::Sbox;
use aes_bitslice_nvrtc::{self as nvrtc, Target};
use anyhow::{Context, Result, anyhow, bail};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The architecture that registers are looked up for.
const ARCH: u32 = 90;

#[derive(clap::Args)]
pub struct Args {
    /// Bake in this key: HEX digits, @FILE of them, or - for standard input; written to target/baked
    #[arg(long, value_name = "HEX|@FILE|-", allow_hyphen_values = true)]
    pub key: Option<String>,
    /// The mode: ecb-encrypt, ecb-decrypt, ctr or cbc-decrypt
    #[arg(long, requires = "key", default_value_t = Mode::Ctr)]
    pub mode: Mode,
    /// Where the kernel has its key: one-hot-mux (rounds in a loop, which fits the instruction cache) or immediate (rounds
    /// unrolled, fewer instructions)
    #[arg(long, requires = "key", default_value_t = BakedStrategy::OneHotMux)]
    pub strategy: BakedStrategy,
    /// The S-box; `cargo xtask circuits` lists them
    #[arg(long, requires = "key", value_name = "NAME", default_value = "lut3")]
    pub sbox: String,
    /// What a thread holds: column, or state (all of it, as the paper has it; one-hot-mux then picks the round keys in the
    /// loop, and immediate knows no other) [default: column, but for immediate]
    #[arg(long, requires = "key")]
    pub layout: Option<Layout>,
    /// The folder to write to
    #[arg(long, requires = "key", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace a kernel of the same name that is another
    #[arg(long, requires = "key")]
    pub force: bool,
}

/// Bakes, checks, writes and tells; returns where the manifest is.
pub fn run(root: &Path, args: Args) -> Result<PathBuf> {
    let key_option = Zeroizing::new(args.key.unwrap_or_default());
    let sbox = Sbox::named(&args.sbox)?;
    let key = key::read(&key_option)?;
    let folder = args.out.unwrap_or_else(|| files::target(root).join("baked"));

    let spec = KernelSpec::baked(args.mode, sbox, args.strategy, &key)
        .ok_or_else(|| anyhow!("a key has 16, 24 or 32 bytes"))?;
    let spec = match args.layout {
        Some(layout) => spec.with_layout(layout)?,
        None => spec,
    };
    let plan = Plan::new(&spec);
    let name = spec.name();
    let command = format!(
        "cargo xtask gen --key @FILE --mode {} --strategy {} --sbox {} --layout {}",
        args.mode, args.strategy, sbox.name, spec.layout
    );
    let Printed { source, mut manifest } = cuda::print(&spec.clone().into(), &command);
    check::evaluate(&plan, &key)?;
    let ran = check::printed(&source, &manifest, &key)?;

    let file = manifest.source.clone();
    let registers = match nvrtc::compile(&file, &source, Target::Cubin(ARCH)) {
        Ok(compiled) => {
            drop(Zeroizing::new(compiled.image));
            let of = |e: &nvrtc::EntryReport| (format!("{} sm_{ARCH}", e.name), e.registers);
            manifest.registers = compiled.entries.iter().map(of).collect();
            let all: Vec<String> = compiled.entries.iter().map(|e| format!("{} {}", e.name, e.registers)).collect();
            format!("on sm_{ARCH}: {}", all.join(", "))
        }
        Err(nvrtc::Error::NotFound) => "not known: there is no NVRTC on this machine".into(),
        // The compiler's log quotes the source, and the source is the key.
        Err(nvrtc::Error::Rejected { .. }) => {
            return Err(anyhow!("NVRTC does not compile the kernel (its log is withheld: it may quote the key)"));
        }
        Err(error) => return Err(error).context("NVRTC"),
    };
    let json = manifest.to_json();
    if !args.force {
        keep_another(&folder.join(&file), &source)?;
    }
    files::write_all(&folder, &[(&file, source.as_bytes()), (&format!("{name}.json"), json.as_bytes())], true)?;

    let counts = &manifest.bitsliced.as_ref().context("a bitsliced kernel")?.lut3;
    let rounds = plan.rounds().unwrap_or_default();
    say!("file       {} (mode 0600: whoever reads it has the key)", folder.join(&file).display());
    say!("manifest   {}", folder.join(format!("{name}.json")).display());
    say!(
        "kernel     {}, layout {}: {} threads work on {} blocks at a time",
        manifest.entry,
        spec.layout,
        manifest.threads,
        manifest.blocks
    );
    say!(
        "LUT3s      {} an S-box ({}), {} a column of MixColumns with its key; {} in {rounds} rounds",
        counts.sub_byte,
        sbox.name,
        counts.mix_column,
        plan.gates_executed(rounds)
    );
    say!("registers  {registers}");
    let ran = if ran { "compiled and run" } else { "not run, for lack of a C compiler" };
    say!("checked    circuit evaluated against FIPS 197; printed C {ran}");
    Ok(folder.join(format!("{name}.json")))
}

/// Refuses to replace a kernel that is not `source`: its name does not tell of which key it is, and it may be the only
/// copy of one.
fn keep_another(path: &Path, source: &str) -> Result<()> {
    match fs::read(path).map(Zeroizing::new) {
        Ok(old) if old.as_slice() == source.as_bytes() => Ok(()),
        Ok(_) => bail!(
            "`{}` is another kernel, perhaps of another key; give another folder with --out, or --force to replace it",
            path.display()
        ),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot write `{}`", path.display())),
    }
}
