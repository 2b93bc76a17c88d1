//! Kernels with their key baked in: from files, or generated for a key and compiled at run time. Nothing that holds
//! the key is written to disk, and what is held in memory is wiped.

use super::kernel::{Image, Kernel};
use super::{Device, DeviceKey};
use crate::{Error, Key};
use aes_bitslice_gen::emit::Manifest;
use aes_bitslice_gen::emit::{cuda, header};
use aes_bitslice_gen::kernel::{BakedStrategy, KernelSpec, Mode, Plan};
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
        let plan = Plan::new(&spec);
        let geometry = cuda::Geometry::of(&spec);
        let source = Zeroizing::new(cuda::source(&plan, geometry, "Engine::bake"));
        self.baked(&Manifest::new(&plan, geometry, "baked.cu", &source), &source)
    }

    fn baked(self: &Arc<Self>, manifest: &Manifest, source: &str) -> Result<DeviceKey, Error> {
        let image = Image::compile(self, &manifest.kernel, source)?;
        let kernel = Kernel::load(self, manifest, &image)?;
        let expected = manifest.known_answer_sha256.as_deref();
        kernel.self_test(self, None, |answer| Some(header::digest_bytes(answer).as_str()) == expected)?;
        Ok(DeviceKey::baked(self.clone(), kernel))
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
