//! Checks what `auto` loads into the process: nothing of OpenCL where the processor's AES instructions are faster than any OpenCL GPU.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use aes_bitslice_runtime::{Backend, Engine, KeyBits, Mode};

#[test]
fn no_opencl_library_is_loaded_that_is_not_used() {
    if !std::arch::is_x86_feature_detected!("aes") {
        return;
    }
    let engine = Engine::open(Backend::Auto).unwrap();
    let known = Engine::open_for(Mode::Ctr, KeyBits::Aes256, 1 << 40, false).unwrap();
    assert!(!engine.backend().is_opencl() && !known.backend().is_opencl());
    // (CUDA's driver may load its own OpenCL.)
    if engine.backend() == Backend::Cpu {
        let mapped = std::fs::read_to_string("/proc/self/maps").unwrap().to_lowercase();
        assert!(!mapped.contains("opencl") && !mapped.contains("pocl"), "{mapped}");
    }
}
