//! The generator: AES as Boolean circuits over bit-planes, and the kernels printed from them.
//!
//! Data flows one way: [`circuit`] (networks of 3-input lookup tables) → [`sbox`] and [`linear`] (the layers as circuits, in any basis) →
//! [`kernel`] (a plan of rounds) → [`emit`] (text, of [`templates`] and circuits). Beside it, [`table`] is the cipher by look-ups: printed,
//! checked and launched in the same way. [`mod@ghash`] is another function, the hash of GCM. [`stored`] lists the kernels that are shipped.
//!
//! What a kernel needs to be launched is in the crate `aes_bitslice_core`: a kernel is printed as its `manifest::Printed`.
//! Nothing here opens a device; a circuit is checked where it is made, a printed kernel by [`check`].
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
