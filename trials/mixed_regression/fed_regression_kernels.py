"""Kernels of `trials.mixed_regression.fed_regression`: labels and the sums of (11).

N rows of d features belong to M clients.  Client i owns the rows ``offsets[i]:offsets[i + 1]``.
Floats are float64 and integers int64.  All arrays are C-contiguous.  A kernel changes its outputs
and scratch alone.

Clients are addressed by offsets into the whole arrays.  For clients of a few rows a slice, which
counts references, costs more than their arithmetic (4.4 times the round at n_i = 1, d = 5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.integers import ZERO
from trials.kernel import inner_kernel, kernel
from trials.models.clients import ClientArrays

_SUMS = {"reassoc", "contract"}  # NaN and infinity keep their meaning


class SpectraArrays(NamedTuple):
    """The decomposed Gram matrices G_i of the clients.

    Attributes
    ----------
    values : eigenvalues, or P's eigenvalues (`refine_hard`).
    vectors : eigenvectors, one a row.
    starts : (M + 1, 2) where the values and vectors of each client begin.
    """

    values: FloatArray
    vectors: FloatArray
    starts: IntArray


class RoundScratch(NamedTuple):
    """Buffers of a round.

    Attributes
    ----------
    predictions : at least k times the rows of the largest group.
    residual : the rows of the largest client.
    image, work : (d,).
    """

    predictions: FloatArray
    residual: FloatArray
    image: FloatArray
    work: FloatArray


@inner_kernel
def filter_value(x: float, s: int) -> float:
    """P's eigenvalue where eta lambda G has x: sum_{l<s} (1 - x)^l, or 1 / (1 + x) for s = 0."""
    if s == 0:
        return 1.0 / (1.0 + x)
    if x <= 0.0 or s == 1:
        return float(s)
    if x < 1.0:
        return float(-np.expm1(s * np.log1p(-x)) / x)
    return (1.0 - (1.0 - x) ** s) / x


@kernel
def filter_values(values: FloatArray, weight: float, s: int, out: FloatArray) -> None:
    """out[a], (q,): P's eigenvalue for eta lambda = `weight` and G's eigenvalue values[a]."""
    for a in range(out.shape[0]):
        out[a] = filter_value(weight * values[a], s)


@kernel(fastmath=_SUMS)
def smaller_grams(data: ClientArrays, clients: IntArray, grams: FloatArray) -> None:
    """Write X_i X_i^T / n_i, or X_i^T X_i / n_i where it is smaller, of clients of one order.

    `grams` is (c, q, q), with q = min(n_i, d) of each of the (c,) clients.
    """
    features, _, offsets = data
    d, q = features.shape[1], grams.shape[1]
    for at in range(clients.shape[0]):
        top, end = offsets[clients[at]], offsets[clients[at] + 1]
        n = end - top
        gram = grams[at]
        if n <= d:
            for a in range(q):
                for b in range(a + 1):
                    total = 0.0
                    for c in range(d):
                        total += features[top + a, c] * features[top + b, c]
                    gram[a, b] = total / n
        else:
            gram[:] = 0.0
            for row in range(top, end):
                for a in range(q):
                    share = features[row, a] / n
                    for b in range(a + 1):
                        gram[a, b] += share * features[row, b]
        for a in range(q):
            for b in range(a):
                gram[b, a] = gram[a, b]


@inner_kernel(fastmath=_SUMS)
def apply_filter(
    vectors: FloatArray,
    first: int,
    factors: FloatArray,
    top: int,
    q: int,
    v: FloatArray,
    work: FloatArray,
) -> None:
    """Replace ``v[:q]`` by V^T diag(factors) V v[:q], with V's rows from ``vectors[first]`` on.

    The factors are ``factors[top:top + q]``.  `work` holds q floats.
    """
    for a in range(q):
        row, total = first + a * q, 0.0
        for b in range(q):
            total += vectors[row + b] * v[b]
        work[a] = total * factors[top + a]
    for b in range(q):
        v[b] = 0.0
    for a in range(q):
        row = first + a * q
        for b in range(q):
            v[b] += vectors[row + b] * work[a]


@inner_kernel(fastmath=_SUMS)
def _combine(features: FloatArray, coefficients: FloatArray, out: FloatArray) -> None:
    """Write X^T coefficients (n,) to `out` (d,).

    It is used for a client of many rows, for whom the cost of a slice is small.
    """
    out[:] = 0.0
    for row in range(features.shape[0]):
        c = coefficients[row]
        for j in range(features.shape[1]):
            out[j] += c * features[row, j]


@inner_kernel(fastmath=_SUMS)
def _half_mean_square(
    predicted: FloatArray, j: int, top: int, responses: FloatArray, a: int, z: int
) -> float:
    """The loss |y_i - X_i theta_j|^2 / (2 n_i) of the rows a to z.

    Row 0 of `predicted` (rows, k) belongs to row `top` of the data.
    """
    total = 0.0
    for row in range(a, z):
        error = responses[row] - predicted[row - top, j]
        total += error * error
    return 0.5 * total / (z - a)


@inner_kernel
def _first_equal(models: FloatArray) -> IntArray:
    """The first model (k,) that each of (k, d) equals.

    BLAS may round predictions of equal models in two ways, and ties go to the first one.
    """
    first = np.arange(models.shape[0])
    for j in range(models.shape[0]):
        for other in range(j):
            equal = True
            for c in range(models.shape[1]):
                equal = equal and models[other, c] == models[j, c]
            if equal:
                first[j] = other
                break
    return first


@kernel
def client_losses(
    data: ClientArrays,
    groups: IntArray,
    models: FloatArray,
    predictions: FloatArray,
    losses: FloatArray,
) -> None:
    """Compute losses[i, j] = |y_i - X_i theta_j|^2 / (2 n_i), an (M, k) array.

    `models` is (k, d).  Group g holds the clients ``groups[g]:groups[g + 1]``.  `predictions` is
    scratch of at least k times the rows of the largest group.
    """
    features, responses, offsets = data
    k, first = models.shape[0], _first_equal(models)
    for g in range(groups.shape[0] - 1):
        top, end = offsets[groups[g]], offsets[groups[g + 1]]
        predicted = predictions[: k * (end - top)].reshape((end - top, k))
        np.dot(features[top:end], models.T, predicted)
        for i in range(groups[g], groups[g + 1]):
            for j in range(k):
                if first[j] < j:
                    losses[i, j] = losses[i, first[j]]
                    continue
                losses[i, j] = _half_mean_square(
                    predicted, j, top, responses, offsets[i], offsets[i + 1]
                )


@kernel(fastmath=_SUMS)
def refine_hard(
    data: ClientArrays,
    groups: IntArray,
    models: FloatArray,
    filters: SpectraArrays,
    scratch: RoundScratch,
    labels: IntArray,
    descent: FloatArray,
) -> None:
    """Find the labels (8) and add the sums of (11), in one reading of the data.

    Parameters
    ----------
    data : rows of the M clients.
    groups : (g + 1,) group g holds the clients ``groups[g]:groups[g + 1]``.
    models : (k, d).
    filters : P's eigenvalues, with G's eigenvectors.  With hard labels they are the same in every
        round.
    scratch : buffers of the kernel.
    labels : (M,), output.
    descent : (k, d), output, to which ``sum_i lambda_ij X_i^T P_i (y_i - X_i theta_j)`` is added.
    """
    features, responses, offsets = data
    factors, vectors, starts = filters
    predictions, residual, image, work = scratch
    (k, d), first = models.shape, _first_equal(models)
    for g in range(groups.shape[0] - 1):
        top, end = offsets[groups[g]], offsets[groups[g + 1]]
        predicted = predictions[: k * (end - top)].reshape((end - top, k))
        np.dot(features[top:end], models.T, predicted)
        for i in range(groups[g], groups[g + 1]):
            a, z = offsets[i], offsets[i + 1]
            n = z - a
            chosen, least = 0, _half_mean_square(predicted, ZERO, top, responses, a, z)
            for j in range(1, k):
                if first[j] < j:
                    continue
                loss = _half_mean_square(predicted, j, top, responses, a, z)
                if loss < least:
                    chosen, least = j, loss
            labels[i] = chosen
            for row in range(n):
                residual[row] = responses[a + row] - predicted[a - top + row, chosen]
            if n <= d:
                apply_filter(vectors, starts[i, 1], factors, starts[i, 0], n, residual, work)
                for row in range(n):
                    share = residual[row]
                    for c in range(d):
                        descent[chosen, c] += share * features[a + row, c]
            else:
                _combine(features[a : a + n], residual, image)
                apply_filter(vectors, starts[i, 1], factors, starts[i, 0], d, image, work)
                for c in range(d):
                    descent[chosen, c] += image[c]


@kernel(fastmath=_SUMS)
def refine_soft(
    data: ClientArrays,
    groups: IntArray,
    models: FloatArray,
    spectra: SpectraArrays,
    eta: float,
    s: int,
    likelihoods: FloatArray,
    scratch: RoundScratch,
    factors: FloatArray,
    product: FloatArray,
    descent: FloatArray,
) -> None:
    """Add the sums of (11) for likelihoods to `descent`.

    Every client moves every model, so that a second GEMM is needed.

    Parameters
    ----------
    data, groups, models, descent : as for `refine_hard`.
    spectra : G's eigenvalues and eigenvectors.
    eta, s : step size, and local steps of FedAvg or 0 for FedProx.
    likelihoods : (M, k) lambda.
    scratch : buffers of the kernel.
    factors, product : (d,) and (k, d), scratch.
    """
    features, responses, offsets = data
    values, vectors, starts = spectra
    predictions, residual, image, work = scratch
    k, d = models.shape
    for g in range(groups.shape[0] - 1):
        top, end = offsets[groups[g]], offsets[groups[g + 1]]
        pulls = predictions[: k * (end - top)].reshape((end - top, k))
        np.dot(features[top:end], models.T, pulls)
        for i in range(groups[g], groups[g + 1]):
            a, n = offsets[i], offsets[i + 1] - offsets[i]
            first, q = starts[i, 0], min(n, d)
            for j in range(k):
                weight = likelihoods[i, j]
                for row in range(n):
                    residual[row] = weight * (responses[a + row] - pulls[a - top + row, j])
                for row in range(n):
                    pulls[a - top + row, j] = 0.0
                if weight == 0.0:
                    continue
                for b in range(q):
                    factors[b] = filter_value(eta * weight * values[first + b], s)
                if n <= d:
                    apply_filter(vectors, starts[i, 1], factors, 0, n, residual, work)
                    for row in range(n):
                        pulls[a - top + row, j] = residual[row]
                else:  # in d coordinates, so nothing is left for the GEMM
                    _combine(features[a : a + n], residual, image)
                    apply_filter(vectors, starts[i, 1], factors, 0, d, image, work)
                    for c in range(d):
                        descent[j, c] += image[c]
        np.dot(pulls.T, features[top:end], product)
        for j in range(k):
            for c in range(d):
                descent[j, c] += product[j, c]
