//! One mode with one key on data of one size, and whether an engine computes it correctly.

use aes_bitslice_runtime::{self as runtime, Access, Buffers, Cipher, Direction, Engine, Key, Tag};

use super::chunks::{chunks, expected};
use super::cores::first_difference;
use super::host_data::HostData;
use super::start::start;
use crate::error::{Error, Exit, Result};
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::Sectors;
use crate::modes::operation::{AnyOperation, Returned};

/// A mode with a key.
#[derive(Clone, Copy)]
pub struct Keyed<'a> {
    /// The key's place among the measured keys.
    pub index: usize,
    pub key: &'a Key,
    /// The key on the `cpu` engine.
    pub reference: &'a Cipher,
    pub mode: MeasuredMode,
    pub sectors: Sectors,
    pub runs: u32,
}

/// A measured key and mode with data of `bytes` bytes.
pub struct Case<'a> {
    pub keyed: Keyed<'a>,
    pub bytes: usize,
    pub operation: Box<dyn AnyOperation>,
    /// The tag that it makes.
    pub tag: Option<Tag>,
}

impl<'a> Case<'a> {
    /// Computes what the first `bytes` of the input become, and their tag. If that is to be verified, the input becomes what it is
    /// encrypted to. There may be more bytes than the host has: then nothing is computed.
    pub fn new(keyed: Keyed<'a>, bytes: usize, data: &mut HostData) -> Result<Self> {
        let Keyed { reference, mode, sectors, .. } = keyed;
        let mut place = start(sectors);
        let mut tag = None;
        if let (Some(input), Some(expected)) = (data.input.get_mut(..bytes), data.expected.get_mut(..bytes)) {
            if mode.about().verifies {
                let encrypt = (mode.mode.operation)(Direction::Encrypt, &place);
                place.tag =
                    encrypt.on_host(reference, Buffers::from((&*input, &mut *expected)))?.expect("a tag to verify");
                input.swap_with_slice(expected);
            }
            tag = mode.operation(&place).on_host(reference, Buffers::from((&*input, expected)))?;
        }
        Ok(Case { keyed, bytes, operation: mode.operation(&place), tag })
    }

    /// An error if the `output` of an engine is not as `expected`, or its tag is another.
    pub fn check(&self, engine: &Engine, tag: Option<Tag>, output: &[u8], expected: &[u8]) -> Result<()> {
        let writes = self.operation.about().access != Access::Reads;
        if let Some(first) = writes.then(|| first_difference(output, expected)).flatten() {
            return Err(self.is_wrong_at(engine, first));
        }
        if tag == self.tag {
            Ok(())
        } else {
            Err(self.is_wrong(engine, &format!("the tag of {} bytes is not that of `cpu`", self.bytes)))
        }
    }

    /// An error if chunks of an engine's output are not what the `cpu` engine makes of its input, which `input` and `output` copy from a
    /// byte on; some reach across `cuts`.
    pub fn check_chunks(
        &self,
        engine: &Engine,
        cuts: &[usize],
        input: impl Fn(usize, &mut [u8]) -> Result<()>,
        output: impl Fn(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let Keyed { reference, mode, sectors, .. } = self.keyed;
        for chunk in chunks(self.bytes, cuts) {
            let expected = expected(reference, mode, sectors, chunk.clone(), &input)?;
            let mut found = vec![0; chunk.len()];
            output(chunk.start, &mut found)?;
            if let Some(first) = first_difference(&found, &expected) {
                return Err(self.is_wrong_at(engine, chunk.start + first));
            }
        }
        Ok(())
    }

    /// The tag that a call returned, if it succeeded. The input is authentic.
    pub fn returned(&self, engine: &Engine, returned: Returned) -> Result<Option<Tag>> {
        returned.map_err(|error| match error {
            runtime::Error::Unauthenticated => {
                self.is_wrong(engine, &format!("it refuses the tag of {} bytes that `cpu` made", self.bytes))
            }
            error => error.into(),
        })
    }

    fn is_wrong_at(&self, engine: &Engine, first: usize) -> Error {
        self.is_wrong(engine, &format!("byte {first} of {} is the first to differ from `cpu`", self.bytes))
    }

    fn is_wrong(&self, engine: &Engine, what: &str) -> Error {
        let (engine, mode, bits) = (engine.description(), self.keyed.mode.name, self.keyed.key.bits().bits());
        let message = format!("{engine} computes {mode} with a key of {bits} bits wrongly: {what}; do not use it");
        Error::new(Exit::Failure, message)
    }
}
