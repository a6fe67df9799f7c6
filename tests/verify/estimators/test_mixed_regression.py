"""Phase 1, Phase 2 and their composition as estimators."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from trials.mixed_regression.anchor_groups import group_anchors
from trials.mixed_regression.moment_descent import AnchorStatus, run_moment_descent
from trials.models.clients import ClientData
from verify.estimators import FederatedRegression, GlobalRound, MomentDescent
from verify.estimators.mixed_regression import k_groups

TRUTH = np.array([[2.0, -1.0, 0.5], [-2.0, 1.0, 1.0]])


def many(seed=0, m=1500, anchors=12):
    """Many clients with two to five rows, and a few with many."""
    rng = np.random.default_rng(seed)
    sizes = np.where(np.arange(m) < anchors, 800, rng.integers(2, 6, m))
    of = np.repeat(np.arange(m), sizes)
    x = rng.standard_normal((len(of), 3))
    return x, (x * TRUTH[of % 2]).sum(axis=1) + 0.05 * rng.standard_normal(len(of)), of


def nearest(models):
    return np.abs(models[:, None] - TRUTH).sum(axis=2).min(axis=1).max()


def test_moment_descent_comes_near_and_the_global_round_arrives():
    x, y, of = many()
    first = MomentDescent(n_anchors=8, random_state=0, n_rounds=12).fit(x, y, clients=of)
    assert first.models_.shape == (2, 3)
    assert nearest(first.models_) < 1.0
    both = GlobalRound(phase_1=MomentDescent(n_anchors=8, n_rounds=12), random_state=0)
    both.fit(x, y, clients=of)
    assert nearest(both.models_) < 0.05
    assert both.history_["loss"][0] == pytest.approx(first.history_["loss"][0])
    assert both.n_rounds_ == 12 + 200
    assert both.floats_up_ > first.floats_up_


def test_federated_regression_is_the_recursion_of_its_paper_on_ragged_clients():
    rng = np.random.default_rng(3)
    of = np.repeat(np.arange(9), rng.integers(1, 12, 9))
    x = rng.standard_normal((len(of), 3))
    y = (x * TRUTH[of % 2]).sum(axis=1)
    start, eta = TRUTH[::-1] + 0.7, 0.1
    for update, steps in (("fedavg", 4), ("fedprox", 1)):
        models = start.copy()
        for _ in range(6):
            total = np.zeros_like(models)
            for i in range(9):
                a, b = x[of == i], y[of == i]
                j = np.argmin([np.sum((b - a @ t) ** 2) for t in models])
                gram = a @ a.T / len(b)
                if update == "fedprox":
                    p = np.linalg.inv(np.eye(len(b)) + eta * gram)
                else:
                    p = sum(
                        np.linalg.matrix_power(np.eye(len(b)) - eta * gram, power)
                        for power in range(steps)
                    )
                total[j] += a.T @ p @ (a @ models[j] - b)
            models = models - eta / len(y) * total
        for record in (False, True):
            fit = FederatedRegression(
                init=start, update=update, n_rounds=6, step_size=eta, local_steps=steps,
                record_loss=record,
            ).fit(x, y, clients=of)  # fmt: skip
            np.testing.assert_allclose(fit.models_, models, rtol=1e-8)
            assert len(fit.history_["loss"]) == (6 if record else 1)


@pytest.mark.parametrize("n_rounds", [1, 3])
def test_the_pairs_of_a_round_are_those_of_the_smallest_anchor(n_rounds):
    """Anchors are the largest clients, and each needs two rows a pair and round."""
    sizes = [50, 9, 31, 24, 9, 40]
    data = ClientData(
        features=np.random.default_rng(0).standard_normal((sum(sizes), 2)),
        responses=np.zeros(sum(sizes)),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
    )
    for count, smallest in ((1, 50), (2, 40), (3, 31), (4, 24)):
        method = MomentDescent(n_anchors=count)
        pairs, anchors = method._anchors(data, 2, n_rounds, np.random.default_rng(0))
        assert pairs == smallest // (2 * n_rounds)
        assert sorted(sizes[i] for i in anchors) == sorted(sizes, reverse=True)[:count][::-1]


def test_the_automatic_step_is_nine_tenths_of_the_largest_client_allows():
    x, y, of = many(m=30, anchors=2)
    largest = max(np.linalg.eigvalsh(x[of == i].T @ x[of == i] / (of == i).sum())[-1]
                  for i in range(30))  # fmt: skip
    given = {"n_clusters": 2, "n_rounds": 3, "init": TRUTH[::-1] + 0.3}
    auto = FederatedRegression(**given).fit(x, y, clients=of)
    own = FederatedRegression(**given, step_size=0.9 / largest).fit(x, y, clients=of)
    np.testing.assert_allclose(auto.models_, own.models_)


def test_anchors_that_diverge_are_left_out_and_those_that_never_move_leave_a_model(monkeypatch):
    x, y, of = many(m=400, anchors=6)
    still = MomentDescent(n_anchors=4, n_rounds=2, threshold=1e9, random_state=0)
    assert not still.fit(x, y, clients=of).models_.any()

    def one_diverged(**given):
        found = run_moment_descent(**given)
        theta, status = found.theta.copy(), found.status.copy()
        theta[0], status[0] = 1e6, AnchorStatus.DIVERGED
        return replace(found, theta=theta, status=status)

    monkeypatch.setattr("verify.estimators.mixed_regression.run_moment_descent", one_diverged)
    rest = MomentDescent(n_anchors=6, n_rounds=2, random_state=0).fit(x, y, clients=of)
    assert np.abs(rest.models_).max() < 1e3


def test_both_phases_have_the_clusters_that_are_asked_for():
    x, y, of = many(m=400, anchors=8)
    both = GlobalRound(3, phase_1=MomentDescent(n_anchors=8, n_rounds=2),
                       phase_2=FederatedRegression(n_rounds=1), random_state=0)  # fmt: skip
    alone = MomentDescent(3, n_anchors=8, n_rounds=2, random_state=0).fit(x, y, clients=of)
    assert len(alone.models_) == 3
    assert len(both.fit(x, y, clients=of).models_) == 3


def test_equal_estimates_are_one_group():
    for theta in (np.zeros((3, 2)), np.ones((4, 1))):
        for k in (1, 2):
            separation = k_groups(theta, k)
            assert separation > 0
            assert len(group_anchors(theta, separation).centres) == 1


def test_k_groups_of_one_and_of_all():
    theta = np.array([[0.0], [1.0], [9.0]])
    assert k_groups(theta, 1) > 2 * 8.0
    assert k_groups(theta, 3) > 0.0


def test_an_anchor_at_rest_has_got_its_basis_and_has_reported():
    """All of H = 4 anchors rest in the first of two rounds, after T1 = 6 half steps."""
    x, y, of = many(m=40, anchors=6)
    fit = MomentDescent(
        n_anchors=4, n_rounds=2, n_clients=5, threshold=1e9, subspace_iterations=6, random_state=0
    ).fit(x, y, clients=of)
    m, d, k = 40, 3, 2
    estimates_down, bases_down, bases_up = 4 * 5 * d, 4 * 6 * 5 * d * k, 4 * 6 * 5 * d * k
    assert len(fit.models_) == 1
    assert fit.floats_up_ == bases_up + 4 * d
    assert fit.floats_down_ == estimates_down + bases_down + 4 * d * k + m * d


def test_clients_with_one_row_are_not_counted_on_for_the_rounds():
    """Six of eight clients have two rows: four anchors leave two for the only round."""
    sizes = [6, 1, 6, 6, 6, 1, 6, 6]
    of = np.repeat(np.arange(8), sizes)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((len(of), 2))
    method = MomentDescent(n_rounds=1, random_state=0)
    method.fit(x, x[:, 0], clients=of)
    data = ClientData(features=x, responses=x[:, 0], offsets=np.append(0, np.cumsum(sizes)))
    anchors = method._anchors(data, 2, 1, rng)[1]
    assert len(anchors) == 4
    assert not {1, 5} & set(anchors.tolist())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clients": 0}, "n_clients=0 must be an integer >= 1"),
        ({"n_pairs": 0}, "n_pairs=0 must be an integer >= 1"),
        ({"n_pairs": "all"}, "n_pairs='all' must be one of auto"),
        ({"n_anchors": "all"}, "n_anchors='all' must be one of auto"),
        ({"alpha": np.array([1, 2])}, "alpha=.* must be a finite number"),
        ({"separation": 0}, "separation=0 must be a finite number > 0"),
        ({"n_anchors": 12}, "n_anchors=12 must leave clients with two rows for the rounds"),
    ],
)
def test_a_bad_number_of_phase_1_is_named(change, message):
    x, y, of = many(m=12, anchors=6)
    with pytest.raises(ValueError, match=message):
        MomentDescent(**{"n_rounds": 1, "n_anchors": 3, **change}).fit(x, y, clients=of)


def test_phases_of_another_kind_are_refused():
    x, y, of = many(m=12, anchors=6)
    for phases, message in (
        ({"phase_1": FederatedRegression()}, "phase_1=.* must be a MomentDescent"),
        ({"phase_2": {}}, "phase_2={} must be a FederatedRegression"),
    ):
        with pytest.raises(ValueError, match=message):
            GlobalRound(**phases).fit(x, y, clients=of)


@pytest.mark.parametrize("power", [-100, -231, -232, -270, -300])
def test_tiny_units_change_no_model_or_are_refused(power):
    """Squares of products of X and y vanished: three groups of anchors became one, in silence."""
    rng = np.random.default_rng(1)
    of = np.repeat(np.arange(12), 20)
    x = rng.standard_normal((len(of), 3))
    y = (x * TRUTH[of % 2]).sum(axis=1) + 0.05 * rng.standard_normal(len(of))
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    method = MomentDescent(n_rounds=2, random_state=0)
    models = method.fit(x, y, clients=of).models_.copy()
    unit = 2.0**power
    if unit**2 >= 1e-140:
        found = method.fit(unit * x, unit * y, clients=of).models_
        np.testing.assert_allclose(found, models, rtol=1e-12)
    else:
        message = "its square would vanish: choose units in which it is at least 1e-140$"
        with pytest.raises(ValueError, match=message):
            method.fit(unit * x, unit * y, clients=of)


def test_one_line_for_too_few_rows_or_clients():
    with pytest.raises(ValueError, match="1 of the clients must have two rows, to be anchors: 0"):
        MomentDescent().fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], clients=[0, 1, 2])
    x, y, of = many(m=30, anchors=0)
    with pytest.raises(ValueError, match=r"n_rounds=10 must be <= 2: each of \d+ anchors needs"):
        MomentDescent().fit(x, y, clients=of)
    x, y, of = many(m=14, anchors=14)
    with pytest.raises(ValueError, match="n_rounds=10 must be <= 6, the clients with two rows"):
        MomentDescent(n_anchors=8).fit(x, y, clients=of)
    with pytest.raises(ValueError, match="must be smaller: the rounds diverged"):
        FederatedRegression(step_size=1e9).fit(x, y, clients=of)


@pytest.mark.parametrize("n_init", [1, 3])
def test_with_soft_labels_a_client_sends_a_step_for_every_model(n_init):
    """With hard labels it sends one model, and which one it is for as k numbers."""
    rng = np.random.default_rng(1)
    of = np.repeat(np.arange(7), rng.integers(3, 9, 7))
    x = rng.standard_normal((len(of), 3))
    y = (x * TRUTH[of % 2]).sum(axis=1)

    def equal(losses, _sizes):
        return np.full(losses.shape, 0.5)

    given = {"n_rounds": 4, "n_init": n_init, "random_state": 0}
    soft = FederatedRegression(label_rule=equal, **given).fit(x, y, clients=of)
    hard = FederatedRegression(**given).fit(x, y, clients=of)
    assert soft.floats_up_ == n_init * 4 * 7 * 2 * 3
    assert hard.floats_up_ == n_init * 4 * 7 * (3 + 2)
    assert soft.floats_down_ == hard.floats_down_ == n_init * 4 * 7 * 2 * 3
    # Equal shares give both models one step towards the pooled fit, from any start.
    assert soft.n_rounds_ == hard.n_rounds_ == 4
