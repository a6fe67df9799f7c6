"""The driver of convex clustering: validate, dispatch, return a record."""

from __future__ import annotations

from numpy.typing import ArrayLike

from trials.checks import IntArray
from trials.clustering.convex.path import convex_clustering_path
from trials.clustering.convex.problem import (
    ConvexClustering,
    Scaled,
    canonical,
    check_penalty,
    scale_points,
    scaled_penalty,
)
from trials.clustering.convex.record import finish
from trials.clustering.convex.solver import Outcome, Solver, duplicate_steps, partition
from trials.clustering.convex.weighted import check_weights, solve_weighted


def convex_clustering(
    points: ArrayLike, penalty: float, *, weights: ArrayLike | None = None
) -> ConvexClustering:
    r"""Solve a convex clustering problem exactly, with a certificate of its partition.

    .. math::

        \min_U \tfrac12 \sum_i |a_i - u_i|^2 + \lambda \sum_{i<j} w_{ij} |u_i - u_j|

    Parameters
    ----------
    points : (m, d) finite array a, m, d >= 1, at any scale.
    penalty : lambda >= 0, in the units of the points.
    weights : (m, m) symmetric array w >= 0, its diagonal ignored.  None means w = 1, the problem
        (12) of the paper.  It is by far the faster one, because fusions are final.

    Returns
    -------
    ConvexClustering
        Minimiser, exact partition, gap, certificate.  ``certified`` means that the independent
        verifier (`check_certificate`, `check_weighted_certificate`) has accepted the proof.
        Otherwise ``reason`` says why not.  Partition and minimiser are then the best that were
        found, and the gap is still valid.  Double precision cannot certify a penalty on a
        breakpoint where many clusters meet, or within about 1e-7 (relative) *below* it.

    Raises
    ------
    InvalidParameter : NaN or infinite points, a penalty that is negative or not finite, weights
        that are not symmetric and >= 0.

    Notes
    -----
    With equal weights the fusions of the plain formula take O(m^2 d).  On the K nodes left, a
    conjugate-gradient step takes O(K^2 d) and a Newton step O(K^3).  Memory O(m^2 + m d), never m^2
    d.

    Examples
    --------
    >>> result = convex_clustering([[0.0], [1.0], [10.0]], penalty=1.0)
    >>> result.labels.tolist(), result.certified
    ([0, 0, 1], True)
    >>> result.centres.round(6).tolist()
    [[1.5], [8.0]]

    References
    ----------
    Armacki, Bajovic, Jakovetic & Kar (2024), (12) and (13), Remark 23; Sun, Toh & Yuan (2021).
    """
    data = scale_points(points)
    penalty = check_penalty(penalty)
    m = data.points.shape[0]
    if weights is not None:
        return solve_weighted(data, penalty, check_weights(weights, m))
    outcome = _solve(data, penalty)
    if not outcome.separated:
        # Very close to a breakpoint the path, whose problems are better scaled, shows the right
        # side.
        return convex_clustering_path(data.points).solve(penalty)
    return finish(data, penalty, outcome)


def convex_clustering_labels(points: ArrayLike, penalty: float) -> IntArray:
    """The labels (m,) of `convex_clustering` with equal weights, without minimiser and certificate.

    The solver stops as soon as its fusions and the clusters' distance are proved.

    Raises
    ------
    InvalidParameter : As in `convex_clustering`.

    Examples
    --------
    >>> convex_clustering_labels([[0.0], [1.0], [10.0]], penalty=1.0).tolist()
    [0, 0, 1]
    """
    data = scale_points(points)
    penalty = check_penalty(penalty)
    outcome = _solve(data, penalty, labels_only=True)
    if not outcome.separated:
        return convex_clustering_path(data.points).solve(penalty).labels
    return canonical(partition(data.points.shape[0], outcome.steps, outcome.nodes.ids))


def _solve(data: Scaled, penalty: float, *, labels_only: bool = False) -> Outcome:
    """The solver's outcome at a penalty, all fusions included."""
    nodes, steps = duplicate_steps(data)
    lam = scaled_penalty(penalty, data.scale)
    if lam == 0.0 or nodes.size == 1:
        outcome = Outcome.trivial(nodes)
    else:
        m = data.points.shape[0]
        solver = Solver(nodes, lam, n_points=m, next_id=m + len(steps), labels_only=labels_only)
        outcome = solver.run()
    outcome.steps[:0] = steps
    return outcome
