//! The tests.

use crate::bench::{Bench, Outcome, Place};
use crate::cases::{CASES, Case};
use crate::notes::{
    a_context_is_not_used_behind_its_release, a_copy_from_pinned_memory_is_done_when_it_returns,
    memory_is_freed_clear_and_unused,
};
use crate::stand_in::{self, Fault};
use aes_bitslice_runtime::{Backend, Engine, Error, Key};
use aes_bitslice_tests::environment::{all_or, exhaustive};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::tests;
use std::os::unix::fs::symlink;
use std::process::{self, ExitCode};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};
use std::{env, thread};

/// Faults behind which the context is as good as before.
const HARMLESS: [Fault; 2] = [Fault::OutOfMemory, Fault::InvalidValue];
/// Faults behind which it cannot be used.
const FATAL: [Fault; 2] = [Fault::LaunchFailed, Fault::LaunchFailsLate];

pub fn main() -> ExitCode {
    // The stand-in is found by those only that look for the driver in this folder.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = env::current_exe().expect("this program");
    let library = program.parent().expect("a folder").join("libaes_bitslice_driver.so");
    symlink(library, folder.path().join("libcuda.so")).expect("a link");
    let mut path = folder.path().as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(others);
    }
    let path = path.into_string().expect("folders with names in UTF-8");
    let set = [("LD_LIBRARY_PATH", path.as_str()), ("AES_BITSLICE_STAND_IN_FOLDER", env!("CARGO_TARGET_TMPDIR"))];
    let of_the_stand_in = tests![
        memory_is_freed_clear_and_unused,
        a_context_is_not_used_behind_its_release,
        a_copy_from_pinned_memory_is_done_when_it_returns,
    ];
    let tests = tests![
        calls_are_right_and_leave_nothing,
        a_call_of_the_driver_that_fails_harms_nothing,
        a_call_of_the_driver_fails_from_the_beginning_to_the_end,
        a_call_of_the_driver_that_takes_long_changes_nothing,
    ];
    Tests::default().alone(&[], &set, of_the_stand_in).alone(&[Need::CCompiler], &set, tests).run()
}

/// What the CPU makes of a case.
fn expected(case: &Case) -> Outcome {
    let cpu = Engine::open(Backend::Cpu).expect("a CPU");
    (case.call)(&Bench::new(&cpu, Place::Host, None))
}

/// Engines that are opened when they are first asked for: one for data in chunks, and one for all other.
#[derive(Default)]
struct Engines([Option<Engine>; 2]);

impl Engines {
    fn at(&mut self, place: Place) -> &Engine {
        let of = &mut self.0[usize::from(place == Place::HostInChunks)];
        of.get_or_insert_with(|| place.open().expect("the stand-in"))
    }
}

/// On devices that take each of the kernels there are, with work done as late as can be, and at once.
fn calls_are_right_and_leave_nothing() {
    for (architecture, at_once) in [(80, false), (75, false), (90, true)] {
        stand_in::is(1, architecture, at_once);
        let mut engines = Engines::default();
        for case in &CASES {
            let expected = expected(case);
            for &place in case.places() {
                let what = begin(format!("{}, {place:?}, sm_{architecture}, at once: {at_once}", case.name));
                right(&what, &expected, &(case.call)(&Bench::new(engines.at(place), place, None)));
                assert_eq!(stand_in::notes(), "", "{what}");
            }
        }
        drop(engines);
        assert_eq!((stand_in::notes(), stand_in::left()), (String::new(), String::new()));
    }
}

/// On an engine that has made such a call before. The same call is right behind it, and nothing is left when the engine is dropped.
fn a_call_of_the_driver_that_fails_harms_nothing() {
    let step = all_or(1, 7);
    let mut engines = Engines::default();
    for (c, case) in CASES.iter().enumerate() {
        let expected = expected(case);
        for (p, &place) in case.places().iter().enumerate() {
            let engine = engines.at(place);
            right(case.name, &expected, &(case.call)(&Bench::new(engine, place, None)));
            for (f, fault) in HARMLESS.into_iter().enumerate() {
                let mut tried = 0;
                for n in ((c + 2 * p + 3 * f) as u64 % step..).step_by(step as usize) {
                    let bench = Bench::new(engine, place, Some((n, fault)));
                    begin(format!("{}, {place:?}, {fault:?}, call {n}", case.name));
                    let found = (case.call)(&bench);
                    let Some(failed) = bench.failed.get() else { break };
                    let what = begin(format!("{}, {place:?}, {fault:?} of {failed}, call {n}", case.name));
                    examine(&what, case, &expected, &found, place);
                    drop(bench);
                    right(&what, &expected, &(case.call)(&Bench::new(engine, place, None)));
                    assert_eq!(stand_in::notes(), "", "{what}");
                    tried += 1;
                }
                assert!(tried > 0, "{}, {place:?}, {fault:?}: no call of the driver failed", case.name);
            }
        }
    }
    drop(engines);
    assert_eq!((stand_in::notes(), stand_in::left()), (String::new(), String::new()));
}

/// An engine is opened, loads and tests its kernels, makes a call, and is dropped.
fn a_call_of_the_driver_fails_from_the_beginning_to_the_end() {
    for (c, case) in CASES.iter().enumerate() {
        let expected = expected(case);
        // Steps over the driver's calls, and over the faults. Most calls give known answers, which takes long, and are much the same in all
        // cases: an exhaustive run goes by each of them in one.
        let (step, turns) = match exhaustive() {
            true if c == 0 => (1, 1),
            true => (97, 2),
            false => (97, 4),
        };
        for (f, fault) in HARMLESS.into_iter().chain(FATAL).enumerate() {
            if !(c + f).is_multiple_of(turns) {
                continue;
            }
            let place = case.places()[(c + f) % case.places().len()];
            let numbers = ((7 * c + 3 * f) as u64 % step..).step_by(step as usize);
            let tried = numbers.take_while(|&n| from_the_beginning(case, &expected, place, n, fault)).count();
            assert!(tried > 0, "{}, {place:?}, {fault:?}: no call of the driver failed", case.name);
        }
    }
}

/// Whether there was a call of this number.
fn from_the_beginning(case: &Case, expected: &Outcome, place: Place, number: u64, fault: Fault) -> bool {
    let what = begin(format!("{}, {place:?}, {fault:?}, call {number} from the beginning", case.name));
    stand_in::fails(number, fault);
    let opened = place.open();
    let (mut calls, mut failed) = stand_in::result(number);
    if let (Ok(engine), None) = (&opened, failed) {
        let bench = Bench::new(engine, place, Some((number - calls, fault)));
        let found = (case.call)(&bench);
        calls += bench.calls.get();
        failed = bench.failed.get();
        let what = format!("{what}: {failed:?}");
        examine(&what, case, expected, &found, place);
        match failed {
            Some(_) if fault.is_fatal() => refused(&what, engine),
            _ => right(&what, expected, &(case.call)(&Bench::new(engine, place, None))),
        }
    } else {
        assert!(failed.is_some(), "{what}: {:?}", opened.err());
    }
    if failed.is_none() {
        stand_in::fails(number - calls, fault);
        drop(opened);
        failed = stand_in::result(number - calls).1;
    } else {
        drop(opened);
    }
    assert_eq!(stand_in::notes(), "", "{what}: {failed:?}");
    // What could not be waited for may still be in use.
    let left = stand_in::left();
    let may_be_left = failed.is_some_and(|name| {
        ["Free", "Destroy", "Synchronize", "Unload", "SetCurrent"].iter().any(|part| name.contains(part))
    });
    assert!(left.is_empty() || may_be_left, "{what}: {failed:?} leaves {left}");
    stand_in::begins_anew();
    failed.is_some()
}

fn a_call_of_the_driver_that_takes_long_changes_nothing() {
    const STALL: u32 = 30;
    let mut engines = Engines::default();
    for (c, case) in CASES.iter().enumerate() {
        let expected = expected(case);
        for (p, &place) in case.places().iter().enumerate() {
            let engine = engines.at(place);
            right(case.name, &expected, &(case.call)(&Bench::new(engine, place, None)));
            let mut tried = 0;
            for n in ((c + p) as u64 % 5..).step_by(all_or(1, 13)) {
                let what = begin(format!("{}, {place:?}, call {n}", case.name));
                let start = Instant::now();
                let bench = Bench::new(engine, place, Some((n, Fault::Stall(STALL))));
                right(&what, &expected, &(case.call)(&bench));
                if bench.failed.get().is_none() {
                    break;
                }
                assert!(start.elapsed() >= Duration::from_millis(STALL.into()), "{what}");
                tried += 1;
            }
            assert!(tried > 0, "{}, {place:?}: no call of the driver took long", case.name);
        }
    }
    assert_eq!(stand_in::notes(), "");
}

/// All calls are refused behind a fatal error, as soon as the engine has seen it, and change nothing.
fn refused(what: &str, engine: &Engine) {
    let key = Key::new(&[1; 16]).expect("a key");
    let mut data = [7; 16];
    let mut call = || engine.cipher(&key).and_then(|cipher| cipher.ecb_encrypt(&mut data));
    let outcomes = [call(), call()];
    assert!(outcomes[0].is_err() && matches!(outcomes[1], Err(Error::Poisoned { .. })), "{what}: {outcomes:?}");
    assert_eq!(data, [7; 16], "{what}");
}

/// A call without a fault.
fn right(what: &str, expected: &Outcome, found: &Outcome) {
    let values = [&expected.value, &found.value].map(|value| format!("{value:?}"));
    assert!(values[0] == values[1] && found.data == expected.data, "{what}: {values:?}");
}

/// A call in which one of the driver failed: right, or an error that hands nothing out.
fn examine(what: &str, case: &Case, expected: &Outcome, found: &Outcome, place: Place) {
    let is_on_device = matches!(place, Place::Device(_));
    let is_as_expected = format!("{:?}", found.value) == format!("{:?}", expected.value);
    match (&found.value, &found.data) {
        // An error that is found behind the call is one of the caller's stream.
        (Ok(_), None) => assert!(is_on_device, "{what}"),
        (Ok(_), Some(_)) => right(what, expected, found),
        (Err(_), Some(_)) if is_as_expected => right(what, expected, found),
        (Err(error), Some(data)) => {
            // Of memory of the host, all is handed out or nothing.
            let messages = if is_on_device { case.verified(data.len()) } else { vec![(0, data.len())] };
            for (from, to) in messages {
                let message = &data[from..to];
                let is_clear = message.iter().all(|&byte| byte == 0) || message == &found.before[from..to];
                // On the device a message stays that is authentic, whatever fails behind that.
                let is_authentic =
                    is_on_device && expected.data.as_ref().is_some_and(|data| message == &data[from..to]);
                assert!(is_clear || is_authentic, "{what}: {error:?}, and of {from}..{to} something is handed out");
            }
        }
        (Err(_), None) => {}
    }
}

/// What is tried, and since when.
static TRIED: Mutex<Option<(String, Instant)>> = Mutex::new(None);
/// How long it may take: known answers are given meanwhile, and a kernel may be compiled.
const LIMIT: Duration = Duration::from_secs(120);

/// Says what is tried now. What does not come to an end ends the process.
fn begin(what: String) -> String {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        thread::spawn(|| {
            loop {
                thread::sleep(Duration::from_secs(1));
                if let Some((what, _)) = TRIED.lock().unwrap().as_ref().filter(|(_, since)| since.elapsed() > LIMIT) {
                    eprintln!("this does not come to an end: {what}");
                    process::abort();
                }
            }
        });
    });
    *TRIED.lock().unwrap() = Some((what.clone(), Instant::now()));
    what
}
