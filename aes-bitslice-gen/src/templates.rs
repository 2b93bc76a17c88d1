//! Templates that kernels of several kinds are made of: text in CUDA's words, of which [`crate::emit::dialect`] has the
//! meaning.

/// The big-endian counter of 128 bits: the type `counter128`, and `counter_plus`.
pub const COUNTER: &str = include_str!("templates/counter.h");

/// What CBC decryption is chained to: the type `block128`, and `word_before_share`.
pub const CBC: &str = include_str!("templates/cbc.h");

/// The share of a thread block, in tiles of `TILE_BLOCKS` blocks.
pub const SHARE: &str = include_str!("templates/share.h");

/// The type `round_keys`, which a kernel is launched with.
pub const ROUND_KEYS: &str = include_str!("templates/round_keys.h");

/// One, two or four words of the data, aligned or not.
pub const ACCESS: &str = include_str!("templates/access.h");

/// How a kernel reads what describes its work: `PUBLIC_WORD` and `PUBLIC_PIECE`.
pub const PUBLIC: &str = include_str!("templates/public.h");
