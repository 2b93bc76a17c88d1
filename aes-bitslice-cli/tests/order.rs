//! The order of system calls, as `strace` shows it: a file is on the disk before it has its name, and its name is there before the program
//! ends.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs;

use common::{Folder, IV, PROGRAM, message, strace};

#[test]
fn an_output_is_synced_then_named_and_then_its_folder_is_synced() {
    let folder = Folder::new();
    let path = fs::canonicalize(&folder).unwrap();
    fs::write(path.join("in"), message(100_000)).unwrap();
    fs::create_dir(path.join("out")).unwrap();
    let encrypt = format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY");
    for (arguments, name, of) in [
        (format!("{encrypt} -o new in"), "new", "."),
        (format!("{encrypt} --write-by map -o mapped in"), "mapped", "."),
        (format!("{encrypt} --force -o new in"), "new", "."),
        (format!("{encrypt} --out-dir out in"), "in", "out"),
        (format!("{encrypt} --force --out-dir out in"), "in", "out"),
        (format!("keystream --key-env KEY --iv {IV} --bytes 1000 -b cpu -o stream"), "stream", "."),
        ("keygen --bits 256 -o key".into(), "key", "."),
        ("seal -k key -o sealed in".into(), "sealed", "."),
        ("open -k key -o opened sealed".into(), "opened", "."),
    ] {
        let calls = "trace=fsync,rename,renameat,renameat2,link,linkat";
        let Some(mut strace) = strace(&format!("-y -s 4096 -e {calls} -o log")) else { return };
        strace.arg(PROGRAM).args(arguments.split_whitespace()).current_dir(&path);
        let output = strace.output().unwrap();
        assert!(output.status.success(), "{arguments}: {output:?}");
        let log = fs::read_to_string(path.join("log")).unwrap();
        let folder = fs::canonicalize(path.join(of)).unwrap();
        let (temporary, folder) = (format!("<{}/.aes-bitslice-", folder.display()), format!("<{}>", folder.display()));
        let named = format!("{name}\"");
        let steps: Vec<&str> = log
            .lines()
            .filter_map(|line| match line {
                _ if line.contains("fsync(") && line.contains(&temporary) => Some("file synced"),
                _ if line.contains("fsync(") && line.contains(&folder) => Some("folder synced"),
                _ if line.contains(&named) && !line.contains(" = -1 ") => Some("named"),
                _ => None,
            })
            .collect();
        assert_eq!(steps, ["file synced", "named", "folder synced"], "{arguments}: {log}");
    }
}
