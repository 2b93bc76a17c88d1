//! The evidence of `docs/claims.md`: each command of Cargo names packages, tests and examples that exist, and each of `cargo xtask` a
//! subcommand and options that it has. Cargo itself passes where a filter matches no test.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().into()
}

/// The packages of the workspace, as Cargo describes them.
fn packages() -> Vec<Value> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root())
        .output()
        .unwrap();
    let mut metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

/// All files of Rust in a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(of).filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Whether a test's path can contain `filter`: it is in the module of this name, or the name of a test has it.
fn has_test(package: &Value, filter: &str) -> bool {
    let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
    let in_source = sources(&folder.join("src")).iter().any(|path| {
        let text = fs::read_to_string(path).unwrap();
        let is_module = text.contains("#[test]") && path.file_stem().unwrap() == filter;
        let after_attributes = text.split("#[test]").skip(1);
        let mut names = after_attributes.filter_map(|test| test.split_once("fn ")?.1.split_once('('));
        is_module || names.any(|(name, _)| name.contains(filter))
    });
    // A test program with a list of its own has functions without the attribute.
    let programs = folder.join("tests");
    let in_program = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        text.split("fn ").skip(1).any(|function| function.split('(').next().unwrap().contains(filter))
    };
    in_source || (programs.is_dir() && sources(&programs).iter().any(in_program))
}

/// What is wrong with a command, if anything.
fn check(command: &str, packages: &[Value]) -> Result<(), String> {
    let words: Vec<&str> = command.split_whitespace().skip_while(|word| *word != "cargo").collect();
    if let ["cargo", "xtask", arguments @ ..] = &words[..] {
        let help = Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).arg("--help").output().unwrap();
        return if help.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&help.stderr).into()) };
    }
    let after =
        |option: &str| -> Vec<&str> { words.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1]).collect() };
    for name in after("-p") {
        let package = packages.iter().find(|package| package["name"] == name).ok_or(format!("no package {name}"))?;
        let has = |kind: &str, name: &str| {
            let targets = package["targets"].as_array().unwrap();
            targets.iter().any(|target| target["name"] == name && target["kind"][0] == kind)
        };
        for (option, kind) in [("--test", "test"), ("--example", "example"), ("--bin", "bin")] {
            if let Some(missing) = after(option).into_iter().find(|target| !has(kind, target)) {
                return Err(format!("{name} has no {kind} {missing}"));
            }
        }
        let is_value = |at: usize| ["-p", "--test", "--example", "--bin"].contains(&words[at - 1]);
        let filter = (2..words.len()).find(|&at| !words[at].starts_with('-') && !is_value(at)).map(|at| words[at]);
        if let Some(filter) = filter.filter(|filter| words[1] == "test" && !has_test(package, filter)) {
            return Err(format!("{name} has no test {filter}"));
        }
    }
    Ok(())
}

#[test]
fn every_command_has_something_to_run() {
    let claims = fs::read_to_string(root().join("docs/claims.md")).unwrap();
    let packages = packages();
    let commands: Vec<&str> = claims.split('`').skip(1).step_by(2).filter(|code| code.contains("cargo ")).collect();
    assert!(commands.len() > 30, "{}", commands.len());
    for command in commands {
        assert_eq!(check(command, &packages), Ok(()), "{command}");
    }
    for wrong in [
        "cargo test -p aes-bitslice-nothing",
        "cargo test -p aes-bitslice-tests --test nothing",
        "cargo test -p aes-bitslice-gen --lib little_indian",
        "cargo run --release -p aes-bitslice-runtime --example nothing -- 1",
        "cargo run --release -p aes-bitslice-evidence-gpu --bin nothing -- 1",
        "cargo xtask nothing",
        "NVRTC=... cargo xtask ptx --nothing",
    ] {
        assert!(check(wrong, &packages).is_err(), "{wrong}");
    }
}
