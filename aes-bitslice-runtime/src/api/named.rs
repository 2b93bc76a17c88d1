//! Methods named after modes, for host memory: each is one call of [`Cipher::run`].

use crate::api::cipher::Cipher;
use crate::base::counter::Counter;
use crate::base::error::Error;
use crate::op::cbc::{CbcDecrypt, CbcEncrypt};
use crate::op::ctr::Ctr;
use crate::op::ecb::Ecb;

/// Defines a method that works in place and one from an input to an output.
macro_rules! named {
    ($($(#[$doc:meta])* $name:ident, $name_to:ident($($parameter:ident: $type:ty),*) = $operation:expr;)*) => {
        impl Cipher { $(
            $(#[$doc])*
            pub fn $name(&self, $($parameter: $type,)* data: &mut [u8]) -> Result<(), Error> {
                self.run($operation, data)
            }

            #[doc = concat!("Does what [`", stringify!($name), "`](Self::", stringify!($name), ") does, from `input` to `output`.")]
            ///
            /// # Errors
            #[doc = concat!("The errors of [`", stringify!($name), "`](Self::", stringify!($name), "), and")]
            /// [`Error::LengthMismatch`] if `output` is not as long as `input`.
            pub fn $name_to(&self, $($parameter: $type,)* input: &[u8], output: &mut [u8]) -> Result<(), Error> {
                self.run($operation, (input, output))
            }
        )* }
    };
}

named! {
    /// Encrypts whole blocks in place, each on its own ([`Ecb`]).
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`] for a length that is not a multiple of 16; else errors from the device.
    ecb_encrypt, ecb_encrypt_to() = Ecb::encrypt();

    /// Decrypts whole blocks in place, each on its own ([`Ecb`]).
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`] for a length that is not a multiple of 16; else errors from the device.
    ecb_decrypt, ecb_decrypt_to() = Ecb::decrypt();

    /// Encrypts whole blocks in place, each chained to the one before, on one core of the CPU ([`CbcEncrypt`]).
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`] for a length that is not a multiple of 16, [`Error::NeedsKey`] on a single-kernel
    /// cipher.
    cbc_encrypt, cbc_encrypt_to(iv: &[u8; 16]) = CbcEncrypt::new(iv);

    /// Decrypts whole blocks in place, each chained to the ciphertext block before it ([`CbcDecrypt`]).
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`] for a length that is not a multiple of 16; else errors from the device.
    cbc_decrypt, cbc_decrypt_to(iv: &[u8; 16]) = CbcDecrypt::new(iv);

    /// XORs `data` with the key stream from byte `offset` on: encryption and decryption both ([`Ctr`]).
    ///
    /// # Errors
    /// [`Error::CounterOverflow`] where a 32- or 64-bit counter would run past its field; else what the device reports.
    ctr_apply, ctr_apply_to(counter: &Counter, offset: u64) = Ctr::new(counter, offset);
}
