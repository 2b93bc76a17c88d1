"""The plain file of an encrypted Parquet file as a tensor, such as in the memory of a GPU.

    host     header | page, encrypted | header | page, encrypted | ..     as the plain file has them
                '------------ a piece ------------'
                            v  copied
    GPU      header | page, decrypted | header | page, decrypted | ..     each where it is
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from . import _parquet_file as layout
from ._lanes import lanes_to
from ._modules import Added


class _Piece(NamedTuple):
    """Bytes of the plain file from `start` to before `stop`; pages are still encrypted."""

    start: int
    stop: int
    parts: list[Any]
    pages: list[Added]


def plain_file(file: Any, plain: layout.File, torch: Any, device: Any) -> Any:
    """A tensor of the bytes of the plain file, of a file whose pages are still encrypted."""
    from .torch import _engine, _name

    assert plain.protection is not None
    lanes = lanes_to(torch, device)
    pieces = list(_pieces(plain, layout.write(plain, None), lanes.piece))
    whole = torch.empty(pieces[-1].stop, dtype=torch.uint8, device=device)
    protection = plain.protection.on(_engine(_name(device)))
    for key in {page.key for piece in pieces for page in piece.pages}:
        protection.cipher(key)

    def decrypted(lane: Any, piece: _Piece) -> None:
        def fill(memory: memoryview) -> None:
            at = 0
            for part in piece.parts:
                # NumPy lets other threads work meanwhile.
                numpy.copyto(numpy.frombuffer(memory[at : at + len(part)], numpy.uint8), numpy.frombuffer(part, numpy.uint8))
                at += len(part)

        data = lane.bring(whole[piece.start : piece.stop], fill)
        protection.decrypt_in(file, data, data, [page._replace(place=page.place - piece.start) for page in piece.pages])

    try:
        lanes.map(decrypted, pieces, max(piece.stop - piece.start for piece in pieces))
    except BaseException:
        whole[:] = 0
        raise
    return whole


def _pieces(plain: layout.File, parts: list[Any], size: int) -> Iterator[_Piece]:
    """The parts of the plain file in pieces of `size` bytes, or of one part."""
    pages = list(reversed(list(_sealed(plain))))
    start = stop = first = 0
    for number, part in enumerate([*parts, None]):
        if part is None or (stop > start and stop + len(part) - start > size):
            within = []
            while pages and pages[-1].place < stop:
                within.append(pages.pop())
            yield _Piece(start, stop, [part for part in parts[first:number] if len(part)], within)
            start, first = stop, number
        stop += 0 if part is None else len(part)


def _sealed(plain: layout.File) -> Iterator[Added]:
    """The pages that are still encrypted, with their places in the plain file, in order."""
    for page in (page for group in plain.chunks for chunk in group for page in chunk.pages):
        if page.sealed is not None:
            key, module, at = page.sealed
            yield Added(page.written, at, len(page.body), module, key)
