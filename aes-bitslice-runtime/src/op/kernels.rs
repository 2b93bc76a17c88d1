//! The kernels that perform an operation, as it is known before anything is derived from a key.

use aes_bitslice_core::mode::Mode;

/// The data that a device hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hashed {
    /// The data that is read, before anything is written.
    Input,
    /// The data that is written.
    Output,
}

impl Hashed {
    /// Selects one of the two.
    pub(crate) fn of<T>(self, input: T, output: T) -> T {
        match self {
            Self::Input => input,
            Self::Output => output,
        }
    }
}

/// What performs calls on host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnHost {
    /// The engine's device.
    Device,
    /// The device, or the CPU where the device has no such kernels.
    DeviceOrCpu,
    /// The CPU, whatever the engine.
    Cpu,
}

/// The kernels that a device needs for an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelsNeeded {
    /// The kernels of a mode; `None` if the cipher has nothing to do.
    pub(crate) mode: Option<Mode>,
    /// The data whose GHASH a kernel computes; `None` if nothing is hashed.
    pub(crate) hashed: Option<Hashed>,
    /// Whether counters are secret, so that no launch, branch or address may depend on them: kernels must take them as data.
    pub(crate) counters_are_secret: bool,
    /// Whether each call has its own key, for which there are only bitsliced kernels.
    pub(crate) under_own_key: bool,
    /// Whether the kernels process many messages at a time, which is for calls on device memory.
    pub(crate) of_messages: bool,
    pub(crate) on_host: OnHost,
    /// The mode whose speed decides whether a device is faster than the CPU for data in host memory.
    pub(crate) as_fast_as: Option<Mode>,
}

impl KernelsNeeded {
    /// No kernels: the CPU performs the operation.
    pub(crate) const NONE: Self = Self {
        mode: None,
        hashed: None,
        counters_are_secret: false,
        under_own_key: false,
        of_messages: false,
        on_host: OnHost::Cpu,
        as_fast_as: None,
    };

    /// The kernels of a mode.
    pub(crate) fn of(mode: Mode) -> Self {
        Self { mode: Some(mode), on_host: OnHost::Device, as_fast_as: Some(mode), ..Self::NONE }
    }

    /// The kernels of a hash alone. Copying takes as long as for encrypting.
    pub(crate) fn hashing(hashed: Hashed) -> Self {
        Self { hashed: Some(hashed), on_host: OnHost::Device, as_fast_as: Some(Mode::Ctr), ..Self::NONE }
    }

    /// Whether the CPU performs calls on host memory, whatever the engine.
    pub fn are_on_cpu(&self) -> bool {
        self.on_host == OnHost::Cpu
    }

    /// Whether each call has its own key, derived from the cipher's.
    pub fn are_under_own_key(&self) -> bool {
        self.under_own_key
    }

    /// Whether a device needs any kernels.
    pub(crate) fn exist(&self) -> bool {
        self.mode.is_some() || self.hashed.is_some()
    }

    /// Whether a call returns a value.
    pub(crate) fn return_value(&self) -> bool {
        self.hashed.is_some() || self.of_messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::nonce::Nonce;
    use crate::op::gcm::{GcmEncrypt, GcmPart};
    use crate::op::gcm_batch::{GcmEncryptBatch, GcmMessage};
    use crate::op::gcm_siv::GcmSivEncrypt;
    use crate::op::operation::Operation;
    use crate::op::xaes::XaesEncrypt;
    use crate::op::xts::Xts;
    use aes_bitslice_core::aes::Direction;

    #[test]
    fn of_a_mode_and_of_a_hash() {
        let of = |kernels: KernelsNeeded| (kernels.mode, kernels.hashed, kernels.on_host, kernels.as_fast_as);
        let mode = KernelsNeeded::of(Mode::Prg);
        assert_eq!(of(mode), (Some(Mode::Prg), None, OnHost::Device, Some(Mode::Prg)));
        let hash = KernelsNeeded::hashing(Hashed::Input);
        assert_eq!(of(hash), (None, Some(Hashed::Input), OnHost::Device, Some(Mode::Ctr)));
        assert!(KernelsNeeded::NONE.are_on_cpu() && !mode.are_on_cpu() && !mode.are_under_own_key());
        assert!(KernelsNeeded { under_own_key: true, ..mode }.are_under_own_key());
    }

    #[test]
    fn of_operations() {
        let nonce = |bytes| Nonce::new(&vec![3; bytes]).unwrap();
        let ctr = KernelsNeeded { hashed: Some(Hashed::Output), ..KernelsNeeded::of(Mode::Ctr) };
        let own = KernelsNeeded { under_own_key: true, ..ctr };
        assert_eq!(GcmEncrypt::new(&nonce(12), b"").kernels(), ctr);
        assert_eq!(XaesEncrypt::new(&nonce(24), b"").kernels(), own);
        let siv = KernelsNeeded { mode: Some(Mode::CtrLe32), on_host: OnHost::DeviceOrCpu, ..own };
        assert_eq!(GcmSivEncrypt::new(&nonce(12), b"").kernels(), siv);
        let xts = KernelsNeeded { on_host: OnHost::DeviceOrCpu, ..KernelsNeeded::of(Mode::xts(Direction::Encrypt)) };
        assert_eq!(Xts::encrypt(16, 0).unwrap().kernels(), xts);
        for (bytes, counters_are_secret) in [(12, false), (13, true)] {
            let message = GcmMessage { nonce: &[3; 13][..bytes], aad: b"", range: 0..1 };
            let expected = KernelsNeeded { counters_are_secret, of_messages: true, on_host: OnHost::Cpu, ..ctr };
            assert_eq!(GcmEncryptBatch::new(&[message]).unwrap().kernels(), expected);
        }
    }

    /// A device counts from a block on; one that has no kernels for secret counters leaves them to the CPU.
    #[test]
    fn where_a_part_of_a_message_in_host_memory_is_processed() {
        for (bytes, from_block) in [(12, OnHost::Device), (13, OnHost::DeviceOrCpu)] {
            let nonce = Nonce::new(&vec![3; bytes]).unwrap();
            let on_host = |offset| GcmPart::new(Direction::Encrypt, &nonce, offset).kernels().on_host;
            assert_eq!([0, 16, 8].map(on_host), [from_block, from_block, OnHost::Cpu]);
        }
    }
}
