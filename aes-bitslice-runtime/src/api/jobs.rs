//! Calls under many keys, on an engine and without a cipher.

use crate::api::engine::Engine;
use crate::base::error::Error;
use crate::base::stop::Stop;
use crate::op::batch::Results;
use crate::op::buffers::{Access, Buffers};
use crate::op::gcm_jobs::GcmJobs;
use crate::op::many_keys::{EachKey, Jobs, NAME};
use crate::op::tagging::Tagging;

/// Fails if the call was stopped, and clears its output.
fn unless_stopped(clear: impl FnOnce()) -> Result<(), Error> {
    if Stop::current().is_now() {
        clear();
        return Err(Error::Stopped);
    }
    Ok(())
}

impl Engine {
    /// Performs jobs in host memory, on the CPU cores, whatever the engine.
    ///
    /// # Errors
    /// [`Error::WrongAccess`] and [`Error::LengthMismatch`] for data other than the mode takes (key stream is written, the other modes
    /// replace data), [`Error::Jobs`] for data that is too short: nothing is changed then. [`Error::Stopped`].
    pub fn run_jobs<'d>(&self, jobs: &Jobs, data: impl Into<Buffers<'d>>) -> Result<(), Error> {
        let mut data = data.into().accessed(jobs.flow.access(), NAME)?;
        jobs.check(data.len() as u64)?;
        jobs.on_cpu(data.reborrow());
        unless_stopped(|| jobs.clear(data.output()))
    }

    /// Encrypts or decrypts messages of GCM, each under its own key, in host memory, on the CPU cores, whatever the engine.
    ///
    /// # Errors
    /// [`Error::WrongAccess`] for data that is only read or only written, [`Error::LengthMismatch`], [`Error::Batch`] for data that is too
    /// short: nothing is changed then. [`Error::Stopped`], and [`Error::OutOfHostMemory`] for the results: the output of all messages is
    /// cleared then.
    pub fn run_gcm_jobs<'d, E: Tagging<Results>>(
        &self,
        jobs: &GcmJobs<E>,
        data: impl Into<Buffers<'d>>,
    ) -> Result<E::Output, Error> {
        let mut data = data.into().accessed(Access::Maps, NAME)?;
        jobs.check(data.len() as u64)?;
        let results = jobs.on_cpu(data.reborrow());
        unless_stopped(|| jobs.clear(data.output()))?;
        let finished = jobs.finish(results);
        if finished.is_err() {
            jobs.clear(data.output());
        }
        finished
    }

    /// Processes the same number of bytes under each of `keys`, which are concatenated, in host memory, on the CPU cores, whatever the
    /// engine.
    ///
    /// # Errors
    /// [`Error::WrongAccess`] and [`Error::LengthMismatch`] for data other than the mode takes (key stream is written, the other modes
    /// replace data), [`Error::Jobs`] if the length of keys or data does not match: nothing is changed then. [`Error::Stopped`].
    pub fn run_each_key<'d>(&self, each: &EachKey, keys: &[u8], data: impl Into<Buffers<'d>>) -> Result<(), Error> {
        let mut data = data.into().accessed(each.flow.access(), NAME)?;
        each.check(keys.len() as u64, data.len() as u64)?;
        each.on_cpu(keys, data.reborrow());
        unless_stopped(|| data.output().fill(0))
    }
}
