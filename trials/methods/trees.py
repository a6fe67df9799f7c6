"""The groups that a hierarchical clustering has on its way."""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.convex.problem import canonical


def last_groups(tree: FloatArray, k: int) -> IntArray:
    """The groups (m,) before the last k - 1 merges, numbered by their first point.

    The tree is SciPy's, (m - 1, 4), and 1 <= k <= m.  A height where it is cut would merge all
    groups of equal distances, and so leave fewer than k.
    """
    m = len(tree) + 1
    found = np.arange(m)
    for step, pair in enumerate(tree[: m - k, :2]):
        found[np.isin(found, pair)] = m + step
    return canonical(found)
