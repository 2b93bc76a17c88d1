"""A distributed point function, evaluated at all points, with one call of the generator a level: python dpf.py [LEVELS]

Two parties each hold a key. Their values at x add up to `value` (mod 2^64) at one point, and to 0 everywhere else, and neither key tells
which point that is. The construction and its sources: the head of dpf.rs, whose keys these are.

An array of nodes has a row of two numbers of 64 bits for each: the lower half, whose lowest bit is the control bit, and the upper half.
"""

from __future__ import annotations

import secrets
import sys
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aes_bitslice import Cipher, Engine, Key

Numbers = NDArray[np.uint64]
PUBLIC_KEY = b"a key for anyone"
ONE = np.uint64(1)


@dataclass
class DpfKey:
    """What a party evaluates."""

    second: bool  # the second party, whose values are negated
    root: Numbers
    corrections: list[Numbers]  # for each level but the last
    last: Numbers  # for the two children of the last level
    output: np.uint64


def hashed(generator: Cipher, nodes: Numbers) -> Numbers:
    """H of each node: E(σ(x)) ⊕ σ(x)."""
    low, high = nodes[:, 0], nodes[:, 1]
    return generator.prg(np.stack([high, low ^ high], axis=1))


def if_set(nodes: Numbers, word: Numbers) -> Numbers:
    """The word for each node whose control bit is set, else 0, without a branch: nodes are secret."""
    return word & -(nodes[..., :1] & ONE)


def level_below(generator: Cipher, nodes: Numbers, correction: Numbers) -> Numbers:
    left = hashed(generator, nodes) ^ if_set(nodes, correction)
    return np.stack([left, left ^ nodes], axis=1).reshape(-1, 2)


def leaves_below(generator: Cipher, nodes: Numbers, last: Numbers) -> Numbers:
    twice = np.repeat(nodes, 2, axis=0)
    twice[1::2, 0] ^= ONE
    return hashed(generator, twice) ^ if_set(np.repeat(nodes, 2, axis=0), np.tile(last, (len(nodes), 1)))


def generate(generator: Cipher, levels: int, point: int, value: int) -> list[DpfKey]:
    """The keys of the function that is `value` at `point` and 0 at the others of 2^levels points."""
    bits = [point >> level & 1 for level in reversed(range(levels))]
    difference, root = np.frombuffer(secrets.token_bytes(32), np.uint64).reshape(2, 2).copy()
    difference[0] |= ONE
    nodes = roots = np.stack([root, root ^ difference])
    none = np.zeros(2, np.uint64)
    corrections = []
    for bit in bits[:-1]:
        left = hashed(generator, nodes)
        corrections.append(left[0] ^ left[1] ^ difference * np.uint64(1 - bit))
        nodes = level_below(generator, nodes, corrections[-1])[bit::2]
    leaves = leaves_below(generator, nodes, np.stack([none, none])).reshape(2, 2, 2)  # party, child, half
    differ = leaves[0] ^ leaves[1]
    # The two children's words differ in their control bits alone.
    last = np.stack([differ[1 - bits[-1]]] * 2)
    last[:, 0] = last[:, 0] & ~ONE | differ[:, 0] & ONE
    last[bits[-1], 0] ^= ONE
    first, second = leaves_below(generator, nodes, last)[bits[-1] :: 2]
    output = np.uint64(value) - first[1:] + second[1:]
    output = np.where(second[0] & ONE, -output, output)[0]
    return [DpfKey(bool(n), roots[n], corrections, last, output) for n in range(2)]


def evaluate(generator: Cipher, key: DpfKey) -> Numbers:
    """A party's values at all points."""
    nodes = key.root.reshape(1, 2)
    for correction in key.corrections:
        nodes = level_below(generator, nodes, correction)
    leaves = leaves_below(generator, nodes, key.last)
    values = leaves[:, 1] + (key.output & -(leaves[:, 0] & ONE))
    return -values if key.second else values


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else "16"
    if not given.isdecimal() or int(given) < 1:
        sys.exit(f"LEVELS must be a number from 1 on, not {given}")
    levels = int(given)
    generator = Engine().cipher(Key(PUBLIC_KEY))
    point = secrets.randbelow(2**levels)
    keys = generate(generator, levels, point, 1234)
    start = time.perf_counter()
    first = evaluate(generator, keys[0])
    seconds = time.perf_counter() - start
    total = first + evaluate(generator, keys[1])
    assert total[point] == 1234 and np.count_nonzero(total) == 1
    print(f"2^{levels} points in {seconds * 1e3:.1f} ms, {2**levels / seconds / 1e6:.1f} million points/s: both parties' sums are right")


if __name__ == "__main__":
    main()
