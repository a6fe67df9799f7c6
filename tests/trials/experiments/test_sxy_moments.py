"""Pairs of an anchor: their moments by loops over the same draws, in every unit."""

from __future__ import annotations

import numpy as np
import pytest

from trials.experiments.sxy import moments
from trials.models.federated_data import Law

PARAMS = {"k": 3, "l": 40, "unit": 1.0, "sigma": 0.5, "outside": 0.75,
          "features": "rademacher", "noise": "uniform"}  # fmt: skip


@pytest.mark.parametrize("changed", [{}, {"sigma": 0.0}, {"outside": 0.0}])
def test_the_moments_of_an_anchor_are_in_the_square_of_the_unit(changed: dict[str, float]) -> None:
    """Its model, what lies outside of the subspace and the noise are all in units of Delta."""
    params = PARAMS | changed
    one = moments.draw_pairs(params, np.random.default_rng(1))
    far = moments.draw_pairs(params | {"unit": 8.0}, np.random.default_rng(1))
    for power, small, large in zip((1, 2, 1), one, far, strict=True):
        np.testing.assert_allclose(large, 8.0**power * np.asarray(small), rtol=1e-12)
    assert np.linalg.norm(far[0]) == pytest.approx(8.0)


def test_the_moments_of_an_anchor_are_sums_over_its_rows() -> None:
    rng = np.random.default_rng(2)
    u, matrix, vector = moments.draw_pairs(PARAMS | {"unit": 2.0}, rng)
    rng = np.random.default_rng(2)
    drawn = rng.standard_normal(3)
    np.testing.assert_allclose(u, 2.0 * drawn / np.linalg.norm(drawn))
    features, noise = Law(name="rademacher"), Law(name="uniform")
    x = features.draw(rng, (2, 40, 3))
    across, errors = features.draw(rng, (2, 40)), noise.draw(rng, (2, 40))
    y = x @ u + 1.5 * across + 1.0 * errors
    expected, total = np.zeros((3, 3)), np.zeros(3)
    for i in range(40):
        expected += y[0, i] * y[1, i] * np.outer(x[0, i], x[1, i]) / 40
        total += y[0, i] * x[0, i] + y[1, i] * x[1, i]
    np.testing.assert_allclose(matrix, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(vector, total, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("sigma", "unit"), [(0.0, 1.0), (2.0, 1.0), (2.0, 3.0)])
def test_the_noise_of_a_round_has_the_stated_deviation(sigma, unit):
    """Without errors of the models the residuals of both samples are noise alone."""
    params = {"k": 1, "p": 1.0, "sigma": sigma, "unit": unit, "noise": "gaussian"}
    x, flat = np.ones((2, 5, 3)), np.ones((1, 3))
    found = moments._weigh(np.zeros((1, 3)), flat, x, params, np.random.default_rng(4))
    one, other = np.random.default_rng(4).standard_normal((2, 5))
    np.testing.assert_allclose(found, (sigma * unit) ** 2 * one * other, rtol=1e-12)
