"""What a type checker finds: wrong calls are errors, and the types of right ones are those at run time."""

import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import aes_bitslice
from aes_bitslice import Cipher, Engine, Key, Operation, SealedFile

HERE = Path(__file__).parent


def errors(name):
    """The errors of mypy, by line."""
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    given = ["--strict", "--config-file=", "--no-error-summary", "--show-error-codes", f"--python-executable={sys.executable}", str(HERE / name)]
    found = re.findall(r"^.*?:(\d+): error: (.*)  \[([\w-]+)\]$", api.run(given)[0], re.MULTILINE)
    return {int(line): (code, text) for line, text, code in found}


def test_each_wrong_call_is_found():
    lines = (HERE / "typed_wrong.py").read_text().splitlines()
    expected = {n: line.split("# error: ")[1] for n, line in enumerate(lines, 1) if "# error: " in line}
    found = errors("typed_wrong.py")
    assert {n: code for n, (code, _) in found.items()} == expected, found
    assert len(expected) > 30


def test_right_calls_are_right():
    assert errors("typed_right.py") == {}
    sys.path.insert(0, str(HERE))
    import typed_right

    kinds = [type(value) for value in typed_right.run()]
    assert kinds == [np.ndarray, np.ndarray, bytes, bytes, bytes, bytes]


def documented():
    """Everything that a program can call, with its documentation."""
    for name in [*aes_bitslice.__all__, "open"]:
        thing = getattr(aes_bitslice, name)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            if thing in (Key, Engine, SealedFile, *Operation.__subclasses__()):
                yield pytest.param(thing, id=name)
            for member in vars(thing):
                if not member.startswith("_") and callable(getattr(thing, member)):
                    yield pytest.param(getattr(thing, member), id=f"{name}.{member}")
        elif inspect.isbuiltin(thing) or inspect.isfunction(thing):
            yield pytest.param(thing, id=name)


@pytest.mark.parametrize("thing", list(documented()))
def test_help_tells_about_each_argument(thing):
    text = inspect.getdoc(thing)
    for name, parameter in inspect.signature(thing).parameters.items():
        # Those by position alone are of Python's own file objects.
        if name != "self" and parameter.kind is not parameter.POSITIONAL_ONLY:
            assert re.search(rf"(?m)^(\w+, )*{name}(, \w+)*: \S", text), (name, text)


def test_what_is_for_type_checkers_is_needed_by_none_of_the_modules():
    names = [module.name for module in pkgutil.iter_modules(aes_bitslice.__path__) if not module.name.startswith("_")]
    code = f"""
import builtins, importlib
imported = builtins.__import__
def without(name, globals=None, *more):
    if name == "typing_extensions" and (globals or {{}}).get("__name__", "").startswith("aes_bitslice"):
        raise ModuleNotFoundError(name)
    return imported(name, globals, *more)
builtins.__import__ = without
for name in {names}:
    try:
        importlib.import_module("aes_bitslice." + name)
    except ModuleNotFoundError as error:
        if "typing_extensions" in str(error):
            raise
"""
    assert {"kv", "parquet", "torch"} <= set(names)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_help_is_there_for_more_than_forty_calls():
    assert len(list(documented())) > 40 and Cipher.__doc__
