"""Many messages under one key in one call, each compared with another implementation; changed ones; impossible ones."""

import os
import random

import numpy as np
import pytest
from conftest import OnGpu
from cryptography.hazmat.primitives.ciphers import algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.cmac import CMAC

from aes_bitslice import AuthenticationError, CountedNonces, GcmDecryptBatch, Key, Ranges, UnavailableError


def places(chance, count, longest):
    """Ascending ranges, with and without gaps, and the number of bytes of data that they need."""
    ranges, at = [], 0
    for _ in range(count):
        at += chance.choice([0, 0, 5, 16])
        length = chance.choice([0, 1, 16, 17, chance.randrange(longest)])
        ranges.append((at, at + length))
        at += length
    return ranges, at + 7


def cmac(key, data):
    mac = CMAC(algorithms.AES(key))
    mac.update(bytes(data))
    return mac.finalize()


@pytest.mark.parametrize("nonce_bytes", [12, None])
@pytest.mark.parametrize("key_bytes", [16, 24, 32])
def test_gcm(engine, key_bytes, nonce_bytes):
    chance = random.Random(key_bytes)
    count, key = 61, os.urandom(key_bytes)
    cipher = engine.cipher(Key(key))
    ranges, size = places(chance, count, 3000)
    nonces = [os.urandom(nonce_bytes or 8 + n) for n in range(count)]
    aads = [os.urandom(n % 40) for n in range(count)] if nonce_bytes else None
    data = os.urandom(size)
    secret, wanted = bytearray(data), b""
    for n, (start, stop) in enumerate(ranges):
        sealed = AESGCM(key).encrypt(nonces[n], data[start:stop], aads[n] if aads else None)
        secret[start:stop] = sealed[:-16]
        wanted += sealed[-16:]

    given = b"".join(nonces) if nonce_bytes else nonces
    out = bytearray(data)
    tags = cipher.gcm_encrypt_batch(given, ranges, out, aads, out=out)
    assert (tags, out) == (wanted, secret)
    # From one buffer to another, where the bytes between messages stay as they are.
    apart = np.full(size, 0xA5, np.uint8)
    assert cipher.gcm_encrypt_batch(nonces, np.array(ranges), data, aads=aads, out=apart) == wanted
    inside = np.zeros(size, bool)
    for start, stop in ranges:
        inside[start:stop] = True
    assert (apart == np.where(inside, np.frombuffer(secret, np.uint8), 0xA5)).all()

    cipher.gcm_decrypt_batch(given, ranges, out, tags, aads, out=out)
    assert out == data
    # Some are changed: these are reported and cleared, and the others are good.
    changed = [n for n, (start, stop) in enumerate(ranges) if n % 7 == 3 and stop > start]
    received = [tags[16 * n :][:12] for n in range(count)]
    for n in changed:
        secret[ranges[n][0]] ^= 0x80
    received[5] = received[5][:-1] + bytes([received[5][-1] ^ 1])
    changed = sorted({5, *changed})
    expected = bytearray(data)
    for n in changed:
        expected[slice(*ranges[n])] = bytes(ranges[n][1] - ranges[n][0])
    with pytest.raises(AuthenticationError, match=f"failed for {len(changed)} of 61 messages") as raised:
        cipher.gcm_decrypt_batch(nonces, ranges, secret, received, aads, tag_bytes=12, out=secret)
    assert raised.value.failed == tuple(changed)
    assert secret == expected


def forms(ranges):
    """The ranges in every form that a caller may have them in."""
    pairs = np.array(ranges, np.int64).reshape(-1, 2)
    offsets, lengths = pairs[:, 0].copy(), pairs[:, 1] - pairs[:, 0]
    yield ranges
    for kind in (np.int32, np.uint32, np.int64, np.uint64):
        yield pairs.astype(kind)
        yield Ranges(offsets.astype(kind), lengths.astype(kind))
    yield memoryview(pairs)
    yield Ranges(offsets, lengths.astype(np.uint32))


def test_arrays_are_as_lists(engine):
    chance, key, count = random.Random(7), os.urandom(16), 83
    cipher = engine.cipher(Key(key))
    ranges, size = places(chance, count, 900)
    nonces = [os.urandom(12) for _ in range(count)]
    aads = [os.urandom(chance.choice([0, 5, 13])) for _ in range(count)]
    ends = np.cumsum([len(aad) for aad in aads])
    of_aad = [(int(end) - len(aad), int(end)) for aad, end in zip(aads, ends)]
    data = os.urandom(size)
    secret = bytearray(data)
    tags = cipher.gcm_encrypt_batch(nonces, ranges, secret, aads, out=secret)
    macs = cipher.cmac_batch(ranges, data)
    table = np.frombuffer(b"".join(nonces), np.uint8).reshape(count, 12)
    rows = np.frombuffer(tags, np.uint8).reshape(count, 16)
    for given, aad_ranges in zip(forms(ranges), forms(of_aad)):
        out = bytearray(data)
        options = {"aads": b"".join(aads), "aad_ranges": aad_ranges, "out": out}
        assert cipher.gcm_encrypt_batch(table, given, out, **options) == tags
        assert out == secret
        cipher.gcm_decrypt_batch(table, given, out, rows, **options)
        assert out == data
        with pytest.raises(AuthenticationError) as raised:
            changed = rows[:, :12].copy()
            changed[5, 11] ^= 1
            cipher.gcm_decrypt_batch(nonces, given, secret, changed, tag_bytes=12, **options)
        assert raised.value.failed == (5,)
        assert cipher.cmac_batch(given, data) == macs
        cipher.cmac_verify_batch(given, data, np.frombuffer(macs, np.uint8).reshape(count, 16))


@pytest.mark.parametrize("counter_bits", [32, 64])
def test_rules_are_as_lists(engine, counter_bits):
    key, count, header = os.urandom(32), 300, b"a header"
    cipher = engine.cipher(Key(key))
    # The last number that they have is the last there is.
    fixed, number = os.urandom(12 - counter_bits // 8), 2**counter_bits - count
    nonces = [fixed + (number + n).to_bytes(counter_bits // 8, "big") for n in range(count)]
    counted = CountedNonces(nonces[0], counter_bits=counter_bits)
    for length, stride in [(64, None), (100, 128), (0, None)]:
        ranges = [(n * (stride or length), n * (stride or length) + length) for n in range(count)]
        rule, data = Ranges.equal(count, length, stride=stride), os.urandom(ranges[-1][1])
        assert len(rule) == count
        expected, out = bytearray(data), bytearray(data)
        tags = cipher.gcm_encrypt_batch(nonces, ranges, expected, [header] * count, out=expected)
        assert cipher.gcm_encrypt_batch(counted, rule, out, header, out=out) == tags
        assert out == expected
        cipher.gcm_decrypt_batch(counted, rule, out, tags, header, out=out)
        assert out == data
        assert cipher.cmac_batch(rule, data) == cipher.cmac_batch(ranges, data)
    with pytest.raises(ValueError, match="nonces would start again: .* room for 300, and there are 301 messages"):
        cipher.gcm_encrypt_batch(counted, Ranges.equal(count + 1, 0), b"", out=bytearray())


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda c, d: c.cmac_batch(np.array([[0, 4], [4, -1]]), d), ValueError, "message 1 has a number that is not a position"),
        (lambda c, d: c.cmac_batch(np.array([[0, 4], [4, 3]], np.uint32), d), ValueError, "message 1 ends at byte 3, before it begins"),
        (lambda c, d: c.cmac_batch(np.array([[0, 4, 8]]), d), TypeError, "range 0 is not a pair"),
        (lambda c, d: c.cmac_batch(Ranges(np.array([0, 2**63], np.uint64), np.array([4, 2**63], np.uint64)), d), ValueError, "message 1 has a number"),
        (lambda c, d: c.cmac_batch(Ranges(np.array([0, 4]), np.array([4])), d), ValueError, "2 offsets and 1 length"),
        (lambda c, d: c.cmac_batch(Ranges(np.array([0, 4]), np.array([4, -4])), d), ValueError, "message 1 has a number"),
        (lambda c, d: Ranges(np.array([[0, 4]]), np.array([4])), TypeError, "offsets must be an array of one dimension"),
        (lambda c, d: Ranges(np.array([0]), np.array([4.0])), TypeError, "lengths must be an array of one dimension"),
        (lambda c, d: Ranges(np.array([0], np.uint8), np.array([4])), TypeError, "offsets must be an array of one dimension"),
        (lambda c, d: Ranges(np.array([0], ">i8"), np.array([4])), TypeError, "offsets must be an array of one dimension"),
        (lambda c, d: Ranges([0], [4]), TypeError, "offsets must be an array of one dimension"),
        (lambda c, d: Ranges(np.arange(8)[::2], np.arange(4)), BufferError, "offsets cannot be used: .*contiguous"),
        (lambda c, d: Ranges(np.frombuffer(bytes(17), "i8", offset=1), np.arange(2)), ValueError, "offsets is not aligned"),
        (lambda c, d: Ranges.equal(-1, 4), ValueError, "count must be 0 to"),
        (lambda c, d: Ranges.equal(1, 2**64), ValueError, "length must be 0 to"),
        (lambda c, d: Ranges.equal(1, 4, stride="4"), TypeError, "stride must be an int"),
        (lambda c, d: c.cmac_batch(Ranges.equal(2**40, 2**40), d), ValueError, "a batch has room for"),
        (lambda c, d: c.cmac_batch(Ranges.equal(3, 3), d), ValueError, "ends at byte 9, and the data has 8"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(range(24)), Ranges.equal(2, 4, stride=3), d, out=d), ValueError, "do not overlap"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(range(24)), np.array([[4, 8], [0, 4]]), d, out=d), ValueError, "do not overlap"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(24), Ranges.equal(2, 4), d, out=d), ValueError, "messages 0 and 1 have the same nonce"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), Ranges.equal(2, 4), d, out=d), ValueError, "12 bytes of nonces for 2 messages"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), Ranges.equal(2**63 - 1, 4), d, out=d), ValueError, "12 bytes of nonces for 9223372036854775807 messages"),
        (lambda c, d: CountedNonces(bytes(11), counter_bits=32), ValueError, "first has 12 bytes, not 11"),
        (lambda c, d: CountedNonces(bytes(12), counter_bits=128), ValueError, "counter_bits is 32 or 64, not 128"),
        (lambda c, d: CountedNonces(bytes(12)), TypeError, "counter_bits"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, aad_ranges=[(0, 1)], out=d), TypeError, "give aads, too"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, [b"a"], aad_ranges=[(0, 1)], out=d), TypeError, "aads must be bytes"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, b"aad", aad_ranges=[(0, 4)], out=d), ValueError, "message 0 ends at byte 4, and all additional data has 3 bytes"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, b"aad", aad_ranges=[], out=d), ValueError, "0 ranges of additional data for 1 message"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, np.zeros((1, 3), np.uint8), out=d), TypeError, "for a row of each message"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(cpu, call, kind, message):
    data = bytearray(b"8 bytes.")
    with pytest.raises(kind, match=message):
        call(cpu.cipher(Key(bytes(16))), data)
    assert data == b"8 bytes."


@pytest.mark.parametrize("kind", ["<i8", ">i8", "\u00e98", ""])
def test_arrays_on_a_gpu_are_for_calls_there(cpu, kind):
    """Whatever they say of their type; this needs no GPU."""
    class Array:
        __cuda_array_interface__ = {"shape": (3,), "typestr": kind, "data": (1 << 40, False), "version": 3}

    ranges, first, cipher = Ranges(Array(), Array()), CountedNonces(Array(), counter_bits=64), cpu.cipher(Key.generate())
    assert len(ranges) == 3 and "on a GPU" in repr(first)
    data = bytearray(30)
    with pytest.raises(TypeError, match="offsets is on a GPU: .*fault_out="):
        cipher.cmac_batch(ranges, data)
    with pytest.raises(TypeError, match="first of CountedNonces is on a GPU: give fault_out="):
        cipher.gcm_encrypt_batch(first, Ranges.equal(3, 10), data, out=data)
    for given in ({"tag_out": bytearray(48)}, {"fault_out": bytearray(8)}):
        with pytest.raises(TypeError, match="belong together"):
            cipher.gcm_encrypt_batch(first, ranges, data, out=data, **given)
    with pytest.raises(TypeError, match="data is in host memory"):
        cipher.gcm_encrypt_batch(first, ranges, data, out=data, tag_out=bytearray(48), fault_out=bytearray(8))
    assert data == bytes(30)


def test_one_message_is_not_plural(cpu):
    cipher = cpu.cipher(Key(bytes(16)))
    for ranges, words in [([(0, 5)], "1 of 1 message; its number is"), ([(0, 5), (5, 9)], "2 of 2 messages; their numbers are")]:
        with pytest.raises(AuthenticationError, match=f"^authentication failed for {words} in `failed`$"):
            cipher.cmac_verify_batch(ranges, bytes(9), bytes(16 * len(ranges)))


@pytest.mark.parametrize("key_bytes", [16, 24, 32])
def test_cmac(engine, key_bytes):
    chance = random.Random(key_bytes)
    key, data = os.urandom(key_bytes), os.urandom(5000)
    cipher = engine.cipher(Key(key))
    # In any order, overlapping.
    starts = [chance.randrange(5000) for _ in range(300)]
    ranges = [(start, chance.choice([start, min(start + 16, 5000), chance.randrange(start, 5001)])) for start in starts]
    tags = cipher.cmac_batch(ranges, data)
    assert tags == b"".join(cmac(key, data[start:stop]) for start, stop in ranges)
    cipher.cmac_verify_batch(ranges, data, tags)
    for length in (4, 8, 12, 16):
        received = [tags[16 * n :][:length] for n in range(300)]
        for n in (0, 77, 299):
            received[n] = bytes([received[n][0] ^ 1]) + received[n][1:]
        for given in [received, b"".join(received)]:
            with pytest.raises(AuthenticationError) as raised:
                cipher.cmac_verify_batch(ranges, data, given, tag_bytes=length)
            assert raised.value.failed == (0, 77, 299)


@pytest.mark.parametrize("length", [0, 3, 4, 8, 12, 13, 14, 15, 17])
@pytest.mark.parametrize("mode", ["gcm", "cmac"])
def test_tags_of_another_length_than_asked_for_are_refused(engine, mode, length):
    cipher, nonces, ranges, data = engine.cipher(Key(os.urandom(16))), os.urandom(36), [(0, 2), (2, 5), (5, 9)], b"a message"
    made, out = bytearray(data), bytearray(9)
    tags = cipher.gcm_encrypt_batch(nonces, ranges, data, out=made) if mode == "gcm" else cipher.cmac_batch(ranges, data)
    whole = [tags[:16], tags[16:32], tags[32:]]
    short = [(tag + tag)[:length] for tag in whole]

    def verify(given, **options):
        if mode == "cmac":
            cipher.cmac_verify_batch(ranges, made, given, **options)
        else:
            cipher.gcm_decrypt_batch(nonces, ranges, made, given, out=out, **options)

    # One of them, and all of them, in a list, and contiguous.
    for given, number in [(short, 0), ([*whole[:2], short[2]], 2)]:
        with pytest.raises(ValueError, match=f"^tag {number} has {length} bytes, and tag_bytes is 16$"):
            verify(given)
    with pytest.raises(ValueError, match=f"^{3 * length} bytes of tags for 3 messages: tag_bytes is 16, so give 16 for each$"):
        verify(b"".join(short))
    assert out == bytes(9)
    if length not in (4, 8, 12, 13, 14, 15):
        for given in [short, b"".join(short), []]:
            with pytest.raises(ValueError, match=rf"^tag_bytes must be 4, 8 or 12 to 16, not {length}(\n|$)"):
                verify(given, tag_bytes=length)
        return
    # CMAC has no word of its own for tags of 4 or 8 bytes.
    options = {"tag_bytes": length} if mode == "cmac" else {"tag_bytes": length, "short_tags": length < 12}
    if mode == "gcm":
        other = {"tag_bytes": length, "short_tags": length >= 12}
        text = "short_tags is True, and tag_bytes" if length >= 12 else f"tag_bytes is {length}: .* give short_tags=True"
        for call in [lambda: verify(short, **other), lambda: GcmDecryptBatch(nonces, ranges, short, **other)]:
            with pytest.raises(ValueError, match=f"^{text}"):
                call()
        assert out == bytes(9)
    for given in [short, b"".join(short)]:
        verify(given, **options)
        assert mode == "cmac" or out == data
    with pytest.raises(ValueError, match=f"^tag 1 has 16 bytes, and tag_bytes is {length}$"):
        verify([short[0], whole[1], short[2]], **options)
    with pytest.raises(ValueError, match=f"^48 bytes of tags for 3 messages: tag_bytes is {length}, so give {length} for each$"):
        verify(tags, **options)
    with pytest.raises(AuthenticationError) as raised:
        verify([short[0], bytes(length), short[2]], **options)
    assert raised.value.failed == (1,)


def test_more_than_is_read_at_once(cpu):
    key, data = bytes(16), bytes(range(256)) * (68 << 10)
    ranges = [(0, 1 << 20), ((16 << 20) - 5, len(data))]
    tags = cpu.cipher(Key(key)).cmac_batch(ranges, data)
    assert tags == b"".join(cmac(key, data[start:stop]) for start, stop in ranges)


def test_batches_of_more_than_a_part(cpu):
    """Messages that begin and end where parts do, empty or longer than a part, and some changed ones in every part."""
    chance, key = random.Random(5), os.urandom(16)
    cipher = cpu.cipher(Key(key))
    lengths = [0, 0, 16 << 20, 0, (17 << 20) + 3, 5, 0, *(chance.randrange(400_000) for _ in range(60)), 0, 0]
    ranges, at = [], 0
    for n, length in enumerate(lengths):
        ranges.append((at, at + length))
        at += length + (0 if n < 4 else chance.choice([0, 3]))
    size = ranges[-1][1] + 11
    nonces, aads = os.urandom(12 * len(ranges)), [os.urandom(n) for n in range(len(ranges))]
    data, out = os.urandom(size), bytearray(b"\xa5" * size)
    expected, wanted = bytearray(out), b""
    for n, (start, stop) in enumerate(ranges):
        sealed = AESGCM(key).encrypt(nonces[12 * n :][:12], data[start:stop], aads[n])
        expected[start:stop], wanted = sealed[:-16], wanted + sealed[-16:]
    assert cipher.gcm_encrypt_batch(nonces, ranges, data, aads, out=out) == wanted
    assert out == expected
    tags, failed = bytearray(wanted), (1, 2, 4, 5, 6, 33, len(ranges) - 1)
    for n in failed:
        tags[16 * n] ^= 1
    with pytest.raises(AuthenticationError) as raised:
        cipher.gcm_decrypt_batch(nonces, ranges, out, tags, aads, out=out)
    assert raised.value.failed == failed
    for n, (start, stop) in enumerate(ranges):
        expected[start:stop] = bytes(stop - start) if n in failed else data[start:stop]
    assert out == expected
    # If one message of a later part is refused, all are, before anything is done.
    for refused in [[*ranges[:-1], (size - 5, size + 1)], [*ranges[:-1], (3, 9)]]:
        with pytest.raises(ValueError):
            cipher.gcm_encrypt_batch(nonces, refused, data, aads, out=out)
        assert out == expected


def test_none(cpu):
    cipher, data = cpu.cipher(Key(bytes(16))), bytearray(b"as it was")
    assert cipher.gcm_encrypt_batch(b"", [], data, out=data) == b""
    cipher.gcm_decrypt_batch([], [], data, b"", [], out=data)
    assert cipher.cmac_batch([], b"") == b""
    cipher.cmac_verify_batch([], data, [])
    assert data == b"as it was"
    # Empty messages have tags, too.
    empty = cipher.gcm_encrypt_batch(bytes(12), [(0, 0)], bytearray(), out=bytearray())
    assert empty == AESGCM(bytes(16)).encrypt(bytes(12), b"", None)
    with pytest.raises(AuthenticationError) as raised:
        cipher.gcm_decrypt_batch(bytes(12), [(0, 0)], bytearray(), bytes(16), out=bytearray())
    assert raised.value.failed == (0,)
    assert cipher.cmac_batch([(0, 0)], b"") == cmac(bytes(16), b"")


GPU = "the data is in the memory of CUDA device 0, and this engine is cpu: open Engine"


@pytest.mark.parametrize("number, kind", [(-1, ValueError), (2**64, ValueError), ("1", TypeError), (0.5, TypeError)])
def test_numbers_of_ranges(cpu, number, kind):
    cipher = cpu.cipher(Key(bytes(16)))
    for pair in [(number, 5), (0, number), [number, 5]]:
        with pytest.raises(kind, match="range 0"):
            cipher.cmac_batch([pair], bytes(8))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda c, d: c.gcm_encrypt_batch(bytes(range(24)), [(0, 4), (3, 8)], d, out=d), "do not overlap"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(24), [(0, 4), (5, 8)], d, out=d), "messages 0 and 1 have the same nonce"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(4, 2)], d, out=d), "before it begins"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(4, 9)], d, out=d), "ends at byte 9, and the data has 8"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 4, 8)], d, out=d), "range 0 is not a pair"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, -4)], d, out=d), "range 0 has a number that is not a position"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), 5, d, out=d), "ranges has a value for each message"),
        (lambda c, d: c.gcm_encrypt_batch(5, [(0, 8)], d, out=d), "nonces has a value for each message"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(16), [(0, 8)], d, out=d), "16 bytes of nonces for 1 message: give 12 for each, or a list"),
        (lambda c, d: c.gcm_encrypt_batch([bytes(12)], [(0, 4), (5, 8)], d, out=d), "nonces has 1 value for 2 messages: give one for each"),
        (lambda c, d: c.gcm_encrypt_batch([bytes(12)] * 9, [(0, 8)], d, out=d), "nonces has values for more than 1 message: give one for each"),
        (lambda c, d: c.gcm_encrypt_batch(range(10**18), [(0, 8)], d, out=d), "each of nonces must be bytes.* not int"),
        (lambda c, d: c.gcm_encrypt_batch([b""], [(0, 8)], d, out=d), "nonce"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, 5, out=d), "aads has a value for each message: give a list"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, [], out=d), "aads has 0 values for 1 message: give one for each"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, [None], out=d), "each of aads must be bytes"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d), "out"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, out=d[:5]), "same length"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], OnGpu(), out=OnGpu()), GPU),
        (lambda c, d: c.gcm_decrypt_batch(bytes(12), [(0, 8)], d, bytes(15), out=d), "15 bytes of tags for 1 message: tag_bytes is 16, so give 16 for each"),
        (lambda c, d: c.gcm_decrypt_batch(bytes(12), [(0, 8)], d, [bytes(11)], out=d), "tag 0 has 11 bytes, and tag_bytes is 16"),
        (lambda c, d: c.gcm_decrypt_batch(bytes(12), [(0, 8)], d, [], out=d), "tags has 0 values for 1 message"),
        (lambda c, d: c.gcm_decrypt_batch(bytes(12), [(0, 9)], d, bytes(16), out=d), "ends at byte 9"),
        (lambda c, d: c.gcm_decrypt_batch(bytes(12), [(0, 8)], OnGpu(), bytes(16), out=OnGpu()), GPU),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], OnGpu(), out=d), "both have to be in the same memory"),
        (lambda c, d: c.gcm_encrypt_batch(bytes(12), [(0, 8)], d, out=d, stream=1), "stream= is for calls on GPU memory"),
        (lambda c, d: c.gcm_decrypt_batch(bytes(12), [(0, 8)], d, bytes(16), out=d, stream=1), "stream= is for calls on GPU memory"),
        (lambda c, d: c.cmac_batch([(0, 8)], d, stream=1), "stream= is for calls on GPU memory"),
        (lambda c, d: c.cmac_verify_batch([(0, 8)], d, bytes(16), stream=1), "stream= is for calls on GPU memory"),
        (lambda c, d: c.cmac_batch([(0, 9)], d), "ends at byte 9, and the data has 8"),
        (lambda c, d: c.cmac_batch([(5, 4)], d), "before it begins"),
        (lambda c, d: c.cmac_batch([5], d), "range 0 is not a pair"),
        (lambda c, d: c.cmac_batch([(0, 8)], OnGpu()), GPU),
        (lambda c, d: c.cmac_verify_batch([(0, 8)], d, bytes(32)), "32 bytes of tags for 1 message:"),
        (lambda c, d: c.cmac_verify_batch([(0, 8)], d, [bytes(17)]), "tag 0 has 17 bytes, and tag_bytes is 16"),
        (lambda c, d: c.cmac_verify_batch([(0, 8)], OnGpu(), bytes(16)), GPU),
    ],
)
def test_refused(cpu, call, message):
    data = bytearray(b"8 bytes.")
    with pytest.raises((TypeError, ValueError, UnavailableError), match=message):
        call(cpu.cipher(Key(bytes(16))), data)
    assert data == b"8 bytes."
