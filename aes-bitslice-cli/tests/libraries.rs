//! Which libraries of devices a command loads: those of the engines that it is asked for. What a processor does needs none, so no driver can
//! keep it from working.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![forbid(unsafe_code)]

mod common;

use common::{Folder, KEYS, program, said};

/// As the loader looks for them, whether they are there or not.
const LIBRARIES: [&str; 3] = ["libcuda", "libOpenCL", "libnvrtc"];

#[test]
fn a_processor_needs_no_library_of_a_device() {
    let folder = Folder::new();
    folder.write("in", [7; 32]);
    let looked_for = |arguments: &str| {
        let mut command = program(arguments);
        // The loader of the C library tells what it looks for.
        command.env("LD_DEBUG", "libs").env("KEY", KEYS[2]).current_dir(&folder);
        let output = command.output().unwrap();
        let told = said(&output);
        assert!(told.contains("find library=libc.so"), "{arguments}: {told}");
        LIBRARIES.map(|library| told.contains(&format!("find library={library}")))
    };
    let bench = "bench --modes ctr --key-bits 128 --sizes 16 --runs 1 --force";
    for arguments in [
        "--help",
        "keygen -o key",
        "encrypt --mode ctr --backend cpu --key-env KEY -o raw in",
        "decrypt --mode ctr --backend cpu-bitsliced --key-env KEY -o again raw",
        "keystream --bytes 16 --backend cpu --key-env KEY -o stream",
        "seal --key-env KEY -o sealed in",
        "open --key-env KEY -o opened sealed",
        &format!("{bench} --backends cpu,cpu-bitsliced --json rates.json"),
        "bench --plot-from rates.json --plot rates.svg",
    ] {
        assert_eq!(looked_for(arguments), [false; 3], "{arguments}");
    }
    assert_eq!(folder.read("opened"), [7; 32]);
    assert!(folder.join("rates.svg").exists() && folder.join("again").exists());
    // The loader does tell, and each driver is looked for where it is asked for.
    // A platform of OpenCL may load that of CUDA.
    assert!(looked_for(&format!("{bench} --backends opencl"))[1]);
    assert!(looked_for(&format!("{bench} --backends cuda"))[0]);
}
