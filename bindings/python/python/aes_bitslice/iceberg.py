"""Iceberg's AES GCM Stream (AGS1): how Iceberg encrypts manifests, manifest lists and other files that are no Parquet.

>>> import io
>>> from aes_bitslice import Key, iceberg
>>> encrypted, key = io.BytesIO(), Key.generate(256)
>>> length = iceberg.encrypt(io.BytesIO(b"a manifest"), encrypted, key=key, aad_prefix=b"of this file")
>>> with iceberg.open(encrypted, key=key, aad_prefix=b"of this file", length=length) as file:
...     file.seek(2), file.read()
(2, b'manifest')

A file is "AGS1", the size of its blocks (4 bytes, little-endian), and the blocks: a nonce of 12 bytes, ciphertext, and a
tag of 16. The additional data of a block is the file's prefix and the number of the block (4 bytes, little-endian). Many
blocks are one call, on the cores of the CPU.

Nothing in the file says that it ends there: whoever cuts off its last blocks is only found out by its length, which
Iceberg keeps in the metadata that leads to the file. Give it as `length`.

The format: https://iceberg.apache.org/gcm-stream-spec
"""

from __future__ import annotations

import io
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ._files import Path, opened, read, span_of, written
from ._native import AuthenticationError, Engine, Error, Key, _descriptor_of, random_bytes

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["decrypt", "encrypt", "open"]

_MAGIC, _HEADER, _NONCE, _TAG = b"AGS1", 8, 12, 16
#: Bytes of plaintext of the blocks that are written, as Iceberg writes them, and of a call; and the most blocks of a call that decrypts: a
#: header, which is not authenticated, may say that blocks have a byte.
_BLOCK, _CALL, _MOST = 1 << 20, 64 << 20, 1 << 14


def encrypt(source: Path | Any, destination: Path | Any, *, key: Key, aad_prefix: Buffer = b"", overwrite: bool = False) -> int:
    """Encrypts a file to an AES GCM Stream of blocks of 1 MiB; returns the length of that in bytes, for those who read it.

    source, destination: paths, or file objects that read and write bytes. A new file appears when it is complete.
    key: of 128, 192 or 256 bits, for at most 2^32 blocks.
    aad_prefix: the prefix of the additional data, which tells this file from others of the key.
    overwrite: whether a file may be replaced; else `FileExistsError`.
    """
    cipher, prefix = Engine("cpu").cipher(key), bytes(memoryview(aad_prefix))
    with opened(source) as file, written(file, destination, overwrite) as write:
        length, number = write(_MAGIC + _BLOCK.to_bytes(4, "little")), 0
        # An empty file has one block, which is empty.
        while (data := bytearray(read(file, _CALL))) or number == 0:
            ranges = [(start, min(start + _BLOCK, len(data))) for start in range(0, len(data) or 1, _BLOCK)]
            nonces = random_bytes(_NONCE * len(ranges))
            tags = cipher.gcm_encrypt_batch(nonces, ranges, data, _aads(prefix, number, len(ranges)), out=data)
            for block, (start, end) in enumerate(ranges):
                length += write(nonces[_NONCE * block :][:_NONCE]) + write(data[start:end]) + write(tags[_TAG * block :][:_TAG])
            number += len(ranges)
    return length


def decrypt(
    source: Path | Any, destination: Path | Any, *, key: Key, aad_prefix: Buffer = b"", length: int | None = None, overwrite: bool = False
) -> int:
    """Decrypts an AES GCM Stream; returns the number of bytes of the message.

    source: a path, or a file object that can seek; see `open`.
    destination, overwrite: as for `encrypt`.
    key, aad_prefix, length: as for `open`.
    """
    with opened(source) as file, written(file, destination, overwrite) as write:
        reader, count = _Reader(file, source, key, aad_prefix, length), 0
        while piece := reader.read(_CALL):
            count += write(piece)
    return count


def open(source: Path | Any, *, key: Key, aad_prefix: Buffer = b"", length: int | None = None) -> BinaryIO:
    """A file object of the message of an AES GCM Stream, which reads and seeks; it decrypts the blocks that are read.

    source: a path, or a file object that can seek, of which the whole is the stream.
    key: of 128, 192 or 256 bits.
    aad_prefix: the prefix of the additional data.
    length: the length of the encrypted file in bytes, from where nobody else could change it. Without it, it is not noticed if the last
        blocks of the file are missing.

    AuthenticationError: key or prefix are wrong, or the file was changed or cut. Error: it is no AES GCM Stream.
    """
    with ExitStack() as until_it_is_read:
        file = until_it_is_read.enter_context(opened(source))
        reader = _Reader(file, source, key, aad_prefix, length)
        reader.closes = until_it_is_read.pop_all()
    return cast(BinaryIO, io.BufferedReader(reader, _BLOCK))


class _Reader(io.RawIOBase):
    """The message, read block by block."""

    #: What to close with it.
    closes: ExitStack | None = None

    def __init__(self, file: Any, source: Any, key: Key, aad_prefix: Buffer, length: int | None) -> None:
        self._cipher, self._prefix = Engine("cpu").cipher(key), bytes(memoryview(aad_prefix))
        self._file = file
        self._name = f"{os.fspath(source)}: " if isinstance(source, (str, os.PathLike)) else ""
        self._at = 0
        _, size = span_of(file)
        if length is not None and size != length:
            raise AuthenticationError(f"{self._name}the file has {size} bytes, and its length is {length}: it was changed, or cut")
        file.seek(0)
        header = read(file, _HEADER)
        self._block = int.from_bytes(header[4:], "little")
        whole = self._block + _NONCE + _TAG
        self._count = -(-(size - _HEADER) // whole)
        excess = self._count * (_NONCE + _TAG)
        self._length = size - _HEADER - excess
        is_stream = len(header) == _HEADER and header[:4] == _MAGIC and self._block > 0
        # The last block may be empty only if it is the first.
        if not is_stream or self._count < 1 or self._length < (self._count - 1) * self._block + (self._count > 1):
            raise Error(f"{self._name}it is no AES GCM Stream (AGS1), or is cut")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}
        if whence not in starts:
            raise ValueError(f"whence must be 0, 1 or 2, not {whence!r}")
        start = starts[whence]
        if start + offset < 0:
            raise ValueError(f"the position {start + offset} is before the start of the message")
        self._at = start + offset
        return self._at

    def readall(self) -> bytes:
        pieces = []
        while piece := self.read(_CALL):
            pieces.append(piece)
        return b"".join(pieces)

    def readinto(self, buffer: Any, /) -> int:
        if self.closed:
            raise ValueError("the file is closed")
        view = memoryview(buffer).cast("B")
        # Also an empty message has a block, which is verified.
        if not view or self._at >= max(self._length, 1):
            return 0
        first = self._at // self._block
        last = min((self._at + len(view) - 1) // self._block + 1, first + _MOST, self._count)
        skip = self._at - first * self._block
        message = b"".join(self._plaintexts(first, last))[skip : skip + len(view)]
        view[: len(message)] = message
        self._at += len(message)
        return len(message)

    def _plaintexts(self, first: int, last: int) -> list[memoryview]:
        """The blocks from number `first` to before `last`."""
        whole = self._block + _NONCE + _TAG
        self._file.seek(_HEADER + first * whole)
        # No more than the file has: its header, which is not authenticated, may say that blocks have 4 GiB.
        count = min((last - first) * whole, self._length + self._count * (_NONCE + _TAG) - first * whole)
        data = bytearray(read(self._file, count))
        if len(data) != count:
            raise AuthenticationError(f"{self._name}the file has become shorter since it was opened")
        starts = range(0, len(data), whole)
        ranges = [(start + _NONCE, min(start + whole, len(data)) - _TAG) for start in starts]
        nonces, tags = [data[start - _NONCE : start] for start, _ in ranges], [data[end : end + _TAG] for _, end in ranges]
        try:
            self._cipher.gcm_decrypt_batch(nonces, ranges, data, tags, _aads(self._prefix, first, len(ranges)), out=data)
        except AuthenticationError as error:
            raise AuthenticationError(
                f"{self._name}authentication failed for block {first + error.failed[0]} of {self._count}: "
                "the key or aad_prefix is wrong, or the file was changed"
            ) from None
        return [memoryview(data)[start:end] for start, end in ranges]

    def _descriptor(self) -> int | None:
        """Of the file: what is made from the message is no more open than that."""
        return _descriptor_of(self._file)

    def close(self) -> None:
        # The key goes with it.
        self.__dict__.pop("_cipher", None)
        try:
            if self.closes is not None:
                self.closes.close()
        finally:
            super().close()


def _aads(prefix: bytes, first: int, count: int) -> list[bytes]:
    return [prefix + (first + block).to_bytes(4, "little") for block in range(count)]
