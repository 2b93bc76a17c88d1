//! GHASH (SP 800-38D, section 6.4) as the generator and the runtime need it: the field, and a kernel's tables for a hash key.
//! Constant-time: no branch or address depends on a hash key.
//!
//! | file | idea |
//! |---|---|
//! | `field` | GF(2^128) in GCM's bit order, and the hash by its definition |
//! | `blocks` | the byte order of a block, which turns GHASH into POLYVAL |
//! | `shape` | how a kernel divides a message: rows, tiles, units |
//! | `tables` | powers of the hash key for such a kernel, as matrices over GF(2) and as elements |

mod blocks;
mod field;
mod shape;
mod tables;

pub use blocks::Blocks;
pub use field::{Element, ghash};
pub use shape::{Arrangement, Shape, ShapeError};
pub use tables::{TableElement, batch_tables, batch_words, tables};
