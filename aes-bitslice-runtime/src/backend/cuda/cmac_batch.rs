//! CMAC of many messages in device memory (`op/cmac_batch`): their description goes to the device with the subkeys, one launch computes all
//! tags on the caller's stream, and they come back on one of their own. Of messages that are equally long and equally far apart, a tile is
//! described.

use crate::backend::cuda::commands::Span;
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::batch_memory::BatchMemory;
use crate::base::error::Error;
use crate::base::threads::divided;
use crate::exec::choice::Choice;
use crate::op::batch::OfCmac;
use crate::op::cmac_batch::message;
use crate::op::launch::{Entry, Value};
use crate::op::ranges::Placed;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::cmac::Listed;
use aes_bitslice_core::mode::Mode;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::ops::Range;

/// Messages that a thread describes at a time.
const PART: usize = 8192;

/// Which messages the table has.
fn listed(messages: &Placed) -> Listed {
    Listed::of(messages.len(), messages.stride())
}

/// Writes the table of messages. For many, on all cores.
fn write(batch: &OfCmac<'_>, table: &mut [[u8; 4]]) {
    let OfCmac { messages, order, .. } = *batch;
    let listed = listed(messages);
    let part = |(n, part): (usize, &mut [[u8; 4]])| {
        listed.write(|n| message(messages.get(n)), order, PART * n, part);
    };
    divided(table.chunks_mut(4 * PART).enumerate(), part);
}

impl DeviceKey {
    /// # Safety
    /// The span is within memory of the device that is live until the work is done, and has all messages; the stream is live.
    pub(crate) unsafe fn launch_cmac(
        &self,
        stream: CUstream,
        span: Span,
        batch: &OfCmac<'_>,
    ) -> Result<BatchMemory, Error> {
        let (kernel, keys) = self.kernel(Mode::EcbEncrypt, Choice::Bitsliced)?;
        let all = batch.messages.len();
        let table = 0..4 * listed(batch.messages).words();
        let subkeys = table.end..table.end + 32;
        let tags = subkeys.end..subkeys.end + 16 * all;
        let mut memory = self.device().batch_memories.take(tags.end, tags.end)?;
        let pinned = memory.pinned();
        write(batch, pinned[table.clone()].as_chunks_mut().0);
        pinned[subkeys.clone()].copy_from_slice(batch.subkeys.as_flattened());
        // The tags, too: when verifying, others must not learn them.
        let secret = subkeys.start..tags.end;
        // SAFETY: as the caller promises.
        unsafe {
            memory.run(stream, subkeys.end, tags.clone(), secret, |begin| {
                let values = values(begin, batch.messages, [&table, &subkeys, &tags]);
                // A message counts as a block: a tile has the same number of messages as it has blocks in other modes.
                kernel.run(&mut { stream }, span, keys, |shape| {
                    Ok(shape.launch(Entry::Cmac, 0, all as u64, values)?.into_iter().collect())
                })
            })?;
        }
        Ok(memory)
    }
}

/// The values for a launch on these messages, whose table, subkeys and tags are in memory that begins there.
fn values(begin: CUdeviceptr, all: &Placed, [table, subkeys, tags]: [&Range<usize>; 3]) -> Vec<(Argument, Value)> {
    let at = |range: &Range<usize>| Value::Address(begin + range.start as u64);
    vec![
        (Argument::Messages, at(table)),
        (Argument::Stride, Value::U64(listed(all).stride)),
        (Argument::All, Value::U32(all.len() as u32)),
        (Argument::Subkeys, at(subkeys)),
        (Argument::Tags, at(tags)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::commands::RoundKeys;
    use crate::backend::cuda::kernel::binding::tests::all_are_found;
    use crate::backend::cuda::select::stored::{Stored, StoredKind};
    use crate::op::launch::Launch;
    use crate::op::ranges::Rules;
    use aes_bitslice_core::order::Order;
    use zeroize::Zeroizing;

    const RULES: Rules = Rules { what: "message", ascending: false, longest: u64::MAX };

    /// By several threads.
    #[test]
    fn a_device_is_told_of_all_messages() {
        for count in [0, 1, 256, 257, 2 * PART, 2 * PART + 77] {
            for scale in [0, 1] {
                let range = |n: usize| Some(7 * n as u64..(7 * n + scale * (n * n % 1000)) as u64);
                let messages = &Placed::of(count, range, &RULES).unwrap();
                let order = &Order::longest_first(count, |n| message(messages.get(n)).blocks()).unwrap();
                let listed = listed(messages);
                let [mut expected, mut found] = [0, 1].map(|_| vec![[0xff; 4]; listed.words()]);
                listed.write(|n| message(range(n).unwrap()), order, 0, &mut expected);
                write(&OfCmac { messages, order, subkeys: &[[0; 16]; 2] }, &mut found);
                assert!(found == expected, "{count}");
            }
        }
    }

    #[test]
    fn the_stored_kernel_finds_its_arguments() {
        let stored = Stored::for_device(48 << 10);
        let manifest = &stored.find(Mode::EcbEncrypt, StoredKind::Planes).unwrap().manifest;
        let messages = Placed::of(3, |n| Some(7 * n as u64..9 * n as u64), &RULES).unwrap();
        let values = values(1 << 34, &messages, [&(0..48), &(48..80), &(80..128)]);
        let launch = Launch { entry: Entry::Cmac, at: 0, thread_blocks: 1, threads: manifest.threads, values };
        let keys = RoundKeys::Argument(Zeroizing::new(vec![7; 61]));
        all_are_found(manifest, &launch, Span::between(Some(1 << 32), None, 96), Some(&keys));
    }
}
