"""A call that Ctrl-C ends has cleared its output, wherever in the call it came: at each place where a call looks for signals."""

import io
import os
import subprocess
import sys
import textwrap

import pytest

import aes_bitslice
from aes_bitslice import Engine, Key
from aes_bitslice._native import _interrupt_at

IV, NONCE, KEY = bytes(16), bytes(12), Key(bytes(range(32)))
#: One that is looked at when it is done, and one that is watched.
SIZES = [100 * 16, 40 << 20]


def interrupted(call, check):
    """Interrupts a call at its first look for signals, then at its second, fourth and so on, until it is complete; returns how often.

    There is one look after the last byte. A long call is looked at from its start on: how often depends on the machine.
    """
    looks = 0
    try:
        while True:
            _interrupt_at(1 << looks)
            try:
                call()
            except KeyboardInterrupt:
                looks += 1
                check()
            else:
                return looks
    finally:
        _interrupt_at(0)


def tag_of(cipher, method, data, *options):
    return getattr(cipher, method)(NONCE, data, *options)[1]


def looks(least, call, check):
    """Whether a call looks so often whether it is interrupted. Where this thread does not run while others do the work, once is all; so it has
    three tries."""
    return any(interrupted(call, check) >= least for _ in range(3))


CALLS = {
    "ctr": lambda c, data: c.ctr(IV, data, out=data),
    "keystream": lambda c, data: c.keystream(IV, out=data),
    "ecb_encrypt": lambda c, data: c.ecb_encrypt(data, out=data),
    "ecb_decrypt": lambda c, data: c.ecb_decrypt(data, out=data),
    "cbc_encrypt": lambda c, data: c.cbc_encrypt(IV, data, out=data),
    "cbc_decrypt": lambda c, data: c.cbc_decrypt(IV, data, out=data),
    "gcm_encrypt": lambda c, data: c.gcm_encrypt(NONCE, data, out=data),
    "gcm_siv_encrypt": lambda c, data: c.gcm_siv_encrypt(NONCE, data, out=data),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", list(CALLS))
def test_an_interrupted_call_has_cleared_its_output(name, size):
    cipher, data = Engine("cpu").cipher(KEY), bytearray(size)

    def call():
        data[:] = b"\1" * size
        CALLS[name](cipher, data)

    def check():
        assert data.count(0) == size

    assert looks(1 if size < 1 << 20 else 2, call, check)
    assert data.count(0) < size


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["gcm", "gcm_siv", "xts"])
def test_an_interrupted_decryption_has_cleared_its_output(name, size):
    key = Key.generate(128, xts=True) if name == "xts" else KEY
    cipher, data = Engine("cpu").cipher(key), bytearray(size)
    if name == "xts":
        call = lambda: cipher.xts_decrypt(b"\1" * size, unit_bytes=512 if size > 4096 else 16, out=data)
    else:
        secret, tag = getattr(cipher, f"{name}_encrypt")(NONCE, b"\1" * size)
        call = lambda: getattr(cipher, f"{name}_decrypt")(NONCE, secret, tag, out=data)

    def check():
        assert data.count(0) == size

    assert interrupted(call, check) >= 1
    assert data.count(0) < size


@pytest.mark.parametrize("each", [100, 9 << 20])
@pytest.mark.parametrize("name", ["encrypt", "decrypt", "jobs", "GCM jobs", "each key"])
def test_an_interrupted_batch_has_cleared_its_messages_and_nothing_else(name, each):
    engine = Engine("cpu")
    cipher, step, count = engine.cipher(KEY), each + 16, 4
    each = each // 16 * 16
    ranges = [(n * step, n * step + each) for n in range(count)]
    nonces = b"".join(n.to_bytes(12, "big") for n in range(count))
    source = b"\1" * (count * step)
    data = bytearray(count * step)
    tags = cipher.gcm_encrypt_batch(nonces, ranges, source, out=bytearray(count * step))
    if name == "decrypt":
        source = bytearray(source)
        cipher.gcm_encrypt_batch(nonces, ranges, bytes(source), out=source)
    calls = {
        "encrypt": lambda: cipher.gcm_encrypt_batch(nonces, ranges, source, out=data),
        "decrypt": lambda: cipher.gcm_decrypt_batch(nonces, ranges, source, tags, out=data),
        "jobs": lambda: engine.run_jobs("ctr", bytes(range(64)), ranges, source, counters=bytes(64), out=data),
        "GCM jobs": lambda: engine.gcm_encrypt_jobs(bytes(range(64)), nonces, ranges, source, out=data),
        "each key": lambda: engine.run_each_key("keystream", bytes(16 * count * step // 16), bytes_per_key=16, out=data),
    }
    if name == "each key":
        ranges = [(0, len(data))]

    def call():
        data[:] = b"\7" * len(data)
        calls[name]()

    def check():
        inside = sum(data[start:end].count(0) for start, end in ranges)
        assert inside == sum(end - start for start, end in ranges)
        assert data.count(7) == len(data) - inside

    assert interrupted(call, check) >= 1


def test_what_only_reads_or_makes_a_new_object_is_interrupted():
    cipher, data = Engine("cpu").cipher(KEY), bytes(40 << 20)
    nothing = lambda: None
    for call in [
        lambda: cipher.ctr(IV, data),
        lambda: cipher.keystream(IV, len(data)),
        lambda: cipher.gmac(NONCE, data),
        lambda: cipher.cmac(data),
        lambda: cipher.cmac_batch([(0, len(data)), (0, 100)], data),
        lambda: aes_bitslice.random_bytes(len(data)),
    ]:
        assert looks(2, call, nothing)


@pytest.mark.parametrize("work", ["seal", "open"])
def test_an_interrupted_file_is_not_there(tmp_path, work):
    source, out = tmp_path / "in", tmp_path / "out"
    message = bytes(40 << 20)
    if work == "seal":
        source.write_bytes(message)
    else:
        aes_bitslice.seal(io.BytesIO(message), source, key=KEY)

    def call():
        getattr(aes_bitslice, work)(source, out, key=KEY)

    def check():
        assert [path.name for path in tmp_path.iterdir()] == ["in"]

    assert interrupted(call, check) >= 1
    assert out.exists()


#: Each waits for a source that stays silent.
WAITS = {
    "seal, object of a pipe": "aes_bitslice.seal(reads, 'out', key=key)",
    "seal, unbuffered object of a pipe": "aes_bitslice.seal(open(reads.fileno(), 'rb', buffering=0, closefd=False), 'out', key=key)",
    "seal, object of a socket": "aes_bitslice.seal(pair[0].makefile('rb'), 'out', key=key)",
    "seal, object that waits for another thread": "aes_bitslice.seal(Waits(), 'out', key=key)",
    "seal, path of a pipe": "send(b'some bytes', fifo()); aes_bitslice.seal('pipe', 'out', key=key)",
    "seal, path of a pipe without a writer": "aes_bitslice.seal('pipe', 'out', key=key)",
    "seal, object of a slow file": "aes_bitslice.seal(Slow(), 'out', key=key)",
    "open, object of a pipe": "send(sealed[:2_000_000], writes); aes_bitslice.open(reads, 'out', key=key)",
    "open, object of a pipe that says nothing": "aes_bitslice.open(reads, 'out', key=key)",
    "open, path of a pipe": "send(sealed[:2_000_000], fifo()); aes_bitslice.open('pipe', 'out', key=key)",
    "open, path of a pipe without a writer": "aes_bitslice.open('pipe', 'out', key=key)",
    "a key, path of a pipe": "send(b'00', fifo()); Key.from_file('pipe')",
    "a key, path of a pipe without a writer": "Key.from_file('pipe')",
}


#: Seconds after which a program that waits for ever is killed.
LIMIT = 20


@pytest.mark.parametrize("call", list(WAITS.values()), ids=list(WAITS))
def test_ctrl_c_ends_waiting_for_a_silent_source(tmp_path, call):
    program = """
        import os, queue, signal, socket, threading, time, aes_bitslice
        from aes_bitslice import Key
        key = Key(bytes(32))
        sealed = aes_bitslice.seal_bytes(bytes(4_000_000), key=key)
        pair, (reads, writes) = socket.socketpair(), os.pipe()
        reads = os.fdopen(reads, "rb")

        class Waits:
            def read(self, size):
                return queue.Queue().get()

        class Slow:
            file = open(os.__file__, "rb")
            fileno = file.fileno

            def read(self, size):
                time.sleep(0.1)
                return bytes(1000)

        def fifo():
            return os.open("pipe", os.O_RDWR)

        written = threading.Event()
        written.set()

        def send(data, into):
            # A pipe holds less: another thread writes it, and the interruption comes after that.
            written.clear()
            threading.Thread(target=lambda: (os.write(into, data), written.set()), daemon=True).start()

        def interrupt():
            global sent
            written.wait()
            sent = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

        # A shell lets programs in the background ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.3, interrupt).start()
        try:
            CALL
        except KeyboardInterrupt:
            late = time.monotonic() - sent
            print("interrupted", late if late > 10 else "at once", os.listdir())
            # No thread that was left behind takes what comes now.
            os.set_blocking(reads.fileno(), False)
            while reads.read():
                pass
            os.write(writes, b"more")
            time.sleep(0.05)
            print(reads.read())
    """
    os.mkfifo(tmp_path / "pipe")
    program = textwrap.dedent(program).replace("CALL", call)
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert ran.stdout.splitlines() == ["interrupted at once ['pipe']", "b'more'"], ran


@pytest.mark.parametrize("source", ["object", "path"])
def test_damage_is_reported_while_the_source_stays_open(tmp_path, source):
    program = """
        import os, sys, threading, aes_bitslice
        key = aes_bitslice.Key(bytes(32))
        sealed = bytearray(aes_bitslice.seal_bytes(bytes(4_000_000), key=key))
        sealed[1_500_000] ^= 1
        pipe = os.open("pipe", os.O_RDWR)
        # It is never closed.
        threading.Thread(target=lambda: os.write(pipe, sealed[:2_500_000]), daemon=True).start()
        try:
            aes_bitslice.open(open("pipe", "rb") if sys.argv[1] == "object" else "pipe", "out", key=key)
        except aes_bitslice.AuthenticationError as error:
            print("segment 1 is damaged" in str(error), os.listdir())
    """
    os.mkfifo(tmp_path / "pipe")
    program = [sys.executable, "-c", textwrap.dedent(program), source]
    ran = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert ran.stdout.strip() == "True ['pipe']", ran


def test_what_needs_to_seek_refuses_a_pipe_without_waiting_for_its_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for call in [
        lambda: aes_bitslice.SealedFile(tmp_path / "pipe", key=KEY),
        lambda: aes_bitslice.open(tmp_path / "pipe", tmp_path / "out", key=KEY, range=(0, 1)),
    ]:
        with pytest.raises(OSError) as raised:
            call()
        assert raised.value.filename == str(tmp_path / "pipe") and os.listdir(tmp_path) == ["pipe"]
