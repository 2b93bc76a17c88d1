"""The programs of the documentation work when pasted, and those of examples/. A first line `# needs:` says what they need."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    "docs/python.md",
    "docs/cluster.md",
    "docs/kv-cache.md",
    "docs/parquet.md",
    "docs/weights.md",
    "bindings/python/README.md",
]


def programs():
    for page in PAGES:
        for number, program in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)):
            yield pytest.param(program, id=f"{page}-{number}")
    for example in (ROOT / "examples").glob("*.py"):
        yield pytest.param(example.read_text(), id=example.name)


@pytest.mark.parametrize("program", list(programs()))
def test_program(program, tmp_path):
    needs = re.match(r"# needs: (.*)\n", program)
    for need in needs[1].split(", ") if needs else []:
        if need == "a GPU":
            import aes_bitslice

            if not any(e["available"] and e["name"].startswith("cuda") for e in aes_bitslice.engines()):
                pytest.skip("there is no CUDA GPU")
        elif find_spec(need) is None:
            pytest.skip(f"{need} is not installed")
    # Threads of pyarrow that still run abort Python's end, also without this package: half of the time on a busy machine.
    end = "\nimport os\nos._exit(0)\n" if needs and "pyarrow" in needs[1] else ""
    (tmp_path / "program.py").write_text(program + end)
    ran = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("levels", ["0", "-1", "many"])
def test_an_example_says_what_is_wrong(levels):
    ran = subprocess.run([sys.executable, ROOT / "examples/dpf.py", levels], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (1, f"LEVELS must be a number from 1 on, not {levels}\n")


def test_there_are_programs():
    """The first one needs nothing."""
    found = [program.values[0] for program in programs()]
    assert len(found) >= 13 and not found[0].startswith("# needs")


def test_tables_have_a_row_a_line():
    """A page that was wrapped as text shows its tables as paragraphs."""
    pages = [page for folder in (ROOT, ROOT / "docs", ROOT / "bindings/python") for page in folder.glob("*.md")]
    assert len(pages) > 20 and not [page.name for page in pages if "| |--" in page.read_text()]
