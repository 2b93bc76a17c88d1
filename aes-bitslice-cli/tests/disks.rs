//! What is written to a disk, where nothing marks its end, and read from one; and files with something after their message.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Folder, IV, KEYS, PROGRAM, is_root, message, pipe, said, shell, skipped, strace};

/// A loop device on a file of this many bytes; detached when dropped.
struct Disk {
    device: String,
    file: PathBuf,
}

impl Disk {
    fn new(folder: &Path, name: &str, length: u64) -> Option<Self> {
        let file = folder.join(name);
        File::create(&file).unwrap().set_len(length).unwrap();
        let made = Command::new("losetup").args(["--find", "--show"]).arg(&file).output();
        match made {
            Ok(made) if is_root() && made.status.success() => {
                Some(Disk { device: String::from_utf8(made.stdout).unwrap().trim().into(), file })
            }
            _ => {
                skipped("no loop device can be made here");
                None
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.device).unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).output();
        let _ = &self.file;
    }
}

/// What the program prints on standard output, and on standard error; the exit code must be this.
fn run(folder: &Path, line: &str, code: i32) -> (Vec<u8>, String) {
    let mut shell = shell(&line.replace("RUN", PROGRAM));
    let output = pipe(shell.current_dir(folder).env("KEY", KEYS[2]).env("IV", IV), b"");
    assert_eq!(output.status.code(), Some(code), "{line}: {}", said(&output));
    (output.stdout.clone(), said(&output).into())
}

const MESSAGE: usize = (2 << 20) + 1234;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("in", message(MESSAGE));
    folder
}

/// The number of bytes after `--length ` at the end of a message.
fn length_in(told: &str) -> u64 {
    let (_, number) = told.trim_end().rsplit_once("--length ").unwrap_or_else(|| panic!("no length: {told}"));
    number.parse().unwrap()
}

#[test]
fn a_length_is_told_when_a_disk_is_written_and_taken_when_it_is_read() {
    let folder = folder();
    let Some(disk) = Disk::new(&folder, "disk", 4 << 20) else { return };
    let device = &disk.device;
    let options = "-b cpu --key-env KEY";
    for (write, read) in [
        ("seal", "open"),
        ("encrypt -m ctr", "decrypt -m ctr --iv stored"),
        ("encrypt -m ctr -i $IV", "decrypt -m ctr -i $IV"),
        ("encrypt -m cbc -p pkcs7", "decrypt -m cbc -p pkcs7 --iv stored"),
        ("encrypt -m ecb -p pkcs7", "decrypt -m ecb -p pkcs7"),
    ] {
        let write = format!("RUN {write} {options}");
        // As a file, as standard output, and from a pipe, whose length is not known before.
        for line in [
            format!("{write} --force -o {device} in"),
            format!("{write} in 1<>{device}"),
            format!("cat in | {write} --force -o {device}"),
        ] {
            let (_, told) = run(&folder, &line, 0);
            assert!(told.contains("nothing marks there where the output ends"), "{told}");
            let length = length_in(&told);
            let read = format!("RUN {read} {options} --length {length}");
            for line in [format!("{read} {device}"), format!("{read} <{device}")] {
                let (opened, told) = run(&folder, &line, 0);
                assert!(opened == message(MESSAGE) && told.is_empty(), "{line}: {told}");
            }
            let (_, told) = run(&folder, &format!("{read}0000 {device}"), 4);
            assert!(told.contains("has only 4194304 bytes"), "{told}");
        }
    }
    // Without the length, the error says what to do, unless the data is not at fault.
    fs::write(device, [0; 4096]).unwrap();
    let (_, told) = run(&folder, &format!("RUN open {options} {device}"), 1);
    assert!(told.contains("not a sealed file") && !told.contains("--length"), "{told}");
    let (_, told) = run(&folder, &format!("RUN seal {options} --force -o {device} in"), 0);
    let length = length_in(&told);
    for line in
        [format!("RUN open {options} -o out {device}"), format!("RUN open {options} --range 3000000..3000001 {device}")]
    {
        let (_, told) = run(&folder, &line, 1);
        assert!(told.contains("give their number with --length"), "{told}");
        assert!(!folder.join("out").exists());
    }
    let (part, _) = run(&folder, &format!("RUN open {options} --length {length} --range 5000.. {device}"), 0);
    assert!(part == message(MESSAGE)[5000..]);
    run(&folder, &format!("RUN encrypt -q {options} -m ctr -i $IV --force -o {device} in"), 0);
    let (_, told) = run(&folder, &format!("RUN decrypt {options} -m ctr -i $IV {device}"), 0);
    assert!(told.contains("give their number with --length"), "{told}");
    let (_, told) = run(&folder, &format!("RUN decrypt {options} -m ctr -i $IV -q {device}"), 0);
    assert!(told.is_empty(), "{told}");
    let (_, told) = run(&folder, &format!("RUN decrypt {options} -m cbc -p pkcs7 -i $IV -q {device}"), 1);
    assert!(told.contains("bad padding") && told.contains("give their number with --length"), "{told}");
}

/// Of a stream of one segment, the end is all that shows which of several keys opens it.
#[test]
fn a_short_stream_of_tinks_on_a_disk_needs_its_length() {
    let folder = folder();
    let Some(disk) = Disk::new(&folder, "disk", 1 << 20) else { return };
    let key = |id: u32, value: &str| {
        format!(
            r#"{{"keyData": {{"typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
            "value": "EggIgIBAECAYAxog{value}", "keyMaterialType": "SYMMETRIC"}}, "status": "ENABLED", "keyId": {id},
            "outputPrefixType": "RAW"}}"#
        )
    };
    let keys = [
        key(1, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        key(2, "Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="),
    ]
    .join(", ");
    let keyset = folder.join("keyset");
    fs::write(&keyset, format!(r#"{{"primaryKeyId": 1, "key": [{keys}]}}"#)).unwrap();
    fs::set_permissions(&keyset, fs::Permissions::from_mode(0o600)).unwrap();
    let (device, options) = (&disk.device, "-b cpu --keyset keyset --format tink");
    let (_, told) = run(&folder, &format!("head -c 1000 in | RUN seal {options} --force -o {device}"), 0);
    let length = length_in(&told);
    let (_, told) = run(&folder, &format!("RUN open {options} {device}"), 3);
    assert!(told.contains("no key of the keyset opens") && told.contains("give their number with --length"), "{told}");
    let (opened, _) = run(&folder, &format!("RUN open {options} --length {length} {device}"), 0);
    assert!(opened == message(MESSAGE)[..1000]);
}

/// It is the only word of it.
#[test]
fn a_length_is_told_even_if_no_warnings_are_wanted() {
    let folder = folder();
    let Some(disk) = Disk::new(&folder, "disk", 4 << 20) else { return };
    let device = &disk.device;
    for line in [
        format!("RUN seal -q -b cpu --key-env KEY --force -o {device} in"),
        format!("RUN seal -q -b cpu --key-env KEY in 1<>{device}"),
    ] {
        let (_, told) = run(&folder, &line, 0);
        assert_eq!(told.lines().count(), 1, "{told}");
        let line = format!("RUN open -q -b cpu --key-env KEY --length {} {device}", length_in(&told));
        assert!(run(&folder, &line, 0).0 == message(MESSAGE));
    }
}

#[test]
fn a_disk_is_synced() {
    let folder = folder();
    let Some(disk) = Disk::new(&folder, "disk", 4 << 20) else { return };
    let device = &disk.device;
    for line in [
        format!("RUN seal -b cpu --key-env KEY --force -o {device} in"),
        format!("RUN seal -b cpu --key-env KEY in 1<>{device}"),
    ] {
        let Some(mut strace) = strace("-y -e trace=fsync -o log") else { return };
        strace.args(["sh", "-c", &line.replace("RUN", PROGRAM)]).current_dir(&folder).env("KEY", KEYS[2]);
        let output = strace.output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        let log = fs::read_to_string(folder.join("log")).unwrap();
        let synced =
            |call: &str| call.contains("fsync(") && call.contains(&format!("<{device}")) && call.ends_with("= 0");
        assert!(log.lines().any(synced), "{line}: {log}");
    }
}

/// What fills a disk needs no length, and what does not fit changes nothing.
#[test]
fn a_disk_that_is_full_or_too_small() {
    let folder = folder();
    let Some(disk) = Disk::new(&folder, "disk", 1 << 20) else { return };
    let Some(copy) = Disk::new(&folder, "copy", 1 << 20) else { return };
    let (device, other) = (&disk.device, &copy.device);
    folder.write("full", message(1 << 20));
    let options = "-b cpu --key-env KEY";
    for (mode, other_mode) in [("-m ctr -i $IV", "-m ctr -i $IV"), ("-m ecb", "-m ecb")] {
        let (_, told) = run(&folder, &format!("RUN encrypt {options} {mode} --force -o {device} full"), 0);
        assert!(told.is_empty(), "{told}");
        run(&folder, &format!("RUN decrypt -q {options} {other_mode} --force -o {other} {device}"), 0);
        assert!(copy.bytes() == message(1 << 20));
    }
    // A block of padding comes off: it fits.
    run(&folder, &format!("RUN encrypt {options} -m ecb -p pkcs7 -o padded full"), 0);
    let (_, told) = run(&folder, &format!("RUN decrypt {options} -m ecb -p pkcs7 --force -o {other} padded"), 0);
    assert!(told.is_empty() && copy.bytes() == message(1 << 20), "{told}");
    let before = disk.bytes();
    for line in [
        format!("RUN encrypt {options} -m ecb -p pkcs7 --force -o {device} full"),
        format!("RUN encrypt {options} -m ctr --force -o {device} full"),
        format!("RUN encrypt {options} -m ctr -i $IV --force -o {device} in"),
        format!("RUN seal {options} full 1<>{device}"),
        format!("RUN keystream {options} -i $IV --bytes 1048577 --force -o {device}"),
    ] {
        let (_, told) = run(&folder, &line, 4);
        assert!(told.contains("it has room for 1048576 bytes, and the output has"), "{told}");
        assert!(disk.bytes() == before, "{line}");
    }
    // A disk is not written over itself, whatever it is called.
    for line in [
        format!("-o {device} {device}"),
        format!("{device} 1<>{device}"),
        format!("-o /dev/stdout {device} 1<>{device}"),
    ] {
        let (_, told) = run(&folder, &format!("RUN encrypt {options} -m ctr -i $IV --force {line}"), 4);
        assert!(told.contains("it is the input; write to another file"), "{told}");
    }
}

/// In the middle of a disk, too.
#[test]
fn a_length_counts_from_where_standard_output_stands() {
    let folder = folder();
    let Some(disk) = Disk::new(&folder, "disk", 4 << 20) else { return };
    let (device, skip) = (&disk.device, "dd bs=512 count=3 status=none");
    let line = format!("exec 1<>{device} 3</dev/zero; {skip} <&3; RUN seal -b cpu --key-env KEY in");
    let (_, told) = run(&folder, &line, 0);
    let length = length_in(&told);
    // The room counts from there, too.
    let before = disk.bytes();
    let line = format!("exec 1<>{device} 3</dev/zero; {skip} <&3; RUN encrypt -b cpu --key-env KEY -m ecb big");
    folder.write("big", message(4 << 20));
    let (_, told) = run(&folder, &line, 4);
    assert!(told.contains("it has room for 4192768 bytes, and the output has 4194304"), "{told}");
    assert!(disk.bytes() == before);
    let line = format!("exec <{device}; {skip} >/dev/null; RUN open -b cpu --key-env KEY --length {length}");
    assert!(run(&folder, &line, 0).0 == message(MESSAGE));
}

/// As programs that allocate before they write leave them.
#[test]
fn files_with_something_after_their_message() {
    let folder = folder();
    let file = folder.join("sealed");
    let options = "-b cpu --key-env KEY";
    run(&folder, &format!("RUN seal {options} -o sealed in"), 0);
    let length = fs::metadata(&file).unwrap().len();
    fs::OpenOptions::new().write(true).open(&file).unwrap().write_all_at(&[0; 5000], length).unwrap();
    let (_, told) = run(&folder, &format!("RUN open {options} sealed"), 1);
    let advice = "is damaged: the file was changed, cut off or extended, in this segment or after it; if the input goes on after the sealed \
                  data, give the number of bytes of that data with --length, or of a pipe with `head -c` in front";
    assert!(told.trim_end().ends_with(advice), "{told}");
    for line in [
        format!("RUN open {options} --length {length} sealed"),
        format!("RUN open {options} --length {length} --range .. <sealed"),
    ] {
        let (opened, told) = run(&folder, &line, 0);
        assert!(opened == message(MESSAGE) && told.is_empty(), "{told}");
    }
    // A shorter length is a cut, and one that only a pipe has is not known.
    let (_, told) = run(&folder, &format!("RUN open {options} --length {} sealed", length - 1), 1);
    assert!(!told.contains("--length"), "{told}");
    let (_, told) = run(&folder, &format!("cat sealed | RUN open {options} --length {length}"), 4);
    assert!(told.contains("`head -c 2098"), "{told}");
    let (_, told) = run(&folder, &format!("RUN decrypt {options} -m ctr --length 15 in"), 4);
    assert!(told.contains("shorter than the 16 bytes of an IV"), "{told}");
    let encrypt = format!("RUN encrypt {options} -m ctr -i $IV");
    let (all, _) = run(&folder, &format!("{encrypt} in"), 0);
    for length in [0, 1, 15, 16, 17, MESSAGE] {
        let (part, told) = run(&folder, &format!("{encrypt} --length {length} in"), 0);
        assert!(part == all[..length] && told.is_empty(), "{length}: {told}");
    }
    run(&folder, &format!("{encrypt} --length {} in", MESSAGE + 1), 4);
}
