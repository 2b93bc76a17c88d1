"""Iceberg's AES GCM Stream, against a reader and a writer made from its specification with another package."""

import io
import mmap
import os
from contextlib import ExitStack

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from aes_bitslice import AuthenticationError, Error, Key, iceberg

MIB = 1 << 20


def decrypted(key, prefix, stream):
    """The message of a stream, by the specification."""
    assert stream[:4] == b"AGS1"
    block, message, number = int.from_bytes(stream[4:8], "little"), b"", 0
    for at in range(8, len(stream), block + 28):
        cut = stream[at : at + block + 28]
        message += AESGCM(key).decrypt(cut[:12], cut[12:], prefix + number.to_bytes(4, "little"))
        number += 1
    assert number
    return message


def encrypted(key, prefix, message, block):
    """A stream of blocks of this size, by the specification."""
    stream = b"AGS1" + block.to_bytes(4, "little")
    for number, at in enumerate(range(0, len(message) or 1, block)):
        nonce = os.urandom(12)
        stream += nonce + AESGCM(key).encrypt(nonce, message[at : at + block], prefix + number.to_bytes(4, "little"))
    return stream


def message_of(stream, **options):
    message = io.BytesIO()
    assert iceberg.decrypt(io.BytesIO(stream), message, **options) == len(message.getvalue())
    return message.getvalue()


@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, 4 * MIB, 4 * MIB + 1])
@pytest.mark.parametrize("key_bytes", [16, 24, 32])
def test_written(key_bytes, size, monkeypatch):
    monkeypatch.setattr(iceberg, "_CALL", 2 * MIB)
    key, message, stream = os.urandom(key_bytes), os.urandom(size), io.BytesIO()
    length = iceberg.encrypt(io.BytesIO(message), stream, key=Key(key), aad_prefix=b"a file")
    stream = stream.getvalue()
    assert len(stream) == length
    assert stream[4:8] == MIB.to_bytes(4, "little")
    assert decrypted(key, b"a file", stream) == message
    assert message_of(stream, key=Key(key), aad_prefix=b"a file", length=length) == message


@pytest.mark.parametrize("block", [1, 7, 1000, MIB, 3 * MIB])
@pytest.mark.parametrize("size", [0, 1, 6, 7, 8, 14, 3000])
def test_read(size, block):
    key, message = os.urandom(16), os.urandom(size)
    stream = encrypted(key, b"", message, block)
    assert message_of(stream, key=Key(key)) == message
    with iceberg.open(io.BytesIO(stream), key=Key(key), length=len(stream)) as file:
        assert file.readable() and file.seekable() and not file.writable()
        for start in {0, 1, 5, 7, 13, size // 2, max(size - 1, 0), size, size + 9}:
            for count in (0, 1, 8, 2000, -1):
                assert file.seek(start) == start
                assert file.read(count) == (message[start:] if count < 0 else message[start : start + count])
        assert file.seek(0, io.SEEK_END) == size
        with pytest.raises(ValueError):
            file.seek(-size - 1, io.SEEK_END)


def test_files(tmp_path):
    (tmp_path / "message").write_bytes(b"a manifest")
    key = Key.generate(256)
    length = iceberg.encrypt(tmp_path / "message", tmp_path / "stream", key=key, aad_prefix=b"x")
    with iceberg.open(tmp_path / "stream", key=key, aad_prefix=b"x", length=length) as file:
        assert file.read() == b"a manifest"
    assert iceberg.decrypt(tmp_path / "stream", tmp_path / "again", key=key, aad_prefix=b"x") == 10
    assert (tmp_path / "again").read_bytes() == b"a manifest"
    with pytest.raises(FileExistsError):
        iceberg.decrypt(tmp_path / "stream", tmp_path / "again", key=key, aad_prefix=b"x")
    for wrong in ({"key": Key.generate(256), "aad_prefix": b"x"}, {"key": key, "aad_prefix": b"y"}, {"key": key}):
        with pytest.raises(AuthenticationError, match=f"^{tmp_path / 'stream'}: authentication failed for block 0 of 1"):
            iceberg.decrypt(tmp_path / "stream", tmp_path / "new", **wrong)
    assert sorted(os.listdir(tmp_path)) == ["again", "message", "stream"]


def test_changed_and_cut_streams():
    key, message = os.urandom(16), os.urandom(20)
    stream = encrypted(key, b"", message, 8)
    for at in range(len(stream)):
        changed = bytearray(stream)
        changed[at] ^= 4
        with pytest.raises(Error):
            message_of(changed, key=Key(key))
    for end in range(len(stream)):
        with pytest.raises(AuthenticationError, match=f"has {end} bytes, and its length is {len(stream)}"):
            message_of(stream[:end], key=Key(key), length=len(stream))
        # Without the length, all cuts but those between blocks are noticed.
        if end in (8 + 36, 8 + 72):
            assert message_of(stream[:end], key=Key(key)) == message[: (end - 8) // 36 * 8]
        else:
            with pytest.raises(Error):
                message_of(stream[:end], key=Key(key))
    swapped = stream[:8] + stream[44:80] + stream[8:44] + stream[80:]
    with pytest.raises(AuthenticationError, match="block 0 of 3"):
        message_of(swapped, key=Key(key))
    # A last block that is empty, of a message that is not.
    nonce = os.urandom(12)
    with pytest.raises(Error, match="no AES GCM Stream"):
        message_of(stream[:44] + nonce + AESGCM(key).encrypt(nonce, b"", (1).to_bytes(4, "little")), key=Key(key))
    with pytest.raises(Error, match="no AES GCM Stream"):
        message_of(b"AGS1" + bytes(4) + nonce + AESGCM(key).encrypt(nonce, b"", bytes(4)), key=Key(key))


def test_a_file_that_becomes_shorter_is_refused(tmp_path):
    """Cut between two blocks after it was opened, which no tag shows."""
    key, path = Key.generate(128), tmp_path / "stream"
    iceberg.encrypt(io.BytesIO(bytes(5 << 20)), path, key=key)
    with iceberg.open(path, key=key) as file:
        os.truncate(path, 8 + 3 * ((1 << 20) + 28))
        with pytest.raises(AuthenticationError, match="shorter"):
            file.read()


def test_each_block_is_decrypted_once_by_a_read_of_everything(monkeypatch):
    """A buffer smaller than a block would decrypt the block again for each."""
    key, message, stream = Key.generate(128), os.urandom(3 * MIB + 5), io.BytesIO()
    iceberg.encrypt(io.BytesIO(message), stream, key=key)
    opened, plaintexts = [], iceberg._Reader._plaintexts

    def counted(reader, first, last):
        opened.extend(range(first, last))
        return plaintexts(reader, first, last)

    monkeypatch.setattr(iceberg._Reader, "_plaintexts", counted)
    with iceberg.open(stream, key=key) as file:
        assert file.read() == message
    assert opened == [0, 1, 2, 3]


def test_blocks_of_a_byte_are_decrypted_a_few_at_a_time(monkeypatch):
    """As a header, which is not authenticated, may say: all of a file in one call would take hundreds of times its size in memory."""
    key, calls = os.urandom(16), []
    stream, plaintexts = encrypted(key, b"", bytes(range(50)), 1), iceberg._Reader._plaintexts
    monkeypatch.setattr(iceberg, "_MOST", 16)
    monkeypatch.setattr(iceberg._Reader, "_plaintexts", lambda reader, *blocks: calls.append(blocks) or plaintexts(reader, *blocks))
    assert message_of(stream, key=Key(key)) == bytes(range(50))
    assert calls == [(0, 16), (16, 32), (32, 48), (48, 50)]


@pytest.mark.parametrize("block", [MIB + 1, (1 << 32) - 1])
def test_no_more_is_asked_for_than_the_file_has(block):
    """As a header, which is not authenticated, may say: blocks of 4 GiB."""

    class Asked(io.BytesIO):
        most = 0

        def read(self, size=-1):
            self.most = max(self.most, size)
            return super().read(size)

    key, message = os.urandom(16), os.urandom(40)
    source = Asked(encrypted(key, b"", message, block))
    with iceberg.open(source, key=Key(key)) as file:
        assert file.read() == message
    assert source.most == 28 + 40


def test_what_no_file_object_does():
    key, stream = Key.generate(128), io.BytesIO()
    iceberg.encrypt(io.BytesIO(b"a manifest"), stream, key=key)
    file = iceberg.open(stream, key=key)
    raw = file.raw
    for whence in (3, 4, 9):
        with pytest.raises(ValueError, match=f"whence must be 0, 1 or 2, not {whence}|whence value {whence}"):
            file.seek(0, whence)
        with pytest.raises(ValueError, match=f"whence must be 0, 1 or 2, not {whence}"):
            raw.seek(0, whence)
    file.close()
    raw.close()
    with pytest.raises(ValueError, match="closed"):
        raw.readinto(bytearray(4))
    assert not hasattr(raw, "_cipher")


def test_a_reader_is_closed_though_its_source_cannot_be():
    key, stream = Key.generate(128), io.BytesIO()
    iceberg.encrypt(io.BytesIO(b"a manifest"), stream, key=key)
    file = iceberg.open(stream, key=key)
    raw, source = file.raw, ExitStack()
    source.callback(lambda: 1 // 0)
    raw.closes = source
    with pytest.raises(ZeroDivisionError):
        raw.close()
    assert raw.closed


class WouldBlock(io.BytesIO):
    def read(self, size=-1):
        return None if self.tell() > 9 else super().read(min(size, 5))


def test_a_source_that_would_block_is_no_end():
    key, message, sealed = Key.generate(128), io.BytesIO(), io.BytesIO()
    iceberg.encrypt(io.BytesIO(b"a manifest"), sealed, key=key)
    with pytest.raises(BlockingIOError, match="source is non-blocking"):
        iceberg.encrypt(WouldBlock(b"a manifest"), message, key=key)
    with pytest.raises(BlockingIOError, match="source is non-blocking"):
        iceberg.decrypt(WouldBlock(sealed.getvalue()), message, key=key)
    assert message_of(sealed.getvalue(), key=key) == b"a manifest"


class Source:
    """A source whose read() returns these, one after another."""

    def __init__(self, *returned):
        self.returned = iter(returned)

    def read(self, size):
        return next(self.returned)

    def seek(self, *to):
        """Does not say where it is, as `mmap` does not."""

    def tell(self):
        return 100


class Text(io.StringIO):
    """A source of text, which is not read to its end again and again."""

    def __init__(self):
        super().__init__("a manifest")
        self.reads = 0

    def read(self, size=-1):
        self.reads += 1
        assert self.reads < 9
        return super().read(size)


@pytest.mark.parametrize("work", [iceberg.encrypt, iceberg.decrypt])
@pytest.mark.parametrize(
    "source, kind, message",
    [
        (Text, TypeError, 'the source gives text, not bytes: open it with the mode "rb"'),
        (lambda: Source("text", "", ""), TypeError, r"what read\(\) returns must be bytes, not str"),
        (lambda: Source(5), TypeError, "must be bytes, not int"),
        (lambda: 999, TypeError, "source must be a path, or a file object"),
        (lambda: b"stream", TypeError, "source must be a path, or a file object"),
        (lambda: Source(bytes((64 << 20) + 1)), OSError, "more than it was asked for"),
    ],
)
def test_a_source_that_gives_no_bytes_is_refused(source, kind, message, work, tmp_path):
    with pytest.raises(kind, match=message):
        work(source(), tmp_path / "new", key=Key.generate(128))
    assert not os.listdir(tmp_path)


def test_sources_that_do_not_say_where_they_are(tmp_path):
    key = Key.generate(128)
    length = iceberg.encrypt(io.BytesIO(b"a manifest"), tmp_path / "stream", key=key)
    with open(tmp_path / "stream", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as source:
        with iceberg.open(source, key=key, length=length) as message:
            assert message.read() == b"a manifest"


def test_a_source_that_cannot_seek_is_refused(tmp_path):
    ends = os.pipe()
    with open(ends[0], "rb") as source, open(ends[1], "wb"), pytest.raises(TypeError, match="must be able to seek: give the path of a file"):
        iceberg.decrypt(source, tmp_path / "new", key=Key.generate(128))
    assert not os.listdir(tmp_path)
