"""Random calls, in place and not, at any alignment and offset, against OpenSSL (by `cryptography`) and against PyCryptodome."""

import random

from Crypto.Cipher import AES
from Crypto.Hash import CMAC
from Crypto.Util import Counter
from cryptography.hazmat.primitives import cmac
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from aes_bitslice import Key

CALLS = 2000


def openssl(mode, key, iv, aad, data):
    """The output, and the tag of the modes that have one."""
    if mode == "gcm":
        sealed = AESGCM(key).encrypt(iv, data, aad)
        return sealed[:-16], sealed[-16:]
    if mode == "cmac":
        mac = cmac.CMAC(algorithms.AES(key))
        mac.update(data)
        return b"", mac.finalize()
    kind = {"ecb": modes.ECB, "cbc": modes.CBC, "ctr": modes.CTR}[mode[:3]]
    cipher = Cipher(algorithms.AES(key), kind() if mode[:3] == "ecb" else kind(iv))
    work = cipher.decryptor() if mode.endswith("decrypt") else cipher.encryptor()
    return work.update(data) + work.finalize(), None


def pycryptodome(mode, key, iv, aad, data):
    """The same."""
    if mode == "gcm":
        cipher = AES.new(key, AES.MODE_GCM, nonce=iv)
        cipher.update(aad)
        return cipher.encrypt_and_digest(data)
    if mode == "cmac":
        return b"", CMAC.new(key, data, ciphermod=AES).digest()
    if mode == "ctr":
        counter = Counter.new(128, initial_value=int.from_bytes(iv, "big"), allow_wraparound=True)
        return AES.new(key, AES.MODE_CTR, counter=counter).encrypt(data), None
    cipher = AES.new(key, AES.MODE_ECB) if mode[:3] == "ecb" else AES.new(key, AES.MODE_CBC, iv=iv)
    return (cipher.decrypt if mode.endswith("decrypt") else cipher.encrypt)(data), None


def test_random_calls(engine):
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    for number in range(CALLS):
        mode = chance.choice(["ecb_encrypt", "ecb_decrypt", "cbc_encrypt", "cbc_decrypt", "ctr", "gcm", "cmac"])
        size = chance.choice([0, 1, 16, chance.randrange(100), chance.randrange(20_000)])
        if mode[:3] in ("ecb", "cbc"):
            size -= size % 16
        key = chance.randbytes(chance.choice([16, 24, 32]))
        # A counter near its end wraps.
        iv = chance.choice([chance.randbytes(16), b"\xff" * 15 + chance.randbytes(1)])
        aad, data = chance.randbytes(chance.randrange(40)), chance.randbytes(size)
        if mode == "gcm":
            iv = chance.randbytes(chance.choice([12, 8, 33]))
        what = f"seed {seed}, call {number}: {mode}, {8 * len(key)} bits, {size} bytes"
        expected, tag = openssl(mode, key, iv, aad, data)
        assert pycryptodome(mode, key, iv, aad, data) == (expected, tag), what
        cipher = engine.cipher(Key(key))
        if mode == "cmac":
            assert cipher.cmac(data) == tag, what
            continue
        # The data of the call begins anywhere in memory; for CTR also anywhere in the message.
        begins = chance.randrange(size + 1) if mode == "ctr" else 0
        space, at = bytearray(64 + size), chance.randrange(64)
        part = memoryview(space)[at : at + size - begins]
        part[:] = data[begins:]
        out = part if chance.random() < 0.5 else bytearray(size - begins)
        if mode == "gcm":
            _, found = cipher.gcm_encrypt(iv, part, aad, out=out)
            assert found == tag, what
        elif mode == "ctr":
            cipher.ctr(iv, part, offset=begins, out=out)
        elif mode[:3] == "ecb":
            getattr(cipher, mode)(part, out=out)
        else:
            getattr(cipher, mode)(iv, part, out=out)
        assert bytes(out) == expected[begins:], what
        assert not any(space[:at]) and not any(space[at + size - begins :]), what
