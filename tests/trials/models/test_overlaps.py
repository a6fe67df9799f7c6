"""The overlaps of found and true clusters against all ways to name the found ones."""

import itertools

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.models.matching import bottleneck_distance, nearest_distance, overlaps


@pytest.mark.parametrize("seed", range(8))
def test_the_names_are_the_best_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(1, 5)), int(rng.integers(1, 20))
    found, labels = rng.integers(0, k, m), rng.integers(0, k, m)
    table = overlaps(found, labels, k)
    best = max(
        sum(int(names[one] == true) for one, true in zip(found, labels, strict=True))
        for names in itertools.permutations(range(k))
    )
    assert np.trace(table) == best
    assert table.sum(axis=1).tolist() == np.bincount(labels, minlength=k).tolist()
    assert sorted(table.sum(axis=0)) == sorted(np.bincount(found, minlength=k))


def test_labels_that_are_no_clusters_are_refused():
    with pytest.raises(InvalidParameter, match="must be below k=2"):
        overlaps([0, 2], [0, 1], 2)
    with pytest.raises(InvalidParameter):
        overlaps([0, 1, 1], [0, 1], 2)


def test_two_models_may_be_nearest_to_one_true_model() -> None:
    """A run that collapsed on one of two optima: the distance of the authors' code is small."""
    reference = np.array([[0.0, 0.0], [10.0, 0.0]])
    models = np.array([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [7.0, 4.0]]])
    assert nearest_distance(models, reference) == pytest.approx([1.5, 2.5])


@pytest.mark.parametrize("seed", range(12))
def test_the_bottleneck_is_the_best_of_all_permutations(seed):
    """Models far from their centres: two centres often have one nearest model."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    reference, models = rng.integers(-3, 4, (2, k, 2)).astype(float)
    gaps = [[float(np.hypot(*(a - b))) for b in reference] for a in models]
    best = min(
        max(gaps[names[j]][j] for j in range(k)) for names in itertools.permutations(range(k))
    )
    assert bottleneck_distance(models, reference) == pytest.approx(best, rel=1e-14)


def test_two_centres_do_not_share_their_nearest_model():
    models, reference = [[0.0], [100.0]], [[1.0], [-2.0]]
    assert bottleneck_distance(models, reference) == 99.0


@pytest.mark.parametrize("swapped", [False, True])
def test_nearest_models_are_a_matching_from_one_side_and_not_from_the_other(swapped):
    """0 is nearest to both -1 and 4.  Of the models, 0 is nearest to -1 and 10 to 4."""
    models, reference = np.array([[0.0], [10.0]]), np.array([[-1.0], [4.0]])
    pair = (reference, models) if swapped else (models, reference)
    assert bottleneck_distance(*pair) == 6.0  # 0 to -1 and 10 to 4; the other way it is 11
