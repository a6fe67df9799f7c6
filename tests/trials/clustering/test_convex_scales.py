"""Partitions of convex clustering at every scale, against the exact law of three points.

Three points 0 < a < b on a line, the first two the closest.  They fuse at a/2: the third one
pulls both equally.  All are one at (b - a/2)/3.  Rational numbers compare a penalty with both, so
that the oracle has no rounding and no unit.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from trials.clustering.convex import (
    Certificate,
    Fusion,
    check_certificate,
    check_weighted_certificate,
    convex_clustering,
    convex_clustering_path,
)
from trials.clustering.sparse import (
    check_sparse_certificate,
    fusing_penalty,
    sparse_convex_clustering,
    sparse_convex_clustering_path,
)

SCALES = [10.0**k for k in (-300, -200, -160, -130, -121, -75, 0, 75, 121, 130, 160, 200, 300)]
#: Penalties: none, the smallest number, some in the units of the points, and the largest one.
PENALTIES = [0.0, 5e-324, 1e-310, 0.3, 1.0, 5.0, 1e100, 1.7e308]
ALL_PAIRS = np.ones((3, 3)) - np.eye(3)


def exact_partition(points: np.ndarray, penalty: float) -> list[int]:
    """The labels of three points on a line at equal weights, by rational numbers."""
    zero, a, b = (Fraction(float(p)) for p in points[:, 0])
    assert zero == 0 < a < b - a
    if Fraction(penalty) >= (b - a / 2) / 3:
        return [0, 0, 0]
    return [0, 0, 1] if Fraction(penalty) >= a / 2 else [0, 1, 2]


def solved(points, penalty):
    """Labels by each solver, with whether they are certified, and its verifier's own answer."""
    equal = convex_clustering(points, penalty)
    yield equal, check_certificate(points, penalty, equal.labels, equal.certificate).valid
    weighted = convex_clustering(points, penalty, weights=ALL_PAIRS)
    yield (
        weighted,
        check_weighted_certificate(
            points, penalty, weighted.labels, weighted.certificate, ALL_PAIRS
        ).valid,
    )
    sparse = sparse_convex_clustering(points, penalty, ALL_PAIRS)
    yield (
        sparse,
        check_sparse_certificate(
            points,
            ALL_PAIRS,
            penalty,
            sparse.labels,
            sparse.offsets,
            sparse.potentials,
            margin=sparse.margin,
        ).valid,
    )


@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_and_penalty_has_the_exact_partition(scale):
    points = np.array([[0.0], [1.0], [10.0]]) * scale
    for size in PENALTIES:
        penalty = size * scale if 0.1 < size < 10.0 else size
        expected = exact_partition(points, penalty)
        for found, valid in solved(points, penalty):
            assert found.labels.tolist() == expected, (scale, penalty)
            assert found.certified, (scale, penalty, found.reason)
            assert valid
        assert convex_clustering_path(points).labels(penalty).tolist() == expected
    path = sparse_convex_clustering_path(points, [0.0, 0.3 * scale, scale, 5.0 * scale], ALL_PAIRS)
    assert path.labels.tolist() == [[0, 1, 2], [0, 1, 2], [0, 0, 1], [0, 0, 0]]
    assert fusing_penalty(points, ALL_PAIRS) >= 19 / 6 * scale * (1.0 - 1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_no_verifier_accepts_a_false_partition_at_any_scale(scale):
    """Everything in one cluster, with the flows of the plain formula, where the penalty is too
    small; every point its own cluster where it is too large.
    """
    points = np.array([[0.0], [1.0], [10.0]]) * scale
    one = Certificate(
        fusions=(Fusion(children=np.arange(3), potentials=np.zeros((3, 1)), strength=0.0),),
        centres=np.array([[11.0 / 3.0 * scale]]),
    )
    each = Certificate(fusions=(), centres=points.copy())
    for penalty in (0.0, 5e-324, 0.3 * scale, 3.0 * scale):
        for proof, labels in ((one, [0, 0, 0]), (each, [0, 1, 2])):
            if labels == exact_partition(points, penalty):
                continue
            assert not check_certificate(points, penalty, labels, proof).valid
            assert not check_weighted_certificate(points, penalty, labels, proof, ALL_PAIRS).valid
            flat = np.zeros((3, 1))
            offsets = proof.centres
            assert not check_sparse_certificate(
                points, ALL_PAIRS, penalty, labels, offsets, flat
            ).valid


def test_a_small_set_beside_a_large_one_has_its_own_unit():
    """In units of the third point, the squares of the first two and of their flow are zero."""
    points = np.array([[0.0], [1e-170], [1.0]])
    pair = Fusion(children=np.arange(2), potentials=np.zeros((2, 1)), strength=0.0)
    proof = Certificate(fusions=(pair,), centres=np.array([[5e-171], [1.0]]))
    assert not check_certificate(points, 1e-180, [0, 0, 1], proof).valid
    assert not check_certificate(points, 0.0, [0, 0, 1], proof).valid
    assert convex_clustering(points, 0.0).labels.tolist() == [0, 1, 2]
    assert convex_clustering(points, 1e-160).labels.tolist() == [0, 0, 1]


def test_points_that_look_equal_from_the_first_one_are_not():
    """1e20 minus 1 and minus 2 round to one number."""
    points = np.array([[1e20], [1.0], [2.0], [2.0]])
    weights = np.ones((4, 4)) - np.eye(4)
    found = sparse_convex_clustering(points, 0.0, weights)
    assert found.labels.tolist() == [0, 1, 2, 2]
    assert found.certified
    path = sparse_convex_clustering_path(points, [0.0], weights)
    assert path.labels.tolist() == [[0, 1, 2, 2]]
    joined = [0, 1, 1, 1]
    false = check_sparse_certificate(
        points, weights, 0.0, joined, found.offsets[:2], found.potentials
    )
    assert not false.valid


def test_weights_that_vanish_beside_the_largest_one_are_refused():
    weights = np.array([[0.0, 1e300, 0.0], [1e300, 0.0, 5e-324], [0.0, 5e-324, 0.0]])
    points = np.array([[0.0], [1.0], [10.0]])
    centres = Certificate(fusions=(), centres=points)
    check = check_weighted_certificate(points, 0.0, [0, 1, 2], centres, weights)
    assert (check.valid, check.reason) == (
        False,
        "weights must spread over at most the range of floats",
    )
    sparse = check_sparse_certificate(points, weights, 0.0, [0, 1, 2], points, np.zeros((3, 1)))
    assert not sparse.valid


def test_the_radius_has_room_for_the_rounding_of_a_mean_that_cancels():
    """The mean is far smaller than its points, and its rounding is theirs."""
    points = np.array([[0.1], [0.7], [-0.8 + 1e-17]])
    found = convex_clustering(points - points.mean(), 10.0)
    assert found.certified
    assert found.radius > 1e-17


#: Powers of two about 1e-300, ..., 1e300: no digit of a fit changes between them.
UNITS = [2.0**k for k in (-996, -700, -531, -400, 0, 400, 511, 531, 700, 996)]
SPREAD = np.array([[0.0, 0.3], [1.0, 0.0], [0.8, 0.9], [6.0, 5.0], [7.0, 5.5], [6.4, 6.1]])


@pytest.mark.parametrize(
    ("length", "weight"),
    [(0, 0), (1016, 600), (1016, 1000), (-1070, -1060), (-1070, -1000), (-600, 600), (300, -300)],
)
def test_the_fusing_penalty_of_a_chain_in_any_units_is_its_largest_flow(length, weight):
    """An edge carries the deviations from the mean of all points before it."""
    places = np.repeat([0.0, 1.0, 3.0], [40, 1, 40])
    links = np.eye(81, k=1) + np.eye(81, k=-1)
    flow = float(np.abs(np.cumsum(places - places.mean())).max())
    found = fusing_penalty(np.ldexp(places[:, None], length), np.ldexp(links, weight))
    expected = float(np.ldexp(flow, length - weight))
    assert expected <= found <= expected * (1.0 + 1e-8)


@pytest.mark.parametrize("unit", UNITS)
def test_a_sparse_fit_in_other_units_is_the_same_fit(unit):
    """Only the objective's own square may be out of range."""
    graph = np.exp(-0.1 * ((SPREAD[:, None] - SPREAD) ** 2).sum(axis=2))
    penalties = np.array([0.0, 0.1, 0.8, 1e4])
    plain = sparse_convex_clustering_path(SPREAD, penalties, graph)
    other = sparse_convex_clustering_path(SPREAD * unit, penalties * unit, graph)
    assert other.labels.tolist() == plain.labels.tolist()
    assert plain.n_clusters.tolist() == [6, 6, 2, 1]
    for mine, theirs in zip(other.centres, plain.centres, strict=True):
        assert (mine / unit).tolist() == theirs.tolist()
    for path in (plain, other):
        assert path.relative_gap.tolist() == plain.relative_gap.tolist()
        assert (path.relative_gap <= 1e-6).all()
    assert plain.gap == pytest.approx(plain.relative_gap * plain.primal, rel=1e-14)
    for i, penalty in enumerate(penalties):
        fits = [sparse_convex_clustering(SPREAD * s, penalty * s, graph) for s in (1.0, unit)]
        assert [fit.certified for fit in fits] == [True, True]
        assert fits[0].labels.tolist() == fits[1].labels.tolist() == plain.labels[i].tolist()
        assert fits[0].relative_gap == fits[1].relative_gap
        assert penalty == 0.0 or fits[0].relative_gap <= 1e-18
        assert fits[1].radius / unit == pytest.approx(fits[0].radius, rel=1e-9)
