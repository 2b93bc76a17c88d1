"""Who may use the files that the package makes: no more users than may use their source, or the file they replace."""

import contextlib
import io
import mmap
import os
import stat
import struct
import tarfile
import zipfile

import pytest

import aes_bitslice
from aes_bitslice import Key, iceberg, ranges
from aes_bitslice.dask import encrypt, open as dask_open, seal as dask_seal
from aes_bitslice.ray import Encryptor

#: What fsspec, if it is there, puts before the address of a local file to keep copies of what it reads.
CACHES = ["simplecache::file://", "simplecache::local://", "simplecache::", "filecache::file://", "blockcache::file://"]

LIST, DEFAULT_LIST = "system.posix_acl_access", "system.posix_acl_default"
#: The owner reads and writes, user 54321 reads, the group may do nothing.
READER = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", *entry)
    for entry in [(1, 6, 2**32 - 1), (2, 4, 54321), (4, 0, 2**32 - 1), (16, 4, 2**32 - 1), (32, 0, 2**32 - 1)]
)


@pytest.fixture(autouse=True)
def umask_022():
    umask = os.umask(0o022)
    yield
    os.umask(umask)


@pytest.fixture
def key(key, tmp_path):
    key.save(tmp_path / "key")
    return key


class AtOnce:
    """A client of Dask that runs each task when it is given."""

    def submit(self, work, *given, **options):
        return work(*given)


def by_object(work, source, destination, key):
    with open(source, "rb") as file:
        work(file, destination, key=key)


def rows(source, destination):
    return ranges.rows(source, destination, part_bytes=16, overwrite=True)


def by_ray(task, source, destination, ref):
    made = rows(source, destination) if task == "encrypt" else [{"source": str(source), "destination": str(destination)}]
    Encryptor(ref, engine="cpu", task=task)({name: [row[name] for row in made] for name in made[0]})


def row(source, destination):
    return {"source": str(source), "destination": str(destination)}


#: Everything that makes a file for data from another: `make(source, destination, key, reference)`.
SEAL = {
    "seal": lambda s, d, key, ref: aes_bitslice.seal(s, d, key=key, overwrite=True),
    "seal of an object": lambda s, d, key, ref: by_object(aes_bitslice.seal, s, d, key),
    "ranges.seal_row": lambda s, d, key, ref: ranges.seal_row(row(s, d), ref),
    "dask.seal": lambda s, d, key, ref: dask_seal(AtOnce(), [row(s, d)], ref),
    "ray, seal": lambda s, d, key, ref: by_ray("seal", s, d, ref),
}
OPEN = {
    "open": lambda s, d, key, ref: aes_bitslice.open(s, d, key=key, overwrite=True),
    "open of an object": lambda s, d, key, ref: by_object(aes_bitslice.open, s, d, key),
    "open of a range": lambda s, d, key, ref: aes_bitslice.open(s, d, key=key, range=(1, 9), overwrite=True),
    "ranges.open_row": lambda s, d, key, ref: ranges.open_row(row(s, d), ref),
    "dask.open": lambda s, d, key, ref: dask_open(AtOnce(), [row(s, d)], ref),
    "ray, open": lambda s, d, key, ref: by_ray("open", s, d, ref),
}
ENCRYPT = {
    "ranges.encrypt_row": lambda s, d, key, ref: [ranges.encrypt_row(r, ref, "cpu") for r in rows(s, d)],
    "to file://": lambda s, d, key, ref: [ranges.encrypt_row(r, ref, "cpu") for r in rows(f"file://{s}", f"file://{d}")],
    "to local://": lambda s, d, key, ref: [ranges.encrypt_row(r, ref, "cpu") for r in rows(f"local://{s}", f"local://{d}")],
    "dask.encrypt": lambda s, d, key, ref: encrypt(AtOnce(), rows(s, d), ref, engine="cpu"),
    "ray, encrypt": lambda s, d, key, ref: by_ray("encrypt", s, d, ref),
}
MAKERS = {**SEAL, **OPEN, **ENCRYPT}


def chained(task, before):
    def make(s, d, key, ref):
        pytest.importorskip("fsspec")
        source, destination = f"{before}{s}", f"{before}{d}"
        if task != "encrypt":
            getattr(ranges, f"{task}_row")(row(source, destination), ref)
            return
        # Rows of `rows` have paths; one of the caller's own may have these addresses.
        for each in rows(s, d):
            ranges.encrypt_row({**each, "source": source, "destination": destination}, ref, "cpu")

    return make


for name, makers in [("seal", SEAL), ("open", OPEN), ("encrypt", ENCRYPT)]:
    makers.update({f"{name}, {before}": chained(name, before) for before in CACHES})
MAKERS.update({**SEAL, **OPEN, **ENCRYPT})


@pytest.fixture(params=list(MAKERS))
def made(request, key, tmp_path):
    """Makes `out` from `in`, whose access `prepare` sets; returns the new file."""
    source, out = tmp_path / "in", tmp_path / "out"

    def make(prepare):
        source.unlink(missing_ok=True)
        if request.param in OPEN:
            aes_bitslice.seal(io.BytesIO(b"a message of 27 bytes......"), source, key=key)
        else:
            source.write_bytes(b"a message of 27 bytes......")
        prepare(source)
        MAKERS[request.param](source, out, key, f"file:{tmp_path}/key")
        return out

    return make


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def has_list(path):
    return LIST in os.listxattr(path)


def lists(path, name=LIST):
    """Gives a file or folder an access list."""
    try:
        os.setxattr(path, name, READER)
    except OSError:
        pytest.skip("the file system has no access lists")


@pytest.mark.parametrize("of_source, of_output", [(0o600, 0o600), (0o400, 0o400), (0o640, 0o640), (0o604, 0o604), (0o666, 0o644), (0o777, 0o644)])
def test_a_new_file_is_no_more_open_than_its_source(made, of_source, of_output):
    assert mode(made(lambda source: source.chmod(of_source))) == of_output


def test_a_new_file_is_not_for_another_group_than_its_source(made):
    if os.geteuid() != 0:
        pytest.skip("only root can give files to others")

    def other_group(source):
        os.chown(source, -1, 54321)
        source.chmod(0o664)

    assert mode(made(other_group)) == 0o644


def test_an_access_list_keeps_users_out_of_the_new_file(made):
    new = made(lists)
    assert mode(new) == 0o600 and not has_list(new)


def test_a_folder_with_a_list_lets_nobody_into_the_new_file(made, tmp_path):
    lists(tmp_path, DEFAULT_LIST)

    def for_the_group(source):
        if has_list(source):
            os.removexattr(source, LIST)
        source.chmod(0o640)

    # The list names a user: the mode's bits of the group say what that user may do.
    assert mode(made(for_the_group)) & 0o077 == 0


def test_a_replaced_file_keeps_who_may_use_it(made):
    new = made(lambda source: source.chmod(0o600))
    for of_old in [0o600, 0o640, 0o604]:
        new.chmod(of_old)
        if "object" not in os.environ["PYTEST_CURRENT_TEST"]:
            assert mode(made(lambda source: source.chmod(0o644))) == of_old
    lists(new)
    if "object" not in os.environ["PYTEST_CURRENT_TEST"]:
        made(lambda source: source.chmod(0o644))
        assert os.getxattr(new, LIST) == READER


@pytest.mark.parametrize("inner", ["file://{}", "local://{}", "{}"])
@pytest.mark.parametrize("before", ["dir::", "zip://out::", "tar://out::", "simplecache::zip://out::"])
def test_a_destination_in_a_local_file_or_folder_is_refused(key, tmp_path, before, inner):
    pytest.importorskip("fsspec")
    (tmp_path / "in").write_bytes(b"a message")
    to, ref = before + inner.format(tmp_path / "out"), f"file:{tmp_path}/key"
    for work in [
        lambda: ranges.rows(tmp_path / "in", to),
        lambda: ranges.encrypt_row({**ranges.rows(tmp_path / "in", tmp_path / "other")[0], "destination": to}, ref, "cpu"),
        lambda: ranges.seal_row(row(tmp_path / "in", to), ref),
        lambda: ranges.open_row(row(tmp_path / "in", to), ref),
    ]:
        with pytest.raises(ValueError, match="is in a local file or folder, behind .*: give the path of a local file"):
            work()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "key"]


@pytest.mark.parametrize("before", ["zip://in::", "simplecache::zip://in::file://"])
def test_a_file_from_an_archive_is_no_more_open_than_the_archive(key, tmp_path, before):
    pytest.importorskip("fsspec")
    ref, source = f"file:{tmp_path}/key", f"{before}{tmp_path}/in.zip"
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        archive.writestr("in", aes_bitslice.seal_bytes(b"a message", key=key))
    (tmp_path / "in.zip").chmod(0o600)
    ranges.open_row(row(source, tmp_path / "opened"), ref)
    ranges.seal_row(row(source, tmp_path / "sealed"), ref)
    for each in ranges.rows(source, tmp_path / "encrypted", part_bytes=16):
        ranges.encrypt_row(each, ref, "cpu")
    assert (tmp_path / "opened").read_bytes() == b"a message"
    assert {name: mode(tmp_path / name) for name in ["opened", "sealed", "encrypted"]} == dict.fromkeys(["opened", "sealed", "encrypted"], 0o600)


def test_a_file_whose_name_looks_chained_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ["a::b", "no::file::/c"]:
        (made,) = ranges.rows(__file__, name, part_bytes=1 << 30)
        assert made["destination"] == f"{tmp_path}/{name}"


def open_paths():
    """Of the files that this process has open."""
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(f"/proc/self/fd/{descriptor}")


@pytest.mark.parametrize("becomes", ["another", "nothing"])
@pytest.mark.parametrize("work", ["seal", "open"])
def test_the_file_that_is_read_decides_and_not_what_its_name_becomes(key, tmp_path, work, becomes):
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"a message" if work == "seal" else aes_bitslice.seal_bytes(b"a message", key=key))
    source.chmod(0o600)
    found = []

    class Destination:
        """A path that the package asks for after it has opened the source."""

        def __fspath__(self):
            if not found:
                found.extend(path for path in open_paths() if path == str(source))
                source.unlink()
                if becomes == "another":
                    source.write_bytes(b"of anybody")
            return str(out)

    assert getattr(aes_bitslice, work)(source, Destination(), key=key) == 9
    assert found == [str(source)] and mode(out) == 0o600


def test_a_descriptor_that_the_system_does_not_know_opens_the_new_file_to_nobody(key, tmp_path):
    class Odd(io.BytesIO):
        def fileno(self):
            return 1_000_000

    aes_bitslice.seal(Odd(b"a message"), tmp_path / "out", key=key)
    assert mode(tmp_path / "out") == 0o600


class Watched(io.FileIO):
    """A file that notes the modes of unfinished files in its folder when it is read."""

    def read(self, size=-1):
        folder = os.path.dirname(self.name)
        found = [name for name in os.listdir(folder) if name.startswith(".aes-bitslice-")]
        self.seen = {stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for name in found}
        return super().read(size)


@pytest.mark.parametrize("work", ["seal", "open"])
@pytest.mark.parametrize("replaced", [None, 0o666])
def test_an_unfinished_file_is_no_more_open_either(key, tmp_path, work, replaced):
    source, out = tmp_path / "in", tmp_path / "out"
    sealed = io.BytesIO()
    aes_bitslice.seal(io.BytesIO(b"a message"), sealed, key=key)
    source.write_bytes(b"a message" if work == "seal" else sealed.getvalue())
    source.chmod(0o600)
    if replaced:
        out.write_bytes(b"old")
        out.chmod(replaced)
    with Watched(str(source)) as file:
        getattr(aes_bitslice, work)(file, out, key=key, overwrite=True)
        assert file.seen == {0o600}
    assert mode(out) == (replaced or 0o600)


def test_a_row_writes_to_no_open_file(key, tmp_path, monkeypatch):
    (tmp_path / "in").write_bytes(bytes(100))
    (tmp_path / "in").chmod(0o600)
    seen = []
    write = ranges._write

    def watched(file, data, at):
        seen.extend(mode(path) for path in tmp_path.iterdir())
        write(file, data, at)

    monkeypatch.setattr(ranges, "_write", watched)
    for each in ranges.rows(tmp_path / "in", tmp_path / "out", part_bytes=48):
        ranges.encrypt_row(each, f"file:{tmp_path}/key", "cpu")
    assert len(seen) == 9 and set(seen) == {0o600}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "key", "out"]


def test_what_nobody_else_can_know_is_as_the_umask_says(key, tmp_path):
    """A pipe or memory does not say who may read what comes from it."""
    aes_bitslice.seal(io.BytesIO(b"a message"), tmp_path / "of memory", key=key)
    reads, writes = os.pipe()
    os.write(writes, b"a message")
    os.close(writes)
    with open(reads, "rb") as pipe:
        aes_bitslice.seal(pipe, tmp_path / "of a pipe", key=key)
    for name in ["of memory", "of a pipe"]:
        assert mode(tmp_path / name) == 0o644


def sealed_file(path, key):
    aes_bitslice.seal(io.BytesIO(b"a message"), path, key=key)
    return lambda: aes_bitslice.SealedFile(path, key=key)


def sealed_file_of_an_object(path, key):
    aes_bitslice.seal(io.BytesIO(b"a message"), path, key=key)
    return lambda: aes_bitslice.SealedFile(open(path, "rb"), key=key)


def sealed_file_in_a_buffer(path, key):
    make = sealed_file(path, key)
    return lambda: io.BufferedReader(make())


def stream(path, key):
    iceberg.encrypt(io.BytesIO(b"a message"), path, key=key)
    return lambda: iceberg.open(path, key=key)


def stream_in_a_sealed_file(path, key):
    stream = io.BytesIO()
    iceberg.encrypt(io.BytesIO(b"a message"), stream, key=key)
    path.write_bytes(aes_bitslice.seal_bytes(stream.getvalue(), key=key))
    return lambda: iceberg.open(aes_bitslice.SealedFile(path, key=key), key=key)


@pytest.mark.parametrize("of_source", [0o600, 0o640, 0o644])
@pytest.mark.parametrize("reader", [sealed_file, sealed_file_of_an_object, sealed_file_in_a_buffer, stream, stream_in_a_sealed_file])
def test_what_the_packages_readers_read_is_no_more_open_than_their_source(key, tmp_path, reader, of_source):
    make = reader(tmp_path / "in", key)
    (tmp_path / "in").chmod(of_source)
    for name, work in [("sealed", aes_bitslice.seal), ("encrypted", iceberg.encrypt)]:
        with make() as source:
            work(source, tmp_path / name, key=key)
        assert mode(tmp_path / name) == of_source, name


def test_plaintext_of_a_sealed_file_of_the_owner_alone_is_the_owners_alone(key, tmp_path):
    stream_in_a_sealed_file(tmp_path / "in", key)
    (tmp_path / "in").chmod(0o600)
    iceberg.decrypt(aes_bitslice.SealedFile(tmp_path / "in", key=key), tmp_path / "out", key=key)
    assert (tmp_path / "out").read_bytes() == b"a message" and mode(tmp_path / "out") == 0o600


class Bare:
    """A file object that tells nothing about its source."""

    def __init__(self, data):
        self.read = io.BytesIO(data).read


def member_of_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in", b"a message")
    return zipfile.ZipFile(path).open("in")


def member_of_tar(path):
    (path.parent / "in").write_bytes(b"a message")
    with tarfile.open(path, "w") as archive:
        archive.add(path.parent / "in", "in")
    return tarfile.open(path).extractfile("in")


def mapped(path):
    path.write_bytes(b"a message")
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@pytest.mark.parametrize("source", [member_of_zip, member_of_tar, mapped, lambda path: Bare(b"a message")])
def test_what_comes_from_nobody_knows_where_is_its_owners_alone(key, tmp_path, source):
    for name, work in [("sealed", aes_bitslice.seal), ("encrypted", iceberg.encrypt)]:
        work(source(tmp_path / "archive"), tmp_path / name, key=key)
        assert mode(tmp_path / name) == 0o600, name


def test_a_key_is_its_owners_alone_and_whole_or_not_there(key, tmp_path):
    lists(tmp_path, DEFAULT_LIST)
    key.save(tmp_path / "again")
    assert mode(tmp_path / "again") == 0o600
    for name, kind, words in [("again", FileExistsError, "it exists; give another path"), (".", ValueError, "it is a folder"), ("no/key", FileNotFoundError, "no/key")]:
        with pytest.raises(kind, match=words):
            key.save(tmp_path / name)
    assert Key.from_file(tmp_path / "again").expose() == key.expose()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "key"]
