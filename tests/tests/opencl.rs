//! What only an OpenCL device answers: every kernel that the generator prints for it, calls on buffers of the caller's, and
//! errors. On a machine without one the tests pass and say that they did not run.
//!
//! Compilers for processors take seconds for a kernel: each is compiled once, and asked all there is to ask.

use aes_bitslice_gen::kernel::{BakedStrategy, Design, KernelSpec, Mode};
use aes_bitslice_gen::layout::Layout;
use aes_bitslice_gen::sbox::LUT3;
use aes_bitslice_gen::table::{ConflictFree, TableCount};
use aes_bitslice_runtime::cuda::Kernels;
use aes_bitslice_runtime::opencl::opencl3::command_queue::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CommandQueue};
use aes_bitslice_runtime::opencl::opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use aes_bitslice_runtime::opencl::opencl3::types::CL_TRUE;
use aes_bitslice_runtime::opencl::{self, BufferCipher, BufferSlice, DeviceKind};
use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Direction, Engine, Error, Key, KeyBits, Transfers};
use aes_bitslice_tests::engines::{opencl, say};
use aes_bitslice_tests::reference::{Reference, noise};
use std::process::Command;
use std::sync::Mutex;
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

/// Buffers of the device, with two kinds of queues.
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
}

fn in_layout(mode: Mode, layout: Layout) -> Design {
    KernelSpec::planes(mode, &LUT3).with_layout(layout).unwrap().into()
}

/// Kernels of one kind, one for each mode, that take their keys at launch.
fn every_mode(design: impl Fn(Mode) -> Design + Sync) {
    let Some(engine) = opencl() else { return };
    for mode in Mode::ALL {
        let design = design(mode);
        for len in [16, 24, 32] {
            // The program is compiled anew for each key: where that takes seconds, each mode gets one.
            if engine_is_slow() && len != [16, 24, 32, 16][mode as usize % 4] {
                continue;
            }
            let (key, reference) = key(len);
            let cipher = engine.cipher_of(&key, &design).unwrap();
            ask(engine, &format!("{}, {len} bytes of key", design.name()), &cipher, mode, &reference);
        }
    }
}

/// Whether the device is a processor, whose compiler takes long.
fn engine_is_slow() -> bool {
    let numbers = opencl().unwrap().backend();
    let is_ours =
        |info: &opencl::DeviceInfo| numbers == Backend::OpenCl { platform: info.platform, device: info.device };
    opencl::devices().unwrap().iter().find(|info| is_ours(info)).unwrap().kind == DeviceKind::Cpu
}

#[test]
fn planes_by_state() {
    every_mode(|mode| in_layout(mode, Layout::State));
}

#[test]
fn planes_by_column() {
    every_mode(|mode| in_layout(mode, Layout::Column));
}

#[test]
fn planes_in_memory() {
    every_mode(|mode| KernelSpec::hajihassani_2019(mode).into());
}

#[test]
fn bits() {
    every_mode(|mode| KernelSpec::beside(mode, &LUT3).into());
}
