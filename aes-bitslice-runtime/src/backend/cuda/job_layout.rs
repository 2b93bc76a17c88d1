//! Calls under many keys that are in the memory of the GPU, as counters are: where jobs are in the data goes there once, for any number of
//! calls. So nothing waits, and a graph can hold a call.
//!
//! ```text
//! layout    tables there
//! call      round keys | all jobs | round keys cleared, in memory that is allocated on the stream
//! ```

use crate::backend::cuda::commands::Kernel;
use crate::backend::cuda::described_batch::{apart, range};
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_buffers::{Addresses, DeviceBuffers};
use crate::backend::cuda::device_data::{DeviceCipher, span};
use crate::backend::cuda::kernel::capture;
use crate::backend::cuda::many_keys::expand_and_run;
use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::backend::cuda::memory::stream_memory::StreamMemory;
use crate::backend::device::driver::Driver;
use crate::backend::device::round_keys::KeyMaterial;
use crate::base::error::Error;
use crate::op::many_keys::{Jobs, refused};
use crate::op::operation::Operation;
use crate::op::ranges::Ranges;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::count::counted;
use aes_bitslice_core::mode::Mode;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cudarc::driver::{CudaStream, DevicePtr};
use std::ops::Range;
use std::sync::Arc;

/// Bytes in the memory of a GPU, such as keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceBytes {
    /// The address of the first.
    pub at: CUdeviceptr,
    /// Their number.
    pub bytes: u64,
}

impl DeviceBytes {
    /// None.
    pub const NONE: Self = Self { at: 0, bytes: 0 };

    /// Refuses another number than `each` for each of `count` jobs or messages, and an address that is null or no multiple of `multiple`.
    pub(super) fn check(&self, what: &str, count: usize, each: usize, multiple: u64) -> Result<(), Error> {
        let Self { at, bytes } = *self;
        if (count as u64).checked_mul(each as u64) != Some(bytes) {
            let bytes = counted(bytes, "byte");
            return refused(format!("{bytes} of {what} for a layout of {count}: give {each} for each"));
        }
        if bytes > 0 && at == 0 {
            return refused(format!("{what} are at address 0: give an address in GPU memory"));
        }
        if bytes > 0 && !at.is_multiple_of(multiple) {
            return refused(format!("{what} do not begin at a multiple of {multiple} bytes"));
        }
        Ok(())
    }

    /// Their address as the argument of a kernel, which is one in this memory even if there are none.
    pub(super) fn address_or(&self, memory: CUdeviceptr) -> CUdeviceptr {
        if self.bytes == 0 { memory } else { self.at }
    }

    pub(super) fn range(&self) -> Range<u64> {
        range(self.at, self.bytes)
    }

    /// Those of a slice. Its guard has ordered it on the stream.
    pub(super) fn of<T>(slice: &impl DevicePtr<T>, stream: &CudaStream) -> Self {
        Self { at: slice.device_ptr(stream).0, bytes: (slice.len() * size_of::<T>()) as u64 }
    }
}

/// Where jobs are in data in the memory of a GPU, for calls whose keys and counters are there, too: for keys that were derived there, and for
/// graphs, which are launched again with other keys, counters and data in the same place.
///
/// ```no_run
/// use aes_bitslice_runtime::{Backend, Engine, KeyBits, Mode, Ranges};
///
/// let engine = Engine::open(Backend::Cuda { ordinal: 0 })?;
/// let stream = engine.cuda_context()?.new_stream()?;
/// let layout = engine.under_own_keys().device()?.job_layout(Mode::Ctr, KeyBits::Aes256, &Ranges::equal(1000, 4096))?;
/// let keys = stream.alloc_zeros::<u8>(1000 * 32)?; // written by a kernel of yours
/// let counters = stream.alloc_zeros::<u8>(1000 * 16)?;
/// let mut data = stream.alloc_zeros::<u8>(1000 * 4096)?;
/// layout.run(&stream, &keys, Some(&counters), &mut data)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Calls return when the work is on the stream, and wait for nothing. The caller's keys are read, in constant time, and stay as they are; round
/// keys are in memory from the pool of the stream, and cleared there after the work. A stream may be captured into a graph, which shares
/// ownership of what the layout has on the device. Dropping the last owner waits for everything on the device: make a layout before a capture
/// begins, and keep it until the capture ends.
pub struct JobLayout {
    device: Arc<Device>,
    jobs: Jobs,
    kernel: Kernel,
    /// The table of jobs, then that of runs.
    tables: Arc<KeyMemory>,
}

impl DeviceCipher<'_> {
    /// Describes jobs to the GPU, at ascending ranges of data that do not overlap, each with a key of `bits` bits; in the mode [`Mode::Ctr`],
    /// [`Mode::EcbEncrypt`], [`Mode::EcbDecrypt`] or [`Mode::Keystream`]. The kernels are loaded and tested, unless that was done before.
    ///
    /// # Errors
    /// [`Error::Jobs`] for what [`Jobs::new`] refuses, [`Error::SelfTestFailed`], [`Error::NoSuchKernel`], and any error the driver reports.
    pub fn job_layout(&self, mode: Mode, bits: KeyBits, ranges: &Ranges<'_>) -> Result<JobLayout, Error> {
        let (jobs, device) = (Jobs::laid_out(mode, bits, ranges)?, self.device());
        device.enter()?;
        device.prepare_jobs(mode.direction())?;
        let kernel = device.kernel_of_jobs(jobs.flow)?;
        let tables = jobs.tables()?;
        let tables = [tables.jobs.as_flattened(), tables.runs.as_flattened()].concat();
        Ok(JobLayout { kernel, tables: on_device(device, &tables)?, device: device.clone(), jobs })
    }
}

/// A description in the memory of a device, which was entered on this thread: whole words.
pub(super) fn on_device(device: &Device, bytes: &[u8]) -> Result<Arc<KeyMemory>, Error> {
    let mut words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
    // There is no memory of no bytes.
    words.push(0);
    Ok(Arc::new(device.context().key_memory(&words)?))
}

impl JobLayout {
    /// The number of jobs.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does the jobs on `data`: `&mut data` in place, or into it where the mode only writes; or from an input to an output of the same length,
    /// `(&input, &mut output)`. There is a key for each job, contiguous; and a first counter block of 16 bytes, unless the mode is ECB. **Two
    /// jobs with equal keys must not have a counter in common**, in one call or in several.
    ///
    /// # Errors
    /// [`Error::OtherContext`], [`Error::LengthMismatch`], [`Error::WrongAccess`] for input and output of key stream, and those of
    /// [`run_raw`](Self::run_raw).
    pub fn run<K: DevicePtr<u8>>(
        &self,
        stream: &CudaStream,
        keys: &K,
        counters: Option<&K>,
        data: impl DeviceBuffers,
    ) -> Result<(), Error> {
        let own = DeviceCipher::without_key(&self.device);
        own.own(&[stream, keys.stream()])?;
        counters.map_or(Ok(()), |counters| own.own(&[counters.stream()]))?;
        let access = self.jobs.flow.access();
        own.with_data(stream, data, (access, Jobs::NAME), |Addresses { input, output, len }| {
            let (_keys, _counters) = (keys.device_ptr(stream), counters.map(|counters| counters.device_ptr(stream)));
            let secret = DeviceBytes::of(keys, stream);
            let first = counters.map_or(DeviceBytes::NONE, |counters| DeviceBytes::of(counters, stream));
            // SAFETY: the buffers are borrowed for the call, and ordered on the stream by their guards.
            unsafe { self.run_raw(stream.cu_stream(), secret, first, input, output, len) }
        })
    }

    /// Does the jobs ([`run`](Self::run)) on raw device pointers and a raw stream; `input` may equal `output`, and `len` is the number of bytes of
    /// each. Key stream ignores `input`, which may be 0; ECB has no counters: [`DeviceBytes::NONE`].
    ///
    /// # Safety
    /// `input` and `output`, as far as the mode reads and writes them, point to `len` bytes, and keys and counters are in memory that this
    /// device can reach, live until the work is done; `stream` is live and belongs to the engine's context.
    ///
    /// # Errors
    /// [`Error::Jobs`] for another number of bytes of keys or counters than the jobs need, for null, for keys that are not at a multiple of 4
    /// bytes or counters that are not at one of 16, and for a range that ends after the data; [`Error::Overlap`] if keys or counters overlap
    /// the output, or input and output overlap without being equal; and any error the driver reports.
    pub unsafe fn run_raw(
        &self,
        stream: CUstream,
        keys: DeviceBytes,
        counters: DeviceBytes,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
    ) -> Result<(), Error> {
        let Self { device, jobs, kernel, tables } = self;
        let span = span(jobs.flow.access(), input, output, len)?;
        jobs.check(len)?;
        keys.check("keys", jobs.len(), jobs.bits.bytes(), 4)?;
        counters.check("counters", jobs.len(), if jobs.flow.counts() { 16 } else { 0 }, 16)?;
        apart(&[range(output, len)], &[keys.range(), counters.range()])?;
        device.enter()?;
        let of = jobs.tables()?;
        if of.all_runs == 0 {
            return Ok(());
        }
        let (context, bytes) = (device.context(), 16 * (jobs.bits.rounds() + 1) * jobs.len());
        let runs = tables.place() + of.jobs.as_flattened().len() as u64;
        // SAFETY: as the caller promises; the memory is freed on the stream, after the work.
        unsafe {
            capture::keep(context, stream, &(kernel.clone(), tables.clone()))?;
            StreamMemory::run(context, stream, bytes, 0..bytes, |round_keys| {
                let counters = counters.address_or(tables.place());
                expand_and_run(kernel, stream, span, jobs, of, [tables.place(), runs, counters, keys.at, round_keys])
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_refused() {
        let refused = |at, bytes| {
            let outcome = DeviceBytes { at, bytes }.check("keys", 4, 24, 4);
            outcome.err().map(|error| error.to_string())
        };
        assert_eq!(refused(4096, 96), None);
        assert!(refused(4096, 95).is_some_and(|what| what.contains("95 bytes of keys for a layout of 4: give 24")));
        assert!(refused(0, 96).is_some_and(|what| what.contains("address 0")));
        assert!(refused(4098, 96).is_some_and(|what| what.contains("multiple of 4")));
        assert!(
            DeviceBytes::NONE.check("counters", 4, 0, 16).is_ok() && DeviceBytes::NONE.check("keys", 0, 16, 4).is_ok()
        );
        assert!(DeviceBytes::NONE.check("keys", usize::MAX, 16, 4).is_err());
    }
}
