"""A plain NumPy implementation of every subject, to read and to start from.

>>> from verify.testing import verify
>>> verify(assignment, "assignment", examples=10).passed
True
"""

from __future__ import annotations

from typing import Any

import numpy as np


def choices(models: Any, clients: Any) -> Any:
    """The number of the model with the least mean square for every client."""
    losses = np.array([((y[:, None] - x @ models.T) ** 2).mean(axis=0) for x, y in clients])
    return losses.argmin(axis=1)


def ifca_step(models: Any, clients: Any, step_size: float) -> Any:
    """``ifca.step``."""
    labels = choices(models, clients)
    new = models.copy()
    for (x, y), j in zip(clients, labels, strict=True):
        gradient = 2 / len(y) * x.T @ (x @ models[j] - y)
        new[j] -= step_size / len(clients) * gradient
    return new, labels


def ifca_run(models: Any, clients: Any, step_size: float, n_steps: int) -> Any:
    """``ifca.run``."""
    labels = None
    for _ in range(n_steps):
        models, labels = ifca_step(models, clients, step_size)
    return models, labels


def fedavg_round(models: Any, clients: Any, step_size: float, n_local_steps: int) -> Any:
    """``fedavg.round``."""
    labels = choices(models, clients)
    total = sum(len(y) for _, y in clients)
    new = np.zeros_like(models)
    for (x, y), j in zip(clients, labels, strict=True):
        own = models.copy()
        for _ in range(n_local_steps):
            own[j] -= step_size / len(y) * x.T @ (x @ own[j] - y)
        new += len(y) / total * own
    return new, labels


def fedprox_round(models: Any, clients: Any, step_size: float) -> Any:
    """``fedprox.round``."""
    labels = choices(models, clients)
    total = sum(len(y) for _, y in clients)
    new = np.zeros_like(models)
    for (x, y), j in zip(clients, labels, strict=True):
        own = models.copy()
        matrix = np.eye(models.shape[1]) + step_size / len(y) * x.T @ x
        own[j] = np.linalg.solve(matrix, models[j] + step_size / len(y) * x.T @ y)
        new += len(y) / total * own
    return new, labels


def assignment(points: Any, centres: Any) -> Any:
    """``assignment``."""
    return ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)


def kmeans(points: Any, centres: Any) -> Any:
    """``kmeans``.  An empty cluster keeps its centre."""
    centres, labels = centres.copy(), np.array([])
    while True:
        nearest = assignment(points, centres)
        if np.array_equal(nearest, labels):
            return centres, labels
        labels = nearest
        for j in np.unique(labels):
            centres[j] = points[labels == j].mean(axis=0)


def convex_clustering(points: Any, penalty: float) -> Any:
    """``convex_clustering``, by the alternating directions of Chi & Lange (2015)."""
    m = len(points)
    if m == 1 or penalty == 0.0:
        return points.copy()
    mean = points.mean(axis=0)
    centred = points - mean
    scale = np.abs(centred).max() or 1.0
    a, limit = centred / scale, penalty / scale
    low, high = np.triu_indices(m, 1)
    split, dual, rho = a[low] - a[high], np.zeros((len(low), a.shape[1])), 1.0 / m
    for _ in range(20_000):
        pull = np.zeros_like(a)
        np.add.at(pull, low, rho * split - dual)
        np.add.at(pull, high, dual - rho * split)
        u = (a + pull) / (1.0 + m * rho)  # the mean of all rows is zero
        gaps = u[low] - u[high]
        wanted = gaps + dual / rho
        sizes = np.maximum(np.linalg.norm(wanted, axis=1, keepdims=True), 1e-300)
        before, split = split, np.maximum(1.0 - limit / rho / sizes, 0.0) * wanted
        dual = dual + rho * (gaps - split)
        if max(np.abs(gaps - split).max(), np.abs(split - before).max()) < 1e-11:
            break
    return mean + scale * u


def one_shot(clients: Any, k: int, seed: int) -> Any:
    """``one_shot``."""
    rng = np.random.default_rng(seed)
    estimates = np.array([np.linalg.lstsq(x, y, rcond=None)[0] for x, y in clients])
    chosen: Any = [rng.integers(len(estimates))]
    while len(chosen) < k:
        gaps = estimates[:, None] - estimates[chosen]
        weights = (gaps**2).sum(axis=2).min(axis=1)
        chosen.append(rng.choice(len(estimates), p=weights / weights.sum()))
    return kmeans(estimates, estimates[chosen])


def orthogonal_iteration(first: Any, second: Any, start: Any, n_steps: int) -> Any:
    """``orthogonal_iteration``."""
    basis = start
    for _ in range(n_steps):
        image = second.T @ (first @ basis) / len(first)
        basis = np.linalg.qr(first.T @ (second @ image) / len(first))[0]
    return basis
