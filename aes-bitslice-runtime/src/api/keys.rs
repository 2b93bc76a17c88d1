//! Loads a key on an engine.

use crate::api::cipher::Cipher;
use crate::api::engine::{Engine, Kind, each};
use crate::backend::cpu::OnCores;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::{EXPANSION, scrubbed};
use crate::cpu::key::CpuKey;
use crate::exec::backend::{Opened, Settings};
use crate::exec::choice::Kernels;
use std::sync::Arc;

impl Engine {
    /// Returns a cipher for this key on this engine: expands the key and, for a device, copies it there.
    ///
    /// # Errors
    /// None on the CPU; elsewhere errors from the device, and on an engine that was opened as OpenCL
    /// [`Error::NoSuchKernel`] if [`with_kernels`](Self::with_kernels) allows no bitsliced kernels.
    pub fn cipher(&self, key: &Key) -> Result<Cipher, Error> {
        // A caller who did not ask for a device does not get an error for what it lacks.
        let is_opencl = self.backend().is_opencl();
        let settings = if self.is_auto() && is_opencl {
            Settings { kernels: Kernels::Auto, ..self.settings() }
        } else {
            self.settings()
        };
        scrubbed::<EXPANSION, _>(|| {
            let (cpu, on_backend) = match self.kind() {
                Kind::Cpu(cores @ OnCores::Instructions(_)) => {
                    let cpu = Arc::new(cores.key(key, settings)?);
                    (cpu.clone(), cpu.into())
                }
                kind => {
                    (Arc::new(CpuKey::new(key)), each!(kind, device => Arc::new(device.key(key, settings)?).into()))
                }
            };
            Ok(Cipher::new(self.clone(), on_backend, Some(cpu)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::backend::Backend;
    use aes_bitslice_core::aes::KeyBits;
    use aes_bitslice_core::mode::Mode;

    #[test]
    fn kernels_are_remembered_and_change_nothing_on_a_cpu() {
        for backend in [Backend::Cpu, Backend::CpuBitsliced] {
            let key = Key::new(&[1; 16]).unwrap();
            let encrypted = Kernels::ALL.map(|kernels| {
                let engine = Engine::open(backend).unwrap().with_kernels(kernels);
                assert_eq!((engine.kernels(), engine.clone().kernels()), (kernels, kernels));
                #[cfg(feature = "cuda")]
                assert!(engine.tuning().is_none());
                assert_eq!(engine.backend_for(Mode::Ctr, KeyBits::Aes128, 1 << 40), backend);
                let mut data = [7; 64];
                engine.cipher(&key).unwrap().ecb_encrypt(&mut data).unwrap();
                data
            });
            assert!(encrypted.iter().all(|data| *data == encrypted[0]));
        }
        assert_eq!(Engine::open(Backend::Cpu).unwrap().kernels(), Kernels::Auto);
    }
}
