//! XTS: equivalence with another implementation, on every engine and in every kind of memory: units that are
//! longer and shorter than the work of a thread, a warp or a chunk, calls and chunks that begin within a unit, unit numbers that carry,
//! a last unit that is not whole blocks.

use aes_bitslice_runtime::cuda::cudarc::driver::CudaStream;
use aes_bitslice_runtime::opencl::BufferSlice;
use aes_bitslice_runtime::opencl::opencl3::command_queue::CommandQueue;
use aes_bitslice_runtime::opencl::opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use aes_bitslice_runtime::opencl::opencl3::types::CL_TRUE;
use aes_bitslice_runtime::{Backend, Direction, Ecb, Engine, Error, Kernels, Key, KeyBits, Mode, Transfers, Xts};
use aes_bitslice_tests::engines::{Device, name};
use aes_bitslice_tests::environment::{all_or, random, small};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::memory::both_ways;
use aes_bitslice_tests::reference::noise;
use aes_bitslice_tests::{others, refused, tests_of_engines};
use proptest::prelude::*;
use std::process::ExitCode;
use std::ptr;
use std::sync::Arc;

fn main() -> ExitCode {
    let on_host = tests_of_engines![host_memory, keys_of_another_kind_are_refused, equal_halves_decrypt];
    Tests::default()
        .on_each(&[Device::Cpu, Device::Cuda(Kernels::Auto), Device::OpenCl], &[], on_host)
        .on_each(&[Device::Cuda(Kernels::Auto)], &[], tests_of_engines![device_memory, stretches_of_every_length])
        .on_each(&Device::GROUPS, &[], tests_of_engines![sharded_memory])
        .on_each(&[Device::OpenCl], &[], tests_of_engines![opencl_buffers])
        .run()
}

/// A call: its plaintext and key; its inverse is tested, too.
#[derive(Clone, Debug)]
struct Call {
    key: Vec<u8>,
    unit: u64,
    first: u128,
    plain: Vec<u8>,
}

impl Call {
    /// Data of this many bytes, cut so that a last unit has at least 16, under a key of this length.
    fn new(key_bytes: usize, unit: u64, first: u128, len: usize) -> Self {
        let rest = len as u64 % unit;
        let len = if (1..16).contains(&rest) { len - rest as usize } else { len };
        let first = first.min(u128::MAX - (len as u128).div_ceil(unit.into()));
        let key = noise(unit ^ len as u64, key_bytes);
        Self { key, unit, first, plain: noise(first as u64, len) }
    }

    fn key(&self) -> Key {
        Key::xts(&self.key).unwrap()
    }

    fn xts(&self, direction: Direction) -> Xts {
        Xts::new(direction, self.unit, self.first).unwrap()
    }

    /// From the `xts-mode` crate; for so much data that it would take minutes, from the CPU engine, which is compared with that crate in
    /// [`host_memory`].
    fn expected(&self) -> Vec<u8> {
        const MUCH: usize = 2 << 20;
        if self.plain.len() > MUCH {
            let mut data = self.plain.clone();
            let cipher = Engine::open(Backend::Cpu).unwrap().cipher(&self.key()).unwrap();
            cipher.run(self.xts(Direction::Encrypt), &mut data).unwrap();
            return data;
        }
        others::xts(Direction::Encrypt, &self.key, self.unit as usize, self.first, &self.plain)
    }

    /// Encryption and decryption with `run`, from an input to an output of the same length.
    fn check(&self, what: &str, run: impl Fn(Xts, &[u8]) -> Vec<u8>) {
        let secret = self.expected();
        for (direction, from, to) in
            [(Direction::Encrypt, &self.plain, &secret), (Direction::Decrypt, &secret, &self.plain)]
        {
            let found = run(self.xts(direction), from);
            if let Some(at) = found.iter().zip(to).position(|(a, b)| a != b) {
                let Self { unit, first, plain, .. } = self;
                panic!(
                    "{what}: {direction:?} of {} bytes in units of {unit} from {first:#x} on: byte {at} is wrong",
                    plain.len()
                );
            }
        }
    }
}

fn calls(largest: usize) -> impl Strategy<Value = Call> {
    let unit = prop_oneof![
        16..600_u64,
        (1..70_u64).prop_map(|blocks| 16 * blocks),
        Just(16),
        Just(48),
        Just(512),
        Just(520),
        Just(528),
        Just(4096),
        Just(300_000),
        Just(1 << 20),
        Just(16 << 20),
    ];
    let first = prop_oneof![
        any::<u128>(),
        (0..300_u128).prop_map(|n| (1 << 32) - n),
        (0..300_u128).prop_map(|n| (1 << 64) - n),
        (0..300_u128).prop_map(|n| u128::MAX - n)
    ];
    let len = prop_oneof![0..70_usize, (64_usize << 10) - 20..(64_usize << 10) + 20, 0..largest];
    (any::<bool>(), unit, first, len)
        .prop_map(|(long, unit, first, len)| Call::new(if long { 64 } else { 32 }, unit, first, len))
}

fn at_random(largest: usize, test: impl Fn(Call)) {
    proptest!(random(all_or(200, 12)), |(call in calls(largest))| test(call));
}

/// In one chunk, and in chunks of which most begin within a unit.
fn host_memory(engines: &'static [Engine]) {
    let test = |call: Call| {
        for engine in engines {
            let transfers = Transfers { chunk_bytes: Some(16 << 10), streams: Some(3), workers: Some(2) };
            for engine in [engine.clone(), engine.clone().with_transfers(transfers)] {
                let cipher = engine.cipher(&call.key()).unwrap();
                call.check(&name(&engine), |xts, data| both_ways(data, |data| cipher.run(xts, data)));
            }
        }
    };
    // A unit of which two cores have a part each.
    test(Call::new(32, 4 << 20, 7, 1100 << 10));
    at_random(800 << 10, test);
}

fn keys_of_another_kind_are_refused(engines: &'static [Engine]) {
    for engine in engines {
        let one = engine.cipher(&Key::generate(KeyBits::Aes128).unwrap()).unwrap();
        let two = engine.cipher(&Key::generate_xts(KeyBits::Aes128).unwrap()).unwrap();
        let mut data = [7; 48];
        refused!(one.run(Xts::encrypt(16, 0).unwrap(), &mut data), Error::WrongKeys { operation: "XTS", .. });
        refused!(two.ecb_encrypt(&mut data), Error::WrongKeys { .. });
        assert_eq!(data, [7; 48], "nothing was changed");
    }
}

/// One AES key twice: what was encrypted with it is not lost, and nothing more is encrypted with it.
fn equal_halves_decrypt(engines: &'static [Engine]) {
    let (key, plain) = ([0x35; 32], noise(1, 1000));
    let secret = others::xts(Direction::Encrypt, &key, 100, 7, &plain);
    for engine in engines {
        let cipher = engine.cipher(&Key::xts(&key).unwrap()).unwrap();
        let mut data = secret.clone();
        refused!(cipher.run(Xts::encrypt(100, 7).unwrap(), &mut data), Error::XtsKey { .. }, "{}", name(engine));
        assert!(data == secret, "{}: the data was changed", name(engine));
        cipher.run(Xts::decrypt(100, 7).unwrap(), &mut data).unwrap();
        assert!(data == plain, "{}", name(engine));
        let mut blocks = others::xts(Direction::Encrypt, &key, 112, 7, &plain[..896]);
        cipher.run(Xts::decrypt(112, 7).unwrap(), &mut blocks).unwrap();
        assert!(blocks == plain[..896], "{}", name(engine));
    }
}

/// A call on GPU memory: from one place to another, or the same in place, with bytes around that must not change.
fn in_device_memory(engine: &Engine, stream: &Arc<CudaStream>, call: &Call, shift: usize, in_place: bool) {
    const AROUND: usize = 64;
    let cipher = engine.cipher(&call.key()).unwrap();
    let device = cipher.device().unwrap();
    call.check(&format!("{}, {shift} bytes on, in place: {in_place}", name(engine)), |xts, data| {
        let (at, len) = (AROUND + shift, data.len());
        let mut bytes = vec![0xa5; len + 2 * AROUND];
        bytes[at..at + len].copy_from_slice(data);
        let mut input = stream.clone_htod(&bytes).unwrap();
        let mut output = stream.clone_htod(&vec![0xa5; bytes.len()]).unwrap();
        if in_place {
            device.run(stream, xts, &mut input.slice_mut(at..at + len)).unwrap()
        } else {
            device.run(stream, xts, (&input.slice(at..at + len), &mut output.slice_mut(at..at + len))).unwrap()
        }
        let found = stream.clone_dtoh(if in_place { &input } else { &output }).unwrap();
        assert!(found[..at].iter().chain(&found[at + len..]).all(|&byte| byte == 0xa5), "bytes around changed");
        found[at..at + len].to_vec()
    });
}

fn device_memory(engines: &'static [Engine]) {
    let engine = &engines[0];
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    at_random(5 << 20, |call| {
        for (shift, in_place) in [(0, true), (0, false), (5, true), (3, false), (4, true)] {
            in_device_memory(engine, &stream, &call, shift, in_place);
        }
    });
    let two = engine.cipher(&Key::generate_xts(KeyBits::Aes256).unwrap()).unwrap();
    let mut data = stream.clone_htod(&[7; 64]).unwrap();
    refused!(two.device().unwrap().run(&stream, Ecb::encrypt(), &mut data), Error::WrongKeys { .. });
    refused!(two.device().unwrap().prepare(Mode::Ctr), Error::NoSuchKernel { .. });
    two.device().unwrap().prepare(Mode::XtsDecrypt).unwrap();
}

/// So much data that warps take many stretches, and units so long that few begin in one.
fn stretches_of_every_length(engines: &'static [Engine]) {
    let engine = &engines[0];
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    for (i, unit) in [16, 48, 512, 528, 4096, 8208, 65536, 1 << 20, 16 << 20].into_iter().enumerate() {
        for (k, len) in [3 << 20, 40 << 20, 300 << 20].into_iter().enumerate() {
            // Whole blocks, whole words, and any bytes.
            let unit = [unit, unit.max(32) - 8, unit - unit / 32 + 1][(i + k) % 3];
            if len < 4 << 20 || !small() {
                let call = Call::new([32, 64][i % 2], unit, (1 << 64) - 77, len + 16 * i + i % 2);
                in_device_memory(engine, &stream, &call, 0, i % 2 == 0);
            }
        }
    }
}

fn sharded_memory(groups: &'static [Engine]) {
    for engine in groups {
        for (i, unit) in [16, 512, 528, 4096, 1 << 20].into_iter().enumerate() {
            for len in [16, 4096, (1 << 20) + 16, (5 << 20) + 1000, (11 << 20) + 77 * 16] {
                let call = Call::new([64, 32][i % 2], unit, u128::MAX - 9, len);
                let cipher = engine.cipher(&call.key()).unwrap();
                call.check(&name(engine), |xts, data| {
                    let mut memory = engine.sharded(data.len()).unwrap();
                    memory.copy_from_host(0, data).unwrap();
                    cipher.sharded().unwrap().run(xts, &mut memory).unwrap();
                    let mut found = vec![0; data.len()];
                    memory.copy_to_host(0, &mut found).unwrap();
                    found
                });
            }
        }
        let two = engine.cipher(&two_keys()).unwrap();
        let mut memory = engine.sharded((1 << 20) + 5).unwrap();
        let refused = two.sharded().unwrap().run(Xts::encrypt(16 << 20, 0).unwrap(), &mut memory);
        assert!(matches!(refused, Err(Error::Length { operation: "XTS", .. })), "{refused:?}");
        let one = engine.cipher(&Key::generate(KeyBits::Aes128).unwrap()).unwrap();
        let mut memory = engine.sharded(64).unwrap();
        refused!(one.sharded().unwrap().run(Xts::encrypt(16, 0).unwrap(), &mut memory), Error::WrongKeys { .. });
    }
}

fn opencl_buffers(engines: &'static [Engine]) {
    let engine = &engines[0];
    let context = engine.opencl_context().unwrap();
    let queue = CommandQueue::create_default(context, 0).unwrap();
    let buffer = |bytes: &[u8]| {
        // SAFETY: no host memory is involved.
        let mut buffer = unsafe { Buffer::create(context, CL_MEM_READ_WRITE, bytes.len(), ptr::null_mut()) }.unwrap();
        // SAFETY: waits until it completes.
        unsafe { queue.enqueue_write_buffer(&mut buffer, CL_TRUE, 0, bytes, &[]) }.unwrap();
        buffer
    };
    at_random(300 << 10, |call| {
        let cipher = engine.cipher(&call.key()).unwrap();
        for at in [0, 5] {
            call.check(&format!("{}, {at} bytes on", name(engine)), |xts, data| {
                let (len, mut bytes) = (data.len(), vec![0xa5; data.len() + 32]);
                bytes[at..at + len].copy_from_slice(data);
                let memory = buffer(&bytes);
                let slice = BufferSlice::new(&memory, at, len);
                cipher.opencl().unwrap().run(&queue, xts, slice).unwrap();
                // SAFETY: waits until it completes.
                unsafe { queue.enqueue_read_buffer(&memory, CL_TRUE, 0, &mut bytes, &[]) }.unwrap();
                assert!(bytes[..at].iter().chain(&bytes[at + len..]).all(|&byte| byte == 0xa5), "bytes around changed");
                bytes[at..at + len].to_vec()
            });
        }
    });
    let two = engine.cipher(&Key::generate_xts(KeyBits::Aes128).unwrap()).unwrap();
    let memory = buffer(&[7; 64]);
    let slice = BufferSlice::new(&memory, 0, 64);
    refused!(two.opencl().unwrap().run(&queue, Ecb::encrypt(), slice), Error::WrongKeys { .. });
    assert!(Engine::open(Backend::Cpu).unwrap().cipher(&two_keys()).unwrap().opencl().is_err());
}

fn two_keys() -> Key {
    Key::generate_xts(KeyBits::Aes128).unwrap()
}
