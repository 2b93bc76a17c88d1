"""Sealed files of tensors: `save_file`, `load_file` and `safe_open` as in the package `safetensors`, with a key.

>>> from aes_bitslice.safetensors import load_file, save_file          # doctest: +SKIP
>>> save_file(model.state_dict(), "model.sealed", key=key)             # key: a `Key` of 256 bits
>>> tensors = load_file("model.sealed", device="cuda", key=key)

The message of such a file is a safetensors file: what `aes_bitslice.seal` makes of one is read here, and what `save_file`
makes, `aes_bitslice.open` turns into one. On a GPU, tensors are decrypted in its memory: host memory has their ciphertext
only. Only the segments of about a MiB that have bytes of the header or of the requested tensors are read.

A wrong key, and a file that was changed or cut, raise `AuthenticationError`; a message that is no safetensors file, and
tensors of a type that the framework has not, `Error`. No tensor is returned then.
"""

from __future__ import annotations

import functools
import json
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from ._arrays import library_of
from ._lanes import HostLane, host_bytes, lanes_to
from ._native import Engine, Error, Key
from ._sealed import SealedFile
from ._segments import Memory, Parts

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: By their names in files: the bits of an element, and the name of PyTorch and NumPy, which may have it or not.
_TYPES = {
    "F64": (64, "float64"),
    "F32": (32, "float32"),
    "F16": (16, "float16"),
    "BF16": (16, "bfloat16"),
    "F8_E4M3": (8, "float8_e4m3fn"),
    "F8_E4M3FNUZ": (8, "float8_e4m3fnuz"),
    "F8_E5M2": (8, "float8_e5m2"),
    "F8_E5M2FNUZ": (8, "float8_e5m2fnuz"),
    "F8_E8M0": (8, "float8_e8m0fnu"),
    "F6_E2M3": (6, ""),
    "F6_E3M2": (6, ""),
    "F4": (4, "float4_e2m1fn_x2"),
    "I64": (64, "int64"),
    "I32": (32, "int32"),
    "I16": (16, "int16"),
    "I8": (8, "int8"),
    "U64": (64, "uint64"),
    "U32": (32, "uint32"),
    "U16": (16, "uint16"),
    "U8": (8, "uint8"),
    "BOOL": (8, "bool"),
    "C64": (64, "complex64"),
}
_BITS = {of_file: bits for of_file, (bits, _) in _TYPES.items()}
_NAMES = {name: of_file for of_file, (_, name) in _TYPES.items() if name}

#: The most bytes of a header, as in the package safetensors.
_LONGEST = 100_000_000


def save_file(
    tensors: Mapping[str, Any],
    filename: str | os.PathLike[str] | Any,
    metadata: Mapping[str, str] | None = None,
    *,
    key: Key | None = None,
    passphrase: str | Buffer | None = None,
    keyset: str | None = None,
    associated_data: Buffer | None = None,
    overwrite: bool = False,
) -> None:
    """Seals tensors of PyTorch, or arrays of NumPy, in a file, which appears when it is complete.

    Tensors of a GPU are brought to host memory, one at a time, and encrypted there. Each must be contiguous; those that
    share memory are written each for itself.

    tensors: by their names.
    filename: a path, or a file object that the sealed file is written to.
    metadata: texts by their names, which stand in the header.
    key, passphrase, keyset, associated_data, overwrite: as for `aes_bitslice.seal`.
    """
    if not isinstance(tensors, Mapping):
        raise TypeError(f"tensors must be a dictionary of tensors by their names, not {type(tensors).__name__}")
    if not _are_texts(metadata):
        raise TypeError("metadata must be a dictionary of texts by their names")
    types = {name: _saved_type(name, tensor) for name, tensor in tensors.items()}
    # Large elements first, so that each tensor begins at a multiple of its own.
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    end = 0
    for name in names:
        start, end = end, end + tensors[name].nbytes
        header[name] = {
            "dtype": types[name],
            "shape": _shape(tensors[name].shape, operator.mul, types[name], tensors[name].dtype),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    # The first tensor then begins 8 bytes after a multiple of 16, as all segments but the first do.
    text += b" " * (-len(text) % 16)
    if len(text) > _LONGEST:
        raise ValueError(f"the names, shapes and metadata take {len(text)} bytes, and a header has at most {_LONGEST}")
    secret: dict[str, Any] = {"key": key, "passphrase": passphrase, "keyset": keyset, "associated_data": associated_data}
    with SealedFile(filename, "wb", overwrite=overwrite, **secret) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            tensor = tensors[name]
            file.write(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor)


def load_file(
    filename: str | os.PathLike[str] | Any,
    device: Any = "cpu",
    *,
    framework: str = "pt",
    key: Key | None = None,
    passphrase: str | Buffer | None = None,
    keyset: str | None = None,
    associated_data: Buffer | None = None,
) -> dict[str, Any]:
    """All tensors of a sealed file, by their names. They are parts of one piece of memory, which is there until the last of
    them is dropped.

    filename: a path, or a file object that can seek, whose position counts as the start of the file.
    device: where they are: "cpu", or with PyTorch a GPU such as "cuda:0" or its number.
    framework: "pt" for PyTorch, "np" for NumPy.
    key, passphrase, keyset, associated_data: as for `aes_bitslice.open`.
    """
    secret: dict[str, Any] = {"key": key, "passphrase": passphrase, "keyset": keyset, "associated_data": associated_data}
    with safe_open(filename, framework, device, **secret) as file:
        return file.get_tensors()


class _Tensor(NamedTuple):
    """A tensor as the header has it; its place is that in the message."""

    type: str
    shape: list[int]
    start: int
    stop: int


class safe_open:
    """A sealed file of tensors, of which tensors are read when they are asked for. To be used in a `with` block.

    filename: a path, or a file object that can seek, whose position counts as the start of the file.
    framework: "pt" for PyTorch, "np" for NumPy.
    device: where tensors are: "cpu", or with PyTorch a GPU such as "cuda:0" or its number.
    key, passphrase, keyset, associated_data: as for `aes_bitslice.open`.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str] | Any,
        framework: str = "pt",
        device: Any = "cpu",
        *,
        key: Key | None = None,
        passphrase: str | Buffer | None = None,
        keyset: str | None = None,
        associated_data: Buffer | None = None,
    ) -> None:
        if framework not in _FRAMEWORKS:
            raise ValueError(f'framework must be "pt" for PyTorch or "np" for NumPy, not {framework!r}')
        self._framework = _FRAMEWORKS[framework](device)
        secret = {"key": key, "passphrase": passphrase, "keyset": keyset, "associated_data": associated_data}
        self._parts = Parts(filename, self._framework.memory, **secret)
        self._name = "" if hasattr(filename, "read") else f"{os.fspath(filename)}: "
        try:
            self._metadata, self._tensors = self._header()
        except BaseException:
            self._parts.close()
            raise

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._parts.close()

    def metadata(self) -> dict[str, str] | None:
        """The texts in the header, by their names; None if it has none."""
        return self._metadata

    def keys(self) -> list[str]:
        """The names of the tensors."""
        return sorted(self._tensors)

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order of the file."""
        return list(self._tensors)

    def get_tensor(self, name: str) -> Any:
        """A tensor.

        name: of the tensor. `KeyError` if the file has none of this name.
        """
        return self.get_slice(name)[...]

    def get_tensors(self) -> dict[str, Any]:
        """All tensors, by their names. They are parts of one piece of memory."""
        kinds = {name: (self._type(name), self._shape(name)) for name in self._tensors}
        start = min((tensor.start for tensor in self._tensors.values()), default=0)
        with self._parts.read(start, self._parts.length if self._tensors else 0) as data:
            return {
                name: self._framework.tensor(data[tensor.start - start : tensor.stop - start], *kinds[name])
                for name, tensor in self._tensors.items()
            }

    def get_slice(self, name: str) -> Slice:
        """A tensor, of which parts are read by an index: `file.get_slice("weight")[100:200]`.

        name: of the tensor. `KeyError` if the file has none of this name.
        """
        if name not in self._tensors:
            raise KeyError(f"{self._name}the file has no tensor {name!r}")
        return Slice(self, name)

    def _type(self, name: str) -> Any:
        """The framework's type of a tensor."""
        of_file = self._tensors[name].type
        found = self._framework.type(_TYPES[of_file][1])
        if found is None:
            raise Error(f"{self._name}the tensor {name!r} has the type {of_file}, which {self._framework.name} does not have")
        return found

    def _shape(self, name: str) -> list[int]:
        """The framework's shape of a tensor."""
        tensor, dtype = self._tensors[name], self._type(name)
        if len(tensor.shape) > self._framework.dimensions:
            raise Error(f"{self._name}the tensor {name!r} has {len(tensor.shape)} dimensions, and {self._framework.name} has at most {self._framework.dimensions}")
        last, several = tensor.shape[-1:] or [1], _elements(tensor.type, dtype)
        if last[0] % several:
            raise Error(f"{self._name}the tensor {name!r} has the shape {tensor.shape}, and an element of {self._framework.name} holds {several} of its elements: the last length must be a multiple of {several}")
        return _shape(tensor.shape, operator.floordiv, tensor.type, dtype)

    def _header(self) -> tuple[dict[str, str] | None, dict[str, _Tensor]]:
        """The metadata and the tensors, in the order of the file."""
        length = self._parts.length
        with self._parts.read(0, min(8, length), keep=False) as data:
            size = int.from_bytes(self._framework.to_bytes(data), "little")
        if size > min(length - 8, _LONGEST):
            raise self._refused("it has no header")
        begin = 8 + size
        with self._parts.read(8, begin, keep=False) as data:
            text = self._framework.to_bytes(data)
        try:
            header = json.loads(text.decode(), object_pairs_hook=_once)
            metadata = header.pop("__metadata__", None)
            tensors = {
                name: _Tensor(entry["dtype"], [_length(n) for n in entry["shape"]], *(begin + _length(place) for place in entry["data_offsets"]))
                for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"])
            }
            for name, tensor in tensors.items():
                if _BITS[tensor.type] * math.prod(tensor.shape) != 8 * (tensor.stop - tensor.start):
                    raise self._refused(f"its header gives {name!r} more or fewer bytes than its type and shape have")
                # Frameworks count so, even where another length is 0.
                if _BITS[tensor.type] * math.prod(length or 1 for length in tensor.shape) >= 8 << 63:
                    raise self._refused(f"its header gives {name!r} lengths for which no number of bytes has room")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise self._refused(f"its header is damaged, or has what this version does not know ({error})") from None
        if not _are_texts(metadata):
            raise self._refused("its metadata are not texts")
        places = [begin, *(place for tensor in tensors.values() for place in tensor[2:]), length]
        if places[::2] != places[1::2]:
            raise self._refused("its tensors do not follow each other from the header to the end")
        return metadata, tensors

    def _refused(self, what: str) -> Error:
        # What a cut file has is not what was sealed.
        self._parts.check_end()
        return Error(f"{self._name}the message of the sealed file is not a safetensors file: {what}")


class Slice:
    """A tensor of an open file, of which an index reads a part: only the segments with the rows that its first number or
    slice selects are read."""

    def __init__(self, file: safe_open, name: str) -> None:
        self._file, self._name, self._tensor = file, name, file._tensors[name]

    def get_shape(self) -> list[int]:
        """The lengths of the dimensions, in elements."""
        return list(self._tensor.shape)

    def get_dtype(self) -> str:
        """The type, by its name in safetensors files, such as "BF16"."""
        return self._tensor.type

    def __getitem__(self, index: Any) -> Any:
        dtype, shape = self._file._type(self._name), self._file._shape(self._name)
        start, stop = self._tensor.start, self._tensor.stop
        first, *others = (index if isinstance(index, tuple) else (index,)) or (...,)
        rows: range | None = None
        if shape and isinstance(first, slice) and first.step in (None, 1):
            rows, first = range(shape[0])[first], slice(None)
        elif shape and type(first) is int and -shape[0] <= first < shape[0]:
            rows, first = range(shape[0])[first:][:1], 0
        if rows is not None and shape[0]:
            row = (stop - start) // shape[0]
            start, stop, shape = start + rows.start * row, start + rows.stop * row, [len(rows), *shape[1:]]
        with self._file._parts.read(start, max(start, stop)) as data:
            whole = self._file._framework.tensor(data, dtype, shape, alone=True)
            try:
                return whole[(first, *others)]
            except BaseException:
                whole[...] = 0
                raise


class _NumPy:
    name = "NumPy"

    def __init__(self, device: Any) -> None:
        import numpy

        if str(device) != "cpu":
            raise ValueError(f'with NumPy, device must be "cpu", not {device!r}')
        self._numpy = numpy
        #: The most of an array: 64 since NumPy 2, which has no such name.
        self.dimensions: int = getattr(numpy, "MAXDIMS", 64)
        self.memory = Memory(_cpu(), functools.partial(numpy.empty, dtype=numpy.uint8), HostLane())

    def type(self, name: str) -> Any:
        """The type of this name; None if there is none."""
        try:
            return self._numpy.dtype(name) if name else None
        except TypeError:
            return None

    def to_bytes(self, data: Any) -> bytes:
        return bytes(data)

    def tensor(self, data: Any, dtype: Any, shape: list[int], alone: bool = False) -> Any:
        """An array of these bytes: of other memory if that has many others and `alone` is set, or if it is at no multiple of 16."""
        if alone and data.base is not None and 2 * data.nbytes < data.base.nbytes or data.ctypes.data % 16:
            data = data.copy()
        return data.view(dtype).reshape(shape)


class _Torch:
    name = "PyTorch"
    dimensions = sys.maxsize

    def __init__(self, device: Any) -> None:
        import torch

        from .torch import _engine, _name

        place = torch.empty(0, device=device).device
        engine, empty = _engine(_name(place)), functools.partial(torch.empty, dtype=torch.uint8, device=place)
        self._torch = torch
        self.memory = Memory(engine, empty, lanes_to(torch, place))

    def type(self, name: str) -> Any:
        """The type of this name; None if there is none."""
        return getattr(self._torch, name, None) if name else None

    def to_bytes(self, data: Any) -> bytes:
        host = data.cpu()
        return bytes(host_bytes(host))

    def tensor(self, data: Any, dtype: Any, shape: list[int], alone: bool = False) -> Any:
        """A tensor of these bytes: of other memory if that has many others and `alone` is set, or if it is at no multiple of 16."""
        if alone and 2 * data.nbytes < data.untyped_storage().nbytes() or data.data_ptr() % 16:
            data = data.clone()
            if data.is_cuda:
                # For whoever uses it on another stream.
                self._torch.cuda.current_stream(data.device).synchronize()
        return data.view(dtype).reshape(shape)


_FRAMEWORKS: dict[str, type[_Torch | _NumPy]] = {"pt": _Torch, "torch": _Torch, "pytorch": _Torch, "np": _NumPy, "numpy": _NumPy}


@functools.cache
def _cpu() -> Engine:
    return Engine("cpu")


def _shape(shape: Iterable[int], change: Callable[[int, int], int], of_file: str, dtype: Any) -> list[int]:
    """A shape with its last length changed by how many elements of a file one of the framework has."""
    *first, last = [1, *shape]
    return [*first, change(last, _elements(of_file, dtype))][1:]


def _elements(of_file: str, dtype: Any) -> int:
    """How many elements of a file one of the framework has: more than one if they have less than a byte."""
    return int(8 * dtype.itemsize // _BITS[of_file])


def _saved_type(name: Any, tensor: Any) -> str:
    """The type of a tensor by its name in files."""
    if not isinstance(name, str) or name == "__metadata__":
        raise ValueError(f"the name of a tensor is a text, and not __metadata__: {name!r} is none")
    library = library_of(type(tensor))
    of_framework = str(getattr(tensor, "dtype", None)).rpartition(".")[2]
    if library is None or library.module.__name__ not in ("torch", "numpy") or of_framework not in _NAMES:
        raise TypeError(f"{name!r} must be a tensor of PyTorch or an array of NumPy, of a type that safetensors files have")
    if hasattr(tensor, "mask"):
        raise TypeError(f"{name!r} is a masked array, and a file has no masks: save its data and its mask as two tensors")
    if not (tensor.is_contiguous() if hasattr(tensor, "is_contiguous") else tensor.flags.c_contiguous):
        raise ValueError(f"the tensor {name!r} is not contiguous: make it so first")
    if not tensor.shape and _elements(_NAMES[of_framework], tensor.dtype) > 1:
        raise ValueError(f"the tensor {name!r} has no dimension, and its element holds several of the file's: reshape it to (1,)")
    return _NAMES[of_framework]


def _length(number: Any) -> int:
    """A length of a shape, or an offset."""
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r} is no length and no offset")
    return number


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A dictionary of pairs whose names differ."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} is there twice")
        found[name] = value
    return found


def _are_texts(metadata: Any) -> bool:
    return metadata is None or isinstance(metadata, Mapping) and all(isinstance(text, str) for pair in metadata.items() for text in pair)
