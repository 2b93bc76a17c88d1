//! A kernel on a device: how it is loaded and launched, and the known answer it must give first.

use super::cbc::BlocksBetween;
use super::device::make_current;
use super::image::Image;
use super::pool::Slot;
use super::round_keys::RoundKeys;
use super::{Choice, Device, Runs, driver};
use crate::Error;
use crate::known_answer::{self, Candidate};
use crate::launches::{Argument, Geometry, Launch};
use crate::work::Work;
use aes_bitslice_gen::emit::{Grid, KeySource, Manifest};
use aes_bitslice_gen::kernel::Mode;
use cudarc::driver::sys::{self, CUdeviceptr, CUfunction, CUmodule, CUresult, CUstream};
use cudarc::driver::{CudaContext, result};
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

/// A module of the driver, unloaded on drop when everything on the device is done.
struct Module {
    context: Arc<CudaContext>,
    module: CUmodule,
}

// SAFETY: a handle, which any thread may use that has made the context its own; unloading does that.
unsafe impl Send for Module {}
// SAFETY: as above; nothing is changed after loading.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        // Nothing can be done here about an error. Launches may be in flight on streams that we do not know: wait.
        let _ = make_current(&self.context);
        let _ = result::ctx::synchronize();
        // SAFETY: loaded by us, not used after this.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

/// A kernel on a device.
#[derive(Clone)]
pub(super) struct Kernel {
    name: String,
    geometry: Geometry,
    shared_bytes: u32,
    keys: KeySource,
    blocks: CUfunction,
    bytes: CUfunction,
    _module: Arc<Module>,
}

// SAFETY: functions are handles, which any thread may use that has made the context its own; nothing is changed
// after loading.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// Where a call's data lies on the device. Either the same range twice, or ranges that do not overlap.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) input: CUdeviceptr,
    pub(super) output: CUdeviceptr,
    /// Bytes.
    pub(super) len: u64,
}

impl Span {
    /// Whether both begin at multiples of 16 bytes.
    pub(super) fn is_aligned(&self) -> bool {
        (self.input | self.output).is_multiple_of(16)
    }

    /// The part from byte `at` on, `len` bytes long.
    pub(super) fn part(&self, at: u64, len: u64) -> Self {
        Self { input: self.input + at, output: self.output + at, len }
    }
}

impl Kernel {
    pub(super) fn load(device: &Device, manifest: &Manifest, image: &Image) -> Result<Self, Error> {
        device.enter()?;
        let no_kernel = |what: String| Error::NoSuchKernel { what };
        let geometry = Geometry::new(manifest, device.multiprocessors()).map_err(|e| no_kernel(e.to_string()))?;
        let mode = geometry.mode;
        // SAFETY: the image is a cubin, or PTX with its NUL, and outlives the call.
        let module = match unsafe { result::module::load_data(image.as_ptr()) } {
            Err(e) if e.0 == CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                return Err(Error::CudaUnavailable {
                    what: format!("the NVIDIA driver is too old for the stored kernels ({})", driver::name(e)),
                    help: "update it to 580 or later, or use the backend `cpu`".into(),
                });
            }
            other => device.call("cuModuleLoadData", other)?,
        };
        let module = Module { context: device.context().clone(), module };
        let function = |entry: &str| {
            let entry = CString::new(entry).map_err(|e| no_kernel(e.to_string()))?;
            // SAFETY: the module is loaded, and is kept as long as the function.
            device.call("cuModuleGetFunction", unsafe { result::module::get_function(module.module, entry) })
        };
        let (blocks, bytes) = (function(&manifest.entry)?, function(&manifest.entry_bytes)?);
        // What is launched with other arguments than it takes reads beyond them.
        for (function, by_bytes) in [(blocks, false), (bytes, true)] {
            if parameter_sizes(function) != expected_sizes(mode, by_bytes, manifest.keys) {
                return Err(no_kernel(format!("{} takes other arguments than a kernel for {mode}", manifest.kernel)));
            }
            allow_shared_memory(device, function, manifest.shared_bytes)?;
        }
        Ok(Self {
            name: manifest.kernel.clone(),
            geometry,
            shared_bytes: manifest.shared_bytes,
            keys: manifest.keys,
            blocks,
            bytes,
            _module: Arc::new(module),
        })
    }

    /// The same kernel over as many thread blocks as a choice says, where that is for kernels of its kind.
    pub(super) fn laid_out(self: Arc<Self>, choice: Choice) -> Arc<Self> {
        let grid = match (choice, self.geometry.grid) {
            (Choice::Bitsliced { runs: Some(Runs { most, left }) }, Grid::Shares { .. }) => Grid::Shares { most, left },
            _ => return self,
        };
        Arc::new(Self { geometry: Geometry { grid, ..self.geometry }, ..(*self).clone() })
    }

    /// For multiprocessors that it shares with another kernel: all on-chip memory is shared memory, so that both fit.
    pub(super) fn share_multiprocessors(&self, device: &Device) -> Result<(), Error> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        for function in [self.blocks, self.bytes] {
            // SAFETY: the function is loaded.
            let preferred = unsafe { result::function::set_function_attribute(function, attribute, 100) };
            device.call("cuFuncSetAttribute", preferred)?;
        }
        Ok(())
    }

    pub(super) fn mode(&self) -> Mode {
        self.geometry.mode
    }

    /// How many runs the share of a thread block has, of so many blocks (not none) of 16 bytes.
    pub(super) fn runs(&self, blocks: u64) -> u64 {
        self.geometry.runs(blocks)
    }

    /// Puts the work on a stream, without waiting.
    ///
    /// # Safety
    /// The span lies in memory of the device that is live until the work is done, and the stream is live.
    pub(super) unsafe fn run(
        &self,
        device: &Device,
        stream: CUstream,
        span: Span,
        work: Work,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        let is_aligned = |at| span.part(at, 0).is_aligned();
        let launches = self.geometry.launches(work, span.len, span.input == span.output, is_aligned)?;
        launches.iter().flatten().try_for_each(|launch| {
            // SAFETY: as the caller vouches.
            unsafe { self.launch(device, stream, span, launch, keys) }
        })
    }

    /// # Safety
    /// As [`Kernel::run`]; the launch is one of this kernel's for the span.
    unsafe fn launch(
        &self,
        device: &Device,
        stream: CUstream,
        span: Span,
        launch: &Launch,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        // Freed on the stream, behind the launch.
        let copies = match launch.between {
            // SAFETY: the rows lie in the span, which the caller vouches for: the last begins before it ends.
            Some(between) => Some(unsafe { BlocksBetween::gather(device, stream, span, between) }?),
            None => None,
        };
        let (input, output) = (span.input + launch.at, span.output + launch.at);
        // The first thread block has the IV; wrapping, for it looks nothing up here.
        let previous = copies.as_ref().map_or(input.wrapping_sub(16), BlocksBetween::pointer);
        let mut all: Vec<*mut c_void> = Vec::with_capacity(8);
        all.extend(launch.arguments().map(|argument| match argument {
            Argument::Input => ptr::from_ref(&input).cast_mut().cast(),
            Argument::Output => ptr::from_ref(&output).cast_mut().cast(),
            Argument::Previous => ptr::from_ref(&previous).cast_mut().cast(),
            Argument::Number(number) => ptr::from_ref(number).cast_mut().cast(),
            Argument::Skip(skip) => ptr::from_ref(skip).cast_mut().cast(),
            Argument::Block(words) => ptr::from_ref(words).cast_mut().cast::<c_void>(),
        }));
        let mut pointer;
        match (self.keys, keys) {
            // The driver copies arguments when it is called.
            (source, Some(RoundKeys::Argument(words))) if source.argument_words() == Some(words.len()) => {
                all.push(words.as_ptr().cast_mut().cast());
            }
            (KeySource::Memory, Some(RoundKeys::Memory { planes, rounds })) => {
                pointer = planes.pointer();
                all.extend([ptr::from_mut(&mut pointer).cast(), ptr::from_ref(rounds).cast_mut().cast()]);
            }
            (KeySource::Baked, None) => {}
            _ => unreachable!("keys are handed to the kernels that take them"),
        }
        let function = if launch.by_bytes { self.bytes } else { self.blocks };
        let (grid, threads) = ((launch.thread_blocks, 1, 1), (self.geometry.threads, 1, 1));
        // SAFETY: the arguments are those of the entry point, and point to live values; the caller vouches for the span; the
        // geometry is the one the kernel was compiled for.
        let launched = unsafe { result::launch_kernel(function, grid, threads, self.shared_bytes, stream, &mut all) };
        device.call("cuLaunchKernel", launched)
    }

    /// Runs the known-answer test through both entry points; `is_right` judges the answer.
    pub(super) fn self_test(
        &self,
        device: &Device,
        keys: Option<&RoundKeys>,
        is_right: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Error> {
        device.enter()?;
        // Before the slot, which is waited for when it is dropped.
        let data = known_answer::data();
        let slot = Slot::take(device, known_answer::room())?;
        let mut candidate = UnderTest { kernel: self, device, keys, slot };
        known_answer::check(&self.name, self.mode(), &data, &mut candidate, is_right)
    }
}

/// A kernel with keys and a slot to be tested in.
struct UnderTest<'a> {
    kernel: &'a Kernel,
    device: &'a Device,
    keys: Option<&'a RoundKeys>,
    slot: Slot<'a>,
}

impl Candidate for UnderTest<'_> {
    fn answer(&mut self, data: &[u8], from: usize, to: usize, work: Work) -> Result<Vec<u8>, Error> {
        let Self { kernel, device, keys, slot } = self;
        let mut answer = vec![0; data.len()];
        let at = |offset: usize| slot.buffer() + offset as u64;
        let span = Span { input: at(from), output: at(to), len: data.len() as u64 };
        // SAFETY: waited for below before the answer is looked at or freed, and the data outlives the slot, which waits when
        // it is dropped; the span lies in the slot's buffer.
        let started = unsafe {
            slot.copy_in(from, data)
                .and_then(|()| kernel.run(device, slot.stream(), span, work, *keys))
                .and_then(|()| slot.copy_out(to, &mut answer))
        };
        slot.wait().and(started)?;
        Ok(answer)
    }
}

/// Lets a kernel have more shared memory than the 48 KiB that every kernel may have.
fn allow_shared_memory(device: &Device, function: CUfunction, bytes: u32) -> Result<(), Error> {
    if bytes == 0 {
        return Ok(());
    }
    let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function is loaded.
    let allowed = unsafe { result::function::set_function_attribute(function, attribute, bytes as i32) };
    device.call("cuFuncSetAttribute", allowed)
}

/// The sizes of an entry point's parameters, as the driver knows them.
fn parameter_sizes(function: CUfunction) -> Vec<usize> {
    let size_of = |index| {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function is loaded; both pointers are to live integers. An index past the last is an error.
        let found = unsafe { sys::cuFuncGetParamInfo(function, index, &mut offset, &mut size) };
        (found == CUresult::CUDA_SUCCESS).then_some(size)
    };
    (0..).map_while(size_of).collect()
}

/// The sizes of the parameters that an entry point is launched with.
fn expected_sizes(mode: Mode, by_bytes: bool, keys: KeySource) -> Vec<usize> {
    let size = |argument: &Argument| match argument {
        Argument::Input | Argument::Output | Argument::Previous | Argument::Number(_) => 8,
        Argument::Skip(_) => 4,
        Argument::Block(_) => 16,
    };
    let mut sizes: Vec<usize> = Launch::example(mode, by_bytes).arguments().map(size).collect();
    match keys.argument_words() {
        Some(words) => sizes.push(4 * words),
        // Where they are, and the rounds.
        None if keys == KeySource::Memory => sizes.extend([8, 4]),
        None => {}
    }
    sizes
}
