"""Clustering of tiny points: the answer does not depend on the unit of length.

The scales are powers of two, so that the scaled data hold the same digits and every label, centre
and cost must agree exactly.
"""

from __future__ import annotations

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.clustering.gradient import gradient_clustering
from trials.clustering.kmeans import (
    approximate_kmeans,
    kmeans_pp,
    lloyd,
    seed_kmeans_pp,
    spectral_kmeans,
    spectral_part_one,
    spectral_projection,
)
from trials.clustering.selection import choose_k, interval_lambda, recovery_interval, silhouette
from trials.clustering.units import divide_by_units, give_back, own_units

#: About 1e-120, 1e-200 and 1e-290.
TINY = [2.0**-399, 2.0**-664, 2.0**-963]
LARGE = 2.0**480
RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((3, 24, 3)) + 6.0 * (np.arange(24) % 3)[:, None]
STARTS = POINTS[:, :3].copy()
LABELS = np.tile(np.arange(24) % 3, (3, 1))


def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("scale", [*TINY, LARGE])
def test_lloyd_and_its_seeds_have_no_unit(scale):
    for fit, plain in (
        (lloyd(scale * POINTS, scale * STARTS), lloyd(POINTS, STARTS)),
        (kmeans_pp(scale * POINTS, 3, rng(), n_init=2), kmeans_pp(POINTS, 3, rng(), n_init=2)),
    ):
        np.testing.assert_array_equal(fit.labels, plain.labels)
        np.testing.assert_array_equal(fit.centers, scale * plain.centers)
        np.testing.assert_array_equal(fit.inertia, scale * plain.inertia * scale)
        np.testing.assert_array_equal(fit.n_iter, plain.n_iter)
    np.testing.assert_array_equal(
        seed_kmeans_pp(scale * POINTS, 5, rng()), seed_kmeans_pp(POINTS, 5, rng())
    )


@pytest.mark.parametrize("scale", [*TINY, LARGE])
def test_approximation_and_spectral_k_means_have_no_unit(scale):
    fit, plain = (approximate_kmeans(s * POINTS, 3, rng(), target=1.0) for s in (scale, 1.0))
    np.testing.assert_array_equal(fit.labels, plain.labels)
    np.testing.assert_allclose(fit.factor, plain.factor, rtol=1e-12)
    np.testing.assert_array_equal(fit.centers, scale * plain.centers)
    np.testing.assert_allclose(fit.cost, scale * plain.cost * scale, rtol=1e-12)
    assert (plain.factor > 1.0).all()
    full, other = (spectral_kmeans(s * POINTS, 3, rng()) for s in (scale, 1.0))
    np.testing.assert_array_equal(full.labels, other.labels)
    np.testing.assert_allclose(full.centers / scale, other.centers, rtol=1e-12)
    np.testing.assert_allclose(full.part_one.centers / scale, other.part_one.centers, rtol=1e-9)
    np.testing.assert_array_equal(full.core_sizes, other.core_sizes)
    coords, basis = spectral_projection(scale * POINTS, 2)
    np.testing.assert_allclose(
        coords @ basis.transpose(0, 2, 1) / scale,
        np.matmul(*(lambda c, b: (c, b.transpose(0, 2, 1)))(*spectral_projection(POINTS, 2))),
        atol=1e-12,
    )
    part_one, _ = spectral_part_one(scale * POINTS, 3, rng())
    np.testing.assert_array_equal(part_one.labels, full.part_one.labels)


@pytest.mark.parametrize("scale", [*TINY, LARGE])
def test_gradient_clustering_has_no_unit(scale):
    fit, plain = (gradient_clustering(s * POINTS, s * STARTS) for s in (scale, 1.0))
    assert plain.converged.all()
    assert (plain.n_iter > 1).all()
    np.testing.assert_array_equal(fit.labels, plain.labels)
    np.testing.assert_array_equal(fit.converged, plain.converged)
    np.testing.assert_allclose(fit.centers, scale * plain.centers, rtol=1e-9)
    np.testing.assert_allclose(fit.cost, scale * plain.cost * scale, rtol=1e-9)


@pytest.mark.parametrize("scale", [*TINY, LARGE])
def test_selection_has_no_unit(scale):
    interval, plain = recovery_interval(scale * POINTS, LABELS), recovery_interval(POINTS, LABELS)
    np.testing.assert_array_equal(interval.lower, scale * plain.lower)
    np.testing.assert_array_equal(interval.upper, scale * plain.upper)
    assert (plain.lower > 0.0).all()
    np.testing.assert_array_equal(silhouette(scale * POINTS, LABELS), silhouette(POINTS, LABELS))
    np.testing.assert_array_equal(
        interval_lambda(scale * POINTS, LABELS, rng())[0],
        scale * interval_lambda(POINTS, LABELS, rng())[0],
    )
    found, other = (choose_k(s * POINTS, 5, rng()) for s in (scale, 1.0))
    np.testing.assert_array_equal(found.k, other.k)
    np.testing.assert_array_equal(found.score, other.score)
    assert (other.k == 3).all()


@pytest.mark.parametrize("power", [-200, 200])
def test_scales_of_any_size_are_served_or_refused(power):
    """Data of size 1e-200 are accepted.  Beyond 1e150 the cost, a square, is not a finite float."""
    points, starts = POINTS * 10.0**power, STARTS * 10.0**power
    calls = [
        lambda: lloyd(points, starts).labels,
        lambda: kmeans_pp(points, 3, rng(), n_init=5).labels,
        lambda: spectral_kmeans(points, 3, rng()).labels,
        lambda: gradient_clustering(points, starts).labels,
        lambda: choose_k(points, 4, rng(), n_init=5).labels,
    ]
    for call in calls:
        if power > 0:
            with pytest.raises(InvalidParameter, match="at most 1e"):
                call()
        else:
            assert silhouette(POINTS, call()).min() > 0.7


def test_one_tiny_data_set_does_not_change_the_others():
    mixed = POINTS * np.array([1.0, TINY[1], 1.0])[:, None, None]
    fit = lloyd(mixed, mixed[:, :3].copy())
    plain = lloyd(POINTS, STARTS)
    np.testing.assert_array_equal(fit.labels, plain.labels)
    np.testing.assert_array_equal(fit.centers[::2], plain.centers[::2])
    np.testing.assert_array_equal(fit.centers[1], TINY[1] * plain.centers[1])


def test_units_are_powers_of_two_and_ordinary_data_are_not_copied():
    assert divide_by_units(POINTS, own_units(POINTS)) is POINTS
    assert divide_by_units(np.zeros((2, 3, 1)), own_units(np.zeros((2, 3, 1)))).sum() == 0.0
    small = np.array([[[0.0], [3e-200]], [[5e-324], [0.0]], [[0.0], [1.0]]])
    units = own_units(small)
    mantissa, _ = np.frexp(units)
    np.testing.assert_array_equal(mantissa, 0.5)
    scaled = divide_by_units(small, units)
    assert ((scaled.max(axis=(1, 2)) >= 0.5) & (scaled.max(axis=(1, 2)) <= 1.0)).all()
    give_back(scaled, units)
    np.testing.assert_array_equal(scaled, small)
    # Centres that are far larger than the points decide.
    np.testing.assert_array_equal(own_units(small[:1], np.ones((1, 1, 1))), 1.0)
