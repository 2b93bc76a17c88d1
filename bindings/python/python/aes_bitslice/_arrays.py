"""What the native module needs from the libraries of arrays: whether an array may be read and written as bytes, a new array
like a given one, the current stream, and ways to tell the library what was done. To add a library, add a class here, and
its name to `_LIBRARIES`.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from ._native import UnavailableError


class _Library:
    #: The type that all arrays have; other objects of the library are not arrays.
    array: type = object
    #: Whether the arrays are immutable.
    immutable = False
    #: Types of arrays whose memory is looked up without a DLPack export, which takes longer: through the library's C
    #: functions, whose capsule this is, else through `span`.
    types: dict[type, Any] = {}

    def __init__(self, module: str) -> None:
        self.module = importlib.import_module(module)

    def empty_like(self, array: Any) -> Any:
        """A new array of the same shape and type in the same memory."""
        return self.module.empty_like(array)

    def check(self, array: Any, writes: bool) -> None:
        """Refuses an array whose bytes are not exactly its values, or that must not be written although `writes` is set.
        Not called for integers of one of `types` that are only read."""

    def written(self, array: Any) -> None:
        """Tells the library that an array was written."""

    def span(self, array: Any, writes: bool) -> tuple[int, int, int] | None:
        """For arrays of `types` without C functions, checked: the address of the first byte, the number of bytes, and the
        number of the CUDA device, -1 in host memory. None if only an export tells."""
        return None

    def stream(self, array: Any) -> int | None:
        """The handle of the current stream on the array's device; None if the library has none."""
        return None

    def used(self, array: Any, stream: int) -> None:
        """Tells the allocator that a stream other than the current one uses the array, so its memory is not reused
        before."""


def _with_functions(*types: type) -> dict[type, Any]:
    return {kind: getattr(kind, "__dlpack_c_exchange_api__", None) for kind in types}


def check_pytorch(torch: Any) -> None:
    """Refuses a version of PyTorch that cannot be told that a tensor was written."""
    if not hasattr(torch.autograd.graph, "increment_version"):
        raise UnavailableError(f"PyTorch {torch.__version__} is too old: tensors need PyTorch 2.1 or later")


class _Torch(_Library):
    def __init__(self, module: str) -> None:
        super().__init__(module)
        torch = self.module
        check_pytorch(torch)
        self.array = torch.Tensor
        self.types = _with_functions(torch.Tensor, torch.nn.Parameter)
        self._increment_version = torch.autograd.graph.increment_version
        # As compilers of PyTorch kernels do it; the public way creates an object.
        self._raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self._streams: dict[tuple[int, int], Any] = {}

    def check(self, array: Any, writes: bool) -> None:
        if array.layout is not self.module.strided or array.is_nested:
            raise BufferError(f"the tensor has the layout {array.layout}: make it dense first (`.to_dense()`)")
        if not (array.is_cpu or array.is_cuda):
            raise BufferError(f"the tensor is on the device {array.device}: bring it to host memory or to a CUDA GPU")
        if array.requires_grad:
            raise BufferError("the tensor requires a gradient, which is not computed here: pass it without (`.detach()`)")
        if array.is_neg():
            raise BufferError("the tensor is negated when it is read, and not in memory: make it so first (`.resolve_neg()`)")
        if array.is_conj():
            raise BufferError("the tensor is conjugated when it is read, and not in memory: make it so first (`.resolve_conj()`)")
        if writes and array.is_inference() and not self.module.is_inference_mode_enabled():
            raise BufferError("the tensor was made in inference mode and cannot be changed outside it: change a copy (`.clone()`)")

    def written(self, array: Any) -> None:
        # Autograd compares it with the version that it kept: a gradient of overwritten values is an error then.
        self._increment_version(array)

    def span(self, array: Any, writes: bool) -> tuple[int, int, int] | None:
        self.check(array, writes)
        if not array.is_contiguous():
            raise BufferError("the tensor is not contiguous: make it so first (`.contiguous()`)")
        return array.data_ptr(), array.nbytes, array.get_device()

    def stream(self, array: Any) -> int | None:
        if self._raw_stream is not None:
            raw: int = self._raw_stream(array.get_device())
            return raw
        handle: int = self.module.cuda.current_stream(array.device).cuda_stream
        return handle

    def used(self, array: Any, stream: int) -> None:
        place = (array.get_device(), stream)
        if place not in self._streams:
            self._streams[place] = self._stream_object(*place)
        array.record_stream(self._streams[place])

    def _stream_object(self, device: int, stream: int) -> Any:
        cuda = self.module.cuda
        for known in (cuda.current_stream(device), cuda.default_stream(device)):
            if known.cuda_stream == stream:
                return known
        return cuda.ExternalStream(stream, device=device)


class _CuPy(_Library):
    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.types = _with_functions(self.module.ndarray)

    def empty_like(self, array: Any) -> Any:
        with array.device:
            return self.module.empty_like(array)

    def span(self, array: Any, writes: bool) -> tuple[int, int, int] | None:
        if not array.flags.c_contiguous:
            raise BufferError("the array is not contiguous: make it so first (`cupy.ascontiguousarray`)")
        memory = array.data
        return memory.ptr, array.nbytes, memory.device_id

    def stream(self, array: Any) -> int | None:
        handle: int = self.module.cuda.get_current_stream(array.data.device_id).ptr
        return handle


class _Jax(_Library):
    # JAX has no current stream: calls on its arrays wait until they are done.
    immutable = True

    def __init__(self, module: str) -> None:
        self.module = importlib.import_module("jax.numpy")


#: By the first part of the name of a type's module.
_LIBRARIES = {"numpy": _Library, "torch": _Torch, "cupy": _CuPy, "jax": _Jax, "jaxlib": _Jax}

#: By type; the native module looks here first.
known: dict[type, _Library | None] = {}


def library_of(kind: type) -> _Library | None:
    """The library of an array type, or of a type that it is derived from."""
    if kind not in known:
        names = (base.__module__.partition(".")[0] for base in kind.__mro__)
        name = next((name for name in names if name in _LIBRARIES), None)
        library = None if name is None else _LIBRARIES[name](name)
        known[kind] = library if library is not None and issubclass(kind, library.array) else None
    return known[kind]


def handle_of(stream: Any) -> int:
    """The handle of a stream, which is a number or a library's stream object."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        version_and_handle: tuple[int, int] = stream.__cuda_stream__()
        return version_and_handle[1]
    for name in ("cuda_stream", "ptr"):
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    raise TypeError(f"stream must be a handle, or a stream of PyTorch or CuPy, not {type(stream).__name__}")


def view(memory: Any) -> memoryview:
    """Memory of an engine as a memoryview, which keeps it alive."""
    array = (ctypes.c_ubyte * memory.nbytes).from_address(memory.address)
    array.owner = memory
    return memoryview(array).cast("B")
