"""Keys, engines, ciphers and files. Import these from `aes_bitslice`."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn, Protocol, TypedDict, TypeVar, final, overload

class _Readable(Protocol):
    def read(self, size: int, /) -> Any: ...

class _Writable(Protocol):
    def write(self, data: bytes, /) -> Any: ...

# bytes, bytearray, memoryview, mmap, and what else has the buffer protocol; arrays; tensors with DLPack or __cuda_array_interface__.
_Data = Any
_Array = TypeVar("_Array")
_Plain = bytes | bytearray | memoryview
_Path = str | os.PathLike[str]

__all__ = [
    "AuthenticationError",
    "Cipher",
    "DeviceError",
    "DeviceTag",
    "Engine",
    "Error",
    "HostMemory",
    "Key",
    "UnavailableError",
    "__version__",
    "_forked",
    "engines",
    "is_sealed",
    "open",
    "random_bytes",
    "seal",
]

__version__: Final[str]

class Error(Exception):
    """What goes wrong in this package and is no wrong argument. Wrong arguments are `ValueError` and `TypeError`."""

class AuthenticationError(Error):
    """The data was changed, or key, nonce or tag are others."""

    failed: tuple[int, ...]
    """Of a batch the numbers of the messages that are not authentic, from 0, ascending; of one message empty."""

class UnavailableError(Error):
    """This engine, or this machine, does not have what was asked for."""

class DeviceError(Error):
    """A device or its driver failed."""

@final
class Key:
    """An AES key, or the two of XTS. It never shows itself, is not pickled, and is wiped when it is no longer used."""

    def __new__(cls, data: _Data) -> Key:
        """The key with these 16, 24 or 32 bytes.

        What they were copied from is not wiped. `ValueError` for another number of bytes.
        """

    @staticmethod
    def xts(data: _Data) -> Key:
        """A key of XTS: 32 or 64 bytes, the key of the data and that of the tweaks. `ValueError` if they are equal."""

    @staticmethod
    def generate(bits: int = 256, *, xts: bool = False) -> Key:
        """A new key of 128, 192 or 256 bits from the system's random number generator; for XTS, two of them."""

    @staticmethod
    def from_hex(text: str, *, xts: bool = False) -> Key:
        """The key written as hexadecimal digits. The message of an error never repeats the text."""

    @staticmethod
    def from_file(path: _Path, *, xts: bool = False) -> Key:
        """The key in a file, as hexadecimal digits and a line end: what `aes-bitslice keygen` and `save` write."""

    @staticmethod
    def from_env(name: str, *, xts: bool = False) -> Key:
        """The key in an environment variable, as hexadecimal digits. `LookupError` if it is not set."""

    @staticmethod
    def from_reference(reference: str, *, xts: bool = False) -> Key:
        """The key that a reference names: `env:NAME` or `file:PATH`. A reference is no secret and may travel in place of the key."""

    def save(self, path: _Path) -> None:
        """Writes the key to a new file that only this user can read. `FileExistsError` if there is one."""

    def expose(self) -> bytes:
        """The bytes of the key, for a caller that stores them. This copy is not wiped."""

    @property
    def bits(self) -> int:
        """128, 192 or 256; of each of the two keys of XTS."""

    @property
    def is_xts(self) -> bool:
        """Whether it is a key of XTS."""

    def __reduce__(self) -> NoReturn: ...

@final
class Engine:
    """A backend that was opened: a GPU, several, an OpenCL device, or the CPU. It may be used by any number of threads."""

    def __new__(cls, backend: str | Sequence[int] | None = None, *, kernels: str = "auto") -> Engine:
        """Opens a backend.

        backend: "auto" (the first CUDA GPU, or the CPU, whichever is faster for a call), "cuda:0", "cuda:all", "cpu",
            "cpu-bitsliced", "opencl", "opencl:P.D", or a list of numbers of CUDA GPUs that share the work of a call.
        kernels: which GPU kernels may be used; "auto" has constant-time kernels only.

        `UnavailableError` if it does not open, with the reason. "auto" always opens.
        """

    def cipher(self, key: Key) -> Cipher:
        """The key on this engine. To expand a key takes time: keep the cipher."""

    @overload
    def run_each_key(
        self, mode: str, keys: _Data, data: _Plain | None = None, *, bytes_per_key: int, key_bits: int = 128, counter: _Data | None = None
    ) -> bytes: ...
    @overload
    def run_each_key(
        self,
        mode: str,
        keys: _Data,
        data: _Data | None = None,
        *,
        bytes_per_key: int,
        key_bits: int = 128,
        counter: _Data | None = None,
        out: _Array,
        stream: Any = None,
    ) -> _Array: ...
    @overload
    def run_each_key(
        self,
        mode: str,
        keys: _Data,
        data: _Array,
        *,
        bytes_per_key: int,
        key_bits: int = 128,
        counter: _Data | None = None,
        stream: Any = None,
    ) -> _Array:
        """The same number of bytes under each of many keys, which lie side by side: the first key is for the first `bytes_per_key` bytes.

        mode: "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream", which takes no data.
        bytes_per_key: a multiple of 16.
        counter: the first counter block under each key, 16 bytes; zeros if it is left away. A key may be used for one such call.

        Keys and data are both in host memory, where the cores of the CPU do it, or both on the GPU of the engine, which expands the keys.
        """

    def run_jobs(
        self,
        mode: str,
        keys: _Data,
        ranges: Iterable[Sequence[int]],
        data: _Data | None = None,
        *,
        counters: _Data | None = None,
        out: _Array,
        stream: Any = None,
    ) -> _Array:
        """Many jobs, each with a key, a first counter block and a range of the data, in one call.

        mode: "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream", which takes no data.
        keys: the keys of all jobs side by side, of one length, in host memory.
        ranges: for each job a pair: its first byte in the data, and the one behind its last. They ascend and do not overlap.
        counters: for each job 16 bytes, side by side; for ECB none. Jobs with one key must have no counter in common.
        out: where the output goes, which may be the data itself, and lies apart from keys and counters. Bytes between jobs stay as they
            are there.

        Data in host memory is done by the cores of the CPU, data on the GPU of the engine by that; the call waits for it.
        """

    def host_buffer(self, length: int) -> memoryview:
        """Host memory that is fast for this engine: pinned (page-locked) where it has CUDA GPUs.

        All zero, and wiped when it is no longer used. `numpy.asarray` makes an array of it without a copy. Pinning takes about a
        millisecond for each MiB: use such memory again and again.
        """

    @property
    def name(self) -> str:
        """The name of the backend, such as "cuda" or "cpu"."""

    @property
    def description(self) -> str:
        """One line: the device, and why it is this one."""

    @property
    def devices(self) -> list[int]:
        """The numbers of its CUDA GPUs."""

    def __reduce__(self) -> NoReturn: ...

@final
class DeviceTag:
    """The tag of a message in GPU memory, or those of a batch, side by side. `bytes(tag)` waits until the stream has come to it."""

    def __bytes__(self) -> bytes: ...

@final
class Cipher:
    """A key on an engine. It may be used by any number of threads.

    `data` is `bytes`, any object with the buffer protocol, a NumPy array, or a tensor of PyTorch, CuPy or JAX, in host memory or on
    a GPU of the engine; of any element type, and contiguous. A call returns a new object: `bytes` for what is no array, else an array
    of the same kind, shape and type. With `out=` it writes there, and returns that; `out=data` works in place.

    On a GPU a call goes to the library's current stream, or to `stream=`, and returns without waiting. JAX has no current stream:
    there, calls wait.

    Wrong arguments are `ValueError` or `TypeError`, found before any work, and change nothing. A call that fails later, or is
    interrupted, leaves its output cleared.
    """

    @overload
    def ctr(self, iv: _Data, data: _Plain, *, offset: int = 0, counter_bits: int = 128) -> bytes: ...
    @overload
    def ctr(self, iv: _Data, data: _Data, *, offset: int = 0, counter_bits: int = 128, out: _Array, stream: Any = None) -> _Array: ...
    @overload
    def ctr(self, iv: _Data, data: _Array, *, offset: int = 0, counter_bits: int = 128, stream: Any = None) -> _Array:
        """CTR: encrypts and decrypts any number of bytes.

        iv: the initial counter block, 16 bytes. Under one key, no two messages may have counter blocks that overlap.
        offset: the byte of the key stream that the first byte of the data meets: the place of the data in its message.
        counter_bits: how many of the last bits of the counter block count: 128, 64 or 32.
        """

    @overload
    def keystream(self, iv: _Data, length: int, *, offset: int = 0, counter_bits: int = 128) -> bytes: ...
    @overload
    def keystream(
        self, iv: _Data, length: None = None, *, offset: int = 0, counter_bits: int = 128, out: _Array, stream: Any = None
    ) -> _Array:
        """The key stream of CTR from byte `offset` on: what `ctr` makes of zeros, as pseudorandom bytes."""

    @overload
    def ecb_encrypt(self, data: _Plain) -> bytes: ...
    @overload
    def ecb_encrypt(self, data: _Data, *, out: _Array, stream: Any = None) -> _Array: ...
    @overload
    def ecb_encrypt(self, data: _Array, *, stream: Any = None) -> _Array:
        """ECB encryption of whole blocks of 16 bytes. It shows which blocks are equal: not for messages."""

    @overload
    def ecb_decrypt(self, data: _Plain) -> bytes: ...
    @overload
    def ecb_decrypt(self, data: _Data, *, out: _Array, stream: Any = None) -> _Array: ...
    @overload
    def ecb_decrypt(self, data: _Array, *, stream: Any = None) -> _Array:
        """ECB decryption of whole blocks of 16 bytes."""

    @overload
    def cbc_encrypt(self, iv: _Data, data: _Plain) -> bytes: ...
    @overload
    def cbc_encrypt(self, iv: _Data, data: _Data, *, out: _Array) -> _Array: ...
    @overload
    def cbc_encrypt(self, iv: _Data, data: _Array) -> _Array:
        """CBC encryption of whole blocks, without padding. Serial: on one core of the CPU with every engine, and in host memory.

        iv: 16 random bytes, new for every message.
        """

    @overload
    def cbc_decrypt(self, iv: _Data, data: _Plain) -> bytes: ...
    @overload
    def cbc_decrypt(self, iv: _Data, data: _Data, *, out: _Array, stream: Any = None) -> _Array: ...
    @overload
    def cbc_decrypt(self, iv: _Data, data: _Array, *, stream: Any = None) -> _Array:
        """CBC decryption of whole blocks; padding is left as it is."""

    @overload
    def xts_encrypt(self, data: _Plain, *, unit_bytes: int, first_unit: int = 0) -> bytes: ...
    @overload
    def xts_encrypt(
        self, data: _Data, *, unit_bytes: int, first_unit: int = 0, out: _Array, stream: Any = None
    ) -> _Array: ...
    @overload
    def xts_encrypt(
        self, data: _Array, *, unit_bytes: int, first_unit: int = 0, stream: Any = None
    ) -> _Array:
        """XTS encryption of neighbouring data units, with a key of `Key.xts` or `Key.generate(xts=True)`; on a GPU
        units of whole blocks of 16 bytes.

        unit_bytes: bytes of a data unit, such as 512 or 4096 of a sector; the last may be shorter, down to 16.
        first_unit: the number of the first data unit.
        """

    @overload
    def xts_decrypt(self, data: _Plain, *, unit_bytes: int, first_unit: int = 0) -> bytes: ...
    @overload
    def xts_decrypt(
        self, data: _Data, *, unit_bytes: int, first_unit: int = 0, out: _Array, stream: Any = None
    ) -> _Array: ...
    @overload
    def xts_decrypt(
        self, data: _Array, *, unit_bytes: int, first_unit: int = 0, stream: Any = None
    ) -> _Array:
        """XTS decryption of neighbouring data units, as `xts_encrypt`."""

    @overload
    def gcm_encrypt(self, nonce: _Data, data: _Plain, aad: _Data = None) -> tuple[bytes, bytes]: ...
    @overload
    def gcm_encrypt(
        self, nonce: _Data, data: _Data, aad: _Data = None, *, out: _Array, stream: Any = None
    ) -> tuple[_Array, bytes | DeviceTag]: ...
    @overload
    def gcm_encrypt(
        self, nonce: _Data, data: _Array, aad: _Data = None, *, stream: Any = None
    ) -> tuple[_Array, bytes | DeviceTag]:
        """GCM encryption of a whole message: the ciphertext and its tag of 16 bytes, on a GPU a `DeviceTag`.

        nonce: 12 bytes as a rule. Never use it for two messages under one key.
        aad: additional data, which the tag authenticates and which is not encrypted.
        """

    @overload
    def gcm_decrypt(self, nonce: _Data, data: _Plain, tag: _Data | DeviceTag, aad: _Data = None) -> bytes: ...
    @overload
    def gcm_decrypt(
        self, nonce: _Data, data: _Data, tag: _Data | DeviceTag, aad: _Data = None, *, out: _Array, stream: Any = None
    ) -> _Array: ...
    @overload
    def gcm_decrypt(
        self, nonce: _Data, data: _Array, tag: _Data | DeviceTag, aad: _Data = None, *, stream: Any = None
    ) -> _Array:
        """GCM decryption of a whole message. It waits, also on a GPU, until the tag was checked.

        `AuthenticationError` if anything was changed; nothing of the plaintext is left then.
        """

    @overload
    def gcm_siv_encrypt(self, nonce: _Data, data: _Plain, aad: _Data = None) -> tuple[bytes, bytes]: ...
    @overload
    def gcm_siv_encrypt(
        self, nonce: _Data, data: _Data, aad: _Data = None, *, out: _Array, stream: Any = None
    ) -> tuple[_Array, bytes | DeviceTag]: ...
    @overload
    def gcm_siv_encrypt(
        self, nonce: _Data, data: _Array, aad: _Data = None, *, stream: Any = None
    ) -> tuple[_Array, bytes | DeviceTag]:
        """AES-GCM-SIV encryption (RFC 8452) of a whole message: the ciphertext and its tag of 16 bytes, on a GPU a `DeviceTag`. With keys
        of 128 or 256 bits. It goes through the data twice: on a GPU it waits until the stream has come to the end of the first time.

        nonce: 12 bytes, new for every message. One that is used twice under a key tells whether two messages with the same additional
            data are equal, and nothing else.
        aad: additional data, which the tag authenticates and which is not encrypted.
        """

    @overload
    def gcm_siv_decrypt(self, nonce: _Data, data: _Plain, tag: _Data | DeviceTag, aad: _Data = None) -> bytes: ...
    @overload
    def gcm_siv_decrypt(
        self, nonce: _Data, data: _Data, tag: _Data | DeviceTag, aad: _Data = None, *, out: _Array, stream: Any = None
    ) -> _Array: ...
    @overload
    def gcm_siv_decrypt(
        self, nonce: _Data, data: _Array, tag: _Data | DeviceTag, aad: _Data = None, *, stream: Any = None
    ) -> _Array:
        """AES-GCM-SIV decryption of a whole message. It waits, also on a GPU, until the tag was checked.

        `AuthenticationError` if anything was changed; nothing of the plaintext is left then.
        """

    def gmac(self, nonce: _Data, data: _Data, *, stream: Any = None) -> bytes | DeviceTag:
        """GMAC: the tag of a message that is not encrypted. No two messages under one key may have the same nonce. Compare tags with
        `hmac.compare_digest`."""

    def cmac(self, data: _Data) -> bytes:
        """CMAC of a whole message in host memory, on one core of the CPU. Compare tags with `hmac.compare_digest`. On a GPU there is
        `cmac_batch`: the blocks of a message come one after the other, so that one alone is slow there."""

    def gcm_encrypt_batch(
        self,
        nonces: _Data | Sequence[_Data],
        ranges: Iterable[Sequence[int]],
        data: _Data,
        aads: Sequence[_Data] | None = None,
        *,
        out: _Data,
        stream: Any = None,
    ) -> bytes | DeviceTag:
        """GCM encryption of many messages in one call: their tags, of 16 bytes each, side by side; on a GPU as a `DeviceTag`.

        nonces: of each message 12 bytes, side by side, or a list with a nonce of any length for each. No two may be equal.
        ranges: for each message a pair: its first byte in the data, and the one behind its last. They ascend and do not overlap.
        aads: a list with the additional data of each message.
        out: where the output goes, which may be the data itself. Bytes between messages stay as they are there.

        Data in host memory goes to the cores of the CPU with every engine, data on a GPU of the engine to that, on the stream. Nonces and
        additional data are in host memory.
        """

    def gcm_decrypt_batch(
        self,
        nonces: _Data | Sequence[_Data],
        ranges: Iterable[Sequence[int]],
        data: _Data,
        tags: _Data | Sequence[_Data] | DeviceTag,
        aads: Sequence[_Data] | None = None,
        *,
        out: _Data,
        stream: Any = None,
    ) -> None:
        """GCM decryption of many messages in one call. `AuthenticationError` if any is not authentic: `failed` has the numbers of these,
        and they are cleared in `out`. The others are decrypted all the same. It waits, also on a GPU, until all tags were checked.

        tags: of each message 16 bytes, side by side, or a list, which may have shorter ones; in host memory, or the `DeviceTag` of the
            encryption. All else is as for `gcm_encrypt_batch`.
        """

    def cmac_batch(self, ranges: Iterable[Sequence[int]], data: _Data, *, stream: Any = None) -> bytes | DeviceTag:
        """CMAC of many messages in one call: their tags, of 16 bytes each, side by side; on a GPU as a `DeviceTag`.

        ranges: for each message a pair: its first byte in the data, and the one behind its last. They may have any order, and overlap.

        Data in host memory goes to the cores of the CPU with every engine, data on a GPU of the engine to that, on the stream: there,
        thousands of messages are fast, and few are not, for the blocks of a message come one after the other.
        """

    def cmac_verify_batch(
        self,
        ranges: Iterable[Sequence[int]],
        data: _Data,
        tags: _Data | Sequence[_Data] | DeviceTag,
        *,
        stream: Any = None,
    ) -> None:
        """CMAC of many messages, compared with tags in constant time. `AuthenticationError` if any is not authentic: `failed` has the numbers
        of these. It waits, also on a GPU.

        tags: of each message 16 bytes, side by side, or a list, which may have shorter ones; in host memory, or the `DeviceTag` of
            `cmac_batch`.
        """

    def prepare(self, mode: str) -> None:
        """Loads the GPU kernels of a mode, before time counts or a graph is captured: "ctr", "ctr-le32" (for AES-GCM-SIV),
        "keystream", "ecb-encrypt", "ecb-decrypt", "cbc-decrypt", "xts-encrypt", "xts-decrypt", "gcm", "gcm-batch", "cmac-batch"."""

    def __reduce__(self) -> NoReturn: ...

@final
class HostMemory:
    """Host memory of an engine: what is behind the `memoryview` of `Engine.host_buffer`."""

    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def is_pinned(self) -> bool: ...

class _EngineEntry(TypedDict):
    name: str
    available: bool
    description: str

def engines(*, opencl: bool = False) -> list[_EngineEntry]:
    """The engines of this machine: for each its name, whether it opens, and the device or the reason why not.

    opencl: those behind OpenCL, too. To look for them loads the library of every installed platform into the process.
    """

def random_bytes(length: int) -> bytes:
    """Bytes from the system's random number generator: for nonces and IVs."""

def seal(
    source: _Path | _Readable,
    destination: _Path | _Writable,
    *,
    key: Key | None = None,
    passphrase: str | _Data | None = None,
    keyset: str | None = None,
    associated_data: _Data | None = None,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> int:
    """Encrypts and authenticates a file, in segments of 1 MiB; returns the bytes of the message.

    source, destination: paths, or file objects that read and write bytes. A new file gets its name when all of it is there.
    Of a file object that is not raw (`io.RawIOBase`), a `write` that returns None has written all; a raw one would block, and
    `BlockingIOError` is raised: give blocking files.
    key: of 256 bits; or a passphrase; or keyset, a Tink keyset as JSON in the clear, which gives a Tink stream without a header.
    passphrase: text, which is encoded as UTF-8, or bytes, which are taken as they are.
    associated_data: authenticated with a Tink stream.
    overwrite: whether a file may be replaced; else `FileExistsError`.
    engine: where to compute; the CPU if none is given.
    """

def open(
    source: _Path | _Readable,
    destination: _Path | _Writable,
    *,
    key: Key | None = None,
    passphrase: str | _Data | None = None,
    keyset: str | None = None,
    associated_data: _Data | None = None,
    range: tuple[int, int] | None = None,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> int:
    """Decrypts what `seal` made, or `range`: the bytes from the first number to before the second; returns how many came out.

    A file object is read from its position on. With `range` it has to seek, and its position counts as the start of the file.
    `AuthenticationError` if anything was changed. No file appears then; a file object has got the true beginning of the message.
    """

def is_sealed(start: _Data) -> bool:
    """Whether data begins as a sealed file does."""

def _forked() -> None: ...
