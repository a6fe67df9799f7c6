"""Convex clustering against CVXPY (default solver, SCS) and a dual accelerated gradient method.

One run, one thread, one BLAS.  Cells: m in {50, 100, 200}, K in {4, 10}, d = 20, lambda below
(half the lower end), inside (geometric mean) and above (1.5 times the upper end) the recovery
interval (13).  Ours: minimiser, exact partition, certificate, and the independent check of it.

Times are CPU times of this process.  On a busy machine the wall clock would count other processes
in long calls and not in short ones, which would favour our side.

Slow solvers get `CAP_S` seconds of solver time, by their own clocks.  A solver that is stopped
counts with the time it used, so its ratio is a lower bound.  The note says so, and gives its
relative suboptimality (against our certified optimum, known to 1e-20).  The dual method stops at a
relative gap of 1e-10 by its own test.  CVXPY's solvers stop at their default tolerances, and SCS at
1e-9.
"""

from __future__ import annotations

import math
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from trials.clustering.convex import convex_clustering, convex_clustering_path

FloatArray = NDArray[np.float64]

CAP_S = 10.0
GAP = 1e-10
CELLS = [(m, k) for m in (50, 100, 200) for k in (4, 10)]
SEPARATION = {4: 100.0, 10: 400.0}
AIMS = {"cvxpy default": 1000.0, "cvxpy scs": 100.0}


def _mixture(m: int, k: int, d: int, separation: float) -> tuple[FloatArray, NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((k, d)) * separation / math.sqrt(2 * d)
    labels = np.arange(m) % k
    return centres[labels] + rng.standard_normal((m, d)), labels


def _interval(a: FloatArray, labels: NDArray[np.int64]) -> tuple[float, float]:
    """Condition (13), block by block: no m^2 d numbers here either."""
    m, k = a.shape[0], int(labels.max()) + 1
    sizes = np.bincount(labels)
    lower = 0.0
    for j in range(k):
        own = a[labels == j]
        lower = max(lower, max(np.linalg.norm(own - p, axis=1).max() for p in own) / sizes[j])
    means = np.array([a[labels == j].mean(axis=0) for j in range(k)])
    upper = min(
        float(np.linalg.norm(means[i] - means[j])) / (2 * m - sizes[i] - sizes[j])
        for i in range(k)
        for j in range(i)
    )
    return lower, upper


def dual_gradient(
    a: FloatArray, penalty: float, gap: float, cap: float
) -> tuple[int, FloatArray, float]:
    """A fair comparison: FISTA on the dual, step 1/m, adaptive restart, plain NumPy.

    One vector a pair, gathers by index, sums by ``reduceat``.  It is the fastest of three layouts
    tried.  The restart makes it two to four times faster than plain FISTA at this accuracy.
    """
    m, d = a.shape
    i, j = np.triu_indices(m, 1)
    c = a - a.mean(axis=0)
    rows = np.concatenate(([0], np.cumsum(np.arange(m - 1, 0, -1))[:-1]))
    by_column = np.argsort(j, kind="stable")
    columns = np.concatenate(([0], np.cumsum(np.arange(1, m))[:-1]))
    z = np.zeros((i.size, d))
    y, t = z, 1.0

    def primal(z: FloatArray) -> FloatArray:
        u = c.copy()
        u[:-1] -= np.add.reduceat(z, rows, axis=0)
        u[1:] += np.add.reduceat(z[by_column], columns, axis=0)
        return u

    start = time.perf_counter()
    for step in range(1, 10**7):
        u = primal(y)
        gradient = u[i] - u[j]
        new = gradient / m
        new += y
        norm = np.sqrt(np.einsum("ij,ij->i", new, new))
        new *= (penalty / np.maximum(norm, penalty))[:, None]
        moved = new - z
        if np.vdot(gradient, moved) < 0.0:
            t = 1.0
        t_new = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
        y = moved
        y *= (t - 1.0) / t_new
        y += new
        z, t = new, t_new
        if step % 10 == 0:
            u = primal(z)
            x = u[i] - u[j]
            value = 0.5 * ((c - u) ** 2).sum()
            value += penalty * np.sqrt(np.einsum("ij,ij->i", x, x)).sum()
            dual = 0.5 * (c * c).sum() - 0.5 * (u * u).sum()
            if value - dual <= gap * value or time.perf_counter() - start > cap:
                return step, u + a.mean(axis=0), float((value - dual) / value)
    raise AssertionError("unreachable")


def _objective(a: FloatArray, u: FloatArray, penalty: float) -> float:
    i, j = np.triu_indices(a.shape[0], 1)
    distances = float(np.linalg.norm(u[i] - u[j], axis=1).sum())
    return 0.5 * float(((a - u) ** 2).sum()) + penalty * distances


def _cvxpy(
    a: FloatArray, penalty: float, solver: str | None
) -> tuple[float, FloatArray | None, bool]:
    """Seconds (modelling, compilation, solving), the solution if any, and whether it finished."""
    import cvxpy as cp
    import scipy.sparse as sp

    m = a.shape[0]
    i, j = np.triu_indices(m, 1)
    pairs = np.arange(i.size)
    data = np.concatenate((np.ones(i.size), -np.ones(i.size)))
    index = (np.concatenate((pairs, pairs)), np.concatenate((i, j)))
    difference = sp.csr_array((data, index), shape=(i.size, m))
    options: dict[str, Any] = {"time_limit": CAP_S}
    if solver == "SCS":
        options = {"time_limit_secs": CAP_S, "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 10**7}
    start = time.process_time()
    u = cp.Variable(a.shape)
    cost = cp.sum_squares(u - a) / 2 + penalty * cp.sum(cp.norm(difference @ u, axis=1))
    problem = cp.Problem(cp.Minimize(cost))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=solver or cp.CLARABEL, **options)
    except cp.SolverError:
        pass
    return time.process_time() - start, u.value, problem.status == cp.OPTIMAL


def _median(call: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def _row(case: str, ours: float, other: float, note: str) -> dict[str, Any]:
    return {
        "benchmark": "convex_clustering",
        "case": case,
        "ours": 1e3 * ours,
        "other": 1e3 * other,
        "ratio": other / ours,
        "unit": "ms",
        "note": note,
    }


def _cell(m: int, k: int, where: str, a: FloatArray, penalty: float) -> list[dict[str, Any]]:
    result = convex_clustering(a, penalty)
    ours = _median(lambda: convex_clustering(a, penalty), 15)
    head = f"K={result.n_clusters} {'certified' if result.certified else 'NOT certified'}"
    case = f"m={m} K={k} {where}"
    rows = []

    found = dual_gradient(a, penalty, GAP, CAP_S)
    seconds = _median(lambda: dual_gradient(a, penalty, GAP, CAP_S), 3)
    aim = 20 if where == "above" else 5
    note = f"{head}; aim {aim}; {found[0]} steps to gap {found[2]:.0e}"
    rows.append(_row(f"{case} | dual gradient", ours, seconds, note))
    try:
        import cvxpy  # noqa: F401
    except ImportError:
        return rows
    for name, solver in (("cvxpy default", None), ("cvxpy scs", "SCS")):
        seconds, u, finished = _cvxpy(a, penalty, solver)
        note = f"{head}; aim {AIMS[name]:.0f}"
        if u is None or not np.isfinite(u).all():
            note += f"; no solution in {CAP_S:.0f} s of solver time, ratio is a lower bound"
        else:
            excess = _objective(a, u, penalty) / result.primal - 1.0
            note += f"; suboptimality {excess:.0e}"
            if not finished:
                note += f", stopped at {CAP_S:.0f} s, ratio is a lower bound"
        rows.append(_row(f"{case} | {name}", ours, seconds, note))
    return rows


def _large() -> list[dict[str, Any]]:
    """m = 2,000, d = 50: ours against the aim of ten seconds, and a whole path."""
    a, labels = _mixture(2000, 10, 50, 700.0)
    lower, upper = _interval(a, labels)
    rows = []
    for where, penalty in (
        ("inside", math.sqrt(lower * upper)),
        ("above", 1.5 * upper),
        ("below", 0.5 * lower),
    ):
        result = convex_clustering(a, penalty)
        ours = _median(lambda p=penalty: convex_clustering(a, p), 1 if where == "below" else 3)
        head = f"K={result.n_clusters} {'certified' if result.certified else 'NOT certified'}"
        gap = result.gap / result.primal
        note = f"{head}; gap {gap:.0e}; other = 10 s, the aim inside the interval"
        rows.append(_row(f"m=2000 d=50 K=10 {where}", ours, 10.0, note))
    for m in (100, 200):
        points, _ = _mixture(m, 4, 20, 100.0)
        events = len(convex_clustering_path(points).merges)
        ours = _median(lambda p=points: convex_clustering_path(p), 3)
        penalties = np.linspace(0.0, convex_clustering_path(points).breakpoints[-1], 20)
        grid = _median(lambda p=points, g=penalties: [convex_clustering(p, x) for x in g], 1)
        note = f"{events} events with brackets; other = 20 single certified solves on a grid"
        rows.append(_row(f"whole path m={m} K=4", ours, grid, note))
    return rows


def run() -> list[dict[str, Any]]:
    """All cells.  They take about nine minutes on one slow core, nearly all of it CVXPY's."""
    rows = []
    with threadpool_limits(1):
        for m, k in CELLS:
            a, labels = _mixture(m, k, 20, SEPARATION[k])
            lower, upper = _interval(a, labels)
            for where, penalty in (
                ("below", 0.5 * lower),
                ("inside", math.sqrt(lower * upper)),
                ("above", 1.5 * upper),
            ):
                rows += _cell(m, k, where, a, penalty)
        rows += _large()
    return rows
