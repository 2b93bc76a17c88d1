//! A kernel: the modes, compiled for one set of instructions. It is chosen when a key is made, and called through a table, which is a trait
//! object.

use crate::base::scrubbed::DERIVED;
use std::panic::RefUnwindSafe;

/// The maximum bytes of stack used by work on a kernel, including what calls it: by the sizes of the frames 3.2 KB in a release build, and
/// many times as much where the compiler does not optimise.
pub(super) const STACK_OF_KERNEL: usize = if cfg!(debug_assertions) { DERIVED } else { 6 << 10 };

/// A whole message of GCM. What calls a kernel passes it on by reference, so that nothing is copied on the way.
pub struct WholeMessage<'a, 'i, 'o> {
    pub(crate) direction: Direction,
    /// J0, the counter block before the one of the first block.
    pub(crate) first: CounterBlock,
    pub(crate) aad: &'a [u8],
    pub(crate) data: InOutBuf<'i, 'o, u8>,
}

/// A whole message of AES-GCM-SIV.
pub struct MessageOfSiv<'a, 'i, 'o> {
    pub(crate) nonce: &'a [u8; 12],
    pub(crate) aad: &'a [u8],
    /// The tag of a message that is decrypted.
    pub(crate) tag: Option<[u8; 16]>,
    pub(crate) data: InOutBuf<'i, 'o, u8>,
}

/// Gives a macro the methods of [`Kernel`]: `name = file(arguments)` is the function `name` of that file of
/// [`modes`](crate::cpu::modes), whose first argument is the set of instructions.
macro_rules! with_methods {
    ($macro:ident $($first:tt)*) => {
        $crate::cpu::kernel::$macro! { ($($first)*)
            /// Expands a key of 16, 24 or 32 bytes.
            fn expand = rounds(key: &[u8], keys: &mut RoundKeys);
            /// Runs whole blocks through the block cipher.
            fn ecb = ecb(direction: Direction, keys: &RoundKeys, data: InOutBuf<'_, '_, u8>);
            /// XORs data with the key stream from `skip` (fewer than 16) bytes into the block of a counter on.
            fn ctr = ctr(keys: &RoundKeys, counter: CounterBlock, order: Order, skip: usize, data: InOutBuf<'_, '_, u8>);
            /// Encrypts whole blocks, each XORed with the output of the one before, the first with `iv`.
            fn cbc_encrypt = cbc(keys: &RoundKeys, iv: &[u8; 16], data: InOutBuf<'_, '_, u8>);
            /// Decrypts whole blocks, the first of which is chained to `iv`.
            fn cbc_decrypt = cbc(keys: &RoundKeys, iv: &[u8; 16], data: InOutBuf<'_, '_, u8>);
            /// Processes an XTS data unit, or its rest from the block with this tweak on: at least 16 bytes.
            fn xts = xts(direction: Direction, keys: &RoundKeys, tweak: u128, data: InOutBuf<'_, '_, u8>);
            /// Computes the powers of a key of GHASH.
            fn powers = ghash(key: &[u8; 16], powers: &mut Powers);
            /// The product of two elements of GHASH's field, as blocks.
            fn multiply = ghash(a: &[u8; 16], b: &[u8; 16]) -> [u8; 16];
            /// Continues a hash, a block, with bytes; a last block that is not whole is padded with zeros.
            fn hash = ghash(powers: &Powers, blocks: Blocks, state: &mut [u8; 16], bytes: &[u8]);
            /// Encrypts or decrypts data from the block of a counter of 32 bits on, and continues a hash with the ciphertext. A last block
            /// that is not whole is padded with zeros there.
            fn gcm = gcm(
                direction: Direction,
                keys: &RoundKeys,
                powers: &Powers,
                counter: CounterBlock,
                state: &mut [u8; 16],
                data: InOutBuf<'_, '_, u8>,
            );
            /// Encrypts or decrypts a whole message of GCM, and returns its tag.
            fn message = gcm(keys: &RoundKeys, powers: &Powers, message: &mut WholeMessage<'_, '_, '_>) -> [u8; 16];
            /// Encrypts or decrypts a whole message of GCM under a key of 16, 24 or 32 bytes, and returns its tag. Leaves what it derives from
            /// the key on the stack.
            fn message_under = gcm(key: &[u8], message: &mut WholeMessage<'_, '_, '_>) -> [u8; 16];
            /// Encrypts or decrypts a whole message of AES-GCM-SIV, and returns the tag of its plaintext. Leaves what it derives
            /// from the key on the stack.
            fn message_of_siv = gcm_siv(keys: &RoundKeys, message: &mut MessageOfSiv<'_, '_, '_>) -> [u8; 16];
        }
    };
}
pub(super) use with_methods;

macro_rules! declare {
    (() $($(#[$doc:meta])* fn $name:ident = $file:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        /// The modes on one set of instructions.
        pub(crate) trait Kernel: Send + Sync + RefUnwindSafe {
            $($(#[$doc])* fn $name(&self, $($argument: $type),*) $(-> $result)?;)*
        }
    };
}
use declare;
with_methods!(declare);

macro_rules! implement {
    (
        ($set:ty, $features:literal)
        $($(#[$doc:meta])* fn $name:ident = $file:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*
    ) => {
        const _: () = {
            use crate::cpu::kernel::types::*;

            impl Kernel for $set {
                $(fn $name(&self, $($argument: $type),*) $(-> $result)? {
                    #[target_feature(enable = $features)]
                    fn run(l: $set, $($argument: $type),*) $(-> $result)? {
                        crate::cpu::modes::$file::$name(l, $($argument),*)
                    }
                    // SAFETY: a value of this type exists, so the processor has the instructions.
                    unsafe { run(*self, $($argument),*) }
                })*
            }
        };
    };
}
pub(super) use implement;

/// Implements [`Kernel`] for a set of instructions, with its target features.
macro_rules! kernel {
    ($set:ty, $features:literal) => {
        $crate::cpu::kernel::with_methods!(implement $set, $features);
    };
}
pub(super) use kernel;

/// The types of the methods.
pub(super) mod types {
    pub(crate) use super::{Kernel, MessageOfSiv, WholeMessage};
    pub(crate) use crate::base::counter::CounterBlock;
    pub(crate) use crate::cpu::modes::ctr::Order;
    pub(crate) use crate::cpu::modes::ghash::Powers;
    pub(crate) use crate::cpu::modes::rounds::RoundKeys;
    pub(crate) use aes_bitslice_core::aes::Direction;
    pub(crate) use aes_bitslice_core::ghash::Blocks;
    pub(crate) use cipher::inout::InOutBuf;
}
use types::*;
