"""Files that were sealed once and must always open: by this package, and by a reader written from docs/format.md alone."""

import base64
import functools
import hashlib
import io
import json
import re

import pytest
from conftest import VECTORS
from format_reader import HEADER, Refused, hkdf, open_sealed, open_stream, read_header, stretch

import aes_bitslice

FOLDER = VECTORS / "sealed"
PAGE = VECTORS.parents[1] / "docs" / "format.md"
KEY = bytes(range(32))
PASSPHRASE = b"correct horse battery staple"
NAMES = [line.split()[1] for line in (FOLDER / "SHA256SUMS").read_text().splitlines() if not line.endswith(".json")]


@functools.cache
def message(length):
    return bytes((i * 0x9E3779B1 >> 13) & 0xFF for i in range(length))


def parts(name):
    """The secret of a file and its message."""
    stem, _, extension = name.partition(".")
    secret, _, length = stem.rpartition("-")
    return secret.removeprefix("v1-"), extension, message(int(length))


def keyset(name):
    """The key, the length of derived keys, and the length of segments, of a Tink keyset of one key."""
    value = base64.b64decode(json.loads((FOLDER / f"{name}.json").read_text())["key"][0]["keyData"]["value"])
    # Two fields of AesGcmHkdfStreamingKey: the parameters, whose length is 7, and the key.
    assert value[:4] == b"\x12\x07\x08\x80" and value[4:6] == b"\x20\x10" and value[7:11] == b"\x18\x03\x1a\x20"
    return value[11:], value[6], 4096


def in_json(secret):
    """A keyset as JSON. Under `key` it has segments of 1 MiB, as `AES256_GCM_HKDF_1MB` has."""
    if secret != "key":
        return (FOLDER / f"{secret}.json").read_text()
    keyset = json.loads((FOLDER / "aes256-4kb.json").read_text())
    value = b"\x12\x08\x08\x80\x80\x40\x10\x20\x18\x03\x1a\x20" + KEY
    keyset["key"][0]["keyData"]["value"] = base64.b64encode(value).decode()
    return json.dumps(keyset)


def read_independently(name, file):
    secret, extension, _ = parts(name)
    if extension == "tink":
        key, derived, segment = (KEY, 32, 1 << 20) if secret == "key" else keyset(secret)
        return open_stream(file, key, b"associated", derived, segment)
    return open_sealed(file, **({"key": KEY} if secret == "key" else {"passphrase": PASSPHRASE}))


def test_the_list_has_every_case():
    assert len(NAMES) == 19 and {parts(name)[0] for name in NAMES} == {"key", "passphrase", "aes128-4kb", "aes256-4kb"}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_how_to_read_it(name):
    assert read_independently(name, (FOLDER / name).read_bytes()) == parts(name)[2]


@pytest.mark.parametrize("name", [name for name in NAMES if (FOLDER / name).stat().st_size < 5000])
def test_the_reader_refuses_what_was_changed(name):
    file = (FOLDER / name).read_bytes()
    # A passphrase takes a quarter of a second to stretch: a few changes there, one in each field and in the stream.
    places = [0, 9, 30, 60, 90, 96, 100, 130, -1] if "passphrase" in name else range(0, len(file), 1 + len(file) // 200)
    changed = [file[:-1], file + b"\0", b""]
    changed += [file[:at] + bytes([file[at] ^ 1]) + file[at:][1:] for at in places]
    for bad in changed:
        with pytest.raises(Refused):
            read_independently(name, bad)


@pytest.mark.parametrize("name", NAMES)
def test_the_package_opens_it(name):
    secret, extension, expected = parts(name)
    if extension == "tink":
        given = {"keyset": in_json(secret), "associated_data": b"associated"}
    else:
        given = {"passphrase": PASSPHRASE} if secret == "passphrase" else {"key": aes_bitslice.Key(KEY)}
    out = io.BytesIO()
    assert aes_bitslice.open(FOLDER / name, out, **given) == len(expected)
    assert out.getvalue() == expected


def test_the_values_of_the_page():
    """Each value in the table of test values, from its file."""
    values = dict(re.findall(r"^\| (.*?) \| `([0-9a-f]+)` \|$", PAGE.read_text(), re.MULTILINE))
    assert len(values) == 9
    for name, secret in (("key", KEY), ("passphrase", None)):
        file = (FOLDER / f"v1-{name}-1.sealed").read_bytes()
        costs, salt, commitment = read_header(file)
        if secret is None:
            secret = stretch(PASSPHRASE, salt, costs)
            assert values["passphrase: secret"] == secret.hex()
        key = hkdf(secret, salt, b"aes-bitslice sealed file 1: stream key", 32)
        assert values[f"{name}: salt"] == salt.hex()
        assert values[f"{name}: commitment"] == commitment.hex()
        assert values[f"{name}: stream key"] == key.hex()
        derived = hkdf(key, file[HEADER + 1 : HEADER + 33], file[:HEADER], 32)
        assert values[f"{name}: key of the segments"] == derived.hex()


def test_none_was_changed():
    for line in (FOLDER / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
