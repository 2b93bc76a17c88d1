//! The main job, from start to finish, for people who see the project for the first time: a key, a kernel with that key baked in,
//! a file encrypted with the engine that `auto` takes, compared with another implementation, and decrypted again. It shows no
//! rate: what it builds is not optimised throughout, and `aes-bitslice bench` measures.

use crate::bake;
use crate::cargo::{Cargo, Profile};
use crate::files;
use crate::scratch::Folder;
use aes::Aes128;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::mode::Mode;
use anyhow::{Context, Result, bail, ensure};
use cipher::{KeyIvInit, StreamCipher};
use ctr::Ctr128BE;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use zeroize::Zeroizing;

/// Bytes that are read, generated or compared at a time.
const CHUNK: usize = 1 << 20;
/// Bytes of the file that is generated if none is given.
const GENERATED: usize = 64 << 20;
/// AES-128.
const KEY_BYTES: usize = 16;

#[derive(clap::Args)]
pub struct Args {
    /// The file to encrypt; it is only read [default: 64 MiB of random bytes]
    file: Option<PathBuf>,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    if let Some(file) = &args.file {
        File::open(file)
            .and_then(|f| f.metadata())
            .and_then(|m| if m.is_file() { Ok(()) } else { Err(std::io::Error::other("it is no ordinary file")) })
            .with_context(|| format!("cannot read `{}`", file.display()))?;
    }
    let cargo = Cargo::new(root);
    // In the build folder, where files may be large.
    fs::create_dir_all(&cargo.target)
        .with_context(|| format!("cannot make the folder `{}`", cargo.target.display()))?;
    let folder = Folder::create(&cargo.target, "demo-").context("cannot make a temporary folder")?;
    let at = |name: &str| folder.path.join(name);

    let mut key = Zeroizing::new([0; KEY_BYTES]);
    let mut iv = [0; 16];
    getrandom::fill(&mut *key)?;
    getrandom::fill(&mut iv)?;
    let hex = Zeroizing::new(base16ct::lower::encode_string(&*key));
    files::write_all(&folder.path, &[("key", hex.as_bytes())], true)?;
    step("1  a random key of 128 bits, and a kernel with it baked in");
    let baked = bake::run(
        root,
        bake::Args {
            key: Some(format!("@{}", at("key").display())),
            preset: None,
            mode: Some(Mode::Ctr),
            sbox: None,
            layout: None,
            dialect: Dialect::Cuda,
            out: Some(at("baked")),
            force: false,
        },
    )?;
    let [baked] = &baked[..] else { bail!("one mode is one kernel") };

    step("2  the command line, built");
    let program = cargo.program("aes-bitslice-cli", "aes-bitslice", Profile::Shared)?;
    say!("   {}", program.display());

    let (plain, encrypted, decrypted) =
        (args.file.clone().unwrap_or_else(|| at("data")), at("data.enc"), at("data.dec"));
    if args.file.is_none() {
        make_file(&plain)?;
    }
    let bytes = fs::metadata(&plain)?.len();
    let (backend, description) = engine(&program)?;
    let crypt = |verb: &str, backend: &str, secret: &str, is: &Path, from: &Path, to: &Path| {
        let mut command = Command::new(&program);
        command
            .args([verb, "--mode", "ctr", "--backend", backend, "--quiet", "--iv"])
            .arg(base16ct::lower::encode_string(&iv));
        command.arg(secret).arg(is).arg("-o").arg(to).arg(from);
        output(&mut command)
    };
    step(&format!(
        "3  {} encrypted, AES-128-CTR",
        if args.file.is_some() { plain.display().to_string() } else { "a file".into() }
    ));
    say!("   with {description}");
    crypt("encrypt", &backend, "--key-file", &at("key"), &plain, &encrypted)?;
    say!("   {bytes} bytes, from file to file");

    step("4  compared with the crates aes and ctr");
    verify(&plain, &encrypted, &key, &iv)?;
    say!("   equal, all {bytes} bytes");

    step("5  decrypted again");
    match crypt("decrypt", "auto", "--baked", baked, &encrypted, &decrypted) {
        Ok(_) => say!("   with the baked kernel, compiled first"),
        Err(error) => {
            say!("   with the key, for the baked kernel does not run here: {}", one_line(&error));
            crypt("decrypt", &backend, "--key-file", &at("key"), &encrypted, &decrypted)?;
        }
    }
    compare(&plain, &decrypted)?;
    say!("   equal to the original");

    folder.delete().context("cannot delete the temporary folder")?;
    say!("\nAll is well. Keys and files made for this are deleted.");
    say!("How fast it is here: cargo run --release --package aes-bitslice-cli -- bench");
    Ok(())
}

/// The program's own words, if the error is that it failed.
fn one_line(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.rsplit_once("error: ").map_or(text.as_str(), |(_, words)| words).to_string()
}

fn step(title: &str) {
    say!("\n{title}");
}

/// Data without a pattern.
fn make_file(path: &Path) -> Result<()> {
    let mut file = File::create(path)?;
    let mut chunk = vec![0; CHUNK];
    for _ in 0..GENERATED / CHUNK {
        getrandom::fill(&mut chunk)?;
        file.write_all(&chunk).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}

/// The engine that `auto` takes, as the command line reports it.
fn engine(program: &Path) -> Result<(String, String)> {
    let info: Value = serde_json::from_slice(&output(Command::new(program).args(["info", "--json"]))?.stdout)?;
    let auto = &info["auto"];
    let text = |field| auto[field].as_str().with_context(|| format!("`info --json` has no {field} of `auto`"));
    Ok((text("backend")?.into(), text("description")?.into()))
}

/// Runs a program that must succeed; its standard error is the error.
fn output(command: &mut Command) -> Result<Output> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        bail!("{name} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output)
}

/// Encrypts again, with another implementation, and compares.
fn verify(plain: &Path, encrypted: &Path, key: &[u8; KEY_BYTES], iv: &[u8; 16]) -> Result<()> {
    let mut reference = Ctr128BE::<Aes128>::new(key.into(), iv.into());
    same(plain, encrypted, |chunk| reference.apply_keystream(chunk)).context("the ciphertext is wrong")
}

fn compare(one: &Path, other: &Path) -> Result<()> {
    same(one, other, |_| ()).context("what was decrypted is not what was encrypted")
}

/// Compares a file, changed chunk by chunk, with another.
fn same(one: &Path, other: &Path, mut change: impl FnMut(&mut [u8])) -> Result<()> {
    let (mut a, mut b) = (BufReader::new(File::open(one)?), BufReader::new(File::open(other)?));
    let (mut left, mut right) = (Zeroizing::new(Vec::with_capacity(CHUNK)), Vec::with_capacity(CHUNK));
    let mut at = 0;
    loop {
        left.clear();
        right.clear();
        a.by_ref().take(CHUNK as u64).read_to_end(&mut left)?;
        b.by_ref().take(CHUNK as u64).read_to_end(&mut right)?;
        change(&mut left);
        ensure!(left.len() == right.len(), "the lengths differ");
        if *left != right {
            let first = left.iter().zip(&right).take_while(|(x, y)| x == y).count();
            bail!("byte {} differs", at + first);
        }
        if left.is_empty() {
            return Ok(());
        }
        at += left.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_found_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, encrypted) = (folder.path().join("p"), folder.path().join("e"));
        let (key, iv) = ([7; KEY_BYTES], [9; 16]);
        let data: Vec<u8> = (0..2 * CHUNK + 5).map(|i| i as u8).collect();
        let mut cipher = data.clone();
        Ctr128BE::<Aes128>::new(&key.into(), &iv.into()).apply_keystream(&mut cipher);
        fs::write(&plain, &data).unwrap();
        fs::write(&encrypted, &cipher).unwrap();
        verify(&plain, &encrypted, &key, &iv).unwrap();
        for at in [0, CHUNK, data.len() - 1] {
            let mut wrong = cipher.clone();
            wrong[at] ^= 0x10;
            fs::write(&encrypted, &wrong).unwrap();
            let error = format!("{:#}", verify(&plain, &encrypted, &key, &iv).unwrap_err());
            assert!(error.contains(&format!("byte {at} ")), "{error}");
        }
        fs::write(&encrypted, &cipher[1..]).unwrap();
        assert!(verify(&plain, &encrypted, &key, &iv).is_err());
    }
}
