//! Calls on as many messages, tags or keys as the caller likes: whichever of their larger allocations finds no memory, it is an error, not
//! the end of the process, and no data is left half done. The program has an allocator that refuses one of them, and has a single test.
#![allow(unsafe_code)]

use aes_bitslice_runtime::{
    Aads, Backend, Cipher, CmacBatch, CmacVerifyBatch, Counter, CounterMode, Ctr, EachKey, Engine, Error,
    GcmDecryptBatch, GcmEncryptBatch, GcmMessage, Job, Jobs, Key, KeyBits, Mode, Nonces, Ranges, Tag, set_threads,
};
use aes_bitslice_tests::reference::noise;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The least bytes of an allocation that counts: less than a byte for each message, more than what a call of any size needs.
const LARGE: usize = 8 << 10;

/// Messages of a call.
const COUNT: usize = 10_000;

/// The number of large allocations until one is refused; 0 if none is.
static LEFT: AtomicUsize = AtomicUsize::new(0);

struct Refusing;

impl Refusing {
    fn refuses(bytes: usize) -> bool {
        let next = |left: usize| left.checked_sub(1);
        bytes >= LARGE && LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) == Ok(1)
    }
}

// SAFETY: it is the system's, which may refuse, too.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller guarantees.
        if Self::refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller guarantees.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller guarantees.
        if Self::refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller guarantees.
        if Self::refuses(size) { std::ptr::null_mut() } else { unsafe { System.realloc(memory, layout, size) } }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Makes a call as often as it has large allocations, one of which is refused each time, and then without. On an error, the output at `ranges`
/// is as it was or cleared, and the rest as it was. Returns how many there were.
fn each_is_refused<T>(
    what: &str,
    data: &mut [u8],
    ranges: &[Range<u64>],
    call: impl Fn(&mut [u8]) -> Result<T, Error>,
) -> usize {
    let (before, mut cleared) = (data.to_vec(), data.to_vec());
    ranges.iter().for_each(|range| cleared[range.start as usize..range.end as usize].fill(0));
    for refused in 1.. {
        LEFT.store(refused, Ordering::Relaxed);
        let outcome = call(data);
        let is_reached = LEFT.swap(0, Ordering::Relaxed) == 0;
        match outcome {
            Ok(_) if !is_reached => return refused - 1,
            Err(Error::OutOfHostMemory { .. }) if is_reached => {}
            Ok(_) => panic!("{what}: it was done without allocation {refused}"),
            Err(error) => panic!("{what}, allocation {refused}: {error}"),
        }
        assert!(data == before || data == cleared, "{what}, allocation {refused}: the data is half done");
        data.copy_from_slice(&before);
    }
    unreachable!("it ends")
}

fn of_gcm(cipher: &Cipher, nonce_bytes: usize, empty: bool) {
    let length = |n: usize| if empty { 0 } else { 16 + n as u64 % 7 };
    let ends = (0..COUNT).scan(0, |end, n| {
        *end += length(n) + n as u64 % 3;
        Some(*end - length(n)..*end)
    });
    let ranges: Vec<_> = if empty { vec![0..0; COUNT] } else { ends.collect() };
    // Descending, so that they are looked up in a table.
    let nonces: Vec<_> =
        (0..COUNT).map(|n| [&vec![7; nonce_bytes - 4], &(!n as u32).to_be_bytes()[..]].concat()).collect();
    let nonces: Vec<&[u8]> = nonces.iter().map(|nonce| &nonce[..]).collect();
    let aad = noise(1, 2 * COUNT);
    let of_aad: Vec<_> = (0..COUNT as u64).map(|n| n..2 * n).collect();
    let list: Vec<_> =
        (0..COUNT).map(|n| GcmMessage { nonce: nonces[n], aad: &aad[..n % 3], range: ranges[n].clone() }).collect();
    let mut data = noise(2, ranges.last().map_or(0, |range| range.end as usize));
    let of_arrays = || (Ranges::from(&*ranges), Nonces::from(&*nonces), Aads::each(&aad, Ranges::from(&*of_aad)));
    let about = format!("GCM, nonces of {nonce_bytes} bytes, {} bytes of data", data.len());
    let least = each_is_refused(&about, &mut data, &ranges, |data| cipher.run(GcmEncryptBatch::new(&list)?, data));
    assert!(least >= 6, "{about}: {least}");
    each_is_refused(&about, &mut data, &ranges, |data| {
        let (ranges, nonces, aads) = of_arrays();
        cipher.run(GcmEncryptBatch::from_arrays(&ranges, &nonces, &aads)?, data)
    });
    let mut tags = cipher.run(GcmEncryptBatch::new(&list).unwrap(), &mut *data).unwrap();
    let decrypt = |tags: &[Tag], data: &mut [u8]| cipher.run(GcmDecryptBatch::new(&list, tags)?, data);
    each_is_refused(&about, &mut data, &ranges, |data| decrypt(&tags, data)?.all());
    // Every tag is that of another message: a list of them all.
    tags.rotate_left(1);
    each_is_refused(&about, &mut data, &ranges, |data| decrypt(&tags, data));
    let wrong = vec![9; 12 * COUNT];
    each_is_refused(&about, &mut data, &ranges, |data| {
        let (ranges, nonces, aads) = of_arrays();
        cipher.run(GcmDecryptBatch::from_arrays(&ranges, &nonces, &aads, &wrong, 12)?, data)
    });
}

fn of_cmac(cipher: &Cipher, empty: bool) {
    let data = if empty { vec![] } else { noise(3, 1 << 20) };
    let ranges: Vec<_> = (0..COUNT as u64).map(|n| if empty { 0..0 } else { n..n + n % 100 }).collect();
    let run = |what: &str, call: &dyn Fn() -> Result<(), Error>| {
        assert!(each_is_refused(what, &mut [], &[], |_| call()) >= 2, "{what}");
    };
    run("CMAC", &|| cipher.run(CmacBatch::new(&ranges)?, &data).map(drop));
    run("CMAC, arrays", &|| cipher.run(CmacBatch::from_arrays(&Ranges::from(&*ranges))?, &data).map(drop));
    let mut tags = cipher.run(CmacBatch::new(&ranges).unwrap(), &data).unwrap();
    run("CMAC verified", &|| cipher.run(CmacVerifyBatch::new(&ranges, &tags)?, &data)?.all());
    tags.fill(Tag::from([3; 16]));
    run("CMAC refused", &|| cipher.run(CmacVerifyBatch::new(&ranges, &tags)?, &data).map(drop));
}

fn of_many_keys(engine: &Engine) {
    let none = engine.under_own_keys();
    let keys = noise(4, 16 * COUNT);
    let ranges: Vec<_> = (0..COUNT as u64).map(|n| 64 * n..64 * n + 16 * (n % 4)).collect();
    let mut data = noise(5, 64 * COUNT);
    let list: Vec<_> = (0..COUNT)
        .map(|n| Job { key: &keys[16 * n..][..16], counter: [n as u8; 16], range: ranges[n].clone() })
        .collect();
    let counters = vec![[1; 16]; COUNT];
    for mode in [Mode::Ctr, Mode::EcbEncrypt] {
        let found = each_is_refused("jobs", &mut data, &ranges, |data| none.run(Jobs::new(mode, &list)?, data));
        assert!(found >= 2);
        let counters = if mode == Mode::Ctr { &counters[..] } else { &[] };
        each_is_refused("jobs, arrays", &mut data, &ranges, |data| {
            let ranges = Ranges::from(&*ranges);
            none.run(Jobs::from_arrays(mode, KeyBits::Aes128, &keys, counters, &ranges)?, data)
        });
    }
    let each = EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], 64).unwrap();
    assert_eq!(each_is_refused("each key", &mut data, &[], |data| engine.run_each_key(&each, &keys, data)), 0);
}

#[test]
fn an_allocation_that_is_refused_is_an_error() {
    set_threads(2).unwrap(); // One alone cuts nothing into chunks.
    let engine = Engine::open(Backend::Cpu).unwrap();
    let cipher = engine.cipher(&Key::new(&noise(6, 32)).unwrap()).unwrap();
    // Threads start with the first call.
    let mut data = vec![0; 32 << 20];
    let ctr = Ctr::new(&Counter::new(CounterMode::Ctr128BE, [0; 16]), 0);
    cipher.run(ctr, &mut data).unwrap();
    assert!(each_is_refused("chunks", &mut data, &[], |data| cipher.run(ctr, data)) > 0);
    assert_eq!(each_is_refused("a buffer", &mut [], &[], |_| engine.host_buffer(1 << 20)), 1);
    for empty in [false, true] {
        of_gcm(&cipher, 12, empty);
        of_gcm(&cipher, 13, empty);
        of_cmac(&cipher, empty);
    }
    of_many_keys(&engine);
}
