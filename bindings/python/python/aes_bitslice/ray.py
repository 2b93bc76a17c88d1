"""Parts of files and objects over the actors of Ray Data.

>>> from aes_bitslice import ranges                                     # doctest: +SKIP
>>> from aes_bitslice.ray import Encryptor
>>> ds = ray.data.from_items(ranges.rows("data", "data.enc"))
>>> ds.map_batches(
...     Encryptor, fn_constructor_args=("file:/keys/key",), fn_constructor_kwargs={"engine": "cuda"},
...     batch_size=1, num_gpus=1, compute=ray.data.ActorPoolStrategy(size=8),
... ).sum("bytes")

One actor per GPU: it opens the engine and allocates pinned memory once. It reads the key where its reference says; Ray
gets only the reference. If its actor is lost, a batch is repeated, and writes the same bytes to the same place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import keys, ranges

_WORK = {"encrypt": ranges.encrypt_row, "seal": ranges.seal_row, "open": ranges.open_row}


class Encryptor:
    """The class of the actors of `Dataset.map_batches`: takes a batch of rows, returns it with a column `bytes`.

    key_ref: a reference of `aes_bitslice.keys`. engine: as for `aes_bitslice.Engine`.
    task: "encrypt" (which decrypts, too), "seal" or "open".
    """

    def __init__(self, key_ref: str, *, engine: str = "auto", task: str = "encrypt") -> None:
        keys.check(key_ref)
        if task not in _WORK:
            raise ValueError(f"task must be one of {', '.join(_WORK)}, not {task}")
        self._work, self._key_ref, self._engine = _WORK[task], key_ref, engine

    def __call__(self, batch: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
        import numpy

        rows = ranges.columns_to_rows(batch)
        done = [self._work(row, self._key_ref, self._engine) for row in rows]
        return {**batch, "bytes": numpy.array(done, dtype=numpy.int64)}
