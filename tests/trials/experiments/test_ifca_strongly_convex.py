"""Steps and runs on quadratic losses: against a step written out client by client."""

import math

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.experiments.ifca import strongly_convex as sc
from trials.laws.spike import wrong_label

CELL = {
    "m": 30,
    "n": 4,
    "k": 3,
    "d": 4,
    "ratio": 2.0,
    "Delta": 1.2,
    "lam": 0.5,
    "L": 2.0,
    "eta": 0.1,
    "v": 0.3,
    "alpha": 0.2,
}


def client_by_client(cell, rng):
    """The smallest cluster's model after a step in which each client sends its own gradient."""
    optima, start, curvature = sc.models(cell)
    truth = np.repeat(np.arange(cell["k"]), sc.sizes(cell))
    wrong = wrong_label(sc.gap(cell), cell["eta"], cell["n"], cell["k"])
    total = np.zeros(cell["d"])
    for j in truth:
        rivals = [r for r in range(cell["k"]) if r != j]
        label = rng.choice(rivals) if rng.random() < wrong else j
        if label == 0:
            noise = rng.standard_normal((cell["n"], cell["d"])).mean(axis=0)
            total += curvature * (start[0] - optima[j])
            total += cell["v"] / math.sqrt(cell["d"]) * noise
    return np.linalg.norm(start[0] - total / (cell["m"] * cell["L"]) - optima[0])


def test_a_step_has_the_law_of_single_clients():
    cell = sc.SC_STEP.check(CELL)
    rows = sc.SC_STEP.simulate(cell, np.random.default_rng(1), 4000)
    rng = np.random.default_rng(2)
    slow = np.array([client_by_client(cell, rng) for _ in range(2000)])
    fast = rows[:, sc.SC_STEP.columns.index("after")]
    error = math.hypot(slow.std() / math.sqrt(slow.size), fast.std() / math.sqrt(fast.size))
    # five standard errors: a false alarm has a probability of 6e-7
    assert slow.mean() == pytest.approx(fast.mean(), abs=5 * error)
    assert slow.std() == pytest.approx(fast.std(), rel=0.12)  # five standard errors as well


def test_all_gaps_are_equal_and_models_lie_on_the_radius():
    cell = sc.SC_STEP.check(CELL)
    optima, start, curvature = sc.models(cell)
    assert np.linalg.norm(start - optima, axis=1) == pytest.approx(sc.radius(cell))
    for j in range(cell["k"]):
        loss = 0.5 * ((start - optima[j]) ** 2) @ curvature
        gaps = np.delete(loss - loss[j], j)
        assert gaps == pytest.approx(np.full(cell["k"] - 1, sc.gap(cell)))


def test_two_clusters_on_a_line_attain_the_smallest_gap():
    cell = sc.SC_STEP.check({"d": 1, "lam": 2.0, "L": 2.0, "Delta": 0.7, "alpha": 0.1})
    assert sc.gap(cell) == pytest.approx(0.1 * 2.0 * 0.7**2)


def test_one_step_of_a_run_is_a_step():
    cell = {**CELL, "eta": 0.0}
    step = sc.SC_STEP.check(cell)
    run = sc.SC_RUN.check({**cell, "T": 1})
    a = sc.SC_STEP.simulate(step, np.random.default_rng(3), 4000)[:, 2]
    b = sc.SC_RUN.simulate(run, np.random.default_rng(4), 4000)[:, 1]
    error = math.hypot(a.std(), b.std()) / math.sqrt(4000)
    # five standard errors: a false alarm has a probability of 6e-7
    assert a.mean() == pytest.approx(b.mean(), abs=5 * error)


def test_a_long_run_without_strangers_ends_at_its_stationary_error():
    cell = sc.SC_RUN.check(
        {"m": 100, "n": 10, "d": 1, "eta": 0.0, "v": 0.5, "lam": 0.5, "start": "optimum", "T": 100}
    )
    rows = sc.SC_RUN.simulate(cell, np.random.default_rng(5), 4000)
    squared = rows[:, sc.SC_RUN.columns.index("smallest_squared")]
    step = 0.5 * 0.5
    exact = 0.5 * 0.25 / 1000 / (step * (2 - step) / 1.0)
    # a squared Gaussian has a deviation of sqrt(2) times its mean: five standard errors
    assert squared.mean() == pytest.approx(exact, rel=5 * math.sqrt(2 / 4000))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"k": 4, "d": 2}, "d=2 must be >= k-1=3"),
        ({"lam": 2.0}, "L=1.0 must be >= lam=2.0"),
        ({"m": 2, "k": 3}, "m=2 must be >= k=3"),
    ],
)
def test_impossible_cells_are_refused(cell, message):
    with pytest.raises(InvalidParameter, match=message):
        sc.SC_STEP.check(cell)


def test_rare_jumps_have_the_variance_of_the_gradients_and_the_stated_frequency():
    cell = sc.SC_STEP.check(
        {"m": 1000, "n": 50, "d": 3, "eta": 0.0, "v": 2.0, "L": 4.0, "start": "optimum"}
        | {"rare": 0.2, "ratio": 3.0}
    )
    rows = sc.SC_STEP.simulate(cell, np.random.default_rng(6), 100_000)
    squared = rows[:, sc.SC_STEP.columns.index("after_squared")]
    variance = 2.0**2 * 0.25 / (4.0**2 * 1000 * 50)
    # The squared sum of centred Poisson(0.2) jumps has the relative deviation sqrt(2 + 1/0.2).
    assert squared.mean() == pytest.approx(variance, rel=5 * math.sqrt(7 / 100_000))
    one = variance / 0.2 * (1 - 0.2) ** 2
    jumped = np.mean(squared > 0.999 * one)
    exact = -math.expm1(-0.2)
    assert jumped == pytest.approx(exact, abs=5 * math.sqrt(exact / 100_000))


def test_a_jump_lengthens_the_error_and_the_pull():
    cell = sc.SC_STEP.check({**CELL, "n": 100, "eta": 4.0, "v": 50.0, "rare": 1.0})
    quiet = {**cell, "v": 0.0}
    rows = sc.SC_STEP.simulate(cell, np.random.default_rng(7), 4000)
    at = sc.SC_STEP.columns.index
    still = sc.SC_STEP.simulate(quiet, np.random.default_rng(7), 4000)
    assert np.array_equal(rows[:, at("strangers")], still[:, at("strangers")])
    # jumps are rare and long, the drift against them is short
    for column in ("after", "pull"):
        change = rows[:, at(column)] - still[:, at(column)]
        assert np.max(change) > 3 * np.abs(np.min(change))


def test_one_cluster_may_be_larger_than_all_others():
    counts = sc.sizes({"m": 120, "k": 3, "ratio": 4.0, "shape": "one-large"})
    assert counts.tolist() == [20, 20, 80]


@pytest.mark.parametrize("change", [{}, {"start": "optimum"}, {"k": 3, "d": 4, "v": 3.0}])
def test_the_law_of_a_step_with_rare_jumps_encloses_the_share_of_trials(change):
    """Limits from both sides of the share of 20,000 steps, within five standard errors."""
    cell = sc.SC_STEP.check({**CELL, "k": 2, "d": 1, "eta": 1e-3, "rare": 0.7, **change})
    rows = sc.SC_STEP.simulate(cell, np.random.default_rng(5), 20_000)
    after = rows[:, sc.SC_STEP.columns.index("after")]
    seen = []
    for bound in np.quantile(after, [0.1, 0.5, 0.8, 0.95]) * 1.01:
        least, most = map(math.exp, sc.log_tail_of_a_step(cell, float(bound)))
        share = np.mean(after > bound)
        error = 5 * math.sqrt(share * (1 - share) / after.size) + 1e-3
        assert least - error <= share <= most + error
        assert most - least < 1e-3  # next to no wrong label
        seen.append(share)
    assert max(seen) > 0.1


def test_the_law_of_a_step_counts_wrong_labels_from_above_only():
    cell = sc.SC_STEP.check({**CELL, "eta": 1.0, "rare": 0.7})
    wrong = wrong_label(sc.gap(cell), 1.0, cell["n"], 3)
    least, most = map(math.exp, sc.log_tail_of_a_step(cell, 1e9))
    assert least == 0.0
    clients = sc.sizes(cell)
    right = (1 - wrong) ** clients[0] * (1 - wrong / 2) ** clients[1:].sum()
    assert most == pytest.approx(1 - right, rel=1e-9)


def test_the_law_of_a_step_says_nothing_where_every_label_is_wrong():
    cell = sc.SC_STEP.check({**CELL, "n": 1, "eta": 1e9, "rare": 0.7})
    least, most = sc.log_tail_of_a_step(cell, 0.1)
    assert math.exp(least) <= math.exp(most) <= 1.0
    assert most > -0.7


def test_a_step_cannot_come_closer_than_what_no_jump_moves():
    """Jumps go along one direction, and the error across it stays."""
    cell = sc.SC_STEP.check({**CELL, "k": 3, "d": 4, "v": 3.0, "eta": 1e-3, "rare": 0.7})
    after = sc.SC_STEP.simulate(cell, np.random.default_rng(6), 300)
    after = after[:, sc.SC_STEP.columns.index("after")]
    wrong = wrong_label(sc.gap(cell), 1e-3, cell["n"], 3)
    clients = sc.sizes(cell)
    right = (1 - wrong) ** clients[0] * (1 - wrong / 2) ** clients[1:].sum()
    for bound in (0.0, 0.5 * after.min()):
        least, most = map(math.exp, sc.log_tail_of_a_step(cell, float(bound)))
        assert (least, most) == (pytest.approx(right, rel=1e-9), 1.0)


def test_a_step_without_noise_is_certain_up_to_its_labels():
    """Without noise the trials' step is one number where every label is right."""
    cell = sc.SC_STEP.check({**CELL, "k": 2, "v": 0.0, "eta": 1e-6, "rare": 0.7})
    after = sc.SC_STEP.simulate(cell, np.random.default_rng(2), 20)
    after = after[:, sc.SC_STEP.columns.index("after")]
    assert np.ptp(after) == 0.0
    wrong = wrong_label(sc.gap(cell), 1e-6, cell["n"], 2)
    right = (1.0 - wrong) ** cell["m"]
    for share, tail in ((0.999, 1.0), (1.001, 0.0)):
        least, most = map(math.exp, sc.log_tail_of_a_step(cell, float(share * after[0])))
        assert least == pytest.approx(right * tail, rel=1e-9)
        assert most == pytest.approx(min(1.0, tail + 1.0 - right), abs=1e-9)
