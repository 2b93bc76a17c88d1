"""Sealed files of tensors, compared with the package safetensors on the opened files; and what is read of them, and refused.

On a GPU, where no plaintext may come to host memory:

    python3 -m pytest tests/test_safetensors.py -k gpu
"""

import ctypes
import io
import json
import os
import random
import re
import subprocess
import sys
import time
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import aes_bitslice
from aes_bitslice import AuthenticationError, Error, Key, _lanes, _segments
from aes_bitslice import safetensors as sealed
from aes_bitslice.safetensors import load_file, safe_open, save_file
from conftest import VECTORS, BoundedLane

reference = pytest.importorskip("safetensors", reason="safetensors is not installed")

SEGMENT = 1 << 20
MOST_DIMENSIONS = getattr(np, "MAXDIMS", 64)
NUMPY_TYPES = "float64 float32 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool complex64".split()


def arrays(seed=1):
    """Arrays of every type, of many shapes: some empty, some across the borders of segments, some at odd places."""
    chance, found = np.random.default_rng(seed), {}
    for name in NUMPY_TYPES:
        for shape in [(), (0,), (3, 0, 2), (7,), (5, 3), (2, 3, 4), (411, 331)]:
            size = np.dtype(name).itemsize * int(np.prod(shape))
            limit = 2 if name == "bool" else 256
            found[f"{name} {shape}"] = chance.integers(0, limit, size, np.uint8).view(name).reshape(shape)
    return found


def raw(tensor):
    """The type, the shape and the bytes of an array or a tensor."""
    if isinstance(tensor, np.ndarray):
        return tensor.dtype, tensor.shape, tensor.tobytes()
    host = tensor.detach().cpu().contiguous()
    return host.dtype, tuple(host.shape), ctypes.string_at(host.data_ptr(), host.numel() * host.element_size())


def same(found, expected):
    assert list(map(raw, found.values())) == [raw(expected[name]) for name in found] and found.keys() == expected.keys()


def opened(file, key):
    return aes_bitslice.open_bytes(file.getvalue() if hasattr(file, "getvalue") else file.read_bytes(), key=key)


def saved(tensors, key, metadata=None):
    """A file object at the start of a sealed file."""
    file = io.BytesIO()
    save_file(tensors, file, metadata, key=key)
    file.seek(0)
    return file


def looks_alike(ours, theirs):
    for name in theirs.keys():
        assert raw(ours.get_tensor(name)) == raw(theirs.get_tensor(name))
        assert ours.get_slice(name).get_shape() == theirs.get_slice(name).get_shape()
        assert ours.get_slice(name).get_dtype() == theirs.get_slice(name).get_dtype()


class Counting(io.BytesIO):
    """Counts the bytes that are read."""

    count = 0

    def read(self, size=-1):
        data = super().read(size)
        self.count += len(data)
        return data


def test_files_are_those_of_the_package(key, tmp_path):
    from safetensors.numpy import load_file as load_plain
    from safetensors.numpy import save as save_plain

    path, plain, tensors = tmp_path / "sealed", tmp_path / "plain", arrays()
    save_file(tensors, path, {"format": "np", "ä": "ö"}, key=key)
    aes_bitslice.open(path, plain, key=key)
    same(load_plain(plain), tensors)
    with reference.safe_open(plain, "np") as theirs, safe_open(path, "np", key=key) as ours:
        assert ours.metadata() == theirs.metadata() == {"format": "np", "ä": "ö"}
        assert ours.keys() == sorted(theirs.keys()) and ours.offset_keys() == list(theirs.offset_keys())
        looks_alike(ours, theirs)
    same(load_file(path, framework="np", key=key), tensors)
    # What the package writes, sealed by `seal`.
    file = io.BytesIO(aes_bitslice.seal_bytes(save_plain(tensors, {"a": "b"}), key=key))
    same(load_file(file, framework="np", key=key), tensors)
    assert opened(path, key)[8:9] == b"{" and int.from_bytes(opened(path, key)[:8], "little") % 16 == 0


@pytest.mark.parametrize("secret", ["passphrase", "keyset"])
def test_other_secrets(secret, tmp_path):
    keyset = (VECTORS / "sealed/aes256-4kb.json").read_text()
    given = {"passphrase": {"passphrase": "correct horse"}, "keyset": {"keyset": keyset, "associated_data": b"a"}}[secret]
    tensors = arrays()
    save_file(tensors, tmp_path / "sealed", **given)
    same(load_file(tmp_path / "sealed", framework="np", **given), tensors)
    with pytest.raises((Error, ValueError), match="a key does not open it|Tink stream"):
        load_file(tmp_path / "sealed", framework="np", key=Key.generate())


def test_empty_files(key):
    for metadata in (None, {}, {"a": "b"}):
        file = saved({}, key, metadata)
        assert load_file(file, framework="np", key=key) == {}
        with safe_open(file, "np", key=key) as ours:
            assert (ours.keys(), ours.metadata()) == ([], metadata)


def test_only_what_is_asked_for_is_read(key):
    tensors = {name: np.random.default_rng(n).random((1024, 1024)) for n, name in enumerate("abcd")}
    file = Counting()
    file.write(b"before")
    save_file(tensors, file, key=key)
    file.seek(6)
    with safe_open(file, "np", key=key) as ours:
        # The start of the file, and twice its first segment, for the length of the header and the header.
        assert file.count <= 2 * SEGMENT + 136
        for read, segments in [
            (lambda: ours.get_tensor("c"), 9),
            (lambda: ours.get_slice("b")[7], 1),
            (lambda: ours.get_slice("d")[100:110, ::3], 1),
            (lambda: ours.get_slice("d")[10:10], 0),
            (lambda: ours.get_slice("d").get_shape(), 0),
        ]:
            file.count = 0
            read()
            assert max(0, segments - 1) * SEGMENT < file.count + 1 <= segments * SEGMENT + 1
        same({name: ours.get_tensor(name) for name in "ca"}, {name: tensors[name] for name in "ca"})


@pytest.mark.parametrize("framework", ["np", "pt"])
def test_slices_are_those_of_arrays(key, framework, request):
    if framework == "pt":
        request.getfixturevalue("torch")
    array = np.arange(1000 * 7 * 50).reshape(1000, 7, 50)
    chance, numbers = random.Random(1), [None, 0, 1, 5, 999, 1000, 2000, -1, -7, -1000, -1001]
    indices = [..., (slice(None), 2), (1, 2, 3), (-1000,), 999, (slice(1, 5), slice(None), [4, 5]), (), (..., 3), slice(None, None, 7)]
    indices += [slice(chance.choice(numbers), chance.choice(numbers)) for _ in range(100)]
    with safe_open(saved({"one": array, "few": np.arange(3)}, key), framework, key=key) as ours:
        for index in indices:
            found = ours.get_slice("one")[index]
            assert np.array_equal(np.asarray(found), array[index]), index
        with pytest.raises(IndexError):
            ours.get_slice("few")[3]
        with pytest.raises(KeyError, match="no tensor 'other'"):
            ours.get_tensor("other")


def root(array):
    while array.base is not None:
        array = array.base
    return array


def test_tensors_are_where_computing_is_fast(key):
    """And a small one does not keep a segment; tensors are not copied for that without need."""
    tensors = {"a": np.zeros(1), "b": np.zeros((1000, 300)), "c": np.zeros(3, np.float32), "d": np.zeros(5, np.uint8), "e": np.ones(9)}
    file = saved(tensors, key)
    found = load_file(file, framework="np", key=key)
    assert all(array.ctypes.data % 16 == 0 for array in found.values())
    with safe_open(file, "np", key=key) as ours:
        for name in tensors:
            array = root(ours.get_tensor(name))
            assert array.ctypes.data % 16 == 0 and array.nbytes <= 2 * tensors[name].nbytes
    for header in ({}, {"eight bytes": "more"}):
        file = saved({"a": np.zeros((1000, 300)), "b": np.ones((1000, 300), np.float16)}, key, header)
        found = load_file(file, framework="np", key=key)
        assert root(found["a"]) is root(found["b"]) and root(found["a"]).nbytes < 3_001_000


def test_a_file_object_that_reads_less_at_a_time(key):
    class Short(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, chance.choice([1, 15, 16, 17, 5000, 1 << 20, 1 << 22])))

    chance, tensors, file = random.Random(1), arrays(), Short()
    save_file(tensors, file, key=key)
    file.seek(0)
    same(load_file(file, framework="np", key=key), tensors)


@pytest.mark.parametrize(
    "given, kind, text",
    [
        (lambda data: None, BlockingIOError, "source is non-blocking and cannot read now"),
        (lambda data: data + b"x", OSError, "read() returned more than it was asked for"),
        (lambda data: "text", TypeError, "what read() returns must be bytes, not str"),
    ],
)
def test_what_a_file_object_must_not_return(key, given, kind, text):
    """After the file was opened, when its tensors are read."""

    class Wrong(io.BytesIO):
        def read(self, size=-1):
            data = super().read(size)
            return given(data) if wrong else data

    wrong = False
    with safe_open(Wrong(saved({"a": np.zeros(100, np.uint8)}, key).getvalue()), "np", key=key) as opened:
        wrong = True
        with pytest.raises(kind, match=re.escape(text)):
            opened.get_tensor("a")


def header_of(tensors, padding=0):
    text = json.dumps(tensors).encode() + b" " * padding
    return len(text).to_bytes(8, "little") + text


def entry(start, stop, **other):
    return {"dtype": "U8", "shape": [stop - start], "data_offsets": [start, stop]} | other


WRONG = {
    "nothing": b"",
    "seven bytes": bytes(7),
    "a header longer than the message": (100).to_bytes(8, "little") + b"{}",
    "a header one byte longer than the message": (3).to_bytes(8, "little") + b"{}",
    "a header longer than any": (1 << 63).to_bytes(8, "little") + b"{}",
    "no JSON": (2).to_bytes(8, "little") + b"{]",
    "no dictionary": (2).to_bytes(8, "little") + b"[]",
    "no text": (2).to_bytes(8, "little") + b"\xff\xff",
    "deep": (100000).to_bytes(8, "little") + b"[" * 100000,
    "an unknown type": header_of({"a": entry(0, 4, dtype="F5")}) + bytes(4),
    "a type that is no text": header_of({"a": entry(0, 4, dtype=[])}) + bytes(4),
    "no type": header_of({"a": {"shape": [4], "data_offsets": [0, 4]}}) + bytes(4),
    "no entry": header_of({"a": 5}),
    "a negative length": header_of({"a": entry(0, 4, shape=[-2, -2])}) + bytes(4),
    "a length that is no number": header_of({"a": entry(0, 4, shape=["4"])}) + bytes(4),
    "a broken length": header_of({"a": entry(0, 4, shape=[4.0])}) + bytes(4),
    "another shape": header_of({"a": entry(0, 4, shape=[5])}) + bytes(4),
    "three places": header_of({"a": entry(0, 4, data_offsets=[0, 4, 8])}) + bytes(4),
    "a place that is no number": header_of({"a": entry(0, 4, data_offsets=[False, 4])}) + bytes(4),
    "a place that is no integer": header_of({"a": entry(0, 4, data_offsets=[0.0, 4.0])}) + bytes(4),
    "a hole": header_of({"a": entry(0, 4), "b": entry(5, 8)}) + bytes(8),
    "an overlap": header_of({"a": entry(0, 4), "b": entry(3, 8)}) + bytes(8),
    "a hole before the first": header_of({"a": entry(1, 4)}) + bytes(4),
    "backwards": header_of({"a": entry(4, 0, shape=[0])}) + bytes(4),
    "too few bytes": header_of({"a": entry(0, 4)}) + bytes(3),
    "too many bytes": header_of({"a": entry(0, 4)}) + bytes(5),
    "metadata that are no texts": header_of({"__metadata__": {"a": 5}}),
    "metadata that are a list": header_of({"__metadata__": ["a"]}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_the_package_refuses_is_refused(key, name, tmp_path):
    (tmp_path / "plain").write_bytes(WRONG[name])
    aes_bitslice.seal(tmp_path / "plain", tmp_path / "sealed", key=key)
    with pytest.raises(reference.SafetensorError), reference.safe_open(tmp_path / "plain", "np"):
        pass
    with pytest.raises(Error, match=r"sealed: the message of the sealed file is not a safetensors file: \S+") as error:
        load_file(tmp_path / "sealed", framework="np", key=key)
    assert type(error.value) is Error and len(str(error.value)) < 500


@pytest.mark.parametrize("shape", [[1 << 62, 0], [0, 1 << 30, 1 << 31, 4], [1 << 1000, 0]])
def test_an_empty_tensor_with_lengths_without_room_is_refused(key, shape):
    file = io.BytesIO(aes_bitslice.seal_bytes(header_of({"a": entry(0, 0, dtype="F16", shape=shape)}), key=key))
    with pytest.raises(Error, match="gives 'a' lengths for which no number of bytes has room"):
        load_file(file, framework="np", key=key)


@pytest.mark.parametrize("longer", [False, True])
def test_the_longest_header_is_that_of_the_package(key, longer, tmp_path):
    """Of zeros, which are no JSON: one that is longer is not even looked at."""
    size = 100_000_000 + longer
    with open(tmp_path / "plain", "wb") as plain:
        plain.write(size.to_bytes(8, "little"))
        plain.truncate(8 + size)
    with pytest.raises(reference.SafetensorError, match="too large" if longer else "invalid JSON"), reference.safe_open(tmp_path / "plain", "np"):
        pass
    sealed = io.BytesIO(aes_bitslice.seal_bytes((tmp_path / "plain").read_bytes(), key=key))
    with pytest.raises(Error, match="it has no header" if longer else "its header is damaged"):
        load_file(sealed, framework="np", key=key)


def test_more_dimensions_than_numpy_has_are_refused(key, tmp_path):
    for dimensions in (MOST_DIMENSIONS, MOST_DIMENSIONS + 1):
        header = header_of({"a": entry(0, 1, shape=[1] * dimensions)})
        (tmp_path / str(dimensions)).write_bytes(aes_bitslice.seal_bytes(header + b"x", key=key))
    assert load_file(tmp_path / str(MOST_DIMENSIONS), framework="np", key=key)["a"].ndim == MOST_DIMENSIONS
    path = tmp_path / str(MOST_DIMENSIONS + 1)
    for read in (load_file, lambda path, **options: safe_open(path, **options).get_tensor("a")):
        with pytest.raises(Error, match=f"^{path}: the tensor 'a' has {path.name} dimensions, and NumPy has at most {MOST_DIMENSIONS}$"):
            read(path, framework="np", key=key)


def test_a_name_that_is_there_twice_is_refused(key):
    twice = header_of({"a": entry(0, 4), "b": entry(4, 8)}).replace(b'"b"', b'"a"')
    file = io.BytesIO(aes_bitslice.seal_bytes(twice + bytes(8), key=key))
    with pytest.raises(Error, match="there twice"):
        load_file(file, framework="np", key=key)


def test_what_the_package_reads_is_read(key, tmp_path):
    """Changes of a right header at random: what one refuses, the other does, except a name that is there twice."""
    chance, taken = random.Random(5), 0
    right = header_of({"a": entry(0, 4), "b": entry(4, 12, dtype="F16", shape=[2, 2]), "__metadata__": {"x": "y"}}, 3)
    for _ in range(800):
        changed = bytearray(right)
        changed[chance.randrange(9, len(right))] = chance.choice(b'0123456789[]{},:"ab F_-. ')
        message = bytes(changed) + bytes(12)
        (tmp_path / "plain").write_bytes(message)
        try:
            with reference.safe_open(tmp_path / "plain", "np") as file:
                theirs = {name: raw(file.get_tensor(name)) for name in file.keys()}
        except (reference.SafetensorError, AttributeError, TypeError):
            theirs = None
        try:
            ours = load_file(io.BytesIO(aes_bitslice.seal_bytes(message, key=key)), framework="np", key=key)
            ours = {name: raw(ours[name]) for name in sorted(ours)}
        except Error as error:
            ours = theirs if "there twice" in str(error) else None
        assert ours == (theirs and dict(sorted(theirs.items()))), bytes(changed)
        taken += ours is not None
    assert 20 < taken < 780


def test_damaged_files_and_wrong_keys(key, tmp_path):
    path, damaged = tmp_path / "sealed", tmp_path / "damaged"
    save_file({name: np.zeros(300_000) for name in "abc"}, path, key=key)
    file = path.read_bytes()
    with pytest.raises(AuthenticationError, match="sealed: wrong key"):
        load_file(path, framework="np", key=Key.generate())
    with pytest.raises(ValueError, match="256 bits"):
        load_file(path, framework="np", key=Key.generate(128))
    with pytest.raises(TypeError, match="one of key="):
        load_file(path, framework="np")
    damaged.write_bytes(file[: 3 * SEGMENT] + bytes([file[3 * SEGMENT] ^ 1]) + file[3 * SEGMENT + 1 :])
    with pytest.raises(AuthenticationError, match="damaged: segment 2 is damaged"):
        load_file(damaged, framework="np", key=key)
    with safe_open(damaged, "np", key=key) as ours:
        assert not ours.get_tensor("c").any()
        for name in "ab":
            with pytest.raises(AuthenticationError, match="damaged: segment 2 is damaged"):
                ours.get_tensor(name)
    for length in [0, 50, 136, 151, 152, SEGMENT + 96, 3 * SEGMENT + 96, len(file) - 1]:
        damaged.write_bytes(file[:length])
        with pytest.raises(AuthenticationError if length else Error, match="^" + re.escape(str(damaged))):
            load_file(damaged, framework="np", key=key)
    for more in (1, 100, SEGMENT):
        damaged.write_bytes(file + bytes(more))
        with pytest.raises(AuthenticationError, match="damaged"):
            load_file(damaged, framework="np", key=key)
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "nothing", framework="np", key=key)
    with pytest.raises(Error, match="not a sealed file"):
        load_file(io.BytesIO(b"something else" * 100), framework="np", key=key)


def test_a_file_that_becomes_shorter_is_refused(key, tmp_path):
    path = tmp_path / "sealed"
    save_file({"a": np.zeros(1_000_000)}, path, key=key)
    with safe_open(path, "np", key=key) as ours:
        os.truncate(path, 2 * SEGMENT)
        with pytest.raises(AuthenticationError, match="became shorter"):
            ours.get_tensor("a")


def test_nothing_of_a_damaged_tensor_is_left(key, monkeypatch):
    made = []

    def empty(size):
        made.append(np.zeros(size, np.uint8))
        return made[-1]

    changed = bytearray(saved({"a": np.ones(1_000_000)}, key).getvalue())
    changed[-1] ^= 1
    with safe_open(io.BytesIO(changed), "np", key=key) as ours:
        monkeypatch.setattr(ours._parts, "_memory", ours._parts._memory._replace(empty=empty))
        with pytest.raises(AuthenticationError):
            ours.get_tensor("a")
    assert made[-1].nbytes >= 8_000_000 and not made[-1].any()


@pytest.fixture
def memory(monkeypatch):
    """The arrays that plaintext was decrypted in."""
    made = []

    def empty(*given, **options):
        made.append(np.zeros(*given, **options))
        return made[-1]

    monkeypatch.setattr(np, "empty", empty)
    return made


def test_no_plaintext_is_left_beside_the_tensors(key, memory):
    """Of the header's segments, of the last one, and of what is not returned because of an exception after it was decrypted."""
    with safe_open(saved({"a": np.ones(1000)}, key), "np", key=key) as ours:
        assert memory and not any(array.any() for array in memory)
        ours._parts.check_end()
        with pytest.raises(IndexError):
            ours.get_slice("a")[0:500, 7]
        assert len(memory) >= 4 and not any(array.any() for array in memory)
        # A few rows are a copy.
        with pytest.raises(IndexError) as raised:
            ours.get_slice("a")[0:10, 7]
        copies = [entry.locals["whole"] for entry in raised.traceback if "whole" in entry.locals]
        assert copies and not any(copy.any() for copy in copies)
        ours.get_tensor("a")
        assert memory[-1].any()


def test_elements_that_are_together(key, monkeypatch):
    """As those of 4 bits are, here with another type of NumPy in the place of PyTorch's."""
    monkeypatch.setitem(sealed._TYPES, "F4", (4, "uint8"))
    monkeypatch.setitem(sealed._NAMES, "uint8", "F4")
    with safe_open(saved({"a": np.arange(6, dtype=np.uint8).reshape(2, 3)}, key), "np", key=key) as ours:
        assert ours.get_slice("a").get_shape() == [2, 6] and (ours.get_tensor("a") == np.arange(6).reshape(2, 3)).all()
    with pytest.raises(ValueError, match="'a' has no dimension, and its element holds several"):
        save_file({"a": np.array(5, np.uint8)}, io.BytesIO(), key=key)
    odd = io.BytesIO(aes_bitslice.seal_bytes(header_of({"a": entry(0, 3, dtype="F4", shape=[2, 3])}) + bytes(3), key=key))
    for read in [lambda: load_file(odd, framework="np", key=key), lambda: safe_open(odd, "np", key=key).get_tensor("a")]:
        with pytest.raises(Error, match=r"'a' has the shape \[2, 3\], and an element of NumPy holds 2 of its elements"):
            read()


def test_memory_that_is_read_to_keeps_its_array():
    array = np.zeros(100, np.uint8)
    left, view = weakref.ref(array), _lanes.host_bytes(array)
    del array
    assert left() is not None and view.nbytes == 100
    del view
    assert left() is None


def test_a_file_that_its_owner_closed_hides_no_error(key):
    file = saved({"a": np.ones(3)}, key)
    with pytest.raises(ZeroDivisionError), safe_open(file, "np", key=key):
        file.close()
        1 / 0


def test_a_closed_file_keeps_no_key(key):
    file = io.BytesIO(b"before")
    file.seek(6)
    save_file({"a": np.ones(3), "b": np.ones(0)}, file, key=key)
    file.seek(6)
    with safe_open(file, "np", key=key) as ours:
        cipher = weakref.ref(ours._parts._segments.cipher)
        assert cipher() is not None and ours.get_tensor("a").all()
    assert cipher() is None and file.tell() == 6
    for name in "ab":
        with pytest.raises(ValueError, match="closed file"):
            ours.get_tensor(name)
    with pytest.raises(AuthenticationError):
        load_file(file, framework="np", key=Key.generate())
    assert file.tell() == 6
    with pytest.raises(TypeError, match="seek"):
        load_file(SimpleNamespace(read=file.read), framework="np", key=key)


def test_after_an_exception_nothing_is_read(key, monkeypatch):
    """Into memory that may be somebody else's by then."""
    class Slow(io.BytesIO):
        def read(self, size=-1):
            reading.append(self.tell())
            time.sleep(0.1 if self.tell() > 2 * SEGMENT else 0)
            data = super().read(size)
            reading.pop()
            return data

    file, reading = Slow(), []
    save_file({"a": np.ones(30_000_000, np.uint8)}, file, key=key)
    file.seek(0)
    monkeypatch.setattr(_lanes.HostLane, "piece", SEGMENT)
    monkeypatch.setattr(_lanes, "THREADS", 3)
    with safe_open(file, "np", key=key) as ours:
        monkeypatch.setattr(ours._parts, "_decrypt", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ours.get_tensor("a")
        assert not reading


def test_no_partial_file(key, tmp_path):
    path, wide = tmp_path / "sealed", np.zeros((10, 10))
    for tensors, error, words in [
        ({"a": wide, "b": wide[:, :5]}, ValueError, "'b' is not contiguous"),
        ({"a": wide, "b": [1.0]}, TypeError, "'b' must be"),
        ({"a": wide, "b": np.array(["x"])}, TypeError, "'b' must be"),
        ({"a": wide, "b": wide.astype(">f8")}, TypeError, "'b' must be"),
        ({"a": wide, "__metadata__": wide}, ValueError, "name"),
        ({5: wide}, ValueError, "name"),
        ({"a": np.ma.masked_equal(wide, 0)}, TypeError, "'a' is a masked array"),
        ([("a", wide)], TypeError, "tensors must be a dictionary of tensors by their names, not list"),
    ]:
        with pytest.raises(error, match=words):
            save_file(tensors, path, key=key)
    for metadata in ({"a": 5}, {5: "a"}, ["a"]):
        with pytest.raises(TypeError, match="metadata"):
            save_file({}, path, metadata, key=key)
    with pytest.raises(TypeError, match="one of key="):
        save_file({"a": wide}, path)
    assert not list(tmp_path.iterdir())
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        save_file({"a": wide}, path, key=key)
    assert path.read_bytes() == b"precious"
    save_file({"a": wide}, path, key=key, overwrite=True)
    assert load_file(path, framework="np", key=key)["a"].shape == (10, 10)
    with pytest.raises(ValueError, match="framework"):
        load_file(path, framework="tf", key=key)
    with pytest.raises(ValueError, match="device"):
        load_file(path, "cuda", framework="np", key=key)


@pytest.mark.parametrize("piece, part", [(1, 100_000), (1 << 20, 1 << 20), (3 << 20, 1_000_000), (16 << 20, 16 << 20)])
def test_pieces(key, monkeypatch, tmp_path, piece, part):
    monkeypatch.setattr(_lanes.HostLane, "piece", piece)
    monkeypatch.setattr(_segments, "PART", part)
    monkeypatch.setattr(sealed, "HostLane", BoundedLane)
    tensors = {"a": np.random.default_rng(1).random(3_000_000), "b": np.ones(3, np.uint8)}
    save_file(tensors, tmp_path / "sealed", key=key)
    for file in (tmp_path / "sealed", io.BytesIO((tmp_path / "sealed").read_bytes())):
        same(load_file(file, framework="np", key=key), tensors)


def test_an_empty_message_ends_where_its_file_does(key, tmp_path):
    (tmp_path / "sealed").write_bytes(aes_bitslice.seal_bytes(b"", key=key))
    memory = _segments.Memory(aes_bitslice.Engine("cpu"), lambda size: np.empty(size, np.uint8), _lanes.HostLane())
    for file in (tmp_path / "sealed", io.BytesIO((tmp_path / "sealed").read_bytes())):
        _segments.Parts(file, memory, key=key).check_end()


def test_tensors_may_be_loaded_in_inference_mode(key, torch, tmp_path):
    tensors = {"a": torch.arange(5_000_000)}
    save_file(tensors, tmp_path / "sealed", key=key)
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        with torch.inference_mode():
            found = load_file(tmp_path / "sealed", device, key=key)
            assert found["a"].is_inference() and torch.equal(found["a"].cpu(), tensors["a"])


# PyTorch.


def torch_tensors(torch):
    """Tensors of every type that both packages have."""
    found = {}
    for name in sealed._NAMES:
        dtype = getattr(torch, name, None)
        if dtype is None:
            continue
        for shape in [(), (0, 4), (7, 4), (1000, 334)]:
            generator = torch.Generator().manual_seed(len(found))
            size = dtype.itemsize * int(np.prod(shape))
            data = torch.randint(0, 2 if name == "bool" else 256, (size,), dtype=torch.uint8, generator=generator)
            if not (shape == () and "x2" in name):
                found[f"{name} {shape}"] = data.view(dtype).reshape(shape)
    return found


def test_tensors_are_those_of_the_package(key, torch, tmp_path):
    from safetensors.torch import load_file as load_plain
    from safetensors.torch import save_file as save_plain

    path, plain, tensors = tmp_path / "sealed", tmp_path / "plain", torch_tensors(torch)
    assert {"bfloat16 (7, 4)", "float8_e4m3fn (7, 4)", "float8_e5m2 (7, 4)"} <= tensors.keys()
    save_file(tensors, path, key=key)
    aes_bitslice.open(path, plain, key=key)
    same(load_plain(plain), tensors)
    found = load_file(path, key=key)
    same(found, tensors)
    with reference.safe_open(plain, "pt") as theirs, safe_open(path, key=key) as ours:
        looks_alike(ours, theirs)
    # What was read, although it is in one piece of memory, is written by the package; and what it writes is read.
    save_plain(found, tmp_path / "again")
    aes_bitslice.seal(tmp_path / "again", tmp_path / "sealed again", key=key)
    same(load_file(tmp_path / "sealed again", key=key), tensors)


def test_a_model(key, torch, tmp_path):
    def model():
        return torch.nn.Sequential(torch.nn.Linear(300, 1000), torch.nn.BatchNorm1d(1000), torch.nn.Linear(1000, 10)).eval()

    one, other, data = model(), model(), torch.randn(5, 300)
    save_file(one.state_dict(), tmp_path / "sealed", key=key)
    other.load_state_dict(load_file(tmp_path / "sealed", key=key))
    assert torch.equal(one(data), other(data))
    third = model()
    third.load_state_dict(load_file(tmp_path / "sealed", key=key), assign=True)
    assert torch.equal(one(data), third(data))
    third(data).sum().backward()


def test_types_that_a_framework_lacks(key, torch, tmp_path):
    save_file({"a": torch.ones(3, dtype=torch.bfloat16), "b": torch.ones(3)}, tmp_path / "sealed", key=key)
    with safe_open(tmp_path / "sealed", "np", key=key) as ours:
        assert ours.get_tensor("b").tolist() == [1, 1, 1]
        with pytest.raises(Error, match="sealed: the tensor 'a' has the type BF16, which NumPy does not have"):
            ours.get_tensor("a")
    with pytest.raises(Error, match="BF16"):
        load_file(tmp_path / "sealed", framework="np", key=key)
    six = header_of({"a": entry(0, 3, dtype="F6_E2M3", shape=[4])}) + bytes(3)
    with pytest.raises(Error, match="F6_E2M3, which PyTorch"):
        load_file(io.BytesIO(aes_bitslice.seal_bytes(six, key=key)), key=key)


def test_tensors_that_are_not_saved(key, torch, tmp_path):
    for tensor, error in [(torch.ones(3, 3).T[:2], ValueError), (torch.ones(3).to_sparse(), (ValueError, TypeError, BufferError))]:
        with pytest.raises(error):
            save_file({"a": tensor}, tmp_path / "sealed", key=key)
    assert not list(tmp_path.iterdir())
    save_file({"a": torch.ones(3, requires_grad=True)}, tmp_path / "sealed", key=key)
    with pytest.raises(ValueError, match="on the CPU or on a CUDA GPU"):
        load_file(tmp_path / "sealed", "meta", key=key)


#: Loads a file to a device, prints a sum of the tensor, and waits.
LOADER = """
import sys
import torch
from aes_bitslice import Key
from aes_bitslice.safetensors import load_file
tensor = load_file(sys.argv[1], sys.argv[3], key=Key.from_file(sys.argv[2]))["secret"]
print(int(tensor.view(torch.int64).sum()), tensor.device, flush=True)
sys.stdin.read()
"""


def found_in_memory(process, needle, step=1 << 24):
    """The number of bytes of a process that were searched, and of places that have `needle`."""
    searched = found = 0
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for line in maps:
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            if line.split()[1][0] != "r":
                continue
            for at in range(start, end, step):
                try:
                    memory.seek(at)
                    data = memory.read(min(step, end - at) + len(needle))
                except (OSError, OverflowError, ValueError):
                    break  # such as the registers of a device
                searched, found = searched + len(data), found + data.count(needle)
    return searched, found


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda:0", id="gpu")])
def test_where_plaintext_is(key, torch, tmp_path, device):
    """In host memory on the CPU, which shows that the search finds it; nowhere in host memory on a GPU."""
    if device != "cpu" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA GPU")
    count = 3_000_000
    secret = torch.randint(-(2**62), 2**62, (count,), dtype=torch.int64)
    key.save(tmp_path / "key")
    save_file({"secret": secret}, tmp_path / "sealed", key=key)
    child = subprocess.Popen([sys.executable, "-c", LOADER, tmp_path / "sealed", tmp_path / "key", device], stdin=-1, stdout=-1)
    try:
        line = child.stdout.readline().decode()
        assert line.split() == [str(int(secret.sum())), device]
        # In the first segment, which has the header, too; within one; and in the last.
        for place in (0, count // 2, count - 8):
            needle = bytes(secret[place : place + 4].view(torch.uint8).tolist())
            searched, found = found_in_memory(child.pid, needle)
            assert searched > 24_000_000 and (found > 0) == (device == "cpu"), (place, found)
    finally:
        child.communicate()


@pytest.mark.parametrize("piece, room", [(1, 300_000), (3 << 20, 2 << 20), (64 << 20, 4 << 20)])
def test_gpu_tensors(key, torch, tmp_path, monkeypatch, piece, room):
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA GPU")
    monkeypatch.setattr(_lanes.GpuLanes, "piece", piece)
    monkeypatch.setattr(_segments, "ROOM", room)
    tensors = torch_tensors(torch) | {"large": torch.randn(75, 1 << 20)}
    path = tmp_path / "sealed"
    save_file({name: tensor.cuda() for name, tensor in tensors.items()}, path, key=key)
    for device in ("cuda", 0, torch.device("cuda:0")):
        found = load_file(path, device, key=key)
        assert all(tensor.is_cuda and tensor.data_ptr() % 16 == 0 for tensor in found.values())
        same({name: tensor.cpu() for name, tensor in found.items()}, tensors)
    with torch.cuda.stream(torch.cuda.Stream()), safe_open(path, "pt", "cuda", key=key) as ours:
        for name in tensors:
            assert raw(ours.get_tensor(name)) == raw(tensors[name])
        assert raw(ours.get_slice("large")[17:19, 5:]) == raw(tensors["large"][17:19, 5:])
    for message in WRONG.values():
        with pytest.raises(Error, match="not a safetensors file"):
            load_file(io.BytesIO(aes_bitslice.seal_bytes(message, key=key)), "cuda", key=key)
    file = bytearray(path.read_bytes())
    file[200 * SEGMENT] ^= 1
    for _ in range(3):
        with pytest.raises(AuthenticationError, match="segment 199 is damaged"):
            load_file(io.BytesIO(file), "cuda", key=key)
    same({name: tensor.cpu() for name, tensor in load_file(path, "cuda", key=key).items()}, tensors)
