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
Elkan for k-means.)  A client that is not proved is evaluated at the models whose bounds overlap.
Its label is the plain kernel's choice among them.  When such clients become many, the current
models are added to the hulls.  This costs as much as evaluating all clients.  A full hull drops its
oldest direction.  Before any of this, a whole run is skipped while its models lie within a radius
of the place where all of its labels were last proved.

**Gradients** of a set of clients come from its normal matrix (`trials.ifca.normal_matrices`) once
that saves time, and otherwise from the data.  All runs share the matrices.

**One pass.**  New directions, open labels and gradients of a client are computed one after the
other while its features are in the cache (`trials.ifca.skipping_kernels.visit_clients`).

**The rest of a run** whose labels are proved for all later steps is linear.  It is computed in a
few dozen products for any number of steps (`trials.ifca.settled`).

Agreement.  Labels are those of the plain kernel at the same models, ties included.  Every label is
either proved, with rounding errors allowed for, or decided by the plain kernel's loop over its
losses.  The gradients are the same sums in another order.  So the runs agree to rounding, like runs
of the plain kernel in groups of different sizes.  While the steps contract, they agree to a few
units in the last place per step.  They no longer agree once an unstable run has amplified its
rounding errors to the size of a margin.

**Start.**  What the proofs need costs about as much as some of the first iterations: norms, hulls,
matrices.  So the plain kernel makes these iterations, as long as labels change (`Switch`).
Everything that is spent for later savings is paid from what was saved before, and from a small
share of the plain kernel's work.  The decision goes by counts of work (`trials.ifca.work`), and is
the same on every machine.

Runs with an unstable step save little.  Their labels keep changing, so most clients are evaluated
in every iteration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trials.checks import BoolArray, FloatArray, IntArray, InvalidParameter
from trials.ifca.linear import (
    GROUP_BYTES,
    RUN_DOMAINS,
    IfcaResult,
    Observer,
    PlainPass,
    _check_runs,
    _iterate,
    _require_dimension,
)
from trials.ifca.loss_hulls import (
    ClientBounds,
    Hulls,
    KnownProducts,
    LossForms,
    NewDirections,
    Proof,
    project,
    retire,
)
from trials.ifca.normal_matrices import NormalMatrices
from trials.ifca.settled import ClusterSets, SettledRuns, two_largest
from trials.ifca.skipping_kernels import GoingRuns, Remainders, Scratch, certify, visit_clients
from trials.ifca.work import CALL, EXCESS, PROOF, READ, Ledger, norm_work, plain_work
from trials.models.clients import ClientData, client_groups
from trials.models.run_status import DIVERGENCE_BOUND
from trials.norms import length, row_lengths
from trials.parameters import Function, Maybe, RealOrInfinity, Record, validated

HULL = 6
"""Largest number of directions of a hull.  A further one takes the place of the oldest."""

HULL_BYTES = 2**30
"""Largest memory of the products of features and directions.

Hulls get fewer directions where they would need more.
"""

# The time to evaluate all clients for a few runs is that of reading the data, as for one run.
_PRODUCTS = 0.25
_EXTEND = 1.0
# Work on a row in a pass: to read it, for a new direction, for the gradient of a model on its hull
# and of another one.  Least squares over 61 passes, within 16 %.
_PASS, _NEW, _KNOWN, _UNKNOWN = 10.0, 1.6, 0.9, 2.2
_RATE = 1.3  # of such work, over that in the large products of the plain kernel
_MATRIX = 10.0  # models whose product with a matrix takes as long as to read it
_CAUTION = 2.0  # a run is given to the skipper if so many times the price is at hand
_CALM = 0.05  # largest share of clients with new labels of a run whose labels rest
_IDLE = 0.2  # a model this much nearer to its hull than another model of its run is left as it is

_ULP = float(np.finfo(np.float64).eps)
_SQUARED = 1e-140, 1e140  # sizes whose squares are exact


@validated(
    data=Record(ClientData), observe=Maybe(Function()), excess=RealOrInfinity(), **RUN_DOMAINS
)
def run_ifca_skipping(
    *,
    data: ClientData,
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    reference: FloatArray | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
    observe: Observer | None = None,
    excess: float = EXCESS,
) -> IfcaResult:
    """Run `trials.ifca.linear.run_ifca` without the evaluations whose outcome is proved.

    Parameters, result and errors are those of `trials.ifca.linear.run_ifca`, and two are added:

    Parameters
    ----------
    observe : ``observe(iteration, runs, models, labels)`` is called before each iteration.  `runs`
        (r,) are the numbers of the runs that are neither diverged nor settled, `models` is (r, k,
        d), and `labels` (r, m) are those of the iteration before.  The arrays are buffers: copy
        what is kept.
    excess : the share of the plain kernel's work so far by which this function's work may exceed it
        after any iteration, by the counts of `trials.ifca.work`.  The plain kernel makes the first
        iterations, and a run leaves it once its labels rest and the saved-up share pays for that.
        Infinity leaves it at once.  That takes less time in all where the runs are long, and up to
        three times as much at first.

    Raises
    ------
    InvalidParameter : as for `trials.ifca.linear.run_ifca`, and for a negative `excess`.

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
    if excess < 0.0:
        raise InvalidParameter(f"excess={excess:g} must be >= 0")
    starts, step_sizes = _check_runs(starts, step_sizes, reference, divergence_bound)
    _require_dimension(data, starts)
    switch = Switch(
        data, starts, n_iterations, excess, step_sizes if reference is None else None,
        divergence_bound,
    )  # fmt: skip
    result = _iterate(
        switch.add, data.n_clients, starts, step_sizes, n_iterations, reference, divergence_bound,
        observe,
    )  # fmt: skip
    if switch.skipper is not None and switch.skipper.settled is not None:
        switch.skipper.settled.finish(result.models)
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
    """Upper bound of the operator norm of X (n, d).

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


class Switch:
    """The callback of the server's loop that gives each run to the plain kernel or to a skipper.

    Parameters
    ----------
    data, starts, n_iterations, excess, divergence_bound : those of `run_ifca_skipping`.
    step_sizes : (R, k), or None where runs are not settled early.

    Attributes
    ----------
    skipper : None until the first run is given to it.
    ledger : the work so far.
    """

    def __init__(
        self,
        data: ClientData,
        starts: FloatArray,
        n_iterations: int,
        excess: float,
        step_sizes: FloatArray | None,
        divergence_bound: float,
    ) -> None:
        self.data, self.starts, self.n_iterations = data, starts, n_iterations
        self.step_sizes, self.divergence_bound = step_sizes, divergence_bound
        self.ledger, self.plain = Ledger(excess), PlainPass(data, starts)
        self.skipper: Skipper | None = None
        self.changed = np.full(len(starts), data.n_clients)
        self.inside = np.zeros(len(starts), dtype=np.bool_)
        self.gains, self.caution = False, _CAUTION
        sizes = np.diff(data.offsets).astype(np.float64)
        self.first_price = norm_work(sizes, data.dimension)

    def add(
        self,
        iteration: int,
        going: IntArray,
        models: FloatArray,
        labels: IntArray,
        descent: FloatArray,
    ) -> BoolArray | None:
        """Label the clients and add their gradients."""
        before = labels.copy()
        n_rows, k = len(self.data.features), self.starts.shape[1]
        budget = self.ledger.budget
        chosen, price = self._choose(going, budget)
        n_plain = int(np.count_nonzero(~chosen))
        own, settled = plain_work(n_rows, n_plain, k), None
        if not chosen.any():
            self.plain.label_and_add(models, labels, descent)
        else:
            skipper = self._enter(going[chosen])
            spent = skipper.work
            rows = np.repeat(chosen, k)
            there, summed = labels[chosen], descent[rows]
            taken = skipper.add(
                iteration, going[chosen], models[rows], there, summed, (budget - price) / _RATE
            )
            labels[chosen], descent[rows] = there, summed
            own += _RATE * (skipper.work - spent)
            if taken is not None:
                settled = np.zeros(len(going), dtype=np.bool_)
                settled[chosen] = taken
            if n_plain:
                there, summed = labels[~chosen], descent[~rows]
                self.plain.label_and_add(models[~rows], there, summed)
                labels[~chosen], descent[~rows] = there, summed
        self.changed[going] = (labels != before).sum(axis=1)
        plain = plain_work(n_rows, len(going), k)
        self.gains = own < plain or bool((chosen & ~self.inside[going]).any())
        self.inside[going] = chosen
        self.ledger.add(plain=plain, own=own)
        return settled

    def _choose(self, going: IntArray, budget: float) -> tuple[BoolArray, float]:
        """The runs (r,) for the skipper, and what its new ones cost more than the plain kernel."""
        if budget == np.inf:
            return np.ones(len(going), dtype=np.bool_), 0.0
        inside = self.inside[going]
        if not (budget > 0.0 or self.gains):
            if inside.any():
                self.caution *= 2.0
            inside = np.zeros_like(inside)
        new = ~inside & (self.changed[going] <= _CALM * self.data.n_clients)
        if new.any():
            price = self._price(int(np.count_nonzero(new)), all_enter=bool((inside | new).all()))
            if budget >= self.caution * price:
                return inside | new, price
        return inside, 0.0

    def _price(self, n_new: int, *, all_enter: bool) -> float:
        """What the first iteration of new runs in the skipper costs more than in the plain kernel.

        All hulls start: their products cost as much as the plain kernel's, and are stored.
        """
        (n_rows, d), (n_runs, k) = self.data.features.shape, self.starts.shape[:2]
        own = n_rows * (_PASS + n_new * (_NEW * k + _KNOWN))
        own += (CALL + PROOF * n_runs * k * self.data.n_clients) / d
        price: float = (
            _RATE * own - plain_work(n_rows, n_new, k) + (0.0 if all_enter else n_rows * READ)
        )
        return max(price, 0.0) + (0.0 if self.skipper is not None else self.first_price)

    def _enter(self, runs: IntArray) -> Skipper:
        """The skipper, to which the runs are given.

        A run that comes back has labels that the plain kernel found, so its radius says nothing.
        """
        if self.skipper is None:
            self.skipper = Skipper(self.data, self.starts, self.n_iterations)
            self.ledger.own += self.first_price
            if self.step_sizes is not None:
                self.skipper.settled = SettledRuns(
                    self.skipper.matrices, self.step_sizes / self.data.n_clients,
                    self.divergence_bound,
                )  # fmt: skip
        self.skipper.radius[runs[~self.inside[runs]]] = 0.0
        return self.skipper


class Plan(NamedTuple):
    """How the gradients of some labels (r, m) are summed with one version of the matrices."""

    labels: IntArray
    version: int
    sets: ClusterSets


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
        self.groups = client_groups(data.offsets, GROUP_BYTES // (16 * (d + n_runs * k)))
        norms = operator_norms(data)
        # Relative rounding errors, those of the plain kernel included.  A term of a GEMM has d + 2,
        # where the row norms are at most the root of the rank times the operator norm.  A sum of
        # squares has n, a form HULL^2, and each move of a base two.
        roundings = sizes + (d + 2) * np.sqrt(np.minimum(sizes, d)) + HULL**2 + 2 * n_iterations
        self.clients = ClientBounds(norms, 4.0 * _ULP * roundings)
        self.matrices = NormalMatrices(data, norms)
        width = max(1, min(HULL, d, HULL_BYTES // (8 * n_runs * k * n_rows)))
        self.hulls = Hulls.empty(n_runs, k, d, width)
        self.known = KnownProducts(
            np.empty((n_runs * k, width, n_rows)), np.empty((n_runs * k, n_rows))
        )
        self.forms = LossForms(
            np.empty((n_runs * k, m)), np.empty((n_runs * k, m, width)),
            np.empty((n_runs * k, m, width, width)),
        )  # fmt: skip
        self.proved = np.zeros((n_runs, k, d))
        self.radius = np.zeros(n_runs)
        self.spent = np.zeros(n_runs)
        largest = int(np.diff(data.offsets[self.groups]).max())
        self.scratch = Scratch.empty(n_runs, k, d, largest, int(sizes.max()))
        self.plan: Plan | None = None
        self.settled: SettledRuns | None = None
        self.n_extensions = self.n_evaluations = 0
        self.work = 0.0

    def add(
        self,
        iteration: int,
        going: IntArray,
        models: FloatArray,
        labels: IntArray,
        descent: FloatArray,
        budget: float = np.inf,
    ) -> BoolArray | None:
        """Label the clients and add their gradients, as the callback of the server's loop.

        At most the `budget` is spent on matrices and eigenvalues.  Returns a mask of the runs that
        are settled, or None where runs are not settled early.
        """
        k, m = self.k, self.data.n_clients
        spent = self.matrices.work
        here = models.reshape(len(going), k, -1)
        moved = self._lengths(models - self.proved[going].reshape(models.shape))
        top = two_largest(moved)  # of the chosen model and another
        open_runs = np.flatnonzero(~(top * (1.0 + 1e-6) < self.radius[going]))
        runs = GoingRuns(
            going, models, self._lengths(models).max(axis=1), np.zeros(len(models)),
            np.zeros(len(models), dtype=np.bool_),
        )  # fmt: skip
        proof = Proof(
            labels, np.zeros((len(going), m, k), dtype=np.bool_), np.empty(labels.shape),
            np.zeros(len(going), dtype=np.int64), np.full(len(going), np.inf),
        )  # fmt: skip
        new, extended = self._prove(runs, open_runs, proof)
        sets = self._add_descents(new, extended, runs, proof, descent)
        self.proved[going[open_runs]] = here[open_runs]
        self.radius[going[open_runs]] = proof.radius[open_runs]
        moved[open_runs] = 0.0
        n_left = self.n_iterations - iteration
        settled = None
        unknown = self.k - sum(self.matrices.exact)
        if self.settled is not None and budget >= max(unknown, 0) * self.matrices.eigenvalue_price:
            settled = self.settled.take(
                going, models, descent, sets, moved, self.radius[going], n_left
            )
        if sets.rest.any():
            # This comes last, because the plan no longer holds once the cache has dropped a matrix.
            self.matrices.note_gradients(sets.members, sets.rest, n_left - 1, budget)
        self.work += self.matrices.work - spent
        self.work += (CALL + PROOF * len(models) * m) / self.data.dimension
        return settled

    def _lengths(self, rows: FloatArray) -> FloatArray:
        """Norms of (r k, d) rows, (r, k)."""
        lengths = np.empty(len(rows))
        row_lengths(rows, lengths)
        return lengths.reshape(-1, self.k)

    def _prove(
        self, runs: GoingRuns, listed: IntArray, proof: Proof
    ) -> tuple[NewDirections, IntArray]:
        """Prove the labels of the listed runs (r,) as far as their hulls allow.

        Returns the new directions of the hulls that are worth extending, and the runs that have
        them.  The labels of these runs are proved once the directions are evaluated.
        """
        k, m, going = self.k, self.data.n_clients, runs.going
        rests = np.empty_like(runs.models)
        started = (self.hulls.counts[going[listed]] >= 0).all(axis=1)
        known = listed[started]
        project(runs.models, known, going, self.hulls, rests, runs.gaps)
        certify(known, runs, self.clients, self.hulls, self.forms, proof, self.scratch.bounds)
        proof.n_open[listed[~started]] = 2 * k * m  # extending saves time for any number of runs
        self.spent[going[listed]] += proof.n_open[listed] / k
        extended = self._worth_extending(going, listed)
        new = self._extend(runs, extended, rests)
        if extended.size:
            self.spent[going[extended]] = 0.0
            project(runs.models, extended, going, self.hulls, rests, runs.gaps)
            rows = (extended[:, None] * k + np.arange(k)).ravel()
            sizes = (
                self.hulls.base_sizes[going[extended]].ravel()
                + np.abs(self.hulls.coords[going[extended]]).sum(axis=2).ravel()
            )
            runs.current[rows] = runs.gaps[rows] <= 16.0 * _ULP * sizes
            proof.candidates[extended] = False
            proof.radius[extended] = np.inf
        return new, extended

    def _worth_extending(self, going: IntArray, runs: IntArray) -> IntArray:
        """Those runs (r,) whose clients cost more to evaluate one by one than all at once.

        The unit is the evaluation of one client in one run.  New directions for r runs cost about
        (1 + `_PRODUCTS` r) m of them.
        """
        spent = self.spent[going[runs]] / self.data.n_clients
        order = np.argsort(-spent, kind="stable")
        worth = np.cumsum(spent[order]) >= _EXTEND * (1.0 + _PRODUCTS * np.arange(1, len(runs) + 1))
        worth &= spent[order] >= _EXTEND * _PRODUCTS
        return runs[np.sort(order[: np.flatnonzero(worth)[-1] + 1])] if worth.any() else runs[:0]

    def _extend(self, runs: GoingRuns, listed: IntArray, rests: FloatArray) -> NewDirections:
        """Let the hulls of the listed runs (r,) contain their current models (r k, d).

        `rests` are the models less their projections.  Returns the directions to evaluate.
        """
        going, models, gaps, hulls, k = runs.going, runs.models, runs.gaps, self.hulls, self.k
        width = hulls.coords.shape[2]
        directions, numbers, places, filled = [], [], [], []
        for pos in listed:
            run = going[pos]
            for j in range(k):
                row, q = pos * k + j, int(hulls.counts[run, j])
                size = float(length(models[row]))
                if q < 0 or not np.isfinite(gaps[row]):
                    hulls.base[run, j], hulls.base_sizes[run, j] = models[row], size
                    hulls.counts[run, j], direction, q = 0, models[row], -1
                elif gaps[row] <= max(4.0 * _ULP * size, _IDLE * gaps[pos * k : pos * k + k].max()):
                    continue
                else:
                    known = hulls.basis[run, j, :q]
                    direction = rests[row] / gaps[row]
                    direction = direction - (known @ direction) @ known  # once more, for rounding
                    left = float(np.linalg.norm(direction))
                    if not left > 0.5:
                        continue  # nothing but rounding: the hull is all of the space
                    direction /= left
                    if q == width:
                        q = hulls.oldest[run, j]
                        along = hulls.coords[run, j, q]
                        hulls.base[run, j] += along * hulls.basis[run, j, q]
                        hulls.base_sizes[run, j] += abs(along)  # rounding errors of a base add up
                        hulls.oldest[run, j] = (q + 1) % width
                        retire(run * k + j, q, along, self.data.offsets, self.known, self.forms)
                    hulls.basis[run, j, q] = direction
                    hulls.counts[run, j] = max(q + 1, int(hulls.counts[run, j]))
                directions.append(direction)
                numbers.append(run * k + j)
                places.append(q)
                filled.append(int(hulls.counts[run, j]))
        self.n_extensions += len(numbers)
        return NewDirections(
            np.array(directions).reshape(-1, models.shape[1]),
            *(np.array(column, dtype=np.int64) for column in (numbers, places, filled)),
        )

    def _add_descents(
        self,
        new: NewDirections,
        extended: IntArray,
        runs: GoingRuns,
        proof: Proof,
        descent: FloatArray,
    ) -> ClusterSets:
        """Label the open clients and add all gradients: by normal matrices, and in a pass over the
        data for the rest.

        The plan is made for the labels that are known or guessed before the pass.  The pass itself
        corrects the remainder.  Returns the clusters, as a plan for the final labels writes them.
        """
        plan, none = self._make_plan(proof.labels), new.none()
        (_, terms, rest), summed = plan.sets, np.zeros_like(descent)
        if extended.size or proof.n_open.any() or rest.any():
            self._visit(new, extended, runs, proof, Remainders(plan.labels, rest), summed)
        if not np.array_equal(plan.labels, proof.labels):
            plan = self._make_plan(proof.labels)  # for the next iteration
            members, next_terms, next_rest = plan.sets
            imprecise = ~self.matrices.precise(members, terms)
            if imprecise.any():
                # Sets that have lost most of their clients: a few clients are summed once more.
                terms[imprecise], summed[imprecise] = next_terms[imprecise], 0.0
                rest = next_rest * imprecise[:, None]
                self._visit(none, extended[:0], runs, proof, Remainders(plan.labels, rest), summed)
        descent += summed
        for b, signs in enumerate(terms.T):
            rows = np.flatnonzero(signs)
            if rows.size:
                vector, matrix = self.matrices.vectors[b], self.matrices.matrices[b]
                descent[rows] += signs[rows, None] * (vector - runs.models[rows] @ matrix)
                self.work += (_MATRIX + rows.size) * len(vector)
        return plan.sets

    def _visit(
        self,
        new: NewDirections,
        extended: IntArray,
        runs: GoingRuns,
        proof: Proof,
        remainders: Remainders,
        summed: FloatArray,
    ) -> None:
        """Make the pass over the data."""
        n_new = len(new.hulls)
        read = proof.candidates.any(axis=(0, 2)) | remainders.rest.any(axis=0)
        n_evaluated = visit_clients(
            self.data.arrays, self.groups, new, extended, runs, self.clients, self.hulls,
            self.known, self.forms, proof, remainders, self.scratch, summed,
        )  # fmt: skip
        self.n_evaluations += n_evaluated
        sizes, n_rows = self.matrices.sizes, float(len(self.data.features))
        summed_rows = np.abs(remainders.rest) @ sizes
        self.work += _PASS * (n_rows if n_new else float(sizes[read].sum()))
        self.work += _NEW * n_new * n_rows + self.k * n_evaluated * n_rows / len(sizes)
        self.work += float(np.where(runs.current, _KNOWN, _UNKNOWN) @ summed_rows)

    def _make_plan(self, labels: IntArray) -> Plan:
        """The plan of the last iteration where it still holds, and a new one elsewhere."""
        plan, version = self.plan, self.matrices.version
        if plan is None or plan.version != version or not np.array_equal(plan.labels, labels):
            members = self._members(labels)
            sets = ClusterSets(members, *self.matrices.plan(members))
            plan = self.plan = Plan(labels.copy(), version, sets)
        return plan

    def _members(self, labels: IntArray) -> BoolArray:
        """The clusters of (r, m) labels, (r k, m)."""
        members = labels[:, None, :] == np.arange(self.k)[:, None]
        return np.asarray(members.reshape(-1, labels.shape[1]))
