"""Sealed files and Tink's streams: paths and file objects, ranges, changed data, files of the command line and of
Tink."""

import array
import base64
import codecs
import contextlib
import ctypes
import errno
import gc
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import aes_bitslice
from aes_bitslice import AuthenticationError, Error, Key

PROGRAM = Path(__file__).resolve().parents[3] / "target" / "debug" / "aes-bitslice"


def opened_from(source, **options):
    """What `open` writes to a file object, and the number that it returns is that of these bytes."""
    into = io.BytesIO()
    assert aes_bitslice.open(source, into, **options) == len(into.getvalue())
    return into.getvalue()


@pytest.fixture
def disk(tmp_path):
    """A loop device of 4 MiB."""
    file = tmp_path / "disk"
    file.write_bytes(bytes(4 << 20))
    made = subprocess.run(["losetup", "--find", "--show", file], capture_output=True, text=True) if shutil.which("losetup") else None
    if made is None or made.returncode:
        pytest.skip("no loop device can be made here")
    yield made.stdout.strip()
    subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)


def test_nothing_marks_on_a_disk_where_sealed_data_ends(disk):
    key, message = Key.generate(), bytes(range(250)) * 5000
    with pytest.raises((OSError, ValueError), match="device"):
        aes_bitslice.seal(io.BytesIO(message), disk, key=key, overwrite=True)
    with open(disk, "r+b") as file:
        aes_bitslice.seal(io.BytesIO(message), file, key=key)
        length = file.tell()
    advice = "it is a disk, and nothing marks there where sealed data ends: give a file object that ends there"
    for source in (disk, open(disk, "rb"), open(disk, "rb", buffering=0)):
        for read in (
            lambda: opened_from(source, key=key),
            lambda: opened_from(source, key=key, range=(1_200_000, 1_200_001)),
            lambda: aes_bitslice.SealedFile(source, key=key),
        ):
            getattr(source, "seek", int)(0)
            with pytest.raises(AuthenticationError, match=advice):
                read()
        getattr(source, "seek", int)(0)
        with pytest.raises(AuthenticationError) as raised:
            opened_from(source, key=Key.generate())
        assert "disk" not in str(raised.value)
    with open(disk, "rb") as file:
        assert aes_bitslice.open_bytes(file.read(length), key=key) == message


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_there_and_back(key, tmp_path, size):
    message = os.urandom(size)
    (tmp_path / "message").write_bytes(message)
    sealed, opened = tmp_path / "sealed", tmp_path / "opened"
    assert aes_bitslice.seal(tmp_path / "message", str(sealed), key=key) == size
    assert aes_bitslice.is_sealed(sealed.read_bytes()[:96])
    assert aes_bitslice.open(str(sealed), opened, key=key) == size
    assert opened.read_bytes() == message
    mask = os.umask(0)
    os.umask(mask)
    assert opened.stat().st_mode & 0o777 == 0o666 & ~mask
    with open(sealed, "rb") as file:
        assert opened_from(file, key=key) == message
    start, end = size // 3, size // 2
    assert opened_from(sealed, key=key, range=(start, end)) == message[start:end]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["message", "opened", "sealed"]


def test_passphrases():
    sealed = io.BytesIO()
    aes_bitslice.seal(io.BytesIO(b"a message"), sealed, passphrase="grüße")
    assert opened_from(io.BytesIO(sealed.getvalue()), passphrase="grüße".encode()) == b"a message"
    with pytest.raises(AuthenticationError, match="wrong passphrase"):
        opened_from(io.BytesIO(sealed.getvalue()), passphrase="gruesse")
    with pytest.raises(ValueError, match="sealed with a passphrase"):
        opened_from(io.BytesIO(sealed.getvalue()), key=Key.generate())
    with pytest.raises(ValueError, match="empty"):
        aes_bitslice.seal(io.BytesIO(b""), io.BytesIO(), passphrase="")
    for refused, why in [("\ufeffpw", "a byte order mark"), (b"\xff\xfe", "not UTF-8"), (b"caf\xe9", "not UTF-8"), ("a\n", "a line end")]:
        with pytest.raises(ValueError, match=f"^a new passphrase is one line of text in UTF-8, .* {why}"):
            aes_bitslice.seal_bytes(b"", passphrase=refused)
        # What was sealed with one is opened with it.
        with pytest.raises(AuthenticationError, match="wrong passphrase"):
            opened_from(io.BytesIO(sealed.getvalue()), passphrase=refused)


@pytest.mark.parametrize("start, option", [(b"Salted__", "-d"), (b"U2FsdGVkX1", "-d -a")])
def test_what_openssl_makes_of_a_password_is_told(key, start, option):
    for secret in [{"key": key}, {"passphrase": "words"}]:
        with pytest.raises(Error, match=f"not a sealed file: it begins with `Salted__`.*: decrypt it with `openssl enc {option}`$"):
            aes_bitslice.open_bytes(start + bytes(100), **secret)


def test_what_to_do_is_said_where_a_source_may_go_on_after_its_message(key, tmp_path):
    longer = aes_bitslice.seal_bytes(b"a message", key=key) + b"and more"
    (tmp_path / "longer").write_bytes(longer)
    for work in [
        lambda: aes_bitslice.open(tmp_path / "longer", tmp_path / "out", key=key),
        lambda: aes_bitslice.SealedFile(io.BytesIO(longer), key=key),
        lambda: aes_bitslice.open_bytes(longer, key=key),
    ]:
        with pytest.raises(AuthenticationError, match=r"; if the source goes on after the sealed data, give that alone: a slice, or an io.BytesIO of one$"):
            work()
    assert aes_bitslice.open_bytes(longer[:-8], key=key) == b"a message"


def test_who_opens_without_a_destination_is_told_what_reads(key, tmp_path):
    aes_bitslice.seal(io.BytesIO(b"a message"), tmp_path / "sealed", key=key)
    with pytest.raises(TypeError, match=r"^destination is missing: give a path, .*; SealedFile\(source, key=key\) is a file object"):
        aes_bitslice.open(tmp_path / "sealed", key=key)


def test_what_was_changed_is_refused_and_leaves_no_file(key, tmp_path):
    sealed = tmp_path / "sealed"
    aes_bitslice.seal(io.BytesIO(os.urandom(3_000_000)), sealed, key=key)
    whole = bytearray(sealed.read_bytes())
    for change in [lambda b: b.__setitem__(2_000_000, b[2_000_000] ^ 1), lambda b: b.__delitem__(slice(-5, None)), lambda b: b.extend(b"!")]:
        changed = bytearray(whole)
        change(changed)
        sealed.write_bytes(changed)
        with pytest.raises(AuthenticationError):
            aes_bitslice.open(sealed, tmp_path / "opened", key=key)
    sealed.write_bytes(whole)
    with pytest.raises(AuthenticationError, match="wrong key"):
        aes_bitslice.open(sealed, tmp_path / "opened", key=Key.generate())
    with pytest.raises(Error, match="not a sealed file"):
        aes_bitslice.open(io.BytesIO(b"something else"), tmp_path / "opened", key=key)
    assert [path.name for path in tmp_path.iterdir()] == ["sealed"]


def test_files_are_not_replaced_unless_asked_for(key, tmp_path):
    (tmp_path / "there").write_bytes(b"precious")
    with pytest.raises(FileExistsError) as raised:
        aes_bitslice.seal(io.BytesIO(b"new"), tmp_path / "there", key=key)
    assert raised.value.filename.endswith("there") and (tmp_path / "there").read_bytes() == b"precious"
    aes_bitslice.seal(io.BytesIO(b"new"), tmp_path / "there", key=key, overwrite=True)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    before = (tmp_path / "there").read_bytes()
    for same in ("there", "link"):
        for work in (aes_bitslice.seal, aes_bitslice.open):
            with pytest.raises(ValueError, match="the same file"):
                work(tmp_path / "there", tmp_path / same, key=key, overwrite=True)
    assert (tmp_path / "there").read_bytes() == before
    assert aes_bitslice.is_sealed((tmp_path / "there").read_bytes())
    with pytest.raises(FileNotFoundError) as raised:
        aes_bitslice.seal(tmp_path / "nothing", tmp_path / "out", key=key)
    assert raised.value.filename.endswith("nothing")
    with pytest.raises(FileNotFoundError) as raised:
        aes_bitslice.seal(io.BytesIO(b""), tmp_path / "no folder" / "out", key=key)
    assert raised.value.filename == str(tmp_path / "no folder" / "out") and ".aes-bitslice" not in str(raised.value)


def test_names_that_no_file_has_are_refused_as_by_python(key, tmp_path):
    class Fails:
        def __init__(self, error):
            self.error = error

        def __fspath__(self):
            raise self.error

    (tmp_path / "there").write_bytes(b"data")
    for name, call in [
        ("source", lambda path: aes_bitslice.seal(path, tmp_path / "out", key=key)),
        ("destination", lambda path: aes_bitslice.seal(tmp_path / "there", path, key=key)),
        ("source", lambda path: aes_bitslice.open(path, tmp_path / "out", key=key)),
        ("source", lambda path: aes_bitslice.SealedFile(path, key=key)),
        ("destination", lambda path: aes_bitslice.SealedFile(path, "wb", key=key)),
        ("path", aes_bitslice.Key.from_file),
        ("path", key.save),
    ]:
        with pytest.raises(ValueError, match=f"^{name} has a NUL byte, and no path has one(\n|$)"):
            call("a\0b")
        with pytest.raises(FileNotFoundError, match=f"{name} is an empty name: give that of a file(\n|$)") as raised:
            call("")
        assert raised.value.errno == errno.ENOENT
        with pytest.raises(UnicodeEncodeError):
            call("\ud800")
        for error in (KeyError("mine"), TypeError("mine")):
            with pytest.raises(type(error), match="mine"):
                call(Fails(error))
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_a_replaced_file_keeps_its_owner(key, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give files to others")
    sealed, opened = tmp_path / "sealed", tmp_path / "opened"
    aes_bitslice.seal(io.BytesIO(b"a message"), sealed, key=key)
    opened.write_bytes(b"old")
    os.chown(opened, 12345, 12346)
    opened.chmod(0o640)
    aes_bitslice.open(sealed, opened, key=key, overwrite=True)
    found = opened.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (12345, 12346, 0o640)


def test_open_files_named_by_their_numbers_are_not_replaced(key, tmp_path):
    """A new file would take the name of the one that standard output goes to, and the program would go on with the old one."""
    (tmp_path / "source").write_bytes(b"a message")
    key.save(tmp_path / "key")
    (tmp_path / "link").symlink_to("/dev/stdout")
    script = """
import os, sys
import aes_bitslice
from aes_bitslice import Key, SealedFile, ranges
key = Key.from_file("key")
aes_bitslice.seal("source", "sealed", key=key)
names = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", f"/proc/{os.getpid()}/fd/1", "link", "/dev/stderr", "/dev/fd/77"]
works = [
    (True, lambda name: aes_bitslice.seal("source", name, key=key)),
    (True, lambda name: aes_bitslice.seal("source", name, key=key, overwrite=True)),
    (True, lambda name: aes_bitslice.open("sealed", name, key=key, overwrite=True)),
    (True, lambda name: SealedFile(name, "wb", key=key, overwrite=True)),
    (False, lambda name: key.save(name)),
    (False, lambda name: ranges.rows("source", name)),
    (False, lambda name: ranges.rows("source", name, overwrite=True)),
    (False, lambda name: ranges.encrypt_row({**ranges.rows("source", "out")[0], "destination": name}, "file:key")),
]
def refused(work, name, *parts):
    try:
        work(name)
    except ValueError as error:
        assert name in str(error) and all(part in str(error) for part in parts), error
    else:
        raise AssertionError(f"{name} was written")
parent = f"/proc/{os.getppid()}/fd/{sys.argv[1]}"
for takes_objects, work in works:
    for name in names:
        refused(work, name, "an open file of this process", "sys.stdout.buffer" if takes_objects else "give the path of the file itself")
    refused(work, parent, "an open file of another process")
aes_bitslice.seal("source", sys.stdout.buffer, key=key)
"""
    shown = tmp_path / "shown"
    with open(shown, "wb") as output:
        output.write(b"before")
        output.flush()
        command = [sys.executable, "-c", script, str(output.fileno())]
        done = subprocess.run(command, cwd=tmp_path, stdout=output, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr
        assert os.fstat(output.fileno()).st_ino == shown.stat().st_ino
    written = shown.read_bytes()
    assert written.startswith(b"before") and aes_bitslice.is_sealed(written[6:])
    assert opened_from(io.BytesIO(written[6:]), key=key) == b"a message"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "link", "sealed", "shown", "source"]


def test_links_are_followed_and_what_is_no_file_is_not_replaced(key, tmp_path):
    source, target, link = (tmp_path / name for name in ["source", "target", "link"])
    source.write_bytes(b"a message")
    target.write_bytes(b"old")
    link.symlink_to(target)
    aes_bitslice.seal(source, link, key=key, overwrite=True)
    assert link.is_symlink() and aes_bitslice.is_sealed(target.read_bytes())
    before = sorted(tmp_path.iterdir())
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    (tmp_path / "folder").mkdir()
    for name in ["pipe", "folder"]:
        with pytest.raises(ValueError, match=f"{name}.*is not replaced: give the path of a file"):
            aes_bitslice.seal(source, tmp_path / name, key=key, overwrite=True)
    with pytest.raises(FileNotFoundError):
        aes_bitslice.seal(source, tmp_path / "nowhere", key=key, overwrite=True)
    others = [tmp_path / name for name in ["pipe", "nowhere", "folder"]]
    assert sorted(tmp_path.iterdir()) == sorted(before + others)


def test_what_file_objects_raise_comes_through(key, tmp_path):
    class Fails:
        def read(self, size):
            raise KeyError("on purpose")

        def write(self, data):
            raise KeyError("on purpose")

    for source, destination in [(Fails(), tmp_path / "out"), (io.BytesIO(b"a message"), Fails())]:
        with pytest.raises(KeyError, match="on purpose"):
            aes_bitslice.seal(source, destination, key=key)
    assert list(tmp_path.iterdir()) == []
    for bad in [{}, {"key": key, "passphrase": "both"}, {"key": key, "associated_data": b"for tink"}]:
        with pytest.raises(TypeError):
            aes_bitslice.seal(io.BytesIO(b""), io.BytesIO(), **bad)
    with pytest.raises(ValueError, match="^key: a key of 256 bits .* is needed here, and this one has 128 bits$"):
        aes_bitslice.seal(io.BytesIO(b""), io.BytesIO(), key=Key.generate(128))
    with pytest.raises(TypeError):
        aes_bitslice.seal(5, io.BytesIO(), key=key)
    with pytest.raises(TypeError):
        aes_bitslice.seal(io.StringIO("text"), io.BytesIO(), key=key)


@pytest.mark.skipif(not PROGRAM.exists(), reason="the command line's program was not built: cargo build")
def test_the_command_line_opens_it_and_the_other_way_round(key, tmp_path):
    message = os.urandom(2_500_000)
    (tmp_path / "message").write_bytes(message)
    key.save(tmp_path / "key")
    arguments = ["-q", "-k", "key", "-o"]
    aes_bitslice.seal(tmp_path / "message", tmp_path / "sealed", key=key)
    subprocess.run([PROGRAM, "open", *arguments, "opened", "sealed"], cwd=tmp_path, check=True)
    assert (tmp_path / "opened").read_bytes() == message
    subprocess.run([PROGRAM, "seal", *arguments, "other", "message"], cwd=tmp_path, check=True)
    assert opened_from(tmp_path / "other", key=Key.from_file(tmp_path / "key")) == message


@pytest.fixture(scope="module")
def tink():
    tink = pytest.importorskip("tink", reason="the package tink is not installed")
    from tink import streaming_aead

    streaming_aead.register()
    return tink


def test_tink_reads_and_writes_the_same_streams(tink, tmp_path):
    from tink import cleartext_keyset_handle, streaming_aead

    templates = streaming_aead.streaming_aead_key_templates
    for template in [templates.AES256_GCM_HKDF_1MB, templates.AES128_GCM_HKDF_4KB, templates.AES256_GCM_HKDF_4KB]:
        handle = tink.new_keyset_handle(template)
        text = io.StringIO()
        cleartext_keyset_handle.write(tink.JsonKeysetWriter(text), handle)
        keyset = text.getvalue()
        theirs = handle.primitive(streaming_aead.StreamingAead)
        for size in [0, 1, 5000, 2_500_000]:
            message, data = os.urandom(size), b"associated"
            ours = io.BytesIO()
            aes_bitslice.seal(io.BytesIO(message), ours, keyset=keyset, associated_data=data)
            with theirs.new_decrypting_stream(io.BytesIO(ours.getvalue()), data) as stream:
                assert stream.read() == message

            class Kept(io.BytesIO):
                def close(self):
                    pass

            written = Kept()
            with theirs.new_encrypting_stream(written, data) as stream:
                stream.write(message)
            assert opened_from(io.BytesIO(written.getvalue()), keyset=keyset, associated_data=data) == message
            with pytest.raises(AuthenticationError):
                opened_from(io.BytesIO(written.getvalue()), keyset=keyset, associated_data=b"other")
            if PROGRAM.exists():
                (tmp_path / "keyset").write_text(keyset)
                (tmp_path / "tink").write_bytes(written.getvalue())
                arguments = ["-q", "-f", "--format", "tink", "--keyset", "keyset", "--associated-data", data.decode(), "-o"]
                subprocess.run([PROGRAM, "open", *arguments, "opened", "tink"], cwd=tmp_path, check=True)
                assert (tmp_path / "opened").read_bytes() == message
                subprocess.run([PROGRAM, "seal", *arguments, "sealed", "opened"], cwd=tmp_path, check=True)
                with theirs.new_decrypting_stream(io.BytesIO((tmp_path / "sealed").read_bytes()), data) as stream:
                    assert stream.read() == message


class Raw(io.RawIOBase):
    """A raw file whose `write` returns a given value."""

    def __init__(self, returned):
        self.returned = returned

    def writable(self):
        return True

    def write(self, data):
        return self.returned


def test_a_non_blocking_file_loses_nothing_in_silence(key):
    message = bytes(3_000_000)
    for work, data in [(aes_bitslice.seal, message), (aes_bitslice.open, aes_bitslice.seal_bytes(message, key=key))]:
        reads, writes = os.pipe()
        os.set_blocking(writes, False)
        with open(reads, "rb"), open(writes, "wb", buffering=0) as file:
            with pytest.raises(BlockingIOError, match="destination is non-blocking.*give a blocking file"):
                work(io.BytesIO(data), file, key=key)
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    for buffering in [0, -1]:
        with open(writes, "wb", closefd=False), open(reads, "rb", buffering=buffering, closefd=False) as file:
            with pytest.raises(BlockingIOError, match="source is non-blocking.*give a blocking file"):
                aes_bitslice.seal(file, io.BytesIO(), key=key)
    os.close(reads)
    os.close(writes)


def test_a_write_that_does_not_say_how_many_was_all_unless_the_file_is_raw(key):
    class Keeps:
        data = b""

        def write(self, data):
            self.data += data

    keeps = Keeps()
    assert aes_bitslice.seal(io.BytesIO(b"a message"), keeps, key=key) == 9
    assert opened_from(io.BytesIO(keeps.data), key=key) == b"a message"
    with pytest.raises(BlockingIOError):
        aes_bitslice.seal(io.BytesIO(b"a message"), Raw(None), key=key)


@pytest.mark.parametrize("returned", [10**6, -1, 10**30, "all"])
def test_a_write_that_says_what_cannot_be(key, returned):
    with pytest.raises(OSError, match=rf"write\(\) returned {returned}, which is not how many of the \d+ bytes"):
        aes_bitslice.seal(io.BytesIO(b"a message"), Raw(returned), key=key)


def test_ranges_count_from_the_position_of_a_file_object(key):
    class OnlyReads:
        def __init__(self, data):
            self.read = io.BytesIO(data).read

    sealed = io.BytesIO()
    sealed.write(b"something before")
    aes_bitslice.seal(io.BytesIO(b"a message"), sealed, key=key)
    for range in [None, (2, 9)]:
        sealed.seek(16)
        assert opened_from(sealed, key=key, range=range) == b"a message"[slice(*(range or [None]))]
    reads, writes = os.pipe()
    with open(reads, "rb") as pipe, open(writes, "wb"):
        for source in [OnlyReads(sealed.getvalue()), pipe]:
            with pytest.raises(TypeError, match=r"give a path, or a file object with seek\(\)"):
                opened_from(source, key=key, range=(2, 9))


def test_a_source_whose_seek_says_nothing_tells_its_position(key, tmp_path):
    import mmap

    class Silent(io.BytesIO):
        def seek(self, *place):
            super().seek(*place)

    class Mute(Silent):
        tell = None

    (tmp_path / "sealed").write_bytes(b"123" + aes_bitslice.seal_bytes(b"a message", key=key))
    with open(tmp_path / "sealed", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for source in [mapped, Silent(mapped[:])]:
            source.seek(3)
            assert opened_from(source, key=key, range=(2, 9)) == b"message" and source.tell() == 3
            with aes_bitslice.SealedFile(source, key=key) as message:
                assert message.read() == b"a message"
        with pytest.raises(TypeError):
            aes_bitslice.SealedFile(Mute(mapped[3:]), key=key)


def test_one_file_as_source_and_destination_is_refused(key, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"precious")
    memory = io.BytesIO(b"precious")
    with open(path, "r+b") as file, open(path, "r+b") as again:
        for source, destination in [(memory, memory), (file, file), (file, again), (file, path), (path, file)]:
            with pytest.raises(ValueError, match="the same file: give another destination"):
                aes_bitslice.seal(source, destination, key=key, overwrite=True)
    assert path.read_bytes() == memory.getvalue() == b"precious"
    with open(os.devnull, "rb") as source, open(os.devnull, "wb") as destination:
        assert aes_bitslice.seal(source, destination, key=key) == 0


def test_messages_say_what_to_do(key, tmp_path):
    with pytest.raises(IsADirectoryError) as raised:
        aes_bitslice.seal(tmp_path, io.BytesIO(), key=key)
    assert raised.value.filename == str(tmp_path)
    with pytest.raises(ValueError, match="half of a surrogate pair: give other text, or bytes"):
        aes_bitslice.seal(io.BytesIO(), io.BytesIO(), passphrase="\ud800")
    with pytest.raises(ValueError, match="there is no XTS with keys of 192 bits: use 128 or 256"):
        Key.generate(192, xts=True)
    with pytest.raises(ValueError, match="^this is no key: it has a character that is no hexadecimal digit$"):
        Key.from_hex("zz" * 16)
    # A Tink stream begins with the length of its header.
    with pytest.raises(Error, match="open it with keyset="):
        opened_from(io.BytesIO(b"\x28" + bytes(100)), key=key)
    size = "number of bytes from 1 on, such as 1500, 64MiB or 1GiB"
    for option, number, what in [
        ("--bytes", "0KiB", size),
        ("--bytes", "-5", size),
        ("--bytes", "1MB", size),
        ("--runs", "0", "whole number from 1 on"),
        ("--runs", "1.5", "whole number from 1 on"),
    ]:
        bench = subprocess.run([sys.executable, "-m", "aes_bitslice.bench", option, number], capture_output=True, text=True)
        assert bench.returncode == 2 and f"argument {option}: {number} is no {what}" in bench.stderr


def test_every_error_about_a_path_contains_it(key, tmp_path):
    path = {name: tmp_path / name for name in ["message", "sealed", "with passphrase", "folder", "out", "missing"]}
    path["message"].write_bytes(os.urandom(3_000_000))
    path["folder"].mkdir()
    aes_bitslice.seal(path["message"], path["sealed"], key=key)
    aes_bitslice.seal(io.BytesIO(b"a message"), path["with passphrase"], passphrase="right")
    whole = path["sealed"].read_bytes()
    for name, content in {
        "damaged": whole[:2_000_000] + bytes([whole[2_000_000] ^ 1]) + whole[2_000_001:],
        "cut": whole[:-5],
        "cut in the header": whole[:40],
        "damaged header": whole[:30] + bytes([whole[30] ^ 1]) + whole[31:],
        "not sealed": b"something else",
        "empty": b"",
        "like tink": b"\x28" + bytes(100),
    }.items():
        path[name] = tmp_path / name
        path[name].write_bytes(content)
    path["dangling"] = tmp_path / "dangling"
    path["dangling"].symlink_to(tmp_path / "nowhere")
    # The message AesGcmHkdfStreamingKey: segments of 4096 bytes, AES-256, SHA-256.
    value = base64.b64encode(b"\x12\x07\x08\x80\x20\x10\x20\x18\x03\x1a\x20" + bytes(32)).decode()
    data = {"typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey", "value": value, "keyMaterialType": "SYMMETRIC"}
    of_tink = {"keyData": data, "status": "ENABLED", "keyId": 1, "outputPrefixType": "RAW"}
    keyset = json.dumps({"primaryKeyId": 1, "key": [of_tink]})
    before = sorted(tmp_path.iterdir())

    def fails(kind, about, words, work, source, destination, **options):
        with pytest.raises(kind) as raised:
            work(source, destination, **({"key": key} if not options.keys() & {"key", "passphrase", "keyset"} else {}), **options)
        text = str(raised.value)
        assert type(raised.value) is kind and str(about) in text and words in text and ".aes-bitslice" not in text, text
        if issubclass(kind, OSError) and raised.value.errno:
            assert raised.value.filename == str(about)
        assert sorted(tmp_path.iterdir()) == before

    seals, opens, out = aes_bitslice.seal, aes_bitslice.open, path["out"]
    for into in [out, io.BytesIO()]:
        for name, kind, words, options in [
            ("damaged", AuthenticationError, "segment 1 is damaged", {}),
            ("damaged", AuthenticationError, "segment 1 is damaged", {"range": (1_900_000, 2_100_000)}),
            ("cut", AuthenticationError, "damaged", {}),
            ("cut in the header", AuthenticationError, "cut off", {}),
            ("damaged header", AuthenticationError, "header of the sealed file is damaged", {}),
            ("not sealed", Error, "not a sealed file", {}),
            ("empty", Error, "not a sealed file", {}),
            ("like tink", Error, "open it with keyset=", {}),
            ("sealed", AuthenticationError, "wrong key", {"key": Key.generate()}),
            ("sealed", ValueError, "sealed with a key", {"passphrase": "right"}),
            ("sealed", ValueError, "range is (2, 3000001), and the message has 3000000 bytes", {"range": (2, 3_000_001)}),
            ("with passphrase", ValueError, "sealed with a passphrase", {}),
            ("with passphrase", AuthenticationError, "wrong passphrase", {"passphrase": "wrong"}),
            ("sealed", Error, "this is a sealed file", {"keyset": keyset}),
            ("not sealed", AuthenticationError, "damaged", {"keyset": keyset}),
            ("missing", FileNotFoundError, "No such file", {}),
            ("folder", IsADirectoryError, "Is a directory", {}),
        ]:
            fails(kind, path[name], words, opens, path[name], into, **options)
        fails(FileNotFoundError, path["missing"], "No such file", seals, path["missing"], into)
        fails(IsADirectoryError, path["folder"], "Is a directory", seals, path["folder"], into)
    for work, source in [(seals, path["message"]), (opens, path["sealed"]), (seals, io.BytesIO(b"a message"))]:
        fails(FileExistsError, path["empty"], "overwrite=True", work, source, path["empty"])
        fails(IsADirectoryError, f"{path['missing']}/", "is the name of a folder: add", work, source, f"{path['missing']}/")
        for overwrite in [False, True]:
            fails(ValueError, path["folder"], "it is a folder", work, source, path["folder"], overwrite=overwrite)
            fails(FileNotFoundError, path["dangling"], "No such file", work, source, path["dangling"], overwrite=overwrite)
        fails(FileNotFoundError, path["missing"] / "out", "No such file", work, source, path["missing"] / "out")
        fails(NotADirectoryError, path["empty"] / "out", "Not a directory", work, source, path["empty"] / "out")
    fails(ValueError, path["sealed"], "the same file", seals, path["sealed"], path["sealed"], overwrite=True)
    with path["sealed"].open("rb") as source:
        fails(ValueError, path["sealed"], "the same file", opens, source, path["sealed"], overwrite=True)
    # A size limit stands in for a full disk.
    link = tmp_path / "link"
    link.symlink_to(path["empty"])
    before = sorted(tmp_path.iterdir())
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        fails(OSError, out, "File too large", seals, path["message"], out)
        fails(OSError, link, "File too large", seals, path["message"], link, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_an_error_about_the_secret_has_no_path(key, tmp_path):
    """A wrong argument is wrong whatever the file is."""
    message, sealed, out = (tmp_path / name for name in ["message", "sealed", "out"])
    message.write_bytes(b"a message")
    aes_bitslice.seal(message, sealed, key=key)
    for work, source in [(aes_bitslice.seal, message), (aes_bitslice.open, sealed)]:
        with pytest.raises(ValueError) as raised:
            work(source, out, key=Key.generate(128))
        assert str(raised.value) == "key: a key of 256 bits (32 bytes) is needed here, and this one has 128 bits"
        # Its two keys have 256 bits together.
        with pytest.raises(ValueError, match=r"^key: a key of 256 bits .* this is a key of XTS, which is two"):
            work(source, out, key=Key.generate(128, xts=True))
    with pytest.raises(ValueError, match="^the passphrase is empty$"):
        aes_bitslice.seal(message, out, passphrase="")
    assert sorted(tmp_path.iterdir()) == [message, sealed]


def test_what_a_file_object_raises_has_no_path_of_another_file(key, tmp_path):
    class Fails:
        def write(self, data):
            raise OSError("no room (os error 28)")

    class Returns:
        def __init__(self, value):
            self.value = value

        def write(self, data):
            return self.value

    (tmp_path / "message").write_bytes(b"a message")
    for destination in [Fails(), *map(Returns, [0, -1, 10**9, "x"])]:
        with pytest.raises(OSError) as raised:
            aes_bitslice.seal(tmp_path / "message", destination, key=key)
        assert str(tmp_path) not in str(raised.value)
    with pytest.raises(OSError, match=r"^no room \(os error 28\)$"):
        aes_bitslice.seal(tmp_path / "message", Fails(), key=key)


@pytest.mark.parametrize(
    "given, kind, words",
    [
        ((9, 2), ValueError, "^range ends before it starts: its start is 9, and its end 2; give "),
        ((2, 10), ValueError, r"^range is \(2, 10\), and the message has 9 bytes: give a range inside it$"),
        ((2**64, 5), ValueError, "^range must be .start, end. or a slice without a step, with numbers of 0 to "),
        ((1,), ValueError, r"^range must be .start, end. or a slice without a step, .* not \(1,\)"),
        ((1, 2, 3), ValueError, "^range must be .start, end. or a slice without a step, "),
        (("a", 3), TypeError, r"^range must be .start, end. or a slice without a step, .* not \(str, int\)(\n|$)"),
        ("1-2", TypeError, "^range must be .start, end. or a slice without a step, .* not str(\\n|$)"),
        (b"0123456789abcdef", TypeError, "^range must be .start, end. or a slice without a step, .* not bytes(\\n|$)"),
        (5, TypeError, "^range must be .start, end. or a slice without a step, .* not int(\\n|$)"),
        (slice(1, 5, 2), ValueError, r"^range must be .start, end. or a slice without a step, .* not slice\(1, 5, 2\)(\n|$)"),
        (slice(-5, None), ValueError, r"^range must be .*, which count from the start, .* not slice\(-5, None, None\)(\n|$)"),
        ((-5, None), ValueError, r"^range must be .*, which count from the start, .* not \(-5, None\)(\n|$)"),
        (slice("a", 5), TypeError, "^range must be .start, end. or a slice without a step, .* not slice(\\n|$)"),
        ((None, None), TypeError, "^range must be .start, end. or a slice without a step, "),
        ((10, None), ValueError, r"^range is \(10, None\), and the message has 9 bytes: give a range inside it$"),
        ((10**5000, 5), ValueError, "^range must be .start, end. or a slice without a step, .* not these"),
    ],
)
def test_errors_about_a_range_name_it(key, given, kind, words):
    sealed = io.BytesIO(aes_bitslice.seal_bytes(b"a message", key=key))
    with pytest.raises(kind, match=words) as raised:
        opened_from(sealed, key=key, range=given)
    assert type(raised.value) is kind


def test_a_message_of_one_byte_has_no_second(key):
    sealed = io.BytesIO(aes_bitslice.seal_bytes(b"1", key=key))
    with pytest.raises(ValueError, match="the message has 1 byte:"):
        opened_from(sealed, key=key, range=(0, 2))
    assert opened_from(sealed, key=key, range=(1, 1)) == b""


def test_a_range_is_a_pair_or_a_slice_and_leaves_the_position(key):
    message = os.urandom(2_500_000)
    sealed = io.BytesIO(aes_bitslice.seal_bytes(message, key=key))
    for given, expected in [
        ((5, 9), message[5:9]),
        ([5, 2_000_000], message[5:2_000_000]),
        ((2_400_000, None), message[2_400_000:]),
        (slice(None, 7), message[:7]),
        (slice(7, None), message[7:]),
        (slice(3, 5, 1), message[3:5]),
        (range(3, 5), message[3:5]),
    ]:
        # The source is where it was: no seek(0) between the calls.
        assert opened_from(sealed, key=key, range=given) == expected and sealed.tell() == 0
    with pytest.raises(ValueError):
        opened_from(sealed, key=key, range=(0, 2_500_001))
    assert sealed.tell() == 0


def test_a_seek_that_fails_hides_no_other_error(key):
    class Fails(io.BytesIO):
        fails = False

        def read(self, size=-1):
            self.fails = True
            return super().read(size)

        def seek(self, *to):
            if self.fails:
                raise OSError("no seek")
            return super().seek(*to)

    sealed = aes_bitslice.seal_bytes(b"a message", key=key)
    with pytest.raises(AuthenticationError, match="wrong key"):
        opened_from(Fails(sealed), key=Key.generate(), range=(0, 5))
    with pytest.raises(OSError, match="no seek"):
        opened_from(Fails(sealed), key=key, range=(0, 5))


def test_sealed_bytes(key):
    message = os.urandom(1_500_000)
    for data in [message, bytearray(message), memoryview(message)]:
        sealed = aes_bitslice.seal_bytes(data, key=key)
        assert aes_bitslice.open_bytes(sealed, key=key) == message
    assert aes_bitslice.open_bytes(sealed, key=key, range=slice(1_400_000, None)) == message[1_400_000:]
    sealed = aes_bitslice.seal_bytes(b"", passphrase="a passphrase")
    assert aes_bitslice.open_bytes(sealed, passphrase="a passphrase") == b""
    with pytest.raises(AuthenticationError):
        aes_bitslice.open_bytes(sealed[:-1], passphrase="a passphrase")
    with pytest.raises(TypeError):
        aes_bitslice.seal_bytes("text", key=key)
    for work in [aes_bitslice.seal_bytes, aes_bitslice.open_bytes]:
        for bad, words in [(None, "data is bytes, .* not NoneType"), (ctypes.c_char_p(b"text"), "data holds references .*")]:
            with pytest.raises(TypeError, match=f"^{words}$"):
                work(bad, key=key)
        with pytest.raises(BufferError, match="contiguous: a copy is"):
            work(memoryview(bytes(200))[::2], key=key)
    numbers = array.array("q", range(3))
    assert aes_bitslice.open_bytes(aes_bitslice.seal_bytes(numbers, key=key), key=key) == numbers.tobytes()


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 56, 1 << 20, 3_333_333, 40_000_000])
def test_a_sealed_file_is_a_file_object(key, tmp_path, size):
    message, path = os.urandom(size), tmp_path / "sealed"
    with aes_bitslice.SealedFile(path, "wb", key=key) as file:
        assert file.writable() and not file.readable() and not file.seekable()
        for start in range(0, size, 700_001):
            file.write(message[start : start + 700_001])
        assert file.tell() == file.length == size
        assert not path.exists()
        with pytest.raises(io.UnsupportedOperation):
            file.read()
        with pytest.raises(io.UnsupportedOperation):
            file.seek(0)
    assert aes_bitslice.open_bytes(path.read_bytes(), key=key) == message
    with open(path, "rb") as whole:
        for source in [path, whole]:
            with aes_bitslice.SealedFile(source, key=key) as file:
                assert file.readable() and file.seekable() and file.length == size
                assert file.read() == message and file.read() == b"" and file.read(5) == b""
                for at, count in [(size // 3, 10), (size // 3 + 5, 2_000_000), (size, 5), (size + 7, 5), (1 << 70, 5), (0, 1)]:
                    assert file.seek(at) == at and file.read(count) == message[at : at + count]
                    assert file.tell() == at + len(message[at : at + count])
                assert file.seek(-size, io.SEEK_END) == 0 and file.read1(9) == message[:9]
                buffer = bytearray(20)
                assert file.readinto(buffer) == len(message[9:29]) and bytes(buffer).startswith(message[9:29])
                with pytest.raises(ValueError, match="before the start"):
                    file.seek(-1)
                at = file.tell()
                with pytest.raises(TypeError):
                    file.seek(1.0)
                assert file.tell() == at and type(file.tell()) is int
                with pytest.raises(io.UnsupportedOperation):
                    file.write(b"x")
            with pytest.raises(ValueError, match="closed"):
                file.read()


def test_a_sealed_file_serves_other_libraries(key, tmp_path):
    import pickle
    import zipfile

    numpy = pytest.importorskip("numpy")
    path = tmp_path / "sealed"
    array = numpy.arange(300_000.0)

    def there_and_back(save, load):
        path.unlink(missing_ok=True)
        with aes_bitslice.SealedFile(path, "wb", key=key) as file:
            save(file)
        with aes_bitslice.SealedFile(path, key=key) as file:
            return load(file)

    assert (there_and_back(lambda f: numpy.save(f, array), numpy.load) == array).all()
    assert (there_and_back(lambda f: numpy.savez(f, a=array), lambda f: numpy.load(f)["a"]) == array).all()
    assert there_and_back(lambda f: pickle.dump(["x"] * 1000, f), pickle.load) == ["x"] * 1000
    lines = [b"a line\n", b"another"]
    assert there_and_back(lambda f: f.writelines(lines), lambda f: list(f)) == lines

    def zipped(file):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("name", b"content")

    assert there_and_back(zipped, lambda f: zipfile.ZipFile(f).read("name")) == b"content"
    assert there_and_back(zipped, lambda f: zipfile.ZipFile(io.BufferedReader(f)).read("name")) == b"content"


def test_lines_of_a_sealed_file_are_those_of_its_message(key):
    class Counted(aes_bitslice.SealedFile):
        """How often it reads: not for every byte."""

        reads = 0

        def _fill(self, buffer):
            self.reads += 1
            return super()._fill(buffer)

    short, long = b"".join(b"line %d\n" % n for n in range(100_000)), os.urandom(200_000)
    for message in [b"", b"\n", b"no end", b"\n\na\r\nb", short, long, b"x" * 65_535 + b"\ny", b"x" * 65_536 + b"\n" * 3]:
        with Counted(io.BytesIO(aes_bitslice.seal_bytes(message, key=key)), key=key) as file:
            plain = io.BytesIO(message)
            assert list(file) == list(plain) and file.tell() == len(message) and file.peek() == file.readline() == b""
            assert file.reads <= len(message) // 65_536 + 5
            # Lines, other reads and moves, in any order.
            for at, size in [(0, -1), (0, 0), (0, 1), (0, None), (65_530, 3), (65_530, 1 << 70), (65_530, -1), (1 << 70, -1)]:
                file.seek(at)
                plain.seek(min(at, len(message)))
                ahead = file.peek(1)
                assert message[at:].startswith(ahead) and bool(ahead) == (at < len(message)) and file.tell() == at
                assert file.readline(size) == plain.readline(-1 if size is None else min(size, len(message)))
                assert file.read(3) == plain.read(3) and file.readline() == plain.readline()
                assert message[file.tell() :].startswith(file.peek())
            with pytest.raises(TypeError):
                file.readline(1.5)
        with pytest.raises(ValueError, match="closed"):
            file.readline()
    with aes_bitslice.SealedFile(io.BytesIO(), "wb", key=key) as file:
        for call in [file.peek, file.readline, file.readlines, lambda: next(file)]:
            with pytest.raises(io.UnsupportedOperation):
                call()


def test_threads_that_read_one_sealed_file_share_its_lines(key, tmp_path):
    """As with `io.BufferedReader`: each line is read whole, by one of them."""
    lines = [b"%d %s\n" % (n, b"x" * (n * 37 % 3000)) for n in range(3000)]
    path = tmp_path / "sealed"
    path.write_bytes(aes_bitslice.seal_bytes(b"".join(lines), key=key))
    switches = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for source in [lambda: path, lambda: io.BytesIO(path.read_bytes()), lambda: path.open("rb", buffering=0)]:
            for read in [lambda file: list(file), lambda file: list(iter(lambda: file.peek(9) and file.readline(), b""))]:
                with aes_bitslice.SealedFile(source(), key=key) as file, ThreadPoolExecutor(2) as pool:
                    one, other = [pool.submit(read, file) for _ in range(2)]
                    assert one.result() and other.result() and sorted(one.result() + other.result()) == sorted(lines)
            # Reads of another size than the lines, which all begin where another ends.
            with aes_bitslice.SealedFile(source(), key=key) as file, ThreadPoolExecutor(3) as pool:
                pieces = [pool.submit(lambda: list(iter(lambda: file.read(48_611), b""))) for _ in range(3)]
                whole = b"".join(lines)
                expected = [whole[start : start + 48_611] for start in range(0, len(whole), 48_611)]
                assert sorted(sum((piece.result() for piece in pieces), [])) == sorted(expected)
    finally:
        sys.setswitchinterval(switches)


def test_a_closed_sealed_file_keeps_nothing(key):
    class Memory(io.BytesIO):
        pass

    def used(end):
        memory = Memory(aes_bitslice.seal_bytes(b"a message", key=key))
        file = aes_bitslice.SealedFile(memory, key=key)
        assert file.read(5) == b"a mes" and not memory.closed
        end(file)
        return file, weakref.ref(memory)

    def fails(file):
        with pytest.raises(KeyError), file:
            raise KeyError

    for end in [aes_bitslice.SealedFile.close, aes_bitslice.SealedFile.discard, fails]:
        file, memory = used(end)
        assert file.closed and memory() is None
        file.close()
        file.discard()
        for call in [file.readable, file.writable, file.seekable, file.read, file.tell, lambda: file.length]:
            with pytest.raises(ValueError, match="closed file"):
                call()


def test_a_sealed_file_is_closed_between_the_calls_of_other_threads(key):
    class Slow(io.BytesIO):
        def write(self, data):
            begun.set()
            return super().write(data if go_on.wait(60) else b"")

        def read(self, size=-1):
            begun.set()
            return super().read(size if go_on.wait(60) else 0)

    def used(file, first, *others):
        begun.clear()
        go_on.clear()
        with ThreadPoolExecutor(4) as threads:
            calls = [threads.submit(first)]
            assert begun.wait(60)
            calls += [threads.submit(call) for call in others]
            time.sleep(0.1)
            assert not any(call.done() for call in calls)
            go_on.set()
        assert file.closed
        return [call.result() if call.exception() is None else repr(call.exception()) for call in calls]

    begun, go_on, into = threading.Event(), threading.Event(), Slow()
    go_on.set()
    file = aes_bitslice.SealedFile(into, "wb", key=key)
    file.write(b"a message")
    closed = repr(ValueError("I/O operation on closed file"))
    assert used(file, file.close, lambda: file.write(b"more"), file.discard, file.close) == [None, closed, None, None]
    into.seek(0)
    file = aes_bitslice.SealedFile(into, key=key)
    assert used(file, file.read, file.close, file.discard) == [b"a message", None, None]


def test_threads_that_use_a_sealed_file_while_it_is_closed_get_one_error(key):
    sealed, errors = aes_bitslice.seal_bytes(b"a message", key=key), set()

    def ended(call):
        try:
            while True:
                call()
        except Exception as error:
            errors.add(repr(error))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):
            for mode in ["rb", "wb"]:
                file = aes_bitslice.SealedFile(io.BytesIO(sealed), mode, key=key)
                reads = [lambda: file.seek(0) or file.read(5), file.readline, file.peek]
                calls = [file.readable, file.tell, lambda: file.length, *(reads if mode == "rb" else [lambda: file.write(b"more")])]
                threads = [threading.Thread(target=ended, args=[call]) for call in calls]
                for thread in threads:
                    thread.start()
                time.sleep(0.001)
                file.close()
                for thread in threads:
                    thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == {repr(ValueError("I/O operation on closed file"))}


def test_what_is_in_a_cycle_with_a_file_object_is_freed(key):
    """As one that keeps the sealed file, or writer, that it is read or written by."""

    class Memory(io.BytesIO):
        pass

    sealed = aes_bitslice.seal_bytes(b"a message", key=key)

    def reads(memory):
        memory.user = aes_bitslice.SealedFile(memory, key=key)
        assert memory.user.read(5) == b"a mes"

    def writes(memory):
        memory.user = aes_bitslice.SealedFile(memory, "wb", key=key)
        memory.user.write(b"a message")

    def is_in_use(memory):
        """Collections come between the calls of another thread, and within them."""
        reads(memory)
        memory.read = lambda size, read=memory.read: (gc.collect(0), read(size))[1]
        thread = threading.Thread(target=lambda: [memory.user.seek(0) or memory.user.read() for _ in range(200)])
        thread.start()
        while thread.is_alive():
            gc.collect()
        thread.join()
        assert memory.user.seek(0) == 0 and memory.user.read() == b"a message"

    def outputs(memory):
        memory.user = aes_bitslice._native._Output(io.BytesIO(), memory)

    for use in [reads, writes, is_in_use, outputs]:
        memory = Memory(sealed)
        use(memory)
        memory, freed = None, weakref.ref(memory)
        gc.collect()
        assert freed() is None, use


def test_a_sealed_file_that_is_not_complete_does_not_appear(key, tmp_path):
    path = tmp_path / "sealed"
    with pytest.raises(KeyError):
        with aes_bitslice.SealedFile(path, "wb", key=key) as file:
            file.write(b"a message")
            raise KeyError
    file = aes_bitslice.SealedFile(path, "wb", key=key)
    file.write(b"a message")
    del file
    file = aes_bitslice.SealedFile(path, "wb", key=key)
    file.discard()
    with pytest.raises(ValueError, match="closed"):
        file.write(b"more")
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        aes_bitslice.SealedFile(path, "wb", key=key)
    for mode, options in [("r", {}), ("ab", {}), ("rb", {"overwrite": True})]:
        with pytest.raises(ValueError):
            aes_bitslice.SealedFile(path, mode, key=key, **options)
    assert path.read_bytes() == b"precious"


def test_a_wrapper_that_closes_a_sealed_file_does_not_complete_it(key, tmp_path):
    path, wrappers = tmp_path / "sealed", [io.TextIOWrapper, io.BufferedWriter, codecs.getwriter("utf-8"), contextlib.closing]
    path.write_bytes(b"precious")
    for wrap in wrappers:
        with pytest.raises(KeyError), aes_bitslice.SealedFile(path, "wb", key=key, overwrite=True) as file, wrap(file):
            file.write(b"half")
            raise KeyError
        assert file.closed and [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"precious"]
    for wrap in [*wrappers, lambda file: file]:
        with aes_bitslice.SealedFile(path, "wb", key=key, overwrite=True) as file:
            with wrap(file):
                file.write(b"a message")
            assert file.closed
            with pytest.raises(ValueError, match="closed"):
                file.write(b"more")
            with pytest.raises(ValueError, match="closed"):
                file.__enter__()
            assert path.read_bytes() == b"precious"
        assert aes_bitslice.open_bytes(path.read_bytes(), key=key) == b"a message"
        assert list(tmp_path.iterdir()) == [path]
        path.write_bytes(b"precious")
    # What is given up stays so.
    with aes_bitslice.SealedFile(path, "wb", key=key, overwrite=True) as file:
        file.discard()
    assert file.closed and path.read_bytes() == b"precious"


def test_a_path_is_of_the_folder_that_python_was_in(key, tmp_path, monkeypatch):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()

    class Moving(io.BytesIO):
        def read(self, size=-1):
            os.chdir(elsewhere)
            return super().read(size)

    def written():
        file = aes_bitslice.SealedFile("out", "wb", key=key, overwrite=True)
        os.chdir(elsewhere)
        file.close()

    for work in [written, lambda: aes_bitslice.seal(Moving(), "out", key=key, overwrite=True), lambda: aes_bitslice.seal(Moving(), "out", key=key)]:
        (elsewhere / "out").write_bytes(b"precious")
        monkeypatch.chdir(here)
        work()
        assert Path.cwd() == elsewhere and (elsewhere / "out").read_bytes() == b"precious"
        assert aes_bitslice.open_bytes((here / "out").read_bytes(), key=key) == b""
        (here / "out").unlink()
        assert [*here.iterdir(), *elsewhere.iterdir()] == [elsewhere / "out"]


#: Python ends daemon threads without a word to them.
DAEMONS = {
    "a thread that holds a sealed file": "file = aes_bitslice.SealedFile('out', 'wb', key=key); start(time.sleep, 100, file)",
    "a thread that seals": "start(aes_bitslice.seal, os.fdopen(os.pipe()[0], 'rb'), 'out')",
}


@pytest.mark.parametrize("leave", list(DAEMONS.values()), ids=list(DAEMONS))
def test_no_incomplete_file_is_left_when_python_ends(tmp_path, leave):
    program = f"""
import atexit, os, threading, time, aes_bitslice
key = aes_bitslice.Key(bytes(32))

def start(work, first, second):
    def run(first, second):
        work(first) if work is time.sleep else work(first, second, key=key)
    threading.Thread(target=run, args=(first, second), daemon=True).start()

# It still completes its file.
late = aes_bitslice.SealedFile("late", "wb", key=key)
atexit.register(late.close)
{leave}
while len(os.listdir()) < 2:
    time.sleep(0.01)
if os.fork() == 0:
    # A child leaves the files to its parent.
    atexit.unregister(late.close)
    raise SystemExit
os.wait()
print(len(os.listdir()))
"""
    # From Python 3.12 on, a fork beside other threads is warned of.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert (ran.stdout, ran.stderr, [path.name for path in tmp_path.iterdir()]) == ("2\n", "", ["late"]), ran


def test_objects_that_python_drops_at_its_end_can_seal_and_open(tmp_path):
    """Nothing can be imported then, no other thread can call Python, and these are nearly the first calls of the process."""
    program = """
import io, os, aes_bitslice

class Last:
    def __init__(self):
        self.files = [aes_bitslice.SealedFile(file, key=key) for file in (io.BytesIO(sealed), open("before", "rb"), "before")]

    def __del__(self):
        assert [file.read(3) for file in self.files] == [b"a m"] * 3
        try:
            import colorsys
        except ImportError:
            os.write(1, b"no imports, ")
        sealed = aes_bitslice.seal_bytes(b"a message", key=key)
        assert aes_bitslice.open_bytes(sealed, key=key) == b"a message"
        assert aes_bitslice.SealedFile(io.BytesIO(sealed), key=key).read() == b"a message"
        aes_bitslice.seal("message", "sealed", key=key)
        with io.FileIO("opened", "wb") as opened:
            aes_bitslice.open("sealed", opened, key=key)
        empty, full = io.FileIO(reads, "rb"), io.FileIO(writes, "wb")
        for call in [lambda: aes_bitslice.seal("message", full, key=key), lambda: aes_bitslice.open(empty, "new", key=key)]:
            try:
                call()
            except BlockingIOError:
                os.write(1, b"would block, ")
        os.write(1, b"done")

key = aes_bitslice.Key(bytes(32))
with open("message", "wb") as file:
    file.write(bytes(1 << 20))
(reads, _), (_, writes) = os.pipe(), os.pipe()
os.set_blocking(reads, False)
os.set_blocking(writes, False)
sealed = aes_bitslice.seal_bytes(b"a message", key=key)
with open("before", "wb") as file:
    file.write(sealed)
last = Last()
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("no imports, would block, would block, done", "", 0), ran
    assert (tmp_path / "opened").read_bytes() == bytes(1 << 20)


def test_a_sealed_file_cannot_be_pickled(key):
    import pickle

    sealed = io.BytesIO(aes_bitslice.seal_bytes(b"a message", key=key))
    for file in [aes_bitslice.SealedFile(sealed, key=key), aes_bitslice.SealedFile(io.BytesIO(), "wb", key=key)]:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="^a sealed file cannot be pickled .*: open it in each process$"):
                pickle.dumps(file, protocol)


def test_a_forked_process_leaves_a_sealed_file_to_its_parent(key, tmp_path):
    """It has a copy of everything, and must neither write nor complete nor remove the file."""
    path = tmp_path / "sealed"
    file = aes_bitslice.SealedFile(path, "wb", key=key)
    file.write(b"a message")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for call in [lambda: file.write(b" and more"), file.close]:
                with pytest.raises(RuntimeError, match="belongs to the parent"):
                    call()
            file.discard()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    file.close()
    assert aes_bitslice.open_bytes(path.read_bytes(), key=key) == b"a message"
    assert list(tmp_path.iterdir()) == [path]


def test_forked_processes_read_one_sealed_file_at_once(key, tmp_path):
    """As the workers of a data loader do: what one reads is not where another is."""
    path, message = tmp_path / "sealed", os.urandom(8 << 20)
    path.write_bytes(aes_bitslice.seal_bytes(message, key=key))
    with aes_bitslice.SealedFile(path, key=key) as file:
        children = []
        for worker in range(3):
            children.append(os.fork())
            if children[-1] == 0:
                code = 1
                try:
                    for at in range(worker * 9, len(message) - 9, 99_991):
                        assert file.seek(at) == at and file.read(9) == message[at : at + 9]
                    code = 0
                finally:
                    os._exit(code)
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]


def test_a_sealed_file_that_was_changed_is_refused(key, tmp_path):
    message = os.urandom(3_000_000)
    sealed = bytearray(aes_bitslice.seal_bytes(message, key=key))
    with pytest.raises(AuthenticationError):
        aes_bitslice.SealedFile(io.BytesIO(sealed[:-1_000_000]), key=key)
    with pytest.raises(AuthenticationError, match="wrong key"):
        aes_bitslice.SealedFile(io.BytesIO(sealed), key=Key.generate())
    sealed[1_500_000] ^= 1
    with aes_bitslice.SealedFile(io.BytesIO(sealed), key=key) as file:
        assert file.read(1000) == message[:1000]
        for start, count in [(0, 3_000_000), (1_000_000, 200_000), (1_400_000, 1_900_000)]:
            file.seek(start)
            buffer = bytearray(b"before" * (count // 6))
            with pytest.raises(AuthenticationError, match="segment 1 is damaged"):
                file.readinto(buffer)
            end = min(3_000_000 - start, len(buffer))
            assert not any(buffer[:end]) and buffer[end:] == (b"before" * (count // 6))[end:] and file.tell() == start
        for count in [10, 1_900_000]:
            file.seek(1_400_000)
            with pytest.raises(AuthenticationError, match="segment 1 is damaged"):
                file.read(count)
        file.seek(2_500_000)
        assert file.read(5) == message[2_500_000:2_500_005]


def test_a_sealed_file_of_a_passphrase_or_of_tink(tink):
    from tink import cleartext_keyset_handle, streaming_aead

    text = io.StringIO()
    handle = tink.new_keyset_handle(streaming_aead.streaming_aead_key_templates.AES256_GCM_HKDF_4KB)
    cleartext_keyset_handle.write(tink.JsonKeysetWriter(text), handle)
    for secret in [{"passphrase": "a passphrase"}, {"keyset": text.getvalue(), "associated_data": b"data"}]:
        sealed = io.BytesIO()
        with aes_bitslice.SealedFile(sealed, "wb", **secret) as file:
            file.write(bytes(range(256)) * 100)
        with aes_bitslice.SealedFile(io.BytesIO(sealed.getvalue()), **secret) as file:
            assert file.length == 25_600 and file.seek(5000) and file.read(3) == bytes([136, 137, 138])
        assert aes_bitslice.open_bytes(sealed.getvalue(), **secret) == bytes(range(256)) * 100
