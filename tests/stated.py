"""The statements of a paper's folder in `bounds`, whether a claim tries them or not."""

from __future__ import annotations

import importlib
import pkgutil

from bounds.statement import Publication, Statement

#: A publication for toy statements.
NOBODY = Publication(label="Nobody 1900", bibtex="@misc{nobody1900, year = {1900}}")


def stated(folder: str) -> dict[str, Statement]:
    """Every `Statement` at the top level of the modules of ``bounds.<folder>``, by id."""
    package = importlib.import_module(f"bounds.{folder}")
    found: dict[str, Statement] = {}
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Statement):
                assert found.setdefault(value.id, value) is value, f"{value.id} is stated twice"
    return found
