//! C programs, compiled with every warning and linked with the shared library: `all.c`, which calls nearly every function,
//! `sealed.c`, which calls the others, `vectors.c`, which runs published vectors, and the examples in `examples/c`. With
//! `AES_BITSLICE_VALGRIND` they run under Valgrind, with `AES_BITSLICE_RUN_BY` by the program that it names, an emulator, say,
//! with its options.
#![cfg(target_os = "linux")]

mod common;

use aes_bitslice_tests::environment::{RUN_BY, all_or, sample};
use aes_bitslice_tests::vectors::{self, Case};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;
use tempfile::TempDir;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Every error and every leak is a failure. The threads of the CPU engines still exist at the end, with the memory that they hold.
const VALGRIND: [&str; 4] = ["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"];

/// Compiles a program in its own folder and runs it there.
fn run(compiler: &str, standard: &str, source: &str, arguments: &[&str]) -> String {
    let named = env::var(RUN_BY).unwrap_or_default();
    let by = match env::var_os("AES_BITSLICE_VALGRIND") {
        Some(_) => [&["valgrind"], &VALGRIND[..]].concat(),
        None => named.split_whitespace().collect(),
    };
    run_by(&by, compiler, standard, source, arguments)
}

/// Compiles a program in its own folder and runs it there, by another program with its options, if one is given.
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

/// A case as `vectors.c` reads it.
fn line(case: &Case) -> String {
    let digits = |bytes: &[u8]| if bytes.is_empty() { "-".to_owned() } else { hex::encode(bytes) };
    let bytes =
        [&case.key, &case.iv, &case.aad, &case.plaintext, &case.ciphertext, &case.tag].map(|bytes| digits(bytes));
    format!("{} {} {} {}\n", case.source.replace(' ', "_"), case.mode, u8::from(case.valid), bytes.join(" "))
}

/// A case as one of the library for C, unless it is a round of a Monte Carlo test. CTR keeps its whole bytes.
fn for_c(mut case: Case) -> Option<Case> {
    if case.mode == "ctr" {
        let bytes = case.bits.take().unwrap_or(8 * case.plaintext.len()) / 8;
        case.plaintext.truncate(bytes);
        case.ciphertext.truncate(bytes);
    }
    (!case.mode.ends_with("monte-carlo")).then_some(case)
}

/// Those that the library has a function for, and for each mode one with a changed digit in each of its fields in turn,
/// which must fail.
#[test]
fn published_vectors() {
    let slow = ["AES_BITSLICE_VALGRIND", RUN_BY].iter().any(|by| env::var_os(by).is_some());
    let all: Vec<Case> =
        vectors::FILES.iter().flat_map(|(file, _)| vectors::for_engines(file)).filter_map(for_c).collect();
    let cases: Vec<&Case> = sample(0, if slow { 97 } else { all_or(1, 7) }, &all).collect();
    let mut changed = vec![];
    for mode in ["ecb", "cbc", "ctr", "xts", "gcm", "gcm-siv", "gmac", "cmac"] {
        let of_mode = |case: &&Case| case.mode == mode && case.valid && case.plaintext.len() + case.aad.len() > 0;
        let case = all.iter().find(of_mode).expect("one of each mode");
        let fields: [fn(&mut Case) -> &mut Vec<u8>; 6] = [
            |case| &mut case.key,
            |case| &mut case.iv,
            |case| &mut case.aad,
            |case| &mut case.plaintext,
            |case| &mut case.ciphertext,
            |case| &mut case.tag,
        ];
        for (n, field) in fields.iter().enumerate() {
            let mut case = Case { source: format!("{mode}-changed-{n}"), ..case.clone() };
            if let Some(byte) = field(&mut case).first_mut() {
                *byte ^= 1;
                changed.push(case);
            }
        }
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("vectors");
    fs::write(&path, cases.iter().copied().chain(&changed).map(line).collect::<String>()).unwrap();
    let engines = ["cpu", "cpu-bitsliced"];
    let arguments = [&[path.to_str().unwrap()], &engines[..]].concat();
    let said = run(&compiler("CC", "cc"), "-std=c11", "tests/vectors.c", &arguments);
    let expected = engines.map(|engine| {
        let fails = changed.iter().map(|case| format!("{} fails on {engine}\n", case.source)).collect::<String>();
        format!("{fails}{} cases on {engine}\n", cases.len() + changed.len())
    });
    assert_eq!(said, expected.concat());
}

#[test]
fn sealed_data_in_files_memory_and_functions() {
    let folder = TempDir::new().unwrap();
    let vectors = common::file("../../tests/vectors/sealed");
    let file = folder.path().join("disk");
    File::create(&file).unwrap().set_len(4 << 20).unwrap();
    let losetup = |arguments: &[&str]| Command::new("losetup").args(arguments).output();
    let made = losetup(&["--find", "--show", file.to_str().unwrap()]).ok().filter(|made| made.status.success());
    let device = made.map(|made| String::from_utf8(made.stdout).unwrap().trim().to_owned());
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    let mut arguments = vec![files.to_str().unwrap(), vectors.to_str().unwrap()];
    match &device {
        Some(device) => arguments.push(device),
        None => eprintln!("SKIPPED: no loop device can be made here"),
    }
    let said = std::panic::catch_unwind(|| run(&compiler("CC", "cc"), "-std=c11", "tests/sealed.c", &arguments));
    device.iter().for_each(|device| drop(losetup(&["--detach", device])));
    let said = said.unwrap_or_else(|failed| std::panic::resume_unwind(failed));
    assert!(said.contains("all checks passed"), "{said}");
}

/// From and to folders with spaces in their names; what is installed there need not be libraries.
#[test]
fn paths_with_spaces() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    symlink(common::file("../.."), at("a clone")).unwrap();
    fs::create_dir(at("what is built")).unwrap();
    for name in ["libaes_bitslice.so", "libaes_bitslice.a"] {
        fs::write(at("what is built/") + name, "").unwrap();
    }
    let mut make = Command::new("make");
    make.args(["-f", &at("a clone/bindings/c/Makefile"), &format!("BUILT={}", at("what is built"))]);
    make.arg(format!("prefix={}", at("a prefix")));
    let made = make.arg("install").output().unwrap();
    assert!(made.status.success(), "{made:?}");
    for name in ["lib/libaes_bitslice.so", "lib/libaes_bitslice.a", "include/aes_bitslice.h"] {
        assert!(fs::exists(at("a prefix/") + name).unwrap(), "{name}");
    }
    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "aes_bitslice"]).env("PKG_CONFIG_PATH", at("a prefix/lib/pkgconfig"));
    let found = String::from_utf8(flags.output().unwrap().stdout).unwrap();
    let (include, lib) = (at("a\\ prefix/include"), at("a\\ prefix/lib"));
    assert_eq!(found.trim(), format!("-I{include} -L{lib} -laes_bitslice"));
    make.arg("uninstall");
    let removed =
        Command::new("make").args(make.get_args().filter(|argument| *argument != "install")).output().unwrap();
    assert!(removed.status.success() && !fs::exists(at("a prefix/include/aes_bitslice.h")).unwrap(), "{removed:?}");
}

/// As `strace` shows it: each file is on the disk before it has its name, and its name is there before the call ends.
#[test]
fn a_file_is_synced_then_named_and_then_its_folder_is_synced() {
    let folder = TempDir::new().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap();
    let (files, logs) = (path.join("files"), path.join("logs"));
    fs::create_dir(&files).unwrap();
    fs::create_dir(&logs).unwrap();
    let calls = "trace=fsync,rename,renameat,renameat2,link,linkat";
    // A file for each thread: in one for all, a call is cut where another thread's comes between its start and its end.
    let log = logs.join("of");
    let strace = ["strace", "-ff", "-y", "-s", "4096", "-e", calls, "-o", log.to_str().unwrap()];
    let can_trace = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !can_trace.is_ok_and(|traced| traced.status.success()) {
        eprintln!("SKIPPED: `strace` is not installed, or must not trace here");
        return;
    }
    let vectors = common::file("../../tests/vectors/sealed");
    let arguments = [files.to_str().unwrap(), vectors.to_str().unwrap()];
    run_by(&strace, &compiler("CC", "cc"), "-std=c11", "tests/sealed.c", &arguments);
    let logs = fs::read_dir(logs).unwrap();
    let log: String = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap()).collect();
    let (temporary, folder) = (format!("<{}/.aes-bitslice-", files.display()), format!("<{}>", files.display()));
    let named = format!("\"{}/.aes-bitslice-", files.display());
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

/// Runs a program in which Valgrind looks for errors, not for leaks.
fn run_with_leaks(source: &str) -> String {
    let cc = compiler("CC", "cc");
    if env::var_os("AES_BITSLICE_VALGRIND").is_some() {
        run_by(&[&["valgrind"], &VALGRIND[..], &["--leak-check=no"]].concat(), &cc, "-std=c11", source, &[])
    } else {
        run(&cc, "-std=c11", source, &[])
    }
}

#[test]
fn threads_and_forks() {
    // A forked process has the memory of threads that it does not have: what Valgrind calls lost there.
    run_with_leaks("tests/threads.c");
}

#[test]
fn ends_of_threads_and_of_the_process() {
    // What the standard library makes for a thread whose values are gone already, such as for a channel that has to wait, is never freed.
    let said = run_with_leaks("tests/ending.c");
    assert!(said.contains("all checks passed"), "{said}");
}

#[test]
fn the_example_in_c() {
    let said = run(&compiler("CC", "cc"), "-std=c11", "../../examples/c/message.c", &["cpu"]);
    assert!(said.contains("authentic"), "{said}");
}

#[test]
#[ignore = "needs a C++ compiler"]
fn the_example_in_cpp() {
    let input = common::file("Cargo.toml");
    let said = run(&compiler("CXX", "c++"), "-std=c++17", "../../examples/c/archive.cpp", &[input.to_str().unwrap()]);
    assert!(said.contains("the same"), "{said}");
}
