//! Electronic codebook: whole blocks through the block cipher, each on its own (SP 800-38A, section 6.1).
//!
//! | argument | value |
//! |---|---|
//! | `blocks` | blocks of 16 bytes |

use crate::base::error::Error;
use crate::cpu::block::BlockCipher;
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::kernels::KernelsNeeded;
use crate::op::launch::{Launch, Shape, Value};
use crate::op::operation::{
    Cut, Operation, Pass, Place, Ready, one_pass, ready_as_it_is, returns_nothing, whole_blocks,
};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::mode::Mode;

/// ECB in one direction, on whole blocks of 16 bytes.
///
/// It reveals which blocks are equal: do not encrypt messages with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ecb {
    direction: Direction,
}

impl Ecb {
    /// ECB in the given direction.
    pub fn new(direction: Direction) -> Self {
        Self { direction }
    }

    /// ECB encryption.
    pub fn encrypt() -> Self {
        Self::new(Direction::Encrypt)
    }

    /// ECB decryption.
    pub fn decrypt() -> Self {
        Self::new(Direction::Decrypt)
    }
}

impl Operation for Ecb {
    type Output = ();
    const NAME: &'static str = "ECB";
    const ACCESS: Access = Access::Maps;

    fn check(&self, bytes: u64) -> Result<(), Error> {
        whole_blocks(bytes)
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded::of(Mode::ecb(self.direction))
    }

    one_pass!();
}

ready_as_it_is!(Ecb);

impl Ready for Ecb {
    returns_nothing!();

    fn cut(&self) -> Option<Cut<Self>> {
        Cut::anywhere(|ecb, _| *ecb)
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        let blocks = shape.len / 16;
        let launch = shape.launch(shape.entry(0), 0, blocks, vec![(Argument::Blocks, Value::U64(blocks))])?;
        Ok(launch.into_iter().collect())
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) {
        cipher.process(self.direction, data.into_blocks());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::launch::Geometry;
    use aes_bitslice_core::grid::Grid;

    #[test]
    fn more_than_any_device_has_is_refused() {
        let grid = Grid::Warps { each: 1, least: 1 };
        let geometry = Geometry::small(grid);
        let launches =
            |len| Ecb::encrypt().launches(&Shape { geometry: &geometry, len, in_place: true, is_aligned: &|_| true });
        assert!(matches!(launches(u64::MAX - 15), Err(Error::OutOfDeviceMemory { .. })));
        assert!(launches(0).unwrap().is_empty());
    }
}
