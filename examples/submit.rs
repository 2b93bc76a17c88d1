//! Calls that return at once, on whatever engine this machine has: `cargo run --release --example submit`

use aes_bitslice_runtime::{Backend, Counter, Ctr, Engine, Error, Key, KeyBits, Submitted};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Bytes of a buffer.
const BYTES: usize = 8 << 20;

fn main() -> Result<(), Error> {
    let engine = Engine::open(Backend::Auto)?;
    println!("engine: {}", engine.description());
    let cipher = engine.cipher(&Key::generate(KeyBits::Aes256)?)?;
    // New for every message: counter blocks that two messages under one key share reveal the XOR of their plaintexts.
    let counter = Counter::random()?;
    // Eight buffers of one message, each with the part of the key stream for its place in the message.
    let ctr = |i: usize| Ctr::new(&counter, (i * BYTES) as u64);

    // The calls take the buffers and return at once.
    let submit = |i: usize| cipher.submit(ctr(i), vec![i as u8; BYTES]);
    let submitted = (0..8).map(submit).collect::<Result<Vec<_>, _>>()?;
    // Other work meanwhile.
    let mut sum = 0_u64;
    while !submitted.iter().all(Submitted::is_done) {
        sum = (sum + 1..sum + 1000).sum::<u64>() % 1_000_003;
    }
    println!("8 buffers of 8 MiB encrypted; the sum that was done meanwhile is {sum}");

    // Decrypts, in async code: any executor will do; this is the smallest possible.
    let plain = block_on(async {
        let mut plain = Vec::new();
        for (i, encrypted) in submitted.into_iter().enumerate() {
            let encrypted = encrypted.await?;
            plain.push(cipher.submit(ctr(i), encrypted)?.await?);
        }
        Ok::<_, Error>(plain)
    })?;
    assert!(plain.iter().enumerate().all(|(i, buffer)| *buffer == vec![i as u8; BYTES]));
    println!("and decrypted, one after the other");
    Ok(())
}

/// Polls a future on this thread, which sleeps until it is woken.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(thread::current()))));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
