//! ECB and CTR over a batch of blocks at a time, one block per lane, for any vector.

use crate::base::counter::CounterBlock;
use crate::cpu::block::Block;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::layout;
use aes_bitslice_kernels::Lanes;
use cipher::array::Array;
use cipher::consts::U64;
use cipher::inout::InOutBuf;

/// The maximum number of lanes of a vector.
pub(super) const MAX_LANES: usize = 512;

/// A word of lanes, with the conversion from blocks to planes and back.
///
/// Each vector chooses which lane a block takes, because it makes no difference to the cipher.
pub(super) trait Vector: Lanes {
    /// The number of lanes, a power of two, at most [`MAX_LANES`]: the blocks of a batch.
    const LANES: usize;

    /// The planes of [`LANES`](Self::LANES) blocks: plane `8 * j + b` holds bit `b` of byte `j`.
    fn load(blocks: &[Block], planes: &mut [Self; 128]);

    /// The blocks of planes: the inverse of [`load`](Self::load).
    fn store(planes: &mut [Self; 128], blocks: &mut [Block]);

    /// A plane that holds, in each lane, bit `bit` of the index that the lane's block has in the batch.
    fn index_plane(bit: usize) -> Self;
}

/// The functions below for one vector, as pointers, so that they can be chosen at run time.
pub(super) struct Functions {
    /// The number of blocks of a batch.
    pub(super) lanes: usize,
    /// Runs blocks through the block cipher: [`ecb`].
    pub(super) ecb: fn(Direction, &[[u32; 128]], InOutBuf<'_, '_, Block>),
    /// XORs data with keystream: [`ctr()`].
    pub(super) ctr: fn(&[[u32; 128]], CounterBlock, usize, InOutBuf<'_, '_, u8>),
}

/// The generated core that suits a vector's instructions.
pub(super) trait Core {
    fn run<V: Vector>(direction: Direction, planes: &mut [V; 128], keys: &[[u32; 128]]);
}

/// For instructions of two inputs.
pub(super) struct TwoInput;

impl Core for TwoInput {
    #[inline(always)]
    fn run<V: Vector>(direction: Direction, planes: &mut [V; 128], keys: &[[u32; 128]]) {
        use aes_bitslice_kernels::rust::two_input::{decrypt, encrypt};
        match direction {
            Direction::Encrypt => encrypt(planes, keys),
            Direction::Decrypt => decrypt(planes, keys),
        }
    }
}

/// Runs blocks through the block cipher.
#[inline(always)]
pub(super) fn ecb<V: Vector, C: Core>(direction: Direction, keys: &[[u32; 128]], mut blocks: InOutBuf<'_, '_, Block>) {
    let mut planes = [V::splat(0); 128];
    let mut partial = [Block::default(); MAX_LANES];
    let partial = &mut partial[..V::LANES];
    while !blocks.is_empty() {
        let n = blocks.len().min(V::LANES);
        let (mut batch, rest) = blocks.split_at(n);
        if n == V::LANES {
            V::load(batch.get_in(), &mut planes);
        } else {
            partial[..n].copy_from_slice(batch.get_in());
            // The other lanes compute what is computed anyway: not the encryption of zeros, from which modes derive
            // keys.
            let last = partial[n - 1];
            partial[n..].fill(last);
            V::load(partial, &mut planes);
        }
        C::run(direction, &mut planes, keys);
        if n == V::LANES {
            V::store(&mut planes, batch.get_out());
        } else {
            V::store(&mut planes, partial);
            batch.get_out().copy_from_slice(&partial[..n]);
        }
        blocks = rest;
    }
}

/// XORs data with the keystream that starts `skip` (fewer than 16) bytes into the block of counter `counter`.
#[inline(always)]
pub(super) fn ctr<V: Vector, C: Core>(
    keys: &[[u32; 128]],
    mut counter: CounterBlock,
    mut skip: usize,
    mut data: InOutBuf<'_, '_, u8>,
) {
    let mut planes = [V::splat(0); 128];
    let mut keystream = [Block::default(); MAX_LANES];
    let keystream = &mut keystream[..V::LANES];
    while !data.is_empty() {
        counters(counter, &mut planes);
        C::run(Direction::Encrypt, &mut planes, keys);
        V::store(&mut planes, keystream);
        let bytes = &Array::slice_as_flattened(keystream)[skip..];
        let n = data.len().min(bytes.len());
        let (part, rest) = data.split_at(n);
        xor(part, &bytes[..n]);
        data = rest;
        skip = 0;
        counter = counter.after(V::LANES as u128);
    }
}

/// Planes of the blocks from `first` on: a ripple-carry addition of each lane's index, in the bits that count.
#[inline(always)]
fn counters<V: Vector>(first: CounterBlock, planes: &mut [V; 128]) {
    // The first block is equal in all lanes, so it is spread over planes as a round key is.
    let CounterBlock { block, bits, .. } = first;
    let first = layout::key_planes(&block.to_be_bytes());
    let mut carry = V::splat(0);
    for bit in 0..128 {
        if bit == bits as usize {
            carry = V::splat(0);
        }
        let plane = 8 * (15 - bit / 8) + bit % 8;
        let x = V::splat(first[plane]);
        let sum = x ^ carry;
        if bit < V::LANES.ilog2() as usize {
            let index = V::index_plane(bit);
            planes[plane] = sum ^ index;
            carry = (x & carry) | (sum & index);
        } else {
            planes[plane] = sum;
            carry = x & carry;
        }
    }
}

/// `data ^= keystream`, of the same length.
#[inline(always)]
fn xor(data: InOutBuf<'_, '_, u8>, keystream: &[u8]) {
    // Arrays, which are read whole before they are written, become vector instructions in place too.
    let (chunks, mut rest) = data.into_chunks::<U64>();
    let (keys, last) = Array::slice_as_chunks(keystream);
    for (mut chunk, key) in chunks.into_iter().zip(keys) {
        chunk.xor_in2out(key);
    }
    rest.xor_in2out(last);
}
