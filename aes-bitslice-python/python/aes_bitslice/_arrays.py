"""What the native module asks of the libraries that arrays are of: a new array like one, its current stream, and that its allocator
is told of a stream. To add a library: a class here, and its name in `_LIBRARIES`.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any


class _Library:
    #: Whether the arrays cannot be changed.
    immutable = False

    def __init__(self, module: str) -> None:
        self.module = importlib.import_module(module)

    def empty_like(self, array: Any) -> Any:
        """A new array of the same shape and type in the same memory."""
        return self.module.empty_like(array)

    def stream(self, array: Any) -> int | None:
        """The handle of the current stream on the array's device; None where the library has none to give."""
        return None

    def used(self, array: Any, stream: int) -> None:
        """Tells the allocator that the stream uses the array, so that its memory is not given away before."""


class _Torch(_Library):
    def stream(self, array: Any) -> int | None:
        handle: int = self.module.cuda.current_stream(array.device).cuda_stream
        return handle

    def used(self, array: Any, stream: int) -> None:
        current = self.module.cuda.current_stream(array.device)
        if current.cuda_stream != stream:
            current = self.module.cuda.ExternalStream(stream, device=array.device)
        array.record_stream(current)


class _CuPy(_Library):
    def empty_like(self, array: Any) -> Any:
        with array.device:
            return self.module.empty_like(array)

    def stream(self, array: Any) -> int | None:
        with array.device:
            handle: int = self.module.cuda.get_current_stream().ptr
            return handle


class _Jax(_Library):
    # JAX has no current stream: calls on its arrays wait until they are done.
    immutable = True

    def __init__(self, module: str) -> None:
        self.module = importlib.import_module("jax.numpy")


#: By the first part of the name of the module that a type is from.
_LIBRARIES = {"numpy": _Library, "torch": _Torch, "cupy": _CuPy, "jax": _Jax, "jaxlib": _Jax}

_known: dict[type, _Library | None] = {}


def library_of(kind: type) -> _Library | None:
    """The library that a type of arrays is from, or one that it is derived from."""
    if kind not in _known:
        names = (base.__module__.partition(".")[0] for base in kind.__mro__)
        name = next((name for name in names if name in _LIBRARIES), None)
        _known[kind] = None if name is None else _LIBRARIES[name](name)
    return _known[kind]


def handle_of(stream: Any) -> int:
    """The handle of a stream: a number, or what a library has for one."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        version_and_handle: tuple[int, int] = stream.__cuda_stream__()
        return version_and_handle[1]
    for name in ("cuda_stream", "ptr"):
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    raise TypeError(f"stream is a handle, or a stream of PyTorch or CuPy, not {type(stream).__name__}")


def view(memory: Any) -> memoryview:
    """Memory of an engine as a memoryview, which keeps it."""
    array = (ctypes.c_ubyte * memory.nbytes).from_address(memory.address)
    array.owner = memory
    return memoryview(array).cast("B")
