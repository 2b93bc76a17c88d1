//! A key on a device: the kernels it may use, and the round keys to launch them with.

use crate::backend::cuda::commands::{HashKernel, Kernel, RoundKeys};
use crate::backend::cuda::context::Context;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::select::stored::{KeyForm, StoredKind};
use crate::backend::device::hash::{Gcm, GcmBatch, GcmTables, OfHashKey, Tables};
use crate::backend::device::key::Hasher;
use crate::backend::device::round_keys::KeyMaterial;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::{EXPANSION, scrubbed};
use crate::cpu::hash_key::HashKey;
use crate::exec::choice::{Choice, Kernels};
use crate::exec::sources;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::messages::WIDEST;
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;

/// A key on a device. Cloning is cheap, and clones share code and keys.
#[derive(Clone)]
pub(crate) struct DeviceKey {
    device: Arc<Device>,
    code: Arc<Code>,
    /// The tables that launches of the GHASH kernel read under this key, once requested.
    pub(crate) hash_tables: Tables<Context>,
    /// The tables that its launches on many messages read under this key, once requested.
    message_tables: Tables<Context>,
    /// What launches of the kernel of GCM in one launch need of it, once requested; `None` in a key of one call only, for which making that
    /// takes longer than a launch.
    gcm: Option<OfHashKey<GcmTables<Context>>>,
    /// The tables that it reads for many messages under this key, once requested, by the number of groups that share a message.
    batch_tables: [Tables<Context>; WIDEST as usize + 1],
}

enum Code {
    /// The stored kernels that are allowed, and the key in every form they take.
    Stored { kernels: Kernels, key_bits: KeyBits, is_xts: bool, keys: Vec<(KeyForm, RoundKeys)> },
    /// One kernel, which has the key baked in or is launched with it.
    One(Kernel, Option<RoundKeys>),
}

impl DeviceKey {
    /// A key for the stored kernels that are allowed. The caller has entered the device.
    pub(crate) fn with_stored(device: Arc<Device>, key: &Key, kernels: Kernels) -> Self {
        let (key_bits, is_xts, key) = (key.bits(), key.is_xts(), sources::expanded(key));
        let choices = kernels.choices();
        let is_allowed = |kind: &StoredKind| choices.iter().any(|&choice| StoredKind::of(choice).contains(kind));
        let mut keys: Vec<(KeyForm, RoundKeys)> = Vec::new();
        for (kind, form) in device.stored.key_forms() {
            if is_allowed(kind) && keys.iter().all(|(of, _)| of != form) {
                keys.extend(form.round_keys(&key).map(|words| (*form, words)));
            }
        }
        Self::of(device, Code::Stored { kernels, key_bits, is_xts, keys }, Some(OfHashKey::default()))
    }

    fn of(device: Arc<Device>, code: Code, gcm: Option<OfHashKey<GcmTables<Context>>>) -> Self {
        Self {
            device,
            code: Arc::new(code),
            hash_tables: OfHashKey::default(),
            message_tables: OfHashKey::default(),
            gcm,
            batch_tables: Default::default(),
        }
    }

    /// A key for one call only, for the same kernels on the same device, which the caller has entered.
    pub(crate) fn of_one_call(&self, key: &Key) -> Result<Self, Error> {
        match *self.code {
            Code::Stored { kernels, .. } => {
                let own = scrubbed::<EXPANSION, _>(|| Self::with_stored(self.device.clone(), key, kernels));
                Ok(Self { gcm: None, ..own })
            }
            Code::One(..) => Err(Error::NeedsKey { what: "a call under a key of its own" }),
        }
    }

    /// A key for one kernel: baked in, or to be launched with it.
    pub(crate) fn with_kernel(device: Arc<Device>, kernel: Kernel, keys: Option<RoundKeys>) -> Self {
        Self::of(device, Code::One(kernel, keys), None)
    }

    /// The kernel of GCM in one launch, and what it needs of this key, whose hash key is `key`; built on first use. `None` if there is none
    /// for this device, or if the key does not allow it. The caller has entered the device.
    pub(crate) fn gcm(&self, key: &HashKey) -> Result<Option<Gcm<'_, Context>>, Error> {
        let (Some((kernel, keys)), Some(made)) = (self.gcm_kernel()?, &self.gcm) else { return Ok(None) };
        let make = || Ok(GcmTables { tables: kernel.tables(key)?, inverses: key.inverse_powers() });
        Ok(Some(Gcm { tables: made.get(make)?, kernel, keys }))
    }

    /// Likewise for many messages. `groups` gets the number of warpgroups of the device, and returns the binary logarithm of the groups that
    /// share a message.
    pub(crate) fn gcm_batch(
        &self,
        key: &HashKey,
        groups: impl FnOnce(u32) -> u32,
    ) -> Result<Option<GcmBatch<'_, Context>>, Error> {
        let Some((kernel, keys)) = self.gcm_kernel()? else { return Ok(None) };
        let wide = groups(kernel.units());
        let tables = self.batch_tables[wide as usize].get(|| kernel.tables_of_batch(key, wide))?;
        Ok(Some(GcmBatch { kernel, keys, tables: tables.place(), wide }))
    }

    fn gcm_kernel(&self) -> Result<Option<(HashKernel, &RoundKeys)>, Error> {
        let (Code::Stored { kernels, keys, .. }, Some(_)) = (&*self.code, &self.gcm) else { return Ok(None) };
        if !kernels.allow(Choice::Bitsliced) {
            return Ok(None);
        }
        let Some((kernel, form)) = self.device.gcm_kernel()? else { return Ok(None) };
        Ok(keys.iter().find(|(of, _)| *of == form).map(|(_, keys)| (kernel, keys)))
    }

    /// The GHASH kernel, and its tables for launches on many messages under this key, whose hash key is `key`; built on first use. The
    /// caller has entered the device.
    pub(crate) fn hash_kernel_of_messages(&self, key: &HashKey) -> Result<Hasher<Context>, Error> {
        let kernel = self.device.hash_kernel()?;
        let tables = self.message_tables.get(|| kernel.tables_of_messages(key))?;
        Ok((kernel, tables))
    }

    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The kernels that are allowed, and the length of the key; `None` where there is only one kernel.
    pub(crate) fn allowed(&self) -> Option<(Kernels, KeyBits)> {
        match *self.code {
            Code::Stored { kernels, key_bits, .. } => Some((kernels, key_bits)),
            Code::One(..) => None,
        }
    }

    /// The kernel for a mode and a choice, and the round keys to launch it with; loads it on first use.
    pub(crate) fn kernel(&self, mode: Mode, choice: Choice) -> Result<(Kernel, Option<&RoundKeys>), Error> {
        match &*self.code {
            Code::Stored { .. } => {
                let found = match StoredKind::of(choice) {
                    &[kind] => self.stored(mode, kind, choice)?,
                    // A choice that launches several kernels gets them one by one.
                    _ => return Err(self.none_for(mode, choice)),
                };
                Ok((found.0, Some(found.1)))
            }
            Code::One(kernel, keys) if kernel.mode() == mode => Ok((kernel.clone(), keys.as_ref())),
            Code::One(kernel, _) => {
                Err(Error::NotInKernel { wanted: mode.to_string(), has: kernel.mode().to_string() })
            }
        }
    }

    /// Loads everything that a choice launches, unless that was done before.
    pub(crate) fn load(&self, mode: Mode, choice: Choice) -> Result<(), Error> {
        match &*self.code {
            Code::Stored { .. } => {
                StoredKind::of(choice).iter().try_for_each(|&kind| self.stored(mode, kind, choice).map(|_| ()))
            }
            Code::One(..) => self.kernel(mode, choice).map(|_| ()),
        }
    }

    /// A stored kernel, and the round keys to launch it with.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] if `choice`, which the kernel is for, is not allowed, or if this device has no such
    /// kernel.
    pub(crate) fn stored(&self, mode: Mode, kind: StoredKind, choice: Choice) -> Result<(Kernel, &RoundKeys), Error> {
        self.find(mode, kind, choice)?.ok_or_else(|| self.none_for(mode, choice))
    }

    fn find(&self, mode: Mode, kind: StoredKind, choice: Choice) -> Result<Option<(Kernel, &RoundKeys)>, Error> {
        let Code::Stored { kernels, keys, .. } = &*self.code else { return Ok(None) };
        let Some(stored) = self.device.stored.find(mode, kind) else { return Ok(None) };
        if !kernels.allow(choice) {
            return Ok(None);
        }
        let Some((_, keys)) = keys.iter().find(|(form, _)| *form == stored.key_form) else { return Ok(None) };
        Ok(self.device.kernel(mode, kind)?.map(|kernel| (kernel, keys)))
    }

    /// Why there is no kernel.
    fn none_for(&self, mode: Mode, choice: Choice) -> Error {
        let name = choice.kernel_name();
        let what = match (&*self.code, choice) {
            (Code::Stored { kernels, .. }, _) if !kernels.allow(choice) => {
                format!("`{name}` is not among what the engine may use (`{kernels}`): let the engine use it, too")
            }
            (Code::Stored { is_xts, .. }, _) if *is_xts != mode.has_tweaks() => {
                let (takes, has, of) =
                    if *is_xts { ("one key", "two", "one alone") } else { ("two keys", "one", "both") };
                format!("{mode} takes {takes}, and this cipher has {has}: make a key of {of}")
            }
            (_, Choice::CoResident { .. }) => {
                format!("there is no `{name}` for {mode} that runs on this device; use `tbox` or `auto-any`")
            }
            _ => format!("there is no `{name}` for {mode} that runs on this device; use `auto` or `auto-any`"),
        };
        Error::NoSuchKernel { what }
    }
}
