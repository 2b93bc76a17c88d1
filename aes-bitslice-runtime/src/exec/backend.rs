//! The interface that an engine needs from a backend, and that a cipher needs from a key on it.

use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::call::{Call, PartOf};
use crate::exec::choice::Kernels;
use crate::exec::transfers::Transfers;
use crate::op::buffers::Buffers;
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::Pass;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::layout::Layout;
#[cfg(feature = "manifest")]
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use std::ops::DerefMut;

/// The settings for loading keys on a backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) kernels: Kernels,
    pub(crate) transfers: Transfers,
}

/// An open backend.
pub(crate) trait Opened: Send + Sync {
    /// A key on it.
    type Key: OnBackend;

    /// The backend that was opened; never [`Backend::Auto`] or [`Backend::OpenClFirst`].
    fn backend(&self) -> Backend;

    /// One line of text for people: the device.
    fn description(&self) -> String;

    /// Whether it has these kernels, for data in host memory. A CPU, which needs none, has them.
    fn supports(&self, kernels: KernelsNeeded) -> bool;

    /// Whether a call on host memory is computed here rather than by the engine `cpu`, where the choice is free.
    fn is_preferred(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> bool;

    /// The number of submitted calls that are made at the same time.
    fn calls_at_once(&self) -> usize;

    /// Host memory of `len` bytes, all zero, that is fast for this backend; `None` if ordinary memory is fast.
    fn host_memory(&self, _len: usize) -> Result<Option<Box<dyn HostMemory>>, Error> {
        Ok(None)
    }

    /// Loads a key on this backend.
    fn key(&self, key: &Key, settings: Settings) -> Result<Self::Key, Error>;

    /// The kernel language that it compiles and the layout in which it is fast; `None` if it compiles none.
    fn compiles(&self) -> Option<(Dialect, Layout)> {
        None
    }

    /// Compiles a kernel of that language, and tests it. Its manifest was checked. `key` is `None` if one is baked in.
    #[cfg(feature = "manifest")]
    fn kernel(&self, _printed: &Printed, _key: Option<&Key>, _settings: Settings) -> Result<Self::Key, Error> {
        unreachable!("asked for where kernels are compiled")
    }
}

/// A key on a backend.
pub(crate) trait OnBackend: Send + Sync {
    /// Performs a call on host memory, which is not empty, and returns the result of each chunk, in order. If it fails, it
    /// has either written nothing or cleared all of the output.
    fn run<O: Pass>(&self, call: Call<O>, data: Buffers<'_>) -> Result<Vec<PartOf<O>>, Error>;
}

/// A backend's own kind of host memory, wiped on drop.
pub(crate) trait HostMemory: DerefMut<Target = [u8]> + Send + Sync {}
