r"""Searching for a counterexample to a deterministic statement.

The statement reads "for every input that meets the assumptions, :math:`v(x) \le 0`".  The search
tries, in this order,

1. corners of the domain (all, or a balanced selection) and points that fill it (Sobol in a box),
2. an optimiser over the whole domain: in a box, differential evolution and then Nelder-Mead from
   the best points, and elsewhere random perturbations,
3. a local search in each part of the domain (in a box, each half of each parameter), so that a
   maximum where the statement says nothing does not hide the rest,
4. Hypothesis with ``target``, in a box.

A point with :math:`v(x) > 0` in floating point is only a *candidate*.  High-precision arithmetic
evaluates it again at the very same floating-point inputs, so that rounding is not mistaken for
refutation.  A confirmed counterexample is then shrunk: simpler values replace its own as long as
it stays one.  A search that finds nothing supports the statement to its extent and no further.
The largest :math:`v` and its place say how close to an equality the statement comes.

References
----------
Storn and Price (1997). Differential evolution. Journal of Global Optimization 11.
MacIver and Donaldson (2020). Test-case reduction via test-case generation (Hypothesis). ECOOP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np
from scipy.optimize import differential_evolution, minimize

from trials.checks import InvalidParameter
from verify.decisions.domain import (
    Box,
    Choice,
    Domain,
    Interval,
    IntRange,
    LogInterval,
    Point,
    Range,
    Ranges,
    as_domain,
)
from verify.decisions.sequences import FloatArray

__all__ = [
    "DIGITS",
    "Choice",
    "Domain",
    "IntRange",
    "Interval",
    "LogInterval",
    "SearchResult",
    "is_counterexample_among",
    "search_counterexample",
]

DIGITS = 50  # decimal digits of a re-check
_PART_EVALUATIONS = 24  # the fewest evaluations that a local search in one part is given
_SHRINK_STEPS = 400
_EXAMPLES = 100  # of Hypothesis, at most: its surprises come early

_Start = tuple[float, Point]


class NoPoint(InvalidParameter):
    """No point of a search meets its constraints, or the statement has a value at none of them."""


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The result of a search.

    ``violation`` is that of the shrunk ``witness`` (None when nothing was found).  ``rechecked`` is
    the same in high precision.  ``largest`` is the largest violation over all points, found at
    ``largest_at``.  Violations within rounding do not count for it.  When nothing was found it is
    the margin by which the statement held.  ``by_method`` counts evaluations.  ``n_outside`` counts
    points that miss the constraints, ``n_undefined`` evaluations that were not a number, and
    ``n_rounding`` candidates that high precision did not confirm.
    """

    found: bool
    witness: Mapping[str, Any] | None
    violation: float | None
    rechecked: str | None
    largest: float
    largest_at: Mapping[str, Any] | None
    n_evaluations: int
    by_method: Mapping[str, int]
    by_part: Mapping[str, float]
    n_outside: int
    n_undefined: int
    n_rounding: int

    @classmethod
    def none(cls) -> SearchResult:
        """The result of a search that was not made."""
        return cls(
            found=False,
            witness=None,
            violation=None,
            rechecked=None,
            largest=-math.inf,
            largest_at=None,
            n_evaluations=0,
            by_method={},
            by_part={},
            n_outside=0,
            n_undefined=0,
            n_rounding=0,
        )

    @property
    def summary(self) -> str:
        """One line for the verdict."""
        if self.found:
            point = ", ".join(f"{k}={_spell(v)}" for k, v in (self.witness or {}).items())
            return f"counterexample at {point}: violation {self.violation:.3g}"
        n_tried = self.n_evaluations - self.n_undefined
        without = f"; at {self.n_undefined} more it has no value" if self.n_undefined else ""
        closest = self.largest + 0.0  # a zero without a sign
        return f"no counterexample at {n_tried} points; closest {closest:.3g}{without}"


def _spell(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


@dataclass
class _Search:
    """The running state: every evaluation goes through `evaluate`."""

    violation: Callable[[Point], float]
    constraints: Callable[[Point], bool] | None
    recheck: Callable[[Point], Any] | None
    tolerance: float
    is_general: Callable[[Point], bool] = lambda _point: True
    first: bool = False
    by_method: dict[str, int] = field(default_factory=dict)
    n_outside: int = 0
    n_undefined: int = 0
    n_rounding: int = 0
    largest: float = -math.inf
    largest_at: Point | None = None
    best: tuple[float, Point] | None = None  # the worst confirmed counterexample

    def evaluate(self, point: Point, method: str) -> float:
        """The violation at a point, -inf where it is outside the constraints, undefined or only
        rounding.
        """
        if self.first and self.best is not None:
            return self.best[0]
        if self.constraints is not None and not self.constraints(point):
            self.n_outside += 1
            return -math.inf
        self.by_method[method] = self.by_method.get(method, 0) + 1
        v = float(self.violation(point))
        if math.isnan(v):
            self.n_undefined += 1
            return -math.inf
        if v > self.tolerance and self._is_better(v, point):
            if self.confirmed(point):
                self.best = (v, dict(point))
            else:
                self.n_rounding += 1
                return -math.inf
        if v > self.largest:
            self.largest, self.largest_at = v, dict(point)
        return v

    def _is_better(self, v: float, point: Point) -> bool:
        """Whether a counterexample is a better witness than the one that is kept."""
        if self.best is None:
            return True
        general, kept = self.is_general(point), self.is_general(self.best[1])
        return v > self.best[0] if general == kept else general

    def confirmed(self, point: Point) -> bool:
        """Whether high precision agrees that the statement is violated."""
        if self.recheck is None:
            return True
        with mpmath.workdps(DIGITS):
            return bool(mpmath.mpf(self.recheck(point)) > 0)

    def is_counterexample(self, point: Point) -> bool:
        """A confirmed violation inside the constraints (used by the shrinker).

        A point at which a side has no value, such as a division by zero, is none.
        """
        try:
            if self.constraints is not None and not self.constraints(point):
                return False
            v = float(self.violation(point))
        except ArithmeticError:
            return False
        return v > self.tolerance and self.confirmed(point)


def search_counterexample(
    violation: Callable[[Point], float],
    domain: Domain | Ranges,
    budget: int,
    seed: int,
    *,
    constraints: Callable[[Point], bool] | None = None,
    recheck: Callable[[Point], Any] | None = None,
    tolerance: float | None = None,
    first: bool = False,
) -> SearchResult:
    r"""Maximise a violation over a domain and report a confirmed, shrunk counterexample or none.

    Parameters
    ----------
    violation : point -> float, positive where the statement fails.  Best scaled to be relative
        (left side over right side, minus one), so that its size means something.
    domain : a `Domain`, or a mapping name -> `Interval`, `LogInterval`, `IntRange` or `Choice`,
        which is a box.
    budget : approximate number of evaluations: half for corners, points that fill the domain and
        the search part by part, the rest for the optimiser and for Hypothesis (boxes only).
        Hypothesis gets a sixth, and 100 at most.  It takes twenty times as long for each.
    seed : every method is seeded by it, so the same call gives the same result.
    constraints : assumptions that the domain does not express.  Points that miss them are not
        evaluated.
    recheck : the violation in mpmath (called at 50 digits with the same Python floats).
    tolerance : violations at or below it are taken for rounding.  By default it is 0 with
        ``recheck``, else 1e-9.
    first : stop at the first counterexample, and do not simplify it.  One is found where the whole
        search finds one.

    Raises
    ------
    InvalidParameter : a range is empty or unordered.
    NoPoint : no point of the search meets the constraints, or the violation is NaN at all of them.
    """
    if budget < 8:
        raise InvalidParameter(f"budget={budget} must be an integer >= 8")
    space = as_domain(domain)
    space.check()
    general = getattr(space, "is_general", lambda _point: True)
    state = _Search(violation, constraints, recheck, _slack(tolerance, recheck), general, first)
    parts = _look(state, space, budget, seed)
    _refuse_an_empty_search(state, space, budget)
    return _report(state, space, parts)


def _look(state: _Search, space: Domain, budget: int, seed: int) -> Mapping[str, float]:
    """Try one method after the other up to the first counterexample.

    Returns the largest violation of each part, where the parts were searched.
    """
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4)]
    starts = _sample(state, space, budget // 2, streams[0])
    left = budget // 2 - len(starts)
    parts: Mapping[str, float] = {}
    examples = min(max(budget // 6, 10), _EXAMPLES) if isinstance(space, Box) else 0
    if state.best is None:
        _optimise(state, space, max(budget // 2 - examples, budget // 3), streams[1], starts)
    if state.best is None:
        parts = _part_by_part(state, space, max(left, budget // 8), streams[3], starts)
    if state.best is None and isinstance(space, Box):
        _hypothesis(state, space, examples, int(streams[2].integers(2**32)))
    return parts


def _refuse_an_empty_search(state: _Search, space: Domain, budget: int) -> None:
    """Raise `NoPoint` where no point has given a violation."""
    if not state.by_method:
        raise NoPoint(
            f"no point of the domain ({space.describe()}) in {budget} met the constraints"
        )
    if state.n_undefined == sum(state.by_method.values()):
        raise NoPoint(
            f"no point of the domain ({space.describe()}) in {state.n_undefined} that met the "
            "constraints gives the violation a value, so that nothing was tried"
        )


def _report(state: _Search, space: Domain, parts: Mapping[str, float]) -> SearchResult:
    """The result of a search, its counterexample made as simple as it gets."""
    witness = value = exact = None
    if state.best is not None:
        witness = state.best[1] if state.first else _shrink(state, space, state.best[1])
        value = float(state.violation(witness))
        if state.recheck is not None:
            with mpmath.workdps(DIGITS):
                exact = mpmath.nstr(mpmath.mpf(state.recheck(witness)), 20)
    return SearchResult(
        found=witness is not None,
        witness=witness,
        violation=value,
        rechecked=exact,
        largest=state.largest,
        largest_at=state.largest_at,
        n_evaluations=sum(state.by_method.values()),
        by_method=dict(state.by_method),
        by_part=_with_largest(state, space, parts),
        n_outside=state.n_outside,
        n_undefined=state.n_undefined,
        n_rounding=state.n_rounding,
    )


def _with_largest(state: _Search, space: Domain, parts: Mapping[str, float]) -> dict[str, float]:
    """The violations of the parts, where that of the whole search may exceed those of its part."""
    place = state.largest_at
    if place is None or not parts:
        return dict(parts)
    within = space.parts()
    return {
        name: max(v, state.largest) if within[name].contains(place) else v
        for name, v in parts.items()
    }


def is_counterexample_among(
    points: Iterable[Point],
    violation: Callable[[Point], float],
    *,
    constraints: Callable[[Point], bool] | None = None,
    recheck: Callable[[Point], Any] | None = None,
    tolerance: float | None = None,
) -> bool:
    """Whether the statement fails at one of some points.  The arguments are those of a search.

    Examples
    --------
    >>> is_counterexample_among([{"x": 1.0}, {"x": 3.0}], lambda point: point["x"] - 2.0)
    True
    """
    state = _Search(violation, constraints, recheck, _slack(tolerance, recheck))
    return any(state.is_counterexample(point) for point in points)


def _slack(tolerance: float | None, recheck: Callable[[Point], Any] | None) -> float:
    """Violations up to here are taken for rounding."""
    if tolerance is not None:
        return tolerance
    return 0.0 if recheck is not None else 1e-9


def _sample(state: _Search, domain: Domain, budget: int, rng: np.random.Generator) -> list[_Start]:
    """Try corners, then points that fill the domain.  Return all, largest violation first."""
    name = "sobol" if isinstance(domain, Box) else "sample"
    seen = []
    for method, points in (
        ("corners", domain.corners(rng, max(budget // 8, 2))),
        (name, domain.sample(rng, budget)),
    ):
        for point in points:
            seen.append((state.evaluate(point, method), point))
            if state.first and state.best is not None:
                return seen
    seen.sort(key=lambda pair: -pair[0])
    return seen


def _optimise(
    state: _Search,
    domain: Domain,
    budget: int,
    rng: np.random.Generator,
    starts: Sequence[_Start],
) -> None:
    """Search the whole domain: a box by its coordinates, other domains by perturbing good
    points.
    """
    if isinstance(domain, Box):
        _optimise_box(state, domain, budget, rng, starts)
        return
    for _, point in starts[:3]:
        _climb(state, domain, point, budget // 3, rng, "local search")


def _optimise_box(
    state: _Search,
    domain: Box,
    budget: int,
    rng: np.random.Generator,
    starts: Sequence[_Start],
) -> None:
    """Differential evolution for two thirds of the budget, then Nelder-Mead from good points."""
    dimension = domain.dimension

    def loss(u: FloatArray, method: str) -> float:
        v = state.evaluate(domain.decode(np.clip(u, 0.0, 1.0)), method)
        # Finite, with a finite square, so that the simplex can cross points outside the
        # constraints.
        return -v if math.isfinite(v) else math.copysign(1e100, -v)

    coordinates = [domain.coordinates(point) for _, point in starts[:8]]
    population = max(8, min(4 * dimension, budget // 8))
    first = domain.cube_sample(rng, 2 ** math.ceil(math.log2(population)))
    for row, u in zip(first, coordinates, strict=False):
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
    for u in coordinates[:3]:
        if state.best is not None:
            return
        minimize(
            lambda v: loss(v, "nelder-mead"),
            u,
            method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * dimension,
            options={"maxfev": per_start, "xatol": 1e-10, "fatol": 0.0},
        )


def _part_by_part(
    state: _Search,
    domain: Domain,
    budget: int,
    rng: np.random.Generator,
    starts: Sequence[_Start],
) -> dict[str, float]:
    """The largest violation found in each part of the domain, searched within that part.

    A statement often comes closest to an equality where it says nothing (a parameter at zero).  An
    optimiser over the whole domain then ends there and does not search the rest.
    """
    parts = domain.parts()
    if not parts:
        return {}
    # Too few evaluations in a part find nothing: a small budget treats some parts, drawn by seed.
    n_treated = min(len(parts), max(budget // _PART_EVALUATIONS, 1))
    treated = {str(name) for name in rng.choice(list(parts), n_treated, replace=False)}
    largest = {}
    for name, part in parts.items():
        best = next(((v, point) for v, point in starts if part.contains(point)), None)
        if best is None:
            continue
        v, point = best
        if name in treated and state.best is None:
            v = max(v, _climb(state, part, point, budget // n_treated, rng, "part by part"))
        largest[name] = v
    return largest


def _climb(
    state: _Search, domain: Domain, start: Point, budget: int, rng: np.random.Generator, method: str
) -> float:
    """The largest violation of a random walk that only goes up, its step adapted to its success.

    The step grows by half after a success and shrinks by a tenth after a failure, so that about
    one step in five succeeds (Rechenberg's rule).
    """
    point, value, size = dict(start), -math.inf, 0.3
    for _ in range(budget):
        if state.best is not None:
            break
        trial = domain.perturb(rng, point, size)
        v = state.evaluate(trial, method)
        if v > value:
            point, value, size = trial, v, min(1.5 * size, 1.0)
        else:
            size = max(0.9 * size, 1e-6)
    return value


def _hypothesis(state: _Search, domain: Box, budget: int, seed: int) -> None:
    """Property-based search towards larger violations.  Its counterexamples are already simple."""
    # Hypothesis takes a while to import, so only searches import it.
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
    @hypothesis.given(
        st.fixed_dictionaries({name: strategy(r) for name, r in domain.ranges.items()})
    )
    def attack(point: Point) -> None:
        v = state.evaluate(point, "hypothesis")
        if math.isfinite(v):
            hypothesis.target(v)
        if v > state.tolerance and state.is_counterexample(point):
            # Overwrite: while Hypothesis shrinks, the last failure is the simplest.
            state.best = (v, dict(point))
            raise _FoundError

    try:
        with _no_constants_of_the_program():
            attack()
    except _FoundError:
        pass
    except hypothesis.errors.Unsatisfiable:
        pass


@contextmanager
def _no_constants_of_the_program() -> Iterator[None]:
    """Keep Hypothesis from trying the numbers that stand in the loaded modules.

    Newer versions collect them from every module outside site-packages.  A search would then
    depend on the modules that its process has loaded, and on where the program is installed.
    """
    from hypothesis.internal.conjecture import providers as known

    providers: Any = known
    found = getattr(providers, "_get_local_constants", None)
    if found is None:  # a version that collects none
        yield
        return
    empty = type(providers.GLOBAL_CONSTANTS)()
    try:
        providers.CONSTANTS_CACHE.cache.clear()
        providers._get_local_constants = lambda: empty
        yield
    finally:
        providers._get_local_constants = found
        providers.CONSTANTS_CACHE.cache.clear()


class _FoundError(AssertionError):
    """Raised inside Hypothesis at a counterexample."""


def _shrink(state: _Search, domain: Domain, point: Point) -> Point:
    """Take simplifying steps while the point stays a confirmed counterexample."""
    current, tried = dict(point), 0
    simpler = domain.shrink(current)
    while tried < _SHRINK_STEPS and (candidate := next(simpler, None)) is not None:
        tried += 1
        if state.is_counterexample(candidate):
            current = candidate
            simpler = domain.shrink(current)
    return current
