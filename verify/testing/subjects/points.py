"""What the checks of clusterings of points share: distances with their rounding, and frames."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from trials.checks import FloatArray, IntArray
from verify.testing.case import Case
from verify.testing.check import Violation
from verify.testing.strategies import reflections, whole
from verify.testing.subjects import rounding


def squared_distances(
    points: FloatArray, centres: FloatArray, unit: float, shift: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """(m, k) squared distances with bounds that also hold for the expansion |a|^2 - 2ac + |c|^2.

    ``shift`` is the length of a translation that was applied to both before.
    """
    gaps = points[:, None] - centres[None]
    size = np.linalg.norm(points, axis=1)[:, None] + np.linalg.norm(centres, axis=1) + 2 * shift
    return (gaps**2).sum(axis=2), 8.0 * (points.shape[1] + 8) * unit * size**2


def require_nearest(
    labels: IntArray, points: FloatArray, centres: FloatArray, unit: float, what: str = "its"
) -> None:
    values, bounds = squared_distances(points, centres, unit)
    allowed = rounding.admissible(values, bounds)
    wrong = np.flatnonzero(~allowed[np.arange(len(labels)), labels])
    if wrong.size:
        i = wrong[0]
        raise Violation(
            f"point {i} has the label {labels[i]}, but {what} squared distances to the centres are "
            f"{values[i].tolist()}, so its label is {values[i].argmin()}"
        )


@st.composite
def frames(draw: st.DrawFn, points: FloatArray) -> Case:
    """A rotation, a shift of the size of whole numbers, and a change of the unit."""
    d = points.shape[1]
    return {
        "turn": draw(reflections(d)),
        "move": draw(whole((d,))),
        "unit": draw(st.sampled_from([1.0, -1.0, 2.0**10, 2.0**-10])),
        "order": np.array(draw(st.permutations(range(len(points)))), dtype=np.int64),
    }


def moved(points: FloatArray, case: Case) -> FloatArray:
    return np.asarray((points @ case["turn"]) * case["unit"] + case["move"])


def moved_back(points: FloatArray, case: Case) -> FloatArray:
    return np.asarray((points - case["move"]) / case["unit"] @ case["turn"].T)


def mean_rounding(points: FloatArray, unit: float, shift: float = 0.0) -> float:
    """What rounding can move a mean of points by."""
    return 8.0 * (len(points) + 8) * unit * (float(np.linalg.norm(points, axis=1).max()) + shift)
