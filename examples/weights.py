# needs: torch, safetensors
"""Loading sealed tensors beside loading plain ones: with `aes_bitslice.safetensors`, and with the package safetensors.

    python3 examples/weights.py --gib 16 --device cuda:0

Both files are in the page cache, for they were just written; loads take turns. On a GPU, the first line is what a copy
from pinned memory to the GPU takes, which no load beats. The first load also makes pinned memory, which is kept. On the CPU the package safetensors only maps its file, so that
nothing is read before somebody computes with it: compare on a GPU.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import safetensors.torch
import torch
from aes_bitslice import Key
from aes_bitslice.safetensors import load_file, save_file

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--gib", type=float, default=1 / 16, help="GiB of tensors (default: 1/16)")
parser.add_argument("--device", default="cpu", help='such as "cuda:0" (default: cpu)')
parser.add_argument("--runs", type=int, default=5, help="timed loads of each file (default: 5)")
parser.add_argument("--folder", help="where to write the files, which are removed (default: the temporary folder)")
arguments = parser.parse_args()
device, on_gpu = torch.device(arguments.device), arguments.device != "cpu"


def wait():
    if on_gpu:
        torch.cuda.synchronize(device)


def timed(what, load):
    """Seconds of a call, until its result is there: on a CPU, until the first byte of each page was read."""
    wait()
    start = time.perf_counter()
    result = load()
    for tensor in [] if on_gpu else result:
        tensor.view(-1).view(torch.uint8)[::4096].sum()
    wait()
    seconds[what].append(time.perf_counter() - start)
    return result


# As a model has them: matrices of 64 MiB, and short vectors beside them.
matrices = max(1, round(arguments.gib * 16))
shapes = {f"layer.{n}.weight": (4096, 2 * 8192) for n in range(matrices)} | {f"layer.{n}.norm": (2 * 4096,) for n in range(matrices)}
tensors = {}
for name, shape in shapes.items():
    tensors[name] = torch.randint(0, 256, shape, dtype=torch.uint8, device=device).cpu().view(torch.bfloat16)
size = sum(tensor.nbytes for tensor in tensors.values())

with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
    key, plain, sealed = Key.generate(256), Path(folder) / "plain", Path(folder) / "sealed"
    safetensors.torch.save_file(tensors, plain)
    save_file(tensors, sealed, key=key)
    seconds = {"copies from pinned memory": [], "plain": [], "sealed, the first time": [], "sealed": []}
    timed("sealed, the first time", lambda: list(load_file(sealed, arguments.device, key=key).values()))
    for file in (plain, sealed):
        for name, tensor in (safetensors.torch.load_file(file) if file == plain else load_file(file, device, key=key)).items():
            assert torch.equal(tensor.cpu().view(torch.uint8), tensors[name].view(torch.uint8)), (file.name, name)
    if on_gpu:
        pinned = torch.empty(min(size, 1 << 30), dtype=torch.uint8, pin_memory=True)
        there = torch.empty_like(pinned, device=device)
    for _ in range(arguments.runs):
        if on_gpu:
            timed("copies from pinned memory", lambda: [there.copy_(pinned, non_blocking=True) for _ in range(-(-size // there.nbytes))][:1])
        timed("plain", lambda: list(safetensors.torch.load_file(plain, arguments.device).values()))
        timed("sealed", lambda: list(load_file(sealed, arguments.device, key=key).values()))

for what, each in seconds.items():
    if each:
        moved = -(-size // there.nbytes) * there.nbytes if what.startswith("copies") else size
        rate = moved / statistics.median(each) / 1e9
        print(f"{what:<28}{rate:8.2f} GB/s, median of {len(each)}; {moved / max(each) / 1e9:.2f} to {moved / min(each) / 1e9:.2f}")
