"""A Parquet file as its parts, read from an encrypted or a plain one and written as either.

Decryption and encryption are both `write(read(...))`. What the encryption moves or makes longer is written anew: offsets and sizes in the
footer, in page headers and in offset indexes. All else stays byte for byte, also what this version does not know.
The numbers are those of fields in
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from hmac import compare_digest
from typing import Any, NamedTuple

import numpy

from . import _thrift as thrift
from ._lanes import HostLane
from ._modules import (
    BLOOM_FILTER, BLOOM_HEADER, COLUMN, COLUMN_INDEX, DATA_PAGE, DATA_PAGE_HEADER, DICTIONARY_PAGE, DICTIONARY_PAGE_HEADER, FOOTER, HEAD,
    OFFSET_INDEX, Module, Protection,
)  # fmt: skip
from ._native import AuthenticationError, Engine, Key, random_bytes
from ._new_bytes import new_bytes
from ._thrift import BINARY, FALSE, I16, I32, I64, LIST, STRUCT, TRUE, Damaged, Struct

PLAIN, ENCRYPTED = b"PAR1", b"PARE"
#: The fields of the union `EncryptionAlgorithm`.
ALGORITHMS = {"AES_GCM_V1": 1, "AES_GCM_CTR_V1": 2}
_NAMES = {number: name for name, number in ALGORITHMS.items()}
#: Bytes of the additional data that are random for each file, as all writers make them.
UNIQUE = 8
#: The most bytes of a module in the file: what the format numbers in 32 bits, with a sign.
MOST = (1 << 31) - 1
#: Bytes of a part below which other threads would take longer to begin with it.
_SMALL = 4 << 10
#: The type of a page, and the last field of `PageHeader` that is looked at, which is a checksum.
_IS_DICTIONARY, _CHECKSUM = 2, 4

#: The key of a column, or of the footer (None), given its metadata; None if there is none.
FindKey = Callable[[str | None, bytes], Key | None]


class KeyAndMetadata(NamedTuple):
    key: Key
    metadata: bytes | None = None


class Sealed(NamedTuple):
    """What the body of a page that is still encrypted has: its key, what it is, its frame, and where that begins."""

    key: Key
    module: Module
    frame: memoryview
    at: int


@dataclass
class Page:
    at: int
    header: Struct
    body: Any
    sealed: Sealed | None = None
    #: Where the body is in the file that was written.
    written: int = 0

    @property
    def is_dictionary(self) -> bool:
        return bool(thrift.get(self.header, 1, I32) == _IS_DICTIONARY)

    @property
    def has_checksum(self) -> bool:
        return _CHECKSUM in self.header


@dataclass
class Chunk:
    """A column of a row group. `fields` are those of `ColumnChunk` without `metadata`, and without those about encryption."""

    row_group: int
    column: int
    fields: Struct
    metadata: Struct = field(default_factory=dict)
    key: Key | None = None
    pages: list[Page] = field(default_factory=list)
    #: Of the page index and the Bloom filter: the plaintexts.
    parts: dict[int, Any] = field(default_factory=dict)

    @cached_property
    def path(self) -> str:
        of, names = thrift.get(self.metadata, 3, LIST)
        if of != BINARY:
            raise Damaged("the path of a column is no list of names")
        return b".".join(names).decode(errors="replace")

    def module(self, kind: int, page: int = 0) -> Module:
        module = Module(kind, self.row_group, self.column, page, self.path)
        if max(self.row_group, self.column, page) >= 1 << 15 or self.row_group < 0:
            raise ValueError(f"{module} has a number of more than 15 bits, which the format has no room for: write fewer row groups, or larger pages")
        return module


@dataclass
class File:
    footer: Struct
    #: By row group.
    chunks: list[list[Chunk]]
    #: How it was encrypted, if it was.
    protection: Protection | None

    def paths(self) -> set[str]:
        """The paths of all columns."""
        return {chunk.path for group in self.chunks for chunk in group}

    def pages(self) -> list[Page]:
        return [page for group in self.chunks for chunk in group for page in chunk.pages]

    def open(self, pages: Iterable[Page], memory: Callable[[Page], Any]) -> None:
        """Decrypts the bodies of these pages that are still encrypted, each to `memory`, which may be where it is."""

        def opened(_: HostLane, page: Page) -> None:
            if page.sealed is not None and self.protection is not None:
                key, module, frame = page.sealed[:3]
                page.body, page.sealed = self.protection.open(key, module, frame, memory(page)), None

        HostLane().map(opened, list(pages), 0)


@dataclass
class Plan:
    """How a file is to be encrypted. `columns` has the columns to encrypt."""

    engine: Engine
    footer: KeyAndMetadata
    columns: Mapping[str, KeyAndMetadata]
    algorithm: int
    prefix: bytes
    stores_prefix: bool
    plaintext_footer: bool
    #: The bytes that set the additional data of this file apart from those of others.
    unique: bytes = field(default_factory=lambda: random_bytes(UNIQUE))

    def protection(self) -> Protection:
        return Protection(self.engine, self.prefix + self.unique, self.algorithm == ALGORITHMS["AES_GCM_CTR_V1"])

    def algorithm_field(self) -> tuple[int, Struct]:
        fields: Struct = {2: (BINARY, self.unique)}
        if self.prefix and self.stores_prefix:
            fields[1] = BINARY, self.prefix
        elif self.prefix:
            fields[3] = TRUE, None
        return STRUCT, {self.algorithm: (STRUCT, fields)}


def read(file: Any, find_key: FindKey, algorithm: int, prefix: bytes, engine: Engine) -> File:
    """Reads the parts of a file. They are views of the array; bodies of pages that are encrypted stay so.

    file: an array of its bytes.
    find_key: finds the keys of what is encrypted.
    algorithm: one of `ALGORITHMS`, which an encrypted file must have.
    prefix: of the additional data, if the file does not have it; to be compared, if it does.
    engine: where bodies are decrypted later.
    """
    data = memoryview(file)
    footer, footer_key, protection = _read_footer(data, find_key, algorithm, prefix, engine)

    def row_group(number: int, group: Struct) -> int:
        # Nothing depends yet on the number that a plain file gives, which other groups may have, too.
        return thrift.get(group, 7, I16) if protection is not None and 7 in group else number

    read = File(
        footer,
        [
            [_chunk(row_group(number, group), column, fields) for column, fields in enumerate(thrift.structs(group, 1))]
            for number, group in enumerate(thrift.structs(footer, 4))
        ],
        protection,
    )
    every = [chunk for group in read.chunks for chunk in group]
    if protection is not None:
        _read_metadata(every, protection, footer_key, find_key)
    for chunk in every:
        if chunk.key is None or protection is None:
            _read_plain(data, chunk)
        else:
            _read_encrypted(data, chunk, chunk.key, protection)
    frames = sorted((page.sealed.at, page.sealed.at + len(page.sealed.frame)) for page in read.pages() if page.sealed is not None)
    if any(end > start for (_, end), (start, _) in itertools.pairwise(frames)):
        raise Damaged("modules overlap")
    return read


def _ends(data: Any) -> tuple[bytes, Any]:
    """The magic bytes at the end of a file, and the footer, with what belongs to its encryption."""
    magic = bytes(data[-4:])
    if len(data) < 12 or magic not in (PLAIN, ENCRYPTED) or bytes(data[:4]) != magic:
        raise Damaged("it does not begin and end as a Parquet file does")
    length = int.from_bytes(data[-8:-4], "little")
    if length > len(data) - 12:
        raise Damaged("the footer is longer than the file")
    return magic, data[len(data) - 8 - length : len(data) - 8]


def _read_footer(
    data: Any, find_key: FindKey, expected: int, prefix: bytes, engine: Engine
) -> tuple[Struct, Key | None, Protection | None]:
    """The footer, its key, and how the file is encrypted, if it is."""
    magic, whole = _ends(data)
    first, end = thrift.read(whole)
    if magic == PLAIN and 8 not in first:
        return first, None, None
    algorithm, metadata = (1, 2) if magic == ENCRYPTED else (8, 9)
    union: Struct = thrift.get(first, algorithm, STRUCT)
    number = next(iter(union), 0)
    if number not in ALGORITHMS.values():
        raise Damaged(f"its encryption is none of {', '.join(ALGORITHMS)}")
    key = find_key(None, _optional(first, metadata))
    if key is None:
        raise ValueError("there is no key for the footer in keys, whose name there is None")
    # Nothing authenticates these fields yet: what the caller expects counts, whatever else they say.
    if number != expected:
        found, wanted = _NAMES[number], _NAMES[expected]
        raise AuthenticationError(f"the file's algorithm is {found}, not {wanted}: if you know that, give algorithm={found!r}")
    fields: Struct = thrift.get(union, number, STRUCT)
    stored, unique = _optional(fields, 1), _optional(fields, 2)
    to_be_given = fields.get(3, (FALSE, None))[0] == TRUE
    if to_be_given and not prefix:
        raise ValueError("the file does not have the prefix of its additional data: give aad_prefix")
    if prefix and prefix != stored and (stored or not to_be_given):
        raise AuthenticationError("the prefix of the additional data in the file is not aad_prefix: this is another file")
    if prefix and len(unique) != UNIQUE:
        # Otherwise the end of a longer prefix could stand there.
        raise AuthenticationError(f"the part of the additional data that is the file's own has {len(unique)} bytes, not {UNIQUE}")
    protection = Protection(engine, (prefix or stored) + unique, number == ALGORITHMS["AES_GCM_CTR_V1"])
    rest = bytes(whole[end:])
    if magic == ENCRYPTED:
        return thrift.read(protection.opened(key, Module(FOOTER), rest))[0], key, protection
    if not compare_digest(protection.signature(key, bytes(whole[:end]), rest[:12].ljust(12)), rest):
        raise AuthenticationError("the signature of the footer is wrong: the footer's key or aad_prefix is wrong, or the footer was changed")
    return {number: value for number, value in first.items() if number not in (8, 9)}, key, protection


def _optional(fields: Struct, number: int) -> bytes:
    return bytes(thrift.get(fields, number, BINARY)) if number in fields else b""


def _chunk(row_group: int, column: int, fields: Struct) -> Chunk:
    chunk = Chunk(row_group, column, fields)
    if 3 in fields:
        chunk.metadata = thrift.get(fields, 3, STRUCT)
    if 1 in fields:
        raise Damaged("a column is in another file, which is not supported")
    return chunk


def _read_metadata(chunks: list[Chunk], protection: Protection, footer_key: Key | None, find_key: FindKey) -> None:
    """Finds the keys of the columns, and decrypts their metadata."""
    missing: dict[str, None] = {}
    apart: list[tuple[Chunk, Key]] = []
    for chunk in chunks:
        if 8 not in chunk.fields:
            continue
        how = thrift.get(chunk.fields, 8, STRUCT)
        chunk.key = footer_key
        if 1 not in how:
            own = thrift.get(how, 2, STRUCT)
            chunk.metadata = {3: own[1], **chunk.metadata} if 1 in own else chunk.metadata
            chunk.key = find_key(chunk.path, _optional(own, 2))
        if chunk.key is None:
            missing[chunk.path] = None
        elif 9 in chunk.fields:
            apart.append((chunk, chunk.key))
    if missing:
        raise ValueError(f"there is no key in keys for the columns {', '.join(missing)}")
    for chunk, key in apart:
        chunk.metadata = thrift.read(protection.opened(key, chunk.module(COLUMN), thrift.get(chunk.fields, 9, BINARY)))[0]


def pages_of(chunk: Chunk) -> tuple[int, int]:
    """The first byte of the pages of a chunk, and the byte after the last."""
    # The offset of data pages or of a dictionary is 0 where there are none.
    offsets = [thrift.get(chunk.metadata, number, I64) for number in (9, 11) if number in chunk.metadata]
    start = min(filter(None, offsets), default=0)
    return start, start + thrift.get(chunk.metadata, 7, I64)


def _check_end(chunk: Chunk, at: int, end: int) -> None:
    """Refuses pages that end elsewhere than the chunk does."""
    if at != end:
        raise Damaged(f"the pages of column {chunk.path} end within one")


def _places(chunk: Chunk) -> dict[int, int]:
    """Where a Bloom filter and the indexes begin, by kind."""
    named = {BLOOM_HEADER: (chunk.metadata, 14), COLUMN_INDEX: (chunk.fields, 6), OFFSET_INDEX: (chunk.fields, 4)}
    return {kind: thrift.get(fields, number, I64) for kind, (fields, number) in named.items() if number in fields}


def _read_encrypted(data: memoryview, chunk: Chunk, key: Key, protection: Protection) -> None:
    """Makes the parts of a chunk that is encrypted."""

    def opened(kind: int, at: int, page: int = 0) -> tuple[bytes, int]:
        frame = protection.frame(kind, data, at)
        return protection.open(key, chunk.module(kind, page), frame), at + len(frame)

    def add(header_kind: int, kind: int, at: int, page: int = 0) -> int:
        header, body = opened(header_kind, at, page)
        frame = protection.frame(kind, data, body)
        sealed = Sealed(key, chunk.module(kind, page), frame, body)
        chunk.pages.append(Page(at, thrift.head(header, _CHECKSUM), protection.ciphertext(kind, frame), sealed))
        return body + len(frame)

    at, end = pages_of(chunk)
    number = 0
    if at < end and 11 in chunk.metadata and thrift.get(chunk.metadata, 11, I64) == at:
        at = add(DICTIONARY_PAGE_HEADER, DICTIONARY_PAGE, at)
    while at < end:
        at = add(DATA_PAGE_HEADER, DATA_PAGE, at, number)
        number += 1
    _check_end(chunk, at, end)
    for kind, at in _places(chunk).items():
        chunk.parts[kind], end = opened(kind, at)
        if kind == BLOOM_HEADER:
            chunk.parts[BLOOM_FILTER], _ = opened(BLOOM_FILTER, end)


def _read_plain(data: Any, chunk: Chunk) -> None:
    """Makes the parts of a chunk that is not encrypted."""

    def cut(start: int, end: int) -> Any:
        if not 0 <= start <= end <= len(data):
            raise Damaged("an offset or a size is not within the file")
        return data[start:end]

    at, end = pages_of(chunk)
    cut(at, end)
    while at < end:
        _, body = thrift.read(data, at)
        header = thrift.head(data[at:body], _CHECKSUM)
        after = body + thrift.get(header, 3, I32)
        chunk.pages.append(Page(at, header, cut(body, after)))
        at = after
    _check_end(chunk, at, end)
    for kind, at in _places(chunk).items():
        cut(at, at)
        fields, end = thrift.read(data, at)
        chunk.parts[kind] = data[at:end]
        if kind == BLOOM_HEADER:
            chunk.parts[BLOOM_FILTER] = cut(end, end + thrift.get(fields, 1, I32))


class Part(NamedTuple):
    """Bytes of a file that is written."""

    place: int
    size: int
    #: What they are, or are made of.
    data: Any
    #: Makes them in memory of their size, from `data`.
    make: Callable[[Any, memoryview], Any]


def whole(parts: list[Part]) -> bytes:
    """The bytes of a file, whose parts are made by several threads."""

    def fill(memory: memoryview) -> None:
        def make(part: Part) -> None:
            part.make(part.data, memory[part.place : part.place + part.size])

        small = [part for part in parts if part.size < _SMALL]
        HostLane().map(lambda _, part: make(part), [part for part in parts if part.size >= _SMALL], 0)
        for part in small:
            make(part)

    return new_bytes(parts[-1].place + parts[-1].size, fill)


def write(file: File, plan: Plan | None) -> list[Part]:
    """A file, encrypted as planned or plain."""
    protection = None if plan is None else plan.protection()
    magic = PLAIN if plan is None or plan.plaintext_footer else ENCRYPTED
    layout = _Layout(file.protection, protection)
    layout.put(magic)
    every = [chunk for group in file.chunks for chunk in group]
    for chunk in every:
        chunk.key = plan.columns[chunk.path].key if plan is not None and chunk.path in plan.columns else None
        layout.put_pages(chunk)
    for chunk in every:
        if BLOOM_HEADER in chunk.parts:
            start = layout.at
            layout.put_module(chunk, BLOOM_HEADER, chunk.parts[BLOOM_HEADER])
            layout.put_module(chunk, BLOOM_FILTER, chunk.parts[BLOOM_FILTER])
            chunk.metadata[14], chunk.metadata[15] = (I64, start), (I32, layout.at - start)
    for chunk in every:
        if COLUMN_INDEX in chunk.parts:
            chunk.fields[6] = I64, layout.at
            chunk.fields[7] = I32, layout.put_module(chunk, COLUMN_INDEX, chunk.parts[COLUMN_INDEX])
    for chunk in every:
        if OFFSET_INDEX in chunk.parts:
            index = thrift.read(chunk.parts[OFFSET_INDEX])[0]
            for place in thrift.structs(index, 1):
                if thrift.get(place, 1, I64) not in layout.moved:
                    raise Damaged(f"the offset index of column {chunk.path} points to no page")
                start, size = layout.moved[place[1][1]]
                place[1], place[2] = (I64, start), (I32, size)
            chunk.fields[4] = I64, layout.at
            chunk.fields[5] = I32, layout.put_module(chunk, OFFSET_INDEX, thrift.write(index))
    footer = _footer(file, plan, protection)
    layout.put(footer + len(footer).to_bytes(4, "little") + magic)
    return layout.parts


class _Layout:
    """The parts of a file, and where they are."""

    def __init__(self, opens: Protection | None, seals: Protection | None) -> None:
        self.at, self.parts = 0, list[Part]()
        self.moved: dict[int, tuple[int, int]] = {}
        """By where a page was: where it is, and how many bytes it has with its header."""
        self._opens, self._seals = opens, seals

    def put(self, data: Any, make: Callable[[Any, memoryview], Any] | None = None, size: int | None = None) -> None:
        """Puts a part, by default the bytes of `data` as they are."""
        self.parts.append(Part(self.at, len(data) if size is None else size, data, make or _copy))
        self.at += self.parts[-1].size

    def put_module(self, chunk: Chunk, kind: int, plaintext: Any, page: int = 0) -> int:
        """Puts a module, in a frame if its chunk is to be encrypted; returns the number of bytes."""
        size = len(plaintext) + self._overhead(chunk, kind)
        if size > MOST:
            raise ValueError(f"{chunk.module(kind, page)} would have {size} bytes, and the format has room for {MOST}: write smaller pages")
        if chunk.key is None or self._seals is None:
            self.put(plaintext)
        else:
            self.put(plaintext, partial(self._seals.seal, chunk.key, chunk.module(kind, page)), size)
        return size

    def _put_body(self, chunk: Chunk, kind: int, page: Page, number: int) -> None:
        if page.sealed is None or self._opens is None:
            self.put_module(chunk, kind, page.body, number)
        else:
            key, module, frame = page.sealed[:3]
            opens = self._opens
            self.put(page.body, lambda _, out: opens.open(key, module, frame, out))

    def put_pages(self, chunk: Chunk) -> None:
        """Puts the pages of a chunk, and tells its metadata where they are and how long."""
        start, uncompressed, number = self.at, 0, 0
        chunk.metadata.pop(10, None)
        chunk.metadata.pop(11, None)
        if chunk.pages and chunk.pages[0].is_dictionary:
            chunk.metadata[11] = I64, start
        for page in chunk.pages:
            kinds = (DICTIONARY_PAGE_HEADER, DICTIONARY_PAGE) if page.is_dictionary else (DATA_PAGE_HEADER, DATA_PAGE)
            header, at = dict(page.header), self.at
            header[3] = I32, len(page.body) + self._overhead(chunk, kinds[1])
            # A checksum is one of the bytes in the file: of ciphertext, it could only be made after the header that has it.
            if header.pop(_CHECKSUM, None) is not None and chunk.key is None and page.sealed is None:
                header[_CHECKSUM] = I32, (zlib.crc32(page.body) ^ 1 << 31) - (1 << 31)
            if not page.is_dictionary and number == 0:
                chunk.metadata[9] = I64, at
            uncompressed += self.put_module(chunk, kinds[0], thrift.write(header), number) + thrift.get(header, 2, I32)
            page.written = self.at
            self._put_body(chunk, kinds[1], page, number)
            self.moved[page.at] = at, self.at - at
            number += not page.is_dictionary
        if number == 0:
            chunk.metadata[9] = I64, 0
        chunk.metadata[6], chunk.metadata[7] = (I64, uncompressed), (I64, self.at - start)
        chunk.fields[2] = I64, 0

    def _overhead(self, chunk: Chunk, kind: int) -> int:
        return 0 if chunk.key is None or self._seals is None else HEAD + self._seals.tag(kind)


def _copy(data: Any, out: memoryview) -> None:
    if len(data) < _SMALL:
        out[:] = data
    else:
        # NumPy lets other threads work meanwhile.
        numpy.copyto(numpy.frombuffer(out, numpy.uint8), numpy.frombuffer(data, numpy.uint8))


def _footer(file: File, plan: Plan | None, protection: Protection | None) -> bytes:
    """The footer for what was written, encrypted or signed as planned."""
    for group, chunks in zip(thrift.structs(file.footer, 4), file.chunks, strict=True):
        for chunk in chunks:
            for about_encryption in (8, 9):
                chunk.fields.pop(about_encryption, None)
            chunk.fields[3] = STRUCT, chunk.metadata
        if plan is not None and protection is not None:
            _protect_metadata(chunks, plan, protection)
        group[1] = LIST, (STRUCT, [chunk.fields for chunk in chunks])
        group[2] = I64, sum(thrift.get(chunk.metadata, 6, I64) for chunk in chunks)
        group[6] = I64, sum(thrift.get(chunk.metadata, 7, I64) for chunk in chunks)
        if chunks:
            group[5], group[7] = (I64, pages_of(chunks[0])[0]), (I16, chunks[0].row_group)
    if plan is None or protection is None:
        return thrift.write(file.footer)
    metadata = {} if plan.footer.metadata is None else {2: (BINARY, plan.footer.metadata)}
    if not plan.plaintext_footer:
        frame = protection.sealed(plan.footer.key, Module(FOOTER), thrift.write(file.footer))
        return thrift.write({1: plan.algorithm_field(), **metadata}) + frame
    signed = {**file.footer, 8: plan.algorithm_field(), **({9: metadata[2]} if metadata else {})}
    footer = thrift.write(signed)
    return footer + protection.signature(plan.footer.key, footer, random_bytes(12))


def _protect_metadata(chunks: list[Chunk], plan: Plan, protection: Protection) -> None:
    """Tells how the columns of a row group are encrypted, and encrypts their metadata where the footer does not."""
    for chunk in chunks:
        if chunk.key is None:
            continue
        own = plan.columns[chunk.path]
        if own.key == plan.footer.key:
            chunk.fields[8] = STRUCT, {1: (STRUCT, {})}
        else:
            of_key = {1: chunk.metadata[3]} | ({} if own.metadata is None else {2: (BINARY, own.metadata)})
            chunk.fields[8] = STRUCT, {2: (STRUCT, of_key)}
        if own.key == plan.footer.key and not plan.plaintext_footer:
            continue
        chunk.fields[9] = BINARY, protection.sealed(own.key, chunk.module(COLUMN), thrift.write(chunk.metadata))
        del chunk.fields[3]
        if plan.plaintext_footer:
            # What readers without the key need to pass over the column; no statistics.
            chunk.fields[3] = STRUCT, {number: value for number, value in chunk.metadata.items() if number in _NOT_SECRET}


#: Of `ColumnMetaData`: type, encodings, path, codec, number of values, sizes and offsets.
_NOT_SECRET = (1, 2, 3, 4, 5, 6, 7, 9, 11)
