//! The stored GHASH kernel.

use crate::backend::opencl::commands::HashKernel;
use crate::backend::opencl::context::Context;
use crate::backend::opencl::kernel::program::EntryPoints;
use crate::base::error::Error;
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_kernels::OPENCL_HASHES;
use std::sync::Arc;

/// Compiles it for a device.
pub(crate) fn compile(context: &Arc<Context>) -> Result<HashKernel, Error> {
    let stored = OPENCL_HASHES.first().expect("one is stored");
    let manifest = Manifest::<Hash>::parse(stored.manifest).expect("the manifests of stored kernels are tested");
    of(context, manifest, stored.source)
}

fn of(context: &Arc<Context>, manifest: Manifest<Hash>, source: &str) -> Result<HashKernel, Error> {
    let entry_points = EntryPoints::compile(context, &manifest, source)?;
    Ok(HashKernel::new(context, context.info().compute_units, manifest, entry_points))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::device::self_test;
    use crate::backend::opencl::commands::Slots;
    use crate::backend::opencl::platforms::Wanted;

    /// Each entry point in turn does nothing.
    #[test]
    #[ignore = "needs an OpenCL device"]
    fn a_kernel_that_gives_a_wrong_answer_is_not_used() {
        let context = Context::open(Wanted::First).unwrap();
        let stored = OPENCL_HASHES.first().unwrap();
        let manifest = || Manifest::<Hash>::parse(stored.manifest).unwrap();
        let test = |source: &str| {
            let kernel = of(&context, manifest(), source).unwrap();
            self_test::of_hash(&kernel, &Slots::new(context.clone()))
        };
        test(stored.source).unwrap();
        for name in manifest().entries.values().map(|entry| &entry.name) {
            let (before, after) = stored.source.split_once(&format!("{name}(")).expect("it is in the source");
            let parameters = after.split_once(") {").expect("a body follows").0;
            let idle = format!("{before}{name}_is({after}\nKERNEL {name}({parameters}) {{}}\n");
            assert!(matches!(test(&idle), Err(Error::SelfTestFailed { .. })), "{name}");
        }
    }
}
