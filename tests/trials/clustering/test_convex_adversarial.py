"""Convex clustering on adversarial sets: nothing out of bounds, no merge lost, no false proof.

Two oracles: the solver at one penalty, whose certificates are independent of the path, and CVXPY.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.trials.clustering.families import FAMILIES, instances
from trials.clustering.convex import convex_clustering, convex_clustering_path, tree
from trials.clustering.convex.nodes import Nodes, ShapeMismatch, squared_distances
from trials.clustering.convex.solver import Outcome, Solver, Step

PER_FAMILY = 8


def penalties_of(path, count):
    """Penalties between the breakpoints, and around them, from below the first to past the last."""
    found = np.unique(path.breakpoints[path.breakpoints > 0.0])
    if found.size == 0:
        return []
    between = np.sqrt(found[1:] * found[:-1])
    around = np.concatenate([found * (1 - 1e-4), found * (1 + 1e-4)])
    every = np.concatenate([[0.5 * found[0]], between, around, [2.0 * found[-1]]])
    return every[np.linspace(0, every.size - 1, min(count, every.size)).astype(int)]


def decided(path, penalty):
    """Whether no event of the path leaves open what the partition at this penalty is."""
    return not any(
        e.apart * (1 - 1e-12) <= penalty <= e.upper * (1 + 1e-12)
        for e in path.merges
        if e.penalty > 0.0
    )


@pytest.mark.parametrize(("family", "number", "points"), instances(PER_FAMILY))
def test_the_path_and_the_solver_agree(family, number, points):
    path = convex_clustering_path(points)
    distinct = np.unique(points + 0.0, axis=0).shape[0]
    assert path.n_clusters(0.0) == distinct
    if path.merges:
        assert path.merges[-1].size == points.shape[0]
    for event in path.merges:
        assert event.lower <= event.penalty <= event.upper
    for penalty in penalties_of(path, 6):
        single = convex_clustering(points, penalty)
        if single.certified and decided(path, penalty):
            np.testing.assert_array_equal(single.labels, path.labels(penalty))


def test_near_duplicates_do_not_corrupt_memory():
    """Sets that shrank in a solve without a proof kept values of the old size: glibc aborted."""
    rng = np.random.default_rng(1)
    points = np.repeat(rng.standard_normal((8, 1)), 4, 0) + 1e-12 * rng.standard_normal((32, 1))
    path = convex_clustering_path(points)
    assert path.merges[-1].size == 32
    assert path.resolved
    top = path.breakpoints[-1]
    assert path.n_clusters(1e-6 * top) == 8


@pytest.mark.interpreted
def test_merges_inside_a_set_with_a_narrow_bracket_are_found():
    points = np.array([[0.0], [0.005], [1.0], [1.005]])
    path = convex_clustering_path(points, tolerance=1e-2)
    assert path.n_clusters(0.1) == convex_clustering(points, 0.1).n_clusters == 2
    np.testing.assert_allclose(path.breakpoints, [0.0025, 0.0025, 0.25], rtol=1e-2)
    assert path.resolved


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9, 1e-12])
def test_two_narrow_clusters_are_two_clusters_at_most_penalties(width):
    """Local fits without noise: the path said 19 clusters where there are 2."""
    rng = np.random.default_rng(2)
    points = np.repeat(rng.standard_normal((2, 3)), 10, 0) + width * rng.standard_normal((20, 3))
    path = convex_clustering_path(points)
    assert path.resolved
    top = path.breakpoints[-1]
    assert [path.n_clusters(top * share) for share in (1e-12 / width**0.5, 0.5, 2.0)][1:] == [2, 1]
    # Each cluster's own path is that of the cluster alone, to the digits that its points have.
    for rows in (slice(0, 10), slice(10, 20)):
        own = convex_clustering_path(points[rows])
        inner = [e for e in path.merges if e.penalty < 0.5 * top]
        for event in own.merges:
            nearest = min(abs(e.penalty / event.penalty - 1.0) for e in inner)
            assert nearest < 1e-7


def test_an_event_that_is_not_resolved_says_so(monkeypatch):
    """One look at the bracket, and no solve: the set is narrow, its inner merges unknown."""
    points = np.array([[0.0], [0.005], [1.0], [1.005]])
    monkeypatch.setattr(tree, "_MAX_SOLVES", 0)
    path = convex_clustering_path(points, tolerance=1e-2)
    assert [e.resolved for e in path.merges] == [False]
    assert not path.resolved
    event = path.merges[0]
    assert event.apart == 0.0
    assert event.lower <= 0.25 <= event.upper
    assert event.upper <= 1.01 * event.lower
    # Two points need no solve: they are apart below their bracket.
    assert convex_clustering_path(points[[0, 3]]).resolved


def test_a_path_stops_where_precision_ends(monkeypatch):
    """An event that needed a retreat repeated its last solve until the limit of forty."""
    solves = []
    run = Solver.run
    monkeypatch.setattr(
        Solver, "run", lambda self, *start: solves.append(self.lam) or run(self, *start)
    )
    path = convex_clustering_path(np.random.default_rng(3).standard_normal((60, 2)))
    # One repetition shows that there is nothing more to gain.
    assert max(Counter(f"{lam:.10e}" for lam in solves).values()) <= 2
    assert len(solves) <= 4 * len(path.merges)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_values_match_cvxpy_on_small_sets(name):
    cp = pytest.importorskip("cvxpy")
    checked = 0
    for _, _, points in [x for x in instances(20, seed=5) if x[0] == name]:
        m = points.shape[0]
        unit = np.abs(points - points[0]).max()
        if not 2 <= m <= 7 or unit == 0.0 or np.abs(points).max() > 1e3 * unit:
            continue
        a = (points - points[0]) / unit
        penalty = 0.6 / m
        u = cp.Variable(a.shape)
        i, j = np.triu_indices(m, 1)
        cost = cp.sum_squares(u - a) / 2 + penalty * cp.sum(cp.norm(u[i] - u[j], axis=1))
        cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
        ours = convex_clustering(points, penalty * unit)
        np.testing.assert_allclose((ours.minimiser - points[0]) / unit, u.value, atol=1e-4)
        assert ours.primal <= cost.value * unit**2 * (1 + 1e-6)
        checked += 1
    assert checked > 0


# --- the door to the kernels ------------------------------------------------------------------


def nodes(d=2, k=5):
    rng = np.random.default_rng(0)
    return Nodes(ids=np.arange(k), x=rng.standard_normal((d, k)), mass=np.ones(k))


@pytest.mark.parametrize(
    "call",
    [
        lambda n, u: n.largest_flow(u, 1.0),
        lambda n, u: n.fusion_ratio(u),
        lambda n, u: n.set_ratio(u, np.zeros((5, 5)), np.arange(2)),
        lambda n, u: n.minimise(u, 1.0, tol=0.1, max_steps=1, patience=1),
        lambda n, u: n.means(u, np.zeros(5, dtype=np.int64)),
    ],
)
@pytest.mark.parametrize(
    "values",
    [
        np.zeros((2, 4)),
        np.zeros((3, 5)),
        np.zeros((2, 6)),
        np.zeros(10),
        np.zeros((5, 2)).T,
        np.zeros((2, 5), dtype=np.float32),
    ],
)
def test_no_kernel_gets_values_of_other_nodes(call, values):
    with pytest.raises(ShapeMismatch, match=r"values|potentials"):
        call(nodes(), values)


def test_no_kernel_gets_an_index_that_is_none():
    u = nodes().x
    for index in (np.array([5]), np.array([-1]), np.empty(0, dtype=np.int64)):
        with pytest.raises(ShapeMismatch, match="index"):
            nodes().set_ratio(u, np.zeros((5, 5)), index)
    with pytest.raises(ShapeMismatch, match="squares"):
        nodes().set_ratio(u, np.zeros((4, 4)), np.arange(2))
    with pytest.raises(ShapeMismatch, match="index"):
        nodes().means(u, np.array([0, 1, 2, 0, -1]))
    with pytest.raises(ShapeMismatch, match="weights"):
        nodes().minimise(u.copy(), 1.0, tol=0.1, max_steps=1, patience=1, weights=np.zeros((4, 4)))
    with pytest.raises(ShapeMismatch, match="mass"):
        Nodes(ids=np.arange(5), x=u, mass=np.ones(4))
    with pytest.raises(ShapeMismatch):
        squared_distances(np.zeros(3))


def test_outcomes_and_steps_belong_to_their_nodes():
    n = nodes()
    with pytest.raises(ShapeMismatch):
        Outcome(nodes=n, v=np.zeros((2, 4)), steps=[], radius=0.0, separated=True, eps=0.0)
    with pytest.raises(ShapeMismatch):
        Step(children=np.arange(3), potentials=np.zeros((2, 4)), strength=0.0, node=9)
