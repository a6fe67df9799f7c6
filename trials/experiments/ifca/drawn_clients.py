"""Drawn clients of linear IFCA, for the experiments that run it on data."""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.models.clients import ClientData
from trials.run.cell import Params

_MAX_FLOATS = 2**31  # 16 GiB of features: more is refused, not swapped


def draw_clients(
    theta_star: FloatArray,
    cluster_sizes: IntArray,
    n_samples: int,
    sigma: float,
    rng: np.random.Generator,
) -> ClientData:
    """A fresh batch of `n_samples` rows (m n, d) of every client, those of cluster 0 first."""
    k, d = theta_star.shape
    m = int(cluster_sizes.sum())
    features = rng.standard_normal((m * n_samples, d))
    responses = sigma * rng.standard_normal(m * n_samples)
    ends = np.cumsum(cluster_sizes) * n_samples
    for j in range(k):
        rows = slice(ends[j] - cluster_sizes[j] * n_samples, ends[j])
        responses[rows] += features[rows] @ theta_star[j]
    return ClientData(
        features=features, responses=responses, offsets=np.arange(m + 1, dtype=np.int64) * n_samples
    )


def clients_fit(cell: Params) -> None:
    """m n d features fit into memory."""
    floats = cell["m"] * cell["n"] * cell["d"]
    if floats > _MAX_FLOATS:
        raise InvalidParameter(
            f"m n d={floats} must be <= {_MAX_FLOATS} where the data are drawn; "
            "the exact law has no such limit"
        )
