r"""IFCA on data without the work whose outcome is known: the same runs as
`trials.ifca.linear.run_ifca`.

Two things make an iteration of the plain kernel costly, the k losses of every client and the
gradients, and both are mostly known beforehand.

**Identities.**  Let r_i(theta) = Y_i - X_i theta.  On the affine hull of the models at which a
client has been evaluated, theta_0 + B c with orthonormal columns B, the squared residual norm is a
small quadratic form,

.. math::

   \lVert r_i(\theta_0 + B c) \rVert^2
     = \lVert r_i(\theta_0) \rVert^2 - 2 c^T h_i + c^T A_i c, \qquad
   h_i = (X_i B)^T r_i(\theta_0), \quad A_i = (X_i B)^T X_i B ,

and off the hull, at distance e, the norm differs from that by at most ||X_i|| e (operator norm).
A model that descends stays very close to the hull of a few of its former positions, as a Krylov
method knows.  So each client gets a lower and an upper bound of each loss for O(q^2) flops,
q <= `HULL`, and where the bounds do not overlap the label is proved.  (With q = 0 this is the bound
of Hamerly and Elkan for k-means.)  The clients that are not proved are evaluated as the plain
kernel does; when they become many, the current models enter the hulls, which costs what evaluating
all would, and a full hull gives up its oldest direction.
Before any of this, a whole run is passed over while its models lie within a radius of the place
where all of its labels were last proved.

**Gradients** of a set of clients come from its normal matrix (`trials.ifca.normal_matrices`),
shared by all runs, once that pays; else from the data.

**The rest of a run** whose labels are proved for all steps to come is linear, and is taken in a few
dozen products, however many steps it has (`trials.ifca.settled`).

What is the same.  Labels are those of the plain kernel at the same models, ties included: every
label is either proved, rounding errors allowed for, or decided by the plain kernel's loop over
its losses.  The gradients are the same sums in another order.  So the runs agree to rounding, as
runs of the plain kernel agree with each other when their number changes: to a few units in the last
place per step while the steps contract, and no longer once an unstable run has amplified its
rounding errors to the size of a margin.

What is not skipped: the first iterations, in which most labels change, and runs whose step is
unstable (their labels keep changing, so that most clients are evaluated in every iteration).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from trials.checks import BoolArray, FloatArray, IntArray
from trials.ifca.linear import (
    _SUMS,
    GROUP_BYTES,
    RUN_DOMAINS,
    IfcaResult,
    _checked_runs,
    _fetch,
    _iterate,
    _label_client,
    _require_dimension,
)
from trials.ifca.normal_matrices import NormalMatrices
from trials.ifca.settled import ClusterSets, SettledRuns, two_largest
from trials.models.clients import ClientData, client_groups
from trials.models.run_status import DIVERGENCE_BOUND
from trials.norms import length, row_lengths
from trials.parameters import Record, validated

HULL = 6
"""Directions of a hull at most; a new one then takes the place of the oldest."""

HULL_BYTES = 2**30
"""What the products of features and directions may hold; hulls have fewer directions beyond."""

# Evaluating all clients for a few runs is bound by reading the data, as evaluating one is.
_PRODUCTS = 0.25
_EXTEND = 1.0
_IDLE = 0.2  # a model this much nearer to its hull than another model of its run is left as it is

_ULP = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)  # sums of squares below may have lost some
_ROOT_TINY = float(np.sqrt(_TINY))
_SQUARED = 1e-140, 1e140  # sizes whose squares are exact


@validated(data=Record(ClientData), **RUN_DOMAINS)
def run_ifca_skipping(
    *,
    data: ClientData,
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    reference: FloatArray | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
) -> IfcaResult:
    """Run `trials.ifca.linear.run_ifca` without the evaluations whose outcome is proved.

    Parameters, result and errors are those of `trials.ifca.linear.run_ifca`.

    Notes
    -----
    Once the labels are stable an iteration costs O(k d^2) flops a run.  It costs O(N k d) flops as
    long as the matrices do not pay.  Once the labels are proved for all steps to come, the rest of
    the run costs as much as a few dozen such iterations.  The last saving does not apply where a
    `reference` asks for the distance after each step.

    Memory: 8 R k N bytes for residuals, at most `HULL_BYTES` for the hulls (or 8 R k N if that is
    more), and at most `trials.ifca.normal_matrices.MATRIX_BYTES` for the matrices.
    """
    starts, step_sizes = _checked_runs(starts, step_sizes, reference, divergence_bound)
    _require_dimension(data, starts)
    skipper = Skipper(data, starts, n_iterations)
    if reference is None:
        scales = step_sizes / data.n_clients
        skipper.settled = SettledRuns(skipper.matrices, scales, divergence_bound)
    result = _iterate(
        skipper.add, data.n_clients, starts, step_sizes, n_iterations, reference, divergence_bound
    )
    if skipper.settled is not None:
        skipper.settled.finish(result.models)
    return result


@validated(data=Record(ClientData))
def operator_norms(data: ClientData) -> FloatArray:
    """Upper bounds of the operator norms of the clients' features, a few per cent too large.

    Returns
    -------
    (m,) bounds; infinity where they overflow.
    """
    norms = np.empty(data.n_clients)
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(data.n_clients):
            bound = _operator_norm(data.features[data.offsets[i] : data.offsets[i + 1]])
            norms[i] = bound * (1.0 + 1e-10) if np.isfinite(bound) else np.inf
    return norms


def _operator_norm(x: FloatArray) -> float:
    """Upper bound of the operator norm of X.

    With K the smaller Gram matrix, :math:`\\lVert X \\rVert^{32} \\le \\operatorname{tr} K^{16} =
    \\lVert K^8 \\rVert_F^2`: three squarings.  The factor is at most the 32nd root of the rank.
    """
    power = x @ x.T if len(x) <= x.shape[1] else x.T @ x
    bound, root = 1.0, 2.0
    for _ in range(3):
        size = float(np.linalg.norm(power))
        if not _SQUARED[0] < size < _SQUARED[1]:  # only of the first power, which is not scaled
            largest = float(np.abs(x).max())
            return largest * _operator_norm(x / largest) if largest > 0.0 else 0.0
        bound *= size ** (1.0 / root)
        power = power / size
        power = power @ power
        root *= 2.0
    return float(bound * np.linalg.norm(power) ** (1.0 / root))


# ------------------------------------------------------------------------------ kernels


@njit(cache=True, nogil=True, fastmath=_SUMS)
def project(
    models: FloatArray,
    runs: IntArray,
    going: IntArray,
    base: FloatArray,
    basis: FloatArray,
    count: IntArray,
    coords: FloatArray,
    rests: FloatArray,
    gaps: FloatArray,
) -> None:
    """Coordinates of the models of `runs` on their hulls, and what is left of them.

    `rests` (R k, d) and `gaps` (R k,) its norms; `runs` are positions in `going`.
    """
    k = count.shape[1]
    for pos in runs:
        run = going[pos]
        for j in range(k):
            row, rest = pos * k + j, rests[pos * k + j]
            for c in range(rest.shape[0]):
                rest[c] = models[row, c] - base[run, j, c]
            for q in range(count[run, j]):
                direction, along = basis[run, j, q], 0.0
                for c in range(rest.shape[0]):
                    along += direction[c] * rest[c]
                for c in range(rest.shape[0]):
                    rest[c] -= along * direction[c]
                coords[run, j, q] = along
            gaps[row] = length(rest)


@njit(cache=True, nogil=True)
def certify(
    runs: IntArray,
    going: IntArray,
    norms: FloatArray,
    blurs: FloatArray,
    base_sizes: FloatArray,
    count: IntArray,
    coords: FloatArray,
    gaps: FloatArray,
    zeroth: FloatArray,
    first: FloatArray,
    second: FloatArray,
    labels: IntArray,
    unsure: BoolArray,
    n_unsure: IntArray,
    radius: FloatArray,
) -> None:
    """Write the labels that the bounds prove, and mark the others in `unsure` (R, m).

    `radius[pos]`: while no two models of the run move by as much together, the labels that are
    proved stay so.  `blurs` (m,) bounds relative rounding errors, `base_sizes` (R, k) model norms.
    """
    k, m = count.shape[1], norms.shape[0]
    lower, upper = np.empty(k), np.empty(k)
    for pos in runs:
        run = going[pos]
        n_unsure[pos], radius[pos] = 0, np.inf
        for i in range(m):
            for j in range(k):
                c, square, along = coords[run, j], zeroth[run, j, i], 0.0
                for q in range(count[run, j]):
                    along += abs(c[q])  # rather than a norm, whose squares may underflow
                    inner = -2.0 * first[run, j, i, q]
                    for s in range(count[run, j]):
                        inner += second[run, j, i, q, s] * c[s]
                    square += c[q] * inner
                size = np.sqrt(zeroth[run, j, i]) + norms[i] * along
                slack = blurs[i] * size * size + _TINY
                gap = gaps[pos * k + j]
                reach = gap + blurs[i] * (gap + base_sizes[run, j] + along)
                reach *= norms[i]
                if abs(square) < np.inf:
                    upper[j] = np.sqrt(max(square, 0.0) + slack) + reach
                    lower[j] = np.sqrt(max(square - slack, 0.0)) - reach
                else:  # the terms may have overflowed where their sum would not
                    upper[j], lower[j] = np.inf, -np.inf
            best = np.argmin(upper)
            margin = np.inf
            for j in range(k):
                if j != best:
                    margin = np.minimum(margin, lower[j] - upper[best])  # which is NaN if one is
            if margin > 0.0 and upper[best] < np.inf:
                labels[pos, i] = best
                unsure[pos, i] = False
                radius[pos] = min(radius[pos], margin / max(norms[i], 1e-300))
            else:
                unsure[pos, i] = True
                n_unsure[pos] += 1


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _absorb(
    predicted: FloatArray,
    column: int,
    n: int,
    q: int,
    filled: int,
    known: FloatArray,
    rest: FloatArray,
    zeroth: float,
    first: FloatArray,
    second: FloatArray,
) -> float:
    """One client's numbers on one hull after the direction `q` (or, at -1, the base) is evaluated.

    `known` (Q, n) keeps the products with the directions; `rest` (n,) holds the responses and
    becomes the residual at the base when q = -1.
    """
    if q < 0:
        total = 0.0
        for s in range(n):
            rest[s] -= predicted[column + s]
            total += rest[s] * rest[s]
        return total
    total = 0.0
    for s in range(n):
        known[q, s] = predicted[column + s]
        total += known[q, s] * rest[s]
    first[q] = total
    for p in range(filled):
        total = 0.0
        for s in range(n):
            total += known[q, s] * known[p, s]
        second[q, p] = total
        second[p, q] = total
    return zeroth


@njit(cache=True, nogil=True)
def retire(
    hull: int,
    q: int,
    along: float,
    offsets: IntArray,
    products: FloatArray,
    residuals: FloatArray,
    zeroth: FloatArray,
    first: FloatArray,
) -> None:
    """Move the base of a hull by `along` times its direction `q`, which can then be replaced."""
    residuals[hull] -= along * products[hull, q]
    for i in range(offsets.shape[0] - 1):
        rest = residuals[hull, offsets[i] : offsets[i + 1]]
        zeroth[hull, i] = np.dot(rest, rest)
        for p in range(products.shape[1]):
            first[hull, i, p] = np.dot(products[hull, p, offsets[i] : offsets[i + 1]], rest)


@njit(cache=True, nogil=True)
def extend(
    features: FloatArray,
    responses: FloatArray,
    offsets: IntArray,
    groups: IntArray,
    directions: FloatArray,
    hulls: IntArray,
    places: IntArray,
    filled: IntArray,
    predictions: FloatArray,
    products: FloatArray,
    residuals: FloatArray,
    zeroth: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> None:
    """Evaluate one new direction of each listed hull at all clients, by GEMMs of client groups.

    `hulls` are numbers r k + j; `places` the columns to fill (-1 where the direction is the model
    from which the hull starts), `filled` the numbers of columns in use with them.  State:
    `products` (R k, Q, N), `residuals` (R k, N) at the bases, `zeroth` (R k, m), `first`
    (R k, m, Q), `second` (R k, m, Q, Q).
    """
    n_rows = directions.shape[0]
    for g in range(groups.shape[0] - 1):
        top, end = offsets[groups[g]], offsets[groups[g + 1]]
        predicted = predictions[: n_rows * (end - top)].reshape((n_rows, end - top))
        _fetch(features[top:end], predictions)
        np.dot(directions, features[top:end].T, predicted)
        for row in range(n_rows):
            hull, q = hulls[row], places[row]
            for i in range(groups[g], groups[g + 1]):
                a, z = offsets[i], offsets[i + 1]
                if q < 0:
                    residuals[hull, a:z] = responses[a:z]
                zeroth[hull, i] = _absorb(
                    predicted[row], a - top, z - a, q, filled[row], products[hull, :, a:z],
                    residuals[hull, a:z], zeroth[hull, i], first[hull, i], second[hull, i],
                )  # fmt: skip


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _room(
    predicted: FloatArray,
    first: int,
    responses: FloatArray,
    k: int,
    chosen: int,
    norm: float,
    blur: float,
    size: float,
) -> float:
    """How far the chosen model and another may move, together, before the client prefers that one.

    `predicted` as `_label_client` has it, from row `first` on; `size` bounds the models' norms.
    """
    own, other = 0.0, np.inf
    for j in range(k):
        total = 0.0
        for s in range(responses.shape[0]):
            error = responses[s] - predicted[first + j, s]
            total += error * error
        if j == chosen:
            own = np.sqrt(total)
        else:
            other = np.minimum(other, np.sqrt(total))
    room = other - own - 2.0 * (blur * (own + other + norm * size) + _ROOT_TINY)
    return room / max(norm, 1e-300) if room > 0.0 else 0.0  # 0 for NaN and two infinities


@njit(cache=True, nogil=True)
def label_pairs(
    features: FloatArray,
    responses: FloatArray,
    offsets: IntArray,
    norms: FloatArray,
    blurs: FloatArray,
    firsts: IntArray,
    runs: IntArray,
    models: FloatArray,
    sizes: FloatArray,
    k: int,
    gathered: FloatArray,
    predictions: FloatArray,
    found: IntArray,
    labels: IntArray,
    radius: FloatArray,
) -> None:
    """Labels of listed clients and runs as the plain kernel finds them, from all k losses.

    Client i is evaluated for the runs ``runs[firsts[i]:firsts[i + 1]]``, whose `radius` shrinks to
    what it allows.  `sizes` (R,) are the largest norms of the runs' models.
    """
    for i in range(offsets.shape[0] - 1):
        a, z = offsets[i], offsets[i + 1]
        n_runs = firsts[i + 1] - firsts[i]
        if n_runs == 0:
            continue
        for p in range(n_runs):
            run = runs[firsts[i] + p]
            gathered[p * k : (p + 1) * k] = models[run * k : (run + 1) * k]
        predicted = predictions[: n_runs * k * (z - a)].reshape((n_runs * k, z - a))
        np.dot(gathered[: n_runs * k], features[a:z].T, predicted)
        _label_client(predicted, 0, responses[a:z], 0, k, found[:n_runs])
        for p in range(n_runs):
            run = runs[firsts[i] + p]
            labels[run, i] = found[p, 0]
            room = _room(
                predicted, p * k, responses[a:z], k, found[p, 0], norms[i], blurs[i], sizes[run]
            )
            radius[run] = min(radius[run], room)


@njit(cache=True, nogil=True)
def add_listed_gradients(
    features: FloatArray,
    responses: FloatArray,
    offsets: IntArray,
    firsts: IntArray,
    rows: IntArray,
    signs: FloatArray,
    models: FloatArray,
    hulls: IntArray,
    current: BoolArray,
    products: FloatArray,
    residuals: FloatArray,
    count: IntArray,
    coords: FloatArray,
    gathered: FloatArray,
    predictions: FloatArray,
    scaled: FloatArray,
    product: FloatArray,
    descent: FloatArray,
) -> None:
    """Add (or, by a negative sign, subtract) listed clients' descents at listed models.

    Client i serves ``rows[firsts[i]:firsts[i + 1]]`` of `models`.  Where the model lies on its hull
    (`current`) the residual is a combination of known ones; else it takes a product with X_i.
    """
    for i in range(offsets.shape[0] - 1):
        a, z = offsets[i], offsets[i + 1]
        n_rows = firsts[i + 1] - firsts[i]
        if n_rows == 0:
            continue
        n_open = 0
        for p in range(n_rows):
            row = rows[firsts[i] + p]
            if not current[row]:
                gathered[n_open] = models[row]
                n_open += 1
        predicted = predictions[: n_open * (z - a)].reshape((n_open, z - a))
        if n_open > 0:
            np.dot(gathered[:n_open], features[a:z].T, predicted)
        residual = scaled[: n_rows * (z - a)].reshape((n_rows, z - a))
        n_open = 0
        for p in range(n_rows):
            row = rows[firsts[i] + p]
            scale = 2.0 * signs[firsts[i] + p] / (z - a)
            if current[row]:
                hull = hulls[row]
                for s in range(z - a):
                    residual[p, s] = residuals[hull, a + s]
                for q in range(count[hull]):
                    along, known = coords[hull, q], products[hull, q]
                    for s in range(z - a):
                        residual[p, s] -= along * known[a + s]
                for s in range(z - a):
                    residual[p, s] *= scale
            else:
                for s in range(z - a):
                    residual[p, s] = scale * (responses[a + s] - predicted[n_open, s])
                n_open += 1
        np.dot(residual, features[a:z], product[:n_rows])
        for p in range(n_rows):
            target = descent[rows[firsts[i] + p]]
            for c in range(target.shape[0]):
                target[c] += product[p, c]


# ------------------------------------------------------------------------------ driver


class Skipper:
    """What is known about R runs on one data set, and the callback that uses it.

    Attributes
    ----------
    n_extensions, n_evaluations : rows of models evaluated at all clients, and (client, run)
        pairs evaluated alone; the plain kernel evaluates R k rows an iteration.
    """

    def __init__(self, data: ClientData, starts: FloatArray, n_iterations: int) -> None:
        n_runs, k, d = starts.shape
        n_rows, m = len(data.features), data.n_clients
        sizes = np.diff(data.offsets)
        self.data, self.k, self.n_iterations = data, k, n_iterations
        self.arrays = (data.features, data.responses, data.offsets)
        self.groups = client_groups(data.offsets, GROUP_BYTES // (8 * (d + n_runs * k)))
        self.norms = operator_norms(data)
        self.matrices = NormalMatrices(data, self.norms)
        # Relative rounding errors, those of the plain kernel included: d + 2 a term of a GEMM
        # (whose row norms are at most the root of the rank times the operator norm), n a sum of
        # squares, HULL^2 a form, two each time that a base moves.
        roundings = sizes + (d + 2) * np.sqrt(np.minimum(sizes, d)) + HULL**2 + 2 * n_iterations
        self.blurs = 4.0 * _ULP * roundings
        width = max(1, min(HULL, d, HULL_BYTES // (8 * n_runs * k * n_rows)))
        self.base = np.zeros((n_runs, k, d))
        self.basis = np.empty((n_runs, k, width, d))
        self.count = np.full((n_runs, k), -1, dtype=np.int64)
        self.oldest = np.zeros((n_runs, k), dtype=np.int64)
        self.base_sizes = np.zeros((n_runs, k))
        self.coords = np.zeros((n_runs, k, width))
        self.products = np.empty((n_runs * k, width, n_rows))
        self.residuals = np.empty((n_runs * k, n_rows))
        self.zeroth = np.empty((n_runs, k, m))
        self.first = np.empty((n_runs, k, m, width))
        self.second = np.empty((n_runs, k, m, width, width))
        self.proved = np.zeros((n_runs, k, d))
        self.radius = np.zeros(n_runs)
        self.spent = np.zeros(n_runs)
        largest = max(int(np.diff(data.offsets[self.groups]).max()), int(sizes.max()))
        self.predictions = np.empty(n_runs * k * largest)
        self.scaled = np.empty(n_runs * k * int(sizes.max()))
        self.gathered = np.empty((n_runs * k, d))
        self.product = np.empty((n_runs * k, d))
        self.found = np.empty((n_runs, 1), dtype=np.int64)
        self.planned: tuple[IntArray, int] | None = None
        self.settled: SettledRuns | None = None
        self.n_extensions = self.n_evaluations = 0

    def add(
        self,
        iteration: int,
        going: IntArray,
        models: FloatArray,
        labels: IntArray,
        descent: FloatArray,
    ) -> BoolArray | None:
        """Label the clients, then add their gradients, as the callback of the server's loop.

        Returns a mask of the runs that are settled, or None where runs are not settled early.
        """
        current, moved = self._label(going, models, labels)
        self._descend(going, models, labels, current, descent)
        settled = None
        if self.settled is not None:
            settled = self.settled.take(
                going, models, descent, ClusterSets(self.members, self.terms, self.rest),
                moved, self.radius[going], self.n_iterations - iteration,
            )  # fmt: skip
        if self.rows.size:  # last, because the plan is not true of a cache that has dropped some
            self.matrices.note_gradients(self.members, self.rest, self.n_iterations - iteration - 1)
        return settled

    def _lengths(self, rows: FloatArray) -> FloatArray:
        """Norms of (r k, d) rows, (r, k)."""
        lengths = np.empty(len(rows))
        row_lengths(rows, lengths)
        return lengths.reshape(-1, self.k)

    def _label(
        self, going: IntArray, models: FloatArray, labels: IntArray
    ) -> tuple[BoolArray, FloatArray]:
        """Fill in `labels`.

        Returns which rows of models lie on their hulls, and (r, k) how far the models are from
        where all labels of their runs were last proved.
        """
        k, m = self.k, self.data.n_clients
        current = np.zeros(len(models), dtype=np.bool_)
        here = models.reshape(len(going), k, -1)
        moved = self._lengths(models - self.proved[going].reshape(models.shape))
        top = two_largest(moved)  # of the chosen model and another
        near = top * (1.0 + 1e-6) < self.radius[going]
        runs = np.flatnonzero(~near)
        if not runs.size:
            return current, moved
        rests, gaps = np.empty_like(models), np.zeros(len(models))
        unsure = np.zeros(labels.shape, dtype=np.bool_)
        n_unsure, radius = np.zeros(len(going), dtype=np.int64), np.zeros(len(going))

        def prove(runs: IntArray) -> None:
            project(
                models, runs, going, self.base, self.basis, self.count, self.coords, rests, gaps
            )
            certify(
                runs, going, self.norms, self.blurs, self.base_sizes, self.count, self.coords,
                gaps, self.zeroth, self.first, self.second, labels, unsure, n_unsure, radius,
            )  # fmt: skip

        started = (self.count[going[runs]] >= 0).all(axis=1)
        prove(runs[started])
        n_unsure[runs[~started]] = 2 * m  # worth extending, however few the runs
        self.spent[going[runs]] += n_unsure[runs]
        full = self._worth_extending(going, runs)
        if full.size:
            self._extend(going, models, full, rests, gaps)
            self.spent[going[full]] = 0.0
            prove(full)
            rows = (full[:, None] * k + np.arange(k)).ravel()
            sizes = (
                self.base_sizes[going[full]].ravel()
                + np.abs(self.coords[going[full]]).sum(axis=2).ravel()
            )
            current[rows] = gaps[rows] <= 16.0 * _ULP * sizes
        firsts, pairs = _by_client(unsure)
        if pairs.size:
            self.n_evaluations += pairs.size
            sizes = self._lengths(models).max(axis=1)
            label_pairs(
                *self.arrays, self.norms, self.blurs, firsts, pairs, models, sizes, k,
                self.gathered, self.predictions, self.found, labels, radius,
            )  # fmt: skip
        self.proved[going[runs]] = here[runs]
        self.radius[going[runs]] = radius[runs]
        moved[runs] = 0.0
        return current, moved

    def _worth_extending(self, going: IntArray, runs: IntArray) -> IntArray:
        """Those runs whose clients cost more to evaluate one by one than all at once.

        Reading all data costs about m evaluations of a pair, whatever the number of runs, and the
        products about `_PRODUCTS` m a run.
        """
        spent = self.spent[going[runs]] / self.data.n_clients
        order = np.argsort(-spent, kind="stable")
        worth = np.cumsum(spent[order]) >= _EXTEND * (1.0 + _PRODUCTS * np.arange(1, len(runs) + 1))
        worth &= spent[order] >= _EXTEND * _PRODUCTS
        return runs[np.sort(order[: np.flatnonzero(worth)[-1] + 1])] if worth.any() else runs[:0]

    def _extend(
        self,
        going: IntArray,
        models: FloatArray,
        runs: IntArray,
        rests: FloatArray,
        gaps: FloatArray,
    ) -> None:
        """Let the hulls of the runs contain their current models."""
        n_runs, k, m = self.zeroth.shape
        width = self.coords.shape[2]
        state = (self.products, self.residuals, self.zeroth.reshape(n_runs * k, m),
                 self.first.reshape(n_runs * k, m, width))  # fmt: skip
        directions, hulls, places, filled = [], [], [], []
        for pos in runs:
            run = going[pos]
            for j in range(k):
                row, q = pos * k + j, int(self.count[run, j])
                size = float(length(models[row]))
                if q < 0 or not np.isfinite(gaps[row]):
                    self.base[run, j], self.base_sizes[run, j] = models[row], size
                    self.count[run, j], direction, q = 0, models[row], -1
                elif gaps[row] <= max(4.0 * _ULP * size, _IDLE * gaps[pos * k : pos * k + k].max()):
                    continue
                else:
                    known = self.basis[run, j, :q]
                    direction = rests[row] / gaps[row]
                    direction = direction - (known @ direction) @ known  # once more, for rounding
                    left = float(np.linalg.norm(direction))
                    if not left > 0.5:
                        continue  # nothing but rounding: the hull is all of the space
                    direction /= left
                    if q == width:
                        q = self.oldest[run, j]
                        along = self.coords[run, j, q]
                        self.base[run, j] += along * self.basis[run, j, q]
                        self.base_sizes[run, j] += abs(along)  # rounding errors of a base add up
                        self.oldest[run, j] = (q + 1) % width
                        retire(run * k + j, q, along, self.data.offsets, *state)
                    self.basis[run, j, q] = direction
                    self.count[run, j] = max(q + 1, int(self.count[run, j]))
                directions.append(direction)
                hulls.append(run * k + j)
                places.append(q)
                filled.append(int(self.count[run, j]))
        self.n_extensions += len(hulls)
        if hulls:
            extend(
                *self.arrays, self.groups, np.array(directions), np.array(hulls), np.array(places),
                np.array(filled), self.predictions, *state,
                self.second.reshape(n_runs * k, m, width, width),
            )  # fmt: skip

    def _descend(
        self,
        going: IntArray,
        models: FloatArray,
        labels: IntArray,
        current: BoolArray,
        descent: FloatArray,
    ) -> None:
        """Add the clients' descents: by normal matrices, and client by client for the rest."""
        k = self.k
        if (
            self.planned is None
            or self.planned[1] != self.matrices.version
            or not np.array_equal(self.planned[0], labels)
        ):
            members = labels[:, None, :] == np.arange(k)[:, None]
            self.members = members.reshape(len(models), -1)
            self.terms, self.rest = self.matrices.plan(self.members)
            self.matrix_rows = [
                (b, np.flatnonzero(signs), signs[signs != 0][:, None].astype(np.float64))
                for b, signs in enumerate(self.terms.T)
                if signs.any()
            ]
            self.planned = (labels.copy(), self.matrices.version)
            self.firsts, self.rows = _by_client(self.rest)
            clients = np.repeat(np.arange(self.data.n_clients), np.diff(self.firsts))
            self.signs = self.rest[self.rows, clients].astype(np.float64)
        for b, rows, signs in self.matrix_rows:
            vector, matrix = self.matrices.vectors[b], self.matrices.matrices[b]
            descent[rows] += signs * (vector - models[rows] @ matrix)
        if self.rows.size:
            n_runs = len(self.count)
            hulls = (going[:, None] * k + np.arange(k)).ravel()
            add_listed_gradients(
                *self.arrays, self.firsts, self.rows, self.signs, models, hulls, current,
                self.products, self.residuals, self.count.reshape(-1),
                self.coords.reshape(n_runs * k, -1), self.gathered, self.predictions,
                self.scaled, self.product, descent,
            )  # fmt: skip


def _by_client(marks: np.ndarray) -> tuple[IntArray, IntArray]:
    """List the rows of the non-zero entries of (rows, m) `marks`, client after client.

    Returns (firsts, rows): client i has the rows ``rows[firsts[i]:firsts[i + 1]]``.
    """
    clients, rows = np.nonzero(marks.T)
    firsts = np.searchsorted(clients, np.arange(marks.shape[1] + 1))
    return firsts.astype(np.int64), rows.astype(np.int64)
