"""IFCA on data: gradient averaging for mixed linear regression, with one GEMM for all runs.

Iterative Federated Clustering Algorithm (Ghosh, Chung, Yin & Ramchandran, NeurIPS 2020, Algorithm
1, option I; TIT 2022, Algorithm 2) with the squared loss and full participation.  One iteration:

.. math::

    \\hat\\jmath_i = \\operatorname*{argmin}_{j \\in [k]} F_i(\\theta_j), \\qquad
    \\theta_j \\leftarrow \\theta_j
      - \\frac{\\gamma}{m} \\sum_{i : \\hat\\jmath_i = j} \\nabla F_i(\\theta_j), \\qquad
    F_i(\\theta) = \\frac{1}{n_i} \\lVert Y_i - X_i \\theta \\rVert^2 .

A *run* is one start with one step size.  Runs that share a data set iterate together.  Their R k
models are the rows of one matrix, so a pass over the data costs two GEMMs a client:

* forward, ``models @ X_i.T`` (2 n R k d flops), for the losses of every model of every run,
* backward, ``residuals @ X_i`` (2 n R d flops), for the gradient of the chosen model of each run.

A pass reads X from memory once, because both GEMMs are done for a group of clients that fits in the
cache before the next group is read.

========== =================== ==========================================================
array      shape               meaning
========== =================== ==========================================================
features   (N, d)              the clients' rows one below the other
responses  (N,)                likewise
offsets    (m + 1,)            client i owns the rows offsets[i] : offsets[i + 1]
models     (R k, d)            row r k + j is model j of run r
labels     (R, m)              identity estimates
descent    (R k, d)            minus the gradients, summed over the clients of each model
========== =================== ==========================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trials.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    InvalidParameter,
    real_array,
    record_of,
    require_finite,
    shown,
)
from trials.ifca.linear_kernels import (
    add_gradients,
    label_and_add_gradients,
    label_clients,
    take_steps,
)
from trials.models.clients import ClientData, client_groups
from trials.models.matching import model_distance
from trials.models.run_status import DIVERGENCE_BOUND, RunStatus
from trials.parameters import Domain, Function, Integer, Real, Record, validated

GROUP_BYTES = 2 * 2**20
"""Bytes of features and predictions of a client group, about a core's private cache.

Measured on (m, n, d, k) = (100, 100, 1000, 2) and (400, 100, 1000, 4) with 30 runs and 1 MB of L2:
two clients a group (1.6 MB of features) are best, 1 and 10 are 3 to 7 % slower, 50 about 10 %.
"""

#: ``(iteration, runs, models, labels)`` of the runs that are still going, in buffers that change.
Observer = Callable[[int, IntArray, FloatArray, IntArray], None]

LARGEST_BOUND = 1e100
"""The largest bound of a divergence.  Its square is a finite float."""

#: Checks that the drivers of IFCA share.
RUN_DOMAINS: dict[str, Domain] = {
    "n_iterations": Integer(0), "divergence_bound": Real(0.0, LARGEST_BOUND),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class IfcaResult:
    """The results of R runs of T iterations.

    Attributes
    ----------
    models : (R, k, d) final models.  Those of a diverged run are its last bounded ones.
    labels : (R, m) identity estimates of the last iteration that the run took part in, -1 where
        there was none (T = 0).
    label_changes : (T, R) number of clients whose estimate differs from the iteration before.  The
        first row is m, because every estimate is new.  Rows after a run's divergence are 0.
    status : (R,) `RunStatus` values.
    n_steps : (R,) updates that were applied, T unless the run diverged.
    distances : (T + 1, R) `model_distance` to the reference models before each step and after the
        last, constant after a divergence.  It is None without reference models.
    """

    models: FloatArray
    labels: IntArray
    label_changes: IntArray
    status: NDArray[np.int8]
    n_steps: IntArray
    distances: FloatArray | None


@validated(data=Record(ClientData), **RUN_DOMAINS)
def run_ifca(
    *,
    data: ClientData,
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    reference: FloatArray | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
) -> IfcaResult:
    """Iterate IFCA on one data set, the same in every iteration, all runs together.

    Parameters
    ----------
    data : the clients.
    starts : (R, k, d) initial models of each run.
    step_sizes : (R,) step size gamma > 0 of each run, or (R, k) one for each of its models.  The
        update is gamma / m times the sum of the clients' gradients, as in Algorithm 1, line 14.
    n_iterations : T >= 0.
    reference : (k, d) models to record distances to, usually the true ones, in the unit of the
        starts.
    divergence_bound : a step that gives a model of larger Euclidean norm, or one that is not
        finite, is not taken and stops its run with `RunStatus.DIVERGED`.

    Raises
    ------
    InvalidParameter : before any work, naming the argument.

    Notes
    -----
    An iteration takes 2 N R k d + 2 N R d flops and reads the features once.  Memory is O(R k d + R
    m) in addition to the data.  Ties of the losses go to the first model.  A model without clients
    stays where it is.  Runs that iterate together have GEMMs of other shapes than single runs.  So
    their models differ by rounding errors, and at a tie within rounding a label may differ.

    Examples
    --------
    Two clusters without noise are found to rounding:

    >>> import numpy as np
    >>> from trials.models.clients import ClientData
    >>> rng = np.random.default_rng(0)
    >>> theta_star = np.array([[2.0, 0.0], [-2.0, 1.0]])
    >>> x = rng.standard_normal((20, 30, 2))
    >>> y = (x * theta_star[np.arange(20) % 2, None]).sum(axis=2)
    >>> data = ClientData.equal(x, y)
    >>> found = run_ifca(
    ...     data=data, starts=theta_star[None] + 0.3, step_sizes=[0.5], n_iterations=60,
    ...     reference=theta_star,
    ... )
    >>> bool(found.distances[-1, 0] < 1e-9)
    True
    """
    starts, step_sizes = _check_runs(starts, step_sizes, reference, divergence_bound)
    _require_dimension(data, starts)
    scratch = PlainPass(data, starts)

    def add(
        _iteration: int, _going: IntArray, models: FloatArray, labels: IntArray, descent: FloatArray
    ) -> None:
        scratch.label_and_add(models, labels, descent)

    return _iterate(
        add, data.n_clients, starts, step_sizes, n_iterations, reference, divergence_bound
    )


@validated(draw=Function(), **{**RUN_DOMAINS, "n_iterations": Integer(1)})
def run_resampled_ifca(
    *,
    draw: Callable[[int], tuple[ClientData, ClientData]],
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    reference: FloatArray | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
) -> IfcaResult:
    """Iterate IFCA with fresh data in every iteration, as its theorems assume (section 5).

    Parameters
    ----------
    draw : called once per iteration t = 0, 1, ….  It returns two batches of the same m clients, the
        first to estimate identities with, the second for the gradients.  Sizes may differ.
    starts, step_sizes, n_iterations, reference, divergence_bound : as for `run_ifca`.

    Raises
    ------
    InvalidParameter : before any work for an argument, or when a batch does not fit.

    Notes
    -----
    Per iteration 2 N R k d flops on the first batch and 4 N R d on the second.

    Examples
    --------
    >>> import numpy as np
    >>> from trials.models.clients import ClientData
    >>> rng = np.random.default_rng(0)
    >>> theta_star = np.array([[2.0, 0.0], [-2.0, 1.0]])
    >>> def batch():
    ...     x = rng.standard_normal((20, 30, 2))
    ...     return ClientData.equal(x, (x * theta_star[np.arange(20) % 2, None]).sum(axis=2))
    >>> found = run_resampled_ifca(
    ...     draw=lambda t: (batch(), batch()), starts=theta_star[None] + 0.3, step_sizes=[0.5],
    ...     n_iterations=60, reference=theta_star,
    ... )
    >>> bool(found.distances[-1, 0] < 1e-9)
    True
    """
    starts, step_sizes = _check_runs(starts, step_sizes, reference, divergence_bound)
    first = [draw_pair(draw, 0)]  # drawn ahead for its number of clients, released after its use
    n_clients = first[0][0].n_clients

    def add(
        iteration: int, _going: IntArray, models: FloatArray, labels: IntArray, descent: FloatArray
    ) -> None:
        to_identify, to_descend = first.pop() if first else draw_pair(draw, iteration)
        for batch in (to_identify, to_descend):
            _require_dimension(batch, starts)
            if batch.n_clients != n_clients:
                raise InvalidParameter(
                    f"a batch of iteration {iteration} has m={batch.n_clients} clients; "
                    f"m must be {n_clients} in every batch"
                )
        PlainPass(to_identify, starts).label(models, labels)
        PlainPass(to_descend, starts).add(models, labels, descent)

    return _iterate(add, n_clients, starts, step_sizes, n_iterations, reference, divergence_bound)


class PlainPass:
    """A data set with the client groups and the buffers that its kernels write to."""

    def __init__(self, data: ClientData, starts: FloatArray) -> None:
        n_runs, self.k, d = starts.shape
        sizes = np.diff(data.offsets)
        self.data = data.arrays
        self.groups = client_groups(data.offsets, GROUP_BYTES // (8 * (d + n_runs * self.k)))
        largest = int(np.diff(data.offsets[self.groups]).max())
        self.predictions = np.empty(n_runs * self.k * largest)
        self.residuals = np.empty(n_runs * int(sizes.max()))
        self.product = np.empty((n_runs, d))
        self.chosen = np.empty((n_runs, d))

    def label(self, models: FloatArray, labels: IntArray) -> None:
        label_clients(*self.data, self.groups, models, self.k, self.predictions, labels)

    def add(self, models: FloatArray, labels: IntArray, descent: FloatArray) -> None:
        n_runs = len(labels)
        add_gradients(
            *self.data, models, self.k, labels,
            self.chosen[:n_runs], self.residuals, self.product[:n_runs], descent,
        )  # fmt: skip

    def label_and_add(self, models: FloatArray, labels: IntArray, descent: FloatArray) -> None:
        label_and_add_gradients(
            *self.data, self.groups, models, self.k,
            self.predictions, self.residuals, self.product[: len(labels)], labels, descent,
        )  # fmt: skip


def _iterate(
    add: Callable[[int, IntArray, FloatArray, IntArray, FloatArray], BoolArray | None],
    n_clients: int,
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    reference: FloatArray | None,
    divergence_bound: float,
    observe: Observer | None = None,
) -> IfcaResult:
    """The server's loop: gradients from `add`, steps, and the records of every run.

    ``add(iteration, going, models, labels, descent)`` labels the clients and adds to `descent`, for
    the runs that are still going (their numbers are in `going`).  Runs that have diverged leave the
    matrices, so that the others do not wait for them and only finite values enter a GEMM.  `add`
    may return a mask of runs that it will complete by itself, with the labels that they have.
    ``observe(iteration, going, models, labels)`` is called before each iteration, with the labels
    of the one before.
    """
    n_runs, k, d = starts.shape
    going = np.arange(n_runs)
    models = starts.reshape(n_runs * k, d).copy()
    descent = np.empty_like(models)
    labels = np.full((n_runs, n_clients), -1, dtype=np.int64)
    sizes = np.empty(n_runs)

    final, final_labels = starts.copy(), labels.copy()
    changes = np.zeros((n_iterations, n_runs), dtype=np.int64)
    n_steps = np.zeros(n_runs, dtype=np.int64)
    status = np.full(n_runs, RunStatus.COMPLETED, dtype=np.int8)
    distances = None
    if reference is not None:
        distances = np.tile(model_distance(starts, reference), (n_iterations + 1, 1))

    for t in range(n_iterations):
        if not going.size:
            break
        if observe is not None:
            observe(t, going, models.reshape(-1, k, d), labels)
        previous = labels.copy()
        descent[:] = 0.0
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # the status tells it, and compiled code does not warn either
            settled = add(t, going, models, labels, descent)
            take_steps(models, step_sizes[going] / n_clients, descent, sizes)
        changes[t, going] = (labels != previous).sum(axis=1)
        lost = ~(sizes <= divergence_bound**2)
        settled = np.zeros(going.size, dtype=np.bool_) if settled is None else settled
        n_steps[going[settled]] = n_iterations
        status[going[lost & ~settled]] = RunStatus.DIVERGED
        leaving = lost | settled
        if leaving.any():
            gone, rows = going[leaving], np.repeat(leaving, k)
            final[gone] = models[rows].reshape(-1, k, d)
            final_labels[gone] = labels[leaving]
            models, descent = models[~rows], descent[~rows]
            going, labels, sizes = going[~leaving], labels[~leaving], sizes[~leaving]
        models, descent = descent, models
        n_steps[going] += 1
        if distances is not None and reference is not None and going.size:
            distances[t + 1 :, going] = model_distance(models.reshape(-1, k, d), reference)

    final[going] = models.reshape(-1, k, d)
    final_labels[going] = labels
    return IfcaResult(
        models=final,
        labels=final_labels,
        label_changes=changes,
        status=status,
        n_steps=n_steps,
        distances=distances,
    )


def _check_runs(
    starts: FloatArray,
    step_sizes: FloatArray,
    reference: FloatArray | None,
    divergence_bound: float,
) -> tuple[FloatArray, FloatArray]:
    """Check the arguments of a run and return the starts and step sizes as float64.

    The step sizes are returned with shape (R, k).
    """
    starts = real_array("starts", starts)
    step_sizes = np.atleast_1d(real_array("step_sizes", step_sizes))
    if starts.ndim != 3 or min(starts.shape) < 1:
        raise InvalidParameter(f"starts.shape={starts.shape} must be (R, k, d), none of them 0")
    n_runs, k, d = starts.shape
    require_finite("starts", starts)
    if step_sizes.shape not in ((n_runs,), (n_runs, k)):
        raise InvalidParameter(
            f"step_sizes.shape={step_sizes.shape} must be ({n_runs},), one a run, "
            f"or ({n_runs}, {k}), one a model"
        )
    require_finite("step_sizes", step_sizes)
    if (step_sizes <= 0).any():
        raise InvalidParameter(f"step_sizes={step_sizes.min()} must be > 0")
    if reference is not None:
        truth = real_array("reference", reference)
        if truth.shape != (k, d):
            raise InvalidParameter(f"reference.shape={truth.shape} must be ({k}, {d})")
        require_finite("reference", truth)
    with np.errstate(over="ignore"):
        largest = float(np.linalg.norm(starts, axis=-1).max())
    if not largest <= divergence_bound:
        raise InvalidParameter(
            f"divergence_bound={divergence_bound:g} must be >= the largest norm of the starts, "
            f"{largest:.3g}"
        )
    return starts, np.broadcast_to(step_sizes.reshape(n_runs, -1), (n_runs, k))


def draw_pair(draw: Callable[[int], Any], iteration: int) -> tuple[ClientData, ClientData]:
    """Return the two batches of an iteration.

    `InvalidParameter` is raised if `draw` returns anything else.
    """
    pair = draw(iteration)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidParameter(f"draw({iteration})={shown(pair)} must be two ClientData")
    first, second = (record_of(f"draw({iteration})", batch, ClientData) for batch in pair)
    return first, second


def _require_dimension(data: ClientData, starts: FloatArray) -> None:
    """Refuse starts (R, k, d) whose models do not fit the features."""
    if data.dimension != starts.shape[2]:
        raise InvalidParameter(
            f"starts.shape={starts.shape} must end in d={data.dimension}, as the features do"
        )
