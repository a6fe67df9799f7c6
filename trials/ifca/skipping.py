r"""IFCA on data without the work whose outcome is known.  The runs are those of
`trials.ifca.linear.run_ifca`.

An iteration of the plain kernel spends its time on the k losses of every client and on the
gradients.  Most of both follows from earlier iterations.

**Identities.**  Let r_i(theta) = Y_i - X_i theta.  Consider the affine hull of the models at which
a client has been evaluated, theta_0 + B c with orthonormal columns B.  There the squared residual
norm is a small quadratic form,

.. math::

   \lVert r_i(\theta_0 + B c) \rVert^2
     = \lVert r_i(\theta_0) \rVert^2 - 2 c^T h_i + c^T A_i c, \qquad
   h_i = (X_i B)^T r_i(\theta_0), \quad A_i = (X_i B)^T X_i B ,

At a distance e from the hull, the norm differs from that by at most ||X_i|| e (operator norm).  A
model that descends stays very close to the hull of a few of its former positions, as in Krylov
methods.  So O(q^2) flops, q <= `HULL`, give each client a lower and an upper bound of each loss.
Where the bounds do not overlap the label is proved.  (With q = 0 this is the bound of Hamerly and
Elkan for k-means.)  The clients that are not proved are evaluated as the plain kernel does.  When
they become many, the current models are added to the hulls.  This costs as much as evaluating all
clients.  A full hull drops its oldest direction.  Before any of this, a whole run is skipped while
its models lie within a radius of the place where all of its labels were last proved.

**Gradients** of a set of clients come from its normal matrix (`trials.ifca.normal_matrices`) once
that saves time, and otherwise from the data.  All runs share the matrices.

**The rest of a run** whose labels are proved for all later steps is linear.  It is computed in a
few dozen products for any number of steps (`trials.ifca.settled`).

Agreement.  Labels are those of the plain kernel at the same models, ties included.  Every label is
either proved, with rounding errors allowed for, or decided by the plain kernel's loop over its
losses.  The gradients are the same sums in another order.  So the runs agree to rounding, like runs
of the plain kernel in groups of different sizes.  While the steps contract, they agree to a few
units in the last place per step.  They no longer agree once an unstable run has amplified its
rounding errors to the size of a margin.

Two kinds of work are not skipped: the first iterations, in which most labels change, and runs with
an unstable step.  Their labels keep changing, so most clients are evaluated in every iteration.
"""

from __future__ import annotations

import numpy as np

from trials.checks import BoolArray, FloatArray, IntArray
from trials.ifca.linear import (
    GROUP_BYTES,
    RUN_DOMAINS,
    IfcaResult,
    Observer,
    _checked_runs,
    _iterate,
    _require_dimension,
)
from trials.ifca.normal_matrices import NormalMatrices
from trials.ifca.settled import ClusterSets, SettledRuns, two_largest
from trials.ifca.skipping_kernels import (
    GradientScratch,
    KnownProducts,
    ListedRows,
    LossForms,
    NewDirections,
    PairScratch,
    Proof,
    add_listed_gradients,
    certify,
    extend,
    label_pairs,
    project,
    retire,
)
from trials.models.clients import ClientData, client_groups
from trials.models.run_status import DIVERGENCE_BOUND
from trials.norms import length, row_lengths
from trials.parameters import Function, Maybe, Record, validated

HULL = 6
"""Largest number of directions of a hull.  A further one takes the place of the oldest."""

HULL_BYTES = 2**30
"""Largest memory of the products of features and directions.

Hulls get fewer directions where they would need more.
"""

# The time to evaluate all clients for a few runs is that of reading the data, as for one run.
_PRODUCTS = 0.25
_EXTEND = 1.0
_IDLE = 0.2  # a model this much nearer to its hull than another model of its run is left as it is

_ULP = float(np.finfo(np.float64).eps)
_SQUARED = 1e-140, 1e140  # sizes whose squares are exact


@validated(data=Record(ClientData), observe=Maybe(Function()), **RUN_DOMAINS)
def run_ifca_skipping(
    *,
    data: ClientData,
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    reference: FloatArray | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
    observe: Observer | None = None,
) -> IfcaResult:
    """Run `trials.ifca.linear.run_ifca` without the evaluations whose outcome is proved.

    Parameters, result and errors are those of `trials.ifca.linear.run_ifca`, and one is added:

    Parameters
    ----------
    observe : ``observe(iteration, runs, models, labels)`` is called before each iteration.  `runs`
        (r,) are the numbers of the runs that are neither diverged nor settled, `models` is (r, k,
        d), and `labels` (r, m) are those of the iteration before.  The arrays are buffers: copy
        what is kept.

    Raises
    ------
    InvalidParameter : as for `trials.ifca.linear.run_ifca`.

    Notes
    -----
    Once the labels are stable an iteration costs O(k d^2) flops a run.  It costs O(N k d) flops as
    long as matrices would not save time.  Once the labels are proved for all later steps, the rest
    of the run costs as much as a few dozen such iterations.  The last saving does not apply where a
    `reference` asks for the distance after each step.

    Memory: 8 R k N bytes for residuals, at most `HULL_BYTES` for the hulls (or 8 R k N if that is
    more), and at most `trials.ifca.normal_matrices.MATRIX_BYTES` for the matrices.

    Examples
    --------
    The labels and the models are those of `trials.ifca.linear.run_ifca`:

    >>> import numpy as np
    >>> from trials.models.clients import ClientData
    >>> rng = np.random.default_rng(0)
    >>> theta_star = np.array([[2.0, 0.0], [-2.0, 1.0]])
    >>> x = rng.standard_normal((20, 30, 2))
    >>> y = (x * theta_star[np.arange(20) % 2, None]).sum(axis=2)
    >>> found = run_ifca_skipping(
    ...     data=ClientData.equal(x, y), starts=theta_star[None] + 0.3, step_sizes=[0.5],
    ...     n_iterations=60, reference=theta_star,
    ... )
    >>> bool(found.distances[-1, 0] < 1e-9)
    True
    """
    starts, step_sizes = _checked_runs(starts, step_sizes, reference, divergence_bound)
    _require_dimension(data, starts)
    skipper = Skipper(data, starts, n_iterations)
    if reference is None:
        scales = step_sizes / data.n_clients
        skipper.settled = SettledRuns(skipper.matrices, scales, divergence_bound)
    result = _iterate(
        skipper.add, data.n_clients, starts, step_sizes, n_iterations, reference, divergence_bound,
        observe,
    )  # fmt: skip
    if skipper.settled is not None:
        skipper.settled.finish(result.models)
    return result


@validated(data=Record(ClientData))
def operator_norms(data: ClientData) -> FloatArray:
    """Upper bounds of the operator norms of the clients' features, a few per cent too large.

    Returns
    -------
    (m,) bounds, infinity where they overflow.
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


class Skipper:
    """Losses, labels and matrices known about R runs on one data set, and the callback that uses
    them.

    Attributes
    ----------
    n_extensions, n_evaluations : rows of models evaluated at all clients, and (client, run) pairs
        evaluated alone.  The plain kernel evaluates R k rows an iteration.
    """

    def __init__(self, data: ClientData, starts: FloatArray, n_iterations: int) -> None:
        n_runs, k, d = starts.shape
        n_rows, m = len(data.features), data.n_clients
        sizes = np.diff(data.offsets)
        self.data, self.k, self.n_iterations = data, k, n_iterations
        self.arrays = data.arrays
        self.groups = client_groups(data.offsets, GROUP_BYTES // (8 * (d + n_runs * k)))
        self.norms = operator_norms(data)
        self.matrices = NormalMatrices(data, self.norms)
        # Relative rounding errors, those of the plain kernel included.  A term of a GEMM has d + 2,
        # where the row norms are at most the root of the rank times the operator norm.  A sum of
        # squares has n, a form HULL^2, and each move of a base two.
        roundings = sizes + (d + 2) * np.sqrt(np.minimum(sizes, d)) + HULL**2 + 2 * n_iterations
        self.blurs = 4.0 * _ULP * roundings
        width = max(1, min(HULL, d, HULL_BYTES // (8 * n_runs * k * n_rows)))
        self.base = np.zeros((n_runs, k, d))
        self.basis = np.empty((n_runs, k, width, d))
        self.count = np.full((n_runs, k), -1, dtype=np.int64)
        self.oldest = np.zeros((n_runs, k), dtype=np.int64)
        self.base_sizes = np.zeros((n_runs, k))
        self.coords = np.zeros((n_runs, k, width))
        self.known = KnownProducts(
            np.empty((n_runs * k, width, n_rows)), np.empty((n_runs * k, n_rows))
        )
        self.forms = LossForms(
            np.empty((n_runs, k, m)), np.empty((n_runs, k, m, width)),
            np.empty((n_runs, k, m, width, width)),
        )  # fmt: skip
        self.proved = np.zeros((n_runs, k, d))
        self.radius = np.zeros(n_runs)
        self.spent = np.zeros(n_runs)
        largest = max(int(np.diff(data.offsets[self.groups]).max()), int(sizes.max()))
        self.predictions = np.empty(n_runs * k * largest)
        gathered = np.empty((n_runs * k, d))
        self.pair_scratch = PairScratch(
            gathered, self.predictions, np.empty((n_runs, 1), dtype=np.int64)
        )
        self.gradient_scratch = GradientScratch(
            gathered, self.predictions, np.empty(n_runs * k * int(sizes.max())),
            np.empty((n_runs * k, d)),
        )  # fmt: skip
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
        if self.listed.rows.size:
            # This comes last, because the plan no longer holds once the cache has dropped a matrix.
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
        proof = Proof(labels, unsure, n_unsure, radius)

        def prove(runs: IntArray) -> None:
            project(
                models, runs, going, self.base, self.basis, self.count, self.coords, rests, gaps
            )
            certify(
                runs, going, self.norms, self.blurs, self.base_sizes, self.count, self.coords,
                gaps, self.forms, proof,
            )  # fmt: skip

        started = (self.count[going[runs]] >= 0).all(axis=1)
        prove(runs[started])
        n_unsure[runs[~started]] = 2 * m  # extending saves time for any number of runs
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
                self.arrays, self.norms, self.blurs, firsts, pairs, models, sizes, k,
                self.pair_scratch, labels, radius,
            )  # fmt: skip
        self.proved[going[runs]] = here[runs]
        self.radius[going[runs]] = radius[runs]
        moved[runs] = 0.0
        return current, moved

    def _worth_extending(self, going: IntArray, runs: IntArray) -> IntArray:
        """Those runs whose clients cost more to evaluate one by one than all at once.

        Reading all data costs about m evaluations of a pair, for any number of runs, and the
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
        n_runs, k, width = self.coords.shape
        forms = LossForms(*(form.reshape(n_runs * k, *form.shape[2:]) for form in self.forms))
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
                        retire(run * k + j, q, along, self.data.offsets, self.known, forms)
                    self.basis[run, j, q] = direction
                    self.count[run, j] = max(q + 1, int(self.count[run, j]))
                directions.append(direction)
                hulls.append(run * k + j)
                places.append(q)
                filled.append(int(self.count[run, j]))
        self.n_extensions += len(hulls)
        if hulls:
            extend(
                self.arrays, self.groups,
                NewDirections(*map(np.array, (directions, hulls, places, filled))),
                self.predictions, self.known, forms,
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
            firsts, rows = _by_client(self.rest)
            clients = np.repeat(np.arange(self.data.n_clients), np.diff(firsts))
            self.listed = ListedRows(firsts, rows, self.rest[rows, clients].astype(np.float64))
        for b, rows, signs in self.matrix_rows:
            vector, matrix = self.matrices.vectors[b], self.matrices.matrices[b]
            descent[rows] += signs * (vector - models[rows] @ matrix)
        if self.listed.rows.size:
            n_runs = len(self.count)
            hulls = (going[:, None] * k + np.arange(k)).ravel()
            add_listed_gradients(
                self.arrays, self.listed, models, hulls, current, self.known,
                self.count.reshape(-1), self.coords.reshape(n_runs * k, -1),
                self.gradient_scratch, descent,
            )  # fmt: skip


def _by_client(marks: np.ndarray) -> tuple[IntArray, IntArray]:
    """List the rows of the non-zero entries of (rows, m) `marks`, client after client.

    Returns (firsts, rows): client i has the rows ``rows[firsts[i]:firsts[i + 1]]``.
    """
    clients, rows = np.nonzero(marks.T)
    firsts = np.searchsorted(clients, np.arange(marks.shape[1] + 1))
    return firsts.astype(np.int64), rows.astype(np.int64)
