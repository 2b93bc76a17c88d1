"""What the tests share."""

import gzip
from pathlib import Path

import pytest

import aes_bitslice

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "vectors"


@pytest.fixture(params=["cpu", "cpu-bitsliced"])
def engine(request):
    return aes_bitslice.Engine(request.param)


@pytest.fixture
def cpu():
    return aes_bitslice.Engine("cpu")


def cavp(name):
    """The cases of a response file of NIST's CAVP: dictionaries, with what stands in brackets in each."""
    path = VECTORS / name
    text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
    section, case = {}, {}
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            name, _, value = line.strip("[]").partition("=")
            section = {**section, name.strip(): value.strip()} if value else {"": name.strip()}
        elif "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            case[name.strip()] = value.strip()
        elif not line and case:
            yield {**section, **case}
            case = {}
    if case:
        yield {**section, **case}
