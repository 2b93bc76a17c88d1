//! `cargo xtask gen` as a process: what it writes, what it notices, what it says, and what it never says.

#[cfg(unix)]
mod common;

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::digest;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_gen::emit::header;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Child;
use std::process::{Command, Output, Stdio};
#[cfg(unix)]
use std::thread::sleep;
#[cfg(unix)]
use std::time::{Duration, Instant};
use tempfile::TempDir;

const KEY: &str = "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b";

/// `xtask` for a workspace in `root`.
fn xtask(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments).env("CARGO_MANIFEST_DIR", root.join("xtask")).env_remove("CARGO_TARGET_DIR");
    command.stdin(Stdio::null());
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn run(root: &Path, arguments: &[&str]) -> Output {
    xtask(root, arguments).output().unwrap()
}

/// Runs and must succeed.
fn succeed(root: &Path, arguments: &[&str]) -> Output {
    let output = run(root, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    output
}

/// Runs and must fail, with this code and one line, which it returns.
fn fail(mut command: Command, code: i32) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", text(&output));
    let errors = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = errors.lines().filter(|line| !line.starts_with("warning: ")).collect();
    assert_eq!(lines.len(), 1, "{errors}");
    assert!(lines[0].starts_with("error: ") && !errors.contains(KEY) && output.stdout.is_empty(), "{errors}");
    lines[0].into()
}

/// Every file below a folder, by path from there.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.insert(path.strip_prefix(folder).unwrap().into(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().into()
}

/// A workspace with the stored files and nothing else.
fn copy_of_stored() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, bytes) in tree(&checkout().join("kernels-generated")) {
        let to = root.path().join("kernels-generated").join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    }
    root
}

/// An empty workspace but for a file with the key, and that file as the option `--key` takes it.
struct Workspace {
    root: TempDir,
    key: String,
}

impl Workspace {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("key");
        fs::write(&path, format!("{KEY}\n")).unwrap();
        #[cfg(unix)]
        set_mode(&path, 0o600);
        Self { root, key: format!("@{}", path.display()) }
    }

    /// A file with another key, as the option takes it.
    fn another_key(&self) -> String {
        let path = self.join("other");
        fs::write(&path, KEY.replace('8', "9")).unwrap();
        format!("@{}", path.display())
    }
}

impl Deref for Workspace {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.root.path()
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_stored_files_are_what_is_generated() {
    succeed(&checkout(), &["gen", "--check"]);
}

#[test]
#[ignore = "exhaustive: cargo xtask test --all"]
fn rebuilt_from_nothing_in_another_process() {
    let root = tempfile::tempdir().unwrap();
    let said = text(&succeed(root.path(), &["gen"]));
    assert!(said.contains("circuits evaluated") && said.contains("cargo xtask ptx"), "{said}");
    let stored = tree(&checkout().join("kernels-generated/src"));
    let built = tree(&root.path().join("kernels-generated/src"));
    assert!(built.len() >= 9);
    for (path, bytes) in &built {
        // NVRTC's output is left empty, so that the kernels' crate builds.
        assert!(stored.get(path).is_some_and(|old| old == bytes || bytes.is_empty()), "{}", path.display());
        if path.extension().is_some_and(|e| e == "rs" || e == "cu") {
            assert!(header::is_intact(std::str::from_utf8(bytes).unwrap()), "{}", path.display());
        }
    }
    // The second time there is nothing to do.
    assert!(text(&succeed(root.path(), &["gen"])).contains("0 of them rewritten"));
}

#[test]
fn every_change_is_noticed() {
    let root = copy_of_stored();
    let root = root.path();
    let cuda = root.join("kernels-generated/src/cuda");
    let rust = root.join("kernels-generated/src/rust");
    succeed(root, &["gen", "--check"]);
    let notice = |path: &Path, damage: &dyn Fn(&Path), says: &[&str]| {
        let before = fs::read(path).ok();
        damage(path);
        let output = run(root, &["gen", "--check"]);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{}: {said}", path.display());
        assert!(says.iter().all(|s| said.contains(s)), "{}: {said}", path.display());
        match before {
            Some(bytes) => fs::write(path, bytes).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
    };
    let replace = |from: &'static str, to: &'static str| {
        move |path: &Path| {
            let text = fs::read_to_string(path).unwrap();
            assert!(text.contains(from));
            fs::write(path, text.replacen(from, to, 1)).unwrap();
        }
    };
    let delete = |path: &Path| fs::remove_file(path).unwrap();
    let gen_again = "run `cargo xtask gen`";
    let diff = ["--- stored cuda/", "+++ generated cuda/", "-#define THREADS 64", "+#define THREADS 512", gen_again];
    notice(&cuda.join("aes-ctr-planes.cu"), &replace("#define THREADS 512", "#define THREADS 64"), &diff);
    notice(&cuda.join("aes-ctr-planes.json"), &replace("lut3", "lut2"), &["lut2", gen_again]);
    notice(&rust.join("lut3.rs"), &delete, &["lut3.rs", gen_again]);
    notice(&rust.join("more.rs"), &|p| fs::write(p, "").unwrap(), &["nothing generates this file", gen_again]);
    // What was compiled, and from what.
    let compile_again = "run `cargo xtask ptx`";
    notice(&cuda.join("aes-ctr-planes.sm_90.cubin"), &|p| fs::write(p, "x").unwrap(), &["sm_90", compile_again]);
    notice(&cuda.join("aes-ctr-planes.compute_75.ptx"), &delete, &["compute_75", compile_again]);
    notice(&cuda.join("compiled.json"), &delete, &["compiled.json", compile_again]);
    let source = replace("\"source_sha256\": \"", "\"source_sha256\": \"0");
    notice(&cuda.join("compiled.json"), &source, &["another source", compile_again]);
    succeed(root, &["gen", "--check"]);
}

/// A missing file, a different one, and an extra one: checked, rebuilt, deleted.
#[test]
#[ignore = "exhaustive: cargo xtask test --all"]
fn every_change_is_undone() {
    let root = copy_of_stored();
    let root = root.path();
    let stored = root.join("kernels-generated/src");
    fs::remove_file(stored.join("rust/two_input.rs")).unwrap();
    fs::write(stored.join("rust/lut3.rs"), "").unwrap();
    fs::write(stored.join("cuda/old.cu"), "").unwrap();
    succeed(root, &["gen"]);
    succeed(root, &["gen", "--check"]);
}

/// Without any option: the kernel of the paper, for ECB and CTR. Beside it, in the same folder, those of every other preset and dialect.
#[test]
fn the_bare_command_is_the_paper_s_kernel_and_refuses_no_other() {
    let root = Workspace::new();
    let said = text(&succeed(&root, &["gen", "--key", &root.key]));
    assert!(said.contains("gates      120 an S-box (canright)") && !said.contains(KEY), "{said}");
    let folder = root.join("target/baked");
    let names = || tree(&folder).into_keys().map(|path| path.display().to_string()).collect::<Vec<_>>();
    let of_modes = ["ctr", "ecb-decrypt", "ecb-encrypt"];
    let both = |stem: String| ["cu", "json"].map(|end| format!("{stem}.{end}"));
    let bare = of_modes.into_iter().flat_map(|mode| both(format!("aes-192-{mode}-hajihassani-2019")));
    assert_eq!(names(), bare.collect::<Vec<_>>());
    for mode in of_modes {
        let stem = folder.join(format!("aes-192-{mode}-hajihassani-2019"));
        let manifest = <Manifest>::parse(&fs::read_to_string(stem.with_extension("json")).unwrap()).unwrap();
        assert_eq!(manifest.generated_by, format!("cargo xtask gen --key @FILE --mode {mode}"));
        assert_eq!((manifest.threads, manifest.tile_blocks, manifest.secret), (64, 64 * 32, true));
        let bitsliced = manifest.function.bitsliced.unwrap();
        assert!(bitsliced.lut3.is_none() && bitsliced.layout == "state" && bitsliced.sbox == "canright");
        let source = fs::read_to_string(stem.with_extension("cu")).unwrap();
        let column = if mode == "ecb-decrypt" { "InvMixColumns" } else { "MixColumns" };
        for line in
            [&format!("// {column} on one column"), "SHARED uint4 tile[BLOCKS];", "one-hot: all ones for this round"]
        {
            assert!(source.contains(line), "{mode}: {line}");
        }
    }

    // Each of these has names of its own.
    let other = [
        &["--preset", "fast"][..],
        &["--preset", "fast", "--mode", "ctr", "--layout", "state"],
        &["--preset", "fast", "--mode", "ctr", "--sbox", "boyar-peralta"],
        &["--preset", "hajihassani-2019-all-keys", "--mode", "ctr"],
        &["--sbox", "canright-netlist", "--mode", "ctr"],
        &["--dialect", "opencl", "--mode", "ctr"],
    ];
    for (options, count) in other.into_iter().zip([12, 14, 16, 18, 20, 22]) {
        let before = tree(&folder);
        succeed(&root, &[&["gen", "--key", &root.key], options].concat());
        assert_eq!(names().len(), count, "{options:?}");
        assert!(before.iter().all(|(name, bytes)| tree(&folder)[name] == *bytes), "{options:?}");
    }
    for name in ["ctr-fast", "ecb-encrypt-fast", "ctr-fast-state", "ctr-hajihassani-2019-opencl"] {
        assert!(names().contains(&format!("aes-192-{name}.json")), "{name}");
    }
}

/// The preset's parts can be changed where it has a choice.
#[test]
fn a_preset_says_what_it_does_not_have() {
    let root = Workspace::new();
    let before = tree(&root);
    for options in [
        &["--mode", "cbc-decrypt"][..],
        &["--layout", "column"],
        &["--sbox", "lut3"],
        &["--preset", "hajihassani-2019-all-keys", "--sbox", "lut3"],
    ] {
        let error = fail(xtask(&root, &[&["gen", "--key", &root.key], options].concat()), 1);
        assert!(error.ends_with("--preset fast"), "{error}");
    }
    assert!(tree(&root) == before);
}

/// With the key at launch.
#[test]
fn keys_are_fetched_without_a_key() {
    let root = Workspace::new();
    let fetched = ["gen", "--preset", "hajihassani-2019-fetched"];
    let error = fail(xtask(&root, &[&fetched[..], &["--key", &root.key]].concat()), 1);
    assert!(error.contains("leave out --key"), "{error}");
    let said = text(&succeed(&root, &[&fetched[..], &["--mode", "ctr"]].concat()));
    assert!(said.contains("encrypt --mode ctr --generated ") && !said.contains("it is the key"), "{said}");
    let path = root.join("target/kernels/aes-ctr-hajihassani-2019-fetched.json");
    let manifest = <Manifest>::parse(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!((manifest.secret, manifest.keys, manifest.key_bits), (false, KeySource::Memory, None));
    let source = fs::read_to_string(path.with_extension("cu")).unwrap();
    assert!(manifest.source_sha256 == digest::of_text(&source) && !source.contains("THIS FILE IS THE KEY"));
}

#[test]
fn a_baked_kernel_is_private_and_the_same_from_everywhere() {
    let root = Workspace::new();
    let fast = ["--preset", "fast", "--mode", "ctr"];
    let from_file = succeed(&root, &[&["gen", "--key", &root.key], &fast[..]].concat());
    let said = text(&from_file);
    for part in ["aes-192-ctr-fast.cu", "55 an S-box", "12 rounds", "circuit evaluated", "printed C"] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    let baked = root.join("target/baked");
    let files = tree(&baked);
    let source = String::from_utf8(files[Path::new("aes-192-ctr-fast.cu")].clone()).unwrap();
    assert!(source.lines().next().unwrap().contains("THIS FILE IS THE KEY"));
    assert!(source.contains("cargo xtask gen --key @FILE --preset fast --mode ctr\n"));
    assert!(header::is_intact(&source));
    let manifest = std::str::from_utf8(&files[Path::new("aes-192-ctr-fast.json")]).unwrap();
    let manifest = <Manifest>::parse(manifest).unwrap();
    assert_eq!(manifest.source_sha256, digest::of_text(&source));
    assert_eq!((files.len(), manifest.secret, manifest.key_bits), (2, true, Some(192)));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&baked), 0o700);
        assert!(files.keys().all(|name| mode(&baked.join(name)) == 0o600));
    }

    let out = |name: &str| root.join(name).display().to_string();
    let from_option = succeed(&root, &[&["gen", "--key", KEY, "--out", &out("option")], &fast[..]].concat());
    assert!(text(&from_option).contains("warning: a key on the command line"));
    let mut command = xtask(&root, &[&["gen", "--key", "-", "--out", &out("input")], &fast[..]].concat());
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(KEY.to_uppercase().as_bytes()).unwrap();
    let from_input = process.wait_with_output().unwrap();
    assert!(from_input.status.success(), "{}", text(&from_input));
    assert_eq!(tree(&root.join("option")), files);
    assert_eq!(tree(&root.join("input")), files);
    assert!(!text(&from_file).contains("warning") && !text(&from_input).contains("warning"));

    for output in [&from_file, &from_option, &from_input] {
        assert!(!text(output).to_lowercase().contains(KEY));
    }
    assert!(files.values().all(|bytes| !String::from_utf8_lossy(bytes).to_lowercase().contains(KEY)));
}

#[cfg(unix)]
#[test]
fn a_key_file_that_others_can_read_is_warned_of() {
    let root = Workspace::new();
    set_mode(&root.join("key"), 0o644);
    let output = succeed(&root, &["gen", "--key", &root.key, "--mode", "ctr"]);
    let warning = format!("warning: key file `{}` can be read by other users; run `chmod 600` on it\n", &root.key[1..]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), warning);
}

#[test]
fn in_opencl_too() {
    let root = Workspace::new();
    let said = text(&succeed(&root, &["gen", "--key", &root.key, "--mode", "ctr", "--dialect", "opencl"]));
    let stem = "aes-192-ctr-hajihassani-2019-opencl";
    assert!(said.contains(&format!("{stem}.cl")) && said.contains("the same in CUDA C"), "{said}");
    let files = tree(&root.join("target/baked"));
    let source = String::from_utf8(files[Path::new(&format!("{stem}.cl"))].clone()).unwrap();
    assert!(source.contains("--mode ctr --dialect opencl\n") && source.contains("__kernel"));
    let manifest = std::str::from_utf8(&files[Path::new(&format!("{stem}.json"))]).unwrap();
    assert_eq!(<Manifest>::parse(manifest).unwrap().dialect, Dialect::OpenCl);
}

#[test]
fn bad_input_is_one_line_and_changes_nothing() {
    let root = Workspace::new();
    let file = |name: &str, contents: &[u8]| {
        fs::write(root.join(name), contents).unwrap();
        format!("@{}", root.join(name).display())
    };
    let empty = file("empty", b"");
    let huge = file("huge", &b"0".repeat(1 << 20));
    let lines = file("lines", format!("{KEY}\n\n").as_bytes());
    let marked = file("marked", format!("\u{feff}{KEY}{}\n", &KEY[..16]).as_bytes());
    let utf_16: Vec<u8> = KEY.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf_16 = file("utf-16", &[b"\xff\xfe", &utf_16[..]].concat());
    let folder = format!("@{}", root.display());
    let missing = format!("@{}/missing", root.display());
    let under_a_file = root.join("key/baked").display().to_string();
    let before = tree(&root);
    let digits = "32, 48 or 64 hexadecimal digits";
    for (arguments, code, says) in [
        (&["--key", "00"][..], 1, digits),
        (&["--key", &KEY[1..]], 1, digits),
        (&["--key", ""], 1, "it is empty"),
        (&["--key", "0x8e73b0f7da0e6452c810f32b809079e5"], 1, "character 2 is no hexadecimal digit"),
        (&["--key", "-"], 1, "standard input: it is empty"),
        (&["--key", &empty], 1, "it is empty"),
        (&["--key", &huge], 1, "too long"),
        (&["--key", &lines], 1, "no hexadecimal digit"),
        (&["--key", &marked], 1, "byte order mark, EF BB BF"),
        (&["--key", &utf_16], 1, "it is UTF-16"),
        (&["--key", &folder], 1, "it is a folder"),
        (&["--preset", "fast"], 2, "--key"),
        (&["--preset", "slow"], 2, "known: hajihassani-2019, "),
        (&["--preset", "hajihassani-2019-fetched", "--check"], 2, "cannot be used with"),
        (&["--key", &root.key, "--mode", "xts-encrypt"], 2, "is for one of ecb-encrypt, ecb-decrypt, ctr, cbc-decrypt"),
        (&["--key", &root.key, "--mode", "keystream"], 2, "is for one of ecb-encrypt"),
        (&["--key", &root.key, "--mode", "ctr-le32"], 2, "is for one of ecb-encrypt"),
        (&["--key", &missing], 1, "No such file"),
        (&["--key", &format!("@{KEY}")], 1, "its name looks like a key"),
        (
            &["--key", &root.key, "--sbox", "best"],
            1,
            "unknown S-box `best`: the known ones are canright, canright-netlist, boyar-peralta, lut3",
        ),
        (&["--key", &root.key, "--mode", "cbc"], 2, "is for one of ecb-encrypt, ecb-decrypt, ctr, cbc-decrypt"),
        (&["--key", &root.key, "--out", &under_a_file], 1, "cannot make the folder"),
        (&["--key", &root.key, "--out", &root.key[1..]], 1, "it is a file: name a folder"),
        (&["--key", &root.key, "--check"], 2, "cannot be used with"),
        (&["--mode", "ctr"], 2, "--key"),
    ] {
        let error = fail(xtask(&root, &[&["gen"], arguments].concat()), code);
        assert!(error.contains(says), "{arguments:?}: {error}");
        assert!(tree(&root) == before, "{arguments:?}");
    }
    assert!(fail(xtask(&root, &["bake"]), 2).contains("bake"));
}

#[test]
fn the_kernel_of_another_key_is_replaced_only_when_told_to() {
    let root = Workspace::new();
    let other = root.another_key();
    succeed(&root, &["gen", "--key", &root.key, "--mode", "ctr"]);
    let before = tree(&root);
    // Nothing is written if one of the modes is refused.
    let error = fail(xtask(&root, &["gen", "--key", &other]), 1);
    assert!(error.contains("aes-192-ctr-hajihassani-2019.cu` is another kernel"), "{error}");
    assert!(error.contains("--out") && error.contains("--force"), "{error}");
    assert!(tree(&root) == before);
    // The same kernel again changes nothing; one of another mode or preset has another name.
    succeed(&root, &["gen", "--key", &root.key, "--mode", "ctr"]);
    assert!(tree(&root) == before);
    succeed(&root, &["gen", "--key", &other, "--mode", "ecb-encrypt"]);
    succeed(&root, &["gen", "--key", &other, "--mode", "ctr", "--preset", "fast"]);
    succeed(&root, &["gen", "--key", &other, "--mode", "ctr", "--force"]);
    let source = Path::new("target/baked/aes-192-ctr-hajihassani-2019.cu");
    assert!(tree(&root)[source] != before[source]);
}

#[test]
fn a_manifest_of_another_kernel_is_replaced_only_when_told_to() {
    let root = Workspace::new();
    let other = root.another_key();
    let ctr = |key: &str| xtask(&root, &["gen", "--key", key, "--mode", "ctr"]);
    assert!(ctr(&root.key).output().unwrap().status.success());
    let before = tree(&root);
    // For another key, although its source is gone; and a file that is not a manifest.
    let folder = root.join("target/baked");
    let [source, manifest] = ["cu", "json"].map(|end| folder.join(format!("aes-192-ctr-hajihassani-2019.{end}")));
    fs::remove_file(&source).unwrap();
    assert!(fail(ctr(&other), 1).contains(".json` is another kernel"));
    fs::write(&manifest, "{}").unwrap();
    assert!(fail(ctr(&root.key), 1).contains(".json` is another kernel"));
    assert!(!source.exists() && fs::read(&manifest).unwrap() == b"{}");
    assert!(ctr(&root.key).arg("--force").output().unwrap().status.success());
    assert!(tree(&root) == before);
    // The same kernel, whose registers are not known on every machine.
    let mut old = <Manifest>::parse(&fs::read_to_string(&manifest).unwrap()).unwrap();
    old.registers = BTreeMap::from([("somewhere sm_90".into(), 40)]);
    fs::write(&manifest, old.to_json()).unwrap();
    assert!(ctr(&root.key).output().unwrap().status.success());
    assert!(tree(&root) == before);
}

/// Twice, as they are, one after the other.
#[test]
fn the_examples_of_the_documentation_work() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("keyfile"), KEY).unwrap();
    let page = fs::read_to_string(checkout().join("docs/generator.md")).unwrap();
    let (_, section) = page.split_once("## A kernel with its key baked in").unwrap();
    let block = section.split("```").nth(1).unwrap();
    let examples: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("cargo xtask ")).collect();
    assert!(examples.len() >= 2, "{block}");
    for example in [&examples[..], &examples[..]].concat() {
        let (arguments, _) = example.split_once('#').unwrap_or((example, ""));
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let output = xtask(root.path(), &arguments).current_dir(&root).output().unwrap();
        assert!(output.status.success(), "{example}: {}", text(&output));
    }
}

#[test]
fn a_check_that_fails_leaves_nothing_behind() {
    let root = Workspace::new();
    let temporary = root.join("tmp");
    fs::create_dir(&temporary).unwrap();
    let before = tree(&root);
    for (compiler, says) in [("/nonexistent/cc", "the environment variable CC names"), ("false", "withheld")] {
        let mut command = xtask(&root, &["gen", "--key", &root.key, "--mode", "ctr"]);
        command.env("CC", compiler).env("TMPDIR", &temporary);
        let error = fail(command, 1);
        assert!(error.contains(says), "{error}");
        assert!(tree(&root) == before && !root.join("target").exists());
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    }
}

#[test]
fn without_a_c_compiler_it_says_so() {
    let root = Workspace::new();
    let output = xtask(&root, &["gen", "--key", &root.key, "--mode", "ctr"])
        .env_remove("CC")
        .env("PATH", &*root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("printed C not run, for lack of a C compiler"), "{}", text(&output));
}

/// A C compiler that reports in the file `begun` where it writes, and in `ended` that it is done, for which it waits while there is a file
/// `hold`.
#[cfg(unix)]
fn slow_compiler(root: &Path) -> PathBuf {
    let compiler = root.join("compiler");
    let script = "#!/bin/sh\nfor last; do :; done; echo \"$last\" >ROOT/begun.new; mv ROOT/begun.new ROOT/begun\n\
                  cc \"$@\"; while [ -e ROOT/hold ]; do sleep 0.1; done; : >ROOT/ended\n";
    fs::write(&compiler, script.replace("ROOT", root.to_str().unwrap())).unwrap();
    fs::write(root.join("hold"), "").unwrap();
    set_mode(&compiler, 0o755);
    compiler
}

/// The folder that the slow compiler of a process writes to, once it has begun.
#[cfg(unix)]
fn folder_of_compiler(root: &Path, process: &mut Child) -> PathBuf {
    let start = Instant::now();
    while !root.join("begun").exists() {
        assert!(process.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(600));
        sleep(Duration::from_millis(1));
    }
    let executable = PathBuf::from(fs::read_to_string(root.join("begun")).unwrap().trim_end());
    executable.parent().unwrap().into()
}

/// While the compiler is running; it outlives a signal to `xtask` alone unless that ends it.
#[cfg(unix)]
#[test]
fn interrupted_it_leaves_nothing_of_the_key() {
    use std::os::unix::process::ExitStatusExt;
    for (name, signal, pause) in [("INT", 2, 0), ("TERM", 15, 150), ("HUP", 1, 0), ("USR1", 10, 1000)] {
        if common::is_ignored(signal) {
            continue;
        }
        let root = Workspace::new();
        let compiler = slow_compiler(&root);
        let mut command = xtask(&root, &["gen", "--key", &root.key, "--mode", "ctr"]);
        let mut process = command.env("CC", &compiler).env("TMPDIR", &*root).stdout(Stdio::null()).spawn().unwrap();
        let folder = folder_of_compiler(&root, &mut process);
        sleep(Duration::from_millis(pause));
        common::send(name, &process);
        let status = process.wait().unwrap();
        // Before the compiler would be done, and after.
        assert!(!folder.exists(), "{name}: {}", folder.display());
        assert_eq!(status.signal(), Some(signal), "{name}: {status}");
        fs::remove_file(root.join("hold")).unwrap();
        sleep(Duration::from_secs(1));
        assert!(!folder.exists() && !root.join("ended").exists(), "the compiler went on");
        assert!(!root.join("target").exists(), "nothing was checked, and nothing written");
        let names: Vec<_> = fs::read_dir(&*root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let known = ["key", "compiler", "begun"];
        assert!(names.iter().all(|name| known.iter().any(|known| name == known)), "{names:?}");
    }
}

/// While its compiler goes on.
#[cfg(unix)]
#[test]
fn what_a_killed_run_leaves_is_removed_by_the_next() {
    let root = Workspace::new();
    let mut command = xtask(&root, &["gen", "--key", &root.key, "--mode", "ctr"]);
    let mut process = command.env("CC", slow_compiler(&root)).env("TMPDIR", &*root).spawn().unwrap();
    let folder = folder_of_compiler(&root, &mut process);
    // Another process may delete it from here on.
    assert!(folder.join(".aes-bitslice-in-use").exists());
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(
        xtask(&root, &["gen", "--key", &root.key, "--mode", "ctr"])
            .env("TMPDIR", &*root)
            .output()
            .unwrap()
            .status
            .success()
    );
    assert!(!folder.exists());
}
