//! CMAC of many messages in device memory (`op/cmac_batch`): what describes them goes to the device with the subkeys, one launch makes all
//! tags, and they come back, all on the caller's stream.

use crate::backend::cuda::batch::on_device;
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::batch_memory::BatchMemory;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::choice::{Choice, Kernels};
use crate::exec::cores;
use crate::op::batch::OfCmac;
use crate::op::buffers::Buffers;
use crate::op::cmac_batch::{CmacBatch, CmacVerifyBatch};
use crate::op::cpu_key::CpuKey;
use crate::op::launch::{Entry, Value};
use crate::op::operation::{Steps, finished, keyed};
use aes_bitslice_core::mode::Mode;
use cudarc::driver::sys::CUstream;
use std::ops::Range;

impl DeviceKey {
    /// Loads and tests the kernel, unless that was done before. The device was entered.
    pub(crate) fn prepare_cmac(&self) -> Result<(), Error> {
        self.kernel(Mode::EcbEncrypt, Choice::Bitsliced)?;
        self.device().test_cmac(|| test(self))
    }

    /// # Safety
    /// As [`launch_batch`](Self::launch_batch).
    pub(crate) unsafe fn launch_cmac(
        &self,
        stream: CUstream,
        span: Span,
        batch: &OfCmac<'_>,
    ) -> Result<BatchMemory, Error> {
        let (kernel, keys) = self.kernel(Mode::EcbEncrypt, Choice::Bitsliced)?;
        let all = batch.messages;
        let table = 0..batch.table.as_flattened().len();
        let subkeys = table.end..table.end + 32;
        let tags = subkeys.end..subkeys.end + 16 * all;
        let mut memory = self.device().batch_memories().take(tags.end)?;
        let pinned = memory.pinned();
        cores::copy(&mut pinned[table.clone()], batch.table.as_flattened());
        pinned[subkeys.clone()].copy_from_slice(batch.subkeys.expect("derived before the work").as_flattened());
        // Tags that somebody else is to be refused, too, where they are verified.
        let secret = subkeys.start..tags.end;
        // SAFETY: as the caller promises.
        unsafe {
            memory.run(stream, subkeys.end, tags.clone(), secret, |begin| {
                let at = |range: &Range<usize>| Value::Address(begin + range.start as u64);
                let values = vec![
                    ("messages", at(&table)),
                    ("all", Value::U32(all as u32)),
                    ("subkeys", at(&subkeys)),
                    ("tags", at(&tags)),
                ];
                // A tile is as many messages as it has blocks elsewhere.
                kernel.run(stream, span, keys, |shape| {
                    Ok(shape.launch(Entry::Cmac, 0, all as u64, values)?.into_iter().collect())
                })
            })?;
        }
        Ok(memory)
    }
}

/// The known answers that the kernel must give before its first use: tags of several lengths, and one that is wrong.
fn test(key: &DeviceKey) -> Result<(), Error> {
    let secret = Key::new(&std::array::from_fn::<u8, 24, _>(|i| (i * 5 + 1) as u8))?;
    let (key, cpu) = (DeviceKey::with_stored(key.device().clone(), &secret, Kernels::Bitsliced), CpuKey::new(&secret));
    let data: Vec<u8> = (0..20_000_u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
    // More than a tile.
    let message = |n: u64| 67 * n..67 * n + [64, 0, 67, 16, 31, 48][n as usize % 6];
    let messages: Vec<Range<u64>> = (0..290).map(message).chain(std::iter::once(19_000..20_000)).collect();
    let make = keyed(CmacBatch::new(&messages)?, Some(&cpu))?;
    let mut tags = finished(&make, vec![make.on_cpu(&cpu, Buffers::Read(&data))])?;
    let (_, made) = on_device(&key, &make, &data)?;
    let mut is_right = made == tags;
    tags[4] = tags[5];
    let verify = keyed(CmacVerifyBatch::new(&messages, &tags)?, Some(&cpu))?;
    is_right &= on_device(&key, &verify, &data)?.1.failed() == [4];
    let kernel = || "aes-ecb-encrypt-planes, for CMAC of many messages,".to_string();
    if is_right { Ok(()) } else { Err(Error::SelfTestFailed { kernel: kernel() }) }
}
