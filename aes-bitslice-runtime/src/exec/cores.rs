//! One call's chunks, divided between the cores of the processor.

use crate::exec::chunk::{Chunk, cut};
use crate::op::buffers::Buffers;
use crate::op::operation::{CpuCipher, Operation};
use rayon::prelude::*;

/// Bytes of a chunk: small enough to balance the cores and stay in their second-level caches, large enough that starting one
/// costs nothing beside it.
pub(crate) const CHUNK: usize = 256 << 10;

/// Does a call on all cores; one of a single chunk stays on this thread. Returns what comes of each chunk, in order.
pub(crate) fn run<O: Operation>(cipher: &impl CpuCipher, operation: O, data: Buffers<'_>) -> Vec<O::Part> {
    if data.len() <= CHUNK || O::SERIAL {
        return vec![operation.on_cpu(cipher, data)];
    }
    let chunks = cut(operation, data, CHUNK).into_par_iter();
    chunks.map(|Chunk { operation, data }| operation.on_cpu(cipher, data)).collect()
}
