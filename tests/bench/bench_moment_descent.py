"""Orthogonal iteration without Y against forming Y, and both phases at size, on one thread.

Both sides take turns and the best repetition of each counts, in processor seconds, so that other
processes disturb less.  There are two other sides.  NumPy forms Y and takes its SVD (converged by
construction), or forms Y and iterates on it as printed.  Our side runs Algorithm 3 with the printed
number of half steps, T1 = k log(N d) to the next even number.  It also runs it with the early end
at 1 % of the energy, and `krylov_bases` with the same early end.  The note gives the share of the k
leading singular values' energy in each basis, and the share of the residual errors beside the SVD's
own share.

Expected results.  A half step without Y costs 4 m d k flops for each anchor, and Y itself costs 2 m
d^2 once.  So T1 half steps are slower where T1 > d / (2 k), which is d < 2 k^2 log(N d), about 2200
at k = 8 and 430 at k = 4.  The early end and Krylov are faster as far as the spectrum allows.  With
m above `detection_sizes` the spectrum has a gap, and few half steps find all of the errors that the
SVD finds.  The first three cases lie below.  There Y is noise but for a few per cent, and its
leading singular values are the edge of a bulk.  Stopping early then returns mostly noise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from trials.mixed_regression import anchor_groups, batches, subspaces
from trials.mixed_regression import moment_descent as md
from trials.mixed_regression.fed_regression import local_spectra, run_fed_regression
from trials.models.federated_data import FederatedModel
from trials.models.matching import bottleneck_distance
from trials.models.mixture import simplex

CASES = (  # d, k, m, anchors
    (500, 8, 5000, 8),
    (500, 8, 20_000, 2),
    (2000, 4, 8000, 2),
    (500, 8, 64_000, 2),
    (50, 4, 200_000, 8),
)
TOL = 1e-2
N_BLOCKS = 12


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


def row(
    benchmark: str, case: str, ours: float, other: float | None, unit: str, note: str
) -> dict[str, Any]:
    """One comparison.  ``ratio`` says how many times faster our side is."""
    ratio = None if other is None else other / ours
    return {
        "benchmark": benchmark, "case": case, "ours": ours, "other": other, "ratio": ratio,
        "unit": unit, "note": note,
    }  # fmt: skip


def _dgemm_rate() -> float:
    """Flops a second of a square product."""
    square = np.random.default_rng(0).standard_normal((1500, 1500))
    return 2 * 1500**3 / best_seconds(3, {"dgemm": lambda: square @ square})["dgemm"]


def bench_subspaces(d: int, k: int, m: int, n_anchors: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    model = FederatedModel(theta_star=simplex(k, d, 2.0), fractions=np.full(k, 1 / k), sigma=0.2)
    data = model.draw(np.full(m, 2), rng).data
    x1, x2 = (np.ascontiguousarray(data.features[i::2]) for i in (0, 1))
    y1, y2 = data.responses[::2], data.responses[1::2]
    theta = 0.3 * rng.standard_normal((n_anchors, d)) / math.sqrt(d)
    w = (y1 - theta @ x1.T) * (y2 - theta @ x2.T)
    # of the k - 1 directions that centred means span, and the last is that of theta, which is weak
    needed = float(subspaces.detection_sizes(
        errors=model.theta_star - theta[0], fractions=model.fractions, sigma=model.sigma
    )[-2])  # fmt: skip
    q0 = subspaces.random_basis(d, k, rng)
    half_steps = 2 * math.ceil(k * math.log(2 * m * d) / 2)

    def ours(rows: slice = slice(None), tol: float = 0.0) -> Any:
        return subspaces.orthogonal_iteration(
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
        "krylov": lambda: subspaces.krylov_bases(
            first=x1, second=x2, weights=w, start=q0, n_blocks=min(N_BLOCKS, d // k), tol=TOL
        ),
        "svd": lambda: [np.linalg.svd(y) for y in formed()],
        "iterated": iterated,
    }

    def kept(name: str) -> Callable[[], None]:
        return lambda: found.update({name: sides[name]()})

    if n_anchors >= 8:
        sides["alone"] = lambda: [ours(slice(i, i + 1)) for i in range(n_anchors)]
    seconds = best_seconds(2, {name: kept(name) for name in sides})
    matrices = formed()

    def held(bases: Any) -> float:
        """Mean part of the residual errors' squares."""
        shares = []
        for own, q in zip(theta, bases, strict=True):
            errors = model.theta_star - own
            shares.append(((errors @ q) ** 2).sum(axis=1) / (errors**2).sum(axis=1))
        return float(np.mean(shares))

    def captured(result: Any) -> str:
        shares = [
            float(((y.T @ q) ** 2).sum() / (values[:k] ** 2).sum())
            for y, q, (_, values, _) in zip(matrices, result.bases, found["svd"], strict=True)
        ]
        return (
            f"{result.n_iterations.mean():.0f} half steps, energy >= {min(shares):.4f}, errors "
            f"{held(result.bases):.3f} of {held([u[:, :k] for u, _, _ in found['svd']]):.3f}"
        )

    case = f"d={d} k={k} m={m} anchors={n_anchors}, m is {m / needed:.2g} x detection"
    flops = half_steps * 4 * m * d * k * n_anchors
    peak = _dgemm_rate()
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
            seconds["printed"], seconds.get("alone"), unit,
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
    first, last = (_needed(model, errors) for errors in (model.theta_star, _at_rest(model, 0.2)))
    m, rows, peak = n_clients // n_rounds, [], _dgemm_rate()
    for name, options in (("early end", {}), ("Krylov", {"krylov_blocks": N_BLOCKS})):
        start = time.process_time()
        found = md.run_moment_descent(
            draw=batches.fresh_batches(
                sample.data, anchors, n_clients=m, n_pairs=n_pairs, n_rounds=n_rounds,
                rng=np.random.default_rng(1),
            ),
            k=k, start=np.zeros(d), rng=rng,
            options=md.DescentOptions(
                alpha=1.0, beta=1.0, threshold=0.4, n_rounds=n_rounds, subspace_iterations=144,
                power_iterations=40, tol=TOL, **options,
            ),
            targets=model.theta_star[sample.labels[anchors]],
        )  # fmt: skip
        seconds = time.process_time() - start
        assert found.distances is not None
        before, after = np.median(found.distances[[0, -1]], axis=1)
        case = f"d={d} k={k} M={n_clients} anchors={n_anchors} rounds={n_rounds} {name}"
        taken = found.half_steps[0].max() + found.half_steps[1:].sum()  # the first serves all
        rate = 4 * m * d * k * taken / seconds / peak
        note = (
            f"{rate:.2f} of the dgemm rate; median |theta - theta*| {before:.2f} -> {after:.2f}: "
            f"m={m}, detection takes {first:.0f} in the first round, {last:.1g} at 0.2 Delta"
        )
        rows.append(row("Phase 1 at the paper's scale", case, seconds, None, "s", note))
    return rows


def _needed(model: FederatedModel, errors: Any) -> float:
    """Largest detection size of the anchor whose residual errors these are."""
    sizes = subspaces.detection_sizes(errors=errors, fractions=model.fractions, sigma=model.sigma)
    return float(sizes.max())


def _at_rest(model: FederatedModel, epsilon: float) -> Any:
    """Errors of an anchor of cluster 0 at epsilon Delta = 2 epsilon from its centre."""
    errors = model.theta_star - model.theta_star[0]
    errors[0, -1] = 2.0 * epsilon
    return errors


def bench_both_phases(
    d: int = 20, k: int = 3, n_anchors: int = 24, n_rounds: int = 4
) -> list[dict[str, Any]]:
    """From an arbitrary start to the noise floor, at the m of `detection_sizes`."""
    rng = np.random.default_rng(0)
    epsilon, n_pairs, refinements = 0.2, 300, 250
    model = FederatedModel(theta_star=simplex(k, d, 2.0), fractions=np.full(k, 1 / k), sigma=0.2)
    m = int(_needed(model, _at_rest(model, epsilon)))
    sizes = np.full(m * n_rounds + n_anchors, 2)
    sizes[:n_anchors] = 2 * n_pairs * n_rounds
    sample = model.draw(sizes, rng)
    anchors = np.arange(n_anchors)
    direction = rng.standard_normal(d)
    begin = time.process_time()
    coarse = md.run_moment_descent(
        draw=batches.fresh_batches(
            sample.data, anchors, n_clients=m, n_pairs=n_pairs, n_rounds=n_rounds, rng=rng
        ),
        k=k, rng=rng,
        options=md.DescentOptions(
            alpha=1.0, beta=1.0, threshold=2.0 * epsilon, n_rounds=n_rounds,
            subspace_iterations=60, power_iterations=40, tol=TOL,
        ),
        start=direction * np.linalg.norm(model.theta_star[0]) / np.linalg.norm(direction),
        targets=model.theta_star[sample.labels[anchors]],
    )  # fmt: skip
    groups = anchor_groups.group_anchors(coarse.theta, 2.0)
    middle = time.process_time()
    spectra = local_spectra(sample.data)
    options: dict[str, Any] = {
        "data": sample.data, "update": "fedprox", "step_size": 1.0, "spectra": spectra,
        "n_rounds": refinements, "reference": model.theta_star,
    }  # fmt: skip
    fine = run_fed_regression(start=groups.centres[:k], **options)
    end = time.process_time()
    floor = run_fed_regression(start=model.theta_star, **options)
    owner = np.repeat(sample.labels, sizes)
    known = np.stack([
        np.linalg.lstsq(sample.data.features[owner == j], sample.data.responses[owner == j])[0]
        for j in range(k)
    ])  # fmt: skip
    assert coarse.distances is not None
    assert fine.distances is not None
    assert floor.distances is not None
    case = f"d={d} k={k} M={len(sizes)} n=2 m={m}"
    first, last = coarse.distances[0].max(), coarse.distances[-1].max()
    return [
        row("Phase 1, arbitrary start", f"{case} anchors={n_anchors} rounds={n_rounds}",
            middle - begin, None, "s",
            f"largest |theta - theta*| {first:.2f} -> {last:.2f}; groups {groups.sizes.tolist()}"),
        row("Phase 2 from there", f"{case} fedprox {refinements} rounds", end - middle, None, "s",
            f"(6) {fine.distances[0]:.3f} -> {fine.distances[-1]:.5f}; from the truth "
            f"{floor.distances[-1]:.5f}; least squares, labels known "
            f"{bottleneck_distance(known, model.theta_star):.5f}"),
    ]  # fmt: skip


def run() -> list[dict[str, Any]]:
    """All rows.  They take about five minutes."""
    with threadpool_limits(1):
        rows = [line for case in CASES for line in bench_subspaces(*case)]
        return rows + bench_paper_size() + bench_both_phases()


if __name__ == "__main__":
    for line in run():
        print(line)
