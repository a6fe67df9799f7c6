"""Structured domains: members only, extreme members first, witnesses that shrink and replay."""

import math
from dataclasses import replace

import numpy as np
import pytest

from trials.checks import InvalidParameter
from verify.decisions.domain import Box, Interval
from verify.decisions.search import search_counterexample
from verify.decisions.structured import (
    LabelledPoints,
    Product,
    _log_between,
)

POINTS = LabelledPoints(
    name="x", labels="j", clusters=(1, 4), points=(2, 9), dimensions=(1, 3), scale=2.0
)
BOX = Box({"t": Interval(0.0, 1.0)})
OTHERS = LabelledPoints(name="y", labels="i", clusters=(1, 2), points=(1, 4), dimensions=(2, 2))
PRODUCT = Product((POINTS, OTHERS, BOX))
DOMAINS = [POINTS, PRODUCT]
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


def test_products_fix_scalars_only():
    fixed = PRODUCT.fix({"t": 0.25})
    assert all(p["t"] == 0.25 for p in fixed.sample(np.random.default_rng(0), 5))
    assert set(PRODUCT.names()) == {"t"}
    assert PRODUCT.parts()
    with pytest.raises(InvalidParameter, match="no parameter 'x'; its parameters: t"):
        PRODUCT.fix({"x": 1})
    with pytest.raises(InvalidParameter, match="x is a structured input"):
        POINTS.fix({"d": 2})
    assert "y: 1 to 4 points in 2 dimensions and 1 to 2 clusters" in PRODUCT.describe()


@pytest.mark.parametrize(
    ("domain", "message"),
    [
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


def test_values_between_two_ends_are_even_in_the_logarithm():
    assert _log_between(0.5, 1.0, 100.0) == pytest.approx(10.0)
    assert [_log_between(u, 2.0, 8.0) for u in (0.0, 1.0)] == [2.0, 8.0]


@pytest.mark.parametrize("sizes", ["clusters", "points", "dimensions"])
def test_every_size_of_labelled_points_is_checked(sizes):
    with pytest.raises(InvalidParameter, match=f"{sizes}="):
        replace(POINTS, **{sizes: (9, 8)}).check()


def test_a_product_holds_a_point_if_every_domain_does():
    inside = {"x": np.zeros((2, 1)), "j": np.array([0, 0])}
    outside = inside | {"j": np.array([0, 2])}
    flat, tall = ({"y": np.zeros((n, 2)), "i": np.zeros(n, dtype=int)} for n in (4, 5))
    pair = Product((POINTS, OTHERS))
    assert pair.contains(inside | flat)
    assert not pair.contains(outside | flat)
    assert not pair.contains(inside | tall)


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


def test_a_witness_has_no_two_equal_points_where_others_violate_as_well():
    """Every data set of two clusters violates it, those whose points all coincide the most."""
    domain = LabelledPoints(
        name="x", labels="j", clusters=(2, 3), points=(4, 6), dimensions=(1, 2), spread=(0.1, 1.0)
    )
    found = search_counterexample(lambda p: 1.0 + 1.0 / (1.0 + np.ptp(p["x"])), domain, 60, 0)
    assert found.found
    assert domain.is_general(found.witness)
    assert found.witness["x"].shape == (4, 1)
    equal = {"x": np.zeros((4, 1)), "j": np.array([0, 0, 1, 1])}
    assert not domain.is_general(equal)
    assert domain.is_general({"x": np.arange(4.0)[:, None], "j": equal["j"]})


def test_equal_points_shrink_when_no_others_violate():
    domain = LabelledPoints(
        name="x", labels="j", clusters=(2, 2), points=(2, 6), dimensions=(1, 1), spread=(0.1, 1.0)
    )
    equal = {"x": np.full((6, 1), 0.37), "j": np.array([0, 0, 0, 1, 1, 1])}
    sizes = [len(p["x"]) for p in domain.shrink(equal)]
    assert min(sizes) == 5
    general = {"x": np.array([[0.1], [0.2], [0.3]]), "j": np.array([0, 0, 1])}
    assert all(domain.is_general(p) for p in domain.shrink(general))


def test_a_part_of_a_product_has_every_domain_once_and_one_of_them_halved():
    first, last = Box({"s": Interval(0.0, 4.0)}), Box({"u": Interval(0.0, 2.0)})
    product = Product((first, POINTS, BOX, last))
    parts = product.parts()
    assert set(parts) == {
        *("s from 0 to 2", "s from 2 to 4", "t from 0 to 0.5", "t from 0.5 to 1"),
        *("u from 0 to 1", "u from 1 to 2"),
    }
    for name, part in parts.items():
        changed = [a is not b for a, b in zip(part.domains, product.domains, strict=True)]
        at = {"s": 0, "t": 2, "u": 3}[name[0]]
        assert changed == [i == at for i in range(4)]
        assert f"{name[0]} {name[2:]}" in part.domains[at].describe()


def test_there_are_never_more_clusters_than_points():
    crowded = replace(POINTS, clusters=(2, 9), points=(2, 4))
    rng = np.random.default_rng(0)
    made = [*crowded.sample(rng, 200), *crowded.corners(rng, 16)]
    assert all(crowded.contains(point) for point in made)
    sizes = [np.unique(point["j"]).size for point in made]
    assert (min(sizes), max(sizes)) == (2, 4)


@pytest.mark.parametrize("spread", [(0.0, 1.0), (0.5, 0.25), (0.5, np.inf)])
def test_a_spread_must_be_ordered_and_positive(spread):
    with pytest.raises(InvalidParameter, match=r"x: spread=.* must be ordered and > 0"):
        replace(POINTS, spread=spread).check()


@pytest.mark.parametrize("u", [0.0, 0.25, 1.0, 1.0 + 1e-9, -1e-9])
def test_a_log_uniform_number_keeps_its_ends(u):
    between = _log_between(u, 0.1, 0.7)
    assert 0.1 <= between <= 0.7
    assert between == pytest.approx(0.1 ** (1 - u) * 0.7**u, rel=1e-8)


def test_special_points_of_two_domains_meet_by_chance_alone():
    """Each domain has its own order: equal ones would have their first points together."""
    first, second = Box({"s": Interval(0.0, 1.0)}), Box({"t": Interval(0.0, 1.0)})
    same_place = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        alone = [[p["s"] for p in first.sample(rng, 8)], [p["t"] for p in second.sample(rng, 8)]]
        rng = np.random.default_rng(seed)
        joined = list(Product((first, second)).sample(rng, 8))
        assert sorted(p["s"] for p in joined) == sorted(alone[0])
        assert sorted(p["t"] for p in joined) == sorted(alone[1])
        pairs = dict(zip(*alone, strict=True))
        same_place += sum(pairs[p["s"]] == p["t"] for p in joined)
    # 50 random orders have 50 +- 7 places in common; the order of the domains had 400
    assert 15 < same_place < 85
