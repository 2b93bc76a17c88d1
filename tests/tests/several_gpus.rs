//! Several GPUs that share the work of a call: spread memory and host memory, all modes, in place and not, against the CPU
//! engine, which is itself tested against the reference. With one GPU, the same on a group of one.

use aes_bitslice_runtime::cuda::{SpreadBuffer, devices};
use aes_bitslice_runtime::{
    Backend, Cipher, Counter, CounterMode, Direction, Engine, Error, Kernels, Key, KeyBits, Mode, Shares, Transfers,
};
use aes_bitslice_tests::engines::{gpu, is_set, say};
use aes_bitslice_tests::reference::Reference;
use proptest::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

const MIB: usize = 1 << 20;

/// The GPUs of this machine; with fewer than two that is said once. Empty without any.
fn ordinals() -> &'static [usize] {
    static ORDINALS: OnceLock<Vec<usize>> = OnceLock::new();
    ORDINALS.get_or_init(|| {
        let count = gpu().map_or(0, |_| devices().unwrap().len());
        if count == 1 {
            say("ONE GPU ONLY: THAT SEVERAL SHARE THE WORK WAS NOT TESTED");
        }
        (0..count).collect()
    })
}

/// Groups of one, two and all GPUs, in order and not, with all kinds of shares.
fn engines() -> Vec<Engine> {
    let all = ordinals();
    let mut groups: Vec<(Vec<usize>, Shares)> = vec![];
    if !all.is_empty() {
        groups.push((vec![0], Shares::Equal));
        groups.push((all.to_vec(), Shares::Measured));
    }
    if all.len() > 1 {
        groups.push((vec![1, 0], Shares::Equal));
        groups.push((all.to_vec(), Shares::Rated));
    }
    groups.iter().map(|(ordinals, shares)| Engine::multi(ordinals, *shares).unwrap()).collect()
}

/// All GPUs.
fn all_gpus() -> Option<Engine> {
    (!ordinals().is_empty()).then(|| Engine::open(Backend::CudaAll).unwrap())
}

/// Bytes that look random, made by the CPU engine: fast for many.
fn noise(seed: u8, len: usize) -> Vec<u8> {
    let mut data = vec![0; len];
    cpu().ctr_apply(&Counter::new(CounterMode::Ctr128BE, [seed; 16]), 0, &mut data).unwrap();
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
    fn len(&self) -> usize {
        if self.mode == Mode::Ctr { self.len } else { self.len / 16 * 16 }
    }

    fn counter(&self) -> Counter {
        Counter::new(CounterMode::Ctr128BE, self.iv())
    }

    fn iv(&self) -> [u8; 16] {
        self.counter.to_be_bytes()
    }

    /// In host memory, from `input` or in place.
    fn on_host(&self, cipher: &Cipher, input: Option<&[u8]>, output: &mut [u8]) -> Result<(), Error> {
        match (self.mode, input) {
            (Mode::EcbEncrypt, None) => cipher.ecb_encrypt(output),
            (Mode::EcbEncrypt, Some(input)) => cipher.ecb_encrypt_to(input, output),
            (Mode::EcbDecrypt, None) => cipher.ecb_decrypt(output),
            (Mode::EcbDecrypt, Some(input)) => cipher.ecb_decrypt_to(input, output),
            (Mode::CbcDecrypt, None) => cipher.cbc_decrypt(&self.iv(), output),
            (Mode::CbcDecrypt, Some(input)) => cipher.cbc_decrypt_to(&self.iv(), input, output),
            (Mode::Ctr, None) => cipher.ctr_apply(&self.counter(), self.offset, output),
            (Mode::Ctr, Some(input)) => cipher.ctr_apply_to(&self.counter(), self.offset, input, output),
        }
    }

    /// In spread memory, from `input` or in place.
    fn on_spread(&self, cipher: &Cipher, input: Option<&SpreadBuffer>, output: &mut SpreadBuffer) -> Result<(), Error> {
        let (spread, direction) = (cipher.spread()?, self.mode.direction());
        match (self.mode, input) {
            (Mode::EcbEncrypt | Mode::EcbDecrypt, None) => spread.ecb(direction, output),
            (Mode::EcbEncrypt | Mode::EcbDecrypt, Some(input)) => spread.ecb_to(direction, input, output),
            (Mode::CbcDecrypt, None) => spread.cbc_decrypt(&self.iv(), output),
            (Mode::CbcDecrypt, Some(input)) => spread.cbc_decrypt_to(&self.iv(), input, output),
            (Mode::Ctr, None) => spread.ctr_apply(&self.counter(), self.offset, output),
            (Mode::Ctr, Some(input)) => spread.ctr_apply_to(&self.counter(), self.offset, input, output),
        }
    }

    /// Runs the call on spread memory, in place and not, and compares with the CPU engine.
    fn check_spread(&self, cipher: &Cipher) {
        let what = |how: &str| (cipher.engine().description(), *self, how.to_string());
        let input = noise(1, self.len());
        let mut expected = vec![0; input.len()];
        self.on_host(cpu(), Some(&input), &mut expected).unwrap();
        let engine = cipher.engine();
        let (mut from, mut to) = (engine.spread(input.len()).unwrap(), engine.spread(input.len()).unwrap());
        from.copy_from_host(0, &input).unwrap();
        to.copy_from_host(0, &noise(2, input.len())).unwrap();
        self.on_spread(cipher, Some(&from), &mut to).unwrap();
        same(&contents(&to), &expected, &what("to another buffer"));
        same(&contents(&from), &input, &what("the input"));
        self.on_spread(cipher, None, &mut from).unwrap();
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

fn contents(buffer: &SpreadBuffer) -> Vec<u8> {
    let mut bytes = vec![0x3c; buffer.len()];
    buffer.copy_to_host(0, &mut bytes).unwrap();
    bytes
}

/// Lengths around the places where parts begin, and of several pieces a part; counters that wrap.
#[test]
fn spread_memory_of_every_kind() {
    let small = is_set("AES_BITSLICE_SMALL");
    for engine in engines() {
        let cipher = engine.cipher(&key()).unwrap();
        let gpus = engine.cuda_contexts().unwrap().len();
        // More than one piece on each GPU, where there are not too many.
        let several_pieces = if gpus <= 2 { 300 * gpus } else { 20 * gpus };
        let large = [8 * MIB + 16 * 77, several_pieces * MIB + 31];
        let lens = [0, 1, 15, 16, MIB - 1, MIB, MIB + 1, gpus * MIB, gpus * MIB + 33, 3 * MIB + 16];
        let lens = lens.into_iter().chain(large.into_iter().filter(|_| !small));
        for (i, len) in lens.enumerate() {
            for mode in Mode::ALL {
                let counter = u128::MAX - 70_000 * (i as u128 % 3);
                Call { mode, len, counter, offset: [0, 16, 5, (1 << 36) + 3][i % 4] }.check_spread(&cipher);
            }
        }
    }
}

#[test]
fn spread_memory_at_random() {
    let engines = engines();
    if engines.is_empty() || is_set("AES_BITSLICE_SMALL") {
        return;
    }
    let ciphers: Vec<_> = engines.iter().map(|engine| engine.cipher(&key()).unwrap()).collect();
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(
        which in 0..ciphers.len(), mode in prop::sample::select(Mode::ALL.to_vec()), len in 0usize..20 * MIB,
        counter: u128, near_wrap: bool, offset: u64,
    )| {
        let counter = if near_wrap { u128::MAX - counter % 300_000 } else { counter };
        Call { mode, len, counter, offset: offset >> 1 }.check_spread(&ciphers[which]);
    });
}

/// Baked and table kernels are spread like any other.
#[test]
fn spread_memory_with_other_kernels() {
    let Some(engine) = all_gpus() else { return };
    for kernels in [Kernels::Tbox, Kernels::Pair, Kernels::AutoAny] {
        let cipher = engine.clone().with_kernels(kernels).cipher(&key()).unwrap();
        for mode in Mode::ALL {
            match cipher.spread().unwrap().prepare(mode) {
                // No pair decrypts CBC.
                Err(Error::NoSuchKernel { .. }) => continue,
                prepared => prepared.unwrap(),
            }
            Call { mode, len: 30 * MIB + 16, counter: 1 << 32, offset: 0 }.check_spread(&cipher);
        }
    }
}

/// Bytes are put and taken anywhere, across parts, and nothing else is touched; a new buffer is zero.
#[test]
fn copies_cross_parts() {
    let Some(engine) = all_gpus() else { return };
    let len = 7 * MIB + 11;
    let mut buffer = engine.spread(len).unwrap();
    assert_eq!((buffer.len(), buffer.is_empty()), (len, false));
    assert!(contents(&buffer).iter().all(|&byte| byte == 0));
    let parts = buffer.parts();
    assert_eq!(parts.iter().map(|part| part.ordinal).collect::<Vec<_>>(), ordinals());
    assert_eq!((parts[0].range.start, parts[parts.len() - 1].range.end), (0, len));
    assert!(parts.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
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

/// What cannot be done is refused and changes nothing.
#[test]
fn refusals_change_nothing() {
    let cpu_cipher = cpu();
    assert!(matches!(cpu_cipher.spread(), Err(Error::NotCuda { .. })));
    assert!(matches!(cpu_cipher.devices(), Err(Error::NotCuda { .. })));
    assert!(matches!(cpu_cipher.engine().spread(1), Err(Error::NotCuda { .. })));
    assert!(matches!(Engine::multi(&[], Shares::Equal), Err(Error::BadDevices { .. })));
    assert!(matches!(Engine::multi(&[0, 0], Shares::Equal), Err(Error::BadDevices { .. })));
    let Some(engine) = all_gpus() else { return };
    let beyond = ordinals().len();
    assert!(matches!(Engine::multi(&[0, beyond], Shares::Equal), Err(Error::NoSuchDevice { .. })));
    assert!(matches!(engine.spread(1 << 46), Err(Error::OutOfDeviceMemory { .. })));

    let cipher = engine.cipher(&key()).unwrap();
    let (spread, input) = (cipher.spread().unwrap(), noise(3, 2 * MIB + 100));
    let (mut data, mut longer) = (engine.spread(input.len()).unwrap(), engine.spread(input.len() + 12).unwrap());
    data.copy_from_host(0, &input).unwrap();
    let mut foreign = Engine::open(Backend::CudaAll).unwrap().spread(input.len()).unwrap();
    let wide = Counter::new(CounterMode::Ctr128BE, [1; 16]);
    let narrow = Counter::new(CounterMode::Ctr32BE, [0xff; 16]);
    let encrypt = Direction::Encrypt;
    assert!(matches!(spread.ecb(encrypt, &mut data), Err(Error::NotWholeBlocks { .. })));
    assert!(matches!(spread.cbc_decrypt(&[0; 16], &mut data), Err(Error::NotWholeBlocks { .. })));
    assert!(matches!(spread.ecb_to(encrypt, &longer, &mut data), Err(Error::LengthMismatch { .. })));
    assert!(matches!(spread.cbc_decrypt_to(&[0; 16], &longer, &mut data), Err(Error::LengthMismatch { .. })));
    assert!(matches!(spread.ctr_apply_to(&wide, 0, &longer, &mut data), Err(Error::LengthMismatch { .. })));
    assert!(matches!(spread.ctr_apply_to(&wide, 0, &data, &mut longer), Err(Error::LengthMismatch { .. })));
    assert!(matches!(spread.ctr_apply(&narrow, 0, &mut data), Err(Error::CounterOverflow { .. })));
    assert!(matches!(spread.ctr_apply(&wide, 0, &mut foreign), Err(Error::OtherEngine)));
    assert!(matches!(spread.ctr_apply_to(&wide, 0, &data, &mut foreign), Err(Error::OtherEngine)));
    assert!(matches!(spread.ctr_apply_to(&wide, 0, &foreign, &mut data), Err(Error::OtherEngine)));
    same(&contents(&data), &input, &"refused");
    assert!(contents(&foreign).iter().chain(&contents(&longer)).all(|&byte| byte == 0));
}

/// Host memory, pageable and pinned, in chunks that are many and few.
#[test]
fn host_memory_of_every_kind() {
    let small = is_set("AES_BITSLICE_SMALL");
    for engine in engines() {
        let tiny = Transfers { chunk_bytes: Some(64 << 10), streams: Some(3), workers: Some(2) };
        for (transfers, lens) in [
            (tiny, &[0, 1, 17, 65_536, 300_001, 3 * MIB + 5][..]),
            (Transfers::default(), &[1, 4 * MIB + 16 * 3, 70 * MIB + 7][..]),
        ] {
            let cipher = engine.clone().with_transfers(transfers).cipher(&key()).unwrap();
            for (i, &len) in lens.iter().filter(|len| !small || **len < 4 * MIB).enumerate() {
                for mode in Mode::ALL {
                    let counter = u128::MAX - 10_000 * i as u128;
                    Call { mode, len, counter, offset: [0, 5, 32, 11][i % 4] }.check_host(&cipher);
                }
            }
        }
    }
}

/// A GPU that has other things to do is left with less, and everything is right all the same.
#[test]
fn a_slow_gpu() {
    if ordinals().is_empty() || is_set("AES_BITSLICE_SMALL") {
        return;
    }
    let two = &ordinals()[..ordinals().len().min(2)];
    let engine = Engine::multi(two, Shares::Equal).unwrap();
    let cipher = engine.cipher(&key()).unwrap();
    let slow = engine.cuda_contexts().unwrap().pop().unwrap();
    let (ready, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let stream = slow.new_stream().unwrap();
            let mut data = stream.alloc_zeros::<u8>(256 * MIB).unwrap();
            let devices = cipher.devices().unwrap();
            let counter = Counter::new(CounterMode::Ctr128BE, [0; 16]);
            while !done.load(Ordering::SeqCst) {
                for _ in 0..20 {
                    devices[devices.len() - 1].ctr_apply(&stream, &counter, 0, &mut data).unwrap();
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
        // More pieces than a GPU has at a time, so that there are some to take.
        Call { mode: Mode::CbcDecrypt, len: 1400 * MIB * two.len() + 16, counter: 77, offset: 0 }.check_spread(&cipher);
        for mode in Mode::ALL {
            Call { mode, len: 100 * MIB, counter: 77, offset: 0 }.check_host(&cipher);
        }
    });
}

/// Many threads share one engine and one cipher.
#[test]
fn many_threads() {
    let Some(engine) = all_gpus() else { return };
    let cipher = engine.cipher(&key()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6usize {
            let cipher = &cipher;
            scope.spawn(move || {
                for round in 0..3 {
                    let mode = Mode::ALL[(thread + round) % Mode::ALL.len()];
                    let call = Call { mode, len: 9 * MIB + 1000 * thread, counter: 3, offset: thread as u64 };
                    call.check_spread(cipher);
                    Call { len: 2 * MIB + 77 * round, ..call }.check_host(cipher);
                }
            });
        }
    });
}

/// Buffers and streams of one's own on each GPU: one message, cut where one likes.
#[test]
fn each_gpu_by_itself() {
    let Some(engine) = all_gpus() else { return };
    let cipher = engine.cipher(&key()).unwrap();
    let (devices, contexts) = (cipher.devices().unwrap(), engine.cuda_contexts().unwrap());
    assert_eq!((devices.len(), contexts.len()), (ordinals().len(), ordinals().len()));
    let message = noise(4, 500_000);
    let share = message.len().div_ceil(devices.len()) + 5;
    let counter = Counter::new(CounterMode::Ctr128BE, [0xff; 16]);
    let mut running = vec![];
    for (i, piece) in message.chunks(share).enumerate() {
        let stream = contexts[i].new_stream().unwrap();
        let mut data = stream.clone_htod(piece).unwrap();
        devices[i].ctr_apply(&stream, &counter, (i * share) as u64 + 3, &mut data).unwrap();
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
