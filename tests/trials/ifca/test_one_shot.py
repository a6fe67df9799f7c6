"""One-shot clustering against its three parts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from trials.checks import InvalidParameter
from trials.clustering.kmeans import kmeans_pp
from trials.ifca.one_shot import local_erms, run_one_shot
from trials.ifca.options import IfcaOptions, run_ifca_options, run_oracle
from trials.models.clients import ClientData
from trials.models.federated_data import FederatedModel
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


@pytest.mark.parametrize(
    "options", [None, IfcaOptions(averaging="model", local_steps=3, shared=np.arange(6) < 1)]
)
def test_the_result_is_that_of_the_parts(problem, options):
    data, _, _ = problem
    steps = np.array([0.1, 0.2])
    whole = run_one_shot(
        data=data, k=3, step_sizes=steps, n_iterations=5, rng=np.random.default_rng(4),
        options=options,
    )  # fmt: skip
    erms = local_erms(data)
    clustering = kmeans_pp(erms[None], 3, np.random.default_rng(4))
    starts = np.repeat(clustering.centers, 2, axis=0)
    if options is not None:
        starts[:, :, 0] = erms[:, 0].mean()
    within = run_ifca_options(
        data=data, starts=starts, step_sizes=steps, n_iterations=5, options=options,
        known_labels=clustering.labels[0],
    )  # fmt: skip
    np.testing.assert_array_equal(whole.erms, erms)
    np.testing.assert_array_equal(whole.labels, clustering.labels[0])
    np.testing.assert_array_equal(whole.within.models, within.models)
    assert whole.floats_up == 12 * 6
    assert (whole.within.down == 12 * 6).all()


def test_separated_clusters_give_the_oracle(problem):
    """The client with 3 rows of 6 may go anywhere.  Without it the clusters are the true ones."""
    data, _, owner = problem
    cut = data.offsets[11]
    data = ClientData(
        features=data.features[:cut], responses=data.responses[:cut], offsets=data.offsets[:12]
    )
    owner = owner[:11]
    arguments = {"data": data, "step_sizes": np.array([0.3]), "n_iterations": 20}
    rng = np.random.default_rng(4)
    found = run_one_shot(k=3, rng=rng, n_init=10, **arguments)
    names = np.array([found.labels[owner == j][0] for j in range(3)])
    np.testing.assert_array_equal(found.labels, names[owner])
    start = np.repeat(found.clustering.centers, 1, axis=0)[:, names]
    oracle = run_oracle(owner=owner, starts=start, **arguments)
    np.testing.assert_allclose(found.within.models[:, names], oracle.models, rtol=0, atol=1e-12)


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


@pytest.mark.parametrize(
    ("loss", "response"), [(SquaredLoss(l2=0.05), "linear"), (LogisticLoss(l2=0.05), "logistic")]
)
def test_planted_clusters_are_found_and_learnt_with_every_loss(loss, response):
    rng = np.random.default_rng(5)
    model = FederatedModel(
        theta_star=3 * np.eye(4)[:3], fractions=np.full(3, 1 / 3), sigma=0.3, response=response
    )
    owner = np.arange(24) % 3
    data = model.draw(rng.integers(150, 250, 24), rng, owner).data
    step = 1 / loss.constants(model.population(0), 0.0).smoothness
    arguments = {"data": data, "step_sizes": np.array([step]), "n_iterations": 300, "loss": loss}
    found = run_one_shot(k=3, rng=rng, n_init=10, **arguments)
    names = np.array([found.labels[owner == j][0] for j in range(3)])
    np.testing.assert_array_equal(found.labels, names[owner])
    oracle = run_oracle(owner=owner, starts=np.zeros((1, 3, 4)), **arguments)
    np.testing.assert_allclose(found.within.models[0, names], oracle.models[0], rtol=0, atol=1e-6)


def test_a_client_without_a_minimiser_is_named(problem):
    data = with_labels(problem[0])
    with pytest.raises(InvalidParameter, match=r"client 11 \(3 rows\) ended as NO_MINIMIZER"):
        local_erms(data, LogisticLoss(l2=0.0))
    overlapping = ClientData(features=np.ones((3, 1)), responses=[1, 1, -1], offsets=[0, 3])
    # odds of two to one at x = 1
    np.testing.assert_allclose(local_erms(overlapping, LogisticLoss(l2=0.0)), [[np.log(2)]])


def test_bad_arguments_are_refused(problem):
    data, _, _ = problem
    good = {"data": data, "k": 3, "step_sizes": np.ones(1), "n_iterations": 1}
    for change, message in (
        ({"loss": LogisticLoss(l2=0.1)}, r"responses\[0\]=.* must be -1 or \+1"),
        ({"loss": "ridge"}, "loss='ridge' must be"),
        ({"step_sizes": np.zeros(1)}, "step_sizes=0.0 must be > 0"),
        ({"options": IfcaOptions(shared=np.array([True]))}, r"shared of shape \(1,\)"),
        ({"options": IfcaOptions(shared=np.array([0, 7]))}, "shared of shape"),
        ({"rng": None}, "rng=None must be"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            run_one_shot(**({"rng": np.random.default_rng(0)} | good | change))


def test_more_clusters_than_clients_are_refused(problem):
    data, _, _ = problem
    with pytest.raises(InvalidParameter, match=r"k=13 must be an integer in \[1, 12\]"):
        run_one_shot(
            data=data, k=13, step_sizes=np.ones(1), n_iterations=1, rng=np.random.default_rng(0)
        )
