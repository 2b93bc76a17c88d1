"""Data in host memory: any buffer, in place, `out=`; and refusals."""

import array
import ctypes
import gc
import mmap
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

from aes_bitslice import Engine, Key, UnavailableError, _arrays, random_bytes, seal_bytes
from conftest import DLTensor, capsule

IV = bytes(range(16))


@pytest.fixture
def cipher(cpu):
    return cpu.cipher(Key(bytes(16)))


def test_every_kind_of_buffer(cipher, tmp_path):
    data = os.urandom(4096)
    expected = cipher.ctr(IV, data)
    (tmp_path / "file").write_bytes(data)
    with open(tmp_path / "file", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        assert cipher.ctr(IV, mapped) == expected
        assert cipher.ctr(IV, data, out=mapped) is mapped
    assert (tmp_path / "file").read_bytes() == expected
    numbers = array.array("d", data)
    for buffer in [bytearray(data), memoryview(data), numbers, memoryview(numbers), (ctypes.c_ubyte * 4096)(*data)]:
        found = cipher.ctr(IV, buffer)
        assert type(found) is bytes and found == expected


@pytest.mark.parametrize("dtype", ["u1", "f2", "f8", "c16", "?", "M8[s]", "m8[ns]", "S3", "U5", [("O", "f4"), ("b", "i8")]])
def test_arrays_of_any_type_give_arrays(cipher, dtype):
    plain = np.frombuffer(os.urandom(120 * np.dtype(dtype).itemsize), np.uint8)
    shaped = plain.view(dtype).reshape(3, 40)
    secret = cipher.ctr(IV, shaped)
    assert (type(secret), secret.dtype, secret.shape) == (np.ndarray, shaped.dtype, shaped.shape)
    assert secret.tobytes() == cipher.ctr(IV, plain.tobytes())
    again = np.empty_like(shaped)
    assert cipher.ctr(IV, secret, out=again) is again
    assert again.tobytes() == plain.tobytes()
    assert cipher.ctr(IV, secret, out=secret) is secret and secret.tobytes() == plain.tobytes()


def test_arrays_that_are_empty_small_or_read_only(cipher):
    assert cipher.ctr(IV, np.empty((0, 5))).shape == (0, 5)
    assert cipher.ctr(IV, np.array(1.5)).shape == ()
    fixed = np.arange(10)
    fixed.flags.writeable = False
    assert cipher.ctr(IV, cipher.ctr(IV, fixed)).tolist() == list(range(10))
    with pytest.raises(BufferError, match="out cannot be used"):
        cipher.ctr(IV, fixed, out=fixed)
    with pytest.raises(BufferError, match="^out cannot be used: Object is not writable; it has to be contiguous and writable$"):
        cipher.ctr(IV, bytes(5), out=bytes(5))


def test_what_is_no_data_is_refused(cipher):
    square = np.zeros((8, 8))
    for bad in [square.T[:4], square[:, ::2], np.asfortranarray(np.zeros((2, 3))), memoryview(b"abcdef")[::2]]:
        with pytest.raises(BufferError, match="data cannot be used.*contiguous"):
            cipher.ctr(IV, bad)
        with pytest.raises(BufferError):
            cipher.ctr(IV, bytes(np.asarray(bad).nbytes), out=bad)
    closed, released = mmap.mmap(-1, 16), memoryview(b"abc")
    closed.close()
    released.release()
    for bad in [closed, released]:
        with pytest.raises(BufferError, match="^data cannot be used: (mmap closed or invalid|operation forbidden on .*object)$"):
            cipher.ctr(IV, bad)
    objects = np.array([b"a", None], dtype=object)
    for bad in [objects, memoryview(objects), np.zeros(2, dtype=[("x", "i4"), ("y", "O")])]:
        with pytest.raises(TypeError, match="references to objects"):
            cipher.ctr(IV, bad)
        with pytest.raises(TypeError):
            cipher.ctr(IV, bytes(bad.nbytes), out=bad)

    class Record(ctypes.Structure):
        _fields_ = [("count", ctypes.c_int), ("at", ctypes.POINTER(ctypes.c_int))]

    function = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)
    for bad in [ctypes.pointer(ctypes.c_int(1)), ctypes.c_void_p(1), ctypes.c_char_p(b"text"), ctypes.c_wchar_p("text"), function, Record(), (Record * 2)()]:
        with pytest.raises(TypeError, match="or addresses, not data"):
            cipher.ctr(IV, bad)
        with pytest.raises(TypeError, match="or addresses, not data"):
            cipher.ctr(IV, bytes(ctypes.sizeof(bad)), out=bad)
    named = np.zeros(2, dtype=[("O&PXzZ", "c8"), ("Z", "c16")])
    assert cipher.ctr(IV, cipher.ctr(IV, named)).tolist() == named.tolist()
    for bad in ["text", 5, None, [1, 2], 2.5]:
        with pytest.raises(TypeError, match="data is bytes"):
            cipher.ctr(IV, bad)
    with pytest.raises(BufferError):
        cipher.ctr(IV, bytes(4), out=bytes(4))


def test_overlaps_are_refused_and_change_nothing(cipher):
    memory = np.arange(200, dtype=np.uint8)
    before = memory.copy()
    for start, other in [(0, 1), (1, 0), (50, 99), (99, 0)]:
        with pytest.raises(ValueError, match="overlap"):
            cipher.ctr(IV, memory[start : start + 100], out=memory[other : other + 100])
    with pytest.raises(ValueError, match="same length"):
        cipher.ctr(IV, memory[:100], out=memory[100:199])
    assert (memory == before).all()
    cipher.ctr(IV, memory[:100], out=memory[100:])
    assert memory[100:].tobytes() == cipher.ctr(IV, before[:100].tobytes())


def test_memory_is_held_only_for_the_call(cipher):
    data = bytearray(100)
    cipher.ctr(IV, data, out=data)
    data.extend(b"more")  # a bytearray that is still held raises here
    with pytest.raises(ValueError):
        cipher.ctr(IV, data, out=bytearray(5))
    data.clear()


def test_host_buffers(cpu, cipher):
    memory = cpu.host_buffer(1 << 20)
    assert (memory.nbytes, memory.format, memory.readonly, bytes(memory[:4])) == (1 << 20, "B", False, bytes(4))
    numbers = np.asarray(memory).view(np.float32)
    numbers[:] = 1.5
    del memory
    gc.collect()
    assert (numbers == 1.5).all()
    cipher.ctr(IV, numbers, out=numbers)
    cipher.ctr(IV, numbers, out=numbers)
    assert (numbers == 1.5).all()
    assert len(cpu.host_buffer(0)) == 0
    with pytest.raises((MemoryError, OverflowError)):
        cpu.host_buffer(1 << 62)


def test_lengths_that_no_memory_has(cpu, cipher):
    seeds = bytes(160)
    for call in [
        lambda: cipher.keystream(IV, 2**60),
        lambda: cipher.keystream(IV, 2**63 - 1),
        lambda: random_bytes(2**60),
        lambda: cpu.run_each_key("keystream", seeds, bytes_per_key=2**56),
    ]:
        with pytest.raises(MemoryError, match="not enough memory for [0-9]+ bytes"):
            call()


def test_what_is_copied_finds_no_memory(cipher):
    with tempfile.TemporaryFile() as file:
        try:
            file.truncate(1 << 40)  # without content
            huge = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError:
            pytest.skip("the system maps no such file")
        # A system may promise more memory than it has: within this limit there is no second TiB.
        limits = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (1 << 41, limits[1]))
        try:
            for call in [
                lambda: cipher.gcm_encrypt(bytes(12), b"x", huge),
                lambda: cipher.gcm_siv_decrypt(bytes(12), b"x", bytes(16), huge),
                lambda: cipher.gmac(huge, b"x"),
                lambda: cipher.gcm_encrypt_batch(bytes(12), [(0, 1)], b"x", [huge], out=bytearray(1)),
            ]:
                with pytest.raises(MemoryError):
                    call()
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
        huge.close()


def test_host_memory_takes_no_stream(cpu, cipher):
    data = np.zeros(16, np.uint8)
    for call in [
        lambda: cipher.ctr(IV, data, stream=1),
        lambda: cipher.ctr(IV, bytes(16), out=data, stream=1),
        lambda: cipher.gmac(bytes(12), data, stream=1),
        lambda: cipher.keystream(IV, 16, stream=1),
        lambda: cipher.keystream(IV, out=data, stream=1),
        lambda: cpu.run_each_key("keystream", bytes(16), bytes_per_key=16, out=data, stream=1),
    ]:
        with pytest.raises(TypeError, match="stream= is for calls on GPU memory, and .* in host memory"):
            call()
        assert not data.any()


class Exported:
    """A tensor that exports through DLPack, with and without a version."""

    def __init__(self, array, versioned=True, device=(1, 0)):
        self.array, self.versioned, self.device = array, versioned, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if not self.versioned and "max_version" in options:
            raise TypeError("no such thing")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("versioned", [True, False])
def test_tensors_by_dlpack(cipher, versioned):
    array = np.arange(1000, dtype=np.int32).reshape(10, 100)
    tensor = Exported(array.copy(), versioned)
    secret = cipher.ctr(IV, tensor)
    assert type(secret) is bytes and secret == cipher.ctr(IV, array.tobytes())
    assert cipher.ctr(IV, secret, out=tensor) is tensor
    assert (tensor.array == array).all()
    with pytest.raises(BufferError, match="not contiguous"):
        cipher.ctr(IV, Exported(array[:, ::2], versioned))
    part = cipher.ctr(IV, Exported(array[3:5], versioned))
    assert part == cipher.ctr(IV, array[3:5].tobytes())
    fixed = array.copy()
    fixed.flags.writeable = False
    with pytest.raises(BufferError):
        cipher.ctr(IV, secret, out=Exported(fixed, versioned))
    with pytest.raises(TypeError, match="type 7"):
        cipher.ctr(IV, Exported(array, device=(7, 0)))


class Functions(ctypes.Structure):
    """`DLPackExchangeAPI`."""

    Describe = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
    Stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("others", ctypes.c_void_p * 4),
        ("describe", Describe),
        ("current_stream", Stream),
    ]


@pytest.fixture
def described(monkeypatch):
    """A type of a library with C functions, and the calls that they received."""
    asked = []

    def describe(tensor, shape):
        asked.append("describe")
        array, out = tensor.array, shape.contents
        if tensor.is_refused:
            return -1
        # The offset counts from before the array.
        out.data, out.byte_offset, out.ndim = array.ctypes.data - 8, 8, array.ndim
        out.device[:] = tensor.device
        out.code, out.bits, out.lanes = "iuf".index(array.dtype.kind), 8 * array.itemsize, 1
        tensor.lists = [(ctypes.c_int64 * array.ndim)(*each) for each in (array.shape, [n // array.itemsize for n in array.strides])]
        out.shape, out.strides = (ctypes.cast(each, ctypes.POINTER(ctypes.c_int64)) for each in tensor.lists)
        return 0

    def current_stream(kind, number, stream):
        asked.append((kind, number))
        stream[0] = 0x70
        return 0

    functions = Functions(1, 3, (ctypes.c_void_p * 4)(), Functions.Describe(describe), Functions.Stream(current_stream))

    class Described(Exported):
        is_plain, is_refused = True, False
        __dlpack_c_exchange_api__ = capsule(functions, b"dlpack_exchange_api")

        def __dlpack__(self, **options):
            asked.append("export")
            return super().__dlpack__(**options)

    class Library(_arrays._Library):
        types = _arrays._with_functions(Described)

        def check(self, array, writes):
            asked.append("check and write" if writes else "check")
            if not array.is_plain:
                raise BufferError("the bytes are not the values")

        def written(self, array):
            asked.append("written")

    monkeypatch.setitem(_arrays.known, Described, Library("numpy"))
    assert list(Library.types) == [Described]
    return Described, functions, asked


def test_tensors_by_functions_in_c(cipher, described):
    described, functions, asked = described
    array = np.arange(1000, dtype=np.int32).reshape(10, 100)
    out = described(array.copy())
    for part in (array, array[3:5], array[5:5], array[2, 10:50]):
        assert cipher.ctr(IV, described(part), out=bytearray(part.nbytes)) == cipher.ctr(IV, part.tobytes())
    assert cipher.ctr(IV, array.tobytes(), out=out) is out
    assert out.array.tobytes() == cipher.ctr(IV, array.tobytes())
    assert asked == ["describe"] * 5 + ["check and write", "written"]
    for refused in (lambda: cipher.ecb_encrypt(array[:, :1].tobytes(), out=out), lambda: cipher.ctr(IV, b"", out=out)):
        with pytest.raises(ValueError):
            refused()
    assert asked.count("written") == 1
    with pytest.raises(BufferError, match="not contiguous"):
        cipher.ctr(IV, described(array[:, ::2]))
    with pytest.raises(TypeError, match="type 7"):
        cipher.ctr(IV, described(array, device=(7, 0)))
    del asked[:]
    there = described(array, device=(2, 3))
    with pytest.raises(UnavailableError, match="in the memory of CUDA device 3"):
        cipher.ctr(IV, there, out=there)
    assert asked == ["describe", (2, 3)] * 2 + ["check and write"]


def test_functions_in_c_that_do_not_tell(cipher, described):
    described, functions, asked = described
    array = np.arange(100.0)
    secret = cipher.ctr(IV, array.tobytes())

    def wants(tensor, *wanted):
        del asked[:]
        assert cipher.ctr(IV, tensor, out=bytearray(800)) == secret
        assert asked == list(wanted)

    wants(described(array), "describe", "check")
    tensor = described(array)
    tensor.is_plain = False
    with pytest.raises(BufferError, match="the bytes are not the values"):
        cipher.ctr(IV, tensor)
    tensor.is_plain, tensor.is_refused = True, True
    wants(tensor, "describe", "check", "export")
    # For integers no more calls are made, and a type derived from the library's has no functions.
    tensor = described(array.view(np.int64))
    tensor.is_plain = False
    wants(tensor, "describe")
    wants(type("Derived", (described,), {})(array), "export")
    functions.major = 2
    wants(described(array), "export")
    functions.major, functions.describe = 1, Functions.Describe()
    wants(described(array), "export")
    _arrays.known[described].types[described] = None  # then in Python, which gives no answer either
    wants(described(array), "export")
    _arrays.known[described].types[described] = 5
    with pytest.raises(ValueError, match="PyCapsule"):
        cipher.ctr(IV, described(array), out=bytearray(800))


def test_tensors_are_given_back(cipher):
    array = np.zeros(100)
    for _ in range(3):
        cipher.ctr(IV, Exported(array), out=Exported(array))
    gc.collect()
    import sys

    assert sys.getrefcount(array) <= 3


def test_memory_of_a_gpu_needs_an_engine_of_it(cipher):
    class OnGpu:
        __cuda_array_interface__ = {"data": (4096, False), "shape": (16,), "typestr": "|u1", "version": 3, "strides": None}

    from aes_bitslice import Error

    with pytest.raises(Error, match="CUDA"):
        cipher.ctr(IV, OnGpu(), out=OnGpu())


def test_the_interpreter_runs_meanwhile(cpu):
    cipher = cpu.cipher(Key(bytes(32)))
    data = bytearray(64 << 20)
    turns, done = 0, threading.Event()

    def work():
        cipher.cbc_encrypt(IV, data, out=data)  # one core's work, however many there are
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        turns += 1
        time.sleep(0.0005)
    thread.join()
    assert turns >= 5
    assert cipher.cbc_decrypt(IV, data) == bytes(64 << 20)


def test_threads_share_a_cipher(cipher):
    expected = cipher.ctr(IV, bytes(1 << 20))
    wrong = []

    def work():
        for _ in range(5):
            if cipher.ctr(IV, bytes(1 << 20)) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_whatever_is_given_is_an_exception_at_most(cipher):
    """No arguments end the process, or raise an exception that `except Exception` does not catch."""
    numbers = np.arange(1000)
    things = [b"", b"a" * 16, bytearray(33), None, 5, -1, 2**70, "x", 1.5, [], {}, numbers, numbers.reshape(10, -1)[:, ::3]]
    things += [np.array([None]), memoryview(b"12345678"), os, Key(bytes(16)), Exported(np.zeros(5)), cipher, [(0, 9), (9, 12)], [b"a" * 12] * 2]
    keywords = ["out", "offset", "stream", "counter_bits", "unit_bytes", "first_unit", "length", "aad", "ranges", "aads", "tags", "tag_bytes"]
    methods = [getattr(cipher, name) for name in dir(cipher) if not name.startswith("_")]
    chosen = random.Random(1)
    raised = set()
    for _ in range(10_000):
        arguments = chosen.choices(things, k=chosen.randrange(5))
        options = {name: chosen.choice(things) for name in chosen.sample(keywords, chosen.randrange(4))}
        try:
            chosen.choice(methods)(*arguments, **options)
        except Exception as error:
            raised.add(type(error))
    assert raised >= {TypeError, ValueError, BufferError} and OverflowError not in raised


@pytest.mark.parametrize("what", ["ctr", "seal", "passphrase", "SealedFile"])
def test_a_limit_of_the_address_space(what, tmp_path):
    """As `ulimit -v` sets it, from where nothing more can be had, when the system's libraries may end the process, to where all can be."""
    code = """
import io, os, resource, sys
import aes_bitslice
what, more, path, sealed = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
key, data, long = aes_bitslice.Key(bytes(32)), bytearray(3 << 20), bytearray(48 << 20)
aes_bitslice.seal_bytes(data, key=key)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = size + (more << 10)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    if what == "ctr":
        aes_bitslice.Engine("cpu").cipher(key).ctr(bytes(16), long)
    elif what == "SealedFile":
        aes_bitslice.SealedFile(sealed, key=key).read(40 << 20)
    else:
        aes_bitslice.seal(io.BytesIO(data), path, **({"key": key} if what == "seal" else {"passphrase": "a passphrase"}))
    print("done", os.path.exists(path))
except (MemoryError, OSError) as error:
    assert not isinstance(error, OSError) or "ulimit -v" in str(error), error
    print("refused", os.path.exists(path))
"""
    ends, sealed = set(), tmp_path / "sealed"
    # By another process than those with a limit, which would keep the memory.
    sealed.write_bytes(seal_bytes(bytes(48 << 20), key=Key(bytes(32))))
    for n, more in enumerate([0, 1000, 3000, 6000, 20_000, 30_000, 66_000, 200_000]):
        path = str(tmp_path / str(n))
        command, env = [sys.executable, "-c", code, what, str(more), path, sealed], {**os.environ, "AES_BITSLICE_THREADS": "2"}
        found = subprocess.run(command, capture_output=True, text=True, env=env)
        is_sealed = what in ("seal", "passphrase")
        if not found.stdout:
            assert found.returncode and "memory" in found.stderr.lower() and not os.path.exists(path), (more, found)
            ends.add("ended by a library")
            continue
        assert found.stdout in (f"done {is_sealed}\n", "refused False\n"), (more, found)
        ends.add(found.stdout.split()[0])
    # Where much is asked for at once (40 and 48 MiB, Argon2's 64 MiB), threads and small memory are there long before: refused, not ended.
    # What `seal` asks for may lie in memory that the process has already: how it ends at the lowest limits is the allocator's matter.
    assert ends >= ({"done"} if what == "seal" else {"done", "refused"}), ends


def test_batches_within_a_limit_of_the_address_space():
    """A child for each call and limit: it makes the call, or there is a `MemoryError`. Where the last bytes are missing, the process may end."""
    code = """
import os, resource, struct
import aes_bitslice
from aes_bitslice import Ranges

n = 100_000
engine = aes_bitslice.Engine("cpu")
cipher = engine.cipher(aes_bitslice.Key(bytes(16)))
starts, lengths = (struct.pack(f"{n}q", *numbers) for numbers in (range(0, 17 * n, 17), (n % 13 for n in range(n))))
columns = Ranges(memoryview(starts).cast("q"), memoryview(lengths).cast("q"))
pairs, twelve = [(17 * i, 17 * i + i % 13) for i in range(n)], [(n - i).to_bytes(12, "big") for i in range(n)]
thirteen, data, keys = [(n - i).to_bytes(13, "big") for i in range(n)], bytearray(17 * n), bytes(16 * n)
calls = {
    "GCM": lambda: cipher.gcm_encrypt_batch(b"".join(twelve), columns, data, data, aad_ranges=columns, out=data),
    "GCM, lists": lambda: cipher.gcm_encrypt_batch(twelve, pairs, data, twelve, out=data),
    "GCM, long nonces": lambda: cipher.gcm_encrypt_batch(thirteen, columns, data, out=data),
    "GCM, forged": lambda: cipher.gcm_decrypt_batch(b"".join(twelve), columns, data, keys, out=data),
    "CMAC": lambda: cipher.cmac_batch(columns, data),
    "CMAC, forged": lambda: cipher.cmac_verify_batch(columns, data, keys),
    "jobs": lambda: engine.run_jobs("ctr", keys, columns, data, counters=keys, out=data),
    "a mode": lambda: cipher.keystream(bytes(16), 20 << 20),
}
for name, call in calls.items():
    ends = set()
    for more in [1, 2, 3, 4, 5, 7, 9, 12, 16, 40, 400]:
        child = os.fork()
        if not child:
            size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + (more << 20),) * 2)
            try:
                call()
            except MemoryError:
                os._exit(1)
            except aes_bitslice.AuthenticationError as error:
                os._exit(0 if len(error.failed) == n else 3)
            os._exit(0)
        end = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        # Where a few bytes are missing to a library, it ends the process.
        assert end in (0, 1, -6, 127), (name, more, end)
        ends.add(end)
    assert ends >= {0, 1}, (name, ends)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "AES_BITSLICE_THREADS": "2"}, timeout=300)
