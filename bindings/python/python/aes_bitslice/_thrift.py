"""Structures in Thrift's compact protocol, read and written without a schema.

The protocol names the type of every value, so a structure is read whole, also fields that this version does not know,
and written again byte for byte. Generated code would drop them, and a footer without a field is another footer.

A structure is a dictionary: by the number of a field, the type and the value. Values are int, float, bytes, a structure,
or, for lists, sets and maps, the types and values of their elements.
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

import struct
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_UUID = 13

Struct = dict[int, tuple[int, Any]]


class Damaged(Exception):
    """What is no structure, or lacks what it must have."""


def read(data: Any, at: int = 0) -> tuple[Struct, int]:
    """The structure that begins at a byte of `data`, bytes or a view of bytes, and the byte after it."""
    try:
        return _struct(data, at)
    except (IndexError, KeyError, struct.error, RecursionError):
        raise Damaged("a structure is cut or is none") from None


def write(value: Struct) -> bytes:
    """The bytes of a structure."""
    out = bytearray()
    try:
        _write_struct(out, value)
    except RecursionError:
        raise Damaged("a structure is too deep") from None
    return bytes(out)


def get(value: Struct, number: int, kind: int) -> Any:
    """The value of a field that must be there."""
    found = value.get(number)
    if found is None or found[0] != kind:
        raise Damaged(f"a structure has no field {number} of type {kind}")
    return found[1]


def structs(value: Struct, number: int) -> list[Struct]:
    """The structures of a list that must be there."""
    of, elements = get(value, number, LIST)
    if of != STRUCT and elements:
        raise Damaged(f"field {number} is no list of structures")
    return list(elements)


def _varint(data: Any, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while shift < 70:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at + 1
        shift += 7
    raise IndexError


def _integer(data: Any, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at


def _fixed(count: int) -> Any:
    def read(data: Any, at: int) -> tuple[bytes, int]:
        if at + count > len(data):
            raise IndexError
        return bytes(data[at : at + count]), at + count

    return read


def _binary(data: Any, at: int) -> tuple[bytes, int]:
    count, at = _varint(data, at)
    value: tuple[bytes, int] = _fixed(count)(data, at)
    return value


def _list(data: Any, at: int) -> tuple[Any, int]:
    kind, count, at = data[at] & 15, data[at] >> 4, at + 1
    if count == 15:
        count, at = _varint(data, at)
    one, values = _READ[kind], []
    for _ in range(count):
        value, at = one(data, at)
        values.append(value)
    return (kind, values), at


def _map(data: Any, at: int) -> tuple[Any, int]:
    count, at = _varint(data, at)
    if count == 0:
        return (0, []), at
    kinds, at, values = data[at], at + 1, []
    for _ in range(count):
        key, at = _READ[kinds >> 4](data, at)
        value, at = _READ[kinds & 15](data, at)
        values.append((key, value))
    return (kinds, values), at


def _struct(data: Any, at: int) -> tuple[Struct, int]:
    fields: Struct = {}
    number = 0
    while True:
        byte = data[at]
        at += 1
        if byte == 0:
            return fields, at
        kind = byte & 15
        if byte >> 4:
            number += byte >> 4
        else:
            number, at = _integer(data, at)
        # A boolean is in its type.
        value = None
        if kind not in (TRUE, FALSE):
            value, at = _READ[kind](data, at)
        fields[number] = kind, value


#: By the type of a value outside the head of a field; a boolean there is a byte.
_READ: dict[int, Any] = {
    TRUE: _fixed(1), FALSE: _fixed(1), BYTE: _fixed(1), I16: _integer, I32: _integer, I64: _integer, DOUBLE: _fixed(8),
    BINARY: _binary, LIST: _list, SET: _list, MAP: _map, STRUCT: _struct, _UUID: _fixed(16),
}  # fmt: skip


def _write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_value(out: bytearray, kind: int, value: Any) -> None:
    if kind in (I16, I32, I64):
        _write_varint(out, value << 1 ^ value >> 63)
    elif kind == STRUCT:
        _write_struct(out, value)
    elif kind == BINARY:
        _write_varint(out, len(value))
        out += value
    elif kind in (LIST, SET):
        of, values = value
        out.append(min(len(values), 15) << 4 | of)
        if len(values) >= 15:
            _write_varint(out, len(values))
        for each in values:
            _write_value(out, of, each)
    elif kind == MAP:
        kinds, pairs = value
        _write_varint(out, len(pairs))
        if pairs:
            out.append(kinds)
        for pair in pairs:
            for of, each in zip((kinds >> 4, kinds & 15), pair, strict=True):
                _write_value(out, of, each)
    else:
        out += value


def _write_struct(out: bytearray, fields: Struct) -> None:
    last = 0
    for number in sorted(fields):
        kind, value = fields[number]
        if 0 < number - last < 16:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            _write_varint(out, number << 1 ^ number >> 63)
        if kind > FALSE:
            _write_value(out, kind, value)
        last = number
    out.append(0)
