"""Assignment screened in single precision: bit for bit the plain iteration, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.clustering.kmeans import assign, iteration, lloyd, transpose
from trials.clustering.kmeans.assignment import screened_assign, single_precision

UNTOUCHED = -1.0


def transposed(points):
    points_t = np.empty(points.shape[::-1])
    transpose(points, points_t)
    return points_t


def plain(points, centers):
    m = len(points)
    labels, nearest_sq = np.empty(m, np.int64), np.empty(m)
    assign(transposed(points), centers, np.empty(m), nearest_sq, labels)
    return labels, nearest_sq


def screened(points, centers):
    """Labels, whether screening was used, and the number of points left to the plain assignment."""
    m, d = points.shape
    points_t, origin = transposed(points), np.empty(d)
    norms, blocks = np.empty(m, np.float32), np.empty(m * d, np.float32)
    scale = single_precision(points, points_t, origin, norms, blocks)
    assert scale > 0
    labels, nearest_sq = np.empty(m, np.int64), np.full(m, UNTOUCHED)
    paid = screened_assign(
        points_t, blocks, norms, origin, scale, centers, np.empty(m), nearest_sq, labels
    )
    return labels, paid, np.sum(nearest_sq != UNTOUCHED)


# -------------------------------------------------------------------------------------- instances


def clouds(rng, m, d, k):
    centers = 3 * rng.standard_normal((k, d))
    return centers[rng.integers(k, size=m)] + rng.standard_normal((m, d)), centers


def grid(rng, m, d, k):
    """Small integers: many exact ties, duplicate points and duplicate centres."""
    return rng.integers(-2, 3, (m, d)).astype(float), rng.integers(-2, 3, (k, d)).astype(float)


def near_ties(rng, m, d, k):
    """Pairs of centres mirrored in hyperplanes that the points miss by 1e-4 to 1e-17."""
    points = rng.standard_normal((m, d))
    centers = rng.standard_normal((k, d))
    for j in range(1, k, 2):
        normal = rng.standard_normal(d)
        normal /= np.linalg.norm(normal)
        centers[j] = centers[j - 1] - 2 * (centers[j - 1] @ normal) * normal
        mine = slice(j, m, k)
        distance = 10.0 ** rng.uniform(-17, -4, len(points[mine])) * rng.choice([-1.0, 1.0])
        points[mine] -= (points[mine] @ normal - distance)[:, None] * normal
    return points, centers


def twins(rng, m, d, k):
    """Centres that differ in their last digits only."""
    points, centers = clouds(rng, m, d, k)
    return points, centers[np.zeros(k, int)] * (1 + 2.0**-52 * rng.integers(-4, 5, (k, d)))


def outlier(rng, m, d, k):
    points, centers = clouds(rng, m, d, k)
    points[rng.integers(m)] *= 10.0 ** rng.uniform(0, 12)
    return points, centers


def far_centre(rng, m, d, k):
    points, centers = clouds(rng, m, d, k)
    centers[rng.integers(k)] *= 10.0 ** rng.uniform(0, 140)
    return points, centers


def far_away(rng, m, d, k):
    points, centers = clouds(rng, m, d, k)
    shift = 10.0 ** rng.uniform(0, 14) * rng.standard_normal(d)
    return points + shift, centers + shift


def any_scale(rng, m, d, k):
    points, centers = near_ties(rng, m, d, k)
    scale = 10.0 ** rng.uniform(-120, 120)
    return points * scale, centers * scale


def shapes(rng, m, d, k):
    """Coordinates of very different sizes: some underflow in single precision."""
    points, centers = clouds(rng, m, d, k)
    sizes = 10.0 ** -rng.uniform(0, 60, d)
    return points * sizes, centers * sizes


def sphere(rng, m, d, k):
    """Points in the middle (two excepted) of centres whose norms agree to five or six digits."""
    points = 10.0 ** -rng.uniform(5, 6, (m, 1)) * rng.standard_normal((m, d))
    points[0, 0], points[-1, 0] = 1.0, -1.0
    centers = rng.standard_normal((k, d))
    centers *= (1 + 10.0 ** -rng.uniform(5, 6, (k, 1))) / np.linalg.norm(
        centers, axis=1, keepdims=True
    )
    return points, centers


KINDS = (clouds, grid, near_ties, twins, outlier, far_centre, far_away, any_scale, shapes, sphere)


# ------------------------------------------------------------------------------------------ tests


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(2, 600),
    d=st.one_of(st.integers(1, 9), st.integers(10, 70)),
    k=st.integers(1, 12),
)
def test_screened_labels_are_the_plain_ones(kind, seed, m, d, k):
    points, centers = kind(np.random.default_rng(seed), m, d, k)
    if np.ptp(points, axis=0).max() == 0:
        points[0, 0] += 1.0
    wanted, _ = plain(points, centers)
    labels, _, _ = screened(points, centers)
    np.testing.assert_array_equal(labels, wanted)


def test_ties_go_to_the_lowest_index():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 7.0]])
    centers = np.array([[5.0, 5.0], [1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]])
    # squared distances by hand: the first point is at 2 from centres 1 to 4, the second at 1
    # from 1, 2 and 3, the third at 29 from centre 0
    for labels in (plain(points, centers)[0], screened(points, centers)[0]):
        np.testing.assert_array_equal(labels, [1, 1, 0])


def test_most_labels_of_clouds_are_proved_and_none_of_twins():
    rng = np.random.default_rng(2)
    points, centers = clouds(rng, 2000, 50, 20)
    _, paid, n_plain = screened(points, centers)
    assert paid
    assert n_plain <= 2
    _, paid, n_plain = screened(*twins(rng, 2000, 50, 20))
    assert not paid
    assert n_plain == 2000


@pytest.mark.parametrize("size", [0.0, 1e-130, 1e130])
def test_data_without_a_scale_are_not_screened(size):
    points = size * np.random.default_rng(3).standard_normal((300, 4))
    norms, blocks = np.empty(300, np.float32), np.empty(1200, np.float32)
    assert single_precision(points, transposed(points), np.empty(4), norms, blocks) == 0
    fit = lloyd(points[None], points[None, :20])  # large enough for screening
    np.testing.assert_array_equal(fit.labels[0], plain(points, fit.centers[0])[0])


def plain_lloyd(points, centers, max_iter, relocate):
    """`iterate` without screening, from its own pieces, hence comparable bit for bit."""
    centers, previous, k = centers.copy(), None, len(centers)
    for n_iter in range(1, max_iter + 1):
        labels, nearest_sq = plain(points, centers)
        counts, sums = np.empty(k, np.int64), np.empty_like(centers)
        iteration._means(points, labels, counts, sums)
        if relocate:
            iteration._relocate_empty(points, nearest_sq, labels, counts, sums)
        old = centers.copy()
        centers[counts > 0] = sums[counts > 0] / counts[counts > 0, None]
        if previous is not None and (labels == previous).all():
            return labels, centers, n_iter
        if (centers == old).all():
            break
        previous = labels
    return plain(points, centers)[0], centers, n_iter


@pytest.mark.parametrize("kind", [*KINDS, "empty"])
@pytest.mark.parametrize("relocate", [True, False])
@pytest.mark.parametrize(("m", "d", "k"), [(700, 6, 8), (300, 1, 70), (120, 40, 5)])
def test_lloyd_with_screening_is_the_plain_iteration_bit_for_bit(kind, relocate, m, d, k):
    assert m * d * k >= iteration._SCREENED_SIZE
    rng = np.random.default_rng(4)
    points, centers = (clouds if kind == "empty" else kind)(rng, m, d, k)
    if kind == "empty":
        centers[1:3] = 50.0  # two clusters that start without points
    for max_iter in (1, 3, 300):
        empty = "relocate" if relocate else "keep"
        fit = lloyd(points[None], centers[None], max_iter=max_iter, empty=empty)
        labels, moved, n_iter = plain_lloyd(points, centers, max_iter, relocate)
        np.testing.assert_array_equal(fit.labels[0], labels)
        np.testing.assert_array_equal(fit.centers[0], moved)
        assert fit.n_iter[0] == n_iter


@pytest.mark.parametrize("d", [300, 3000])
@pytest.mark.parametrize(("share", "proved"), [(0.25, False), (0.9, False), (1.5, True)])
def test_a_label_is_proved_only_beyond_the_bound_on_rounding(d, share, proved):
    """The scores of two centres differ by a share of the classical bound, 2 (d + 4) u |x| |c|.

    It bounds the error of two dot products of d + 4 roundings each (Higham 2002, section 3.1).
    The mean of d random errors is far smaller: no sample would show that a bound is too small.
    """
    gap = share * 2.0 * (d + 4) * 2.0**-24
    along, across = np.zeros(d), np.zeros(d)
    along[0], across[1] = 1.0, 1.0
    # About the mean, the points are +-(along + b across): the scores differ by 2 a b.
    a = b = np.sqrt(gap / 2.0)
    points = np.array([along + b * across, -along - b * across] * 20)
    centers = np.array([along + a * across, along - a * across])
    labels, paid, n_plain = screened(points, centers)
    np.testing.assert_array_equal(labels, plain(points, centers)[0])
    assert paid is proved
    assert n_plain == (0 if proved else len(points))
