//! Calls under many keys that are on a GPU, as everything else of the call is, at places that were described there before.

use crate::batch::Places;
use crate::described::Besides;
use crate::device::LayoutOnDevice;
use crate::dlpack::Place;
use crate::documented::parameter;
use crate::error::of_runtime;
use crate::fork::ForkedNot;
use crate::many_keys::{access, bits_of};
use crate::memory::{Call, Data, in_words};
use crate::opened::Opened;
use aes_bitslice_runtime::cuda::{self, DeviceBytes, DeviceCipher, DeviceTags, GcmJobInputs};
use aes_bitslice_runtime::{Access, Error, Jobs, KeyBits, Ranges};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::Arc;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A layout, and the engine that it is of.
struct Laid<T> {
    opened: Arc<Opened>,
    bits: KeyBits,
    layout: ForkedNot<LayoutOnDevice<T>>,
}

impl<T: Send> Laid<T> {
    fn new(
        py: Python<'_>,
        opened: &Arc<Opened>,
        bits: KeyBits,
        make: impl FnOnce(&DeviceCipher<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<Self> {
        let layout = opened.guarded(|| LayoutOnDevice::of(py, &opened.engine, make))?;
        Ok(Self { opened: opened.clone(), bits, layout: ForkedNot::new(layout, true) })
    }

    /// Makes a call: `work` gets its memory, of which the rest is besides the data.
    fn call<'py>(
        &self,
        (access, name): (Access, &str),
        data: &Data<'_, 'py>,
        work: impl FnOnce(&mut Call<'py>, Besides<'_, 'py>) -> PyResult<()>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.opened.check()?;
        self.opened.guarded(|| {
            let mut call = Call::of(access, name, data)?;
            let place = Place::Cuda(self.layout.ordinal());
            if call.place != place {
                let [data, layout] = [call.place, place].map(in_words);
                return Err(PyTypeError::new_err(format!("data is {data}, and the layout {layout}")));
            }
            work(&mut call, Besides::new(place, data.stream))?;
            Ok(call.result)
        })
    }
}

/// Where jobs are in data on a GPU, for calls whose keys and counters are on the GPU, too: `Engine.job_layout` makes it. Any number of
/// threads may use it.
#[pyclass(frozen, module = "aes_bitslice")]
pub struct JobLayout {
    laid: Laid<cuda::JobLayout>,
    access: Access,
    name: String,
}

/// Where messages of GCM are in data on a GPU, for calls whose keys, nonces, additional data and tags are on the GPU, too:
/// `Engine.gcm_job_layout` makes it. Any number of threads may use it.
#[pyclass(frozen, module = "aes_bitslice")]
pub struct GcmJobLayout(Laid<cuda::GcmJobLayout>);

impl JobLayout {
    pub fn new(py: Python<'_>, opened: &Arc<Opened>, mode: &str, ranges: Any<'_, '_>, bits: usize) -> PyResult<Self> {
        let (mode, bits) = (Jobs::mode_named(mode).map_err(of_runtime)?, bits_of(bits)?);
        let places = Places::of(ranges, "ranges")?;
        let ranges = places.view()?;
        let laid = Laid::new(py, opened, bits, |device| device.job_layout(mode, bits, &ranges))?;
        Ok(Self { laid, access: access(mode), name: mode.name().into() })
    }
}

#[pymethods]
impl JobLayout {
    /// Does the jobs, puts them on the stream, and waits for nothing; a graph may hold the call, which reads keys, counters and data each time.
    /// Returns `out`.
    ///
    /// keys: a key for each job, contiguous, on the GPU, at a multiple of 4 bytes. They are read only.
    /// counters: 16 bytes for each job, contiguous, on the GPU, at a multiple of 16 bytes; none for ECB. Jobs with the same key must share
    ///     no counter.
    /// out: where the output goes; may be the data itself. Bytes of `out` between jobs stay as they are.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (keys, data = None, *, counters = None, out, stream = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        data: Option<&Bound<'py, PyAny>>,
        counters: Option<&Bound<'py, PyAny>>,
        out: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let data = Data { py, data, out: Some(out), stream, length: None, tag_out: None };
        self.laid.call((self.access, &self.name), &data, |call, mut besides| {
            let keys = besides.keys(keys, self.laid.bits)?;
            let counters = counters.map_or(Ok(DeviceBytes::NONE), |counters| besides.bytes(counters, "counters"))?;
            besides.used_by(call, |call| self.laid.layout.run(call, keys, counters))
        })
    }

    fn __len__(&self) -> usize {
        self.laid.layout.layout().len()
    }
}

impl GcmJobLayout {
    pub fn new(
        py: Python<'_>,
        opened: &Arc<Opened>,
        ranges: Any<'_, '_>,
        aad_ranges: Option<Any<'_, '_>>,
        bits: usize,
    ) -> PyResult<Self> {
        let (bits, places) = (bits_of(bits)?, Places::of(ranges, "ranges")?);
        let aads = aad_ranges.map(|ranges| Places::of(ranges, "aad_ranges")).transpose()?;
        let ranges = places.view()?;
        let aads = aads.as_ref().map_or(Ok(Ranges::spaced(ranges.len(), 0, 0)), Places::view)?;
        Laid::new(py, opened, bits, |device| device.gcm_job_layout(bits, &ranges, &aads)).map(Self)
    }

    fn run<'py>(
        &self,
        [keys, nonces]: [Any<'_, 'py>; 2],
        aads: Option<Any<'_, 'py>>,
        data: &Data<'_, 'py>,
        tags: impl FnOnce(&mut Besides<'_, 'py>, usize) -> PyResult<DeviceTags>,
    ) -> PyResult<()> {
        let layout = &self.0.layout;
        let call = self.0.call((Access::Maps, "gcm"), data, |call, mut besides| {
            let inputs = GcmJobInputs {
                keys: besides.keys(keys, self.0.bits)?,
                nonces: besides.bytes(nonces, "nonces")?,
                aad: aads.map_or(Ok(DeviceBytes::NONE), |aads| besides.bytes(aads, "aads"))?,
            };
            let tags = tags(&mut besides, self.__len__())?;
            besides.used_by(call, |call| layout.run_gcm(call, &inputs, tags))
        });
        call.map(drop)
    }
}

#[pymethods]
impl GcmJobLayout {
    /// Encrypts the messages and makes their tags, on the stream, and waits for nothing. A graph may hold the call, which reads everything each
    /// time: it then needs new keys or nonces. Under one key, never the same nonce twice: nothing checks that here.
    ///
    /// keys: a key for each message, contiguous, on the GPU, at a multiple of 4 bytes. They are read only.
    /// nonces: 12 bytes for each message, contiguous, on the GPU.
    /// aads: the additional data, on the GPU, where the layout has `aad_ranges` of it; elsewhere than what the messages become.
    /// out: where the output goes; may be the data itself. Bytes of `out` between messages stay as they are.
    /// tag_out: where on the GPU the tags go: 16 bytes for each message.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (keys, nonces, data, aads = None, *, out, tag_out, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn encrypt<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nonces: &Bound<'py, PyAny>,
        data: &Bound<'py, PyAny>,
        aads: Option<&Bound<'py, PyAny>>,
        out: &Bound<'py, PyAny>,
        tag_out: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let data = Data::of(data, Some(out), stream);
        self.run([keys, nonces], aads, &data, |besides, count| {
            Ok(DeviceTags::Make { tags: besides.exactly(tag_out, "tag_out", 16 * count, true)? })
        })
    }

    /// Decrypts the messages, on the stream, and waits for nothing. Those that are not authentic are cleared in `out`.
    ///
    /// keys, nonces, aads, out: as for `encrypt`.
    /// tags: 16 bytes for each message, on the GPU.
    /// verdict_out: where on the GPU 4 bytes for each message go: 0 if it is authentic, else another number.
    #[doc = parameter!(data)]
    #[doc = parameter!(stream)]
    #[pyo3(signature = (keys, nonces, data, tags, aads = None, *, out, verdict_out, stream = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
    fn decrypt<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nonces: &Bound<'py, PyAny>,
        data: &Bound<'py, PyAny>,
        tags: &Bound<'py, PyAny>,
        aads: Option<&Bound<'py, PyAny>>,
        out: &Bound<'py, PyAny>,
        verdict_out: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let data = Data::of(data, Some(out), stream);
        self.run([keys, nonces], aads, &data, |besides, count| {
            Ok(DeviceTags::Verify {
                expected: besides.exactly(tags, "tags", 16 * count, false)?,
                tag_bytes: 16,
                verdicts: besides.exactly(verdict_out, "verdict_out", 4 * count, true)?,
            })
        })
    }

    fn __len__(&self) -> usize {
        self.0.layout.layout().len()
    }
}
