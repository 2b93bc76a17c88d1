"""Parts of files and objects over the workers of Dask.

>>> import aes_bitslice.dask as aes_dask                                # doctest: +SKIP
>>> from aes_bitslice import ranges
>>> futures = aes_dask.encrypt(client, ranges.rows("data", "data.enc"), "file:/keys/key")
>>> sum(client.gather(futures))

Relative paths are those of the process that submits. Each worker reads the key where its reference says; a task has only
the reference. If its worker is lost, another worker
repeats the task, and writes the same bytes to the same place. For one task per GPU, start the workers with `--resources
"GPU=1"` and pass `engine="cuda"`; a warning says if no worker has that resource.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
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


def _warn_without_gpus(client: Any) -> None:
    """Warns if no worker offers the resource that tasks request: they would wait, and the scheduler does not say for what. A worker
    may still come."""
    known = client.scheduler_info(n_workers=-1)
    workers = known["workers"].values()
    # An asynchronous client may know a few workers only.
    if known.get("n_workers", 0) <= len(workers) and not any(worker.get("resources", {}).get("GPU", 0) >= 1 for worker in workers):
        warnings.warn(
            f"none of Dask's {len(workers)} workers has the resource GPU, and the tasks wait for one that has: start workers with "
            '`dask worker --nthreads 1 --resources "GPU=1"`, or pass resources={} to use any worker',
            stacklevel=4,
        )


def _submitted(
    client: Any,
    work: Callable[[_Row, str, str], int],
    rows: Iterable[_Row],
    key_ref: str,
    engine: str,
    options: Mapping[str, Any],
) -> list[Any]:
    # Finds an error in a reference here, not in each of a thousand tasks.
    scheme, path = keys.check(key_ref)
    if scheme == "file":
        key_ref = f"file:{Path(path).absolute()}"
    resources = {"resources": {"GPU": 1}} if engine.startswith("cuda") else {}
    if resources and "resources" not in options:
        _warn_without_gpus(client)
    # `pure=False`: a row is done even if the same one was done before, because its destination may be gone.
    defaults = {"pure": False, "retries": 3, **resources, **options}
    return [client.submit(work, _absolute(row), key_ref, engine, **defaults) for row in rows]


def _absolute(row: _Row) -> dict[str, Any]:
    """A row whose places do not depend on the working folder."""
    return {**row, **{name: ranges.absolute(row[name], name) for name in ("source", "destination") if name in row}}
