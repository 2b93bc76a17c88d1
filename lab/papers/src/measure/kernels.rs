//! All kernels, opened at the same time, because each takes the compiler seconds.

use crate::case::{Case, Kernel, Work};
use crate::measure::data::Keys;
use crate::measure::devices::Devices;
use crate::measure::printed;
use crate::measured::{Kind, Profile};
use aes_bitslice_runtime::{self as runtime, Cipher};
use anyhow::{Result, anyhow, bail};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

/// Kernels, each on the first CUDA GPU or on the OpenCL device of a kind, by name; or why they did not open.
pub struct Kernels {
    opened: BTreeMap<Place, Result<Cipher, String>>,
    /// The profiles of kernels that are printed in CUDA C, by name.
    pub profiles: BTreeMap<String, Profile>,
}

type Place = (Option<Kind>, String);

impl Kernels {
    /// Opens the kernels of all cases, one at a time on each core of the machine.
    ///
    /// # Errors
    /// Without a compiler, or if none of them opens.
    pub fn open(devices: &Devices, keys: &Keys, cases: &[Case]) -> Result<Self> {
        let kernels = cases.iter().filter_map(|case| match &case.work {
            Work::Kernel(kernel) | Work::Copied { kernel, .. } => Some(((None, kernel.name()), kernel)),
            Work::OpenCl { kernel, on } => Some(((Some(*on), kernel.name()), kernel)),
            // On other GPUs, too.
            Work::Sharded { .. } => None,
            Work::CopiesAlone { .. } | Work::Allocation | Work::Host { .. } | Work::Program(_) | Work::Processor(_) => {
                None
            }
        });
        let wanted: BTreeMap<Place, &Kernel> = kernels.collect();
        let (left, opened) = (Mutex::new(wanted.into_iter()), Mutex::new(BTreeMap::new()));
        let next = || left.lock().ok()?.next();
        let open = || {
            while let Some((place, kernel)) = next() {
                let cipher = devices.engine(place.0).and_then(|engine| printed::open(engine, keys, kernel));
                let _ = opened.lock().map(|mut opened| opened.insert(place, cipher));
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(open);
            }
        });
        let (mut kernels, mut profiles) = (BTreeMap::new(), BTreeMap::new());
        let mut last = None;
        for (place, opened) in opened.into_inner().unwrap_or_default() {
            let opened = match opened {
                Err(error) if matches!(error.downcast_ref(), Some(runtime::Error::NvrtcUnavailable { .. })) => {
                    return Err(error);
                }
                Err(error) => Err(last.insert(format!("{error:#}")).clone()),
                Ok((cipher, profile)) => {
                    profiles.extend(profile.map(|profile| (place.1.clone(), profile)));
                    Ok(cipher)
                }
            };
            kernels.insert(place, opened);
        }
        match last {
            Some(why) if kernels.values().all(Result::is_err) => bail!("no kernel opens: {why}"),
            _ => Ok(Self { opened: kernels, profiles }),
        }
    }

    /// A kernel on a device, or why it did not open.
    pub fn get(&self, on: Option<Kind>, kernel: &Kernel) -> Result<&Cipher> {
        let found = self.opened.get(&(on, kernel.name())).ok_or_else(|| anyhow!("{} was not opened", kernel.name()))?;
        found.as_ref().map_err(|why| anyhow!("{why}"))
    }
}
