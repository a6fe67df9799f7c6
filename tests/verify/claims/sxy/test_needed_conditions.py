"""Conditions that Lemma 2 and Theorem 2 need: the algorithm against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from trials.mixed_regression.fed_regression import run_fed_regression
from trials.models.clients import ClientData
from verify.claims.sxy.needed_conditions import lemma_2_from_any_models, one_round
from verify.procedures.base import PROFILES


@pytest.mark.parametrize(("d", "s", "k"), [(1, 3, 2), (5, 3, 2), (30, 3, 2), (12, 4, 3)])
def test_a_round_multiplies_the_error_as_the_local_steps_do(d, s, k):
    """Along orthogonal rows of squared length d, s steps of 1/s keep (1 - d/s)^s of a residual."""
    before, after = one_round(d, s, k)
    kept = 1 - (1 - (1 - d / s) ** s) / (k * d)
    assert after / before == pytest.approx(abs(kept), rel=1e-6)


def test_equal_models_pull_by_the_wrongly_labelled_half():
    """One local step of 200 clients from the mean of both optima, against the sum of (14)."""
    rng, d = np.random.default_rng(5), 8
    optima = np.eye(2, d)
    features = rng.standard_normal((200, 3, d))
    truth = np.arange(200) % 2
    responses = np.einsum("ind,id->in", features, optima[truth])
    middle = optima.mean(axis=0)
    moved = run_fed_regression(
        data=ClientData.equal(features, responses),
        start=np.tile(middle, (2, 1)),
        update="fedavg",
        step_size=0.01,
        n_rounds=1,
    ).models
    assert np.array_equal(moved[1], middle)  # no client has the second label
    rows = features[truth == 0].reshape(-1, d)
    own = middle - 0.01 * rows.T @ (rows @ (middle - optima[0])) / 600
    pull = np.linalg.norm(moved[0] - own) / 0.01
    distance = math.sqrt(0.5)
    wrong = features[truth == 1].reshape(-1, d) @ (middle - optima[1])
    assert pull >= np.sum(wrong**2) / 600 / distance  # its quadratic form
    assert np.sum(wrong**2) / 600 / distance == pytest.approx(distance / 2, rel=0.3)


@pytest.mark.parametrize("n", [8, 600, 10**6])
def test_the_quadratic_form_exceeds_its_limit_with_probability_one_minus_one_over_e(n):
    """A chi-square variable of n/2 degrees over n, against 1/2 - sqrt(2/n), by its exact law."""
    assert special.gammainc(n // 2 / 2, n * (0.5 - math.sqrt(2 / n)) / 2) <= math.exp(-1)


def test_lemma_2_holds_where_nu_is_large():
    """The search does not refute by construction: few clients leave the bound above the pull."""
    search = lemma_2_from_any_models.build(PROFILES["quick"])
    left, right = search.sides({"M": 1e13, "n": 1e6, "d": 20})
    assert 0 < left < right
    left, right = search.sides({"M": 1e30, "n": 1e6, "d": 20})
    assert left > right > 0
