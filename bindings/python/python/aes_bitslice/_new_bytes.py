"""A new `bytes` that is filled where it is, by any number of threads, and neither zeroed nor copied before or after."""

from __future__ import annotations

import ctypes
import io
import mmap
from collections.abc import Callable

#: Bytes from which on memory is asked for in large pages, as NumPy does: each of 4 KiB takes an interrupt when it is first written.
_LARGE = 4 << 20


def new_bytes(count: int, fill: Callable[[memoryview], None]) -> bytes:
    """So many bytes, which `fill` writes; it keeps nothing of the memory that it gets."""
    # Nothing else has these zeros, which the system has not made yet: the file writes to them, and gives them away. Another Python than
    # CPython, and what still looks at the memory, make that a copy.
    file = io.BytesIO(bytes(count))
    with file.getbuffer() as memory:
        if count >= _LARGE:
            _in_large_pages(memory)
        fill(memory)
    return file.getvalue()


def _in_large_pages(memory: memoryview) -> None:
    """Asks the system for large pages; without them, all stays as right, and is slower."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        start = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
        size = address + memory.nbytes - start
        ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), mmap.MADV_HUGEPAGE)
