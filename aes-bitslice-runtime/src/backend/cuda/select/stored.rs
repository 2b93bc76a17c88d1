//! The kernels that come with this crate, for keys given at launch, and which of them a device runs.

use crate::backend::cuda::commands::RoundKeys;
use crate::exec::choice::Choice;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::key_source::{ExpandedKey, KeySource};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The names of the kernels that come with this crate, for keys given at launch.
pub fn stored_kernels() -> Vec<&'static str> {
    aes_bitslice_kernels::KERNELS.iter().map(|kernel| kernel.name).collect()
}

/// The kinds of stored kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum StoredKind {
    /// On bit-planes.
    Planes,
    /// With look-up tables.
    Tbox,
    /// On bit-planes, sharing multiprocessors with a look-up-table kernel: it avoids shared memory as far as it can.
    CoResidentBits,
    /// With look-up tables, sharing multiprocessors with a bit-plane kernel, which it leaves registers for.
    CoResidentTbox,
}

impl StoredKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 4] = [Self::Planes, Self::Tbox, Self::CoResidentBits, Self::CoResidentTbox];

    /// The kinds that a choice launches.
    pub(crate) fn of(choice: Choice) -> &'static [Self] {
        match choice {
            Choice::Bitsliced => &[Self::Planes],
            Choice::Tbox => &[Self::Tbox],
            Choice::CoResident { .. } => &[Self::CoResidentTbox, Self::CoResidentBits],
        }
    }

    /// Whether it shares multiprocessors with another kernel.
    pub(crate) fn is_co_resident(self) -> bool {
        matches!(self, Self::CoResidentBits | Self::CoResidentTbox)
    }

    /// The endings of its kernels' names, the better kernels first.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Planes => &["planes"],
            Self::Tbox => &["tbox", "tbox-one-table"],
            Self::CoResidentBits => &["bits"],
            Self::CoResidentTbox => &["tbox-co-resident"],
        }
    }
}

/// The form in which a kernel takes its key: kernels of the same form are launched with the same words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyForm {
    source: KeySource,
    direction: Direction,
    basis: ColumnBasis,
    /// The basis of the tweak key, for kernels that have one.
    tweaks: Option<ColumnBasis>,
}

impl KeyForm {
    /// The form in which a kernel takes the key of counter mode with the launch, if these rows are a basis of its columns.
    pub(crate) fn of_counter_mode(rows: [u32; 32]) -> Option<Self> {
        let basis = ColumnBasis::new(rows).ok()?;
        Some(Self { source: KeySource::Argument, direction: Mode::Ctr.direction(), basis, tweaks: None })
    }

    /// A key in this form; `None` if it is one key and there should be two, or the other way round.
    pub(crate) fn round_keys(&self, key: &ExpandedKey) -> Option<RoundKeys> {
        let data = || self.source.words(key, self.direction, self.basis);
        match self.tweaks {
            Some(basis) => key.tweak_words(basis).map(|tweaks| RoundKeys::Two { data: data(), tweaks }),
            None => (!key.has_tweaks()).then(|| RoundKeys::Argument(data())),
        }
    }
}

/// A kernel that comes with this crate.
#[derive(Clone)]
pub(crate) struct StoredKernel {
    pub(crate) kernel: &'static aes_bitslice_kernels::Kernel,
    pub(crate) manifest: Manifest,
    pub(crate) key_form: KeyForm,
}

/// All stored kernels.
fn all() -> &'static [StoredKernel] {
    static ALL: OnceLock<Vec<StoredKernel>> = OnceLock::new();
    let parse = |kernel: &'static aes_bitslice_kernels::Kernel| {
        let manifest = <Manifest>::parse(kernel.manifest).expect("a manifest of this project");
        let basis = manifest.key_basis().expect("checked when it was parsed");
        let mode = manifest.mode().expect("checked when it was parsed");
        let tweaks = manifest.tweak_key_basis().expect("checked when it was parsed");
        let key_form = KeyForm { source: manifest.keys, direction: mode.direction(), basis, tweaks };
        StoredKernel { kernel, manifest, key_form }
    };
    ALL.get_or_init(|| aes_bitslice_kernels::KERNELS.iter().map(parse).collect())
}

/// The stored kernels that a device runs: the best of each mode and kind, where there is one.
pub(crate) struct Stored {
    kernels: HashMap<(Mode, StoredKind), StoredKernel>,
    /// The forms in which kernels of each kind take their keys, each once.
    key_forms: Vec<(StoredKind, KeyForm)>,
}

impl Stored {
    /// For a device whose thread blocks may have `shared_memory` bytes of shared memory.
    pub(crate) fn for_device(shared_memory: u32) -> Self {
        let find = |mode: Mode, kind: StoredKind| {
            let named = |name: &&str| {
                let name = format!("aes-{mode}-{name}");
                let stored = all().iter().find(|stored| stored.kernel.name == name)?;
                Some(StoredKernel { manifest: stored.manifest.within(shared_memory)?, ..stored.clone() })
            };
            kind.names().iter().find_map(named)
        };
        let each = Mode::ALL.into_iter().flat_map(|mode| StoredKind::ALL.map(|kind| (mode, kind)));
        let mut stored = Self { kernels: HashMap::new(), key_forms: Vec::new() };
        for (mode, kind) in each {
            let Some(kernel) = find(mode, kind) else { continue };
            if !stored.key_forms.contains(&(kind, kernel.key_form)) {
                stored.key_forms.push((kind, kernel.key_form));
            }
            stored.kernels.insert((mode, kind), kernel);
        }
        stored
    }

    /// The kernel of a mode and a kind, if there is one.
    pub(crate) fn find(&self, mode: Mode, kind: StoredKind) -> Option<&StoredKernel> {
        self.kernels.get(&(mode, kind))
    }

    /// Whether it has everything that a choice launches.
    pub(crate) fn has(&self, mode: Mode, choice: Choice) -> bool {
        StoredKind::of(choice).iter().all(|&kind| self.find(mode, kind).is_some())
    }

    /// Whether there is any kernel for a mode.
    pub(crate) fn supports(&self, mode: Mode) -> bool {
        self.kernels.keys().any(|(of, _)| *of == mode)
    }

    /// The forms in which kernels of each kind take their keys, each once.
    pub(crate) fn key_forms(&self) -> &[(StoredKind, KeyForm)] {
        &self.key_forms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::commands::Span;
    use crate::backend::cuda::kernel::binding::tests::all_are_found;
    use crate::op::by_mode::launches_of;
    use crate::op::launch::{Entry, Geometry, Shape};
    use aes_bitslice_core::grid::{DECLARED_BYTES, Grid};
    use aes_bitslice_core::self_test::COUNTER;
    use object::read::elf::ElfFile64;
    use object::{Endianness, Object, ObjectSection};

    #[test]
    fn every_mode_with_kernels_has_a_bitsliced_one() {
        for mode in Mode::ALL {
            let name = format!("aes-{mode}-{}", StoredKind::Planes.names()[0]);
            assert!(all().iter().any(|stored| stored.kernel.name == name), "{name}");
        }
    }

    #[test]
    fn every_stored_kernel_is_of_a_mode_and_a_kind() {
        for stored in all() {
            let mut names = StoredKind::ALL.iter().flat_map(|kind| kind.names());
            let is_it = |name: &&str| stored.kernel.name == format!("aes-{}-{name}", stored.manifest.mode);
            assert!(names.any(is_it), "{}", stored.kernel.name);
            assert_eq!(stored.kernel.name, stored.manifest.kernel);
        }
    }

    #[test]
    fn every_stored_kernel_finds_its_arguments() {
        let keys = [ExpandedKey::new(&[7; 32]).unwrap(), ExpandedKey::xts(&[7; 32], &[8; 32]).unwrap()];
        for stored in all() {
            let mode = stored.manifest.mode().unwrap();
            let [one, two] = if mode.has_tweaks() { [&keys[1], &keys[0]] } else { [&keys[0], &keys[1]] };
            assert!(stored.key_form.round_keys(two).is_none(), "{}", stored.kernel.name);
            let geometry = Geometry::new(&stored.manifest, 132);
            let keys = stored.key_form.round_keys(one).unwrap();
            let mut entries = Vec::new();
            for (in_place, at) in [(true, 0), (false, 0), (true, 1)] {
                let len = 16 << 20;
                let is_aligned = |from: u64| (from + at).is_multiple_of(16);
                let shape = Shape { geometry: &geometry, len, in_place, is_aligned: &is_aligned };
                for launch in launches_of(mode, COUNTER, &shape).unwrap() {
                    let span = Span::between(Some(1 << 32), Some(1 << 33), len);
                    all_are_found(&stored.manifest, &launch, span, Some(&keys));
                    entries.push(launch.entry);
                }
            }
            assert!(entries.contains(&Entry::Blocks) && entries.contains(&Entry::Bytes));
        }
    }

    #[test]
    fn a_device_with_little_shared_memory_has_fewer_kernels() {
        let (all_of_it, little) = (Stored::for_device(u32::MAX), Stored::for_device(0));
        for mode in [Mode::XtsEncrypt, Mode::XtsDecrypt] {
            assert!(all_of_it.supports(mode) && !little.supports(mode), "{mode}: tweaks are in shared memory");
            // Compute capability 7.5; 8.6, 8.9 and 12.0; 8.0.
            for (kib, warps) in [(64, 4), (99, 8), (163, 16)] {
                let stored = Stored::for_device(kib << 10);
                let manifest = &stored.find(mode, StoredKind::Planes).unwrap().manifest;
                assert_eq!(manifest.threads, 32 * warps, "{mode}, {kib} KiB");
                assert!(manifest.shared_bytes + DECLARED_BYTES <= kib << 10, "{mode}, {kib} KiB");
                let all = &all_of_it.find(mode, StoredKind::Planes).unwrap().manifest;
                assert_eq!(manifest.shared_bytes * all.threads, all.shared_bytes * manifest.threads);
            }
        }
        for mode in Mode::OF_ONE_KEY {
            assert!(all_of_it.supports(mode) && little.supports(mode));
            assert!(little.has(mode, Choice::Bitsliced) && !little.has(mode, Choice::CO_RESIDENT), "{mode}");
            for choice in [Choice::Bitsliced, Choice::Tbox, Choice::CO_RESIDENT] {
                let there = StoredKind::of(choice).iter().all(|&kind| all_of_it.find(mode, kind).is_some());
                assert_eq!(all_of_it.has(mode, choice), there);
            }
        }
        assert!(all_of_it.has(Mode::Ctr, Choice::Tbox) && !little.has(Mode::Ctr, Choice::Tbox));
    }

    /// The manifests do not list it: a device with little shared memory is given what is left.
    #[test]
    fn code_declares_no_more_shared_memory_than_is_left_for_it() {
        let has_shares = |manifest: &Manifest| manifest.shared_bytes > 0 && matches!(manifest.grid, Grid::Warps { .. });
        let with_shares = all().iter().filter(|stored| has_shares(&stored.manifest));
        let mut declared = Vec::new();
        for StoredKernel { kernel, manifest, .. } in with_shares {
            for (_, code) in kernel.cubins {
                let file = ElfFile64::<Endianness>::parse(*code).unwrap();
                for entry in manifest.entries.values() {
                    declared.push(file.section_by_name(&format!(".nv.shared.{}", entry.name)).unwrap().size());
                }
            }
        }
        assert!(!declared.is_empty() && declared.iter().all(|&bytes| bytes <= DECLARED_BYTES.into()), "{declared:?}");
    }

    #[test]
    fn kernels_that_take_their_keys_in_one_form_share_them() {
        let stored = Stored::for_device(u32::MAX);
        let of_planes = stored.key_forms().iter().filter(|(kind, _)| *kind == StoredKind::Planes);
        let forms: Vec<_> = of_planes.map(|(_, form)| *form).collect();
        assert!(forms.iter().enumerate().all(|(i, form)| !forms[..i].contains(form)));
        assert!(!forms.is_empty() && forms.len() < Mode::ALL.len());
        for mode in Mode::ALL {
            assert!(forms.contains(&stored.find(mode, StoredKind::Planes).unwrap().key_form), "{mode}");
        }
    }
}
