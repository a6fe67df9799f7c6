r"""Parts of clusters that should not have been fused: they pull harder than their edges hold.

The flows on the edges of a cluster V of the minimiser carry the pull of each part A to the rest of
V, so that

.. math:: \bigl|\textstyle\sum_{i \in A} q_i\bigr| \le \lambda \, w(A, V \setminus A),

with q as of `trials.clustering.sparse.contraction.pulls`.  A part that breaks this is released.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.sparse import contraction
from trials.clustering.sparse.graph import Graph

#: A part is loose where its pull is by so much above what its edges hold: centres have errors.
_HARDER = 1.001


def release(
    graph: Graph,
    labels: IntArray,
    stages: Sequence[IntArray],
    q: FloatArray,
    lam: float,
    u: FloatArray,
) -> tuple[IntArray, FloatArray]:
    """The clusters (n,) without their loose parts, and the values (k, d) of all clusters then.

    The parts are the sets of ``stages``, partitions (n,) of which each is finer than the next one
    and than the clusters ``labels`` (n,), whose values are ``u``.  ``q`` (n, d) are the pulls at
    the penalty ``lam``.  A part inside a loose one may be loose as well.  A released part moves
    along its pull, as far as the rest of its cluster lets it go alone.  O(E) time for each stage.
    """
    new, values, count = labels.copy(), [u], u.shape[0]
    for parts in reversed(stages):
        size = int(parts.max()) + 1
        pull, hold = np.empty((size, q.shape[1])), np.empty(size)
        contraction.pulls_of_parts(graph, labels, parts, q, pull, hold)
        strength = np.sqrt((pull * pull).sum(axis=1))
        # A part that is a whole cluster has no edges to the rest of it.
        loose = np.flatnonzero((hold > 0.0) & (strength > _HARDER * lam * hold))
        if not loose.size:
            continue
        name = np.full(size, -1, dtype=np.int64)
        name[loose] = count + np.arange(loose.size)
        new = np.where(name[parts] >= 0, name[parts], new)
        cluster = np.empty(size, dtype=np.int64)
        cluster[parts] = labels
        mass = np.bincount(parts, minlength=size)[loose]
        share = (1.0 - lam * hold[loose] / strength[loose]) / mass
        values.append(u[cluster[loose]] + share[:, None] * pull[loose])
        count += loose.size
    kept, new = np.unique(new, return_inverse=True)
    return new.astype(np.int64), np.concatenate(values)[kept]
