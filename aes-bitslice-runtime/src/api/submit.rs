//! Calls on host memory that return at once and signal when they complete.
//!
//! The ways to call a [`Cipher`]:
//!
//! | the data is | the call | returns | completes |
//! |---|---|---|---|
//! | in host memory, borrowed | [`Cipher::run`] | when it completes | then |
//! | in host memory, handed over until then | [`Cipher::submit`] | at once | when its [`Submitted`] does: `await` or [`wait`](Submitted::wait) returns the data |
//! | in GPU memory | [`DeviceCipher::run`](crate::cuda::DeviceCipher::run) | when it is on the caller's stream | when the stream reaches it, which an event reports: `stream.record_event(None)` after it |
//! | in GPU memory, and a value is returned | [`DeviceCipher::run_with_output`](crate::cuda::DeviceCipher::run_with_output) | when it is on the caller's stream | when the stream reaches it; [`Pending::wait`](crate::cuda::Pending::wait) returns the value |
//! | in OpenCL buffers | [`BufferCipher::run`](crate::opencl::BufferCipher::run) | when it is in the caller's queue | when the queue reaches it |
//!
//! Calls on memory that is sharded over several GPUs ([`ShardedCipher`](crate::cuda::ShardedCipher)) are of the first
//! kind.
//!
//! ```
//! use aes_bitslice_runtime::{Backend, Counter, Ctr, Engine, Key, KeyBits};
//!
//! let cipher = Engine::open(Backend::Auto)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
//! let counter = Counter::random()?;
//! let (first, second) = (vec![1; 1000], vec![2; 1000]);
//! let first = cipher.submit(Ctr::new(&counter, 0), first)?;
//! let second = cipher.submit(Ctr::new(&counter, 1000), second)?;
//! // Something else meanwhile; in async code, `first.await?`.
//! let (first, second) = (first.wait()?, second.wait()?);
//! # assert_ne!((first[0], second[0]), (1, 2));
//! # Ok::<(), aes_bitslice_runtime::Error>(())
//! ```
//!
//! # Threads
//!
//! [`Engine`](crate::Engine), [`Cipher`], [`DeviceCipher`](crate::cuda::DeviceCipher),
//! [`ShardedCipher`](crate::cuda::ShardedCipher), [`BufferCipher`](crate::opencl::BufferCipher) and [`Submitted`] are
//! `Send` and `Sync`: any number of threads may share one of them, and make calls on it concurrently. So are
//! [`HostBuffer`](crate::HostBuffer) and [`ShardedBuffer`](crate::cuda::ShardedBuffer), for reading; a call that writes
//! has exclusive access while it runs.
//!
//! The engine's own threads make the blocking calls for submitted work, in the order of submission. They start when there is work and end
//! after a second without any. On a CPU there are at most as many as share a large call ([`threads`](crate::threads)): a small call runs on
//! one core. With CUDA or OpenCL there are at most four for each device: a large call keeps the link busy by itself, and while one small
//! call waits, the next is on its way. However much is submitted, the rest waits in a queue, whose only bound is the memory of the data in
//! it.
//!
//! They are not the threads that share a large call on the CPU: a call that waits for a GPU must not keep a core from
//! other work. Nor are they threads of the program: the library uses no pool of the program's, rayon's global pool
//! included. So [`Submitted::wait`], a future, and every call may be waited for on any thread of the program, in a pool
//! and under a lock, and nothing else runs on that thread meanwhile. Only what the engine's own threads call must not
//! wait for a call: `as_mut` and `drop` of the data, and wakers.
//!
//! After a `fork`, the child's calls get threads of the child. A call submitted before it completes in the parent only:
//! do not wait for it in the child. And fork while no thread of the process starts or ends: Rust's standard library holds a
//! lock then, for which the child's threads would wait for ever.

use crate::api::cipher::Cipher;
use crate::exec::call;
use crate::exec::submitted::submit;
use crate::op::operation::Operation;

pub use crate::exec::submitted::{SubmitError, Submitted};

/// A submitted call: a future of its data and the operation's output value.
pub type WithOutput<B, O> = Submitted<B, (B, <O as Operation>::Output)>;

impl Cipher {
    /// Submits an operation on host memory: takes the data, returns at once, and gives the data back on completion.
    ///
    /// The data is both input and output, as far as the operation reads and writes.
    ///
    /// # Errors
    /// At once, and with the data: what [`run`](Self::run) refuses, and [`Error::NoThread`](crate::Error::NoThread) if there is no thread
    /// and none can be started. Through the future: errors from the device, and [`Error::Panicked`](crate::Error::Panicked).
    pub fn submit<O, B>(&self, operation: O, data: B) -> Result<Submitted<B>, SubmitError<B>>
    where
        O: Operation<Output = ()>,
        B: AsMut<[u8]> + Send + 'static,
    {
        self.submit_for(operation, data, |data, ()| data)
    }

    /// Submits an operation that returns a value, such as a hash: the future gives the data and that value.
    ///
    /// # Errors
    /// At once, and with the data: what [`run`](Self::run) refuses, and [`Error::NoThread`](crate::Error::NoThread) if there is no thread
    /// and none can be started. Through the future: errors from the device and of the result, such as
    /// [`Error::Unauthenticated`](crate::Error::Unauthenticated), and [`Error::Panicked`](crate::Error::Panicked).
    pub fn submit_with_output<O, B>(&self, operation: O, data: B) -> Result<WithOutput<B, O>, SubmitError<B>>
    where
        O: Operation,
        B: AsMut<[u8]> + Send + 'static,
    {
        self.submit_for(operation, data, |data, output| (data, output))
    }

    fn submit_for<O, B, T>(
        &self,
        operation: O,
        mut data: B,
        result: fn(B, O::Output) -> T,
    ) -> Result<Submitted<B, T>, SubmitError<B>>
    where
        O: Operation,
        B: AsMut<[u8]> + Send + 'static,
        T: Send + 'static,
    {
        if let Err(error) = call::check(self, &operation, data.as_mut().len() as u64) {
            return Err(SubmitError { error, data });
        }
        let cipher = self.clone();
        let access = operation.access();
        submit(self.engine().queue(), data, access, move |data| cipher.run(operation, data), result)
    }
}

#[cfg(test)]
mod tests {
    use crate::api::engine::Engine;
    use crate::base::backend::Backend;
    use crate::base::error::Error;
    use crate::base::key::Key;
    use crate::op::ecb::Ecb;

    /// Data that can be accessed `looks` times, then panics.
    #[derive(Debug)]
    struct Brittle {
        bytes: [u8; 16],
        looks: usize,
    }

    impl AsMut<[u8]> for Brittle {
        fn as_mut(&mut self) -> &mut [u8] {
            self.looks = self.looks.checked_sub(1).unwrap_or_else(|| std::panic::resume_unwind(Box::new("looked at")));
            &mut self.bytes
        }
    }

    #[test]
    fn data_that_panics_leaves_nobody_waiting() {
        let cipher = Engine::open(Backend::Cpu).unwrap().cipher(&Key::new(&[1; 16]).unwrap()).unwrap();
        let looked_at = Error::Panicked { what: "looked at".into() };
        for looks in 1..4 {
            let submitted = cipher.submit(Ecb::encrypt(), Brittle { bytes: [7; 16], looks }).unwrap();
            match looks {
                1 => assert_eq!(submitted.wait().unwrap_err().to_string(), looked_at.to_string()),
                _ => assert_ne!(submitted.wait().unwrap().bytes, [7; 16]),
            }
        }
    }
}
