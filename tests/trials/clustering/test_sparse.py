"""Convex clustering with sparse weights against dense kernels, CVXPY and its own verifier."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from scipy.spatial.distance import pdist

from tests.bench.data_sets import curved_sheets, half_moons
from tests.trials.clustering.families import (
    far_from_the_origin,
    mixed_scales,
    near_duplicates,
    nested,
)
from trials.checks import InvalidParameter
from trials.clustering.convex import convex_clustering
from trials.clustering.sparse import (
    api,
    check_sparse_certificate,
    fusing_penalty,
    neighbour_weights,
    sparse_convex_clustering,
    sparse_convex_clustering_path,
)
from trials.clustering.sparse.fusing import Fused
from trials.clustering.sparse.gaps import Gaps
from trials.clustering.sparse.graph import check_graph
from trials.clustering.sparse.path import Tracer
from trials.clustering.sparse.record import SparsePath

LINE = np.array([[4.0], [-4.0], [-2.0], [-1.0], [1.0]])
#: Points 3 and 4 share a cluster at penalty 0.25 and have parted at 0.375.
LINE_WEIGHTS = np.array(
    [[0, 0, 0, 3, 0], [0, 0, 2, 0, 3], [0, 2, 0, 0, 2], [3, 0, 0, 0, 1], [0, 3, 2, 1, 0]]
)


def objective(points, weights, penalty, values):
    """The objective, pair by pair."""
    w = np.asarray(weights)
    pairs = np.sqrt(((values[:, None] - values) ** 2).sum(axis=2))
    return 0.5 * ((points - values) ** 2).sum() + 0.5 * penalty * (w * pairs).sum()


@pytest.mark.large
@pytest.mark.parametrize("seed", range(4))
def test_same_partition_and_objective_as_the_dense_kernel(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 24)), int(rng.integers(1, 4))
    points = rng.standard_normal((n, d))
    connect = ("none", "tree", "circulant")[seed % 3]
    weights = neighbour_weights(points, min(4, n - 1), decay=0.5, connect=connect)
    for penalty in (0.0, 0.05, 0.3, 1.0, 1e6):
        fit = sparse_convex_clustering(points, penalty, weights)
        dense = convex_clustering(points, penalty, weights=weights.toarray())
        assert fit.certified
        assert fit.primal <= dense.primal * (1.0 + 1e-12)
        assert fit.primal == pytest.approx(
            objective(points, weights.toarray(), penalty, fit.minimiser), rel=1e-12, abs=1e-28
        )
        if dense.certified:
            assert fit.labels.tolist() == dense.labels.tolist()
            assert fit.primal == pytest.approx(dense.primal, rel=1e-12, abs=1e-300)
            assert np.abs(fit.minimiser - dense.minimiser).max() < 1e-7


@pytest.mark.large
def test_minimiser_of_cvxpy():
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(5)
    points = rng.standard_normal((25, 2))
    weights = neighbour_weights(points, 4, decay=1.0)
    low, high = sp.triu(weights).nonzero()
    w = np.asarray(weights[low, high]).reshape(-1)
    for penalty in (0.1, 0.4):
        u = cvxpy.Variable(points.shape)
        pull = cvxpy.norm(u[low] - u[high], 2, axis=1) @ w
        problem = cvxpy.Problem(
            cvxpy.Minimize(0.5 * cvxpy.sum_squares(u - points) + penalty * pull)
        )
        problem.solve(solver="CLARABEL")
        fit = sparse_convex_clustering(points, penalty, weights)
        assert fit.certified
        assert fit.primal <= objective(points, weights.toarray(), penalty, u.value) + 1e-9
        assert np.abs(u.value - fit.minimiser).max() < 1e-3


@pytest.mark.large
def test_penalties_that_repeat_infinity_do_not_increase():
    points = [[0.0], [1.0], [5.0]]
    weights = neighbour_weights(points, 1)
    assert sparse_convex_clustering_path(points, [0.0, np.inf], weights).n_clusters[0] == 3
    for penalties in ([1.0, np.inf, np.inf], [1.0, 1.0], [2.0, 1.0], [1.0, np.nan]):
        with pytest.raises(InvalidParameter, match="increasing"):
            sparse_convex_clustering_path(points, penalties, weights)


def test_a_path_keeps_its_gap_and_agrees_with_single_problems():
    rng = np.random.default_rng(0)
    angle = np.pi * rng.random(120)
    side = np.arange(120) % 2
    points = np.stack([np.cos(angle) + side, np.sin(angle) * (1 - 2 * side) + 0.3 * side], axis=1)
    points += 0.08 * rng.standard_normal(points.shape)
    weights = neighbour_weights(points, 8, decay=2.0, relative=True, connect="circulant")
    penalties = np.linspace(0.0, 0.3, 16)
    calls = []
    path = sparse_convex_clustering_path(
        points, penalties, weights, tolerance=1e-9, progress=lambda *done: calls.append(done)
    )
    assert calls == [(i + 1, 16) for i in range(16)]
    assert (path.gap <= 1e-9 * path.primal).all()
    rough = sparse_convex_clustering_path(points, penalties, weights, flows=False)
    assert (rough.primal >= path.primal - path.gap).all()
    assert np.isnan(rough.gap[1:]).all()
    bounded = sparse_convex_clustering_path(points, penalties, weights, flows=False, gaps=True)
    assert bounded.labels.tolist() == rough.labels.tolist()
    assert np.median(bounded.gap[1:] / bounded.primal[1:]) <= 1e-5
    assert (bounded.primal - bounded.gap <= path.primal).all()
    assert bounded.primal == pytest.approx(rough.primal, rel=1e-12)
    for i in (3, 8, 15):
        fit = sparse_convex_clustering(points, penalties[i], weights)
        assert fit.certified
        assert path.primal[i] - path.gap[i] <= fit.primal <= path.primal[i] * (1.0 + 1e-12)
        assert path.n_clusters[i] == path.centres[i].shape[0]
        gap = np.abs(path.centres[i][path.labels[i]] - fit.minimiser).max()
        assert gap <= np.sqrt(2.0 * path.gap[i]) + fit.radius


@pytest.mark.parametrize(
    ("d", "connect", "share"), [(1, "tree", 1.3), (2, "none", 0.08), (3, "circulant", 0.08)]
)
def test_few_flows_bound_the_gaps_of_all_penalties(d, connect, share, monkeypatch):
    points = half_moons(60)[:, :1] if d == 1 else np.random.default_rng(d).standard_normal((60, d))
    weights = neighbour_weights(points, 5, decay=1.0, relative=True, connect=connect)
    top = share * fusing_penalty(points, weights)
    penalties = np.append(np.linspace(0.0, top, 500), np.inf)
    exact = sparse_convex_clustering_path(points, penalties, weights, tolerance=1e-11)
    knots = []
    make = Gaps._make_knot
    monkeypatch.setattr(
        Gaps, "_make_knot", lambda self, *step: knots.append(step) or make(self, *step)
    )
    fast = sparse_convex_clustering_path(points, penalties, weights, flows=False, gaps=True)
    assert (fast.gap >= 0.0).all()
    assert fast.gap[0] == 0.0
    assert fast.gap[-1] <= 1e-5 * fast.primal[-1]
    # No bound is above the optimum, but for rounding, and most are near it.
    slack = 1e-12 * exact.primal[-1]
    assert (fast.primal - fast.gap <= exact.primal + slack).all()
    assert (exact.primal - exact.gap <= fast.primal + slack).all()
    small = fast.gap[1:] <= 1e-5 * fast.primal[1:]
    excess = fast.primal[1:] - exact.primal[1:]
    assert np.median(fast.gap[1:] / fast.primal[1:]) <= 1e-5
    assert (excess[small] <= fast.gap[1:][small] + slack).all()
    assert 0 < len(knots) < 0.6 * np.count_nonzero(fast.n_clusters > fast.n_clusters[-1])


@pytest.mark.parametrize("numbers", [1, 40, 79])
def test_gaps_are_bounds_however_few_penalties_wait_for_flows(numbers, monkeypatch):
    """One at a time: the 40 numbers of no second one fit into memory."""
    points = np.random.default_rng(5).standard_normal((20, 2))
    weights = neighbour_weights(points, 4, decay=1.0, relative=True, connect="tree")
    penalties = np.append(np.linspace(0.0, 1.1 * fusing_penalty(points, weights), 40), np.inf)
    exact = sparse_convex_clustering_path(points, penalties, weights, tolerance=1e-11)
    waiting, settle = [], Gaps.settle
    monkeypatch.setattr("trials.clustering.sparse.gaps._MEMORY", numbers)
    monkeypatch.setattr(
        Gaps, "settle", lambda self: (waiting.append(len(self._waiting)), settle(self))[1]
    )
    found = sparse_convex_clustering_path(points, penalties, weights, flows=False, gaps=True)
    assert max(waiting) == 1
    slack = 1e-12 * exact.primal[-1]
    assert (found.gap >= 0.0).all()
    assert (found.primal - found.gap <= exact.primal + slack).all()
    assert (found.primal >= exact.primal - exact.gap - slack).all()
    assert np.median(found.gap[1:] / found.primal[1:]) <= 1e-5
    np.testing.assert_array_equal(found.n_clusters, exact.n_clusters)


@pytest.mark.parametrize(("n", "neighbours", "count"), [(200, 6, 8), (400, 8, 10)])
def test_penalties_far_apart_fuse_no_clusters_that_stay_apart(n, neighbours, count):
    # Values extrapolated over so large steps meet where the minimiser's do not: fusing them made
    # the objective larger by 4.5e-5 and 3.0e-5.
    points = curved_sheets(n, 4)
    weights = neighbour_weights(points, neighbours, decay=2.0, relative=True, connect="tree")
    penalties = np.linspace(0.0, 0.02 * fusing_penalty(points, weights), count)
    exact = sparse_convex_clustering_path(points, penalties, weights)
    fast = sparse_convex_clustering_path(points, penalties, weights, flows=False)
    assert (exact.gap <= 1e-6 * exact.primal).all()
    assert (fast.primal <= (1.0 + 2e-6) * exact.primal).all()
    # It fuses linked clusters up to five smoothing widths apart, and no others.
    rows, cols = weights.nonzero()
    near = 5e-3 * np.median(np.linalg.norm(points[rows] - points[cols], axis=1))
    for labels, centres, fused in zip(exact.labels, exact.centres, fast.labels, strict=True):
        values = centres[labels]
        short = np.linalg.norm(values[rows] - values[cols], axis=1) <= near
        shape = (n, n)
        close = sp.csr_array((np.ones(short.sum()), (rows[short], cols[short])), shape=shape)
        joined = sp.csgraph.connected_components(close, directed=False)[1]
        for one in range(fused.max() + 1):
            assert len(set(joined[fused == one])) == 1
        for one in range(labels.max() + 1):
            assert len(set(fused[labels == one])) == 1


@pytest.mark.parametrize(("share", "count"), [(0.1, 27), (0.3, 18)])
def test_a_far_penalty_releases_what_was_fused_at_each_stage_on_the_way(share, count):
    """At .3 the loose part is one of an early stage, at .1 one of the last stage alone."""
    rng = np.random.default_rng(8)
    points = 5.0 * rng.standard_normal((5, 2))[rng.integers(0, 5, 150)]
    points += rng.standard_normal((150, 2))
    weights = neighbour_weights(points, 2, decay=0.5, relative=True)
    penalties = [share * fusing_penalty(points, weights)]
    exact = sparse_convex_clustering_path(points, penalties, weights)
    fast = sparse_convex_clustering_path(points, penalties, weights, flows=False)
    assert exact.gap[0] <= 1e-6 * exact.primal[0]
    assert exact.n_clusters[0] == count
    assert fast.primal[0] <= (1.0 + 2e-6) * exact.primal[0]
    assert (fast.labels == exact.labels).all()


@pytest.mark.parametrize(
    "kind", [{"flows": False}, {"flows": False, "gaps": True}, {"flows": True}]
)
def test_a_path_ends_where_each_component_is_one_cluster(kind):
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.standard_normal((30, 2)), 9.0 + rng.standard_normal((20, 2))])
    weights = neighbour_weights(points, 4, decay=0.1)
    count, component = sp.csgraph.connected_components(weights, directed=False)
    means = np.stack([points[component == k].mean(axis=0) for k in range(count)])
    objective_there = 0.5 * ((points - means[component]) ** 2).sum()
    calls = []
    path = sparse_convex_clustering_path(
        points,
        np.linspace(0.0, 60.0, 61),
        weights,
        progress=lambda *done: calls.append(done),
        **kind,
    )
    assert calls == [(i + 1, 61) for i in range(61)]
    end = path.index_of(count)
    assert end < 50
    assert (path.n_clusters[end:] == count).all()
    assert (path.labels[end:] == component).all()
    for centres in path.centres[end:]:
        assert centres == pytest.approx(means, rel=1e-14, abs=1e-14)
    assert path.primal[end:] == pytest.approx(objective_there, rel=1e-14)
    if kind != {"flows": False}:
        assert (path.gap[end:] <= 1e-5 * path.primal[end:]).all()


def test_the_end_of_a_path_costs_no_work():
    rng = np.random.default_rng(4)
    points = rng.standard_normal((40, 2))
    problem = api._Problem(points, neighbour_weights(points, 4, connect="tree"))
    tracer = Tracer(problem.data, problem.graph)
    lam = tracer.small
    while not tracer.is_at_the_end(1e-6, flows=True):
        lam *= 1.2
        tracer.solve(lam, 1e-6, flows=True)
    assert lam < tracer.end.penalty
    before = [tracer.work.newton.copy(), tracer.work.balance.copy(), tracer.u.copy()]
    tracer.solve(3.0 * lam, 1e-6, flows=True)
    after = [tracer.work.newton, tracer.work.balance, tracer.u]
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    # A smaller gap is sought, and the penalty behind which a tree proves the cluster.
    tracer.solve(4.0 * lam, 1e-15, flows=True)
    assert tracer.gap <= 1e-15 * tracer.primal


@pytest.mark.parametrize("d", [1, 3])
def test_linked_pairs_follow_their_closed_form(d):
    """Three pairs with weights and lengths of their own, a copy, and a point without a link."""
    rng = np.random.default_rng(d)
    points = rng.standard_normal((9, d))
    points[7] = points[6]
    weights = np.zeros((9, 9))
    for i, w in zip(range(0, 8, 2), (0.5, 3.0, 1.0, 2.0), strict=True):
        weights[i, i + 1] = weights[i + 1, i] = w
    lengths = np.sqrt(((points[0:6:2] - points[1:6:2]) ** 2).sum(axis=1))
    ends = np.sort(lengths / (2.0 * np.array([0.5, 3.0, 1.0])))
    penalties = np.sort(np.concatenate([0.99 * ends, 1.01 * ends]))
    path = sparse_convex_clustering_path(points, penalties, weights, flows=False)
    met = (penalties[:, None] >= ends).sum(axis=1)
    assert path.n_clusters.tolist() == (8 - met).tolist()
    for i, penalty in enumerate(penalties):
        fit = sparse_convex_clustering(points, penalty, weights)
        assert path.labels[i].tolist() == fit.labels.tolist()
        assert path.centres[i] == pytest.approx(fit.centres, rel=1e-9, abs=1e-9)
        there = objective(points, weights, penalty, path.centres[i][path.labels[i]])
        assert path.primal[i] == pytest.approx(there, rel=1e-12)
        assert path.primal[i] <= fit.primal * (1.0 + 1e-12)


def test_a_path_ends_with_a_pair_without_newton_steps(monkeypatch):
    rng = np.random.default_rng(6)
    points = np.concatenate([rng.standard_normal((25, 2)), 12.0 + rng.standard_normal((15, 2))])
    weights = neighbour_weights(points, 6, connect="tree")
    penalties = np.linspace(0.5, 20.0, 40)
    path = sparse_convex_clustering_path(points, penalties, weights, tolerance=1e-9, flows=False)
    in_two = np.flatnonzero(path.n_clusters == 2)
    assert in_two.size >= 10
    first = int(in_two[0])
    monkeypatch.setattr(Tracer, "_find_pairs", lambda _: False)
    newton = sparse_convex_clustering_path(points, penalties, weights, tolerance=1e-9, flows=False)
    assert newton.labels[: first + 1].tolist() == path.labels[: first + 1].tolist()
    # Newton's method found the first of them.
    for i in in_two[1::5]:
        assert path.primal[i] <= newton.primal[i] * (1.0 + 1e-12)
        assert newton.primal[i] <= path.primal[i] * (1.0 + 1e-8)
        fit = sparse_convex_clustering(points, penalties[i], weights)
        assert fit.labels.tolist() == path.labels[i].tolist()
        assert path.centres[i] == pytest.approx(fit.centres, rel=1e-9)


@pytest.mark.parametrize("connect", ["none", "tree"])
def test_the_floor_of_the_fusing_penalty_is_below_it(connect):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = rng.standard_normal((int(rng.integers(4, 40)), int(rng.integers(1, 4))))
        weights = neighbour_weights(points, 3, decay=float(rng.uniform(0.0, 3.0)), connect=connect)
        end = Fused(points, check_graph(weights, len(points)).upper())
        assert 0.0 < end._floor <= end.penalty
        assert end.is_at(end.penalty)
        assert not end.is_at(end.penalty * (1.0 - 1e-12))


def test_clusters_split_where_the_weights_make_them():
    before = sparse_convex_clustering(LINE, 0.25, LINE_WEIGHTS)
    after = sparse_convex_clustering(LINE, 0.375, LINE_WEIGHTS)
    assert before.certified
    assert after.certified
    assert before.labels.tolist() == [0, 1, 2, 3, 3]
    assert after.labels.tolist() == [0, 1, 2, 3, 4]
    path = sparse_convex_clustering_path(LINE, [0.25, 0.375], LINE_WEIGHTS, tolerance=1e-12)
    assert path.n_clusters.tolist() == [4, 5]
    assert path.splits > 0


def test_the_verifier_refuses_what_is_false():
    rng = np.random.default_rng(2)
    points = rng.standard_normal((20, 2))
    weights = neighbour_weights(points, 4)
    penalty = 0.3
    fit = sparse_convex_clustering(points, penalty, weights)
    assert fit.certified
    assert 2 < fit.n_clusters < 20

    def check(labels=fit.labels, offsets=fit.offsets, potentials=fit.potentials, at=penalty):
        return check_sparse_certificate(
            points, weights, at, labels, offsets, potentials, margin=fit.margin
        )

    assert check().valid
    moved = fit.offsets.copy()
    moved[0] += 0.1
    assert not check(offsets=moved).valid
    assert (
        check(offsets=moved).gap
        >= objective(points, weights.toarray(), penalty, points[0] + moved[fit.labels]) - fit.primal
    )
    large = int(np.argmax(np.bincount(fit.labels)))
    torn = fit.labels.copy()
    torn[np.flatnonzero(torn == large)[-1]] = fit.n_clusters
    assert not check(labels=torn, offsets=np.vstack([fit.offsets, fit.offsets[large]])).valid
    merged = np.minimum(fit.labels, fit.n_clusters - 2)
    assert not check(labels=merged, offsets=fit.offsets[:-1]).valid
    wild = fit.potentials.copy()
    wild[np.flatnonzero(fit.labels == large)[0]] += 100.0
    assert not check(potentials=wild).proved[large]
    assert check(potentials=wild).proved.sum() == fit.n_clusters - 1
    assert not check(at=2.0 * penalty).valid


@pytest.mark.parametrize("family", [far_from_the_origin, near_duplicates, mixed_scales, nested])
@pytest.mark.large
def test_hostile_points_are_solved_as_by_the_dense_kernel(family):
    proved = both = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        points = family(rng)
        if len(points) < 2:
            continue
        weights = neighbour_weights(
            points, min(4, len(points) - 1), decay=1.0, relative=True, connect="tree"
        )
        penalty = fusing_penalty(points, weights) * 10.0 ** rng.uniform(-6.0, 0.0)
        fit = sparse_convex_clustering(points, penalty, weights)
        dense = convex_clustering(points, penalty, weights=weights.toarray())
        assert np.isfinite([fit.primal, fit.gap]).all()
        assert fit.primal - fit.gap <= dense.primal * (1.0 + 1e-12)
        assert dense.primal - dense.gap <= fit.primal * (1.0 + 1e-12)
        proved += fit.certified
        if fit.certified and dense.certified:
            both += 1
            assert fit.labels.tolist() == dense.labels.tolist()
    assert proved >= both >= 8


@pytest.mark.parametrize(
    ("points", "weights", "labels"),
    [
        ([[1.0, 2.0]], [[0.0]], [0]),
        ([[1.0], [1.0], [3.0]], np.ones((3, 3)), [0, 0, 1]),
        ([[1.0], [1.0], [3.0]], np.zeros((3, 3)), [0, 1, 2]),
        (np.zeros((6, 2)), np.ones((6, 6)), [0] * 6),
        (1e150 * np.eye(2), np.zeros((2, 2)), [0, 1]),
    ],
)
def test_degenerate_problems(points, weights, labels):
    for penalty in (0.0, 1e-3):
        fit = sparse_convex_clustering(points, penalty, weights)
        assert fit.certified
        assert fit.labels.tolist() == labels


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_extreme_units(size):
    points = size * np.array([[0.0], [1.0], [10.0], [12.0]])
    fit = sparse_convex_clustering(points, 2.0 * size, neighbour_weights(points, 1))
    assert fit.certified
    assert fit.labels.tolist() == [0, 0, 1, 1]
    assert fit.centres[:, 0] / size == pytest.approx([0.5, 11.0])


def test_an_infinite_penalty_fuses_the_components_of_the_graph():
    points = np.array([[0.0], [1.0], [5.0], [7.0], [9.0]])
    weights = np.zeros((5, 5))
    weights[0, 1] = weights[1, 0] = 1e-3
    weights[2, 3] = weights[3, 2] = 1.0
    for penalty in (1e6, np.inf):
        fit = sparse_convex_clustering(points, penalty, weights)
        assert fit.certified
        assert fit.labels.tolist() == [0, 0, 1, 1, 2]
        assert fit.centres[:, 0].tolist() == [0.5, 6.0, 9.0]


@pytest.mark.parametrize("seed", range(2))
def test_weights_over_twelve_decades(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((20, 30 if seed else 2))  # more coordinates than points, too
    half = sp.triu(neighbour_weights(points, 4, connect="tree")).tocoo()
    half.data = 10.0 ** rng.uniform(-12.0, 0.0, half.data.size)
    weights = sp.csr_array(half + half.T)
    for penalty in (1.0, 1e3, 1e8, 1e14):
        assert sparse_convex_clustering(points, penalty, weights).certified


def test_neighbour_weights_are_those_of_all_distances():
    points = np.random.default_rng(1).standard_normal((40, 3))
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    linked = np.argsort(np.argsort(squares, axis=1), axis=1) <= 5  # itself and five others
    np.fill_diagonal(linked, False)
    dense = np.where(linked | linked.T, np.exp(-0.7 * squares), 0.0)
    assert neighbour_weights(points, 5, decay=0.7).toarray() == pytest.approx(dense)
    repeated = np.zeros((8, 2))
    assert (neighbour_weights(repeated, 3).diagonal() == 0.0).all()
    assert (np.diff(neighbour_weights(repeated, 3).indptr) >= 3).all()


def test_connections_join_the_graph_by_its_shortest_edges():
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 20.0], [50.0, 50.0]])
    points = np.repeat(centres, 6, axis=0) + rng.random((24, 2))
    parts = lambda w: sp.csgraph.connected_components(w, directed=False)[0]  # noqa: E731
    loose = neighbour_weights(points, 3)
    assert parts(loose) == 4
    tree = neighbour_weights(points, 3, connect="tree")
    assert parts(tree) == 1
    assert tree.nnz == loose.nnz + 2 * 3
    # Oracle: the spanning tree of all points crosses the components by the same edges.
    full = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    crossing = sp.csgraph.minimum_spanning_tree(full).tocoo()
    ends = {
        (min(i, j), max(i, j))
        for i, j in zip(crossing.row.tolist(), crossing.col.tolist(), strict=True)
        if i // 6 != j // 6
    }
    added = sp.triu(tree - loose).tocoo()
    assert {*zip(added.row.tolist(), added.col.tolist(), strict=True)} == ends
    assert parts(neighbour_weights(points, 3, connect="circulant")) == 1
    faint = neighbour_weights(1e3 * points, 3, decay=1e3, connect="tree")
    assert parts(faint) == 1  # weights that would underflow stay links


@pytest.mark.large
def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(4)
    points = rng.standard_normal((60, 2))
    weights = neighbour_weights(points, 5)
    results: list = [None, None]

    def work(place: int) -> None:
        results[place] = sparse_convex_clustering(points, 0.2, weights)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = sparse_convex_clustering(points, 0.2, weights)
    for result in results:
        assert result.centres.tobytes() == alone.centres.tobytes()
        assert result.potentials.tobytes() == alone.potentials.tobytes()


def test_the_linkage_cuts_into_the_partitions_of_the_path():
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    rng = np.random.default_rng(6)
    points = rng.standard_normal((20, 2))
    weights = neighbour_weights(points, 3, connect="tree")
    path = sparse_convex_clustering_path(points, np.linspace(0.02, 6.0, 12), weights)
    assert (np.diff(path.n_clusters) <= 0).all()
    tree = path.linkage()
    assert tree.shape == (19, 4)
    assert hierarchy.is_valid_linkage(tree)
    for penalty, labels in zip(path.penalties, path.labels, strict=True):
        cut = hierarchy.fcluster(tree, penalty, criterion="distance")
        assert len(set(zip(cut.tolist(), labels.tolist(), strict=True))) == labels.max() + 1
        assert len(set(cut.tolist())) == labels.max() + 1
    assert path.n_clusters[path.index_of(5)] <= 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sparse_convex_clustering([[np.nan]], 1.0, [[0]]), "finite"),
        (lambda: sparse_convex_clustering([[0.0], [1.0]], -1.0, np.ones((2, 2))), "penalty"),
        (lambda: sparse_convex_clustering([[0.0], [1.0]], np.nan, np.ones((2, 2))), "penalty"),
        (lambda: sparse_convex_clustering([[0.0], [1.0]], 1.0, np.ones((3, 3))), "shape"),
        (lambda: sparse_convex_clustering([[0.0], [1.0]], 1.0, [[0, 1], [2, 0]]), "symmetric"),
        (lambda: sparse_convex_clustering([[0.0], [1.0]], 1.0, [[0, -1], [-1, 0]]), ">= 0"),
        (lambda: sparse_convex_clustering([[0.0], [1.0]], 1.0, "w"), "real numbers"),
        (lambda: neighbour_weights([[0.0], [1.0]], 2), "n_neighbours"),
        (lambda: neighbour_weights([[0.0], [1.0]], 1, connect="ring"), "connect"),
        (
            lambda: sparse_convex_clustering_path([[0.0]], [1.0, 1.0], [[0]]),
            "increasing",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()


@pytest.mark.parametrize("n", [2, 3, 10])
def test_relative_weights_are_those_in_units_of_the_mean_squared_distance(n):
    """The mean is over all pairs of different points."""
    points = np.random.default_rng(n).standard_normal((n, 2)) * 7.0
    mean = (pdist(points) ** 2).mean()
    relative = neighbour_weights(points, n - 1, decay=1.5, relative=True).toarray()
    plain = neighbour_weights(points, n - 1, decay=1.5 / mean).toarray()
    assert relative == pytest.approx(plain, rel=1e-12)


def linked_problem(rng, n, d):
    """Whole points and weights, so that sums of few terms are exact."""
    points = rng.integers(-3, 4, (n, d)).astype(float)
    weights = np.triu(rng.integers(0, 3, (n, n)), 1).astype(float)
    return points, weights + weights.T


@pytest.mark.parametrize("penalty", [0.0, 0.25, 4.0, 1e50, 1e102, np.inf])
def test_the_gap_and_the_radius_hold_for_any_centres(penalty):
    """Before, they were 0 for any centres of the right partition at penalty 0, and those of the
    points for linked centres that are apart at an endless penalty.
    """
    rng = np.random.default_rng(4)
    for _ in range(12):
        points, weights = linked_problem(rng, int(rng.integers(1, 6)), 2)
        fit = convex_clustering(points, min(penalty, 1e50), weights=weights)
        labels = np.unique(rng.integers(0, 2, len(points)), return_inverse=True)[1]
        guessed = rng.integers(-2, 3, (labels.max() + 1, 2)).astype(float)
        best = fit.minimiser[np.unique(fit.labels, return_index=True)[1]] - points[0]
        moved = best + 1e-3 * rng.standard_normal(best.shape)
        for owner, offsets in ((labels, guessed), (fit.labels, moved), (fit.labels, best)):
            potentials = rng.standard_normal(points.shape)
            check = check_sparse_certificate(points, weights, penalty, owner, offsets, potentials)
            values = (points[0] + offsets)[owner]
            with np.errstate(invalid="ignore"):
                pairs = np.sqrt(((values[:, None] - values) ** 2).sum(axis=2)) * weights
                pull = np.where(pairs > 0.0, 0.5 * penalty * pairs, 0.0).sum()
            primal = 0.5 * ((points - values) ** 2).sum() + pull
            assert check.primal == pytest.approx(primal, rel=1e-12)
            optimum = objective(points, weights, min(penalty, 1e50), fit.minimiser)
            assert primal - optimum <= check.gap * (1 + 1e-9) + 1e-12 * (1 + optimum)
            distance = np.sqrt(((values - fit.minimiser) ** 2).sum())
            assert distance <= check.radius + fit.radius + 1e-12
            assert check.radius == np.sqrt(2.0 * check.gap)


def test_points_that_cannot_be_scaled_are_refused_and_nothing_is_known_of_them():
    w = [[0.0, 1.0], [1.0, 0.0]]
    zero = np.zeros((2, 1))
    for points, offsets, reason in (
        ([[-1e308], [1e308]], [[0.0]], "points must spread over at most 1e307"),
        ([[0.0], [1e-200]], [[1.0]], "the centres must lie within 1e150 times the spread"),
    ):
        check = check_sparse_certificate(points, w, 1.0, [0, 0], offsets, zero)
        assert check.reason.startswith(reason)
        assert not check.valid
        assert not check.proved.any()
        assert check.gap == check.radius == np.inf


def test_the_linkage_of_clusters_that_exchange_points_joins_each_set_once():
    """Three pairs, then three pairs across them in a ring: two of its links join all."""
    labels = np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 2, 1]], dtype=np.int32)
    nothing = np.zeros(2)
    path = SparsePath(
        penalties=np.array([1.0, 2.0]), labels=labels, centres=(),
        n_clusters=np.array([3, 3]), primal=nothing, gap=nothing, relative_gap=nothing, splits=3,
    )  # fmt: skip
    tree = path.linkage()
    assert is_valid_linkage(tree)
    np.testing.assert_array_equal(tree[:, 2], [1, 1, 1, 2, 2])
    np.testing.assert_array_equal(sorted(tree[:, 3]), [2, 2, 2, 4, 6])
    at_one = fcluster(tree, 1.5, "distance")
    np.testing.assert_array_equal(at_one[:, None] == at_one, labels[0][:, None] == labels[0])
    assert set(fcluster(tree, 2.5, "distance")) == {1}


def test_clusters_without_a_proof_are_listed():
    w = [[0.0, 1.0], [1.0, 0.0]]
    fit = sparse_convex_clustering([[0.0], [1.0]], 1.0, w)
    assert fit.uncertified.tolist() == []
    proved = np.array([True, False, True, False])
    assert dataclasses.replace(fit, proved=proved).uncertified.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"points": np.zeros((0, 1)), "weights": np.zeros((0, 0)), "labels": []}, r"\(n, d\) with"),
        ({"points": np.zeros((2, 0)), "offsets": np.zeros((1, 0))}, r"\(n, d\) with"),
        ({"labels": [0, 2**50]}, r"labels must be \(2,\) whole numbers in 0\.\.1"),
        ({"labels": np.array([0, 2**63], dtype=np.uint64)}, r"labels must be \(2,\)"),
        ({"penalty": "a"}, "penalty='a' must be a number or infinity"),
        ({"penalty": None}, "penalty=None must be"),
        ({"penalty": [1.0, 2.0]}, "penalty="),
        ({"penalty": 10**400}, "penalty=1"),
        ({"penalty": np.nan}, "penalty=nan must be"),
        ({"penalty": -1.0}, "the penalty >= 0"),
    ],
)
def test_the_verifier_names_what_is_no_proof(changed, message):
    """A label of 2^50 asked for petabytes, and text and None ended in errors of Python."""
    proof = {
        "points": [[0.0], [1.0]], "weights": [[0, 1], [1, 0]], "penalty": 1.0, "labels": [0, 0],
        "offsets": [[0.5]], "potentials": [[0.0], [0.0]],
    }  # fmt: skip
    assert check_sparse_certificate(**proof).valid
    with pytest.raises(InvalidParameter, match=message):
        check_sparse_certificate(**{**proof, **changed})


@pytest.mark.filterwarnings("error")
def test_weights_without_decay_are_one_at_the_largest_distance():
    """The distance overflows, and no decay times infinity was no number."""
    points = [[0.0] * 400, [1e307] * 400]
    assert neighbour_weights(points, 1).toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]
    far = neighbour_weights(points, 1, decay=5e-324).toarray()
    assert far.tolist() == [[0.0, np.finfo(float).tiny], [np.finfo(float).tiny, 0.0]]


def test_a_path_keeps_its_penalties_when_the_callers_array_changes():
    points, penalties = np.array([[0.0], [1.0]]), np.array([0.0, 0.25, 1.0])
    path = sparse_convex_clustering_path(points, penalties, [[0, 1], [1, 0]])
    penalties[:] = 7.0
    assert path.penalties.tolist() == [0.0, 0.25, 1.0]
    assert path.linkage()[0, 2] == 1.0
