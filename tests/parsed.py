"""The sources of the program, parsed once for all tests that read them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("bounds", "trials", "verify", "reports")
SOURCES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]


@cache
def trees() -> dict[Path, ast.Module]:
    """Every source's path with its syntax tree.  Parsing all of them takes a CPU second."""
    return {path: ast.parse(path.read_text("utf-8")) for path in SOURCES}


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, itself the first, but for contexts and signs, which hold no name.

    In another order than `ast.walk`, which takes four times as long for the sources.

    >>> [type(each).__name__ for each in walk(ast.parse("a = -b"))]
    ['Module', 'Assign', 'UnaryOp', 'Name', 'Name']
    """
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        for name in each._fields:
            value = getattr(each, name, None)
            if isinstance(value, list):
                todo += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST) and value._fields:
                todo.append(value)
