"""Parts of files and objects: alone, over Dask's workers, some of which are killed, and as Ray's actor."""

import base64
import os
import pickle
import subprocess
import sys
import textwrap
import urllib.request
import warnings

import pytest

import aes_bitslice
from aes_bitslice import Key, ranges

IV = bytes(range(16))


@pytest.fixture
def key(key, tmp_path):
    key.save(tmp_path / "key")
    return key


@pytest.fixture
def key_ref(key, tmp_path):
    return f"file:{tmp_path}/key"


def expected(key, iv, data):
    return aes_bitslice.Engine("cpu").cipher(key).ctr(bytes.fromhex(iv), data)


def encrypt(rows, key_ref):
    for row in rows:
        ranges.encrypt_row(row, key_ref)


class NotAsked:
    """A client of Dask whose cluster has nothing to do."""

    def submit(self, *arguments, **options):
        raise AssertionError("submitted")


def test_a_range_is_a_pure_function(key, key_ref):
    data = os.urandom(100_000)
    whole = ranges.encrypt_range(key_ref, IV, 0, data)
    assert whole == expected(key, IV.hex(), data)
    for start in (0, 1, 777, 99_999):
        assert ranges.encrypt_range(key_ref, IV, start, data[start:], engine="cpu-bitsliced") == whole[start:]
    assert ranges.encrypt_range(key_ref, IV, 0, whole) == data
    # As rows have it.
    assert ranges.encrypt_range(key_ref, IV.hex(), 0, whole) == data
    with pytest.raises(ValueError, match="^iv must be 16 bytes, or 32 hexadecimal digits"):
        ranges.encrypt_range(key_ref, IV.hex()[:-2], 0, data)


@pytest.mark.parametrize("size", [0, 1, 1_000_000])
def test_rows_in_any_order_twice_and_back(key, key_ref, tmp_path, size):
    data = os.urandom(size)
    source, destination = tmp_path / "data", tmp_path / "data.enc"
    source.write_bytes(data)
    rows = ranges.rows(source, str(destination), part_bytes=100_001)
    assert sum(row["length"] for row in rows) == size and all(row["offset"] % 16 == 0 for row in rows)
    for row in [*reversed(rows), *rows[::2]]:
        assert ranges.encrypt_row(row, key_ref) == row["length"]
    assert destination.read_bytes() == expected(key, rows[0]["iv"], data)
    encrypt(ranges.rows(destination, f"file://{tmp_path}/again", part_bytes=333_333, iv=bytes.fromhex(rows[0]["iv"])), key_ref)
    assert (tmp_path / "again").read_bytes() == data
    assert ranges.rows(source, "x")[0]["iv"] != ranges.rows(source, "x")[0]["iv"]


@pytest.mark.parametrize("piece", [16, 1000, 99_999, 100_000, 1 << 20])
def test_files_are_read_and_written_in_pieces(key, key_ref, tmp_path, monkeypatch, piece):
    """Also where the system reads and writes less than it is asked for."""
    data, preadv, pwrite = os.urandom(100_000), os.preadv, os.pwrite
    monkeypatch.setattr(ranges, "PIECE", piece)
    monkeypatch.setattr(os, "preadv", lambda file, parts, at: preadv(file, [parts[0][: max(len(parts[0]) // 3, 1)]], at))
    monkeypatch.setattr(os, "pwrite", lambda file, left, at: pwrite(file, left[: max(len(left) // 3, 1)], at))
    (tmp_path / "data").write_bytes(data)
    rows = ranges.rows(tmp_path / "data", tmp_path / "data.enc", part_bytes=60_000)
    for row in rows:
        assert ranges.encrypt_row(row, key_ref, "cpu") == row["length"]
    assert (tmp_path / "data.enc").read_bytes() == expected(key, rows[0]["iv"], data)


def test_a_forked_process_has_an_engine_of_its_own():
    """That of its parent may be of a GPU, which the child cannot use."""
    of_parent = ranges._Worker.of_this_thread("cpu")
    assert ranges._Worker.of_this_thread("cpu") is of_parent
    child = os.fork()
    if child == 0:
        os._exit(ranges._Worker.of_this_thread("cpu") is of_parent)
    assert os.waitpid(child, 0)[1] == 0


def test_rows_mean_the_same_files_in_every_working_folder(key_ref, tmp_path, monkeypatch):
    (tmp_path / "data").write_bytes(bytes(100))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    made = ranges.rows("data", "data.enc")
    monkeypatch.chdir(tmp_path / "elsewhere")
    for row in made:
        ranges.encrypt_row(row, key_ref, "cpu")
    assert (tmp_path / "data.enc").stat().st_size == 100 and not list((tmp_path / "elsewhere").iterdir())


def test_rows_that_cannot_be_are_refused(key_ref, tmp_path):
    source = tmp_path / "data"
    source.write_bytes(bytes(1000))
    os.link(source, tmp_path / "link")
    with pytest.raises(ValueError, match="are the same"):
        ranges.rows(source, str(tmp_path / "link"), overwrite=True)
    row = ranges.rows(source, str(tmp_path / "elsewhere"))[0]
    for same in ["link", "data", "../" + tmp_path.name + "/data"]:
        same = {**row, "destination": f"{tmp_path}/{same}"}
        for work in [ranges.encrypt_row, ranges.seal_row, ranges.open_row]:
            with pytest.raises(ValueError, match="are the same"):
                work(same, key_ref)
    assert source.read_bytes() == bytes(1000)
    for wrong in [{"length": -1}, {"offset": -16}, {"iv": "00" * 15}]:
        with pytest.raises(ValueError):
            ranges.encrypt_row({**row, **wrong}, key_ref)
    for iv in [16, "00" * 15, b"x", [0] * 16, "x" * 32]:
        with pytest.raises(ValueError, match="iv must be 16 bytes"):
            ranges.rows(source, str(tmp_path / "elsewhere"), iv=iv)
    assert ranges.rows(source, tmp_path / "elsewhere", iv=row["iv"])[0]["iv"] == row["iv"]
    for part_bytes in [0, -1, 15, 16.5]:
        with pytest.raises(ValueError, match="part_bytes"):
            ranges.rows(source, str(tmp_path / "elsewhere"), part_bytes=part_bytes)
    with pytest.raises(IsADirectoryError):
        ranges.rows(tmp_path, str(tmp_path / "elsewhere"))
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(OSError, match="ends before"):
        ranges.encrypt_row({**row, "destination": str(tmp_path / "out"), "length": 1001}, key_ref)
    with pytest.raises(FileNotFoundError):
        ranges.encrypt_row({**row, "source": "/nothing/there"}, key_ref)
    with pytest.raises(ValueError):
        ranges.encrypt_row(row, "0123456789abcdef" * 2)


@pytest.mark.parametrize("name", ["/", "new/", "file:///new/", "memory://", "memory:///", "s3://"])
def test_a_folder_or_a_whole_store_is_no_destination(key_ref, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_bytes(bytes(100))
    row = {**ranges.rows("data", "elsewhere")[0], "destination": name}
    refuse = [lambda: ranges.rows("data", name), *(lambda work=work: work(row, key_ref) for work in (ranges.encrypt_row, ranges.seal_row))]
    for refuses in refuse:
        with pytest.raises(IsADirectoryError, match=f"^{name} is the name of a folder"):
            refuses()
    assert sorted(os.listdir(tmp_path)) == ["data", "key"]


def test_a_slash_is_a_part_of_an_address_of_http():
    for address in ("https://host/get/", "http://host/x?next=/"):
        assert ranges.absolute(address, "source") == ranges.absolute(address, "source", of_parts=True) == address


@pytest.mark.parametrize("name", ["folder/", "file:///folder/", "memory://folder/", "s3://bucket/", "simplecache::s3://bucket/folder/"])
def test_the_name_of_a_folder_is_that_of_no_file(key_ref, tmp_path, monkeypatch, name):
    """In a store, which would make an object of that name, it is the folder of the parts of a message only where rows are made."""
    from aes_bitslice import dask

    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_bytes(bytes(100))
    row = ranges.rows("data", "new")[0]
    for place in ("source", "destination"):
        wrong = {**row, place: name}
        refuse = [lambda work=work: work(wrong, key_ref) for work in (ranges.encrypt_row, ranges.seal_row, ranges.open_row)]
        refuse += [lambda work=work: work(NotAsked(), [wrong], key_ref, engine="cpu") for work in (dask.encrypt, dask.seal, dask.open)]
        for refuses in refuse:
            with pytest.raises(IsADirectoryError, match=f"^{name} is the name of a folder: add that of a file in it"):
                refuses()
    assert sorted(os.listdir(tmp_path)) == ["data", "key"]


def test_the_folder_of_parts_may_end_with_a_slash(key, key_ref, tmp_path):
    store = pytest.importorskip("fsspec").filesystem("memory")
    (tmp_path / "data").write_bytes(bytes(100))
    there = ranges.rows(tmp_path / "data", "memory://with a slash/", part_bytes=48)
    encrypt(there, key_ref)
    assert [store.size(f"/with a slash/{start:020}") for start in (0, 48, 96)] == [48, 48, 4]
    back = ranges.rows("memory://with a slash/", tmp_path / "back", iv=there[0]["iv"])
    assert [row["source"] for row in back] == [row["destination"] for row in there]
    encrypt(back, key_ref)
    assert (tmp_path / "back").read_bytes() == bytes(100)


def test_paths_are_texts(key_ref, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_bytes(bytes(100))
    row = ranges.rows("data", "new")[0]
    for change, name in [({"source": b"data"}, "source"), ({"destination": b"new"}, "destination")]:
        given = {**row, **change}
        for refuses in [lambda: ranges.rows(given["source"], given["destination"]), lambda: ranges.encrypt_row(given, key_ref)]:
            with pytest.raises(TypeError, match=f"{name} must be a str or a pathlib.Path, not bytes"):
                refuses()
    assert sorted(os.listdir(tmp_path)) == ["data", "key"]


def test_the_number_of_bytes_of_a_part_may_be_of_numpy(tmp_path):
    numpy = pytest.importorskip("numpy")
    (tmp_path / "data").write_bytes(bytes(100))
    made = ranges.rows(tmp_path / "data", tmp_path / "new", part_bytes=numpy.int64(48))
    assert [(row["offset"], row["length"]) for row in made] == [(0, 48), (48, 48), (96, 4)] and type(made[1]["offset"]) is int


def test_what_is_beside_parts_is_named(tmp_path):
    store = pytest.importorskip("fsspec").filesystem("memory")
    for name in (f"{0:020}", "_SUCCESS"):
        store.pipe_file(f"/parts/{name}", b"x")
    with pytest.raises(ValueError, match="memory://parts has _SUCCESS, which is no part of a message"):
        ranges.rows("memory://parts", tmp_path / "new")


@pytest.mark.parametrize("name", ["key", "link to key", "also key", "file:///key"])
@pytest.mark.parametrize("work", [ranges.encrypt_row, ranges.seal_row, ranges.open_row])
def test_the_file_of_the_key_is_no_destination(key, key_ref, tmp_path, work, name):
    (tmp_path / "link to key").symlink_to("key")
    os.link(tmp_path / "key", tmp_path / "also key")
    (tmp_path / "data").write_bytes(bytes(100))
    aes_bitslice.seal(tmp_path / "data", tmp_path / "sealed", key=key)
    row = ranges.rows(tmp_path / ("sealed" if work == ranges.open_row else "data"), tmp_path / "new")[0]
    destination = f"file://{tmp_path}/key" if "://" in name else str(tmp_path / name)
    with pytest.raises(ValueError, match="is the file of the key: give another destination"):
        work({**row, "destination": destination}, key_ref)
    assert Key.from_file(tmp_path / "key") == Key.from_file(tmp_path / "also key") == key
    assert (tmp_path / "link to key").is_symlink()


@pytest.mark.parametrize("name", ["pipe", "folder", "/dev/zero"])
def test_only_files_have_ranges(key_ref, tmp_path, name):
    """They are refused at once: opening a pipe would wait for its other end."""
    (tmp_path / "data").write_bytes(bytes(100))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    refused = ((IsADirectoryError, FileExistsError), "folder|exists") if name == "folder" else (ValueError, "a device or a pipe")
    row = ranges.rows(tmp_path / "data", tmp_path / "out")[0]
    other = str(tmp_path / name)
    for refuse in [
        lambda: ranges.rows(other, tmp_path / "out"),
        lambda: ranges.rows(tmp_path / "data", other),
        lambda: ranges.rows(tmp_path / "data", other, overwrite=True),
        lambda: ranges.encrypt_row({**row, "source": other}, key_ref),
    ]:
        with pytest.raises(refused[0], match=refused[1]):
            refuse()
    with pytest.raises((ValueError, IsADirectoryError)):
        ranges.encrypt_row({**row, "destination": other}, key_ref)
    # With a reader it opens at once.
    if name == "pipe":
        reader = os.open(other, os.O_RDONLY | os.O_NONBLOCK)
        with pytest.raises(ValueError, match="a device or a pipe, and a range has a place in a file"):
            ranges.encrypt_row({**row, "destination": other}, key_ref)
        os.close(reader)
    assert not (tmp_path / "out").exists()


def test_what_is_there_is_refused_or_removed(key, key_ref, tmp_path):
    store, data = pytest.importorskip("fsspec").filesystem("memory"), os.urandom(100_000)
    (tmp_path / "data").write_bytes(data)
    for destination in [str(tmp_path / "old"), "memory://out/old"]:
        encrypt(ranges.rows(tmp_path / "data", destination, part_bytes=30_000), key_ref)
        (tmp_path / "shorter").write_bytes(data[:50_000])
        with pytest.raises(FileExistsError, match="overwrite=True"):
            ranges.rows(tmp_path / "shorter", destination)
        rows = ranges.rows(tmp_path / "shorter", destination, part_bytes=30_000, overwrite=True)
        encrypt(rows, key_ref)
        encrypt(ranges.rows(destination, str(tmp_path / "back"), iv=rows[0]["iv"], overwrite=True), key_ref)
        assert (tmp_path / "back").read_bytes() == data[:50_000]
    with pytest.raises(FileExistsError):
        ranges.rows(tmp_path / "data", str(tmp_path), overwrite=True)
    # In a store a part of the source is the source, too.
    for destination in ["memory://out/old", "memory://out/old/", "memory://out/old/0", "memory://out"]:
        with pytest.raises(ValueError, match="are the same"):
            ranges.rows("memory://out/old", destination, overwrite=True)
    with pytest.raises(ValueError, match="are the same"):
        ranges.seal_row({"source": "memory://out/old", "destination": "memory://out/old"}, key_ref)
    assert sum(store.size(part) for part in store.ls("/out/old", detail=False)) == 50_000


def test_objects_of_a_store(key, key_ref, tmp_path):
    store, data = pytest.importorskip("fsspec").filesystem("memory"), os.urandom(500_000)
    store.pipe_file("/in/data", data)
    rows = ranges.rows("memory://in/data", "memory://out/data", part_bytes=123_456)
    encrypt([*rows, rows[1]], key_ref)
    parts = sorted(store.ls("/out/data", detail=False))
    assert len(parts) == len(rows) == 5
    assert b"".join(store.cat_file(part) for part in parts) == expected(key, rows[0]["iv"], data)
    encrypt(ranges.rows("memory://in/data", str(tmp_path / "local"), iv=bytes.fromhex(rows[0]["iv"])), key_ref)
    assert (tmp_path / "local").read_bytes() == expected(key, rows[0]["iv"], data)
    sealed = {"source": "memory://in/data", "destination": "memory://out/sealed"}
    for _ in range(2):
        assert ranges.seal_row(sealed, key_ref) == len(data)
    assert aes_bitslice.open_bytes(store.cat_file("/out/sealed"), key=key) == data
    assert ranges.open_row({"source": "memory://out/sealed", "destination": str(tmp_path / "opened")}, key_ref) == len(data)
    assert (tmp_path / "opened").read_bytes() == data
    store.pipe_file("/out/sealed", store.cat_file("/out/sealed")[:-1])
    with pytest.raises(aes_bitslice.AuthenticationError):
        ranges.open_row({"source": "memory://out/sealed", "destination": str(tmp_path / "again")}, key_ref)
    assert not (tmp_path / "again").exists()


def test_what_does_not_open_leaves_a_store_as_it_was(key, key_ref, tmp_path):
    store = pytest.importorskip("fsspec").filesystem("memory")
    damaged = bytearray(aes_bitslice.seal_bytes(os.urandom(3_000_000), key=key))
    damaged[2_000_000] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    store.pipe_file("/folder/old", b"old")
    for name in ("old", "new"):
        with pytest.raises(aes_bitslice.AuthenticationError):
            ranges.open_row({"source": str(tmp_path / "damaged"), "destination": f"memory://folder/{name}"}, key_ref)
    assert store.ls("/folder", detail=False) == ["/folder/old"] and store.cat_file("/folder/old") == b"old"


@pytest.fixture
def s3(monkeypatch):
    """An S3 store on this machine, for child processes, too."""
    server = pytest.importorskip("moto.server", reason="moto, a server of S3 for tests, is not installed")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    _, port = running.get_host_and_port()
    for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    address = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    s3fs.S3FileSystem.clear_instance_cache()
    store = s3fs.S3FileSystem()
    store.mkdir("bucket")
    yield store
    # Its content belongs to the process, not to the server.
    urllib.request.urlopen(f"{address}/moto-api/reset", data=b"").close()
    running.stop()


def test_objects_of_s3(key, key_ref, tmp_path, s3):
    data = os.urandom(7_000_000)
    s3.pipe_file("bucket/data", data)
    rows = ranges.rows("s3://bucket/data", "s3://bucket/data.enc", part_bytes=2_000_000)
    encrypt([*rows, rows[0]], key_ref)
    parts = sorted(s3.ls("bucket/data.enc", detail=False))
    assert len(parts) == 4 and b"".join(map(s3.cat_file, parts)) == expected(key, rows[0]["iv"], data)
    iv = bytes.fromhex(rows[0]["iv"])
    for into in [str(tmp_path / "again"), "s3://bucket/again"]:
        back = ranges.rows("s3://bucket/data.enc", into, part_bytes=1_500_000, iv=iv)
        assert len(back) == 7
        encrypt(back, key_ref)
    assert (tmp_path / "again").read_bytes() == data
    assert b"".join(map(s3.cat_file, sorted(s3.ls("bucket/again", detail=False)))) == data
    with pytest.raises(FileNotFoundError, match="typo does not exist"):
        ranges.encrypt_row(ranges.rows("s3://bucket/data", "s3://typo/data.enc")[0], key_ref)
    assert not s3.exists("typo")
    for work in (ranges.seal_row, ranges.open_row):
        with pytest.raises(IsADirectoryError, match="^s3://bucket/data.enc is a folder: give its files one by one"):
            work({"source": "s3://bucket/data.enc", "destination": "s3://bucket/sealed"}, key_ref)
    assert not s3.exists("bucket/sealed")
    s3.rm_file(parts[1])
    with pytest.raises(ValueError, match="00000000000002000000 is missing"):
        ranges.rows("s3://bucket/data.enc", str(tmp_path / "again"), iv=iv)
    assert ranges.seal_row({"source": "s3://bucket/data", "destination": "s3://bucket/sealed"}, key_ref) == len(data)
    opened = {"source": "s3://bucket/sealed", "destination": str(tmp_path / "opened")}
    assert ranges.open_row(opened, key_ref) == len(data) and (tmp_path / "opened").read_bytes() == data
    sealed = bytearray(s3.cat_file("bucket/sealed"))
    sealed[3_000_000] ^= 1
    s3.pipe_file("bucket/sealed", bytes(sealed))
    with pytest.raises(aes_bitslice.AuthenticationError):
        ranges.open_row({**opened, "destination": "s3://bucket/opened"}, key_ref)
    assert not s3.exists("bucket/opened")


#: A package with a scheme of keys: a data key that a key management service has encrypted.
OUR_KEYS = """
import base64
import functools
import boto3
from aes_bitslice import Key

@functools.cache
def of_kms(wrapped):
    return Key(boto3.client("kms").decrypt(CiphertextBlob=base64.b64decode(wrapped))["Plaintext"])
"""


def test_dask_from_s3_to_s3_with_a_key_of_kms(tmp_path, s3):
    pytest.importorskip("distributed")
    boto3 = pytest.importorskip("boto3")
    kms = boto3.client("kms")
    made = kms.generate_data_key(KeyId=kms.create_key()["KeyMetadata"]["KeyId"], KeySpec="AES_256")
    reference = "kms:" + base64.b64encode(made["CiphertextBlob"]).decode()
    (tmp_path / "our_keys.py").write_text(OUR_KEYS)
    (tmp_path / "our_keys-1.dist-info").mkdir()
    (tmp_path / "our_keys-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: our-keys\nVersion: 1\n")
    (tmp_path / "our_keys-1.dist-info" / "entry_points.txt").write_text("[aes_bitslice.keys]\nkms = our_keys:of_kms\n")
    data = os.urandom(5_000_000)
    s3.pipe_file("bucket/data", data)
    program = f"""
        from dask.distributed import Client
        from aes_bitslice import dask, ranges

        if __name__ == "__main__":
            with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
                rows = ranges.rows("s3://bucket/data", "s3://bucket/data.enc", part_bytes=1_000_000)
                futures = dask.encrypt(client, rows, {reference!r}, engine="cpu")
                print(sum(client.gather(futures)), rows[0]["iv"])
                print(len({{workers[0] for workers in client.who_has(futures).values()}}))
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, str(tmp_path / "program.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment)
    assert ran.returncode == 0, ran.stderr[-3000:]
    written, iv, workers = ran.stdout.split()
    assert (int(written), int(workers)) == (len(data), 2)
    parts = sorted(s3.ls("bucket/data.enc", detail=False, refresh=True))
    assert b"".join(map(s3.cat_file, parts)) == expected(Key(made["Plaintext"]), iv, data)
    assert made["Plaintext"].hex() not in ran.stdout + ran.stderr


def test_schemes_of_keys(key, key_ref):
    from aes_bitslice import keys

    assert keys.resolve(key_ref).expose() == key.expose()
    for reference in ["kms:x", ":", "", "x", key.expose().hex(), key.expose().hex() + ":x"]:
        with pytest.raises(ValueError, match="neither") as refused:
            keys.check(reference)
        assert key.expose().hex() not in str(refused.value)
    seen = []
    keys.register("here", lambda rest: seen.append(rest) or key)
    assert keys.resolve("here:a:b") is key and keys.check("here:c") == ("here", "c") and seen == ["a:b"]
    keys.register("bytes", lambda rest: key.expose())
    with pytest.raises(TypeError, match="returns a Key, not bytes") as refused:
        keys.resolve("bytes:")
    for reference in [key, None, b"env:X"]:
        with pytest.raises(TypeError, match="by a reference"):
            keys.resolve(reference)
    with pytest.raises(TypeError, match="a scheme must be a function"):
        keys.register("five", 5)
    for scheme in ["env", "file", "", "a:b", "ä"]:
        with pytest.raises(ValueError, match="a scheme must"):
            keys.register(scheme, lambda rest: key)


def test_the_actor_of_ray_without_ray(key, key_ref, tmp_path):
    numpy = pytest.importorskip("numpy")
    from aes_bitslice.ray import Encryptor

    data = os.urandom(300_000)
    (tmp_path / "data").write_bytes(data)
    rows = ranges.rows(tmp_path / "data", str(tmp_path / "out"), part_bytes=50_000)
    actor = Encryptor(key_ref, engine="cpu")
    for row in rows:
        done = actor({name: numpy.array([value]) for name, value in row.items()})
        assert done["bytes"].tolist() == [row["length"]]
    assert (tmp_path / "out").read_bytes() == expected(key, rows[0]["iv"], data)
    secret = Key.from_file(tmp_path / "key").expose()
    assert secret not in pickle.dumps(actor) and secret.hex().encode() not in pickle.dumps(actor)
    for bad in [{"key_ref": secret.hex()}, {"key_ref": key_ref, "task": "hide"}]:
        with pytest.raises(ValueError):
            Encryptor(**bad)


def test_ray(key, key_ref, tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is not installed; it is too large for CI")
    from aes_bitslice.ray import Encryptor

    data = os.urandom(10_000_000)
    (tmp_path / "data").write_bytes(data)
    rows = ranges.rows(tmp_path / "data", str(tmp_path / "out"), part_bytes=500_000)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        options = {"fn_constructor_args": (key_ref,), "fn_constructor_kwargs": {"engine": "cpu"}, "batch_size": 1}
        assert ray.data.from_items(rows).map_batches(Encryptor, compute=ray.data.ActorPoolStrategy(size=2), **options).sum("bytes") == len(data)
    finally:
        ray.shutdown()
    assert (tmp_path / "out").read_bytes() == expected(key, rows[0]["iv"], data)


#: Slow enough that workers can be killed in the middle.
SLOWLY = """
import os
import time
from aes_bitslice import ranges

encrypt_at_once = ranges.encrypt_row

def encrypt_slowly(row, key_ref, engine):
    written = encrypt_at_once({**row, "length": row["length"] // 2}, key_ref, engine)
    # The first five are done before a worker is killed, or meanwhile.
    while row["offset"] >= 1_000_000 and not os.path.exists(os.path.join(os.path.dirname(__file__), "killed")):
        time.sleep(0.05)
    return encrypt_at_once(row, key_ref, engine)
"""


def test_dask_with_workers_that_are_killed(key, key_ref, tmp_path):
    pytest.importorskip("distributed")
    size = 4_000_000
    data = os.urandom(size)
    (tmp_path / "data").write_bytes(data)
    (tmp_path / "slowly.py").write_text(SLOWLY)
    program = f"""
        import os, signal, sys, time
        sys.path.insert(0, {str(tmp_path)!r})
        os.environ["PYTHONPATH"] = {str(tmp_path)!r}
        import slowly
        from dask.distributed import Client, LocalCluster
        from aes_bitslice import dask, ranges

        if __name__ == "__main__":
            ranges.encrypt_row = slowly.encrypt_slowly
            rows = ranges.rows({str(tmp_path / "data")!r}, {str(tmp_path / "out")!r}, part_bytes=200_000)
            with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
                futures = dask.encrypt(client, rows, {key_ref!r}, engine="cpu", retries=10)
                killed = []
                while len(killed) < 2:
                    time.sleep(0.7)
                    pids = set(client.run(os.getpid).values()) - set(killed)
                    done = sum(future.done() for future in futures)
                    assert done < len(futures), "too late to kill one"
                    killed.append(pids.pop())
                    os.kill(killed[-1], signal.SIGKILL)
                open({str(tmp_path / "killed")!r}, "w").close()
                print(sum(client.gather(futures)), len(killed), rows[0]["iv"])
                sealed = dask.seal(client, [{{"source": {str(tmp_path / "data")!r}, "destination": {str(tmp_path / "sealed")!r}}}], {key_ref!r})
                print(*client.gather(sealed))
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    command = [sys.executable, str(tmp_path / "program.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr[-3000:]
    (written, killed, iv), (sealed,) = (line.split() for line in ran.stdout.splitlines())
    assert (int(written), int(killed), int(sealed)) == (size, 2, size)
    assert (tmp_path / "out").read_bytes() == expected(key, iv, data)
    assert aes_bitslice.open_bytes((tmp_path / "sealed").read_bytes(), key=key) == data
    assert key.expose().hex() not in ran.stdout + ran.stderr


def test_dask_is_given_references_only(key):
    from aes_bitslice import dask

    for seals in (dask.encrypt, dask.seal, dask.open):
        with pytest.raises(ValueError, match="neither"):
            seals(NotAsked(), [{}], key.expose().hex())


def test_dask_gives_workers_whole_paths(key, tmp_path, monkeypatch):
    from aes_bitslice import dask

    class Client:
        def submit(self, work, row, key_ref, engine, **options):
            return row, key_ref

    monkeypatch.chdir(tmp_path)
    for seals in (dask.encrypt, dask.seal, dask.open):
        row = {"source": "data", "destination": "memory://new"}
        assert seals(Client(), [row], "file:key", engine="cpu") == [({**row, "source": f"{tmp_path}/data"}, f"file:{tmp_path}/key")]
        assert seals(Client(), [], "env:KEY") == []
        with pytest.raises(ValueError, match="~ is not replaced in file:PATH"):
            seals(Client(), [row], "file:~/key")


def test_dask_says_that_no_worker_has_a_gpu(key_ref):
    from aes_bitslice import dask

    class Client:
        def __init__(self, *resources):
            self.workers, self.given = {n: {"resources": of} for n, of in enumerate(resources)}, []

        def scheduler_info(self, n_workers=5):
            return {"workers": self.workers if n_workers == -1 else {}}

        def submit(self, *arguments, **options):
            self.given.append(options.get("resources"))

    for calls in (dask.encrypt, dask.seal, dask.open):
        for workers in [(), ({}, {"MEMORY": 1e9}), ({"GPU": 0},)]:
            client = Client(*workers)
            with pytest.warns(UserWarning, match="has the resource GPU, and the tasks wait.*--resources \"GPU=1\"") as warned:
                calls(client, [{}], key_ref, engine="cuda:0")
            assert [warning.filename for warning in warned] == [__file__] and client.given == [{"GPU": 1}]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            calls(Client({}, {"GPU": 1.0}), [{}], key_ref, engine="cuda")
            calls(Client({}), [{}], key_ref, engine="cpu")
            calls(Client({}), [{}], key_ref, engine="cuda", resources={})


def test_dask_asks_its_scheduler_for_gpus(key_ref):
    distributed = pytest.importorskip("distributed")
    from aes_bitslice import dask

    with distributed.LocalCluster(n_workers=1, processes=False, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client, pytest.warns(UserWarning, match="none of Dask's 1 workers has the resource GPU"):
            for future in dask.encrypt(client, [{}], key_ref, engine="cuda"):
                future.cancel()
    with distributed.LocalCluster(n_workers=1, processes=False, threads_per_worker=1, resources={"GPU": 1}, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client, warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*the resource GPU.*")
            for future in dask.encrypt(client, [{}], key_ref, engine="cuda"):
                future.cancel()
