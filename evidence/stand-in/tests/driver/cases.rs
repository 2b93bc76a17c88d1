//! Calls, each with small data.

use crate::bench::{Bench, CUT, CUTS, Outcome, Place};
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, DevicePtr, DevicePtrMut, DeviceRepr};
use aes_bitslice_runtime::cuda::{DeviceAads, DeviceBatch, DeviceNonces, DeviceRanges, DeviceTags, IntegerType};
use aes_bitslice_runtime::{
    Aads, Backend, CbcDecrypt, CmacBatch, CmacVerifyBatch, Ctr, EachKey, Ecb, Engine, Error, GcmDecrypt,
    GcmDecryptBatch, GcmDecryptJobs, GcmEncrypt, GcmEncryptBatch, GcmEncryptJobs, GcmJob, GcmMessage, GcmSivDecrypt,
    GcmSivEncrypt, Gmac, Job, JobKeys, Jobs, Key, KeyBits, Keystream, Mode, Nonce, Nonces, Operation, Prg, Ranges, Tag,
    XaesDecrypt, XaesEncrypt, Xts,
};
use aes_bitslice_seal::Error as SealError;
use aes_bitslice_seal::tink::{self, Keyset};
use aes_bitslice_tests::operation::counter;
use aes_bitslice_tests::others;
use aes_bitslice_tests::reference::noise;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::LazyLock;

/// A call.
pub struct Case {
    pub name: &'static str,
    on: On,
    verified: Verified,
    pub call: fn(&Bench<'_>) -> Outcome,
}

/// Where the data of a case can be.
#[derive(Clone, Copy)]
enum On {
    All,
    /// Everywhere except sharded memory.
    NotShards,
    /// Host memory alone, pinned or not.
    Host,
    /// Host memory alone, with something for each device.
    HostForAll,
    /// Memory of a device: on the host the CPU alone runs them.
    Device,
    /// Memory of the only device of an engine.
    OnlyDevice,
}

/// The part of a case's output that may be seen only if it is authentic.
#[derive(Clone, Copy)]
enum Verified {
    Nothing,
    /// All of it, as one message.
    All,
    /// Each of [`MESSAGES`].
    Messages,
}

const fn case(name: &'static str, on: On, verified: Verified, call: fn(&Bench<'_>) -> Outcome) -> Case {
    Case { name, on, verified, call }
}

impl Case {
    /// The places for its data on an engine of this many devices.
    pub fn places(&self, devices: u32) -> Vec<Place> {
        use Place::{Device, Host, HostForAll, HostInChunks, Pinned, Sharded, ShardedToAnother};
        // So that each device has several chunks, or most of them.
        let ahead = (devices as usize - 1) * 2 * CUT;
        match (self.on, devices) {
            (On::All | On::NotShards, 1) => vec![Host, HostInChunks, Pinned, Device(0), Device(3)],
            (On::All, _) => vec![HostInChunks, Sharded(ahead), Pinned, ShardedToAnother(ahead), Device(3), Host],
            (On::NotShards, _) => vec![HostInChunks, Pinned, Device(3), Host],
            (On::Host, 1) => vec![Host, Pinned],
            (On::Host, _) => vec![Host],
            (On::HostForAll, _) => vec![HostForAll(ahead)],
            (On::Device | On::OnlyDevice, 1) => vec![Device(0), Device(3)],
            (On::Device, _) => vec![Device(3)],
            (On::OnlyDevice, _) => vec![],
        }
    }

    /// Whether something may be left after a failed driver call, by its name.
    pub fn may_leave(&self, failed: &str) -> bool {
        // Objects that it was meant to free, or to wait for, may still be in use.
        let may_be_in_use = ["Free", "Destroy", "Synchronize", "Unload", "SetCurrent"];
        // cudarc leaks memory if it cannot create the events for it.
        let is_lost_by_cudarc = self.uses_memory_of_cudarc() && ["cuEventCreate", "cuCtxGetCurrent"].contains(&failed);
        is_lost_by_cudarc || may_be_in_use.iter().any(|part| failed.contains(part))
    }

    /// Whether all its secrets are other ones with [`Bench::with_secrets`], and everything that is public stays.
    pub fn has_other_secrets(&self) -> bool {
        // A file has a random header.
        !matches!(self.on, On::Host)
    }

    /// Whether it copies blocks of ciphertext, which are no secret, aside, in memory from a pool.
    pub fn sets_ciphertext_aside(&self) -> bool {
        self.name == "CBC decryption"
    }

    /// Whether its tag, which is no secret, is left on the device, if nobody asks for it, until that memory is used again: a tag of several
    /// launches, or one of a launch that is not done when it is dropped.
    pub fn leaves_its_tag(&self, in_one_launch: bool, is_done: bool) -> bool {
        match self.name {
            "GMAC" | "XAES-256-GCM encryption" => true,
            "GCM encryption" => !in_one_launch || !is_done,
            _ => false,
        }
    }

    /// Whether it allocates device memory through cudarc, not through the driver.
    fn uses_memory_of_cudarc(&self) -> bool {
        matches!(self.on, On::Host)
    }

    /// Beginnings and ends of messages, in data of `len` bytes, that may be seen only if they are authentic.
    pub fn verified(&self, len: usize) -> Vec<(usize, usize)> {
        match self.verified {
            Verified::Nothing => vec![],
            Verified::All => vec![(0, len)],
            Verified::Messages => MESSAGES.map(|(from, to)| (from as usize, to as usize)).into(),
        }
    }
}

/// All of them.
pub const CASES: [Case; 36] = [
    case("ECB encryption", On::All, Verified::Nothing, |bench| {
        bench.run(&bench.key(16), Ecb::encrypt(), &bench.blocks(1, 4080))
    }),
    case("ECB decryption", On::All, Verified::Nothing, |bench| {
        bench.run(&bench.key(24), Ecb::decrypt(), &bench.blocks(2, 6000))
    }),
    case("CBC decryption", On::All, Verified::Nothing, |bench| {
        bench.run(&bench.key(32), CbcDecrypt::new(&[7; 16]), &bench.blocks(3, 9000))
    }),
    case("CTR", On::All, Verified::Nothing, |bench| {
        bench.run(&bench.key(32), Ctr::new(&counter([0xff; 16]), 5), &bench.noise(4, 5003))
    }),
    case("a key stream", On::All, Verified::Nothing, |bench| {
        bench.run(&bench.key(16), Keystream::new(&counter([0xff; 16]), 3), &bench.noise(5, 2001))
    }),
    case("XTS encryption", On::All, Verified::Nothing, |bench| {
        bench.run(&Key::xts(&bench.keys()).unwrap(), Xts::encrypt(512, 9).unwrap(), &bench.noise(6, 5030))
    }),
    case("XTS decryption", On::All, Verified::Nothing, |bench| {
        bench.run(&Key::xts(&bench.keys()).unwrap(), Xts::decrypt(4096, 9).unwrap(), &bench.noise(7, 9001))
    }),
    case("GCM encryption", On::All, Verified::Nothing, |bench| {
        bench.run_with_output(&bench.key(16), GcmEncrypt::new(&nonce(), b"a header"), &bench.noise(8, 4001))
    }),
    case("GCM encryption whose tag stays in memory of the device", On::Device, Verified::Nothing, |bench| {
        bench.run_to_tag(&bench.key(24), GcmEncrypt::new(&nonce(), b"a header"), &bench.noise(31, 4007))
    }),
    case("GMAC whose tag stays in memory of the device", On::Device, Verified::Nothing, |bench| {
        bench.run_to_tag(&bench.key(32), Gmac::new(&nonce()), &bench.noise(32, 2999))
    }),
    case("GCM decryption", On::All, Verified::All, |bench| {
        let (secret, tag) = others::gcm(&bench.keys()[..32], &[3; 12], b"a header", &bench.noise(9, 3000));
        bench.run_with_output(&bench.key(32), GcmDecrypt::new(&nonce(), b"a header", &Tag::new(&tag).unwrap()), &secret)
    }),
    case("GCM decryption of what is not authentic", On::All, Verified::All, |bench| {
        let (secret, tag) = others::gcm(&bench.keys()[..32], &[3; 12], b"a header", &bench.noise(9, 3000));
        bench.run_with_output(&bench.key(32), GcmDecrypt::new(&nonce(), b"another", &Tag::new(&tag).unwrap()), &secret)
    }),
    case("AES-GCM-SIV encryption", On::NotShards, Verified::Nothing, |bench| {
        bench.run_with_output(&bench.key(32), GcmSivEncrypt::new(&nonce(), b"a header"), &bench.noise(10, 2000))
    }),
    case("AES-GCM-SIV decryption", On::NotShards, Verified::All, |bench| {
        let (secret, tag) = others::gcm_siv(&bench.keys()[..16], &[3; 12], b"a header", &bench.noise(11, 1501));
        bench.run_with_output(
            &bench.key(16),
            GcmSivDecrypt::new(&nonce(), b"a header", &Tag::new(&tag).unwrap()),
            &secret,
        )
    }),
    case("XAES-256-GCM encryption", On::NotShards, Verified::Nothing, |bench| {
        bench.run_with_output(&bench.key(32), XaesEncrypt::new(&long_nonce(), b"a header"), &bench.noise(20, 2011))
    }),
    case("XAES-256-GCM decryption", On::NotShards, Verified::All, |bench| {
        let (secret, tag) = others::xaes(&bench.keys()[..32], &[3; 24], b"a header", &bench.noise(21, 1601));
        let decrypt = XaesDecrypt::new(&long_nonce(), b"a header", &Tag::new(&tag).unwrap());
        bench.run_with_output(&bench.key(32), decrypt, &secret)
    }),
    case("GMAC", On::All, Verified::Nothing, |bench| {
        bench.read(&bench.key(24), Gmac::new(&nonce()), &bench.noise(12, 3333))
    }),
    case("GCM encryption of many messages", On::Device, Verified::Nothing, |bench| {
        let (mut nonces, data) = (nonces(), bench.noise(13, MESSAGES[3].1 as usize + 5));
        // Its first counter reveals the hash key.
        nonces[2] = vec![9; 16];
        bench.run_with_output(&bench.key(16), GcmEncryptBatch::new(&messages(&nonces)).unwrap(), &data)
    }),
    case("GCM decryption of many messages", On::Device, Verified::Messages, |bench| {
        let (nonces, mut data) = (nonces(), bench.noise(14, MESSAGES[3].1 as usize + 5));
        let keys = bench.keys();
        let tags = sealed(&mut data, |_| &keys[..16], |n| &nonces[n]).map(|tag| Tag::new(&tag).unwrap());
        bench.run_with_output(&bench.key(16), GcmDecryptBatch::new(&messages(&nonces), &tags).unwrap(), &data)
    }),
    case("GCM encryption of equally long messages", On::Device, Verified::Nothing, |bench| {
        let (ranges, nonces) = (Ranges::spaced(40, 77, 80), Nonces::counted([3; 12], 32));
        let encrypt = GcmEncryptBatch::from_arrays(&ranges, &nonces, &Aads::shared(b"header")).unwrap();
        bench.run_with_output(&bench.key(16), encrypt, &bench.noise(22, 40 * 80))
    }),
    case("CMAC of equally long messages", On::Device, Verified::Nothing, |bench| {
        let make = CmacBatch::from_arrays(&Ranges::equal(300, 20)).unwrap();
        bench.read(&bench.key(24), make, &bench.noise(23, 6000))
    }),
    case("CMAC of many messages", On::Device, Verified::Nothing, |bench| {
        bench.read(&bench.key(24), CmacBatch::new(&RANGES).unwrap(), &bench.noise(15, 100))
    }),
    case("verification of CMAC of many messages", On::Device, Verified::Nothing, |bench| {
        let data = bench.noise(15, 100);
        let tag =
            |range: &Range<u64>| others::cmac(&bench.keys()[..24], &data[range.start as usize..range.end as usize]);
        let tags = RANGES.each_ref().map(|range| Tag::new(&tag(range)).unwrap());
        bench.read(&bench.key(24), CmacVerifyBatch::new(&RANGES, &tags).unwrap(), &data)
    }),
    case("jobs under many keys", On::OnlyDevice, Verified::Nothing, |bench| {
        let keys = [bench.noise(16, 32), bench.noise(17, 32), bench.noise(18, 32)];
        let job = |n: usize| {
            let (from, to) = MESSAGES[n];
            Job { key: &keys[n], counter: [0xff; 16], range: from..to }
        };
        let jobs = Jobs::new(Mode::Ctr, &[job(0), job(1), job(2)]).unwrap();
        let data = bench.noise(19, MESSAGES[2].1 as usize + 3);
        run_under_own_keys(bench, jobs, &data)
    }),
    case("GCM encryption under many keys", On::OnlyDevice, Verified::Nothing, |bench| {
        let (keys, data) = (bench.noise(26, 96), bench.noise(24, MESSAGES[3].1 as usize + 5));
        run_under_own_keys(bench, GcmEncryptJobs::new(&gcm_jobs(&keys)).unwrap(), &data)
    }),
    case("GCM decryption under many keys", On::OnlyDevice, Verified::Messages, |bench| {
        let (keys, mut data) = (bench.noise(26, 96), bench.noise(25, MESSAGES[3].1 as usize + 5));
        let tags = sealed(&mut data, |n| &keys[24 * n..][..24], |_| &[5; 12]).map(|tag| Tag::new(&tag).unwrap());
        run_under_own_keys(bench, GcmDecryptJobs::new(&gcm_jobs(&keys), &tags).unwrap(), &data)
    }),
    case("GCM decryption under few keys", On::OnlyDevice, Verified::Messages, |bench| {
        let (keys, mut data) = (bench.noise(26, 48), bench.noise(25, MESSAGES[3].1 as usize + 5));
        let (numbers, nonces) = ([0, 1, 0, 1], [[5; 12], [5; 12], [6; 12], [6; 12]]);
        let tags = sealed(&mut data, |n| &keys[24 * numbers[n] as usize..][..24], |n| &nonces[n]);
        let keys = JobKeys::numbered(KeyBits::Aes192, &keys, &numbers);
        let ranges = MESSAGES.map(|(from, to)| from..to);
        let (ranges, nonces, aads) = (Ranges::from(&ranges[..]), Nonces::from(&nonces[..]), Aads::shared(b"header"));
        let jobs = GcmDecryptJobs::from_arrays(&keys, &ranges, &nonces, &aads, tags.as_flattened(), 16).unwrap();
        run_under_own_keys(bench, jobs.by_key_from(0), &data)
    }),
    case("the same number of bytes under each key", On::OnlyDevice, Verified::Nothing, |bench| {
        let (keys, data) = (bench.noise(20, 16 * 40), bench.noise(21, 48 * 40));
        let each = EachKey::new(Mode::EcbDecrypt, KeyBits::Aes128, [0; 16], 48).unwrap();
        match bench.place {
            Place::Host => {
                bench.on_host(&data, |data| bench.engine.run_each_key(&each, &keys, data).map(|()| String::new()))
            }
            _ => {
                let keys = bench.stream().clone_htod(&keys).expect("memory of the device");
                bench.on_device(&data, |stream, data| {
                    bench
                        .engine
                        .under_own_keys()
                        .device()?
                        .run_each_key(stream, &each, &keys, data)
                        .map(|()| String::new())
                })
            }
        }
    }),
    case("jobs whose keys are in memory of the device", On::OnlyDevice, Verified::Nothing, |bench| {
        let (keys, data) = (bench.noise(33, 96), bench.noise(34, MESSAGES[3].1 as usize + 5));
        let (counters, ranges) = ([[0xff; 16]; 4], MESSAGES.map(|(from, to)| from..to));
        let (bits, ranges) = (KeyBits::Aes192, Ranges::from(&ranges[..]));
        if bench.place == Place::Host {
            let jobs = Jobs::from_arrays(Mode::Ctr, bits, &keys, &counters, &ranges).unwrap();
            return run_under_own_keys(bench, jobs, &data);
        }
        let [keys, counters] = [&keys, counters.as_flattened()].map(|bytes| there(bench, bytes));
        bench.on_device(&data, |stream, data| {
            let layout = bench.engine.under_own_keys().device()?.job_layout(Mode::Ctr, bits, &ranges)?;
            layout.run(stream, &keys, Some(&counters), data).map(|()| format!("{:?}", ()))
        })
    }),
    case("GCM encryption under keys in memory of the device", On::OnlyDevice, Verified::Nothing, |bench| {
        let (keys, data) = (bench.noise(35, 128), bench.noise(36, MESSAGES[3].1 as usize + 5));
        gcm_under_keys_there(bench, &keys, &data, None)
    }),
    case("GCM decryption under keys in memory of the device", On::OnlyDevice, Verified::Messages, |bench| {
        let (keys, mut data) = (bench.noise(35, 128), bench.noise(37, MESSAGES[3].1 as usize + 5));
        let nonces = nonces();
        let tags = sealed(&mut data, |n| &keys[32 * n..][..32], |n| &nonces[n]);
        gcm_under_keys_there(bench, &keys, &data, Some(tags.as_flattened()))
    }),
    case("GCM decryption of messages that arrays describe", On::OnlyDevice, Verified::Messages, |bench| {
        let (nonces, mut data) = (nonces(), bench.noise(38, MESSAGES[3].1 as usize + 5));
        let keys = bench.keys();
        let tags = sealed(&mut data, |_| &keys[..32], |n| &nonces[n]);
        described(bench, &nonces.concat(), &data, &tags)
    }),
    case("opening a file in chunks", On::Host, Verified::Nothing, |bench| {
        let file = file();
        bench.on_host(&file[HEADER..], |segments| open(bench.engine, &file[..HEADER], segments))
    }),
    case("copies to sharded memory and from there", On::HostForAll, Verified::Nothing, |bench| {
        bench.on_host(&bench.noise(23, 5003), |data| {
            let copied = copy_by_shards(bench.engine, data);
            // A failed copy may be partly done.
            copied.inspect_err(|_| data.fill(0)).map(|()| String::new())
        })
    }),
    case("GCM decryption with a nonce of 16 bytes", On::All, Verified::All, |bench| {
        let (secret, tag) = others::gcm(&bench.keys()[..16], &[3; 16], b"a header", &bench.noise(24, 4501));
        let nonce = Nonce::new(&[3; 16]).unwrap();
        bench.run_with_output(&bench.key(16), GcmDecrypt::new(&nonce, b"a header", &Tag::new(&tag).unwrap()), &secret)
    }),
    case("PRG", On::All, Verified::Nothing, |bench| bench.run(&bench.key(16), Prg::new(), &bench.blocks(30, 6000))),
];

/// Messages in any order, at any offsets.
const RANGES: [Range<u64>; 4] = [0..40, 40..40, 3..64, 64..97];

/// Beginnings and ends of messages.
const MESSAGES: [(u64, u64); 4] = [(0, 1000), (1004, 1021), (1024, 3072), (3072, 3088)];

fn nonce() -> Nonce {
    Nonce::new(&[3; 12]).unwrap()
}

/// For XAES-256-GCM.
fn long_nonce() -> Nonce {
    Nonce::new(&[3; 24]).unwrap()
}

fn nonces() -> [Vec<u8>; 4] {
    std::array::from_fn(|n| vec![n as u8; 12])
}

fn messages(nonces: &[Vec<u8>; 4]) -> Vec<GcmMessage<'_>> {
    let message = |(&(from, to), nonce)| GcmMessage { nonce, aad: b"header", range: from..to };
    MESSAGES.iter().zip(nonces.iter().map(|nonce| &nonce[..])).map(message).collect()
}

/// Encrypts [`MESSAGES`] in the data, each under its key and with its nonce, and returns their tags, with which one of them is not authentic.
fn sealed<'a>(data: &mut [u8], key: impl Fn(usize) -> &'a [u8], nonce: impl Fn(usize) -> &'a [u8]) -> [[u8; 16]; 4] {
    let mut tags = std::array::from_fn(|n| {
        let range = MESSAGES[n].0 as usize..MESSAGES[n].1 as usize;
        let (secret, tag) = others::gcm(key(n), nonce(n), b"header", &data[range.clone()]);
        data[range].copy_from_slice(&secret);
        tag
    });
    tags[1] = tags[0];
    tags
}

/// [`MESSAGES`], each under its own key.
fn gcm_jobs(keys: &[u8]) -> Vec<GcmJob<'_>> {
    let job = |(&(from, to), key)| GcmJob { key, nonce: [5; 12], aad: b"header", range: from..to };
    MESSAGES.iter().zip(keys.chunks(24)).map(job).collect()
}

/// Bytes in memory of the device.
fn there(bench: &Bench<'_>, bytes: &[u8]) -> CudaSlice<u8> {
    bench.stream().clone_htod(bytes).expect("memory of the device")
}

/// Encrypts [`MESSAGES`], each under its own key, or decrypts them if they have tags. On a device everything is in its memory.
fn gcm_under_keys_there(bench: &Bench<'_>, keys: &[u8], data: &[u8], tags: Option<&[u8]>) -> Outcome {
    let (bits, ranges) = (KeyBits::Aes256, MESSAGES.map(|(from, to)| from..to));
    let (ranges, nonces) = (Ranges::from(&ranges[..]), [0, 1, 2, 3].map(|n| [n; 12]));
    if bench.place == Place::Host {
        let (keys, nonces) = (JobKeys::each(bits, keys), Nonces::from(&nonces[..]));
        let aads = Aads::shared(b"header");
        return match tags {
            None => {
                run_under_own_keys(bench, GcmEncryptJobs::from_arrays(&keys, &ranges, &nonces, &aads).unwrap(), data)
            }
            Some(tags) => {
                let jobs = GcmDecryptJobs::from_arrays(&keys, &ranges, &nonces, &aads, tags, 16).unwrap();
                run_under_own_keys(bench, jobs, data)
            }
        };
    }
    let [keys, nonces, aad] = [keys, nonces.as_flattened(), b"header"].map(|bytes| there(bench, bytes));
    let mut of_messages = there(bench, tags.unwrap_or(&[0x5a; 64]));
    let mut verdicts = bench.stream().clone_htod(&[0x5a5a_5a5a_u32; 4]).expect("memory of the device");
    let outcome = bench.on_device(data, |stream, data| {
        let none = bench.engine.under_own_keys();
        let layout = none.device()?.gcm_job_layout(bits, &ranges, &Ranges::spaced(4, 6, 0))?;
        match tags {
            None => layout.encrypt(stream, &keys, &nonces, Some(&aad), data, &mut of_messages)?,
            Some(_) => layout.decrypt(stream, &keys, &nonces, Some(&aad), data, &of_messages, &mut verdicts)?,
        }
        Ok(String::new())
    });
    let made = |_| match tags {
        None => Ok(format!("{:?}", back(bench, &of_messages)?.as_chunks::<16>().0)),
        Some(_) => which_failed(bench, &verdicts),
    };
    Outcome { value: outcome.value.and_then(made), ..outcome }
}

/// What is in memory of the device. An error that is found late is an error of the caller's stream.
fn back<T: DeviceRepr>(bench: &Bench<'_>, memory: &CudaSlice<T>) -> Result<Vec<T>, Error> {
    let lost = |error| Error::Cuda { call: "a copy".into(), code: format!("{error:?}") };
    bench.stream().clone_dtoh(memory).map_err(lost)
}

/// What verdicts in memory of the device say, as a call on host memory says it.
fn which_failed(bench: &Bench<'_>, verdicts: &CudaSlice<u32>) -> Result<String, Error> {
    let verdicts = back(bench, verdicts)?;
    let failed: Vec<_> = (0..4).filter(|n| verdicts[*n] != 0).collect();
    Ok(format!("OpenedBatch {{ failed: {failed:?} }}"))
}

/// Decrypts [`MESSAGES`], which arrays in memory of the device describe, if it has kernels for that.
fn described(bench: &Bench<'_>, nonces: &[u8], data: &[u8], tags: &[[u8; 16]; 4]) -> Outcome {
    let (key, ranges) = (bench.key(32), MESSAGES.map(|(from, to)| from..to));
    let (ranges, of_host, aads) =
        (Ranges::from(&ranges[..]), Nonces::from(nonces.as_chunks().0), Aads::shared(b"header"));
    let on_host = GcmDecryptBatch::from_arrays(&ranges, &of_host, &aads, tags.as_flattened(), 16).unwrap();
    if bench.place == Place::Host || bench.engine.cuda_context().unwrap().compute_capability().unwrap().0 < 9 {
        return bench.run_with_output(&key, on_host, data);
    }
    let cipher = bench.cipher(&key);
    let pairs = MESSAGES.map(|(from, to)| [from.to_le_bytes(), to.to_le_bytes()]);
    let there =
        [pairs.as_flattened().as_flattened(), nonces, b"header", tags.as_flattened()].map(|bytes| there(bench, bytes));
    let mut verdicts = bench.stream().clone_htod(&[0x5a5a_5a5a_u32; 4]).expect("memory of the device");
    let mut fault = bench.stream().clone_htod(&[0x5a5a_5a5a_u32; 2]).expect("memory of the device");
    let outcome = bench.on_device(data, |stream, data| {
        let [pairs, nonces, aad, expected] = there.each_ref().map(|memory| memory.device_ptr(stream).0);
        let ranges = DeviceRanges::pairs(IntegerType::U64, pairs);
        let batch = DeviceBatch::new(4, ranges, DeviceNonces::each(nonces), DeviceAads::shared(aad, 6))?;
        let tags = DeviceTags::Verify { expected, tag_bytes: 16, verdicts: verdicts.device_ptr_mut(stream).0 };
        let (fault, bytes) = (fault.device_ptr_mut(stream).0, data.len() as u64);
        let (data, _written) = data.device_ptr_mut(stream);
        // SAFETY: all of it outlives the work, which is on the stream on which it is read and freed.
        unsafe { cipher.device()?.run_raw_described(stream.cu_stream(), &batch, tags, data, data, bytes, fault)? };
        Ok(String::new())
    });
    let made = |_| {
        let fault = back(bench, &fault)?;
        DeviceBatch::check([fault[0], fault[1]])?;
        which_failed(bench, &verdicts)
    };
    Outcome { value: outcome.value.and_then(made), ..outcome }
}

/// Runs an operation that has keys of its own, in host memory or on a device.
fn run_under_own_keys<O: Operation<Output: Debug>>(bench: &Bench<'_>, operation: O, data: &[u8]) -> Outcome {
    let cipher = bench.engine.under_own_keys();
    let printed = |output: O::Output| format!("{output:?}");
    match bench.place {
        Place::Host => bench.on_host(data, |data| cipher.run(operation.clone(), data).map(printed)),
        _ => bench.on_device(data, |stream, data| {
            cipher.device()?.run_with_output(stream, operation.clone(), data)?.wait().map(printed)
        }),
    }
}

/// Bytes ahead of the first segment of a file.
const HEADER: usize = 40;

/// Tink's, with segments of 100 bytes.
fn keyset() -> Keyset {
    let text = r#"{"primaryKeyId": 7, "key": [{"keyData": {
        "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
        "value": "EgYIZBAgGAMaIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
        "keyMaterialType": "SYMMETRIC"}, "status": "ENABLED", "keyId": 7, "outputPrefixType": "RAW"}]}"#;
    Keyset::from_json(text).expect("a keyset")
}

/// A file of several chunks, made once, because its header is random.
fn file() -> &'static [u8] {
    static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let cpu = Engine::open(Backend::Cpu).expect("a CPU");
        let mut file = vec![];
        tink::encrypt(&cpu, &keyset(), b"about", &*noise(24, 2345), &mut file).expect("a file");
        file
    });
    &FILE
}

/// Opens segments in place, one chunk of them after the other: each leaves its message, followed by zeros.
fn open(engine: &Engine, header: &[u8], segments: &mut [u8]) -> Result<String, Error> {
    /// In a chunk.
    const SEGMENTS: usize = 7;
    let outcome = tink::opening(engine, &keyset(), b"about", header).and_then(|opening| {
        let (places, mut rest, mut first) = (opening.places(), &mut *segments, 0);
        while !rest.is_empty() {
            let bytes = (places.place(first + SEGMENTS as u64) - places.place(first)) as usize;
            let (chunk, after) = rest.split_at_mut(bytes.min(rest.len()));
            let opened = opening.open(first, after.is_empty(), chunk, chunk.len());
            assert!(opened.is_ok() || chunk.iter().all(|&byte| byte == 0), "something is handed out");
            chunk[opened?..].fill(0);
            (rest, first) = (after, first + SEGMENTS as u64);
        }
        Ok(String::new())
    });
    // Output that was opened before an error is authentic, and not checked here.
    outcome.inspect_err(|_| segments.fill(0)).map_err(|error| match error {
        SealError::Engine(error) => error,
        other => panic!("{other}"),
    })
}

/// Copies bytes to sharded memory, cut anywhere, and back. A CPU has none.
fn copy_by_shards(engine: &Engine, data: &mut [u8]) -> Result<(), Error> {
    if !engine.backend().is_cuda() {
        return Ok(());
    }
    let middle = data.len() / 3;
    let mut buffer = engine.sharded_in(data.len(), CUTS)?;
    buffer.copy_from_host(0, &data[..middle])?;
    buffer.copy_from_host(middle, &data[middle..])?;
    data.fill(0);
    buffer.copy_to_host(0, &mut data[..middle])?;
    buffer.copy_to_host(middle, &mut data[middle..])
}
