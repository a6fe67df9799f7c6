"""Random starts of IFCA against single starts, and starts whose ends are known."""

from __future__ import annotations

import numpy as np

from trials.experiments.sxy import two_phases as restarts
from trials.experiments.sxy.two_phases import ONE_START

CELL = {"M": 24, "n": 20, "d": 3, "k": 3, "rounds_2": 20, "sigma": 0.05}


def rows(experiment, seed, n_trials=1, **cell):
    found = experiment.simulate(experiment.check(cell), np.random.default_rng(seed), n_trials)
    return dict(zip(experiment.columns, found.T, strict=True))


def test_one_start_is_the_experiment_of_one_start():
    ends = []
    for seed in range(30):
        found = rows(restarts.RESTARTS, seed, **CELL, restarts=1)
        single = rows(ONE_START, seed, **CELL)
        np.testing.assert_array_equal(found["best"], single["error"])
        np.testing.assert_array_equal(found["n_inside"], single["ball"])
        np.testing.assert_array_equal(found["n_successful"], single["error"] <= 0.1)
        ends.append(found["n_successful"][0])
    assert 0.0 < np.mean(ends) < 1.0


def test_starts_are_counted_one_by_one(monkeypatch):
    """Ends at and above a tenth, and starts at a quarter of Delta and beyond."""
    ends = np.array([[0.1, 0.1000001, 0.05, 0.7]])
    distances = np.array([0.5, 0.5000001, 0.2, 3.0])
    monkeypatch.setattr(restarts, "end_errors", lambda *_: ends)
    monkeypatch.setattr(restarts, "bottleneck_distances", lambda *_: distances)
    found = rows(restarts.RESTARTS, 0, **CELL, restarts=4, Delta=2.0)
    assert found["n_successful"] == 2.0
    assert found["n_inside"] == 2.0
    assert found["best"] == 0.05
