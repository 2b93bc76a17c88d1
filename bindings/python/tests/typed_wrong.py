"""Calls that a type checker refuses, each with the kind of error that mypy finds; never run. See test_types.py."""

import aes_bitslice
from aes_bitslice import Cipher, Engine, Key

iv, nonce = bytes(16), bytes(12)


def wrong(cipher: Cipher, engine: Engine, key: Key) -> None:
    cipher.ctr("a" * 16, b"abc")  # error: call-overload
    cipher.ctr(iv, "abc")  # error: call-overload
    cipher.ctr(iv, [1, 2])  # error: call-overload
    cipher.ctr(iv, None)  # error: call-overload
    cipher.ctr(iv, b"abc", counter_bits=127)  # error: call-overload
    cipher.ctr(iv, b"abc", offset="3")  # error: call-overload
    cipher.gcm_encrypt("nonce", "text")  # error: call-overload
    cipher.gcm_encrypt(5, 7)  # error: call-overload
    cipher.gcm_encrypt(nonce, b"text", aad="header")  # error: call-overload
    cipher.gcm_decrypt(nonce, b"", 3)  # error: call-overload
    cipher.gcm_decrypt(nonce, b"", "tag")  # error: call-overload
    cipher.gcm_encrypt_batch(nonce, [(0, 1)], b"a")  # error: call-overload
    cipher.cmac_batch([0, 1], b"abc")  # error: list-item
    cipher.cmac("abc")  # error: arg-type
    cipher.gmac("nonce", b"")  # error: call-overload
    cipher.keystream(iv, "5")  # error: call-overload
    cipher.prepare("fast")  # error: arg-type
    engine.run_each_key("bogus", bytes(16), bytes_per_key=16)  # error: call-overload
    engine.run_each_key("ctr", bytes(16), bytes_per_key=16)  # error: call-overload
    engine.run_jobs("ctr", bytes(16), [(0, 1)], b"a", counters=iv)  # error: call-arg
    engine.cipher(bytes(16))  # error: arg-type
    Key("abc")  # error: arg-type
    Key.generate(127)  # error: arg-type
    Key.from_reference(b"env:KEY")  # error: arg-type
    aes_bitslice.seal(b"path", 5, key=key)  # error: arg-type
    aes_bitslice.seal("a", "b", key=bytes(32))  # error: arg-type
    aes_bitslice.open("a", "b", passphrase=5)  # error: arg-type
    aes_bitslice.open("a", "b", key=key, range=(0, "9"))  # error: arg-type
    aes_bitslice.seal_bytes("text", key=key)  # error: arg-type
    aes_bitslice.is_sealed("start")  # error: arg-type
    aes_bitslice.random_bytes("12")  # error: arg-type
