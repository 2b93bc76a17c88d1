//! Calls in a child of `fork`, which has none of its parent's threads and where no other thread of the parent lets go of a lock. It is a
//! program of its own: Rust's standard library locks a list while a thread starts or ends, so no other test may start one at the moment of
//! the fork.
#![cfg(unix)]

use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Ctr, Engine, Key, Submitted};
use aes_bitslice_tests::reference::{Reference, noise};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

/// Bytes of a call that is divided between all threads.
const BYTES: usize = 3 << 20;

const COUNTER: [u8; 16] = [0xff; 16];

fn ctr() -> Ctr {
    Ctr::new(&Counter::new(CounterMode::Ctr128BE, COUNTER), 0)
}

/// Makes a call and submits others, which are waited for on this thread and in a pool.
fn calls(cipher: &Cipher, encrypted: &[u8]) {
    let submitted = || (0..4).map(|_| cipher.submit(ctr(), vec![0; BYTES]).unwrap()).collect();
    let check = |call: Submitted<Vec<u8>>| assert!(call.wait().unwrap() == encrypted);
    let mut data = vec![0; BYTES];
    cipher.run(ctr(), &mut data).unwrap();
    assert!(data == encrypted);
    let calls: Vec<_> = submitted();
    calls.into_iter().for_each(check);
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| submitted().into_par_iter().for_each(check));
}

#[test]
fn a_forked_process_makes_calls_and_submits_them() {
    let key = noise(1, 32);
    let encrypted = Reference::new(&key).ctr(COUNTER, 0, &[0; BYTES]);
    let cipher = Engine::open(Backend::Cpu).unwrap().cipher(&Key::new(&key).unwrap()).unwrap();
    for _ in 0..10 {
        // The parent's threads are waiting for work at the fork.
        cipher.submit(ctr(), vec![0; BYTES]).unwrap().wait().unwrap();
        // SAFETY: the child makes calls, which allocate memory and start threads, as Linux allows; and it ends without anything else.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: it ends a child that waits for ever.
            unsafe { libc::alarm(120) };
            let ended = std::panic::catch_unwind(|| calls(&cipher, &encrypted));
            // SAFETY: nothing of the parent's is written or freed.
            unsafe { libc::_exit(i32::from(ended.is_err())) };
        }
        let mut status = -1;
        // SAFETY: the place is this function's.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "how the child ended");
    }
}
