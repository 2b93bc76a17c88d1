//! The tests.

use crate::bench::{Bench, Outcome, Place, open};
use crate::cases::{CASES, Case};
use crate::from_c::calls_from_c_under_keys_on_the_device;
use crate::notes::{
    a_context_is_not_used_after_its_release, a_copy_from_pinned_memory_is_done_when_it_returns,
    a_stream_waits_for_an_event_of_another_context, memory_is_freed_clear_and_unused, memory_of_a_peer_needs_access,
    what_is_of_a_context_is_used_in_it,
};
use crate::pairs::calls_on_the_device_from_an_input_to_an_output;
use crate::several::{
    a_call_of_the_driver_fails_from_the_opening_of_several_devices_to_their_drop,
    a_call_of_the_driver_that_fails_on_one_of_several_devices_harms_nothing,
    a_call_of_the_driver_that_takes_long_changes_nothing_on_several_devices,
    a_chunk_is_taken_by_a_device_that_reaches_it, a_device_of_several_that_is_lost_ends_calls_on_all,
    a_slow_device_of_several_leaves_its_work_to_others, calls_on_several_devices_are_right_and_leave_nothing,
    memory_of_several_devices_at_rest_depends_on_no_secret, what_cannot_be_cleared_is_not_handed_out,
    work_that_cannot_be_waited_for_ends_calls_on_all,
};
use crate::stand_in::{self, Fault, Machine};
use aes_bitslice_runtime::{Backend, Engine, Error, GcmSivEncrypt, Key, Nonce, Transfers, XaesEncrypt};
use aes_bitslice_tests::environment::{all_or, has_turn, sample};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::tests;
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::process::{self, ExitCode};
use std::sync::{LazyLock, Mutex, Once};
use std::time::{Duration, Instant};
use std::{env, mem, thread};

/// Faults that leave the context as good as before.
pub const HARMLESS: [Fault; 2] = [Fault::OutOfMemory, Fault::InvalidValue];
/// Faults that make it unusable.
pub const FATAL: [Fault; 2] = [Fault::LaunchFailed, Fault::LaunchFailsLate];

pub fn main() -> ExitCode {
    // Only processes that look for the driver in this folder find the stand-in.
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
        a_context_is_not_used_after_its_release,
        a_copy_from_pinned_memory_is_done_when_it_returns,
        memory_of_a_peer_needs_access,
        a_stream_waits_for_an_event_of_another_context,
    ];
    let tests = tests![
        calls_are_right_and_leave_nothing,
        what_is_prepared_is_checked,
        memory_at_rest_depends_on_no_secret,
        what_cannot_be_cleared_does_not_go_back_to_a_pool,
        an_error_is_fatal_if_the_driver_says_so,
        a_call_of_the_driver_that_fails_harms_nothing,
        a_call_of_the_driver_fails_from_the_beginning_to_the_end,
        a_call_of_the_driver_that_takes_long_changes_nothing,
        calls_from_c_under_keys_on_the_device,
        calls_on_the_device_from_an_input_to_an_output,
    ];
    let of_several = tests![
        calls_on_several_devices_are_right_and_leave_nothing,
        memory_of_several_devices_at_rest_depends_on_no_secret,
        a_call_of_the_driver_that_fails_on_one_of_several_devices_harms_nothing,
        a_device_of_several_that_is_lost_ends_calls_on_all,
        a_call_of_the_driver_fails_from_the_opening_of_several_devices_to_their_drop,
        a_call_of_the_driver_that_takes_long_changes_nothing_on_several_devices,
        a_slow_device_of_several_leaves_its_work_to_others,
        a_chunk_is_taken_by_a_device_that_reaches_it,
        what_cannot_be_cleared_is_not_handed_out,
        work_that_cannot_be_waited_for_ends_calls_on_all,
        what_is_of_a_context_is_used_in_it,
    ];
    Tests::default()
        .alone(&[], &set, of_the_stand_in)
        .alone(&[Need::CCompiler], &set, tests)
        .alone(&[Need::CCompiler], &set, of_several)
        .run()
}

/// The CPU's result of a case, on data that is as long as in a place.
pub fn expected(case: &Case, place: Place) -> Outcome {
    static CPU: LazyLock<Engine> = LazyLock::new(|| Engine::open(Backend::Cpu).expect("a CPU"));
    (case.call)(&Bench::instead_of(&CPU, place))
}

/// On devices that take each of the existing kernels, with work done as late as possible, and at once.
fn calls_are_right_and_leave_nothing() {
    for (architecture, at_once) in [(80, false), (75, false), (90, true)] {
        calls_are_right_on(Machine { devices: 1, peers: 1, architecture, at_once });
    }
}

/// What a nonce of another length would be derived from is not there.
fn what_is_prepared_is_checked() {
    stand_in::configure(Machine { devices: 1, peers: 1, architecture: 80, at_once: true });
    let cipher = open(1).expect("the stand-in").cipher(&Key::new(&[1; 32]).unwrap()).unwrap();
    let (device, short) = (cipher.device().unwrap(), Nonce::new(&[1; 5]).unwrap());
    let refused = [
        device.prepare_for(&GcmSivEncrypt::new(&short, b"")).err(),
        device.prepare_for(&XaesEncrypt::new(&short, b"")).err(),
    ];
    assert!(refused.iter().all(|refused| matches!(refused, Some(Error::Length { .. }))), "{refused:?}");
}

pub fn calls_are_right_on(machine: Machine) {
    stand_in::configure(machine);
    let engine = open(machine.devices).expect("the stand-in");
    for (c, case) in CASES.iter().enumerate() {
        for (p, place) in case.places(machine.devices).into_iter().enumerate() {
            // More devices need more data: of each machine some cases.
            let step = if place.is_sharded() { machine.devices as usize } else { 1 };
            if !has_turn(c + p / 2 + machine.peers as usize, all_or(1, step)) {
                continue;
            }
            let expected = expected(case, place);
            let what = begin(format!("{}, {place:?}, {machine:?}", case.name));
            let launches = stand_in::launches(machine.devices);
            right(&what, &expected, &(case.call)(&Bench::new(&place.of(engine.clone(), machine.devices), place, None)));
            assert_eq!(stand_in::notes(), "", "{what}");
            let is_busy = |(now, before)| now > before;
            let all_work = stand_in::launches(machine.devices).iter().zip(&launches).all(is_busy);
            assert!(all_work || !place.is_sharded(), "{what}: a device had nothing to do");
        }
    }
    drop(engine);
    nothing_is_left();
}

/// What memory of the device and pinned memory hold after a call, when nothing is being done, does not depend on keys and data: a call with
/// others leaves the same there. What GCM in one launch returns stays, if it is dropped before the call is done, until its memory is used
/// again, so calls of that architecture are done at once.
fn memory_at_rest_depends_on_no_secret() {
    for (architecture, at_once) in [(80, false), (90, true)] {
        memory_at_rest_depends_on_no_secret_of(Machine { devices: 1, peers: 1, architecture, at_once });
    }
}

pub fn memory_at_rest_depends_on_no_secret_of(machine: Machine) {
    stand_in::configure(machine);
    let opened = open(machine.devices).expect("the stand-in");
    for case in CASES.iter().filter(|case| case.has_other_secrets()) {
        for place in case.places(machine.devices) {
            let engine = place.of(opened.clone(), machine.devices);
            let what = begin(format!("{}, {place:?}, {machine:?}", case.name));
            let in_one_launch = machine.architecture == 90 && matches!(place, Place::Device(0));
            let may_drop = matches!(place, Place::Device(_)) && !case.leaves_its_tag(in_one_launch, machine.at_once);
            for drops in [false, true].into_iter().take(if may_drop { 2 } else { 1 }) {
                let left = [0, 1].map(|secrets| {
                    let bench = Bench::new(&engine, place, None).with_secrets(secrets).that_drops(drops);
                    let before = (case.call)(&bench).before;
                    let to_pools = bench.to_pools.take();
                    (before, stand_in::contents(), if case.sets_ciphertext_aside() { String::new() } else { to_pools })
                });
                assert!(left[0].0 != left[1].0, "{what}: the data is the same");
                let [one, other] = left.map(|(_, contents, to_pools)| (contents, to_pools));
                assert_eq!(one, other, "{what}, {}", if drops { "dropped" } else { "waited for" });
            }
        }
    }
    drop(opened);
    nothing_is_left();
}

/// Memory from a pool that cannot be cleared does not go back there.
fn what_cannot_be_cleared_does_not_go_back_to_a_pool() {
    const CLEARS: &str = "cuMemsetD8Async";
    stand_in::configure(Machine { devices: 1, peers: 1, architecture: 90, at_once: false });
    let is_in_pools = ["under keys in memory of the device", "that arrays describe"];
    for case in CASES.iter().filter(|case| is_in_pools.iter().any(|end| case.name.ends_with(end))) {
        let what = begin(format!("{}: it is not cleared", case.name));
        let place = case.places(1)[0];
        let engine = place.open(1).expect("the stand-in");
        let calls = calls_of(case, &expected(case, place), &engine, place);
        let call = |number, fault| {
            let bench = Bench::new(&engine, place, Some((number, fault)));
            let found = (case.call)(&bench);
            (bench.failed.get(), found.value.is_err(), bench.to_pools.take())
        };
        let last = (0..calls).rev().find(|&number| call(number, Fault::InvalidValue).0 == Some(CLEARS));
        let (failed, is_told, to_pools) = call(last.expect("a call that clears"), Fault::Lasting);
        assert_eq!((failed, is_told, to_pools.as_str()), (Some(CLEARS), true, ""), "{what}");
        drop(engine);
        ends(&what, true);
    }
}

/// Each error of the driver, returned by one of its calls or found when a launch completes: after one that makes the context unusable all
/// calls are refused, after any other the same call is right.
fn an_error_is_fatal_if_the_driver_says_so() {
    let case = CASES.iter().find(|case| case.name == "ECB encryption").expect("there is one");
    let place = Place::HostInChunks;
    let expected = expected(case, place);
    let open = || {
        let engine = place.open(1).expect("the stand-in");
        let calls = calls_of(case, &expected, &engine, place) * 8 / 9;
        (engine, calls)
    };
    let (mut engine, mut calls) = open();
    for (n, code) in (0..).zip(stand_in::errors()) {
        let fault = if n % 2 == 0 { Fault::Returned(code) } else { Fault::Late(code) };
        // How many calls there are depends on which thread comes first: a trial without the call is repeated with an earlier one.
        let mut number = n % calls;
        let (what, bench, found) = loop {
            let what = begin(format!("{fault:?}, call {number}"));
            let bench = Bench::new(&engine, place, Some((number, fault)));
            let found = (case.call)(&bench);
            if number == 0 || bench.failed.get().is_some() {
                break (what, bench, found);
            }
            number /= 2;
        };
        let what = format!("{what} of {}", bench.failed.get().expect("a call of the driver"));
        drop(bench);
        examine(&what, case, &expected, &found, place);
        if code.is_fatal {
            refused(&what, &engine);
            drop(engine);
            ends(&what, true);
            (engine, calls) = open();
        } else {
            right(&what, &expected, &(case.call)(&Bench::new(&engine, place, None)));
        }
    }
    drop(engine);
    ends("harmless errors", true);
}

/// No rule of the driver was violated, and everything is released.
pub fn nothing_is_left() {
    assert_eq!((stand_in::notes(), stand_in::left()), (String::new(), String::new()));
}

fn a_call_of_the_driver_that_fails_harms_nothing() {
    let machine = Machine { devices: 1, peers: 1, architecture: 80, at_once: false };
    a_call_that_fails_harms_nothing_on(machine, |_| true, |_| all_or(3, 13));
    // The kernel of GCM in one launch is not for that architecture.
    let machine = Machine { architecture: 90, ..machine };
    let is_in_one = |case: &Case| case.name.ends_with("under few keys") || case.name.ends_with("that arrays describe");
    a_call_that_fails_harms_nothing_on(machine, is_in_one, |_| all_or(1, 3));
}

/// On an engine that has made such a call before, one for each case: of the driver calls, numbered from 0 in each library call, one of
/// `step(place)` fails. The same library call is right afterwards, and nothing is left when the engine is dropped, unless one of the failed
/// calls [may leave something](Case::may_leave). Returns the devices on which calls have failed.
pub fn a_call_that_fails_harms_nothing_on(
    machine: Machine,
    is_tried: fn(&Case) -> bool,
    step: impl Fn(Place) -> u64,
) -> BTreeSet<u32> {
    let (devices, mut failed_on) = (machine.devices, BTreeSet::new());
    for (c, case) in CASES.iter().enumerate().filter(|(_, case)| is_tried(case)) {
        stand_in::configure(machine);
        let opened = open(devices).expect("the stand-in");
        let mut may_leave = false;
        for (p, place) in case.places(devices).into_iter().enumerate() {
            let expected = expected(case, place);
            let engine = &place.of(opened.clone(), devices);
            let (calls, step) = (calls_of(case, &expected, engine, place), step(place));
            for (f, fault) in HARMLESS.into_iter().enumerate() {
                let mut tried = 0;
                for n in sample(c + 2 * p + 3 * f, step as usize, 0..calls) {
                    let mut trial = || {
                        let failed = a_call_that_fails(case, &expected, engine, place, n, fault);
                        may_leave |= failed.is_some_and(|failed| case.may_leave(failed));
                        failed
                    };
                    let mut held = stand_in::held();
                    let Some(failed) = trial() else { break };
                    failed_on.extend(stand_in::failed_on());
                    // More may be kept for the next call than before. It is a leak if it grows each time.
                    let grows = |_| {
                        let before = mem::replace(&mut held, stand_in::held());
                        held > before && trial().is_some_and(|failed| !case.may_leave(failed))
                    };
                    let is_lost = !case.may_leave(failed) && (0..8).all(grows);
                    assert!(
                        !is_lost,
                        "{}, {place:?}, {fault:?} of {failed}, call {n}: something is lost each time",
                        case.name
                    );
                    tried += 1;
                }
                // If a call makes few driver calls, possibly none of them failed.
                assert!(
                    tried > 0 || 4 * step > calls,
                    "{}, {place:?}, {fault:?}: no call of the driver failed",
                    case.name
                );
            }
        }
        drop(opened);
        ends(case.name, may_leave);
    }
    failed_on
}

/// A library call in which one driver call fails, by its number, and the same library call after it. Returns the name of the failed call,
/// if there was one.
fn a_call_that_fails(
    case: &Case,
    expected: &Outcome,
    engine: &Engine,
    place: Place,
    number: u64,
    fault: Fault,
) -> Option<&'static str> {
    let bench = Bench::new(engine, place, Some((number, fault)));
    begin(format!("{}, {place:?}, {fault:?}, call {number}", case.name));
    let at_rest = stand_in::contents();
    let found = (case.call)(&bench);
    let failed = bench.failed.get()?;
    let what = begin(format!("{}, {place:?}, {fault:?} of {failed}, call {number}", case.name));
    examine(&what, case, expected, &found, place);
    let to_pools = bench.to_pools.take();
    drop(bench);
    // What a call without a fault leaves holds no secret.
    let contents = stand_in::contents();
    let other: Vec<_> = contents.lines().filter(|line| !at_rest.lines().any(|before| before == *line)).collect();
    // A file has several batches, each with its own description.
    let may_leave = case.may_leave(failed) || !case.has_other_secrets();
    assert!(other.is_empty() || may_leave, "{what} leaves {other:?}");
    let without_fault = Bench::new(engine, place, None);
    right(&what, expected, &(case.call)(&without_fault));
    // What else goes back to pools depends on where the call ended.
    let is_public = !without_fault.to_pools.take().is_empty();
    assert!(to_pools.is_empty() || is_public || may_leave, "{what} gives back {to_pools}");
    assert_eq!(stand_in::notes(), "", "{what}");
    Some(failed)
}

/// The number of driver calls in a call without a fault, on an engine that has made the same call before, and so has loaded and tested its
/// kernels. There are some more where threads wait for each other longer.
fn calls_of(case: &Case, expected: &Outcome, engine: &Engine, place: Place) -> u64 {
    right(case.name, expected, &(case.call)(&Bench::new(engine, place, None)));
    let counted = Bench::new(engine, place, Some((u64::MAX, Fault::InvalidValue)));
    right(case.name, expected, &(case.call)(&counted));
    counted.calls.get() * 9 / 8
}

fn a_call_of_the_driver_fails_from_the_beginning_to_the_end() {
    let machine = Machine { devices: 1, peers: 1, architecture: 80, at_once: false };
    // Most calls compute known answers, which takes long, and are much the same in all cases: an exhaustive run goes through each of them in
    // one case.
    fails_from_the_beginning_to_the_end(machine, |c| all_or(if c == 0 { 1 } else { 48 }, 193));
}

/// An engine is opened, loads and tests its kernels, makes a call, and is dropped: in each case, one of `step(case)` of the driver's calls
/// fails, by one of the four faults.
pub fn fails_from_the_beginning_to_the_end(machine: Machine, step: impl Fn(usize) -> usize) {
    let mut tried = 0;
    for (c, case) in CASES.iter().enumerate() {
        let places = case.places(machine.devices);
        let Some(&place) = places.get(c % places.len().max(1)) else { continue };
        let expected = expected(case, place);
        let is_there = |number: &u64| {
            let fault = [HARMLESS, FATAL].as_flattened()[(c + *number as usize) % 4];
            stand_in::configure(machine);
            from_the_beginning(case, &expected, place, machine.devices, *number, fault)
        };
        tried += sample(7 * c, step(c), 0..).take_while(is_there).count();
    }
    assert!(tried > 0, "no call of the driver failed");
}

/// Whether there was a call of this number.
pub fn from_the_beginning(
    case: &Case,
    expected: &Outcome,
    place: Place,
    devices: u32,
    number: u64,
    fault: Fault,
) -> bool {
    let what =
        begin(format!("{}, {place:?}, {devices} devices, {fault:?}, call {number} from the beginning", case.name));
    stand_in::fails(number, fault);
    let opened = place.open(devices);
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
    ends(&format!("{what}: {failed:?}"), failed.is_some_and(|failed| case.may_leave(failed)));
    failed.is_some()
}

/// The end of trials in which driver calls failed: nothing is left, unless [one of them may leave something](Case::may_leave). The next
/// trial begins anew.
pub fn ends(what: &str, may_leave: bool) {
    assert_eq!(stand_in::notes(), "", "{what}");
    let left = stand_in::left();
    assert!(left.is_empty() || may_leave, "{what} leaves {left}");
    stand_in::begins_anew();
}

fn a_call_of_the_driver_that_takes_long_changes_nothing() {
    a_call_that_takes_long_changes_nothing_on(1, |_| all_or(3, 29));
}

/// On an engine on `devices` devices: of the driver calls, one of `step(place)` takes 30 ms. The library call takes that long, too, and is
/// right.
pub fn a_call_that_takes_long_changes_nothing_on(devices: u32, step: impl Fn(Place) -> u64) {
    const STALL: u32 = 30;
    let opened = open(devices).expect("the stand-in");
    for (c, case) in CASES.iter().enumerate() {
        for (p, place) in case.places(devices).into_iter().enumerate() {
            let expected = expected(case, place);
            let engine = &place.of(opened.clone(), devices);
            let (calls, step) = (calls_of(case, &expected, engine, place), step(place));
            let mut tried = 0;
            for n in sample(7 * c + 3 * p, step as usize, 0..calls) {
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
            // If a call makes few driver calls, possibly none of them took long.
            assert!(tried > 0 || 4 * step > calls, "{}, {place:?}: no call of the driver took long", case.name);
        }
    }
    assert_eq!(stand_in::notes(), "");
}

/// All calls are refused after a fatal error, as soon as the engine has seen it, and change nothing. They are calls that reach each of its
/// devices.
pub fn refused(what: &str, engine: &Engine) {
    const BYTES: usize = 4096;
    let key = Key::new(&[1; 16]).expect("a key");
    let engine = engine.clone().with_transfers(Transfers { chunk_bytes: Some(16), ..Transfers::default() });
    let mut data = [7; BYTES];
    let mut call = || engine.cipher(&key).and_then(|cipher| cipher.ecb_encrypt(&mut data));
    let outcomes = [call(), call()];
    assert!(outcomes[0].is_err() && matches!(outcomes[1], Err(Error::Poisoned { .. })), "{what}: {outcomes:?}");
    // Output that the first has begun is cleared.
    let first = data[0];
    assert!(data.iter().all(|&byte| byte == first) && [0, 7].contains(&first), "{what}");
    let sharded = engine.sharded(BYTES).map(|buffer| buffer.len());
    assert!(matches!(sharded, Err(Error::Poisoned { .. })), "{what}: {sharded:?}");
}

/// A call without a fault.
pub fn right(what: &str, expected: &Outcome, found: &Outcome) {
    assert!(found.lost.is_empty(), "{what}: {:?} is lost", found.lost);
    as_expected(what, expected, found);
}

/// A call whose result and data are as expected, as far as the data can be read.
fn as_expected(what: &str, expected: &Outcome, found: &Outcome) {
    let values = [&expected.value, &found.value].map(|value| format!("{value:?}"));
    assert!(values[0] == values[1], "{what}: {values:?}");
    assert!(found.data == found.without_lost(&expected.data), "{what}: {values:?}, and the data is another");
}

/// A call in which a driver call failed: right, or an error that hands nothing out.
pub fn examine(what: &str, case: &Case, expected: &Outcome, found: &Outcome, place: Place) {
    // An error that is found after a call on a device is an error of the caller's stream.
    assert!(found.lost.is_empty() || place.is_on_devices(), "{what}: {:?} is lost", found.lost);
    match &found.value {
        Ok(_) => as_expected(what, expected, found),
        Err(_) if format!("{:?}", found.value) == format!("{:?}", expected.value) => as_expected(what, expected, found),
        Err(error) => {
            // Memory that a call has until it returns is handed out as a whole or not at all.
            let is_on_device = matches!(place, Place::Device(_));
            let messages = if is_on_device { case.verified(found.data.len()) } else { vec![(0, found.data.len())] };
            let (before, expected) = (found.without_lost(&found.before), found.without_lost(&expected.data));
            for (from, to) in messages {
                let message = &found.data[from..to];
                let is_clear = message.iter().all(|&byte| byte == 0) || message == &before[from..to];
                // On the device an authentic message stays, whatever fails after it.
                let is_authentic = is_on_device && message == &expected[from..to];
                assert!(is_clear || is_authentic, "{what}: {error:?}, and of {from}..{to} something is handed out");
            }
            // In a caller's device memory, part of the work may be done. No byte differs from both its old and its intended value.
            let mut bytes = before.iter().zip(&found.data).zip(&expected);
            let other = bytes.position(|((before, found), expected)| ![&0, before, expected].contains(&found));
            assert!(
                other.is_none(),
                "{what}: {error:?}, and byte {other:?} is neither what it was nor what it was to be"
            );
        }
    }
}

/// The current trial, and its start.
static TRIED: Mutex<Option<(String, Instant)>> = Mutex::new(None);
/// How long it may take: known answers are computed meanwhile, and a kernel may be compiled.
const LIMIT: Duration = Duration::from_secs(600);

/// Announces the current trial. One that does not end ends the process.
pub fn begin(what: String) -> String {
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
