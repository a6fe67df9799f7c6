"""The checks of ``assignment``."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from trials.checks import IntArray
from verify.testing.arrays import Border
from verify.testing.case import Case
from verify.testing.check import (
    LEVEL,
    Implementation,
    Scope,
    Subject,
    Violation,
    differential_check,
    law_check,
    property_check,
    read_labels,
    require_p_value,
)
from verify.testing.protocols import Assignment
from verify.testing.strategies import point_sets, whole
from verify.testing.subjects import rounding
from verify.testing.subjects.points import frames, moved, require_nearest, squared_distances


@st.composite
def _assignments(draw: st.DrawFn, scope: Scope) -> Case:
    """Points with centres that are points of the same set, or another set in the same space."""
    points = draw(point_sets(simple=scope.simple))
    k = draw(st.integers(1, 4))
    if scope.simple:
        return {"points": points, "centres": draw(whole((k, points.shape[1])))}
    if draw(st.booleans()):
        rng = np.random.default_rng(draw(st.integers(0, 2**16)))
        return {"points": points, "centres": rng.standard_normal((k, points.shape[1]))}
    chosen = draw(st.lists(st.integers(0, len(points) - 1), min_size=k, max_size=k))
    return {"points": points, "centres": points[chosen]}


@st.composite
def _assignment_frames(draw: st.DrawFn, scope: Scope) -> Case:
    case = draw(_assignments(scope))
    names = np.array(draw(st.permutations(range(len(case["centres"])))), dtype=np.int64)
    return {**case, **draw(frames(case["points"])), "names": names}


@st.composite
def _assignment_ties(draw: st.DrawFn, _scope: Scope) -> Case:
    d = draw(st.integers(1, 2))
    m, k = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    return {"points": draw(whole((m, d))), "centres": draw(whole((k, d)))}


def _check_assigned(call: Implementation, case: Case) -> None:
    require_nearest(call(case), case["points"], case["centres"], call.unit)


def _assigned_ties(call: Implementation, case: Case) -> None:
    labels = call(case)
    exact = ((case["points"][:, None] - case["centres"]) ** 2).sum(axis=2)
    wrong = np.flatnonzero(labels != exact.argmin(axis=1))
    if wrong.size:
        i = wrong[0]
        raise Violation(
            f"point {i} has the label {labels[i]}, but its squared distances are exactly "
            f"{exact[i].tolist()}, so its label is {exact[i].argmin()}, the first of the least"
        )


def _assigned_moved(call: Implementation, case: Case) -> None:
    changed = {
        "points": moved(case["points"], case)[case["order"]],
        "centres": moved(case["centres"], case)[case["names"]],
    }
    base, image = call(case), call(call.border.rounded(changed))
    mapped = np.empty_like(base)
    mapped[case["order"]] = case["names"][image]
    shift = float(np.linalg.norm(case["move"]) / abs(case["unit"]))
    values, bounds = squared_distances(case["points"], case["centres"], call.unit, shift)
    allowed = rounding.admissible(values, bounds)
    wrong = np.flatnonzero((mapped != base) & (allowed.sum(axis=1) == 1))
    if wrong.size:
        i = wrong[0]
        raise Violation(
            f"point {i} has the label {base[i]}, and {mapped[i]} after a rotation, a shift, a "
            "change of the unit and new orders of points and centres"
        )


@st.composite
def _centres_alone(draw: st.DrawFn, _scope: Scope) -> Case:
    k, d = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    cells = draw(
        st.lists(st.tuples(*[st.integers(-4, 4)] * d), min_size=k, max_size=k, unique=True)
    )
    centres = np.array(cells, dtype=float).reshape(k, d)
    return {"points": centres, "centres": centres.copy()}


def _assigned_themselves(call: Implementation, case: Case) -> None:
    labels = call(case)
    if not np.array_equal(labels, np.arange(len(labels))):
        raise Violation(
            f"different centres as points have the labels {labels.tolist()}, not 0, 1, …"
        )


def _assignment_law(call: Implementation, case: Case) -> None:
    """Two centres at distance 2 in noise 1: a point errs with the normal probability of -1."""
    rng, m = np.random.default_rng(case["data_seed"]), 2000
    truth = rng.integers(0, 2, m)
    centres = np.array([[1.0, 0.0], [-1.0, 0.0]])
    points = centres[truth] + rng.standard_normal((m, 2))
    labels = call(call.border.rounded({"points": points, "centres": centres}))
    wrong = int((labels != truth).sum())
    p = stats.binomtest(wrong, m, float(stats.norm.cdf(-1.0))).pvalue
    require_p_value(
        float(p), LEVEL, f"{wrong} of {m} points have a wrong label, 15.87 % are expected"
    )


def _read_assignment(value: Any, arguments: Case, border: Border) -> IntArray:
    return read_labels(value, len(arguments["points"]), len(arguments["centres"]), border)


_POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 2.0], [9.0, 2.0]])

SUBJECTS = (
    Subject(
        name="assignment",
        protocol=Assignment,
        read=_read_assignment,
        example={"points": _POINTS, "centres": _POINTS[[0, 3]]},
        checks=(
            differential_check(
                "nearest",
                "Every label is that of a nearest centre, to rounding.",
                _assignments,
                _check_assigned,
            ),
            differential_check(
                "ties",
                "Of centres at exactly equal distances a point takes the first.",
                _assignment_ties,
                _assigned_ties,
            ),
            property_check(
                "frame",
                "Rotation, shift, unit and orders change no point's centre.",
                _assignment_frames,
                _assigned_moved,
            ),
            property_check(
                "themselves",
                "Different centres are their own nearest ones.",
                _centres_alone,
                _assigned_themselves,
            ),
            law_check("The share of errors in normal noise is the exact one.", _assignment_law),
        ),
    ),
)
