"""The overlaps of found and true clusters against all ways to name the found ones."""

import itertools

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.models.matching import nearest_distance, overlaps


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
