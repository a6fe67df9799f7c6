"""The checks of ``kmeans``."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from trials.checks import FloatArray
from trials.clustering.kmeans import lloyd
from verify.testing.arrays import Border
from verify.testing.case import Case
from verify.testing.check import (
    LEVEL,
    Clustered,
    Implementation,
    Scope,
    Subject,
    Violation,
    differential_check,
    law_check,
    property_check,
    read_clustered,
)
from verify.testing.protocols import KMeans
from verify.testing.strategies import point_sets
from verify.testing.subjects import laws, rounding
from verify.testing.subjects.points import (
    frames,
    mean_rounding,
    moved,
    moved_back,
    require_nearest,
    squared_distances,
)


@st.composite
def _starts(draw: st.DrawFn, scope: Scope) -> Case:
    points = draw(point_sets(max_m=9, simple=scope.simple))
    k = draw(st.integers(1, min(4, len(points))))
    chosen = draw(st.permutations(range(len(points))))[:k]
    return {"points": points, "centres": points[chosen]}


@st.composite
def _empty_starts(draw: st.DrawFn, scope: Scope) -> Case:
    """Starts where one centre is so far away that no point is near it."""
    case: Case = draw(_starts(scope))
    if len(case["centres"]) == len(case["points"]):
        return case
    far = np.full(
        (1, case["points"].shape[1]), 2.0 ** np.ceil(np.log2(np.abs(case["points"]).max() * 8 + 1))
    )
    return {**case, "centres": np.concatenate([case["centres"], far])}


@st.composite
def _start_frames(draw: st.DrawFn, scope: Scope) -> Case:
    case = draw(_starts(scope))
    names = np.array(draw(st.permutations(range(len(case["centres"])))), dtype=np.int64)
    return {**case, **draw(frames(case["points"])), "names": names}


def _inertia(points: FloatArray, centres: FloatArray) -> float:
    return float(((points[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum())


def _stationary(call: Implementation, case: Case) -> None:
    points, got = case["points"], call(case)
    require_nearest(got.labels, points, got.models, call.unit)
    allowed = mean_rounding(points, call.unit) + call.accuracy * float(np.abs(points).max())
    for j, centre in enumerate(got.models):
        members = points[got.labels == j]
        if len(members):
            gap = float(np.linalg.norm(centre - members.mean(axis=0)))
            if gap > allowed:
                raise Violation(
                    f"centre {j} is {centre.tolist()}, but the mean of its points is "
                    f"{members.mean(axis=0).tolist()}. They are {gap:.3g} apart, and rounding "
                    f"explains {allowed:.2g}"
                )
        elif not _is_row(centre, np.concatenate([points, case["centres"]]), allowed):
            raise Violation(
                f"cluster {j} is empty and its centre is {centre.tolist()}: it may keep its centre "
                "or take a point"
            )
    before, after = _inertia(points, case["centres"]), _inertia(points, got.models)
    slack = 8.0 * len(points) * allowed * (np.sqrt(before) + allowed)
    if after > before + slack:
        raise Violation(
            f"the sum of squared distances is {after:.6g}, but at the start {before:.6g}"
        )


def _is_row(vector: FloatArray, rows: FloatArray, allowed: float) -> bool:
    return bool((np.linalg.norm(rows - vector, axis=1) <= allowed).any())


def lloyd_path(points: FloatArray, centres: FloatArray, unit: float) -> Clustered | None:
    """Lloyd's iteration in plain NumPy.

    None where rounding decides about a label, or where a cluster is empty.
    """
    current, labels = centres, np.full(len(points), -1)
    for _ in range(100):
        values, bounds = squared_distances(points, current, unit)
        moved = mean_rounding(points, unit)
        bounds = bounds + 4.0 * moved * (np.sqrt(values) + moved)
        allowed = rounding.admissible(values, bounds)
        chosen = allowed.argmax(axis=1)
        if (allowed.sum(axis=1) > 1).any() or len(np.unique(chosen)) < len(centres):
            return None
        if np.array_equal(chosen, labels):
            return Clustered(current, labels)
        labels = chosen
        current = np.array([points[labels == j].mean(axis=0) for j in range(len(centres))])
    return None


def _lloyd(call: Implementation, case: Case) -> None:
    points, centres = case["points"], case["centres"]
    got, path = call(case), lloyd_path(points, centres, call.unit)
    if path is None:
        return
    fit = lloyd(points[None], centres[None])
    allowed = mean_rounding(points, call.unit) + call.accuracy * float(np.abs(points).max())
    gap = np.linalg.norm(got.models - fit.centers[0], axis=1).max()
    if not np.array_equal(got.labels, fit.labels[0]) or gap > allowed:
        raise Violation(
            f"labels {got.labels.tolist()} and centres {got.models.tolist()}; our kernel has "
            f"{fit.labels[0].tolist()} and {fit.centers[0].tolist()}"
        )


def _kmeans_again(call: Implementation, case: Case) -> None:
    """From its own result an implementation does not move."""
    first = call(case)
    if lloyd_path(case["points"], first.models, call.unit) is None:
        return
    second = call({**case, "centres": first.models})
    allowed = 2.0 * mean_rounding(case["points"], call.unit)
    allowed += call.accuracy * float(np.abs(case["points"]).max())
    gap = float(np.linalg.norm(second.models - first.models, axis=1).max())
    if not np.array_equal(first.labels, second.labels) or gap > allowed:
        raise Violation(
            f"from its own result {first.models.tolist()} it moves to {second.models.tolist()}"
        )


def _kmeans_moved(call: Implementation, case: Case) -> None:
    points, centres = case["points"], case["centres"]
    changed = call.border.rounded(
        {
            "points": moved(points, case)[case["order"]],
            "centres": moved(centres, case)[case["names"]],
        }
    )
    base, image = call(case), call(changed)
    here = lloyd_path(points, centres, call.unit)
    there = lloyd_path(changed["points"], changed["centres"], call.unit)
    if here is None or there is None:
        return
    mapped = np.empty_like(base.labels)
    mapped[case["order"]] = case["names"][image.labels]
    models = np.empty_like(base.models)
    models[case["names"]] = moved_back(image.models, case)
    shift = float(np.linalg.norm(case["move"])) / abs(case["unit"])
    allowed = 4.0 * mean_rounding(points, call.unit, shift)
    allowed += 2.0 * call.accuracy * float(np.abs(points).max())
    gap = float(np.linalg.norm(models - base.models, axis=1).max())
    if not np.array_equal(mapped, base.labels) or gap > allowed:
        raise Violation(
            f"labels {base.labels.tolist()} and centres {base.models.tolist()}; after a "
            f"rotation, a shift, a change of the unit and new orders {mapped.tolist()} "
            f"and {models.tolist()}"
        )


def _kmeans_law(call: Implementation, case: Case) -> None:
    """Two groups far apart: the centres are normal, and the squares chi-square distributed."""
    rng, m = np.random.default_rng(case["data_seed"]), 12
    truth = np.arange(m) % 2
    groups = np.array([[50.0, 0.0], [-50.0, 0.0]])
    centres, squares = [], []
    for _ in range(100):
        points = groups[truth] + rng.standard_normal((m, 2))
        got = call(call.border.rounded({"points": points, "centres": groups}))
        sizes = np.bincount(truth)
        gaps = (got.models - groups) * np.sqrt(sizes)[:, None]
        centres.extend(stats.chi2.cdf((gaps**2).sum(axis=1), 2))
        rest = ((points - got.models[got.labels]) ** 2).sum()
        squares.append(stats.chi2.cdf(rest, 2 * (m - 2)))
    laws.uniform(np.array(centres), LEVEL / 2, "the centres of separated groups have another law")
    laws.uniform(np.array(squares), LEVEL / 2, "the squares in separated groups have another law")


def _read_kmeans(value: Any, arguments: Case, border: Border) -> Clustered:
    shape = arguments["centres"].shape
    return read_clustered(value, shape, len(arguments["points"]), border, "centres")


_POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 2.0], [9.0, 2.0]])

SUBJECTS = (
    Subject(
        name="kmeans",
        protocol=KMeans,
        read=_read_kmeans,
        example={"points": _POINTS, "centres": _POINTS[[0, 3]]},
        checks=(
            property_check(
                "stationary",
                "Labels are nearest centres, centres are means, and the sum of squares falls.",
                _starts,
                _stationary,
            ),
            property_check(
                "empty", "The same holds where a cluster becomes empty.", _empty_starts, _stationary
            ),
            differential_check(
                "kernel",
                "Where no cluster is empty and no label a tie, the result is our kernel's.",
                _starts,
                _lloyd,
            ),
            property_check(
                "frame",
                "Rotation, shift, unit and orders change the result accordingly.",
                _start_frames,
                _kmeans_moved,
            ),
            property_check(
                "again", "From its own result the iteration does not move.", _starts, _kmeans_again
            ),
            law_check(
                "In separated normal groups centres and squares have their exact laws.", _kmeans_law
            ),
        ),
    ),
)
