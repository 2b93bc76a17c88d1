"""Parts of the message of a sealed file, decrypted in the memory where they are wanted: of the host, or of a GPU.

    file     .. | ciphertext 7 | tag 7 | ciphertext 8 | tag 8 | ..
                        |          '----------------------'--------> tags, in host memory
                        v  read, or read to pinned memory and copied
    memory   .. | ciphertext 7 | ciphertext 8 | ..        decrypted in place: a segment is a message of AES-GCM

Each of several threads reads a piece of several segments, and has it decrypted (`_lanes.py`).
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ._files import read_some
from ._lanes import PART, THREADS, GpuLanes, HostLane
from ._native import AuthenticationError, Engine, _FileSecret, _SealedSegments

#: The most segments of a piece, which may be small.
MOST_SEGMENTS = 512
#: The most bytes of pinned memory of a thread that reads a file with a path to a GPU: one half is filled while the other is copied. That of
#: all threads stays in the caches of a large processor.
ROOM = 8 << 20


class Memory(NamedTuple):
    """Where messages are decrypted."""

    engine: Engine
    #: An array of so many bytes there.
    empty: Callable[[int], Any]
    lanes: HostLane | GpuLanes


class Parts:
    """The message of a sealed file, of which parts are decrypted in `memory`.

    file: a path, or a file object that can seek, whose position counts as the start of the file.
    memory: where to decrypt.
    secret: key, passphrase, keyset, associated_data, as for `aes_bitslice.open`.
    """

    def __init__(self, file: Any, memory: Memory, **secret: Any) -> None:
        self._memory = memory
        #: A file object; a file that has a path is read by the segments themselves.
        self._file = _Object(file) if hasattr(file, "read") else None
        try:
            self._segments = _SealedSegments(file, _FileSecret(**secret), memory.engine)
        except BaseException:
            self._close_file()
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
            self._close_file()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()

    def _place(self, segment: int) -> int:
        """The first byte of a segment in the message."""
        return self._segments.begins(segment)[0]

    def _fill(self, whole: Any, first: int, end: int) -> None:
        """Fills an array with the plaintext of the segments from `first` to before `end`."""
        lanes, each = self._memory.lanes, self._segments.segment_bytes
        piece = max(lanes.piece, min(whole.nbytes // (4 * THREADS), lanes.largest))
        count = max(1, min(piece // each, MOST_SEGMENTS))
        base = self._place(first)

        def opened(lane: Any, start: int) -> None:
            stop = min(start + count, end)
            begin = self._place(start)
            places = [self._place(n) - begin for n in range(start, stop + 1)]
            data = whole[begin - base : begin - base + places[-1]]
            if self._file is None:
                there, room = lane.memory(data)
                self._decrypt(there, self._segments.read(start, stop, there, room), places, start, stop)
            else:
                tags = bytearray(16 * (stop - start))
                read = functools.partial(self._read, tags, places, self._segments.begins(start)[1])
                cuts = [*range(0, places[-1], PART), places[-1]] if places[-1] else [0, 0]
                there = lane.bring(data, ((*part, functools.partial(read, *part)) for part in itertools.pairwise(cuts)))
                self._decrypt(there, tags, places, start, stop)

        lanes.map(opened, range(first, end, count), min(ROOM if self._file is None else PART, whole.nbytes))

    def _read(self, tags: bytearray, places: list[int], at: int, start: int, stop: int, memory: memoryview) -> None:
        """Reads bytes from `start` to before `stop` of segments that are at such places, and begin at byte `at` of the file object: their
        ciphertext to memory, and the tags of those that end there."""
        assert self._file is not None
        parts: list[memoryview] = []
        for n, (first, end) in enumerate(itertools.pairwise(places)):
            if first < stop and start < end:
                parts.append(memory[max(first - start, 0) : min(end, stop) - start])
            if start < end <= stop or end == start == 0:
                parts.append(memoryview(tags)[16 * n : 16 * (n + 1)])
        tags_before = sum(0 < end <= start for end in places[1:])
        if not self._file.read(at + start + 16 * tags_before, parts):
            raise self._segments.cut_off()

    def _decrypt(self, data: Any, tags: bytes | bytearray, places: list[int], first: int, end: int) -> None:
        """Decrypts the segments from `first` to before `end`, which are at such places of `data`."""
        try:
            self._segments.cipher.gcm_decrypt_batch(self._segments.nonces(first, end), list(itertools.pairwise(places)), data, tags, out=data)
        except AuthenticationError as error:
            raise self._segments.damaged(first + error.failed[0]) from None


class _Object:
    """A file object. It has one position: one thread at a time reads it."""

    def __init__(self, file: Any) -> None:
        if not hasattr(file, "seek"):
            raise TypeError("the file is read in parts: give a path, or a file object with seek()")
        self._file, self._start, self._lock = file, file.tell(), threading.Lock()

    def read(self, place: int, parts: list[memoryview]) -> bool:
        with self._lock:
            self._file.seek(self._start + place)
            for part in parts:
                while part.nbytes:
                    data = read_some(self._file, part.nbytes)
                    if not data:
                        return False
                    part[: len(data)] = data
                    part = part[len(data) :]
        return True

    def close(self) -> None:
        # Whoever closed it does not expect it anywhere.
        if not getattr(self._file, "closed", False):
            self._file.seek(self._start)
