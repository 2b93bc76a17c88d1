//! Engines, and memory that is fast for them.

use crate::arrays::view;
use crate::batch::GcmMessages;
use crate::cipher::Cipher;
use crate::documented::parameter;
use crate::driver::keeping_context;
use crate::error::{guarded, of_runtime};
use crate::fork::ForkedNot;
use crate::gcm_jobs::{self, GivenKeys};
use crate::key::Key;
use crate::layout::{GcmJobLayout, JobLayout};
use crate::many_keys;
use crate::memory::Data;
use crate::number;
use crate::opened::Opened;
use aes_bitslice_runtime::{Backend, Engine as RuntimeEngine, HostBuffer, Kernels, cuda, opencl};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict};
use std::str::FromStr;
use std::sync::Arc;

/// An opened backend: a GPU, several GPUs, an OpenCL device, or the CPU. Any number of threads may use it.
///
/// Opens a backend.
///
/// backend: "auto" (the first CUDA GPU, or the CPU, whichever is faster for a call), "cuda:0", "cuda:all", "cpu",
///     "cpu-bitsliced", "opencl", "opencl:P.D", or a list of CUDA GPU numbers, which share the work of a call.
/// kernels: which GPU kernels may be used; "auto" allows constant-time kernels only.
///
/// `UnavailableError` if it does not open, with the reason. "auto" always opens.
#[pyclass(frozen, weakref, module = "aes_bitslice")]
pub struct Engine {
    pub opened: Arc<Opened>,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (backend = None, *, kernels = "auto"))]
    fn new(py: Python<'_>, backend: Option<&Bound<'_, PyAny>>, kernels: &str) -> PyResult<Self> {
        let kernels = Kernels::from_str(kernels).map_err(|unknown| PyValueError::new_err(unknown.to_string()))?;
        let wanted = Wanted::of(backend)?;
        let is_cpu = matches!(wanted, Wanted::One(Backend::Cpu | Backend::CpuBitsliced));
        let open = || guarded(|| py.detach(|| wanted.open()).map_err(of_runtime));
        let engine = if is_cpu { open() } else { keeping_context(open) }?;
        Ok(Self { opened: Opened::new(engine.with_kernels(kernels)) })
    }

    /// Loads a key on this engine. Expanding a key takes time: keep the cipher.
    ///
    /// key: the key. XTS takes one of `Key.xts` or `Key.generate(xts=True)`.
    fn cipher(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Cipher> {
        self.opened.check()?;
        let Ok(key) = key.cast::<Key>() else {
            return Err(PyTypeError::new_err("cipher takes a Key: wrap the bytes in Key(...)"));
        };
        let key = &key.get().key;
        let cipher = self.opened.guarded(|| py.detach(|| self.opened.engine.cipher(key)).map_err(of_runtime))?;
        Ok(Cipher::new(self.opened.clone(), cipher))
    }

    /// Processes the same number of bytes under each of many contiguous keys: the first key is for the first
    /// `bytes_per_key` bytes.
    ///
    /// mode: "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream", which takes no data.
    /// bytes_per_key: a multiple of 16.
    /// counter: the first counter block under each key, 16 bytes; zeros if omitted. Use a key for one such call only.
    /// keys: the keys, one after another, or an array whose rows are keys.
    /// key_bits: of each key: 128, 192 or 256.
    #[doc = parameter!(data)]
    #[doc = parameter!(out)]
    #[doc = parameter!(stream)]
    ///
    /// Keys and data are both in host memory, where the CPU cores do the work, or both on the engine's GPU, which
    /// expands the keys.
    #[pyo3(signature = (mode, keys, data = None, *, bytes_per_key, key_bits = 128, counter = None, out = None, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn run_each_key<'py>(
        &self,
        py: Python<'py>,
        mode: &str,
        keys: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = number::bytes_per_key)] bytes_per_key: u64,
        #[pyo3(from_py_with = number::key_bits)] key_bits: usize,
        counter: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.opened.check()?;
        let (keys, each, data) =
            ((keys, key_bits), (counter, bytes_per_key), Data { py, data, out, stream, length: None, tag_out: None });
        self.opened.guarded(|| many_keys::each_key(&self.opened, mode, keys, each, &data))
    }

    /// Runs many jobs, each with a key, a first counter block and a range of the data, in one call.
    ///
    /// mode: "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream", which takes no data.
    /// keys: the keys of all jobs, contiguous, of one length, in host memory.
    /// ranges: a pair for each job: its first byte in the data, and the byte after its last. They ascend and do not
    ///     overlap.
    /// counters: 16 bytes for each job, contiguous; none for ECB. Jobs with the same key must share no counter.
    /// out: where the output goes; may be the data itself, must not overlap keys and counters. Bytes of `out` between
    ///     jobs stay as they are.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    ///
    /// The CPU cores process data in host memory, the engine's GPU data in its memory; the call waits for it.
    #[pyo3(signature = (mode, keys, ranges, data = None, *, counters = None, out, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn run_jobs<'py>(
        &self,
        py: Python<'py>,
        mode: &str,
        keys: &Bound<'py, PyAny>,
        ranges: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        counters: Option<&Bound<'py, PyAny>>,
        out: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.opened.check()?;
        let data = Data { py, data, out: Some(out), stream, length: None, tag_out: None };
        self.opened.guarded(|| many_keys::jobs(&self.opened, mode, keys, counters, ranges, &data))
    }

    /// GCM encryption of many messages, each under a key of its own, in one call: those of many sessions, tenants or columns. Returns
    /// their tags, 16 bytes each, contiguous.
    ///
    /// keys: contiguous, in host memory, or an array whose rows are keys.
    /// nonces: 12 bytes for each message, contiguous, or a list, or `CountedNonces`. Messages under one key must have different ones:
    ///     this is checked where keys have numbers, within the call.
    /// key_bits: of each key: 128, 192 or 256.
    /// key_numbers: the number of each message's key, from 0, as an array of integers or a list; by default every message has a key of
    ///     its own, in the order of the messages.
    /// out: where the output goes; may be the data itself, must not overlap the keys. Bytes of `out` between messages stay as they are.
    #[doc = parameter!(ranges)]
    #[doc = parameter!(aads)]
    #[doc = parameter!(aad_ranges)]
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    ///
    /// The CPU cores process data in host memory, the engine's GPU data in its memory; the call waits for it.
    #[pyo3(signature = (keys, nonces, ranges, data, aads = None, *, aad_ranges = None, key_bits = 128, key_numbers = None, out, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn gcm_encrypt_jobs<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        nonces: &Bound<'py, PyAny>,
        ranges: &Bound<'py, PyAny>,
        data: &Bound<'py, PyAny>,
        aads: Option<&Bound<'py, PyAny>>,
        aad_ranges: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = number::key_bits)] key_bits: usize,
        key_numbers: Option<&Bound<'py, PyAny>>,
        out: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.opened.check()?;
        let data = Data { py, data: Some(data), out: Some(out), stream, length: None, tag_out: None };
        let keys = GivenKeys { keys, key_bits, key_numbers };
        let messages = GcmMessages::of(nonces, ranges, aads, aad_ranges)?;
        self.opened.guarded(|| gcm_jobs::encrypt(&self.opened, keys, &messages, &data))
    }

    /// GCM decryption of many messages, each under a key of its own, in one call. `AuthenticationError` if any is not authentic: `failed`
    /// has their numbers, and they are cleared in `out`. The others are still decrypted.
    ///
    /// tags: `tag_bytes` bytes for each message, contiguous, or a list; in host memory.
    /// tag_bytes: the length of every tag: 12 to 16.
    /// keys, key_bits, key_numbers, nonces, out: as for `gcm_encrypt_jobs`.
    #[doc = parameter!(ranges)]
    #[doc = parameter!(aads)]
    #[doc = parameter!(aad_ranges)]
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (keys, nonces, ranges, data, tags, aads = None, *, aad_ranges = None, key_bits = 128, key_numbers = None, tag_bytes = 16, out, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn gcm_decrypt_jobs<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        nonces: &Bound<'py, PyAny>,
        ranges: &Bound<'py, PyAny>,
        data: &Bound<'py, PyAny>,
        tags: &Bound<'py, PyAny>,
        aads: Option<&Bound<'py, PyAny>>,
        aad_ranges: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = number::key_bits)] key_bits: usize,
        key_numbers: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
        out: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        self.opened.check()?;
        let data = Data { py, data: Some(data), out: Some(out), stream, length: None, tag_out: None };
        let keys = GivenKeys { keys, key_bits, key_numbers };
        let messages = GcmMessages::of(nonces, ranges, aads, aad_ranges)?;
        self.opened.guarded(|| gcm_jobs::decrypt(&self.opened, keys, &messages, (tags, tag_bytes), &data))
    }

    /// Describes jobs to the engine's GPU, for calls whose keys and counters are on the GPU, as the data is: for keys that were derived there,
    /// and for graphs.
    ///
    /// mode: "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream".
    /// ranges: where the jobs are, in host memory: as for `run_jobs`.
    /// key_bits: of each key: 128, 192 or 256.
    #[pyo3(signature = (mode, ranges, *, key_bits = 128))]
    fn job_layout(
        &self,
        py: Python<'_>,
        mode: &str,
        ranges: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = number::key_bits)] key_bits: usize,
    ) -> PyResult<JobLayout> {
        self.opened.check()?;
        JobLayout::new(py, &self.opened, mode, ranges, key_bits)
    }

    /// Describes messages of GCM to the engine's GPU, for calls whose keys, nonces, additional data and tags are on the GPU, as the data is: for
    /// keys that were derived there, and for graphs.
    ///
    /// ranges: where the messages are, in host memory: as for `gcm_encrypt_jobs`.
    /// aad_ranges: where the additional data of each message is in that of all, in host memory; none by default. With
    ///     `Ranges.equal(count, length, stride=0)` all have the same.
    /// key_bits: of each key: 128, 192 or 256.
    #[pyo3(signature = (ranges, *, aad_ranges = None, key_bits = 128))]
    fn gcm_job_layout(
        &self,
        py: Python<'_>,
        ranges: &Bound<'_, PyAny>,
        aad_ranges: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::key_bits)] key_bits: usize,
    ) -> PyResult<GcmJobLayout> {
        self.opened.check()?;
        GcmJobLayout::new(py, &self.opened, ranges, aad_ranges, key_bits)
    }

    /// Host memory that is fast for this engine: pinned (page-locked) where it has CUDA GPUs.
    ///
    /// All zero, and wiped when it is no longer used. `numpy.asarray` makes an array of it without a copy. Pinning
    /// takes about a millisecond per MiB: reuse such memory.
    ///
    /// length: of the memory, in bytes.
    fn host_buffer<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number::length)] length: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.opened.check()?;
        let buffer =
            self.opened.guarded(|| py.detach(|| self.opened.engine.host_buffer(length)).map_err(of_runtime))?;
        let is_pinned = buffer.is_pinned();
        view(Bound::new(py, HostMemory { buffer: ForkedNot::new(buffer, is_pinned) })?.into_any())
    }

    /// The name of the backend, such as "cuda" or "cpu".
    #[getter]
    fn name(&self) -> String {
        self.opened.engine.backend().to_string()
    }

    /// One line: the device, and why it was chosen.
    #[getter]
    fn description(&self) -> String {
        self.opened.engine.description()
    }

    /// The numbers of its CUDA GPUs.
    #[getter]
    fn devices(&self) -> Vec<usize> {
        self.opened.engine.cuda_contexts().unwrap_or_default().iter().map(|context| context.ordinal()).collect()
    }

    fn __repr__(&self) -> String {
        format!("Engine({:?})", self.name())
    }

    /// It never changes: a copy is the same object.
    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("an engine cannot be pickled: open one in each process"))
    }
}

/// The backend to open.
enum Wanted {
    One(Backend),
    Several(Vec<usize>),
}

impl Wanted {
    fn of(backend: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(backend) = backend else { return Ok(Self::One(Backend::Auto)) };
        /// More GPUs than a host has.
        const MOST: usize = 1024;
        if let Ok(name) = backend.extract::<String>() {
            return name.parse().map(Self::One).map_err(of_runtime);
        }
        let numbers =
            || backend.try_iter()?.take(MOST + 1).map(|number| number?.extract()).collect::<PyResult<Vec<_>>>();
        let is_bytes = backend.is_instance_of::<PyBytes>() || backend.is_instance_of::<PyByteArray>();
        let numbers = if is_bytes { None } else { numbers().ok().filter(|numbers| numbers.len() <= MOST) };
        numbers.map(Self::Several).ok_or_else(|| {
            PyTypeError::new_err(
                "a backend is a name, such as \"auto\", \"cpu\" or \"cuda:0\", or a list of numbers of CUDA GPUs",
            )
        })
    }

    fn open(self) -> Result<RuntimeEngine, aes_bitslice_runtime::Error> {
        match self {
            Self::One(backend) => RuntimeEngine::open(backend),
            Self::Several(ordinals) => RuntimeEngine::multi(&ordinals, cuda::Shares::Measured),
        }
    }
}

/// Host memory of an engine: the memory of the `memoryview` that `Engine.host_buffer` returns.
#[pyclass(frozen, module = "aes_bitslice")]
pub struct HostMemory {
    buffer: ForkedNot<HostBuffer>,
}

#[pymethods]
impl HostMemory {
    /// The address of its first byte.
    #[getter]
    fn address(&self) -> usize {
        self.buffer.as_ptr() as usize
    }

    /// The number of its bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.buffer.len()
    }

    /// Whether it is pinned.
    #[getter]
    fn is_pinned(&self) -> bool {
        self.buffer.is_pinned()
    }
}

/// Sets how many threads share the work of a large call on the CPU, for the whole process.
///
/// threads: 1 to 1024, set before the first engine is opened. Otherwise it is the number in the environment variable
///   AES_BITSLICE_THREADS, or if that is not set or empty, that of the cores that the process may use. With 1, calls
///   run on the threads that make them.
///
/// Raises ValueError for another number, and for one that is not in use after an engine was opened.
#[pyfunction]
pub fn set_threads(#[pyo3(from_py_with = number::threads)] threads: usize) -> PyResult<()> {
    guarded(|| aes_bitslice_runtime::set_threads(threads).map_err(of_runtime))
}

/// How many threads share the work of a large call on the CPU.
#[pyfunction(name = "_threads")]
pub fn threads() -> usize {
    aes_bitslice_runtime::threads()
}

/// The engines of this machine: for each its name, whether it opens, and the device or the reason why not.
///
/// opencl: OpenCL engines, too. Looking for them loads the library of every installed platform into the process.
#[pyfunction]
#[pyo3(signature = (*, opencl = false))]
pub fn engines<'py>(py: Python<'py>, opencl: bool) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let list = keeping_context(|| guarded(|| Ok(py.detach(|| list(opencl)))))?;
    let entry = |(name, available, description): (String, bool, String)| {
        let entry = PyDict::new(py);
        entry.set_item("name", name)?;
        entry.set_item("available", available)?;
        entry.set_item("description", description)?;
        Ok(entry)
    };
    list.into_iter().map(entry).collect()
}

fn list(with_opencl: bool) -> Vec<(String, bool, String)> {
    let gpus = cuda::devices().map_or(1, |devices| devices.len());
    let mut backends = vec![Backend::Auto];
    backends.extend((0..gpus).map(|ordinal| Backend::Cuda { ordinal }));
    backends.extend((gpus > 1).then_some(Backend::CudaAll));
    if with_opencl {
        let devices = opencl::devices().unwrap_or_default();
        let each = devices.iter().map(|device| Backend::OpenCl { platform: device.platform, device: device.device });
        backends.extend(each.chain(devices.is_empty().then_some(Backend::OpenClFirst)));
    }
    backends.extend([Backend::Cpu, Backend::CpuBitsliced]);
    let entry = |backend: Backend| match RuntimeEngine::open(backend) {
        Ok(engine) => (backend.to_string(), true, engine.description()),
        Err(error) => (backend.to_string(), false, error.to_string()),
    };
    backends.into_iter().map(entry).collect()
}
