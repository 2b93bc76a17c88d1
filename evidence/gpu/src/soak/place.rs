//! Where the data of a call is, and how the call is made there.

use crate::planted::{Planted, Returned};
use crate::random::Random;
use crate::wrong::{Wrong, wrong};
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, CudaViewMut};
use aes_bitslice_runtime::{Cipher, Engine, Error, Operation, SubmitError};
use std::sync::Arc;

/// Streams of the GPU, which all threads use; none if the engine has no GPU, or several.
pub struct Streams(Vec<Arc<CudaStream>>);

impl Streams {
    pub fn new(engine: &Engine) -> Self {
        let streams = engine.cuda_context().map(|context| (0..8).filter_map(|_| context.new_stream().ok()).collect());
        Self(streams.unwrap_or_default())
    }

    /// Bytes of device memory in use, when all pending work is done.
    pub fn in_use(&self) -> Option<u64> {
        let context = self.0.first()?.context();
        context.synchronize().ok()?;
        let (free, total) = context.mem_get_info().ok()?;
        Some((total - free) as u64)
    }

    pub fn one(&self, random: &mut Random) -> Option<&Arc<CudaStream>> {
        self.0.get(random.below(self.0.len() as u64) as usize)
    }
}

/// Where data is.
#[derive(Clone, Debug)]
pub enum Place {
    /// In host memory, in place.
    Host,
    /// In host memory, from an input to an output.
    Apart,
    /// Submitted, with ownership.
    Submitted,
    /// In memory of the engine, which is pinned if it has a GPU.
    Pinned,
    /// In GPU memory, this many bytes past a multiple of 64, on a stream.
    Gpu(Arc<CudaStream>, usize),
    /// In memory that is sharded over the engine's GPUs, of which there may be one.
    Sharded,
}

/// Where a kind of call can have its data.
#[derive(Clone, Copy)]
pub struct Places {
    /// It has kernels.
    pub gpu: bool,
    /// The kernels handle memory that is sharded over GPUs, too.
    pub sharded: bool,
    /// It maps all of its input to an output.
    pub apart: bool,
}

/// Pinning takes longer than everything else.
const MOST_PINNED: usize = 64 << 20;

impl Place {
    /// A random place for data of this length: half of them on the GPU, if there is one.
    pub fn random(random: &mut Random, streams: &Streams, places: Places, len: usize) -> Self {
        if places.gpu
            && len > 0
            && random.one_in(2)
            && let Some(stream) = streams.one(random)
        {
            if places.sharded && random.one_in(4) {
                return Self::Sharded;
            }
            return Self::Gpu(stream.clone(), random.one_of(&[0, 0, 0, 4, 16, 3, 13]));
        }
        match random.below(4) {
            0 if places.apart => Self::Apart,
            1 => Self::Submitted,
            2 if (1..=MOST_PINNED).contains(&len) => Self::Pinned,
            _ => Self::Host,
        }
    }

    /// Whether it is on a GPU.
    pub fn is_on_gpu(&self) -> bool {
        matches!(self, Self::Gpu(..) | Self::Sharded)
    }

    /// This place, or [`Host`](Self::Host) for a call that has only one way on host memory.
    pub fn or_host(self) -> Self {
        if matches!(self, Self::Gpu(..)) { self } else { Self::Host }
    }

    pub fn name(&self) -> String {
        match self {
            Self::Host => "in host memory".into(),
            Self::Apart => "from an input to an output in host memory".into(),
            Self::Submitted => "submitted".into(),
            Self::Pinned => "in memory of the engine's".into(),
            Self::Sharded => "in sharded memory of the GPU".into(),
            Self::Gpu(_, at) => format!("in memory of the GPU, {at} bytes past a multiple of 64"),
        }
    }

    /// Makes a call in host memory, or in sharded memory.
    fn elsewhere<O: Operation>(&self, cipher: &Cipher, operation: O, mut data: Vec<u8>) -> Elsewhere<O::Output> {
        Ok(match self {
            Self::Apart => {
                let mut output = vec![0xa5; data.len()];
                (cipher.run(operation, (&data, &mut output)), output)
            }
            Self::Submitted => match cipher.submit_with_output(operation, data) {
                Ok(submitted) => match submitted.wait() {
                    Ok((data, value)) => (Ok(value), data),
                    Err(SubmitError { error, data }) => (Err(error), data),
                },
                Err(SubmitError { error, data }) => (Err(error), data),
            },
            Self::Sharded => {
                let mut memory = cipher.engine().sharded(data.len()).map_err(wrong)?;
                memory.copy_from_host(0, &data).map_err(wrong)?;
                let value = cipher.sharded().map_err(wrong)?.run(operation, &mut memory);
                memory.copy_to_host(0, &mut data).map_err(wrong)?;
                (value, data)
            }
            Self::Pinned => {
                let mut buffer = cipher.engine().host_buffer(data.len()).map_err(wrong)?;
                buffer.copy_from_slice(&data);
                let value = cipher.run(operation, &mut buffer[..]);
                data.copy_from_slice(&buffer);
                (value, data)
            }
            _ => (cipher.run(operation, &mut data), data),
        })
    }

    /// The result of a call on the GPU, if that is the place, or elsewhere.
    fn came<O: Operation<Output: Returned>>(
        &self,
        planted: &mut Planted,
        on_gpu: Option<Result<O::Output, Error>>,
        cipher: &Cipher,
        operation: O,
        data: Vec<u8>,
    ) -> Outcome<O::Output> {
        let (outcome, data) = match on_gpu {
            Some(outcome) => (outcome, data),
            None => {
                let (outcome, mut data) = self.elsewhere(cipher, operation, data)?;
                planted.bytes(&mut data);
                (outcome, data)
            }
        };
        Ok((planted.outcome(outcome), data))
    }

    /// The result of a call on a copy of the data in GPU memory, which is copied back, if this is the place. It fails if a byte around
    /// the data was changed.
    pub fn on_gpu<T>(
        &self,
        planted: &mut Planted,
        data: &mut [u8],
        call: impl FnOnce(&Arc<CudaStream>, &mut CudaViewMut<'_, u8>) -> Result<T, Wrong>,
    ) -> Result<Option<T>, Wrong> {
        const AROUND: [u8; 64] = [0xa5; 64];
        let Self::Gpu(stream, at) = self else { return Ok(None) };
        let (begin, end) = (AROUND.len() + at, AROUND.len() + at + data.len());
        let mut memory = stream.alloc_zeros::<u8>(end + AROUND.len()).map_err(wrong)?;
        let around = [begin - AROUND.len()..begin, end..end + AROUND.len()];
        for range in around.clone() {
            stream.memcpy_htod(&AROUND, &mut memory.slice_mut(range)).map_err(wrong)?;
        }
        stream.memcpy_htod(data, &mut memory.slice_mut(begin..end)).map_err(wrong)?;
        let value = call(stream, &mut memory.slice_mut(begin..end))?;
        stream.memcpy_dtoh(&memory.slice(begin..end), data).map_err(wrong)?;
        planted.bytes(data);
        for range in around {
            let mut found = stream.clone_dtoh(&memory.slice(range)).map_err(wrong)?;
            planted.bytes(&mut found);
            if found != AROUND {
                return Err("bytes around the data in the memory of the GPU were changed".into());
            }
        }
        Ok(Some(value))
    }

    /// Runs a call that returns nothing; in GPU memory in place or, at some places, from one buffer to another.
    pub fn run<O: Operation<Output = ()>>(
        &self,
        planted: &mut Planted,
        cipher: &Cipher,
        operation: O,
        places: Places,
        mut data: Vec<u8>,
    ) -> Outcome<()> {
        let on_gpu = self.on_gpu(planted, &mut data, |stream, data| {
            let device = cipher.device().map_err(wrong)?;
            if !places.apart || !matches!(self, Self::Gpu(_, 4 | 13 | 16)) {
                return Ok(device.run(stream, operation.clone(), data));
            }
            let input = stream.clone_dtod(data).map_err(wrong)?;
            stream.memset_zeros(data).map_err(wrong)?;
            Ok(device.run(stream, operation.clone(), (&input, data)))
        })?;
        self.came(planted, on_gpu, cipher, operation, data)
    }

    /// Runs a call that returns a value.
    pub fn run_with_output<O: Operation<Output: Returned>>(
        &self,
        planted: &mut Planted,
        cipher: &Cipher,
        operation: O,
        mut data: Vec<u8>,
    ) -> Outcome<O::Output> {
        let on_gpu = self.on_gpu(planted, &mut data, |stream, data| {
            let device = cipher.device().map_err(wrong)?;
            Ok(device.run_with_output(stream, operation.clone(), data).and_then(|pending| pending.wait()))
        })?;
        self.came(planted, on_gpu, cipher, operation, data)
    }
}

/// The result of a call, and its output; or what went wrong around it.
type Elsewhere<T> = Result<(Result<T, Error>, Vec<u8>), Wrong>;

/// The result of a call in the form that is compared, and its output; or what went wrong around it.
pub type Outcome<T> = Result<(Result<<T as Returned>::Seen, Error>, Vec<u8>), Wrong>;
