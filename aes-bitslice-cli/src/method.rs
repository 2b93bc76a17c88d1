//! What is done to every stream of a command: mode, direction, padding, and where IVs come from.

use aes_bitslice_runtime::{self as runtime, Direction};

use crate::args::crypt::{CryptArgs, IvName, PaddingName};
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
    pub iv: Option<IvName>,
    /// The byte of a stream at which it fails, for tests.
    pub fail_at: Option<u64>,
}

impl Method {
    /// What the options ask for.
    pub fn new(direction: Direction, args: &CryptArgs) -> Result<Self> {
        let mode = args.mode;
        let padded = args.padding == PaddingName::Pkcs7;
        if padded && !mode.whole_blocks {
            let message = format!("--padding has no place in {}, which takes any length; leave it out", mode.title);
            return Err(Error::usage(message));
        }
        let iv = match mode.iv {
            Some(wanted) => Some(iv(direction, args, wanted)?),
            None if args.iv.is_some() => {
                let others = table::names(|mode| mode.iv.is_some());
                let message = format!("--iv has no place in {}; leave it out, or use --mode {others}", mode.title);
                return Err(Error::usage(message));
            }
            None => None,
        };
        Ok(Method { direction, mode, padded, iv, fail_at: args.stream.fail_at })
    }

    /// A mode that reads nothing, with this IV, which stands nowhere in the output.
    pub fn writing(mode: &'static Mode, iv: [u8; BLOCK], fail_at: Option<u64>) -> Self {
        Method { direction: Direction::Encrypt, mode, padded: false, iv: Some(IvName::Given(iv)), fail_at }
    }

    /// ECB, which needs nothing.
    #[cfg(test)]
    pub fn ecb_encryption() -> Self {
        let mode = &crate::modes::ecb::ECB;
        Method { direction: Direction::Encrypt, mode, padded: false, iv: None, fail_at: None }
    }

    /// The kernels that do it; `None` for what the CPU does on every engine.
    pub fn kernels(&self) -> Option<runtime::Mode> {
        (self.mode.kernels)(self.direction)
    }

    /// What is done to a chunk of a stream.
    pub fn operation(&self, place: &Place) -> Box<dyn AnyOperation> {
        (self.mode.operation)(self.direction, place)
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

/// Where IVs come from. One for encryption has to be as `wanted` says.
fn iv(direction: Direction, args: &CryptArgs, wanted: &str) -> Result<IvName> {
    // Files that lie beside one another each have their own.
    let unless_given = args.out_dir.as_ref().map(|_| match direction {
        Direction::Encrypt => IvName::Random,
        Direction::Decrypt => IvName::Stored,
    });
    match (direction, args.iv.or(unless_given)) {
        (Direction::Encrypt, Some(IvName::Stored)) => {
            Err(Error::usage("--iv stored is for decryption; to encrypt with a new IV and store it, use --iv random"))
        }
        (Direction::Decrypt, Some(IvName::Random)) => Err(Error::usage(
            "--iv random is for encryption; to decrypt what it made, use --iv stored, which reads the IV from the input",
        )),
        (Direction::Encrypt, Some(IvName::Given(_))) if args.out_dir.is_some() && args.inputs.len() > 1 => {
            Err(Error::usage(
                "one IV for several files gives their contents away; use --iv random, which stores a new one in each",
            ))
        }
        (_, Some(iv)) => Ok(iv),
        (_, None) => {
            let what = match direction {
                Direction::Encrypt => format!("`random` to have one made and stored, or {wanted}"),
                Direction::Decrypt => "`stored` if the input begins with it, else its 32 hexadecimal digits".into(),
            };
            Err(Error::usage(format!("--mode {} needs --iv: {what}", args.mode.name)))
        }
    }
}
