//! The modes by their definitions (SP 800-38A, sections 6.1, 6.2 and 6.5), over the cipher as FIPS 197 writes it: what
//! kernels are checked against.

use crate::aes::{KeySchedule, cipher};
use crate::mode::Mode;

/// A mode by its definition, block by block. For CTR `start` is the counter of the first block, and the data begins
/// `skip` bytes into its key stream; for CBC `start` is the IV, as a big-endian number. For ECB both are ignored. But for
/// CTR the data is whole blocks. Of key stream, only the length of the data counts.
pub fn reference(mode: Mode, schedule: &KeySchedule, start: u128, skip: usize, data: &[u8]) -> Vec<u8> {
    let direction = mode.direction();
    let blocks = data.as_chunks::<16>().0;
    match mode {
        Mode::EcbEncrypt | Mode::EcbDecrypt => {
            blocks.iter().flat_map(|block| cipher::process(*block, schedule, direction)).collect()
        }
        Mode::Keystream => reference(Mode::Ctr, schedule, start, skip, &vec![0; data.len()]),
        Mode::Ctr => {
            let stream =
                (0..).flat_map(|n: u128| cipher::process(start.wrapping_add(n).to_be_bytes(), schedule, direction));
            data.iter().zip(stream.skip(skip)).map(|(byte, key)| byte ^ key).collect()
        }
        Mode::CbcDecrypt => {
            let previous = [start.to_be_bytes()].into_iter().chain(blocks.iter().copied());
            let deciphered =
                blocks.iter().map(|block| u128::from_be_bytes(cipher::process(*block, schedule, direction)));
            deciphered.zip(previous).flat_map(|(x, p)| (x ^ u128::from_be_bytes(p)).to_be_bytes()).collect()
        }
    }
}
