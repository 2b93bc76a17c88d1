//! An operation as a value: a structure that the caller fills, and the operation of the library that it says.

use crate::batch::{Message, Range, Ranges, messages, one_tag, ranges, tags};
use crate::memory::{block, reference, values};
use crate::outcome::Outcome;
use crate::status::Failure;
use aes_bitslice_runtime::{
    self as runtime, Aads, CbcDecrypt, CbcEncrypt, Cmac, CmacBatch, CmacVerifyBatch, Counter, CounterMode, Ctr,
    Direction, Ecb, GcmDecrypt, GcmDecryptBatch, GcmEncrypt, GcmEncryptBatch, GcmEncryptJobs, GcmPart, GcmSivDecrypt,
    GcmSivEncrypt, Gmac, JobKeys, Keystream, Nonce, Nonces, Prg, Tag, XaesDecrypt, XaesEncrypt, Xts,
};
use std::ffi::{c_int, c_void};

/// ECB (SP 800-38A, section 6.1) of whole blocks of 16 bytes. It reveals which blocks are equal: do not encrypt messages with it.
pub const AES_BITSLICE_ECB_ENCRYPT: c_int = 1;
/// Decryption of ECB.
pub const AES_BITSLICE_ECB_DECRYPT: c_int = 2;
/// CBC (SP 800-38A, section 6.2) of whole blocks of 16 bytes; there is no padding. Needs `iv`. Serial, on one CPU core whatever the engine.
pub const AES_BITSLICE_CBC_ENCRYPT: c_int = 3;
/// Decryption of CBC. Needs `iv`.
pub const AES_BITSLICE_CBC_DECRYPT: c_int = 4;
/// CTR (SP 800-38A, section 6.5) of any number of bytes; encryption and decryption are the same. Needs `counter`, and `offset` for a part
/// of a message. Never use a key twice with overlapping counter blocks.
pub const AES_BITSLICE_CTR: c_int = 5;
/// The key stream of CTR, any number of bytes; `input` is NULL. Needs `counter`, and `offset` for a part of the stream. It equals the output
/// of CTR for zeros: never use both under one key with overlapping counter blocks.
pub const AES_BITSLICE_KEYSTREAM: c_int = 6;
/// XTS (IEEE 1619; SP 800-38E), with a key from aes_bitslice_key_new_xts: consecutive data units, of which the last may be shorter, down to
/// 16 bytes. Needs `unit_bytes` and `first_unit`.
pub const AES_BITSLICE_XTS_ENCRYPT: c_int = 7;
/// Decryption of XTS. Needs `unit_bytes` and `first_unit`.
pub const AES_BITSLICE_XTS_DECRYPT: c_int = 8;
/// GCM (SP 800-38D, section 7.1) of a whole message of 0 to 2^36 - 32 bytes. Needs `nonce`, which must be new for every message under a key,
/// and `aad` if there is additional data. The result is the tag, 16 bytes.
pub const AES_BITSLICE_GCM_ENCRYPT: c_int = 9;
/// Decryption of GCM (SP 800-38D, section 7.2), if `tag` is right. Otherwise the call fails with AES_BITSLICE_UNAUTHENTICATED and the output
/// is cleared. Needs `nonce` and `aad` as for encryption, and `tag`. There is no result.
pub const AES_BITSLICE_GCM_DECRYPT: c_int = 10;
/// GCM of a part of a message, of any length, from byte `offset` on. Parts may be processed in any order and at the same time. In GPU
/// memory, `offset` is a multiple of 16. Needs `nonce` and `offset`. The result is an aes_bitslice_part; from those of all parts,
/// aes_bitslice_combine computes the tag.
pub const AES_BITSLICE_GCM_ENCRYPT_PART: c_int = 11;
/// Decryption of a part. Its plaintext is NOT AUTHENTIC until aes_bitslice_combine has found the tag right.
pub const AES_BITSLICE_GCM_DECRYPT_PART: c_int = 12;
/// AES-GCM-SIV (RFC 8452) of a whole message of 0 to 2^36 bytes, with a key of 128 or 256 bits. Needs `nonce`, which has 12 bytes and is new
/// for every message, and `aad` if there is additional data. A nonce used twice under a key reveals only whether two messages with the same
/// additional data are equal. The result is the tag, 16 bytes.
pub const AES_BITSLICE_GCM_SIV_ENCRYPT: c_int = 13;
/// Decryption of AES-GCM-SIV, if `tag`, 16 bytes, is right; otherwise as for GCM.
pub const AES_BITSLICE_GCM_SIV_DECRYPT: c_int = 14;
/// GMAC (SP 800-38D, section 3) of any number of bytes, which are authenticated but not encrypted; `output` is NULL. Needs `nonce`, as for
/// GCM. The result is the tag, 16 bytes.
pub const AES_BITSLICE_GMAC: c_int = 15;
/// CMAC (SP 800-38B) of any number of bytes; `output` is NULL. The result is the tag, 16 bytes. Serial, on one CPU core whatever the engine.
pub const AES_BITSLICE_CMAC: c_int = 16;
/// GCM of many messages under one key, or, by aes_bitslice_run_under_keys, each under its own. Needs `count`, and `messages`; or in place of
/// `messages` arrays: `arrays`, `nonce`, and `aad` if there is additional data, each as described there, and with nonces of 12 bytes.
/// Messages are ranges of the data; they ascend and do not overlap, and no two under one key have the same nonce. Bytes of the output between
/// them stay as they are. The results are their tags, 16 bytes each, contiguous. In host memory the CPU cores process them, whatever the
/// engine; here and for the batches below.
pub const AES_BITSLICE_GCM_ENCRYPT_BATCH: c_int = 17;
/// Decryption of many messages: of the encrypted ones, or of some of them. Needs also `tag`. The results are one byte for each message: 1
/// if its tag is right, 0 if not, and then its output is cleared. Fails with AES_BITSLICE_UNAUTHENTICATED if any tag is wrong; the other
/// messages are still good.
pub const AES_BITSLICE_GCM_DECRYPT_BATCH: c_int = 18;
/// CMAC of many messages under one key; `output` is NULL. Needs `count`, and `ranges` or `arrays`. Ranges are in any order and may
/// overlap. The results are the tags, 16 bytes each, contiguous.
pub const AES_BITSLICE_CMAC_BATCH: c_int = 19;
/// Verifies the CMAC tags of many messages, in constant time; `output` is NULL. Needs also `tag`. The results are one byte for each message:
/// 1 if its tag is right, 0 if not. Fails with AES_BITSLICE_UNAUTHENTICATED if any tag is wrong.
pub const AES_BITSLICE_CMAC_VERIFY_BATCH: c_int = 20;
/// XAES-256-GCM (C2SP) of a whole message of 0 to 2^36 - 32 bytes, with a key of 256 bits. Needs `nonce`, which has 24 bytes and is new for
/// every message: random bytes will do, for 2^80 messages under a key; and `aad` if there is additional data. The result is the tag, 16
/// bytes.
pub const AES_BITSLICE_XAES_ENCRYPT: c_int = 21;
/// Decryption of XAES-256-GCM, if `tag`, 16 bytes, is right; otherwise as for GCM.
pub const AES_BITSLICE_XAES_DECRYPT: c_int = 22;
/// A pseudorandom generator from AES under a fixed, public key, of whole blocks of 16 bytes: each is encrypted and XORed with itself (Matyas,
/// Meyer, Oseas 1985). For function secret sharing and garbling; seeds must differ. It is no encryption.
pub const AES_BITSLICE_PRG: c_int = 23;

/// GCM of a whole message with a nonce that the call makes: 12 random bytes from the operating system (SP 800-38D, section 8.2.2). Needs
/// `aad` if there is additional data. The result has 28 bytes: the nonce, then the tag. Encrypt at most 2^32 messages under one key in this
/// way (section 8.3); for more, use AES_BITSLICE_XAES_ENCRYPT.
pub const AES_BITSLICE_GCM_ENCRYPT_WITH_RANDOM_NONCE: c_int = 24;

/// An operation: what a call does with its data. `kind` says which other fields are needed; those that are not are not read. What the
/// pointers refer to is in host memory, and must not change before the call has returned.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// AES_BITSLICE_ECB_ENCRYPT to AES_BITSLICE_GCM_ENCRYPT_WITH_RANDOM_NONCE.
    pub kind: c_int,
    /// The initial counter block of the message, 16 bytes; all 128 bits count, big-endian, as in OpenSSL.
    pub counter: *const u8,
    /// Where in the message the data begins, in bytes.
    pub offset: u64,
    /// The initialisation vector, 16 bytes: random for a new message; for a further part of a message, the last ciphertext block before it.
    pub iv: *const u8,
    /// Bytes of a data unit: 16 to 16 777 216.
    pub unit_bytes: u64,
    /// The number of the first data unit, 16 bytes, little-endian; unit numbers are consecutive.
    pub first_unit: *const u8,
    /// The nonce, `nonce_len` bytes; with `arrays`, the contiguous nonces of all messages, 12 bytes each, or with `counter_bits` the first.
    pub nonce: *const u8,
    /// Bytes of a nonce: usually 12; for XAES-256-GCM 24.
    pub nonce_len: usize,
    /// Additional data, `aad_len` bytes, which is authenticated but not encrypted; with `arrays`, that of every message, or with
    /// `aad_arrays` that of all of them.
    pub aad: *const c_void,
    /// Bytes of the additional data; there may be none.
    pub aad_len: usize,
    /// The received tag, `tag_len` bytes; for a batch, those of all messages, contiguous.
    pub tag: *const u8,
    /// Bytes of a tag: 16, or the first 12 to 15 if both sides agreed on that; 4 or 8 for CMAC, and for GCM with `short_tags`.
    pub tag_len: usize,
    /// The `count` messages of a batch of GCM.
    pub messages: *const Message,
    /// The `count` messages of a batch of CMAC.
    pub ranges: *const Range,
    /// The number of messages.
    pub count: usize,
    /// Where the `count` messages of a batch are, in place of `messages` and `ranges`, which are NULL then.
    pub arrays: *const Ranges,
    /// With `arrays`: where in `aad` the additional data of each message is, in any order; NULL if all messages have all of it.
    pub aad_arrays: *const Ranges,
    /// With `arrays`: 0 if there is a nonce for each message; else 32 or 64, and the nonces count up from `nonce`: so many of its last bits
    /// are a big-endian number, to which the number of the message is added, and which must not start again from zero (SP 800-38D, section
    /// 8.2.1).
    pub counter_bits: u32,
    /// For decryption of GCM: 1 if the tags are of 4 or 8 bytes, else 0. SP 800-38D, appendix C, allows such tags to few applications, and
    /// limits, by the lengths of tag and message, how many messages may be decrypted under a key: the application counts them. Drafts of its
    /// revision 1 have no such tags.
    pub short_tags: u32,
}

/// What is done with an operation of the library.
pub(crate) trait Work: Sized {
    /// With one that returns nothing beside its data.
    ///
    /// # Safety
    /// As [`Operation::give`].
    unsafe fn data<O: runtime::Operation<Output = ()>>(self, operation: O) -> Result<(), Failure> {
        // SAFETY: as the caller guarantees.
        unsafe { self.outcome(operation, 1) }
    }

    /// With one that returns a value, of `messages` messages if it is a batch.
    ///
    /// # Safety
    /// As [`Operation::give`].
    unsafe fn outcome<O>(self, operation: O, messages: usize) -> Result<(), Failure>
    where
        O: runtime::Operation,
        O::Output: Outcome;

    /// With one that makes the tag of a message.
    ///
    /// # Safety
    /// As [`Operation::give`].
    unsafe fn tag<O: runtime::Operation<Output = Tag>>(self, operation: O) -> Result<(), Failure> {
        // SAFETY: as the caller guarantees.
        unsafe { self.outcome(operation, 1) }
    }
}

impl Operation {
    /// Gives `work` the operation of the library.
    ///
    /// # Safety
    /// What the fields of this kind refer to lives and does not change meanwhile; and what `work` requires of its own data holds.
    pub(crate) unsafe fn give(&self, work: impl Work) -> Result<(), Failure> {
        use Direction::{Decrypt, Encrypt};
        // SAFETY: as the caller guarantees.
        unsafe {
            match self.kind {
                AES_BITSLICE_ECB_ENCRYPT => work.data(Ecb::encrypt()),
                AES_BITSLICE_ECB_DECRYPT => work.data(Ecb::decrypt()),
                AES_BITSLICE_CBC_ENCRYPT => work.data(CbcEncrypt::new(&block(self.iv, "iv")?)),
                AES_BITSLICE_CBC_DECRYPT => work.data(CbcDecrypt::new(&block(self.iv, "iv")?)),
                AES_BITSLICE_CTR => work.data(Ctr::new(&self.counter()?, self.offset)),
                AES_BITSLICE_KEYSTREAM => work.data(Keystream::new(&self.counter()?, self.offset)),
                AES_BITSLICE_XTS_ENCRYPT => work.data(self.xts(Encrypt)?),
                AES_BITSLICE_XTS_DECRYPT => work.data(self.xts(Decrypt)?),
                AES_BITSLICE_GCM_ENCRYPT => work.tag(self.gcm_encrypt()?),
                AES_BITSLICE_GCM_DECRYPT => work.outcome(self.gcm_decrypt()?, 1),
                AES_BITSLICE_GCM_ENCRYPT_PART | AES_BITSLICE_GCM_DECRYPT_PART => work.outcome(self.gcm_part()?, 1),
                AES_BITSLICE_GCM_SIV_ENCRYPT => work.tag(GcmSivEncrypt::new(&self.nonce()?, self.aad()?)),
                AES_BITSLICE_GCM_SIV_DECRYPT => {
                    let tag = self.tag(self.tag_len < 12)?;
                    work.outcome(GcmSivDecrypt::new(&self.nonce()?, self.aad()?, &tag), 1)
                }
                AES_BITSLICE_GMAC => work.tag(Gmac::new(&self.nonce()?)),
                AES_BITSLICE_CMAC => work.tag(Cmac::new()),
                AES_BITSLICE_GCM_ENCRYPT_BATCH | AES_BITSLICE_GCM_DECRYPT_BATCH => self.give_gcm_batch(None, work),
                AES_BITSLICE_CMAC_BATCH => match self.arrays()? {
                    None => work.outcome(CmacBatch::new(&ranges(self.ranges, self.count)?)?, self.count),
                    Some(ranges) => work.outcome(CmacBatch::from_arrays(&ranges)?, self.count),
                },
                AES_BITSLICE_CMAC_VERIFY_BATCH => {
                    let batch = match self.arrays()? {
                        None => {
                            let ranges = ranges(self.ranges, self.count)?;
                            CmacVerifyBatch::new(&ranges, &self.tags(self.tag_len < 12)?)?
                        }
                        Some(ranges) => CmacVerifyBatch::from_arrays(&ranges, self.tag_bytes()?, self.tag_len)?,
                    };
                    work.outcome(batch, self.count)
                }
                AES_BITSLICE_XAES_ENCRYPT => work.tag(XaesEncrypt::new(&self.nonce()?, self.aad()?)),
                AES_BITSLICE_XAES_DECRYPT => {
                    let tag = self.tag(self.tag_len < 12)?;
                    work.outcome(XaesDecrypt::new(&self.nonce()?, self.aad()?, &tag), 1)
                }
                AES_BITSLICE_PRG => work.data(Prg::new()),
                AES_BITSLICE_GCM_ENCRYPT_WITH_RANDOM_NONCE => {
                    work.outcome(GcmEncrypt::with_random_nonce(self.aad()?), 1)
                }
                kind => Err(unknown(
                    kind,
                    "AES_BITSLICE_ECB_ENCRYPT (1) to AES_BITSLICE_GCM_ENCRYPT_WITH_RANDOM_NONCE (24)",
                )),
            }
        }
    }

    /// Gives `work` a batch of GCM of the library: each message under its own of these keys, or all under that of the cipher.
    ///
    /// # Safety
    /// As [`give`](Self::give).
    pub(crate) unsafe fn give_gcm_batch(&self, keys: Option<&JobKeys<'_>>, work: impl Work) -> Result<(), Failure> {
        let count = self.count;
        // SAFETY: as the caller guarantees.
        unsafe {
            match (self.encrypts_batch()?, self.arrays()?) {
                (true, None) => {
                    let messages = messages(self.messages, count)?;
                    match keys {
                        None => work.outcome(GcmEncryptBatch::new(&messages)?, count),
                        Some(keys) => work.outcome(GcmEncryptJobs::from_messages(keys, &messages)?, count),
                    }
                }
                (true, Some(ranges)) => {
                    let (nonces, aads) = (self.nonces()?, self.aads()?);
                    match keys {
                        None => work.outcome(GcmEncryptBatch::from_arrays(&ranges, &nonces, &aads)?, count),
                        Some(keys) => work.outcome(GcmEncryptJobs::from_arrays(keys, &ranges, &nonces, &aads)?, count),
                    }
                }
                (false, arrays) => {
                    let batch = match arrays {
                        None => {
                            let messages = messages(self.messages, count)?;
                            GcmDecryptBatch::new(&messages, &self.tags(self.short_tags()?)?)?
                        }
                        Some(ranges) => {
                            let (nonces, aads, tags) = (self.nonces()?, self.aads()?, self.tag_bytes()?);
                            let from_arrays = match self.short_tags()? {
                                false => GcmDecryptBatch::from_arrays,
                                true => GcmDecryptBatch::from_arrays_with_short_tags,
                            };
                            from_arrays(&ranges, &nonces, &aads, tags, self.tag_len)?
                        }
                    };
                    match keys {
                        None => work.outcome(batch, count),
                        Some(keys) => work.outcome(batch.under(keys)?, count),
                    }
                }
            }
        }
    }

    /// Whether this batch of GCM is encrypted, not decrypted; other operations are refused.
    pub(crate) fn encrypts_batch(&self) -> Result<bool, Failure> {
        match self.kind {
            AES_BITSLICE_GCM_ENCRYPT_BATCH => Ok(true),
            AES_BITSLICE_GCM_DECRYPT_BATCH => Ok(false),
            kind => Err(unknown(kind, "AES_BITSLICE_GCM_ENCRYPT_BATCH or AES_BITSLICE_GCM_DECRYPT_BATCH")),
        }
    }

    unsafe fn counter(&self) -> Result<Counter, Failure> {
        // SAFETY: as the caller of `give` guarantees.
        Ok(Counter::new(CounterMode::Ctr128BE, unsafe { block(self.counter, "counter") }?))
    }

    unsafe fn xts(&self, direction: Direction) -> Result<Xts, Failure> {
        // SAFETY: as the caller of `give` guarantees.
        let first_unit = u128::from_le_bytes(unsafe { block(self.first_unit, "first_unit") }?);
        Ok(Xts::new(direction, self.unit_bytes, first_unit)?)
    }

    unsafe fn nonce(&self) -> Result<Nonce, Failure> {
        // SAFETY: as the caller of `give` guarantees.
        Ok(Nonce::new(unsafe { values(self.nonce, self.nonce_len, "nonce") }?)?)
    }

    unsafe fn aad(&self) -> Result<&[u8], Failure> {
        // SAFETY: as the caller of `give` guarantees.
        unsafe { values(self.aad.cast(), self.aad_len, "aad") }
    }

    /// Whether tags of GCM are short.
    pub(crate) fn short_tags(&self) -> Result<bool, Failure> {
        match self.short_tags {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Failure::invalid(format!("`short_tags` is {other}: give 1 for tags of 4 or 8 bytes, else 0"))),
        }
    }

    unsafe fn tag(&self, short: bool) -> Result<Tag, Failure> {
        // SAFETY: as the caller of `give` guarantees.
        one_tag(unsafe { values(self.tag, self.tag_len, "tag") }?, short)
    }

    /// Refuses other descriptions of messages beside `arrays`.
    pub(crate) fn check_only_arrays(&self) -> Result<(), Failure> {
        match self.messages.is_null() && self.ranges.is_null() {
            true => Ok(()),
            false => Err(Failure::invalid("`arrays` is not NULL: then `messages` and `ranges` have to be")),
        }
    }

    /// Refuses nonces of another length than those of messages that `arrays` has.
    pub(crate) fn check_nonce_len(&self) -> Result<(), Failure> {
        match self.nonce_len {
            12 => Ok(()),
            bytes => Err(Failure::invalid(format!(
                "`nonce_len` is {bytes}: nonces of messages that `arrays` has are of 12 bytes"
            ))),
        }
    }

    /// Where the messages of a batch are, if that is given by arrays.
    unsafe fn arrays(&self) -> Result<Option<runtime::Ranges<'_>>, Failure> {
        if self.arrays.is_null() {
            return Ok(None);
        }
        self.check_only_arrays()?;
        // SAFETY: as the caller of `give` guarantees.
        unsafe { reference(self.arrays, "arrays")?.of(self.count).map(Some) }
    }

    /// The nonces of the messages that `arrays` has.
    unsafe fn nonces(&self) -> Result<Nonces<'_>, Failure> {
        self.check_nonce_len()?;
        // SAFETY: as the caller of `give` guarantees.
        unsafe {
            match self.counter_bits {
                0 => Ok(Nonces::from(values::<[u8; 12]>(self.nonce.cast(), self.count, "nonce")?)),
                bits => Ok(Nonces::counted(*reference(self.nonce.cast(), "nonce")?, bits)),
            }
        }
    }

    /// The additional data of the messages that `arrays` has.
    unsafe fn aads(&self) -> Result<Aads<'_>, Failure> {
        // SAFETY: as the caller of `give` guarantees.
        unsafe {
            match self.aad_arrays.as_ref() {
                None => Ok(Aads::shared(self.aad()?)),
                Some(ranges) => Ok(Aads::each(self.aad()?, ranges.of(self.count)?)),
            }
        }
    }

    /// The tags of all messages, contiguous.
    unsafe fn tag_bytes(&self) -> Result<&[u8], Failure> {
        // SAFETY: as the caller of `give` guarantees.
        unsafe { values(self.tag, self.tag_len.saturating_mul(self.count), "tag") }
    }

    unsafe fn tags(&self, short: bool) -> Result<Vec<Tag>, Failure> {
        // SAFETY: as the caller of `give` guarantees.
        unsafe { tags(self.tag, self.tag_len, short, self.count) }
    }

    /// GCM encryption, of a message or of what its parts are combined to.
    ///
    /// # Safety
    /// As [`give`](Self::give).
    pub(crate) unsafe fn gcm_encrypt(&self) -> Result<GcmEncrypt, Failure> {
        // SAFETY: as the caller guarantees.
        unsafe { Ok(GcmEncrypt::new(&self.nonce()?, self.aad()?)) }
    }

    /// GCM decryption, in the same way.
    ///
    /// # Safety
    /// As [`give`](Self::give).
    pub(crate) unsafe fn gcm_decrypt(&self) -> Result<GcmDecrypt, Failure> {
        // SAFETY: as the caller guarantees.
        unsafe { Ok(GcmDecrypt::new(&self.nonce()?, self.aad()?, &self.tag(self.short_tags()?)?)) }
    }

    /// A part of GCM, or what several are combined to.
    ///
    /// # Safety
    /// As [`give`](Self::give).
    pub(crate) unsafe fn gcm_part(&self) -> Result<GcmPart, Failure> {
        let direction = match self.kind {
            AES_BITSLICE_GCM_ENCRYPT_PART => Direction::Encrypt,
            _ => Direction::Decrypt,
        };
        // SAFETY: as the caller guarantees.
        unsafe { Ok(GcmPart::new(direction, &self.nonce()?, self.offset)) }
    }
}

/// The failure of a call that does not take this kind of operation.
pub(crate) fn unknown(kind: c_int, known: &str) -> Failure {
    Failure::invalid(format!("`kind` is {kind}: give {known}"))
}
