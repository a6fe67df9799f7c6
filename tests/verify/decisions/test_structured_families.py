"""The families of structured inputs: corners by hand, and the laws of samples and moves.

Shares and spreads are of seeded draws.  Their tolerances are five standard errors or more, which
fail once in a million seeds.
"""

import math

import numpy as np
import pytest
from scipy import stats

from verify.decisions.structured import (
    Covariance,
    LabelledPoints,
    Matrix,
    Spectrum,
    _rounded,
    _turned,
)

SPECTRUM = Spectrum(name="v", low=0.5, high=8.0, dimensions=(1, 5))
COVARIANCE = Covariance(name="S", low=0.5, high=8.0, dimensions=(1, 4))
MATRIX = Matrix(name="A", rows=(2, 4), columns=(2, 3), scale=10.0, smallest=1e-3)
POINTS = LabelledPoints(
    name="x", labels="j", clusters=(1, 3), points=(2, 7), dimensions=(1, 2), scale=2.0,
    spread=(1e-4, 0.25),
)  # fmt: skip


def rng():
    return np.random.default_rng(3)


def share(condition, expected, n):
    """Whether the share of successes in n draws is the expected one, within five errors."""
    return abs(np.mean(condition) - expected) <= 5 * math.sqrt(expected * (1 - expected) / n)


# -- spectra ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "spectra"),
    [
        (1, [[0.5], [8.0], [8.0], [0.5], [8.0], [8.0]]),
        (2, [[0.5] * 2, [8.0] * 2, [8.0, 0.5], [8.0, 0.5], [8.0, 0.5], [8.0, 0.5]]),
        (
            5,
            [
                [0.5] * 5,
                [8.0] * 5,
                [8.0, 0.5, 0.5, 0.5, 0.5],
                [8.0, 8.0, 8.0, 8.0, 0.5],
                [8.0, 8.0, 8.0, 0.5, 0.5],
                [8.0, 4.0, 2.0, 1.0, 0.5],
            ],
        ),
    ],
)
def test_extreme_spectra(d, spectra):
    assert [s.tolist() for s in SPECTRUM.extremes(d)] == [pytest.approx(s) for s in spectra]


def test_corners_alternate_between_the_ends_of_the_dimensions():
    sizes = [p["v"].size for p in SPECTRUM.corners(rng(), 100)]
    assert sizes == [1, 5] * 6
    assert len(list(SPECTRUM.corners(rng(), 3))) == 3
    one = Spectrum(name="v", low=1.0, high=2.0, dimensions=(3, 3))
    assert len(list(one.corners(rng(), 100))) == 6


def test_sampled_spectra_are_even_in_the_logarithm_and_in_their_dimension():
    drawn = [p["v"] for p in SPECTRUM.sample(rng(), 2000)]
    for d in range(1, 6):
        assert share([v.size == d for v in drawn], 0.2, 2000)
    assert all(np.all(np.diff(v) <= 0) for v in drawn)
    logs = np.log(np.concatenate(drawn) / 0.5) / math.log(16)
    assert stats.kstest(logs, "uniform").pvalue > 1e-6


@pytest.mark.parametrize(("d", "moved"), [(1, 1.0), (2, 0.5), (5, 0.5)])
def test_a_move_changes_half_of_the_eigenvalues_by_a_part_of_the_interval(d, moved):
    at, random, n = {"v": np.full(d, 2.0), "other": 7}, rng(), 4000
    points = [SPECTRUM.perturb(random, at, 0.01) for _ in range(n)]
    assert all(p["other"] == 7 for p in points)
    values = np.array([p["v"] for p in points])
    assert np.all(np.diff(values) <= 0)
    changed = values != 2.0
    assert (moved == 1.0 and changed.all()) or share(changed, moved, n * d)
    spread = np.log(values[changed] / 2.0).std()
    assert spread == pytest.approx(math.log(16) * 0.01, rel=0.06)


def test_simpler_spectra_move_one_eigenvalue_to_one_then_to_an_end_and_never_back():
    found = [c.tolist() for c in SPECTRUM._simpler(np.array([8.0, 3.0, 1.0, 0.5]))]
    assert found == [
        [1.0, 3.0, 1.0, 0.5],
        [8.0, 1.0, 1.0, 0.5],
        [8.0, 3.0, 1.0, 1.0],
        [0.5, 3.0, 1.0, 0.5],
        [8.0, 0.5, 1.0, 0.5],
        [8.0, 8.0, 1.0, 0.5],
    ]
    high = Spectrum(name="v", low=2.0, high=8.0, dimensions=(1, 3))
    assert [c.tolist() for c in high._simpler(np.array([3.0]))] == [[2.0], [8.0]]


def test_a_spectrum_loses_one_eigenvalue_at_a_time_down_to_the_smallest_dimension():
    two = Spectrum(name="v", low=0.5, high=8.0, dimensions=(2, 3))
    sizes = [s["v"].tolist() for s in two.shrink({"v": np.array([8.0, 4.0, 0.5])})]
    assert sizes[:3] == [[4.0, 0.5], [8.0, 0.5], [8.0, 4.0]]
    assert all(s["v"].size == 2 for s in two.shrink({"v": np.array([8.0, 4.0])}))


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
    assert [float(v[0]) for v in _rounded(np.array(values))] == versions


# -- covariances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_turned_basis_is_orthogonal_with_a_first_vector_of_equal_entries(d):
    basis = _turned(d)
    assert basis @ basis.T == pytest.approx(np.eye(d))
    assert basis[:, 0] == pytest.approx(np.full(d, -1 / math.sqrt(d)))


def test_covariance_corners_are_diagonal_and_turned():
    made = [p["S"] for p in COVARIANCE.corners(rng(), 100)]
    assert [a.shape[0] for a in made] == [1, 4, 4] * 6
    assert all(np.array_equal(a, np.diag(np.diag(a))) for a in made[1::3])
    assert made[7] == pytest.approx(np.diag([8.0, 0.5, 0.5, 0.5]))
    assert made[8] == pytest.approx(0.5 * np.eye(4) + 7.5 * np.full((4, 4), 0.25))
    assert len(list(COVARIANCE.corners(rng(), 4))) == 4


def test_one_covariance_in_four_has_an_extreme_spectrum():
    for i, point in enumerate(COVARIANCE.sample(rng(), 40)):
        values = np.linalg.eigvalsh(point["S"])[::-1]
        extremes = SPECTRUM.extremes(values.size)
        assert any(np.allclose(values, e) for e in extremes) is (i % 4 == 0), i


def test_a_covariance_moves_by_its_eigenvalues_and_by_a_small_rotation():
    at, random, turns = {"S": np.diag([4.0, 2.0, 1.0])}, rng(), []
    assert COVARIANCE.perturb(random, at, 0.0)["S"] == pytest.approx(at["S"])
    for _ in range(1500):
        moved = COVARIANCE.perturb(random, at, 1e-3)["S"]
        vectors = np.linalg.eigh(moved)[1][:, ::-1]
        turns += [vectors[i, j] for i, j in ((0, 1), (0, 2), (1, 2))]
    assert np.std(turns) == pytest.approx(math.sqrt(2) * 1e-3, rel=0.06)


def test_a_covariance_becomes_diagonal_before_its_entries_become_simple():
    full = np.array([[3.0, 1.0], [1.0, 3.0]])
    offered = [p["S"].tolist() for p in COVARIANCE.shrink({"S": full})]
    assert offered == [[[3.0]], [[3.0]], [[3.0, 0.0], [0.0, 3.0]]]
    offered = [p["S"].tolist() for p in COVARIANCE.shrink({"S": np.diag([3.0, 1.0])})]
    assert offered[2:] == [[[a, 0.0], [0.0, b]] for a, b in ((1, 1), (0.5, 1), (8, 1))]


# -- matrices --------------------------------------------------------------------------------------


def test_matrix_corners_by_hand():
    made = [p["A"] for p in MATRIX.corners(rng(), 100)]
    assert [a.shape for a in made] == [(2, 2)] * 9 + [(4, 3)] * 9
    eye, ones, signs, single = np.eye(2), np.ones((2, 2)), [[1, -1], [-1, 1]], [[1, 0], [0, 0]]
    for i, unit in ((0, 10.0), (4, 1e-3)):
        for a, family in zip(made[i : i + 4], (eye, ones, signs, single), strict=True):
            assert a == pytest.approx(unit * np.array(family))
    assert not made[8].any()
    assert len(list(MATRIX.corners(rng(), 5))) == 5


def test_sampled_matrices_are_normal_sparse_of_rank_one_and_badly_scaled_in_turn():
    wide = Matrix(name="A", rows=(30, 30), columns=(30, 30), scale=10.0, smallest=1e-3)
    made = [p["A"] for p in wide.sample(rng(), 240)]
    assert share(np.concatenate([a.ravel() for a in made[1::4]]) != 0, 0.3, 60 * 900)
    assert {np.linalg.matrix_rank(a) for a in made[2::4]} == {1}
    for a in made[0::4]:
        assert stats.kstest(a.ravel() / a.std(), "norm").pvalue > 1e-6
    rows = [np.log10(a.std(axis=1)) for a in made[3::4]]
    assert np.concatenate([r - r.mean() for r in rows]).std() == pytest.approx(
        3 / math.sqrt(12), rel=0.05
    )
    sizes = [math.log(np.abs(a).max() / 1e-3) / math.log(1e4) for a in made]
    assert stats.kstest(sizes, "uniform").pvalue > 1e-6


def test_a_matrix_moves_in_half_of_its_entries_and_sometimes_as_a_whole():
    start = np.full((4, 3), 0.1)
    random, n = rng(), 3000
    moved = np.array([MATRIX.perturb(random, {"A": start}, 0.01)["A"] for _ in range(n)])
    whole = np.array([np.unique(a).size == 12 - np.sum(a == a.ravel()[0]) + 1 for a in moved])
    kept = np.array([np.any(a == 0.1) for a in moved])  # without a new scale some entries stay
    assert share(kept, 0.7, n)
    assert whole.any()
    noise = moved[kept].ravel()
    assert share(noise != 0.1, 0.5, noise.size)
    assert (noise[noise != 0.1] - 0.1).std() == pytest.approx(0.01 * 0.1, rel=0.05)
    scales = np.log([np.median(a) / 0.1 for a in moved[~kept]])
    assert scales.std() == pytest.approx(0.01 * math.log(1e4), rel=0.15)


def test_a_matrix_that_is_zero_moves_by_the_smallest_scale():
    zero = {"A": np.zeros((2, 2))}
    random = rng()
    largest = max(np.abs(MATRIX.perturb(random, zero, 0.1)["A"]).max() for _ in range(50))
    assert 1e-4 < largest < 1e-2


def test_a_matrix_loses_rows_then_columns_then_entries():
    offered = [p["A"].tolist() for p in MATRIX.shrink({"A": np.array([[1, 0, 2.0]] * 3)})]
    assert offered[:3] == [[[1, 0, 2]] * 2] * 3
    assert offered[3:6] == [[[0, 2]] * 3, [[1, 2]] * 3, [[1, 0]] * 3]
    assert len(offered) == 3 + 3 + 6


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
        ([0, 0, 1, 2], [0.0, 2.0, 0.0, 5.0]),
        ([0, 0, 1, 2], [1.0, 0.0, 0.0, 5.0]),
        ([0, 0, 1, 2], [1.0, 2.0, 0.0, 0.0]),
    ]
    tight = LabelledPoints(name="x", labels="j", clusters=(3, 3), points=(4, 4), dimensions=(1, 1))
    assert all(p["x"].shape == (4, 1) for p in tight.shrink({"x": x, "j": labels}))
    wide = {"x": np.array([[1.0, 0.0], [0.0, 1.0]]), "j": np.array([0, 0])}
    assert [p["x"].tolist() for p in POINTS.shrink(wide)][:2] == [[[0.0], [1.0]], [[1.0], [0.0]]]
