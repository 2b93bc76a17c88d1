"""Answers lines of a question, a mode, the bytes of a key and of data, and the bytes of a unit or a message."""

import sys
from functools import cache
from time import perf_counter

from cryptography.hazmat.backends.openssl import backend
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESGCMSIV
from cryptography.hazmat.primitives.cmac import CMAC

KEY = bytes((3 * i + 1) % 256 for i in range(64))


@cache
def nonce(size, number):
    return bytes(4) + number.to_bytes(8, "big") + bytes(size - 12)


def calls(mode, key, size, unit):
    """A function of the number of a call, which returns a tag, or None; None for what there is not."""
    data, out = bytearray(b"\7" * size), bytearray(size + 16)
    if mode in ("gcm", "gcm-siv"):
        aead, data = {"gcm": AESGCM, "gcm-siv": AESGCMSIV}[mode](KEY[:key]), bytes(data)
        return lambda call: aead.encrypt(nonce(12, call), data, None)[-16:]
    if mode == "gcm-decryption":
        aead = AESGCM(KEY[:key])
        data = aead.encrypt(nonce(12, 0), bytes(data), None)
        return lambda call: aead.decrypt(nonce(12, 0), data, None)[-16:]
    if mode == "cmac":
        messages = [bytes(data[at : at + unit]) for at in range(0, size, unit)]

        def tag_of(message):
            mac = CMAC(algorithms.AES(KEY[:key]))
            mac.update(message)
            return mac.finalize()

        return lambda call: [tag_of(message) for message in messages][-1]
    if mode == "gmac":
        aead, data = AESGCM(KEY[:key]), bytes(data)
        return lambda call: aead.encrypt(nonce(12, call), b"", data)
    if mode == "gcm-messages":
        aead = AESGCM(KEY[:key])
        messages = [bytes(data[at : at + unit]) for at in range(0, size, unit)]

        def all_of(call):
            for n, message in enumerate(messages):
                last = aead.encrypt(nonce(12, (call << 32) + n), message, None)
            return last[-16:]

        return all_of
    if mode == "xts" and unit != size:
        return None
    algorithm = algorithms.AES(KEY[: 2 * key if mode == "xts" else key])
    make = {
        "ctr": lambda call: Cipher(algorithm, modes.CTR(nonce(16, call))).encryptor(),
        "ecb": lambda call: Cipher(algorithm, modes.ECB()).encryptor(),
        "cbc-decryption": lambda call: Cipher(algorithm, modes.CBC(nonce(16, call))).decryptor(),
        "xts": lambda call: Cipher(algorithm, modes.XTS(call.to_bytes(16, "little"))).encryptor(),
    }[mode]

    def end_of(call):
        make(call).update_into(data, out)
        return out[size - 16 : size]

    return end_of


made = {}
print(backend.openssl_version_text(), flush=True)
for line in sys.stdin:
    question, mode, *numbers = line.split()
    key, size, unit = map(int, numbers)
    if (mode, *numbers) not in made:
        made = {(mode, *numbers): calls(mode, key, size, unit)}
    call = made[(mode, *numbers)]
    if question == "output":
        answer = "none" if call is None else bytes(call(5)).hex()
    else:
        times, number = [], max(100_000 // size, 1)
        for window in range(4):
            start = perf_counter()
            for n in range(number):
                call(n)
            times.append((perf_counter() - start) / number)
        answer = " ".join(map(str, times))
    print(answer, flush=True)
