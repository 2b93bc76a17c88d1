"""Parquet Modular Encryption: encrypted Parquet files become plain ones, and plain ones encrypted.

>>> import io
>>> import pyarrow, pyarrow.parquet
>>> from aes_bitslice import Key, parquet
>>> plain, key = io.BytesIO(), Key.generate(256)
>>> pyarrow.parquet.write_table(pyarrow.table({"n": [1, 2, 3]}), plain)
>>> secret = parquet.encrypt_bytes(plain.getvalue(), keys=key)
>>> pyarrow.parquet.read_table(io.BytesIO(parquet.decrypt_bytes(secret, keys=key)))["n"].to_pylist()
[1, 2, 3]

Both algorithms (AES_GCM_V1, AES_GCM_CTR_V1), keys of 128, 192 and 256 bits, one key or one for each column, footers
encrypted or plaintext and signed, page indexes and Bloom filters. All cores work on pages. Compression and encodings
stay as they are: no value is decoded. A file is in memory twice, as it was and as it becomes.

`keys` says which keys a file has:

- a `Key`: of the footer and of all columns;
- a dictionary: by the path of a column ("a", or "a.list.element" for the elements of a list), or by names that it begins
  with ("a"), of which the longest counts; None is the footer, which must be there. Columns without a key are neither
  encrypted nor authenticated. To encrypt, a value may also be a key and its metadata, bytes which the file keeps for its
  readers: `new_key` makes both;
- to decrypt, a function of a column's path, or None for the footer, and the metadata of its key, which returns the key,
  or None if it has none: `keys_of` makes one from a key management service as pyarrow and Spark use it.

To decrypt, each encrypted column needs a key, except those under the footer's.

The format: https://github.com/apache/parquet-format/blob/master/Encryption.md
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy

from . import _parquet_file as layout
from ._files import Path, opened, read_into, span_of, written
from ._key_material import Kms, keys_of, new_key
from ._native import Engine, Error, Key
from ._thrift import Damaged

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Kms", "Tensors", "decrypt", "decrypt_bytes", "decrypt_tensors", "encrypt", "encrypt_bytes", "keys_of", "new_key"]

_Keys = Key | Mapping[str | None, Key]
_FindKey = Callable[[str | None, bytes], Key | None]
_KeysToWrite = Key | Mapping[str | None, Key | tuple[Key, bytes]]
_Value = TypeVar("_Value")

_Algorithm = Literal["AES_GCM_V1", "AES_GCM_CTR_V1"]


def decrypt(
    source: Path | Any,
    destination: Path | Any,
    *,
    keys: _Keys | _FindKey,
    algorithm: _Algorithm = "AES_GCM_V1",
    aad_prefix: Buffer | None = None,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> int:
    """Decrypts a Parquet file to a plain one; returns the number of bytes of that.

    source: a path, or a file object that can seek, which is read from its position on.
    destination: a path, or a file object that bytes are written to. A new file appears when it is complete.
    keys: see `aes_bitslice.parquet`.
    algorithm: the one of the file. What a file with an encrypted footer says of it is not authenticated: else, who may change the file could
        have its pages decrypted by "AES_GCM_CTR_V1", which does not authenticate them.
    aad_prefix: the prefix of the additional data; needed if the file does not have it, and compared if it does.
    overwrite: whether a file may be replaced; else `FileExistsError`.
    engine: where to decrypt pages; the CPU if none is given. To a GPU they are copied, and back.

    AuthenticationError: a key, the algorithm or the prefix is wrong, or the file was changed. ValueError: a key is missing. Error: it is
    no encrypted Parquet file, or what tells where its modules are was changed: lengths, magic bytes, structures of the footer. Then no file
    appears. Columns that are not encrypted are not authenticated, nor are pages under AES_GCM_CTR_V1: changed ones, and a wrong key of
    these pages alone, are not noticed.
    """
    with opened(source) as file, written(file, destination, overwrite) as write, _named(source):
        return write(_decrypted(_whole(file), keys, algorithm, aad_prefix, engine))


def decrypt_bytes(
    data: Buffer,
    *,
    keys: _Keys | _FindKey,
    algorithm: _Algorithm = "AES_GCM_V1",
    aad_prefix: Buffer | None = None,
    engine: Engine | None = None,
) -> bytes:
    """Decrypts a Parquet file in memory: returns the bytes of a plain one, which `io.BytesIO` makes a file object for readers.

    data: the bytes of the encrypted file.
    keys, algorithm, aad_prefix, engine: as for `decrypt`.
    """
    with _named(None):
        return _decrypted(numpy.frombuffer(data, numpy.uint8), keys, algorithm, aad_prefix, engine)


class Tensors(NamedTuple):
    """A plain Parquet file in tensors of bytes, which other libraries take by DLPack."""

    #: The whole file.
    file: Any
    #: By row group, and in it by the path of the column: the pages of a column, with their headers. They are parts of `file`.
    chunks: list[dict[str, Any]]


def decrypt_tensors(
    data: Buffer,
    device: Any = "cpu",
    *,
    keys: _Keys | _FindKey,
    algorithm: _Algorithm = "AES_GCM_V1",
    aad_prefix: Buffer | None = None,
) -> Tensors:
    """Decrypts a Parquet file in host memory to tensors of a plain one, such as in the memory of a GPU. Then host memory has no plaintext
    of pages, only that of the footer, of indexes and of headers of pages, which may have the least and the greatest value of a page.

    data: the bytes of the encrypted file; `mmap` makes them of a file.
    device: of PyTorch, which this needs: "cpu", or a GPU such as "cuda:0" or its number.
    keys, algorithm, aad_prefix: as for `decrypt`.

    The tensors are ready on every stream. Their pages have no checksums. Errors: as for `decrypt`; no page that was decrypted is left then.
    """
    import torch

    from ._parquet_tensors import plain_file

    file = numpy.frombuffer(data, numpy.uint8)
    with _named(None):
        encrypted = _encrypted_file(file, keys, algorithm, aad_prefix)
        whole = plain_file(encrypted, torch, torch.empty(0, device=device).device)
    return Tensors(whole, [{chunk.path: whole[slice(*layout.pages_of(chunk))] for chunk in group} for group in encrypted.chunks])


def encrypt(
    source: Path | Any,
    destination: Path | Any,
    *,
    keys: _KeysToWrite,
    algorithm: _Algorithm = "AES_GCM_V1",
    plaintext_footer: bool = False,
    aad_prefix: Buffer | None = None,
    store_aad_prefix: bool = True,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> int:
    """Encrypts a plain Parquet file; returns the number of bytes of the encrypted one.

    keys: see `aes_bitslice.parquet`. A key is for at most 2^32 modules, of which a page is two.
    algorithm: "AES_GCM_CTR_V1" does not authenticate pages.
    plaintext_footer: whether the footer is signed, not encrypted: then readers without keys see the schema, and the columns that are not
        encrypted.
    aad_prefix: bytes that name the file, for the additional data: a reader that expects another file refuses this one.
    store_aad_prefix: whether the file has the prefix; if not, a reader must know it.
    source, destination, overwrite, engine: as for `decrypt`.

    ValueError: `keys` names a column that the file does not have, or no key for the footer. Error: the file is no Parquet file, or is encrypted.
    Then no file appears.
    """
    with opened(source) as file, written(file, destination, overwrite) as write, _named(source):
        return write(_encrypted(_whole(file), keys, algorithm, plaintext_footer, aad_prefix, store_aad_prefix, engine))


def encrypt_bytes(
    data: Buffer,
    *,
    keys: _KeysToWrite,
    algorithm: _Algorithm = "AES_GCM_V1",
    plaintext_footer: bool = False,
    aad_prefix: Buffer | None = None,
    store_aad_prefix: bool = True,
    engine: Engine | None = None,
) -> bytes:
    """Encrypts a Parquet file in memory: returns the bytes of the encrypted one.

    data: the bytes of the plain file.
    keys, algorithm, plaintext_footer, aad_prefix, store_aad_prefix, engine: as for `encrypt`.
    """
    with _named(None):
        return _encrypted(numpy.frombuffer(data, numpy.uint8), keys, algorithm, plaintext_footer, aad_prefix, store_aad_prefix, engine)


def _encrypted_file(file: Any, keys: _Keys | _FindKey, algorithm: str, aad_prefix: Buffer | None) -> layout.File:
    """The parts of a file that is encrypted."""
    parts = layout.read(file, _finder(keys), _number(algorithm), _prefix(aad_prefix))
    if parts.protection is None:
        raise Error("the file is not encrypted")
    return parts


def _decrypted(file: Any, keys: _Keys | _FindKey, algorithm: str, aad_prefix: Buffer | None, engine: Engine | None) -> bytes:
    """The bytes of the plain file."""
    encrypted = _encrypted_file(file, keys, algorithm, aad_prefix)
    return layout.write(encrypted, None, engine or Engine("cpu")).whole(encrypted.data)


def _encrypted(
    file: Any,
    keys: _KeysToWrite,
    algorithm: str,
    plaintext_footer: bool,
    aad_prefix: Buffer | None,
    store_aad_prefix: bool,
    engine: Engine | None,
) -> bytes:
    """The bytes of the encrypted file."""
    number, prefix = _number(algorithm), _prefix(aad_prefix)
    plain = layout.read(file, _refuse_encrypted, number, b"")
    footer, columns = _to_write(keys, plain.paths())
    plan = layout.Plan(footer, columns, number, prefix, store_aad_prefix, plaintext_footer)
    return layout.write(plain, plan, engine or Engine("cpu")).whole(plain.data)


def _refuse_encrypted(column: str | None, metadata: bytes) -> Key:
    raise Error("the file is encrypted already: decrypt it first")


def _finder(keys: _Keys | _FindKey) -> layout.FindKey:
    """The function that finds the keys of a file."""
    if isinstance(keys, Key):
        of_all = _checked(keys)
        return lambda column, metadata: of_all
    if isinstance(keys, Mapping):
        of_path = _by_beginning({path: _checked(key) for path, key in keys.items()})
        return lambda column, metadata: of_path(column)
    if callable(keys):
        find = keys
        return lambda column, metadata: None if (key := find(column, metadata)) is None else _checked(key)
    raise TypeError(f"keys must be a Key, a dictionary or a function, not {type(keys).__name__}")


def _by_beginning(by_path: Mapping[str | None, _Value]) -> Callable[[str | None], _Value | None]:
    """The function that finds the value for a path, or for the longest beginning of it."""
    lengths = sorted({len(name) for name in by_path if name is not None}, reverse=True)

    def find(path: str | None) -> _Value | None:
        if path is None:
            return by_path.get(None)
        beginnings = (path[:length] for length in lengths if length == len(path) or path[length : length + 1] == ".")
        return next((by_path[name] for name in beginnings if name in by_path), None)

    return find


def _to_write(keys: _KeysToWrite, paths: Iterable[str]) -> tuple[layout.KeyAndMetadata, dict[str, layout.KeyAndMetadata]]:
    """The key of the footer, and of each column to encrypt."""
    if isinstance(keys, Key):
        of_all = layout.KeyAndMetadata(_checked(keys))
        return of_all, dict.fromkeys(paths, of_all)
    if not isinstance(keys, Mapping):
        raise TypeError(f"keys must be a Key or a dictionary, not {type(keys).__name__}")
    by_path = {}
    for path, value in keys.items():
        key, *metadata = value if isinstance(value, tuple) else (value,)
        by_path[path] = layout.KeyAndMetadata(_checked(key), *(bytes(memoryview(each)) for each in metadata))
    footer = by_path.get(None)
    if footer is None:
        raise ValueError("there is no key for the footer in keys, whose name there is None")
    every, of_path = list(paths), _by_beginning(by_path)
    found = {path: own for path in every if (own := of_path(path)) is not None}
    beginnings = {f"{path}."[:end] for path in every for end, dot in enumerate(f"{path}.") if dot == "."}
    unknown = [name for name in by_path if name is not None and name not in beginnings]
    if unknown and every:
        raise ValueError(f"the file has no column {', '.join(unknown)}: its columns are {', '.join(sorted(every))}")
    return footer, found


def _checked(key: Any) -> Key:
    if not isinstance(key, Key):
        raise TypeError(f"a key must be a Key, not {type(key).__name__}")
    return key


def _number(algorithm: str) -> int:
    if algorithm not in layout.ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(layout.ALGORITHMS)}, not {algorithm!r}")
    return layout.ALGORITHMS[algorithm]


def _prefix(aad_prefix: Buffer | None) -> bytes:
    try:
        return b"" if aad_prefix is None else bytes(memoryview(aad_prefix))
    except TypeError:
        raise TypeError(f"aad_prefix must be a bytes-like object, not {type(aad_prefix).__name__}") from None


def _whole(file: Any) -> Any:
    """The bytes of a file object from its position on, as an array."""
    start, end = span_of(file)
    memory: Any = numpy.empty(max(end - start, 0), numpy.uint8)
    file.seek(start)
    left = memoryview(memory)
    while left:
        left = left[read_into(file, left) :]
    return memory


@contextmanager
def _named(source: Any) -> Iterator[None]:
    """Errors about what a source has, with its path."""
    name = f"{os.fspath(source)}: " if isinstance(source, (str, os.PathLike)) else ""
    try:
        yield
    except Damaged as error:
        raise Error(f"{name}{error}: it is damaged, or no Parquet file") from None
    except Error as error:
        raise type(error)(f"{name}{error}") from None
