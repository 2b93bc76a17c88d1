"""KV caches at rest: many blocks of a cache in one call, in the frames of LMCache's serde `aesgcm`, which reads them and writes them.

>>> import numpy, os
>>> from aes_bitslice import kv
>>> blocks = numpy.arange(4096, dtype=numpy.float16).reshape(4, 2, 512)  # 4 blocks
>>> cipher = kv.BlockCipher(os.urandom(32), "tenant-a")
>>> frames = cipher.encrypt(blocks)
>>> bool((cipher.decrypt(frames, numpy.empty_like(blocks)) == blocks).all())
True

A frame, of 29 bytes more than its block, is what LMCache stores of a block (LMCache/LMCache, pull request 4235):

    version, 1  |  IV, 12 random bytes  |  AES-GCM of the block, without additional data  |  tag, 16 bytes

    key = HKDF-SHA256(secret, salt of HKDF: none, info: "lmcache-l2-aesgcm-v1" and the cache salt as UTF-8)

Blocks are NumPy arrays, or PyTorch tensors in host memory or on a GPU. Those on a GPU are encrypted before they leave it and
decrypted after they are back: only frames are in host memory.

What this does not protect: whoever can write to the storage can put the frame of one block in place of another of the same cache
salt, because a frame does not say which block it is of. At most 2**32 blocks may be encrypted under one cache salt, because IVs are
random (SP 800-38D, section 8.3).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy

from . import Cipher, Engine, Key, Ranges, _arrays, random_bytes

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: The first byte of a frame.
VERSION = 1
#: Bytes of a frame before the ciphertext, and after it.
HEADER, TAG = 13, 16
#: Bytes that a frame has more than its block.
OVERHEAD = HEADER + TAG

_INFO = b"lmcache-l2-aesgcm-v1"


class BlockCipher:
    """The key of a cache salt, which LMCache has one of for each tenant. Any number of threads may use one."""

    def __init__(self, secret: Key | Buffer, cache_salt: str = "", *, bits: Literal[128, 256] = 128) -> None:
        """secret: the master key: a `Key`, or the bytes of LMCache's `master_key_path`, 16 or more and random. bits: LMCache's `aes_bits`."""
        if bits not in (128, 256):
            raise ValueError(f"bits must be 128 or 256, not {bits}")
        key = Key.derive(secret, _INFO + cache_salt.encode(), bits=bits)
        self._on: Any = functools.cache(lambda engine: _engine(engine).cipher(key))

    def encrypt(self, blocks: Any) -> Any:
        """The frames of blocks: a NumPy array of bytes, with a row for each block.

        blocks: an array or a tensor, contiguous, of any shape and element type; its first axis counts the blocks.
        """
        rows, copy, host = _rows(blocks, "blocks", False)
        count, size = rows.shape
        iv = numpy.frombuffer(random_bytes(12 * count), numpy.uint8).reshape(count, 12)
        secret = _arrays.library_of(type(rows)).empty_like(rows)  # type: ignore[union-attr]
        tags = self._cipher(blocks).gcm_encrypt_batch(iv, Ranges.equal(count, size), rows, out=secret)
        frames = numpy.empty((count, size + OVERHEAD), numpy.uint8)
        frames[:, 0], frames[:, 1:HEADER] = VERSION, iv
        copy(host(frames)[:, HEADER:-TAG], secret)
        frames[:, -TAG:] = numpy.frombuffer(bytes(tags), numpy.uint8).reshape(count, TAG)
        return frames

    def decrypt(self, frames: Sequence[Buffer] | Any, out: Any) -> Any:
        """Writes the blocks of frames to `out`, and returns it.

        frames: one for each block: the rows of an array, or objects with the buffer protocol, such as bytes.
        out: an array or a tensor, contiguous, as the blocks were; its first axis counts the blocks.

        `AuthenticationError` if any frame was changed, or is of another secret, cache salt or number of bits: `out` is cleared, and
        `failed` has the numbers of these frames. `ValueError` for what is no frame; then `out` is unchanged.
        """
        rows, copy, host = _rows(out, "out", True)
        count, size = rows.shape
        if len(frames) != count:
            raise ValueError(f"there are {len(frames)} frames, and out has {count} blocks: give one for each")
        given = numpy.empty((count, size + OVERHEAD), numpy.uint8)
        for n, frame in enumerate(frames):
            frame = numpy.frombuffer(frame, numpy.uint8)
            if len(frame) != size + OVERHEAD or frame[0] != VERSION:
                found = f"{len(frame)} bytes and version {frame[0]}" if len(frame) else "no bytes"
                raise ValueError(f"frame {n} has {found}: that of a block of {size} bytes has {size + OVERHEAD} and version {VERSION}")
            given[n] = frame
        cipher, iv, tags = self._cipher(out), given[:, 1:HEADER].tobytes(), given[:, -TAG:].tobytes()
        try:
            copy(rows, host(given)[:, HEADER:-TAG])
            cipher.gcm_decrypt_batch(iv, Ranges.equal(count, size), rows, tags, out=rows)
        except BaseException:
            rows[:] = 0
            raise
        return out

    def _cipher(self, array: Any) -> Cipher:
        """The key where the array is."""
        made: Cipher = self._on("cpu" if _is_in_host_memory(array) else f"cuda:{array.get_device()}")
        return made


_engine = functools.cache(Engine)


def _is_in_host_memory(array: Any) -> bool:
    return isinstance(array, numpy.ndarray) or array.get_device() < 0


def _rows(array: Any, name: str, writes: bool) -> tuple[Any, Any, Any]:
    """The bytes of an array, in the same memory, with a row for each block; how its library copies from one to another; and how it
    sees memory of NumPy."""
    library = _arrays.library_of(type(array))
    if isinstance(array, numpy.ndarray):
        if not array.flags.c_contiguous or (writes and not array.flags.writeable):
            raise BufferError(f"{name} must be contiguous{' and writeable' if writes else ''}")
        byte, copy, host = numpy.uint8, numpy.copyto, numpy.asarray
    elif isinstance(library, _arrays._Torch):
        library.span(array, writes)
        torch = library.module
        byte, copy, host = torch.uint8, torch.Tensor.copy_, torch.from_numpy
    else:
        raise TypeError(f"{name} must be a NumPy array or a PyTorch tensor, not {type(array).__name__}")
    if array.ndim == 0:
        raise ValueError(f"{name} must have an axis that counts the blocks")
    count, elements = array.shape[0], math.prod(array.shape[1:])
    return array.reshape(count, elements).view(byte), copy, host
