//! A kernel on a device: its launches, and the known answer it must give first.

use super::Device;
use super::handles::{Buffer, EntryPoint, Event, call, event_of, for_buffer};
use super::pool::Slot;
use super::program::EntryPoints;
use super::round_keys::RoundKeys;
use crate::Error;
use crate::known_answer::{self, Candidate};
use crate::launches::{Argument, Between, Geometry, Launch};
use crate::work::Work;
use aes_bitslice_gen::emit::{KeySource, Manifest};
use aes_bitslice_gen::kernel::Mode;
use opencl3::types::{cl_command_queue, cl_event, cl_mem};
use opencl3::{command_queue, kernel};
use std::ffi::c_void;
use std::ptr;

/// What a key is overwritten with in the arguments of an entry point: as many words as the longest has.
static ZEROS: [u32; 61] = [0; 61];

/// A kernel on a device.
pub(super) struct Kernel {
    name: String,
    geometry: Geometry,
    keys: KeySource,
    entry_points: EntryPoints,
}

/// Where a call's data lies. Either the same range twice, or ranges that do not overlap.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) input: cl_mem,
    /// The byte of the buffer that is the first.
    pub(super) input_at: u64,
    pub(super) output: cl_mem,
    pub(super) output_at: u64,
    /// Bytes.
    pub(super) len: u64,
    /// Whether the output replaces the input.
    pub(super) in_place: bool,
    /// Whether the buffers begin at multiples of 16 bytes.
    pub(super) aligned: bool,
}

impl Span {
    /// A range of one buffer of ours, in place.
    pub(super) fn of(buffer: &Buffer, at: usize, len: usize) -> Self {
        let (buffer, at) = (buffer.raw(), at as u64);
        Self {
            input: buffer,
            input_at: at,
            output: buffer,
            output_at: at,
            len: len as u64,
            in_place: true,
            aligned: true,
        }
    }
}

impl Kernel {
    /// Compiles a kernel for a device.
    pub(super) fn compile(device: &Device, manifest: &Manifest, source: &str) -> Result<Self, Error> {
        let no_kernel = |what: String| Error::NoSuchKernel { what };
        let geometry = Geometry::new(manifest, device.info().compute_units).map_err(|e| no_kernel(e.to_string()))?;
        if manifest.shared_bytes != 0 {
            return Err(no_kernel(format!("{} is launched with memory that no OpenCL kernel has", manifest.kernel)));
        }
        let arguments = |by_bytes| argument_count(geometry.mode, by_bytes, manifest.keys);
        let entry_points = EntryPoints::compile(device, manifest, source, arguments)?;
        Ok(Self { name: manifest.kernel.clone(), geometry, keys: manifest.keys, entry_points })
    }

    pub(super) fn mode(&self) -> Mode {
        self.geometry.mode
    }

    /// Puts the work into a queue, without waiting; what tells when its commands are done is added to `events`.
    ///
    /// # Safety
    /// The span lies in buffers of the device's context, and the queue is of it too; all are valid.
    pub(super) unsafe fn run(
        &self,
        device: &Device,
        queue: cl_command_queue,
        span: Span,
        work: Work,
        keys: Option<&RoundKeys>,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        let is_aligned = |at: u64| {
            span.aligned && (span.input_at + at).is_multiple_of(16) && (span.output_at + at).is_multiple_of(16)
        };
        let launches = self.geometry.launches(work, span.len, span.in_place, is_aligned)?;
        for launch in launches.iter().flatten() {
            // SAFETY: as the caller vouches.
            unsafe { self.launch(device, queue, span, launch, keys, events) }?;
        }
        Ok(())
    }

    /// # Safety
    /// As [`Kernel::run`]; the launch is one of this kernel's for the span.
    unsafe fn launch(
        &self,
        device: &Device,
        queue: cl_command_queue,
        span: Span,
        launch: &Launch,
        keys: Option<&RoundKeys>,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        let copies = match launch.between {
            // SAFETY: as the caller vouches; the blocks lie in the span.
            Some(between) => Some(unsafe { BlocksBetween::gather(device, queue, span, between) }?),
            None => None,
        };
        let (input_at, output_at) = (span.input_at + launch.at, span.output_at + launch.at);
        let unit = if launch.by_bytes { 1 } else { 16 };
        let entry = self.entry_points.one(launch.by_bytes);
        let mut arguments = Arguments { entry: &entry, next: 0 };
        // SAFETY: the values are those of the entry point's arguments, as its source has them and were counted.
        unsafe {
            for argument in launch.arguments() {
                match argument {
                    Argument::Input => arguments.buffer(span.input, input_at / unit),
                    Argument::Output => arguments.buffer(span.output, output_at / unit),
                    Argument::Previous => match &copies {
                        Some(copies) => arguments.buffer(copies.buffer.raw(), 0),
                        // The first work-group has the IV; wrapping, for it looks nothing up here.
                        None => arguments.buffer(span.input, input_at.wrapping_sub(16)),
                    },
                    Argument::Number(number) => arguments.value(number),
                    Argument::Skip(skip) => arguments.value(skip),
                    Argument::Block(words) => arguments.value(words),
                }?;
            }
        }
        let key_at = arguments.next;
        let key_words = match (self.keys, keys) {
            (source, Some(RoundKeys::Argument(words))) if source.argument_words() == Some(words.len()) => {
                // SAFETY: as above.
                unsafe { arguments.words(words) }?;
                words.len()
            }
            (KeySource::Memory, Some(RoundKeys::Memory { planes, rounds })) => {
                // SAFETY: as above.
                unsafe { arguments.value(&planes.raw()).and_then(|()| arguments.value(rounds)) }?;
                0
            }
            (KeySource::Baked, None) => 0,
            _ => unreachable!("keys are handed to the kernels that take them"),
        };
        let threads = self.geometry.threads as usize;
        let (global, local) = ([launch.thread_blocks as usize * threads], [threads]);
        let before: Vec<cl_event> = copies.iter().map(|copies| copies.done.raw()).collect();
        let first = if before.is_empty() { ptr::null() } else { before.as_ptr() };
        // SAFETY: every argument was set, and the entry point is locked since; the caller vouches for the span and the
        // queue; the geometry is the one the kernel was compiled for; event and sizes are alive.
        let launched = unsafe {
            let (global, local) = (global.as_ptr(), local.as_ptr());
            let entry = entry.raw();
            command_queue::enqueue_nd_range_kernel(
                queue,
                entry,
                1,
                ptr::null(),
                global,
                local,
                before.len() as u32,
                first,
            )
        };
        let launched = event_of("clEnqueueNDRangeKernel", launched);
        // The launch has its own copy of the arguments: no key stays behind in the entry point.
        let wiped = match key_words {
            0 => Ok(()),
            // SAFETY: an argument of this size, as above.
            _ => unsafe { Arguments { entry: &entry, next: key_at }.words(&ZEROS[..key_words]) },
        };
        drop(entry);
        let launched = launched?;
        if let Some(RoundKeys::Memory { planes, .. }) = keys {
            planes.is_read_by(&launched);
        }
        // Whatever else failed: it is in the queue.
        events.push(launched);
        wiped
    }

    /// Runs the known-answer test through both entry points; `is_right` judges the answer.
    pub(super) fn self_test(
        &self,
        device: &Device,
        keys: Option<&RoundKeys>,
        is_right: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Error> {
        // Before the slot, which is waited for when it is dropped.
        let data = known_answer::data();
        let slot = Slot::take(device, known_answer::room())?;
        let mut candidate = UnderTest { kernel: self, keys, slot };
        known_answer::check(&self.name, self.mode(), &data, &mut candidate, is_right)
    }
}

/// How many arguments an entry point takes: a buffer comes with where the data begins.
fn argument_count(mode: Mode, by_bytes: bool, keys: KeySource) -> usize {
    let count = |argument: &Argument| match argument {
        Argument::Input | Argument::Output | Argument::Previous => 2,
        Argument::Number(_) | Argument::Skip(_) | Argument::Block(_) => 1,
    };
    let of_keys = match keys {
        KeySource::Memory => 2,
        _ => usize::from(keys.argument_words().is_some()),
    };
    Launch::example(mode, by_bytes).arguments().map(count).sum::<usize>() + of_keys
}

/// The arguments of an entry point, set one after the other.
struct Arguments<'k> {
    entry: &'k EntryPoint,
    next: u32,
}

impl Arguments<'_> {
    /// # Safety
    /// As [`bytes`](Self::bytes), twice.
    unsafe fn buffer(&mut self, buffer: cl_mem, at: u64) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        unsafe { self.value(&buffer).and_then(|()| self.value(&at)) }
    }

    /// # Safety
    /// As [`bytes`](Self::bytes).
    unsafe fn words(&mut self, words: &[u32]) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        unsafe { self.bytes(size_of_val(words), words.as_ptr().cast()) }
    }

    /// # Safety
    /// As [`bytes`](Self::bytes).
    unsafe fn value<T>(&mut self, value: &T) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        unsafe { self.bytes(size_of::<T>(), ptr::from_ref(value).cast()) }
    }

    /// # Safety
    /// The next argument is of this size, the value is one that it may have, and nobody else sets arguments meanwhile.
    unsafe fn bytes(&mut self, size: usize, value: *const c_void) -> Result<(), Error> {
        // SAFETY: as the caller vouches; the value is copied by the call.
        call("clSetKernelArg", unsafe { kernel::set_kernel_arg(self.entry.raw(), self.next, size, value) })?;
        self.next += 1;
        Ok(())
    }
}

/// Copies of the ciphertext blocks before the shares of the work-groups, that of work-group b at 16 b; there is none before
/// the first. The launch that reads them keeps the memory as long as it needs it. What was ciphertext need not be cleared.
struct BlocksBetween {
    buffer: Buffer,
    done: Event,
}

impl BlocksBetween {
    /// # Safety
    /// As [`Kernel::run`]; the span has as many shares, the last of which may be shorter.
    unsafe fn gather(
        device: &Device,
        queue: cl_command_queue,
        span: Span,
        Between { shares, share }: Between,
    ) -> Result<Self, Error> {
        let len = 16 * shares as usize;
        let buffer = device.buffer(len)?;
        // Row b ends where share b + 1 begins, which is before the span ends. The column is less than a row is long.
        let (first, row) = ((span.input_at + share - 16) as usize, share as usize);
        let (from, to) = ([first % row, first / row, 0], [16, 0, 0]);
        let region = [16, shares as usize - 1, 1];
        // SAFETY: the caller vouches for queue and span; the copies have room for all.
        let copied = unsafe {
            command_queue::enqueue_copy_buffer_rect(
                queue,
                span.input,
                buffer.raw(),
                from.as_ptr(),
                to.as_ptr(),
                region.as_ptr(),
                row,
                0,
                16,
                0,
                0,
                ptr::null(),
            )
        };
        let copied = for_buffer("clEnqueueCopyBufferRect", len, copied)?;
        // SAFETY: made by the call for us.
        Ok(Self { buffer, done: unsafe { Event::owning(copied) } })
    }
}

/// A kernel with keys and a slot to be tested in.
struct UnderTest<'a> {
    kernel: &'a Kernel,
    keys: Option<&'a RoundKeys>,
    slot: Slot<'a>,
}

impl Candidate for UnderTest<'_> {
    fn answer(&mut self, data: &[u8], from: usize, to: usize, work: Work) -> Result<Vec<u8>, Error> {
        let Self { kernel, keys, slot } = self;
        let mut answer = vec![0; data.len()];
        let span = Span { output_at: to as u64, in_place: from == to, ..Span::of(slot.buffer(), from, data.len()) };
        // SAFETY: waited for below before the answer is looked at or freed, and the data outlives the slot, which waits when
        // it is dropped; the span lies in the slot's buffer.
        let started = unsafe {
            slot.copy_in(from, data)
                .and_then(|()| {
                    slot.launch(|device, queue, events| kernel.run(device, queue, span, work, *keys, events))
                })
                .and_then(|()| slot.copy_out(to, &mut answer))
        };
        slot.wait().and(started)?;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_zeros_for_every_key() {
        let keys =
            [KeySource::Argument, KeySource::Schedule, KeySource::CipherKey, KeySource::Memory, KeySource::Baked];
        assert_eq!(keys.into_iter().filter_map(KeySource::argument_words).max(), Some(ZEROS.len()));
    }
}
