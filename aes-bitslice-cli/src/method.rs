//! The method for every stream of a command: mode, direction, padding, and where IVs come from.

use aes_bitslice_runtime::{self as runtime, Direction, KeyBits, Keys};

use crate::args::crypt::{CryptArgs, PaddingName};
use crate::args::iv::Iv;
use crate::chunk::BLOCK;
use crate::error::{Error, Exit, Result};
use crate::modes;
use crate::modes::mode::{Lengths, Mode, Place, Sectors};
use crate::modes::operation::AnyOperation;

/// The method for every stream of a command; only the IV is each stream's own.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    pub direction: Direction,
    mode: &'static Mode,
    /// Whether the last block has PKCS #7 padding.
    pub padded: bool,
    /// `None` only for a mode without an IV.
    pub iv: Option<Iv>,
    /// The sectors of a stream, for a mode that has them.
    pub sectors: Sectors,
    /// The key length that the mode's name asks for.
    pub key_bits: Option<KeyBits>,
}

impl Method {
    /// The method that the options ask for.
    pub fn new(direction: Direction, args: &CryptArgs) -> Result<Self> {
        let mode = args.mode.mode;
        let padded = args.padding == PaddingName::Pkcs7;
        if padded && mode.lengths != Lengths::WholeBlocks {
            let message =
                format!("--padding has no place in {}, which needs no whole blocks; leave it out", mode.title);
            return Err(Error::usage(message));
        }
        if args.sectors.are_given() && mode.lengths != Lengths::Sectors {
            let others = modes::names(|mode| mode.lengths == Lengths::Sectors);
            let message = format!(
                "{} has no sectors; leave --sector-size and --first-sector out, or use --mode {others}",
                mode.title
            );
            return Err(Error::usage(message));
        }
        if args.iv.is_some() && !mode.iv {
            let advice = match mode.lengths {
                Lengths::Sectors => "its sectors have numbers instead: --first-sector".into(),
                _ => format!("leave it out, or use --mode {}", modes::names(|mode| mode.iv)),
            };
            return Err(Error::usage(format!("--iv has no place in {}; {advice}", mode.title)));
        }
        let iv = if mode.iv { Some(iv(direction, args)?) } else { None };
        let (sectors, key_bits) = (args.sectors.sectors(), args.mode.key_bits);
        Ok(Method { direction, mode, padded, iv, sectors, key_bits })
    }

    /// A mode that reads nothing, with this IV, which is nowhere in the output.
    pub fn writing(mode: &'static Mode, iv: [u8; BLOCK]) -> Self {
        let iv = Some(Iv::Given(iv));
        let sectors = Sectors::DEFAULT;
        Method { direction: Direction::Encrypt, mode, padded: false, iv, sectors, key_bits: None }
    }

    /// Encryption in a mode, with an IV of zeros if it has one, and sectors of a block.
    #[cfg(test)]
    pub fn encryption(mode: &'static Mode) -> Self {
        let iv = mode.iv.then_some(Iv::Given([0; BLOCK]));
        let sectors = Sectors { bytes: BLOCK as u64, first: 0 };
        Method { direction: Direction::Encrypt, mode, padded: false, iv, sectors, key_bits: None }
    }

    /// The kernels that do it; `None` if the CPU does it on every engine.
    pub fn kernels(&self) -> Option<runtime::Mode> {
        // The CPU processes sectors of other lengths.
        (self.mode.kernels)(self.direction).filter(|_| self.sectors.bytes.is_multiple_of(BLOCK as u64))
    }

    /// The operation on a chunk of a stream.
    pub fn operation(&self, place: &Place) -> Box<dyn AnyOperation> {
        (self.mode.operation)(self.direction, place)
    }

    /// The name of the mode.
    pub fn mode_name(&self) -> &'static str {
        self.mode.name
    }

    /// The name of the operation.
    pub fn name(&self) -> &'static str {
        self.operation(&Place::start([0; BLOCK])).about().name
    }

    /// Which keys it needs.
    pub fn keys(&self) -> Keys {
        self.operation(&Place::start([0; BLOCK])).about().keys
    }

    /// The chunks of a stream are whole multiples of this many bytes, except for the last.
    pub fn grain(&self) -> usize {
        match self.mode.lengths {
            Lengths::Sectors => self.sectors.bytes as usize,
            Lengths::Any | Lengths::WholeBlocks => BLOCK,
        }
    }

    /// Whether the chunks of a stream must be done in order.
    pub fn is_serial(&self) -> bool {
        self.operation(&Place::start([0; BLOCK])).about().is_serial
    }

    /// Refuses a stream of a `length` that the mode does not take. `name` names the input.
    pub fn check_length(&self, length: u64, name: &str) -> Result<()> {
        let (title, block) = (self.mode.title, BLOCK as u64);
        let is_padded_first = self.padded && self.direction == Direction::Encrypt;
        let (what, to_encrypt) = match self.mode.lengths {
            Lengths::WholeBlocks if !length.is_multiple_of(block) && !is_padded_first => {
                let what = format!("is not a multiple of 16 bytes long ({} over), as {title} needs", length % block);
                let any = modes::names(|mode| mode.lengths == Lengths::Any);
                (what, format!("use --padding pkcs7, or --mode {any}"))
            }
            Lengths::Sectors if (1..block).contains(&(length % self.sectors.bytes)) => {
                let rest = length % self.sectors.bytes;
                let what = format!(
                    "has {rest} of {} bytes in its last sector, and {title} needs 16 or more there",
                    self.sectors.bytes
                );
                (what, "fill it up to whole sectors, or use `seal`, which takes any length".into())
            }
            _ => return Ok(()),
        };
        let advice = match self.direction {
            Direction::Encrypt => to_encrypt,
            Direction::Decrypt => format!("it is cut short, or not the output of {title}"),
        };
        Err(Error::new(Exit::InputOutput, format!("{name} {what}; {advice}")))
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
