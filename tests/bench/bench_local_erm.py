"""Batched local fits against a loop over users with NumPy and scikit-learn, on one thread.

Both sides take turns and the best repetition of each counts.  Least squares is compared with
NumPy's own batched solve of the normal equations, which has no fallback and no refinement.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from trials.local_erm import least_squares, logistic, projected_sgd, strong_convexity

LEAST_SQUARES_CASES = ((1000, 100, 20), (500, 400, 20), (300, 4, 784))
LOGISTIC_CASES = ((100, 100, 2, 1e-5), (100, 200, 20, 1e-3), (20, 40, 300, 1e-3))


def best_seconds(repetitions: int, sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Shortest time of each side.  The sides take turns, so that all run under the same
    conditions.
    """
    best = dict.fromkeys(sides, np.inf)
    for _ in range(repetitions):
        for name, side in sides.items():
            start = time.perf_counter()
            side()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def row(benchmark: str, case: str, ours: float, other: float, note: str) -> dict[str, Any]:
    """Microseconds a user on both sides, and how many times faster ours is."""
    return {
        "benchmark": benchmark,
        "case": case,
        "ours": ours * 1e6,
        "other": other * 1e6,
        "ratio": other / ours,
        "unit": "us per user",
        "note": note,
    }


def normal_equations(X: Any, y: Any) -> Any:
    """Batched NumPy, no safeguards: Gram matrices and one stacked solve."""
    Xt = X.transpose(0, 2, 1)
    if X.shape[1] >= X.shape[2]:
        return np.linalg.solve(Xt @ X, Xt @ y[:, :, None])[:, :, 0]
    return (Xt @ np.linalg.solve(X @ Xt, y[:, :, None]))[:, :, 0]


def bench_least_squares() -> list[dict[str, Any]]:
    rows = []
    for n_users, n, d in LEAST_SQUARES_CASES:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n_users, n, d))
        y = X @ np.ones(d) + rng.standard_normal((n_users, n))
        fit = least_squares(X, y)

        def loop(X: Any = X, y: Any = y) -> Any:
            return np.stack([np.linalg.lstsq(a, b)[0] for a, b in zip(X, y, strict=True)])

        gap = np.abs(fit.theta - loop()).max()
        seconds = best_seconds(
            3,
            {
                "ours": lambda X=X, y=y: least_squares(X, y),
                "loop": loop,
                "batched": lambda X=X, y=y: normal_equations(X, y),
            },
        )
        case = f"n={n} d={d} users={n_users}"
        ours = seconds["ours"] / n_users
        rows += [
            row("least squares against a loop of numpy lstsq", case, ours,
                seconds["loop"] / n_users, f"largest difference {gap:.1e}"),
            row("least squares against batched numpy normal equations", case, ours,
                seconds["batched"] / n_users, "the peer checks no condition number"),
        ]  # fmt: skip
    return rows


def bench_logistic() -> list[dict[str, Any]]:
    rows = []
    for n_users, n, d, l2 in LOGISTIC_CASES:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n_users, n, d))
        score = X @ rng.standard_normal(d)
        y = np.where(rng.random((n_users, n)) < 1 / (1 + np.exp(-score)), 1.0, -1.0)
        fit = logistic(X, y, l2=l2, intercept=True)
        for solver, tol in (("lbfgs", 1e-4), ("newton-cholesky", 1e-10)):

            def loop(X: Any = X, y: Any = y, c: float = 1 / (n * l2), solver: str = solver,
                     tol: float = tol) -> Any:  # fmt: skip
                models = [
                    LogisticRegression(C=c, solver=solver, tol=tol, max_iter=1000).fit(a, b)
                    for a, b in zip(X, y, strict=True)
                ]
                return np.stack([model.coef_[0] for model in models])

            gap = np.abs(fit.theta - loop()).max() / np.abs(fit.theta).max()
            seconds = best_seconds(
                2,
                {
                    "ours": lambda X=X, y=y, c=l2: logistic(X, y, l2=c, intercept=True),
                    "loop": loop,
                },
            )
            rows.append(
                row(
                    f"logistic against scikit-learn {solver}",
                    f"n={n} d={d} l2={l2:g} users={n_users}",
                    seconds["ours"] / n_users,
                    seconds["loop"] / n_users,
                    f"peer tol={tol:g}, relative difference {gap:.1e}",
                )
            )
    return rows


def bench_sgd() -> list[dict[str, Any]]:
    n_users, n, d, n_steps = 20, 100, 20, 2000
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_users, n, d))
    y = X @ np.ones(d) + rng.standard_normal((n_users, n))
    mu = strong_convexity(X)

    def ours() -> Any:
        stream = np.random.default_rng(1)
        return projected_sgd(X, y, stream, loss="squared", mu=mu, radius=20.0, n_steps=n_steps)

    def lockstep() -> Any:
        """NumPy over users: each step is one batched operation."""
        stream = np.random.default_rng(1)
        users = np.arange(n_users)
        theta = np.zeros((n_users, d))
        average = np.zeros((n_users, d))
        for t in range(1, n_steps + 1):
            i = stream.integers(n, size=n_users)
            x = X[users, i]
            theta -= ((x * theta).sum(axis=1) - y[users, i])[:, None] * x / (mu * t)[:, None]
            norm = np.linalg.norm(theta, axis=1, keepdims=True)
            theta *= np.minimum(1.0, 20.0 / np.maximum(norm, 1e-300))
            average += t * theta
        return theta, average / (n_steps * (n_steps + 1) / 2)

    ours()
    seconds = best_seconds(3, {"ours": ours, "peer": lockstep})
    return [
        row(
            "projected SGD against NumPy in lockstep over users",
            f"n={n} d={d} steps={n_steps} users={n_users}",
            seconds["ours"] / n_users,
            seconds["peer"] / n_users,
            "",
        )
    ]


def run() -> list[dict[str, Any]]:
    """All rows.  They take about twenty seconds."""
    with threadpool_limits(1):
        return bench_least_squares() + bench_logistic() + bench_sgd()


if __name__ == "__main__":
    for line in run():
        print(line)
