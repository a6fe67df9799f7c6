"""How near the main kernels come to the processor: shares of dgemm, or of the memory's bandwidth.

The roof of a kernel whose work is products of numbers is the rate of dgemm.  The roof of one that
mostly reads is the rate at which NumPy copies an array that does not fit the caches.  ``ours`` is
the share of the roof that our kernel reaches, ``other`` that of its peer, for the same amount of
necessary work, and ``ratio`` is ours over theirs.

Necessary work is counted once: operations of the plain formula, and for the bandwidth the bytes of
each array that must be read or written at all.  A row of a neighbour that is read again and again
counts once.  One thread, CPU seconds, the sides and the roofs in turns, the least of each.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from tests.bench.bench_ifca import CASES, batched_pass
from tests.bench.bench_kmeans import best_seconds
from tests.bench.data_sets import curved_sheets, half_moons
from trials.clustering.convex.pairs import pair_squares
from trials.clustering.kmeans.assignment import assign
from trials.clustering.sparse import api, neighbour_weights, newton
from trials.clustering.sparse.path import Tracer
from trials.clustering.sparse.product import Hessian, product
from trials.ifca.linear import run_ifca
from trials.models.clients import ClientData

SIZE, TURNS = 2000, 3
#: Numbers of an array that does not fit the caches, 256 MB.
MANY = 2**25
POINTS = int(os.environ.get("CFL_BENCH_ROOFLINE_POINTS", "100000"))


def dgemm() -> tuple[Callable[[], Any], float]:
    """A product of square matrices and its operations."""
    square = np.random.default_rng(0).standard_normal((SIZE, SIZE))
    out = np.empty_like(square)
    return lambda: np.matmul(square, square, out=out), 2.0 * SIZE**3


def copy() -> tuple[Callable[[], Any], float]:
    """A copy of a large array and the bytes that it reads and writes."""
    source, target = np.ones(MANY), np.zeros(MANY)
    return lambda: np.copyto(target, source), 16.0 * MANY


def row(
    kernel: str,
    case: str,
    work: float,
    sides: dict[str, Callable[[], Any]],
    roof: tuple[Callable[[], Any], float],
    unit: str,
) -> dict[str, Any]:
    """The row of a kernel: its ``work``, "ours" and the peer, in the unit of the roof's work."""
    for side in sides.values():
        side()  # compiles
    (peer,) = (name for name in sides if name != "ours")
    seconds = best_seconds(TURNS, sides | {"roof": roof[0]})
    top = roof[1] / seconds["roof"]
    ours, other = (work / seconds[name] / top for name in ("ours", peer))
    return {
        "benchmark": kernel,
        "case": case,
        "ours": ours,
        "other": other,
        "ratio": ours / other,
        "unit": f"share of {unit}",
        "note": f"peer {peer}; roof {top / 1e9:.3g} G{'B' if unit == 'bandwidth' else 'flop'}/s",
    }


def ifca(roof: Any) -> list[dict[str, Any]]:
    """A plain pass of IFCA over all data, 30 runs at once."""
    rows = []
    for m, n, d, k in CASES[:1]:
        rng = np.random.default_rng(0)
        features, responses = rng.standard_normal((m, n, d)), rng.standard_normal((m, n))
        starts, steps = rng.standard_normal((30, k, d)), np.full(30, 0.1)
        data = ClientData.equal(features, responses)
        sides = {
            "ours": lambda d=data, s=starts, t=steps: run_ifca(
                data=d, starts=s, step_sizes=t, n_iterations=1
            ),
            "NumPy GEMM": lambda b=(features, responses, starts, steps): batched_pass(*b),
        }
        case = f"m={m} n={n} d={d} k={k}, 30 runs"
        rows.append(row("IFCA pass", case, 2.0 * m * n * d * 30 * (k + 1), sides, roof, "dgemm"))
    return rows


def distances(roof: Any) -> list[dict[str, Any]]:
    """Nearest centres of k-means, and the distances of all pairs in convex clustering."""
    rng = np.random.default_rng(0)
    m, d, k = 20_000, 50, 20
    points, centres = rng.standard_normal((m, d)), rng.standard_normal((k, d))
    columns = np.ascontiguousarray(points.T)
    work, nearest, labels = np.empty(m), np.empty(m), np.empty(m, dtype=np.int64)
    model = KMeans(k, init=centres, n_init=1, max_iter=1).fit(points)
    sides: dict[str, Callable[[], Any]] = {
        "ours": lambda: assign(columns, centres, work, nearest, labels),
        "scikit-learn": lambda: model.predict(points),
    }
    rows = [row("k-means assignment", f"m={m} d={d} k={k}", 3.0 * m * d * k, sides, roof, "dgemm")]
    count, d = 1000, 20
    nodes = rng.standard_normal((count, d))
    across, out = np.ascontiguousarray(nodes.T), np.empty((count, count))
    sides = {
        "ours": lambda: pair_squares(across, out),
        "SciPy cdist": lambda: cdist(nodes, nodes, "sqeuclidean", out=out),
    }
    work_ = 3.0 * count * count * d
    return [*rows, row("distances of all pairs", f"K={count} d={d}", work_, sides, roof, "dgemm")]


def graphs(roof: Any) -> list[dict[str, Any]]:
    """Gradient and Hessian product on a graph of neighbours against SciPy's sparse product."""
    rows = []
    for name, points in (("half moons", half_moons(POINTS)), ("sheets", curved_sheets(POINTS, 7))):
        weights = neighbour_weights(points, 15, decay=2.0, relative=True, connect="circulant")
        problem = api._Problem(points, weights)
        tracer = Tracer(problem.data, problem.graph)
        half, x, lanes = tracer.half, tracer.x, tracer.lanes
        n, d = x.shape
        first, second = half.w.copy(), 0.1 * half.w
        hessian = Hessian(half.indptr, half.indices, np.ones(n), first, second, x)
        smoothed = newton.Smoothed(half, x, np.ones(n), tracer.small, tracer.width)
        p, out = np.ones((n, d)), np.empty((n, d))
        full = tracer.full.matrix()
        case = f"{name} n={n} d={points.shape[1]}, {half.w.size} edges"
        peer: dict[str, Callable[[], Any]] = {"SciPy A @ X": lambda a=full, p=p: a @ p}
        node = 8.0 * n * d
        sides = peer | {"ours": lambda h=hessian, p=p, o=out, v=lanes: product(v, h, p, o)}
        work = 20.0 * half.w.size + 3.0 * node
        rows.append(row("sparse Hessian product", case, work, sides, roof, "bandwidth"))
        sides = peer | {"ours": lambda f=smoothed, x=x, o=out, v=lanes: newton.gradient(v, f, x, o)}
        work = 12.0 * half.w.size + 3.0 * node
        rows.append(row("sparse gradient", case, work, sides, roof, "bandwidth"))
    return rows


def run() -> list[dict[str, Any]]:
    """All rows, in about half a minute."""
    products, reads = dgemm(), copy()
    return ifca(products) + distances(products) + graphs(reads)
