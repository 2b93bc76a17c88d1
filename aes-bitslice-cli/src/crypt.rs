//! `encrypt` and `decrypt`: a key and an engine applied to a stream.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use aes_bitslice_runtime::{self as runtime, Backend, Cipher, Counter, CounterMode, Direction, Key};
use cipher::block_padding::{Padding as _, Pkcs7};
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::{CryptArgs, KeySource, ModeName, PaddingName};
use crate::engine::{self, Work};
use crate::error::{Error, Exit, Result};
use crate::input::Input;
use crate::keys;
use crate::output::{Options, Output};
use crate::pipeline::{self, Chunk};

/// Bytes of an AES block.
const BLOCK: usize = 16;

/// Bytes that a GPU gets at a time: enough to fill it several times over and to hide its start and the latency of the bus.
const GPU_CHUNK: u64 = 64 << 20;

/// What decides how bytes are changed: a key, or a kernel that is one.
enum Secret<'a> {
    Key(Key),
    /// The kernel's manifest.
    Kernel(&'a Path),
}

/// What is done to the bytes, in order of the stream.
struct Transform {
    direction: Direction,
    /// Whether the last block has PKCS #7 padding (RFC 5652, section 6.3).
    padded: bool,
    mode: Mode,
}

/// A mode, and where in the stream it is.
enum Mode {
    Ecb,
    /// Chained to this ciphertext block; to the IV at first.
    Cbc {
        previous: [u8; BLOCK],
    },
    /// From `offset` bytes of keystream on.
    Ctr {
        counter: Counter,
        offset: u64,
    },
}

/// Encrypts or decrypts as told.
pub fn run(direction: Direction, args: &CryptArgs) -> Result<()> {
    let mut transform = Transform::new(direction, args)?;
    let secret = match args.key.source.baked.as_deref() {
        Some(_) if transform.is_serial() => {
            return Err(Error::usage("CBC encryption runs on the CPU, a kernel does not; use --key-file or --key-env"));
        }
        Some(manifest) => Secret::Kernel(manifest),
        None => Secret::Key(keys::read(&args.key, args.quiet)?),
    };
    let input = Input::open(args.input.as_deref())?;
    if let Some(length) = input.length {
        transform.check_length(length, &input.name)?;
    }
    secret_stays(args)?;
    let options = Options { force: args.force, private: false };
    let output = Output::open(args.output.as_deref(), Some(&input), options)?;
    let work = match &secret {
        Secret::Kernel(_) => Work::Baked,
        Secret::Key(_) if transform.is_serial() => Work::Serial,
        Secret::Key(key) => {
            let bytes = input.length.map_or(GPU_CHUNK, |length| length.min(GPU_CHUNK));
            Work::Parallel { mode: transform.of_engine(), key_bits: key.bits(), bytes }
        }
    };
    let engine = engine::open(&args.engine, work, args.quiet)?;
    // Where the work is done, whatever was opened.
    let backend = if work == Work::Serial { Backend::Cpu } else { engine.backend() };
    let cipher = match secret {
        Secret::Key(key) => engine.cipher(&key)?,
        Secret::Kernel(manifest) => engine.load_baked(manifest)?,
    };
    let chunk_bytes = args.chunk_bytes.unwrap_or(match backend {
        Backend::Cuda { .. } => GPU_CHUNK as usize,
        _ => 8 << 20,
    });
    let name = input.name.clone();
    let bar = progress_bar(input.length, args.quiet);
    let moved = pipeline::run(
        input,
        &output,
        chunk_bytes,
        |chunk| transform.apply(&cipher, chunk, &name),
        |bytes| bar.inc(bytes),
    );
    let done = moved.and_then(|()| output.finish());
    // Asked before the bar is cleared; then a line of its own, so that the prompt finds an empty one.
    let summary = (done.is_ok() && !bar.is_hidden()).then(|| {
        let (bytes, elapsed) = (bar.position(), bar.elapsed());
        let rate = HumanBytes((bytes as f64 / elapsed.as_secs_f64()) as u64);
        format!("{} in {elapsed:.1?}, {rate}/s on {backend}", HumanBytes(bytes))
    });
    bar.finish_and_clear();
    if let Some(summary) = summary {
        let _ = writeln!(io::stderr(), "{summary}");
    }
    done
}

/// Refuses to replace the key, or the kernel that is one, with what it encrypts: nobody could decrypt that.
fn secret_stays(args: &CryptArgs) -> Result<()> {
    let Some(output) = &args.output else { return Ok(()) };
    let KeySource { key_file, baked, .. } = &args.key.source;
    let source = baked.as_ref().map(|manifest| manifest.with_extension("cu"));
    let secrets = [key_file, baked, &source];
    match secrets.into_iter().flatten().any(|secret| same_file::is_same_file(secret, output).unwrap_or(false)) {
        true => Err(Error::new(Exit::InputOutput, format!("`{}` is the key; choose another output", output.display()))),
        false => Ok(()),
    }
}

impl Transform {
    fn new(direction: Direction, args: &CryptArgs) -> Result<Self> {
        let padded = args.padding == PaddingName::Pkcs7;
        let mode = match (args.mode, args.iv) {
            (ModeName::Ecb, None) => Mode::Ecb,
            (ModeName::Ecb, Some(_)) => {
                return Err(Error::usage("--iv has no place in ECB; leave it out, or use --mode ctr or cbc"));
            }
            (ModeName::Cbc, Some(iv)) => Mode::Cbc { previous: iv },
            (ModeName::Cbc, None) => {
                return Err(Error::usage(
                    "--mode cbc needs --iv with 32 hexadecimal digits; to encrypt, random ones for every message",
                ));
            }
            (ModeName::Ctr, _) if padded => {
                return Err(Error::usage("--padding has no place in CTR, which takes any length; leave it out"));
            }
            (ModeName::Ctr, None) => {
                return Err(Error::usage(
                    "--mode ctr needs --iv with 32 hexadecimal digits, never used before with the same key",
                ));
            }
            (ModeName::Ctr, Some(iv)) => Mode::Ctr { counter: Counter::new(CounterMode::Ctr128BE, iv), offset: 0 },
        };
        Ok(Transform { direction, padded, mode })
    }

    /// What an engine calls it.
    fn of_engine(&self) -> runtime::Mode {
        match (&self.mode, self.direction) {
            (Mode::Ecb, direction) => runtime::Mode::ecb(direction),
            (Mode::Cbc { .. }, _) => runtime::Mode::CbcDecrypt,
            (Mode::Ctr { .. }, _) => runtime::Mode::Ctr,
        }
    }

    /// Whether it is one block after the other, and so for the CPU.
    fn is_serial(&self) -> bool {
        matches!((&self.mode, self.direction), (Mode::Cbc { .. }, Direction::Encrypt))
    }

    /// Refuses a stream of a `length` that is not whole blocks where it has to be.
    fn check_length(&self, length: u64, name: &str) -> Result<()> {
        let mode = match self.mode {
            Mode::Ecb => "ECB",
            Mode::Cbc { .. } => "CBC",
            Mode::Ctr { .. } => return Ok(()),
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

    fn apply(&mut self, cipher: &Cipher, chunk: &mut Chunk, name: &str) -> Result<()> {
        let Chunk { data, last } = chunk;
        let (direction, padded) = (self.direction, self.padded && *last);
        if padded && direction == Direction::Encrypt {
            pad(data);
        }
        self.check_length(data.len() as u64, name)?;
        match (&mut self.mode, direction) {
            (Mode::Ecb, Direction::Encrypt) => cipher.ecb_encrypt(data)?,
            (Mode::Ecb, Direction::Decrypt) => cipher.ecb_decrypt(data)?,
            (Mode::Cbc { previous }, Direction::Encrypt) => {
                cipher.cbc_encrypt(previous, data)?;
                *previous = data.last_chunk().copied().unwrap_or(*previous);
            }
            (Mode::Cbc { previous }, Direction::Decrypt) => {
                let next = data.last_chunk().copied().unwrap_or(*previous);
                cipher.cbc_decrypt(previous, data)?;
                *previous = next;
            }
            (Mode::Ctr { counter, offset }, _) => {
                cipher.ctr_apply(counter, *offset, data)?;
                *offset += data.len() as u64;
            }
        }
        if padded && direction == Direction::Decrypt {
            unpad(data)?;
        }
        Ok(())
    }
}

fn pad(data: &mut Vec<u8>) {
    let filled = data.len() % BLOCK;
    data.resize(data.len() - filled + BLOCK, 0);
    let start = data.len() - BLOCK;
    Pkcs7::raw_pad(&mut data[start..], filled);
}

/// Takes the padding off the last block. Why it is bad is not told.
fn unpad(data: &mut Vec<u8>) -> Result<()> {
    let length = data.last_chunk::<BLOCK>().and_then(|block| {
        let message = Pkcs7::raw_unpad(block).ok()?;
        Some(data.len() - BLOCK + message.len())
    });
    let bad = || Error::new(Exit::Failure, "bad padding: the wrong key, or the data is damaged or was never padded");
    data.truncate(length.ok_or_else(bad)?);
    Ok(())
}

/// A bar on standard error where that is a terminal, nothing otherwise.
fn progress_bar(length: Option<u64>, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(length, target);
    let template = match length {
        Some(_) => "{wide_bar} {binary_bytes} of {binary_total_bytes}  {binary_bytes_per_sec}  {eta} left",
        None => "{spinner} {binary_bytes}  {binary_bytes_per_sec}  {elapsed}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_comes_off_again() {
        for length in 0..=64 {
            let message: Vec<u8> = (0..length).collect();
            let mut data = message.clone();
            pad(&mut data);
            assert_eq!(data.len(), (message.len() / BLOCK + 1) * BLOCK);
            unpad(&mut data).unwrap();
            assert_eq!(data, message);
        }
    }

    #[test]
    fn bad_padding_is_one_message() {
        let mut messages = std::collections::BTreeSet::new();
        let mut ends_of_2_and_1 = vec![7; 16];
        ends_of_2_and_1[14..].copy_from_slice(&[1, 2]);
        for data in [vec![], vec![0; 16], vec![17; 16], vec![255; 32], ends_of_2_and_1] {
            let before = data.clone();
            let mut data = data;
            messages.insert(unpad(&mut data).unwrap_err().message().to_string());
            assert_eq!(data, before);
        }
        assert_eq!(messages.len(), 1);
    }
}
