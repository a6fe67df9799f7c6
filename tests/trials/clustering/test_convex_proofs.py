"""The verifiers of convex clustering against proofs that are malformed, and against their records.

A verifier answers any malformed input with a refusal.  It accepts every record that is certified.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trials.clustering.families import instances
from trials.checks import InvalidParameter
from trials.clustering.convex import (
    CertificateCheck,
    certificate,
    check_certificate,
    check_weighted_certificate,
    convex_clustering,
)
from trials.clustering.convex import weighted as solver_module
from trials.clustering.convex.certificate import (
    Certificate,
    Fusion,
    Problem,
    Refusal,
    largest_flow,
    rounding,
)
from trials.clustering.convex.problem import scale_points
from trials.clustering.convex.weighted import _guess, _Weighted
from trials.clustering.convex.weighted_certificate import _check_cluster, _Ties
from trials.clustering.sparse import neighbour_weights

POINTS = np.random.default_rng(7).standard_normal((6, 2)) + 8.0 * (np.arange(6) % 2)[:, None]
WEIGHTS = neighbour_weights(POINTS, 3).toarray()
PENALTY = 0.6


@cache
def equal():
    """The record with equal weights.  No kernel is compiled while tests are collected."""
    return convex_clustering(POINTS, PENALTY)


@cache
def weighted():
    """The record with the weights of neighbours."""
    return convex_clustering(POINTS, PENALTY, weights=WEIGHTS)


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
    assert equal().certificate.fusions
    assert weighted().certificate.fusions
    assert check_certificate(POINTS, PENALTY, equal().labels, equal().certificate).valid
    assert check_weighted_certificate(
        POINTS, PENALTY, weighted().labels, weighted().certificate, WEIGHTS
    ).valid


@pytest.mark.parametrize("kind", [object, np.float32, np.int64])
def test_the_verifiers_take_the_arrays_that_the_solvers_take(kind):
    """Arrays of objects, such as columns of a table, were clustered and their proofs refused."""
    points = np.array([[0.0], [1.0], [10.0], [13.0]]).astype(kind)
    weights = (np.ones((4, 4)) - np.eye(4)).astype(kind)
    penalty = np.array(1.0).astype(kind)
    one, many = convex_clustering(points, penalty), convex_clustering(points, 1, weights=weights)
    assert check_certificate(points, penalty, one.labels, one.certificate).valid
    assert check_weighted_certificate(points, penalty, many.labels, many.certificate, weights).valid


@pytest.mark.parametrize("entry", [True, "1", 1j, None])
def test_neither_verifier_nor_solver_takes_other_objects(entry):
    points = np.array([[0.0], [entry], [10.0]], dtype=object)
    with pytest.raises(InvalidParameter, match="points must be an array of real numbers"):
        convex_clustering(points, 1.0)
    fit = convex_clustering([[0.0], [1.0], [10.0]], 1.0)
    check = check_certificate(points, 1.0, fit.labels, fit.certificate)
    assert check.reason == "points must be an array of real numbers: it holds other objects"
    assert not check.valid


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
        arguments = [POINTS, PENALTY, equal().labels, equal().certificate]
        arguments[place] = value
        refused(check_certificate(*arguments))
    for place in range(5):
        arguments = [POINTS, PENALTY, weighted().labels, weighted().certificate, WEIGHTS]
        arguments[place] = value
        refused(check_weighted_certificate(*arguments))


@pytest.mark.parametrize("value", [*JUNK, ...], ids=lambda v: str(type(v).__name__))
@pytest.mark.parametrize("field", ["fusions", "centres"])
def test_any_field_of_the_certificate_may_be_junk(field, value):
    refused(
        check_certificate(
            POINTS, PENALTY, equal().labels, loose(equal().certificate, **{field: value})
        )
    )
    refused(
        check_weighted_certificate(
            POINTS,
            PENALTY,
            weighted().labels,
            loose(weighted().certificate, **{field: value}),
            WEIGHTS,
        )
    )


@pytest.mark.parametrize("value", [*JUNK, ...], ids=lambda v: str(type(v).__name__))
@pytest.mark.parametrize("field", ["children", "potentials", "strength"])
def test_any_field_of_a_fusion_may_be_junk(field, value):
    for result, weights in ((equal(), None), (weighted(), WEIGHTS)):
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
    zero = np.zeros((3, 1))
    problem = Problem(a=zero, x=zero, lam=1.0, scale=1.0, cut=False, penalty=1.0)
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
        else:
            with pytest.raises(Refusal, match="the flows of cluster 0 do not fit"):
                _check_cluster(*arguments)


@pytest.mark.parametrize(
    ("values", "primal", "dual"),
    # The objective is (u_1^2 + (u_2 - 4)^2)/2 + |u_1 - u_2|.  Its dual at z = psi((u_1 - u_2)/4)
    # is 8 - (z^2 + (4 + z)^2)/2, and z = -3/5 at the second values.
    [((0.0, 0.0), 8.0, 0.0), ((0.0, 3.0), 3.5, 2.04)],
)
def test_the_gap_of_a_partition_without_a_proof_is_that_of_its_dual_point(values, primal, dual):
    data = scale_points(np.array([[0.0], [4.0]]))
    u = np.array([values]) / data.scale
    problem = _Weighted(data, 1.0, 1.0 - np.eye(2))
    found = _guess(problem, 1.0, np.arange(2), u, 4.0 / data.scale, "no proof")
    assert found.primal == pytest.approx(primal, rel=1e-12)
    assert found.gap == pytest.approx(primal - dual, rel=1e-12)
    assert found.radius**2 == pytest.approx(2.0 * (primal - dual), rel=1e-12)


# -- what is proved, against exact numbers and a plain twin ----------------------------------------


def twin_of_largest_flow(b, mass, y, tau):
    """The largest flow of the module's text, one pair after the other."""

    def psi(x):
        return x / np.sqrt(1.0 + x @ x)

    n = len(b)
    pulled = [sum(mass[k] * psi(y[i] - y[k]) for k in range(n)) for i in range(n)]
    r = (b - tau * np.array(pulled)) / mass.sum()
    return max(
        np.linalg.norm(tau * psi(y[i] - y[k]) + r[i] - r[k]) for i in range(n) for k in range(i)
    )


@pytest.mark.parametrize("block", [1, 30, 10_000])
@pytest.mark.parametrize("far", [(0, 1), (0, 6), (5, 6), (2, 4)])
@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_the_largest_flow_is_that_of_all_blocks_of_pairs(monkeypatch, block, far, tau):
    """Blocks of one row, of a few, and of all: the pair with the largest flow is in any of them."""
    rng = np.random.default_rng(4)
    b, y = 0.1 * rng.standard_normal((2, 7, 2))
    b[far[0]] += 5.0
    b[far[1]] -= 5.0
    mass = rng.integers(1, 4, 7).astype(float)
    monkeypatch.setattr(certificate, "_BLOCK", block)
    assert largest_flow(b, mass, y, tau) == pytest.approx(
        twin_of_largest_flow(b, mass, y, tau), rel=1e-12
    )


@pytest.mark.parametrize("block", [1, 10_000])
@pytest.mark.parametrize("row", [0, 3, 6])
@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_a_flow_that_is_no_number_is_below_no_penalty(monkeypatch, block, row, tau):
    """In whatever block it stands: the largest number would be that of the other flows."""
    b, y = np.random.default_rng(4).standard_normal((2, 7, 2))
    monkeypatch.setattr(certificate, "_BLOCK", block)
    for wrong in (b, y)[: 1 if tau == 0.0 else 2]:
        kept, wrong[row, 1] = wrong[row, 1], np.nan
        assert not largest_flow(b, np.ones(7), y, tau) <= 1e300
        wrong[row, 1] = kept
    assert largest_flow(b, np.ones(7), y, tau) <= 10.0


sizes_of_numbers = st.sampled_from([1e-300, 1e-150, 1.0, 1e10, 1e80, 1e150, 1e160, 1e300, 1.7e308])


@settings(max_examples=40, deadline=None)
@given(
    st.permutations(range(4)),
    st.integers(2, 4),
    st.lists(st.integers(-3, 3), min_size=8, max_size=8),
    sizes_of_numbers.filter(lambda size: size <= 1e150),
    sizes_of_numbers | st.just(0.0),
    st.sampled_from([1e-300, 1e-3, 0.2]),
)
def test_no_flows_prove_a_fusion_of_points_that_stay_apart(order, n, parts, size, tau, penalty):
    """Points at distances of ten or more stay apart below a penalty of 10 / 4, whatever is claimed.

    The flows may overflow, and then their differences are no numbers.
    """
    points = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    children = np.array(order[:n])
    potentials = size / 3.0 * np.array(parts[: 2 * n], dtype=float).reshape(n, 2)
    labels = np.arange(4)
    labels[children] = children[0]
    centres = [points[labels == j].mean(axis=0) for j in dict.fromkeys(labels.tolist())]
    proof = Certificate(
        fusions=(Fusion(children=children, potentials=potentials, strength=tau),),
        centres=np.array(centres),
    )
    assert refused(check_certificate(points, penalty, labels, proof))


@pytest.mark.parametrize(("gap", "distinct"), [(3.9, False), (4.1, True)])
def test_centres_are_distinct_beyond_the_error_of_both(gap, distinct):
    """Two points at D: centres off by e have gradients e, and E = sqrt(2) e must be less than
    (D - 2 lambda - 2 e) / sqrt(2), which says D - 2 lambda > 4 e.
    """
    penalty, off = 1.0, 0.125
    far = 2 * penalty + gap * off
    centres = np.array([[penalty + off], [far - penalty - off]])
    check = check_certificate(
        [[0.0], [far]], penalty, [0, 1], Certificate(fusions=(), centres=centres)
    )
    assert check.radius == pytest.approx(np.sqrt(2) * off, rel=1e-12)
    assert check.valid is distinct


@pytest.mark.parametrize("masses", [(1, 3), (2, 2), (4, 1)])
def test_heavy_centres_are_distinct_beyond_the_error_of_both(masses):
    """Of masses n and p, errors e of both gradients give E = e sqrt(n + p)."""
    n, p = masses
    off = 0.01
    points = np.array([[0.0]] * n + [[1.0]] * p)
    labels = [0] * n + [1] * p
    needed = off * np.sqrt((n + p) * (1 / n + 1 / p))
    for factor, distinct in ((0.97, False), (1.03, True)):
        # The centres of the minimiser lie lambda p and lambda n from the points.
        penalty = (1.0 - 2 * off - factor * needed) / (n + p)
        centres = np.array([[penalty * p + off], [1.0 - penalty * n - off]])
        fusions = [
            Fusion(children=np.arange(s, s + size), potentials=np.zeros((size, 1)), strength=0.0)
            for s, size in ((0, n), (n, p))
            if size > 1
        ]
        check = check_certificate(
            points, penalty, labels, Certificate(fusions=tuple(fusions), centres=centres)
        )
        assert check.valid is distinct, check.reason
        assert check.radius == pytest.approx(off * np.sqrt(n + p), rel=1e-9)


def test_a_radius_has_room_for_the_rounding_of_points_far_from_the_first():
    """The gradient is zero to the last bit.  Its terms are as large as the points, and so is the
    rounding that the radius allows for.
    """
    points = np.array([[0.0], [1.0], [3.0]])
    centres = np.array([[0.5], [1.0], [2.5]])
    check = check_certificate(points, 0.25, [0, 1, 2], Certificate(fusions=(), centres=centres))
    assert check.valid
    reach = 3.0
    assert check.radius >= rounding(3, 1) * reach * np.sqrt(3)
    assert check.radius <= 4 * rounding(3, 1) * reach * np.sqrt(3)


def test_labels_that_join_or_split_the_clusters_of_a_proof_are_refused():
    labels = np.asarray(equal().labels)
    assert np.unique(labels).size > 1
    for wrong in (np.zeros_like(labels), np.arange(labels.size), np.roll(labels, 1)):
        check = check_certificate(POINTS, PENALTY, wrong, equal().certificate)
        assert refused(check)
        assert check.reason == "the labels are not the partition that the fusions make"
    renamed = 5 - labels
    assert check_certificate(POINTS, PENALTY, renamed, equal().certificate).valid


def test_a_penalty_that_vanishes_beside_the_points_is_still_a_penalty():
    """Two of the points are fused by it.  In units of the third one they and it are zero."""
    points = np.array([[0.0], [1e-200], [1e150]])
    proof = Certificate(fusions=(), centres=points.copy())
    assert check_certificate(points, 0.0, [0, 1, 2], proof).valid
    assert refused(check_certificate(points, 1e-199, [0, 1, 2], proof))


TWO = [[0.0], [1.0]]


def pair(children):
    """A fusion of two nodes with zero potentials."""
    return Fusion(children=np.array(children), potentials=np.zeros((2, 1)), strength=1.0)


def test_a_fusion_of_a_node_that_is_gone_or_to_come_is_refused():
    """With its points counted twice, three points in a row would be one cluster of four."""
    points, centres = [[0.0], [1.0], [2.0], [9.0]], np.zeros((2, 1))
    for fusions, reason in (
        ([[0, 1], [1, 2]], "fusion 1 uses a node twice or before it exists"),
        ([[0, 1], [4, 2], [4, 3]], "fusion 2 uses a node twice or before it exists"),
    ):
        proof = Certificate(
            fusions=tuple(map(pair, fusions)), centres=np.zeros((4 - len(fusions), 1))
        )
        check = check_certificate(points, 5.0, [0, 0, 0, 1], proof)
        assert (check.valid, check.reason) == (False, reason)
    for fusions, t in (([[0, 1], [1, 2]], 1), ([[0, 1], [4, 2]], 1)):
        proof = Certificate(fusions=tuple(map(pair, fusions)), centres=centres)
        check = check_weighted_certificate(points, 5.0, [0, 0, 0, 1], proof, np.ones((4, 4)))
        reason = f"fusion {t} is not a set of points that no other fusion holds"
        assert (check.valid, check.reason) == (False, reason)


@pytest.mark.parametrize(
    ("points", "penalty", "weights", "centres", "reason"),
    [
        (TWO, 1.0, [[0, 1], [2, 0]], [[0.5]], "weights must be >= 0 and symmetric"),
        (TWO, 1.0, [[0, -1], [-1, 0]], [[0.5]], "weights must be >= 0 and symmetric"),
        ([[-1e308], [1e308]], 1.0, [[0, 1], [1, 0]], [[0.0]], "points must spread over at most"),
        (TWO, 1.0, [[0, 1], [1, 0]], [[1e200]], "the centres must lie within 1e150 times"),
    ],
)
def test_problems_that_a_proof_cannot_speak_of_are_refused(
    points, penalty, weights, centres, reason
):
    proof = Certificate(fusions=(pair([0, 1]),), centres=np.array(centres))
    check = check_weighted_certificate(points, penalty, [0, 0], proof, np.array(weights, float))
    assert not check.valid
    assert check.reason.startswith(reason)
    if weights == [[0, 1], [1, 0]]:
        check = check_certificate(points, penalty, [0, 0], proof)
        assert not check.valid
        assert check.reason.startswith(reason)


def test_a_penalty_that_is_cut_proves_nothing_of_links_far_below_the_others():
    """At 1e150 the far point is fused as well: its weight times the penalty is 1e60."""
    points = [[0.0], [1.0], [50.0]]
    weights = np.zeros((3, 3))
    weights[0, 1] = weights[1, 0] = 1.0
    weights[1, 2] = weights[2, 1] = 1e-90
    proof = Certificate(fusions=(pair([0, 1]),), centres=np.array([[0.5], [50.0]]))
    check = check_weighted_certificate(points, 1e150, [0, 0, 1], proof, weights)
    assert not check.valid
    assert check.reason.startswith("weights below 1e-80 with a penalty beyond 1e100")
    # without the penalty's cut the same links are no obstacle
    assert check_weighted_certificate(points, 1e50, [0, 0, 1], proof, weights).valid


def test_linked_centres_at_one_place_are_no_two_clusters():
    same = Certificate(fusions=(), centres=np.array([[0.5], [0.5]]))
    check = check_weighted_certificate(TWO, 1.0, [0, 1], same, np.ones((2, 2)))
    assert (check.valid, check.reason) == (False, "two linked centres coincide")
    # without a link between them they are
    alone = Certificate(fusions=(), centres=np.array([[0.0], [0.0]]))
    assert check_weighted_certificate([[0.5], [0.5]], 1.0, [0, 1], alone, np.eye(2)).valid


def test_flows_that_are_no_numbers_are_the_largest():
    b = np.array([[0.0], [np.inf], [np.inf], [1.0]])
    with np.errstate(invalid="ignore"):
        assert np.isnan(largest_flow(b, np.ones(4), np.zeros((4, 1)), 0.0))


@pytest.mark.parametrize(
    ("points", "penalty"), [(POINTS[:3], 0.2), (np.array([[0.0], [1e-6], [8.0]]), 1e-9)]
)
def test_a_partition_that_no_proof_fits_keeps_its_gap_and_its_radius(monkeypatch, points, penalty):
    """Every proof is refused here.  The solution is that of the smoothed problem."""
    weights = np.ones((3, 3))
    best = convex_clustering(points, penalty, weights=weights)
    refusal = CertificateCheck(valid=False, reason="no", radius=np.inf)
    monkeypatch.setattr(solver_module, "check_weighted_certificate", lambda *_: refusal)
    found = convex_clustering(points, penalty, weights=weights)
    assert (found.certified, found.certificate, found.reason) == (False, None, "no")
    np.testing.assert_array_equal(found.labels, best.labels)
    assert best.primal * (1 - 1e-14) <= found.primal <= best.primal + found.gap
    distance = np.sqrt(((found.minimiser - best.minimiser) ** 2).sum())
    assert distance <= found.radius + 1e-12  # rounding is included where there is a proof
    assert found.radius == np.sqrt(2.0 * found.gap)
    assert found.radius < 1e-3


@pytest.mark.parametrize("unit", [1e-300, 1e-3, 1.0, 1e300])
@pytest.mark.parametrize("strength", [0.0, 1e-3, 1.0, 1e300, 1.7e308])
def test_flows_that_overflow_fuse_nothing(strength, unit):
    """Three points far apart for the penalty: infinity less infinity is no small flow.

    In the unit of the points the largest strengths are infinite.
    """
    points, labels = unit * np.array([[0.0], [0.6], [1.0]]), [0, 0, 0]
    fusion = Fusion(
        children=np.array([0, 1, 2]),
        potentials=np.array([[0.0], [1.0], [1e9]]),
        strength=strength,
    )
    proof = Certificate(fusions=(fusion,), centres=points.mean(axis=0)[None])
    found = check_certificate(points, 1e-3 * unit, labels, proof)
    assert not found.valid
    assert found.reason.startswith("fusion 0 needs a penalty of ")
