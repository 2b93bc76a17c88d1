"""The modules of an encrypted Parquet file: their frames, their additional data, and all of a key in one call.

The format: https://github.com/apache/parquet-format/blob/master/Encryption.md, sections 4 and 5.1. A frame is 4 bytes of
length (little-endian), a nonce of 12 bytes, the ciphertext, and, except for pages under AES_GCM_CTR_V1, a tag of 16.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy

from ._native import AuthenticationError, Engine, GcmDecryptBatch, GcmEncryptBatch, Key, Ranges, UnavailableError, random_bytes
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
    """A module that is to be encrypted or decrypted: the place of its plaintext, where its frame begins, the bytes of the plaintext."""

    place: int
    at: int
    size: int
    module: Module
    key: Key


class Protection:
    """The encryption of one file: engine, algorithm, and the additional data that all its modules share.

    Modules are added with the places of their frames, and then encrypted or decrypted, all of a key in one call.
    """

    def __init__(self, engine: Engine, aad: bytes, pages_by_ctr: bool) -> None:
        self._engine, self._aad, self._pages_by_ctr = engine, aad, pages_by_ctr
        self._added: list[Added] = []
        #: The cipher of a key, which takes time to make.
        self.cipher = functools.cache(engine.cipher)

    def on(self, engine: Engine) -> Protection:
        """That of other modules of the file, on another engine."""
        return Protection(engine, self._aad, self._pages_by_ctr)

    def tag(self, kind: int) -> int:
        """The bytes of the tag of a module."""
        return 0 if self._pages_by_ctr and kind in PAGES else TAG

    def add(self, key: Key, module: Module, at: int, size: int, place: int | None = None) -> None:
        """Adds a module whose frame begins at byte `at` of the file, and whose plaintext has `size` bytes, from byte `place` of the memory
        where calls work on; by default as in the file."""
        if max(module.row_group, module.column, module.page) >= 1 << 15 or module.row_group < 0:
            raise ValueError(f"{module} has a number of more than 15 bits, which the format has no room for: write fewer row groups, or larger pages")
        self._added.append(Added(at + HEAD if place is None else place, at, size, module, key))

    def taken(self) -> list[Added]:
        """What was added, no longer to be encrypted or decrypted with what is added next."""
        added, self._added = self._added, []
        return added

    def decrypt(self, file: Any, memory: Any) -> None:
        """Decrypts what was added, from an array of bytes to another, or in place: the plaintext is where the ciphertext is.

        AuthenticationError: a key is wrong, or a module was changed.
        """
        with _working_memory(self._engine, file, memory) as (data, out):
            self.decrypt_in(file, data, out, self.taken())

    def decrypt_in(self, file: Any, data: Any, out: Any, added: Iterable[Added]) -> None:
        """Decrypts these modules in any memory of the engine; nonces and tags are from an array of the file's bytes. Any number of threads may
        do so."""
        for key, by_ctr, places, starts, sizes, modules in self._groups(added):
            if (places[1:] < (places + sizes)[:-1]).any():
                raise Damaged("modules overlap")
            nonces, ranges = file[_columns(starts + 4, 12)], Ranges(places, sizes)
            if by_ctr:
                self._ctr(key, nonces, ranges, data, out)
                continue
            operation = GcmDecryptBatch(nonces, ranges, file[_columns(starts + HEAD + sizes, TAG)], self._aads(modules))
            try:
                self.cipher(key).run(operation, data, out)
            except AuthenticationError as error:
                first, count = modules[error.failed[0]], len(error.failed)
                raise AuthenticationError(
                    f"authentication failed for {count} of {len(modules)} modules of a key, first for {first}: "
                    "the key or aad_prefix is wrong, or the file was changed"
                ) from None

    def encrypt(self, memory: Any) -> None:
        """Encrypts what was added, in an array of bytes, and writes lengths, random nonces and tags around it."""
        frames = []
        with _working_memory(self._engine, memory, memory) as (data, _):
            for key, by_ctr, _, starts, sizes, modules in self._groups(self.taken()):
                nonces = numpy.frombuffer(random_bytes(12 * len(starts)), numpy.uint8).reshape(-1, 12)
                lengths = (12 + sizes + (0 if by_ctr else TAG)).astype("<u4").view(numpy.uint8).reshape(-1, 4)
                frames.append((starts, numpy.concatenate([lengths, nonces], axis=1)))
                ranges = Ranges(starts + HEAD, sizes)
                if by_ctr:
                    self._ctr(key, nonces, ranges, data, data)
                    continue
                operation = GcmEncryptBatch(nonces, ranges, self._aads(modules))
                _, tags = self.cipher(key).run(operation, data, data)
                frames.append((starts + HEAD + sizes, numpy.frombuffer(bytes(tags), numpy.uint8).reshape(-1, TAG)))
        for places, values in frames:
            memory[_columns(places, values.shape[1])] = values

    def encrypted(self, modules: Iterable[tuple[Key, Module, bytes]]) -> list[bytes]:
        """The frames of single modules."""
        memory, places = bytearray(), []
        for key, module, plaintext in modules:
            start = len(memory)
            self.add(key, module, start, len(plaintext))
            memory += bytes(HEAD) + plaintext + bytes(self.tag(module.kind))
            places.append(slice(start, len(memory)))
        self.encrypt(numpy.frombuffer(memory, numpy.uint8))
        return [bytes(memory[place]) for place in places]

    def decrypted(self, modules: Iterable[tuple[Key, Module, bytes]]) -> list[bytes]:
        """The plaintexts of single modules, of which the frames are given."""
        memory, places = bytearray(), []
        for key, module, frame in modules:
            start = len(memory)
            size, end = self.frame(module.kind, frame, 0)
            if end != len(frame):
                raise Damaged(f"{module} is not one frame")
            self.add(key, module, start, size)
            memory += frame
            places.append(slice(start + HEAD, start + HEAD + size))
        array = numpy.frombuffer(memory, numpy.uint8)
        self.decrypt(array, array)
        return [bytes(memory[place]) for place in places]

    def signature(self, key: Key, footer: bytes, nonce: bytes) -> bytes:
        """The nonce and the tag of a footer that stays plaintext (section 5.5)."""
        _, tag = self.cipher(key).gcm_encrypt(nonce, footer, self._aad + Module(FOOTER).suffix())
        return nonce + bytes(tag)

    def frame(self, kind: int, data: Any, at: int) -> tuple[int, int]:
        """Of the frame that begins at byte `at`: the number of bytes of the plaintext, and the byte after the frame."""
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        size = end - at - HEAD - self.tag(kind)
        if at < 0 or size < 0 or end > len(data):
            raise Damaged(f"the frame of a {KINDS[kind]} is cut or is none")
        return size, end

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


@contextmanager
def _working_memory(engine: Engine, data: Any, out: Any) -> Iterator[tuple[Any, Any]]:
    """Where the calls work: from one array to the other, or in place in a copy in the memory of the engine's GPU."""
    if not engine.devices:
        yield data, out
        return
    try:
        import torch
    except ImportError:
        raise UnavailableError("on a GPU, Parquet needs PyTorch, which holds the file there: install torch, or use Engine('cpu')") from None
    if out is not data:
        # PyTorch takes no memory that may not be written.
        out[:] = data
    host = torch.from_numpy(out)
    on_gpu = host.to(f"cuda:{engine.devices[0]}")
    yield on_gpu, on_gpu
    host.copy_(on_gpu)
