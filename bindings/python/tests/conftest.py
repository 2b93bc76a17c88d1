"""Helpers that the tests share."""

import ctypes
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import aes_bitslice
from aes_bitslice import _lanes

VECTORS = Path(__file__).resolve().parents[3] / "tests" / "vectors"


@pytest.fixture(params=["cpu", "cpu-bitsliced"])
def engine(request):
    return aes_bitslice.Engine(request.param)


@pytest.fixture
def cpu():
    return aes_bitslice.Engine("cpu")


@pytest.fixture
def key():
    return aes_bitslice.Key.generate(256)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: it has no wheel for CPUs alone on PyPI, and the other takes 5 GB")


@pytest.fixture(params=["cpu", "cuda"])
def device(request, torch):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA GPU")
    return request.param


def vectors(name):
    """The cases of a file of published vectors: dictionaries, with bytes where the file has hexadecimal digits."""
    fields = ("key", "iv", "aad", "plaintext", "ciphertext", "tag")
    for case in map(json.loads, gzip.open(VECTORS / f"{name}.jsonl.gz", "rt")):
        yield case | {field: bytes.fromhex(case[field]) for field in fields}


class BoundedLane(_lanes.HostLane):
    """A lane of host memory that looks whether no part is larger than the memory that it would have to go through."""

    def map(self, work, pieces, size):
        self.size = size
        return super().map(work, pieces, size)

    def _looked_at(self, parts):
        for start, stop, use in parts:
            assert stop - start <= self.size
            yield start, stop, use

    def bring(self, data, parts):
        return super().bring(data, self._looked_at(parts))

    def take(self, data, parts):
        super().take(data, self._looked_at(parts))


class DLTensor(ctypes.Structure):
    """A tensor as DLPack describes it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def capsule(structure, name):
    """A structure in a capsule. The name is a string that lives as long as the capsule."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(structure), name, None)


class OnGpu:
    """A tensor that is on CUDA device 0 according to DLPack, whose bytes must not be read; needs no GPU."""

    def __init__(self, size=16):
        self.bytes = np.zeros(size, np.uint8)

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        capsule = self.bytes.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # The kind of the device, after the address of the bytes.
        ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = 2
        return capsule
