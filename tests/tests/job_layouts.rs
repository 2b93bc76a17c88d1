//! Calls under many keys that are in GPU memory, as everything else of the call is: jobs against the same calls in host memory, messages of GCM
//! against another implementation; invalid calls; graphs that are launched again with other keys, nonces and data.

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DeviceRepr, sys};
use aes_bitslice_runtime::cuda::{DeviceBytes, DeviceCipher, DeviceTags, GcmJobInputs, GcmJobLayout};
use aes_bitslice_runtime::{Engine, Error, Jobs, Kernels, KeyBits, Mode, Ranges};
use aes_bitslice_tests::arrays::after_gaps;
use aes_bitslice_tests::engines::{Device, gpu};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::messages::Messages;
use aes_bitslice_tests::reference::noise;
use aes_bitslice_tests::{refused, tests, tests_of_engines};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let all = tests_of_engines![
        jobs_are_as_in_host_memory,
        messages_are_as_another_has_them,
        what_was_changed_is_cleared_alone,
        what_cannot_be_is_refused,
    ];
    let cuda = Device::Cuda(Kernels::Auto);
    // What another test drops waits for the device, which would end the capture.
    let captured = tests![graphs_read_everything_again];
    Tests::default().on_each(&[cuda], &[], all).alone(&[Need::Device(cuda)], &[], captured).run()
}

fn stream_of(engine: &Engine) -> Arc<CudaStream> {
    let context = engine.cuda_context().unwrap();
    // SAFETY: all of this is on one stream, in order.
    unsafe { context.disable_event_tracking() };
    context.new_stream().unwrap()
}

/// Memory of a GPU, at least one of these.
fn put<T: DeviceRepr + Copy + Default>(stream: &Arc<CudaStream>, content: &[T]) -> CudaSlice<T> {
    if content.is_empty() { stream.clone_htod(&[T::default()]).unwrap() } else { stream.clone_htod(content).unwrap() }
}

/// Lengths in blocks' steps, with gaps, and without.
fn layouts() -> Vec<Vec<Range<u64>>> {
    let of = |lengths: &[(usize, usize)]| after_gaps(lengths.iter().copied()).0;
    let many: Vec<_> = (0..700).map(|n: usize| (16 * (n * n % 97), n % 5)).collect();
    vec![
        of(&[(1504, 0), (0, 0), (16, 3), (4096, 0), (80, 1)]),
        of(&[(16, 0); 40]),
        of(&[(4096, 16); 9]),
        of(&many),
        of(&[(0, 0); 3]),
    ]
}

fn jobs_are_as_in_host_memory(engines: &'static [Engine]) {
    let modes = [Mode::Ctr, Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Keystream];
    for engine in engines {
        let (stream, none) = (stream_of(engine), engine.under_own_keys());
        for (n, ranges) in layouts().into_iter().enumerate() {
            for (mode, bits) in modes.into_iter().zip(KeyBits::ALL.into_iter().cycle().skip(n)) {
                let (count, end) = (ranges.len(), ranges.last().unwrap().end as usize);
                let keys = noise(n as u64, bits.bytes() * count);
                let counts = matches!(mode, Mode::Ctr | Mode::Keystream);
                let mut counters = noise(77, if counts { 16 * count } else { 0 });
                counters.iter_mut().step_by(3).for_each(|byte| *byte = 0xff);
                let plain = noise(5, end + 9);
                let mut expected = plain.clone();
                let places = Ranges::from(&*ranges);
                let jobs = Jobs::from_arrays(mode, bits, &keys, counters.as_chunks().0, &places).unwrap();
                none.run(jobs, &mut expected).unwrap();
                let layout = none.device().unwrap().job_layout(mode, bits, &places).unwrap();
                assert_eq!(layout.len(), count);
                let (there, first) = (put(&stream, &keys), put(&stream, &counters));
                let mut data = put(&stream, &plain);
                layout.run(&stream, &there, counts.then_some(&first), &mut data).unwrap();
                assert!(stream.clone_dtoh(&data).unwrap() == expected, "{mode}, layout {n}");
                assert!(stream.clone_dtoh(&there).unwrap() == keys, "keys stay");
            }
        }
    }
}

/// Messages, each under a key of its own, of these lengths in bytes: of data, of additional data, and of the gap before a message.
fn messages_of(seed: u64, bits: KeyBits, lengths: &[(usize, usize, usize)]) -> Messages {
    Messages::new(
        seed,
        noise(seed + (1 << 32), bits.bytes() * lengths.len()).chunks(bits.bytes()).map(<[u8]>::to_vec).collect(),
        lengths,
    )
}

/// Where they are described to a GPU.
fn layout_of(device: &DeviceCipher<'_>, of: &Messages) -> GcmJobLayout {
    let bits = KeyBits::from_bytes(of.keys[0].len()).unwrap();
    let aads = after_gaps(of.aad.iter().map(|aad| (aad.len(), 0))).0;
    device.gcm_job_layout(bits, &Ranges::from(&*of.ranges), &Ranges::from(&*aads)).unwrap()
}

fn messages() -> Vec<Messages> {
    let fixed: [&[(usize, usize, usize)]; 5] = [
        &[(1500, 13, 0), (0, 0, 0), (16, 0, 3), (4096, 20, 4), (1, 1, 0), (0, 17, 0), (511, 16, 1), (513, 15, 0)],
        &[(100, 0, 0)],
        &[(512, 5, 0); 40],
        &[(70_001, 3, 5), (33, 40_000, 2)],
        &[(0, 3, 0), (0, 0, 0)],
    ];
    let many: Vec<_> = (0..900_usize).map(|n| (n * 7919 % 3000, n % 40, n % 17)).collect();
    let all = fixed.into_iter().chain([&*many]).zip(KeyBits::ALL.into_iter().cycle());
    all.enumerate().map(|(n, (lengths, bits))| messages_of(10 * n as u64, bits, lengths)).collect()
}

/// Messages in the memory of a GPU.
struct OnGpu {
    keys: CudaSlice<u8>,
    nonces: CudaSlice<u8>,
    aad: CudaSlice<u8>,
    data: CudaSlice<u8>,
    tags: CudaSlice<u8>,
    verdicts: CudaSlice<u32>,
}

impl OnGpu {
    fn new(stream: &Arc<CudaStream>, of: &Messages, data: &[u8], tags: &[u8]) -> Self {
        let [keys, nonces, aad, data, tags] =
            [&*of.keys.concat(), &of.nonces.concat(), &of.aad.concat(), data, tags].map(|bytes| put(stream, bytes));
        Self { keys, nonces, aad, data, tags, verdicts: put(stream, &vec![7; of.ranges.len()]) }
    }
}

fn messages_are_as_another_has_them(engines: &'static [Engine]) {
    for engine in engines {
        let (stream, none) = (stream_of(engine), engine.under_own_keys());
        for of in messages() {
            let (known, layout) = (of.gcm(), layout_of(&none.device().unwrap(), &of));
            let tags = known.tags_with(&[], 16);
            let mut gpu = OnGpu::new(&stream, &of, &of.plain, &vec![0x5a; tags.len()]);
            let OnGpu { keys, nonces, aad, data, tags: made, verdicts } = &mut gpu;
            let aad = (!of.aad.concat().is_empty()).then_some(&*aad);
            layout.encrypt(&stream, keys, nonces, aad, &mut *data, made).unwrap();
            assert!(stream.clone_dtoh(data).unwrap() == known.secret && stream.clone_dtoh(made).unwrap() == tags);
            layout.decrypt(&stream, keys, nonces, aad, &mut *data, made, verdicts).unwrap();
            assert!(stream.clone_dtoh(data).unwrap() == of.plain);
            assert!(stream.clone_dtoh(verdicts).unwrap() == vec![0; layout.len()]);
            assert!(stream.clone_dtoh(keys).unwrap() == of.keys.concat());
            assert!(stream.clone_dtoh(nonces).unwrap() == of.nonces.concat());
        }
    }
}

/// From one buffer to another, whose other bytes stay.
fn what_was_changed_is_cleared_alone(engines: &'static [Engine]) {
    for engine in engines {
        let (stream, none) = (stream_of(engine), engine.under_own_keys());
        let of = messages().remove(0);
        let (known, layout) = (of.gcm(), layout_of(&none.device().unwrap(), &of));
        let gpu = OnGpu::new(&stream, &of, &known.secret, &known.tags_with(&[3], 16));
        let before = vec![0xa5; of.plain.len()];
        let back = put(&stream, &before);
        // At an odd address.
        let nonces = put(&stream, &[&[0], &*of.nonces.concat()].concat());
        let at = |memory: &CudaSlice<u8>| memory.device_ptr(&stream).0;
        let bytes = |memory: &CudaSlice<u8>| DeviceBytes { at: at(memory), bytes: memory.len() as u64 };
        let inputs = GcmJobInputs {
            keys: bytes(&gpu.keys),
            nonces: DeviceBytes { at: at(&nonces) + 1, ..bytes(&gpu.nonces) },
            aad: bytes(&gpu.aad),
        };
        let verify =
            DeviceTags::Verify { expected: at(&gpu.tags), tag_bytes: 16, verdicts: gpu.verdicts.device_ptr(&stream).0 };
        // SAFETY: memory of these lengths, which lives until it was read.
        unsafe {
            let len = of.plain.len() as u64;
            layout.run_raw(stream.cu_stream(), &inputs, verify, at(&gpu.data), at(&back), len).unwrap();
        }
        assert!(stream.clone_dtoh(&back).unwrap() == of.between(&before, &known.opened(&[3])));
        let verdicts = stream.clone_dtoh(&gpu.verdicts).unwrap();
        assert!((0..of.ranges.len()).all(|n| (verdicts[n] == 0) == (n != 3)), "{verdicts:?}");
    }
}

fn what_cannot_be_is_refused(engines: &'static [Engine]) {
    let told = |outcome: Result<(), Error>, says: &str| {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(says), "{error}, not {says}");
    };
    for engine in engines {
        let (stream, none) = (stream_of(engine), engine.under_own_keys());
        let (device, four) = (none.device().unwrap(), Ranges::equal(4, 32));
        refused!(device.job_layout(Mode::CbcDecrypt, KeyBits::Aes128, &four), Error::Jobs { .. });
        refused!(device.gcm_job_layout(KeyBits::Aes128, &four, &Ranges::equal(3, 0)), Error::Batch { .. });
        let ctr = device.job_layout(Mode::Ctr, KeyBits::Aes128, &four).unwrap();
        let ecb = device.job_layout(Mode::EcbEncrypt, KeyBits::Aes128, &four).unwrap();
        let gcm = device.gcm_job_layout(KeyBits::Aes128, &four, &Ranges::spaced(4, 6, 0)).unwrap();
        let memory = put(&stream, &noise(1, 1024));
        let (begin, before) = (memory.device_ptr(&stream).0, stream.clone_dtoh(&memory).unwrap());
        let of = |at, bytes| DeviceBytes { at: begin + at, bytes };
        let (keys, counters, data) = (of(0, 64), of(64, 64), begin + 128);
        // SAFETY: all are refused.
        let jobs = |keys, counters, len| unsafe { ctr.run_raw(stream.cu_stream(), keys, counters, data, data, len) };
        told(jobs(of(0, 63), counters, 128), "63 bytes of keys for a layout of 4: give 16 for each");
        told(jobs(DeviceBytes { at: 0, bytes: 64 }, counters, 128), "keys are at address 0");
        told(jobs(of(2, 64), counters, 128), "keys do not begin at a multiple of 4");
        told(jobs(keys, of(68, 64), 128), "counters do not begin at a multiple of 16");
        told(jobs(keys, DeviceBytes::NONE, 128), "0 bytes of counters for a layout of 4");
        told(jobs(keys, counters, 127), "job 3 ends at byte 128");
        refused!(jobs(of(192, 64), counters, 128), Error::Overlap);
        // SAFETY: as above.
        told(unsafe { ecb.run_raw(stream.cu_stream(), keys, counters, data, data, 128) }, "give 0 for each");
        let inputs = GcmJobInputs { keys, nonces: of(64, 48), aad: of(112, 6) };
        let make = DeviceTags::Make { tags: begin + 512 };
        // SAFETY: as above.
        let messages = |inputs, tags| unsafe { gcm.run_raw(stream.cu_stream(), &inputs, tags, data, data, 128) };
        told(messages(GcmJobInputs { nonces: of(64, 47), ..inputs }, make), "47 bytes of nonces");
        told(messages(GcmJobInputs { keys: of(0, 96), ..inputs }, make), "96 bytes of keys");
        told(messages(GcmJobInputs { aad: of(112, 5), ..inputs }, make), "5 bytes of additional data");
        let bare = device.gcm_job_layout(KeyBits::Aes128, &four, &Ranges::equal(4, 0)).unwrap();
        // SAFETY: as above.
        let ignored = unsafe { bare.run_raw(stream.cu_stream(), &inputs, make, data, data, 128) };
        told(ignored, "6 bytes of additional data, and the layout has none");
        told(messages(inputs, DeviceTags::Make { tags: begin + 514 }), "multiple of 4");
        told(messages(inputs, DeviceTags::Make { tags: 0 }), "tags are at address 0");
        refused!(messages(inputs, DeviceTags::Make { tags: begin + 32 }), Error::Overlap);
        refused!(messages(GcmJobInputs { keys: of(140, 64), ..inputs }, make), Error::Overlap);
        let verify = |tag_bytes| DeviceTags::Verify { expected: begin + 512, tag_bytes, verdicts: begin + 576 };
        refused!(messages(inputs, verify(12)), Error::TagLength { bytes: 12 });
        let mut few = put(&stream, &[0_u8; 48]);
        let [keys, nonces] = [64, 48].map(|bytes| put(&stream, &noise(3, bytes)));
        let mut data = put(&stream, &[0_u8; 128]);
        told(gcm.encrypt(&stream, &keys, &nonces, None, &mut data, &mut few), "48 bytes of tags");
        assert!(stream.clone_dtoh(&memory).unwrap() == before && stream.clone_dtoh(&data).unwrap() == [0; 128]);
    }
}

/// With other keys, nonces, additional data and data in the same places; the layouts are gone.
fn graphs_read_everything_again() {
    let engine = gpu();
    let (stream, none) = (stream_of(engine), engine.under_own_keys());
    let device = none.device().unwrap();
    let lengths: Vec<_> = (0..400_usize).map(|n| (n * 7919 % 3000 / 16 * 16, n % 30, n % 3)).collect();
    let [one, other] = [1, 2000].map(|seed| messages_of(seed, KeyBits::Aes256, &lengths));
    let (gcm, ranges) = (layout_of(&device, &one), Ranges::from(&*one.ranges));
    let ecb = device.job_layout(Mode::EcbEncrypt, KeyBits::Aes256, &ranges).unwrap();
    let mut memory = OnGpu::new(&stream, &one, &one.plain, &vec![0; 16 * lengths.len()]);
    let mut blocks = put(&stream, &one.plain);
    stream.synchronize().unwrap();
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let OnGpu { keys, nonces, aad, data, tags, .. } = &mut memory;
    let put_there = gcm.encrypt(&stream, keys, nonces, Some(aad), &mut *data, tags);
    let also = ecb.run(&stream, keys, None, &mut blocks);
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap().unwrap();
    put_there.and(also).unwrap();
    drop((gcm, ecb));
    for of in [&one, &other, &one] {
        let of_each = [(&mut *keys, &of.keys), (nonces, &of.nonces), (aad, &of.aad)];
        of_each.into_iter().for_each(|(memory, content)| stream.memcpy_htod(&content.concat(), memory).unwrap());
        [&mut *data, &mut blocks].into_iter().for_each(|memory| stream.memcpy_htod(&of.plain, memory).unwrap());
        graph.launch().unwrap();
        stream.synchronize().unwrap();
        let known = of.gcm();
        assert!(stream.clone_dtoh(data).unwrap() == known.secret);
        assert!(stream.clone_dtoh(tags).unwrap() == known.tags_with(&[], 16));
        let mut expected = of.plain.clone();
        let jobs = Jobs::from_arrays(Mode::EcbEncrypt, KeyBits::Aes256, &of.keys.concat(), &[], &ranges).unwrap();
        none.run(jobs, &mut expected).unwrap();
        assert!(stream.clone_dtoh(&blocks).unwrap() == expected);
    }
}
