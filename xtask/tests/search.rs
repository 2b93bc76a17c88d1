//! `cargo xtask search` as a process: the file it continues from, and the files it writes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn search(root: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("search").args(arguments).env("CARGO_MANIFEST_DIR", root.join("xtask"));
    command.output().unwrap()
}

fn error_line(output: &Output) -> String {
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(output.status.code() == Some(1) && errors.lines().count() == 1, "{errors}");
    errors
}

#[test]
fn a_search_keeps_its_netlists_and_goes_on_from_them() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("best.json");
    let state = state.to_str().unwrap();
    let short = ["--seconds", "1", "--threads", "1", "--target", "mix-columns", "--state", state];
    let first = search(folder.path(), &short);
    let table = String::from_utf8(first.stdout).unwrap();
    assert!(first.status.success() && table.contains("MixColumns, AddRoundKey"), "{table}");
    let saved = fs::read_to_string(state).unwrap();

    // Printing the state changes nothing; continuing does not lose it.
    let printed = search(folder.path(), &["--seconds", "0", "--state", state]);
    assert!(printed.status.success() && fs::read_to_string(state).unwrap() == saved);
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), table);
    assert!(search(folder.path(), &short).status.success());
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["best.json"], "no temporary file is left");

    // A file with a fault in a netlist is refused and stays as it is.
    let faulty = saved.replacen("LUT3(0x96", "LUT3(0x97", 1);
    fs::write(state, &faulty).unwrap();
    let error = error_line(&search(folder.path(), &short));
    assert!(error.contains("cannot go on from") && error.contains("best.json"), "{error}");
    assert_eq!(fs::read_to_string(state).unwrap(), faulty);
}

#[test]
fn without_the_generator_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let error = error_line(&search(folder.path(), &["--seconds", "0", "--write"]));
    assert!(error.contains("no generator"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let usage = search(folder.path(), &["--target", "everything"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(String::from_utf8(usage.stderr).unwrap().contains("inverse-basis"));
}

#[test]
fn nothing_better_than_what_is_stored_changes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let circuits = folder.path().join("aes-bitslice-gen/src/sbox/circuits");
    fs::create_dir_all(&circuits).unwrap();
    let output = search(folder.path(), &["--seconds", "0", "--write"]);
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("no file is changed"));
    assert_eq!(fs::read_dir(&circuits).unwrap().count(), 0);
}
