//! What is left of CTR where the key stream was made in advance (Hajihassani et al. 2019, section 5): its sum with the data.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_gen::emit::dialect;

/// The sum of blocks and as many blocks of key stream behind them, a block a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddKeyStream;

impl AddKeyStream {
    /// The entry point, `void (const void *in, void *out, u64 blocks)`.
    pub const ENTRY: &'static str = "add_key_stream";
    /// Threads per thread block.
    pub const THREADS: u32 = 256;

    /// The source.
    pub fn source(self) -> String {
        let geometry = format!("#define THREADS {}\n#define BLOCKS_PER_SM 1\n", Self::THREADS);
        geometry + &dialect::page(Dialect::Cuda, "") + include_str!("add_key_stream.h")
    }
}
