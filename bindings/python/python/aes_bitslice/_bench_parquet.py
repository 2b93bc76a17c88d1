"""`python -m aes_bitslice.bench --parquet`: the decryption of a table of 32 encrypted columns, beside pyarrow's own.

pyarrow decrypts while it reads, on all cores; what it takes longer than for the plain file is its decryption. A plain copy
from pinned memory to a GPU is what no decryption there beats. The tables that come out are compared before anything is
timed.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from . import Engine, Error, Key, parquet

COLUMNS = 32


def measure(key: Key, size: int, timed: Callable[[Callable[[], Any]], list[float]], report: Callable[..., None]) -> None:
    """Reports the times for a table of `size` bytes, of random integers."""
    import numpy
    import pyarrow
    import pyarrow.parquet as pq
    import pyarrow.parquet.encryption as pe

    chance, secret = numpy.random.default_rng(1), key.expose()
    table = pyarrow.table({f"column {n}": chance.integers(0, 1 << 62, max(size // 8 // COLUMNS, 1)) for n in range(COLUMNS)})
    file = io.BytesIO()
    pq.write_table(table, file, use_dictionary=False, compression="none", encryption_properties=pe.create_encryption_properties(secret))
    encrypted = file.getvalue()
    del file

    def read(data: bytes, **options: Any) -> Any:
        return pq.read_table(pyarrow.BufferReader(data), **options)

    def read_encrypted() -> Any:
        return read(encrypted, decryption_properties=pe.create_decryption_properties(secret))

    print(f"# {COLUMNS} columns, {len(encrypted)} bytes; pyarrow {pyarrow.__version__}, {pyarrow.cpu_count()} threads")
    plain = parquet.decrypt_bytes(encrypted, keys=key)
    if not read_encrypted() == read(plain) == table:
        raise SystemExit("the table that is decrypted is another one: do not use the package, and report it")
    del table
    report("pyarrow: read the encrypted file", timed(read_encrypted), size)
    report("pyarrow: read the plain file", timed(lambda: read(plain)), size)
    for name in ("cpu", "cuda:0"):
        try:
            engine = Engine(name)
            parquet.decrypt_bytes(encrypted, keys=key, engine=engine)
        except Error as error:
            print(f"# {name}: not measured: {error}")
            continue
        report(f"{name}: decrypt_bytes", timed(lambda e=engine: parquet.decrypt_bytes(encrypted, keys=key, engine=e)), size)  # type: ignore[misc]
        both = timed(lambda e=engine: read(parquet.decrypt_bytes(encrypted, keys=key, engine=e)))  # type: ignore[misc]
        report(f"{name}: decrypt_bytes, and pyarrow reads the plain file", both, size)
        report(f"{name}: encrypt_bytes", timed(lambda e=engine: parquet.encrypt_bytes(plain, keys=key, engine=e)), size)  # type: ignore[misc]
    try:
        import torch
    except ImportError as error:
        print(f"# decrypt_tensors: not measured: {error}")
        return
    for name in ("cpu", *(["cuda:0"] if torch.cuda.is_available() else [])):
        if parquet.decrypt_tensors(encrypted, name, keys=key).file.cpu().numpy().tobytes() != plain:
            raise SystemExit("the file that is decrypted is another one: do not use the package, and report it")
        report(f"{name}: decrypt_tensors", timed(lambda n=name: parquet.decrypt_tensors(encrypted, n, keys=key)), size)  # type: ignore[misc]
    if torch.cuda.is_available():
        pinned = torch.empty(min(size, 1 << 30), dtype=torch.uint8, pin_memory=True)
        there = torch.empty_like(pinned, device="cuda:0")
        report("cuda:0: a copy from pinned memory", timed(lambda: there.copy_(pinned)), pinned.nbytes)
