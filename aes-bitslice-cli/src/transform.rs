//! What is done to a stream: mode, direction, padding and IV, and how they change one chunk of it.

use aes_bitslice_runtime::{self as runtime, Cipher, Counter, CounterMode, Direction};
use cipher::block_padding::{Padding as _, Pkcs7};

use crate::args::{CryptArgs, IvName, ModeName, PaddingName};
use crate::error::{Error, Exit, Result};
use crate::input::Input;
use crate::pipeline::Chunk;

/// Bytes of an AES block.
const BLOCK: usize = 16;

/// What is done to every stream of a command; only the IV is each stream's own.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    direction: Direction,
    mode: ModeName,
    /// Whether the last block has PKCS #7 padding (RFC 5652, section 6.3).
    padded: bool,
    /// None for ECB alone.
    iv: Option<IvName>,
    fail_at: Option<u64>,
}

/// What is done to one stream.
#[derive(Clone, Copy, Debug)]
pub struct Transform {
    method: Method,
    /// The initial counter block of CTR; zero for ECB, which has none.
    iv: [u8; BLOCK],
}

impl Method {
    /// What the options ask for.
    pub fn new(direction: Direction, args: &CryptArgs) -> Result<Self> {
        let padded = args.padding == PaddingName::Pkcs7;
        if args.mode == ModeName::Ctr && padded {
            return Err(Error::usage("--padding has no place in CTR, which takes any length; leave it out"));
        }
        // Files that lie beside one another each have their own.
        let iv = match (args.iv, direction) {
            (None, Direction::Encrypt) if args.out_dir.is_some() => Some(IvName::Random),
            (None, Direction::Decrypt) if args.out_dir.is_some() => Some(IvName::Stored),
            (iv, _) => iv,
        };
        let iv = match (args.mode, direction, iv) {
            (ModeName::Ecb, _, _) if args.iv.is_some() => {
                return Err(Error::usage("--iv has no place in ECB; leave it out, or use --mode ctr or cbc"));
            }
            (ModeName::Ecb, _, _) => None,
            (_, Direction::Encrypt, Some(IvName::Stored)) => {
                return Err(Error::usage(
                    "--iv stored is for decryption; to encrypt with a new IV and store it, use --iv random",
                ));
            }
            (_, Direction::Decrypt, Some(IvName::Random)) => {
                return Err(Error::usage(
                    "--iv random is for encryption; to decrypt what it made, use --iv stored, which reads the IV from the input",
                ));
            }
            (_, Direction::Encrypt, Some(IvName::Given(_))) if args.out_dir.is_some() && args.inputs.len() > 1 => {
                return Err(Error::usage(
                    "one IV for several files gives their contents away; use --iv random, which stores a new one in each",
                ));
            }
            (mode, direction, None) => return Err(missing_iv(mode, direction)),
            (_, _, iv) => iv,
        };
        Ok(Method { direction, mode: args.mode, padded, iv, fail_at: args.fail_at })
    }

    /// ECB, which needs nothing.
    #[cfg(test)]
    pub fn ecb_encryption() -> Self {
        Method { direction: Direction::Encrypt, mode: ModeName::Ecb, padded: false, iv: None, fail_at: None }
    }

    /// What an engine calls it.
    pub fn of_engine(&self) -> runtime::Mode {
        match self.mode {
            ModeName::Ecb => runtime::Mode::ecb(self.direction),
            ModeName::Cbc => runtime::Mode::CbcDecrypt,
            ModeName::Ctr => runtime::Mode::Ctr,
        }
    }

    /// Whether it is one block after the other, and so for the CPU.
    pub fn is_serial(&self) -> bool {
        (self.mode, self.direction) == (ModeName::Cbc, Direction::Encrypt)
    }

    /// What is done to the stream that `input` is, of which a stored IV is taken off; a length that cannot be is refused.
    pub fn for_input(&self, input: &mut Input) -> Result<Transform> {
        let iv = match self.iv {
            None => [0; BLOCK],
            Some(IvName::Given(iv)) => iv,
            Some(IvName::Random) => {
                let mut iv = [0; BLOCK];
                getrandom::fill(&mut iv).map_err(runtime::Error::from)?;
                iv
            }
            Some(IvName::Stored) => input.take_iv()?,
        };
        if let Some(length) = input.length {
            self.check_length(length, &input.name)?;
        }
        Ok(Transform { method: *self, iv })
    }

    /// Refuses a stream of a `length` that is not whole blocks where it has to be.
    fn check_length(&self, length: u64, name: &str) -> Result<()> {
        let mode = match self.mode {
            ModeName::Ecb => "ECB",
            ModeName::Cbc => "CBC",
            ModeName::Ctr => return Ok(()),
        };
        let advice = match (self.direction, self.padded) {
            (Direction::Encrypt, true) => return Ok(()),
            (Direction::Encrypt, false) => "use --padding pkcs7, or --mode ctr".to_string(),
            (Direction::Decrypt, _) => format!("it is cut short, or not the output of {mode}"),
        };
        match length % BLOCK as u64 {
            0 => Ok(()),
            rest => Err(Error::new(
                Exit::InputOutput,
                format!("{name} is no multiple of 16 bytes long ({rest} over), as {mode} needs; {advice}"),
            )),
        }
    }
}

impl Transform {
    /// Whether its chunks must be done in order.
    pub fn is_serial(&self) -> bool {
        self.method.is_serial()
    }

    /// What the first block is chained to.
    pub fn iv(&self) -> [u8; BLOCK] {
        self.iv
    }

    /// What stands in front of the output.
    pub fn header(&self) -> &[u8] {
        match self.method.iv {
            Some(IvName::Random) => &self.iv,
            _ => &[],
        }
    }

    /// The most bytes that become of `length`, the header not counted.
    pub fn longest_output(&self, length: u64) -> u64 {
        match self.method.padded {
            true => length.saturating_add(BLOCK as u64),
            false => length,
        }
    }

    /// Changes `chunk`, which is at the front of `memory`, where there is room for a block more; how many bytes it is then.
    ///
    /// `before` is the block of ciphertext that CBC chains its first block to. `name` is the input's.
    pub fn apply(
        &self,
        cipher: &Cipher,
        chunk: &Chunk,
        before: &[u8; BLOCK],
        memory: &mut [u8],
        name: &str,
    ) -> Result<usize> {
        let Method { direction, mode, fail_at, .. } = self.method;
        let padded = self.method.padded && chunk.last;
        let mut length = chunk.length;
        if padded && direction == Direction::Encrypt {
            length = pad(memory, length);
        }
        self.method.check_length(length as u64, name)?;
        let data = &mut memory[..length];
        if fail_at.is_some_and(|at| (chunk.offset..chunk.offset + data.len() as u64).contains(&at)) {
            return Err(lost_gpu().into());
        }
        match (mode, direction) {
            (ModeName::Ecb, Direction::Encrypt) => cipher.ecb_encrypt(data)?,
            (ModeName::Ecb, Direction::Decrypt) => cipher.ecb_decrypt(data)?,
            (ModeName::Cbc, Direction::Encrypt) => cipher.cbc_encrypt(before, data)?,
            (ModeName::Cbc, Direction::Decrypt) => cipher.cbc_decrypt(before, data)?,
            (ModeName::Ctr, _) => {
                let counter = Counter::new(CounterMode::Ctr128BE, self.iv);
                cipher.ctr_apply(&counter, chunk.offset, data)?;
            }
        }
        match padded && direction == Direction::Decrypt {
            true => unpad(data),
            false => Ok(length),
        }
    }
}

fn missing_iv(mode: ModeName, direction: Direction) -> Error {
    let name = if mode == ModeName::Ctr { "ctr" } else { "cbc" };
    let what = match (mode, direction) {
        (_, Direction::Decrypt) => "`stored` if the input begins with it, else its 32 hexadecimal digits",
        (ModeName::Ctr, _) => {
            "`random` to have one made and stored, or 32 hexadecimal digits never used before with the same key"
        }
        _ => "`random` to have one made and stored, or 32 random hexadecimal digits for every message",
    };
    Error::usage(format!("--mode {name} needs --iv: {what}"))
}

/// What an engine reports when the GPU is gone, for tests.
fn lost_gpu() -> runtime::Error {
    runtime::Error::Cuda {
        call: "a call made to fail by --fail-at".into(),
        code: "CUDA_ERROR_DEVICE_UNAVAILABLE".into(),
    }
}

/// Pads the first `length` bytes of `memory`; how many there are then.
fn pad(memory: &mut [u8], length: usize) -> usize {
    let filled = length % BLOCK;
    let start = length - filled;
    Pkcs7::raw_pad(&mut memory[start..start + BLOCK], filled);
    start + BLOCK
}

/// How many bytes are left without the padding of the last block. Why it is bad is not told.
fn unpad(data: &[u8]) -> Result<usize> {
    let length = data.last_chunk::<BLOCK>().and_then(|block| {
        let message = Pkcs7::raw_unpad(block).ok()?;
        Some(data.len() - BLOCK + message.len())
    });
    length.ok_or_else(|| {
        Error::new(Exit::Failure, "bad padding: the wrong key, or the data is damaged or was never padded")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_comes_off_again() {
        for length in 0..=64 {
            let message: Vec<u8> = (0..length).collect();
            // What was there before is not to be seen.
            let mut memory = message.clone();
            memory.resize(message.len() + BLOCK, 0xee);
            let padded = pad(&mut memory, message.len());
            assert_eq!(padded, (message.len() / BLOCK + 1) * BLOCK);
            let unpadded = unpad(&memory[..padded]).unwrap();
            assert_eq!(memory[..unpadded], message);
        }
    }

    #[test]
    fn bad_padding_is_one_message() {
        let mut messages = std::collections::BTreeSet::new();
        let mut ends_of_2_and_1 = vec![7; 16];
        ends_of_2_and_1[14..].copy_from_slice(&[1, 2]);
        for data in [vec![], vec![0; 16], vec![17; 16], vec![255; 32], ends_of_2_and_1] {
            messages.insert(unpad(&data).unwrap_err().message().to_string());
        }
        assert_eq!(messages.len(), 1);
    }
}
