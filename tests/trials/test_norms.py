"""Norms are right wherever floats are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trials.norms import last_axis_lengths, length, row_lengths


@pytest.mark.parametrize(
    "scale", [1e-320, 1e-170, 1e-160, 1e-155, 1e-140, 1.0, 1e140, 1e170, 1e307]
)
def test_lengths_are_those_of_the_standard_library(scale):
    rows = scale * np.random.default_rng(0).standard_normal((4, 7))
    found = np.empty(4)
    row_lengths(rows, found)
    # twice a unit in the last place, and the spacing of denormal numbers
    np.testing.assert_allclose(found, [math.hypot(*row) for row in rows], rtol=1e-15, atol=1e-323)


@pytest.mark.parametrize("scale", [1e-320, 1e-170, 1e-162, 1e-160, 1e-155, 1e-140, 1.0, 1e140])
def test_lengths_along_the_last_axis_are_those_of_the_standard_library(scale):
    """Small ones beside others and zeros, and squares of which some digits are left, or none."""
    vectors = np.random.default_rng(1).standard_normal((3, 4, 7))
    vectors[::2] *= scale
    vectors[1, 1] = 0.0
    expected = [[math.hypot(*vector) for vector in row] for row in vectors]
    found = last_axis_lengths(vectors)
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-323)
    assert last_axis_lengths(vectors[0, 0]).shape == ()


def test_zeros_infinity_and_nan_are_kept():
    assert length(np.zeros(3)) == 0.0
    assert length(np.array([1.0, -np.inf])) == np.inf
    assert math.isnan(length(np.array([1.0, np.nan])))
