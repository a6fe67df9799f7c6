"""How far the tests compare a proposition with the search that it speaks for."""

from __future__ import annotations

from collections.abc import Sequence

from verify.procedures.search import Search
from verify.proofs.propositions import Point, Proposition


def n_compared(search: Search, proposition: Proposition, points: Sequence[Point], most: int) -> int:
    """At how many points the two were compared: at ``most`` or a few more, or at all."""
    n = 0
    for first in range(0, len(points), most):
        n += search.compare(proposition, points[first : first + most])
        if n >= most:
            break
    return n
