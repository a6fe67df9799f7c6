"""Exact laws against the data that they replace.  All rows are of one run on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from trials.experiments.ifca.step import STEP
from trials.laws.noise import gaussian_singular_values
from trials.laws.step import simulate_trajectories
from trials.models import mixture as mx


def _seconds(call: Callable[[], object], repeats: int) -> float:
    """The fastest of ``repeats`` calls, after one that compiles."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _row(
    benchmark: str, case: str, ours: float, other: float | None, unit: str, note: str
) -> dict[str, Any]:
    ratio = None if other is None else other / ours
    return {
        "benchmark": benchmark,
        "case": case,
        "ours": ours,
        "other": other,
        "ratio": ratio,
        "unit": unit,
        "note": note,
    }


def _step_call(m: int, n: int, d: int, rng: np.random.Generator) -> Callable[[], object]:
    """One step from explicit d-dimensional models and centres, everything included."""
    theta_star = mx.simplex(2, d, 1.0)
    theta = mx.displace(theta_star, 0.25, rng.standard_normal((2, d)))
    sizes = np.array([m // 2, m - m // 2])
    return lambda: simulate_trajectories(
        theta=theta,
        theta_star=theta_star,
        d=d,
        cluster_sizes=sizes,
        sigma=1.0,
        n_samples=n,
        gamma=0.5,
        n_steps=1,
        rng=rng,
    )


def _data_step(m: int, n: int, d: int, rng: np.random.Generator) -> Callable[[], object]:
    """The same step with its data, in plain NumPy: fresh samples for labels and for gradients."""
    theta_star = mx.simplex(2, d, 1.0)
    theta = mx.displace(theta_star, 0.25, rng.standard_normal((2, d)))

    def step() -> None:
        update = np.zeros((2, d))
        for i in range(m):
            truth = theta_star[i % 2]
            x = rng.standard_normal((n, d))
            y = x @ truth + rng.standard_normal(n)
            label = np.mean((y[:, None] - x @ theta.T) ** 2, axis=0).argmin()
            x = rng.standard_normal((n, d))
            y = x @ truth + rng.standard_normal(n)
            update[label] += 2 / n * x.T @ (y - x @ theta[label])
        np.linalg.norm(theta + 0.5 / m * update - theta_star, axis=1)

    return step


def _experiment_call(params: dict[str, Any], rng: np.random.Generator) -> Callable[[], object]:
    full = STEP.check(params)
    return lambda: STEP.simulate(full, rng, 256)


def run() -> list[dict[str, Any]]:
    """The table: times in milliseconds, ratio = other / ours."""
    rng = np.random.default_rng(0)
    rows = []
    for m, n in ((100, 100), (10**5, 10**2), (10**9, 10**4)):
        ours = 1e3 * _seconds(_step_call(m, n, 1000, rng), 50)
        rows.append(
            _row("exact step", f"m={m} n={n} d=1000 k=2", ours, 2.0, "ms", "other: the 2 ms target")
        )
    data = 1e3 * _seconds(_data_step(100, 100, 1000, rng), 3)
    rows.append(
        _row(
            "exact step v. data",
            "m=100 n=100 d=1000 k=2",
            rows[0]["ours"],
            data,
            "ms",
            "other: NumPy, data drawn, labels and gradients on fresh samples",
        )
    )
    for k, d in ((2, 1000), (2, 10**6), (16, 10**4)):
        params = {"m": 10**9, "n": 10**4, "d": d, "k": k}
        ours = 1e3 * _seconds(_experiment_call(params, rng), 5) / 256
        rows.append(
            _row(
                "exact step, 2k coordinates",
                f"m=10^9 n=10^4 d={d} k={k}",
                ours,
                2.0,
                "ms a trial",
                "ifca.step in blocks of 256, geometry included; other: the 2 ms target",
            )
        )
    ours = 1e3 * _seconds(lambda: gaussian_singular_values(1000, 500, rng, 8), 3) / 8
    svd = 1e3 * _seconds(
        lambda: np.linalg.svd(rng.standard_normal((1000, 500)), compute_uv=False), 2
    )
    rows.append(
        _row("operator norm", "N=1000 d=500", ours, svd, "ms a draw", "other: draw and SVD")
    )
    ours = 1e3 * _seconds(lambda: gaussian_singular_values(10**4, 10**4, rng, 1), 2)
    rows.append(_row("operator norm", "N=10^4 d=10^4", ours, None, "ms a draw", ""))
    return rows
