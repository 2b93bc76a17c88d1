//! A GPU that is lost during a call: a typed error, an output of zeros, and a process that lives on. Each case is its own
//! process, because nothing else can be done on that GPU afterwards.

use aes_bitslice_runtime::cuda::ShardedBuffer;
use aes_bitslice_runtime::{Backend, Cipher, Ctr, Ecb, Engine, Error, Key};
use aes_bitslice_tests::engines::Device;
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::operation::counter;
use aes_bitslice_tests::refused;
use aes_bitslice_tests::tests;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const MIB: usize = 1 << 20;
const KEY: [u8; 16] = [0x77; 16];

fn main() -> ExitCode {
    let tests = tests![
        calls_on_host_memory_fail_cleanly,
        calls_on_pinned_memory_fail_cleanly,
        calls_on_sharded_memory_fail_cleanly,
    ];
    Tests::default().alone(&[Need::Device(Device::CUDA[0]), Need::Time], &[], tests).run()
}

/// All GPUs, with a key.
fn cipher() -> Cipher {
    let engine = Engine::open(Backend::CudaAll).unwrap();
    engine.cipher(&Key::new(&KEY).unwrap()).unwrap()
}

/// Puts a kernel on the last GPU that writes where there is no memory: this loses its context.
fn lose_last(cipher: &Cipher) {
    let engine = cipher.engine();
    let (context, devices) = (engine.cuda_contexts().unwrap().pop().unwrap(), cipher.devices().unwrap());
    let stream = context.new_stream().unwrap();
    // SAFETY: violates the contract on purpose: the address is not memory. This process uses nothing else of the device.
    let launched = unsafe { devices[devices.len() - 1].run_raw(stream.cu_stream(), Ecb::encrypt(), 16, 16, 1 << 20) };
    launched.unwrap();
    assert!(stream.synchronize().is_err());
    // The memory to free on drop is gone with the context.
    std::mem::forget(stream);
}

/// Repeats a call until the GPU, which is lost during one, makes it fail.
fn until_lost(cipher: &Cipher, mut call: impl FnMut() -> Result<(), Error>) -> Error {
    // Loads kernels, so that the calls below are pure work.
    call().unwrap();
    let begun = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !begun.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(30));
            lose_last(cipher);
        });
        for _ in 0..10_000 {
            begun.store(true, Ordering::SeqCst);
            if let Err(error) = call() {
                assert!(matches!(error, Error::Cuda { .. } | Error::Poisoned { .. }), "{error}");
                return error;
            }
        }
        panic!("no call failed, though a GPU was lost");
    })
}

/// From now on every call is refused, and changes nothing.
fn refused(cipher: &Cipher) {
    let mut data = vec![0x3c; MIB];
    for _ in 0..2 {
        refused!(cipher.ctr_apply(&counter([0; 16]), 0, &mut data), Error::Poisoned { .. });
        assert!(data.iter().all(|&byte| byte == 0x3c));
    }
    let key = Key::new(&KEY).unwrap();
    refused!(cipher.engine().cipher(&key), Error::Poisoned { .. });
    refused!(cipher.engine().sharded(MIB), Error::Poisoned { .. });
}

/// Every byte of an output without a result: zeros, or, if the call was refused, its contents before.
fn nothing_is_handed_out(output: &[u8], before: u8, error: &Error) {
    let all = |byte: u8| output.iter().all(|&other| other == byte);
    assert!(all(0) || matches!(error, Error::Poisoned { .. }) && all(before), "something was handed out ({error})");
}

fn calls_on_host_memory_fail_cleanly() {
    let cipher = cipher();
    let counter = counter([5; 16]);
    let (input, mut output) = (vec![0xa7; 512 * MIB], vec![0; 512 * MIB]);
    let error = until_lost(&cipher, || {
        output.fill(0x3c);
        cipher.ctr_apply_to(&counter, 0, &input, &mut output)
    });
    nothing_is_handed_out(&output, 0x3c, &error);
    refused(&cipher);
}

fn calls_on_pinned_memory_fail_cleanly() {
    let cipher = cipher();
    let mut data = cipher.engine().host_buffer(512 * MIB).unwrap();
    let error = until_lost(&cipher, || {
        data.fill(0x3c);
        cipher.ecb_encrypt(&mut data)
    });
    nothing_is_handed_out(&data, 0x3c, &error);
    refused(&cipher);
}

fn calls_on_sharded_memory_fail_cleanly() {
    let cipher = cipher();
    let gpus = cipher.devices().unwrap().len();
    let (input, mut output) = {
        let buffer = || cipher.engine().sharded(gpus * 1024 * MIB).unwrap();
        (buffer(), buffer())
    };
    let ctr = Ctr::new(&counter([5; 16]), 0);
    let error = until_lost(&cipher, || cipher.sharded()?.run(ctr, (&input, &mut output)));
    refused!(cipher.sharded().unwrap().run(ctr, (&input, &mut output)), Error::Poisoned { .. });
    // The share of the lost GPU can no longer be read. The others, where they still can, hold zeros if work had begun.
    let mut lost = vec![0; 16];
    assert!(output.copy_to_host(output.len() - 16, &mut lost).is_err());
    if matches!(error, Error::Cuda { .. }) {
        readable_shares_are_zero(&output);
    }
    refused(&cipher);
}

fn readable_shares_are_zero(output: &ShardedBuffer) {
    for share in output.shares() {
        let mut bytes = vec![0; 64 * MIB];
        for at in [share.range.start, share.range.end - bytes.len()] {
            if output.copy_to_host(at, &mut bytes).is_ok() {
                assert!(bytes.iter().all(|&byte| byte == 0), "{share:?} holds half a result");
            }
        }
    }
}
