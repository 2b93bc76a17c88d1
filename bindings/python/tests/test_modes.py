"""All modes, against NIST's vectors and against `cryptography`."""

import os
from itertools import islice

import pytest
from conftest import OnGpu, vectors
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.ciphers import Cipher as Reference
from cryptography.hazmat.primitives.ciphers import algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESGCMSIV
from cryptography.hazmat.primitives.cmac import CMAC
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from aes_bitslice import AuthenticationError, GcmDecrypt, Key, UnavailableError

# Short, ragged, more than a chunk of a core, and more than a call that nobody watches (16 MiB).
LENGTHS = [0, 1, 15, 16, 17, 1000, 300_000, (17 << 20) + 5]
KEYS = [16, 24, 32]


def reference(key, mode, data, encrypt=True):
    cipher = Reference(algorithms.AES(key), mode)
    work = cipher.encryptor() if encrypt else cipher.decryptor()
    return work.update(data) + work.finalize()


@pytest.mark.parametrize("mode", ["ecb", "cbc"])
def test_nist_ecb_and_cbc(engine, mode):
    count = 0
    for case in vectors(f"{mode}-cavp"):
        cipher = engine.cipher(Key(case["key"]))
        iv = [case["iv"]] if mode == "cbc" else []
        encrypt, decrypt = ((cipher.ecb_encrypt, cipher.ecb_decrypt), (cipher.cbc_encrypt, cipher.cbc_decrypt))[mode == "cbc"]
        assert encrypt(*iv, case["plaintext"]) == case["ciphertext"]
        assert decrypt(*iv, case["ciphertext"]) == case["plaintext"]
        count += 1
    assert count == 2138


def test_nist_gcm(cpu):
    count = 0
    for case in islice(vectors("gcm-cavp"), 0, None, 5):
        cipher, nonce, aad, tag = cpu.cipher(Key(case["key"])), case["iv"], case["aad"], case["tag"]
        found, full = cipher.gcm_encrypt(nonce, case["plaintext"], aad)
        assert (found, full[: len(tag)]) == (case["ciphertext"], tag)
        assert cipher.gcm_decrypt(nonce, found, tag, aad, tag_bytes=len(tag), short_tags=len(tag) < 12) == case["plaintext"]
        count += 1
    assert count == 3 * 1575


def test_nist_cmac_and_xts(cpu):
    count = 0
    for case in islice(vectors("cmac-cavp"), 0, None, 3):
        assert cpu.cipher(Key(case["key"])).cmac(case["plaintext"])[: len(case["tag"])] == case["tag"]
        count += 1
    for case in islice(vectors("xts-cavp"), 0, None, 2):
        if "bits" in case:
            continue
        plain, secret = case["plaintext"], case["ciphertext"]
        cipher = cpu.cipher(Key.xts(case["key"]))
        # In IEEE 1619, the first byte of a data unit's number is the least significant.
        unit = {"unit_bytes": len(plain), "first_unit": int.from_bytes(case["iv"], "little")}
        assert cipher.xts_encrypt(plain, **unit) == secret
        assert cipher.xts_decrypt(secret, **unit) == plain
        count += 1
    assert count == 112 + 700


def test_rfc_8452(engine):
    """The vectors of its appendix C, and unauthentic data."""
    published = invalid = 0
    for case in vectors("gcm-siv-wycheproof"):
        cipher = engine.cipher(Key(case["key"]))
        nonce, aad, plain, secret, tag = (case[name] for name in ("iv", "aad", "plaintext", "ciphertext", "tag"))
        if case["valid"]:
            assert cipher.gcm_siv_encrypt(nonce, plain, aad) == (secret, tag)
            assert cipher.gcm_siv_decrypt(nonce, secret, tag, aad) == plain
            published += case["source"].endswith(": RFC 8452")
        else:
            with pytest.raises(AuthenticationError):
                cipher.gcm_siv_decrypt(nonce, secret, tag, aad)
            invalid += 1
    assert (published, invalid) == (50, 66)


@pytest.mark.parametrize("size", LENGTHS)
@pytest.mark.parametrize("key_bytes", KEYS)
def test_ctr_and_keystream(engine, size, key_bytes):
    key, iv, data = os.urandom(key_bytes), os.urandom(16), os.urandom(size)
    cipher = engine.cipher(Key(key))
    expected = reference(key, modes.CTR(iv), data)
    assert cipher.ctr(iv, data) == expected
    assert cipher.keystream(iv, size) == reference(key, modes.CTR(iv), bytes(size))
    for offset in {0, min(1, size), size // 3}:
        assert cipher.ctr(iv, data[offset:], offset=offset) == expected[offset:]


@pytest.mark.parametrize("size", [size - size % 16 for size in LENGTHS])
def test_ecb_and_cbc(engine, size):
    key, iv, data = os.urandom(32), os.urandom(16), os.urandom(size)
    cipher = engine.cipher(Key(key))
    assert cipher.ecb_encrypt(data) == reference(key, modes.ECB(), data)
    assert cipher.ecb_decrypt(data) == reference(key, modes.ECB(), data, encrypt=False)
    assert cipher.cbc_encrypt(iv, data) == reference(key, modes.CBC(iv), data)
    assert cipher.cbc_decrypt(iv, data) == reference(key, modes.CBC(iv), data, encrypt=False)
    assert cipher.prg(data) == bytes(y ^ x for y, x in zip(cipher.ecb_encrypt(data), data))
    in_place = bytearray(data)
    assert cipher.prg(in_place, out=in_place) is in_place and in_place == cipher.prg(data)
    in_place[:] = data
    assert cipher.cbc_decrypt(iv, in_place, out=in_place) is in_place
    assert cipher.cbc_encrypt(iv, in_place, out=in_place) == data


def refuses_what_was_changed(decrypt, nonce, secret, tag, aad):
    if secret:
        out = bytearray(secret)
        out[len(secret) // 2] ^= 1
        with pytest.raises(AuthenticationError):
            decrypt(nonce, out, tag, aad, out=out)
        assert out == bytes(len(secret))
    for changed in [(nonce, secret, tag, aad + b"!"), (nonce, secret, bytes(16), aad), (bytes(12), secret, tag, aad)]:
        with pytest.raises(AuthenticationError):
            decrypt(*changed)


@pytest.mark.parametrize("size", LENGTHS)
@pytest.mark.parametrize("key_bytes", KEYS)
def test_gcm(engine, size, key_bytes):
    key, nonce, aad, data = os.urandom(key_bytes), os.urandom(12), os.urandom(size % 100), os.urandom(size)
    cipher = engine.cipher(Key(key))
    secret, tag = cipher.gcm_encrypt(nonce, data, aad)
    assert secret + tag == AESGCM(key).encrypt(nonce, data, aad)
    assert cipher.gcm_decrypt(nonce, secret, tag, aad) == data
    assert cipher.gmac(nonce, data) == AESGCM(key).encrypt(nonce, b"", data)
    refuses_what_was_changed(cipher.gcm_decrypt, nonce, secret, tag, aad)


@pytest.mark.parametrize("length", [0, 3, 4, 8, 12, 13, 14, 15, 17])
def test_a_tag_of_another_length_than_asked_for_is_refused(engine, length):
    cipher, nonce, aad = engine.cipher(Key(os.urandom(16))), os.urandom(12), b"a header"
    secret, tag = cipher.gcm_encrypt(nonce, b"a message", aad)
    out, given = bytearray(secret), (tag + tag)[:length]
    for options in [{}, {"tag_bytes": 16}, {"out": out}]:
        with pytest.raises(ValueError, match=f"^tag has {length} bytes, and tag_bytes is 16$"):
            cipher.gcm_decrypt(nonce, secret, given, aad, **options)
    # Before any work: a call on a GPU that this engine does not have would be refused for that.
    with pytest.raises(ValueError, match=f"^tag has {length} bytes, and tag_bytes is 16$"):
        cipher.gcm_decrypt(nonce, OnGpu(), given, aad)
    assert out == secret
    if length not in (4, 8, 12, 13, 14, 15):
        with pytest.raises(ValueError, match=rf"^tag_bytes must be 4, 8 or 12 to 16, not {length}(\n|$)"):
            cipher.gcm_decrypt(nonce, secret, given, aad, tag_bytes=length)
        return
    short = length < 12
    assert cipher.gcm_decrypt(nonce, secret, given, aad, tag_bytes=length, short_tags=short) == b"a message"
    # One of 4 or 8 bytes needs a word of its own, and no other length has it.
    text = "short_tags is True, and tag_bytes" if not short else f"tag_bytes is {length}: where tags of GCM of {length} bytes .* give short_tags=True"
    for call in [
        lambda: cipher.gcm_decrypt(nonce, out, given, aad, tag_bytes=length, short_tags=not short, out=out),
        lambda: GcmDecrypt(nonce, given, aad, tag_bytes=length, short_tags=not short),
    ]:
        with pytest.raises(ValueError, match=f"^{text}"):
            call()
    assert out == secret
    with pytest.raises(ValueError, match=f"^tag has 16 bytes, and tag_bytes is {length}$"):
        cipher.gcm_decrypt(nonce, secret, tag, aad, tag_bytes=length, short_tags=short)
    with pytest.raises(AuthenticationError):
        cipher.gcm_decrypt(nonce, out, given[:-1] + bytes([given[-1] ^ 1]), aad, tag_bytes=length, short_tags=short, out=out)
    assert out == bytes(9)


@pytest.mark.parametrize("bits", [128, 192, 256])
@pytest.mark.parametrize("salt", [None, b"", b"salt", bytes(100)])
@pytest.mark.parametrize("info", [b"", b"tenant-a", bytes(range(200))])
def test_a_derived_key_is_that_of_hkdf(bits, salt, info):
    for secret in [os.urandom(16), os.urandom(22), os.urandom(200)]:
        expected = HKDF(SHA256(), bits // 8, salt, info).derive(secret)
        assert Key.derive(secret, info, salt=salt, bits=bits).expose() == expected
        if len(secret) == 16:
            assert Key.derive(Key(secret), info, salt=salt, bits=bits) == Key(expected)


def test_what_no_key_is_derived_from():
    for call, text in [
        (lambda: Key.derive(bytes(15), b""), "16 random bytes or more, not 15"),
        (lambda: Key.derive(bytes(16), b"", bits=129), "128, 192 or 256 bits, not 129"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    for call, text in [(lambda: Key.derive("text of a secret", b""), "secret"), (lambda: Key.derive(bytes(16), "info"), "info"), (lambda: Key.derive(bytes(16), b"", salt=5), "salt")]:
        with pytest.raises(TypeError, match=text):
            call()


def test_a_message_that_was_cut_is_refused(cpu):
    """The usual layout, nonce, tag and ciphertext, of which an attacker sends only the first four bytes of the tag."""
    cipher, nonce = cpu.cipher(Key(os.urandom(16))), os.urandom(12)
    blob = (nonce + cipher.gcm_encrypt(nonce, b"")[1])[:16]
    with pytest.raises(ValueError, match="^tag has 4 bytes, and tag_bytes is 16$"):
        cipher.gcm_decrypt(blob[:12], blob[28:], blob[12:28])


@pytest.fixture
def other_siv():
    """AES-GCM-SIV of `cryptography`, whose OpenSSL may be too old for it."""
    try:
        AESGCMSIV(bytes(16))
    except UnsupportedAlgorithm:
        pytest.skip("cryptography has no AES-GCM-SIV here")
    return AESGCMSIV


@pytest.mark.parametrize("size", LENGTHS)
@pytest.mark.parametrize("key_bytes", [16, 32])
def test_gcm_siv(engine, other_siv, size, key_bytes):
    key, nonce, aad, data = os.urandom(key_bytes), os.urandom(12), os.urandom(size % 100), os.urandom(size)
    cipher = engine.cipher(Key(key))
    secret, tag = cipher.gcm_siv_encrypt(nonce, data, aad)
    assert secret + tag == other_siv(key).encrypt(nonce, data, aad)
    assert cipher.gcm_siv_decrypt(nonce, secret, tag, aad=aad) == data
    in_place = bytearray(data)
    assert cipher.gcm_siv_encrypt(nonce, in_place, aad, out=in_place) == (secret, tag) and in_place == secret
    assert cipher.gcm_siv_decrypt(nonce, in_place, tag, aad, out=in_place) is in_place and in_place == data
    refuses_what_was_changed(cipher.gcm_siv_decrypt, nonce, secret, tag, aad)


def xaes(key, nonce, data, aad):
    """C2SP, XAES-256-GCM, of `cryptography`'s AES and GCM."""
    zeros = int.from_bytes(reference(key, modes.ECB(), bytes(16)), "big")
    k1 = (zeros << 1) % 2**128 ^ 0x87 * (zeros >> 127)
    blocks = [k1 ^ int.from_bytes(bytes([0, i]) + b"X\0" + nonce[:12], "big") for i in (1, 2)]
    of_message = reference(key, modes.ECB(), b"".join(block.to_bytes(16, "big") for block in blocks))
    return AESGCM(of_message).encrypt(nonce[12:], data, aad)


def test_xaes(engine):
    """The vectors of the specification, and messages of many lengths."""
    nonce = b"ABCDEFGHIJKLMNOPQRSTUVWX"
    for byte, aad, sealed in [
        (1, b"", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
        (3, b"c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
    ]:
        cipher = engine.cipher(Key(bytes([byte]) * 32))
        assert b"".join(cipher.xaes_encrypt(nonce, b"XAES-256-GCM", aad)).hex() == sealed
    for size in [0, 1, 16, 100, 5000, 600_001]:
        key, nonce, data, aad = os.urandom(32), os.urandom(24), os.urandom(size), os.urandom(size % 77)
        cipher = engine.cipher(Key(key))
        secret, tag = cipher.xaes_encrypt(nonce, data, aad)
        assert secret + tag == xaes(key, nonce, data, aad)
        assert cipher.xaes_decrypt(nonce, secret, tag, aad) == data
        out = bytearray(secret)
        with pytest.raises(AuthenticationError):
            cipher.xaes_decrypt(nonce[::-1], out, tag, aad, out=out)
        assert out == bytes(size)
    with pytest.raises(ValueError, match="24 bytes"):
        cipher.xaes_encrypt(bytes(12), b"")
    with pytest.raises(ValueError, match="256 bits"):
        engine.cipher(Key(bytes(16))).xaes_encrypt(bytes(24), b"")


def test_gcm_siv_refuses(cpu):
    cipher, data, tag = cpu.cipher(Key(bytes(32))), bytearray(b"0123456789abcdef"), bytes(16)
    for nonce, message in [(bytes(11), "a nonce has 12 bytes, and this one has 11"), (b"", "nonce")]:
        with pytest.raises(ValueError, match=message):
            cipher.gcm_siv_encrypt(nonce, data, out=data)
        with pytest.raises(ValueError, match=message):
            cipher.gcm_siv_decrypt(nonce, data, tag, out=data)
    for length in (0, 3, 12, 15):
        with pytest.raises(ValueError, match=f"a tag has 16 bytes, and this one has {length}$"):
            cipher.gcm_siv_decrypt(bytes(12), data, tag[:length], out=data)
    with pytest.raises(ValueError, match="128 or 256"):
        cpu.cipher(Key(bytes(24))).gcm_siv_encrypt(bytes(12), data, out=data)
    with pytest.raises(TypeError, match="data is bytes"):
        cipher.gcm_siv_encrypt(bytes(12), None)
    for call in [
        lambda tensor: cipher.gcm_siv_encrypt(bytes(12), tensor, out=tensor),
        lambda tensor: cipher.gcm_siv_decrypt(bytes(12), tensor, tag, out=tensor),
    ]:
        with pytest.raises(UnavailableError, match="the data is in the memory of CUDA device 0, and this engine is cpu: open Engine"):
            call(OnGpu())
    with pytest.raises(TypeError, match="stream= is for calls on GPU memory"):
        cipher.gcm_siv_encrypt(bytes(12), data, out=data, stream=0)
    with pytest.raises(TypeError, match="stream= is for calls on GPU memory"):
        cipher.gcm_siv_decrypt(bytes(12), data, tag, out=data, stream=0)
    assert data == b"0123456789abcdef"


@pytest.mark.parametrize("size", [16, 17, 511, 512, 5000, (16 << 20) + 100])
def test_xts(engine, size):
    key, data = os.urandom(64), os.urandom(size)
    unit, first = 512, 2**64 + 7
    if 0 < size % unit < 16:
        size -= size % unit
        data = data[:size]
    cipher = engine.cipher(Key.xts(key))
    expected = b"".join(
        reference(key, modes.XTS((first + at // unit).to_bytes(16, "little")), data[at : at + unit])
        for at in range(0, size, unit)
    )
    assert cipher.xts_encrypt(data, unit_bytes=unit, first_unit=first) == expected
    assert cipher.xts_decrypt(expected, unit_bytes=unit, first_unit=first) == data


@pytest.mark.parametrize("size", LENGTHS)
def test_cmac(cpu, size):
    key, data = os.urandom(16), os.urandom(size)
    mac = CMAC(algorithms.AES(key))
    mac.update(data)
    assert cpu.cipher(Key(key)).cmac(data) == mac.finalize()
    with pytest.raises(ValueError, match="CMAC of one message is computed in host memory, and the data is in the memory of CUDA device 0: copy"):
        cpu.cipher(Key(key)).cmac(OnGpu())
