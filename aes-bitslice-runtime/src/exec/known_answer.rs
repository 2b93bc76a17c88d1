//! The known answer that a kernel must give on a device before its first use, whatever drives the device: compilers and
//! drivers have bugs too.

use crate::base::error::Error;
use crate::base::key::Key;
use aes_bitslice_core::aes::{KeyBits, KeySchedule};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::self_test;

/// A device with a kernel to test, and room for its data.
pub(crate) trait Candidate {
    /// Copies `data` to byte `from` of the room, runs the kernel from there to byte `to` (equal to `from`, or so far away that the two do
    /// not overlap) with the launches of its mode from [`self_test::COUNTER`] on, and copies the answer back.
    fn answer(&mut self, data: &[u8], from: usize, to: usize) -> Result<Vec<u8>, Error>;
}

/// The size of the room in bytes.
pub(crate) fn room() -> usize {
    2 * (16 * self_test::BLOCKS + 16)
}

/// The input of the test. It is created before the slot for the test is taken, so that it outlives the use of it in the
/// slot, even in a panic.
pub(crate) fn data() -> Vec<u8> {
    self_test::input()
}

/// Runs [`data`] through both entry points, in place and not; `is_right` judges the answers.
pub(crate) fn check(
    kernel: &str,
    data: &[u8],
    candidate: &mut impl Candidate,
    is_right: impl Fn(&[u8]) -> bool,
) -> Result<(), Error> {
    let other = room() / 2;
    // Aligned, then one byte off, which takes the other entry point.
    for (from, to) in [(0, 0), (1, 1), (0, other), (1, other + 1)] {
        if !is_right(&candidate.answer(data, from, to)?) {
            return Err(Error::SelfTestFailed { kernel: kernel.into() });
        }
    }
    Ok(())
}

/// A key of each length for testing a kernel that takes its keys at launch, and the right answer under it.
pub(crate) fn keys(mode: Mode) -> impl Iterator<Item = (Key, Vec<u8>)> {
    let bytes = |n: usize| -> Vec<u8> { (0..n as u8).map(|i| i.wrapping_mul(29) ^ 0xa7).collect() };
    let schedule = |key: &[u8], mode: Mode| KeySchedule::new(key, mode.direction()).expect("a key length");
    KeyBits::ALL.into_iter().filter_map(move |bits| {
        if !mode.has_tweaks() {
            let key = bytes(bits.bytes());
            return Some((Key::new(&key).expect("a key length"), self_test::expected(mode, &schedule(&key, mode))));
        }
        // There is no XTS with two 192-bit keys.
        let key = Key::xts(&bytes(2 * bits.bytes())).ok()?;
        let tweak = schedule(key.second()?, Mode::XtsEncrypt);
        let expected = self_test::expected_xts(mode, &schedule(key.first(), mode), &tweak);
        Some((key, expected))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that copies, except in one of its answers.
    struct Copies {
        wrong: usize,
        asked: Vec<(usize, usize)>,
    }

    impl Candidate for Copies {
        fn answer(&mut self, data: &[u8], from: usize, to: usize) -> Result<Vec<u8>, Error> {
            let mut answer = data.to_vec();
            answer[data.len() - 1] ^= u8::from(self.asked.len() == self.wrong);
            self.asked.push((from, to));
            Ok(answer)
        }
    }

    /// XTS has no pair of keys of 192 bits.
    #[test]
    fn there_is_a_key_of_each_length_with_its_answer() {
        let lengths = |mode| keys(mode).map(|(key, _)| key.first().len()).collect::<Vec<_>>();
        assert_eq!([lengths(Mode::Ctr), lengths(Mode::XtsDecrypt)], [vec![16, 24, 32], vec![16, 32]]);
        for mode in [Mode::EcbEncrypt, Mode::EcbDecrypt] {
            for (key, expected) in keys(mode) {
                let schedule = KeySchedule::new(key.first(), mode.direction()).unwrap();
                assert!(expected == self_test::expected(mode, &schedule));
            }
        }
        for (key, _) in keys(Mode::XtsEncrypt) {
            assert!(key.second().is_some_and(|tweak| tweak.len() == key.first().len() && tweak != key.first()));
        }
    }

    #[test]
    fn one_wrong_answer_is_enough() {
        let data = data();
        assert_eq!(room(), 2 * (data.len() + 16));
        let check = |wrong| {
            let mut kernel = Copies { wrong, asked: vec![] };
            (check("k", &data, &mut kernel, |answer| answer == data), kernel.asked)
        };
        for wrong in 0..4 {
            assert!(matches!(check(wrong).0, Err(Error::SelfTestFailed { .. })), "answer {wrong}");
        }
        let (outcome, asked) = check(4);
        outcome.unwrap();
        assert_eq!(asked, [(0, 0), (1, 1), (0, room() / 2), (1, room() / 2 + 1)]);
        assert!(asked.iter().all(|(from, to)| from.max(to) + data.len() <= room()));
    }
}
