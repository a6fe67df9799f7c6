"""Records of the claims: their documents, cells and decisions on a few fixed trials or points.

A claim that samples decides on trials that are its experiment's own, four of each cell, repeated
with known factors until a block is full.  Where they take long, they are recorded trials of other
cells.  A search is not run, because Hypothesis draws from
the constants that it finds in the program.  Its violation, its sides and its high-precision check
are evaluated at a few fixed points of its domain.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import time
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np

from tests.records import experiments
from tests.records.experiments import rows_of
from tests.records.files import read
from tests.records.values import NOISE, ZERO, number, plain, told
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import RunStore, Table
from verify.claim import Claim
from verify.decisions.domain import Point, as_domain
from verify.decisions.search import SearchResult
from verify.evidence import Verdict
from verify.mutation.fingerprint import cells_of
from verify.papers import catalogue, collect
from verify.procedures.base import Profile
from verify.procedures.interface import Procedure
from verify.procedures.search import Search
from verify.proofs.certificate import proof

KIND = "claims"
#: Fewer trials and evaluations than any profile has.
FEW = Profile(name="quick", max_trials=16, searches=24, seconds=0.02)
N_DRAWN = 4
#: Points of a search that are drawn, and those of them that are kept.
N_POINTS, N_INSIDE, N_CORNERS = 64, 6, 2
#: Decimal digits of a re-check.
DIGITS = 30
#: CPU seconds of a claim.
LONGEST = 1.5
#: Declared seconds of a trial above which none is drawn.
DEAR = 0.03
LEVEL = 0.01
#: Rounds in which a procedure may ask for more trials.
MOST_ROUNDS = 12


@cache
def papers() -> Mapping[str, Claim]:
    """The claims that are shipped."""
    return dict(catalogue())


def names() -> list[str]:
    """The ids of the claims."""
    return list(papers())


def claim_named(name: str, module: str) -> Claim:
    """A claim of a module, found without loading the other modules where that is possible."""
    with contextlib.suppress(ModuleNotFoundError):
        for claim in collect(importlib.import_module(module)):
            if claim.id == name:
                return claim
    return papers()[name]


#: Claim -> its record, and what it says and decides now.
_told: dict[str, tuple[Mapping[str, Any], dict[str, Any]]] = {}


def again(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """What the claim says and decides now, with the recorded settings.

    It is kept, because the record of the phrases asks many claims again.
    """
    if name not in _told or _told[name][0] != recorded:
        claim = claim_named(name, recorded.get("module", "verify.papers"))
        _told[name] = recorded, told_by(claim, recorded)
    return _told[name][1]


def forget() -> None:
    """Ask every claim anew."""
    _told.clear()


def told_by(claim: Claim, recorded: Mapping[str, Any], dearest: float = math.inf) -> dict[str, Any]:
    """What a claim says and decides, with the recorded settings."""
    procedure = claim.build(FEW)
    settings, document = recorded["settings"], claim.document(procedure)
    found = {
        "module": claim.builder.__module__,
        "settings": settings,
        "document": said(document),
        "overridden": overridden(procedure),
    }
    if settings["trials"] == "none":
        return found | {"cells": plain(list(cells_of(procedure)))}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if isinstance(procedure, Search):
            return found | searched(procedure, settings)
        return found | {
            "evidence": decided(procedure, Drawn(settings["trials"] == "recorded", dearest))
        }


def fresh(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with settings that keep it cheap: the recorded ones, where there are any."""
    if recorded:
        return again(name, recorded)
    claim = papers()[name]
    is_search = isinstance(claim.build(FEW), Search)
    sizes = [{"trials": "points", "points": n} for n in (N_INSIDE, 2, 1)]
    kinds = [{"trials": "drawn"}, {"trials": "recorded"}]
    for settings in sizes if is_search else kinds:
        if is_search and (witness := witness_of(claim)):
            settings["witness"] = witness
        begin = time.process_time()
        try:
            found = told_by(claim, {"settings": settings}, DEAR)
        except TooDear:
            continue
        if time.process_time() - begin > LONGEST:  # something may have been compiled
            begin = time.process_time()
            found = told_by(claim, {"settings": settings})
        if time.process_time() - begin <= LONGEST:
            return found
    return told_by(claim, {"settings": {"trials": "none"}})


def said(document: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a claim's document that are made from numbers or formulas."""
    return {
        **{k: plain(document[k]) for k in ("bound_latex", "failure_latex", "procedure")},
        "assumptions": [
            plain({k: a[k] for k in ("latex", "note")}) for a in document["assumptions"]
        ],
        "constants": plain([[c["low"], c["high"], c["generous"]] for c in document["constants"]]),
        "expected": document["expected"],
    }


def overridden(procedure: Procedure) -> dict[str, Any]:
    """Parameter -> the number of cells with it held at its first value, or the error."""
    found: dict[str, Any] = {}
    for parameter, value in (cells_of(procedure) or ({},))[0].items():
        try:
            found[parameter] = len(cells_of(procedure.override({parameter: value})))
        except ValueError as error:
            found[parameter] = told(error)
    return found


# -- claims that sample ----------------------------------------------------------------------------


class TooDear(RuntimeError):
    """A trial takes too long."""


@dataclass
class Drawn:
    """A store in memory, whose trials are a few of each cell, repeated.

    Where they are recorded, they are those of some cell of the experiment's record.
    """

    are_recorded: bool
    dearest: float = math.inf
    held: dict[tuple[str, str], int] = field(default_factory=dict)
    rows: dict[tuple[str, str], np.ndarray] = field(default_factory=dict)

    def blocks(self, of: Experiment, params: Params) -> set[int]:
        """The numbers of the blocks that it holds."""
        return set(range(self.held.get(key(of, params), 0)))

    def add(self, of: Experiment, params: Params, n_blocks: int) -> None:
        """Hold so many blocks."""
        full = of.check(params)
        self.held[key(of, full)] = max(n_blocks, self.held.get(key(of, full), 0))

    def table(self, of: Experiment, params: Params, n_blocks: int | None = None) -> Table:
        """The trials of a cell's first blocks."""
        n_blocks = self.held[key(of, params)] if n_blocks is None else n_blocks
        if key(of, params) not in self.rows and self.are_recorded:
            self.rows[key(of, params)] = recorded_rows(of, params)
        if key(of, params) not in self.rows:
            if of.cost is not None and of.cost(of.check(params)) > self.dearest:
                raise TooDear(of.name)
            self.rows[key(of, params)] = rows_of(of, params, N_DRAWN)
        values = repeated(self.rows[key(of, params)], n_blocks * of.block_size)
        failed = ~np.isfinite(values).all(axis=1)
        reasons = tuple((int(i), "diverged") for i in np.flatnonzero(failed))
        return Table(columns=of.columns, values=values, failed=failed, reasons=reasons)


def key(of: Experiment, params: Params) -> tuple[str, str]:
    """What names a cell."""
    return of.name, repr(sorted(of.check(params).items()))


def recorded_rows(of: Experiment, params: Params) -> np.ndarray:
    """The trials of one of the recorded cells of an experiment."""
    cells = read(experiments.KIND, of.name)
    chosen = list(cells.values())[zlib.crc32(repr(key(of, params)).encode()) % len(cells)]
    columns = [[float(value) for value in chosen["trials"][name]] for name in of.columns]
    return np.array(columns).T


def repeated(rows: np.ndarray, n_trials: int) -> np.ndarray:
    """The rows again and again, whole numbers as they are and others a little smaller."""
    values = np.resize(rows, (n_trials, rows.shape[1]))
    whole = np.all(~np.isfinite(rows) | (rows == np.round(rows)), axis=0)
    place = np.arange(values.size).reshape(values.shape)
    return np.where(whole, values, values * (0.95 + 0.05 * np.sin(1.7 * place)))


def decided(procedure: Procedure, store: Drawn) -> Any:
    """The evidence of a procedure."""
    as_store: RunStore = store  # type: ignore[assignment]
    try:
        for _ in range(MOST_ROUNDS):
            demands = procedure.demands(as_store, LEVEL)
            for demand in demands:
                store.add(demand.experiment, demand.params, demand.n_blocks)
            if not demands:
                break
        found = procedure.decide(as_store, LEVEL).as_dict()
        found.pop("apart", None)  # as in `tests.records.values.plain`
        return plain(found)
    except (ValueError, ArithmeticError) as error:
        return told(error)


# -- searches --------------------------------------------------------------------------------------


def searched(search: Search, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a search evaluates, at fixed points and at its counterexample."""
    domain, rng = as_domain(search.domain), np.random.default_rng(5)
    drawn = list(domain.sample(rng, N_POINTS))
    n_inside = sum(is_inside(search, point) for point in drawn)
    corners = [point for point in domain.corners(rng, 2 * N_CORNERS) if is_inside(search, point)]
    points = [point for point in drawn if is_inside(search, point)][: settings["points"]]
    points += corners[:N_CORNERS] if settings["points"] == N_INSIDE else []
    values = [evaluated(search, point) for point in points]
    found = {
        "drawn": len(drawn),
        "inside": n_inside,
        "points": plain(values),
        "parts": plain(" | ".join(domain.parts())),
        "presented": presented(search, points, values),
    }
    if "witness" in settings:
        point = restored(settings["witness"])
        found["witness"] = evaluated(search, point)
        if search.certify is not None:
            found["proof"] = plain(proof(partial(search.certify, settings["witness"])))
    return found


def is_inside(search: Search, point: Point) -> bool:
    """Whether a point meets the constraints."""
    return search.constraints is None or bool(search.constraints(point))


def evaluated(search: Search, point: Point) -> dict[str, Any]:
    """The point, the violation there, both sides, and the violation in high precision.

    A violation that is small beside the sides is rounding, and is kept as zero, as a side that is
    next to nothing.
    """
    try:
        sides = tuple(map(float, search.sides(point)))
        violation = float(search.violation(point))
    except (ValueError, ArithmeticError) as error:
        return {"point": plain(dict(point)), "error": told(error)}
    size = max(1.0, *(abs(side) for side in sides if math.isfinite(side)), 1.0)
    sides = tuple(0.0 if abs(side) < ZERO else side for side in sides)
    found = {"point": plain(dict(point)), "sides": plain(list(sides))}
    found["violation"] = number(violation if not abs(violation) < NOISE * size else 0.0)
    if search.recheck is not None:
        with mpmath.workdps(DIGITS):
            exact = float(search.recheck(point))
        found["recheck"] = number(exact if not abs(exact) < NOISE * size else 0.0)
    return found


def presented(search: Search, points: Sequence[Point], values: Sequence[Mapping[str, Any]]) -> Any:
    """What is shown of a search that ended at the last of these points."""
    if not points or "violation" not in values[-1]:
        return None
    largest = float(values[-1]["violation"])
    result = SearchResult(
        found=False, witness=None, violation=None, rechecked=None, largest=largest,
        largest_at=points[-1], n_evaluations=len(points), by_method={"sobol": len(points)},
        by_part={"all": largest}, n_outside=0, n_undefined=0, n_rounding=0,
    )  # fmt: skip
    try:
        return [result.summary, plain(search.present(result))]
    except (ValueError, ArithmeticError) as error:
        return told(error)


def witness_of(claim: Claim) -> dict[str, Any] | None:
    """The counterexample of a refuted claim, found by a search."""
    if claim.expected is not Verdict.REFUTED:
        return None
    evidence = claim.build(Profile(name="quick", max_trials=16, searches=200, seconds=1.0)).decide(
        None,  # type: ignore[arg-type]
        LEVEL,
    )
    return None if evidence.witness is None else dict(evidence.witness.params)


def restored(point: Mapping[str, Any]) -> dict[str, Any]:
    """A stored point with its lists as arrays."""
    return {k: np.asarray(v) if isinstance(v, list) else v for k, v in point.items()}
