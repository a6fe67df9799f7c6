"""Which labels a check reads: those of a model, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from verify.testing.arrays import Border
from verify.testing.check import Violation, read_labels


def test_labels_of_models_are_read() -> None:
    labels = read_labels(np.array([0, 1, 1]), 3, 2, Border())
    assert labels.dtype == np.int64
    assert labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize("labels", [[-1, 1, 0], [0, 2, 1], [-1, 2, 0], [-1, -1, -1], [2, 2, 2]])
def test_one_label_below_or_above_those_of_models_is_refused(labels: list[int]) -> None:
    with pytest.raises(Violation, match=r"must lie in 0\.\.1"):
        read_labels(np.array(labels), 3, 2, Border())
