"""Drawings of a path of convex clustering: the way of each point, and the dendrogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from trials.checks import InvalidParameter, integer_between, record_of
from trials.clustering.sparse.record import SparsePath


def _axes(ax: Any) -> Any:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def plot_path(path: SparsePath, *, coordinates: tuple[int, int] = (0, 1), ax: Any = None) -> Any:
    """Draw the way of every point from itself to its last centre, in two coordinates.

    Parameters
    ----------
    path : with its centres kept.
    coordinates : the two coordinates to draw.  In one dimension both are 0.
    ax : Matplotlib axes, or None for new ones.

    Returns
    -------
    The axes.  The lines are the points' ways, the dots their last centres.
    """
    record_of("path", path, SparsePath)
    if not path.centres:
        raise InvalidParameter("path.centres=() must be kept: trace it with keep_centres=True")
    d = path.centres[0].shape[1]
    first, second = (integer_between("coordinates", c, 0, d - 1) for c in coordinates)
    ways = np.stack([c[labels] for c, labels in zip(path.centres, path.labels, strict=True)])
    ax = _axes(ax)
    ax.plot(ways[:, :, first], ways[:, :, second], color="0.6", linewidth=0.6)
    last = path.centres[-1]
    ax.plot(last[:, first], last[:, second], "o", color="C3", markersize=4)
    ax.set_xlabel(f"coordinate {first}")
    ax.set_ylabel(f"coordinate {second}")
    return ax


def plot_dendrogram(path: SparsePath, *, ax: Any = None, **options: Any) -> Any:
    """Draw the dendrogram of a path.  Its heights are penalties.

    Leaves carry the numbers of their points, or the names that ``labels`` gives (an option of
    SciPy).  More than a hundred leaves carry none.

    Parameters
    ----------
    path : the path.  Sets that it never joins meet above the last penalty, by a tenth of it.
    ax : Matplotlib axes, or None for new ones.
    options : for `scipy.cluster.hierarchy.dendrogram`.

    Returns
    -------
    The axes.
    """
    from scipy.cluster.hierarchy import dendrogram

    record_of("path", path, SparsePath)
    tree = path.linkage()
    if not tree.size:
        raise InvalidParameter("path.labels.shape[1]=1 must be at least two points")
    # The last penalty of the path, at which they are still apart, and not that of the last fusion.
    last = float(path.penalties[np.isfinite(path.penalties)].max(initial=0.0)) or 1.0
    tree[~np.isfinite(tree[:, 2]), 2] = 1.1 * last
    ax = _axes(ax)
    n = len(tree) + 1
    chosen = {"no_labels": n > _MOST_LEAVES, "leaf_rotation": 90, "leaf_font_size": _letters(n)}
    dendrogram(tree, ax=ax, **{**chosen, **options})
    ax.set_xlabel("point")
    ax.set_ylabel("penalty")
    return ax


#: Leaves from which a dendrogram has no names.
_MOST_LEAVES = 100


def _letters(n_leaves: int) -> float:
    """Points of a leaf's name: smaller for more leaves, and never below six."""
    return min(10.0, max(6.0, 300.0 / n_leaves))
