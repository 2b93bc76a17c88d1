//! File systems that lack operations, as those of networks and of programs (FUSE) do: `strace` takes the operations away.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{Folder, IV, PROGRAM, bytes, message, names, program, said, strace, wait_for, wait_to_end};

const ENCRYPT: [&str; 9] = ["encrypt", "--mode", "ctr", "--backend", "cpu", "--key-env", "KEY", "--iv", IV];

/// A folder with a message.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("in", message(100_000));
    folder
}

/// Encrypts standard input, or a file named in `options`, to `out` in `folder`, where these calls end with this error; `None` without `strace`.
fn without(calls: &str, error: &str, options: &str, folder: &Path) -> Option<Command> {
    let mut strace = strace(&format!("-e trace={calls} -e inject={calls}:error={error} -o /dev/null"))?;
    strace.arg(PROGRAM).args(ENCRYPT).args(["-o", "out"]).args(options.split_whitespace());
    strace.current_dir(folder);
    Some(strace)
}

/// Checks that a command succeeded with these words on standard error, and left the ciphertext and nothing else.
fn check(output: Output, words: &str, folder: &Path) {
    assert!(output.status.success(), "{output:?}");
    assert_eq!(said(&output), words);
    let expected = bytes(program(&ENCRYPT.join(" ")), &message(100_000));
    assert!(fs::read(folder.join("out")).unwrap() == expected);
    assert_eq!(names(folder), ["in", "out"]);
}

#[test]
fn what_cannot_be_synced_is_not_and_what_fails_to_be_is_an_error() {
    let calls = "fsync,fdatasync";
    for error in ["EINVAL", "EOPNOTSUPP", "ENOSYS"] {
        let folder = folder();
        let Some(mut command) = without(calls, error, "in", &folder) else { return };
        check(command.output().unwrap(), "", &folder);
    }
    for error in ["EIO", "ENOSPC", "EDQUOT"] {
        let folder = folder();
        let output = without(calls, error, "in", &folder).unwrap().output().unwrap();
        assert_eq!((output.status.code(), names(&folder)), (Some(4), vec!["in".to_string()]), "{error}");
    }
}

/// A long stream is synced on the way, and does not wait for its end to tell that this failed.
#[test]
fn a_failure_to_sync_is_told_while_there_is_more_to_come() {
    let folder = Folder::new();
    let Some(mut command) = without("fdatasync", "EIO", "", &folder) else { return };
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may end before it has read all of that.
    let _ = stdin.write_all(&vec![0; 66 << 20]);
    wait_to_end(&mut child);
    let output = child.wait_with_output().unwrap();
    assert!(said(&output).contains("Input/output error"), "{output:?}");
    assert_eq!((output.status.code(), names(&folder)), (Some(4), Vec::new()));
}

/// Neither can a file be renamed unless another is there, nor linked. Linux has this error for missing links.
const NAMING: (&str, [&str; 3]) = ("renameat2,link,linkat", ["EPERM", "ENOSYS", "EOPNOTSUPP"]);

#[test]
fn a_file_gets_its_name_by_renaming_alone() {
    let (calls, errors) = NAMING;
    for error in errors {
        let folder = folder();
        let Some(mut command) = without(calls, error, "in", &folder) else { return };
        check(command.output().unwrap(), "", &folder);
    }
}

/// As in a folder to which names can only be added (`chattr +a`).
#[test]
fn a_file_gets_its_name_by_a_link_alone() {
    let folder = folder();
    let Some(mut command) = without("rename,renameat,renameat2", "EPERM", "in", &folder) else { return };
    check(command.output().unwrap(), "", &folder);
}

#[test]
fn a_file_that_gets_no_name_leaves_nothing() {
    let folder = folder();
    let calls = "rename,renameat,renameat2,link,linkat";
    let Some(mut command) = without(calls, "EPERM", "in", &folder) else { return };
    assert_eq!((command.output().unwrap().status.code(), names(&folder)), (Some(4), vec!["in".to_string()]));
}

#[test]
fn a_file_that_appears_meanwhile_is_not_replaced_by_renaming() {
    let (calls, errors) = NAMING;
    for error in errors {
        let folder = folder();
        let Some(mut command) = without(calls, error, "", &folder) else { return };
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"a message").unwrap();
        wait_for(&mut child, || names(&folder).len() > 1);
        folder.write("out", "of another program");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(4));
        let words = "aes-bitslice: error: cannot write `out`: a file with this name was created in the meantime\n";
        assert_eq!(said(&output), words);
        assert_eq!(folder.read("out"), b"of another program");
        assert_eq!(names(&folder), ["in", "out"]);
    }
}

#[test]
fn a_replaced_file_is_no_more_open_where_modes_cannot_be_changed() {
    let warning = "aes-bitslice: warning: `out`: owner, group, mode or access list of the file that was there could not be kept; it is no \
                   more open than before\n";
    for error in ["EPERM", "ENOSYS", "EOPNOTSUPP"] {
        for (mode, words) in [(0o600, ""), (0o644, warning)] {
            let folder = folder();
            let out = folder.join("out");
            fs::write(&out, "what was here before").unwrap();
            fs::set_permissions(&out, fs::Permissions::from_mode(mode)).unwrap();
            let Some(mut command) = without("fchmod", error, "--force in", &folder) else { return };
            check(command.output().unwrap(), words, &folder);
            assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // New files are their owner's alone until then, so that nothing but an older mode can be narrower.
        let folder = folder();
        let out = folder.join("out");
        fs::write(&out, "what was here before").unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(0o400)).unwrap();
        let output = without("fchmod", error, "--force in", &folder).unwrap().output().unwrap();
        assert_eq!((output.status.code(), fs::read(&out).unwrap()), (Some(4), b"what was here before".to_vec()));
        assert_eq!(names(&folder), ["in", "out"]);
    }
}
