//! The secret: an AES key, or the two keys of XTS, wiped on drop and never printed.

use crate::base::error::Error;
#[cfg(feature = "hkdf")]
use crate::base::scrubbed::{DERIVED, scrubbed};
use aes_bitslice_core::aes::KeyBits;
#[cfg(feature = "hkdf")]
use hkdf::Hkdf;
#[cfg(feature = "hkdf")]
use sha2::Sha256;
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

/// An AES key, or two of them for XTS.
///
/// Its bytes stay in one place on the heap, so that moving the value leaves no copy behind, and are wiped on drop.
/// `Debug` prints the length only.
#[derive(Clone)]
pub struct Key {
    bytes: Zeroizing<Box<[u8]>>,
    /// The length of one AES key.
    bits: KeyBits,
    /// Whether it is an XTS key that is one AES key twice.
    halves_are_equal: bool,
}

/// The message for an XTS key where one AES key is needed.
pub(crate) const ONE_KEY: &str = "one AES key, and this is a key of XTS: make a key of one alone";

/// The message for one AES key where an XTS key is needed.
pub(crate) const TWO_KEYS: &str = "a key of XTS, which is two AES keys: make a key of both";

impl Key {
    /// Creates a key from 16, 24 or 32 bytes, in the byte order of FIPS 197.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for any other number of bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        let bits = KeyBits::from_bytes(bytes.len()).ok_or(Error::KeyLength { bytes: bytes.len() })?;
        Ok(Self { bytes: Zeroizing::new(bytes.into()), bits, halves_are_equal: false })
    }

    /// Creates an XTS key from 32 or 64 bytes: the data key, then the tweak key (IEEE 1619, section 5.1), both of 128
    /// or both of 256 bits. A key whose [halves are equal](Self::halves_are_equal) decrypts, and does not encrypt.
    ///
    /// # Errors
    /// [`Error::XtsKey`] for any other number of bytes.
    pub fn xts(bytes: &[u8]) -> Result<Self, Error> {
        let bits = match bytes.len() {
            32 | 64 => KeyBits::from_bytes(bytes.len() / 2).expect("16 or 32 bytes"),
            other => return Err(Error::XtsKey { what: format!("it has 32 or 64 bytes, not {other}") }),
        };
        let (data, tweak) = bytes.split_at(bits.bytes());
        Ok(Self { bytes: Zeroizing::new(bytes.into()), bits, halves_are_equal: data.ct_eq(tweak).into() })
    }

    /// Generates a new XTS key, two AES keys of `bits` bits (128 or 256), with the operating system's random number generator.
    ///
    /// # Errors
    /// [`Error::XtsKey`] for 192 bits, [`Error::Random`] if the system does not supply random bytes.
    pub fn generate_xts(bits: KeyBits) -> Result<Self, Error> {
        let mut bytes = Zeroizing::new(vec![0; 2 * bits.bytes()]);
        getrandom::fill(&mut bytes)?;
        Self::xts(&bytes)
    }

    /// Parses a key written as 32, 48 or 64 hexadecimal digits of either case, first byte first, and nothing else.
    ///
    /// The time it takes depends only on the number of digits, as long as they are digits.
    ///
    /// # Errors
    /// [`Error::KeyHex`] for an odd number of digits or a character that is no hexadecimal digit, [`Error::KeyLength`] for another length.
    /// Neither error repeats any of the text.
    pub fn from_hex(hex: &str) -> Result<Self, Error> {
        let digits = hex.as_bytes();
        let mut decoded = Zeroizing::new(vec![0; digits.len() / 2]);
        if base16ct::mixed::decode(digits, &mut decoded).is_ok() {
            return Self::new(&decoded);
        }
        // It is not a key, and may be examined.
        let what = match digits.iter().position(|digit| !digit.is_ascii_hexdigit()) {
            Some(i) => format!("character {} is no hexadecimal digit", i + 1),
            None => format!("an odd number of digits ({})", digits.len()),
        };
        Err(Error::KeyHex { what })
    }

    /// Generates a new key with the operating system's random number generator.
    ///
    /// # Errors
    /// [`Error::Random`] if the system does not supply random bytes.
    pub fn generate(bits: KeyBits) -> Result<Self, Error> {
        let mut bytes = Zeroizing::new(vec![0; bits.bytes()].into_boxed_slice());
        getrandom::fill(&mut bytes)?;
        Ok(Self { bytes, bits, halves_are_equal: false })
    }

    /// Derives a key of `bits` bits from secret bytes with HKDF-SHA256 (RFC 5869), so that one secret serves for a key of each purpose,
    /// tenant or file. The secret is random and has 16 bytes or more, such as [`expose`](Self::expose) of a key; it is no passphrase.
    ///
    /// `info` says what the key is for: another `info` gives a key that tells nothing about this one. `salt` is public and may be empty;
    /// a random one is kept, and makes keys of their own where nothing else differs.
    ///
    /// ```
    /// use aes_bitslice_runtime::{Error, Key, KeyBits};
    ///
    /// let master = Key::generate(KeyBits::Aes256)?;
    /// let columns = Key::derive(master.expose(), b"", b"columns of orders, 2026", KeyBits::Aes128)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::SecretLength`] for a secret of fewer than 16 bytes.
    #[cfg(feature = "hkdf")]
    pub fn derive(secret: &[u8], salt: &[u8], info: &[u8], bits: KeyBits) -> Result<Self, Error> {
        if secret.len() < 16 {
            return Err(Error::SecretLength { bytes: secret.len() });
        }
        let mut bytes = Zeroizing::new(vec![0; bits.bytes()].into_boxed_slice());
        let derived = scrubbed::<DERIVED, _>(|| Hkdf::<Sha256>::new(Some(salt), secret).expand(info, &mut bytes));
        derived.expect("at most one hash");
        Ok(Self { bytes, bits, halves_are_equal: false })
    }

    /// The length of the AES key, or of each of the two XTS keys.
    pub fn bits(&self) -> KeyBits {
        self.bits
    }

    /// Whether it is an XTS key.
    pub fn is_xts(&self) -> bool {
        self.bytes.len() != self.bits.bytes()
    }

    /// Whether it is an XTS key that is one AES key twice. [`Xts`](crate::Xts) then decrypts, so that data of old
    /// programs is not lost, but does not encrypt: the two keys have to be independent (SP 800-38E; FIPS 140-3,
    /// implementation guidance C.I).
    pub fn halves_are_equal(&self) -> bool {
        self.halves_are_equal
    }

    /// This key, for operations that need one AES key.
    ///
    /// # Errors
    /// [`Error::WrongKeys`] for an XTS key, because its first half would be taken for the whole key.
    pub(crate) fn only(&self, operation: &'static str) -> Result<&Self, Error> {
        if self.is_xts() { Err(Error::WrongKeys { operation, needs: ONE_KEY }) } else { Ok(self) }
    }

    /// The AES key; for XTS, the data key.
    pub(crate) fn first(&self) -> &[u8] {
        &self.bytes[..self.bits.bytes()]
    }

    /// The tweak key of an XTS key.
    pub(crate) fn second(&self) -> Option<&[u8]> {
        self.is_xts().then(|| &self.bytes[self.bits.bytes()..])
    }

    /// The key's bytes, for callers that store them; for XTS, the bytes of both keys. Copies of them are not wiped.
    pub fn expose(&self) -> &[u8] {
        &self.bytes
    }
}

/// One AES key from an array, whose length cannot be wrong.
macro_rules! from_array {
    ($($bytes:literal: $bits:ident),*) => {$(
        #[doc = concat!("One AES key of ", $bytes, " bytes, in the byte order of FIPS 197. The copy of the array that is passed is wiped,")]
        /// and not one that the caller keeps.
        impl From<[u8; $bytes]> for Key {
            fn from(mut bytes: [u8; $bytes]) -> Self {
                let key = Self {
                    bytes: Zeroizing::new(bytes.as_slice().into()),
                    bits: KeyBits::$bits,
                    halves_are_equal: false,
                };
                bytes.zeroize();
                key
            }
        }
    )*};
}

from_array!(16: Aes128, 24: Aes192, 32: Aes256);

/// In constant time, unless they have other lengths, or one is for XTS.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.is_xts() == other.is_xts() && self.bytes.ct_eq(&other.bytes).into()
    }
}

impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.is_xts() { "XTS, twice " } else { "" };
        write!(f, "Key({of}{} bits)", self.bits.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        for bytes in 0..=65 {
            let key = Key::new(&vec![7; bytes]);
            let hex = Key::from_hex(&"a5".repeat(bytes));
            match bytes {
                16 | 24 | 32 => {
                    assert_eq!(key.unwrap().bits().bytes(), bytes);
                    assert_eq!(hex.unwrap().expose(), vec![0xa5; bytes]);
                }
                _ => {
                    assert!(matches!(key, Err(Error::KeyLength { bytes: b }) if b == bytes));
                    assert!(matches!(hex, Err(Error::KeyLength { bytes: b }) if b == bytes));
                }
            }
        }
    }

    #[test]
    fn keys_are_equal_if_their_bytes_are_and_they_are_for_the_same() {
        let key = Key::new(&[7; 32]).unwrap();
        assert!(key == key.clone() && key == Key::from([7; 32]));
        for at in 0..32 {
            let mut bytes = [7; 32];
            bytes[at] ^= 1;
            assert!(key != Key::from(bytes), "byte {at}");
        }
        assert!(key != Key::from([7; 16]) && key != Key::xts(&[7; 32]).unwrap());
    }

    #[test]
    fn arrays_are_keys_of_their_lengths() {
        for key in [Key::from([3; 16]), Key::from([3; 24]), Key::from([3; 32])] {
            let same = Key::new(key.expose()).unwrap();
            assert_eq!((key.bits(), key.is_xts(), key.expose()[0]), (same.bits(), false, 3));
        }
    }

    /// A byte that is zero in all of 64 keys was not drawn: by chance that happens once in 2^512.
    #[test]
    fn every_byte_of_a_new_key_is_random() {
        for bits in KeyBits::ALL {
            for generate in [Key::generate, Key::generate_xts] {
                let Ok(first) = generate(bits) else { continue };
                let mut any = first.expose().to_vec();
                for _ in 0..63 {
                    any.iter_mut().zip(generate(bits).unwrap().expose()).for_each(|(any, byte)| *any |= byte);
                }
                assert!(!any.contains(&0), "{bits:?}: {any:?}");
            }
        }
        assert!(Key::generate_xts(KeyBits::Aes192).is_err());
    }

    /// RFC 5869, test cases 1 to 3: a key is the first bytes of their output.
    #[cfg(feature = "hkdf")]
    #[test]
    fn derived_keys_are_those_of_rfc_5869() {
        let count = |bytes: std::ops::Range<u8>| bytes.collect::<Vec<u8>>();
        let cases = [
            (
                vec![0x0b; 22],
                count(0..0x0d),
                count(0xf0..0xfa),
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf",
            ),
            (
                count(0..0x50),
                count(0x60..0xb0),
                count(0xb0..0xff),
                "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c",
            ),
            (vec![0x0b; 22], vec![], vec![], "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"),
        ];
        for (n, (secret, salt, mut info, expected)) in cases.into_iter().enumerate() {
            if n == 1 {
                info.push(0xff);
            }
            for bits in KeyBits::ALL {
                let key = Key::derive(&secret, &salt, &info, bits).unwrap();
                assert_eq!(key.bits(), bits);
                let expected = Key::from_hex(&expected[..2 * bits.bytes()]).unwrap();
                assert_eq!(key.expose(), expected.expose(), "case {}", n + 1);
            }
        }
        for bytes in 0..20 {
            let derived = Key::derive(&vec![7; bytes], b"", b"", KeyBits::Aes128);
            assert_eq!(matches!(derived, Err(Error::SecretLength { bytes: b }) if b == bytes), bytes < 16, "{bytes}");
        }
    }

    #[test]
    fn keys_of_xts_are_two() {
        for len in 0..70 {
            let bytes: Vec<u8> = (0..len).collect();
            let key = Key::xts(&bytes);
            match len {
                32 | 64 => {
                    let (key, half) = (key.unwrap(), usize::from(len) / 2);
                    assert!(key.is_xts() && key.bits().bytes() == half);
                    assert_eq!((key.first(), key.second()), (&bytes[..half], Some(&bytes[half..])));
                    assert_eq!(format!("{key:?}"), format!("Key(XTS, twice {} bits)", 8 * half));
                }
                _ => assert!(matches!(key, Err(Error::XtsKey { .. })), "{len}"),
            }
        }
        assert!(Key::xts(&[7; 64]).unwrap().halves_are_equal());
        for (at, len) in [(0, 32), (15, 32), (31, 64), (63, 64)] {
            let mut bytes = vec![7; len];
            bytes[at] ^= 1;
            assert!(!Key::xts(&bytes).unwrap().halves_are_equal(), "{at} of {len}");
        }
        assert!(!Key::new(&[7; 32]).unwrap().halves_are_equal());
        assert!(Key::generate_xts(KeyBits::Aes192).is_err() && Key::generate_xts(KeyBits::Aes256).unwrap().is_xts());
        let one = Key::new(&[7; 32]).unwrap();
        assert!(!one.is_xts() && one.second().is_none() && one.first() == [7; 32]);
    }

    #[test]
    fn hexadecimal_digits_of_either_case_and_nothing_else() {
        let key = Key::from_hex("000102030405060708090A0b0C0d0E0f").unwrap();
        assert_eq!(key.expose(), (0..16).collect::<Vec<u8>>());
        for bad in [
            "0x0102030405060708090a0b0c0d0e0f10",
            "00010203 0405060708090a0b0c0d0e0f",
            "é0102030405060708090a0b0c0d0e0f",
        ] {
            assert!(matches!(Key::from_hex(bad), Err(Error::KeyHex { .. })), "{bad}");
        }
        assert!(matches!(Key::from_hex("000102030405060708090a0b0c0d0e0"), Err(Error::KeyHex { .. })));
    }

    #[test]
    fn the_key_is_never_printed() {
        let hex = "deadbeefdeadbeefdeadbeefdeadbeef";
        let key = Key::from_hex(hex).unwrap();
        assert_eq!(format!("{key:?}"), "Key(128 bits)");
        let error = Key::from_hex(&format!("{hex}zz")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("dead"));
    }

    #[test]
    fn generated_keys_differ() {
        for bits in KeyBits::ALL {
            let (a, b) = (Key::generate(bits).unwrap(), Key::generate(bits).unwrap());
            assert_eq!(a.bits(), bits);
            assert_ne!(a.expose(), b.expose());
        }
    }
}
