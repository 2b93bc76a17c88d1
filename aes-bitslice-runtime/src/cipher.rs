//! A key on an engine: the calls, the checks before them, and what becomes of the output when one fails.

use crate::cpu::CpuKey;
use crate::engine::BlockEngine;
use crate::parallel::{self, Buffers};
use crate::work::{Part, Work};
use crate::{Backend, Counter, Direction, Engine, Error, cuda, opencl};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A key on an engine. Cloning is cheap, and clones share the expanded key, which is wiped with the last of them.
///
/// Wrong arguments are found before any work and change nothing, and so is whatever else stands in the way of starting.
/// If a call fails after it has begun to write, its output is cleared to zero: it never holds half a result. In a call
/// that works in place, output is input.
///
/// It is `Send` and `Sync`: any number of threads may share one cipher and make calls on it at the same time. The calls
/// here return when they are done; [`submit`](crate::submit) has those that do not wait.
#[derive(Clone)]
pub struct Cipher {
    engine: Engine,
    blocks: Arc<dyn BlockEngine>,
    /// The key on the CPU, for what is serial, and for the calls that [`Engine::backend_for`] sends there; none where the
    /// cipher is one kernel's.
    cpu: Option<Arc<dyn CpuKey>>,
}

impl Cipher {
    pub(crate) fn new(engine: Engine, blocks: Arc<dyn BlockEngine>, cpu: Option<Arc<dyn CpuKey>>) -> Self {
        Self { engine, blocks, cpu }
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

    /// Encrypts whole blocks in place, each chained to the one before (CBC; SP 800-38A, section 6.2).
    ///
    /// That is serial by nature: it runs on one core of the CPU, through the `aes` crate, whatever the engine.
    ///
    /// `iv` must be such that nobody can foretell it (SP 800-38A, appendix C): random bytes, new for every message. A
    /// long message may be cut at whole blocks and its pieces encrypted in order; the IV of each is the last block of
    /// ciphertext before it.
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`] for a length that is no multiple of 16, [`Error::NeedsKey`] on a cipher of one kernel.
    pub fn cbc_encrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
        self.cbc_serial(iv, Buffers::InPlace(data))
    }

    /// Encrypts whole blocks, each chained to the one before, from `input` to `output`.
    ///
    /// # Errors
    /// As [`cbc_encrypt`](Self::cbc_encrypt), and [`Error::LengthMismatch`].
    pub fn cbc_encrypt_to(&self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        self.cbc_serial(iv, Buffers::new(input, output)?)
    }

    /// Decrypts whole blocks in place, each chained to the ciphertext block before it (CBC; SP 800-38A, section 6.2).
    ///
    /// A long message may be cut at whole blocks and its pieces decrypted in any order; the IV of each is the block of
    /// ciphertext before it, which in place has to be kept.
    ///
    /// Nothing tells whether the ciphertext was changed. Who lets others learn whether the padding inside was right, by
    /// an error or by time, decrypts for them (a padding oracle): check a MAC first.
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`] for a length that is no multiple of 16; else what the device reports.
    pub fn cbc_decrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
        self.cbc(iv, Buffers::InPlace(data))
    }

    /// Decrypts whole blocks, each chained to the ciphertext block before it, from `input` to `output`.
    ///
    /// # Errors
    /// As [`cbc_decrypt`](Self::cbc_decrypt), and [`Error::LengthMismatch`].
    pub fn cbc_decrypt_to(&self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        self.cbc(iv, Buffers::new(input, output)?)
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

    /// The same calls on memory of a CUDA device.
    ///
    /// # Errors
    /// [`Error::NotCuda`] if the engine has no CUDA device, [`Error::SeveralDevices`] if it has several GPUs.
    pub fn device(&self) -> Result<cuda::DeviceCipher<'_>, Error> {
        self.engine.device("device memory")?;
        Ok(cuda::DeviceCipher::new(self, &self.group_key().keys()[0]))
    }

    /// The same of each of the engine's GPUs, in the order of [`Engine::cuda_contexts`]: for whoever has buffers and
    /// streams of their own on each.
    ///
    /// A message that lies on several GPUs is cut anywhere for CTR, and each piece is given the place of its first byte in
    /// the message as `offset`, with the same counter; for ECB it is cut at whole blocks; for CBC too, and the IV of a piece
    /// is the block of ciphertext before it, which in place has to be kept.
    ///
    /// # Errors
    /// [`Error::NotCuda`] if the engine has no CUDA device.
    pub fn devices(&self) -> Result<Vec<cuda::DeviceCipher<'_>>, Error> {
        self.engine.group("device memory")?;
        Ok(self.group_key().keys().iter().map(|key| cuda::DeviceCipher::new(self, key)).collect())
    }

    /// The same calls on device memory that is spread over the engine's GPUs ([`Engine::spread`]).
    ///
    /// # Errors
    /// [`Error::NotCuda`] if the engine has no CUDA device.
    pub fn spread(&self) -> Result<cuda::SpreadCipher<'_>, Error> {
        self.engine.group("spread memory")?;
        Ok(cuda::SpreadCipher::new(self, self.group_key()))
    }

    /// The same calls on OpenCL buffers.
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] if the engine has no OpenCL device.
    pub fn opencl(&self) -> Result<opencl::BufferCipher<'_>, Error> {
        self.engine.opencl("a call on OpenCL buffers")?;
        let key = (&*self.blocks as &dyn Any).downcast_ref().expect("an OpenCL engine's keys are on its device");
        Ok(opencl::BufferCipher::new(self, key))
    }

    /// The key on the GPUs of a CUDA engine.
    fn group_key(&self) -> &cuda::GroupKey {
        (&*self.blocks as &dyn Any).downcast_ref().expect("a CUDA engine's keys are on its devices")
    }

    fn ecb(&self, direction: Direction, data: Buffers<'_>) -> Result<(), Error> {
        Self::whole_blocks(data.len())?;
        self.run(Work::Ecb(direction), data)
    }

    fn cbc_serial(&self, iv: &[u8; 16], data: Buffers<'_>) -> Result<(), Error> {
        Self::whole_blocks(data.len())?;
        let cpu = self.cpu.as_ref().ok_or(Error::NeedsKey { what: "CBC encryption" })?;
        cpu.cbc_encrypt(iv, data.into());
        Ok(())
    }

    fn cbc(&self, iv: &[u8; 16], data: Buffers<'_>) -> Result<(), Error> {
        Self::whole_blocks(data.len())?;
        self.run(Work::CbcDecrypt { iv: *iv }, data)
    }

    fn ctr(&self, counter: &Counter, offset: u64, data: Buffers<'_>) -> Result<(), Error> {
        let (counter, skip) = counter.start(offset, data.len())?;
        self.run(Work::Ctr { counter, skip }, data)
    }

    /// Refuses a length that is not whole blocks.
    pub(crate) fn whole_blocks(len: usize) -> Result<(), Error> {
        if len.is_multiple_of(16) { Ok(()) } else { Err(Error::NotWholeBlocks { len }) }
    }

    /// Runs a call on all of the data, on the engine that is for it, in pieces over the cores if that wants it.
    fn run(&self, work: Work, data: Buffers<'_>) -> Result<(), Error> {
        let blocks = match &self.cpu {
            Some(cpu) if self.engine.backend_for(work.mode(), cpu.bits(), data.len() as u64) == Backend::Cpu => &**cpu,
            _ => &*self.blocks,
        };
        match data.len() {
            0 => Ok(()),
            _ if blocks.runs_on_cores() => {
                parallel::over_cores(work, data, |part: Part<'_>| blocks.run(part.work, part.data))
            }
            _ => blocks.run(work, data),
        }
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher on {:?}", self.engine)
    }
}
