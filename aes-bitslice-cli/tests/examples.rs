//! The examples at the end of `--help`, and the examples of the pages, pasted one after the other: each works, and bytes that should be
//! equal are.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Folder, PROGRAM, bytes, message, program, skipped};

/// The lines to paste of `--help`: the ones that are indented further than the text about them.
fn examples(command: &str) -> String {
    let help = String::from_utf8(bytes(program(&format!("{command} --help")), b"")).unwrap();
    let (_, examples) = help.split_once("\nExamples:\n").unwrap();
    let (examples, _) = examples.split_once("\n\n").unwrap();
    let lines: Vec<_> = examples.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(lines.len() > 5, "{help}");
    lines.join("\n")
}

/// The files that the examples assume.
fn lay_out(folder: &Path) {
    let at = |name: &str| folder.join(name);
    for name in ["data", "a.tar", "b.tar", "folder/file"] {
        fs::create_dir_all(at("folder")).unwrap();
        fs::write(at(name), message(10_000)).unwrap();
    }
    fs::write(at("disk"), message(5 * 4096)).unwrap();
    fs::write(at("words"), "correct horse\n").unwrap();
    let keyset = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../aes-bitslice-seal/tests/tink/aes256-1mb.json"));
    fs::copy(keyset, at("keyset.json")).unwrap();
    bytes(program("seal -q --format tink --keyset keyset.json -o data.tink data").current_dir(folder), b"");
    fs::create_dir(at("bin")).unwrap();
    let programs = [("ssh", "shift; exec sh -c \"$1\""), ("program", "exec cat >/dev/null")];
    for (name, text) in programs {
        fs::write(at("bin").join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(at("bin").join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// The commands of this program in the blocks of a page, after a heading.
fn of_page(page: &str, heading: &str) -> String {
    let (_, text) = page.split_once(heading).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|block| block.split_once("```").unwrap().0);
    let lines = blocks.flat_map(str::lines).filter(|line| !line.starts_with("cargo "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Pastes a script into a shell in a new folder; these files must be `data` again.
fn paste(name: &str, script: &str, same: &[&str]) {
    let folder = Folder::new();
    lay_out(&folder);
    // Without a terminal to ask on, and without terabytes.
    let mut script = script.replace("--passphrase ", "--passphrase-file words ");
    for unit in ["MiB", "GiB", "TiB"] {
        script = script.replace(unit, "KiB");
    }
    let programs = Path::new(PROGRAM).parent().unwrap().display().to_string();
    let path = format!("{}/bin:{programs}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &script]).current_dir(&folder).env("PATH", path).stdin(Stdio::null());
    let output = shell.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && !told.contains("error: "), "{name}: {told}\n{script}");
    for same in same {
        assert!(folder.read(same) == message(10_000), "{name}: {same}");
    }
    if script.contains("-o sectors") {
        let sectors = folder.read("sectors");
        assert!(sectors == message(5 * 4096)[4096..3 * 4096], "{name}: sectors 1 and 2");
    }
}

#[test]
fn examples_of_help_can_be_pasted() {
    if Command::new("openssl").arg("version").output().is_err() {
        skipped("there is no `openssl` here, which the examples use");
        return;
    }
    for (command, same) in [
        ("seal", &["data.again", "words.again", "message"][..]),
        ("open", &["data.again", "words.again", "message"]),
        ("encrypt", &["data.again", "data.same", "decrypted/a.tar", "decrypted/b.tar"]),
        ("decrypt", &["data.again", "data.same", "decrypted/a.tar", "decrypted/b.tar"]),
        ("keystream", &[]),
    ] {
        paste(command, &examples(command), same);
    }
}

#[test]
fn examples_of_the_pages_can_be_pasted() {
    let readme = of_page(include_str!("../../README.md"), "\n## On the command line\n");
    paste("README.md", &readme, &["data.again"]);
    let page = of_page(include_str!("../../docs/command-line.md"), "\n## Seal and open\n");
    assert!(page.lines().count() > 10, "{page}");
    paste("docs/command-line.md", &page, &["data.again", "data.same"]);
}

/// Everyone who pastes an example would use an IV in it.
#[test]
fn no_example_has_an_iv_in_it() {
    for command in ["encrypt", "decrypt", "keystream"] {
        let examples = examples(command);
        let mut words = examples.split_whitespace();
        assert!(!words.any(|word| word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit())), "{examples}");
    }
}

/// Otherwise cargo takes other versions of dependencies than the tested ones.
#[test]
fn what_the_pages_install_is_locked() {
    for page in [include_str!("../../README.md"), include_str!("../../docs/command-line.md")] {
        let installs: Vec<_> = page.lines().filter(|line| line.starts_with("cargo install ")).collect();
        assert!(!installs.is_empty() && installs.iter().all(|line| line.contains(" --locked ")), "{installs:?}");
    }
}

/// Who pastes the examples in the repository makes keys there.
#[test]
fn no_key_of_an_example_can_be_committed_by_mistake() {
    let ignored: Vec<_> = include_str!("../../.gitignore").lines().collect();
    let pages = [
        include_str!("../../README.md"),
        include_str!("../../docs/command-line.md"),
        include_str!("../../docs/generator.md"),
    ];
    for page in pages.into_iter().map(String::from).chain(["seal", "encrypt", "keystream"].map(examples)) {
        let made = page.lines().map(str::trim).filter(|line| line.starts_with("aes-bitslice keygen "));
        let keys: Vec<_> = made.map(|line| line.split_once(" -o ").unwrap().1.trim()).collect();
        assert!(!keys.is_empty());
        for key in keys {
            assert!(ignored.contains(&format!("/{key}").as_str()), "{key}");
        }
    }
}
