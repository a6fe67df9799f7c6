"""Orthogonal iteration without Y against forming Y, and the paper-sized run, on one thread.

Both sides take turns and the best repetition of each counts.  Two peers: NumPy forms Y and takes
its SVD (converged by construction), or forms Y and iterates on it as printed.  Ours runs
Algorithm 3 with the printed number of half steps, T1 = k log(N d) to the next even number, and
with the early end at 0.1 % of the energy; and `krylov_bases` with 8 blocks.  The note says how
much of the k leading singular values' energy, which the SVD knows, each found basis captures.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from trials import moment_descent as md
from trials.federated_data import FederatedModel
from trials.mixture import simplex

CASES = ((500, 8, 5000, 8), (500, 8, 20_000, 2), (2000, 4, 8000, 2))  # d, k, m, anchors
TOL = 1e-3
N_BLOCKS = 8


def best_seconds(repetitions: int, sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Shortest time of each side; the sides take turns, so that all meet the same weather."""
    best = dict.fromkeys(sides, np.inf)
    for _ in range(repetitions):
        for name, side in sides.items():
            start = time.perf_counter()
            side()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def row(
    benchmark: str, case: str, ours: float, other: float | None, unit: str, note: str
) -> dict[str, Any]:
    """One comparison; ``ratio`` says how many times faster ours is."""
    ratio = None if other is None else other / ours
    return {
        "benchmark": benchmark, "case": case, "ours": ours, "other": other, "ratio": ratio,
        "unit": unit, "note": note,
    }  # fmt: skip


def bench_subspaces(d: int, k: int, m: int, n_anchors: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    model = FederatedModel(theta_star=simplex(k, d, 2.0), fractions=np.full(k, 1 / k), sigma=0.2)
    data = model.draw(np.full(m, 2), rng).data
    x1, x2 = (np.ascontiguousarray(data.features[i::2]) for i in (0, 1))
    y1, y2 = data.responses[::2], data.responses[1::2]
    theta = 0.3 * rng.standard_normal((n_anchors, d)) / math.sqrt(d)
    w = (y1 - theta @ x1.T) * (y2 - theta @ x2.T)
    q0 = md.random_basis(d, k, rng)
    half_steps = 2 * math.ceil(k * math.log(2 * m * d) / 2)

    def ours(rows: slice = slice(None), tol: float = 0.0) -> Any:
        return md.orthogonal_iteration(
            first=x1, second=x2, weights=w[rows], start=q0, n_iterations=half_steps, tol=tol
        )

    def formed() -> list[Any]:
        return [x1.T @ (row[:, None] * x2) / m for row in w]

    def iterated() -> list[Any]:
        bases = []
        for y in formed():
            q = q0
            for _ in range(half_steps // 2):
                q = np.linalg.qr(y @ (y.T @ q))[0]
            bases.append(q)
        return bases

    found: dict[str, Any] = {}
    sides: dict[str, Callable[[], Any]] = {
        "printed": ours,
        "early": lambda: ours(tol=TOL),
        "krylov": lambda: md.krylov_bases(
            first=x1, second=x2, weights=w, start=q0, n_blocks=N_BLOCKS
        ),
        "alone": lambda: [ours(slice(i, i + 1)) for i in range(n_anchors)],
        "svd": lambda: [np.linalg.svd(y) for y in formed()],
        "iterated": iterated,
    }

    def kept(name: str) -> Callable[[], None]:
        return lambda: found.update({name: sides[name]()})

    seconds = best_seconds(2, {name: kept(name) for name in sides})
    matrices = formed()

    def captured(result: Any) -> str:
        shares = [
            float(((y.T @ q) ** 2).sum() / (values[:k] ** 2).sum())
            for y, q, (_, values, _) in zip(matrices, result.bases, found["svd"], strict=True)
        ]
        return f"{result.n_iterations.mean():.0f} half steps, energy {min(shares):.4f} or more"

    case = f"d={d} k={k} m={m} anchors={n_anchors}"
    flops = half_steps * 4 * m * d * k * n_anchors
    square = rng.standard_normal((1500, 1500))
    peak = 2 * 1500**3 / best_seconds(3, {"dgemm": lambda: square @ square})["dgemm"]
    gap = max(
        float(np.linalg.norm(q - p @ (p.T @ q), 2))
        for p, q in zip(found["printed"].bases, found["iterated"], strict=True)
    )
    name, unit = "orthogonal iteration", "s"
    return [
        row(f"{name} (early end) against forming Y and numpy svd", case, seconds["early"],
            seconds["svd"], unit, captured(found["early"])),
        row("block Krylov against forming Y and numpy svd", case, seconds["krylov"],
            seconds["svd"], unit, captured(found["krylov"])),
        row(f"{name} (printed T1) against forming Y and numpy svd", case, seconds["printed"],
            seconds["svd"], unit, captured(found["printed"])),
        row(f"{name} (printed T1) against forming Y and iterating on it", case,
            seconds["printed"], seconds["iterated"], unit, f"sine of the bases' angle {gap:.0e}"),
        row(f"{name} (printed T1) together against anchor by anchor", case,
            seconds["printed"], seconds["alone"], unit,
            f"{flops / seconds['printed'] / peak:.2f} of the dgemm rate"),
    ]  # fmt: skip


def bench_paper_size(
    d: int = 500, k: int = 8, n_clients: int = 50_000, n_anchors: int = 200, n_rounds: int = 4
) -> list[dict[str, Any]]:
    """Phase 1 on 50,000 clients with two points each, one pass over them in all."""
    rng = np.random.default_rng(0)
    n_pairs = 64
    model = FederatedModel(theta_star=simplex(k, d, 2.0), fractions=np.full(k, 1 / k), sigma=0.2)
    sizes = np.full(n_clients + n_anchors, 2)
    sizes[n_clients:] = 2 * n_pairs * n_rounds
    sample = model.draw(sizes, rng)
    anchors = np.arange(n_clients, n_clients + n_anchors)
    rows = []
    for name, options in (("early end", {"tol": TOL}), ("Krylov", {"krylov_blocks": N_BLOCKS})):
        start = time.perf_counter()
        found = md.run_moment_descent(
            draw=md.fresh_batches(
                sample.data, anchors, n_clients=n_clients // n_rounds, n_pairs=n_pairs,
                n_rounds=n_rounds, rng=np.random.default_rng(1),
            ),
            k=k, alpha=1.0, beta=1.0, threshold=0.4, start=np.zeros(d), n_rounds=n_rounds,
            subspace_iterations=144, power_iterations=40, rng=rng,
            targets=model.theta_star[sample.labels[anchors]], **options,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        assert found.distances is not None
        before, after = np.median(found.distances[[0, -1]], axis=1)
        m = n_clients // n_rounds
        case = f"d={d} k={k} M={n_clients} anchors={n_anchors} rounds={n_rounds} {name}"
        note = f"median |theta - theta*| {before:.2f} -> {after:.2f}: m={m} < d / p^2 = {d * k * k}"
        rows.append(row("Phase 1 at the paper's scale", case, seconds, None, "s", note))
    return rows


def run() -> list[dict[str, Any]]:
    """All rows; about five minutes, half of them the paper's scale."""
    with threadpool_limits(1):
        rows = [line for case in CASES for line in bench_subspaces(*case)]
        return rows + bench_paper_size()


if __name__ == "__main__":
    for line in run():
        print(line)
