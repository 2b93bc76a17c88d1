//! Kernels that are compiled at run time: with their key baked in, from files or generated for it, and any other that the
//! generator prints. Nothing that holds a key is written to disk, and what is held in memory is wiped.

use super::image::Image;
use super::kernel::Kernel;
use super::round_keys::RoundKeys;
use super::{Device, DeviceKey};
use crate::{Error, Key};
use aes_bitslice_gen::aes::KeySchedule;
use aes_bitslice_gen::emit::header;
use aes_bitslice_gen::emit::{KeySource, Manifest};
use aes_bitslice_gen::emit::{Printed, cuda};
use aes_bitslice_gen::kernel::{BakedStrategy, Design, KernelSpec, Mode, self_test};
use aes_bitslice_gen::sbox::Sbox;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// No source or manifest is larger; what is, is something else.
const LARGEST_FILE: u64 = 16 << 20;

impl Device {
    /// Loads a kernel from its manifest and the source beside it.
    pub(crate) fn load_baked(self: &Arc<Self>, path: &Path) -> Result<DeviceKey, Error> {
        self.enter()?;
        let bad = |what: String| Error::BadManifest { path: path.into(), what };
        let manifest = Manifest::parse(&read(path).map_err(bad)?).map_err(|e| bad(e.to_string()))?;
        if !manifest.secret {
            return Err(bad("is of a kernel without a key: give it one with `Engine::cipher`".into()));
        }
        let source =
            read(&path.with_file_name(&manifest.source)).map_err(|e| bad(format!("{}: {e}", manifest.source)))?;
        if header::digest(&source) != manifest.source_sha256 {
            return Err(bad(format!("{} is not the source it was made for: generate both anew", manifest.source)));
        }
        self.baked(&manifest, &source)
    }

    /// Generates and compiles a kernel for a key.
    pub(crate) fn bake(
        self: &Arc<Self>,
        key: &Key,
        mode: Mode,
        strategy: BakedStrategy,
        sbox: &str,
    ) -> Result<DeviceKey, Error> {
        self.enter()?;
        let sbox = Sbox::named(sbox).map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
        let spec = KernelSpec::baked(mode, sbox, strategy, key.expose()).expect("a key has one of the three lengths");
        let printed = cuda::print(&spec.into(), "Engine::bake");
        self.baked(&printed.manifest, &printed.source)
    }

    /// Generates and compiles any kernel, for a key; a kernel with a key baked in must have this one.
    pub(crate) fn cipher_of(self: &Arc<Self>, key: &Key, design: &Design) -> Result<DeviceKey, Error> {
        self.enter()?;
        let mode = design.mode();
        let schedule = KeySchedule::new(key.expose(), mode.direction()).expect("a key has one of the three lengths");
        if design.baked().is_some_and(|baked| baked.round_keys() != schedule.round_keys()) {
            return Err(Error::NoSuchKernel { what: "it has another key baked in: generate one for this key".into() });
        }
        let Printed { source, manifest } = cuda::print(design, "Engine::cipher_of");
        if manifest.secret {
            return self.baked(&manifest, &source);
        }
        let kernel = Kernel::load(self, &manifest, &Image::compile(self, &manifest, &source)?)?;
        let words = manifest.key_words(key.expose()).map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
        let words = words.expect("a key has one of the three lengths");
        let keys = match manifest.keys {
            KeySource::Memory => RoundKeys::in_memory(self, &words)?,
            _ => RoundKeys::Argument(words),
        };
        let expected = self_test::expected(mode, &schedule);
        kernel.self_test(self, Some(&keys), |answer| answer == expected)?;
        Ok(DeviceKey::with_kernel(self.clone(), kernel, Some(keys)))
    }

    fn baked(self: &Arc<Self>, manifest: &Manifest, source: &str) -> Result<DeviceKey, Error> {
        let image = Image::compile(self, manifest, source)?;
        let kernel = Kernel::load(self, manifest, &image)?;
        let expected = manifest.known_answer_sha256.as_deref();
        kernel.self_test(self, None, |answer| Some(header::digest_bytes(answer).as_str()) == expected)?;
        Ok(DeviceKey::with_kernel(self.clone(), kernel, None))
    }
}

fn read(path: &Path) -> Result<Zeroizing<String>, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    // Room for all of it at once: growing would leave copies behind.
    let len = file.metadata().map_err(|e| e.to_string())?.len();
    if len > LARGEST_FILE {
        return Err("is too large".into());
    }
    let mut text = Zeroizing::new(String::with_capacity(len as usize + 1));
    file.take(LARGEST_FILE).read_to_string(&mut text).map_err(|e| e.to_string())?;
    Ok(text)
}
