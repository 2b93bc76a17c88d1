"""`python -m aes_bitslice.bench --rust PROGRAM`: how calls from Python compare with the Rust program in speed, and what
a call costs.

In one run, in turns with the program's own `bench`, CTR-128: NumPy arrays in host memory, tensors in GPU memory, calls
on a few bytes. Figures are medians: for Python, of all runs of all rounds; for the program, of its rounds' medians.
Outputs are compared with those of the CPU engine before and after they are timed. In host memory all cores clear the
output before each timed call, as in the program: cores, caches and the GPU have done the same work before either call.
This is measured before PyTorch and CuPy are loaded, because they start their own threads. On a GPU, times are by its
own events, of large calls with others ahead of the timed one and on the caller's stream, as in the program.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import Cipher, Engine, Error, Key

#: As in the Rust program: untimed calls, and calls ahead of each timed one.
WARM_UP, LEAD = 3, 2
#: Calls in a row, if one is too short for the host to time.
ROW = 500

IV = bytes(16)
_Call = Callable[[], Any]


def check(is_right: bool, what: str) -> None:
    """Ends the benchmark if an output is wrong: its times would mean nothing."""
    if not is_right:
        raise SystemExit(f"{what}: the output is not that of the engine `cpu`: do not use it, and report it")


class Beside:
    """A comparison with the program at a path."""

    def __init__(self, program: str, size: int, runs: int, rounds: int, as_json: bool) -> None:
        self.program, self.size, self.runs, self.rounds, self.as_json = program, size, runs, rounds, as_json
        self.key = Key(bytes(range(16)))
        self.cpu = Engine("cpu").cipher(self.key)

    def all(self) -> None:
        """Everything that this machine has."""
        try:
            gpu: Engine | None = Engine("cuda:0")
        except Error as error:
            gpu = None
            print(f"# GPU: not measured: {error}")
        for backend in ["cpu", *([] if gpu is None else ["cuda:0"])]:
            for size in (self.size // 4, self.size):
                self.in_host_memory(backend, size)
        if gpu is not None:
            for name, arrays in [("torch", Torch), ("cupy", CuPy)]:
                try:
                    self.on_gpu(name, arrays(), gpu)
                except ImportError as error:
                    print(f"# {name}: not measured: {error}")

    def by_rust(self, timing: str, backend: str, size: int) -> list[float]:
        """Seconds of a run of the program, a median of several."""
        options = {"modes": "ctr", "key-bits": 128, "sizes": size, "timings": timing, "backends": backend, "runs": self.runs, "json": "-"}
        command = [self.program, "bench", *(f"--{name}={value}" for name, value in options.items())]
        report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        found = [line["median_seconds"] for line in report["results"] if (line["timing"], line["bytes"]) == (timing, size)]
        if len(found) != 1:
            raise SystemExit(f"`{' '.join(command)}` has {len(found)} results: {report['skipped']}")
        return found

    def in_turns(self, ours: Callable[[], list[float]], theirs: Callable[[], list[float]]) -> tuple[float, float]:
        """The medians of both."""
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(self.rounds):
            times[0].extend(theirs())
            times[1].extend(ours())
        return statistics.median(times[1]), statistics.median(times[0])

    def compared(self, what: str, size: int, ours: float, theirs: float) -> None:
        """Prints a line: two rates, and ours as a share of theirs."""
        share = theirs / ours
        if self.as_json:
            print(json.dumps({"what": what, "bytes": size, "python_seconds": ours, "rust_seconds": theirs, "share": share}))
            return
        rates = [f"{size / seconds / 1e9:8.2f} GB/s {8 * size / seconds / 1e12:6.3f} Tbit/s" for seconds in (ours, theirs)]
        print(f"{what:<44} {size >> 20:>5} MiB  Python {rates[0]}  Rust {rates[1]}  {100 * share:6.1f} %", flush=True)

    def cost(self, what: str, size: int, seconds: float) -> None:
        """Prints a line: the time of a call on a few bytes."""
        if self.as_json:
            print(json.dumps({"what": what, "bytes": size, "seconds": seconds}))
        else:
            print(f"{what:<72} {size:>5} B  {seconds * 1e6:8.2f} µs", flush=True)

    def in_host_memory(self, backend: str, size: int) -> None:
        """From one NumPy array to another."""
        import numpy as np

        data = np.frombuffer(np.random.default_rng(1).bytes(size), np.uint8).copy()
        expected, out = self.cpu.ctr(IV, data), np.empty_like(data)
        cipher, cores = Engine(backend).cipher(self.key), len(os.sched_getaffinity(0))
        parts = np.array_split(out, cores)
        with ThreadPoolExecutor(cores) as threads:

            def once() -> float:
                list(threads.map(lambda part: part.fill(0), parts))
                started = time.perf_counter()
                cipher.ctr(IV, data, out=out)
                return time.perf_counter() - started

            def some() -> list[float]:
                once()
                check(np.array_equal(out, expected), backend)
                seconds = [once() for _ in range(self.runs)]
                check(np.array_equal(out, expected), backend)
                return seconds

            ours = self.in_turns(some, lambda: self.by_rust("host", backend, size))
        self.compared(f"{backend}: NumPy to NumPy, out=", size, *ours)

    def on_gpu(self, name: str, arrays: Arrays, engine: Engine) -> None:
        """From one array in GPU memory to another."""
        import numpy as np

        cipher = engine.cipher(self.key)
        plain = np.frombuffer(np.random.default_rng(1).bytes(self.size), np.uint8)
        with arrays.stream():
            data, out, expected = arrays.new(plain), arrays.new(plain), arrays.new(self.cpu.ctr(IV, plain))

            def call() -> None:
                cipher.ctr(IV, data, out=out)

            def some() -> list[float]:
                out[:] = 0
                call()
                check(bool((out == expected).all()), name)
                for _ in range(WARM_UP):
                    call()
                out[:] = 0
                seconds = [arrays.by_events(call, LEAD) for _ in range(self.runs)]
                check(bool((out == expected).all()), name)
                return seconds

            ours = self.in_turns(some, lambda: self.by_rust("device", "cuda:0", self.size))
            self.compared(f"{name}: GPU memory, out=, by events", self.size, *ours)
            for size in (16, 4096):
                self.calls(name, arrays, cipher, plain[:size])

    def calls(self, name: str, arrays: Arrays, cipher: Cipher, plain: Any) -> None:
        """The cost of a call on a few bytes: for the caller, and for the stream."""
        size, data, out, expected = plain.nbytes, arrays.new(plain), arrays.new(plain), self.cpu.ctr(IV, plain.tobytes())

        def call() -> None:
            cipher.ctr(IV, data, out=out)

        def new() -> None:
            cipher.ctr(IV, data)

        call()
        check(arrays.bytes_of(out) == expected and arrays.bytes_of(cipher.ctr(IV, data)) == expected, name)
        others = arrays.operation(data, out)
        for what, work in [("CTR, out=", call), ("CTR, to a new array", new), ("its own bitwise_not, out=", others)]:
            arrays.row(work)
            times = [arrays.row(work) for _ in range(self.runs)]
            alone = statistics.median(arrays.by_events(work, 0) for _ in range(ROW))
            self.cost(f"{name}: {what}, to the return of the call", size, statistics.median(host for host, _ in times))
            self.cost(f"{name}: {what}, by events, {ROW} in a row", size, statistics.median(stream for _, stream in times))
            self.cost(f"{name}: {what}, by events, on an idle stream", size, alone)
        call()
        check(arrays.bytes_of(out) == expected, name)
        kernel = self.by_rust("device", "cuda:0", size)[0]
        self.cost("Rust: CTR, by events, after other calls: the kernel alone", size, kernel)


class Arrays:
    """Arrays of a library in GPU memory, and events of its current stream."""

    def stream(self) -> Any:
        """A new stream as the current one, for `with`."""
        raise NotImplementedError

    def new(self, array: Any) -> Any:
        """A copy of a NumPy array."""
        raise NotImplementedError

    def bytes_of(self, array: Any) -> bytes:
        """The bytes of an array, once they are available."""
        raise NotImplementedError

    def operation(self, data: Any, out: Any) -> _Call:
        """One of the library's own operations on the same number of bytes."""
        raise NotImplementedError

    def event(self) -> Any:
        """A point in the current stream."""
        raise NotImplementedError

    def between(self, start: Any, end: Any) -> float:
        """Seconds between two events, once the stream has reached them."""
        raise NotImplementedError

    def by_events(self, call: _Call, lead: int) -> float:
        """Seconds of a call on the stream, after `lead` others; without others the stream is idle."""
        self.event().synchronize()
        for _ in range(lead):
            call()
        start = self.event()
        call()
        return self.between(start, self.event())

    def row(self, call: _Call) -> tuple[float, float]:
        """Seconds of one of many calls in a row: to their return, and on the stream."""
        self.event().synchronize()
        start, started = self.event(), time.perf_counter()
        for _ in range(ROW):
            call()
        returned = time.perf_counter() - started
        return returned / ROW, self.between(start, self.event()) / ROW


class Torch(Arrays):
    """Tensors of PyTorch."""

    def __init__(self) -> None:
        import torch

        self.torch: Any = torch

    def stream(self) -> Any:
        return self.torch.cuda.stream(self.torch.cuda.Stream())

    def new(self, array: Any) -> Any:
        return self.torch.from_numpy(array.copy()).to("cuda")

    def bytes_of(self, array: Any) -> bytes:
        found: bytes = array.cpu().numpy().tobytes()
        return found

    def operation(self, data: Any, out: Any) -> _Call:
        return lambda: self.torch.bitwise_not(data, out=out)

    def event(self) -> Any:
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, start: Any, end: Any) -> float:
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3


class CuPy(Arrays):
    """Arrays of CuPy."""

    def __init__(self) -> None:
        import cupy

        self.cupy: Any = cupy

    def stream(self) -> Any:
        return self.cupy.cuda.Stream(non_blocking=True)

    def new(self, array: Any) -> Any:
        return self.cupy.asarray(array)

    def bytes_of(self, array: Any) -> bytes:
        found: bytes = array.get().tobytes()
        return found

    def operation(self, data: Any, out: Any) -> _Call:
        return lambda: self.cupy.invert(data, out=out)

    def event(self) -> Any:
        event = self.cupy.cuda.Event()
        event.record()
        return event

    def between(self, start: Any, end: Any) -> float:
        end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(start, end)) / 1e3
