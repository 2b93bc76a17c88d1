//! Ciphers: a method for each operation, on host memory and on GPU memory.

use crate::batch::{GcmMessages, GivenTags, Places, all_authentic, received_tag};
use crate::buffer::{Buffer, small};
use crate::call::{Grain, Pace, SHORT, at_once, by_messages, in_parts, reading, unless_interrupted};
use crate::device::OnDevice;
use crate::dlpack::Place;
use crate::documented::parameter;
use crate::error::of_runtime;
use crate::fork::ForkedNot;
use crate::memory::{Call, Host, Memory, on_host};
use crate::number;
use crate::opened::Opened;
use crate::outcome::{Outcome, given_tags};
use aes_bitslice_runtime::{
    Backend, CbcDecrypt, CbcEncrypt, Cipher as RuntimeCipher, Cmac, CmacBatch, CmacVerifyBatch, Counter, CounterMode,
    Ctr, Direction, Ecb, Error as Runtime, GcmBatch, GcmDecrypt, GcmDecryptBatch, GcmEncrypt, GcmEncryptBatch, GcmPart,
    GcmSivDecrypt, GcmSivEncrypt, Gmac, Keystream, Mode, Nonce, Operation, PartialHash, Prg, SideBySide, Tag,
    XaesDecrypt, XaesEncrypt, Xts,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

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
pub struct Cipher {
    opened: Arc<Opened>,
    cipher: ForkedNot<RuntimeCipher>,
    /// The modes whose kernels were loaded.
    loaded: AtomicU64,
}

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

impl Cipher {
    pub fn new(opened: Arc<Opened>, cipher: RuntimeCipher) -> Self {
        let cipher = ForkedNot::new(cipher, opened.engine.is_device());
        Self { opened, cipher, loaded: AtomicU64::new(0) }
    }

    /// Does a call: on the host in parts, with `part`, or on a GPU, with `device`. Returns the caller's result.
    fn carry_out<'py>(
        &self,
        call: Call<'py>,
        grain: usize,
        part: impl FnMut(Range<usize>, &mut Host) -> Result<(), Runtime> + Send,
        device: impl FnOnce(&OnDevice<'_>, &Call<'py>) -> PyResult<()>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = call.result.py();
        match call.place {
            Place::Host => {
                in_parts(py, call.host(), &Grain(grain), &self.opened.pace, |panic| self.opened.poison(panic), part)?;
            }
            Place::Cuda(ordinal) => {
                device(&self.on_device(ordinal)?, &call)?;
                call.is_on_stream()?;
            }
        }
        Ok(call.result)
    }

    /// Does an operation that cannot be split into parts, with this additional data: in host memory at once, or on a GPU.
    fn whole<O: Operation>(&self, call: &Call<'_>, aad: &Option<Buffer>, operation: O) -> PyResult<Outcome<O>> {
        match call.place {
            Place::Host => {
                let (py, poison) = (call.result.py(), |panic: &str| self.opened.poison(panic));
                let work = |host: &mut Host| self.cipher.run(operation, host.buffers());
                at_once(py, call.host(), self.is_short(call, aad), poison, work).map(Outcome::Now)
            }
            Place::Cuda(ordinal) => self.on_stream(ordinal, call, operation),
        }
    }

    /// Encrypts a whole message with what `encrypt` makes of its nonce and additional data, an operation that cannot be split into parts.
    fn encrypt_under_own_key<'py, E: Operation<Output = Tag>>(
        &self,
        encrypt: fn(&Nonce, &[u8]) -> E,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        aad: Option<Any<'_, 'py>>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        self.begin(|| {
            let (nonce, aad) = (nonce_of(nonce)?, additional(aad)?);
            let call = Call::mapping(data, out, stream)?;
            let tag = self.whole(&call, &aad, encrypt(&nonce, bytes_of(&aad)))?.tags(data.py())?;
            Ok((call.result, tag))
        })
    }

    /// Decrypts a whole message with what `decrypt` makes of its nonce, additional data and tag.
    #[expect(clippy::too_many_arguments, reason = "those of the Python methods")]
    fn decrypt_under_own_key<'py, D: Operation<Output = ()>>(
        &self,
        decrypt: fn(&Nonce, &[u8], &Tag) -> D,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        tag: Any<'_, 'py>,
        aad: Option<Any<'_, 'py>>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let (nonce, aad, tag) = (nonce_of(nonce)?, additional(aad)?, given_tags(tag)?);
            let tag = small(&tag, "tag")?;
            let tag = Tag::new(tag.bytes()).map_err(|_| {
                let what = format!("a tag has 16 bytes, and this one has {}", tag.len());
                of_runtime(Runtime::Length { operation: D::NAME, what })
            })?;
            let call = Call::mapping(data, out, stream)?;
            self.whole(&call, &aad, decrypt(&nonce, bytes_of(&aad), &tag))?.wait(data.py())?;
            Ok(call.result)
        })
    }

    /// Whether a core does it in a moment: it does not wait for a GPU.
    fn is_short(&self, call: &Call<'_>, aad: &Option<Buffer>) -> bool {
        let bytes = call.len.saturating_add(bytes_of(aad).len() as u64);
        call.place == Place::Host && bytes <= SHORT && self.opened.engine.backend() == Backend::Cpu
    }

    /// Processes messages in host memory in parts, with `part`, which gets the numbers of some messages and their part's first byte.
    fn by_messages<E: Sync>(
        &self,
        call: &Call<'_>,
        batch: &GcmBatch<E>,
        part: impl FnMut(Range<usize>, u64, &mut Host) -> Result<(), Runtime> + Send,
    ) -> PyResult<()> {
        let (py, poison) = (call.result.py(), |panic: &str| self.opened.poison(panic));
        by_messages(py, call.host(), batch.len(), |n| batch.range(n), poison, part)
    }

    /// Does an operation on a GPU that returns a value when the stream has reached it.
    fn on_stream<O: Operation>(&self, ordinal: usize, call: &Call<'_>, operation: O) -> PyResult<Outcome<O>> {
        let pending = self.on_device(ordinal)?.run_with_output(call.result.py(), call, operation)?;
        call.is_on_stream()?;
        Ok(Outcome::Later(pending))
    }

    /// Does an operation that only reads `data`; `memory` is its memory.
    fn read<O: Operation>(&self, data: Any<'_, '_>, memory: Memory, operation: O) -> PyResult<Outcome<O>> {
        let py = data.py();
        match (memory.place, memory.stream) {
            (Place::Cuda(ordinal), Some(stream)) => {
                let pending = self.on_device(ordinal)?.read(py, stream, (memory.pointer, memory.len), operation)?;
                memory.is_used(data, stream)?;
                Ok(Outcome::Later(pending))
            }
            _ => {
                let cipher = (*self.cipher).clone();
                let work = move |data: &[u8]| cipher.run(operation, data);
                reading(py, memory, |panic| self.opened.poison(panic), work).map(Outcome::Now)
            }
        }
    }

    fn on_device(&self, ordinal: usize) -> PyResult<OnDevice<'_>> {
        OnDevice::of(&self.cipher, ordinal, &self.loaded)
    }

    /// Refuses lengths that are not whole blocks, before anything is done.
    fn check_blocks(call: &Call<'_>) -> PyResult<()> {
        match call.len % 16 {
            0 => Ok(()),
            _ => Err(of_runtime(Runtime::NotWholeBlocks { len: call.len as usize })),
        }
    }

    /// An operation of this mode, which processes every block of 16 bytes on its own.
    fn by_block<'py>(
        &self,
        mode: Mode,
        operation: impl Operation<Output = ()> + Copy,
        data: Any<'_, 'py>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let call = Call::mapping(data, out, stream)?;
            Self::check_blocks(&call)?;
            let part = |_, host: &mut Host| self.cipher.run(operation, host.buffers());
            self.carry_out(call, 16, part, |gpu, call| gpu.run(data.py(), call, mode, operation))
        })
    }

    fn xts<'py>(
        &self,
        direction: Direction,
        data: Any<'_, 'py>,
        unit: u64,
        first: u128,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let xts = move |first| Xts::new(direction, unit, first);
            xts(first).map_err(of_runtime)?;
            let call = Call::mapping(data, out, stream)?;
            // The last part would be refused for this.
            if call.len > 0 && (1..16).contains(&(call.len % unit)) {
                let what = format!("the last data unit has at least 16 bytes, not {}", call.len % unit);
                return Err(of_runtime(Runtime::Length { operation: "XTS", what }));
            }
            let units = u128::from(call.len.div_ceil(unit));
            first
                .checked_add(units.saturating_sub(1))
                .ok_or_else(|| PyValueError::new_err("the numbers of the data units end at 2^128 - 1"))?;
            let part = |range: Range<usize>, host: &mut Host| {
                self.cipher.run(xts(first + u128::from(range.start as u64 / unit))?, host.buffers())
            };
            self.carry_out(call, unit as usize, part, |gpu, call| {
                gpu.run(data.py(), call, Mode::xts(direction), xts(first).map_err(of_runtime)?)
            })
        })
    }

    /// Calls `load` for each GPU of the engine.
    fn prepare_by(&self, py: Python<'_>, load: impl Fn(&OnDevice<'_>) -> Result<(), Runtime> + Sync) -> PyResult<()> {
        let contexts = self.opened.engine.cuda_contexts().unwrap_or_default();
        contexts.iter().try_for_each(|context| {
            let gpu = self.on_device(context.ordinal())?;
            py.detach(|| load(&gpu)).map_err(of_runtime)
        })
    }

    /// Refuses an engine that is no longer usable, and turns a panic into an exception.
    fn begin<T>(&self, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        self.opened.check()?;
        self.opened.guarded(work)
    }

    /// Refuses a counter that overflows before the data ends, before anything is done: only the first and the last byte show it.
    fn check_counter(&self, counter: &Counter, offset: u64, call: &Call<'_>) -> PyResult<()> {
        if counter.mode() == CounterMode::Ctr128BE || call.len == 0 {
            return Ok(());
        }
        let check = |counter: &Counter, byte| self.cipher.run(Ctr::new(counter, byte), &mut [0]).map_err(of_runtime);
        check(counter, offset)?;
        let (counter, first) = from_byte_on(counter, offset);
        check(&counter, first + (call.len - 1))
    }

    /// GCM of a whole message in host memory: returns the hashes of its parts, for the tag.
    fn gcm_parts(
        &self,
        py: Python<'_>,
        call: &Call<'_>,
        direction: Direction,
        nonce: &Nonce,
    ) -> PyResult<Vec<PartialHash>> {
        let mut hashes = Vec::new();
        in_parts(
            py,
            call.host(),
            &Grain(16),
            &self.opened.pace,
            |panic| self.opened.poison(panic),
            |range, host| {
                let part = GcmPart::new(direction, nonce, range.start as u64);
                hashes.push(self.cipher.run(part, host.buffers())?);
                Ok(())
            },
        )?;
        Ok(hashes)
    }

    /// Refuses more bytes than GCM encrypts (SP 800-38D, section 5.2.1.1), before anything is done.
    fn check_gcm(call: &Call<'_>) -> PyResult<()> {
        const LONGEST: u64 = (1 << 36) - 32;
        match call.len <= LONGEST {
            true => Ok(()),
            false => {
                Err(PyValueError::new_err(format!("GCM: a message has at most {LONGEST} bytes: cut it into several")))
            }
        }
    }
}

#[pymethods]
impl Cipher {
    /// CTR: encrypts and decrypts any number of bytes.
    ///
    /// iv: the initial counter block, 16 bytes. Under one key, no two messages may have overlapping counter blocks.
    /// offset: the byte of the key stream for the first byte of the data: the place of the data in its message.
    /// counter_bits: how many of the last bits of the counter block count: 128, 64 or 32.
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
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let counter = counter(iv, counter_bits)?;
            let call = Call::mapping(data, out, stream)?;
            self.check_counter(&counter, offset, &call)?;
            let (counter, offset) = from_byte_on(&counter, offset);
            let part = |range: Range<usize>, host: &mut Host| {
                self.cipher.run(Ctr::new(&counter, offset + range.start as u64), host.buffers())
            };
            self.carry_out(call, 16, part, |gpu, call| gpu.run(data.py(), call, Mode::Ctr, Ctr::new(&counter, offset)))
        })
    }

    /// The key stream of CTR from byte `offset` on: the output of `ctr` for zeros, as pseudorandom bytes.
    ///
    /// iv: the initial counter block, 16 bytes.
    /// length: of a new `bytes`; or give `out`.
    /// offset: the first byte of the key stream.
    /// counter_bits: how many of the last bits of the counter block count: 128, 64 or 32.
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
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let counter = counter(iv, counter_bits)?;
            let call = Call::writing(py, length, out, stream)?;
            self.check_counter(&counter, offset, &call)?;
            let (counter, offset) = from_byte_on(&counter, offset);
            let part = |range: Range<usize>, host: &mut Host| {
                self.cipher.run(Keystream::new(&counter, offset + range.start as u64), host.buffers())
            };
            let operation = Keystream::new(&counter, offset);
            self.carry_out(call, 16, part, |gpu, call| gpu.run(py, call, Mode::Keystream, operation))
        })
    }

    /// ECB encryption of whole blocks of 16 bytes. It reveals which blocks are equal: not for messages.
    ///
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, out = None, stream = None))]
    fn ecb_encrypt<'py>(
        &self,
        data: Any<'_, 'py>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.by_block(Mode::EcbEncrypt, Ecb::encrypt(), data, out, stream)
    }

    /// ECB decryption of whole blocks of 16 bytes.
    ///
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, out = None, stream = None))]
    fn ecb_decrypt<'py>(
        &self,
        data: Any<'_, 'py>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.by_block(Mode::EcbDecrypt, Ecb::decrypt(), data, out, stream)
    }

    /// A pseudorandom generator from AES under a fixed, public key: each block of 16 bytes is encrypted and XORed with itself (Matyas, Meyer,
    /// Oseas 1985). For function secret sharing and garbling; seeds must differ. It is no encryption.
    ///
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, out = None, stream = None))]
    fn prg<'py>(
        &self,
        data: Any<'_, 'py>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.by_block(Mode::Prg, Prg::new(), data, out, stream)
    }

    /// CBC encryption of whole blocks, without padding. Serial: on one CPU core whatever the engine, in host memory.
    ///
    /// iv: 16 random bytes, new for every message.
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[pyo3(signature = (iv, data, *, out = None))]
    fn cbc_encrypt<'py>(
        &self,
        iv: Any<'_, 'py>,
        data: Any<'_, 'py>,
        out: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let mut chained = block(iv)?;
            let call = Call::mapping(data, out, None)?;
            Self::check_blocks(&call)?;
            if let Place::Cuda(_) = call.place {
                let backend = "GPU memory".to_owned();
                return Err(of_runtime(Runtime::Unsupported { operation: "CBC encryption", backend }));
            }
            let part = |_, host: &mut Host| {
                self.cipher.run(CbcEncrypt::new(&chained), host.buffers())?;
                if host.len > 0 {
                    chained = host.last_written();
                }
                Ok(())
            };
            // One core has its own pace.
            in_parts(data.py(), call.host(), &Grain(16), &Pace::default(), |panic| self.opened.poison(panic), part)?;
            Ok(call.result)
        })
    }

    /// CBC decryption of whole blocks; padding is left as it is.
    ///
    /// iv: the 16 bytes of the encryption.
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (iv, data, *, out = None, stream = None))]
    fn cbc_decrypt<'py>(
        &self,
        iv: Any<'_, 'py>,
        data: Any<'_, 'py>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let iv = block(iv)?;
            let mut chained = iv;
            let call = Call::mapping(data, out, stream)?;
            Self::check_blocks(&call)?;
            let part = |_, host: &mut Host| {
                let next = if host.len > 0 { host.last_read() } else { chained };
                self.cipher.run(CbcDecrypt::new(&chained), host.buffers())?;
                chained = next;
                Ok(())
            };
            self.carry_out(call, 16, part, |gpu, call| gpu.run(data.py(), call, Mode::CbcDecrypt, CbcDecrypt::new(&iv)))
        })
    }

    /// XTS encryption of consecutive data units, with a key from `Key.xts` or `Key.generate(xts=True)`; on a GPU
    /// units of whole blocks of 16 bytes.
    ///
    /// unit_bytes: bytes of a data unit, such as 512 or 4096 for a sector; the last may be shorter, down to 16.
    /// first_unit: the number of the first data unit.
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, unit_bytes, first_unit = 0, out = None, stream = None))]
    fn xts_encrypt<'py>(
        &self,
        data: Any<'_, 'py>,
        #[pyo3(from_py_with = number::unit_bytes)] unit_bytes: u64,
        #[pyo3(from_py_with = number::first_unit)] first_unit: u128,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.xts(Direction::Encrypt, data, unit_bytes, first_unit, out, stream)
    }

    /// XTS decryption of consecutive data units; see `xts_encrypt`.
    ///
    /// unit_bytes: bytes of a data unit, as at the encryption.
    /// first_unit: the number of the first data unit.
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (data, *, unit_bytes, first_unit = 0, out = None, stream = None))]
    fn xts_decrypt<'py>(
        &self,
        data: Any<'_, 'py>,
        #[pyo3(from_py_with = number::unit_bytes)] unit_bytes: u64,
        #[pyo3(from_py_with = number::first_unit)] first_unit: u128,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.xts(Direction::Decrypt, data, unit_bytes, first_unit, out, stream)
    }

    /// GCM encryption of a whole message: returns the ciphertext and its tag of 16 bytes, on a GPU a `DeviceTag`.
    ///
    /// nonce: usually 12 bytes. Never use it for two messages under one key.
    /// aad: additional data, which the tag authenticates but which is not encrypted.
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (nonce, data, aad = None, *, out = None, stream = None))]
    fn gcm_encrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        aad: Option<Any<'_, 'py>>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        self.begin(|| {
            let py = data.py();
            let (nonce, aad) = (nonce_of(nonce)?, additional(aad)?);
            let call = Call::mapping(data, out, stream)?;
            Self::check_gcm(&call)?;
            let whole = GcmEncrypt::new(&nonce, bytes_of(&aad));
            let tag = match call.place {
                _ if self.is_short(&call, &aad) => self.whole(&call, &aad, whole)?,
                Place::Host => {
                    let parts = self.gcm_parts(py, &call, Direction::Encrypt, &nonce)?;
                    let tag = self.cipher.combine(&whole, parts).map_err(of_runtime)?;
                    unless_interrupted(py, &mut call.host())?;
                    Outcome::<GcmEncrypt>::Now(tag)
                }
                Place::Cuda(ordinal) => self.on_stream(ordinal, &call, whole)?,
            };
            let tag = tag.tags(py)?;
            Ok((call.result, tag))
        })
    }

    /// GCM decryption of a whole message. Waits, also on a GPU, until the tag has been checked.
    ///
    /// tag_bytes: the length that the tag must have: 16, or 4, 8 or 12 to 15 if sender and receiver agreed on that. `ValueError` for a
    ///     tag of another length: a forged message with a tag of 4 bytes is accepted once in 2^32 attempts.
    #[doc = parameter!(nonce)]
    #[doc = parameter!(data)]
    #[doc = parameter!(tag)]
    #[doc = parameter!(aad)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    ///
    /// `AuthenticationError` if anything was changed; no plaintext is left then.
    #[pyo3(signature = (nonce, data, tag, aad = None, *, tag_bytes = 16, out = None, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn gcm_decrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        tag: Any<'_, 'py>,
        aad: Option<Any<'_, 'py>>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let py = data.py();
            let (nonce, aad) = (nonce_of(nonce)?, additional(aad)?);
            let tag = received_tag(small(&given_tags(tag)?, "tag")?.bytes(), "tag", tag_bytes)?;
            let call = Call::mapping(data, out, stream)?;
            Self::check_gcm(&call)?;
            let whole = GcmDecrypt::new(&nonce, bytes_of(&aad), &tag);
            match call.place {
                _ if self.is_short(&call, &aad) => self.whole(&call, &aad, whole)?.wait(py)?,
                Place::Host => {
                    let parts = self.gcm_parts(py, &call, Direction::Decrypt, &nonce)?;
                    self.cipher.combine(&whole, parts).map_err(|error| {
                        call.host().clear();
                        of_runtime(error)
                    })?;
                    unless_interrupted(py, &mut call.host())?;
                }
                Place::Cuda(ordinal) => self.on_stream(ordinal, &call, whole)?.wait(py)?,
            }
            Ok(call.result)
        })
    }

    /// AES-GCM-SIV encryption (RFC 8452) of a whole message: returns the ciphertext and its tag of 16 bytes, on a
    /// GPU a `DeviceTag`. For keys of 128 or 256 bits. It reads the data twice: on a GPU it waits until the stream has
    /// finished the first pass.
    ///
    /// nonce: 12 bytes, new for every message. A nonce used twice under a key reveals only whether two messages with
    ///     the same additional data are equal.
    /// aad: additional data, which the tag authenticates but which is not encrypted.
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (nonce, data, aad = None, *, out = None, stream = None))]
    fn gcm_siv_encrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        aad: Option<Any<'_, 'py>>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        self.encrypt_under_own_key(GcmSivEncrypt::new, nonce, data, aad, out, stream)
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
        aad: Option<Any<'_, 'py>>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.decrypt_under_own_key(GcmSivDecrypt::new, nonce, data, tag, aad, out, stream)
    }

    /// XAES-256-GCM encryption (C2SP) of a whole message: returns the ciphertext and its tag of 16 bytes, on a GPU a `DeviceTag`. For keys of
    /// 256 bits.
    ///
    /// nonce: 24 bytes, new for every message; `os.urandom(24)` will do, for 2**80 messages under one key.
    /// aad: additional data, which the tag authenticates but which is not encrypted.
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (nonce, data, aad = None, *, out = None, stream = None))]
    fn xaes_encrypt<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        aad: Option<Any<'_, 'py>>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        self.encrypt_under_own_key(XaesEncrypt::new, nonce, data, aad, out, stream)
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
        aad: Option<Any<'_, 'py>>,
        out: Option<Any<'_, 'py>>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.decrypt_under_own_key(XaesDecrypt::new, nonce, data, tag, aad, out, stream)
    }

    /// GMAC: the tag of a message that is not encrypted. No two messages under one key may have the same nonce. Compare tags with
    /// `hmac.compare_digest`.
    ///
    /// nonce: usually 12 bytes.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (nonce, data, *, stream = None))]
    fn gmac<'py>(
        &self,
        nonce: Any<'_, 'py>,
        data: Any<'_, 'py>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let gmac = Gmac::new(&nonce_of(nonce)?);
            self.read(data, Memory::read(data, stream)?, gmac)?.tags(data.py())
        })
    }

    /// CMAC of a whole message in host memory, on one core of the CPU. Compare tags with `hmac.compare_digest`. For
    /// a GPU there is `cmac_batch`: the blocks of a message are processed in sequence, so one message is slow there.
    ///
    #[doc = parameter!(data)]
    fn cmac<'py>(&self, data: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let memory = Memory::read(data, None)?;
            on_host(memory.place, "CMAC of one message")?;
            self.read(data, memory, Cmac::new())?.tags(data.py())
        })
    }

    /// GCM encryption of many messages in one call: returns their tags, 16 bytes each, contiguous; on a GPU as a
    /// `DeviceTag`.
    ///
    /// nonces: 12 bytes for each message, contiguous; `CountedNonces`; or a list with a nonce of any length for each. No
    ///     two may be equal.
    /// ranges: where the messages are: `Ranges`; an array of integers, or a list, with two numbers for each message, its
    ///     first byte in the data and the byte after its last. They ascend and do not overlap.
    /// aads: bytes that are the additional data of every message, or with `aad_ranges` of all messages; or a list.
    /// aad_ranges: where in `aads` the additional data of each message is, in the forms of `ranges` and in any order.
    /// out: where the output goes; may be the data itself. Bytes of `out` between messages stay as they are.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    ///
    /// The CPU cores process data in host memory, whatever the engine; data on a GPU of the engine goes to that GPU, on
    /// the stream. Nonces and additional data are in host memory.
    #[pyo3(signature = (nonces, ranges, data, aads = None, *, aad_ranges = None, out, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn gcm_encrypt_batch<'py>(
        &self,
        nonces: Any<'_, 'py>,
        ranges: Any<'_, 'py>,
        data: Any<'_, 'py>,
        aads: Option<Any<'_, 'py>>,
        aad_ranges: Option<Any<'_, 'py>>,
        out: Any<'_, 'py>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let given = GcmMessages::of(nonces, ranges, aads, aad_ranges)?;
            let whole = given.view(GcmEncryptBatch::from_arrays)?;
            let call = Call::mapping(data, Some(out), stream)?;
            let tags = match call.place {
                Place::Host => {
                    let mut tags = Vec::with_capacity(whole.len());
                    self.by_messages(&call, &whole, |numbers, at, host| {
                        let part = if numbers.len() == whole.len() { whole.clone() } else { whole.part(numbers, at) };
                        tags.extend(self.cipher.run(part, host.buffers())?);
                        Ok(())
                    })?;
                    Outcome::<GcmBatch<SideBySide>>::Now(tags)
                }
                Place::Cuda(ordinal) => self.on_stream(ordinal, &call, whole)?,
            };
            tags.tags(data.py())
        })
    }

    /// GCM decryption of many messages in one call. `AuthenticationError` if any is not authentic: `failed` has
    /// their numbers, and they are cleared in `out`. The others are still decrypted. Waits, also on a GPU, until all
    /// tags have been checked.
    ///
    /// tags: `tag_bytes` bytes for each message, contiguous, or a list; in host memory, or the `DeviceTag` of the
    ///     encryption.
    /// tag_bytes: the length of every tag, as for `gcm_decrypt`. The rest is as for `gcm_encrypt_batch`.
    /// nonces: 12 bytes for each message, contiguous; `CountedNonces`; or a list.
    /// ranges: where the messages are: `Ranges`; an array of integers, or a list, with two numbers for each message.
    /// aads: bytes that are the additional data of every message, or with `aad_ranges` of all messages; or a list.
    /// aad_ranges: where in `aads` the additional data of each message is.
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (nonces, ranges, data, tags, aads = None, *, aad_ranges = None, tag_bytes = 16, out, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn gcm_decrypt_batch<'py>(
        &self,
        nonces: Any<'_, 'py>,
        ranges: Any<'_, 'py>,
        data: Any<'_, 'py>,
        tags: Any<'_, 'py>,
        aads: Option<Any<'_, 'py>>,
        aad_ranges: Option<Any<'_, 'py>>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
        out: Any<'_, 'py>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<()> {
        self.begin(|| {
            let given = GcmMessages::of(nonces, ranges, aads, aad_ranges)?;
            let tags = GivenTags::of(&given_tags(tags)?, given.len()?, tag_bytes)?;
            let whole = given.view(|ranges, nonces, aads| {
                GcmDecryptBatch::from_arrays(ranges, nonces, aads, tags.bytes(), tag_bytes)
            })?;
            let count = whole.len();
            let call = Call::mapping(data, Some(out), stream)?;
            let failed = match call.place {
                Place::Host => {
                    let mut failed = Vec::new();
                    self.by_messages(&call, &whole, |numbers, at, host| {
                        let first = numbers.start;
                        let part = if numbers.len() == count { whole.clone() } else { whole.part(numbers, at) };
                        let opened = self.cipher.run(part, host.buffers())?;
                        failed.extend(opened.failed().iter().map(|n| first + n));
                        Ok(())
                    })?;
                    failed
                }
                Place::Cuda(ordinal) => self.on_stream(ordinal, &call, whole)?.wait(data.py())?.failed().to_vec(),
            };
            all_authentic(data.py(), &failed, count)
        })
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
    fn cmac_batch<'py>(
        &self,
        ranges: Any<'_, 'py>,
        data: Any<'_, 'py>,
        stream: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.begin(|| {
            let batch = CmacBatch::from_arrays(&Places::of(ranges, "ranges")?.view()?).map_err(of_runtime)?;
            self.read(data, Memory::read(data, stream)?, batch)?.tags(data.py())
        })
    }

    /// CMAC of many messages, compared with tags in constant time. `AuthenticationError` if any is not authentic:
    /// `failed` has their numbers. Waits, also on a GPU.
    ///
    /// tags: `tag_bytes` bytes for each message, contiguous, or a list; in host memory, or the `DeviceTag` of
    ///     `cmac_batch`.
    /// tag_bytes: the length of every tag, as for `gcm_decrypt`.
    /// ranges: where the messages are: `Ranges`; an array of integers, or a list, with two numbers for each message.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (ranges, data, tags, *, tag_bytes = 16, stream = None))]
    fn cmac_verify_batch(
        &self,
        ranges: Any<'_, '_>,
        data: Any<'_, '_>,
        tags: Any<'_, '_>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
        stream: Option<Any<'_, '_>>,
    ) -> PyResult<()> {
        self.begin(|| {
            let places = Places::of(ranges, "ranges")?;
            let ranges = places.view()?;
            let tags = GivenTags::of(&given_tags(tags)?, ranges.len(), tag_bytes)?;
            let batch = CmacVerifyBatch::from_arrays(&ranges, tags.bytes(), tag_bytes).map_err(of_runtime)?;
            let verified = self.read(data, Memory::read(data, stream)?, batch)?.wait(data.py())?;
            all_authentic(data.py(), verified.failed(), ranges.len())
        })
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
        format!("Cipher(on {:?})", self.opened.engine.backend().to_string())
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

/// The initial counter block, whose last `bits` bits count.
fn counter(iv: Any<'_, '_>, bits: u32) -> PyResult<Counter> {
    let mode = match bits {
        128 => CounterMode::Ctr128BE,
        64 => CounterMode::Ctr64BE,
        32 => CounterMode::Ctr32BE,
        other => return Err(PyValueError::new_err(format!("counter_bits is 128, 64 or 32, not {other}"))),
    };
    Ok(Counter::new(mode, block(iv)?))
}

/// The same key stream by the counter of its byte `offset`, and the place of that byte in its block: the parts of a call may begin past
/// byte 2^64, which an offset from the initial counter block cannot be.
fn from_byte_on(counter: &Counter, offset: u64) -> (Counter, u64) {
    let block = u128::from_be_bytes(counter.block()).wrapping_add((offset / 16).into());
    (Counter::new(counter.mode(), block.to_be_bytes()), offset % 16)
}

fn block(iv: Any<'_, '_>) -> PyResult<[u8; 16]> {
    let iv = small(iv, "iv")?;
    iv.bytes().try_into().map_err(|_| PyValueError::new_err(format!("iv has 16 bytes, not {}", iv.len())))
}

fn nonce_of(nonce: Any<'_, '_>) -> PyResult<Nonce> {
    Nonce::new(small(nonce, "nonce")?.bytes()).map_err(of_runtime)
}

/// Additional data; there may be none.
fn additional(aad: Option<Any<'_, '_>>) -> PyResult<Option<Buffer>> {
    aad.map(|aad| small(aad, "aad")).transpose()
}

fn bytes_of(aad: &Option<Buffer>) -> &[u8] {
    aad.as_ref().map_or(&[], Buffer::bytes)
}
