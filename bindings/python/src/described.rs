//! Messages of GCM that arrays on a GPU describe: how the caller gives them, and a call, which waits for nothing and which a graph can hold.

use crate::arrays::shape_of;
use crate::batch::{CountedNonces, Ranges};
use crate::dlpack::Place;
use crate::driver;
use crate::error::of_runtime;
use crate::loaded_key::LoadedKey;
use crate::many_keys::check_rows;
use crate::memory::{Call, Data, Memory, Stream, Written, in_words};
use aes_bitslice_core::count::counted;
use aes_bitslice_runtime::cuda::{
    DeviceAads, DeviceBatch, DeviceBytes, DeviceNonces, DeviceRanges, DeviceTags, IntegerType,
};
use aes_bitslice_runtime::{Access, KeyBits};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// What belongs to the messages of a call, as the caller gave it.
pub struct Given<'a, 'py> {
    pub nonces: Any<'a, 'py>,
    pub ranges: Any<'a, 'py>,
    pub aads: Option<Any<'a, 'py>>,
    pub aad_ranges: Option<Any<'a, 'py>>,
}

/// What a call does with tags on a GPU.
pub enum Tags<'a, 'py> {
    Make { tag_out: Any<'a, 'py> },
    Verify { tags: Any<'a, 'py>, tag_bytes: usize, verdict_out: Any<'a, 'py> },
}

/// The memory of a call besides its data, all on one GPU.
pub struct Besides<'a, 'py> {
    place: Place,
    stream: Option<Any<'a, 'py>>,
    all: Vec<(Memory, Bound<'py, PyAny>)>,
    written: Vec<Written<'py>>,
}

impl<'a, 'py> Besides<'a, 'py> {
    pub fn new(place: Place, stream: Option<Any<'a, 'py>>) -> Self {
        Self { place, stream, all: vec![], written: vec![] }
    }

    /// Does work on it, which it puts on the stream of the call, after the work that wrote it, and waits for it, if the owner of any of it does
    /// not know of streams.
    pub fn used_by(&self, call: &mut Call<'py>, work: impl FnOnce(&Call<'py>) -> PyResult<()>) -> PyResult<()> {
        self.comes_before(call)?;
        if let Some(stream) = &mut call.stream {
            stream.waits |= self.all.iter().any(|(memory, _)| memory.stream.is_some_and(|stream| stream.waits));
        }
        self.written.iter().for_each(Written::begins);
        work(call)?;
        call.is_on_stream()?;
        let stream = call.stream.expect("memory of a GPU comes with a stream");
        self.all.iter().try_for_each(|(memory, array)| memory.is_used(array, stream))
    }

    /// Lets the stream of the call wait for the work that wrote it, which may be on others.
    fn comes_before(&self, call: &Call<'py>) -> PyResult<()> {
        let handles = |stream: Option<Stream>| stream.map(|stream| stream.handle);
        for (memory, _) in &self.all {
            if let (Place::Cuda(ordinal), Some(theirs), Some(ours)) =
                (self.place, handles(memory.stream), handles(call.stream))
                && theirs != ours
            {
                driver::order(call.py(), ordinal, theirs, ours)?;
            }
        }
        Ok(())
    }

    /// The bytes of an array called `name`, which is only read.
    pub fn bytes(&mut self, array: Any<'_, 'py>, name: &str) -> PyResult<DeviceBytes> {
        let (at, bytes) = self.take(array, name, false)?;
        Ok(DeviceBytes { at, bytes })
    }

    /// Keys of this length, one for each job or message.
    pub fn keys(&mut self, keys: Any<'_, 'py>, bits: KeyBits) -> PyResult<DeviceBytes> {
        let found = self.bytes(keys, "keys")?;
        let (memory, _) = self.all.last().expect("they were put there");
        check_rows(keys, memory, bits.bytes())?;
        Ok(found)
    }

    /// The address and the number of bytes of an array called `name`.
    fn take(&mut self, array: Any<'_, 'py>, name: &str, is_written: bool) -> PyResult<(u64, u64)> {
        let memory = Memory::of(array, is_written, name, self.stream)?;
        if memory.place != self.place {
            let [data, other] = [self.place, memory.place].map(in_words);
            return Err(PyTypeError::new_err(format!("data is {data} and {name} {other}: all are on one GPU")));
        }
        let found = (memory.pointer, memory.len);
        self.written.extend(if is_written { Written::of(array, &memory) } else { None });
        self.all.push((memory, array.clone()));
        Ok(found)
    }

    /// The address of an array of this many bytes.
    pub fn exactly(&mut self, array: Any<'_, 'py>, name: &str, bytes: usize, is_written: bool) -> PyResult<u64> {
        match self.take(array, name, is_written)? {
            (at, len) if len == bytes as u64 => Ok(at),
            (_, len) => Err(PyValueError::new_err(format!("{name} has {}: give {bytes}", counted(len, "byte")))),
        }
    }

    /// Integers of this many columns, and the number of rows.
    fn integers(
        &mut self,
        array: Any<'_, 'py>,
        name: &str,
        columns: Option<usize>,
    ) -> PyResult<(IntegerType, u64, usize)> {
        let (at, _) = self.take(array, name, false)?;
        match (shape_of(array)?, columns) {
            (Some((shape, Some(integers))), None) if shape.len() == 1 => Ok((integers, at, shape[0])),
            (Some((shape, Some(integers))), Some(columns)) if shape.len() == 2 && shape[1] == columns => {
                Ok((integers, at, shape[0]))
            }
            _ => Err(PyTypeError::new_err(format!(
                "{name} must be an array of {} on the GPU, of integers of 32 or 64 bits",
                columns.map_or("one dimension".into(), |columns| format!("{columns} columns"))
            ))),
        }
    }

    /// Ranges in any form, and their number.
    fn ranges(&mut self, ranges: Any<'_, 'py>, name: &str) -> PyResult<(DeviceRanges, usize)> {
        let py = ranges.py();
        let Ok(described) = ranges.cast::<Ranges>() else {
            let (integers, at, count) = self.integers(ranges, name, Some(2))?;
            return Ok((DeviceRanges::pairs(integers, at), count));
        };
        if let Some((count, length, stride)) = described.get().spaced() {
            return Ok((DeviceRanges::spaced(length, stride), count));
        }
        let [offsets, lengths] = described.get().arrays(py).expect("not spaced");
        let (of_offsets, offsets, count) = self.integers(&offsets, "offsets", None)?;
        let (of_lengths, lengths, others) = self.integers(&lengths, "lengths", None)?;
        if count != others {
            let (offsets, lengths) = (counted(count, "offset"), counted(others, "length"));
            return Err(PyValueError::new_err(format!("{offsets} and {lengths}: give one of each for each message")));
        }
        Ok((DeviceRanges::lengths((of_offsets, offsets), (of_lengths, lengths)), count))
    }

    fn nonces(&mut self, nonces: Any<'_, 'py>, count: usize) -> PyResult<DeviceNonces> {
        let Ok(counted) = nonces.cast::<CountedNonces>() else {
            return Ok(DeviceNonces::each(self.exactly(nonces, "nonces", count.saturating_mul(12), false)?));
        };
        let Some((first, bits)) = counted.get().on_gpu(nonces.py()) else {
            return Err(PyTypeError::new_err("with fault_out=, the first of CountedNonces is 12 bytes on the GPU"));
        };
        DeviceNonces::counted(self.exactly(&first, "first", 12, false)?, bits).map_err(of_runtime)
    }

    fn aads(&mut self, given: &Given<'_, 'py>, count: usize) -> PyResult<DeviceAads> {
        match (given.aads, given.aad_ranges) {
            (None, None) => Ok(DeviceAads::none()),
            (None, Some(_)) => Err(PyTypeError::new_err("aad_ranges are ranges of aads: give aads, too")),
            (Some(aads), None) => {
                let (at, bytes) = self.take(aads, "aads", false)?;
                Ok(DeviceAads::shared(at, bytes))
            }
            (Some(aads), Some(ranges)) => {
                let (at, bytes) = self.take(aads, "aads", false)?;
                match self.ranges(ranges, "aad_ranges")? {
                    (ranges, others) if others == count => Ok(DeviceAads::each(at, bytes, ranges)),
                    (_, others) => {
                        let (found, messages) = (counted(others, "range"), counted(count, "message"));
                        Err(PyValueError::new_err(format!(
                            "{found} of additional data for {messages}: give one for each"
                        )))
                    }
                }
            }
        }
    }
}

/// Puts a call on the stream of its data.
pub fn run<'py>(
    key: &LoadedKey,
    data: &Data<'_, 'py>,
    given: &Given<'_, 'py>,
    tags: &Tags<'_, 'py>,
    fault_out: Any<'_, 'py>,
) -> PyResult<()> {
    let mut call = Call::of(Access::Maps, "a GCM batch", data)?;
    let Place::Cuda(ordinal) = call.place else {
        return Err(PyTypeError::new_err(
            "fault_out= is for calls on GPU memory, and data is in host memory: leave it out",
        ));
    };
    let mut besides = Besides::new(call.place, data.stream);
    let (ranges, count) = besides.ranges(given.ranges, "ranges")?;
    let nonces = besides.nonces(given.nonces, count)?;
    let aads = besides.aads(given, count)?;
    let batch = DeviceBatch::new(count, ranges, nonces, aads).map_err(of_runtime)?;
    let tags = match *tags {
        Tags::Make { tag_out } => DeviceTags::Make { tags: besides.exactly(tag_out, "tag_out", 16 * count, true)? },
        Tags::Verify { tags, tag_bytes, verdict_out } => DeviceTags::Verify {
            expected: besides.exactly(tags, "tags", 16 * count, false)?,
            tag_bytes,
            verdicts: besides.exactly(verdict_out, "verdict_out", 4 * count, true)?,
        },
    };
    let fault = besides.exactly(fault_out, "fault_out", 8, true)?;
    let gpu = key.on_device(ordinal)?;
    besides.used_by(&mut call, |call| gpu.run_described(call, &batch, tags, fault))
}

/// Raises `ValueError` if what a call has written to `fault_out` says that its arrays were wrong: it has processed no message then.
///
/// fault: the array that the call got as `fault_out`, or a copy of it in host memory. On a GPU, this waits for the current stream.
#[pyfunction]
pub fn check_fault(fault: &Bound<'_, PyAny>) -> PyResult<()> {
    let memory = Memory::of(fault, false, "fault", None)?;
    if memory.len != 8 {
        return Err(PyValueError::new_err(format!("fault has {}: give 8", counted(memory.len, "byte"))));
    }
    let bytes: [u8; 8] = match (memory.place, memory.stream) {
        (Place::Cuda(ordinal), Some(Stream { handle, .. })) => {
            driver::read(fault.py(), ordinal, handle, memory.pointer)?
        }
        _ => memory.host().input().try_into().expect("8 bytes"),
    };
    let [code, message] = [0, 1].map(|i| u32::from_ne_bytes(bytes.as_chunks().0[i]));
    DeviceBatch::check([code, message]).map_err(of_runtime)
}
