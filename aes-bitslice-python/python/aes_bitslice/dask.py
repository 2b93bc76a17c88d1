"""Parts of files and objects over the workers of Dask.

>>> from aes_bitslice import dask, ranges                               # doctest: +SKIP
>>> futures = dask.encrypt(client, ranges.rows("data", "data.enc"), "file:/keys/key")
>>> sum(client.gather(futures))

Each worker reads the key where its reference says; a task has the reference alone. A task whose worker was lost is done again, by
another worker, and writes the same bytes to the same place. For one task a GPU, start workers with `--resources "GPU=1"` and give
`engine="cuda"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import keys, ranges

_Row = Mapping[str, Any]


def encrypt(client: Any, rows: Iterable[_Row], key_ref: str, *, engine: str = "auto", **options: Any) -> list[Any]:
    """Encrypts (or decrypts) rows of `ranges.rows`: a future for each, of the bytes that were written."""
    return _submitted(client, ranges.encrypt_row, rows, key_ref, engine, options)


def seal(client: Any, rows: Iterable[_Row], key_ref: str, *, engine: str = "cpu", **options: Any) -> list[Any]:
    """Seals whole objects, rows of `source` and `destination`: a future for each, of the bytes of the message."""
    return _submitted(client, ranges.seal_row, rows, key_ref, engine, options)


def open(client: Any, rows: Iterable[_Row], key_ref: str, *, engine: str = "cpu", **options: Any) -> list[Any]:
    """Opens sealed objects, as `seal`."""
    return _submitted(client, ranges.open_row, rows, key_ref, engine, options)


def _submitted(
    client: Any,
    work: Callable[[_Row, str, str], int],
    rows: Iterable[_Row],
    key_ref: str,
    engine: str,
    options: Mapping[str, Any],
) -> list[Any]:
    # What is wrong with a reference is found here, and not by each of a thousand tasks.
    keys.check(key_ref)
    resources = {"resources": {"GPU": 1}} if engine.startswith("cuda") else {}
    # `pure=False`: a row is done although the same one was done before, for its destination may be gone.
    defaults = {"pure": False, "retries": 3, **resources, **options}
    return [client.submit(work, dict(row), key_ref, engine, **defaults) for row in rows]
