//! Calls under many keys in device memory, on the caller's stream and without waiting. The kernels expand the keys themselves.
//!
//! ```text
//! jobs             keys and tables there | round keys | all jobs | round keys and keys cleared, on a stream of their own
//! each key         one launch: each thread expands the keys of its blocks while it uses them
//! ```
//!
//! Short jobs of equal length take the second way.

use crate::backend::cuda::batch_self_test::on_device;
use crate::backend::cuda::commands::{Kernel, Span};
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_buffers::{Addresses, DeviceBuffers};
use crate::backend::cuda::device_data::{DeviceCipher, span};
use crate::backend::cuda::kernel::capture;
use crate::backend::cuda::memory::batch_memory::{BatchMemory, places};
use crate::backend::cuda::select::stored::StoredKind;
use crate::base::error::Error;
use crate::base::threads::copy;
use crate::exec::call::Call;
use crate::op::buffers::Buffers;
use crate::op::launch::{Entry, Launch, Shape, Value, counter_words};
use crate::op::many_keys::{EachKey, Flow, Job, Jobs, Tables};
use crate::op::operation::Operation;
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::jobs::run_blocks;
use aes_bitslice_core::mode::Mode;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cudarc::driver::{CudaStream, DevicePtr};
use std::ops::Range;
use std::sync::Arc;

/// The bytes under each key below which keys are expanded again for each tile of 4 KiB, rather than once into memory.
const SHORT: u64 = 512;

impl DeviceCipher<'_> {
    /// Loads the kernels of all calls under many keys, and waits for the known answers they must give, unless that was done before.
    ///
    /// # Errors
    /// [`Error::SelfTestFailed`], [`Error::NoSuchKernel`], and any error the driver reports.
    pub fn prepare_many_keys(&self) -> Result<(), Error> {
        let device = self.device();
        device.enter()?;
        device.prepare_jobs(Direction::Decrypt)?;
        // Those of encryption, too.
        device.prepare_gcm_jobs()
    }

    /// Does the same number of bytes under each of `keys`, which are contiguous in device memory, on `data`: `&mut data` in place, or into it
    /// where the mode only writes; or from an input to an output of the same length, `(&input, &mut output)`. No key of the cipher is used.
    /// Keys are expanded in constant time, on the device. They stay as they are; the caller clears them. It is one launch, which may be
    /// captured into a graph once [`prepare_many_keys`](Self::prepare_many_keys) was called.
    ///
    /// # Errors
    /// [`Error::Jobs`] for keys or data of the wrong length, and for keys that are not at a multiple of four bytes; [`Error::LengthMismatch`],
    /// [`Error::WrongAccess`] for input and output of key stream, [`Error::OtherContext`], and any error the driver reports.
    pub fn run_each_key<K: DevicePtr<u8>>(
        &self,
        stream: &CudaStream,
        each: &EachKey,
        keys: &K,
        data: impl DeviceBuffers,
    ) -> Result<(), Error> {
        self.own(&[stream, keys.stream()])?;
        self.with_data(stream, data, (each.flow.access(), Jobs::NAME), |Addresses { input, output, len }| {
            let bytes_of_keys = keys.len() as u64;
            let (keys, _read) = keys.device_ptr(stream);
            // SAFETY: all buffers are borrowed for the call, and ordered on the stream by their guards.
            unsafe { self.run_each_key_raw(stream.cu_stream(), each, keys, bytes_of_keys, input, output, len) }
        })
    }

    /// Does the same number of bytes under each key on raw device pointers and a raw stream. There are `bytes_of_keys` bytes of keys at
    /// `keys`, and `len` bytes of data; `input` may equal `output`. Key stream ignores `input`, which may be 0. The keys stay as they are.
    ///
    /// # Safety
    /// `input` and `output`, as far as the mode reads and writes them, point to `len` bytes, and `keys` to `bytes_of_keys` bytes of memory
    /// that this device can reach, live until the work is done. The keys do not overlap the output. `stream` is live and belongs to the
    /// engine's context.
    ///
    /// # Errors
    /// [`Error::Jobs`] for keys or data of the wrong length, and for keys that are not at a multiple of four bytes; [`Error::Overlap`] if
    /// input and output overlap without being equal, and any error the driver reports.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn run_each_key_raw(
        &self,
        stream: CUstream,
        each: &EachKey,
        keys: CUdeviceptr,
        bytes_of_keys: u64,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
    ) -> Result<(), Error> {
        each.check(bytes_of_keys, len)?;
        if !keys.is_multiple_of(4) {
            return Err(Error::Jobs { what: "the keys do not begin at a multiple of four bytes".into() });
        }
        let span = span(each.flow.access(), input, output, len)?;
        if len == 0 {
            return Ok(());
        }
        let device = self.device();
        device.enter()?;
        // SAFETY: the caller guarantees a live stream of this context.
        let in_capture = unsafe { capture::is_in_capture(device.context(), stream) }?;
        if !in_capture {
            device.prepare_jobs(each.flow.mode().direction())?;
        }
        let kernel = device.kernel_of_jobs(each.flow)?;
        // SAFETY: the caller guarantees a live stream of this context.
        unsafe { capture::keep(device.context(), stream, &kernel) }?;
        // SAFETY: the caller guarantees stream and memory.
        unsafe { launch_each(&kernel, stream, span, each, keys) }
    }
}

impl Device {
    /// Loads and tests the kernel of one direction, unless that was done before. It was entered on this thread.
    pub(super) fn prepare_jobs(self: &Arc<Self>, direction: Direction) -> Result<(), Error> {
        self.test_batch(Mode::ecb(direction), Entry::Jobs, || test(self, direction))
    }

    /// The kernel of ECB in the direction in which the cipher runs: counters are data.
    pub(super) fn kernel_of_jobs(&self, flow: Flow) -> Result<Kernel, Error> {
        let kernel = self.kernel(Mode::ecb(flow.mode().direction()), StoredKind::Planes)?;
        kernel.ok_or_else(|| Error::NoSuchKernel { what: "there is none for many keys on this device".into() })
    }

    /// # Safety
    /// The span is within memory that this device can reach, live until the work is done; the jobs are within the span; `stream` is live
    /// and belongs to the context.
    pub(super) unsafe fn launch_jobs(&self, stream: CUstream, span: Span, jobs: &Jobs) -> Result<BatchMemory, Error> {
        let kernel = self.kernel_of_jobs(jobs.flow)?;
        let each = jobs.as_each_key(SHORT).filter(|_| span.len / 16 <= u32::MAX.into());
        let tables = if each.is_some() { None } else { Some(jobs.tables()?) };
        let parts: [&[u8]; 4] = match tables {
            Some(tables) => {
                [tables.jobs.as_flattened(), tables.runs.as_flattened(), jobs.counters.as_flattened(), &jobs.keys]
            }
            None => [&[], &[], &[], &jobs.keys],
        };
        let bytes_of_round_keys = tables.map_or(0, |_| 16 * (jobs.bits.rounds() + 1) * jobs.len());
        let mut next = places();
        let described = parts.map(|part| next(part.len()));
        let (round_keys, [of_jobs, of_runs, counters, keys]) = (next(bytes_of_round_keys), &described);
        let mut memory = self.batch_memories.take(keys.end, round_keys.end)?;
        copy(memory.pinned().get_disjoint_mut(described.clone()).expect("apart").into_iter().zip(parts));
        // SAFETY: as the caller vouches, here and below.
        unsafe {
            memory.run(stream, keys.end, 0..0, keys.start..round_keys.end, |begin| {
                let at = |range: &Range<usize>| begin + range.start as u64;
                let Some(tables) = tables else {
                    let each = each.expect("one of both");
                    let span = span.part(0, each.bytes * jobs.len() as u64);
                    return launch_each(&kernel, stream, span, &each, at(keys));
                };
                let memory = [of_jobs, of_runs, counters, keys, &round_keys].map(at);
                expand_and_run(&kernel, stream, span, jobs, tables, memory)
            })?;
        }
        Ok(memory)
    }
}

/// Tests the known answers that a kernel must give before its first use: jobs, equal shares and equal jobs, in each mode and with keys of
/// each length.
fn test(device: &Arc<Device>, direction: Direction) -> Result<(), Error> {
    const BYTES: usize = 12_000;
    let cipher = DeviceCipher::without_key(device);
    let data: Vec<u8> = (0..BYTES as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
    let keys: [[u8; 32]; 9] = std::array::from_fn(|n| std::array::from_fn(|i| (i * 5 + n * 37 + 1) as u8));
    let begins = [0, 16, 16 + 512, 1040, 1040, 3040, 3072, 3088, 7184, 11_984];
    let modes = match direction {
        Direction::Encrypt => [Mode::Ctr, Mode::Keystream, Mode::EcbEncrypt],
        Direction::Decrypt => [Mode::EcbDecrypt; 3],
    };
    for (mode, bits) in modes.into_iter().zip(KeyBits::ALL) {
        let key = |n: usize| &keys[n][..bits.bytes()];
        let counter = |n: usize| (u128::MAX - 4 * n as u128).to_be_bytes();
        let range = |n: usize| begins[n]..begins[n + 1];
        let listed: [_; 9] = std::array::from_fn(|n| Job { key: key(n), counter: counter(n), range: range(n) });
        let range = |n: usize| 48 * n as u64..48 * (n as u64 + 1);
        let equal: [_; 9] = std::array::from_fn(|n| Job { key: key(n), counter: counter(1), range: range(n) });
        let range = |n: usize| 1050 * n as u64..1050 * n as u64 + 1040;
        let spaced: [_; 9] = std::array::from_fn(|n| Job { key: key(n), counter: counter(n), range: range(n) });
        for jobs in [&listed, &equal, &spaced] {
            let call = Call::without_data(&cipher, Jobs::new(mode, jobs)?)?;
            let mut expected = data.clone();
            call.operation().on_cores(Buffers::InPlace(&mut expected));
            if on_device(&cipher, &call, &data)?.0 != expected {
                let kernel = format!("{}, for many keys,", device.kernel_of_jobs(call.operation().flow)?.name());
                return Err(Error::SelfTestFailed { kernel });
            }
        }
    }
    Ok(())
}

/// Entry points take an input, which they do not read when they make key stream.
fn both(span: Span) -> Span {
    Span::between(span.input.or(span.output), span.output, span.len)
}

/// Puts the expansion of the keys of jobs, and the jobs, on a stream. `places`: where their tables, those of runs, counters, keys and round keys
/// are.
///
/// # Safety
/// The span and the places are in memory of the device that is live until the work is done, and have all jobs; the stream is live.
pub(super) unsafe fn expand_and_run(
    kernel: &Kernel,
    stream: CUstream,
    span: Span,
    jobs: &Jobs,
    tables: &Tables,
    places: [CUdeviceptr; 5],
) -> Result<(), Error> {
    let (all, [of_jobs, of_runs, counters, keys, round_keys]) = (jobs.len() as u64, places);
    let values = values_of_expansion(jobs.bits, all as u32, keys, round_keys);
    // SAFETY: as the caller vouches, here and below.
    unsafe {
        kernel.run(&mut { stream }, span, None, |shape| {
            Ok(vec![launch_of_own_keys(shape, kernel, Entry::Expand, all, values)])
        })?;
        let values = values_of_jobs(jobs, tables, [of_jobs, of_runs, counters, round_keys]);
        kernel.run(&mut { stream }, both(span), None, |shape| {
            let blocks = tables.all_runs * run_blocks(tables.wide);
            Ok(shape.launch(Entry::Jobs, 0, blocks, values)?.into_iter().collect())
        })
    }
}

/// Puts equal shares under each key on a stream.
///
/// # Safety
/// The span and the keys are in memory of the device that is live until the work is done; the stream is live.
pub(super) unsafe fn launch_each(
    kernel: &Kernel,
    stream: CUstream,
    span: Span,
    each: &EachKey,
    keys: CUdeviceptr,
) -> Result<(), Error> {
    let blocks = span.len / 16;
    let values = values_of_each(each, blocks as u32, keys);
    // SAFETY: as the caller vouches.
    unsafe {
        kernel.run(&mut { stream }, both(span), None, |shape| {
            Ok(vec![launch_of_own_keys(shape, kernel, Entry::Each, blocks, values)])
        })
    }
}

type Values = Vec<(Argument, Value)>;

fn values_of_each(each: &EachKey, blocks: u32, keys: CUdeviceptr) -> Values {
    vec![
        (Argument::Blocks, Value::U32(blocks)),
        (Argument::Each, Value::U32((each.bytes / 16) as u32)),
        (Argument::CipherKeys, Value::Address(keys)),
        (Argument::KeyWords, key_words(each.bits)),
        (Argument::Counter, Value::Words(counter_words(each.counter))),
        (Argument::Counts, Value::U32(each.flow.counts().into())),
        (Argument::Adds, Value::U32(each.flow.adds().into())),
    ]
}

fn values_of_expansion(bits: KeyBits, all: u32, keys: CUdeviceptr, round_keys: CUdeviceptr) -> Values {
    vec![
        (Argument::CipherKeys, Value::Address(keys)),
        (Argument::All, Value::U32(all)),
        (Argument::KeyWords, key_words(bits)),
        (Argument::RoundKeys, Value::Address(round_keys)),
    ]
}

/// `places`: where the tables of jobs and of runs, counters and round keys are.
fn values_of_jobs(jobs: &Jobs, tables: &Tables, places: [CUdeviceptr; 4]) -> Values {
    let [of_jobs, of_runs, counters, round_keys] = places.map(Value::Address);
    vec![
        (Argument::Jobs, of_jobs),
        (Argument::Runs, of_runs),
        (Argument::Stride, Value::U64(jobs.ranges.stride())),
        (Argument::All, Value::U32(tables.all_runs as u32)),
        (Argument::Wide, Value::U32(tables.wide)),
        (Argument::Counters, counters),
        (Argument::RoundKeys, round_keys),
        (Argument::KeyWords, key_words(jobs.bits)),
        (Argument::Counts, Value::U32(jobs.flow.counts().into())),
        (Argument::Adds, Value::U32(jobs.flow.adds().into())),
    ]
}

fn key_words(bits: KeyBits) -> Value {
    Value::U32(bits.bytes() as u32 / 4)
}

/// The launch of an entry point whose threads expand keys, on `lanes` blocks or keys: as many thread blocks on a multiprocessor as fit in
/// its shared memory and registers.
fn launch_of_own_keys(shape: &Shape<'_>, kernel: &Kernel, entry: Entry, lanes: u64, values: Values) -> Launch {
    let geometry = shape.geometry;
    let threads = kernel.threads_of_own_keys();
    let grid = Grid::Warps { each: (geometry.threads / threads).max(1), least: 1 };
    let size = grid.size(lanes.div_ceil(geometry.tile_blocks.into()), geometry.multiprocessors, threads);
    Launch { entry, at: 0, thread_blocks: size.thread_blocks as u32, threads: size.threads, values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::kernel::binding::tests::all_are_found;
    use crate::backend::cuda::select::stored::Stored;

    #[test]
    fn the_stored_kernel_finds_its_arguments() {
        let stored = Stored::for_device(48 << 10);
        let each = EachKey::new(Mode::Ctr, KeyBits::Aes192, [7; 16], 32).unwrap();
        let jobs = Jobs::new(Mode::Ctr, &[Job { key: &[7; 16], ..Job::default() }]).unwrap();
        for mode in [Mode::EcbEncrypt, Mode::EcbDecrypt] {
            let manifest = &stored.find(mode, StoredKind::Planes).unwrap().manifest;
            for (entry, values) in [
                (Entry::Each, values_of_each(&each, 6, 4096)),
                (Entry::Expand, values_of_expansion(KeyBits::Aes256, 6, 4096, 8192)),
                (Entry::Jobs, values_of_jobs(&jobs, jobs.tables().unwrap(), [16, 32, 48, 64])),
            ] {
                let launch = Launch { entry, at: 0, thread_blocks: 1, threads: manifest.threads, values };
                all_are_found(manifest, &launch, Span::between(Some(1 << 32), Some(1 << 33), 96), None);
            }
        }
    }
}
