"""The checks of ``convex_clustering``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from trials.checks import FloatArray
from trials.clustering.convex import convex_clustering
from verify.testing.arrays import Border
from verify.testing.case import Case
from verify.testing.check import (
    LEVEL,
    Implementation,
    Judge,
    Scope,
    Subject,
    Violation,
    differential_check,
    law_check,
    property_check,
    read_reals,
)
from verify.testing.protocols import ConvexClustering
from verify.testing.strategies import point_sets
from verify.testing.subjects import laws
from verify.testing.subjects.points import frames, moved, moved_back


def _spread(points: FloatArray) -> float:
    """The largest distance to the mean."""
    return float(np.linalg.norm(points - points.mean(axis=0), axis=1).max())


@st.composite
def _draw_penalised(draw: st.DrawFn, scope: Scope) -> Case:
    """Points with a penalty between nearly none and more than one that fuses all of them."""
    points = draw(point_sets(max_m=6, simple=scope.simple).filter(_spread))
    factor = draw(st.sampled_from([0.5, 0.125, 0.01, 1.0, 2.0]))
    return {"points": points, "penalty": factor * _spread(points) / len(points)}


@st.composite
def _penalised_frames(draw: st.DrawFn, scope: Scope) -> Case:
    case = draw(_draw_penalised(scope))
    return {**case, **draw(frames(case["points"]))}


def convex_objective(points: FloatArray, minimiser: FloatArray, penalty: float) -> float:
    """The objective, from centred points."""
    pairs = np.linalg.norm(minimiser[:, None] - minimiser[None], axis=2).sum() / 2.0
    return float(0.5 * ((points - minimiser) ** 2).sum() + penalty * pairs)


def _gap_allowed(
    call: Implementation, points: FloatArray, penalty: float, shift: float = 0.0
) -> float:
    """The claimed accuracy in units of the squares around the mean, and rounding."""
    m = len(points)
    size = float(np.linalg.norm(points, axis=1).max()) + shift
    squares = 0.5 * float(((points - points.mean(axis=0)) ** 2).sum())
    lengths = penalty * m * m * size
    noise = 64.0 * m * call.unit * size
    rounding = noise * (noise + np.sqrt(2 * squares)) + 64.0 * m * call.unit * lengths
    return float(call.accuracy * squares + rounding)


def _optimal(call: Implementation, case: Case) -> None:
    points, penalty = case["points"], case["penalty"]
    fit, got = convex_clustering(points, penalty), call(case)
    best = fit.primal - fit.gap
    excess = convex_objective(points, got, penalty) - best
    allowed = _gap_allowed(call, points, penalty) + fit.gap
    if excess > allowed:
        raise Violation(
            f"the objective is {best + excess:.9g}, but the optimum is {best:.9g} (certified: "
            f"{fit.certified}); the accuracy allows {allowed:.2g} more. The minimiser is "
            f"{fit.minimiser.tolist()}, and it returned {got.tolist()}"
        )


def _convex_moved(call: Implementation, case: Case) -> None:
    points, penalty, unit = case["points"], case["penalty"], abs(case["unit"])
    changed = {"points": moved(points, case)[case["order"]], "penalty": penalty * unit}
    base, image = call(case), call(call.border.rounded(changed))
    mapped = np.empty_like(base)
    mapped[case["order"]] = moved_back(image, case)
    shift = float(np.linalg.norm(case["move"])) / unit
    allowed = 2.0 * np.sqrt(2.0 * _gap_allowed(call, points, penalty, shift))
    gap = float(np.linalg.norm(mapped - base))
    if gap > allowed:
        raise Violation(
            f"the minimiser is {base.tolist()}, and {mapped.tolist()} after a rotation, a shift, a "
            f"change of the unit and a new order. They are {gap:.3g} apart, and "
            f"{allowed:.2g} is allowed"
        )


def _same_minimiser(penalty_of: Callable[[Case], float], mean: bool) -> Judge:
    def judge(call: Implementation, case: Case) -> None:
        points, penalty = case["points"], penalty_of(case)
        got = call(call.border.rounded({"points": points, "penalty": penalty}))
        right = np.broadcast_to(points.mean(axis=0), points.shape) if mean else points
        allowed = np.sqrt(2.0 * _gap_allowed(call, points, penalty))
        gap = float(np.linalg.norm(got - right))
        if gap > allowed:
            raise Violation(
                f"with the penalty {penalty:g} the minimiser is {right.tolist()}; it returned "
                f"{got.tolist()}"
            )

    return judge


def _fusing(case: Case) -> float:
    """A penalty that fuses all points: each pair's share of the spread."""
    return 4.0 * _spread(case["points"])


def _keeps_mean(call: Implementation, case: Case) -> None:
    points, got = case["points"], call(case)
    allowed = np.sqrt(2.0 * _gap_allowed(call, points, case["penalty"]) / len(points))
    gap = float(np.linalg.norm(got.mean(axis=0) - points.mean(axis=0)))
    if gap > allowed:
        raise Violation(f"the mean of the minimiser is {gap:.3g} away from the mean of the points")


def _convex_law(call: Implementation, case: Case) -> None:
    """Two normal points: their distance shrinks by twice the penalty and is then zero."""
    rng, penalty = np.random.default_rng(case["data_seed"]), 0.7
    values = []
    for _ in range(80):
        points = rng.standard_normal((2, 2))
        got = call(call.border.rounded({"points": points, "penalty": penalty}))
        gap = float(np.linalg.norm(got[0] - got[1]))
        together = 4.0 * np.sqrt(2.0 * _gap_allowed(call, points, penalty))
        atom = float(stats.chi2.cdf((2 * penalty + together) ** 2 / 2.0, 2))
        if gap <= together:
            values.append(rng.uniform(0.0, atom))
        else:
            values.append(float(stats.chi2.cdf((gap + 2 * penalty) ** 2 / 2.0, 2)))
    laws.uniform(np.array(values), LEVEL, "the distance of two fused points has another law")


def _read_minimiser(value: Any, arguments: Case, border: Border) -> FloatArray:
    return read_reals("minimiser", value, arguments["points"].shape, border)


_POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 2.0], [9.0, 2.0]])

SUBJECTS = (
    Subject(
        name="convex_clustering",
        protocol=ConvexClustering,
        read=_read_minimiser,
        example={"points": _POINTS, "penalty": 0.5},
        accuracy=1e-6,
        checks=(
            differential_check(
                "optimum",
                "The objective is within the accuracy of the certified optimum.",
                _draw_penalised,
                _optimal,
            ),
            property_check(
                "frame",
                "Rotation, shift, unit and order change the minimiser accordingly.",
                _penalised_frames,
                _convex_moved,
            ),
            property_check(
                "no-penalty",
                "Without a penalty the minimiser is the points.",
                _draw_penalised,
                _same_minimiser(lambda _case: 0.0, mean=False),
            ),
            property_check(
                "large-penalty",
                "With a large penalty every row is the mean of the points.",
                _draw_penalised,
                _same_minimiser(_fusing, mean=True),
            ),
            property_check(
                "mean", "The minimiser has the mean of the points.", _draw_penalised, _keeps_mean
            ),
            law_check(
                "The distance of two normal points after fusion has its exact law.", _convex_law
            ),
        ),
    ),
)
