//! The kernels that are stored and shipped: kernels that take their key at launch, and some with a publicly known key.

use crate::emit::bitsliced::modes;
use crate::ghash::Ghash;
use crate::kernel::design::Design;
use crate::kernel::preset::Preset;
use crate::kernel::spec::KernelSpec;
use crate::sbox::LUT3;
use crate::table::conflict_free::spec::{ConflictFree, TableCount};
use aes_bitslice_core::ghash::Arrangement;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::mode::Mode;

/// The modes whose data two kernels can divide between them, in any order; not CBC, whose blocks are chained.
const DIVISIBLE: [Mode; 3] = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr];

/// The kernels printed in CUDA C. Each mode has some of these: the bitsliced kernel, with the fastest layout and the S-box with the fewest
/// LUT3s in its basis; table kernels, with four tables and, for devices with less shared memory, one; and a table kernel and a bitsliced
/// kernel that are co-resident.
pub fn cuda() -> Vec<Design> {
    Mode::ALL.into_iter().flat_map(of_mode).collect()
}

fn of_mode(mode: Mode) -> Vec<Design> {
    let bitsliced = |spec: KernelSpec| modes::parts(&spec).is_some().then_some(Design::Bitsliced(spec));
    let tables = [TableCount::Four, TableCount::One].map(|count| ConflictFree::new(mode, count));
    let mut designs: Vec<Design> = bitsliced(KernelSpec::planes(mode, &LUT3)).into_iter().collect();
    designs.extend(tables.into_iter().flatten().map(Design::from));
    if DIVISIBLE.contains(&mode)
        && let Some(table) = tables[0].and_then(ConflictFree::co_resident)
        && let Some(bits) = bitsliced(KernelSpec::co_resident(mode, &LUT3))
    {
        designs.extend([table.into(), bits]);
    }
    designs
}

/// The GHASH kernels printed in CUDA C.
pub fn cuda_hashes() -> Vec<Ghash> {
    Ghash::ALL.into()
}

/// The GHASH kernels printed in OpenCL C.
pub fn opencl_hashes() -> Vec<Ghash> {
    vec![Ghash(Arrangement::Element)]
}

/// The kernels printed in OpenCL C. Each mode has some of these: one by column, for devices whose threads can shuffle words, and one by
/// state, whose threads are independent of each other.
pub fn opencl() -> Vec<KernelSpec> {
    let in_layout = |mode, layout| KernelSpec::planes(mode, &LUT3).with_layout(layout).ok();
    let all =
        Mode::ALL.into_iter().flat_map(|mode| [Layout::Column, Layout::State].map(|layout| in_layout(mode, layout)));
    all.flatten().filter(|spec| modes::parts(spec).is_some()).collect()
}

/// The key of FIPS 197, appendix B, which is publicly known.
pub const PUBLISHED_KEY: [u8; 16] = *b"\x2b\x7e\x15\x16\x28\xae\xd2\xa6\xab\xf7\x15\x88\x09\xcf\x4f\x3c";

/// The kernels of [`Preset::Hajihassani2019`], in CUDA C, with [`PUBLISHED_KEY`] baked in, as reading material: each with the stem of the
/// names of its files.
pub fn published() -> Vec<(String, Design)> {
    let preset = Preset::Hajihassani2019;
    let kernel = |mode: &Mode| {
        let spec = preset.spec(*mode, &PUBLISHED_KEY).expect("a key of 16 bytes");
        (preset.file_stem(*mode, spec.key_bits()), spec.into())
    };
    preset.modes().iter().map(kernel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_once_and_pairs_where_data_can_be_divided() {
        let names: Vec<String> = cuda().iter().map(Design::name).collect();
        assert_eq!(names.iter().filter(|name| name.ends_with("-co-resident")).count(), DIVISIBLE.len());
        assert_eq!(names.iter().filter(|name| name.ends_with("-bits")).count(), DIVISIBLE.len());
        assert!(names.iter().enumerate().all(|(i, name)| !names[..i].contains(name)));
        for name in ["aes-ctr-planes", "aes-ctr-tbox-co-resident", "aes-ctr-bits", "aes-cbc-decrypt-tbox-one-table"] {
            assert!(names.iter().any(|stored| stored == name), "{name}");
        }
    }
}
