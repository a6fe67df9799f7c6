"""IFCA from Gram matrices against IFCA on the samples."""

from __future__ import annotations

import numpy as np
import pytest

from trials.experiments.odcl.linear import group_means, normalise_error, sparse_features
from trials.ifca.options import IfcaOptions, run_ifca_options
from trials.ifca.quadratic_rounds import LocalMaps, quadratic_rounds
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
    expected = normalise_error(models[losses.argmin(axis=1)], optima[truth])
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


@pytest.mark.parametrize("steps", [1, 2, 7, 10])
def test_local_maps_are_so_many_gradient_steps(steps):
    _, _, _, x, y = problem()
    grams, moments = x.transpose(0, 2, 1) @ x / 30, np.einsum("ind,in->id", x, y) / 30
    maps, shifts = LocalMaps.of_steps(grams, moments, 0.1, steps)
    start = np.random.default_rng(2).standard_normal(moments.shape)
    for i, theta in enumerate(start):
        expected = maps[i] @ theta + shifts[i]
        for _ in range(steps):
            theta = theta - 0.1 * (grams[i] @ theta - moments[i])
        np.testing.assert_allclose(expected, theta, rtol=1e-12, atol=1e-13)


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


def test_a_model_that_no_user_chooses_stays_and_may_be_chosen_later():
    """Of one user and two models the farther one is left alone, until the nearer has passed by.

    With the loss (x - 1)^2 / 2 and a step of 1.9 the nearer model goes from 1.9 to 0.19, 1.729, ...
    """
    found = quadratic_rounds(
        grams=np.ones((1, 1, 1)),
        moments=np.ones((1, 1)),
        optima=np.ones((1, 1)),
        start=np.array([[1.9], [1.95]]),
        step=1.9,
        local_steps=1,
        n_rounds=4,
    )
    np.testing.assert_allclose(found, [0.9**2, 0.81**2, 0.729**2, 0.6561**2, 0.59049**2])
    far = quadratic_rounds(
        grams=np.ones((1, 1, 1)),
        moments=np.ones((1, 1)),
        optima=np.ones((1, 1)),
        start=np.array([[1.9], [0.6]]),
        step=1e-6,
        local_steps=1,
        n_rounds=2,
    )
    np.testing.assert_allclose(far, 0.4**2, rtol=1e-4)
    # The second model is the nearer one as long as it stays: zero would be farther than 1.9.
    alone = quadratic_rounds(
        grams=np.ones((1, 1, 1)),
        moments=np.ones((1, 1)),
        optima=np.ones((1, 1)),
        start=np.array([[1.5], [1.6]]),
        step=2.5,
        local_steps=1,
        n_rounds=3,
    )
    # 1.5 goes to 0.25, so 1.6 is chosen and goes to 0.1: then 0.25 is the nearer one again.
    np.testing.assert_allclose(alone, [0.5**2, 0.6**2, 0.75**2, 0.9**2])


def test_models_beyond_the_floats_have_infinite_errors():
    found = quadratic_rounds(
        grams=np.full((1, 1, 1), 1e150),
        moments=np.ones((1, 1)),
        optima=np.ones((1, 1)),
        start=np.array([[3.0]]),
        step=1e6,
        local_steps=2,
        n_rounds=3,
    )
    assert np.isfinite(found[0])
    assert np.all(found[1:] == np.inf)
