//! NVIDIA GPUs through the CUDA driver.

use crate::engine::BlockEngine;
use crate::{Cipher, Direction, Error, Key};
use cipher::inout::InOutBuf;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

/// A CUDA device that was opened.
pub(crate) struct Device {
    never: std::convert::Infallible,
}

/// Opens the device with this number.
pub(crate) fn open(_ordinal: usize) -> Result<Arc<Device>, Error> {
    Err(Error::CudaUnavailable {
        what: "this build has no CUDA support".into(),
        help: "use the CPU, or a build with CUDA support".into(),
    })
}

/// A key on a device.
pub(crate) struct DeviceKey {
    never: std::convert::Infallible,
}

impl Device {
    /// The device's name, as its driver tells it.
    pub(crate) fn name(&self) -> String {
        match self.never {}
    }

    /// Brings a key to the device.
    pub(crate) fn cipher(self: &Arc<Self>, _key: &Key) -> Result<DeviceKey, Error> {
        match self.never {}
    }

    /// Loads a kernel with its key baked in.
    pub(crate) fn load_baked(self: &Arc<Self>, _manifest: &Path) -> Result<DeviceKey, Error> {
        match self.never {}
    }
}

impl BlockEngine for DeviceKey {
    fn ecb(&self, _direction: Direction, _data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        match self.never {}
    }

    fn ctr(&self, _counter: u128, _skip: usize, _data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        match self.never {}
    }
}

/// Calls on device memory.
pub struct DeviceCipher<'a> {
    never: std::convert::Infallible,
    cipher: PhantomData<&'a Cipher>,
}

impl<'a> DeviceCipher<'a> {
    pub(crate) fn new(_cipher: &'a Cipher) -> Result<Self, Error> {
        Err(Error::CudaUnavailable {
            what: "this build has no CUDA support".into(),
            help: "use the CPU, or a build with CUDA support".into(),
        })
    }

    /// The cipher these calls use.
    pub fn cipher(&self) -> &'a Cipher {
        let _ = self.cipher;
        match self.never {}
    }
}
