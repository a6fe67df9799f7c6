"""The checks of ``orthogonal_iteration``."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from trials.checks import FloatArray
from trials.mixed_regression.subspaces import orthogonal_iteration
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
    read_reals,
    require_p_value,
)
from verify.testing.protocols import OrthogonalIteration
from verify.testing.strategies import reflections, seeds, whole
from verify.testing.subjects import rounding


@st.composite
def _pairs(draw: st.DrawFn, scope: Scope) -> Case:
    """At least k vectors in more than k dimensions with a start, for 0 to 4 steps."""
    d = draw(st.integers(2, 4))
    k = draw(st.integers(1, d - 1))
    count, n_steps = draw(st.integers(k, 6)), draw(st.sampled_from([1, 2, 3, 4, 0]))
    if scope.simple:
        first, second = draw(whole((count, d))), draw(whole((count, d)))
        return {"first": first, "second": second, "start": np.eye(d)[:, :k], "n_steps": n_steps}
    rng = np.random.default_rng(draw(seeds))
    start = np.linalg.qr(rng.standard_normal((d, k)))[0]
    first = rng.standard_normal((count, d))
    second = first.copy() if draw(st.booleans()) else rng.standard_normal((count, d))
    return {"first": first, "second": second, "start": start, "n_steps": n_steps}


@st.composite
def _turned_pairs(draw: st.DrawFn, scope: Scope) -> Case:
    case = draw(_pairs(scope))
    order = np.array(draw(st.permutations(range(len(case["first"])))), dtype=np.int64)
    d, k = case["start"].shape
    return {**case, "turn": draw(reflections(d)), "mix": draw(reflections(k)), "order": order}


def projector(basis: FloatArray) -> FloatArray:
    """The (d, d) projector on the span of orthonormal columns."""
    return np.asarray(basis @ basis.T)


def subspace_error(case: Case, unit: float) -> float:
    """A bound on the rounding error of the span: each error over the share that its step keeps.

    Infinite where a step loses a direction.
    """
    a, b, basis = case["first"], case["second"], case["start"]
    matrix = a.T @ b / len(a)
    size = float((np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)).sum() / len(a))
    count = 16.0 * (len(a) + 2 * len(basis) + 8) * unit
    error = count
    for _ in range(case["n_steps"]):
        image = matrix @ (matrix.T @ basis)
        kept = np.linalg.svd(image, compute_uv=False)[-1]
        if not kept > 0:
            return float("inf")
        error = (size**2 * count + rounding.length(matrix) ** 2 * error) * 4.0 / kept
        if error > 1e-3:
            return float("inf")
        basis = np.linalg.qr(image)[0]
    return float(error)


def _require_orthonormal(call: Implementation, basis: FloatArray) -> None:
    gap = rounding.length(basis.T @ basis - np.eye(basis.shape[1]))
    allowed = 64.0 * (len(basis) + 8) * call.unit
    if gap > allowed:
        raise Violation(
            f"the columns {basis.tolist()} are not orthonormal: the products of columns are "
            f"{(basis.T @ basis).tolist()}"
        )


def _same_span(
    call: Implementation, case: Case, found: FloatArray, right: FloatArray, what: str
) -> None:
    allowed = 2.0 * subspace_error(case, call.unit) + call.accuracy
    gap = rounding.length(projector(found) - projector(right))
    if gap > allowed:
        raise Violation(
            f"the span of {found.tolist()} is not {what}, the span of {right.tolist()}. The sine "
            f"of the largest angle is {gap:.3g}, and rounding explains {allowed:.2g}"
        )


def _iterates(call: Implementation, case: Case) -> None:
    got = call(case)
    _require_orthonormal(call, got)
    if not np.isfinite(subspace_error(case, call.unit)):
        return
    fit = orthogonal_iteration(
        first=case["first"], second=case["second"],
        weights=np.ones((1, len(case["first"]))),
        start=case["start"], n_iterations=2 * case["n_steps"],
    )  # fmt: skip
    _same_span(call, case, got, fit.bases[0], "that of our kernel")


def _iterates_turned(call: Implementation, case: Case) -> None:
    turn, order = case["turn"], case["order"]
    changed = {
        **case,
        "first": case["first"][order] @ turn,
        "second": case["second"][order] @ turn,
        "start": turn.T @ case["start"] @ case["mix"],
    }
    if not np.isfinite(subspace_error(case, call.unit)):
        return
    found = turn @ call(call.border.rounded(changed))
    _same_span(call, case, found, call(case), "that before a rotation and new orders")


def _iterates_composed(call: Implementation, case: Case) -> None:
    if not case["n_steps"] or not np.isfinite(subspace_error(case, call.unit)):
        return
    one = call({**case, "n_steps": 1})
    rest = call({**case, "start": one, "n_steps": case["n_steps"] - 1})
    _same_span(call, case, call(case), rest, "that of one step and then the others")


def _iterates_scaled(call: Implementation, case: Case) -> None:
    if not np.isfinite(subspace_error(case, call.unit)):
        return
    found = call({**case, "first": case["first"] * 2.0**-30})
    _same_span(call, case, found, call(case), "that for vectors in another unit")


def _rate(call: Implementation, case: Case) -> None:
    """The tangent to the leading direction falls by the squared ratio of the singular values a
    step.

    From a uniform start the angle after the steps has an exact law.
    """
    rng, ratio, n_steps = np.random.default_rng(case["data_seed"]), 0.8, 3
    turns = np.linalg.qr(rng.standard_normal((100, 2, 2)))[0]
    values = []
    for turn in turns:
        angle = rng.uniform(0.0, np.pi)
        problem = {
            "first": turn.T * np.array([[1.0], [ratio]]),
            "second": turn.T.copy(),
            "start": turn @ np.array([[np.cos(angle)], [np.sin(angle)]]),
            "n_steps": n_steps,
        }
        along, across = (turn.T @ call(call.border.rounded(problem)))[:, 0]
        tangent = across / along / ratio ** (2 * n_steps)
        values.append(np.arctan(tangent) / np.pi % 1.0)
    p = stats.kstest(values, "uniform", method="exact").pvalue
    what = "the angle to the leading direction does not fall at its rate"
    require_p_value(float(p), LEVEL, what)


def _read_basis(value: Any, arguments: Case, border: Border) -> FloatArray:
    return read_reals("basis", value, arguments["start"].shape, border)


SUBJECTS = (
    Subject(
        name="orthogonal_iteration",
        protocol=OrthogonalIteration,
        read=_read_basis,
        example={"first": np.eye(2), "second": np.eye(2), "start": np.eye(2)[:, :1], "n_steps": 1},
        checks=(
            differential_check(
                "kernel",
                "The columns are orthonormal, and their span is our kernel's, to rounding.",
                _pairs,
                _iterates,
            ),
            property_check(
                "frame",
                "Rotation of space and basis and the order of pairs change the span accordingly.",
                _turned_pairs,
                _iterates_turned,
            ),
            property_check(
                "composition",
                "One step and then the others give what all steps give.",
                _pairs,
                _iterates_composed,
            ),
            property_check("scale", "The vectors' unit does not matter.", _pairs, _iterates_scaled),
            law_check("From a uniform start the angle falls at its exact rate.", _rate),
        ),
    ),
)
