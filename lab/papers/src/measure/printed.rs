//! A kernel, printed if it is not the engine's own, opened, and ready to launch.

use crate::case::{Code, Kernel};
use crate::measure::data::Keys;
use crate::measure::profile;
use crate::measured::Profile;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::emit::{cuda, opencl};
use aes_bitslice_gen::kernel::Design;
use aes_bitslice_runtime::{Cipher, Engine, Key};
use anyhow::{Result, anyhow, bail};

/// The command line in the headings of kernels printed here.
const COMMAND: &str = "cargo xtask papers";

/// Opens a kernel, tested and ready to launch; also returns its profile, where it is printed in CUDA C.
pub fn open(engine: &Engine, keys: &Keys, kernel: &Kernel) -> Result<(Cipher, Option<Profile>)> {
    let key = keys.get(kernel.key_bits);
    let is_opencl = engine.backend().is_opencl();
    let mut profile = None;
    let cipher = match &kernel.code {
        Code::Engine(kernels) => engine.clone().with_kernels(*kernels).cipher(key)?,
        _ => {
            let dialect = if is_opencl { Dialect::OpenCl } else { Dialect::Cuda };
            let printed = print(kernel, key, dialect)?;
            let cipher = engine.cipher_of(key, &printed)?;
            // Only for kernels whose profile the papers mention: it takes the compiler as long again.
            let is_shown = matches!(kernel.code, Code::Table(_) | Code::Bitsliced(_) | Code::Packed(_))
                && [Mode::EcbEncrypt, Mode::CbcDecrypt].contains(&kernel.mode);
            if !is_opencl && is_shown {
                profile = profile::of(engine, &printed).ok();
            }
            cipher
        }
    };
    if is_opencl {
        cipher.opencl()?.prepare(kernel.mode)?
    } else {
        cipher.device()?.prepare(kernel.mode)?
    }
    Ok((cipher, profile))
}

/// Prints a kernel that is not the engine's own.
pub fn print(kernel: &Kernel, key: &Key, dialect: Dialect) -> Result<Printed> {
    let by_the_generator = |design: &Design| match dialect {
        Dialect::Cuda => cuda::print(design, COMMAND),
        Dialect::OpenCl => opencl::print(design, COMMAND),
    };
    Ok(match &kernel.code {
        Code::Engine(kernels) => bail!("the kernels {kernels} are the engine's own"),
        Code::Design(design) => by_the_generator(design)?,
        Code::Table(_) if dialect != Dialect::Cuda => bail!("{} is printed for CUDA only", kernel.name()),
        Code::Table(spec) => spec.print(COMMAND),
        Code::Bytewise(spec) => spec.print(dialect, COMMAND),
        Code::Bitsliced(_) | Code::Packed(_) if dialect != Dialect::Cuda => {
            bail!("{} is printed for CUDA only", kernel.name())
        }
        Code::Packed(spec) => spec.print(COMMAND),
        Code::Bitsliced(spec) => {
            let printed = spec.print(key.expose(), COMMAND);
            printed.ok_or_else(|| anyhow!("there is no kernel {}", kernel.name()))?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Work;
    use crate::measure::program;
    use crate::papers::all::{ALL, cases};
    use aes_bitslice_core::aes::KeyBits;
    use aes_bitslice_nvrtc::{self as nvrtc, Target};
    use aes_bitslice_papers::kernels::RoundKeys;
    use std::collections::BTreeSet;

    /// Every kernel and program in CUDA C goes through NVRTC, where it is on the library path, for compute capability 9.0, and for the one
    /// nearest to the main paper's V100: its own, 7.0, by an NVRTC before 13, and 7.5, the oldest that is left, by a later one.
    #[test]
    #[ignore = "exhaustive: cargo xtask test --all"]
    fn all_kernels_compile() {
        let key = Key::new(&[7; 16]).unwrap();
        let mut sources = std::collections::BTreeMap::new();
        for case in cases(&ALL, 1) {
            let (name, source) = match case.work {
                Work::Kernel(kernel) | Work::Copied { kernel, .. } if !matches!(kernel.code, Code::Engine(_)) => {
                    (kernel.name(), print(&kernel, &key, Dialect::Cuda).unwrap().source)
                }
                Work::Program(program) => (format!("{program:?}"), program::source(&program, key.expose()).unwrap()),
                _ => continue,
            };
            sources.insert(name, source);
        }
        let oldest = if nvrtc::version().is_ok_and(|(major, _)| major < 13) { 70 } else { 75 };
        let all =
            [90, oldest].into_iter().flat_map(|architecture| sources.iter().map(move |source| (architecture, source)));
        for (architecture, (name, source)) in all {
            match nvrtc::compile(name, source, Target::Cubin(architecture)) {
                Ok(compiled) => {
                    let entry = &compiled.entries[0];
                    let spilled = entry.spill_store_bytes + entry.spill_load_bytes;
                    eprintln!("{name}, sm_{architecture}: {} registers, {spilled} bytes spilled", entry.registers);
                }
                Err(nvrtc::Error::NotFound) => {
                    eprintln!("NVRTC is not on the library path: nothing was compiled");
                    return;
                }
                Err(error) => panic!("{name}, sm_{architecture}: {error}"),
            }
        }
    }

    /// Every kernel of the papers, in the language of the devices that it is measured on, for the mode of its case.
    #[test]
    fn all_kernels_are_printed() {
        let key = Key::new(&[7; 32]).unwrap();
        let mut names = BTreeSet::new();
        for case in cases(&ALL, 1) {
            let (kernel, dialect) = match case.work {
                Work::Kernel(kernel) | Work::Copied { kernel, .. } | Work::Sharded { kernel, .. } => {
                    (kernel, Dialect::Cuda)
                }
                Work::OpenCl { kernel, .. } => (kernel, Dialect::OpenCl),
                Work::CopiesAlone { .. }
                | Work::Allocation
                | Work::Host { .. }
                | Work::Program(_)
                | Work::Processor(_) => {
                    continue;
                }
            };
            let is_new = names.insert((kernel.name(), dialect.name()));
            if matches!(kernel.code, Code::Engine(_)) || !is_new {
                continue;
            }
            let printed = print(&kernel, &key, dialect).unwrap();
            assert_eq!((printed.manifest.dialect, &*printed.manifest.mode), (dialect, kernel.mode.name()));
            printed.manifest.check_source(&printed.source).unwrap();
            let one_hot = matches!(&kernel.code, Code::Bitsliced(spec) if spec.keys == RoundKeys::OneHot);
            assert_eq!(printed.manifest.secret, one_hot, "{}", kernel.name());
        }
        assert!(names.len() > 40, "{names:?}");
        let table = Kernel::engine(Default::default(), Mode::Ctr).with_key_bits(KeyBits::Aes256);
        assert!(print(&table, &key, Dialect::Cuda).is_err(), "nothing is printed for the engine's own");
    }
}
