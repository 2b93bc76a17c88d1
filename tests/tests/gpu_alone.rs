//! Tests that would disturb others on the same GPU, or be disturbed by them, one after the other, each in its own process:
//! calls that must not wait, a kernel dropped while it runs or before a graph is launched that needs it, exhausted memory, and
//! a lost context.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_gen::kernel::KernelSpec;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, result, sys};
use aes_bitslice_runtime::{
    CbcDecrypt, Cipher, Ctr, Direction, Ecb, Engine, Error, GcmEncrypt, GcmSivEncrypt, Kernels, Key, Mode, Nonce,
};
use aes_bitslice_tests::engines::{Device, gpu};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::kernels::print;
use aes_bitslice_tests::operation::counter;
use aes_bitslice_tests::reference::{Reference, noise};
use aes_bitslice_tests::refused;
use aes_bitslice_tests::tests;
use std::ffi::c_void;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const KEY: [u8; 16] = [0x77; 16];

fn main() -> ExitCode {
    const GPU: Need = Need::Device(Device::CUDA[0]);
    const CO_RESIDENT: Need = Need::Device(Device::Cuda(Kernels::CoResident));
    Tests::default()
        .alone(&[GPU, Need::Time], &[], tests![calls_do_not_wait])
        .alone(&[CO_RESIDENT, Need::Time], &[], tests![co_resident_kernels_do_not_wait_for_one_another])
        .alone(&[GPU, Need::CudaCompiler, Need::Time], &[], tests![baked_dropped_while_it_runs])
        .alone(
            &[GPU],
            &[],
            tests![graph_of_a_stored_kernel_outlives_its_engine, what_returns_a_value_is_no_part_of_a_graph],
        )
        .alone(&[GPU, Need::CudaCompiler], &[], tests![graph_of_a_compiled_kernel_outlives_its_cipher])
        .alone(&[GPU, Need::Time], &[], tests![memory_used_up, context_lost])
        .one_at_a_time()
        .run()
}

/// The first GPU, and a key on it.
fn gpu_with_key() -> (&'static Engine, Cipher) {
    (gpu(), gpu().cipher(&Key::new(&KEY).unwrap()).unwrap())
}

/// A call returns when the work is on the stream, not when it completes.
fn calls_do_not_wait() {
    let (gpu, cipher) = gpu_with_key();
    let stream = gpu.cuda_context().unwrap().new_stream().unwrap();
    let device = cipher.device().unwrap();
    device.prepare(Mode::Ctr).unwrap();
    device.prepare(Mode::CbcDecrypt).unwrap();
    let (ctr, cbc) = (Ctr::new(&counter([0; 16]), 0), CbcDecrypt::new(&[0; 16]));
    let mut data = stream.alloc_zeros::<u8>(1 << 30).unwrap();
    stream.synchronize().unwrap();
    // Tens of milliseconds of work on the fastest GPU; putting it on the stream takes about one.
    for _ in 0..40 {
        device.run(&stream, ctr, &mut data).unwrap();
    }
    assert!(!stream.record_event(None).unwrap().is_complete(), "the calls waited for their work");
    let head = stream.clone_dtoh(&data.slice(..1 << 20)).unwrap();
    assert!(head.iter().all(|b| *b == 0), "an even number of times is none");
    stream.synchronize().unwrap();
    // In place, with memory that is allocated and freed on the stream.
    for _ in 0..40 {
        device.run(&stream, cbc, &mut data).unwrap();
    }
    assert!(!stream.record_event(None).unwrap().is_complete(), "the calls of CBC waited for their work");
}

/// Holds later work on a stream until the sender is dropped, or for a minute.
fn held(stream: &CudaStream) -> Sender<()> {
    unsafe extern "C" fn wait(receiver: *mut c_void) {
        // SAFETY: from `Box::into_raw` below, and the driver calls this once.
        let receiver = unsafe { Box::from_raw(receiver.cast::<Receiver<()>>()) };
        let _ = receiver.recv_timeout(Duration::from_secs(60));
    }
    let (sender, receiver) = channel();
    let receiver = Box::into_raw(Box::new(receiver));
    stream.context().bind_to_thread().unwrap();
    // SAFETY: the stream is live, and `wait` takes the receiver over and makes no CUDA calls.
    unsafe { result::stream::launch_host_function(stream.cu_stream(), wait, receiver.cast()) }.unwrap();
    sender
}

/// Co-resident kernels on one stream complete while earlier calls wait on another.
fn co_resident_kernels_do_not_wait_for_one_another() {
    const LEN: usize = 8 << 20;
    let gpu = &Device::Cuda(Kernels::CoResident).find().unwrap()[0];
    let cipher = gpu.cipher(&Key::new(&KEY).unwrap()).unwrap();
    let (device, counter) = (cipher.device().unwrap(), counter([0x42; 16]));
    let streams = [(); 2].map(|()| gpu.cuda_context().unwrap().new_stream().unwrap());
    let [first, second] = &streams;
    let mut data = [first, second].map(|stream| stream.alloc_zeros::<u8>(LEN).unwrap());
    // State that later calls reuse exists, and is no longer in use.
    for (stream, data) in streams.iter().zip(&mut data) {
        device.run(stream, Ctr::new(&counter, 0), data).unwrap();
        stream.synchronize().unwrap();
    }
    let sender = held(first);
    for (stream, data) in streams.iter().zip(&mut data) {
        device.run(stream, Ctr::new(&counter, 99), data).unwrap();
    }
    let [first_done, second_done] = [first, second].map(|stream| stream.record_event(None).unwrap());
    let start = Instant::now();
    while !second_done.is_complete() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (is_first_done, is_second_done) = (first_done.is_complete(), second_done.is_complete());
    drop(sender);
    assert!(!is_first_done, "the first call did not wait: nothing was tested");
    assert!(is_second_done, "a call on one stream waited for a call on another");
    let reference = Reference::new(&KEY);
    let expected = reference.ctr([0x42; 16], 99, &reference.ctr([0x42; 16], 0, &vec![0; LEN]));
    for (stream, data) in streams.iter().zip(&data) {
        assert!(stream.clone_dtoh(data).unwrap() == expected, "what was held, or what was not");
    }
}

/// A baked cipher holds the running code, and may still be dropped once its calls are on the stream.
fn baked_dropped_while_it_runs() {
    const CALLS: usize = 40;
    const WINDOW: usize = 64 << 10;
    let (gpu, stored) = gpu_with_key();
    let stream = gpu.cuda_context().unwrap().new_stream().unwrap();
    let mut data = stream.alloc_zeros::<u8>(1 << 30).unwrap();
    stored.device().unwrap().run(&stream, Ctr::new(&counter([0x42; 16]), 0), &mut data).unwrap();
    let windows = [0..WINDOW, data.len() - WINDOW..data.len()];
    let before = windows.clone().map(|w| stream.clone_dtoh(&data.slice(w)).unwrap());
    let baked = gpu.bake(&Key::new(&KEY).unwrap(), Mode::EcbEncrypt, "lut3").unwrap();
    let device = baked.device().unwrap();
    device.prepare(Mode::EcbEncrypt).unwrap();
    stream.synchronize().unwrap();
    for _ in 0..CALLS {
        device.run(&stream, Ecb::encrypt(), &mut data).unwrap();
    }
    assert!(!stream.record_event(None).unwrap().is_complete(), "done too soon to be dropped while it runs");
    drop(baked);
    let reference = Reference::new(&KEY);
    for (window, mut expected) in windows.into_iter().zip(before) {
        for _ in 0..CALLS {
            expected = reference.ecb(Direction::Encrypt, &expected);
        }
        assert!(stream.clone_dtoh(&data.slice(window.clone())).unwrap() == expected, "bytes {window:?}");
    }
}

/// Launches a graph of calls on the cipher after the cipher and its engine were dropped, and something else was put in their
/// place.
fn launched_later(engine: Engine, cipher: Cipher) {
    const LEN: usize = (1 << 20) + 7;
    let context = engine.cuda_context().unwrap();
    // SAFETY: all of this is on one stream, in order.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream().unwrap();
    let mut data = stream.alloc_zeros::<u8>(LEN).unwrap();
    let (device, ctr) = (cipher.device().unwrap(), Ctr::new(&counter([0x42; 16]), 5));
    device.prepare(Mode::Ctr).unwrap();
    stream.synchronize().unwrap();
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    device.run(&stream, ctr, &mut data).unwrap();
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap().unwrap();
    drop((cipher, engine));
    let others: Vec<_> = (0..64).map(|_| stream.clone_htod(&vec![0xa5_u8; 8 << 10]).unwrap()).collect();
    for _ in 0..3 {
        graph.launch().unwrap();
    }
    stream.synchronize().unwrap();
    let found = stream.clone_dtoh(&data).unwrap();
    assert!(found == Reference::new(&KEY).ctr([0x42; 16], 5, &vec![0; LEN]), "three times is as good as once");
    drop((graph, others));
    stream.synchronize().unwrap();
}

/// It is refused, and the capture continues.
fn what_returns_a_value_is_no_part_of_a_graph() {
    const LEN: usize = 1 << 16;
    let (gpu, cipher) = gpu_with_key();
    let context = gpu.cuda_context().unwrap();
    // SAFETY: all of this is on one stream, in order.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream().unwrap();
    let mut data = stream.alloc_zeros::<u8>(LEN).unwrap();
    let (device, nonce) = (cipher.device().unwrap(), Nonce::from([4; 12]));
    device.prepare_for(&GcmEncrypt::new(&nonce, &[])).unwrap();
    stream.synchronize().unwrap();
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let refused = device.run_with_output(&stream, GcmEncrypt::new(&nonce, &[]), &mut data);
    assert!(matches!(refused.err(), Some(Error::InCapture { operation: "GCM" })));
    let refused = device.run_with_output(&stream, GcmSivEncrypt::new(&nonce, &[]), &mut data);
    assert!(matches!(refused.err(), Some(Error::InCapture { operation: "AES-GCM-SIV" })));
    device.run(&stream, Ctr::new(&counter([0x42; 16]), 0), &mut data).unwrap();
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap().unwrap();
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    let found = stream.clone_dtoh(&data).unwrap();
    assert!(found == Reference::new(&KEY).ctr([0x42; 16], 0, &vec![0; LEN]));
}

/// The kernel is the engine's.
fn graph_of_a_stored_kernel_outlives_its_engine() {
    // Not the one that the tests share, which lives on.
    let engine = Engine::open(gpu().backend()).unwrap();
    let cipher = engine.cipher(&Key::new(&KEY).unwrap()).unwrap();
    launched_later(engine, cipher);
}

/// The kernel is the cipher's, and so is device memory with the key, or code with it.
fn graph_of_a_compiled_kernel_outlives_its_cipher() {
    let key = Key::new(&KEY).unwrap();
    let in_memory = print(KernelSpec::hajihassani_2019(Mode::Ctr), Dialect::Cuda).unwrap();
    let ciphers: [&dyn Fn(&Engine) -> Cipher; 2] = [&|engine| engine.cipher_of(&key, &in_memory).unwrap(), &|engine| {
        engine.bake(&key, Mode::Ctr, "lut3").unwrap()
    }];
    for cipher in ciphers {
        let engine = Engine::open(gpu().backend()).unwrap();
        let cipher = cipher(&engine);
        launched_later(engine, cipher);
    }
}

/// If there is too little memory for a whole chunk, chunks become smaller; none at all is an error, and later there is some
/// again.
fn memory_used_up() {
    const MIB: usize = 1 << 20;
    let (gpu, cipher) = gpu_with_key();
    let plain = noise(1, 40 * MIB);
    let expected = Reference::new(&KEY).ecb(Direction::Encrypt, &plain);
    let encrypted = || {
        let mut output = vec![0x3c; plain.len()];
        cipher.ecb_encrypt_to(&plain, &mut output).map(|()| output)
    };
    gpu.cuda_context().unwrap().bind_to_thread().unwrap();
    // Loads the kernels, whose memory does not count here.
    cipher.ecb_encrypt(&mut [0; 16]).unwrap();
    cipher.cbc_decrypt(&[0; 16], &mut [0; 16]).unwrap();

    let mut taken = Vec::new();
    let mut size = 1 << 40;
    while size >= 64 << 10 {
        // SAFETY: the context is current; freed below, and used by nothing.
        match unsafe { result::malloc_sync(size) } {
            Ok(pointer) => taken.push((pointer, size)),
            Err(_) => size /= 2,
        }
    }
    // One call may find the buffer that an earlier one left; of several at once, most find none.
    let start = std::sync::Barrier::new(4);
    let call = || {
        start.wait();
        match encrypted() {
            Ok(output) => {
                assert!(output == expected, "with no memory left");
                0
            }
            Err(Error::OutOfDeviceMemory { .. }) => 1,
            Err(e) => panic!("with no memory left: {e}"),
        }
    };
    let refused: u32 = std::thread::scope(|scope| {
        let calls = [(); 4].map(|()| scope.spawn(call));
        calls.into_iter().map(|call| call.join().expect("a thread that does not panic")).sum()
    });
    assert!(refused > 0, "four calls at once found memory where there was none");
    // CBC takes a little more than its buffer, for the ciphertext that it keeps.
    let mut data = plain.clone();
    match cipher.cbc_decrypt(&[5; 16], &mut data) {
        Ok(()) => assert!(data == Reference::new(&KEY).cbc(Direction::Decrypt, [5; 16], &plain), "CBC, no memory left"),
        Err(Error::OutOfDeviceMemory { .. }) => assert!(data == plain || data.iter().all(|b| *b == 0), "half a result"),
        Err(e) => panic!("CBC with no memory left: {e}"),
    }
    let mut freed = 0;
    while freed < 8 * MIB {
        let (pointer, size) = taken.pop().expect("more than that was taken");
        // SAFETY: allocated above, and used by nothing.
        unsafe { result::free_sync(pointer) }.unwrap();
        freed += size;
    }
    assert!(encrypted().unwrap() == expected, "in smaller chunks");
    for (pointer, _) in taken {
        // SAFETY: allocated above, and used by nothing.
        unsafe { result::free_sync(pointer) }.unwrap();
    }
    assert!(encrypted().unwrap() == expected, "with memory again");
}

/// After an illegal access every call fails, and none hands out anything.
fn context_lost() {
    let (gpu, cipher) = gpu_with_key();
    let stream = gpu.cuda_context().unwrap().new_stream().unwrap();
    let device = cipher.device().unwrap();
    // SAFETY: violates the contract on purpose: the address is not memory. This loses the context, and this process uses
    // nothing else of the device.
    unsafe { device.run_raw(stream.cu_stream(), Ecb::encrypt(), 16, 16, 1 << 20) }.unwrap();
    assert!(stream.synchronize().is_err());

    let counter = counter([0; 16]);
    let plain = noise(2, 4096);
    for attempt in 0..3 {
        let mut output = vec![0x3c; plain.len()];
        let error = cipher.ctr_apply_to(&counter, 0, &plain, &mut output).unwrap_err();
        // The first call may be the one that finds out.
        assert!(attempt == 0 || matches!(error, Error::Poisoned { .. }), "{error}");
        assert!(output.iter().all(|b| *b == 0) || output.iter().all(|b| *b == 0x3c), "something was handed out");
    }
    let mut data = plain.clone();
    refused!(cipher.ecb_decrypt(&mut data), Error::Poisoned { .. });
    assert_eq!(data, plain);
    // SAFETY: refused before any pointer is used.
    refused!(unsafe { device.run_raw(stream.cu_stream(), Ctr::new(&counter, 0), 16, 16, 16) }, Error::Poisoned { .. });
    refused!(gpu.cipher(&Key::new(&KEY).unwrap()), Error::Poisoned { .. });
}
