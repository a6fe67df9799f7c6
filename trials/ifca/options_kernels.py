"""Kernels of `trials.ifca.options`: identity estimates and local updates for any loss.

R runs of k models share every pass over the data.  Row r k + j of `models` (R k, d) is model j of
run r.  Floats are float64 and integers int64.  All arrays are C-contiguous.  A kernel changes its
outputs and scratch alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.ifca.linear_kernels import SUMS, label_client
from trials.integers import ZERO
from trials.kernel import inner_kernel, kernel
from trials.models.clients import ClientArrays
from trials.models.losses import SQUARED, LossCode, data_loss, descent_weight


class LocalSteps(NamedTuple):
    """The local steps of one iteration.

    Attributes
    ----------
    sizes : (R k,) step size of each model.
    number : steps of a client, tau >= 1.
    batch_size : rows of a mini-batch.  0 takes all rows of a client.
    """

    sizes: FloatArray
    number: int
    batch_size: int


class UpdateScratch(NamedTuple):
    """Buffers of `add_local_updates`.  Their content is not used after a call.

    Attributes
    ----------
    order : (n,) int64, n the rows of the largest client.
    batch, targets : (b, d) and (b,), b the rows of the largest mini-batch.
    local, product : (R, d).
    weights : at least R times the rows of the largest mini-batch.
    """

    order: IntArray
    batch: FloatArray
    targets: FloatArray
    local: FloatArray
    product: FloatArray
    weights: FloatArray


@inner_kernel(fastmath=SUMS)
def _label_by_loss(
    predicted: FloatArray,
    responses: FloatArray,
    client: int,
    k: int,
    kind: int,
    scale: float,
    penalties: FloatArray,
    labels: IntArray,
) -> None:
    """The first model of smallest F_i, for each run, from its predictions (R k, n) and penalty."""
    n = responses.shape[0]
    for run in range(labels.shape[0]):
        best, chosen = np.inf, 0
        for j in range(k):
            row, total = run * k + j, 0.0
            for s in range(n):
                total += data_loss(kind, scale, predicted[row, s], responses[s])
            loss = total / n + penalties[row]
            if loss < best:
                best, chosen = loss, j
        labels[run, client] = chosen


@kernel
def label_subset(
    data: ClientArrays,
    subset: IntArray,
    models: FloatArray,
    k: int,
    loss: LossCode,
    predictions: FloatArray,
    penalties: FloatArray,
    labels: IntArray,
) -> None:
    """Estimate the identities of some clients, for all runs.

    Parameters
    ----------
    data : rows of the m clients.
    subset : (p,) numbers of the clients whose identities are estimated.
    models : (R k, d) models of R runs.
    k : models of a run.
    loss : f.
    predictions : at least R k times the rows of the largest client, scratch.
    penalties : (R k,), scratch.
    labels : (R, m), output.  The labels of the other clients are left as they are.
    """
    features, responses, offsets = data
    kind, scale, l2 = loss
    n_models, bare = models.shape[0], kind == SQUARED and l2 == 0.0
    for row in range(n_models):
        penalties[row] = 0.5 * l2 * np.dot(models[row], models[row])
    for client in subset:
        a, z = offsets[client], offsets[client + 1]
        predicted = predictions[: n_models * (z - a)].reshape((n_models, z - a))
        np.dot(models, features[a:z].T, predicted)
        if bare:  # the plain kernel's sums, so that near-ties are the same in both
            label_client(predicted, ZERO, responses[a:z], client, k, labels)
        else:
            _label_by_loss(predicted, responses[a:z], client, k, kind, scale, penalties, labels)


@inner_kernel
def _draw_rows(rng: np.random.Generator, n: int, batch: int, order: IntArray) -> None:
    """A uniform subset of `batch` of the rows 0..n-1 in the first entries of `order` (n,)."""
    for s in range(n):
        order[s] = s
    # Fisher and Yates' shuffle, stopped after the batch: the stream gives one number a row drawn.
    for s in range(batch):
        other = rng.integers(s, n)
        order[s], order[other] = order[other], order[s]


@kernel
def add_local_updates(
    data: ClientArrays,
    subset: IntArray,
    models: FloatArray,
    k: int,
    loss: LossCode,
    labels: IntArray,
    local_steps: LocalSteps,
    rng: np.random.Generator | None,
    scratch: UpdateScratch,
    sums: FloatArray,
    counts: IntArray,
) -> None:
    """Add the local updates of some clients, for all runs, and count them.

    Parameters
    ----------
    data : rows of the m clients.
    subset : (p,) numbers of the participants.
    models : (R k, d) models of R runs, from which the participants start.
    k : models of a run.
    loss : f.
    labels : (R, m) identities of the clients.
    local_steps : step sizes, number of steps and batch size.
    rng : draws the mini-batches.  Without one each batch is all rows: to hand a generator to
        compiled code takes as long as the updates of ten small clients.
    scratch : buffers of the kernel.
    sums : (R k, d), output.  Each participant adds LocalUpdate's model less the model that it
        started from.  With step sizes of 1 and a single step this is minus its gradient.
    counts : (R k,), output.  Each participant adds one to its model.
    """
    features, responses, offsets = data
    kind, scale, l2 = loss
    steps, n_steps, batch_size = local_steps
    order, batch, targets, local, product, weights = scratch
    n_runs = labels.shape[0]
    for client in subset:
        a, z = offsets[client], offsets[client + 1]
        size = z - a
        if rng is not None and batch_size > 0:
            size = min(size, batch_size)
        for run in range(n_runs):
            row = run * k + labels[run, client]
            for c in range(models.shape[1]):
                local[run, c] = models[row, c]
        for _ in range(n_steps):
            if rng is None:  # the compiler leaves the other branches out
                x, y = features[a:z], responses[a:z]
            elif size < z - a:
                _draw_rows(rng, z - a, size, order)
                for s in range(size):
                    for c in range(batch.shape[1]):
                        batch[s, c] = features[a + order[s], c]
                    targets[s] = responses[a + order[s]]
                x, y = batch[:size], targets[:size]
            else:
                x, y = features[a:z], responses[a:z]
            weight = weights[: n_runs * size].reshape((n_runs, size))
            np.dot(local, x.T, weight)
            # The step size goes into the residuals, so that the gradient needs no second pass.
            for run in range(n_runs):
                factor = scale * steps[run * k + labels[run, client]] / size
                for s in range(size):
                    weight[run, s] = factor * descent_weight(kind, weight[run, s], y[s])
            np.dot(weight, x, product)
            # The penalty's gradient is that at the model before the step.
            if l2 > 0.0:
                for run in range(n_runs):
                    shrink = l2 * steps[run * k + labels[run, client]]
                    for c in range(product.shape[1]):
                        product[run, c] -= shrink * local[run, c]
            for run in range(n_runs):
                for c in range(product.shape[1]):
                    local[run, c] += product[run, c]
        for run in range(n_runs):
            row = run * k + labels[run, client]
            counts[row] += 1
            for c in range(product.shape[1]):
                # one step: the product itself, without the rounding of adding and subtracting
                moved = product[run, c] if n_steps == 1 else local[run, c] - models[row, c]
                sums[row, c] += moved
