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
