"""Batches of GCM that arrays on a GPU describe, and calls under keys on a GPU. The arrays are the driver's memory: no library is needed.

    python3 -m pytest tests/test_described.py         # or, without pytest:
    python3 -m unittest -v tests/test_described.py
"""

import array
import ctypes
import unittest

from aes_bitslice import CountedNonces, Engine, Error, Key, Ranges, _arrays, check_fault

KEY = bytes(range(32))
COUNT, STRIDE = 200, 160
TYPES = {"i": "<i4", "I": "<u4", "q": "<i8", "Q": "<u8"}


class OnGpu:
    """An array in memory of the GPU, which the engine's context owns."""

    driver = None

    def __init__(self, content, kind="|u1", shape=None):
        content = bytes(content)
        self.len, self.pointer = len(content), ctypes.c_uint64()
        self.called("cuMemAlloc_v2", ctypes.byref(self.pointer), ctypes.c_size_t(max(self.len, 1)))
        self.put(content)
        shape = shape or (self.len // int(kind[2:]),)
        self.__cuda_array_interface__ = {"data": (self.pointer.value, False), "shape": shape, "typestr": kind, "version": 3}

    def called(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        assert code == 0, f"{name}: {code}"

    def put(self, content):
        self.called("cuMemcpyHtoD_v2", self.pointer, bytes(content), ctypes.c_size_t(len(content)))

    def bytes(self):
        content = ctypes.create_string_buffer(self.len + 1)
        self.called("cuMemcpyDtoHAsync_v2", content, self.pointer, ctypes.c_size_t(self.len), None)
        self.called("cuCtxSynchronize")
        return content.raw[: self.len]

    def __del__(self):
        self.driver.cuMemFree_v2(self.pointer)


def integers(kind, numbers, columns=None):
    """An array of integers on the GPU, of one dimension or of this many columns."""
    values = array.array(kind, numbers)
    return OnGpu(values.tobytes(), TYPES[kind], (len(values) // columns, columns) if columns else None)


class OnDevice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.engine = Engine("cuda:0")
        except Error as error:
            raise unittest.SkipTest(str(error)) from None
        OnGpu.driver = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        assert OnGpu.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert OnGpu.driver.cuCtxSetCurrent(context) == 0


class Described(OnDevice):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cipher = cls.engine.cipher(Key(KEY))
        cls.by_host = Engine("cpu").cipher(Key(KEY))
        cls.cipher.prepare("gcm-batch")

    def setUp(self):
        self.lengths = [n * 37 % STRIDE for n in range(COUNT)]
        self.offsets = [n * STRIDE for n in range(COUNT)]
        self.ranges = [(offset, offset + length) for offset, length in zip(self.offsets, self.lengths)]
        self.plain = bytes(n * n % 251 for n in range(COUNT * STRIDE))
        self.nonces = b"".join((n * 0x9E3779B97F4A7C15 % 2**64).to_bytes(12, "big") for n in range(COUNT))
        self.aads = bytes(n * 3 % 256 for n in range(13 * COUNT))
        self.tags, self.fault = OnGpu(bytes(16 * COUNT)), OnGpu(bytes([9] * 8))
        self.verdicts = OnGpu(bytes([7] * 4 * COUNT))

    def expected(self, ranges, nonces, aads=None, aad_ranges=None):
        data = bytearray(self.plain)
        tags = self.by_host.gcm_encrypt_batch(nonces, ranges, data, aads, aad_ranges=aad_ranges, out=data)
        return bytes(data), tags

    def encrypt(self, ranges, nonces, aads=None, aad_ranges=None):
        data = OnGpu(self.plain)
        found = self.cipher.gcm_encrypt_batch(nonces, ranges, data, aads, aad_ranges=aad_ranges, out=data, tag_out=self.tags, fault_out=self.fault)
        self.assertIsNone(found)
        return data

    def test_every_form(self):
        pairs = [number for pair in self.ranges for number in pair]
        starts = [13 * n for n in range(COUNT)]
        for ranges, aads, aad_ranges in [
            (integers("q", pairs, 2), None, None),
            (integers("I", pairs, 2), OnGpu(self.aads), Ranges.equal(COUNT, 13)),
            (Ranges(integers("q", self.offsets), integers("i", self.lengths)), OnGpu(self.aads), Ranges(integers("Q", starts), integers("I", [13] * COUNT))),
        ]:
            secret, tags = self.expected(self.ranges, self.nonces, aads and self.aads, aads and [(n, n + 13) for n in starts])
            data = self.encrypt(ranges, OnGpu(self.nonces), aads, aad_ranges)
            check_fault(self.fault)
            self.assertEqual((data.bytes(), self.tags.bytes()), (secret, tags))
            wrong = bytearray(tags)
            wrong[16 * 5] ^= 1
            self.tags.put(wrong)
            self.cipher.gcm_decrypt_batch(
                OnGpu(self.nonces), ranges, data, self.tags, aads, aad_ranges=aad_ranges, out=data, verdict_out=self.verdicts, fault_out=self.fault
            )
            check_fault(self.fault.bytes())
            left = bytearray(self.plain)
            left[self.ranges[5][0] : self.ranges[5][1]] = bytes(self.lengths[5])
            self.assertEqual(data.bytes(), left)
            self.assertEqual(array.array("I", self.verdicts.bytes()).tolist(), [int(n == 5) for n in range(COUNT)])

    def test_counted_nonces(self):
        first = bytes(11) + b"\xfe"
        secret, tags = self.expected(Ranges.equal(COUNT, 100, stride=STRIDE), CountedNonces(first, counter_bits=64))
        data = self.encrypt(Ranges.equal(COUNT, 100, stride=STRIDE), CountedNonces(OnGpu(first), counter_bits=64))
        check_fault(self.fault)
        self.assertEqual((data.bytes(), self.tags.bytes()), (secret, tags))

    def told(self):
        """The arrays that the library of `OnGpu` is told of as written, from now on."""
        told = []

        class Noting(_arrays._Library):
            def __init__(self):
                pass

            def written(self, array):
                told.append(id(array))

        _arrays.known[OnGpu] = Noting()
        self.addCleanup(_arrays.known.pop, OnGpu)
        return told

    def test_a_library_is_told_that_a_tag_was_written(self):
        told, data, tag = self.told(), OnGpu(self.plain), OnGpu(bytes(16))
        self.cipher.gcm_encrypt(bytes(12), data, out=data, tag_out=tag)
        self.assertEqual(sorted(told), sorted(map(id, (data, tag))))
        told.clear()
        self.cipher.gmac(bytes(12), data, tag_out=tag)
        self.assertEqual(told, [id(tag)])
        told.clear()
        for wrong in (OnGpu(bytes(15)), bytearray(16)):
            self.assertRaises((TypeError, ValueError), self.cipher.gmac, bytes(12), data, tag_out=wrong)
        self.assertEqual(told, [])

    def test_a_library_is_told_what_a_batch_has_written(self):
        told, data, nonces = self.told(), OnGpu(self.plain), OnGpu(self.nonces)
        pairs = integers("q", [number for pair in self.ranges for number in pair], 2)
        given = {"out": data, "fault_out": self.fault}
        self.cipher.gcm_encrypt_batch(nonces, pairs, data, tag_out=self.tags, **given)
        self.assertEqual(sorted(told), sorted(map(id, (data, self.tags, self.fault))))
        told.clear()
        self.cipher.gcm_decrypt_batch(nonces, pairs, data, self.tags, verdict_out=self.verdicts, **given)
        self.assertEqual(sorted(told), sorted(map(id, (data, self.verdicts, self.fault))))
        told.clear()
        with self.assertRaises(ValueError):
            self.cipher.gcm_encrypt_batch(nonces, pairs, data, tag_out=OnGpu(b"a"), **given)
        self.assertEqual(told, [])

    def test_what_is_wrong_changes_nothing(self):
        self.ranges[7] = (self.ranges[7][0], self.ranges[8][0] + 1)
        before = self.tags.bytes()
        data = self.encrypt(integers("q", [number for pair in self.ranges for number in pair], 2), OnGpu(self.nonces))
        with self.assertRaisesRegex(ValueError, "message 8 begins before the end of the one before it"):
            check_fault(self.fault)
        self.assertEqual((data.bytes(), self.tags.bytes()), (self.plain, before))

    def test_what_cannot_be_is_refused(self):
        data, ranges, nonces = OnGpu(self.plain), Ranges.equal(COUNT, 100), OnGpu(self.nonces)
        given = {"out": data, "tag_out": self.tags, "fault_out": self.fault}
        for kind, text, change in [
            (TypeError, "belong together", {"fault_out": None}),
            (TypeError, "belong together", {"tag_out": None}),
            (ValueError, "tag_out has 1 byte: give 3200", {"tag_out": OnGpu(b"a")}),
            (TypeError, "fault_out in host memory", {"fault_out": bytearray(8)}),
        ]:
            with self.assertRaisesRegex(kind, text):
                self.cipher.gcm_encrypt_batch(nonces, ranges, data, **{**given, **change})
        for nonces, ranges, kind, text in [
            (self.nonces, ranges, TypeError, "nonces in host memory"),
            (OnGpu(b"a"), ranges, ValueError, "nonces has 1 byte: give 2400"),
            (CountedNonces(bytes(12), counter_bits=64), ranges, TypeError, "12 bytes on the GPU"),
            (nonces, OnGpu(bytes(16)), TypeError, "an array of 2 columns"),
            (nonces, self.ranges, TypeError, "ranges"),
            (nonces, Ranges(integers("q", [0, 1]), integers("q", [0])), ValueError, "2 offsets and 1 length"),
        ]:
            with self.assertRaisesRegex(kind, text):
                self.cipher.gcm_encrypt_batch(nonces, ranges, data, **given)
        with self.assertRaisesRegex(ValueError, "nothing that a call has written"):
            check_fault(bytes([9] * 8))
        self.assertEqual(data.bytes(), self.plain)


class Layouts(OnDevice):
    def setUp(self):
        self.by_host = Engine("cpu")
        self.ranges = [(n * STRIDE, n * STRIDE + n * 48 % STRIDE) for n in range(COUNT)]
        self.plain = bytes(n * n % 251 for n in range(COUNT * STRIDE))
        self.keys = bytes(n * 7 % 253 for n in range(24 * COUNT))
        self.nonces = bytes(n * 5 % 241 for n in range(12 * COUNT))
        self.aads = bytes(n * 3 % 256 for n in range(13 * COUNT))

    def test_jobs(self):
        for mode in ("ctr", "keystream", "ecb-encrypt", "ecb-decrypt"):
            given = {} if mode.startswith("ecb") else {"counters": b"\xff" * 16 * COUNT}
            wanted, data, keys = bytearray(self.plain), OnGpu(self.plain), OnGpu(self.keys)
            source = () if mode == "keystream" else (data,)
            self.by_host.run_jobs(mode, self.keys, self.ranges, *(wanted for _ in source), out=wanted, **given)
            layout = self.engine.job_layout(mode, self.ranges, key_bits=192)
            self.assertEqual(len(layout), COUNT)
            there = {name: OnGpu(content) for name, content in given.items()}
            self.assertIs(layout.run(keys, *source, out=data, **there), data)
            self.assertEqual((data.bytes(), keys.bytes()), (wanted, self.keys))

    def test_messages(self):
        rows, secret = Ranges.equal(COUNT, 13), bytearray(self.plain)
        tags = self.by_host.gcm_encrypt_jobs(self.keys, self.nonces, self.ranges, secret, self.aads, aad_ranges=rows, key_bits=192, out=secret)
        layout = self.engine.gcm_job_layout(self.ranges, aad_ranges=rows, key_bits=192)
        keys, nonces, aads, data = OnGpu(self.keys), OnGpu(self.nonces), OnGpu(self.aads), OnGpu(self.plain)
        made, verdicts = OnGpu(bytes(16 * COUNT)), OnGpu(bytes([7] * 4 * COUNT))
        self.assertIsNone(layout.encrypt(keys, nonces, data, aads, out=data, tag_out=made))
        self.assertEqual((data.bytes(), made.bytes()), (secret, tags))
        wrong = bytearray(tags)
        wrong[16 * 5] ^= 1
        made.put(wrong)
        layout.decrypt(keys, nonces, data, made, aads, out=data, verdict_out=verdicts)
        left = bytearray(self.plain)
        left[self.ranges[5][0] : self.ranges[5][1]] = bytes(self.ranges[5][1] - self.ranges[5][0])
        self.assertEqual((data.bytes(), keys.bytes()), (left, self.keys))
        self.assertEqual(array.array("I", verdicts.bytes()).tolist(), [int(n == 5) for n in range(COUNT)])

    def test_what_cannot_be(self):
        layout = self.engine.job_layout("ecb-encrypt", Ranges.equal(4, 16))
        messages = self.engine.gcm_job_layout(Ranges.equal(4, 16))
        keys, data = OnGpu(bytes(64)), OnGpu(bytes(64))
        rows = OnGpu(bytes(64))
        rows.shape = (2, 32)
        for error, text, call in [
            (TypeError, "keys in host memory: all are on one GPU", lambda: layout.run(bytes(64), data, out=data)),
            (ValueError, "63 bytes of keys for a layout of 4: give 16 for each", lambda: layout.run(OnGpu(bytes(63)), data, out=data)),
            (ValueError, "64 bytes of counters for a layout of 4: give 0", lambda: layout.run(keys, data, counters=OnGpu(bytes(64)), out=data)),
            (ValueError, "job 3 ends at byte 64", lambda: layout.run(keys, OnGpu(bytes(63)), out=OnGpu(bytes(63)))),
            (ValueError, "overlap", lambda: layout.run(data, data, out=data)),
            (TypeError, "data is in host memory, and the layout in the memory of", lambda: layout.run(keys, bytes(64), out=bytearray(64))),
            (ValueError, "keys has rows of 32 bytes, and keys of 128 bits have 16", lambda: layout.run(rows, data, out=data)),
            (ValueError, "13 bytes of additional data, and the layout has none", lambda: messages.encrypt(keys, OnGpu(bytes(48)), data, OnGpu(bytes(13)), out=data, tag_out=OnGpu(bytes(64)))),
            (Error, "needs a CUDA engine", lambda: Engine("cpu").job_layout("ctr", Ranges.equal(4, 16))),
            (TypeError, "Engine.job_layout", lambda: self.engine.run_jobs("ecb-encrypt", keys, Ranges.equal(4, 16), data, out=data)),
        ]:
            with self.assertRaisesRegex(error, text):
                call()
        self.assertEqual(data.bytes(), bytes(64))


if __name__ == "__main__":
    unittest.main()
