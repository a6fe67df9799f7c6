"""Structured domains: members only, extreme members first, witnesses that shrink and replay."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.decisions.domain import Box, Interval
from verify.decisions.search import search_counterexample
from verify.decisions.strategies import points_of
from verify.decisions.structured import (
    Covariance,
    LabelledPoints,
    Matrix,
    Product,
    Spectrum,
    _log_between,
    exact_eigenvalues,
    exact_matrix,
)

SPECTRUM = Spectrum(name="v", low=0.5, high=8.0, dimensions=(1, 5))
COVARIANCE = Covariance(name="S", low=0.5, high=8.0, dimensions=(1, 4))
MATRIX = Matrix(name="A", rows=(1, 4), columns=(2, 3), scale=10.0)
POINTS = LabelledPoints(
    name="x", labels="j", clusters=(1, 4), points=(2, 9), dimensions=(1, 3), scale=2.0
)
BOX = Box({"t": Interval(0.0, 1.0)})
PRODUCT = Product((COVARIANCE, MATRIX, BOX))
DOMAINS = [SPECTRUM, COVARIANCE, MATRIX, POINTS, PRODUCT]
domains = pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


@domains
def test_every_point_that_is_made_lies_in_the_domain(domain):
    domain.check()
    rng = np.random.default_rng(0)
    points = [*domain.corners(rng, 40), *domain.sample(rng, 100)]
    assert len(points) > 100
    for point in points:
        assert domain.contains(point)
        for size in (1e-6, 0.1, 1.0):
            assert domain.contains(domain.perturb(rng, point, size))
    for point in points[::20]:
        for simpler in domain.shrink(point):
            assert domain.contains(simpler)
            assert not same(simpler, point)


@domains
def test_the_same_seed_gives_the_same_points(domain):
    def drawn():
        rng = np.random.default_rng(7)
        points = [*domain.corners(rng, 9), *domain.sample(rng, 9)]
        return points + [domain.perturb(rng, p, 0.3) for p in points]

    assert all(same(a, b) for a, b in zip(drawn(), drawn(), strict=True))


@domains
def test_shrinking_ends(domain):
    """Always taking the first step that is offered reaches a point without any, within bounds."""
    rng = np.random.default_rng(1)
    for point in domain.sample(rng, 5):
        current, steps = point, 0
        while (simpler := next(iter(domain.shrink(current)), None)) is not None:
            current, steps = simpler, steps + 1
            assert steps < 200
        # the last step first: rounding after everything else must end as well
        current, steps = point, 0
        while offers := list(domain.shrink(current)):
            current, steps = offers[-1], steps + 1
            assert steps < 200


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)
def test_hypothesis_draws_from_the_domain(domain):
    @settings(max_examples=30, deadline=None)
    @given(point=points_of(domain))
    def check(point):
        assert domain.contains(point)

    check()


def test_corners_hold_the_extremes():
    rng = np.random.default_rng(0)
    spectra = [tuple(p["v"]) for p in SPECTRUM.corners(rng, 100)]
    assert (8.0,) * 5 in spectra
    assert (0.5,) * 5 in spectra
    assert (8.0, 0.5, 0.5, 0.5, 0.5) in spectra
    conditions = [np.linalg.cond(p["S"]) for p in COVARIANCE.corners(rng, 100)]
    assert max(conditions) == pytest.approx(16.0)
    turned = [p["S"] for p in COVARIANCE.corners(rng, 100) if p["S"].shape == (4, 4)]
    assert any(np.all(a[0] != 0) for a in turned)
    sizes = {float(np.abs(p["A"]).max()) for p in MATRIX.corners(rng, 100)}
    assert {0.0, 1e-6, 10.0} <= sizes
    coincident = [p for p in POINTS.corners(rng, 100) if len(np.unique(p["x"], axis=0)) == 4]
    assert len(coincident) >= 4


def test_a_false_inequality_for_matrices_is_refuted_by_a_small_readable_matrix():
    """The operator norm is not the largest entry.  It is already wrong for two equal entries."""

    def violation(point):
        a = point["A"]
        return float(np.linalg.norm(a, 2) - 1.001 * np.abs(a).max())

    def recheck(point):
        a = exact_matrix(point["A"])
        largest = max(abs(v) for v in a)
        return mpmath.svd_r(a, compute_uv=False)[0] - mpmath.mpf("1.001") * largest

    result = search_counterexample(violation, MATRIX, budget=400, seed=0, recheck=recheck)
    assert result.found
    witness = result.witness["A"]
    assert witness.shape == (1, 2)
    assert len(set(np.abs(witness).ravel())) <= 2
    assert mpmath.mpf(result.rechecked) > 0


def test_a_true_inequality_for_covariances_is_not_refuted():
    """x' S x <= high |x|^2, close to equality.  With 50 digits rounding refutes nothing."""
    vectors = Matrix(name="x", rows=(1, 1), columns=(3, 3))
    domain = Product((Covariance(name="S", low=0.5, high=8.0, dimensions=(3, 3)), vectors))

    def violation(point):
        x = point["x"][0]
        return float(x @ point["S"] @ x / (8.0 * (1 + 1e-9) * (x @ x) + 1e-300) - 1)

    def recheck(point):
        x, s = exact_matrix(point["x"][0]), exact_matrix(point["S"])
        return (x.T * s * x)[0] - 8 * (1 + mpmath.mpf("1e-9")) * (x.T * x)[0]

    result = search_counterexample(violation, domain, budget=600, seed=1, recheck=recheck)
    assert not result.found
    assert result.largest > -0.05


def test_a_false_statement_about_clusters_shrinks_to_few_points():
    """ "Points are closer to their own cluster's mean than to any other's." """

    def violation(point):
        x, labels = point["x"], point["j"]
        means = np.array([x[labels == j].mean(axis=0) for j in np.unique(labels)])
        distance = np.linalg.norm(x[:, None] - means[None], axis=2)
        own = distance[np.arange(len(x)), labels]
        return float(np.max(own[:, None] - distance)) - 1e-6

    result = search_counterexample(violation, POINTS, budget=400, seed=2)
    assert result.found
    assert result.witness["x"].shape == (3, 1)
    assert set(result.witness["j"].tolist()) == {0, 1}


def test_eigenvalues_have_fifty_digits():
    a = np.array([[2.0, 1.0], [1.0, 2.0]])
    with mpmath.workdps(50):
        low, high = exact_eigenvalues(a)
        assert abs(low - 1) < mpmath.mpf(10) ** -45
        assert abs(high - 3) < mpmath.mpf(10) ** -45


def test_products_fix_scalars_only():
    fixed = PRODUCT.fix({"t": 0.25})
    assert all(p["t"] == 0.25 for p in fixed.sample(np.random.default_rng(0), 5))
    assert set(PRODUCT.names()) == {"t"}
    assert PRODUCT.parts()
    with pytest.raises(InvalidParameter, match="no parameter 'S'; its parameters: t"):
        PRODUCT.fix({"S": 1})
    with pytest.raises(InvalidParameter, match="S is a structured input"):
        COVARIANCE.fix({"d": 2})
    assert "covariances with eigenvalues from 0.5 to 8" in PRODUCT.describe()


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (Spectrum(name="v", low=0.0, high=1.0, dimensions=(1, 2)), "must be ordered, positive"),
        (Spectrum(name="v", low=1.0, high=2.0, dimensions=(0, 2)), r"dimensions=\(0, 2\)"),
        (Covariance(name="S", low=2.0, high=1.0, dimensions=(1, 2)), "must be ordered, positive"),
        (Matrix(name="A", rows=(2, 1), columns=(1, 1)), r"rows=\(2, 1\)"),
        (Matrix(name="A", rows=(1, 1), columns=(1, 1), smallest=2.0), "at most scale"),
        (
            LabelledPoints(name="x", labels="j", clusters=(3, 3), points=(1, 2), dimensions=(1, 1)),
            "must allow 3 clusters",
        ),
        (Product(()), "at least one domain"),
    ],
)
def test_impossible_domains_are_refused(domain, message):
    with pytest.raises(InvalidParameter, match=message):
        domain.check()


@given(seed=st.integers(0, 10**6))
def test_covariances_are_symmetric_to_the_last_bit(seed):
    for point in COVARIANCE.sample(np.random.default_rng(seed), 4):
        assert np.array_equal(point["S"], point["S"].T)


def test_values_between_two_ends_are_even_in_the_logarithm():
    assert _log_between(0.5, 1.0, 100.0) == pytest.approx(10.0)
    assert [_log_between(u, 2.0, 8.0) for u in (0.0, 1.0)] == [2.0, 8.0]


@pytest.mark.parametrize("sizes", ["clusters", "points", "dimensions"])
def test_every_size_of_labelled_points_is_checked(sizes):
    with pytest.raises(InvalidParameter, match=f"{sizes}="):
        replace(POINTS, **{sizes: (9, 8)}).check()


@pytest.mark.parametrize(
    ("matrix", "inside"),
    [
        (np.diag([0.5, 8.0]), True),  # both ends of the interval
        ([[3.0, 1.0], [1.0, 3.0]], True),
        ([[3.0, 1.0], [1.0 + 1e-15, 3.0]], False),  # not symmetric
        (np.ones((2, 3)), False),
        (np.ones(4), False),
        (np.eye(5), False),  # more dimensions than four
        (np.diag([0.4, 1.0]), False),
        (np.diag([1.0, 9.0]), False),
    ],
)
def test_a_covariance_is_symmetric_with_its_spectrum_in_the_interval(matrix, inside):
    assert COVARIANCE.contains({"S": np.asarray(matrix)}) is inside


def test_a_product_holds_a_point_if_every_domain_does():
    inside, outside = {"S": np.eye(2)}, {"S": 9.0 * np.eye(2)}
    matrix, large = {"A": np.ones((2, 2))}, {"A": np.full((2, 2), 11.0)}
    pair = Product((COVARIANCE, MATRIX))
    assert pair.contains(inside | matrix)
    assert not pair.contains(outside | matrix)
    assert not pair.contains(inside | large)


@pytest.mark.parametrize(
    ("x", "labels", "inside"),
    [
        (np.zeros((2, 1)), [0, 0], True),
        (np.zeros((9, 3)), [0] * 9, True),
        (np.zeros((1, 1)), [0], False),  # fewer than two points
        (np.zeros((10, 1)), [0] * 10, False),
        (np.zeros((2, 4)), [0, 0], False),  # too many dimensions
        (np.zeros((5, 1)), [0, 1, 2, 3, 3], True),
        (np.zeros((5, 1)), [0, 1, 2, 3, 4], False),  # too many clusters
        (np.zeros((2, 1)), [0, 2], False),  # an empty cluster
        (np.zeros((2, 1)), [0], False),
        (np.zeros(2), [0, 0], False),
        (np.array([[0.0], [math.nan]]), [0, 0], False),
    ],
)
def test_labelled_points_have_allowed_sizes_and_no_empty_cluster(x, labels, inside):
    assert POINTS.contains({"x": x, "j": np.array(labels)}) is inside


@pytest.mark.parametrize(
    ("matrix", "inside"),
    [
        (np.full((1, 2), 10.0), True),
        (np.full((4, 3), -10.0), True),
        (np.full((1, 2), 10.1), False),
        (np.zeros((5, 2)), False),
        (np.zeros((1, 1)), False),
        (np.zeros((1, 4)), False),
        (np.zeros(2), False),
        (np.array([[0.0, math.inf]]), False),
    ],
)
def test_a_matrix_has_allowed_sizes_and_entries(matrix, inside):
    assert MATRIX.contains({"A": matrix}) is inside
