"""`python -m aes_bitslice.bench`: how fast calls from Python are, in GPU memory and in host memory, and what a call costs.

Each output is compared with the CPU engine's before it is timed. For comparison, in the same run and if installed:
`cryptography` (OpenSSL) and PyCryptodome, and memory copies, which nothing can beat.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from . import Engine, Error, Key

IV, NONCE = bytes(16), bytes(12)
KEY = bytes(range(32))
_UNITS = {"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}


def _count(text: str) -> int:
    """The value of an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 on")
    return int(text)


def _size(text: str) -> int:
    """A number of bytes, with or without a unit, as the command line takes it."""
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    number = text.removesuffix(unit)
    if not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of bytes from 1 on, such as 1500, 64MiB or 1GiB")
    return int(number) << _UNITS.get(unit, 0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m aes_bitslice.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=_size, default=1 << 30, help="bytes of a large call, or with KiB, MiB, GiB, TiB (default: 1GiB)")
    parser.add_argument("--runs", type=_count, default=9, help="timed runs of each case (default: 9)")
    parser.add_argument("--key-bits", type=int, default=128, choices=(128, 192, 256))
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    parser.add_argument("--parquet", action="store_true", help="decrypt an encrypted Parquet file instead, beside pyarrow")
    arguments = parser.parse_args()
    global _runs, _as_json
    _runs, _as_json = arguments.runs, arguments.json
    if importlib.util.find_spec("numpy") is None:
        parser.error("NumPy is needed: pip install numpy")
    key = Key(KEY[: arguments.key_bits // 8])
    if arguments.parquet:
        from . import _bench_parquet

        _bench_parquet.measure(key, arguments.bytes, timed, report)
        return
    if not _as_json:
        print(f"# {arguments.bytes} bytes, {_runs} runs of each case; --bytes and --runs take fewer", flush=True)
    host(key, arguments.bytes)
    for name, work in [("torch", torch_tensors), ("cupy", cupy_arrays), ("jax", jax_arrays)]:
        try:
            engine = Engine("cuda:0")
            work(engine, key, arguments.bytes)
        except (ImportError, Error) as error:
            print(f"# {name}: not measured: {error}")


_runs, _as_json = 9, False


def check(is_right: bool, what: str) -> None:
    """Ends the benchmark if an output is wrong: its times would mean nothing."""
    if not is_right:
        raise SystemExit(f"{what}: the output is not that of the engine `cpu`: do not use it, and report it")


def report(what: str, seconds: list[float], size: int | None = None) -> None:
    """Prints a line: the median, and the rate if there are bytes."""
    median = statistics.median(seconds)
    if _as_json:
        print(json.dumps({"what": what, "seconds": median, "bytes": size, "least": min(seconds), "most": max(seconds)}))
    elif size is None:
        print(f"{what:<64} {median * 1e6:10.2f} µs")
    else:
        print(f"{what:<64} {size / median / 1e9:10.2f} GB/s {8 * size / median / 1e12:8.3f} Tbit/s")


def timed(call: Callable[[], Any], runs: int | None = None) -> list[float]:
    """Seconds of each run, after an uncounted one."""
    call()
    seconds = []
    for _ in range(runs or _runs):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return seconds


def each(call: Callable[[], Any], count: int = 10_000, end: Callable[[], Any] = lambda: None) -> list[float]:
    """Seconds of one of many calls in a row, up to their return."""
    seconds = []
    for _ in range(5):
        for _ in range(100):
            call()
        end()
        started = time.perf_counter()
        for _ in range(count):
            call()
        seconds.append((time.perf_counter() - started) / count)
        end()
    return seconds


def host(key: Key, size: int) -> None:
    """NumPy arrays in host memory, with every engine that opens, and with other packages."""
    import numpy as np

    data = np.frombuffer(np.random.default_rng(1).bytes(size), np.uint8)
    out = np.empty_like(data)
    out[:] = 1
    start = data[: 1 << 20]
    expected, of_gcm = Engine("cpu").cipher(key).ctr(IV, start), Engine("cpu").cipher(key).gcm_encrypt(NONCE, start)[0]
    for name in ("cpu", "cpu-bitsliced", "cuda", "auto"):
        try:
            engine = Engine(name)
        except Error as error:
            print(f"# {name}: not measured: {error}")
            continue
        cipher = engine.cipher(key)
        cipher.ctr(IV, data, out=out)
        check(bool((out[: 1 << 20] == expected).all()), name)
        report(f"{name}: CTR, NumPy to NumPy (out=)", timed(lambda c=cipher: c.ctr(IV, data, out=out)), size)  # type: ignore[misc]
        if name in ("cuda", "cpu"):
            pinned = np.asarray(engine.host_buffer(size))
            pinned[:] = data
            report(f"{name}: CTR, in place in host_buffer", timed(lambda c=cipher, p=pinned: c.ctr(IV, p, out=p)), size)  # type: ignore[misc]
            del pinned
        report(f"{name}: CTR, NumPy to a new array", timed(lambda c=cipher: c.ctr(IV, data)), size)  # type: ignore[misc]
        cipher.gcm_encrypt(NONCE, data, out=out)
        check(bool((out[: 1 << 20] == of_gcm).all()), name)
        report(f"{name}: GCM, NumPy to NumPy (out=)", timed(lambda c=cipher: c.gcm_encrypt(NONCE, data, out=out)), size)  # type: ignore[misc]
    report("copy of memory, NumPy, one core", timed(lambda: np.copyto(out, data)), size)
    small, cipher = bytes(16), Engine("cpu").cipher(key)
    report("cpu: a call of CTR on 16 bytes", each(lambda: cipher.ctr(IV, small)))
    report("cpu: a call of GCM on 16 bytes", each(lambda: cipher.gcm_encrypt(NONCE, small)))
    other(key, data, expected, of_gcm)


def other(key: Key, data: Any, expected: Any, of_gcm: Any) -> None:
    """The same with other packages, on one core, as they are usually called."""
    whole = data.tobytes()
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        secret = Cipher(algorithms.AES(key.expose()), modes.CTR(IV)).encryptor()
        check(secret.update(whole[: 1 << 20]) == expected.tobytes(), "cryptography")
        out = bytearray(1 << 24)
        piece = memoryview(whole)[: (1 << 24) - 15]
        report("cryptography (OpenSSL): CTR into a buffer of 16 MiB", timed(lambda: secret.update_into(piece, out)), len(piece))
        report("cryptography (OpenSSL): CTR to new bytes", timed(lambda: secret.update(whole)), len(whole))
        small = bytes(16)
        gcm = AESGCM(key.expose())
        check(gcm.encrypt(NONCE, whole[: 1 << 20], None)[:-16] == of_gcm.tobytes(), "cryptography")
        report("cryptography (OpenSSL): GCM to new bytes", timed(lambda: gcm.encrypt(NONCE, whole, None)), len(whole))
        report("cryptography (OpenSSL): a call of GCM on 16 bytes", each(lambda: gcm.encrypt(NONCE, small, None)))
        report(
            "cryptography (OpenSSL): a call of CTR on 16 bytes, with its context",
            each(lambda: Cipher(algorithms.AES(KEY), modes.CTR(IV)).encryptor().update(small)),
        )
    except ImportError:
        print("# cryptography: not installed")
    try:
        from Crypto.Cipher import AES

        made = AES.new(key.expose(), AES.MODE_CTR, nonce=b"", initial_value=IV)
        check(made.encrypt(whole[: 1 << 20]) == expected.tobytes(), "PyCryptodome")
        report("PyCryptodome: CTR to new bytes", timed(lambda: made.encrypt(whole)), len(whole))

        def gcm_of() -> Any:
            return AES.new(key.expose(), AES.MODE_GCM, nonce=NONCE)

        check(gcm_of().encrypt(whole[: 1 << 20]) == of_gcm.tobytes(), "PyCryptodome")
        report("PyCryptodome: GCM to new bytes", timed(lambda: gcm_of().encrypt_and_digest(whole)), len(whole))
    except ImportError:
        print("# PyCryptodome: not installed")


def torch_tensors(engine: Engine, key: Key, size: int) -> None:
    """Tensors of PyTorch: by the GPU's clock, and the cost of a call for the caller."""
    import torch

    cipher, cpu = engine.cipher(key), Engine("cpu").cipher(key)
    data = torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda")
    out = torch.empty_like(data)
    cipher.ctr(IV, data, out=out)
    check(out[: 1 << 20].cpu().numpy().tobytes() == cpu.ctr(IV, data[: 1 << 20].cpu().numpy().tobytes()), "torch")

    def on_gpu(call: Callable[[], Any]) -> list[float]:
        call()
        seconds = []
        for _ in range(_runs):
            torch.cuda.synchronize()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            end.record()
            end.synchronize()
            seconds.append(start.elapsed_time(end) / 1e3)
        return seconds

    nonce = bytes(12)
    report("torch: CTR, out=, by the GPU's clock", on_gpu(lambda: cipher.ctr(IV, data, out=out)), size)
    report("torch: CTR, in place", on_gpu(lambda: cipher.ctr(IV, out, out=out)), size)
    report("torch: CTR, to a new tensor", on_gpu(lambda: cipher.ctr(IV, data)), size)
    report("torch: GCM encryption, out=", on_gpu(lambda: cipher.gcm_encrypt(nonce, data, out=out)), size)
    report("torch: ECB encryption, out=", on_gpu(lambda: cipher.ecb_encrypt(data, out=out)), size)
    report("torch: CBC decryption, out=", on_gpu(lambda: cipher.cbc_decrypt(IV, data, out=out)), size)
    report("torch: key stream, out=", on_gpu(lambda: cipher.keystream(IV, out=out)), size)
    report("torch: a copy, out.copy_(data)", on_gpu(lambda: out.copy_(data)), size)
    small, small_out = data[:4096].clone(), out[:4096].clone()
    end = torch.cuda.synchronize
    report("torch: a call of CTR on 4 KiB, out=", each(lambda: cipher.ctr(IV, small, out=small_out), 500, end))
    report("torch: a call of CTR on 4 KiB, to a new tensor", each(lambda: cipher.ctr(IV, small), 500, end))
    report("torch: its own bitwise_not on 4 KiB, out=", each(lambda: torch.bitwise_not(small, out=small_out), 500, end))


def cupy_arrays(engine: Engine, key: Key, size: int) -> None:
    """Arrays of CuPy."""
    import cupy

    cipher = engine.cipher(key)
    data = cupy.zeros(size, dtype=cupy.uint8)

    def wait() -> None:
        cupy.cuda.get_current_stream().synchronize()

    def whole() -> None:
        cipher.ctr(IV, data, out=data)
        wait()

    report("cupy: CTR, in place, up to its end", timed(whole), size)
    small = data[:4096].copy()
    report("cupy: a call of CTR on 4 KiB, in place", each(lambda: cipher.ctr(IV, small, out=small), 500, wait))


def jax_arrays(engine: Engine, key: Key, size: int) -> None:
    """Arrays of JAX; calls on them wait."""
    import jax.numpy as jnp

    cipher = engine.cipher(key)
    data = jnp.zeros(size, dtype=jnp.uint8)
    report("jax: CTR, to a new array", timed(lambda: cipher.ctr(IV, data)), size)
    small = jnp.zeros(4096, dtype=jnp.uint8)
    report("jax: a call of CTR on 4 KiB, with its wait", each(lambda: cipher.ctr(IV, small), 500))


if __name__ == "__main__":
    main()
