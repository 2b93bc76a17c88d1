//! A kernel compiled at run time for one key, which is baked in or passed at launch.

use crate::backend::device::driver::Driver;
use crate::backend::device::kernel::Kernel;
use crate::backend::device::round_keys::RoundKeys;
use crate::backend::device::self_test;
use crate::backend::device::slots::Slots;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::sources;
use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_core::self_test as answers;

/// A kernel, and the key that it is launched with, unless one is baked in.
pub(crate) type WithKeys<D> = (Kernel<D>, Option<RoundKeys<<D as Driver>::KeyMemory>>);

/// Compiles a kernel with `compile`, and tests it: with this key, or with the one baked in. The device was entered on this thread.
///
/// # Errors
/// [`Error::NoSuchKernel`], [`Error::CompileFailed`], [`Error::SelfTestFailed`], and any error the driver reports.
pub(crate) fn compiled<D: Driver>(
    slots: &Slots<D>,
    Printed { source, manifest }: &Printed,
    key: Option<&Key>,
    compile: impl FnOnce(&Manifest, &str) -> Result<Kernel<D>, Error>,
) -> Result<WithKeys<D>, Error> {
    sources::has_one_key(manifest)?;
    let kernel = compile(manifest, source)?;
    let Some(key) = key else {
        self_test::of_cipher(&kernel, slots, None, |answer| sources::is_known_answer(manifest, answer))?;
        return Ok((kernel, None));
    };
    let keys = RoundKeys::new(
        |words| kernel.driver().key_memory(words),
        manifest.keys,
        sources::key_words(manifest, key)?,
        None,
    )?;
    let expected = answers::expected(kernel.mode(), &sources::schedule(kernel.mode(), key));
    self_test::of_cipher(&kernel, slots, keys.as_ref(), |answer| answer == expected)?;
    Ok((kernel, keys))
}
