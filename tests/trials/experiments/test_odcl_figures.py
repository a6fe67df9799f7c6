"""The data of ODCL's experiments: covariances, optima, clusters, and the oracle's error."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from trials.checks import InvalidParameter
from trials.experiments.odcl import linear, logistic
from trials.experiments.odcl.linear import (
    DESIGNS,
    INTERVAL,
    LINEAR,
    ROUNDS,
    STARTS,
    draw,
    draw_users,
    normalise_error,
    pooled_fits,
)
from trials.experiments.odcl.logistic import COVARIANCES, LOGISTIC, roots
from trials.run.streams import faster_stream


def test_the_roots_are_those_of_the_covariances_absolute_values():
    squares = roots() @ roots()
    np.testing.assert_allclose(squares[[0, 1, 3]], COVARIANCES[[0, 1, 3]], atol=1e-12)
    np.testing.assert_allclose(squares[2], [[2.0, 1.0], [1.0, 2.0]], atol=1e-12)
    assert np.linalg.eigvalsh(COVARIANCES[2]).min() == pytest.approx(-1.0)


def test_optima_lie_in_the_printed_intervals():
    params = LINEAR.check({"n": 5, "m": 20})
    _, _, optima, truth = draw(params, np.random.default_rng(0))
    low = np.array(DESIGNS["ten"])[:, None]
    assert ((low <= optima) & (optima <= low + 1)).all()
    assert np.bincount(truth).tolist() == [2] * 10


def test_the_cluster_oracle_has_the_error_of_least_squares():
    # features have covariance I/4: E|error|^2 is about 4 d / (m n) for one cluster; 40 draws
    params = ROUNDS.check({"optima": "one", "n": 100, "m": 20})
    rng, found = np.random.default_rng(0), []
    for _ in range(40):
        grams, moments, _, optima, truth = draw_users(params, rng)
        found.append(((pooled_fits(grams, moments, truth)[0] - optima[0]) ** 2).sum())
    expected = 4 * 20 / 2000
    # the relative error of the mean is sqrt(2 / (20 * 40)) = 5 per cent: six of them
    assert abs(np.mean(found) / expected - 1) < 0.3


@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_the_pooled_fit_solves_the_normal_equations_of_its_cluster(scale):
    """With a feature of ``scale`` zero it is the solution of least length."""
    rng, truth = np.random.default_rng(1), np.array([0, 1, 0, 1, 1])
    features = rng.standard_normal((5, 4, 3)) * [1.0, 1.0, scale]
    responses = rng.standard_normal((5, 4))
    grams = np.einsum("inj,ink->ijk", features, features)
    found = pooled_fits(grams, np.einsum("inj,in->ij", features, responses), truth)
    for j in range(2):
        own = truth == j
        expected = np.linalg.pinv(features[own].reshape(-1, 3)) @ responses[own].reshape(-1)
        np.testing.assert_allclose(found[own], np.tile(expected, (own.sum(), 1)), atol=1e-10)


def test_errors_are_normalised_by_the_optimum():
    assert normalise_error(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])) == 1.0


def test_few_logistic_samples_leave_every_user_alone():
    table = LOGISTIC.simulate(LOGISTIC.check({"n": 60}), np.random.default_rng(0), 2)
    assert (table[:, 0] == 100).all()
    np.testing.assert_allclose(table[:, 2], table[:, 4])


def test_unequal_clusters_are_refused():
    with pytest.raises(InvalidParameter, match="must be a multiple of the 10 clusters"):
        LINEAR.check({"m": 101})


def test_a_start_that_is_nearest_beyond_the_farthest_is_refused_before_a_trial():
    with pytest.raises(InvalidParameter, match=r"nearest=0\.5 must be <= farthest=0\.25"):
        ROUNDS.check({"nearest": 0.5, "farthest": 0.25})
    assert ROUNDS.check({"nearest": 0.25, "farthest": 0.25})["nearest"] == 0.25


def test_users_moments_are_those_of_their_rows_and_give_their_fits():
    """The features again, one by one, from the same numbers."""
    params = LINEAR.check({"m": 10, "n": 90, "d": 20})
    users = draw_users(params, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    optima = np.array(DESIGNS["ten"])[:, None] + rng.random((10, 20))
    np.testing.assert_array_equal(users.optima, optima)
    places = np.arange(20)
    for i in range(10):
        x = np.zeros((90, 20))
        for row in range(90):
            for j in range(5):
                other = j + int(rng.random() * (20 - j))
                places[[j, other]] = places[[other, j]]
                x[row, places[j]] = rng.standard_normal()
        assert (np.count_nonzero(x, axis=1) == 5).all()
        np.testing.assert_allclose(users.grams[i], x.T @ x / 90, atol=1e-12)
        np.testing.assert_allclose(users.grams[i] @ users.fits[i], users.moments[i], atol=1e-11)


@pytest.mark.parametrize("kept", [True, False])
def test_the_fits_have_the_law_of_least_squares_given_the_features(kept, monkeypatch):
    """G^1/2 times the error is standard normal, of kept rows and of Gram matrices; alarms 1e-6."""
    monkeypatch.setattr(linear, "_FEW", 1000 if kept else 4)
    params = LINEAR.check({"m": 200, "n": 30, "d": 6})
    users = draw_users(params, np.random.default_rng(5))
    values, vectors = np.linalg.eigh(30 * users.grams)
    roots = (vectors * np.sqrt(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
    errors = (roots @ (users.fits - users.optima[users.truth])[:, :, None])[:, :, 0]
    assert stats.kstest(errors.ravel(), stats.norm.cdf).pvalue > 2.5e-7
    assert stats.kstest((errors**2).sum(axis=1), stats.chi2(6).cdf).pvalue > 2.5e-7
    assert np.abs(np.cov(errors.T) - np.eye(6)).max() < 6 * np.sqrt(2 / 200)


def test_each_component_of_a_fit_has_the_variance_of_least_squares():
    """Its square over that of the inverse Gram matrix has mean one; 4,000 users of few rows."""
    users = draw_users(LINEAR.check({"m": 4000, "n": 20, "d": 5}), np.random.default_rng(6))
    variances = np.diagonal(np.linalg.inv(20 * users.grams), axis1=1, axis2=2)
    squares = (users.fits - users.optima[users.truth]) ** 2 / variances
    assert np.abs(squares.mean(axis=0) - 1.0).max() < 6 * np.sqrt(2 / 4000)


def test_few_rows_are_kept_and_give_the_fits_of_least_norm():
    params = LINEAR.check({"m": 10, "n": 7, "d": 20})
    users = draw_users(params, np.random.default_rng(3))
    x, y, _, _ = draw(params, np.random.default_rng(3))
    for i in range(10):
        np.testing.assert_allclose(users.fits[i], np.linalg.lstsq(x[i], y[i])[0], atol=1e-9)
        np.testing.assert_allclose(users.grams[i], x[i].T @ x[i] / 7, atol=1e-12)


def test_a_user_without_a_feature_is_no_user_with_a_fit(monkeypatch):
    """One sample has five features of six, so that the Gram matrix is singular."""
    monkeypatch.setattr(linear, "_FEW", 0)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        draw_users(LINEAR.check({"m": 10, "n": 1, "d": 6}), np.random.default_rng(0))


@pytest.mark.parametrize("n", [60, 4000])
def test_the_interval_is_empty_where_its_definition_says_so(n):
    params = INTERVAL.check({"optima": "four", "m": 8, "d": 5, "n": n})
    for seed in range(4):
        _, _, fits, _, truth = draw_users(params, faster_stream(np.random.default_rng(seed)))
        groups = [fits[truth == j] for j in range(4)]
        widest = max(np.linalg.norm(a - b) / len(g) for g in groups for a in g for b in g)
        means = [g.mean(axis=0) for g in groups]
        closest = min(
            np.linalg.norm(means[i] - means[j]) / (16 - len(groups[i]) - len(groups[j]))
            for i in range(4)
            for j in range(i)
        )
        (empty,) = np.asarray(INTERVAL.simulate(params, np.random.default_rng(seed), 1))[0]
        assert empty == (widest >= closest)


@pytest.mark.parametrize("experiment", [ROUNDS, STARTS], ids=["rounds", "starts"])
def test_a_mean_of_runs_costs_as_much_as_its_runs(experiment):
    """The engine shares out work by the declared cost."""
    one = {"m": 20, "n": 90, "T": 300}
    single = experiment.cost(experiment.parameters.check({**one, "runs": 1}))
    for runs in (2, 10, 1000):
        cell = experiment.parameters.check({**one, "runs": runs})
        assert experiment.cost(cell) == pytest.approx(runs * single, rel=1e-12)
    longer = experiment.parameters.check({**one, "T": 3000, "runs": 1})
    assert experiment.cost(longer) > 5 * single


@pytest.mark.parametrize("apart_in", [0, 1, 2])
def test_users_are_clustered_by_their_weights_and_their_intercept(apart_in, monkeypatch):
    """Fits whose clusters differ in one of the three numbers alone."""

    def fits(x, _y, *, l2, intercept):
        assert (l2, intercept) == (0.5, True)
        found = np.full((100, 3), 2.0)
        found[:, apart_in] = np.repeat([1.0, 2.0, 4.0, 8.0], 25)
        return SimpleNamespace(theta=found[:, :2], intercept=found[:, 2])

    monkeypatch.setattr(logistic, "logistic", fits)
    cell = LOGISTIC.check({"n": 10, "ridge": 0.5})
    ((clusters, same, cc, averaging, local),) = LOGISTIC.simulate(cell, np.random.default_rng(0), 1)
    assert (clusters, same) == (4, 1)
    assert cc == averaging == pytest.approx(local)  # a cluster's mean is each of its fits
    wide = np.full((4, 3), 2.0)
    wide[:, apart_in] = [1.0, 2.0, 4.0, 8.0]
    own = np.column_stack([logistic.OPTIMA, np.zeros(4)])
    errors = ((wide - own) ** 2).sum(axis=1) / (own**2).sum(axis=1)
    assert local == pytest.approx(errors.mean())
