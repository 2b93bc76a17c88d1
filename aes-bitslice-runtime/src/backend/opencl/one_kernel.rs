//! A kernel compiled at run time for one key, which is baked in or passed at launch.

use crate::backend::opencl::device::Device;
use crate::backend::opencl::device_key::DeviceKey;
use crate::backend::opencl::kernel::compiled::Kernel;
use crate::backend::opencl::kernel::self_test::self_test;
use crate::backend::opencl::memory::key_memory::RoundKeys;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::sources;
use crate::exec::transfers::Transfers;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::self_test;
use std::sync::Arc;

/// Compiles a kernel, and tests it. `key` is `None` if a key is baked in.
pub(crate) fn compile(
    device: &Arc<Device>,
    Printed { source, manifest }: &Printed,
    key: Option<&Key>,
    transfers: Transfers,
) -> Result<DeviceKey, Error> {
    let (context, pool) = (device.context(), device.pool());
    sources::has_one_key(manifest)?;
    let kernel = Kernel::compile(context, manifest, source)?;
    let keys = match key {
        Some(key) => {
            let keys = RoundKeys::new(context, manifest.keys, sources::key_words(manifest, key)?, None)?;
            let expected = self_test::expected(kernel.mode(), &sources::schedule(kernel.mode(), key));
            self_test(&kernel, pool, keys.as_ref(), |answer| answer == expected)?;
            keys
        }
        None => {
            self_test(&kernel, pool, None, |answer| sources::is_known_answer(manifest, answer))?;
            None
        }
    };
    Ok(DeviceKey::with_kernel(device, kernel, keys, transfers))
}
