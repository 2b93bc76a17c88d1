//! Where a call is tried: an engine of one device or several, a place for its data, and a driver call that fails meanwhile.

use crate::stand_in::{self, Fault};
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, CudaViewMut};
use aes_bitslice_runtime::cuda::{Cuts, DeviceCipher, ShardedBuffer};
use aes_bitslice_runtime::{Access, Backend, Cipher, Engine, Error, Key, Operation, Tag, Transfers};
use aes_bitslice_tests::reference::noise;
use std::array;
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// The place of a call's data. Where all devices must have some of it, this many bytes precede the data that a case has anywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Memory of the host.
    Host,
    /// Memory of the host, cut into several chunks, which several threads copy to each device.
    HostInChunks,
    /// Pinned host memory; where there are several devices, in chunks, too.
    Pinned,
    /// Memory of the last device, this many bytes past a multiple of 256.
    Device(usize),
    /// Memory that is sharded over the devices.
    Sharded(usize),
    /// Memory that is sharded over the devices, from one buffer to another if the operation maps its data.
    ShardedToAnother(usize),
    /// Memory of the host, with something for each device.
    HostForAll(usize),
}

/// The result of a call, and its data before and after it.
pub struct Outcome {
    pub value: Result<String, Error>,
    pub before: Vec<u8>,
    pub data: Vec<u8>,
    /// Ranges of the data that can no longer be read, and are zeros here.
    pub lost: Vec<Range<usize>>,
}

/// Where a call is tried.
pub struct Bench<'a> {
    pub engine: &'a Engine,
    pub place: Place,
    /// Bytes ahead of the data that a case has anywhere.
    ahead: usize,
    /// Which keys and data the cases have: with another number others, of the same lengths.
    secrets: u8,
    /// Whether calls on memory of a device are dropped before they are done, and their values with them.
    drops: bool,
    /// The driver call that fails.
    pub fault: Option<(u64, Fault)>,
    /// Its name, if one failed.
    pub failed: Cell<Option<&'static str>>,
    /// The number of driver calls meanwhile.
    pub calls: Cell<u64>,
    /// What a call on memory of a device gave back to a pool with something in it.
    pub to_pools: RefCell<String>,
    stream: OnceCell<Arc<CudaStream>>,
}

/// Bytes around data on the device, which must not change.
const AROUND: [u8; 9] = [0xa5; 9];

/// Cuts of sharded memory: finer than callers have them, so that little data has several chunks.
pub const CUTS: Cuts = Cuts::every(CUT);
/// Bytes of such a chunk.
pub const CUT: usize = 4096;

/// An engine on this many devices, which are all there are.
pub fn open(devices: u32) -> Result<Engine, Error> {
    Engine::open(if devices == 1 { Backend::Cuda { ordinal: 0 } } else { Backend::CudaAll })
}

impl Place {
    /// An engine on this many devices, for calls with data there.
    pub fn open(self, devices: u32) -> Result<Engine, Error> {
        open(devices).map(|engine| self.of(engine, devices))
    }

    /// This engine on this many devices, for calls with data there.
    pub fn of(self, engine: Engine, devices: u32) -> Engine {
        let is_in_chunks = self == Self::HostInChunks || self == Self::Pinned && devices > 1;
        // So that each of several devices has several.
        let chunk_bytes = Some(if devices == 1 { 1024 } else { 304 });
        let chunks = Transfers { chunk_bytes, streams: Some(2), workers: Some(2) };
        if is_in_chunks { engine.with_transfers(chunks) } else { engine }
    }

    /// Whether it is sharded memory, in which a call has work for all devices.
    pub fn is_sharded(self) -> bool {
        matches!(self, Self::Sharded(_) | Self::ShardedToAnother(_))
    }

    /// Whether it is memory of devices that belongs to the caller.
    pub fn is_on_devices(self) -> bool {
        matches!(self, Self::Device(_)) || self.is_sharded()
    }

    /// Bytes ahead of the data that a case has anywhere.
    fn ahead(self) -> usize {
        match self {
            Self::Sharded(ahead) | Self::ShardedToAnother(ahead) | Self::HostForAll(ahead) => ahead,
            Self::Host | Self::HostInChunks | Self::Pinned | Self::Device(_) => 0,
        }
    }
}

impl Outcome {
    /// The bytes, with zeros for those that can no longer be read.
    pub fn without_lost(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        self.lost.iter().for_each(|range| bytes[range.clone()].fill(0));
        bytes
    }
}

impl<'a> Bench<'a> {
    pub fn new(engine: &'a Engine, place: Place, fault: Option<(u64, Fault)>) -> Self {
        let (failed, calls, stream) = (Cell::new(None), Cell::new(0), OnceCell::new());
        let to_pools = RefCell::default();
        Self { engine, place, ahead: place.ahead(), secrets: 0, drops: false, fault, failed, calls, to_pools, stream }
    }

    /// Host memory, for the result of a call on data that is as long as in a place.
    pub fn instead_of(engine: &'a Engine, place: Place) -> Self {
        Self { ahead: place.ahead(), ..Self::new(engine, Place::Host, None) }
    }

    /// This bench with other keys and other data.
    pub fn with_secrets(self, secrets: u8) -> Self {
        Self { secrets, ..self }
    }

    /// This bench, where calls on memory of a device are dropped before they are done.
    pub fn that_drops(self, drops: bool) -> Self {
        Self { drops, ..self }
    }

    /// Data of this many bytes, and the bytes ahead of it.
    pub fn noise(&self, seed: u64, bytes: usize) -> Vec<u8> {
        noise(seed + 1000 * u64::from(self.secrets), self.ahead + bytes)
    }

    /// Bytes of keys.
    pub fn keys(&self) -> [u8; 64] {
        array::from_fn(|i| (i as u8).wrapping_mul(37).wrapping_add(11) ^ self.secrets)
    }

    /// A key of this many bytes.
    pub fn key(&self, bytes: usize) -> Key {
        Key::new(&self.keys()[..bytes]).expect("a key")
    }

    /// Data of as many whole blocks as fit in `bytes` bytes, and the bytes ahead of it.
    pub fn blocks(&self, seed: u64, bytes: usize) -> Vec<u8> {
        self.noise(seed, bytes / 16 * 16)
    }

    /// Makes a call while a driver call may fail.
    pub fn tried<T>(&self, call: impl FnOnce() -> T) -> T {
        let Some((number, fault)) = self.fault else { return call() };
        stand_in::fails(number, fault);
        let outcome = call();
        let (calls, failed) = stand_in::result(number);
        self.calls.set(calls);
        self.failed.set(failed);
        outcome
    }

    pub fn cipher(&self, key: &Key) -> Cipher {
        self.engine.cipher(key).expect("a key")
    }

    /// A stream of the last device.
    pub fn stream(&self) -> &Arc<CudaStream> {
        self.stream.get_or_init(|| {
            let contexts = self.engine.cuda_contexts().expect("a GPU");
            contexts.last().expect("a GPU").new_stream().expect("a stream")
        })
    }

    /// Runs an operation that returns nothing but its data.
    pub fn run<O: Operation<Output = ()>>(&self, key: &Key, operation: O, data: &[u8]) -> Outcome {
        let cipher = self.cipher(key);
        match self.place {
            Place::Device(_) => self.on_device(data, |stream, data| {
                last(&cipher)?.run(stream, operation, data)?;
                // An error that is found late is an error of the caller's stream.
                Ok(String::new())
            }),
            Place::Sharded(_) | Place::ShardedToAnother(_) => {
                let outcome = self.on_shards(&cipher, operation, data);
                Outcome { value: outcome.value.map(|_| String::new()), ..outcome }
            }
            _ => self.on_host(data, |data| cipher.run(operation, data).map(|()| String::new())),
        }
    }

    /// Runs an operation that returns a value.
    pub fn run_with_output<O: Operation<Output: Debug>>(&self, key: &Key, operation: O, data: &[u8]) -> Outcome {
        let cipher = self.cipher(key);
        match self.place {
            Place::Device(_) => self.on_device(data, |stream, data| {
                let pending = last(&cipher)?.run_with_output(stream, operation, data)?;
                if self.drops { Ok(String::new()) } else { Ok(format!("{:?}", pending.wait()?)) }
            }),
            Place::Sharded(_) | Place::ShardedToAnother(_) => self.on_shards(&cipher, operation, data),
            _ => self.on_host(data, |data| Ok(format!("{:?}", cipher.run(operation, data)?))),
        }
    }

    /// Runs an operation that makes a tag, which stays in the device's memory.
    pub fn run_to_tag<O: Operation<Output = Tag>>(&self, key: &Key, operation: O, data: &[u8]) -> Outcome {
        let cipher = self.cipher(key);
        if !self.place.is_on_devices() {
            return self.on_host(data, |data| Ok(format!("{:?}", cipher.run(operation, data)?.as_bytes())));
        }
        let mut tag = self.stream().clone_htod(&[0x5a; 16]).expect("memory of the device");
        let outcome = self.on_device(data, |stream, data| {
            last(&cipher)?.run_to_tag(stream, operation, data, &mut tag)?;
            Ok(String::new())
        });
        // An error that is found late is an error of the caller's stream.
        let lost = |error| Error::Cuda { call: "a copy".into(), code: format!("{error:?}") };
        let made = |_| Ok(format!("{:?}", &self.stream().clone_dtoh(&tag).map_err(lost)?[..]));
        Outcome { value: outcome.value.and_then(made), ..outcome }
    }

    /// Runs an operation that only reads its data.
    pub fn read<O: Operation<Output: Debug>>(&self, key: &Key, operation: O, data: &[u8]) -> Outcome {
        let cipher = self.cipher(key);
        if self.place.is_on_devices() {
            self.run_with_output(key, operation, data)
        } else {
            self.on_host(data, |data| Ok(format!("{:?}", cipher.run(operation, &*data)?)))
        }
    }

    /// Makes a call on a copy of the data in host memory.
    pub fn on_host(&self, data: &[u8], call: impl FnOnce(&mut [u8]) -> Result<String, Error>) -> Outcome {
        if self.place == Place::Pinned {
            let mut copy = self.engine.host_buffer(data.len()).expect("pinned memory");
            copy.copy_from_slice(data);
            let value = self.tried(|| call(&mut copy));
            return Outcome { value, before: data.to_vec(), data: copy.to_vec(), lost: vec![] };
        }
        let mut copy = data.to_vec();
        let value = self.tried(|| call(&mut copy));
        Outcome { value, before: data.to_vec(), data: copy, lost: vec![] }
    }

    /// Makes a call on a copy of the data in device memory.
    pub fn on_device(
        &self,
        data: &[u8],
        call: impl FnOnce(&CudaStream, &mut CudaViewMut<'_, u8>) -> Result<String, Error>,
    ) -> Outcome {
        let Place::Device(offset) = self.place else { panic!("a call on the device") };
        let stream = self.stream();
        let there = [&noise(7, offset), data, &AROUND].concat();
        let mut memory: CudaSlice<u8> = stream.clone_htod(&there).expect("memory of the device");
        stand_in::to_pools();
        let value = self.tried(|| call(stream, &mut memory.slice_mut(offset..offset + data.len())));
        let found = stream.clone_dtoh(&memory).ok();
        self.to_pools.replace(stand_in::to_pools());
        let found = found.map(|found| {
            let (ahead, rest) = found.split_at(offset);
            let (found, after) = rest.split_at(data.len());
            assert!(ahead == noise(7, offset) && after == AROUND, "a byte around the data was changed");
            found.to_vec()
        });
        let all = 0..data.len();
        let lost = if found.is_none() { vec![all] } else { vec![] };
        Outcome { value, before: data.to_vec(), data: found.unwrap_or_else(|| vec![0; data.len()]), lost }
    }

    /// Runs an operation on a copy of the data that is sharded over the devices.
    fn on_shards<O: Operation<Output: Debug>>(&self, cipher: &Cipher, operation: O, data: &[u8]) -> Outcome {
        let buffer = |bytes: &[u8]| {
            let mut buffer = self.engine.sharded_in(bytes.len(), CUTS).expect("memory of the devices");
            buffer.copy_from_host(0, bytes).expect("memory of the devices");
            buffer
        };
        let input =
            (matches!(self.place, Place::ShardedToAnother(_)) && O::ACCESS == Access::Maps).then(|| buffer(data));
        let before =
            if input.is_some() { noise(22 + 1000 * u64::from(self.secrets), data.len()) } else { data.to_vec() };
        let mut output = buffer(&before);
        let value = self.tried(|| {
            let sharded = cipher.sharded()?;
            let value = match &input {
                Some(input) => sharded.run(operation, (input, &mut output))?,
                None => sharded.run(operation, &mut output)?,
            };
            Ok(format!("{value:?}"))
        });
        if let Some(input) = &input {
            let (found, lost) = contents(input);
            let input = Outcome { value: Ok(String::new()), before: vec![], data: found, lost };
            assert!(input.data == input.without_lost(data), "the input was changed");
        }
        let (data, lost) = contents(&output);
        Outcome { value, before, data, lost }
    }
}

/// The cipher for calls on memory of the last device.
fn last(cipher: &Cipher) -> Result<DeviceCipher<'_>, Error> {
    cipher.devices().map(|mut devices| devices.pop().expect("a GPU"))
}

/// The contents of a sharded buffer, and the shares that can no longer be read.
fn contents(buffer: &ShardedBuffer) -> (Vec<u8>, Vec<Range<usize>>) {
    let (mut data, mut lost) = (vec![0; buffer.len()], vec![]);
    for share in buffer.shares() {
        let bytes = &mut data[share.range.clone()];
        if !bytes.is_empty() && buffer.copy_to_host(share.range.start, bytes).is_err() {
            bytes.fill(0);
            lost.push(share.range);
        }
    }
    (data, lost)
}
