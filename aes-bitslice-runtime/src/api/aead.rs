//! GCM, AES-GCM-SIV and XAES-256-GCM through the traits of the crate `aead`, for code that knows only these traits.
//!
//! ```
//! use aes_bitslice_runtime::aead::{self, Aead, AeadCore, Nonce};
//! use aes_bitslice_runtime::{Backend, Engine, Key, KeyBits};
//!
//! let cipher = Engine::open(Backend::Auto)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
//! let gcm = aead::Gcm::new(cipher)?;
//! // A new nonce for every message, kept with it: 12 random bytes.
//! let nonce = Nonce::<aead::Gcm>::try_from(aes_bitslice_runtime::Nonce::random()?.as_bytes())?;
//! let sealed = gcm.encrypt(&nonce, &b"a message"[..])?;
//! assert_eq!(gcm.decrypt(&nonce, &sealed[..])?, b"a message");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::api::cipher::Cipher;
use crate::base::error::Error;
use crate::base::nonce;
use crate::base::tag;
use crate::exec::call;
use crate::op::gcm::{GcmDecrypt, GcmEncrypt};
use crate::op::gcm_siv::{GcmSivDecrypt, GcmSivEncrypt};
use crate::op::xaes::{XaesDecrypt, XaesEncrypt};
use ::aead::TagPosition;
use ::aead::consts::{U12, U16, U24};
use ::aead::inout::InOutBuf;
pub use ::aead::{Aead, AeadCore, AeadInOut, Buffer, Nonce, Payload, Tag};

macro_rules! aead {
    ($name:ident, $encrypt:ident, $decrypt:ident, $nonce:ident, $standard:literal, $keys:literal) => {
        #[doc = concat!($standard, " with tags of 16 bytes, behind the message.")]
        ///
        /// Every call runs on the engine of the [`Cipher`] that it was made of, in host memory. The error of a call
        /// says nothing but that it failed: the message is longer than the mode allows, it is not authentic, or the
        /// device failed. The output is zeros then; for a message that is too long, it is the input.
        #[derive(Clone, Debug)]
        pub struct $name(Cipher);

        impl $name {
            #[doc = concat!("Takes a cipher with one AES key, of ", $keys, ".")]
            ///
            /// # Errors
            /// [`Error::WrongKeys`] for any other key, [`Error::NeedsKey`] for a cipher whose kernel has its key baked in,
            /// [`Error::Unsupported`] if the engine lacks the operation.
            pub fn new(cipher: Cipher) -> Result<Self, Error> {
                call::check(&cipher, &$encrypt::new(&nonce_of::<Self>(&Default::default()), &[]), 0)?;
                Ok(Self(cipher))
            }
        }

        impl AeadCore for $name {
            type NonceSize = $nonce;
            type TagSize = U16;
            const TAG_POSITION: TagPosition = TagPosition::Postfix;
        }

        impl AeadInOut for $name {
            fn encrypt_inout_detached(
                &self,
                nonce: &Nonce<Self>,
                aad: &[u8],
                data: InOutBuf<'_, '_, u8>,
            ) -> ::aead::Result<Tag<Self>> {
                let encrypt = $encrypt::new(&nonce_of::<Self>(nonce), aad);
                let tag = self.0.run(encrypt, data.into_out_with_copied_in()).map_err(|_| ::aead::Error)?;
                Ok(tag.as_bytes().try_into().expect("a tag that was made has 16 bytes"))
            }

            fn decrypt_inout_detached(
                &self,
                nonce: &Nonce<Self>,
                aad: &[u8],
                data: InOutBuf<'_, '_, u8>,
                tag: &Tag<Self>,
            ) -> ::aead::Result<()> {
                let decrypt = $decrypt::new(&nonce_of::<Self>(nonce), aad, &tag::Tag::from(tag.0));
                self.0.run(decrypt, data.into_out_with_copied_in()).map_err(|_| ::aead::Error)
            }
        }
    };
}

/// A nonce of the traits as one of this library.
fn nonce_of<A: AeadCore>(nonce: &Nonce<A>) -> nonce::Nonce {
    nonce::Nonce::new(nonce).expect("no such nonce is empty")
}

aead!(Gcm, GcmEncrypt, GcmDecrypt, U12, "GCM (SP 800-38D) with nonces of 12 bytes", "any length");
aead!(GcmSiv, GcmSivEncrypt, GcmSivDecrypt, U12, "AES-GCM-SIV (RFC 8452) with nonces of 12 bytes", "128 or 256 bits");
aead!(Xaes, XaesEncrypt, XaesDecrypt, U24, "XAES-256-GCM (C2SP) with nonces of 24 bytes", "256 bits");
