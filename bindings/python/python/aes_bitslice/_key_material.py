"""The key material that Arrow and Spark keep in Parquet files: data keys, wrapped by a key management service (KMS).

It is the "key tools" of parquet-java and Arrow: JSON, in the metadata of each key. A data key is wrapped by a master key,
which does not leave the KMS, or (double wrapping) by a key encryption key, which a master key wraps.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any, Protocol

from ._native import AuthenticationError, Engine, Error, Key


class Kms(Protocol):
    """What a key management service does; a `pyarrow.parquet.encryption.KmsClient` is one."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str, /) -> Any: ...
    def unwrap_key(self, wrapped_key: str, master_key_identifier: str, /) -> bytes: ...


def keys_of(kms: Kms) -> Callable[[str | None, bytes], Key]:
    """The `keys` of `decrypt`, for a file whose keys this service has wrapped.

    kms: an object with the methods of `pyarrow.parquet.encryption.KmsClient`. It is asked once for each wrapped key.
    """
    known: dict[tuple[str, str], bytes] = {}

    def unwrapped(wrapped: str, master: str) -> bytes:
        if (wrapped, master) not in known:
            known[wrapped, master] = kms.unwrap_key(wrapped, master)
        return known[wrapped, master]

    def key(column: str | None, metadata: bytes) -> Key:
        of = "the footer" if column is None else f"column {column}"
        try:
            material = json.loads(metadata)
            if material["keyMaterialType"] != "PKMT1" or not material["internalStorage"]:
                raise Error(f"the key material of {of} is not in the file: only internal key material of type PKMT1 is supported")
            wrapped, master = str(material["wrappedDEK"]), str(material["masterKeyID"])
            outer = (str(material["wrappedKEK"]), str(material["keyEncryptionKeyID"])) if material["doubleWrapping"] else None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Error(f"the key of {of} has no key material in the file: give its key in keys") from None
        if outer is None:
            return Key(unwrapped(wrapped, master))
        outer_key = Key(unwrapped(outer[0], master))
        try:
            data, aad = base64.b64decode(wrapped), base64.b64decode(outer[1])
            cipher = Engine("cpu").cipher(outer_key)
            return Key(cipher.gcm_decrypt(data[:12], data[12:-16], data[-16:], aad))
        except (AuthenticationError, ValueError):
            raise AuthenticationError(f"the wrapped key of {of} was changed, or the service returned another key encryption key") from None

    return key


def new_key(kms: Kms, master_key_identifier: str, bits: Any = 256, *, footer: bool = False) -> tuple[Key, bytes]:
    """Makes a new data key; returns it and its key material, wrapped by a master key of the service: a value of `keys` of `encrypt`.

    kms: an object with the methods of `pyarrow.parquet.encryption.KmsClient`.
    bits: 128, 192 or 256.
    footer: whether the key is the footer's, which its key material tells.
    """
    key = Key.generate(bits)
    wrapped = kms.wrap_key(key.expose(), master_key_identifier)
    material = {
        "keyMaterialType": "PKMT1",
        "internalStorage": True,
        "isFooterKey": footer,
        **({"kmsInstanceID": "DEFAULT", "kmsInstanceURL": "DEFAULT"} if footer else {}),
        "masterKeyID": master_key_identifier,
        "wrappedDEK": wrapped if isinstance(wrapped, str) else bytes(wrapped).decode(),
        "doubleWrapping": False,
    }
    return key, json.dumps(material).encode()
