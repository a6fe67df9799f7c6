r"""IFCA in all its options, and the baselines that it is compared with, behind one interface.

Algorithm 2 of Ghosh, Chung, Yin & Ramchandran (TIT 2022; Algorithm 1 of NeurIPS 2020) for the
losses f of `trials.models.losses`: squared, ridge and logistic.  Client i's empirical loss is
their mean, penalty included:
:math:`F_i(\theta) = \frac1{n_i} \sum_s f(\theta; x_{i,s}, y_{i,s})`.  The default (`IFCA_LOSS`)
is that of the linear model, :math:`\lVert Y_i - X_i \theta \rVert^2 / n_i`.  Let M_t be the
participants and S_j those among them that estimate the identity j.  Iteration t is

.. math::

   \text{I (gradients):}\quad \theta_j \leftarrow \theta_j
      - \frac{\gamma_t}{m} \sum_{i \in S_j} \hat\nabla F_i(\theta_j), \qquad
   \text{II (models):}\quad \theta_j \leftarrow \frac1{|S_j|} \sum_{i \in S_j}
      \mathrm{LocalUpdate}_i(\theta_j, \gamma_t, \tau) .

Option I divides by m, as printed, even if fewer clients take part.  Option I with the step size
gamma is therefore option II with tau = 1 and :math:`\gamma |S_j| / m`.  The papers leave these
points open, and this module takes them as follows:

* ties of the losses go to the first model, and a model that nobody chose stays where it is.
* the step of iteration t is :math:`\gamma_t = \gamma\,\mathrm{decay}^t` ("step size decay 0.99" in
  section 6.2), the same for all of its local steps.
* mini-batches are drawn without replacement, anew for every client and local step.  Their gradient
  includes the whole penalty.  Identities are estimated on all rows.
* on shared coordinates "vanilla gradient or model averaging" runs over all participants: the sum of
  their gradients times gamma / m, or the mean of their models.
* identities are stable once every client has an estimate and no participant has changed its own for
  `stable_after` iterations in a row.  From then on no client gets the other models, so no client
  estimates again.

All runs (starts with step sizes) share M_t, the mini-batches and every pass over the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from trials.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    InvalidParameter,
    integer_between,
    real_array,
    whole_array,
)
from trials.ifca.communication import floats_down, floats_up
from trials.ifca.linear import RUN_DOMAINS, Observer, _check_runs, _require_dimension, draw_pair
from trials.ifca.options_kernels import LocalSteps, UpdateScratch, add_local_updates, label_subset
from trials.ifca.options_records import IfcaOptions as IfcaOptions
from trials.ifca.options_records import OptionsResult as OptionsResult
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss, Loss, SquaredLoss, kernel_arguments
from trials.models.run_status import DIVERGENCE_BOUND, RunStatus
from trials.parameters import Domain, Function, Integer, Maybe, Record, Stream, validated

IFCA_LOSS = SquaredLoss(scale=2.0)
"""The papers' squared loss (y - <x, theta>)^2, without the factor one half."""


_DOMAINS: dict[str, Domain] = {
    **RUN_DOMAINS,
    "options": Maybe(Record(IfcaOptions)),
    "loss": Record(SquaredLoss, LogisticLoss),
    "rng": Maybe(Stream()),
}


@validated(data=Record(ClientData), observe=Maybe(Function()), **_DOMAINS)
def run_ifca_options(
    *,
    data: ClientData,
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    options: IfcaOptions | None = None,
    loss: Loss = IFCA_LOSS,
    known_labels: IntArray | None = None,
    rng: np.random.Generator | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
    observe: Observer | None = None,
) -> OptionsResult:
    """Iterate IFCA with any options, or a baseline that knows the identities.

    Parameters
    ----------
    data : the clients.  Their responses must be -1 or +1 for the logistic loss.
    starts : (R, k, d), equal over the k models on shared coordinates.
    step_sizes : (R,) or (R, k), gamma > 0.  On shared coordinates option I takes the first model's.
    n_iterations : T >= 0.
    options : by default option I with full participation, which is `trials.ifca.linear.run_ifca`.
    loss : f.  The clients' gradients include that of its penalty.
    known_labels : (m,) identities in [0, k).  With them nothing is estimated and no identity sent.
    rng : draws subsets and mini-batches, needed only where options ask for them.
    divergence_bound : as for `trials.ifca.linear.run_ifca`, for the models that the centre forms.
        A client may send a longer model where the mean is not longer.
    observe : ``observe(iteration, runs, models, labels)`` is called before each iteration with the
        numbers (r,) of the runs that have not diverged, their models (r, k, d), and their labels
        (r, m) of the iteration before.

    Raises
    ------
    InvalidParameter : before any work, naming the argument.

    Notes
    -----
    An iteration takes 2 N' R k d flops for the losses of the participants' N' rows.  It takes 4 B R
    d tau for the updates, with B rows in their batches.  The logistic loss adds an exponential and
    a logarithm for each row and model.

    Examples
    --------
    Model averaging with mini-batches and half of the clients:

    >>> import numpy as np
    >>> from trials.models.clients import ClientData
    >>> rng = np.random.default_rng(0)
    >>> theta_star = np.array([[2.0, 0.0], [-2.0, 1.0]])
    >>> x = rng.standard_normal((20, 30, 2))
    >>> y = (x * theta_star[np.arange(20) % 2, None]).sum(axis=2)
    >>> data = ClientData.equal(x, y)
    >>> options = IfcaOptions(
    ...     averaging="model", local_steps=4, batch_size=10, n_participants=10
    ... )
    >>> found = run_ifca_options(
    ...     data=data, starts=theta_star[None] + 0.3, step_sizes=[0.05], n_iterations=60,
    ...     options=options, rng=rng,
    ... )
    >>> bool(np.abs(found.models[0] - theta_star).max() < 0.01)
    True
    """
    options = options or IfcaOptions()
    starts, step_sizes = _check_runs(starts, step_sizes, None, divergence_bound)
    clients = _Clients(data, loss, starts, options.batch_size, known_labels is None)
    return _iterate_options(
        lambda _t: (clients, clients), data.n_clients, starts, step_sizes, n_iterations, options,
        known_labels, rng, divergence_bound, observe,
    )  # fmt: skip


@validated(draw=Function(), **{**_DOMAINS, "n_iterations": Integer(1)})
def run_resampled_ifca_options(
    *,
    draw: Callable[[int], tuple[ClientData, ClientData]],
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    options: IfcaOptions | None = None,
    loss: Loss = IFCA_LOSS,
    known_labels: IntArray | None = None,
    rng: np.random.Generator | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
) -> OptionsResult:
    """Iterate from starts (R, k, d) on fresh data in every iteration, as section 5 assumes.

    Parameters
    ----------
    draw : called with t = 0, 1, … until the last run has ended.  It returns two batches of the same
        m clients, the first to estimate identities with, the second for the gradients or local
        updates.  Sizes may differ.
    starts, step_sizes, n_iterations, options, loss, known_labels, rng, divergence_bound : as for
        `run_ifca_options`, with n_iterations >= 1.

    Raises
    ------
    InvalidParameter : before the first iteration for an argument, or when a batch does not fit.

    Notes
    -----
    ``draw(0)`` is called before anything is drawn from `rng`, and each later call after the subset
    of its iteration.  So `draw` should use a stream of its own.
    """
    options = options or IfcaOptions()
    starts, step_sizes = _check_runs(starts, step_sizes, None, divergence_bound)
    first = [draw_pair(draw, 0)]  # drawn ahead for its number of clients, released after its use
    m = first[0][0].n_clients

    def clients(t: int) -> tuple[_Clients, _Clients]:
        to_identify, to_descend = first.pop() if first else draw_pair(draw, t)
        for batch in (to_identify, to_descend):
            if batch.n_clients != m:
                raise InvalidParameter(
                    f"a batch of iteration {t} has m={batch.n_clients} clients; m must be {m} in "
                    "every batch"
                )
        return (
            _Clients(to_identify, loss, starts, options.batch_size, known_labels is None),
            _Clients(to_descend, loss, starts, options.batch_size, False),
        )

    return _iterate_options(
        clients, m, starts, step_sizes, n_iterations, options, known_labels, rng, divergence_bound
    )


@validated(data=Record(ClientData), **_DOMAINS)
def run_oracle(
    *,
    data: ClientData,
    owner: IntArray,
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    options: IfcaOptions | None = None,
    loss: Loss = IFCA_LOSS,
    rng: np.random.Generator | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
) -> OptionsResult:
    """Run the oracle, which knows each client's true cluster `owner` (m,).

    The other arguments are those of `run_ifca_options`.
    """
    return run_ifca_options(
        data=data, starts=starts, step_sizes=step_sizes, n_iterations=n_iterations,
        options=options, loss=loss, known_labels=owner, rng=rng,
        divergence_bound=divergence_bound,
    )  # fmt: skip


@validated(data=Record(ClientData), **_DOMAINS)
def run_global(
    *,
    data: ClientData,
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    options: IfcaOptions | None = None,
    loss: Loss = IFCA_LOSS,
    rng: np.random.Generator | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
) -> OptionsResult:
    """Run the global baseline of section 6.2, with one model for all clients.

    `starts` is (R, d).  The other arguments are those of `run_ifca_options`.

    The paper averages the participants' models, ``IfcaOptions(averaging="model", ...)``.
    """
    return run_ifca_options(
        data=data, starts=_with_axis(starts), step_sizes=step_sizes, n_iterations=n_iterations,
        options=options, loss=loss, known_labels=np.zeros(data.n_clients, dtype=np.int64), rng=rng,
        divergence_bound=divergence_bound,
    )  # fmt: skip


class _Clients:
    """A data set with its loss, checked, and the buffers that its kernels write to.

    Without `asks` nothing is labelled, and room is made for the chosen models' predictions alone.
    """

    def __init__(
        self, data: ClientData, loss: Loss, starts: FloatArray, batch_size: int | None, asks: bool
    ) -> None:
        _require_dimension(data, starts)
        n_runs, k, d = starts.shape
        largest = int(np.diff(data.offsets).max())
        batch = min(batch_size or largest, largest)
        self.arrays, self.k = data.arrays, k
        self.loss = kernel_arguments(loss, data.responses)
        self.batch_size = batch_size or 0
        self.predictions = np.empty(n_runs * (k if asks else 1) * largest)
        self.penalties = np.empty(n_runs * k)
        self.scratch = UpdateScratch(
            order=np.empty(largest, dtype=np.int64), batch=np.empty((batch, d)),
            targets=np.empty(batch), local=np.empty((n_runs, d)), product=np.empty((n_runs, d)),
            weights=self.predictions,
        )  # fmt: skip

    def label(self, subset: IntArray, models: FloatArray, labels: IntArray) -> None:
        label_subset(
            self.arrays, subset, models, self.k, self.loss, self.predictions, self.penalties,
            labels,
        )  # fmt: skip

    def add(
        self, subset: IntArray, models: FloatArray, labels: IntArray, steps: FloatArray,
        n_steps: int, rng: np.random.Generator, sums: FloatArray, counts: IntArray,
    ) -> None:  # fmt: skip
        scratch, n_runs = self.scratch, len(labels)
        if n_runs < len(scratch.local):
            scratch = scratch._replace(
                local=scratch.local[:n_runs], product=scratch.product[:n_runs]
            )
        add_local_updates(
            self.arrays, subset, models, self.k, self.loss, labels,
            LocalSteps(steps, n_steps, self.batch_size), rng if self.batch_size else None,
            scratch, sums, counts,
        )  # fmt: skip


def _iterate_options(
    draw: Callable[[int], tuple[_Clients, _Clients]],
    m: int,
    starts: FloatArray,
    step_sizes: FloatArray,
    n_iterations: int,
    options: IfcaOptions,
    known_labels: IntArray | None,
    rng: np.random.Generator | None,
    divergence_bound: float,
    observe: Observer | None = None,
) -> OptionsResult:
    """Run the server's loop.

    Runs that diverge leave it, as in `trials.ifca.linear`.

    ``draw(t)`` gives the data of iteration t, to identify with and to descend on.
    """
    n_runs, k, d = starts.shape
    shared = _check_shared(options, starts)
    known = _check_labels(known_labels, m, k)
    p = m if options.n_participants is None else options.n_participants
    integer_between("n_participants", p, 1, m, "the number of clients m")
    if rng is None:
        if p < m or options.batch_size is not None:
            raise InvalidParameter(
                "rng=None must be a Generator where subsets or batches are drawn"
            )
        rng = np.random.default_rng(0)  # nobody reads it
    models = starts.copy()
    labels = np.full((n_runs, m), -1, dtype=np.int64)
    if known is not None:
        labels[:] = known
    quiet = np.zeros(n_runs, dtype=np.int64)
    result = _empty_result(models, labels, n_iterations, p, known is not None)
    gradients, n_shared = options.averaging == "gradient", int(shared.sum())
    everyone, completed = np.arange(m), int(RunStatus.COMPLETED)  # NumPy takes long over an enum
    for t in range(n_iterations):
        subset = everyone if p == m else np.sort(rng.choice(m, p, replace=False))
        result.participants[t] = subset
        going = np.flatnonzero(result.status == completed)
        if not going.size:
            continue  # the subsets are recorded all the same
        if observe is not None:
            observe(t, going, models[going], labels[going])
        to_identify, to_descend = draw(t)
        rates = options.step_decay**t * step_sizes[going]
        settled = result.settled_at[going] <= t
        asking = going[~settled]
        if asking.size:
            seen = labels[asking]
            to_identify.label(subset, models[asking].reshape(-1, d), seen)
            changes = (seen != labels[asking]).sum(axis=1)
            result.label_changes[t, asking] = changes
            quiet[asking] = np.where(changes == 0, quiet[asking] + 1, 0)
            labels[asking] = seen
            if options.stable_after is not None:
                calm = (quiet[asking] >= options.stable_after) & (seen >= 0).all(axis=1)
                result.settled_at[asking[calm]] = t + 1
        for runs, alone in ((going[settled], True), (asking, False)):
            if runs.size:
                result.down[t, runs] = floats_down(p, k, d, n_shared, alone)
                result.up[t, runs] = floats_up(p, k, d, alone)

        here = models[going].reshape(-1, d)
        sums, counts = np.zeros_like(here), np.zeros(len(here), dtype=np.int64)
        steps = np.ones(len(here)) if gradients else rates.ravel()
        with np.errstate(over="ignore", invalid="ignore"):  # a status says it
            to_descend.add(
                subset, here, labels[going], steps, options.local_steps, rng, sums, counts
            )
            stepped = _server_step(
                models[going], sums.reshape(-1, k, d), counts.reshape(-1, k), shared,
                rates / m if gradients else None, p,
            )  # fmt: skip
            kept = (stepped**2).sum(axis=2).max(axis=1) <= divergence_bound**2
        models[going[kept]] = stepped[kept]
        result.n_steps[going[kept]] += 1
        if not kept.all():
            result.status[going[~kept]] = RunStatus.DIVERGED
    return result


def _empty_result(
    models: FloatArray, labels: IntArray, n_iterations: int, p: int, is_known: bool
) -> OptionsResult:
    """The result before the first iteration, with p participants in each."""
    n_runs = len(models)
    return OptionsResult(
        models=models, labels=labels,
        label_changes=np.zeros((n_iterations, n_runs), dtype=np.int64),
        participants=np.empty((n_iterations, p), dtype=np.int64),
        status=np.full(n_runs, RunStatus.COMPLETED, dtype=np.int8),
        n_steps=np.zeros(n_runs, dtype=np.int64),
        settled_at=np.full(n_runs, 0 if is_known else n_iterations, dtype=np.int64),
        down=np.zeros((n_iterations, n_runs), dtype=np.int64),
        up=np.zeros((n_iterations, n_runs), dtype=np.int64),
    )  # fmt: skip


def _server_step(
    models: FloatArray,
    sums: FloatArray,
    counts: IntArray,
    shared: BoolArray,
    scales: FloatArray | None,
    n_participants: int,
) -> FloatArray:
    """Lines 14 and 15: the (R, k, d) models plus scaled sums, or plus means where `scales` is None.

    On shared coordinates all models take the sum, or the mean, over all participants.  A run has
    one step size there, that of its first model.
    """
    moved = (
        sums / np.maximum(counts, 1)[:, :, None] if scales is None else scales[:, :, None] * sums
    )
    if shared.any():
        if scales is None:
            together = sums[:, :, shared].sum(axis=1) / n_participants
        else:
            together = scales[:, :1] * sums[:, :, shared].sum(axis=1)
        moved[:, :, shared] = together[:, None]
    return np.asarray(models + moved)


def shared_coordinates(shared: BoolArray, d: int) -> BoolArray:
    """`IfcaOptions.shared` (d,), refused where it does not fit d coordinates."""
    mask = np.asarray(shared)
    if mask.shape != (d,) or mask.dtype != np.bool_:
        raise InvalidParameter(
            f"shared of shape {mask.shape} and type {mask.dtype} must be ({d},) booleans"
        )
    return mask


def _check_shared(options: IfcaOptions, starts: FloatArray) -> BoolArray:
    d = starts.shape[2]
    if options.shared is None:
        return np.zeros(d, dtype=np.bool_)
    shared = shared_coordinates(options.shared, d)
    if (starts[:, :, shared] != starts[:, :1, shared]).any():
        raise InvalidParameter("starts must be equal over the k models on shared coordinates")
    return shared


def _check_labels(known: IntArray | None, m: int, k: int) -> IntArray | None:
    if known is None:
        return None
    labels = whole_array("known_labels", known, 0, k - 1)
    if labels.shape != (m,):
        raise InvalidParameter(f"known_labels.shape={labels.shape} must be ({m},)")
    return labels


def _with_axis(starts: FloatArray) -> FloatArray:
    """(R, d) starts as (R, 1, d)."""
    array = real_array("starts", starts)
    if array.ndim != 2 or math.prod(array.shape) == 0:
        raise InvalidParameter(f"starts.shape={array.shape} must be (R, d), none of them 0")
    return array[:, None, :]
