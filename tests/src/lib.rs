//! What the integration tests share: published vectors, the reference they compare with, and the engines under test.
#![forbid(unsafe_code)]

pub mod engines;
pub mod reference;
pub mod vectors;
