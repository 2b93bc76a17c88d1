//! Calls all of whose arrays are in the memory of the GPU, as the data is: ranges or keys, nonces or counters, additional data, tags and verdicts.
//! They are put in place on a stream; or captured in a graph, which is launched twice, with other contents of these arrays. Engines without a GPU
//! make the call in host memory that is most like it.

use crate::call::{Call, compare};
use crate::from_host::{self, MODES, parts, under_key};
use crate::wrong::{Wrong, wrong};
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaGraph, CudaSlice, CudaStream, DevicePtr, sys};
use aes_bitslice_runtime::cuda::{
    DeviceAads, DeviceBatch, DeviceBytes, DeviceNonces, DeviceRanges, DeviceTags, GcmJobInputs, IntegerType,
};
use aes_bitslice_runtime::{Error, GcmEncrypt, GcmEncryptBatch, Key, KeyBits, Mode, Nonce, Ranges, Tag};
use aes_bitslice_tests::others;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of additional data of each message.
const AAD: usize = 20;

/// A call: itself, or the graph in which it was captured.
enum Put<F> {
    Now(F),
    Graph(CudaGraph),
}

impl<F: Fn() -> Result<(), Error>> Put<F> {
    /// Nothing else may be called on the GPU until it returns, if it is to be captured.
    fn new(in_graph: bool, stream: &Arc<CudaStream>, call: F) -> Result<Self, Wrong> {
        if !in_graph {
            return Ok(Self::Now(call));
        }
        stream.synchronize().map_err(wrong)?;
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(wrong)?;
        let outcome = call();
        let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).map_err(wrong)?;
        outcome.map_err(wrong)?;
        graph.map(Self::Graph).ok_or_else(|| "there is no graph".into())
    }

    fn launch(&self) -> Result<(), Wrong> {
        match self {
            Self::Now(call) => call().map_err(wrong),
            Self::Graph(graph) => graph.launch().map_err(wrong),
        }
    }
}

/// An array in the memory of the GPU, which begins some bytes after a multiple of 256.
struct Array {
    stream: Arc<CudaStream>,
    memory: CudaSlice<u8>,
    from: usize,
}

impl Array {
    fn new(stream: &Arc<CudaStream>, bytes: usize, from: usize) -> Result<Self, Wrong> {
        // Memory of no bytes has no address.
        let memory = stream.alloc_zeros(from + bytes + 1).map_err(wrong)?;
        Ok(Self { stream: stream.clone(), memory, from })
    }

    fn of(stream: &Arc<CudaStream>, content: &[u8]) -> Result<Self, Wrong> {
        let mut array = Self::new(stream, content.len(), 0)?;
        array.write(content)?;
        Ok(array)
    }

    fn at(&self) -> u64 {
        self.memory.device_ptr(&self.stream).0 + self.from as u64
    }

    fn bytes(&self, bytes: usize) -> DeviceBytes {
        DeviceBytes { at: self.at(), bytes: bytes as u64 }
    }

    fn write(&mut self, content: &[u8]) -> Result<(), Wrong> {
        let place = &mut self.memory.slice_mut(self.from..self.from + content.len());
        if content.is_empty() { Ok(()) } else { self.stream.memcpy_htod(content, place).map_err(wrong) }
    }

    /// What a call has left there.
    fn read(&self, call: &mut Call<'_>, bytes: usize) -> Result<Vec<u8>, Wrong> {
        let place = self.memory.slice(self.from..self.from + bytes);
        let mut found = if bytes == 0 { vec![] } else { self.stream.clone_dtoh(&place).map_err(wrong)? };
        call.planted.bytes(&mut found);
        Ok(found)
    }
}

/// Messages of GCM in the memory of the GPU.
struct Messages {
    ranges: Vec<Range<u64>>,
    nonces: Array,
    aad: Array,
    data: Array,
    tags: Array,
    verdicts: Array,
}

impl Messages {
    fn new(call: &Call<'_>, stream: &Arc<CudaStream>, from: usize, ranges: Vec<Range<u64>>) -> Result<Self, Wrong> {
        let array = |bytes, from| Array::new(stream, bytes, from);
        let count = ranges.len();
        Ok(Self {
            nonces: array(12 * count, 0)?,
            aad: array(AAD * count, 0)?,
            data: array(call.bytes, from)?,
            tags: array(16 * count, 0)?,
            verdicts: array(4 * count, 0)?,
            ranges,
        })
    }

    fn make(&self) -> DeviceTags {
        DeviceTags::Make { tags: self.tags.at() }
    }

    fn verify(&self) -> DeviceTags {
        DeviceTags::Verify { expected: self.tags.at(), tag_bytes: 16, verdicts: self.verdicts.at() }
    }

    /// Encrypts random messages, and decrypts them, each message with its key.
    fn there_and_back(
        &mut self,
        call: &mut Call<'_>,
        key_of: impl Fn(usize) -> Vec<u8> + Sync,
        encrypt: impl Fn() -> Result<(), Wrong>,
        decrypt: impl Fn() -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        let (count, len) = (self.ranges.len(), call.bytes);
        let mut nonces = call.random.bytes(12 * count);
        (0..count).for_each(|n| nonces[12 * n..][..4].copy_from_slice(&(n as u32).to_le_bytes()));
        let (aad, mut plain) = (call.random.bytes(AAD * count), call.random.bytes(len));
        let mut secret = plain.clone();
        let (is_small, cpu) = (call.is_small(), call.cpu);
        let tags = parts(&mut secret, &self.ranges).into_par_iter().enumerate().map(|(n, data)| {
            let (key, nonce, aad) = (key_of(n), &nonces[12 * n..][..12], &aad[AAD * n..][..AAD]);
            if is_small {
                let (secret, tag) = others::gcm(&key, nonce, aad, data);
                data.copy_from_slice(&secret);
                return Tag::new(&tag);
            }
            cpu.cipher(&Key::new(&key)?)?.run(GcmEncrypt::new(&Nonce::new(nonce)?, aad), data)
        });
        let tags: Vec<Tag> = tags.collect::<Result<_, _>>().map_err(wrong)?;
        let mut tags: Vec<u8> = tags.iter().flat_map(|tag| tag.as_bytes()).copied().collect();
        for (array, content) in [(&mut self.nonces, &nonces), (&mut self.aad, &aad), (&mut self.data, &plain)] {
            array.write(content)?;
        }
        encrypt()?;
        compare(&self.data.read(call, len)?, &secret, "messages and what is between them")?;
        compare(&self.tags.read(call, 16 * count)?, &tags, "tags")?;
        let changed = call.forged.then(|| call.random.below(count as u64) as usize);
        if let Some(n) = changed {
            tags[16 * n + call.random.below(16) as usize] ^= 1 << call.random.below(8);
            plain[self.ranges[n].start as usize..self.ranges[n].end as usize].fill(0);
        }
        self.tags.write(&tags)?;
        decrypt()?;
        compare(&self.data.read(call, len)?, &plain, "messages, decrypted, and what is between them")?;
        let verdicts = self.verdicts.stream.clone_dtoh(&self.verdicts.memory).map_err(wrong)?;
        let verdicts = verdicts.as_chunks::<4>().0.iter().take(count);
        let mut refused: Vec<u8> = verdicts.map(|verdict| (*verdict != [0; 4]).into()).collect();
        call.planted.bytes(&mut refused);
        let is_changed = (0..count).map(|n| (Some(n) == changed).into());
        compare(&refused, &is_changed.collect::<Vec<u8>>(), "which messages were refused")
    }
}

fn numbers(all: impl Iterator<Item = u64>) -> Vec<u8> {
    all.flat_map(u64::to_le_bytes).collect()
}

/// How often a call is made, or the graph launched that it is in.
fn rounds(in_graph: bool) -> usize {
    if in_graph { 2 } else { 1 }
}

/// Messages of GCM under one key, whose ranges are in the memory of the GPU, too.
pub fn gcm_batch(call: &mut Call<'_>, in_graph: bool) -> Result<(), Wrong> {
    let ranges = call.ranges(16 << 20, 10_000, 1);
    // The kernel for them is one for compute capability 9.0.
    let is_there = |stream: &CudaStream| stream.context().compute_capability().is_ok_and(|(major, _)| major == 9);
    let on_gpu = call.on_gpu().filter(|(stream, _)| !ranges.is_empty() && is_there(stream));
    let Some((stream, from)) = on_gpu else { return from_host::gcm_batch(call) };
    let starts = Array::of(&stream, &numbers(ranges.iter().map(|range| range.start)))?;
    let lengths = Array::of(&stream, &numbers(ranges.iter().map(|range| range.end - range.start)))?;
    let pairs = Array::of(&stream, &numbers(ranges.iter().flat_map(|range| [range.start, range.end])))?;
    let described = if call.random.one_in(2) {
        DeviceRanges::pairs(IntegerType::U64, pairs.at())
    } else {
        DeviceRanges::lengths((IntegerType::I64, starts.at()), (IntegerType::U64, lengths.at()))
    };
    let (fault, count) = (Array::new(&stream, 8, 0)?, ranges.len());
    let mut messages = Messages::new(call, &stream, from, ranges)?;
    let aads = DeviceRanges::spaced(AAD as u64, AAD as u64);
    let aads = DeviceAads::each(messages.aad.at(), (AAD * count) as u64, aads);
    let batch = DeviceBatch::new(count, described, DeviceNonces::each(messages.nonces.at()), aads).map_err(wrong)?;
    let device = call.cipher.device().map_err(wrong)?;
    device.prepare_for(&GcmEncryptBatch::new(&[]).map_err(wrong)?).map_err(wrong)?;
    let (data, fault_at, len) = (messages.data.at(), fault.at(), call.bytes as u64);
    let put = |tags| {
        let (stream, batch, device) = (&stream, &batch, &device);
        Put::new(in_graph, stream, move || {
            // SAFETY: all of this memory stays until the stream has done the call: it is read then.
            unsafe { device.run_raw_described(stream.cu_stream(), batch, tags, data, data, len, fault_at) }
        })
    };
    let (encrypt, decrypt) = (put(messages.make())?, put(messages.verify())?);
    let key = call.key;
    for _ in 0..rounds(in_graph) {
        messages.there_and_back(call, |_| key.to_vec(), || encrypt.launch(), || decrypt.launch())?;
        let found = fault.read(call, 8)?;
        compare(&found, &[0; 8], "what is wrong with the arrays")?;
    }
    Ok(())
}

/// Messages of GCM, each under a key of its own, at places that were described before.
pub fn gcm_jobs(call: &mut Call<'_>, in_graph: bool) -> Result<(), Wrong> {
    let ranges = call.ranges(16 << 20, 10_000, 1);
    let Some((stream, from)) = call.on_gpu().filter(|_| !ranges.is_empty()) else { return from_host::gcm_batch(call) };
    let (count, of_key) = (ranges.len(), call.key.len());
    let bits = KeyBits::from_bytes(of_key).expect("an AES key");
    let (places, aads) = (Ranges::from(&*ranges), Ranges::equal(count, AAD as u64));
    let none = call.engine.under_own_keys();
    let layout = none.device().and_then(|device| device.gcm_job_layout(bits, &places, &aads)).map_err(wrong)?;
    let mut keys_there = Array::new(&stream, of_key * count, 0)?;
    let mut messages = Messages::new(call, &stream, from, ranges.clone())?;
    let inputs = GcmJobInputs {
        keys: keys_there.bytes(of_key * count),
        nonces: messages.nonces.bytes(12 * count),
        aad: messages.aad.bytes(AAD * count),
    };
    let (data, len) = (messages.data.at(), call.bytes as u64);
    let put = |tags| {
        let (stream, layout, inputs) = (&stream, &layout, &inputs);
        Put::new(in_graph, stream, move || {
            // SAFETY: all of this memory stays until the stream has done the call: it is read then.
            unsafe { layout.run_raw(stream.cu_stream(), inputs, tags, data, data, len) }
        })
    };
    let (encrypt, decrypt) = (put(messages.make())?, put(messages.verify())?);
    for _ in 0..rounds(in_graph) {
        let keys = call.random.bytes(of_key * count);
        keys_there.write(&keys)?;
        let key_of = |n: usize| keys[of_key * n..][..of_key].to_vec();
        messages.there_and_back(call, key_of, || encrypt.launch(), || decrypt.launch())?;
    }
    Ok(())
}

/// Jobs under many keys, at places that were described before.
pub fn jobs(call: &mut Call<'_>, in_graph: bool) -> Result<(), Wrong> {
    let mode = call.random.one_of(&MODES);
    let unit = if matches!(mode, Mode::EcbEncrypt | Mode::EcbDecrypt) { 16 } else { 1 };
    let ranges = call.ranges(64 << 20, 50_000, unit);
    let Some((stream, from)) = call.on_gpu().filter(|_| !ranges.is_empty()) else { return from_host::jobs(call) };
    let (count, of_key, len) = (ranges.len(), call.key.len(), call.bytes);
    let bits = KeyBits::from_bytes(of_key).expect("an AES key");
    let of_counter = if unit == 1 { 16 } else { 0 };
    let none = call.engine.under_own_keys();
    let device = none.device().map_err(wrong)?;
    let layout = device.job_layout(mode, bits, &Ranges::from(&*ranges)).map_err(wrong)?;
    let mut keys_there = Array::new(&stream, of_key * count, 0)?;
    let mut counters_there = Array::new(&stream, of_counter * count, 0)?;
    let mut there = Array::new(&stream, len, from)?;
    let keys_of_all = keys_there.bytes(of_key * count);
    let counters_of_all = if unit == 1 { counters_there.bytes(16 * count) } else { DeviceBytes::NONE };
    let data = there.at();
    let put = Put::new(in_graph, &stream, || {
        // SAFETY: all of this memory stays until the stream has done the call: it is read then.
        unsafe { layout.run_raw(stream.cu_stream(), keys_of_all, counters_of_all, data, data, len as u64) }
    })?;
    for _ in 0..rounds(in_graph) {
        let (keys, counters) = (call.random.bytes(of_key * count), call.random.bytes(16 * count));
        let mut expected = call.random.bytes(len);
        keys_there.write(&keys)?;
        counters_there.write(&counters[..of_counter * count])?;
        there.write(&expected)?;
        put.launch()?;
        let by = (call.is_small(), call.cpu);
        parts(&mut expected, &ranges)
            .into_par_iter()
            .enumerate()
            .try_for_each(|(n, data)| {
                under_key(by, mode, &keys[of_key * n..][..of_key], counters.as_chunks().0[n], data)
            })
            .map_err(wrong)?;
        compare(&there.read(call, len)?, &expected, &format!("{mode} of {count} jobs"))?;
    }
    Ok(())
}
