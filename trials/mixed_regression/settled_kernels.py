"""Kernels of `trials.mixed_regression.settled_rounds`.

The arrays are those of `trials.mixed_regression.fed_regression_kernels`.  A kernel changes its
outputs alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from trials.checks import FloatArray, IntArray
from trials.mixed_regression.fed_regression_kernels import SpectraArrays, apply_filter
from trials.models.clients import ClientArrays

_SUMS = {"reassoc", "contract"}  # NaN and infinity keep their meaning
_BUFFER = 2**14  # floats


class ClusterSums(NamedTuple):
    """The sums of (11) as functions of the models.

    Attributes
    ----------
    matrices : (k, d, d) H_j, the sums of X_i^T P_i X_i.
    pulls : (k, d) g_j, the sums of X_i^T P_i (y_i - X_i c_j).
    centre : (k, d) the models c_j.
    """

    matrices: FloatArray
    pulls: FloatArray
    centre: FloatArray


@njit(cache=True, nogil=True, fastmath=_SUMS)
def relabel(
    data: ClientArrays,
    listed: IntArray,
    models: FloatArray,
    lengths: FloatArray,
    doubts: FloatArray,
    walked: float,
    labels: IntArray,
    free: FloatArray,
) -> None:
    """Find the labels (8) of the listed clients, and how far the models may walk meanwhile.

    Parameters
    ----------
    listed : (q,) numbers of clients.
    models : (k, d).
    lengths : (M,) norms of X_i.
    doubts : (q,) bounds of the rounding errors of their margins.
    walked : the way of the models so far.
    labels, free : (M,), outputs at the listed clients: the label, and the way at which it may
        change.
    """
    features, responses, offsets = data
    k, d = models.shape
    squares = np.empty(k)
    for q in range(listed.shape[0]):
        i = listed[q]
        squares[:] = 0.0
        for row in range(offsets[i], offsets[i + 1]):
            for j in range(k):
                predicted = 0.0
                for c in range(d):
                    predicted += features[row, c] * models[j, c]
                error = responses[row] - predicted
                squares[j] += error * error
        chosen = 0
        for j in range(1, k):
            if squares[j] < squares[chosen]:
                chosen = j
        second = np.inf
        for j in range(k):
            if j != chosen and squares[j] < second:
                second = squares[j]
        labels[i] = chosen
        margin = np.sqrt(second) - np.sqrt(squares[chosen]) - doubts[q]
        # where rounding may decide the client is evaluated in every round
        free[i] = walked + margin / lengths[i] if margin > 0.0 and lengths[i] > 0.0 else -np.inf


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _turned_row(
    features: FloatArray,
    vectors: FloatArray,
    first: int,
    a: int,
    top: int,
    n: int,
    out: FloatArray,
) -> None:
    """Write the row ``a`` of V X_i to ``out``, where the vectors are those of X_i X_i^T."""
    out[:] = 0.0
    for row in range(n):
        share = vectors[first + a * n + row]
        for c in range(out.shape[0]):
            out[c] += share * features[top + row, c]


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _half(
    data: ClientArrays,
    spectra: SpectraArrays,
    factors: FloatArray,
    i: int,
    a: int,
    out: FloatArray,
) -> float:
    """A vector v and the weight w of w v v^T, the term ``a`` of X_i^T P_i X_i."""
    features, _, offsets = data
    values, vectors, starts = spectra
    d, n = features.shape[1], offsets[i + 1] - offsets[i]
    at = starts[i, 0] + a
    if n <= d:
        _turned_row(features, vectors, starts[i, 1], a, offsets[i], n, out)
        return float(factors[at])
    for c in range(d):
        out[c] = vectors[starts[i, 1] + a * d + c]
    return float(factors[at] * values[at] * n)


@njit(cache=True, nogil=True)
def add_all(
    data: ClientArrays,
    spectra: SpectraArrays,
    factors: FloatArray,
    labels: IntArray,
    matrices: FloatArray,
) -> None:
    """Add X_i^T P_i X_i of every client to the matrix of its label."""
    offsets = data.offsets
    k, d = matrices.shape[:2]
    capacity = max(1, _BUFFER // d)
    rows, scaled = np.empty((capacity, d)), np.empty((capacity, d))
    product = np.empty((d, d))
    for j in range(k):
        filled = 0
        for i in range(labels.shape[0]):
            if labels[i] != j:
                continue
            for a in range(min(d, offsets[i + 1] - offsets[i])):
                if filled == capacity:
                    np.dot(scaled.T, rows, product)
                    matrices[j] += product
                    filled = 0
                weight = _half(data, spectra, factors, i, a, rows[filled])
                for c in range(d):
                    scaled[filled, c] = weight * rows[filled, c]
                filled += 1
        if filled:
            np.dot(scaled[:filled].T, rows[:filled], product)
            matrices[j] += product


@njit(cache=True, nogil=True, fastmath=_SUMS)
def add_client(
    data: ClientArrays,
    spectra: SpectraArrays,
    factors: FloatArray,
    i: int,
    j: int,
    sign: float,
    sums: ClusterSums,
) -> None:
    """Add ``sign`` times the terms of client i to the sums of cluster j."""
    features, responses, offsets = data
    matrices, pulls, centre = sums
    top, n, d = offsets[i], offsets[i + 1] - offsets[i], features.shape[1]
    order = min(n, d)
    half, residual, work = np.empty(d), np.empty(n), np.empty(order)
    for a in range(order):
        weight = sign * _half(data, spectra, factors, i, a, half)
        for b in range(d):
            share = weight * half[b]
            for c in range(d):
                matrices[j, b, c] += share * half[c]
    for row in range(n):
        predicted = 0.0
        for c in range(d):
            predicted += features[top + row, c] * centre[j, c]
        residual[row] = responses[top + row] - predicted
    first, at = spectra.starts[i, 1], spectra.starts[i, 0]
    if n <= d:
        apply_filter(spectra.vectors, first, factors, at, n, residual, work)
        for row in range(n):
            for c in range(d):
                pulls[j, c] += sign * residual[row] * features[top + row, c]
    else:
        half[:] = 0.0
        for row in range(n):
            for c in range(d):
                half[c] += residual[row] * features[top + row, c]
        apply_filter(spectra.vectors, first, factors, at, d, half, work)
        for c in range(d):
            pulls[j, c] += sign * half[c]
