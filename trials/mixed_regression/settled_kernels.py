"""Kernels of `trials.mixed_regression.settled_rounds`.

The arrays are those of `trials.mixed_regression.fed_regression_kernels`.  A kernel changes its
outputs alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.kernel import inner_kernel, kernel
from trials.mixed_regression.fed_regression_kernels import SpectraArrays, apply_filter
from trials.models.clients import ClientArrays
from trials.norms import length

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


class Proofs(NamedTuple):
    """How far the models may walk until each client may change its label.

    Attributes
    ----------
    free : (M,) the way of the models at which the label may change.
    lengths, responses : (M,) norms of X_i and y_i.
    roundings : (M,) relative rounding errors of a margin.
    """

    free: FloatArray
    lengths: FloatArray
    responses: FloatArray
    roundings: FloatArray


@kernel(fastmath=_SUMS)
def way(models: FloatArray, before: FloatArray) -> float:
    """How far the two models of (k, d) that moved most have moved together."""
    first, second = 0.0, 0.0
    for j in range(models.shape[0]):
        moved = length(models[j] - before[j])
        if moved > first:
            first, second = moved, first
        elif moved > second:
            second = moved
    return first + second


@kernel(fastmath=_SUMS)
def relabel(
    data: ClientArrays,
    models: FloatArray,
    walked: float,
    proofs: Proofs,
    labels: IntArray,
    changed: IntArray,
    before: IntArray,
) -> tuple[int, int]:
    """Find the labels (8) of the clients whose label may have changed.

    Parameters
    ----------
    models : (k, d).
    walked : the way of the models so far.
    proofs : its ``free`` is updated for the clients that are evaluated.
    labels : (M,), updated.
    changed, before : (M,), output.  The clients whose label changed, and what it was.

    Returns
    -------
    How many labels changed, and how many clients were evaluated.
    """
    features, responses, offsets = data
    k, d = models.shape
    squares = np.empty(k)
    size = 0.0
    for j in range(k):
        size = max(size, length(models[j]))
    n_changed, n_evaluated = 0, 0
    for i in range(labels.shape[0]):
        # The models have moved less than the client's margin since it was last evaluated.  So its
        # label is proved without its rows.
        if proofs.free[i] > walked:
            continue
        n_evaluated += 1
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
            # Strict, so that the first of equal losses is taken, as everywhere.
            if squares[j] < squares[chosen]:
                chosen = j
        second = np.inf
        for j in range(k):
            if j != chosen and squares[j] < second:
                second = squares[j]
        if labels[i] != chosen:
            changed[n_changed], before[n_changed] = i, labels[i]
            n_changed += 1
            labels[i] = chosen
        norm = proofs.lengths[i]
        reach = proofs.responses[i] + norm * size  # an upper bound of the residual norms
        margin = np.sqrt(second) - np.sqrt(squares[chosen]) - proofs.roundings[i] * reach
        # where rounding may decide the client is evaluated in every round
        proofs.free[i] = walked + margin / norm if margin > 0.0 and norm > 0.0 else -np.inf
    return n_changed, n_evaluated


@kernel(fastmath=_SUMS)
def evaluate(sums: ClusterSums, models: FloatArray, descent: FloatArray) -> None:
    """Write the sums of (11) at (k, d) models to `descent`."""
    matrices, pulls, centre = sums
    k, d = models.shape
    for j in range(k):
        for a in range(d):
            total = pulls[j, a]
            for b in range(d):
                # Differences from the centre first: near the end they are small, and products with
                # the models themselves would cancel.
                total -= matrices[j, a, b] * (models[j, b] - centre[j, b])
            descent[j, a] = total


@inner_kernel(fastmath=_SUMS)
def _turned_row(
    features: FloatArray, vectors: FloatArray, first: int, a: int, top: int, n: int, out: FloatArray
) -> None:
    """Write the row ``a`` of V X_i to ``out`` (d,), where the vectors are those of X_i X_i^T."""
    out[:] = 0.0
    for row in range(n):
        share = vectors[first + a * n + row]
        for c in range(out.shape[0]):
            out[c] += share * features[top + row, c]


@inner_kernel(fastmath=_SUMS)
def _half(
    data: ClientArrays, spectra: SpectraArrays, factors: FloatArray, i: int, a: int, out: FloatArray
) -> float:
    """A vector v (d,) and the weight w of w v v^T, the term ``a`` of X_i^T P_i X_i."""
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


@kernel
def add_all(
    data: ClientArrays,
    spectra: SpectraArrays,
    factors: FloatArray,
    labels: IntArray,
    matrices: FloatArray,
) -> None:
    """Add X_i^T P_i X_i of every client to the matrix of its label, (k, d, d)."""
    offsets = data.offsets
    k, d = matrices.shape[:2]
    # Rows of many clients are gathered into one buffer, so that BLAS multiplies few tall matrices
    # and not one small matrix a client.
    capacity = max(1, _BUFFER // d)
    rows, scaled = np.empty((capacity, d)), np.empty((capacity, d))
    product = np.empty((d, d))
    # Cluster by cluster: the buffer then holds rows of one cluster alone.
    for j in range(k):
        filled = 0
        for i in range(labels.shape[0]):
            if labels[i] != j:
                continue
            for a in range(min(d, offsets[i + 1] - offsets[i])):
                if filled == capacity:
                    np.dot(scaled.T, rows, product)
                    _add(product, matrices[j])
                    filled = 0
                weight = _half(data, spectra, factors, i, a, rows[filled])
                for c in range(d):
                    scaled[filled, c] = weight * rows[filled, c]
                filled += 1
        if filled:
            np.dot(scaled[:filled].T, rows[:filled], product)
            _add(product, matrices[j])


@inner_kernel
def _add(matrix: FloatArray, out: FloatArray) -> None:
    """Add a matrix to another, entry by entry."""
    for a in range(matrix.shape[0]):
        for c in range(matrix.shape[1]):
            out[a, c] += matrix[a, c]


@inner_kernel(fastmath=_SUMS)
def _add_pull(
    data: ClientArrays,
    spectra: SpectraArrays,
    factors: FloatArray,
    i: int,
    sign: float,
    centre: FloatArray,
    pull: FloatArray,
) -> None:
    """Add ``sign`` X_i^T P_i (y_i - X_i centre) of client i to `pull`, both (d,)."""
    features, responses, offsets = data
    top, n, d = offsets[i], offsets[i + 1] - offsets[i], features.shape[1]
    order = min(n, d)
    residual, image, work = np.empty(n), np.zeros(d), np.empty(order)
    for row in range(n):
        predicted = 0.0
        for c in range(d):
            predicted += features[top + row, c] * centre[c]
        residual[row] = responses[top + row] - predicted
    first, at = spectra.starts[i, 1], spectra.starts[i, 0]
    if n <= d:
        apply_filter(spectra.vectors, first, factors, at, n, residual, work)
    for row in range(n):
        for c in range(d):
            image[c] += residual[row] * features[top + row, c]
    if n > d:
        apply_filter(spectra.vectors, first, factors, at, d, image, work)
    for c in range(d):
        pull[c] += sign * image[c]


@kernel(fastmath=_SUMS)
def add_client(
    data: ClientArrays,
    spectra: SpectraArrays,
    factors: FloatArray,
    i: int,
    j: int,
    sign: float,
    sums: ClusterSums,
) -> None:
    """Add ``sign`` times the terms of client i to the sums of cluster j: (d, d) and (d,)."""
    d = sums.pulls.shape[1]
    half = np.empty(d)
    for a in range(min(d, data.offsets[i + 1] - data.offsets[i])):
        weight = sign * _half(data, spectra, factors, i, a, half)
        for b in range(d):
            share = weight * half[b]
            for c in range(d):
                sums.matrices[j, b, c] += share * half[c]
    _add_pull(data, spectra, factors, i, sign, sums.centre[j], sums.pulls[j])


@kernel
def add_pulls(
    data: ClientArrays,
    spectra: SpectraArrays,
    factors: FloatArray,
    labels: IntArray,
    centre: FloatArray,
    pulls: FloatArray,
) -> None:
    """Add X_i^T P_i (y_i - X_i c_j) of every client to the row of its label j, all (k, d)."""
    for i in range(labels.shape[0]):
        j = labels[i]
        _add_pull(data, spectra, factors, i, 1.0, centre[j], pulls[j])
