//! C programs, compiled with every warning and linked with the shared library: `all.c`, which calls nearly every function, `sealed.c`, which calls the others, and the examples in
//! `examples/c`. With `AES_BITSLICE_VALGRIND` they run under Valgrind.
#![cfg(target_os = "linux")]

mod common;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use tempfile::TempDir;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Every error and every leak is a failure. The threads of the CPU engines still exist at the end, with the memory that they hold.
const VALGRIND: [&str; 4] = ["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"];

/// Compiles a program in its own folder and runs it there.
fn run(compiler: &str, standard: &str, source: &str, arguments: &[&str]) -> String {
    let valgrind = env::var_os("AES_BITSLICE_VALGRIND").map(|_| [&["valgrind"], &VALGRIND[..]].concat());
    run_by(&valgrind.unwrap_or_default(), compiler, standard, source, arguments)
}

/// The same, by another program with its options, if one is given.
fn run_by(by: &[&str], compiler: &str, standard: &str, source: &str, arguments: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    // The names that the linker and the loader look for.
    for name in ["libaes_bitslice.so", "libaes_bitslice.so.1"] {
        symlink(common::library(), folder.path().join(name)).unwrap();
    }
    let mut command = Command::new(compiler);
    command.args([standard, "-g", "-pthread"]).args(WARNINGS).arg("-I").arg(common::file("include"));
    command.arg(common::file(source)).arg("-o").arg(folder.path().join("program"));
    done(command.arg("-L").arg(folder.path()).arg("-laes_bitslice"));
    let program = folder.path().join("program");
    // Cargo's own library path would come first.
    let mut command = Command::new(by.first().map_or(program.as_os_str(), OsStr::new));
    if let [_, options @ ..] = by {
        command.args(options).arg(&program);
    }
    done(command.args(arguments).current_dir(folder.path()).env("LD_LIBRARY_PATH", folder.path()))
}

/// Runs a command, which must succeed, and returns its output.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    said
}

fn compiler(variable: &str, default: &str) -> String {
    env::var(variable).unwrap_or_else(|_| default.to_owned())
}

#[test]
fn every_function_and_every_error() {
    let folder = TempDir::new().unwrap();
    let files = folder.path().to_str().unwrap();
    let said = run(&compiler("CC", "cc"), "-std=c11", "tests/all.c", &[files, "cpu", "cpu-bitsliced"]);
    assert!(said.contains("cpu-bitsliced: "), "{said}");
}

#[test]
fn sealed_data_in_files_memory_and_functions() {
    let folder = TempDir::new().unwrap();
    let vectors = common::file("../tests/vectors/sealed");
    let arguments = [folder.path().to_str().unwrap(), vectors.to_str().unwrap()];
    let said = run(&compiler("CC", "cc"), "-std=c11", "tests/sealed.c", &arguments);
    assert!(said.contains("all checks passed"), "{said}");
}

/// As `strace` shows it: each file is on the disk before it has its name, and its name is there before the call ends.
#[test]
fn a_file_is_synced_then_named_and_then_its_folder_is_synced() {
    let folder = TempDir::new().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap();
    let (files, log) = (path.join("files"), path.join("log"));
    fs::create_dir(&files).unwrap();
    let calls = "trace=fsync,rename,renameat,renameat2,link,linkat";
    let strace = ["strace", "-f", "-y", "-s", "4096", "-e", calls, "-o", log.to_str().unwrap()];
    let can_trace = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !can_trace.is_ok_and(|traced| traced.status.success()) {
        eprintln!("SKIPPED: `strace` is not installed, or must not trace here");
        return;
    }
    let vectors = common::file("../tests/vectors/sealed");
    let arguments = [files.to_str().unwrap(), vectors.to_str().unwrap()];
    run_by(&strace, &compiler("CC", "cc"), "-std=c11", "tests/sealed.c", &arguments);
    let log = fs::read_to_string(log).unwrap();
    let (temporary, folder) = (format!("<{}/.aes-bitslice-", files.display()), format!("<{}>", files.display()));
    let named = format!("{}/sealed\"", files.display());
    let steps: Vec<&str> = log
        .lines()
        .filter_map(|line| match line {
            _ if line.contains("fsync(") && line.contains(&temporary) => Some("file synced"),
            _ if line.contains("fsync(") && line.contains(&folder) => Some("folder synced"),
            _ if line.contains(&named) && line.ends_with("= 0") => Some("named"),
            _ => None,
        })
        .collect();
    let orders: Vec<_> = steps.chunks(3).collect();
    assert!(
        orders.len() >= 3 && orders.iter().all(|order| order == &["file synced", "named", "folder synced"]),
        "{log}"
    );
}

#[test]
fn keys_are_wiped() {
    let said = run(&compiler("CC", "cc"), "-std=c11", "tests/wiped.c", &["cpu", "cpu-bitsliced"]);
    assert!(said.contains("cpu-bitsliced: "), "{said}");
}

#[test]
fn threads_and_forks() {
    // A forked process has the memory of threads that it does not have: what Valgrind calls lost there.
    let valgrind =
        env::var_os("AES_BITSLICE_VALGRIND").map(|_| [&["valgrind"], &VALGRIND[..], &["--leak-check=no"]].concat());
    run_by(&valgrind.unwrap_or_default(), &compiler("CC", "cc"), "-std=c11", "tests/threads.c", &[]);
}

#[test]
fn the_example_in_c() {
    let said = run(&compiler("CC", "cc"), "-std=c11", "../examples/c/message.c", &["cpu"]);
    assert!(said.contains("authentic"), "{said}");
}

#[test]
#[ignore = "needs a C++ compiler"]
fn the_example_in_cpp() {
    let input = common::file("Cargo.toml");
    let said = run(&compiler("CXX", "c++"), "-std=c++17", "../examples/c/archive.cpp", &[input.to_str().unwrap()]);
    assert!(said.contains("the same"), "{said}");
}
