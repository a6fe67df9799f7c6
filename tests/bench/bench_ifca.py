"""IFCA's data kernel against NumPy's GEMM rate and against a loop over runs and clients.

One pass over all clients with 30 runs (10 starts, 3 step sizes), on one thread, everything with
the same BLAS settings and interleaved, the best of several repetitions.  Only the flops of the
two GEMMs count, 2 m n d R k forward and 2 m n d R backward.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from trials.ifca import ClientData, run_ifca

CASES = ((100, 100, 1000, 2), (400, 100, 1000, 4))
N_STARTS, STEP_SIZES = 10, (0.1, 0.5, 1.0)
GEMM_SIZE = 4000


def loop_pass(features, responses, starts, step_sizes):
    """One iteration as it is first written down: runs, clients, losses, gradient, step."""
    m, n, _ = features.shape
    stepped = starts.copy()
    for run, models in enumerate(starts):
        gradients = np.zeros_like(models)
        for x, y in zip(features, responses, strict=True):
            label = np.argmin([np.mean((y - x @ theta) ** 2) for theta in models])
            gradients[label] -= 2 / n * x.T @ (y - x @ models[label])
        stepped[run] -= step_sizes[run] / m * gradients
    return stepped


def frugal_loop_pass(features, responses, starts, step_sizes):
    """The same loops with the k models in one product and no residual computed twice."""
    m, n, _ = features.shape
    stepped = starts.copy()
    for run, models in enumerate(starts):
        gradients = np.zeros_like(models)
        for x, y in zip(features, responses, strict=True):
            residuals = y - models @ x.T
            label = np.argmin((residuals**2).sum(axis=1))
            gradients[label] -= 2 / n * residuals[label] @ x
        stepped[run] -= step_sizes[run] / m * gradients
    return stepped


def best_seconds(repetitions: int, sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Shortest time of each side; the sides take turns, so that all meet the same weather."""
    best = dict.fromkeys(sides, np.inf)
    for _ in range(repetitions):
        for name, side in sides.items():
            start = time.perf_counter()
            side()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def run() -> list[dict[str, Any]]:
    """Rows for `tox -e bench`: the fraction of the GEMM rate, and the ratio to the loop."""
    rng = np.random.default_rng(0)
    square = rng.standard_normal((GEMM_SIZE, GEMM_SIZE))
    product = np.empty_like(square)
    rows = []
    with threadpool_limits(1):
        for m, n, d, k in CASES:
            features, responses = rng.standard_normal((m, n, d)), rng.standard_normal((m, n))
            data = ClientData.equal(features, responses)
            starts = np.repeat(rng.standard_normal((N_STARTS, k, d)), len(STEP_SIZES), axis=0)
            step_sizes = np.tile(STEP_SIZES, N_STARTS)
            arguments = {"data": data, "starts": starts, "step_sizes": step_sizes}
            batch = (features, responses, starts, step_sizes)
            models = run_ifca(n_iterations=1, **arguments).models  # compiles
            np.testing.assert_allclose(models, loop_pass(*batch), rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(models, frugal_loop_pass(*batch), rtol=1e-8, atol=1e-8)

            seconds = best_seconds(
                3,
                {
                    "ours": lambda arguments=arguments: run_ifca(n_iterations=3, **arguments),
                    "loop": lambda batch=batch: loop_pass(*batch),
                    "frugal loop": lambda batch=batch: frugal_loop_pass(*batch),
                    "dgemm": lambda: np.matmul(square, square, out=product),
                },
            )
            seconds["ours"] /= 3
            n_flops = 2 * m * n * d * len(starts) * (k + 1)
            rate, peak = n_flops / seconds["ours"] / 1e9, 2e-9 * GEMM_SIZE**3 / seconds["dgemm"]
            case = f"m={m} n={n} d={d} k={k}, {len(starts)} runs"
            rows.append(
                {
                    "benchmark": "ifca pass against the dgemm rate",
                    "case": case,
                    "ours": rate,
                    "other": peak,
                    "ratio": rate / peak,
                    "unit": "GF/s",
                    "note": "one thread; wanted >= 0.70",
                }
            )
            for loop, wanted in (("loop", "; wanted >= 10"), ("frugal loop", "")):
                ceiling = seconds[loop] / (1e-9 * n_flops / peak)
                rows.append(
                    {
                        "benchmark": f"ifca pass against a NumPy {loop}",
                        "case": case,
                        "ours": 1e3 * seconds["ours"],
                        "other": 1e3 * seconds[loop],
                        "ratio": seconds[loop] / seconds["ours"],
                        "unit": "ms",
                        "note": f"one thread{wanted}; at the dgemm rate itself {ceiling:.1f}",
                    }
                )
    return rows


if __name__ == "__main__":
    for row in run():
        print(row)
