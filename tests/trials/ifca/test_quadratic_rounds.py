"""IFCA from Gram matrices against IFCA on the samples."""

from __future__ import annotations

import numpy as np
import pytest

from trials.experiments.odcl.linear import group_means, normalised, sparse_features
from trials.ifca.options import IfcaOptions, run_ifca_options
from trials.ifca.quadratic_rounds import quadratic_rounds
from trials.models.clients import ClientData


def problem(seed=0, m=12, n=30, d=6, k=3):
    rng = np.random.default_rng(seed)
    optima = 3.0 * rng.standard_normal((k, d))
    truth = np.arange(m) % k
    x = rng.standard_normal((m, n, d))
    y = np.einsum("ind,id->in", x, optima[truth]) + rng.standard_normal((m, n))
    return rng, optima, truth, x, y


@pytest.mark.parametrize("rounds", [0, 1, 7])
def test_the_models_are_those_of_ifca_on_the_samples(rounds):
    rng, optima, truth, x, y = problem()
    start = optima + 0.5 * rng.standard_normal(optima.shape)
    step, tau = 0.05, 4
    slow = run_ifca_options(
        data=ClientData.equal(x, y),
        starts=start[None],
        step_sizes=[step],
        n_iterations=rounds,
        options=IfcaOptions(averaging="model", local_steps=tau),
        rng=rng,
    )
    models = slow.models[0]
    losses = ((y[:, None] - np.einsum("ind,kd->ikn", x, models)) ** 2).sum(axis=2)
    expected = normalised(models[losses.argmin(axis=1)], optima[truth])
    scale = 2.0 / x.shape[1]  # the loss is the mean squared residual
    errors = quadratic_rounds(
        scale * x.transpose(0, 2, 1) @ x,
        scale * np.einsum("ind,in->id", x, y),
        optima[truth],
        start,
        step,
        tau,
        rounds,
    )
    assert errors.size == rounds + 1
    assert errors[-1] == pytest.approx(expected, rel=1e-9)


def test_rounds_end_at_the_goal_but_not_too_early():
    _, optima, truth, x, y = problem()
    arguments = (
        x.transpose(0, 2, 1) @ x / 30,
        np.einsum("ind,in->id", x, y) / 30,
        optima[truth],
        optima + 1.0,
        0.1,
        5,
        50,
    )
    whole = quadratic_rounds(*arguments)
    first = int(np.flatnonzero(whole <= 0.5 * whole[0])[0])
    early = quadratic_rounds(*arguments, goal=0.5 * whole[0])
    np.testing.assert_array_equal(early, whole[: first + 1])
    late = quadratic_rounds(*arguments, goal=0.5 * whole[0], least=first + 3)
    np.testing.assert_array_equal(late, whole[: first + 4])


def test_features_have_five_random_components():
    # 20,000 rows: a place's share differs from 1/4 by less than 5 standard errors (1e-6)
    x = sparse_features(np.random.default_rng(0), 20_000, 20)
    assert ((x != 0).sum(axis=1) == 5).all()
    assert np.abs((x != 0).mean(axis=0) - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 20_000)
    assert abs(x[x != 0].std() - 1) < 5 / np.sqrt(2 * 100_000)


def test_group_means():
    fits = np.array([[1.0], [3.0], [8.0]])
    assert group_means(fits, np.array([7, 7, 2])).ravel().tolist() == [2.0, 2.0, 8.0]
