//! `encrypt` and `decrypt`: a key and an engine applied to a stream.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Direction, Key};
use cipher::block_padding::{Padding as _, Pkcs7};
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::{CryptArgs, KeySource, ModeName, PaddingName};
use crate::engine;
use crate::error::{Error, Exit, Result};
use crate::input::Input;
use crate::keys;
use crate::output::{Options, Output};
use crate::pipeline::{self, Chunk};

/// Bytes of an AES block.
const BLOCK: usize = 16;

/// What decides how bytes are changed: a key, or a kernel that is one.
enum Secret<'a> {
    Key(Key),
    /// The kernel's manifest.
    Kernel(&'a Path),
}

/// What is done to the bytes, in order of the stream.
enum Transform {
    /// Blocks on their own; PKCS #7 padding (RFC 5652, section 6.3) on the last one, or none.
    Ecb { direction: Direction, padded: bool },
    /// XOR with the keystream from `offset` bytes on.
    Ctr { counter: Counter, offset: u64 },
}

/// Encrypts or decrypts as told.
pub fn run(direction: Direction, args: &CryptArgs) -> Result<()> {
    let mut transform = Transform::new(direction, args)?;
    let secret = match args.key.source.kernel.as_deref() {
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
    let engine = engine::open(&args.engine, matches!(secret, Secret::Kernel(_)))?;
    let cipher = match secret {
        Secret::Key(key) => engine.cipher(&key)?,
        Secret::Kernel(manifest) => engine.load_baked(manifest)?,
    };
    let chunk_bytes = args.chunk_bytes.unwrap_or(match engine.backend() {
        // Enough to fill a GPU several times over and to hide its start and the latency of the bus.
        Backend::Cuda { .. } => 64 << 20,
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
        format!("{} in {elapsed:.1?}, {rate}/s on {}", HumanBytes(bytes), engine.backend())
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
    let KeySource { key_file, kernel, .. } = &args.key.source;
    let source = kernel.as_ref().map(|manifest| manifest.with_extension("cu"));
    let secrets = [key_file, kernel, &source];
    match secrets.into_iter().flatten().any(|secret| same_file::is_same_file(secret, output).unwrap_or(false)) {
        true => Err(Error::new(Exit::InputOutput, format!("`{}` is the key; choose another output", output.display()))),
        false => Ok(()),
    }
}

impl Transform {
    fn new(direction: Direction, args: &CryptArgs) -> Result<Self> {
        match (args.mode, args.iv, args.padding) {
            (ModeName::Ecb, None, padding) => Ok(Transform::Ecb { direction, padded: padding == PaddingName::Pkcs7 }),
            (ModeName::Ecb, Some(_), _) => {
                Err(Error::usage("--iv has no place in ECB; leave it out, or use --mode ctr"))
            }
            (ModeName::Ctr, _, PaddingName::Pkcs7) => {
                Err(Error::usage("--padding has no place in CTR, which takes any length; leave it out"))
            }
            (ModeName::Ctr, None, _) => Err(Error::usage(
                "--mode ctr needs --iv with 32 hexadecimal digits, never used before with the same key",
            )),
            (ModeName::Ctr, Some(iv), _) => {
                Ok(Transform::Ctr { counter: Counter::new(CounterMode::Ctr128BE, iv), offset: 0 })
            }
        }
    }

    /// Refuses a stream of a `length` that is not whole blocks where it has to be.
    fn check_length(&self, length: u64, name: &str) -> Result<()> {
        let Transform::Ecb { direction, padded } = self else { return Ok(()) };
        let advice = match (direction, padded) {
            (Direction::Encrypt, true) => return Ok(()),
            (Direction::Encrypt, false) => "use --padding pkcs7, or --mode ctr",
            (Direction::Decrypt, _) => "it is cut short, or not the output of ECB",
        };
        match length % BLOCK as u64 {
            0 => Ok(()),
            rest => Err(Error::new(
                Exit::InputOutput,
                format!("{name} is no multiple of 16 bytes long ({rest} over), as ECB needs; {advice}"),
            )),
        }
    }

    fn apply(&mut self, cipher: &Cipher, chunk: &mut Chunk, name: &str) -> Result<()> {
        let Chunk { data, last } = chunk;
        match self {
            Transform::Ctr { counter, offset } => {
                cipher.ctr_apply(counter, *offset, data)?;
                *offset += data.len() as u64;
                Ok(())
            }
            Transform::Ecb { direction: Direction::Encrypt, padded } => {
                if *padded && *last {
                    pad(data);
                }
                self.check_length(data.len() as u64, name)?;
                Ok(cipher.ecb_encrypt(data)?)
            }
            Transform::Ecb { direction: Direction::Decrypt, padded } => {
                let unpadded = *padded && *last;
                self.check_length(data.len() as u64, name)?;
                cipher.ecb_decrypt(data)?;
                if unpadded {
                    unpad(data)?;
                }
                Ok(())
            }
        }
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
