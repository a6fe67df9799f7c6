"""The TOML files in the folders of the suite's papers."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TypeVar

import msgspec

from trials.checks import InvalidParameter

T = TypeVar("T")


def read_toml(paper: str, name: str, kind: type[T]) -> T | None:
    """A file of a paper's folder as a value of a type, or None where the folder lacks it.

    Raises
    ------
    InvalidParameter
        When the file is no such value.  The message names the file and the place.
    """
    file = files("verify.claims") / paper / name
    if not file.is_file():
        return None
    try:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8")), kind)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidParameter(f"verify/claims/{paper}/{name}: {error}") from None
