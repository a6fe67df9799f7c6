"""Flower's aggregation as the server of ``fedavg.round``."""

import numpy as np
from flwr.server.strategy.aggregate import aggregate

from verify.testing.examples import choices


def fedavg_round(models, clients, step_size, n_local_steps):
    """Local work in NumPy, and `flwr`'s weighted mean of the clients' models."""
    labels = choices(models, clients)
    results = []
    for (x, y), j in zip(clients, labels, strict=True):
        own = models.copy()
        for _ in range(n_local_steps):
            own[j] -= step_size / len(y) * x.T @ (x @ own[j] - y)
        results.append(([own], len(y)))
    return np.asarray(aggregate(results)[0]), labels


def in_place(models, clients, step_size, n_local_steps):
    """The same with `flwr`'s other aggregation, which its strategy uses unless told otherwise."""
    from flwr.common import Code, FitRes, Status, ndarrays_to_parameters
    from flwr.server.strategy.aggregate import aggregate_inplace

    labels = choices(models, clients)
    results = []
    for (x, y), j in zip(clients, labels, strict=True):
        own = models.copy()
        for _ in range(n_local_steps):
            own[j] -= step_size / len(y) * x.T @ (x @ own[j] - y)
        parameters = ndarrays_to_parameters([own])
        results.append((None, FitRes(Status(Code.OK, ""), parameters, len(y), {})))
    return np.asarray(aggregate_inplace(results)[0]), labels
