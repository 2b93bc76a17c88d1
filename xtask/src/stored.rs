//! The files that `kernels-generated/src/` stores, under `cuda/`, `opencl/`, `published/` and `rust/`: everything there comes from here or,
//! compiled, from [`crate::images`], and nothing there is read to make it.

use crate::kernels::{self, COMMAND, StoredHash, StoredKernel, ToCompile, image_file};
use crate::{files, images};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_gen::check::{self, CheckError};
use aes_bitslice_gen::emit::{cuda, header, rust};
use aes_bitslice_gen::kernel::{Design, Plan};
use aes_bitslice_gen::linear;
use aes_bitslice_gen::sbox::{BOYAR_PERALTA, LUT3};
use aes_bitslice_gen::stored::PUBLISHED_KEY;
use aes_bitslice_nvrtc::Target;
use anyhow::{Context, Result, anyhow, bail};
use diffy::DiffOptions;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a file's diff to print.
const DIFF_LINES: usize = 60;

/// Texts by folder and name.
type Files = BTreeMap<(&'static str, String), String>;

/// Every file.
fn generated(kernels: &[StoredKernel], hashes: &[StoredHash]) -> Files {
    let mut files = BTreeMap::new();
    let (opencl_kernels, opencl_hashes) = (kernels::opencl(), kernels::opencl_hashes());
    let published = kernels::published();
    let of_dialects = kernels.iter().chain(&opencl_kernels).map(|kernel| (kernel.manifest.dialect.name(), kernel));
    for (folder, kernel) in of_dialects.chain(published.iter().map(|kernel| ("published", kernel))) {
        files.insert((folder, kernel.source_file().into()), kernel.source.clone());
        files.insert((folder, format!("{}.json", kernel.name)), kernel.manifest.to_json());
    }
    for hash in hashes.iter().chain(&opencl_hashes) {
        let folder = hash.manifest.dialect.name();
        files.insert((folder, hash.manifest.source.clone()), hash.source.clone());
        files.insert((folder, format!("{}.json", hash.name)), hash.manifest.to_json());
    }
    files.insert(("published", "mod.rs".into()), published_index(&published));
    let of_opencl = opencl_index(&opencl_kernels, &opencl_hashes);
    for (dialect, index) in [(Dialect::Cuda, index(kernels, hashes)), (Dialect::OpenCl, of_opencl)] {
        files.insert((dialect.name(), "mod.rs".into()), index);
    }
    let directions = [Direction::Encrypt, Direction::Decrypt];
    for (name, module, sboxes) in [
        ("lut3.rs", rust::lut3(), directions.map(|d| LUT3.lut3(d))),
        ("two_input.rs", rust::two_input(), directions.map(|d| BOYAR_PERALTA.circuit(d))),
    ] {
        let layers = directions.map(|d| linear::mix_column_with_key(d, Basis::STANDARD));
        let counts = sboxes.iter().chain(&layers).map(|c| format!("{}, {} gates", c.name(), c.gates().len()));
        let circuits = format!("Circuits: {}.", counts.collect::<Vec<_>>().join("; "));
        let text = header::with_heading([&*generated_by(), &circuits], &format!("\n{module}"));
        files.insert(("rust", name.into()), text);
    }
    files
}

/// The module that lists everything stored for CUDA.
fn index(kernels: &[StoredKernel], hashes: &[StoredHash]) -> String {
    let ptx = |compiled: &ToCompile| {
        let is_ptx = |target: &&Target| matches!(target, Target::Ptx(_));
        compiled.targets.iter().find(is_ptx).map(|&t| format!("include_str!(\"{}\")", image_file(&compiled.name, t)))
    };
    let cubins = |compiled: &ToCompile| {
        let cubins = compiled.targets.iter().filter(|target| !matches!(target, Target::Ptx(_)));
        let cubin = |&target: &Target| {
            format!("(\"{}\", include_bytes!(\"{}\"))", target.name(), image_file(&compiled.name, target))
        };
        cubins.map(cubin).collect::<Vec<_>>().join(", ")
    };
    let fields =
        |compiled: &ToCompile, ptx: String| format!("        ptx: {ptx},\n        cubins: &[{}],\n", cubins(compiled));
    let kernels = kernels.iter().map(|kernel| {
        let compiled = ToCompile::from(kernel);
        let ptx = ptx(&compiled).expect("of every kernel of the cipher");
        (&*kernel.name, kernel.source_file(), fields(&compiled, ptx))
    });
    let hashes = hashes.iter().map(|hash| {
        let compiled = ToCompile::from(hash);
        let ptx = ptx(&compiled).map_or("None".into(), |ptx| format!("Some({ptx})"));
        (&*hash.name, &*hash.manifest.source, fields(&compiled, ptx))
    });
    let of_ciphers = "The kernels for keys given at launch: several for each mode and direction.";
    let of_hashes = "The GHASH kernels, the fastest first; and the kernel of GCM in one launch.";
    let body = "\nuse crate::{HashKernel, Kernel};\n".to_string()
        + &list(of_ciphers, "KERNELS", "Kernel", kernels)
        + &list(of_hashes, "HASHES", "HashKernel", hashes);
    header::with_heading([&*generated_by(), "What is stored for CUDA."], &body)
}

/// A list of entries of one type: of each its name, its source file, and the lines of its other fields.
fn list<'a>(doc: &str, name: &str, of_type: &str, entries: impl Iterator<Item = (&'a str, &'a str, String)>) -> String {
    let mut text = format!("\n/// {doc}\npub static {name}: &[{of_type}] = &[\n");
    for (name, source_file, fields) in entries {
        let _ = writeln!(text, "    {of_type} {{");
        let _ = writeln!(text, "        name: \"{name}\",");
        let _ = writeln!(text, "        manifest: include_str!(\"{name}.json\"),");
        let _ = writeln!(text, "        source: include_str!(\"{source_file}\"),\n{fields}    }},");
    }
    text + "];\n"
}

/// The module that lists everything stored for OpenCL.
fn opencl_index(kernels: &[StoredKernel], hashes: &[StoredHash]) -> String {
    let kernels = kernels.iter().map(|kernel| (&*kernel.name, kernel.source_file(), String::new()));
    let hashes = hashes.iter().map(|hash| (&*hash.name, &*hash.manifest.source, String::new()));
    let of_ciphers =
        "The kernels for keys given at launch: for each mode and direction one by column, and one by state.";
    let body = "\nuse crate::OpenClKernel;\n".to_string()
        + &list(of_ciphers, "OPENCL_KERNELS", "OpenClKernel", kernels)
        + &list("The GHASH kernels.", "OPENCL_HASHES", "OpenClKernel", hashes);
    header::with_heading([&*generated_by(), "What is stored for OpenCL."], &body)
}

/// The module that lists everything stored for papers.
fn published_index(kernels: &[StoredKernel]) -> String {
    let kernels = kernels.iter().map(|kernel| (&*kernel.name, kernel.source_file(), String::new()));
    let of_papers = "The kernels of papers, with the key of FIPS 197, appendix B, in them.";
    let body =
        "\nuse crate::BakedKernel;\n".to_string() + &list(of_papers, "PUBLISHED_KERNELS", "BakedKernel", kernels);
    header::with_heading([&*generated_by(), "What is stored of papers."], &body)
}

fn generated_by() -> String {
    format!("{}{COMMAND}", header::COMMAND)
}

/// Rebuilds everything, after checking it.
pub fn rebuild(root: &Path) -> Result<()> {
    let kernels = kernels::cuda();
    // For OpenCL the text is the same except for the dialect's page, which a C compiler does not read.
    let in_cuda = |kernel: StoredKernel| -> Result<_> {
        let printed = cuda::print(&kernel.design, COMMAND)?;
        Ok(StoredKernel::new(kernel.design, printed))
    };
    let is_other = |kernel: &StoredKernel| kernels.iter().all(|stored| stored.name != kernel.name);
    let others: Vec<_> = kernels::opencl().into_iter().filter(is_other).map(in_cuda).collect::<Result<_>>()?;
    let ran = |ran| if ran { "printed C compiled and run" } else { "printed C not run for lack of a C compiler" };
    let hashes = kernels::cuda_hashes();
    let of_messages = || hashes.iter().filter(|hash| hash.manifest.message_shape.is_some());
    for kernel in kernels.iter().chain(&others) {
        let (name, printed) = (&kernel.name, kernel.printed());
        // Any key will do: these kernels take theirs at launch.
        let key: Vec<u8> = (0..32).collect();
        if let Design::Bitsliced(spec) = &kernel.design {
            check::evaluate(&Plan::new(spec), &key)?;
            say!("checked {name}: circuits evaluated");
        }
        for &entry in kernel.manifest.entries.keys() {
            let has_run = match entry {
                Entry::Blocks => check::printed(&kernel.source, &kernel.manifest, &key)?,
                Entry::Messages => of_messages().try_fold(true, |ran, hash| {
                    Ok::<_, CheckError>(ran & check::printed_messages(&printed, &hash.printed(), &key)?)
                })?,
                Entry::Cmac => check::printed_cmac(&printed)?,
                Entry::Expand => check::printed_jobs(&printed)?,
                // Part of the checks above.
                Entry::Bytes | Entry::SecretCounter | Entry::Each | Entry::Jobs => continue,
                entry => unreachable!("an entry point of hash kernels: {entry}"),
            };
            say!("checked {name}, {entry}: {}", ran(has_run));
        }
    }
    for kernel in kernels::published() {
        if let Design::Bitsliced(spec) = &kernel.design {
            check::evaluate(&Plan::new(spec), &PUBLISHED_KEY)?;
        }
        check::printed(&kernel.source, &kernel.manifest, &PUBLISHED_KEY)?;
        say!("checked {}, with the key of FIPS 197 in it, likewise", kernel.name);
    }
    for hash in &hashes {
        // Any key will do here, too.
        let has_run = match hash.manifest.key_basis {
            Some(_) => {
                let hash = hash.printed();
                check::printed_gcm(&hash, &[7; 16])?
                    & check::printed_gcm_batch(&hash, &[7; 16])?
                    & check::printed_descriptions(&hash)?
            }
            None => check::printed_hash(&hash.source, &hash.manifest, &[7; 16])?,
        };
        say!("checked {}: {}", hash.name, ran(has_run));
    }
    let files = generated(&kernels, &hashes);
    let compiled = kernels::to_compile(&kernels, &hashes);
    let mut changed = 0;
    for ((folder, name), text) in &files {
        let folder = kernels::folder(root).join(folder);
        if fs::read(folder.join(name)).is_ok_and(|old| old == text.as_bytes()) {
            continue;
        }
        files::write_all(&folder, &[(name, text.as_bytes())], false)?;
        say!("wrote   {}", folder.join(name).display());
        changed += 1;
    }
    for path in unknown(root, &files, &kernels::images(&compiled))? {
        fs::remove_file(&path).with_context(|| format!("cannot delete `{}`", path.display()))?;
        say!("deleted {}", path.display());
    }
    // The kernels' crate names the images: it must build even without NVRTC.
    for name in kernels::images(&compiled) {
        let path = kernels::folder(root).join("cuda").join(name);
        if !path.exists() {
            fs::write(&path, "").with_context(|| format!("cannot write `{}`", path.display()))?;
        }
    }
    say!("{} files, {changed} of them rewritten", files.len());
    for what in images::stale(root, &compiled) {
        say!("still to do: {what}: run `cargo xtask ptx`, which needs NVRTC");
    }
    Ok(())
}

/// Compares everything with the stored files and prints differences.
pub fn check(root: &Path) -> Result<()> {
    let kernels = kernels::cuda();
    let hashes = kernels::cuda_hashes();
    let files = generated(&kernels, &hashes);
    let stale = stale(root, &files, &kernels::images(&kernels::to_compile(&kernels, &hashes)))?;
    if !stale.is_empty() {
        stale.iter().for_each(|what| say!("{what}"));
        bail!("{} stored files are stale: run `cargo xtask gen`", stale.len());
    }
    if let Some(what) = images::stale(root, &kernels::to_compile(&kernels, &hashes)).into_iter().next() {
        return Err(anyhow!("{what}: run `cargo xtask ptx`"));
    }
    say!("{} stored files are what is generated now, and the compiled kernels were made from them", files.len());
    Ok(())
}

/// What is wrong with each stored file: it differs from these, is missing, or is not among them.
fn stale(root: &Path, files: &Files, compiled: &BTreeSet<String>) -> Result<Vec<String>> {
    let of_one = |((folder, name), text): (&(&str, String), &String)| {
        let path = kernels::folder(root).join(folder).join(name);
        match fs::read_to_string(&path) {
            Ok(old) if old == *text => None,
            Ok(old) => Some(diff(&format!("{folder}/{name}"), &old, text)),
            Err(error) => Some(format!("{}: {error}", path.display())),
        }
    };
    let unknown = unknown(root, files, compiled)?;
    let unknown = unknown.iter().map(|path| format!("{}: nothing generates this file", path.display()));
    Ok(files.iter().filter_map(of_one).chain(unknown).collect())
}

/// Files in folders that are not among these and not made by [`crate::images`]. Only what is beside the folders is written by hand.
fn unknown(root: &Path, files: &Files, compiled: &BTreeSet<String>) -> Result<Vec<PathBuf>> {
    let list = |path: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(path).with_context(|| format!("cannot list `{}`", path.display()))?;
        Ok(entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
    };
    let is_known = |path: &Path, folder: &Path| {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (folder, name) = (name(folder), name(path));
        files.keys().any(|known| (known.0, &known.1) == (&*folder, &name))
            || folder == "cuda" && compiled.contains(&name)
    };
    let mut paths = Vec::new();
    for folder in list(&kernels::folder(root))?.into_iter().filter(|path| path.is_dir()) {
        paths.extend(list(&folder)?.into_iter().filter(|path| !is_known(path, &folder)));
    }
    paths.sort();
    Ok(paths)
}

/// The difference, in [`DIFF_LINES`] lines at most.
fn diff(name: &str, old: &str, new: &str) -> String {
    let mut options = DiffOptions::new();
    options.set_original_filename(format!("stored {name}")).set_modified_filename(format!("generated {name}"));
    let text = options.create_patch(old, new).to_string();
    let lines = text.lines().count();
    let mut first = text.lines().take(DIFF_LINES).collect::<Vec<_>>().join("\n");
    if lines > DIFF_LINES {
        let _ = write!(first, "\n... {} more lines", lines - DIFF_LINES);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each file that is changed by a byte, missing, or too many is told by its name, whichever folder it is in, and nothing else is.
    #[test]
    fn every_stored_file_is_compared() {
        let (kernels, hashes) = (kernels::cuda(), kernels::cuda_hashes());
        let (files, compiled) = (generated(&kernels, &hashes), BTreeSet::new());
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let folder = kernels::folder(root);
        for ((of, name), text) in &files {
            fs::create_dir_all(folder.join(of)).unwrap();
            fs::write(folder.join(of).join(name), text).unwrap();
        }
        // What is beside the folders is written by hand.
        fs::write(folder.join("lib.rs"), "").unwrap();
        assert_eq!(stale(root, &files, &compiled).unwrap(), [""; 0]);
        let told = |name: &str| {
            let stale = stale(root, &files, &compiled).unwrap();
            assert!(stale.len() == 1 && stale[0].contains(name), "{name}: {stale:?}");
        };
        let folders: BTreeSet<&str> = files.keys().map(|(folder, _)| *folder).collect();
        for ((of, name), text) in &files {
            let path = folder.join(of).join(name);
            let mut bytes = text.clone().into_bytes();
            *bytes.last_mut().unwrap() = b'x';
            fs::write(&path, bytes).unwrap();
            told(name);
            fs::remove_file(&path).unwrap();
            told(name);
            fs::write(&path, text).unwrap();
        }
        for of in folders.into_iter().chain(["another"]) {
            fs::create_dir_all(folder.join(of)).unwrap();
            fs::write(folder.join(of).join("extra"), "").unwrap();
            told("extra");
            fs::remove_file(folder.join(of).join("extra")).unwrap();
        }
    }

    /// What is in the repository is what this module and [`crate::images`] make: no folder is left out.
    #[test]
    fn every_file_of_the_repository_is_made_here() {
        let (kernels, hashes) = (kernels::cuda(), kernels::cuda_hashes());
        let made = generated(&kernels, &hashes).into_keys().map(|(folder, name)| format!("{folder}/{name}"));
        let images = kernels::images(&kernels::to_compile(&kernels, &hashes));
        let made: BTreeSet<String> = made.chain(images.iter().map(|name| format!("cuda/{name}"))).collect();
        let folder = kernels::folder(&files::root());
        let folders = ["cuda", "opencl", "published", "rust"].into_iter();
        let stored = folders.flat_map(|of| {
            let entries = fs::read_dir(folder.join(of)).unwrap();
            entries.map(move |entry| format!("{of}/{}", entry.unwrap().file_name().to_str().unwrap()))
        });
        assert_eq!(stored.collect::<BTreeSet<_>>(), made);
    }
}
