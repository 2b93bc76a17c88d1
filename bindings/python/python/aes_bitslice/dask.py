"""Parts of files and objects over the workers of Dask.

>>> import aes_bitslice.dask as aes_dask                                # doctest: +SKIP
>>> from aes_bitslice import ranges
>>> futures = aes_dask.encrypt(client, ranges.rows("data", "data.enc"), "file:/keys/key")
>>> sum(client.gather(futures))

Each worker reads the key where its reference says; a task has only the reference. If its worker is lost, another worker
repeats the task, and writes the same bytes to the same place. For one task per GPU, start the workers with `--resources
"GPU=1"` and pass `engine="cuda"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import keys, ranges

_Row = Mapping[str, Any]


def encrypt(client: Any, rows: Iterable[_Row], key_ref: str, *, engine: str = "auto", **options: Any) -> list[Any]:
    """Encrypts (or decrypts) rows of `ranges.rows`; returns a future for each, of the number of bytes written."""
    return _submitted(client, ranges.encrypt_row, rows, key_ref, engine, options)


def seal(client: Any, rows: Iterable[_Row], key_ref: str, *, engine: str = "cpu", **options: Any) -> list[Any]:
    """Seals whole objects, rows of `source` and `destination`; returns a future for each, of the number of bytes in the message."""
    return _submitted(client, ranges.seal_row, rows, key_ref, engine, options)


def open(client: Any, rows: Iterable[_Row], key_ref: str, *, engine: str = "cpu", **options: Any) -> list[Any]:
    """Opens sealed objects; see `seal`."""
    return _submitted(client, ranges.open_row, rows, key_ref, engine, options)


def _submitted(
    client: Any,
    work: Callable[[_Row, str, str], int],
    rows: Iterable[_Row],
    key_ref: str,
    engine: str,
    options: Mapping[str, Any],
) -> list[Any]:
    # Finds an error in a reference here, not in each of a thousand tasks.
    keys.check(key_ref)
    resources = {"resources": {"GPU": 1}} if engine.startswith("cuda") else {}
    # `pure=False`: a row is done even if the same one was done before, because its destination may be gone.
    defaults = {"pure": False, "retries": 3, **resources, **options}
    return [client.submit(work, dict(row), key_ref, engine, **defaults) for row in rows]
