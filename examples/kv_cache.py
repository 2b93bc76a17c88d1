# needs: numpy, cryptography
"""Blocks of a KV cache in the frames of LMCache: the time of one, and the rate of many, beside the package `cryptography`.

    python kv_cache.py --latency 1MiB --throughput 1GiB --block 1MiB

Measures NumPy arrays, and tensors on the first CUDA GPU if PyTorch finds one. What both packages make is compared first.
On a GPU the times include the copies between its memory and the host's; for `cryptography` those of the blocks in the clear. The
last rows are plain copies of as many bytes, which nothing beats: of memory, or between pinned memory and the GPU's.
"""

import argparse
import os
import statistics
import time

import numpy
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from aes_bitslice import Key, kv

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def size(text):
    number, unit = text[:-3], text[-3:]
    if unit not in UNITS or not number.isdigit() or number == "0":
        raise argparse.ArgumentTypeError(f"{text!r} is no size: give one such as 64KiB, 1MiB or 1GiB")
    return int(number) * UNITS[unit]


class Cryptography:
    """What LMCache does for each block."""

    def __init__(self, key):
        self.cipher = AESGCM(key)

    def encrypt(self, blocks):
        return [self.one(block) for block in host(blocks)]

    def one(self, block):
        iv = os.urandom(12)
        return b"\x01" + iv + self.cipher.encrypt(iv, block.tobytes(), None)

    def decrypt(self, frames, out):
        for frame, block in zip(map(bytes, frames), out):
            plain = numpy.frombuffer(bytearray(self.cipher.decrypt(frame[1:13], frame[13:], None)), numpy.uint8)
            block[:] = plain if isinstance(out, numpy.ndarray) else out.new_tensor(plain)
        return out


def host(blocks):
    return blocks if isinstance(blocks, numpy.ndarray) else blocks.cpu().numpy()


def seconds(work, repeats, wait):
    """The median of the times of `work`, after one that does not count."""
    times = []
    for _ in range(repeats + 1):
        wait()
        start = time.perf_counter()
        work()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def places():
    """Where blocks are: a name, what brings bytes there, what waits for it, and memory for frames that the link is fastest to."""
    yield "host memory", lambda rows: rows, lambda: None, numpy.zeros_like
    try:
        import torch
    except ImportError:
        return
    if torch.cuda.is_available():
        yield torch.cuda.get_device_name(0), lambda rows: torch.from_numpy(rows).cuda(), torch.cuda.synchronize, lambda rows: torch.from_numpy(rows).pin_memory()


def copy(to, of):
    numpy.copyto(to, of) if isinstance(to, numpy.ndarray) else to.copy_(of, non_blocking=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--latency", type=size, default="1MiB", help="bytes of the one block (1MiB)")
    parser.add_argument("--throughput", type=size, default="32MiB", help="bytes of all blocks (32MiB)")
    parser.add_argument("--block", type=size, default="1MiB", help="bytes of each of them (1MiB)")
    parser.add_argument("--repeats", type=int, default=5, help="calls of which the median is told (5)")
    given = parser.parse_args()
    secret = os.urandom(32)
    ours = kv.BlockCipher(secret, "tenant-a")
    theirs = Cryptography(Key.derive(secret, b"lmcache-l2-aesgcm-v1" + b"tenant-a", bits=128).expose())
    print(f"{'':<26}{'blocks':>16}  {'encrypt':>9} ms {'decrypt':>9} ms {'encrypt':>8} GB/s {'decrypt':>8} GB/s")
    for place, bring, wait, beside in places():
        print(place)
        for count, each in [(1, given.latency), (max(1, given.throughput // given.block), given.block)]:
            plain = numpy.frombuffer(os.urandom(count * each), numpy.uint8).reshape(count, each)
            blocks, out = bring(plain.copy()), bring(numpy.zeros((count, each), numpy.uint8))
            for maker, reader in [(ours, theirs), (theirs, ours)]:
                assert (host(reader.decrypt(maker.encrypt(blocks), out)) == plain).all()
            frames, made, there = ours.encrypt(blocks), theirs.encrypt(blocks), beside(plain)
            for name, encrypt, decrypt in [
                ("aes_bitslice.kv", lambda: ours.encrypt(blocks), lambda: ours.decrypt(frames, out)),
                ("aes_bitslice.kv, out=", lambda: ours.encrypt(blocks, out=frames), lambda: ours.decrypt(frames, out)),
                ("cryptography", lambda: theirs.encrypt(blocks), lambda: theirs.decrypt(made, out)),
                ("a copy", lambda: copy(there, blocks), lambda: copy(out, there)),
            ]:
                took = [seconds(work, given.repeats, wait) for work in (encrypt, decrypt)]
                rates = [count * each / time / 1e9 for time in took]
                print(f"  {name:<24}{count:>6} x {each:>7}  {took[0] * 1e3:9.3f}    {took[1] * 1e3:9.3f}    {rates[0]:8.2f}      {rates[1]:8.2f}")


if __name__ == "__main__":
    main()
