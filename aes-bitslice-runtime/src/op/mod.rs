//! Operations: the ways to process a call's data. One file is one operation. Outside its own file, an operation is
//! named only here, in `by_mode`, and, if it has a named method, in `api/named.rs`.
//!
//! | file | operation | data | source |
//! |---|---|---|---|
//! | `ecb` | [`Ecb`](ecb::Ecb) | maps whole blocks | SP 800-38A, section 6.1 |
//! | `ctr` | [`Ctr`](ctr::Ctr) | maps any bytes | SP 800-38A, section 6.5 |
//! | `keystream` | [`Keystream`](keystream::Keystream) | writes any bytes | SP 800-38A, section 6.5 |
//! | `prg` | [`Prg`](prg::Prg) | maps whole blocks | Matyas, Meyer, Oseas 1985 |
//! | `ghash` | [`Ghash`](ghash::Ghash) | reads whole blocks, returns a hash | SP 800-38D, section 6.4 |
//! | `gcm` | [`GcmEncrypt`](gcm::GcmEncrypt), [`GcmDecrypt`](gcm::GcmDecrypt), [`GcmPart`](gcm::GcmPart) | maps any bytes, returns a tag | SP 800-38D |
//! | `gcm_random_nonce` | [`GcmEncryptWithRandomNonce`](gcm_random_nonce::GcmEncryptWithRandomNonce) | maps any bytes, returns a nonce and a tag | SP 800-38D, section 8.2.2 |
//! | `gcm_batch` | [`GcmEncryptBatch`](gcm_batch::GcmEncryptBatch), [`GcmDecryptBatch`](gcm_batch::GcmDecryptBatch) | maps any ranges of bytes, returns tags | SP 800-38D |
//! | `gcm_jobs` | [`GcmEncryptJobs`](gcm_jobs::GcmEncryptJobs), [`GcmDecryptJobs`](gcm_jobs::GcmDecryptJobs): likewise, with a key for each message | maps any ranges of bytes, returns tags | SP 800-38D |
//! | `gcm_siv` | [`GcmSivEncrypt`](gcm_siv::GcmSivEncrypt), [`GcmSivDecrypt`](gcm_siv::GcmSivDecrypt) | maps any bytes, returns a tag | RFC 8452 |
//! | `xaes` | [`XaesEncrypt`](xaes::XaesEncrypt), [`XaesDecrypt`](xaes::XaesDecrypt) | maps any bytes, returns a tag | C2SP, XAES-256-GCM |
//! | `many_keys`, `jobs` | [`Jobs`](many_keys::Jobs), with a key for each; [`EachKey`](many_keys::EachKey), which is not an operation: its keys are where its data is | maps ranges of bytes | SP 800-38A, sections 6.1 and 6.5 |
//! | `gmac` | [`Gmac`](gmac::Gmac) | reads any bytes, returns a tag | SP 800-38D |
//! | `cmac` | [`Cmac`](cmac::Cmac) | reads any bytes, returns a tag | SP 800-38B |
//! | `cmac_batch` | [`CmacBatch`](cmac_batch::CmacBatch), [`CmacVerifyBatch`](cmac_batch::CmacVerifyBatch) | reads any ranges of bytes, returns tags | SP 800-38B |
//! | `xts` | [`Xts`](xts::Xts) | maps data units | IEEE 1619, SP 800-38E |
//! | `cbc` | [`CbcDecrypt`](cbc::CbcDecrypt), [`CbcEncrypt`](cbc::CbcEncrypt) | maps whole blocks | SP 800-38A, section 6.2 |
//!
//! | file | idea |
//! |---|---|
//! | `operation` | what an operation is: what the caller has, and with what it derives from the key |
//! | `kernels` | the kernels that perform an operation |
//! | `own_key` | a key of a call's own, which a composition runs under |
//! | `buffers` | the host memory of a call |
//! | `aad` | additional data |
//! | `launch` | a call as kernel launches, with arguments by name |
//! | `batch` | many messages as described to a device, and their results |
//! | `ranges` | where many messages are, or their additional data |
//! | `nonces` | the nonces of many messages |
//! | `gcm_messages` | the messages of a GCM batch |
//! | `gcm_by_key` | those with keys of their own |
//! | `tagging` | what is done with a tag: it is made, or verified |
//! | `partial_hash` | hashes of parts, and how they combine |
//! | `by_mode` | the operation that the kernels of a mode perform |

pub(crate) mod aad;
pub mod batch;
pub mod buffers;
pub(crate) mod by_mode;
pub mod cbc;
pub mod cmac;
pub mod cmac_batch;
pub mod ctr;
pub mod ecb;
pub mod gcm;
pub mod gcm_batch;
pub(crate) mod gcm_by_key;
pub mod gcm_jobs;
pub(crate) mod gcm_messages;
pub mod gcm_random_nonce;
pub mod gcm_siv;
pub mod ghash;
pub mod gmac;
mod jobs;
pub(crate) mod kernels;
pub mod keystream;
pub(crate) mod launch;
pub mod many_keys;
pub mod nonces;
pub mod operation;
pub(crate) mod own_key;
pub mod partial_hash;
pub mod prg;
pub mod ranges;
pub mod tagging;
pub mod xaes;
pub mod xts;

/// Names for callers, re-exported at the top of the crate.
pub mod names {
    pub use super::batch::{OpenedBatch, SideBySide};
    // For functions that take any of a mode's calls with tags.
    #[doc(hidden)]
    pub use super::batch::Results;
    pub use super::buffers::{Access, Buffers};
    pub use super::cbc::{CbcDecrypt, CbcEncrypt};
    pub use super::cmac::Cmac;
    pub use super::cmac_batch::{CmacBatch, CmacMessages, CmacVerifyBatch};
    pub use super::ctr::Ctr;
    pub use super::ecb::Ecb;
    pub use super::gcm::{GcmDecrypt, GcmEncrypt, GcmPart};
    pub use super::gcm_batch::{Aads, GcmBatch, GcmDecryptBatch, GcmEncryptBatch, GcmMessage};
    pub use super::gcm_jobs::{GcmDecryptJobs, GcmEncryptJobs, GcmJob, GcmJobs, JobKeys};
    pub use super::gcm_random_nonce::GcmEncryptWithRandomNonce;
    pub use super::gcm_siv::{GcmSivDecrypt, GcmSivEncrypt};
    pub use super::ghash::Ghash;
    pub use super::gmac::Gmac;
    pub use super::keystream::Keystream;
    pub use super::many_keys::{EachKey, Job, Jobs};
    pub use super::nonces::Nonces;
    pub use super::operation::{Keys, Operation};
    pub use super::partial_hash::PartialHash;
    pub use super::prg::Prg;
    pub use super::ranges::{Integers, Ranges};
    #[doc(hidden)]
    pub use super::tagging::Tagging;
    pub use super::xaes::{XaesDecrypt, XaesEncrypt};
    pub use super::xts::Xts;
}
