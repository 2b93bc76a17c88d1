"""AES on NVIDIA GPUs, OpenCL devices and CPUs, for bytes, arrays and tensors.

>>> import aes_bitslice
>>> cipher = aes_bitslice.Engine("cpu").cipher(aes_bitslice.Key.generate(256))
>>> nonce = aes_bitslice.random_bytes(12)
>>> ciphertext, tag = cipher.gcm_encrypt(nonce, b"a message", b"a header")
>>> cipher.gcm_decrypt(nonce, ciphertext, tag, b"a header")
b'a message'

A `Key` must stay secret, an `Engine` computes, a `Cipher` is a key on an engine. `seal` and `open` encrypt and
authenticate files, `SealedFile` is a file object for one. `python -m aes_bitslice` shows the engines of this machine.

Raw modes (CTR, CBC, ECB, XTS) do not authenticate: changed ciphertext decrypts to changed plaintext, unnoticed. Never
use a key twice with the same nonce or IV, or with overlapping counters.
"""

import importlib as _importlib
import os as _os
from typing import Any as _Any

from ._native import (
    AuthenticationError,
    CbcDecrypt,
    CbcEncrypt,
    Cipher,
    Cmac,
    CmacBatch,
    CmacVerifyBatch,
    CountedNonces,
    Ctr,
    DeviceError,
    DeviceTag,
    EcbDecrypt,
    EcbEncrypt,
    Engine,
    Error,
    GcmDecrypt,
    GcmDecryptBatch,
    GcmEncrypt,
    GcmEncryptBatch,
    GcmEncryptWithRandomNonce,
    GcmJobLayout,
    GcmSivDecrypt,
    GcmSivEncrypt,
    Gmac,
    JobLayout,
    Key,
    Keystream,
    Operation,
    Prg,
    Ranges,
    UnavailableError,
    XaesDecrypt,
    XaesEncrypt,
    XtsDecrypt,
    XtsEncrypt,
    __version__,
    _forked,
    check_fault,
    engines,
    is_sealed,
    open as open,  # not in `__all__`: it would hide the built-in
    random_bytes,
    seal,
    set_threads,
)
from ._sealed import SealedFile, open_bytes, seal_bytes

__all__ = [
    "AuthenticationError",
    "CbcDecrypt",
    "CbcEncrypt",
    "Cipher",
    "Cmac",
    "CmacBatch",
    "CmacVerifyBatch",
    "CountedNonces",
    "Ctr",
    "DeviceError",
    "DeviceTag",
    "EcbDecrypt",
    "EcbEncrypt",
    "Engine",
    "Error",
    "GcmDecrypt",
    "GcmDecryptBatch",
    "GcmEncrypt",
    "GcmEncryptBatch",
    "GcmEncryptWithRandomNonce",
    "GcmJobLayout",
    "GcmSivDecrypt",
    "GcmSivEncrypt",
    "Gmac",
    "JobLayout",
    "Key",
    "Keystream",
    "Operation",
    "Prg",
    "Ranges",
    "SealedFile",
    "UnavailableError",
    "XaesDecrypt",
    "XaesEncrypt",
    "XtsDecrypt",
    "XtsEncrypt",
    "__version__",
    "check_fault",
    "engines",
    "is_sealed",
    "open_bytes",
    "random_bytes",
    "seal",
    "seal_bytes",
    "set_threads",
]

_MODULES = ("bench", "dask", "iceberg", "keys", "kv", "parquet", "ranges", "ray", "safetensors", "torch")


def __getattr__(name: str) -> _Any:
    """`aes_bitslice.ranges` and the other modules without an import of their own."""
    if name in _MODULES:
        return _importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_forked)
