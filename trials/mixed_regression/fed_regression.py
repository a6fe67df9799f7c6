r"""FedAvg and FedProx with clustering: Phase 2 of Su, Xu & Yang (2022) on ragged clients.

In each round client i estimates its label (8), or likelihoods :math:`\lambda_{ij}` (7), refines
the models by s local gradient steps or by an exact proximal step on

.. math:: L_i(\theta)=\frac1{2n_i}\sum_j\lambda_{ij}\lVert y_i-X_i\theta_j\rVert^2,

and the server averages with weights n_i / N.  The round is the recursion (11),

.. math:: \theta_j\leftarrow\theta_j-\frac\eta N\sum_i\lambda_{ij}X_i^\top P_{ij}(X_i\theta_j-y_i),
   \qquad P_{ij}=\begin{cases}\sum_{l<s}(I-\eta\lambda_{ij}G_i)^l&\text{FedAvg}\\
   (I+\eta\lambda_{ij}G_i)^{-1}&\text{FedProx}\end{cases},\qquad G_i=X_iX_i^\top/n_i.

(The paper prints P without lambda and proves it for hard labels, where it is the same.)

P is a function of G_i, and the data stay the same.  So one spectral decomposition for each client,
of order min(n_i, d), is enough for every round, step size, number of local steps and both rules
(`local_spectra`).  A round then reads the data once, for every s.  No d x d matrix is used unless a
client holds more than d rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import WHOLE_IN_FLOAT, FloatArray, IntArray, InvalidParameter, real_array
from trials.mixed_regression.fed_regression_kernels import (
    RoundScratch,
    SpectraArrays,
    client_losses,
    filter_values,
    refine_hard,
    refine_soft,
    smaller_grams,
)
from trials.mixed_regression.settled_rounds import SettledRounds
from trials.mixed_regression.small_spectra import LARGEST_ORDER, small_spectra
from trials.models.clients import ClientData, client_groups
from trials.models.matching import bottleneck_distance, bottleneck_distances
from trials.models.run_status import DIVERGENCE_BOUND, RunStatus
from trials.parameters import (
    Array,
    Domain,
    Function,
    Integer,
    Maybe,
    Options,
    Real,
    Record,
    validated,
)

LabelRule = Callable[[FloatArray, IntArray], FloatArray]

_CHUNK_BYTES = 32 * 2**20

GROUP_BYTES = 2**18
"""Features and predictions of a client group, a quarter of a core's private cache of 1 MiB.

The k columns of one run make a thin product, bound by how fast it is fed.  Measured for products of
all rows at (N, d, k) = (200000, 200, 4): 0.25, 0.5 and 2 MiB take 33, 55 and 53 ms; (100000, 500,
8): 37, 37 and 67 ms; d <= 100: no change.  As (rows, k) they take 10 ms at (800000, 20, 3), as
(k, rows) 22; elsewhere no less.
"""

_MAX_FLOATS = 2**30  # 8 GiB of eigenvectors: more is refused, not swapped
_KEPT_FLOATS = 2**18  # of models whose distances are found together
_LARGEST_ENTRY = 1e100  # so that losses of bounded models are finite

LARGEST_BOUND = 1e30
"""The largest bound of a divergence."""


_UPDATE: dict[str, Domain] = {
    "update": Options(("fedavg", "fedprox")),
    "step_size": Real(0.0, open_low=True),
    "n_local_steps": Integer(1, WHOLE_IN_FLOAT, why="whole in float64"),
}


# ------------------------------------------------------------------------------- local spectra


@dataclass(frozen=True, kw_only=True)
class LocalSpectra:
    """The clients' Gram matrices G_i, decomposed.

    Attributes
    ----------
    values : eigenvalues >= 0, min(n_i, d) a client, one client after the other.
    vectors : eigenvectors, one a row, of X_i X_i^T / n_i (n_i <= d) or X_i^T X_i / n_i (n_i > d).
        They are min(n_i, d)^2 floats a client.
    starts : (M + 1, 2) where the values and vectors of each client begin.
    largest : (M,) ``|X_i|^2 / n_i``.
    """

    values: FloatArray
    vectors: FloatArray
    starts: IntArray
    largest: FloatArray


@validated(data=Record(ClientData))
def local_spectra(data: ClientData) -> LocalSpectra:
    """Decompose every client's smaller Gram matrix.

    Matrices of one order are decomposed together, the small ones side by side
    (`trials.mixed_regression.small_spectra`) and the others by LAPACK.

    O(sum_i min(n_i, d) n_i d + min(n_i, d)^3) time, sum_i min(n_i, d)^2 floats.
    """
    d = data.dimension
    _require_small("features", data.features)
    sizes = np.diff(data.offsets)
    orders = np.minimum(sizes, d)
    starts = np.zeros((len(sizes) + 1, 2), dtype=np.int64)
    np.cumsum(orders, out=starts[1:, 0])
    np.cumsum(orders**2, out=starts[1:, 1])
    if starts[-1, 1] > _MAX_FLOATS:
        raise InvalidParameter(
            f"the sum of min(n_i, d)^2 = {starts[-1, 1]} must be <= {_MAX_FLOATS} (8 GiB)"
        )
    values, vectors = np.empty(starts[-1, 0]), np.empty(starts[-1, 1])
    for q in np.unique(orders):
        same = np.flatnonzero(orders == q)
        step = max(1, _CHUNK_BYTES // (8 * int(q) ** 2))
        for top in range(0, len(same), step):
            clients = same[top : top + step]
            grams = np.empty((len(clients), q, q))
            smaller_grams(data.arrays, clients, grams)
            if q <= LARGEST_ORDER:
                small_spectra(grams, clients, starts, values, vectors)
                continue
            e, v = np.linalg.eigh(grams)
            values[starts[clients, :1] + np.arange(q)] = np.maximum(e, 0.0)
            flat = v.transpose(0, 2, 1).reshape(len(clients), -1)
            vectors[starts[clients, 1:] + np.arange(q * q)] = flat
    return LocalSpectra(
        values=values, vectors=vectors, starts=starts, largest=values[starts[1:, 0] - 1]
    )


@dataclass(frozen=True, kw_only=True)
class FedRegressionResult:
    """The results of T' rounds.

    Attributes
    ----------
    models : (k, d) final models.  Those of a diverged run are the last bounded ones.
    labels : (M,) nearest model (8) of the last round begun, -1 if there was none.
    label_changes : (T',) clients whose label differs from the round before (first: M).
    status : COMPLETED or DIVERGED.
    n_rounds : rounds applied.
    distances : (T' + 1,) `bottleneck_distance` to the reference before each round and after the
        last, constant after a divergence.  It is None without a reference.
    """

    models: FloatArray
    labels: IntArray
    label_changes: IntArray
    status: RunStatus
    n_rounds: int
    distances: FloatArray | None


@validated(
    data=Record(ClientData),
    start=Array(("k", "d")),
    **_UPDATE,
    n_rounds=Integer(0),
    label_rule=Maybe(Function()),
    spectra=Maybe(Record(LocalSpectra)),
    reference=Maybe(Array(("k", "d"))),
    divergence_bound=Real(0.0, LARGEST_BOUND, open_low=True),
)
def run_fed_regression(
    *,
    data: ClientData,
    start: ArrayLike,
    update: str,
    step_size: float,
    n_rounds: int,
    n_local_steps: int = 1,
    label_rule: LabelRule | None = None,
    spectra: LocalSpectra | None = None,
    reference: ArrayLike | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
) -> FedRegressionResult:
    """Phase 2 (FedX + clustering): T' rounds on the same data.

    Parameters
    ----------
    data : the clients, of any sizes.
    start : (k, d) models, usually the centres of
        `trials.mixed_regression.moment_descent.group_anchors`.
    update : ``fedavg`` (s local gradient steps) or ``fedprox`` (exact proximal step).
    step_size : eta > 0.
    n_rounds : T' >= 0.
    n_local_steps : s >= 1 of ``fedavg``, and 1 for ``fedprox``.
    label_rule : None for hard labels (8), else ``(losses (M, k), sizes (M,)) -> (M, k)`` rows of
        the simplex, with losses ``|y_i - X_i theta_j|^2 / (2 n_i)`` (`gibbs_labels`).
    spectra : `local_spectra` of the same data, to share them between calls.
    reference : (k, d) true models, to record the distances (6) to.
    divergence_bound : models of larger norm, or not finite, are not taken and end the run.

    Raises
    ------
    InvalidParameter : before any work.  It is also raised for a bad result of the label rule.

    Notes
    -----
    A round costs 2 N d k flops for the labels, 2 N d for the step and 4 sum_i min(n_i, d)^2 for the
    local work, for every s.  Once few hard labels change it costs 2 k d^2, and a few flops a client
    (`trials.mixed_regression.settled_rounds`), where the local updates are stable (gamma < 1).
    With soft labels the step reads the data once more and costs 2 N d k.
    Ties go to the first model.  A model without clients stays where it is.

    A Gram matrix squares the condition number of a client's rows.  Where the rows are dependent,
    rounding grows by the factor s eta |X_i|^2 / n_i.  Theorem 2 assumes that this is below 1, and
    then nothing grows.

    Examples
    --------
    >>> import numpy as np
    >>> from trials.models.clients import ClientData
    >>> rng = np.random.default_rng(0)
    >>> theta_star = np.array([[2.0, 0.0], [-2.0, 1.0]])
    >>> x = rng.standard_normal((20, 30, 2))
    >>> y = (x * theta_star[np.arange(20) % 2, None]).sum(axis=2)
    >>> data = ClientData.equal(x, y)
    >>> found = run_fed_regression(
    ...     data=data, start=theta_star + 0.3, update="fedprox", step_size=1.0, n_rounds=60,
    ...     reference=theta_star,
    ... )
    >>> bool(found.distances[-1] < 1e-6)
    True
    """
    eta, s = _check_update(update, step_size, n_local_steps)
    models = np.array(start)
    k, d = models.shape
    if d != data.dimension:
        raise InvalidParameter(f"start.shape={models.shape} must be (k, {data.dimension})")
    if np.linalg.norm(models, axis=1).max() > divergence_bound:
        raise InvalidParameter(
            f"divergence_bound={divergence_bound:g} must be >= the norms of start"
        )
    _require_small("responses", data.responses)
    local = local_spectra(data) if spectra is None else spectra
    if spectra is not None and not _fit(spectra, data):
        raise InvalidParameter("spectra must be local_spectra(data) of the same data")
    if s == 0:
        _gamma(local, eta)  # an infinite one would freeze its client
    groups = client_groups(data.offsets, GROUP_BYTES // (8 * (d + k)))
    refine = _Refinement(data, local, groups, eta, s, k, label_rule, n_rounds)
    return _iterate(refine, data, models, eta, n_rounds, reference, divergence_bound)


def _iterate(
    refine: _Refinement,
    data: ClientData,
    models: FloatArray,
    eta: float,
    n_rounds: int,
    reference: ArrayLike | None,
    bound: float,
) -> FedRegressionResult:
    """The rounds from ``models`` (k, d), which a diverging step leaves as they were."""
    track = None if reference is None else _Track(models, reference, n_rounds)
    labels = np.full(data.n_clients, -1, dtype=np.int64)
    changes = np.zeros(n_rounds, dtype=np.int64)
    status, applied = RunStatus.COMPLETED, 0
    for t in range(n_rounds):
        previous = labels.copy()
        with np.errstate(over="ignore", invalid="ignore"):  # a status says it
            stepped = models + (eta / len(data.responses)) * refine(models, labels)
            longest = np.linalg.norm(stepped, axis=1).max()
        changes[t] = (labels != previous).sum()
        if not longest <= bound:
            status = RunStatus.DIVERGED
            break
        models, applied = stepped, t + 1
        if track is not None:
            track.add(models)
    return FedRegressionResult(
        models=models, labels=labels, label_changes=changes, status=status, n_rounds=applied,
        distances=None if track is None else track.distances(),
    )  # fmt: skip


class _Track:
    """The distances (6) of a run's models (k, d), found for many rounds in one go.

    The models are finite.  After the last one that was added the distance stays as it is.
    """

    def __init__(self, start: FloatArray, reference: ArrayLike, n_rounds: int) -> None:
        self._truth = np.asarray(reference)
        self._found = np.full(n_rounds + 1, bottleneck_distance(start, self._truth))
        self._n_found = 1
        self._kept: list[FloatArray] = []
        self._most_kept = max(1, _KEPT_FLOATS // start.size)

    def add(self, models: FloatArray) -> None:
        """Note the models after a round."""
        self._kept.append(models)
        if len(self._kept) == self._most_kept:
            self._flush()

    def _flush(self) -> None:
        if self._kept:
            end = self._n_found + len(self._kept)
            self._found[self._n_found : end] = bottleneck_distances(
                np.array(self._kept), self._truth
            )
            self._n_found, self._kept = end, []

    def distances(self) -> FloatArray:
        """(n_rounds + 1,), the start's first."""
        self._flush()
        self._found[self._n_found :] = self._found[self._n_found - 1]
        return self._found


class _Refinement:
    """One data set with the buffers of its kernels.  A call returns the sums of (11)."""

    def __init__(
        self,
        data: ClientData,
        spectra: LocalSpectra,
        groups: IntArray,
        eta: float,
        s: int,
        k: int,
        label_rule: LabelRule | None,
        n_rounds: int,
    ) -> None:
        d = data.dimension
        self.settled: SettledRounds | None = None
        self.data, self.groups, self.eta, self.s = data.arrays, groups, eta, s
        self.sizes = np.diff(data.offsets)
        self.rule = label_rule
        self.scratch = RoundScratch(
            predictions=np.empty(k * int(np.diff(data.offsets[groups]).max())),
            residual=np.empty(int(self.sizes.max())), image=np.empty(d), work=np.empty(d),
        )  # fmt: skip
        self.spectra = SpectraArrays(spectra.values, spectra.vectors, spectra.starts)
        if label_rule is None:
            factors = np.empty_like(spectra.values)
            with np.errstate(over="ignore", invalid="ignore"):  # a status says it
                filter_values(spectra.values, eta, s, factors)
            self.filters = self.spectra._replace(values=factors)
            # an unstable run ends soon, and its labels do not settle
            if s == 0 or eta * spectra.largest.max() < 1.0:
                self.settled = SettledRounds(
                    self.data, self.spectra, factors, spectra.largest, (k, d), n_rounds
                )
        else:
            self.factors = np.empty(d)
            self.losses = np.empty((len(self.sizes), k))

    def __call__(self, models: FloatArray, labels: IntArray) -> FloatArray:
        if self.rule is None:
            return self._hard(models, labels)
        descent = np.zeros_like(models)
        client_losses(self.data, self.groups, models, self.scratch.predictions, self.losses)
        labels[:] = np.argmin(self.losses, axis=1)
        likelihoods = real_array("label_rule's result", self.rule(self.losses, self.sizes))
        sums_to_one = likelihoods.shape == self.losses.shape and (
            (likelihoods >= 0).all() and np.abs(likelihoods.sum(axis=1) - 1.0).max() <= 1e-9
        )
        if not sums_to_one:
            raise InvalidParameter(
                f"label_rule's result of shape {likelihoods.shape} must be {self.losses.shape} "
                "with rows in the simplex"
            )
        refine_soft(
            self.data, self.groups, models, self.spectra, self.eta, self.s, likelihoods,
            self.scratch, self.factors, np.empty_like(models), descent,
        )  # fmt: skip
        return descent

    def _hard(self, models: FloatArray, labels: IntArray) -> FloatArray:
        known = None if self.settled is None else self.settled.descent(models, labels)
        if known is not None:
            return known
        descent, before = np.zeros_like(models), labels.copy()
        refine_hard(self.data, self.groups, models, self.filters, self.scratch, labels, descent)
        if self.settled is not None:
            self.settled.note(models, labels, descent, int((labels != before).sum()))
        return descent


def _check_update(update: str, step_size: float, n_local_steps: int) -> tuple[float, int]:
    """(eta, s), s = 0 for FedProx."""
    if update == "fedavg":
        return step_size, n_local_steps
    if n_local_steps != 1:
        raise InvalidParameter(
            f"n_local_steps={n_local_steps} must be 1 for fedprox, which solves exactly"
        )
    return step_size, 0


def _gamma(spectra: LocalSpectra, eta: float) -> float:
    """eta max_i |X_i|^2 / n_i, refused beyond the range of floats."""
    largest = float(spectra.largest.max())
    if eta * largest == math.inf:
        raise InvalidParameter(
            f"step_size={eta:g} times the largest |X_i|^2 / n_i = {largest:.4g} must be finite"
        )
    return eta * largest


def _fit(spectra: LocalSpectra, data: ClientData) -> bool:
    """Whether the orders are the clients' and, of some clients, the sums of squares too."""
    sizes = np.diff(data.offsets)
    if not np.array_equal(np.diff(spectra.starts[:, 0]), np.minimum(sizes, data.dimension)):
        return False
    for i in np.linspace(0, len(sizes) - 1, 8).astype(int):
        own = data.features[data.offsets[i] : data.offsets[i + 1]]
        trace = spectra.values[spectra.starts[i, 0] : spectra.starts[i + 1, 0]].sum()
        square = np.vdot(own, own) / sizes[i]
        if not math.isclose(square, trace, rel_tol=1e-9, abs_tol=1e-300):  # subnormals are coarse
            return False
    return True


def _require_small(name: str, values: FloatArray) -> None:
    if max(values.max(), -values.min()) > _LARGEST_ENTRY:
        raise InvalidParameter(f"{name} must be at most {_LARGEST_ENTRY:g} in magnitude")
