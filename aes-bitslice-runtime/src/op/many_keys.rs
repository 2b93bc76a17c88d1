//! Many keys in one call: jobs, each with a key, a first counter and a range of the data; or an equal number of bytes under each of many
//! keys.
//!
//! The keys are part of the work, so no cipher needs one. The modes are ECB, counter mode (SP 800-38A, sections 6.1 and 6.5) with 128-bit
//! counters that wrap, and the key stream of counter mode. [`EachKey`] is not an [operation](crate::Operation): its keys are where its data is.

use crate::base::counter::CounterBlock;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::lock::made_once;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::base::stop::Stop;
use crate::base::threads::{divided, groups};
use crate::cpu::block::BlockCipher;
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::ranges::{Fault, Placed, Ranges, Rules};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::count::counted;
use aes_bitslice_core::jobs as core;
use aes_bitslice_core::memory::{NoMemory, collected, room};
use aes_bitslice_core::mode::Mode;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use zeroize::Zeroizing;

/// A job: a key, and the data that it is for.
#[derive(Clone, Default)]
pub struct Job<'a> {
    /// The key: 16, 24 or 32 bytes. All keys of a call have the same length.
    pub key: &'a [u8],
    /// The first counter block, a big-endian 128-bit number, which wraps. ECB ignores it.
    pub counter: [u8; 16],
    /// The range of bytes in the call's data. It may be empty; for ECB its length is a multiple of 16.
    pub range: Range<u64>,
}

/// Does not show the key.
impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Job({} bits, bytes {:?})", 8 * self.key.len(), self.range)
    }
}

/// Many jobs in one call, each with its own key.
///
/// ```
/// use aes_bitslice_runtime::{Backend, Engine, Error, Job, Jobs, Key, KeyBits, Mode};
///
/// let cipher = Engine::open(Backend::Cpu)?.under_own_keys();
/// let keys = [Key::generate(KeyBits::Aes128)?, Key::generate(KeyBits::Aes128)?]; // each used for one message: any counter will do
/// let mut data = *b"one message, and another";
/// let job = |n: usize, range| Job { key: keys[n].expose(), counter: [0; 16], range };
/// let jobs = Jobs::new(Mode::Ctr, &[job(0, 0..11), job(1, 13..24)])?;
/// cipher.run(jobs.clone(), &mut data)?;
/// assert_eq!(&data[11..13], b", ");
/// cipher.run(jobs, &mut data)?; // decrypts
/// assert_eq!(&data, b"one message, and another");
/// # Ok::<(), Error>(())
/// ```
///
/// The data between jobs is unchanged. Key stream only writes: give it an output alone. Any cipher performs them, and uses no key of its
/// own; one that has none is [`Engine::under_own_keys`](crate::Engine::under_own_keys). In host memory the CPU cores do the work, whatever
/// the engine. In device memory of a CUDA engine it is one call on the caller's stream
/// ([`DeviceCipher::run_with_output`](crate::cuda::DeviceCipher::run_with_output)), which expands the keys there: it is fast for jobs of a
/// few KiB or more. For short jobs with the same number of bytes under each key, [`EachKey`] is fast, because jobs work in runs of 32
/// blocks.
#[derive(Clone)]
pub struct Jobs {
    pub(crate) flow: Flow,
    pub(crate) bits: KeyBits,
    /// All keys, concatenated.
    pub(crate) keys: Arc<Zeroizing<Vec<u8>>>,
    /// The first counter block of each job; none in ECB.
    pub(crate) counters: Arc<Vec<[u8; 16]>>,
    pub(crate) ranges: Arc<Placed>,
    /// Their description for a GPU, once it was made.
    tables: Arc<OnceLock<Tables>>,
}

/// The description of jobs for a GPU: how long runs are, their number, and the tables of jobs and of runs, as little-endian words. Of jobs
/// that are equally long and equally far apart, the first is there alone.
pub(crate) struct Tables {
    pub(crate) wide: u32,
    pub(crate) all_runs: u64,
    pub(crate) jobs: Vec<[u8; 4]>,
    pub(crate) runs: Vec<[u8; 4]>,
}

impl Tables {
    fn of(ranges: &Placed) -> Result<Self, NoMemory> {
        let wide = core::widest(|wide| runs_of(ranges, wide));
        let listed = (0..ranges.listed()).map(|n| job(ranges.get(n)));
        let [jobs, runs] = core::tables(listed, ranges.stride(), wide)?;
        Ok(Self { wide, all_runs: runs_of(ranges, wide), jobs, runs })
    }
}

fn job(Range { start, end }: Range<u64>) -> core::Job {
    core::Job { at: start, bytes: end - start }
}

/// The number of runs of all jobs.
fn runs_of(ranges: &Placed, wide: u32) -> u64 {
    let equal = ranges.equal_length().map(|bytes| core::Job { at: 0, bytes }.runs(wide) * ranges.len() as u64);
    equal.unwrap_or_else(|| ranges.iter().map(|range| job(range).runs(wide)).sum())
}

/// An equal number of bytes under each of many keys: the first key is for the first `bytes` bytes of the data, the second for the next
/// `bytes`, and so on. Counters, if the mode has them, start again under each key.
///
/// ```
/// use aes_bitslice_runtime::{Backend, EachKey, Engine, Error, KeyBits, Mode};
///
/// // The two children of each of three seeds, as in a tree of a pseudorandom generator: the key stream from counter 0 on.
/// let engine = Engine::open(Backend::Cpu)?;
/// let seeds = [[1; 16], [2; 16], [3; 16]];
/// let children = EachKey::new(Mode::Keystream, KeyBits::Aes128, [0; 16], 32)?;
/// let mut data = [0; 3 * 32];
/// engine.run_each_key(&children, seeds.as_flattened(), &mut data)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EachKey {
    pub(crate) flow: Flow,
    pub(crate) bits: KeyBits,
    pub(crate) counter: u128,
    pub(crate) bytes: u64,
}

/// The input of the cipher, and where its output goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// The input is the data, which is processed in this direction and replaced by the output.
    Ecb(Direction),
    /// The input is counters, and the output is added to the data.
    Ctr,
    /// The input is counters, and the output is the data.
    Keystream,
}

pub(crate) fn refused<T>(fault: impl Into<Fault>) -> Result<T, Error> {
    Err(fault.into().error(|what| Error::Jobs { what }))
}

impl Flow {
    const ALL: [Self; 4] = [Self::Ctr, Self::Ecb(Direction::Encrypt), Self::Ecb(Direction::Decrypt), Self::Keystream];

    fn of(mode: Mode) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|flow| flow.mode() == mode).ok_or_else(|| Self::none_is(mode.name()))
    }

    fn named(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|flow| flow.mode().name() == name).ok_or_else(|| Self::none_is(name))
    }

    fn none_is(name: &str) -> Error {
        let [others @ .., last] = Self::ALL.map(|flow| flow.mode().name());
        Error::Jobs { what: format!("{name} is not done under many keys: use {} or {last}", others.join(", ")) }
    }

    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Ecb(direction) => Mode::ecb(direction),
            Self::Ctr => Mode::Ctr,
            Self::Keystream => Mode::Keystream,
        }
    }

    pub(crate) fn counts(self) -> bool {
        !matches!(self, Self::Ecb(_))
    }

    pub(crate) fn adds(self) -> bool {
        self == Self::Ctr
    }

    pub(crate) fn access(self) -> Access {
        if self == Self::Keystream { Access::Writes } else { Access::Maps }
    }

    /// Processes data under a key on this core.
    fn on_cpu(self, key: &[u8], counter: u128, mut data: Buffers<'_>) {
        let key = CpuKey::new(&Key::new(key).expect("its length was checked"));
        match self {
            Self::Ecb(direction) => key.process(direction, data.into_blocks()),
            Self::Ctr => key.add_key_stream(CounterBlock::new(counter), 0, data.into_in_out()),
            Self::Keystream => {
                data.output().fill(0);
                key.add_key_stream(CounterBlock::new(counter), 0, data.output().into());
            }
        }
    }
}

/// The name, used in error texts.
pub(crate) const NAME: &str = "a call under many keys";

/// The maximum number of blocks in a job: block numbers have 32 bits.
const MOST_BLOCKS: u64 = u32::MAX as u64;
pub(crate) const RANGES: Rules = Rules { what: "job", ascending: true, longest: 16 * MOST_BLOCKS };
/// The maximum number of jobs that a core takes at a time.
const AT_A_TIME: usize = 64;

impl Jobs {
    /// The mode with this name, if it is available under many keys.
    ///
    /// # Errors
    /// [`Error::Jobs`] with the names of the available modes.
    pub fn mode_named(name: &str) -> Result<Mode, Error> {
        Flow::named(name).map(Flow::mode)
    }

    /// Takes jobs, whose ranges ascend and do not overlap, in the mode [`Mode::Ctr`], [`Mode::EcbEncrypt`],
    /// [`Mode::EcbDecrypt`] or [`Mode::Keystream`]. Everything is copied; the copy of the keys is wiped on drop.
    ///
    /// In counter modes, two jobs with equal keys must not have a counter in common: nothing checks this.
    ///
    /// # Errors
    /// [`Error::Jobs`] for another mode, for keys of different lengths, for ranges that do not ascend, for an ECB length that is not a
    /// multiple of 16, and for a job of more than 64 GiB; [`Error::KeyLength`] for a key whose length is not an AES key length.
    pub fn new(mode: Mode, jobs: &[Job<'_>]) -> Result<Self, Error> {
        let flow = Flow::of(mode)?;
        let (bits, keys) = Self::keys_of(jobs.iter().map(|job| job.key))?;
        let ranges = Placed::of(jobs.len(), |n| Some(jobs[n].range.clone()), &RANGES).or_else(refused)?;
        let counting = if flow.counts() { jobs } else { &[] };
        Self::of(flow, bits, keys, collected(counting.iter().map(|job| job.counter))?, ranges)
    }

    /// Takes jobs as arrays describe them: contiguous keys of `bits` bits, a first counter block for each (none in ECB), and their ranges,
    /// which ascend and do not overlap. Modes and wiping are those of [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new); and [`Error::Jobs`] for another number of keys or counters than of ranges, and for negative positions.
    pub fn from_arrays(
        mode: Mode,
        bits: KeyBits,
        keys: &[u8],
        counters: &[[u8; 16]],
        ranges: &Ranges<'_>,
    ) -> Result<Self, Error> {
        let (flow, count) = (Flow::of(mode)?, ranges.len());
        let jobs = || counted(count, "job");
        if count.checked_mul(bits.bytes()) != Some(keys.len()) {
            let found = counted(keys.len(), "byte");
            return refused(format!("{found} of keys for {}: give {} for each", jobs(), bits.bytes()));
        }
        let needed = if flow.counts() { count } else { 0 };
        if counters.len() != needed {
            let found = counted(counters.len(), "counter");
            return refused(format!("{found} for {}: {mode} takes {needed}", jobs()));
        }
        let ranges = ranges.placed(&RANGES).or_else(refused)?;
        let keys = Zeroizing::new(collected(keys.iter().copied())?);
        Self::of(flow, bits, keys, collected(counters.iter().copied())?, ranges)
    }

    /// Jobs whose keys and counters are in device memory.
    #[cfg(feature = "cuda")]
    pub(crate) fn laid_out(mode: Mode, bits: KeyBits, ranges: &Ranges<'_>) -> Result<Self, Error> {
        Self::of(Flow::of(mode)?, bits, Zeroizing::default(), vec![], ranges.placed(&RANGES).or_else(refused)?)
    }

    /// Copies keys, which have one length.
    pub(crate) fn keys_of<'a>(
        keys: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) -> Result<(KeyBits, Zeroizing<Vec<u8>>), Error> {
        let bytes = keys.clone().next().map_or(16, <[u8]>::len);
        let bits = KeyBits::from_bytes(bytes).ok_or(Error::KeyLength { bytes })?;
        // Allocated at full length: growing would leave copies behind.
        let mut all = Zeroizing::new(room(keys.len().saturating_mul(bytes))?);
        keys.clone().filter(|key| key.len() == bytes).for_each(|key| all.extend_from_slice(key));
        match keys.zip(0..).find(|(key, _)| key.len() != bytes) {
            None => Ok((bits, all)),
            Some((key, n)) => {
                let (other, bits) = (8 * key.len(), bits.bits());
                refused(format!(
                    "the key of job {n} has {other} bits, and that of job 0 has {bits}: make a call for each length"
                ))
            }
        }
    }

    pub(crate) fn of(
        flow: Flow,
        bits: KeyBits,
        keys: Zeroizing<Vec<u8>>,
        counters: Vec<[u8; 16]>,
        ranges: Placed,
    ) -> Result<Self, Error> {
        let is_ragged = |range: Range<u64>| !(range.end - range.start).is_multiple_of(16);
        let different = if ranges.equal_length().is_some() { ranges.len().min(1) } else { ranges.len() };
        if let Some(n) = (0..different).find(|&n| !flow.counts() && is_ragged(ranges.get(n))) {
            let bytes = counted(job(ranges.get(n)).bytes, "byte");
            return refused(format!("job {n} has {bytes}, and ECB takes whole blocks of 16"));
        }
        if u32::try_from(runs_of(&ranges, 0)).is_err() || u32::try_from(ranges.len()).is_err() {
            return refused("more than 2 TiB of jobs: make several calls".to_owned());
        }
        let (keys, counters, ranges) = (Arc::new(keys), Arc::new(counters), Arc::new(ranges));
        Ok(Self { flow, bits, keys, counters, ranges, tables: Arc::default() })
    }

    /// The number of jobs.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their description for a GPU.
    pub(crate) fn tables(&self) -> Result<&Tables, NoMemory> {
        made_once(&self.tables, || Tables::of(&self.ranges))
    }

    /// The number of bytes of each job, a multiple of 16, if they are equal shares of the data from its first byte on.
    fn share(&self) -> Option<u64> {
        let bytes = self.ranges.equal_length().filter(|bytes| *bytes > 0 && bytes.is_multiple_of(16))?;
        let adjoin = self.ranges.get(0).start == 0 && self.ranges.end() == bytes * self.len() as u64;
        adjoin.then_some(bytes)
    }

    /// Returns these jobs as an [`EachKey`], if they are equal shares of the data from its first byte on, of fewer than this many bytes and
    /// with the first counter in common.
    pub(crate) fn as_each_key(&self, below: u64) -> Option<EachKey> {
        let bytes = self.share().filter(|bytes| *bytes < below)?;
        let first = self.counters.first().copied().unwrap_or_default();
        let are_equal = self.counters.iter().all(|counter| *counter == first);
        are_equal.then_some(EachKey { flow: self.flow, bits: self.bits, counter: u128::from_be_bytes(first), bytes })
    }

    /// Performs all jobs on the CPU cores.
    pub(crate) fn on_cores(&self, data: Buffers<'_>) {
        let counter = |n: usize| self.counters.get(n).map_or(0, |counter| u128::from_be_bytes(*counter));
        on_cores(self.len(), |n| self.ranges.get(n), data, |n, data| self.flow.on_cpu(self.key(n), counter(n), data));
    }

    /// The key of the job with this number.
    pub(crate) fn key(&self, n: usize) -> &[u8] {
        &self.keys[n * self.bits.bytes()..][..self.bits.bytes()]
    }
}

/// Does not show keys.
impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jobs({:?}, {} keys of {} bits)", self.flow, self.len(), self.bits.bits())
    }
}

impl EachKey {
    /// Assigns to each key of `bits` bits the next `bytes` bytes, a multiple of 16, in the mode [`Mode::Ctr`], [`Mode::EcbEncrypt`],
    /// [`Mode::EcbDecrypt`] or [`Mode::Keystream`]. `counter` is the first counter block under each key, a big-endian number, which wraps;
    /// ECB ignores it.
    ///
    /// # Errors
    /// [`Error::Jobs`] for another mode, and for zero bytes or a number that is not a multiple of 16.
    pub fn new(mode: Mode, bits: KeyBits, counter: [u8; 16], bytes: u64) -> Result<Self, Error> {
        if bytes == 0 || !bytes.is_multiple_of(16) {
            return refused(format!("{} for each key: a multiple of 16 is right, at least 16", counted(bytes, "byte")));
        }
        Ok(Self { flow: Flow::of(mode)?, bits, counter: u128::from_be_bytes(counter), bytes })
    }

    /// Refuses data whose length does not match the keys.
    pub(crate) fn check(&self, keys: u64, bytes: u64) -> Result<(), Error> {
        let (of_key, each) = (self.bits.bytes() as u64, self.bytes);
        if !keys.is_multiple_of(of_key) {
            return refused(format!("{} of keys: give whole keys of {of_key} bytes each", counted(keys, "byte")));
        }
        let number = keys / of_key;
        if number.checked_mul(each) != Some(bytes) {
            return refused(format!("{} for {each} bytes each, and the data has {bytes}", counted(number, "key")));
        }
        if bytes / 16 > MOST_BLOCKS {
            refused(format!("{bytes} bytes: make several calls, of less than 64 GiB each"))
        } else {
            Ok(())
        }
    }

    /// Processes the data under all keys on the CPU cores.
    pub(crate) fn on_cpu(&self, keys: &[u8], data: Buffers<'_>) {
        let (size, bytes) = (self.bits.bytes(), self.bytes);
        let range = |n: usize| n as u64 * bytes..(n as u64 + 1) * bytes;
        let one = |n: usize, data: Buffers<'_>| self.flow.on_cpu(&keys[n * size..][..size], self.counter, data);
        on_cores(keys.len() / size, range, data, one);
    }
}

/// Does `one` for each of `count` jobs, which are at these ranges of the data, on the CPU cores.
fn on_cores(
    count: usize,
    range: impl Fn(usize) -> Range<u64> + Sync,
    data: Buffers<'_>,
    one: impl Fn(usize, Buffers<'_>) + Sync,
) {
    let (stop, groups) = (Stop::current(), groups(count, AT_A_TIME));
    let parts = data.parts(groups.clone().map(|group| range(group.start).start..range(group.end - 1).end));
    divided(groups.zip(parts), |(group, data)| {
        let begin = range(group.start).start;
        let ranges = group.clone().map(|n| range(n).start - begin..range(n).end - begin);
        scrubbed::<DERIVED, _>(|| {
            let all = group.zip(data.parts(ranges)).take_while(|_| !stop.is_now());
            all.for_each(|(n, data)| one(n, data));
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::operation::Operation;

    /// Jobs with these counters and ranges, under different keys.
    fn jobs(mode: Mode, all: &[(u128, Range<u64>)]) -> Result<Jobs, Error> {
        let keys: Vec<[u8; 16]> = (0..all.len()).map(|n| [n as u8; 16]).collect();
        let jobs = keys.iter().zip(all).map(|(key, (counter, range))| Job {
            key,
            counter: counter.to_be_bytes(),
            range: range.clone(),
        });
        Jobs::new(mode, &jobs.collect::<Vec<_>>())
    }

    #[test]
    fn only_equal_jobs_are_equal_shares() {
        let shares = |mode, all: &[(u128, Range<u64>)]| {
            let each = jobs(mode, all).unwrap().as_each_key(u64::MAX);
            each.map(|each| (each.flow.mode(), each.bits, each.counter, each.bytes))
        };
        let equal = [(5, 0..32), (5, 32..64), (5, 64..96)];
        for mode in [Mode::Ctr, Mode::Keystream, Mode::EcbEncrypt, Mode::EcbDecrypt] {
            // ECB has no counters.
            let counts = mode == Mode::Ctr || mode == Mode::Keystream;
            assert_eq!(shares(mode, &equal), Some((mode, KeyBits::Aes128, if counts { 5 } else { 0 }, 32)));
            let last = |counter, range| shares(mode, &[equal[0].clone(), equal[1].clone(), (counter, range)]);
            for other in [64..80, 64..112, 80..112, 96..128] {
                assert_eq!(last(5, other), None);
            }
            for counter in [4, 6, 5 + (1 << 32), 5 + (1 << 64), 5 + (1 << 127)] {
                assert_eq!(last(counter, 64..96).is_none(), counts, "{mode:?}, {counter:#x}");
                assert_eq!(shares(mode, &[(counter, 0..32), (5, 32..64)]).is_none(), counts, "{mode:?}, {counter:#x}");
            }
            assert_eq!(shares(mode, &[(5, 16..48), (5, 48..80)]), None, "they do not begin with the data");
            assert_eq!(shares(mode, &[(5, 0..32), (5, 48..80)]), None, "they do not adjoin");
            assert_eq!(shares(mode, &[(5, 0..0), (5, 0..0)]), None, "there is nothing to do");
        }
        assert_eq!(shares(Mode::Ctr, &[(5, 0..17), (5, 17..34)]), None, "not whole blocks");
        assert_eq!(shares(Mode::Ctr, &[]), None);
        let below = |bytes| jobs(Mode::Ctr, &equal).unwrap().as_each_key(bytes).is_some();
        assert!(below(33) && !below(32));
    }

    #[test]
    fn a_job_and_all_of_them_have_no_more_than_kernels_can_count() {
        // 2^32 - 1 blocks make 2^27 runs of 32, of which 2^32 - 1 can be counted.
        const LONGEST: u64 = 16 * MOST_BLOCKS;
        let adjoining = |n: u64, bytes| (0..n).map(|i| (0, i * bytes..(i + 1) * bytes)).collect::<Vec<_>>();
        assert_eq!(MOST_BLOCKS, (1 << 32) - 1);
        for mode in [Mode::Ctr, Mode::EcbEncrypt] {
            assert!(jobs(mode, &[(0, 0..LONGEST)]).is_ok());
            assert!(jobs(mode, &[(0, 0..LONGEST + 16)]).is_err());
            assert!(jobs(mode, &adjoining(31, LONGEST)).is_ok() && jobs(mode, &adjoining(32, LONGEST)).is_err());
        }
        assert!(jobs(Mode::Ctr, &[(0, 0..LONGEST + 1)]).is_err());
        assert!(jobs(Mode::EcbEncrypt, &[(0, 0..17)]).is_err() && jobs(Mode::Ctr, &[(0, 0..17)]).is_ok());
        assert!(
            jobs(Mode::Ctr, &[(0, 0..9), (0, 8..12)]).is_err() && jobs(Mode::Ctr, &[(0, 0..9), (0, 9..12)]).is_ok()
        );
        let far = jobs(Mode::Ctr, &[(0, 3..9), (0, 1 << 40..(1 << 40) + 1)]).unwrap();
        assert!(far.check((1 << 40) + 1).is_ok() && far.check(1 << 40).is_err());
    }

    #[test]
    fn shares_have_no_more_than_kernels_can_count() {
        let each = |bits, bytes| EachKey::new(Mode::Ctr, bits, [0; 16], bytes).unwrap();
        assert!([0, 15, 17].iter().all(|&bytes| EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], bytes).is_err()));
        let large = each(KeyBits::Aes128, 1 << 35);
        assert!(large.check(16, 1 << 35).is_ok() && large.check(32, 1 << 36).is_err());
        let most = each(KeyBits::Aes256, 16 * MOST_BLOCKS);
        assert!(most.check(32, 16 * MOST_BLOCKS).is_ok() && most.check(32, 16 * MOST_BLOCKS + 16).is_err());
        assert!(each(KeyBits::Aes256, 16 * MOST_BLOCKS + 16).check(32, 16 * MOST_BLOCKS + 16).is_err());
        // Numbers of keys and bytes whose product is a multiple of 2^64.
        assert!(each(KeyBits::Aes128, 1 << 60).check(16 << 4, 0).is_err());
        let small = each(KeyBits::Aes192, 48);
        assert!(small.check(72, 144).is_ok() && small.check(0, 0).is_ok());
        assert!(small.check(73, 144).is_err() && small.check(72, 143).is_err() && small.check(72, 96).is_err());
    }

    #[test]
    fn modes_are_found_by_their_names() {
        for mode in Flow::ALL.map(Flow::mode) {
            assert_eq!(Jobs::mode_named(mode.name()).unwrap(), mode);
        }
        assert!(Jobs::mode_named(Mode::CbcDecrypt.name()).is_err());
    }

    #[test]
    fn keys_are_not_shown() {
        let job = Job { key: &[7; 24], counter: [9; 16], range: 3..9 };
        assert_eq!(format!("{job:?}"), "Job(192 bits, bytes 3..9)");
        assert_eq!(format!("{:?}", jobs(Mode::Ctr, &[(7, 3..9)]).unwrap()), "Jobs(Ctr, 1 keys of 128 bits)");
    }
}
