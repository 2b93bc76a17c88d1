//! Data in device memory: on the caller's stream, in place or not, without a synchronisation of ours.

use super::kernel::Span;
use super::{Choice, DeviceKey};
use crate::work::Work;
use crate::{Cipher, Counter, Direction, Error};
use aes_bitslice_gen::kernel::Mode;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

/// Calls of a [`Cipher`] on device memory.
///
/// They return when the work is on the stream, not when it is done; an error on the device shows when the caller
/// waits for the stream. `stream.record_event(None)` after a call gives an event that tells when it is done: it can be
/// asked, waited for, and made to hold up another stream. Round keys travel with each launch, so the cipher may be
/// dropped before the stream has come to it; dropping a cipher whose kernel is its own, of
/// [`Engine::bake`](crate::Engine::bake), [`load_baked`](crate::Engine::load_baked) or
/// [`cipher_of`](crate::Engine::cipher_of), waits for everything on the device, for code and keys lie there. Buffers and
/// streams belong to the engine's context, [`Engine::cuda_context`](crate::Engine::cuda_context).
///
/// It is `Send` and `Sync`: any number of threads may use one at the same time, each on its own stream or all on one.
///
/// Any alignment is right; data aligned to 16 bytes is fast. For CTR what counts is the alignment of the byte that
/// the first whole block of key stream meets: with `offset` 5 into the key stream, byte 11 of the data.
///
/// Every call may fail with [`Error::Poisoned`], and the first of a mode with [`Error::SelfTestFailed`]; a baked kernel
/// answers other modes with [`Error::NotInKernel`]. CTR on data that is not all whole aligned blocks is up to three
/// launches. A pair of kernels is up to four for CTR and two for ECB, over the caller's stream and one of ours, for which
/// the caller's then waits. If the driver refuses one of them, the output holds what the others write, and after a call in
/// place nothing tells which: throw it away.
///
/// The first call that takes a kernel loads it and waits for the known answer it must give. Which one a call takes may
/// depend on its size and its alignment ([`Kernels::AutoAny`](super::Kernels::AutoAny)), so that a later call may load
/// another. [`prepare`](Self::prepare) loads them before time counts, and before a stream is captured into a graph, when
/// nothing can be loaded; a pair's kernels come one after the other in a graph.
pub struct DeviceCipher<'a> {
    cipher: &'a Cipher,
    key: &'a DeviceKey,
    choice: Option<Choice>,
}

impl<'a> DeviceCipher<'a> {
    pub(crate) fn new(cipher: &'a Cipher, key: &'a DeviceKey) -> Self {
        Self { cipher, key, choice: None }
    }

    /// The same calls by this kernel with this geometry, whatever is fastest: for measuring. A cipher of one kernel keeps
    /// to that.
    ///
    /// Every call fails with [`Error::NoSuchKernel`] if there is no such kernel for its mode,
    /// [`Engine::with_kernels`](crate::Engine::with_kernels) does not allow it, or a number of the geometry is out of
    /// bounds.
    pub fn by(self, choice: Choice) -> Self {
        Self { choice: Some(choice), ..self }
    }

    /// The cipher these calls use.
    pub fn cipher(&self) -> &'a Cipher {
        self.cipher
    }

    /// Loads every kernel that calls of a mode may take, whatever their size, and waits for the known answers they must
    /// give, unless that was done before: what [`by`](Self::by) names, else all that
    /// [`Engine::with_kernels`](crate::Engine::with_kernels) allows. Those of
    /// [`Kernels::AutoAny`](super::Kernels::AutoAny) are all that there are for the mode on this device.
    ///
    /// # Errors
    /// [`Error::SelfTestFailed`], [`Error::NotInKernel`] on a kernel for another mode, [`Error::NoSuchKernel`] if there is
    /// none as asked for, and what the driver reports.
    pub fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.key.prepare(mode, self.choice)
    }

    /// Runs whole blocks through the block cipher in place (SP 800-38A, section 6.1).
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`], [`Error::OtherContext`], and what the driver reports.
    pub fn ecb<D: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        direction: Direction,
        data: &mut D,
    ) -> Result<(), Error> {
        self.owns(stream)?;
        self.owns(data.stream())?;
        let len = data.len() as u64;
        let (pointer, _written) = data.device_ptr_mut(stream);
        // SAFETY: the buffer is borrowed for the call, and ordered on the stream by its guard.
        unsafe { self.ecb_raw(stream.cu_stream(), direction, pointer, pointer, len) }
    }

    /// Runs whole blocks through the block cipher from `input` to `output`.
    ///
    /// # Errors
    /// As [`ecb`](Self::ecb), and [`Error::LengthMismatch`].
    pub fn ecb_to<S: DevicePtr<u8>, D: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        direction: Direction,
        input: &S,
        output: &mut D,
    ) -> Result<(), Error> {
        self.owns(stream)?;
        self.owns(input.stream())?;
        self.owns(output.stream())?;
        let len = same_length(input.len(), output.len())?;
        let (from, _read) = input.device_ptr(stream);
        let (to, _written) = output.device_ptr_mut(stream);
        // SAFETY: both buffers are borrowed for the call, and ordered on the stream by their guards.
        unsafe { self.ecb_raw(stream.cu_stream(), direction, from, to, len) }
    }

    /// Decrypts whole blocks in place, each chained to the ciphertext block before it, the first to `iv` (CBC; SP 800-38A,
    /// section 6.2). Takes a little device memory on the stream, 16 bytes for each thread block.
    ///
    /// As with [`Cipher::cbc_decrypt`], the IV of a piece of a message is the block of ciphertext before it.
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`], [`Error::OtherContext`], and what the driver reports.
    pub fn cbc_decrypt<D: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        iv: &[u8; 16],
        data: &mut D,
    ) -> Result<(), Error> {
        self.owns(stream)?;
        self.owns(data.stream())?;
        let len = data.len() as u64;
        let (pointer, _written) = data.device_ptr_mut(stream);
        // SAFETY: the buffer is borrowed for the call, and ordered on the stream by its guard.
        unsafe { self.cbc_decrypt_raw(stream.cu_stream(), iv, pointer, pointer, len) }
    }

    /// Decrypts whole blocks, each chained to the ciphertext block before it, from `input` to `output`.
    ///
    /// # Errors
    /// As [`cbc_decrypt`](Self::cbc_decrypt), and [`Error::LengthMismatch`].
    pub fn cbc_decrypt_to<S: DevicePtr<u8>, D: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        iv: &[u8; 16],
        input: &S,
        output: &mut D,
    ) -> Result<(), Error> {
        self.owns(stream)?;
        self.owns(input.stream())?;
        self.owns(output.stream())?;
        let len = same_length(input.len(), output.len())?;
        let (from, _read) = input.device_ptr(stream);
        let (to, _written) = output.device_ptr_mut(stream);
        // SAFETY: both buffers are borrowed for the call, and ordered on the stream by their guards.
        unsafe { self.cbc_decrypt_raw(stream.cu_stream(), iv, from, to, len) }
    }

    /// XORs `data` with the keystream from byte `offset` on (SP 800-38A, section 6.5).
    ///
    /// # Errors
    /// [`Error::CounterOverflow`], [`Error::OtherContext`], and what the driver reports.
    pub fn ctr_apply<D: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        counter: &Counter,
        offset: u64,
        data: &mut D,
    ) -> Result<(), Error> {
        self.owns(stream)?;
        self.owns(data.stream())?;
        let len = data.len() as u64;
        let (pointer, _written) = data.device_ptr_mut(stream);
        // SAFETY: the buffer is borrowed for the call, and ordered on the stream by its guard.
        unsafe { self.ctr_raw(stream.cu_stream(), counter, offset, pointer, pointer, len) }
    }

    /// XORs `input` with the keystream from byte `offset` on, into `output`.
    ///
    /// # Errors
    /// As [`ctr_apply`](Self::ctr_apply), and [`Error::LengthMismatch`].
    pub fn ctr_apply_to<S: DevicePtr<u8>, D: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        counter: &Counter,
        offset: u64,
        input: &S,
        output: &mut D,
    ) -> Result<(), Error> {
        self.owns(stream)?;
        self.owns(input.stream())?;
        self.owns(output.stream())?;
        let len = same_length(input.len(), output.len())?;
        let (from, _read) = input.device_ptr(stream);
        let (to, _written) = output.device_ptr_mut(stream);
        // SAFETY: both buffers are borrowed for the call, and ordered on the stream by their guards.
        unsafe { self.ctr_raw(stream.cu_stream(), counter, offset, from, to, len) }
    }

    /// [`ecb`](Self::ecb) on raw device pointers and a raw stream; `input` may equal `output`. `len` is in bytes.
    ///
    /// # Safety
    /// `input` and `output` point to `len` bytes of memory that this device can reach, live until the work is
    /// done; `stream` is live and of the engine's context.
    ///
    /// # Errors
    /// As [`ecb`](Self::ecb), and [`Error::Overlap`] if the ranges overlap without being the same.
    pub unsafe fn ecb_raw(
        &self,
        stream: CUstream,
        direction: Direction,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
    ) -> Result<(), Error> {
        if !len.is_multiple_of(16) {
            return Err(Error::NotWholeBlocks { len: len as usize });
        }
        let span = span(input, output, len)?;
        self.key.device().enter()?;
        // SAFETY: as the caller vouches.
        unsafe { self.key.launch(stream, span, Work::Ecb(direction), self.choice) }
    }

    /// [`cbc_decrypt`](Self::cbc_decrypt) on raw device pointers and a raw stream; `input` may equal `output`. `len` is in
    /// bytes.
    ///
    /// # Safety
    /// As [`ecb_raw`](Self::ecb_raw).
    ///
    /// # Errors
    /// As [`cbc_decrypt`](Self::cbc_decrypt), and [`Error::Overlap`].
    pub unsafe fn cbc_decrypt_raw(
        &self,
        stream: CUstream,
        iv: &[u8; 16],
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
    ) -> Result<(), Error> {
        if !len.is_multiple_of(16) {
            return Err(Error::NotWholeBlocks { len: len as usize });
        }
        let span = span(input, output, len)?;
        self.key.device().enter()?;
        // SAFETY: as the caller vouches.
        unsafe { self.key.launch(stream, span, Work::CbcDecrypt { iv: *iv }, self.choice) }
    }

    /// [`ctr_apply`](Self::ctr_apply) on raw device pointers and a raw stream; `input` may equal `output`. `len` is in
    /// bytes.
    ///
    /// # Safety
    /// As [`ecb_raw`](Self::ecb_raw).
    ///
    /// # Errors
    /// As [`ctr_apply`](Self::ctr_apply), and [`Error::Overlap`].
    pub unsafe fn ctr_raw(
        &self,
        stream: CUstream,
        counter: &Counter,
        offset: u64,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
    ) -> Result<(), Error> {
        let span = span(input, output, len)?;
        let (first, skip) = counter.start(offset, len as usize)?;
        self.key.device().enter()?;
        // SAFETY: as the caller vouches.
        unsafe { self.key.launch(stream, span, Work::Ctr { counter: first, skip }, self.choice) }
    }

    fn owns(&self, stream: &CudaStream) -> Result<(), Error> {
        if stream.context().cu_ctx() == self.key.device().context().cu_ctx() {
            Ok(())
        } else {
            Err(Error::OtherContext)
        }
    }
}

fn same_length(input: usize, output: usize) -> Result<u64, Error> {
    if input == output { Ok(input as u64) } else { Err(Error::LengthMismatch { input, output }) }
}

fn span(input: CUdeviceptr, output: CUdeviceptr, len: u64) -> Result<Span, Error> {
    if input != output && input.abs_diff(output) < len {
        return Err(Error::Overlap);
    }
    Ok(Span { input, output, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_the_same_or_apart() {
        assert!(span(4096, 4096, 100).is_ok());
        assert!(span(4096, 4196, 100).is_ok() && span(4196, 4096, 100).is_ok());
        assert!(matches!(span(4096, 4195, 100), Err(Error::Overlap)));
        assert!(matches!(span(4097, 4096, 2), Err(Error::Overlap)));
    }
}
