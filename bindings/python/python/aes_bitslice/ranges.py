"""Parts of files and objects, encrypted by any process in any order: the common part of the adapters for Dask and Ray.

A row is a dictionary: `source` and `destination`, a path or an address that fsspec knows; `offset` and `length`, the
bytes of the source; and `iv`, 16 bytes as hexadecimal digits, which all rows of one source share and no other source
has. For a source that is one part of a message, `begins` is the part's first byte in the message, in which `offset`
counts, too. `rows` makes them. Encrypting a row twice writes the same bytes to the same place, so a row whose worker is
lost is repeated.

Keys are given by reference (`aes_bitslice.keys`), and read where they are needed: schedulers log and store their
arguments. The encryption is CTR, which does not authenticate; `seal_row` seals whole objects, which does.
"""

from __future__ import annotations

import contextlib
import io
import operator
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from . import Cipher, Engine, keys, open, random_bytes, seal
from ._native import _open_like, _refuse_open

#: Bytes to read, encrypt and write at a time.
PIECE = 64 << 20


def encrypt_range(key_ref: str, iv: Any, offset: int, buffer: Any, *, engine: str = "auto", out: Any = None) -> Any:
    """CTR of a buffer that begins at byte `offset` of its message: encrypts and decrypts. The IV is 16 bytes, or 32 hexadecimal
    digits as in a row. Depends only on the arguments."""
    return _Worker.of_this_thread(engine).cipher(key_ref).ctr(_iv(iv), buffer, offset=offset, out=out)


def rows(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    part_bytes: int = 256 << 20,
    iv: Any = None,
    overwrite: bool = False,
) -> list[dict[str, Any]]:
    """The rows that encrypt one source, under a new IV; to decrypt, give the IV of the encryption, 16 bytes or 32 hexadecimal digits.

    A local destination is one file. A store writes objects only whole, so there each part is an object of its own: the
    destination, a slash, and its first byte in 20 digits. A source may be such parts, too. A destination that exists is
    refused, because its remaining parts would be taken for the end of the new one: `overwrite=True` empties a file and
    removes objects, now. A new file is no more open than its source; an emptied one keeps its owner, group and mode.
    """
    source, destination = absolute(source, "source", of_parts=True), absolute(destination, "destination", of_parts=True)
    if not hasattr(part_bytes, "__index__") or part_bytes < 16:
        raise ValueError(f"part_bytes must be a whole number of at least 16, not {part_bytes!r}")
    part_bytes = operator.index(part_bytes)
    iv = random_bytes(16).hex() if iv is None else _iv(iv).hex()
    part_bytes -= part_bytes % 16
    objects, whole = _objects(source), not _is_local(destination)
    _refuse_same(source, destination)
    _make_way(destination, overwrite)
    return [
        {
            "source": address,
            "destination": f"{destination}/{offset:020}" if whole else destination,
            "offset": offset,
            "length": min(part_bytes, begins + size - offset),
            "iv": iv,
            "begins": begins,
        }
        for address, begins, size in objects
        for offset in range(begins, begins + max(size, 1), part_bytes)
    ]


def encrypt_row(row: Mapping[str, Any], key_ref: str, engine: str = "auto") -> int:
    """Encrypts (or decrypts) the bytes of a row to their place in the destination; returns how many."""
    return _Worker.of_this_thread(engine).encrypt(row, key_ref)


def seal_row(row: Mapping[str, Any], key_ref: str, engine: str = "cpu") -> int:
    """Seals the whole source of a row, with a key of 256 bits; returns the number of bytes in the message. A destination that exists is
    replaced."""
    return _files(row, seal, key_ref, engine)


def open_row(row: Mapping[str, Any], key_ref: str, engine: str = "cpu") -> int:
    """Opens the sealed source of a row; returns the number of bytes in the message. A destination that exists is replaced."""
    return _files(row, open, key_ref, engine)


def _files(row: Mapping[str, Any], work: Any, key_ref: str, engine: str) -> int:
    source, destination = absolute(row["source"], "source"), absolute(row["destination"], "destination")
    _refuse_same(source, destination)
    _refuse_key(destination, key_ref)
    options = {"key": keys.resolve(key_ref), "engine": _Worker.of_this_thread(engine).engine}
    if _is_local(source) and _is_local(destination):
        return int(work(_path(source), _path(destination), overwrite=True, **options))
    import fsspec

    with _reading(source) as reads:
        if _is_local(destination):
            return int(work(reads, _path(destination), overwrite=True, **options))
        if destination.partition("://")[0] not in _WITH_COMMITS:
            message = io.BytesIO()
            done = int(work(reads, message, **options))
            _put(destination, message.getvalue())
            return done
        store, path = fsspec.core.url_to_fs(destination)
        writes = store.open(path, "wb", autocommit=False)
        try:
            done = int(work(reads, writes, **options))
        except BaseException:
            writes.close()
            writes.discard()
            raise
        writes.close()
        writes.commit()
        return done


class _Worker:
    """The engine of one thread, and host memory that is fast for it."""

    _of_threads = threading.local()

    def __init__(self, engine: str) -> None:
        self.engine = Engine(engine)
        self._process = os.getpid()
        self._memory: memoryview | None = None

    @classmethod
    def of_this_thread(cls, engine: str) -> _Worker:
        known: dict[str, _Worker] = cls._of_threads.__dict__
        if engine not in known or known[engine]._process != os.getpid():
            known[engine] = cls(engine)
        return known[engine]

    def cipher(self, key_ref: str) -> Cipher:
        return self.engine.cipher(keys.resolve(key_ref))

    def memory(self, size: int) -> memoryview:
        if self._memory is None or len(self._memory) < size:
            self._memory = self.engine.host_buffer(size)
        return self._memory[:size]

    def encrypt(self, row: Mapping[str, Any], key_ref: str) -> int:
        source, destination = absolute(row["source"], "source"), absolute(row["destination"], "destination")
        offset, length = int(row["offset"]), int(row["length"])
        start = offset - int(row.get("begins", 0))
        if start < 0 or length < 0:
            raise ValueError(f"a row has a length, and an offset not before the source begins, and not {length} and {offset}")
        iv, cipher = _iv(str(row["iv"])), self.cipher(key_ref)
        _refuse_same(source, destination)
        _refuse_key(destination, key_ref)
        if _is_local(source) and _is_local(destination):
            return self._encrypt_local(cipher, iv, _file(source), _path(destination), offset, length)
        with _reading(source) as file:
            file.seek(start)
            data = bytearray(file.read(length))
            if len(data) != length:
                raise OSError(f"{source} ends before byte {start + length}")
            cipher.ctr(iv, data, offset=offset, out=data)
            if _is_local(destination):
                with _opened(_path(destination), file) as writes:
                    _write(writes.fileno(), data, offset)
            else:
                _put(destination, bytes(data))
        return length

    def _encrypt_local(self, cipher: Cipher, iv: bytes, source: Path, destination: Path, offset: int, length: int) -> int:
        memory = self.memory(min(PIECE, length)) if length else memoryview(b"")
        with source.open("rb") as reads, _opened(destination, reads) as writes:
            for start in range(offset, offset + length, PIECE):
                piece = memory[: min(PIECE, offset + length - start)]
                _read(reads.fileno(), piece, start)
                cipher.ctr(iv, piece, offset=start, out=piece)
                _write(writes.fileno(), piece, start)
        return length


def _iv(given: Any) -> bytes:
    """An IV, of 16 bytes or 32 hexadecimal digits."""
    try:
        iv = bytes.fromhex(given) if isinstance(given, str) else bytes(memoryview(given))
    except (TypeError, ValueError):
        iv = b""
    if len(iv) != 16:
        raise ValueError('iv must be 16 bytes, or 32 hexadecimal digits as in rows[0]["iv"]')
    return iv


def absolute(place: Any, name: str, *, of_parts: bool = False) -> str:
    """An address that means the same in every working folder, and does not end with a slash, but for those of HTTP.

    place: a path or an address, of a file or an object; in a store, it may be the folder of a message in parts, if it is `of_parts`.
    name: of the argument that it is.
    """
    if not isinstance(place, (str, os.PathLike)) or not isinstance(os.fspath(place), str):
        raise TypeError(f"{name} must be a str or a pathlib.Path, not {type(place).__name__}")
    text, is_local = os.fspath(place), _is_local(place)
    if text.rpartition("::")[2].startswith(("http://", "https://")):
        return text  # There a slash is a part of the name.
    if text.endswith("/") and (is_local or not of_parts or not text.rpartition("://")[2].strip("/")):
        raise IsADirectoryError(f"{text} is the name of a folder: add that of a file in it")
    return str(_path(text)) if is_local else text.rstrip("/")


def _refuse_same(source: str, destination: str) -> None:
    """Refuses a destination that is the source, or a part of it: a repeated row would decrypt it, or seal it twice. Refuses one
    behind a local file, too: fsspec would make that file for more users than the source is for."""
    if _is_behind(destination):
        outer, _, _ = destination.partition("::")
        raise ValueError(f"{destination} is in a local file or folder, behind {outer!r}: give the path of a local file, without it")
    if _is_local(source) and _is_local(destination):
        same = _are_one(_path(source), _path(destination))
    elif _is_local(source) or _is_local(destination):
        return
    else:
        import fsspec

        (store, one), (other_store, other) = fsspec.core.url_to_fs(source), fsspec.core.url_to_fs(destination)
        same = store == other_store and (one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/"))
    if same:
        raise ValueError(f"source and destination are the same: give {source} another destination")


def _refuse_key(destination: str, key_ref: str) -> None:
    """Refuses a destination that is the file of its own key: nothing would open what was written in its place."""
    scheme, _, path = key_ref.partition(":")
    if scheme == "file" and _is_local(destination) and _are_one(_path(destination), Path(path)):
        raise ValueError(f"{destination} is the file of the key: give another destination")


def _are_one(one: Path, other: Path) -> bool:
    """Whether both paths lead to one file, also by links."""
    return one.exists() and other.exists() and one.samefile(other)


def _make_way(destination: str, overwrite: bool) -> None:
    """Refuses a destination that exists, or empties it."""
    if _is_local(destination):
        _refuse_open(_path(destination))
        path = _file(destination)
        if not path.exists():
            return
        if overwrite and path.is_file():
            os.truncate(path, 0)  # as it is, it is for the same users
            return
    else:
        import fsspec

        store, inside = fsspec.core.url_to_fs(destination)
        store.invalidate_cache()
        if not store.exists(inside):
            return
        if overwrite:
            store.rm(inside, recursive=True)
            return
    raise FileExistsError(f"{destination} exists: give another destination, or overwrite=True")


def _put(destination: str, data: bytes) -> None:
    """Writes an object whole, and creates its folder if the store has folders."""
    import fsspec

    store, path = fsspec.core.url_to_fs(destination)
    try:
        store.pipe_file(path, data)
    except FileNotFoundError:
        # A bucket that does not exist is a mistyped one.
        root = path[: path.find("/", 1)]
        if not store.exists(root):
            raise FileNotFoundError(f"{root} does not exist: create it, or give another destination than {destination}") from None
        store.makedirs(store._parent(path), exist_ok=True)
        store.pipe_file(path, data)


def _opened(path: Path, source: Any) -> Any:
    """Opens a file for writing at any place: creates it if it does not exist, no more open than the source, and never
    truncates it."""
    return os.fdopen(_open_like(path, source), "wb", buffering=0)


def _read(file: int, into: memoryview, at: int) -> None:
    done = 0
    while done < len(into):
        read = os.preadv(file, [into[done:]], at + done)
        if read == 0:
            raise OSError(f"the source ends before byte {at + len(into)}")
        done += read


def _write(file: int, data: Any, at: int) -> None:
    left = memoryview(data)
    while left:
        written = os.pwrite(file, left, at)
        left, at = left[written:], at + written


#: What addresses of stores begin with in which an object that is written bit by bit appears when it is complete, and else not. In
#: others, it would be there at once, or in part after an error.
_WITH_COMMITS = ("s3", "s3a", "gs", "gcs")

#: What addresses of local files may begin with.
_LOCAL = ("file://", "local://")

#: What fsspec puts before an address to keep copies of what it reads, `simplecache::file:///data`.
_CACHES = ("simplecache", "filecache", "blockcache", "cached")


def _links(address: str | os.PathLike[str]) -> list[str]:
    """The links of a chained address of fsspec, the innermost last; one for any other address. A cache before a local file is left
    out: its copies would hide who may use the file."""
    text = os.fspath(address)
    if "::" not in text or text.startswith(_LOCAL):
        return [text]
    try:
        import fsspec
    except ImportError:
        return [text]
    *outer, last = text.split("::")
    if outer[0].partition("://")[0] not in fsspec.available_protocols():
        return [text]  # the name of a file
    caches = all(link.removesuffix("://") in _CACHES for link in outer)
    return [last] if caches and _ends_locally(last) else [*outer, last]


def _ends_locally(link: str) -> bool:
    """Whether the innermost link is a local file. To fsspec, a word of small letters alone is the name of a file system."""
    return link.startswith(_LOCAL) if "://" in link else not (link.isascii() and link.isalpha() and link.islower())


def _is_local(address: str | os.PathLike[str]) -> bool:
    *outer, last = _links(address)
    return not outer and ("://" not in last or last.startswith(_LOCAL))


def _path(address: str | os.PathLike[str]) -> Path:
    """A local file; whatever the working folder of the process that uses it is."""
    text = _links(address)[-1]
    return Path(text.partition("://")[2] if text.startswith(_LOCAL) else text).absolute()


def _is_behind(address: str) -> bool:
    """Whether the address is of something in a local file or folder that fsspec alone can read, such as an archive."""
    *outer, last = _links(address)
    return bool(outer) and _ends_locally(last)


class _Behind:
    """An open source behind a local file. Its descriptor is that file's, and tells who may use what is made from it."""

    def __init__(self, reads: Any, path: Path) -> None:
        self._reads = reads
        self._file = path.open("rb") if path.is_file() else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reads, name)

    def fileno(self) -> int:
        # No descriptor has the other number: what is made is its owner's alone.
        return self._file.fileno() if self._file else 2**31 - 1

    def close_file(self) -> None:
        if self._file:
            self._file.close()


@contextlib.contextmanager
def _reading(source: str) -> Iterator[Any]:
    """Opens a source with fsspec."""
    import fsspec

    file = fsspec.open(source, "rb")
    with file as reads:
        # S3 has no folders: there, the name of one opens as an empty file.
        if getattr(reads, "size", None) == 0 and file.fs.isdir(file.path):
            raise IsADirectoryError(f"{source} is a folder: give its files one by one")
        if not _is_behind(source):
            yield reads
            return
        behind = _Behind(reads, _path(source))
        try:
            yield behind
        finally:
            behind.close_file()


def _file(address: str) -> Path:
    """A local file, a folder, or nothing: a device or a pipe has no size, or no places to read from and write to."""
    path = _path(address)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{address} is a device or a pipe: give the path of a file")
    return path


def _objects(source: str) -> list[tuple[str, int, int]]:
    """The objects of a source: for each its address, its first byte in the message, and its number of bytes."""
    if _is_local(source):
        if _path(source).is_dir():
            raise IsADirectoryError(f"{source} is a folder: give its files one by one")
        return [(source, 0, _file(source).stat().st_size)]
    import fsspec

    store, path = fsspec.core.url_to_fs(source)
    store.invalidate_cache()
    if not store.isdir(path):
        return [(source, 0, int(store.size(path)))]
    sizes = {str(entry["name"]).rsplit("/", 1)[-1]: int(entry["size"]) for entry in store.ls(path, detail=True)}
    parts, end = [], 0
    for name in sorted(sizes):
        if not (name.isascii() and name.isdigit() and len(name) == 20):
            raise ValueError(f"{source} has {name}, which is no part of a message: parts have names of 20 digits. Remove it, or move it away")
        if name != f"{end:020}":
            raise ValueError(f"{source} is not one message in parts: the part {end:020} is missing")
        parts.append((f"{source}/{name}", end, sizes[name]))
        end += sizes[name]
    return parts


def columns_to_rows(columns: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Turns a table as a dictionary of columns into rows."""
    names = list(columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*(columns[name] for name in names), strict=True)]
