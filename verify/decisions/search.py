r"""Searching for a counterexample to a deterministic statement.

A statement "for every input that meets the assumptions, :math:`v(x) \le 0`" is attacked from three
sides: scrambled Sobol points (with the corners of the domain), differential evolution followed by
Nelder-Mead from the best points, and Hypothesis with ``target``.  A point with :math:`v(x) > 0` in
floating point is only a *candidate*: it is re-evaluated in high-precision arithmetic at the very
same floating-point inputs, so that rounding is not mistaken for refutation, and then shrunk
towards simple values as long as it stays a confirmed counterexample.  Finding nothing supports the
statement to the extent of the search and no further; the largest :math:`v` and where it occurs say
how close to an equality the statement comes.

References
----------
Storn and Price (1997). Differential evolution. Journal of Global Optimization 11.
MacIver and Donaldson (2020). Test-case reduction via test-case generation (Hypothesis). ECOOP.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np
from scipy.optimize import differential_evolution, minimize
from scipy.stats import qmc

from trials.checks import InvalidParameter
from verify.decisions.sequences import FloatArray

Point = dict[str, Any]

_DIGITS = 50  # decimal digits of a re-check


@dataclass(frozen=True)
class Interval:
    """A real parameter, searched uniformly."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """The value at quantile ``u`` in [0, 1]."""
        return min(max(self.low + u * (self.high - self.low), self.low), self.high)


@dataclass(frozen=True)
class LogInterval:
    """A positive real parameter, searched uniformly in its logarithm."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """The value at quantile ``u`` in [0, 1]."""
        value = self.low * math.exp(u * math.log(self.high / self.low))
        return self.high if u >= 1.0 else min(max(value, self.low), self.high)


@dataclass(frozen=True)
class IntRange:
    """An integer parameter, both ends included; ``log`` spreads it over magnitudes."""

    low: int
    high: int
    log: bool = False

    def at(self, u: float) -> int:
        """The value at quantile ``u`` in [0, 1]."""
        if self.log:
            value = self.low * math.exp(u * math.log((self.high + 1) / self.low))
        else:
            value = self.low + u * (self.high + 1 - self.low)
        return min(max(math.floor(value), self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """A parameter with finitely many values, simplest first."""

    values: tuple[Any, ...]

    def at(self, u: float) -> Any:
        """The value at quantile ``u`` in [0, 1]."""
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]


Range = Interval | LogInterval | IntRange | Choice
Domain = Mapping[str, Range]


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What a search found.

    ``violation`` is that of the shrunk ``witness`` (None when nothing was found), ``rechecked`` the
    same in high precision.  ``largest`` is the largest violation over all points that were not
    written off as rounding, at ``largest_at``; when nothing was found it is the margin by which the
    statement held.  ``by_method`` counts evaluations; ``n_outside`` points that miss the
    constraints, ``n_undefined`` evaluations that were not a number, ``n_rounding`` candidates that
    high precision took back.
    """

    found: bool
    witness: Mapping[str, Any] | None
    violation: float | None
    rechecked: str | None
    largest: float
    largest_at: Mapping[str, Any] | None
    n_evaluations: int
    by_method: Mapping[str, int]
    n_outside: int
    n_undefined: int
    n_rounding: int

    @property
    def summary(self) -> str:
        """One line for the verdict."""
        if self.found:
            point = ", ".join(f"{k}={v!r}" for k, v in (self.witness or {}).items())
            return f"counterexample at {point}: violation {self.violation:.3g}"
        return f"no counterexample in {self.n_evaluations} searches; closest {self.largest:.3g}"


@dataclass
class _Search:
    """The running state: every evaluation goes through `evaluate`."""

    violation: Callable[[Point], float]
    constraints: Callable[[Point], bool] | None
    recheck: Callable[[Point], Any] | None
    tolerance: float
    by_method: dict[str, int] = field(default_factory=dict)
    n_outside: int = 0
    n_undefined: int = 0
    n_rounding: int = 0
    largest: float = -math.inf
    largest_at: Point | None = None
    best: tuple[float, Point] | None = None  # the worst confirmed counterexample

    def evaluate(self, point: Point, method: str) -> float:
        """The violation there; -inf outside the constraints, where undefined, and for rounding."""
        if self.constraints is not None and not self.constraints(point):
            self.n_outside += 1
            return -math.inf
        self.by_method[method] = self.by_method.get(method, 0) + 1
        v = float(self.violation(point))
        if math.isnan(v):
            self.n_undefined += 1
            return -math.inf
        if v > self.tolerance and (self.best is None or v > self.best[0]):
            if self.confirmed(point):
                self.best = (v, dict(point))
            else:
                self.n_rounding += 1
                return -math.inf
        if v > self.largest:
            self.largest, self.largest_at = v, dict(point)
        return v

    def confirmed(self, point: Point) -> bool:
        """Whether high precision agrees that the statement is violated."""
        if self.recheck is None:
            return True
        with mpmath.workdps(_DIGITS):
            return bool(mpmath.mpf(self.recheck(point)) > 0)

    def is_counterexample(self, point: Point) -> bool:
        """A confirmed violation inside the constraints (used by the shrinker)."""
        if self.constraints is not None and not self.constraints(point):
            return False
        v = float(self.violation(point))
        return v > self.tolerance and self.confirmed(point)


def search_counterexample(
    violation: Callable[[Point], float],
    domain: Domain,
    budget: int,
    seed: int,
    *,
    constraints: Callable[[Point], bool] | None = None,
    recheck: Callable[[Point], Any] | None = None,
    tolerance: float | None = None,
) -> SearchResult:
    r"""Maximise a violation over a domain and report a confirmed, shrunk counterexample or none.

    Parameters
    ----------
    violation : point -> float, positive where the statement fails.  Best scaled to be relative
        (left side over right side, minus one), so that its size means something.
    domain : name -> `Interval`, `LogInterval`, `IntRange` or `Choice`.
    budget : approximate number of evaluations: half Sobol, a third optimiser, the rest Hypothesis.
    seed : every method is seeded by it; the same call gives the same result.
    constraints : assumptions that the domain does not express; points that miss them are not
        evaluated.
    recheck : the violation in mpmath (called at 50 digits with the same Python floats).
    tolerance : violations at or below it are taken for rounding; 0 with ``recheck``, else 1e-9.

    Raises
    ------
    InvalidParameter : an empty or unordered range; no point of the search meets the constraints.
    """
    _check(domain, budget)
    slack = tolerance if tolerance is not None else (0.0 if recheck is not None else 1e-9)
    state = _Search(violation, constraints, recheck, slack)
    seeds = np.random.SeedSequence(seed).spawn(3)
    names = tuple(domain)

    starts = _sobol(state, domain, budget // 2, np.random.default_rng(seeds[0]))
    if state.best is None:
        _optimise(state, domain, budget // 3, np.random.default_rng(seeds[1]), starts)
    if state.best is None:
        _hypothesis(state, domain, max(budget // 6, 10), int(seeds[2].generate_state(1)[0]))
    if not state.by_method:
        raise InvalidParameter(f"no point of {', '.join(names)} in {budget} met the constraints")

    witness = value = exact = None
    if state.best is not None:
        witness = _shrink(state, domain, state.best[1])
        value = float(violation(witness))
        if recheck is not None:
            with mpmath.workdps(_DIGITS):
                exact = mpmath.nstr(mpmath.mpf(recheck(witness)), 20)
    return SearchResult(
        found=witness is not None,
        witness=witness,
        violation=value,
        rechecked=exact,
        largest=state.largest,
        largest_at=state.largest_at,
        n_evaluations=sum(state.by_method.values()),
        by_method=dict(state.by_method),
        n_outside=state.n_outside,
        n_undefined=state.n_undefined,
        n_rounding=state.n_rounding,
    )


def _check(domain: Domain, budget: int) -> None:
    if budget < 8:
        raise InvalidParameter(f"budget={budget} must be an integer >= 8")
    if not domain:
        raise InvalidParameter("domain must name at least one parameter")
    for name, r in domain.items():
        if isinstance(r, Choice):
            if not r.values:
                raise InvalidParameter(f"{name}: a choice needs at least one value")
            continue
        if not (math.isfinite(r.low) and math.isfinite(r.high) and r.low <= r.high):
            raise InvalidParameter(f"{name}: [{r.low}, {r.high}] must be finite and ordered")
        positive = isinstance(r, LogInterval) or (isinstance(r, IntRange) and r.log)
        if positive and r.low <= 0:
            raise InvalidParameter(f"{name}: low={r.low} must be positive on a log scale")


def _decode(domain: Domain, u: Sequence[float] | FloatArray) -> Point:
    return {name: r.at(float(x)) for (name, r), x in zip(domain.items(), u, strict=True)}


def _sobol(
    state: _Search, domain: Domain, budget: int, rng: np.random.Generator
) -> list[tuple[float, FloatArray]]:
    """Corners, then Sobol points; returns the best points of the unit cube, best first."""
    dimension = len(domain)
    seen: list[tuple[float, FloatArray]] = []
    corners: Iterator[tuple[float, ...]] = itertools.product((0.0, 1.0), repeat=dimension)
    for corner in itertools.islice(corners, max(budget // 8, 2)):
        u = np.array(corner)
        seen.append((state.evaluate(_decode(domain, u), "corners"), u))
    # A power of two keeps the points balanced.
    points = qmc.Sobol(dimension, rng=rng).random_base2(max(int(math.log2(budget)), 1))
    seen.extend((state.evaluate(_decode(domain, u), "sobol"), u) for u in points)
    seen.sort(key=lambda pair: -pair[0])
    return seen[:8]


def _optimise(
    state: _Search,
    domain: Domain,
    budget: int,
    rng: np.random.Generator,
    starts: Sequence[tuple[float, FloatArray]],
) -> None:
    """Differential evolution for two thirds of the budget, then Nelder-Mead from good points."""
    dimension = len(domain)

    def loss(u: FloatArray, method: str) -> float:
        v = state.evaluate(_decode(domain, np.clip(u, 0.0, 1.0)), method)
        # Finite, with a finite square, so that the simplex can step over forbidden ground.
        return -v if math.isfinite(v) else math.copysign(1e100, -v)

    population = max(8, min(4 * dimension, budget // 8))
    first = qmc.Sobol(dimension, rng=rng).random_base2(math.ceil(math.log2(population)))
    for row, (_, u) in zip(first, starts, strict=False):
        row[:] = u
    generations = max((2 * budget // 3) // len(first) - 1, 1)
    differential_evolution(
        lambda u: loss(u, "differential evolution"),
        [(0.0, 1.0)] * dimension,
        init=first,
        maxiter=generations,
        polish=False,
        tol=0.0,
        rng=rng,
    )
    per_start = max(budget // 3 // max(min(len(starts), 3), 1), 4)
    for _, u in starts[:3]:
        if state.best is not None:
            return
        minimize(
            lambda v: loss(v, "nelder-mead"),
            u,
            method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * dimension,
            options={"maxfev": per_start, "xatol": 1e-10, "fatol": 0.0},
        )


def _hypothesis(state: _Search, domain: Domain, budget: int, seed: int) -> None:
    """Property-based search towards larger violations; its finds are already small."""
    # Hypothesis takes a while to import; only searches pay for it.
    import hypothesis
    from hypothesis import strategies as st

    def strategy(r: Range) -> st.SearchStrategy[Any]:
        if isinstance(r, Choice):
            return st.sampled_from(r.values)
        if isinstance(r, IntRange):
            return st.integers(r.low, r.high)
        plain = st.floats(r.low, r.high)
        if isinstance(r, LogInterval):
            return st.one_of(plain, st.floats(0.0, 1.0).map(r.at))
        return plain

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=budget,
        database=None,
        deadline=None,
        verbosity=hypothesis.Verbosity.quiet,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.target, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @hypothesis.given(st.fixed_dictionaries({name: strategy(r) for name, r in domain.items()}))
    def attack(point: Point) -> None:
        v = state.evaluate(point, "hypothesis")
        if math.isfinite(v):
            hypothesis.target(v)
        if v > state.tolerance and state.is_counterexample(point):
            # Overwrite: while Hypothesis shrinks, the last failure is the simplest.
            state.best = (v, dict(point))
            raise _FoundError

    try:
        attack()
    except _FoundError:
        pass
    except hypothesis.errors.Unsatisfiable:
        pass


class _FoundError(AssertionError):
    """Raised inside Hypothesis at a counterexample."""


def _shrink(state: _Search, domain: Domain, point: Point) -> Point:
    """Replace coordinates by simpler values, one at a time, while it stays a counterexample."""
    current = dict(point)
    for _ in range(3):
        before = dict(current)
        for name, r in domain.items():
            for value in _simpler(r, current[name]):
                trial = {**current, name: value}
                if state.is_counterexample(trial):
                    current = trial
                    break
        if current == before:
            break
    return current


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
