"""Pieces on their lanes: results in order, the first error in order, and nothing that goes on after it; the order of a GPU's work, and what
is overwritten."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from aes_bitslice import _lanes


def test_results_are_in_order(monkeypatch):
    monkeypatch.setattr(_lanes, "_threads", lambda: 4)
    lanes, used, all_here = _lanes.HostLane(), set(), threading.Barrier(4)

    def work(lane, piece):
        assert lane is lanes
        used.add(threading.get_ident())
        if piece < all_here.parties:
            all_here.wait(60)
        time.sleep(0.001 * (piece % 3))
        return piece * piece

    assert lanes.map(work, range(50), 1) == [n * n for n in range(50)]
    assert len(used) == 4 and threading.get_ident() in used
    assert lanes.map(lambda lane, piece: threading.get_ident(), [0], 1) == [threading.get_ident()]
    assert lanes.map(work, [], 1) == []


def test_after_the_first_error_nothing_begins_and_nothing_goes_on(monkeypatch):
    monkeypatch.setattr(_lanes, "_threads", lambda: 3)
    begun, ended, other = [], [], threading.Event()

    def work(lane, piece):
        begun.append(piece)
        if piece in (5, 7):
            assert other.wait(60) if piece == 5 else other.set() is None
            raise ValueError(piece)
        time.sleep(0.01)
        ended.append(piece)

    with pytest.raises(ValueError, match="5"):
        _lanes.HostLane().map(work, range(1000), 1)
    assert len(begun) == len(ended) + 2 and len(begun) < 100


def test_no_thread_goes_on_after_ctrl_c_and_ctrl_c_again(monkeypatch):
    """They write plaintext to memory that is cleared then."""
    monkeypatch.setattr(_lanes, "_threads", lambda: 2)
    here, begun, taken, ended = threading.get_ident(), threading.Event(), queue.SimpleQueue(), []

    def raises(*given):
        taken.put(None)
        raise KeyboardInterrupt

    def work(lane, piece):
        if threading.get_ident() == here:
            assert begun.wait(60)
            return
        begun.set()
        for _ in range(3):
            time.sleep(0.1)  # The other thread waits for this one by now; the test is right, if weaker, where it does not.
            signal.pthread_kill(here, signal.SIGINT)
            taken.get(timeout=60)
        time.sleep(0.1)
        ended.append(piece)

    before = signal.signal(signal.SIGINT, raises)
    try:
        with pytest.raises(KeyboardInterrupt):
            _lanes.HostLane().map(work, range(2), 1)
        assert len(ended) == 1
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("threads", [0, 2])
def test_where_the_system_starts_no_more_threads(threads, monkeypatch):
    """The others do all the work, this one alone if need be, and no limit is an error."""
    starts = threading.Thread.start

    def start(thread):
        if len(started) == threads:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        starts(thread)

    started, used, all_here = [], set(), threading.Barrier(threads + 1)
    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(_lanes, "_threads", lambda: 8)

    def work(lane, piece):
        used.add(threading.get_ident())
        if piece < all_here.parties:
            all_here.wait(60)
        return piece

    assert _lanes.HostLane().map(work, range(20), 1) == list(range(20))
    assert len(used) == threads + 1 and not any(thread.is_alive() for thread in started)


PROGRAM = """
import atexit, sys, threading
import numpy
from aes_bitslice import Key, kv, safetensors

def use():
    cipher, blocks = kv.BlockCipher(bytes(32)), numpy.ones((64, 1 << 17), numpy.uint8)
    frames = cipher.encrypt(blocks)
    assert (cipher.decrypt(frames, numpy.zeros_like(blocks)) == blocks).all()
    safetensors.save_file({"a": blocks}, "sealed", key=key)
    assert (safetensors.load_file("sealed", framework="np", key=key)["a"] == blocks).all()
    print("done")

key = Key.generate(256)
def after_the_main_thread():
    threading.main_thread().join()
    use()
if sys.argv[1] == "atexit":
    atexit.register(use)
else:
    threading.Thread(target=after_the_main_thread).start()
"""


@pytest.mark.parametrize("when", ["atexit", "thread"])
def test_while_python_ends(when, tmp_path):
    ran = subprocess.run([sys.executable, "-c", PROGRAM, when], capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout + ran.stderr == "done\n"


LANES = """
import os, sys, threading
import aes_bitslice
from aes_bitslice import _lanes
if sys.argv[1] == "set":
    aes_bitslice.set_threads(3)
elif sys.argv[1] == "one core":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
used, all_here = set(), threading.Barrier(int(sys.argv[2]))
def work(lane, piece):
    used.add(threading.get_ident())
    if piece < all_here.parties:
        all_here.wait(60)
_lanes.HostLane().map(work, range(20), 1)
print(len(used))
"""


@pytest.mark.parametrize("by, variable, threads", [("set", "7", 3), ("variable", "4", 4), ("one core", "", 1)])
def test_no_more_threads_than_the_package_may_use(by, variable, threads):
    environment = {**os.environ, "AES_BITSLICE_THREADS": variable}
    ran = subprocess.run([sys.executable, "-c", LANES, by, str(threads)], capture_output=True, text=True, env=environment)
    assert ran.stdout + ran.stderr == f"{threads}\n"


on_thread = threading.local()


class Stream:
    """A stream, whose work is done when it is waited for."""

    def __init__(self):
        self.waits, self.work = [], []

    def wait_event(self, event):
        self.waits.append(event)

    def record_event(self):
        return self

    def synchronize(self):
        for work in self.work:
            work()
        self.work.clear()


def fill(room, value):
    np.copyto(np.frombuffer(room, np.uint8), value)


class Tensor(np.ndarray):
    """An array of bytes that copies are made to and from as a GPU does: later."""

    def copy_(self, other, non_blocking):
        assert non_blocking and on_thread.stream.waits
        on_thread.stream.work.append(lambda: np.copyto(self, other))
        return self


def test_lanes_of_a_gpu(monkeypatch):
    """Each has a stream, which comes after the current one, and memory that is not filled again before it was copied."""
    monkeypatch.setattr(_lanes, "THREADS", 3)
    here, streams = Stream(), []

    def made(device):
        assert device == "a GPU"
        streams.append(Stream())
        return streams[-1]

    @contextlib.contextmanager
    def on(stream):
        on_thread.stream = stream
        yield

    torch = SimpleNamespace(
        cuda=SimpleNamespace(Stream=made, stream=on, current_stream=lambda device: here),
        empty=lambda size, dtype, device, pin_memory: np.empty(size, dtype).view(Tensor),
        uint8=np.uint8,
        is_inference_mode_enabled=lambda: False,
        inference_mode=lambda mode: contextlib.nullcontext(),
    )
    memory = np.zeros(100 * 10, np.uint8).view(Tensor)
    lanes = _lanes.GpuLanes(torch, "a GPU")

    def work(lane, piece):
        part, found = memory[10 * piece : 10 * piece + 10], bytearray(10)
        lane.bring(part, [(0, 3, lambda room: fill(room, piece)), (3, 6, lambda room: fill(room, 1)), (6, 10, lambda room: fill(room, 2))])
        time.sleep(0.001)
        if piece % 3 == 0:
            lane.wipe([slice(0, 1), slice(2, 4)])
            assert bytes(lane._bytes[:4]) == bytes([0, 2, 0, 0])
        if piece % 2:
            lane.take(part, [(0, 4, lambda room: found.__setitem__(slice(4), room)), (4, 10, lambda room: found.__setitem__(slice(4, 10), room))])
        return bytes(found)

    expected = [bytes([n] * 3 + [1] * 3 + [2] * 4) for n in range(100)]
    assert lanes.map(work, range(100), 6) == [each if n % 2 else bytes(10) for n, each in enumerate(expected)]
    assert memory.tobytes() == b"".join(expected)
    assert 1 < len(streams) <= 3 and all(stream.waits == [here] and not stream.work for stream in streams)


def test_torch_on_a_gpu(torch):
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA GPU")
    memory = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")

    def work(lane, piece):
        part, found = memory[piece << 20 : (piece + 1) << 20], bytearray(1 << 20)
        lane.bring(part, [(0, 1 << 19, lambda room: fill(room, piece)), (1 << 19, 1 << 20, lambda room: fill(room, piece))])
        part += 1
        lane.take(part, [(0, 1 << 20, lambda room: found.__setitem__(slice(None), room))])
        return found

    results = _lanes.lanes_to(torch, memory.device).map(work, range(64), 1 << 20)
    assert results == [bytes([n + 1]) * (1 << 20) for n in range(64)]
    assert (memory.view(64, -1).cpu() == torch.arange(1, 65)[:, None]).all()
