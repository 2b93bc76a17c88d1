"""What the package's formats for other programs' files are read from and written to."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._native import _Output

Path = str | os.PathLike[str]


@contextmanager
def opened(source: Path | Any) -> Iterator[Any]:
    """A file object of a source, which is a path or a file object."""
    if isinstance(source, io.TextIOBase):
        raise TypeError("the source gives text, not bytes: open it with the mode \"rb\"")
    if hasattr(source, "read"):
        yield source
    else:
        with io.open(source, "rb") as file:
            yield file


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


def read(file: Any, count: int) -> bytes:
    """So many bytes of a file object, or those up to its end."""
    pieces: list[bytes | bytearray | memoryview] = []
    while count > 0:
        piece = file.read(count)
        if piece is None:
            raise OSError("the source would block: give one that waits for its bytes")
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise TypeError(f"what read() returns must be bytes, not {type(piece).__name__}")
        if len(piece) > count:
            raise OSError("read() returned more than it was asked for")
        if not piece:
            break
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
