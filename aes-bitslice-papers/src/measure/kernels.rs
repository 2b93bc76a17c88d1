//! All kernels, opened at the same time: each takes the compiler seconds.

use crate::case::{Case, Code, Kernel, Work};
use aes_bitslice_gen::kernel::{BakedStrategy, KernelSpec};
use aes_bitslice_gen::layout::Layout;
use aes_bitslice_gen::sbox::CANRIGHT;
use aes_bitslice_runtime::{Cipher, Engine, Key};
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

/// Kernels by name, or why they did not open.
pub struct Kernels(BTreeMap<String, Result<Cipher, String>>);

impl Kernels {
    /// Opens the kernels of all cases, as many at a time as the machine has cores.
    pub fn open(engine: &Engine, key: &Key, cases: &[Case]) -> Self {
        let kernels = cases.iter().filter_map(|case| match &case.work {
            Work::Kernel(kernel) | Work::Copied { kernel, .. } => Some((kernel.name(), kernel)),
            // On other GPUs, too.
            Work::Spread { .. } | Work::Allocation => None,
        });
        let wanted: BTreeMap<String, &Kernel> = kernels.collect();
        let (left, opened) = (Mutex::new(wanted.into_iter()), Mutex::new(BTreeMap::new()));
        let next = || left.lock().ok()?.next();
        let open = || {
            while let Some((name, kernel)) = next() {
                let cipher = self::open(engine, key, kernel).map_err(|error| format!("{error:#}"));
                let _ = opened.lock().map(|mut opened| opened.insert(name, cipher));
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(open);
            }
        });
        Self(opened.into_inner().unwrap_or_default())
    }

    /// A kernel, or why it did not open.
    pub fn get(&self, kernel: &Kernel) -> Result<&Cipher> {
        let found = self.0.get(&kernel.name()).ok_or_else(|| anyhow!("{} was not opened", kernel.name()))?;
        found.as_ref().map_err(|why| anyhow!("{why}"))
    }

    /// Why, if none opened: the reason of one of them.
    pub fn all_failed(&self) -> Option<&str> {
        let mut why = None;
        for opened in self.0.values() {
            why = Some(opened.as_ref().err()?.as_str());
        }
        why
    }
}

/// Opens a kernel, tested and ready to be launched.
pub fn open(engine: &Engine, key: &Key, kernel: &Kernel) -> Result<Cipher> {
    let cipher = match &kernel.code {
        Code::Stored => engine.cipher(key)?,
        Code::Design(design) => engine.cipher_of(key, design)?,
        Code::OneHotMux => {
            let spec = KernelSpec::baked(kernel.mode, &CANRIGHT, BakedStrategy::OneHotMux, key.expose());
            let spec = spec.ok_or_else(|| anyhow!("a key of no AES length"))?;
            engine.cipher_of(key, &spec.with_layout(Layout::State)?.into())?
        }
    };
    cipher.device()?.prepare(kernel.mode)?;
    Ok(cipher)
}
