r"""Nearest centres, plainly or screened in single precision: the same labels, bit for bit.

`assign` sums squared differences.  So no digit is lost, at any distance of the data from the
origin.  That takes two additions a coordinate, and additions limit the speed.  The scores of
`screened_assign`,

.. math:: q_k = \tfrac12 |c_k|^2 - x \cdot c_k = \tfrac12 (|x - c_k|^2 - |x|^2)

take one fused operation, in a matrix product.  Single precision computes twice as many at a time.
The scores lose digits.  Where the two lowest scores of a point are further apart than twice their
error, the point's label is proved.  Elsewhere `assign_block` decides, as without screening.

Error of a score.  Points and centres are shifted by the points' mean (so that data far from the
origin lose nothing) and scaled to the unit ball.  Let u = 2^-24, C = max_k |c_k| and |x| <= 1.
Rounding x and c to single precision changes x.c by at most 2 u |x| C.  The product itself adds d u
|x| C, in any order of summation, with or without fused operations.  Half of |c|^2 adds u C^2 / 2,
and the difference adds u (|x| C + C^2 / 2).  The results of `assign_block` have an error of at most
(d + 4) 2^-53 |x - c|^2, which is half of that in units of the score.  A share of 2 % covers terms
of second order (up to the `_WIDEST` d).  An absolute 1e-25 (1 + C) covers underflow.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from trials.checks import FloatArray, IntArray
from trials.integers import ZERO
from trials.kernel import inner_kernel, kernel

SingleArray = NDArray[np.float32]

BLOCK = 256  # points a block: 100 KB in double precision at d = 50
_UNIT = 2.0**-24
_SLACK = 1.02
_TINY = 1e-25
# A block with more than this share of unproved labels is assigned again as a whole.
_FEW = 1 / 16
# Limits of the screening, in order.  Squared radii of the data beyond which scaling to the unit
# ball could lose numbers.  Squared norm of a scaled centre from which single precision could
# overflow.  The d beyond which d u is not small.
_SMALLEST, _LARGEST = 1e-250, 1e250
_FARTHEST = 1e30
_WIDEST = 100_000


# --- kernels: no validation, no raising.  ``*_t`` arrays are transposed (d, m), so the innermost
# loop runs over points, contiguous in memory, and vectorises without reassociation


@kernel
def transpose(points: FloatArray, points_t: FloatArray) -> None:
    """Copy ``points`` (m, d) transposed into ``points_t`` (d, m), contiguous."""
    m, d = points.shape
    for i in range(m):
        for j in range(d):
            points_t[j, i] = points[i, j]


@inner_kernel
def squared_distances(points_t: FloatArray, low: int, center: FloatArray, out: FloatArray) -> None:
    """Squared distances ``out[i] = |a_{low+i} - center|^2``, as many as ``out`` (w,) holds.

    ``points_t`` is (d, m) with ``low + w <= m``, and ``center`` is (d,).  The result is in squared
    units of the points.  Each pass adds four coordinates, so that ``out`` is read and written less
    often.  The rows are sliced first, because a loop from ``low`` would have to allow for negative
    indices and would not vectorise.
    """
    d = points_t.shape[0]
    width = out.shape[0]
    high = low + width
    for i in range(width):
        out[i] = 0.0
    j = 0
    while j + 4 <= d:
        c0, c1, c2, c3 = center[j], center[j + 1], center[j + 2], center[j + 3]
        p0, p1 = points_t[j, low:high], points_t[j + 1, low:high]
        p2, p3 = points_t[j + 2, low:high], points_t[j + 3, low:high]
        for i in range(width):
            t0 = p0[i] - c0
            t1 = p1[i] - c1
            t2 = p2[i] - c2
            t3 = p3[i] - c3
            out[i] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
        j += 4
    while j < d:
        c0 = center[j]
        p0 = points_t[j, low:high]
        for i in range(width):
            t0 = p0[i] - c0
            out[i] += t0 * t0
        j += 1


@inner_kernel
def assign_block(
    points_t: FloatArray,
    low: int,
    centers: FloatArray,
    distance: FloatArray,
    nearest_sq: FloatArray,
    labels: IntArray,
) -> None:
    """Nearest centres (ties: lowest index) of the points from ``low`` on.

    ``points_t`` (d, m), ``centers`` (k, d).  ``distance``, ``nearest_sq`` and ``labels`` (w,) with
    ``low + w <= m``: work space, squared distances and labels of these w points.
    """
    for i in range(labels.shape[0]):
        nearest_sq[i] = np.inf
        labels[i] = 0
    for k in range(centers.shape[0]):
        squared_distances(points_t, low, centers[k], distance)
        for i in range(labels.shape[0]):
            closer = distance[i] < nearest_sq[i]
            nearest_sq[i] = distance[i] if closer else nearest_sq[i]
            labels[i] = k if closer else labels[i]


@kernel
def assign(
    points_t: FloatArray,
    centers: FloatArray,
    work: FloatArray,
    nearest_sq: FloatArray,
    labels: IntArray,
) -> None:
    """Labels of the nearest centres (ties: lowest index) and the squared distances to them.

    ``points_t`` is (d, m) and ``centers`` (k, d).  ``work``, ``nearest_sq`` and ``labels`` are
    (m,).  A block of points is compared with all centres before the next block, so that it stays in
    the cache.
    """
    m = points_t.shape[1]
    for low in range(0, m, BLOCK):
        high = min(low + BLOCK, m)
        assign_block(points_t, low, centers, work[low:high], nearest_sq[low:high], labels[low:high])


@inner_kernel
def single_precision(
    points: FloatArray,
    points_t: FloatArray,
    origin: FloatArray,
    norms: SingleArray,
    blocks: SingleArray,
) -> float:
    """Shift points by their mean and scale them to the unit ball.  Returns the scale, 0 for none.

    ``points`` (m, d) and ``points_t`` (d, m) are the same numbers.  ``origin`` (d,) receives the
    mean, ``norms`` (m,) the norms of the scaled points, and ``blocks`` (d m,) the scaled points,
    one (d, width) array after another.  The scale is one over a length.
    """
    m, d = points.shape
    for j in range(d):
        origin[j] = 0.0
    for i in range(m):
        for j in range(d):
            origin[j] += points[i, j]
    for j in range(d):
        origin[j] /= m
    norms_sq = np.empty(m)
    squared_distances(points_t, ZERO, origin, norms_sq)
    largest = 0.0
    for i in range(m):
        largest = max(largest, norms_sq[i])
    if d > _WIDEST or not _SMALLEST < largest < _LARGEST:
        return 0.0
    scale = 1.0 / math.sqrt(largest)
    for i in range(m):
        norms[i] = math.sqrt(norms_sq[i]) * scale
    for low in range(0, m, BLOCK):
        width = min(BLOCK, m - low)
        block = blocks[low * d : (low + width) * d].reshape(d, width)
        for j in range(d):
            source, target, offset = points_t[j, low : low + width], block[j], origin[j]
            for i in range(width):
                target[i] = (source[i] - offset) * scale
    return scale


@inner_kernel
def _scale_centers(
    centers: FloatArray, origin: FloatArray, scale: float, moved: SingleArray, half_sq: SingleArray
) -> float:
    """Shift and scale centres as `single_precision` does points.  Returns the largest squared norm.

    ``centers`` is (k, d).  ``moved`` (k, d) receives the scaled centres and ``half_sq`` (k,) half
    their squared norms.
    """
    radius_sq = 0.0
    for k in range(centers.shape[0]):
        norm_sq = 0.0
        for j in range(centers.shape[1]):
            c = (centers[k, j] - origin[j]) * scale
            moved[k, j] = c
            norm_sq += c * c
        half_sq[k] = 0.5 * norm_sq
        radius_sq = max(radius_sq, norm_sq)
    return radius_sq


@inner_kernel
def screened_assign(
    points_t: FloatArray,
    blocks: SingleArray,
    norms: SingleArray,
    origin: FloatArray,
    scale: float,
    centers: FloatArray,
    work: FloatArray,
    nearest_sq: FloatArray,
    labels: IntArray,
) -> bool:
    """Labels as `assign` gives them.  Returns False where screening proved too few labels to be
    faster.

    ``points_t`` is (d, m) and ``centers`` (k, d).  ``work``, ``nearest_sq`` and ``labels`` are
    (m,).  The arguments from ``blocks`` to ``scale`` are those of `single_precision`, the scale not
    0.  ``nearest_sq`` is used as work space: squared distances are not computed.
    """
    # One loop over blocks, because the bound on the rounding of a score stands beside the code that
    # makes the score, and a call for each block would keep the inner loops from being vectorised.
    d, m = points_t.shape
    n_clusters = centers.shape[0]
    moved = np.empty((n_clusters, d), np.float32)
    half_sq = np.empty(n_clusters, np.float32)
    radius_sq = _scale_centers(centers, origin, scale, moved, half_sq)
    if not radius_sq < _FARTHEST:
        assign(points_t, centers, work, nearest_sq, labels)
        return False
    single = _SLACK * _UNIT
    double = _SLACK * (d + 4) * 2.0**-53
    radius = math.sqrt(radius_sq)
    # twice the error of a score is at most slope |x| + level
    slope = np.float32(2.0 * (single * (d + 4) * radius + double))
    level = np.float32(2.0 * ((single + double) * radius_sq + _TINY * (1.0 + radius)))
    flat = np.empty(n_clusters * BLOCK, np.float32)
    best_work = np.empty(BLOCK, np.float32)
    second_work = np.empty(BLOCK, np.float32)
    label_work = np.empty(BLOCK, np.int32)
    n_unproved = 0
    for low in range(0, m, BLOCK):
        width = min(BLOCK, m - low)
        high = low + width
        scores = flat[: n_clusters * width].reshape(n_clusters, width)
        np.dot(moved, blocks[low * d : high * d].reshape(d, width), scores)
        best, second, nearest = best_work[:width], second_work[:width], label_work[:width]
        for i in range(width):
            best[i] = np.inf
            second[i] = np.inf
            nearest[i] = 0
        for k in range(n_clusters):
            row, half, index = scores[k], half_sq[k], np.int32(k)
            for i in range(width):
                score, lowest, next_lowest = half - row[i], best[i], second[i]
                closer = score < lowest
                best[i] = score if closer else lowest
                nearest[i] = index if closer else nearest[i]
                other = lowest if closer else score
                second[i] = other if other < next_lowest else next_lowest
        block_norms, block_labels = norms[low:high], labels[low:high]
        unproved = 0
        for i in range(width):
            block_labels[i] = nearest[i]
            best[i] = (second[i] - best[i]) - (slope * block_norms[i] + level)
            unproved += not best[i] > 0.0
        n_unproved += unproved
        if unproved > _FEW * width:
            assign_block(points_t, low, centers, work[low:high], nearest_sq[low:high], block_labels)
        elif unproved > 0:
            for i in range(width):
                if not best[i] > 0.0:
                    at = low + i
                    assign_block(
                        points_t, at, centers,
                        work[at : at + 1], nearest_sq[at : at + 1], labels[at : at + 1],
                    )  # fmt: skip
    return bool(n_unproved <= _FEW * m)
