"""Drawn glyphs as a federation: digits of which a question is asked, by many writers.

Clients of a cluster have one of two things in common.

* ``turn``: their images are turned by the same multiple of 90 degrees, as the rotated images of TIT
  2022, Section VI-B.  The question is whether a digit is odd.
* ``style``: they are writers of one group (`trials.networks.drawn.glyphs`), a client for each
  writer.  Groups differ in hands, and in what the forms of 1, 7, 4 and 9 mean.  The question is
  whether a digit is five or more, to which the exchanged digits have opposite answers.

A row is an image of 28 x 28 pixels as 196 means of 2 x 2.  Its class is +1 for yes and -1 for no.
With label skew s a client prefers one class, as in `verify.benchmark.federation`: rows of its other
class are kept with probability 1 - s.  Every trial draws new images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.models.mixture import cluster_sizes
from trials.networks.drawn import glyphs
from trials.parameters import Integer, Options, Parameters, Real

#: What clusters differ in -> the digits whose class is +1.
YES = {"turn": (1, 3, 5, 7, 9), "style": (5, 6, 7, 8, 9)}
GLYPHS = Parameters(
    {
        "m": Integer(4, 2000, default=40, meaning="clients"),
        "n": Integer(4, 2000, default=60, meaning="images of a client"),
        "k": Integer(1, 4, default=4, meaning="clusters"),
        "held_share": Real(
            0.01, 0.9, default=0.2, meaning="share of each client's rows to judge by"
        ),
        # None stands for "turn" and for no skew, so that older runs keep their cells.
        "differ": Options(
            ("style",), default=None, meaning="clusters: styles of writers instead of rotations"
        ),
        "label_skew": Real(0.0, 0.99, default=None, meaning="how much a client prefers one class"),
    }
)


def glyph_rows(
    cell: Mapping[str, Any], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Rows (m n, 196), classes, the client of each row, and the cluster of each client (m,)."""
    m, n, k, differ = cell["m"], cell["n"], cell["k"], cell.get("differ", "turn")
    asked = skewed(cell, rng) if "label_skew" in cell else None
    if differ == "style":
        drawn = glyphs(n=m * n, writers=m, styles=k, habits=True, labels=asked, rng=rng)
        images, labels = drawn.pixels[:, 0].reshape(m, n, 28, 28), drawn.styles[::n]
        digits = drawn.labels
    else:
        drawn = glyphs(n=m * n, labels=asked, rng=rng)
        shuffled = rng.permutation(m * n) if asked is None else np.arange(m * n)
        images, digits = drawn.pixels[shuffled, 0].reshape(m, n, 28, 28), drawn.labels[shuffled]
        labels = rng.permutation(np.repeat(np.arange(k), cluster_sizes(m, np.full(k, 1.0 / k))))
        for turn in range(1, k):
            images[labels == turn] = np.rot90(images[labels == turn], turn, axes=(2, 3))
    rows = images.reshape(m * n, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(m * n, 196) / 255.0
    classes = np.where(np.isin(digits, YES[differ]), 1.0, -1.0)
    return rows, classes, np.repeat(np.arange(m), n), labels


def skewed(cell: Mapping[str, Any], rng: np.random.Generator) -> IntArray:
    """Digits (m n,) of clients that prefer one class, the digits of a class alike.

    The favoured class has the share 1 / (2 - s), which is 1/2 without skew.
    """
    m, n, yes = cell["m"], cell["n"], YES[cell.get("differ", "turn")]
    no = tuple(digit for digit in range(10) if digit not in yes)
    favoured = rng.random((m, 1)) < 0.5
    as_favoured = rng.random((m, n)) < 1.0 / (2.0 - cell["label_skew"])
    which = rng.integers(0, 5, (m, n))
    return np.where(favoured == as_favoured, np.array(yes)[which], np.array(no)[which]).ravel()
