"""The modules of an encrypted Parquet file: their frames, and their additional data.

The format: https://github.com/apache/parquet-format/blob/master/Encryption.md, sections 4 and 5.1. A frame is 4 bytes of
length (little-endian), a nonce of 12 bytes, the ciphertext, and, except for pages under AES_GCM_CTR_V1, a tag of 16.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy

from ._native import AuthenticationError, Cipher, Engine, GcmDecryptBatch, Key, Ranges, random_bytes
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
PAGES, _NUMBERED = (DATA_PAGE, DICTIONARY_PAGE), (DATA_PAGE, DATA_PAGE_HEADER)
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
        """The last part of its additional data (section 4.4.2)."""
        whole = struct.pack("<BHHH", self.kind, self.row_group, self.column, self.page)
        return whole[:1] if self.kind == FOOTER else whole if self.kind in _NUMBERED else whole[:5]

    def __str__(self) -> str:
        if self.kind == FOOTER:
            return "the footer"
        number = f" {self.page}" if self.kind in _NUMBERED else ""
        return f"the {KINDS[self.kind]}{number} of column {self.path} in row group {self.row_group}"


class Added(NamedTuple):
    """A module that is to be decrypted with others in one call: the place of its plaintext, where its frame begins, the bytes of the plaintext."""

    place: int
    at: int
    size: int
    module: Module
    key: Key


class Protection:
    """The encryption of one file: engine, algorithm, and the additional data that all its modules share.

    engine: where the bodies of pages are computed; all else is small, and the CPU's.
    """

    def __init__(self, engine: Engine, aad: bytes, pages_by_ctr: bool) -> None:
        self._engine, self._aad, self._pages_by_ctr = engine, aad, pages_by_ctr
        # The cipher of a key takes time to make.
        self._of_pages, self._of_others = functools.cache(engine.cipher), functools.cache(Engine("cpu").cipher)

    def on(self, engine: Engine) -> Protection:
        """That of other modules of the file, on another engine."""
        return Protection(engine, self._aad, self._pages_by_ctr)

    def tag(self, kind: int) -> int:
        """The bytes of the tag of a module."""
        return 0 if self._pages_by_ctr and kind in PAGES else TAG

    def frame(self, kind: int, data: memoryview, at: int) -> memoryview:
        """The frame of a module that begins at byte `at`."""
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        if at < 0 or end - at < HEAD + self.tag(kind) or end > len(data):
            raise Damaged(f"the frame of a {KINDS[kind]} is cut or is none")
        return data[at:end]

    def ciphertext(self, kind: int, frame: memoryview) -> memoryview:
        """That of a frame: as many bytes as the plaintext."""
        return frame[HEAD : len(frame) - self.tag(kind)]

    def open(self, key: Key, module: Module, frame: memoryview, out: Any = None) -> bytes | Any:
        """Decrypts a frame to memory, which may be that of its ciphertext, or to new bytes. Any number of threads may do so.

        AuthenticationError: the key is wrong, or the module was changed.
        """
        nonce, ciphertext, cipher = frame[4:HEAD], self.ciphertext(module.kind, frame), self._cipher(key, module)
        if self.tag(module.kind) == 0:
            return cipher.ctr(_first_counter(nonce), ciphertext, out=out)
        try:
            return cipher.gcm_decrypt(nonce, ciphertext, frame[-TAG:], self._aad + module.suffix(), out=out)
        except AuthenticationError:
            raise AuthenticationError(f"authentication failed for {module}: the key or aad_prefix is wrong, or the file was changed") from None

    def seal(self, key: Key, module: Module, plaintext: Any, frame: memoryview) -> None:
        """Encrypts a plaintext to memory for its frame, under a random nonce. Any number of threads may do so."""
        nonce, out, cipher = random_bytes(HEAD - 4), self.ciphertext(module.kind, frame), self._cipher(key, module)
        frame[:HEAD] = (len(frame) - 4).to_bytes(4, "little") + nonce
        if self.tag(module.kind) == 0:
            cipher.ctr(_first_counter(nonce), plaintext, out=out)
        else:
            frame[-TAG:] = cipher.gcm_encrypt(nonce, plaintext, self._aad + module.suffix(), out=out)[1]

    def opened(self, key: Key, module: Module, frame: bytes) -> bytes:
        """The plaintext of a frame that is not in the file's data."""
        whole = memoryview(frame)
        if len(self.frame(module.kind, whole, 0)) != len(whole):
            raise Damaged(f"{module} is not one frame")
        return bytes(self.open(key, module, whole))

    def sealed(self, key: Key, module: Module, plaintext: bytes) -> bytes:
        """The frame of a plaintext."""
        frame = bytearray(HEAD + len(plaintext) + self.tag(module.kind))
        self.seal(key, module, plaintext, memoryview(frame))
        return bytes(frame)

    def signature(self, key: Key, footer: bytes, nonce: bytes) -> bytes:
        """The nonce and the tag of a footer that stays plaintext (section 5.5)."""
        module = Module(FOOTER)
        _, tag = self._cipher(key, module).gcm_encrypt(nonce, footer, self._aad + module.suffix())
        return nonce + bytes(tag)

    def decrypt_in(self, file: Any, data: Any, out: Any, added: Iterable[Added]) -> None:
        """Decrypts these modules in any memory of the engine; nonces and tags are from an array of the file's bytes. Any number of threads may
        do so."""
        for key, by_ctr, places, starts, sizes, modules in self._groups(added):
            nonces, ranges = file[_columns(starts + 4, 12)], Ranges(places, sizes)
            if by_ctr:
                self._ctr(key, nonces, ranges, data, out)
                continue
            operation = GcmDecryptBatch(nonces, ranges, file[_columns(starts + HEAD + sizes, TAG)], self._aads(modules))
            try:
                self._of_pages(key).run(operation, data, out)
            except AuthenticationError as error:
                first, count = modules[error.failed[0]], len(error.failed)
                raise AuthenticationError(
                    f"authentication failed for {count} of {len(modules)} modules of a key, first for {first}: "
                    "the key or aad_prefix is wrong, or the file was changed"
                ) from None

    def _groups(self, added: Iterable[Added]) -> Iterator[tuple[Key, bool, Any, Any, Any, tuple[Module, ...]]]:
        """By key and mode, ascending: places of plaintexts, where frames begin, the sizes of the plaintexts, and what they are."""
        groups: dict[tuple[Key, bool], list[Added]] = {}
        for each in added:
            groups.setdefault((each.key, self.tag(each.module.kind) == 0), []).append(each)
        for (key, by_ctr), modules in groups.items():
            modules.sort(key=lambda module: module.place)
            *numbers, what, _ = zip(*modules, strict=True)
            places, starts, sizes = numpy.array(numbers, numpy.int64)
            yield key, by_ctr, places, starts, sizes, what

    def _cipher(self, key: Key, module: Module) -> Cipher:
        return (self._of_pages if module.kind in PAGES else self._of_others)(key)

    def _aads(self, modules: Iterable[Module]) -> list[bytes]:
        return [self._aad + module.suffix() for module in modules]

    def _ctr(self, key: Key, nonces: Any, ranges: Ranges, data: Any, out: Any) -> None:
        """CTR, whose first counter is 1 (section 4.2.2)."""
        counters: Any = numpy.zeros((len(nonces), 16), numpy.uint8)
        counters[:, :12], counters[:, 15] = nonces, 1
        keys = numpy.tile(numpy.frombuffer(key.expose(), numpy.uint8), (len(nonces), 1))
        try:
            self._engine.run_jobs("ctr", keys, ranges, data, counters=counters, out=out)
        finally:
            keys[:] = 0


def _columns(starts: Any, count: int) -> Any:
    """The positions of `count` bytes from each of `starts` on, a row for each."""
    return starts[:, None] + numpy.arange(count)


def _first_counter(nonce: Any) -> bytes:
    """That of CTR (section 4.2.2)."""
    return bytes(nonce) + (1).to_bytes(4, "big")
