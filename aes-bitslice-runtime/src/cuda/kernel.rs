//! A kernel on a device: how it is loaded and launched, and the known answer it must give first.

use super::device::make_current;
use super::image::Image;
use super::pool::Slot;
use super::round_keys::RoundKeys;
use super::{Choice, Device, Runs, driver};
use crate::Error;
use aes_bitslice_gen::emit::{Grid, KeySource, Manifest};
use aes_bitslice_gen::kernel::{Mode, self_test};
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
    mode: Mode,
    threads: u32,
    /// Blocks of 16 bytes that a thread block works on at a time.
    blocks_at_a_time: u32,
    shared_bytes: u32,
    grid: Grid,
    /// CTR: whether thread blocks begin where the counter is a multiple of what they work on at a time.
    aligned_counters: bool,
    multiprocessors: u32,
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
        let mode = manifest.mode().map_err(|e| no_kernel(e.to_string()))?;
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
            mode,
            threads: manifest.threads,
            blocks_at_a_time: manifest.blocks,
            shared_bytes: manifest.shared_bytes,
            grid: manifest.grid,
            aligned_counters: manifest.aligned_counters,
            multiprocessors: device.multiprocessors(),
            keys: manifest.keys,
            blocks,
            bytes,
            _module: Arc::new(module),
        })
    }

    /// The same kernel over as many thread blocks as a choice says, where that is for kernels of its kind.
    pub(super) fn laid_out(self: Arc<Self>, choice: Choice) -> Arc<Self> {
        let grid = match (choice, self.grid) {
            (Choice::Bitsliced { runs: Some(Runs { most, left }) }, Grid::Shares { .. }) => Grid::Shares { most, left },
            _ => return self,
        };
        Arc::new(Self { grid, ..(*self).clone() })
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
        self.mode
    }

    /// ECB over whole blocks, on a stream, without waiting.
    ///
    /// # Safety
    /// The span lies in memory of the device that is live until the work is done, and the stream is live.
    pub(super) unsafe fn ecb(
        &self,
        device: &Device,
        stream: CUstream,
        span: Span,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        let blocks = span.len / 16;
        let (mut input, mut output, mut count) = (span.input, span.output, blocks);
        let arguments =
            [ptr::from_mut(&mut input).cast(), ptr::from_mut(&mut output).cast(), ptr::from_mut(&mut count).cast()];
        // SAFETY: the arguments are those of the entry point; the caller vouches for the span.
        unsafe { self.launch(device, self.function_for(span), stream, blocks, 0, &arguments, keys) }
    }

    /// CTR from `skip` (< 16) bytes into the key stream block of `counter` on, on a stream, without waiting.
    ///
    /// # Safety
    /// As [`Kernel::ecb`].
    pub(super) unsafe fn ctr(
        &self,
        device: &Device,
        stream: CUstream,
        span: Span,
        counter: u128,
        skip: usize,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        // Whole blocks of key stream that meet aligned data go the fast way: what comes before them, and after.
        let head = ((16 - skip as u64) % 16).min(span.len);
        let whole = span.len - head;
        let body = span.part(head, if span.part(head, 0).is_aligned() { whole - whole % 16 } else { 0 });
        let body_counter = counter.wrapping_add(u128::from(skip > 0));
        // SAFETY: parts of the span that the caller vouches for.
        unsafe {
            if body.len == 0 {
                return self.ctr_bytes(device, stream, span, counter, skip, keys);
            }
            self.ctr_bytes(device, stream, span.part(0, head), counter, skip, keys)?;
            self.ctr_blocks(device, stream, body, body_counter, keys)?;
            let done = head + body.len;
            let tail_counter = body_counter.wrapping_add(u128::from(body.len / 16));
            self.ctr_bytes(device, stream, span.part(done, span.len - done), tail_counter, 0, keys)
        }
    }

    /// # Safety
    /// As [`Kernel::ecb`]; the span is aligned.
    unsafe fn ctr_blocks(
        &self,
        device: &Device,
        stream: CUstream,
        span: Span,
        counter: u128,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        let skipped = self.skipped(counter);
        let (mut input, mut output, mut blocks, mut counter) =
            (span.input, span.output, span.len / 16, counter_words(counter));
        let arguments = [
            ptr::from_mut(&mut input).cast(),
            ptr::from_mut(&mut output).cast(),
            ptr::from_mut(&mut blocks).cast(),
            ptr::from_mut(&mut counter).cast(),
        ];
        // SAFETY: the arguments are those of the entry point; the caller vouches for the span.
        unsafe { self.launch(device, self.blocks, stream, span.len / 16, skipped, &arguments, keys) }
    }

    /// # Safety
    /// As [`Kernel::ecb`].
    unsafe fn ctr_bytes(
        &self,
        device: &Device,
        stream: CUstream,
        span: Span,
        counter: u128,
        skip: usize,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        let blocks = (span.len + skip as u64).div_ceil(16);
        let skipped = self.skipped(counter);
        let (mut input, mut output, mut len, mut skip, mut counter) =
            (span.input, span.output, span.len, skip as u32, counter_words(counter));
        let arguments = [
            ptr::from_mut(&mut input).cast(),
            ptr::from_mut(&mut output).cast(),
            ptr::from_mut(&mut len).cast(),
            ptr::from_mut(&mut skip).cast(),
            ptr::from_mut(&mut counter).cast(),
        ];
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the arguments are those of the entry point; the caller vouches for the span.
        unsafe { self.launch(device, self.bytes, stream, blocks, skipped, &arguments, keys) }
    }

    /// Where in the share of the first thread block the counter lies.
    fn skipped(&self, counter: u128) -> u32 {
        if self.aligned_counters { counter as u32 % self.blocks_at_a_time } else { 0 }
    }

    /// The entry point for a span of whole blocks.
    pub(super) fn function_for(&self, span: Span) -> CUfunction {
        if span.is_aligned() { self.blocks } else { self.bytes }
    }

    /// How many thread blocks share so many blocks (not none) of 16 bytes, and the bytes of each one's share; the last may
    /// be shorter.
    pub(super) fn shares(&self, blocks: u64) -> (u64, u64) {
        let thread_blocks = self.thread_blocks(blocks);
        let runs = blocks.div_ceil(self.blocks_at_a_time.into());
        (thread_blocks, 16 * u64::from(self.blocks_at_a_time) * runs.div_ceil(thread_blocks))
    }

    /// How many runs the share of a thread block has, of so many blocks (not none) of 16 bytes.
    pub(super) fn runs(&self, blocks: u64) -> u64 {
        self.shares(blocks).1 / (16 * u64::from(self.blocks_at_a_time))
    }

    /// How many thread blocks so many blocks of 16 bytes are for.
    fn thread_blocks(&self, blocks: u64) -> u64 {
        self.grid.thread_blocks(blocks.div_ceil(self.blocks_at_a_time.into()), self.multiprocessors)
    }

    /// # Safety
    /// The arguments are those of the function but for the round keys, and point to live values.
    #[allow(clippy::too_many_arguments)]
    pub(super) unsafe fn launch(
        &self,
        device: &Device,
        function: CUfunction,
        stream: CUstream,
        blocks: u64,
        skipped: u32,
        arguments: &[*mut c_void],
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        if blocks == 0 {
            return Ok(());
        }
        let grid = self.thread_blocks(blocks + u64::from(skipped));
        // 2^31 - 1 thread blocks take 32 TiB or more: no device has that, but a length may say so.
        let too_long = || Error::OutOfDeviceMemory { what: format!("{blocks} blocks of 16 bytes") };
        let grid = u32::try_from(grid).ok().filter(|&g| g <= i32::MAX as u32).ok_or_else(too_long)?;
        let mut all = arguments.to_vec();
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
        // SAFETY: as the caller vouches; the geometry is the one the kernel was compiled for.
        let launched = unsafe {
            result::launch_kernel(function, (grid, 1, 1), (self.threads, 1, 1), self.shared_bytes, stream, &mut all)
        };
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
        let data = self_test::input();
        let room = data.len() + 16;
        let mut slot = Slot::take(device, 2 * room)?;
        // In place and not; aligned, then one byte off, which takes the other entry point.
        for (from, to) in [(0, 0), (1, 1), (0, room), (1, room + 1)] {
            // SAFETY: waited for below, or when the slot is dropped; the data outlives it.
            unsafe { slot.copy_in(from, &data) }?;
            let at = |offset: usize| slot.buffer() + offset as u64;
            let span = Span { input: at(from), output: at(to), len: data.len() as u64 };
            let stream = slot.stream();
            // SAFETY: the span lies in the slot's buffer, which is waited for below.
            unsafe {
                match self.mode {
                    Mode::EcbEncrypt | Mode::EcbDecrypt => self.ecb(device, stream, span, keys)?,
                    Mode::Ctr => self.ctr(device, stream, span, self_test::COUNTER, 0, keys)?,
                    Mode::CbcDecrypt => self.cbc_decrypt(device, stream, span, self_test::COUNTER, keys)?,
                }
            }
            let mut answer = vec![0; data.len()];
            // SAFETY: waited for before it is looked at, and before it is freed.
            let copied = unsafe { slot.copy_out(to, &mut answer) };
            slot.wait().and(copied)?;
            if !is_right(&answer) {
                return Err(Error::SelfTestFailed { kernel: self.name.clone() });
            }
        }
        Ok(())
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

/// A counter as the kernels take it: least significant word first.
fn counter_words(counter: u128) -> [u32; 4] {
    std::array::from_fn(|i| (counter >> (32 * i)) as u32)
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
    // Input, output, and blocks or bytes.
    let mut sizes = vec![8; 3];
    match mode {
        Mode::EcbEncrypt | Mode::EcbDecrypt => {}
        // How many bytes to skip, then the counter.
        Mode::Ctr => sizes.extend(by_bytes.then_some(4).into_iter().chain([size_of::<[u32; 4]>()])),
        // Where the blocks before shares are, how far apart, and the IV.
        Mode::CbcDecrypt => sizes.extend([8, 8, size_of::<[u32; 4]>()]),
    }
    match keys.argument_words() {
        Some(words) => sizes.push(4 * words),
        // Where they are, and the rounds.
        None if keys == KeySource::Memory => sizes.extend([8, 4]),
        None => {}
    }
    sizes
}
