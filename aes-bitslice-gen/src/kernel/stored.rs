//! The kernels that are stored and shipped: those that take their key at launch.

use super::{Design, KernelSpec, Mode};
use crate::layout::Layout;
use crate::sbox::LUT3;
use crate::table::{ConflictFree, TableCount};

/// The kernels for keys given at launch. For each mode the bitsliced one, of the fastest layout and the S-box of the fewest
/// LUT3s in its basis; those that look tables up, with four tables and, for devices with less shared memory, one; and a
/// bitsliced and a table kernel to run beside one another.
pub fn stored() -> Vec<Design> {
    Mode::ALL.into_iter().flat_map(of_mode).collect()
}

fn of_mode(mode: Mode) -> Vec<Design> {
    let tables = [TableCount::Four, TableCount::One].map(|count| ConflictFree::new(mode, count));
    let mut designs: Vec<Design> = vec![KernelSpec::planes(mode, &LUT3).into()];
    designs.extend(tables.map(Design::from));
    // Blocks of CBC are chained: its data has no shares for two kernels.
    if mode != Mode::CbcDecrypt {
        designs.extend([tables[0].beside().into(), KernelSpec::beside(mode, &LUT3).into()]);
    }
    designs
}

/// The kernels for keys given at launch that are printed for OpenCL: for each mode one by column, for devices whose threads
/// can shuffle words, and one by state, whose threads need no others.
pub fn stored_for_opencl() -> Vec<KernelSpec> {
    let in_layout = |mode, layout| KernelSpec::planes(mode, &LUT3).with_layout(layout).expect("either will do");
    Mode::ALL
        .into_iter()
        .flat_map(|mode| [Layout::Column, Layout::State].map(|layout| in_layout(mode, layout)))
        .collect()
}
