"""Kernels of convex clustering have one caller, which compares shapes first."""

from __future__ import annotations

import ast
from pathlib import Path

import trials.clustering.convex as package

KERNELS = {"pairs", "flows", "newton"}
FOLDER = Path(package.__file__).parent


def imported(path: Path) -> set[str]:
    """Names of this package's modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == package.__name__:
                found |= {alias.name for alias in node.names}
            elif node.module.startswith(package.__name__ + "."):
                found.add(node.module.rsplit(".", 1)[1])
    return found


def test_only_the_door_imports_kernels():
    callers = {path.stem for path in FOLDER.glob("*.py") if imported(path) & KERNELS}
    assert callers - KERNELS == {"nodes"}
