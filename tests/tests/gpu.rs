//! The GPU: every kernel on data in device memory, at every edge of size, alignment and counter, and what callers do with it:
//! streams, views, raw pointers, threads. Data in host memory is tested on all engines alike (`published.rs`, `equivalence.rs`).
//!
//! Output buffers are poisoned first, and nothing around the output may change. In the environment,
//! `AES_BITSLICE_SMALL` leaves the large sizes out, for runs under compute-sanitizer; `AES_BITSLICE_LARGE` adds buffers
//! of more than 4 GiB and of more than 2^32 blocks.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::digest;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::{FORMAT, Manifest, Printed};
use aes_bitslice_gen::kernel::{KernelSpec, Preset};
use aes_bitslice_gen::sbox;
use aes_bitslice_gen::stored::PUBLISHED_KEY;
use aes_bitslice_gen::table::{ConflictFree, TableCount};
use aes_bitslice_kernels::PUBLISHED_KERNELS;
use aes_bitslice_papers::kernels::TableSpec;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};
use aes_bitslice_runtime::cuda::devices;
use aes_bitslice_runtime::{
    Backend, CbcDecrypt, CbcEncrypt, Choice, Cipher, Counter, CounterMode, Ctr, Direction, Ecb, Engine, Error, Kernels,
    Key, KeyBits, Mode,
};
use aes_bitslice_tests::engines::{Device, gpu, has_mode, modes_of, name};
use aes_bitslice_tests::environment::{LARGE, is_set, random, say, small};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::kernels::{COMPLETE, print};
use aes_bitslice_tests::operation::{AnyOperation, counter};
use aes_bitslice_tests::reference::{Reference, noise};
use aes_bitslice_tests::{refused, tests, tests_of_each_engine, tests_of_engines, with_operation};
use proptest::prelude::*;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

fn main() -> ExitCode {
    const GPU: Need = Need::Device(Device::CUDA[0]);
    let of_each_kind = tests_of_engines![stored_kernels_at_every_edge, kernels_that_are_refused, many_threads];
    let of_each = tests_of_each_engine![streams_of_the_caller, calls_that_overlap];
    let alone =
        tests![every_choice, auto_goes_to_either_engine, every_alignment, refusals_change_nothing, raw_pointers,];
    let compiled = tests![
        baked_kernels_at_every_edge,
        published_kernels_at_every_edge,
        presets_at_every_edge,
        published_table_kernels_at_every_edge,
        keys_in_memory_outlive_their_launches,
        baked_kernels_from_files,
        presets_from_files,
        wrong_parameter_lists,
    ];
    let long = tests_of_each_engine![calls_at_random, host_memory_in_chunks, shares_of_several_tiles];
    Tests::default()
        .on_each(&Device::CUDA, &[], of_each_kind)
        .on_each(&Device::CUDA, &[], of_each)
        .on_each(&Device::CUDA, &[Need::Time], long)
        .on_each(
            &Device::CUDA,
            &[Need::Time, Need::Memory],
            tests_of_each_engine![above_4_gib, above_2_to_the_32_blocks],
        )
        .with(&[GPU], alone)
        .with(&[GPU, Need::CudaCompiler], compiled)
        .with(&[GPU, Need::Device(Device::SeveralGpus)], tests![every_device])
        .run()
}

/// Bytes before and after a call's data that must stay as they are.
const GUARD: usize = 256;
const GUARD_BYTE: u8 = 0xa5;
/// The contents of an output buffer before the call.
const POISON: u8 = 0x3c;

/// Bytes of a warp and of a thread block, where threads hold columns and where they hold states.
const WARPS: [usize; 2] = [4 << 10, 16 << 10];
const GROUPS: [usize; 2] = [16 << 10, 64 << 10];
/// Bytes of a thread block that has its data in shared memory.
const STAGED: usize = 32 << 10;
const WARP: usize = WARPS[1];
const GROUP: usize = GROUPS[1];

/// A cipher with its key for the reference.
struct Subject {
    name: String,
    cipher: Cipher,
    reference: Reference,
    modes: Vec<Mode>,
    /// The kernel with its geometry; the engine's choice if `None`.
    choice: Option<Choice>,
}

fn key_bytes(bits: KeyBits) -> Vec<u8> {
    noise(bits.bytes() as u64, bits.bytes())
}

/// The stored kernels, which take any key, with a key of each length.
fn stored(engine: &Engine) -> Vec<Subject> {
    let subject = |bits: KeyBits| {
        let key = key_bytes(bits);
        Subject {
            name: format!("stored kernels, {}, {} bits", engine.kernels(), bits.bits()),
            cipher: engine.cipher(&Key::new(&key).unwrap()).unwrap(),
            reference: Reference::new(&key),
            modes: modes_of(engine),
            choice: None,
        }
    };
    KeyBits::ALL.map(subject).into()
}

/// Kernels baked for every mode and key length; in the small tests, the key lengths alternate.
fn baked(engine: &Engine) -> Vec<Subject> {
    let bake = |mode: Mode, bits: KeyBits| {
        let key = key_bytes(bits);
        let cipher = engine.bake(&Key::new(&key).unwrap(), mode, "lut3");
        let name = format!("baked for {mode}, {} bits", bits.bits());
        let cipher = cipher.unwrap_or_else(|e| panic!("{name}: {e}"));
        Subject { name, cipher, reference: Reference::new(&key), modes: vec![mode], choice: None }
    };
    let all = Mode::OF_ONE_KEY.into_iter().enumerate().flat_map(|(i, mode)| {
        // If its mode has no such kernel there is nothing to bake.
        let is_there = print(KernelSpec::baked(mode, &sbox::LUT3, &[0; 16]).unwrap(), Dialect::Cuda).is_some();
        let lengths = KeyBits::ALL.into_iter().enumerate();
        lengths.filter(move |(k, _)| is_there && (!small() || *k == i % 3)).map(move |(_, bits)| (mode, bits))
    });
    in_threads(all, |(mode, bits)| bake(mode, bits))
}

/// Other kernels, with a key of each length; if there are many, the lengths alternate.
fn printed(engine: &Engine, kernels: impl IntoIterator<Item = Printed>, many: bool) -> Vec<Subject> {
    let subject = |kernel: &Printed, bits: KeyBits| {
        let key = key_bytes(bits);
        let name = format!("{}, {} bits", kernel.manifest.kernel, bits.bits());
        let cipher = engine.cipher_of(&Key::new(&key).unwrap(), kernel);
        let cipher = cipher.unwrap_or_else(|e| panic!("{name}: {e}"));
        let modes = vec![kernel.manifest.mode().unwrap()];
        Subject { name, cipher, reference: Reference::new(&key), modes, choice: None }
    };
    let kernels: Vec<Printed> = kernels.into_iter().collect();
    let all = kernels.iter().enumerate().flat_map(|(i, kernel)| {
        let lengths = KeyBits::ALL.into_iter().enumerate().filter(move |(k, _)| !many || *k == i % 3);
        lengths.map(move |(_, bits)| (kernel, bits))
    });
    in_threads(all, |(kernel, bits)| subject(kernel, bits))
}

/// What is compiled from each of these: the compiler is slow, so each gets a thread.
fn in_threads<T: Send>(all: impl Iterator<Item = T>, compiled: impl Fn(T) -> Subject + Sync) -> Vec<Subject> {
    std::thread::scope(|scope| {
        let compiled = &compiled;
        let threads: Vec<_> = all.map(|one| scope.spawn(move || compiled(one))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn stream(engine: &Engine) -> Arc<CudaStream> {
    engine.cuda_context().unwrap().new_stream().unwrap()
}

/// One call on device memory.
#[derive(Clone, Debug)]
struct Call {
    mode: Mode,
    /// Bytes; whole blocks except for CTR.
    len: usize,
    /// How many bytes input and output are past a multiple of 16. In place, the input's counts.
    shifts: (usize, usize),
    in_place: bool,
    /// The counter of the first block; for CBC, the IV as a big-endian number.
    counter: u128,
    offset: u64,
}

impl Call {
    fn operation(&self) -> AnyOperation {
        AnyOperation::of(self.mode, self.counter, self.offset)
    }

    /// Runs the call between guard bytes and compares everything with the expected bytes.
    fn check(&self, subject: &Subject, stream: &Arc<CudaStream>) {
        let device = subject.cipher.device().unwrap();
        let device = match subject.choice {
            Some(choice) => device.by(choice),
            None => device,
        };
        let input = noise(self.len as u64, self.len);
        let any = self.operation();
        let expected = any.expected(&subject.reference, &input);
        let inside = |shift: usize| -> Range<usize> { GUARD + shift..GUARD + shift + self.len };
        let guarded = |contents: &[u8], shift: usize| {
            let mut buffer = vec![GUARD_BYTE; shift + contents.len() + 2 * GUARD];
            buffer[inside(shift)].copy_from_slice(contents);
            buffer
        };
        let mut source = stream.clone_htod(&guarded(&input, self.shifts.0)).unwrap();
        if self.in_place || !any.maps() {
            let mut data = source.slice_mut(inside(self.shifts.0));
            with_operation!(any, operation => device.run(stream, operation, &mut data))
                .unwrap_or_else(|e| panic!("{}: {self:?}: {e}", subject.name));
            same(&stream.clone_dtoh(&source).unwrap(), &guarded(&expected, self.shifts.0), &(&subject.name, self));
        } else {
            let mut output = stream.clone_htod(&guarded(&vec![POISON; self.len], self.shifts.1)).unwrap();
            let (from, mut to) = (source.slice(inside(self.shifts.0)), output.slice_mut(inside(self.shifts.1)));
            with_operation!(any, operation => device.run(stream, operation, (&from, &mut to)))
                .unwrap_or_else(|e| panic!("{}: {self:?}: {e}", subject.name));
            same(&stream.clone_dtoh(&output).unwrap(), &guarded(&expected, self.shifts.1), &(&subject.name, self));
            same(
                &stream.clone_dtoh(&source).unwrap(),
                &guarded(&input, self.shifts.0),
                &("input", &subject.name, self),
            );
        }
    }
}

fn same(actual: &[u8], expected: &[u8], what: &dyn std::fmt::Debug) {
    assert_eq!(actual.len(), expected.len());
    let difference = actual.iter().zip(expected).position(|(a, e)| a != e);
    assert!(difference.is_none(), "{what:?}: byte {} of the buffer is wrong", difference.unwrap_or(0));
}

/// Lengths around every edge: block, lane, warp, thread block; and some MiB.
fn lengths() -> Vec<usize> {
    let around = |n: usize| [n - 17, n - 16, n - 1, n, n + 1, n + 16, n + 17];
    let mut lengths = vec![0, 1, 15, 16, 17, 31, 32, 33, 511, 512, 513];
    lengths.extend([WARPS[0], WARPS[1], STAGED, GROUPS[1]].into_iter().flat_map(around));
    if !small() {
        lengths.extend(around(2 * GROUP));
        lengths.extend([(5 << 20) - 1, (3 << 20) + 16 * 1025]);
    }
    lengths
}

/// How many of this number of bytes a mode takes.
fn takes(mode: Mode, bytes: usize) -> usize {
    AnyOperation::of(mode, 0, 0).takes(bytes)
}

/// The edges, alignments, counters and offsets, alternating.
fn calls(mode: Mode) -> impl Iterator<Item = Call> {
    const SHIFTS: [(usize, usize); 7] = [(0, 0), (1, 1), (0, 8), (8, 0), (3, 14), (15, 4), (4, 4)];
    const COUNTERS: [u128; 7] =
        [0, u128::MAX - 2, (1 << 32) - 3, (1 << 64) - 3, (1 << 96) - 3, u128::MAX / 3, (1 << 127) - 3];
    const OFFSETS: [u64; 9] = [0, 1, 5, 15, 16, 17, 511, (1 << 36) + 3, u64::MAX - (1 << 30)];
    let cases = lengths().into_iter().enumerate().flat_map(|(i, len)| {
        // Calls that take the reference long run with fewer alignments.
        let shifts = SHIFTS.into_iter().enumerate().filter(move |(j, _)| len < 1 << 20 || j % 3 == 0);
        shifts.flat_map(move |(j, shifts)| [false, true].map(|in_place| (i, j, len, shifts, in_place)))
    });
    cases.map(move |(i, j, len, shifts, in_place)| Call {
        mode,
        len: takes(mode, len),
        shifts,
        in_place,
        counter: COUNTERS[(3 * i + j) % COUNTERS.len()],
        offset: OFFSETS[(i + 2 * j) % OFFSETS.len()],
    })
}

fn check_edges(engine: &Engine, subjects: &[Subject]) {
    let stream = stream(engine);
    for subject in subjects {
        for &mode in &subject.modes {
            calls(mode).for_each(|call| call.check(subject, &stream));
        }
    }
}

/// The bitsliced kernels, the table kernels, and both side by side.
fn stored_kernels_at_every_edge(gpus: &'static [Engine]) {
    for gpu in gpus {
        check_edges(gpu, &stored(gpu));
    }
}

fn baked_kernels_at_every_edge() {
    check_edges(gpu(), &baked(gpu()));
}

fn published_kernels_at_every_edge() {
    let fetched = COMPLETE.map(KernelSpec::hajihassani_2019);
    // Without staging, threads without data reach the barriers of the keys.
    let direct = KernelSpec::planes_in_memory(Mode::EcbEncrypt, &sbox::CANRIGHT).published();
    let kernels = fetched.into_iter().chain([direct]).filter_map(|spec| print(spec, Dialect::Cuda));
    check_edges(gpu(), &printed(gpu(), kernels, small()));
}

/// The preset with keys of each length in it, which alternate in the small tests, and as it is stored.
fn presets_at_every_edge() {
    let subject = |mode: Mode, key: Vec<u8>, kernel: &Printed| {
        let name = format!("{}, {} bits", kernel.manifest.kernel, 8 * key.len());
        let cipher = gpu().cipher_of(&Key::new(&key).unwrap(), kernel).unwrap_or_else(|e| panic!("{name}: {e}"));
        Subject { name, cipher, reference: Reference::new(&key), modes: vec![mode], choice: None }
    };
    let modes = Preset::ALL.into_iter().flat_map(|preset| preset.modes().iter().map(move |&mode| (preset, mode)));
    let fresh = modes.enumerate().flat_map(|(i, (preset, mode))| {
        let lengths = KeyBits::ALL.into_iter().enumerate().filter(move |(k, _)| !small() || *k == i % 3);
        lengths.map(move |(_, bits)| (mode, key_bytes(bits), preset.spec(mode, &key_bytes(bits)).unwrap()))
    });
    let stored = PUBLISHED_KERNELS.iter().map(|stored| {
        let manifest = <Manifest>::parse(stored.manifest).unwrap();
        let source = stored.source.to_string().into();
        (manifest.mode().unwrap(), PUBLISHED_KEY.to_vec(), Printed { source, manifest })
    });
    let fresh = fresh.map(|(mode, key, spec)| (mode, key, print(spec, Dialect::Cuda).unwrap()));
    let subjects = in_threads(fresh.chain(stored), |(mode, key, kernel)| subject(mode, key, &kernel));
    check_edges(gpu(), &subjects);
}

/// Kernels that are not allowed, or do not exist, are refused and change nothing: table kernels must be requested, and blocks of
/// CBC are chained, so that its data cannot be shared between two kernels.
fn kernels_that_are_refused(gpus: &'static [Engine]) {
    let contents = noise(2, 2 << 20);
    let (ctr, cbc) = (|offset| Ctr::new(&counter([0; 16]), offset), CbcDecrypt::new(&[3; 16]));
    for gpu in gpus {
        let stream = stream(gpu);
        let cipher = gpu.cipher(&Key::new(&[7; 16]).unwrap()).unwrap();
        let (mut data, mut other) = (stream.clone_htod(&contents).unwrap(), stream.clone_htod(&contents).unwrap());
        for choice in ["bitsliced", "tbox", "co-resident:240"].map(|choice| choice.parse::<Choice>().unwrap()) {
            let device = || cipher.device().unwrap().by(choice);
            let mut refusals = Vec::new();
            if !gpu.kernels().allow(choice) {
                refusals.extend(Mode::OF_ONE_KEY.map(|mode| device().prepare(mode)));
                refusals.extend([
                    device().run(&stream, Ecb::encrypt(), &mut data),
                    device().run(&stream, Ecb::decrypt(), &mut data),
                    device().run(&stream, Ecb::encrypt(), (&data, &mut other)),
                    device().run(&stream, Ecb::decrypt(), (&data, &mut other)),
                    device().run(&stream, ctr(0), &mut data),
                    device().run(&stream, ctr(5), (&data, &mut other)),
                    // Not whole blocks, which may be several launches.
                    device().run(&stream, ctr(5), &mut data.slice_mut(3..)),
                ]);
            }
            if !gpu.kernels().allow(choice) || !has_mode(gpu, Mode::CbcDecrypt) {
                refusals.extend([
                    device().prepare(Mode::CbcDecrypt),
                    device().run(&stream, cbc, &mut data),
                    device().run(&stream, cbc, (&data, &mut other)),
                ]);
            }
            for (i, refused) in refusals.iter().enumerate() {
                assert!(matches!(refused, Err(Error::NoSuchKernel { .. })), "{choice}, call {i}: {refused:?}");
            }
        }
        if !has_mode(gpu, Mode::CbcDecrypt) {
            refused!(cipher.device().unwrap().prepare(Mode::CbcDecrypt), Error::NoSuchKernel { .. });
            let mut in_host_memory = contents.clone();
            let refused = cipher.cbc_decrypt(&[3; 16], &mut in_host_memory);
            assert!(matches!(refused, Err(Error::NoSuchKernel { .. })), "{refused:?}");
            same(&in_host_memory, &contents, &(name(gpu), "refused in host memory"));
        }
        same(&stream.clone_dtoh(&data).unwrap(), &contents, &(name(gpu), "refused in place"));
        same(&stream.clone_dtoh(&other).unwrap(), &contents, &(name(gpu), "refused to another buffer"));
    }
}

/// The table kernels of the papers, and the one without bank conflicts with one table, which this device may not choose by itself.
fn published_table_kernels_at_every_edge() {
    let one_table = Mode::OF_ONE_KEY.into_iter().filter_map(|mode| ConflictFree::new(mode, TableCount::One));
    let one_table = one_table.filter_map(|spec| print(spec, Dialect::Cuda));
    // In the small tests, some.
    let papers = TableSpec::papers().into_iter().step_by(if small() { 5 } else { 1 }).map(|spec| spec.print("a test"));
    check_edges(gpu(), &printed(gpu(), one_table.chain(papers), true));
}

/// If round keys are in device memory, they stay there until the launches that read them complete.
fn keys_in_memory_outlive_their_launches() {
    let gpu = gpu();
    let (key, contents) = (key_bytes(KeyBits::Aes256), noise(6, if small() { 1 << 16 } else { 16 << 20 }));
    let (stream, reference) = (stream(gpu), Reference::new(&key));
    let mut data = stream.clone_htod(&contents).unwrap();
    let kernel = print(KernelSpec::hajihassani_2019(Mode::Ctr), Dialect::Cuda).unwrap();
    let cipher = gpu.cipher_of(&Key::new(&key).unwrap(), &kernel).unwrap();
    let ctr = Ctr::new(&counter([0xff; 16]), 0);
    // An odd number of times: equivalent to once.
    for _ in 0..101 {
        cipher.device().unwrap().run(&stream, ctr, &mut data).unwrap();
    }
    drop(cipher);
    same(&stream.clone_dtoh(&data).unwrap(), &reference.ctr([0xff; 16], 0, &contents), &"the last launches");
}

/// A kernel may begin while earlier work on its stream is still running: many small calls in place, each of which needs the output
/// of the one before, whole and by bytes, with other kernels, copies and a caller's clearing in between.
fn calls_that_overlap(gpu: &Engine) {
    let (cipher, cpu, _) = gpu_and_cpu(gpu, 1);
    let (device, stream) = (cipher.device().unwrap(), stream(gpu));
    for len in [16, 4096, (1 << 20) + 48, (9 << 20) + 7] {
        let contents = noise(3, len);
        let mut expected = contents.clone();
        let (mut data, mut other) = (stream.clone_htod(&contents).unwrap(), stream.alloc_zeros::<u8>(len).unwrap());
        for turn in 0..60u64 {
            let counter = Counter::new(CounterMode::Ctr128BE, ((1u128 << 32) - u128::from(turn * 7)).to_be_bytes());
            match turn % 12 {
                5 => {
                    let whole = len / 16 * 16;
                    device.run(&stream, Ecb::encrypt(), &mut data.slice_mut(..whole)).unwrap();
                    cpu.ecb_encrypt(&mut expected[..whole]).unwrap();
                }
                8 => {
                    stream.memcpy_dtod(&data, &mut other).unwrap();
                    stream.memset_zeros(&mut data).unwrap();
                    stream.memcpy_dtod(&other, &mut data).unwrap();
                }
                9 => {
                    let offset = turn + 3;
                    device.run(&stream, Ctr::new(&counter, offset), (&data, &mut other)).unwrap();
                    cpu.ctr_apply(&counter, offset, &mut expected).unwrap();
                    std::mem::swap(&mut data, &mut other);
                }
                _ => {
                    let offset = turn % 3 * 5;
                    device.run(&stream, Ctr::new(&counter, offset), &mut data).unwrap();
                    cpu.ctr_apply(&counter, offset, &mut expected).unwrap();
                }
            }
        }
        assert!(stream.clone_dtoh(&data).unwrap() == expected, "{len} bytes");
    }
}

/// Every kernel with every share that `tune` may find fastest, on a few sizes, some of which give shares of several tiles.
fn every_choice() {
    let gpu = gpu();
    let stream = stream(gpu);
    let choices = Choice::candidates(4 << 30);
    let sizes: &[usize] = if small() { &[16, 70_000] } else { &[16, 70_000, (9 << 20) + 16 * 77, 34 << 20] };
    let any = gpu.clone().with_kernels(Kernels::AutoAny);
    let (mut subject, mut tried) = (stored(&any).remove(0), 0);
    for choice in choices {
        subject.choice = Some(choice);
        subject.name = format!("choice {choice}");
        for mode in Mode::OF_ONE_KEY {
            match subject.cipher.device().unwrap().by(choice).prepare(mode) {
                Err(Error::NoSuchKernel { .. }) if !Kernels::Auto.allow(choice) => continue,
                prepared => prepared.unwrap(),
            }
            for (i, &len) in sizes.iter().enumerate() {
                let call =
                    Call { mode, len, shifts: (0, 0), in_place: i % 2 == 0, counter: u128::MAX - 999, offset: 0 };
                call.check(&subject, &stream);
                Call { shifts: (i, i + 1), in_place: i % 2 == 1, ..call }.check(&subject, &stream);
                tried += 1;
            }
        }
    }
    assert!(
        tried >= 7 * Mode::OF_ONE_KEY.len() * sizes.len(),
        "the bitsliced kernel at least, with all its geometries"
    );
}

/// Opened as `auto`, an engine computes equal output on CPU and GPU, and says where a call goes.
fn auto_goes_to_either_engine() {
    let gpu = gpu();
    let auto = Engine::open(Backend::Auto).unwrap();
    let key = key_bytes(KeyBits::Aes128);
    let (cipher, reference) = (auto.cipher(&Key::new(&key).unwrap()).unwrap(), Reference::new(&key));
    let tuning = auto.tuning().unwrap();
    for len in [16, 1 << 20] {
        let from = tuning.cuda_from(Mode::EcbEncrypt, KeyBits::Aes128);
        let expected = if from.is_some_and(|from| len >= from) { gpu.backend() } else { Backend::Cpu };
        assert_eq!(auto.backend_for(Mode::EcbEncrypt, KeyBits::Aes128, len), expected);
        assert_eq!(gpu.backend_for(Mode::EcbEncrypt, KeyBits::Aes128, len), gpu.backend());
        let input = noise(1, len as usize);
        let mut data = input.clone();
        cipher.ecb_encrypt(&mut data).unwrap();
        same(&data, &reference.ecb(Direction::Encrypt, &input), &"auto");
    }
    // Data on the device stays there.
    cipher.device().unwrap().prepare(Mode::Ctr).unwrap();
}

/// All 256 pairs of alignments, with every offset into a block.
fn every_alignment() {
    let gpu = gpu();
    let (stream, subjects) = (stream(gpu), stored(gpu));
    for shift in 0..256 {
        let shifts = (shift % 16, shift / 16);
        let call = Call {
            mode: Mode::Ctr,
            len: 700 + shift,
            shifts,
            in_place: false,
            counter: u128::MAX - 7,
            offset: (shift * 7 % 16) as u64,
        };
        call.check(&subjects[0], &stream);
        for mode in Mode::OF_ONE_KEY.into_iter().filter(|&mode| takes(mode, 1) == 0) {
            Call { mode, len: 704, ..call.clone() }.check(&subjects[0], &stream);
        }
        // Several thread blocks, and so blocks that are kept for them.
        let (mode, len, in_place) = (Mode::CbcDecrypt, 3 * GROUPS[0] + 16 * shift, shift % 2 == 0);
        Call { mode, len, in_place, ..call.clone() }.check(&subjects[0], &stream);
    }
}

fn calls_at_random(gpu: &Engine) {
    let (stream, subjects) = (stream(gpu), stored(gpu));
    let cases = if gpu.kernels() == Kernels::Auto { 300 } else { 150 };
    proptest!(random(cases), |(
        which in 0usize..3, mode in prop::sample::select(modes_of(gpu)), len in 0usize..400_000,
        shifts in (0usize..16, 0usize..16), in_place: bool, counter: u128, near_wrap: bool, offset: u64,
    )| {
        let len = takes(mode, len);
        let counter = if near_wrap { u128::MAX - counter % 30_000 } else { counter };
        Call { mode, len, shifts, in_place, counter, offset }.check(&subjects[which], &stream);
    });
}

/// Refused narrow counters, lengths and modes change nothing.
fn refusals_change_nothing() {
    let gpu = gpu();
    let stream = stream(gpu);
    let cipher = gpu.cipher(&Key::new(&[7; 16]).unwrap()).unwrap();
    let device = cipher.device().unwrap();
    let contents = noise(1, 100);
    let mut data = stream.clone_htod(&contents).unwrap();
    let mut other = stream.clone_htod(&contents[..96]).unwrap();
    let narrow = Ctr::new(&Counter::new(CounterMode::Ctr32BE, [0xff; 16]), 0);
    let wide = Ctr::new(&counter([0xff; 16]), 0);
    let (ecb, cbc) = (Ecb::encrypt(), CbcDecrypt::new(&[3; 16]));

    for refused in [device.run(&stream, ecb, &mut data), device.run(&stream, cbc, &mut data)] {
        assert!(matches!(refused, Err(Error::NotWholeBlocks { len: 100 })), "{refused:?}");
    }
    for refused in [
        device.run(&stream, ecb, (&data, &mut other)),
        device.run(&stream, cbc, (&data, &mut other)),
        device.run(&stream, wide, (&data, &mut other)),
    ] {
        assert!(matches!(refused, Err(Error::LengthMismatch { input: 100, output: 96 })), "{refused:?}");
    }
    refused!(device.run(&stream, narrow, &mut data), Error::CounterOverflow { .. });
    refused!(device.run(&stream, CbcEncrypt::new(&[3; 16]), &mut other), Error::Unsupported { .. });
    {
        let foreign = CudaContext::new_non_primary(0, 0).unwrap().new_stream().unwrap();
        let refused = device.run(&foreign, wide, &mut data);
        assert!(matches!(refused, Err(Error::OtherContext)), "{refused:?}");
    }
    gpu.cuda_context().unwrap().bind_to_thread().unwrap();
    let (pointer, guard) = data.device_ptr(&stream);
    // SAFETY: both ranges are in `data`, which is alive; the call must be refused.
    let refused = unsafe { device.run_raw(stream.cu_stream(), wide, pointer, pointer + 16, 64) };
    assert!(matches!(refused, Err(Error::Overlap)), "{refused:?}");
    // SAFETY: both ranges are in `data`, which is alive; the call must be refused.
    let refused = unsafe { device.run_raw(stream.cu_stream(), ecb, pointer + 16, pointer, 64) };
    assert!(matches!(refused, Err(Error::Overlap)), "{refused:?}");
    // SAFETY: both ranges are in `data`, which is alive; the call must be refused.
    refused!(unsafe { device.run_raw(stream.cu_stream(), cbc, pointer + 16, pointer, 64) }, Error::Overlap);
    drop(guard);

    assert_eq!(stream.clone_dtoh(&data).unwrap(), contents);
    assert_eq!(stream.clone_dtoh(&other).unwrap(), contents[..96]);

    refused!(Engine::open(Backend::Cuda { ordinal: 4096 }), Error::NoSuchDevice { ordinal: 4096, .. });
}

/// Raw pointers and a raw stream; parts of one buffer side by side.
fn raw_pointers() {
    let gpu = gpu();
    let (stream, key) = (stream(gpu), key_bytes(KeyBits::Aes256));
    let cipher = gpu.cipher(&Key::new(&key).unwrap()).unwrap();
    let (device, reference) = (cipher.device().unwrap(), Reference::new(&key));
    let contents = noise(3, 4096);
    let data = stream.clone_htod(&contents).unwrap();
    let block = [0xfe; 16];
    let (ctr, cbc) = (Ctr::new(&counter(block), 9), CbcDecrypt::new(&block));
    {
        let (pointer, _guard) = data.device_ptr(&stream);
        let stream = stream.cu_stream();
        // SAFETY: all ranges are in `data`, which lives until the stream is waited for below.
        unsafe {
            device.run_raw(stream, Ecb::encrypt(), pointer, pointer, 1024).unwrap();
            device.run_raw(stream, ctr, pointer + 1024, pointer + 2048, 1024).unwrap();
            device.run_raw(stream, ctr, 0, 0, 0).unwrap();
            device.run_raw(stream, cbc, pointer + 3072, pointer + 3072, 1024).unwrap();
            device.run_raw(stream, cbc, 0, 0, 0).unwrap();
        }
    }
    let mut expected = reference.ecb(Direction::Encrypt, &contents[..1024]);
    expected.extend(&contents[1024..2048]);
    expected.extend(reference.ctr(block, 9, &contents[1024..2048]));
    expected.extend(reference.cbc(Direction::Decrypt, block, &contents[3072..]));
    same(&stream.clone_dtoh(&data).unwrap(), &expected, &"raw pointers");
}

/// Calls run on the caller's stream in order, several streams at the same time, and the cipher need not live until they complete.
fn streams_of_the_caller(gpu: &Engine) {
    let reference = Reference::new(&[1; 24]);
    let contents = noise(4, 200_000);
    let block = [0x11; 16];
    let mut running = Vec::new();
    for i in 0..4u64 {
        let stream = stream(gpu);
        let mut data = stream.clone_htod(&contents).unwrap();
        let cipher = gpu.cipher(&Key::new(&[1; 24]).unwrap()).unwrap();
        let device = cipher.device().unwrap();
        device.run(&stream, Ecb::encrypt(), &mut data).unwrap();
        device.run(&stream, Ctr::new(&counter(block), i), &mut data).unwrap();
        if has_mode(gpu, Mode::CbcDecrypt) {
            device.run(&stream, CbcDecrypt::new(&block), &mut data).unwrap();
        }
        drop(cipher);
        running.push((stream, data, i));
    }
    let encrypted = reference.ecb(Direction::Encrypt, &contents);
    for (stream, data, i) in running {
        let mut expected = reference.ctr(block, i, &encrypted);
        if has_mode(gpu, Mode::CbcDecrypt) {
            expected = reference.cbc(Direction::Decrypt, block, &expected);
        }
        same(&stream.clone_dtoh(&data).unwrap(), &expected, &(name(gpu), "stream", i));
    }
}

/// The other GPUs, each with its own engine.
fn every_device() {
    let (first, key) = (gpu(), key_bytes(KeyBits::Aes128));
    for device in devices().unwrap().iter().skip(1) {
        let engine = Engine::open(Backend::Cuda { ordinal: device.ordinal }).unwrap();
        let cipher = engine.cipher(&Key::new(&key).unwrap()).unwrap();
        let name = engine.description();
        let subject =
            Subject { name, cipher, reference: Reference::new(&key), modes: Mode::OF_ONE_KEY.to_vec(), choice: None };
        let own = stream(&engine);
        for mode in Mode::OF_ONE_KEY {
            calls(mode).filter(|call| call.len < 2 * WARP).for_each(|call| call.check(&subject, &own));
        }
        // Streams and buffers of another device's context are refused, and nothing is changed.
        let (foreign, device) = (stream(first), subject.cipher.device().unwrap());
        let contents = noise(5, 64);
        let (mut ours, mut theirs) = (own.clone_htod(&contents).unwrap(), foreign.clone_htod(&contents).unwrap());
        let (ecb, cbc, ctr) = (Ecb::encrypt(), CbcDecrypt::new(&[3; 16]), Ctr::new(&counter([0; 16]), 0));
        let refusals = [
            device.run(&foreign, ecb, &mut theirs),
            device.run(&foreign, ecb, &mut ours),
            device.run(&own, ecb, &mut theirs),
            device.run(&own, ecb, (&theirs, &mut ours)),
            device.run(&own, ecb, (&ours, &mut theirs)),
            device.run(&foreign, cbc, &mut ours),
            device.run(&own, cbc, &mut theirs),
            device.run(&own, cbc, (&theirs, &mut ours)),
            device.run(&own, cbc, (&ours, &mut theirs)),
            device.run(&own, ctr, &mut theirs),
            device.run(&own, ctr, (&theirs, &mut ours)),
            device.run(&own, ctr, (&ours, &mut theirs)),
        ];
        for (i, refused) in refusals.iter().enumerate() {
            assert!(matches!(refused, Err(Error::OtherContext)), "call {i}: {refused:?}");
        }
        same(&own.clone_dtoh(&ours).unwrap(), &contents, &"refused on our device");
        same(&foreign.clone_dtoh(&theirs).unwrap(), &contents, &"refused on the other device");
    }
}

/// One cipher, many threads, data in host and in device memory.
fn many_threads(gpus: &'static [Engine]) {
    for gpu in gpus {
        let subject = &stored(gpu)[1];
        std::thread::scope(|scope| {
            for thread in 0..8usize {
                scope.spawn(move || many_calls(thread, subject, &stream(gpu)));
            }
        });
    }
}

fn many_calls(thread: usize, subject: &Subject, stream: &Arc<CudaStream>) {
    for round in 0..if small() { 1 } else { 12 } {
        let (len, counter) = (1000 * thread + 7777 * round, u128::MAX - round as u128);
        let mode = Mode::Ctr;
        let call = Call { mode, len, shifts: (0, thread), in_place: round % 2 == 0, counter, offset: 3 };
        call.check(subject, stream);
        for &mode in &subject.modes {
            // Enough for both of two co-resident kernels.
            let len = len / 16 * 16 + (round % 4) * (64 << 10);
            Call { mode, len, ..call.clone() }.check(subject, stream);
        }
        let mut data = noise(round as u64, len);
        let expected = subject.reference.ctr(counter.to_be_bytes(), 5, &data);
        subject.cipher.ctr_apply(&self::counter(counter.to_be_bytes()), 5, &mut data).unwrap();
        same(&data, &expected, &("thread", thread, "host memory"));
    }
}

/// More host memory than one chunk, against the CPU engine, which is itself tested against the reference.
fn host_memory_in_chunks(gpu: &Engine) {
    let (cipher, cpu, counter) = gpu_and_cpu(gpu, 1_000_000);
    let mut cases = vec![(64 << 20, 0), ((64 << 20) - 5, 5), ((64 << 20) + 1, 15), ((200 << 20) + 77, 12_345)];
    if is_set(LARGE) {
        cases.push(((4 << 30) + 33, 7));
    }
    for (len, offset) in cases {
        let mut expected = vec![0x42; len];
        let mut data = expected.clone();
        cpu.ctr_apply(&counter, offset, &mut expected).unwrap();
        let mut output = vec![POISON; len];
        cipher.ctr_apply_to(&counter, offset, &data, &mut output).unwrap();
        assert!(output == expected, "CTR, {len} bytes from {offset}");
        cipher.ctr_apply(&counter, offset, &mut data).unwrap();
        assert!(data == expected, "CTR in place, {len} bytes from {offset}");
        let whole = len / 16 * 16;
        cpu.ecb_encrypt(&mut expected[..whole]).unwrap();
        cipher.ecb_encrypt(&mut data[..whole]).unwrap();
        assert!(data == expected, "ECB, {whole} bytes");
        cipher.ecb_decrypt(&mut data[..whole]).unwrap();
        assert!(data == output, "ECB decryption, {whole} bytes");
        if !has_mode(gpu, Mode::CbcDecrypt) {
            continue;
        }
        let (data, expected) = (&mut data[..whole], &mut expected[..whole]);
        cpu.cbc_decrypt_to(&[9; 16], data, expected).unwrap();
        cipher.cbc_decrypt_to(&[9; 16], data, &mut output[..whole]).unwrap();
        assert!(output[..whole] == *expected, "CBC decryption, {whole} bytes");
        cipher.cbc_decrypt(&[9; 16], data).unwrap();
        assert!(data == expected, "CBC decryption in place, {whole} bytes");
    }
}

/// A baked kernel from files, and errors in others.
fn baked_kernels_from_files() {
    let gpu = gpu();
    let key = key_bytes(KeyBits::Aes128);
    let folder = tempfile::tempdir().unwrap();
    let baked = |key: &[u8]| {
        let spec = KernelSpec::baked(Mode::Ctr, &sbox::LUT3, key).unwrap();
        print(spec, Dialect::Cuda).unwrap()
    };
    let printed = baked(&key);
    let (source, manifest) = (printed.source, printed.manifest.to_json());
    let (path, source_path) = (folder.path().join("kernel.json"), folder.path().join(&printed.manifest.source));
    let write = |manifest: &str, source: &str| {
        std::fs::write(&path, manifest).unwrap();
        std::fs::write(&source_path, source).unwrap();
    };

    write(&manifest, &source);
    let cipher = gpu.load_baked(&path).unwrap();
    let subject =
        Subject { name: "file".into(), cipher, reference: Reference::new(&key), modes: vec![Mode::Ctr], choice: None };
    calls(Mode::Ctr).filter(|call| call.len < 2 * WARP).for_each(|call| call.check(&subject, &stream(gpu)));
    let mut data = noise(1, 64);
    refused!(subject.cipher.ecb_encrypt(&mut data), Error::NotInKernel { .. });
    refused!(subject.cipher.cbc_encrypt(&[0; 16], &mut data), Error::NeedsKey { .. });
    assert_eq!(data, noise(1, 64));

    let refused = |what: &str| match gpu.load_baked(&path) {
        Err(error) => error,
        Ok(_) => panic!("{what} was accepted"),
    };
    write(&manifest, &source.replacen("0x", "0X", 1));
    assert!(matches!(refused("a changed source"), Error::BadManifest { .. }));
    let format = |version: u32| format!("\"format\": {version}");
    assert!(manifest.contains(&format(FORMAT)));
    write(&manifest.replace(&format(FORMAT), &format(FORMAT - 1)), &source);
    assert!(matches!(refused("another format"), Error::BadManifest { .. }));
    let mut swapped = printed.manifest.clone();
    swapped.entries.get_mut(&Entry::Blocks).unwrap().parameters.swap(0, 1);
    write(&swapped.to_json(), &source);
    assert!(matches!(refused("another order of parameters"), Error::BadManifest { .. }));
    write("{", &source);
    assert!(matches!(refused("half a manifest"), Error::BadManifest { .. }));
    // The manifest of another key's kernel, with this one's source: only the known answer can tell.
    let other = baked(&[9; 16]).manifest;
    write(&Manifest { source_sha256: digest::of_text(&source), ..other }.to_json(), &source);
    assert!(matches!(refused("another key's kernel"), Error::SelfTestFailed { .. }));
    std::fs::remove_file(&source_path).unwrap();
    assert!(matches!(refused("no source"), Error::BadManifest { .. }));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(refused("no manifest"), Error::BadManifest { .. }));
}

/// Kernels of two presets in one folder, with a key in each and both loaded at a time, and one that is given the key.
fn presets_from_files() {
    let gpu = gpu();
    let key = key_bytes(KeyBits::Aes128);
    let folder = tempfile::tempdir().unwrap();
    let path = |preset: Preset| {
        let mut printed = print(preset.spec(Mode::Ctr, &key).unwrap(), Dialect::Cuda).unwrap();
        let stem = preset.file_stem(Mode::Ctr, Some(KeyBits::Aes128));
        printed.manifest.source = format!("{stem}.cu");
        std::fs::write(folder.path().join(&printed.manifest.source), &*printed.source).unwrap();
        let path = folder.path().join(format!("{stem}.json"));
        std::fs::write(&path, printed.manifest.to_json()).unwrap();
        path
    };
    let [published, fast, fetched] = [Preset::default(), Preset::Fast, Preset::Hajihassani2019Fetched].map(path);
    assert!(gpu.design_of_baked(&fast).unwrap().contains("is of the design that is fastest"));
    assert!(gpu.design_of_baked(&published).unwrap().contains("`cargo xtask gen --key @FILE --preset fast`"));
    refused!(gpu.load_baked(&fetched), Error::BadManifest { .. });
    let of_key = Key::new(&key).unwrap();
    let ciphers = [gpu.load_baked(&published), gpu.load_baked(&fast), gpu.load_kernel(&fetched, &of_key)];
    for (name, cipher) in ["published", "fast", "fetched"].into_iter().zip(ciphers) {
        let (name, cipher, reference) = (name.into(), cipher.unwrap(), Reference::new(&key));
        let subject = Subject { name, cipher, reference, modes: vec![Mode::Ctr], choice: None };
        calls(Mode::Ctr).filter(|call| call.len < 2 * WARP).for_each(|call| call.check(&subject, &stream(gpu)));
    }
    refused!(gpu.load_kernel(&published, &Key::new(&[9; 16]).unwrap()), Error::NoSuchKernel { .. });
}

/// A manifest that does not list the parameters of an entry point, name by name and in order, is refused.
fn wrong_parameter_lists() {
    let key = Key::new(&key_bytes(KeyBits::Aes128)).unwrap();
    let Printed { source, manifest } = print(KernelSpec::planes(Mode::Ctr, &sbox::LUT3), Dialect::Cuda).unwrap();
    for entry in manifest.entries.keys() {
        let mut wrong = manifest.clone();
        wrong.entries.get_mut(entry).unwrap().parameters.swap(2, 3);
        let refused = gpu().cipher_of(&key, &Printed { source: source.clone(), manifest: wrong });
        assert!(matches!(refused, Err(Error::NoSuchKernel { .. })), "{refused:?}");
    }
    gpu().cipher_of(&key, &Printed { source, manifest }).unwrap();
}

/// A key on the GPU and, for comparison, on the CPU engine, and a counter that wraps after `blocks`.
fn gpu_and_cpu(gpu: &Engine, blocks: u128) -> (Cipher, Cipher, Counter) {
    let key = Key::new(&key_bytes(KeyBits::Aes256)).unwrap();
    let cpu = Engine::open(Backend::Cpu).unwrap().cipher(&key).unwrap();
    let counter = Counter::new(CounterMode::Ctr128BE, 0u128.wrapping_sub(blocks).to_be_bytes());
    (gpu.cipher(&key).unwrap(), cpu, counter)
}

/// Compares device memory, from byte `from` of `data` on, with the expected bytes.
fn compare(
    stream: &Arc<CudaStream>,
    data: &CudaSlice<u8>,
    from: usize,
    pieces: &[Range<usize>],
    expected: impl Fn(Range<usize>) -> Vec<u8>,
) {
    for piece in pieces {
        let actual = stream.clone_dtoh(&data.slice(from + piece.start..from + piece.end)).unwrap();
        stream.synchronize().unwrap();
        assert!(actual == expected(piece.clone()), "bytes {piece:?}");
    }
}

/// The CBC decryption of a piece, given the bytes of any piece of the ciphertext.
fn chained(cpu: &Cipher, iv: &[u8; 16], ciphertext: impl Fn(Range<usize>) -> Vec<u8>, piece: Range<usize>) -> Vec<u8> {
    let previous = match piece.start {
        0 => *iv,
        start => ciphertext(start - 16..start).try_into().unwrap(),
    };
    let mut bytes = ciphertext(piece);
    cpu.cbc_decrypt(&previous, &mut bytes).unwrap();
    bytes
}

/// Held by a test that takes most of a GPU's memory.
static MEMORY: Mutex<()> = Mutex::new(());

/// Every byte of buffers of more than 4 GiB, through both entry points of every mode.
fn above_4_gib(gpu: &Engine) {
    const LEN: usize = (4 << 30) + (3 << 20) + 5;
    const WHOLE: usize = LEN / 16 * 16;
    const OFFSET: u64 = 7;
    let pieces =
        |len: usize| -> Vec<_> { (0..len).step_by(256 << 20).map(|at| at..len.min(at + (256 << 20))).collect() };
    let (cipher, cpu, counter) = gpu_and_cpu(gpu, 12_345_678);
    let (device, stream) = (cipher.device().unwrap(), stream(gpu));
    let applied = |mut bytes: Vec<u8>, at: u64| {
        cpu.ctr_apply(&counter, at, &mut bytes).unwrap();
        bytes
    };
    let encrypted = |mut bytes: Vec<u8>| {
        cpu.ecb_encrypt(&mut bytes).unwrap();
        bytes
    };

    let mut data = stream.alloc_zeros::<u8>(LEN).unwrap();
    device.run(&stream, Ctr::new(&counter, OFFSET), &mut data).unwrap();
    let once = |piece: Range<usize>| applied(vec![0; piece.len()], OFFSET + piece.start as u64);
    compare(&stream, &data, 0, &pieces(LEN), once);
    device.run(&stream, Ecb::encrypt(), &mut data.slice_mut(..WHOLE)).unwrap();
    compare(&stream, &data, 0, &pieces(WHOLE), |piece| encrypted(once(piece)));
    device.run(&stream, Ecb::decrypt(), &mut data.slice_mut(..WHOLE)).unwrap();
    compare(&stream, &data, 0, &pieces(LEN), once);

    // One byte off.
    let mut other = stream.alloc_zeros::<u8>(1 + LEN).unwrap();
    device.run(&stream, Ctr::new(&counter, 99), (&data, &mut other.slice_mut(1..))).unwrap();
    let twice = |piece: Range<usize>| applied(once(piece.clone()), 99 + piece.start as u64);
    compare(&stream, &other, 1, &pieces(LEN), twice);
    device.run(&stream, Ecb::encrypt(), &mut other.slice_mut(1..1 + WHOLE)).unwrap();
    compare(&stream, &other, 1, &pieces(WHOLE), |piece| encrypted(twice(piece)));
    device.run(&stream, Ecb::decrypt(), &mut other.slice_mut(1..1 + WHOLE)).unwrap();
    compare(&stream, &other, 1, &pieces(LEN), twice);

    if !has_mode(gpu, Mode::CbcDecrypt) {
        return;
    }
    let iv = [0xd1; 16];
    device.run(&stream, CbcDecrypt::new(&iv), &mut other.slice_mut(1..1 + WHOLE)).unwrap();
    compare(&stream, &other, 1, &pieces(WHOLE), |piece| chained(&cpu, &iv, twice, piece));
    device.run(&stream, CbcDecrypt::new(&iv), (&data.slice(..WHOLE), &mut other.slice_mut(..WHOLE))).unwrap();
    compare(&stream, &other, 0, &pieces(WHOLE), |piece| chained(&cpu, &iv, once, piece));
    device.run(&stream, CbcDecrypt::new(&iv), &mut data.slice_mut(..WHOLE)).unwrap();
    compare(&stream, &data, 0, &pieces(WHOLE), |piece| chained(&cpu, &iv, once, piece));
}

/// Sizes at which thread blocks take several tiles, with a counter whose last 32 bits wrap in one of them, aligned to a tile or
/// not.
fn shares_of_several_tiles(gpu: &Engine) {
    let (cipher, cpu, _) = gpu_and_cpu(gpu, 1);
    let (device, stream) = (cipher.device().unwrap(), stream(gpu));
    for (len, until_wrap, offset) in
        [((192 << 20) + 48, 5_000_003u128, 0), ((600 << 20) + 16 * 77, (1 << 16) + 1, 5), (256 << 20, 1 << 20, 0)]
    {
        let counter = Counter::new(CounterMode::Ctr128BE, ((7u128 << 32) - until_wrap).to_be_bytes());
        let mut expected = vec![0; len];
        cpu.ctr_apply(&counter, offset, &mut expected).unwrap();
        let mut data = stream.alloc_zeros::<u8>(len).unwrap();
        device.run(&stream, Ctr::new(&counter, offset), &mut data).unwrap();
        assert!(stream.clone_dtoh(&data).unwrap() == expected, "CTR, {len} bytes");
        cpu.ecb_encrypt(&mut expected).unwrap();
        device.run(&stream, Ecb::encrypt(), &mut data).unwrap();
        assert!(stream.clone_dtoh(&data).unwrap() == expected, "ECB, {len} bytes");
        if has_mode(gpu, Mode::CbcDecrypt) {
            let mut other = stream.alloc_zeros::<u8>(len).unwrap();
            cpu.cbc_decrypt(&[8; 16], &mut expected).unwrap();
            device.run(&stream, CbcDecrypt::new(&[8; 16]), (&data, &mut other)).unwrap();
            assert!(stream.clone_dtoh(&other).unwrap() == expected, "CBC, {len} bytes");
            stream.memcpy_dtod(&data, &mut other).unwrap();
            device.run(&stream, CbcDecrypt::new(&[8; 16]), &mut other).unwrap();
            assert!(stream.clone_dtoh(&other).unwrap() == expected, "CBC in place, {len} bytes");
        }
        device.run(&stream, Ecb::decrypt(), &mut data).unwrap();
        device.run(&stream, Ctr::new(&counter, offset), &mut data).unwrap();
        assert!(stream.clone_dtoh(&data).unwrap().iter().all(|&byte| byte == 0), "back, {len} bytes");
    }
}

/// More blocks than 32 bits count, checked in windows.
fn above_2_to_the_32_blocks(gpu: &Engine) {
    const LEN: usize = (64 << 30) + (1 << 20) + 48;
    let windows: Vec<_> = [0, 4 << 30, 32 << 30, 64 << 30, LEN]
        .map(|at: usize| at.saturating_sub(1 << 16)..LEN.min(at + (1 << 16)))
        .into();
    let (cipher, cpu, counter) = gpu_and_cpu(gpu, (1 << 32) + 5);
    let (device, stream) = (cipher.device().unwrap(), stream(gpu));
    let _alone = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(mut data) = stream.alloc_zeros::<u8>(LEN) else {
        say("Less than 64 GiB of device memory is free: a buffer of 2^32 blocks was not tested");
        return;
    };
    let applied = |piece: Range<usize>| {
        let mut bytes = vec![0; piece.len()];
        cpu.ctr_apply(&counter, piece.start as u64, &mut bytes).unwrap();
        bytes
    };
    device.run(&stream, Ctr::new(&counter, 0), &mut data).unwrap();
    compare(&stream, &data, 0, &windows, applied);
    device.run(&stream, Ecb::encrypt(), &mut data).unwrap();
    compare(&stream, &data, 0, &windows, |piece| {
        let mut bytes = applied(piece);
        cpu.ecb_encrypt(&mut bytes).unwrap();
        bytes
    });
    device.run(&stream, Ecb::decrypt(), &mut data).unwrap();
    compare(&stream, &data, 0, &windows, applied);
    if !has_mode(gpu, Mode::CbcDecrypt) {
        return;
    }
    device.run(&stream, CbcDecrypt::new(&[6; 16]), &mut data).unwrap();
    compare(&stream, &data, 0, &windows, |piece| chained(&cpu, &[6; 16], applied, piece));
}
