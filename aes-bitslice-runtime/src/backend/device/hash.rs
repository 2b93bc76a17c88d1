//! A GHASH kernel on a device, and its launches.
//!
//! A launch adds the hash of its data to 16 bytes in device memory; another clears data that such a hash shows not to be authentic
//! (`aes_bitslice_core::manifest`).

use crate::backend::device::driver::Driver;
use crate::backend::device::round_keys::{KeyMaterial, RoundKeys};
use crate::backend::device::span::{Place, Span};
use crate::backend::device::values::Values;
use crate::base::error::Error;
use crate::base::lock::lock;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::cpu::hash_key::{HashKey, PowersByDigits};
use crate::op::launch::{Entry, Launch, Value, block_words, counter_words};
use crate::op::partial_hash::{HASH, Terms, Verdict};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::ghash::{self, Element, Shape};
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_core::messages::{GROUP, WIDEST};
use std::sync::{Arc, Mutex};
use zeroize::Zeroizing;

/// A kernel on a device. Clones share the code.
pub(crate) struct HashKernel<D: Driver>(Arc<LoadedHashKernel<D>>);

struct LoadedHashKernel<D: Driver> {
    driver: Arc<D>,
    manifest: Manifest<Hash>,
    code: D::Code,
    /// The maximum number of thread blocks, for which tables are built.
    units: u32,
    multiprocessors: u32,
}

impl<D: Driver> Clone for HashKernel<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// What is derived from a key's only hash key, made on first use. Clones share it.
pub(crate) struct OfHashKey<T>(Arc<Mutex<Option<Arc<T>>>>);

/// Tables in device memory.
pub(crate) type Tables<D> = OfHashKey<<D as Driver>::KeyMemory>;

impl<T> Clone for OfHashKey<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for OfHashKey<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> OfHashKey<T> {
    /// It, made now if it is not there. Making it leaves nothing on the stack.
    pub(crate) fn get(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<Arc<T>, Error> {
        let mut made = lock(&self.0);
        if made.is_none() {
            *made = Some(Arc::new(scrubbed::<DERIVED, _>(make)?));
        }
        Ok(made.clone().expect("made above"))
    }
}

/// GCM in one launch: counters begin at a multiple of this number; and threads of a warpgroup, which is a unit.
const COUNTERS: u64 = 256;
/// Masks that a warp computes at a time.
const MASKS: u32 = 256;
const WARPGROUP: u32 = 128;

/// What the kernel of GCM in one launch needs of a hash key.
pub(crate) struct GcmTables<D: Driver> {
    pub(crate) tables: D::KeyMemory,
    pub(crate) inverses: PowersByDigits,
}

/// The kernel of GCM in one launch, and what it needs of a key.
pub(crate) struct Gcm<'a, D: Driver> {
    pub(crate) kernel: HashKernel<D>,
    pub(crate) keys: &'a RoundKeys<D::KeyMemory>,
    pub(crate) tables: Arc<GcmTables<D>>,
}

/// The kernel of GCM in one launch for messages that share a warpgroup of 32 groups, `1 << wide` groups each; and what it needs of a key.
pub(crate) struct GcmBatch<'a, D: Driver> {
    pub(crate) kernel: HashKernel<D>,
    pub(crate) keys: &'a RoundKeys<D::KeyMemory>,
    /// Where its tables are in device memory.
    pub(crate) tables: u64,
    pub(crate) wide: u32,
}

/// The results of a batch in device memory: tags to write, or tags to verify and a verdict on each.
#[derive(Clone, Copy)]
pub(crate) enum BatchResults {
    Tags(u64),
    Verdicts { expected: u64, verdicts: u64 },
}

/// Where the hash of a launch of GCM is added up and goes.
#[derive(Clone, Copy)]
pub(crate) struct GcmHash<P> {
    /// 16 bytes, and 4 bytes after them: zeros, which are zeros again after the launch.
    pub(crate) sum: P,
    pub(crate) hash: P,
}

/// What is encrypted or decrypted.
#[derive(Clone, Copy)]
pub(crate) struct Crypt<P> {
    pub(crate) direction: Direction,
    /// The counter of the first block.
    pub(crate) counter: u128,
    /// The data, which is aligned, and not empty.
    pub(crate) span: Span<P>,
}

impl<D: Driver> Gcm<'_, D> {
    /// Encrypts or decrypts in counter mode, and writes the terms of the hash of the ciphertext, without waiting. What is decrypted is cleared
    /// if the terms have a bit of the mask, and the verdict is written in their place; unless the mask is zeros
    /// (`aes_bitslice_core::manifest`). The tables are of `key`.
    ///
    /// # Safety
    /// The span and the places of the hash are in memory of the device that is live until the work is done, as are the tables; the queue belongs to the
    /// device.
    pub(crate) unsafe fn run(
        &self,
        queue: &mut D::Queue,
        Crypt { direction, counter, span }: Crypt<D::Place>,
        key: &HashKey,
        Verdict { terms, mask }: &Verdict,
        GcmHash { sum, hash }: GcmHash<D::Place>,
    ) -> Result<(), Error> {
        let Self { kernel, keys, tables } = self;
        let LoadedHashKernel { driver, manifest, code, units, .. } = &*kernel.0;
        let (blocks, skipped) = (span.len.div_ceil(16), counter as u64 % COUNTERS);
        let tile = u64::from(manifest.shape.tile_blocks());
        let tiles = (skipped + blocks).div_ceil(tile);
        let entry = match direction {
            Direction::Encrypt => Entry::Encrypt,
            Direction::Decrypt => Entry::Decrypt,
        };
        let thread_blocks = tiles.clamp(1, (*units / (manifest.threads / WARPGROUP)).into()) as u32;
        // The factor is a power of the hash key: what the stack keeps of it is overwritten, and the launch wipes its values.
        let launch = key.scrubbed(|| {
            let missing = (tiles * tile - skipped - blocks) as u32; // fewer than a tile has
            let factor = key.times(&terms.factor, &tables.inverses, missing);
            let values = vec![
                (Argument::Length, Value::U64(span.len)),
                (Argument::Counter, Value::Words(counter_words(counter))),
                (Argument::Tables, Value::Address(tables.tables.place().address())),
                (Argument::Units, Value::U32(*units)),
                (Argument::Sums, Value::Address(sum.address())),
                (Argument::Arrived, Value::Address(sum.after(HASH as u64).address())),
                (Argument::Hash, Value::Address(hash.address())),
                (Argument::Factor, Value::Words(block_words(&factor))),
                (Argument::Addend, Value::Words(block_words(&terms.addend))),
                (Argument::Mask, Value::Words(block_words(mask))),
            ];
            Launch { entry, at: 0, thread_blocks, threads: manifest.threads, values }
        });
        let values = Values { span, launch: &launch, keys: Some(keys), tables: Some(&tables.tables) };
        // SAFETY: as the caller promises; the threads are the manifest's.
        unsafe { driver.launch(queue, code, &launch, &values) }
    }
}

impl<D: Driver> GcmBatch<'_, D> {
    /// Encrypts messages and writes their tags, or decrypts them, reports at `verdicts` which are not authentic, and clears those; without
    /// waiting. Masks go to `of.masks`, over which tags may be written.
    ///
    /// # Safety
    /// The span and everything else are in memory of the device that is live until the work is done, as are the tables, which are of this key and
    /// `wide`; the description of the messages refers to nothing outside; the queue belongs to the device.
    pub(crate) unsafe fn run(
        &self,
        queue: &mut D::Queue,
        span: Span<D::Place>,
        of: &OfMessages,
        results: BatchResults,
    ) -> Result<(), Error> {
        let LoadedHashKernel { multiprocessors, .. } = *self.kernel.0;
        let values = vec![
            (Argument::Messages, Value::Address(of.messages)),
            (Argument::All, Value::U32(of.all)),
            (Argument::Masks, Value::Address(of.masks)),
        ];
        let blocks = |work: u32| work.clamp(1, multiprocessors.max(1));
        // SAFETY: as the caller promises.
        unsafe {
            let (nothing, masks) = (Span::between(None, None, 0), of.all.div_ceil(MASKS));
            self.launch(queue, Entry::BatchMasks, blocks(masks), nothing, values)?;
            self.run_masked(queue, blocks(of.all.div_ceil(32 >> self.wide)), span, of, results)
        }
    }

    /// Likewise for messages whose masks are there, by this number of thread blocks. `of.all` are the messages at `of.order`, where any numbers
    /// may be.
    ///
    /// # Safety
    /// As [`run`](Self::run).
    pub(crate) unsafe fn run_masked(
        &self,
        queue: &mut D::Queue,
        thread_blocks: u32,
        span: Span<D::Place>,
        of: &OfMessages,
        results: BatchResults,
    ) -> Result<(), Error> {
        let mut values = vec![
            (Argument::Messages, Value::Address(of.messages)),
            (Argument::Masks, Value::Address(of.masks)),
            (Argument::All, Value::U32(of.all)),
            (Argument::Order, Value::Address(of.order)),
            (Argument::Wide, Value::U32(self.wide)),
            (Argument::Aad, Value::Address(of.aad)),
            (Argument::Tables, Value::Address(self.tables)),
        ];
        let entry = match results {
            BatchResults::Tags(tags) => {
                values.push((Argument::Tags, Value::Address(tags)));
                Entry::BatchEncrypt
            }
            BatchResults::Verdicts { expected, verdicts } => {
                values.push((Argument::Expected, Value::Address(expected)));
                values.push((Argument::Verdicts, Value::Address(verdicts)));
                Entry::BatchDecrypt
            }
        };
        // SAFETY: as the caller promises.
        unsafe { self.launch(queue, entry, thread_blocks, span, values) }
    }

    /// # Safety
    /// As [`run`](Self::run).
    unsafe fn launch(
        &self,
        queue: &mut D::Queue,
        entry: Entry,
        thread_blocks: u32,
        span: Span<D::Place>,
        values: Vec<(Argument, Value)>,
    ) -> Result<(), Error> {
        let LoadedHashKernel { driver, manifest, code, .. } = &*self.kernel.0;
        let launch = Launch { entry, at: 0, thread_blocks, threads: manifest.threads, values };
        let values = Values { span, launch: &launch, keys: Some(self.keys), tables: None };
        // SAFETY: as the caller promises; the threads are the manifest's.
        unsafe { driver.launch(queue, code, &launch, &values) }
    }
}

impl<D: Driver> HashKernel<D> {
    /// A kernel from its code, which was loaded on a device of this number of multiprocessors.
    pub(crate) fn new(driver: &Arc<D>, multiprocessors: u32, manifest: Manifest<Hash>, code: D::Code) -> Self {
        let units = manifest.units_per_sm * multiprocessors.max(1);
        Self(Arc::new(LoadedHashKernel { driver: driver.clone(), manifest, code, units, multiprocessors }))
    }

    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.0.manifest.kernel
    }

    /// The device's driver.
    pub(crate) fn driver(&self) -> &Arc<D> {
        &self.0.driver
    }

    /// Thread blocks for work of which each thread does one piece at a time, as many pieces as this.
    #[cfg(feature = "cuda")]
    pub(crate) fn thread_blocks_for(&self, pieces: u32) -> u32 {
        let LoadedHashKernel { manifest, multiprocessors, .. } = &*self.0;
        pieces.div_ceil(manifest.threads).min(2 * (*multiprocessors).max(1))
    }

    /// The tables that launches under a hash key read, in the memory of the device, which was entered on this thread.
    pub(crate) fn tables(&self, key: &HashKey) -> Result<D::KeyMemory, Error> {
        self.tables_of(key, &self.0.manifest.shape, self.0.units)
    }

    /// The tables that launches on many messages under a hash key read, in the memory of the device, which was entered on this thread.
    pub(crate) fn tables_of_messages(&self, key: &HashKey) -> Result<D::KeyMemory, Error> {
        let none = || Error::NoSuchKernel { what: format!("{} is for one message at a time", self.name()) };
        self.tables_of(key, &self.0.manifest.message_shape.ok_or_else(none)?, 1)
    }

    /// The tables that launches of GCM on many messages under a hash key read, `1 << wide` groups a message, in the memory of the device, which was
    /// entered on this thread.
    pub(crate) fn tables_of_batch(&self, key: &HashKey, wide: u32) -> Result<D::KeyMemory, Error> {
        self.0.driver.key_memory(&self.batch_tables(key, wide))
    }

    /// These tables.
    pub(crate) fn batch_tables(&self, key: &HashKey, wide: u32) -> Zeroizing<Vec<u32>> {
        ghash::batch_tables(Element::from_block(*key.bytes()), &self.0.manifest.shape, wide)
    }

    /// The number of words that they have.
    #[cfg(feature = "cuda")]
    pub(crate) fn words_of_batch(&self, wide: u32) -> usize {
        ghash::batch_words(&self.0.manifest.shape, wide)
    }

    /// The fewest thread blocks that have a warpgroup for each unit of this number of messages, if the device has as many.
    #[cfg(feature = "cuda")]
    pub(crate) fn fewest_blocks(&self, messages: u32, wide: u32) -> u32 {
        let LoadedHashKernel { manifest, multiprocessors, .. } = &*self.0;
        messages.div_ceil(32 >> wide).div_ceil(manifest.units_per_sm).clamp(1, (*multiprocessors).max(1))
    }

    /// The number of units of work that it does at a time.
    pub(crate) fn units(&self) -> u32 {
        self.0.units
    }

    fn tables_of(&self, key: &HashKey, shape: &Shape, units: u32) -> Result<D::KeyMemory, Error> {
        self.0.driver.key_memory(&ghash::tables(key.blocks(), Element::from_block(*key.bytes()), shape, units))
    }

    /// Puts a launch into a queue, without waiting.
    ///
    /// # Safety
    /// The values belong to the entry point; they and the span are in memory of the device that is live until the work is done; the queue
    /// belongs to the device.
    pub(crate) unsafe fn launch(
        &self,
        entry: Entry,
        queue: &mut D::Queue,
        thread_blocks: u32,
        span: Span<D::Place>,
        tables: Option<&D::KeyMemory>,
        values: Vec<(Argument, Value)>,
    ) -> Result<(), Error> {
        let LoadedHashKernel { driver, manifest, code, .. } = &*self.0;
        let launch = Launch { entry, at: 0, thread_blocks, threads: manifest.threads, values };
        // SAFETY: as the caller promises; the threads are the manifest's.
        unsafe { driver.launch(queue, code, &launch, &Values { span, launch: &launch, keys: None, tables }) }
    }

    /// Adds the terms of the hash of `len` bytes from `input` on to a sum, without waiting.
    ///
    /// # Safety
    /// Input and sum are in memory of the device that is live until the work is done, as are the tables, which belong to this kernel; the
    /// queue belongs to the device.
    pub(crate) unsafe fn run(
        &self,
        queue: &mut D::Queue,
        input: D::Place,
        len: u64,
        tables: &D::KeyMemory,
        Sum { terms, at }: Sum<'_, D::Place>,
    ) -> Result<(), Error> {
        let LoadedHashKernel { manifest, units, .. } = &*self.0;
        let entry = if input.is_aligned() { Entry::Hash } else { Entry::HashBytes };
        let values = vec![
            (Argument::Length, Value::U64(len)),
            (Argument::Tables, Value::Address(tables.place().address())),
            (Argument::Units, Value::U32(*units)),
            (Argument::Factor, Value::Words(block_words(&terms.factor))),
            (Argument::Addend, Value::Words(block_words(&terms.addend))),
        ];
        let tiles = manifest.shape.tiles(len).clamp(1, (*units).into()) as u32;
        let span = Span::between(Some(input), Some(at), len);
        // SAFETY: as the caller guarantees.
        unsafe { self.launch(entry, queue, tiles, span, Some(tables), values) }
    }

    /// Clears `len` bytes from `output` on, without waiting, unless the hash in the 16 bytes at `hash` shows that they are authentic.
    ///
    /// # Safety
    /// Both are in memory of the device that is live until the work is done; `hash` is aligned to 4 bytes, and comes from
    /// [`run`](Self::run) earlier in the queue, which belongs to the device.
    pub(crate) unsafe fn clear_unless_authentic(
        &self,
        queue: &mut D::Queue,
        output: D::Place,
        len: u64,
        hash: D::Place,
        verdict: &Verdict,
    ) -> Result<(), Error> {
        let LoadedHashKernel { manifest, multiprocessors, .. } = &*self.0;
        let values = vec![
            (Argument::Length, Value::U64(len)),
            (Argument::Hash, Value::Address(hash.address())),
            (Argument::Factor, Value::Words(block_words(&verdict.terms.factor))),
            (Argument::Addend, Value::Words(block_words(&verdict.terms.addend))),
            (Argument::Mask, Value::Words(block_words(&verdict.mask))),
        ];
        // Few, because there is almost never anything to clear, and launching more takes longer.
        let most = len.div_ceil(manifest.threads.into()).try_into().unwrap_or(u32::MAX);
        let thread_blocks = (2 * (*multiprocessors).max(1)).min(most);
        // SAFETY: as in `run`.
        unsafe { self.launch(Entry::Clear, queue, thread_blocks, Span::between(None, Some(output), len), None, values) }
    }

    /// Computes 16 bytes for each message at `out`, the sum of its hash and its mask, without waiting.
    ///
    /// # Safety
    /// All are in memory of the device that is live until the work is done, as are the tables, which belong to this kernel and are for
    /// messages; the description of the messages refers to nothing outside; the queue belongs to the device.
    pub(crate) unsafe fn make_tags(
        &self,
        queue: &mut D::Queue,
        input: D::Place,
        tables: &D::KeyMemory,
        of: &OfMessages,
        out: D::Place,
    ) -> Result<(), Error> {
        let values = vec![
            (Argument::Messages, Value::Address(of.messages)),
            (Argument::Order, Value::Address(of.order)),
            (Argument::All, Value::U32(of.all)),
            (Argument::Aad, Value::Address(of.aad)),
            (Argument::Masks, Value::Address(of.masks)),
            (Argument::Tables, Value::Address(tables.place().address())),
        ];
        let thread_blocks = of.all.div_ceil(GROUP).min(self.0.units);
        let span = Span::between(Some(input), Some(out), 0);
        // SAFETY: as the caller promises.
        unsafe { self.launch(Entry::HashMessages, queue, thread_blocks, span, Some(tables), values) }
    }

    /// Computes 16 bytes for each message at `out`, the sum of its mask and its hash under the key with its number of those at `hash_keys`,
    /// without waiting; `1 << wide` threads share a message.
    ///
    /// # Safety
    /// All are in memory of the device that is live until the work is done; the description of the messages refers to nothing outside; the
    /// queue belongs to the device.
    pub(crate) unsafe fn make_tags_of_jobs(
        &self,
        queue: &mut D::Queue,
        input: D::Place,
        hash_keys: u64,
        wide: u32,
        of: &OfMessages,
        out: D::Place,
    ) -> Result<(), Error> {
        let values = vec![
            (Argument::Messages, Value::Address(of.messages)),
            (Argument::Order, Value::Address(of.order)),
            (Argument::All, Value::U32(of.all)),
            (Argument::Wide, Value::U32(wide)),
            (Argument::Aad, Value::Address(of.aad)),
            (Argument::Masks, Value::Address(of.masks)),
            (Argument::HashKeys, Value::Address(hash_keys)),
        ];
        let thread_blocks = of.all.div_ceil(self.0.manifest.threads >> wide);
        let span = Span::between(Some(input), Some(out), 0);
        // SAFETY: as the caller promises.
        unsafe { self.launch(Entry::HashJobs, queue, thread_blocks, span, None, values) }
    }

    /// The logarithm of the number of threads that share each of `messages` messages in [`make_tags_of_jobs`](Self::make_tags_of_jobs), of
    /// which the longest has `longest` blocks, and all of them some `blocks`: enough for all multiprocessors, and for the longest not to
    /// take much more time than all. Sharing costs each thread some products.
    pub(crate) fn wide_for_jobs(&self, messages: u32, longest: u64, blocks: u64) -> u32 {
        let LoadedHashKernel { manifest, multiprocessors, .. } = &*self.0;
        let enough = 2 * u64::from(manifest.threads * multiprocessors).max(1);
        let is_enough = |wide: &u32| u64::from(messages) << wide >= enough;
        let is_even = |wide: &u32| longest >> wide <= 2 * blocks.div_ceil(enough);
        (0..WIDEST).find(|wide| is_enough(wide) && is_even(wide)).unwrap_or(WIDEST)
    }

    /// Clears the messages from `output` on whose 16 bytes at `hashes` and mask differ, as far as their tags count, and reports which at
    /// `verdicts`, without waiting.
    ///
    /// # Safety
    /// All are in memory of the device that is live until the work is done; `hashes` come from [`make_tags`](Self::make_tags) earlier in
    /// the queue, which belongs to the device; the description of the messages refers to nothing outside.
    pub(crate) unsafe fn clear_messages(
        &self,
        queue: &mut D::Queue,
        output: D::Place,
        of: &OfMessages,
        hashes: u64,
        verdicts: u64,
    ) -> Result<(), Error> {
        let LoadedHashKernel { manifest, multiprocessors, .. } = &*self.0;
        let values = vec![
            (Argument::Messages, Value::Address(of.messages)),
            (Argument::All, Value::U32(of.all)),
            (Argument::Tags, Value::Address(hashes)),
            (Argument::Expected, Value::Address(of.masks)),
            (Argument::Verdicts, Value::Address(verdicts)),
        ];
        // Each warp works on one message at a time.
        let thread_blocks = of.all.div_ceil(manifest.threads / 32).min(16 * multiprocessors);
        let span = Span::between(None, Some(output), 0);
        // SAFETY: as the caller promises.
        unsafe { self.launch(Entry::ClearMessages, queue, thread_blocks, span, None, values) }
    }
}

/// A sum of the terms of hashes, in 16 bytes of device memory that are aligned to 4.
#[derive(Clone, Copy)]
pub(crate) struct Sum<'a, P> {
    pub(crate) terms: &'a Terms,
    pub(crate) at: P,
}

/// The device addresses of the data that describes messages, and of their masks.
#[derive(Clone, Copy)]
pub(crate) struct OfMessages {
    pub(crate) messages: u64,
    pub(crate) order: u64,
    /// The number of messages.
    pub(crate) all: u32,
    pub(crate) aad: u64,
    pub(crate) masks: u64,
}
