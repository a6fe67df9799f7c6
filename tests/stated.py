"""The statements of a paper's folder in `bounds`, whether a claim tries them or not.

And points at which a statement is compared with the same formula coded a second time.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

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


def points(
    statements: Iterable[Statement],
    integers: Mapping[str, tuple[int, int]],
    ranges: Mapping[str, tuple[float, float]],
    count: int = 6,
) -> list[dict[str, Any]]:
    """Seeded values of every symbol of the statements, the same at each call.

    Parameters
    ----------
    integers, ranges : smallest and largest value of a symbol.  Others lie in (0.4, 2.5).
    """
    names = set()
    for s in statements:
        parts = [t.expr for t in s.terms] + list(s.definitions.values())
        parts += [side for a in s.assumptions for side in (a.left, a.right)]
        parts += [] if s.failure is None else [s.failure]
        names |= {symbol.name for part in parts for symbol in part.free_symbols}
    rng = np.random.default_rng(7)
    return [
        {
            name: int(rng.integers(*integers[name], endpoint=True))
            if name in integers
            else float(rng.uniform(*ranges.get(name, (0.4, 2.5))))
            for name in sorted(names)
        }
        for _ in range(count)
    ]
