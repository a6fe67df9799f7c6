r"""Scalar statements over their whole domain, in the form that `verify.proofs.checker` reads.

A search tries a statement at points of a box of coordinates.  Where both sides and the symbols are
expressions in the coordinates, the statement is a proposition: for all coordinates in their ranges
at which the assumptions hold, the relation holds.

Some ends of ranges belong to the statement, such as a share at most 1.  Others only bound the
search, such as 1e6.  Each of the latter is left out of the proved statement where a proof is found
without it.  A proof that needs one of them holds on a narrower domain, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy as sp

from bounds.statement import evaluate
from trials.checks import InvalidParameter
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Range, Ranges
from verify.proofs.terms import neutral

_RELATIONS = {r"\ge": ">=", r"\le": ">=", "=": "="}


#: Ranges of a symbol that takes every value > 0, or >= 0.
POSITIVE = LogInterval(0.0, math.inf)
NOT_NEGATIVE = Interval(0.0, math.inf)


@dataclass(frozen=True)
class Everywhere:
    """The whole domain of a statement in its own symbols.

    Attributes
    ----------
    ranges : of all symbols of the statement but its constants.
    given : relations a >= b between the symbols that the paper states in words.
    constants : values of further symbols, numbers or expressions.
    left : the left-hand side as a formula, where the search computes it by a function.  With
        ``by`` it may lie on the worse side of what the search computes.
    by : the known result or the argument by which ``left`` is the worst case, in one sentence.
        The checker does not read it: the statement is proved up to it, and the report says so.
    hints : facts on the way to a proof, as `verify.proofs.prover.with_hints` has them, with
        expressions of the symbols.  The search for a proof needs them, and nobody trusts them.
    """

    ranges: Ranges
    given: Sequence[tuple[Any, Any]] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    left: sp.Expr | None = None
    by: str = ""
    hints: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True, kw_only=True)
class Proposition:
    """For all coordinates in their ranges, if the assumptions hold, ``left relation right``.

    Attributes
    ----------
    ranges : of the coordinates.
    assumptions : expressions (a, b, strict): a >= b, or a > b.
    relation : as a statement has it.
    declared : whether every end of the ranges belongs to the statement.
    by : an argument outside the proof, as `Everywhere` has it.
    logs : whether both sides are logarithms of those that a search shows.
    hints : facts on the way to a proof.
    """

    ranges: Ranges
    assumptions: Sequence[tuple[sp.Expr, sp.Expr, bool]]
    left: sp.Expr
    relation: str
    right: sp.Expr
    declared: bool = False
    by: str = ""
    logs: bool = False
    hints: Sequence[Sequence[Any]] = ()

    def steps(self) -> list[list[Any]]:
        """The hints as plain data."""
        return [_plain(hint) for hint in self.hints]

    def statement(self) -> dict[str, Any]:
        """The proposition as plain data, with every end of its ranges given.

        Raises
        ------
        InvalidParameter
            When an expression has a symbol without a range, or an operation that is not known.
        """
        sides = [neutral(self.left), neutral(self.right)]
        if self.relation == r"\le":
            sides.reverse()
        expressions = [self.left, self.right, *(e for a, b, _ in self.assumptions for e in (a, b))]
        names = sorted({str(s) for e in expressions for s in e.free_symbols})
        if unknown := set(names) - set(self.ranges):
            raise InvalidParameter(f"{', '.join(sorted(unknown))} must be a coordinate")
        given: list[list[Any]] = [
            list(end) for name in names for end, _ in _ends(name, self.ranges[name])
        ]
        for left, right, strict in self.assumptions:
            given.append([">" if strict else ">=", neutral(left), neutral(right)])
        return {"variables": names, "given": given, "claim": [_RELATIONS[self.relation], *sides]}

    def optional(self, statement: Mapping[str, Any]) -> list[list[Any]]:
        """The given relations of a form of the statement that only bound the search."""
        if self.declared:
            return []
        ends = [e for name in statement["variables"] for e in _ends(name, self.ranges[name])]
        own: list[list[Any]] = [list(end) for end, natural in ends if natural]
        own += [
            [">" if strict else ">=", neutral(left), neutral(right)]
            for left, right, strict in self.assumptions
        ]
        only = [list(end) for end, natural in ends if not natural]
        return [each for each in statement["given"] if each in only and each not in own]

    def sides(self, values: Mapping[str, Any]) -> tuple[float, float]:
        """Both sides at values of the coordinates and of the statement's symbols."""
        left, right = (float(evaluate(side, values)) for side in (self.left, self.right))
        return (math.exp(left), math.exp(right)) if self.logs else (left, right)

    def covers(self, own: tuple[float, float], computed: tuple[float, float]) -> bool:
        """Whether its sides at a point are the computed ones, or with an argument no better."""
        (left, right), (observed, bound) = own, computed
        rounding = 1e-9 * max(abs(left), abs(observed), abs(right), abs(bound))
        worse = left - observed if self.relation == r"\le" else observed - left
        near = worse >= -rounding if self.by else abs(worse) <= rounding
        return near and abs(right - bound) <= rounding


def _plain(hint: Any) -> Any:
    """A hint with its expressions as terms."""
    if isinstance(hint, str):
        return hint
    if isinstance(hint, tuple):
        return [hint[0], *map(_plain, hint[1:])]
    return neutral(sp.sympify(hint))


def widens(wide: Mapping[str, Any], statement: Mapping[str, Any]) -> bool:
    """Whether a statement has the same claim, and gives nothing that the other does not give."""
    same = all(wide[part] == statement[part] for part in ("variables", "claim"))
    return same and all(each in statement["given"] for each in wide["given"])


def _ends(name: str, r: Range) -> Iterator[tuple[tuple[str, str, str], bool]]:
    """The ends of a range as relations, each with whether it belongs to the statement.

    These do: a sign, the first value of a count, and the ends 0 and 1 of a share or of a ratio.
    """
    low, high = (min(r.values), max(r.values)) if isinstance(r, Choice) else (r.low, r.high)
    positive = isinstance(r, LogInterval) or low > 0
    if positive:
        yield (">", name, "0"), True
    if math.isfinite(low) and not (positive and low == 0):
        yield (">=", name, _decimal(low)), low in (0, 1) or isinstance(r, IntRange)
    if math.isfinite(high):
        yield (">=", _decimal(high), name), high == 1 and isinstance(r, Interval)


def _decimal(value: float) -> str:
    return str(Fraction(repr(value)))


def substituted(expr: Any, at: Mapping[str, Any]) -> sp.Expr:
    """An expression with symbols replaced by expressions or numbers, all at once."""
    whole = sp.sympify(expr).doit()
    return whole.xreplace({s: sp.sympify(at[str(s)]) for s in whole.free_symbols if str(s) in at})
