//! Moves streams through the engine in chunks, in constant memory, over threads.
//!
//! Every worker has memory for one chunk, and does everything to it: takes the next one, by itself at its place in a file, or one worker at
//! a time from anything else ([`source`]); has it encrypted or decrypted, in any order, or by turns if that is serial ([`stream`]); and
//! writes it, at its place or by turns ([`sink`]). So reading, computing and writing overlap because workers do, and only the workers need
//! memory, however long the streams are.
//!
//! A worker that has nothing to do opens the next stream ([`pool`]). If there is none, it joins the stream with the fewest workers: many
//! small files are processed side by side, and a large one by all.
//!
//! The first failure of a stream ends it at once, even if other workers are blocked in reading or writing it: they are not waited for. But
//! a chunk that cannot be encrypted or decrypted waits until those before it are ([`done`]), though not until they are written: so the same
//! file gives the same error every time.

mod done;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod mapped;
mod memory;
pub mod pool;
mod positional;
pub mod sink;
pub mod source;
pub mod stream;
mod turns;
