"""The verifiers of convex clustering against proofs that are malformed, and against their records.

A verifier answers with a refusal whatever it is given; it accepts what a record calls certified.
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

POINTS = np.random.default_rng(7).standard_normal((6, 2)) + 8.0 * (np.arange(6) % 2)[:, None]
WEIGHTS = nearest_neighbour_weights(POINTS, 3)
PENALTY = 0.6
EQUAL = convex_clustering(POINTS, PENALTY)
WEIGHTED = convex_clustering(POINTS, PENALTY, weights=WEIGHTS)


class Hostile:
    """An object that raises whatever is done with it."""

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
        # A strength or potentials may be other numbers and still prove it; nothing is raised.
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
    # Not linked, they are clusters of their own; and linked ones may not be left apart.
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
