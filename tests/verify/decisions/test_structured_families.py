"""Points with labels: corners by hand, and the laws of samples and moves.

Shares and spreads are of seeded draws.  Their tolerances are five standard errors or more, which
fail once in a million seeds.
"""

import math

import numpy as np
import pytest
from scipy import stats

from verify.decisions.structured import (
    LabelledPoints,
    _round,
)

POINTS = LabelledPoints(
    name="x", labels="j", clusters=(1, 3), points=(2, 7), dimensions=(1, 2), scale=2.0,
    spread=(1e-4, 0.25),
)  # fmt: skip


def rng():
    return np.random.default_rng(3)


def share(condition, expected, n):
    """Whether the share of successes in n draws is the expected one, within five errors."""
    return abs(np.mean(condition) - expected) <= 5 * math.sqrt(expected * (1 - expected) / n)


@pytest.mark.parametrize(
    ("values", "versions"),
    [
        ([1.0, 2.0], []),
        ([1.5], [2.0]),
        ([0.1234567891], [0.1, 0.12, 0.123, 0.12346, 0.123456789]),
        ([-1234.0], [-1000.0, -1200.0, -1230.0]),
    ],
)
def test_versions_with_fewer_digits_start_with_the_fewest(values, versions):
    assert [float(v[0]) for v in _round(np.array(values))] == versions


# -- points with labels ----------------------------------------------------------------------------


def test_corners_of_points_by_hand():
    """Seven points in three clusters; scale 2; spreads 0, 1e-4, 1/4 and a quarter of a gap."""
    made = list(POINTS.corners(rng(), 100))
    assert len(made) == 16
    assert len(list(POINTS.corners(rng(), 5))) == 5
    even, uneven = [0, 0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 0, 1, 2]
    line, far = [-1.0, 0.0, 1.0], [0.0, 1e-3, 1.0]
    expected = [
        (spread, labels, centres)
        for spread in (0.0, 1e-4, 0.25, 0.25)
        for labels in (even, uneven)
        for centres in (line, far)
    ]
    for point, (spread, labels, centres) in zip(made, expected, strict=True):
        assert point["j"].tolist() == labels
        noise = point["x"] / 2.0 - np.array([[centres[j], 0.0] for j in labels])
        assert np.abs(noise) == pytest.approx(np.full((7, 2), spread))
    assert len({tuple(np.sign(p["x"][:, 1])) for p in made[4:]}) == 1  # one noise for all


def test_corners_of_one_cluster_and_of_two():
    one = LabelledPoints(name="x", labels="j", clusters=(1, 1), points=(1, 2), dimensions=(1, 1))
    assert [p["x"].ravel().tolist() for p in one.corners(rng(), 2)] == [[0.0, 0.0], [1.0, 1.0]]
    spreads = [np.abs(p["x"]).max() for p in list(one.corners(rng(), 100))[12::2]]
    assert spreads == pytest.approx([0.5, 0.5])
    few = LabelledPoints(name="x", labels="j", clusters=(1, 9), points=(1, 2), dimensions=(1, 1))
    assert next(few.corners(rng(), 1))["j"].tolist() == [0, 1]  # no more clusters than points


def test_sampled_points_are_normal_two_valued_and_one_sided_in_turn():
    many = LabelledPoints(
        name="x", labels="j", clusters=(2, 2), points=(400, 400), dimensions=(2, 2),
        scale=3.0, spread=(0.01, 0.02),
    )  # fmt: skip
    made = list(many.sample(rng(), 60))
    for i, point in enumerate(made):
        largest = np.bincount(point["j"]).argmax()
        x = point["x"][point["j"] == largest]
        sides = np.unique(np.round(x, 9), axis=0).shape[0]
        assert (sides <= 4) is (i % 3 == 1)
        lowest = (x - x.min(axis=0)) / x.std(axis=0)
        # The least of a normal sample lies about three deviations below the mean.
        assert bool(np.all(lowest.mean(axis=0) < 1.7)) is (i % 3 != 0)
        spread = {0: 1.0, 1: 1.0, 2: math.sqrt(1 - 2 / math.pi)}[i % 3]
        assert 0.009 < np.mean(x.std(axis=0)) / 3.0 / spread < 0.022
    centres = np.concatenate([p["x"][p["j"] == 0].mean(axis=0) / 3.0 for p in made])
    assert stats.kstest(centres, stats.uniform(-1, 2).cdf).pvalue > 1e-6


def test_numbers_of_clusters_and_points_are_even_and_no_cluster_is_empty():
    made = list(POINTS.sample(rng(), 3000))
    clusters = [p["j"].max() + 1 for p in made]
    for k in (1, 2, 3):
        assert share([c == k for c in clusters], 1 / 3, 3000)
    three = [len(p["j"]) for p, c in zip(made, clusters, strict=True) if c == 3]
    for n in range(3, 8):
        assert share([size == n for size in three], 0.2, len(three))
    assert all(np.unique(p["j"]).size == c for p, c in zip(made, clusters, strict=True))


def test_points_move_one_by_one_or_by_cluster_or_in_their_spread():
    labels = np.array([0, 0, 0, 1, 1, 1])
    x = np.array([[1.0], [2.0], [4.0], [10.0], [11.0], [13.0]])
    random, n = rng(), 3000
    kinds = {"points": [], "cluster": [], "spread": []}
    for _ in range(n):
        change = POINTS.perturb(random, {"x": x, "j": labels}, 0.01)["x"] - x
        means = [change[labels == j].mean() for j in (0, 1)]
        if np.count_nonzero(np.abs(change) > 1e-15) == 3:
            kinds["cluster"].append(change[change != 0][0])
        elif max(map(abs, means)) < 1e-12:
            kinds["spread"].append(math.log1p(change[2, 0] / (4 - 7 / 3)))
        else:
            kinds["points"].append(change.ravel())
    for found in kinds.values():
        assert share([1] * len(found) + [0] * (n - len(found)), 1 / 3, n)
    assert np.std(kinds["cluster"]) == pytest.approx(0.01 * 2.0, rel=0.15)
    assert np.std(kinds["spread"]) == pytest.approx(0.01, rel=0.15)
    assert np.std(kinds["points"]) == pytest.approx(0.01 * 2.0 / math.sqrt(3), rel=0.1)


def test_points_are_left_out_by_cluster_then_one_by_one():
    labels, x = np.array([0, 0, 1, 2]), np.array([[1.0], [2.0], [0.0], [5.0]])
    small = LabelledPoints(name="x", labels="j", clusters=(2, 3), points=(3, 7), dimensions=(1, 1))
    offered = [
        (p["j"].tolist(), p["x"].ravel().tolist()) for p in small.shrink({"x": x, "j": labels})
    ]
    assert offered == [
        ([0, 0, 1], [1.0, 2.0, 5.0]),  # the first cluster holds too many to go
        ([0, 0, 1], [1.0, 2.0, 0.0]),
        ([0, 1, 2], [2.0, 0.0, 5.0]),
        ([0, 1, 2], [1.0, 0.0, 5.0]),
    ]  # a point at zero would lie on the one that is there
    tight = LabelledPoints(name="x", labels="j", clusters=(3, 3), points=(4, 4), dimensions=(1, 1))
    assert all(p["x"].shape == (4, 1) for p in tight.shrink({"x": x, "j": labels}))
    wide = {"x": np.array([[1.0, 0.0], [0.0, 1.0]]), "j": np.array([0, 0])}
    assert [p["x"].tolist() for p in POINTS.shrink(wide)][:2] == [[[0.0], [1.0]], [[1.0], [0.0]]]
