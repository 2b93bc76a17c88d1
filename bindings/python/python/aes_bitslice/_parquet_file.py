"""A Parquet file as its parts, read from an encrypted or a plain one and written as either.

Decryption and encryption are both `write(read(...))`. What the encryption moves or makes longer is written anew: offsets and sizes in the
footer, in page headers and in offset indexes. All else stays byte for byte, also what this version does not know.
The numbers are those of fields in
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Any, NamedTuple

from . import _thrift as thrift
from ._lanes import HostLane
from ._modules import BLOOM_FILTER, BLOOM_HEADER, COLUMN, COLUMN_INDEX, DATA_PAGE, FOOTER, OFFSET_INDEX, Module, Protection
from ._native import AuthenticationError, Cipher, Engine, Key, _ParquetPages, random_bytes
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
#: The most bytes of what is before an encrypted footer: the algorithm, a prefix and the metadata of a key.
_MOST_UNAUTHENTICATED = 1 << 20

#: The key of a column, or of the footer (None), given its metadata; None if there is none.
FindKey = Callable[[str | None, bytes], Key | None]


class KeyAndMetadata(NamedTuple):
    key: Key
    metadata: bytes | None = None


@dataclass
class Chunk:
    """A column of a row group. `fields` are those of `ColumnChunk` without `metadata`, and without those about encryption."""

    row_group: int
    column: int
    fields: Struct
    metadata: Struct = field(default_factory=dict)
    key: Key | None = None
    #: Of the page index and the Bloom filter: the plaintexts.
    parts: dict[int, Any] = field(default_factory=dict)

    @functools.cached_property
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
    #: The bytes of the file.
    data: memoryview

    def every(self) -> list[Chunk]:
        return [chunk for group in self.chunks for chunk in group]

    def paths(self) -> set[str]:
        """The paths of all columns."""
        return {chunk.path for chunk in self.every()}


@dataclass
class Plan:
    """How a file is to be encrypted. `columns` has the columns to encrypt."""

    footer: KeyAndMetadata
    columns: Mapping[str, KeyAndMetadata]
    algorithm: int
    prefix: bytes
    stores_prefix: bool
    plaintext_footer: bool
    #: The bytes that set the additional data of this file apart from those of others.
    unique: bytes = field(default_factory=lambda: random_bytes(UNIQUE))

    def protection(self) -> Protection:
        return Protection(self.prefix + self.unique, self.algorithm == ALGORITHMS["AES_GCM_CTR_V1"])

    def algorithm_field(self) -> tuple[int, Struct]:
        fields: Struct = {2: (BINARY, self.unique)}
        if self.prefix and self.stores_prefix:
            fields[1] = BINARY, self.prefix
        elif self.prefix:
            fields[3] = TRUE, None
        return STRUCT, {self.algorithm: (STRUCT, fields)}


def read(file: Any, find_key: FindKey, algorithm: int, prefix: bytes) -> File:
    """Reads the parts of a file but its pages.

    file: an array of its bytes.
    find_key: finds the keys of what is encrypted.
    algorithm: one of `ALGORITHMS`, which an encrypted file must have.
    prefix: of the additional data, if the file does not have it; to be compared, if it does.
    """
    data = memoryview(file)
    footer, footer_key, protection = _read_footer(data, find_key, algorithm, prefix)

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
        data,
    )
    if protection is not None:
        _read_metadata(read.every(), protection, footer_key, find_key)
    _read_parts(data, read.every(), protection)
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


def _read_footer(data: Any, find_key: FindKey, expected: int, prefix: bytes) -> tuple[Struct, Key | None, Protection | None]:
    """The footer, its key, and how the file is encrypted, if it is."""
    magic, whole = _ends(data)
    # Of an encrypted footer, it is a few names. Nothing authenticates it yet, and in memory it takes many times its bytes.
    first, end = thrift.read(whole[:_MOST_UNAUTHENTICATED] if magic == ENCRYPTED else whole)
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
    protection = Protection((prefix or stored) + unique, number == ALGORITHMS["AES_GCM_CTR_V1"])
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


def _places(chunk: Chunk) -> list[tuple[int, int, Chunk]]:
    """Where the pages of a chunk, if it has any, its Bloom filter and its indexes begin, and their kinds."""
    start, end = pages_of(chunk)
    named = {BLOOM_HEADER: (chunk.metadata, 14), COLUMN_INDEX: (chunk.fields, 6), OFFSET_INDEX: (chunk.fields, 4)}
    places = [(thrift.get(fields, number, I64), kind, chunk) for kind, (fields, number) in named.items() if number in fields]
    return places if start == end else [(start, DATA_PAGE, chunk), *places]


def _read_parts(data: memoryview, chunks: list[Chunk], protection: Protection | None) -> None:
    """Reads the Bloom filters and the indexes of chunks in the order of the file, no byte twice: a small file could otherwise have any
    number of them, or of pages."""
    for chunk in chunks:
        _cut(data, *pages_of(chunk))
    after = 0
    for at, kind, chunk in sorted((place for chunk in chunks for place in _places(chunk)), key=lambda place: place[0]):
        if 0 <= at < after:
            raise Damaged("modules overlap")
        after = _read_part(data, at, kind, chunk, protection)


def _read_part(data: memoryview, at: int, kind: int, chunk: Chunk, protection: Protection | None) -> int:
    """Reads what begins at a byte, if it is not pages; returns the byte after it."""
    if kind == DATA_PAGE:
        return pages_of(chunk)[1]
    if chunk.key is not None and protection is not None:
        for each in (BLOOM_HEADER, BLOOM_FILTER) if kind == BLOOM_HEADER else (kind,):
            frame = protection.frame(each, data, at)
            chunk.parts[each] = protection.open(chunk.key, chunk.module(each), frame)
            at += len(frame)
        return at
    _cut(data, at, at)
    fields, end = thrift.read(data, at)
    chunk.parts[kind] = data[at:end]
    if kind == BLOOM_HEADER:
        start, end = end, end + thrift.get(fields, 1, I32)
        chunk.parts[BLOOM_FILTER] = _cut(data, start, end)
    return end


def _cut(data: memoryview, start: int, end: int) -> memoryview:
    if not 0 <= start <= end <= len(data):
        raise Damaged("an offset or a size is not within the file")
    return data[start:end]


class Written(NamedTuple):
    """A file that is written: magic bytes, pages, and all that comes after them."""

    magic: bytes
    pages: _ParquetPages
    tail: bytes

    @property
    def size(self) -> int:
        return self.pages.end + len(self.tail)

    def whole(self, data: memoryview) -> bytes:
        """Its bytes, made of those of the file that was read."""
        return new_bytes(self.size, lambda memory: self.fill(data, memory))

    def fill(self, data: memoryview, memory: memoryview) -> None:
        """Writes its bytes to memory."""
        memory[: len(self.magic)], memory[self.pages.end :] = self.magic, self.tail
        self.pages.fill(data, memory)
        HostLane().map(lambda _, place: _put_checksum(memory, *place), self.pages.checksums(), 0)

    def part(self, data: memoryview, start: int, memory: memoryview) -> list[slice]:
        """Writes its bytes from `start` on to memory, where pages stay encrypted as they are. Returns the places of what was encrypted, and is not
        there."""
        plaintext = [slice(*place) for place in self.pages.copy(data, start, memory)]
        for at, others in ((0, self.magic), (self.pages.end, self.tail)):
            first, stop = max(at, start), min(at + len(others), start + len(memory))
            if first < stop:
                plaintext.append(slice(first - start, stop - start))
                memory[plaintext[-1]] = others[first - at : stop - at]
        return plaintext


def _put_checksum(memory: memoryview, at: int, start: int, end: int) -> None:
    """Writes that of bytes, as a number of five bytes."""
    checksum = (zlib.crc32(memory[start:end]) ^ 1 << 31) - (1 << 31)
    digits = checksum << 1 ^ checksum >> 31
    memory[at : at + 5] = bytes([digits >> shift & 0x7F | 0x80 for shift in range(0, 28, 7)] + [digits >> 28])


def write(file: File, plan: Plan | None, engine: Engine, checksums: bool = True) -> Written:
    """A file, encrypted as planned or plain.

    engine: where pages are decrypted or encrypted.
    checksums: whether pages that were decrypted have checksums, if they had them.
    """
    protection = None if plan is None else plan.protection()
    magic, every = PLAIN if plan is None or plan.plaintext_footer else ENCRYPTED, file.every()
    of_pages = functools.cache(engine.cipher)

    def how(key: Key | None, protection: Protection | None) -> tuple[Cipher, Cipher, bytes, bool] | None:
        return None if key is None or protection is None else (protection.cipher(key), of_pages(key), *protection.given)

    columns = []
    for chunk in every:
        start, end = pages_of(chunk)
        dictionary_is_first = 11 in chunk.metadata and thrift.get(chunk.metadata, 11, I64) == start
        opens, chunk.key = chunk.key, plan.columns[chunk.path].key if plan is not None and chunk.path in plan.columns else None
        protections = how(opens, file.protection), how(chunk.key, protection)
        columns.append((chunk, (chunk.row_group, chunk.column), (start, end), dictionary_is_first, *protections))
    pages = _ParquetPages(file.data, columns, first=len(magic), most=MOST, checksums=checksums)
    tail = _Tail(pages.end, protection)
    for chunk, (start, size, uncompressed, has_dictionary, first) in zip(every, pages.places(), strict=True):
        chunk.metadata.pop(10, None)
        chunk.metadata.pop(11, None)
        if has_dictionary:
            chunk.metadata[11] = I64, start
        chunk.metadata[9], chunk.metadata[6], chunk.metadata[7] = (I64, first or 0), (I64, uncompressed), (I64, size)
        chunk.fields[2] = I64, 0
    for chunk in every:
        if BLOOM_HEADER in chunk.parts:
            start = tail.at
            tail.put_module(chunk, BLOOM_HEADER, chunk.parts[BLOOM_HEADER])
            tail.put_module(chunk, BLOOM_FILTER, chunk.parts[BLOOM_FILTER])
            chunk.metadata[14], chunk.metadata[15] = (I64, start), (I32, tail.at - start)
    for chunk in every:
        if COLUMN_INDEX in chunk.parts:
            chunk.fields[6] = I64, tail.at
            chunk.fields[7] = I32, tail.put_module(chunk, COLUMN_INDEX, chunk.parts[COLUMN_INDEX])
    for number, chunk in enumerate(every):
        if OFFSET_INDEX in chunk.parts:
            index = thrift.read(chunk.parts[OFFSET_INDEX])[0]
            moved = {at: (start, size) for at, start, size in pages.moved(number)}
            for place in thrift.structs(index, 1):
                if thrift.get(place, 1, I64) not in moved:
                    raise Damaged(f"the offset index of column {chunk.path} points to no page")
                start, size = moved[place[1][1]]
                place[1], place[2] = (I64, start), (I32, size)
            chunk.fields[4] = I64, tail.at
            chunk.fields[5] = I32, tail.put_module(chunk, OFFSET_INDEX, thrift.write(index))
    footer = _footer(file, plan, protection)
    tail.put(footer + len(footer).to_bytes(4, "little") + magic)
    return Written(magic, pages, b"".join(tail.parts))


class _Tail:
    """What comes after the pages, and where it ends in the file."""

    def __init__(self, at: int, seals: Protection | None) -> None:
        self.at, self.parts = at, list[Any]()
        self._seals = seals

    def put(self, data: Any) -> None:
        self.parts.append(data)
        self.at += len(data)

    def put_module(self, chunk: Chunk, kind: int, plaintext: Any) -> int:
        """Puts a module, in a frame if its chunk is to be encrypted; returns the number of bytes."""
        start = self.at
        self.put(plaintext if chunk.key is None or self._seals is None else self._seals.sealed(chunk.key, chunk.module(kind), plaintext))
        if self.at - start > MOST:
            raise ValueError(f"{chunk.module(kind)} would have {self.at - start} bytes, and the format has room for {MOST}: write smaller pages")
        return self.at - start


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
        # Metadata of its own is for the column's readers, also beside the key of the footer.
        as_footer = own.key == plan.footer.key and own.metadata in (None, plan.footer.metadata)
        if as_footer:
            chunk.fields[8] = STRUCT, {1: (STRUCT, {})}
        else:
            of_key = {1: chunk.metadata[3]} | ({} if own.metadata is None else {2: (BINARY, own.metadata)})
            chunk.fields[8] = STRUCT, {2: (STRUCT, of_key)}
        if as_footer and not plan.plaintext_footer:
            continue
        chunk.fields[9] = BINARY, protection.sealed(own.key, chunk.module(COLUMN), thrift.write(chunk.metadata))
        del chunk.fields[3]
        if plan.plaintext_footer:
            # What readers without the key need to pass over the column; no statistics.
            chunk.fields[3] = STRUCT, {number: value for number, value in chunk.metadata.items() if number in _NOT_SECRET}


#: Of `ColumnMetaData`: type, encodings, path, codec, number of values, sizes and offsets.
_NOT_SECRET = (1, 2, 3, 4, 5, 6, 7, 9, 11)
