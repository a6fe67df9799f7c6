"""FedAvg / FedProx rounds against d x d solves, padded arrays and client loops, on one thread.

Both sides take turns and the best repetition of each counts, in processor seconds, so that other
processes disturb less.  Our side computes the clients' spectra once (row "set-up") and uses them
for every round, rule, step size and number of local steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from trials.mixed_regression import fed_regression
from trials.mixed_regression.fed_regression import local_spectra, run_fed_regression
from trials.mixed_regression.settled_rounds import SettledRounds
from trials.models.federated_data import FederatedModel, client_sizes
from trials.models.mixture import simplex


def best_seconds(repetitions: int, sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Least processor time of each side.  They take turns, so that all run under the same
    conditions.
    """
    best = dict.fromkeys(sides, np.inf)
    for _ in range(repetitions):
        for name, side in sides.items():
            start = time.process_time()
            side()
            best[name] = min(best[name], time.process_time() - start)
    return best


def row(benchmark: str, case: str, ours: float, other: float | None, note: str) -> dict[str, Any]:
    """Milliseconds, and how many times faster ours is."""
    return {
        "benchmark": benchmark,
        "case": case,
        "ours": ours * 1e3,
        "other": None if other is None else other * 1e3,
        "ratio": None if other is None else other / ours,
        "unit": "ms a round",
        "note": note,
    }


def problem(sizes: Any, d: int, k: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    model = FederatedModel(theta_star=simplex(k, d, 2.0), fractions=np.full(k, 1 / k), sigma=0.2)
    data = model.draw(sizes, rng).data
    start = model.theta_star + 0.3 / np.sqrt(d) * rng.standard_normal((k, d))
    return data, start, local_spectra(data)


def clients_of(data: Any) -> list[tuple[Any, Any]]:
    return [
        (data.features[a:z], data.responses[a:z])
        for a, z in zip(data.offsets, data.offsets[1:], strict=False)
    ]


def ragged_numpy(data: Any, owner: Any, start: Any, eta: float) -> Any:
    """FedAvg with one local step: one product, sums between offsets, one product a model."""
    errors = data.responses[:, None] - data.features @ start.T
    z = np.add.reduceat(errors**2, data.offsets[:-1], axis=0).argmin(axis=1)[owner]
    stepped = start.copy()
    for j in range(len(start)):
        mine = z == j
        stepped[j] += eta / len(z) * (errors[mine, j] @ data.features[mine])
    return stepped


def bench_prox(n_clients: int, n: int, d: int, k: int) -> list[dict[str, Any]]:
    """The peers get the labels for nothing but their own residuals' price."""
    data, start, spectra = problem(np.full(n_clients, n), d, k)
    clients, total, eta = clients_of(data), len(data.responses), 1.0

    def ours(update: str = "fedprox", s: int = 1, n_rounds: int = 1) -> Any:
        return run_fed_regression(
            data=data, start=start, update=update, n_local_steps=s,
            step_size=eta if update == "fedprox" else 0.5 / spectra.largest.max(),
            n_rounds=n_rounds, spectra=spectra,
        ).models  # fmt: skip

    def loop(solve: Callable[[Any, Any, Any], Any]) -> Any:
        average = start.copy()
        for x, y in clients:
            j = int(np.argmin(((y[:, None] - x @ start.T) ** 2).sum(axis=0)))
            average[j] += len(y) / total * (solve(x, y, start[j]) - start[j])
        return average

    def primal(x: Any, y: Any, theta: Any) -> Any:
        gram = np.eye(d) + eta / len(y) * x.T @ x
        return np.linalg.solve(gram, theta + eta / len(y) * x.T @ y)

    def dual(x: Any, y: Any, theta: Any) -> Any:
        gram = np.eye(len(y)) + eta / len(y) * x @ x.T
        return theta + eta / len(y) * x.T @ np.linalg.solve(gram, y - x @ theta)

    ours()
    ours("fedavg", 50)
    gap = np.abs(ours() - loop(primal)).max()
    seconds = best_seconds(3, {
        "ours": ours, "dual": lambda: loop(dual), "set-up": lambda: local_spectra(data),
        "s=1": lambda: ours("fedavg", 1), "s=50": lambda: ours("fedavg", 50),
    })  # fmt: skip
    seconds |= best_seconds(1, {"primal": lambda: loop(primal)})
    case = f"clients={n_clients} n={n} d={d} k={k}"
    return [
        row("FedProx against d x d solves", case, seconds["ours"], seconds["primal"],
            f"numpy solve in a loop; largest difference {gap:.0e}"),
        row("FedProx with its set-up against d x d solves", case,
            seconds["ours"] + seconds["set-up"], seconds["primal"], "one round pays for all"),
        row("FedProx against n x n solves", case, seconds["ours"], seconds["dual"],
            "numpy solve in a loop"),
        row("FedAvg, 1 local step against 50", case, seconds["s=1"], seconds["s=50"],
            "ours both: a ratio of 1 says that local steps are free"),
    ]  # fmt: skip


def bench_padding(n_clients: int, mean: float, d: int, k: int) -> list[dict[str, Any]]:
    """FedAvg with one local step, the fastest round for padded arrays."""
    sizes = client_sizes("zipf", n_clients, mean, np.random.default_rng(1))
    data, start, spectra = problem(sizes, d, k)
    eta = 0.5 / spectra.largest.max()
    longest = int(sizes.max())
    x, y = np.zeros((n_clients, longest, d)), np.zeros((n_clients, longest))
    for i, (own_x, own_y) in enumerate(clients_of(data)):
        x[i, : len(own_y)], y[i, : len(own_y)] = own_x, own_y
    who = np.arange(n_clients)

    def padded() -> Any:
        errors = y[:, :, None] - x @ start.T  # zero rows give zero errors
        z = (errors**2).sum(axis=1).argmin(axis=1)
        pull = (errors[who, :, z][:, None, :] @ x)[:, 0]
        stepped = start.copy()
        np.add.at(stepped, z, eta / len(data.responses) * pull)
        return stepped

    owner = np.repeat(who, sizes)

    def reduced() -> Any:
        return ragged_numpy(data, owner, start, eta)

    def ours() -> Any:
        return run_fed_regression(
            data=data, start=start, update="fedavg", step_size=eta, n_rounds=1, spectra=spectra
        ).models

    gap = max(np.abs(ours() - padded()).max(), np.abs(ours() - reduced()).max())
    seconds = best_seconds(5, {"ours": ours, "padded": padded, "reduced": reduced})
    case = f"clients={n_clients} mean n={mean:g} largest={longest} d={d}"
    held = n_clients * longest / sizes.sum()
    return [
        row("ragged against padded", case, seconds["ours"], seconds["padded"],
            f"padding holds {held:.0f} times the rows; largest difference {gap:.0e}"),
        row("ragged against ragged NumPy (reduceat)", case, seconds["ours"], seconds["reduced"],
            "the peer has one local step only"),
    ]  # fmt: skip


def bench_scale(n_clients: int, n: int, d: int, k: int) -> list[dict[str, Any]]:
    """Phase 2 on many clients with few points each, against the two limits of the machine.

    A round reads the features once and takes 2 N d (k + 1) flops: the note gives the time of each
    alone, the reading as numpy's sum, the flops at the rate of a square dgemm.
    """
    data, start, spectra = problem(np.full(n_clients, n), d, k)
    eta, rows, n_rounds = 0.9 / spectra.largest.max(), [], 20
    owner = np.repeat(np.arange(n_clients), n)
    square = np.random.default_rng(0).standard_normal((1500, 1500))

    def ours(update: str, s: int, n_rounds: int) -> Any:
        return run_fed_regression(
            data=data, start=start, update=update, n_local_steps=s, step_size=eta,
            n_rounds=n_rounds, spectra=spectra,
        )  # fmt: skip

    seconds = best_seconds(3, {
        "gemm": lambda: data.features @ start.T, "read": data.features.sum,
        "numpy": lambda: ragged_numpy(data, owner, start, eta),
        "square": lambda: square @ square, "set-up": lambda: local_spectra(data),
    })  # fmt: skip
    flops = 2 * n_clients * n * d * (k + 1) * seconds["square"] / (2 * 1500**3)
    for update, s in (("fedavg", 20), ("fedprox", 1)):
        ours(update, s, 1)
        taken = best_seconds(2, {
            "some": lambda update=update, s=s: ours(update, s, n_rounds),
            "none": lambda update=update, s=s: ours(update, s, 0),
        })  # fmt: skip
        per_round = (taken["some"] - taken["none"]) / n_rounds
        rows.append(
            row("Phase 2 round", f"{update} s={s} d={d} k={k} M={n_clients} n={n}", per_round,
                seconds["numpy"],
                f"other: ragged NumPy, 1 local step, its X theta^T {seconds['gemm'] * 1e3:.0f}; "
                f"{seconds['read'] / per_round:.2f} of the memory rate, {flops / per_round:.2f} of "
                f"dgemm; set-up {seconds['set-up'] * 1e3:.0f} ms")
        )  # fmt: skip
    return rows


def bench_trial(n: int) -> list[dict[str, Any]]:
    """Forty rounds of a trial's 2,000 clients against the same rounds on all data."""
    data, start, spectra = problem(np.full(2000, n), 20, 4)
    draws = np.random.default_rng(1)
    sizes = np.full(2000, n)
    model = FederatedModel(theta_star=simplex(4, 20, 2.0), fractions=np.full(4, 0.25), sigma=0.2)

    def rounds() -> Any:
        return run_fed_regression(
            data=data, start=start, update="fedavg", n_local_steps=5,
            step_size=0.9 / spectra.largest.max(), n_rounds=40, spectra=spectra,
        )  # fmt: skip

    def on_all_data() -> Any:
        with mock.patch.object(SettledRounds, "_saves_time", return_value=False):
            return rounds()

    def by_lapack() -> Any:
        with mock.patch.object(fed_regression, "LARGEST_ORDER", 0):
            return local_spectra(data)

    one, other = rounds(), on_all_data()
    assert (one.labels == other.labels).all()
    gap = np.abs(one.models - other.models).max()
    seconds = best_seconds(7, {
        "settled": rounds, "plain": on_all_data, "set-up": lambda: local_spectra(data),
        "lapack": by_lapack, "draw": lambda: model.draw(sizes, draws),
    })  # fmt: skip
    case = f"M=2000 n={n} d=20 k=4, 40 rounds"
    whole = sum(seconds[part] for part in ("draw", "set-up", "settled")) * 1e3
    line = row("settled rounds against all data", case, seconds["settled"], seconds["plain"],
        f"labels equal, models to {gap:.0e}; with draw and set-up {whole:.1f} ms")  # fmt: skip
    spectra_row = row("clients' spectra side by side against LAPACK", case, seconds["set-up"],
        seconds["lapack"], "once a run, with the Gram matrices")  # fmt: skip
    return [{**each, "unit": "ms a run"} for each in (line, spectra_row)]


def run() -> list[dict[str, Any]]:
    """All rows.  They take about half a minute."""
    with threadpool_limits(1):
        return [
            *bench_trial(5),
            *bench_trial(10),
            *bench_prox(400, 2, 500, 8),
            *bench_prox(100, 50, 500, 8),
            *bench_padding(1000, 10.0, 50, 4),
            *bench_scale(50_000, 2, 500, 8),
            *bench_scale(400_000, 2, 20, 3),
        ]


if __name__ == "__main__":
    for line in run():
        print(line)
