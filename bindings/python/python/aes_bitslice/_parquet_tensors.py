"""The plain file of an encrypted Parquet file as a tensor, such as in the memory of a GPU.

    host     header | page, encrypted | header | page, encrypted | ..     as the plain file has them, copied in pieces
    GPU      header | page, decrypted | header | page, decrypted | ..     all of a key in one call, each where it is
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy

from . import _parquet_file as layout
from ._lanes import PART, host_bytes, lanes_to
from ._modules import not_authentic
from ._native import AuthenticationError, Engine, GcmDecryptBatch, Key


def plain_file(file: layout.File, torch: Any, device: Any) -> Any:
    """A tensor of the bytes of the plain file, of a file whose pages are still encrypted."""
    from .torch import _engine, _name

    engine = _engine(_name(device))
    keys = [chunk.key for chunk in file.every()]
    written = layout.write(file, None, Engine("cpu"), checksums=False)
    whole = torch.empty(written.size, dtype=torch.uint8, device=device)
    try:
        if device.type == "cpu":
            written.fill(file.data, host_bytes(whole))
        else:
            _bring(written, file.data, lanes_to(torch, device), whole)
            decrypt(written, file, keys, engine, whole)
            torch.cuda.current_stream(device).synchronize()
    except BaseException:
        whole[:] = 0
        raise
    return whole


def _bring(written: layout.Written, data: memoryview, lanes: Any, whole: Any) -> None:
    """Copies the file to a GPU, with pages that are still encrypted."""

    def brought(lane: Any, start: int) -> None:
        size, plaintext = min(PART, written.size - start), list[slice]()
        try:
            lane.bring(whole[start : start + size], [(0, size, lambda memory: plaintext.extend(written.part(data, start, memory)))])
        finally:
            lane.wipe(plaintext)

    lanes.map(brought, range(0, written.size, PART), min(PART, written.size))


def decrypt(written: layout.Written, file: layout.File, keys: Iterable[Key | None], engine: Engine, out: Any) -> None:
    """Decrypts the pages in any memory of the engine, given the keys of the columns."""
    assert file.protection is not None
    aad, by_ctr = file.protection.given
    columns: dict[Key, list[int]] = {}
    for number, key in enumerate(keys):
        if key is not None:
            columns.setdefault(key, []).append(number)
    for key, numbers in columns.items():
        nonces, tags, aads, ranges = written.pages.encrypted(file.data, numbers)
        if by_ctr:
            _ctr(engine, key, nonces, ranges, out)
            continue
        try:
            engine.cipher(key).run(GcmDecryptBatch(nonces, ranges, tags, aads), out, out)
        except AuthenticationError as error:
            kind, row_group, column, page = struct.unpack("<BHHH", aads[error.failed[0]][len(aad) :].ljust(7, b"\0"))
            chunk = next(chunk for chunk in file.every() if (chunk.row_group, chunk.column) == (row_group, column))
            raise not_authentic(f"{len(error.failed)} of {len(aads)} modules of a key, first for {chunk.module(kind, page)}") from None


def _ctr(engine: Engine, key: Key, nonces: bytes, ranges: list[tuple[int, int]], out: Any) -> None:
    """CTR, whose first counter is 1 (section 4.2.2 of the format)."""
    counters: Any = numpy.zeros((len(ranges), 16), numpy.uint8)
    counters[:, :12], counters[:, 15] = numpy.frombuffer(nonces, numpy.uint8).reshape(-1, 12), 1
    keys = numpy.tile(numpy.frombuffer(key.expose(), numpy.uint8), (len(ranges), 1))
    try:
        engine.run_jobs("ctr", keys, ranges, out, counters=counters, out=out)
    finally:
        keys[:] = 0
