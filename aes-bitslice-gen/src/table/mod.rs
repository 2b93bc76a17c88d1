//! The cipher by look-ups in tables: fast, and not constant-time.
//!
//! | file | idea |
//! |---|---|
//! | `boxes` | the tables, from the definition of the cipher |
//! | `conflict_free` | a kernel with a copy of the tables for each lane of a warp |
//!
//! # What the time of a look-up depends on
//!
//! Which entries a kernel looks up depends on key and data, and how long a warp waits for them depends on the entries in
//! every layout but the last:
//!
//! - **Constant memory.** The constant cache serves a warp one address at a time. A look-up takes as many turns as the
//!   32 lanes ask for different words: 1 to 32.
//! - **Shared memory, one copy.** Shared memory has 32 banks of four bytes, and serves a word of each in one turn. Entry
//!   `x` of a T-box is in bank `x % 32`. Lanes that ask for the same word are served together; those that ask for different
//!   words of one bank are served in turns: 1 to 8 of them, since eight of the 256 entries share a bank. The S-box of the
//!   last round, four entries a word, is 64 words, two a bank: 1 or 2 turns. That holds for one table and for four, for
//!   every granularity, and for reading single bytes: it is the words that count.
//! - **Shared memory, 32 copies** ([`ConflictFree`]). Lane `l` reads words of bank `l` only. No two lanes of a warp meet in
//!   a bank, whatever they look up: each look-up takes one turn, and there is no cache before the banks. So time does not
//!   tell the entries, as far as the banks are documented. But addresses depend on key and data, which constant-time code
//!   excludes: that a bank takes as long for every address is nobody's promise, and time is not the only channel.
//!
//! All else has addresses that depend on thread, round, length and counter only, never on key or data: the data itself,
//! round keys (a warp reads one word, or one of each column, at a time), ciphertext kept for CBC, and the state that
//! threads share. Of that, some layouts take more turns than others, but always as many: a structure of arrays with four
//! bytes a thread four, where an array of structures takes one (Iwai et al. 2010, section VI.B).
//!
//! The bitsliced kernels look nothing up.

pub mod boxes;
pub(crate) mod conflict_free;

pub use conflict_free::{ConflictFree, TableCount};
