//! Many GCM messages that arrays in GPU memory describe, in a CUDA graph: packets of many lengths, whose results are compared with a batch that
//! the host describes; then the speed of both is measured.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_described_batch
//! ```

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr, sys};
use aes_bitslice_runtime::cuda::{DeviceAads, DeviceBatch, DeviceNonces, DeviceRanges, DeviceTags, IntegerType};
use aes_bitslice_runtime::{Aads, Backend, Engine, GcmEncryptBatch, Key, KeyBits, Nonces, Ranges};
use std::time::Instant;

const RUNS: usize = 30;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Ok(engine) => engine,
        Err(error) => {
            println!("This example needs an NVIDIA GPU: {error}");
            return Ok(());
        }
    };
    println!("{engine:?}");
    println!(
        "Microseconds, medians of {RUNS}, by the clock until all is done: of a batch that the host describes; of one that arrays in GPU"
    );
    println!("memory describe; of a graph of that.");
    println!("{:>24} {:>9} {:>9} {:>9} {:>14}", "messages", "host", "arrays", "graph", "Tbit/s, graph");
    let mixed = |n: u64| 64 + (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 1437;
    measure(&engine, "44739 x 1500", &vec![1500; 44_739])?;
    measure(&engine, "1000 of 64 to 1500", &(0..1000).map(mixed).collect::<Vec<_>>())?;
    measure(&engine, "100000 of 64 to 1500", &(0..100_000).map(mixed).collect::<Vec<_>>())?;
    measure(&engine, "4096 x 16384", &vec![16384; 4096])?;
    measure(&engine, "1000000 x 64", &vec![64; 1_000_000])
}

/// The address of memory that lives until the stream was waited for.
fn at<T>(stream: &CudaStream, memory: &CudaSlice<T>) -> u64 {
    memory.device_ptr(stream).0
}

fn measure(engine: &Engine, name: &str, lengths: &[u64]) -> Outcome<()> {
    let cipher = engine.cipher(&Key::generate(KeyBits::Aes128)?)?;
    let context = engine.cuda_context()?;
    // SAFETY: all work is on one stream.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let device = cipher.device()?;
    // At multiples of 16.
    let mut end = 0;
    let offset = |n: &u64| {
        end += n.next_multiple_of(16);
        end - n.next_multiple_of(16)
    };
    let offsets: Vec<u64> = lengths.iter().map(offset).collect();
    let plain: Vec<u8> = (0..end).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
    let count = lengths.len();

    // By the host.
    let (ranges, nonces) = (Ranges::lengths(&*offsets, lengths), Nonces::counted([0; 12], 64));
    let encrypt = GcmEncryptBatch::from_arrays(&ranges, &nonces, &Aads::shared(b"a header"))?;
    let mut by_host = stream.clone_htod(&plain)?;
    let expected = device.run_with_output(&stream, encrypt.clone(), &mut by_host)?.wait()?;

    // By arrays.
    let (offsets, lengths) = (stream.clone_htod(&offsets)?, stream.clone_htod(lengths)?);
    let (first, header) = (stream.alloc_zeros::<u8>(12)?, stream.clone_htod(b"a header")?);
    let (data, tags, fault) =
        (stream.clone_htod(&plain)?, stream.alloc_zeros::<u8>(16 * count)?, stream.alloc_zeros::<u32>(2)?);
    let batch = DeviceBatch::new(
        count,
        DeviceRanges::lengths((IntegerType::U64, at(&stream, &offsets)), (IntegerType::U64, at(&stream, &lengths))),
        DeviceNonces::counted(at(&stream, &first), 64)?,
        DeviceAads::shared(at(&stream, &header), 8),
    )?;
    let make = DeviceTags::Make { tags: at(&stream, &tags) };
    let (at_data, at_fault) = (at(&stream, &data), at(&stream, &fault));
    let call = || {
        // SAFETY: all memory lives until the stream was waited for.
        unsafe { device.run_raw_described(stream.cu_stream(), &batch, make, at_data, at_data, end, at_fault) }
    };
    call()?;
    let fault_words = stream.clone_dtoh(&fault)?;
    DeviceBatch::check([fault_words[0], fault_words[1]])?;
    assert!(stream.clone_dtoh(&data)? == stream.clone_dtoh(&by_host)?, "ciphertext");
    assert!(stream.clone_dtoh(&tags)? == expected.as_flattened(), "tags");

    // Nothing of it leaves this program: only for that reason may nonces be reused.
    stream.synchronize()?;
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let put = call();
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0))?.ok_or("no graph")?;
    put?;
    let host = median(|| {
        device.run_with_output(&stream, encrypt.clone(), &mut by_host)?.wait()?;
        Ok(())
    })?;
    let arrays = median(|| Ok(call().map(|()| stream.synchronize())??))?;
    let graph = median(|| {
        graph.launch()?;
        Ok(stream.synchronize()?)
    })?;
    let rate = 8.0 * end as f64 / graph / 1e12;
    println!("{name:>24} {:>9.1} {:>9.1} {:>9.1} {rate:>14.2}", 1e6 * host, 1e6 * arrays, 1e6 * graph);
    Ok(())
}

fn median(mut work: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let mut times = Vec::new();
    for _ in 0..RUNS + 2 {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.drain(..2);
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}
