"""Deterministic statements: a search for a counterexample, with the closest approach to one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
import sympy as sp

from bounds.render import latex
from trials.checks import InvalidParameter
from trials.run.engine import Demand
from verify.decisions.domain import Box, Domain, Ranges, as_domain
from verify.decisions.measures import LOG_RATIO
from verify.decisions.search import (
    DIGITS,
    SearchResult,
    is_counterexample_among,
    search_counterexample,
)
from verify.evidence import Evidence, EvidenceTable, Verdict, Witness
from verify.procedures.base import NOTHING, Presentation, Trials, unknown_parameter
from verify.procedures.interface import Procedure
from verify.proofs.certificate import Certificate, proof
from verify.proofs.propositions import Proposition
from verify.proofs.shelf import domain_of, formula_of, steps, stored
from verify.proofs.story import story

Point = Mapping[str, Any]
RECHECKED = f"re-checked with {DIGITS} digits"
#: A search that stays this factor away from the bound says so: the statement was hardly tried.
FAR = 10.0
_POINTS = 20  # of a fingerprint
_VISITED = 100  # points at which a search shows where it was
_SAMPLED = 256  # points that show which conditions the domain can break
_CORNERS = 16  # at which the formulas of a proof are compared
_SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5)  # values at which a formula may have a case of its own


@dataclass(frozen=True, kw_only=True)
class Search(Procedure):
    """The kind *identity / deterministic*: a statement about every input of a domain.

    Attributes
    ----------
    violation : ``point -> float``, positive exactly where the statement fails.  ``unit`` names its
        unit (e.g. "log of the ratio to the bound").
    recheck : the same in mpmath, so that rounding is not mistaken for refutation.  Without it a
        search says that its candidates were evaluated in double precision only.
    tolerance : violations up to here are taken for rounding, by default 0 with ``recheck`` and 1e-9
        without it.
    certify : ``counterexample -> `` a certificate that the statement fails, or `NotProved`.
    sides : ``point -> (observed, bound)`` for the witness.
    compared : the same for the comparison with a proof's formulas, with the worse limit of a
        left-hand side that is known between limits only.  By default ``sides``.
    proposition : the statement over its whole domain, where both sides are formulas.
    instances : the statement for each size up to ``up_to``, where only these are formulas.
    symbols : ``point -> `` the statement's symbols there, where they are not the coordinates.
    conditions : whether a point meets each condition of the statement, by the condition's name.
    proof_is_enough : whether the check of a certificate takes the place of the search.
    first : stop at the first counterexample, which says that the statement fails and no more.
    """

    statistical: ClassVar[bool] = False

    name: str
    violation: Callable[[Point], float]
    domain: Domain | Ranges
    budget: int
    sides: Callable[[Point], tuple[float, float]]
    unit: str
    compared: Callable[[Point], tuple[float, float]] | None = None
    recheck: Callable[[Point], Any] | None = None
    tolerance: float | None = None
    certify: Callable[[Point], Certificate] | None = None
    proposition: Proposition | None = None
    instances: tuple[Proposition, ...] = ()
    up_to: str = ""
    constraints: Callable[[Point], bool] | None = None
    symbols: Callable[[Point], Mapping[str, Any]] = lambda point: point
    conditions: Mapping[str, Callable[[Point], bool]] = field(default_factory=dict)
    proof_is_enough: bool = False
    first: bool = False
    seed: int = 0
    constants: Mapping[str, float] = field(default_factory=dict)
    present: Callable[[SearchResult], Presentation] = lambda _result: Presentation()

    def check(self) -> None:
        """Nothing is checked before the search, because the domain belongs to the statement."""

    def override(self, values: Mapping[str, Any]) -> Self:
        """The same search with some parameters held fixed."""
        domain = as_domain(self.domain)
        if unknown := sorted(set(values) - set(domain.names())):
            raise unknown_parameter(self.name, unknown[0], domain.names())
        return replace(self, domain=domain.fix(values))

    def describe(self) -> str:
        """Domain and budget."""
        chosen = ", ".join(f"${_letters(k)}={v:.4g}$" for k, v in self.constants.items())
        return (
            (f"Constants exhibited before the search: {chosen}. " if chosen else "")
            + f"{self.budget} evaluations over {as_domain(self.domain).describe()}: corners and "
            "points that fill the domain, an optimiser over the whole domain and in each part, and "
            "Hypothesis with targets where the domain is a box. Candidates are "
            + ("evaluated in double precision only" if self.recheck is None else RECHECKED)
            + " and simplified."
        )

    def fingerprint(self) -> Any:
        """The violation at random points inside the constraints."""
        return list(self.violations())

    def violations(self) -> Iterator[float]:
        """The entries of the fingerprint, each computed when it is asked for."""
        points = as_domain(self.domain).sample(np.random.default_rng(0), 8 * _POINTS)
        inside = islice(filter(self.is_inside, points), _POINTS)
        return map(self.violation, inside)

    def is_inside(self, point: Point) -> bool:
        """Whether a point meets the constraints."""
        return self.constraints is None or self.constraints(point)

    def searched(self) -> Domain:
        """The domain with the ranges of its coordinates."""
        return as_domain(self.domain)

    def fingerprint_at(self, points: Sequence[dict[str, Any]]) -> Any:
        """The violation at the points, at random ones where there are none."""
        return [self.violation(point) for point in points] if points else self.fingerprint()

    def with_budget(self, evaluations: int) -> Self:
        """The same search with so many evaluations at most, for a verdict alone.

        It ends at the first counterexample, which it neither simplifies nor proves, and shows
        nothing beside the verdict.
        """
        return replace(
            self,
            budget=min(self.budget, evaluations),
            first=True,
            certify=None,
            present=lambda _result: NOTHING,
        )

    def repeated(self, factor: int) -> Self:
        """The search from another seed with so many times the budget."""
        return replace(self, budget=factor * self.budget, seed=self.seed + 1)

    def tried_at(self, _store: Trials) -> Iterator[Mapping[str, Any]]:
        """Points that a search visited: the closest to a counterexample, and of every rank."""
        for point in self.visited(_VISITED):
            yield {**point, **self.symbols(point)}

    def never_broken(self) -> list[str]:
        """The conditions that every sampled point of the domain meets.

        A weaker form of these is tried only where the points depend on the condition itself.
        """
        left = dict(self.conditions)
        for point in as_domain(self.domain).sample(np.random.default_rng(0), _SAMPLED):
            left = {name: meets for name, meets in left.items() if meets(point)}
            if not left:
                break
        return list(left)

    def demands(self, _store: Trials, _level: float) -> list[Demand]:
        """A search draws no trials."""
        return []

    def visited(self, n_points: int) -> list[dict[str, Any]]:
        """Points of a search: half are the closest to a counterexample, half are of every rank."""
        seen: list[tuple[float, dict[str, Any]]] = []

        def noted(point: Point) -> float:
            seen.append((float(self.violation(point)), dict(point)))
            return seen[-1][0]

        search_counterexample(
            noted,
            self.domain,
            self.budget,
            self.seed,
            constraints=self.constraints,
            tolerance=self.tolerance,
        )
        found = [(value, point) for value, point in seen if not math.isnan(value)]
        found.sort(key=lambda pair: -pair[0])
        near, rest = found[: n_points // 2], found[n_points // 2 :]
        every = max(1, len(rest) // max(1, n_points // 2))
        return [point for _, point in (*near, *rest[::every])]

    def fails_at(self, points: Sequence[dict[str, Any]]) -> bool:
        """Whether one of the points is a counterexample, re-checked like those of a search."""
        return is_counterexample_among(
            points,
            self.violation,
            constraints=self.constraints,
            recheck=self.recheck,
            tolerance=self.tolerance,
        )

    def decide(self, _store: Trials, level: float) -> Evidence:
        """REFUTED with a simplified counterexample, or SUPPORTED when the search found none."""
        as_domain(self.domain).check()
        proved = self._prove()
        if proved is not None and self.proof_is_enough:
            return self._by_proof(proved, level)
        result = search_counterexample(
            self.violation,
            self.domain,
            budget=self.budget,
            seed=self.seed,
            constraints=self.constraints,
            recheck=self.recheck,
            tolerance=self.tolerance,
            first=self.first,
        )
        witness = None
        if result.found and result.witness is not None:
            observed, bound = self.sides(result.witness)
            exceeded = float(result.rechecked or result.violation or 0.0)
            witness = Witness(
                description=f"{self.unit}: {_amount(self.unit, exceeded, observed, bound)}",
                params={k: _plain(v) for k, v in result.witness.items()},
                observed=observed,
                bound=bound,
            )
        proved = None if result.found else proved
        shown = self.present(result)
        closest = () if result.largest_at is None else tuple(result.largest_at.items())
        return Evidence(
            verdict=Verdict.REFUTED if result.found else Verdict.SUPPORTED,
            proof=None if witness is None else self._proof(witness.params),
            proved=proved,
            summary=("" if proved is None else "proved; ")
            + result.summary
            + self._distance(result),
            level=level,
            digits=None if self.recheck is None else DIGITS,
            n_trials=result.n_evaluations,
            tables=(
                EvidenceTable(
                    title="Search",
                    columns=("method", "evaluations"),
                    rows=[
                        *result.by_method.items(),
                        ("outside the assumptions", result.n_outside),
                        ("undefined", result.n_undefined),
                        ("taken back as rounding", result.n_rounding),
                    ],
                    note=f"largest violation ({self.unit}): {result.largest:.4g} at "
                    + ", ".join(f"{k}={_short(v)}" for k, v in closest),
                ),
                *self._by_part(result),
                *shown.tables,
            ),
            figures=shown.figures,
            sharpness=shown.sharpness,
            notes=(
                *shown.notes,
                *_describe_proof(proved),
                *([] if result.found or self.first else self._never()),
            ),
            witness=witness,
        )

    def _never(self) -> Iterator[str]:
        """A sentence on the conditions that no point of the domain breaks."""
        if names := self.never_broken():
            yield (
                f"None of {_SAMPLED} points of the domain breaks these conditions: "
                f"{', '.join(names)}. So a weaker one is tried only where the points are placed at "
                "its edge."
            )

    def _by_proof(self, proved: Mapping[str, Any], level: float) -> Evidence:
        """SUPPORTED by a certificate alone, after its formulas were compared at some points."""
        shown = self.present(SearchResult.none())
        return Evidence(
            verdict=Verdict.SUPPORTED,
            proved=proved,
            summary="proved; the certificate was checked instead of a search",
            n_trials=0,
            level=level,
            figures=shown.figures,
            tables=tuple(shown.tables),
            sharpness=shown.sharpness,
            notes=(*shown.notes, *_describe_proof(proved), *self._never()),
        )

    def _prove(self) -> dict[str, Any] | None:
        """The statement over its whole domain with its certificate, where there is one.

        The statement must be that of the search: at points of the search its formulas are compared
        with the sides that the search computes.
        """
        found = [
            self._proved(each)
            for each in (self.instances if self.proposition is None else [self.proposition])
        ]
        if not found or None in found or not self._is_of_some_size():
            return None
        first, *others = (each for each in found if each is not None)
        if not self.instances:
            return first
        return {**first, "up_to": self.up_to, "others": others}

    def _is_of_some_size(self) -> bool:
        """Whether one of the sizes is that of a point, where the statement is proved size by size.

        Large sizes are rare among the points.
        """
        return not self.instances or any(
            each.at(p, self.symbols(p)) is not None for p in self._inside for each in self.instances
        )

    @cached_property
    def _inside(self) -> list[Point]:
        """Points that meet the constraints, at which the formulas of proofs are compared."""
        points = as_domain(self.domain).sample(np.random.default_rng(1), _SAMPLED)
        return list(filter(self.is_inside, points))

    def _proved(self, proposition: Proposition) -> dict[str, Any] | None:
        """A proposition's certificate, after its formulas were compared at some points."""
        try:
            proved = stored(proposition)
        except InvalidParameter:  # an operation that the checker does not know, such as pi
            return None
        return proved if proved is not None and self._is_of_all(proposition) else None

    def _is_of_all(self, proposition: Proposition) -> bool:
        """Whether a proposition and the search agree at the points that are looked at.

        It is false where no point meets the assumptions, where the proposition is of fewer points,
        such as those of a narrower condition, or of none of them, and where a side has no value at
        one of them: the proof is of terms that were simplified.
        """
        inside = self._inside
        extreme = self._extremes(proposition, inside[:1])
        known = inside or extreme or list(islice(filter(self.is_inside, self._first()), 1))
        looked = (*inside, *extreme)
        if any(proposition.is_narrower(p, self.symbols(p)) for p in looked):
            return False
        try:
            n_compared = self.compare(proposition, known[:_POINTS])
            others = (self.compare(proposition, [point]) for point in known[_POINTS:])
            if n_compared == 0 and not self.instances and not any(others):
                return False
            for point in extreme:
                with suppress(ArithmeticError):
                    self.compare(proposition, [point])
        except InvalidParameter:
            if proposition.reduction is None:
                raise
            return False  # the statement is no longer the one that was reduced
        return all(self._says(proposition, point) for point in (*known[:_POINTS], *extreme))

    def _says(self, proposition: Proposition, point: Point) -> bool:
        """Whether a proposition of formulas is of a point, at which the search has both sides."""
        if proposition.reduction is not None or proposition.arrays is not None:
            return True
        own = {**point, **self.symbols(point)}
        return self._has_sides(point) and not proposition.leaves_out(own)

    def _has_sides(self, point: Point) -> bool:
        """Whether both sides have a value at a point, in floats or with many digits."""
        for value in (self.violation, self.recheck):
            with np.errstate(all="ignore"), suppress(ArithmeticError, ValueError, TypeError):
                if value is not None and not math.isnan(value(point)):
                    return True
        return False

    def _extremes(self, proposition: Proposition, start: Sequence[Point]) -> list[Point]:
        """Points inside at ends of ranges, at small whole numbers, and with equal coordinates."""
        domain = as_domain(self.domain)
        formulas = proposition.reduction is None and proposition.arrays is None
        if not (formulas and isinstance(domain, Box)):
            return []
        found = [*domain.corners(np.random.default_rng(2), _CORNERS)]
        found += [domain.nearest(dict.fromkeys(domain.ranges, value)) for value in _SIMPLE]
        found += [
            domain.nearest({**point, name: value})
            for point in start
            for name in domain.ranges
            for value in _SIMPLE
        ]
        return [point for point in found if self._is_surely_inside(point)]

    def _is_surely_inside(self, point: Point) -> bool:
        """Whether a point meets the constraints, which are defined there."""
        try:
            return self.is_inside(point)
        except (ArithmeticError, ValueError):
            return False

    def is_possible(self) -> bool:
        """Whether the first points that a search tries hold one that meets the constraints."""
        return any(map(self.is_inside, self._first()))

    def _first(self) -> Iterator[Point]:
        """The points that a search tries first."""
        domain, rng = as_domain(self.domain), np.random.default_rng(self.seed)
        yield from domain.corners(rng, self.budget)
        yield from domain.sample(rng, self.budget)

    def compare(self, proposition: Proposition, points: Sequence[Point]) -> int:
        """Refuse a proposition whose sides are not those of the search, or no worse ones.

        The quantities of a reduction must lie in its ranges and meet what it takes as given.

        Returns
        -------
        The number of points of which the proposition speaks.
        """
        n_compared = 0
        for point in points:
            values = proposition.at(point, self.symbols(point))
            if values is None:
                continue
            with np.errstate(all="ignore"):
                left, right = proposition.sides(values)
                own = None if proposition.reduction is None else proposition.reduction.computed
                observed, bound = map(float, (own or self.compared or self.sides)(point))
                missed = proposition.missed(values)
            if missed:
                raise InvalidParameter(f"{self.name}: in the proof's reduction {missed}")
            n_compared += 1
            if math.isfinite(left) and not proposition.covers((left, right), (observed, bound)):
                raise InvalidParameter(
                    f"{self.name}: the formulas of its proof are {left:.6g} and {right:.6g} where "
                    f"the search computes {observed:.6g} and {bound:.6g}; make them agree"
                )
        return n_compared

    def _distance(self, result: SearchResult) -> str:
        """How far the closest approach stays from the bound, where it is never near it."""
        if result.found or result.largest_at is None:
            return ""
        with np.errstate(all="ignore"):
            observed, bound = map(float, self.sides(result.largest_at))
        small, large = sorted((abs(observed), abs(bound)))
        if not (math.isfinite(large) and 0 < FAR * small <= large):
            return ""
        return f"; never closer than 1/{large / small:.3g} of the bound"

    def _proof(self, point: Point) -> dict[str, Any] | None:
        """The certificate of a counterexample as plain data, None where nothing is proved."""
        return proof(None if self.certify is None else partial(self.certify, point))

    def _by_part(self, result: SearchResult) -> tuple[EvidenceTable, ...]:
        """The largest violation in each part, so that one maximum does not hide the others."""
        if result.found or not result.by_part:
            return ()
        return (
            EvidenceTable(
                title="Closest approach in each part of the domain",
                columns=("part", f"largest violation ({self.unit})"),
                rows=list(result.by_part.items()),
                note="a negative value is the margin by which the statement holds in that part",
            ),
        )


def _describe_proof(proved: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The domain of a proof and the size of its certificate."""
    if proved is None:
        return ()
    given = domain_of(proved["statement"])
    narrower = ", ".join(formula_of(each) for each in proved["narrowed"])
    if proved.get("up_to"):
        made = [proved, *proved["others"]]
        n_steps = sum(1 for each in made for _ in steps(each["certificate"]))
        return (
            f"Proved for all entries of the sizes {proved['up_to']}, by {len(made)} certificates "
            f"of {n_steps} steps in all that a checker of its own has verified. Larger sizes are "
            "searched, not proved.",
            f"Outside the certificates: {proved['by']}",
        )
    return (
        f"Proved at all values with {given}, by a certificate that a checker of its own has "
        "verified.",
        story(proved["certificate"]),
        *([f"The proof needs {narrower}, which the statement does not ask for."] * bool(narrower)),
        *([f"Outside the certificate: {proved['by']}"] * bool(proved["by"])),
    )


def _amount(unit: str, exceeded: float, observed: float, bound: float) -> str:
    """A violation in its unit.  A ratio of sides that are not both positive has no logarithm.

    >>> _amount(LOG_RATIO.unit, 990.0, 1.0, -1e-5)
    'none, because they are not both positive'
    """
    if unit == LOG_RATIO.unit and not observed > 0 < bound:
        return "none, because they are not both positive"
    return f"{exceeded:.6g}"


def _letters(name: str) -> str:
    r"""LaTeX of a constant's name: ``C_Delta`` as C with the index Delta, not with a word.

    Examples
    --------
    >>> _letters("C_Delta"), _letters("c_1"), _letters("C")
    ('C_{\\Delta}', 'c_1', 'C')
    """
    return latex(sp.Symbol(name)) if len(name.partition("_")[2]) > 1 else name


def _plain(value: Any) -> Any:
    """A structured input as nested lists that can be stored.  Other values are unchanged."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=3, threshold=12, separator=", ")
        return " ".join(str(text).split())
    return f"{value:.4g}" if isinstance(value, float) else str(value)
