//! The processing of one stream, and of one chunk of it.

use std::ops::Range;

use aes_bitslice_runtime::{self as runtime, Buffers, Cipher, Direction};
use aes_bitslice_seal::{is_sealed, of_openssl};

use crate::args::iv::Iv;
use crate::chunk::{BLOCK, Chunk};
use crate::error::{Error, Exit, Result};
use crate::input::Input;
use crate::method::Method;
use crate::modes::mode::Place;
use crate::padding::{pad, unpad};

/// What to do where the first 16 bytes of an input are not its IV.
pub const IF_NOT_STORED: &str = "if the IV is not stored there, give it with --iv (--iv stored silences this note)";

/// The processing of one stream, chunk by chunk.
pub trait OnChunks: Send + Sync {
    /// The bytes in front of the output.
    fn header(&self) -> &[u8];

    /// The most bytes of output for `length` bytes, without the header; `None` if there can be no output.
    fn longest_output(&self, length: u64) -> Option<u64>;

    /// The fewest bytes of output for `length` bytes, without the header; `None` if there can be no output.
    fn shortest_output(&self, length: u64) -> Option<u64> {
        self.longest_output(length)
    }

    /// If chunks must be processed in order: the block that the first is chained to.
    fn chained_to(&self) -> Option<[u8; BLOCK]>;

    /// Changes `chunk`, which is at the front of `memory`. Returns where in there its output is.
    ///
    /// `before` is the block before the chunk, if there is one: of the output if chunks are processed in order, otherwise of the input.
    /// `name` names the input.
    fn apply(&self, chunk: &Chunk, before: Option<[u8; BLOCK]>, memory: &mut [u8], name: &str) -> Result<Range<usize>>;
}

/// What else decrypts a file that `openssl enc` made from a password, if it is not in base64.
const OR_BY_ITS_KEY: &str =
    "; or have `openssl enc -d -P` print its key and IV, leave out its first 16 bytes (`tail -c +17`), and give these";

/// A mode of operation for one stream.
#[derive(Clone, Copy, Debug)]
pub struct Transform {
    method: Method,
    /// Zero for a mode without one.
    iv: [u8; BLOCK],
    /// Bytes of key stream before the first chunk.
    offset: u64,
}

impl Transform {
    /// `method` for the stream `input`. Takes off a stored IV, and refuses a length that the mode does not take.
    pub fn new(method: &Method, input: &mut Input) -> Result<Self> {
        if method.direction == Direction::Decrypt {
            let start = input.peek(BLOCK)?;
            let other = if is_sealed(&start) {
                Some("is a sealed file: open it with `aes-bitslice open`".to_owned())
            } else {
                of_openssl(&start)
                    .map(|how| how.to_owned() + if start.starts_with(b"Salted__") { OR_BY_ITS_KEY } else { "" })
            };
            if let Some(other) = other {
                return Err(Error::new(Exit::InputOutput, format!("{} {other}", input.name)));
            }
        }
        let iv = match method.iv {
            None => [0; BLOCK],
            Some(Iv::Given(iv)) => iv,
            Some(Iv::Random) => {
                let mut iv = [0; BLOCK];
                getrandom::fill(&mut iv).map_err(runtime::Error::from)?;
                iv
            }
            Some(Iv::Stored) => input.take_iv()?,
        };
        if let Some(length) = input.length {
            method.check_length(length, &input.name)?;
        }
        Ok(Transform { method: *method, iv, offset: 0 })
    }

    /// `method`, which reads nothing, from byte `offset` of the IV's key stream on.
    pub fn writing(method: &Method, iv: [u8; BLOCK], offset: u64) -> Self {
        Transform { method: *method, iv, offset }
    }

    /// This transform under a key.
    pub fn with(self, cipher: Cipher) -> Keyed {
        Keyed { transform: self, cipher }
    }

    /// The block that the first block is chained to.
    pub fn iv(&self) -> [u8; BLOCK] {
        self.iv
    }

    /// Changes `chunk`, which is at the front of `memory`, where there is room for one more block. Returns how many bytes it is then.
    ///
    /// `before` is the block of ciphertext before the chunk; before the first, the IV. `name` names the input.
    fn apply(
        &self,
        cipher: &Cipher,
        chunk: &Chunk,
        before: &[u8; BLOCK],
        memory: &mut [u8],
        name: &str,
    ) -> Result<usize> {
        let Method { direction, padded, .. } = self.method;
        let padded = padded && chunk.last;
        let mut length = chunk.length;
        if padded && direction == Direction::Encrypt {
            length = pad(memory, length);
        }
        self.method.check_length(length as u64, name)?;
        let data = &mut memory[..length];
        let sectors = self.method.sectors;
        let place = Place {
            iv: self.iv,
            offset: self.offset + chunk.offset,
            before: *before,
            sectors,
            ..Place::start(self.iv)
        };
        self.method.operation(&place).on_host(cipher, Buffers::from(&mut *data))?;
        if padded && direction == Direction::Decrypt {
            unpad(data).map_err(|error| error.naming(name))
        } else {
            Ok(length)
        }
    }
}

/// A mode of operation for one stream, under a key.
pub struct Keyed {
    transform: Transform,
    cipher: Cipher,
}

impl OnChunks for Keyed {
    fn header(&self) -> &[u8] {
        match self.transform.method.iv {
            Some(Iv::Random) => &self.transform.iv,
            _ => &[],
        }
    }

    fn longest_output(&self, length: u64) -> Option<u64> {
        let block = BLOCK as u64;
        Some(match (self.transform.method.padded, self.transform.method.direction) {
            (true, Direction::Encrypt) => (length / block).saturating_add(1).saturating_mul(block),
            _ => length,
        })
    }

    fn shortest_output(&self, length: u64) -> Option<u64> {
        let padding = if self.transform.method.padded { BLOCK as u64 } else { 0 };
        Some(match self.transform.method.direction {
            Direction::Encrypt => self.longest_output(length)?,
            Direction::Decrypt => length.saturating_sub(padding),
        })
    }

    fn chained_to(&self) -> Option<[u8; BLOCK]> {
        self.transform.method.is_serial().then_some(self.transform.iv)
    }

    fn apply(&self, chunk: &Chunk, before: Option<[u8; BLOCK]>, memory: &mut [u8], name: &str) -> Result<Range<usize>> {
        let before = before.unwrap_or(self.transform.iv);
        let length = self.transform.apply(&self.cipher, chunk, &before, memory, name)?;
        Ok(0..length)
    }
}

/// Bytes that are not secret, as hexadecimal digits.
pub fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::table::{CTR, ECB, XTS};
    use aes_bitslice_runtime::{Backend, Counter, CounterMode, Ctr, Engine, Key, Xts};

    /// A chunk beyond 4 GiB of its stream.
    #[test]
    fn counters_and_sectors_go_on_after_4_gib() {
        const FAR: u64 = 5 << 30;
        let engine = Engine::open(Backend::Cpu).unwrap();
        let of = |key: Key| engine.cipher(&key).unwrap();
        let (one, two) = (of(Key::new(&[7; 16]).unwrap()), of(Key::xts(&[[7; 16], [8; 16]].concat()).unwrap()));
        let [mut ctr, mut xts] = [[9; 64]; 2];
        let counter = Counter::new(CounterMode::Ctr128BE, [5; 16]);
        one.run(Ctr::new(&counter, FAR), &mut ctr).unwrap();
        two.run(Xts::encrypt(16, (FAR / 16).into()).unwrap(), &mut xts).unwrap();
        for (mode, cipher, expected) in [(&CTR, one, ctr), (&XTS, two, xts)] {
            let keyed = Transform::writing(&Method::encryption(mode), [5; 16], 0).with(cipher);
            let chunk = Chunk { index: 1, offset: FAR, length: 64, to: FAR, before: None, last: false };
            let mut memory = [9; 64];
            assert_eq!(keyed.apply(&chunk, None, &mut memory, "it").unwrap(), 0..64);
            assert_eq!(memory, expected, "{}", mode.name);
        }
    }

    #[test]
    fn the_length_of_an_output_is_known_but_for_its_padding() {
        let cipher = Engine::open(Backend::Cpu).unwrap().cipher(&Key::new(&[7; 16]).unwrap()).unwrap();
        let (encrypt, decrypt) = (Direction::Encrypt, Direction::Decrypt);
        for (padded, direction, length, shortest, longest) in [
            (true, encrypt, 0, 16, 16),
            (true, encrypt, 47, 48, 48),
            (true, encrypt, 48, 64, 64),
            (true, decrypt, 48, 32, 48),
            (true, decrypt, 0, 0, 0),
            (false, encrypt, 48, 48, 48),
            (false, decrypt, 48, 48, 48),
        ] {
            let mut method = Method::encryption(&ECB);
            (method.padded, method.direction) = (padded, direction);
            let keyed = Transform::writing(&method, [0; 16], 0).with(cipher.clone());
            assert_eq!((keyed.shortest_output(length), keyed.longest_output(length)), (Some(shortest), Some(longest)));
        }
    }
}
