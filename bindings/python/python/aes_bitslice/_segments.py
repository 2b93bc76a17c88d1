"""Parts of the message of a sealed file, decrypted in the memory where they are wanted: of the host, or of a GPU.

    file     .. | ciphertext 7 | tag 7 | ciphertext 8 | tag 8 | ..
                        |          '----------------------'--------> tags, in host memory
                        v  read, or read to pinned memory and copied
    memory   .. | ciphertext 7 | ciphertext 8 | ..        decrypted in place: a segment is a message of AES-GCM

Pieces of several segments are read by threads, ahead of those that are decrypted, in batches.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Any

from ._native import AuthenticationError, Engine, _FileSecret, _SealedSegments

#: Bytes of a piece, which are read at a time, and the most segments: the system takes 1024 parts in one call.
PIECE, MOST_SEGMENTS = 16 << 20, 512
#: Pieces that are read at the same time.
AHEAD = 8
#: Segments that a GPU decrypts at a time: each keeps a part of it busy.
GPU_BATCH = 512


class Parts:
    """The message of a sealed file, of which parts are decrypted in `memory`.

    file: a path, or a file object that can seek, whose position counts as the start of the file.
    memory: where to decrypt: an object of `HostMemory` or `GpuMemory`.
    secret: key, passphrase, keyset, associated_data, as for `aes_bitslice.open`.
    """

    def __init__(self, file: Any, memory: Any, **secret: Any) -> None:
        self._memory = memory
        self._file = _Object(file) if hasattr(file, "read") else _Path(file)
        try:
            self._segments = _SealedSegments(file, _FileSecret(**secret), memory.engine)
        except BaseException:
            self._file.close()
            raise
        #: The number of bytes of the message according to the file's length, which may have been changed.
        self.length = self._segments.length
        self._closed = False

    @contextmanager
    def read(self, start: int, stop: int, keep: bool = True) -> Iterator[Any]:
        """The bytes from `start` to before `stop`, in an array of bytes; the first is at a multiple of 16. The array may be
        part of a larger one, which has all bytes of the segments. Nothing of it is left after the `with` block if that ends by an exception,
        or does not `keep` it."""
        if self._closed:
            raise ValueError("I/O operation on closed file")
        if start == stop:
            yield self._memory.empty(0)
            return
        with self._segments_of(start, stop, keep) as (whole, base):
            yield whole[start - base : stop - base]

    def check_end(self) -> None:
        """Raises `AuthenticationError` if the message does not end where the file does: opens the last segment."""
        with self._segments_of(self.length, self.length, keep=False):
            pass

    @contextmanager
    def _segments_of(self, start: int, stop: int, keep: bool) -> Iterator[tuple[Any, int]]:
        """The plaintext of the segments that have these bytes, and its first byte in the message; cleared as `read` says."""
        first, end = self._segments.holding(start, stop)
        base = self._place(first)
        before = (base - start) % 16
        whole = self._memory.empty(before + self._place(end) - base)[before:]
        try:
            self._fill(whole, first, end)
            yield whole, base
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                whole[:] = 0

    def close(self) -> None:
        """Drops the key, and closes a file that has a path; a file object is back at its position."""
        if not self._closed:
            self._closed = True
            del self._segments
            self._file.close()

    def _place(self, segment: int) -> int:
        """The first byte of a segment in the message."""
        return self._segments.begins(segment)[0]

    def _fill(self, whole: Any, first: int, end: int) -> None:
        """Fills an array with the plaintext of the segments from `first` to before `end`."""
        tags, ready, begun = bytearray(16 * (end - first)), None, first
        size = min(max(PIECE, self._segments.segment_bytes), whole.nbytes)
        # Closed, nothing is read any more: that threads have the memory is known to nobody else.
        with self._memory.landing(whole, size) as landing, closing(self._landed(landing, tags, first, end)) as landed:
            for stop in landed:
                if stop - begun >= self._memory.batch or stop == end:
                    # While a batch is decrypted, the pieces after it are on their way.
                    if ready:
                        self._decrypt(whole, tags, first, *ready)
                    ready, begun = (begun, stop, landing.mark()), stop
            if ready:
                self._decrypt(whole, tags, first, *ready)

    def _landed(self, landing: Any, tags: bytearray, first: int, end: int) -> Generator[int]:
        """Reads segments, piece by piece: each time, the number after the last segment that has landed."""
        count = max(1, min(PIECE // self._segments.segment_bytes, MOST_SEGMENTS))
        reads: deque[tuple[int, slice, Any, Future[None]]] = deque()
        with ThreadPoolExecutor(self._file.threads, "aes-bitslice") as pool:
            for start in range(first, end + AHEAD * count, count):  # the last ones only to land
                if start < end:
                    stop = min(start + count, end)
                    place = slice(self._place(start) - self._place(first), self._place(stop) - self._place(first))
                    room, memory = landing.room(place)
                    of_tags = memoryview(tags)[16 * (start - first) : 16 * (stop - first)]
                    reads.append((stop, place, room, pool.submit(self._read, memory, of_tags, start, stop)))
                if reads and (start >= end or len(reads) == AHEAD):
                    stop, place, room, read = reads.popleft()
                    read.result()
                    landing.landed(place, room)
                    yield stop

    def _read(self, memory: memoryview, tags: memoryview, start: int, stop: int) -> None:
        """Reads the segments from `start` to before `stop`: their ciphertext to one memory, and their tags to another."""
        parts, first = [], self._place(start)
        for n in range(start, stop):
            parts.append(memory[self._place(n) - first : self._place(n + 1) - first])
            parts.append(tags[16 * (n - start) : 16 * (n - start + 1)])
        if not self._file.read(self._segments.begins(start)[1], parts):
            raise self._segments.cut_off()

    def _decrypt(self, whole: Any, tags: bytearray, first: int, begin: int, end: int, mark: Any) -> None:
        """Decrypts the segments from `begin` to before `end`, of those from `first` on, which `whole` has."""
        start = self._place(begin)
        data = whole[start - self._place(first) : self._place(end) - self._place(first)]
        ranges = [(self._place(n) - start, self._place(n + 1) - start) for n in range(begin, end)]
        nonces, tags = self._segments.nonces(begin, end), tags[16 * (begin - first) : 16 * (end - first)]
        self._memory.wait(mark)
        try:
            self._segments.cipher.gcm_decrypt_batch(nonces, ranges, data, tags, out=data)
        except AuthenticationError as error:
            raise self._segments.damaged(begin + error.failed[0]) from None


class _Path:
    """A file with a path. Any number of threads read it."""

    threads = AHEAD

    def __init__(self, path: Any) -> None:
        self._file = open(path, "rb", buffering=0)

    def read(self, place: int, parts: list[memoryview]) -> bool:
        """Fills parts of memory with the bytes from `place` on; returns whether the file has so many."""
        parts = [part for part in parts if part.nbytes]
        while parts:
            count = os.preadv(self._file.fileno(), parts, place)
            if not count:
                return False
            place += count
            while parts and count >= parts[0].nbytes:
                count -= parts.pop(0).nbytes
            if count:
                parts[0] = parts[0][count:]
        return True

    def close(self) -> None:
        self._file.close()


class _Object:
    """A file object. It has one position: one thread at a time reads it."""

    threads = 1

    def __init__(self, file: Any) -> None:
        if not hasattr(file, "seek"):
            raise TypeError("the file is read in parts: give a path, or a file object with seek()")
        self._file, self._start, self._lock = file, file.tell(), threading.Lock()

    def read(self, place: int, parts: list[memoryview]) -> bool:
        with self._lock:
            self._file.seek(self._start + place)
            for part in parts:
                while part.nbytes:
                    data = self._file.read(part.nbytes)
                    if not data:
                        return False
                    part[: len(data)] = data
                    part = part[len(data) :]
        return True

    def close(self) -> None:
        # Whoever closed it does not expect it anywhere.
        if not getattr(self._file, "closed", False):
            self._file.seek(self._start)


class HostMemory:
    """Arrays of bytes in host memory: ciphertext is read to where it is decrypted."""

    batch = 1

    def __init__(self, engine: Engine, empty: Any) -> None:
        self.engine, self.empty = engine, empty

    def landing(self, whole: Any, size: int) -> AbstractContextManager[_Here]:
        return nullcontext(_Here(whole))

    def wait(self, mark: None) -> None:
        pass


class _Here:
    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def room(self, place: slice) -> tuple[None, memoryview]:
        return None, host_bytes(self._whole[place])

    def landed(self, place: slice, room: None) -> None:
        pass

    def mark(self) -> None:
        pass


class GpuMemory:
    """Tensors of PyTorch on a GPU: ciphertext is read to pinned memory, copied on a stream of its own, and decrypted on the
    current stream."""

    batch = GPU_BATCH

    def __init__(self, engine: Engine, empty: Any, torch: Any, device: Any) -> None:
        self.engine, self.empty, self.torch, self.device = engine, empty, torch, device

    def landing(self, whole: Any, size: int) -> _Pinned:
        return _Pinned(self, whole, size)

    def wait(self, mark: Any) -> None:
        self.torch.cuda.current_stream(self.device).wait_event(mark)


class _Pinned:
    def __init__(self, memory: GpuMemory, whole: Any, size: int) -> None:
        self._torch, self._whole, self._size, self._made = memory.torch, whole, size, 0
        self._stream = memory.torch.cuda.Stream(memory.device)
        # The memory may still be used by what its last owner put on the current stream.
        self._stream.wait_stream(memory.torch.cuda.current_stream(memory.device))
        self._rooms: deque[tuple[Any, Any]] = deque()

    def __enter__(self) -> _Pinned:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.synchronize()

    def room(self, place: slice) -> tuple[Any, memoryview]:
        if self._made < AHEAD:
            self._made += 1
            room = self._torch.empty(self._size, dtype=self._torch.uint8, device="cpu", pin_memory=True)
        else:
            room, copied = self._rooms.popleft()
            copied.synchronize()
        return room, host_bytes(room[: place.stop - place.start])

    def landed(self, place: slice, room: Any) -> None:
        with self._torch.cuda.stream(self._stream):
            self._whole[place].copy_(room[: place.stop - place.start], non_blocking=True)
        self._rooms.append((room, self.mark()))

    def mark(self) -> Any:
        return self._stream.record_event()


def host_bytes(array: Any) -> memoryview:
    """The memory of an array or tensor of bytes in host memory, which it keeps alive."""
    address = array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data
    memory: Any = (ctypes.c_ubyte * array.nbytes).from_address(address)
    memory.owner = array
    return memoryview(memory).cast("B")
