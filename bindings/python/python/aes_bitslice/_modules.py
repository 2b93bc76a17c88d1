"""The modules of an encrypted Parquet file: their frames, and their additional data.

The format: https://github.com/apache/parquet-format/blob/master/Encryption.md, sections 4 and 5.1. A frame is 4 bytes of
length (little-endian), a nonce of 12 bytes, the ciphertext, and, except for pages under AES_GCM_CTR_V1, a tag of 16.
Those of pages and their headers are `_ParquetPages`'.
"""

from __future__ import annotations

import functools
import struct
from typing import NamedTuple

from ._native import AuthenticationError, Engine, Key
from ._thrift import Damaged

#: The kinds of modules, by their numbers in the format.
KINDS = (
    "footer", "column metadata", "data page", "dictionary page", "data page header", "dictionary page header",
    "column index", "offset index", "Bloom filter header", "Bloom filter",
)  # fmt: skip
(
    FOOTER, COLUMN, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_HEADER, DICTIONARY_PAGE_HEADER,
    COLUMN_INDEX, OFFSET_INDEX, BLOOM_HEADER, BLOOM_FILTER,
) = range(10)  # fmt: skip
#: Bytes of a frame before the ciphertext, and of a tag after it.
HEAD, TAG = 16, 16


class Module(NamedTuple):
    """What a module is, and where in the file it belongs."""

    kind: int
    row_group: int = 0
    column: int = 0
    page: int = 0
    path: str = ""

    def suffix(self) -> bytes:
        """The last part of its additional data (section 4.4.2), if it is no page and no header of one."""
        return struct.pack("<BHH", self.kind, self.row_group, self.column)[: 1 if self.kind == FOOTER else 5]

    def __str__(self) -> str:
        if self.kind == FOOTER:
            return "the footer"
        number = f" {self.page}" if self.kind in (DATA_PAGE, DATA_PAGE_HEADER) else ""
        return f"the {KINDS[self.kind]}{number} of column {self.path} in row group {self.row_group}"


class Protection:
    """The encryption of one file: the additional data that all its modules share, and the algorithm. The CPU computes what is not pages."""

    def __init__(self, aad: bytes, pages_by_ctr: bool) -> None:
        #: As it is given to `_ParquetPages`.
        self.given = aad, pages_by_ctr
        # The cipher of a key takes time to make.
        self.cipher = functools.cache(Engine("cpu").cipher)

    def frame(self, kind: int, data: memoryview, at: int) -> memoryview:
        """The frame of a module that begins at byte `at`."""
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        if at < 0 or end - at < HEAD + TAG or end > len(data):
            raise Damaged(f"the frame of a {KINDS[kind]} is cut or is none")
        return data[at:end]

    def open(self, key: Key, module: Module, frame: memoryview) -> bytes:
        """The plaintext of a frame.

        AuthenticationError: the key is wrong, or the module was changed.
        """
        try:
            return bytes(self.cipher(key).gcm_decrypt(frame[4:HEAD], frame[HEAD:-TAG], frame[-TAG:], self._aad(module)))
        except AuthenticationError:
            raise not_authentic(str(module)) from None

    def opened(self, key: Key, module: Module, frame: bytes) -> bytes:
        """The plaintext of a frame that is not in the file's data."""
        whole = memoryview(frame)
        if len(self.frame(module.kind, whole, 0)) != len(whole):
            raise Damaged(f"{module} is not one frame")
        return self.open(key, module, whole)

    def sealed(self, key: Key, module: Module, plaintext: bytes) -> bytes:
        """The frame of a plaintext, under a random nonce."""
        frame = b"".join(self.cipher(key).gcm_encrypt_with_random_nonce(plaintext, self._aad(module)))
        return len(frame).to_bytes(4, "little") + frame

    def signature(self, key: Key, footer: bytes, nonce: bytes) -> bytes:
        """The nonce and the tag of a footer that stays plaintext (section 5.5)."""
        _, tag = self.cipher(key).gcm_encrypt(nonce, footer, self._aad(Module(FOOTER)))
        return nonce + bytes(tag)

    def _aad(self, module: Module) -> bytes:
        return self.given[0] + module.suffix()


def not_authentic(what: str) -> AuthenticationError:
    return AuthenticationError(f"authentication failed for {what}: the key or aad_prefix is wrong, or the file was changed")
