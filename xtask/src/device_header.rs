//! The cipher as a header for kernels of other programs, compiled before it is written where there is NVRTC.

use crate::files;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_gen::emit::device;
use aes_bitslice_nvrtc::{self as nvrtc, Target};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The header's name.
const FILE: &str = "aes_bitslice_device.cuh";

/// The architecture for which it is compiled.
const ARCH: u32 = 90;

/// A kernel that calls the function, on words that the compiler knows nothing of.
const CALLER: &str = "
extern \"C\" __global__ void __launch_bounds__(128) caller(const __grid_constant__ aes_bitslice::round_keys keys, unsigned *data) {
    __shared__ aes_bitslice::key_memory memory;
    const aes_bitslice::cipher_key key = aes_bitslice::share_keys(&memory, &keys);
    unsigned words[WORDS];
#pragma unroll
    for (int j = 0; j < WORDS; j++) words[j] = data[128 * j + threadIdx.x];
    aes_bitslice::encrypt(words, key);
#pragma unroll
    for (int j = 0; j < WORDS; j++) data[128 * j + threadIdx.x] = words[j];
}
";

/// Prints, compiles and writes the header, and reports.
pub fn run(root: &Path, layout: Layout, out: Option<PathBuf>) -> Result<()> {
    let folder = out.unwrap_or_else(|| files::target(root).join("device"));
    let command = match layout {
        Layout::Column => "cargo xtask gen --device-header".into(),
        Layout::State => format!("cargo xtask gen --device-header --layout {layout}"),
    };
    let header = device::print(layout, &command);
    let words = match layout {
        Layout::Column => 32,
        Layout::State => 128,
    };
    let caller = [&header, &*CALLER.replace("WORDS", &words.to_string())].concat();
    let registers = match nvrtc::compile(FILE, &caller, Target::Cubin(ARCH)) {
        Ok(compiled) => {
            format!("{} on sm_{ARCH}, in a kernel that reads, encrypts and writes", compiled.entries[0].registers)
        }
        Err(nvrtc::Error::NotFound) => "not known: there is no NVRTC on this machine".into(),
        Err(error) => return Err(error).context("the header does not compile"),
    };
    files::write_all(&folder, &[(FILE, header.as_bytes())], false)?;
    say!("file       {}", folder.join(FILE).display());
    say!("registers  {registers}");
    say!("to use it  its first lines; examples/cuda/own_kernel.cu");
    Ok(())
}
