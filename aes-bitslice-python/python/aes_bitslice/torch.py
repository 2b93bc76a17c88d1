"""torchcsprng's calls, for PyTorch tensors in host memory and on CUDA GPUs; with keys of 192 and 256 bits, too.

>>> from aes_bitslice.torch import decrypt, encrypt                    # doctest: +SKIP
>>> encrypt(input, output, key, "aes128", "ecb")                       # key: a tensor of 16 bytes
>>> decrypt(output, again, key, "aes128", "ecb")

Output is byte for byte torchcsprng's. Its "ctr" has no IV: the counter is the number of the block, from 0, so **a key
must be used for one tensor only**. With `iv=` it is CTR as everywhere else (SP 800-38A). Neither authenticates:
`Cipher.gcm_encrypt` does.

PyTorch does not allow a `torch.Generator` from outside: `torch.rand(generator=...)` does not take these. Fill tensors
with `random_`, `uniform_` and `normal_` of this module.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from typing import Any

import torch

from . import Cipher, Engine, Key

_PIECE = 1 << 22  # counter blocks computed at a time: 64 MiB


def supports_cuda() -> bool:
    """Whether calls accept tensors on a GPU."""
    return bool(torch.cuda.is_available()) and any(map(_opens, range(torch.cuda.device_count())))


def encrypt(
    input: torch.Tensor, output: torch.Tensor, key: Any, cipher: str, mode: str, *, iv: Any = None
) -> torch.Tensor:
    """Encrypts a tensor into another of the same number of bytes, rounded up to 16; missing bytes count as zeros.

    key: a tensor of 16, 24 or 32 bytes, bytes, or a `Key`. cipher: "aes128", "aes192" or "aes256". mode: "ecb" or "ctr".
    iv: for "ctr", the initial counter block, 16 bytes; without it, torchcsprng's counters.
    """
    rounded = -(-_nbytes(input) // 16) * 16
    if _nbytes(output) != rounded:
        raise ValueError(f"output must have {rounded} bytes, those of input rounded up to 16, not {_nbytes(output)}")
    return _crypt(input, output, key, cipher, mode, iv, encrypts=True)


def decrypt(
    input: torch.Tensor, output: torch.Tensor, key: Any, cipher: str, mode: str, *, iv: Any = None
) -> torch.Tensor:
    """Decrypts a tensor of whole blocks of 16 bytes into another, which may be up to 15 bytes shorter."""
    if _nbytes(input) % 16 or not 0 <= _nbytes(input) - _nbytes(output) < 16:
        raise ValueError(
            "input must have whole blocks of 16 bytes, and output the same number of bytes or up to 15 fewer, "
            f"not {_nbytes(input)} and {_nbytes(output)}"
        )
    return _crypt(input, output, key, cipher, mode, iv, encrypts=False)


def _crypt(
    input: torch.Tensor, output: torch.Tensor, key: Any, cipher: str, mode: str, iv: Any, *, encrypts: bool
) -> torch.Tensor:
    if input.device != output.device:
        raise ValueError(f"input is on {input.device} and output on {output.device}: both have to be on the same device")
    if cipher not in ("aes128", "aes192", "aes256"):
        raise ValueError(f'cipher must be "aes128", "aes192" or "aes256", not "{cipher}"')
    if mode not in ("ecb", "ctr") or (iv is not None and mode != "ctr"):
        raise ValueError(f'mode must be "ecb", or "ctr" with or without iv=, not "{mode}"{"" if iv is None else " with iv="}')
    key = _key(key)
    if key.bits != int(cipher[3:]):
        raise ValueError(f"{cipher} has a key of {int(cipher[3:]) // 8} bytes, not {key.bits // 8}")
    made = _engine(_name(input.device)).cipher(key)
    size = -(-_nbytes(input) // 16) * 16
    data = torch.zeros(size, dtype=torch.uint8, device=input.device)
    data[: _nbytes(input)] = _bytes(input.contiguous())
    if mode == "ecb":
        work = made.ecb_encrypt if encrypts else made.ecb_decrypt
        work(data, out=data)
    elif iv is not None:
        made.ctr(iv, data, out=data)
    else:
        _add_key_stream(made, data)
    result = data[: _nbytes(output)]
    if output.is_contiguous():
        _bytes(output).copy_(result)
    else:
        output.copy_(result.clone().view(output.dtype).reshape(output.shape))
    return output


def _add_key_stream(cipher: Cipher, data: torch.Tensor) -> None:
    """torchcsprng's counter mode: the number of a block in 8 bytes, least significant first, and 8 bytes of zeros."""
    for start in range(0, data.numel() // 16, _PIECE):
        end = min(start + _PIECE, data.numel() // 16)
        blocks = torch.zeros(end - start, 2, dtype=torch.int64, device=data.device)
        blocks[:, 0] = torch.arange(start, end, device=data.device)
        cipher.ecb_encrypt(blocks, out=blocks)
        data[16 * start : 16 * end] ^= blocks.view(torch.uint8).flatten()


class RandomDeviceGenerator:
    """Random numbers: the key stream of AES-256 under a key of the system's random number generator, the same on every device.

    Any number of threads may use one. A forked process gets its own key.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._renew()

    def _renew(self) -> None:
        self._key, self._process, self._made = Key.generate(256), os.getpid(), 0
        self._ciphers: dict[str, Cipher] = {}

    @property
    def device(self) -> torch.device:
        """As in every generator; it fills tensors on all devices."""
        return torch.device("cpu")

    def fill_(self, tensor: torch.Tensor) -> torch.Tensor:
        """Fills a contiguous tensor with random bits."""
        name = _name(tensor.device)
        with self._lock:
            if self._process != os.getpid():
                self._renew()
            if name not in self._ciphers:
                self._ciphers[name] = _engine(name).cipher(self._key)
            cipher, offset = self._ciphers[name], self._made
            # Whole blocks, so that everything is aligned on a GPU.
            self._made += -(-_nbytes(tensor) // 16) * 16
        cipher.keystream(bytes(16), out=_bytes(tensor), offset=offset)
        return tensor

    def __reduce__(self) -> Any:
        raise TypeError("a generator cannot be pickled because it holds a key: make one in each process")


def create_random_device_generator(token: str = "") -> RandomDeviceGenerator:
    """A generator for the functions of this module, with a key from the system's random number generator.

    token: "", or a name of that generator that torchcsprng takes; no other device is read.
    """
    if token not in ("", "/dev/urandom", "/dev/random", "rdrand", "rand_s"):
        raise ValueError(f'token must be "", which is the system\'s random number generator, not "{token}"')
    return RandomDeviceGenerator()


def create_mt19937_generator(seed: int = 0) -> Any:
    """Refused, although torchcsprng has it: MT19937 is not secure, and PyTorch has it on the CPU:
    `torch.Generator().manual_seed(seed)`."""
    raise NotImplementedError("MT19937 is not available: torch.Generator().manual_seed(seed) is that generator on the CPU")


_default: RandomDeviceGenerator | None = None


def _generator(generator: RandomDeviceGenerator | None) -> RandomDeviceGenerator:
    global _default
    if generator is None:
        _default = generator = _default or RandomDeviceGenerator()
    if not isinstance(generator, RandomDeviceGenerator):
        raise TypeError("generator must come from create_random_device_generator; for another, call the tensor's own method")
    return generator


def random_(
    tensor: torch.Tensor, low: int = 0, high: int | None = None, *, generator: RandomDeviceGenerator | None = None
) -> torch.Tensor:
    """Fills a tensor with whole numbers from `low` to before `high`; without them, as `Tensor.random_` does, with all
    that are not negative, for a floating-point type all up to 2 to the bits of its mantissa."""
    if high is None and low == 0 and not tensor.is_floating_point():
        high = 2 if tensor.dtype == torch.bool else torch.iinfo(tensor.dtype).max + 1
    elif high is None and low == 0:
        high = round(2 / torch.finfo(tensor.dtype).eps) + 1
    elif high is None:
        low, high = 0, low
    if not low < high or high - low > 1 << 63:
        raise ValueError(f"the range from {low} up to {high}, exclusive, is empty or has more than 2^63 numbers")
    bits = _generator(generator).fill_(torch.empty(tensor.shape, dtype=torch.int64, device=tensor.device))
    bits &= (1 << 63) - 1
    if high - low < 1 << 63:
        bits %= high - low
    return tensor.copy_(bits + low)


def uniform_(
    tensor: torch.Tensor, low: float = 0.0, high: float = 1.0, *, generator: RandomDeviceGenerator | None = None
) -> torch.Tensor:
    """Fills a tensor with numbers from `low` to before `high`, all equally likely."""
    return tensor.copy_(_unit(tensor, generator) * (high - low) + low)


def normal_(
    tensor: torch.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: RandomDeviceGenerator | None = None
) -> torch.Tensor:
    """Fills a tensor with normally distributed numbers (Box and Muller, 1958)."""
    radius = torch.sqrt(-2 * torch.log1p(-_unit(tensor, generator, torch.float64)))
    return tensor.copy_(radius * torch.cos(2 * math.pi * _unit(tensor, generator, torch.float64)) * std + mean)


def _unit(
    tensor: torch.Tensor, generator: RandomDeviceGenerator | None, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Numbers from 0 to before 1, with the bits of the type's mantissa, so that none is rounded up to 1."""
    dtype = dtype or tensor.dtype
    digits = round(-math.log2(torch.finfo(dtype).eps))
    wide = torch.int64 if digits > 30 else torch.int32
    bits = _generator(generator).fill_(torch.empty(tensor.shape, dtype=wide, device=tensor.device))
    bits &= (1 << digits) - 1
    return bits.to(dtype) * 2.0**-digits


def _key(key: Any) -> Key:
    if isinstance(key, Key):
        return key
    if isinstance(key, torch.Tensor):
        key = _bytes(key.detach().contiguous()).cpu().numpy()
    return Key(key)


def _nbytes(tensor: torch.Tensor) -> int:
    return int(tensor.numel() * tensor.element_size())


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a contiguous tensor, without a copy."""
    return tensor.detach().view(-1).view(torch.uint8) if tensor.numel() else tensor.new_empty(0, dtype=torch.uint8)


def _name(device: torch.device) -> str:
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"tensors are on the CPU or on a CUDA GPU, not on {device}")
    return "cpu" if device.type == "cpu" else f"cuda:{device.index or 0}"


@functools.cache
def _engine(name: str) -> Engine:
    return Engine(name)


def _opens(ordinal: int) -> bool:
    try:
        return _engine(f"cuda:{ordinal}") is not None
    except Exception:
        return False
