"""Convex clustering: oracles, equivariances, certificates, edges."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import isotonic_regression

from trials.checks import InvalidParameter
from trials.clustering.convex import (
    Certificate,
    Fusion,
    check_certificate,
    check_weighted_certificate,
    convex_clustering,
)
from trials.clustering.convex.certificate import largest_flow, rounding
from trials.clustering.sparse import neighbour_weights

# Grids make ties and duplicates likely, which is where a partition is hard to call.
grids = st.tuples(st.integers(1, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-6, 6))
)
penalties = st.floats(0.0, 3.0).map(lambda x: round(x, 3) * 1.0007)


def blobs(m, k, d, separation, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((k, d)) * separation / np.sqrt(2 * d)
    labels = np.arange(m) % k
    return centres[labels] + rng.standard_normal((m, d)), labels


def objective(a, u, penalty, weights=None):
    """The problem as printed, in double loops of differences."""
    distances = np.linalg.norm(u[:, None] - u[None, :], axis=2)
    if weights is not None:
        distances = distances * weights
    return 0.5 * ((a - u) ** 2).sum() + penalty * distances.sum() / 2


def dual_gradient(a, penalty, weights, steps=4000):
    """Slow oracle: accelerated projected gradient on the dual, no fusion logic at all.

    It ends where neither a step nor its momentum moves anything by more than rounding.
    """
    d = a.shape[1]
    i, j = np.nonzero(np.triu(weights, 1))
    bound = penalty * weights[i, j]
    step = 1.0 / (2 * (weights > 0).sum(axis=1).max())
    z = y = np.zeros((i.size, d))
    t = 1.0

    def primal(z):
        u = a.astype(float).copy()
        np.add.at(u, i, -z)
        np.add.at(u, j, z)
        return u

    for _ in range(steps):
        u = primal(y)
        new = y + step * (u[i] - u[j])
        norm = np.linalg.norm(new, axis=1)
        new *= np.minimum(1.0, bound / np.maximum(norm, 1e-300))[:, None]
        if ((u[i] - u[j]) * (new - z)).sum() < 0:
            t = 1.0
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        y = new + (t - 1) / t_new * (new - z)
        moved = np.abs(new - z).max() + np.abs(new - y).max()
        z, t = new, t_new
        if moved <= 1e-15:
            break
    return primal(z)


def same_partition(p, q):
    return len(set(zip(p, q, strict=True))) == len(set(p)) == len(set(q))


def on_the_line(x, penalty):
    """Closed form for d = 1: isotonic regression of the sorted points pulled inwards."""
    order = np.argsort(x, kind="stable")
    m = x.size
    target = x[order] - penalty * (2 * np.arange(1, m + 1) - m - 1)
    u = np.empty(m)
    u[order] = isotonic_regression(target).x
    return u


# --- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.0, 0.1, 0.49, 0.51, 7.0])
def test_two_points_have_the_closed_form(penalty):
    a = np.array([[0.0, 0.0], [0.6, 0.8]])
    result = convex_clustering(a, penalty)
    move = min(penalty, 0.5) * np.array([0.6, 0.8])
    np.testing.assert_allclose(result.minimiser, [move, a[1] - move], atol=1e-15)
    assert result.certified
    assert result.n_clusters == (1 if penalty > 0.5 else 2)


def test_exactly_on_the_breakpoint_it_is_honest():
    result = convex_clustering([[0.0], [1.0]], 0.5)
    assert not result.certified
    assert "not certified" in result.reason
    np.testing.assert_allclose(result.minimiser, 0.5, atol=1e-8)


@settings(deadline=None, max_examples=60)
@given(
    arrays(np.float64, st.integers(1, 15), elements=st.integers(-20, 20).map(float)),
    st.floats(0, 4),
    st.sampled_from([1e-12, 1.0, 1e12]),
)
def test_collinear_points_match_isotonic_regression(x, penalty, scale):
    direction = np.array([0.6, 0.0, -0.8]) * scale
    result = convex_clustering(x[:, None] * direction, penalty * scale)
    expected = on_the_line(x, penalty)
    np.testing.assert_allclose(
        result.minimiser / scale, expected[:, None] * direction / scale, atol=1e-7
    )
    if result.certified:
        np.testing.assert_allclose(
            result.minimiser / scale, expected[:, None] * direction / scale, atol=1e-12 * 20
        )
        assert same_partition(result.labels, np.unique(expected.round(9), return_inverse=True)[1])


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 10**6), st.integers(3, 9), st.integers(1, 4), st.floats(0.02, 0.6))
def test_values_match_a_dual_gradient_method(seed, m, d, penalty):
    a = np.random.default_rng(seed).standard_normal((m, d))
    result = convex_clustering(a, penalty)
    slow = dual_gradient(a, penalty, np.ones((m, m)) - np.eye(m))
    # The slow method stops with an error of its own near breakpoints.
    np.testing.assert_allclose(result.minimiser, slow, atol=1e-4)
    assert objective(a, result.minimiser, penalty) <= objective(a, slow, penalty) * (1 + 1e-12)


@pytest.mark.parametrize("penalty", [0.02, 0.1, 0.2, 0.35])
def test_values_match_cvxpy(penalty):
    cp = pytest.importorskip("cvxpy")
    a = np.random.default_rng(5).standard_normal((8, 3))
    u = cp.Variable(a.shape)
    i, j = np.triu_indices(8, 1)
    cost = cp.sum_squares(u - a) / 2 + penalty * cp.sum(cp.norm(u[i] - u[j], axis=1))
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    result = convex_clustering(a, penalty)
    assert result.certified
    np.testing.assert_allclose(result.minimiser, u.value, atol=1e-4)
    assert result.primal <= cost.value * (1 + 1e-7)
    distances = np.linalg.norm(u.value[i] - u.value[j], axis=1)
    np.testing.assert_array_equal(result.labels[i] == result.labels[j], distances < 1e-4)


@pytest.mark.parametrize(
    ("m", "k", "separation"), [(50, 4, 100), (60, 10, 400), (45, 1, 0), (40, 5, 8)]
)
def test_every_regime_is_certified_with_a_gap_at_rounding(m, k, separation):
    a, _ = blobs(m, k, 20, separation)
    centred = a - a.mean(axis=0)
    base = (centred**2).sum() / objective(centred, centred, 1.0)
    seen = set()
    for factor in [0.01, 0.03, 0.1, 0.2, 0.5, 0.8, 0.95, 1.0, 1.05, 1.2, 2.0, 1e6]:
        result = convex_clustering(a, factor * base)
        assert result.certified
        assert result.gap < 1e-20 * result.primal or result.gap == 0.0
        np.testing.assert_allclose(
            result.primal, objective(a, result.minimiser, factor * base), rtol=1e-12
        )
        seen.add(result.n_clusters)
    assert {1, m} <= seen


# --- properties -------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(grids, penalties, st.integers(0, 10**6))
def test_translation_rotation_scale_and_permutation_equivariance(grid, penalty, seed):
    a = grid.astype(float)
    m, d = a.shape
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((d, d)))
    shift = rng.standard_normal(d)
    scale = 10.0 ** rng.uniform(-12, 12)
    order = rng.permutation(m)
    plain = convex_clustering(a, penalty)
    moved = convex_clustering(scale * (a @ rotation + shift)[order], scale * penalty)
    np.testing.assert_allclose(
        moved.minimiser / scale, (plain.minimiser @ rotation + shift)[order], atol=1e-6
    )
    if plain.certified and moved.certified:
        np.testing.assert_allclose(
            moved.minimiser / scale, (plain.minimiser @ rotation + shift)[order], atol=1e-10
        )
        # Rotation rounds duplicates apart at penalty 0, and nowhere else.
        if penalty > 0:
            assert same_partition(plain.labels[order], moved.labels)


@settings(deadline=None, max_examples=60)
@given(grids, penalties)
def test_mean_is_kept_duplicates_fuse_and_labels_are_exact_fusions(grid, penalty):
    a = grid.astype(float)
    result = convex_clustering(a, penalty)
    u = result.minimiser
    np.testing.assert_allclose(u.mean(axis=0), a.mean(axis=0), atol=1e-8)
    _, duplicates = np.unique(a, axis=0, return_inverse=True)
    for group in range(duplicates.max() + 1):
        assert np.unique(result.labels[duplicates.reshape(-1) == group]).size == 1
    assert np.unique(u, axis=0).shape[0] == result.n_clusters
    assert result.gap <= max(1e-9 * result.primal, 1e-12)
    # Certified also means solved to rounding (grid points are of size 1 to 10).
    assert not result.certified or result.radius <= 1e-9
    assert list(dict.fromkeys(result.labels)) == list(range(result.n_clusters))


@settings(deadline=None, max_examples=50)
@given(grids, penalties, st.floats(1.0, 3.0))
def test_clusters_never_split_as_the_penalty_grows(grid, penalty, factor):
    a = grid.astype(float)
    small, large = convex_clustering(a, penalty), convex_clustering(a, penalty * factor)
    assume(small.certified and large.certified)
    assert large.n_clusters <= small.n_clusters
    # A coarsening: every small cluster lies in one large cluster.
    assert len(set(zip(small.labels, large.labels, strict=True))) == small.n_clusters


def test_no_splits_because_the_same_flows_prove_the_fusion_at_every_larger_penalty():
    a, penalty, small = instance()
    kept = 0
    for factor in [1.0, 1.001, 1.1, 1.3]:
        larger = convex_clustering(a, factor * penalty)
        if larger.n_clusters == small.n_clusters:
            old = dataclasses.replace(larger.certificate, fusions=small.certificate.fusions)
            assert check_certificate(a, factor * penalty, larger.labels, old).valid
            kept += 1
    assert kept == 4


# --- certificates -----------------------------------------------------------------------------


def instance():
    """Fusions by the formula, by potentials, and a partition of several clusters."""
    a, _ = blobs(40, 4, 20, 100)
    lower = max(
        np.linalg.norm(a[k::4][:, None] - a[k::4][None], axis=2).max() / 10 for k in range(4)
    )
    penalty = 0.9 * lower
    result = convex_clustering(a, penalty)
    assert result.certified
    assert any(f.strength > 0 for f in result.certificate.fusions)
    assert result.n_clusters == 4
    return a, penalty, result


def test_the_verifier_refuses_tampered_partitions():
    a, penalty, result = instance()
    labels, certificate = result.labels, result.certificate
    assert check_certificate(a, penalty, labels, certificate).valid
    moved = labels.copy()
    moved[3] = labels[0]
    assert not check_certificate(a, penalty, moved, certificate).valid
    split = labels.copy()
    split[0] = 4
    assert not check_certificate(a, penalty, split, certificate).valid
    merged = np.minimum(labels, 2)
    assert not check_certificate(a, penalty, merged, certificate).valid
    assert not check_certificate(a, penalty, labels[:-1], certificate).valid


def test_the_verifier_refuses_tampered_proofs():
    a, penalty, result = instance()
    labels, certificate = result.labels, result.certificate

    def valid(penalty=penalty, labels=labels, **changes):
        changed = dataclasses.replace(certificate, **changes)
        return check_certificate(a, penalty, labels, changed).valid

    plain = tuple(dataclasses.replace(f, strength=0.0) for f in certificate.fusions)
    assert not valid(fusions=plain)  # the formula alone does not reach below the interval
    assert not valid(penalty=0.8 * penalty)
    assert not valid(fusions=certificate.fusions[:-1])
    assert not valid(fusions=(*certificate.fusions, certificate.fusions[-1]))
    centres = certificate.centres.copy()
    centres[1] = centres[0]
    assert not valid(centres=centres)
    assert not valid(centres=certificate.centres[::-1])
    assert not valid(centres=certificate.centres * np.nan)
    # Everything in one cluster, by the formula.  This is false at this penalty in any case.
    one = Fusion(children=np.arange(40), potentials=np.zeros((40, 20)), strength=0.0)
    assert not valid(
        fusions=(one,), labels=np.zeros(40, dtype=int), centres=certificate.centres[:1]
    )
    # All points apart: the gradient at the returned values is large.
    assert not valid(fusions=(), labels=np.arange(40), centres=a - a[0])


@pytest.mark.parametrize(
    ("potentials", "strength"),
    [
        ([[1.0], [-1.0]], 1e18),  # the rounding of tau psi exceeds the points
        ([[1.0], [-1.0]], np.inf),
        ([[np.nan], [np.nan]], 1.0),  # compares as less than any penalty
        ([[np.inf], [-np.inf]], 1.0),
        ([[1.0]], 1.0),
    ],
)
def test_no_potentials_fuse_two_points_below_half_their_distance(potentials, strength):
    a = np.array([[-1.0], [1.0]])
    fusion = Fusion(children=np.arange(2), potentials=np.array(potentials), strength=strength)
    certificate = Certificate(fusions=(fusion,), centres=np.ones((1, 1)))  # the mean, less a[0]
    labels = np.zeros(2, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        assert not check_certificate(a, 0.9, labels, certificate).valid
    formula = Fusion(children=np.arange(2), potentials=np.zeros((2, 1)), strength=0.0)
    certificate = Certificate(fusions=(formula,), centres=np.ones((1, 1)))
    assert check_certificate(a, 1.1, labels, certificate).valid


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 4))
def test_computed_flows_err_by_less_than_the_allowance(seed, s, d):
    rng = np.random.default_rng(seed)
    b = rng.standard_normal((s, d))
    mass = rng.integers(1, 9, s).astype(float)
    y = rng.standard_normal((s, d)) * 10.0 ** rng.uniform(-3, 6)
    strength = rng.uniform(0, 2)
    wide = np.longdouble
    x = y.astype(wide)[:, None] - y.astype(wide)[None]
    psi = x / np.sqrt(1 + (x**2).sum(axis=2, keepdims=True))
    r = b.astype(wide) - wide(strength) * np.einsum("l,kld->kd", mass.astype(wide), psi)
    flow = wide(strength) * psi + (r[:, None] - r[None]) / wide(mass.sum())
    exact = np.sqrt((flow**2).sum(axis=2)).max()
    # The flows balance the data identically, for any potentials.
    balance = np.einsum("l,kld->kd", mass.astype(wide), flow) - (b - mass @ b / mass.sum())
    assert np.abs(balance).max() < 1e-12
    reach = np.linalg.norm(b, axis=1).max()
    error = abs(float(exact - wide(largest_flow(b, mass, y, strength))))
    assert error <= rounding(s, d) * (strength + reach / mass.sum())


def test_radius_bounds_the_distance_to_the_minimiser():
    a, penalty, result = instance()
    centres = result.certificate.centres + 1e-6
    shifted = dataclasses.replace(result.certificate, centres=centres)
    check = check_certificate(a, penalty, result.labels, shifted)
    true = np.sqrt(40 * 20) * 1e-6
    assert true <= check.radius <= 1.01 * true


# --- edges ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_scales_change_nothing(scale):
    a, _ = blobs(20, 3, 4, 20)
    plain, scaled = convex_clustering(a, 0.3), convex_clustering(a * scale, 0.3 * scale)
    assert plain.certified
    assert scaled.certified
    np.testing.assert_array_equal(plain.labels, scaled.labels)
    np.testing.assert_allclose(scaled.minimiser / scale, plain.minimiser, atol=1e-12)


@pytest.mark.parametrize("penalty", [0.0, 1e-9, 1.0, 1e300])
def test_one_point_and_equal_points(penalty):
    for m in (1, 4):
        result = convex_clustering(np.full((m, 2), 3.5), penalty)
        assert result.certified
        assert result.n_clusters == 1
        np.testing.assert_array_equal(result.minimiser, 3.5)
        assert result.primal == 0.0


def test_penalty_zero_returns_the_points_and_their_duplicates():
    a, _ = blobs(20, 3, 4, 20)
    b = np.vstack([a, a[:7], a[:2]])
    result = convex_clustering(b, 0.0)
    assert result.certified
    assert result.n_clusters == 20
    np.testing.assert_allclose(result.minimiser, b, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(result.labels[20:27], result.labels[:7])


def test_far_beyond_full_fusion_everything_is_the_mean():
    a, _ = blobs(20, 3, 4, 20)
    for penalty in (1e3, 1e100, 1e308):
        result = convex_clustering(a, penalty)
        assert result.certified
        np.testing.assert_allclose(
            result.minimiser, np.broadcast_to(a.mean(axis=0), a.shape), atol=1e-13
        )


@pytest.mark.parametrize(
    ("points", "penalty", "message"),
    [
        ([[0.0, np.nan]], 1.0, r"points\[0, 1\]=nan must be finite"),
        ([[np.inf, 1.0]], 1.0, r"points\[0, 0\]=inf must be finite"),
        ([1.0, 2.0], 1.0, r"points.shape=\(2,\) must be \(m, d\)"),
        (np.empty((0, 3)), 1.0, "must be"),
        ([["a"]], 1.0, "array of real numbers"),
        ([[1e308], [-1e308]], 1.0, "at most 1e307"),
        ([[0.0]], np.nan, "penalty=nan must be a finite number"),
        ([[0.0]], np.inf, "penalty=inf must be a finite number"),
        ([[0.0]], -1.0, "penalty=-1.0 must be a finite number >= 0"),
        ([[0.0]], None, "penalty=None must be a finite number"),
    ],
)
def test_bad_input_is_refused_by_name(points, penalty, message):
    with pytest.raises(InvalidParameter, match=message):
        convex_clustering(points, penalty)


# --- weights ----------------------------------------------------------------------------------


def test_unit_weights_agree_with_the_solver_for_equal_weights():
    a, _ = blobs(24, 3, 3, 8)
    for penalty in [0.02, 0.1, 0.2, 0.25, 0.4]:
        equal = convex_clustering(a, penalty)
        weighted = convex_clustering(a, penalty, weights=np.ones((24, 24)))
        assert equal.certified
        assert weighted.certified
        np.testing.assert_array_equal(equal.labels, weighted.labels)
        np.testing.assert_allclose(equal.minimiser, weighted.minimiser, atol=1e-11)


@pytest.mark.parametrize("penalty", [0.05, 0.3, 0.8, 2.0])
@pytest.mark.parametrize("decay", [0.0, 0.2])
def test_neighbour_weights_match_a_dual_gradient_method(penalty, decay):
    a = np.random.default_rng(11).standard_normal((12, 2))
    w = neighbour_weights(a, 3, decay=decay).toarray()
    result = convex_clustering(a, penalty, weights=w)
    assert result.certified
    slow = dual_gradient(a, penalty, w, steps=20000)
    np.testing.assert_allclose(result.minimiser, slow, atol=1e-6)
    np.testing.assert_allclose(result.primal, objective(a, result.minimiser, penalty, w))
    i, j = np.nonzero(w)
    distances = np.linalg.norm(slow[i] - slow[j], axis=1)
    np.testing.assert_array_equal(result.labels[i] == result.labels[j], distances < 1e-5)


def test_the_weighted_verifier_refuses_tampered_partitions_and_proofs():
    a, _ = blobs(30, 3, 3, 10)
    w = neighbour_weights(a, 8).toarray()
    result = convex_clustering(a, 0.4, weights=w)
    assert result.certified
    assert 1 < result.n_clusters < 30

    def valid(labels=result.labels, weights=w, penalty=0.4, **changes):
        changed = dataclasses.replace(result.certificate, **changes)
        return check_weighted_certificate(a, penalty, labels, changed, weights).valid

    assert valid()
    labels = result.labels.copy()
    labels[1] = labels[0]
    assert not valid(labels=labels)
    assert not valid(penalty=0.1)
    assert not valid(weights=0.25 * w)
    zero = tuple(
        dataclasses.replace(f, potentials=0 * f.potentials) for f in result.certificate.fusions
    )
    assert not valid(fusions=zero)
    assert not valid(fusions=())
    assert not valid(centres=result.certificate.centres[::-1])


def test_the_weighted_verifier_knows_which_penalties_it_cannot_tell_apart():
    """At 1e199 * 1e-199 = 1 the points at -1 and 1 fuse.  A penalty cut to 1e100 leaves them."""
    a = np.array([[-1.0], [1.0]])
    w = np.array([[0.0, 1e-199], [1e-199, 0.0]])
    apart = Certificate(fusions=(), centres=np.array([[0.0], [2.0]]))
    labels = np.arange(2)
    assert check_weighted_certificate(a, 1e99, labels, apart, w).valid
    assert not check_weighted_certificate(a, 1e199, labels, apart, w).valid


def test_unlinked_components_are_independent_problems():
    a, _ = blobs(20, 2, 3, 5)
    w = np.zeros((20, 20))
    for half in (slice(0, 10), slice(10, 20)):
        w[half, half] = 1.0
    together = convex_clustering(a, 0.15, weights=w)
    for half in (slice(0, 10), slice(10, 20)):
        alone = convex_clustering(a[half], 0.15)
        np.testing.assert_allclose(together.minimiser[half], alone.minimiser, atol=1e-11)


@pytest.mark.parametrize("k", [1, 3, 9])
def test_neighbour_weights_link_nearest_pairs(k):
    a = np.random.default_rng(2).standard_normal((10, 2))
    w = neighbour_weights(a, k, decay=0.5).toarray()
    squares = ((a[:, None] - a[None]) ** 2).sum(axis=2)
    near = np.array([[j in np.argsort(row)[1 : k + 1] for j in range(10)] for row in squares])
    expected = np.where(near | near.T, np.exp(-0.5 * squares), 0.0)
    np.testing.assert_allclose(w, expected * (1 - np.eye(10)), rtol=1e-13)


@pytest.mark.parametrize("penalty", [10.0, 1e20, 1e45, 1e300])
def test_clusters_that_nothing_pulls_are_at_the_means_of_their_points(penalty):
    """They were at the smoothed solution's, 1e-6 off at 10 and 1e4 at 1e20, all apart at 1e45."""
    a = np.random.default_rng(0).standard_normal((12, 3))
    whole = convex_clustering(a, penalty, weights=np.ones((12, 12)))
    assert whole.certified
    np.testing.assert_allclose(whole.centres, [a.mean(axis=0)], rtol=0, atol=1e-15)
    blocks = convex_clustering(a, penalty, weights=np.kron(np.eye(3), np.ones((4, 4))))
    assert blocks.certified
    means = a.reshape(3, 4, 3).mean(axis=1)
    np.testing.assert_allclose(blocks.centres, means, rtol=0, atol=1e-15)
    assert max(whole.radius, blocks.radius) < 1e-11


def test_a_factor_may_be_in_the_weights_or_in_the_penalty():
    a = np.random.default_rng(0).standard_normal((8, 3))
    plain = convex_clustering(a, 0.15)
    for factor in (1e-300, 1e-70, 1e70, 1e300):
        moved = convex_clustering(a, 0.15 / factor, weights=np.full((8, 8), factor))
        assert moved.certified
        np.testing.assert_array_equal(moved.labels, plain.labels)
        np.testing.assert_allclose(moved.minimiser, plain.minimiser, rtol=0, atol=1e-12)
    # the penalty's cap would make it another problem
    weights = np.ones((8, 8))
    weights[0, 1] = weights[1, 0] = 1e-150
    with pytest.raises(InvalidParameter, match="at least 1e-80 of the largest"):
        convex_clustering(a, 1e150, weights=weights)


def test_equal_points_are_one_cluster_where_a_pair_links_them_even_without_a_penalty():
    a = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0], [0.0, 1.0], [1e-200, 1.0]])
    weights = np.ones((5, 5))
    weights[3] = weights[:, 3] = 0.0
    fit = convex_clustering(a, 0.0, weights=weights)
    np.testing.assert_array_equal(fit.labels, [0, 0, 1, 2, 3])
    np.testing.assert_array_equal(fit.minimiser, a)
    assert fit.certified
    assert fit.primal == 0.0
    np.testing.assert_array_equal(convex_clustering(a, 0.0, weights=0 * weights).labels, range(5))


def test_neighbour_weights_of_points_far_apart_leave_equal_points_linked():
    w = neighbour_weights(1e200 * np.array([[0.0], [0.0], [1.0], [3.0]]), 1, decay=1.0).toarray()
    tiny = np.finfo(np.float64).tiny  # the graph stays as connected as it was made
    np.testing.assert_array_equal(
        w, [[0, 1, 0, 0], [1, 0, tiny, 0], [0, tiny, 0, tiny], [0, 0, tiny, 0]]
    )


@pytest.mark.parametrize(
    "weights",
    [
        np.ones((3, 3)),
        -np.ones((2, 2)),
        np.full((2, 2), np.nan),
        [[0, 1], [2, 0]],
        "a",
        1j * np.ones((2, 2)),
    ],
)
def test_bad_weights_are_refused(weights):
    with pytest.raises(InvalidParameter, match="weights"):
        convex_clustering([[0.0], [1.0]], 1.0, weights=weights)


@pytest.mark.parametrize(
    ("k", "decay"), [(0, 0.0), (2, 0.0), (1.5, 0.0), (1, -1.0), (1, np.nan), (1, "a")]
)
def test_bad_neighbour_parameters_are_refused(k, decay):
    with pytest.raises(InvalidParameter, match=r"n_neighbours|decay"):
        neighbour_weights([[0.0], [1.0]], k, decay=decay)


def test_linked_clusters_that_meet_while_their_centres_are_sought_are_no_division_by_zero():
    """At this penalty the last two become one: the pull of the first is all that its link holds.
    Before, the direction between centres at one place was 0 / 0, with a warning.
    """
    weights = np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 0]])
    result = convex_clustering([[1.0], [-2.0], [-2.0]], 2.0, weights=weights)
    np.testing.assert_allclose(result.minimiser, -1.0, atol=1e-5)
    assert result.primal == pytest.approx(3.0)
