//! Programs in C, compiled with every warning and linked with the shared library: `all.c` calls every function, the examples are those
//! of `examples/c`. CI runs them under Valgrind, too.
#![cfg(target_os = "linux")]

mod common;

use std::env;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Compiles a program in a folder of its own and runs it there.
fn run(compiler: &str, standard: &str, source: &str, arguments: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    // The names by which programs are linked, and by which they are run.
    for name in ["libaes_bitslice.so", "libaes_bitslice.so.1"] {
        symlink(common::library(), folder.path().join(name)).unwrap();
    }
    let rpath = format!("-Wl,-rpath,{}", folder.path().display());
    let mut command = Command::new(compiler);
    command.args([standard, "-g", "-pthread"]).args(WARNINGS).arg("-I").arg(common::file("include"));
    command.arg(common::file(source)).arg("-o").arg(folder.path().join("program"));
    done(command.arg("-L").arg(folder.path()).args([&rpath, "-laes_bitslice"]));
    done(Command::new(folder.path().join("program")).args(arguments).current_dir(folder.path()))
}

/// What a command says, which has to succeed.
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
fn the_example_in_c() {
    let said = run(&compiler("CC", "cc"), "-std=c11", "../examples/c/message.c", &["cpu"]);
    assert!(said.contains("authentic"), "{said}");
}

#[test]
fn the_example_in_cpp() {
    let compiler = compiler("CXX", "c++");
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("there is no C++ compiler `{compiler}`: not compiled");
        return;
    }
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let said = run(&compiler, "-std=c++17", "../examples/c/archive.cpp", &[input.to_str().unwrap()]);
    assert!(said.contains("the same"), "{said}");
}
