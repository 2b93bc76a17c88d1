//! Calls on data in sharded memory: all GPUs at once, each on its own share and then on what the slowest has left.

use crate::backend::cuda::commands::Span;
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::several::chunks::{self, DEPTH, Gpu, ShareChunk, chunk_bytes, drive, ends};
use crate::backend::cuda::several::group_key::GroupKey;
use crate::backend::cuda::several::sharded_buffer::{ShardedBuffer, ShardedBuffers};
use crate::backend::device::key::KeyOnDevice;
use crate::base::error::Error;
use crate::cpu::key::CpuKey;
use crate::exec::call::{Call, Data, PartOf, Target};
use crate::exec::schedule::Schedule;
use crate::exec::work::Work;
use crate::op::buffers::Access;
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::{Composition, Cut, Operation, Pass, Place};
use aes_bitslice_core::mode::Mode;
use std::ops::Range;
use std::sync::Arc;

/// Calls of a [`Cipher`](crate::Cipher) on sharded memory ([`Engine::sharded`](crate::Engine::sharded)).
///
/// They return when the work is done, and keep the thread busy until then. All GPUs work at the same time, each on its own share; one that
/// finishes first takes over part of what the others have left, where the GPUs can access each other's memory. The output is that of one
/// GPU. Key stream, as in [`Ctr`](crate::Ctr), is fast from offsets that are multiples of 16.
///
/// Every call may fail with [`Error::Poisoned`], and the first call of a mode with [`Error::SelfTestFailed`]; a baked kernel answers other
/// modes with [`Error::NotInKernel`]. Wrong arguments change nothing. If a call fails after work began, on any GPU, its output is cleared
/// to zero. If a GPU cannot do that, all later calls of the engine that use this GPU return [`Error::Poisoned`], including copies from it;
/// what is there can then be reached only through the addresses of its memory. In place, the output is the input.
pub struct ShardedCipher<'a> {
    key: &'a GroupKey,
    /// The key on the CPU; `None` for a cipher of one kernel.
    cpu: Option<&'a Arc<CpuKey>>,
}

/// The name of the memory, used in error texts.
const MEMORY: &str = "sharded memory";

/// Where the data of a call, `bytes` bytes, is cut: refuses data that cannot be cut at each multiple of `every` bytes, as shares and chunks
/// are. The last piece may be whatever bytes remain.
fn cuts<O: Pass>(call: &Call<O>, bytes: u64, every: u64) -> Result<Cut<O::Ready>, Error> {
    let cut = call.cut().ok_or_else(unsupported::<O>)?;
    let places = (1..bytes.div_ceil(every)).map(|n| n * every);
    match places.into_iter().find(|&at| (cut.place)(call.operation(), at, bytes) != at) {
        None => Ok(cut),
        Some(at) => Err(Error::Length {
            operation: O::NAME,
            what: format!(
                "{bytes} bytes in {MEMORY} are cut at multiples of {every} bytes, and byte {at} is between bytes that are encrypted \
                 together: use host memory, or the memory of one GPU"
            ),
        }),
    }
}

impl<'a> ShardedCipher<'a> {
    pub(crate) fn new(key: &'a GroupKey, cpu: Option<&'a Arc<CpuKey>>) -> Self {
        Self { key, cpu }
    }

    /// Loads every kernel that calls of a mode may use, on all GPUs, and waits for the known answers they must give, unless that was done
    /// before.
    ///
    /// # Errors
    /// [`Error::SelfTestFailed`], [`Error::NotInKernel`] on a kernel for another mode, [`Error::NoSuchKernel`] if there is no such kernel,
    /// and any error the driver reports.
    pub fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.key.prepare(mode)
    }

    /// Does an operation on `data`: `&mut data` in place, only reading it, or into it where the operation only writes; or from an input to an
    /// output of the same length, `(&input, &mut output)`. Returns its output value, such as the tag of [`GcmEncrypt`](crate::GcmEncrypt),
    /// which is computed from the hashes of all GPUs' parts.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::WrongAccess`] for input and output of an operation that only reads or only writes, any error of the
    /// operation's own checks or of its result, [`Error::Unsupported`] for an operation without kernels, [`Error::Length`]
    /// for XTS with a multiple of 1 MiB in the last 16 bytes of a data unit, or within a block, [`Error::NeedsKey`] for an operation that
    /// needs the key on the CPU, on a cipher of one kernel, [`Error::OtherEngine`], and any error the devices report.
    pub fn run<'d, O: Operation>(&self, operation: O, data: impl Into<ShardedBuffers<'d>>) -> Result<O::Output, Error> {
        let ShardedBuffers { input, output } = data.into();
        operation.carry_out(InShards { cipher: self, input, output })
    }

    /// The results of the chunks that each GPU did.
    fn run_in_chunks<O: Pass>(
        &self,
        call: &Call<O>,
        cut: &Cut<O::Ready>,
        input: Option<&ShardedBuffer>,
        output: &mut ShardedBuffer,
        bytes: usize,
    ) -> Result<Vec<Vec<PartOf<O>>>, Error> {
        if output.is_empty() {
            return Ok(vec![]);
        }
        self.key.keys.iter().try_for_each(|key| key.device().enter())?;
        self.key.keys.iter().try_for_each(|key| key.prepare_all(call, None))?;
        let shares: Vec<_> = output.memory().map(|(_, share)| share.range.clone()).collect();
        let (chunks, owned) = chunks::cut(&shares, bytes);
        let mut gpus = self.gpus(call, cut.is_chained(), &shares, &owned)?;
        let ends = if cut.is_chained() { ends(&mut gpus, input.unwrap_or(output), &chunks, &owned)? } else { vec![] };
        let addresses = |buffer: &ShardedBuffer| buffer.memory().map(|(_, share)| share.pointer).collect::<Vec<_>>();
        let (from, to) = (addresses(input.unwrap_or(output)), addresses(output));
        let chunk = |index: usize| {
            let ShareChunk { share, at, len } = chunks[index];
            let whole = Span::new(O::ACCESS, from[share], to[share], shares[share].len() as u64);
            let span = whole.part((at - shares[share].start) as u64, len as u64);
            (call.after(cut, at as u64, || ends[index - 1]), span)
        };
        let reaches = |gpu, owner| output.reaches(gpu, owner) && input.is_none_or(|input| input.reaches(gpu, owner));
        let schedule = Schedule::of(owned, &self.key.weights);
        let mut started = false;
        let mut outcome = drive(&mut gpus, &schedule, chunk, reaches, &mut started);
        for gpu in &mut gpus {
            let waited = gpu.wait().or_else(|_| gpu.wait());
            let is_at_work = waited.is_err() && !gpu.key.device().context().is_poisoned();
            if is_at_work && let Err(error) = &waited {
                // It may still write after the clearing, to any share that it can access.
                let cause = format!("work on sharded memory cannot be waited for: {error}");
                self.key.keys.iter().for_each(|key| key.device().context().poison(cause.clone()));
            }
            outcome = outcome.and(waited);
        }
        if outcome.is_err() && started {
            clear_output(O::ACCESS, output);
        }
        outcome.map(|()| gpus.into_iter().map(|gpu| gpu.done).collect())
    }

    /// The GPUs with slots, at least one each; always in the same order, so that calls waiting for slots do not wait for one another.
    fn gpus<O: Pass>(
        &self,
        work: &dyn Work,
        is_chained: bool,
        shares: &[Range<usize>],
        owned: &[Range<usize>],
    ) -> Result<Vec<Gpu<'a, O>>, Error> {
        let all: usize = shares.iter().map(Range::len).sum();
        let gpu = |((key, share), owned): ((&'a DeviceKey, &Range<usize>), &Range<usize>)| {
            key.device().enter()?;
            // A GPU without a share works on the others' chunks.
            let bytes = if share.is_empty() { all / shares.len() } else { share.len() };
            let choice =
                work.kernels().mode.map(|mode| key.choose(mode, bytes as u64, work.head() == 0, None)).transpose()?;
            let slots = &key.device().slots;
            // With room for the last block of each chunk.
            let blocks = 16 * owned.len().max(1);
            let first = slots.take(blocks)?;
            let first = if is_chained { first.with_staging(blocks)? } else { first };
            // More slots make it faster, but it works without them.
            let more = (1..DEPTH).map_while(|_| slots.try_take(16)?.ok());
            let idle = [first].into_iter().chain(more).collect();
            Ok(Gpu { key, choice, idle, busy: vec![], done: vec![] })
        };
        self.key.keys.iter().zip(shares).zip(owned).map(gpu).collect()
    }
}

impl Target for ShardedCipher<'_> {
    fn cpu(&self) -> Option<&CpuKey> {
        self.cpu.map(|cpu| &**cpu)
    }

    fn kernels_for<O: Operation>(&self, operation: &O) -> Result<KernelsNeeded, Error> {
        let kernels = operation.kernels();
        let supports = |key: &DeviceKey| key.device().supports(kernels);
        if kernels.exist() && !kernels.of_messages && self.key.keys.iter().all(supports) {
            return Ok(kernels);
        }
        Err(unsupported::<O>())
    }
}

/// The data of a call in sharded memory.
struct Shards<'a> {
    key: &'a GroupKey,
    input: Option<&'a ShardedBuffer>,
    output: &'a ShardedBuffer,
}

impl Data for Shards<'_> {
    type Checked = ();

    fn checked<O: Operation>(self, operation: &O) -> Result<((), u64), Error> {
        if self.input.is_some() && operation.access() != Access::Maps {
            return Err(operation.access().refused(O::NAME));
        }
        self.check_buffers()?;
        Ok(((), self.output.len() as u64))
    }
}

impl Shards<'_> {
    /// Checks that both buffers belong to these GPUs and are cut in the same places.
    fn check_buffers(&self) -> Result<(), Error> {
        let (input, output) = (self.input, self.output);
        for buffer in input.into_iter().chain([output]) {
            let devices = self.key.keys.iter().map(DeviceKey::device);
            let same = devices.zip(buffer.memory()).all(|(own, (theirs, _))| Arc::ptr_eq(own, theirs));
            if !same || buffer.memory().len() != self.key.keys.len() {
                return Err(Error::OtherEngine);
            }
        }
        let Some(input) = input else { return Ok(()) };
        if input.len() != output.len() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        // An engine cuts all buffers of the same length in the same places, except those with their own cuts.
        let same_shares = input.memory().zip(output.memory()).all(|((_, a), (_, b))| a.range == b.range);
        if same_shares { Ok(()) } else { Err(Error::OtherEngine) }
    }
}

/// A call on sharded memory.
struct InShards<'c, 'a> {
    cipher: &'c ShardedCipher<'a>,
    input: Option<&'c ShardedBuffer>,
    output: &'c mut ShardedBuffer,
}

impl Place for InShards<'_, '_> {
    type Value<V: Send + 'static> = V;

    fn pass<O: Pass>(self, operation: O) -> Result<O::Output, Error> {
        let Self { cipher, input, output } = self;
        let (call, ()) = Call::scrubbed(cipher, operation, Shards { key: cipher.key, input, output })?;
        let cut = cuts(&call, output.len() as u64, output.cuts.share as u64)?;
        let keys = &cipher.key.keys;
        let multiprocessors = keys.iter().map(|key| key.device().multiprocessors).max().unwrap_or(0);
        let largest = output.memory().map(|(_, share)| share.range.len()).max().unwrap_or(0);
        let bytes = output.cuts.chunk.unwrap_or_else(|| chunk_bytes(largest, multiprocessors));
        let done = cipher.run_in_chunks(&call, &cut, input, output, bytes)?;
        let outcome = call.finish(done.into_iter().flatten().collect());
        outcome.inspect_err(|_| clear_output(O::ACCESS, output))
    }

    fn composed<C: Composition>(self, _composition: C) -> Result<C::Output, Error> {
        Err(unsupported::<C>())
    }
}

fn unsupported<O: Operation>() -> Error {
    Error::Unsupported { operation: O::NAME, backend: MEMORY.into() }
}

/// Clears what a failed call has written.
fn clear_output(access: Access, output: &mut ShardedBuffer) {
    if access != Access::Reads {
        output.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::cipher::{Cipher, KeyOn};
    use crate::api::engine::{Engine, Kind};
    use crate::backend::cuda::several::sharded_buffer::Cuts;
    use crate::base::backend::Backend;
    use crate::base::counter::{Counter, CounterMode};
    use crate::base::key::Key;
    use crate::base::nonce::Nonce;
    use crate::op::cbc::CbcDecrypt;
    use crate::op::ctr::Ctr;
    use crate::op::ecb::Ecb;
    use crate::op::gcm::GcmEncrypt;
    use crate::op::xts::Xts;

    const BYTES: usize = 48 * (1 << 20) + 16 * 5;

    /// A key on several GPUs and on the CPU, and buffers that are on the last GPU.
    struct Gpus {
        cipher: Cipher,
        cpu: Cipher,
        buffer: Box<dyn Fn() -> ShardedBuffer>,
        last: usize,
        data: Vec<u8>,
    }

    impl Gpus {
        fn open() -> Self {
            let engine = Engine::open(Backend::CudaAll).unwrap();
            let key = Key::new(&[7; 32]).unwrap();
            let cipher = engine.cipher(&key).unwrap();
            let cpu = Engine::open(Backend::Cpu).unwrap().cipher(&key).unwrap();
            let Kind::Cuda(group) = engine.kind() else { panic!("CUDA was opened") };
            let last = group.members.len() - 1;
            let buffer = Box::new(move || {
                let Kind::Cuda(group) = engine.kind() else { panic!("CUDA was opened") };
                let weights: Vec<f64> = (0..=last).map(|gpu| f64::from(u8::from(gpu == last))).collect();
                ShardedBuffer::with_weights(group, BYTES, Cuts::USUAL, &weights).unwrap()
            });
            assert!(last > 0, "there is one GPU only");
            assert!((0..last).all(|gpu| buffer().reaches(gpu, last)), "a GPU does not reach the memory of the last");
            let data = (0..BYTES).map(|i| (i ^ i >> 8 ^ i >> 16) as u8).collect();
            Self { cipher, cpu, buffer, last, data }
        }

        fn check<O: Pass>(&self, operation: O)
        where
            O::Output: PartialEq + std::fmt::Debug,
        {
            let mut expected = self.data.clone();
            let value = self.cpu.run(operation.clone(), &mut expected).unwrap();
            let KeyOn::Cuda(key) = self.cipher.key() else { panic!("CUDA was opened") };
            let run = |input: Option<&ShardedBuffer>, output: &mut ShardedBuffer| {
                let sharded = ShardedCipher::new(key, self.cipher.cpu());
                let call = Call::without_data(&sharded, operation.clone()).unwrap();
                let done = sharded.run_in_chunks(&call, &call.cut().unwrap(), input, output, 1 << 20).unwrap();
                let chunks: Vec<_> = done.iter().map(Vec::len).collect();
                let others = &chunks[..self.last];
                assert!(chunks.iter().sum::<usize>() == 49 && others.iter().all(|&chunks| chunks > 0), "{chunks:?}");
                assert_eq!(call.finish(done.into_iter().flatten().collect()).unwrap(), value);
                let mut found = vec![0; BYTES];
                output.copy_to_host(0, &mut found).unwrap();
                assert!(found == expected, "{}, in place: {}", O::NAME, input.is_none());
            };
            let (mut input, mut output) = ((self.buffer)(), (self.buffer)());
            input.copy_from_host(0, &self.data).unwrap();
            run(Some(&input), &mut output);
            run(None, &mut input);
        }
    }

    const CUT: u64 = Cuts::USUAL.share as u64;

    /// The last two blocks of a data unit are not cut apart.
    #[test]
    fn what_cannot_be_cut_is_refused_with_the_reason() {
        let xts = |unit_bytes| Call::on_a_device(Xts::decrypt(unit_bytes, 0).unwrap());
        let (xts, ragged) = (xts(16 << 20), xts(520));
        for bytes in [0, 17, 1 << 20, (1 << 20) + 16, (1 << 20) + 17, (5 << 20) + 1000] {
            cuts(&xts, bytes, CUT).unwrap();
        }
        let refused = |call, bytes| cuts(call, bytes, CUT).err().unwrap().to_string();
        for rest in [1, 15] {
            let refused = refused(&xts, (5 << 20) + rest);
            assert!(refused.starts_with("XTS: 52428") && refused.contains(" byte 5242880 "), "{refused}");
        }
        // The first multiple of 1 MiB is 256 bytes into a unit, the second one within a block.
        cuts(&ragged, 2 << 20, CUT).unwrap();
        let refused = refused(&ragged, (2 << 20) + 16);
        assert!(refused.contains(" byte 2097152 "), "{refused}");
        // For CTR, any bytes are whole blocks.
        let ctr = Ctr::new(&Counter::new(CounterMode::Ctr128BE, [0; 16]), 0);
        cuts(&Call::on_a_device(ctr), (1 << 20) + 1, CUT).unwrap();
    }

    /// All data is on the last GPU, and the others, which can access it, do most of the work.
    #[test]
    #[ignore = "needs several CUDA GPUs that reach each other's memory"]
    fn chunks_are_taken_of_the_slowest() {
        let gpus = Gpus::open();
        let counter = Counter::new(CounterMode::Ctr128BE, [0xff; 16]);
        gpus.check(Ecb::encrypt());
        gpus.check(CbcDecrypt::new(&[9; 16]));
        gpus.check(Ctr::new(&counter, 0));
        gpus.check(Ctr::new(&counter, 5));
        gpus.check(GcmEncrypt::new(&Nonce::from([3; 12]), b"a header"));
    }
}
