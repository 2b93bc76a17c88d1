//! One mode with one key, and whether an engine computes it correctly.

use aes_bitslice_runtime::{self as runtime, Buffers, Cipher, Engine, Key};

use super::chunks::{chunks, expected};
use super::cores::first_difference;
use super::start::start;
use crate::error::{Error, Exit, Result};
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::Sectors;
use crate::modes::operation::AnyOperation;

/// A mode with a key.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The key's place among the measured keys.
    pub index: usize,
    pub key: &'a Key,
    /// The same on the `cpu` engine.
    pub reference: &'a Cipher,
    pub mode: MeasuredMode,
    pub sectors: Sectors,
    pub runs: u32,
}

impl Case<'_> {
    /// The operation on a whole input.
    pub fn operation(&self) -> Box<dyn AnyOperation> {
        self.mode.operation(&start(self.sectors))
    }

    /// Computes it from host memory to host memory.
    pub fn apply(&self, cipher: &Cipher, input: &[u8], output: &mut [u8]) -> std::result::Result<(), runtime::Error> {
        self.operation().on_host(cipher, Buffers::from((input, output)))
    }

    /// An error if an engine's `output` is not as `expected`.
    pub fn check(&self, engine: &Engine, output: &[u8], expected: &[u8]) -> Result<()> {
        first_difference(output, expected).map_or(Ok(()), |first| Err(self.is_wrong(engine, first, output.len())))
    }

    /// The same for chunks of an engine's input and output, `bytes` altogether, which `input` and `output` copy from a
    /// byte on; some reach across `cuts`.
    pub fn check_chunks(
        &self,
        engine: &Engine,
        bytes: usize,
        cuts: &[usize],
        input: impl Fn(usize, &mut [u8]) -> Result<()>,
        output: impl Fn(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        for chunk in chunks(bytes, cuts) {
            let expected = expected(self.reference, self.mode, self.sectors, chunk.clone(), &input)?;
            let mut found = vec![0; chunk.len()];
            output(chunk.start, &mut found)?;
            if let Some(first) = first_difference(&found, &expected) {
                return Err(self.is_wrong(engine, chunk.start + first, bytes));
            }
        }
        Ok(())
    }

    fn is_wrong(&self, engine: &Engine, first: usize, bytes: usize) -> Error {
        let message = format!(
            "{} computes {} with a key of {} bits wrongly: \
             byte {first} of {bytes} is the first to differ from `cpu`; do not use it",
            engine.description(),
            self.mode.name(),
            self.key.bits().bits(),
        );
        Error::new(Exit::Failure, message)
    }
}
