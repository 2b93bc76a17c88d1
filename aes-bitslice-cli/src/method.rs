//! What is done to every stream of a command: mode, direction, padding, and where IVs come from.

use aes_bitslice_runtime::{self as runtime, Direction, KeyBits};

use crate::args::crypt::{CryptArgs, PaddingName};
use crate::args::iv::Iv;
use crate::chunk::BLOCK;
use crate::error::{Error, Exit, Result};
use crate::modes::mode::{Mode, Place};
use crate::modes::operation::AnyOperation;
use crate::modes::table;

/// What is done to every stream of a command; only the IV is each stream's own.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    pub direction: Direction,
    mode: &'static Mode,
    /// Whether the last block has PKCS #7 padding.
    pub padded: bool,
    /// `None` for a mode without an IV alone.
    pub iv: Option<Iv>,
    /// The length of key that the mode's name asks for.
    pub key_bits: Option<KeyBits>,
    /// The byte of a stream at which it fails, for tests.
    pub fail_at: Option<u64>,
}

impl Method {
    /// What the options ask for.
    pub fn new(direction: Direction, args: &CryptArgs) -> Result<Self> {
        let mode = args.mode.mode;
        let padded = args.padding == PaddingName::Pkcs7;
        if padded && !mode.whole_blocks {
            let message = format!("--padding has no place in {}, which takes any length; leave it out", mode.title);
            return Err(Error::usage(message));
        }
        let iv = match mode.iv {
            true => Some(iv(direction, args)?),
            false if args.iv.is_some() => {
                let others = table::names(|mode| mode.iv);
                let message = format!("--iv has no place in {}; leave it out, or use --mode {others}", mode.title);
                return Err(Error::usage(message));
            }
            false => None,
        };
        Ok(Method { direction, mode, padded, iv, key_bits: args.mode.key_bits, fail_at: args.stream.fail_at })
    }

    /// A mode that reads nothing, with this IV, which stands nowhere in the output.
    pub fn writing(mode: &'static Mode, iv: [u8; BLOCK], fail_at: Option<u64>) -> Self {
        let iv = Some(Iv::Given(iv));
        Method { direction: Direction::Encrypt, mode, padded: false, iv, key_bits: None, fail_at }
    }

    /// Encryption in a mode, with an IV of zeros if it has one.
    #[cfg(test)]
    pub fn encryption(mode: &'static Mode) -> Self {
        let iv = mode.iv.then_some(Iv::Given([0; BLOCK]));
        Method { direction: Direction::Encrypt, mode, padded: false, iv, key_bits: None, fail_at: None }
    }

    /// The kernels that do it; `None` for what the CPU does on every engine.
    pub fn kernels(&self) -> Option<runtime::Mode> {
        (self.mode.kernels)(self.direction)
    }

    /// What is done to a chunk of a stream.
    pub fn operation(&self, place: &Place) -> Box<dyn AnyOperation> {
        (self.mode.operation)(self.direction, place)
    }

    /// The name of the mode.
    pub fn mode_name(&self) -> &'static str {
        self.mode.name
    }

    /// The name of the operation.
    pub fn name(&self) -> &'static str {
        self.operation(&Place::start([0; BLOCK])).name()
    }

    /// Whether the chunks of a stream must be done in order.
    pub fn is_serial(&self) -> bool {
        self.operation(&Place::start([0; BLOCK])).is_serial()
    }

    /// Refuses a stream of a `length` that is not whole blocks where it has to be. `name` is the input's.
    pub fn check_length(&self, length: u64, name: &str) -> Result<()> {
        let title = self.mode.title;
        let rest = length % BLOCK as u64;
        let is_padded_first = self.padded && self.direction == Direction::Encrypt;
        if rest == 0 || is_padded_first || !self.mode.whole_blocks {
            return Ok(());
        }
        let advice = match self.direction {
            Direction::Encrypt => {
                format!("use --padding pkcs7, or --mode {}", table::names(|mode| !mode.whole_blocks))
            }
            Direction::Decrypt => format!("it is cut short, or not the output of {title}"),
        };
        Err(Error::new(
            Exit::InputOutput,
            format!("{name} is no multiple of 16 bytes long ({rest} over), as {title} needs; {advice}"),
        ))
    }
}

/// Where IVs come from.
fn iv(direction: Direction, args: &CryptArgs) -> Result<Iv> {
    match (direction, args.iv) {
        (Direction::Encrypt, Some(Iv::Given(_))) if args.out_dir.is_some() && args.inputs.len() > 1 => {
            Err(Error::usage(
                "one IV for several files gives their contents away; leave --iv out, and a new one is stored in each",
            ))
        }
        (Direction::Encrypt, iv) => Ok(iv.unwrap_or(Iv::Random)),
        (Direction::Decrypt, iv) => Ok(iv.unwrap_or(Iv::Stored)),
    }
}
