"""Where a search looks: sets of inputs that can be sampled, split, perturbed and simplified.

`Domain` is the interface that a search uses.  `Box` is the set of scalar parameters, each
with a range of its own.  Structured inputs (matrices, point sets, covariances) are further
implementations of the same protocol.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import scipy

from trials.checks import InvalidParameter
from verify.decisions.sequences import FloatArray

Point = dict[str, Any]

_EXACT = 2**52  # integers from here on have no halves among the floats


@dataclass(frozen=True)
class _Range:
    """The base of ranges.

    Attributes
    ----------
    meaning : of the parameter, in a few words with inline LaTeX.  It is empty where the parameter's
        name is a letter of the paper, which the paper's table of symbols explains.
    """

    meaning: str = field(default="", kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class Interval(_Range):
    """A real parameter, searched uniformly."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """The value at quantile ``u`` in [0, 1]."""
        width = self.high - self.low
        value = self.low + u * width if width < math.inf else self.low * (1 - u) + self.high * u
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class LogInterval(_Range):
    """A positive real parameter, searched uniformly in its logarithm."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """The value at quantile ``u`` in [0, 1]."""
        if u >= 1.0:
            return self.high
        if self.high / self.low < math.inf:
            value = self.low * math.exp(u * math.log(self.high / self.low))
        else:
            value = math.exp(math.log(self.low) + u * _log_quotient(self.high, self.low))
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class IntRange(_Range):
    """An integer parameter, both ends included.  With ``log`` it is searched in its logarithm."""

    low: int
    high: int
    log: bool = False

    def at(self, u: float) -> int:
        """The value at quantile ``u`` in [0, 1]."""
        if u >= 1.0:
            return self.high
        if self.log:
            value = self.low * math.exp(u * math.log((self.high + 1) / self.low))
        elif max(-self.low, self.high) < _EXACT:
            value = self.low + u * (self.high + 1 - self.low)
        else:
            value = self.low + math.floor(u * (self.high + 1 - self.low))
        return min(max(math.floor(value), self.low), self.high)


@dataclass(frozen=True)
class Choice(_Range):
    """A parameter with finitely many values, simplest first."""

    values: tuple[Any, ...]

    def at(self, u: float) -> Any:
        """The value at quantile ``u`` in [0, 1]."""
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]


Range = Interval | LogInterval | IntRange | Choice
Ranges = Mapping[str, Range]


class Domain(Protocol):
    """The interface of a set of inputs that a search uses.

    A point is a dictionary from names to values.  Every method draws from the generator that it
    is given and from nothing else, so that the same seed gives the same search.

    A domain with special positions may also have ``is_general(point) -> bool``.  A counterexample
    in general position is preferred, whatever its violation.
    """

    def check(self) -> None:
        """Raise `InvalidParameter` when the domain is empty or malformed."""
        ...

    def sample(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """About ``n`` points that fill the domain evenly."""
        ...

    def corners(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """At most ``n`` extreme points: all where they are few, else a balanced selection."""
        ...

    def perturb(self, rng: np.random.Generator, point: Point, size: float) -> Point:
        """A random point of the domain near ``point``.  ``size`` 1 reaches across the domain."""
        ...

    def shrink(self, point: Point) -> Iterator[Point]:
        """Points that differ from ``point`` by one step towards something simpler, best first."""
        ...

    def parts(self) -> Mapping[str, Domain]:
        """Named parts, each a domain, that the search also treats one by one.

        A maximum in one part then does not hide the other parts.  Parts may overlap.
        """
        ...

    def contains(self, point: Point) -> bool:
        """Whether the point lies in the domain."""
        ...

    def names(self) -> Sequence[str]:
        """The parameters that `fix` can hold fixed, possibly none."""
        ...

    def meanings(self) -> Mapping[str, str]:
        """What the parameters mean whose names are words and no letters of the paper."""
        ...

    def fix(self, values: Mapping[str, Any]) -> Domain:
        """The domain with some parameters held fixed.  Values outside it raise an error."""
        ...

    def describe(self) -> str:
        """The domain in words, for the report (inline LaTeX allowed)."""
        ...


@dataclass(frozen=True)
class Box:
    """Scalar parameters, each in a range of its own.

    Example
    -------
    >>> box = Box({"alpha": Interval(0.0, 0.5), "n": IntRange(1, 8)})
    >>> box.decode([0.5, 1.0])
    {'alpha': 0.25, 'n': 8}
    >>> sorted(box.parts())
    ['alpha from 0 to 0.25', 'alpha from 0.25 to 0.5', 'n from 1 to 4', 'n from 5 to 8']
    """

    ranges: Ranges

    def check(self) -> None:
        """Refuse a box without parameters, and ranges that are empty, unordered or infinite."""
        if not self.ranges:
            raise InvalidParameter("domain must name at least one parameter")
        for name, r in self.ranges.items():
            if isinstance(r, Choice):
                if not r.values:
                    raise InvalidParameter(f"{name}: a choice needs at least one value")
                continue
            if not (math.isfinite(r.low) and math.isfinite(r.high) and r.low <= r.high):
                raise InvalidParameter(f"{name}: [{r.low}, {r.high}] must be finite and ordered")
            positive = isinstance(r, LogInterval) or (isinstance(r, IntRange) and r.log)
            if positive and r.low <= 0:
                raise InvalidParameter(f"{name}: low={r.low} must be positive on a log scale")

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return len(self.ranges)

    def decode(self, u: Sequence[float] | FloatArray) -> Point:
        """The point at coordinates ``u`` of the unit cube, (dimension,)."""
        return {name: r.at(float(x)) for (name, r), x in zip(self.ranges.items(), u, strict=True)}

    def coordinates(self, point: Point) -> FloatArray:
        """Coordinates of a point in the unit cube, (dimension,).  `decode` is the inverse."""
        return np.array([_quantile(r, point[name]) for name, r in self.ranges.items()])

    def cube_sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Scrambled Sobol points of the unit cube: the power of two at or below ``n`` of them."""
        # A power of two keeps the points balanced.
        points = scipy.stats.qmc.Sobol(self.dimension, rng=rng).random_base2(
            max(int(math.log2(n)), 1)
        )
        return np.asarray(points, dtype=np.float64)

    def cube_corners(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Corners of the unit cube, (at most max(n, 2), dimension)."""
        return balanced_corners(self.dimension, n, rng)

    def sample(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """Scrambled Sobol points."""
        return map(self.decode, self.cube_sample(rng, n))

    def corners(self, rng: np.random.Generator, n: int) -> Iterator[Point]:
        """All corners, or an orthogonal array of them."""
        return map(self.decode, self.cube_corners(rng, n))

    def perturb(self, rng: np.random.Generator, point: Point, size: float) -> Point:
        """One to all parameters moved.  A number moves by about ``size`` of its range."""
        moved = dict(point)
        names = list(self.ranges)
        n_moved = int(rng.integers(1, len(names) + 1))
        for name in rng.choice(names, n_moved, replace=False):
            r = self.ranges[str(name)]
            if isinstance(r, Choice):
                if rng.random() < size:
                    moved[str(name)] = r.at(rng.random())
            else:
                u = _quantile(r, point[str(name)]) + size * rng.standard_normal()
                moved[str(name)] = r.at(min(max(u, 0.0), 1.0))
        return moved

    def shrink(self, point: Point) -> Iterator[Point]:
        """One parameter at a time at a simpler value."""
        for name, r in self.ranges.items():
            for value in _simpler(r, point[name]):
                yield {**point, name: value}

    def parts(self) -> dict[str, Box]:
        """The lower and the upper half of every parameter that has two."""
        halves: dict[str, Box] = {}
        for name, r in self.ranges.items():
            for half in _halves(r):
                part = Box({**self.ranges, name: half})
                halves[f"{name} {spell_range(half)}"] = part
        return halves

    def nearest(self, point: Point) -> Point:
        """The point with each number at the nearest end where it lies out of its range.

        A value that a choice has not is replaced by its first one, a fraction of a count rounded.
        """
        return {name: _nearest(r, point[name]) for name, r in self.ranges.items()}

    def contains(self, point: Point) -> bool:
        """Whether every parameter lies in its range."""
        return all(_holds(r, point[name]) for name, r in self.ranges.items())

    def names(self) -> tuple[str, ...]:
        """All parameters."""
        return tuple(self.ranges)

    def meanings(self) -> dict[str, str]:
        """The meanings that the ranges give."""
        return {name: r.meaning for name, r in self.ranges.items() if r.meaning}

    def fix(self, values: Mapping[str, Any]) -> Box:
        """The box with some parameters held fixed."""
        fixed = {
            name: Choice(
                (inside(name, self.ranges[name], value),), meaning=self.ranges[name].meaning
            )
            for name, value in values.items()
        }
        return Box({**self.ranges, **fixed})

    def describe(self) -> str:
        """Every parameter with its range."""
        return "; ".join(f"{name} {spell_range(r)}" for name, r in self.ranges.items())


def as_domain(domain: Domain | Ranges) -> Domain:
    """A mapping of ranges as a box.  A domain is returned unchanged."""
    return Box(domain) if isinstance(domain, Mapping) else domain


def balanced_corners(dimension: int, n: int, rng: np.random.Generator) -> FloatArray:
    r"""Corners of the unit cube, (n_corners, dimension): all, or a balanced selection.

    All :math:`2^q` corners where that is at most ``n``.  Otherwise an orthogonal array: the
    :math:`2^k \le n` words :math:`x G + s` over GF(2), with a generator matrix :math:`G` whose
    columns are distinct and a random shift :math:`s`.  Where all columns have a last bit of one,
    any three of them are linearly independent.  Then every three parameters take all eight
    combinations of their ends equally often.  This is strength 3 (Hedayat, Sloane and Stufken 1999,
    chapter 4).  Where there are too few such columns the strength is 2.  Beyond :math:`2^k - 1`
    parameters corners are drawn at random in opposite pairs.
    """
    n = max(n, 2)
    k = min(int(math.log2(n)), dimension)
    words = np.arange(2**k)
    if k == dimension:
        columns = 1 << np.arange(dimension)
        shift = np.zeros(dimension, dtype=np.int64)
    else:
        odd, nonzero = np.arange(1, 2**k, 2), np.arange(1, 2**k)
        pool = odd if odd.size >= dimension else nonzero
        if pool.size < dimension:
            half = rng.integers(0, 2, (max(n // 2, 1), dimension))
            return np.asarray(np.vstack([half, 1 - half]), dtype=np.float64)
        columns = rng.choice(pool, dimension, replace=False)
        shift = rng.integers(0, 2, dimension)
    bits = np.bitwise_count(words[:, None] & columns[None, :]) % 2
    return np.asarray((bits + shift) % 2, dtype=np.float64)


def _quantile(r: Range, value: Any) -> float:
    """The quantile at which a range takes a value.  It inverts ``at`` up to rounding."""
    if isinstance(r, Choice):
        return (r.values.index(value) + 0.5) / len(r.values)
    if r.high == r.low:
        return 0.5
    if isinstance(r, LogInterval):
        return _log_quotient(value, r.low) / _log_quotient(r.high, r.low)
    if isinstance(r, IntRange):
        if r.log:
            return math.log((value + 0.5) / r.low) / math.log((r.high + 1) / r.low)
        return float((value - r.low + 0.5) / (r.high + 1 - r.low))
    if r.high - r.low == math.inf:
        return float((value / 2 - r.low / 2) / (r.high / 2 - r.low / 2))
    return float((value - r.low) / (r.high - r.low))


def _log_quotient(high: float, low: float) -> float:
    """The log of a quotient of two positive numbers, also where the quotient overflows."""
    quotient = high / low
    return math.log(quotient) if quotient < math.inf else math.log(high) - math.log(low)


def _halves(r: Range) -> tuple[Range, ...]:
    """The two halves of a range, or nothing where it holds a single value."""
    if isinstance(r, Choice):
        middle = len(r.values) // 2
        return tuple(replace(r, values=v) for v in (r.values[:middle], r.values[middle:]) if middle)
    if r.low == r.high:
        return ()
    if isinstance(r, IntRange):
        last = max(min(r.at(0.5), r.high) - 1, r.low)
        return replace(r, high=last), replace(r, low=last + 1)
    middle_value = r.at(0.5)
    return replace(r, high=middle_value), replace(r, low=middle_value)


def _nearest(r: Range, value: Any) -> Any:
    if isinstance(r, Choice):
        return r.values[r.values.index(value) if value in r.values else 0]
    inside = min(max(value, r.low), r.high)
    return round(inside) if isinstance(r, IntRange) else float(inside)


def _holds(r: Range, value: Any) -> bool:
    if isinstance(r, Choice):
        return value in r.values
    if not (isinstance(value, int | float) and r.low <= value <= r.high):
        return False
    return not isinstance(r, IntRange) or value == math.floor(value)


def inside(name: str, r: Range, value: Any) -> Any:
    """``value`` in the range's type.  An error names the range that does not hold it."""
    if isinstance(r, Choice):
        if value in r.values:
            return r.values[r.values.index(value)]  # 2 where 2.0 is given
    elif isinstance(value, int | float) and r.low <= value <= r.high:
        if isinstance(r, Interval | LogInterval):
            return float(value)
        if float(value).is_integer():
            return int(value)
    kind = " an integer" if isinstance(r, IntRange) else ""
    raise InvalidParameter(f"{name}={value!r} must be{kind} {spell_range(r)}")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def spell_range(r: Range) -> str:
    """A parameter's range in words."""
    if isinstance(r, Choice):
        return "in {" + ", ".join(map(_short, r.values)) + "}"
    return f"from {_short(r.low)} to {_short(r.high)}"


def _simpler(r: Range, value: Any) -> Iterator[Any]:
    """Values simpler than ``value`` in the range, simplest first."""
    if isinstance(r, Choice):
        yield from r.values[: r.values.index(value)]
        return
    if isinstance(r, IntRange):
        ladder = [
            r.low,
            *(v for k in range(1, 64) if (v := value - (value - r.low) // 2**k) < value),
        ]
        yield from (v for v in dict.fromkeys(ladder) if r.low <= v < value)
        return
    for candidate in (0.0, 1.0, 2.0, 0.5, r.low, r.high):
        if r.low <= candidate <= r.high:
            if candidate == value:
                return
            yield candidate
    for digits in range(1, 12):
        rounded = float(f"{value:.{digits}g}")
        if rounded == value:
            return
        if r.low <= rounded <= r.high:
            yield rounded
