//! Kernels of a design, with a key baked in unless the design takes one at launch: checked before they are written; one with a key so that
//! only its owner can read it.

use crate::{files, key};
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check;
use aes_bitslice_gen::emit::{cuda, opencl};
use aes_bitslice_gen::kernel::{Design, KernelSpec, Layers, Plan, Preset};
use aes_bitslice_gen::sbox::Sbox;
use aes_bitslice_gen::stored;
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

/// The modes that are written if none is named.
const ECB_AND_CTR: [Mode; 3] = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr];

#[derive(clap::Args)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("kernel").args(["key", "preset"]).multiple(true))]
pub struct Args {
    /// Bake in this key: HEX digits, @FILE of them, or - for standard input; written to target/baked
    #[arg(long, value_name = "HEX|@FILE|-", allow_hyphen_values = true)]
    pub key: Option<String>,
    /// The design [default: hajihassani-2019]
    ///
    /// hajihassani-2019, from the paper of that name: the state of 32 blocks a thread as bit-planes, which come and go through shared
    /// memory, 64 threads a thread block, Canright's S-box in two-input gates, ShiftRows by renaming, one-hot multiplexers of round keys.
    /// hajihassani-2019-all-keys: that design with the first and the last round key in the multiplexer, in one generic round.
    /// hajihassani-2019-fetched: that design with round keys fetched from device memory round by round; no key is baked in, so --key is
    /// left out, and the kernel is written to target/kernels. fast: a searched S-box, a column of 32 blocks a thread, round keys selected
    /// once.
    #[arg(long, value_name = "NAME", requires_ifs = NEED_A_KEY)]
    pub preset: Option<Preset>,
    /// The mode of operation, such as ecb-encrypt or ctr [default: ecb-encrypt, ecb-decrypt and ctr, a kernel each]
    #[arg(long, requires = "kernel", value_parser = baked)]
    pub mode: Option<Mode>,
    /// The S-box instead of the preset's; `cargo xtask circuits` lists them
    #[arg(long, requires = "kernel", value_name = "NAME")]
    pub sbox: Option<String>,
    /// With --preset fast, a thread's part of the state: column, or state (all of it, with round keys picked in the loop). In OpenCL, the
    /// engine uses state on devices other than NVIDIA's [default: column]
    #[arg(long, requires = "kernel")]
    pub layout: Option<Layout>,
    /// The language of the source: cuda, or opencl for OpenCL C 1.2
    #[arg(long, requires = "kernel", default_value_t = Dialect::Cuda)]
    pub dialect: Dialect,
    /// The folder to write to
    #[arg(long, requires = "kernel", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace an existing kernel of the same name that differs
    #[arg(long, requires = "kernel")]
    pub force: bool,
}

/// The presets that have a key in their code.
const NEED_A_KEY: [(&str, &str); 3] =
    [("hajihassani-2019", "key"), ("hajihassani-2019-all-keys", "key"), ("fast", "key")];

/// The mode of this name, in which kernels have their key baked in.
fn baked(name: &str) -> Result<Mode, String> {
    let mode = name.parse().ok().filter(|mode| BAKED.contains(mode));
    mode.ok_or_else(|| format!("a kernel with a key baked in is for one of {}", BAKED.map(Mode::name).join(", ")))
}

/// A kernel that was checked, and how.
struct Kernel {
    plan: Plan,
    printed: Printed,
    /// The file of its manifest.
    manifest_file: String,
    registers: String,
    /// Whether the printed C was run.
    ran: bool,
}

/// Makes a kernel for each mode, checks, writes and reports them; returns the paths of the manifests.
pub fn run(root: &Path, args: Args) -> Result<Vec<PathBuf>> {
    let preset = args.preset.unwrap_or_default();
    let key = match (args.key, preset.bakes()) {
        (Some(key), true) => Some(key::read(&Zeroizing::new(key))?),
        (Some(_), false) => {
            bail!("no key is baked in with --preset {preset}, which takes one at launch: leave out --key")
        }
        (None, _) => None,
    };
    let sbox = args.sbox.as_deref().map(Sbox::named).transpose()?;
    let modes = args.mode.map_or(ECB_AND_CTR.to_vec(), |mode| vec![mode]);
    let secret = key.is_some();
    let folder = args.out.unwrap_or_else(|| files::target(root).join(if secret { "baked" } else { "kernels" }));

    let kernel = |mode| {
        // Any key will do for a check where none is baked in.
        let key = key.as_ref().map_or(&stored::PUBLISHED_KEY[..], |key| key);
        let design = Designed::new(preset, mode, key)?.changed(sbox, args.layout)?;
        design.kernel(args.dialect, key)
    };
    let kernels: Vec<Kernel> = modes.into_iter().map(kernel).collect::<Result<_>>()?;
    let files = |kernel: &Kernel| [folder.join(&kernel.printed.manifest.source), folder.join(&kernel.manifest_file)];
    if !args.force {
        for kernel in &kernels {
            let [source, manifest] = files(kernel);
            keep_another(&source, |old| old == kernel.printed.source.as_bytes())?;
            keep_another(&manifest, |old| is_of(old, &kernel.printed.manifest))?;
        }
    }
    let manifests: Vec<String> = kernels.iter().map(|kernel| kernel.printed.manifest.to_json()).collect();
    let contents = kernels.iter().zip(&manifests).flat_map(|(kernel, json)| {
        let Printed { source, manifest } = &kernel.printed;
        [(&*manifest.source, source.as_bytes()), (&*kernel.manifest_file, json.as_bytes())]
    });
    files::write_all(&folder, &contents.collect::<Vec<_>>(), secret)?;
    kernels.iter().enumerate().try_for_each(|(i, kernel)| {
        if i > 0 {
            say!();
        }
        report(kernel, files(kernel), args.dialect)
    })?;
    Ok(kernels.iter().map(|kernel| folder.join(&kernel.manifest_file)).collect())
}

/// A design, and what names it.
struct Designed {
    preset: Preset,
    spec: KernelSpec,
    /// What differs from the preset, as options, and as the end of a file's name.
    options: String,
    suffix: String,
}

impl Designed {
    fn new(preset: Preset, mode: Mode, key: &[u8]) -> Result<Self> {
        if !preset.modes().contains(&mode) {
            let modes: Vec<&str> = preset.modes().iter().map(|mode| mode.name()).collect();
            bail!("`{preset}` has no mode `{mode}`: take {}, or --preset {}", modes.join(", "), Preset::Fast);
        }
        let spec = preset.spec(mode, key).context("a key has 16, 24 or 32 bytes")?;
        Ok(Self { preset, spec, options: String::new(), suffix: String::new() })
    }

    /// With the parts that were asked for instead of the preset's.
    fn changed(mut self, sbox: Option<&'static Sbox>, layout: Option<Layout>) -> Result<Self> {
        let (preset, mode) = (self.preset, self.spec.mode);
        let is_published = self.spec.layers == Layers::Published;
        if let Some(layout) = layout.filter(|&layout| self.spec.layout != layout) {
            if is_published {
                bail!("`{preset}` has no --layout {layout}: add --preset {}", Preset::Fast);
            }
            self.spec = self.spec.with_layout(layout)?;
            self.differs("layout", layout.name());
        }
        if let Some(sbox) = sbox.filter(|sbox| sbox.name != self.spec.sbox.name) {
            if is_published && sbox.circuit(mode.direction()).stats().by_arity[3] > 0 {
                let (name, fast) = (sbox.name, Preset::Fast);
                bail!("`{preset}` is of two-input gates, and the S-box `{name}` of LUT3s: add --preset {fast}");
            }
            self.spec = self.spec.with_sbox(sbox);
            self.differs("sbox", sbox.name);
        }
        Ok(self)
    }

    fn differs(&mut self, option: &str, value: &str) {
        self.options += &format!(" --{option} {value}");
        self.suffix += &format!("-{value}");
    }

    /// Prints, checks and names the kernel.
    fn kernel(&self, dialect: Dialect, key: &[u8]) -> Result<Kernel> {
        let Self { preset, spec, options, suffix } = self;
        let mut command = String::from("cargo xtask gen");
        if preset.bakes() {
            command += " --key @FILE";
        }
        if *preset != Preset::default() {
            command += &format!(" --preset {preset}");
        }
        command += &format!(" --mode {}{options}", spec.mode);
        let mut stem = preset.file_stem(spec.mode, spec.key_bits()) + suffix;
        if dialect != Dialect::Cuda {
            command += &format!(" --dialect {dialect}");
            stem += &format!("-{dialect}");
        }
        let (plan, design) = (Plan::new(spec), Design::from(spec.clone()));
        check::evaluate(&plan, key)?;
        // A C compiler reads CUDA C; OpenCL C is the same text except for the dialect's page.
        let in_cuda = cuda::print(&design, &command)?;
        let ran = check::printed(&in_cuda.source, &in_cuda.manifest, key)?;
        let mut printed = match dialect {
            Dialect::Cuda => in_cuda,
            Dialect::OpenCl => opencl::print(&design, &command)?,
        };
        printed.manifest.source = format!("{stem}.{}", dialect.extension());
        let registers = match dialect {
            Dialect::Cuda => registers(&printed.source, &mut printed.manifest)?,
            Dialect::OpenCl => "not known: the device's driver compiles it".into(),
        };
        Ok(Kernel { plan, printed, manifest_file: format!("{stem}.json"), registers, ran })
    }
}

fn report(kernel: &Kernel, [source, path]: [PathBuf; 2], dialect: Dialect) -> Result<()> {
    let Kernel { plan, printed: Printed { manifest, .. }, registers, ran, .. } = kernel;
    let bitsliced = manifest.bitsliced.as_ref().context("a bitsliced kernel")?;
    let (unit, counts) = bitsliced.gates().context("a kernel with gates")?;
    let is_key = if manifest.secret { " (mode 0600: it is the key)" } else { "" };
    say!("file       {}{is_key}", source.display());
    say!("manifest   {}", path.display());
    say!(
        "kernel     {}, layout {}: {} threads work on {} blocks at a time",
        manifest.entries[&Entry::Blocks].name,
        bitsliced.layout,
        manifest.threads,
        manifest.tile_blocks
    );
    let (bits, all) = counts.cipher.first_key_value().context("a count for a length")?;
    say!(
        "{unit:10} {} an S-box ({}), {} a column of MixColumns with its key; {all} in {} rounds",
        counts.sub_byte,
        bitsliced.sbox,
        counts.mix_column,
        plan.rounds().unwrap_or(bits / 32 + 6)
    );
    say!("registers  {registers}");
    let printed = match dialect {
        Dialect::Cuda => "printed C",
        Dialect::OpenCl => "the same in CUDA C",
    };
    let ran = if *ran { "compiled and run" } else { "not run, for lack of a C compiler" };
    say!("checked    circuit evaluated against FIPS 197; {printed} {ran}");
    if !manifest.secret {
        let (mode, path) = (&manifest.mode, path.display());
        say!("to run it  aes-bitslice encrypt --mode {mode} --generated {path} --key-file KEY; Engine::load_kernel");
    }
    Ok(())
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
            "`{}` is another kernel, perhaps of another key; give another folder with --out, or --force to replace it",
            path.display()
        ),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot write `{}`", path.display())),
    }
}

/// Whether `json` is a manifest of the same kernel. Registers are known only where there is NVRTC.
fn is_of(json: &[u8], manifest: &Manifest) -> bool {
    let old = std::str::from_utf8(json).ok().and_then(|json| <Manifest>::parse(json).ok());
    old.is_some_and(|old| Manifest { registers: manifest.registers.clone(), ..old } == *manifest)
}
