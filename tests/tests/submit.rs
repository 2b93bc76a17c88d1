//! Calls that were submitted, on every engine: polled by a small executor, waited for, dropped; by the thousand, from
//! many threads, and from those of rayon's pool, which the calls themselves need.

use aes_bitslice_runtime::{Cipher, Counter, CounterMode, Direction, Error, Key, SubmitError, Submitted};
use aes_bitslice_tests::engines::{decrypts_cbc, engines, name, say};
use aes_bitslice_tests::reference::{Reference, noise};
use rayon::prelude::*;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

const COUNTER: [u8; 16] = [0xff; 16];
const IV: [u8; 16] = [0x11; 16];

fn counter() -> Counter {
    Counter::new(CounterMode::Ctr128BE, COUNTER)
}

/// A cipher of each engine, and the reference with the same key.
fn ciphers() -> Vec<(String, Cipher, Reference)> {
    let key = noise(1, 24);
    let cipher = |engine: &aes_bitslice_runtime::Engine| {
        (name(engine), engine.cipher(&Key::new(&key).unwrap()).unwrap(), Reference::new(&key))
    };
    engines().iter().map(cipher).collect()
}

/// Ends the process, and so the tests, where they would wait for ever.
fn or_give_up<T>(work: impl FnOnce() -> T) -> T {
    let (done, is_done) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        // All of it takes seconds where nothing else runs.
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

/// Data that tells when it is dropped.
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

/// Data whose second look waits for a gate to be opened: the first is that of the arguments' check.
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

#[test]
fn every_call_gives_back_what_the_reference_computes() {
    or_give_up(|| {
        for (name, cipher, reference) in ciphers() {
            for len in [0, 16, 1040, 600 << 10] {
                let data = noise(len as u64, len);
                let (vec, boxed) = (|| data.clone(), || data.clone().into_boxed_slice());
                let ctr = cipher.submit_ctr(&counter(), 5, vec()).unwrap();
                let encrypted = cipher.submit_ecb(Direction::Encrypt, boxed()).unwrap();
                let mut buffer = cipher.engine().host_buffer(len).unwrap();
                buffer.copy_from_slice(&data);
                let decrypted = cipher.submit_ecb(Direction::Decrypt, buffer).unwrap();
                assert!(block_on(ctr).unwrap() == reference.ctr(COUNTER, 5, &data), "{name}, CTR, {len}");
                let expected = reference.ecb(Direction::Encrypt, &data);
                assert!(encrypted.wait().unwrap()[..] == expected, "{name}, ECB encryption, {len}");
                let expected = reference.ecb(Direction::Decrypt, &data);
                assert!(decrypted.wait().unwrap()[..] == expected, "{name}, ECB decryption, {len}");
                if decrypts_cbc(cipher.engine()) {
                    let cbc = block_on(async { cipher.submit_cbc_decrypt(&IV, boxed())?.await }).unwrap();
                    assert!(cbc[..] == reference.cbc(Direction::Decrypt, IV, &data), "{name}, CBC, {len}");
                }
            }
        }
    });
}

#[test]
fn wrong_arguments_are_refused_at_once_and_the_data_comes_back() {
    fn refused<B>(outcome: Result<Submitted<B>, SubmitError<B>>) -> (Error, B) {
        let SubmitError { error, data } = outcome.expect_err("refused");
        (error, data)
    }
    for (name, cipher, _) in ciphers() {
        let data = noise(3, 33);
        let short = Counter::new(CounterMode::Ctr32BE, [0xff; 16]);
        let (error, back) = refused(cipher.submit_ctr(&short, 0, data.clone()));
        assert!(matches!(error, Error::CounterOverflow { needed: 3, left: 1, .. }), "{name}: {error}");
        assert_eq!(back, data);
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let (error, back) = refused(cipher.submit_ecb(direction, data.clone()));
            assert!(matches!(error, Error::NotWholeBlocks { len: 33 }), "{name}: {error}");
            assert_eq!(back, data);
        }
        let (error, back) = refused(cipher.submit_cbc_decrypt(&IV, data.clone()));
        assert!(matches!(error, Error::NotWholeBlocks { len: 33 }), "{name}: {error}");
        assert_eq!(back, data);
    }
}

#[test]
fn a_future_is_ready_and_wakes_once_when_its_call_is_done_and_not_before() {
    or_give_up(|| {
        for (name, cipher, reference) in ciphers() {
            let (open, gate) = mpsc::channel();
            let data = Gated { bytes: [7; 16], looks: 0, gate };
            let mut submitted = cipher.submit_ecb(Direction::Encrypt, data).unwrap();
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
            // Only the last that asked is woken, and once.
            assert_eq!((stale.rings.load(SeqCst), alarm.rings.load(SeqCst)), (0, 1), "{name}");
            assert!(submitted.is_done());
        }
    });
}

#[test]
fn waiting_ends_when_the_call_does() {
    or_give_up(|| {
        let (_, cipher, _) = ciphers().swap_remove(0);
        let (open, gate) = mpsc::channel();
        let submitted = cipher.submit_ecb(Direction::Encrypt, Gated { bytes: [7; 16], looks: 0, gate }).unwrap();
        let waiting = thread::spawn(move || submitted.wait().unwrap().bytes);
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        open.send(()).unwrap();
        assert_ne!(waiting.join().unwrap(), [7; 16]);
    });
}

#[test]
fn dropping_neither_waits_nor_cancels() {
    or_give_up(|| {
        for (name, cipher, reference) in ciphers() {
            // Nothing else of this engine can begin while every thread stands before a gate.
            let (gates, held): (Vec<_>, Vec<_>) = (0..rayon::current_num_threads().max(4))
                .map(|_| {
                    let (open, gate) = mpsc::channel::<()>();
                    (open, cipher.submit_ecb(Direction::Encrypt, Gated { bytes: [7; 16], looks: 0, gate }).unwrap())
                })
                .unzip();
            let (tell, told) = mpsc::channel();
            for _ in 0..100 {
                drop(cipher.submit_ctr(&counter(), 0, Told(vec![0; 64], tell.clone())).unwrap());
            }
            drop(tell);
            assert_eq!(told.try_recv().unwrap_err(), mpsc::TryRecvError::Empty, "{name}");
            // Held by nobody but the calls themselves.
            drop((held, cipher));
            drop(gates);
            let expected = reference.ctr(COUNTER, 0, &[0; 64]);
            let dropped: Vec<_> = told.iter().collect();
            assert!(dropped.len() == 100 && dropped.iter().all(|data| *data == expected), "{name}");
        }
    });
}

#[test]
fn thousands_from_many_threads() {
    /// Calls of a thread.
    const CALLS: usize = 500;
    or_give_up(|| {
        for (name, cipher, reference) in ciphers() {
            thread::scope(|scope| {
                for t in 0..8 {
                    let (name, cipher, reference) = (&name, &cipher, &reference);
                    scope.spawn(move || {
                        let part = |i: usize| noise(i as u64, 16 * (1 + (i * 37 + t) % 40));
                        let offset = |i: usize| (i * 4099 + t) as u64;
                        let submitted: Vec<_> =
                            (0..CALLS).map(|i| cipher.submit_ctr(&counter(), offset(i), part(i)).unwrap()).collect();
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

#[test]
fn all_of_rayons_threads_may_wait_for_calls_that_need_them() {
    or_give_up(|| {
        for (name, cipher, reference) in ciphers() {
            // Large enough to be spread over the pool.
            let data = noise(8, 1 << 20);
            let expected = reference.ctr(COUNTER, 0, &data);
            (0..16 * rayon::current_num_threads()).into_par_iter().for_each(|_| {
                let submitted = cipher.submit_ctr(&counter(), 0, data.clone()).unwrap();
                assert!(submitted.wait().unwrap() == expected, "{name}");
            });
        }
    });
}

#[test]
fn an_executor_of_many_tasks_on_one_thread() {
    type Task = Pin<Box<dyn Future<Output = usize>>>;
    /// Puts its task's number back into the queue.
    struct Requeue(usize, Mutex<mpsc::Sender<usize>>);
    impl Wake for Requeue {
        fn wake(self: Arc<Self>) {
            let _ = self.1.lock().unwrap().send(self.0);
        }
    }
    or_give_up(|| {
        for (name, cipher, _) in ciphers() {
            let task = |i: usize| -> Task {
                let cipher = cipher.clone();
                Box::pin(async move {
                    // There and back: two calls one after the other.
                    let plain = noise(i as u64, 100 + i);
                    let there = cipher.submit_ctr(&counter(), i as u64, plain.clone()).unwrap().await.unwrap();
                    assert!(there != plain);
                    let back = cipher.submit_ctr(&counter(), i as u64, there).unwrap().await.unwrap();
                    assert!(back == plain);
                    i
                })
            };
            let mut tasks: Vec<Option<Task>> = (0..1000).map(|i| Some(task(i))).collect();
            let (send, queue) = mpsc::channel();
            let wakers: Vec<_> =
                (0..1000).map(|i| Waker::from(Arc::new(Requeue(i, Mutex::new(send.clone()))))).collect();
            (0..1000).for_each(|i| send.send(i).unwrap());
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
            assert_eq!(sum, 499_500, "{name}");
            assert!(polls <= 3000, "{name}: no task is polled but at its start and when one of its calls is done");
        }
    });
}
