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
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import numpy

from . import AuthenticationError, Cipher, Engine, Key, Ranges, _arrays, random_bytes
from ._lanes import PART, GpuLanes, HostLane, Part

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: The first byte of a frame.
VERSION = 1
#: Bytes of a frame before the ciphertext, and after it.
HEADER, TAG = 13, 16
#: Bytes that a frame has more than its block.
OVERHEAD = HEADER + TAG

_Result = TypeVar("_Result")

_INFO = b"lmcache-l2-aesgcm-v1"


class BlockCipher:
    """The key of a cache salt, which LMCache has one of for each tenant. Any number of threads may use one."""

    def __init__(self, secret: Key | Buffer, cache_salt: str = "", *, bits: Literal[128, 256] = 128) -> None:
        """secret: the master key: a `Key`, or the bytes of LMCache's `master_key_path`, 16 or more and random. bits: LMCache's `aes_bits`."""
        if bits not in (128, 256):
            raise ValueError(f"bits must be 128 or 256, not {bits}")
        if not isinstance(cache_salt, str):
            raise TypeError(f"cache_salt must be a text, not {type(cache_salt).__name__}")
        key = Key.derive(secret, _INFO + cache_salt.encode(), bits=bits)
        self._on: Any = functools.cache(lambda engine: _engine(engine).cipher(key))

    def encrypt(self, blocks: Any, out: Any = None) -> Any:
        """The frames of blocks: a NumPy array of bytes, with a row for each block.

        blocks: an array or a tensor, contiguous, of any shape and element type; its first axis counts the blocks.
        out: the array for the frames, such as one of an earlier call: new memory takes the system longer than AES. None: a new one.
        """
        rows, lanes, empty_like = _rows(blocks, "blocks", False)
        count, size = rows.shape
        frames = numpy.empty((count, size + OVERHEAD), numpy.uint8) if out is None else _frames(out, count, size + OVERHEAD, rows)
        iv = numpy.frombuffer(random_bytes(12 * count), numpy.uint8).reshape(count, 12)
        cipher = self._cipher(blocks)

        def encrypted(lane: Any, part: slice) -> None:
            plain, theirs = rows[part], frames[part]
            ciphertext = empty_like(plain)
            if len(plain) == 1:
                # A GPU works on one message as a whole; of a batch, it works on each in another part of it.
                _, tags = cipher.gcm_encrypt(iv[part], plain, out=ciphertext)
            else:
                tags = cipher.gcm_encrypt_batch(iv[part], Ranges.equal(len(plain), size), plain, out=ciphertext)
            theirs[:, 0], theirs[:, 1:HEADER] = VERSION, iv[part]

            def use(some: slice, place: slice, memory: memoryview) -> None:
                bodies = theirs[some, HEADER:-TAG][:, place]
                bodies[:] = numpy.frombuffer(memory, numpy.uint8).reshape(bodies.shape)

            lane.take(ciphertext.reshape(-1), _parts(len(plain), size, use))
            theirs[:, -TAG:] = numpy.frombuffer(bytes(tags), numpy.uint8).reshape(-1, TAG)

        _map(lanes, encrypted, count, size)
        return frames

    def decrypt(self, frames: Sequence[Buffer] | Any, out: Any) -> Any:
        """Writes the blocks of frames to `out`, and returns it.

        frames: one for each block: the rows of an array, or objects with the buffer protocol, such as bytes.
        out: an array or a tensor, contiguous, as the blocks were; its first axis counts the blocks.

        `AuthenticationError` if any frame was changed, or is of another secret, cache salt or number of bits: `out` is cleared, and
        `failed` has the numbers of these frames. `ValueError` for what is no frame; then `out` is unchanged.
        """
        rows, lanes, _ = _rows(out, "out", True)
        count, size = rows.shape
        if len(frames) != count:
            raise ValueError(f"there are {len(frames)} frames, and out has {count} blocks: give one for each")
        _refuse_mask(frames, "frames")
        is_array = isinstance(frames, numpy.ndarray) and frames.ndim == 2 and frames.dtype == numpy.uint8
        given: Any = frames if is_array else [numpy.frombuffer(frame, numpy.uint8) for frame in frames]
        for n, frame in enumerate(given):
            if len(frame) != size + OVERHEAD or frame[0] != VERSION:
                found = f"{len(frame)} bytes and version {frame[0]}" if len(frame) else "no bytes"
                raise ValueError(f"frame {n} has {found}: that of a block of {size} bytes has {size + OVERHEAD} and version {VERSION}")
            if isinstance(rows, numpy.ndarray) and numpy.may_share_memory(frame, rows):
                raise ValueError(f"frame {n} and out overlap")
        cipher = self._cipher(out)

        def decrypted(lane: Any, part: slice) -> list[int]:
            """The numbers of the frames that are not authentic."""
            theirs = given[part]

            def fill(some: slice, place: slice, memory: memoryview) -> None:
                bodies = numpy.frombuffer(memory, numpy.uint8).reshape(-1, place.stop - place.start)
                if is_array:
                    bodies[:] = theirs[some, HEADER:-TAG][:, place]
                    return
                for body, frame in zip(bodies, theirs[some], strict=True):
                    body[:] = frame[HEADER:-TAG][place]

            iv, tags = (b"".join(frame[place].tobytes() for frame in theirs) for place in (slice(1, HEADER), slice(-TAG, None)))
            plain = lane.bring(rows[part].reshape(-1), _parts(len(theirs), size, fill))
            try:
                if len(theirs) == 1:
                    cipher.gcm_decrypt(iv, plain, tags, out=plain)
                else:
                    cipher.gcm_decrypt_batch(iv, Ranges.equal(len(theirs), size), plain, tags, out=plain)
            except AuthenticationError as error:
                return [part.start + n for n in error.failed or (0,)]
            return []

        try:
            failed = [n for numbers in _map(lanes, decrypted, count, size) for n in numbers]
            if failed:
                error = AuthenticationError(f"authentication failed for {len(failed)} of {count} frames; their numbers are in `failed`")
                error.failed = tuple(failed)
                raise error
        except BaseException:
            rows[:] = 0
            raise
        finally:
            _arrays.library_of(type(out)).written(out)  # type: ignore[union-attr]
        return out

    def __deepcopy__(self, _memo: Any) -> BlockCipher:
        return self

    __copy__ = functools.partialmethod(__deepcopy__, None)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a block cipher cannot be pickled because it holds a key: make one in each process")

    def _cipher(self, array: Any) -> Cipher:
        """The key where the array is."""
        made: Cipher = self._on("cpu" if _is_in_host_memory(array) else f"cuda:{array.get_device()}")
        return made


_engine = functools.cache(Engine)


def _is_in_host_memory(array: Any) -> bool:
    return isinstance(array, numpy.ndarray) or array.get_device() < 0


def _rows(array: Any, name: str, writes: bool) -> tuple[Any, Any, Any]:
    """The bytes of an array, in the same memory, with a row for each block; the lanes to there; and what makes new arrays there."""
    library: Any = _arrays.library_of(type(array))
    _refuse_mask(array, name)
    if isinstance(array, numpy.ndarray):
        if not array.flags.c_contiguous or (writes and not array.flags.writeable):
            raise BufferError(f"{name} must be contiguous{' and writeable' if writes else ''}")
    elif isinstance(library, _arrays._Torch):
        library.span(array, writes)
    else:
        raise TypeError(f"{name} must be a NumPy array or a PyTorch tensor, not {type(array).__name__}")
    if array.ndim == 0:
        raise ValueError(f"{name} must have an axis that counts the blocks")
    count, elements, module = array.shape[0], math.prod(array.shape[1:]), library.module
    rows = array.reshape(count, elements).view(module.uint8)
    if _is_in_host_memory(array):
        return numpy.asarray(rows), HostLane(), numpy.empty_like
    return rows, GpuLanes(module, array.device), module.empty_like


def _frames(out: Any, count: int, size: int, rows: Any) -> Any:
    """An array that the frames of these rows may be written to."""
    _refuse_mask(out, "out")
    if not isinstance(out, numpy.ndarray) or out.dtype != numpy.uint8:
        raise TypeError("out must be a NumPy array of bytes")
    if out.shape != (count, size):
        raise ValueError(f"out has the shape {out.shape}, and the frames of these blocks have {(count, size)}")
    if not out.flags.writeable:
        raise BufferError("out must be writeable")
    if isinstance(rows, numpy.ndarray) and numpy.may_share_memory(out, rows):
        raise ValueError("out and blocks overlap")
    taken = 1
    for step, length in sorted((abs(step), length) for step, length in zip(out.strides, out.shape, strict=True) if length > 1):
        if step < taken:
            raise ValueError("the rows of out overlap")
        taken += step * (length - 1)
    return out


def _refuse_mask(array: Any, name: str) -> None:
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError(f"{name} must not be a masked array, for nothing keeps its mask: give its data (`.data`)")


def _map(lanes: HostLane | GpuLanes, work: Callable[[Any, slice], _Result], count: int, size: int) -> list[_Result]:
    """The results of `work` for a lane and each piece, of whole blocks."""
    return lanes.map(work, list(_slices(count, size, lanes.piece)), min(PART, count * size))


def _parts(count: int, size: int, work: Callable[[slice, slice, memoryview], None]) -> Iterator[Part]:
    """The parts of a piece of blocks, and what is to be done with each: with whole blocks, or with bytes of one that is larger than a part."""
    for some in _slices(count, size, PART):
        for start in range(0, size, PART):
            place = slice(start, min(start + PART, size))
            yield some.start * size + place.start, (some.stop - 1) * size + place.stop, functools.partial(work, some, place)


def _slices(count: int, size: int, most: int) -> Iterator[slice]:
    """Blocks of so many bytes, as many at a time as `most` bytes have, or one."""
    step = max(1, most // max(size, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
