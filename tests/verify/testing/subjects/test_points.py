"""What the checks of points share: the nearest centres that are required, and frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.verify.testing.draws import made_of
from verify.testing import strategies as own
from verify.testing.check import Violation
from verify.testing.subjects import points

POINTS = np.array([[0.0], [2.0], [5.0]])
CENTRES = np.array([[1.0], [4.0], [-1.0]])
UNIT = 2.0**-53


def required(*labels: int) -> None:
    points.require_nearest(np.array(labels), POINTS, CENTRES, UNIT, "our")


def test_a_label_is_that_of_a_nearest_centre_or_is_refused_with_the_distances() -> None:
    required(0, 0, 1)
    required(2, 0, 1)
    for i, label, labels in ((0, 1, (1, 0, 1)), (1, 2, (0, 2, 1)), (2, 0, (0, 0, 0))):
        with pytest.raises(Violation, match=rf"^point {i} has the label {label}, but our squared"):
            required(*labels)
    with pytest.raises(Violation, match=r"are \[16\.0, 1\.0, 36\.0\], so its label is 1$"):
        required(0, 0, 2)
    with pytest.raises(Violation, match=r"^point 1 has"):  # the first of two
        required(0, 1, 0)


def test_a_frame_turns_moves_changes_the_unit_and_the_order() -> None:
    turn, move = np.eye(2), np.array([1.0, 2.0])
    found = made_of(
        points.frames(np.zeros((3, 2))),
        (own.reflections(2), turn),
        (own.whole((2,)), move),
        (st.sampled_from([1.0, -1.0, 1024.0, 1.0 / 1024.0]), -1.0),
        (st.permutations(range(3)), [2, 0, 1]),
    )
    assert (found["turn"] is turn, found["move"] is move, found["unit"]) == (True, True, -1.0)
    assert found["order"].tolist() == [2, 0, 1]
    assert found["order"].dtype == np.int64
