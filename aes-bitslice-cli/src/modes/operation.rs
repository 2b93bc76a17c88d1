//! Any operation of the runtime, on each kind of memory.

use std::sync::Arc;

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, CudaViewMut};
use aes_bitslice_runtime::cuda::{DeviceCipher, ShardedBuffer, ShardedCipher};
use aes_bitslice_runtime::opencl::opencl3::command_queue::CommandQueue;
use aes_bitslice_runtime::opencl::{BufferCipher, BufferSlice};
use aes_bitslice_runtime::{Access, Buffers, Cipher, Error, KeyBits, Keys, OpenedBatch, Operation, Tag};

/// What a call returns: the tags, of an operation that makes any.
pub type Returned = Result<Option<Tags>, Error>;

/// The tags that a call makes.
#[derive(Clone, Debug, PartialEq)]
pub enum Tags {
    /// Of its message.
    One(Tag),
    /// Of each message of a batch.
    Each(Vec<[u8; 16]>),
}

/// Waits for what a call returns on device memory.
pub type Pending = Box<dyn FnOnce() -> Returned>;

/// What a call on the memory of a CUDA GPU takes. It is made in the order of `stream`, and the input stays as it is.
pub struct OnCuda<'a> {
    pub cipher: &'a DeviceCipher<'a>,
    pub stream: &'a Arc<CudaStream>,
    pub input: CudaViewMut<'a, u8>,
    pub output: CudaViewMut<'a, u8>,
}

/// An operation that returns nothing, or [one that returns tags or verifies them](WithTag), besides what it writes. All of these have these
/// methods: each is one call of the runtime, or an error where there is none. An operation that only writes ignores the input that it is
/// given, and one that only reads the output.
pub trait AnyOperation {
    /// What is true of all operations of this type.
    fn about(&self) -> About;

    /// On host memory.
    fn on_host(&self, _cipher: &Cipher, _data: Buffers<'_>) -> Returned {
        Err(self.unsupported("host memory"))
    }

    /// On the memory of a CUDA GPU.
    fn on_cuda(&self, call: &mut OnCuda<'_>) -> Result<Pending, Error>;

    /// On memory that is sharded over several of them. The input stays as it is.
    fn on_sharded(&self, _: &ShardedCipher, _input: &mut ShardedBuffer, _output: &mut ShardedBuffer) -> Returned {
        Err(self.unsupported("sharded memory"))
    }

    /// On buffers of an OpenCL device, in the order of `queue`.
    fn on_opencl(
        &self,
        _cipher: &BufferCipher,
        _queue: &CommandQueue,
        _input: BufferSlice,
        _output: BufferSlice,
    ) -> Result<Pending, Error> {
        Err(self.unsupported("OpenCL buffers"))
    }

    /// The error where it has no call.
    fn unsupported(&self, memory: &str) -> Error {
        Error::Unsupported { operation: self.about().name, backend: memory.into() }
    }
}

/// What is true of all operations of a type, as [`Operation`] has it.
#[derive(Clone, Copy)]
pub struct About {
    /// The name, used in error texts.
    pub name: &'static str,
    /// How it accesses its data.
    pub access: Access,
    /// Which keys it needs.
    pub keys: Keys,
    /// The lengths of these.
    pub key_lengths: &'static [KeyBits],
    /// Whether its chunks must be done in order, on one core of the CPU.
    pub is_serial: bool,
    /// Whether each call has its own key.
    pub has_own_key: bool,
    /// Whether it makes a tag or verifies one.
    pub has_tag: bool,
    /// Whether it verifies one.
    pub verifies: bool,
    /// Whether a call on a device that is dropped before its end waits for that.
    pub waits_when_dropped: bool,
}

impl About {
    pub(super) fn of<O: Operation>(operation: &O, has_tag: bool, verifies: bool) -> Self {
        let kernels = operation.kernels();
        About {
            name: O::NAME,
            access: operation.access(),
            keys: O::KEYS,
            key_lengths: O::KEYS.lengths(),
            is_serial: kernels.are_on_cpu(),
            has_own_key: kernels.are_under_own_key(),
            has_tag,
            verifies,
            waits_when_dropped: has_tag,
        }
    }

    /// The data of a call, without the part that the operation does not access.
    pub fn accessed<'a>(&self, data: Buffers<'a>) -> Buffers<'a> {
        match (self.access, data) {
            (Access::Writes, Buffers::To { output, .. }) => Buffers::Write(output),
            (Access::Reads, Buffers::To { input, .. }) => Buffers::Read(input),
            (_, data) => data,
        }
    }
}

impl<O: Operation<Output = ()>> AnyOperation for O {
    fn about(&self) -> About {
        About::of(self, false, false)
    }

    fn on_host(&self, cipher: &Cipher, data: Buffers<'_>) -> Returned {
        cipher.run(self.clone(), self.about().accessed(data)).map(|()| None)
    }

    fn on_cuda(&self, call: &mut OnCuda<'_>) -> Result<Pending, Error> {
        let OnCuda { cipher, stream, input, output } = call;
        match O::ACCESS {
            Access::Writes => cipher.run(stream, self.clone(), output),
            _ => cipher.run(stream, self.clone(), (&*input, output)),
        }?;
        Ok(Box::new(|| Ok(None)))
    }

    fn on_sharded(&self, cipher: &ShardedCipher, input: &mut ShardedBuffer, output: &mut ShardedBuffer) -> Returned {
        match O::ACCESS {
            Access::Writes => cipher.run(self.clone(), output),
            _ => cipher.run(self.clone(), (&*input, output)),
        }
        .map(|()| None)
    }

    fn on_opencl(
        &self,
        cipher: &BufferCipher,
        queue: &CommandQueue,
        input: BufferSlice,
        output: BufferSlice,
    ) -> Result<Pending, Error> {
        match O::ACCESS {
            Access::Writes => cipher.run(queue, self.clone(), output),
            _ => cipher.run(queue, self.clone(), (input, output)),
        }?;
        Ok(Box::new(|| Ok(None)))
    }
}

/// An operation that makes tags or verifies them: of a message, or of each of a batch.
pub struct WithTag<O>(pub O);

impl<O: Operation<Output: Tagged>> AnyOperation for WithTag<O> {
    fn about(&self) -> About {
        About::of(&self.0, true, O::Output::VERIFIES)
    }

    fn on_host(&self, cipher: &Cipher, data: Buffers<'_>) -> Returned {
        cipher.run(self.0.clone(), self.about().accessed(data))?.tags()
    }

    fn on_cuda(&self, call: &mut OnCuda<'_>) -> Result<Pending, Error> {
        let OnCuda { cipher, stream, input, output } = call;
        let pending = match O::ACCESS {
            Access::Reads => cipher.run_with_output(stream, self.0.clone(), input),
            _ => cipher.run_with_output(stream, self.0.clone(), (&*input, output)),
        }?;
        Ok(Box::new(|| pending.wait()?.tags()))
    }

    fn on_sharded(&self, cipher: &ShardedCipher, input: &mut ShardedBuffer, output: &mut ShardedBuffer) -> Returned {
        match O::ACCESS {
            Access::Reads => cipher.run(self.0.clone(), input),
            _ => cipher.run(self.0.clone(), (&*input, output)),
        }?
        .tags()
    }

    fn on_opencl(
        &self,
        cipher: &BufferCipher,
        queue: &CommandQueue,
        input: BufferSlice,
        output: BufferSlice,
    ) -> Result<Pending, Error> {
        let pending = match O::ACCESS {
            Access::Reads => cipher.run_with_output(queue, self.0.clone(), input),
            _ => cipher.run_with_output(queue, self.0.clone(), (input, output)),
        }?;
        Ok(Box::new(|| pending.wait()?.tags()))
    }
}

/// What an operation [`WithTag`] returns: tags, or whether the given ones are right.
pub trait Tagged {
    /// Whether the call verifies tags and returns none.
    const VERIFIES: bool = false;

    /// The tags, if any are returned.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] if a message does not have its tag.
    fn tags(self) -> Returned;
}

impl Tagged for Tag {
    fn tags(self) -> Returned {
        Ok(Some(Tags::One(self)))
    }
}

impl Tagged for () {
    const VERIFIES: bool = true;

    fn tags(self) -> Returned {
        Ok(None)
    }
}

impl Tagged for Vec<[u8; 16]> {
    fn tags(self) -> Returned {
        Ok(Some(Tags::Each(self)))
    }
}

impl Tagged for OpenedBatch {
    const VERIFIES: bool = true;

    fn tags(self) -> Returned {
        self.all().map(|()| None)
    }
}
