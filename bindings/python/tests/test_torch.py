"""Tensors of PyTorch in host memory as PyTorch has them: what autograd sees, what must not be written, which versions serve,
and random numbers. The tests of `_numbers` and of the version need no PyTorch; CI has none, because of its size.
"""

import io
import math
import re
import statistics
import subprocess
import sys

import numpy
import pytest

import aes_bitslice
from aes_bitslice import kv
from aes_bitslice import AuthenticationError, Engine, Error, Key, UnavailableError, _arrays
from aes_bitslice._numbers import acceptance, representable, steps

IV, NONCE = bytes(range(16)), bytes(range(12))


@pytest.fixture
def numbers(torch):
    import aes_bitslice.torch

    return aes_bitslice.torch


# The part that needs no PyTorch.


@pytest.mark.parametrize("count", [1, 2, 3, 300, 2**32 + 1, 3 * 2**61, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64])
def test_each_number_has_equally_many_accepted_draws(count):
    kept, limit = acceptance(count)
    if count <= 2**63:
        assert kept == 2**63 - 1 and limit % count == 0 and 2**62 < limit <= 2**63
    else:
        assert kept == -1 and limit - -(2**63) == count


@pytest.mark.parametrize("digits", [2, 3, 4])
def test_ends_that_would_be_rounded_out_of_a_range(digits):
    def nearest(number):
        """The number with `digits` binary digits that is nearest, and even if two are."""
        surplus = max(abs(number).bit_length() - digits, 0)
        return round(number / 2**surplus) * 2**surplus

    has = [number for number in range(-300, 300) if nearest(number) == number]
    for first in range(-70, 70):
        for last in range(first, 71):
            inside = [number for number in has if first <= number <= last]
            found = representable(first, last, digits)
            if inside:
                assert found == (inside[0], inside[-1])
                assert all(first <= nearest(number) <= last for number in range(found[0], found[1] + 1))
            else:
                assert found[0] > found[1]


@pytest.mark.parametrize("digits", [2, 3, 5])
def test_steps_are_numbers_of_the_type(digits):
    least = 2.0**-6
    positive = sorted({m * 2.0**e for m in range(2**digits) for e in range(-6, 5)})
    has = sorted({*positive, *(-number for number in positive)})
    for i, low in enumerate(has):
        for high in has[i + 1 :: 3]:
            step, first, count = steps(low, high, digits, least)
            found = [step * (first + n) for n in range(count)]
            assert count > 0 and set(found) <= set(has)
            assert low <= found[0] < low + step and found[-1] < high <= found[-1] + step
            assert step == least or step <= max(abs(low), abs(high)) * 2.0 ** (1 - digits)
    assert steps(0.0, 1.0, 24, 0.0) == (2.0**-24, 0, 2**24)
    assert steps(1000.0, 1001.0, 11, 0.0) == (0.5, 2000, 2)
    assert steps(-sys.float_info.max, 0.0, 53, 5e-324)[2] == 2**53 - 1


def test_an_old_version_of_pytorch_is_refused_in_one_sentence():
    code = """
import sys, types
torch = sys.modules["torch"] = types.ModuleType("torch")
torch.__version__ = "1.13.1"
torch.autograd = types.SimpleNamespace(graph=types.SimpleNamespace())
torch.Tensor = type("Tensor", (), {"__module__": "torch"})
import aes_bitslice
cipher = aes_bitslice.Engine("cpu").cipher(aes_bitslice.Key(bytes(16)))
def use(): import aes_bitslice.torch
for call in (lambda: cipher.ctr(bytes(16), torch.Tensor()), use, lambda: cipher.ctr(bytes(16), bytes(4), out=torch.Tensor())):
    try:
        call()
    except aes_bitslice.UnavailableError as error:
        print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["PyTorch 1.13.1 is too old: tensors need PyTorch 2.1 or later"] * 3, found.stderr


def test_a_generator_that_another_thread_uses_during_a_fork():
    """With a stand-in for PyTorch's tensors."""
    code = """
import os, signal, sys, threading, types
torch = sys.modules["torch"] = types.ModuleType("torch")
class Tensor:
    device = None
    def __init__(self): self.data = bytearray(32)
    def is_contiguous(self): return True
torch.Tensor = Tensor
from aes_bitslice import _arrays
_arrays.known[Tensor] = types.SimpleNamespace(check=lambda *given: None)
import aes_bitslice.torch as numbers
numbers._name, numbers._nbytes, numbers._bytes = lambda device: "cpu", lambda tensor: 32, lambda tensor: tensor.data
generator = numbers.create_random_device_generator()
generator.fill_(Tensor())
reads, writes = os.pipe()
with generator._lock:  # as a thread has it that the child does not have
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends the child if it hangs
        os.write(writes, generator.fill_(Tensor()).data)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
found = os.read(reads, 32)
assert len(found) == 32 and found != generator.fill_(Tensor()).data
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


# Autograd.


def writes(engine):
    """Each call that writes a tensor of 64 bytes, by name."""
    key = Key(bytes(32))
    cipher = engine.cipher(key)
    xts = engine.cipher(Key.generate(xts=True))
    ranges, both = [(0, 16), (16, 64)], bytes(12) + NONCE
    yield "ctr", lambda x: cipher.ctr(IV, x, out=x)
    yield "run", lambda x: cipher.run(aes_bitslice.Ctr(IV), x, out=x)
    yield "ctr, apart", lambda x: cipher.ctr(IV, bytes(64), out=x)
    yield "keystream", lambda x: cipher.keystream(IV, out=x)
    yield "ecb_encrypt", lambda x: cipher.ecb_encrypt(x, out=x)
    yield "ecb_decrypt", lambda x: cipher.ecb_decrypt(x, out=x)
    yield "cbc_encrypt", lambda x: cipher.cbc_encrypt(IV, x, out=x)
    yield "cbc_decrypt", lambda x: cipher.cbc_decrypt(IV, x, out=x)
    yield "xts_encrypt", lambda x: xts.xts_encrypt(x, unit_bytes=32, out=x)
    yield "xts_decrypt", lambda x: xts.xts_decrypt(x, unit_bytes=32, out=x)
    yield "gcm_encrypt", lambda x: cipher.gcm_encrypt(NONCE, x, out=x)
    yield "gcm_decrypt", lambda x: cipher.gcm_decrypt(NONCE, bytes(64), cipher.gcm_encrypt(NONCE, cipher.gcm_encrypt(NONCE, bytes(64))[0])[1], out=x)
    yield "gcm_encrypt_with_random_nonce", lambda x: cipher.gcm_encrypt_with_random_nonce(x, out=x)
    yield "xaes_encrypt", lambda x: cipher.xaes_encrypt(bytes(24), x, out=x)
    yield "xaes_decrypt", lambda x: cipher.xaes_decrypt(bytes(24), *cipher.xaes_encrypt(bytes(24), bytes(64)), out=x)
    yield "prg", lambda x: cipher.prg(x, out=x)
    yield "gcm_siv_encrypt", lambda x: cipher.gcm_siv_encrypt(NONCE, x, out=x)
    yield "gcm_siv_decrypt", lambda x: cipher.gcm_siv_decrypt(NONCE, *cipher.gcm_siv_encrypt(NONCE, bytes(64)), out=x)
    yield "gcm_encrypt_batch", lambda x: cipher.gcm_encrypt_batch(both, ranges, x, out=x)
    yield "gcm_decrypt_batch", lambda x: cipher.gcm_decrypt_batch(both, ranges, x, cipher.gcm_encrypt_batch(both, ranges, x, out=x), out=x)
    yield "run_each_key", lambda x: engine.run_each_key("ctr", bytes(32), x, bytes_per_key=32, out=x)
    yield "run_each_key, keystream", lambda x: engine.run_each_key("keystream", bytes(32), bytes_per_key=32, out=x)
    yield "run_jobs", lambda x: engine.run_jobs("ctr", bytes(32), ranges, x, counters=bytes(32), out=x)
    blocks = kv.BlockCipher(bytes(32))
    frames = blocks.encrypt(numpy.zeros((2, 32), numpy.uint8))
    yield "BlockCipher.decrypt", lambda x: blocks.decrypt(frames, x.view(2, 8))
    sealed = aes_bitslice.seal_bytes(bytes(64), key=key)
    yield "SealedFile.readinto", lambda x: aes_bitslice.SealedFile(io.BytesIO(sealed), key=key).readinto(x)


def test_each_call_that_writes_is_among_these():
    names = {name.partition(",")[0] for name, _ in writes(Engine("cpu"))}
    writing = {
        name
        for kind in (aes_bitslice.Cipher, Engine)
        for name, method in vars(kind).items()
        if re.search(r"\bout=", getattr(method, "__text_signature__", None) or "")
    }
    assert "ctr" in writing and writing <= names


@pytest.mark.parametrize("name", [name for name, _ in writes(Engine("cpu"))])
def test_a_gradient_of_overwritten_values_is_an_error(cpu, torch, name):
    call = dict(writes(cpu))[name]
    weights, x = torch.ones(16, requires_grad=True), torch.arange(16.0)
    part, base = x[:], x._version
    loss = (weights * x).sum()
    call(x)
    assert x._version > base and part._version == x._version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    # What is only read, and what is new, has the version that it had.
    before = x._version
    assert cpu.cipher(Key(bytes(16))).ctr(IV, x)._version == 0 and x._version == before


def test_a_cleared_output_is_written_and_a_refused_call_writes_nothing(cpu, torch):
    cipher, x = cpu.cipher(Key(bytes(16))), torch.arange(16.0)
    for call in [
        lambda: cipher.ecb_encrypt(x[:3], out=x[:3]),
        lambda: cipher.ctr(IV, bytes(60), out=x),
        lambda: cipher.ctr(IV[1:], x, out=x),
        lambda: cipher.xts_encrypt(x, unit_bytes=16, out=x),
        lambda: cipher.ctr(IV, x[:8], out=x[4:12]),
    ]:
        with pytest.raises((ValueError, Error)):
            call()
        assert torch.equal(x, torch.arange(16.0))
    before = x._version
    with pytest.raises(AuthenticationError):
        cipher.gcm_decrypt(NONCE, x, bytes(16), out=x)
    assert not x.any() and x._version > before


def test_a_write_through_a_detached_tensor_and_a_derived_type_is_seen(cpu, torch):
    class Derived(torch.Tensor):
        pass

    cipher = cpu.cipher(Key(bytes(16)))
    weights = torch.nn.Parameter(torch.ones(16))
    x = weights.detach()
    loss = (weights * weights).sum()
    cipher.ctr(IV, x, out=x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    derived = torch.arange(16).as_subclass(Derived)
    cipher.ctr(IV, derived, out=derived)
    assert derived._version == 1


def test_a_gradient_of_values_that_the_adapter_has_overwritten_is_an_error(torch, numbers):
    data, key = torch.zeros(64, dtype=torch.uint8), bytes(16)
    for call in (
        numbers.random_,
        numbers.uniform_,
        numbers.normal_,
        numbers.create_random_device_generator().fill_,
        lambda x: numbers.encrypt(data, x, key, "aes128", "ecb"),
        lambda x: numbers.decrypt(data, x, key, "aes128", "ctr"),
        lambda x: numbers.encrypt(data, x.view(4, 4).T, key, "aes128", "ctr", iv=IV),  # not contiguous
    ):
        weights, x = torch.ones(16, requires_grad=True), torch.arange(16.0)
        loss = (weights * x).sum()
        call(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_tensors_that_must_not_be_read_or_written(cpu, torch, numbers, monkeypatch):
    cipher = cpu.cipher(Key(bytes(16)))
    with torch.inference_mode():
        inferred, whole = torch.zeros(4), torch.zeros(4, dtype=torch.int32)
        cipher.ctr(IV, inferred, out=inferred)
    complex_ = torch.zeros(4, dtype=torch.complex64)
    refused = {
        "requires a gradient.*detach": torch.zeros(4, requires_grad=True),
        "requires a gradient": torch.zeros(4, requires_grad=True) * 2,
        "conjugated.*resolve_conj": complex_.conj(),
        "negated.*resolve_neg": complex_[:1].conj().imag,
        "layout.*to_dense": torch.zeros(4).to_sparse(),
        "device meta": torch.zeros(4, device="meta"),
        "not contiguous": torch.zeros(1).expand(4),
    }
    if torch.backends.mkldnn.is_available():
        refused["layout torch._mkldnn.*to_dense"] = torch.zeros(4).to_mkldnn()
    for way in ("functions in C", "Python"):
        if way == "Python":
            library = _arrays.library_of(torch.Tensor)
            monkeypatch.setattr(library, "types", dict.fromkeys(library.types))
        for text, tensor in refused.items():
            size = tensor.numel() * tensor.element_size()
            with pytest.raises(BufferError, match=text):
                cipher.ctr(IV, tensor)
            with pytest.raises(BufferError, match=text):
                cipher.ctr(IV, bytes(size), out=tensor)
        assert cipher.ctr(IV, inferred) is not None
        for inference in (inferred, whole):
            with pytest.raises(BufferError, match="inference mode.*clone"):
                cipher.ctr(IV, inference, out=inference)
    with pytest.raises(TypeError, match="data is bytes, an array or a tensor.*not UntypedStorage"):
        cipher.ctr(IV, torch.zeros(4).untyped_storage())
    # The adapter refuses them, too.
    key = bytes(16)
    for call, text in [
        (lambda: numbers.encrypt([1], torch.zeros(4), key, "aes128", "ecb"), "input must be a tensor.*list"),
        (lambda: numbers.decrypt(torch.zeros(4), None, key, "aes128", "ecb"), "output must be a tensor.*NoneType"),
        (lambda: numbers.uniform_([0.0]), "tensor must be a tensor.*list"),
    ]:
        with pytest.raises(TypeError, match=text):
            call()
    for output in (torch.zeros(4, requires_grad=True), inferred, torch.zeros(1).expand(4)):
        with pytest.raises(BufferError):
            numbers.encrypt(torch.zeros(4), output, key, "aes128", "ecb")
        for fill in (numbers.uniform_, numbers.random_, numbers.normal_, numbers.create_random_device_generator().fill_):
            with pytest.raises(BufferError):
                fill(output)
        assert output is inferred or not output.any()
    # As in PyTorch, a tensor that is computed may be overwritten, and takes no part in gradients then.
    leaf = torch.zeros(4, requires_grad=True)
    computed = leaf * 2
    numbers.uniform_(computed).sum().backward()
    assert computed.any() and not leaf.grad.any()
    weights = torch.nn.Parameter(torch.zeros(4))
    loss = (weights * weights).sum()
    with torch.no_grad():
        assert numbers.uniform_(weights) is weights and weights.any()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


# Random numbers.


def is_uniform(counts, expected=None):
    """Whether counts are as expected, all equal if not given: chi-square, at most six standard deviations too large."""
    total, cells = sum(counts), len(counts)
    expected = expected or [total / cells] * cells
    square = sum((count - mean) ** 2 / mean for count, mean in zip(counts, expected, strict=True))
    return square < cells - 1 + 6 * math.sqrt(2 * max(cells - 1, 1)) + 20


def test_the_measure_of_uniformity_finds_what_was_wrong():
    assert is_uniform([1000, 1010, 985]) and not is_uniform([2000] * 44 + [1000] * 212) and not is_uniform([250, 500, 250])


SAMPLES = 300_000
WHOLE = [
    ("uint8", 0, 256), ("uint8", 0, 100), ("uint8", 250, 256), ("int8", -128, 128), ("int8", -3, 4), ("bool", 0, 2), ("bool", 0, 1),
    ("int16", -(2**15), 2**15), ("int16", 0, 3000), ("int32", -(2**31), 2**31), ("int32", 7, 10), ("int64", 0, 3 * 2**61),
    ("uint16", 0, 2**16), ("uint32", 5, 2**32), ("uint64", 0, 2**63 - 1), ("int64", -(2**63), 2**63 - 1), ("int64", -(2**62), 2**62 + 2**61), ("int64", 0, 2**63 - 1), ("float16", -2048, 2049),
    ("float16", 0, 7), ("bfloat16", 0, 257), ("float32", 0, 2**24), ("float64", -5, 6), ("float64", 0, 2**53),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "low", "high"), WHOLE)
def test_whole_numbers_are_uniform(torch, numbers, dtype, low, high):
    if not hasattr(torch, dtype):
        pytest.skip(f"PyTorch {torch.__version__} has no {dtype}")
    found = numbers.random_(torch.empty(SAMPLES, dtype=getattr(torch, dtype)), low, high)
    values = [int(value) for value in found.tolist()]
    assert low <= min(values) and max(values) < high
    cells = min(high - low, 64)
    counts = [0] * cells
    for value in values:
        counts[(value - low) * cells // (high - low)] += 1
    ends = [-((low - high) * n // cells) for n in range(cells + 1)]
    assert is_uniform(counts, [SAMPLES * (ends[n + 1] - ends[n]) / (high - low) for n in range(cells)])


def test_whole_numbers_without_bounds_are_those_of_pytorch(torch, numbers):
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64):
        most = 1 if dtype == torch.bool else 2 / torch.finfo(dtype).eps if dtype.is_floating_point else torch.iinfo(dtype).max
        found = numbers.random_(torch.empty(SAMPLES, dtype=dtype)).tolist()
        assert min(found) >= 0 and max(found) <= most
        assert sum(map(int, found)) / SAMPLES == pytest.approx(most / 2, rel=0.02)
        # The second argument None means up to the largest number, from the first one on.
        found = numbers.random_(torch.empty(SAMPLES, dtype=dtype), 1, None).tolist()
        assert min(found) >= 1 and max(found) <= most
    found = numbers.random_(torch.empty(SAMPLES, dtype=torch.int64), -(2**63), None)
    assert found.min() < -(2**62) and found.max() > 2**62 and int((found < 0).sum()) == pytest.approx(SAMPLES / 2, rel=0.02)
    assert numbers.random_(torch.empty((), dtype=torch.int64), 5, 6).item() == 5
    assert numbers.random_(torch.empty((3, 0), dtype=torch.int64)).shape == (3, 0)
    assert numbers.random_(torch.empty(100), high=3).max() < 3
    strided = torch.full((20,), -1)
    numbers.random_(strided[::2], 3)
    assert strided[1::2].eq(-1).all() and strided[::2].ge(0).all()


@pytest.mark.filterwarnings("ignore:.*is out of bounds")  # PyTorch warns that not all of the numbers can be had
def test_whole_numbers_that_a_type_rounds_stay_inside(torch, numbers):
    for dtype, low, high in [(torch.float16, 2049, 4097), (torch.bfloat16, -1001, 1001), (torch.float16, 0, 65504), (torch.float32, 0, 2**63 - 1)]:
        found = numbers.random_(torch.empty(SAMPLES, dtype=dtype), low, high).double()
        assert found.min() >= low and found.max() < high
    with pytest.raises(ValueError, match="2049 to before 2050"):
        numbers.random_(torch.empty(3, dtype=torch.float16), 2049, 2050)


def test_what_pytorch_refuses_is_refused(torch, numbers):
    for function, dtype, arguments in [
        ("random_", "int8", (0, 1000)), ("random_", "int8", (-200, 200)), ("random_", "uint8", (0, 300)), ("random_", "uint8", (-1, 5)),
        ("random_", "float16", (0, 100_000)), ("random_", "bool", (0, 3)), ("random_", "int64", (5, 5)), ("random_", "int64", (6, 5)),
        ("random_", "int64", (0,)), ("random_", "int64", (-1,)), ("random_", "int64", (0, 2**63)), ("random_", "int64", (-(2**63) - 1, 0)),
        ("random_", "int32", (-(2**63), None)), ("random_", "int64", (0.5,)), ("random_", "int64", ("1",)), ("random_", "complex64", ()),
        ("random_", "float8_e4m3fn", ()), ("uniform_", "float32", (2, 1)), ("uniform_", "complex64", (2, 1)), ("uniform_", "int32", ()),
        ("uniform_", "float32", (0, math.nan)), ("uniform_", "float32", (0, math.inf)), ("uniform_", "float16", (0, 1e5)),
        ("uniform_", "float16", (-65504, 65504)), ("uniform_", "float32", ("a", 1)), ("normal_", "float32", (0, -1)),
        ("normal_", "complex64", (0, -1)), ("normal_", "float64", (0, math.nan)), ("normal_", "int64", ()),
    ]:  # fmt: skip
        for shape in [(5,), (0,)]:
            tensor = torch.zeros(shape, dtype=torch.float32).to(getattr(torch, dtype))
            before = tensor._version
            with pytest.raises((ValueError, TypeError)) as raised:
                getattr(numbers, function)(tensor, *arguments)
            assert tensor._version == before and (raised.type is TypeError or "\n" not in str(raised.value))


REAL = [
    ("float16", 0, 1), ("float16", 1000, 1001), ("float16", -1000, -997), ("float16", 0, 65504), ("bfloat16", 0, 1), ("bfloat16", 1000, 1008),
    ("bfloat16", -1, 1), ("bfloat16", 0.1, 0.7), ("float32", 0, 1), ("float32", 16777215, 16777216), ("float32", -0.3, 0.1),
    ("float32", 0, 3e38), ("float32", 0, 1e-44), ("float64", 0, 1), ("float64", 1e16, 1e16 + 4), ("float64", -1e308, 7e307), ("float64", -0.7, 1e-9),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "low", "high"), REAL)
def test_numbers_of_a_range_are_uniform(torch, numbers, dtype, low, high):
    dtype = getattr(torch, dtype)
    found = numbers.uniform_(torch.empty(SAMPLES, dtype=dtype), low, high)
    first, end = torch.tensor([low, high], dtype=torch.float64).to(dtype).tolist()
    values = found.tolist()
    assert first <= min(values) and max(values) < end
    digits = 1 - round(math.log2(torch.finfo(dtype).eps))
    step, start, count = steps(first, end, digits, torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps)
    cells = min(count, 64)
    counts = [0] * cells
    for value in values:
        number = round(value / step)
        assert number * step == value
        counts[(number - start) * cells // count] += 1
    ends = [-(-count * n // cells) for n in range(cells + 1)]
    assert is_uniform(counts, [SAMPLES * (ends[n + 1] - ends[n]) / count for n in range(cells)])


MANY = 10_000_000
BOUNDED = [
    ("uniform_", "float16", 1000, 1001), ("uniform_", "bfloat16", 0, 1), ("uniform_", "float32", 0, 1), ("uniform_", "float32", 3, 3.0000005),
    ("uniform_", "float64", 1, 1.0000000000000009), ("uniform_", "complex64", 0, 1), ("uniform_", "complex128", -1, 1),
    ("random_", "bool", 0, 1), ("random_", "uint8", 250, 255), ("random_", "int8", -128, 127), ("random_", "int16", -(2**15), 2**15 - 1),
    ("random_", "int32", -1, 2), ("random_", "int64", -2, 1), ("random_", "uint16", 0, 2**16 - 1), ("random_", "uint32", 1, 4),
    ("random_", "uint64", 0, 3), ("random_", "float16", 0, 2047), ("random_", "bfloat16", -255, 255), ("random_", "float32", -3, 4),
    ("random_", "float64", 0, 5),
]  # fmt: skip


@pytest.mark.parametrize(("function", "dtype", "low", "high"), BOUNDED)
def test_the_excluded_bound_is_never_returned(torch, numbers, function, dtype, low, high):
    if not hasattr(torch, dtype):
        pytest.skip(f"PyTorch {torch.__version__} has no {dtype}")
    found = getattr(numbers, function)(torch.empty(MANY, dtype=getattr(torch, dtype)), low, high)
    for part in torch.view_as_real(found).unbind(-1) if found.is_complex() else (found,):
        # The least and the largest number; of unsigned types PyTorch has no minimum.
        part = part if part.is_floating_point() else part.long()
        last = float(torch.tensor(high, dtype=torch.float64).to(part.dtype)) if function == "uniform_" else high
        assert low <= part.min().item() and part.max().item() < last


def test_equal_bounds(torch, numbers):
    assert numbers.uniform_(torch.empty(3), 2, 2).tolist() == [2] * 3


def test_both_parts_of_complex_numbers(torch, numbers):
    for dtype in (torch.complex64, torch.complex128):
        found = numbers.uniform_(torch.empty(SAMPLES, dtype=dtype), 2, 4)
        for part in (found.real, found.imag):
            assert part.min() >= 2 and part.max() < 4 and is_uniform(((part - 2) * 8).long().bincount(minlength=16).tolist())
        assert not torch.equal(found.real, found.imag)
        found = numbers.normal_(torch.empty(SAMPLES, dtype=dtype), 1.0, 2.0)
        for part in (found.real, found.imag):
            assert float(part.mean()) == pytest.approx(1, abs=0.02) and float(part.std()) == pytest.approx(math.sqrt(2), abs=0.02)
        assert abs(float(((found.real - 1) * (found.imag - 1)).mean())) < 0.03


def test_normal_numbers(torch, numbers):
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        found = numbers.normal_(torch.empty(SAMPLES, dtype=dtype), 0.0, 1.0).double()
        inside = [float((found.abs() < bound).double().mean()) for bound in (1, 2, 3)]
        assert inside == pytest.approx([0.6827, 0.9545, 0.9973], abs=0.006)
        assert float(found.mean()) == pytest.approx(0, abs=0.01) and float(found.std()) == pytest.approx(1, abs=0.01)
    assert numbers.normal_(torch.empty(3), 5.0, 0.0).tolist() == [5] * 3


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_normal_numbers_are_in_each_of_64_ranges_as_often(torch, numbers, dtype):
    mean, deviation, dtype = -0.5, 2.0, getattr(torch, dtype)
    found = numbers.normal_(torch.empty(SAMPLES, dtype=dtype), mean, deviation)
    parts = torch.view_as_real(found).unbind(-1) if dtype.is_complex else (found,)
    curve = statistics.NormalDist(mean, deviation / math.sqrt(len(parts)))
    ends = torch.tensor([curve.inv_cdf(n / 64) for n in range(1, 64)], dtype=torch.float64)
    for part in parts:
        assert is_uniform(torch.bucketize(part.double(), ends).bincount(minlength=64).tolist())
