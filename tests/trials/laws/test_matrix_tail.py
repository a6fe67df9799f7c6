"""Davidson and Szarek's limits lie above every simulated frequency and fall with the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.laws.matrix_tail import log_gram_tail, log_norm_tail
from trials.laws.noise import gaussian_singular_values
from trials.laws.step_tail import log_gradient_tail


@pytest.mark.parametrize(("n_rows", "n_columns"), [(40, 3), (10, 10), (3, 40), (120, 30)])
def test_simulated_matrices_exceed_the_limits_no_more_often(n_rows: int, n_columns: int) -> None:
    """False-alarm probability below 1e-6 for each comparison (five standard errors)."""
    rng = np.random.default_rng(11)
    largest, smallest = gaussian_singular_values(n_rows, n_columns, rng, 20_000)
    low = np.zeros_like(smallest) if n_rows < n_columns else smallest**2
    deviation = np.maximum(largest**2 - n_rows, n_rows - low)
    for q in (0.9, 0.99, 0.999):
        for values, tail in ((largest, log_norm_tail), (deviation, log_gram_tail)):
            bound = float(np.quantile(values, q))
            limit = math.exp(tail(n_rows, n_columns, bound))
            assert np.mean(values > bound) <= limit + 5 * math.sqrt(limit / values.size)


def test_the_limits_become_small_and_never_exceed_one() -> None:
    assert log_norm_tail(100, 100, 19.0) == 0.0
    assert log_norm_tail(100, 100, 30.0) == -50.0
    assert -2.3 < log_gram_tail(100, 4, 99.0) < -2.1
    assert log_gram_tail(100, 400, 99.0) == 0.0
    assert log_gram_tail(100, 4, -1.0) == 0.0
    assert log_norm_tail(100, 4, 1e300) == log_gram_tail(100, 4, math.inf) == -math.inf
    with pytest.raises(InvalidParameter, match="n_rows=0"):
        log_norm_tail(0, 3, 1.0)
    with pytest.raises(InvalidParameter, match="bound=nan"):
        log_norm_tail(3, 3, math.nan)


@pytest.mark.parametrize(("n", "d", "distance", "sigma"), [(5, 20, 1.0, 0.3), (200, 3, 0.0, 1.0)])
def test_simulated_gradients_exceed_the_limit_no_more_often(
    n: int, d: int, distance: float, sigma: float
) -> None:
    """Drawn data, so that the law itself is tried, within five standard errors."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((4_000, n, d))
    residual = distance * x[..., 0] - sigma * rng.standard_normal((4_000, n))
    norms = 2 / n * np.linalg.norm(np.einsum("tnd,tn->td", x, residual), axis=1)
    for q in (0.5, 0.9, 0.99):
        bound = float(np.quantile(norms, q))
        limit = math.exp(log_gradient_tail(n, d, distance, sigma, bound))
        assert np.mean(norms > bound) <= limit + 5 * math.sqrt(limit / norms.size)
    assert log_gradient_tail(n, d, distance, sigma, 3 * float(norms.max())) < math.log(1e-4)


@pytest.mark.parametrize(("rows", "columns"), [(100, 1), (100, 4), (100, 100), (3, 7), (1, 1)])
def test_the_limits_are_the_sum_of_two_tails_and_never_above_one(rows: int, columns: int) -> None:
    """By the theorem written out: s_max above sqrt(N + b), and s_min below sqrt(N - b)."""
    root_n, root_d = math.sqrt(rows), math.sqrt(columns)
    for bound in (0.0, 0.5, 1.0, rows / 5, rows - 1e-9, rows, rows + 1e-9, 2.0 * rows, 900.0):
        parts = []
        above = math.sqrt(rows + bound) - root_n - root_d
        parts.append(math.exp(-0.5 * max(above, 0.0) ** 2))
        if bound < rows:  # no singular value is below zero
            below = root_n - root_d - math.sqrt(rows - bound)
            parts.append(math.exp(-0.5 * max(below, 0.0) ** 2))
        found = log_gram_tail(rows, columns, bound)
        assert found <= 0.0
        assert found == pytest.approx(math.log(min(sum(parts), 1.0)), rel=1e-9, abs=1e-12)
