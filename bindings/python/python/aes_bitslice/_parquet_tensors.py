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
    lanes, pieces = lanes_to(torch, device), list(_pieces([part.data for part in layout.write(plain, None)], {id(page.body) for page in plain.pages()}))
    whole = torch.empty(pieces[-1].stop, dtype=torch.uint8, device=device)

    def brought(lane: Any, piece: _Piece) -> None:
        try:
            lane.bring(whole[piece.start : piece.stop], [(0, piece.size, piece.fill)])
        finally:
            lane.wipe(piece.decrypted())

    lanes.map(brought, pieces, max(piece.size for piece in pieces))
    try:
        plain.protection.on(engine).decrypt_in(file, whole, whole, _sealed(plain))
    except BaseException:
        whole[:] = 0
        raise
    if device.type != "cpu":
        torch.cuda.current_stream(device).synchronize()
    return whole


class _Piece(NamedTuple):
    """Bytes of the plain file from `start` on, in parts, each with whether it is the body of a page."""

    start: int
    parts: list[tuple[Any, bool]]

    @property
    def size(self) -> int:
        return sum(len(part) for part, _ in self.parts)

    @property
    def stop(self) -> int:
        return self.start + self.size

    def _places(self) -> Iterator[tuple[slice, Any, bool]]:
        at = 0
        for part, is_body in self.parts:
            yield slice(at, at + len(part)), part, is_body
            at += len(part)

    def fill(self, memory: memoryview) -> None:
        for place, part, _ in self._places():
            # A page is copied sooner than another thread would have begun to.
            memory[place] = part

    def decrypted(self) -> list[slice]:
        """Where it has what was decrypted already: all but the bodies of pages, which are as they were in the encrypted file."""
        return [place for place, _, is_body in self._places() if not is_body]


def _pieces(parts: list[Any], bodies: set[int]) -> Iterator[_Piece]:
    """The parts of a file, which may be cut, in pieces of `PART` bytes or fewer. `bodies` has the identities of those that are bodies of pages."""
    start, size = 0, 0
    these: list[tuple[Any, bool]] = []
    for part, is_body in ((part[at : at + PART], id(part) in bodies) for part in parts for at in range(0, len(part), PART)):
        if size + len(part) > PART:
            yield _Piece(start, these)
            start, size, these = start + size, 0, []
        these.append((part, is_body))
        size += len(part)
    yield _Piece(start, these)


def _sealed(plain: layout.File) -> Iterator[Added]:
    """The pages that are still encrypted, with their places in the plain file."""
    for page in plain.pages():
        if page.sealed is not None:
            key, module, _, at = page.sealed
            yield Added(page.written, at, len(page.body), module, key)
