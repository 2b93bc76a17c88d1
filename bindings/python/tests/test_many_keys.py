"""Many keys in one call, compared with another implementation under each key, and with a cipher for each key."""

import os
import random

import aes_bitslice
import numpy
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MODES = ["ctr", "ecb-encrypt", "ecb-decrypt", "keystream"]
ECB = ("ecb-encrypt", "ecb-decrypt")


def expected(mode, key, counter, data):
    cipher = Cipher(algorithms.AES(key), modes.ECB() if mode in ECB else modes.CTR(counter))
    data = bytes(len(data)) if mode == "keystream" else data
    return (cipher.decryptor() if mode == "ecb-decrypt" else cipher.encryptor()).update(bytes(data))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bits", [128, 192, 256])
@pytest.mark.parametrize("size", [16, 48, 4096])
def test_each_key(engine, mode, bits, size):
    n, counter = 37, b"\xff" * 15 + b"\xfe"
    keys = os.urandom(n * bits // 8)
    data = None if mode == "keystream" else os.urandom(n * size)
    given = {} if mode in ECB else {"counter": counter}
    found = engine.run_each_key(mode, keys, data, bytes_per_key=size, key_bits=bits, **given)
    parts = [
        expected(mode, keys[i * bits // 8 :][: bits // 8], counter, (data or bytes(n * size))[i * size :][:size]) for i in range(n)
    ]
    assert found == b"".join(parts)
    out = bytearray(n * size)
    assert engine.run_each_key(mode, keys, data, bytes_per_key=size, key_bits=bits, out=out, **given) is out
    assert out == found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [16, 24, 32])
def test_jobs(engine, mode, size):
    chance = random.Random(size)
    lengths = [chance.choice([0, 16, 160, 5008]) if mode in ECB else chance.randrange(700) for _ in range(50)]
    ranges, at = [], 0
    for length in lengths:
        at += chance.randrange(40)
        ranges.append((at, at + length))
        at += length
    keys, counters = os.urandom(50 * size), os.urandom(50 * 16)
    data = bytearray(os.urandom(at + 9))
    wanted = bytearray(data)
    for i, (start, stop) in enumerate(ranges):
        wanted[start:stop] = expected(mode, keys[i * size :][:size], counters[16 * i :][:16], data[start:stop])
    given = {} if mode in ECB else {"counters": counters}
    source = None if mode == "keystream" else data
    assert engine.run_jobs(mode, keys, ranges, source, out=data, **given) is data
    assert data == wanted


def test_more_than_a_part(cpu):
    """With the same number of bytes under each key, a part has whole keys; with jobs, whole jobs, some empty."""
    counter, each, n = b"\xff" * 16, 48 * 1024, 400
    keys, data = os.urandom(24 * n), os.urandom(each * n)
    parts = [expected("ctr", keys[24 * i :][:24], counter, data[each * i :][:each]) for i in range(n)]
    assert cpu.run_each_key("ctr", keys, data, bytes_per_key=each, key_bits=192, counter=counter) == b"".join(parts)
    gap = [16 if i % 3 else 0 for i in range(n)]
    ranges = [(each * i, each * i if i % 7 == 0 else each * (i + 1) - gap[i]) for i in range(n)]
    counters, out = os.urandom(16 * n), bytearray(data)
    for i, (start, stop) in enumerate(ranges):
        out[start:stop] = expected("ctr", keys[24 * i :][:24], counters[16 * i :][:16], data[start:stop])
    assert cpu.run_jobs("ctr", keys, ranges, data, counters=counters, out=bytearray(data)) == out
    for refused in [
        lambda: cpu.run_jobs("ctr", keys, [*ranges[:-1], (each * n - 1, each * n + 1)], out, counters=counters, out=out),
        lambda: cpu.run_each_key("ctr", keys[24:], out, bytes_per_key=each, key_bits=192, out=out),
        lambda: cpu.run_each_key("ctr", keys + b"1", out, bytes_per_key=each, key_bits=192, out=out),
    ]:
        before = bytes(out)
        with pytest.raises(ValueError):
            refused()
        assert out == before


def test_none(cpu):
    assert cpu.run_each_key("keystream", b"", bytes_per_key=16) == b""
    assert cpu.run_jobs("ctr", b"", [], bytearray(b"as it was"), counters=b"", out=bytearray(9)) is not None


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda e: e.run_each_key("cbc-decrypt", bytes(16), bytes(16), bytes_per_key=16), "use ctr, ecb-encrypt, ecb-decrypt or keystream"),
        (lambda e: e.run_each_key("ctr", bytes(16), bytes(16), bytes_per_key=16, key_bits=100), "128, 192 or 256"),
        (lambda e: e.run_each_key("ctr", bytes(16), bytes(16), bytes_per_key=16, counter=bytes(4)), "a counter has 16 bytes, not 4"),
        (lambda e: e.run_each_key("ctr", bytes(17), bytes(16), bytes_per_key=16), "17"),
        (lambda e: e.run_each_key("ctr", bytes(16), bytes(32), bytes_per_key=16), "32"),
        (lambda e: e.run_each_key("ctr", bytes(16), bytes_per_key=16), "ctr takes data"),
        (lambda e: e.run_each_key("keystream", bytes(16), bytes(16), bytes_per_key=16), "keystream reads no data"),
        (lambda e: (lambda x: e.run_each_key("keystream", x, bytes_per_key=16, out=x))(bytearray(32)), "overlap"),
        (lambda e: (lambda x: e.run_each_key("ctr", memoryview(x)[8:24], bytes(16), bytes_per_key=16, out=x[:16]))(memoryview(bytearray(32))), "overlap"),
        (lambda e: e.run_each_key("ecb-encrypt", bytes(16), bytes(16), bytes_per_key=16, counter=bytes(16)), "no counter"),
        (lambda e: e.run_each_key("ecb-decrypt", bytes(16), bytes(16), bytes_per_key=16, counter=bytes(16)), "ecb-decrypt has no counter"),
        (lambda e: e.run_jobs("ecb-encrypt", bytes(16), [(0, 16)], bytes(16), counters=bytes(16), out=bytearray(16)), "no counters"),
        (lambda e: e.run_jobs("ctr", bytes(16), [(0, 5)], bytes(5), counters=bytes(16)), "out"),
        (lambda e: e.run_jobs("ctr", bytes(16), [(0, 5)], bytes(5), out=bytearray(5)), "takes counters"),
        (lambda e: e.run_jobs("ctr", bytes(16), [(0, 5)], bytes(5), counters=bytes(15), out=bytearray(5)), "counters has 15 bytes for 1 job: give 16 for each"),
        (lambda e: e.run_jobs("ctr", bytes(17), [(0, 5)], bytes(5), counters=bytes(16), out=bytearray(5)), "keys has 17 bytes for 1 job: give 16, 24 or 32 for each"),
        (lambda e: e.run_jobs("ctr", bytes(16), [(0, 6)], bytes(5), counters=bytes(16), out=bytearray(5)), "ends at byte 6"),
        (lambda e: e.run_jobs("ctr", bytes(16), [(5, 0)], bytes(5), counters=bytes(16), out=bytearray(5)), "before it begins"),
        (lambda e: e.run_jobs("ctr", bytes(32), [(0, 3), (2, 5)], bytes(5), counters=bytes(32), out=bytearray(5)), "do not overlap"),
        (lambda e: e.run_jobs("ctr", bytes(16), range(10**18), b"", counters=bytes(16), out=bytearray()), "range 0 is not a pair"),
        (lambda e: e.run_jobs("ctr", bytes(16), [(-1, 5)], bytes(5), counters=bytes(16), out=bytearray(5)), "range 0 has a number that is not a position"),
        (lambda e: aes_bitslice.Engine(range(2**60)), "GPU"),
        (lambda e: aes_bitslice.Engine(b"cpu"), "a backend is a name"),
        (lambda e: e.run_jobs("ecb-encrypt", bytes(16), [(0, 5)], bytes(5), out=bytearray(5)), "whole blocks"),
        (lambda e: (lambda x: e.run_jobs("keystream", x, [(0, 16)], counters=bytes(16), out=x))(bytearray(16)), "keys and the output overlap"),
        (lambda e: (lambda x: e.run_jobs("ctr", bytes(16), [(0, 5)], bytes(16), counters=x, out=x))(bytearray(16)), "counters and the output overlap"),
    ],
)
def test_refused(cpu, call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(cpu)


def test_rows_are_keys_and_modes_are_named(cpu):
    keys = numpy.frombuffer(aes_bitslice.random_bytes(64), numpy.uint8)
    whole = cpu.run_each_key("keystream", keys, bytes_per_key=32, key_bits=256)
    for rows in [keys.reshape(2, 32), keys.view(numpy.uint32).reshape(2, 8), memoryview(keys.reshape(2, 32))]:
        assert cpu.run_each_key("keystream", rows, bytes_per_key=32, key_bits=256) == whole
        with pytest.raises(ValueError, match="keys has rows of 32 bytes, and keys of 128 bits have 16"):
            cpu.run_each_key("keystream", rows, bytes_per_key=32)
        with pytest.raises(ValueError, match="keys has 2 rows for 4 jobs"):
            out = bytearray(16)
            cpu.run_jobs("keystream", rows, [(0, 4), (4, 8), (8, 12), (12, 16)], counters=bytes(64), out=out)
    for mode in ["xts", "cbc-decrypt", "?"]:
        with pytest.raises(ValueError, match="use ctr, ecb-encrypt, ecb-decrypt or keystream") as refused:
            cpu.run_each_key(mode, keys, bytes(64), bytes_per_key=16)
        assert "xts-" not in str(refused.value)


@pytest.mark.parametrize("bits", [128, 192, 256])
@pytest.mark.parametrize("tag_bytes", [16, 12])
def test_gcm_jobs(engine, bits, tag_bytes):
    chance = random.Random(bits)
    lengths = [chance.choice([0, 1, 16, 160, 5003]) for _ in range(40)]
    ranges, at = [], 0
    for length in lengths:
        at += chance.randrange(40)
        ranges.append((at, at + length))
        at += length
    keys = [os.urandom(bits // 8) for _ in range(7)]
    numbers = numpy.array([chance.randrange(7) for _ in ranges], chance.choice(["u4", "i4", "u8", "i8"]))
    nonces, aads = [os.urandom(12) for _ in ranges], [os.urandom(n % 5) for n in range(40)]
    data = bytearray(os.urandom(at + 9))
    plain = bytes(data)
    sealed = [AESGCM(keys[k]).encrypt(nonce, plain[a:z], aad) for k, nonce, (a, z), aad in zip(numbers, nonces, ranges, aads)]
    for given in (
        {"keys": b"".join(keys[k] for k in numbers)},
        {"keys": b"".join(keys), "key_numbers": numbers},
        {"keys": numpy.frombuffer(b"".join(keys), numpy.uint8).reshape(7, bits // 8), "key_numbers": numbers.tolist()},
    ):
        given |= {"nonces": nonces, "ranges": ranges, "aads": aads, "key_bits": bits}
        tags = engine.gcm_encrypt_jobs(data=plain, out=data, **given)
        assert [data[a:z] + tags[16 * n :][:16] for n, (a, z) in enumerate(ranges)] == sealed
        tags = [bytearray(tags[16 * n :][:tag_bytes]) for n in range(40)]
        engine.gcm_decrypt_jobs(data=data, tags=b"".join(tags), tag_bytes=tag_bytes, out=data, **given)
        assert data == plain
        tags[3][0] ^= 1
        tags[39][-1] ^= 0x80
        engine.gcm_encrypt_jobs(data=plain, out=data, **given)
        with pytest.raises(aes_bitslice.AuthenticationError) as raised:
            engine.gcm_decrypt_jobs(data=data, tags=tags, tag_bytes=tag_bytes, out=data, **given)
        assert raised.value.failed == (3, 39)
        left = bytearray(plain)
        for n in (3, 39):
            left[slice(*ranges[n])] = bytes(lengths[n])
        assert data == left
        data[:] = plain


@pytest.mark.parametrize(
    "given, says",
    [
        ({"keys": bytes(16)}, "1 key for 2 messages"),
        ({"keys": bytes(31)}, "31 bytes of keys"),
        ({"keys": bytes(16), "key_numbers": [0, 1]}, "message 1 has the key number 1, which is too high for 1 key"),
        ({"keys": bytes(16), "key_numbers": [0]}, "1 key number for 2 messages"),
        ({"keys": bytes(16), "key_numbers": [0, -1]}, "key_numbers\\[1\\] is not a number"),
        ({"keys": bytes(16), "key_numbers": b"\0\0"}, "an array of integers"),
        ({"keys": bytes(16), "key_numbers": 7}, "an array of integers"),
        ({"keys": bytes(16), "key_numbers": [0, 1 << 63]}, "key_numbers\\[1\\] is not a number"),
        ({"keys": bytes(16), "key_numbers": numpy.zeros(4, numpy.uint32)[::2]}, "contiguous"),
        ({"keys": numpy.zeros((2, 24), numpy.uint8)}, "rows of 24 bytes"),
        ({"nonces": [bytes(16), bytes(12)]}, "the nonce of message 0 has 16 bytes"),
        ({"key_bits": 100}, "128, 192 or 256"),
        ({"ranges": [(0, 5), (4, 9)]}, "do not overlap"),
        ({"ranges": [(0, 5), (5, 10)]}, "ends at byte 10"),
    ],
)
def test_gcm_jobs_that_cannot_be(engine, given, says):
    right = {"keys": bytes(32), "nonces": bytes(24), "ranges": [(0, 5), (5, 9)], "data": bytes(9)}
    out = bytearray(b"as it was")
    with pytest.raises((aes_bitslice.Error, ValueError, TypeError, BufferError), match=says):
        engine.gcm_encrypt_jobs(**(right | given), out=out)
    assert out == b"as it was"
    assert len(engine.gcm_encrypt_jobs(**right, out=out)) == 32
