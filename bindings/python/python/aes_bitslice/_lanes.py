"""Pieces of large memory, each brought to where it is computed and back by one of several threads.

    host     | piece 7                   | piece 8                   | ..
                 |                           |
    lane 1   filled, copied, computed | ..
    lane 2       filled, copied, computed | ..

To a GPU, each thread has a lane: a stream, and pinned memory. The link to the GPU is busy while other lanes are filled. In host
memory, nothing is copied: a piece is filled where it is.

Pieces are large, for what threads do in Python they do in turns: with pieces of 4 MiB, they wait for each other more than for the link.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ._native import _threads

#: Pieces that are on their way at the same time; in host memory, no more than the package uses threads.
THREADS = 16
#: Bytes of a part of a piece, and from where to where it is in the piece; and what fills or uses its memory.
PART = 16 << 20
Part = tuple[int, int, Callable[[memoryview], None]]

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")


class HostLane:
    """The lane of arrays and tensors in host memory."""

    #: Bytes of a piece, however many there are: what is filled is still in the caches of a core when it is computed.
    piece = largest = 2 << 20

    def map(self, work: Callable[[Any, _Piece], _Result], pieces: Sequence[_Piece], size: int) -> list[_Result]:
        """The results of `work` for a lane and each piece, whose parts have `size` bytes or fewer, in order. After an exception nothing works
        on a piece any more."""
        return _by_threads(lambda piece: work(self, piece), pieces, min(THREADS, _threads()))

    def memory(self, data: Any) -> tuple[Any, memoryview | None]:
        """What calls on this thread may write to to change `data`, an array or a tensor of bytes; and pinned memory, if it goes through that."""
        return host_bytes(data), None

    def bring(self, data: Any, parts: Iterable[Part]) -> Any:
        """Has memory filled, whose bytes become those of `data`. Returns what calls on this thread may write to to change `data`."""
        memory = host_bytes(data)
        for start, stop, fill in parts:
            fill(memory[start:stop])
        return memory

    def take(self, data: Any, parts: Iterable[Part]) -> None:
        """Has the bytes of `data` used."""
        memory = host_bytes(data)
        for start, stop, use in parts:
            use(memory[start:stop])


class GpuLanes:
    """Lanes to and from the memory of a GPU, for tensors of PyTorch that are ready on the current stream."""

    #: Bytes of a piece; and of one where there are many.
    piece, largest = 16 << 20, 64 << 20

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch, self._device = torch, device

    def map(self, work: Callable[[Any, _Piece], _Result], pieces: Sequence[_Piece], size: int) -> list[_Result]:
        """As that of `HostLane`; what `work` puts on the current stream is done when it returns."""
        torch, free = self._torch, queue.SimpleQueue[_GpuLane]()
        ready = torch.cuda.current_stream(self._device).record_event()
        # Threads do not inherit it, and without it may not write to tensors that were made in it.
        is_inference = torch.is_inference_mode_enabled()

        def on_lane(piece: _Piece) -> _Result:
            try:
                lane = free.get_nowait()
            except queue.Empty:
                lane = _GpuLane(torch, torch.cuda.Stream(self._device), size)
                lane.stream.wait_event(ready)
            try:
                with torch.inference_mode(is_inference), torch.cuda.stream(lane.stream):
                    return work(lane, piece)
            finally:
                lane.stream.synchronize()
                free.put(lane)

        return _by_threads(on_lane, pieces, THREADS)


class _GpuLane:
    def __init__(self, torch: Any, stream: Any, size: int) -> None:
        self.stream = stream
        self._room = torch.empty(size, dtype=torch.uint8, device="cpu", pin_memory=True)
        self._bytes = host_bytes(self._room)

    def memory(self, data: Any) -> tuple[Any, memoryview]:
        return data, self._bytes

    def bring(self, data: Any, parts: Iterable[Part]) -> Any:
        for start, stop, fill in parts:
            self.stream.synchronize()  # the part before was copied
            fill(self._bytes[: stop - start])
            data[start:stop].copy_(self._room[: stop - start], non_blocking=True)
        return data

    def take(self, data: Any, parts: Iterable[Part]) -> None:
        for start, stop, use in parts:
            self._room[: stop - start].copy_(data[start:stop], non_blocking=True)
            self.stream.synchronize()
            use(self._bytes[: stop - start])

    def wipe(self, places: Iterable[slice]) -> None:
        """Overwrites bytes of the part that was brought last in the memory that they went through."""
        self.stream.synchronize()  # it was copied
        for place in places:
            self._bytes[place] = bytes(place.stop - place.start)


def lanes_to(torch: Any, device: Any) -> HostLane | GpuLanes:
    """The lanes to tensors on a device of PyTorch."""
    return HostLane() if device.type == "cpu" else GpuLanes(torch, device)


def _by_threads(work: Callable[[_Piece], _Result], pieces: Sequence[_Piece], threads: int) -> list[_Result]:
    """On this thread, and on others as far as the system starts them: not while Python ends, nor beyond the limits of the process."""
    left, results, errors = collections.deque(enumerate(pieces)), dict[int, _Result](), dict[int, BaseException]()

    def work_on() -> None:
        while True:
            try:
                number, piece = left.popleft()
            except IndexError:
                return
            try:
                results[number] = work(piece)
            except BaseException as error:
                errors[number] = error
                left.clear()

    ended, one_more = set[threading.Thread](), queue.SimpleQueue[None]()

    def work_apart() -> None:
        try:
            work_on()
        finally:
            ended.add(threading.current_thread())
            one_more.put(None)

    others = [threading.Thread(target=work_apart, name="aes-bitslice") for _ in range(1, min(threads, len(pieces)))]
    try:
        with contextlib.suppress(RuntimeError):
            for other in others:
                other.start()
        work_on()
    finally:
        # Ctrl-C may have ended the starting: what has not begun yet does nothing from here on.
        left.clear()
        _wait_for(others, ended, one_more)
    if errors:
        # That of a piece is no reason to forget Ctrl-C. It is not kept here: it keeps this frame.
        raise errors.pop(min(errors, key=lambda number: (isinstance(errors[number], Exception), number)))
    return [results[number] for number in range(len(pieces))]


def _wait_for(threads: list[threading.Thread], ended: set[threading.Thread], one_more: queue.SimpleQueue[None]) -> None:
    """Waits until threads that began have ended. Ctrl-C is raised after that: they write to memory that is cleared then."""
    # Not in a variable of its own: it keeps this frame.
    errors = list[BaseException]()
    # Not by `join`: before Python 3.13, Ctrl-C there makes a thread count as ended.
    while any(thread.ident is not None and thread not in ended for thread in threads):
        try:
            one_more.get()
        except BaseException as error:
            errors[:] = [error]
    if errors:
        raise errors.pop()
    for thread in threads:
        if thread.ident is not None:
            thread.join()


def host_bytes(array: Any) -> memoryview:
    """The memory of an array or tensor of bytes in host memory, which it keeps alive."""
    address = array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data
    memory: Any = (ctypes.c_ubyte * array.nbytes).from_address(address)
    memory.owner = array
    return memoryview(memory).cast("B")
