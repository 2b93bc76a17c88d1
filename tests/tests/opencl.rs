//! What only an OpenCL device answers: every kernel that the generator prints for it, calls on buffers of the caller's, and
//! errors. On a machine without one the tests pass and say that they did not run.
//!
//! Compilers for processors take seconds for a kernel, and most keep what they made: each kernel is asked all there is to ask.

use aes_bitslice_gen::emit::{self, Manifest};
use aes_bitslice_gen::kernel::{BakedStrategy, Design, KernelSpec, Mode};
use aes_bitslice_gen::layout::Layout;
use aes_bitslice_gen::sbox::LUT3;
use aes_bitslice_gen::table::{Bytewise, ConflictFree, TableCount};
use aes_bitslice_runtime::cuda::Kernels;
use aes_bitslice_runtime::opencl::opencl3::command_queue::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CommandQueue};
use aes_bitslice_runtime::opencl::opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use aes_bitslice_runtime::opencl::opencl3::types::CL_TRUE;
use aes_bitslice_runtime::opencl::{self, BufferCipher, BufferSlice, DeviceKind};
use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Direction, Engine, Error, Key, KeyBits, Transfers};
use aes_bitslice_tests::engines::{opencl, say};
use aes_bitslice_tests::reference::{Reference, noise};
use std::process::Command;
use std::{env, fs, ptr, thread};

const COUNTER: [u8; 16] = [0xff; 16];
const IV: [u8; 16] = [0x37; 16];

fn counter() -> Counter {
    Counter::new(CounterMode::Ctr128BE, COUNTER)
}

/// A key of so many bytes, and the reference with it.
fn key(len: usize) -> (Key, Reference) {
    let bytes = noise(len as u64, len);
    (Key::new(&bytes).unwrap(), Reference::new(&bytes))
}

/// What a mode makes of data, from `offset` bytes into the key stream on.
fn expected(reference: &Reference, mode: Mode, offset: u64, data: &[u8]) -> Vec<u8> {
    match mode {
        Mode::EcbEncrypt => reference.ecb(Direction::Encrypt, data),
        Mode::EcbDecrypt => reference.ecb(Direction::Decrypt, data),
        Mode::Ctr => reference.ctr(COUNTER, offset, data),
        Mode::CbcDecrypt => reference.cbc(Direction::Decrypt, IV, data),
    }
}

/// The same by a cipher, in place.
fn run(cipher: &Cipher, mode: Mode, offset: u64, data: &mut [u8]) -> Result<(), Error> {
    match mode {
        Mode::EcbEncrypt => cipher.ecb_encrypt(data),
        Mode::EcbDecrypt => cipher.ecb_decrypt(data),
        Mode::Ctr => cipher.ctr_apply(&counter(), offset, data),
        Mode::CbcDecrypt => cipher.cbc_decrypt(&IV, data),
    }
}

/// Buffers of the device.
struct Buffers<'e> {
    engine: &'e Engine,
    queue: CommandQueue,
}

impl<'e> Buffers<'e> {
    fn new(engine: &'e Engine) -> Self {
        Self { engine, queue: CommandQueue::create_default(engine.opencl_context().unwrap(), 0).unwrap() }
    }

    fn with(&self, bytes: &[u8]) -> Buffer<u8> {
        let context = self.engine.opencl_context().unwrap();
        // SAFETY: no memory of the host is involved.
        let mut buffer = unsafe { Buffer::create(context, CL_MEM_READ_WRITE, bytes.len(), ptr::null_mut()) }.unwrap();
        // SAFETY: waits until it is done.
        unsafe { self.queue.enqueue_write_buffer(&mut buffer, CL_TRUE, 0, bytes, &[]) }.unwrap();
        buffer
    }

    fn read(&self, buffer: &Buffer<u8>) -> Vec<u8> {
        let mut bytes = vec![0; buffer.size().unwrap()];
        // SAFETY: waits until it is done.
        unsafe { self.queue.enqueue_read_buffer(buffer, CL_TRUE, 0, &mut bytes, &[]) }.unwrap();
        bytes
    }

    /// A call on buffers: `data` at byte `from` of one to byte `to` of another or, if there is none, in place. Nothing else may
    /// change.
    fn run(
        &self,
        cipher: &BufferCipher<'_>,
        mode: Mode,
        offset: u64,
        data: &[u8],
        from: usize,
        to: Option<usize>,
    ) -> Vec<u8> {
        const AROUND: usize = 64;
        let room = vec![0xa5; data.len() + 2 * AROUND];
        let mut filled = room.clone();
        filled[from..from + data.len()].copy_from_slice(data);
        let input = self.with(&filled);
        let other = to.map(|_| self.with(&room));
        let (output, at) = (other.as_ref().unwrap_or(&input), to.unwrap_or(from));
        let (source, target) = (BufferSlice::new(&input, from, data.len()), BufferSlice::new(output, at, data.len()));
        match mode {
            Mode::EcbEncrypt => cipher.ecb(&self.queue, Direction::Encrypt, source, target),
            Mode::EcbDecrypt => cipher.ecb(&self.queue, Direction::Decrypt, source, target),
            Mode::Ctr => cipher.ctr_apply(&self.queue, &counter(), offset, source, target),
            Mode::CbcDecrypt => cipher.cbc_decrypt(&self.queue, &IV, source, target),
        }
        .unwrap();
        if other.is_some() {
            assert!(self.read(&input) == filled, "the input changed");
        }
        let mut found = self.read(output);
        let result = found[at..at + data.len()].to_vec();
        found[at..at + data.len()].fill(0xa5);
        assert!(found.iter().all(|&byte| byte == 0xa5), "bytes beside the output changed");
        result
    }
}

/// Asks a cipher of one mode all there is to ask: lengths around what threads and work-groups have, places, in place and not,
/// in host memory in one chunk and in several, and on buffers.
fn ask(engine: &Engine, what: &str, cipher: &Cipher, mode: Mode, reference: &Reference) {
    let on_buffers = cipher.opencl().unwrap();
    let buffers = Buffers::new(engine);
    let bytes = mode == Mode::Ctr;
    let edges = [0, 16, 17 * 16, 511 * 16, 512 * 16, 513 * 16, 1024 * 16 + 16, 4096 * 16, 4097 * 16, 9000 * 16];
    let odd = [1, 15, 17, 511 * 16 + 5, 4096 * 16 + 9].into_iter().filter(|_| bytes);
    for (case, len) in edges.into_iter().chain(odd).enumerate() {
        let offset = if bytes { [0, 5, 16, 31][case % 4] } else { 0 };
        let data = noise(case as u64, len);
        let expected = expected(reference, mode, offset, &data);
        let mut host = data.clone();
        run(cipher, mode, offset, &mut host).unwrap();
        assert!(host == expected, "{what}: {len} bytes in host memory");
        for (from, to) in [(0, None), (16, Some(32)), (11, None), (3, Some(8)), (0, Some(1))] {
            if len > 0 {
                let found = buffers.run(&on_buffers, mode, offset, &data, from, to);
                assert!(found == expected, "{what}: {len} bytes on buffers, from {from} to {to:?}");
            }
        }
    }
    // So long that a work-group has several runs, and their number is uneven, where few work-groups keep the device busy.
    let len = info(engine).compute_units as usize * (5 << 19) + 16 * 77;
    if len < 32 << 20 {
        let data = noise(1, len);
        let expected = expected(reference, mode, 0, &data);
        for from in [0, 9] {
            let found = buffers.run(&on_buffers, mode, 0, &data, from, None);
            assert!(found == expected, "{what}: {len} bytes on buffers, from {from}");
        }
    }
}

fn in_layout(mode: Mode, layout: Layout) -> Design {
    KernelSpec::planes(mode, &LUT3).with_layout(layout).unwrap().into()
}

/// Kernels of one kind, one for each mode, that take their keys at launch.
fn every_mode(design: impl Fn(Mode) -> Design) {
    Mode::ALL.into_iter().for_each(|mode| with_every_key(&design(mode)));
}

/// A kernel that takes its key at launch.
fn with_every_key(design: &Design) {
    let (engine, mode) = (opencl().unwrap(), design.mode());
    for len in [16, 24, 32] {
        let (key, reference) = key(len);
        let cipher = engine.cipher_of(&key, design).unwrap();
        assert!(matches!(cipher.cbc_encrypt(&IV, &mut [0; 16]), Err(Error::NeedsKey { .. })));
        let other = if mode == Mode::Ctr { Mode::EcbEncrypt } else { Mode::Ctr };
        assert!(matches!(run(&cipher, other, 0, &mut [0; 16]), Err(Error::NotInKernel { .. })));
        ask(engine, &format!("{}, {len} bytes of key", design.name()), &cipher, mode, &reference);
    }
}

/// Runs a test of this file that is ignored, in a process of its own.
fn alone(test: &str, set: &[(&str, &str)]) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", test, "--nocapture"])
        .envs(set.iter().copied())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{test}: {said}");
}

/// Tests that compile for long, each in a process of its own: a compiler that is a library does one thing at a time.
macro_rules! each_alone {
    ($($(#[$doc:meta])* $test:ident, $alone:ident: $work:expr;)*) => { $(
        $(#[$doc])*
        #[test]
        fn $test() {
            if opencl().is_some() {
                alone(stringify!($alone), &[]);
            }
        }

        #[test]
        #[ignore = "the test of the same name without `_alone` runs it"]
        fn $alone() {
            $work
        }
    )* };
}

each_alone! {
    /// The kernels that the engine has for a key: by column on NVIDIA's GPUs, by state elsewhere.
    stored_kernels, stored_kernels_alone: all_of_the_engines();
    /// The layout that those do not have.
    planes_in_the_other_layout, planes_in_the_other_layout_alone: {
        let nvidia = info(opencl().unwrap()).platform_vendor.contains("NVIDIA");
        every_mode(|mode| in_layout(mode, if nvidia { Layout::State } else { Layout::Column }));
    };
    planes_in_memory, planes_in_memory_alone: every_mode(|mode| KernelSpec::hajihassani_2019(mode).into());
    bits, bits_alone: every_mode(|mode| KernelSpec::beside(mode, &LUT3).into());
    /// The kernels of Ul Haq et al. 2011.
    bytewise, bytewise_alone: {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            for spec in Bytewise::ul_haq_2011(direction) {
                with_every_key(&spec.into());
            }
        }
    };
}

fn all_of_the_engines() {
    let engine = opencl().unwrap();
    for len in [16, 24, 32] {
        let (key, reference) = key(len);
        // Chunks so small that a call has many.
        let transfers = Transfers { chunk_bytes: Some(16 << 10), streams: Some(3), workers: Some(2) };
        let cut = engine.clone().with_transfers(transfers).cipher(&key).unwrap();
        let cipher = engine.cipher(&key).unwrap();
        for mode in Mode::ALL {
            for (what, cipher) in [("whole", &cipher), ("in chunks", &cut)] {
                ask(engine, &format!("{mode}, {len} bytes of key, {what}"), cipher, mode, &reference);
            }
        }
    }
}

/// The switches that have no compiler of the known ones keep anything on disk.
const NO_CACHE: [(&str, &str); 5] = [
    ("CUDA_CACHE_DISABLE", "1"),
    ("POCL_KERNEL_CACHE", "0"),
    ("NEO_CACHE_PERSISTENT", "0"),
    ("AMD_COMGR_CACHE", "0"),
    ("AES_BITSLICE_OPENCL_NO_CACHE", "1"),
];

#[test]
fn kernels_with_their_key_baked_in() {
    if opencl().is_some() {
        let folder = tempfile::tempdir().unwrap();
        let written = [("POCL_CACHE_DIR", folder.path().to_str().unwrap())];
        alone("baked_alone", &[&NO_CACHE[..], &written].concat());
    }
}

#[test]
#[ignore = "needs switches in the environment: `kernels_with_their_key_baked_in` runs it"]
fn baked_alone() {
    let engine = opencl().unwrap();
    // Every mode in every form, with keys of every length.
    let forms = [
        (BakedStrategy::OneHotMux, Layout::Column),
        (BakedStrategy::OneHotMux, Layout::State),
        (BakedStrategy::Immediate, Layout::State),
    ];
    let cases = Mode::ALL.into_iter().flat_map(|mode| forms.map(|form| (mode, form)));
    for (case, (mode, (strategy, layout))) in cases.enumerate() {
        let len = [16, 24, 32][(case + case / 3) % 3];
        let (key, reference) = key(len);
        let what = format!("{mode}, {strategy}, {layout}, {len} bytes of key");
        let spec = KernelSpec::baked(mode, &LUT3, strategy, key_bytes(len).as_slice()).unwrap();
        let spec = spec.with_layout(layout).unwrap();
        let cipher = match case % 3 {
            0 => {
                // As `xtask` writes it.
                let folder = tempfile::tempdir().unwrap();
                let printed = emit::opencl::print(&spec.into(), "a test").unwrap();
                fs::write(folder.path().join(&printed.manifest.source), &*printed.source).unwrap();
                let manifest = folder.path().join("kernel.json");
                fs::write(&manifest, printed.manifest.to_json()).unwrap();
                engine.load_baked(&manifest).unwrap()
            }
            1 => engine.cipher_of(&key, &spec.into()).unwrap(),
            _ => engine.bake(&key, mode, strategy, "lut3").unwrap(),
        };
        ask(engine, &what, &cipher, mode, &reference);
    }
    // The compiler's words may quote the source.
    let (folder, printed) = broken(16, true);
    let refused = engine.load_baked(&folder.path().join("kernel.json"));
    let Err(Error::CompileFailed { kernel, log }) = refused else { panic!("{refused:?}") };
    assert!(kernel == printed.kernel && log.contains("withheld") && !log.contains("nonsense"), "{log}");
}

fn key_bytes(len: usize) -> Vec<u8> {
    noise(len as u64, len)
}

/// A kernel with a key baked in, which does not compile, in files; or one that does in another language.
fn broken(len: usize, opencl: bool) -> (tempfile::TempDir, Manifest) {
    let spec = KernelSpec::baked(Mode::EcbEncrypt, &LUT3, BakedStrategy::OneHotMux, &key_bytes(len)).unwrap();
    let printed = match opencl {
        true => emit::opencl::print(&spec.into(), "a test").unwrap(),
        false => emit::cuda::print(&spec.into(), "a test"),
    };
    let source = format!("{}\nnonsense", *printed.source);
    let manifest = Manifest { source_sha256: emit::header::digest(&source), ..printed.manifest };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(&manifest.source), source).unwrap();
    fs::write(folder.path().join("kernel.json"), manifest.to_json()).unwrap();
    (folder, manifest)
}

#[test]
fn keys_are_not_baked_in_where_the_compiler_keeps_what_it_makes() {
    let Some(engine) = opencl() else { return };
    if NO_CACHE.iter().any(|(switch, _)| env::var_os(switch).is_some()) {
        return say("A SWITCH FOR COMPILERS IS SET: REFUSING BAKED KERNELS WAS NOT TESTED");
    }
    let (key, _) = key(16);
    let refused = engine.bake(&key, Mode::Ctr, BakedStrategy::OneHotMux, "lut3");
    let Err(Error::CompilerCache { .. }) = refused else { panic!("{refused:?}") };
    let (folder, _) = broken(16, true);
    assert!(matches!(engine.load_baked(&folder.path().join("kernel.json")), Err(Error::CompilerCache { .. })));
}

#[test]
fn kernels_of_other_engines_are_refused() {
    let Some(engine) = opencl() else { return };
    let (folder, _) = broken(16, false);
    let refused = engine.load_baked(&folder.path().join("kernel.json"));
    let Err(Error::BadManifest { what, .. }) = refused else { panic!("{refused:?}") };
    assert!(what.contains("for cuda") && what.contains("for opencl"), "{what}");
    let (key, _) = key(16);
    let tables = ConflictFree::new(Mode::Ctr, TableCount::Four);
    assert!(matches!(engine.cipher_of(&key, &tables.into()), Err(Error::NoSuchKernel { .. })));
    for kernels in [Kernels::Tbox, Kernels::Pair] {
        let refused = engine.clone().with_kernels(kernels).cipher(&key);
        assert!(matches!(refused, Err(Error::NoSuchKernel { .. })), "{kernels}");
    }
    let other = KernelSpec::baked(Mode::Ctr, &LUT3, BakedStrategy::OneHotMux, &[1; 16]).unwrap();
    assert!(matches!(engine.cipher_of(&key, &other.into()), Err(Error::NoSuchKernel { .. })));
}

#[test]
fn what_cuda_answers_is_refused() {
    let Some(engine) = opencl() else { return };
    let (key, _) = key(16);
    let cipher = engine.cipher(&key).unwrap();
    assert!(matches!(cipher.device().err(), Some(Error::NotCuda { .. })));
    assert!(matches!(cipher.spread().err(), Some(Error::NotCuda { .. })));
    assert!(matches!(engine.cuda_context().err(), Some(Error::NotCuda { .. })));
    assert!(!engine.host_buffer(10).unwrap().is_pinned() && engine.tuning().is_none());
    let info = info(engine);
    assert_eq!(engine.backend(), Backend::OpenCl { platform: info.platform, device: info.device });
    let description = engine.description();
    assert!(description.contains(&info.name) && description.contains(&info.driver), "{description}");
}

/// The device under test.
fn info(engine: &Engine) -> opencl::DeviceInfo {
    let is_it = |info: &opencl::DeviceInfo| {
        engine.backend() == Backend::OpenCl { platform: info.platform, device: info.device }
    };
    opencl::devices().unwrap().into_iter().find(is_it).unwrap()
}

#[test]
fn slices_that_cannot_be_are_refused() {
    let Some(engine) = opencl() else { return };
    let (key, reference) = key(16);
    let cipher = engine.cipher(&key).unwrap();
    let calls = cipher.opencl().unwrap();
    let buffers = Buffers::new(engine);
    let data = noise(1, 256);
    let (one, two) = (buffers.with(&data), buffers.with(&data));
    let ecb = |from, to| calls.ecb(&buffers.queue, Direction::Encrypt, from, to);
    let slice = BufferSlice::new;
    assert!(matches!(ecb(slice(&one, 0, 17), slice(&one, 0, 17)), Err(Error::NotWholeBlocks { len: 17 })));
    let mismatch = ecb(slice(&one, 0, 16), slice(&two, 0, 32));
    assert!(matches!(mismatch, Err(Error::LengthMismatch { input: 16, output: 32 })));
    for (at, len) in [(0, 272), (241, 16), (usize::MAX, 16)] {
        let refused = ecb(slice(&one, at, len), slice(&two, 0, len));
        assert!(matches!(refused, Err(Error::OutOfRange { len: 256, .. })), "{at} {len}: {refused:?}");
    }
    assert!(matches!(ecb(slice(&two, 0, 0), slice(&one, usize::MAX, 0)), Err(Error::OutOfRange { .. })));
    assert!(matches!(ecb(slice(&one, 0, 32), slice(&one, 31, 32)), Err(Error::Overlap)));
    let narrow = Counter::new(CounterMode::Ctr32BE, COUNTER);
    let refused = calls.ctr_apply(&buffers.queue, &narrow, 0, slice(&one, 0, 17), slice(&one, 0, 17));
    assert!(matches!(refused, Err(Error::CounterOverflow { .. })));
    // Another context of the same device.
    let other = Engine::open(engine.backend()).unwrap();
    let elsewhere = Buffers::new(&other);
    let foreign = elsewhere.with(&data);
    assert!(matches!(ecb(slice(&foreign, 0, 16), slice(&one, 0, 16)), Err(Error::OtherOpenClContext)));
    assert!(matches!(ecb(slice(&one, 0, 16), slice(&foreign, 0, 16)), Err(Error::OtherOpenClContext)));
    let refused = calls.ecb(&elsewhere.queue, Direction::Encrypt, slice(&one, 0, 16), slice(&one, 0, 16));
    assert!(matches!(refused, Err(Error::OtherOpenClContext)));
    // Parts of a buffer, whatever they are called.
    // SAFETY: the parts lie in the buffer, and are used while it is there.
    let part = |at| unsafe { one.create_sub_buffer(CL_MEM_READ_WRITE, at, 128) }.unwrap();
    let (first, again, second) = (part(0), part(0), part(128));
    assert!(matches!(ecb(slice(&first, 0, 32), slice(&again, 16, 32)), Err(Error::Overlap)));
    assert!(matches!(ecb(slice(&one, 112, 32), slice(&second, 0, 32)), Err(Error::Overlap)));
    assert!(buffers.read(&one) == data && buffers.read(&two) == data, "what was refused changed nothing");
    ecb(slice(&first, 0, 64), slice(&again, 0, 64)).unwrap();
    ecb(slice(&first, 64, 64), slice(&second, 64, 64)).unwrap();
    let encrypted = reference.ecb(Direction::Encrypt, &data[..128]);
    let expected = [&encrypted[..64], &data[64..192], &encrypted[64..]].concat();
    assert!(buffers.read(&one) == expected);
}

/// In a queue that keeps no order, what belongs together waits for one another.
#[test]
fn queues_may_be_out_of_order() {
    let Some(engine) = opencl() else { return };
    let context = engine.opencl_context().unwrap();
    let queue = match CommandQueue::create_default(context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
        Ok(queue) => queue,
        Err(e) => return say(&format!("NO QUEUES OUT OF ORDER, WHICH WERE NOT TESTED: {e}")),
    };
    let (key, reference) = key(24);
    let cipher = engine.cipher(&key).unwrap();
    let data = noise(2, 300_000 / 16 * 16);
    let expected = reference.cbc(Direction::Decrypt, IV, &data);
    let buffers = Buffers::new(engine);
    for _ in 0..5 {
        let buffer = buffers.with(&data);
        let all = BufferSlice::new(&buffer, 0, data.len());
        cipher.opencl().unwrap().cbc_decrypt(&queue, &IV, all, all).unwrap();
        queue.finish().unwrap();
        assert!(buffers.read(&buffer) == expected);
    }
}

/// Ciphers and buffers may be dropped before the device has come to them.
#[test]
fn what_is_in_a_queue_outlives_what_it_was_made_of() {
    let Some(engine) = opencl() else { return };
    let (key, reference) = key(16);
    let data = noise(3, 100_000 / 16 * 16);
    let expected = reference.ecb(Direction::Encrypt, &data);
    let buffers = Buffers::new(engine);
    let in_memory = KernelSpec::hajihassani_2019(Mode::EcbEncrypt);
    for cipher in [engine.cipher(&key).unwrap(), engine.cipher_of(&key, &in_memory.into()).unwrap()] {
        let output = buffers.with(&vec![0; data.len()]);
        let input = buffers.with(&data);
        let (from, to) = (BufferSlice::new(&input, 0, data.len()), BufferSlice::new(&output, 0, data.len()));
        cipher.opencl().unwrap().ecb(&buffers.queue, Direction::Encrypt, from, to).unwrap();
        drop(cipher);
        drop(input);
        assert!(buffers.read(&output) == expected);
    }
}

/// The arguments of a kernel are its state: calls at the same time must not mix theirs up.
#[test]
fn threads_share_a_cipher() {
    let Some(engine) = opencl() else { return };
    let ciphers = [16, 32].map(|len| {
        let (key, reference) = key(len);
        (engine.cipher(&key).unwrap(), reference)
    });
    thread::scope(|scope| {
        for t in 0..6 {
            let (cipher, reference) = &ciphers[t % 2];
            scope.spawn(move || {
                let buffers = Buffers::new(engine);
                let calls = cipher.opencl().unwrap();
                for i in 0..20 {
                    let (offset, data) = ((i * 37 + t) as u64, noise(i as u64, 5000 + 16 * t));
                    let expected = reference.ctr(COUNTER, offset, &data);
                    let mut host = data.clone();
                    cipher.ctr_apply(&counter(), offset, &mut host).unwrap();
                    assert!(host == expected, "thread {t}, call {i}");
                    let found = buffers.run(&calls, Mode::Ctr, offset, &data, t, None);
                    assert!(found == expected, "thread {t}, call {i}, on buffers");
                }
            });
        }
    });
}

#[test]
fn devices_that_are_not_there_are_named_beside_those_that_are() {
    let Some(engine) = opencl() else { return };
    for (platform, device) in [(4096, 0), (0, 4096)] {
        let refused = Engine::open(Backend::OpenCl { platform, device });
        let Err(Error::NoSuchOpenClDevice { there, .. }) = &refused else { panic!("{refused:?}") };
        assert!(there.contains(&info(engine).name), "{there}");
    }
    let found = opencl::devices().unwrap();
    assert!(found.iter().all(|info| info.compute_units > 0 && info.global_memory_bytes > 0 && !info.name.is_empty()));
}

/// `auto` takes no processor behind OpenCL: the other CPU engines are faster there.
#[test]
fn auto_takes_no_processor() {
    let Some(engine) = opencl() else { return };
    let auto = Engine::open(Backend::Auto).unwrap();
    let gpus = opencl::devices().unwrap().iter().filter(|info| info.kind == DeviceKind::Gpu).count();
    if auto.backend().is_opencl() {
        assert!(gpus > 0 && auto.description().contains("an OpenCL GPU is there"));
        for (bytes, expected) in [((1 << 20) - 1, Backend::Cpu), (1 << 20, auto.backend())] {
            assert_eq!(auto.backend_for(Mode::Ctr, KeyBits::Aes128, bytes), expected);
        }
    } else {
        assert!(gpus == 0 || auto.backend().is_cuda(), "{}", auto.description());
    }
    assert_eq!(engine.backend_for(Mode::Ctr, KeyBits::Aes128, 1), engine.backend());
}

/// A machine without OpenCL: without a platform, and with a loader that is none.
#[test]
fn without_opencl() {
    alone("without_a_platform_alone", &[("OCL_ICD_VENDORS", "/nonexistent"), ("OPENCL_VENDOR_PATH", "/nonexistent")]);
    if cfg!(target_os = "linux") {
        alone("without_a_loader_alone", &[("OPENCL_DYLIB_PATH", "libc.so.6")]);
    }
}

fn refuses(what: &str) {
    for backend in [Backend::OpenClFirst, Backend::OpenCl { platform: 0, device: 0 }] {
        let refused = Engine::open(backend);
        let Err(e @ Error::OpenClUnavailable { .. }) = refused else { panic!("{refused:?}") };
        assert!(e.to_string().contains(what), "{e}");
    }
    assert!(matches!(opencl::devices(), Err(Error::OpenClUnavailable { .. })));
    assert!(!Engine::open(Backend::Auto).unwrap().backend().is_opencl());
}

#[test]
#[ignore = "needs switches in the environment: `without_opencl` runs it"]
fn without_a_platform_alone() {
    // Where there is no loader, there is none here either.
    refuses("OpenCL is not available: ");
}

#[test]
#[ignore = "needs switches in the environment: `without_opencl` runs it"]
fn without_a_loader_alone() {
    refuses("the OpenCL loader has no clGetPlatformIDs");
}
