//! The library for C on keys in memory of the device: the results of its calls on layouts and on messages under keys of their own, and what
//! they refuse. A program in C does the rest, which needs no device.

use crate::stand_in::{self, Machine};
use crate::trials::nothing_is_left;
use aes_bitslice::about::aes_bitslice_last_error;
use aes_bitslice::batch::{Range, Ranges};
use aes_bitslice::handles::{EngineHandle, aes_bitslice_engine_free, aes_bitslice_engine_open};
use aes_bitslice::layout::{
    LayoutHandle, aes_bitslice_layout_free, aes_bitslice_layout_new, aes_bitslice_run_layout_on_stream,
};
use aes_bitslice::many_keys::{Job, ManyKeys, aes_bitslice_run_many_keys};
use aes_bitslice::operation::{
    AES_BITSLICE_CTR, AES_BITSLICE_ECB_DECRYPT, AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_GCM_DECRYPT_BATCH,
    AES_BITSLICE_GCM_ENCRYPT_BATCH, AES_BITSLICE_KEYSTREAM, Operation,
};
use aes_bitslice::pending::{
    PendingHandle, aes_bitslice_pending_free, aes_bitslice_pending_result, aes_bitslice_pending_wait,
};
use aes_bitslice::status::{AES_BITSLICE_INVALID, AES_BITSLICE_OK, AES_BITSLICE_UNAUTHENTICATED};
use aes_bitslice::under_keys::{Keys, aes_bitslice_run_under_keys, aes_bitslice_run_under_keys_on_stream};
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use aes_bitslice_runtime::{Backend, Engine};
use aes_bitslice_tests::reference::noise;
use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::ptr::{null, null_mut};
use std::sync::Arc;

const COUNT: usize = 4;
/// Where jobs and messages are, and their additional data.
const OFFSETS: [u64; COUNT] = [3, 40, 2100, 2117];
const LENGTHS: [u64; COUNT] = [32, 2048, 0, 912];
const AAD_OFFSETS: [u64; COUNT] = [5, 0, 20, 1];
const AAD_LENGTHS: [u64; COUNT] = [15, 20, 0, 1];
const LEN: usize = 3040;

/// An engine for C.
struct Opened(*mut EngineHandle);

impl Opened {
    fn new(name: &CStr) -> Self {
        let mut engine = null_mut();
        // SAFETY: a name, and a place for a pointer.
        assert_eq!(unsafe { aes_bitslice_engine_open(name.as_ptr(), &mut engine) }, AES_BITSLICE_OK, "{}", told());
        Self(engine)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: it is freed once.
        unsafe { aes_bitslice_engine_free(self.0) }
    }
}

fn told() -> String {
    // SAFETY: this thread's string.
    unsafe { CStr::from_ptr(aes_bitslice_last_error()) }.to_str().unwrap().to_owned()
}

fn ranges(offsets: &[u64; COUNT], lengths: &[u64; COUNT]) -> Ranges {
    let (offsets, lengths) = (offsets.as_ptr().cast(), lengths.as_ptr().cast());
    Ranges { offsets, lengths, integer_bytes: 8, bytes: 0, stride: 0 }
}

/// An operation whose other fields are zero or null.
fn operation(kind: c_int) -> Operation {
    // SAFETY: numbers and pointers, all of which may be zero.
    Operation { kind, count: COUNT, ..unsafe { mem::zeroed() } }
}

/// Bytes on the device.
struct There {
    stream: Arc<CudaStream>,
    memory: CudaSlice<u8>,
}

impl There {
    fn new(stream: &Arc<CudaStream>, bytes: &[u8]) -> Self {
        Self { stream: stream.clone(), memory: stream.clone_htod(bytes).unwrap() }
    }

    fn at<T>(&self) -> *mut T {
        self.memory.device_ptr(&self.stream).0 as *mut T
    }

    fn bytes(&self) -> Vec<u8> {
        self.stream.clone_dtoh(&self.memory).unwrap()
    }
}

pub fn calls_from_c_under_keys_on_the_device() {
    for (architecture, at_once) in [(80, false), (90, true)] {
        stand_in::configure(Machine { devices: 1, peers: 1, architecture, at_once });
        calls();
        nothing_is_left();
        // A handle that was not freed would keep its context, too.
        assert_eq!(stand_in::held(), 0);
    }
}

fn calls() {
    // As in a program with the CUDA runtime, the context lasts longer than the handles of the library, which restores it.
    let engine = Engine::open(Backend::Cuda { ordinal: 0 }).unwrap();
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    let (host, cuda) = (Opened::new(c"cpu"), Opened::new(c"cuda:0"));
    for bytes in [16, 24, 32] {
        for kind in [AES_BITSLICE_CTR, AES_BITSLICE_KEYSTREAM, AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_ECB_DECRYPT] {
            jobs(&host, &cuda, &stream, kind, bytes);
        }
        messages(&host, &cuda, &stream, bytes);
    }
}

/// A layout for C, which is freed.
struct Layout(*mut LayoutHandle);

impl Layout {
    fn new(engine: &Opened, operation: &Operation, key_len: usize) -> Self {
        let mut layout = null_mut();
        // SAFETY: handles and structures that live.
        let status = unsafe { aes_bitslice_layout_new(engine.0, operation, key_len, &mut layout) };
        assert_eq!(status, AES_BITSLICE_OK, "{}", told());
        Self(layout)
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        // SAFETY: it is freed once.
        unsafe { aes_bitslice_layout_free(self.0) }
    }
}

/// Refused, with these words.
fn refused(status: c_int, words: &str) {
    assert_eq!(status, AES_BITSLICE_INVALID, "{words}");
    assert!(told().contains(words), "{words}: {}", told());
}

fn jobs(host: &Opened, cuda: &Opened, stream: &Arc<CudaStream>, kind: c_int, bytes: usize) {
    let (keys, counters, plain) = (noise(1, COUNT * bytes), noise(2, COUNT * 16), noise(3, LEN));
    let (counts, reads) = (kind == AES_BITSLICE_CTR || kind == AES_BITSLICE_KEYSTREAM, kind != AES_BITSLICE_KEYSTREAM);
    let mut expected = noise(4, LEN);
    let there = [&keys, &counters, &plain, &expected].map(|bytes| There::new(stream, bytes));
    let [keys_there, counters_there, input, output] = &there;
    let job = |n: usize| Job {
        key: keys[n * bytes..].as_ptr(),
        key_len: bytes,
        counter: counters[16 * n..][..16].try_into().unwrap(),
        range: Range { offset: OFFSETS[n], bytes: LENGTHS[n] },
    };
    let (jobs, places) = ([0, 1, 2, 3].map(job), ranges(&OFFSETS, &LENGTHS));
    // SAFETY: numbers and pointers, all of which may be zero.
    let many = ManyKeys { kind, count: COUNT, jobs: jobs.as_ptr(), ..unsafe { mem::zeroed() } };
    let counter = if counts { counters_there.at::<u8>() } else { null_mut() };
    let call = Operation { counter, ..operation(kind) };
    let layout = Layout::new(cuda, &Operation { arrays: &places, ..operation(kind) }, bytes);
    let run = |keys: *const u8, call: &Operation, from: *const u8, to: *mut u8, results: *mut u8| {
        let from = if reads { from.cast() } else { null() };
        let (stream, results) = (stream.cu_stream().cast(), results.cast());
        // SAFETY: all of it lives until the work is done.
        unsafe { aes_bitslice_run_layout_on_stream(layout.0, keys, call, from, to.cast(), LEN, stream, results) }
    };
    let (from, to, of_keys) = (input.at::<u8>(), output.at::<u8>(), keys_there.at::<u8>());
    let other = if kind == AES_BITSLICE_CTR { AES_BITSLICE_ECB_ENCRYPT } else { AES_BITSLICE_CTR };
    refused(run(of_keys, &Operation { kind: other, ..call }, from, to, null_mut()), "give that of the layout");
    refused(run(of_keys, &Operation { count: 3, ..call }, from, to, null_mut()), "`count` is 3, and the layout has 4");
    refused(run(null(), &call, from, to, null_mut()), "`keys` is NULL");
    refused(run(of_keys.wrapping_add(1), &call, from, to, null_mut()), "keys do not begin at a multiple of 4");
    refused(run(to.wrapping_add(4), &call, from, to, null_mut()), "overlap");
    refused(run(of_keys, &call, from, to, of_keys), "`results` is not NULL");
    refused(run(of_keys, &call, from, null_mut(), null_mut()), "`output` is NULL");
    if counts {
        refused(run(of_keys, &Operation { counter: null(), ..call }, from, to, null_mut()), "`counter` is NULL");
        refused(run(of_keys, &Operation { offset: 16, ..call }, from, to, null_mut()), "`offset` is 16");
        let odd = Operation { counter: counter.wrapping_add(4), ..call };
        refused(run(of_keys, &odd, from, to, null_mut()), "counters do not begin at a multiple of 16");
    } else {
        let with = Operation { counter: counters_there.at::<u8>(), ..call };
        refused(run(of_keys, &with, from, to, null_mut()), "has no counter");
    }
    if reads {
        refused(run(of_keys, &call, null(), to, null_mut()), "`input` is NULL");
        refused(run(of_keys, &call, from, from.wrapping_add(16), null_mut()), "overlap");
    }
    assert!(output.bytes() == expected, "a refused call has changed something");

    let from_host = if reads { plain.as_ptr().cast() } else { null() };
    // SAFETY: all of it lives, and is not used meanwhile.
    let status = unsafe { aes_bitslice_run_many_keys(host.0, &many, from_host, expected.as_mut_ptr().cast(), LEN) };
    assert_eq!(status, AES_BITSLICE_OK, "{}", told());
    assert_eq!(run(of_keys, &call, from, to, null_mut()), AES_BITSLICE_OK, "{}", told());
    assert!(output.bytes() == expected && keys_there.bytes() == keys, "kind {kind}, {bytes} bytes");
}

fn messages(host: &Opened, cuda: &Opened, stream: &Arc<CudaStream>, bytes: usize) {
    let (few, nonces, aad, plain) = (noise(5, 3 * bytes), noise(6, 12 * COUNT), noise(7, 20), noise(8, LEN));
    let numbers = [1_u32, 0, 1, 2];
    let each = numbers.map(|n| few[n as usize * bytes..][..bytes].to_vec()).concat();
    let (places, of_aad) = (ranges(&OFFSETS, &LENGTHS), ranges(&AAD_OFFSETS, &AAD_LENGTHS));
    let keys = Keys { keys: few.as_ptr(), key_len: bytes, count: 3, numbers: numbers.as_ptr() };
    let described = Operation {
        arrays: &places,
        aad_arrays: &of_aad,
        nonce: nonces.as_ptr(),
        nonce_len: 12,
        aad: aad.as_ptr().cast(),
        aad_len: 20,
        ..operation(AES_BITSLICE_GCM_ENCRYPT_BATCH)
    };
    let (mut secret, mut tags) = (plain.clone(), vec![0; 16 * COUNT]);
    let (data, results) = (secret.as_mut_ptr().cast(), tags.as_mut_ptr().cast());
    // SAFETY: all of it lives, and is not used meanwhile.
    let status =
        unsafe { aes_bitslice_run_under_keys(host.0, &keys, &described, data, data, LEN, results, 16 * COUNT) };
    assert_eq!(status, AES_BITSLICE_OK, "{}", told());
    let mut opened = plain.clone();
    opened[OFFSETS[1] as usize..][..LENGTHS[1] as usize].fill(0);
    let mut forged = tags.clone();
    forged[16 + 3] ^= 4;

    // Under keys in host memory.
    let there = There::new(stream, &plain);
    let call = |operation: &Operation, result: &mut [u8]| {
        let (data, mut pending) = (there.at::<c_void>(), null_mut::<PendingHandle>());
        // SAFETY: all of it lives until the work is done, which is waited for.
        unsafe {
            let status = aes_bitslice_run_under_keys_on_stream(
                cuda.0,
                &keys,
                operation,
                data,
                data,
                LEN,
                stream.cu_stream().cast(),
                &mut pending,
            );
            assert_eq!(status, AES_BITSLICE_OK, "{}", told());
            let status = aes_bitslice_pending_wait(pending);
            let (place, room) = (result.as_mut_ptr().cast(), result.len());
            assert_eq!(aes_bitslice_pending_result(pending, place, room), status);
            aes_bitslice_pending_free(pending);
            status
        }
    };
    let mut made = vec![0; 16 * COUNT];
    assert_eq!(call(&described, &mut made), AES_BITSLICE_OK, "{}", told());
    assert!(made == tags && there.bytes() == secret, "{bytes} bytes");
    let decrypt = Operation { kind: AES_BITSLICE_GCM_DECRYPT_BATCH, tag: forged.as_ptr(), tag_len: 16, ..described };
    assert_eq!(call(&decrypt, &mut made[..COUNT]), AES_BITSLICE_UNAUTHENTICATED);
    assert!(made[..COUNT] == [1, 0, 1, 1] && there.bytes() == opened, "{bytes} bytes");

    // In memory of the device.
    let there = [&each, &nonces, &aad, &forged, &plain, &vec![0x5a; 16 * COUNT]].map(|bytes| There::new(stream, bytes));
    let [keys, nonces, aads, expected, data, results] = there.each_ref().map(There::at::<u8>);
    let layout = Layout::new(cuda, &Operation { nonce: null(), aad: null(), ..described }, bytes);
    let seal = Operation { nonce: nonces, aad: aads.cast(), ..described };
    let open = Operation { kind: AES_BITSLICE_GCM_DECRYPT_BATCH, tag: expected, tag_len: 16, ..seal };
    let run = |call: &Operation, keys: *const u8, to: *mut u8, results: *mut u8| {
        let (from, to, stream, results) = (data.cast(), to.cast(), stream.cu_stream().cast(), results.cast::<c_void>());
        // SAFETY: all of it lives until the work is done.
        unsafe { aes_bitslice_run_layout_on_stream(layout.0, keys, call, from, to, LEN, stream, results) }
    };
    let wrong = [
        ("`kind` is 5: give AES_BITSLICE_GCM_ENCRYPT_BATCH or", Operation { kind: AES_BITSLICE_CTR, ..seal }),
        ("`count` is 5, and the layout has 4", Operation { count: 5, ..seal }),
        ("`nonce` is NULL", Operation { nonce: null(), ..seal }),
        ("`nonce_len` is 16", Operation { nonce_len: 16, ..seal }),
        ("`counter_bits` is 32", Operation { counter_bits: 32, ..seal }),
        ("`aad` is NULL", Operation { aad: null(), ..seal }),
        ("`aad_len` is 19, and the layout has 20", Operation { aad_len: 19, ..seal }),
        ("`tag` is NULL", Operation { tag: null(), ..open }),
        ("`tag_len` is 12", Operation { tag_len: 12, ..open }),
        ("`tag_len` is 8", Operation { tag_len: 8, short_tags: 1, ..open }),
        ("not 16", Operation { short_tags: 1, ..open }),
        ("tags do not begin at a multiple of 4", Operation { tag: expected.wrapping_add(2), ..open }),
    ];
    wrong.iter().for_each(|(words, wrong)| refused(run(wrong, keys, data, results), words));
    refused(run(&seal, null(), data, results), "`keys` is NULL");
    refused(run(&seal, keys.wrapping_add(2), data, results), "keys do not begin at a multiple of 4");
    refused(run(&seal, keys, data, null_mut()), "`results` is NULL");
    refused(run(&open, keys, data, results.wrapping_add(2)), "verdicts do not begin at a multiple of 4");
    refused(run(&seal, keys, data, data.wrapping_add(4)), "overlap");
    refused(run(&seal, keys, data.wrapping_add(16), results), "overlap");
    refused(run(&seal, keys, null_mut(), results), "`output` is NULL");
    assert!(
        there[4].bytes() == plain && there[5].bytes() == [0x5a; 16 * COUNT],
        "a refused call has changed something"
    );

    assert_eq!(run(&seal, keys, data, results), AES_BITSLICE_OK, "{}", told());
    assert!(there[4].bytes() == secret && there[5].bytes() == tags, "{bytes} bytes");
    assert_eq!(run(&open, keys, data, results), AES_BITSLICE_OK, "{}", told());
    let found = there[5].bytes();
    let verdicts = found[..4 * COUNT].chunks(4).map(|verdict| verdict == [0; 4]);
    assert!(verdicts.eq([true, false, true, true]) && there[4].bytes() == opened, "{bytes} bytes");
    assert!(there[0].bytes() == each, "keys stay as they are");

    // All additional data for every message, by a layout of decryption.
    let shared = Operation { aad_arrays: null(), ..described };
    let (mut secret, mut tags) = (plain.clone(), vec![0; 16 * COUNT]);
    let (there, result) = (secret.as_mut_ptr().cast::<c_void>(), tags.as_mut_ptr().cast());
    let keys_of_host = Keys { keys: each.as_ptr(), key_len: bytes, count: COUNT, numbers: null() };
    // SAFETY: all of it lives, and is not used meanwhile.
    let status =
        unsafe { aes_bitslice_run_under_keys(host.0, &keys_of_host, &shared, there, there, LEN, result, 16 * COUNT) };
    assert_eq!(status, AES_BITSLICE_OK, "{}", told());
    let made = There::new(stream, &tags);
    let data = There::new(stream, &secret);
    let layout = Layout::new(cuda, &Operation { kind: AES_BITSLICE_GCM_DECRYPT_BATCH, ..shared }, bytes);
    let open = Operation { tag: made.at::<u8>(), ..open };
    let (at, on) = (data.at::<c_void>(), stream.cu_stream().cast());
    // SAFETY: all of it lives until the work is done.
    let status = unsafe { aes_bitslice_run_layout_on_stream(layout.0, keys, &open, at, at, LEN, on, results.cast()) };
    assert_eq!(status, AES_BITSLICE_OK, "{}", told());
    assert!(data.bytes() == plain, "{bytes} bytes");
}
