//! Tink's keysets as JSON, in the clear.
//!
//! A keyset is a list of keys, one of them primary. The enabled keys of type `AesGcmHkdfStreamingKey` are used. One of
//! these that is malformed, of a version other than 0, with an HKDF other than SHA-256, or with sizes that are not supported, makes the
//! whole keyset an error.

use crate::error::Error;
use crate::stream::StreamKey;
use aes_bitslice_runtime::Key;
use base64ct::{Base64, Encoding};
use prost::Message;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

const TYPE_URL: &str = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey";

/// Some editors write this at the beginning of UTF-8.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// SHA-256 in Tink's list of hashes.
const SHA256: i32 = 3;

/// The keys of a Tink keyset that encrypt streams. Wiped on drop; `Debug` prints only their number.
#[derive(Clone)]
pub struct Keyset {
    /// The primary key first.
    keys: Vec<StreamKey>,
}

/// `AesGcmHkdfStreamingKey`, in Tink's `aes_gcm_hkdf_streaming.proto`.
#[derive(Message)]
struct StreamingKey {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(message, optional, tag = "2")]
    parameters: Option<Parameters>,
    #[prost(bytes = "vec", tag = "3")]
    key_value: Vec<u8>,
}

#[derive(Message)]
struct Parameters {
    #[prost(uint32, tag = "1")]
    ciphertext_segment_size: u32,
    #[prost(uint32, tag = "2")]
    derived_key_size: u32,
    #[prost(int32, tag = "3")]
    hkdf_hash_type: i32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    primary_key_id: u32,
    key: Vec<JsonKey>,
}

/// A keyset that is encrypted, for instance with a service's key.
#[derive(Deserialize)]
struct Encrypted {
    #[serde(rename = "encryptedKeyset")]
    _encrypted_keyset: IgnoredAny,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonKey {
    key_data: KeyData,
    status: String,
    key_id: u32,
    output_prefix_type: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyData {
    type_url: String,
    value: String,
    key_material_type: String,
}

impl Drop for KeyData {
    fn drop(&mut self) {
        self.value.zeroize();
    }
}

impl Drop for StreamingKey {
    fn drop(&mut self) {
        self.key_value.zeroize();
    }
}

impl Keyset {
    /// A new keyset of one key: `AES256_GCM_HKDF_1MB`.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn generate() -> Result<Self, Error> {
        let mut key = Zeroizing::new(vec![0; 32]);
        getrandom::fill(&mut key)?;
        Ok(Self { keys: vec![StreamKey::aes256_1mib(key)] })
    }

    /// A keyset of this 256-bit key alone: `AES256_GCM_HKDF_1MB`.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::XtsKey`].
    pub fn of_key(key: &Key) -> Result<Self, Error> {
        match key.expose() {
            _ if key.is_xts() => Err(Error::XtsKey),
            bytes if bytes.len() == 32 => {
                Ok(Self { keys: vec![StreamKey::aes256_1mib(Zeroizing::new(bytes.to_vec()))] })
            }
            bytes => Err(Error::KeyLength(8 * bytes.len())),
        }
    }

    /// The keyset in a cleartext JSON text.
    ///
    /// # Errors
    /// [`Error::Keyset`]; it never repeats any of the text.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        let bad = |what: &str| Error::Keyset(what.into());
        if json.starts_with(BYTE_ORDER_MARK) {
            return Err(bad("it begins with a byte order mark, EF BB BF: save it without, as UTF-8 alone"));
        }
        // The parser's error may quote the text.
        let json: Json = serde_json::from_str(json).map_err(|e| match serde_json::from_str::<Encrypted>(json) {
            Ok(_) => bad("it is encrypted: decrypt it first, for instance with `tinkey convert-keyset`"),
            Err(_) => Error::Keyset(format!("line {}, column {}: not the JSON of one", e.line(), e.column())),
        })?;
        let (mut primary, mut others) = (None, vec![]);
        for key in &json.key {
            if key.status != "ENABLED" || key.key_data.type_url != TYPE_URL {
                continue;
            }
            let stream_key = stream_key(&key.key_data.value)?;
            if key.key_id != json.primary_key_id {
                others.push(stream_key);
            } else if primary.replace(stream_key).is_some() {
                // As in Tink's own libraries: nothing tells which one is to encrypt.
                return Err(bad("two keys have the identifier of the primary key"));
            }
        }
        let primary = primary.ok_or_else(|| bad("its primary key is no enabled key of type AesGcmHkdfStreamingKey"))?;
        Ok(Self { keys: [primary].into_iter().chain(others).collect() })
    }

    /// The keyset as cleartext JSON, as Tink libraries read it, with `id` as the identifier of its first key. The text is the key.
    pub fn to_json(&self, id: u32) -> Zeroizing<String> {
        let key = |(i, key): (usize, &StreamKey)| {
            let parameters = Parameters {
                ciphertext_segment_size: key.segment as u32,
                derived_key_size: key.derived_bytes as u32,
                hkdf_hash_type: SHA256,
            };
            let message = StreamingKey { version: 0, parameters: Some(parameters), key_value: key.input.to_vec() };
            let encoded = Zeroizing::new(message.encode_to_vec());
            JsonKey {
                key_data: KeyData {
                    type_url: TYPE_URL.into(),
                    value: Base64::encode_string(&encoded),
                    key_material_type: "SYMMETRIC".into(),
                },
                status: "ENABLED".into(),
                key_id: id.wrapping_add(i as u32),
                output_prefix_type: "RAW".into(),
            }
        };
        let json = Json { primary_key_id: id, key: self.keys.iter().enumerate().map(key).collect() };
        // Room for all of it at once: growing would leave copies behind.
        let room = json.key.iter().map(|key| key.key_data.value.len() + 512).sum::<usize>() + 512;
        let mut text = Zeroizing::new(Vec::with_capacity(room));
        serde_json::to_writer_pretty(&mut *text, &json).expect("plain data");
        debug_assert!(text.len() <= room);
        Zeroizing::new(String::from_utf8(std::mem::take(&mut *text)).expect("JSON is UTF-8"))
    }

    /// The number of bytes at the start of a stream that tell which key opens it: its header, and with several keys, a segment and a byte.
    pub fn start_bytes(&self) -> usize {
        match &self.keys[..] {
            [key] => key.header_bytes(),
            keys => keys.iter().map(|key| key.segment).max().expect("a keyset has a key") + 1,
        }
    }

    pub(crate) fn keys(&self) -> &[StreamKey] {
        &self.keys
    }
}

impl fmt::Debug for Keyset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyset({} keys)", self.keys.len())
    }
}

/// The key in a message in base 64.
fn stream_key(value: &str) -> Result<StreamKey, Error> {
    let bad = |what: &str| Error::Keyset(what.into());
    let bytes = Zeroizing::new(Base64::decode_vec(value).map_err(|_| bad("a key's value is not in base 64"))?);
    let mut key =
        StreamingKey::decode(bytes.as_slice()).map_err(|_| bad("a key's value is no AesGcmHkdfStreamingKey"))?;
    let parameters = key.parameters.take().ok_or_else(|| bad("a key has no parameters"))?;
    if key.version != 0 || parameters.hkdf_hash_type != SHA256 {
        return Err(bad("a key is of another version than 0, or its HKDF is not by SHA-256"));
    }
    let derived_bytes = parameters.derived_key_size as usize;
    let segment = parameters.ciphertext_segment_size as usize;
    if ![16, 32].contains(&derived_bytes) || key.key_value.len() < derived_bytes {
        return Err(bad("a key derives others of neither 16 nor 32 bytes, or is shorter than those"));
    }
    let least = 1 + derived_bytes + 7 + 16 + 1;
    if !(least..=1 << 30).contains(&segment) {
        return Err(bad("a key's segments have no room for a header and a byte, or more than 1 GiB"));
    }
    Ok(StreamKey { input: Zeroizing::new(std::mem::take(&mut key.key_value)), derived_bytes, segment })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key in base 64.
    fn value(version: u32, segment: u32, derived: u32, hash: i32, key_bytes: usize) -> String {
        let parameters =
            Parameters { ciphertext_segment_size: segment, derived_key_size: derived, hkdf_hash_type: hash };
        let message = StreamingKey { version, parameters: Some(parameters), key_value: vec![7; key_bytes] };
        Base64::encode_string(&message.encode_to_vec())
    }

    #[test]
    fn every_bound_of_a_key_is_one() {
        let taken = |version, segment, derived, hash, key_bytes| {
            stream_key(&value(version, segment, derived, hash, key_bytes)).is_ok()
        };
        for (segment, derived, key_bytes) in
            [(57, 32, 32), (41, 16, 16), (1 << 30, 32, 32), (1 << 30, 16, 16), (4096, 16, 32), (4096, 32, 100)]
        {
            assert!(taken(0, segment, derived, SHA256, key_bytes), "{segment}, {derived}, {key_bytes}");
            assert!(!taken(1, segment, derived, SHA256, key_bytes));
            // SHA-1, SHA-384, SHA-512, SHA-224.
            assert!([0, 1, 2, 4, 5].iter().all(|&hash| !taken(0, segment, derived, hash, key_bytes)));
        }
        for (segment, derived, key_bytes) in [
            (56, 32, 32),
            (40, 16, 16),
            ((1 << 30) + 1, 32, 32),
            (4096, 24, 32),
            (4096, 0, 32),
            (4096, 32, 31),
            (4096, 16, 15),
        ] {
            assert!(!taken(0, segment, derived, SHA256, key_bytes), "{segment}, {derived}, {key_bytes}");
        }
        let without = StreamingKey { version: 0, parameters: None, key_value: vec![7; 32] };
        assert!(stream_key(&Base64::encode_string(&without.encode_to_vec())).is_err());
        assert!(stream_key("=").is_err() && stream_key("AAAA").is_err());
    }

    /// Every field, as Tink's own libraries write it.
    #[test]
    fn a_keyset_is_written_as_tink_writes_it() {
        let keys = vec![StreamKey::aes256_1mib(Zeroizing::new(vec![7; 32])); 2];
        let written: serde_json::Value = serde_json::from_str(&Keyset { keys }.to_json(u32::MAX)).unwrap();
        let key = |id: u32| {
            serde_json::json!({
                "keyData": {
                    "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
                    "value": Base64::encode_string(&[&b"\x12\x08\x08\x80\x80\x40\x10\x20\x18\x03\x1a\x20"[..], &[7; 32]].concat()),
                    "keyMaterialType": "SYMMETRIC",
                },
                "status": "ENABLED",
                "keyId": id,
                "outputPrefixType": "RAW",
            })
        };
        assert_eq!(written, serde_json::json!({ "primaryKeyId": u32::MAX, "key": [key(u32::MAX), key(0)] }));
    }

    /// Keys that are disabled or of another type are passed over; the primary key comes first.
    #[test]
    fn only_enabled_keys_of_the_type_are_taken() {
        let key = |id: u32, status: &str, type_url: &str| {
            serde_json::json!({
                "keyData": {
                    "typeUrl": type_url,
                    "value": value(0, 4096 + id, 32, SHA256, 32),
                    "keyMaterialType": "SYMMETRIC",
                },
                "status": status, "keyId": id, "outputPrefixType": "RAW",
            })
        };
        let of = |primary: u32, keys: &[serde_json::Value]| {
            let json = serde_json::json!({ "primaryKeyId": primary, "key": keys }).to_string();
            Keyset::from_json(&json).map(|keyset| keyset.keys.iter().map(|key| key.segment - 4096).collect::<Vec<_>>())
        };
        let other = "type.googleapis.com/google.crypto.tink.AesCtrHmacAeadKey";
        let keys = [
            key(1, "ENABLED", TYPE_URL),
            key(2, "DISABLED", TYPE_URL),
            key(3, "DESTROYED", TYPE_URL),
            key(4, "ENABLED", other),
            key(5, "ENABLED", TYPE_URL),
        ];
        assert_eq!((of(1, &keys).unwrap(), of(5, &keys).unwrap()), (vec![1, 5], vec![5, 1]));
        for primary in [2, 3, 4, 6] {
            assert!(matches!(of(primary, &keys), Err(Error::Keyset(_))), "{primary}");
        }
        let twice = [
            key(1, "ENABLED", TYPE_URL),
            key(1, "DISABLED", TYPE_URL),
            key(5, "ENABLED", TYPE_URL),
            key(5, "ENABLED", TYPE_URL),
        ];
        assert_eq!(of(1, &twice).unwrap(), vec![1, 5, 5]);
        assert!(of(5, &twice).unwrap_err().to_string().ends_with("two keys have the identifier of the primary key"));
        let short = Key::new(&[7; 16]).unwrap();
        let two = Key::xts(&[[7; 16], [8; 16]].concat());
        assert!(matches!(Keyset::of_key(&short), Err(Error::KeyLength(128))));
        assert!(matches!(Keyset::of_key(&two.unwrap()), Err(Error::XtsKey)));
        assert_ne!(*Keyset::generate().unwrap().keys[0].input, *Keyset::generate().unwrap().keys[0].input);
    }
}
