//! GHASH kernels (SP 800-38D, section 6.4), constant-time.
//!
//! Multiplying by a fixed element of GF(2^128) is a linear map of 128 bits, a matrix over GF(2); tensor cores multiply matrices of bits:
//! AND, population count, sum. With C = H^8, a run of 8 T adjacent blocks x reduces to eight,
//!
//! ```text
//! y(n) = sum over t of x(8 t + n) · C^(T - 1 - t)      n = 0..7
//! ```
//!
//! with one chain of products into the same counts: nothing is reduced, shifted or carried in between, and the lowest bit of a count is the
//! sum over GF(2). A thread block's result for one tile goes into the chain of its next tile, times one more matrix: so only the rows of
//! its last tile remain, which are multiplied by their powers of H one by one.
//!
//! | file | idea |
//! |---|---|
//! | `field.h` | the product of two elements, using multiplication of integers with holes |
//! | `message.h` | the message as tiles, padded with zeros in front and at the end |
//! | `sum.h` | from rows to the hash |
//! | `units.h` | likewise where a thread block has several units |
//! | `parities.h` | from counts to bits |
//! | `clear.h` | the end of a decryption: clears data that is not authentic |
//! | `products.h` | products by `wgmma`, which compute capability 9.0 has |
//! | `copies.h` | copies to shared memory beside other work, on compute capability 9.0 |
//! | `wgmma.h`, `mma.h` | rows with tensor cores: compute capability 9.0; 8.0 to 9.0 |
//! | `element.h` | rows with products of elements: everywhere |
//! | `messages.h` | many messages at a time: groups of messages, and their tags |
//! | `wgmma_messages.h`, `mma_messages.h`, `element_messages.h` | their rows |
//! | `element_jobs.h` | many messages, each with a hash key of its own |
//! | `clear_messages.h` | the end of the decryption of many messages |
//! | `gcm.h` | counter mode and the hash in one launch ([`gcm`]) |
//! | `gcm_batch.h` | likewise for many messages |
//! | `describe.h` | messages that arrays in device memory describe |
//!
//! [`aes_bitslice_core::ghash`] describes how a message is divided and the contents of a kernel's tables,
//! [`aes_bitslice_core::manifest::Hash`] how a kernel is launched.

pub mod gcm;

use crate::templates::PUBLIC;
use aes_bitslice_core::ghash::{Arrangement, Shape};
use aes_bitslice_core::manifest::Capabilities;
use aes_bitslice_core::messages::GROUP;

const FIELD: &str = include_str!("field.h");
const SUM: &str = include_str!("sum.h");
const PARITIES: &str = include_str!("parities.h");
const PRODUCTS: &str = include_str!("products.h");
const COPIES: &str = include_str!("copies.h");

/// A GHASH kernel, identified by the contents of its tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ghash(pub Arrangement);

/// Stages of the copy engine's pipeline: two thread blocks fit on a multiprocessor.
const STAGES: u32 = 3;

impl Ghash {
    /// All kernels, the fastest first.
    pub const ALL: [Self; 3] = [Self(Arrangement::Wgmma), Self(Arrangement::Mma), Self(Arrangement::Element)];

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(self) -> String {
        format!("ghash-{}", self.0)
    }

    /// How it divides a message.
    pub fn shape(self) -> Shape {
        let (powers, rows) = match self.0 {
            Arrangement::Wgmma | Arrangement::Mma => (16, 64),
            Arrangement::Element => (1, 256),
        };
        Shape { arrangement: self.0, powers, rows }
    }

    /// Threads per thread block.
    pub fn threads(self) -> u32 {
        match self.0 {
            Arrangement::Wgmma | Arrangement::Mma => 128,
            Arrangement::Element => 256,
        }
    }

    /// The number of thread blocks that one multiprocessor must have registers for.
    pub fn blocks_per_sm(self) -> u32 {
        match self.0 {
            // As many as of a bitsliced kernel, so that a thread block of that kernel can replace one of this kernel.
            Arrangement::Wgmma => 4,
            Arrangement::Mma | Arrangement::Element => 3,
        }
    }

    /// The fastest number of thread blocks per multiprocessor.
    pub fn units_per_sm(self) -> u32 {
        match self.0 {
            Arrangement::Wgmma => 2,
            Arrangement::Mma | Arrangement::Element => 3,
        }
    }

    /// Bytes of shared memory that a thread block is launched with.
    pub fn shared_bytes(self) -> u32 {
        let shape = self.shape();
        match self.0 {
            Arrangement::Wgmma => {
                let (tiles, matrices) = (STAGES * 16 * shape.tile_blocks(), 2048 * (shape.powers + 1));
                let (weights, barriers) = (16 * shape.rows, 8 * (STAGES + 1));
                (tiles + matrices + weights + barriers).next_multiple_of(16)
            }
            Arrangement::Mma | Arrangement::Element => 0,
        }
    }

    /// The compute capabilities that have its instructions. (From 10.0 on, products of bits are built from other instructions, and slow.)
    pub fn compute_capability(self) -> Capabilities {
        let (from, below) = match self.0 {
            Arrangement::Wgmma => (90, Some(91)),
            Arrangement::Mma => (80, Some(100)),
            Arrangement::Element => (75, None),
        };
        Capabilities { from, below }
    }

    /// The numbers that the templates use.
    pub(crate) fn definitions(self) -> Vec<(&'static str, u32)> {
        let Shape { powers, rows, .. } = self.shape();
        let mut definitions = vec![
            ("THREADS", self.threads()),
            ("BLOCKS_PER_SM", self.blocks_per_sm()),
            ("POWERS", powers),
            ("ROWS", rows),
            ("TILE_BLOCKS", self.shape().tile_blocks()),
            ("PRODUCTS_ARE_MANY", u32::from(self.0 == Arrangement::Element)),
        ];
        if self.0 == Arrangement::Wgmma {
            definitions.extend([("STAGES", STAGES), ("SHARED_BYTES", self.shared_bytes())]);
        }
        definitions
    }

    /// How its entry point for many messages divides a message: into segments of tiles, as if these were tiles of one unit.
    pub fn message_shape(self) -> Shape {
        Shape { rows: self.shape().rows / GROUP, ..self.shape() }
    }

    /// The templates of its entry points for many messages, in order; after the others.
    pub(crate) fn message_templates(self) -> [&'static str; 5] {
        let [rows, jobs] = match self.0 {
            Arrangement::Wgmma => [include_str!("wgmma_messages.h"), ""],
            Arrangement::Mma => [include_str!("mma_messages.h"), ""],
            Arrangement::Element => [include_str!("element_messages.h"), include_str!("element_jobs.h")],
        };
        [PUBLIC, include_str!("messages.h"), rows, jobs, include_str!("clear_messages.h")]
    }

    /// Its templates, in order.
    pub(crate) fn templates(self) -> &'static [&'static str] {
        const MESSAGE: &str = include_str!("message.h");
        const CLEAR: &str = include_str!("clear.h");
        match self.0 {
            Arrangement::Wgmma => &[FIELD, MESSAGE, SUM, PARITIES, PRODUCTS, COPIES, include_str!("wgmma.h"), CLEAR],
            Arrangement::Mma => &[FIELD, MESSAGE, SUM, PARITIES, include_str!("mma.h"), CLEAR],
            Arrangement::Element => &[FIELD, MESSAGE, SUM, include_str!("element.h"), CLEAR],
        }
    }
}
