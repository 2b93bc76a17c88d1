"""Descriptors of DLPack with random fields: read as they say, or refused; and given back once, whatever the outcome."""

import ctypes
import random

import pytest

from aes_bitslice import Engine, Key
from conftest import DLTensor, capsule

IV = bytes(16)
SIZE = 4096
GIVE_BACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", GIVE_BACK)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", GIVE_BACK),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Descriptor:
    """A tensor of random fields in `SIZE` bytes of memory, and its expected bytes: None if it must be refused."""

    def __init__(self, numbers):
        choice, self.given_back = numbers.choice, 0
        self.memory = (ctypes.c_uint8 * SIZE)(*numbers.randbytes(SIZE))
        shape = [choice([1, 1, 2, 3, 5, 8, 0, 0, -1, 2**31, 2**62, 2**63 - 1]) for _ in range(numbers.randrange(5))]
        if numbers.random() < 0.7:
            shape = [numbers.randrange(1, 6) for _ in shape]
        self.kind = choice([1, 1, 1, 1, 3, 2, 13, 7, -5, 0])
        bits, lanes = choice([(8, 1), (32, 1), (16, 2), (64, 1), (1, 1), (4, 1), (128, 1), (0, 1), (8, 0), (255, 65535)])
        offset = choice([0, 0, 1, 64])
        in_order, step = [], 1
        for size in reversed(shape):
            in_order.insert(0, max(-(2**63), min(step, 2**63 - 1)))
            step *= size
        strides = choice([None, in_order, in_order, [choice([0, 1, 7, -1, 2**62]) for _ in shape]])
        self.is_versioned, self.major = choice([True, False]), choice([1, 1, 1, 0, 2, 2**32 - 1])
        fields = Versioned if self.is_versioned else Managed
        self.held = fields()
        if self.is_versioned:
            self.held.major, self.held.flags = self.major, choice([0, 1, 2])
        # The library's code calls this to give it back.
        self.deleter = self.held.deleter = GIVE_BACK(self.count)
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        tensor = self.held.tensor
        tensor.data, tensor.ndim = ctypes.addressof(self.memory), len(shape)
        tensor.device[0], tensor.bits, tensor.lanes, tensor.byte_offset = self.kind, bits, lanes, offset
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if strides is not None:
            self.strides = (ctypes.c_int64 * max(len(strides), 1))(*strides)
            tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))

        count = 1
        for size in shape:
            count *= size
        of_more_than_one = [(s, e) for d, s, e in zip(shape, strides or in_order, in_order) if d > 1]
        is_whole = count == 0 or all(s == e for s, e in of_more_than_one)
        length = (count * bits * lanes + 7) // 8
        is_readable = min(shape, default=0) >= 0 and is_whole and self.kind in (1, 3)
        is_readable &= max(count, count * bits * lanes) < 2**64 and (not self.is_versioned or self.major == 1)
        # It claims memory that does not exist, which cannot be detected.
        self.is_a_lie = is_readable and offset + length > SIZE
        self.expected = bytes(self.memory[offset : offset + length]) if is_readable and not self.is_a_lie else None

    def count(self, _):
        self.given_back += 1

    def __dlpack_device__(self):
        return (self.kind, 0)

    def __dlpack__(self, **options):
        return capsule(self.held, b"dltensor_versioned" if self.is_versioned else b"dltensor")


def test_random_descriptors_are_read_or_refused():
    cipher = Engine("cpu").cipher(Key(bytes(16)))
    numbers, read, refused = random.Random(1), 0, 0
    for case in range(4000):
        descriptor = Descriptor(numbers)
        if descriptor.is_a_lie:
            continue
        if descriptor.expected is None:
            with pytest.raises((BufferError, TypeError)):
                cipher.ctr(IV, descriptor)
            refused += 1
        else:
            assert cipher.ctr(IV, descriptor) == cipher.ctr(IV, descriptor.expected), case
            read += 1
        # A tensor on an unknown kind of device is not exported.
        assert descriptor.given_back == (descriptor.kind in (1, 2, 3, 13)), case
    assert read > 500 and refused > 500
