"""IFCA's error against the floats that it has sent, against runs of the length counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from trials.experiments.ifca import paired
from trials.ifca.communication import floats_down, floats_up
from trials.ifca.options import IfcaOptions, run_ifca_options
from trials.models.matching import model_distance

CELL = {"k": 2, "m": 6, "n": 15, "d": 4, "T": 8, "gamma": 0.3, "n_shared": 2, "stable_after": 2}


@pytest.fixture
def drawn(monkeypatch):
    """The trial's rows by name, its optima, start and data."""
    seen = {}

    def shared(params, rng):
        seen["theta_star"], seen["start"] = real_shared(params, rng)
        return seen["theta_star"], seen["start"]

    def draw(*arguments):
        seen["data"] = real_draw(*arguments)
        return seen["data"]

    real_shared, real_draw = paired.partly_shared, paired.draw_clients
    monkeypatch.setattr(paired, "partly_shared", shared)
    monkeypatch.setattr(paired, "draw_clients", draw)
    experiment = paired.COMMUNICATION
    row = experiment.simulate(experiment.check(CELL), np.random.default_rng(3), 1)[0]
    return dict(zip(experiment.columns, row, strict=True)), seen


def iterations_within(budget, first, later, n_first):
    """Iterations that a budget pays for: some at one price, and then all at another."""
    if budget < n_first * first:
        return int(budget // first)
    return n_first + int((budget - n_first * first) // later)


def test_the_errors_are_those_of_the_runs_that_each_budget_pays_for(drawn):
    found, seen = drawn
    k, m, d, shared = CELL["k"], CELL["m"], CELL["d"], CELL["n_shared"]
    whole = floats_down(m, k, d, 0, False) + floats_up(m, k, d, False)
    stable = floats_down(m, k, d, 0, True) + floats_up(m, k, d, True)
    partly = floats_down(m, k, d, shared, False) + floats_up(m, k, d, False)
    options = {
        "plain": IfcaOptions(),
        "stable": IfcaOptions(stable_after=2),
        "shared": IfcaOptions(shared=np.arange(d) < shared),
    }

    def run(name, n_iterations):
        return run_ifca_options(
            data=seen["data"], starts=seen["start"][None], step_sizes=[CELL["gamma"]],
            n_iterations=n_iterations, options=options[name],
        )  # fmt: skip

    settled = int(run("stable", 50).settled_at[0])
    assert 2 <= settled < 8
    for i in range(1, 9):
        budget = whole * i
        lengths = {
            "plain": i,
            "stable": iterations_within(budget, whole, stable, settled),
            "shared": int(budget // partly),
        }
        for name, n_iterations in lengths.items():
            exact = model_distance(run(name, n_iterations).models, seen["theta_star"])[0]
            assert found[f"{name}_{i}"] == pytest.approx(exact, rel=1e-12), (name, i)
        assert found[f"floats_{i}"] == pytest.approx(i / 8, rel=1e-12)


def test_half_of_the_clients_take_two_iterations_for_one_and_subsets_go_on(drawn, monkeypatch):
    """With two iterations a budget, a run's models are those of an earlier prefix of one run."""
    found, _seen = drawn
    lengths = []

    def spy(**arguments):
        lengths.append((arguments["options"].n_participants, arguments["n_iterations"]))
        return run_ifca_options(**arguments)

    monkeypatch.setattr(paired, "run_ifca_options", spy)
    experiment = paired.COMMUNICATION
    again = experiment.simulate(experiment.check(CELL), np.random.default_rng(3), 1)[0]
    np.testing.assert_array_equal(again, list(found.values()))
    halves = [length for participants, length in lengths if participants == 3]
    assert halves[-8:] == [2 * i for i in range(1, 9)]
    assert np.isfinite([found[f"subset_{i}"] for i in range(1, 9)]).all()
    assert found["subset_8"] < found["subset_1"]


def test_a_run_that_diverges_before_it_has_spent_its_budget_ends_the_trial():
    """A step of three times the stable one.  Once settled, a round is cheaper: it takes more.

    The run that sends one model diverges on the way to the budget and sends nothing from then on.
    The trial doubled its iterations for ever.
    """
    cell = paired.COMMUNICATION.check(
        {**CELL, "m": 4, "n": 40, "n_shared": 0, "closeness": 0.01, "sigma": 0.1, "gamma": 3.0,
         "T": 30, "stable_after": 1}
    )  # fmt: skip
    row = paired.COMMUNICATION.simulate(cell, np.random.default_rng(1), 1)[0]
    found = dict(zip(paired.COMMUNICATION.columns, row, strict=True))
    assert np.isfinite(row).all()
    stable = [found[f"stable_{i}"] for i in range(1, 9)]
    assert stable[-1] == stable[-2] > 1e10  # its last bounded models
    assert found["plain_1"] < 1e3 < found["plain_8"]
