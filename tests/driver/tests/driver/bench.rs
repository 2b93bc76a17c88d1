//! Where a call is tried: an engine, a place for its data, and a call of the driver that fails meanwhile.

use crate::stand_in::{self, Fault};
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, CudaViewMut};
use aes_bitslice_runtime::{Backend, Cipher, Engine, Error, Key, Operation, Transfers};
use aes_bitslice_tests::reference::noise;
use std::cell::{Cell, OnceCell};
use std::fmt::Debug;
use std::sync::Arc;

/// Where the data of a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Memory of the host.
    Host,
    /// The same, cut into several chunks, which several threads bring to the device.
    HostInChunks,
    /// Memory of the host that is pinned.
    Pinned,
    /// Memory of the device, this many bytes behind a multiple of 256.
    Device(usize),
}

/// What a call returned, and what its data was before it and behind it.
pub struct Outcome {
    pub value: Result<String, Error>,
    pub before: Vec<u8>,
    /// Nothing if it cannot be looked at any more.
    pub data: Option<Vec<u8>>,
}

/// Where a call is tried.
pub struct Bench<'a> {
    pub engine: &'a Engine,
    pub place: Place,
    /// The call of the driver that fails.
    pub fault: Option<(u64, Fault)>,
    /// Which that was, when there was one.
    pub failed: Cell<Option<&'static str>>,
    /// How many calls of the driver there were meanwhile.
    pub calls: Cell<u64>,
    stream: OnceCell<Arc<CudaStream>>,
}

/// Bytes around data on the device, which stay.
const AROUND: [u8; 9] = [0xa5; 9];

impl Place {
    /// An engine whose calls are made with data there.
    pub fn open(self) -> Result<Engine, Error> {
        let engine = Engine::open(Backend::Cuda { ordinal: 0 })?;
        let chunks = Transfers { chunk_bytes: Some(1024), streams: Some(2), workers: Some(2) };
        Ok(if self == Self::HostInChunks { engine.with_transfers(chunks) } else { engine })
    }
}

impl<'a> Bench<'a> {
    pub fn new(engine: &'a Engine, place: Place, fault: Option<(u64, Fault)>) -> Self {
        Self { engine, place, fault, failed: Cell::new(None), calls: Cell::new(0), stream: OnceCell::new() }
    }

    /// What is called while a call of the driver may fail.
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

    pub fn stream(&self) -> &Arc<CudaStream> {
        self.stream.get_or_init(|| self.engine.cuda_context().expect("a GPU").new_stream().expect("a stream"))
    }

    /// An operation that returns nothing but its data.
    pub fn run<O: Operation<Output = ()>>(&self, key: &Key, operation: O, data: &[u8]) -> Outcome {
        let cipher = self.cipher(key);
        match self.place {
            Place::Device(_) => self.on_device(data, |stream, data| {
                cipher.device()?.run(stream, operation, data)?;
                // What is found out late is an error of the caller's stream.
                Ok(String::new())
            }),
            _ => self.on_host(data, |data| cipher.run(operation, data).map(|()| String::new())),
        }
    }

    /// An operation that returns a value.
    pub fn run_with_output<O: Operation<Output: Debug>>(&self, key: &Key, operation: O, data: &[u8]) -> Outcome {
        let cipher = self.cipher(key);
        match self.place {
            Place::Device(_) => self.on_device(data, |stream, data| {
                let pending = cipher.device()?.run_with_output(stream, operation, data)?;
                Ok(format!("{:?}", pending.wait()?))
            }),
            _ => self.on_host(data, |data| Ok(format!("{:?}", cipher.run(operation, data)?))),
        }
    }

    /// An operation that only reads its data.
    pub fn read<O: Operation<Output: Debug>>(&self, key: &Key, operation: O, data: &[u8]) -> Outcome {
        let cipher = self.cipher(key);
        match self.place {
            Place::Device(_) => self.run_with_output(key, operation, data),
            _ => self.on_host(data, |data| Ok(format!("{:?}", cipher.run(operation, &*data)?))),
        }
    }

    /// A call on a copy of the data in memory of the host.
    pub fn on_host(&self, data: &[u8], call: impl FnOnce(&mut [u8]) -> Result<String, Error>) -> Outcome {
        if self.place == Place::Pinned {
            let mut copy = self.engine.host_buffer(data.len()).expect("pinned memory");
            copy.copy_from_slice(data);
            let value = self.tried(|| call(&mut copy));
            return Outcome { value, before: data.to_vec(), data: Some(copy.to_vec()) };
        }
        let mut copy = data.to_vec();
        let value = self.tried(|| call(&mut copy));
        Outcome { value, before: data.to_vec(), data: Some(copy) }
    }

    /// A call on a copy of the data in memory of the device.
    pub fn on_device(
        &self,
        data: &[u8],
        call: impl FnOnce(&CudaStream, &mut CudaViewMut<'_, u8>) -> Result<String, Error>,
    ) -> Outcome {
        let Place::Device(offset) = self.place else { panic!("a call on the device") };
        let stream = self.stream();
        let there = [&noise(7, offset), data, &AROUND].concat();
        let mut memory: CudaSlice<u8> = stream.clone_htod(&there).expect("memory of the device");
        let value = self.tried(|| call(stream, &mut memory.slice_mut(offset..offset + data.len())));
        let found = stream.clone_dtoh(&memory).ok();
        let found = found.map(|found| {
            let (ahead, rest) = found.split_at(offset);
            let (found, behind) = rest.split_at(data.len());
            assert!(ahead == noise(7, offset) && behind == AROUND, "a byte around the data was changed");
            found.to_vec()
        });
        Outcome { value, before: data.to_vec(), data: found }
    }
}
