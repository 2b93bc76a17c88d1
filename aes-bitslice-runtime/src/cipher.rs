//! A key on an engine: the calls, the checks before them, and what becomes of the output when one fails.

use crate::engine::BlockEngine;
use crate::parallel::{self, Buffers};
use crate::{Counter, Direction, Engine, Error, cuda};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A key on an engine. Cloning is cheap, and clones share the expanded key, which is wiped with the last of them.
///
/// Wrong arguments are found before any work and change nothing, and so is whatever else stands in the way of starting.
/// If a call fails after it has begun to write, its output is cleared to zero: it never holds half a result. In a call
/// that works in place, output is input.
#[derive(Clone)]
pub struct Cipher {
    engine: Engine,
    blocks: Arc<dyn BlockEngine>,
}

impl Cipher {
    pub(crate) fn new(engine: Engine, blocks: Arc<dyn BlockEngine>) -> Self {
        Self { engine, blocks }
    }

    /// The engine it runs on.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Encrypts whole blocks in place, each on its own (SP 800-38A, section 6.1).
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`] for a length that is no multiple of 16; else what the device reports.
    pub fn ecb_encrypt(&self, data: &mut [u8]) -> Result<(), Error> {
        self.ecb(Direction::Encrypt, Buffers::InPlace(data))
    }

    /// Encrypts whole blocks from `input` to `output`.
    ///
    /// # Errors
    /// As [`ecb_encrypt`](Self::ecb_encrypt), and [`Error::LengthMismatch`].
    pub fn ecb_encrypt_to(&self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        self.ecb(Direction::Encrypt, Buffers::new(input, output)?)
    }

    /// Decrypts whole blocks in place.
    ///
    /// # Errors
    /// As [`ecb_encrypt`](Self::ecb_encrypt).
    pub fn ecb_decrypt(&self, data: &mut [u8]) -> Result<(), Error> {
        self.ecb(Direction::Decrypt, Buffers::InPlace(data))
    }

    /// Decrypts whole blocks from `input` to `output`.
    ///
    /// # Errors
    /// As [`ecb_encrypt_to`](Self::ecb_encrypt_to).
    pub fn ecb_decrypt_to(&self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        self.ecb(Direction::Decrypt, Buffers::new(input, output)?)
    }

    /// XORs `data` with the keystream from byte `offset` on: encryption and decryption both (SP 800-38A, section 6.5).
    ///
    /// Byte 0 of the keystream is the first byte of the encrypted initial counter block, so a long message may be cut
    /// anywhere and its pieces done in any order, each with its own offset.
    ///
    /// # Errors
    /// [`Error::CounterOverflow`] where a 32- or 64-bit counter would run past its field; else what the device reports.
    pub fn ctr_apply(&self, counter: &Counter, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        self.ctr(counter, offset, Buffers::InPlace(data))
    }

    /// XORs `input` with the keystream from byte `offset` on, into `output`.
    ///
    /// # Errors
    /// As [`ctr_apply`](Self::ctr_apply), and [`Error::LengthMismatch`].
    pub fn ctr_apply_to(&self, counter: &Counter, offset: u64, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        self.ctr(counter, offset, Buffers::new(input, output)?)
    }

    /// The same calls on device memory.
    ///
    /// # Errors
    /// [`Error::NotCuda`] if the engine is a CPU.
    pub fn device(&self) -> Result<cuda::DeviceCipher<'_>, Error> {
        self.engine.device("device memory")?;
        let key = (&*self.blocks as &dyn Any).downcast_ref().expect("a CUDA engine's keys are on the device");
        Ok(cuda::DeviceCipher::new(self, key))
    }

    fn ecb(&self, direction: Direction, data: Buffers<'_>) -> Result<(), Error> {
        if !data.len().is_multiple_of(16) {
            return Err(Error::NotWholeBlocks { len: data.len() });
        }
        self.run(data, |_, piece| self.blocks.ecb(direction, piece))
    }

    fn ctr(&self, counter: &Counter, offset: u64, data: Buffers<'_>) -> Result<(), Error> {
        let (first, skip) = counter.start(offset, data.len())?;
        self.run(data, |position, piece| {
            // Pieces begin at multiples of 16 bytes, so all of them skip alike.
            self.blocks.ctr(first.wrapping_add(position as u128 / 16), skip, piece)
        })
    }

    /// Runs a call on all of the data, in pieces over the cores if the engine wants that.
    fn run(
        &self,
        data: Buffers<'_>,
        call: impl Fn(usize, ::cipher::inout::InOutBuf<'_, '_, u8>) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        match data.len() {
            0 => Ok(()),
            _ if self.blocks.runs_on_cores() => parallel::over_cores(data, &call),
            _ => call(0, data.into()),
        }
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher on {:?}", self.engine)
    }
}
