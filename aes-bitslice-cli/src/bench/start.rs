//! The IV of everything that is measured, which is the initial counter block of CTR, and begins with the nonce of GCM.

use crate::modes::mode::{Place, Sectors};

/// It carries through three bytes within the first tiles, so that carries are checked, too. Its low 32 bits do not wrap within 32 GiB,
/// unlike those of half of all IVs: one thread block would then do the first two rounds twice.
pub const IV: [u8; 16] = *b"\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xff\xff\xff\xff\x7f\xff\xfe\x00";

/// The start of an input, which is cut into sectors if its mode has them.
pub fn start(sectors: Sectors) -> Place {
    Place { sectors, ..Place::start(IV) }
}
