//! The modes by their definitions (SP 800-38A, sections 6.1 and 6.5), over the cipher as FIPS 197 writes it: what
//! kernels are checked against.

use super::Mode;
use crate::aes::{KeySchedule, cipher};

/// A mode by its definition, block by block: `counter` is that of the first block, and the data begins `skip` bytes
/// into its key stream. For ECB the data is whole blocks, and both are ignored.
pub fn reference(mode: Mode, schedule: &KeySchedule, counter: u128, skip: usize, data: &[u8]) -> Vec<u8> {
    let direction = mode.direction();
    match mode {
        Mode::EcbEncrypt | Mode::EcbDecrypt => {
            data.as_chunks().0.iter().flat_map(|block| cipher::process(*block, schedule, direction)).collect()
        }
        Mode::Ctr => {
            let stream =
                (0..).flat_map(|n: u128| cipher::process(counter.wrapping_add(n).to_be_bytes(), schedule, direction));
            data.iter().zip(stream.skip(skip)).map(|(byte, key)| byte ^ key).collect()
        }
    }
}
