//! A key on a device: the kernels it may use, and the round keys to launch them with.

use super::device::Stored;
use super::kernel::Kernel;
use super::round_keys::RoundKeys;
use super::{Choice, Device, Kernels};
use crate::{Error, Key, KeyBits};
use aes_bitslice_gen::emit::ExpandedKey;
use aes_bitslice_gen::kernel::Mode;
use std::sync::Arc;

/// A key on a device.
pub(crate) struct DeviceKey {
    device: Arc<Device>,
    code: Code,
}

enum Code {
    /// The stored kernels that are allowed; each is launched with its round keys.
    Stored { kernels: Kernels, key_bits: KeyBits, keys: Vec<((Mode, Stored), RoundKeys)> },
    /// One kernel, which is the key or is launched with it.
    One(Arc<Kernel>, Option<RoundKeys>),
}

impl DeviceKey {
    /// A key for the stored kernels that are allowed.
    pub(super) fn with_stored(device: Arc<Device>, key: &Key, kernels: Kernels) -> Self {
        let key_bits = key.bits();
        let key = ExpandedKey::new(key.expose()).expect("a key has one of the three lengths");
        let mut keys = Vec::new();
        for kind in Stored::ALL {
            if !kernels.choices().iter().any(|&choice| Stored::kinds(choice).contains(&kind)) {
                continue;
            }
            for mode in Mode::ALL {
                keys.extend(device.round_keys(mode, kind, &key).map(|keys| ((mode, kind), keys)));
            }
        }
        Self { device, code: Code::Stored { kernels, key_bits, keys } }
    }

    /// A key for one kernel: baked in, or to be launched with it.
    pub(super) fn with_kernel(device: Arc<Device>, kernel: Kernel, keys: Option<RoundKeys>) -> Self {
        Self { device, code: Code::One(Arc::new(kernel), keys) }
    }

    pub(super) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The kernels that are allowed, and the length of the key; nothing where there is one kernel only.
    pub(super) fn allowed(&self) -> Option<(Kernels, KeyBits)> {
        match self.code {
            Code::Stored { kernels, key_bits, .. } => Some((kernels, key_bits)),
            Code::One(..) => None,
        }
    }

    /// The kernel for a mode and a choice, and the round keys to launch it with; loads it at its first use.
    pub(super) fn kernel(&self, mode: Mode, choice: Choice) -> Result<(Arc<Kernel>, Option<&RoundKeys>), Error> {
        match &self.code {
            Code::Stored { .. } => {
                let found = match Stored::kinds(choice) {
                    &[kind] => self.stored(mode, kind)?,
                    // What launches several has them one by one.
                    _ => None,
                };
                let (kernel, keys) = found.ok_or_else(|| self.none_for(mode, choice))?;
                Ok((kernel.laid_out(choice), Some(keys)))
            }
            Code::One(kernel, keys) if kernel.mode() == mode => Ok((kernel.clone(), keys.as_ref())),
            Code::One(kernel, _) => {
                Err(Error::NotInKernel { wanted: mode.to_string(), has: kernel.mode().to_string() })
            }
        }
    }

    /// Loads all that a choice launches, unless that was done before.
    pub(super) fn load(&self, mode: Mode, choice: Choice) -> Result<(), Error> {
        match (&self.code, Stored::kinds(choice)) {
            (Code::Stored { .. }, kinds) => kinds
                .iter()
                .try_for_each(|&kind| self.stored(mode, kind)?.map(|_| ()).ok_or_else(|| self.none_for(mode, choice))),
            (Code::One(..), _) => self.kernel(mode, choice).map(|_| ()),
        }
    }

    /// Why there is no kernel.
    pub(super) fn none_for(&self, mode: Mode, choice: Choice) -> Error {
        let name = choice.kernel_name();
        let what = match (&self.code, choice) {
            (Code::Stored { kernels, .. }, _) if !kernels.allow(choice) => {
                format!("`{name}` is not among what the engine may use (`{kernels}`): see `Engine::with_kernels`")
            }
            (_, Choice::Pair { .. }) => {
                format!("there is no `{name}` for {mode} that runs on this device; use `tbox` or `auto-any`")
            }
            _ => format!("there is no `{name}` for {mode} that runs on this device; use `auto` or `auto-any`"),
        };
        Error::NoSuchKernel { what }
    }

    /// A stored kernel, and the round keys to launch it with; none where it is not allowed, or there is none for this
    /// device.
    pub(super) fn stored(&self, mode: Mode, kind: Stored) -> Result<Option<(Arc<Kernel>, &RoundKeys)>, Error> {
        let Code::Stored { keys, .. } = &self.code else { return Ok(None) };
        let Some((_, keys)) = keys.iter().find(|(of, _)| *of == (mode, kind)) else { return Ok(None) };
        Ok(self.device.stored(mode, kind)?.map(|kernel| (kernel, keys)))
    }
}
