//! Many GCM messages that arrays in GPU memory describe: each against another implementation; arrays of every form; changed messages; arrays
//! that are wrong; a graph that is launched again with other nonces, ranges and data.

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DeviceRepr, result, sys};
use aes_bitslice_runtime::cuda::{
    DeviceAads, DeviceBatch, DeviceNonces, DeviceRanges, DeviceTags, GcmArrays, IntegerType,
};
use aes_bitslice_runtime::{Cipher, Direction, Engine, Error, GcmEncryptBatch, Kernels};
use aes_bitslice_tests::arrays::after_gaps;
use aes_bitslice_tests::engines::{Device, cipher, gpu};
use aes_bitslice_tests::environment::{all_or, random};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::reference::{key_bytes, noise};
use aes_bitslice_tests::{others, refused, tests, tests_of_engines};
use proptest::prelude::*;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let all = tests_of_engines![
        messages_are_as_another_has_them,
        what_was_changed_is_cleared_alone,
        slices_are_borrowed,
        what_is_wrong_changes_nothing,
        what_cannot_be_is_refused,
    ];
    let cuda = Device::Cuda(Kernels::Auto);
    // A cipher that another test drops waits for the device, which would end the capture.
    let captured = tests![a_graph_reads_everything_again];
    Tests::default().on_each(&[cuda], &[], all).alone(&[Need::Device(cuda)], &[], captured).run()
}

/// Messages, and what belongs to them.
#[derive(Clone)]
struct Messages {
    nonces: Vec<[u8; 12]>,
    aad: Vec<u8>,
    aad_ranges: Vec<Range<u64>>,
    ranges: Vec<Range<u64>>,
    data: Vec<u8>,
}

impl Messages {
    /// Lengths in bytes: of data, of additional data, and of the gap before a message.
    fn new(seed: u64, lengths: &[(usize, usize, usize)]) -> Self {
        let (ranges, at) = after_gaps(lengths.iter().map(|&(bytes, _, gap)| (bytes, gap)));
        let (mut aad_at, mut aad_ranges) = (0, vec![]);
        for &(_, aad, _) in lengths {
            aad_ranges.push(aad_at..aad_at + aad as u64);
            aad_at += aad as u64 / 2;
        }
        let nonces = noise(seed ^ 1, 12 * lengths.len()).as_chunks().0.to_vec();
        let aad = noise(seed ^ 2, aad_ranges.iter().map(|range| range.end as usize).max().unwrap_or_default());
        Self { nonces, aad, aad_ranges, ranges, data: noise(!seed, at + 7) }
    }

    fn range(&self, n: usize) -> Range<usize> {
        self.ranges[n].start as usize..self.ranges[n].end as usize
    }

    /// By the `aes-gcm` crate: the data with messages encrypted, and their tags.
    fn by_another(&self, key: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut secret, mut tags) = (self.data.clone(), vec![]);
        for n in 0..self.ranges.len() {
            let aad = &self.aad[self.aad_ranges[n].start as usize..self.aad_ranges[n].end as usize];
            let (sealed, tag) = others::gcm(key, &self.nonces[n], aad, &self.data[self.range(n)]);
            secret[self.range(n)].copy_from_slice(&sealed);
            tags.extend(tag);
        }
        (secret, tags)
    }
}

/// The form of ranges in memory.
#[derive(Clone, Copy, Debug)]
enum Form {
    Pairs(IntegerType),
    Lengths(IntegerType, IntegerType),
}

const FORMS: [Form; 6] = [
    Form::Pairs(IntegerType::I64),
    Form::Lengths(IntegerType::I64, IntegerType::I32),
    Form::Pairs(IntegerType::U32),
    Form::Lengths(IntegerType::U32, IntegerType::U64),
    Form::Pairs(IntegerType::I32),
    Form::Pairs(IntegerType::U64),
];

/// Integers in memory.
fn integers(of: IntegerType, all: impl Iterator<Item = u64>) -> Vec<u8> {
    all.flat_map(|n| n.to_le_bytes().into_iter().take(of.bytes() as usize)).collect()
}

fn bytes_of(form: Form, ranges: &[Range<u64>]) -> [Vec<u8>; 2] {
    match form {
        Form::Pairs(of) => [integers(of, ranges.iter().flat_map(|range| [range.start, range.end])), vec![]],
        Form::Lengths(of, lengths) => [
            integers(of, ranges.iter().map(|range| range.start)),
            integers(lengths, ranges.iter().map(|range| range.end.wrapping_sub(range.start))),
        ],
    }
}

/// Memory of a GPU, at least a byte of it.
fn put<T: DeviceRepr + Copy + Default>(stream: &Arc<CudaStream>, content: &[T]) -> CudaSlice<T> {
    stream.clone_htod(&[content, &[T::default()]].concat()).unwrap()
}

fn at<T>(stream: &CudaStream, memory: &CudaSlice<T>) -> u64 {
    memory.device_ptr(stream).0
}

/// Messages in the memory of a GPU, and what a call writes.
struct OnGpu {
    stream: Arc<CudaStream>,
    forms: [Form; 2],
    arrays: [[CudaSlice<u8>; 2]; 2],
    nonces: CudaSlice<u8>,
    aad: CudaSlice<u8>,
    aad_bytes: u64,
    count: usize,
    data: CudaSlice<u8>,
    /// The first byte of the data.
    offset: usize,
    len: usize,
    tags: CudaSlice<u8>,
    expected: CudaSlice<u8>,
    verdicts: CudaSlice<u32>,
    fault: CudaSlice<u32>,
}

/// What is there before a call.
const BEFORE: u8 = 0x5a;

impl OnGpu {
    fn new(engine: &Engine, messages: &Messages, forms: [Form; 2], offset: usize) -> Self {
        let context = engine.cuda_context().unwrap();
        // SAFETY: all of this is on one stream, in order.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().unwrap();
        let count = messages.ranges.len();
        let of = |form, ranges: &[_]| bytes_of(form, ranges).map(|bytes| put(&stream, &bytes));
        Self {
            forms,
            arrays: [of(forms[0], &messages.ranges), of(forms[1], &messages.aad_ranges)],
            nonces: put(&stream, messages.nonces.as_flattened()),
            aad: put(&stream, &messages.aad),
            aad_bytes: messages.aad.len() as u64,
            count,
            data: put(&stream, &[&vec![BEFORE; offset], &messages.data[..]].concat()),
            offset,
            len: messages.data.len(),
            tags: put(&stream, &vec![BEFORE; 16 * count]),
            expected: put(&stream, &vec![0; 16 * count]),
            verdicts: put(&stream, &vec![7; count]),
            fault: put(&stream, &[9; 2]),
            stream,
        }
    }

    fn ranges(&self, n: usize) -> DeviceRanges {
        let [first, second] = [0, 1].map(|i| at(&self.stream, &self.arrays[n][i]));
        match self.forms[n] {
            Form::Pairs(of) => DeviceRanges::pairs(of, first),
            Form::Lengths(of, lengths) => DeviceRanges::lengths((of, first), (lengths, second)),
        }
    }

    fn batch(&self) -> DeviceBatch {
        let aads = DeviceAads::each(at(&self.stream, &self.aad), self.aad_bytes, self.ranges(1));
        let nonces = DeviceNonces::each(at(&self.stream, &self.nonces));
        DeviceBatch::new(self.count, self.ranges(0), nonces, aads).unwrap()
    }

    fn make(&self) -> DeviceTags {
        DeviceTags::Make { tags: at(&self.stream, &self.tags) }
    }

    fn verify(&self, tag_bytes: usize) -> DeviceTags {
        let [expected, verdicts] = [at(&self.stream, &self.expected), at(&self.stream, &self.verdicts)];
        DeviceTags::Verify { expected, tag_bytes, verdicts }
    }

    /// Puts a call in place on the stream.
    fn run(&self, cipher: &Cipher, batch: &DeviceBatch, tags: DeviceTags) -> Result<(), Error> {
        let (data, fault) = (at(&self.stream, &self.data) + self.offset as u64, at(&self.stream, &self.fault));
        // SAFETY: all memory stays until the stream was waited for.
        unsafe {
            let device = cipher.device()?;
            device.run_raw_described(self.stream.cu_stream(), batch, tags, data, data, self.len as u64, fault)
        }
    }

    /// What the call has written.
    fn fault(&self) -> Result<(), Error> {
        let words = self.stream.clone_dtoh(&self.fault).unwrap();
        DeviceBatch::check([words[0], words[1]])
    }

    fn data(&self) -> Vec<u8> {
        let all = self.stream.clone_dtoh(&self.data).unwrap();
        let (before, data) = all.split_at(self.offset);
        assert!(before.iter().all(|byte| *byte == BEFORE), "bytes before the data");
        data[..self.len].to_vec()
    }

    fn tags(&self) -> Vec<u8> {
        self.stream.clone_dtoh(&self.tags).unwrap()[..16 * self.count].to_vec()
    }

    fn verdicts(&self) -> Vec<u32> {
        self.stream.clone_dtoh(&self.verdicts).unwrap()[..self.count].to_vec()
    }

    /// Replaces what is in memory, in the order of the stream.
    fn write<T: DeviceRepr>(&self, memory: &CudaSlice<T>, content: &[T]) {
        self.stream.context().bind_to_thread().unwrap();
        // SAFETY: there is room, and the content stays until the stream was waited for.
        unsafe { result::memcpy_htod_async(at(&self.stream, memory), content, self.stream.cu_stream()) }.unwrap();
        self.stream.synchronize().unwrap();
    }
}

/// Short ones, and 16 bytes or fewer between them; and one that is longer than the others.
fn lengths() -> impl Strategy<Value = Vec<(usize, usize, usize)>> {
    let one = prop_oneof![
        (0..20_usize << 10, 0..300_usize, 0..17_usize),
        (0..600_usize, 0..20_usize, 0..5_usize),
        ((0..1280_usize).prop_map(|n| 16 * n), 0..40_usize, prop_oneof![Just(0_usize), Just(16)]),
    ];
    (prop::collection::vec(one, 0..=300), 0..2_usize).prop_map(|(mut all, long)| {
        all.extend(vec![(700 << 10, 5, 3); long]);
        all
    })
}

/// Ranges in every form, at any alignment; nonces as an array.
fn messages_are_as_another_has_them(engines: &'static [Engine]) {
    proptest!(random(all_or(40, 6)), |(key in key_bytes(), lengths in lengths(), seed: u32)| {
        let messages = Messages::new(seed.into(), &lengths);
        let (secret, tags) = messages.by_another(&key);
        for engine in engines {
            let cipher = cipher(engine, &key);
            for (n, form) in FORMS.into_iter().enumerate() {
                let gpu = OnGpu::new(engine, &messages, [form, FORMS[(n + 2) % FORMS.len()]], [0, 4, 3][n % 3]);
                gpu.run(&cipher, &gpu.batch(), gpu.make()).unwrap();
                gpu.fault().unwrap();
                assert!(gpu.data() == secret, "{form:?}: data");
                assert!(gpu.tags() == tags, "{form:?}: tags");
                let tag_bytes = [16, 12, 8, 4][n % 4];
                let of = |tag: &[u8; 16]| std::array::from_fn::<u8, 16, _>(|i| if i < tag_bytes { tag[i] } else { 9 });
                let expected: Vec<[u8; 16]> = tags.as_chunks().0.iter().map(of).collect();
                gpu.write(&gpu.expected, expected.as_flattened());
                gpu.run(&cipher, &gpu.batch(), gpu.verify(tag_bytes)).unwrap();
                gpu.fault().unwrap();
                assert!(gpu.data() == messages.data && gpu.verdicts() == vec![0; gpu.count], "{form:?}: decryption");
            }
        }
    });
}

/// Equal messages by a rule, under nonces that count up, with the same additional data; tags of which one bit was changed.
fn what_was_changed_is_cleared_alone(engines: &'static [Engine]) {
    const COUNT: usize = 700;
    const BYTES: usize = 1500;
    const STRIDE: usize = 1504;
    for (engine, bits) in engines.iter().flat_map(|engine| [32, 64].map(|bits| (engine, bits))) {
        let (key, mut messages) = (noise(1, 16), Messages::new(7, &vec![(BYTES, 0, 0); COUNT]));
        messages.data = noise(8, COUNT * STRIDE);
        messages.ranges = (0..COUNT).map(|n| (n * STRIDE) as u64..(n * STRIDE + BYTES) as u64).collect();
        messages.aad = noise(9, 13);
        messages.aad_ranges = vec![0..13; COUNT];
        let first = [1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xfd, 0];
        messages.nonces = (0..COUNT).map(|n| count_up(first, bits, n as u64)).collect();
        let (mut secret, mut tags) = messages.by_another(&key);
        let (cipher, gpu) = (cipher(engine, &key), OnGpu::new(engine, &messages, [FORMS[0]; 2], 0));
        let nonces = DeviceNonces::counted(at(&gpu.stream, &gpu.nonces), bits).unwrap();
        let aads = DeviceAads::shared(at(&gpu.stream, &gpu.aad), 13);
        let ranges = DeviceRanges::spaced(BYTES as u64, STRIDE as u64);
        let batch = DeviceBatch::new(COUNT, ranges, nonces, aads).unwrap();
        gpu.run(&cipher, &batch, gpu.make()).unwrap();
        gpu.fault().unwrap();
        assert!(gpu.data() == secret && gpu.tags() == tags, "{bits}");
        let mut verdicts = vec![0; COUNT];
        secret.copy_from_slice(&messages.data);
        for n in (3..COUNT).step_by(50) {
            tags[16 * n + n % 16] ^= 1 << (n % 8);
            secret[messages.range(n)].fill(0);
            verdicts[n] = 1;
        }
        gpu.write(&gpu.expected, &tags);
        gpu.run(&cipher, &batch, gpu.verify(16)).unwrap();
        gpu.fault().unwrap();
        assert!(gpu.data() == secret && gpu.verdicts() == verdicts, "{bits}: decryption");
    }
}

fn count_up(mut nonce: [u8; 12], bits: u32, n: u64) -> [u8; 12] {
    let counter = &mut nonce[12 - bits as usize / 8..];
    let sum = counter.iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte)) + n;
    counter.copy_from_slice(&sum.to_be_bytes()[8 - bits as usize / 8..]);
    nonce
}

/// Without an address, both ways; arrays of different numbers of messages.
fn slices_are_borrowed(engines: &'static [Engine]) {
    let (key, messages) = (noise(1, 24), Messages::new(5, &[(1500, 0, 4); 200]));
    let (secret, tags) = messages.by_another(&key);
    for engine in engines {
        let stream = engine.cuda_context().unwrap().new_stream().unwrap();
        let lengths: Vec<u64> = messages.ranges.iter().map(|range| range.end - range.start).collect();
        let offsets: Vec<u64> = messages.ranges.iter().map(|range| range.start).collect();
        let mut arrays = GcmArrays {
            offsets: stream.clone_htod(&offsets).unwrap(),
            lengths: stream.clone_htod(&lengths).unwrap(),
            nonces: stream.clone_htod(messages.nonces.as_flattened()).unwrap(),
            tags: stream.alloc_zeros(16 * lengths.len()).unwrap(),
            verdicts: stream.clone_htod(&vec![7; lengths.len()]).unwrap(),
            fault: stream.alloc_zeros(2).unwrap(),
        };
        let (cipher, input) = (cipher(engine, &key), stream.clone_htod(&messages.data).unwrap());
        // Bytes between messages stay.
        let (mut sealed, mut opened) = (input.clone(), stream.clone_htod(&secret).unwrap());
        let device = cipher.device().unwrap();
        device.run_arrays(&stream, Direction::Encrypt, &mut arrays, (&input, &mut sealed)).unwrap();
        assert!(stream.clone_dtoh(&sealed).unwrap() == secret && stream.clone_dtoh(&arrays.tags).unwrap() == tags);
        let mut in_place = input.clone();
        device.run_arrays(&stream, Direction::Encrypt, &mut arrays, &mut in_place).unwrap();
        assert!(stream.clone_dtoh(&in_place).unwrap() == secret);
        device.run_arrays(&stream, Direction::Decrypt, &mut arrays, (&sealed, &mut opened)).unwrap();
        assert!(stream.clone_dtoh(&opened).unwrap() == messages.data);
        assert_eq!(stream.clone_dtoh(&arrays.verdicts).unwrap(), vec![0; lengths.len()]);
        arrays.nonces = stream.alloc_zeros(12 * lengths.len() - 1).unwrap();
        refused!(
            device.run_arrays(&stream, Direction::Encrypt, &mut arrays, (&input, &mut sealed)),
            Error::Batch { .. }
        );
        assert!(stream.clone_dtoh(&sealed).unwrap() == secret);
    }
}

/// The first message that is wrong is named; data, tags and verdicts stay, and no verdict says that a message is authentic.
fn what_is_wrong_changes_nothing(engines: &'static [Engine]) {
    let (key, right) = (noise(1, 32), Messages::new(3, &[(1000, 20, 1); 50]));
    type Change = fn(&mut Messages);
    let wrong: [(&str, Form, Change); 7] = [
        ("message 7 ends before it begins", FORMS[0], |m| m.ranges[7].end = m.ranges[7].start - 1),
        ("message 7 has a number that is not a position", FORMS[0], |m| m.ranges[7].start = u64::MAX),
        ("message 7 has a number that is not a position", FORMS[1], |m| m.ranges[7].end = m.ranges[7].start - 1),
        ("message 8 begins before the end of the one before it", FORMS[2], |m| m.ranges[7].end += 2),
        ("message 49 ends after the last byte of the data", FORMS[3], |m| m.ranges[49].end += 8),
        ("message 3 has more than 68719476704 bytes", FORMS[5], |m| m.ranges[3].end = 1 << 40),
        ("additional data of message 9 ends after the last byte", FORMS[4], |m| m.aad_ranges[9].end = 1 << 20),
    ];
    for engine in engines {
        let cipher = cipher(engine, &key);
        for (what, form, change) in wrong {
            let mut messages = right.clone();
            change(&mut messages);
            let gpu = OnGpu::new(engine, &messages, [form, FORMS[0]], 0);
            gpu.run(&cipher, &gpu.batch(), gpu.make()).unwrap();
            let refused = gpu.fault().unwrap_err().to_string();
            assert!(refused.contains(what), "{refused}, not {what}");
            assert!(gpu.data() == messages.data && gpu.tags() == vec![BEFORE; 16 * gpu.count], "{what}");
            gpu.run(&cipher, &gpu.batch(), gpu.verify(16)).unwrap();
            assert!(gpu.fault().is_err() && gpu.data() == messages.data, "{what}: decryption");
            assert!(gpu.verdicts().iter().all(|verdict| *verdict != 0), "{what}: verdicts");
        }
        // Two are left before the counter starts again.
        let gpu = OnGpu::new(engine, &right, [FORMS[0]; 2], 0);
        gpu.write(&gpu.nonces, &[[0; 8].as_slice(), &[0xff, 0xff, 0xff, 0xfe]].concat());
        let nonces = DeviceNonces::counted(at(&gpu.stream, &gpu.nonces), 32).unwrap();
        let batch = DeviceBatch::new(gpu.count, gpu.ranges(0), nonces, DeviceAads::none()).unwrap();
        gpu.run(&cipher, &batch, gpu.make()).unwrap();
        let refused = gpu.fault().unwrap_err().to_string();
        assert!(refused.contains("room for 2 messages") && gpu.data() == right.data, "{refused}");
    }
}

/// With other nonces, ranges, additional data and data, and with ranges that are wrong; the cipher is gone.
fn a_graph_reads_everything_again() {
    let engine = gpu();
    let key = noise(5, 32);
    let of = |seed: u64| -> Vec<(usize, usize, usize)> {
        (0..400).map(|n| (noise(seed + n, 1)[0] as usize * 9, 16, n as usize % 3)).collect()
    };
    let [one, mut other] = [1, 2000].map(|seed| Messages::new(seed, &of(seed)));
    let len = one.data.len().max(other.data.len());
    other.data.resize(len, 3);
    let mut longest = one.clone();
    longest.data.resize(len, 4);
    let own = cipher(engine, &key);
    let gpu = OnGpu::new(engine, &longest, [FORMS[0], FORMS[1]], 0);
    own.device().unwrap().prepare_for(&GcmEncryptBatch::new(&[]).unwrap()).unwrap();
    let (batch, make) = (gpu.batch(), gpu.make());
    gpu.stream.synchronize().unwrap();
    gpu.stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let put = gpu.run(&own, &batch, make);
    let graph = gpu.stream.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap().unwrap();
    put.unwrap();
    drop(own);
    for messages in [&longest, &other, &longest] {
        let [ranges, _] = bytes_of(gpu.forms[0], &messages.ranges);
        let aads = bytes_of(gpu.forms[1], &messages.aad_ranges);
        gpu.write(&gpu.arrays[0][0], &ranges);
        gpu.arrays[1].iter().zip(&aads).for_each(|(memory, bytes)| gpu.write(memory, bytes));
        gpu.write(&gpu.nonces, messages.nonces.as_flattened());
        gpu.write(&gpu.aad, &messages.aad);
        gpu.write(&gpu.data, &messages.data);
        graph.launch().unwrap();
        gpu.stream.synchronize().unwrap();
        gpu.fault().unwrap();
        let (secret, tags) = messages.by_another(&key);
        assert!(gpu.data() == secret && gpu.tags() == tags);
    }
    gpu.write(&gpu.arrays[0][0], &u64::MAX.to_le_bytes());
    let (before, tags) = (gpu.data(), gpu.tags());
    graph.launch().unwrap();
    gpu.stream.synchronize().unwrap();
    assert!(gpu.fault().is_err() && gpu.data() == before && gpu.tags() == tags);
}

fn what_cannot_be_is_refused(engines: &'static [Engine]) {
    for engine in engines {
        let messages = Messages::new(3, &[(100, 0, 0); 5]);
        let (cipher, gpu) = (cipher(engine, &[7; 16]), OnGpu::new(engine, &messages, [FORMS[0]; 2], 0));
        let refused = |tags| gpu.run(&cipher, &gpu.batch(), tags).unwrap_err();
        assert!(matches!(refused(gpu.verify(11)), Error::TagLength { bytes: 11 }));
        let [data, tags] = [at(&gpu.stream, &gpu.data), at(&gpu.stream, &gpu.tags)];
        assert!(matches!(refused(DeviceTags::Make { tags: tags + 2 }), Error::Length { .. }));
        assert!(matches!(refused(DeviceTags::Make { tags: data + 16 }), Error::Overlap));
        let verdicts = DeviceTags::Verify { expected: tags, tag_bytes: 16, verdicts: tags + 16 };
        assert!(matches!(refused(verdicts), Error::Overlap));
        let none = DeviceBatch::new(0, gpu.ranges(0), DeviceNonces::each(0), DeviceAads::none()).unwrap();
        gpu.run(&cipher, &none, gpu.make()).unwrap();
        gpu.fault().unwrap();
        assert!(gpu.data() == messages.data && gpu.tags() == vec![BEFORE; 80]);
    }
}
