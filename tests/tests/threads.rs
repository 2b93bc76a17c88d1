//! Calls from wherever a program's own threads happen to be: in rayon's pools, under a lock, with others in flight. None of them waits for
//! ever, and rayon's global pool stays the program's. One that hangs ends the tests after some minutes, and is named.

use aes_bitslice_runtime::{
    Backend, Cipher, CmacBatch, Counter, CounterMode, Ctr, EachKey, Engine, GcmEncryptBatch, GcmMessage, Key, KeyBits,
    Mode, Submitted,
};
use aes_bitslice_seal::{Secret, seal};
use aes_bitslice_tests::environment::say;
use aes_bitslice_tests::reference::{Reference, noise};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::Duration;

/// Bytes of a call that is divided between all threads.
const BYTES: usize = 3 << 20;

const COUNTER: [u8; 16] = [0xff; 16];

fn ctr() -> Ctr {
    Ctr::new(&Counter::new(CounterMode::Ctr128BE, COUNTER), 0)
}

/// A cipher on the CPU and what it makes of zeros. The program builds rayon's global pool after the first calls.
struct Program {
    cipher: Cipher,
    encrypted: Vec<u8>,
}

static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    let key = noise(1, 32);
    let cipher = Engine::open(Backend::Cpu).unwrap().cipher(&Key::new(&key).unwrap()).unwrap();
    let encrypted = Reference::new(&key).ctr(COUNTER, 0, &[0; BYTES]);
    let program = Program { cipher, encrypted };
    program.run();
    program.submit(1).into_iter().for_each(|call| program.check(call));
    ThreadPoolBuilder::new().num_threads(4).build_global().expect("the program's own global pool");
    program
});

impl Program {
    fn run(&self) {
        let mut data = vec![0; BYTES];
        self.cipher.run(ctr(), &mut data).unwrap();
        assert!(data == self.encrypted);
    }

    fn submit(&self, calls: usize) -> Vec<Submitted<Vec<u8>>> {
        (0..calls).map(|_| self.cipher.submit(ctr(), vec![0; BYTES]).unwrap()).collect()
    }

    fn check(&self, call: Submitted<Vec<u8>>) {
        assert!(call.wait().unwrap() == self.encrypted);
    }
}

/// The program's pools: the global one, and some of its own.
fn in_each_pool(work: impl Fn(&Program) + Sync) {
    let program = &*PROGRAM;
    or_give_up(|| {
        work(program);
        for threads in [1, 2, 4, 8] {
            pool(threads).install(|| work(program));
        }
    });
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Ends the process, and so the tests, where they would wait for ever.
fn or_give_up(work: impl FnOnce()) {
    let (done, is_done) = mpsc::channel::<()>();
    let name = thread::current().name().unwrap_or_default().to_owned();
    let watch = thread::spawn(move || {
        // All of it takes seconds on an idle machine.
        if is_done.recv_timeout(Duration::from_secs(300)) == Err(RecvTimeoutError::Timeout) {
            say(&format!("{name}: not done after five minutes: a call never returns"));
            std::process::abort();
        }
    });
    work();
    drop(done);
    watch.join().unwrap();
}

#[test]
fn rayons_global_pool_is_the_programs() {
    let program = &*PROGRAM;
    assert_eq!(rayon::current_num_threads(), 4);
    program.run();
}

#[test]
fn submitted_calls_are_waited_for_in_a_pool() {
    in_each_pool(|program| program.submit(32).into_par_iter().for_each(|call| program.check(call)));
}

#[test]
fn submitted_calls_are_waited_for_in_a_pool_within_a_pool() {
    in_each_pool(|program| {
        (0..8).into_par_iter().for_each(|n| {
            let calls = program.submit(4);
            pool(1 + n % 3).install(|| calls.into_par_iter().for_each(|call| program.check(call)));
            let (first, second) = (program.submit(1).remove(0), program.submit(1).remove(0));
            rayon::join(|| program.check(first), || rayon::join(|| program.run(), || program.check(second)));
        });
    });
}

/// What a lock protects, such as a cache or a file, is used by one iteration at a time: a thread that waits for its call must not begin
/// another iteration meanwhile, which would wait for the lock below it on the same stack.
#[test]
fn calls_are_made_under_a_lock_in_a_pool() {
    let lengths =
        |bytes: u64| -> Vec<Range<u64>> { (0..BYTES as u64 / bytes).map(|n| n * bytes..(n + 1) * bytes).collect() };
    let (messages, keys) = (lengths(4096), noise(2, 16 * (BYTES / 1024)));
    let of_gcm: Vec<_> = messages
        .iter()
        .zip(0u64..)
        .map(|(range, n)| (range.clone(), [&[0; 4][..], &n.to_be_bytes()].concat()))
        .collect();
    let of_gcm: Vec<_> =
        of_gcm.iter().map(|(range, nonce)| GcmMessage { nonce, aad: &[], range: range.clone() }).collect();
    type Call<'c> = &'c (dyn Fn(&Program, &mut [u8]) + Sync);
    let calls: [Call; 5] = [
        &|program, data| program.cipher.run(ctr(), data).unwrap(),
        &|program, data| drop(program.cipher.run(GcmEncryptBatch::new(&of_gcm).unwrap(), data).unwrap()),
        &|program, data| drop(program.cipher.run(CmacBatch::new(&messages).unwrap(), &data[..]).unwrap()),
        &|program, data| {
            let each = EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], 1024).unwrap();
            program.cipher.engine().run_each_key(&each, &keys, data).unwrap();
        },
        &|program, data| {
            let key = Key::new(&[1; 32]).unwrap();
            seal(program.cipher.engine(), Secret::Key(&key), &data[..], std::io::sink()).unwrap();
        },
    ];
    in_each_pool(|program| {
        for call in calls {
            let shared = Mutex::new(vec![0; BYTES]);
            (0..6).into_par_iter().for_each(|_| call(program, &mut shared.lock().unwrap()));
        }
    });
}
