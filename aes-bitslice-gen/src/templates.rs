//! Templates shared by kernels of several kinds: text in CUDA's terms, which [`crate::emit::dialect`] defines.

/// The big-endian counter of 128 bits: the type `counter128`, and `counter_plus`.
pub const COUNTER: &str = include_str!("templates/counter.h");

/// The values that CBC decryption is chained to: the type `block128`, and `word_before_share`.
pub const CBC: &str = include_str!("templates/cbc.h");

/// The share of a thread block, in tiles of `TILE_BLOCKS` blocks.
pub const SHARE: &str = include_str!("templates/share.h");

/// The type `round_keys`, which a kernel is launched with.
pub const ROUND_KEYS: &str = include_str!("templates/round_keys.h");

/// One, two or four words of the data, aligned or not.
pub const ACCESS: &str = include_str!("templates/access.h");

/// How a kernel reads the description of its work: `PUBLIC_WORD` and `PUBLIC_PIECE`.
pub const PUBLIC: &str = include_str!("templates/public.h");
