//! The kernels that come with this crate.

use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use std::sync::OnceLock;

/// A kernel that comes with this crate.
pub(crate) struct StoredKernel {
    pub(crate) source: &'static str,
    pub(crate) manifest: Manifest,
}

/// The kernel for a mode, if there is one: in this layout, else by column, whose threads can do without shuffles.
pub(crate) fn find(mode: Mode, layout: Layout) -> Option<&'static StoredKernel> {
    static STORED: OnceLock<Vec<StoredKernel>> = OnceLock::new();
    let parse = |kernel: &'static aes_bitslice_kernels::OpenClKernel| StoredKernel {
        source: kernel.source,
        manifest: <Manifest>::parse(kernel.manifest).expect("a manifest of this project"),
    };
    let stored = STORED.get_or_init(|| aes_bitslice_kernels::OPENCL_KERNELS.iter().map(parse).collect());
    let find = |layout| {
        stored.iter().find(|StoredKernel { manifest, .. }| {
            manifest.mode().is_ok_and(|of| of == mode) && manifest.layout().is_ok_and(|of| of == layout)
        })
    };
    find(layout).or_else(|| find(Layout::Column))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::dialect::Dialect;

    #[test]
    fn every_mode_has_a_kernel_for_every_kind_of_device() {
        for mode in Mode::ALL {
            for layout in Layout::ALL {
                let StoredKernel { source, manifest } = find(mode, layout).unwrap();
                assert!(manifest.dialect == Dialect::OpenCl && manifest.shared_bytes == 0);
                manifest.check_source(source).unwrap();
            }
        }
    }
}
