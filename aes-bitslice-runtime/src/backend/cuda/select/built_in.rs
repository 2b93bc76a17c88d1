//! Which kernel is fastest where nothing was measured.

use crate::exec::choice::{Call, Choice, Kernels};
use aes_bitslice_core::mode::Mode;

/// A row of the table of what is fastest where nothing was measured.
struct Row {
    /// Compute capability, as in `sm_90`: 90. `None` for every one.
    architecture: Option<u32>,
    /// `None` for every mode.
    mode: Option<Mode>,
    /// The smallest call size it applies to.
    bytes: u64,
    choice: Choice,
}

/// The fastest choices where nothing was measured: of the rows that fit and are allowed, the last one counts.
const BUILT_IN: &[Row] = &[
    Row { architecture: None, mode: None, bytes: 0, choice: Choice::Bitsliced },
    // Measured on an H200. A table kernel first copies its tables to shared memory, which pays off only with enough
    // look-ups. The threshold on other devices was not measured.
    Row { architecture: Some(90), mode: None, bytes: 16 << 20, choice: Choice::Tbox },
    Row { architecture: Some(90), mode: Some(Mode::EcbEncrypt), bytes: 16 << 20, choice: Choice::CO_RESIDENT },
    Row { architecture: Some(90), mode: Some(Mode::EcbDecrypt), bytes: 16 << 20, choice: Choice::CO_RESIDENT },
    // CTR also prepares its counter parts for both co-resident kernels, which pays off only from a larger size.
    Row { architecture: Some(90), mode: Some(Mode::Ctr), bytes: 128 << 20, choice: CTR_CO_RESIDENT },
];

/// The value that `tune` finds for CTR on an H200 and an H100, over all sizes and key lengths.
const CTR_CO_RESIDENT: Choice = Choice::CoResident { bitsliced: 285 };

/// The choice for a call on a device where nothing was measured. `available` tells what the device can run.
pub(crate) fn built_in(architecture: u32, kernels: Kernels, call: &Call, available: impl Fn(Choice) -> bool) -> Choice {
    let fits = |row: &&Row| {
        row.architecture.is_none_or(|a| a == architecture)
            && row.mode.is_none_or(|mode| mode == call.mode)
            && row.bytes <= call.bytes
            && kernels.allow(row.choice)
            && available(row.choice)
    };
    // A kernel requested by name is taken whether it exists or not: the call will report that it does not.
    BUILT_IN.iter().rfind(fits).map_or(kernels.choices()[0], |row| row.choice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::aes::KeyBits;

    fn call(bytes: u64) -> Call {
        Call { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes, aligned: true }
    }

    /// Whatever the size and the device, code whose addresses depend on secrets must be requested.
    #[test]
    fn table_kernels_are_never_taken_unasked() {
        for architecture in [75, 80, 86, 89, 90, 100, 120] {
            for power in 0..64 {
                for mode in Mode::ALL {
                    let call = Call { mode, ..call(1 << power) };
                    for kernels in [Kernels::Auto, Kernels::Bitsliced] {
                        assert_eq!(built_in(architecture, kernels, &call, |_| true), Choice::Bitsliced);
                    }
                    let named = [(Kernels::Tbox, Choice::Tbox), (Kernels::CoResident, Choice::CO_RESIDENT)];
                    for (kernels, choice) in named {
                        assert!(built_in(architecture, kernels, &call, |_| true).is_kernel_of(choice));
                    }
                }
            }
        }
    }

    #[test]
    fn the_fastest_of_all_by_size_and_device() {
        let any = |architecture, bytes| built_in(architecture, Kernels::AutoAny, &call(bytes), |_| true);
        assert_eq!(any(80, 4096), Choice::Bitsliced);
        assert_eq!(any(80, 1 << 30), Choice::Bitsliced);
        assert_eq!(any(90, 16 << 20), Choice::Tbox);
        assert_eq!(any(90, 1 << 30), CTR_CO_RESIDENT);
        // What the device cannot run is passed over, unless it was requested by name: then the call reports why it
        // fails.
        let bitsliced = |choice| Kernels::Bitsliced.allow(choice);
        assert_eq!(built_in(90, Kernels::AutoAny, &call(1 << 30), bitsliced), Choice::Bitsliced);
        assert_eq!(built_in(90, Kernels::Tbox, &call(1 << 30), bitsliced), Choice::Tbox);
    }
}
