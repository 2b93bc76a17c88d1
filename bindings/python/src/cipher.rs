//! Ciphers: a method for each operation, on host memory and on GPU memory.

use crate::described;
use crate::device::OnDevice;
use crate::documented::parameter;
use crate::error::of_runtime;
use crate::loaded_key::LoadedKey;
use crate::memory::Data;
use crate::number;
use crate::opened::Opened;
use crate::operation::{self, Operation};
use crate::run::Run;
use aes_bitslice_runtime::{
    Cipher as RuntimeCipher, CmacBatch, Direction, Error as Runtime, GcmEncrypt, GcmEncryptBatch, GcmSivDecrypt,
    GcmSivEncrypt, Mode, Nonce, XaesDecrypt, XaesEncrypt,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::str::FromStr;
use std::sync::Arc;

/// A key loaded on an engine. Any number of threads may use it.
///
/// `data` is `bytes`, any object with the buffer protocol, a NumPy array, or a tensor of PyTorch, CuPy or JAX, in host
/// memory or on a GPU of the engine; of any element type, and contiguous. A call returns a new object: for an array, an
/// array of the same kind, shape and type, else `bytes`. With `out=` it writes there, and returns `out`; `out=data`
/// works in place.
///
/// On a GPU a call goes to the library's current stream, or to `stream=`, and returns without waiting. JAX has no current stream:
/// there, calls wait.
///
/// Wrong arguments raise `ValueError` or `TypeError` before any work, and change nothing. A call that fails later, or
/// is interrupted, leaves its output cleared.
#[pyclass(frozen, weakref, module = "aes_bitslice")]
pub struct Cipher(LoadedKey);

// What a caller gives, what may be left out, and what a method returns.
type Any<'a, 'py> = &'a Bound<'py, PyAny>;
type Maybe<'a, 'py> = Option<Any<'a, 'py>>;
type Got<'py> = PyResult<Bound<'py, PyAny>>;

impl Cipher {
    pub fn new(opened: Arc<Opened>, cipher: RuntimeCipher) -> Self {
        Self(LoadedKey::new(opened, cipher))
    }

    /// The key that it is.
    pub fn key(&self) -> &LoadedKey {
        &self.0
    }

    /// Makes an operation, and runs it.
    fn does<'py, R: Run>(&self, given: Data<'_, 'py>, operation: impl FnOnce() -> PyResult<R>) -> Got<'py> {
        self.begin(|| operation()?.run(&self.0, &given))
    }

    /// Calls `load` for each GPU of the engine.
    fn prepare_by(&self, py: Python<'_>, load: impl Fn(&OnDevice<'_>) -> Result<(), Runtime> + Sync) -> PyResult<()> {
        let contexts = self.0.opened.engine.cuda_contexts().unwrap_or_default();
        contexts.iter().try_for_each(|context| {
            let gpu = self.0.on_device(context.ordinal())?;
            py.detach(|| load(&gpu)).map_err(of_runtime)
        })
    }

    /// Refuses an engine that is no longer usable, and turns a panic into an exception.
    fn begin<T>(&self, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        self.0.opened.check()?;
        self.0.opened.guarded(work)
    }
}

#[pymethods]
impl Cipher {
    /// Runs an operation, such as `GcmEncrypt(nonce, aad)`, on data. Returns what the method of its name does; one that writes and makes tags
    /// returns the output and the tags.
    ///
    /// operation: what to do.
    /// data: what to process: bytes, an array or a tensor; none for `Keystream`.
    /// out: where the result goes in place of a new object: memory of the same length; `out=data` works in place. `Keystream` and GCM of
    ///     many messages need it, what only reads takes none.
    #[doc = parameter!(stream)]
    #[doc = parameter!(tag_out)]
    #[pyo3(signature = (operation, data = None, out = None, stream = None, *, tag_out = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        operation: &Bound<'py, Operation>,
        data: Maybe<'_, 'py>,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
        tag_out: Maybe<'_, 'py>,
    ) -> Got<'py> {
        let given = Data { py, data, out, stream, length: None, tag_out };
        self.begin(|| operation.get().0.run(&self.0, &given))
    }

    /// CTR: encrypts and decrypts any number of bytes.
    ///
    #[doc = parameter!(iv_of_ctr)]
    #[doc = parameter!(offset)]
    #[doc = parameter!(counter_bits)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (iv, data, *, offset = 0, counter_bits = 128, out = None, stream = None))]
    fn ctr<'py>(
        &self,
        iv: Any<'_, 'py>,
        data: Any<'_, 'py>,
        #[pyo3(from_py_with = number::offset)] offset: u64,
        #[pyo3(from_py_with = number::counter_bits)] counter_bits: u32,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::ctr(iv, offset, counter_bits))
    }

    /// The key stream of CTR from byte `offset` on: the output of `ctr` for zeros, as pseudorandom bytes.
    ///
    /// iv: the initial counter block, 16 bytes.
    /// length: of a new `bytes`; or give `out`.
    /// offset: the first byte of the key stream.
    #[doc = parameter!(counter_bits)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (iv, length = None, *, offset = 0, counter_bits = 128, out = None, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn keystream<'py>(
        &self,
        py: Python<'py>,
        iv: Any<'_, 'py>,
        #[pyo3(from_py_with = number::optional_length)] length: Option<usize>,
        #[pyo3(from_py_with = number::offset)] offset: u64,
        #[pyo3(from_py_with = number::counter_bits)] counter_bits: u32,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        let data = Data { py, data: None, out, stream, length, tag_out: None };
        self.does(data, || operation::keystream(iv, offset, counter_bits))
    }

    /// ECB encryption of whole blocks of 16 bytes. It reveals which blocks are equal: not for messages.
    ///
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, out = None, stream = None))]
    fn ecb_encrypt<'py>(&self, data: Any<'_, 'py>, out: Maybe<'_, 'py>, stream: Maybe<'_, 'py>) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::ecb(Direction::Encrypt))
    }

    /// ECB decryption of whole blocks of 16 bytes.
    ///
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, out = None, stream = None))]
    fn ecb_decrypt<'py>(&self, data: Any<'_, 'py>, out: Maybe<'_, 'py>, stream: Maybe<'_, 'py>) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::ecb(Direction::Decrypt))
    }

    /// A pseudorandom generator from AES under a fixed, public key: each block of 16 bytes is encrypted and XORed with itself (Matyas, Meyer,
    /// Oseas 1985). For function secret sharing and garbling; seeds must differ. It is no encryption.
    ///
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, out = None, stream = None))]
    fn prg<'py>(&self, data: Any<'_, 'py>, out: Maybe<'_, 'py>, stream: Maybe<'_, 'py>) -> Got<'py> {
        self.does(Data::of(data, out, stream), operation::prg)
    }

    /// CBC encryption of whole blocks, without padding. Serial: on one CPU core whatever the engine, in host memory.
    ///
    #[doc = parameter!(iv_of_cbc)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[pyo3(signature = (iv, data, *, out = None))]
    fn cbc_encrypt<'py>(&self, iv: Any<'_, 'py>, data: Any<'_, 'py>, out: Maybe<'_, 'py>) -> Got<'py> {
        self.does(Data::of(data, out, None), || operation::cbc_encrypt(iv))
    }

    /// CBC decryption of whole blocks; padding is left as it is.
    ///
    #[doc = parameter!(iv)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (iv, data, *, out = None, stream = None))]
    fn cbc_decrypt<'py>(
        &self,
        iv: Any<'_, 'py>,
        data: Any<'_, 'py>,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::cbc_decrypt(iv))
    }

    /// XTS encryption of consecutive data units, with a key from `Key.xts` or `Key.generate(xts=True)`.
    ///
    #[doc = parameter!(unit_bytes)]
    #[doc = parameter!(first_unit)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, unit_bytes, first_unit = 0, out = None, stream = None))]
    fn xts_encrypt<'py>(
        &self,
        data: Any<'_, 'py>,
        #[pyo3(from_py_with = number::unit_bytes)] unit_bytes: u64,
        #[pyo3(from_py_with = number::first_unit)] first_unit: u128,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::xts(Direction::Encrypt, unit_bytes, first_unit))
    }

    /// XTS decryption of consecutive data units; see `xts_encrypt`.
    ///
    /// unit_bytes: bytes of a data unit, as at the encryption.
    #[doc = parameter!(first_unit)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, unit_bytes, first_unit = 0, out = None, stream = None))]
    fn xts_decrypt<'py>(
        &self,
        data: Any<'_, 'py>,
        #[pyo3(from_py_with = number::unit_bytes)] unit_bytes: u64,
        #[pyo3(from_py_with = number::first_unit)] first_unit: u128,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::xts(Direction::Decrypt, unit_bytes, first_unit))
    }

    /// GCM encryption of a whole message: returns the ciphertext and its tag of 16 bytes, on a GPU a `DeviceTag`.
    ///
    #[doc = parameter!(nonce_of_gcm)]
    #[doc = parameter!(new_aad)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[doc = parameter!(tag_out)]
    #[pyo3(signature = (nonce, data, aad = None, *, out = None, stream = None, tag_out = None))]
    fn gcm_encrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        aad: Maybe<'_, 'py>,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
        tag_out: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data { tag_out, ..Data::of(data, out, stream) }, || {
            operation::encryption(GcmEncrypt::new, nonce, aad)
        })
    }

    /// GCM encryption of a whole message with a nonce that the call makes: 12 random bytes from the operating system (SP 800-38D,
    /// section 8.2.2). Returns the nonce, the ciphertext and its tag of 16 bytes, on a GPU a `DeviceTag`: what `gcm_decrypt` takes, in
    /// this order.
    ///
    /// Encrypt at most 2**32 messages under one key in this way (section 8.3). For more, use `xaes_encrypt` with `os.urandom(24)`.
    ///
    #[doc = parameter!(new_aad)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[doc = parameter!(tag_out)]
    #[pyo3(signature = (data, aad = None, *, out = None, stream = None, tag_out = None))]
    fn gcm_encrypt_with_random_nonce<'py>(
        &self,
        data: Any<'_, 'py>,
        aad: Maybe<'_, 'py>,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
        tag_out: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data { tag_out, ..Data::of(data, out, stream) }, || operation::gcm_encrypt_with_random_nonce(aad))
    }

    /// GCM decryption of a whole message. Waits, also on a GPU, until the tag has been checked.
    ///
    #[doc = parameter!(tag_bytes_of_gcm)]
    #[doc = parameter!(short_tags)]
    #[doc = parameter!(nonce)]
    #[doc = parameter!(data)]
    #[doc = parameter!(tag)]
    #[doc = parameter!(aad)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    ///
    /// `AuthenticationError` if anything was changed; no plaintext is left then.
    #[pyo3(signature = (nonce, data, tag, aad = None, *, tag_bytes = 16, short_tags = false, out = None, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn gcm_decrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        tag: Any<'_, 'py>,
        aad: Maybe<'_, 'py>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
        short_tags: bool,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::gcm_decrypt(nonce, tag, aad, tag_bytes, short_tags))
    }

    /// AES-GCM-SIV encryption (RFC 8452) of a whole message: returns the ciphertext and its tag of 16 bytes, on a
    /// GPU a `DeviceTag`. For keys of 128 or 256 bits. It reads the data twice: on a GPU it waits until the stream has
    /// finished the first pass.
    ///
    #[doc = parameter!(nonce_of_gcm_siv)]
    #[doc = parameter!(new_aad)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (nonce, data, aad = None, *, out = None, stream = None))]
    fn gcm_siv_encrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        aad: Maybe<'_, 'py>,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::encryption(GcmSivEncrypt::new, nonce, aad))
    }

    /// AES-GCM-SIV decryption of a whole message. Waits, also on a GPU, until the tag has been checked.
    ///
    /// `AuthenticationError` if anything was changed; no plaintext is left then.
    ///
    #[doc = parameter!(nonce)]
    #[doc = parameter!(data)]
    #[doc = parameter!(tag)]
    #[doc = parameter!(aad)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (nonce, data, tag, aad = None, *, out = None, stream = None))]
    fn gcm_siv_decrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        tag: Any<'_, 'py>,
        aad: Maybe<'_, 'py>,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data::of(data, out, stream), || {
            operation::decryption_by_whole_tag(GcmSivDecrypt::new, nonce, tag, aad)
        })
    }

    /// XAES-256-GCM encryption (C2SP) of a whole message: returns the ciphertext and its tag of 16 bytes, on a GPU a `DeviceTag`. For keys of
    /// 256 bits. A nonce that is used twice does the harm that it does in GCM: take a new `os.urandom(24)` for each message.
    ///
    #[doc = parameter!(nonce_of_xaes)]
    #[doc = parameter!(new_aad)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (nonce, data, aad = None, *, out = None, stream = None))]
    fn xaes_encrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        aad: Maybe<'_, 'py>,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::encryption(XaesEncrypt::new, nonce, aad))
    }

    /// XAES-256-GCM decryption of a whole message. Waits, also on a GPU, until the tag has been checked.
    ///
    /// `AuthenticationError` if anything was changed; no plaintext is left then.
    ///
    #[doc = parameter!(nonce)]
    #[doc = parameter!(data)]
    #[doc = parameter!(tag)]
    #[doc = parameter!(aad)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (nonce, data, tag, aad = None, *, out = None, stream = None))]
    fn xaes_decrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        tag: Any<'_, 'py>,
        aad: Maybe<'_, 'py>,
        out: Maybe<'_, 'py>,
        stream: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data::of(data, out, stream), || operation::decryption_by_whole_tag(XaesDecrypt::new, nonce, tag, aad))
    }

    /// GMAC: the tag of a message that is not encrypted. No two messages under one key may have the same nonce. Compare tags with
    /// `hmac.compare_digest`.
    ///
    /// nonce: usually 12 bytes.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    #[doc = parameter!(tag_out)]
    #[pyo3(signature = (nonce, data, *, stream = None, tag_out = None))]
    fn gmac<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        stream: Maybe<'_, 'py>,
        tag_out: Maybe<'_, 'py>,
    ) -> Got<'py> {
        self.does(Data { tag_out, ..Data::of(data, None, stream) }, || operation::gmac(nonce))
    }

    /// CMAC of a whole message in host memory, on one core of the CPU. Compare tags with `hmac.compare_digest`. For
    /// a GPU there is `cmac_batch`: the blocks of a message are processed in sequence, so one message is slow there.
    ///
    #[doc = parameter!(data)]
    fn cmac<'py>(&self, data: Any<'_, 'py>) -> Got<'py> {
        self.does(Data::of(data, None, None), operation::cmac)
    }

    /// GCM encryption of many messages in one call: returns their tags, 16 bytes each, contiguous; on a GPU as a
    /// `DeviceTag`.
    ///
    #[doc = parameter!(nonces)]
    #[doc = parameter!(ranges)]
    /// They ascend and do not overlap.
    #[doc = parameter!(aads)]
    #[doc = parameter!(aad_ranges)]
    /// out: where the output goes; may be the data itself. Bytes of `out` between messages stay as they are.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    ///
    /// The CPU cores process data in host memory, whatever the engine; data on a GPU of the engine goes to that GPU, on
    /// the stream. Nonces and additional data are in host memory, unless there is a `fault_out`.
    ///
    #[doc = parameter!(fault_out)]
    /// tag_out: with `fault_out`, where the tags go: 16 bytes for each message, on the GPU. Nothing is returned then.
    #[pyo3(signature = (nonces, ranges, data, aads = None, *, aad_ranges = None, out, stream = None, tag_out = None, fault_out = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn gcm_encrypt_batch<'py>(
        &self,
        nonces: Any<'_, 'py>,
        ranges: Any<'_, 'py>,
        data: Any<'_, 'py>,
        aads: Maybe<'_, 'py>,
        aad_ranges: Maybe<'_, 'py>,
        out: Any<'_, 'py>,
        stream: Maybe<'_, 'py>,
        tag_out: Maybe<'_, 'py>,
        fault_out: Maybe<'_, 'py>,
    ) -> Got<'py> {
        let data = Data::of(data, Some(out), stream);
        match (tag_out, fault_out) {
            (None, None) => {
                self.does(data, || operation::gcm_encrypt_batch(nonces, ranges, aads, aad_ranges))?.get_item(1)
            }
            (Some(tag_out), Some(fault_out)) => {
                let given = described::Given { nonces, ranges, aads, aad_ranges };
                let tags = described::Tags::Make { tag_out };
                self.begin(|| described::run(&self.0, &data, &given, &tags, fault_out))?;
                Ok(nonces.py().None().into_bound(nonces.py()))
            }
            _ => Err(PyTypeError::new_err("tag_out= and fault_out= belong together: give both or none")),
        }
    }

    /// GCM decryption of many messages in one call. `AuthenticationError` if any is not authentic: `failed` has
    /// their numbers, and they are cleared in `out`. The others are still decrypted. Waits, also on a GPU, until all
    /// tags have been checked.
    ///
    /// tags: `tag_bytes` bytes for each message, contiguous, or a list; in host memory, or the `DeviceTag` of the
    ///     encryption.
    /// tag_bytes, short_tags: the length of every tag, as for `gcm_decrypt`. The rest is as for `gcm_encrypt_batch`.
    #[doc = parameter!(nonces)]
    #[doc = parameter!(ranges)]
    #[doc = parameter!(aads)]
    #[doc = parameter!(aad_ranges)]
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[doc = parameter!(fault_out)]
    ///     `tags` are on the GPU, 16 bytes for each message, of which `tag_bytes` count; nothing waits, and nothing is raised for a message that
    ///     is not authentic.
    /// verdict_out: with `fault_out`, where a word of 32 bits goes for each message, on the GPU: 0 if it is authentic.
    #[pyo3(signature = (nonces, ranges, data, tags, aads = None, *, aad_ranges = None, tag_bytes = 16, short_tags = false, out, stream = None, verdict_out = None, fault_out = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn gcm_decrypt_batch<'py>(
        &self,
        nonces: Any<'_, 'py>,
        ranges: Any<'_, 'py>,
        data: Any<'_, 'py>,
        tags: Any<'_, 'py>,
        aads: Maybe<'_, 'py>,
        aad_ranges: Maybe<'_, 'py>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
        short_tags: bool,
        out: Any<'_, 'py>,
        stream: Maybe<'_, 'py>,
        verdict_out: Maybe<'_, 'py>,
        fault_out: Maybe<'_, 'py>,
    ) -> PyResult<()> {
        let data = Data::of(data, Some(out), stream);
        match (verdict_out, fault_out) {
            (None, None) => self
                .does(data, || {
                    operation::gcm_decrypt_batch(nonces, ranges, tags, aads, aad_ranges, tag_bytes, short_tags)
                })
                .map(drop),
            (Some(verdict_out), Some(fault_out)) => {
                number::check_short_tags(tag_bytes, short_tags)?;
                let given = described::Given { nonces, ranges, aads, aad_ranges };
                let tags = described::Tags::Verify { tags, tag_bytes, verdict_out };
                self.begin(|| described::run(&self.0, &data, &given, &tags, fault_out))
            }
            _ => Err(PyTypeError::new_err("verdict_out= and fault_out= belong together: give both or none")),
        }
    }

    /// CMAC of many messages in one call: returns their tags, 16 bytes each, contiguous; on a GPU as a `DeviceTag`.
    ///
    /// ranges: where the messages are: `Ranges`; an array of integers, or a list, with two numbers for each message, its
    ///     first byte in the data and the byte after its last. They may have any order, and overlap.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    ///
    /// The CPU cores process data in host memory, whatever the engine; data on a GPU of the engine goes to that GPU, on
    /// the stream: there, thousands of messages are fast and a few are not, because the blocks of a message are
    /// processed in sequence.
    #[pyo3(signature = (ranges, data, *, stream = None))]
    fn cmac_batch<'py>(&self, ranges: Any<'_, 'py>, data: Any<'_, 'py>, stream: Maybe<'_, 'py>) -> Got<'py> {
        self.does(Data::of(data, None, stream), || operation::cmac_batch(ranges))
    }

    /// CMAC of many messages, compared with tags in constant time. `AuthenticationError` if any is not authentic:
    /// `failed` has their numbers. Waits, also on a GPU.
    ///
    /// tags: `tag_bytes` bytes for each message, contiguous, or a list; in host memory, or the `DeviceTag` of
    ///     `cmac_batch`.
    #[doc = parameter!(tag_bytes)]
    #[doc = parameter!(ranges)]
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (ranges, data, tags, *, tag_bytes = 16, stream = None))]
    fn cmac_verify_batch(
        &self,
        ranges: Any<'_, '_>,
        data: Any<'_, '_>,
        tags: Any<'_, '_>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
        stream: Maybe<'_, '_>,
    ) -> PyResult<()> {
        self.does(Data::of(data, None, stream), || operation::cmac_verify_batch(ranges, tags, tag_bytes)).map(drop)
    }

    /// Loads the GPU kernels of a mode before time counts or a graph is captured: "ctr", "ctr-le32" (for
    /// AES-GCM-SIV), "keystream", "ecb-encrypt", "ecb-decrypt", "cbc-decrypt", "xts-encrypt", "xts-decrypt", "gcm",
    /// "gcm-batch", "cmac-batch".
    ///
    /// mode: the name of a mode.
    fn prepare(&self, py: Python<'_>, mode: &str) -> PyResult<()> {
        self.begin(|| match mode {
            "gcm" => self.prepare_by(py, |gpu| gpu.prepare_for(&GcmEncrypt::new(&Nonce::from([0; 12]), &[]))),
            "gcm-batch" => self.prepare_by(py, |gpu| gpu.prepare_for(&GcmEncryptBatch::new(&[])?)),
            "cmac-batch" => self.prepare_by(py, |gpu| gpu.prepare_for(&CmacBatch::new(&[])?)),
            name => {
                let unknown = |unknown| PyValueError::new_err(format!("{unknown}, gcm, gcm-batch, cmac-batch"));
                let mode = Mode::from_str(name).map_err(unknown)?;
                self.prepare_by(py, |gpu| gpu.prepare(mode))
            }
        })
    }

    fn __repr__(&self) -> String {
        format!("Cipher(on {:?})", self.0.opened.engine.backend().to_string())
    }

    /// It never changes: a copy is the same object.
    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a cipher cannot be pickled because it holds a key: make one in each process"))
    }
}
