//! A distributed point function, evaluated at all points, with one call of the generator a level:
//! `cargo run --release -p aes-bitslice-runtime --example dpf -- [LEVELS]`
//!
//! Two parties each hold a key. Their values at x add up to `value` (mod 2^64) at one point, and to 0 everywhere else, and neither key tells
//! which point that is (Boyle, Gilboa, Ishai, CCS 2016). This is the tree of Guo et al., "Half-Tree" (EUROCRYPT 2023): a node's left child
//! is H of the node, its right child the left one XORed with the node, so that a level costs one block of AES for two children.
//!
//! A node is a number of 128 bits, little-endian in memory, whose lowest bit is its control bit. H(x) = E_k(σ(x)) ⊕ σ(x) with a fixed,
//! public key k and the orthomorphism σ(left, right) = (left ⊕ right, left) on halves of 64 bits (Guo, Katz, Wang, Yu, IEEE S&P 2020).

use aes_bitslice_runtime::{Backend, Cipher, Engine, Error, Key, Prg};
use std::time::Instant;

/// The key of the generator. Anybody may know it, and both parties use it.
const PUBLIC_KEY: [u8; 16] = *b"a key for anyone";

/// What a party evaluates.
struct DpfKey {
    /// Whether it is the second party, whose values are negated.
    second: bool,
    root: u128,
    /// For each level but the last.
    corrections: Vec<u128>,
    /// For the last level, without control bits, and its control bits of left and right children.
    last: (u128, [u128; 2]),
    output: u64,
}

fn orthomorphism(node: u128) -> [u8; 16] {
    let (left, right) = ((node >> 64) as u64, node as u64);
    (u128::from(left ^ right) << 64 | u128::from(left)).to_le_bytes()
}

/// H of each node.
fn hash(generator: &Cipher, nodes: impl Iterator<Item = u128>) -> Result<impl Iterator<Item = u128>, Error> {
    let mut blocks: Vec<[u8; 16]> = nodes.map(orthomorphism).collect();
    generator.run(Prg::new(), blocks.as_flattened_mut())?;
    Ok(blocks.into_iter().map(u128::from_le_bytes))
}

/// H of two nodes.
fn hash_two(generator: &Cipher, nodes: [u128; 2]) -> Result<[u128; 2], Error> {
    let mut hashes = hash(generator, nodes.into_iter())?;
    Ok([(); 2].map(|()| hashes.next().expect("a hash for each node")))
}

/// What a leaf is worth before its correction.
fn converted(leaf: u128) -> u64 {
    (leaf >> 64) as u64
}

/// The word if the node's control bit is set, else 0, without a branch: nodes are secret.
fn if_set(node: u128, word: u128) -> u128 {
    word & (node & 1).wrapping_neg()
}

/// The keys of the function that is `value` at `point` and 0 at the others of 2^levels points. `levels` is at least 1. `secret` is two
/// numbers from the system's generator of random numbers.
fn generate(generator: &Cipher, levels: u32, point: u64, value: u64, secret: [u128; 2]) -> Result<[DpfKey; 2], Error> {
    let difference = secret[0] | 1;
    let roots = [secret[1], secret[1] ^ difference];
    let mut nodes = roots;
    let mut corrections = vec![];
    for level in (1..levels).rev() {
        let right = u128::from(point >> level & 1);
        let left = hash_two(generator, nodes)?;
        let correction = left[0] ^ left[1] ^ (difference & right.wrapping_sub(1));
        nodes = [0, 1].map(|n| left[n] ^ (nodes[n] & right.wrapping_neg()) ^ if_set(nodes[n], correction));
        corrections.push(correction);
    }
    let right = u128::from(point & 1);
    let children = [hash_two(generator, nodes)?, hash_two(generator, nodes.map(|node| node ^ 1))?];
    let differ = |child: usize| children[child][0] ^ children[child][1];
    let other = differ(1) & right.wrapping_sub(1) | differ(0) & right.wrapping_neg();
    let last = (other & !1, [(differ(0) & 1) ^ 1 ^ right, (differ(1) & 1) ^ right]);
    let leaves = [0, 1].map(|n| {
        let leaf = [0, 1].map(|child| children[child][n] ^ if_set(nodes[n], last.0 | last.1[child]));
        leaf[0] & right.wrapping_sub(1) | leaf[1] & right.wrapping_neg()
    });
    let output = value.wrapping_sub(converted(leaves[0])).wrapping_add(converted(leaves[1]));
    // Negated if the second party is the one that adds it.
    let sign = (leaves[1] as u64 & 1).wrapping_neg();
    let output = (output ^ sign).wrapping_sub(sign);
    Ok([false, true].map(|second| {
        let root = roots[usize::from(second)];
        DpfKey { second, root, corrections: corrections.clone(), last, output }
    }))
}

/// A party's values at all points.
fn evaluate(generator: &Cipher, key: &DpfKey) -> Result<Vec<u64>, Error> {
    let mut nodes = vec![key.root];
    for &correction in &key.corrections {
        let left = hash(generator, nodes.iter().copied())?;
        let children = |(&node, left): (&u128, u128)| {
            let left = left ^ if_set(node, correction);
            [left, left ^ node]
        };
        nodes = nodes.iter().zip(left).flat_map(children).collect();
    }
    let (word, controls) = key.last;
    let hashes = hash(generator, nodes.iter().flat_map(|&node| [node, node ^ 1]))?;
    let sign = u64::from(key.second).wrapping_neg();
    let share = |(n, leaf): (usize, u128)| {
        let leaf = leaf ^ if_set(nodes[n / 2], word | controls[n % 2]);
        let share = converted(leaf).wrapping_add(key.output & (leaf as u64 & 1).wrapping_neg());
        (share ^ sign).wrapping_sub(sign)
    };
    Ok(hashes.enumerate().map(share).collect())
}

fn main() -> Result<(), Error> {
    let levels = std::env::args().nth(1).and_then(|levels| levels.parse().ok()).unwrap_or(16).clamp(1, 28);
    let engine = Engine::open(Backend::Auto)?;
    let generator = engine.cipher(&Key::new(&PUBLIC_KEY)?)?;
    println!("engine: {}", engine.description());

    let mut random = [[0; 16]; 3];
    getrandom::fill(random.as_flattened_mut())?;
    let [secret @ .., choice] = random.map(u128::from_le_bytes);
    let point = choice as u64 & ((1 << levels) - 1);
    let keys = generate(&generator, levels, point, 1234, secret)?;

    let start = Instant::now();
    let first = evaluate(&generator, &keys[0])?;
    let seconds = start.elapsed().as_secs_f64();
    let second = evaluate(&generator, &keys[1])?;
    for (x, (a, b)) in first.into_iter().zip(second).enumerate() {
        assert_eq!(a.wrapping_add(b), if x as u64 == point { 1234 } else { 0 }, "at {x}");
    }
    let points = f64::from(1u32 << levels);
    println!(
        "2^{levels} points in {:.1} ms, {:.1} million points/s: both parties' sums are right",
        seconds * 1e3,
        points / seconds / 1e6
    );
    Ok(())
}
