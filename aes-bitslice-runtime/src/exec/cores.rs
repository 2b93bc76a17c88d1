//! One call's chunks, divided between the cores of the processor where the call is long enough.

use crate::base::lock::lock;
use crate::base::stop::Stop;
use crate::base::threads::{divided, threads};
use crate::cpu::key::CpuKey;
use crate::exec::call::{Call, PartOf};
use crate::exec::chunk::{Chunk, cut};
use crate::op::buffers::Buffers;
use crate::op::operation::{Pass, Ready};
use aes_bitslice_core::memory::{NoMemory, collected};
use std::sync::{Mutex, PoisonError};

/// Bytes of a chunk: small enough to balance the cores and stay in their second-level caches, large enough that starting one
/// costs nothing in comparison.
const CHUNK: usize = 256 << 10;

/// Performs a call on all cores; a call that is worth only [one](is_of_one) stays on this thread, and is within work that is
/// [scrubbed](CpuKey::scrubbed). Returns the result of each chunk, in order; of those that were left undone, because the call was
/// stopped, any.
pub(crate) fn run<O: Pass>(cipher: &CpuKey, call: &Call<O>, data: Buffers<'_>) -> Result<Vec<PartOf<O>>, NoMemory> {
    if call.cut().is_none() || is_of_one(cipher, data.len()) {
        return Ok(vec![call.operation().on_cpu(cipher, data)]);
    }
    // Values that are moved to the heap take what the stack holds between their fields with them.
    cipher.scrubbed(|| ());
    let chunks = cut(call.clone(), data, CHUNK)?.into_iter().map(|chunk| Mutex::new(Some(chunk)));
    let chunks = collected(chunks)?;
    let parts = Mutex::new(collected(chunks.iter().map(|_| PartOf::<O>::default()))?);
    let stop = Stop::current();
    on_all(chunks.len(), &|index| {
        let Some(Chunk { call, data }) = lock(&chunks[index]).take().filter(|_| !stop.is_now()) else { return };
        let part = cipher.scrubbed(|| call.operation().on_cpu(cipher, data));
        lock(&parts)[index] = part;
    });
    Ok(parts.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Whether one core performs a call on this many bytes in one go. It does not look whether the call is stopped.
pub(crate) fn is_of_one(cipher: &CpuKey, bytes: usize) -> bool {
    bytes <= cipher.alone || threads() == 1 && !Stop::current().is_possible()
}

/// Runs the jobs with all numbers below `jobs`, divided between the cores. It has the same type for all operations, so that the division is
/// compiled once, here, and not for each operation in each crate that calls it.
fn on_all(jobs: usize, job: &(dyn Fn(usize) + Sync)) {
    divided(0..jobs, job);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::counter::{Counter, CounterMode};
    use crate::base::key::Key;
    use crate::base::nonce::Nonce;
    use crate::cpu::instructions::Instructions;
    use crate::cpu::key::CpuKey;
    use crate::op::cbc::{CbcDecrypt, CbcEncrypt};
    use crate::op::ctr::Ctr;
    use crate::op::ecb::Ecb;
    use crate::op::gcm_batch::{GcmEncryptBatch, GcmMessage};

    #[test]
    fn one_core_performs_what_is_over_before_others_begin() {
        for instructions in Instructions::available() {
            let cipher = CpuKey::on(instructions, &Key::new(&[7; 16]).unwrap());
            let chunks =
                |bytes| run(&cipher, &Call::on_a_device(Ecb::encrypt()), (&mut vec![0; bytes]).into()).unwrap().len();
            let alone = cipher.alone;
            let all = if threads() == 1 { 1 } else { alone / CHUNK + 1 };
            assert_eq!([chunks(alone), chunks(alone + 16)], [1, all], "{instructions}");
        }
    }

    /// Whether a call on more than a core takes alone changes it.
    fn changes(operation: impl Pass) -> bool {
        let (key, mut data) = (CpuKey::new(&Key::new(&[7; 16]).unwrap()), vec![1; 8 * CHUNK]);
        run(&key, &Call::on_a_device(operation), Buffers::InPlace(&mut data)).unwrap();
        data != vec![1; 8 * CHUNK]
    }

    #[test]
    fn what_is_stopped_is_left_undone() {
        let stop = Stop::new();
        let nonce = Nonce::from([3; 12]);
        let message = GcmMessage { nonce: nonce.as_bytes(), aad: b"", range: 0..CHUNK as u64 };
        let all = || {
            [
                changes(Ctr::new(&Counter::new(CounterMode::Ctr128BE, [0; 16]), 0)),
                changes(CbcDecrypt::new(&[0; 16])),
                changes(CbcEncrypt::new(&[0; 16])),
                changes(GcmEncryptBatch::new(std::slice::from_ref(&message)).unwrap()),
            ]
        };
        assert_eq!(stop.during(all), [true; 4]);
        stop.now();
        assert_eq!(stop.during(all), [false; 4]);
        assert_eq!(all(), [true; 4]);
    }
}
