"""Keys that do not show themselves, exceptions, signals, forks, and the module as users see it."""

import copy
import functools
import io
import json
import operator
import os
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

import aes_bitslice
from aes_bitslice import Engine, Error, Key, UnavailableError

IV = bytes(16)
SECRET = bytes(range(1, 17))


def run(program, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, **options
    )


def test_keys_do_not_show_themselves(cpu):
    key = Key(SECRET)
    for shown in [repr(key), str(key), f"{key}", repr(cpu.cipher(key)), repr(cpu), str(vars(type(key)))]:
        assert SECRET.hex() not in shown and repr(SECRET)[2:-1] not in shown
    assert repr(key) == "Key(128 bits)" and repr(Key.generate(256, xts=True)) == "Key(XTS, twice 256 bits)"
    for secret in [key, cpu, cpu.cipher(key)]:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="cannot be pickled"):
                pickle.dumps(secret, protocol)
        # Within the process, a copy is the same object.
        assert copy.deepcopy(secret) is secret
    assert not hasattr(key, "__dict__")


def test_keys_come_from_everywhere(tmp_path, monkeypatch):
    key = Key.generate(192)
    path = tmp_path / "key"
    key.save(path)
    assert path.stat().st_mode & 0o777 == 0o600 and path.read_text() == key.expose().hex() + "\n"
    with pytest.raises(FileExistsError):
        key.save(path)
    monkeypatch.setenv("A_KEY", key.expose().hex().upper())
    for same in [
        Key(bytearray(key.expose())),
        Key.from_hex(key.expose().hex()),
        Key.from_file(path),
        Key.from_file(str(path)),
        Key.from_env("A_KEY"),
        Key.from_reference("env:A_KEY"),
        Key.from_reference(f"file:{path}"),
    ]:
        assert (same.expose(), same.bits, same.is_xts) == (key.expose(), 192, False)
    double = Key.generate(128, xts=True)
    double.save(tmp_path / "xts")
    assert Key.from_file(tmp_path / "xts", xts=True).expose() == double.expose() and double.is_xts


def test_what_is_no_key_is_refused_and_not_repeated(tmp_path, monkeypatch):
    digits = "0123456789abcdef" * 2
    (tmp_path / "bad").write_text(digits[:-1] + "g")
    (tmp_path / "long").write_text(digits * 100)
    (tmp_path / f"{digits}00").write_text("no key")
    monkeypatch.setenv("BAD_KEY", digits[:-2])
    monkeypatch.setenv(f"{digits}00", "no key")
    hidden = "(a name that looks like a key and is not shown)"
    for make, kind, words in [
        (lambda: Key(bytes(15)), ValueError, ""),
        (lambda: Key(digits), TypeError, ""),
        (lambda: Key(5), TypeError, ""),
        (lambda: Key.generate(100), ValueError, ""),
        (lambda: Key.generate(192, xts=True), ValueError, ""),
        (lambda: Key.from_hex(digits[:-1] + "g"), ValueError, "this is no key: "),
        (lambda: Key.from_hex(digits + "é"), ValueError, "this is no key: "),
        (lambda: Key.from_file(tmp_path / "bad"), ValueError, f"the file {tmp_path}/bad holds no key: it has a character"),
        (lambda: Key.from_file(tmp_path / "long"), ValueError, f"the file {tmp_path}/long holds no key: a key has 32, 48 or 64 hexadecimal digits, not more"),
        (lambda: Key.generate(256).save("/dev/null"), ValueError, "/dev/null: it is a device or a pipe, which is not replaced: give the path of a file"),
        (lambda: Key.from_file(tmp_path / f"{digits}00"), ValueError, f"the file {hidden} holds no key: a key has 32, 48 or 64"),
        (lambda: Key.from_file(tmp_path / digits), FileNotFoundError, hidden),
        (lambda: Key.from_file(tmp_path / f"{digits}\n"), FileNotFoundError, hidden),
        (lambda: Key.from_file(tmp_path / ("ab" * 32 + ".key")), FileNotFoundError, f"{tmp_path}/{'ab' * 32}.key"),
        (lambda: Key.from_file(tmp_path), IsADirectoryError, str(tmp_path)),
        (lambda: Key.from_file(3), TypeError, "path must be a str or a pathlib.Path, not int"),
        (lambda: Key.from_file(b"key"), TypeError, "path must be a str or a pathlib.Path, not bytes"),
        (lambda: Key.from_env("BAD_KEY"), ValueError, "the environment variable BAD_KEY holds no key: a key has 32, 48 or 64"),
        (lambda: Key.from_env(f"{digits}00"), ValueError, f"the environment variable {hidden} holds no key: a key has 32, 48 or 64"),
        (lambda: Key.from_env("NO_SUCH_KEY"), LookupError, "the environment variable NO_SUCH_KEY is not set"),
        (lambda: Key.from_reference("env:NO_SUCH_KEY"), LookupError, "the environment variable NO_SUCH_KEY is not set"),
        (lambda: Key.from_reference(f"file:{tmp_path}/bad"), ValueError, f"the file {tmp_path}/bad holds no key: "),
        (lambda: Key.from_reference("file:~/bad"), ValueError, "~ is not replaced in file:PATH: give the whole path, or begin it with ./"),
        (lambda: Key.from_reference("file:~/bad", xts=True), ValueError, "~ is not replaced in file:PATH"),
        *((lambda name=name: Key.from_env(name), LookupError, f"the environment variable {hidden} is not set")
          for name in [digits, digits.upper(), digits * 2, digits[:16] * 3, digits + "\n", digits + "0", digits * 4, digits[:-1] + "g", f"0x{digits}", f"'{digits}'"]),
        (lambda: Key.from_reference(digits), ValueError, "env:NAME or file:PATH"),
    ]:
        with pytest.raises(kind) as raised:
            make()
        text = str(raised.value)
        assert words in text and digits[:-2] not in text.lower(), text


def test_a_byte_order_mark_is_told(tmp_path):
    (tmp_path / "key").write_text("ab" * 64, encoding="utf-8-sig")
    with pytest.raises(ValueError, match="byte order mark"):
        Key.from_file(tmp_path / "key", xts=True)


def test_wrong_arguments_are_refused_before_any_work(cpu):
    cipher = cpu.cipher(Key(SECRET))
    data = bytearray(b"0123456789abcde")
    kept = bytes(data)
    whole = bytearray(16)
    long = bytearray(b"x") * ((16 << 20) + 1)
    far = (2**32 - 1).to_bytes(16, "big")
    # With this counter of 64 bits only the last byte of `long` is too far, from the last block before byte 2^64 on.
    late = (2**64 - 2**60 - 2**20 + 1).to_bytes(16, "big")
    for call in [
        lambda: cipher.ctr(IV[:15], data, out=data),
        lambda: cipher.ctr(IV, data, out=data, counter_bits=16),
        lambda: cipher.ctr(far, long, out=long, counter_bits=32),
        lambda: cipher.ctr(IV, data, out=data, offset=2**64 - 1, counter_bits=32),
        lambda: cipher.ctr(late, long, out=long, offset=2**64 - 16, counter_bits=64),
        lambda: cipher.ecb_encrypt(data, out=data),
        lambda: cipher.ecb_decrypt(long, out=long),
        lambda: cipher.cbc_encrypt(IV, data, out=data),
        lambda: cipher.cbc_decrypt(IV, long, out=long),
        lambda: cipher.gcm_encrypt(b"", data, out=data),
        lambda: cipher.gcm_decrypt(IV, data, bytes(5), out=data),
        lambda: cipher.xts_encrypt(whole, unit_bytes=16, out=whole),  # the wrong kind of key
        lambda: cpu.cipher(Key.generate(128, xts=True)).ctr(IV, data, out=data),
        lambda: cpu.cipher(Key.generate(128, xts=True)).xts_encrypt(whole, unit_bytes=15, out=whole),
        lambda: cpu.cipher(Key.generate(128, xts=True)).xts_encrypt(long, unit_bytes=16, out=long),
    ]:
        with pytest.raises(ValueError):
            call()
        assert data == kept and whole == bytes(16) and long.count(b"x") == len(long)
    assert len(cipher.ctr(late, long[:-1], offset=2**64 - 16, counter_bits=64)) == len(long) - 1
    for call in [
        lambda: cipher.ctr(IV, data, 5),
        lambda: cipher.ctr(IV),
        lambda: cipher.ctr("text", data),
        lambda: cipher.keystream(IV),
        lambda: cipher.keystream(IV, 5, out=data),
        lambda: cpu.cipher(SECRET),
        lambda: Engine(5.5),
    ]:
        with pytest.raises(TypeError):
            call()


def test_numbers_that_do_not_fit_are_refused_by_name(cpu):
    cipher, xts = cpu.cipher(Key(SECRET)), cpu.cipher(Key.generate(128, xts=True))
    sealed = io.BytesIO()
    aes_bitslice.seal(io.BytesIO(b"a message"), sealed, key=Key.generate())
    calls = {
        "offset": (lambda n: cipher.ctr(IV, b"", offset=n), "0 to 2^64 - 1"),
        "offset ": (lambda n: cipher.keystream(IV, 5, offset=n), "0 to 2^64 - 1"),
        "counter_bits": (lambda n: cipher.ctr(IV, b"", counter_bits=n), "128, 64 or 32"),
        "tag_bytes": (lambda n: cipher.gcm_decrypt(IV, b"", bytes(16), tag_bytes=n), "4, 8 or 12 to 16"),
        "tag_bytes ": (lambda n: cipher.gcm_decrypt_batch([], [], b"", [], tag_bytes=n, out=bytearray()), "4, 8 or 12 to 16"),
        "tag_bytes  ": (lambda n: cipher.cmac_verify_batch([], b"", [], tag_bytes=n), "4, 8 or 12 to 16"),
        "length": (lambda n: cipher.keystream(IV, n), "0 to 2^63 - 1"),
        "length ": (cpu.host_buffer, "0 to 2^63 - 1"),
        "length  ": (aes_bitslice.random_bytes, "0 to 2^63 - 1"),
        "unit_bytes": (lambda n: xts.xts_encrypt(bytes(16), unit_bytes=n), "16 to 2^24"),
        "first_unit": (lambda n: xts.xts_decrypt(bytes(16), unit_bytes=16, first_unit=n), "0 to 2^128 - 1"),
        "bits": (Key.generate, "128, 192 or 256"),
        "key_bits": (lambda n: cpu.run_each_key("keystream", SECRET, bytes_per_key=16, key_bits=n), "128, 192 or 256"),
        "bytes_per_key": (lambda n: cpu.run_each_key("keystream", SECRET, bytes_per_key=n), "a multiple of 16, 16 to 2^64 - 16"),
    }
    for name, (call, allowed) in calls.items():
        for number in [-1, -(2**200), 2**128, 10**5000]:
            shown = number if number < 2**129 and number > -(2**129) else None
            with pytest.raises(ValueError) as refused:
                call(number)
            start, end = f"{name.strip()} must be {allowed}, not ", str(shown or "")
            assert str(refused.value).startswith(start) and str(refused.value).endswith(end), refused.value
    for number in [(-1, 5), (0, 2**64)]:
        with pytest.raises(ValueError, match=r"range must be \(start, end\) or a slice without a step, .* not "):
            aes_bitslice.open(io.BytesIO(sealed.getvalue()), io.BytesIO(), key=Key.generate(), range=number)
    for name, (call, allowed) in calls.items():
        for other in ["256", 2.5, b"1"]:
            with pytest.raises(TypeError) as refused:
                call(other)
            assert str(refused.value) == f"{name.strip()} must be an int: {allowed}, not {type(other).__name__}"

    class Fails:
        def __index__(self):
            raise TypeError("on purpose")

    with pytest.raises(TypeError) as refused:
        Key.generate(Fails())
    assert str(refused.value.__cause__) == "on purpose"


@pytest.mark.parametrize("counter_bits", [128, 64])
@pytest.mark.parametrize("offset", [2**64 - 1, 2**64 - 16, 2**64 - 17, 2**64 - (16 << 20)])
def test_the_key_stream_goes_on_past_byte_2_to_the_64(engine, counter_bits, offset):
    cipher = engine.cipher(Key(SECRET))
    size = (32 << 20) + 5  # more than one part
    first = (int.from_bytes(IV, "big") + offset // 16).to_bytes(16, "big")
    expected = cipher.keystream(first, size, offset=offset % 16)
    assert cipher.ecb_encrypt(first)[offset % 16 :] == expected[: 16 - offset % 16]
    assert cipher.keystream(IV, size, offset=offset, counter_bits=counter_bits) == expected
    assert cipher.ctr(IV, bytes(size), offset=offset, counter_bits=counter_bits) == expected
    # To the last block of a counter of 64 bits, and not beyond.
    end = (2**64 - offset // 16 - 2).to_bytes(8, "big").rjust(16, b"\0")
    left = 32 - offset % 16
    assert len(cipher.keystream(end, left, offset=offset, counter_bits=64)) == left
    with pytest.raises(ValueError, match="64-bit counter has"):
        cipher.keystream(end, left + 1, offset=offset, counter_bits=64)


def test_engines_that_are_not_there(cpu):
    assert cpu.name == "cpu" and cpu.devices == [] and "CPU" in cpu.description
    for bad in ["gpu", "", "cuda:-1"]:
        with pytest.raises(ValueError, match="unknown backend"):
            Engine(bad)
    with pytest.raises(ValueError, match="kernel"):
        Engine("cpu", kernels="fast")
    for bad in ["cuda:77", [0, 77]]:
        with pytest.raises(UnavailableError):
            Engine(bad)
    with pytest.raises(ValueError):
        Engine([])
    assert issubclass(UnavailableError, Error) and not issubclass(Error, (ValueError, TypeError))
    names = [engine["name"] for engine in aes_bitslice.engines()]
    assert names[0] == "auto" and {"cpu", "cpu-bitsliced"} <= set(names)
    with pytest.raises(UnavailableError, match="OpenCL"):
        Engine("opencl:99.0")


#: With all cores of a large machine, what is to be interrupted would end before.
TWO_THREADS = {**os.environ, "AES_BITSLICE_THREADS": "2"}


def test_ctrl_c_ends_a_long_call_and_clears_its_output():
    program = """
        import mmap, os, signal, threading, time, aes_bitslice
        cipher = aes_bitslice.Engine("cpu-bitsliced").cipher(aes_bitslice.Key(bytes(32)))
        data = mmap.mmap(-1, 3 << 30)
        started = time.monotonic()
        try:
            threading.Timer(0.2, lambda: os.kill(os.getpid(), 2)).start()
            CALL
        except KeyboardInterrupt:
            took = time.monotonic() - started
            print("interrupted", "LIMIT" == "none" or took < 3, data[:64] == bytes(64))
    """
    # If the call had ended before, its output would not be cleared. Clearing takes its time if memory is new.
    for call, limit in [
        ("cipher.ctr(bytes(16), data, out=data)", "none"),
        ("cipher.gcm_encrypt(bytes(12), data, out=data)", "none"),
        ("cipher.cmac(data)", "3 seconds"),
        ("aes_bitslice.random_bytes(3 << 30)", "3 seconds"),
        ("aes_bitslice.Engine('cpu').run_each_key('keystream', bytes(3 << 22), bytes_per_key=4096, out=data)", "none"),
    ]:
        ran = run(program.replace("CALL", call).replace("LIMIT", limit), env=TWO_THREADS)
        assert ran.stdout.strip() == "interrupted True True", (call, ran)


def test_ctrl_c_ends_a_call_on_many_messages_and_clears_these():
    program = """
        import mmap, os, signal, threading, aes_bitslice
        engine = aes_bitslice.Engine("cpu-bitsliced")
        cipher = engine.cipher(aes_bitslice.Key(bytes(32)))
        size, each = 3 << 30, 1 << 20
        data = mmap.mmap(-1, size)
        ranges = [(at, at + each - 16) for at in range(0, size, each)]
        for at in range(0, size, each):
            data[at] = data[at + each - 1] = 7
        numbers = b"".join(n.to_bytes(12, 'big') for n in range(len(ranges)))
        keys, counters, tags = (bytes(16 * len(ranges)) for _ in range(3))
        try:
            threading.Timer(0.2, lambda: os.kill(os.getpid(), 2)).start()
            CALL
        except KeyboardInterrupt:
            clear = all(data[at] == 0 and data[at + each - 1] == 7 for at in range(0, size, each))
            print("interrupted", clear)
    """
    for call in [
        "cipher.gcm_encrypt_batch(numbers, ranges, data, out=data)",
        "cipher.gcm_decrypt_batch(numbers, ranges, data, tags, out=data)",
        "engine.run_jobs('ctr', keys, ranges, data, counters=counters, out=data)",
        "engine.gcm_encrypt_jobs(keys, numbers, ranges, data, out=data)",
    ]:
        ran = run(program.replace("CALL", call), env=TWO_THREADS)
        assert ran.stdout.strip() == "interrupted True", (call, ran)


def test_other_threads_run_while_a_pipe_is_waited_for(tmp_path):
    program = """
        import io, os, sys, threading, aes_bitslice
        path, key = sys.argv[1], aes_bitslice.Key(bytes(32))
        sealed, opened = io.BytesIO(), io.BytesIO()
        aes_bitslice.seal(io.BytesIO(b"a message"), sealed, key=key)

        def later(data):
            def write():
                with open(path, "wb") as pipe:
                    pipe.write(data)
            threading.Timer(0.3, write).start()

        later(sealed.getvalue())
        aes_bitslice.open(path, opened, key=key)
        later(bytes(32).hex().encode())
        print(opened.getvalue(), aes_bitslice.Key.from_file(path).expose() == key.expose())
    """
    os.mkfifo(tmp_path / "pipe")
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), tmp_path / "pipe"], capture_output=True, text=True, timeout=30
    )
    assert ran.stdout.strip() == "b'a message' True", ran


def test_the_number_of_threads_is_set_before_the_first_engine():
    program = """
        import aes_bitslice
        def refused(threads, words):
            try:
                aes_bitslice.set_threads(threads)
            except ValueError as error:
                return words in str(error)
        assert refused(0, "1 to 1024") and refused(1025, "1 to 1024") and refused(-1, "1 to 1024")
        aes_bitslice.set_threads(3)
        assert "3 threads" in aes_bitslice.Engine("cpu").description
        aes_bitslice.set_threads(3)
        assert refused(2, "3 are in use")
    """
    ran = run(program)
    assert ran.returncode == 0, ran


def test_the_environment_says_how_many_threads():
    program = "import aes_bitslice; print(aes_bitslice.Engine('cpu').description)"
    ran = run(program, env={**os.environ, "AES_BITSLICE_THREADS": "5"})
    assert "5 threads" in ran.stdout, ran
    one_core = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}}); "
    ran = run(one_core + program, env={**os.environ, "AES_BITSLICE_THREADS": ""})
    assert " 1 thread" in ran.stdout, ran
    for wrong in ["0", "x", "1025", "+2", " 2", "2\n"]:
        ran = run(program, env={**os.environ, "AES_BITSLICE_THREADS": wrong})
        shown = wrong.replace("\n", "\\n")
        assert f"ValueError: the number of threads: `{shown}` in AES_BITSLICE_THREADS" in ran.stderr, ran


def test_stacks_of_threads_are_large_enough():
    program = """
        import threading, aes_bitslice
        def work():
            cipher = aes_bitslice.Engine("cpu").cipher(aes_bitslice.Key.generate(256))
            cipher.ctr(bytes(16), bytes(8 << 20))
            print("done")
        threading.stack_size(256 << 10)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """
    ran = run(program, env={**os.environ, "RUST_MIN_STACK": "1", "AES_BITSLICE_THREADS": "2"})
    assert ran.stdout == "done\n" and ran.returncode == 0, ran


def test_a_forked_process_computes():
    program = """
        import os, sys, aes_bitslice
        data = bytes(10 << 20)
        cipher = aes_bitslice.Engine("cpu").cipher(aes_bitslice.Key(bytes(16)))
        expected = cipher.ctr(bytes(16), data)  # the threads of the parent are there now
        def same(level):
            again = aes_bitslice.Engine("cpu-bitsliced").cipher(aes_bitslice.Key(bytes(16)))
            if cipher.ctr(bytes(16), data) != expected or again.ctr(bytes(16), data) != expected:
                return 1
            if level == 0:
                return 0
            child = os.fork()
            if child == 0:
                os._exit(same(level - 1))
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.exit(same(2))
    """
    ran = run(program)
    assert ran.returncode == 0, ran


def test_a_sealed_file_that_is_in_use_says_so():
    """What a file object's methods call, as handlers of signals can; waiting would not end."""
    program = """
        import io, tempfile, aes_bitslice
        calls, refused = [], []
        class Calls(io.BytesIO):
            def tried(self):
                for call in calls:
                    try:
                        call()
                    except RuntimeError as error:
                        assert "in use" in str(error)
                        refused.append(call)
            def write(self, data):
                self.tried()
                return super().write(data)
            def read(self, size=-1):
                self.tried()
                return super().read(size)
        key = aes_bitslice.Key(bytes(32))
        into = Calls()
        file = aes_bitslice.SealedFile(into, "wb", key=key)
        file.write(b"a message")
        calls[:] = [lambda: file.write(b"more"), file.close, file.discard]
        file.close()
        assert file.closed and len(refused) >= 3 and set(refused) == set(calls), refused
        calls.clear()
        refused.clear()
        into.seek(0)
        file = aes_bitslice.SealedFile(into, key=key)
        calls[:] = [lambda: file.read(1), lambda: file.seek(0), file.readline, file.peek, file.close, file.discard]
        assert file.read() == b"a message" and set(refused) == set(calls)
        # With a descriptor, as a file of the system.
        class File(io.FileIO):
            tried, read = Calls.tried, lambda self, size=-1: (self.tried(), io.FileIO.read(self, size))[1]
        with tempfile.NamedTemporaryFile() as sealed:
            calls.clear()
            sealed.write(into.getvalue())
            sealed.flush()
            file = aes_bitslice.SealedFile(File(sealed.name), key=key)
            refused.clear()
            calls[:] = [lambda: file.read(1)]
            assert file.read() == b"a message" and refused
    """
    ran = run(program)
    assert ran.returncode == 0, ran


def test_a_sealed_file_that_another_thread_reads_says_so_when_python_ends():
    program = """
        import builtins, io, os, threading, aes_bitslice
        class Slow(io.BytesIO):
            def read(self, size=-1):
                if threading.current_thread() is not threading.main_thread():
                    begun.set()
                    threading.Event().wait()
                return super().read(size)
        class Last:
            def __init__(self, file):
                self.file = file
            def __del__(self, write=os.write):
                try:
                    self.file.close()
                except RuntimeError as error:
                    write(1, str(error).encode())
        key, begun = aes_bitslice.Key(bytes(32)), threading.Event()
        file = aes_bitslice.SealedFile(Slow(aes_bitslice.seal_bytes(b"a message", key=key)), key=key)
        threading.Thread(target=file.read, daemon=True).start()
        begun.wait()
        builtins.last = Last(file)
    """
    ran = run(program)
    assert ran.returncode == 0 and "is in use" in ran.stdout, ran


def test_a_sealed_file_that_another_thread_reads_says_so_in_a_forked_child():
    program = """
        import io, os, threading, warnings, aes_bitslice
        warnings.simplefilter("ignore", DeprecationWarning)
        class Slow(io.BytesIO):
            def read(self, size=-1):
                if threading.current_thread() is not threading.main_thread():
                    begun.set()
                    go_on.wait()
                return super().read(size)
        key, begun, go_on = aes_bitslice.Key(bytes(32)), threading.Event(), threading.Event()
        file = aes_bitslice.SealedFile(Slow(aes_bitslice.seal_bytes(b"a message", key=key)), key=key)
        thread = threading.Thread(target=file.read)
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            try:
                file.seek(0)
            except RuntimeError as error:
                os._exit(7 if "in use" in str(error) else 1)
            os._exit(2)
        end = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        go_on.set()
        thread.join()
        print(end)
    """
    assert run(program).stdout == "7\n"


def test_import_needs_no_cuda_and_loads_none():
    program = """
        import aes_bitslice, sys
        maps = open("/proc/self/maps").read()
        assert "libcuda" not in maps and "OpenCL" not in maps and "numpy" not in sys.modules
    """
    ran = run(program, env={**os.environ, "LD_LIBRARY_PATH": ""})
    assert ran.returncode == 0, ran


def test_the_command_shows_engines():
    ran = subprocess.run([sys.executable, "-m", "aes_bitslice"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and "+ cpu " in ran.stdout and aes_bitslice.__version__ in ran.stdout


def test_the_benchmark_compares_gcm_too():
    ran = subprocess.run([sys.executable, "-m", "aes_bitslice.bench", "--bytes", "2000000", "--runs", "1", "--json"], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran
    lines = [json.loads(line)["what"] for line in ran.stdout.splitlines() if not line.startswith("#")]
    for who in ["cpu: ", "cryptography (OpenSSL): "]:
        for what in ["CTR", "GCM", "a call of CTR on 16 bytes", "a call of GCM on 16 bytes"]:
            assert any(line.startswith(f"{who}{what}") for line in lines), (who, what, lines)


def test_the_benchmark_ends_where_an_output_is_wrong(monkeypatch):
    from aes_bitslice import bench

    of_another_key = Engine("cpu").cipher(Key(bytes(16)))
    monkeypatch.setattr(bench, "Engine", lambda name: Engine(name) if name != "cpu-bitsliced" else SimpleNamespace(cipher=lambda _: of_another_key))
    monkeypatch.setattr(bench, "timed", lambda call: [1.0])
    with pytest.raises(SystemExit, match="^cpu-bitsliced: the output is not that of the engine `cpu`"):
        bench.host(Key(SECRET), 1 << 20)


def test_what_is_documented_is_there_and_has_a_text():
    for name in [*aes_bitslice.__all__, "open"]:
        assert getattr(aes_bitslice, name).__doc__, name
    for kind in (aes_bitslice.Key, aes_bitslice.Engine, aes_bitslice.Cipher):
        for name, member in vars(kind).items():
            assert name.startswith("__") or member.__doc__, (kind, name)


def test_modes_are_prepared_by_name(cpu):
    cipher = cpu.cipher(Key(SECRET))
    modes = ["ctr", "ctr-le32", "keystream", "ecb-encrypt", "ecb-decrypt", "cbc-decrypt", "xts-encrypt", "xts-decrypt"]
    for mode in [*modes, "gcm", "gcm-batch", "cmac-batch"]:
        assert cipher.prepare(mode) is None  # the CPU has nothing to load
    with pytest.raises(ValueError, match="unknown mode"):
        cipher.prepare("fast")


def test_random_bytes():
    assert [len(aes_bitslice.random_bytes(n)) for n in (0, 12, 100_000)] == [0, 12, 100_000]
    # A byte that is zero in all of 64 was not drawn.
    for size in (1, 16, 100_000):
        drawn = (int.from_bytes(aes_bitslice.random_bytes(size), "little") for _ in range(64))
        assert 0 not in functools.reduce(operator.or_, drawn).to_bytes(size, "little")


def test_messages_name_nothing_of_rust():
    """Users of Python and C read them, too."""
    root = Path(__file__).resolve().parents[3]
    for crate in ["aes-bitslice-runtime", "aes-bitslice-seal", "aes-bitslice-core", "bindings/python"]:
        sources = list((root / crate / "src").rglob("*.rs"))
        assert sources, crate
        for path in sources:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                comment = line.lstrip().startswith(("//", "#[doc"))
                assert comment or not re.search(r"`[A-Z]\w*::", line), f"{path}:{number}: {line.strip()}"
