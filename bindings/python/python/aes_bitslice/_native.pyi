"""Types of keys, engines, ciphers and files. What they do is in their docstrings: `help(aes_bitslice.Cipher)`."""

import array
import ctypes
import mmap
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NoReturn, Protocol, TypeAlias, TypedDict, TypeVar, final, overload

from typing_extensions import Buffer, Self

class _Readable(Protocol):
    def read(self, size: int, /) -> Any: ...

class _Writable(Protocol):
    def write(self, data: bytes, /) -> Any: ...

class _HasDlpack(Protocol):
    def __dlpack__(self, *args: Any, **options: Any) -> Any: ...

class _HasCudaInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...

class _HostArray(Protocol):
    """An array of NumPy, or one like it, which is always in host memory."""

    def __dlpack__(self, *args: Any, **options: Any) -> Any: ...
    @property
    def __array_interface__(self) -> Any: ...

#: What has the buffer protocol and is no array: a call returns new bytes.
_Plain: TypeAlias = bytes | bytearray | memoryview | mmap.mmap | array.array[Any] | ctypes.Array[Any]
#: What data is: objects with the buffer protocol, arrays, tensors.
_Data: TypeAlias = Buffer | _HasDlpack | _HasCudaInterface
_HostData = TypeVar("_HostData", bound=_HostArray)
_HostOut = TypeVar("_HostOut", bound=_HostArray | bytearray | memoryview | mmap.mmap | array.array[Any] | ctypes.Array[Any])
_Array = TypeVar("_Array", bound=_HasDlpack)
_Out = TypeVar("_Out", bound=Buffer | _HasDlpack | _HasCudaInterface)
_Path: TypeAlias = str | os.PathLike[str]
_Range: TypeAlias = tuple[int, int | None] | list[int] | slice | range
#: Where many messages are: pairs of the first byte and the byte after the last, as an array or a list, or a description.
_Ranges: TypeAlias = "Ranges | Iterable[Sequence[int]] | _HostArray"
_KeyBits: TypeAlias = Literal[128, 192, 256]
_EachMode: TypeAlias = Literal["ctr", "ecb-encrypt", "ecb-decrypt", "keystream"]
_Mode: TypeAlias = Literal[
    "ctr", "ctr-le32", "keystream", "ecb-encrypt", "ecb-decrypt", "cbc-decrypt", "xts-encrypt", "xts-decrypt", "gcm", "gcm-batch", "cmac-batch"
]
#: The ciphers of headers and of pages, the additional data of the file, whether pages are without tags.
_HowEncrypted: TypeAlias = tuple[Cipher, Cipher, bytes, bool]

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
    "HostMemory",
    "JobLayout",
    "Key",
    "Keystream",
    "Operation",
    "Prg",
    "Ranges",
    "UnavailableError",
    "XaesDecrypt",
    "XaesEncrypt",
    "XtsDecrypt",
    "XtsEncrypt",
    "_FileSecret",
    "_Output",
    "_ParquetPages",
    "_SealedReader",
    "_SealedSegments",
    "_SealedWriter",
    "__version__",
    "_bytes_of",
    "_descriptor_of",
    "_forked",
    "_interrupt_at",
    "_open_like",
    "_refuse_open",
    "_threads",
    "check_fault",
    "engines",
    "is_sealed",
    "open",
    "random_bytes",
    "seal",
    "set_threads",
]

__version__: Final[str]

class Error(Exception): ...

class AuthenticationError(Error):
    failed: tuple[int, ...]
    """For a batch, the numbers of the messages that are not authentic, from 0, ascending; for one message, empty."""

class UnavailableError(Error): ...
class DeviceError(Error): ...

@final
class Ranges:
    def __new__(cls, offsets: _Data, lengths: _Data) -> Self: ...
    @staticmethod
    def equal(count: int, length: int, *, stride: int | None = None) -> Ranges: ...
    def __len__(self) -> int: ...

@final
class CountedNonces:
    def __new__(cls, first: _Data, *, counter_bits: int) -> Self: ...

@final
class Key:
    def __new__(cls, data: Buffer) -> Self: ...
    @staticmethod
    def xts(data: Buffer) -> Key: ...
    @staticmethod
    def generate(bits: _KeyBits = 256, *, xts: bool = False) -> Key: ...
    @staticmethod
    def derive(secret: Key | Buffer, info: Buffer, *, salt: Buffer | None = None, bits: _KeyBits = 256) -> Key: ...
    @staticmethod
    def from_hex(text: str, *, xts: bool = False) -> Key: ...
    @staticmethod
    def from_file(path: _Path, *, xts: bool = False) -> Key: ...
    @staticmethod
    def from_env(name: str, *, xts: bool = False) -> Key: ...
    @staticmethod
    def from_reference(reference: str, *, xts: bool = False) -> Key: ...
    def save(self, path: _Path) -> None: ...
    def expose(self) -> bytes: ...
    @property
    def bits(self) -> int: ...
    @property
    def is_xts(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __reduce__(self) -> NoReturn: ...

@final
class Engine:
    def __new__(cls, backend: str | Sequence[int] | None = None, *, kernels: str = "auto") -> Self: ...
    def cipher(self, key: Key) -> Cipher: ...
    @overload
    def run_each_key(self, mode: Literal["keystream"], keys: _Data, data: None = None, *, bytes_per_key: int, key_bits: _KeyBits = 128, counter: Buffer | None = None, out: None = None, stream: None = None) -> bytes: ...
    @overload
    def run_each_key(self, mode: Literal["keystream"], keys: _Data, data: None = None, *, bytes_per_key: int, key_bits: _KeyBits = 128, counter: Buffer | None = None, out: _Out, stream: Any = None) -> _Out: ...
    @overload
    def run_each_key(self, mode: _EachMode, keys: _Data, data: _Plain, *, bytes_per_key: int, key_bits: _KeyBits = 128, counter: Buffer | None = None, out: None = None, stream: None = None) -> bytes: ...
    @overload
    def run_each_key(self, mode: _EachMode, keys: _Data, data: _Array, *, bytes_per_key: int, key_bits: _KeyBits = 128, counter: Buffer | None = None, out: None = None, stream: Any = None) -> _Array: ...
    @overload
    def run_each_key(self, mode: _EachMode, keys: _Data, data: _Data, *, bytes_per_key: int, key_bits: _KeyBits = 128, counter: Buffer | None = None, out: _Out, stream: Any = None) -> _Out: ...
    @overload
    def run_each_key(self, mode: _EachMode, keys: _Data, data: Buffer, *, bytes_per_key: int, key_bits: _KeyBits = 128, counter: Buffer | None = None, out: None = None, stream: None = None) -> Any: ...
    def run_jobs(
        self,
        mode: _EachMode,
        keys: _Data,
        ranges: _Ranges,
        data: _Data | None = None,
        *,
        counters: _Data | None = None,
        out: _Out,
        stream: Any = None,
    ) -> _Out: ...
    def gcm_encrypt_jobs(
        self,
        keys: _Data,
        nonces: CountedNonces | Buffer | Sequence[Buffer],
        ranges: _Ranges,
        data: _Data,
        aads: Buffer | Sequence[Buffer] | None = None,
        *,
        aad_ranges: _Ranges | None = None,
        key_bits: _KeyBits = 128,
        key_numbers: Buffer | Sequence[int] | None = None,
        out: _Data,
        stream: Any = None,
    ) -> bytes: ...
    def gcm_decrypt_jobs(
        self,
        keys: _Data,
        nonces: CountedNonces | Buffer | Sequence[Buffer],
        ranges: _Ranges,
        data: _Data,
        tags: Buffer | Sequence[Buffer],
        aads: Buffer | Sequence[Buffer] | None = None,
        *,
        aad_ranges: _Ranges | None = None,
        key_bits: _KeyBits = 128,
        key_numbers: Buffer | Sequence[int] | None = None,
        tag_bytes: int = 16,
        out: _Data,
        stream: Any = None,
    ) -> None: ...
    def job_layout(self, mode: _EachMode, ranges: _Ranges, *, key_bits: _KeyBits = 128) -> JobLayout: ...
    def gcm_job_layout(self, ranges: _Ranges, *, aad_ranges: _Ranges | None = None, key_bits: _KeyBits = 128) -> GcmJobLayout: ...
    def host_buffer(self, length: int) -> memoryview: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def devices(self) -> list[int]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __reduce__(self) -> NoReturn: ...

@final
class JobLayout:
    def run(self, keys: _Data, data: _Data | None = None, *, counters: _Data | None = None, out: _Out, stream: Any = None) -> _Out: ...
    def __len__(self) -> int: ...

@final
class GcmJobLayout:
    def encrypt(self, keys: _Data, nonces: _Data, data: _Data, aads: _Data | None = None, *, out: _Data, tag_out: _Data, stream: Any = None) -> None: ...
    def decrypt(
        self,
        keys: _Data,
        nonces: _Data,
        data: _Data,
        tags: _Data,
        aads: _Data | None = None,
        *,
        out: _Data,
        verdict_out: _Data,
        stream: Any = None,
    ) -> None: ...
    def __len__(self) -> int: ...

@final
class DeviceTag:
    def __bytes__(self) -> bytes: ...

class Operation: ...

@final
class Ctr(Operation):
    def __new__(cls, iv: Buffer, *, offset: int = 0, counter_bits: Literal[128, 64, 32] = 128) -> Self: ...
@final
class Keystream(Operation):
    def __new__(cls, iv: Buffer, *, offset: int = 0, counter_bits: Literal[128, 64, 32] = 128) -> Self: ...
@final
class EcbEncrypt(Operation):
    def __new__(cls) -> Self: ...
@final
class EcbDecrypt(Operation):
    def __new__(cls) -> Self: ...
@final
class Prg(Operation):
    def __new__(cls) -> Self: ...
@final
class CbcEncrypt(Operation):
    def __new__(cls, iv: Buffer) -> Self: ...
@final
class CbcDecrypt(Operation):
    def __new__(cls, iv: Buffer) -> Self: ...
@final
class XtsEncrypt(Operation):
    def __new__(cls, *, unit_bytes: int, first_unit: int = 0) -> Self: ...
@final
class XtsDecrypt(Operation):
    def __new__(cls, *, unit_bytes: int, first_unit: int = 0) -> Self: ...
@final
class GcmEncrypt(Operation):
    def __new__(cls, nonce: Buffer, aad: Buffer | None = None) -> Self: ...
@final
class GcmEncryptWithRandomNonce(Operation):
    def __new__(cls, aad: Buffer | None = None) -> Self: ...
@final
class GcmDecrypt(Operation):
    def __new__(cls, nonce: Buffer, tag: Buffer | DeviceTag, aad: Buffer | None = None, *, tag_bytes: int = 16, short_tags: bool = False) -> Self: ...
@final
class GcmSivEncrypt(Operation):
    def __new__(cls, nonce: Buffer, aad: Buffer | None = None) -> Self: ...
@final
class GcmSivDecrypt(Operation):
    def __new__(cls, nonce: Buffer, tag: Buffer | DeviceTag, aad: Buffer | None = None) -> Self: ...
@final
class XaesEncrypt(Operation):
    def __new__(cls, nonce: Buffer, aad: Buffer | None = None) -> Self: ...
@final
class XaesDecrypt(Operation):
    def __new__(cls, nonce: Buffer, tag: Buffer | DeviceTag, aad: Buffer | None = None) -> Self: ...
@final
class Gmac(Operation):
    def __new__(cls, nonce: Buffer) -> Self: ...
@final
class Cmac(Operation):
    def __new__(cls) -> Self: ...
@final
class GcmEncryptBatch(Operation):
    def __new__(
        cls,
        nonces: CountedNonces | Buffer | Sequence[Buffer],
        ranges: _Ranges,
        aads: Buffer | Sequence[Buffer] | None = None,
        *,
        aad_ranges: _Ranges | None = None,
    ) -> Self: ...
@final
class GcmDecryptBatch(Operation):
    def __new__(
        cls,
        nonces: CountedNonces | Buffer | Sequence[Buffer],
        ranges: _Ranges,
        tags: Buffer | Sequence[Buffer] | DeviceTag,
        aads: Buffer | Sequence[Buffer] | None = None,
        *,
        aad_ranges: _Ranges | None = None,
        tag_bytes: int = 16,
        short_tags: bool = False,
    ) -> Self: ...
@final
class CmacBatch(Operation):
    def __new__(cls, ranges: _Ranges) -> Self: ...
@final
class CmacVerifyBatch(Operation):
    def __new__(cls, ranges: _Ranges, tags: Buffer | Sequence[Buffer] | DeviceTag, *, tag_bytes: int = 16) -> Self: ...

@final
class Cipher:
    def run(self, operation: Operation, data: _Data | None = None, out: _Data | None = None, stream: Any = None, *, tag_out: _Data | None = None) -> Any: ...
    @overload
    def ctr(self, iv: Buffer, data: _Plain, *, offset: int = 0, counter_bits: Literal[128, 64, 32] = 128, out: None = None, stream: None = None) -> bytes: ...
    @overload
    def ctr(self, iv: Buffer, data: _Array, *, offset: int = 0, counter_bits: Literal[128, 64, 32] = 128, out: None = None, stream: Any = None) -> _Array: ...
    @overload
    def ctr(self, iv: Buffer, data: _Data, *, offset: int = 0, counter_bits: Literal[128, 64, 32] = 128, out: _Out, stream: Any = None) -> _Out: ...
    @overload
    def ctr(self, iv: Buffer, data: Buffer, *, offset: int = 0, counter_bits: Literal[128, 64, 32] = 128, out: None = None, stream: None = None) -> Any: ...
    @overload
    def keystream(self, iv: Buffer, length: int, *, offset: int = 0, counter_bits: Literal[128, 64, 32] = 128, out: None = None, stream: None = None) -> bytes: ...
    @overload
    def keystream(self, iv: Buffer, length: None = None, *, offset: int = 0, counter_bits: Literal[128, 64, 32] = 128, out: _Out, stream: Any = None) -> _Out: ...
    @overload
    def ecb_encrypt(self, data: _Plain, *, out: None = None, stream: None = None) -> bytes: ...
    @overload
    def ecb_encrypt(self, data: _Array, *, out: None = None, stream: Any = None) -> _Array: ...
    @overload
    def ecb_encrypt(self, data: _Data, *, out: _Out, stream: Any = None) -> _Out: ...
    @overload
    def ecb_encrypt(self, data: Buffer, *, out: None = None, stream: None = None) -> Any: ...
    # One that equals another takes and returns the same types.
    ecb_decrypt = ecb_encrypt
    prg = ecb_encrypt
    @overload
    def cbc_encrypt(self, iv: Buffer, data: _Plain, *, out: None = None) -> bytes: ...
    @overload
    def cbc_encrypt(self, iv: Buffer, data: _Array, *, out: None = None) -> _Array: ...
    @overload
    def cbc_encrypt(self, iv: Buffer, data: _Data, *, out: _Out) -> _Out: ...
    @overload
    def cbc_encrypt(self, iv: Buffer, data: Buffer, *, out: None = None) -> Any: ...
    @overload
    def cbc_decrypt(self, iv: Buffer, data: _Plain, *, out: None = None, stream: None = None) -> bytes: ...
    @overload
    def cbc_decrypt(self, iv: Buffer, data: _Array, *, out: None = None, stream: Any = None) -> _Array: ...
    @overload
    def cbc_decrypt(self, iv: Buffer, data: _Data, *, out: _Out, stream: Any = None) -> _Out: ...
    @overload
    def cbc_decrypt(self, iv: Buffer, data: Buffer, *, out: None = None, stream: None = None) -> Any: ...
    @overload
    def xts_encrypt(self, data: _Plain, *, unit_bytes: int, first_unit: int = 0, out: None = None, stream: None = None) -> bytes: ...
    @overload
    def xts_encrypt(self, data: _Array, *, unit_bytes: int, first_unit: int = 0, out: None = None, stream: Any = None) -> _Array: ...
    @overload
    def xts_encrypt(self, data: _Data, *, unit_bytes: int, first_unit: int = 0, out: _Out, stream: Any = None) -> _Out: ...
    @overload
    def xts_encrypt(self, data: Buffer, *, unit_bytes: int, first_unit: int = 0, out: None = None, stream: None = None) -> Any: ...
    xts_decrypt = xts_encrypt
    @overload
    def gcm_encrypt(self, nonce: Buffer, data: _Plain, aad: Buffer | None = None, *, out: None = None, stream: None = None, tag_out: None = None) -> tuple[bytes, bytes]: ...
    @overload
    def gcm_encrypt(self, nonce: Buffer, data: _HostData, aad: Buffer | None = None, *, out: None = None, stream: None = None, tag_out: None = None) -> tuple[_HostData, bytes]: ...
    @overload
    def gcm_encrypt(self, nonce: Buffer, data: _Array, aad: Buffer | None = None, *, out: None = None, stream: Any = None, tag_out: None = None) -> tuple[_Array, bytes | DeviceTag]: ...
    @overload
    def gcm_encrypt(self, nonce: Buffer, data: _Data, aad: Buffer | None = None, *, out: _HostOut, stream: None = None, tag_out: None = None) -> tuple[_HostOut, bytes]: ...
    @overload
    def gcm_encrypt(self, nonce: Buffer, data: _Data, aad: Buffer | None = None, *, out: _Out, stream: Any = None, tag_out: None = None) -> tuple[_Out, bytes | DeviceTag]: ...
    @overload
    def gcm_encrypt(self, nonce: Buffer, data: Buffer, aad: Buffer | None = None, *, out: None = None, stream: None = None, tag_out: None = None) -> tuple[Any, bytes]: ...
    @overload
    def gcm_encrypt(self, nonce: Buffer, data: _Array, aad: Buffer | None = None, *, out: None = None, stream: Any = None, tag_out: _Data) -> _Array: ...
    @overload
    def gcm_encrypt(self, nonce: Buffer, data: _Data, aad: Buffer | None = None, *, out: _Out, stream: Any = None, tag_out: _Data) -> _Out: ...
    @overload
    def gcm_encrypt_with_random_nonce(self, data: _Plain, aad: Buffer | None = None, *, out: None = None, stream: None = None, tag_out: None = None) -> tuple[bytes, bytes, bytes]: ...
    @overload
    def gcm_encrypt_with_random_nonce(self, data: _HostData, aad: Buffer | None = None, *, out: None = None, stream: None = None, tag_out: None = None) -> tuple[bytes, _HostData, bytes]: ...
    @overload
    def gcm_encrypt_with_random_nonce(self, data: _Array, aad: Buffer | None = None, *, out: None = None, stream: Any = None, tag_out: None = None) -> tuple[bytes, _Array, bytes | DeviceTag]: ...
    @overload
    def gcm_encrypt_with_random_nonce(self, data: _Data, aad: Buffer | None = None, *, out: _HostOut, stream: None = None, tag_out: None = None) -> tuple[bytes, _HostOut, bytes]: ...
    @overload
    def gcm_encrypt_with_random_nonce(self, data: _Data, aad: Buffer | None = None, *, out: _Out, stream: Any = None, tag_out: None = None) -> tuple[bytes, _Out, bytes | DeviceTag]: ...
    @overload
    def gcm_encrypt_with_random_nonce(self, data: Buffer, aad: Buffer | None = None, *, out: None = None, stream: None = None, tag_out: None = None) -> tuple[bytes, Any, bytes]: ...
    @overload
    def gcm_encrypt_with_random_nonce(self, data: _Array, aad: Buffer | None = None, *, out: None = None, stream: Any = None, tag_out: _Data) -> _Array: ...
    @overload
    def gcm_encrypt_with_random_nonce(self, data: _Data, aad: Buffer | None = None, *, out: _Out, stream: Any = None, tag_out: _Data) -> _Out: ...
    @overload
    def gcm_decrypt(self, nonce: Buffer, data: _Plain, tag: Buffer | DeviceTag, aad: Buffer | None = None, *, tag_bytes: int = 16, short_tags: bool = False, out: None = None, stream: None = None) -> bytes: ...
    @overload
    def gcm_decrypt(self, nonce: Buffer, data: _Array, tag: Buffer | DeviceTag, aad: Buffer | None = None, *, tag_bytes: int = 16, short_tags: bool = False, out: None = None, stream: Any = None) -> _Array: ...
    @overload
    def gcm_decrypt(self, nonce: Buffer, data: _Data, tag: Buffer | DeviceTag, aad: Buffer | None = None, *, tag_bytes: int = 16, short_tags: bool = False, out: _Out, stream: Any = None) -> _Out: ...
    @overload
    def gcm_decrypt(self, nonce: Buffer, data: Buffer, tag: Buffer | DeviceTag, aad: Buffer | None = None, *, tag_bytes: int = 16, short_tags: bool = False, out: None = None, stream: None = None) -> Any: ...
    @overload
    def gcm_siv_encrypt(self, nonce: Buffer, data: _Plain, aad: Buffer | None = None, *, out: None = None, stream: None = None) -> tuple[bytes, bytes]: ...
    @overload
    def gcm_siv_encrypt(self, nonce: Buffer, data: _HostData, aad: Buffer | None = None, *, out: None = None, stream: None = None) -> tuple[_HostData, bytes]: ...
    @overload
    def gcm_siv_encrypt(self, nonce: Buffer, data: _Array, aad: Buffer | None = None, *, out: None = None, stream: Any = None) -> tuple[_Array, bytes | DeviceTag]: ...
    @overload
    def gcm_siv_encrypt(self, nonce: Buffer, data: _Data, aad: Buffer | None = None, *, out: _HostOut, stream: None = None) -> tuple[_HostOut, bytes]: ...
    @overload
    def gcm_siv_encrypt(self, nonce: Buffer, data: _Data, aad: Buffer | None = None, *, out: _Out, stream: Any = None) -> tuple[_Out, bytes | DeviceTag]: ...
    @overload
    def gcm_siv_encrypt(self, nonce: Buffer, data: Buffer, aad: Buffer | None = None, *, out: None = None, stream: None = None) -> tuple[Any, bytes]: ...
    @overload
    def gcm_siv_decrypt(self, nonce: Buffer, data: _Plain, tag: Buffer | DeviceTag, aad: Buffer | None = None, *, out: None = None, stream: None = None) -> bytes: ...
    @overload
    def gcm_siv_decrypt(self, nonce: Buffer, data: _Array, tag: Buffer | DeviceTag, aad: Buffer | None = None, *, out: None = None, stream: Any = None) -> _Array: ...
    @overload
    def gcm_siv_decrypt(self, nonce: Buffer, data: _Data, tag: Buffer | DeviceTag, aad: Buffer | None = None, *, out: _Out, stream: Any = None) -> _Out: ...
    @overload
    def gcm_siv_decrypt(self, nonce: Buffer, data: Buffer, tag: Buffer | DeviceTag, aad: Buffer | None = None, *, out: None = None, stream: None = None) -> Any: ...
    xaes_encrypt = gcm_siv_encrypt
    xaes_decrypt = gcm_siv_decrypt
    @overload
    def gmac(self, nonce: Buffer, data: _Plain | _HostArray, *, stream: None = None, tag_out: None = None) -> bytes: ...
    @overload
    def gmac(self, nonce: Buffer, data: _Data, *, stream: Any = None, tag_out: None = None) -> bytes | DeviceTag: ...
    @overload
    def gmac(self, nonce: Buffer, data: _Data, *, stream: Any = None, tag_out: _Data) -> None: ...
    def cmac(self, data: _Data) -> bytes: ...
    @overload
    def gcm_encrypt_batch(
        self,
        nonces: CountedNonces | Buffer | Sequence[Buffer],
        ranges: _Ranges,
        data: _Data,
        aads: Buffer | Sequence[Buffer] | None = None,
        *,
        aad_ranges: _Ranges | None = None,
        out: _Plain | _HostArray,
        stream: None = None,
        tag_out: None = None,
        fault_out: None = None,
    ) -> bytes: ...
    @overload
    def gcm_encrypt_batch(
        self,
        nonces: CountedNonces | Buffer | Sequence[Buffer],
        ranges: _Ranges,
        data: _Data,
        aads: Buffer | Sequence[Buffer] | None = None,
        *,
        aad_ranges: _Ranges | None = None,
        out: _Data,
        stream: Any = None,
        tag_out: None = None,
        fault_out: None = None,
    ) -> bytes | DeviceTag: ...
    @overload
    def gcm_encrypt_batch(
        self,
        nonces: CountedNonces | _Data,
        ranges: Ranges | _Data,
        data: _Data,
        aads: _Data | None = None,
        *,
        aad_ranges: Ranges | _Data | None = None,
        out: _Data,
        stream: Any = None,
        tag_out: _Data,
        fault_out: _Data,
    ) -> None: ...
    @overload
    def gcm_decrypt_batch(
        self,
        nonces: CountedNonces | Buffer | Sequence[Buffer],
        ranges: _Ranges,
        data: _Data,
        tags: Buffer | Sequence[Buffer] | DeviceTag,
        aads: Buffer | Sequence[Buffer] | None = None,
        *,
        aad_ranges: _Ranges | None = None,
        tag_bytes: int = 16,
        short_tags: bool = False,
        out: _Data,
        stream: Any = None,
        verdict_out: None = None,
        fault_out: None = None,
    ) -> None: ...
    @overload
    def gcm_decrypt_batch(
        self,
        nonces: CountedNonces | _Data,
        ranges: Ranges | _Data,
        data: _Data,
        tags: _Data,
        aads: _Data | None = None,
        *,
        aad_ranges: Ranges | _Data | None = None,
        tag_bytes: int = 16,
        short_tags: bool = False,
        out: _Data,
        stream: Any = None,
        verdict_out: _Data,
        fault_out: _Data,
    ) -> None: ...
    @overload
    def cmac_batch(self, ranges: _Ranges, data: _Plain | _HostArray, *, stream: None = None) -> bytes: ...
    @overload
    def cmac_batch(self, ranges: _Ranges, data: _Data, *, stream: Any = None) -> bytes | DeviceTag: ...
    def cmac_verify_batch(
        self,
        ranges: _Ranges,
        data: _Data,
        tags: Buffer | Sequence[Buffer] | DeviceTag,
        *,
        tag_bytes: int = 16,
        stream: Any = None,
    ) -> None: ...
    def prepare(self, mode: _Mode) -> None: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __reduce__(self) -> NoReturn: ...

@final
class HostMemory:
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

def check_fault(fault: _Data) -> None: ...
def engines(*, opencl: bool = False) -> list[_EngineEntry]: ...
def random_bytes(length: int) -> bytes: ...
def set_threads(threads: int) -> None: ...
def seal(
    source: _Path | _Readable,
    destination: _Path | _Writable,
    *,
    key: Key | None = None,
    passphrase: str | Buffer | None = None,
    keyset: str | None = None,
    associated_data: Buffer | None = None,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> int: ...
def open(
    source: _Path | _Readable,
    destination: _Path | _Writable,
    *,
    key: Key | None = None,
    passphrase: str | Buffer | None = None,
    keyset: str | None = None,
    associated_data: Buffer | None = None,
    range: _Range | None = None,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> int: ...
def is_sealed(start: Buffer) -> bool: ...

@final
class _FileSecret:
    def __new__(
        cls,
        *,
        key: Key | None = None,
        passphrase: str | Buffer | None = None,
        keyset: str | None = None,
        associated_data: Buffer | None = None,
    ) -> Self: ...

@final
class _SealedReader:
    def __new__(cls, source: _Path | _Readable, secret: _FileSecret, engine: Engine | None = None) -> Self: ...
    @property
    def length(self) -> int: ...
    def descriptor(self) -> int | None: ...
    def readinto(self, position: int, buffer: Buffer) -> int: ...

@final
class _SealedSegments:
    def __new__(cls, source: _Path | _Readable, secret: _FileSecret, engine: Engine) -> Self: ...
    @property
    def cipher(self) -> Cipher: ...
    @property
    def length(self) -> int: ...
    @property
    def segment_bytes(self) -> int: ...
    def holding(self, start: int, stop: int) -> tuple[int, int]: ...
    def begins(self, segment: int) -> tuple[int, int]: ...
    def nonces(self, first: int, end: int) -> bytes: ...
    def read(self, first: int, end: int, out: Any, room: Any) -> bytes: ...
    def damaged(self, segment: int) -> Exception: ...
    def cut_off(self) -> Exception: ...

@final
class _ParquetPages:
    def __new__(
        cls,
        file: Buffer,
        columns: Sequence[tuple[object, tuple[int, int], tuple[int, int], bool, _HowEncrypted | None, _HowEncrypted | None]],
        *,
        first: int,
        most: int,
        checksums: bool,
    ) -> Self: ...
    @property
    def end(self) -> int: ...
    def places(self) -> list[tuple[int, int, int, bool, int | None]]: ...
    def moved(self, column: int) -> list[tuple[int, int, int]]: ...
    def checksums(self) -> list[tuple[int, int, int]]: ...
    def fill(self, file: Buffer, out: Buffer) -> None: ...
    def copy(self, file: Buffer, start: int, out: Buffer) -> list[tuple[int, int]]: ...
    def encrypted(self, file: Buffer, columns: list[int]) -> tuple[bytes, bytes, list[bytes], list[tuple[int, int]]]: ...

@final
class _SealedWriter:
    def __new__(
        cls,
        destination: _Path | _Writable,
        secret: _FileSecret,
        engine: Engine | None = None,
        *,
        overwrite: bool = False,
    ) -> Self: ...
    def write(self, data: Buffer) -> int: ...
    def finish(self) -> None: ...

@final
class _Output:
    def __new__(cls, source: _Readable, destination: _Path | _Writable, *, overwrite: bool = False) -> Self: ...
    def write(self, data: Buffer) -> None: ...
    def finish(self) -> None: ...
    def abort(self) -> None: ...

def _bytes_of(data: Buffer) -> bytes: ...
def _descriptor_of(object: _Readable) -> int | None: ...
def _forked() -> None: ...
def _interrupt_at(look: int) -> None: ...
def _open_like(path: _Path, source: _Readable) -> int: ...
def _refuse_open(path: _Path) -> None: ...
def _threads() -> int: ...
