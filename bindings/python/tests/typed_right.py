"""Calls whose types are those of what they return at run time: mypy checks them, and test_types.py runs them."""

import array
import ctypes
import mmap

import numpy as np
from typing_extensions import assert_type

from aes_bitslice import Cipher, Engine, Key

iv, nonce = bytes(16), bytes(12)


def right(cipher: Cipher, engine: Engine) -> list[object]:
    pages = mmap.mmap(-1, 16)
    for plain in (b"abc", bytearray(3), memoryview(b"abc")):
        assert_type(cipher.ctr(iv, plain), bytes)
    assert_type(cipher.ctr(iv, b"abc", out=None), bytes)
    assert_type(cipher.ctr(iv, pages), bytes)
    assert_type(cipher.ctr(iv, array.array("B", b"abc")), bytes)
    assert_type(cipher.ctr(iv, (ctypes.c_ubyte * 3)()), bytes)
    numbers = np.zeros(4)
    same: np.ndarray[tuple[int], np.dtype[np.float64]] = cipher.ctr(iv, numbers)
    same = cipher.ctr(iv, numbers, out=same)
    data, tag = cipher.gcm_encrypt(nonce, numbers)
    assert_type(tag, bytes)
    data, tag = cipher.gcm_encrypt(nonce, numbers, b"header", out=data)
    assert_type(tag, bytes)
    back: np.ndarray[tuple[int], np.dtype[np.float64]] = cipher.gcm_decrypt(nonce, data, tag, b"header")
    assert_type(cipher.gmac(nonce, numbers), bytes)
    assert_type(cipher.keystream(iv, 5), bytes)
    assert_type(cipher.keystream(iv, out=pages), mmap.mmap)
    assert_type(engine.run_each_key("keystream", bytes(16), bytes_per_key=16), bytes)
    assert_type(engine.run_each_key("ctr", bytes(16), bytes(16), bytes_per_key=16), bytes)
    return [same, back, tag, cipher.ctr(iv, bytearray(3)), cipher.ctr(iv, pages), cipher.ctr(iv, array.array("B", b"abc"))]


def run() -> list[object]:
    engine = Engine("cpu")
    return right(engine.cipher(Key(bytes(16))), engine)
