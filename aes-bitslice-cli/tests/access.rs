//! Who may use what the command line writes: never more users than before, or than may use the input.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Folder, IV, KEYS, PROGRAM, bytes, install, is_root, program, said, shell, skipped};
use rustix::fs::{XattrFlags, getxattr, setxattr};

/// A user and a group that own nothing here.
const OTHER: u32 = 54_321;

/// Where Linux keeps access lists, and the list that new files of a folder get.
const LIST: &str = "system.posix_acl_access";
const DEFAULT_LIST: &str = "system.posix_acl_default";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn make(path: &Path, mode: u32) {
    fs::write(path, "what was here before").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// An access list in Linux's form: tag, permissions and number of each entry.
fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let entry =
        |&(tag, may, who): &(u16, u16, u32)| [&tag.to_le_bytes()[..], &may.to_le_bytes(), &who.to_le_bytes()].concat();
    [2_u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
}

const NOBODY: u32 = u32::MAX;

/// The owner reads and writes, one other user reads, the group must not.
fn reader() -> Vec<u8> {
    list(&[(0x01, 6, NOBODY), (0x02, 4, OTHER), (0x04, 0, NOBODY), (0x10, 4, NOBODY), (0x20, 0, NOBODY)])
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 1 << 10];
    let length = getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    let set = setxattr(path, name, value, XattrFlags::empty()).is_ok();
    if !set {
        skipped("the file system has no access lists");
    }
    set
}

/// Replaces `file` with the encryption of `in`.
fn replace(folder: &Path) -> Command {
    let mut command = program(&format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY --force -o file in"));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("in", [7; 100]);
    folder
}

#[test]
fn a_replaced_file_keeps_its_owner_and_group() {
    if !is_root() {
        skipped("only root can give files to others");
        return;
    }
    let folder = folder();
    let file = folder.join("file");
    make(&file, 0o640);
    chown(&file, Some(OTHER), Some(OTHER + 1)).unwrap();
    bytes(replace(&folder), b"");
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.len()), (OTHER, OTHER + 1, 100));
    assert_eq!(mode(&file), 0o640);
}

/// The folder belongs to another user, who may replace files there, but give none to the group.
#[test]
fn a_file_that_cannot_keep_its_group_lets_nobody_else_in() {
    if !is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        skipped("only root can become another user, with `setpriv`");
        return;
    }
    for (before, after) in [(0o640, 0o600), (0o604, 0o600), (0o664, 0o644)] {
        let folder = folder();
        let copy = folder.join("program");
        install(Path::new(PROGRAM), &copy);
        let file = folder.join("file");
        make(&file, before);
        chown(&file, Some(OTHER), Some(OTHER + 1)).unwrap();
        chown(&folder, Some(OTHER), Some(OTHER)).unwrap();
        let (user, group) = (format!("--reuid={OTHER}"), format!("--regid={OTHER}"));
        let mut setpriv = Command::new("setpriv");
        setpriv.args([&user, &group, "--clear-groups"]).arg(&copy).args(replace(&folder).get_args());
        let output = setpriv.env("KEY", KEYS[0]).current_dir(&folder).output().unwrap();
        let warning = "aes-bitslice: warning: `file`: owner, group, mode or access list of the file that was there could not \
                       be kept; it is no more open than before\n";
        assert!(output.status.success(), "{output:?}");
        assert_eq!(said(&output), warning);
        let metadata = fs::metadata(&file).unwrap();
        assert_eq!((metadata.uid(), metadata.gid(), mode(&file)), (OTHER, OTHER, after), "{before:o}");
    }
}

#[test]
fn a_replaced_file_keeps_its_access_list() {
    let folder = folder();
    let file = folder.join("file");
    make(&file, 0o600);
    if !set(&file, LIST, &reader()) {
        return;
    }
    assert_eq!(mode(&file), 0o640, "the mode shows the mask, not the group");
    bytes(replace(&folder), b"");
    assert_eq!((get(&file, LIST), mode(&file)), (Some(reader()), 0o640));
}

/// A folder gives new files a list; the file that is replaced had none.
#[test]
fn a_replaced_file_gets_no_access_list() {
    let folder = folder();
    let file = folder.join("file");
    make(&file, 0o640);
    if !set(&folder, DEFAULT_LIST, &reader()) {
        return;
    }
    bytes(replace(&folder), b"");
    assert_eq!((get(&file, LIST), mode(&file)), (None, 0o640));
}

/// A user who may not use the input may not use the output made from it.
#[test]
fn a_new_file_is_no_more_open_than_its_input() {
    for (of_input, of_output) in [(0o600, 0o600), (0o400, 0o400), (0o640, 0o640), (0o644, 0o644), (0o777, 0o644)] {
        let folder = folder();
        fs::set_permissions(folder.join("in"), fs::Permissions::from_mode(of_input)).unwrap();
        fs::create_dir(folder.join("out")).unwrap();
        let encrypt = format!("{PROGRAM} encrypt --mode ctr --iv random --backend cpu --key-env KEY");
        let decrypt = format!("{PROGRAM} decrypt --mode ctr --iv stored --backend cpu --key-env KEY");
        for line in [
            format!("{encrypt} -o enc in"),
            format!("{encrypt} -o from-stdin <in"),
            format!("{encrypt} --out-dir out in"),
            format!("{decrypt} -o dec enc"),
        ] {
            bytes(shell(&format!("umask 022; {line}")).current_dir(&folder), b"");
        }
        for name in ["enc", "from-stdin", "out/in", "dec"] {
            assert_eq!(mode(&folder.join(name)), of_output, "{name} of {of_input:o}");
        }
    }
    // A pipe does not say who may read what comes through it.
    let folder = folder();
    let line =
        format!("umask 022; cat in | {PROGRAM} encrypt --mode ctr --backend cpu --iv random --key-env KEY -o enc");
    bytes(shell(&line).current_dir(&folder), b"");
    assert_eq!(mode(&folder.join("enc")), 0o644);
}

#[test]
fn a_new_file_is_not_for_another_group_than_its_input() {
    if !is_root() {
        skipped("only root can give files to others");
        return;
    }
    let folder = folder();
    let encrypt = format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY in -o");
    let run = |name: &str| {
        let line = format!("umask 002; {PROGRAM} {encrypt} {name}");
        bytes(shell(&line).current_dir(&folder), b"");
        mode(&folder.join(name))
    };
    chown(folder.join("in"), None, Some(OTHER)).unwrap();
    fs::set_permissions(folder.join("in"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(run("new"), 0o600);
    fs::set_permissions(folder.join("in"), fs::Permissions::from_mode(0o664)).unwrap();
    assert_eq!(run("newer"), 0o644);
    chown(folder.join("in"), None, Some(fs::metadata(folder.join("new")).unwrap().gid())).unwrap();
    assert_eq!(run("newest"), 0o664);
    if set(&folder.join("in"), LIST, &reader()) {
        assert_eq!(run("last"), 0o600);
    }
}

/// While it is written, a file is its owner's alone, however open the file that it replaces.
#[test]
fn an_unfinished_file_is_private() {
    let folder = folder();
    let file = folder.join("file");
    make(&file, 0o666);
    let mut command = program(&format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY --force -o file"));
    command.current_dir(&folder).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let temporary = || {
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.file_name().unwrap().as_encoded_bytes().starts_with(b".aes-bitslice-")).collect()
    };
    common::wait_for(&mut child, || {
        let found: Vec<_> = temporary();
        found.len() == 1
    });
    let found: Vec<_> = temporary();
    assert_eq!(mode(&found[0]), 0o600);
    assert!(child.wait().unwrap().success());
    assert_eq!(mode(&file), 0o666);
}

/// If others can write a key, they know it.
#[test]
fn what_holds_a_key_and_is_open_to_others_is_told() {
    let folder = folder();
    folder.write("key", KEYS[0]);
    for (mode, what) in [
        (0o600, ""),
        (0o711, ""),
        (0o640, "read"),
        (0o604, "read"),
        (0o620, "written"),
        (0o602, "written"),
        (0o642, "read and written"),
        (0o624, "read and written"),
    ] {
        fs::set_permissions(folder.join("key"), fs::Permissions::from_mode(mode)).unwrap();
        let arguments = format!("encrypt --mode ctr --iv {IV} --backend cpu --key-file key -o /dev/null in");
        let output = program(&arguments).current_dir(&folder).output().unwrap();
        let told = match what {
            "" => String::new(),
            _ => format!("aes-bitslice: warning: key file `key` can be {what} by other users; run `chmod 600` on it\n"),
        };
        assert_eq!((output.status.code(), said(&output)), (Some(0), &*told), "{mode:o}");
    }
}

#[test]
fn a_terminal_device_is_not_asked_who_may_use_it() {
    let null = OpenOptions::new().write(true).open("/dev/null").unwrap();
    let folder = folder();
    let mut command = program(&format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY -o new /dev/null"));
    let status = command.current_dir(&folder).stdout(null).status().unwrap();
    assert!(status.success());
    assert_eq!(File::open(folder.join("new")).unwrap().metadata().unwrap().len(), 0);
}
