//! A call of an operation: on host memory, where it returns when it is done, or on GPU memory, on a stream, where it returns when the work is
//! on the stream.

use crate::buffer::bytes;
use crate::call::{SHORT, on_host};
use crate::dlpack::Place;
use crate::error::of_runtime;
use crate::loaded_key::LoadedKey;
use crate::memory::{self, Call, Data, Memory, Written, in_words};
use crate::outcome::{Given, Outcome};
use aes_bitslice_core::count::counted;
use aes_bitslice_runtime::{Access, Backend, Error as Runtime, GcmEncrypt, Mode, Nonce, Operation, Tag};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

type Any<'py> = Bound<'py, PyAny>;

/// An operation that is performed under a key on what the caller gave. Returns what Python gets: the output, and the value that the operation
/// returns, as far as there are both.
pub trait Run: Send + Sync {
    fn run<'py>(&self, key: &LoadedKey, given: &Data<'_, 'py>) -> PyResult<Any<'py>>;
}

/// One that returns nothing beside its data, which kernels of this mode perform, or none.
pub struct Plain<O>(pub O, pub Option<Mode>);

/// One that makes the tag of a message.
pub struct Tagged<O> {
    pub operation: O,
    /// Bytes that it processes besides its data: additional data.
    pub besides: u64,
    /// Whether it is performed in host memory alone.
    pub is_serial: bool,
}

/// GCM encryption with this additional data, whose every run makes a random nonce. Python gets the nonce before the data.
pub struct WithRandomNonce(pub Vec<u8>);

/// One that returns another value.
pub struct Valued<O> {
    pub operation: O,
    /// Bytes that it processes besides its data: additional data. For a batch, as many as there can be.
    pub besides: u64,
    /// Those of a batch.
    pub messages: Option<usize>,
}

impl<O: Operation<Output = ()>> Run for Plain<O> {
    fn run<'py>(&self, key: &LoadedKey, given: &Data<'_, 'py>) -> PyResult<Any<'py>> {
        no_tag_out(given, "is for what makes the tag of a message")?;
        let Self(operation, mode) = self;
        let call = Call::of(O::ACCESS, O::NAME, given)?;
        match (call.place, *mode) {
            (Place::Host, _) => in_host_memory(key, &call, operation, call.len)?,
            (Place::Cuda(ordinal), Some(mode)) => {
                key.on_device(ordinal)?.run(&call, mode, operation.clone())?;
                call.is_on_stream()?;
            }
            (Place::Cuda(_), None) => {
                let backend = "GPU memory".to_owned();
                return Err(of_runtime(Runtime::Unsupported { operation: O::NAME, backend }));
            }
        }
        done::<O>(&call, None)
    }
}

impl<O: Operation<Output = Tag>> Run for Tagged<O> {
    fn run<'py>(&self, key: &LoadedKey, given: &Data<'_, 'py>) -> PyResult<Any<'py>> {
        let Self { operation, besides, is_serial } = self;
        let call = Call::of(O::ACCESS, O::NAME, given)?;
        if *is_serial && call.place != Place::Host {
            memory::on_host(call.place, &format!("{} of one message", O::NAME))?;
        }
        let (Some(tag_out), Place::Cuda(ordinal)) = (given.tag_out, call.place) else {
            no_tag_out(given, "is for calls on GPU memory, and data is in host memory")?;
            return value(key, &call, operation, *besides, 1);
        };
        let tag = tag_memory(tag_out, given, &call)?;
        let written = Written::of(tag_out, &tag);
        written.iter().for_each(Written::begins);
        key.on_device(ordinal)?.run_to_tag(&call, operation.clone(), tag.pointer)?;
        call.is_on_stream()?;
        if let Some(stream) = call.stream {
            tag.is_used(tag_out, stream)?;
        }
        done::<O>(&call, None)
    }
}

impl Run for WithRandomNonce {
    fn run<'py>(&self, key: &LoadedKey, given: &Data<'_, 'py>) -> PyResult<Any<'py>> {
        let Self(aad) = self;
        let nonce = Nonce::random().map_err(of_runtime)?;
        let (operation, besides) = (GcmEncrypt::new(&nonce, aad), aad.len() as u64);
        let done = Tagged { operation, besides, is_serial: false }.run(key, given)?;
        let mut all = vec![bytes(done.py(), nonce.as_bytes())?.into_any()];
        match given.tag_out {
            Some(_) => all.push(done),
            None => all.extend(done.cast_into::<PyTuple>()?.iter()),
        }
        Ok(PyTuple::new(all[0].py(), &all)?.into_any())
    }
}

impl<O: Operation<Output: Given>> Run for Valued<O> {
    fn run<'py>(&self, key: &LoadedKey, given: &Data<'_, 'py>) -> PyResult<Any<'py>> {
        no_tag_out(given, "is for what makes the tag of a message")?;
        // A new object would have bytes between messages.
        if self.messages.is_some() && O::ACCESS == Access::Maps && given.out.is_none() {
            return Err(PyTypeError::new_err(format!(
                "{} writes its messages alone: give out=, which may be data",
                O::NAME
            )));
        }
        let call = Call::of(O::ACCESS, O::NAME, given)?;
        value(key, &call, &self.operation, self.besides, self.messages.unwrap_or(1))
    }
}

/// Runs an operation that returns a value, of this number of messages.
fn value<'py, O: Operation<Output: Given>>(
    key: &LoadedKey,
    call: &Call<'py>,
    operation: &O,
    besides: u64,
    messages: usize,
) -> PyResult<Any<'py>> {
    let outcome = match call.place {
        Place::Host => Outcome::Now(in_host_memory(key, call, operation, call.len.saturating_add(besides))?),
        Place::Cuda(ordinal) => {
            let pending = key.on_device(ordinal)?.run_with_output(call, operation.clone())?;
            call.is_on_stream()?;
            Outcome::Later(pending)
        }
    };
    let value = Given::given(outcome, call.py(), messages)?;
    done::<O>(call, value)
}

/// Runs an operation that processes this number of bytes in all.
fn in_host_memory<O: Operation>(key: &LoadedKey, call: &Call<'_>, operation: &O, bytes: u64) -> PyResult<O::Output> {
    let LoadedKey { opened, cipher, .. } = key;
    // A core does it in a moment: it does not wait for a GPU.
    let is_short = bytes <= SHORT && opened.engine.backend() == Backend::Cpu;
    let clear = |output: &mut [u8]| operation.clear(output);
    on_host(call, opened, is_short, clear, |data| cipher.run(operation.clone(), data))
}

/// What Python gets.
fn done<'py, O: Operation>(call: &Call<'py>, value: Option<Any<'py>>) -> PyResult<Any<'py>> {
    let py = call.py();
    match (O::ACCESS, value) {
        (Access::Reads, value) => Ok(value.unwrap_or_else(|| py.None().into_bound(py))),
        (_, Some(value)) => Ok((&call.result, value).into_pyobject(py)?.into_any()),
        (_, None) => Ok(call.result.clone()),
    }
}

/// Refuses a place for a tag.
fn no_tag_out(given: &Data<'_, '_>, why: &str) -> PyResult<()> {
    match given.tag_out {
        Some(_) => Err(PyTypeError::new_err(format!("tag_out= {why}: leave it out"))),
        None => Ok(()),
    }
}

/// The memory for the tag of a call.
fn tag_memory(tag_out: &Any<'_>, given: &Data<'_, '_>, call: &Call<'_>) -> PyResult<Memory> {
    let tag = Memory::of(tag_out, true, "tag_out", given.stream)?;
    if tag.place != call.place {
        let [data, tag] = [call.place, tag.place].map(in_words);
        let what = format!("data is {data} and tag_out {tag}: both have to be in the same memory");
        return Err(PyTypeError::new_err(what));
    }
    if tag.len != 16 {
        return Err(PyValueError::new_err(format!("tag_out has {}: give 16", counted(tag.len, "byte"))));
    }
    Ok(tag)
}
