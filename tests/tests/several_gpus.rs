//! Several GPUs that share the work of a call: sharded memory and host memory, all modes, in place and not, against the CPU
//! engine, which is itself tested against the reference; and the same on a group of one GPU.

use aes_bitslice_runtime::cuda::{ShardedBuffer, Shares};
use aes_bitslice_runtime::{
    Backend, CbcDecrypt, Cipher, Counter, CounterMode, Ctr, Ecb, Engine, Error, GcmDecrypt, GcmEncrypt, Gmac, Kernels,
    Key, KeyBits, Mode, Nonce, Transfers,
};
use aes_bitslice_tests::engines::{Device, gpu_count};
use aes_bitslice_tests::environment::{random, small};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::operation::{AnyOperation, counter};
use aes_bitslice_tests::reference::Reference;
use aes_bitslice_tests::{tests, tests_of_engines, with_operation};
use proptest::prelude::*;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

const MIB: usize = 1 << 20;

fn main() -> ExitCode {
    let tests = tests_of_engines![
        sharded_memory_of_every_kind,
        sharded_memory_with_other_kernels,
        authenticated_sharded_memory,
        copies_cross_shares,
        refusals_change_nothing,
        host_memory_of_every_kind,
        many_threads,
        each_gpu_by_itself,
    ];
    Tests::default()
        .on_each(&Device::GROUPS, &[], tests)
        .on_each(&Device::GROUPS, &[Need::Time], tests_of_engines![sharded_memory_at_random, a_slow_gpu])
        .with(&[], tests![other_engines_refuse])
        .run()
}

/// The number of GPUs of a group.
fn gpus_of(engine: &Engine) -> usize {
    engine.cuda_contexts().unwrap().len()
}

/// Bytes that look random, made by the CPU engine: fast for many.
fn noise(seed: u8, len: usize) -> Vec<u8> {
    let mut data = vec![0; len];
    cpu().ctr_apply(&counter([seed; 16]), 0, &mut data).unwrap();
    data
}

/// The key of all tests here.
fn key() -> Key {
    Key::new(&[0x5c; 32]).unwrap()
}

/// On the CPU engine.
fn cpu() -> &'static Cipher {
    static CPU: OnceLock<Cipher> = OnceLock::new();
    CPU.get_or_init(|| Engine::open(Backend::Cpu).unwrap().cipher(&key()).unwrap())
}

fn same(actual: &[u8], expected: &[u8], what: &dyn std::fmt::Debug) {
    assert_eq!(actual.len(), expected.len());
    if actual != expected {
        let first = actual.iter().zip(expected).position(|(a, e)| a != e);
        panic!("{what:?}: byte {} of {} is the first that is wrong", first.unwrap_or(0), actual.len());
    }
}

/// One call on data of any length; the length is cut to whole blocks for all modes but CTR.
#[derive(Clone, Copy, Debug)]
struct Call {
    mode: Mode,
    len: usize,
    counter: u128,
    offset: u64,
}

impl Call {
    fn operation(&self) -> AnyOperation {
        AnyOperation::of(self.mode, self.counter, self.offset)
    }

    fn len(&self) -> usize {
        self.operation().takes(self.len)
    }

    /// In host memory, from `input` or, as always without an input, in place.
    fn on_host(&self, cipher: &Cipher, input: Option<&[u8]>, output: &mut [u8]) -> Result<(), Error> {
        match input.filter(|_| self.operation().maps()) {
            None => self.operation().run(cipher, output),
            Some(input) => self.operation().run(cipher, (input, output)),
        }
    }

    /// In sharded memory, from `input` or, as always without an input, in place.
    fn on_shards(
        &self,
        cipher: &Cipher,
        input: Option<&ShardedBuffer>,
        output: &mut ShardedBuffer,
    ) -> Result<(), Error> {
        let (sharded, input) = (cipher.sharded()?, input.filter(|_| self.operation().maps()));
        with_operation!(self.operation(), operation => match input {
            None => sharded.run(operation, output),
            Some(input) => sharded.run_to(operation, input, output),
        })
    }

    /// Runs the call on sharded memory, in place and not, and compares with the CPU engine.
    fn check_sharded(&self, cipher: &Cipher) {
        let what = |how: &str| (cipher.engine().description(), *self, how.to_string());
        let input = noise(1, self.len());
        let mut expected = vec![0; input.len()];
        self.on_host(cpu(), Some(&input), &mut expected).unwrap();
        let engine = cipher.engine();
        let (mut from, mut to) = (engine.sharded(input.len()).unwrap(), engine.sharded(input.len()).unwrap());
        from.copy_from_host(0, &input).unwrap();
        to.copy_from_host(0, &noise(2, input.len())).unwrap();
        self.on_shards(cipher, Some(&from), &mut to).unwrap();
        same(&contents(&to), &expected, &what("to another buffer"));
        same(&contents(&from), &input, &what("the input"));
        self.on_shards(cipher, None, &mut from).unwrap();
        same(&contents(&from), &expected, &what("in place"));
    }

    /// The same on host memory, pageable and not.
    fn check_host(&self, cipher: &Cipher) {
        let what = |how: &str| (cipher.engine().description(), *self, how.to_string());
        let input = noise(1, self.len());
        let mut expected = vec![0; input.len()];
        self.on_host(cpu(), Some(&input), &mut expected).unwrap();
        let mut output = noise(2, input.len());
        self.on_host(cipher, Some(&input), &mut output).unwrap();
        same(&output, &expected, &what("pageable, to another buffer"));
        output.copy_from_slice(&input);
        self.on_host(cipher, None, &mut output).unwrap();
        same(&output, &expected, &what("pageable, in place"));
        let mut pinned = cipher.engine().host_buffer(input.len()).unwrap();
        self.on_host(cipher, Some(&input), &mut pinned).unwrap();
        same(&pinned, &expected, &what("pageable to pinned"));
        pinned.copy_from_slice(&input);
        let mut other = cipher.engine().host_buffer(input.len()).unwrap();
        self.on_host(cipher, Some(&pinned), &mut other).unwrap();
        same(&other, &expected, &what("pinned, to another buffer"));
        self.on_host(cipher, None, &mut pinned).unwrap();
        same(&pinned, &expected, &what("pinned, in place"));
    }
}

fn contents(buffer: &ShardedBuffer) -> Vec<u8> {
    let mut bytes = vec![0x3c; buffer.len()];
    buffer.copy_to_host(0, &mut bytes).unwrap();
    bytes
}

/// Lengths around the places where shares begin, and of several chunks a share; counters that wrap.
fn sharded_memory_of_every_kind(groups: &'static [Engine]) {
    for engine in groups {
        let cipher = engine.cipher(&key()).unwrap();
        let gpus = gpus_of(engine);
        // More than one chunk on each GPU, where there are not too many.
        let several_chunks = if gpus <= 2 { 300 * gpus } else { 20 * gpus };
        let large = [8 * MIB + 16 * 77, several_chunks * MIB + 31];
        let lens = [0, 1, 15, 16, MIB - 1, MIB, MIB + 1, gpus * MIB, gpus * MIB + 33, 3 * MIB + 16];
        let lens = lens.into_iter().chain(large.into_iter().filter(|_| !small()));
        for (i, len) in lens.enumerate() {
            for mode in Mode::OF_ONE_KEY {
                let counter = u128::MAX - 70_000 * (i as u128 % 3);
                Call { mode, len, counter, offset: [0, 16, 5, (1 << 36) + 3][i % 4] }.check_sharded(&cipher);
            }
        }
    }
}

fn sharded_memory_at_random(groups: &'static [Engine]) {
    let ciphers: Vec<_> = groups.iter().map(|engine| engine.cipher(&key()).unwrap()).collect();
    proptest!(random(60), |(
        which in 0..ciphers.len(), mode in prop::sample::select(Mode::OF_ONE_KEY.to_vec()), len in 0usize..20 * MIB,
        counter: u128, near_wrap: bool, offset: u64,
    )| {
        let counter = if near_wrap { u128::MAX - counter % 300_000 } else { counter };
        Call { mode, len, counter, offset: offset >> 1 }.check_sharded(&ciphers[which]);
    });
}

/// Table kernels work on sharded memory like any other.
fn sharded_memory_with_other_kernels(groups: &'static [Engine]) {
    let engine = &groups[0];
    for kernels in [Kernels::Tbox, Kernels::CoResident, Kernels::AutoAny] {
        let cipher = engine.clone().with_kernels(kernels).cipher(&key()).unwrap();
        for mode in Mode::OF_ONE_KEY {
            match cipher.sharded().unwrap().prepare(mode) {
                // There are none for CBC that are co-resident.
                Err(Error::NoSuchKernel { .. }) => continue,
                prepared => prepared.unwrap(),
            }
            Call { mode, len: 30 * MIB + 16, counter: 1 << 32, offset: 0 }.check_sharded(&cipher);
        }
    }
}

/// Bytes are put and taken anywhere, across shares, and nothing else is touched; a new buffer is zero.
fn copies_cross_shares(groups: &'static [Engine]) {
    let engine = &groups[0];
    let len = 7 * MIB + 11;
    let mut buffer = engine.sharded(len).unwrap();
    assert_eq!((buffer.len(), buffer.is_empty()), (len, false));
    assert!(contents(&buffer).iter().all(|&byte| byte == 0));
    let shares = buffer.shares();
    assert!(shares.iter().map(|share| share.ordinal).eq(0..gpus_of(engine)));
    assert_eq!((shares[0].range.start, shares[shares.len() - 1].range.end), (0, len));
    assert!(shares.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
    let mut expected = vec![0; len];
    for (i, (at, bytes)) in [(0, 1), (len - 1, 1), (MIB - 3, 6), (MIB / 2, 5 * MIB), (len, 0), (3, 0), (17, len - 17)]
        .into_iter()
        .enumerate()
    {
        let data = noise(i as u8, bytes);
        buffer.copy_from_host(at, &data).unwrap();
        expected[at..at + bytes].copy_from_slice(&data);
        same(&contents(&buffer), &expected, &(at, bytes));
        let mut back = vec![0; bytes];
        buffer.copy_to_host(at, &mut back).unwrap();
        same(&back, &data, &(at, bytes));
    }
    for (at, bytes) in [(len, 1), (len + 1, 0), (0, len + 1), (usize::MAX, 2)] {
        let mut data = vec![1; bytes];
        assert!(matches!(buffer.copy_from_host(at, &data), Err(Error::OutOfRange { .. })), "{at} {bytes}");
        assert!(matches!(buffer.copy_to_host(at, &mut data), Err(Error::OutOfRange { .. })), "{at} {bytes}");
    }
    same(&contents(&buffer), &expected, &"refused");
}

/// A tag of the hashes of all parts, in place and not; and what was changed is refused and cleared, whichever GPU has it.
fn authenticated_sharded_memory(groups: &'static [Engine]) {
    let (nonce, aad) = (Nonce::new(b"a nonce of any length").unwrap(), b"a header");
    for engine in groups {
        let cipher = engine.cipher(&key()).unwrap();
        let sharded = cipher.sharded().unwrap();
        for len in [0, 1, 300, MIB + 5, 37 * MIB + 9] {
            let plain = noise(4, len);
            let mut expected = plain.clone();
            let tag = cpu().run(GcmEncrypt::new(&nonce, aad), &mut expected).unwrap();
            let (mut from, mut to) = (engine.sharded(len).unwrap(), engine.sharded(len).unwrap());
            from.copy_from_host(0, &plain).unwrap();
            assert_eq!(sharded.run_to(GcmEncrypt::new(&nonce, aad), &from, &mut to).unwrap(), tag, "{len} bytes");
            same(&contents(&to), &expected, &len);
            assert_eq!(sharded.run(GcmEncrypt::new(&nonce, aad), &mut from).unwrap(), tag, "{len} bytes");
            same(&contents(&from), &expected, &len);
            let mac = sharded.run(Gmac::new(&nonce), &mut from).unwrap();
            assert_eq!(mac, cpu().run(Gmac::new(&nonce), &expected).unwrap());
            same(&contents(&from), &expected, &"only read");
            sharded.run(GcmDecrypt::new(&nonce, aad, &tag), &mut from).unwrap();
            same(&contents(&from), &plain, &len);
            for changed in [0, len / 2, len.saturating_sub(1)] {
                let mut secret = expected.clone();
                let Some(byte) = secret.get_mut(changed) else { continue };
                *byte ^= 4;
                to.copy_from_host(0, &secret).unwrap();
                let refused = sharded.run_to(GcmDecrypt::new(&nonce, aad, &tag), &to, &mut from);
                assert!(matches!(refused, Err(Error::Unauthenticated)), "{len} bytes");
                assert!(contents(&from).iter().all(|&byte| byte == 0), "{len} bytes");
                same(&contents(&to), &secret, &"the input");
            }
        }
    }
}

/// What only CUDA GPUs answer is refused elsewhere, and so are groups that cannot be.
fn other_engines_refuse() {
    assert!(matches!(cpu().sharded(), Err(Error::NotCuda { .. })));
    assert!(matches!(cpu().devices(), Err(Error::NotCuda { .. })));
    assert!(matches!(cpu().engine().sharded(1), Err(Error::NotCuda { .. })));
    assert!(matches!(Engine::multi(&[], Shares::Equal), Err(Error::BadDevices { .. })));
    assert!(matches!(Engine::multi(&[0, 0], Shares::Equal), Err(Error::BadDevices { .. })));
}

/// What cannot be done is refused and changes nothing.
fn refusals_change_nothing(groups: &'static [Engine]) {
    let engine = &groups[0];
    assert!(matches!(Engine::multi(&[0, gpu_count()], Shares::Equal), Err(Error::NoSuchDevice { .. })));
    assert!(matches!(engine.sharded(1 << 46), Err(Error::OutOfDeviceMemory { .. })));

    let cipher = engine.cipher(&key()).unwrap();
    let (sharded, input) = (cipher.sharded().unwrap(), noise(3, 2 * MIB + 100));
    let (mut data, mut longer) = (engine.sharded(input.len()).unwrap(), engine.sharded(input.len() + 12).unwrap());
    data.copy_from_host(0, &input).unwrap();
    let ordinals: Vec<usize> = (0..gpus_of(engine)).collect();
    let mut foreign = Engine::multi(&ordinals, Shares::Equal).unwrap().sharded(input.len()).unwrap();
    let (ecb, cbc) = (Ecb::encrypt(), CbcDecrypt::new(&[0; 16]));
    let wide = Ctr::new(&counter([1; 16]), 0);
    let narrow = Ctr::new(&Counter::new(CounterMode::Ctr32BE, [0xff; 16]), 0);
    assert!(matches!(sharded.run(ecb, &mut data), Err(Error::NotWholeBlocks { .. })));
    assert!(matches!(sharded.run(cbc, &mut data), Err(Error::NotWholeBlocks { .. })));
    assert!(matches!(sharded.run_to(ecb, &longer, &mut data), Err(Error::LengthMismatch { .. })));
    assert!(matches!(sharded.run_to(cbc, &longer, &mut data), Err(Error::LengthMismatch { .. })));
    assert!(matches!(sharded.run_to(wide, &longer, &mut data), Err(Error::LengthMismatch { .. })));
    assert!(matches!(sharded.run_to(wide, &data, &mut longer), Err(Error::LengthMismatch { .. })));
    assert!(matches!(sharded.run(narrow, &mut data), Err(Error::CounterOverflow { .. })));
    assert!(matches!(sharded.run(wide, &mut foreign), Err(Error::OtherEngine)));
    assert!(matches!(sharded.run_to(wide, &data, &mut foreign), Err(Error::OtherEngine)));
    assert!(matches!(sharded.run_to(wide, &foreign, &mut data), Err(Error::OtherEngine)));
    same(&contents(&data), &input, &"refused");
    assert!(contents(&foreign).iter().chain(&contents(&longer)).all(|&byte| byte == 0));
}

/// Host memory, pageable and pinned, in chunks that are many and few.
fn host_memory_of_every_kind(groups: &'static [Engine]) {
    for engine in groups {
        let tiny = Transfers { chunk_bytes: Some(64 << 10), streams: Some(3), workers: Some(2) };
        for (transfers, lens) in [
            (tiny, &[0, 1, 17, 65_536, 300_001, 3 * MIB + 5][..]),
            (Transfers::default(), &[1, 4 * MIB + 16 * 3, 70 * MIB + 7][..]),
        ] {
            let cipher = engine.clone().with_transfers(transfers).cipher(&key()).unwrap();
            for (i, &len) in lens.iter().filter(|len| !small() || **len < 4 * MIB).enumerate() {
                for mode in Mode::OF_ONE_KEY {
                    let counter = u128::MAX - 10_000 * i as u128;
                    Call { mode, len, counter, offset: [0, 5, 32, 11][i % 4] }.check_host(&cipher);
                }
            }
        }
    }
}

/// A GPU that has other things to do is left with less, and everything is right all the same.
fn a_slow_gpu(groups: &'static [Engine]) {
    let two = &[0, 1][..gpus_of(&groups[0]).min(2)];
    let engine = Engine::multi(two, Shares::Equal).unwrap();
    let cipher = engine.cipher(&key()).unwrap();
    let slow = engine.cuda_contexts().unwrap().pop().unwrap();
    let (ready, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let stream = slow.new_stream().unwrap();
            let mut data = stream.alloc_zeros::<u8>(256 * MIB).unwrap();
            let devices = cipher.devices().unwrap();
            let ctr = Ctr::new(&counter([0; 16]), 0);
            while !done.load(Ordering::SeqCst) {
                for _ in 0..20 {
                    devices[devices.len() - 1].run(&stream, ctr, &mut data).unwrap();
                }
                ready.store(true, Ordering::SeqCst);
                stream.synchronize().unwrap();
            }
        });
        while !ready.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        // Told to the thread whatever becomes of the checks.
        struct Done<'a>(&'a AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let _done = Done(&done);
        // More chunks than a GPU has at a time, so that there are some to take.
        Call { mode: Mode::CbcDecrypt, len: 1400 * MIB * two.len() + 16, counter: 77, offset: 0 }
            .check_sharded(&cipher);
        for mode in Mode::OF_ONE_KEY {
            Call { mode, len: 100 * MIB, counter: 77, offset: 0 }.check_host(&cipher);
        }
    });
}

/// Many threads share one engine and one cipher.
fn many_threads(groups: &'static [Engine]) {
    let engine = &groups[0];
    let cipher = engine.cipher(&key()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6usize {
            let cipher = &cipher;
            scope.spawn(move || {
                for round in 0..3 {
                    let mode = Mode::OF_ONE_KEY[(thread + round) % Mode::OF_ONE_KEY.len()];
                    let call = Call { mode, len: 9 * MIB + 1000 * thread, counter: 3, offset: thread as u64 };
                    call.check_sharded(cipher);
                    Call { len: 2 * MIB + 77 * round, ..call }.check_host(cipher);
                }
            });
        }
    });
}

/// Buffers and streams of the caller's on each GPU: one message, cut anywhere.
fn each_gpu_by_itself(groups: &'static [Engine]) {
    let engine = &groups[0];
    let cipher = engine.cipher(&key()).unwrap();
    let (devices, contexts) = (cipher.devices().unwrap(), engine.cuda_contexts().unwrap());
    assert_eq!((devices.len(), contexts.len()), (gpus_of(engine), gpus_of(engine)));
    let message = noise(4, 500_000);
    let share = message.len().div_ceil(devices.len()) + 5;
    let counter = counter([0xff; 16]);
    let mut running = vec![];
    for (i, piece) in message.chunks(share).enumerate() {
        let stream = contexts[i].new_stream().unwrap();
        let mut data = stream.clone_htod(piece).unwrap();
        devices[i].run(&stream, Ctr::new(&counter, (i * share) as u64 + 3), &mut data).unwrap();
        running.push((stream, data));
    }
    let found: Vec<u8> = running.iter().flat_map(|(stream, data)| stream.clone_dtoh(data).unwrap()).collect();
    same(&found, &Reference::new(&[0x5c; 32]).ctr([0xff; 16], 3, &message), &"a message on several GPUs");
    if devices.len() > 1 {
        assert!(matches!(cipher.device().map(|_| ()), Err(Error::SeveralDevices { .. })));
        assert!(matches!(engine.cuda_context(), Err(Error::SeveralDevices { .. })));
        assert_eq!(engine.backend(), Backend::CudaAll);
    }
    assert_eq!(engine.backend_for(Mode::Ctr, KeyBits::Aes128, 1), engine.backend());
}
