"""Norms are right wherever floats are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trials.norms import length, row_lengths


@pytest.mark.parametrize(
    "scale", [1e-320, 1e-170, 1e-160, 1e-155, 1e-140, 1.0, 1e140, 1e170, 1e307]
)
def test_lengths_are_those_of_the_standard_library(scale):
    rows = scale * np.random.default_rng(0).standard_normal((4, 7))
    found = np.empty(4)
    row_lengths(rows, found)
    # twice a unit in the last place, and the spacing of denormal numbers
    np.testing.assert_allclose(found, [math.hypot(*row) for row in rows], rtol=1e-15, atol=1e-323)


def test_zeros_infinity_and_nan_are_kept():
    assert length(np.zeros(3)) == 0.0
    assert length(np.array([1.0, -np.inf])) == np.inf
    assert math.isnan(length(np.array([1.0, np.nan])))
