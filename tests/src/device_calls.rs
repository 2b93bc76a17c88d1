//! Calls in CUDA GPU memory by name, under any key and on any data, for profiling and timing.
//!
//! Public inputs do not depend on the key and the data: lengths, counters, nonces, numbers and sizes of units.

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

/// Puts a call on a stream, with the memory that the data was copied to.
pub type Launch = Box<dyn FnOnce(&Arc<CudaStream>, &mut CudaSlice<u8>) -> Outcome<Wait>>;

/// Waits until the call completes, and fails if its result is wrong.
pub type Wait = Box<dyn FnOnce() -> Outcome<()>>;

/// The inputs of a call: key, data, and public values.
pub struct Input<'s> {
    /// The length of keys.
    pub bits: KeyBits,
    /// The number of the call, different for each. It becomes the nonce of AES-GCM-SIV; all other nonces are always the same. The counter
    /// of AES-GCM-SIV begins with its tag, which is public but depends on the key and the data. With a new nonce in each call it can begin
    /// anywhere, whether the key and the data are new or not.
    pub number: u64,
    /// As many bytes of keys as any call takes.
    pub key: &'s [u8; KEY_BYTES],
    /// The data, which is turned into the GPU's input: for decryption, it is encrypted first. If there are many keys, they are copies of
    /// parts of it.
    pub data: &'s mut [u8],
}

/// The most bytes of keys that a call takes: two of the longest, for XTS.
pub const KEY_BYTES: usize = 64;

/// A call.
pub struct DeviceCall {
    /// Its name.
    pub name: &'static str,
    /// The key lengths that it supports.
    pub bits: &'static [KeyBits],
    prepare: Prepare,
}

type Prepare = fn(&Engine, &Arc<CudaStream>, Input<'_>) -> Outcome<Launch>;

impl DeviceCall {
    const fn new(name: &'static str, prepare: Prepare) -> Self {
        Self { name, bits: &KeyBits::ALL, prepare }
    }

    const fn without_192(name: &'static str, prepare: Prepare) -> Self {
        Self { name, bits: &[KeyBits::Aes128, KeyBits::Aes256], prepare }
    }

    /// All of them, those of [`Mode::OF_ONE_KEY`] first.
    pub const ALL: [Self; 25] = [
        Self::new("ecb-encrypt", |engine, _, input| one_key(engine, input, Mode::EcbEncrypt)),
        Self::new("ecb-decrypt", |engine, _, input| one_key(engine, input, Mode::EcbDecrypt)),
        Self::new("ctr", |engine, _, input| one_key(engine, input, Mode::Ctr)),
        Self::new("cbc-decrypt", |engine, _, input| one_key(engine, input, Mode::CbcDecrypt)),
        Self::new("keystream", |engine, _, input| one_key(engine, input, Mode::Keystream)),
        Self::new("prg", |engine, _, input| one_key(engine, input, Mode::Prg)),
        Self::without_192("xts-encrypt", |engine, _, input| xts(engine, input, Direction::Encrypt, 512)),
        Self::without_192("xts-decrypt", |engine, _, input| xts(engine, input, Direction::Decrypt, 512)),
        Self::without_192("xts-stealing-encrypt", |engine, _, input| xts(engine, input, Direction::Encrypt, 520)),
        Self::without_192("xts-stealing-decrypt", |engine, _, input| xts(engine, input, Direction::Decrypt, 520)),
        Self::new("gcm-encrypt", |engine, _, input| {
            with_output(input.cipher(engine)?, GcmEncrypt::new(&nonce(), HEADER), |_| Ok(()))
        }),
        Self::new("gcm-decrypt", |engine, _, mut input| {
            let tag = input.sealed(GcmEncrypt::new(&nonce(), HEADER))?;
            with_output(input.cipher(engine)?, GcmDecrypt::new(&nonce(), HEADER, &tag), Ok)
        }),
        Self::new("gcm-encrypt-long-nonce", |engine, _, input| {
            with_output(input.cipher(engine)?, GcmEncrypt::new(&long_nonce()?, HEADER), |_| Ok(()))
        }),
        Self::new("gcm-decrypt-long-nonce", |engine, _, mut input| {
            let tag = input.sealed(GcmEncrypt::new(&long_nonce()?, HEADER))?;
            with_output(input.cipher(engine)?, GcmDecrypt::new(&long_nonce()?, HEADER, &tag), Ok)
        }),
        Self::new("gmac", |engine, _, input| with_output(input.cipher(engine)?, Gmac::new(&nonce()), |_| Ok(()))),
        Self::without_192("gcm-siv-encrypt", |engine, _, input| {
            with_output(input.cipher(engine)?, GcmSivEncrypt::new(&input.nonce(), HEADER), |_| Ok(()))
        }),
        Self::without_192("gcm-siv-decrypt", |engine, _, mut input| {
            let nonce = input.nonce();
            let tag = input.sealed(GcmSivEncrypt::new(&nonce, HEADER))?;
            with_output(input.cipher(engine)?, GcmSivDecrypt::new(&nonce, HEADER, &tag), Ok)
        }),
        Self::new("gcm-batch-encrypt", |engine, _, input| {
            let operation = with_messages(input.data, GcmEncryptBatch::new)?;
            with_output(input.cipher(engine)?, operation, |_| Ok(()))
        }),
        Self::new("gcm-batch-decrypt", |engine, _, mut input| {
            let tags = input.on_cpu(with_messages(input.data, GcmEncryptBatch::new)?)?;
            let operation = with_messages(input.data, |messages| GcmDecryptBatch::new(messages, &tags))?;
            with_output(input.cipher(engine)?, operation, |opened| opened.all())
        }),
        Self::new("cmac-batch", |engine, _, input| {
            with_output(input.cipher(engine)?, CmacBatch::new(&ranges(input.data))?, |_| Ok(()))
        }),
        Self::new("cmac-batch-verify", |engine, _, mut input| {
            let ranges = ranges(input.data);
            let tags = input.on_cpu(CmacBatch::new(&ranges)?)?;
            with_output(input.cipher(engine)?, CmacVerifyBatch::new(&ranges, &tags)?, |verified| verified.all())
        }),
        Self::new("jobs-ctr", |engine, _, input| jobs(engine, input, Mode::Ctr)),
        Self::new("jobs-ecb-decrypt", |engine, _, input| jobs(engine, input, Mode::EcbDecrypt)),
        Self::new("each-key-ctr", |engine, stream, input| each_key(engine, stream, input, Mode::Ctr)),
        Self::new("each-key-ecb-decrypt", |engine, stream, input| each_key(engine, stream, input, Mode::EcbDecrypt)),
    ];

    /// Copies the key to the GPU, and loads the kernels: only the call remains.
    ///
    /// # Errors
    /// Errors of the engine and of the driver.
    pub fn prepare(&self, engine: &Engine, stream: &Arc<CudaStream>, input: Input<'_>) -> Outcome<Launch> {
        (self.prepare)(engine, stream, input)
    }
}

/// Additional data.
const HEADER: &[u8] = b"a header that is authenticated";

fn nonce() -> Nonce {
    Nonce::from([3; 12])
}

/// Its first counter depends on the key.
fn long_nonce() -> Outcome<Nonce> {
    Ok(Nonce::new(&[3; 16])?)
}

impl Input<'_> {
    fn cipher(&self, engine: &Engine) -> Outcome<Cipher> {
        Ok(engine.cipher(&Key::new(&self.key[..self.bits.bytes()])?)?)
    }

    /// The nonce of AES-GCM-SIV.
    fn nonce(&self) -> Nonce {
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&self.number.to_le_bytes());
        Nonce::from(nonce)
    }

    /// Runs an operation on the data on the CPU.
    fn on_cpu<O: Operation>(&mut self, operation: O) -> Outcome<O::Output> {
        Ok(self.cipher(&Engine::open(Backend::Cpu)?)?.run(operation, &mut *self.data)?)
    }

    fn sealed<O: Operation<Output = Tag>>(&mut self, operation: O) -> Outcome<Tag> {
        self.on_cpu(operation)
    }
}

fn one_key(engine: &Engine, input: Input<'_>, mode: Mode) -> Outcome<Launch> {
    with_operation!(AnyOperation::of(mode, 7, 0), operation => without_output(input.cipher(engine)?, operation))
}

fn xts(engine: &Engine, input: Input<'_>, direction: Direction, unit_bytes: u64) -> Outcome<Launch> {
    let (one, two) = input.key.split_at(KEY_BYTES / 2);
    let mut both = [&one[..input.bits.bytes()], &two[..input.bits.bytes()]].concat();
    // They must differ.
    both[0] &= 0xfe;
    both[input.bits.bytes()] |= 1;
    without_output(engine.cipher(&Key::xts(&both)?)?, Xts::new(direction, unit_bytes, 1)?)
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
            // Dropping it earlier would wait.
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

fn jobs(engine: &Engine, input: Input<'_>, mode: Mode) -> Outcome<Launch> {
    const EACH: usize = 4096;
    let (bytes, each) = (input.bits.bytes(), EACH as u64);
    let ranges = (0..).map(|n| each * n..each * (n + 1));
    let keys = input.data.chunks_exact(EACH).map(|data| &data[..bytes]);
    let list: Vec<Job<'_>> = keys.zip(ranges).map(|(key, range)| Job { key, counter: [7; 16], range }).collect();
    let jobs = Jobs::new(mode, &list)?;
    let cipher = engine.under_own_keys();
    cipher.device()?.prepare_for(&jobs)?;
    Ok(Box::new(move |stream, data| {
        let pending = cipher.device()?.run_with_output(stream, jobs, data)?;
        Ok(Box::new(move || Ok(pending.wait()?)))
    }))
}

fn each_key(engine: &Engine, stream: &Arc<CudaStream>, input: Input<'_>, mode: Mode) -> Outcome<Launch> {
    // Parts of the data, as long as the longest key.
    const EACH: usize = 32;
    let each = EachKey::new(mode, input.bits, [7; 16], EACH as u64)?;
    let keys = stream.clone_htod(&input.data[..input.data.len() / EACH * input.bits.bytes()])?;
    let cipher = engine.under_own_keys();
    cipher.device()?.prepare_many_keys()?;
    Ok(Box::new(move |stream, data| {
        let whole = data.len() / EACH * EACH;
        cipher.device()?.run_each_key(stream, &each, &keys, &mut data.slice_mut(..whole))?;
        let stream = stream.clone();
        Ok(Box::new(move || {
            let _keys = keys;
            Ok(stream.synchronize()?)
        }))
    }))
}
