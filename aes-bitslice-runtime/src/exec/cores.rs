//! One call's chunks, divided between the cores of the processor.

use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::exec::chunk::{Chunk, cut};
use crate::op::buffers::Buffers;
use crate::op::operation::{CpuCipher, Keys, Operation};
use rayon::prelude::*;

/// Bytes of a chunk: small enough to balance the cores and stay in their second-level caches, large enough that starting one
/// costs nothing in comparison.
pub(crate) const CHUNK: usize = 256 << 10;

/// Does a call on all cores; one of a single chunk stays on this thread. Returns what comes of each chunk, in order.
pub(crate) fn run<O: Operation>(cipher: &impl CpuCipher, operation: O, data: Buffers<'_>) -> Vec<O::Part> {
    if data.len() <= CHUNK || O::SERIAL {
        return vec![on_this(cipher, &operation, data)];
    }
    let chunks = cut(operation, data, CHUNK).into_par_iter();
    chunks.map(|Chunk { operation, data }| on_this(cipher, &operation, data)).collect()
}

/// Does a chunk on the core that this thread is on, and leaves nothing on the stack of what the operation derived from the key.
fn on_this<O: Operation>(cipher: &impl CpuCipher, operation: &O, data: Buffers<'_>) -> O::Part {
    match O::KEYS {
        Keys::One => operation.on_cpu(cipher, data),
        Keys::OneOnCpu | Keys::Two => scrubbed::<DERIVED, _>(|| operation.on_cpu(cipher, data)),
    }
}
