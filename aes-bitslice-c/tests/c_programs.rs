//! C programs, compiled with every warning and linked with the shared library: `all.c`, which calls nearly every function, `sealed.c`, which calls the others, and the examples in
//! `examples/c`. With `AES_BITSLICE_VALGRIND` they run under Valgrind.
#![cfg(target_os = "linux")]

mod common;

use std::env;
use std::os::unix::fs::symlink;
use std::process::Command;
use tempfile::TempDir;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Every error and every leak is a failure. The threads of the CPU engines still exist at the end, with the memory that they hold.
const VALGRIND: [&str; 4] = ["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"];

/// Compiles a program in its own folder and runs it there.
fn run(compiler: &str, standard: &str, source: &str, arguments: &[&str]) -> String {
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
    let mut command = Command::new(&program);
    if env::var_os("AES_BITSLICE_VALGRIND").is_some() {
        command = Command::new("valgrind");
        command.args(VALGRIND).arg(&program);
    }
    // Cargo's own library path would come first.
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

#[test]
fn keys_are_wiped() {
    let said = run(&compiler("CC", "cc"), "-std=c11", "tests/wiped.c", &["cpu", "cpu-bitsliced"]);
    assert!(said.contains("cpu-bitsliced: "), "{said}");
}

#[test]
fn threads_and_forks() {
    run(&compiler("CC", "cc"), "-std=c11", "tests/threads.c", &[]);
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
