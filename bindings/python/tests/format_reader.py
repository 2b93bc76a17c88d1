"""A reader of sealed files and Tink streams, written from docs/format.md alone. It needs only the package `cryptography`."""

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

HEADER, TAG, PREFIX, SEGMENT = 96, 16, 7, 1 << 20


class Refused(Exception):
    """The file is not one of this format, was changed, or belongs to another secret."""


def hkdf(secret, salt, info, length):
    return HKDF(SHA256(), length, salt, info).derive(secret)


def read_header(file):
    """What a header says: the parameters of Argon2id (memory in KiB, passes, lanes) or None, the salt, the commitment."""
    header = file[:HEADER]
    if header[:8] != b"AESBSEAL":
        raise Refused("this is not a sealed file")
    if header[8:9] != b"\x01":
        raise Refused("another version, or a damaged header")
    if len(header) < HEADER or hashlib.sha256(header[:88]).digest()[:8] != header[88:]:
        raise Refused("a damaged header")
    costs = tuple(int.from_bytes(header[at : at + 4], "big") for at in (12, 16, 20))
    of_key = header[9] == 1 and costs == (0, 0, 0)
    if header[10:12] != b"\0\0" or not (of_key or header[9] == 2):
        raise Refused("a damaged header")
    return None if of_key else costs, header[24:56], header[56:88]


def stretch(passphrase, salt, costs):
    memory, passes, lanes = costs
    if not (1 <= lanes <= 64 and 1 <= passes <= 64 and 8 * lanes <= memory <= 2 << 20):
        raise Refused("parameters of Argon2id out of bounds")
    return Argon2id(salt=salt, length=32, iterations=passes, lanes=lanes, memory_cost=memory).derive(passphrase)


def open_sealed(file, key=None, passphrase=None):
    """The message of a sealed file."""
    costs, salt, commitment = read_header(file)
    if (costs is None) != (passphrase is None):
        raise Refused("the other kind of secret is needed")
    secret = key if costs is None else stretch(passphrase, salt, costs)
    if len(secret) != 32:
        raise Refused("a key has 32 bytes")
    found = hkdf(secret, salt, b"aes-bitslice sealed file 1: commitment", 32)
    if not hmac.compare_digest(found, commitment):
        raise Refused("another secret")
    stream_key = hkdf(secret, salt, b"aes-bitslice sealed file 1: stream key", 32)
    return open_stream(file[HEADER:], stream_key, file[:HEADER], 32, SEGMENT)


def open_stream(stream, key, associated_data, derived, segment):
    """The message of a Tink stream: `derived` is the length of the key that is derived, `segment` that of a segment, in bytes."""
    start = 1 + derived + PREFIX
    if len(stream) < start + TAG or stream[0] != start:
        raise Refused("it does not begin with a header, or is cut off")
    salt, prefix = stream[1 : 1 + derived], stream[1 + derived : start]
    cipher = AESGCM(hkdf(key, salt, associated_data, derived))
    ends = [*range(segment, len(stream), segment), len(stream)]
    if len(ends) > 1 << 32:
        raise Refused("too many segments")
    message = []
    for index, (begin, end) in enumerate(zip([start, *ends], ends)):
        nonce = prefix + index.to_bytes(4, "big") + bytes([end == len(stream)])
        try:
            message.append(cipher.decrypt(nonce, stream[begin:end], b""))
        except (InvalidTag, ValueError) as error:
            raise Refused(f"segment {index} is damaged") from error
    return b"".join(message)
