"""IFCA with ridge and logistic losses: other formulations, other solvers, the population."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss

from trials.checks import InvalidParameter
from trials.ifca.options import (
    IfcaOptions,
    run_global,
    run_ifca_options,
    run_oracle,
)
from trials.ifca.options_kernels import label_subset
from trials.models.clients import ClientData
from trials.models.federated_data import FederatedModel, covariance_roots
from trials.models.losses import (
    LOGISTIC,
    LogisticLoss,
    SquaredLoss,
    data_loss,
    descent_weight,
    kernel_arguments,
)
from trials.models.run_status import RunStatus

EPS = np.finfo(float).eps


def draw(response, sizes, k=2, d=3, seed=0, length=1.0, **changes):
    """Clients of the model with covariate shift, their clusters, and the model."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((k, d))
    truth *= length / np.linalg.norm(truth, axis=1, keepdims=True)
    model = FederatedModel(
        theta_star=truth, fractions=np.full(k, 1 / k), response=response, sigma=0.5,
        roots=covariance_roots(k, d, 0.5, 2.0, rng), **changes,
    )  # fmt: skip
    sample = model.draw(sizes, rng, np.arange(len(sizes)) % k)
    return sample.data, sample.labels, model


@pytest.mark.interpreted
@settings(deadline=None, max_examples=100)
@given(
    prediction=st.one_of(st.floats(-50, 50), st.floats(-1e300, 1e300)),
    label=st.sampled_from([-1.0, 1.0]),
)
def test_logistic_loss_and_slope_are_exact_at_every_margin(prediction, label):
    with mpmath.workdps(60):
        # beyond a margin of 1e4 the exponential is 1e-4300 or less
        clipped = mpmath.mpf(max(min(prediction, 1e4), -1e4)) * label
        loss = mpmath.log1p(mpmath.exp(-clipped))
        if label * prediction < -1e4:
            loss = -mpmath.mpf(label) * mpmath.mpf(prediction)
        pull = label / (1 + mpmath.exp(clipped))
    # exp, log1p and a sum.  An underflow below the smallest normal number is an absolute error
    assert data_loss(LOGISTIC, 1.0, prediction, label) == pytest.approx(
        float(loss), rel=8 * EPS, abs=1e-307
    )
    assert descent_weight(LOGISTIC, prediction, label) == pytest.approx(
        float(pull), rel=8 * EPS, abs=1e-307
    )


@pytest.mark.interpreted
@pytest.mark.parametrize("loss", [SquaredLoss(scale=1.7), LogisticLoss(l2=0.0)])
def test_slopes_are_the_derivatives_of_the_losses(loss):
    """A central difference of step h errs by h^2/6 times a third derivative < 1, and EPS/h."""
    kind, scale, _ = kernel_arguments(loss, np.ones(1))
    h = 1e-5
    for prediction, response in itertools.product([-3.0, -0.2, 0.0, 0.7, 4.0], [-1.0, 1.0]):
        up, down = (data_loss(kind, scale, prediction + e, response) for e in (h, -h))
        slope = -scale * descent_weight(kind, prediction, response)
        assert slope == pytest.approx((up - down) / (2 * h), abs=1e-8)


@pytest.mark.interpreted
def test_client_losses_are_scikit_learns_and_decide_the_labels():
    data, _, _ = draw("logistic", [1, 5, 40, 300], d=4)
    models = 3 * np.random.default_rng(1).standard_normal((6, 4))
    loss = LogisticLoss(l2=0.2)
    labels = np.full((2, 4), -1)
    label_subset(
        data.arrays, np.arange(4), models, 3, kernel_arguments(loss, data.responses),
        np.empty(6 * 300), np.empty(6), labels,
    )  # fmt: skip
    for i in range(4):
        rows = slice(data.offsets[i], data.offsets[i + 1])
        x, y = data.features[rows], data.responses[rows]
        wanted = [
            log_loss(y, 1 / (1 + np.exp(-x @ theta)), labels=[-1, 1]) + 0.1 * theta @ theta
            for theta in models
        ]
        np.testing.assert_allclose([loss.values(x, y, t).mean() for t in models], wanted)
        np.testing.assert_array_equal(labels[:, i], np.reshape(wanted, (2, 3)).argmin(axis=1))


@pytest.mark.interpreted
@pytest.mark.parametrize("averaging", ["gradient", "model"])
def test_ridge_is_the_squared_loss_with_rows_added(averaging):
    """Rows sqrt((n + d)/n) X above sqrt((n + d) l2 / c) I have the ridge loss for their mean."""
    n, d, k, scale, l2 = 7, 3, 2, 1.6, 0.4
    data, _, _ = draw("linear", [n] * 6, k, d)
    total = n + d
    x = np.empty((6, total, d))
    y = np.zeros((6, total))
    x[:, :n] = np.sqrt(total / n) * data.features.reshape(6, n, d)
    y[:, :n] = np.sqrt(total / n) * data.responses.reshape(6, n)
    x[:, n:] = np.sqrt(total * l2 / scale) * np.eye(d)
    options = IfcaOptions(
        averaging=averaging, local_steps=3 if averaging == "model" else 1, step_decay=0.97,
        shared=np.arange(d) < 1, stable_after=2, n_participants=4,
    )  # fmt: skip
    starts = np.random.default_rng(3).standard_normal((3, k, d))
    starts[:, :, 0] = starts[:, :1, 0]
    arguments = {"starts": starts, "step_sizes": np.array([0.01, 0.05, 0.2]), "n_iterations": 12}
    ridge = run_ifca_options(
        data=data, loss=SquaredLoss(scale=scale, l2=l2), options=options,
        rng=np.random.default_rng(4), **arguments,
    )  # fmt: skip
    plain = run_ifca_options(
        data=ClientData.equal(x, y), loss=SquaredLoss(scale=scale), options=options,
        rng=np.random.default_rng(4), **arguments,
    )  # fmt: skip
    np.testing.assert_allclose(ridge.models, plain.models, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(ridge.labels, plain.labels)
    np.testing.assert_array_equal(ridge.down, plain.down)


def test_without_a_penalty_ridge_is_squared_and_its_scale_is_a_step_size():
    """The smallest penalty, 5e-324, takes the penalised path and adds nothing to the sums."""
    data, _, _ = draw("linear", [3, 9, 20, 1, 6], 2, 4)
    starts = np.random.default_rng(1).standard_normal((2, 2, 4))
    steps = np.array([0.05, 0.2])
    arguments = {"data": data, "starts": starts, "n_iterations": 15}
    squared = run_ifca_options(step_sizes=steps, **arguments)
    no_penalty = SquaredLoss(scale=2.0, l2=5e-324)
    ridge = run_ifca_options(step_sizes=steps, loss=no_penalty, **arguments)
    half = run_ifca_options(step_sizes=2 * steps, loss=SquaredLoss(), **arguments)
    for other in (ridge, half):
        np.testing.assert_array_equal(other.models, squared.models)
        np.testing.assert_array_equal(other.labels, squared.labels)


def scikit_minimiser(loss, x, y):
    """The minimiser of the average loss of these rows by scikit-learn."""
    if isinstance(loss, LogisticLoss):
        peer = LogisticRegression(
            C=1 / (len(y) * loss.l2), fit_intercept=False, tol=1e-12, max_iter=500,
            solver="newton-cholesky",
        )  # fmt: skip
    else:
        peer = Ridge(alpha=len(y) * loss.l2 / loss.scale, fit_intercept=False, solver="cholesky")
    return np.ravel(peer.fit(x, y).coef_)


@pytest.mark.parametrize("loss", [SquaredLoss(l2=0.3), LogisticLoss(l2=0.3)])
def test_baselines_reach_the_minimisers_that_scikit_learn_finds(loss):
    """Equal clients, so that the mean of their losses is the loss of their rows."""
    response = "logistic" if isinstance(loss, LogisticLoss) else "linear"
    data, owner, _ = draw(response, [25] * 6)
    x, y, rows = data.features, data.responses, np.repeat(owner, 25)
    starts = np.random.default_rng(2).standard_normal((1, 2, 3))
    arguments = {"data": data, "step_sizes": np.array([0.5]), "n_iterations": 800, "loss": loss}
    oracle = run_oracle(owner=owner, starts=starts, **arguments)
    everyone = run_global(starts=starts[:, 0], **arguments)
    for j in range(2):
        mine = rows == j
        peer = scikit_minimiser(loss, x[mine], y[mine])
        np.testing.assert_allclose(oracle.models[0, j], peer, rtol=0, atol=1e-8)
    peer = scikit_minimiser(loss, x, y)
    np.testing.assert_allclose(everyone.models[0, 0], peer, rtol=0, atol=1e-8)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "loss",
    [SquaredLoss(scale=2.0), SquaredLoss(l2=0.5), LogisticLoss(l2=0.0), LogisticLoss(l2=0.2)],
)
def test_the_oracle_reaches_the_populations_minimiser(loss):
    """N = 40,000 rows a cluster: z-scores with the sandwich covariance H^-1 G H^-1 / N.

    2 clusters x 3 coordinates x 4 losses at 5 standard errors: false alarm 1.4e-5.
    """
    logistic = isinstance(loss, LogisticLoss)
    data, owner, model = draw("logistic" if logistic else "linear", [1000] * 80)
    smoothness = loss.constants(model.population(0), 0.0).smoothness  # the same in both
    result = run_oracle(
        data=data, owner=owner, starts=np.zeros((1, 2, 3)), n_iterations=250, loss=loss,
        step_sizes=np.array([2.0 / smoothness]),  # 1 / L, for half of the clients
    )  # fmt: skip
    rows = np.repeat(owner, 1000)
    for j in range(2):
        x, y = data.features[rows == j], data.responses[rows == j]
        wanted = loss.minimiser(model.population(j))
        slopes = loss.gradients(x, y, wanted)
        curvature = 0.25 / np.cosh(x @ wanted / 2) ** 2 if logistic else np.full(len(x), loss.scale)
        inverse = np.linalg.inv(x.T @ (curvature[:, None] * x) / len(x) + loss.l2 * np.eye(3))
        errors = np.sqrt(np.diag(inverse @ np.cov(slopes.T) @ inverse) / len(x))
        assert errors.max() < 0.03  # the bound below has teeth
        gap = result.models[0, j] - wanted
        assert (np.abs(gap) < 5 * errors).all()
        # and the oracle has converged, far below its statistical error
        at_end = loss.gradients(x, y, result.models[0, j]).mean(axis=0)
        assert np.linalg.norm(inverse @ at_end) < 1e-3 * errors.min()


@pytest.mark.parametrize("averaging", ["gradient", "model"])
@pytest.mark.parametrize("loss", [SquaredLoss(l2=0.01), LogisticLoss(l2=0.01)])
def test_ifca_finds_planted_clusters_from_random_starts(loss, averaging):
    """The restart of least total loss has the planted clusters and the oracle's models."""
    response = "logistic" if isinstance(loss, LogisticLoss) else "linear"
    data, owner, model = draw(response, np.arange(60, 90), 3, 5, length=4.0)
    starts = np.random.default_rng(7).standard_normal((10, 3, 5))
    options = IfcaOptions(averaging=averaging, local_steps=5 if averaging == "model" else 1)
    step = 0.7 / loss.constants(model.population(0), 0.0).smoothness
    steps = np.full(10, 3 * step if averaging == "gradient" else step)
    arguments = {"data": data, "n_iterations": 400, "options": options, "loss": loss}
    found = run_ifca_options(starts=starts, step_sizes=steps, **arguments)
    assert (found.status == RunStatus.COMPLETED).all()

    def total(run):
        rows = zip(data.offsets[:-1], data.offsets[1:], strict=True)
        return sum(
            loss.values(data.features[a:z], data.responses[a:z], models).mean()
            for (a, z), models in zip(rows, found.models[run, found.labels[run]], strict=True)
        )

    best = min(range(10), key=total)
    names = np.array([found.labels[best, owner == j][0] for j in range(3)])
    assert set(names) == {0, 1, 2}
    np.testing.assert_array_equal(found.labels[best], names[owner])
    oracle = run_oracle(owner=owner, starts=starts[[best]], step_sizes=steps[:1], **arguments)
    np.testing.assert_allclose(found.models[best, names], oracle.models[0], rtol=0, atol=1e-6)


def test_unpenalised_logistic_runs_are_bounded_and_leave_by_a_status():
    """A gradient is at most the longest row, so T steps of gamma stay within gamma T |x|."""
    data, owner, _ = draw("logistic", [2] * 6, length=40.0)  # separable: no minimiser
    longest = np.linalg.norm(data.features, axis=1).max()
    result = run_oracle(
        data=data, owner=owner, starts=np.zeros((2, 2, 3)), step_sizes=np.array([100.0, 1e300]),
        n_iterations=50, loss=LogisticLoss(l2=0.0),
    )  # fmt: skip
    np.testing.assert_array_equal(result.status, [RunStatus.COMPLETED, RunStatus.DIVERGED])
    assert np.linalg.norm(result.models[0], axis=1).max() <= 100 * 50 * longest
    assert (result.models[1] == 0).all()


@pytest.mark.interpreted
def test_labels_that_are_not_signs_are_refused_by_every_driver():
    data, owner, _ = draw("logistic", [4] * 4)
    zeros = ClientData(
        features=data.features, responses=(data.responses + 1) / 2, offsets=data.offsets
    )
    starts = np.zeros((1, 2, 3))
    loss = LogisticLoss(l2=0.1)
    common = {"data": zeros, "step_sizes": np.ones(1), "n_iterations": 1, "loss": loss}
    for call in (
        lambda: run_ifca_options(starts=starts, **common),
        lambda: run_oracle(starts=starts, owner=owner, **common),
        lambda: run_global(starts=starts[:, 0], **common),
    ):
        with pytest.raises(InvalidParameter, match=r"responses\[\d+\]=0 must be -1 or \+1"):
            call()
