"""The nearest false statement that the evidence refutes, one exponent or factor at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy as sp

from bounds.statement import Statement
from verify.mutation.mutants import Mutant, resize


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """The smallest change of one exponent or factor that was caught.

    Attributes
    ----------
    change : the refuted change in words (inline math), e.g. ``floor: exponent of $d$ at most 0.44,
        not 0.5``.
    caught, kept : the change nearest to the original that was caught, and the one next to it that
        was not, as numbers: shifts of an exponent, or factors.
    """

    change: str
    caught: float
    kept: float


def boundaries(
    original: Statement,
    caught: Sequence[tuple[Mutant, bool]],
    catches: Callable[[Mutant], bool],
    steps: int,
) -> tuple[Boundary, ...]:
    """The boundary of each family of mutants that has a caught one, by bisection.

    ``catches`` decides a further mutant, and ``steps`` is the number of halvings of the interval
    between a change that is not caught and one that is.
    """
    found = []
    for family in sorted({m.family for m, _ in caught if m.family is not None}):
        members = [(m, is_caught) for m, is_caught in caught if m.family == family]
        hit = [m for m, is_caught in members if is_caught]
        if not hit:
            continue
        nearest = min(hit, key=_distance)
        kept = max(
            (
                _exact(m)
                for m, is_hit in members
                if not is_hit and _distance(m) < _distance(nearest)
            ),
            key=lambda size: abs(size - _neutral(nearest)),
            default=_neutral(nearest),
        )
        for _ in range(steps):
            middle = resize(original, nearest, (_exact(nearest) + kept) / 2)
            if catches(middle):
                nearest = middle
            else:
                kept = _exact(middle)
        found.append(
            Boundary(
                change=nearest.words,
                caught=float(_exact(nearest)),
                kept=float(kept),
            )
        )
    return tuple(found)


def _exact(mutant: Mutant) -> sp.Rational:
    assert mutant.size is not None  # only mutants with a size have a family
    return mutant.size


def _neutral(mutant: Mutant) -> sp.Rational:
    """The size that changes nothing."""
    return sp.Integer(1 if mutant.symbol is None else 0)


def _distance(mutant: Mutant) -> sp.Rational:
    return abs(_exact(mutant) - _neutral(mutant))
