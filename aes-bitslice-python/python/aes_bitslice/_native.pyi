"""Keys, engines, ciphers and files. Import these from `aes_bitslice`."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn, Protocol, TypedDict, TypeVar, final, overload

class _Readable(Protocol):
    def read(self, size: int, /) -> Any: ...

class _Writable(Protocol):
    def write(self, data: bytes, /) -> Any: ...

# bytes, bytearray, memoryview, mmap, and other objects with the buffer protocol; arrays; tensors with DLPack or
# __cuda_array_interface__.
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
    "_open_like",
    "engines",
    "is_sealed",
    "open",
    "random_bytes",
    "seal",
]

__version__: Final[str]

class Error(Exception):
    """An error of this package that is not a wrong argument. Wrong arguments are `ValueError` and `TypeError`."""

class AuthenticationError(Error):
    """The data was changed, or key, nonce or tag are wrong."""

    failed: tuple[int, ...]
    """For a batch, the numbers of the messages that are not authentic, from 0, ascending; for one message, empty."""

class UnavailableError(Error):
    """This engine or this machine lacks what the call needs."""

class DeviceError(Error):
    """A device or its driver failed."""

@final
class Key:
    """An AES key, or the two keys of XTS. It never shows itself, cannot be pickled, and is wiped when no longer
    used."""

    def __new__(cls, data: _Data) -> Key:
        """The key with these 16, 24 or 32 bytes.

        The object that they are copied from is not wiped. `ValueError` for any other number of bytes.
        """

    @staticmethod
    def xts(data: _Data) -> Key:
        """An XTS key of 32 or 64 bytes: the data key and the tweak key. `ValueError` if they are equal."""

    @staticmethod
    def generate(bits: int = 256, *, xts: bool = False) -> Key:
        """A new key of 128, 192 or 256 bits from the system's random number generator; for XTS, two such keys."""

    @staticmethod
    def from_hex(text: str, *, xts: bool = False) -> Key:
        """The key given as hexadecimal digits. Error messages never repeat the text."""

    @staticmethod
    def from_file(path: _Path, *, xts: bool = False) -> Key:
        """The key in a file, as hexadecimal digits and a line end, as `aes-bitslice keygen` and `save` write it.

        Error messages name the file, unless its name is 32 hexadecimal digits or more: it may be the key itself.
        """

    @staticmethod
    def from_env(name: str, *, xts: bool = False) -> Key:
        """The key in an environment variable, as hexadecimal digits. `LookupError` if it is not set.

        Error messages name the variable, unless its name has 16 hexadecimal digits in a row: it may be the key itself.
        """

    @staticmethod
    def from_reference(reference: str, *, xts: bool = False) -> Key:
        """The key that a reference names: `env:NAME` or `file:PATH`. A reference is not secret and may replace the key
        in transit."""

    def save(self, path: _Path) -> None:
        """Writes the key to a new file that only this user can read, which appears whole or not at all.
        `FileExistsError` if the file exists."""

    def expose(self) -> bytes:
        """The bytes of the key, for a caller that stores them. This copy is not wiped."""

    @property
    def bits(self) -> int:
        """128, 192 or 256; for XTS, the bits of each of the two keys."""

    @property
    def is_xts(self) -> bool:
        """Whether it is an XTS key."""

    def __reduce__(self) -> NoReturn: ...

@final
class Engine:
    """An opened backend: a GPU, several GPUs, an OpenCL device, or the CPU. Any number of threads may use it."""

    def __new__(cls, backend: str | Sequence[int] | None = None, *, kernels: str = "auto") -> Engine:
        """Opens a backend.

        backend: "auto" (the first CUDA GPU, or the CPU, whichever is faster for a call), "cuda:0", "cuda:all", "cpu",
            "cpu-bitsliced", "opencl", "opencl:P.D", or a list of CUDA GPU numbers, which share the work of a call.
        kernels: which GPU kernels may be used; "auto" allows constant-time kernels only.

        `UnavailableError` if it does not open, with the reason. "auto" always opens.
        """

    def cipher(self, key: Key) -> Cipher:
        """Loads a key on this engine. Expanding a key takes time: keep the cipher."""

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
        """Processes the same number of bytes under each of many contiguous keys: the first key is for the first
        `bytes_per_key` bytes.

        mode: "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream", which takes no data.
        bytes_per_key: a multiple of 16.
        counter: the first counter block under each key, 16 bytes; zeros if omitted. Use a key for one such call only.

        Keys and data are both in host memory, where the CPU cores do the work, or both on the engine's GPU, which
        expands the keys.
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
        """Runs many jobs, each with a key, a first counter block and a range of the data, in one call.

        mode: "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream", which takes no data.
        keys: the keys of all jobs, contiguous, of one length, in host memory.
        ranges: a pair for each job: its first byte in the data, and the byte after its last. They ascend and do not
            overlap.
        counters: 16 bytes for each job, contiguous; none for ECB. Jobs with the same key must share no counter.
        out: where the output goes; may be the data itself, must not overlap keys and counters. Bytes of `out` between
            jobs stay as they are.

        The CPU cores process data in host memory, the engine's GPU data in its memory; the call waits for it.
        """

    def host_buffer(self, length: int) -> memoryview:
        """Host memory that is fast for this engine: pinned (page-locked) where it has CUDA GPUs.

        All zero, and wiped when it is no longer used. `numpy.asarray` makes an array of it without a copy. Pinning
        takes about a millisecond per MiB: reuse such memory.
        """

    @property
    def name(self) -> str:
        """The name of the backend, such as "cuda" or "cpu"."""

    @property
    def description(self) -> str:
        """One line: the device, and why it was chosen."""

    @property
    def devices(self) -> list[int]:
        """The numbers of its CUDA GPUs."""

    def __reduce__(self) -> NoReturn: ...

@final
class DeviceTag:
    """The tag of a message in GPU memory, or the contiguous tags of a batch. `bytes(tag)` waits until the stream
    reaches it."""

    def __bytes__(self) -> bytes: ...

@final
class Cipher:
    """A key loaded on an engine. Any number of threads may use it.

    `data` is `bytes`, any object with the buffer protocol, a NumPy array, or a tensor of PyTorch, CuPy or JAX, in host
    memory or on a GPU of the engine; of any element type, and contiguous. A call returns a new object: for an array, an
    array of the same kind, shape and type, else `bytes`. With `out=` it writes there, and returns `out`; `out=data`
    works in place.

    On a GPU a call goes to the library's current stream, or to `stream=`, and returns without waiting. JAX has no current stream:
    there, calls wait.

    Wrong arguments raise `ValueError` or `TypeError` before any work, and change nothing. A call that fails later, or
    is interrupted, leaves its output cleared.
    """

    @overload
    def ctr(self, iv: _Data, data: _Plain, *, offset: int = 0, counter_bits: int = 128) -> bytes: ...
    @overload
    def ctr(self, iv: _Data, data: _Data, *, offset: int = 0, counter_bits: int = 128, out: _Array, stream: Any = None) -> _Array: ...
    @overload
    def ctr(self, iv: _Data, data: _Array, *, offset: int = 0, counter_bits: int = 128, stream: Any = None) -> _Array:
        """CTR: encrypts and decrypts any number of bytes.

        iv: the initial counter block, 16 bytes. Under one key, no two messages may have overlapping counter blocks.
        offset: the byte of the key stream for the first byte of the data: the place of the data in its message.
        counter_bits: how many of the last bits of the counter block count: 128, 64 or 32.
        """

    @overload
    def keystream(self, iv: _Data, length: int, *, offset: int = 0, counter_bits: int = 128) -> bytes: ...
    @overload
    def keystream(
        self, iv: _Data, length: None = None, *, offset: int = 0, counter_bits: int = 128, out: _Array, stream: Any = None
    ) -> _Array:
        """The key stream of CTR from byte `offset` on: the output of `ctr` for zeros, as pseudorandom bytes."""

    @overload
    def ecb_encrypt(self, data: _Plain) -> bytes: ...
    @overload
    def ecb_encrypt(self, data: _Data, *, out: _Array, stream: Any = None) -> _Array: ...
    @overload
    def ecb_encrypt(self, data: _Array, *, stream: Any = None) -> _Array:
        """ECB encryption of whole blocks of 16 bytes. It reveals which blocks are equal: not for messages."""

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
        """CBC encryption of whole blocks, without padding. Serial: on one CPU core whatever the engine, in host memory.

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
        """XTS encryption of consecutive data units, with a key from `Key.xts` or `Key.generate(xts=True)`; on a GPU
        units of whole blocks of 16 bytes.

        unit_bytes: bytes of a data unit, such as 512 or 4096 for a sector; the last may be shorter, down to 16.
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
        """XTS decryption of consecutive data units; see `xts_encrypt`."""

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
        """GCM encryption of a whole message: returns the ciphertext and its tag of 16 bytes, on a GPU a `DeviceTag`.

        nonce: usually 12 bytes. Never use it for two messages under one key.
        aad: additional data, which the tag authenticates but which is not encrypted.
        """

    @overload
    def gcm_decrypt(
        self, nonce: _Data, data: _Plain, tag: _Data | DeviceTag, aad: _Data = None, *, tag_bytes: int = 16
    ) -> bytes: ...
    @overload
    def gcm_decrypt(
        self,
        nonce: _Data,
        data: _Data,
        tag: _Data | DeviceTag,
        aad: _Data = None,
        *,
        tag_bytes: int = 16,
        out: _Array,
        stream: Any = None,
    ) -> _Array: ...
    @overload
    def gcm_decrypt(
        self, nonce: _Data, data: _Array, tag: _Data | DeviceTag, aad: _Data = None, *, tag_bytes: int = 16, stream: Any = None
    ) -> _Array:
        """GCM decryption of a whole message. Waits, also on a GPU, until the tag has been checked.

        tag_bytes: the length that the tag must have: 16, or 4, 8 or 12 to 15 if sender and receiver agreed on that. `ValueError` for a
            tag of another length: a forged message with a tag of 4 bytes is accepted once in 2^32 attempts.

        `AuthenticationError` if anything was changed; no plaintext is left then.
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
        """AES-GCM-SIV encryption (RFC 8452) of a whole message: returns the ciphertext and its tag of 16 bytes, on a
        GPU a `DeviceTag`. For keys of 128 or 256 bits. It reads the data twice: on a GPU it waits until the stream has
        finished the first pass.

        nonce: 12 bytes, new for every message. A nonce used twice under a key reveals only whether two messages with
            the same additional data are equal.
        aad: additional data, which the tag authenticates but which is not encrypted.
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
        """AES-GCM-SIV decryption of a whole message. Waits, also on a GPU, until the tag has been checked.

        `AuthenticationError` if anything was changed; no plaintext is left then.
        """

    def gmac(self, nonce: _Data, data: _Data, *, stream: Any = None) -> bytes | DeviceTag:
        """GMAC: the tag of a message that is not encrypted. No two messages under one key may have the same nonce. Compare tags with
        `hmac.compare_digest`."""

    def cmac(self, data: _Data) -> bytes:
        """CMAC of a whole message in host memory, on one core of the CPU. Compare tags with `hmac.compare_digest`. For
        a GPU there is `cmac_batch`: the blocks of a message are processed in sequence, so one message is slow there."""

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
        """GCM encryption of many messages in one call: returns their tags, 16 bytes each, contiguous; on a GPU as a
        `DeviceTag`.

        nonces: 12 bytes for each message, contiguous, or a list with a nonce of any length for each. No two may be
            equal.
        ranges: a pair for each message: its first byte in the data, and the byte after its last. They ascend and do not
            overlap.
        aads: a list with the additional data of each message.
        out: where the output goes; may be the data itself. Bytes of `out` between messages stay as they are.

        The CPU cores process data in host memory, whatever the engine; data on a GPU of the engine goes to that GPU, on
        the stream. Nonces and additional data are in host memory.
        """

    def gcm_decrypt_batch(
        self,
        nonces: _Data | Sequence[_Data],
        ranges: Iterable[Sequence[int]],
        data: _Data,
        tags: _Data | Sequence[_Data] | DeviceTag,
        aads: Sequence[_Data] | None = None,
        *,
        tag_bytes: int = 16,
        out: _Data,
        stream: Any = None,
    ) -> None:
        """GCM decryption of many messages in one call. `AuthenticationError` if any is not authentic: `failed` has
        their numbers, and they are cleared in `out`. The others are still decrypted. Waits, also on a GPU, until all
        tags have been checked.

        tags: `tag_bytes` bytes for each message, contiguous, or a list; in host memory, or the `DeviceTag` of the
            encryption.
        tag_bytes: the length of every tag, as for `gcm_decrypt`. The rest is as for `gcm_encrypt_batch`.
        """

    def cmac_batch(self, ranges: Iterable[Sequence[int]], data: _Data, *, stream: Any = None) -> bytes | DeviceTag:
        """CMAC of many messages in one call: returns their tags, 16 bytes each, contiguous; on a GPU as a `DeviceTag`.

        ranges: a pair for each message: its first byte in the data, and the byte after its last. They may have any
            order, and overlap.

        The CPU cores process data in host memory, whatever the engine; data on a GPU of the engine goes to that GPU, on
        the stream: there, thousands of messages are fast and a few are not, because the blocks of a message are
        processed in sequence.
        """

    def cmac_verify_batch(
        self,
        ranges: Iterable[Sequence[int]],
        data: _Data,
        tags: _Data | Sequence[_Data] | DeviceTag,
        *,
        tag_bytes: int = 16,
        stream: Any = None,
    ) -> None:
        """CMAC of many messages, compared with tags in constant time. `AuthenticationError` if any is not authentic:
        `failed` has their numbers. Waits, also on a GPU.

        tags: `tag_bytes` bytes for each message, contiguous, or a list; in host memory, or the `DeviceTag` of
            `cmac_batch`.
        tag_bytes: the length of every tag, as for `gcm_decrypt`.
        """

    def prepare(self, mode: str) -> None:
        """Loads the GPU kernels of a mode before time counts or a graph is captured: "ctr", "ctr-le32" (for
        AES-GCM-SIV), "keystream", "ecb-encrypt", "ecb-decrypt", "cbc-decrypt", "xts-encrypt", "xts-decrypt", "gcm",
        "gcm-batch", "cmac-batch"."""

    def __reduce__(self) -> NoReturn: ...

@final
class HostMemory:
    """Host memory of an engine: the memory of the `memoryview` that `Engine.host_buffer` returns."""

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

    opencl: OpenCL engines, too. Looking for them loads the library of every installed platform into the process.
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
    """Encrypts and authenticates a file, in segments of 1 MiB; returns the number of bytes in the message.

    source, destination: paths, or file objects that read and write bytes. A new file gets its name when it is complete.
    If `write` of a raw file object (`io.RawIOBase`) returns None, it would block, and `BlockingIOError` is raised: give
    blocking files. From any other file object, None means that everything was written.
    key: of 256 bits; or a passphrase; or keyset, a Tink keyset as JSON in the clear, which gives a Tink stream without a header.
    passphrase: text, which is encoded as UTF-8, or bytes, which are used as they are.
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
    range: tuple[int, int | None] | Sequence[int] | slice | None = None,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> int:
    """Decrypts the output of `seal`, or `range`: the bytes from the first number to before the second; returns how
    many.

    range: (start, end), where None as the end is that of the message, or a slice. A file object is then one that can seek; its position
    counts as the start of the file, and is the same after the call.

    Without `range` a file object is read from its position on. `AuthenticationError` if anything was changed, `Error` if the first nine bytes are not those of a
    sealed file of this version. Then no file appears; a file object has received the true beginning of the message.
    """

def is_sealed(start: _Data) -> bool:
    """Whether data begins as a sealed file does."""

def _forked() -> None: ...
def _open_like(path: _Path, source: _Path | _Readable) -> int: ...
