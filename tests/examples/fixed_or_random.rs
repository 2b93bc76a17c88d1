//! Launches of every kernel in memory of a CUDA GPU, with one key and data or with new ones each time: for a profiler, which must count the
//! same in both cases.
//!
//! ```sh
//! S=l1tex__t_sectors_pipe_lsu_mem_global_op; M=smsp__inst_executed.sum,${S}_ld.sum,${S}_st.sum
//! for which in fixed random; do
//!     ncu --csv --metrics $M target/release/examples/fixed_or_random $which 1000 > $which.csv
//! done
//! ```
//!
//! Each metric of each kernel and grid must have three values, one for each length of key, and the same ones in both files.

use aes_bitslice_runtime::{Backend, Engine, Error, Key, KeyBits, Mode};
use aes_bitslice_tests::operation::AnyOperation;
use aes_bitslice_tests::reference::noise;
use aes_bitslice_tests::with_operation;

/// Bytes of a launch: several tiles of some thread blocks.
const BYTES: usize = 1 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let is_random = match arguments.next().as_deref() {
        None | Some("fixed") => false,
        Some("random") => true,
        Some(other) => return Err(format!("`{other}` is neither `fixed` nor `random`").into()),
    };
    let times: u64 = arguments.next().map_or(Ok(2), |times| times.parse())?;
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Err(e @ Error::CudaUnavailable { .. }) => {
            println!("nothing to count here: {e}");
            return Ok(());
        }
        other => other?,
    };
    let stream = engine.cuda_context()?.new_stream()?;
    for time in 0..times {
        let seed = if is_random { 1 + time } else { 0 };
        for bits in KeyBits::ALL {
            let cipher = engine.cipher(&Key::new(&noise(seed, bits.bytes()))?)?;
            let mut data = stream.clone_htod(&noise(seed + 1_000_000, BYTES))?;
            for mode in Mode::OF_ONE_KEY {
                // The counter is public, and the same.
                let any = AnyOperation::of(mode, 7, 0);
                with_operation!(any, operation => cipher.device()?.run(&stream, operation, &mut data))?;
            }
        }
    }
    stream.synchronize()?;
    println!("{times} times every mode and length of key");
    Ok(())
}
