//! The cipher with table look-ups: fast, and not constant-time.
//!
//! | file | idea |
//! |---|---|
//! | `boxes` | the tables, from the definition of the cipher |
//! | `conflict_free` | a kernel with a copy of the tables for each lane of a warp |
//!
//! # What the time of a look-up depends on
//!
//! The entries that a kernel looks up depend on key and data, and the time that a warp waits for them depends on the entries in every
//! layout except the last:
//!
//! - **Constant memory.** The constant cache serves a warp one address at a time. The number of turns of a look-up is the number of
//!   different words that the 32 lanes request: 1 to 32.
//! - **Shared memory, one copy.** Shared memory has 32 banks of four bytes, and serves one word of each bank in one turn. Entry `x` of a
//!   T-box is in bank `x % 32`. Lanes that request the same word are served together; lanes that request different words of one bank are
//!   served in turns: 1 to 8 turns, because eight of the 256 entries share a bank. The S-box of the last round, four entries per word, is
//!   64 words, two per bank: 1 or 2 turns. That holds for one table and for four, for every granularity, and for reading single bytes: only
//!   the words count.
//! - **Shared memory, 32 copies** ([`ConflictFree`]). Lane `l` reads only words of bank `l`. No two lanes of a warp meet in a bank,
//!   whatever they look up: each look-up takes one turn, and there is no cache in front of the banks. So time does not reveal the entries,
//!   as far as the banks are documented. But addresses depend on key and data, which constant-time code excludes: there is no guarantee
//!   that a bank takes the same time for every address, and time is not the only channel.
//!
//! All other addresses depend only on thread, round, length and counter, never on key or data: addresses of the data itself, of round keys
//! (a warp reads one word, or one of each column, at a time), of ciphertext kept for CBC, and of the state that threads share. For the
//! shared state, some layouts take more turns than others, but a fixed number: a structure of arrays with four bytes per thread takes four,
//! where an array of structures takes one (Iwai et al. 2010, section VI.B).
//!
//! The bitsliced kernels use no look-ups.

pub mod boxes;
pub(crate) mod conflict_free;

pub use conflict_free::{ConflictFree, TableCount};
