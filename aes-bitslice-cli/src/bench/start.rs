//! The IV of everything that is measured, which is the initial counter block of CTR.

use crate::modes::mode::Place;

/// Near the end of its low 64 bits, so that a carry is part of what is checked.
pub const IV: [u8; 16] = *b"\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xff\xff\xff\xff\xff\xff\xfe\x00";

/// The start of an input.
pub const START: Place = Place::start(IV);
