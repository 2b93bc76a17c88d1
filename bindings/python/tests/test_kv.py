"""KV caches at rest: frames are LMCache's, byte for byte what pyca makes of them, and a wrong one hands nothing out."""

import copy
import os
import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from aes_bitslice import AuthenticationError, Key, _lanes, kv
from conftest import BoundedLane

SECRET = bytes(range(48))


def key_of(cache_salt, bits=128):
    """LMCache's `HkdfKeyProvider`."""
    info = b"lmcache-l2-aesgcm-v1" + cache_salt.encode("utf-8")
    return HKDF(algorithm=SHA256(), length=bits // 8, salt=None, info=info).derive(SECRET)


def frame_of(key, iv, block):
    """LMCache's `AesGcmSerializer`."""
    return bytes([1]) + iv + AESGCM(key).encrypt(iv, block, None)


def blocks_of(shape, dtype=np.float16):
    size = np.prod(shape) * np.dtype(dtype).itemsize
    return np.frombuffer(os.urandom(int(size)), dtype).reshape(shape).copy()


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("cache_salt", ["", "tenant-a", "Köln"])
@pytest.mark.parametrize("shape, dtype", [((1, 1), np.uint8), ((5, 2, 3, 8), np.float16), ((64, 4096), np.uint8), ((3, 333), np.int64), ((2, 0), np.uint8), ((0, 7), np.uint8), ((9,), np.float32)])
def test_frames_are_those_of_pyca(bits, cache_salt, shape, dtype):
    key, blocks = key_of(cache_salt, bits), blocks_of(shape, dtype)
    cipher = kv.BlockCipher(SECRET, cache_salt, bits=bits)
    frames = cipher.encrypt(blocks)
    expected = [frame_of(key, frame[1:13].tobytes(), block.tobytes()) for frame, block in zip(frames, blocks, strict=True)]
    assert [frame.tobytes() for frame in frames] == expected and len({frame[1:13] for frame in expected}) == len(blocks)
    out = np.full_like(blocks, 7)
    assert cipher.decrypt(frames, out) is out and out.tobytes() == blocks.tobytes()
    # And what pyca made.
    made = [frame_of(key, os.urandom(12), block.tobytes()) for block in blocks]
    assert cipher.decrypt(made, np.empty_like(blocks)).tobytes() == blocks.tobytes()


def test_a_frame_that_is_written_down():
    """Version, IV, ciphertext and tag, made once by pyca from LMCache's definition: the format stays what it was."""
    frame = bytes.fromhex("01000102030405060708090a0b22064492b13ff03987582770d051d1c2d2b7b8fd29811ae58d240e831c771da08eb8")
    out = np.empty((1, 18), np.uint8)
    assert kv.BlockCipher(SECRET, "s").decrypt([frame], out).tobytes() == b"a block of a cache"


def test_the_secret_may_be_a_key():
    blocks = blocks_of((3, 5))
    frames = kv.BlockCipher(Key(SECRET[:32]), "s").encrypt(blocks)
    assert kv.BlockCipher(SECRET[:32], "s").decrypt(frames, np.empty_like(blocks)).tobytes() == blocks.tobytes()


@pytest.mark.parametrize("at", [1, 12, 13, 40, -17, -16, -1])
def test_a_changed_frame_hands_nothing_out(at):
    blocks = blocks_of((6, 32))
    cipher = kv.BlockCipher(SECRET, "tenant-a")
    frames = cipher.encrypt(blocks)
    frames[2, at] ^= 1
    frames[5, at] ^= 0x80
    out = np.full_like(blocks, 7)
    with pytest.raises(AuthenticationError) as raised:
        cipher.decrypt(frames, out)
    assert raised.value.failed == (2, 5) and not out.any()


def test_another_tenant_or_secret_gets_nothing():
    blocks = blocks_of((3, 32))
    frames = kv.BlockCipher(SECRET, "tenant-a").encrypt(blocks)
    for other in [kv.BlockCipher(SECRET, "tenant-b"), kv.BlockCipher(SECRET[1:], "tenant-a"), kv.BlockCipher(SECRET, "tenant-a", bits=256)]:
        out = np.full_like(blocks, 7)
        with pytest.raises(AuthenticationError) as raised:
            other.decrypt(frames, out)
        assert raised.value.failed == (0, 1, 2) and not out.any()


@pytest.mark.parametrize(
    "change, error, text",
    [
        (lambda frames, out: (frames[:3], out), ValueError, "3 frames, and out has 4 blocks"),
        (lambda frames, out: ([*frames[:3], frames[3][:-1]], out), ValueError, "frame 3 has 92 bytes and version 1: .* has 93"),
        (lambda frames, out: ([b"", *frames[1:]], out), ValueError, "frame 0 has no bytes"),
        (lambda frames, out: ([*frames[:1], b"\x02" + frames[1][1:], *frames[2:]], out), ValueError, "frame 1 has 93 bytes and version 2"),
        (lambda frames, out: (frames, out.T), BufferError, "contiguous and writeable"),
        (lambda frames, out: (frames, np.frombuffer(bytes(256), np.uint8).reshape(4, 64)), BufferError, "contiguous and writeable"),
        (lambda frames, out: (frames, bytearray(256)), TypeError, "not bytearray"),
        (lambda frames, out: (frames, np.array(7)), ValueError, "an axis that counts the blocks"),
    ],
)
def test_what_is_no_frame_or_no_block_changes_nothing(change, error, text):
    cipher, out = kv.BlockCipher(SECRET), np.full((4, 64), 7, np.uint8)
    frames = [frame.tobytes() for frame in cipher.encrypt(blocks_of((4, 64), np.uint8))]
    with pytest.raises(error, match=text):
        cipher.decrypt(*change(frames, out))
    assert (out == 7).all()


def test_frames_in_any_order_of_memory():
    cipher, blocks = kv.BlockCipher(SECRET), blocks_of((6, 35), np.uint8)
    frames = cipher.encrypt(blocks)
    for given in (np.asfortranarray(frames), np.repeat(frames, 2, axis=1)[:, ::2], frames[::-1].copy()[::-1]):
        assert not given.flags.c_contiguous and (cipher.decrypt(given, np.empty_like(blocks)) == blocks).all()


def test_arrays_that_are_no_memory_of_their_own():
    cipher, blocks = kv.BlockCipher(SECRET), blocks_of((4, 64), np.uint8)
    frames = cipher.encrypt(blocks)
    memory = np.zeros(4 * 93, np.uint8)
    for strides in [(1, 1), (0, 1), (92, 1), (93, 0)]:
        with pytest.raises(ValueError, match="the rows of out overlap"):
            cipher.encrypt(blocks, out=np.lib.stride_tricks.as_strided(memory, (4, 93), strides))
    assert not memory.any()
    masked = np.ma.masked_array(frames)
    for work in (lambda: cipher.encrypt(np.ma.masked_array(blocks)), lambda: cipher.encrypt(blocks, out=masked), lambda: cipher.decrypt(masked, blocks)):
        with pytest.raises(TypeError, match="must not be a masked array"):
            work()
    before = frames.copy()
    with pytest.raises(ValueError, match="frame 0 and out overlap"):
        cipher.decrypt(frames, frames.reshape(-1)[: 4 * 64].reshape(4, 64))
    assert (frames == before).all()


def test_a_cipher_stays_in_its_process():
    cipher = kv.BlockCipher(SECRET)
    assert copy.copy(cipher) is copy.deepcopy(cipher) is cipher
    with pytest.raises(TypeError, match="cannot be pickled because it holds a key: make one in each process"):
        pickle.dumps(cipher)


def test_secrets_that_are_none_are_refused():
    with pytest.raises(ValueError, match="16 random bytes or more, not 15"):
        kv.BlockCipher(bytes(15))
    with pytest.raises(ValueError, match="bits must be 128 or 256, not 192"):
        kv.BlockCipher(SECRET, bits=192)
    with pytest.raises(TypeError, match="cache_salt must be a text, not NoneType"):
        kv.BlockCipher(SECRET, None)
    with pytest.raises(TypeError, match="blocks must be a NumPy array or a PyTorch tensor, not bytes"):
        kv.BlockCipher(SECRET).encrypt(b"blocks")


def test_frames_in_memory_of_the_caller():
    blocks, cipher = blocks_of((5, 64), np.uint8), kv.BlockCipher(SECRET)
    larger = np.zeros((7, 100), np.uint8)
    frames = larger[1:6, 2:95]
    assert cipher.encrypt(blocks, out=frames) is frames
    assert [f.tobytes() for f in frames] == [frame_of(key_of(""), f[1:13].tobytes(), b.tobytes()) for f, b in zip(frames, blocks, strict=True)]
    assert not larger[[0, 6]].any() and not larger[:, :2].any() and not larger[:, 95:].any()
    whole = np.zeros(5 * 64 + 5 * 93, np.uint8)
    locked = np.zeros((5, 93), np.uint8)
    locked.flags.writeable = False
    for out, error, text in [
        (bytearray(465), TypeError, "out must be a NumPy array of bytes"),
        (np.zeros((5, 93), np.int8), TypeError, "out must be a NumPy array of bytes"),
        (np.zeros((5, 92), np.uint8), ValueError, r"out has the shape \(5, 92\), .* have \(5, 93\)"),
        (locked, BufferError, "out must be writeable"),
        (whole[:465].reshape(5, 93), ValueError, "out and blocks overlap"),
    ]:
        with pytest.raises(error, match=text):
            cipher.encrypt(whole[464:784].reshape(5, 64), out=out)
    assert not whole.any() and not locked.any()


@pytest.mark.parametrize("piece", [1, 50, 64, 200, 1 << 20])
def test_parts_of_the_blocks(piece, monkeypatch):
    """Each frame is that of its block however many are encrypted at a time, or how much of one, and wrong ones have their numbers."""
    lane, part = BoundedLane(), min(piece, 150)
    monkeypatch.setattr(_lanes.HostLane, "piece", piece)
    monkeypatch.setattr(kv, "HostLane", lambda: lane)
    monkeypatch.setattr(kv, "PART", part)
    blocks, cipher, key = blocks_of((50, 64), np.uint8), kv.BlockCipher(SECRET), key_of("")
    frames = cipher.encrypt(blocks)
    assert [f.tobytes() for f in frames] == [frame_of(key, f[1:13].tobytes(), b.tobytes()) for f, b in zip(frames, blocks, strict=True)]
    out = np.full_like(blocks, 7)
    assert (cipher.decrypt(frames, out) == blocks).all()
    assert (cipher.decrypt([frame.tobytes() for frame in frames], np.empty_like(out)) == blocks).all()
    assert lane.size == part
    frames[[3, 17, 49], 20] ^= 1
    with pytest.raises(AuthenticationError, match="3 of 50 frames") as raised:
        cipher.decrypt(frames, out)
    assert raised.value.failed == (3, 17, 49) and not out.any()


def test_tensors_of_inference_mode(torch):
    cipher = kv.BlockCipher(SECRET)
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        with torch.inference_mode():
            blocks = torch.arange(20_000_000, device=device).reshape(100, -1)
            assert torch.equal(cipher.decrypt(cipher.encrypt(blocks), torch.empty_like(blocks)), blocks)


def test_tensors(torch, device):
    plain = blocks_of((7, 2, 3, 8))
    blocks = torch.from_numpy(plain.copy()).to(device)
    cipher, key = kv.BlockCipher(SECRET, "tenant-a"), key_of("tenant-a")
    frames = cipher.encrypt(blocks)
    assert [f.tobytes() for f in frames] == [frame_of(key, f[1:13].tobytes(), b.tobytes()) for f, b in zip(frames, plain, strict=True)]
    out = torch.full_like(blocks, 7)
    assert cipher.decrypt(frames, out) is out and out.cpu().numpy().tobytes() == plain.tobytes()
    frames[6, 20] ^= 1
    with pytest.raises(AuthenticationError) as raised:
        cipher.decrypt(frames, out)
    assert raised.value.failed == (6,) and not out.any()
    with pytest.raises(BufferError, match="contiguous"):
        cipher.encrypt(blocks.transpose(1, 2))
