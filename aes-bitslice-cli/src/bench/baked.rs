//! Kernels with their key baked in, generated and compiled before anything is timed.

use aes_bitslice_runtime::{self as runtime, Cipher, Engine, Key, Keys, at_once};

use super::case::Case;
use crate::error::Result;
use crate::modes::measured::MeasuredMode;

/// The S-box of the kernels: the one with the fewest lookup tables.
const SBOX: &str = "lut3";

/// The kernels of a GPU.
#[derive(Default)]
pub struct Baked {
    kernels: Vec<Kernel>,
    /// Modes without such kernels, and why.
    pub missing: Vec<(MeasuredMode, String)>,
}

struct Kernel {
    /// The key's place among the measured keys.
    key: usize,
    mode: MeasuredMode,
    cipher: Cipher,
}

impl Baked {
    /// Bakes each key for each mode, all at once; without a compiler, or with one that must not see keys, returns why not.
    pub fn new(engine: &Engine, keys: &[Key], modes: &[MeasuredMode]) -> Result<std::result::Result<Self, String>> {
        type Baking = std::result::Result<Vec<(MeasuredMode, std::result::Result<Kernel, String>)>, runtime::Error>;
        let mut wanted = Vec::new();
        // A kernel has one key baked in, and nothing else has it.
        let (others, modes): (Vec<MeasuredMode>, Vec<_>) =
            modes.iter().partition(|mode| mode.about().keys != Keys::One);
        for (index, key) in keys.iter().enumerate() {
            for &mode in modes.iter().filter(|mode| mode.takes(key)) {
                wanted.push((index, key, mode));
            }
        }
        let bake = |(index, key, mode): (usize, &Key, MeasuredMode)| match engine.bake(
            key,
            mode.kernels().expect("kernels for what needs no other key"),
            SBOX,
        ) {
            Ok(cipher) => Ok((mode, Ok(Kernel { key: index, mode, cipher }))),
            Err(runtime::Error::NoSuchKernel { what }) => Ok((mode, Err(what))),
            Err(error) => Err(error),
        };
        let made: Baking = at_once(wanted, bake).into_iter().collect();
        match made {
            Ok(made) => {
                let none =
                    |mode: MeasuredMode| (mode, format!("{} needs more than a kernel with one key", mode.mode.title));
                let mut all = Self { kernels: Vec::new(), missing: others.into_iter().map(none).collect() };
                for (mode, made) in made {
                    match made {
                        Ok(kernel) => all.kernels.push(kernel),
                        Err(_) if all.missing.iter().any(|(known, _)| *known == mode) => {}
                        Err(why) => all.missing.push((mode, why)),
                    }
                }
                Ok(Ok(all))
            }
            Err(error @ (runtime::Error::NvrtcUnavailable { .. } | runtime::Error::CompilerCache { .. })) => {
                Ok(Err(error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The kernels for a case.
    pub fn of(&self, case: &Case) -> impl Iterator<Item = &Cipher> {
        let of_case = |kernel: &&Kernel| kernel.key == case.keyed.index && kernel.mode == case.keyed.mode;
        self.kernels.iter().filter(of_case).map(|kernel| &kernel.cipher)
    }
}
