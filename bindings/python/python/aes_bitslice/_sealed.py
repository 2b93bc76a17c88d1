"""Sealed data in memory, and a sealed file as a file object of its message."""

from __future__ import annotations

import contextlib
import functools
import io
import operator
import os
import sys
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ._native import Engine, Key, _bytes_of, _FileSecret, _SealedReader, _SealedWriter, open as _open, seal as _seal

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self


def seal_bytes(
    data: Buffer,
    *,
    key: Key | None = None,
    passphrase: str | Buffer | None = None,
    keyset: str | None = None,
    associated_data: Buffer | None = None,
    engine: Engine | None = None,
) -> bytes:
    """Seals a message in memory: returns the bytes of a sealed file.

    data: the message: bytes, or another object with the buffer protocol.
    key, passphrase, keyset, associated_data, engine: as for `seal`.
    """
    sealed = io.BytesIO()
    source, secret = _in_memory(data), {"passphrase": passphrase, "keyset": keyset, "associated_data": associated_data}
    _seal(source, sealed, key=key, engine=engine, **secret)  # type: ignore[arg-type]
    return sealed.getvalue()


def open_bytes(
    data: Buffer,
    *,
    key: Key | None = None,
    passphrase: str | Buffer | None = None,
    keyset: str | None = None,
    associated_data: Buffer | None = None,
    range: Any = None,
    engine: Engine | None = None,
) -> bytes:
    """Opens the bytes of a sealed file: returns the message, or its bytes in `range`. On an exception nothing is returned.

    data: the sealed bytes.
    key, passphrase, keyset, associated_data, range, engine: as for `open`.
    """
    message = io.BytesIO()
    source, secret = _in_memory(data), {"passphrase": passphrase, "keyset": keyset, "associated_data": associated_data}
    _open(source, message, key=key, range=range, engine=engine, **secret)  # type: ignore[arg-type]
    return message.getvalue()


def _in_memory(data: Any) -> io.BytesIO:
    """A file object of these bytes."""
    # `BytesIO` would take references to objects for data, and None for no bytes. Of `bytes` it makes no copy.
    return io.BytesIO(data if type(data) is bytes else _bytes_of(data))


#: Bytes of a message that are read at once for lines.
_AHEAD = 1 << 16

_Call = TypeVar("_Call", bound=Callable[..., Any])


def _alone(call: _Call) -> _Call:
    """A method that runs one call at a time. A call of another thread waits, except while Python ends, when those that run are never
    completed. A call within a call, which a handler of signals or a method of the file object can make, is refused: it would move the
    file under the outer one."""

    @functools.wraps(call)
    def alone(self: SealedFile, /, *arguments: Any, **options: Any) -> Any:
        with contextlib.nullcontext() if sys.is_finalizing() else self._lock:
            if self._in_use:
                raise RuntimeError("the sealed file is in use: wait until the other call on it has returned")
            try:
                self._in_use = True
                return call(self, *arguments, **options)
            finally:
                self._in_use = False

    return alone  # type: ignore[return-value]


#: Those that there are: a forked child has their locks, and not the threads that would release them.
_files: weakref.WeakSet[SealedFile] = weakref.WeakSet()


def _renew_locks() -> None:
    for file in list(_files):
        file._lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_locks)


class SealedFile(io.BufferedIOBase):
    """A sealed file as a file object of its message, for `torch.save`, `numpy.load`, `zipfile` and others.

    file: a path, or a file object; one to read must be able to seek, and its position counts as the start.
    mode: "rb" reads and seeks; "wb" writes from the start to the end, and does not seek.
    key, passphrase, keyset, associated_data, engine: as for `seal`.
    overwrite: for "wb", whether a file may be replaced; else `FileExistsError`.

    Reading opens only the segments of about a MiB that are read, and keeps the last one; `length` is the number of
    bytes of the message. Opening the file finds out that it was cut, reading that a segment was changed:
    `AuthenticationError`.

    Writing: the new file appears at the end of a `with` block of this object, and not if the block ends with an
    exception; within it, `close` only ends the writing. Without a block it appears when `close` is called, and not if
    the object is dropped before. So have a block where something else may call `close`, also after an exception:
    `contextlib.closing`, or a wrapper such as `io.TextIOWrapper` at the end of its own block or when it is dropped.

    Threads may share it: a call that reads, writes, moves or closes waits for that of another thread, and raises
    `ValueError` if that closed the file. One within another, of a handler of signals or a method of the file object,
    raises `RuntimeError`.
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | Any,
        mode: str = "rb",
        *,
        key: Key | None = None,
        passphrase: str | Buffer | None = None,
        keyset: str | None = None,
        associated_data: Buffer | None = None,
        overwrite: bool = False,
        engine: Engine | None = None,
    ) -> None:
        self._reader: _SealedReader | None = None
        self._writer: _SealedWriter | None = None
        self._at = 0
        # Bytes of the message, after the position of the first one.
        self._kept = (0, b"")
        # How many `with` blocks it is in.
        self._blocks = 0
        # For `_alone`. The thread of a call may take the lock again, and finds `_in_use` set.
        self._lock, self._in_use = threading.RLock(), False
        _files.add(self)
        secret = _FileSecret(key=key, passphrase=passphrase, keyset=keyset, associated_data=associated_data)
        if mode == "rb":
            if overwrite:
                raise ValueError('overwrite is for the mode "wb"')
            self._reader = _SealedReader(file, secret, engine)
        elif mode == "wb":
            self._writer = _SealedWriter(file, secret, engine, overwrite=overwrite)
        else:
            raise ValueError(f'mode must be "rb" or "wb", not {mode!r}')
        self.mode = mode

    @property
    def length(self) -> int:
        """The number of bytes of the message; of a file that is being written, of what was written so far."""
        reader = self._reader
        self._check()
        return reader.length if reader is not None else self._at

    def readable(self) -> bool:
        """Whether its mode is "rb"."""
        self._check()
        return self.mode == "rb"

    def writable(self) -> bool:
        """Whether its mode is "wb"."""
        self._check()
        return self.mode == "wb"

    def seekable(self) -> bool:
        """Whether its mode is "rb"."""
        return self.readable()

    def tell(self) -> int:
        """The position in the message."""
        self._check()
        return self._at

    @_alone
    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Moves to a position, which may be after the end of the message; returns it."""
        self._reads("seek")
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.length}.get(whence)
        if start is None:
            raise ValueError(f"whence must be 0, 1 or 2, not {whence!r}")
        at = start + operator.index(offset)
        if at < 0:
            raise ValueError(f"the position {at} is before the start of the message")
        self._at = at
        return at

    @_alone
    def readinto(self, buffer: Any, /) -> int:
        """Fills a buffer; returns the number of bytes, which is less only at the end of the message. An exception of reading or opening
        the file leaves these bytes of the buffer cleared."""
        return self._fill(buffer)

    readinto1 = readinto

    def _fill(self, buffer: Any) -> int:
        # A position far after the end may be larger than any number of bytes.
        count = self._reads("read").readinto(min(self._at, self.length), buffer)
        self._at += count
        return count

    @_alone
    def read(self, size: int | None = -1, /) -> bytes:
        """The next `size` bytes, or all up to the end of the message."""
        self._reads("read")
        left = max(self.length - self._at, 0)
        data = bytearray(left if size is None or size < 0 else min(size, left))
        self._fill(data)
        return bytes(data)

    read1 = read

    @_alone
    def peek(self, size: int = 0, /) -> bytes:
        """Some of the next bytes, whatever the `size`, without moving; none only at the end of the message."""
        kept, at = self._ahead()
        return kept[at:]

    @_alone
    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line with its end, or its first `size` bytes; empty only at the end of the message, or for a size of 0."""
        left = self.length if size is None or size < 0 else operator.index(size)
        line = bytearray()
        while True:
            kept, at = self._ahead()
            stop = min(at + left, len(kept))
            end = kept.find(b"\n", at, stop) + 1 or stop
            line += kept[at:end]
            left -= end - at
            self._at += end - at
            if end == at or left == 0 or kept[end - 1] == ord("\n"):
                return bytes(line)

    def _ahead(self) -> tuple[bytes, int]:
        """Kept bytes of the message, and where the position is in them: after them only at the end of the message."""
        self._reads("read")
        first, kept = self._kept
        if not first <= self._at < first + len(kept):
            at, data = self._at, bytearray(max(min(_AHEAD, self.length - self._at), 0))
            self._fill(data)
            self._at, first, kept = at, at, bytes(data)
            data[:] = bytes(len(data))
            self._kept = (first, kept)
        return kept, self._at - first

    @_alone
    def write(self, data: Any, /) -> int:
        """Writes all bytes of an object; returns how many. After an exception the file is given up."""
        self._check()
        if self._writer is None:
            raise io.UnsupportedOperation("write: the file was opened to be read")
        count = self._writer.write(data)
        self._at += count
        return count

    @_alone
    def close(self) -> None:
        """Completes a file that was written; within a `with` block, the end of the block does that. Nothing of the file, key
        and message is kept then, and after `discard`."""
        if self._writer is not None and self._blocks:
            super().close()
            return
        try:
            if self._writer is not None:
                self._writer.finish()
        finally:
            self._end()

    @_alone
    def discard(self) -> None:
        """Gives up a file that is being written: it never appears. A file object has received a part of it, which does not open."""
        self._end()

    def _end(self) -> None:
        super().close()
        self._reader = self._writer = None
        self._kept = (0, b"")

    def __enter__(self) -> Self:
        self._check()
        self._blocks += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._blocks -= 1
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        # Not `close`, which would complete a file that is not.
        if hasattr(self, "mode"):
            self._end()

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a sealed file cannot be pickled because it holds a key: open it in each process")

    @_alone
    def _descriptor(self) -> int | None:
        """Of the sealed file: what is made from the message is no more open than that."""
        return self._reads("read").descriptor()

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def _reads(self, what: str) -> _SealedReader:
        self._check()
        if self._reader is None:
            raise io.UnsupportedOperation(f"{what}: the file was opened to be written")
        return self._reader
