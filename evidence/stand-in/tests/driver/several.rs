//! Several devices that share the work of a call: two and four, which reach each other's memory or do not.

use crate::bench::{Bench, CUT, CUTS, Outcome, Place, open};
use crate::cases::{CASES, Case};
use crate::stand_in::{self, Fault, Machine};
use crate::trials::{
    FATAL, a_call_that_fails_harms_nothing_on, a_call_that_takes_long_changes_nothing_on, begin, calls_are_right_on,
    ends, examine, expected, fails_from_the_beginning_to_the_end, memory_at_rest_depends_on_no_secret_of,
    nothing_is_left, refused, right,
};
use aes_bitslice_runtime::{Backend, Ecb, Engine, Error, Gmac, Key, Nonce};
use aes_bitslice_tests::environment::{all_or, all_or_every, sample};
use aes_bitslice_tests::reference::noise;
use std::collections::BTreeSet;

/// Of the architecture whose hashes the stand-in computes fastest.
const TWO: Machine = Machine { devices: 2, peers: 2, architecture: 75, at_once: false };

/// Two devices and four, all of which reach each other, or in pairs, or not at all.
const MACHINES: [Machine; 5] = [
    TWO,
    Machine { devices: 4, peers: 1, architecture: 75, at_once: false },
    Machine { devices: 4, peers: 4, architecture: 90, at_once: true },
    Machine { devices: 2, peers: 1, architecture: 80, at_once: true },
    Machine { devices: 4, peers: 2, architecture: 75, at_once: false },
];

pub fn calls_on_several_devices_are_right_and_leave_nothing() {
    // Of no common factor with the numbers of devices, by which samples of calls on sharded memory are taken.
    for machine in all_or_every(3, MACHINES) {
        calls_are_right_on(machine);
    }
}

pub fn memory_of_several_devices_at_rest_depends_on_no_secret() {
    memory_at_rest_depends_on_no_secret_of(TWO);
}

pub fn a_call_of_the_driver_that_fails_on_one_of_several_devices_harms_nothing() {
    let step = |place: Place| match place {
        // In an exhaustive run more than one of the calls for each share, so that others already have theirs.
        Place::HostForAll(_) => all_or(3, 37),
        _ if place.is_sharded() => all_or(3, 73),
        _ => all_or(31, 197),
    };
    assert!(a_call_that_fails_harms_nothing_on(TWO, |_| true, step).is_superset(&BTreeSet::from([0, 1])));
}

pub fn a_call_of_the_driver_that_takes_long_changes_nothing_on_several_devices() {
    stand_in::configure(TWO);
    let step = |place: Place| if place.is_sharded() { all_or(11, 61) } else { all_or(61, 197) };
    a_call_that_takes_long_changes_nothing_on(2, step);
}

/// On engines that have made such a call before: all later calls are refused, and everything on the other devices is released.
pub fn a_device_of_several_that_is_lost_ends_calls_on_all() {
    let (both, mut lost) = (BTreeSet::from([0, 1]), BTreeSet::new());
    for (c, case) in CASES.iter().enumerate().rev() {
        let places = case.places(2).into_iter().enumerate();
        let trials: Vec<_> =
            places.flat_map(|place| FATAL.into_iter().enumerate().map(move |fault| (place, fault))).collect();
        // Opening an engine takes long: one of each case; but all of the last, ECB on any memory, if until then not both were lost.
        let step = if c == 0 && lost != both { 1 } else { trials.len() };
        for ((p, place), (f, fault)) in sample(c, step, trials) {
            lost.extend(lost_in_a_call(case, &expected(case, place), place, fault, 37 * c + 11 * p + 5 * f));
        }
    }
    assert_eq!(lost, both);
}

/// The device of the driver call that failed: it is one of those that the call makes.
fn lost_in_a_call(case: &Case, expected: &Outcome, place: Place, fault: Fault, which: usize) -> Option<u32> {
    stand_in::configure(TWO);
    let engine = place.open(2).expect("the stand-in");
    right(case.name, expected, &(case.call)(&Bench::new(&engine, place, None)));
    let counted = Bench::new(&engine, place, Some((u64::MAX, fault)));
    right(case.name, expected, &(case.call)(&counted));
    let number = which as u64 % counted.calls.get().max(1);
    drop(counted);
    let bench = Bench::new(&engine, place, Some((number, fault)));
    begin(format!("{}, {place:?}, {fault:?}, call {number}", case.name));
    let found = (case.call)(&bench);
    let failed = bench.failed.get();
    let what = format!("{}, {place:?}, {fault:?} of {failed:?}, call {number}", case.name);
    drop(bench);
    let device = stand_in::failed_on();
    examine(&what, case, expected, &found, place);
    // With several threads there may be fewer calls than before.
    if failed.is_some() {
        refused(&what, &engine);
    }
    drop(engine);
    ends(&what, false);
    device.filter(|_| failed.is_some())
}

/// An engine is opened on two devices, makes a call, and is dropped.
pub fn a_call_of_the_driver_fails_from_the_opening_of_several_devices_to_their_drop() {
    fails_from_the_beginning_to_the_end(TWO, |_| all_or(97, 389));
}

/// The output of a call that fails, on two devices, is cleared. Where a device cannot clear its share, however often it is asked to,
/// nothing is copied from there, and all calls are refused.
pub fn what_cannot_be_cleared_is_not_handed_out() {
    const CLEARS: &str = "cuMemsetD8Async";
    let case = CASES.iter().find(|case| case.name == "GCM decryption of what is not authentic").expect("there is one");
    let place = *case.places(2).iter().find(|place| place.is_sharded()).expect("there is one");
    stand_in::configure(TWO);
    let expected = expected(case, place);
    for lost in 1..=2 {
        let what = begin(format!("{lost} devices cannot clear their shares"));
        let engine = place.open(2).expect("the stand-in");
        let call = |number, fault| {
            let bench = Bench::new(&engine, place, Some((number, fault)));
            let found = (case.call)(&bench);
            (found, bench.calls.get(), bench.failed.get())
        };
        // The first makes more driver calls than the next ones.
        let calls = [(); 3].map(|()| call(u64::MAX, Fault::InvalidValue).1)[2];
        // The last calls that clear anything clear the shares, one for each device.
        let mut clears = (0..calls).rev().filter(|&number| call(number, Fault::InvalidValue).2 == Some(CLEARS));
        let number = clears.nth(lost - 1).expect("a call that clears");
        let (found, _, failed) = call(number, Fault::Lasting);
        assert_eq!((failed, found.lost.len()), (Some(CLEARS), lost), "{what}");
        examine(&what, case, &expected, &found, place);
        let poisoned = engine.cipher(&Key::new(&[1; 16]).unwrap()).map(|_| ());
        let is_cause = |cause: &str| cause.contains("was not cleared");
        assert!(matches!(&poisoned, Err(Error::Poisoned { cause }) if is_cause(cause)), "{what}: {poisoned:?}");
        refused(&what, &engine);
        drop(engine);
        ends(&what, failed.is_some_and(|failed| case.may_leave(failed)));
    }
}

/// Two devices work on sharded memory, and all calls fail that ask whether one of them is done, or wait for it. It may still write to each
/// share, so each device refuses later calls.
pub fn work_that_cannot_be_waited_for_ends_calls_on_all() {
    const ASKS: &str = "cuStreamQuery";
    stand_in::configure(TWO);
    for waited_for in 0..2 {
        let what = begin(format!("device {waited_for} cannot be waited for"));
        let engine = open(2).expect("the stand-in");
        let cipher = engine.cipher(&Key::new(&[5; 16]).expect("a key")).expect("a key");
        let sharded = cipher.sharded().expect("several devices");
        let mut data = engine.sharded_in(2 * CUT, CUTS).expect("memory of the devices");
        let mut call = |number, fault| {
            // The first call, and one that follows a failure, make more driver calls than others.
            sharded.run(Ecb::encrypt(), &mut data).expect("a call without a fault");
            stand_in::fails(number, fault);
            let outcome = sharded.run(Ecb::encrypt(), &mut data);
            let (calls, failed) = stand_in::result(number);
            (outcome, calls, failed.zip(stand_in::failed_on()))
        };
        let calls = call(u64::MAX, Fault::InvalidValue).1;
        let asks = |number: &u64| call(*number, Fault::InvalidValue).2 == Some((ASKS, waited_for));
        let number = (0..calls).find(asks).expect("a call that asks about the device");
        let (outcome, _, failed) = call(number, Fault::LastingThere);
        assert!(outcome.is_err() && failed == Some((ASKS, waited_for)), "{what}: {outcome:?}, {failed:?}");
        let contexts = engine.cuda_contexts().expect("devices");
        for (context, device) in contexts.iter().zip(cipher.devices().expect("devices")) {
            let stream = context.new_stream().expect("a stream");
            let mut block = stream.alloc_zeros::<u8>(16).expect("memory of the device");
            let refused = device.run(&stream, Ecb::encrypt(), &mut block);
            let is_cause = |cause: &str| cause.contains("cannot be waited for");
            assert!(matches!(&refused, Err(Error::Poisoned { cause }) if is_cause(cause)), "{what}: {refused:?}");
        }
        refused(&what, &engine);
        drop((data, cipher, engine, contexts));
        ends(&what, true);
    }
}

/// Of four devices the last is slow: the others do more of the work in host memory.
pub fn a_slow_device_of_several_leaves_its_work_to_others() {
    const SLOW: u32 = 3;
    let (key, data) = (Key::new(&[5; 16]).unwrap(), noise(1, 40 * 624));
    let call = |engine: &Engine, place| Bench::new(engine, place, None).run(&key, Ecb::encrypt(), &data);
    let expected = call(&Engine::open(Backend::Cpu).unwrap(), Place::Host);
    stand_in::configure(Machine { devices: 4, peers: 1, architecture: 75, at_once: false });
    let engine = Place::HostInChunks.of(open(4).expect("the stand-in"), 4);
    right("once before", &expected, &call(&engine, Place::HostInChunks));
    let before = stand_in::launches(4);
    begin("a slow device".into());
    stand_in::is_slow(SLOW, 300);
    let found = call(&engine, Place::HostInChunks);
    stand_in::is_slow(SLOW, 0);
    right("a slow device", &expected, &found);
    let launches: Vec<u64> = stand_in::launches(4).iter().zip(&before).map(|(now, before)| now - before).collect();
    assert!(launches[SLOW as usize] < launches.iter().sum::<u64>() / 4, "{launches:?}");
    drop(engine);
    nothing_is_left();
}

/// Of four devices, in pairs that reach each other, the last has all of the sharded data, in three chunks: its neighbour takes one of them,
/// and no other device does.
pub fn a_chunk_is_taken_by_a_device_that_reaches_it() {
    const LAST: u32 = 3;
    const BYTES: usize = 2 * CUT + 1003;
    let (key, nonce) = (Key::new(&[5; 16]).unwrap(), Nonce::new(&[3; 12]).unwrap());
    stand_in::configure(Machine { devices: 4, peers: 2, architecture: 75, at_once: false });
    stand_in::is_fast(LAST);
    let engine = open(4).expect("the stand-in");
    let cipher = engine.cipher(&key).expect("a key");
    let sharded = cipher.sharded().expect("several devices");
    let mut data = engine.sharded_in(BYTES, CUTS).expect("memory of the devices");
    assert!(data.shares()[LAST as usize].range == (0..BYTES), "{:?}", data.shares());
    // Known answers come first.
    sharded.run(Gmac::new(&nonce), &mut engine.sharded(1).expect("memory of the devices")).expect("a hash");
    begin("a call on three chunks".into());
    let before = stand_in::launches(4);
    let found = sharded.run(Gmac::new(&nonce), &mut data).expect("a hash");
    let is_busy: Vec<bool> = stand_in::launches(4).iter().zip(&before).map(|(now, before)| now > before).collect();
    let cpu = Engine::open(Backend::Cpu).unwrap().cipher(&key).unwrap();
    assert_eq!(found, cpu.run(Gmac::new(&nonce), &*vec![0; BYTES]).expect("a hash"));
    assert_eq!(is_busy, [false, false, true, true]);
    drop((data, cipher, engine));
    nothing_is_left();
}
