"""The kinds of records.

A kind is a module with ``names()``, its entries, and ``again(name, recorded)``, the value of one
now at the cells, points or inputs that are recorded.  ``fresh(name, recorded)`` is the value with
cells chosen where there are none, in kinds that choose.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from tests.records.files import read

KINDS = (
    "experiments",
    "functions",
    "calls",
    "claims",
    "phrases",
    "searches",
    "documents",
    "commands",
    "subjects",
)


def module_of(kind: str) -> ModuleType:
    """The module of a kind."""
    return importlib.import_module(f"tests.records.{kind}")


def names(kind: str) -> list[str]:
    """The entries that a kind has today."""
    return list(module_of(kind).names())


def now(kind: str, name: str) -> Any:
    """The value of an entry at what is recorded."""
    return module_of(kind).again(name, read(kind, name))


def chosen(kind: str, name: str) -> Any:
    """The same, with cells chosen where none are recorded."""
    module = module_of(kind)
    choose = getattr(module, "fresh", module.again)
    return choose(name, read(kind, name))
