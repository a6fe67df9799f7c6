"""The verifiers of convex clustering against proofs that are malformed, and against their records.

A verifier answers any malformed input with a refusal.  It accepts every record that is certified.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trials.clustering.families import instances
from trials.clustering.convex import (
    CertificateCheck,
    check_certificate,
    check_weighted_certificate,
    convex_clustering,
    nearest_neighbour_weights,
)
from trials.clustering.convex.certificate import Problem, Refusal
from trials.clustering.convex.problem import scaled
from trials.clustering.convex.weighted import _guess, _Weighted
from trials.clustering.convex.weighted_certificate import _check_cluster, _Ties

POINTS = np.random.default_rng(7).standard_normal((6, 2)) + 8.0 * (np.arange(6) % 2)[:, None]
WEIGHTS = nearest_neighbour_weights(POINTS, 3)
PENALTY = 0.6
EQUAL = convex_clustering(POINTS, PENALTY)
WEIGHTED = convex_clustering(POINTS, PENALTY, weights=WEIGHTS)


class Hostile:
    """An object that raises in every operation."""

    def __getattr__(self, name):
        raise RuntimeError("no")

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no")

    def __iter__(self):
        raise RuntimeError("no")


JUNK = [
    None,
    "text",
    b"bytes",
    3,
    -1,
    2**70,
    1e300,
    -1e300,
    np.nan,
    np.inf,
    1j,
    True,
    [],
    [[]],
    {},
    {"a": 1},
    [1, [2, 3]],
    [None],
    ["a", "b"],
    [2**70, 1],
    [np.nan, 1.0],
    [-1, 0],
    [0, 0],
    [0, 10**9],
    [0.5, 1.5],
    np.zeros(0),
    np.zeros((0, 2)),
    np.zeros((6, 2)),
    np.zeros((2, 3)),
    np.full((6, 2), np.nan),
    np.full((6, 2), 1e300),
    np.full((6, 2), np.inf),
    np.zeros((6, 2), dtype=complex),
    np.zeros((2, 2, 2)),
    np.array([object(), object()], dtype=object),
    np.arange(6)[::-1],
    np.array(["x"] * 6),
    np.array([0, 1], dtype="datetime64[D]"),
    slice(None),
    object(),
    Hostile(),
    SimpleNamespace(),
    SimpleNamespace(fusions=(), centres=None),
    SimpleNamespace(fusions=[None], centres=POINTS),
    SimpleNamespace(fusions=7, centres=POINTS),
]
junk = st.sampled_from(JUNK)


def test_the_untouched_proofs_are_accepted():
    assert EQUAL.certificate.fusions
    assert WEIGHTED.certificate.fusions
    assert check_certificate(POINTS, PENALTY, EQUAL.labels, EQUAL.certificate).valid
    assert check_weighted_certificate(
        POINTS, PENALTY, WEIGHTED.labels, WEIGHTED.certificate, WEIGHTS
    ).valid


def refused(check):
    assert isinstance(check, CertificateCheck)
    assert not check.valid
    assert check.reason
    return True


def loose(record, **changes):
    """A record of the same fields that checks nothing, without those that are ``...``."""
    fields = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)} | changes
    return SimpleNamespace(**{k: v for k, v in fields.items() if v is not ...})


@pytest.mark.parametrize("value", JUNK, ids=lambda v: str(type(v).__name__))
def test_any_argument_may_be_junk(value):
    for place in range(4):
        arguments = [POINTS, PENALTY, EQUAL.labels, EQUAL.certificate]
        arguments[place] = value
        refused(check_certificate(*arguments))
    for place in range(5):
        arguments = [POINTS, PENALTY, WEIGHTED.labels, WEIGHTED.certificate, WEIGHTS]
        arguments[place] = value
        refused(check_weighted_certificate(*arguments))


@pytest.mark.parametrize("value", [*JUNK, ...], ids=lambda v: str(type(v).__name__))
@pytest.mark.parametrize("field", ["fusions", "centres"])
def test_any_field_of_the_certificate_may_be_junk(field, value):
    refused(
        check_certificate(POINTS, PENALTY, EQUAL.labels, loose(EQUAL.certificate, **{field: value}))
    )
    refused(
        check_weighted_certificate(
            POINTS,
            PENALTY,
            WEIGHTED.labels,
            loose(WEIGHTED.certificate, **{field: value}),
            WEIGHTS,
        )
    )


@pytest.mark.parametrize("value", [*JUNK, ...], ids=lambda v: str(type(v).__name__))
@pytest.mark.parametrize("field", ["children", "potentials", "strength"])
def test_any_field_of_a_fusion_may_be_junk(field, value):
    for result, weights in ((EQUAL, None), (WEIGHTED, WEIGHTS)):
        first, *others = result.certificate.fusions
        fusions = (loose(first, **{field: value}), *others)
        certificate = loose(result.certificate, fusions=fusions)
        if weights is None:
            check = check_certificate(POINTS, PENALTY, result.labels, certificate)
        else:
            check = check_weighted_certificate(POINTS, PENALTY, result.labels, certificate, weights)
        assert isinstance(check, CertificateCheck)
        # Other numbers for a strength or potentials may still prove it.  Nothing is raised.
        if field == "children" or value is ... or not isinstance(value, int | float | np.ndarray):
            refused(check)


@settings(deadline=None, max_examples=150)
@given(st.lists(junk, max_size=3), junk, junk, st.lists(junk, max_size=4), st.integers(0, 4))
def test_whole_proofs_of_junk_are_refused(children, potentials, strength, labels, count):
    fusion = SimpleNamespace(children=children, potentials=potentials, strength=strength)
    certificate = SimpleNamespace(fusions=[fusion] * count, centres=potentials)
    refused(check_certificate(POINTS, PENALTY, labels, certificate))
    refused(check_weighted_certificate(POINTS, PENALTY, labels, certificate, WEIGHTS))


def test_a_certified_record_at_penalty_zero_passes_the_public_verifier():
    """Linked duplicates were certified by the solver and refused by the verifier."""
    points = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]])
    weights = np.ones((4, 4))
    result = convex_clustering(points, 0.0, weights=weights)
    assert result.certified
    assert result.n_clusters == 2
    proof = result.certificate
    assert check_weighted_certificate(points, 0.0, result.labels, proof, weights).valid
    # Without links they are clusters of their own.  Linked ones may not be separate.
    cut = weights.copy()
    cut[0, :] = cut[:, 0] = 0.0
    refused(check_weighted_certificate(points, 0.0, result.labels, proof, cut))
    apart = dataclasses.replace(proof, fusions=(), centres=points - points[0])
    refused(check_weighted_certificate(points, 0.0, np.arange(4), apart, weights))
    # Points that differ are not one cluster without a penalty.
    other = points + np.array([[0.0, 0.0], [1e-12, 0.0], [0.0, 0.0], [0.0, 0.0]])
    refused(check_weighted_certificate(other, 0.0, result.labels, proof, weights))


@pytest.mark.parametrize("factor", [1e-300, 1e-70, 1.0, 1e70, 1e300])
def test_certified_weighted_records_pass_whatever_unit_the_weights_have(factor):
    a = np.random.default_rng(0).standard_normal((8, 3))
    weights = np.full((8, 8), factor)
    result = convex_clustering(a, 0.15 / factor, weights=weights)
    assert result.certified
    check = check_weighted_certificate(a, 0.15 / factor, result.labels, result.certificate, weights)
    assert check.valid
    assert check.radius == result.radius


def test_certified_records_of_adversarial_sets_pass_and_no_fusion_is_lost_to_the_origin():
    accepted = 0
    for family, number, points in instances(6, seed=3):
        rng = np.random.default_rng(number)
        spread = np.abs(points - points[0]).max()
        for penalty in (0.0, spread * 10.0 ** rng.uniform(-6, 0)):
            equal = convex_clustering(points, penalty)
            check = check_certificate(points, penalty, equal.labels, equal.certificate)
            assert check.valid == equal.certified, (family, number)
            accepted += equal.certified
            if points.shape[0] > 10:
                continue
            weights = rng.integers(0, 2, (points.shape[0],) * 2).astype(float)
            weights += weights.T
            mixed = convex_clustering(points, penalty, weights=weights)
            check = check_weighted_certificate(
                points, penalty, mixed.labels, mixed.certificate, weights
            )
            assert check.valid == mixed.certified, (family, number)
    assert accepted > 40


@pytest.mark.parametrize(("doubt", "accepted"), [(0.2, True), (0.3, False)])
def test_the_error_of_the_pull_between_clusters_counts_against_the_flows(doubt, accepted):
    """Two points at their centre, each pulled with weight one by a cluster of doubtful direction.

    The total not accounted for is ``2 * doubt`` a point, and an edge of weight one carries one.
    """
    problem = Problem(a=np.zeros((3, 1)), x=np.zeros((3, 1)), lam=1.0, scale=1.0, cut=False)
    weights = np.ones((3, 3)) - np.eye(3)
    ties = _Ties(
        towards=np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0]]),
        unit=[np.zeros((2, 1)), np.zeros((2, 1))],
        doubt=np.array([[0.0, doubt], [doubt, 0.0]]),
        mass=np.array([2.0, 1.0]),
        radius=0.0,
    )
    own, flat = np.array([0, 1]), np.zeros((2, 1))
    arguments = (problem, 0, own, flat, np.zeros(1), weights, ties)
    with np.errstate(divide="ignore"):  # as the verifier calls it: a point has no edge to itself
        if accepted:
            _check_cluster(*arguments)
            return
        with pytest.raises(Refusal, match="the flows of cluster 0 do not fit"):
            _check_cluster(*arguments)


@pytest.mark.parametrize(
    ("values", "primal", "dual"),
    # The objective is (u_1^2 + (u_2 - 4)^2)/2 + |u_1 - u_2|.  Its dual at z = psi((u_1 - u_2)/4)
    # is 8 - (z^2 + (4 + z)^2)/2, and z = -3/5 at the second values.
    [((0.0, 0.0), 8.0, 0.0), ((0.0, 3.0), 3.5, 2.04)],
)
def test_the_gap_of_a_partition_without_a_proof_is_that_of_its_dual_point(values, primal, dual):
    data = scaled(np.array([[0.0], [4.0]]))
    u = np.array([values]) / data.scale
    problem = _Weighted(data, 1.0, 1.0 - np.eye(2))
    found = _guess(problem, 1.0, np.arange(2), u, 4.0 / data.scale, "no proof")
    assert found.primal == pytest.approx(primal, rel=1e-12)
    assert found.gap == pytest.approx(primal - dual, rel=1e-12)
    assert found.radius**2 == pytest.approx(2.0 * (primal - dual), rel=1e-12)
