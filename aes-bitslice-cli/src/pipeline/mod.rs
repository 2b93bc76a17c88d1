//! Moves streams through the engine in chunks, in constant memory, over threads.
//!
//! Every worker has memory for one chunk, and does everything to it: takes the next one, by itself at its place in a file or
//! one worker at a time from anything else ([`source`]); has it encrypted or decrypted, in any order, or by turns
//! where that is serial ([`stream`]); and writes it, at its place or by turns ([`sink`]). So reading, computing and
//! writing overlap because workers do, and memory is that of the workers, however long the streams are.
//!
//! A worker that has nothing to do opens the next stream ([`pool`]). If there is none, it helps where the fewest are at work:
//! many small files are done side by side, and a large one by all.
//!
//! The first failure of a stream ends it at once, even if other workers are blocked in reading or writing it: nobody
//! waits for them. But a chunk that cannot be encrypted or decrypted waits for those before it to be ([`done`]), and not to be
//! written: so the same is reported of the same file every time.

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
