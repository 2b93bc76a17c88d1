//! Calls in the memory of a CUDA GPU by name, under any key and on any data: what a profiler counts, and what is timed.
//!
//! Whatever the key and the data, what is public is the same: lengths, counters, nonces, numbers and sizes of units.

use crate::operation::AnyOperation;
use crate::with_operation;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream};
use aes_bitslice_runtime::{
    Backend, Cipher, CmacBatch, CmacVerifyBatch, Direction, EachKey, Engine, GcmDecrypt, GcmDecryptBatch, GcmEncrypt,
    GcmEncryptBatch, GcmMessage, GcmSivDecrypt, GcmSivEncrypt, Gmac, Job, Jobs, Key, KeyBits, Nonce, Operation, Tag,
    Xts,
};
use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Puts a call on a stream; it is given the memory that the data was brought to.
pub type Launch = Box<dyn FnOnce(&Arc<CudaStream>, &mut CudaSlice<u8>) -> Outcome<Wait>>;

/// Waits until the call is done, and fails where it did not return what it should.
pub type Wait = Box<dyn FnOnce() -> Outcome<()>>;

/// What a call is made of that is secret.
pub struct Secret<'s> {
    /// The length of keys.
    pub bits: KeyBits,
    /// As many bytes of keys as any call takes.
    pub key: &'s [u8; KEY_BYTES],
    /// The data, which becomes what is to be brought to the GPU: to be decrypted, it is encrypted before. Keys, where there are many, are
    /// copies of parts of it.
    pub data: &'s mut [u8],
}

/// Bytes of keys that a call takes at most: two of the longest, for XTS.
pub const KEY_BYTES: usize = 64;

/// A call.
pub struct DeviceCall {
    /// Its name.
    pub name: &'static str,
    /// The lengths of keys that there are for it.
    pub bits: &'static [KeyBits],
    prepare: Prepare,
}

type Prepare = fn(&Engine, &Arc<CudaStream>, Secret<'_>) -> Outcome<Launch>;

impl DeviceCall {
    const fn new(name: &'static str, prepare: Prepare) -> Self {
        Self { name, bits: &KeyBits::ALL, prepare }
    }

    const fn without_192(name: &'static str, prepare: Prepare) -> Self {
        Self { name, bits: &[KeyBits::Aes128, KeyBits::Aes256], prepare }
    }

    /// All of them, those of [`Mode::OF_ONE_KEY`] first.
    pub const ALL: [Self; 20] = [
        Self::new("ecb-encrypt", |engine, _, secret| one_key(engine, secret, Mode::EcbEncrypt)),
        Self::new("ecb-decrypt", |engine, _, secret| one_key(engine, secret, Mode::EcbDecrypt)),
        Self::new("ctr", |engine, _, secret| one_key(engine, secret, Mode::Ctr)),
        Self::new("cbc-decrypt", |engine, _, secret| one_key(engine, secret, Mode::CbcDecrypt)),
        Self::new("keystream", |engine, _, secret| one_key(engine, secret, Mode::Keystream)),
        Self::without_192("xts-encrypt", |engine, _, secret| xts(engine, secret, Direction::Encrypt)),
        Self::without_192("xts-decrypt", |engine, _, secret| xts(engine, secret, Direction::Decrypt)),
        Self::new("gcm-encrypt", |engine, _, secret| {
            with_output(secret.cipher(engine)?, GcmEncrypt::new(&nonce(), HEADER), |_| Ok(()))
        }),
        Self::new("gcm-decrypt", |engine, _, mut secret| {
            let tag = secret.sealed(GcmEncrypt::new(&nonce(), HEADER))?;
            with_output(secret.cipher(engine)?, GcmDecrypt::new(&nonce(), HEADER, &tag), Ok)
        }),
        Self::new("gmac", |engine, _, secret| with_output(secret.cipher(engine)?, Gmac::new(&nonce()), |_| Ok(()))),
        Self::without_192("gcm-siv-encrypt", |engine, _, secret| {
            with_output(secret.cipher(engine)?, GcmSivEncrypt::new(&nonce(), HEADER), |_| Ok(()))
        }),
        Self::without_192("gcm-siv-decrypt", |engine, _, mut secret| {
            let tag = secret.sealed(GcmSivEncrypt::new(&nonce(), HEADER))?;
            with_output(secret.cipher(engine)?, GcmSivDecrypt::new(&nonce(), HEADER, &tag), Ok)
        }),
        Self::new("gcm-batch-encrypt", |engine, _, secret| {
            let operation = with_messages(secret.data, GcmEncryptBatch::new)?;
            with_output(secret.cipher(engine)?, operation, |_| Ok(()))
        }),
        Self::new("gcm-batch-decrypt", |engine, _, mut secret| {
            let tags = secret.on_cpu(with_messages(secret.data, GcmEncryptBatch::new)?)?;
            let operation = with_messages(secret.data, |messages| GcmDecryptBatch::new(messages, &tags))?;
            with_output(secret.cipher(engine)?, operation, |opened| opened.all())
        }),
        Self::new("cmac-batch", |engine, _, secret| {
            with_output(secret.cipher(engine)?, CmacBatch::new(&ranges(secret.data))?, |_| Ok(()))
        }),
        Self::new("cmac-batch-verify", |engine, _, mut secret| {
            let ranges = ranges(secret.data);
            let tags = secret.on_cpu(CmacBatch::new(&ranges)?)?;
            with_output(secret.cipher(engine)?, CmacVerifyBatch::new(&ranges, &tags)?, |verified| verified.all())
        }),
        Self::new("jobs-ctr", |engine, _, secret| jobs(engine, secret, Mode::Ctr)),
        Self::new("jobs-ecb-decrypt", |engine, _, secret| jobs(engine, secret, Mode::EcbDecrypt)),
        Self::new("each-key-ctr", |engine, stream, secret| each_key(engine, stream, secret, Mode::Ctr)),
        Self::new("each-key-ecb-decrypt", |engine, stream, secret| each_key(engine, stream, secret, Mode::EcbDecrypt)),
    ];

    /// Brings the key to the GPU, and loads the kernels: what is left is the call.
    ///
    /// # Errors
    /// What the engine refuses, and what the driver reports.
    pub fn prepare(&self, engine: &Engine, stream: &Arc<CudaStream>, secret: Secret<'_>) -> Outcome<Launch> {
        (self.prepare)(engine, stream, secret)
    }
}

/// Additional data.
const HEADER: &[u8] = b"a header that is authenticated";

fn nonce() -> Nonce {
    Nonce::from([3; 12])
}

impl Secret<'_> {
    fn cipher(&self, engine: &Engine) -> Outcome<Cipher> {
        Ok(engine.cipher(&Key::new(&self.key[..self.bits.bytes()])?)?)
    }

    /// Does an operation on the data on the CPU.
    fn on_cpu<O: Operation>(&mut self, operation: O) -> Outcome<O::Output> {
        Ok(self.cipher(&Engine::open(Backend::Cpu)?)?.run(operation, &mut *self.data)?)
    }

    fn sealed<O: Operation<Output = Tag>>(&mut self, operation: O) -> Outcome<Tag> {
        self.on_cpu(operation)
    }
}

fn one_key(engine: &Engine, secret: Secret<'_>, mode: Mode) -> Outcome<Launch> {
    with_operation!(AnyOperation::of(mode, 7, 0), operation => without_output(secret.cipher(engine)?, operation))
}

fn xts(engine: &Engine, secret: Secret<'_>, direction: Direction) -> Outcome<Launch> {
    let (one, two) = secret.key.split_at(KEY_BYTES / 2);
    let mut both = [&one[..secret.bits.bytes()], &two[..secret.bits.bytes()]].concat();
    // They have to be different.
    both[0] &= 0xfe;
    both[secret.bits.bytes()] |= 1;
    without_output(engine.cipher(&Key::xts(&both)?)?, Xts::new(direction, 512, 1)?)
}

fn without_output<O: Operation<Output = ()>>(cipher: Cipher, operation: O) -> Outcome<Launch> {
    cipher.device()?.prepare_for(&operation)?;
    Ok(Box::new(move |stream, data| {
        cipher.device()?.run(stream, operation, data)?;
        let stream = stream.clone();
        Ok(Box::new(move || {
            let _cipher = cipher;
            Ok(stream.synchronize()?)
        }))
    }))
}

fn with_output<O: Operation>(
    cipher: Cipher,
    operation: O,
    check: fn(O::Output) -> Result<(), aes_bitslice_runtime::Error>,
) -> Outcome<Launch> {
    cipher.device()?.prepare_for(&operation)?;
    Ok(Box::new(move |stream, data| {
        let pending = cipher.device()?.run_with_output(stream, operation, data)?;
        Ok(Box::new(move || {
            // Dropping it before would wait.
            let _cipher = cipher;
            Ok(check(pending.wait()?)?)
        }))
    }))
}

/// Packets, at multiples of 16 bytes.
fn ranges(data: &[u8]) -> Vec<Range<u64>> {
    (0..data.len() as u64 / 1504).map(|n| 1504 * n..1504 * n + 1500).collect()
}

fn with_messages<T>(data: &[u8], make: impl FnOnce(&[GcmMessage<'_>]) -> T) -> T {
    let ranges = ranges(data);
    let nonces: Vec<[u8; 12]> =
        (0..ranges.len() as u128).map(|n| std::array::from_fn(|i| (n >> (8 * i)) as u8)).collect();
    let message = |(nonce, range): (_, &Range<u64>)| GcmMessage { nonce, aad: &HEADER[..13], range: range.clone() };
    let messages: Vec<GcmMessage<'_>> = nonces.iter().map(|nonce| &nonce[..]).zip(&ranges).map(message).collect();
    make(&messages)
}

fn jobs(engine: &Engine, secret: Secret<'_>, mode: Mode) -> Outcome<Launch> {
    const EACH: usize = 4096;
    let (bytes, each) = (secret.bits.bytes(), EACH as u64);
    let ranges = (0..).map(|n| each * n..each * (n + 1));
    let keys = secret.data.chunks_exact(EACH).map(|data| &data[..bytes]);
    let list: Vec<Job<'_>> = keys.zip(ranges).map(|(key, range)| Job { key, counter: [7; 16], range }).collect();
    let jobs = Jobs::new(mode, &list)?;
    let engine = engine.clone();
    engine.device_jobs()?.prepare()?;
    Ok(Box::new(move |stream, data| {
        let pending = engine.device_jobs()?.run(stream, &jobs, data)?;
        Ok(Box::new(move || Ok(pending.wait()?)))
    }))
}

fn each_key(engine: &Engine, stream: &Arc<CudaStream>, secret: Secret<'_>, mode: Mode) -> Outcome<Launch> {
    // Of the data, as many bytes as keys have at most.
    const EACH: usize = 32;
    let each = EachKey::new(mode, secret.bits, [7; 16], EACH as u64)?;
    let keys = stream.clone_htod(&secret.data[..secret.data.len() / EACH * secret.bits.bytes()])?;
    let engine = engine.clone();
    engine.device_jobs()?.prepare()?;
    Ok(Box::new(move |stream, data| {
        let whole = data.len() / EACH * EACH;
        engine.device_jobs()?.run_each_key(stream, &each, &keys, &mut data.slice_mut(..whole))?;
        let stream = stream.clone();
        Ok(Box::new(move || {
            let _keys = keys;
            Ok(stream.synchronize()?)
        }))
    }))
}
