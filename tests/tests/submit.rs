//! Submitted calls, on every engine: polled by a small executor, waited for, dropped; by the thousand, from many
//! threads, and from all threads of a rayon pool.

use aes_bitslice_runtime::{
    Backend, CbcDecrypt, CbcEncrypt, Cipher, Counter, CounterMode, Ctr, Direction, Ecb, Engine, Error, Key, Mode,
    SubmitError, Submitted,
};
use aes_bitslice_tests::engines::{Device, has_mode, is_slow, name};
use aes_bitslice_tests::environment::{RUN_BY, all_or, is_set, say};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::reference::{Reference, noise};
use aes_bitslice_tests::{tests, tests_of_engines};
use rayon::prelude::*;
use std::future::Future;
use std::pin::{Pin, pin};
use std::process::{self, Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

fn main() -> ExitCode {
    let tests = tests_of_engines![
        every_call_gives_back_what_the_reference_computes,
        wrong_arguments_are_refused_at_once_and_the_data_comes_back,
        a_future_is_ready_and_wakes_once_when_its_call_is_done_and_not_before,
        waiting_ends_when_the_call_does,
        dropping_neither_waits_nor_cancels,
        thousands_from_many_threads,
        all_threads_of_a_pool_may_wait_for_calls,
        an_executor_of_many_tasks_on_one_thread,
    ];
    let where_no_thread_starts = tests![a_call_is_refused_or_waits_where_no_thread_starts];
    Tests::default().on_each(&Device::ALL, &[], tests).alone(&[], &[], where_no_thread_starts).run()
}

const COUNTER: [u8; 16] = [0xff; 16];
const IV: [u8; 16] = [0x11; 16];

fn counter() -> Counter {
    Counter::new(CounterMode::Ctr128BE, COUNTER)
}

/// CTR from a byte of the key stream on.
fn ctr(offset: u64) -> Ctr {
    Ctr::new(&counter(), offset)
}

/// A cipher of each engine, and the reference with the same key.
fn ciphers(engines: &[Engine]) -> Vec<(String, Cipher, Reference)> {
    let key = noise(1, 24);
    let cipher =
        |engine: &Engine| (name(engine), engine.cipher(&Key::new(&key).unwrap()).unwrap(), Reference::new(&key));
    engines.iter().map(cipher).collect()
}

/// A number of calls, fewer where each takes a while, except in exhaustive runs.
fn calls(all: usize, cipher: &Cipher) -> usize {
    if is_slow(cipher.engine()) { all_or(all, all / 10) } else { all }
}

/// Ends the process, and so the tests, where they would wait for ever.
fn or_give_up<T>(work: impl FnOnce() -> T) -> T {
    let (done, is_done) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        // All of it takes seconds on an idle machine.
        if is_done.recv_timeout(Duration::from_secs(900)) == Err(RecvTimeoutError::Timeout) {
            say("not done after a quarter of an hour: a call that was submitted is never done");
            std::process::abort();
        }
    });
    let result = work();
    drop(done);
    watch.join().unwrap();
    result
}

/// Counts how often it is woken, and wakes a thread.
struct Alarm {
    rings: AtomicUsize,
    thread: thread::Thread,
}

impl Alarm {
    fn here() -> Arc<Self> {
        Arc::new(Self { rings: AtomicUsize::new(0), thread: thread::current() })
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.rings.fetch_add(1, SeqCst);
        self.thread.unpark();
    }
}

/// Polls a future on this thread until it is ready.
fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, waker) = (pin!(future), Waker::from(Alarm::here()));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Data that reports when it is dropped.
struct Told(Vec<u8>, mpsc::Sender<Vec<u8>>);

impl AsMut<[u8]> for Told {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.1.send(std::mem::take(&mut self.0));
    }
}

/// Data whose second access waits for a gate to be opened: the first is the check of the arguments.
struct Gated {
    bytes: [u8; 16],
    looks: usize,
    gate: mpsc::Receiver<()>,
}

impl AsMut<[u8]> for Gated {
    fn as_mut(&mut self) -> &mut [u8] {
        self.looks += 1;
        if self.looks == 2 {
            let _ = self.gate.recv();
        }
        &mut self.bytes
    }
}

fn every_call_gives_back_what_the_reference_computes(engines: &'static [Engine]) {
    or_give_up(|| {
        for (name, cipher, reference) in ciphers(engines) {
            for len in [0, 16, 1040, 1100 << 10] {
                let data = noise(len as u64, len);
                let (vec, boxed) = (|| data.clone(), || data.clone().into_boxed_slice());
                let applied = cipher.submit(ctr(5), vec()).unwrap();
                let encrypted = cipher.submit(Ecb::encrypt(), boxed()).unwrap();
                let mut buffer = cipher.engine().host_buffer(len).unwrap();
                buffer.copy_from_slice(&data);
                let decrypted = cipher.submit(Ecb::decrypt(), buffer).unwrap();
                assert!(block_on(applied).unwrap() == reference.ctr(COUNTER, 5, &data), "{name}, CTR, {len}");
                let expected = reference.ecb(Direction::Encrypt, &data);
                assert!(encrypted.wait().unwrap()[..] == expected, "{name}, ECB encryption, {len}");
                let expected = reference.ecb(Direction::Decrypt, &data);
                assert!(decrypted.wait().unwrap()[..] == expected, "{name}, ECB decryption, {len}");
                if has_mode(cipher.engine(), Mode::CbcDecrypt) {
                    let cbc = block_on(async { cipher.submit(CbcDecrypt::new(&IV), boxed())?.await }).unwrap();
                    assert!(cbc[..] == reference.cbc(Direction::Decrypt, IV, &data), "{name}, CBC, {len}");
                }
                let serial = cipher.submit_with_output(CbcEncrypt::new(&IV), vec()).unwrap();
                let (chained, ()) = serial.wait().unwrap();
                assert!(chained == reference.cbc(Direction::Encrypt, IV, &data), "{name}, CBC encryption, {len}");
            }
        }
    });
}

fn wrong_arguments_are_refused_at_once_and_the_data_comes_back(engines: &'static [Engine]) {
    fn refused<B>(outcome: Result<Submitted<B>, SubmitError<B>>) -> (Error, B) {
        let SubmitError { error, data } = outcome.expect_err("refused");
        (error, data)
    }
    for (name, cipher, _) in ciphers(engines) {
        let data = noise(3, 33);
        let short = Counter::new(CounterMode::Ctr32BE, [0xff; 16]);
        let (error, back) = refused(cipher.submit(Ctr::new(&short, 0), data.clone()));
        assert!(matches!(error, Error::CounterOverflow { needed: 3, left: 1, .. }), "{name}: {error}");
        assert_eq!(back, data);
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let (error, back) = refused(cipher.submit(Ecb::new(direction), data.clone()));
            assert!(matches!(error, Error::NotWholeBlocks { len: 33 }), "{name}: {error}");
            assert_eq!(back, data);
        }
        let (error, back) = refused(cipher.submit(CbcDecrypt::new(&IV), data.clone()));
        assert!(matches!(error, Error::NotWholeBlocks { len: 33 }), "{name}: {error}");
        assert_eq!(back, data);
        let SubmitError { error, data: back } =
            cipher.submit_with_output(CbcEncrypt::new(&IV), data.clone()).expect_err("refused");
        assert!(matches!(error, Error::NotWholeBlocks { len: 33 }), "{name}: {error}");
        assert_eq!(back, data);
    }
}

fn a_future_is_ready_and_wakes_once_when_its_call_is_done_and_not_before(engines: &'static [Engine]) {
    or_give_up(|| {
        for (name, cipher, reference) in ciphers(engines) {
            let (open, gate) = mpsc::channel();
            let data = Gated { bytes: [7; 16], looks: 0, gate };
            let mut submitted = cipher.submit(Ecb::encrypt(), data).unwrap();
            let (stale, alarm) = (Alarm::here(), Alarm::here());
            let mut poll = |alarm: &Arc<Alarm>| {
                Pin::new(&mut submitted).poll(&mut Context::from_waker(&Waker::from(alarm.clone())))
            };
            assert!(poll(&stale).is_pending() && poll(&alarm).is_pending() && poll(&alarm).is_pending(), "{name}");
            thread::sleep(Duration::from_millis(20));
            assert!(poll(&alarm).is_pending(), "{name}");
            assert_eq!((stale.rings.load(SeqCst), alarm.rings.load(SeqCst)), (0, 0), "{name}");
            open.send(()).unwrap();
            while alarm.rings.load(SeqCst) == 0 {
                thread::park();
            }
            let Poll::Ready(data) = poll(&alarm) else { panic!("{name}: woken before it was ready") };
            assert_eq!(data.unwrap().bytes[..], reference.ecb(Direction::Encrypt, &[7; 16]), "{name}");
            // Only the last waker is called, and once.
            assert_eq!((stale.rings.load(SeqCst), alarm.rings.load(SeqCst)), (0, 1), "{name}");
            assert!(submitted.is_done());
        }
    });
}

fn waiting_ends_when_the_call_does(engines: &'static [Engine]) {
    or_give_up(|| {
        let (_, cipher, _) = ciphers(engines).swap_remove(0);
        let (open, gate) = mpsc::channel();
        let submitted = cipher.submit(Ecb::encrypt(), Gated { bytes: [7; 16], looks: 0, gate }).unwrap();
        let waiting = thread::spawn(move || submitted.wait().unwrap().bytes);
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        open.send(()).unwrap();
        assert_ne!(waiting.join().unwrap(), [7; 16]);
    });
}

fn dropping_neither_waits_nor_cancels(engines: &'static [Engine]) {
    or_give_up(|| {
        for (name, cipher, reference) in ciphers(engines) {
            // Nothing else of this engine can begin while every thread waits at a gate.
            let (gates, held): (Vec<_>, Vec<_>) = (0..aes_bitslice_runtime::threads().max(4))
                .map(|_| {
                    let (open, gate) = mpsc::channel::<()>();
                    (open, cipher.submit(Ecb::encrypt(), Gated { bytes: [7; 16], looks: 0, gate }).unwrap())
                })
                .unzip();
            let (tell, told) = mpsc::channel();
            for _ in 0..100 {
                drop(cipher.submit(ctr(0), Told(vec![0; 64], tell.clone())).unwrap());
            }
            drop(tell);
            assert_eq!(told.try_recv().unwrap_err(), mpsc::TryRecvError::Empty, "{name}");
            // Only the calls themselves hold it.
            drop((held, cipher));
            drop(gates);
            let expected = reference.ctr(COUNTER, 0, &[0; 64]);
            let dropped: Vec<_> = told.iter().collect();
            assert!(dropped.len() == 100 && dropped.iter().all(|data| *data == expected), "{name}");
        }
    });
}

fn thousands_from_many_threads(engines: &'static [Engine]) {
    or_give_up(|| {
        for (name, cipher, reference) in ciphers(engines) {
            let calls = calls(500, &cipher);
            thread::scope(|scope| {
                for t in 0..8 {
                    let (name, cipher, reference) = (&name, &cipher, &reference);
                    scope.spawn(move || {
                        let part = |i: usize| noise(i as u64, 16 * (1 + (i * 37 + t) % 40));
                        let offset = |i: usize| (i * 4099 + t) as u64;
                        let submitted: Vec<_> =
                            (0..calls).map(|i| cipher.submit(ctr(offset(i)), part(i)).unwrap()).collect();
                        for (i, submitted) in submitted.into_iter().enumerate().rev() {
                            let encrypted = match i % 3 {
                                0 => submitted.wait().unwrap(),
                                1 => block_on(submitted).unwrap(),
                                _ => continue,
                            };
                            let expected = reference.ctr(COUNTER, offset(i), &part(i));
                            assert!(encrypted == expected, "{name}, thread {t}, call {i}");
                        }
                    });
                }
            });
        }
    });
}

fn all_threads_of_a_pool_may_wait_for_calls(engines: &'static [Engine]) {
    or_give_up(|| {
        for (name, cipher, reference) in ciphers(engines) {
            // Large enough to be divided between threads.
            let data = noise(8, 1 << 20);
            let expected = reference.ctr(COUNTER, 0, &data);
            (0..16 * rayon::current_num_threads()).into_par_iter().for_each(|_| {
                let submitted = cipher.submit(ctr(0), data.clone()).unwrap();
                assert!(submitted.wait().unwrap() == expected, "{name}");
            });
        }
    });
}

fn an_executor_of_many_tasks_on_one_thread(engines: &'static [Engine]) {
    type Task = Pin<Box<dyn Future<Output = usize>>>;
    /// Puts its task's number back into the queue.
    struct Requeue(usize, Mutex<mpsc::Sender<usize>>);
    impl Wake for Requeue {
        fn wake(self: Arc<Self>) {
            let _ = self.1.lock().unwrap().send(self.0);
        }
    }
    or_give_up(|| {
        for (name, cipher, _) in ciphers(engines) {
            let task = |i: usize| -> Task {
                let cipher = cipher.clone();
                Box::pin(async move {
                    // There and back: two calls one after the other.
                    let plain = noise(i as u64, 100 + i);
                    let there = cipher.submit(ctr(i as u64), plain.clone()).unwrap().await.unwrap();
                    assert!(there != plain);
                    let back = cipher.submit(ctr(i as u64), there).unwrap().await.unwrap();
                    assert!(back == plain);
                    i
                })
            };
            let count = calls(1000, &cipher);
            let mut tasks: Vec<Option<Task>> = (0..count).map(|i| Some(task(i))).collect();
            let (send, queue) = mpsc::channel();
            let wakers: Vec<_> =
                (0..count).map(|i| Waker::from(Arc::new(Requeue(i, Mutex::new(send.clone()))))).collect();
            (0..count).for_each(|i| send.send(i).unwrap());
            let (mut done, mut sum, mut polls) = (0, 0, 0);
            while done < tasks.len() {
                let i = queue.recv().unwrap();
                let task = tasks[i].as_mut().expect("woken only while it waits");
                polls += 1;
                if let Poll::Ready(number) = task.as_mut().poll(&mut Context::from_waker(&wakers[i])) {
                    tasks[i] = None;
                    done += 1;
                    sum += number;
                }
            }
            assert_eq!(sum, count * (count - 1) / 2, "{name}");
            assert!(polls <= 3 * count, "{name}: no task is polled but at its start and when one of its calls is done");
        }
    });
}

/// Leaves this process one MiB of addresses, in which no stack has room, or one GiB; `false` if it cannot.
fn no_thread_starts(none: bool) -> bool {
    let kilobytes = |line: &str| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let Some(used) = status.lines().find_map(kilobytes).filter(|_| !is_set(RUN_BY)) else { return false };
    let limit = (used << 10) + if none { 1 << 20 } else { 1 << 30 };
    let prlimit = Command::new("prlimit").args([format!("--pid={}", process::id()), format!("--as={limit}:")]).status();
    prlimit.is_ok_and(|status| status.success())
}

/// A call for which there is no thread is refused, and comes back; once there is one, it makes all calls.
fn a_call_is_refused_or_waits_where_no_thread_starts() {
    let engine = Engine::open(Backend::Cpu).unwrap();
    let (_, cipher, reference) = ciphers(std::slice::from_ref(&engine)).remove(0);
    let data = || vec![7; 4096];
    let expected = reference.ctr(COUNTER, 0, &data());
    if !no_thread_starts(true) {
        return say("NOT TESTED: NO THREAD CAN BE KEPT FROM STARTING HERE");
    }
    match cipher.submit(ctr(0), data()) {
        Err(SubmitError { error: Error::NoThread { .. }, data: back }) => assert!(back == data()),
        other => panic!("{other:?}"),
    }
    assert!(no_thread_starts(false));
    assert!(cipher.submit(ctr(0), data()).unwrap().wait().unwrap() == expected);
    assert!(no_thread_starts(true));
    let calls: Vec<_> = (0..100).map(|_| cipher.submit(ctr(0), data()).expect("there is a thread")).collect();
    assert!(calls.into_iter().all(|call| call.wait().unwrap() == expected));
}
