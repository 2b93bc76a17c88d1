"""Tensors and arrays in the memory of a CUDA GPU: PyTorch, CuPy, JAX, `__cuda_array_interface__`, pinned memory.

    python3 -m pytest tests/test_device.py            # or, without pytest:
    python3 -m unittest -v tests/test_device.py

Without a GPU or one of the libraries, its tests are skipped, with the reason.
"""

import functools
import gc
import os
import random
import threading
import unittest
from unittest import mock

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import aes_bitslice  # noqa: E402
from aes_bitslice import AuthenticationError, Engine, Error, Key, Ranges, UnavailableError, _arrays  # noqa: E402

IV = bytes(range(16))
NONCE = bytes(range(12))
AAD = b"header"


def needs(*names):
    """The first reason why a test cannot run: no GPU, or a library that is missing or sees no GPU."""
    try:
        Engine("cuda:0")
    except Error as error:
        return str(error)
    for name in names:
        try:
            module = __import__(name)
        except ImportError:
            return f"{name} is not installed"
        if name == "torch" and not module.cuda.is_available():
            return "torch has no CUDA"
        if name == "jax" and module.default_backend() != "gpu":
            return "jax has no GPU"
    return None


def places(count, longest, seed=1):
    """Ascending ranges, with and without gaps, some of them empty; and the number of bytes of data that they need."""
    chance, ranges, at = random.Random(seed), [], 0
    for _ in range(count):
        at += chance.choice([0, 0, 5, 16])
        length = chance.choice([0, 1, 16, 17, chance.randrange(longest)])
        ranges.append((at, at + length))
        at += length
    return ranges, at + 7


class Case(unittest.TestCase):
    libraries: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls):
        reason = needs(*cls.libraries)
        if reason:
            raise unittest.SkipTest(reason)
        cls.key = Key(bytes(range(32)))
        cls.engine = Engine("cuda:0")
        cls.cipher = cls.engine.cipher(cls.key)
        cls.cpu = Engine("cpu").cipher(cls.key)


class Torch(Case):
    libraries = ("torch",)

    def setUp(self):
        import torch

        self.torch = torch

    def tensor(self, *shape, dtype="uint8", seed=1):
        torch = self.torch
        generator = torch.Generator("cuda").manual_seed(seed)
        size = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
        count = size
        for dimension in shape:
            count *= dimension
        plain = torch.randint(0, 256, (count,), dtype=torch.uint8, device="cuda", generator=generator)
        return plain.view(getattr(torch, dtype)).reshape(shape)

    def bytes_of(self, tensor):
        return tensor.detach().contiguous().flatten().view(self.torch.uint8).cpu().numpy().tobytes()

    def test_every_type_and_shape(self):
        for dtype in ["uint8", "int8", "int16", "float16", "bfloat16", "float32", "int64", "float64", "complex64"]:
            for shape in [(0,), (1,), (7, 5), (3, 1, 1000), (1 << 18,)]:
                with self.subTest(dtype=dtype, shape=shape):
                    plain = self.tensor(*shape, dtype=dtype)
                    kept = self.bytes_of(plain)
                    secret = self.cipher.ctr(IV, plain)
                    self.assertEqual((secret.dtype, secret.shape, secret.device), (plain.dtype, plain.shape, plain.device))
                    self.assertEqual(self.bytes_of(secret), self.cpu.ctr(IV, kept))
                    self.assertEqual(self.bytes_of(plain), kept)
                    self.assertIs(self.cipher.ctr(IV, secret, out=secret), secret)
                    self.assertEqual(self.bytes_of(secret), kept)
        flags = self.tensor(1000) > 100
        self.assertEqual(self.bytes_of(self.cipher.ctr(IV, flags)), self.cpu.ctr(IV, self.bytes_of(flags)))

    def test_every_mode(self):
        plain = self.tensor(1 << 20)
        data = self.bytes_of(plain)
        cipher, cpu = self.cipher, self.cpu
        for offset in (0, 1, 16, 100_003):
            self.assertEqual(self.bytes_of(cipher.ctr(IV, plain, offset=offset)), cpu.ctr(IV, data, offset=offset))
            filled = self.torch.empty_like(plain)
            self.assertIs(cipher.keystream(IV, out=filled, offset=offset), filled)
            self.assertEqual(self.bytes_of(filled), cpu.keystream(IV, len(data), offset=offset))
        self.assertEqual(self.bytes_of(cipher.ecb_encrypt(plain)), cpu.ecb_encrypt(data))
        self.assertEqual(self.bytes_of(cipher.prg(plain)), cpu.prg(data))
        self.assertEqual(self.bytes_of(cipher.ecb_decrypt(plain)), cpu.ecb_decrypt(data))
        self.assertEqual(self.bytes_of(cipher.cbc_decrypt(IV, plain)), cpu.cbc_decrypt(IV, data))
        in_place = plain.clone()
        cipher.cbc_decrypt(IV, in_place, out=in_place)
        self.assertEqual(self.bytes_of(in_place), cpu.cbc_decrypt(IV, data))
        two = Key.generate(xts=True)
        xts, on_cpu = Engine("cuda:0").cipher(two), Engine("cpu").cipher(two)
        for unit in (512, 520, 4099):
            secret = xts.xts_encrypt(plain, unit_bytes=unit, first_unit=7)
            self.assertEqual(self.bytes_of(secret), on_cpu.xts_encrypt(data, unit_bytes=unit, first_unit=7))
            self.assertEqual(self.bytes_of(xts.xts_decrypt(secret, unit_bytes=unit, first_unit=7)), data)
        with self.assertRaises(UnavailableError):
            cipher.cbc_encrypt(IV, plain)
        with self.assertRaisesRegex(ValueError, "CMAC of one message is computed in host memory"):
            cipher.cmac(plain)

    def test_a_tag_stays_on_the_gpu(self):
        tags = self.torch.zeros(3, 4, dtype=self.torch.int32, device="cuda:0")
        for size in (0, 1, 1000, 1 << 20):
            plain = self.tensor(size)
            data = self.bytes_of(plain)
            tags.zero_()
            expected, tag = self.cpu.gcm_encrypt(NONCE, data, AAD)
            out, version = self.torch.empty_like(plain), tags._version
            self.assertIs(self.cipher.gcm_encrypt(NONCE, plain, AAD, out=out, tag_out=tags[1]), out)
            self.assertGreater(tags._version, version)
            self.assertIsNone(self.cipher.gmac(NONCE, plain, tag_out=tags[2]))
            self.assertEqual(self.bytes_of(out), expected)
            self.assertEqual(self.bytes_of(tags), bytes(16) + tag + self.cpu.gmac(NONCE, data))
            new = self.cipher.run(aes_bitslice.GcmEncrypt(NONCE, AAD), plain, tag_out=tags[0])
            self.assertEqual((self.bytes_of(new), self.bytes_of(tags[0])), (expected, tag))
        # On a stream of the caller's.
        stream, plain = self.torch.cuda.Stream(), self.tensor(1 << 20)
        out = self.cipher.gcm_encrypt(NONCE, plain, AAD, stream=stream, tag_out=tags[0])
        stream.synchronize()
        self.assertEqual((self.bytes_of(out), self.bytes_of(tags[0])), self.cpu.gcm_encrypt(NONCE, self.bytes_of(plain), AAD))
        kept = self.bytes_of(plain)
        for error, what, tag_out in [
            (ValueError, "tag_out has 15 bytes: give 16", self.tensor(15)),
            (ValueError, "multiple of 4", self.tensor(17)[1:]),
            (ValueError, "overlap", plain[16:32]),
            (TypeError, "tag_out in host memory: both", bytearray(16)),
        ]:
            with self.assertRaisesRegex(error, what):
                self.cipher.gcm_encrypt(NONCE, plain, out=plain, tag_out=tag_out)
        with self.assertRaisesRegex(UnavailableError, "a tag in GPU memory"):
            self.cipher.run(aes_bitslice.GcmSivEncrypt(NONCE), plain, out=plain, tag_out=tags[0])
        self.assertEqual(self.bytes_of(plain), kept)

    def test_many_keys(self):
        cpu, keys = Engine("cpu"), self.tensor(1000 * 16, seed=2)
        for mode, size in [("ctr", 16), ("keystream", 32), ("ecb-decrypt", 48), ("ecb-encrypt", 4096)]:
            data = self.tensor(1000 * size, seed=3)
            plain = None if mode == "keystream" else data
            given = {} if mode.startswith("ecb") else {"counter": IV}
            wanted = cpu.run_each_key(
                mode, self.bytes_of(keys), None if plain is None else self.bytes_of(data), bytes_per_key=size, **given
            )
            found = self.engine.run_each_key(mode, keys, plain, bytes_per_key=size, out=self.torch.empty_like(data), **given)
            self.assertEqual(self.bytes_of(found), wanted)
            if plain is not None:
                self.assertEqual(self.bytes_of(self.engine.run_each_key(mode, keys, plain, bytes_per_key=size, **given)), wanted)
        with self.assertRaisesRegex(TypeError, "one memory"):
            self.engine.run_each_key("ctr", self.bytes_of(keys), data, bytes_per_key=4096)

    def test_jobs(self):
        cpu, data = Engine("cpu"), self.tensor(1 << 20, seed=4)
        ranges = [(i * 1048 + i % 7, i * 1048 + 900 + i % 11) for i in range(1000)]
        keys, counters = os.urandom(1000 * 24), os.urandom(1000 * 16)
        wanted = bytearray(self.bytes_of(data))
        cpu.run_jobs("ctr", keys, ranges, wanted, counters=counters, out=wanted)
        self.assertIs(self.engine.run_jobs("ctr", keys, ranges, data, counters=counters, out=data), data)
        self.assertEqual(self.bytes_of(data), wanted)
        blocks = [(i * 1048, i * 1048 + 16 * (i % 60)) for i in range(1000)]
        cpu.run_jobs("ecb-decrypt", keys, blocks, wanted, out=wanted)
        self.engine.run_jobs("ecb-decrypt", keys, blocks, data, out=data)
        self.assertEqual(self.bytes_of(data), wanted)

    def test_gcm_jobs(self):
        cpu, data = Engine("cpu"), self.tensor(1 << 20, seed=5)
        ranges = [(i * 1048 + i % 7, i * 1048 + 900 + i % 11) for i in range(1000)]
        keys, nonces, numbers = os.urandom(10 * 32), os.urandom(12 * 1000), [i % 10 for i in range(1000)]
        given = {"key_bits": 256, "key_numbers": numbers}
        plain = self.bytes_of(data)
        wanted = bytearray(plain)
        tags = cpu.gcm_encrypt_jobs(keys, nonces, ranges, wanted, b"header", out=wanted, **given)
        self.assertEqual(self.engine.gcm_encrypt_jobs(keys, nonces, ranges, data, b"header", out=data, **given), tags)
        self.assertEqual(self.bytes_of(data), wanted)
        forged = bytearray(tags)
        forged[16 * 7] ^= 1
        with self.assertRaises(AuthenticationError) as raised:
            self.engine.gcm_decrypt_jobs(keys, nonces, ranges, data, forged, b"header", out=data, **given)
        self.assertEqual(raised.exception.failed, (7,))
        left = bytearray(plain)
        left[ranges[7][0] : ranges[7][1]] = bytes(ranges[7][1] - ranges[7][0])
        self.assertEqual(self.bytes_of(data), left)

    def test_xts(self):
        key = Key.generate(xts=True)
        cipher, cpu = Engine("cuda:0").cipher(key), Engine("cpu").cipher(key)
        for size, unit in ((16, 16), (1 << 20, 512), (100_000, 4096), (77_777, 528)):
            plain = self.tensor(size)
            secret = cipher.xts_encrypt(plain, unit_bytes=unit, first_unit=2**64 - 2)
            self.assertEqual(self.bytes_of(secret), cpu.xts_encrypt(self.bytes_of(plain), unit_bytes=unit, first_unit=2**64 - 2))
            again = cipher.xts_decrypt(secret, unit_bytes=unit, first_unit=2**64 - 2, out=secret)
            self.assertEqual(self.bytes_of(again), self.bytes_of(plain))

    def test_gcm(self):
        for size in (0, 1, 1000, 1 << 20):
            plain = self.tensor(size)
            data = self.bytes_of(plain)
            secret, tag = self.cipher.gcm_encrypt(NONCE, plain, b"header")
            expected, expected_tag = self.cpu.gcm_encrypt(NONCE, data, b"header")
            self.assertEqual((bytes(tag), bytes(tag)), (expected_tag, expected_tag))
            self.assertEqual(self.bytes_of(secret), expected)
            self.assertEqual(bytes(self.cipher.gmac(NONCE, plain)), self.cpu.gmac(NONCE, data))

    def test_gcm_siv(self):
        for size in (0, 1, 1000, 1 << 20):
            plain = self.tensor(size)
            secret, tag = self.cipher.gcm_siv_encrypt(NONCE, plain, b"header")
            expected, expected_tag = self.cpu.gcm_siv_encrypt(NONCE, self.bytes_of(plain), b"header")
            self.assertIsInstance(tag, aes_bitslice.DeviceTag)
            self.assertEqual((bytes(tag), bytes(tag)), (expected_tag, expected_tag))
            self.assertEqual(self.bytes_of(secret), expected)
            # With the tag on the GPU, and as bytes; on the current and on another stream; to a new tensor, and in
            # place.
            self.assertTrue(self.torch.equal(self.cipher.gcm_siv_decrypt(NONCE, secret, tag, b"header"), plain))
            stream = self.torch.cuda.Stream()
            again = self.cipher.gcm_siv_decrypt(NONCE, secret, expected_tag, b"header", stream=stream)
            self.assertTrue(self.torch.equal(again, plain))
            found, tag = self.cipher.gcm_siv_encrypt(NONCE, again, b"header", out=again, stream=stream)
            self.assertIs(found, again)
            self.assertEqual(bytes(tag), expected_tag)
            self.assertEqual(self.bytes_of(found), expected)
            with self.assertRaises(AuthenticationError):
                self.cipher.gcm_siv_decrypt(NONCE, secret, tag, b"Header", out=secret)
            self.assertEqual(self.bytes_of(secret), bytes(size))

    def test_gcm_siv_refuses(self):
        plain = self.tensor(64)
        kept = self.bytes_of(plain)
        for kind, message, call in [
            (ValueError, "a nonce has 12 bytes", lambda: self.cipher.gcm_siv_encrypt(NONCE[:11], plain, out=plain)),
            (ValueError, "a tag has 16 bytes", lambda: self.cipher.gcm_siv_decrypt(NONCE, plain, bytes(12), out=plain)),
            (ValueError, "overlap", lambda: self.cipher.gcm_siv_encrypt(NONCE, plain[:32], out=plain[16:48])),
            (ValueError, "128 or 256", lambda: self.engine.cipher(Key(bytes(24))).gcm_siv_encrypt(NONCE, plain, out=plain)),
            (UnavailableError, "open Engine", lambda: self.cpu.gcm_siv_encrypt(NONCE, plain, out=plain)),
        ]:
            with self.subTest(message=message), self.assertRaisesRegex(kind, message):
                call()
        self.assertEqual(self.bytes_of(plain), kept)

    def test_everything_can_be_prepared(self):
        cipher = self.engine.cipher(Key.generate(192))
        for mode in ("ctr", "keystream", "ecb-encrypt", "ecb-decrypt", "cbc-decrypt", "gcm", "gcm-batch", "cmac-batch"):
            cipher.prepare(mode)

    def test_gcm_decryption(self):
        plain = self.tensor(1 << 20)
        secret, tag = self.cipher.gcm_encrypt(NONCE, plain, b"header")
        again = self.cipher.gcm_decrypt(NONCE, secret, tag, b"header")
        self.assertTrue(self.torch.equal(again, plain))
        self.assertIs(self.cipher.gcm_decrypt(NONCE, secret, bytes(tag), b"header", out=again), again)
        self.assertTrue(self.torch.equal(self.cipher.gcm_decrypt(NONCE, secret, bytes(tag)[:12], b"header", tag_bytes=12), plain))
        kept = self.bytes_of(secret)
        for given, length in [(bytes(tag)[:12], 16), (bytes(tag)[:4], 16), (tag, 12)]:
            with self.assertRaisesRegex(ValueError, f"^tag has {len(bytes(given))} bytes, and tag_bytes is {length}$"):
                self.cipher.gcm_decrypt(NONCE, secret, given, b"header", tag_bytes=length, out=secret)
        self.assertEqual(self.bytes_of(secret), kept)
        changed = secret.clone()
        changed[12345] ^= 1
        with self.assertRaises(AuthenticationError):
            self.cipher.gcm_decrypt(NONCE, changed, bytes(tag), b"header", out=changed)
        self.assertFalse(bool(changed.any()))

    def test_gcm_batches(self):
        torch, count = self.torch, 1000
        ranges, size = places(count, 3000)
        plain = self.tensor(size)
        data = self.bytes_of(plain)
        others = [os.urandom(8 + n % 9) for n in range(count)], [os.urandom(n % 40) for n in range(count)]
        for nonces, aads in [(os.urandom(12 * count), None), others]:
            expected = bytearray(data)
            wanted = self.cpu.gcm_encrypt_batch(nonces, ranges, expected, aads, out=expected)
            secret = plain.clone()
            tags = self.cipher.gcm_encrypt_batch(nonces, ranges, secret, aads, out=secret)
            self.assertIsInstance(tags, aes_bitslice.DeviceTag)
            self.assertEqual((bytes(tags), bytes(tags)), (wanted, wanted))
            self.assertEqual(self.bytes_of(secret), expected)
            # To another tensor, at another alignment, where the bytes between messages stay as they are.
            apart = torch.full((size + 5,), 0xA5, dtype=torch.uint8, device="cuda")
            tags = self.cipher.gcm_encrypt_batch(nonces, ranges, plain, aads, out=apart[5:])
            between = bytearray(b"\xa5" * size)
            for start, stop in ranges:
                between[start:stop] = expected[start:stop]
            self.assertEqual(self.bytes_of(apart), b"\xa5" * 5 + between)
            # With the tags on the GPU, and as bytes.
            for given in (tags, wanted):
                again = secret.clone()
                self.assertIsNone(self.cipher.gcm_decrypt_batch(nonces, ranges, again, given, aads, out=again))
                self.assertTrue(torch.equal(again, plain))
            # Some are changed: these are reported and cleared, and the others are good.
            received = [wanted[16 * n :][:12] for n in range(count)]
            received[5] = received[5][:-1] + bytes([received[5][-1] ^ 1])
            changed = sorted({5, *(n for n, (start, stop) in enumerate(ranges) if n % 7 == 3 and stop > start)})
            decrypted = bytearray(data)
            for n in changed:
                start, stop = ranges[n]
                decrypted[start:stop] = bytes(stop - start)
                if n != 5:
                    secret[start] ^= 0x80
            with self.assertRaisesRegex(AuthenticationError, f"failed for {len(changed)} of {count} messages") as raised:
                self.cipher.gcm_decrypt_batch(nonces, ranges, secret, received, aads, tag_bytes=12, out=secret)
            self.assertEqual(raised.exception.failed, tuple(changed))
            self.assertEqual(self.bytes_of(secret), decrypted)

    def test_cmac_batches(self):
        chance, count, plain = random.Random(2), 3000, self.tensor(100_000)
        data = self.bytes_of(plain)
        # In any order, overlapping.
        starts = [chance.randrange(100_000) for _ in range(count)]
        ranges = [(start, min(start + chance.choice([0, 16, chance.randrange(3000)]), 100_000)) for start in starts]
        wanted = self.cpu.cmac_batch(ranges, data)
        tags = self.cipher.cmac_batch(ranges, plain)
        self.assertEqual((bytes(tags), bytes(tags)), (wanted, wanted))
        self.assertEqual(self.bytes_of(plain), data)
        short = [wanted[16 * n :][:8] for n in range(count)]
        for given, length in [(tags, 16), (wanted, 16), (short, 8), (b"".join(short), 8)]:
            self.assertIsNone(self.cipher.cmac_verify_batch(ranges, plain, given, tag_bytes=length))
        received = bytearray(wanted)
        for n in (0, 77, count - 1):
            received[16 * n + 3] ^= 1
        with self.assertRaises(AuthenticationError) as raised:
            self.cipher.cmac_verify_batch(ranges, plain, received)
        self.assertEqual(raised.exception.failed, (0, 77, count - 1))

    def test_batches_of_nothing(self):
        cipher, cpu, data = self.cipher, self.cpu, self.tensor(10)
        kept, none = self.bytes_of(data), self.torch.empty(0, dtype=self.torch.uint8, device="cuda")
        self.assertEqual(bytes(cipher.gcm_encrypt_batch(b"", [], data, out=data)), b"")
        cipher.gcm_decrypt_batch([], [], data, b"", out=data)
        self.assertEqual(bytes(cipher.cmac_batch([], data)), b"")
        cipher.cmac_verify_batch([], data, [])
        for array, at in [(none, 0), (data, 3)]:
            tag = cpu.gcm_encrypt_batch(NONCE, [(0, 0)], bytearray(), out=bytearray())
            self.assertEqual(bytes(cipher.gcm_encrypt_batch(NONCE, [(at, at)], array, out=array)), tag)
            cipher.gcm_decrypt_batch(NONCE, [(at, at)], array, tag, out=array)
            with self.assertRaises(AuthenticationError) as raised:
                cipher.gcm_decrypt_batch(NONCE, [(at, at)], array, bytes(16), out=array)
            self.assertEqual(raised.exception.failed, (0,))
            self.assertEqual(bytes(cipher.cmac_batch([(at, at)], array)), cpu.cmac(b""))
        self.assertEqual(self.bytes_of(data), kept)

    def test_batches_that_are_refused_change_nothing(self):
        cipher, data = self.cipher, self.tensor(64)
        kept = self.bytes_of(data)
        host = bytearray(64)
        for kind, message, call in [
            (ValueError, "ends at byte 65, and the data has 64", lambda: cipher.gcm_encrypt_batch(NONCE, [(0, 65)], data, out=data)),
            (ValueError, "do not overlap", lambda: cipher.gcm_encrypt_batch(bytes(range(24)), [(0, 5), (4, 9)], data, out=data)),
            (ValueError, "the same nonce", lambda: cipher.gcm_encrypt_batch(NONCE * 2, [(0, 5), (5, 9)], data, out=data)),
            (ValueError, "same length", lambda: cipher.gcm_encrypt_batch(NONCE, [(0, 5)], data, out=data[:5])),
            (ValueError, "overlap", lambda: cipher.gcm_encrypt_batch(NONCE, [(0, 5)], data[:32], out=data[16:48])),
            (TypeError, "same memory", lambda: cipher.gcm_encrypt_batch(NONCE, [(0, 5)], data, out=host)),
            (TypeError, "same memory", lambda: cipher.gcm_encrypt_batch(NONCE, [(0, 5)], host, out=data)),
            (UnavailableError, "open Engine", lambda: self.cpu.gcm_encrypt_batch(NONCE, [(0, 5)], data, out=data)),
            (ValueError, "tags", lambda: cipher.gcm_decrypt_batch(NONCE, [(0, 5)], data, bytes(15), out=data)),
            (TypeError, "tags", lambda: cipher.gcm_decrypt_batch(NONCE, [(0, 5)], data, data[:16], out=data)),
            (ValueError, "tag 0 has 12 bytes", lambda: cipher.gcm_decrypt_batch(NONCE, [(0, 5)], data, [bytes(12)], out=data)),
            (ValueError, "tag 0 has 4 bytes", lambda: cipher.cmac_verify_batch([(0, 5)], data, [bytes(4)])),
            (ValueError, "ends at byte 65", lambda: cipher.cmac_batch([(0, 65)], data)),
            (UnavailableError, "open Engine", lambda: self.cpu.cmac_batch([(0, 5)], data)),
            (ValueError, "tags", lambda: cipher.cmac_verify_batch([(0, 5)], data, bytes(17))),
        ]:
            with self.subTest(message=message), self.assertRaisesRegex(kind, message):
                call()
        self.assertEqual((self.bytes_of(data), host), (kept, bytes(64)))

    def test_any_alignment_and_parts_of_tensors(self):
        plain = self.tensor(100_000)
        data = self.bytes_of(plain)
        for start, end in [(1, 100_000), (3, 50_001), (16, 32), (99_999, 100_000)]:
            self.assertEqual(self.bytes_of(self.cipher.ctr(IV, plain[start:end])), self.cpu.ctr(IV, data[start:end]))
        out = self.torch.zeros(100_000, dtype=self.torch.uint8, device="cuda")
        self.cipher.ctr(IV, plain[5:1005], out=out[8:1008])
        self.assertEqual(self.bytes_of(out), bytes(8) + self.cpu.ctr(IV, data[5:1005]) + bytes(100_000 - 1008))

    def test_what_is_refused(self):
        plain = self.tensor(64, 64, dtype="float32")
        kept = plain.clone()
        for bad in [plain.T, plain[:, ::2], plain.to_sparse()]:
            with self.assertRaises((BufferError, TypeError, RuntimeError)):
                self.cipher.ctr(IV, bad)
        with self.assertRaises(BufferError):
            self.cipher.ctr(IV, plain.clone().requires_grad_())
        with self.assertRaises(ValueError):
            self.cipher.ctr(IV, plain[:32], out=plain[16:48])
        with self.assertRaises(ValueError):
            self.cipher.ctr(IV, plain, out=plain[:32])
        with self.assertRaises(ValueError):
            self.cipher.ecb_encrypt(plain.view(self.torch.uint8).flatten()[:17])
        with self.assertRaises(TypeError):
            self.cipher.ctr(IV, plain, out=self.torch.empty(64, 64))
        with self.assertRaises(UnavailableError):
            self.cpu.ctr(IV, plain)
        # As bytes: some random floats are NaN, and equal nothing.
        self.assertTrue(self.torch.equal(plain.view(self.torch.uint8), kept.view(self.torch.uint8)))

    def test_tensors_in_host_memory(self):
        for tensor in [self.tensor(1000, dtype="float32").cpu(), self.tensor(1000).cpu().pin_memory()]:
            secret = self.cipher.ctr(IV, tensor)
            self.assertEqual((type(secret), secret.dtype), (type(tensor), tensor.dtype))
            self.assertEqual(self.bytes_of(secret), self.cpu.ctr(IV, self.bytes_of(tensor)))
            self.cipher.ctr(IV, secret, out=secret)
            self.assertTrue(self.torch.equal(secret.view(self.torch.uint8), tensor.view(self.torch.uint8)))

    def busy(self, times=1):
        """Keeps the current stream busy for some tens of milliseconds, or for several times that."""
        self.torch.cuda._sleep(times * 50_000_000)

    def test_calls_go_to_the_current_stream_and_do_not_wait(self):
        torch = self.torch
        plain = self.tensor(1 << 20)
        expected = self.cpu.ctr(IV, self.bytes_of(plain))
        self.cipher.ctr(IV, plain)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.busy()
            later = plain.clone()  # on this stream, after the work that keeps it busy
            secret = self.cipher.ctr(IV, later)
            self.assertFalse(stream.query(), "the call waited")
        stream.synchronize()
        self.assertEqual(self.bytes_of(secret), expected)

    def test_batches_go_to_the_current_stream_and_do_not_wait(self):
        torch, count = self.torch, 500
        ranges, size = places(count, 3000, seed=3)
        plain, nonces = self.tensor(size), os.urandom(12 * count)
        expected = bytearray(self.bytes_of(plain))
        wanted = self.cpu.gcm_encrypt_batch(nonces, ranges, expected, out=expected)
        for mode in ("gcm-batch", "cmac-batch"):
            self.cipher.prepare(mode)

        def both(data):
            return self.cipher.gcm_encrypt_batch(nonces, ranges, data, out=data), self.cipher.cmac_batch(ranges, data)

        # Everything that a call needs besides its data is loaded from now on.
        for tags in both(plain.clone()):
            bytes(tags)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.busy()
            later = plain.clone()  # on this stream, after the work that keeps it busy
            tags, macs = both(later)
            self.assertFalse(stream.query(), "a call waited")
        self.assertEqual((bytes(tags), bytes(macs)), (wanted, self.cpu.cmac_batch(ranges, expected)))
        stream.synchronize()
        self.assertEqual(self.bytes_of(later), expected)
        # A given stream runs after the work so far.
        stream, data = torch.cuda.Stream(), torch.zeros_like(plain)
        self.busy()
        data.copy_(plain)
        tags = self.cipher.gcm_encrypt_batch(nonces, ranges, data, out=data, stream=stream)
        self.cipher.gcm_decrypt_batch(nonces, ranges, data, tags, out=data, stream=stream)
        self.cipher.cmac_verify_batch(ranges, data, self.cpu.cmac_batch(ranges, self.bytes_of(plain)), stream=stream)
        stream.synchronize()
        self.assertTrue(torch.equal(data, plain))

    def test_memory_that_is_only_read_is_not_used_again_before_the_call_is_done(self):
        torch, size = self.torch, 32 << 20
        ranges = [(at, at + 4096) for at in range(0, size, 4096)]
        gmac = functools.partial(self.cipher.gmac, NONCE)
        for call in (gmac, functools.partial(self.cipher.cmac_batch, ranges)):
            same = torch.full((size,), 1, dtype=torch.uint8, device="cuda")
            expected = bytes(call(same))
            del same
            stream = torch.cuda.Stream()
            plain = torch.full((size,), 1, dtype=torch.uint8, device="cuda")
            address = plain.data_ptr()
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                self.busy()
            tag = call(plain, stream=stream)
            del plain  # freed on the stream that it was made on, which is idle
            others = [torch.full((size,), 2, dtype=torch.uint8, device="cuda") for _ in range(4)]
            self.assertNotIn(address, [other.data_ptr() for other in others])
            self.assertEqual(bytes(tag), expected)
            del others

    def test_a_given_stream_comes_after_the_work_so_far(self):
        torch = self.torch
        expected = self.cpu.ctr(IV, b"\7" * (1 << 20))
        for given in (lambda stream: stream, lambda stream: stream.cuda_stream):
            stream = torch.cuda.Stream()
            plain = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
            self.busy()
            plain.fill_(7)
            secret = self.cipher.ctr(IV, plain, stream=given(stream))
            stream.synchronize()
            self.assertEqual(self.bytes_of(secret), expected)
        with self.assertRaises(TypeError):
            self.cipher.ctr(IV, plain, stream="fast")

    def test_memory_is_not_used_again_before_the_call_is_done(self):
        torch = self.torch
        size = 32 << 20
        expected = self.cpu.ctr(IV, b"\1" * size)
        for is_given in (True, False, True, False):
            stream = torch.cuda.Stream()
            plain = torch.full((size,), 1, dtype=torch.uint8, device="cuda")
            address = plain.data_ptr()
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                self.busy(10)
            if is_given:
                secret = self.cipher.ctr(IV, plain, stream=stream)
            else:
                # For the current stream the caller must tell, as with PyTorch's own operators.
                with torch.cuda.stream(stream):
                    secret = self.cipher.ctr(IV, plain)
                plain.record_stream(stream)
            del plain  # freed on the stream that it was made on, which is idle
            others = [torch.full((size,), 2, dtype=torch.uint8, device="cuda") for _ in range(4)]
            self.assertFalse(stream.query(), "too slow a machine: when the call is done, its memory may be used again")
            self.assertNotIn(address, [other.data_ptr() for other in others])
            stream.synchronize()
            self.assertEqual(self.bytes_of(secret), expected)
            del secret, others

    def test_the_allocator_is_told_of_other_streams_than_the_current_one(self):
        torch, library = self.torch, _arrays.library_of(self.torch.Tensor)
        plain, keys = self.tensor(4096), self.tensor(16)
        out, stream = torch.empty_like(plain), torch.cuda.Stream()
        for told, call in [
            (2, lambda **given: self.cipher.ctr(IV, plain, out=out, **given)),
            (2, lambda **given: self.cipher.ctr(IV, plain, **given)),
            (1, lambda **given: self.cipher.ctr(IV, plain, out=plain, **given)),
            (1, lambda **given: self.cipher.keystream(IV, out=out, **given)),
            (2, lambda **given: self.cipher.gcm_encrypt(NONCE, plain, out=out, **given)),
            (1, lambda **given: self.cipher.gmac(NONCE, plain, **given)),
            (3, lambda **given: self.engine.run_each_key("ctr", keys, plain, bytes_per_key=4096, out=out, **given)),
        ]:
            with mock.patch.object(library, "used", wraps=library.used) as used:
                call()
                call(stream=torch.cuda.current_stream())
                with torch.cuda.stream(stream):
                    call()
                    call(stream=stream.cuda_stream)
                used.assert_not_called()
                call(stream=stream)
                self.assertEqual(used.call_count, told)
            torch.cuda.synchronize()

    def test_what_is_asked_of_tensors(self):
        """A library's C functions, if it has them, give the same answers as its Python code."""
        torch, library = self.torch, _arrays.library_of(self.torch.Tensor)
        has_functions, stream = library.types[torch.Tensor] is not None, torch.cuda.Stream()
        self.cipher.prepare("ctr")
        for types, asked in [(library.types, 0 if has_functions else 2), (dict.fromkeys(library.types), 2)]:
            for dtype in ("uint8", "float32"):
                plain = self.tensor(1000, dtype=dtype)[3:]
                expected = self.cpu.ctr(IV, self.bytes_of(plain))
                torch.cuda.synchronize()
                with (
                    mock.patch.object(library, "types", types),
                    mock.patch.object(library, "span", wraps=library.span) as span,
                    torch.cuda.stream(stream),
                ):
                    self.busy()
                    later = plain.clone()  # on this stream, after the work that keeps it busy
                    secret = self.cipher.ctr(IV, later)
                    self.assertFalse(stream.query(), "the call waited")
                self.assertEqual(span.call_count, asked)
                stream.synchronize()
                self.assertEqual(self.bytes_of(secret), expected)

    def test_memory_that_is_freed_at_once_on_the_same_stream(self):
        torch = self.torch
        expected = self.cpu.ctr(IV, b"\3" * (1 << 20))
        found = []
        for _ in range(50):
            plain = torch.full((1 << 20,), 3, dtype=torch.uint8, device="cuda")
            found.append(self.cipher.ctr(IV, plain))
            del plain
            torch.full((1 << 20,), 9, dtype=torch.uint8, device="cuda")
        self.assertTrue(all(self.bytes_of(secret) == expected for secret in found))

    def test_nothing_leaks(self):
        torch = self.torch
        plain = self.tensor(1 << 20)
        for _ in range(3):
            self.cipher.ctr(IV, plain)
        gc.collect()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        for _ in range(200):
            self.cipher.ctr(IV, plain)
            self.cipher.gcm_encrypt(NONCE, plain)
        torch.cuda.synchronize()
        self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_graphs(self):
        torch = self.torch
        cipher = self.engine.cipher(Key(bytes(16)))
        cpu = Engine("cpu").cipher(Key(bytes(16)))
        cipher.prepare("ctr")
        static = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            new = cipher.ctr(IV, static)
            cipher.ctr(IV, static, out=static, offset=64)
        del cipher
        gc.collect()
        for value in (5, 6):
            static.fill_(value)
            graph.replay()
            torch.cuda.synchronize()
            data = bytes([value]) * (1 << 20)
            self.assertEqual(self.bytes_of(new), cpu.ctr(IV, data))
            self.assertEqual(self.bytes_of(static), cpu.ctr(IV, data, offset=64))

    def test_what_cannot_be_captured_says_so_and_spoils_nothing(self):
        torch = self.torch
        cipher = self.engine.cipher(Key(bytes(24)))
        static = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            with self.assertRaisesRegex(Error, "prepare"):
                cipher.ctr(IV, static, out=static)
            for call in [
                lambda: self.cipher.gcm_encrypt(NONCE, static, out=static),
                lambda: self.cipher.gcm_siv_encrypt(NONCE, static, out=static),
                lambda: self.cipher.gcm_siv_decrypt(NONCE, static, bytes(16), out=static),
                lambda: self.cipher.gcm_encrypt_batch(NONCE, [(0, 99)], static, out=static),
                lambda: self.cipher.gcm_decrypt_batch(NONCE, [(0, 99)], static, bytes(16), out=static),
                lambda: self.cipher.cmac_batch([(0, 99)], static),
                lambda: self.cipher.cmac_verify_batch([(0, 99)], static, bytes(16)),
            ]:
                with self.assertRaisesRegex(Error, "capture"):
                    call()
            static.add_(1)
        graph.replay()
        graph.replay()
        torch.cuda.synchronize()
        self.assertEqual(self.bytes_of(static), b"\2" * (1 << 20))

    def test_the_current_device_stays(self):
        torch = self.torch
        before = torch.cuda.current_device()
        plain = self.tensor(1000)
        _, tag = self.cipher.gcm_encrypt(NONCE, plain)
        bytes(tag)
        self.assertEqual(torch.cuda.current_device(), before)
        if torch.cuda.device_count() < 2:
            self.skipTest("there is one GPU")
        engine = Engine("cuda:1")
        cipher = engine.cipher(self.key)
        engine.host_buffer(1000)
        other = torch.arange(1000, device="cuda:1")
        secret, tag = cipher.gcm_encrypt(NONCE, other)
        self.assertEqual(bytes(tag), self.cpu.gcm_encrypt(NONCE, self.bytes_of(other))[1])
        cipher.ctr(IV, bytes(100 << 20))
        del tag, secret, engine, cipher
        gc.collect()
        self.assertEqual(torch.cuda.current_device(), before)
        with self.assertRaises(UnavailableError):
            self.cipher.ctr(IV, other)
        several = Engine("cuda:all").cipher(self.key)
        for device in ("cuda:0", "cuda:1"):
            tensor = torch.arange(1000, device=device)
            found = several.ctr(IV, tensor)
            self.assertEqual(self.bytes_of(found), self.cpu.ctr(IV, self.bytes_of(tensor)))
            # The second half of a message that begins elsewhere.
            found = several.ctr(IV, tensor, offset=8000)
            self.assertEqual(self.bytes_of(found), self.cpu.ctr(IV, self.bytes_of(tensor), offset=8000))
            found, ranges = self.bytes_of(tensor), [(0, 100), (100, 8000)]
            self.assertEqual(bytes(several.cmac_batch(ranges, tensor)), self.cpu.cmac_batch(ranges, found))
            tags = several.gcm_encrypt_batch(bytes(range(24)), ranges, tensor, out=tensor)
            several.gcm_decrypt_batch(bytes(range(24)), ranges, tensor, tags, out=tensor)
            self.assertEqual(self.bytes_of(tensor), found)

    def test_threads_on_streams_of_their_own(self):
        torch = self.torch
        plain = self.tensor(4 << 20)
        expected = self.cpu.ctr(IV, self.bytes_of(plain))
        torch.cuda.synchronize()
        wrong = []

        def work():
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(20):
                    secret = self.cipher.ctr(IV, plain)
                    if self.bytes_of(secret) != expected:
                        wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_cuda_array_interface(self):
        class Other:
            def __init__(self, tensor):
                self.tensor = tensor

            @property
            def __cuda_array_interface__(self):
                return self.tensor.__cuda_array_interface__

        plain = self.tensor(1000, dtype="float32")
        out = self.torch.empty_like(plain)
        wrapped = Other(out)
        self.torch.cuda.synchronize()
        self.assertIs(self.cipher.ctr(IV, Other(plain), out=wrapped), wrapped)
        self.torch.cuda.synchronize()
        self.assertEqual(self.bytes_of(out), self.cpu.ctr(IV, self.bytes_of(plain)))
        with self.assertRaisesRegex(TypeError, "out="):
            self.cipher.ctr(IV, Other(plain))
        tags = self.cipher.gcm_encrypt_batch(NONCE, [(5, 3999)], Other(plain), out=wrapped)
        self.torch.cuda.synchronize()
        self.assertEqual(self.bytes_of(out)[5:3999], self.cpu.gcm_encrypt(NONCE, self.bytes_of(plain)[5:3999])[0])
        self.cipher.gcm_decrypt_batch(NONCE, [(5, 3999)], wrapped, tags, out=wrapped)
        self.assertEqual(self.bytes_of(out)[5:3999], self.bytes_of(plain)[5:3999])
        self.assertEqual(bytes(self.cipher.cmac_batch([(5, 3999)], wrapped)), self.cpu.cmac(self.bytes_of(plain)[5:3999]))

    def test_the_adapter_encrypts_as_on_the_cpu(self):
        import aes_bitslice.torch as adapter

        torch = self.torch
        for mode in ("ecb", "ctr"):
            for bits in (128, 192, 256):
                key = self.tensor(bits // 8, seed=7)
                plain = self.tensor(1001, dtype="int16")
                rounded = torch.empty(2016, dtype=torch.uint8, device="cuda")
                adapter.encrypt(plain, rounded, key, f"aes{bits}", mode)
                there = torch.empty(2016, dtype=torch.uint8)
                adapter.encrypt(plain.cpu(), there, key.cpu(), f"aes{bits}", mode)
                self.assertEqual(self.bytes_of(rounded), self.bytes_of(there))
                again = torch.empty_like(plain)
                adapter.decrypt(rounded, again, key, f"aes{bits}", mode)
                self.assertTrue(torch.equal(again, plain))
        numbers = torch.empty(1 << 20, dtype=torch.float32, device="cuda")
        generator = adapter.create_random_device_generator("")
        adapter.uniform_(numbers, generator=generator)
        self.assertTrue(0 <= float(numbers.min()) and float(numbers.max()) < 1 and abs(float(numbers.mean()) - 0.5) < 0.01)
        for dtype, low, high in [("int64", 0, 3 << 61), ("int64", -(1 << 63), (1 << 63) - 1), ("uint8", 0, 3), ("float16", 0, 7)]:
            found = adapter.random_(torch.empty(1 << 20, dtype=getattr(torch, dtype), device="cuda"), low, high, generator=generator)
            self.assertTrue(low <= int(found.min()) and int(found.max()) < high)
            below = float((found.double() < (low + high) // 2).double().mean())
            self.assertAlmostEqual(below, ((low + high) // 2 - low) / (high - low), delta=0.005)
        found = adapter.uniform_(torch.empty(10_000_000, dtype=torch.float16, device="cuda"), 1000, 1001, generator=generator)
        self.assertEqual(found.unique().tolist(), [1000, 1000.5])
        self.assertAlmostEqual(float(found.double().mean()), 1000.25, delta=0.001)
        found = adapter.normal_(torch.empty(1 << 20, dtype=torch.complex64, device="cuda"), generator=generator)
        for part in (found.real, found.imag):
            self.assertAlmostEqual(float(part.square().mean()), 0.5, delta=0.01)
        for wrong in [lambda: adapter.random_(numbers.to(torch.int8), 0, 1000), lambda: adapter.normal_(numbers, std=-1)]:
            self.assertRaises(ValueError, wrong)
        leaf = torch.zeros(16, device="cuda", requires_grad=True)
        for write in (adapter.uniform_, generator.fill_, lambda leaf: adapter.encrypt(numbers[:16], leaf, bytes(16), "aes128", "ecb")):
            self.assertRaises(BufferError, write, leaf)
        self.assertFalse(bool(leaf.any()))

    def test_autograd_sees_what_is_written(self):
        ranges, nonces, tag = [(0, 16), (16, 64)], bytes(12) + NONCE, bytes(16)
        xts = self.engine.cipher(Key.generate(xts=True))
        keys, other, tags, fault = map(self.tensor, (32, 64, 32, 8))

        def described(call, *tags, **outs):
            call(self.tensor(24), Ranges.equal(2, 32), other, *tags, **outs)

        def unauthentic(x):
            with self.assertRaises(AuthenticationError):
                self.cipher.gcm_decrypt(NONCE, x, tag, out=x)

        for write in [
            lambda x: self.cipher.ctr(IV, x, out=x),
            lambda x: self.cipher.ctr(IV, x, out=x, stream=self.torch.cuda.Stream()),
            lambda x: self.cipher.keystream(IV, out=x),
            lambda x: self.cipher.ecb_encrypt(x, out=x),
            lambda x: self.cipher.cbc_decrypt(IV, x, out=x),
            lambda x: xts.xts_encrypt(x, unit_bytes=32, out=x),
            lambda x: self.cipher.gcm_encrypt(NONCE, x, out=x),
            lambda x: self.cipher.gcm_siv_encrypt(NONCE, x, out=x),
            lambda x: self.cipher.gcm_encrypt_batch(nonces, ranges, x, out=x),
            lambda x: self.engine.run_each_key("ctr", keys, x, bytes_per_key=32, out=x),
            lambda x: self.engine.run_jobs("ctr", bytes(32), ranges, x, counters=bytes(32), out=x),
            lambda x: self.cipher.gcm_encrypt(NONCE, keys, out=keys, tag_out=x[:4]),
            lambda x: self.cipher.gmac(NONCE, keys, tag_out=x[:4]),
            lambda x: described(self.cipher.gcm_encrypt_batch, out=x, tag_out=tags, fault_out=fault),
            lambda x: described(self.cipher.gcm_encrypt_batch, out=other, tag_out=x[:8], fault_out=fault),
            lambda x: described(self.cipher.gcm_encrypt_batch, out=other, tag_out=tags, fault_out=x[:2]),
            lambda x: described(self.cipher.gcm_decrypt_batch, tags, out=other, verdict_out=x[:2], fault_out=fault),
            unauthentic,
        ]:
            weights = self.torch.ones(16, device="cuda", requires_grad=True)
            x = self.torch.arange(16.0, device="cuda")
            loss = (weights * x).sum()
            write(x)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                loss.backward()


class CuPy(Case):
    libraries = ("cupy",)

    def test_arrays(self):
        import cupy

        for dtype in ("u1", "f4", "c16", "?"):
            plain = cupy.arange(16384).astype("u1")
            plain = (plain > 7) if dtype == "?" else plain.view(dtype)
            secret = self.cipher.ctr(IV, plain)
            self.assertEqual((type(secret), secret.dtype, secret.shape), (cupy.ndarray, plain.dtype, plain.shape))
            self.assertEqual(secret.get().tobytes(), self.cpu.ctr(IV, plain.get().tobytes()))
            self.assertIs(self.cipher.ctr(IV, secret, out=secret), secret)
            self.assertEqual(secret.get().tobytes(), plain.get().tobytes())
        with self.assertRaises(BufferError):
            self.cipher.ctr(IV, cupy.zeros((8, 8))[:, ::2])

    def test_batches(self):
        import cupy

        ranges, size = places(100, 1000)
        plain, nonces = cupy.arange(size).astype("u1"), os.urandom(1200)
        expected = bytearray(plain.get().tobytes())
        wanted = self.cpu.gcm_encrypt_batch(nonces, ranges, expected, out=expected)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            secret = plain.copy()
            tags = self.cipher.gcm_encrypt_batch(nonces, ranges, secret, out=secret)
            macs = self.cipher.cmac_batch(ranges, secret)
        self.assertEqual((bytes(tags), bytes(macs)), (wanted, self.cpu.cmac_batch(ranges, expected)))
        stream.synchronize()
        self.assertEqual(secret.get().tobytes(), expected)
        self.cipher.cmac_verify_batch(ranges, secret, macs)
        self.cipher.gcm_decrypt_batch(nonces, ranges, secret, tags, out=secret)
        self.assertTrue(bool((secret == plain).all()))

    def test_streams(self):
        import cupy

        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            plain = cupy.full(1 << 20, 7, dtype="u1")
            secret = self.cipher.ctr(IV, plain)
            del plain
            cupy.full(1 << 20, 9, dtype="u1")
        stream.synchronize()
        self.assertEqual(secret.get().tobytes(), self.cpu.ctr(IV, b"\7" * (1 << 20)))
        with cupy.cuda.Stream(non_blocking=True) as other:
            again = self.cipher.ctr(IV, secret, stream=other)
        other.synchronize()
        self.assertEqual(again.get().tobytes(), b"\7" * (1 << 20))


class Jax(Case):
    libraries = ("jax",)

    def test_arrays(self):
        import jax.numpy as jnp
        import numpy as np

        for dtype in ("uint8", "float32", "bfloat16"):
            plain = jnp.arange(100_000).astype(dtype).reshape(100, 1000)
            kept = np.asarray(plain).tobytes()
            secret = self.cipher.ctr(IV, plain)
            self.assertEqual((secret.dtype, secret.shape), (plain.dtype, plain.shape))
            self.assertEqual(np.asarray(secret).tobytes(), self.cpu.ctr(IV, kept))
            self.assertEqual(np.asarray(plain).tobytes(), kept)
            self.assertEqual(np.asarray(self.cipher.ctr(IV, secret)).tobytes(), kept)
        with self.assertRaisesRegex(BufferError, "cannot be changed"):
            self.cipher.ctr(IV, plain, out=plain)
        with self.assertRaisesRegex(BufferError, "cannot be changed"):
            self.cipher.gcm_encrypt_batch(NONCE, [(0, 9)], plain, out=plain)
        self.assertEqual(bytes(self.cipher.cmac_batch([(0, 9), (5, 5000)], plain)), self.cpu.cmac_batch([(0, 9), (5, 5000)], kept))
        # Arrays of zeros that JAX could share are not written.
        zeros = [jnp.zeros(1000, dtype="uint8") for _ in range(3)]
        self.cipher.ctr(IV, zeros[0])
        self.assertFalse(any(bool(each.any()) for each in [*zeros, jnp.zeros(1000, dtype="uint8")]))


class Pinned(Case):
    def test_pinned_memory_as_arrays(self):
        import numpy as np

        memory = np.asarray(self.engine.host_buffer(64 << 20))
        self.assertTrue(self.engine.host_buffer(16).obj.owner.is_pinned)
        memory[:] = 7
        self.cipher.ctr(IV, memory, out=memory)
        self.assertEqual(memory.tobytes(), self.cpu.ctr(IV, b"\7" * (64 << 20)))

    def test_ordinary_memory_in_parts(self):
        import numpy as np

        data = np.arange((100 << 20) // 8)
        out = self.cipher.ctr(IV, data)
        self.assertEqual(out.tobytes(), self.cpu.ctr(IV, data.tobytes()))
        secret, tag = self.cipher.gcm_encrypt(NONCE, data, b"header")
        expected = self.cpu.gcm_encrypt(NONCE, data.tobytes(), b"header")
        self.assertEqual((secret.tobytes(), tag), expected)

    def test_a_forked_process_says_that_it_cannot(self):
        child = os.fork()
        if child == 0:
            try:
                self.cipher.ctr(IV, bytes(100))
                os._exit(1)
            except UnavailableError:
                same = Engine("cpu").cipher(Key(bytes(range(32)))).ctr(IV, bytes(10 << 20)) == self.cpu.ctr(IV, bytes(10 << 20))
                os._exit(0 if same else 2)
            except BaseException:
                os._exit(3)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_engines_are_listed(self):
        names = [engine["name"] for engine in aes_bitslice.engines() if engine["available"]]
        self.assertIn("cuda", names)
        self.assertEqual(self.engine.devices, [0])


if __name__ == "__main__":
    unittest.main()
