"""Local fits, clustering and averaging together: what must not depend on units, axes or order.

The server of ODCL gets least squares fits, clusters them and returns each user the mean of its
cluster.  In linear regression a change of the data moves the fits in a known way, so the returned
models must move alike.
"""

import numpy as np
import pytest

from trials.clustering.convex import convex_clustering, convex_clustering_path
from trials.clustering.kmeans import spectral_kmeans
from trials.clustering.selection import interval_lambda
from trials.local_erm import least_squares

TRUE = np.repeat(np.arange(3), (5, 3, 4))


def convex_labels(fits):
    penalty, interval = interval_lambda(fits[None], TRUE[None], np.random.default_rng(1))
    assert interval.holds(penalty).all()
    solved = convex_clustering(fits, float(penalty[0]))
    assert solved.certified
    return solved.labels


def spectral_labels(fits):
    return spectral_kmeans(fits[None], 3, np.random.default_rng(1)).labels[0]


def one_shot(features, responses, cluster):
    """(m, d) model that each user gets back, and the labels."""
    fits = least_squares(features, responses).theta
    labels = cluster(fits)
    sums = np.zeros((labels.max() + 1, fits.shape[1]))
    np.add.at(sums, labels, fits)
    return (sums / np.bincount(labels)[:, None])[labels], labels


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(5)
    optima = np.array([[4.0, 0.0, 1.0], [-3.0, 5.0, 0.0], [0.0, -6.0, 2.0]])
    features = rng.standard_normal((TRUE.size, 40, 3))
    responses = np.einsum("ind,id->in", features, optima[TRUE])
    return features, responses + 0.1 * rng.standard_normal(responses.shape)


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b))


BOTH = pytest.mark.parametrize("cluster", [convex_labels, spectral_labels])


@BOTH
def test_every_user_gets_the_mean_of_its_true_cluster(world, cluster):
    features, responses = world
    models, labels = one_shot(features, responses, cluster)
    fits = least_squares(features, responses).theta
    assert same_partition(labels, TRUE)
    for j in range(3):
        assert models[j == TRUE] == pytest.approx(
            np.repeat(fits[j == TRUE].mean(axis=0)[None], (j == TRUE).sum(), axis=0)
        )


@BOTH
def test_rotated_features_rotate_the_models(world, cluster):
    features, responses = world
    turn, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))
    before, labels = one_shot(features, responses, cluster)
    after, labels_after = one_shot(features @ turn.T, responses, cluster)
    assert same_partition(labels, labels_after)
    assert after == pytest.approx(before @ turn.T, abs=1e-9)


@BOTH
@pytest.mark.parametrize("scale", [1e-6, 1e6, -3.0])
def test_scaled_responses_scale_the_models(world, cluster, scale):
    features, responses = world
    before, labels = one_shot(features, responses, cluster)
    after, labels_after = one_shot(features, scale * responses, cluster)
    assert same_partition(labels, labels_after)
    assert after == pytest.approx(scale * before, rel=1e-8, abs=1e-8 * abs(scale))


@BOTH
def test_a_common_shift_of_all_optima_shifts_the_models(world, cluster):
    features, responses = world
    shift = np.array([100.0, -50.0, 25.0])
    before, labels = one_shot(features, responses, cluster)
    after, labels_after = one_shot(features, responses + features @ shift, cluster)
    assert same_partition(labels, labels_after)
    assert after == pytest.approx(before + shift, abs=1e-8)


def test_users_in_another_order_get_their_own_models(world):
    features, responses = world
    order = np.random.default_rng(3).permutation(TRUE.size)
    before, _ = one_shot(features, responses, spectral_labels)
    after, _ = one_shot(features[order], responses[order], spectral_labels)
    assert after == pytest.approx(before[order], abs=1e-9)


def test_two_users_with_equal_data_fuse_first(world):
    features, responses = world
    fits = least_squares(features, responses).theta
    fits[7] = fits[0]  # of another cluster
    first = convex_clustering_path(fits).merges[0]
    assert set(first.children) == {0, 7}
    assert first.penalty == 0.0
    assert convex_clustering(fits, 1e-12).labels[7] == 0
