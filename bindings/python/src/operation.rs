//! An operation as a value: a class for each, with what the caller says, and the operation of the library that it is.

use crate::batch::{GcmMessages, GivenTags, Places, received_tag};
use crate::buffer::{Buffer, small};
use crate::documented::parameter;
use crate::error::{guarded, of_runtime};
use crate::number;
use crate::outcome::given_tags;
use crate::run::{Plain, Run, Tagged, Valued, WithRandomNonce};
use aes_bitslice_runtime::{self as runtime, Counter, CounterMode, Direction, Error as Runtime, Mode, Nonce, Tag};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// What a call does with its data, as a value for `Cipher.run`: `GcmEncrypt(nonce, aad)`, `Ctr(iv)` and the other classes, each of which is
/// named after a method of `Cipher`, whose help tells more.
///
/// It holds copies of what it is made from, and never changes. One that encrypts with a nonce or an IV is for one message.
#[pyclass(frozen, subclass, module = "aes_bitslice")]
pub struct Operation(pub Box<dyn Run>);

/// The class of each operation: its name, its parameters with their signature in Python, and how it is made of them.
macro_rules! classes {
    ($($(#[$($doc:tt)+])* $class:ident($($parameters:tt)*) $signature:tt = $make:expr;)*) => { $(
        $(#[$($doc)+])*
        #[pyclass(frozen, extends = Operation, module = "aes_bitslice")]
        pub struct $class;

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = $signature)]
            fn new($($parameters)*) -> PyResult<PyClassInitializer<Self>> {
                Ok(PyClassInitializer::from(Operation(Box::new(guarded(|| $make)?))).add_subclass(Self))
            }
        }
    )* };
}

classes! {
    /// CTR; see `Cipher.ctr`.
    ///
    #[doc = parameter!(iv_of_ctr)]
    #[doc = parameter!(offset)]
    #[doc = parameter!(counter_bits)]
    Ctr(
        iv: Any<'_, '_>,
        #[pyo3(from_py_with = number::offset)] offset: u64,
        #[pyo3(from_py_with = number::counter_bits)] counter_bits: u32,
    ) (iv, *, offset = 0, counter_bits = 128) = ctr(iv, offset, counter_bits);

    /// The key stream of CTR; see `Cipher.keystream`.
    ///
    #[doc = parameter!(iv_of_ctr)]
    #[doc = parameter!(offset)]
    #[doc = parameter!(counter_bits)]
    Keystream(
        iv: Any<'_, '_>,
        #[pyo3(from_py_with = number::offset)] offset: u64,
        #[pyo3(from_py_with = number::counter_bits)] counter_bits: u32,
    ) (iv, *, offset = 0, counter_bits = 128) = keystream(iv, offset, counter_bits);

    /// ECB encryption; see `Cipher.ecb_encrypt`.
    EcbEncrypt() () = ecb(Direction::Encrypt);

    /// ECB decryption; see `Cipher.ecb_decrypt`.
    EcbDecrypt() () = ecb(Direction::Decrypt);

    /// The pseudorandom generator; see `Cipher.prg`.
    Prg() () = prg();

    /// CBC encryption; see `Cipher.cbc_encrypt`.
    ///
    #[doc = parameter!(iv_of_cbc)]
    CbcEncrypt(iv: Any<'_, '_>) (iv) = cbc_encrypt(iv);

    /// CBC decryption; see `Cipher.cbc_decrypt`.
    ///
    #[doc = parameter!(iv)]
    CbcDecrypt(iv: Any<'_, '_>) (iv) = cbc_decrypt(iv);

    /// XTS encryption; see `Cipher.xts_encrypt`.
    ///
    #[doc = parameter!(unit_bytes)]
    #[doc = parameter!(first_unit)]
    XtsEncrypt(
        #[pyo3(from_py_with = number::unit_bytes)] unit_bytes: u64,
        #[pyo3(from_py_with = number::first_unit)] first_unit: u128,
    ) (*, unit_bytes, first_unit = 0) = xts(Direction::Encrypt, unit_bytes, first_unit);

    /// XTS decryption; see `Cipher.xts_decrypt`.
    ///
    #[doc = parameter!(unit_bytes)]
    #[doc = parameter!(first_unit)]
    XtsDecrypt(
        #[pyo3(from_py_with = number::unit_bytes)] unit_bytes: u64,
        #[pyo3(from_py_with = number::first_unit)] first_unit: u128,
    ) (*, unit_bytes, first_unit = 0) = xts(Direction::Decrypt, unit_bytes, first_unit);

    /// GCM encryption; see `Cipher.gcm_encrypt`.
    ///
    #[doc = parameter!(nonce_of_gcm)]
    #[doc = parameter!(new_aad)]
    GcmEncrypt(nonce: Any<'_, '_>, aad: Option<Any<'_, '_>>) (nonce, aad = None) = encryption(runtime::GcmEncrypt::new, nonce, aad);

    /// GCM encryption with a new random nonce in every run; see `Cipher.gcm_encrypt_with_random_nonce`.
    ///
    #[doc = parameter!(new_aad)]
    GcmEncryptWithRandomNonce(aad: Option<Any<'_, '_>>) (aad = None) = gcm_encrypt_with_random_nonce(aad);

    /// GCM decryption; see `Cipher.gcm_decrypt`.
    ///
    #[doc = parameter!(nonce)]
    #[doc = parameter!(tag)]
    #[doc = parameter!(aad)]
    #[doc = parameter!(tag_bytes_of_gcm)]
    #[doc = parameter!(short_tags)]
    GcmDecrypt(
        nonce: Any<'_, '_>,
        tag: Any<'_, '_>,
        aad: Option<Any<'_, '_>>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
        short_tags: bool,
    ) (nonce, tag, aad = None, *, tag_bytes = 16, short_tags = false) = gcm_decrypt(nonce, tag, aad, tag_bytes, short_tags);

    /// AES-GCM-SIV encryption; see `Cipher.gcm_siv_encrypt`.
    ///
    #[doc = parameter!(nonce_of_gcm_siv)]
    #[doc = parameter!(new_aad)]
    GcmSivEncrypt(nonce: Any<'_, '_>, aad: Option<Any<'_, '_>>) (nonce, aad = None)
        = encryption(runtime::GcmSivEncrypt::new, nonce, aad);

    /// AES-GCM-SIV decryption; see `Cipher.gcm_siv_decrypt`.
    ///
    #[doc = parameter!(nonce)]
    #[doc = parameter!(tag)]
    #[doc = parameter!(aad)]
    GcmSivDecrypt(nonce: Any<'_, '_>, tag: Any<'_, '_>, aad: Option<Any<'_, '_>>) (nonce, tag, aad = None)
        = decryption_by_whole_tag(runtime::GcmSivDecrypt::new, nonce, tag, aad);

    /// XAES-256-GCM encryption; see `Cipher.xaes_encrypt`.
    ///
    #[doc = parameter!(nonce_of_xaes)]
    #[doc = parameter!(new_aad)]
    XaesEncrypt(nonce: Any<'_, '_>, aad: Option<Any<'_, '_>>) (nonce, aad = None)
        = encryption(runtime::XaesEncrypt::new, nonce, aad);

    /// XAES-256-GCM decryption; see `Cipher.xaes_decrypt`.
    ///
    #[doc = parameter!(nonce)]
    #[doc = parameter!(tag)]
    #[doc = parameter!(aad)]
    XaesDecrypt(nonce: Any<'_, '_>, tag: Any<'_, '_>, aad: Option<Any<'_, '_>>) (nonce, tag, aad = None)
        = decryption_by_whole_tag(runtime::XaesDecrypt::new, nonce, tag, aad);

    /// GMAC; see `Cipher.gmac`.
    ///
    #[doc = parameter!(nonce_of_gcm)]
    Gmac(nonce: Any<'_, '_>) (nonce) = gmac(nonce);

    /// CMAC of a message in host memory; see `Cipher.cmac`.
    Cmac() () = cmac();

    /// GCM encryption of many messages; see `Cipher.gcm_encrypt_batch`.
    ///
    #[doc = parameter!(nonces)]
    #[doc = parameter!(ranges)]
    #[doc = parameter!(aads)]
    #[doc = parameter!(aad_ranges)]
    GcmEncryptBatch(
        nonces: Any<'_, '_>,
        ranges: Any<'_, '_>,
        aads: Option<Any<'_, '_>>,
        aad_ranges: Option<Any<'_, '_>>,
    ) (nonces, ranges, aads = None, *, aad_ranges = None) = gcm_encrypt_batch(nonces, ranges, aads, aad_ranges);

    /// GCM decryption of many messages; see `Cipher.gcm_decrypt_batch`.
    ///
    #[doc = parameter!(nonces)]
    #[doc = parameter!(ranges)]
    #[doc = parameter!(tags)]
    #[doc = parameter!(aads)]
    #[doc = parameter!(aad_ranges)]
    #[doc = parameter!(tag_bytes_of_gcm)]
    #[doc = parameter!(short_tags)]
    GcmDecryptBatch(
        nonces: Any<'_, '_>,
        ranges: Any<'_, '_>,
        tags: Any<'_, '_>,
        aads: Option<Any<'_, '_>>,
        aad_ranges: Option<Any<'_, '_>>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
        short_tags: bool,
    ) (nonces, ranges, tags, aads = None, *, aad_ranges = None, tag_bytes = 16, short_tags = false)
        = gcm_decrypt_batch(nonces, ranges, tags, aads, aad_ranges, tag_bytes, short_tags);

    /// CMAC of many messages; see `Cipher.cmac_batch`.
    ///
    #[doc = parameter!(ranges)]
    CmacBatch(ranges: Any<'_, '_>) (ranges) = cmac_batch(ranges);

    /// Verification of the CMAC of many messages; see `Cipher.cmac_verify_batch`.
    ///
    #[doc = parameter!(ranges)]
    #[doc = parameter!(tags)]
    #[doc = parameter!(tag_bytes)]
    CmacVerifyBatch(
        ranges: Any<'_, '_>,
        tags: Any<'_, '_>,
        #[pyo3(from_py_with = number::tag_bytes)] tag_bytes: usize,
    ) (ranges, tags, *, tag_bytes = 16) = cmac_verify_batch(ranges, tags, tag_bytes);
}

pub fn ctr(iv: Any<'_, '_>, offset: u64, counter_bits: u32) -> PyResult<Plain<runtime::Ctr>> {
    Ok(Plain(runtime::Ctr::new(&counter(iv, counter_bits)?, offset), Some(Mode::Ctr)))
}

pub fn keystream(iv: Any<'_, '_>, offset: u64, counter_bits: u32) -> PyResult<Plain<runtime::Keystream>> {
    Ok(Plain(runtime::Keystream::new(&counter(iv, counter_bits)?, offset), Some(Mode::Keystream)))
}

pub fn ecb(direction: Direction) -> PyResult<Plain<runtime::Ecb>> {
    Ok(Plain(runtime::Ecb::new(direction), Some(Mode::ecb(direction))))
}

pub fn prg() -> PyResult<Plain<runtime::Prg>> {
    Ok(Plain(runtime::Prg::new(), Some(Mode::Prg)))
}

pub fn cbc_encrypt(iv: Any<'_, '_>) -> PyResult<Plain<runtime::CbcEncrypt>> {
    Ok(Plain(runtime::CbcEncrypt::new(&block(iv)?), None))
}

pub fn cbc_decrypt(iv: Any<'_, '_>) -> PyResult<Plain<runtime::CbcDecrypt>> {
    Ok(Plain(runtime::CbcDecrypt::new(&block(iv)?), Some(Mode::CbcDecrypt)))
}

pub fn xts(direction: Direction, unit_bytes: u64, first_unit: u128) -> PyResult<Plain<runtime::Xts>> {
    let xts = runtime::Xts::new(direction, unit_bytes, first_unit).map_err(of_runtime)?;
    Ok(Plain(xts, Some(Mode::xts(direction))))
}

/// Encryption of a message with a tag, by what `new` makes of its nonce and additional data.
pub fn encryption<O>(new: fn(&Nonce, &[u8]) -> O, nonce: Any<'_, '_>, aad: Option<Any<'_, '_>>) -> PyResult<Tagged<O>> {
    let (nonce, aad) = (nonce_of(nonce)?, additional(aad)?);
    let aad = bytes_of(&aad);
    Ok(Tagged { operation: new(&nonce, aad), besides: aad.len() as u64, is_serial: false })
}

/// Decryption of such a message, by what `new` makes of its nonce, additional data and tag, which `received` reads.
fn decryption<O>(
    new: impl Fn(&Nonce, &[u8], &Tag) -> O,
    nonce: Any<'_, '_>,
    tag: Any<'_, '_>,
    aad: Option<Any<'_, '_>>,
    received: impl FnOnce(&[u8]) -> PyResult<Tag>,
) -> PyResult<Valued<O>> {
    let (nonce, aad) = (nonce_of(nonce)?, additional(aad)?);
    let (tag, aad) = (received(small(&given_tags(tag)?, "tag")?.bytes())?, bytes_of(&aad));
    Ok(Valued { operation: new(&nonce, aad, &tag), besides: aad.len() as u64, messages: None })
}

pub fn gcm_encrypt_with_random_nonce(aad: Option<Any<'_, '_>>) -> PyResult<WithRandomNonce> {
    Ok(WithRandomNonce(bytes_of(&additional(aad)?).to_vec()))
}

pub fn gcm_decrypt(
    nonce: Any<'_, '_>,
    tag: Any<'_, '_>,
    aad: Option<Any<'_, '_>>,
    tag_bytes: usize,
    short_tags: bool,
) -> PyResult<Valued<runtime::GcmDecrypt>> {
    number::check_short_tags(tag_bytes, short_tags)?;
    decryption(runtime::GcmDecrypt::new, nonce, tag, aad, |tag| received_tag(tag, "tag", tag_bytes))
}

/// Decryption that takes whole tags.
pub fn decryption_by_whole_tag<O: runtime::Operation>(
    new: impl Fn(&Nonce, &[u8], &Tag) -> O,
    nonce: Any<'_, '_>,
    tag: Any<'_, '_>,
    aad: Option<Any<'_, '_>>,
) -> PyResult<Valued<O>> {
    decryption(new, nonce, tag, aad, |tag| {
        Tag::new(tag).map_err(|_| {
            let what = format!("a tag has 16 bytes, and this one has {}", tag.len());
            of_runtime(Runtime::Length { operation: O::NAME, what })
        })
    })
}

pub fn gmac(nonce: Any<'_, '_>) -> PyResult<Tagged<runtime::Gmac>> {
    Ok(Tagged { operation: runtime::Gmac::new(&nonce_of(nonce)?), besides: 0, is_serial: false })
}

pub fn cmac() -> PyResult<Tagged<runtime::Cmac>> {
    Ok(Tagged { operation: runtime::Cmac::new(), besides: 0, is_serial: true })
}

/// A batch of this number of messages.
fn batch<O>(messages: usize, operation: Result<O, Runtime>) -> PyResult<Valued<O>> {
    Ok(Valued { operation: operation.map_err(of_runtime)?, besides: u64::MAX, messages: Some(messages) })
}

pub fn gcm_encrypt_batch(
    nonces: Any<'_, '_>,
    ranges: Any<'_, '_>,
    aads: Option<Any<'_, '_>>,
    aad_ranges: Option<Any<'_, '_>>,
) -> PyResult<Valued<runtime::GcmBatch<runtime::SideBySide>>> {
    let given = GcmMessages::of(nonces, ranges, aads, aad_ranges)?;
    batch(given.len()?, Ok(given.view(runtime::GcmEncryptBatch::from_arrays)?))
}

pub fn gcm_decrypt_batch(
    nonces: Any<'_, '_>,
    ranges: Any<'_, '_>,
    tags: Any<'_, '_>,
    aads: Option<Any<'_, '_>>,
    aad_ranges: Option<Any<'_, '_>>,
    tag_bytes: usize,
    short_tags: bool,
) -> PyResult<Valued<runtime::GcmDecryptBatch>> {
    number::check_short_tags(tag_bytes, short_tags)?;
    let given = GcmMessages::of(nonces, ranges, aads, aad_ranges)?;
    let tags = GivenTags::of(&given_tags(tags)?, given.len()?, tag_bytes)?;
    let from_arrays = match short_tags {
        false => runtime::GcmDecryptBatch::from_arrays,
        true => runtime::GcmDecryptBatch::from_arrays_with_short_tags,
    };
    let decrypt = given.view(|ranges, nonces, aads| from_arrays(ranges, nonces, aads, tags.bytes(), tag_bytes))?;
    batch(given.len()?, Ok(decrypt))
}

pub fn cmac_batch(ranges: Any<'_, '_>) -> PyResult<Valued<runtime::CmacMessages<runtime::SideBySide>>> {
    let places = Places::of(ranges, "ranges")?;
    let ranges = places.view()?;
    batch(ranges.len(), runtime::CmacBatch::from_arrays(&ranges))
}

pub fn cmac_verify_batch(
    ranges: Any<'_, '_>,
    tags: Any<'_, '_>,
    tag_bytes: usize,
) -> PyResult<Valued<runtime::CmacVerifyBatch>> {
    let places = Places::of(ranges, "ranges")?;
    let ranges = places.view()?;
    let tags = GivenTags::of(&given_tags(tags)?, ranges.len(), tag_bytes)?;
    batch(ranges.len(), runtime::CmacVerifyBatch::from_arrays(&ranges, tags.bytes(), tag_bytes))
}

/// The initial counter block, whose last `bits` bits count.
fn counter(iv: Any<'_, '_>, bits: u32) -> PyResult<Counter> {
    let mode = match bits {
        128 => CounterMode::Ctr128BE,
        64 => CounterMode::Ctr64BE,
        32 => CounterMode::Ctr32BE,
        other => return Err(PyValueError::new_err(format!("counter_bits is 128, 64 or 32, not {other}"))),
    };
    Ok(Counter::new(mode, block(iv)?))
}

fn block(iv: Any<'_, '_>) -> PyResult<[u8; 16]> {
    let iv = small(iv, "iv")?;
    iv.bytes().try_into().map_err(|_| PyValueError::new_err(format!("iv has 16 bytes, not {}", iv.len())))
}

fn nonce_of(nonce: Any<'_, '_>) -> PyResult<Nonce> {
    Nonce::new(small(nonce, "nonce")?.bytes()).map_err(of_runtime)
}

/// Additional data; there may be none.
fn additional(aad: Option<Any<'_, '_>>) -> PyResult<Option<Buffer>> {
    aad.map(|aad| small(aad, "aad")).transpose()
}

fn bytes_of(aad: &Option<Buffer>) -> &[u8] {
    aad.as_ref().map_or(&[], Buffer::bytes)
}
