"""Keys, engines and ciphers as Python's objects; the modules of the package; arguments of kinds that are not taken."""

import copy
import json
import subprocess
import sys
import warnings
import weakref
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import aes_bitslice
from aes_bitslice import Engine, Key, keys

IV = bytes(16)


def test_the_installed_package_has_its_licences():
    files = {file.name: file for file in metadata.files("aes-bitslice")}
    root = Path(__file__).resolve().parents[3]
    for name in ["LICENSE-MIT", "LICENSE-APACHE"]:
        assert files[name].read_text() == (root / name).read_text()
    # The crates that are linked in, with their licences.
    parts = json.loads(next(file for name, file in files.items() if name.endswith(".cyclonedx.json")).read_text())["components"]
    assert len(parts) > 30 and all("licenses" in part for part in parts)


def test_keys_are_equal_if_their_bytes_are():
    key = Key(bytes(32))
    assert key == Key(bytes(32)) and hash(key) == hash(Key(bytes(32)))
    assert key != Key(bytes(31) + b"\1") and key != Key(bytes(16)) and key != bytes(32) and key != None  # noqa: E711
    assert Key(bytes(15) + b"\1" + bytes(16)) != Key.xts(bytes(15) + b"\1" + bytes(16))
    assert len({key, Key(bytes(32)), Key(bytes(24))}) == 2
    # A hash is shown and stored: it tells nothing of the bytes.
    assert hash(key) == hash(Key(bytes(31) + b"\1"))


def test_copies_and_weak_references_of_what_never_changes():
    engine = Engine("cpu")
    for thing in [Key(bytes(16)), engine, engine.cipher(Key(bytes(16)))]:
        assert copy.copy(thing) is thing and copy.deepcopy([thing])[0] is thing
        assert weakref.ref(thing)() is thing
    assert repr(engine) == 'Engine("cpu")' and repr(engine.cipher(Key(bytes(16)))) == 'Cipher(on "cpu")'
    assert len(repr(Engine())) < 40


def test_a_reference_has_any_scheme_that_is_registered(monkeypatch):
    monkeypatch.setattr(keys, "_registered", {})
    keys.register("vault", lambda name: Key.from_hex(name * 32))
    assert Key.from_reference("vault:a") == Key(b"\xaa" * 16)
    with pytest.raises(ValueError, match="is no XTS key, and xts is True"):
        Key.from_reference("vault:a", xts=True)
    with pytest.raises(ValueError, match="scheme that this process knows"):
        Key.from_reference("other:a")


def test_modules_need_no_import_of_their_own():
    program = "import aes_bitslice; aes_bitslice.ranges.rows; aes_bitslice.keys.resolve; aes_bitslice.dask.seal; aes_bitslice.ray.Encryptor"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        aes_bitslice.nothing


def test_a_length_that_no_object_has_is_refused_by_name():
    cipher = Engine("cpu").cipher(Key(bytes(16)))
    for call in [lambda n: cipher.keystream(IV, n), aes_bitslice.random_bytes, Engine("cpu").host_buffer]:
        with pytest.raises(ValueError, match=r"^length must be 0 to 2\^63 - 1, not 9223372036854775808"):
            call(2**63)


def test_ranges_are_lists_or_arrays():
    cipher = Engine("cpu").cipher(Key(bytes(16)))
    data, pairs = bytes(1000), [(0, 100), (200, 300), (999, 1000)]
    expected = cipher.cmac_batch(pairs, data)
    for kind in [np.int64, np.uint64, np.int32, np.uint16]:
        array = np.array(pairs, kind)
        assert cipher.cmac_batch(array, data) == expected
        assert cipher.cmac_batch(np.array([pairs, pairs], kind)[0], data) == expected
        assert cipher.cmac_batch(np.asfortranarray(array), data) == expected
    assert cipher.cmac_batch(np.array(pairs, ">i8"), data) == expected
    assert cipher.cmac_batch(np.zeros((0, 2), np.int64), data) == b""
    with pytest.raises(ValueError, match="message 1 has a number that is not a position"):
        cipher.cmac_batch(np.array([(0, 1), (-1, 5)]), data)
    for wrong in [np.array(pairs, float), np.zeros((3, 3), np.int64), np.zeros(4, np.int64)]:
        with pytest.raises(TypeError, match="range 0 is not a pair"):
            cipher.cmac_batch(wrong, data)


def test_data_of_other_kinds_is_refused_with_advice():
    cipher = Engine("cpu").cipher(Key(bytes(16)))

    class Series:
        def to_numpy(self):
            raise AssertionError("only its name is looked for")

    for wrong, advice in [("text", "str: encode it"), ([1, 2], "list: make bytes or an array of it"), (Series(), "Series: give its .to_numpy()"), (5, "int$"), (None, "NoneType$")]:
        with pytest.raises(TypeError, match=f"^data is bytes, an array or a tensor .* not {advice}"):
            cipher.ctr(IV, wrong)
    with pytest.raises(BufferError, match="numpy.ascontiguousarray"):
        cipher.ctr(IV, np.zeros((4, 4))[:, 1])

    class Odd(TypeError):
        pass

    class Array:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **options):
            raise Odd("values of this kind have no memory of their own")

    with warnings.catch_warnings(), pytest.raises(TypeError, match="^data cannot be used: values of this kind") as raised:
        warnings.simplefilter("error")
        cipher.ctr(IV, Array())
    assert type(raised.value) is TypeError


def test_arrays_of_arrow_that_are_no_plain_memory_are_refused():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    cipher = Engine("cpu").cipher(Key(bytes(16)))
    for array in [pyarrow.array([1, None]), pyarrow.array([True, False]), pyarrow.array(["a"])]:
        with warnings.catch_warnings(), pytest.raises(TypeError, match="^data cannot be used: ") as raised:
            warnings.simplefilter("error")
            cipher.ctr(IV, array)
        assert type(raised.value) is TypeError
