"""The declared cost of IFCA's steps counts the clients that are drawn one by one."""

import numpy as np
import pytest

from trials.experiments.ifca.step import STEP, STRANGERS, TRAJECTORY, _run, client_draws, seconds


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_clients_drawn_are_at_least_those_with_a_wrong_label(alpha):
    """The worst start with these parameters has the most of them."""
    params = STEP.check(
        {"k": 4, "m": 2000, "n": 20, "d": 10, "alpha": alpha, "init": "translation", "sigma": 0.5}
    )
    _, moved = _run(params, np.random.default_rng(0), 20, 1)
    wrong = moved[:, 0].sum(axis=1).mean()
    assert 0 < wrong <= client_draws(params) <= 2000


def test_two_models_and_accurate_labels_need_no_draws():
    assert client_draws(STEP.check({"k": 2, "alpha": 0.0})) == 0.0
    assert client_draws(STEP.check({"k": 4, "m": 10**6, "n": 10**5})) < 1e-9


def test_steps_that_grow_draw_every_client():
    """The largest cluster's step size times its share is above one."""
    cell = {"k": 8, "m": 10**7, "n": 10**6, "profile": "geometric", "ratio": 100.0, "c1": 1 / 3}
    params = TRAJECTORY.check(cell)
    assert client_draws(params) == 10**7
    assert TRAJECTORY.cost(params) == seconds(params, 24) > 100.0
    assert STRANGERS.cost(STRANGERS.check(cell)) == seconds(params, 1) > 5.0
    assert client_draws(TRAJECTORY.check({**cell, "step_rule": "c/p_j"})) < 1.0
