"""The plain file of an encrypted Parquet file as a tensor, such as in the memory of a GPU.

    host     header | page, encrypted | header | page, encrypted | ..     as the plain file has them, copied in pieces
    GPU      header | page, decrypted | header | page, decrypted | ..     all of a key in one call, each where it is
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from . import _parquet_file as layout
from ._lanes import PART, lanes_to
from ._modules import Added


def plain_file(file: Any, plain: layout.File, torch: Any, device: Any) -> Any:
    """A tensor of the bytes of the plain file, of a file whose pages are still encrypted."""
    from .torch import _engine, _name

    assert plain.protection is not None
    engine = _engine(_name(device))
    lanes, pieces = lanes_to(torch, device), list(_pieces(layout.write(plain, None)))
    whole = torch.empty(pieces[-1].stop, dtype=torch.uint8, device=device)
    sizes = [piece.stop - piece.start for piece in pieces]
    lanes.map(lambda lane, n: lane.bring(whole[pieces[n].start : pieces[n].stop], [(0, sizes[n], pieces[n].fill)]), range(len(pieces)), max(sizes))
    try:
        plain.protection.on(engine).decrypt_in(file, whole, whole, _sealed(plain))
    except BaseException:
        whole[:] = 0
        raise
    if device.type != "cpu":
        torch.cuda.current_stream(device).synchronize()
    return whole


class _Piece(NamedTuple):
    """Bytes of the plain file from `start` to before `stop`."""

    start: int
    stop: int
    parts: list[Any]

    def fill(self, memory: memoryview) -> None:
        at = 0
        for part in self.parts:
            # A page is copied sooner than another thread would have begun to.
            memory[at : at + len(part)] = part
            at += len(part)


def _pieces(parts: list[Any]) -> Iterator[_Piece]:
    """The parts of a file in pieces of `PART` bytes, or of one part."""
    start = stop = first = 0
    for number, part in enumerate(parts):
        if stop > start and stop + len(part) - start > PART:
            yield _Piece(start, stop, parts[first:number])
            start, first = stop, number
        stop += len(part)
    yield _Piece(start, stop, parts[first:])


def _sealed(plain: layout.File) -> Iterator[Added]:
    """The pages that are still encrypted, with their places in the plain file."""
    for page in (page for group in plain.chunks for chunk in group for page in chunk.pages):
        if page.sealed is not None:
            key, module, at = page.sealed
            yield Added(page.written, at, len(page.body), module, key)
