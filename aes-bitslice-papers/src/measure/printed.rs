//! A kernel printed where it is not the engine's own, opened, and ready to be launched.

use crate::case::{Code, Kernel};
use crate::measure::data::Keys;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::strategy::BakedStrategy;
use aes_bitslice_gen::emit::{cuda, opencl};
use aes_bitslice_gen::kernel::{Design, KernelSpec};
use aes_bitslice_gen::sbox::CANRIGHT;
use aes_bitslice_runtime::{Cipher, Engine, Key};
use anyhow::{Result, anyhow, bail};

/// The command line in the headings of what is printed here.
const COMMAND: &str = "cargo xtask papers";

/// Opens a kernel, tested and ready to be launched.
pub fn open(engine: &Engine, keys: &Keys, kernel: &Kernel) -> Result<Cipher> {
    let key = keys.get(kernel.key_bits);
    let is_opencl = engine.backend().is_opencl();
    let cipher = match &kernel.code {
        Code::Engine(kernels) => engine.clone().with_kernels(*kernels).cipher(key)?,
        _ => {
            let dialect = if is_opencl { Dialect::OpenCl } else { Dialect::Cuda };
            engine.cipher_of(key, &print(kernel, key, dialect)?)?
        }
    };
    match is_opencl {
        true => cipher.opencl()?.prepare(kernel.mode)?,
        false => cipher.device()?.prepare(kernel.mode)?,
    }
    Ok(cipher)
}

/// Prints a kernel that is not the engine's own.
fn print(kernel: &Kernel, key: &Key, dialect: Dialect) -> Result<Printed> {
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
        Code::Staged(spec) => spec.print(dialect, COMMAND),
        Code::OneHotMux => {
            let spec = KernelSpec::baked(kernel.mode, &CANRIGHT, BakedStrategy::OneHotMux, key.expose());
            let spec = spec.ok_or_else(|| anyhow!("a key of no AES length"))?;
            by_the_generator(&spec.with_layout(Layout::State)?.into())?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Work;
    use crate::papers::all::{ALL, cases};
    use aes_bitslice_core::aes::KeyBits;
    use std::collections::BTreeSet;

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
                Work::Allocation | Work::Host { .. } => continue,
            };
            let is_new = names.insert((kernel.name(), dialect.name()));
            if matches!(kernel.code, Code::Engine(_)) || !is_new {
                continue;
            }
            let printed = print(&kernel, &key, dialect).unwrap();
            assert_eq!((printed.manifest.dialect, &*printed.manifest.mode), (dialect, kernel.mode.name()));
            printed.manifest.check_source(&printed.source).unwrap();
            assert_eq!(printed.manifest.secret, matches!(kernel.code, Code::OneHotMux), "{}", kernel.name());
        }
        assert!(names.len() > 40, "{names:?}");
        let table =
            Kernel::engine(Default::default(), aes_bitslice_core::mode::Mode::Ctr).with_key_bits(KeyBits::Aes256);
        assert!(print(&table, &key, Dialect::Cuda).is_err(), "nothing is printed for the engine's own");
    }
}
