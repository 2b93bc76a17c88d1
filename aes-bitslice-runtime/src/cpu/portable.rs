//! The modes by the block cipher alone, for keys without a kernel. Each has a frame of its own, so that its buffers are not on the stack of
//! those with one.

use crate::base::counter::CounterBlock;
use crate::cpu::block::{Block, BlockCipher};
use crate::cpu::modes::ctr::Order;
use aes_bitslice_core::aes::Direction;
use cipher::array::Array;
use cipher::inout::InOutBuf;
use zeroize::Zeroize;

/// Blocks processed at a time: whole batches of every engine, and few enough for the first-level cache.
pub(crate) const BATCH: usize = 512;

/// Decrypts whole blocks, the first of which is chained to `iv`.
#[inline(never)]
pub(super) fn decrypt_chained(cipher: &impl BlockCipher, iv: &[u8; 16], mut blocks: InOutBuf<'_, '_, Block>) {
    // The ciphertext before each block of the batch, saved because it is overwritten in place.
    let mut previous = [Block::default(); BATCH + 1];
    previous[0] = (*iv).into();
    while !blocks.is_empty() {
        let n = blocks.len().min(BATCH);
        let (mut batch, rest) = blocks.split_at(n);
        previous[1..=n].copy_from_slice(batch.get_in());
        cipher.process(Direction::Decrypt, batch.reborrow());
        let output = Array::slice_as_flattened_mut(batch.get_out());
        output.iter_mut().zip(Array::slice_as_flattened(&previous)).for_each(|(byte, chained)| *byte ^= chained);
        previous[0] = previous[n];
        blocks = rest;
    }
}

/// XORs data with the key stream that starts `skip` (fewer than 16) bytes into the block of `counter`, with counters in either order of
/// bytes.
#[inline(never)]
pub(super) fn add_key_stream(
    cipher: &impl BlockCipher,
    mut counter: CounterBlock,
    order: Order,
    mut skip: usize,
    mut data: InOutBuf<'_, '_, u8>,
) {
    let mut stream = vec![Block::default(); BATCH.min((skip + data.len()).div_ceil(16))];
    while !data.is_empty() {
        let len = data.len().min(16 * BATCH - skip);
        let (mut piece, rest) = data.split_at(len);
        let stream = &mut stream[..(skip + len).div_ceil(16)];
        for block in &mut *stream {
            *block = match order {
                Order::Big => counter.block.to_be_bytes().into(),
                Order::Little => counter.block.to_le_bytes().into(),
            };
            counter = counter.after(1);
        }
        cipher.process(Direction::Encrypt, InOutBuf::from(&mut *stream));
        piece.xor_in2out(&Array::slice_as_flattened(stream)[skip..][..len]);
        (data, skip) = (rest, 0);
    }
    Array::slice_as_flattened_mut(&mut stream).zeroize();
}

/// Processes an XTS data unit, or its rest from the block with this tweak on: at least 16 bytes.
#[inline(never)]
pub(super) fn process_unit(
    cipher: &impl BlockCipher,
    direction: Direction,
    mut tweak: u128,
    data: InOutBuf<'_, '_, u8>,
) {
    let ragged = data.len() % 16;
    // The last two blocks, if they share bytes.
    let tail = if ragged == 0 { 0 } else { 16 + ragged };
    let whole = data.len() - tail;
    let (blocks, mut tail_data) = data.split_at(whole);
    let mut blocks = blocks.into_chunks().0;
    let mut tweaks = [Block::default(); BATCH];
    while !blocks.is_empty() {
        let n = blocks.len().min(BATCH);
        let (batch, rest) = blocks.split_at(n);
        tweak = put_tweaks(&mut tweaks[..n], tweak);
        process_masked(cipher, direction, &tweaks[..n], batch);
        blocks = rest;
    }
    if tail > 0 {
        let last = next_tweak(tweak);
        // IEEE 1619, sections 5.3.2 and 5.4.2: decryption takes the last two tweaks in the other order.
        let order = match direction {
            Direction::Encrypt => [tweak, last],
            Direction::Decrypt => [last, tweak],
        };
        let [one, two] = order.map(|tweak| [Block::from(tweak.to_le_bytes())]);
        let (mut whole, mut rest) = ([0; 16], [0; 16]);
        whole.copy_from_slice(&tail_data.get_in()[..16]);
        rest[..ragged].copy_from_slice(&tail_data.get_in()[16..]);
        process_masked(cipher, direction, &one, InOutBuf::from(std::slice::from_mut((&mut whole).into())));
        let stolen = whole;
        rest[ragged..].copy_from_slice(&stolen[ragged..]);
        process_masked(cipher, direction, &two, InOutBuf::from(std::slice::from_mut((&mut rest).into())));
        let output = tail_data.get_out();
        output[..16].copy_from_slice(&rest);
        output[16..].copy_from_slice(&stolen[..ragged]);
    }
}

/// Processes blocks, at most [`BATCH`], each XORed with its tweak before and after the cipher.
pub(crate) fn process_masked(
    cipher: &impl BlockCipher,
    direction: Direction,
    tweaks: &[Block],
    mut blocks: InOutBuf<'_, '_, Block>,
) {
    let xor = |bytes: &mut [u8]| {
        bytes.iter_mut().zip(Array::slice_as_flattened(tweaks)).for_each(|(byte, tweak)| *byte ^= tweak);
    };
    let mut masked = [Block::default(); BATCH];
    let masked = &mut masked[..tweaks.len()];
    masked.copy_from_slice(blocks.get_in());
    xor(Array::slice_as_flattened_mut(masked));
    cipher.process(direction, InOutBuf::from(&mut *masked));
    xor(Array::slice_as_flattened_mut(masked));
    blocks.get_out().copy_from_slice(masked);
}

/// Writes the tweaks of consecutive blocks of an XTS unit and returns the next.
pub(crate) fn put_tweaks(blocks: &mut [Block], first: u128) -> u128 {
    blocks.iter_mut().fold(first, |tweak, block| {
        *block = tweak.to_le_bytes().into();
        next_tweak(tweak)
    })
}

/// Multiplies by α: a shift, and the polynomial if a bit was shifted out, without a branch (IEEE 1619, section 5.2).
pub(crate) fn next_tweak(tweak: u128) -> u128 {
    (tweak << 1) ^ ((tweak >> 127) * 0x87)
}
