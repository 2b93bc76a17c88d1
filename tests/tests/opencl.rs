//! Tests that need an OpenCL device: every kernel that the generator prints for it, calls on the caller's buffers, and errors.
//!
//! Compilers for processors take many seconds for a kernel, and most cache the result: each kernel gets all its tests at once.
//! Except in exhaustive runs, only one or two are tested of each kind that the engine does not have by itself.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::digest;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::emit;
use aes_bitslice_gen::kernel::KernelSpec;
use aes_bitslice_gen::sbox::LUT3;
use aes_bitslice_gen::table::{ConflictFree, TableCount};
use aes_bitslice_papers::kernels::Bytewise;
use aes_bitslice_runtime::opencl::opencl3::command_queue::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CommandQueue};
use aes_bitslice_runtime::opencl::opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use aes_bitslice_runtime::opencl::opencl3::types::CL_TRUE;
use aes_bitslice_runtime::opencl::{self, BufferCipher, BufferSlice, DeviceKind};
use aes_bitslice_runtime::{
    Backend, CbcDecrypt, CbcEncrypt, Cipher, Counter, CounterMode, Ctr, Direction, Ecb, Engine, Error, Kernels, Key,
    KeyBits, Transfers,
};
use aes_bitslice_tests::engines::{Device, opencl};
use aes_bitslice_tests::environment::{all_or_every, all_or_one, say};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::kernels::print;
use aes_bitslice_tests::operation::{self, AnyOperation};
use aes_bitslice_tests::reference::{Reference, noise};
use aes_bitslice_tests::{refused, tests, with_operation};
use std::process::ExitCode;
use std::{fs, ptr, thread};

/// The switches that keep the known compilers from caching anything on disk.
const NO_CACHE: [(&str, &str); 5] = [
    ("CUDA_CACHE_DISABLE", "1"),
    ("POCL_KERNEL_CACHE", "0"),
    ("NEO_CACHE_PERSISTENT", "0"),
    ("AMD_COMGR_CACHE", "0"),
    ("AES_BITSLICE_OPENCL_NO_CACHE", "1"),
];

fn main() -> ExitCode {
    const DEVICE: Need = Need::Device(Device::OpenCl);
    const CACHES: Need = Need::Unset(&NO_CACHE_NAMES);
    const NO_CACHE_NAMES: [&str; 5] = [NO_CACHE[0].0, NO_CACHE[1].0, NO_CACHE[2].0, NO_CACHE[3].0, NO_CACHE[4].0];
    // For files that PoCL writes even without a cache.
    let folder = tempfile::tempdir().unwrap();
    let no_cache = [&NO_CACHE[..], &[("POCL_CACHE_DIR", folder.path().to_str().unwrap())]].concat();
    let no_platform =
        ["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES"].map(|variable| (variable, "/nonexistent"));
    let compiling =
        tests![stored_kernels, planes_in_the_other_layout, planes_in_memory, bytewise, wrong_parameter_lists];
    let tests = Tests::default()
        // A compiler that is a library does one thing at a time: each of these runs in its own process, the longest first.
        .alone(&[DEVICE], &no_cache, tests![kernels_with_their_key_baked_in])
        .alone(&[DEVICE], &[], tests![bits])
        .alone(&[DEVICE], &[], compiling)
        .with(&[DEVICE, CACHES], tests![keys_are_not_baked_in_where_the_compiler_keeps_what_it_makes])
        .with(
            &[DEVICE],
            tests![
                kernels_of_other_engines_are_refused,
                what_cuda_answers_is_refused,
                slices_that_cannot_be_are_refused,
                queues_may_be_out_of_order,
                what_is_in_a_queue_outlives_what_it_was_made_of,
                threads_share_a_cipher,
                devices_that_are_not_there_are_named_beside_those_that_are,
                auto_takes_no_processor,
            ],
        )
        .alone(&[], &no_platform, tests![without_a_platform]);
    if cfg!(target_os = "linux") {
        tests.alone(&[], &[("OPENCL_DYLIB_PATH", "libc.so.6")], tests![without_a_loader]).run()
    } else {
        tests.run()
    }
}

const COUNTER: [u8; 16] = [0xff; 16];
const IV: [u8; 16] = [0x37; 16];

fn counter() -> Counter {
    operation::counter(COUNTER)
}

/// The operation of a mode, for CTR from a byte of the key stream on.
fn operation(mode: Mode, offset: u64) -> AnyOperation {
    let start = if mode == Mode::CbcDecrypt { IV } else { COUNTER };
    AnyOperation::of(mode, u128::from_be_bytes(start), offset)
}

/// A key of this many bytes, and the reference with it.
fn key(len: usize) -> (Key, Reference) {
    let bytes = noise(len as u64, len);
    (Key::new(&bytes).unwrap(), Reference::new(&bytes))
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
        // SAFETY: no host memory is involved.
        let mut buffer = unsafe { Buffer::create(context, CL_MEM_READ_WRITE, bytes.len(), ptr::null_mut()) }.unwrap();
        // SAFETY: waits until it completes.
        unsafe { self.queue.enqueue_write_buffer(&mut buffer, CL_TRUE, 0, bytes, &[]) }.unwrap();
        buffer
    }

    fn read(&self, buffer: &Buffer<u8>) -> Vec<u8> {
        let mut bytes = vec![0; buffer.size().unwrap()];
        // SAFETY: waits until it completes.
        unsafe { self.queue.enqueue_read_buffer(buffer, CL_TRUE, 0, &mut bytes, &[]) }.unwrap();
        bytes
    }

    /// A call on buffers: `data` at byte `from` of one to byte `to` of another or, if there is none, in place, as always without
    /// an input. Nothing else may change.
    fn run(
        &self,
        cipher: &BufferCipher<'_>,
        any: AnyOperation,
        data: &[u8],
        from: usize,
        to: Option<usize>,
    ) -> Vec<u8> {
        const AROUND: usize = 64;
        let to = to.filter(|_| any.maps());
        let room = vec![0xa5; data.len() + 2 * AROUND];
        let mut filled = room.clone();
        filled[from..from + data.len()].copy_from_slice(data);
        let input = self.with(&filled);
        let other = to.map(|_| self.with(&room));
        let (output, at) = (other.as_ref().unwrap_or(&input), to.unwrap_or(from));
        let (source, target) = (BufferSlice::new(&input, from, data.len()), BufferSlice::new(output, at, data.len()));
        with_operation!(any, operation => if any.maps() {
            cipher.run(&self.queue, operation, (source, target))
        } else {
            cipher.run(&self.queue, operation, target)
        })
        .unwrap();
        if other.is_some() {
            assert!(self.read(&input) == filled, "the input changed");
        }
        let mut found = self.read(output);
        let result = found[at..at + data.len()].to_vec();
        found[at..at + data.len()].fill(0xa5);
        assert!(found.iter().all(|&byte| byte == 0xa5), "bytes outside the output changed");
        result
    }
}

/// Runs all tests on a cipher of one mode: lengths around the sizes of threads and work-groups, offsets, in place and not, in
/// host memory in one chunk and in several, and on buffers.
fn ask(engine: &Engine, what: &str, cipher: &Cipher, mode: Mode, reference: &Reference) {
    let on_buffers = cipher.opencl().unwrap();
    let buffers = Buffers::new(engine);
    let any_length = operation(mode, 0).takes(1) == 1;
    let edges = [0, 16, 17 * 16, 511 * 16, 512 * 16, 513 * 16, 1024 * 16 + 16, 4096 * 16, 4097 * 16, 9000 * 16];
    let odd = [1, 15, 17, 511 * 16 + 5, 4096 * 16 + 9].into_iter().filter(|_| any_length);
    for (case, len) in edges.into_iter().chain(odd).enumerate() {
        let offset = if any_length { [0, 5, 16, 31][case % 4] } else { 0 };
        let (any, data) = (operation(mode, offset), noise(case as u64, len));
        let expected = any.expected(reference, &data);
        let mut host = data.clone();
        any.run(cipher, &mut host).unwrap();
        assert!(host == expected, "{what}: {len} bytes in host memory");
        for (from, to) in [(0, None), (16, Some(32)), (11, None), (3, Some(8)), (0, Some(1))] {
            if len > 0 {
                let found = buffers.run(&on_buffers, any, &data, from, to);
                assert!(found == expected, "{what}: {len} bytes on buffers, from {from} to {to:?}");
            }
        }
    }
    // Long enough that a work-group has several tiles, and their number is uneven, where few work-groups keep the device busy.
    let len = info(engine).compute_units as usize * (5 << 19) + 16 * 77;
    if len < 32 << 20 {
        let (any, data) = (operation(mode, 0), noise(1, len));
        let expected = any.expected(reference, &data);
        for from in [0, 9] {
            let found = buffers.run(&on_buffers, any, &data, from, None);
            assert!(found == expected, "{what}: {len} bytes on buffers, from {from}");
        }
    }
}

/// Tests kernels that take their keys at launch, with keys of each length; or one in `step` of these cases.
fn with_keys<T: Clone>(step: usize, kernels: impl IntoIterator<Item = T>, print: impl Fn(T) -> Option<Printed>) {
    let engine = opencl();
    let cases = kernels.into_iter().flat_map(|kernel| [16, 24, 32].map(|len| (kernel.clone(), len)));
    for (kernel, len) in all_or_every(step, cases) {
        let Some(printed) = print(kernel) else { continue };
        let (name, mode) = (&printed.manifest.kernel, printed.manifest.mode().unwrap());
        let (key, reference) = key(len);
        let cipher = engine.cipher_of(&key, &printed).unwrap();
        refused!(cipher.cbc_encrypt(&IV, &mut [0; 16]), Error::NeedsKey { .. });
        let other = operation(if mode == Mode::Ctr { Mode::EcbEncrypt } else { Mode::Ctr }, 0);
        refused!(other.run(&cipher, &mut [0; 16]), Error::NotInKernel { .. });
        ask(engine, &format!("{name}, {len} bytes of key"), &cipher, mode, &reference);
    }
}

/// One in how many of the modes with keys of each length.
const MODES_AND_LENGTHS: usize = 3 * Mode::OF_ONE_KEY.len();

/// The kernels that the engine has for a key: by column on NVIDIA's GPUs, by state elsewhere.
fn stored_kernels() {
    let engine = opencl();
    for (n, mode) in Mode::OF_ONE_KEY.into_iter().enumerate() {
        for len in all_or_one(n, [16, 24, 32]) {
            let (key, reference) = key(len);
            // Chunks so small that a call has many.
            let transfers = Transfers { chunk_bytes: Some(16 << 10), streams: Some(3), workers: Some(2) };
            let cut = engine.clone().with_transfers(transfers).cipher(&key).unwrap();
            let cipher = engine.cipher(&key).unwrap();
            for (what, cipher) in [("whole", &cipher), ("in chunks", &cut)] {
                ask(engine, &format!("{mode}, {len} bytes of key, {what}"), cipher, mode, &reference);
            }
        }
    }
}

/// The layout that those do not have.
fn planes_in_the_other_layout() {
    let nvidia = info(opencl()).platform_vendor.contains("NVIDIA");
    let layout = if nvidia { Layout::State } else { Layout::Column };
    with_keys(MODES_AND_LENGTHS, Mode::OF_ONE_KEY, |mode| {
        print(KernelSpec::planes(mode, &LUT3).with_layout(layout).unwrap(), Dialect::OpenCl)
    });
}

/// The kernels of Hajihassani et al. 2019.
fn planes_in_memory() {
    with_keys(MODES_AND_LENGTHS, Mode::OF_ONE_KEY, |mode| print(KernelSpec::hajihassani_2019(mode), Dialect::OpenCl));
}

/// Kernels that are co-resident on CUDA, next to table kernels.
fn bits() {
    with_keys(MODES_AND_LENGTHS, Mode::OF_ONE_KEY, |mode| print(KernelSpec::co_resident(mode, &LUT3), Dialect::OpenCl));
}

/// The kernels of Ul Haq et al. 2011.
fn bytewise() {
    let specs = [Direction::Encrypt, Direction::Decrypt].into_iter().flat_map(Bytewise::ul_haq_2011);
    with_keys(21, specs, |spec| Some(spec.print(Dialect::OpenCl, "a test")));
}

/// A manifest that does not list the parameters of an entry point, name by name and in order, is refused.
fn wrong_parameter_lists() {
    let (key, _) = key(16);
    let Printed { source, manifest } = print(KernelSpec::planes(Mode::Ctr, &LUT3), Dialect::OpenCl).unwrap();
    for &entry in manifest.entries.keys() {
        let mut wrong = manifest.clone();
        wrong.entries.get_mut(&entry).unwrap().parameters.swap(2, 3);
        let wrong = Printed { source: source.clone(), manifest: wrong };
        let Err(Error::NoSuchKernel { what }) = opencl().cipher_of(&key, &wrong) else { panic!("taken") };
        assert!(what.contains(&format!("`{entry}`")), "{what}");
    }
    opencl().cipher_of(&key, &Printed { source, manifest }).unwrap();
}

/// A kernel's source and manifest in files, as `cargo xtask gen --key` writes them: the folder.
fn in_files(source: &str, manifest: &Manifest) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(&manifest.source), source).unwrap();
    fs::write(folder.path().join("kernel.json"), manifest.to_json()).unwrap();
    folder
}

fn kernels_with_their_key_baked_in() {
    let engine = opencl();
    // Every mode in every layout; or every layout in one mode. Keys of every length.
    let modes: Vec<_> = all_or_every(Mode::OF_ONE_KEY.len(), (0..).zip(Mode::OF_ONE_KEY)).collect();
    let forms = Layout::ALL.into_iter().enumerate();
    for (j, layout, (i, mode)) in forms.flat_map(|(j, form)| modes.iter().map(move |mode| (j, form, *mode))) {
        let len = [16, 24, 32][(i + j) % 3];
        let (key, reference) = key(len);
        let what = format!("{mode}, {layout}, {len} bytes of key");
        let spec = KernelSpec::baked(mode, &LUT3, &key_bytes(len)).unwrap().with_layout(layout).unwrap();
        let Some(printed) = print(spec, Dialect::OpenCl) else { continue };
        let cipher = match (i + j) % 3 {
            0 => {
                let folder = in_files(&printed.source, &printed.manifest);
                engine.load_baked(&folder.path().join("kernel.json")).unwrap()
            }
            1 => engine.cipher_of(&key, &printed).unwrap(),
            _ => engine.bake(&key, mode, "lut3").unwrap(),
        };
        ask(engine, &what, &cipher, mode, &reference);
    }
    // The compiler's log may quote the source.
    let (folder, printed) = broken(16, Dialect::OpenCl);
    let refused = engine.load_baked(&folder.path().join("kernel.json"));
    let Err(Error::CompileFailed { kernel, log }) = refused else { panic!("{refused:?}") };
    assert!(kernel == printed.kernel && log.contains("withheld") && !log.contains("nonsense"), "{log}");
    // A manifest that differs from an unchanged source.
    let spec = KernelSpec::baked(Mode::Ctr, &LUT3, &key_bytes(16)).unwrap();
    let Printed { source, mut manifest } = print(spec, Dialect::OpenCl).unwrap();
    manifest.entries.get_mut(&Entry::Blocks).unwrap().parameters.swap(0, 1);
    refused!(engine.load_baked(&in_files(&source, &manifest).path().join("kernel.json")), Error::BadManifest { .. });
}

fn key_bytes(len: usize) -> Vec<u8> {
    noise(len as u64, len)
}

/// A kernel with a key baked in, which does not compile, in files.
fn broken(len: usize, dialect: Dialect) -> (tempfile::TempDir, Manifest) {
    let spec = KernelSpec::baked(Mode::EcbEncrypt, &LUT3, &key_bytes(len)).unwrap();
    let printed = print(spec, dialect).unwrap();
    let source = format!("{}\nnonsense", *printed.source);
    let manifest = Manifest { source_sha256: digest::of_text(&source), ..printed.manifest };
    (in_files(&source, &manifest), manifest)
}

fn keys_are_not_baked_in_where_the_compiler_keeps_what_it_makes() {
    let (key, _) = key(16);
    let refused = opencl().bake(&key, Mode::Ctr, "lut3");
    let Err(Error::CompilerCache { .. }) = refused else { panic!("{refused:?}") };
    let (folder, _) = broken(16, Dialect::OpenCl);
    refused!(opencl().load_baked(&folder.path().join("kernel.json")), Error::CompilerCache { .. });
}

fn kernels_of_other_engines_are_refused() {
    let engine = opencl();
    let (folder, _) = broken(16, Dialect::Cuda);
    let refused = engine.load_baked(&folder.path().join("kernel.json"));
    let Err(Error::BadManifest { what, .. }) = refused else { panic!("{refused:?}") };
    assert!(what.contains("for cuda") && what.contains("for opencl"), "{what}");
    let (key, _) = key(16);
    let tables = ConflictFree::new(Mode::Ctr, TableCount::Four).unwrap();
    assert!(emit::opencl::print(&tables.into(), "a test").is_err());
    let tables = print(tables, Dialect::Cuda).unwrap();
    refused!(engine.cipher_of(&key, &tables), Error::NoSuchKernel { .. });
    for kernels in [Kernels::Tbox, Kernels::CoResident] {
        refused!(engine.clone().with_kernels(kernels).cipher(&key), Error::NoSuchKernel { .. }, "{kernels}");
    }
    let other = KernelSpec::baked(Mode::Ctr, &LUT3, &[1; 16]).unwrap();
    let other = print(other, Dialect::OpenCl).unwrap();
    refused!(engine.cipher_of(&key, &other), Error::NoSuchKernel { .. });
}

fn what_cuda_answers_is_refused() {
    let engine = opencl();
    let (key, _) = key(16);
    let cipher = engine.cipher(&key).unwrap();
    refused!(cipher.device(), Error::NotCuda { .. });
    refused!(cipher.sharded(), Error::NotCuda { .. });
    refused!(engine.cuda_context(), Error::NotCuda { .. });
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

fn slices_that_cannot_be_are_refused() {
    let engine = opencl();
    let (key, reference) = key(16);
    let cipher = engine.cipher(&key).unwrap();
    let calls = cipher.opencl().unwrap();
    let buffers = Buffers::new(engine);
    let data = noise(1, 256);
    let (one, two) = (buffers.with(&data), buffers.with(&data));
    let ecb = |from, to| calls.run(&buffers.queue, Ecb::encrypt(), (from, to));
    let slice = BufferSlice::new;
    refused!(ecb(slice(&one, 0, 17), slice(&one, 0, 17)), Error::NotWholeBlocks { len: 17 });
    refused!(ecb(slice(&one, 0, 16), slice(&two, 0, 32)), Error::LengthMismatch { input: 16, output: 32 });
    for (at, len) in [(0, 272), (241, 16), (usize::MAX, 16)] {
        refused!(ecb(slice(&one, at, len), slice(&two, 0, len)), Error::OutOfRange { len: 256, .. }, "{at} {len}");
    }
    refused!(ecb(slice(&two, 0, 0), slice(&one, usize::MAX, 0)), Error::OutOfRange { .. });
    refused!(ecb(slice(&one, 0, 32), slice(&one, 31, 32)), Error::Overlap);
    let narrow = Counter::new(CounterMode::Ctr32BE, COUNTER);
    let refused = calls.run(&buffers.queue, Ctr::new(&narrow, 0), slice(&one, 0, 17));
    assert!(matches!(refused, Err(Error::CounterOverflow { .. })));
    let serial = calls.run(&buffers.queue, CbcEncrypt::new(&IV), slice(&one, 0, 16));
    assert!(matches!(serial, Err(Error::Unsupported { .. })), "{serial:?}");
    // Another context of the same device.
    let other = Engine::open(engine.backend()).unwrap();
    let elsewhere = Buffers::new(&other);
    let foreign = elsewhere.with(&data);
    refused!(ecb(slice(&foreign, 0, 16), slice(&one, 0, 16)), Error::OtherOpenClContext);
    refused!(ecb(slice(&one, 0, 16), slice(&foreign, 0, 16)), Error::OtherOpenClContext);
    let refused = calls.run(&elsewhere.queue, Ecb::encrypt(), slice(&one, 0, 16));
    assert!(matches!(refused, Err(Error::OtherOpenClContext)));
    // Parts of a buffer, under any names. SAFETY: the parts are in the buffer, and are used while it exists.
    let part = |at| unsafe { one.create_sub_buffer(CL_MEM_READ_WRITE, at, 128) }.unwrap();
    let (first, again, second) = (part(0), part(0), part(128));
    refused!(ecb(slice(&first, 0, 32), slice(&again, 16, 32)), Error::Overlap);
    refused!(ecb(slice(&one, 112, 32), slice(&second, 0, 32)), Error::Overlap);
    assert!(buffers.read(&one) == data && buffers.read(&two) == data, "what was refused changed nothing");
    ecb(slice(&first, 0, 64), slice(&again, 0, 64)).unwrap();
    ecb(slice(&first, 64, 64), slice(&second, 64, 64)).unwrap();
    let encrypted = reference.ecb(Direction::Encrypt, &data[..128]);
    let expected = [&encrypted[..64], &data[64..192], &encrypted[64..]].concat();
    assert!(buffers.read(&one) == expected);
}

/// In a queue without order, dependent commands wait for each other.
fn queues_may_be_out_of_order() {
    let engine = opencl();
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
        cipher.opencl().unwrap().run(&queue, CbcDecrypt::new(&IV), all).unwrap();
        queue.finish().unwrap();
        assert!(buffers.read(&buffer) == expected);
    }
}

/// Ciphers and buffers may be dropped before the device has reached their commands.
fn what_is_in_a_queue_outlives_what_it_was_made_of() {
    let engine = opencl();
    let (key, reference) = key(16);
    let data = noise(3, 100_000 / 16 * 16);
    let expected = reference.ecb(Direction::Encrypt, &data);
    let buffers = Buffers::new(engine);
    let in_memory = print(KernelSpec::hajihassani_2019(Mode::EcbEncrypt), Dialect::OpenCl).unwrap();
    for cipher in [engine.cipher(&key).unwrap(), engine.cipher_of(&key, &in_memory).unwrap()] {
        let output = buffers.with(&vec![0; data.len()]);
        let input = buffers.with(&data);
        let (from, to) = (BufferSlice::new(&input, 0, data.len()), BufferSlice::new(&output, 0, data.len()));
        cipher.opencl().unwrap().run(&buffers.queue, Ecb::encrypt(), (from, to)).unwrap();
        drop(cipher);
        drop(input);
        assert!(buffers.read(&output) == expected);
    }
}

/// The arguments of a kernel are its state: concurrent calls must not mix theirs up.
fn threads_share_a_cipher() {
    let engine = opencl();
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
                    let found = buffers.run(&calls, operation(Mode::Ctr, offset), &data, t, None);
                    assert!(found == expected, "thread {t}, call {i}, on buffers");
                }
            });
        }
    });
}

fn devices_that_are_not_there_are_named_beside_those_that_are() {
    let engine = opencl();
    for (platform, device) in [(4096, 0), (0, 4096)] {
        let refused = Engine::open(Backend::OpenCl { platform, device });
        let Err(Error::NoSuchOpenClDevice { there, .. }) = &refused else { panic!("{refused:?}") };
        assert!(there.contains(&info(engine).name), "{there}");
    }
    let found = opencl::devices().unwrap();
    assert!(found.iter().all(|info| info.compute_units > 0 && info.global_memory_bytes > 0 && !info.name.is_empty()));
}

/// `auto` does not choose a processor through OpenCL: the other CPU engines are faster there.
fn auto_takes_no_processor() {
    let engine = opencl();
    let auto = Engine::open(Backend::Auto).unwrap();
    let gpus = opencl::devices().unwrap().iter().filter(|info| info.kind == DeviceKind::Gpu).count();
    if auto.backend().is_opencl() {
        assert!(gpus > 0 && auto.description().contains("an OpenCL GPU is there"));
        for (bytes, expected) in [((1 << 20) - 1, Backend::Cpu), (1 << 20, auto.backend())] {
            assert_eq!(auto.backend_for(Mode::Ctr, KeyBits::Aes128, bytes), expected);
        }
    } else {
        let why = auto.description();
        assert!(gpus == 0 || auto.backend().is_cuda() || why.contains("AES instructions are faster"), "{why}");
    }
    assert_eq!(engine.backend_for(Mode::Ctr, KeyBits::Aes128, 1), engine.backend());
}

/// A machine without OpenCL: without a platform, or with an invalid loader.
fn refuses(what: &str) {
    for backend in [Backend::OpenClFirst, Backend::OpenCl { platform: 0, device: 0 }] {
        let refused = Engine::open(backend);
        let Err(e @ Error::OpenClUnavailable { .. }) = refused else { panic!("{refused:?}") };
        assert!(e.to_string().contains(what), "{e}");
    }
    refused!(opencl::devices(), Error::OpenClUnavailable { .. });
    assert!(!Engine::open(Backend::Auto).unwrap().backend().is_opencl());
}

fn without_a_platform() {
    // Where there is no loader, there is no platform either.
    refuses("OpenCL is not available: ");
}

fn without_a_loader() {
    refuses("the OpenCL loader has no clGetPlatformIDs");
}
