//! A call cut into chunks that can be processed in any order.

use crate::exec::call::Call;
use crate::exec::work::Work;
use crate::op::buffers::Buffers;
use crate::op::operation::Pass;
use aes_bitslice_core::memory::{NoMemory, room};

/// A chunk of a call's data, with the call on it.
pub(crate) struct Chunk<'a, O: Pass> {
    pub(crate) call: Call<O>,
    pub(crate) data: Buffers<'a>,
}

impl<O: Pass> Chunk<'_, O> {
    /// The chunk as devices perform it.
    pub(crate) fn as_piece(&mut self) -> Piece<'_> {
        Piece { work: &self.call, data: self.data.reborrow() }
    }
}

/// A chunk as devices perform it.
pub(crate) struct Piece<'a> {
    pub(crate) work: &'a dyn Work,
    pub(crate) data: Buffers<'a>,
}

/// Cuts the data into chunks of `bytes` bytes that end at block boundaries. The first is shorter by the missing part of
/// its first block, and the last ends with the data. `bytes` is a multiple of 16; chunks are up to 31 bytes shorter where
/// the operation cannot be [cut](crate::op::operation::Cut::place), and if `bytes` is less than that, longer.
///
/// The block that a chunk is chained to is read now, before anything is overwritten.
pub(crate) fn cut<O: Pass>(call: Call<O>, data: Buffers<'_>, bytes: usize) -> Result<Vec<Chunk<'_, O>>, NoMemory> {
    debug_assert!(bytes > 0 && bytes.is_multiple_of(16));
    let Some(skip) = call.cut().map(|cut| cut.skip) else {
        return Ok(vec![Chunk { call, data }]);
    };
    let mut chunks = room((skip + data.len()).div_ceil(bytes))?;
    let (mut call, mut rest) = (call, data);
    while rest.len() > 0
        && let Some(cut) = call.cut()
    {
        let len = (bytes - cut.skip).min(rest.len());
        let len = (cut.place)(call.operation(), len as u64, rest.len() as u64) as usize;
        let (data, after) = rest.split_at(len);
        let last = || *data.input().last_chunk().expect("whole blocks, and not none");
        let next = call.after(&cut, data.len() as u64, last);
        chunks.push(Chunk { call, data });
        (call, rest) = (next, after);
    }
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::counter::{Counter, CounterMode};
    use crate::op::cbc::CbcDecrypt;
    use crate::op::ctr::Ctr;
    use crate::op::ecb::Ecb;

    fn lengths(operation: impl Pass, len: usize, bytes: usize) -> Vec<usize> {
        let data: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let mut output = vec![0; len];
        let chunks =
            cut(Call::on_a_device(operation), Buffers::To { input: &data, output: &mut output }, bytes).unwrap();
        assert_eq!(chunks.iter().flat_map(|chunk| chunk.data.input()).copied().collect::<Vec<_>>(), data);
        chunks.iter().map(|chunk| chunk.data.len()).collect()
    }

    fn ctr(offset: u64) -> Ctr {
        Ctr::new(&Counter::new(CounterMode::Ctr128BE, [0xff; 16]), offset)
    }

    #[test]
    fn chunks_cover_all_and_end_with_blocks() {
        assert_eq!(lengths(ctr(0), 100, 32), [32, 32, 32, 4]);
        assert_eq!(lengths(ctr(5), 100, 32), [27, 32, 32, 9]);
        assert_eq!(lengths(ctr(15), 1, 16), [1]);
        assert_eq!(lengths(ctr(15), 18, 16), [1, 16, 1]);
        assert_eq!(lengths(Ecb::encrypt(), 96, 64), [64, 32]);
        assert!(lengths(ctr(3), 0, 16).is_empty());
    }

    #[test]
    fn chunks_carry_on_where_the_one_before_ends() {
        fn operations<O: Pass>(operation: O, data: &mut [u8]) -> Vec<O::Ready> {
            let chunks = cut(Call::on_a_device(operation), Buffers::InPlace(data), 32).unwrap();
            chunks.into_iter().map(|chunk| chunk.call.operation().clone()).collect()
        }
        let mut data: Vec<u8> = (0..96).collect();
        assert_eq!(operations(ctr(9), &mut data), [ctr(9), ctr(32), ctr(64), ctr(96)]);
        assert_eq!(ctr(9).at(23).skip(), 0);
        let cbc = |first: u8| CbcDecrypt::new(&std::array::from_fn(|i| first + i as u8));
        assert_eq!(operations(cbc(200), &mut data), [cbc(200), cbc(16), cbc(48)]);
    }
}
