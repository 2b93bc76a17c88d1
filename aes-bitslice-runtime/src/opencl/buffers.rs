//! Data in buffers of the caller's: in the caller's queue, in place or not, without waiting.

use super::handles::{Event, number};
use super::kernel::Span;
use super::{Device, DeviceKey, DeviceMemory};
use crate::work::Work;
use crate::{Cipher, Counter, Direction, Error};
use aes_bitslice_gen::kernel::Mode;
use opencl3::command_queue::{self, CommandQueue};
use opencl3::memory::{self, Buffer, ClMem};
use opencl3::types::{cl_mem, cl_mem_info};

/// Bytes of an OpenCL buffer: of the caller's, or of [`DeviceMemory`].
#[derive(Clone, Copy)]
pub struct BufferSlice<'a> {
    memory: Memory<'a>,
    at: usize,
    len: usize,
}

/// What a slice is of.
#[derive(Clone, Copy)]
enum Memory<'a> {
    /// A buffer of the caller's.
    Callers(&'a Buffer<u8>),
    /// Memory of an engine's.
    Ours(&'a DeviceMemory),
}

impl<'a> BufferSlice<'a> {
    /// `len` bytes of a buffer of the caller's, from byte `at` on. Whether the buffer has them is found out by the call that uses them.
    pub fn new(buffer: &'a Buffer<u8>, at: usize, len: usize) -> Self {
        Self { memory: Memory::Callers(buffer), at, len }
    }

    pub(super) fn of_memory(memory: &'a DeviceMemory, at: usize, len: usize) -> Self {
        Self { memory: Memory::Ours(memory), at, len }
    }

    /// Tells memory of ours of a launch, which it has to wait for. Callers know of theirs.
    fn is_used_by(&self, launch: &Event) {
        if let Memory::Ours(memory) = self.memory {
            memory.is_used_by(launch);
        }
    }

    fn raw(&self) -> cl_mem {
        match self.memory {
            Memory::Callers(buffer) => buffer.get(),
            Memory::Ours(memory) => memory.raw(),
        }
    }
}

/// Calls of a [`Cipher`] on OpenCL buffers. The same slice twice is a call in place.
///
/// They return when the work is in the queue, not when it is done; an error on the device shows when the caller waits for
/// the queue, or for an event of `enqueue_marker_with_wait_list`. Nothing is flushed. Cipher and buffers may be dropped
/// before the queue has come to it: OpenCL keeps what it needs. What has to be cleared waits, when it is dropped, for what was
/// launched with it: [`DeviceMemory`], and the last clone of a cipher whose round keys lie in device memory, as some of
/// [`Engine::cipher_of`](crate::Engine::cipher_of) do.
///
/// Queues and buffers belong to the engine's context, [`Engine::opencl_context`](crate::Engine::opencl_context). Kernels may
/// read the input, and write the output: not what was made with `CL_MEM_WRITE_ONLY` or `CL_MEM_READ_ONLY`.
///
/// It is `Send` and `Sync`: any number of threads may use one at the same time, each with its own queue or all with one.
/// Queues may be out of order, too: what belongs together waits for one another.
///
/// Any place in a buffer is right; one that is a multiple of 16 bytes is fast. For CTR what counts is the place of the byte
/// that the first whole block of key stream meets: with `offset` 5 into the key stream, byte 11 of the data. CTR on data that
/// is not all whole aligned blocks is up to three launches. If the driver refuses one of them, the output holds what the
/// others write, and after a call in place nothing tells which: throw it away.
///
/// The first call of a mode compiles its kernel, which takes seconds, and waits for the known answer that it must give
/// ([`Error::CompileFailed`], [`Error::SelfTestFailed`]); [`prepare`](Self::prepare) does that before time counts. A cipher of
/// one kernel answers other modes with [`Error::NotInKernel`].
pub struct BufferCipher<'a> {
    cipher: &'a Cipher,
    key: &'a DeviceKey,
}

impl<'a> BufferCipher<'a> {
    pub(crate) fn new(cipher: &'a Cipher, key: &'a DeviceKey) -> Self {
        Self { cipher, key }
    }

    /// The cipher these calls use.
    pub fn cipher(&self) -> &'a Cipher {
        self.cipher
    }

    /// Compiles the kernel for a mode, and waits for the known answer that it must give, unless that was done before.
    ///
    /// # Errors
    /// [`Error::CompileFailed`], [`Error::SelfTestFailed`], [`Error::NotInKernel`] on a kernel for another mode, and what the
    /// driver reports.
    pub fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.key.prepare(mode)
    }

    /// Runs whole blocks through the block cipher (SP 800-38A, section 6.1).
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`], [`Error::LengthMismatch`], [`Error::OutOfRange`] for bytes that a buffer does not have,
    /// [`Error::Overlap`] if the slices overlap without being the same, [`Error::OtherOpenClContext`], and what the driver
    /// reports.
    pub fn ecb(
        &self,
        queue: &CommandQueue,
        direction: Direction,
        input: BufferSlice<'_>,
        output: BufferSlice<'_>,
    ) -> Result<(), Error> {
        Cipher::whole_blocks(input.len)?;
        self.run(queue, Work::Ecb(direction), input, output)
    }

    /// Decrypts whole blocks, each chained to the ciphertext block before it, the first to `iv` (CBC; SP 800-38A, section 6.2).
    /// In place it takes a little device memory, 16 bytes for each work-group.
    ///
    /// As with [`Cipher::cbc_decrypt`], the IV of a piece of a message is the block of ciphertext before it.
    ///
    /// # Errors
    /// As [`ecb`](Self::ecb).
    pub fn cbc_decrypt(
        &self,
        queue: &CommandQueue,
        iv: &[u8; 16],
        input: BufferSlice<'_>,
        output: BufferSlice<'_>,
    ) -> Result<(), Error> {
        Cipher::whole_blocks(input.len)?;
        self.run(queue, Work::CbcDecrypt { iv: *iv }, input, output)
    }

    /// XORs with the keystream from byte `offset` on (SP 800-38A, section 6.5).
    ///
    /// # Errors
    /// As [`ecb`](Self::ecb), but for any length; and [`Error::CounterOverflow`].
    pub fn ctr_apply(
        &self,
        queue: &CommandQueue,
        counter: &Counter,
        offset: u64,
        input: BufferSlice<'_>,
        output: BufferSlice<'_>,
    ) -> Result<(), Error> {
        let (counter, skip) = counter.start(offset, input.len)?;
        self.run(queue, Work::Ctr { counter, skip }, input, output)
    }

    fn run(
        &self,
        queue: &CommandQueue,
        work: Work,
        input: BufferSlice<'_>,
        output: BufferSlice<'_>,
    ) -> Result<(), Error> {
        let device = self.key.device();
        let queue = queue.get();
        let of_queue = command_queue::get_command_queue_data(queue, command_queue::CL_QUEUE_CONTEXT);
        if number("clGetCommandQueueInfo", of_queue)? != device.context().get() as u64 {
            return Err(Error::OtherOpenClContext);
        }
        let (from, to) = (Place::of(device, input)?, Place::of(device, output)?);
        if input.len != output.len {
            return Err(Error::LengthMismatch { input: input.len, output: output.len });
        }
        let (in_place, len) = (from.is(&to), input.len as u64);
        if !in_place && from.overlaps(&to, len) {
            return Err(Error::Overlap);
        }
        let span = Span {
            input: input.raw(),
            input_at: input.at as u64,
            output: output.raw(),
            output_at: output.at as u64,
            len,
            in_place,
            aligned: from.aligned && to.aligned,
        };
        let mut launches = Vec::new();
        // SAFETY: queue and buffers are alive, belong to the device's context, and the buffers have these bytes.
        let launched = unsafe { self.key.launch(queue, span, work, &mut launches) };
        // After a failure, too: those before it are in the queue.
        for launch in &launches {
            input.is_used_by(launch);
            if !in_place {
                output.is_used_by(launch);
            }
        }
        launched
    }
}

/// Where a slice lies, whatever sub-buffer it is of.
struct Place {
    /// The buffer that has the memory.
    root: u64,
    /// The slice's first byte there.
    at: u64,
    /// Whether the slice's own buffer begins at a multiple of 16 bytes.
    aligned: bool,
}

impl Place {
    fn of(device: &Device, slice: BufferSlice<'_>) -> Result<Self, Error> {
        let buffer = slice.raw();
        let ask = |what: cl_mem_info| number("clGetMemObjectInfo", memory::get_mem_object_data(buffer, what));
        if ask(memory::CL_MEM_CONTEXT)? != device.context().get() as u64 {
            return Err(Error::OtherOpenClContext);
        }
        let BufferSlice { at, len, .. } = slice;
        let there = ask(memory::CL_MEM_SIZE)? as usize;
        if at.checked_add(len).is_none_or(|end| end > there) {
            return Err(Error::OutOfRange { at, bytes: len, len: there });
        }
        let parent = ask(memory::CL_MEM_ASSOCIATED_MEMOBJECT)?;
        let root = if parent == 0 { buffer as u64 } else { parent };
        // Memory of the caller's may begin anywhere.
        let aligned = ask(memory::CL_MEM_HOST_PTR)?.is_multiple_of(16);
        Ok(Self { root, at: ask(memory::CL_MEM_OFFSET)? + at as u64, aligned })
    }

    fn is(&self, other: &Self) -> bool {
        (self.root, self.at) == (other.root, other.at)
    }

    fn overlaps(&self, other: &Self, len: u64) -> bool {
        self.root == other.root && self.at.abs_diff(other.at) < len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_the_same_or_apart() {
        let place = |root, at| Place { root, at, aligned: true };
        assert!(place(1, 16).is(&place(1, 16)) && !place(1, 16).is(&place(2, 16)));
        assert!(place(1, 16).overlaps(&place(1, 31), 16) && place(1, 31).overlaps(&place(1, 16), 16));
        assert!(!place(1, 16).overlaps(&place(1, 32), 16) && !place(1, 16).overlaps(&place(2, 16), 16));
    }
}
