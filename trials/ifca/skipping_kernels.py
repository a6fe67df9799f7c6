"""Kernels of `trials.ifca.skipping`: proofs without the data, and one pass over the data.

The symbols are those of `trials.ifca.loss_hulls`.  What an iteration takes from a client's data
waits for each other: new directions of hulls, then the labels that are still open, then the
gradients at the models that the labels name.  The features of all clients are larger than any
cache, and the products are of few rows, so each of these three would take about the time to read
the data.  `visit_clients` does all three while the features of a client are in the cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trials.checks import BoolArray, FloatArray, IntArray
from trials.ifca.linear_kernels import SUMS, label_client
from trials.ifca.loss_hulls import (
    TINY,
    ClientBounds,
    Hulls,
    KnownProducts,
    LossForms,
    NewDirections,
    Proof,
    absorb,
    prove,
)
from trials.kernel import inner_kernel, kernel
from trials.models.clients import ClientArrays

_FEW_ROWS = 8
_ROOT_TINY = float(np.sqrt(TINY))


class GoingRuns(NamedTuple):
    """The runs that are still iterated.

    Attributes
    ----------
    going : (r,) run numbers.
    models : (r k, d).
    sizes : (r,) bounds of the norms of each run's models.
    gaps : (r k,) distances of the models from their hulls.
    current : (r k,) whether the model lies on its hull, up to rounding.
    """

    going: IntArray
    models: FloatArray
    sizes: FloatArray
    gaps: FloatArray
    current: BoolArray


class Remainders(NamedTuple):
    """The clients whose gradients are summed over the data.

    Attributes
    ----------
    labels : (r, m) the labels for which `rest` was made, -1 for none.
    rest : (r k, m) how often the client's gradient is added to each model's descent.
    """

    labels: IntArray
    rest: NDArray[np.int8]


class Scratch(NamedTuple):
    """Buffers of `visit_clients`.

    Attributes
    ----------
    directed : at least R k times the rows of the largest group.
    gathered, product : (R k, d).
    predicted, scaled : at least R k times the rows of the largest client.
    slots, rows : (R k,) int64.
    found : (1, 1) int64.
    bounds : (2, k).
    """

    directed: FloatArray
    gathered: FloatArray
    product: FloatArray
    predicted: FloatArray
    scaled: FloatArray
    slots: IntArray
    rows: IntArray
    found: IntArray
    bounds: FloatArray

    @classmethod
    def empty(cls, n_runs: int, k: int, d: int, group: int, client: int) -> Scratch:
        """Buffers for R runs, where `group` and `client` are the rows of the largest ones."""
        n_models = n_runs * k
        return cls(
            directed=np.empty(n_models * group),
            gathered=np.empty((n_models, d)),
            product=np.empty((n_models, d)),
            predicted=np.empty(n_models * client),
            scaled=np.empty(n_models * client),
            slots=np.empty(n_models, dtype=np.int64),
            rows=np.empty(n_models, dtype=np.int64),
            found=np.empty((1, 1), dtype=np.int64),
            bounds=np.empty((2, k)),
        )


@kernel
def certify(
    listed: IntArray,
    runs: GoingRuns,
    clients: ClientBounds,
    hulls: Hulls,
    forms: LossForms,
    proof: Proof,
    bounds: FloatArray,
) -> None:
    """Find the labels that the bounds prove, and the candidates for the others.

    Parameters
    ----------
    listed : positions of the runs to label.
    runs : their models, as `project` leaves them.
    clients : bounds for the clients.
    hulls, forms : the losses on the hulls.
    proof : output, for the listed runs.
    bounds : (2, k), scratch.
    """
    for pos in listed:
        proof.n_open[pos], proof.radius[pos] = 0, np.inf
        for i in range(clients.norms.shape[0]):
            prove(pos, runs.going[pos], i, clients, hulls, runs.gaps, forms, proof, bounds)


@kernel
def visit_clients(
    data: ClientArrays,
    groups: IntArray,
    new: NewDirections,
    extended: IntArray,
    runs: GoingRuns,
    clients: ClientBounds,
    hulls: Hulls,
    known: KnownProducts,
    forms: LossForms,
    proof: Proof,
    remainders: Remainders,
    scratch: Scratch,
    descent: FloatArray,
) -> int:
    """Extend hulls, label the open clients and add their gradients, in one pass over the data.

    Parameters
    ----------
    data : rows of the m clients.
    groups : (g + 1,) group g holds the clients ``groups[g]:groups[g + 1]``.  The products with new
        directions are made group by group.
    new : new directions of hulls, of which there may be none.
    extended : positions of the runs to certify once their hulls have the new directions.
    runs : the runs, with gaps and coordinates on the hulls that have the new directions.
    clients : bounds for the clients.
    hulls : the hulls.
    known, forms : output.  The products with the new directions are added.
    proof : the candidates of the other runs.  Output: no client of any run has a candidate left,
        and all are labelled.
    remainders : the clients to sum.  `rest` is changed where the labels are no longer those of
        `remainders`, whose labels are not changed.
    scratch : buffers.
    descent : (r k, d), output, to which the sums of the remainders are added.

    Returns
    -------
    The number of pairs of a run and a client that were evaluated.
    """
    features, responses, offsets = data
    n_new, n_pairs = new.hulls.shape[0], 0
    for g in range(groups.shape[0] - 1):
        top, end = offsets[groups[g]], offsets[groups[g + 1]]
        directed = scratch.directed[: n_new * (end - top)].reshape((n_new, end - top))
        if n_new:
            _multiply(new.directions, features[top:end], directed)
        for i in range(groups[g], groups[g + 1]):
            a, z = offsets[i], offsets[i + 1]
            if n_new:
                absorb(i, a, directed[:, a - top : z - top], responses[a:z], new, known, forms)
            for pos in extended:
                prove(
                    pos, runs.going[pos], i, clients, hulls, runs.gaps, forms, proof, scratch.bounds
                )
            n_gathered, n_open = _gather(i, runs, proof, remainders, scratch)
            n_pairs += n_open
            predicted = scratch.predicted[: n_gathered * (z - a)].reshape((n_gathered, z - a))
            if n_gathered:
                _multiply(scratch.gathered[:n_gathered], features[a:z], predicted)
            if n_open:
                _decide(i, predicted, responses[a:z], runs, clients, proof, remainders, scratch)
            n_added = _scale_residuals(
                i, a, predicted, responses[a:z], runs, hulls, known, remainders, scratch
            )
            if n_added:
                residual = scratch.scaled[: n_added * (z - a)].reshape((n_added, z - a))
                product = scratch.product[:n_added]
                np.dot(residual, features[a:z], product)
                for p in range(n_added):
                    target = descent[scratch.rows[p]]
                    for c in range(target.shape[0]):
                        target[c] += product[p, c]
    return n_pairs


@inner_kernel
def _multiply(rows: FloatArray, features: FloatArray, products: FloatArray) -> None:
    """Products of a few rows with the features, (rows, n), while the features are in the cache.

    OpenBLAS is faster where a product is so small that it does not copy its factors.  For clients
    of 100 x 1000 features, twelve rows take 43 ms in one product and 22 ms in two.
    """
    step = _FEW_ROWS if rows.shape[0] <= 3 * _FEW_ROWS else rows.shape[0]
    for p in range(0, rows.shape[0], step):
        np.dot(rows[p : p + step], features.T, products[p : p + step])


@inner_kernel
def _relabel(i: int, pos: int, k: int, labels: IntArray, remainders: Remainders) -> None:
    """Move client i of a run from the set of its former label to that of its label."""
    before, label = remainders.labels[pos, i], labels[pos, i]
    if before != label:
        if before >= 0:
            remainders.rest[pos * k + before, i] -= 1
        remainders.rest[pos * k + label, i] += 1


@inner_kernel
def _gather(
    i: int, runs: GoingRuns, proof: Proof, remainders: Remainders, scratch: Scratch
) -> tuple[int, int]:
    """Gather the models at which client i is evaluated: candidates, and those for its gradients.

    Returns their number, and the number of runs in which the client has candidates.  `slots`
    receives where each model was gathered, -1 for nowhere.  The candidates of a run are gathered
    one after the other.
    """
    n_runs, _, k = proof.candidates.shape
    n, n_open = 0, 0
    for pos in range(n_runs):
        first = n
        for j in range(k):
            row = pos * k + j
            scratch.slots[row] = -1
            if proof.candidates[pos, i, j]:
                scratch.slots[row] = n
                n += 1
        is_open = n > first
        n_open += is_open
        if not is_open:
            _relabel(i, pos, k, proof.labels, remainders)
        for j in range(k):
            row = pos * k + j
            summed = remainders.rest[row, i] != 0 or (is_open and remainders.labels[pos, i] == j)
            if summed and scratch.slots[row] < 0 and not runs.current[row]:
                scratch.slots[row] = n
                n += 1
    for row in range(n_runs * k):
        slot = scratch.slots[row]
        if slot >= 0:
            for c in range(runs.models.shape[1]):
                scratch.gathered[slot, c] = runs.models[row, c]
    return n, n_open


@inner_kernel
def _decide(
    i: int,
    predicted: FloatArray,
    responses: FloatArray,
    runs: GoingRuns,
    clients: ClientBounds,
    proof: Proof,
    remainders: Remainders,
    scratch: Scratch,
) -> None:
    """Label client i in the runs that have candidates as the plain kernel does.

    `predicted` holds the predictions of the gathered models.  The candidates are removed.
    """
    n_runs, _, k = proof.candidates.shape
    norm, blur = clients.norms[i], clients.blurs[i]
    for pos in range(n_runs):
        candidates = proof.candidates[pos, i]
        n, first = 0, 0
        for j in range(k):
            if candidates[j]:
                first = first if n else scratch.slots[pos * k + j]
                n += 1
        if n == 0:
            continue
        label_client(predicted[first : first + n], 0, responses, 0, n, scratch.found)
        chosen = scratch.found[0, 0]
        room = _room(
            predicted[first : first + n], responses, chosen, proof.beyond[pos, i], norm, blur,
            runs.sizes[pos],
        )  # fmt: skip
        proof.radius[pos] = min(proof.radius[pos], room)
        for j in range(k):
            if candidates[j]:
                if chosen == 0:
                    proof.labels[pos, i] = j
                chosen -= 1
                candidates[j] = False
        _relabel(i, pos, k, proof.labels, remainders)


@inner_kernel(fastmath=SUMS)
def _room(
    predicted: FloatArray,
    responses: FloatArray,
    chosen: int,
    beyond: float,
    norm: float,
    blur: float,
    size: float,
) -> float:
    """The distance that the chosen model and another may move, together, before the client prefers
    the other.

    `predicted` are the predictions of the candidates, and `beyond` is a lower bound of the residual
    norms of the other models.  `size` bounds the models' norms.
    """
    own, other = 0.0, beyond
    for j in range(predicted.shape[0]):
        total = 0.0
        for s in range(responses.shape[0]):
            error = responses[s] - predicted[j, s]
            total += error * error
        if j == chosen:
            own = np.sqrt(total)
        else:
            other = np.minimum(other, np.sqrt(total))
    room = other - own - 2.0 * (blur * (own + other + norm * size) + _ROOT_TINY)
    return room / max(norm, 1e-300) if room > 0.0 else 0.0  # 0 for NaN and two infinities


@inner_kernel
def _scale_residuals(
    i: int,
    top: int,
    predicted: FloatArray,
    responses: FloatArray,
    runs: GoingRuns,
    hulls: Hulls,
    known: KnownProducts,
    remainders: Remainders,
    scratch: Scratch,
) -> int:
    """Write the residuals whose products with X_i are the remainder's gradients to `scaled`.

    A model that was gathered has its predictions in `predicted`.  Where a model lies on its hull
    its residual is a combination of known products.  Returns their number.  `rows` receives the
    models' rows.
    """
    k, n, n_added = hulls.counts.shape[1], responses.shape[0], 0
    for row in range(runs.models.shape[0]):
        times = remainders.rest[row, i]
        if times == 0:
            continue
        residual = scratch.scaled[n_added * n : (n_added + 1) * n]
        scale, slot = 2.0 * times / n, scratch.slots[row]
        if slot >= 0:
            for s in range(n):
                residual[s] = scale * (responses[s] - predicted[slot, s])
        else:
            run, j = runs.going[row // k], row % k
            hull = run * k + j
            for s in range(n):
                residual[s] = known.residuals[hull, top + s]
            for q in range(hulls.counts[run, j]):
                along, product = hulls.coords[run, j, q], known.products[hull, q, top : top + n]
                for s in range(n):
                    residual[s] -= along * product[s]
            for s in range(n):
                residual[s] *= scale
        scratch.rows[n_added] = row
        n_added += 1
    return n_added
