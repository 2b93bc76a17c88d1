"""torchcsprng's calls, for PyTorch tensors in host memory and on CUDA GPUs; with keys of 192 and 256 bits, too.

>>> from aes_bitslice.torch import decrypt, encrypt                    # doctest: +SKIP
>>> encrypt(input, output, key, "aes128", "ecb")                       # key: a tensor of 16 bytes
>>> decrypt(output, again, key, "aes128", "ecb")

Output is byte for byte torchcsprng's. Its "ctr" has no IV: the counter is the number of the block, from 0, so **a key
must be used for one tensor only**. With `iv=` it is CTR as everywhere else (SP 800-38A). Neither authenticates:
`Cipher.gcm_encrypt` does.

PyTorch does not allow a `torch.Generator` from outside: `torch.rand(generator=...)` does not take these. Fill tensors
with `random_`, `uniform_` and `normal_` of this module: they take the arguments of the tensor methods of these names, have
PyTorch check them, and write tensors as PyTorch does, so autograd sees it.
"""

from __future__ import annotations

import functools
import math
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch

from . import Cipher, Engine, Key, _arrays
from ._numbers import acceptance, representable, steps

_tensors: Any = _arrays.library_of(torch.Tensor)
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
    _check_types(input=input, output=output)
    rounded = -(-_nbytes(input) // 16) * 16
    if _nbytes(output) != rounded:
        raise ValueError(f"output must have {rounded} bytes, those of input rounded up to 16, not {_nbytes(output)}")
    return _crypt(input, output, key, cipher, mode, iv, encrypts=True)


def decrypt(
    input: torch.Tensor, output: torch.Tensor, key: Any, cipher: str, mode: str, *, iv: Any = None
) -> torch.Tensor:
    """Decrypts a tensor of whole blocks of 16 bytes into another, which may be up to 15 bytes shorter."""
    _check_types(input=input, output=output)
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
    _tensors.check(input.detach(), False)
    _tensors.check(output, True)
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
        return output
    return _put(output, result.view(output.dtype).reshape(output.shape))


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

    _all: weakref.WeakSet[RandomDeviceGenerator] = weakref.WeakSet()

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._renew()
        self._all.add(self)

    @classmethod
    def _forked(cls) -> None:
        # A thread that the child does not have may hold a lock. The key is renewed at its first use.
        for generator in cls._all:
            generator._lock, generator._process = threading.Lock(), 0

    def _renew(self) -> None:
        self._key, self._process, self._made = Key.generate(256), os.getpid(), 0
        self._ciphers: dict[str, Cipher] = {}

    @property
    def device(self) -> torch.device:
        """As in every generator; it fills tensors on all devices."""
        return torch.device("cpu")

    def fill_(self, tensor: torch.Tensor) -> torch.Tensor:
        """Fills a contiguous tensor with random bits."""
        _check_types(tensor=tensor)
        _tensors.check(tensor, True)
        if not tensor.is_contiguous():
            raise BufferError("the tensor is not contiguous: make it so first (`.contiguous()`)")
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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RandomDeviceGenerator._forked)


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
    tensor: torch.Tensor, low: Any = None, high: Any = ..., *, generator: RandomDeviceGenerator | None = None
) -> torch.Tensor:
    """Fills a tensor with whole numbers, all equally likely.

    They are from `low` to before `high`; of all that the type has from `low` on if `high` is None; from 0 to before the
    only number that is given. Without numbers, they are all from 0 on that the type has. A floating-point type has those
    up to 2 to the bits of its mantissa; whole numbers that it has not are rounded to their neighbours within the range.
    """
    source = _generator(generator)
    bounds = () if low is None and high is ... else (low,) if high is ... else (low or 0, high)
    _check(tensor, "random_", *bounds)
    least, most, digits = _whole(tensor.dtype)
    start = int(bounds[0]) if len(bounds) == 2 else 0
    end = int(bounds[-1]) if bounds and bounds[-1] is not None else most + 1
    first, last = representable(start, end - 1, digits)
    if first > last or first < least:
        raise ValueError(f"random_: not all of the whole numbers from {start} to before {end} can be had as {tensor.dtype}")
    return _put(tensor, _integers(tensor.shape, tensor.device, first, last - first + 1, source))


def uniform_(
    tensor: torch.Tensor, low: float = 0.0, high: float = 1.0, *, generator: RandomDeviceGenerator | None = None
) -> torch.Tensor:
    """Fills a tensor with numbers from `low` to before `high`, both rounded to the tensor's type; of complex numbers, both
    parts. They are multiples of one step, all equally likely: the distance of the type's numbers near the larger bound."""
    source = _generator(generator)
    _check(tensor, "uniform_", low, high)

    def uniform(shape: Any, dtype: torch.dtype) -> torch.Tensor:
        first, end = (float(torch.tensor(float(bound), dtype=torch.float64).to(dtype)) for bound in (low, high))
        if first == end:
            return torch.full(shape, first, dtype=dtype, device=tensor.device)
        info = torch.finfo(dtype)
        step, start, count = steps(first, end, _digits(dtype), info.smallest_normal * info.eps)
        return (_integers(shape, tensor.device, start, count, source).double() * step).to(dtype)

    return _put(tensor, _parts(tensor, uniform))


def normal_(
    tensor: torch.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: RandomDeviceGenerator | None = None
) -> torch.Tensor:
    """Fills a tensor with normally distributed numbers (Box and Muller, 1958). The parts of complex numbers have the mean
    `mean`, and half of the variance each."""
    source = _generator(generator)
    _check(tensor, "normal_", mean, std)
    deviation = float(std) / math.sqrt(2) if tensor.is_complex() else float(std)

    def normal(shape: Any, dtype: torch.dtype) -> torch.Tensor:
        distance, angle = (_integers(shape, tensor.device, 0, 1 << 53, source).double() * 2.0**-53 for _ in range(2))
        radius = torch.sqrt(-2 * torch.log1p(-distance))
        return (radius * torch.cos(2 * math.pi * angle) * deviation + float(mean)).to(dtype)

    return _put(tensor, _parts(tensor, normal))


def _check(tensor: torch.Tensor, method: str, *arguments: Any) -> None:
    """PyTorch's own check of the arguments of a tensor's method, which fills a small tensor of the type for that."""
    _check_types(tensor=tensor)
    try:
        getattr(torch.empty(1, dtype=tensor.dtype), method)(*arguments, generator=torch.Generator())
    except NotImplementedError as error:
        raise TypeError(f"{method}: {_line(error)}") from error
    except RuntimeError as error:
        raise ValueError(f"{method}: {_line(error)}") from error


def _put(tensor: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Writes values as PyTorch's own methods do: if it allows to change the tensor, and seen by autograd."""
    try:
        return tensor.copy_(values)
    except RuntimeError as error:
        if type(error) is not RuntimeError:
            raise  # such as too little memory
        raise BufferError(f"the tensor cannot be changed: {_line(error)}") from error


def _parts(tensor: torch.Tensor, make: Callable[[Any, torch.dtype], torch.Tensor]) -> torch.Tensor:
    """What `make` gives for a tensor's shape and type; of complex numbers, for both of their parts."""
    if not tensor.is_complex():
        return make(tensor.shape, tensor.dtype)
    return torch.view_as_complex(make((*tensor.shape, 2), tensor.dtype.to_real()))


def _integers(
    shape: Any, device: torch.device, low: int, count: int, generator: RandomDeviceGenerator
) -> torch.Tensor:
    """`count` whole numbers from `low` on, at most 2^64, all equally likely: as int64, modulo 2^64."""
    mask, limit = acceptance(count)

    def draw(shape: Any) -> torch.Tensor:
        return generator.fill_(torch.empty(shape, dtype=torch.int64, device=device)) & mask

    numbers = draw(shape)
    while limit < 1 << 63 and (refused := numbers >= limit).any():
        numbers[refused] = draw(int(refused.sum()))
    if count < 1 << 63:
        numbers %= count
    start = low if count <= 1 << 63 else low + (1 << 63)
    return numbers + ((start + (1 << 63)) % (1 << 64) - (1 << 63))


def _whole(dtype: torch.dtype) -> tuple[float, int, int]:
    """The least number of a type, the largest whole number that `random_` takes by itself, and the type's binary digits."""
    if dtype == torch.bool:
        return 0, 1, 1
    if dtype.is_floating_point:
        return torch.finfo(dtype).min, 1 << _digits(dtype), _digits(dtype)
    info = torch.iinfo(dtype)
    return info.min, info.max, info.bits


def _digits(dtype: torch.dtype) -> int:
    """The binary digits of a floating-point type."""
    return 1 - round(math.log2(torch.finfo(dtype).eps))


def _line(error: Exception) -> str:
    """The first line of an error of PyTorch, whose others tell of its source."""
    return str(error).partition("\n")[0]


def _check_types(**tensors: Any) -> None:
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} must be a tensor of PyTorch, not {type(tensor).__name__}")


def _key(key: Any) -> Key:
    if isinstance(key, Key):
        return key
    if isinstance(key, torch.Tensor):
        key = bytes(_bytes(key.contiguous()).tolist())
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
