"""The k-means kernels against scikit-learn: equal starts, equal stopping rule, one thread.

Both sides take turns and the least CPU time of each counts (a busy machine does not skew it).  At m
= 100 scikit-learn spends most of its time around its loop (validation, thread control).  A caller
has to wait for that too.  The large cases show the loops themselves.  The rows of Lloyd's iteration
say in how many data sets both sides found the same labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits

from trials.clustering.kmeans import kmeans_pp, lloyd, seed_kmeans_pp, spectral_kmeans
from trials.clustering.selection import silhouette

# (data sets, m, d, k, spread of a cluster; the centres are uniform in [-14, 14]^d)
LLOYD_CASES = (
    (1000, 100, 20, 10, 1.0),
    (1000, 100, 20, 10, 20.0),
    (5, 2000, 50, 20, 1.0),
    (5, 2000, 50, 20, 20.0),
    (5, 2000, 10, 20, 20.0),
    (1, 20000, 50, 20, 20.0),
)
TOL = 1e-4


def clouds(n_sets: int, m: int, d: int, k: int, spread: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    centers = rng.uniform(-14, 14, size=(n_sets, k, d))
    points = centers[:, np.arange(m) % k] + spread * rng.standard_normal((n_sets, m, d))
    chosen = seed_kmeans_pp(points, k, rng)
    return points, np.take_along_axis(points, chosen[:, :, None], axis=1)


def best_seconds(repetitions: int, sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Least CPU time of each side.  The sides take turns, so that all run under the same
    conditions.
    """
    best = dict.fromkeys(sides, np.inf)
    for _ in range(repetitions):
        for name, side in sides.items():
            start = time.process_time()
            side()
            best[name] = min(best[name], time.process_time() - start)
    return best


def row(benchmark: str, case: str, ours: float, other: float, note: str) -> dict[str, Any]:
    """Microseconds a data set on both sides, and how many times faster ours is."""
    return {
        "benchmark": benchmark,
        "case": case,
        "ours": ours * 1e6,
        "other": other * 1e6,
        "ratio": other / ours,
        "unit": "us per data set",
        "note": note,
    }


def bench_lloyd() -> list[dict[str, Any]]:
    rows = []
    for n_sets, m, d, k, spread in LLOYD_CASES:
        points, starts = clouds(n_sets, m, d, k, spread)

        def peer(points: Any = points, starts: Any = starts, k: int = k) -> list[KMeans]:
            return [
                KMeans(k, init=start, n_init=1, tol=TOL, algorithm="lloyd").fit(data)
                for data, start in zip(points, starts, strict=True)
            ]

        fit = lloyd(points, starts, tol=TOL)
        same = np.mean(
            [np.array_equal(a.labels_, b) for a, b in zip(peer(), fit.labels, strict=True)]
        )
        seconds = best_seconds(
            3, {"ours": lambda p=points, s=starts: lloyd(p, s, tol=TOL), "peer": peer}
        )
        rows.append(
            row(
                "Lloyd against scikit-learn KMeans",
                f"m={m} d={d} k={k} spread={spread:g} batch={n_sets}",
                seconds["ours"] / n_sets,
                seconds["peer"] / n_sets,
                f"aim 5 at m=100; mean iterations {fit.n_iter.mean():.1f}, equal labels {same:.1%}",
            )
        )
    return rows


def bench_whole_methods() -> list[dict[str, Any]]:
    rows = []
    for n_sets, m, d, k, spread in LLOYD_CASES[:2]:
        points, _ = clouds(n_sets, m, d, k, spread)
        rng = np.random.default_rng(1)
        factor = spectral_kmeans(points, k, rng).part_one.factor.max()
        kmeans_pp(points[:1], k, rng)
        seconds = best_seconds(
            2,
            {
                "pp": lambda p=points, k=k, rng=rng: kmeans_pp(p, k, rng),
                "spectral": lambda p=points, k=k, rng=rng: spectral_kmeans(p, k, rng),
                "peer": lambda p=points, k=k: [KMeans(k, n_init=1, tol=0.0).fit(a) for a in p],
            },
        )
        case = f"m={m} d={d} k={k} spread={spread:g} batch={n_sets}"
        peer = seconds["peer"] / n_sets
        rows += [
            row(
                "k-means++ and Lloyd against scikit-learn KMeans",
                case,
                seconds["pp"] / n_sets,
                peer,
                "aim 5; scikit-learn draws several candidates a seed, Algorithm 3 one",
            ),
            row(
                "spectral k-means against scikit-learn KMeans",
                case,
                seconds["spectral"] / n_sets,
                peer,
                f"aim 5; different methods; certified factor of Part I at most {factor:.2f}",
            ),
        ]
    return rows


def bench_silhouette() -> list[dict[str, Any]]:
    points, starts = clouds(100, 100, 20, 10, 20.0)
    labels = lloyd(points, starts).labels
    silhouette(points, labels)
    seconds = best_seconds(
        3,
        {
            "ours": lambda: silhouette(points, labels),
            "peer": lambda: [silhouette_score(a, b) for a, b in zip(points, labels, strict=True)],
        },
    )
    return [
        row(
            "silhouette against scikit-learn",
            "m=100 d=20 k=10 batch=100",
            seconds["ours"] / 100,
            seconds["peer"] / 100,
            "",
        )
    ]


def run() -> list[dict[str, Any]]:
    """All rows.  They take about ten seconds."""
    with threadpool_limits(1):
        return bench_lloyd() + bench_whole_methods() + bench_silhouette()


if __name__ == "__main__":
    for line in run():
        print(line)
