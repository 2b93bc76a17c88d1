"""Keys by reference: `env:NAME`, `file:PATH`, and schemes of your own, such as a key management service.

A scheme is a function that takes the text after the colon and returns a `Key`. A process knows it after `register`, or
through an installed package that has it among its entry points, which is the way for workers that others start:

    [project.entry-points."aes_bitslice.keys"]
    kms = "our_keys:of_kms"

It is called for each row, so a function that asks over a network should cache its answers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from . import Key

#: The group of entry points for schemes.
GROUP = "aes_bitslice.keys"

_OURS = ("env", "file")
_registered: dict[str, Callable[[str], Key]] = {}


def register(scheme: str, function: Callable[[str], Key]) -> None:
    """Registers `function` to return the keys that `scheme:...` refers to, in this process."""
    if not (scheme.isascii() and scheme.isalnum()) or scheme in _OURS:
        raise ValueError(f"a scheme must consist of letters and digits, and must not be one of {', '.join(_OURS)}")
    if not callable(function):
        raise TypeError(f"a scheme must be a function, not {type(function).__name__}")
    _registered[scheme] = function


def resolve(reference: str) -> Key:
    """The key that a reference names."""
    scheme, rest = check(reference)
    if scheme in _OURS:
        return Key.from_reference(reference)
    key = _known(scheme)(rest)
    if not isinstance(key, Key):
        raise TypeError(f"the function of the scheme {scheme} returns a Key, not {type(key).__name__}")
    return key


def check(reference: str) -> tuple[str, str]:
    """Refuses anything but a reference of a known scheme, without reading the key; returns its two parts."""
    if not isinstance(reference, str):
        raise TypeError(f"a key is given by a reference such as env:NAME or file:PATH, not by {type(reference).__name__}")
    scheme, colon, rest = reference.partition(":")
    if not colon or (scheme not in _OURS and _known(scheme) is None):
        # It is not repeated: some users put the key itself in its place.
        raise ValueError("a key is referred to as env:NAME or file:PATH, or by a scheme that this process knows, and this is neither")
    if scheme == "file" and rest.startswith("~"):
        raise ValueError("~ is not replaced in file:PATH: give the whole path, or begin it with ./")
    return scheme, rest


def _known(scheme: str) -> Any:
    if scheme not in _registered:
        for entry in entry_points(group=GROUP, name=scheme):
            register(scheme, entry.load())
    return _registered.get(scheme)
