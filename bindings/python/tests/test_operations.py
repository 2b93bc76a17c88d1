"""Operations as values: `Cipher.run` does what the method of their name does, and refuses what does not fit."""

import re

import numpy as np
import pytest
from conftest import OnGpu

import aes_bitslice
from aes_bitslice import AuthenticationError, Engine, Key, Operation

IV, NONCE, LONG_NONCE, AAD = bytes(range(16)), bytes(range(12)), bytes(range(24)), b"header"
KEY, XTS = Key(bytes(range(32))), Key.xts(bytes(range(64)))
DATA = bytes(range(256)) * 4
RANGES = [(0, 100), (116, 117), (500, 1024)]
NONCES = bytes(range(36))


def cipher(name):
    return Engine("cpu").cipher(XTS if name.startswith("xts") else KEY)


def secret(method, *arguments):
    return getattr(cipher(method), method)(*arguments)


SIV, XAES, GCM = secret("gcm_siv_encrypt", NONCE, DATA, AAD), secret("xaes_encrypt", LONG_NONCE, DATA, AAD), secret("gcm_encrypt", NONCE, DATA, AAD)
BATCH = bytearray(DATA)
TAGS = cipher("").gcm_encrypt_batch(NONCES, RANGES, BATCH, out=BATCH)
MACS = cipher("").cmac_batch(RANGES, DATA)

#: For each method: what the operation is made from, and the data. The method takes the data after `first` of these.
OPERATIONS = {
    "ctr": (1, (IV,), {"offset": 5, "counter_bits": 64}, DATA),
    "ecb_encrypt": (0, (), {}, DATA),
    "ecb_decrypt": (0, (), {}, DATA),
    "prg": (0, (), {}, DATA),
    "cbc_encrypt": (1, (IV,), {}, DATA),
    "cbc_decrypt": (1, (IV,), {}, DATA),
    "xts_encrypt": (0, (), {"unit_bytes": 512, "first_unit": 7}, DATA),
    "xts_decrypt": (0, (), {"unit_bytes": 512, "first_unit": 7}, DATA),
    "gcm_encrypt": (1, (NONCE, AAD), {}, DATA),
    "gcm_encrypt_with_random_nonce": (0, (AAD,), {}, DATA),
    "gcm_decrypt": (1, (NONCE, GCM[1][:12], AAD), {"tag_bytes": 12}, GCM[0]),
    "gcm_siv_encrypt": (1, (NONCE, AAD), {}, DATA),
    "gcm_siv_decrypt": (1, (NONCE, SIV[1], AAD), {}, SIV[0]),
    "xaes_encrypt": (1, (LONG_NONCE, AAD), {}, DATA),
    "xaes_decrypt": (1, (LONG_NONCE, XAES[1], AAD), {}, XAES[0]),
    "gmac": (1, (NONCE,), {}, DATA),
    "cmac": (0, (), {}, DATA),
    "cmac_batch": (1, (RANGES,), {}, DATA),
    "cmac_verify_batch": (1, (RANGES, MACS), {}, DATA),
    "gcm_encrypt_batch": (2, (NONCES, RANGES, [AAD] * 3), {}, DATA),
    "gcm_decrypt_batch": (2, (NONCES, RANGES, TAGS), {}, bytes(BATCH)),
    "keystream": (1, (IV,), {"offset": 5}, None),
}


def class_of(method):
    return getattr(aes_bitslice, "".join(part.capitalize() for part in method.split("_")))


@pytest.mark.parametrize("method", list(OPERATIONS))
def test_a_value_does_what_the_method_does(method):
    first, given, options, data = OPERATIONS[method]
    operation, key = class_of(method)(*given, **options), cipher(method)
    arguments = (*given[:first], data, *given[first:])
    if method.endswith("crypt_batch"):
        by_method, by_value = bytearray(len(DATA)), bytearray(len(DATA))
        tags = getattr(key, method)(*arguments, **options, out=by_method)
        found = key.run(operation, data, by_value)
        assert by_value == by_method != bytes(len(DATA))
        assert found == ((by_value, tags) if tags else by_value)
        with pytest.raises(TypeError, match="a GCM batch writes its messages alone: give out="):
            key.run(operation, data)
    elif method == "keystream":
        out = bytearray(1000)
        assert key.run(operation, out=out) is out and out == key.keystream(IV, 1000, **options)
        with pytest.raises(TypeError, match="reads no data"):
            key.run(operation, DATA, out)
    elif method == "gcm_encrypt_with_random_nonce":
        made = [key.gcm_encrypt_with_random_nonce(data, AAD), key.run(operation, data), key.run(operation, data)]
        assert len({nonce for nonce, _, _ in made}) == 3
        for nonce, ciphertext, tag in made:
            assert len(nonce) == 12 and (ciphertext, tag) == key.gcm_encrypt(nonce, data, AAD)
            assert key.gcm_decrypt(nonce, ciphertext, tag, AAD) == data
        array = np.frombuffer(data, np.uint32).copy()
        nonce, found, tag = key.run(operation, array, out=array)
        assert found is array and key.gcm_decrypt(nonce, array.tobytes(), tag, AAD) == data
    else:
        expected = getattr(key, method)(*arguments, **options)
        assert key.run(operation, data) == key.run(operation, data) == expected
        with pytest.raises(TypeError, match="takes data"):
            key.run(operation)
        if method in ("gmac", "cmac", "cmac_batch", "cmac_verify_batch"):
            with pytest.raises(TypeError, match="only reads: leave out= out"):
                key.run(operation, data, bytearray(len(DATA)))
        else:
            # Arrays, and in place.
            array = np.frombuffer(data, np.uint32).copy()
            found = key.run(operation, array, out=array)
            assert found is array if not isinstance(expected, tuple) else found[0] is array
            assert array.tobytes() == (expected[0] if isinstance(expected, tuple) else expected)


def test_every_class_is_tried():
    classes = {class_of(method) for method in OPERATIONS}
    assert classes == set(Operation.__subclasses__()) and all(kind.__name__ in aes_bitslice.__all__ for kind in classes)
    # And every method of a cipher but these has its class.
    others = {"run", "prepare"}
    assert {name for name in dir(aes_bitslice.Cipher) if not name.startswith("_")} - others == set(OPERATIONS)


def test_values_are_checked_when_they_are_made_and_do_not_change():
    for make, error, text in [
        (lambda: aes_bitslice.Ctr(bytes(15)), ValueError, "iv has 16 bytes, not 15"),
        (lambda: aes_bitslice.Ctr(IV, offset=-1), ValueError, "offset must be 0 to 2^64 - 1, not -1"),
        (lambda: aes_bitslice.GcmEncrypt("text"), TypeError, "nonce must be bytes"),
        (lambda: aes_bitslice.GcmDecrypt(NONCE, bytes(12)), ValueError, "tag has 12 bytes, and tag_bytes is 16"),
        (lambda: aes_bitslice.GcmSivDecrypt(NONCE, bytes(5)), ValueError, "AES-GCM-SIV: a tag has 16 bytes, and this one has 5"),
        (lambda: aes_bitslice.XtsEncrypt(unit_bytes=15), ValueError, "a data unit has 16 to"),
        (lambda: aes_bitslice.CmacVerifyBatch(RANGES, MACS[:-1]), ValueError, "47 bytes of tags for 3 messages"),
        (lambda: Operation(), TypeError, "cannot create"),
        (lambda: cipher("").run("ctr", DATA), TypeError, "operation"),
    ]:
        with pytest.raises(error, match=re.escape(text)):
            make()
    iv = bytearray(IV)
    operation = aes_bitslice.Ctr(iv)
    iv[0] ^= 1
    assert cipher("").run(operation, DATA) == cipher("").ctr(IV, DATA)
    with pytest.raises(AttributeError):
        operation.iv = IV


def test_what_is_not_authentic_is_refused():
    out = bytearray(DATA)
    with pytest.raises(AuthenticationError):
        cipher("").run(aes_bitslice.GcmDecrypt(NONCE, bytes(16)), DATA, out)
    assert out == bytes(len(out))
    with pytest.raises(AuthenticationError) as raised:
        cipher("").run(aes_bitslice.CmacVerifyBatch(RANGES, MACS[16:] + MACS[:16]), DATA)
    assert raised.value.failed == (0, 1, 2)


def test_a_tag_goes_to_gpu_memory_alone():
    key = cipher("")
    for call in [
        lambda: key.gcm_encrypt(NONCE, DATA, tag_out=bytearray(16)),
        lambda: key.gmac(NONCE, DATA, tag_out=OnGpu()),
        lambda: key.gcm_encrypt_with_random_nonce(DATA, tag_out=bytearray(16)),
        lambda: key.run(aes_bitslice.Cmac(), DATA, tag_out=OnGpu()),
    ]:
        with pytest.raises(TypeError, match="tag_out= is for calls on GPU memory, and data is in host memory: leave it out"):
            call()
    for operation, data in [(aes_bitslice.Ctr(IV), DATA), (aes_bitslice.CmacBatch(RANGES), DATA), (aes_bitslice.GcmDecrypt(NONCE, GCM[1], AAD), GCM[0])]:
        with pytest.raises(TypeError, match="tag_out= is for what makes the tag of a message: leave it out"):
            key.run(operation, data, tag_out=bytearray(16))
