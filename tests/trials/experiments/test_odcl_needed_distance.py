"""The distances that the algorithms need, against single runs of each at neighbouring rungs."""

import numpy as np
import pytest

from trials.clustering.convex import convex_clustering
from trials.clustering.kmeans import spectral_kmeans
from trials.clustering.recovery import recovery_window
from trials.experiments.odcl import part_one
from trials.experiments.odcl.part_one import (
    LADDER,
    NEEDED_DISTANCE,
    RUNG,
    convex_distance,
    kmeans_distance,
    unit_optima,
)


@pytest.mark.parametrize("seed", range(4))
def test_convex_clustering_recovers_from_its_distance_on(seed):
    rng = np.random.default_rng(seed)
    optima, labels = unit_optima(3, 4), np.repeat(np.arange(3), 4)
    noise = rng.standard_normal((12, 4))
    found = convex_distance(optima, noise, labels)
    at = recovery_window(found * optima[labels] + noise, labels)
    assert at.fused.high < at.merged.low
    penalty = float(np.sqrt(at.fused.high * at.merged.low))
    solved = convex_clustering(found * optima[labels] + noise, penalty)
    assert np.array_equal(solved.labels, labels)
    below = recovery_window(found / RUNG**2 * optima[labels] + noise, labels)
    assert below.fused.high > below.merged.low


def test_a_rough_penalty_leads_to_the_same_rung(monkeypatch):
    optima, labels = unit_optima(3, 2), np.repeat(np.arange(3), [6, 3, 3])
    noises = np.random.default_rng(5).standard_normal((12, 12, 2))
    found = []
    for rough in (1e-8, 1e-2):
        monkeypatch.setattr(part_one, "_ROUGH", rough)
        found.append([convex_distance(optima, noise, labels) for noise in noises])
    assert found[0] == found[1]
    assert len(set(found[0])) > 3


@pytest.mark.parametrize("seed", range(4))
def test_spectral_k_means_fails_at_its_distance_and_not_above(seed):
    rng = np.random.default_rng(10 + seed)
    optima, labels = unit_optima(3, 4), np.repeat(np.arange(3), 5)
    noise = rng.standard_normal((15, 4))
    found = kmeans_distance(optima, noise, labels, np.random.default_rng(0))

    def recovers(distance, stream):
        data = (distance * optima[labels] + noise)[None]
        fit = spectral_kmeans(data, 3, np.random.default_rng(stream))
        return len(set(zip(fit.labels[0].tolist(), labels.tolist(), strict=True))) == 3

    above = LADDER[found * 1.01 < LADDER][:20]
    assert above.size
    assert all(recovers(distance, seed) for distance in above)
    assert not any(recovers(found, stream) for stream in range(8))


def test_columns_are_squares_of_rungs():
    out = NEEDED_DISTANCE.simulate(
        NEEDED_DISTANCE.check({"k": 2, "size": 3, "d": 1}), np.random.default_rng(0), 3
    )
    rungs = np.log(np.sqrt(out)) / np.log(RUNG)
    assert rungs == pytest.approx(np.round(rungs), abs=1e-9)
