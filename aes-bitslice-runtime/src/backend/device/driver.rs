//! What the driver of a device does: the only part of calls on devices that is written for each kind of device.

use crate::backend::device::round_keys::KeyMaterial;
use crate::backend::device::span::Place;
use crate::backend::device::values::Values;
use crate::base::error::Error;
use crate::op::launch::Launch;
use std::ops::DerefMut;
use std::sync::Arc;

/// The driver of a device, which was opened: a context in which everything else of the device is made.
pub(crate) trait Driver: Send + Sync + Sized + 'static {
    /// A byte of device memory.
    type Place: Place;
    /// A queue of commands: the caller's, or the engine's, which is in order.
    type Queue;
    /// A queue of the engine's, released on drop.
    type OwnQueue: Send;
    /// Device memory of the engine's, freed on drop. Nothing clears it then.
    type Memory: Send;
    /// Host memory that the driver keeps in place, for fast copies. It is zero at first.
    type Pinned: DerefMut<Target = [u8]> + Send;
    /// Key material in its memory.
    type KeyMemory: KeyMaterial<Place = Self::Place>;
    /// The entry points of a kernel, loaded.
    type Code: Send + Sync;

    /// Refuses if an earlier error left the device unusable, else prepares this thread for the calls below.
    fn enter(&self) -> Result<(), Error>;

    /// Prepares this thread for freeing, even if the device is unusable.
    fn enter_to_free(&self);

    /// A queue of the engine's, which waits for no other queue, and for which none waits.
    fn own_queue(self: &Arc<Self>) -> Result<Self::OwnQueue, Error>;

    fn queue(own: &mut Self::OwnQueue) -> &mut Self::Queue;

    /// Device memory of `len` bytes, at least one.
    ///
    /// # Errors
    /// [`Error::OutOfDeviceMemory`], and any error the driver reports.
    fn memory(self: &Arc<Self>, queue: &mut Self::OwnQueue, len: usize) -> Result<Self::Memory, Error>;

    /// The first byte of memory.
    fn place(memory: &Self::Memory) -> Self::Place;

    /// Pinned memory of `len` bytes, at least one.
    fn pinned(self: &Arc<Self>, queue: &mut Self::OwnQueue, len: usize) -> Result<Self::Pinned, Error>;

    /// Clears and frees pinned memory that nothing in this queue uses any more.
    fn free_pinned(queue: &mut Self::OwnQueue, pinned: Self::Pinned);

    /// A copy of these words in device memory.
    fn key_memory(self: &Arc<Self>, words: &[u32]) -> Result<Self::KeyMemory, Error>;

    /// Puts a copy from host memory to device memory into a queue, without waiting.
    ///
    /// # Safety
    /// The memory is the device's, and both stay until the queue was waited for, the source as it is.
    unsafe fn copy_in(&self, queue: &mut Self::OwnQueue, from: &[u8], to: Self::Place) -> Result<(), Error>;

    /// Puts a copy from device memory to host memory into a queue, without waiting.
    ///
    /// # Safety
    /// The memory is the device's, and both stay until the queue was waited for; nothing uses the target before.
    unsafe fn copy_out(&self, queue: &mut Self::OwnQueue, from: Self::Place, to: &mut [u8]) -> Result<(), Error>;

    /// Puts setting `len` bytes of device memory to zero into a queue, without waiting.
    ///
    /// # Safety
    /// The memory is the device's, and stays until the queue was waited for.
    unsafe fn clear(&self, queue: &mut Self::Queue, at: Self::Place, len: usize) -> Result<(), Error>;

    /// Puts a launch into a queue, without waiting. Its arguments are those of its entry point's parameters.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] for an entry point that the code does not have and for a parameter without a value, and any error the driver
    /// reports.
    ///
    /// # Safety
    /// The span, and what the values point to, are in memory of the device that is live until the work is done; the queue belongs to the
    /// device. The launch is one of this code for the span.
    unsafe fn launch(
        self: &Arc<Self>,
        queue: &mut Self::Queue,
        code: &Self::Code,
        launch: &Launch,
        values: &Values<'_, Self::KeyMemory>,
    ) -> Result<(), Error>;

    /// Makes the device begin with what is in a queue.
    fn begin(&self, queue: &mut Self::OwnQueue) -> Result<(), Error>;

    /// Waits for everything in a queue.
    fn wait(&self, queue: &mut Self::OwnQueue) -> Waited;

    /// Whether copies from and to this memory of the caller's need no staging.
    fn is_pinned(&self, _data: &[u8]) -> bool {
        false
    }

    /// Where kernels read and write this pinned memory themselves; `None` if they cannot.
    fn over_link(&self, _data: &[u8]) -> Option<Self::Place> {
        None
    }
}

/// What waiting for a queue shows.
pub(crate) enum Waited {
    /// Everything in it was done.
    Done,
    /// The device is done with it, and something failed.
    Failed(Error),
    /// The device may still be at work.
    Unknown(Error),
}

impl Waited {
    pub(crate) fn result(self) -> Result<(), Error> {
        match self {
            Self::Done => Ok(()),
            Self::Failed(error) | Self::Unknown(error) => Err(error),
        }
    }
}

/// A device that is not there: its memory is this process's, and commands are done when they are put into a queue.
#[cfg(test)]
pub(crate) mod fake {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// An address.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub(crate) struct At(pub(crate) u64);

    impl Place for At {
        fn after(self, bytes: u64) -> Self {
            Self(self.0 + bytes)
        }

        fn before(self, bytes: u64) -> Self {
            Self(self.0.wrapping_sub(bytes))
        }

        fn is_aligned(self) -> bool {
            self.0.is_multiple_of(16)
        }

        fn address(self) -> u64 {
            self.0
        }
    }

    /// Key material, which is nowhere.
    impl KeyMaterial for At {
        type Place = Self;

        fn place(&self) -> Self {
            *self
        }
    }

    /// What fails from now on.
    #[derive(Clone, Copy, PartialEq, Debug, Default)]
    pub(crate) enum Fails {
        #[default]
        Not,
        /// Something in every queue, with which the device is done.
        Commands,
        /// Waiting.
        Waits,
    }

    #[derive(Default)]
    pub(crate) struct Fake {
        /// The size of the largest memory; `None` without a limit.
        most: Option<usize>,
        fails: Mutex<Fails>,
        /// Memory by address; `None` once it was freed.
        memory: Arc<Mutex<BTreeMap<At, Option<Vec<u8>>>>>,
        /// The number of times that pinned memory was allocated.
        pinned: AtomicUsize,
        left_uncleared: Arc<Mutex<usize>>,
    }

    pub(crate) struct Memory {
        at: At,
        memory: Arc<Mutex<BTreeMap<At, Option<Vec<u8>>>>>,
        left_uncleared: Arc<Mutex<usize>>,
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            let freed = self.memory.lock().unwrap().insert(self.at, None).flatten().unwrap();
            *self.left_uncleared.lock().unwrap() += freed.iter().filter(|&&byte| byte != 0).count();
        }
    }

    fn failure() -> Error {
        Error::NoSuchKernel { what: "on purpose".into() }
    }

    impl Fake {
        /// With no more than this many bytes of memory.
        pub(crate) fn with_at_most(bytes: usize) -> Self {
            Self { most: Some(bytes), ..Self::default() }
        }

        pub(crate) fn fail(&self, fails: Fails) {
            *self.fails.lock().unwrap() = fails;
        }

        /// The number of bytes that were not zero when they were freed.
        pub(crate) fn left_uncleared(&self) -> usize {
            *self.left_uncleared.lock().unwrap()
        }

        /// How often memory was allocated, and pinned memory.
        pub(crate) fn allocated(&self) -> [usize; 2] {
            [self.memory.lock().unwrap().len(), self.pinned.load(Ordering::Relaxed)]
        }

        pub(crate) fn is_freed(&self, at: At) -> bool {
            self.memory.lock().unwrap()[&at].is_none()
        }

        fn with<R>(&self, at: At, len: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
            let mut memory = self.memory.lock().unwrap();
            let (from, memory) = memory.range_mut(..=at).next_back().expect("memory");
            let at = (at.0 - from.0) as usize;
            work(&mut memory.as_mut().expect("not freed")[at..at + len])
        }

        pub(crate) fn write(&self, at: At, data: &[u8]) {
            self.with(at, data.len(), |memory| memory.copy_from_slice(data));
        }

        pub(crate) fn read(&self, at: At, len: usize) -> Vec<u8> {
            self.with(at, len, |memory| memory.to_vec())
        }
    }

    impl Driver for Fake {
        type Place = At;
        type Queue = ();
        type OwnQueue = ();
        type Memory = Memory;
        type Pinned = Box<[u8]>;
        type KeyMemory = At;
        type Code = ();

        fn enter(&self) -> Result<(), Error> {
            Ok(())
        }

        fn enter_to_free(&self) {}

        fn own_queue(self: &Arc<Self>) -> Result<(), Error> {
            Ok(())
        }

        fn queue(own: &mut ()) -> &mut () {
            own
        }

        fn memory(self: &Arc<Self>, _queue: &mut (), len: usize) -> Result<Memory, Error> {
            if self.most.is_some_and(|most| len > most) {
                return Err(Error::OutOfDeviceMemory { what: "more than there is".into() });
            }
            let mut memory = self.memory.lock().unwrap();
            let at = At((memory.len() as u64 + 1) << 32);
            memory.insert(at, Some(vec![0; len]));
            Ok(Memory { at, memory: self.memory.clone(), left_uncleared: self.left_uncleared.clone() })
        }

        fn place(memory: &Memory) -> At {
            memory.at
        }

        fn pinned(self: &Arc<Self>, _queue: &mut (), len: usize) -> Result<Box<[u8]>, Error> {
            self.pinned.fetch_add(1, Ordering::Relaxed);
            Ok(vec![0; len].into())
        }

        fn free_pinned(_queue: &mut (), _pinned: Box<[u8]>) {}

        fn key_memory(self: &Arc<Self>, _words: &[u32]) -> Result<At, Error> {
            Ok(At(0))
        }

        unsafe fn copy_in(&self, _queue: &mut (), from: &[u8], to: At) -> Result<(), Error> {
            self.write(to, from);
            Ok(())
        }

        unsafe fn copy_out(&self, _queue: &mut (), from: At, to: &mut [u8]) -> Result<(), Error> {
            self.with(from, to.len(), |memory| to.copy_from_slice(memory));
            Ok(())
        }

        unsafe fn clear(&self, _queue: &mut (), at: At, len: usize) -> Result<(), Error> {
            self.with(at, len, |memory| memory.fill(0));
            Ok(())
        }

        unsafe fn launch(
            self: &Arc<Self>,
            _queue: &mut (),
            _code: &(),
            _launch: &Launch,
            _values: &Values<'_, At>,
        ) -> Result<(), Error> {
            Err(failure())
        }

        fn begin(&self, _queue: &mut ()) -> Result<(), Error> {
            Ok(())
        }

        fn wait(&self, _queue: &mut ()) -> Waited {
            match *self.fails.lock().unwrap() {
                Fails::Not => Waited::Done,
                Fails::Commands => Waited::Failed(failure()),
                Fails::Waits => Waited::Unknown(failure()),
            }
        }
    }
}
