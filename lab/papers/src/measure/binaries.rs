//! What an OpenCL driver compiles kernels to, written to files for a disassembler: PTX or machine code, as the driver keeps it.

use crate::case::{Code, Work};
use crate::measure::data::Keys;
use crate::measure::devices::Devices;
use crate::measure::printed;
use crate::papers::all;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_runtime::opencl::opencl3::program::Program;
use anyhow::{Context, Result, anyhow};
use std::collections::BTreeMap;

/// The kernels that compute byte by byte, by file name: on each device of OpenCL that opens, without the runtime's limits on registers.
///
/// # Errors
/// If no device opens, and those of the driver.
pub fn all() -> Result<BTreeMap<String, Vec<u8>>> {
    let mut devices = Devices::none();
    devices.open_opencl()?;
    let keys = Keys::generate()?;
    let mut files = BTreeMap::new();
    for case in all::cases(&all::ALL, 0) {
        let Work::OpenCl { kernel, on } = case.work else { continue };
        let (Code::Bytewise(spec), Ok(engine)) = (&kernel.code, devices.engine(Some(on))) else { continue };
        let name = format!("{on}-{}-{}.bin", spec.name(), kernel.key_bits.bits()).to_lowercase();
        if files.contains_key(&name) {
            continue;
        }
        let printed = printed::print(&kernel, keys.get(kernel.key_bits), Dialect::OpenCl)?;
        let context = engine.opencl_context()?;
        let program = Program::create_and_build_from_source(context, &printed.source, "-cl-std=CL1.2");
        let program = program.map_err(|log| anyhow!("{name}: {log}"))?;
        let binaries = program.get_binaries().map_err(|error| anyhow!("{name}: {error}"))?;
        files.insert(name, binaries.into_iter().next().context("a binary")?);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_a_binary_of_each_kernel() {
        let mut devices = Devices::none();
        if devices.open_opencl().is_err() {
            assert!(all().is_err());
            return;
        }
        let files = all().unwrap();
        for device in devices.opencl() {
            let of = format!("{}-", device.kind).to_lowercase();
            assert!(files.iter().any(|(name, binary)| name.starts_with(&of) && !binary.is_empty()), "{of}");
        }
    }
}
