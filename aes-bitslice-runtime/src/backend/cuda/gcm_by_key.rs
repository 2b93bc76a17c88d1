//! Messages of GCM in device memory under few keys that have much data each: a launch for those of each key, some beside each other on streams
//! of their own. The kernel is that of GCM in one launch; the cores of the CPU derive what it needs of keys.

use crate::backend::cuda::commands::{HashKernel, RoundKeys, Span};
use crate::backend::cuda::device::Device;
use crate::backend::cuda::memory::batch_memory::{BatchMemory, Beside};
use crate::backend::cuda::select::stored::KeyForm;
use crate::backend::device::hash::{BatchResults, GcmBatch, OfMessages};
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::{EXPANSION, scrubbed};
use crate::base::threads::divided;
use crate::cpu::key::CpuKey;
use crate::exec::sources;
use crate::op::gcm_by_key::{self as op, OfGcmJobs};
use aes_bitslice_core::messages::groups;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::ops::Range;

/// The most launches beside each other: on an H200, 16,384 messages of 64 KiB under 64 keys take less time with 8 than with 4 or 32.
const LAUNCHES: usize = 8;

/// The launches of a call.
pub(super) struct ByKey<'j> {
    kernel: HashKernel,
    form: KeyForm,
    /// The numbers of the messages: those of a key together, the longest first.
    pub(super) order: &'j [u32],
    launches: Vec<OfKey>,
}

/// A launch.
struct OfKey {
    /// Its messages in the order.
    messages: Range<usize>,
    /// The binary logarithm of the groups of threads that share a message.
    wide: u32,
    /// Where its tables are in those of all keys, in bytes.
    tables: Range<usize>,
}

/// What launches take of keys, and the streams that they are on.
pub(super) struct Ready {
    keys: Vec<RoundKeys>,
    beside: Beside,
}

impl<'j> ByKey<'j> {
    /// The launches for these messages; `None` if their keys have no numbers or little data each, or if there is no such kernel for this device,
    /// which was entered on this thread.
    pub(super) fn of(device: &Device, batch: &OfGcmJobs<'j>) -> Result<Option<Self>, Error> {
        let Some((kernel, form)) = device.gcm_kernel()? else { return Ok(None) };
        let Some(op::ByKey { order, ends }) = batch.by_key()? else { return Ok(None) };
        let messages = batch.messages;
        // Of those beside each other, each has its share of the device.
        let units = u64::from(kernel.units()) / ends.len().min(LAUNCHES) as u64;
        let (mut begin, mut bytes_of_tables, mut launches) = (0, 0, vec![]);
        for &end in ends {
            let of_key = &order[begin..end];
            let longest = messages.get(of_key[0] as usize).hashed_blocks();
            let runs = of_key.iter().map(|n| messages.get(*n as usize).runs()).sum();
            let wide = groups(of_key.len() as u64, longest, runs, units);
            let tables = bytes_of_tables..bytes_of_tables + 4 * kernel.words_of_batch(wide);
            bytes_of_tables = tables.end;
            launches.push(OfKey { messages: begin..end, wide, tables });
            begin = end;
        }
        Ok(Some(Self { kernel, form, order, launches }))
    }

    /// Bytes of the tables of all keys.
    pub(super) fn bytes_of_tables(&self) -> usize {
        self.launches.last().map_or(0, |last| last.tables.end)
    }

    /// Writes the tables of all keys into the pinned memory of the call, unless an error is returned; `key` gets the number of a message, and
    /// returns its key. Constant-time.
    pub(super) fn ready<'k>(
        &self,
        memory: &mut BatchMemory,
        tables: Range<usize>,
        key: impl Fn(usize) -> &'k [u8] + Sync,
    ) -> Result<Ready, Error> {
        let beside = memory.beside(self.launches.len().min(LAUNCHES))?;
        let mut all: Vec<Option<RoundKeys>> = self.launches.iter().map(|_| None).collect();
        let mut rest = &mut memory.pinned()[tables];
        let tables = self.launches.iter().map(|of| rest.split_off_mut(..of.tables.len()).expect("as many bytes"));
        divided(self.launches.iter().zip(tables.collect::<Vec<_>>()).zip(&mut all), |((of, tables), keys)| {
            scrubbed::<EXPANSION, _>(|| {
                let key = Key::new(key(self.order[of.messages.start] as usize)).expect("its length was checked");
                *keys = self.form.round_keys(&sources::expanded(&key));
                let words = self.kernel.batch_tables(&CpuKey::new(&key).hash_key(), of.wide);
                tables.as_chunks_mut().0.iter_mut().zip(&*words).for_each(|(to, word)| *to = word.to_ne_bytes());
            });
        });
        let keys = all.into_iter().map(|keys| keys.expect("of one key, not two")).collect();
        Ok(Ready { keys, beside })
    }

    /// Encrypts messages and writes their tags, or decrypts them, reports which are not authentic, and clears those; without waiting. Masks are
    /// at `of.masks` already; `of.order` is where [`order`](Self::order) is, and `tables` where those of all keys are.
    ///
    /// # Safety
    /// Span, description, results and tables are in memory of the device that is live until the work is done; the messages are within the
    /// span; the stream is live.
    pub(super) unsafe fn launch(
        &self,
        ready: &Ready,
        stream: CUstream,
        span: Span,
        of: &OfMessages,
        tables: CUdeviceptr,
        results: BatchResults,
    ) -> Result<(), Error> {
        let one = |stream: CUstream, key: &OfKey, keys: &RoundKeys| {
            let (kernel, Range { start, end }) = (self.kernel.clone(), key.messages.clone());
            let gcm = GcmBatch { kernel, keys, tables: tables + key.tables.start as u64, wide: key.wide };
            let of = OfMessages { order: of.order + 4 * start as u64, all: (end - start) as u32, ..*of };
            let thread_blocks = self.kernel.fewest_blocks(of.all, key.wide);
            // SAFETY: as the caller promises.
            unsafe { gcm.run_masked(&mut { stream }, thread_blocks, span, &of, results) }
        };
        let work = |streams: &[CUstream]| {
            let mut all = self.launches.iter().zip(&ready.keys).zip(streams.iter().cycle());
            all.try_for_each(|((key, keys), stream)| one(*stream, key, keys))
        };
        // SAFETY: as the caller promises.
        unsafe { ready.beside.run(stream, work) }
    }
}
