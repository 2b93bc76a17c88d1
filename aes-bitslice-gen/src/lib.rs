//! The generator: AES as Boolean circuits over bit-planes, and the kernels printed from them.
//!
//! Data flows one way: [`aes`] (FIPS 197 arithmetic) → [`circuit`] (networks of 3-input lookup tables) →
//! [`sbox`] and [`linear`] (the layers as circuits, in any [`basis`]) → [`kernel`] (a plan of rounds) → [`emit`] (text).
//! Beside it, [`table`] is the cipher by look-ups, as papers have it: printed, checked and launched in the same way.
//! Nothing here opens a device; a circuit is checked where it is made.
#![forbid(unsafe_code)]

pub mod aes;
pub mod basis;
pub mod check;
pub mod circuit;
pub mod emit;
pub mod kernel;
pub mod layout;
pub mod linear;
pub mod netlist;
mod random;
pub mod sbox;
#[cfg(feature = "search")]
pub mod search;
pub mod table;
