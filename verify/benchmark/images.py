"""Drawn glyphs as a federation: rotated digits whose parity is asked, by many writers.

A client's images are turned by a multiple of 90 degrees, and all clients of a cluster by the same:
the rotated images of TIT 2022, Section VI-B, in the form of rows.  A row is an image of 28 x 28
pixels as 196 means of 2 x 2.  Its class is +1 for odd digits and -1 for even ones.  Every trial
draws new images (`trials.networks.drawn`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.models.mixture import cluster_sizes
from trials.networks.drawn import glyphs
from trials.parameters import Integer, Parameters, Real

GLYPHS = Parameters(
    {
        "m": Integer(4, 2000, default=40, meaning="clients"),
        "n": Integer(4, 2000, default=60, meaning="images of a client"),
        "k": Integer(1, 4, default=4, meaning="clusters: rotations"),
        "held_share": Real(
            0.01, 0.9, default=0.2, meaning="share of each client's rows to judge by"
        ),
    }
)


def rotated_glyphs(
    cell: Mapping[str, Any], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Rows (m n, 196), classes, the client of each row, and the rotation of each client (m,)."""
    m, n, k = cell["m"], cell["n"], cell["k"]
    drawn = glyphs(n=m * n, rng=rng)
    shuffled = rng.permutation(m * n)
    images = drawn.pixels[shuffled, 0].reshape(m, n, 28, 28)
    labels = rng.permutation(np.repeat(np.arange(k), cluster_sizes(m, np.full(k, 1.0 / k))))
    for turn in range(1, k):
        images[labels == turn] = np.rot90(images[labels == turn], turn, axes=(2, 3))
    rows = images.reshape(m * n, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(m * n, 196) / 255.0
    parity = np.where(drawn.labels[shuffled] % 2 == 1, 1.0, -1.0)
    return rows, parity, np.repeat(np.arange(m), n), labels
