"""Kernels of IFCA for linear models: labels, gradients and steps of all parallel runs.

The arrays are those of `trials.ifca.linear`: features (N, d), responses (N,), offsets (m + 1,),
models (R k, d), labels (R, m) and descent (R k, d).  Floats are float64 and integers int64.  All
arrays are C-contiguous.  A kernel changes its outputs and scratch alone.

The arrays of the clients are passed one by one: a tuple of them would add 2 microseconds a call,
an eighth of an iteration on the smallest data.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.kernel import inner_kernel, kernel

#: Fast-math flags: sums may be reordered and multiply-adds fused.  NaN and infinity keep their
#: meaning.
SUMS = {"reassoc", "contract"}


@inner_kernel(fastmath=SUMS)
def label_client(
    predictions: FloatArray,
    first: int,
    responses: FloatArray,
    client: int,
    k: int,
    labels: IntArray,
) -> None:
    """The first model of smallest squared loss, for each run.

    The client's predictions are the columns of `predictions` (R k, rows) from `first` on.
    """
    n = responses.shape[0]
    for run in range(labels.shape[0]):
        best, chosen = np.inf, 0
        for j in range(k):
            predicted = predictions[run * k + j, first : first + n]
            loss = 0.0
            for s in range(n):
                error = responses[s] - predicted[s]
                loss += error * error
            if loss < best:
                best, chosen = loss, j
        labels[run, client] = chosen


@inner_kernel
def fetch(features: FloatArray, scratch: FloatArray) -> None:
    """Read one value of each cache line, so that the GEMMs find the features (n, d) in the cache.

    BLAS reads many rows at once, too many for the hardware's prefetcher.  This reading in order
    takes 3 ms for 80 MB and saves twice that.  The sum is stored so that no compiler removes it.
    """
    values, total = features.reshape(-1), 0.0
    for i in range(0, values.shape[0], 8):
        total += values[i]
    scratch[0] = total


@inner_kernel(fastmath=SUMS)
def _scatter(
    product: FloatArray, client: int, k: int, labels: IntArray, descent: FloatArray
) -> None:
    """Add row r of `product` (R, d) to the chosen model of run r."""
    for run in range(labels.shape[0]):
        target, row = descent[run * k + labels[run, client]], product[run]
        for c in range(row.shape[0]):
            target[c] += row[c]


@kernel
def label_clients(
    features: FloatArray,
    responses: FloatArray,
    offsets: IntArray,
    groups: IntArray,
    models: FloatArray,
    k: int,
    predictions: FloatArray,
    labels: IntArray,
) -> None:
    """Estimate the identities of all clients, for all runs.

    One GEMM a client group gives the losses of all models of all runs.

    Parameters
    ----------
    features, responses, offsets : rows of the m clients.
    groups : (g + 1,) group g holds the clients ``groups[g]:groups[g + 1]``.
    models : (R k, d).
    k : models of a run.
    predictions : at least R k times the rows of the largest group, scratch.
    labels : (R, m), output.
    """
    n_models = models.shape[0]
    for g in range(groups.shape[0] - 1):
        top, end = offsets[groups[g]], offsets[groups[g + 1]]
        predicted = predictions[: n_models * (end - top)].reshape((n_models, end - top))
        fetch(features[top:end], predictions)
        np.dot(models, features[top:end].T, predicted)
        for client in range(groups[g], groups[g + 1]):
            a, z = offsets[client], offsets[client + 1]
            label_client(predicted, a - top, responses[a:z], client, k, labels)


@kernel
def add_gradients(
    features: FloatArray,
    responses: FloatArray,
    offsets: IntArray,
    models: FloatArray,
    k: int,
    labels: IntArray,
    chosen: FloatArray,
    residuals: FloatArray,
    product: FloatArray,
    descent: FloatArray,
) -> None:
    """Add minus the clients' gradients, each at the model that its label names, for all runs.

    Parameters
    ----------
    features, responses, offsets : rows of the m clients.
    models : (R k, d).
    k : models of a run.
    labels : (R, m) identities.
    chosen, product : (R, d), scratch.
    residuals : at least R times the rows of the largest client, scratch.
    descent : (R k, d), output, to which the sums are added.
    """
    n_runs = labels.shape[0]
    for client in range(offsets.shape[0] - 1):
        a, z = offsets[client], offsets[client + 1]
        for run in range(n_runs):
            row = run * k + labels[run, client]
            for c in range(models.shape[1]):
                chosen[run, c] = models[row, c]
        residual = residuals[: n_runs * (z - a)].reshape((n_runs, z - a))
        np.dot(chosen, features[a:z].T, residual)
        scale = 2.0 / (z - a)
        for run in range(n_runs):
            for s in range(z - a):
                residual[run, s] = scale * (responses[a + s] - residual[run, s])
        np.dot(residual, features[a:z], product)
        _scatter(product, client, k, labels, descent)


@kernel
def label_and_add_gradients(
    features: FloatArray,
    responses: FloatArray,
    offsets: IntArray,
    groups: IntArray,
    models: FloatArray,
    k: int,
    predictions: FloatArray,
    residuals: FloatArray,
    product: FloatArray,
    labels: IntArray,
    descent: FloatArray,
) -> None:
    """Run `label_clients` and `add_gradients` on the same data, with one forward pass for both.

    The arguments are those of the two kernels.
    """
    n_models, n_runs = models.shape[0], labels.shape[0]
    for g in range(groups.shape[0] - 1):
        top, end = offsets[groups[g]], offsets[groups[g + 1]]
        predicted = predictions[: n_models * (end - top)].reshape((n_models, end - top))
        fetch(features[top:end], predictions)
        np.dot(models, features[top:end].T, predicted)
        for client in range(groups[g], groups[g + 1]):
            a, z = offsets[client], offsets[client + 1]
            label_client(predicted, a - top, responses[a:z], client, k, labels)
            residual = residuals[: n_runs * (z - a)].reshape((n_runs, z - a))
            scale = 2.0 / (z - a)
            for run in range(n_runs):
                row = predicted[run * k + labels[run, client], a - top : z - top]
                for s in range(z - a):
                    residual[run, s] = scale * (responses[a + s] - row[s])
            np.dot(residual, features[a:z], product)
            _scatter(product, client, k, labels, descent)


@kernel(fastmath=SUMS)
def take_steps(
    models: FloatArray, scales: FloatArray, descent: FloatArray, sizes: FloatArray
) -> None:
    """Replace `descent` (R k, d) by the models after the step.

    `sizes` (R,) receives the largest squared norm of each run's models.

    The step of row r k + j is ``scales[r, j] * descent``.  A size that is not finite marks a model
    that is not finite, or is too large to be squared.
    """
    k = scales.shape[1]
    for run in range(scales.shape[0]):
        sizes[run] = 0.0
        for j in range(k):
            row, size = run * k + j, 0.0
            for c in range(models.shape[1]):
                value = models[row, c] + scales[run, j] * descent[row, c]
                descent[row, c] = value
                size += value * value
            if size > sizes[run] or np.isnan(size):  # once NaN, always NaN
                sizes[run] = size
