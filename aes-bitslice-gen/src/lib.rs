//! The generator: AES as Boolean circuits over bit-planes, and the kernels printed from them.
//!
//! Data flows in one direction: [`circuit`] (networks of 3-input lookup tables) → [`sbox`] and [`linear`] (the layers as circuits, in any
//! basis) → [`kernel`] (a plan of rounds) → [`emit`] (text from [`templates`] and circuits). Alongside, [`table`] implements the cipher
//! with table look-ups; its kernels are printed, checked and launched in the same way. [`mod@ghash`] is another function, the hash of GCM.
//! [`stored`] lists the kernels that are shipped.
//!
//! The information for launching a kernel is in the crate `aes_bitslice_core`: a kernel is printed as its `manifest::Printed`. Nothing here
//! opens a device. A circuit is checked where it is built, a printed kernel by [`check`].
#![forbid(unsafe_code)]

pub mod check;
pub mod circuit;
pub mod emit;
pub mod ghash;
pub mod kernel;
pub mod linear;
pub mod netlist;
mod random;
pub mod sbox;
#[cfg(feature = "search")]
pub mod search;
pub mod stored;
pub mod table;
pub mod templates;
