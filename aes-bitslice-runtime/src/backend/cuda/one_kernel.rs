//! Ciphers of one kernel, compiled at run time on a CUDA device.

use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::kernel::round_keys::RoundKeys;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::sources;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::self_test;
use std::sync::Arc;

/// Compiles a kernel, and tests it: with this key, or with the one baked in.
pub(crate) fn load(device: &Arc<Device>, printed: &Printed, key: Option<&Key>) -> Result<DeviceKey, Error> {
    device.enter()?;
    let Printed { source, manifest } = printed;
    sources::has_one_key(manifest)?;
    let kernel = device.compile(manifest, source)?;
    let Some(key) = key else {
        device.test(&kernel, None, |answer| sources::is_known_answer(manifest, answer))?;
        return Ok(DeviceKey::with_kernel(device.clone(), kernel, None));
    };
    let words = sources::key_words(manifest, key)?;
    let keys = match manifest.keys {
        KeySource::Memory | KeySource::ScheduleInMemory => RoundKeys::in_memory(device.context(), &words)?,
        _ => RoundKeys::Argument(words),
    };
    let expected = self_test::expected(kernel.mode(), &sources::schedule(kernel.mode(), key));
    device.test(&kernel, Some(&keys), |answer| answer == expected)?;
    Ok(DeviceKey::with_kernel(device.clone(), kernel, Some(keys)))
}
