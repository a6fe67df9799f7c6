"""Both phases over one population: known ends, the rows that are read, and the worst start."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.experiments.sxy import end_to_end
from trials.experiments.sxy.end_to_end import COLUMNS, END_TO_END, fresh_clients
from trials.mixed_regression import batches

CELL = {"M": 600, "k": 3, "d": 4, "anchors": 12, "pairs": 40, "rounds_1": 6, "rounds_2": 150}


def rows(seed=0, n_trials=1, **changes):
    cell = END_TO_END.check({**CELL, **changes})
    found = END_TO_END.simulate(cell, np.random.default_rng(seed), n_trials)
    return dict(zip(COLUMNS, found.T, strict=True))


def test_without_noise_both_phases_end_at_the_optima():
    found = rows(sigma=0.0, alpha=1.0, beta=1.0, rounds_2=400)
    assert found["oracle"][0] < 1e-15  # the responses themselves are rounded
    assert found["both"][0] < 1e-6
    assert found["coarse"][0] > 1e-3


@pytest.mark.parametrize("k", [2, 3])
def test_the_start_is_as_far_as_geometry_says(k):
    """Zero is Delta sqrt((k - 1)/(2 k)) from each optimum, and an optimum is Delta from another."""
    assert rows(k=k)["start"][0] == pytest.approx(math.sqrt((k - 1) / (2 * k)))
    assert rows(k=k, start="optimum", Delta=3.0, sigma=0.15)["start"][0] == pytest.approx(1.0)


def test_the_unit_of_the_models_changes_nothing():
    first, second = rows(seed=3), rows(seed=3, Delta=8.0, sigma=0.4)
    for column in COLUMNS:
        np.testing.assert_allclose(first[column], second[column], rtol=1e-6, err_msg=column)


def test_one_anchor_covers_one_cluster():
    found = rows(anchors=1, n_trials=3)
    np.testing.assert_array_equal(found["covered"], 0.0)
    np.testing.assert_array_equal(rows(anchors=40)["covered"], 1.0)


def test_failures_are_errors_above_twice_the_oracle():
    found = rows(seed=5, n_trials=4, rounds_2=20)
    for name in ("coarse", "both", "random"):
        np.testing.assert_array_equal(found[f"fail_{name}"], found[name] > 2 * found["oracle"])


def test_the_worst_start_is_the_worst_of_all(monkeypatch):
    """Anchors end farthest from the chosen start, whichever one it is."""
    ends = []
    run = end_to_end.run_moment_descent

    def noted(**arguments):
        found = run(**arguments)
        ends.append(found.distances[-1].max())
        return found

    monkeypatch.setattr(end_to_end, "run_moment_descent", noted)
    found = rows(start="worst", tries=3)
    assert len(ends) == 8
    assert found["anchors"][0] == max(ends)
    assert max(ends) > min(ends)


def test_no_client_is_read_in_two_rounds_and_no_anchor_by_others(monkeypatch):
    """Every row that Phase 1 reads in a run is new."""
    seen = []
    make = batches.fresh_batches

    def noted(data, anchors, **arguments):
        draw = make(data, anchors, **arguments)
        for t in range(arguments["n_rounds"]):
            batch = draw(t)
            assert len(batch.first) == fresh_clients(CELL)
            seen.extend([*batch.first_y, *batch.second_y, *batch.anchor_responses.ravel()])
        return draw

    monkeypatch.setattr(end_to_end, "fresh_batches", noted)
    rows()
    assert len(seen) == len(set(seen)) > 2 * 6 * 12 * 40


def seconds(**changes):
    return END_TO_END.cost(END_TO_END.check({**CELL, **changes}))


def test_a_row_of_an_anchor_takes_as_long_as_a_row_of_another_client():
    """Cells in which either kind holds nearly all rows, and cells with twice as many of them."""
    few = {"rounds_1": 1, "rounds_2": 1, "d": 3}
    anchors = [seconds(**few, M=100, pairs=pairs) for pairs in (10**5, 2 * 10**5)]
    clients = [seconds(**few, M=m, pairs=1, anchors=1) for m in (10**6, 2 * 10**6)]
    for one, two in (anchors, clients):
        assert two / one == pytest.approx(2.0, rel=0.05)
    of_anchors = (anchors[1] - anchors[0]) / (2 * CELL["anchors"] * 10**5)
    # eight tenths of the clients have two rows, and two tenths have one to eight
    of_clients = (clients[1] - clients[0]) / (0.8 * 2 * 10**6 + 0.2 * 4.5 * 10**6)
    assert of_anchors == pytest.approx(of_clients, rel=0.05)


def test_the_worst_start_takes_phase_one_from_every_start():
    few = {"M": 100_000, "anchors": 1000, "pairs": 1, "rounds_1": 1, "rounds_2": 1}
    one, many = seconds(**few), seconds(**few, start="worst", tries=20)
    cell = END_TO_END.check({**CELL, "start": "worst", "tries": 20})
    starts = end_to_end._starts(cell, np.eye(3, 4), np.random.default_rng(0))
    assert many / one == pytest.approx(len(starts), rel=0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d": 2}, "d=2 must be >= k=3"),
        ({"M": 100, "rounds_1": 100}, "M=100 must give each of rounds_1=100 rounds fresh clients"),
        ({"M": 10_000_000, "d": 500}, "features; at most"),
        ({"alpha": 2.0, "beta": 1.0}, "beta=1 must be >= alpha=2"),
    ],
)
def test_impossible_cells_are_refused(changes, message):
    with pytest.raises(InvalidParameter, match=message):
        END_TO_END.check({**CELL, **changes})
