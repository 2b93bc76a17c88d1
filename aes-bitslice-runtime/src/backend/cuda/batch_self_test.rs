//! The kernels of a call on many messages in device memory: loaded, and tested with known answers, before their first use.

use crate::backend::cuda::commands::Span;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_data::DeviceCipher;
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::gcm_batch::By;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::tag::Tag;
use crate::cpu::key::CpuKey;
use crate::exec::call::Call;
use crate::exec::choice::{Choice, Kernels};
use crate::exec::cores;
use crate::op::batch::Batch;
use crate::op::buffers::Buffers;
use crate::op::cmac_batch::{CmacBatch, CmacVerifyBatch};
use crate::op::gcm_batch::{GcmDecryptBatch, GcmEncryptBatch, GcmMessage};
use crate::op::operation::{Pass, Ready};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::mode::Mode;
use std::ops::Range;
use std::sync::Arc;

impl DeviceCipher<'_> {
    /// Loads and tests everything that a call on these messages needs, unless that was done before. The caller has entered the device.
    pub(crate) fn prepare_batch(&self, batch: &Batch<'_>) -> Result<(), Error> {
        let device = self.device();
        match batch {
            Batch::Gcm(batch) => {
                let kernels = self.key()?.gcm_kernels(batch)?;
                device.test_batch(Mode::Ctr, Entry::Messages, || test_gcm(device, &kernels))
            }
            Batch::Cmac(_) => {
                self.key()?.kernel(Mode::EcbEncrypt, Choice::Bitsliced)?;
                device.test_batch(Mode::EcbEncrypt, Entry::Cmac, || test_cmac(device))
            }
            Batch::GcmJobs(_) => device.prepare_gcm_jobs(),
            Batch::Jobs(jobs) => device.prepare_jobs(jobs.flow.mode().direction()),
        }
    }
}

/// Does a call on a batch on a copy of the data on the device, and waits. Returns the data then on the device, and the operation's output.
pub(super) fn on_device<O: Pass>(
    cipher: &DeviceCipher<'_>,
    call: &Call<O>,
    data: &[u8],
) -> Result<(Vec<u8>, O::Output), Error> {
    let batch = call.operation().messages()?.ok_or(Error::WrongCall { operation: O::NAME, call: "run" })?;
    let mut slot = cipher.device().slots.take(data.len())?;
    let (place, mut found) = (slot.room(0, data.len()), vec![0; data.len()]);
    let span = Span::in_place(O::ACCESS, place, data.len() as u64);
    // SAFETY: waited for before anything is looked at or freed; the data is in the slot's memory.
    let started = unsafe {
        slot.copy_in(0, data)
            .and_then(|()| cipher.launch_batch(*slot.queue(), span, &batch))
            .and_then(|memory| slot.copy_out(0, &mut found).map(|()| memory))
    };
    slot.wait()?;
    let part = started?.read(|results| call.operation().part(data.len() as u64, results))?;
    Ok((found, call.finish(vec![part])?))
}

/// Tests the known answers that the kernels must give before their first use for many messages: encrypts a few on the device, and decrypts
/// them with one wrong tag. With the kernel of one launch, it then does this with one message, which a whole warpgroup shares, and with 9,000,
/// each of which has one group.
fn test_gcm(device: &Arc<Device>, kernels: &By<'_>) -> Result<(), Error> {
    const BYTES: usize = 9000;
    let secret = Key::new(&std::array::from_fn::<u8, 32, _>(|i| (i * 5 + 1) as u8))?;
    let (key, cpu) =
        (DeviceKey::with_stored(device.clone(), &secret, Kernels::Bitsliced), Arc::new(CpuKey::new(&secret)));
    let cipher = DeviceCipher::new(&key, Some(&cpu));
    let few = vec![0, 16, 16 + 496, 1024, 1500, 3000, 5304, 5305, 8000, BYTES as u64];
    let plaintext: Vec<u8> = (0..BYTES as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
    let mut cases = vec![few];
    if let By::OneLaunch(_) = kernels {
        cases.extend([vec![0, BYTES as u64], (0..=BYTES as u64).collect()]);
    }
    for begins in cases {
        let nonces: Vec<[u8; 12]> =
            (1..begins.len() as u128).map(|n| *n.to_le_bytes().first_chunk().unwrap()).collect();
        let message = |n: usize| GcmMessage {
            nonce: &nonces[n],
            aad: &plaintext[..3 * (n % 9)],
            range: begins[n]..begins[n + 1],
        };
        let messages: Vec<_> = (0..nonces.len()).map(message).collect();
        let mut ciphertext = plaintext.clone();
        let encrypt = Call::without_data(&cipher, GcmEncryptBatch::new(&messages)?)?;
        let mut tags = encrypt.finish(cores::run(&cpu, &encrypt, Buffers::InPlace(&mut ciphertext))?)?;
        let (found, made) = on_device(&cipher, &encrypt, &plaintext)?;
        let mut is_right = found == ciphertext && made == tags;
        let wrong = tags.len() / 2;
        tags[wrong] = Tag::from([0x3c; 16]);
        let decrypt = Call::without_data(&cipher, GcmDecryptBatch::new(&messages, &tags)?)?;
        let mut expected = plaintext.clone();
        expected[begins[wrong] as usize..begins[wrong + 1] as usize].fill(0);
        let (found, opened) = on_device(&cipher, &decrypt, &ciphertext)?;
        is_right &= found == expected && opened.failed() == [wrong];
        if !is_right {
            return Err(Error::SelfTestFailed { kernel: format!("{}, for many messages,", kernels.names()) });
        }
    }
    Ok(())
}

/// Tests the known answers that the kernel must give before its first use: tags of several lengths, and a wrong one; messages that
/// differ in length, and equal ones.
fn test_cmac(device: &Arc<Device>) -> Result<(), Error> {
    let secret = Key::new(&std::array::from_fn::<u8, 24, _>(|i| (i * 5 + 1) as u8))?;
    let key = DeviceKey::with_stored(device.clone(), &secret, Kernels::Bitsliced);
    let cpu = Arc::new(CpuKey::new(&secret));
    let cipher = DeviceCipher::new(&key, Some(&cpu));
    let data: Vec<u8> = (0..20_000_u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
    // More than a tile, and more than two that are alike.
    let message = |n: u64| 67 * n..67 * n + [64, 0, 67, 16, 31, 48][n as usize % 6];
    let different = (0..290).map(message).chain(std::iter::once(19_000..20_000)).collect();
    let equal = (0..600).map(|n| 29 * n..29 * n + 35).collect();
    let all: [Vec<Range<u64>>; 2] = [different, equal];
    for messages in &all {
        let make = Call::without_data(&cipher, CmacBatch::new(messages)?)?;
        let mut tags = make.finish(cores::run(&cpu, &make, Buffers::Read(&data))?)?;
        let (_, made) = on_device(&cipher, &make, &data)?;
        let mut is_right = made == tags;
        tags[4] = tags[5];
        let verify = Call::without_data(&cipher, CmacVerifyBatch::new(messages, &tags)?)?;
        is_right &= on_device(&cipher, &verify, &data)?.1.failed() == [4];
        if !is_right {
            let kernel = "aes-ecb-encrypt-planes, for CMAC of many messages,".into();
            return Err(Error::SelfTestFailed { kernel });
        }
    }
    Ok(())
}
