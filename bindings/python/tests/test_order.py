"""The order of system calls, as strace shows it: a file is on the disk before it has its name, and its name is there before the call returns."""

import shutil
import subprocess
import sys

import pytest

CALLS = "trace=fsync,rename,renameat,renameat2,link,linkat"

#: Every call of the package that names a new file.
PROGRAM = """
import aes_bitslice, sys
from aes_bitslice import Key
key = Key.generate(256)
make = {
    "key": lambda: key.save("key"),
    "sealed": lambda: aes_bitslice.seal("in", "sealed", key=key),
    "replaced": lambda: aes_bitslice.seal("in", "replaced", key=key, overwrite=True),
    "opened": lambda: (aes_bitslice.seal("in", "opened.sealed", key=key), aes_bitslice.open("opened.sealed", "opened", key=key)),
}
make[sys.argv[1]]()
"""


def traces():
    return shutil.which("strace") and subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not traces(), reason="needs strace, and leave to trace")
@pytest.mark.parametrize("name", ["key", "sealed", "replaced", "opened"])
def test_a_file_is_synced_then_named_and_then_its_folder_is_synced(name, tmp_path):
    (tmp_path / "in").write_bytes(bytes(100_000))
    (tmp_path / "replaced").write_bytes(b"old")
    strace = ["strace", "-ff", "-y", "-s", "4096", "-e", CALLS, "-o", "log"]
    subprocess.run([*strace, sys.executable, "-c", PROGRAM, name], cwd=tmp_path, check=True)
    folder, steps = tmp_path.resolve(), []
    for line in (line for log in tmp_path.glob("log.*") for line in log.read_text().splitlines()):
        if "fsync(" in line and f"<{folder}/.aes-bitslice-" in line:
            steps.append("file synced")
        elif "fsync(" in line and f"<{folder}>" in line:
            steps.append("folder synced")
        elif f'{name}"' in line and line.endswith("= 0"):
            steps.append("named")
    expected = ["file synced", "named", "folder synced"]
    # What is opened was sealed before.
    assert steps[-3:] == expected, steps
