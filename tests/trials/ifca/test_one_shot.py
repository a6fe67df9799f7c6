"""Local minimisers against NumPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from trials.checks import InvalidParameter
from trials.ifca.one_shot import local_erms
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss, SquaredLoss


@pytest.fixture
def problem():
    """Twelve ragged clients of three well separated clusters, some with fewer rows than d."""
    rng = np.random.default_rng(1)
    sizes = np.array([40, 30, 40, 25, 40, 30, 25, 40, 30, 40, 40, 3])
    truth = 5 * rng.standard_normal((3, 6))
    owner = np.arange(12) % 3
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    features = rng.standard_normal((offsets[-1], 6))
    responses = np.einsum("nd,nd->n", features, truth[np.repeat(owner, sizes)])
    responses += 0.1 * rng.standard_normal(offsets[-1])
    return ClientData(features=features, responses=responses, offsets=offsets), truth, owner


def test_local_minimisers_are_those_of_lstsq(problem):
    data, _, _ = problem
    erms = local_erms(data)
    for i in range(12):
        a, z = data.offsets[i : i + 2]
        wanted = np.linalg.lstsq(data.features[a:z], data.responses[a:z], rcond=None)[0]
        np.testing.assert_allclose(erms[i], wanted, rtol=1e-9, atol=1e-9)


def with_labels(data):
    """The same clients with the signs of their responses."""
    return ClientData(
        features=data.features, responses=np.sign(data.responses), offsets=data.offsets
    )


@pytest.mark.parametrize("loss", [SquaredLoss(scale=2.0, l2=0.3), LogisticLoss(l2=0.3)])
def test_penalised_local_minimisers_are_scikit_learns(problem, loss):
    """The last client has 3 rows of 6 features, and labels are separable on several."""
    data = with_labels(problem[0])
    erms = local_erms(data, loss)
    for i in range(12):
        rows = slice(data.offsets[i], data.offsets[i + 1])
        x, y = data.features[rows], data.responses[rows]
        if isinstance(loss, LogisticLoss):
            peer = LogisticRegression(C=1 / (len(y) * 0.3), fit_intercept=False, tol=1e-10)
        else:
            peer = Ridge(alpha=len(y) * 0.3 / 2.0, fit_intercept=False)
        np.testing.assert_allclose(erms[i], np.ravel(peer.fit(x, y).coef_), rtol=0, atol=1e-5)
        # scikit-learn's L-BFGS stops early.  The gradient at a minimiser vanishes to rounding
        slope = loss.gradients(x, y, erms[i]).mean(axis=0)
        np.testing.assert_allclose(slope, 0.0, atol=1e-12)


def test_a_client_without_a_minimiser_is_named(problem):
    data = with_labels(problem[0])
    with pytest.raises(InvalidParameter, match=r"client 11 \(3 rows\) ended as NO_MINIMIZER"):
        local_erms(data, LogisticLoss(l2=0.0))
    overlapping = ClientData(features=np.ones((3, 1)), responses=[1, 1, -1], offsets=[0, 3])
    # odds of two to one at x = 1
    np.testing.assert_allclose(local_erms(overlapping, LogisticLoss(l2=0.0)), [[np.log(2)]])


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (LogisticLoss(l2=0.1), r"responses\[0\]=.* must be -1 or \+1"),
        ("ridge", "loss='ridge' must be"),
    ],
)
def test_bad_losses_are_refused(problem, loss, message):
    with pytest.raises(InvalidParameter, match=message):
        local_erms(problem[0], loss)
