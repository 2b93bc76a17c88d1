//! The result of a call besides the bytes that it writes, as Python gets it: at once, or when a GPU stream has reached it.

use crate::batch::all_authentic;
use crate::buffer::bytes;
use crate::driver::keeping_context;
use crate::error::{Error, guarded, of_runtime};
use crate::fork::ForkedNot;
use aes_bitslice_runtime::cuda::Pending;
use aes_bitslice_runtime::{Error as Runtime, OpenedBatch, Operation, Tag};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex};

/// The result of an operation.
pub enum Outcome<O: Operation> {
    /// Available now.
    Now(O::Output),
    /// Available later.
    Later(Pending<O>),
}

/// The result of an operation, as Python gets it.
pub trait Given: Send + Sized + 'static {
    /// The result of `messages` messages; nothing if it is a verdict, which is waited for.
    ///
    /// # Errors
    /// `AuthenticationError`, and those of the device.
    fn given<O: Operation<Output = Self>>(
        outcome: Outcome<O>,
        py: Python<'_>,
        messages: usize,
    ) -> PyResult<Option<Bound<'_, PyAny>>>;
}

impl Given for () {
    fn given<O: Operation<Output = ()>>(
        outcome: Outcome<O>,
        py: Python<'_>,
        _messages: usize,
    ) -> PyResult<Option<Bound<'_, PyAny>>> {
        outcome.wait(py).map(|()| None)
    }
}

impl Given for OpenedBatch {
    fn given<O: Operation<Output = Self>>(
        outcome: Outcome<O>,
        py: Python<'_>,
        messages: usize,
    ) -> PyResult<Option<Bound<'_, PyAny>>> {
        all_authentic(py, outcome.wait(py)?.failed(), messages).map(|()| None)
    }
}

impl<T: Tags + Send + 'static> Given for T {
    fn given<O: Operation<Output = Self>>(
        outcome: Outcome<O>,
        py: Python<'_>,
        _messages: usize,
    ) -> PyResult<Option<Bound<'_, PyAny>>> {
        outcome.tags(py).map(Some)
    }
}

/// A tag, or the tags of many messages.
pub trait Tags {
    /// The contiguous bytes of the tags.
    fn side_by_side(self) -> Vec<u8>;
}

impl Tags for Tag {
    fn side_by_side(self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl Tags for Vec<[u8; 16]> {
    fn side_by_side(self) -> Vec<u8> {
        self.into_flattened()
    }
}

impl<O: Operation> Outcome<O> {
    /// Waits for the result.
    fn wait(self, py: Python<'_>) -> PyResult<O::Output> {
        match self {
            Self::Now(output) => Ok(output),
            Self::Later(pending) => py.detach(|| pending.wait()).map_err(of_runtime),
        }
    }
}

impl<O: Operation<Output: Tags>> Outcome<O> {
    /// Tags as the caller gets them: `bytes`, or a `DeviceTag` that waits for them.
    fn tags(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Now(tags) => Ok(bytes(py, &tags.side_by_side())?.into_any()),
            Self::Later(pending) => {
                let pending = ForkedNot::new(pending, true);
                let wait: Waiting =
                    Box::new(|| keeping_context(|| pending.into_inner().wait()).map(|tags| tags.side_by_side()));
                Ok(Bound::new(py, DeviceTag { state: Mutex::new(State::Waiting(Some(wait))) })?.into_any())
            }
        }
    }
}

/// Waits for tags on a GPU.
type Waiting = Box<dyn FnOnce() -> Result<Vec<u8>, Runtime> + Send>;

/// The tag of a message in GPU memory, or the contiguous tags of a batch. `bytes(tag)` waits until the stream
/// reaches it.
#[pyclass(frozen, module = "aes_bitslice")]
pub struct DeviceTag {
    state: Mutex<State>,
}

enum State {
    Waiting(Option<Waiting>),
    There(Arc<Vec<u8>>),
}

#[pymethods]
impl DeviceTag {
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let tags = guarded(|| {
            py.detach(|| {
                let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let wait = match &mut *state {
                    State::There(tags) => return Ok(tags.clone()),
                    State::Waiting(wait) => wait.take(),
                };
                let wait = wait.ok_or_else(|| Error::new_err("the tag was lost by an earlier error"))?;
                let tags = Arc::new(wait().map_err(of_runtime)?);
                *state = State::There(tags.clone());
                Ok(tags)
            })
        })?;
        bytes(py, &tags)
    }

    fn __repr__(&self) -> &'static str {
        "DeviceTag(bytes(tag) waits for it)"
    }
}

/// Tags that the caller gave, as memory; waits for those on a GPU.
pub fn given_tags<'py>(tags: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match tags.cast::<DeviceTag>() {
        Ok(tags) => Ok(tags.get().__bytes__(tags.py())?.into_any()),
        Err(_) => Ok(tags.clone()),
    }
}
