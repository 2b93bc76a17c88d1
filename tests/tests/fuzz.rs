//! The fuzz targets on the kept corpus and on mutations of it, which do not change from run to run; exhaustive runs have more.

use aes_bitslice_tests::environment::{all_or, say, turn};
use aes_bitslice_tests::fuzz::TARGETS;
use rayon::prelude::*;
use std::fs;
use std::path::Path;

/// Numbers that look random: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut data = corpus[random.below(corpus.len())].clone();
    for _ in 0..1 + random.below(6) {
        let at = random.below(data.len() + 1);
        let len = random.below(1 + (data.len() - at).min(40));
        match random.below(7) {
            0 if at < data.len() => data[at] ^= 1 << random.below(8),
            1 if at < data.len() => data[at] = [0, 0xff, 0x7f, b'"', b'{', b'-', b'9'][random.below(7)],
            2 => _ = data.drain(at..at + len),
            3 => _ = data.splice(at..at, data[at..at + len].to_vec()),
            4 => data.truncate(at),
            5 => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len() + 1);
                let to = other.len().min(from + 1 + random.below(60));
                data.splice(at..at, other[from..to].iter().copied());
            }
            _ => data.extend((0..random.below(20)).map(|_| random.below(256) as u8)),
        }
    }
    data
}

#[test]
fn targets_bear_their_corpus_and_mutations_of_it() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../evidence/fuzz/corpus"));
    if !folder.exists() {
        return say("THE CORPUS IS NOT HERE: FUZZ TARGETS WERE NOT RUN");
    }
    // Each has its own random numbers, so that it repeats.
    TARGETS.into_par_iter().for_each(|(name, target)| {
        let files = fs::read_dir(folder.join(name)).unwrap_or_else(|e| panic!("the corpus of {name}: {e}"));
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        let corpus: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        assert!(!corpus.is_empty(), "{name} has no corpus");
        corpus.iter().for_each(|data| target(data));
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ turn() as u64);
        let times = if ["engines", "messages", "batch", "jobs", "sealed"].contains(&name) {
            all_or(5_000, 400)
        } else {
            all_or(50_000, 3000)
        };
        (0..times).for_each(|_| target(&mutated(&corpus, &mut random)));
    });
}
