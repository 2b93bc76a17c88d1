"""What the package's formats for other programs' files are read from and written to."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._native import _Output

#: Bytes of a call of a source's `read`.
_PIECE = 1 << 20

Path = str | os.PathLike[str]


@contextmanager
def opened(source: Path | Any) -> Iterator[Any]:
    """A file object of a source, which is a path or a file object."""
    if isinstance(source, io.TextIOBase):
        raise TypeError("the source gives text, not bytes: open it with the mode \"rb\"")
    if hasattr(source, "read"):
        yield source
    elif isinstance(source, (str, os.PathLike)) and isinstance(os.fspath(source), str):
        with io.open(source, "rb") as file:
            yield file
    else:
        raise TypeError("source must be a path, or a file object that reads or writes bytes")


@contextmanager
def written(source: Any, destination: Path | Any, overwrite: bool) -> Iterator[Callable[[Any], int]]:
    """Gives a function that writes bytes to the destination and counts them. A new file appears when the block ends, and not if it
    ends with an exception; it is no more open than the source, a file object."""
    output = _Output(source, destination, overwrite=overwrite)

    def write(data: Any) -> int:
        output.write(data)
        return len(data)

    try:
        yield write
        output.finish()
    finally:
        output.abort()


def span_of(file: Any) -> tuple[int, int]:
    """The position of a file object and that of its end, where it then is."""
    if not (hasattr(file, "seek") and getattr(file, "seekable", lambda: True)()):
        raise TypeError("the source must be able to seek: give the path of a file, or a file object with seek()")
    start = file.tell()
    # Some objects, such as `mmap`, do not return where they then are.
    file.seek(0, io.SEEK_END)
    return start, file.tell()


def read_some(file: Any, count: int) -> bytes | bytearray | memoryview:
    """So many bytes of a file object or fewer; none if it ends."""
    piece = file.read(count)
    if piece is None:
        raise BlockingIOError(errno.EAGAIN, "source is non-blocking and cannot read now: give a blocking file (os.set_blocking(fd, True))")
    if not isinstance(piece, (bytes, bytearray, memoryview)):
        raise TypeError(f"what read() returns must be bytes, not {type(piece).__name__}")
    if len(piece) > count:
        raise OSError("read() returned more than it was asked for")
    return piece


def read_into(file: Any, memory: memoryview) -> int:
    """Reads so many bytes of a file object or fewer to memory: how many, at least one."""
    # Not of a derived class, which may do anything; and not so much that a signal would wait for long.
    if type(file) in (io.BufferedReader, io.FileIO) and (count := file.readinto(memory[: 64 << 20])) is not None:
        done = int(count)
    else:
        piece = read_some(file, min(len(memory), _PIECE))
        done = len(piece)
        memory[:done] = piece
    if not done:
        raise OSError("the source ended early")
    return done


def read(file: Any, count: int) -> bytes:
    """So many bytes of a file object, or those up to its end."""
    pieces = []
    while count > 0 and (piece := read_some(file, count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
