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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from numbers import Rational, Real
from typing import Any

import mpmath
import sympy as sp

from bounds.statement import evaluate, evaluate_mp
from trials.checks import InvalidParameter
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Range, Ranges
from verify.proofs.arrays import Arrays, value_of
from verify.proofs.lemmas import cited
from verify.proofs.terms import evaluated, neutral

#: A point of a search's domain.
Point = Mapping[str, Any]
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
    right : the right-hand side, where the statement's own is a sum over the steps of a run.
    by : the known result or the argument by which ``left`` is the worst case, in one sentence.
        The checker does not read it: the statement is proved up to it, and the report says so.
    hints : facts on the way to a proof, as `verify.proofs.prover.with_hints` has them, with
        expressions of the symbols.  The search for a proof needs them, and nobody trusts them.
    arrays : the vectors and families of which ``left`` and the constants are sums and products.
    """

    ranges: Ranges
    given: Sequence[tuple[Any, Any]] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    left: sp.Expr | None = None
    right: sp.Expr | None = None
    by: str = ""
    hints: Sequence[Sequence[Any]] = ()
    arrays: Arrays | None = None


def _nothing(_point: Point) -> Mapping[str, float]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """How a statement about arrays or laws follows from one about a few numbers.

    The certificate proves ``left relation right`` for all values of the quantities in their ranges
    at which ``given`` holds.  That each input has such quantities, and that its left-hand side is
    ``left`` or on the better side of it, is argued in ``idea`` with the lemmas.  The checker does
    not read it.  Each run, and the tests at more points, compare ``left``, ``right``, ``given``
    and the ranges with what the search computes at its own points.

    Attributes
    ----------
    idea : the argument in two to five sentences.
    lemmas : keys of `verify.proofs.lemmas.LEMMAS`.
    ranges : of the quantities, symbols of the statement among them.
    left, right : the sides in the quantities.  ``right`` is by default the statement's own, and
        otherwise at least as hard to meet.
    given : relations a >= b between the quantities, by a lemma or by their definition.
    quantities : point -> the quantities there, beside the point's own values and the symbols.
    constants : values of further symbols, numbers or expressions.
    hints : facts on the way to a proof, as `Everywhere` has them.
    of : the points of which it speaks, for a statement that is proved size by size.
    computed : point -> both sides as the claim's own code computes them for the quantities, where
        the search compares arrays.  By default they are the sides of the search.
    """

    idea: str
    ranges: Ranges
    left: sp.Expr
    lemmas: tuple[str, ...] = ()
    right: sp.Expr | None = None
    given: Sequence[tuple[Any, Any]] = ()
    quantities: Callable[[Point], Mapping[str, float]] = _nothing
    constants: Mapping[str, Any] = field(default_factory=dict)
    hints: Sequence[Sequence[Any]] = ()
    of: Callable[[Point], bool] | None = None
    computed: Callable[[Point], tuple[float, float]] | None = None

    @property
    def by(self) -> str:
        """The argument outside the certificate."""
        return " ".join(part for part in (self.idea, cited(self.lemmas)) if part)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """A statement about arrays whose entries are symbols, proved for each size up to some.

    Attributes
    ----------
    up_to : the sizes, e.g. "d <= 3, n <= 2".
    each : a reduction for each size.  Its quantities are the entries, and ``of`` tells its points.
    """

    up_to: str
    each: Sequence[Reduction]


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
    reduction : by which a statement about arrays or laws became one about numbers.
    arrays : the vectors and families of the statement.
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
    reduction: Reduction | None = None
    arrays: Arrays | None = None

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
        if self.relation not in _RELATIONS:
            raise InvalidParameter(f"{self.relation} is no relation between numbers")
        sides = [neutral(self.left), neutral(self.right)]
        if self.relation == r"\le":
            sides.reverse()
        expressions = [self.left, self.right, *(e for a, b, _ in self.assumptions for e in (a, b))]
        arrays = set() if self.arrays is None else self.arrays.names
        if self.arrays is not None:
            expressions += self.arrays.expressions()
        names = sorted({str(s) for e in expressions for s in e.free_symbols} - arrays)
        if unknown := set(names) - set(self.ranges):
            raise InvalidParameter(f"{', '.join(sorted(unknown))} must be a coordinate")
        given: list[list[Any]] = [
            list(end) for name in names for end, _ in _ends(name, self.ranges[name])
        ]
        for left, right, strict in self.assumptions:
            given.append([">" if strict else ">=", neutral(left), neutral(right)])
        more = {} if self.arrays is None else self.arrays.document()
        claim = [_RELATIONS[self.relation], *sides]
        return {"variables": names, "given": given, "claim": claim, **more}

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
        value = evaluate if self.reduction is None else evaluate_mp
        if self.arrays is not None:
            value = self.value
        with mpmath.workdps(30):  # no loss in 1 - exp(-x)
            left, right = (float(value(side, values)) for side in (self.left, self.right))
        return (math.exp(left), math.exp(right)) if self.logs else (left, right)

    def value(self, expr: sp.Expr, values: Mapping[str, Any]) -> float:
        """An expression at values of the coordinates, of vectors and of families."""
        if self.arrays is None:
            return float(evaluate(expr, values))
        return float(value_of(neutral(expr), values)[0])

    def covers(self, own: tuple[float, float], computed: tuple[float, float]) -> bool:
        """Whether its sides at a point are the computed ones, or no better ones.

        Those of formulas alone are the computed ones.  An infinite side is near itself alone, and
        leaves the others no room.
        """
        (left, right), (observed, bound) = own, computed
        rounding = 1e-9 * _largest(left, observed, right, bound)
        side = {r"\le": 1.0, r"\ge": -1.0}.get(self.relation, 0.0)
        worse, harder = side * (left - observed), side * (bound - right)
        of_data = self.reduction is not None or self.arrays is not None
        far = 1e-6 * _largest(left, observed) if of_data else rounding
        one_sided = side and (self.by or self.arrays is not None)
        near = worse >= -far if one_sided else abs(left - observed) <= max(far, rounding)
        own_right = self.reduction is None or self.reduction.right is None or not side
        met = abs(right - bound) <= rounding if own_right else harder >= -rounding
        return (near or left == observed) and (met or right == bound)

    def at(self, point: Point, symbols: Mapping[str, Any]) -> dict[str, Any] | None:
        """The values of its variables at a point, None where it does not speak of the point."""
        reduction = self.reduction
        if self.arrays is not None:
            own = self.arrays.values(point)
            return None if own is None else {**point, **symbols, **own}
        if reduction is None:
            return {**point, **symbols}
        if reduction.of is not None and not reduction.of(point):
            return None
        return {**point, **symbols, **reduction.quantities(point)}

    def is_narrower(self, point: Point, symbols: Mapping[str, Any]) -> bool:
        """Whether a point of the search lies out of the ranges of the proof."""
        values: Mapping[str, Any] = {**point, **symbols}
        out = [n for n, r in self.ranges.items() if n in values and _is_out(values[n], r)]
        if not out or self.arrays is not None:
            return False
        found = self.at(point, symbols)  # a quantity may have the name of a coordinate
        return found is not None and any(_is_out(found[n], self.ranges[n]) for n in out)

    def leaves_out(self, values: Mapping[str, Any]) -> bool:
        """Whether values do not meet what is given, by more than rounding, or it cannot be told.

        Of quantities and of arrays `missed` tells it.
        """
        if self.reduction is not None or self.arrays is not None:
            return False
        try:
            sides = [(self.value(a, values), self.value(b, values)) for a, b, _ in self.assumptions]
        except (ArithmeticError, LookupError, ValueError):
            return True
        return any(a < b - 1e-9 * max(abs(a), abs(b)) for a, b in sides)

    def missed(self, values: Mapping[str, Any]) -> str:
        """The range or the relation of quantities that values do not meet, empty without one."""
        if self.reduction is None and self.arrays is None:
            return ""
        for name, r in self.ranges.items():
            if name in values and _is_out(values[name], r):
                return f"{name}={float(values[name]):.6g} is out of its range"
        for left, right, _ in self.assumptions:
            a, b = (self.value(side, values) for side in (left, right))
            if a < b - 1e-9 * max(abs(a), abs(b)):
                return f"{sp.sstr(left)} >= {sp.sstr(right)} is {a:.6g} >= {b:.6g}"
        return "" if self.arrays is None else self.arrays.missed(values)


def _largest(*sides: float) -> float:
    """The largest size of those that are finite, zero without one."""
    return max((abs(side) for side in sides if math.isfinite(side)), default=0.0)


def _is_out(value: Any, r: Range) -> bool:
    """Whether a number lies out of a range, but for rounding.  Words lie in every range."""
    if isinstance(value, str):
        return False
    low, high = (min(r.values), max(r.values)) if isinstance(r, Choice) else (r.low, r.high)
    room = 1e-9 * max(1.0, abs(float(value)))
    positive = value > 0 or not isinstance(r, LogInterval)
    return not (low - room <= value <= high + room and positive)


def _plain(hint: Any) -> Any:
    """A hint with its expressions as terms."""
    if isinstance(hint, str):
        return hint
    if isinstance(hint, tuple):
        return [hint[0], *map(_plain, hint[1:])]
    return neutral(sp.sympify(hint))


def widens(wide: Mapping[str, Any], statement: Mapping[str, Any]) -> bool:
    """Whether a statement has the same claim, and gives nothing that the other does not give."""
    same = {**wide, "given": []} == {**statement, "given": []}
    return same and all(each in statement["given"] for each in wide["given"])


def _ends(name: str, r: Range) -> Iterator[tuple[tuple[str, str, str], bool]]:
    """The ends of a range as relations, each with whether it belongs to the statement.

    These do: a sign, the first value of a count, and the ends 0 and 1 of a share or of a ratio.
    """
    if isinstance(r, Choice) and not all(isinstance(value, Real) for value in r.values):
        raise InvalidParameter(f"{name} must be a number")
    low, high = (min(r.values), max(r.values)) if isinstance(r, Choice) else (r.low, r.high)
    positive = isinstance(r, LogInterval) or low > 0
    if positive:
        yield (">", name, "0"), True
    if math.isfinite(low) and not (positive and low == 0):
        yield (">=", name, decimal(low)), low in (0, 1) or isinstance(r, IntRange)
    if math.isfinite(high):
        yield (">=", decimal(high), name), high == 1 and isinstance(r, Interval)


def decimal(value: Any) -> str:
    """A whole number or a fraction as it is, another number as the decimal that it is printed as.

    Numbers of NumPy and SymPy are read like those of Python.
    """
    if isinstance(value, Rational):
        return str(Fraction(int(value.numerator), int(value.denominator)))
    return str(Fraction(repr(float(value))))


def substituted(expr: Any, at: Mapping[str, Any], ranges: Ranges) -> sp.Expr:
    """An expression with symbols replaced by expressions or numbers, all at once.

    Parameters
    ----------
    ranges : of the symbols after that, by which sums over an index are known to be ordered.
    """
    whole = sp.sympify(expr)
    new = {s: sp.sympify(at[str(s)]) for s in whole.free_symbols if str(s) in at}
    if whole.has(sp.Sum, sp.Product):  # an index stays, whatever its letter
        whole = whole.subs(new, simultaneous=True)
    else:
        whole = whole.xreplace(new)
    return evaluated(whole, partial(_is_ordered, ranges=ranges))


def _is_ordered(each: sp.Expr, ranges: Ranges) -> bool:
    """Whether the limits of a sum are whole numbers in order at all values of its symbols."""
    return all(len(limit) == 3 and _is_room(limit[1], limit[2], ranges) for limit in each.limits)


def _is_room(first: sp.Expr, last: sp.Expr, ranges: Ranges) -> bool:
    """Whether both are linear in counts, whole, and the last is never below the first less one."""
    symbols = sorted(first.free_symbols | last.free_symbols, key=str)
    known = [r for s in symbols if isinstance(r := ranges.get(str(s)), IntRange)]
    if len(known) < len(symbols):
        return False
    for side in (first, last):
        factors = sp.Poly(side, *symbols).coeffs() if symbols else [side]
        linear = not symbols or sp.Poly(side, *symbols).total_degree() <= 1
        if not (linear and all(factor.is_Integer for factor in factors)):
            return False
    room = sp.expand(last - first)
    lowest = {s: r.low if room.coeff(s) > 0 else r.high
              for s, r in zip(symbols, known, strict=True)}  # fmt: skip
    return bool(room.subs(lowest) >= -1)


def undeclared(symbol: sp.Symbol, r: Range) -> str:
    """An assumption of a symbol that some number of its range does not meet, empty without one."""
    values = r.values if isinstance(r, Choice) else (r.low, r.high)
    if not values or not all(isinstance(value, Real) for value in values):
        return ""
    low, high = min(values), max(values)
    above = low > 0 or isinstance(r, LogInterval)
    whole = isinstance(r, IntRange) or all(float(value).is_integer() for value in values)
    whole &= not isinstance(r, Interval | LogInterval) or low == high
    has = {
        "positive": above,
        "nonnegative": above or low >= 0,
        "negative": high < 0,
        "nonpositive": high <= 0,
        "nonzero": above or high < 0,
        "integer": whole,
        "even": whole and low == high and low % 2 == 0,
        "odd": whole and low == high and low % 2 == 1,
    }
    declared = symbol.assumptions0
    wrong = (word for word, met in has.items() if not met and declared.get(word))
    some = (unmet(symbol, value) for value in _some_of(r, low, high))
    return next(wrong, "") or next(filter(None, some), "")


def unmet(symbol: sp.Symbol, value: Any) -> str:
    """An assumption of a symbol that a number does not meet, empty without one."""
    if not isinstance(value, Real) or not math.isfinite(value):
        return ""
    number = sp.Rational(*float(value).as_integer_ratio())
    for word, declared in sorted(symbol.assumptions0.items(), key=_by_simplicity):
        if getattr(number, f"is_{word}", None) is (not declared):
            return word if declared else f"not {word}"
    return ""


def _by_simplicity(assumption: tuple[str, bool]) -> tuple[bool, int]:
    """What is declared to hold comes first, in short words."""
    word, declared = assumption
    return not declared, len(word)


def _some_of(r: Range, low: Any, high: Any) -> Iterator[Any]:
    """Numbers of a range: its values, or its ends, its middle and some whole numbers."""
    if isinstance(r, Choice):
        yield from r.values
        return
    first = math.ceil(low) if math.isfinite(low) else 0
    middle = low + (high - low) // 2 if isinstance(r, IntRange) else low + (high - low) / 2
    for value in (low, high, middle, *range(-1, 5), *range(first, first + 4)):
        if low <= value <= high and (value > 0 or not isinstance(r, LogInterval)):
            yield value
