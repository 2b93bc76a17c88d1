"""Helpers that the tests share."""

import ctypes
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import aes_bitslice

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "vectors"


@pytest.fixture(params=["cpu", "cpu-bitsliced"])
def engine(request):
    return aes_bitslice.Engine(request.param)


@pytest.fixture
def cpu():
    return aes_bitslice.Engine("cpu")


def cavp(name):
    """The cases of a NIST CAVP response file: dictionaries, each with the values in brackets above it."""
    path = VECTORS / name
    text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
    section, case = {}, {}
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            name, _, value = line.strip("[]").partition("=")
            section = {**section, name.strip(): value.strip()} if value else {"": name.strip()}
        elif "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            case[name.strip()] = value.strip()
        elif not line and case:
            yield {**section, **case}
            case = {}
    if case:
        yield {**section, **case}


def wycheproof(name):
    """The cases of a Wycheproof file: dictionaries."""
    for group in json.load(gzip.open(VECTORS / "wycheproof" / f"{name}_test.json.gz"))["testGroups"]:
        yield from group["tests"]


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
