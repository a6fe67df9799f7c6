"""One-shot clustering against its three parts."""

from __future__ import annotations

import numpy as np
import pytest

from trials.experiment import InvalidParameter
from trials.ifca import ClientData
from trials.ifca_options import IfcaOptions, run_ifca_options, run_oracle
from trials.kmeans import kmeans_pp
from trials.one_shot import local_erms, run_one_shot


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
    """The client with 3 rows of 6 may go anywhere; without it the clusters are the true ones."""
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


def test_more_clusters_than_clients_are_refused(problem):
    data, _, _ = problem
    with pytest.raises(InvalidParameter, match="k=13 must be between 1 and 12"):
        run_one_shot(
            data=data, k=13, step_sizes=np.ones(1), n_iterations=1, rng=np.random.default_rng(0)
        )
