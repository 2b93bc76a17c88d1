"""Tensors of PyTorch and arrays of JAX in host memory, and the calls of torchcsprng. CI has neither: they are large."""

import os
import pickle

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher as Reference
from cryptography.hazmat.primitives.ciphers import algorithms, modes

from aes_bitslice import Key, _arrays

IV = bytes(range(16))


@pytest.fixture
def adapter(torch):
    import aes_bitslice.torch

    return aes_bitslice.torch


def ecb(key, data, encrypts=True):
    cipher = Reference(algorithms.AES(key), modes.ECB())
    work = cipher.encryptor() if encrypts else cipher.decryptor()
    return work.update(data)


def raw(tensor):
    import torch

    return tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float16", "bfloat16", "float32", "int64", "complex64", "float8_e4m3fn"])
def test_tensors(cpu, torch, dtype):
    cipher = cpu.cipher(Key(bytes(16)))
    size = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    for shape in [(0,), (), (3, 40), (300_000,)]:
        count = torch.empty(shape).numel() * size
        plain = torch.randint(0, 2, (count,), dtype=torch.uint8).view(getattr(torch, dtype)).reshape(shape)
        data = raw(plain)
        secret = cipher.ctr(IV, plain)
        assert (type(secret), secret.dtype, secret.shape) == (torch.Tensor, plain.dtype, plain.shape)
        assert raw(secret) == cipher.ctr(IV, data)
        assert cipher.ctr(IV, secret, out=secret) is secret and raw(secret) == data


@pytest.fixture(params=["functions in C", "Python"])
def asked(request, torch, monkeypatch):
    """Tensors are queried in both ways; in versions of PyTorch without the functions, in one."""
    library = _arrays.library_of(torch.Tensor)
    if library.types[torch.Tensor] is None:
        pytest.skip("this PyTorch has no functions in C")
    if request.param == "Python":
        monkeypatch.setattr(library, "types", dict.fromkeys(library.types))
    else:
        monkeypatch.setattr(library, "span", None)


def test_what_tensors_are_asked(cpu, torch, asked):
    cipher, plain = cpu.cipher(Key(bytes(16))), torch.arange(100, dtype=torch.int16)
    for part in [plain, plain[3:], plain[5:5], plain.view(10, 10)[2:], torch.nn.Parameter(plain.float(), requires_grad=False)]:
        assert raw(cipher.ctr(IV, part)) == cipher.ctr(IV, raw(part))
    kept = raw(plain)
    assert cipher.ctr(IV, plain[1:], out=plain[1:]).data_ptr() == plain.data_ptr() + 2
    assert raw(plain) == kept[:2] + cipher.ctr(IV, kept[2:])


def test_overlapping_and_strided_tensors_are_refused(cpu, torch, asked):
    cipher, plain = cpu.cipher(Key(bytes(16))), torch.zeros(8, 8)
    for bad in [plain.T[:4], plain[:, ::2]]:
        for call in [lambda bad=bad: cipher.ctr(IV, bad), lambda bad=bad: cipher.ctr(IV, bytes(4 * bad.numel()), out=bad)]:
            with pytest.raises(BufferError, match="contiguous"):
                call()
    with pytest.raises(ValueError, match="overlap"):
        cipher.ctr(IV, plain[:4], out=plain[2:6])
    assert not plain.any()


@pytest.mark.parametrize("bits", [128, 192, 256])
@pytest.mark.parametrize("size", [16, 17, 4096, 100_001])
def test_as_torchcsprng_has_it(adapter, torch, bits, size):
    key, data = os.urandom(bits // 8), os.urandom(size)
    plain = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    key_tensor = torch.frombuffer(bytearray(key), dtype=torch.uint8)
    blocks = -(-size // 16)
    padded = data + bytes(16 * blocks - size)
    # The number of the block, least significant byte first, in the first 8 bytes.
    stream = ecb(key, b"".join(i.to_bytes(16, "little") for i in range(blocks)))
    expected = {"ecb": ecb(key, padded), "ctr": bytes(a ^ b for a, b in zip(padded, stream, strict=True))}
    for mode in ("ecb", "ctr"):
        secret = torch.empty(16 * blocks, dtype=torch.uint8)
        assert adapter.encrypt(plain, secret, key_tensor, f"aes{bits}", mode) is secret
        assert raw(secret) == expected[mode]
        again = torch.empty(size, dtype=torch.uint8)
        assert torch.equal(adapter.decrypt(secret, again, Key(key), f"aes{bits}", mode), plain)
    secret = torch.empty(16 * blocks, dtype=torch.uint8)
    adapter.encrypt(plain, secret, key, f"aes{bits}", "ctr", iv=IV)
    whole = Reference(algorithms.AES(key), modes.CTR(IV)).encryptor().update(padded)
    assert raw(secret) == whole


def test_pieces_of_counters_and_strided_tensors(adapter, torch, monkeypatch):
    plain = torch.arange(1000, dtype=torch.int32)
    key = torch.zeros(16, dtype=torch.uint8)
    whole = adapter.encrypt(plain, torch.empty(4000, dtype=torch.uint8), key, "aes128", "ctr")
    monkeypatch.setattr(adapter, "_PIECE", 7)
    assert torch.equal(adapter.encrypt(plain, torch.empty(4000, dtype=torch.uint8), key, "aes128", "ctr"), whole)
    strided = torch.zeros(2000, dtype=torch.int32)
    adapter.encrypt(plain, strided[::2], key, "aes128", "ctr")
    assert raw(strided[::2]) == raw(whole) and not strided[1::2].any()
    adapter.decrypt(strided[::2], strided[1::2], key, "aes128", "ctr")
    assert torch.equal(strided[1::2], plain)


def test_wrong_calls_of_the_adapter(adapter, torch):
    plain, out, key = torch.zeros(32), torch.zeros(32), torch.zeros(16, dtype=torch.uint8)
    for arguments in [
        (plain, out[:31], key, "aes128", "ctr"),
        (plain, out, key, "aes256", "ctr"),
        (plain, out, key, "des", "ctr"),
        (plain, out, key, "aes128", "cbc"),
        (plain, out, key[:15], "aes128", "ecb"),
        (plain, torch.zeros(32, device="meta"), key, "aes128", "ecb"),
    ]:
        with pytest.raises(ValueError):
            adapter.encrypt(*arguments)
    with pytest.raises(ValueError):
        adapter.decrypt(plain, out[:27], key, "aes128", "ctr")
    with pytest.raises(NotImplementedError):
        adapter.create_mt19937_generator(1)
    with pytest.raises(ValueError):
        adapter.create_random_device_generator("/etc/passwd")
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(adapter.create_random_device_generator())
    with pytest.raises(TypeError):
        adapter.random_(plain, generator=torch.Generator())
    assert not out.any() and adapter.supports_cuda() in (True, False)


def test_generators_and_processes(adapter, torch):
    generator = adapter.create_random_device_generator("")
    first, second = (generator.fill_(torch.zeros(1000, dtype=torch.uint8)) for _ in range(2))
    assert not torch.equal(first, second) and first.unique().numel() > 200
    child = os.fork()
    if child == 0:
        os._exit(0 if generator._process != os.getpid() and generator.fill_(second.clone()) is not None and generator._made == 1008 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_arrays_of_jax(cpu):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.default_device(jax.devices("cpu")[0]):
        arrays_of_jax(cpu, jax.numpy)


def arrays_of_jax(cpu, jnp):
    import numpy as np

    cipher = cpu.cipher(Key(bytes(16)))
    for dtype in ("uint8", "float32", "bfloat16"):
        plain = jnp.arange(10_000).astype(dtype).reshape(10, 1000)
        kept = np.asarray(plain).tobytes()
        secret = cipher.ctr(IV, plain)
        assert (type(secret), secret.dtype, secret.shape) == (type(plain), plain.dtype, plain.shape)
        assert np.asarray(secret).tobytes() == cipher.ctr(IV, kept)
        assert np.asarray(plain).tobytes() == kept and np.asarray(cipher.ctr(IV, secret)).tobytes() == kept
    with pytest.raises(BufferError):
        cipher.ctr(IV, plain, out=plain)
    zeros = [jnp.zeros(1000, dtype="uint8") for _ in range(3)]
    cipher.ctr(IV, zeros[0])
    assert not any(bool(each.any()) for each in [*zeros, jnp.zeros(1000, dtype="uint8")])
