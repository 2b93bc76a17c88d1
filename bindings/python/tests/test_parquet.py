"""Encrypted Parquet files: what pyarrow wrote is read, what is written pyarrow reads, and each module is what the format says."""

import base64
import ctypes
import functools
import io
import itertools
import json
import os
import random
import sys
import zlib
from hmac import compare_digest
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import aes_bitslice
from aes_bitslice import AuthenticationError, Error, Key, _new_bytes, _parquet_tensors, _thrift, parquet

GCM, GCM_CTR = "AES_GCM_V1", "AES_GCM_CTR_V1"


class Kms(pe.KmsClient):
    """Master keys in memory. Wraps as a service might: with the name of the master key, by AES-GCM."""

    MASTERS = {name: bytes([number] * 16) for number, name in enumerate(["footer", "one", "two"])}

    def __init__(self, config=None):
        super().__init__()
        self.asked = 0

    def wrap_key(self, key_bytes, master_key_identifier):
        nonce = os.urandom(12)
        return base64.b64encode(nonce + AESGCM(self.MASTERS[master_key_identifier]).encrypt(nonce, key_bytes, None))

    def unwrap_key(self, wrapped_key, master_key_identifier):
        self.asked += 1
        wrapped = base64.b64decode(wrapped_key)
        return AESGCM(self.MASTERS[master_key_identifier]).decrypt(wrapped[:12], wrapped[12:], None)


FACTORY, CONNECTION = pe.CryptoFactory(Kms), pe.KmsConnectionConfig()


def table(rows=3000):
    chance = np.random.default_rng(rows)
    return pa.table(
        {
            "number": chance.integers(0, 1 << 62, rows),
            "word": [("even", "odd", None)[n % 3] for n in range(rows)],
            "list": [None if n % 5 == 0 else list(range(n % 4)) for n in range(rows)],
            "pair": [{"x": n / 7, "y": None if n % 2 else {"z": str(n)}} for n in range(rows)],
            "nothing": pa.nulls(rows, pa.int32()),
        }
    )


TABLE = table()
#: Every way in which pyarrow writes other modules.
WRITES = {
    "one page": {},
    "row groups and pages": {"row_group_size": 1000, "data_page_size": 300, "write_batch_size": 100},
    "page index, version 2": {"write_page_index": True, "data_page_version": "2.0", "data_page_size": 300, "write_batch_size": 100},
    "no dictionary": {"use_dictionary": False, "compression": "zstd", "row_group_size": 1000},
    "checksums": {"write_page_checksum": True},
}


def written(of=TABLE, **options):
    file = io.BytesIO()
    pq.write_table(of, file, **options)
    return file.getvalue()


def read(data, **options):
    return pq.read_table(io.BytesIO(data), page_checksum_verification=True, **options)


def footer(data):
    """The footer of a plain file, and its first byte."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return _thrift.read(data[start:-8])[0], start


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("plaintext_footer", [False, True])
@pytest.mark.parametrize("algorithm", [GCM, GCM_CTR])
@pytest.mark.parametrize("bits", [128, 192, 256])
def test_one_key(bits, algorithm, plaintext_footer, write):
    key, options = os.urandom(bits // 8), {"plaintext_footer": plaintext_footer}
    of_pyarrow = pe.create_encryption_properties(key, encryption_algorithm=algorithm, **options)
    secret, other = written(**WRITES[write], encryption_properties=of_pyarrow), GCM_CTR if algorithm == GCM else GCM
    plain = parquet.decrypt_bytes(secret, keys=Key(key), algorithm=algorithm)
    with pytest.raises(AuthenticationError, match=f"the file's algorithm is {algorithm}, not {other}: .* give algorithm='{algorithm}'"):
        parquet.decrypt_bytes(secret, keys=Key(key), algorithm=other)
    assert read(plain).equals(TABLE)
    for source in (plain, written(**WRITES[write])):
        secret = parquet.encrypt_bytes(source, keys=Key(key), algorithm=algorithm, **options)
        assert read(secret, decryption_properties=pe.create_decryption_properties(key)).equals(TABLE)
        with pytest.raises(OSError):
            read(secret)


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_prefix(plaintext_footer, stored):
    key, options = os.urandom(16), {"aad_prefix": b"this file", "store_aad_prefix": stored, "plaintext_footer": plaintext_footer}
    of_pyarrow = written(encryption_properties=pe.create_encryption_properties(key, **options))
    ours = parquet.encrypt_bytes(written(), keys=Key(key), **options)
    assert read(ours, decryption_properties=pe.create_decryption_properties(key, aad_prefix=b"this file")).equals(TABLE)
    for secret in (of_pyarrow, ours):
        assert read(parquet.decrypt_bytes(secret, keys=Key(key), aad_prefix=bytearray(b"this file"))).equals(TABLE)
        with pytest.raises(AuthenticationError, match="this is another file" if stored else "aad_prefix is wrong"):
            parquet.decrypt_bytes(secret, keys=Key(key), aad_prefix=b"that file")
        if stored:
            assert read(parquet.decrypt_bytes(secret, keys=Key(key))).equals(TABLE)
        else:
            assert b"this file" not in secret
            with pytest.raises(ValueError, match="give aad_prefix"):
                parquet.decrypt_bytes(secret, keys=Key(key))
    without = parquet.encrypt_bytes(written(), keys=Key(key))
    with pytest.raises(AuthenticationError, match="this is another file"):
        parquet.decrypt_bytes(without, keys=Key(key), aad_prefix=b"this file")


@pytest.mark.parametrize("stored", [True, False])
def test_no_prefix_takes_the_place_of_the_one_that_is_expected(stored):
    """Who replaces a file by an older one may say in it, unauthenticated, that the prefix is to be given, beside an old one or not."""
    key = Key(os.urandom(16))
    secret = parquet.encrypt_bytes(written(), keys=key, aad_prefix=b"an older file")
    start = len(secret) - 8 - int.from_bytes(secret[-8:-4], "little")
    crypto, end = _thrift.read(secret[start:-8])
    fields = crypto[1][1][1][1]
    fields[3] = (_thrift.TRUE, None)
    if not stored:
        del fields[1]
    footer = _thrift.write(crypto) + bytes(secret[start:-8][end:])
    changed = bytes(secret[:start]) + footer + len(footer).to_bytes(4, "little") + bytes(secret[-4:])
    with pytest.raises(AuthenticationError, match="this is another file" if stored else "aad_prefix is wrong"):
        parquet.decrypt_bytes(changed, keys=key, aad_prefix=b"this file")
    assert read(parquet.decrypt_bytes(changed, keys=key, aad_prefix=b"an older file")).equals(TABLE)


@pytest.mark.parametrize("columns", [None, {"one": ["number", "list.list.element"], "two": ["pair.y.z"]}])
@pytest.mark.parametrize("plaintext_footer", [False, True])
@pytest.mark.parametrize("double_wrapping", [False, True])
@pytest.mark.parametrize("bits", [128, 192, 256])
def test_keys_of_a_service_that_pyarrow_used(bits, double_wrapping, plaintext_footer, columns):
    which = {"uniform_encryption": True} if columns is None else {"column_keys": columns}
    config = pe.EncryptionConfiguration(
        "footer", data_key_length_bits=bits, double_wrapping=double_wrapping, plaintext_footer=plaintext_footer, **which
    )
    kms = Kms()
    secret = written(row_group_size=1000, encryption_properties=FACTORY.file_encryption_properties(CONNECTION, config))
    assert read(parquet.decrypt_bytes(secret, keys=parquet.keys_of(kms))).equals(TABLE)
    assert kms.asked == (1 if columns is None else 3 if double_wrapping else 4)


@pytest.mark.parametrize("algorithm", [GCM, GCM_CTR])
@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_pyarrow_reads_keys_of_a_service(plaintext_footer, algorithm):
    kms = Kms()
    keys = {
        None: parquet.new_key(kms, "footer", 128, footer=True),
        "number": parquet.new_key(kms, "one", 192),
        "pair": parquet.new_key(kms, "two"),
    }
    secret = parquet.encrypt_bytes(
        written(row_group_size=1000, write_page_index=True), keys=keys, plaintext_footer=plaintext_footer, algorithm=algorithm
    )
    of_service = FACTORY.file_decryption_properties(CONNECTION)
    assert read(secret, decryption_properties=of_service).equals(TABLE)
    assert read(parquet.decrypt_bytes(secret, keys=parquet.keys_of(kms), algorithm=algorithm)).equals(TABLE)
    if plaintext_footer:
        # Without any key: the columns that are not encrypted, and nothing else.
        assert read(secret, columns=["word", "list"]).equals(TABLE.select(["word", "list"]))
        for column in ("number", "pair"):
            with pytest.raises(OSError):
                read(secret, columns=[column])
        groups = _thrift.structs(footer(secret)[0], 4)
        assert [group[7] for group in groups] == [(_thrift.I16, number) for number in range(3)]
        assert tells(secret, 0) == NOT_SECRET


#: What a plaintext footer tells of an encrypted column: no statistics, encodings of pages or sizes of values.
NOT_SECRET = {1, 2, 3, 4, 5, 6, 7, 9, 11}


def tells(secret, column):
    """The fields of the metadata of a column in a plaintext footer."""
    chunk = _thrift.structs(_thrift.structs(footer(secret)[0], 4)[0], 1)[column]
    return set(_thrift.get(chunk, 3, _thrift.STRUCT))


def test_a_column_may_have_the_key_of_the_footer():
    footer_key, other = Key.generate(128), Key.generate(256)
    for plaintext_footer in (False, True):
        secret = parquet.encrypt_bytes(written(), keys={None: footer_key, "number": footer_key, "word": other}, plaintext_footer=plaintext_footer)
        assert read(parquet.decrypt_bytes(secret, keys={None: footer_key, "word": other})).equals(TABLE)
    assert tells(secret, 0) == tells(secret, 1) == NOT_SECRET and tells(secret, 2) > NOT_SECRET


@pytest.mark.parametrize("plaintext_footer", [False, True])
@pytest.mark.parametrize("of_column", [None, b"of the footer", b"of the column"])
def test_metadata_of_a_column_beside_the_key_of_the_footer(of_column, plaintext_footer):
    key, asked = Key.generate(128), {}
    of_number = key if of_column is None else (key, of_column)
    secret = parquet.encrypt_bytes(written(), keys={None: (key, b"of the footer"), "number": of_number}, plaintext_footer=plaintext_footer)

    def find(column, metadata):
        asked[column] = metadata
        return key

    assert read(parquet.decrypt_bytes(secret, keys=find)).equals(TABLE)
    assert asked == {None: b"of the footer"} | ({"number": of_column} if of_column == b"of the column" else {})


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_small_tables(rows, plaintext_footer):
    key, of = os.urandom(32), TABLE.slice(0, rows)
    options = {"plaintext_footer": plaintext_footer}
    secret = written(of, encryption_properties=pe.create_encryption_properties(key, **options))
    assert read(parquet.decrypt_bytes(secret, keys=Key(key))).equals(of)
    secret = parquet.encrypt_bytes(written(of), keys={None: Key(key), "number": Key(key)}, **options)
    assert read(secret, decryption_properties=pe.create_decryption_properties(key)).equals(of)


def test_nothing_but_the_encryption_changes():
    """Page indexes, Bloom filters and statistics are the bytes that they were, where the footer says."""
    before = written(
        row_group_size=1000, data_page_size=300, write_batch_size=100, write_page_index=True, bloom_filter_options={"number": {"ndv": 1000}}
    )
    first, key = footer(before)[0], Key.generate(256)
    for number, (kind, group) in enumerate(zip(itertools.repeat(_thrift.STRUCT), _thrift.structs(first, 4))):
        # The number of the row group, which encrypted files have.
        group[7] = _thrift.I16, number
    changed = _thrift.write(first)
    before = before[: footer(before)[1]] + changed + len(changed).to_bytes(4, "little") + b"PAR1"
    for keys in (key, {None: key, "number": Key.generate(128), "list": key}):
        for algorithm, plaintext_footer in itertools.product([GCM, GCM_CTR], [False, True]):
            secret = parquet.encrypt_bytes(before, keys=keys, algorithm=algorithm, plaintext_footer=plaintext_footer)
            assert parquet.decrypt_bytes(secret, keys=keys, algorithm=algorithm) == before


def test_decrypted_pages_have_checksums(tmp_path):
    key = Key.generate(128)
    secret = written(write_page_checksum=True, encryption_properties=pe.create_encryption_properties(key.expose()))
    (tmp_path / "secret").write_bytes(secret)
    parquet.decrypt(tmp_path / "secret", tmp_path / "plain", keys=key)
    plain = parquet.decrypt_bytes(secret, keys=key)
    assert (tmp_path / "plain").read_bytes() == plain and read(plain).equals(TABLE)
    for chunk in _thrift.structs(_thrift.structs(footer(plain)[0], 4)[0], 1):
        metadata = chunk[3][1]
        at = start = metadata.get(11, metadata[9])[1]
        while at < start + metadata[7][1]:
            header, body = _thrift.read(plain, at)
            at = body + header[3][1]
            assert header[4] == (_thrift.I32, np.uint32(zlib.crc32(plain[body:at])).astype(np.int32))


def modules_of(key, secret, prefix):
    """By kind, row group, column and page: the plaintexts of a file of one key in AES_GCM_CTR_V1, found and decrypted as the format says."""
    start = len(secret) - 8 - int.from_bytes(secret[-8:-4], "little")
    crypto, end = _thrift.read(secret[start:-8])
    aad = prefix + crypto[1][1][2][1][2][1]

    def plaintext(frame, *suffix):
        length = int.from_bytes(frame[:4], "little")
        nonce, sealed = frame[4:16], frame[16 : 4 + length]
        whole = aad + bytes(suffix[:1]) + b"".join(part.to_bytes(2, "little") for part in suffix[1:])
        if suffix[0] in (2, 3):
            return Cipher(algorithms.AES(key), modes.CTR(nonce + bytes([0, 0, 0, 1]))).decryptor().update(sealed), 4 + length
        return AESGCM(key).decrypt(nonce, sealed, whole), 4 + length

    found = {}
    of_footer = _thrift.read(plaintext(secret[start + end : -8], 0)[0])[0]
    for g, group in enumerate(of_footer[4][1][1]):
        for c, chunk in enumerate(group[1][1][1]):
            meta = chunk[3][1]
            at = meta.get(11, meta[9])[1]
            end, page = at + meta[7][1], 0
            while at < end:
                is_dictionary = 11 in meta and at == meta[11][1]
                for kind in (5, 3) if is_dictionary else (4, 2):
                    suffix = (kind, g, c) if is_dictionary else (kind, g, c, page)
                    found[suffix], size = plaintext(secret[at:], *suffix)
                    at += size
                page += not is_dictionary
            for kind, place in ((6, chunk.get(6)), (7, chunk.get(4)), (8, meta.get(14))):
                if place is not None:
                    found[kind, g, c], size = plaintext(secret[place[1] :], kind, g, c)
                    if kind == 8:
                        found[9, g, c], more = plaintext(secret[place[1] + size :], 9, g, c)
                        assert size + more == meta[15][1]
    return found


def test_modules_are_what_the_format_says():
    """Also Bloom filters, which pyarrow does not encrypt; and no nonce comes twice."""
    key = os.urandom(24)
    before = written(row_group_size=1000, data_page_size=300, write_batch_size=100, write_page_index=True, bloom_filter_options={"word": {"ndv": 9}})
    secret = parquet.encrypt_bytes(before, keys=Key(key), aad_prefix=b"it", algorithm=GCM_CTR, store_aad_prefix=False)
    found = modules_of(key, secret, b"it")
    assert {suffix[0] for suffix in found} == set(range(2, 10))
    for g, group in enumerate(footer(before)[0][4][1][1]):
        chunk = group[1][1][1][1]
        start, size = chunk[3][1][14][1], chunk[3][1][15][1]
        assert found[8, g, 1] + found[9, g, 1] == before[start : start + size]
        start, size = chunk[6][1], chunk[7][1]
        assert found[6, g, 1] == before[start : start + size]
    again = parquet.encrypt_bytes(before, keys=Key(key), aad_prefix=b"it", algorithm=GCM_CTR, store_aad_prefix=False)
    assert again != secret
    assert unique(again) != unique(secret) and unique(written(encryption_properties=pe.create_encryption_properties(key)))


def unique(secret):
    """The random part of the additional data of a file with an encrypted footer."""
    crypto, _ = _thrift.read(secret[len(secret) - 8 - int.from_bytes(secret[-8:-4], "little") :])
    ((_, algorithm),) = crypto[1][1].values()
    assert len(algorithm[2][1]) == 8
    return algorithm[2][1]


def test_files(tmp_path):
    plain, secret, again = tmp_path / "plain", tmp_path / "secret", str(tmp_path / "again")
    plain.write_bytes(written())
    plain.chmod(0o600)
    key = Key.generate(256)
    assert parquet.encrypt(plain, secret, keys=key) == secret.stat().st_size
    assert parquet.decrypt(secret, again, keys=key) == os.stat(again).st_size
    assert pq.read_table(again).equals(TABLE)
    assert os.stat(again).st_mode & 0o777 == secret.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        parquet.decrypt(secret, again, keys=key)
    parquet.decrypt(secret, again, keys=key, overwrite=True)
    with pytest.raises(ValueError, match="the same file"):
        parquet.decrypt(secret, secret, keys=key, overwrite=True)
    with open(secret, "rb") as reads, open(again, "wb") as writes:
        parquet.decrypt(reads, writes, keys=key)
    assert pq.read_table(again).equals(TABLE)
    assert sorted(os.listdir(tmp_path)) == ["again", "plain", "secret"]


def refused(tmp_path, data, kind, match, **options):
    """Decryption fails with this error, leaves no file, and leaves one that was there."""
    source, there = tmp_path / "source", tmp_path / "there"
    source.write_bytes(data)
    there.write_bytes(b"as it was")
    for destination, overwrite in ((tmp_path / "new", False), (there, True)):
        with pytest.raises(kind, match=match) as raised:
            parquet.decrypt(source, destination, overwrite=overwrite, **options)
        if issubclass(kind, Error):
            assert str(raised.value).startswith(f"{source}: ")
    assert sorted(os.listdir(tmp_path)) == ["source", "there"] and there.read_bytes() == b"as it was"


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_wrong_and_missing_keys(tmp_path, plaintext_footer):
    keys = {None: Key.generate(128), "number": Key.generate(192), "list": Key.generate(256)}
    secret = parquet.encrypt_bytes(written(), keys=keys, plaintext_footer=plaintext_footer)
    for path, what in ((None, "footer"), ("number", "column metadata of column number"), ("list", "metadata of column list.list.element")):
        refused(tmp_path, secret, AuthenticationError, what, keys=keys | {path: Key.generate(256)})
    refused(tmp_path, secret, ValueError, "no key in keys for the columns number, list.list.element$", keys={None: keys[None]})
    refused(tmp_path, secret, ValueError, "no key for the footer", keys={"number": keys["number"]})
    refused(tmp_path, secret, AuthenticationError, "column metadata of column number", keys=keys[None])
    refused(tmp_path, secret, Error, "no key material", keys=parquet.keys_of(Kms()))
    refused(tmp_path, secret, TypeError, "a key must be a Key, not bytes", keys=lambda column, metadata: bytes(16))
    no_others = "no key in keys for the columns number, list.list.element$"
    refused(tmp_path, secret, ValueError, no_others, keys=lambda column, metadata: keys[None] if column is None else None)
    refused(tmp_path, secret, ValueError, "no key for the footer", keys=lambda column, metadata: None)
    refused(tmp_path, secret, TypeError, "keys must be", keys=bytes(16))
    refused(tmp_path, secret, ValueError, "XTS", keys=Key.generate(256, xts=True))


def test_key_material_of_others(tmp_path):
    kms, plain = Kms(), written()
    key, material = parquet.new_key(kms, "footer", footer=True)
    secret = parquet.encrypt_bytes(plain, keys={None: (key, material.replace(b"true", b"false"))})
    refused(tmp_path, secret, Error, "only internal key material", keys=parquet.keys_of(kms))
    for other in (b"17", b"[" * 200_000):
        secret = parquet.encrypt_bytes(plain, keys={None: (key, other)})
        refused(tmp_path, secret, Error, "no key material", keys=parquet.keys_of(kms))


def test_what_a_service_says_is_not_hidden():
    """A key encryption key that it refuses, or that is none, is not a wrapped key that was changed."""
    material = {"keyMaterialType": "PKMT1", "internalStorage": True, "doubleWrapping": True}
    names = {"wrappedDEK": "", "masterKeyID": "m", "wrappedKEK": "k", "keyEncryptionKeyID": ""}
    metadata = json.dumps(material | names).encode()

    def refuses(wrapped_key, master_key_identifier):
        raise ValueError("access denied")

    for unwrap, text in [(refuses, "^access denied$"), (lambda *given: bytes(17), "^a key has 16.* 17")]:
        with pytest.raises(ValueError, match=text):
            parquet.keys_of(SimpleNamespace(unwrap_key=unwrap))(None, metadata)


@pytest.mark.parametrize(
    "options, kind, message",
    [
        ({"keys": {"number": Key(bytes(16))}}, ValueError, "no key for the footer"),
        ({"keys": {None: Key(bytes(16)), "numbers": Key(bytes(16))}}, ValueError, "the file has no column numbers: its columns are .*number"),
        ({"keys": {None: Key(bytes(16)), "num": Key(bytes(16))}}, ValueError, "the file has no column num:"),
        ({"keys": bytes(16)}, TypeError, "keys must be a Key or a dictionary, not bytes"),
        ({"keys": {None: bytes(16)}}, TypeError, "a key must be a Key, not bytes"),
        ({"keys": {None: (Key(bytes(16)), 9)}}, TypeError, "bytes-like"),
        ({"keys": Key(bytes(16)), "algorithm": "AES_GCM"}, ValueError, "algorithm must be one of AES_GCM_V1, AES_GCM_CTR_V1, not 'AES_GCM'"),
        ({"keys": Key(bytes(16)), "aad_prefix": "text"}, TypeError, "^aad_prefix must be a bytes-like object, not str"),
        ({"keys": Key(bytes(16)), "footer": True}, TypeError, r"^encrypt_bytes\(\) got an unexpected keyword argument 'footer'"),
    ],
)
def test_wrong_arguments(options, kind, message):
    with pytest.raises(kind, match=message):
        parquet.encrypt_bytes(written(), **options)


def test_a_source_of_text_is_refused(tmp_path):
    (tmp_path / "source").write_text("text")
    for work in (parquet.encrypt, parquet.decrypt):
        with open(tmp_path / "source") as source, pytest.raises(TypeError, match='open it with the mode "rb"'):
            work(source, tmp_path / "new", keys=Key.generate(128))
    assert os.listdir(tmp_path) == ["source"]


def test_a_source_after_its_end(tmp_path):
    source = io.BytesIO(written())
    source.seek(1 << 20)
    for work in (parquet.encrypt, parquet.decrypt):
        with pytest.raises(Error, match="no Parquet file"):
            work(source, tmp_path / "new", keys=Key.generate(128))
        source.seek(1 << 20)


def test_the_longest_beginning_of_a_path_counts():
    find = parquet._by_beginning({None: 0, "a": 1, "a.b": 2, "ab": 3})
    assert [find(path) for path in (None, "a", "a.c", "a.b", "a.b.c.d", "a.bc", "ab", "abc", "b")] == [0, 1, 1, 2, 2, 1, 3, None, None]


class OnlyReads:
    """A source without `readinto`, whose `seek` does not say where it is, as that of `mmap` does not."""

    def __init__(self, data, piece=1 << 20):
        self.file, self.piece = io.BytesIO(data), piece

    def read(self, size):
        return self.file.read(min(size, self.piece)) if self.piece else None

    def seek(self, *to):
        self.file.seek(*to)

    def tell(self):
        return self.file.tell()


def test_a_source_of_a_derived_class_is_read_as_it_reads(tmp_path):
    class Negates(io.FileIO):
        def read(self, size=-1):
            return bytes(byte ^ 0xFF for byte in super().read(size))

    (tmp_path / "file").write_bytes(bytes(byte ^ 0xFF for byte in written()))
    key = Key.generate(128)
    with Negates(tmp_path / "file") as source:
        parquet.encrypt(source, secret := io.BytesIO(), keys=key)
    assert read(parquet.decrypt_bytes(secret.getvalue(), keys=key)).equals(TABLE)


def test_what_is_written_in_parts_is_copied_in_parts():
    class Takes(io.BytesIO):
        given = 0

        def write(self, data):
            self.given += len(data)
            return super().write(data[: 1 << 16])

    key, file = Key.generate(128), Takes()
    pq.write_table(pa.table({"number": np.random.default_rng(1).integers(0, 1 << 62, 1 << 20)}), plain := io.BytesIO(), use_dictionary=False)
    parquet.encrypt(io.BytesIO(plain.getvalue()), file, keys=key)
    assert file.given < 20 * len(file.getvalue())


def test_sources_that_only_read(tmp_path):
    key = Key.generate(128)
    for piece in (100, 1 << 20):
        source = OnlyReads(b"before" + written(), piece)
        source.seek(6)
        parquet.encrypt(source, secret := io.BytesIO(), keys=key)
        parquet.decrypt(OnlyReads(secret.getvalue(), piece), plain := io.BytesIO(), keys=key)
        assert pq.read_table(plain).equals(TABLE)
    with pytest.raises(BlockingIOError, match="source is non-blocking"):
        parquet.encrypt(OnlyReads(written(), None), tmp_path / "new", keys=key)
    os.mkfifo(tmp_path / "pipe")
    holds = os.open(tmp_path / "pipe", os.O_RDWR)
    with pytest.raises(TypeError, match="must be able to seek: give the path of a file"):
        parquet.decrypt(tmp_path / "pipe", tmp_path / "new", keys=key)
    os.close(holds)
    for source in (holds, b"new"):
        with pytest.raises(TypeError, match="source must be a path, or a file object"):
            parquet.encrypt(source, tmp_path / "new", keys=key)
    assert os.listdir(tmp_path) == ["pipe"]


def test_what_is_no_such_file(tmp_path):
    key, plain = Key.generate(128), written()
    refused(tmp_path, plain, Error, "the file is not encrypted", keys=key)
    for data in (b"", b"PAR1", b"PARE" * 3, plain[:-1], b"PAR1" + bytes([255] * 20) + b"PAR1"):
        refused(tmp_path, data, Error, "damaged, or no Parquet file", keys=key)
    secret = parquet.encrypt_bytes(plain, keys=key)
    with pytest.raises(Error, match="encrypted already"):
        parquet.encrypt_bytes(secret, keys=key)
    with pytest.raises(Error, match="encrypted already"):
        parquet.encrypt_bytes(parquet.encrypt_bytes(plain, keys=key, plaintext_footer=True), keys=key)


def places(secret, keys, plaintext_footer):
    """The bytes of a file that are authenticated: all but the last eight and the first four, which a reader compares."""
    return range(4, len(secret) - 8)


@pytest.mark.parametrize("plaintext_footer", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_every_changed_byte_is_noticed(plaintext_footer, own):
    """In AES_GCM_V1 of a file all whose columns are encrypted, no byte is free."""
    of = TABLE.slice(0, 4).select(["number", "word"])
    keys = {None: Key.generate(128), "number": Key.generate(128), "word": Key.generate(128)} if own else Key.generate(128)
    plain = written(of, write_page_index=True, store_schema=False, write_statistics=False)
    secret = parquet.encrypt_bytes(plain, keys=keys, plaintext_footer=plaintext_footer)
    chance = random.Random(1)
    for at in range(len(secret)):
        changed = bytearray(secret)
        changed[at] ^= 1 << chance.randrange(8)
        with pytest.raises((Error, ValueError)):
            parquet.decrypt_bytes(changed, keys=keys)
    for end in range(len(secret)):
        with pytest.raises(Error):
            parquet.decrypt_bytes(secret[:end], keys=keys)


def test_swapped_modules_are_noticed():
    """Two pages of a column, of one length, in each other's place."""
    key, of = Key.generate(128), pa.table({"n": np.arange(400)})
    plain = written(of, use_dictionary=False, compression="none", data_page_size=800, write_batch_size=100, write_statistics=False)
    secret = bytearray(parquet.encrypt_bytes(plain, keys=key))
    frames, at = [], 4
    for _ in range(8):
        size = 4 + int.from_bytes(secret[at : at + 4], "little")
        frames.append((at, at + size))
        at += size
    (one, one_end), (other, other_end) = frames[1], frames[3]
    assert one_end - one == other_end - other > 800
    secret[one:one_end], secret[other:other_end] = secret[other:other_end], secret[one:one_end]
    with pytest.raises(AuthenticationError, match="failed for the data page 0 of column n in row group 0"):
        parquet.decrypt_bytes(secret, keys=key)


@pytest.mark.parametrize("encrypts", [False, True])
def test_damaged_files_are_errors(encrypts):
    """Of a file whose footer is not encrypted, offsets and sizes may be anything; none leads to another exception, or out of the file."""
    chance, key = random.Random(encrypts), Key.generate(128)
    plain = written(TABLE.slice(0, 50), write_page_index=True, bloom_filter_options={"number": {"ndv": 9}})
    source = plain if encrypts else parquet.encrypt_bytes(plain, keys={None: key, "number": key, "list": key}, plaintext_footer=True)
    start = len(source) - 8 - int.from_bytes(source[-8:-4], "little")
    for _ in range(1500):
        changed = bytearray(source)
        for _ in range(chance.choice([1, 1, 2, 5])):
            changed[chance.randrange(4 if chance.random() < 0.2 else start, len(source) - 4)] = chance.randrange(256)
        try:
            parquet.encrypt_bytes(changed, keys=key) if encrypts else parquet.decrypt_bytes(changed, keys=key)
        except (Error, ValueError):
            pass


@pytest.mark.parametrize("number", [6, 7, 9])
def test_offsets_out_of_the_file(number):
    before = written(write_page_index=True, use_dictionary=False)
    changed, start = footer(before)
    chunk = _thrift.structs(_thrift.structs(changed, 4)[0], 1)[0]
    fields = chunk if number == 6 else chunk[3][1]
    for value in (-5, 1 << 40):
        fields[number] = _thrift.I64, value
        end = _thrift.write(changed)
        with pytest.raises(Error, match="damaged, or no Parquet file"):
            parquet.encrypt_bytes(before[:start] + end + len(end).to_bytes(4, "little") + b"PAR1", keys=Key.generate(128))


def test_no_parts_out_of_place(monkeypatch):
    """A footer that has a column twice, so that modules overlap; and a module before the first byte."""
    key, chunk, first = Key.generate(128), parquet.layout._chunk, []

    def the_first(row_group, column, fields):
        first.append(fields)
        return chunk(row_group, 0, dict(first[0]))

    secret = parquet.encrypt_bytes(written(TABLE.select(["number", "word"]), use_dictionary=False), keys=key)
    monkeypatch.setattr(parquet.layout, "_chunk", the_first)
    with pytest.raises(Error, match="modules overlap"):
        parquet.decrypt_bytes(secret, keys=key)
    first.clear()  # in a plain file, too
    with pytest.raises(Error, match="modules overlap"):
        parquet.encrypt_bytes(written(TABLE.select(["number", "word"]), use_dictionary=False), keys=key)
    protection = parquet.layout.Protection(b"", False)
    with pytest.raises(_thrift.Damaged, match="cut or is none"):
        protection.frame(2, (40).to_bytes(4, "little") + bytes(46), -50)


@pytest.mark.parametrize("part", ["Bloom filter", "column index", "offset index"])
def test_no_bloom_filter_or_index_is_read_twice(part, monkeypatch):
    """Else a small file has any number of them, each of which takes memory."""

    def one_for_all(changed):
        first, *others = _thrift.structs(_thrift.structs(changed, 4)[0], 1)
        for chunk in others:
            if part == "Bloom filter":
                chunk[3][1][14] = first[3][1][14]
            else:
                number = 6 if part == "column index" else 4
                chunk[number] = first[number]

    plain = written(write_page_index=True, bloom_filter_options={"number": {"ndv": 9}})
    reads, at = [], _thrift.read
    monkeypatch.setattr(parquet.layout.thrift, "read", lambda data, *place: reads.append(place) or at(data, *place))
    parquet.encrypt_bytes(plain, keys=Key.generate(128))
    most = len(reads)
    changed = with_footer(plain, one_for_all)
    reads.clear()
    with pytest.raises(Error, match="modules overlap"):
        parquet.encrypt_bytes(changed, keys=Key.generate(128))
    assert reads[1:] and len(set(reads)) == len(reads) < most


@pytest.mark.parametrize("inside", [0, 1])
def test_an_index_within_pages_is_refused(inside):
    def moved(changed):
        chunk = _thrift.structs(_thrift.structs(changed, 4)[0], 1)[0]
        chunk[6] = _thrift.I64, parquet.layout.pages_of(SimpleNamespace(metadata=chunk[3][1]))[inside] - inside

    with pytest.raises(Error, match="modules overlap|is none"):
        parquet.encrypt_bytes(with_footer(written(write_page_index=True), moved), keys=Key.generate(128))


def test_little_is_read_of_what_is_not_authentic(monkeypatch):
    """Before an encrypted footer stands what nothing authenticates yet."""
    key, lengths, read_it = Key.generate(128), [], _thrift.read
    monkeypatch.setattr(parquet.layout.thrift, "read", lambda data, *at: lengths.append(len(data)) or read_it(data, *at))
    many = bytes.fromhex("19f9") + bytes([0x80, 0x80, 0x80, 0x01]) + bytes(1 << 21)
    with pytest.raises(Error, match="damaged"):
        parquet.decrypt_bytes(b"PARE" + many + len(many).to_bytes(4, "little") + b"PARE", keys=key)
    assert lengths == [1 << 20]
    monkeypatch.undo()
    # A footer that is longer is read whole.
    secret = parquet.encrypt_bytes(written(TABLE.replace_schema_metadata({"a": "b" * (2 << 20)})), keys=key)
    assert read(parquet.decrypt_bytes(secret, keys=key)).equals(TABLE)


def page_of(kind, header, body):
    return _thrift.write({**header, 1: (_thrift.I32, kind)}) + body


@pytest.mark.parametrize("kinds", ["2 2 0", "0 2", "1 0", "2 1 0", "4 0", "0 -1"])
def test_pages_that_encrypted_files_cannot_have_are_refused(kinds):
    """What was made of them could not be read: a reader takes all pages but the first for those of data."""
    plain = written(pa.table({"n": np.arange(9, dtype=np.int32)}), use_dictionary=False, compression="none")

    def of_kinds(kinds):
        header, body = _thrift.read(plain, 4)
        body = plain[body : body + header[3][1]]
        pages = b"".join(page_of(int(kind), header, body) for kind in kinds.split())
        changed, start = footer(plain)
        fields = _thrift.structs(_thrift.structs(changed, 4)[0], 1)[0][3][1]
        fields[7], fields[9] = (_thrift.I64, len(pages)), (_thrift.I64, 4)
        end = _thrift.write(changed)
        return b"PAR1" + pages + end + len(end).to_bytes(4, "little") + b"PAR1"

    key = Key.generate(128)
    with pytest.raises(Error, match="of column n in row group 0 is of another kind, or a dictionary after other pages"):
        parquet.encrypt_bytes(of_kinds(kinds), keys=key)
    for fine in ("0 3", "2 0", "2 3 0"):
        assert len(parquet.decrypt_bytes(parquet.encrypt_bytes(of_kinds(fine), keys=key), keys=key)) > 100
    # Columns that are not encrypted stay as they are.
    assert parquet.encrypt_bytes(of_kinds(kinds), keys={None: key})


def with_footer(plain, change):
    """A plain file with its footer changed."""
    changed, start = footer(plain)
    change(changed)
    end = _thrift.write(changed)
    return plain[:start] + end + len(end).to_bytes(4, "little") + b"PAR1"


def test_row_groups_of_one_number_are_encrypted_under_different_ones():
    """As of files that were put together: else the modules of one would pass for those of the other."""

    def one_number(changed):
        for group in _thrift.structs(changed, 4):
            group[7] = _thrift.I16, 5

    key = Key.generate(128)
    secret = parquet.encrypt_bytes(with_footer(written(row_group_size=1000), one_number), keys=key, plaintext_footer=True)
    groups = _thrift.structs(footer(secret[:-4] + b"PAR1")[0], 4)
    assert len(groups) > 1 and [group[7][1] for group in groups] == list(range(len(groups)))
    assert read(parquet.decrypt_bytes(secret, keys=key)).equals(TABLE)


def test_a_page_that_ends_after_its_chunk_is_refused():
    def shorter(changed):
        fields = _thrift.structs(_thrift.structs(changed, 4)[0], 1)[0][3][1]
        fields[7] = _thrift.I64, fields[7][1] - 1

    with pytest.raises(Error, match="the pages of column number end within one"):
        parquet.encrypt_bytes(with_footer(written(), shorter), keys=Key.generate(128))


def test_a_page_that_becomes_too_long_is_refused(monkeypatch):
    plain = written(pa.table({"n": np.arange(1000, dtype=np.int32)}), use_dictionary=False, compression="none")
    monkeypatch.setattr(parquet.layout, "MOST", 4031)
    with pytest.raises(ValueError, match=r"the data page 0 of column n in row group 0 would have 40\d\d bytes, and .* room for 4031"):
        parquet.encrypt_bytes(plain, keys=Key.generate(128))
    plain = written(pa.table({"n": np.arange(1, dtype=np.int32)}), use_dictionary=False, compression="none")
    monkeypatch.setattr(parquet.layout, "MOST", 60)
    with pytest.raises(ValueError, match=r"the data page header 0 of column n in row group 0 would have \d\d bytes, and .* room for 60"):
        parquet.encrypt_bytes(plain, keys=Key.generate(128))


def test_ctrl_c_ends_it():
    key, interrupted = Key.generate(128), 0
    secret = parquet.encrypt_bytes(written(), keys=key)
    for look in range(1, 40):
        aes_bitslice._native._interrupt_at(look)
        try:
            assert read(parquet.decrypt_bytes(secret, keys=key)).equals(TABLE)
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            aes_bitslice._native._interrupt_at(0)
    assert interrupted > 2


def test_what_is_encrypted_already_says_so():
    """Also if its prefix is not in it, which only decryption has to know."""
    key = Key.generate(128)
    secret = parquet.encrypt_bytes(written(), keys=key, aad_prefix=b"this file", store_aad_prefix=False)
    with pytest.raises(Error, match="encrypted already"):
        parquet.encrypt_bytes(secret, keys=key)


@pytest.mark.parametrize("given", [b"part-1", None])
def test_no_prefix_is_the_beginning_of_another(given):
    """Who moves the end of a prefix to the part of the additional data that is the file's own has a file of a shorter prefix."""
    key = Key(os.urandom(16))
    secret = parquet.encrypt_bytes(written(), keys=key, aad_prefix=b"part-10")
    start = len(secret) - 8 - int.from_bytes(secret[-8:-4], "little")
    crypto, end = _thrift.read(secret[start:-8])
    fields = crypto[1][1][1][1]
    fields[1], fields[2] = (_thrift.BINARY, b"part-1"), (_thrift.BINARY, b"0" + fields[2][1])
    tail = _thrift.write(crypto) + bytes(secret[start:-8][end:])
    changed = bytes(secret[:start]) + tail + len(tail).to_bytes(4, "little") + bytes(secret[-4:])
    if given is None:
        assert read(parquet.decrypt_bytes(changed, keys=key)).equals(TABLE)
        return
    with pytest.raises(AuthenticationError, match="has 9 bytes, not 8"):
        parquet.decrypt_bytes(changed, keys=key, aad_prefix=given)


def test_the_longest_module_is_that_of_the_format():
    """Sizes are numbers of 32 bits with a sign."""
    assert parquet.layout.MOST == np.iinfo(np.int32).max


def test_copies_of_keys_are_cleared(monkeypatch):
    made, tile = [], np.tile
    monkeypatch.setattr(np, "tile", lambda *given: made.append(tile(*given)) or made[-1])
    key = Key.generate(128)
    file = parquet._encrypted_file(np.frombuffer(parquet.encrypt_bytes(written(), keys=key, algorithm=GCM_CTR), np.uint8), key, GCM_CTR, None)
    plain = parquet.layout.write(file, None, aes_bitslice.Engine("cpu"))
    _parquet_tensors.decrypt(plain, file, [key] * len(file.every()), aes_bitslice.Engine("cpu"), bytearray(plain.size))
    assert len(made) == 1 and not any(array.any() for array in made)


@pytest.mark.parametrize("count", [0, 2, 5 << 20])
def test_new_bytes_are_not_copied(count):
    """They are where they were filled."""
    places = []

    def fill(memory):
        places.append(ctypes.addressof((ctypes.c_char * count).from_buffer(memory)))
        memory[:] = b"x" * count

    made = _new_bytes.new_bytes(count, fill)
    assert type(made) is bytes and made == b"x" * count
    assert count == 0 or ctypes.cast(ctypes.c_char_p(made), ctypes.c_void_p).value == places[0]


def test_signatures_are_compared_in_constant_time(monkeypatch):
    compared = []
    monkeypatch.setattr(parquet.layout, "compare_digest", lambda *both: compared.append(both) or compare_digest(*both))
    key = Key.generate(128)
    parquet.decrypt_bytes(parquet.encrypt_bytes(written(), keys=key, plaintext_footer=True), keys=key)
    assert [[len(one) for one in both] for both in compared] == [[28, 28]]


def test_numbers_without_room():
    pages = pa.table({"n": np.zeros(33000, np.int8)})
    plain = written(pages, use_dictionary=False, max_rows_per_page=1, write_batch_size=1, write_statistics=False)
    with pytest.raises(ValueError, match="data page header 32768 of column n in row group 0 has a number of more than 15 bits"):
        parquet.encrypt_bytes(plain, keys=Key.generate(128))


def test_structures_are_written_as_they_were_read():
    """Footers of pyarrow; and every type of the protocol, encoded by hand from its specification."""
    for options in WRITES.values():
        data = written(**options)
        start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        assert _thrift.write(_thrift.read(data, start)[0]) == data[start:-8]
    whole = bytes.fromhex(
        "11 12"  # 1: true, 2: false
        "13 85"  # 3: byte
        "14 ff ff 03"  # 4: i16, -32768
        "15 01"  # 5: i32, -1
        "16 ff ff ff ff ff ff ff ff ff 01"  # 6: i64, -2^63
        "17 00 00 00 00 00 00 f0 3f"  # 7: double
        "18 03 61 62 63"  # 8: binary
        "19 25 02 04"  # 9: list of two i32
        "1a f8 10" + "00" * 16 +  # 10: set of 16 binaries
        "1b 02 58 02 01 61 04 01 62"  # 11: map of two, of i32 to binary
        "1b 00"  # 12: empty map
        "1c 15 02 00"  # 13: structure
        "1d" + "0f" * 16 +  # 14: UUID
        "19 21 01 02"  # 15: list of two booleans
        "05 a0 06 08"  # 400: i32, with its number
        "00"
    )  # fmt: skip
    value, end = _thrift.read(whole + b"rest")
    assert end == len(whole) and _thrift.write(value) == whole
    assert [value[n][1] for n in (4, 5, 6, 8, 9, 400)] == [-32768, -1, -(2**63), b"abc", (_thrift.I32, [1, 2]), 4]
    for end in range(len(whole)):
        with pytest.raises(_thrift.Damaged):
            _thrift.read(whole[:end])


def test_a_field_of_no_type_is_damage():
    for kind in (0, 14, 15):
        with pytest.raises(_thrift.Damaged):
            _thrift.read(bytes([1 << 4 | kind, 0, 0]))


def test_a_number_of_more_than_64_bits_is_an_error():
    """As it was read it could not be written again."""
    for digits, number in [("ffffffffffffffffff01", -(2**63)), ("feffffffffffffffff01", 2**63 - 1)]:
        whole = bytes.fromhex(f"16{digits}00")
        assert _thrift.read(whole)[0] == {1: (_thrift.I64, number)}
        with pytest.raises(_thrift.Damaged):
            _thrift.read(whole.replace(b"\x01", b"\x03"))


def test_deep_structures_are_errors(request):
    # mypy, which other tests run, raises it.
    request.addfinalizer(functools.partial(sys.setrecursionlimit, sys.getrecursionlimit()))
    sys.setrecursionlimit(1000)
    for depth in (600, 5000):
        whole = b"\x1c" * depth + bytes(depth + 1)
        with pytest.raises(_thrift.Damaged, match="is none|too deep"):
            assert _thrift.write(_thrift.read(whole)[0]) != whole


def test_a_path_that_is_no_path():
    before = written()
    changed, start = footer(before)
    _thrift.structs(_thrift.structs(changed, 4)[0], 1)[0][3][1][3] = _thrift.LIST, (_thrift.I32, [1])
    end = _thrift.write(changed)
    with pytest.raises(Error, match="the path of a column is no list of names"):
        parquet.encrypt_bytes(before[:start] + end + len(end).to_bytes(4, "little") + b"PAR1", keys=Key.generate(128))


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("algorithm", [GCM, GCM_CTR])
def test_tensors(device, algorithm, write, monkeypatch):
    """The whole file is a plain one, and its parts are the pages of the columns."""
    keys = {None: Key.generate(128), "number": Key.generate(256), "pair": Key.generate(192)}
    secret = parquet.encrypt_bytes(written(**WRITES[write]), keys=keys, algorithm=algorithm, plaintext_footer=True, aad_prefix=b"a")
    # To a GPU, each piece takes the time of a copy.
    for piece in (1 if device == "cpu" else 250, 1000, 1 << 24):
        monkeypatch.setattr(_parquet_tensors, "PART", piece)
        file, chunks = parquet.decrypt_tensors(secret, device, keys=keys, algorithm=algorithm)
        plain = file.cpu().numpy()
        assert file.device.type == device and read(plain.tobytes()).equals(TABLE)
        groups = _thrift.structs(footer(plain.tobytes())[0], 4)
        assert len(chunks) == len(groups)
        for group, found in zip(groups, chunks, strict=True):
            columns = [_thrift.get(chunk, 3, _thrift.STRUCT) for chunk in _thrift.structs(group, 1)]
            assert list(found) == [b".".join(column[3][1][1]).decode() for column in columns]
            for column, pages in zip(columns, found.values(), strict=True):
                start = min(column[number][1] for number in (9, 11) if number in column)
                assert (pages.cpu().numpy() == plain[start : start + column[7][1]]).all()
        if piece > 1000:
            expected = parquet.decrypt_bytes(secret, keys=keys, algorithm=algorithm)
            assert write == "checksums" or plain.tobytes() == expected


@pytest.mark.parametrize("algorithm", [GCM, GCM_CTR])
def test_pieces_of_a_file(algorithm):
    """As they go to a GPU: they know what in them was decrypted, which is all but the bodies of pages."""
    keys = {None: Key.generate(128), "number": Key.generate(256), "list": Key.generate(192)}
    secret = parquet.encrypt_bytes(written(row_group_size=1000), keys=keys, algorithm=algorithm, plaintext_footer=True, aad_prefix=b"a")
    file, cpu = parquet._encrypted_file(np.frombuffer(secret, np.uint8), keys, algorithm, None), aes_bitslice.Engine("cpu")
    of_columns = [chunk.key for chunk in file.every()]
    plain = parquet.layout.write(file, None, cpu)
    expected = plain.whole(file.data)
    for size in (1, 100, 4096, 1 << 20):
        whole, left = bytearray(plain.size), []
        for start in range(0, plain.size, size):
            piece = memoryview(whole)[start : start + size]
            places = plain.part(file.data, start, piece)
            left.append(bytearray(piece))
            for place in places:
                left[-1][place] = bytes(place.stop - place.start)
        encrypted, left = bytes(whole), bytearray(b"".join(left))
        _parquet_tensors.decrypt(plain, file, of_columns, cpu, whole)
        assert whole == expected and encrypted != expected
        for start, stop in (place for key in set(of_columns) - {None} for place in sealed_places(plain, file, of_columns, key)):
            assert left[start:stop] == encrypted[start:stop]
            left[start:stop] = bytes(stop - start)
        assert not any(left)
    changed = bytearray(secret)
    changed[plain.pages.moved(0)[0][0] + 100] ^= 1
    if algorithm == GCM:
        data = np.frombuffer(changed, np.uint8)
        plain.part(data, 0, memoryview(whole))
        with pytest.raises(AuthenticationError, match="1 of 6 modules of a key, first for the dictionary page of column number in row group 0"):
            file.data = memoryview(data)
            _parquet_tensors.decrypt(plain, file, of_columns, cpu, whole)


def sealed_places(plain, file, of_columns, key):
    return plain.pages.encrypted(file.data, [n for n, of in enumerate(of_columns) if of == key])[3]


def test_damaged_headers_of_pages_are_errors():
    """And what is a header is what it was, except for the size and the checksum. The reader of footers says what is in it."""
    chance, key = random.Random(1), os.urandom(16)
    cipher = aes_bitslice.Engine("cpu").cipher(Key(key))

    def pages(data):
        column = SimpleNamespace(path="n", module=lambda kind, page: f"module {kind}, {page}")
        columns = [(column, (0, 0), (0, len(data)), False, None, (cipher, cipher, b"a", False))]
        return aes_bitslice._native._ParquetPages(data, columns, first=4, most=1 << 30, checksums=True)

    headers = []
    for options in WRITES.values():
        plain = written(**options)
        for chunk in _thrift.structs(_thrift.structs(footer(plain)[0], 4)[0], 1):
            start = chunk[3][1][9][1]
            headers.append(plain[start : _thrift.read(plain, start)[1]])
    unknown = bytes.fromhex("17" + "00" * 8 + "1b 02 58 02 01 61 04 01 62 19 21 01 02 1d" + "0f" * 16 + "11 05 a0 06 08 1c 15 02 00 00")
    headers.append(headers[0][:-1] + unknown)
    accepted = 0
    for header in headers:
        changes = [header[:end] for end in range(1, len(header))]
        changes += [bytes(byte ^ (at == place) << bit for at, byte in enumerate(header)) for place in range(len(header)) for bit in range(8)]
        changes += [bytes(chance.choice((byte, byte, byte, chance.randrange(256))) for byte in header) for _ in range(100)]
        for changed in [header, *changes]:
            try:
                before, end = _thrift.read(changed)
                data = changed[:end] + os.urandom(before[3][1] % (1 << 16))
            except (_thrift.Damaged, KeyError, TypeError):
                before, data = None, changed
            try:
                found = pages(data)
            except (_thrift.Damaged, ValueError):
                assert changed != header
                continue
            accepted += 1
            found.fill(data, out := bytearray(found.end))
            end = 8 + int.from_bytes(out[4:8], "little")
            kind = 5 if before[1][1] == 2 else 4
            suffix = bytes([kind, 0, 0, 0, 0] + [0, 0] * (kind == 4))
            after = _thrift.read(AESGCM(key).decrypt(bytes(out[8:20]), bytes(out[20:end]), b"a" + suffix))[0]
            before.pop(4, None)
            assert after == before | {3: (_thrift.I32, before[3][1] + 32)}
    assert accepted > 1000
    deep = bytes.fromhex("15 00 15 00 15 00")
    for rest in ("5c" + "1c" * 100_000, "29 fc ff ff ff ff ff ff ff ff 01 00", "28 ff ff ff ff ff ff ff ff ff 01", "2b ff ff ff ff ff ff ff ff ff 01 11"):
        with pytest.raises(_thrift.Damaged):
            pages(deep + bytes.fromhex(rest))


def test_no_tensor_of_a_changed_file(torch, device, monkeypatch):
    key, made, empty = Key.generate(), [], torch.empty

    def recorded(*given, **options):
        made.append(empty(*given, **options))
        return made[-1]

    secret = parquet.encrypt_bytes(written(**WRITES["row groups and pages"]), keys=key)
    with pytest.raises(ValueError, match="on the CPU or on a CUDA GPU"):
        parquet.decrypt_tensors(secret, "meta", keys=key)
    monkeypatch.setattr(torch, "empty", recorded)
    for at in range(4 + 20, len(secret) - 8, 977):
        changed = bytearray(secret)
        changed[at] ^= 1
        with pytest.raises((AuthenticationError, Error)):
            parquet.decrypt_tensors(changed, device, keys=key)
        assert not any(tensor.any() for tensor in made if tensor.device.type == device)
        made.clear()
    with pytest.raises(Error, match="not encrypted"):
        parquet.decrypt_tensors(written(), device, keys=key)


def test_on_a_gpu():
    if not any(e["available"] and e["name"].startswith("cuda") for e in aes_bitslice.engines()):
        pytest.skip("there is no CUDA GPU")
    engine, key = aes_bitslice.Engine("cuda:0"), Key.generate(256)
    for algorithm in (GCM, GCM_CTR):
        secret = parquet.encrypt_bytes(written(**WRITES["row groups and pages"]), keys=key, algorithm=algorithm, engine=engine)
        for by in (engine, None):
            assert read(parquet.decrypt_bytes(secret, keys=key, algorithm=algorithm, engine=by)).equals(TABLE)
        changed = bytearray(secret)
        changed[20] ^= 1
        with pytest.raises(AuthenticationError):
            parquet.decrypt_bytes(changed, keys=key, algorithm=algorithm, engine=engine)
